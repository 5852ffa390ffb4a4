"""Inference of the struct info of graph-level expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import chain

from . import relax, tir
from .base import BaseFunc, GlobalVar, Metadata, Op, Span, StructInfo
from .diagnostics import error
from .equal import structural_equal
from .ops import dims as d
from .ops.inference import Inference, dims_of, tensor_info
from .ops.registry import find
from .relax import (
    Call,
    Expr,
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from .visit import substitute, walk

Bindings = dict[tir.Var, tir.PrimExpr]

MAX_NDIM = 64
"""The most dimensions of a tensor or a shape: as many as an array of NumPy can have."""
ANY_FUNCTION = FuncStructInfo(None, ObjectStructInfo(), False)
"""The struct info of an external function of which nothing is known."""
FEWER_DIMENSIONS = "combine dimensions with R.reshape or R.flatten"


def infer_struct_info(expr: Expr) -> StructInfo:
    """Return the struct info of `expr`: its own, or else the one inferred from its operands.

    The operands of a call must have struct info, unless they are literals, tuples or calls.

    Raises TvmsError at the call: E0301 for an unknown operator; E0105 for wrong arguments; E0321…E0328 for operands of
    the wrong kind, rank, dtype or shape; E0010 for a result of too many dimensions.
    """
    if expr.struct_info is not None:
        return expr.struct_info
    info = _infer(expr)
    if isinstance(expr, Call) and (reason := why_too_many_dimensions(info)):
        raise error("E0010", reason, expr.span, FEWER_DIMENSIONS)
    return info


def assumed_equal(call: Call) -> list[tuple[tir.PrimExpr, tir.PrimExpr]]:
    """Return the pairs of sizes that the operator of `call` requires to be equal, and of which neither that nor the contrary is
    proven.
    """
    op = find(call.op.name) if isinstance(call.op, Op) else None
    if op is None or op.infer is None:
        return []
    inference = Inference(op, call, infer_struct_info)
    op.infer(inference)
    return inference.assumed


def why_too_many_dimensions(info: StructInfo) -> str | None:
    """Return the reason why no value can have struct info `info` if its rank is above `MAX_NDIM`, else None."""
    if not isinstance(info, TensorStructInfo | ShapeStructInfo) or info.ndim <= MAX_NDIM:
        return None
    kind = "tensor" if isinstance(info, TensorStructInfo) else "shape"
    return f"the {kind} has {info.ndim} dimensions, more than {MAX_NDIM}"


def _infer(expr: Expr) -> StructInfo:
    match expr:
        case relax.Constant():
            return _constant(expr)
        case ShapeExpr():
            return ShapeStructInfo(expr.values, len(expr.values))
        case relax.PrimValue():
            return PrimStructInfo(expr.value.dtype, expr.value)
        case relax.Tuple():
            return TupleStructInfo(tuple(infer_struct_info(field) for field in expr.fields))
        case relax.TupleGetItem():
            return _tuple_item(expr)
        case Call():
            return _call(expr)
        case relax.If():
            return join(infer_struct_info(expr.true_branch), infer_struct_info(expr.false_branch))
        case relax.SeqExpr():
            return infer_struct_info(expr.body)
        case BaseFunc():
            return function_struct_info(expr)
        case _:
            return ObjectStructInfo()


def function_struct_info(function: BaseFunc) -> FuncStructInfo:
    """Return the struct info of `function`: that of its parameters and its result (TVM: `PrimFunc`'s `InferStructInfo`).

    A loop function is impure, because it writes its buffers; an external function accepts any arguments.
    """
    match function:
        case relax.Function():
            params = tuple(infer_struct_info(param) for param in function.params)
            return FuncStructInfo(
                params, function.ret_struct_info or infer_struct_info(function.body), function.is_pure
            )
        case tir.PrimFunc():
            params = tuple(_loop_parameter(param, function.buffer_map.get(param)) for param in function.params)
            kind = function.ret_type
            returned = PrimStructInfo(kind.dtype) if isinstance(kind, tir.PrimType) and kind.dtype != "void" else None
            return FuncStructInfo(params, returned or TupleStructInfo(()), False)
        case _:
            given = function.struct_info
            return given if isinstance(given, FuncStructInfo) else ANY_FUNCTION


def _loop_parameter(param: tir.Var, buffer: tir.Buffer | None) -> StructInfo:
    if buffer is not None:
        sizes = (d.dim(size.value) if isinstance(size, tir.IntImm) else size for size in buffer.shape)
        return tensor_info(tuple(sizes), buffer.dtype)
    return ObjectStructInfo() if param.dtype == "handle" else PrimStructInfo(param.dtype, param)


def _constant(constant: relax.Constant) -> StructInfo:
    if isinstance(constant.data, Metadata):
        return TensorStructInfo()
    shape = [d.dim(int(size)) for size in constant.data.shape]
    return tensor_info(shape, str(constant.data.dtype))


def _tuple_item(item: relax.TupleGetItem) -> StructInfo:
    info = infer_struct_info(item.tuple_value)
    if isinstance(info, ObjectStructInfo):
        return info
    if not isinstance(info, TupleStructInfo):
        raise error("E0322", "only the fields of a tuple can be selected by number", item.span)
    if not 0 <= item.index < len(info.fields):
        raise error("E0325", f"a tuple of {len(info.fields)} values has no field {item.index}", item.span)
    return info.fields[item.index]


def _call(call: Call) -> StructInfo:
    callee = call.op
    if isinstance(callee, Op):
        op = find(callee.name)
        if op is None or op.infer is None:
            raise error("E0301", f"there is no operator '{callee.name.removeprefix('relax.')}'", call.span)
        return op.infer(Inference(op, call, infer_struct_info))
    if isinstance(callee, relax.ExternFunc):
        return _derived(call, function_struct_info(callee)) or _given(call)
    info = infer_struct_info(callee)
    if not isinstance(info, FuncStructInfo):
        if isinstance(info, ObjectStructInfo):
            return _given(call)
        raise error("E0322", "only a function can be called", call.span)
    if info.params is None:
        return _given(call) if call.sinfo_args else info.ret
    return call_result(info, info.params, [infer_struct_info(arg) for arg in call.args], _name(callee), call.span)


_DERIVED_BY: dict[str | None, str] = {
    "tvm.relax.struct_info.infer_view_sinfo": "relax.memory.view",
    "tvm.relax.type.infer_view_ty": "relax.memory.view",
}
"""The operators whose rules TVM's functions for `derive_func` apply."""


def _derived(call: Call, info: FuncStructInfo) -> StructInfo | None:
    """Return the struct info that `derive_func` of a function infers for `call`, or None if it is not known."""
    op = find(_DERIVED_BY.get(info.derive_func, ""))
    return None if op is None or op.infer is None else op.infer(Inference(op, call, infer_struct_info))


def _given(call: Call) -> StructInfo:
    infos = call.sinfo_args
    return ObjectStructInfo() if not infos else infos[0] if len(infos) == 1 else TupleStructInfo(infos)


def _name(callee: Expr) -> str:
    return callee.name_hint if isinstance(callee, GlobalVar | relax.Var) else "the function"


def call_result(
    info: FuncStructInfo, params: Sequence[StructInfo], args: Sequence[StructInfo], name: str, span: Span | None
) -> StructInfo:
    """Return what a function with struct info `info` returns for `args`, in terms of the caller's dimensions."""
    if len(params) != len(args):
        raise error("E0105", f"{name} takes {len(params)} arguments, but {len(args)} are given", span)
    bindings: Bindings = {}
    for number, (param, arg) in enumerate(zip(params, args, strict=True)):
        reason = bind_dims(param, arg, bindings)
        if reason is not None:
            raise error("E0328", f"argument {number} of {name} does not fit its parameter: {reason}", span)
    return replace_dims(info.ret, bindings, all_known=False)


def bind_dims(param: StructInfo, arg: StructInfo, bindings: Bindings) -> str | None:
    """Bind the variables of `param` to the dimensions of `arg`; return why `arg` does not fit `param`, or None."""
    match param, arg:
        case (ObjectStructInfo(), _) | (_, ObjectStructInfo()):
            return None
        case TensorStructInfo(), TensorStructInfo():
            if "void" not in (param.dtype, arg.dtype) and param.dtype != arg.dtype:
                return f"it needs dtype {param.dtype}, but gets {arg.dtype}"
            if -1 not in (param.ndim, arg.ndim) and param.ndim != arg.ndim:
                return f"it needs {param.ndim} dimensions, but gets {arg.ndim}"
            return _bind_all(dims_of(param), dims_of(arg), bindings)
        case ShapeStructInfo(), ShapeStructInfo():
            if -1 not in (param.ndim, arg.ndim) and param.ndim != arg.ndim:
                return f"it needs {param.ndim} dimensions, but gets {arg.ndim}"
            return _bind_all(param.values, arg.values, bindings)
        case PrimStructInfo(), PrimStructInfo():
            if param.dtype != arg.dtype:
                return f"it needs dtype {param.dtype}, but gets {arg.dtype}"
            return _bind_all(_sizes(param.value), _sizes(arg.value), bindings)
        case TupleStructInfo(), TupleStructInfo():
            if len(param.fields) != len(arg.fields):
                return f"it needs a tuple of {len(param.fields)} values, but gets one of {len(arg.fields)}"
            reasons = (bind_dims(x, y, bindings) for x, y in zip(param.fields, arg.fields, strict=True))
            return next((reason for reason in reasons if reason is not None), None)
        case _ if type(param) is type(arg):
            return None
        case _:
            return "it needs another kind of value"


def _sizes(value: tir.PrimExpr | None) -> d.Dims | None:
    return None if value is None else (value,)


def _bind_all(params: d.Dims | None, args: d.Dims | None, bindings: Bindings) -> str | None:
    for param, arg in zip(params or (), args or (), strict=False):
        if isinstance(param, tir.Var) and param not in bindings:
            bindings[param] = arg
        elif d.is_different(_replace(param, bindings), arg):
            return f"it needs shape {d.show(params or ())}, but gets {d.show(args or ())}"
    return None


def _replace(dim: tir.PrimExpr, bindings: Mapping[tir.Var, tir.PrimExpr]) -> tir.PrimExpr:
    return substitute(dim, bindings) if bindings else dim


def _is_known(dim: tir.PrimExpr, bindings: Mapping[tir.Var, tir.PrimExpr]) -> bool:
    from .visit import walk

    return all(node in bindings for node in walk(dim) if isinstance(node, tir.Var))


def dimensions_alone(info: StructInfo) -> tuple[tir.Var, ...]:
    """Return the symbolic dimensions that are single variables in a struct info, so that a value defines them."""
    shapes = (node.values or () for node in walk(info) if isinstance(node, ShapeExpr | ShapeStructInfo))
    scalars = (node.value for node in walk(info) if isinstance(node, PrimStructInfo))
    return tuple(dict.fromkeys(expr for expr in chain(*shapes, scalars) if isinstance(expr, tir.Var)))


def replace_dims(
    info: StructInfo,
    bindings: Mapping[tir.Var, tir.PrimExpr],
    all_known: bool = True,
    shapes: Set[relax.Expr] = frozenset(),
) -> StructInfo:
    """Return `info` with its variables replaced; unless `all_known`, shapes with a variable not in `bindings` become
    unknown. A tensor whose shape is a variable keeps it if it is one of `shapes`.
    """

    def new(dims: d.Dims | None) -> d.Dims | None:
        if dims is None or not (all_known or all(_is_known(dim, bindings) for dim in dims)):
            return None
        return tuple(d.simplify(_replace(dim, bindings)) if not isinstance(dim, tir.IntImm) else dim for dim in dims)

    match info:
        case TensorStructInfo(shape=relax.Var() as held) if held in shapes:
            return info
        case TensorStructInfo():
            dims = new(dims_of(info))
            return tensor_info(dims, info.dtype, info.ndim, info.vdevice)
        case ShapeStructInfo():
            values = new(info.values)
            return ShapeStructInfo(values, info.ndim)
        case PrimStructInfo():
            value = new((info.value,)) if info.value is not None else None
            return PrimStructInfo(info.dtype, value[0] if value else None)
        case TupleStructInfo():
            return TupleStructInfo(tuple(replace_dims(field, bindings, all_known, shapes) for field in info.fields))
        case _:
            return info


def join(a: StructInfo, b: StructInfo) -> StructInfo:
    """Return the struct info of a value that matches `a` or `b` (TVM: `StructInfoLCA`)."""
    match a, b:
        case TensorStructInfo(), TensorStructInfo():
            dtype = a.dtype if a.dtype == b.dtype else "void"
            ndim = a.ndim if a.ndim == b.ndim else -1
            x, y = dims_of(a), dims_of(b)
            vdevice = a.vdevice if a.vdevice is b.vdevice else None
            return tensor_info(x if _same(x, y) else None, dtype, ndim, vdevice)
        case ShapeStructInfo(), ShapeStructInfo():
            return ShapeStructInfo(a.values if _same(a.values, b.values) else None, a.ndim if a.ndim == b.ndim else -1)
        case PrimStructInfo(), PrimStructInfo() if a.dtype == b.dtype:
            equal = a.value is not None and b.value is not None and d.is_equal(a.value, b.value)
            same = equal or structural_equal(a, b)
            return PrimStructInfo(a.dtype, a.value if same else None)
        case TupleStructInfo(), TupleStructInfo() if len(a.fields) == len(b.fields):
            return TupleStructInfo(tuple(join(x, y) for x, y in zip(a.fields, b.fields, strict=True)))
        case FuncStructInfo(), FuncStructInfo():
            return a if structural_equal(a, b) else _join_functions(a, b)
        case _:
            return ObjectStructInfo()


def _join_functions(a: FuncStructInfo, b: FuncStructInfo) -> FuncStructInfo:
    """Return the struct info of a function that matches `a` or `b`. What they require of a parameter remains where it is equal."""
    if a.derive_func is not None or b.derive_func is not None:
        return FuncStructInfo(None, ObjectStructInfo(), a.purity and b.purity)
    params = None
    if a.params is not None and b.params is not None and len(a.params) == len(b.params):
        params = tuple(map(join, a.params, b.params))
    defined = {var: var for param in params or () for var in dimensions_alone(param)}
    ret = replace_dims(join(a.ret, b.ret), defined, all_known=False)
    return FuncStructInfo(params, ret, a.purity and b.purity)


def _same(a: d.Dims | None, b: d.Dims | None) -> bool:
    if a is None or b is None:
        return False
    return len(a) == len(b) and all(d.is_equal(x, y) for x, y in zip(a, b, strict=True))
