"""Frontends for graph-level programs (TVM: `tvm.relax.frontend`): `nn`, modules as in PyTorch, and `onnx` and `torch`, the
importers of ONNX and PyTorch models.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from .... import nn, relax
from ....base import IRModule
from ....building.block_builder import BlockBuilder
from ....tir import IntImm
from ... import tir
from ...topi import nn as topi_nn

__all__ = ["autopad", "detach_params", "nn"]


def detach_params(module: IRModule) -> tuple[IRModule, dict[str, list[Any]]]:
    """Return `module` without the attribute "params" of its functions, and the arrays in these attributes by function name
    (TVM: `relax.frontend.detach_params`).
    """
    functions = dict(module.functions)
    arrays: dict[str, list[Any]] = {}
    for name, function in functions.items():
        if isinstance(function, relax.Function) and "params" in function.attrs:
            attrs = dict(function.attrs)
            given = attrs.pop("params")
            arrays[name] = [value.data if isinstance(value, relax.Constant) else value for value in given]
            functions[name] = replace(function, attrs=attrs)
    return replace(module, functions=functions), arrays


def autopad(
    bb: BlockBuilder,
    data: relax.Expr,
    strides: Sequence[int],
    kernel_shape: Sequence[int],
    dilations: Sequence[int] = (1, 1),
    pad_type: str = "constant",
    deconv: bool = False,
    mode: str = "SAME_UPPER",
    pad_value: float = 0.0,
) -> relax.Var:
    """Emit the padding of `data`, in the layout NCHW or of another rank, for a convolution with `size / stride` results in each dimension.

    An odd element is added at the end, or with "SAME_LOWER" at the beginning. Elements added are `pad_value` ("constant"),
    the nearest element ("edge") or the mirror image ("reflect"). With `deconv`, the padding is that of a transposed
    convolution. Raise ValueError for another `pad_type`, or data of unknown shape.
    """
    emitted = {"constant": topi_nn.pad, "edge": topi_nn.replicate_pad, "reflect": topi_nn.mirror_pad}
    if pad_type not in emitted:
        raise ValueError(f"autopad: pad_type is {pad_type!r}; choose one of {', '.join(emitted)}")
    info = data.struct_info
    if not isinstance(info, relax.TensorStructInfo) or not isinstance(info.shape, relax.ShapeExpr):
        raise ValueError(f"autopad: the shape of the data is not known: {info}; match it first, with R.match_cast")
    before: list[Any] = [0, 0]
    after: list[Any] = [0, 0]
    sizes = info.shape.values[2:]
    for size, stride, kernel, dilation in zip(sizes, strides, kernel_shape, dilations, strict=True):
        plain = size.value if isinstance(size, IntImm) else size
        total = _missing(plain, stride, kernel, dilation, deconv)
        ends = (total // 2, total - total // 2)
        low, high = reversed(ends) if "LOWER" in mode else ends
        before.append(low)
        after.append(high)
    options = {"constant": (pad_value,), "reflect": ("REFLECT",)}.get(pad_type, ())
    return bb.emit_te(emitted[pad_type], data, before, after, *options)


def _missing(size: Any, stride: int, kernel: int, dilation: int, deconv: bool) -> Any:
    """Return how many elements a dimension needs beside its `size`."""
    needed = (kernel - 1) * dilation - (size - 1) % stride
    total = max(needed, 0) if isinstance(needed, int) else tir.max(needed, 0)
    return kernel - 1 - total if deconv else total
