"""The host part of a function, as Python closures: it allocates GPU memory and launches kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any, TypeAlias

from msgspec import Struct

from ...ir import tir
from ...ir.base import Op, Span
from ...ir.clusters import block_tag
from ...ir.diagnostics import error
from ...ir.dtype import element_bytes
from ...ir.tensor_copies import TensorMap, tensor_maps
from ..runtime.sizes import Frame, Size, Slots, compile_size
from .architectures import MOST_EXTENT
from .driver import Driver
from .kernel import BLOCK_TAGS, THREAD_TAGS, Kernel, Launch, size_of
from .launch import Function, KernelCall, ParameterPacker, parameters
from .tensor_maps import Matrix
from .trace import current_trace


class Running(Struct):
    """The state of a call: the driver, the kernels, the address of the status, and the values of variables."""

    driver: Driver
    functions: Mapping[str, Function]
    status: int
    frame: Frame


Step: TypeAlias = Callable[[Running], None]


def compile_host(body: tir.Stmt, slots: Slots) -> Step:
    """Compile `body` to a closure; `slots` are the positions of known variables, including pointers, in the frame.

    Raises TvmsError E0606 for statements that only kernels can execute, E0605 if a size is not determined.
    """
    return _Compiler(slots).step(body)


class _Compiler:
    def __init__(self, slots: Slots) -> None:
        self.slots = slots
        self._rules: dict[type[tir.Stmt], Callable[[Any], Step]] = {
            tir.SeqStmt: self._sequence, tir.For: self._for, tir.IfThenElse: self._if, tir.LetStmt: self._let,
            tir.AssertStmt: self._assert, tir.Allocate: self._allocate, Launch: self._launch,
            tir.Evaluate: self._evaluate, tir.AttrStmt: lambda stmt: self.step(stmt.body),
            tir.DeclBuffer: lambda stmt: self.step(stmt.body),
        }  # fmt: skip

    def step(self, stmt: tir.Stmt) -> Step:
        rule = self._rules.get(type(stmt))
        if rule is None:
            raise error("E0606", f"'{type(stmt).__name__}' is not supported outside of kernels", stmt.span)
        return rule(stmt)

    def _slot(self, var: tir.Var) -> int:
        return self.slots.setdefault(var, len(self.slots))

    def _known(self, var: tir.Var) -> int:
        """Return the slot of a variable; E0605 if nothing determines it."""
        if var not in self.slots:
            raise error("E0605", f"no argument determines '{var.name}'", var.span)
        return self.slots[var]

    def _size(self, expr: tir.PrimExpr) -> Size:
        return compile_size(expr, self.slots)

    def _sequence(self, stmt: tir.SeqStmt) -> Step:
        steps = tuple(map(self.step, stmt.seq))

        def run(running: Running) -> None:
            for step in steps:
                step(running)

        return run

    def _for(self, stmt: tir.For) -> Step:
        start, extent, slot = self._size(stmt.min), self._size(stmt.extent), self._slot(stmt.loop_var)
        body = self.step(stmt.body)

        def run(running: Running) -> None:
            first = start(running.frame)
            for value in range(first, first + extent(running.frame)):
                running.frame[slot] = value
                body(running)

        return run

    def _if(self, stmt: tir.IfThenElse) -> Step:
        condition, then = self._size(stmt.condition), self.step(stmt.then_case)
        other: Step = (lambda running: None) if stmt.else_case is None else self.step(stmt.else_case)
        return lambda running: then(running) if condition(running.frame) else other(running)

    def _let(self, stmt: tir.LetStmt) -> Step:
        value, slot = self._size(stmt.value), self._slot(stmt.var)
        body = self.step(stmt.body)

        def run(running: Running) -> None:
            running.frame[slot] = value(running.frame)
            body(running)

        return run

    def _assert(self, stmt: tir.AssertStmt) -> Step:
        condition, body = self._size(stmt.condition), self.step(stmt.body)
        said = stmt.message.value if isinstance(stmt.message, tir.StringImm) else "assertion failed"

        def run(running: Running) -> None:
            if not condition(running.frame):
                raise error("E0711", said, stmt.span)
            body(running)

        return run

    def _evaluate(self, stmt: tir.Evaluate) -> Step:
        """Compile a call of `tir.check`; other statements of this kind are dropped, since they have no effect."""
        match stmt.value:
            case tir.Call(
                op=Op(name="tir.check"),
                args=(tir.PrimExpr() as checked, tir.StringImm() as code, tir.StringImm() as said),
            ):
                condition = self._size(checked)
            case _:
                return lambda running: None

        def run(running: Running) -> None:
            if not condition(running.frame):
                raise error(code.value, said.value, stmt.span)

        return run

    def _allocate(self, stmt: tir.Allocate) -> Step:
        """Allocate GPU memory, which is freed after the kernels that are launched in the body."""
        extents, slot = [self._size(extent) for extent in stmt.extents], self._slot(stmt.buffer_var)
        body, size = self.step(stmt.body), element_bytes(stmt.dtype)

        def run(running: Running) -> None:
            count = prod(extent(running.frame) for extent in extents)
            address = running.driver.allocate(count * size)
            running.frame[slot] = address
            try:
                body(running)
            finally:
                running.driver.free(address)

        return run

    def _launch(self, stmt: Launch) -> Step:
        kernel = stmt.kernel
        grid = _grid(kernel, self.slots)
        sizes = {axis.tag: size_of(axis) for axis in kernel.threads}
        block = tuple(sizes.get(tag, 1) for tag in reversed(THREAD_TAGS))
        params = parameters(kernel)
        maps = [self._tensor_map(tensor) for tensor in tensor_maps(kernel.body)]
        slots, packer = [self._known(var) for var in params], ParameterPacker(params, len(maps))

        def run(running: Running) -> None:
            blocks = grid(running.frame)
            if 0 not in blocks:
                values = [running.frame[slot] for slot in slots]
                matrices = [matrix(running.frame) for matrix in maps]
                function, driver = running.functions[kernel.name], running.driver
                described = [driver.encode(matrix, function) for matrix in matrices]
                driver.launch(function, blocks, block, packer.pack([*values, *described, running.status]))
                trace = current_trace()
                if trace is not None:
                    trace.calls.append(KernelCall(function, blocks, block, packer, values, matrices, running.status))

        return run

    def _tensor_map(self, tensor: TensorMap) -> Callable[[Frame], Matrix]:
        """Return a function that computes the address and the sizes of a matrix."""
        slot, sizes = self._known(tensor.data), [self._size(size) for size in tensor.sizes]

        def matrix(frame: Frame) -> Matrix:
            rows, columns, stride = (size(frame) for size in sizes)
            return Matrix(frame[slot], tensor.dtype, rows, columns, stride, tensor.box_rows)

        return matrix


def _grid(kernel: Kernel, slots: Slots) -> Callable[[Frame], tuple[int, ...]]:
    """Return a function that computes the number of blocks along x, y and z; E0611 if one is too large to launch, or no multiple of
    the extent of a cluster.
    """
    order, clusters = BLOCK_TAGS[::-1], {block_tag(axis.tag): size_of(axis) for axis in kernel.clusters}
    extents = {axis.tag: (axis.var.span, compile_size(axis.extent, slots)) for axis in kernel.blocks}
    one: tuple[Span | None, Size] = None, lambda frame: 1
    limits = [
        (at, tag, *extents.get(tag, one), MOST_EXTENT[tag], clusters.get(tag, 1))
        for at, tag in enumerate(order)
        if tag in extents or tag in clusters
    ]

    def sizes(frame: Frame) -> tuple[int, ...]:
        found = [1, 1, 1]
        for at, tag, span, extent, most, cluster in limits:
            count = found[at] = extent(frame)
            if not 0 <= count <= most:
                reason = f"kernel '{kernel.name}' needs {count} blocks along '{tag}'; the limit is {most}"
                raise error("E0611", reason, span, "pass smaller arrays")
            if count % cluster:
                reason = f"{count} blocks along '{tag}' do not consist of clusters of {cluster}"
                raise error("E0611", reason, span, "pass arrays of other sizes")
        return tuple(found)

    return sizes
