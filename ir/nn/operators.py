"""Functions of tensors that are one operator of the graph level; each binds its result to a variable called `name`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from .. import tir
from .tensor import Tensor, call

IntExpr: TypeAlias = int | tir.PrimExpr
OutType: TypeAlias = Tensor | Sequence[Tensor]
Axes: TypeAlias = int | Sequence[int] | None

__all__ = [
    "add",
    "argsort",
    "broadcast_to",
    "ccl_allgather",
    "ccl_allreduce",
    "ccl_broadcast_from_worker0",
    "chunk",
    "concat",
    "cumsum",
    "divide",
    "equal",
    "exp",
    "floor",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "log",
    "matmul",
    "max",
    "maximum",
    "min",
    "minimum",
    "multiply",
    "negative",
    "not_equal",
    "permute",
    "prelu",
    "relu",
    "relu6",
    "repeat",
    "reshape",
    "rms_norm",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "sort",
    "split",
    "sqrt",
    "square",
    "subtract",
    "sum",
    "take",
    "tanh",
    "topk",
    "triu",
    "unsqueeze",
]


def add(a: Tensor, b: Tensor, name: str = "add") -> Tensor:
    """Return `a + b`, broadcast."""
    return call("add", name, a, b)


def subtract(a: Tensor, b: Tensor, name: str = "subtract") -> Tensor:
    """Return `a - b`, broadcast."""
    return call("subtract", name, a, b)


def multiply(a: Tensor, b: Tensor, name: str = "mul") -> Tensor:
    """Return `a * b`, broadcast."""
    return call("multiply", name, a, b)


def divide(a: Tensor, b: Tensor, name: str = "divide") -> Tensor:
    """Return `a / b`, broadcast."""
    return call("divide", name, a, b)


def maximum(x1: Tensor, x2: Tensor, name: str = "maximum") -> Tensor:
    """Return the larger of the elements, broadcast."""
    return call("maximum", name, x1, x2)


def minimum(x1: Tensor, x2: Tensor, name: str = "minimum") -> Tensor:
    """Return the smaller of the elements, broadcast."""
    return call("minimum", name, x1, x2)


def less(a: Tensor, b: Tensor, name: str = "less") -> Tensor:
    """Return `a < b`, a tensor of bools, broadcast."""
    return call("less", name, a, b)


def less_equal(a: Tensor, b: Tensor, name: str = "less_equal") -> Tensor:
    """Return `a <= b`, a tensor of bools, broadcast."""
    return call("less_equal", name, a, b)


def greater(a: Tensor, b: Tensor, name: str = "greater") -> Tensor:
    """Return `a > b`, a tensor of bools, broadcast."""
    return call("greater", name, a, b)


def greater_equal(a: Tensor, b: Tensor, name: str = "greater_equal") -> Tensor:
    """Return `a >= b`, a tensor of bools, broadcast."""
    return call("greater_equal", name, a, b)


def equal(a: Tensor, b: Tensor, name: str = "equal") -> Tensor:
    """Return `a == b`, a tensor of bools, broadcast."""
    return call("equal", name, a, b)


def not_equal(a: Tensor, b: Tensor, name: str = "not_equal") -> Tensor:
    """Return `a != b`, a tensor of bools, broadcast."""
    return call("not_equal", name, a, b)


# --- Elements -----------------------------------------------------------------------------------------------------


def negative(x: Tensor, name: str = "neg") -> Tensor:
    """Return `-x`."""
    return call("negative", name, x)


def square(x: Tensor, name: str = "square") -> Tensor:
    """Return `x * x`."""
    return call("square", name, x)


def sqrt(x: Tensor, name: str = "sqrt") -> Tensor:
    """Return the square root of `x`."""
    return call("sqrt", name, x)


def exp(x: Tensor, name: str = "exp") -> Tensor:
    """Return e to the power of `x`."""
    return call("exp", name, x)


def log(x: Tensor, name: str = "log") -> Tensor:
    """Return the natural logarithm of `x`."""
    return call("log", name, x)


def floor(x: Tensor, name: str = "floor") -> Tensor:
    """Return the largest integers that are not above `x`."""
    return call("floor", name, x)


def tanh(x: Tensor, name: str = "tanh") -> Tensor:
    """Return the hyperbolic tangent of `x`."""
    return call("tanh", name, x)


def sigmoid(x: Tensor, name: str = "sigmoid") -> Tensor:
    """Return `1 / (1 + exp(-x))`."""
    return call("sigmoid", name, x)


def relu(x: Tensor, name: str = "relu") -> Tensor:
    """Return `max(x, 0)`."""
    return call("nn.relu", name, x)


def relu6(x: Tensor, name: str = "relu6") -> Tensor:
    """Return `min(max(x, 0), 6)`."""
    return call("nn.relu6", name, x)


def silu(x: Tensor, name: str = "silu") -> Tensor:
    """Return `x * sigmoid(x)`."""
    return call("nn.silu", name, x)


def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0, name: str = "softplus") -> Tensor:
    """Return `log(1 + exp(beta * x)) / beta`, or `x` where `beta * x > threshold`."""
    return call("nn.softplus", name, x, beta=beta, threshold=threshold)


def prelu(x: Tensor, alpha: Tensor, name: str = "prelu") -> Tensor:
    """Return `x` where it is positive, and `alpha * x` elsewhere; `alpha` has one value per channel."""
    return call("nn.prelu", name, x, alpha)


def softmax(x: Tensor, axis: int = -1, name: str = "softmax") -> Tensor:
    """Return the softmax of `x` along `axis`."""
    return call("nn.softmax", name, x, axis)


# --- Reductions, scans and orders ---------------------------------------------------------------------------------


def sum(x: Tensor, axis: Axes = None, keepdims: bool = False, name: str = "sum") -> Tensor:
    """Return the sum over `axis`, over all dimensions by default."""
    return call("sum", name, x, axis, keepdims)


def max(x: Tensor, axis: Axes = None, keepdims: bool = False, name: str = "max") -> Tensor:
    """Return the maximum over `axis`, over all dimensions by default."""
    return call("max", name, x, axis, keepdims)


def min(x: Tensor, axis: Axes = None, keepdims: bool = False, name: str = "min") -> Tensor:
    """Return the minimum over `axis`, over all dimensions by default."""
    return call("min", name, x, axis, keepdims)


def cumsum(
    data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None, name: str = "cumsum"
) -> Tensor:
    """Return the sums of all elements up to each one along `axis`, or before it if `exclusive`; without `axis`, `data`
    is flat.
    """
    return call("cumsum", name, data, axis, dtype, exclusive)


def sort(x: Tensor, axis: int = -1, descending: bool = False, name: str = "sort") -> Tensor:
    """Return `x` sorted along `axis`."""
    return call("sort", name, x, axis, descending)


def argsort(
    data: Tensor, axis: int = -1, descending: bool = False, dtype: str = "int32", name: str = "argsort"
) -> Tensor:
    """Return the indices, of `dtype`, that sort `data` along `axis`."""
    return call("argsort", name, data, axis, descending, dtype)


def topk(
    data: Tensor,
    k: int = 1,
    axis: int = -1,
    ret_type: str = "both",
    largest: bool = True,
    dtype: str = "int32",
    name: str = "topk",
) -> Any:
    """Return the `k` largest or smallest elements along `axis` and their indices of `dtype`, or one of these:
    `ret_type` is "both", "values" or "indices".
    """
    return call("topk", name, data, k, axis, ret_type, largest, dtype)


# --- Shapes -------------------------------------------------------------------------------------------------------


def reshape(x: Tensor, shape: Sequence[Any], name: str = "reshape") -> Tensor:
    """Return the elements of `x` in another shape; a dimension can be -1."""
    return call("reshape", name, x, shape)


def unsqueeze(x: Tensor, dim: int, name: str = "unsqueeze") -> Tensor:
    """Return `x` with a new dimension of 1 at `dim`."""
    return call("expand_dims", name, x, dim)


def broadcast_to(x: Tensor, shape: Sequence[Any], name: str = "broadcast_to") -> Tensor:
    """Return `x` broadcast to `shape`."""
    return call("broadcast_to", name, x, shape)


def permute(x: Tensor, axes: Sequence[int] | None = None, name: str = "permute") -> Tensor:
    """Return `x` with its dimensions in the order `axes`, or reversed."""
    return call("permute_dims", name, x, axes)


def repeat(x: Tensor, repeats: int, axis: int | None = None, name: str = "repeat") -> Tensor:
    """Return `x` with each element `repeats` times along `axis`, or in a flat tensor."""
    return call("repeat", name, x, repeats, axis)


def concat(x: Sequence[Tensor], dim: int, name: str = "concat") -> Tensor:
    """Return the tensors joined along `dim`."""
    return call("concat", name, x, dim)


def split(
    ary: Tensor, indices_or_sections: int | Sequence[int], axis: int = 0, name: str = "split"
) -> tuple[Tensor, ...]:
    """Return the parts of `ary` along `axis`: a number of equal ones, or those that start at indices."""
    return call("split", name, ary, indices_or_sections, axis)


def chunk(x: Tensor, chunks: int, dim: int = 0, name: str = "chunk") -> tuple[Tensor, ...]:
    """Return `chunks` equal parts of `x` along `dim`."""
    return call("split", name, x, chunks, dim)


def take(x: Tensor, indices: Tensor, axis: int | None = None, name: str = "take") -> Tensor:
    """Return the elements of `x` at `indices` along `axis`, or in the flat tensor."""
    return call("take", name, x, indices, axis)


def triu(x: Tensor, diagonal: int = 0, name: str = "triu") -> Tensor:
    """Return `x` with zeros below a diagonal of its last two dimensions."""
    return call("triu", name, x, diagonal)


# --- Products and normalizations ----------------------------------------------------------------------------------


def matmul(a: Tensor, b: Tensor, out_dtype: str | None = None, name: str = "matmul") -> Tensor:
    """Return the product of matrices, broadcast over the other dimensions, accumulated in `out_dtype`."""
    return call("matmul", name, a, b, out_dtype=out_dtype)


def rms_norm(
    x: Tensor, weight: Tensor, axes: int | Sequence[int], epsilon: float = 1e-5, name: str = "rms_norm"
) -> Tensor:
    """Return `x` divided by its root mean square over `axes`, times `weight`."""
    return call("nn.rms_norm", name, x, weight, axes=axes, epsilon=epsilon)


# --- Communication between workers --------------------------------------------------------------------------------


def ccl_allreduce(x: Tensor, op_type: str = "sum", in_group: bool = True, name: str = "ccl_allreduce") -> Tensor:
    """Return the reduction of `x` over all workers, or those of the group."""
    return call("ccl.allreduce", name, x, op_type, in_group)


def ccl_allgather(x: Tensor, num_workers: int, name: str = "ccl_allgather") -> Tensor:
    """Return the tensors of all workers, joined along the first dimension."""
    return call("ccl.allgather", name, x, num_workers)


def ccl_broadcast_from_worker0(x: Tensor, name: str = "broadcast_from_worker") -> Tensor:
    """Return the tensor of the first worker."""
    return call("ccl.broadcast_from_worker0", name, x)
