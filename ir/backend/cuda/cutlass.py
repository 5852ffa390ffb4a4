"""CUTLASS: the operations that it supports, for programs that bring its kernels (TVM: `relax.backend.cuda.cutlass`).

tvms finds and marks these operations, but does not call CUTLASS: register a code generator for "cutlass" with `register_func`.
"""

from __future__ import annotations

from functools import cache
from itertools import product

from ... import relax, tir
from ...base import IRModule
from ...ops.dims import is_equal
from ...ops.inference import dims_of
from ...passes.fuse_by_pattern import (
    FusionPattern,
    PatternCheckContext,
    fuse_ops_by_pattern,
    has_leaking_intermediate_variables,
)
from .. import patterns
from ..registry import get_patterns_with_prefix, register_patterns

_DTYPES = frozenset(("float16", "float32", "int8", "uint8"))
_ACTIVATIONS = {"": None, "_relu": "relax.nn.relu", "_gelu": "relax.nn.gelu", "_silu": "relax.nn.silu"}


def partition_for_cutlass(mod: IRModule, annotate_codegen: bool = True) -> IRModule:
    """Return `mod` with the operations that CUTLASS supports moved to new functions, marked as functions for CUTLASS."""
    _register()
    found = get_patterns_with_prefix("cutlass")
    return fuse_ops_by_pattern(mod, found, bind_constants=False, annotate_codegen=annotate_codegen)


@cache
def _register() -> None:
    """Register the patterns, those that match most of a program last: they are tried first."""
    plain: list[FusionPattern] = []
    for suffix in ("", "_bias", "_bias_relu", "_bias_silu"):
        plain.append(_convolution(suffix))
    for transposed, suffix in product((False, True), ("", "_bias", "_bias_relu", "_bias_gelu")):
        plain.append(_matmul(transposed, suffix))
    residual = [
        _residual(base, operator, suffix)
        for suffix, base, operator in product(("", "_relu"), plain, ("relax.add", "relax.multiply"))
        if "_bias" in base.name
    ]
    others = (
        FusionPattern("cutlass.attention", *patterns.make_attention_pattern()),
        FusionPattern("cutlass.attention_bias", *patterns.make_attention_pattern(with_bias=True)),
        FusionPattern("cutlass.layer_norm", *patterns.make_layer_norm_pattern(), _check_layer_norm),
    )
    register_patterns([*plain, *residual, *others])


def _convolution(suffix: str) -> FusionPattern:
    activation = _ACTIVATIONS[suffix.removeprefix("_bias")]
    pattern = patterns.make_fused_bias_activation_pattern("relax.nn.conv2d", "_bias" in suffix, activation)
    return FusionPattern(f"cutlass.conv2d{suffix}", *pattern, _check_convolution)


def _matmul(transposed: bool, suffix: str) -> FusionPattern:
    activation = _ACTIVATIONS[suffix.removeprefix("_bias")]
    name = f"cutlass.matmul{'_transposed' if transposed else ''}{suffix}"
    return FusionPattern(name, *patterns.make_matmul_pattern("_bias" in suffix, activation, transposed), _check_matmul)


def _residual(base: FusionPattern, operator: str, suffix: str) -> FusionPattern:
    parts = (base.pattern, base.annotation_patterns)
    pattern = patterns.make_residual_block_pattern(parts, operator, _ACTIVATIONS[suffix])
    return FusionPattern(f"{base.name}_residual_{operator.rpartition('.')[2]}{suffix}", *pattern, base.check)


def _check_convolution(context: PatternCheckContext) -> bool:
    root = context.annotated_expr["root"]
    assert isinstance(root, relax.Call)
    data, weight = (_dims(arg) for arg in root.args)
    if not _has_supported_operands(context, root.args) or data is None or weight is None:
        return False
    is_channels_last = (root.attrs["data_layout"], root.attrs["kernel_layout"]) == ("NHWC", "OHWI")
    if not is_channels_last or not all(isinstance(dim, tir.IntImm) for dim in data):
        return False
    groups = tir.IntImm("int64", root.attrs["groups"])
    return not (is_equal(data[3], groups) and is_equal(weight[0], groups))


def _check_matmul(context: PatternCheckContext) -> bool:
    lhs, rhs = (context.annotated_expr[name] for name in ("lhs", "rhs"))
    left, right = _dims(lhs), _dims(rhs)
    if not _has_supported_operands(context, (lhs, rhs)) or left is None or right is None:
        return False
    batches = left[:-2], right[:-2]
    is_shared = any(all(is_equal(dim, tir.IntImm("int64", 1)) for dim in dims) for dims in batches)
    are_equal = len(batches[0]) == len(batches[1]) and all(map(is_equal, *batches))
    return min(len(left), len(right)) >= 2 and (is_shared or are_equal)


def _check_layer_norm(context: PatternCheckContext) -> bool:
    """Return whether a layer norm is over the last axis, with scale and offset."""
    attrs, dims = context.matched_expr.attrs, _dims(context.matched_expr)
    axes = [int(getattr(axis, "value", axis)) for axis in attrs["axes"]]
    return bool(attrs["center"] and attrs["scale"] and dims and len(axes) == 1 and axes[0] % len(dims) == len(dims) - 1)


def _has_supported_operands(context: PatternCheckContext, args: tuple[relax.Expr, ...]) -> bool:
    """Return whether CUTLASS has kernels for the dtypes, no inner value is used outside, and the residual fits."""
    infos = [arg.struct_info for arg in args]
    dtypes = [info.dtype for info in infos if isinstance(info, relax.TensorStructInfo)]
    is_supported = len(set(dtypes)) == 1 and set(dtypes) <= _DTYPES
    return is_supported and not has_leaking_intermediate_variables(context) and _fits_residual(context)


def _fits_residual(context: PatternCheckContext) -> bool:
    """Return whether the residual, if there is one, has the shape of the result or one value for each of its channels."""
    residual = context.annotated_expr.get("residual")
    if residual is None:
        return True
    residual = context.value_to_bound_var.get(residual, residual)
    own, out = _dims(residual), _dims(context.annotated_expr["root"])
    if own is None or out is None or residual in context.matched_bindings:
        return False
    is_row = all(is_equal(dim, tir.IntImm("int64", 1)) for dim in own[:-1]) and is_equal(own[-1], out[-1])
    return is_row or (len(own) == len(out) and all(map(is_equal, own, out)))


def _dims(expr: relax.Expr) -> tuple[tir.PrimExpr, ...] | None:
    info = expr.struct_info
    return dims_of(info) if isinstance(info, relax.TensorStructInfo) else None
