"""Builds the IR from the syntax tree: resolves names and turns forms into nodes."""
