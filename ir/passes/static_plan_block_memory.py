"""Let tensors with disjoint lifetimes share memory (TVM: `StaticPlanBlockMemory`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from .. import relax, tir
from ..base import IRModule, Op
from ..deep import deep
from ..ops import dims as d
from ..ops.inference import dims_of
from .allocation import DYNAMIC_OUTPUT, Tensor, find_tensors
from .rewriter import ValueRewriter
from .transform import declare_pass, map_functions

_RANGE = 16
"""Maximum ratio between the sizes of a tensor and a storage that it reuses, in either direction."""
_ALIGNMENT = 64
"""Alignment in bytes of tensors that share a storage."""


@declare_pass("StaticPlanBlockMemory")
@deep
def static_plan_block_memory(mod: IRModule, pack: bool = False) -> IRModule:
    """Replace `R.builtin.alloc_tensor` by tensors in storages, which are reused after the last use of their tensors.

    Only tensors that are passed to loop functions and packed functions of the same block are planned, and no results of
    the function. Tensors of symbolic size share storages of equal size, or have the upper bounds in the attribute
    `tir_var_upper_bound`. Results of symbolic size get storages of their own if the function has the attribute
    `relax.memory_plan_dynamic_func_output`, which is removed. Run it after CallTIRRewrite. With `pack`, all tensors of known size in a block of the
    function's body share one storage at different offsets, which is hardly larger than the live tensors.
    """
    return map_functions(mod, relax.Function, lambda function: _plan(function, mod, pack))


def _plan(function: relax.Function, mod: IRModule, pack: bool) -> relax.Function:
    found = find_tensors(function, mod)
    tensors = {call: tensor for call, tensor in found.items() if not tensor.escapes}
    places = _packed(function.body, tensors) if pack else {}
    planner = _Planner({call: tensor for call, tensor in tensors.items() if call not in places})
    planner.sequence(function.body)
    places |= {call: (storage, 0) for call, storage in planner.storages.items()}
    if function.attrs.get(DYNAMIC_OUTPUT):
        places |= {call: slot for call, tensor in found.items() if (slot := _of_its_own(call, tensor)) is not None}
        attrs = {name: value for name, value in function.attrs.items() if name != DYNAMIC_OUTPUT}
        function = replace(function, attrs=attrs)
    return _StorageAssigner(function, places).function(function) if places else function


def _of_its_own(call: relax.Call, tensor: Tensor) -> StorageSlot | None:
    """Return a storage for a tensor that is not planned; None for a planned one, and for a tensor of known size."""
    info = call.struct_info
    dims = dims_of(info) if isinstance(info, relax.TensorStructInfo) else None
    if not tensor.escapes or dims is None or all(d.value_of(dim) is not None for dim in dims):
        return None
    return _Storage(tensor.written_size, tensor.dtype, tensor.scope), 0


class _Storage(Struct, eq=False):
    """Storage of `size` bytes, and its variable once it is allocated."""

    size: tir.PrimExpr
    dtype: str
    scope: str
    var: relax.Var | None = None


StorageSlot: TypeAlias = tuple[_Storage, int]
"""Storage, and the offset of a tensor in it, in bytes."""


class _Planner:
    """Assigns storages to tensors in execution order (TVM: `StorageAllocator`)."""

    def __init__(self, tensors: Mapping[relax.Call, Tensor]) -> None:
        self.storages: dict[relax.Call, _Storage] = {}
        self._tensors = tensors
        self._free: list[_Storage] = []

    def sequence(self, body: relax.SeqExpr) -> None:
        """Plan a body. Free storages that it uses are free again after it; its own ones are not visible outside."""
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
        """Return a storage for a tensor: the smallest free one that fits, or the largest one enlarged, or a new one."""
        found = self._choose(tensor) if tensor.last_use is not None else None
        if found is None:
            return _Storage(tensor.size, tensor.dtype, tensor.scope)
        self._free.remove(found)
        if isinstance(found.size, tir.IntImm) and isinstance(tensor.size, tir.IntImm):
            found.size = d.dim(max(found.size.value, tensor.size.value))
        return found

    def _choose(self, tensor: Tensor) -> _Storage | None:
        alike = [storage for storage in self._free if (storage.dtype, storage.scope) == (tensor.dtype, tensor.scope)]
        size = d.value_of(tensor.size)
        if size is None:
            return next((storage for storage in alike if d.is_equal(storage.size, tensor.size)), None)
        known = [(known, storage) for storage in alike if (known := d.value_of(storage.size)) is not None]
        larger = [pair for pair in known if size <= pair[0] <= size * _RANGE]
        smaller = [pair for pair in reversed(known) if size // _RANGE <= pair[0] < size]
        return _first(min(larger, key=_first_of, default=None) or max(smaller, key=_first_of, default=None))


def _first_of(pair: tuple[int, _Storage]) -> int:
    return pair[0]


def _first(pair: tuple[int, _Storage] | None) -> _Storage | None:
    return None if pair is None else pair[1]


def _packed(body: relax.SeqExpr, tensors: Mapping[relax.Call, Tensor]) -> dict[relax.Call, StorageSlot]:
    """Return a storage and offset for each tensor of known size in a block of `body`.

    Large tensors are placed first, each at the lowest offset that is free during its lifetime.
    """
    places: dict[relax.Call, StorageSlot] = {}
    for block in body.blocks:
        position = {binding: number for number, binding in enumerate(block.bindings)}
        lives: dict[str, list[_Life]] = {}
        for binding, start in position.items():
            tensor = tensors.get(binding.value) if isinstance(binding.value, relax.Call) else None
            size = None if tensor is None else d.value_of(tensor.size)
            if isinstance(binding.value, relax.Call) and tensor is not None and size is not None:
                end = start if tensor.last_use is None else position[tensor.last_use]
                lives.setdefault(tensor.scope, []).append(_Life(binding.value, size, start, end))
        for scope, alive in lives.items():
            storage = _Storage(d.dim(0), "uint8", scope)
            for life in sorted(alive, key=lambda entry: (-entry.size, entry.start)):
                life.offset = _lowest(life, [other for other in alive if other.offset is not None])
                places[life.call] = storage, life.offset
            storage.size = d.dim(max(item.size + (item.offset or 0) for item in alive))
    return places


class _Life(Struct, eq=False):
    """Lifetime of a tensor of `size` bytes, from binding `start` to binding `end`."""

    call: relax.Call
    size: int
    start: int
    end: int
    offset: int | None = None


def _lowest(life: _Life, placed: Sequence[_Life]) -> int:
    """Return the lowest offset at which a tensor does not overlap others that are alive at the same time."""
    meeting = [other for other in placed if other.start <= life.end and life.start <= other.end]
    offset = 0
    for low, size in sorted((item.offset or 0, item.size) for item in meeting):
        if offset + life.size <= low:
            break
        offset = max(offset, -(-(low + size) // _ALIGNMENT) * _ALIGNMENT)
    return offset


class _StorageAssigner(ValueRewriter):
    def __init__(self, function: relax.Function, places: Mapping[relax.Call, StorageSlot]) -> None:
        super().__init__(function)
        self._places = places

    def value(self, binding: relax.Binding) -> relax.Expr:
        call = binding.value
        if not (isinstance(call, relax.Call) and call in self._places):
            return call
        shape, dtype, device, scope = call.args
        storage, offset = self._places[call]
        if storage.var is None:
            size = relax.ShapeExpr((storage.size,))
            memory = (size, device, scope, relax.DataTypeImm(storage.dtype))
            storage.var = self.emit(relax.Call(Op("relax.memory.alloc_storage"), memory), "storage")
        args = (storage.var, relax.PrimValue(d.dim(offset)), shape, dtype)
        return relax.Call(Op("relax.memory.alloc_tensor"), args, span=call.span)
