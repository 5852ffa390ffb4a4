"""Operators that create tensors (TVM: `relax/op/create.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import te, tir
from ..base import StructInfo, VDevice
from ..dtype import is_float
from ..relax import Constant, PrimStructInfo, PrimValue, TensorStructInfo
from . import dims as d
from .inference import Inference, describe, like, shaped, tensor_info
from .registry import Param, RelaxOp, register


def _of_shape(a: Inference, dtype: str, vdevice: VDevice | None = None) -> StructInfo:
    return shaped(a, "shape", dtype, vdevice)


def _infer_init(a: Inference) -> StructInfo:
    if a.attr("dtype") == "void":
        raise a.fail("E0324", "needs a dtype", 'give one: dtype="float32"')
    return _of_shape(a, a.attr("dtype"))


def _infer_like(a: Inference) -> StructInfo:
    info = a.tensor("x")
    return info if a.attr("dtype") == "void" else like(info, a.attr("dtype"))


def _fill_dtype(a: Inference) -> str:
    info = a.info("fill_value")
    if isinstance(info, PrimStructInfo):
        return info.dtype
    return a.rank("fill_value", 0).dtype


def _infer_full(a: Inference) -> StructInfo:
    dtype, value = _fill_dtype(a), a.info("fill_value")
    vdevice = value.vdevice if isinstance(value, TensorStructInfo) else None
    return _of_shape(a, dtype if a.attr("dtype") == "void" else a.attr("dtype"), vdevice)


def _infer_full_like(a: Inference) -> StructInfo:
    _fill_dtype(a)
    return _infer_like(a)


def scalar(value: Any) -> tir.PrimExpr:
    """Return a scalar argument of a meaning: a number, or the element of a tensor of rank 0."""
    return value() if isinstance(value, te.Tensor) else value


def _filled(name_of_value: Callable[[Any], Any]) -> Callable[[Any], te.Tensor]:
    def meaning(a: Any) -> te.Tensor:
        dtype: str = a.result.dtype
        value = name_of_value(a)
        fill = te.const(value, dtype) if isinstance(value, int) else te.cast(value, dtype)
        return te.compute(a.result.dims, lambda *ax: fill, "T_full")

    return meaning


def _complete_fill(values: dict[str, Any]) -> None:
    """Convert a Python number to a constant of the requested dtype, or of its default dtype."""
    value = values["fill_value"]
    if isinstance(value, PrimValue) and isinstance(value.value, tir.IntImm | tir.FloatImm):
        import numpy as np

        from ..numpy_dtype import numpy_dtype

        dtype = {"int64": "int32", "float64": "float32"}.get(value.value.dtype, value.value.dtype)
        values["fill_value"] = Constant(np.array(value.value.value, numpy_dtype(dtype)), span=value.span)


_DTYPE = Param("dtype", "dtype", None)
register(
    RelaxOp(
        "relax.full",
        (Param("shape", "shape"), Param("fill_value"), _DTYPE),
        _infer_full,
        "Return a tensor of `shape` with all elements `fill_value`.",
        lambda np, a: np.full(a.shape, a.fill_value, a.result_dtype),
        _filled(lambda a: scalar(a.fill_value)),
        complete=_complete_fill,
        scalars=("fill_value",),
    )
)
register(
    RelaxOp(
        "relax.full_like",
        (Param("x"), Param("fill_value"), _DTYPE),
        _infer_full_like,
        "Return a tensor of the shape of `x` with all elements `fill_value`.",
        lambda np, a: np.full(a.x.shape, a.fill_value, a.result_dtype),
        _filled(lambda a: scalar(a.fill_value)),
        complete=_complete_fill,
        scalars=("fill_value",),
        prim_func="full",
    )
)
for _name, _value in (("ones", 1), ("zeros", 0)):
    register(
        RelaxOp(
            f"relax.{_name}",
            (Param("shape", "shape"), Param("dtype", "dtype")),
            _infer_init,
            f"Return a tensor of `shape` with all elements {_value}.",
            lambda np, a, value=_value: np.full(a.shape, value, a.result_dtype),
            _filled(lambda a, value=_value: value),
        )
    )
    register(
        RelaxOp(
            f"relax.{_name}_like",
            (Param("x"), _DTYPE),
            _infer_like,
            f"Return a tensor of the shape of `x` with all elements {_value}.",
            lambda np, a, value=_value: np.full(a.x.shape, value, a.result_dtype),
            _filled(lambda a, value=_value: value),
            prim_func=_name,
        )
    )


def _infer_eye(a: Inference) -> StructInfo:
    n, m = a.number("n"), a.number("m")
    if n is None or m is None:
        return tensor_info(None, a.attr("dtype"), 2)
    return tensor_info([n, m], a.attr("dtype"), 2)


def _infer_eye_like(a: Inference) -> StructInfo:
    a.rank("x", 2)
    return _infer_like(a)


def _eye(a: Any) -> te.Tensor:
    dtype = a.result.dtype
    k = scalar(a.k)

    def value(i: tir.PrimExpr, j: tir.PrimExpr) -> tir.PrimExpr:
        return te.if_then_else(te.equal(i + k, j), te.const(1, dtype), te.const(0, dtype))

    return te.compute(a.result.dims, value, "eye")


register(
    RelaxOp(
        "relax.eye",
        (Param("n", "prim"), Param("m", "opt_prim", None), Param("k", "prim", 0), Param("dtype", "dtype", "float32")),
        _infer_eye,
        "Return an `n` by `m` matrix with ones on the diagonal `k`, zeros elsewhere.",
        lambda np, a: np.eye(a.n, a.m, a.k, a.result_dtype),
        _eye,
        complete=lambda values: values.update(m=values["n"] if values["m"] is None else values["m"]),
    )
)
register(
    RelaxOp(
        "relax.eye_like",
        (Param("x"), Param("k", "prim", 0), _DTYPE),
        _infer_eye_like,
        "Return a matrix of the shape of `x` with ones on the diagonal `k`, zeros elsewhere.",
        lambda np, a: np.eye(*a.x.shape, a.k, dtype=a.result_dtype),
        _eye,
    )
)


def _complete_arange(values: dict[str, Any]) -> None:
    """Complete the bounds: a single one is the end; the dtype is that of the numbers (TVM: `relax.op.arange`)."""
    if values["end"] is None:
        values["start"], values["end"] = PrimValue(d.dim(0)), values["start"]
    if values["dtype"] == "void":
        numbers = [values[name].value for name in ("start", "end", "step") if isinstance(values[name], PrimValue)]
        values["dtype"] = "float32" if any(is_float(number.dtype) for number in numbers) else "int64"


def _infer_arange(a: Inference) -> StructInfo:
    start, end, step = (a.number(name) for name in ("start", "end", "step"))
    dtype = a.attr("dtype")
    if start is None or end is None or step is None:
        return tensor_info(None, dtype, 1)
    numbers = [n.value for n in (start, end, step) if isinstance(n, tir.IntImm | tir.FloatImm)]
    if len(numbers) == 3:
        from math import ceil

        if numbers[2] == 0:
            raise a.fail("E0321", "cannot step by 0")
        return tensor_info([d.dim(max(0, ceil((numbers[1] - numbers[0]) / numbers[2])))], dtype, 1)
    rounding = d.subtract(step, 1)
    return tensor_info([d.floordiv(d.add(d.subtract(end, start), rounding), step)], dtype, 1)


def _arange(a: Any) -> te.Tensor:
    def value(i: tir.PrimExpr) -> tir.PrimExpr:
        start: tir.PrimExpr = a.start
        return te.cast(te.cast(i, start.dtype) * a.step + start, a.result.dtype)

    return te.compute(a.result.dims, value, "T_arange")


register(
    RelaxOp(
        "relax.arange",
        (Param("start", "prim"), Param("end", "opt_prim", None), Param("step", "prim", 1), _DTYPE),
        _infer_arange,
        "Return the numbers from `start` up to but not including `end`, in steps of `step`.",
        lambda np, a: np.arange(a.start, a.end, a.step, a.result_dtype),
        _arange,
        complete=_complete_arange,
    )
)


def _infer_hamming(a: Inference) -> StructInfo:
    size = a.number("window_size")
    if not is_float(a.attr("dtype")):
        raise a.fail("E0324", f"returns floats, not {a.attr('dtype')}", 'give dtype="float32"')
    return tensor_info(None if size is None else [size], a.attr("dtype"), 1)


def _numpy_hamming(np: Any, a: Any) -> Any:
    length = a.window_size - 1 + int(a.periodic)
    index = np.arange(a.window_size)
    return (a.alpha - a.beta * np.cos(2 * np.pi * index / max(length, 1))).astype(a.result_dtype)


def _hamming(a: Any) -> te.Tensor:
    dtype = a.result.dtype

    def value(i: tir.PrimExpr) -> tir.PrimExpr:
        size = te.cast(a.window_size, dtype)
        length = te.if_then_else(te.not_equal(a.periodic, 0), size, size - 1)
        angle = te.const(6.283185307179586, dtype) * te.cast(i, dtype) / te.maximum(length, 1)
        return te.cast(a.alpha, dtype) - te.cast(a.beta, dtype) * te.cos(angle)

    return te.compute(a.result.dims, value, "T_hamming_window")


register(
    RelaxOp(
        "relax.hamming_window",
        (
            Param("window_size", "prim"),
            Param("periodic", "prim"),
            Param("alpha", "prim"),
            Param("beta", "prim"),
            Param("dtype", "dtype"),
        ),
        _infer_hamming,
        "Return a Hamming window of `window_size`.",
        _numpy_hamming,
        _hamming,
    )
)


def _infer_trilu(a: Inference) -> StructInfo:
    info = a.tensor("x")
    if info.ndim in (0, 1):
        raise a.fail("E0323", f"needs 'x' to have 2 or more dimensions, but it has {info.ndim}")
    if not isinstance(a.info("k"), PrimStructInfo):
        raise a.fail("E0322", f"needs a scalar as 'k', but it is {describe(a.info('k'))}", None, a.argument("k"))
    return info


def _at_most(left: tir.PrimExpr, right: tir.PrimExpr, offset: tir.PrimExpr) -> tir.PrimExpr:
    """Return `left <= right + offset`, without negative constants."""
    match offset:
        case tir.IntImm(value=0):
            return left <= right
        case tir.IntImm(value=-1):
            return left < right
        case tir.IntImm(value=value) if value < 0:
            return left + tir.IntImm(offset.dtype, -value) <= right
        case _:
            return left <= right + offset


def _trilu(upper: bool) -> Callable[[Any], te.Tensor]:
    def meaning(a: Any) -> te.Tensor:
        def value(*i: tir.PrimExpr) -> tir.PrimExpr:
            row, column = i[-2], i[-1]
            offset = tir.IntImm(a.k.dtype, -a.k.value) if upper and isinstance(a.k, tir.IntImm) else a.k
            if upper and not isinstance(a.k, tir.IntImm):
                kept = row + a.k <= column
            else:
                kept = _at_most(row, column, offset) if upper else _at_most(column, row, offset)
            return te.select(kept, a.x(*i), te.const(0, a.x.dtype))

        return te.compute(a.x.dims, value, "trilu")

    return meaning


for _name, _upper in (("tril", False), ("triu", True)):
    register(
        RelaxOp(
            f"relax.{_name}",
            (Param("x"), Param("k", "prim", 0)),
            _infer_trilu,
            f"Return `x` with zeros {'below' if _upper else 'above'} its diagonal `k`.",
            lambda np, a, name=_name: getattr(np, name)(a.x, a.k),
            _trilu(_upper),
        )
    )
