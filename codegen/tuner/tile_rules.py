"""Rules that divide the loops of reductions into tiles of drawn sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...ir import tir
from ...ir.schedule import BlockRV, LoopRV, Schedule
from ...ir.schedule.tensor_intrin import TensorIntrin
from ...ir.schedule.tree import walk_statements
from . import block_facts as facts
from .rule import INTRINSIC, ScheduleRule, drawn, try_step, wrong

_LANES: dict[str, Callable[[int], bool]] = {
    "float32": lambda lanes: lanes <= 4,
    "float16": lambda lanes: (lanes == 1 or lanes % 2 == 0) and lanes <= 8,
    "int8": lambda lanes: lanes <= 16,
}
"""Numbers of elements that a thread of a GPU can load together, by dtype."""
_THREADS, _WARP = 1024, 32
_ASYNCHRONOUS, _STAGES = 80, (4, 5)
"""Version of the first GPUs that copy in the background, and numbers of stages of a pipeline."""
_HELP = 'levels are written like "SSRSRS": S for spatial loops, R for reduction loops'


class ReuseType:
    """How elements of tiles are kept in buffers of their own: `req` is "no", "may" or "must", `levels` are those of the tiles, from 1, and
    `scope` is the memory (TVM: `ReuseType`).
    """

    def __init__(self, req: str, levels: Sequence[int] = (), scope: str = "global") -> None:
        if req not in ("no", "may", "must"):
            raise wrong(f"argument 1, 'req' to ReuseType: expected 'no', 'may' or 'must', got {req!r}", "use 'may'")
        self.req, self.levels, self.scope = req, tuple(levels), scope

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {"req": self.req, "levels": list(self.levels), "scope": self.scope}


class _Tiles(Struct, frozen=True, eq=False):
    """A schedule of a block in tiles: the loops of each level, and the block that writes the result of a tile, if there is one."""

    sch: Schedule
    block: BlockRV
    levels: tuple[tuple[LoopRV, ...], ...] = ()


class MultiLevelTiling(ScheduleRule):
    """Divide reductions into levels of tiles of drawn sizes (TVM: `MultiLevelTiling`)."""

    def __init__(
        self, structure: str = "SSRSRS", tile_binds: Sequence[str] | None = None, max_innermost_factor: int | None = None,
        vector_load_lens: Sequence[int] | None = None, reuse_read: ReuseType | Mapping[str, Any] | None = None,
        reuse_write: ReuseType | Mapping[str, Any] | None = None, filter_fn: Callable[[Any, Any], bool] | None = None,
    ) -> None:  # fmt: skip
        """`structure` has a letter for each level from the outside, S for spatial loops and R for reductions. The first levels are bound to
        `tile_binds`. `reuse_read` and `reuse_write` say at which levels what is read and written is kept in buffers of their own; those that
        are read are fetched by all threads together, `vector_load_lens` elements at a time. `filter_fn` gets the schedule and a block, and chooses further blocks. Raises ArgumentError
        E0702 for other letters and levels.
        """
        if not structure or set(structure) - set("SR"):
            raise wrong(f"argument 1, 'structure' to MultiLevelTiling: expected S and R, got {structure!r}", _HELP)
        self._structure, self._binds, self._filter = structure, tuple(tile_binds or ()), filter_fn
        self._largest, self._lanes = max_innermost_factor or -1, tuple(vector_load_lens or ())
        self._read, self._write = _reuse(reuse_read), _reuse(reuse_write)
        for reuse in (self._read, self._write):
            if not all(1 <= level <= len(structure) for level in reuse.levels):
                raise wrong(f"the structure {structure!r} has no level {max(reuse.levels)}", "the first level is 1")

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """See `ScheduleRule`."""
        if facts.is_root(sch, block):
            return [sch]
        is_chosen = self._filter is not None and self._filter(sch, sch.get_sref(block))
        if not is_chosen and not facts.needs_tiles(sch.program(), sch.get(block)):
            return [sch]
        made = sch.copy()
        made.annotate(block, facts.TILED, self._structure)
        return [tiles.sch for tiles in self._tiled(_Tiles(made, block))]

    def _tiled(self, start: _Tiles) -> list[_Tiles]:
        """Return the schedules with each choice of buffers."""
        found = [
            read for written in self._with_results(self._with_loops(start)) for read in self._with_operands(written)
        ]
        return [made for tiles in found for made in self._with_pipelines(tiles)]

    def _with_loops(self, start: _Tiles) -> _Tiles:
        sch, block = start.sch, start.block
        loops, kinds = sch.get_loops(block), [axis.iter_type for axis in sch.get(block).iter_vars]
        levels: list[list[LoopRV]] = [[] for _ in self._structure]
        size = 1
        for loop, kind in zip(loops[-len(kinds) :], kinds, strict=True):
            letter = "S" if kind is facts.SPATIAL else "R"
            size *= (facts.extent_of(sch, loop) or 0) if letter == "S" else 1
            places = [place for place, level in enumerate(self._structure) if level == letter]
            parts: Sequence[LoopRV] = [loop]
            if len(places) > 1:
                factors = sch.sample_perfect_tile(loop, len(places), self._largest)
                parts = sch.split(loop, factors=factors)
            for place, part in zip(places, parts, strict=True):
                levels[place].append(part)
        sch.reorder(*chain(*levels))
        for number, thread in enumerate(self._binds[: len(levels)]):
            fused = sch.fuse(*levels[number])
            sch.bind(fused, thread)
            levels[number] = [fused]
        if self.target.arch:
            low = _WARP if size > 2 * _WARP else 1
            sch.annotate(block, "meta_schedule.thread_extent_low_inclusive", low)
            sch.annotate(block, "meta_schedule.thread_extent_high_inclusive", _THREADS)
        return _Tiles(sch, block, tuple(map(tuple, levels)))

    def _with_results(self, tiles: _Tiles) -> list[_Tiles]:
        """Return the schedules with and without a buffer for the results of a tile."""
        request, levels = self._write.req, self._write.levels
        if request == "no":
            return [tiles]
        found = tiles.sch.get(tiles.block).annotations.get("meta_schedule.write_cache_level")
        if isinstance(found, list | tuple):
            request, levels = "must", tuple([int(getattr(level, "value", level)) for level in found])  # type: ignore[reportUnknownArgumentType]
        if request == "may":
            consumers = tiles.sch.get_consumers(tiles.block)
            if len(consumers) == 1 and facts.is_write_cache(tiles.sch.get(consumers[0])):
                return [*self._at(tiles, consumers[0], levels), tiles]
        cached = replace(tiles, sch=tiles.sch.copy())
        copy = cached.sch.cache_write(tiles.block, 0, self._write.scope)
        return [*([tiles] if request == "may" else []), *self._at(cached, copy, levels)]

    @staticmethod
    def _at(tiles: _Tiles, copy: BlockRV, levels: Sequence[int]) -> list[_Tiles]:
        found: list[_Tiles] = []
        for level in levels:
            made = tiles.sch.copy()
            if try_step(made, "reverse_compute_at", copy, tiles.levels[level - 1][-1], True):
                found.append(replace(tiles, sch=made))
        return found

    def _with_operands(self, tiles: _Tiles) -> list[_Tiles]:
        """Return the schedules in which operands are cached, one for each level of `reuse_read`."""
        if self._read.req == "no":
            return [tiles]
        return [self._with_operands_at(tiles, tiles.levels[level - 1][-1]) for level in self._read.levels]

    def _with_operands_at(self, tiles: _Tiles, loop: LoopRV) -> _Tiles:
        sch = tiles.sch.copy()
        node = sch.get(tiles.block)
        for number, region in enumerate(node.reads):
            if region.buffer is node.writes[0].buffer:
                continue
            copy = sch.cache_read(tiles.block, number, self._read.scope, [tiles.block])
            sch.compute_at(copy, loop, True)
            sch.fuse(*sch.get_loops(copy)[-len(region.buffer.shape) :])
            fits = _LANES.get(region.buffer.dtype, lambda lanes: True)
            lanes = [lanes for lanes in self._lanes if fits(lanes)]
            if lanes:
                sch.annotate(copy, "meta_schedule.cooperative_fetch", drawn(sch, lanes))
        return replace(tiles, sch=sch)

    def _with_pipelines(self, tiles: _Tiles) -> list[_Tiles]:
        """Return the schedule, and those that fetch operands some iterations ahead, on GPUs that copy in the background."""
        level = self._structure.find("R")
        if level < 0 or not self.target.arch or _version_of(self.target.arch) < _ASYNCHRONOUS:
            return [tiles]
        body = tiles.sch.get(tiles.levels[level][-1]).body
        if not (
            isinstance(body, tir.SeqStmt) and len(body.seq) == 3 and all(isinstance(stmt, tir.For) for stmt in body.seq)
        ):
            return [tiles]
        found = [tiles]
        for stages in _STAGES:
            sch = tiles.sch.copy()
            loop = sch.fuse(*tiles.levels[level])
            sch.annotate(loop, "software_pipeline_stage", [0, 0, stages - 2])
            sch.annotate(loop, "software_pipeline_order", [0, 1, 2])
            sch.annotate(loop, "software_pipeline_async_stages", [0])
            found.append(replace(tiles, sch=sch))
        return found


def _version_of(arch: str) -> int:
    digits = arch.removeprefix("sm_").rstrip("abcdefghijklmnopqrstuvwxyz")
    return int(digits) if digits.isdecimal() else 0


class MultiLevelTilingWithIntrin(MultiLevelTiling):
    """Divide reductions into tiles, the innermost of which a tensor intrinsic computes (TVM: `MultiLevelTilingWithIntrin`)."""

    def __init__(self, intrin_name: str, *arguments: Any, **named: Any) -> None:
        """`intrin_name` is the name of a tensor intrinsic; the other arguments are those of `MultiLevelTiling`. Raises ValueError if there is
        no such intrinsic.
        """
        super().__init__(*arguments, **named)
        TensorIntrin.get(intrin_name)
        self._intrinsic = intrin_name

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """See `ScheduleRule`."""
        if facts.is_root(sch, block) or try_tiles_of(sch.copy(), block, self._intrinsic) is None:
            return [sch]
        return super().apply(sch, block)

    def _tiled(self, start: _Tiles) -> list[_Tiles]:
        outer = try_tiles_of(start.sch, start.block, self._intrinsic)
        return [] if outer is None else super()._tiled(replace(start, block=outer))


def _reuse(value: ReuseType | Mapping[str, Any] | None) -> ReuseType:
    if value is None:
        return ReuseType("no")
    return value if isinstance(value, ReuseType) else ReuseType(**value)


def try_tiles_of(sch: Schedule, block: BlockRV, name: str) -> BlockRV | None:
    """Divide the last loops of a block into tiles that an intrinsic computes, and make a block of each; None if it does not fit.

    The block of the tiles gets an annotation for `RewriteTensorize`.
    """
    intrinsic = TensorIntrin.get(name)
    assert intrinsic is not None
    described = [stmt for stmt in walk_statements(intrinsic.desc.body) if isinstance(stmt, tir.Block)][-1]
    loops, kinds = list(sch.get_loops(block)), [axis.iter_type for axis in sch.get(block).iter_vars]
    if len(loops) != len(kinds):
        return None
    inner: list[LoopRV] = []
    order = list(loops)
    for axis in reversed(described.iter_vars):
        left = [loop for loop, kind in zip(loops, kinds, strict=True) if kind is axis.iter_type and loop in order]
        size = axis.dom.extent if axis.dom is not None else None
        extent = facts.extent_of(sch, left[-1]) if left else None
        if extent is None or not isinstance(size, tir.IntImm) or extent % size.value:
            return None
        outer, part = sch.split(left[-1], factors=[None, size.value])
        place = order.index(left[-1])
        order[place : place + 1] = [outer]
        inner.insert(0, part)
    sch.reorder(*order, *inner)
    tiles = sch.blockize(inner[0])
    trial = sch.copy()
    started = sch.get(tiles).init is None or try_step(trial, "decompose_reduction", tiles, trial.get_loops(tiles)[0])
    if not started or not try_step(trial, "tensorize", tiles, name):
        return None
    sch.annotate(tiles, INTRINSIC, name)
    return tiles
