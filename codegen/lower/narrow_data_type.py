"""Narrower dtypes for loop variables, thread indices and block axes (TVM: `NarrowDataType`).

    for i in range(T.int64(16)):               for i in range(16):
        A[i * T.int64(8)] = …           →          A[i * 8] = …

A variable is narrowed if every integer expression that uses it has bounds, also of its parts, that fit the narrower dtype.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.analysis.const_bounds import const_bounds
from ...ir.base import Op
from ...ir.dtype import is_int, is_vector, parse_dtype, with_lanes_of
from ...ir.visit import children, walk
from .rewriter import Rewriter

_IF_THEN_ELSE = Op("tir.if_then_else")
_ARITHMETIC = (
    tir.Add, tir.Sub, tir.Mul, tir.FloorDiv, tir.FloorMod, tir.Div, tir.Mod, tir.Min, tir.Max, tir.Select,
    tir.Ramp, tir.Broadcast,
)  # fmt: skip


def narrow_data_types(func: tir.PrimFunc, target_bits: int) -> tir.PrimFunc:
    """Return `func` with loop variables, thread indices and block axes of at most `target_bits` bits, where they suffice."""
    domains = dict(_domains(func.body))
    wide = {var: domain for var, domain in domains.items() if _bits(var.dtype) > target_bits}
    if not wide:
        return func
    kept = _kept(func.body, domains, target_bits)
    narrowed = {var: replace(var, dtype=f"int{target_bits}") for var in wide if var not in kept}
    return replace(func, body=_Narrower(narrowed, domains).rewrite(func.body)) if narrowed else func


def _bits(dtype: str) -> int:
    return parse_dtype(dtype).bits if is_int(dtype) else 0


def _domains(body: tir.Stmt) -> Iterator[tuple[tir.Var, tir.Range]]:
    for node in walk(body):
        match node:
            case tir.For():
                yield node.loop_var, tir.Range(node.min, node.extent)
            case tir.AttrStmt(node=tir.IterVar(var=var), attr_key="thread_extent" | "virtual_thread"):
                yield var, tir.Range(tir.IntImm(node.value.dtype, 0), node.value)
            case tir.Block():
                yield from ((axis.var, axis.dom) for axis in node.iter_vars if axis.dom is not None)
            case _:
                pass


def _kept(body: tir.Stmt, domains: dict[tir.Var, tir.Range], bits: int) -> set[tir.Var]:
    """Return the variables in integer expressions that may leave the range of `bits` bits."""
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    kept = set[tir.Var]()

    def visit(node: Any) -> bool:
        """Return whether the integer expression that `node` is a part of fits; other parts of nodes are expressions of their own."""
        fits = True
        if isinstance(node, tir.PrimExpr) and is_int(node.dtype) and not is_vector(node.dtype):
            bounds = const_bounds(node, domains)
            fits = least <= bounds.min and bounds.max <= most
        is_whole = isinstance(node, _ARITHMETIC) and not isinstance(node, tir.CmpOp)
        for child in children(node):
            inner = visit(child)
            if is_whole:
                fits = fits and inner
            elif not inner:
                kept.update(part for part in _computed(child) if isinstance(part, tir.Var))
        return fits or not is_int(getattr(node, "dtype", ""))

    visit(body)
    for var, domain in domains.items():
        last = const_bounds(domain.min, domains).max + const_bounds(domain.extent, domains).max
        if not (least <= const_bounds(domain.min, domains).min and last <= most):
            kept.add(var)
    return kept


def _computed(node: Any) -> Iterator[Any]:
    """Yield the parts of an integer expression, without the expressions in it that have dtypes of their own."""
    yield node
    if isinstance(node, _ARITHMETIC):
        for child in children(node):
            yield from _computed(child)


_QUOTIENTS = (tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod, tir.Min, tir.Max)
"""Operators whose results fit where their operands do, if divisors are positive."""


class _Narrower(Rewriter):
    def __init__(self, narrowed: dict[tir.Var, tir.Var], domains: dict[tir.Var, tir.Range]) -> None:
        rules: dict[type[Any], Any] = {
            tir.For: self._for, tir.AttrStmt: self._attribute, tir.IterVar: self._axis, tir.BlockRealize: self._realize,
            tir.BufferStore: self._store, tir.Cast: self._cast, tir.Call: self._call, tir.Select: self._select,
            tir.LetStmt: self._let, tir.Let: self._let, tir.Ramp: self._ramp, tir.Broadcast: self._broadcast,
            tir.Range: self._range,
        }  # fmt: skip
        operators = (
            tir.Add, tir.Sub, tir.Mul, tir.FloorDiv, tir.FloorMod, tir.Div, tir.Mod, tir.Min, tir.Max,
            tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE,
        )  # fmt: skip
        super().__init__({**rules, **dict.fromkeys(operators, self._operator)})
        self._narrowed = narrowed
        self._domains = {**domains, **{narrowed[var]: domain for var, domain in domains.items() if var in narrowed}}
        self.values.update(narrowed)

    def _operator(self, node: Any) -> tir.PrimExpr:
        a, b = self.rewrite(node.a), self.rewrite(node.b)
        if a is node.a and b is node.b:
            return node
        a, b = _together(a, b)
        return replace(node, a=a, b=b, dtype=node.dtype if isinstance(node, tir.CmpOp) else a.dtype)

    def _select(self, node: tir.Select) -> tir.PrimExpr:
        true, false = _together(self.rewrite(node.true_value), self.rewrite(node.false_value))
        return replace(
            node, condition=self.rewrite(node.condition), true_value=true, false_value=false, dtype=true.dtype
        )

    def _call(self, call: tir.Call) -> tir.PrimExpr:
        args = self.rewrite(call.args)
        if call.op == _IF_THEN_ELSE:
            true, false = _together(args[1], args[2])
            return replace(call, args=(args[0], true, false), dtype=true.dtype)
        return replace(call, args=tuple(map(_restored, args, call.args)))

    def _cast(self, node: tir.Cast) -> tir.PrimExpr:
        value = self.rewrite(node.value)
        narrow = self._in_dtype(value, node.dtype)
        return make.cast(value, node.dtype) if narrow is None else narrow

    def _in_dtype(self, value: tir.PrimExpr, dtype: str) -> tir.PrimExpr | None:
        """Return a quotient, remainder, minimum or maximum of operands that are widened, computed in `dtype`; None for other values."""
        if not isinstance(value, _QUOTIENTS) or not is_int(dtype) or not is_int(value.dtype) or is_vector(value.dtype):
            return None
        if not isinstance(value, tir.Min | tir.Max) and const_bounds(value.b, self._domains).min < 1:
            return None
        a, b = (self._operand(part, dtype) for part in (value.a, value.b))
        return None if a is None or b is None else replace(value, a=a, b=b, dtype=dtype)

    def _operand(self, value: tir.PrimExpr, dtype: str) -> tir.PrimExpr | None:
        found = _before_widening(value, dtype)
        return self._in_dtype(value, dtype) if found is None else found

    def _let(self, let: tir.LetStmt | tir.Let) -> Any:
        rebuilt = self.rebuild(let)
        return replace(rebuilt, value=_restored(rebuilt.value, let.value))

    def _store(self, store: tir.BufferStore) -> tir.Stmt:
        rebuilt = self.rebuild(store)
        return replace(rebuilt, value=_restored(rebuilt.value, store.value))

    def _ramp(self, ramp: tir.Ramp) -> tir.PrimExpr:
        base, stride = _together(self.rewrite(ramp.base), self.rewrite(ramp.stride))
        return replace(ramp, base=base, stride=stride, dtype=with_lanes_of(base.dtype, ramp.dtype))

    def _broadcast(self, node: tir.Broadcast) -> tir.PrimExpr:
        value = self.rewrite(node.value)
        return replace(node, value=value, dtype=with_lanes_of(value.dtype, node.dtype))

    def _range(self, node: tir.Range) -> tir.Range:
        low, extent = _together(self.rewrite(node.min), self.rewrite(node.extent))
        return replace(node, min=low, extent=extent)

    def _for(self, loop: tir.For) -> tir.Stmt:
        rebuilt = self.rebuild(loop)
        var = self._narrowed.get(loop.loop_var, loop.loop_var)
        start, extent = make.cast(rebuilt.min, var.dtype), make.cast(rebuilt.extent, var.dtype)
        return replace(rebuilt, loop_var=var, min=start, extent=extent)

    def _axis(self, axis: tir.IterVar) -> tir.IterVar:
        var = self._narrowed.get(axis.var, axis.var)
        dom = None if axis.dom is None else self._as(axis.dom, var.dtype)
        return replace(axis, var=var, dom=dom)

    def _as(self, dom: tir.Range, dtype: str) -> tir.Range:
        return tir.Range(make.cast(self.rewrite(dom.min), dtype), make.cast(self.rewrite(dom.extent), dtype))

    def _attribute(self, stmt: tir.AttrStmt) -> tir.Stmt:
        rebuilt = self.rebuild(stmt)
        if isinstance(stmt.node, tir.IterVar):
            return replace(rebuilt, value=make.cast(rebuilt.value, rebuilt.node.var.dtype))
        return replace(rebuilt, value=_restored(rebuilt.value, stmt.value))

    def _realize(self, realize: tir.BlockRealize) -> tir.Stmt:
        rebuilt = self.rebuild(realize)
        values = zip(rebuilt.block.iter_vars, rebuilt.iter_values, strict=True)
        return replace(rebuilt, iter_values=tuple([make.cast(value, axis.var.dtype) for axis, value in values]))


def _before_widening(value: tir.PrimExpr, dtype: str) -> tir.PrimExpr | None:
    """Return `value` in `dtype` if it is a constant, or widened, and fits; otherwise None."""
    bits = parse_dtype(dtype).bits
    if isinstance(value, tir.IntImm):
        return make.const(value.value, dtype) if -(2 ** (bits - 1)) <= value.value < 2 ** (bits - 1) else None
    inner = value.value if isinstance(value, tir.Cast) else None
    if inner is None or not is_int(inner.dtype) or is_vector(inner.dtype):
        return None
    source = parse_dtype(inner.dtype)
    return make.cast(inner, dtype) if source.code == parse_dtype(dtype).code == "int" and source.bits <= bits else None


def _together(a: tir.PrimExpr, b: tir.PrimExpr) -> tuple[tir.PrimExpr, tir.PrimExpr]:
    """Return the operands in one dtype: that of the operand that is not constant, or the wider one."""
    if a.dtype == b.dtype or not (is_int(a.dtype) and is_int(b.dtype)):
        return a, b
    if isinstance(a, tir.IntImm) != isinstance(b, tir.IntImm):
        dtype = b.dtype if isinstance(a, tir.IntImm) else a.dtype
    else:
        dtype = max(a.dtype, b.dtype, key=_bits)
    return make.cast(a, dtype), make.cast(b, dtype)


def _restored(new: Any, old: Any) -> Any:
    """Return `new` in the dtype of `old`, where the dtype is fixed."""
    if isinstance(new, tir.PrimExpr) and new.dtype != old.dtype:
        return make.cast(new, old.dtype)
    return new
