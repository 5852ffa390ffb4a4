"""The tile level of TIRX is kept and printed, but not compiled: E0445."""

from __future__ import annotations

from .. import tir
from ..ops.tile import DEVICE_ENTRY
from .subject import Subject

_HELP = 'write the kernel with loops of T.thread_binding, such as thread="blockIdx.x", and compute in plain stores'


def check_tiles(subject: Subject) -> None:
    """Report the first form of the tile level in a function."""
    for node in subject.nodes:
        name = _name(node)
        if name is not None:
            subject.report.add("E0445", f"{name} belongs to the tile level of TIRX, which is not compiled", node, _HELP)
            return


def _name(node: object) -> str | None:
    match node:
        case tir.TileCall(name=name):
            return f"T.{name.removesuffix('[]')}" if name[0].isalpha() else f"'{name.strip('.[]')}'"
        case tir.Buffer(attrs=attrs) if attrs:
            return f"the {next(iter(attrs))} of buffer '{node.name}'"
        case tir.AttrStmt(attr_key=key) if key == DEVICE_ENTRY:
            return "T.device_entry"
        case _:
            return None
