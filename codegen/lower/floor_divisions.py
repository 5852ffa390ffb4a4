"""Floor division in terms of truncated division, shifts and masks.

    i // 8                        →    T.shift_right(i, 3)
    i // j, neither negative      →    T.Div(i, j)
    i // j                        →    T.Select(T.Mod(i, j) != 0 and …, T.Div(i, j) - 1, T.Div(i, j))

The compiler leaves this to its backend. (TVM: `LowerIntrin`.)
"""

from __future__ import annotations

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.analysis.const_bounds import const_bounds
from ...ir.dtype import is_int
from ...ir.intern import has_effects
from .rewriter import Rewriter


def lower_floor_divisions(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` without `//` and `%` of scalar integers, unless their operands have effects (TVM: `LowerIntrin`)."""
    return replace(func, body=_Lowerer().rewrite(func.body))


class _Lowerer(Rewriter):
    def __init__(self) -> None:
        super().__init__(
            {
                tir.FloorDiv: self._divide,
                tir.FloorMod: self._divide,
                tir.For: self._for,
                tir.Buffer: lambda buffer: buffer,
            }
        )
        self._domains: dict[tir.Var, tir.Range] = {}

    def _for(self, loop: tir.For) -> tir.For:
        self._domains[loop.loop_var] = tir.Range(loop.min, loop.extent)
        found: tir.For = self.rebuild(loop)
        self._domains.pop(loop.loop_var)
        return found

    def _divide(self, node: tir.FloorDiv | tir.FloorMod) -> tir.PrimExpr:
        node = self.rebuild(node)
        a, b = node.a, node.b
        if not is_int(node.dtype) or has_effects(node):
            return node
        by_bits = self._by_bits(node)
        if by_bits is not None:
            return by_bits
        quotient, rest = tir.Div(node.dtype, a, b, span=node.span), tir.Mod(node.dtype, a, b, span=node.span)
        if const_bounds(a, self._domains).min >= 0 and const_bounds(b, self._domains).min >= 0:
            return quotient if isinstance(node, tir.FloorDiv) else rest
        zero = make.const(0, node.dtype)
        is_below = make.not_equal(make.less(rest, zero), make.less(b, zero))
        is_rounded = make.logical_and(make.not_equal(rest, zero), is_below)
        if isinstance(node, tir.FloorDiv):
            return tir.Select(node.dtype, is_rounded, make.sub(quotient, make.const(1, node.dtype)), quotient)
        return tir.Select(node.dtype, is_rounded, make.add(rest, b), rest)

    def _by_bits(self, node: tir.FloorDiv | tir.FloorMod) -> tir.PrimExpr | None:
        """Return a shift or a mask for a power of two."""
        divisor = node.b.value if isinstance(node.b, tir.IntImm) else 0
        if divisor <= 0 or divisor & (divisor - 1):
            return None
        if isinstance(node, tir.FloorDiv):
            return make.right_shift(node.a, make.const(divisor.bit_length() - 1, node.dtype))
        return make.bitwise_and(node.a, make.const(divisor - 1, node.dtype))
