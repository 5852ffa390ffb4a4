"""Pictures of programs: graphs as layers of operators, loop nests as boxes in boxes; SVG, without any other program."""

from __future__ import annotations

from .document import picture

__all__ = ["picture"]
