"""Products of matrices by an external function, for the interpreter (TVM: `tvm.contrib.cblas`).

Compiled programs use `relax.op.matmul`, which is compiled or given to BLAS.
"""

from __future__ import annotations

from typing import Any

from ... import te
from ...functions import register_func
from ..tir import call_packed


def matmul(lhs: te.Tensor, rhs: te.Tensor, transa: bool = False, transb: bool = False) -> te.Tensor:
    """Return the product of two matrices, each transposed if `transa` or `transb`."""
    rows, columns = lhs.shape[1 if transa else 0], rhs.shape[0 if transb else 1]
    return _product("tvm.contrib.cblas.matmul", (rows, columns), lhs, rhs, transa, transb)


def batch_matmul(lhs: te.Tensor, rhs: te.Tensor, transa: bool = False, transb: bool = False) -> te.Tensor:
    """Return the products of the matrices of two batches."""
    rows, columns = lhs.shape[2 if transa else 1], rhs.shape[1 if transb else 2]
    return _product("tvm.contrib.cblas.batch_matmul", (lhs.shape[0], rows, columns), lhs, rhs, transa, transb)


def _product(
    name: str, shape: tuple[Any, ...], lhs: te.Tensor, rhs: te.Tensor, transa: bool, transb: bool
) -> te.Tensor:
    def call(inputs: Any, outputs: Any) -> Any:
        return call_packed(name, inputs[0], inputs[1], outputs[0], transa, transb)

    return te.extern(shape, [lhs, rhs], call, name="C", dtype=lhs.dtype)


@register_func("tvm.contrib.cblas.matmul", override=True)
@register_func("tvm.contrib.cblas.batch_matmul", override=True)
def _multiply(lhs: Any, rhs: Any, out: Any, transa: bool, transb: bool) -> None:
    out[...] = (lhs.swapaxes(-1, -2) if transa else lhs) @ (rhs.swapaxes(-1, -2) if transb else rhs)
