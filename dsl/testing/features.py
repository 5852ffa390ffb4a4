"""Features of loop-level functions: a table with the test that recognizes each feature and the stages of the generator
that make it. Strategies take these names in `features=` and `without=`, and runs count them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import repeat
from typing import Any

from msgspec import Struct, field

from ...ir import tir
from ...ir.base import Node, Op
from ...ir.equal import structural_equal
from ...ir.schedule.tree import walk_statements
from ...ir.visit import walk

_KINDS = tir.IterVarType
FUNCTIONS = ("exp", "log", "sqrt", "tanh", "pow", "sigmoid", "sin")
"""Functions of floats that generated values use."""
LARGE = 2**31 - 1
LONG = 32
"""Extent above which a loop leaves a tail after whole vectors."""


class Around(Struct):
    """Context of a node: the function, its loops, and the blocks that contain it."""

    loops: set[tir.Var] = field(default_factory=set[tir.Var])
    parameters: set[tir.Buffer] = field(default_factory=set[tir.Buffer])
    pointers: dict[tir.Var, set[tir.Buffer]] = field(default_factory=dict[tir.Var, set[tir.Buffer]])
    scalars: set[tir.Var] = field(default_factory=set[tir.Var])
    stored: dict[tir.Var, set[tir.Buffer]] = field(default_factory=dict[tir.Var, set[tir.Buffer]])
    """Buffers by which memory is written."""
    shared: set[tir.Buffer] = field(default_factory=set[tir.Buffer])
    """Buffers that several blocks write."""
    rewritten: set[tir.Buffer] = field(default_factory=set[tir.Buffer])
    """Buffers that a block writes after another one has read them."""


class Feature(Struct, frozen=True):
    """A feature: a predicate over nodes of some kinds, and a description."""

    kind: type[Node] | tuple[type[Node], ...]
    holds: Callable[[Any, Around], bool]
    doc: str
    stages: tuple[str, ...] = ()
    """Stages that can have the feature; if empty, every stage with loops can."""
    blocks: int = 1
    """Minimum number of blocks."""


def _is_zero(expr: tir.PrimExpr | None) -> bool:
    return expr is None or (isinstance(expr, tir.IntImm) and expr.value == 0)


def _is_size(expr: tir.PrimExpr, wanted: Callable[[int], bool]) -> bool:
    return isinstance(expr, tir.IntImm) and wanted(expr.value)


def _uses_loop(expr: tir.PrimExpr, around: Around) -> bool:
    return any(node in around.loops for node in walk(expr))


def _parts(condition: tir.PrimExpr) -> Iterator[tir.PrimExpr]:
    """Yield the operands of a conjunction."""
    if isinstance(condition, tir.And):
        yield from _parts(condition.a)
        yield from _parts(condition.b)
    else:
        yield condition


def _bounds(realize: tir.BlockRealize, upper: bool) -> bool:
    above, below = (tir.LT, tir.LE), (tir.GT, tir.GE)
    for part in _parts(realize.predicate):
        if isinstance(part, (*above, *below)):
            is_mirrored = isinstance(part.a, tir.IntImm)
            if (isinstance(part, above) != is_mirrored) == upper:
                return True
    return False


def _has_axis(kind: tir.IterVarType) -> Callable[[tir.Block, Around], bool]:
    return lambda block, _: any(axis.iter_type is kind for axis in block.iter_vars)


def _has_late_axis(block: tir.Block, _: Around) -> bool:
    return any(axis.dom is not None and not _is_zero(axis.dom.min) for axis in block.iter_vars)


def has_block(stmt: Node | None) -> bool:
    """Return whether a statement contains a block."""
    return isinstance(stmt, tir.Stmt) and any(isinstance(node, tir.BlockRealize) for node in walk_statements(stmt))


def _is_special(value: tir.FloatImm, _: Around) -> bool:
    return not math.isfinite(value.value)


def _in_reductions(block: tir.Block, _: Around) -> bool:
    is_reduction = any(axis.iter_type is _KINDS.COMM_REDUCE for axis in block.iter_vars)
    return is_reduction and any(isinstance(node, tir.LetStmt) for node in walk(block.body))


def _keeps_first(block: tir.Block, _: Around) -> bool:
    return block.init is not None and any(
        isinstance(node, tir.LetStmt) and isinstance(node.value, tir.Select) and isinstance(node.value.condition, tir.GE | tir.LE)
        for node in walk(block.body)
    )  # fmt: skip


def _own_reads(block: tir.Block) -> Iterator[tuple[tir.BufferLoad, tir.BufferStore]]:
    """Yield each pair of a load and a store of one buffer in the body of a block, without its T.init."""
    if block.name_hint == "root" or has_block(block.body):
        return
    stores = [node for node in walk(block.body) if isinstance(node, tir.BufferStore) and node.buffer not in block.alloc_buffers]  # fmt: skip
    loads = [node for node in walk(block.body) if isinstance(node, tir.BufferLoad)]
    yield from ((load, store) for store in stores for load in loads if load.buffer is store.buffer)


def _has_other_name(access: tir.BufferLoad | tir.BufferStore, around: Around) -> bool:
    return bool(around.stored.get(access.buffer.data, set()) - {access.buffer})


def _is_moved(block: tir.Block, _: Around) -> bool:
    return any(not _are_same(load.indices, store.indices) for load, store in _own_reads(block))


def _are_same(some: Iterable[tir.PrimExpr], others: Iterable[tir.PrimExpr]) -> bool:
    return all(structural_equal(a, b, map_free_vars=False) for a, b in zip(some, others, strict=False))


def _is_in_place(block: tir.Block, _: Around) -> bool:
    is_free = all(axis.iter_type is _KINDS.DATA_PAR for axis in block.iter_vars)
    return is_free and any(_are_same(load.indices, store.indices) for load, store in _own_reads(block))


def _touches(block: tir.Block, buffers: set[tir.Buffer]) -> bool:
    return bool(buffers) and any(region.buffer in buffers for region in (*block.reads, *block.writes))


def _is_scalar(*prefix: str) -> Callable[[tir.Var, Around], bool]:
    return lambda variable, around: variable in around.scalars and variable.dtype.startswith(prefix)


def _calls(*names: str) -> Callable[[tir.Call, Around], bool]:
    wanted = {f"tir.{name}" for name in names}
    return lambda call, _: isinstance(call.op, Op) and call.op.name in wanted


def _has_gather(access: tir.BufferLoad | tir.BufferStore, _: Around) -> bool:
    return any(isinstance(node, tir.BufferLoad) for index in access.indices for node in walk(index))


def _is_repeated(loop: tir.For, _: Around) -> bool:
    is_single = isinstance(loop.extent, tir.IntImm) and loop.extent.value == 1
    return not is_single and has_block(loop.body) and all(node is not loop.loop_var for node in walk(loop.body))


def _is_part(region: tir.BufferRegion, block: tir.Block) -> bool:
    """Return whether an index of a region is an axis plus a constant and does not cover the whole dimension."""
    axes = {axis.var: axis.dom for axis in block.iter_vars if axis.dom is not None}
    for range, size in zip(region.region, region.buffer.shape, strict=True):
        index, start = range.min, 0
        if isinstance(index, tir.Add | tir.Sub) and isinstance(index.b, tir.IntImm):
            index, start = index.a, index.b.value if isinstance(index, tir.Add) else -index.b.value
        domain = axes.get(index) if isinstance(index, tir.Var) else None
        if domain is None or not isinstance(domain.min, tir.IntImm) or not isinstance(size, tir.IntImm):
            continue
        if isinstance(domain.extent, tir.IntImm) and domain.extent.value < size.value - max(
            start + domain.min.value, 0
        ):
            return True
        if start + domain.min.value > 0:
            return True
    return False


_COMPUTED = (tir.FloorDiv, tir.FloorMod, tir.Div, tir.Mod, tir.Mul, tir.Min, tir.Max, tir.Select)


def _is_computed(access: tir.BufferLoad | tir.BufferStore, _: Around) -> bool:
    return any(
        isinstance(node, _COMPUTED) or (isinstance(node, tir.Sub) and not isinstance(node.b, tir.IntImm))
        for index in access.indices
        for node in walk(index)
    )


def _is_parameter(holds: Callable[[tir.Buffer], bool]) -> Callable[[tir.Buffer, Around], bool]:
    return lambda buffer, around: buffer in around.parameters and holds(buffer)


_LOOPED = ("elementwise", "reduction", "update")
_PLAIN = ("elementwise", "reduction")
_LONG = ("elementwise",)
_LET = ("elementwise", "reduction")
FEATURES: Mapping[str, Feature] = {
    # --- Loops
    "late loop": Feature(tir.For, lambda n, _: not _is_zero(n.min), "a loop that does not start at 0", _LOOPED),
    "extent 0": Feature(tir.For, lambda n, _: _is_size(n.extent, lambda v: v == 0), "a loop without iterations", _PLAIN),
    "extent 1": Feature(tir.For, lambda n, _: _is_size(n.extent, lambda v: v == 1), "a loop with one iteration", _LOOPED),
    "long loop": Feature(tir.For, lambda n, _: _is_size(n.extent, lambda v: v > LONG), "more than 32 iterations", _LONG),
    "computed extent": Feature(tir.For, lambda n, a: _uses_loop(n.extent, a), "an extent made of another loop's variable", _LOOPED),
    "symbolic extent": Feature(tir.For, lambda n, a: not isinstance(n.extent, tir.IntImm) and not _uses_loop(n.extent, a), "an extent known at the call", _LOOPED),
    "loop annotation": Feature(tir.For, lambda n, _: any(not key.startswith("software_pipeline") for key in n.annotations), "`annotations=` of a loop", _LOOPED),
    "repeated loop": Feature(tir.For, _is_repeated, "a loop whose variable nothing uses", _LONG),
    "shared loop": Feature(tir.For, lambda n, _: isinstance(n.body, tir.SeqStmt) and sum(map(has_block, n.body.seq)) > 1, "a loop around several blocks", ("together", "tiled", "pipelined"), 2),
    "software pipeline": Feature(tir.For, lambda n, _: "software_pipeline_stage" in n.annotations, "a loop that is annotated as a software pipeline", ("pipelined", "together"), 2),
    "parallel loop": Feature(tir.For, lambda n, _: n.kind is tir.ForKind.PARALLEL, "`T.parallel`", _LONG),
    "unrolled loop": Feature(tir.For, lambda n, _: n.kind is tir.ForKind.UNROLLED, "`T.unroll`", _LONG),
    "vectorized loop": Feature(tir.For, lambda n, _: n.kind is tir.ForKind.VECTORIZED, "`T.vectorized`", _LONG),
    "thread loop": Feature(tir.For, lambda n, _: n.kind is tir.ForKind.THREAD_BINDING, "`T.thread_binding`", _LONG),
    # --- Where a block runs
    "upper bound": Feature(tir.BlockRealize, lambda n, _: _bounds(n, True), "`T.where(… < n)`", _LOOPED),
    "lower bound": Feature(tir.BlockRealize, lambda n, _: _bounds(n, False), "`T.where(n <= …)`", _LOOPED),
    "equality": Feature(tir.BlockRealize, lambda n, _: any(isinstance(part, tir.EQ) for part in _parts(n.predicate)), "`T.where(… == n)`", _LOOPED),
    "conjunction": Feature(tir.BlockRealize, lambda n, _: isinstance(n.predicate, tir.And), "`T.where(… and …)`", _LOOPED),
    "condition": Feature(tir.IfThenElse, lambda n, _: has_block(n.then_case), "an `if` around a block", _LONG),
    "split axis": Feature(tir.BlockRealize, lambda n, a: any(len({v for v in walk(iter_value) if v in a.loops}) > 1 for iter_value in n.iter_values), "an axis bound to two loops, `i_0 * 4 + i_1`", _LOOPED),
    "fused axis": Feature(tir.BlockRealize, lambda n, _: any(isinstance(v, tir.FloorDiv | tir.FloorMod) for iter_value in n.iter_values for v in walk(iter_value)), "an axis bound to a quotient or remainder", _LONG),
    # --- Blocks
    "late axis": Feature(tir.Block, _has_late_axis, "an axis whose domain does not start at 0", _LOOPED),
    "opaque axis": Feature(tir.Block, _has_axis(_KINDS.OPAQUE), "`T.axis.opaque`", _LONG),
    "scan": Feature(tir.Block, _has_axis(_KINDS.ORDERED), "`T.axis.scan`", ("scan", "wavefront")),
    "reduction": Feature(tir.Block, _has_axis(_KINDS.COMM_REDUCE), "`T.axis.reduce`", ("reduction", "matmul", "triangle")),
    "no init": Feature(tir.Block, lambda n, a: _has_axis(_KINDS.COMM_REDUCE)(n, a) and n.init is None, "a reduction without `T.init`", ("reduction",), 2),
    "init of several": Feature(tir.Block, lambda n, _: isinstance(n.init, tir.SeqStmt), "a `T.init` of several stores", ("reduction",)),
    "first extremum": Feature(tir.Block, _keeps_first, "the place of the first of equal extrema, as in an argmax", ("argmax",)),
    "outputs": Feature(tir.Block, lambda n, _: len({output.buffer for output in n.writes}) > 1, "a block that writes several buffers", ("reduction", "formulas")),
    "nested blocks": Feature(tir.Block, lambda n, _: n.name_hint != "root" and has_block(n.body), "blocks in a block", ("nested",), 2),
    "own memory": Feature(tir.Block, lambda n, _: n.name_hint != "root" and bool(n.alloc_buffers), "`T.alloc_buffer` in a block", ("staged",)),
    "block annotation": Feature(tir.Block, lambda n, _: bool(n.annotations), "`T.block_attr`", _LOOPED),
    "matched region": Feature(tir.MatchBufferRegion, lambda n, _: True, "`T.match_buffer` of a region", ("staged",)),
    "matched matrix": Feature(tir.MatchBufferRegion, lambda n, _: len(n.buffer.shape) > 1, "a matched region of several dimensions", ("staged",)),
    "matched strides": Feature(tir.MatchBufferRegion, lambda n, _: bool(n.buffer.strides), "a matched region with strides", ("staged",)),
    "matched source": Feature(tir.Block, lambda n, _: any(match_buffer.source.buffer not in {write.buffer for write in n.writes} for match_buffer in n.match_buffers), "a matched region that is only read", ("staged",)),
    "part": Feature(tir.Block, lambda n, _: any(map(_is_part, n.writes, repeat(n))), "a block that writes a part of a buffer", ("elementwise",)),
    "dependence": Feature(tir.Block, _is_moved, "a block that reads other elements of what it writes, as `B[i - 1, j + 1]`", ("scan", "wavefront")),
    "in place": Feature(tir.Block, _is_in_place, "an update in place", ("update",)),
    "several writers": Feature(tir.Block, lambda n, a: _touches(n, a.shared), "a buffer that several blocks write", ("reduction",), 2),
    "rewritten": Feature(tir.Block, lambda n, a: _touches(n, a.rewritten), "a buffer that is read, and then written again", ("rewritten",), 2),
    # --- Other statements
    "branch": Feature(tir.IfThenElse, lambda n, _: not has_block(n), "an `if` inside a block", ("elementwise", "formulas", "guarded")),
    "variables": Feature(tir.LetStmt, lambda n, _: True, "a variable, `t: T.int32 = …`", _LET),
    "assertion": Feature(tir.AssertStmt, lambda n, _: True, "`assert`", ("elementwise", "formulas")),
    "while": Feature(tir.While, lambda n, _: True, "`while`", ("counted",)),
    "vector": Feature((tir.Ramp, tir.Broadcast), lambda n, _: True, "`T.Ramp` and `T.Broadcast`", ("counted",)),
    # --- Buffers and parameters
    "view": Feature(tir.Buffer, lambda n, a: len(a.pointers.get(n.data, ())) > 1, "two buffers of one memory, `T.decl_buffer(data=…)`", _LONG),
    "two names": Feature((tir.BufferLoad, tir.BufferStore), _has_other_name, "an access to memory that is written by another buffer", ("scan", "wavefront")),
    "strides": Feature(tir.Buffer, _is_parameter(lambda n: bool(n.strides)), "a parameter with `strides=`", _PLAIN),
    "offset": Feature(tir.Buffer, _is_parameter(lambda n: not _is_zero(n.elem_offset)), "a parameter with `elem_offset=`", _PLAIN),
    "rank 0": Feature(tir.Buffer, lambda n, _: not n.shape, "a buffer of one element, without indices", _LONG),
    "rank 4": Feature(tir.Buffer, lambda n, _: len(n.shape) > 3, "a buffer of four dimensions", _LONG),
    "scope": Feature(tir.Buffer, lambda n, _: n.scope != "global", "memory of another scope than `global`", ("staged",)),
    "integer scalar": Feature(tir.Var, _is_scalar("int", "uint"), "an integer parameter", _LONG),
    "float scalar": Feature(tir.Var, _is_scalar("float", "bfloat"), "a float parameter", _LONG),
    # --- Values
    "special constant": Feature(tir.FloatImm, _is_special, "an infinity or NaN", _LONG),
    "large integer": Feature(tir.IntImm, lambda n, _: abs(n.value) >= LARGE, "an integer of at least 2**31 - 1", _LONG),
    "function": Feature(tir.Call, _calls(*FUNCTIONS), "`T.exp`, `T.log`, `T.sqrt`, `T.pow`, `T.tanh`, …", _LONG),
    "shift": Feature(tir.Call, _calls("shift_left", "shift_right"), "`<<` and `>>`", _LONG),
    "let": Feature(tir.Let, lambda n, _: True, "`T.Let` in an expression", _LONG),
    "let in reduction": Feature(tir.Block, _in_reductions, "a variable in a reduction", ("reduction",)),
    "computed index": Feature((tir.BufferLoad, tir.BufferStore), _is_computed, "an index with a quotient, remainder, product or extremum, or a mirrored one", _LONG),
    "divisor": Feature((tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod), lambda n, _: isinstance(n.b, tir.BufferLoad), "a division by an element of memory", ("quotients",), 2),
    "gather": Feature((tir.BufferLoad, tir.BufferStore), _has_gather, "an index that is read from memory", _LONG),
}  # fmt: skip
"""Features by the names that strategies, matrices and statistics use."""


@cache
def _rows(kind: type[Node]) -> tuple[tuple[str, Feature], ...]:
    return tuple([(name, row) for name, row in FEATURES.items() if issubclass(kind, row.kind)])


def features_of(function: tir.PrimFunc) -> frozenset[str]:
    """Return the names of the features that a function has."""
    nodes = list(walk(function))
    return features_among(nodes, around(function, nodes))


def around(function: tir.PrimFunc, nodes: Iterable[Node]) -> Around:
    """Return the context of the nodes of a function."""
    scalars = {param for param in function.params if param not in function.buffer_map}
    found = Around(parameters=set(function.buffer_map.values()), scalars=scalars)
    written, read = set[tir.Buffer](), set[tir.Buffer]()
    for node in nodes:
        if isinstance(node, tir.For):
            found.loops.add(node.loop_var)
        elif isinstance(node, tir.Buffer):
            found.pointers.setdefault(node.data, set()).add(node)
        elif isinstance(node, tir.BufferStore):
            found.stored.setdefault(node.buffer.data, set()).add(node.buffer)
        elif isinstance(node, tir.Block) and node.writes and not has_block(node.body):
            own = {region.buffer for region in node.writes}
            found.shared |= own & written
            found.rewritten |= own & read
            written |= own
            read.update(region.buffer for region in node.reads)
    return found


def features_among(nodes: Iterable[Node], around: Around) -> frozenset[str]:
    """Return the names of the features that nodes have."""
    found: set[str] = set()
    for node in nodes:
        for name, row in _rows(type(node)):
            if name not in found and row.holds(node, around):
                found.add(name)
    return frozenset(found)
