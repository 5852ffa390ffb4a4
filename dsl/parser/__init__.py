"""Parses text to a syntax tree: `parse_syntax` finds all syntax errors of a text in one run."""

from .driver import parse_syntax

__all__ = ["parse_syntax"]
