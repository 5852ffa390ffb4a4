"""Stages whose results may depend on the order of their block instances. The verifier accepts some and reports others."""

from __future__ import annotations

from collections.abc import Callable

from ....ir import make, tir
from ....ir.idioms import sequence
from ..kernels import REDUCE, SCAN, SPATIAL, TRUE, Axis, Kernel

_SIZE = 12
"""Size of each dimension of a buffer; no index exceeds it."""
_KINDS = {"S": SPATIAL, "R": REDUCE, "O": SCAN}


class _Step:
    """Operands of a block in such a stage: its axes, a matrix to read, and vectors to update."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.choose = kernel, kernel.choose
        self.dtype = kernel.dtype("int32")
        size = kernel.const(_SIZE)
        self.kinds = self.choose.pick(("SR", "S", "SS", "SSR", "SRR", "RR", "SO", "R"))
        self.vars = [tir.Var(kernel.index, kernel.choose.fresh(f"v{name}")) for name in "ijk"[: len(self.kinds)]]
        self.first, self.last_var = self.vars[0], self.vars[-1]
        self.matrix = kernel.parameter("A", self.dtype, (size, size))
        self.taken = tir.BufferLoad(self.dtype, self.matrix, (self.first, self.last_var))
        self.place: tir.PrimExpr = kernel.const(0) if self.choose.rarely(10) else self.first
        self.target = self.vector("C")
        self.element = self.load(self.target)

    def vector(self, name: str) -> tir.Buffer:
        """Return a vector to update: a parameter, or sometimes unwritten memory."""
        if self.choose.rarely(6):
            buffer = self.kernel.declare(name, self.dtype, (self.kernel.const(_SIZE),))
            self.kernel.allocated.append(buffer)
            return buffer
        return self.kernel.result(name, self.dtype, (self.kernel.const(_SIZE),), last=True)

    def load(self, buffer: tir.Buffer, index: tir.PrimExpr | None = None) -> tir.PrimExpr:
        return tir.BufferLoad(self.dtype, buffer, (self.place if index is None else index,))

    def store(self, buffer: tir.Buffer, value: tir.PrimExpr, index: tir.PrimExpr | None = None) -> tir.Stmt:
        return tir.BufferStore(buffer, value, (self.place if index is None else index,))

    def const(self, value: int) -> tir.PrimExpr:
        return make.const(value, self.dtype)

    def start(self, *more: tir.Stmt) -> tir.Stmt | None:
        """Return a T.init, usually for reductions. Sometimes it reads or stores a value that depends on the order."""
        if "R" not in self.kinds or self.choose.rarely(4):
            return None
        options = (self.const(0), self.const(1), self.element, make.cast(self.first, self.dtype))
        return sequence([self.store(self.target, self.choose.pick(options)), *more])


def disordered(kernel: Kernel, last: bool) -> tir.Stmt:
    """Make an update, recurrence, reduction of one or two outputs, or argmax, under axes of any kinds."""
    step = _Step(kernel)
    init, body = kernel.choose.pick(_BODIES)(step)
    return _loops(step, init, body)


def _loops(step: _Step, init: tir.Stmt | None, body: tir.Stmt) -> tir.Stmt:
    """Return loops that start late, are triangular, or are used by no axis; a block may enclose the inner ones."""
    kernel, choose, count = step.kernel, step.choose, len(step.vars)
    is_outer = step.kinds[0] == "S" and kernel.free > 1 and kernel.allows("nested blocks") and choose.rarely(8)
    spare = choose.number(0, count) if choose.rarely(8) else -1
    row = tir.Var(kernel.index, choose.fresh("vo"))
    loops, axes, values = list[tuple[tir.Var, int, tir.PrimExpr]](), list[Axis](), list[tir.PrimExpr]()
    for place, (axis, kind) in enumerate(zip(step.vars, step.kinds, strict=True)):
        if place == spare:
            loops.append((tir.Var(kernel.index, choose.fresh("t")), 0, kernel.const(2)))
        low = choose.number(0, 2) if choose.rarely(4) else 0
        is_triangular = place > 0 and choose.rarely()
        extent = make.add(values[-1], kernel.const(1)) if is_triangular else kernel.const(choose.number(1, 4))
        variable = tir.Var(kernel.index, choose.fresh("ijk"[place]))
        loops.append((variable, low, extent))
        axes.append(Axis(axis, kernel.const(_SIZE - low), _KINDS[kind], low))
        values.append(row if is_outer and not place else variable)
    predicate = make.less(values[-1], kernel.const(choose.number(1, 4))) if choose.rarely(5) else TRUE
    stmt: tir.Stmt = tir.BlockRealize(tuple(values), predicate, kernel.block("step", axes, body, init))
    for place, (variable, low, extent) in reversed(list(enumerate(loops))):
        if is_outer and place == (1 if spare == 0 else 0):
            outer = kernel.block("outer", [Axis(row, kernel.const(_SIZE))], stmt)
            stmt = tir.BlockRealize((variable,), TRUE, outer)
        stmt = tir.For(variable, kernel.const(low), extent, tir.ForKind.SERIAL, stmt)
    return stmt


_Body = tuple["tir.Stmt | None", tir.Stmt]


def _updated(step: _Step) -> _Body:
    element, taken, two = step.element, step.taken, step.const(2)
    values = (
        make.add(element, taken), make.maximum(element, taken), make.add(make.mul(element, two), taken), make.sub(taken, element),
        make.sub(element, taken), taken,
    )  # fmt: skip
    return step.start(), step.store(step.target, step.choose.pick(values))


def _swept(step: _Step) -> _Body:
    """Compute an element of a matrix from another element of it."""
    kernel = step.kernel
    size = kernel.const(_SIZE)
    matrix = kernel.result("R", step.dtype, (size, size), last=True)
    here, there = ([make.add(var, kernel.const(step.choose.number(0, 1))) for var in (step.first, step.last_var)] for _ in range(2))  # fmt: skip
    one = tir.BufferLoad(step.dtype, matrix, tuple(here))
    other = tir.BufferLoad(step.dtype, kernel.perhaps_renamed(matrix), tuple(there))
    value = make.add(make.mul(other, step.const(3)), step.taken)
    return None, tir.BufferStore(matrix, make.add(one, value) if step.choose.number(0, 1) else value, tuple(here))


def _shifted(step: _Step) -> _Body:
    kernel = step.kernel
    other = step.load(kernel.perhaps_renamed(step.target), make.add(step.place, kernel.const(step.choose.number(0, 2))))
    value = make.add(make.mul(other, step.const(3)), step.taken)
    return None, step.store(step.target, value, make.add(step.place, kernel.const(1)))


def _paired(step: _Step) -> _Body:
    """Compute two reductions, the second of which may use the first."""
    second = step.vector("D")
    old, taken, element = step.load(second), step.taken, step.element
    options = (
        make.add(old, make.mul(taken, taken)), make.add(old, element), make.minimum(old, taken), make.add(old, make.mul(element, taken)),
    )  # fmt: skip
    values = [make.add(element, taken), step.choose.pick(options)]
    return step.start(step.store(second, step.const(0))), _stored(step, [step.target, second], values, bool(step.choose.number(0, 1)))  # fmt: skip


def _stored(step: _Step, targets: list[tir.Buffer], values: list[tir.PrimExpr], by_variables: bool) -> tir.Stmt:
    """Store values one after the other, or all after they were computed."""
    if not by_variables:
        return sequence([step.store(target, value) for target, value in zip(targets, values, strict=True)])
    names = [tir.Var(step.dtype, step.choose.fresh("x")) for _ in values]
    body = sequence([step.store(target, name) for target, name in zip(targets, names, strict=True)])
    for name, value in reversed(list(zip(names, values, strict=True))):
        body = tir.LetStmt(name, value, body)
    return body


def _greatest(step: _Step) -> _Body:
    """Compute the maximum or minimum and its index, with any order of ties."""
    best = step.vector("V")
    better = step.choose.pick((make.greater, make.greater_equal, make.less_equal))
    held, last = step.load(best), make.cast(step.last_var, step.dtype)
    keeps = better(held, step.taken)
    tied = make.logical_or(keeps, make.logical_and(make.equal(held, step.taken), make.less(step.element, last)))
    condition = tied if step.choose.number(0, 1) else keeps
    worst = step.const(99 if better is make.less_equal else -99)
    values = [make.select(condition, step.element, last), make.select(keeps, held, step.taken)]
    starts = None
    if "R" in step.kinds and not step.choose.rarely(4):
        starts = sequence([step.store(step.target, step.const(-1)), step.store(best, worst)])
    return starts, _stored(step, [step.target, best], values, by_variables=True)


def _conditional(step: _Step) -> _Body:
    condition = make.less(step.last_var, step.kernel.const(step.choose.number(1, 3)))
    return step.start(), tir.IfThenElse(condition, step.store(step.target, make.add(step.element, step.taken)))


def _scattered(step: _Step) -> _Body:
    """Store an element of a matrix at an index that several instances may share."""
    kernel = step.kernel
    size = kernel.const(_SIZE)
    matrix = kernel.result("R", step.dtype, (size, size), last=True)
    indices = [step.choose.pick((var, step.first, make.sub(kernel.const(_SIZE - 1), var))) for var in (step.first, step.last_var)]  # fmt: skip
    return None, tir.BufferStore(matrix, make.add(step.taken, make.cast(step.last_var, step.dtype)), tuple(indices))


_BODIES: tuple[Callable[[_Step], _Body], ...] = (
    _updated, _updated, _swept, _shifted, _paired, _paired, _greatest, _greatest, _conditional, _scattered,
)  # fmt: skip
