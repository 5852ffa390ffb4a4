"""Passes: functions from modules to modules, each in its own file."""
