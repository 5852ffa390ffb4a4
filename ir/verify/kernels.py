"""The kernels of a function: its outermost loops that are bound to threads."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from .. import tir
from ..base import Node
from ..visit import walk


class Threads(Struct, frozen=True, eq=False):
    """A loop whose iterations are threads, or a launch of threads."""

    tag: str
    extent: tir.PrimExpr
    loop: tir.For | tir.AttrStmt

    @staticmethod
    def of(node: Node) -> Threads | None:
        """Return the threads that `node` launches, or None."""
        match node:
            case tir.For(thread_binding=tir.IterVar(thread_tag=tag), extent=extent):
                return Threads(tag, extent, node)
            case tir.AttrStmt(node=tir.IterVar(thread_tag=tag), attr_key="thread_extent", value=extent):
                return Threads(tag, extent, node)
            case _:
                return None


class Kernel(Struct, frozen=True, eq=False):
    """An outermost loop bound to threads: all threads and allocations in it."""

    threads: tuple[Threads, ...]
    allocations: tuple[tir.Allocate, ...]


def kernels(nodes: Iterable[Node]) -> tuple[Kernel, ...]:
    """Return the kernels among `nodes`, which list parents before children."""
    found: list[Kernel] = []
    seen: set[Node] = set()
    for node in nodes:
        if isinstance(node, tir.For | tir.AttrStmt) and node not in seen and Threads.of(node) is not None:
            inner = [part for part in walk(node) if isinstance(part, tir.For | tir.AttrStmt | tir.Allocate)]
            seen.update(inner)
            threads = tuple([other for other in map(Threads.of, inner) if other is not None])
            found.append(Kernel(threads, tuple([part for part in inner if isinstance(part, tir.Allocate)])))
    return tuple(found)
