"""Classify loop functions by how their outputs depend on their inputs (TVM: `AnnotateTIROpPattern`).

The kinds are TVM's `OpPatternKind`: a function of a lower kind is easier to fuse with others.
"""

from __future__ import annotations

from enum import IntEnum

from msgspec.structs import replace

from .. import tir
from ..base import IRModule
from ..deep import deep
from ..equal import structural_equal
from ..idioms import without_casts
from ..visit import walk
from .transform import declare_pass, map_functions

OP_PATTERN = "op_pattern"
"""Attribute of a function with its kind, as a number."""


class OpPatternKind(IntEnum):
    """Kind of dependence of the output of a function on its inputs."""

    ELEMWISE = 0
    """Each element depends on elements with the same index."""
    BROADCAST = 1
    """Each element depends on elements with the same index, without some of the axes."""
    INJECTIVE = 2
    """The index of each element determines those of its inputs: transposes, reshapes, slices."""
    COMM_REDUCE = 3
    """A reduction over whole axes."""
    OUT_ELEMWISE_FUSABLE = 4
    """A heavy operator whose output can be fused with elementwise functions: products, convolutions, softmax."""
    TUPLE = 7
    OPAQUE = 8
    """An operator that must not be fused."""


@declare_pass("AnnotateTIROpPattern")
@deep
def annotate_op_pattern(mod: IRModule) -> IRModule:
    """Set the attribute `op_pattern` of each loop function that has none."""
    return map_functions(mod, tir.PrimFunc, _annotate)


def _annotate(function: tir.PrimFunc) -> tir.PrimFunc:
    if OP_PATTERN in function.attrs:
        return function
    return replace(function, attrs={**function.attrs, OP_PATTERN: int(find_op_pattern(function))})


def find_op_pattern(function: tir.PrimFunc) -> OpPatternKind:
    """Return the kind of a loop function; OPAQUE if it does not consist of blocks with one store each."""
    analysis = _Analysis(set(function.buffer_map.values()))
    for node in walk(function.body):
        if isinstance(node, tir.Block) and node.name_hint != "root":
            analysis.add(node)
    return analysis.kind if analysis.blocks else OpPatternKind.OPAQUE


class _Analysis:
    """Classifies the blocks of a function in their order."""

    def __init__(self, outside: set[tir.Buffer]) -> None:
        self.kind, self.blocks = OpPatternKind.ELEMWISE, 0
        self._outside = outside

    def add(self, block: tir.Block) -> None:
        """Record a block."""
        self.blocks += 1
        stores = [node for node in walk(block.body) if isinstance(node, tir.BufferStore)]
        if len(stores) > 1 and _reduces_to_several_values(block, stores):
            self.kind = max(self.kind, OpPatternKind.COMM_REDUCE)
            return
        if len(stores) != 1 or any(isinstance(node, tir.Block) for node in walk(block.body)):
            self.kind = OpPatternKind.OPAQUE
            return
        store = stores[0]
        loads = [node for node in walk(block.body) if isinstance(node, tir.BufferLoad)]
        is_output = any(region.buffer in self._outside for region in block.writes)
        pattern = _index_pattern(store, loads)
        if pattern is OpPatternKind.OPAQUE:
            pattern = _reduction_pattern(block, store, loads)
            self.kind = pattern if pattern is OpPatternKind.OPAQUE else max(self.kind, pattern)
        elif is_output and self.kind is OpPatternKind.COMM_REDUCE:
            self.kind = OpPatternKind.OUT_ELEMWISE_FUSABLE  # a reduction whose result is used: softmax
        else:
            self.kind = max(self.kind, pattern)


def _index_pattern(store: tir.BufferStore, loads: list[tir.BufferLoad]) -> OpPatternKind:
    """Return how the indices of loads depend on those of the store."""
    kinds = [_load_pattern(store, load) for load in loads]
    worst = max(kinds, default=OpPatternKind.ELEMWISE)
    return min(kinds) if worst is OpPatternKind.BROADCAST and OpPatternKind.ELEMWISE in kinds else worst


def _load_pattern(store: tir.BufferStore, load: tir.BufferLoad) -> OpPatternKind:
    if structural_equal(store.indices, load.indices):
        return OpPatternKind.ELEMWISE
    if _is_broadcast(store, load):
        return OpPatternKind.BROADCAST
    variables = {index for index in store.indices if isinstance(index, tir.Var)}
    used = {node for index in load.indices for node in walk(index) if isinstance(node, tir.Var)}
    is_injective = len(variables) == len(store.indices) and used <= variables
    return OpPatternKind.INJECTIVE if is_injective else OpPatternKind.OPAQUE


def _is_broadcast(store: tir.BufferStore, load: tir.BufferLoad) -> bool:
    """Return whether the indices of the load are a subsequence of those of the store, ignoring axes of extent 1."""
    rest = iter(store.indices)
    for size, index in zip(load.buffer.shape, load.indices, strict=True):
        if _is_int(size, 1) and _is_int(index, 0):
            continue
        if not any(structural_equal(index, own) for own in rest):
            return False
    return True


def _is_int(expr: tir.PrimExpr, value: int) -> bool:
    return isinstance(expr, tir.IntImm) and expr.value == value


def _reduction_pattern(block: tir.Block, store: tir.BufferStore, loads: list[tir.BufferLoad]) -> OpPatternKind:
    reduced = {axis.var for axis in block.iter_vars if axis.iter_type is tir.IterVarType.COMM_REDUCE}
    if not reduced:
        return OpPatternKind.OPAQUE
    if _is_multiply_add(store) or not all(_reduces_whole_axes(load, reduced) for load in loads):
        return OpPatternKind.OUT_ELEMWISE_FUSABLE
    return OpPatternKind.COMM_REDUCE


def _reduces_to_several_values(block: tir.Block, stores: list[tir.BufferStore]) -> bool:
    """Return whether a block reduces whole axes to several values, whose elements are stored at the same indices."""
    reduced = {axis.var for axis in block.iter_vars if axis.iter_type is tir.IterVarType.COMM_REDUCE}
    nodes = list(walk(block.body))
    loads = [node for node in nodes if isinstance(node, tir.BufferLoad)]
    return (
        bool(reduced)
        and block.init is not None
        and not any(isinstance(node, tir.Block | tir.For | tir.IfThenElse | tir.While) for node in nodes)
        and all(structural_equal(store.indices, stores[0].indices) for store in stores)
        and all(_reduces_whole_axes(load, reduced) for load in loads)
    )


def _reduces_whole_axes(load: tir.BufferLoad, reduced: set[tir.Var]) -> bool:
    """Return whether every index that contains a reduction variable is that variable, unlike in pooling."""
    return all(index in reduced or not any(node in reduced for node in walk(index)) for index in load.indices)


def _is_multiply_add(store: tir.BufferStore) -> bool:
    """Return whether it is `C[…] = C[…] + A[…] * B[…]` with both factors used for several elements."""
    total = without_casts(store.value)
    product = without_casts(total.b) if isinstance(total, tir.Add) else None
    if not isinstance(total, tir.Add) or not isinstance(product, tir.Mul):
        return False
    before, lhs, rhs = map(without_casts, (total.a, product.a, product.b))
    if not (isinstance(before, tir.BufferLoad) and before.buffer is store.buffer):
        return False
    is_same = structural_equal(before.indices, store.indices)
    return is_same and all(isinstance(side, tir.BufferLoad) and _is_reused(store, side) for side in (lhs, rhs))


def _is_reused(store: tir.BufferStore, load: tir.BufferLoad) -> bool:
    """Return whether some variable of the store's indices does not occur in the load's."""
    used = {node for index in load.indices for node in walk(index) if isinstance(node, tir.Var)}
    return any(isinstance(index, tir.Var) and index not in used for index in store.indices)
