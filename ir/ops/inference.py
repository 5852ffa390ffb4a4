"""Access of struct-info rules to a call, and rules that many operators share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import relax, tir
from ..base import Span, StructInfo, VDevice
from ..diagnostics import Note, TvmsError, count, error
from ..dtype import is_float
from ..relax import (
    Call,
    Expr,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from . import dims as d
from .dims import Dims
from .registry import RelaxOp


class Inference:
    """A call whose struct info is inferred: its arguments by the names of the operator's parameters.

    `fail` returns the error to raise, placed at the call; the accessors raise such errors themselves.
    """

    def __init__(self, op: RelaxOp, call: Call, struct_info: Callable[[Expr], StructInfo]) -> None:
        self.op = op
        self.call = call
        self._struct_info = struct_info
        self.assumed: list[tuple[tir.PrimExpr, tir.PrimExpr]] = []
        """The pairs of sizes that `check_equal` could prove neither equal nor different."""
        self._arguments: dict[str, Expr] = {}
        for number, param in enumerate(op.arguments):
            if param.kind != "exprs" and number < len(call.args):
                self._arguments[param.name] = call.args[number]
            elif param.kind != "exprs" and not param.kind.startswith("opt_"):
                raise self.fail("E0105", f"lacks its argument '{param.name}'", f"it is called as {op.signature}")

    def fail(self, code: str, reason: str, help: str | None = None, at: Expr | None = None) -> TvmsError:
        """Return the error "R.<op> <reason>", placed at argument `at` if that is written inside the call; otherwise a note shows
        the argument's declaration.
        """
        own = self.call.span
        place = at.span if at is not None else None
        if place is None or own is None or _is_within(place, own):
            return error(code, f"R.{self.op.script_name} {reason}", place or own, help)
        name = f"'{at.name_hint}'" if isinstance(at, relax.Var) else "it"
        return error(code, f"R.{self.op.script_name} {reason}", own, help, Note(f"{name} is declared here", place))

    def label(self, name: str) -> str:
        """Return the name of argument `name` for messages: the variable that is passed, or the name itself."""
        argument = self._arguments.get(name)
        return argument.name_hint if isinstance(argument, relax.Var) else name

    def attr(self, name: str) -> Any:
        """Return the attribute `name`; E0105 if the call lacks it."""
        if name not in self.call.attrs:
            raise self.fail("E0105", f"lacks its attribute '{name}'", f"it is called as {self.op.signature}")
        return self.call.attrs[name]

    def has(self, name: str) -> bool:
        """Return whether the optional argument `name` is given."""
        return name in self._arguments

    def argument(self, name: str) -> Expr:
        return self._arguments[name]

    def info(self, name: str) -> StructInfo:
        """Return the struct info of argument `name`; E0438 if a tensor or a shape has other sizes than its rank."""
        info = self._struct_info(self._arguments[name])
        for field in info.fields if isinstance(info, TupleStructInfo) else (info,):
            if not isinstance(field, TensorStructInfo | ShapeStructInfo):
                continue
            sizes = dims_of(field)
            if sizes is not None and len(sizes) != field.ndim:
                reason = f"gets '{self.label(name)}' with {count(len(sizes), 'size')}, but of rank {field.ndim}"
                raise self.fail("E0438", reason, None, self._arguments[name])
        return info

    def operand(self, name: str) -> StructInfo:
        """Return the struct info of argument `name`; for a distributed tensor, that of the whole tensor."""
        info = self.info(name)
        return info.tensor_sinfo if isinstance(info, relax.DTensorStructInfo) else info

    def info_of(self, expr: Expr) -> StructInfo:
        return self._struct_info(expr)

    def tensor(self, name: str) -> TensorStructInfo:
        """Return the struct info of argument `name`, which must be a tensor (E0322)."""
        info = self.operand(name)
        if not isinstance(info, TensorStructInfo):
            argument = self._arguments[name]
            with_shape = any(param.kind.removeprefix("opt_") == "shape" for param in self.op.params)
            is_shape = with_shape and isinstance(info, TupleStructInfo | ShapeStructInfo)
            help = "pass the tensor first, and the shape after it" if is_shape else None
            if isinstance(info, TupleStructInfo) and not info.fields:
                help = "a loop function returns nothing: call it by R.call_tir(f, (x,), out_sinfo=R.Tensor(…))"
            raise self.fail("E0322", f"needs a tensor as '{name}', but it is {describe(info)}", help, argument)
        return info

    def tensors(self, name: str) -> tuple[TensorStructInfo, ...]:
        """Return the struct infos of the tuple of tensors `name` (E0322)."""
        info = self.info(name)
        fields = info.fields if isinstance(info, TupleStructInfo) else ()
        tensors = tuple(field for field in fields if isinstance(field, TensorStructInfo))
        if not isinstance(info, TupleStructInfo) or len(tensors) != len(fields):
            argument = self._arguments[name]
            raise self.fail(
                "E0322", f"needs a tuple of tensors as '{name}', but it is {describe(info)}", None, argument
            )
        return tensors

    def shape(self, name: str) -> ShapeStructInfo:
        """Return the struct info of argument `name`, which must be a shape (E0322)."""
        info = self.info(name)
        if not isinstance(info, ShapeStructInfo):
            argument = self._arguments[name]
            help = "pass R.tensor_to_shape(…) of it" if isinstance(info, TensorStructInfo) else None
            raise self.fail("E0322", f"needs a shape as '{name}', but it is {describe(info)}", help, argument)
        return info

    def number(self, name: str) -> tir.PrimExpr | None:
        """Return the value of scalar argument `name`, or None if it is only known at run time."""
        argument = self._arguments.get(name)
        if isinstance(argument, relax.PrimValue):
            return argument.value
        info = self._struct_info(argument) if argument is not None else None
        return info.value if isinstance(info, PrimStructInfo) else None

    def axis(self, axis: int, ndim: int) -> int:
        """Return `axis` counted from the front; E0325 if a tensor of rank `ndim` has no such axis."""
        if not -ndim <= axis < ndim:
            raise self.fail(
                "E0325",
                f"has axis {axis}, but its tensor has {ndim} dimensions",
                f"give an axis from {-ndim} to {ndim - 1}",
            )
        return axis % ndim

    def axes(self, axes: Sequence[int], ndim: int) -> tuple[int, ...]:
        """Return `axes` counted from the front; E0325 if one is out of range or repeated."""
        result = tuple(self.axis(axis, ndim) for axis in axes)
        for position, axis in enumerate(result):
            if axis in result[:position]:
                raise self.fail("E0325", f"names axis {axis} twice in {list(axes)}", "name each axis once")
        return result

    def per_dimension(self, name: str, count: int, least: int | None = None) -> tuple[Any, ...]:
        """Return the attribute `name`, which must have `count` values, no known one below `least` (E0321)."""
        values = self.attr(name)
        if len(values) != count:
            raise self.fail("E0321", f"needs {count} values as '{name}', not {len(values)}")
        lowest = min((value for value in values if isinstance(value, int)), default=least)
        if least is not None and lowest is not None and lowest < least:
            raise self.fail("E0321", f"needs values of at least {least} as '{name}', not {lowest}")
        return values

    def rank(self, name: str, *allowed: int) -> TensorStructInfo:
        """Return the tensor `name`, whose rank must be among `allowed` if it is known (E0323)."""
        info = self.tensor(name)
        if info.ndim != -1 and info.ndim not in allowed:
            needed = " or ".join(str(rank) for rank in allowed)
            raise self.fail(
                "E0323",
                f"needs '{name}' to have {needed} dimensions, but it has {info.ndim}",
                None,
                self._arguments[name],
            )
        return info

    def float_tensor(self, name: str) -> TensorStructInfo:
        """Return the tensor `name`, whose dtype must be a float if it is known (E0324)."""
        info = self.tensor(name)
        if info.dtype != "void" and not is_float(info.dtype):
            raise self.fail(
                "E0324",
                f"needs '{name}' to be of a float dtype, but it is {info.dtype}",
                "convert it with R.astype",
                self._arguments[name],
            )
        return info

    def same_dtype(self, *names: str) -> str:
        """Return the common dtype of tensors `names`, "void" if one is unknown; E0324 if they differ."""
        return self.common_dtype([(name, _dtype_of(self.operand(name))) for name in names])

    def common_dtype(self, named: Sequence[tuple[str, str]]) -> str:
        known = [(name, dtype) for name, dtype in named if dtype != "void"]
        for name, dtype in known[1:]:
            if dtype != known[0][1]:
                raise self.fail(
                    "E0324",
                    f"needs operands of one dtype, but '{known[0][0]}' is {known[0][1]} and '{name}' is {dtype}",
                    f'convert one: R.astype(…, "{known[0][1]}")',
                )
        return known[0][1] if known and len(known) == len(named) else "void"

    def broadcast(self, a: Dims, b: Dims, labels: tuple[str, str] = ("one", "the other")) -> Dims | None:
        """Return the shape that `a` and `b` broadcast to, or None if it is unknown; E0326, naming `labels`, if they do not
        broadcast.
        """
        result: list[tir.PrimExpr] = []
        long, short = (a, b) if len(a) >= len(b) else (b, a)
        offset, is_known = len(long) - len(short), True
        for axis, (x, y) in enumerate(zip(long[offset:], short, strict=True), start=offset):
            if d.is_one(x):
                result.append(y)
            elif d.is_one(y) or d.is_equal(x, y):
                result.append(x)
            elif d.is_different(x, y) and d.value_of(x) is not None and d.value_of(y) is not None:
                number = axis - len(long) if offset else axis
                raise self.fail(
                    "E0326",
                    f"cannot broadcast {labels[0]}: {d.show(a)} and {labels[1]}: {d.show(b)}, which differ in dimension "
                    f"{number}",
                    "broadcast dimensions must be equal, or one of them 1",
                )
            else:
                is_known = False
        return (*long[:offset], *result) if is_known else None

    def check_equal(self, x: tir.PrimExpr, y: tir.PrimExpr, reason: str, help: str | None = None) -> None:
        """Raise E0326 with `reason` if dimensions `x` and `y` are proven different; add them to `assumed` if nothing is proven."""
        if d.is_different(x, y):
            raise self.fail("E0326", reason, help)
        if not d.is_equal(x, y):
            self.assumed.append((x, y))

    def check_multiple(self, x: tir.PrimExpr, factor: tir.PrimExpr | int, reason: str) -> None:
        """Check as `check_equal` does that dimension `x` is a multiple of `factor`."""
        self.check_equal(d.multiply(d.floordiv(x, factor), factor), x, reason)


def _is_within(inner: Span, outer: Span) -> bool:
    return inner.source is outer.source and outer.start <= inner.start and inner.end <= outer.end


def describe(info: StructInfo) -> str:
    """Return a description of `info` for messages: "a shape", "a tuple of 2 values"."""
    match info:
        case TensorStructInfo():
            return "a tensor"
        case TupleStructInfo():
            return f"a tuple of {len(info.fields)} values"
        case ShapeStructInfo():
            return "a shape"
        case PrimStructInfo():
            return f"a scalar of dtype {info.dtype}"
        case relax.FuncStructInfo():
            return "a function"
        case _:
            return "an unknown object"


def _dtype_of(info: StructInfo) -> str:
    return info.dtype if isinstance(info, TensorStructInfo | PrimStructInfo) else "void"


def dims_of(info: TensorStructInfo | ShapeStructInfo) -> Dims | None:
    """Return the dimensions of a tensor or a shape if they are known, else None."""
    if isinstance(info, ShapeStructInfo):
        return info.values
    if isinstance(info.shape, ShapeExpr):
        return info.shape.values
    held = info.shape.struct_info if info.shape is not None else None
    return held.values if isinstance(held, ShapeStructInfo) else None


def written_dims(info: TensorStructInfo) -> Dims | None:
    """Return the dimensions of a tensor if its shape lists them, not if a variable holds the shape.

    Shapes of results are inferred from these, as in TVM; errors are found with `dims_of`.
    """
    return info.shape.values if isinstance(info.shape, ShapeExpr) else None


def tensor_info(
    dims: Sequence[tir.PrimExpr] | None, dtype: str, ndim: int = -1, vdevice: VDevice | None = None
) -> TensorStructInfo:
    """Return the struct info of a tensor of shape `dims`, or of rank `ndim` if that is None."""
    if dims is None:
        return TensorStructInfo(None, dtype, ndim, vdevice)
    return TensorStructInfo(ShapeExpr(tuple(dims)), dtype, len(dims), vdevice)


def shaped(a: Inference, name: str, dtype: str, vdevice: VDevice | None = None) -> TensorStructInfo:
    """Return the struct info of a tensor whose shape is argument `name`: its dimensions, or the variable that holds them."""
    argument, info = a.argument(name), a.shape(name)
    if isinstance(argument, ShapeExpr):
        return tensor_info(argument.values, dtype, -1, vdevice)
    return TensorStructInfo(argument, dtype, info.ndim if info.values is None else len(info.values), vdevice)


def like(info: TensorStructInfo, dtype: str) -> TensorStructInfo:
    """Return `info` with another dtype."""
    return TensorStructInfo(info.shape, dtype, info.ndim, info.vdevice)


def common_vdevice(*infos: StructInfo) -> VDevice | None:
    """Return the device of the tensors, if all that specify one agree."""
    devices = [info.vdevice for info in infos if isinstance(info, TensorStructInfo) and info.vdevice is not None]
    same = all(device is devices[0] or _same_device(device, devices[0]) for device in devices)
    return devices[0] if devices and same else None


def _same_device(a: VDevice, b: VDevice) -> bool:
    return (a.target, a.vdevice_id, a.memory_scope) == (b.target, b.vdevice_id, b.memory_scope)


# --- Rules that families share ----------------------------------------------------------------------------------


def same_as_first(a: Inference) -> StructInfo:
    """Return the struct info of the first argument, a tensor."""
    return a.info(a.op.arguments[0].name)


def float_like_first(a: Inference) -> StructInfo:
    """Return the struct info of the first argument, a tensor of floats."""
    return a.float_tensor(a.op.arguments[0].name)


def nothing(a: Inference) -> StructInfo:
    """Return the struct info of no result (TVM: the empty tuple)."""
    return TupleStructInfo(())


def any_object(a: Inference) -> StructInfo:
    return relax.ObjectStructInfo()


def given_struct_info(a: Inference) -> StructInfo:
    """Return the struct info in `sinfo_args`: an object if there is none, a tuple if there are several."""
    given = a.call.sinfo_args
    return relax.ObjectStructInfo() if not given else given[0] if len(given) == 1 else TupleStructInfo(given)
