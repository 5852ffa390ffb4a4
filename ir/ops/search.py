"""Operators that select and find elements (TVM: `relax/op/{search,set,mask}.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import make, te, tir
from ..base import Op, StructInfo
from ..dtype import is_float
from ..relax import Call, Constant, Expr, PrimValue, TensorStructInfo, TupleStructInfo
from ..te import topi
from . import dims as d
from .binary import broadcast_struct_info
from .inference import Inference, tensor_info
from .registry import Oracle, Param, RelaxOp, register
from .statistical import reduced


def _infer_where(a: Inference) -> StructInfo:
    condition = a.tensor("condition")
    if condition.dtype not in ("bool", "void"):
        raise a.fail(
            "E0324", f"needs a condition of dtype bool, but it is {condition.dtype}", None, a.argument("condition")
        )
    return broadcast_struct_info(a, a.same_dtype("x1", "x2"), "x1", "x2", "condition")


def _where(a: Any) -> te.Tensor:
    def value(*ax: tir.PrimExpr) -> tir.PrimExpr:
        condition, x1, x2 = (topi.element(x, ax, a.result.dims) for x in (a.condition, a.x1, a.x2))
        return te.select(te.const(0, "int64") < te.cast(condition, "int64"), x1, x2)

    return te.compute(a.result.dims, value, "T_where")


register(
    RelaxOp(
        "relax.where",
        (Param("condition"), Param("x1"), Param("x2")),
        _infer_where,
        "Return the elements of `x1` where `condition` holds, and those of `x2` elsewhere.",
        lambda np, a: np.where(a.condition, a.x1, a.x2),
        _where,
        broadcasts=True,
    )
)


def _masked_fill(a: Any) -> Expr:
    value = a.value
    if isinstance(value, PrimValue | Constant):
        filled = Call(Op("relax.full_like"), (a.x, value), {"dtype": "void"})
    else:
        filled = value
    return Call(Op("relax.where"), (a.mask, filled, a.x))


register(
    RelaxOp(
        "relax.masked_fill",
        (Param("x"), Param("mask"), Param("value")),
        None,
        "Return `x` with `value` where `mask` holds.",
        expand=_masked_fill,
    )
)


def _infer_arg(a: Inference) -> StructInfo:
    return reduced(a, "int64")


def _first_best(combine: Callable[..., make.Pair], limit: Callable[[str], tir.PrimExpr]) -> te.Reducer:
    """Return the reducer of pairs of index and value; its identity has index -1, which denotes no element."""

    def combined(x: Any, y: Any) -> Any:
        return combine(*(tuple(map(te.operand, pair)) for pair in (x, y)))

    def identity(index: str, value: str) -> tuple[tir.PrimExpr, tir.PrimExpr]:
        return te.const(-1, index), limit(value)

    return te.comm_reducer(combined, identity)


first_greatest = _first_best(make.first_greatest, te.least)
_first_least = _first_best(make.first_least, te.greatest)


def _arg(reducer: te.Reducer) -> Callable[[Any], te.Tensor]:
    def meaning(a: Any) -> te.Tensor:
        x: te.Tensor = a.x
        axes = topi.normal_axes(a.axis, x.ndim)
        inner = topi.reduce_axes(x, axes)

        def pair(*ax: tir.PrimExpr) -> Any:
            position = te.const(0, x.dims[0].dtype if x.dims else "int64")
            for axis, k in zip(axes, inner, strict=True):
                position = position * x.dims[axis] + k
            here = x(*topi.source_index(ax, axes, inner, x.ndim, a.keepdims))
            return reducer((position, here), axis=inner)

        index, _ = te.compute(topi.reduced_shape(x, axes, a.keepdims), pair, f"{x.name}_red_temp")
        return te.compute(index.dims, lambda *ax: index(*ax), f"{x.name}_red")

    return meaning


def _arg_oracle(name: str) -> Oracle:
    """Return the oracle by NumPy; the index for no elements is -1."""

    def oracle(np: Any, a: Any) -> Any:
        if not a.x.size:
            return np.full(a.x.any(a.axis, keepdims=a.keepdims).shape, -1)
        return np.asarray(getattr(np, name)(a.x, a.axis, keepdims=a.keepdims)).astype("int64")

    return oracle


for _name, _reducer, _doc in (("argmax", first_greatest, "greatest"), ("argmin", _first_least, "least")):
    register(
        RelaxOp(
            f"relax.{_name}",
            (Param("x"), Param("axis", "opt_int", None), Param("keepdims", "bool", False)),
            _infer_arg,
            f"Return the index of the {_doc} element along `axis`, by default of the flattened tensor; -1 for no elements.",
            _arg_oracle(_name),
            _arg(_reducer),
        )
    )


def _infer_bucketize(a: Inference) -> StructInfo:
    info = a.tensor("input_tensor")
    a.rank("boundaries", 1)
    dtype = "int32" if a.attr("out_int32") else "int64"
    return TensorStructInfo(info.shape, dtype, info.ndim, info.vdevice)


def _bucketize(a: Any) -> te.Tensor:
    k = te.reduce_axis((te.const(0, "int64"), a.boundaries.dims[0]), "k")
    dtype = a.result.dtype

    def value(*ax: tir.PrimExpr) -> Any:
        x, bound = a.input_tensor(*ax), a.boundaries(k)
        below = te.cast(bound <= x if a.right else bound < x, dtype)
        if is_float(a.input_tensor.dtype):  # NaN is above all boundaries, as in NumPy
            below = te.select(x <= x, below, te.const(1, dtype))
        return te.sum(below, axis=k)

    return te.compute(a.result.dims, value, "searchsorted")


register(
    RelaxOp(
        "relax.bucketize",
        (Param("input_tensor"), Param("boundaries"), Param("out_int32", "bool", False), Param("right", "bool", False)),
        _infer_bucketize,
        "Return, for every element, the number of sorted `boundaries` below it.",
        lambda np, a: np.searchsorted(a.boundaries, a.input_tensor, "right" if a.right else "left").astype(
            a.result_dtype
        ),
        _bucketize,
    )
)


def _flag(a: Inference, name: str) -> bool:
    number = a.number(name)
    return number is not None and d.value_of(number) == 1


def _infer_unique(a: Inference) -> StructInfo:
    info = a.tensor("x")
    axis = a.number("axis") if a.has("axis") else None
    number = d.value_of(axis) if axis is not None else None
    if number is not None and info.ndim != -1:
        a.axis(number, info.ndim)
    size = [d.dim(1)] if info.ndim == 0 and not a.has("axis") else None
    values = tensor_info(size, info.dtype, 1 if not a.has("axis") else info.ndim, info.vdevice)
    vector = tensor_info(size, "int64", 1, info.vdevice)
    extra = [vector for name in ("return_index", "return_inverse", "return_counts") if _flag(a, name)]
    return TupleStructInfo((values, *extra)) if extra else values


def _numpy_unique(np: Any, a: Any) -> Any:
    extra = {name: bool(getattr(a, name)) for name in ("return_index", "return_inverse", "return_counts")}
    found = np.unique(a.x, **extra, axis=a.axis)
    if not any(extra.values()):
        return np.ascontiguousarray(found)
    values, *vectors = found
    return np.ascontiguousarray(values), *map(np.ravel, vectors)  # the inverse of NumPy 2 has the shape of `x`


register(
    RelaxOp(
        "relax.unique",
        (
            Param("x"),
            Param("sorted", "prim", True),
            Param("return_index", "prim", False),
            Param("return_inverse", "prim", False),
            Param("return_counts", "prim", False),
            Param("axis", "opt_prim", None),
        ),
        _infer_unique,
        "Return the distinct elements of `x` and, on request, their first indices, the inverse indices, and their counts.",
        _numpy_unique,
        at_run_time=True,
    )
)


def _infer_nonzero(a: Inference) -> StructInfo:
    info = a.tensor("x")
    return tensor_info(None, "int64", 2, info.vdevice)


register(
    RelaxOp(
        "relax.nonzero",
        (Param("x"),),
        _infer_nonzero,
        "Return the indices of the nonzero elements, one row per dimension.",
        lambda np, a: np.array(np.nonzero(a.x), "int64"),
        at_run_time=True,
    )
)
