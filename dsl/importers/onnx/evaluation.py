"""Evaluation of small constants during the import."""

from __future__ import annotations

from typing import Any

from ....ir import relax
from ....ir.base import IRModule
from ....ir.building.values import const
from ....ir.diagnostics import TvmsError
from ....ir.infer import infer_struct_info
from ....ir.ops import dims as d

_SMALL = 4096
"""Maximum number of elements of tensors that are computed during the import."""


def evaluated(expr: Any) -> relax.Constant | None:
    """Return the value of an expression of constants, if it is small and can be computed."""
    from ....ir.interp import run

    info = infer_struct_info(expr)
    if not isinstance(info, relax.TensorStructInfo) or not isinstance(info.shape, relax.ShapeExpr):
        return None
    count = d.value_of(d.product(info.shape.values))
    if count is None or count > _SMALL:
        return None
    function = relax.Function((), relax.SeqExpr((), expr), info)
    try:
        return const(run(IRModule({"constant": function}), "constant", []))
    except TvmsError:
        return None  # the error is reported when the program executes
