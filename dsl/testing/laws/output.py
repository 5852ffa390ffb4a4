"""Characters of a program never act as commands in output: on terminals, in pictures, reports, comments of C and
symbols.

An example puts hostile characters (escape sequences, bidirectional controls, unpaired surrogates, syntax of other
languages) into a file name, a comment, and the names of a function and a block. All output for that program must be
readable by its consumer and must not contain terminal control characters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from typing import Any
from xml.etree import ElementTree

from hypothesis import strategies as st
from msgspec import Struct, field

from ....ir.base import IRModule, Source
from ....ir.diagnostics import Diagnostic, TvmsError
from ....ir.sanitize import c_comment, markup, say, symbol, visible
from ....ir.verify import verify
from ...diagnostics import render
from ...load import parse_source
from ...reports import as_json, concise, github, sarif
from ...view.document import picture
from ..choices import Choices
from .law import Law

_PIECES = (
    "a", "b", "name", "0", "_", " ", "é", "変数", "\x1b[31m", "\x1b]0;title\x07", "\x00", "\x07", "\x08", "\r", "\t", "\n", "\x7f",
    "\x85", "\x9b31m", "\u2028", "\u200b", "\u202e", "\u2066", "\ufeff", "\U000e0041", "\ud800", "\udcff", "*/", "/*", "<b>", "</text>",
    "]]>", "&", "&lt;", "'", '"', "\\", "%", "%0A", ",", ":", "::error::", ";", "$", "$41$", ".", "{}", "${{x}}", "-->", "#",
)  # fmt: skip
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_COMMAND = re.compile(r"::(error|warning) ((?:[a-zA-Z]+=[^,:\n]*,?)+)::[^\n]*")
READ, REFUSED = "programs that were read", "programs with errors"

_PROGRAM = """\
T.prim_func main(A: T.Buffer((4,), "int32")):  # {comment}
    for i in range(4):
        with T.block("{block}"):
            vi = T.axis.spatial(4, i)  # {comment}
            T.attr(A.data, "{block}", 1)
            A[vi + {offset}] = vi
"""


class Example(Struct):
    """The name of a file, a comment in it, and the names of a block and a function."""

    file: str
    comment: str
    block: str
    function: str
    is_faulty: bool
    outcome: list[str] = field(default_factory=list[str])

    @property
    def text(self) -> str:
        """The program. Its second block name is written with escapes."""
        block = self.block.encode("unicode_escape").decode().replace('"', '\\"')
        comment = self.comment.replace("\n", " ")
        return _PROGRAM.format(comment=comment, block=block, offset=int(self.is_faulty))

    def __str__(self) -> str:
        return json.dumps([self.file, self.comment, self.block, self.function, self.is_faulty])


@st.composite
def _examples(draw: st.DrawFn) -> Example:
    choose = Choices(draw)

    def hostile() -> str:
        return "".join([choose.pick(_PIECES) for _ in range(choose.number(0, 4))])

    return Example(hostile(), hostile(), hostile(), f"f{hostile()}", choose.rarely(2))


def _check(example: Example, execute: Any) -> None:
    example.outcome = []
    told: Sequence[Diagnostic] = (Diagnostic("E0001", example.comment, None, example.block, file=example.file),)
    try:
        module = parse_source(Source(example.file, example.text))
    except TvmsError as problem:
        example.outcome.append(REFUSED)
        _check_reports((*told, *problem.diagnostics))
    else:
        example.outcome.append(READ)
        _check_reports((*told, *verify(module, "bounds", strict=True)))
        _check_picture(IRModule({example.function: module.functions["main"]}), example)
    _check_words(example)


def _check_reports(diagnostics: Sequence[Diagnostic]) -> None:
    _check_printable("the report", render(diagnostics))
    _check_printable("the colored report", _COLOURS.sub("", render(diagnostics, color=True)))
    _check_lines("the concise report", concise(diagnostics), len(diagnostics))
    commands = github(diagnostics)
    _check_lines("GitHub's report", commands, len(diagnostics))
    for diagnostic, line in zip(diagnostics, commands.split("\n"), strict=True):
        found = _COMMAND.fullmatch(line)
        assert found, f"not a GitHub command: {line!r}"
        file = dict(part.split("=", 1) for part in found[2].split(",")).get("file", "")
        name = diagnostic.span.source.name if diagnostic.span else diagnostic.file
        assert _decoded(file) == visible(name), f"the file {name!r} is {file!r} for GitHub"
    for format in (as_json, sarif):
        text = format(diagnostics)
        _check_printable(format.__name__, text)
        json.dumps(json.loads(text), ensure_ascii=False).encode()  # encode raises if there is an unpaired surrogate
    for result in json.loads(sarif(diagnostics))["runs"][0]["results"]:
        for location in result.get("locations", ()):
            uri = location["physicalLocation"]["artifactLocation"]["uri"]
            assert re.fullmatch(r"[A-Za-z0-9%/._~:-]*", uri), f"not a URI: {uri!r}"


def _decoded(value: str) -> str:
    for old, new in (("%3A", ":"), ("%2C", ","), ("%0A", "\n"), ("%25", "%")):
        value = value.replace(old, new)
    return value


def _check_picture(module: IRModule, example: Example) -> None:
    page = picture(module, example.file, as_html=True)
    _check_printable("the picture", page)
    drawn = ElementTree.fromstring(picture(module, ""))
    names = ["".join(item.itertext()) for item in drawn.iter() if item.get("class") == "title"]
    assert visible(example.function) in names, f"the picture has the names {names}"


def _check_words(example: Example) -> None:
    for text in (example.file, example.comment, example.block, example.function):
        terminal = StringIO()
        say(text, terminal, end="")
        _check_printable("what is said", terminal.getvalue())
        inside = c_comment(text)
        _check_lines("a comment of C", inside, 1)
        assert not {"*/", "/*"} & {inside[at : at + 2] for at in range(len(inside))}, (
            f"a comment of C ends early: {inside!r}"
        )
        element = ElementTree.fromstring(f'<a b="{markup(text)}">{markup(text)}</a>')
        assert (element.text or "") == visible(text), f"the text of an element is {element.text!r}"
        _check_symbols(text)


def _check_symbols(name: str) -> None:
    """Assert that the symbol of a name is valid, and that names that differ in one character have different symbols."""
    own = symbol(name, _spelled)
    assert re.fullmatch(r"[A-Za-z0-9_$]*", own), f"not a symbol: {own!r}"
    for character in set(name):
        other = name.replace(character, "\xfc")
        assert other == name or symbol(other, _spelled) != own, f"{name!r} and {other!r} have the symbol {own!r}"


def _spelled(character: str) -> str:
    return f"${ord(character):x}$"


def _check_lines(what: str, text: str, count: int) -> None:
    assert text.count("\n") + 1 == count, f"{what} has {text.count(chr(10)) + 1} lines, not {count}: {text!r}"
    _check_printable(what, text)


def _check_printable(what: str, text: str) -> None:
    wrong = [character for character in text if not (character.isprintable() or character == "\n")]
    assert not wrong, f"{what} holds {wrong[0]!r}: {text[:200]!r}"


def _constructs(example: Example) -> Iterator[str]:
    yield from example.outcome
    everything = "".join((example.file, example.comment, example.block, example.function))
    yield from (f"{piece!a}" for piece in _PIECES if piece in everything)


def _read(source: Source) -> Example:
    """Return the example in the first line of a text that is not a comment."""
    lines: Iterable[str] = (line for line in source.text.split("\n") if not line.startswith("#"))
    return Example(*json.loads(next(iter(lines))))


LAW = Law(
    lambda file: _examples(), _check, read=_read, constructs=_constructs, reads_files=False, counted=(READ, REFUSED),
    expected=frozenset([READ, REFUSED, *[f"{piece!a}" for piece in _PIECES]]),
)  # fmt: skip
