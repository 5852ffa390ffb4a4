"""Text to syntax tree: `parse_syntax`, which finds all syntax errors of a text in one run."""

from .driver import parse_syntax

__all__ = ["parse_syntax"]
