"""Vectorization: loops of kind "vectorized" become vector statements if that is equivalent, otherwise plain
loops, which LLVM may vectorize. A loop over `T.vscale()` times a constant becomes scalable vectors.

A loop is vectorized if all its statements are stores of elementwise computations, and no
iteration accesses what another one writes. (TVM: `VectorizeLoop`, which assumes the latter.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.analysis.const_bounds import const_bounds
from ...ir.base import Op
from ...ir.diagnostics import TvmsError
from ...ir.dtype import is_index, is_vector, lanes_of, parse_dtype, with_lanes_of
from ...ir.equal import structural_equal
from ...ir.idioms import is_one
from ...ir.visit import substitute, walk
from .bounds import CHECKED_INDEX
from .rewriter import Rewriter, copy_of, sequence, uses
from .vectors import add, multiply, subtract

MAX_LANES = 64
_ELEMENTWISE = {
    "exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "tanh",
    "sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "erf", "sigmoid", "pow", "fabs", "floor",
    "ceil", "trunc", "round", "nearbyint", "fma", "copysign", "atan2", "hypot", "fmod", "bitwise_and",
    "bitwise_or", "bitwise_xor", "bitwise_not", "shift_left", "shift_right", "popcount", "clz", "isnan",
    "isinf", "isfinite",
}  # fmt: skip
"""The intrinsics, without prefix, that compute each lane independently."""


_SHIFTS = (Op("tir.shift_left"), Op("tir.shift_right"))
_DIVISIONS = (tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod)
_IF_THEN_ELSE, _LANE_MASK = Op("tir.if_then_else"), Op("tir.get_active_lane_mask")


Masks = Literal["all", "prefixes", "none"]
"""Which conditions on lanes become masks: all, those of the first lanes as `T.get_active_lane_mask`, or none."""


class _Declined(Exception):
    """The loop cannot be vectorized, for the reason given."""


class _Scalar(Exception):
    """A statement has a condition on lanes that does not become a mask; it is executed lane by lane."""


def vectorize_loops(
    func: tir.PrimFunc, masks: Masks = "all", with_masks: Callable[[str], bool] | None = None
) -> tir.PrimFunc:
    """Return `func` without vectorized loops. Statements with other conditions on lanes than `masks` are executed lane by lane; in the
    scope of a target for which `with_masks` holds, those are "prefixes".
    """
    return replace(func, body=_LoopFinder(masks, with_masks).rewrite(func.body))


def declined_loops(func: tir.PrimFunc) -> list[tuple[tir.For, str]]:
    """Return the vectorized loops of `func` that become plain loops, each with the reason."""
    finder = _LoopFinder()
    finder.rewrite(func.body)
    return finder.declined


class _LoopFinder(Rewriter):
    def __init__(self, masks: Masks = "all", with_masks: Callable[[str], bool] | None = None) -> None:
        super().__init__({tir.For: self._for, tir.AttrStmt: self._attribute})
        self._masks: Masks = masks
        self._with_masks = with_masks
        self._domains: dict[tir.Var, tir.Range] = {}
        self.declined: list[tuple[tir.For, str]] = []

    def _for(self, stmt: tir.For) -> tir.Stmt:
        self._domains[stmt.loop_var] = tir.Range(stmt.min, stmt.extent)
        if stmt.kind is not tir.ForKind.VECTORIZED:
            return self.rebuild(stmt)
        serial = replace(self.rebuild(stmt), kind=tir.ForKind.SERIAL)
        try:
            return _Vectorizer(serial, self._domains, self._masks).run()
        except _Declined as reason:
            self.declined.append((stmt, str(reason)))
            return serial
        except _Scalar:
            return serial

    def _attribute(self, stmt: tir.AttrStmt) -> tir.Stmt:
        before = self._masks
        if stmt.attr_key == "target" and self._with_masks is not None:
            self._masks = "prefixes" if self._with_masks(str(stmt.node)) else "none"
        found = self.rebuild(stmt)
        self._masks = before
        return found  # type: ignore[no-any-return]


class _Vectorizer(Rewriter):
    """Rewrites the body of one loop; values that depend on its variable become vectors of `lanes`."""

    def __init__(self, loop: tir.For, domains: Mapping[tir.Var, tir.Range], masks: Masks = "all") -> None:
        rules: dict[type[Any], Callable[[Any], Any]] = {
            tir.Add: self._sum, tir.Sub: self._difference, tir.Mul: self._product, tir.BufferLoad: self._load, tir.BufferStore: self._store,
            tir.Select: self._select, tir.Cast: self._cast, tir.Not: self._not, tir.Call: self._call,
            tir.Let: self._let, tir.LetStmt: self._let_statement, tir.IfThenElse: self._if, **dict.fromkeys((tir.And, tir.Or), self._both),
            **dict.fromkeys((tir.IntImm, tir.FloatImm), lambda node: node),
            **dict.fromkeys((tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod, tir.Min, tir.Max), self._binary),
            **dict.fromkeys((tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE), self._binary),
        }  # fmt: skip
        super().__init__(rules)
        self._loop, self._places = loop, _places(loop)
        self._mask: tir.PrimExpr | None = None
        self._masks: Masks = masks
        self._domains = domains
        self._stored: tir.BufferStore | None = None
        """The store whose value is rewritten, if it is executed for all lanes."""
        self._count = self._places.lanes
        self.values[loop.loop_var] = self._places

    def run(self) -> tir.Stmt:
        """Return the vector statements for the loop."""
        _check_independent(self._loop)
        return self.rewrite(self._loop.body)

    def rebuild(self, node: Any) -> Any:
        """Decline nodes without a rule that depend on the loop variable; others stay scalar."""
        rewritten = super().rebuild(node)
        if isinstance(node, tir.Stmt) or (isinstance(node, tir.PrimExpr) and rewritten is not node):
            raise _Declined(f"{type(node).__name__} has no vector form")
        return rewritten

    def buffer(self, buffer: tir.Buffer) -> tir.Buffer:
        """Return `buffer` unchanged: flat buffers do not depend on the loop variable."""
        return buffer

    def _if(self, stmt: tir.IfThenElse) -> tir.Stmt:
        """Mask the lanes in which the condition does not hold."""
        condition = self.rewrite(stmt.condition)
        if not is_vector(condition.dtype):
            other = None if stmt.else_case is None else self.rewrite(stmt.else_case)
            return tir.IfThenElse(condition, self.rewrite(stmt.then_case), other, span=stmt.span)
        if self._masks != "all":
            return self._prefix(stmt) or self._lane_by_lane(stmt)
        then = self._masked(condition, lambda: self.rewrite(stmt.then_case))
        if stmt.else_case is None:
            return then
        return sequence([then, self._masked(tir.Not(condition.dtype, condition), lambda: self.rewrite(stmt.else_case))])

    def _prefix(self, stmt: tir.IfThenElse) -> tir.Stmt | None:
        """Return the statement for the first lanes, those below a limit, as masked accesses; None if the condition is another one, or an
        access is not one of all lanes.
        """
        condition = stmt.condition
        if (
            self._masks != "prefixes"
            or self._mask is not None
            or stmt.else_case is not None
            or not isinstance(condition, tir.LT)
        ):
            return None
        first, limit = self.rewrite(condition.a), self.rewrite(condition.b)
        if not isinstance(first, tir.Ramp) or not is_one(first.stride) or is_vector(limit.dtype):
            return None
        accesses = [node for node in walk(stmt.then_case) if isinstance(node, tir.BufferLoad | tir.BufferStore)]
        if not all(isinstance(self.rewrite(node.indices[0]), tir.Ramp) for node in accesses):
            return None
        mask = tir.Call(with_lanes_of("uint1", first.dtype), _LANE_MASK, (first.base, limit), span=condition.span)
        return self._masked(mask, lambda: self.rewrite(stmt.then_case))  # type: ignore[no-any-return]

    def _lane_by_lane(self, stmt: tir.Stmt) -> tir.Stmt:
        """Return a statement in a loop over the lanes."""
        if self._mask is not None or uses([stmt], set(self.values) - {self._loop.loop_var}):
            raise _Scalar
        return copy_of(replace(self._loop, body=stmt), {})

    def _masked(self, mask: tir.PrimExpr, body: Callable[[], Any]) -> Any:
        """Return `body` with its memory accesses masked by `mask`."""
        outer = self._mask
        self._mask = mask if outer is None else tir.And(mask.dtype, outer, mask)
        result = body()
        self._mask = outer
        return result

    def _both(self, node: tir.And | tir.Or) -> tir.PrimExpr:
        """Vectorize `and` or `or`. Both operands are evaluated, so that the second one may only read elements that
        certainly exist.
        """
        for part in walk(node.b):
            if isinstance(part, tir.Call) or (isinstance(part, tir.BufferLoad) and not self._is_inside(part)):
                raise _Declined("a condition guards the operands of another one")
        return self._binary(node)

    def _is_inside(self, load: tir.BufferLoad) -> bool:
        (size,) = load.buffer.shape
        stored = self._stored
        if stored is not None and all(
            structural_equal(one, other, map_free_vars=False)
            for one, other in ((load.indices, stored.indices), (load.buffer.shape, stored.buffer.shape))
        ):
            return True
        bounds = const_bounds(load.indices[0], self._domains)
        return isinstance(size, tir.IntImm) and bounds.min >= 0 and bounds.max < size.value

    def _widen(self, value: tir.PrimExpr) -> tir.PrimExpr:
        if is_vector(value.dtype):
            return value
        return tir.Broadcast(with_lanes_of(value.dtype, self._places.dtype), value, self._count)

    def _operands(self, *operands: tir.PrimExpr) -> list[tir.PrimExpr]:
        rewritten = [self.rewrite(operand) for operand in operands]
        some = any(is_vector(operand.dtype) for operand in rewritten)
        return [self._widen(operand) for operand in rewritten] if some else rewritten

    def _binary(self, node: tir.BinaryOp) -> tir.PrimExpr:
        if self._mask is not None and isinstance(node, _DIVISIONS) and not isinstance(node.b, tir.IntImm):
            raise _Declined("a masked lane could divide by zero")
        a, b = self._operands(node.a, node.b)
        return replace(node, dtype=with_lanes_of(node.dtype, a.dtype), a=a, b=b)

    def _sum(self, node: tir.Add) -> tir.PrimExpr:
        return add(self.rewrite(node.a), self.rewrite(node.b)) if is_index(node.dtype) else self._binary(node)

    def _difference(self, node: tir.Sub) -> tir.PrimExpr:
        return subtract(self.rewrite(node.a), self.rewrite(node.b)) if is_index(node.dtype) else self._binary(node)

    def _product(self, node: tir.Mul) -> tir.PrimExpr:
        return multiply(self.rewrite(node.a), self.rewrite(node.b)) if is_index(node.dtype) else self._binary(node)

    def _select(self, node: tir.Select) -> tir.PrimExpr:
        condition, yes, no = self._operands(node.condition, node.true_value, node.false_value)
        return tir.Select(yes.dtype, condition, yes, no, span=node.span)

    def _cast(self, node: tir.Cast) -> tir.PrimExpr:
        value = self.rewrite(node.value)
        if isinstance(value, tir.Ramp) and node.dtype == "int64" and value.base.dtype == "int32":
            base, stride = tir.Cast("int64", value.base), tir.Cast("int64", value.stride)
            return tir.Ramp(with_lanes_of("int64", value.dtype), base, _constant(stride), value.lanes)
        return replace(node, dtype=with_lanes_of(node.dtype, value.dtype), value=value)

    def _not(self, node: tir.Not) -> tir.PrimExpr:
        value = self.rewrite(node.a)
        return replace(node, dtype=value.dtype, a=value)

    def _call(self, node: tir.Call) -> tir.PrimExpr:
        if not uses(node.args, set(self.values)):
            return node
        if node.op == _IF_THEN_ELSE:
            return self._choice(node)
        if node.op == CHECKED_INDEX and self._is_one_check(node):
            return substitute(node, {self._loop.loop_var: self._loop.min})  # one check for all lanes
        if not (isinstance(node.op, Op) and node.op.name.removeprefix("tir.") in _ELEMENTWISE) and not _is_bit_cast(
            node
        ):
            raise _Declined(f"'{getattr(node.op, 'name', 'a call')}' is not computed lane by lane")
        if self._mask is not None and node.op in _SHIFTS and not isinstance(node.args[1], tir.IntImm):
            raise _Declined("a masked lane could shift by a negative count")
        args = self._operands(*(arg for arg in node.args if isinstance(arg, tir.PrimExpr)))
        return replace(node, dtype=with_lanes_of(node.dtype, args[0].dtype), args=tuple(args))

    def _is_one_check(self, node: tir.Call) -> bool:
        """Return whether the check of an index is the same for all lanes."""
        bound = set(self.values) - {self._loop.loop_var}
        return self._mask is None and not uses(node.args[:1], {self._loop.loop_var}) and not uses(node.args, bound)

    def _let(self, node: tir.Let) -> tir.PrimExpr:
        value = self.rewrite(node.value)
        var = self._bound(node.var, value)
        body = self.rewrite(node.body)
        return replace(node, dtype=body.dtype, var=var, value=value, body=body)

    def _let_statement(self, stmt: tir.LetStmt) -> tir.Stmt:
        if self._mask is not None:
            raise _Declined(f"the variable '{stmt.var.name}' is bound under a condition")
        value = self.rewrite(stmt.value)
        return replace(stmt, var=self._bound(stmt.var, value), value=value, body=self.rewrite(stmt.body))

    def _bound(self, var: tir.Var, value: tir.PrimExpr) -> tir.Var:
        """Return the variable for `value`: a vector if its values differ between lanes."""
        if not is_vector(value.dtype) or is_vector(var.dtype):
            return var
        vector = replace(var, dtype=value.dtype, type_annotation=None)
        self.values[var] = vector
        return vector

    def _choice(self, node: tir.Call) -> tir.PrimExpr:
        """Compute both sides of a choice per lane, each masked by the condition."""
        condition, yes, no = (arg for arg in node.args if isinstance(arg, tir.PrimExpr))
        mask = self.rewrite(condition)
        if not is_vector(mask.dtype):
            yes, no = self._operands(yes, no)
            return replace(node, dtype=yes.dtype, args=(mask, yes, no))
        if self._masks != "all":
            raise _Scalar
        chosen = self._masked(mask, lambda: self.rewrite(yes))
        other = self._masked(tir.Not(mask.dtype, mask), lambda: self.rewrite(no))
        values = [self._widen(value) for value in (chosen, other)]
        return tir.Select(values[0].dtype, mask, values[0], values[1], span=node.span)

    def _load(self, node: tir.BufferLoad) -> tir.PrimExpr:
        (index,) = self.rewrite(node.indices)
        if node.predicate is not None or is_vector(node.dtype):
            raise _Declined("it contains vectors")
        if self._mask is not None:
            index = self._widen(index)
        return replace(node, dtype=with_lanes_of(node.dtype, index.dtype), indices=(index,), predicate=self._mask)

    def _store(self, node: tir.BufferStore) -> tir.Stmt:
        try:
            return self._vector_store(node)
        except _Scalar:
            return self._lane_by_lane(node)

    def _vector_store(self, node: tir.BufferStore) -> tir.Stmt:
        self._stored = None if self._mask is not None or node.predicate is not None else node
        (index,), value = self.rewrite(node.indices), self.rewrite(node.value)
        self._stored = None
        if node.predicate is not None or is_vector(node.buffer.dtype):
            raise _Declined("it contains vectors")
        if not is_vector(index.dtype):
            raise _Declined(f"all lanes store to one element of '{node.buffer.name}'")
        value = self._widen(value)
        return replace(node, indices=(index,), value=value, predicate=self._mask)


def _places(loop: tir.For) -> tir.Ramp:
    """Return the values of the loop variable as a vector."""
    try:
        found = make.ramp(loop.min, make.const(1, loop.loop_var.dtype), loop.extent)
    except TvmsError:
        found = None
    if not isinstance(found, tir.Ramp) or lanes_of(found.dtype) > MAX_LANES:
        raise _Declined(f"its extent is not a constant from 2 to {MAX_LANES}")
    return found


def _is_bit_cast(node: tir.Call) -> bool:
    """Return whether `node` reads the bits of a scalar as one of the same size."""
    if node.op != Op("tir.reinterpret") or not isinstance(value := node.args[0], tir.PrimExpr):
        return False
    given, wanted = parse_dtype(value.dtype), parse_dtype(node.dtype)
    return given.bits == wanted.bits and "handle" not in (given.code, wanted.code)


def _constant(stride: tir.Cast) -> tir.PrimExpr:
    return tir.IntImm("int64", stride.value.value) if isinstance(stride.value, tir.IntImm) else stride


def _check_independent(loop: tir.For) -> None:
    """Decline if an iteration may access what another one writes.

    The test is sound but coarse: memory that the loop writes must be accessed with a single index expression
    everywhere.
    """
    accesses = [node for node in walk(loop.body) if isinstance(node, tir.BufferLoad | tir.BufferStore)]
    written = {access.buffer.data: access.indices[0] for access in accesses if isinstance(access, tir.BufferStore)}
    for access in accesses:
        index = written.get(access.buffer.data)
        if index is not None and not structural_equal(index, access.indices[0], map_free_vars=False):
            raise _Declined(f"an iteration may access elements of '{access.buffer.name}' that another one writes")
