"""No comment is lost or duplicated, and each belongs to what a reader would say it belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tvms.dsl import syntax
from tvms.dsl.parser import parse_syntax
from tvms.ir.base import Source, Trivia

SAMPLE = """\
I.ir_module Module:
    I.module_attrs({"a": 1})

    T.prim_func(private=True) f(
        A: T.Buffer((128,), "float32"),
        B: T.handle,
    ) -> T.int32:
        for i, j in T.grid(
            1, 2
        ):
            with T.block("b"):
                A[i] = 1
            if i < 3:
                B = "#no comment"
                B += 1
            elif j:
                pass
            else:
                return (1,
                  2)
        return 0

    @R.function
    def g(x: R.Tensor):
        while x: y = 1
        return x

S.schedule tiled(Module):
    b: T.int32 = 1
"""


def collected(node: object) -> Iterator[str]:
    stack = [node]
    while stack:
        node = stack.pop()
        match node:
            case Trivia():
                yield from (*node.before, *node.end, *((node.after,) if node.after else ()))
            case syntax.File():
                yield from (*node.header, *node.footer)
                stack.append(node.body)
            case tuple():
                stack.extend(node)
            case msgspec.Struct():
                stack.extend(msgspec.structs.astuple(node))
            case _:
                pass


@given(st.data())
def test_comments_are_neither_lost_nor_duplicated(data: st.DataObject) -> None:
    lines: list[str] = []
    for number, line in enumerate(SAMPLE.splitlines()):
        for index in range(data.draw(st.integers(0, 2))):
            lines.append(" " * data.draw(st.integers(0, 24)) + f"# {number}.{index}")
        if data.draw(st.booleans()):
            lines.append("")
        lines.append(line + (f"  # {number}" if data.draw(st.booleans()) else ""))
    lines.extend(
        " " * data.draw(st.integers(0, 12)) + f"# last {index}" for index in range(data.draw(st.integers(0, 3)))
    )
    text = data.draw(st.sampled_from(["\n", "\r\n"])).join(lines) + data.draw(st.sampled_from(["\n", ""]))
    file, diagnostics = parse_syntax(Source("test.tvms", text))
    assert diagnostics == ()
    written = re.findall(r"# (?:last )?[0-9.]+", text)
    assert sorted(collected(file)) == sorted(written)


def trivia_of(text: str) -> tuple[syntax.File, Trivia | None]:
    file, diagnostics = parse_syntax(Source("test.tvms", text))
    assert diagnostics == ()
    return file, file.body[0].trivia


def test_places_of_comments() -> None:
    file, trivia = trivia_of(
        "#tvms 1\n# above\na.b f(\n    # inside\n    a,\n):  # after\n    # first\n    pass\n\n    # end\n# below\n"
    )
    assert file.header == ("#tvms 1",)
    assert trivia == Trivia(("# above", "# inside"), "# after", ("# end",))
    definition = file.body[0]
    assert isinstance(definition, syntax.Definition)
    assert definition.body[0].trivia == Trivia(("# first",))
    assert file.footer == ("# below",)


def test_a_blank_line_ends_the_header() -> None:
    file, trivia = trivia_of("# one\n\n# two\n\n# three\na = b\n")
    assert file.header == ("# one", "# two")
    assert trivia == Trivia(("# three",))


def test_comments_of_decorators_belong_to_the_definition() -> None:
    _, trivia = trivia_of("@a  # one\n# two\ndef f():  # three\n    pass\n")
    assert trivia == Trivia(("# one", "# two"), "# three")


def test_comments_of_an_else_belong_to_what_follows_it() -> None:
    file, trivia = trivia_of("if a:\n    b\n    # one\n# two\nelse:  # three\n    c\n    # four\n# five\nd\n")
    assert trivia == Trivia(end=("# four",))
    branch = file.body[0]
    assert isinstance(branch, syntax.If)
    assert branch.orelse[0].trivia == Trivia(("# one", "# two", "# three"))
    assert file.body[1].trivia == Trivia(("# five",))


def test_a_comment_in_a_loop_above_an_else_belongs_to_the_loop() -> None:
    file, _ = trivia_of("if a:\n    for i in b:\n        c\n        # one\n    # two\nelse:\n    d\n")
    branch = file.body[0]
    assert isinstance(branch, syntax.If)
    assert branch.body[0].trivia == Trivia((), None, ("# one",))
    assert branch.orelse[0].trivia == Trivia(("# two",))


def test_comments_of_an_elif_belong_to_it() -> None:
    file, trivia = trivia_of("if a:\n    b\n# one\nelif c:  # two\n    d\n    # three\n")
    branch = file.body[0]
    assert isinstance(branch, syntax.If)
    assert trivia is None
    assert branch.orelse[0].trivia == Trivia(("# one",), "# two", ("# three",))


def test_lines_that_printers_write_are_left_out() -> None:
    file, trivia = trivia_of(
        "# from tvm.script import tir as T\n# Metadata omitted. Use show_meta=True in script() method to show it.\n"
        'T.prim_func f():\n    # with T.block("root"):\n    # with T.sblock("root"):\n    pass  # kept\n'
    )
    assert file.header == ()
    assert trivia is None
    assert list(collected(file)) == ["# kept"]
