"""The work of every command grows at most like n**1.2 with the length of its text, whatever is repeated, doubled or
nested.

Work is the number of function calls, measured at sizes n, 2n and 4n. The calls per character are also bounded, and for
some examples the bytes of memory. Bombs, in which each name is defined by two uses of the previous one, must be refused
or stay small.
"""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import combinations
from typing import Any

from hypothesis import strategies as st
from msgspec import Struct

from ....ir import tir
from ....ir.base import IRModule, Source
from ....ir.deep import run_with_big_stack
from ....ir.diagnostics import TvmsError
from ....ir.equal import structural_equal, structural_hash
from ....ir.simplify.statements import simplify_statements
from ....ir.verify import verify
from ...diagnostics import render
from ...formatter import format_text
from ...load import parse_source
from ..choices import Choices
from ..growth import check_growth, count_calls
from ..oracle import Execute
from ..pieces import LEAF, Piece, chains, pieces
from .law import Law

CALLS = 150
"""Maximum number of calls per additional character. At about 15 million calls a second, a megabyte takes 10 s."""
BYTES = 500
"""Maximum number of bytes per character."""
BOMB = 18
"""Number of doublings in a bomb."""
BOMB_CALLS = 8_000_000
FREE_BYTES = 400_000
"""Bytes that tables and caches may use."""
_SIZES = (6, 8, 12)
_FLAT = ("repeat", "list")
_LEVELS = {
    "repeat": ("expression", "statement", "expression", "operand", "binding", "definition"),
    "nest": ("expression", "statement", "expression", "operand"), "list": ("expression", "operand"),
    "double": ("expression", "operand"), "bomb": ("expression",),
}  # fmt: skip
_TITLE = re.compile(r"^# (\w+) of (.+), ([^,]+), size (\d+)\r?$", re.MULTILINE)

HEAD = 'T.prim_func f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):\n for i in range(16):\n'
MAIN = 'T.prim_func f(A: T.Buffer((16,), "float32")):\n with T.block("b0"):\n  A[0] = T.float32(0)\n'
GRAPH = 'R.function g(x: R.Tensor((4, 4), "float32"), c: R.Tensor((), "bool")):\n'


class Example(Struct, frozen=True):
    """How to generate a text of some size, and the command to measure on it."""

    shape: str
    names: tuple[str, ...]
    stage: str
    size: int
    measured: bool = False

    def __str__(self) -> str:
        title = f"# {self.shape} of {' and '.join(self.names)}, {self.stage}, size {self.size}"
        return f"{title}\n{text_of(self, self.size)}"


# --- Texts ----------------------------------------------------------------------------------------------------


def _indented(lines: str) -> str:
    return "\n".join(f" {line}" for line in lines.split("\n"))


def _in_function(level: str, lines: str) -> str:
    if level == "definition":
        return f"I.ir_module Module:\n{_indented(f'{MAIN}{lines}')}\n"
    if level in ("operand", "binding"):
        return f"{GRAPH}{_indented(lines)}\n return x\n"
    return f"{HEAD}{_indented(_indented(lines))}\n"


def _statement(piece: Piece, number: int, operand: str = "", body: str = "") -> str:
    """Return a piece as a statement. An expression is stored or bound."""
    filled = piece.fill(number, operand, body)
    if piece.level == "expression":
        return f"B[i] = {filled}"
    return f"y{number} = {filled}" if piece.level == "operand" else filled


def _repeated(parts: tuple[Piece, ...], size: int) -> str:
    lines = [_statement(parts[i % len(parts)], i, body=" B[i] = A[i]") for i in range(size)]
    return _in_function(parts[0].level, "\n".join(lines))


def _nested(parts: tuple[Piece, ...], size: int) -> str:
    level = parts[0].level
    if level in LEAF:
        operand = LEAF[level]
        for i in range(size):
            operand = parts[i % len(parts)].fill(i, operand)
        return _in_function(level, f"B[i] = {operand}" if level == "expression" else f"y = {operand}")
    body = "B[i] = A[i]" if level == "statement" else "y = R.add(x, x)"
    for i in range(size):
        body = parts[i % len(parts)].fill(i, body=_indented(body))
    return _in_function(level, body)


def _listed(parts: tuple[Piece, ...], size: int) -> str:
    """Return a text with all uses in one list: elements of a tuple, operands of a sum."""
    uses = [parts[i % len(parts)].fill(i) for i in range(size)]
    if parts[0].level == "expression":
        return _in_function("expression", f"B[i] = {' + '.join(uses)}")
    return _in_function("operand", f"y = ({', '.join(uses)},)")


def _doubled(parts: tuple[Piece, ...], size: int) -> str:
    """Return a text in which each name is defined by an expression that uses the previous name twice."""
    level = parts[0].level
    name, first = ("d", "A[i]") if level == "expression" else ("d", "x")
    lines = [f"{name}0 = {first}"]
    for i in range(size):
        operand = f"({name}{i} + {name}{i})" if level == "expression" else f"R.add({name}{i}, {name}{i})"
        lines.append(f"{name}{i + 1} = {parts[i % len(parts)].fill(i, operand)}")
    lines.append(f"B[i] = {name}{size}" if level == "expression" else f"y = {name}{size}")
    return _in_function(level, "\n".join(lines))


def _bomb(parts: tuple[Piece, ...], size: int) -> str:
    lines = ["d0 = T.meta_var(A[i])"]
    lines += [f"d{i + 1} = T.meta_var({parts[i % len(parts)].fill(i, f'(d{i} + d{i})')})" for i in range(size)]
    return _in_function("expression", "\n".join([*lines, f"B[i] = d{size}"]))


def _chained(name: str, size: int) -> str:
    first, again, *last = chains()[name]
    uses = "".join(
        ("\n" if "\n" in again and not again.startswith("\n") else "")
        + again.replace("{k}", str(i)).replace("{x}", "A[i]")
        for i in range(size)
    )
    return _in_function("statement", first + uses + "".join(last).replace("{rest}", ", 2" * size))


_SHAPES: dict[str, Callable[[tuple[Piece, ...], int], str]] = {
    "repeat": _repeated, "nest": _nested, "list": _listed, "double": _doubled, "bomb": _bomb,
}  # fmt: skip


def text_of(example: Example, size: int) -> str:
    """Return the text of `size` uses."""
    if example.shape == "chain":
        return _chained(example.names[0], size)
    by_name = {(piece.name): piece for piece in pieces()}
    return _SHAPES[example.shape](tuple(by_name[name] for name in example.names), size)


# --- Work -----------------------------------------------------------------------------------------------------


def _read(text: str) -> IRModule | None:
    try:
        return parse_source(Source("example.tvms", text))
    except TvmsError as problem:
        render(problem.diagnostics)
        return None


def _format(text: str, line_length: int | None) -> None:
    try:
        format_text(text, line_length=line_length)
    except TvmsError as problem:
        render(problem.diagnostics)


def _simplify(module: IRModule) -> None:
    for function in module.functions.values():
        if isinstance(function, tir.PrimFunc):
            simplify_statements(function)


_OF_MODULES: dict[str, Callable[[IRModule], object]] = {
    "check": lambda module: render(verify(module, "types")),
    "check bounds": lambda module: render(verify(module)),
    "check races": lambda module: render(verify(module, "races")),
    "print": lambda module: module.script(),
    "print tvm-0.27": lambda module: module.script("tvm-0.27"),
    "hash": structural_hash,
    "simplify": _simplify,
    "compare": lambda module: structural_equal(module, module),
}
_OF_TEXTS: dict[str, Callable[[str], object]] = {
    "read": _read,
    "format": lambda text: _format(text, None),
    "format to 60 columns": lambda text: _format(text, 60),
}
_MEASURED = ("read", "format", "check", "print")
"""Stages whose memory may also be measured."""
COMPILE = "compile"
STAGES = (*_OF_TEXTS, *_OF_MODULES)


def _prepare(example: Example) -> Callable[[int], Any]:
    """Return a function from a size to its text, or to its module if the stage works on modules."""
    if example.stage in _OF_TEXTS:
        return lambda size: text_of(example, size)
    return lambda size: run_with_big_stack(lambda: _read(text_of(example, size)))


def _work(example: Example, execute: Execute) -> Callable[[Any], object]:
    """Return a function that executes the stage of `example` on a result of `_prepare`."""
    if example.stage in _OF_TEXTS:
        return _OF_TEXTS[example.stage]
    if example.stage == COMPILE:
        return lambda module: None if module is None else _compile(module, execute)
    of_module = _OF_MODULES[example.stage]
    return lambda module: None if module is None else of_module(module)


def _compile(module: IRModule, execute: Execute) -> None:
    if "f" in module.functions and not verify(module, "types"):
        with suppress(TvmsError):
            execute(module, "f")


def _check(example: Example, execute: Execute) -> None:
    work, prepare = _work(example, execute), _prepare(example)
    if example.shape == "bomb":
        prepared = prepare(BOMB)
        calls = sum(count_calls(lambda: work(prepared)).values())
        assert calls < BOMB_CALLS, f"{calls:,} calls for {len(text_of(example, BOMB)):,} characters"
        return
    found = check_growth(work, example.size, prepare, lambda size: len(text_of(example, size)))
    if example.stage != COMPILE:
        assert found.calls_of_one < CALLS, f"{found.calls_of_one:.0f} calls for each character, more than {CALLS}"
    if example.measured:
        _check_bytes(example, work, prepare)


def _check_bytes(example: Example, work: Callable[[Any], object], prepare: Callable[[int], Any]) -> None:
    size = example.size * 4
    prepared = prepare(size)
    tracemalloc.start()
    try:
        work(prepared)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    characters = len(text_of(example, size))
    allowed = BYTES * characters + FREE_BYTES
    assert peak <= allowed, f"{peak:,} bytes for {characters:,} characters, more than {allowed:,}"


# --- Examples -------------------------------------------------------------------------------------------------


@st.composite
def _examples(draw: st.DrawFn) -> Example:
    choose = Choices(draw)
    stages = (*STAGES, COMPILE) if choose.rarely(12) else STAGES
    if choose.rarely(8):
        shape, names = "chain", (choose.pick(list(chains())),)
    else:
        shape = choose.pick(("repeat", "repeat", "nest", "nest", "list", "double"))
        shape = "bomb" if choose.rarely(60) else shape
        names = _names(choose, shape)
    stage = choose.pick(stages)
    return Example(shape, names, stage, choose.pick(_SIZES), stage in _MEASURED and choose.rarely(20))


def _names(choose: Choices, shape: str) -> tuple[str, ...]:
    """Choose one piece, or two of the same level, that fit a shape."""
    level = choose.pick(_LEVELS[shape])
    fitting = [piece.name for piece in pieces() if piece.level == level and (shape in _FLAT or piece.nests)]
    return (choose.pick(fitting), choose.pick(fitting)) if choose.number(0, 1) else (choose.pick(fitting),)


def all_examples(stages: Sequence[str], pairs: bool = False, size: int = _SIZES[0]) -> Iterator[Example]:
    """Yield every construct in every shape that fits, in each of `stages`; with `pairs`, all pairs of two constructs instead."""
    fitting = {
        (shape, level): [piece.name for piece in pieces() if piece.level == level and (shape in _FLAT or piece.nests)]
        for shape, levels in _LEVELS.items()
        for level in dict.fromkeys(levels)
    }
    for stage in stages:
        for (shape, _), names in fitting.items():
            chosen = combinations(names, 2) if pairs else ((name,) for name in names)
            yield from (Example(shape, constructs, stage, size) for constructs in chosen)
        yield from (Example("chain", (name,), stage, size) for name in (() if pairs else chains()))


def _constructs(example: Example) -> Iterable[str]:
    return (example.shape, example.stage, *example.names)


def _read_example(source: Source) -> Example:
    """Return the example that a comment of a saved text names."""
    title = _TITLE.search(source.text)
    assert title is not None, "no comment of the text names an example"
    shape, names, stage, size = title.groups()
    return Example(shape, tuple(names.split(" and ")), stage, int(size))


LAW = Law(
    lambda file: _examples(), _check, read=_read_example, constructs=_constructs, reads_files=False,
    expected=frozenset((*STAGES, *_SHAPES, "chain")),
)  # fmt: skip
