"""How often each primitive was applied to a program with each feature, and how often it was refused: counts as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from .step_features import FEATURES

_SIGN = " × "
_COLUMNS = 8
REFUSED = ", refused"


def cells(primitive: str, features: Iterable[str], is_refused: bool) -> Iterator[str]:
    """Yield the names of the cells that a step counts in, after its own."""
    end = REFUSED if is_refused else ""
    yield f"{primitive}{end}"
    yield from (f"{primitive}{_SIGN}{feature}{end}" for feature in features)


def is_cell(name: str) -> bool:
    """Whether a construct that was counted is a cell of the matrix."""
    return _SIGN in name


def tables(counts: Mapping[str, int]) -> list[str]:
    """Return the lines of the matrix in Markdown, a few features to a table: "applied / refused", where a step of the
    primitive was about a nest with the feature."""
    names = sorted({name.partition(_SIGN)[0] for name in counts if is_cell(name)})
    lines: list[str] = []
    for start in range(0, len(FEATURES), _COLUMNS):
        columns = FEATURES[start : start + _COLUMNS]
        lines += ["", f"| primitive | {' | '.join(columns)} |", "| --- |" + " ---: |" * len(columns)]
        lines += [f"| `{name}` | {' | '.join([_cell(counts, name, each) for each in columns])} |" for name in names]
    return lines[1:]


def _cell(counts: Mapping[str, int], primitive: str, feature: str) -> str:
    name = f"{primitive}{_SIGN}{feature}"
    applied, refused = counts.get(name, 0), counts.get(name + REFUSED, 0)
    return f"{applied} / {refused}" if applied or refused else "–"
