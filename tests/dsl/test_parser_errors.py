"""Every syntax error with the whole of its message; what is kept of a text with errors; and no text that crashes."""

from __future__ import annotations

import random
import re
import time
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_cases import read_cases
from tvms.dsl import syntax
from tvms.dsl.diagnostics import render
from tvms.dsl.parser import parse_syntax
from tvms.ir.base import Source

CASES = [pytest.param(case.parts["given"], case.parts["says"], id=case.title) for case in read_cases("syntax")]


@pytest.mark.parametrize(("text", "message"), CASES)
def test_messages(text: str, message: str) -> None:
    _, diagnostics = parse_syntax(Source("a.tvms", text))
    assert render(diagnostics) == message.rstrip("\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "x =\u00a01\n",
            "error[E0005]: the character U+00A0 is not part of the language\n"
            "  --> a.tvms:1:4\n   |\n 1 | x = 1\n   |    ^\n   = help: write ' '",
        ),
        (
            "if a:\n        x = 1\n\ty = 2\n",
            "error[E0007]: tabs and spaces are mixed in the indentation\n"
            "  --> a.tvms:3:1\n   |\n 3 |     y = 2\n   | ^^^^\n   = help: indent with spaces only",
        ),
        (
            "x = \u202e1\n",
            "error[E0005]: the character U+202E is not part of the language\n"
            "  --> a.tvms:1:5\n   |\n 1 | x = \\u202e1\n   |     ^^^^^^\n"
            "   = help: remove it, or write it in a string",
        ),
        (
            "x = 1\r\ny = = 2\r\n",
            "error[E0008]: expected an expression, found '='\n  --> a.tvms:2:5\n   |\n 2 | y = = 2\n   |     ^\n"
            "   = help: write an expression before it, or remove it",
        ),
    ],
)
def test_messages_about_invisible_characters(text: str, message: str) -> None:
    _, diagnostics = parse_syntax(Source("a.tvms", text))
    assert render(diagnostics) == message


DEPTHS = (0, 1, 1, 2, 3, 3, 2, 2, 1, 1)
"""Depths of lines of nested blocks."""


@pytest.mark.parametrize("place", [2, 5, 6, 7, 8, 9])
def test_a_line_is_indented_like_the_lines_of_its_block_before(place: int) -> None:
    lines = ["if a:" if after > depth else "x = 1" for depth, after in zip(DEPTHS, (*DEPTHS[1:], 0), strict=True)]
    tabs = ["\t" * depth + line for depth, line in zip(DEPTHS, lines, strict=True)]
    assert not parse_syntax(Source("a.tvms", "\n".join(tabs) + "\n"))[1]
    mixed = [*tabs[:place], " " * 8 * DEPTHS[place] + lines[place], *tabs[place + 1 :]]
    _, diagnostics = parse_syntax(Source("a.tvms", "\n".join(mixed) + "\n"))
    assert [diagnostic.code for diagnostic in diagnostics] == ["E0007"]


def kept(text: str) -> tuple[list[str], tuple[str, ...], list[str]]:
    """Return the names of the definitions that were kept, of those that were not, and the codes of the errors."""
    file, diagnostics = parse_syntax(Source("a.tvms", text))
    names: list[str] = []
    queue = list(file.body)
    for statement in queue:
        if isinstance(statement, syntax.Definition):
            names.append(statement.name)
            queue.extend(statement.body)
    return names, file.broken, [diagnostic.code for diagnostic in diagnostics]


@pytest.mark.parametrize("head", ["T.prim_func {}():", "@T.prim_func\ndef {}():", "def {}():"])
@pytest.mark.parametrize("wrong", ["x = ", "x = (1", "x = 1__0", "if a:", "for i range(3):\n        y = 1", "x = 'a"])
def test_definitions_with_errors_are_left_out(head: str, wrong: str) -> None:
    text = "".join(
        head.format(name) + f"\n    a = 1\n    {body}\n    b = 2\n\n"
        for name, body in [("f", "c = 3"), ("g", wrong), ("h", "c")]
    )
    names, broken, codes = kept(text)
    assert names == ["f", "h"]
    assert broken == ("g",)
    assert len(codes) == 1


@pytest.mark.parametrize(
    "head", ["T.prim_func g(:", "T.prim_func g()", "def g(a b):", "@\ndef g():", "T.prim_func(a=) g():"]
)
def test_definitions_with_errors_in_their_head_are_left_out(head: str) -> None:
    text = f"I.ir_module M:\n    T.prim_func f():\n        pass\n    {head.replace(chr(10), chr(10) + '    ')}\n"
    text += "        x = 1\n    T.prim_func h():\n        pass\n"
    names, broken, codes = kept(text)
    assert names == ["M", "f", "h"] or (names == ["M", "f", "g", "h"] and head.startswith("@"))
    assert broken == ("g",) or head.startswith(("@", "T.prim_func(a"))
    assert len(codes) == 1


def test_all_errors_are_found_in_one_run() -> None:
    text = "".join(f"T.prim_func f{i}():\n    x = (1\n    for i in a\n        y = = 2\n" for i in range(6))
    assert kept(text)[2] == ["E0009", "E0008", "E0008"] * 6


def test_no_more_than_twenty_errors_are_reported() -> None:
    assert len(kept("x = = 1\n" * 1000)[2]) == 20


SAMPLE = """\
#tvms 1
I.ir_module Module:
    T.prim_func(private=True) f(A: T.Buffer((128, 128), "float32")):
        T.func_attr({"tir.noalias": True})
        for i, j in T.grid(128, 128):  # loops
            with T.block("matmul"):
                vi, vj = T.axis.remap("SS", [i, j])
                if vi < 3 and not vj == 1:
                    A[vi, vj] += -A[vi, vj] * T.float32(1.5)
                else:
                    A[vi, vj:4] = lambda x: x if i else (j,)

    @R.function
    def g(x: R.Tensor(("n", 128))) -> R.Object:
        with R.dataflow() as d:
            y: R.Object = x
            R.output(y)
        return x
"""


@pytest.mark.parametrize("seed", range(4))
def test_mutated_texts_are_read_or_refused(seed: int) -> None:
    generator = random.Random(seed)
    pieces = re.findall(r"\w+|\s+|.", SAMPLE)
    for _ in range(500):
        mutated = pieces.copy()
        for _ in range(generator.randint(1, 4)):
            at, other = generator.randrange(len(mutated)), generator.randrange(len(pieces))
            match generator.randrange(4):
                case 0:
                    del mutated[at]
                case 1:
                    mutated.insert(at, mutated[at])
                case 2:
                    mutated[at] = pieces[other]
                case _:
                    mutated[at:at] = pieces[other : other + 20]
        text = "".join(mutated)
        file, diagnostics = parse_syntax(Source("a.tvms", text))
        assert file.body or diagnostics or not text.strip(), f"seed {seed}: {text!r}"
        for diagnostic in diagnostics:
            assert diagnostic.span is not None
            assert 0 <= diagnostic.span.start <= diagnostic.span.end <= len(text) + 1, f"seed {seed}: {text!r}"
        assert (render(diagnostics) == "") == (not diagnostics)


@given(st.text(alphabet="ab1 \n\t\r\f\\\"'#()[]{}:,.=+-*@if;é\u2028\x00", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    _, diagnostics = parse_syntax(Source("a.tvms", text))
    render(diagnostics)


@pytest.mark.parametrize(
    "text",
    [
        '"' * 200_001,
        "(" * 19_000 + "\n" * 200_000,
        "\\\n" * 200_000,
        "'''" + "\\'" * 200_000,
        "x = " + "[" * 15_000 + "1 1",
    ],
)
def test_hostile_texts_take_linear_time(text: str) -> None:
    """Quadratic time would be many minutes; the limit is one of the process, whatever else the machine does."""
    start = time.process_time()
    parse_syntax(Source("a.tvms", text))
    assert time.process_time() - start < 60


def test_lines_without_tokens_leave_the_blocks_as_they_are() -> None:
    lines = ("r\n", "if x:\n", " ", "\\\n", "\n")
    for count in range(1, 6):
        for parts in product(lines, repeat=count):
            source = Source("x.tvms", "".join(parts))
            for ranges in (None, ((0, len(source.text)),)):
                file, mistakes = parse_syntax(source, ranges)
                assert mistakes or file.body or not {"r\n", "if x:\n"} & {*parts}
