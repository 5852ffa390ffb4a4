"""Allocate a separate storage for every tensor that memory planning has not placed (TVM: `LowerAllocTensor`)."""

from __future__ import annotations

from .. import relax
from ..base import IRModule, Op
from ..deep import deep
from ..ops import dims as d
from ..ops.inference import dims_of
from .allocation import ALLOC_TENSOR, Bounds
from .rewriter import ValueRewriter
from .transform import declare_pass, map_functions


@declare_pass("LowerAllocTensor")
@deep
def lower_alloc_tensor(mod: IRModule) -> IRModule:
    """Replace each `R.builtin.alloc_tensor` by a storage of the same size, and a tensor that fills it."""
    return map_functions(mod, relax.Function, lambda function: _StorageAllocator(function).function(function))


class _StorageAllocator(ValueRewriter):
    def __init__(self, function: relax.Function) -> None:
        super().__init__(function)
        self._bounds = Bounds(function)

    def value(self, binding: relax.Binding) -> relax.Expr:
        call = binding.value
        info = call.struct_info
        is_known = isinstance(info, relax.TensorStructInfo) and dims_of(info) is not None
        if not (isinstance(call, relax.Call) and call.op == ALLOC_TENSOR and is_known):
            return call
        assert isinstance(info, relax.TensorStructInfo)
        shape, dtype, device, scope = call.args
        memory = (relax.ShapeExpr((self._bounds.size(info),)), device, scope, relax.DataTypeImm("uint8"))
        storage = self.emit(relax.Call(Op("relax.memory.alloc_storage"), memory), "storage")
        args = (storage, relax.PrimValue(d.dim(0)), shape, dtype)
        return relax.Call(Op("relax.memory.alloc_tensor"), args, span=call.span)
