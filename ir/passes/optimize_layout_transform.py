"""Remove layout transforms that cancel each other (TVM: `OptimizeLayoutTransform`).

    lv = R.layout_transform(x, index_map=lambda i: (i // 4, i % 4))
    gv = R.layout_transform(lv, index_map=lambda i, j: (i * 4 + j,))        gv = x

`AlterOpImpl` leaves such pairs between new implementations. They cancel if the composition of the maps is the
identity, which is proven here, not inferred from the shape.
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import relax, tir
from ..base import IRModule, Op
from ..deep import deep
from ..equal import structural_equal
from ..infer import infer_struct_info
from ..ops.inference import dims_of
from ..simplify import simplify
from ..visit import substitute
from .calls import clean_up
from .common_subexpressions import eliminate_common_subexpr
from .rewriter import ValueRewriter
from .transform import declare_pass, map_functions

_TRANSFORM = Op("relax.layout_transform")


@declare_pass("OptimizeLayoutTransform")
@deep
def optimize_layout_transform(mod: IRModule) -> IRModule:
    """Replace a layout transform that inverts the preceding one by the original tensor."""
    changed = map_functions(mod, relax.Function, lambda function: _Undoer(function).function(function))
    return mod if changed is mod else clean_up(eliminate_common_subexpr(changed))


class _Undoer(ValueRewriter):
    def __init__(self, function: relax.Function) -> None:
        super().__init__(function)
        self._transforms: dict[relax.Expr, relax.Call] = {}

    def value(self, binding: relax.Binding) -> relax.Expr:
        """Return the operand of the first of two transforms that cancel each other."""
        call = binding.value
        if not isinstance(call, relax.Call) or call.op != _TRANSFORM:
            return call
        self._transforms[binding.var] = call
        first = self._transforms.get(call.args[0])
        if first is None or not _undoes(call, first):
            return call
        return first.args[0]


def _undoes(second: relax.Call, first: relax.Call) -> bool:
    """Return whether the composition is the identity on all elements, without padding."""
    source, result = _dims(first.args[0]), _dims(second)
    if source is None or result is None or not structural_equal(source, result):
        return False
    there, back = first.attrs["index_map"], second.attrs["index_map"]
    places = [
        substitute(index, dict(zip(back.initial_indices, there.final_indices, strict=True)))
        for index in back.final_indices
    ]
    ranges = (tir.Range(tir.IntImm(dim.dtype, 0), dim) for dim in source)
    domains = dict(zip(there.initial_indices, ranges, strict=True))
    return all(
        structural_equal(simplify(place, domains), var)
        for place, var in zip(places, there.initial_indices, strict=True)
    )


def _dims(expr: relax.Expr) -> Sequence[tir.PrimExpr] | None:
    info = infer_struct_info(expr)
    return dims_of(info) if isinstance(info, relax.TensorStructInfo) else None
