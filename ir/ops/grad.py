"""Gradients and checkpoints (TVM: `relax/op/grad`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import relax, te, tir
from ..base import StructInfo
from ..relax import TensorStructInfo
from ..te import topi
from . import dims as d
from .inference import Inference, dims_of, same_as_first
from .layouts import numpy_packed, numpy_unpacked, packed, unpacked
from .loss import LOSS_PARAMS, infer_nll
from .pooling import counted, infer_pool, window_places
from .registry import InferRule, Oracle, Param, RelaxOp, register
from .search import first_greatest
from .taking import infer_take
from .windows import complete_windows, sides
from .writing import Element, Writes, from_front


def _gradient_of(forward: InferRule, name: str) -> InferRule:
    """Return the rule of the gradient with respect to `name` of an operator with the rule `forward`, whose parameters it has:
    `output_grad` has the shape of that operator's result (E0323, E0326).
    """

    def infer(a: Inference) -> StructInfo:
        result, given = forward(a), a.tensor("output_grad")
        assert isinstance(result, TensorStructInfo)
        if -1 not in (result.ndim, given.ndim) and result.ndim != given.ndim:
            reason = f"needs 'output_grad' to have {result.ndim} dimensions, but it has {given.ndim}"
            raise a.fail("E0323", reason, None, a.argument("output_grad"))
        wanted, own = dims_of(result), dims_of(given)
        for x, y in zip(wanted or (), own or (), strict=False):
            both = f"{d.show(wanted or ())}, but its shape is {d.show(own or ())}"
            a.check_equal(x, y, f"needs 'output_grad' to have the shape {both}")
        return a.tensor(name)

    return infer


_POOL = (
    Param("output_grad"),
    Param("data"),
    Param("pool_size", "ints", (1, 1)),
    Param("strides", "ints", (1, 1)),
    Param("padding", "ints", (0, 0, 0, 0)),
    Param("dilation", "ints", (1, 1)),
    Param("ceil_mode", "bool", False),
    Param("count_include_pad", "bool", False),
    Param("layout", "str", "NCHW"),
    Param("out_layout", "opt_str", None),
)


def _infer_checkpoint(a: Inference) -> StructInfo:
    if isinstance(a.argument("input"), relax.Constant | relax.Tuple):
        raise a.fail("E0321", "marks a variable, not a constant or a tuple", "mark each variable that the stage uses")
    return same_as_first(a)


for _name, _infer, _doc in (
    ("no_grad", same_as_first, "Return `input` and block its gradient."),
    ("start_checkpoint", _infer_checkpoint, "Return `input`; what follows is recomputed for the gradient."),
    ("end_checkpoint", _infer_checkpoint, "Return `input`; what precedes is recomputed for the gradient."),
):
    register(RelaxOp(f"relax.grad.{_name}", (Param("input"),), _infer, _doc, lambda np, a: a.input, is_identity=True))


def _nll_backward(a: Any) -> te.Tensor:
    """Return the gradient, which is nonzero only at the class of each target, with its weight."""
    x, targets, zero = a.predictions, a.targets, te.const(0, a.predictions.dtype)

    def weight(*i: tir.PrimExpr) -> tir.PrimExpr:
        target = targets(*i)
        own = te.const(1, x.dtype) if a.weights is None else a.weights(target)
        return te.if_then_else(te.not_equal(target, a.ignore_index), own, zero)

    weights = te.compute(targets.dims, weight, "all_weights")
    total = topi.reduce(weights, None, False, te.sum) if a.reduction == "mean" and targets.ndim else weights

    def value(*i: tir.PrimExpr) -> tir.PrimExpr:
        label, others = (i[0], ()) if x.ndim == 1 else (i[1], (i[0], *i[2:]))
        output = a.output_grad(*others) if a.reduction == "none" else a.output_grad()
        gradient = weights(*others) * output * -1
        gradient = gradient / total() if a.reduction == "mean" else gradient
        return te.select(te.equal(te.cast(label, targets.dtype), targets(*others)), gradient, zero)

    return te.compute(x.dims, value, "pred_grad")


def _numpy_nll_backward(np: Any, a: Any) -> Any:
    x = a.predictions if a.predictions.ndim > 1 else a.predictions[None]
    targets = a.targets if a.predictions.ndim > 1 else a.targets[None]
    kept = targets != a.ignore_index
    safe = np.where(kept, targets, 0)
    weights = np.ones(x.shape[1], x.dtype) if a.weights is None else a.weights
    weighed = np.where(kept, weights[safe], 0)
    output = a.output_grad.reshape(targets.shape) if a.reduction == "none" else a.output_grad
    gradient = -weighed * output / (weighed.sum() if a.reduction == "mean" else 1)
    result = np.zeros(x.shape, x.dtype)
    np.put_along_axis(result, np.expand_dims(safe, 1), np.expand_dims(np.where(kept, gradient, 0), 1), 1)
    return result.reshape(a.predictions.shape)


register(
    RelaxOp(
        "relax.grad.nll_loss_backward",
        (Param("output_grad"), *LOSS_PARAMS),
        _gradient_of(infer_nll, "predictions"),
        "Return the gradient of `nll_loss` with respect to `predictions`.",
        _numpy_nll_backward,
        _nll_backward,
    )
)


def _windows(
    a: Any, i: Sequence[tir.PrimExpr], k: Sequence[tir.IterVar], counts: Any
) -> tuple[tir.PrimExpr, list[tir.PrimExpr]]:
    """Return whether element `i` is at offset `k` of a window, and the position of that window."""
    inside: list[tir.PrimExpr] = []
    places: list[tir.PrimExpr] = []
    for n, (low, _) in enumerate(sides(a.padding)):
        start = i[n] + low - k[n] * a.dilation[n]
        place = start // a.strides[n]
        inside += [te.const(0, "int64") <= start, te.equal(start % a.strides[n], 0), place < counts[n]]
        places.append(place)
    return te.all(*inside), places


def _pool_backward(average: bool) -> Callable[[Any], te.Tensor]:
    def meaning(a: Any) -> te.Tensor:
        x, output = unpacked(a.data, a.layout, "NCHW"), unpacked(a.output_grad, a.out_layout, "NCHW")
        inner = [te.reduce_axis((te.const(0, "int64"), d.dim(size)), f"k{n}") for n, size in enumerate(a.pool_size)]
        share = _averaged(a, x, output) if average else _greatest(a, x, output)

        def value(*i: tir.PrimExpr) -> Any:
            inside, places = _windows(a, i[2:], inner, output.shape[2:])
            return te.sum(te.if_then_else(inside, share(i, places), te.const(0, x.dtype)), axis=inner)

        return packed(te.compute(x.dims, value, "pool_grad"), a.layout, "NCHW")

    return meaning


def _averaged(a: Any, x: te.Tensor, output: te.Tensor) -> Callable[[Any, Any], tir.PrimExpr]:
    """Distribute a window's gradient evenly."""

    def share(i: Sequence[tir.PrimExpr], places: Sequence[tir.PrimExpr]) -> tir.PrimExpr:
        return output(*i[:2], *places) / te.cast(counted(a, x, places), x.dtype)

    return share


def _greatest(a: Any, x: te.Tensor, output: te.Tensor) -> Callable[[Any, Any], tir.PrimExpr]:
    """Assign a window's gradient to the first of its greatest elements."""
    height, width = x.shape[2:]
    inner = [te.reduce_axis((te.const(0, "int64"), d.dim(size)), f"w{n}") for n, size in enumerate(a.pool_size)]

    def pair(*o: tir.PrimExpr) -> Any:
        y, z = (o[2 + n] * a.strides[n] + inner[n] * a.dilation[n] - sides(a.padding)[n][0] for n in (0, 1))
        inside = te.all(te.const(0, "int64") <= y, y < height, te.const(0, "int64") <= z, z < width)
        return first_greatest((y * width + z, te.if_then_else(inside, x(*o[:2], y, z), te.least(x.dtype))), axis=inner)

    place, _ = te.compute(output.dims, pair, "pool_place")

    def share(i: Sequence[tir.PrimExpr], places: Sequence[tir.PrimExpr]) -> tir.PrimExpr:
        mine = te.equal(place(*i[:2], *places), i[2] * width + i[3])
        return te.if_then_else(mine, output(*i[:2], *places), te.const(0, x.dtype))

    return share


def _numpy_pool_backward(average: bool) -> Oracle:
    def oracle(np: Any, a: Any) -> Any:
        x = numpy_unpacked(np, a.data, a.layout, "NCHW")
        output = numpy_unpacked(np, a.output_grad, a.out_layout, "NCHW")
        result = np.zeros(x.shape, x.dtype)
        for n, c, *o in np.ndindex(*output.shape):
            places, size = window_places(a, x.shape[2:], o)
            gradient = output[(n, c, *o)]
            if average:
                result[n, c][np.ix_(*places)] += gradient / size
            elif all(places):  # a window beyond the data has no greatest element
                part = x[n, c][np.ix_(*places)]
                y, z = np.unravel_index(part.argmax(), part.shape)
                result[n, c, places[0][y], places[1][z]] += gradient
        return numpy_packed(np, result, a.layout, "NCHW")

    return oracle


for _name in ("max_pool2d", "avg_pool2d"):
    register(
        RelaxOp(
            f"relax.grad.{_name}_backward",
            _POOL,
            _gradient_of(infer_pool(2), "data"),
            f"Return the gradient of `{_name}` with respect to `data`.",
            _numpy_pool_backward(_name == "avg_pool2d"),
            _pool_backward(_name == "avg_pool2d"),
            complete=complete_windows(2, "pool_size", "strides", "dilation", layouts=("layout", "out_layout")),
        )
    )


def _take_backward(a: Any) -> te.Tensor:
    axis = 0 if a.axis is None else a.axis % a.x.ndim
    zeros = te.compute(a.x.dims, lambda *i: te.const(0, a.x.dtype), "T_zeros")

    def meets(i: Element, k: Sequence[tir.Var]) -> tir.PrimExpr:
        return te.equal(from_front(a.indices(*k), a.x.shape[axis]), i[axis])

    writes = Writes(zeros, a.indices.dims, meets, lambda i, k: a.output_grad(*i[:axis], *k, *i[axis + 1 :]))
    return writes.combined("add", "T_take_backward")


def _numpy_take_backward(np: Any, a: Any) -> Any:
    axis = 0 if a.axis is None else a.axis % a.x.ndim
    result = np.zeros(a.x.shape, a.x.dtype)
    np.add.at(result, (*[slice(None)] * axis, a.indices), a.output_grad)
    return result


register(
    RelaxOp(
        "relax.grad.take_backward",
        (Param("output_grad"), Param("x"), Param("indices"), Param("axis", "opt_int", None)),
        _gradient_of(infer_take, "x"),
        "Return the gradient of `take` with respect to `x`.",
        _numpy_take_backward,
        _take_backward,
    )
)
