"""The formatter: one layout for every text, that of the printer; nothing else changes, however narrow the lines."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tvms.dsl.formatter import format_text
from tvms.dsl.formatter.text import layout
from tvms.dsl.load import parse
from tvms.dsl.parser import parse_syntax
from tvms.dsl.parser.driver import parse_lines
from tvms.ir.base import Source
from tvms.ir.diagnostics import TvmsError

SAMPLES = sorted((Path(__file__).parent.parent.parent / "samples").glob("*.tvms"))


@pytest.mark.parametrize(
    ("text", "formatted"),
    [
        ("", ""),
        ("\n\n", ""),
        ("x=1", "x = 1\n"),
        ("x=-1+ - y*~z **-2", "x = -1 + -y * ~z ** -2\n"),
        ("x = not(a)and b", "x = not (a) and b\n"),
        ("x=a if(b)else[c]", "x = a if (b) else [c]\n"),
        ("f ( a ,b = 1 , * c )", "f(a, b=1, *c)\n"),
        ("f(a = [1], b=(2,))", "f(a=[1], b=(2,))\n"),
        ("x [ 1 : 2 , : , a+1 :: b ]", "x[1:2, :, a + 1::b]\n"),
        ("x[lambda a,b : a, {c :d}]", "x[lambda a, b: a, {c: d}]\n"),
        ("x:T . int32=1", "x: T.int32 = 1\n"),
        ("x+=1", "x += 1\n"),
        ("(a,b)=c", "(a, b) = c\n"),
        ("a ,b=c", "a, b = c\n"),
        ("x = 'a''b' \"c\"", "x = 'a' 'b' \"c\"\n"),
        ("x = [ ... , a [ ... ]]", "x = [..., a[...]]\n"),
        ("import a . b as c,d", "import a.b as c, d\n"),
        ("from a import(b)", "from a import (b)\n"),
        ("x = 1 + \\\n  2", "x = 1 + 2\n"),
        ("x = 1 \\\n", "x = 1\n"),
        ("x = 1 \\\n  # one\ny", "x = 1  # one\ny\n"),
        ("return(1)", "return (1)\n"),
        ("assert a,'b'", "assert a, 'b'\n"),
        ("@ a . b ( c )\ndef f [ n ] ( x :y )->z :pass", "@a.b(c)\ndef f[n](x: y) -> z: pass\n"),
        ("a.b( c ) f( x ) :\n  pass", "a.b(c) f(x):\n    pass\n"),
        ("class A( B ) :\n\tpass", "class A(B):\n    pass\n"),
        ("if a :\n b\nelif c:\n\n  d\nelse :\n   e", "if a:\n    b\nelif c:\n    d\nelse:\n    e\n"),
        ("with a as b,c:\n d", "with a as b, c:\n    d\n"),
        ("\ufeffx = 1\n\n\n\n\ny = 2\n\n\n", "x = 1\n\n\ny = 2\n"),
        ("if a:\n\n\n    b\n\n\n    c\n", "if a:\n    b\n\n    c\n"),
        ("x=1\r\ny=2\r\n", "x = 1\r\ny = 2\r\n"),
    ],
)
def test_layout(text: str, formatted: str) -> None:
    assert format_text(text) == formatted


@pytest.mark.parametrize(
    ("text", "formatted"),
    [
        ("f(a,)", "f(\n    a,\n)\n"),
        ("f(\na, b)", "f(\n    a,\n    b,\n)\n"),
        ("f(a, [\nb])", "f(a, [\n    b,\n])\n"),
        ("x = (\na + b)", "x = (\n    a + b\n)\n"),
        ("x = (a,)", "x = (a,)\n"),
        ("x = (\na,)", "x = (\n    a,\n)\n"),
        ("x[a,]", "x[a,]\n"),
        ("x[\na]", "x[\n    a\n]\n"),
        ("f(\n)", "f()\n"),
        ("f(lambda a, b: c,)", "f(\n    lambda a, b: c,\n)\n"),
        ("f(a # one\n , b # two\n)", "f(\n    a,  # one\n    b,  # two\n)\n"),
        ("f( # one\n  # two\n a\n # three\n)", "f(  # one\n    # two\n    a,\n    # three\n)\n"),
        ("f( # one\n)", "f(  # one\n)\n"),
        ("f(a + # one\n # two\n b)", "f(\n    a\n    + b,  # one\n    # two\n)\n"),
        ("f(a +\nb, c\n- d)", "f(\n    a\n    + b,\n    c\n    - d,\n)\n"),
        ("x = (\na * c\n+ b)", "x = (\n    a * c\n    + b\n)\n"),
        ("x = (a * b\n* c + d)", "x = (\n    a * b * c + d\n)\n"),
    ],
)
def test_brackets_that_the_author_broke(text: str, formatted: str) -> None:
    assert format_text(text) == formatted


@pytest.mark.parametrize(
    ("text", "formatted"),
    [
        ("f(\n  a, b)", "f(a, b)\n"),
        ("f(a,)", "f(\n    a,\n)\n"),
        ("f(aaaaaa, bbbbbb, ccccc)", "f(\n    aaaaaa,\n    bbbbbb,\n    ccccc,\n)\n"),
        ("a[i] = ffffff(aaaaaaaa, b)", "a[i] = ffffff(\n    aaaaaaaa,\n    b,\n)\n"),
        ("f(a, g(bbbbbbbb, ccccccccc))", "f(\n    a,\n    g(\n        bbbbbbbb,\n        ccccccccc,\n    ),\n)\n"),
        ("xxxxxxxxxxxx = yyyyyyyyyyyyyyyy", "xxxxxxxxxxxx = yyyyyyyyyyyyyyyy\n"),
        ("x = (aaaaaaaaa + bbbbbbbbbb)", "x = (\n    aaaaaaaaa\n    + bbbbbbbbbb\n)\n"),
        ("x = (aaaaaa + bbbbbb)", "x = (\n    aaaaaa + bbbbbb\n)\n"),
        ("a[i] = bbbbbbb[i] * c - dddddd[j]", "a[i] = (\n    bbbbbbb[i] * c\n    - dddddd[j]\n)\n"),
        ("a[i] += bbbbbbb[i] + c", "a[i] += (\n    bbbbbbb[i] + c\n)\n"),
        ("x: T.let[T.i] = aaaa + b", "x: T.let[T.i] = (\n    aaaa + b\n)\n"),
        ("return aaaaaaa[i] + b", "return (\n    aaaaaaa[i] + b\n)\n"),
        ("return aaaaaaaa, bbbbbbbbb + c", "return aaaaaaaa, bbbbbbbbb + c\n"),
        ("if aaaaaaaaa and bbbbbb < c: d", "if (\n    aaaaaaaaa\n    and bbbbbb < c\n): d\n"),
        ("assert aaaaaaaaaaa < b, 'c'", "assert (\n    aaaaaaaaaaa < b\n), 'c'\n"),
        ("x = aaaaaaaa if bbbbbbbb else c", "x = (\n    aaaaaaaa\n    if bbbbbbbb\n    else c\n)\n"),
        ("f(aaaaaaaaaaaaa + b, c)", "f(\n    aaaaaaaaaaaaa\n    + b,\n    c,\n)\n"),
        ("f(aaaaaaaaaa * bbbbbb + c)", "f(\n    aaaaaaaaaa\n        * bbbbbb\n    + c,\n)\n"),
        ("a[iiiiiii, jjjjjjj] = f(x)", "a[\n    iiiiiii,\n    jjjjjjj,\n] = f(x)\n"),
        ("a[i, j] = ffff(aaaaa[i, j])", "a[i, j] = ffff(\n    aaaaa[i, j],\n)\n"),
        ("x = -aaaaaaaaaaaaaaaaaaa", "x = -aaaaaaaaaaaaaaaaaaa\n"),
        ("(aaaa, bbbb) = cccc + ddddd", "(aaaa, bbbb) = (\n    cccc + ddddd\n)\n"),
        ("T.f(a) g(bbbbbb: c) -> ddd: pass", "T.f(a) g(\n    bbbbbb: c,\n) -> ddd: pass\n"),
    ],
)
def test_lines_of_twenty_columns(text: str, formatted: str) -> None:
    assert format_text(text, line_length=20) == formatted


LONG = (
    "F[v] = T.max(T.float16(-5), T.Cast('float16', P[0]) / (T.fabs(A[(v + v) % 5, T.max(T.min(v * 2 + v, 3), 0)]) + c)) "
    "- (T.float16(3) + A_3[(v * 3 + v) % 4] - T.Cast('float16', P[0]) / (T.fabs(A[T.max(T.min(v * 2 + v, 3), 0)]) + c))\n"
)


@pytest.mark.parametrize("line_length", range(8, 200, 6))
def test_one_layout_is_enough_for_a_text_without_comments(line_length: int) -> None:
    def laid_out(text: str) -> str:
        _, found, lines = parse_lines(Source("long.tvms", text))
        assert not found
        return layout(text, lines, line_length)

    once = laid_out(LONG)
    assert laid_out(once) == once == format_text(LONG, line_length=line_length)


@pytest.mark.parametrize(
    ("text", "formatted"),
    [
        ("x=1 # fmt: skip\ny=2\n", "x=1  # fmt: skip\ny = 2\n"),
        ("if a:\n  x = [1,\n   2]# fmt:skip\n  y=2", "if a:\n    x = [1,\n   2]  # fmt:skip\n    y = 2\n"),
        ("if  a :# fmt: skip\n  b=1", "if  a :  # fmt: skip\n    b = 1\n"),
        ("# fmt: off\nx=1 #1\n\n\n\n\ny # fmt: no\n", "# fmt: off\nx=1 #1\n\n\n\n\ny # fmt: no\n"),
        ("a=1\n# fmt: off\nb=2\n# fmt: on\nc=3", "a = 1\n# fmt: off\nb=2\n# fmt: on\nc = 3\n"),
        ("if a:\n  # fmt: off\n  b=1\nc=2", "if a:\n    # fmt: off\n    b=1\nc = 2\n"),
        (
            "if a:\n  # fmt: off\n  if b :\n   c=[1,\n2]\n\n   #d\n   # fmt: on\n  # fmt: on\n  e=1",
            "if a:\n    # fmt: off\n    if b :\n     c=[1,\n2]\n\n     #d\n     # fmt: on\n    # fmt: on\n    e = 1\n",
        ),
        ("if a:\r\n\t# fmt: off\r\n\tb=1 \r\nc=2\r\n", "if a:\r\n    # fmt: off\r\n    b=1 \r\nc = 2\r\n"),
        ("f(\n  # fmt: off\n  a )", "f(\n    # fmt: off\n    a,\n)\n"),
    ],
)
def test_what_is_to_stay_as_it_is_stays(text: str, formatted: str) -> None:
    assert format_text(text) == formatted
    assert format_text(formatted) == formatted


def test_comments_and_blank_lines_stay_where_they_are() -> None:
    text = (
        "#tvms 1\n\n# above\na b:# after\n  # first\n  c\n\n  # second\n  d   # third\n  # fourth\n\n"
        "# below\n\n\n\n  # last\ne\n"
    )
    assert format_text(text) == (
        "#tvms 1\n\n# above\na b:  # after\n    # first\n    c\n\n    # second\n    d  # third\n    # fourth\n\n"
        "# below\n\n\n# last\ne\n"
    )


def test_a_text_with_errors_is_refused() -> None:
    with pytest.raises(TvmsError) as caught:
        format_text("x = \ny = = 1\n", "a.tvms")
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["E0008", "E0008"]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_samples_are_formatted(sample: Path) -> None:
    text = sample.read_text(encoding="utf-8")
    assert format_text(text, sample.name) == text


@pytest.mark.parametrize("dialect", ["tvms", "tvm-0.21", "tvm-0.27"])
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_what_the_printer_writes_is_formatted(sample: Path, dialect: str) -> None:
    printed = parse(sample.read_text(encoding="utf-8")).script(dialect).rstrip("\n") + "\n"
    assert format_text(printed) == printed


WORDS = re.compile(r"#[^\n]*|\w+|[^\w\s,()]")


@pytest.mark.parametrize("line_length", [None, 1, 20, 88])
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_only_white_space_commas_and_parentheses_change(sample: Path, line_length: int | None) -> None:
    text = sample.read_text(encoding="utf-8")
    formatted = format_text(text, line_length=line_length)
    assert WORDS.findall(formatted) == WORDS.findall(text)
    assert format_text(formatted, line_length=line_length) == formatted


@pytest.mark.parametrize("line_length", [None, 1, 40])
@pytest.mark.parametrize("seed", range(8))
def test_any_spacing_gives_the_same_layout(seed: int, line_length: int | None) -> None:
    generator = random.Random(seed)
    text = format_text(SAMPLES[seed % len(SAMPLES)].read_text(encoding="utf-8"), line_length=line_length)
    if line_length is not None:
        text = format_text(text, line_length=10_000)

    def loosen(match: re.Match[str]) -> str:
        return generator.choice([" ", "   ", "\t"]) + match[0].strip() + generator.choice(["", " "])

    lines = [
        line if "#" in line or '"' in line else re.sub(r" ?[-+*/=<>]+ ?", loosen, line) for line in text.split("\n")
    ]
    assert format_text("\n".join(lines), line_length=10_000) == format_text(text, line_length=10_000), f"seed {seed}"


@given(st.recursive(st.sampled_from(["a", "b.c", "1", "-d"]), lambda inner: st.one_of(
    st.tuples(st.sampled_from(["f({}, {})", "[{}, {}]", "({} + {})", "x[{}, {}:]", "({}, {},)", "g(y={}, *{},)", "{{{}: {}}}", "(lambda e, g: {} if {} else c)"]), inner, inner).map(lambda parts: parts[0].format(*parts[1:]))
), max_leaves=30), st.sampled_from([None, 1, 10, 30]))  # fmt: skip
def test_any_nest_of_brackets_is_laid_out_stably(text: str, line_length: int | None) -> None:
    assert WORDS.findall(format_text(text, line_length=line_length)) == WORDS.findall(text)


TWO = "if a:\n  b=1\n  c=[1,\n 2]# c\n\n\n\n  d=1\ne=1\n"


@pytest.mark.parametrize(
    ("lines", "formatted"),
    [
        ((2, 2), "if a:\n  b = 1\n  c=[1,\n 2]# c\n\n\n\n  d=1\ne=1\n"),
        ((4, 4), "if a:\n  b=1\n  c = [\n      1,\n      2,\n  ]  # c\n\n\n\n  d=1\ne=1\n"),
        ((5, 9), "if a:\n  b=1\n  c=[1,\n 2]# c\n\n\n\n  d = 1\ne = 1\n"),
        ((20, 30), TWO),
        ((1, 9), "if a:\n    b = 1\n    c = [\n        1,\n        2,\n    ]  # c\n\n    d = 1\ne = 1\n"),
    ],
)
def test_only_the_statements_of_a_range_change(lines: tuple[int, int], formatted: str) -> None:
    assert format_text(TWO, lines=lines) == formatted
    assert parse_syntax(Source("", formatted))[1] == ()


def test_a_comment_that_moves_into_another_bracket() -> None:
    """The first break puts the comment into the condition, which then needs no break of its own."""
    text = "x = f(T.if_then_else(0 <= vi -  # in\n1 and 0 <= 4 - (vj - 2) and 4 - (vj - 2) < 5, A, T.float32(0)))\n"
    formatted = format_text(text, line_length=40)
    assert format_text(formatted, line_length=40) == formatted
    assert "# in\n" in formatted
