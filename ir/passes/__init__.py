"""Passes: from module to module, each in a file of its own."""
