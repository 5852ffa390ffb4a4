"""A merge contains the edits of both sides: exactly these if no statement is touched by both, else with conflicts.

The base is a random text, and each side edits it: it changes expressions, renames variables, inserts, deletes and moves
statements, adds functions and comments. Edits of different statements must give what both give together, and a merge without
conflicts is a valid program if both sides are.
"""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st
from msgspec import Struct

from ....ir.base import Source
from ...revisions.outline import Node, outline
from ...revisions.verified import errors_of, merge_verified
from ..choices import Choices, drawn
from ..edits import Edit, are_disjoint, draw_edits, edited
from ..oracle import Execute
from ..texts import commented_texts
from .law import Law

_MARK = "#! "
_FIRST = (100_001, 200_001)
"""The first marks of the edits of each side."""


class Pair(Struct, frozen=True):
    """A text, and what two sides do to it."""

    text: str
    sides: tuple[tuple[Edit, ...], tuple[Edit, ...]]

    def __str__(self) -> str:
        heads = [
            f"{_MARK}{name} {edit}\n"
            for name, side in zip(("ours", "theirs"), self.sides, strict=True)
            for edit in side
        ]
        return "".join(heads) + self.text

    @staticmethod
    def read(text: str) -> Pair:
        """Return the pair that `str` writes."""
        lines = [line for line in text.splitlines(keepends=True) if not line.startswith("# law: ")]
        sides: dict[str, list[Edit]] = {"ours": [], "theirs": []}
        rest: list[str] = []
        for line in lines:
            if line.startswith(_MARK):
                side, _, edit = line.removeprefix(_MARK).partition(" ")
                sides[side].append(Edit.read(edit))
            else:
                rest.append(line)
        return Pair("".join(rest), (tuple(sides["ours"]), tuple(sides["theirs"])))


def _example(choose: Choices, file: Source | None) -> Pair:
    text = choose.draw(commented_texts(None if file is None else file.text))
    root = outline(Source("base.tvms", text))
    ours = tuple(draw_edits(choose, root, _FIRST[0]))
    theirs = tuple(draw_edits(choose, root, _FIRST[1], [edit.node for edit in ours]))
    return Pair(text, (ours, theirs))


def _check(pair: Pair, execute: Execute) -> None:
    root = outline(Source("base.tvms", pair.text))
    ours, theirs = pair.sides
    base, left, right, both = (
        Source("merged.tvms", edited(root, edits)) for edits in ((), ours, theirs, (*ours, *theirs))
    )
    merged, _ = merge_verified(base, left, right)
    for side, source in ((ours, left), (theirs, right)):
        for edit in side:
            if edit.text and edit.text in source.text:
                assert edit.text in merged.text, f"the edit '{edit}' is lost"
    are_valid = not errors_of(left) and not errors_of(right)
    if not merged.conflicts and are_valid:
        assert not errors_of(Source("merged.tvms", merged.text)), "the merge of two valid programs is not valid"
    if are_disjoint(root, ours, theirs):
        if are_valid and errors_of(both):
            assert merged.conflicts, "the edits do not fit together, and there is no conflict"
            return
        assert not merged.conflicts, f"a conflict, though no statement is touched twice:\n{merged.text}"
        _check_equal(outline(Source("merged.tvms", merged.text)), outline(both), merged.text, both.text)


def _check_equal(found: Node, wanted: Node, text: str, expected: str) -> None:
    if found.digest != wanted.digest:
        lines = zip(text.splitlines(), expected.splitlines(), strict=False)
        first = next((pair for pair in lines if pair[0] != pair[1]), ("", ""))
        raise AssertionError(f"the merge has {first[0]!r} instead of {first[1]!r}:\n{text}")


def _constructs(pair: Pair) -> Iterable[str]:
    root = outline(Source("base.tvms", pair.text))
    found = {edit.kind for side in pair.sides for edit in side}
    return found | {"disjoint" if are_disjoint(root, *pair.sides) else "overlapping"}


def _examples(file: Source | None) -> st.SearchStrategy[Pair]:
    return drawn(lambda choose: _example(choose, file))


LAW = Law(
    _examples, _check, read=lambda source: Pair.read(source.text), constructs=_constructs,
    expected=frozenset({"change", "insert", "comment", "delete", "move", "rename", "function", "disjoint", "overlapping"}),
    counted=("disjoint", "overlapping"),
)  # fmt: skip
