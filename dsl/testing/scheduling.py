"""Random schedules of programs, and programs to which given primitives often apply."""

from __future__ import annotations

from collections.abc import Collection

from hypothesis import strategies as st
from msgspec.structs import replace

from ...ir import tir
from ...ir.base import IRModule
from ...ir.schedule import Schedule, ScheduleError
from ...ir.schedule.text import ScheduleText
from .choices import Choices, drawn
from .features import FEATURES
from .options import Options, check_names
from .prim_funcs import is_allowed, prim_func
from .stages import STAGES
from .steps import CHANGING, apply, arguments

SUITS: dict[str, tuple[tuple[str, ...], ...]] = {
    "elementwise": (("blockize",), ("compute_inline",), ("reverse_compute_at",), ("loop_partition",), ("cache_read",), ("fuse",)),
    "formulas": (("cache_index",), ("compute_inline",), ("transform_layout",)),
    "reduction": (("rfactor",), ("rfactor",), ("decompose_reduction",), ("blockize",), ("split", "rfactor")),
    "guarded": (("decompose_padding",), ("compute_at",), ("loop_partition",)),
    "matmul": (("pad_einsum",), ("pad_einsum",), ("rfactor",), ("decompose_reduction",), ("reindex",)),
    "statements": (("reorder",), ("reorder",), ("parallel",), ("fuse",), ("loop_partition",), ("merge",)),
    "scan": (("reorder",), ("split",), ("cache_write",), ("fuse",)),
    "wavefront": (("reorder",), ("reorder",), ("fuse",), ("cache_write",)),
    "update": (("cache_inplace",), ("blockize",), ("reverse_compute_at",)),
    "triangle": (("decompose_reduction",), ("fuse",), ("reorder",), ("cache_write",)),
    "nested": (("blockize",), ("cache_read",), ("compute_at",), ("reorder",)),
    "staged": (("cache_read",), ("transform_layout",), ("blockize",)),
    "relay": (("compute_inline",), ("reverse_compute_inline",), ("compute_at",), ("reverse_compute_at",), ("cache_index",)),
    "together": (("merge",), ("merge",), ("compute_inline",), ("blockize",), ("rolling_buffer",), ("reorder",), ("parallel",), ("bind",)),
    "pipelined": (("annotate",), ("split",), ("cache_read",), ("compute_at",), ("unroll",)),
    "rewritten": (("compute_at",), ("reindex_cache_write",), ("read_at",), ("write_at",)),
    "padded": (("decompose_padding",), ("decompose_padding",), ("transform_layout",)),
    "windowed": (("compute_at", "rolling_buffer"), ("compute_at",), ("split", "compute_at", "rolling_buffer"), ("reindex_cache_write",)),
    "tiled": (("rolling_buffer",), ("rolling_buffer",), ("merge",)),
    "stream": (("reverse_compute_inline",), ("compute_inline",), ("reverse_compute_at",), ("compute_at",), ("reindex",), ("storage_align",)),
    "argmax": (("rfactor",), ("rfactor",), ("decompose_reduction",), ("split", "rfactor")),
    "biased": (("fuse_reduction_epilogue",), ("fuse_reduction_epilogue",), ("split", "fuse_reduction_epilogue"), ("reverse_compute_at",)),
    "quotients": (("pad_einsum",), ("pad_einsum",), ("rfactor",), ("compute_inline",), ("compute_at",)),
    "tiles": (("tensorize",), ("tensorize",), ("decompose_reduction", "tensorize"), ("pad_einsum",), ("rfactor",), ("blockize",), ("transform_block_layout",)),
}  # fmt: skip
"""Chains of primitives that often apply to a stage, by stage."""
_WEIGHTS = {
    "tiles": 5,
    "tiled": 3,
    "padded": 2,
    "windowed": 2,
    "together": 2,
    "reduction": 8,
    "matmul": 5,
    "stream": 4,
    "wavefront": 3,
    "argmax": 4,
}
"""Weight of a stage, 1 by default. Stages to which few primitives apply have a greater weight."""
_NEVER = frozenset({"while", "vector", "thread loop", "assertion", "scope"})
"""Features for which there are no schedule primitives."""
_NAMES = frozenset({"two names", "view"})
"""Features of memory that is accessed by several buffers."""
_CALM = _NEVER | {
    "long loop", "gather", "function", "special constant", "large integer", "float scalar", "integer scalar", "let", "branch", "shift",
    "strides", "offset", *_NAMES, "rank 0", "rank 4", "computed index", "condition",
}  # fmt: skip
_PLAIN = frozenset(FEATURES) - {
    "reduction", "scan", "dependence", "in place", "several writers", "no init", "init of several", "outputs", "shared loop",
    "rewritten", "nested blocks", "own memory", "matched region", "split axis", "extent 1", "late axis", "part", "computed extent",
    "fused axis", "first extremum", "variables", "let in reduction", "divisor",
}  # fmt: skip
_DTYPES = (("float32",), ("int32",), ("int32", "uint8", "int8"))
_OPERATORS = frozenset({"add", "sub", "mul", "max", "min", "choice"})
_KINDS = [
    Options(dtypes, _OPERATORS, without=without, max_blocks=3) for without in (_PLAIN, _CALM) for dtypes in _DTYPES
]


_OFTEN = {
    **dict.fromkeys(("repeated loop", "rank 4", "opaque axis", "condition", "long loop"), 4),
    **dict.fromkeys(("matched matrix", "matched strides", "matched source"), 6),
    **dict.fromkeys(("extent 0", "init of several", "software pipeline"), 10),
}
"""How often a feature is required, relative to others. These are rare in functions that are not required to have them."""
_ASKED = [name for name in FEATURES if name not in _NEVER for _ in range(_OFTEN.get(name, 1))]
"""Features that some functions are required to have."""


@st.composite
def schedulable(draw: st.DrawFn) -> tuple[tir.PrimFunc, tuple[str, ...]]:
    """Draw functions of a few blocks, and primitives that suit one of their stages. Most functions have no features
    that make primitives refuse.
    """
    choose = Choices(draw)
    if choose.rarely(3):
        return _paired(choose)
    stage = choose.pick([suit for suit in SUITS for _ in range(_WEIGHTS.get(suit, 1))])
    first = choose.pick(SUITS[stage])
    if choose.rarely(5):
        options = Options(("float32", "int32", "int8", "uint8"), without=_NEVER, max_blocks=3)
    else:
        options = choose.pick([kind for kind in _KINDS if stage != "tiles" or kind.dtypes != ("int32",)])
    options = options if is_allowed(stage, options, options.max_blocks) else Options(("int32",), without=_NEVER)
    theme = None
    if choose.rarely(4):
        options, theme = replace(options, without=options.without - _NAMES), _NAMES
    stages = [stage]
    if choose.rarely(3):
        stages.append(choose.pick([key for key in STAGES if is_allowed(key, options, options.max_blocks)]))
    return prim_func(choose, options, stages, theme=theme), first


def _paired(choose: Choices) -> tuple[tir.PrimFunc, tuple[str, ...]]:
    """Return a function with a feature, and a primitive: any pair of them. The function often has a stage that suits
    the primitive.
    """
    feature, primitive = choose.pick(_ASKED), choose.pick(CHANGING)
    options = Options(("float32", "int32"), features=frozenset({feature}), max_blocks=3)
    suited = [
        (stage, chain) for stage, chains in SUITS.items() for chain in chains
        if primitive in chain and stage in (FEATURES[feature].stages or STAGES)
    ]  # fmt: skip
    if not suited or choose.number(0, 1) == 0:
        return prim_func(choose, options), (primitive, primitive)
    stage, chain = choose.pick(suited)
    return prim_func(choose, options, (stage,)), chain


def schedules(
    program: IRModule | tir.PrimFunc,
    primitives: Collection[str] | None = None,
    max_steps: int = 6,
    function: str | None = None,
) -> st.SearchStrategy[ScheduleText]:
    """Generate schedules of `program` with up to `max_steps` steps. Refused steps are left out.

    `primitives` are the names to draw from; None means all that change programs. `function` is the name of the loop
    function to schedule, if the program has several. A schedule prints as an `S.schedule` that can follow the program
    in a text, and `tvms.Schedule(program).replay(schedule)` applies it. An unknown name is E0818.
    """
    names = CHANGING if primitives is None else check_names("primitive", primitives, CHANGING)

    def scheduled(choose: Choices) -> ScheduleText:
        steps = range(choose.number(0, max_steps))
        return _applied(program, [(choose.pick(names), choose.number(0, 2**32 - 1)) for _ in steps], function)

    return drawn(scheduled)


def _applied(program: IRModule | tir.PrimFunc, chain: list[tuple[str, int]], function: str | None) -> ScheduleText:
    schedule = Schedule(program, seed=0, error_render_level="fast")
    if function is not None:
        schedule.work_on(function)
    for name, number in chain:
        try:
            apply(schedule, name, arguments(schedule, name, number))
        except ScheduleError:
            continue
    return schedule.text()
