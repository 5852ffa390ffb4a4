"""Quantization in floats, whose dtype is a value (TVM: `tvm.topi.nn.qnn`)."""

from __future__ import annotations

from collections.abc import Callable

from ... import te, tir

SQNN_DISABLE, SQNN_INT8, SQNN_UINT8, SQNN_INT32 = 0, 1, 2, 3
SQNN_DTYPE_TO_CODE = {"disable": SQNN_DISABLE, "int8": SQNN_INT8, "uint8": SQNN_UINT8, "int32": SQNN_INT32}
"""The codes of `simulated_quantize`: a scalar tensor, so that one program serves several dtypes."""
SQNN_CODE_TO_DTYPE = {code: dtype for dtype, code in SQNN_DTYPE_TO_CODE.items()}
_RANGES = {SQNN_INT8: (-128, 127), SQNN_UINT8: (0, 255), SQNN_INT32: (-(2**31), 2**31 - 1)}


def _simulated(
    data: te.Tensor,
    code: te.Tensor,
    axis: int,
    f: Callable[[tir.PrimExpr, tir.PrimExpr, Callable[..., tir.PrimExpr]], tir.PrimExpr],
) -> te.Tensor:
    def element(*i: tir.PrimExpr) -> tir.PrimExpr:
        def of_channel(x: te.Tensor) -> tir.PrimExpr:
            return x(*([i[axis] % x.dims[0]] if x.ndim else []))

        kind = code()
        return te.if_then_else(te.equal(kind, SQNN_DISABLE), data(*i), f(data(*i), kind, of_channel))

    return te.compute(data.dims, element, "simulated_quantize")


def simulated_quantize(
    data: te.Tensor, out_dtype: te.Tensor, output_scale: te.Tensor, output_zero_point: te.Tensor, axis: int = -1
) -> te.Tensor:
    """Return `data / output_scale + output_zero_point`, rounded and limited to the dtype of the code `out_dtype`, as floats.

    The scale and the zero point are scalars, or have a value for each index along `axis`. See `SQNN_DTYPE_TO_CODE`.
    """

    def value(x: tir.PrimExpr, kind: tir.PrimExpr, of_channel: Callable[..., tir.PrimExpr]) -> tir.PrimExpr:
        scaled = te.round(x / of_channel(output_scale)) + of_channel(output_zero_point).astype(x.dtype)
        results: list[tir.PrimExpr] = []
        for least, greatest in _RANGES.values():
            bounded = te.maximum(te.minimum(scaled, te.const(greatest, x.dtype)), te.const(least, x.dtype))
            results.append(bounded)
        small = te.if_then_else(te.equal(kind, SQNN_INT8), results[0], results[1])
        return te.if_then_else(te.equal(kind, SQNN_INT32), results[2], small)

    return _simulated(data, out_dtype, axis % data.ndim, value)


def simulated_dequantize(
    data: te.Tensor, in_dtype: te.Tensor, input_scale: te.Tensor, input_zero_point: te.Tensor, axis: int = -1
) -> te.Tensor:
    """Return `(data - input_zero_point) * input_scale`, or `data` if the code `in_dtype` is `SQNN_DISABLE`."""

    def value(x: tir.PrimExpr, kind: tir.PrimExpr, of_channel: Callable[..., tir.PrimExpr]) -> tir.PrimExpr:
        del kind
        return (x - of_channel(input_zero_point).astype(x.dtype)) * of_channel(input_scale)

    return _simulated(data, in_dtype, axis % data.ndim, value)
