"""Tables of how often each primitive, and each rule of default schedules, was applied to, and refused on, a nest with each
feature.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from ...ir import tir
from ...ir.base import IRModule
from ...ir.schedule import LoopRV, Schedule
from ...ir.visit import walk
from .features import FEATURES, around, features_among, features_of

_SIGN = " × "
_COLUMNS = 8
REFUSED = ", refused"


def cells(primitive: str, features: Iterable[str], is_refused: bool) -> Iterator[str]:
    """Yield the names of a step and of the cells in which it counts."""
    end = REFUSED if is_refused else ""
    yield f"{primitive}{end}"
    yield from (f"{primitive}{_SIGN}{feature}{end}" for feature in features)


def is_cell(name: str) -> bool:
    """Return whether a counted construct is a cell of the matrix."""
    return _SIGN in name


RULES: Mapping[str, tuple[str, ...]] = {
    "processor": ("bands", "matmul", "gemv", "convolution", "transpose", "rows", "argument"),
    "GPU": (
        "gemv", "tensor cores", "tiles", "transpose", "columns", "a block for each row", "a thread for each element", "a thread for several elements",
        "several results", "one thread",
    ),
}  # fmt: skip
"""The rules of default schedules for each kind of machine, in the order in which they are tried."""


class Decided(Struct, frozen=True):
    """The last decision of the rules about some blocks."""

    blocks: tuple[str, ...]
    rule: str | None
    """The rule that was applied; None if the blocks are not scheduled."""


def rule_cells(module: IRModule, kind: str, decisions: Iterable[Decided]) -> Iterator[str]:
    """Yield the cells that the decisions about the function `main` count in: applied for a rule that was applied, and refused for
    the rules before it. A decision about code without a name of its own counts for the features of the whole function.
    """
    function = module.functions["main"]
    assert isinstance(function, tir.PrimFunc)
    for decided in decisions:
        names = {name for name in decided.blocks if name}
        features = _features_around(function, set(), names) if names else features_of(function)
        for rule in RULES[kind]:
            yield from cells(f"{kind}: {rule}", features, is_refused=rule != decided.rule)
            if rule == decided.rule:
                break


def tables(counts: Mapping[str, int], what: str = "primitive") -> list[str]:
    """Return the lines of the matrix in Markdown, a few features per table; `what` is the title of the rows. A cell is "applied /
    refused", counted over the steps whose arguments name a nest with the feature.
    """
    names = sorted({name.partition(_SIGN)[0] for name in counts if is_cell(name)})
    lines: list[str] = []
    for start in range(0, len(FEATURES), _COLUMNS):
        columns = list(FEATURES)[start : start + _COLUMNS]
        lines += ["", f"| {what} | {' | '.join(columns)} |", "| --- |" + " ---: |" * len(columns)]
        lines += [f"| `{name}` | {' | '.join([_cell(counts, name, column) for column in columns])} |" for name in names]
    return lines[1:]


def _cell(counts: Mapping[str, int], primitive: str, feature: str) -> str:
    name = f"{primitive}{_SIGN}{feature}"
    applied, refused = counts.get(name, 0), counts.get(name + REFUSED, 0)
    return f"{applied} / {refused}" if applied or refused else "–"


def features_of_step(schedule: Schedule, given: Mapping[str, Any]) -> frozenset[str]:
    """Return the features of the nests that contain the blocks and loops among the arguments of a step."""
    function = schedule.mod.functions[schedule.func_working_on or ""]
    assert isinstance(function, tir.PrimFunc)
    asked: set[tir.Stmt] = set()
    names: set[str] = set()
    for value in given.values():
        for item in value if isinstance(value, list | tuple) else (value,):  # type: ignore[reportUnknownVariableType]
            if isinstance(item, LoopRV):
                asked.add(schedule.get(item))
            elif isinstance(item, str):
                names.add(item)
    return _features_around(function, asked, names)


def _features_around(function: tir.PrimFunc, asked: set[tir.Stmt], names: set[str]) -> frozenset[str]:
    """Return the features of the nests that contain some statements, or blocks with some names."""
    own = [nest for nest in _nests(function) if asked & nest.statements or names & nest.names]
    return frozenset[str]().union(*(nest.features for nest in own))


class _Nest(Struct, frozen=True, eq=False):
    """A statement of the outermost sequence of a function: all statements in it, the names of its blocks, and its features."""

    statements: set[tir.Stmt]
    names: set[str]
    features: frozenset[str]


@lru_cache(maxsize=2)  # a step that is refused leaves the function as it is
def _nests(function: tir.PrimFunc) -> list[_Nest]:
    body = function.body.block.body if isinstance(function.body, tir.BlockRealize) else function.body
    context, found = around(function, walk(function)), list[_Nest]()
    for part in body.seq if isinstance(body, tir.SeqStmt) else (body,):
        nodes = list(walk(part))
        names = {node.name_hint for node in nodes if isinstance(node, tir.Block)}
        statements = {node for node in nodes if isinstance(node, tir.Stmt)}
        found.append(_Nest(statements, names, features_among(nodes, context)))
    return found
