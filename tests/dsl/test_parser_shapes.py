"""A line that is copied from one of the same shape becomes what it becomes when it is parsed."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import pytest
from tvms.dsl import syntax
from tvms.dsl.parser.driver import parse_lines
from tvms.ir.base import Source
from tvms.ir.deep import run_with_big_stack
from tvms.ir.diagnostics import Diagnostic

FOLDER = Path(__file__).parents[2]
TEXTS = sorted(
    path
    for folder in ("samples", "tests/cases", "tests/hostile", "tests/broken")
    for path in (FOLDER / folder).rglob("*.tvms")
    if path.stat().st_size < 40_000
)
DIGIT = re.compile(r"\d")
SEED = int(os.environ.get("TVMS_SEED", random.randrange(1 << 30)))


def _both(text: str) -> tuple[tuple[syntax.File, tuple[Diagnostic, ...]], int, int]:
    """Return what is read with copies, asserting that it is what is read without, and how many lines were parsed each way."""
    source = Source("shapes.tvms", text)
    file, diagnostics, lines = parse_lines(source, copies=True)
    expected, mistakes, all_lines = parse_lines(source)
    assert repr(file) == repr(expected)
    assert diagnostics == mistakes
    return (file, diagnostics), len(lines), len(all_lines)


def _repeated(text: str, choose: random.Random) -> str:
    """Return a text with lines repeated, and other digits in some of them."""
    result: list[str] = []
    for line in text.splitlines(keepends=True):
        count = choose.choice((1, 1, 3, 4))
        result += [DIGIT.sub(lambda _: str(choose.randrange(10)), line) if k else line for k in range(count)]
    return "".join(result)


@pytest.mark.parametrize("part", range(8))
def test_copies_are_what_is_parsed(part: int) -> None:
    print(f"TVMS_SEED={SEED}")
    choose = random.Random(SEED + part)
    chosen = choose.sample(TEXTS, min(40, len(TEXTS)))

    def check() -> None:
        for path in chosen:
            text = path.read_bytes().decode("utf-8", "replace")
            _both(text + "\n" + text)
            _both(_repeated(text, choose))

    run_with_big_stack(check)


LINES = {
    "names": ("x1 = y2", "x7 = y0"),
    "numbers": ("A[10] = 2.5 + 1_0 - 1e3", "A[97] = 0.4 + 9_1 - 7e2"),
    "a number that is none": ("A[10] = 12", "A[00] = 08"),
    "an integer of more than 64 bits": ("A[10] = 10000000000000000000", "A[10] = 99999999999999999999"),
    "hexadecimal": ("A[0] = 0x10", "A[0] = 5x10"),
    "strings": ('f("a1", \'b2\', "c")', 'f("a3", \'b4\', "c")'),
    "escapes": ('f("\\x41 \\101")', 'f("\\x00 \\999")'),
    "joined strings": ('f("a1" "b2")', 'f("a3" "b4")'),
    "parentheses": ("A[(x1)] = (1) + ((y2))", "A[(x3)] = (4) + ((y5))"),
    "attributes": ("a1.b2.c(d3=e4)", "a5.b6.c(d7=e8)"),
    "comments": ("x1 = 2  # 3", "x4 = 5  # 6"),
    "a body in the line": ("for i1 in range(2): A[i1] = 3", "for i4 in range(5): A[i4] = 6"),
    "tuples": ("x1, *y2 = (3, 4), [5], {6: 7}", "x0, *y9 = (8, 7), [6], {5: 4}"),
    "operators": ("x1 += -2 < 3 <= 4 and not 5 or 6 if 7 else 8", "x9 += -8 < 7 <= 6 and not 5 or 4 if 3 else 2"),
    "annotations": ('x1: T.Buffer((2, 3), "f4") = 5', 'x6: T.Buffer((7, 8), "f9") = 0'),
    "slices": ("A[1:2, :3, 4::5] = lambda x6: 7", "A[8:9, :0, 1::2] = lambda x3: 4"),
    "asserts": ('assert 1, "2"', 'assert 3, "4"'),
    "imports": ("import a1.b2 as c3", "import a4.b5 as c6"),
    "decorators": ("@f(1)", "@f(2)"),
    "a mistake": ("x1 = = 2", "x3 = = 4"),
}


@pytest.mark.parametrize("name", LINES)
def test_lines_of_one_shape(name: str) -> None:
    first, second = LINES[name]
    head = "T.prim_func f(A: T.Buffer((16,), 'int32')):\n"
    for before in ("", "    # above\n"):
        _both(head + f"    {first}\n" * 3 + f"{before}    {second}\n" + f"    {first}\n")
        _both(head + f"    if x:\n        {first}\n    {first}\n    {second}\n    else:\n        {second}\n" * 2)


def test_repeated_lines_are_copied() -> None:
    lines = "".join(f"    for i in range({k}):\n        A[i + {k}] = B[{9 - k}]\n" for k in range(10))
    _, parsed, every = _both(f"T.prim_func f(A: T.Buffer((16,), 'int32')):\n{lines}")
    assert (parsed, every) == (2 + 4, 2 + 20)
