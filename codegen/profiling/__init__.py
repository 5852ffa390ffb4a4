"""Profiles of compiled programs: the time of each kernel and source line, and its share of the machine's limit."""
