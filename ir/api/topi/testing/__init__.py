"""Operators in NumPy, as expected results of tests (TVM: `tvm.topi.testing`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def strided_slice_python(
    data: Any,
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int] | int = 1,
    slice_mode: str = "end",
    axes: Sequence[int] | None = None,
) -> Any:
    """Return `data[begin:end:stride]` along `axes`, the first ones by default; `end` is a size if `slice_mode` is "size", and then -1
    extends to the end.
    """
    places = range(len(begin)) if axes is None else axes
    steps = [strides] * len(begin) if isinstance(strides, int) else list(strides) or [1] * len(begin)
    index = [slice(None)] * data.ndim
    for axis, first, last, step in zip(places, begin, end, [*steps, *[1] * len(begin)], strict=False):
        stop: int | None = int(last)
        if slice_mode == "size":
            stop = None if last < 0 else int(first + last)
            step = 1
        index[axis] = slice(int(first), stop, int(step))
    return data[tuple(index)]


def batch_matmul(x: Any, y: Any, out_dtype: str | None = None, trans_x: bool = False, trans_y: bool = True) -> Any:
    """Return the products of the matrices of two batches, each transposed on request, in `out_dtype`."""
    left = x.transpose(0, 2, 1) if trans_x else x
    right = y.transpose(0, 2, 1) if trans_y else y
    dtype = out_dtype or x.dtype
    return left.astype(dtype) @ right.astype(dtype)


def dense(
    x: Any, y: Any, bias: Any = None, use_bias: bool = False, use_relu: bool = False, out_dtype: str | None = None
) -> Any:
    """Return `x @ y.T`, with the bias and the ReLU on request, in `out_dtype`."""
    dtype = out_dtype or x.dtype
    product = x.astype(dtype) @ y.T.astype(dtype)
    summed = product + bias if use_bias else product
    return summed.clip(0) if use_relu else summed


def softmax_python(data: Any, axis: int = -1) -> Any:
    """Return the softmax along `axis`."""
    import numpy as np

    powers = np.exp(data - np.max(data, axis=axis, keepdims=True))
    return powers / np.sum(powers, axis=axis, keepdims=True)


def log_softmax_python(data: Any, axis: int = -1) -> Any:
    """Return the logarithm of the softmax along `axis`."""
    import numpy as np

    shifted = data - np.max(data, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def layer_norm_python(data: Any, gamma: Any, beta: Any, axis: int | Sequence[int], epsilon: float = 1e-5) -> Any:
    """Return the data minus its mean over `axis`, divided by its deviation, times `gamma`, plus `beta` (or None)."""
    import numpy as np

    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    mean, variance = (function(data, axis=axes, keepdims=True) for function in (np.mean, np.var))
    scaled = (data - mean) / np.sqrt(variance + epsilon) * gamma
    return scaled if beta is None else scaled + beta


def rms_norm_python(data: Any, weight: Any, axis: int | Sequence[int], epsilon: float = 1e-5) -> Any:
    """Return the data divided by its root mean square over `axis`, times `weight`."""
    import numpy as np

    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    return data / np.sqrt(np.mean(np.square(data), axis=axes, keepdims=True) + epsilon) * weight
