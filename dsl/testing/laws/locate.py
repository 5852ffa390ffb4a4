"""An error in a text is reported at its exact position, with the code of its kind.

One expression of a valid text is broken: an undefined name, an unknown form, an extra index, an unclosed bracket, an
invalid number or escape, a positional argument after a named one; or the line of one is indented wrongly. The position of
the error must be that expression or indentation, and nothing else is reported: one mistake is one error, also in a function
that others call. Only tabs among spaces are told of each line that they are compared with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from hypothesis import strategies as st
from msgspec import Struct

from ....ir.base import Source
from ....ir.diagnostics import TvmsError
from ... import syntax
from ...load import parse_source
from ...parser import parse_syntax
from ..choices import Choices
from ..oracle import Execute
from ..texts import texts
from .law import Law


class _Example(Struct, frozen=True):
    text: str
    code: str
    start: int
    end: int

    def __str__(self) -> str:
        line = self.text.count("\n", 0, self.start) + 1
        return f"# {self.code} is to be told in line {line + 1}, at {self.text[self.start : self.end]!r}\n{self.text}"


_Mistake: TypeAlias = Callable[[str, Any], tuple[str, str, int, int] | None]
"""Function from a text and a node of its tree to a broken text, the error code and its position, or to None."""


def _unknown_name(text: str, node: Any) -> tuple[str, str, int, int] | None:
    if not isinstance(node, syntax.Name) or node.id in ("T", "R", "I", "cls"):
        return None
    end = node.start + len(node.id)
    return f"{text[: node.start]}nowhere{text[end:]}", "E0101 E0309", node.start, node.start + len("nowhere")


def _unknown_form(text: str, node: Any) -> tuple[str, str, int, int] | None:
    node = node.func if isinstance(node, syntax.Call) else node
    if not isinstance(node, syntax.Attribute) or not isinstance(node.value, syntax.Name) or node.value.id != "T":
        return None
    return f"{text[: node.end]}_x{text[node.end :]}", "E0103", node.start, node.end + 2


def _index_too_many(text: str, node: Any) -> tuple[str, str, int, int] | None:
    is_access = isinstance(node, syntax.Subscript) and isinstance(node.value, syntax.Name)
    if not is_access or not node.indices or any(isinstance(index, syntax.Slice) for index in node.indices):
        return None
    return f"{text[: node.end - 1]}, 0]{text[node.end :]}", "E0202 E0235", node.start, node.end + 3


def _open_bracket(text: str, node: Any) -> tuple[str, str, int, int] | None:
    if not isinstance(node, syntax.Call) or text[node.end - 1] != ")":
        return None
    line_end = text.find("\n", node.start)
    return f"{text[: node.end - 1]}{text[node.end :]}", "E0009 E0008", text.rfind("\n", 0, node.start) + 1, line_end


_NUMBERS = (("08", "E0012"), ("1__0", "E0012"), ("1e999", "E0010"), (str(2**64), "E0010"))


def _invalid_number(text: str, node: Any) -> tuple[str, str, int, int] | None:
    if not isinstance(node, syntax.Constant) or not text[node.start].isdigit():
        return None
    number, code = _NUMBERS[node.start % len(_NUMBERS)]
    return f"{text[: node.start]}{number}{text[node.end :]}", code, node.start, node.start + len(number)


def _invalid_escape(text: str, node: Any) -> tuple[str, str, int, int] | None:
    if not isinstance(node, syntax.Constant) or text[node.start] != '"':
        return None
    escape = (r"\q", r"\U00110000")[node.start % 2]
    start = node.start + 1
    return f"{text[:start]}{escape}{text[start:]}", "E0011", start, start + len(escape)


def _late_positional(text: str, node: Any) -> tuple[str, str, int, int] | None:
    if not isinstance(node, syntax.Call) or not node.keywords:
        return None
    end = node.end - 1
    return f"{text[:end]}, 0{text[end:]}", "E0008", end + 2, end + 3


def _broken_head(text: str, node: Any) -> tuple[str, str, int, int] | None:
    """Break the head of a function that `node` names. What is wrong with its callers is not known then."""
    if (
        not isinstance(node, syntax.Attribute)
        or not isinstance(node.value, syntax.Name)
        or node.value.id not in ("cls", "Module")
    ):
        return None
    head = re.search(rf"^ *\S+ {re.escape(node.attr)}\(", text, re.MULTILINE)
    return head and (f"{text[: head.end()]}={text[head.end() :]}", "E0008", head.end(), head.end() + 1)


def _tabs(text: str, node: Any) -> tuple[str, str, int, int] | None:
    start, width = _indentation(text, node)
    if width == 0 or width % 8:
        return None
    tabs = "\t" * (width // 8)
    return f"{text[:start]}{tabs}{text[start + width :]}", "E0007", start, start + len(tabs)


def _short_indentation(text: str, node: Any) -> tuple[str, str, int, int] | None:
    start, width = _indentation(text, node)
    before = text[:start].rstrip("\n").rpartition("\n")[2]
    if width < 4 or not before.startswith(" " * width):
        return None
    return f"{text[:start]}{text[start + 2 :]}", "E0007", start, start + width - 2


def _indentation(text: str, node: Any) -> tuple[int, int]:
    """Return the start of the line of a node, and the number of spaces there."""
    start = text.rfind("\n", 0, node.start) + 1
    line = text[start : node.start]
    return start, len(line) - len(line.lstrip(" "))


_MISTAKES: tuple[_Mistake, ...] = (
    _unknown_name, _unknown_form, _index_too_many, _open_bracket, _invalid_number, _invalid_escape, _late_positional,
    _broken_head, _tabs, _short_indentation,
)  # fmt: skip


@st.composite
def _mistakes(draw: st.DrawFn, given: str | None) -> _Example:
    text, choose = draw(texts(given)), Choices(draw)
    tree, _ = parse_syntax(Source("example.tvms", text))
    mistake = choose.pick(_MISTAKES)
    places = [found for node in _expressions(tree.body) if (found := mistake(text, node)) is not None]
    return _Example(*(choose.pick(places) if places else (text, "", 0, 0)))


def _expressions(tree: object) -> Iterator[syntax.Syntax]:
    """Yield the expressions in bodies of functions that are evaluated, without targets, heads and annotations."""
    stack = [(tree, False)]
    while stack:
        node, is_inside = stack.pop()
        if isinstance(node, tuple):
            stack.extend((item, is_inside) for item in node)  # type: ignore[reportUnknownVariableType]
        elif isinstance(node, syntax.Definition):
            stack.append((node.body, node.params is not None))
        elif isinstance(node, syntax.Syntax):
            if is_inside and not isinstance(node, syntax.Statement):
                yield node
            kept = [name for name in node.__struct_fields__ if name not in ("target", "annotation", "trivia", "func")]
            stack.extend((getattr(node, name), is_inside) for name in kept)


def _check(example: _Example, execute: Execute) -> None:
    if not example.code:
        return
    try:
        parse_source(Source("example.tvms", example.text))
    except TvmsError as problem:
        found = problem.diagnostics
    else:
        raise AssertionError(f"{example.code} is not reported")
    places = [
        diagnostic.span for diagnostic in found if diagnostic.code in example.code and diagnostic.span is not None
    ]
    told = ", ".join(
        f"{diagnostic.code} at {diagnostic.span and (diagnostic.span.start, diagnostic.span.end)}"
        for diagnostic in found
    )
    wanted = f"{example.code} at {(example.start, example.end)}"
    is_there = [example.start <= span.start and span.end <= example.end + 1 for span in places]
    assert any(is_there), f"reported: {told}; expected {wanted}"
    assert len(found) == 1 or {diagnostic.code for diagnostic in found} == {"E0007"}, (
        f"reported: {told}; expected only {wanted}"
    )


def _constructs(example: _Example) -> Iterable[str]:
    return (example.code,) if example.code else ()


LAW = Law(
    lambda file: _mistakes(None if file is None else file.text), _check, constructs=_constructs,
    read=lambda source: _Example(source.text, "", 0, 0), expected=frozenset(("E0101 E0309", "E0103", "E0202 E0235", "E0007", "E0008", "E0010", "E0011", "E0012")),
)  # fmt: skip
