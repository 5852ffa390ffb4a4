"""`tensorize`: replace a nest by a call of an intrinsic that computes the same."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ... import make, tir
from ...base import Node, Trivia
from ...spelling import did_you_mean
from ...variables import defined_variables
from ...visit import walk
from ..analysis.blockizing import DIVISIBLE, divide
from ..analysis.copies import fresh_copy
from ..analysis.index_dtype import with_wide_indices
from ..analysis.matching import MATCHES, Matching
from ..analysis.order import check_not_combined, threads_around
from ..analysis.origins import with_origins
from ..analysis.reductions import STARTS_ALIKE
from ..analysis.removal import comments_in
from ..analysis.trivia import joined
from ..arguments import BlockOrLoop, Flag, Text
from ..conditions import EXISTS, INDEPENDENT_ITERATIONS, REDUCTION
from ..declaration import primitive
from ..program import Program
from ..tensor_intrin import TensorIntrin


@primitive(requires=(DIVISIBLE, REDUCTION, STARTS_ALIKE, INDEPENDENT_ITERATIONS, MATCHES))
def tensorize(
    program: Program, block_or_loop: BlockOrLoop, tensor_intrin: Text, preserve_unit_iters: Flag = True
) -> None:
    """Replace a block, or the nest under a loop, by the implementation of an intrinsic. `tvms.tir.TensorIntrin`
    registers intrinsics by name.

    Preserves: what is computed, provided that the intrinsic does what its description says. Comments move above the
    block.
    """
    intrinsic = TensorIntrin.get(tensor_intrin, allow_missing=True)
    if intrinsic is None:
        raise EXISTS.refuse(
            f"unknown intrinsic '{tensor_intrin}'", argument="tensor_intrin",
            help=did_you_mean(tensor_intrin, TensorIntrin.names()) or "register it with tvms.tir.TensorIntrin.register",
        )  # fmt: skip
    became: dict[tir.Stmt, tir.Stmt | None] = {}
    old: tir.Stmt = block_or_loop
    if isinstance(block_or_loop, tir.For):
        blocks = program.child_blocks(block_or_loop)
        if len(blocks) != 1:
            raise DIVISIBLE.refuse(f"expected one block under it, got {len(blocks)}", block_or_loop, *blocks)
        loops = program.loops_of(blocks[0])
        inside = loops[loops.index(block_or_loop) :]
        realize = divide(program, blocks[0], inside, preserve_unit_iters).block(f"{blocks[0].name_hint}_o")
        became = dict.fromkeys((*inside, blocks[0]))
    else:
        realize = program.realize_of(block_or_loop)
        old = realize
    block = _implemented(program, realize.block, intrinsic, block_or_loop)
    comments = comments_in(realize.block.body)
    trivia = joined(realize.trivia, Trivia(comments)) if comments else realize.trivia
    new = replace(realize, block=block, trivia=trivia)
    check_not_combined(new, threads_around(program, block_or_loop))
    program.replace(old, new, became)


def _implemented(program: Program, block: tir.Block, intrinsic: TensorIntrin, place: tir.Stmt) -> tir.Block:
    """Return the block with its body replaced by the intrinsic; refused if the description does not match (E0581)."""
    found = Matching(block, place)
    found.match(_body(intrinsic.desc))
    is_wide = any(index.dtype == "int64" for start in found.starts.values() for index in start)
    function = with_wide_indices(intrinsic.impl) if is_wide else intrinsic.impl
    impl = _body(function)
    regions = {region.buffer: region.region for region in (*impl.reads, *impl.writes)}
    views: list[tir.MatchBufferRegion] = []
    for described, implemented in zip(_buffers(intrinsic.desc), _buffers(function), strict=True):
        buffer = found.buffers[described]
        start = found.starts[buffer]
        extents = [
            *[make.const(1)] * (len(start) - len(regions[implemented])),
            *[x.extent for x in regions[implemented]],
        ]
        axes = [tir.Range(at, make.cast(extent, at.dtype)) for at, extent in zip(start, extents, strict=True)]
        _check_compact(impl, implemented, buffer, axes, place)
        views.append(tir.MatchBufferRegion(implemented, tir.BufferRegion(buffer, tuple(axes))))
    new = replace(
        block,
        body=with_origins(impl.body, (block.body,)),
        match_buffers=tuple(views),
        alloc_buffers=impl.alloc_buffers,
        annotations={**impl.annotations, **block.annotations},
    )
    own: dict[Any, Node] = {
        defined_variable: replace(defined_variable)
        for defined_variable in defined_variables(function)
        if isinstance(defined_variable, tir.Var)
    }
    inner = fresh_copy(replace(new, iter_vars=(), reads=(), writes=(), init=None), own, function)
    return replace(inner, iter_vars=block.iter_vars, reads=block.reads, writes=block.writes, init=block.init)


def _body(function: tir.PrimFunc) -> tir.Block:
    assert isinstance(function.body, tir.BlockRealize), "the functions of an intrinsic are blocks"
    return function.body.block


def _buffers(function: tir.PrimFunc) -> list[tir.Buffer]:
    return [function.buffer_map[parameter] for parameter in function.params]


def _check_compact(
    impl: tir.Block, view: tir.Buffer, buffer: tir.Buffer, axes: list[tir.Range], place: tir.Stmt
) -> None:
    """Refuse a region that is not contiguous, if the intrinsic requires that."""
    accesses = [node for node in walk(impl.body) if isinstance(node, tir.BufferLoad | tir.BufferStore)]
    if view.strides or len(view.shape) < 2 or not any(access.buffer is view for access in accesses):
        return
    inner = list(zip(axes, buffer.shape, strict=True))[len(axes) - len(view.shape) + 1 :]
    if buffer.strides or any(str(axis.extent) != str(extent) for axis, extent in inner):
        reason = f"the region of '{buffer.name}' is not contiguous, as the intrinsic requires of '{view.name}'"
        raise MATCHES.refuse(reason, place, help=f"change the layout of '{buffer.name}' to tiles with transform_layout")
