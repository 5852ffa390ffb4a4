"""Stages without blocks: random loops, branches, sequences, variables and memory around stores."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir import make, tir
from ....ir.idioms import sequence
from ....ir.jumps import BREAK, CONTINUE
from ....ir.visit import walk
from ..kernels import TRUE, Axis, Kernel
from ..memory import size_of
from ..options import MAX_EXTENT

_DEPTH = 4
"""Maximum depth of nested statements."""
_LANES = 4
"""Maximum extent of vectorized loops."""
_STATEMENTS = 24
"""Maximum number of statements of a stage, without those that fill and copy memory."""
_TIMES = 200
"""Number of times that a statement may run, from which on loops around it have few iterations."""
_UPDATES = (make.maximum, make.minimum, make.add, make.sub)


def statements(kernel: Kernel, last: bool) -> tir.Stmt:
    """Execute random statements in order, which overwrite and update elements of parameters and of own memory.

    Floats are never computed from updated floats, whose rounding errors may be large.
    """
    kernel.room -= 1
    targets = [kernel.parameter("D", kernel.dtype(), kernel.shape(1, 2)) for _ in range(kernel.choose.number(1, 2))]
    body = _Writer(kernel, targets).loop((), _DEPTH)
    kernel.readable += [target for target in targets if target.dtype.startswith(("int", "uint"))]
    return body


class _Writer:
    """Writer of statements. `axes` are the variables around a statement, with their values."""

    def __init__(self, kernel: Kernel, targets: list[tir.Buffer]) -> None:
        self.kernel, self.choose, self.targets = kernel, kernel.choose, targets
        self.left = self.choose.pick((4, 8, 2, 12, _STATEMENTS))
        """Number of statements left."""
        self.times = 1
        """Maximum number of times that the next statement runs."""

    def statement(self, axes: tuple[Axis, ...], depth: int, is_inside: bool = True) -> tir.Stmt:
        """Return a statement. `is_inside` says whether it may leave the loop around it."""
        self.left -= 1
        if not depth or self.left <= 0:
            return self.store(axes)
        match self.choose.number(0, 10):
            case 0 | 1:
                return self.store(axes)
            case 10:
                return self.doubled(axes)
            case 2 | 3:
                return self.branch(axes, depth, is_inside)
            case 4:
                return self.variable(axes, depth)
            case 5:
                return self.memory(axes, depth)
            case 6:
                return self.vectorized(axes)
            case _:
                return self.loop(axes, depth)

    def several(self, axes: tuple[Axis, ...], depth: int, is_inside: bool = True) -> tir.Stmt:
        """Return one statement or a sequence. The first of a sequence is often a branch, as an init is."""
        count, first = self.choose.number(1, 3), list[tir.Stmt]()
        if count > 1 and self.choose.number(0, 1):
            first = [self.init(axes) if axes and self.choose.number(0, 1) else self.branch(axes, 1, is_inside)]
        rest = [self.statement(axes, depth - 1, is_inside) for _ in range(count - len(first))]
        return sequence([*first, *rest])

    # --- Statements around others ----------------------------------------------------------------------------

    def loop(self, axes: tuple[Axis, ...], depth: int) -> tir.Stmt:
        """Return a serial or an unrolled loop."""
        kernel = self.kernel
        extents = (3, 1, 2, 4, 0, 8) if self.times < _TIMES else (1, 2, 0)
        start, extent = self.choose.pick((0, 0, 0, 1, 3)), self.choose.pick(extents)
        if not axes and kernel.sizes and self.choose.rarely(2):
            count: tir.PrimExpr = self.choose.pick(kernel.sizes)
        elif axes and self.choose.rarely(8):
            count = make.minimum(axes[-1].var, kernel.const(extent))
        else:
            count = kernel.const(extent)
        kind = tir.ForKind.UNROLLED if size_of(count) and self.choose.rarely(5) else tir.ForKind.SERIAL
        axis = Axis(tir.Var(kernel.index, self.choose.fresh("i")), self._most(count, extent), low=start)
        times = max(size_of(axis.extent) or MAX_EXTENT, 1)
        self.times *= times
        body = self.several((*axes, axis), depth, kind is tir.ForKind.SERIAL)
        self.times //= times
        return tir.For(axis.var, kernel.const(start), count, kind, body)

    def _most(self, count: tir.PrimExpr, extent: int) -> tir.PrimExpr:
        """Return the largest number of iterations."""
        return self.kernel.const(extent) if isinstance(count, tir.Min) else count

    def vectorized(self, axes: tuple[Axis, ...]) -> tir.Stmt:
        """Return a vectorized loop. Its iterations access elements of their own."""
        kernel, count = self.kernel, self.choose.number(1, _LANES)
        lane = Axis(tir.Var(kernel.index, self.choose.fresh("l")), kernel.const(count))
        target = self._target()
        indices = tuple([kernel.position(size, axes) for size in target.shape])
        stride = self.choose.pick((1, 1, 2)) if kernel.allows("computed index") else 1
        place = len(indices) - 1
        if (size_of(target.shape[place]) or 0) <= stride * (count - 1):
            return self.store(axes)
        indices = (*indices[:place], make.mul(lane.var, kernel.const(stride)))
        body = self._stored(target, indices, (*axes, lane))
        if self.choose.rarely(4) and target.dtype.startswith(("int", "uint")):
            body = self._divided(target, indices, (*axes, lane))
        elif self.choose.rarely(3):
            other = self._stored(target, indices, (*axes, lane)) if self.choose.rarely(2) else None
            body = tir.IfThenElse(self.condition((*axes, lane)), body, other)
        return tir.For(lane.var, kernel.const(0), lane.extent, tir.ForKind.VECTORIZED, body)

    def _divided(self, target: tir.Buffer, indices: tuple[tir.PrimExpr, ...], axes: tuple[Axis, ...]) -> tir.Stmt:
        """Return the store of a quotient by an element, unless that is 0."""
        kernel, lane = self.kernel, axes[-1]
        source = kernel.parameter("Q", target.dtype, (lane.extent,))
        divisor = tir.BufferLoad(target.dtype, source, (lane.var,))
        with kernel.hidden(target):
            value = kernel.value(target.dtype, axes, 1)
        divide = self.choose.pick((make.floordiv, make.floormod, make.truncdiv, make.truncmod))
        store = tir.BufferStore(target, divide(value, divisor), indices)
        return tir.IfThenElse(make.not_equal(divisor, make.const(0, target.dtype)), store)

    def branch(self, axes: tuple[Axis, ...], depth: int, is_inside: bool) -> tir.Stmt:
        """Return a branch, which may leave the loop around it or start the next iteration."""
        condition = self.condition(axes)
        if is_inside and axes and self.choose.rarely(8):
            return tir.IfThenElse(condition, tir.Evaluate(tir.Call("int32", self.choose.pick((BREAK, CONTINUE)), ())))
        then_case = self.statement(axes, depth - 1, is_inside)
        is_both = self.choose.rarely(3)
        return tir.IfThenElse(condition, then_case, self.statement(axes, depth - 1, is_inside) if is_both else None)

    def init(self, axes: tuple[Axis, ...]) -> tir.Stmt:
        """Return a store in one iteration of the innermost loop, often the first, that does not depend on its variable."""
        axis, outer = axes[-1], axes[:-1]
        place = self.choose.pick((axis.low, 0, axis.low + 1, axis.low + (size_of(axis.extent) or 1) - 1))
        condition = make.equal(axis.var, place)
        if outer and self.choose.rarely(3):
            condition = make.logical_and(condition, self.condition(outer, 1))
        return tir.IfThenElse(condition, self.store(outer))

    def variable(self, axes: tuple[Axis, ...], depth: int) -> tir.Stmt:
        """Bind an index to a variable."""
        extent = self.kernel.const(self.choose.number(1, 6))
        axis = Axis(tir.Var(self.kernel.index, self.choose.fresh("t")), extent)
        return tir.LetStmt(axis.var, self.kernel.position(extent, axes), self.several((*axes, axis), depth - 1, False))

    def memory(self, axes: tuple[Axis, ...], depth: int) -> tir.Stmt:
        """Allocate and fill memory, and use it."""
        kernel = self.kernel
        buffer = kernel.declare("m", kernel.dtype(), (kernel.const(self.choose.number(1, 5)),))
        axis = Axis(tir.Var(kernel.index, self.choose.fresh("f")), buffer.shape[0])
        fill = tir.BufferStore(buffer, kernel.value(buffer.dtype, (*axes, axis), 1), (axis.var,))
        first: tir.Stmt = tir.For(axis.var, kernel.const(0), axis.extent, tir.ForKind.SERIAL, fill)
        self.targets.append(buffer)
        kernel.readable.append(buffer)
        rest = self.several(axes, depth - 1, False)
        use = tir.BufferStore(self.targets[0], make.cast(kernel.element(buffer, axes), self.targets[0].dtype), self._place(self.targets[0], axes))  # fmt: skip
        kernel.readable.remove(buffer)
        self.targets.remove(buffer)
        body = tir.DeclBuffer(buffer, sequence([first, rest, use]))
        return tir.Allocate(buffer.data, buffer.dtype, buffer.shape, TRUE, body)

    def doubled(self, axes: tuple[Axis, ...]) -> tir.Stmt:
        """Return a loop that fills and uses a double buffer. The next fill may read what the use writes."""
        kernel = self.kernel
        exact = [target for target in self.targets if target.dtype.startswith(("int", "uint"))]
        if not exact or self.times >= _TIMES:
            return self.store(axes)
        target, step = self.choose.pick(exact), self._axis("i", self.choose.number(2, 4))
        buffer = kernel.declare("m", target.dtype, (kernel.const(self.choose.number(1, 4)),))
        place, inner = self._axis("f", size_of(buffer.shape[0]) or 1), (*axes, step)
        source = target if self.choose.number(0, 1) else kernel.source(target.dtype)
        filled = tir.BufferStore(buffer, kernel.element(source, (*inner, place)), (place.var,))
        fill = tir.For(place.var, kernel.const(0), place.extent, tir.ForKind.SERIAL, filled)
        marked = tir.AttrStmt(buffer.data, "double_buffer_scope", tir.IntImm("int32", 1), fill)
        found = make.add(kernel.element(buffer, inner), make.const(1, target.dtype))
        use = tir.BufferStore(target, found, self._place(target, inner))
        body = tir.Allocate(
            buffer.data, buffer.dtype, buffer.shape, TRUE, tir.DeclBuffer(buffer, sequence([marked, use]))
        )
        return tir.For(step.var, kernel.const(0), step.extent, tir.ForKind.SERIAL, body)

    def _axis(self, name: str, extent: int) -> Axis:
        return Axis(tir.Var(self.kernel.index, self.choose.fresh(name)), self.kernel.const(extent))

    # --- Stores and conditions -------------------------------------------------------------------------------

    def store(self, axes: tuple[Axis, ...]) -> tir.Stmt:
        """Overwrite or update an element."""
        target = self._target()
        return self._stored(target, self._place(target, axes), axes)

    def _target(self) -> tir.Buffer:
        return self.choose.pick(self.targets)

    def _place(self, target: tir.Buffer, axes: Sequence[Axis]) -> tuple[tir.PrimExpr, ...]:
        return tuple([self.kernel.position(size, axes) for size in target.shape])

    def _stored(self, target: tir.Buffer, indices: tuple[tir.PrimExpr, ...], axes: Sequence[Axis]) -> tir.Stmt:
        with self.kernel.hidden(target):
            value = self.kernel.value(target.dtype, axes, self.choose.number(0, 2))
        own = tir.BufferLoad(target.dtype, target, indices)
        match self.choose.number(0, 5):
            case 0 | 1:
                value = self.choose.pick(_UPDATES)(own, value)
            case 2:
                value = self.choose.pick(_UPDATES)(value, own)
            case 3 if self.choose.number(0, 1):
                value = self._other(target, indices, axes) if self.choose.number(0, 2) else own
            case _:
                pass
        return tir.BufferStore(target, value, indices)

    def _other(self, target: tir.Buffer, indices: tuple[tir.PrimExpr, ...], axes: Sequence[Axis]) -> tir.PrimExpr:
        """Return an element of a buffer, some of whose indices are `indices`. A vector keeps the indices of its lanes."""
        lane, outer = (axes[-1].var, axes[:-1]) if axes and axes[-1].var.name.startswith("l") else (None, axes)
        places = [
            index if lane in set(walk(index)) or self.choose.number(0, 1) else self.kernel.position(size, outer)
            for index, size in zip(indices, target.shape, strict=True)
        ]
        return tir.BufferLoad(target.dtype, target, tuple(places))

    def condition(self, axes: Sequence[Axis], depth: int = 2) -> tir.PrimExpr:
        """Return a condition on variables, a scalar or an element, which statements before may have written."""
        if depth and self.choose.rarely(4):
            a, b = self.condition(axes, depth - 1), self.condition(axes, depth - 1)
            return (
                make.logical_not(a)
                if self.choose.rarely(3)
                else self.choose.pick((make.logical_and, make.logical_or))(a, b)
            )
        sizes = [axis.extent for axis in axes if isinstance(axis.extent, tir.Var)]
        if sizes and self.choose.rarely(3):  # a division by a size that may be 0, in a loop that is then empty
            number = self.kernel.const(self.choose.number(1, 8))
            return make.greater(make.floordiv(number, self.choose.pick(sizes)), self.choose.number(0, 2))
        if not axes or self.choose.rarely(3):
            if self.kernel.allows("integer scalar") and self.choose.rarely(4):
                return make.greater(self.kernel.scalar("int32"), self.choose.number(-2, 2))
            exact = [target for target in self.targets if target.dtype.startswith(("int", "uint"))]
            source = self.choose.pick(exact) if exact and self.choose.rarely(2) else self.kernel.source()
            element = self.kernel.element(source, axes)
            return make.greater(element, make.const(1, element.dtype))
        axis = self.choose.pick(axes)
        limit = self.choose.number(0, 4) + self.choose.pick((axis.low, axis.low, 0))
        match self.choose.number(0, 4):
            case 0:
                return make.equal(axis.var, limit)
            case 1:
                other = self.choose.pick(axes).var
                total = make.add(make.mul(axis.var, self.choose.pick((8, 1, 3, 4))), other)
                compare = self.choose.pick((make.equal, make.equal, make.less, make.less, make.greater_equal))
                return compare(total, self.choose.pick((0, limit, self.choose.number(1, 32))))
            case 2:
                return self.choose.pick((make.less, make.less_equal))(axis.var, limit)
            case 3:
                return self.choose.pick((make.greater_equal, make.not_equal))(axis.var, limit)
            case _:
                return make.equal(make.floormod(axis.var, self.choose.number(2, 3)), 0)
