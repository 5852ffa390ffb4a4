"""`pad_einsum`: pad a sum of products to whole tiles."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from msgspec.structs import replace

from ... import make, tir
from ...analysis.proof import prove
from ...base import Node
from ...buffers import buffers_of
from ...dtype import is_int
from ...equal import structural_equal
from ...idioms import is_one
from ...simplify import simplify
from ...visit import walk
from ..analysis.bindings import domains_of
from ..analysis.blocks import COMM_REDUCE, DATA_PAR
from ..analysis.caching import Spot, allocate, insert
from ..analysis.loops import ALONE, outermost_loop
from ..analysis.pipeline import check_stage_pipeline
from ..analysis.reindexing import ONE_POINT, access_indices, check_covers, check_runs, renamed_buffer
from ..analysis.removal import OPAQUE
from ..analysis.scope import scope_root
from ..analysis.written import ALL_WRITTEN, FRESH, check_starts_anew, surely_stores
from ..arguments import Block, Integers
from ..conditions import AFFINE, ARGUMENT, NOT_ROOT, STAGE_PIPELINE, Condition, name_of
from ..declaration import primitive
from ..program import Program
from .transform_block_layout import BOUND_TO_LOOPS

EINSUM = Condition(
    "E0565",
    "the block writes one buffer and reads others, and each index is an iterator over the whole dimension",
    "move other computations to separate blocks",
)
ADDS_NOTHING = Condition(
    "E0566",
    "padded iterations do not change the result: zeros do not contribute to reductions, and are not divisors",
    "pad only spatial iterators, or reduce products of padded operands",
)
_Padded = Mapping[tir.Var, tir.PrimExpr]


@primitive(
    requires=(
        NOT_ROOT,
        STAGE_PIPELINE,
        EINSUM,
        ONE_POINT,
        OPAQUE,
        ALONE,
        BOUND_TO_LOOPS,
        ADDS_NOTHING,
        FRESH,
        AFFINE,
        ALL_WRITTEN,
    ),
    results=(),
)
def pad_einsum(program: Program, block: Block, padding: Integers) -> None:
    """Pad the extents of the iterators of a sum of products, such as a matrix product, to multiples of `padding`, which
    has one number for each iterator. Inputs are copied to buffers padded with zeros; the unpadded part of the output is
    copied back.

    Preserves: what every block computes. Comments stay where they are.
    """
    scope = scope_root(program, block)
    check_stage_pipeline(program, scope)
    _check_padding(block, padding)
    padded = _padded_extents(block, padding)
    outermost = outermost_loop(program, block)
    _check_einsum(block, padded)
    _check_runs_for_all(program, block)
    check_runs(program, block, block.iter_vars)
    check_starts_anew(program, block, block.writes[0].buffer)
    check_covers(program, block)
    _check_loops(program, block, padded)
    _check_harmless(block, padded)
    copies = {
        access.buffer: _copy_of(access, padded) for access in (*block.reads, *block.writes) if _needs(access, padded)
    }
    _widen(program, outermost, padded, copies)
    for region in block.reads:
        if region.buffer in copies:
            spot = Spot(program.current(scope), before=_nest_of(program, block))
            new = copies[region.buffer]
            insert(program, spot, _copy(region.buffer, new, new.shape, new.name))
    for region in block.writes:
        if region.buffer in copies:
            spot = Spot(program.current(scope), after=_nest_of(program, block))
            new = copies[region.buffer]
            insert(program, spot, _copy(new, region.buffer, region.buffer.shape, new.name))
    for new in copies.values():
        allocate(program, program.current(scope), new)


def _nest_of(program: Program, block: tir.Block) -> tir.Stmt:
    return outermost_loop(program, program.current(block))


def _check_padding(block: tir.Block, padding: tuple[int, ...]) -> None:
    if len(padding) != len(block.iter_vars) or any(number < 1 for number in padding):
        reason = (
            f"expected {len(block.iter_vars)} positive sizes for the iterators of {name_of(block)}, got {list(padding)}"
        )
        raise ARGUMENT.refuse(reason, argument="padding", help="give a positive size for each iterator")


def _padded_extents(block: tir.Block, padding: tuple[int, ...]) -> dict[tir.Var, tir.PrimExpr]:
    """Return the new extents of the padded iterators."""
    found: dict[tir.Var, tir.PrimExpr] = {}
    for axis, unit in zip(block.iter_vars, padding, strict=True):
        assert axis.dom is not None
        extent = simplify(make.mul(make.ceildiv(axis.dom.extent, unit), unit))
        if not prove(make.equal(extent, axis.dom.extent)).is_proven:
            found[axis.var] = extent
    return found


def _check_einsum(block: tir.Block, padded: _Padded) -> None:
    """Refuse a block with indices other than one iterator for each dimension (E0552, E0562, E0565)."""
    written = [region.buffer for region in block.writes]
    if len(written) != 1 or any(region.buffer in written for region in block.reads):
        raise EINSUM.refuse(f"{name_of(block)} does not write exactly one buffer, or also reads it", block)
    if not surely_stores(block.body, written[0]):
        raise ALL_WRITTEN.refuse(f"{name_of(block)} may leave elements of '{written[0].name}' unwritten", block)
    declared = {region.buffer for region in (*block.reads, *block.writes)}
    hidden = next((other for other in buffers_of(block) if other not in declared), None)
    if hidden is not None:
        raise EINSUM.refuse(f"{name_of(block)} does not declare its accesses to '{hidden.name}'", block)
    domains = {axis.var: axis.dom for axis in block.iter_vars if axis.dom is not None}
    for region in (*block.reads, *block.writes):
        buffer = region.buffer
        indices = access_indices(block, buffer)
        if not all(structural_equal(axis.min, index) for axis, index in zip(region.region, indices, strict=True)):
            raise EINSUM.refuse(f"{name_of(block)} declares another region of '{buffer.name}' than it accesses", block)
        for index, size in zip(indices, buffer.shape, strict=True):
            dom = domains.get(index) if isinstance(index, tir.Var) else None
            fits = make.equal(dom.extent, size) if dom is not None else make.logical_and(make.equal(index, 0), make.equal(size, 1))  # fmt: skip
            if not prove(fits).is_proven:
                raise EINSUM.refuse(f"index {index} of '{buffer.name}' is not an iterator over {size}", block)
    units = {
        axis.var
        for axis in block.iter_vars
        if axis.dom is not None and is_one(axis.dom.extent) and axis.var not in padded
    }
    spatial = {axis.var for axis in block.iter_vars if axis.iter_type is DATA_PAR} - units
    used = {node for index in access_indices(block, written[0]) for node in walk(index)}
    others = [axis for axis in block.iter_vars if axis.iter_type not in (DATA_PAR, COMM_REDUCE)]
    if others or not spatial <= used:
        raise EINSUM.refuse(
            f"{name_of(block)} has iterators that are neither in the index of its output nor reductions", block
        )


def _check_runs_for_all(program: Program, block: tir.Block) -> None:
    """Refuse a block with a predicate, as the elements that it does not write would be copied back (E0552)."""
    domains = domains_of(program.loops_of(block))
    predicate = program.realize_of(block).predicate
    if not prove(predicate, domains).is_proven:
        reason = f"{name_of(block)} may leave elements unwritten: it executes only if {predicate}"
        raise ALL_WRITTEN.refuse(reason, block)


def _check_loops(program: Program, block: tir.Block, padded: _Padded) -> None:
    loops = {loop.loop_var: loop for loop in program.loops_of(block)}
    for axis, value in zip(block.iter_vars, program.realize_of(block).iter_values, strict=True):
        loop = loops.get(value) if isinstance(value, tir.Var) else None
        alone = sum(value is iter_value for iter_value in program.realize_of(block).iter_values) == 1
        if axis.var in padded and not (
            loop is not None
            and alone
            and axis.dom is not None
            and prove(make.equal(loop.extent, axis.dom.extent)).is_proven
        ):
            reason = f"iterator '{axis.var.name}' of {name_of(block)} is bound to {value}, not to a loop over its whole domain"
            raise BOUND_TO_LOOPS.refuse(reason, block)


def _check_harmless(block: tir.Block, padded: _Padded) -> None:
    """Refuse reductions that change if zeros are added, and integer divisions by zeros (E0566)."""
    for node in walk(block.body):
        divides = isinstance(node, tir.FloorDiv | tir.FloorMod | tir.Div | tir.Mod)
        if divides and is_int(node.dtype) and not isinstance(node.b, tir.IntImm):
            raise ADDS_NOTHING.refuse(f"{name_of(block)} divides by {node.b}, which may be a padded 0", block)
    for axis in block.iter_vars:
        if axis.iter_type is COMM_REDUCE and axis.var in padded and not _vanishes_where(block, axis.var):
            reason = f"zeros may change the reduction over '{axis.var.name}' in {name_of(block)}"
            raise ADDS_NOTHING.refuse(reason, block)


def _vanishes_where(block: tir.Block, axis: tir.Var) -> bool:
    """Return whether a block adds 0 to its output if all loads with `axis` as an index are 0: those of padded buffers."""
    store = block.body
    if not (isinstance(store, tir.BufferStore) and isinstance(store.value, tir.Add) and block.init is not None):
        return False
    terms = (store.value.a, store.value.b)
    rest = [term for term in terms if not (isinstance(term, tir.BufferLoad) and term.buffer is store.buffer)]
    return len(rest) == 1 and _vanishes(rest[0], axis)


def _vanishes(value: tir.PrimExpr, axis: tir.Var) -> bool:
    """Return whether a value is 0, and not infinity times 0, if all loads with `axis` as an index are 0."""
    match value:
        case tir.BufferLoad():
            return any(index is axis for index in value.indices)
        case tir.Cast():
            return _vanishes(value.value, axis)
        case tir.Add() | tir.Sub():
            return _vanishes(value.a, axis) and _vanishes(value.b, axis)
        case tir.Mul():
            zeros = [
                _vanishes(expr, axis) or isinstance(expr, tir.IntImm | tir.FloatImm) for expr in (value.a, value.b)
            ]
            either = _vanishes(value.a, axis) or _vanishes(value.b, axis)
            return either and (all(zeros) or is_int(value.dtype))
        case _:
            return False


def _needs(region: tir.BufferRegion, padded: _Padded) -> bool:
    return any(axis.min in padded for axis in region.region if isinstance(axis.min, tir.Var))


def _copy_of(region: tir.BufferRegion, padded: _Padded) -> tir.Buffer:
    buffer = region.buffer
    shape = [
        padded.get(axis.min, size) if isinstance(axis.min, tir.Var) else size
        for axis, size in zip(region.region, buffer.shape, strict=True)
    ]
    return renamed_buffer(buffer, f"{buffer.name}_pad", tuple(shape), buffer.scope)


def _widen(program: Program, nest: tir.Stmt, padded: _Padded, copies: Mapping[tir.Buffer, tir.Buffer]) -> None:
    """Extend the iterators and the loops that they are bound to, and let the block use the copies."""
    loops: dict[tir.Var, tir.PrimExpr] = {}
    for node in walk(nest):
        if isinstance(node, tir.BlockRealize):
            bound = zip(node.iter_values, node.block.iter_vars, strict=True)
            loops.update({value: padded[axis.var] for value, axis in bound if axis.var in padded and isinstance(value, tir.Var)})  # fmt: skip

    def wider(node: Node) -> Node | None:
        match node:
            case tir.IterVar() if node.var in padded and node.dom is not None:
                return replace(node, dom=replace(node.dom, extent=padded[node.var]))
            case tir.For() if node.loop_var in loops:
                return replace(node, extent=loops[node.loop_var])
            case tir.Buffer():
                return copies.get(node)
            case _:
                return None

    program.replace(nest, program.rewrite(nest, wider))


def _copy(source: tir.Buffer, target: tir.Buffer, shape: tuple[tir.PrimExpr, ...], name: str) -> tir.Stmt:
    """Return a nest over `shape` that copies a buffer to another one, with zeros beyond the end of the source."""
    loops = [tir.Var(size.dtype, f"i{at}") for at, size in enumerate(shape)]
    variables = tuple([tir.Var(size.dtype, f"v{at}") for at, size in enumerate(shape)])
    axes = [
        tir.IterVar(tir.Range(make.const(0, size.dtype), size), variable, DATA_PAR)
        for variable, size in zip(variables, shape, strict=True)
    ]
    inside = [
        make.less(variable, size)
        for variable, size, wanted in zip(variables, source.shape, shape, strict=True)
        if not prove(make.less_equal(wanted, size)).is_proven
    ]
    value: tir.PrimExpr = make.buffer_load(source, variables)
    if inside:
        value = make.if_then_else(reduce(make.logical_and, inside), value, make.const(0, source.dtype))
    point = tuple([tir.Range(variable, make.const(1, variable.dtype)) for variable in variables])
    reads, writes = (tir.BufferRegion(source, point),), (tir.BufferRegion(target, point),)
    block = tir.Block(tuple(axes), reads, writes, name, tir.BufferStore(target, value, variables))
    nest: tir.Stmt = tir.BlockRealize(tuple(loops), make.const(True, "bool"), block)
    for loop, size in reversed(list(zip(loops, shape, strict=True))):
        nest = tir.For(loop, make.const(0, loop.dtype), size, tir.ForKind.SERIAL, nest)
    return nest
