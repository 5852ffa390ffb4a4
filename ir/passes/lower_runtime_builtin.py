"""Replace operators by the functions of the virtual machine that compute them (TVM: `LowerRuntimeBuiltin`)."""

from __future__ import annotations

from msgspec.structs import replace

from .. import relax, tir
from .. import vm_shapes as vm_shapes  # registers the functions
from ..base import IRModule, Op
from ..deep import deep
from ..diagnostics import error
from ..infer import infer_struct_info
from ..ops.inference import dims_of
from .allocation import ALLOC_TENSOR
from .rewriter import ValueRewriter
from .transform import declare_pass, map_functions

_FUNCTIONS = {
    "relax.reshape": "vm.builtin.reshape",
    "relax.shape_of": "vm.builtin.shape_of",
    "relax.tensor_to_shape": "vm.builtin.tensor_to_shape",
    "relax.null_value": "vm.builtin.null_value",
}
VIEW = relax.ExternFunc(
    "runtime.TVMArrayCreateView",
    struct_info=relax.FuncStructInfo(None, relax.ObjectStructInfo(), True, "tvm.relax.struct_info.infer_view_sinfo"),
)
"""The function that computes `R.memory.view`."""
_OPERATORS = {
    "relax.memory.alloc_tensor": "relax.vm.alloc_tensor",
    "relax.memory.kill_storage": "relax.vm.kill_object",
    "relax.memory.kill_tensor": "relax.vm.kill_object",
}


@declare_pass("LowerRuntimeBuiltin")
@deep
def lower_runtime_builtin(mod: IRModule) -> IRModule:
    """Replace allocations by those of the virtual machine, and shape computations by calls of its functions.

    `RemovePurityChecking` comes before, because these calls count as impure. Raises TvmsError E0914 for
    `R.builtin.alloc_tensor`, which `LowerAllocTensor` replaces.
    """
    return map_functions(mod, relax.Function, lambda function: _Lowering(function).function(function))


class _Lowering(ValueRewriter):
    def value(self, binding: relax.Binding) -> relax.Expr:
        """Return the lowered call, with the struct info of the call that it replaces."""
        call = binding.value
        if not isinstance(call, relax.Call) or not isinstance(call.op, Op):
            return call
        if call.op == ALLOC_TENSOR:
            raise error("E0914", "R.builtin.alloc_tensor is not lowered here", call.span, "run LowerAllocTensor first")
        if call.op.name == "relax.memory.alloc_storage":
            size, device, scope, _ = call.args
            args = (
                size,
                device,
                relax.DataTypeImm("uint8", struct_info=relax.ObjectStructInfo()),
                scope,
            )  # `size` counts bytes
            return replace(call, op=Op("relax.vm.alloc_storage"), args=args)
        if call.op.name in _OPERATORS:
            return replace(call, op=Op(_OPERATORS[call.op.name]))
        if call.op.name in _FUNCTIONS:
            info = infer_struct_info(call)
            function = relax.ExternFunc(_FUNCTIONS[call.op.name])
            return relax.Call(function, call.args, sinfo_args=(info,), struct_info=info, span=call.span)
        return _view(call) if call.op.name == "relax.memory.view" else call


def _view(call: relax.Call) -> relax.Call:
    """Return the lowered `R.memory.view` with all its arguments; the same call if the dtype is not known."""
    data, shape, dtype, offset = call.args
    source = infer_struct_info(data)
    assert isinstance(source, relax.TensorStructInfo)
    if _is_omitted(shape):
        dims = dims_of(source)
        function = relax.ExternFunc(_FUNCTIONS["relax.shape_of"])
        kind = relax.ShapeStructInfo(dims, source.ndim)
        measured = relax.Call(function, (data,), sinfo_args=(kind,), struct_info=kind, span=call.span)
        shape = measured if dims is None else relax.ShapeExpr(dims, struct_info=kind)
    if _is_omitted(dtype):
        if source.dtype == "void":
            return call
        dtype = relax.DataTypeImm(source.dtype, struct_info=relax.ObjectStructInfo())
    if _is_omitted(offset):
        zero = tir.IntImm("int64", 0)
        offset = relax.PrimValue(zero, struct_info=relax.PrimStructInfo("int64", zero))
    return replace(call, op=VIEW, args=(data, shape, dtype, offset))


def _is_omitted(argument: relax.Expr) -> bool:
    info = infer_struct_info(argument)
    return isinstance(info, relax.TupleStructInfo) and not info.fields
