"""Rows for products and convolutions."""

from __future__ import annotations

from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.ops import dims as d
from ..values import dims_of, rank_of
from .converter import Converter
from .rows import Family

ROWS = Family()


@ROWS.row("MatMul")
def _matmul(c: Converter, a: Any) -> relax.Expr:
    return op.matmul(a.A, a.B)


@ROWS.row("Conv")
def _conv(c: Converter, a: Any) -> relax.Expr:
    spatial = rank_of(a.X) - 2
    kernel = [d.value_of(dim) for dim in dims_of(a.W)[2:]]
    strides, dilations = a.strides or [1] * spatial, a.dilations or [1] * spatial
    if a.auto_pad not in ("NOTSET", "VALID"):
        raise c.unsupported(f"auto_pad is {a.auto_pad}", "give the pads as numbers")
    pads = a.pads if a.pads and a.auto_pad == "NOTSET" else [0] * 2 * spatial
    convolve = (op.nn.conv1d, op.nn.conv2d, op.nn.conv3d)[len(kernel) - 1]
    made = convolve(a.X, a.W, strides, pads, dilations, a.group)
    if a.B is None:
        return made
    return op.add(made, op.reshape(a.B, c.shape((1, -1, *[1] * spatial))))


@ROWS.row("Softmax", since=13)
def _softmax(c: Converter, a: Any) -> relax.Expr:
    return op.nn.softmax(a.input, a.axis)


@ROWS.row("Softmax")
def _softmax_of_matrix(c: Converter, a: Any) -> relax.Expr:
    """Before version 13, the dimensions from `axis` on are one."""
    dims = dims_of(a.input)
    axis = a.axis + len(dims) if a.axis < 0 else a.axis
    flat = op.reshape(a.input, c.shape((d.product(dims[:axis]), d.product(dims[axis:]))))
    return op.reshape(op.nn.softmax(flat, 1), c.shape(dims))
