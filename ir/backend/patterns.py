"""Patterns for libraries, each with names for its parts (TVM: `relax.backend.patterns`).

Each function returns the pattern and its named parts, in the form that `FuseOpsByPattern` accepts:
`("library.matmul", *make_matmul_pattern())`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from ..dpl import is_op, wildcard
from ..dpl.pattern import DFPattern

Named: TypeAlias = tuple[DFPattern, dict[str, DFPattern]]


def _with_epilogue(out: DFPattern, parts: dict[str, DFPattern], with_bias: bool, activation: str | None) -> Named:
    if with_bias:
        parts["bias"] = wildcard()
        out = is_op("relax.add")(out, parts["bias"])
    return (is_op(activation)(out) if activation else out), parts


def make_fused_bias_activation_pattern(op_name: str, with_bias: bool = False, activation: str | None = None) -> Named:
    """Return the pattern of a binary operator with the parts `lhs`, `rhs`, `root` and, with a bias, `bias`."""
    lhs, rhs = wildcard(), wildcard()
    root = is_op(op_name)(lhs, rhs)
    return _with_epilogue(root, {"lhs": lhs, "rhs": rhs, "root": root}, with_bias, activation)


def make_matmul_pattern(with_bias: bool = False, activation: str | None = None, transposed_rhs: bool = False) -> Named:
    """Return the pattern of a matrix product: `lhs`, `rhs`, `root`, optionally `transposed` and `bias`."""
    lhs, rhs = wildcard(), wildcard()
    right = is_op("relax.permute_dims")(rhs) if transposed_rhs else rhs
    root: DFPattern = is_op("relax.matmul")(lhs, right)
    parts = {"lhs": lhs, "rhs": rhs, "root": root, **({"transposed": right} if transposed_rhs else {})}
    return _with_epilogue(root, parts, with_bias, activation)


def make_conv2d_pattern(with_bias: bool = False, activation: str | None = None) -> Named:
    """Return the pattern of a convolution with the parts `input`, `weight`, `root` and, with a bias, `bias`."""
    image, weight = wildcard(), wildcard()
    root = is_op("relax.nn.conv2d")(image, weight)
    return _with_epilogue(root, {"input": image, "weight": weight, "root": root}, with_bias, activation)


def make_attention_pattern(with_bias: bool = False) -> Named:
    """Return the pattern of an attention with the parts `query`, `key`, `value` and, with a bias, `bias`."""
    parts: dict[str, DFPattern] = {name: wildcard() for name in ("query", "key", "value")}
    if with_bias:
        parts["bias"] = wildcard()
    return is_op("relax.nn.attention_bias" if with_bias else "relax.nn.attention")(*parts.values()), parts


def make_layer_norm_pattern() -> Named:
    """Return the pattern of a layer norm, without named parts."""
    return is_op("relax.nn.layer_norm")(wildcard(), wildcard(), wildcard()), {}


def make_residual_block_pattern(
    node_output: DFPattern | tuple[DFPattern, Mapping[str, DFPattern]],
    binary_op: str = "relax.add",
    activation: str | None = None,
) -> Named:
    """Return the pattern of `binary_op` of `node_output` and `residual` in either order, with the parts of both."""
    parts: Mapping[str, DFPattern] = {}
    if isinstance(node_output, tuple):
        node_output, parts = node_output
    residual, join = wildcard(), is_op(binary_op)
    out = join(node_output, residual) | join(residual, node_output)
    return (is_op(activation)(out) if activation else out), {**parts, "residual": residual}
