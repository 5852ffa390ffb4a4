"""Calls of tensor functions on graph-level values (TVM: `call_te`): the loop function and its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from .. import relax, te, tir
from ..base import GlobalVar, Op, StructInfo, VDevice
from ..infer import infer_struct_info, replace_dims
from ..operators import symbolic_equality
from ..ops.inference import dims_of, tensor_info
from ..relax import Expr, PrimStructInfo, ShapeStructInfo, TensorStructInfo, TupleStructInfo
from ..variables import free_variables, with_new_variables
from ..visit import substitute, walk
from .values import inferred

Bindings = Mapping[relax.Var, Expr]


class LoopCall(Struct):
    """A PrimFunc, its arguments, the symbolic variables that its shapes do not determine, and its results."""

    function: tir.PrimFunc
    args: tuple[Expr, ...]
    variables: tuple[tir.PrimExpr, ...]
    results: tuple[TensorStructInfo, ...]

    def call(self, callee: GlobalVar) -> relax.Call:
        """Return the call of the loop function, under the name `callee`, for its arguments."""
        operands = (callee, relax.Tuple(self.args))
        extra = (relax.ShapeExpr(self.variables),) if self.variables else ()
        result = self.results[0] if len(self.results) == 1 else TupleStructInfo(self.results)
        return cast("relax.Call", inferred(relax.Call(Op("relax.call_tir"), (*operands, *extra), {}, (result,))))


def call_te(function: Callable[..., Any], args: Sequence[Any], keywords: Mapping[str, Any]) -> LoopCall:
    """Return a call of the PrimFunc that `function` builds from `args`, with tensors in place of graph-level values.

    Lists, tuples and dicts of arguments keep their structure; numbers, strings and None are passed unchanged. Raises
    TypeError if a tensor has no known shape, or if `function` does not return tensors.
    """
    arguments = TensorArguments({})
    given = [arguments.nested(arg) for arg in args]
    named = {name: arguments.nested(arg) for name, arg in keywords.items()}
    with symbolic_equality():
        made = function(*given, **named)
    outputs = cast("Sequence[Any]", made) if isinstance(made, tuple | list) else (made,)
    if not all(isinstance(output, te.Tensor) for output in outputs):
        raise TypeError(f"'{_name_of(function)}' must return one or several tensors, not {made!r}")
    return arguments.finish(tuple(outputs), keep_all=True)


def _name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


class TensorArguments:
    """The arguments of a call as tensors and scalars of the PrimFunc, with variables of its own.

    `bound` maps variables to their values, to find the fields of tuples.
    """

    def __init__(self, bound: Bindings) -> None:
        self._bound = bound
        self._variables: dict[tir.Var, tir.Var] = {}
        self._params: list[te.Tensor | tir.Var] = []
        self._args: list[Expr] = []
        self._scalars: list[tir.Var] = []

    def nested(self, arg: Any) -> Any:
        """Return `arg` in the form that a tensor function takes, also within lists, tuples and dicts."""
        match arg:
            case list():
                return [self.nested(item) for item in cast("list[Any]", arg)]
            case tuple():
                return tuple(self.nested(item) for item in cast("tuple[Any, ...]", arg))
            case dict():
                return {key: self.nested(value) for key, value in cast("dict[Any, Any]", arg).items()}
            case tir.PrimExpr():
                return self._own(arg)
            case Expr():
                converted = self.convert(arg)
                if converted is None:
                    raise TypeError(f"the shape or the dtype of {arg} is not known")
                return list(cast("tuple[Any, ...]", converted)) if isinstance(converted, tuple) else converted
            case _:
                return arg

    def convert(self, arg: Expr) -> Any:
        """Return `arg` in the form that a meaning takes; None if its shape or dtype is unknown."""
        info = infer_struct_info(arg)
        match info:
            case TensorStructInfo() if is_known(info):
                inner = self.inside(info)
                assert isinstance(inner, TensorStructInfo)
                shape = dims_of(inner)
                assert shape is not None
                tensor = te.placeholder(shape, info.dtype, self._name(arg, ascii_uppercase, "tensor_input"))
                self._add(tensor, arg)
                return tensor
            case ShapeStructInfo(values=dims) if dims is not None:
                return tuple(self._own(dim) for dim in dims)
            case TupleStructInfo():
                fields = [self.convert(field) for field in self._fields(arg, len(info.fields))]
                return None if any(field is None for field in fields) else tuple(fields)
            case PrimStructInfo(value=tir.PrimExpr() as value):
                return self._own(value)
            case PrimStructInfo():
                var = tir.Var(info.dtype, self._name(arg, ascii_lowercase, "scalar_input"))
                self._add(var, arg)
                return var
            case _:
                return None

    def _fields(self, arg: Expr, count: int) -> tuple[Expr, ...]:
        """Return the fields of a tuple: their values if known, else projections of the tuple."""
        while isinstance(arg, relax.Var) and isinstance(self._bound.get(arg), relax.Tuple | relax.Var):
            arg = self._bound[arg]
        if isinstance(arg, relax.Tuple):
            return arg.fields
        return tuple(relax.TupleGetItem(arg, number) for number in range(count))

    def _name(self, arg: Expr, letters: str, fallback: str) -> str:
        if isinstance(arg, relax.Var):
            return arg.name_hint
        number = len(self._params)
        return letters[number] if number < len(letters) else f"{fallback}_{number}"

    def _add(self, param: te.Tensor | tir.Var, arg: Expr) -> None:
        self._params.append(param)
        self._args.append(arg)

    def _own(self, value: tir.PrimExpr) -> tir.PrimExpr:
        """Return a scalar in terms of the variables of the PrimFunc."""
        self._rename(value)
        renamed = substitute(value, self._variables)
        self._scalars += [var for var in free_variables(renamed) if isinstance(var, tir.Var)]
        return renamed

    def _rename(self, value: tir.PrimExpr) -> None:
        for var in free_variables(value):
            if isinstance(var, tir.Var) and var not in self._variables:
                self._variables[var] = replace(var)

    def inside(self, info: StructInfo) -> StructInfo:
        """Return `info` in terms of the variables of the PrimFunc."""
        match info:
            case TensorStructInfo() | ShapeStructInfo():
                for dim in dims_of(info) or ():
                    self._rename(dim)
            case TupleStructInfo():
                for field in info.fields:
                    self.inside(field)
            case _:
                pass
        return replace_dims(info, self._variables)

    def finish(self, outputs: tuple[te.Tensor, ...], keep_all: bool = False) -> LoopCall:
        """Return the call of the PrimFunc from the collected parameters to `outputs`; unless `keep_all`, without tensors
        of which only the shape is used. A parameter that is also an output is copied.
        """
        outputs = tuple([_copy(output) if output in self._params else output for output in outputs])
        read = set(te.computations(outputs))
        kept = [n for n, p in enumerate(self._params) if keep_all or not isinstance(p, te.Tensor) or p.op in read]
        params = [self._params[number] for number in kept]
        shapes = [param.dims for param in (*params, *outputs) if isinstance(param, te.Tensor)]
        defined = {dim for shape in shapes for dim in shape if isinstance(dim, tir.Var)}
        used = [var for shape in shapes for dim in shape for var in free_variables(dim) if isinstance(var, tir.Var)]
        used += self._sizes_of_dropped(params, read)
        unbound = [var for var in dict.fromkeys((*self._scalars, *used)) if var not in defined and var not in params]
        function = te.create_prim_func([*params, *outputs, *unbound], "int64")
        attrs = {key: value for key, value in function.attrs.items() if key != "global_symbol"}
        outside = {inner: outer for outer, inner in self._variables.items()}
        is_own = any(var not in outside for var in unbound)  # the function of tensors mentions the caller's variables
        return LoopCall(
            with_new_variables(replace(function, attrs=attrs)) if is_own else replace(function, attrs=attrs),
            tuple(self._args[number] for number in kept),
            tuple(outside.get(var, var) for var in unbound),
            tuple(
                tensor_info([_int64(substitute(dim, outside)) for dim in out.dims], out.dtype, vdevice=self._device())
                for out in outputs
            ),
        )

    def _device(self) -> VDevice | None:
        """Return the device of the first tensor that has one (TVM: `_get_vdevice`)."""
        infos = (infer_struct_info(arg) for arg in self._args)
        devices = (info.vdevice for info in infos if isinstance(info, TensorStructInfo))
        return next((device for device in devices if device is not None), None)

    def _sizes_of_dropped(self, kept: Sequence[te.Tensor | tir.Var], read: set[Any]) -> list[tir.Var]:
        """Return the sizes of the parameters that are not kept, as far as the computations `read` use them."""
        dims = [
            dim for param in self._params if param not in kept and isinstance(param, te.Tensor) for dim in param.dims
        ]
        if not dims:
            return []
        named = {node for op in read for part in getattr(op, "body", ()) for node in walk(part)}
        return [var for dim in dims for var in free_variables(dim) if isinstance(var, tir.Var) and var in named]


def _copy(tensor: te.Tensor) -> te.Tensor:
    return te.compute(tensor.dims, lambda *i: tensor(*i), "T_identity")


def _int64(dim: tir.PrimExpr) -> tir.PrimExpr:
    return replace(dim, dtype="int64") if isinstance(dim, tir.IntImm) else dim


def is_known(info: StructInfo | None) -> bool:
    """Whether the shape and dtype of a tensor, or of all tensors in a tuple, are known."""
    match info:
        case TensorStructInfo():
            return dims_of(info) is not None and info.dtype != "void"
        case TupleStructInfo():
            return all(is_known(field) for field in info.fields)
        case _:
            return False
