"""The table of checks: each has a name, a level, codes, and the law that it checks in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, Literal, TypeAlias, TypeVar, get_args

from msgspec import Struct

from .. import relax
from ..base import IRModule, Node
from ..diagnostics import Diagnostic
from .axis_kinds import check_axis_kinds
from .blocks import check_blocks
from .bounds import check_bindings, check_bounds
from .calls import check_calls
from .devices import check_limits, check_scopes
from .dtypes import check_dtypes
from .graph import check_function
from .intrinsics import check_intrinsics
from .loops import check_loops
from .parts import check_parts
from .races import check_races
from .reductions import check_reductions
from .regions import check_matches, check_regions
from .scoping import check_scoping
from .sizes import check_matched_shapes, check_sizes
from .starts import check_starts
from .subject import Subject
from .tiles import check_tiles
from .values import check_values
from .views import check_views

Level: TypeAlias = Literal["syntax", "types", "bounds", "races"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""Levels of checking; each includes the previous ones. The parser checks the syntax."""

Run = TypeVar("Run", bound=Callable[..., Any])
PartCheck: TypeAlias = Callable[[Node, Sequence[Node]], list[Diagnostic]]
LoopCheck: TypeAlias = Callable[[Subject], object]
GraphCheck: TypeAlias = "Callable[[relax.Function, IRModule | None], Iterator[Diagnostic] | list[Diagnostic]]"
ModuleCheck: TypeAlias = Callable[[IRModule, Mapping[str, list[Node]]], list[Diagnostic]]


class Check(Struct, Generic[Run], frozen=True):
    """A check: the first level that includes it, the codes of its diagnostics, and the law that it ensures."""

    name: str
    level: Level
    codes: tuple[str, ...]
    law: str
    run: Run


PART_CHECKS: tuple[Check[PartCheck], ...] = (
    Check("parts", "types", ("E0440",), "Every field of a node holds a value of its declared type.", check_parts),
)
"""Checks that run first, because all others rely on them."""

LOOP_CHECKS: tuple[Check[LoopCheck], ...] = (
    Check("scoping", "types", ("E0401", "E0402", "E0403", "E0404"),
          "Every variable and buffer is defined once, before its uses, and a block uses loop variables only through its axes.",
          check_scoping),
    Check("tiles", "types", ("E0445",), "No form belongs to the tile level of TIRX.", check_tiles),
    Check("dtypes", "types", ("E0235", "E0405", "E0406", "E0407", "E0439"),
          "Operands, values, indices and conditions have the dtype and the number that their context requires.",
          check_dtypes),
    Check("intrinsics", "types", ("E0105", "E0405", "E0406", "E0442", "E0443"),
          "The number and kinds of an intrinsic's arguments match its declaration, and its dtype follows from them.",
          check_intrinsics),
    Check("blocks", "types", ("E0410", "E0411", "E0412"),
          "A block is bound to one integer per axis, and has a T.init only if it has a reduction axis.", check_blocks),
    Check("loops", "types", ("E0406", "E0416", "E0417", "E0441"),
          "Thread tags exist, loops of one kernel agree on the extent of a thread axis, and a jump is inside what it leaves.",
          check_loops),
    Check("scopes", "types", ("E0418",), "A buffer is in a storage scope that exists.", check_scopes),
    Check("sizes", "types", ("E0406", "E0426"), "Sizes of memory and buffers are integers, and no extent is negative.",
          check_sizes),
    Check("matched-shapes", "types", ("E0427",), "A matched buffer has the dimensions and strides of its region.",
          check_matched_shapes),
    Check("bindings", "bounds", ("E0415",), "An axis is bound to values of its domain only.", check_bindings),
    Check("bounds", "bounds", ("E0414", "E0420"), "An access lies inside its buffer.", check_bounds),
    Check("views", "bounds", ("E0414", "E0420"), "A view lies in the allocation behind it.", check_views),
    Check("regions", "bounds", ("E0413",), "The accesses of a block lie in the regions that it declares.", check_regions),
    Check("matches", "bounds", ("E0422",), "A matched region lies inside its source.", check_matches),
    Check("reductions", "bounds", ("E0423", "E0424"),
          "A reduction updates the element that its T.init starts, with the same result in any order.",
          check_reductions),
    Check("limits", "bounds", ("E0425",), "A kernel uses at most the threads and shared memory of its target.",
          check_limits),
    Check("races", "races", ("E0419", "E0444"),
          "Of concurrent iterations, no two write the same element, and none reads what another one writes.", check_races),
    Check("axis-kinds", "races", ("E0421", "E0423"),
          "Instances of a block that differ in spatial or reduction axes depend on each other only through updates.",
          check_axis_kinds),
    Check("starts", "races", ("E0424", "E0428", "E0429"),
          "Every element is initialized before its updates, and no loop repeats an update that the block's axes run once.",
          check_starts),
)  # fmt: skip
"""Loop-level checks, ordered so that errors of one explain those of later ones; errors of a level stop the next level."""

GRAPH_CHECKS: tuple[Check[GraphCheck], ...] = (
    Check("graph-scoping", "types", ("E0426", "E0430", "E0431", "E0432", "E0433"),
          "Every graph-level variable and dimension is defined once, before its uses, and used only in its scope.", check_function),
    Check("values", "types", ("E0437", "E0438", "E0439"),
          "Struct info agrees with the operands, and pure functions call only pure ones.", check_values),
)  # fmt: skip

MODULE_CHECKS: tuple[Check[ModuleCheck], ...] = (
    Check("calls", "types", ("E0102", "E0435", "E0436"),
          "Callees exist, arguments fit them, and recursion is conditional.", check_calls),
)  # fmt: skip

CHECKS: tuple[Check[Any], ...] = (*PART_CHECKS, *LOOP_CHECKS, *GRAPH_CHECKS, *MODULE_CHECKS)
