"""Pictures of programs as SVG: graphs as layers of operators, loop nests as nested boxes. Needs no other program."""

from __future__ import annotations

from .document import picture

__all__ = ["picture"]
