"""Compiled programs in memory: arguments, calls, threads, caches, files."""
