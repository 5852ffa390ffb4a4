"""Differences and merges of revisions by structure."""

from __future__ import annotations

from pathlib import Path

import pytest
from tvms.dsl.revisions.diff import differences
from tvms.dsl.revisions.match import Matching
from tvms.dsl.revisions.merge import merge
from tvms.dsl.revisions.outline import flat, outline
from tvms.dsl.revisions.verified import merge_verified
from tvms.dsl.testing.growth import check_growth
from tvms.ir.base import Source

BASE = """\
#tvms 1

# about f
T.prim_func f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        # one
        A[i] = 1.0
        B[i] = 2.0  # two
    A[0] = 3.0
    # end

T.prim_func g(A: T.Buffer((16,), "float32")):
    A[1] = 1.0
    if A[0] == 0.0:
        A[2] = 1.0
        # the end of the branch
    else:
        A[3] = 1.0
"""
ROOT = Path(__file__).parent.parent.parent
TEXTS = sorted([*(ROOT / "samples").rglob("*.tvms"), *(ROOT / "tests" / "cases" / "tir").glob("*.tvms")])


def changed(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def merged(ours: str, theirs: str, base: str = BASE) -> str:
    return merge(*(Source("a.tvms", text) for text in (base, ours, theirs))).text


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_the_tree_of_a_text_is_the_text(path: Path) -> None:
    text = path.read_text(encoding="utf-8", errors="replace").removeprefix("\ufeff")
    assert "\n".join(outline(Source(path.name, text)).lines(0)).rstrip() == text.rstrip()


ADDED = 'T.prim_func {}(C: T.Buffer((1,), "int32")):\n    C[0] = 1\n\nT.prim_func g'
LOOP = "    for i in range(16):\n        # one\n        A[i] = 1.0\n        B[i] = 2.0  # two\n"
WRAPPED = "    for o in range(2):\n" + "".join(f"    {line}\n" for line in LOOP.splitlines())


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (("A[i] = 1.0", "A[i] = 5.0"), ("B[i] = 2.0", "B[i] = 6.0")),
        (("A[i] = 1.0", "A[i] = 5.0"), ("# one", "# eins")),
        (("    A[0] = 3.0\n    # end\n", ""), ("# one", "# eins")),
        (("    A[0] = 3.0", "    A[5] = 1.0\n    A[0] = 3.0"), ("A[0] = 3.0", "A[0] = 4.0")),
        ((LOOP, WRAPPED), ("B[i] = 2.0", "B[i] = 8.0")),
        (("T.prim_func g", "T.prim_func h"), ("A[3] = 1.0", "A[3] = 9.0")),
        (("range(16)", "T.serial(16)"), ("A[i] = 1.0", "A[i] = 9.0")),
        (("#tvms 1\n", "#tvms 1\n# ours\n"), ("T.prim_func g", ADDED.format("f0"))),
        (("# the end of the branch", "# the last line"), ("A[3] = 1.0", "A[3] = 7.0")),
    ],
)
def test_edits_of_different_statements_merge(ours: tuple[str, str], theirs: tuple[str, str]) -> None:
    one, other = changed(BASE, ours), changed(BASE, theirs)
    both = (
        changed(changed(BASE, ours), theirs)
        if ours[0] != LOOP
        else changed(BASE, theirs, (LOOP.replace("2.0", "8.0"), WRAPPED.replace("2.0", "8.0")))
    )
    assert merged(one, other) == both
    assert merged(other, one) == both


@pytest.mark.parametrize(
    ("ours", "theirs", "result"),
    [
        (
            ("A[i] = 1.0", "A[i] = 5.0"), ("A[i] = 1.0", "A[i] = 6.0"),
            "        # one\n<<<<<<< ours\n        A[i] = 5.0\n||||||| base\n        A[i] = 1.0\n=======\n        A[i] = 6.0\n"
            ">>>>>>> theirs\n        B[i]",
        ),
        (
            ("    A[0] = 3.0\n    # end\n", ""), ("A[0] = 3.0", "A[0] = 4.0"),
            "<<<<<<< ours\n||||||| base\n    A[0] = 3.0\n=======\n    A[0] = 4.0\n>>>>>>> theirs\n",
        ),
        (
            ("    A[0] = 3.0", "    A[5] = 1.0\n    A[0] = 3.0"), ("    A[0] = 3.0", "    A[6] = 1.0\n    A[0] = 3.0"),
            "<<<<<<< ours\n    A[5] = 1.0\n||||||| base\n=======\n    A[6] = 1.0\n>>>>>>> theirs\n    A[0] = 3.0\n",
        ),
    ],
)  # fmt: skip
def test_conflicts_are_marked(ours: tuple[str, str], theirs: tuple[str, str], result: str) -> None:
    assert result in merged(changed(BASE, ours), changed(BASE, theirs))


def test_equal_edits_are_one() -> None:
    text = changed(BASE, ("A[i] = 1.0", "A[i] = 5.0"), ("    A[0]", "    A[5] = 1.0\n    A[0]"))
    assert merged(text, changed(text, ("A[1] = 1.0", "A[1] = 4.0"))) == changed(text, ("A[1] = 1.0", "A[1] = 4.0"))


def test_insertions_that_do_not_depend_on_each_other_stand_in_a_row() -> None:
    ours = changed(BASE, ("    A[0] = 3.0", "    A[5] = 1.0\n    A[0] = 3.0"))
    theirs = changed(BASE, ("    A[0] = 3.0", "    B[5] = 1.0\n    A[0] = 3.0"))
    assert "    A[5] = 1.0\n    B[5] = 1.0\n    A[0] = 3.0\n" in merged(ours, theirs)


def test_new_functions_of_both_sides_stay() -> None:
    text = merged(
        changed(BASE, ("T.prim_func g", ADDED.format("a"))), changed(BASE, ("T.prim_func g", ADDED.format("b")))
    )
    assert text.index("prim_func a") < text.index("prim_func b") < text.index("prim_func g")
    assert "<<<" not in text


def test_a_statement_that_one_side_moves_keeps_what_the_other_changes() -> None:
    head = 'T.prim_func f(A: T.Buffer((4,), "int32")):\n'
    base = head + "    A[0] = 1\n    A[1] = A[0]\n    A[2] = A[1]\n"
    ours = head + "    A[0] = 1\n    A[2] = A[1]\n    A[1] = A[0]\n"
    theirs = head + "    A[0] = 1\n    A[3] = A[0]\n    # new\n    A[1] = A[0]\n    # other\n    A[2] = A[1]\n"
    for text in (merged(ours, theirs, base), merged(theirs, ours, base)):
        assert "# new" in text
        assert "# other" in text
        assert "A[3] = A[0]" in text


def test_layout_of_one_side_and_edits_of_the_other() -> None:
    ours = changed(BASE, ("A[1] = 1.0", "A[ 1 ]   =  1.0"))
    assert merged(ours, changed(BASE, ("A[i] = 1.0", "A[i] = 5.0"))) == changed(ours, ("A[i] = 1.0", "A[i] = 5.0"))


def test_a_text_with_a_syntax_error_is_merged_by_lines() -> None:
    ours, theirs = changed(BASE, ("A[0] = 3.0", "A[0] = = 3.0")), changed(BASE, ("A[3] = 1.0", "A[3] = 9.0"))
    assert merged(ours, theirs) == changed(ours, ("A[3] = 1.0", "A[3] = 9.0"))


def test_definitions_in_a_program_are_merged_by_statement() -> None:
    program = "import tvm\nfrom tvm.script import tir as T\n\n@T.prim_func\ndef f(A: T.Buffer((4,), 'int32')):\n    A[0] = 1\n    A[1] = 2\n\n\nprint(f)\n"
    sides = (
        program.replace("A[0] = 1", "A[0] = 7"),
        program.replace("A[1] = 2", "A[1] = 8").replace("print(f)", "print(f, 1)"),
    )
    texts = [Source("a.py", text) for text in (program, *sides)]
    assert merge(*texts).text == sides[1].replace("A[0] = 1", "A[0] = 7")


def test_a_merge_that_is_not_a_valid_program_is_a_conflict() -> None:
    base = 'T.prim_func f(A: T.Buffer((4,), "int32")):\n    x: T.int32 = 1\n    A[0] = 5\n    A[1] = 2\n'
    ours = base.replace("    x: T.int32 = 1\n", "")
    theirs = base.replace("A[1] = 2", "A[1] = x")
    result, found = merge_verified(*(Source("a.tvms", text) for text in (base, ours, theirs)))
    assert [item.code for item in found] == ["E0101"]
    assert result.names == ("f",)
    assert "<<<<<<< ours\n    A[0] = 5\n    A[1] = 2\n||||||| base\n" in result.text


def test_matching_takes_time_in_proportion_to_the_text() -> None:
    def texts(size: int) -> tuple[Source, Source]:
        lines = [f"    A[{k % 7}] = {k % 5}.0\n" for k in range(size)]
        head = 'T.prim_func f(A: T.Buffer((16,), "float32")):\n'
        other = [line.replace("= 1.0", "= 9.0") for line in lines[3:]]
        return Source("a", head + "".join(lines)), Source("b", head + "".join(other))

    check_growth(lambda pair: Matching(outline(pair[0]), outline(pair[1])), 40, texts)


def test_lines_of_other_texts() -> None:
    assert "\n".join(flat("a\n\nb").lines(0)) == "a\n\nb"
    assert "\n".join(flat("a\nb\n").lines(0)) == "a\nb"


def shown(*pairs: tuple[str, str], base: str = BASE) -> list[tuple[str, str, str, str]]:
    found = differences(Source("a.tvms", base), Source("b.tvms", changed(base, *pairs)))
    return [(item.kind, item.what, item.before, item.after) for item in found]


@pytest.mark.parametrize(
    ("pairs", "found"),
    [
        ((("A[i] = 1.0", "A[i]  =  1.0"),), []),
        ((("A[i] = 1.0", "A[i] = 2.0"),), [("changed", "statement", "A[i] = 1.0", "A[i] = 2.0")]),
        ((("# one", "# eins"),), [("changed", "comment", "# one", "# eins")]),
        ((("# two", "# zwei"),), [("changed", "comment", "# two", "# zwei")]),
        ((("range(16)", "range(8)"),), [("changed", "loop", "for i in range(16):", "for i in range(8):")]),
        ((("func f(A: T.Buffer((16,)", "func f(A: T.Buffer((8,)"),), [("changed", "shape of parameter 'A'", "(16,)", "(8,)")]),
        ((('"float32"), B', '"float16"), B'),), [("changed", "dtype of parameter 'A'", '"float32"', '"float16"')]),
        (((', B: T.Buffer((16,), "float32")', ""),), [("removed", "parameter", 'B: T.Buffer((16,), "float32")', "")]),
        ((("    A[0] = 3.0\n    # end\n", ""),), [("removed", "comment", "# end", ""), ("removed", "statement", "A[0] = 3.0", "")]),
        ((("T.prim_func g", "T.prim_func h"),), [("renamed", "function", "g", "h")]),
        (
            (("for i in", "for k in"), ("A[i]", "A[k]"), ("B[i]", "B[k]")),
            [("renamed", "variable", "i", "k")],
        ),
        ((("T.prim_func g", ADDED.format("h")),), [("added", "function", "", 'T.prim_func h(C: T.Buffer((1,), "int32")):')]),
    ],
)  # fmt: skip
def test_differences(pairs: tuple[tuple[str, str], ...], found: list[tuple[str, str, str, str]]) -> None:
    assert shown(*pairs) == found


def test_a_loop_around_statements_moves_them() -> None:
    assert shown((LOOP, WRAPPED)) == [
        ("added", "loop", "", "for o in range(2):"),
        ("moved", "loop", "for i in range(16):", "for i in range(16):"),
    ]


def test_a_loop_that_was_moved_and_changed_inside_is_still_the_same_loop() -> None:
    base = changed(BASE, ("    A[0] = 3.0\n", "    A[0] = 3.0\n    A[1] = 4.0\n    A[2] = 5.0\n"))
    theirs = changed(
        base, (LOOP, ""), ("    A[2] = 5.0\n", "    A[2] = 5.0\n" + LOOP.replace("A[i] = 1.0", "A[i] = 6.0"))
    )
    ours = changed(base, ("range(16)", "range(8)"))
    assert merged(ours, theirs, base) == changed(theirs, ("range(16)", "range(8)"))
    assert merged(theirs, ours, base) == changed(theirs, ("range(16)", "range(8)"))
