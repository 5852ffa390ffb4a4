"""Legalize groups of operators before the others (TVM: `DispatchSampling`, `DispatchSortScan`, `FastMathTransform`)."""

from __future__ import annotations

from ..base import IRModule
from ..deep import deep
from .legalize_ops import legalize_only
from .transform import declare_pass


@declare_pass("DispatchSampling")
@deep
def dispatch_sampling(mod: IRModule) -> IRModule:
    """Replace `multinomial_from_uniform` by a loop function; one definition serves all targets, so that this is a part of
    `LegalizeOps`.
    """
    return legalize_only(mod, {"relax.multinomial_from_uniform": "get_sample_index"})


@declare_pass("DispatchSortScan")
@deep
def dispatch_sort_scan(mod: IRModule) -> IRModule:
    """Replace sorting, cumulative operators and `bucketize` by loop functions; one definition serves all targets, so that this is
    a part of `LegalizeOps`.
    """
    names = "sort argsort topk cumsum cumprod bucketize"
    return legalize_only(mod, {f"relax.{name}": name for name in names.split()})


@declare_pass("FastMathTransform")
@deep
def fast_math_transform(mod: IRModule) -> IRModule:
    """Replace `softmax`, `exp`, `erf` and `tanh` by the loop functions of `topi.nn.fast_softmax`, `topi.fast_exp` and so on, whose
    vectorized code is as exact as that of the operators.
    """
    names = {f"relax.{name}": f"fast_{name}" for name in ("exp", "erf", "tanh")}
    return legalize_only(mod, {"relax.nn.softmax": "fast_softmax", **names})
