"""`cache_index`: precompute index expressions in separate blocks."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ... import make, tir
from ...base import Node
from ...buffers import decl_buffer
from ...equal import structural_equal
from ...idioms import is_zero
from ...simplify import Simplifier
from ...visit import children, post_order, rewrite, substitute, walk
from ..analysis.blocks import DATA_PAR
from ..analysis.caching import Spot, allocate, insert
from ..analysis.scope import scope_root
from ..arguments import Block, Integer
from ..buffer_arguments import StorageScope
from ..conditions import ARGUMENT, NOT_ROOT
from ..declaration import primitive
from ..program import Program
from ..tree import statements_in


@primitive(requires=(NOT_ROOT,), results=("block that computes",))
def cache_index(
    program: Program, block: Block, storage_scope: StorageScope, cse_thresh: Integer = 0
) -> list[tir.Block]:
    """Compute expressions of a block that depend only on its iterators, such as indices, in preceding blocks, and let
    the block read the results. An expression that occurs fewer than `cse_thresh` times is not cached as a whole; its
    parts are considered in turn.

    Preserves: what every block computes. Comments stay where they are.
    """
    scope = scope_root(program, block)
    if cse_thresh < 0:
        raise ARGUMENT.refuse(f"expected 0 or more, got {cse_thresh}", argument="cse_thresh", help="give 0 or more")
    loops = {loop.loop_var for loop in program.loops_of(block)}
    caches = [
        _Cached(at, candidate, block, storage_scope)
        for at, candidate in enumerate(_candidates(block, loops, cse_thresh))
    ]
    around = [program.realize_of(block), *program.around(program.realize_of(block))]
    inside = around[: around.index(scope)]
    before = inside[-2] if isinstance(inside[-1], tir.SeqStmt) else inside[-1]
    computed: list[tir.Block] = []
    for cache in caches:
        nest, made = cache.nest()
        insert(program, Spot(scope, before=before), nest)
        computed.append(made)
    now = program.current(block)
    for cache in caches:
        now = _reading(now, cache)
    program.replace(program.current(block), now)
    for cache in caches:
        allocate(program, program.current(scope), cache.buffer)
    return computed


class _Cached:
    """Expression of iterators, and the buffer that holds its value for all values of the iterators."""

    def __init__(self, number: int, value: tir.PrimExpr, block: tir.Block, scope: str) -> None:
        used = dict.fromkeys(node for node in post_order(value) if isinstance(node, tir.Var))
        domains = {axis.var: axis.dom for axis in block.iter_vars if axis.dom is not None}
        self.number, self.value, self.domains = number, value, {node: domains[node] for node in used}
        extents = tuple([domain.extent for domain in self.domains.values()])
        self.buffer = decl_buffer(extents, value.dtype, f"index_var_{number}", scope=scope)

    @property
    def load(self) -> tir.BufferLoad:
        return tir.BufferLoad(self.value.dtype, self.buffer, tuple(self.domains))

    def region(self, indices: tuple[tir.PrimExpr, ...]) -> tir.BufferRegion:
        return tir.BufferRegion(self.buffer, tuple([tir.Range(index, make.const(1, index.dtype)) for index in indices]))

    def nest(self) -> tuple[tir.Stmt, tir.Block]:
        """Return the loop nest that fills the buffer, and its block."""
        loops = [tir.Var(domain.dtype, f"ax{at}") for at, domain in enumerate(self.domains)]
        variables = tuple([tir.Var(domain.dtype, f"v{at}") for at, domain in enumerate(self.domains)])
        value = substitute(self.value, dict(zip(self.domains, variables, strict=True)))
        axes = [
            tir.IterVar(dom, variable, DATA_PAR) for variable, dom in zip(variables, self.domains.values(), strict=True)
        ]
        store = tir.BufferStore(self.buffer, value, variables)
        block = tir.Block(tuple(axes), (), (self.region(variables),), f"index_{self.number}", store)
        nest: tir.Stmt = tir.BlockRealize(tuple(loops), make.const(True, "bool"), block)
        for loop, dom in reversed(list(zip(loops, self.domains.values(), strict=True))):
            nest = tir.For(loop, dom.min, dom.extent, tir.ForKind.SERIAL, nest)
        return nest, block


def _reading(block: tir.Block, cache: _Cached) -> tir.Block:
    """Return a block in which loads of the buffer replace the cached expression."""

    def instead(node: Node) -> Node | None:
        is_same = (
            isinstance(node, tir.PrimExpr) and type(node) is type(cache.value) and structural_equal(node, cache.value)
        )
        return cache.load if is_same else None

    def replaced(node: Node) -> Node | None:
        return rewrite(node, instead) if isinstance(node, tir.BufferStore) else None

    init = None if block.init is None else rewrite(block.init, replaced)
    reads = (*block.reads, cache.region(tuple(cache.domains)))
    return replace(block, body=rewrite(block.body, replaced), init=init, reads=reads)


def _candidates(block: tir.Block, loops: set[tir.Var], least: int) -> list[tir.PrimExpr]:
    """Return expressions of iterators that occur at least `least` times, longest first (TVM: `IndexInfoCollector`)."""
    iterators = {axis.var for axis in block.iter_vars if _starts_at_zero(axis, loops)}
    found: list[list[tir.PrimExpr]] = []
    waiting = [expr for store in _stores(block.body) for expr in _computed(store.value, iterators)]
    waiting.sort(key=_size, reverse=True)
    while waiting:
        value = waiting.pop(0)
        same = [value, *[expr for expr in waiting if structural_equal(expr, value)]]
        waiting = [expr for expr in waiting if not structural_equal(expr, value)]
        if len(same) >= least:
            found.append(same)
        else:
            parts = [part for expr in same for child in children(expr) for part in _computed(child, iterators)]
            waiting = sorted([*waiting, *parts], key=_size, reverse=True)
    return sorted([terms[0] for terms in found], key=_size, reverse=True)


def _starts_at_zero(axis: tir.IterVar, loops: set[tir.Var]) -> bool:
    """Return whether the domain of an iterator starts at 0 and does not depend on `loops`."""
    return axis.dom is not None and is_zero(axis.dom.min) and all(node not in loops for node in walk(axis.dom))


def _stores(node: tir.Stmt) -> Iterator[tir.BufferStore]:
    """Yield the stores of a block, except for those of nested blocks."""
    if isinstance(node, tir.BufferStore):
        yield node
    elif not isinstance(node, tir.BlockRealize):
        for statement in statements_in(node):
            yield from _stores(statement)


def _computed(node: Node, iterators: set[tir.Var]) -> Iterator[tir.PrimExpr]:
    """Yield the maximal subexpressions that depend only on iterators and cannot fault."""
    if isinstance(node, tir.PrimExpr) and _is_computed(node, iterators):
        yield node
    else:
        for child in children(node):
            yield from _computed(child, iterators)


def _is_computed(value: tir.PrimExpr, iterators: set[tir.Var]) -> bool:
    variables = [node for node in walk(value) if isinstance(node, tir.Var)]
    is_leaf = isinstance(value, tir.Var | tir.Ramp | tir.Broadcast) or not variables
    return not is_leaf and all(variable in iterators for variable in variables) and Simplifier().is_total(value)


def _size(value: tir.PrimExpr) -> int:
    return sum(1 for _ in walk(value))
