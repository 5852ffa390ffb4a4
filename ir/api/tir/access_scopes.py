"""The innermost scopes that contain all accesses of buffers (TVM: `tir.analysis.detect_buffer_access_lca`)."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from ... import tir
from ...base import Node
from ...visit import children, walk

_Path: TypeAlias = tuple[tir.Stmt, ...]
"""The loops and blocks around a statement, outermost first."""


def detect_buffer_access_lca(func: tir.PrimFunc) -> dict[tir.Buffer, tir.Stmt | None]:
    """Return, for each buffer, the innermost loop or block that contains all its accesses; None if that is the function.

    An access through a pointer counts for all buffers of the pointer, and a view for the buffer whose region it shows. An access in a
    block that reduces over loops counts for the loops around these, because its result is complete only after them. A global
    buffer that is accessed in loops over blockIdx belongs to one of these, or to a statement around them.
    """
    found = _Accesses({}, {}, {}, [])
    found.collect(func)
    scopes: dict[tir.Buffer, tir.Stmt | None] = {}
    for buffer, paths in found.paths.items():
        if buffer.scope == "global":
            paths = [_to_last_block_loop(path, found.block_loops) for path in paths]
        path = _common(paths)
        scopes[buffer] = path[-1] if path else None
    return scopes


class _Accesses(Struct):
    paths: dict[tir.Buffer, list[_Path]]
    by_pointer: dict[tir.Var, list[tir.Buffer]]
    loops: dict[tir.Var, tir.For]
    block_loops: list[tir.For]
    """Loops over blockIdx."""

    def collect(self, func: tir.PrimFunc) -> None:
        """Note the path of every access in `func`."""
        for buffer in func.buffer_map.values():
            self._declare(buffer)
        pending: list[tuple[Node, _Path]] = [(func.body, ())]
        while pending:
            node, path = pending.pop()
            match node:
                case tir.BlockRealize():
                    inner = self._block(node, path)
                    pending.append((node.block.body, inner))
                    if node.block.init is not None:
                        pending.append((node.block.init, inner))
                    continue
                case tir.For():
                    self.loops[node.loop_var] = node
                    if node.thread_binding is not None and node.thread_binding.thread_tag.startswith("blockIdx"):
                        self.block_loops.append(node)
                    pending.append((node.body, (*path, node)))
                    continue
                case tir.BufferStore() | tir.BufferLoad():
                    self._access(node.buffer, path)
                case tir.Var():
                    for buffer in self.by_pointer.get(node, ()):
                        self._access(buffer, path)
                case tir.Buffer():
                    continue  # its own pointer is not an access
                case _:
                    pass
            pending.extend((child, path) for child in reversed(children(node)))

    def _declare(self, buffer: tir.Buffer) -> None:
        self.by_pointer.setdefault(buffer.data, []).append(buffer)

    def _access(self, buffer: tir.Buffer, path: _Path) -> None:
        self.paths.setdefault(buffer, []).append(path)

    def _block(self, realize: tir.BlockRealize, path: _Path) -> _Path:
        """Note the buffers and views of a block. Return the path of its body."""
        block = realize.block
        inner = (*path, block)
        for buffer in block.alloc_buffers:
            self._declare(buffer)
        for view in block.match_buffers:
            self._declare(view.buffer)
            self._access(view.source.buffer, inner)
        reduced = {
            self.loops[node]
            for iterator, value in zip(block.iter_vars, realize.iter_values, strict=True)
            if iterator.iter_type is tir.IterVarType.COMM_REDUCE
            for node in walk(value)
            if isinstance(node, tir.Var) and node in self.loops
        }
        first = next((number for number, scope in enumerate(path) if scope in reduced), None)
        if first is not None:
            for node in walk(block.body):
                if isinstance(node, tir.BufferStore):
                    self._access(node.buffer, path[:first])
        return inner


def _to_last_block_loop(path: _Path, block_loops: list[tir.For]) -> _Path:
    """Return the path up to its innermost loop over blockIdx; the whole path if it has none."""
    numbers = [number for number, scope in enumerate(path) if any(scope is loop for loop in block_loops)]
    return path[: numbers[-1] + 1] if numbers else path


def _common(paths: list[_Path]) -> _Path:
    """Return the scopes that all paths begin with."""
    first = paths[0]
    length = min(map(len, paths))
    while any(path[number] is not first[number] for path in paths for number in range(length)):
        length -= 1
    return first[:length]
