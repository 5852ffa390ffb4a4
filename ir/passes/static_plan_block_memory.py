"""Let tensors that are not alive at the same time share memory (TVM: `StaticPlanBlockMemory`)."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from .. import relax, tir
from ..base import IRModule, Op
from ..deep import deep
from ..ops import dims as d
from .allocation import Tensor, find_tensors
from .rewriter import ValueRewriter
from .transform import declare_pass, map_functions

_RANGE = 16
"""A storage is taken for a tensor that is at most this many times smaller or larger."""


@declare_pass("StaticPlanBlockMemory")
@deep
def static_plan_block_memory(mod: IRModule) -> IRModule:
    """Replace `R.builtin.alloc_tensor` by tensors inside storages, which are used again when nothing needs them any more.

    Planned is what only loop-level and packed functions of the same block get to see; results of the function are not.
    Symbolic sizes share with equal ones, or have the upper bounds that the attribute `tir_var_upper_bound` gives.
    Run it after CallTIRRewrite.
    """
    return map_functions(mod, relax.Function, lambda function: _plan(function, mod))


def _plan(function: relax.Function, mod: IRModule) -> relax.Function:
    planner = _Planner(find_tensors(function, mod))
    planner.sequence(function.body)
    return _Rewriter(function, planner.storages).function(function) if planner.storages else function


class _Storage(Struct, eq=False):
    """Memory of `size` bytes, and the variable that holds it, from its first use on."""

    size: tir.PrimExpr
    dtype: str
    scope: str
    var: relax.Var | None = None


class _Planner:
    """Gives tensors storages in order of execution (TVM: `StorageAllocator`)."""

    def __init__(self, tensors: Mapping[relax.Call, Tensor]) -> None:
        self.storages: dict[relax.Call, _Storage] = {}
        self._tensors = {call: tensor for call, tensor in tensors.items() if not tensor.escapes}
        self._free: list[_Storage] = []

    def sequence(self, body: relax.SeqExpr) -> None:
        """Plan a body; what it takes of the free storages is free again after it, and its own are unknown there."""
        ending: dict[relax.Binding, list[_Storage]] = {}
        for block in body.blocks:
            for binding in block.bindings:
                value = binding.value
                if isinstance(value, relax.Call) and value in self._tensors:
                    tensor = self._tensors[value]
                    storage = self.storages[value] = self._take(tensor)
                    if tensor.last_use is not None:
                        ending.setdefault(tensor.last_use, []).append(storage)
                self._inside(value)
                self._free += ending.get(binding, ())

    def _inside(self, value: relax.Expr) -> None:
        outer = list(self._free)
        match value:
            case relax.If():
                for branch in (value.true_branch, value.false_branch):
                    self.sequence(branch)
                    self._free = list(outer)
            case relax.Function():
                self._free = []
                self.sequence(value.body)
                self._free = outer
            case _:
                pass

    def _take(self, tensor: Tensor) -> _Storage:
        """Return a storage for a tensor: the smallest free one that holds it, else the largest, which grows, else a new one."""
        found = self._choose(tensor) if tensor.last_use is not None else None
        if found is None:
            return _Storage(tensor.size, tensor.dtype, tensor.scope)
        self._free.remove(found)
        if isinstance(found.size, tir.IntImm) and isinstance(tensor.size, tir.IntImm):
            found.size = d.dim(max(found.size.value, tensor.size.value))
        return found

    def _choose(self, tensor: Tensor) -> _Storage | None:
        alike = [each for each in self._free if (each.dtype, each.scope) == (tensor.dtype, tensor.scope)]
        size = d.value_of(tensor.size)
        if size is None:
            return next((each for each in alike if d.is_equal(each.size, tensor.size)), None)
        known = [(known, each) for each in alike if (known := d.value_of(each.size)) is not None]
        larger = [pair for pair in known if size <= pair[0] <= size * _RANGE]
        smaller = [pair for pair in reversed(known) if size // _RANGE <= pair[0] < size]
        return _first(min(larger, key=_first_of, default=None) or max(smaller, key=_first_of, default=None))


def _first_of(pair: tuple[int, _Storage]) -> int:
    return pair[0]


def _first(pair: tuple[int, _Storage] | None) -> _Storage | None:
    return None if pair is None else pair[1]


class _Rewriter(ValueRewriter):
    def __init__(self, function: relax.Function, storages: Mapping[relax.Call, _Storage]) -> None:
        super().__init__(function)
        self._storages = storages

    def value(self, binding: relax.Binding) -> relax.Expr:
        call = binding.value
        if not (isinstance(call, relax.Call) and call in self._storages):
            return call
        shape, dtype, device, scope = call.args
        storage = self._storages[call]
        if storage.var is None:
            size = relax.ShapeExpr((storage.size,))
            memory = (size, device, scope, relax.DataTypeImm(storage.dtype))
            storage.var = self.emit(relax.Call(Op("relax.memory.alloc_storage"), memory), "storage")
        args = (storage.var, relax.PrimValue(d.dim(0)), shape, dtype)
        return relax.Call(Op("relax.memory.alloc_tensor"), args, span=call.span)
