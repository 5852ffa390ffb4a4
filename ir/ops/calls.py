"""Calls of other functions: loop-level, packed and closures (TVM: `relax/op/base.py`).

The struct info of the result is an argument of the call.
"""

from __future__ import annotations

from .. import te
from ..base import StructInfo
from ..contradiction import contradiction
from ..relax import ShapeStructInfo, TensorStructInfo, TupleStructInfo
from . import dims as d
from .binding import bind
from .inference import Inference, any_object, dims_of, given_struct_info, nothing, tensor_info
from .registry import Kind, Param, RelaxOp, get_op, register


def _infer_with_output(a: Inference) -> StructInfo:
    if not a.call.sinfo_args:
        raise a.fail("E0105", "lacks its argument 'out_sinfo'", "give the type of the result: out_sinfo=R.Tensor(…)")
    return given_struct_info(a)


def _infer_inplace(a: Inference) -> StructInfo:
    result = _infer_with_output(a)
    indices: tuple[int, ...] = a.attr("inplace_indices")
    args = a.info("args")
    fields: tuple[StructInfo, ...] = args.fields if isinstance(args, TupleStructInfo) else ()
    count = len(fields)
    for index in indices:
        if not -1 <= index < count:
            raise a.fail("E0325", f"writes argument {index} in place, but has {count} arguments")
        if index >= 0 and indices.count(index) > 1:
            raise a.fail(
                "E0325", f"writes several results over argument {index}", "give each result an argument of its own"
            )
    if indices and max(indices) == -1:
        raise a.fail("E0325", "writes none of its arguments in place", "call R.call_tir for new results")
    outputs = result.fields if isinstance(result, TupleStructInfo) else (result,)
    if len(outputs) != len(indices):
        message = f"gives inplace_indices for {len(indices)} results, but returns {len(outputs)}"
        raise a.fail("E0325", message, "give an index for each result, -1 for one that is allocated")
    for index, output in zip(indices, outputs, strict=True):
        given = fields[index] if index >= 0 else output
        if not isinstance(given, TensorStructInfo):
            raise a.fail("E0322", f"writes a result over argument {index}, which is {given}, not a tensor")
        reason = contradiction(output, given)
        if reason is not None:
            message = f"writes a result over argument {index}, which is {given}: {reason}"
            raise a.fail("E0326", message, "give the result the shape and the dtype of the argument")
    return result


_ARGS = Param("args", "tuple")
_OUT = Param("out_sinfo", "sinfo")


def _call_tir(name: str, doc: str, *attributes: Param, before_output: bool = False) -> None:
    callee = Param("gvar", "callee")
    middle = (*attributes, _OUT) if before_output else (_OUT, *attributes)
    infer = _infer_inplace if before_output else _infer_with_output
    tir_vars = Param("tir_vars", "opt_shape", None)
    register(RelaxOp(f"relax.{name}", (callee, _ARGS, *middle, tir_vars), infer, doc))


_call_tir("call_tir", "Call a loop function with `args` and new tensors for its results.")
_call_tir(
    "call_tir_with_grad",
    "Call a loop function, whose gradient is the tensor expression registered as `te_grad_name`.",
    Param("te_grad_name", "str"),
    Param("te_grad_kwargs", "value", None),
)
_call_tir(
    "call_tir_inplace",
    "Call a loop function that writes its results over some of its arguments.",
    Param("inplace_indices", "ints"),
    before_output=True,
)
_call_tir("dist.call_tir_local_view", "Call a loop function on the part of each tensor that is on this device.")
register(
    RelaxOp(
        "relax.dist.call_tir",
        (Param("gvar", "callee"), _ARGS, _OUT, Param("tir_vars", "opt_shape", None)),
        None,
        "Call a loop function on distributed tensors; otherwise the same as `R.call_tir`.",
        expand=lambda a: bind(get_op("relax.call_tir"), (a.gvar, a.args, a.out_sinfo), {"tir_vars": a.tir_vars}),
    )
)
register(
    RelaxOp(
        "relax.call_dps_packed",
        (Param("func", "callee"), _ARGS, _OUT),
        _infer_with_output,
        "Call an external function with `args` and new tensors for its results.",
    )
)
register(
    RelaxOp(
        "relax.call_py_func",
        (Param("func_name", "string"), _ARGS, _OUT),
        _infer_with_output,
        "Call a Python function of the module's class by its name. It is kept and printed, but not executed.",
    )
)
register(
    RelaxOp(
        "relax.vm.call_tir_dyn",
        (Param("func", "callee"), _ARGS),
        nothing,
        "Call a loop function whose variables are given as a shape at the end of `args`.",
        pure=False,
    )
)


def _variadic(name: str, doc: str, pure: bool, *more: Param) -> None:
    params = (Param("func", "callee"), Param("args", "exprs"), *more, Param("sinfo_args", "sinfos", ()))
    register(RelaxOp(f"relax.{name}", params, given_struct_info, doc, pure=pure))


_variadic("call_pure_packed", "Call an external function that has no side effects.", True)
_variadic(
    "call_inplace_packed",
    "Call an external function that writes some of its arguments in place.",
    True,
    Param("inplace_indices", "ints"),
)


def _with_tuple(name: str, callee: str, doc: str, pure: bool) -> None:
    kind: Kind = "callee" if callee == "func" else "expr"
    params = (Param(callee, kind), _ARGS, Param("sinfo_args", "sinfos", ()))
    register(RelaxOp(f"relax.{name}", params, given_struct_info, doc, pure=pure))


_with_tuple(
    "call_builtin_with_ctx",
    "func",
    "Call a function of the virtual machine with the machine as its first argument.",
    False,
)
_with_tuple("invoke_closure", "closure", "Call a closure.", False)
_with_tuple("invoke_pure_closure", "closure", "Call a closure that has no side effects.", True)
register(
    RelaxOp(
        "relax.make_closure",
        (Param("func", "callee"), _ARGS),
        any_object,
        "Return a function with its last arguments bound to `args`.",
    )
)
register(RelaxOp("relax.null_value", (), any_object, "Return the null object."))


def _infer_assert(a: Inference) -> StructInfo:
    condition = a.info("condition")
    if isinstance(condition, TensorStructInfo):
        if condition.dtype not in ("bool", "void"):
            raise a.fail(
                "E0324", f"needs a condition of dtype bool, but it is {condition.dtype}", None, a.argument("condition")
            )
        a.rank("condition", 0)
    return nothing(a)


register(
    RelaxOp(
        "relax.assert_op",
        (Param("condition"), Param("format_args", "exprs"), Param("format", "string", "")),
        _infer_assert,
        "Stop with the message `format` unless `condition` holds.",
        pure=False,
        args_order=("condition", "format", "format_args"),
    )
)
register(
    RelaxOp(
        "relax.print",
        (Param("values", "exprs"), Param("format", "string", "")),
        nothing,
        "Print values.",
        pure=False,
        args_order=("format", "values"),
    )
)


def _infer_shape_of(a: Inference) -> StructInfo:
    info = a.tensor("expr")
    dims = dims_of(info)
    return ShapeStructInfo(dims, info.ndim if dims is None else len(dims))


def _infer_tensor_to_shape(a: Inference) -> StructInfo:
    info = a.rank("expr", 1)
    dims = dims_of(info)
    count = d.value_of(dims[0]) if dims else None
    return ShapeStructInfo(None, -1 if count is None else count)


def _infer_shape_to_tensor(a: Inference) -> StructInfo:
    info = a.shape("expr")
    return tensor_info(None if info.ndim == -1 else [d.dim(info.ndim)], "int64", 1)


register(
    RelaxOp(
        "relax.shape_of",
        (Param("expr"),),
        _infer_shape_of,
        "Return the shape of a tensor.",
        lambda np, a: tuple(a.expr.shape),
    )
)
register(
    RelaxOp(
        "relax.size",
        (Param("expr"),),
        lambda a: tensor_info([], "int64", 0, a.tensor("expr").vdevice),
        "Return the number of elements of a tensor.",
        lambda np, a: np.array(a.expr.size, "int64"),
        lambda a: te.compute((), lambda: te.cast(d.product(a.expr.dims), "int64"), "T_size"),
    )
)
register(
    RelaxOp(
        "relax.tensor_to_shape",
        (Param("expr"),),
        _infer_tensor_to_shape,
        "Return the elements of a vector of int64 as a shape.",
        lambda np, a: tuple(int(item) for item in a.expr),
    )
)
register(
    RelaxOp(
        "relax.shape_to_tensor",
        (Param("expr", "shape"),),
        _infer_shape_to_tensor,
        "Return a shape as a vector of int64.",
        lambda np, a: np.array(a.expr, "int64"),
    )
)
