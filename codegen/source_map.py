"""Which lines of a compiled program come from which line of its source: `tvms compile --lines`.

The text of each stage equals the text without lines: the directives and metadata that carry the lines are removed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby

from msgspec import Struct

from ..ir import script
from ..ir.base import IRModule, Source
from ..ir.source_lines import SourceLines, source_of
from .build import Settings
from .runtime.executable import emit
from .target import get_target

Numbered = Iterable[tuple[str, int | None]]
"""The lines of a text, each with the number of its source line, if it has one."""


class Mapped(Struct, frozen=True):
    """A text, and the source lines of its lines, as ranges: source line, first and last line of the text. Numbers start at 1.

    Ranges are in the order of the text and do not overlap. A line outside of all ranges comes from no statement.
    """

    text: str
    lines: tuple[tuple[int, int, int], ...]


def mapped(module: IRModule, kind: str, target: str, settings: Settings) -> Mapped:
    """Return what `tvms compile --emit` writes for a kind of `MAPPED`, with the source lines of its lines."""
    source = source_of(module) or Source("", "")
    return MAPPED[kind](module, target, settings, source)


def _of(numbered: Numbered) -> Mapped:
    lines, numbers = zip(*numbered, strict=True) if numbered else ((), ())
    return Mapped("\n".join(lines), tuple(_ranges(numbers)))


def _ranges(numbers: Iterable[int | None]) -> Iterator[tuple[int, int, int]]:
    """Yield source line, first and last line of the ranges of lines with the same source line."""
    for number, group in groupby(enumerate(numbers, 1), key=lambda item: item[1]):
        places = [place for place, _ in group]
        if number is not None:
            yield number, places[0], places[-1]


def _tir(module: IRModule, target: str, settings: Settings, source: Source) -> Mapped:
    from .aot import lowered

    text, spans = script.script_with_spans(lowered(module, target, settings, lines=True), source)
    known = SourceLines()
    numbers = (known.line_of(spans.get(number), source) for number in range(1, text.count("\n") + 2))
    return Mapped(text, tuple(_ranges(numbers)))


_ATTACHED = re.compile(r",? !dbg !(\d+)")
_METADATA = re.compile(r"!(\d+) = ")
_LOCATED = re.compile(r"^!(\d+) = (?:distinct )?!(?:DILocation|DISubprogram)\(.*?\bline: (\d+)", re.MULTILINE)
_REFERENCE = re.compile(r"!(\d+)\b")
_DEBUG = ("!llvm.dbg.cu", "!llvm.module.flags")


def _llvm_lines(text: str) -> Iterator[tuple[str, int | None]]:
    """Yield the lines of LLVM IR without debug locations, with the numbers of their source lines."""
    lines = text.rstrip("\n").split("\n")
    source = {number: int(line) for number, line in _LOCATED.findall(text)}
    metadata = {found[1]: line for line in lines if (found := _METADATA.match(line))}
    code = [line for line in lines if not _METADATA.match(line) and not line.startswith(_DEBUG)]
    bare = [_ATTACHED.sub("", line) for line in code]
    kept = _reachable(bare, metadata)
    new = {number: str(place) for place, number in enumerate(kept)}

    def renumbered(line: str) -> str:
        return line if line.startswith("@") else _REFERENCE.sub(lambda found: f"!{new[found[1]]}", line)

    while bare and not bare[-1]:
        bare.pop()
    for line, plain in zip(code, bare, strict=False):
        found = _ATTACHED.search(line)
        yield renumbered(plain), (source.get(found[1], 0) or None) if found else None
    if kept:
        yield "", None
        yield from ((renumbered(metadata[number]), None) for number in kept)
    yield "", None


def _reachable(lines: Iterable[str], metadata: Mapping[str, str]) -> list[str]:
    """Return the numbers of the metadata that `lines` refer to, in order. Those of constants (`@…`) are data."""
    open_ones = [number for line in lines if not line.startswith("@") for number in _REFERENCE.findall(line)]
    found: set[str] = set()
    while open_ones:
        number = open_ones.pop()
        if number not in found:
            found.add(number)
            open_ones += _REFERENCE.findall(metadata[number])
    return [number for number in metadata if number in found]


_LOCATION = re.compile(r"\t\.loc\t\d+ (\d+) ")
_DIRECTIVE = re.compile(
    r"\t\.(?:loc\t|file\t\d|cfi_)|\.Lfunc_begin\d+:|\.Ltmp\d+:|\$L__(?:func_begin|func_end|tmp)\d+:"
)
"""Directives and labels that assembly has only with debug locations."""
_SECTION = "\t.section\t.debug_"
"""The start of the section that ends PTX with debug locations."""
_INSTRUCTION = re.compile(r"\t[^.\s/#;]")
_END = (".Lfunc_end", "}")


def _assembly_lines(text: str) -> Iterator[tuple[str, int | None]]:
    """Yield the lines of assembly or PTX without debug locations, with the numbers of their source lines."""
    source: int | None = None
    lines = text.split("\n")
    if _SECTION in text:
        del lines[next(place for place, line in enumerate(lines) if line.startswith(_SECTION)) :]
        if lines[-1] == "" and "}" in lines:  # behind functions; without any, the text ends in empty lines
            lines.pop()
        lines.append("")
    for line in lines:
        found = _LOCATION.match(line)
        if found:
            source = int(found[1]) or None
        if line.startswith(_END):
            source = None
        if not _DIRECTIVE.match(line):
            yield line, source if _INSTRUCTION.match(line) else None


def _emitted(kind: str, read: Callable[[str], Numbered]) -> Callable[[IRModule, str, Settings, Source], Mapped]:
    def make(module: IRModule, target: str, settings: Settings, source: Source) -> Mapped:
        return _of(list(read(str(emit(module, kind, target, settings, source)))))

    return make


FORMATS = ("text", "json")
"""The values of `--lines`: comments in the text, or `Mapped` as JSON."""
MAPPED: Mapping[str, Callable[[IRModule, str, Settings, Source], Mapped]] = {
    "tir": _tir,
    "llvm": _emitted("llvm", _llvm_lines),
    "asm": _emitted("asm", _assembly_lines),
    "ptx": _emitted("ptx", _assembly_lines),
}
"""The kinds of output with lines: text, for people."""


def interleaved(found: Mapped, kind: str, target: str, source: Source | None) -> str:
    """Return a text with each source line, as a comment, above the lines that come from it."""
    sign = {"llvm": ";", "tir": "#"}.get(kind) or ("//" if _has_slashes(target) else "#")
    starts = {start: number for number, start, _ in found.lines}
    written = source.shown.split("\n") if source is not None else []
    shown: list[str] = []
    last: int | None = None
    for place, line in enumerate(found.text.split("\n"), 1):
        number = starts.get(place, last)
        if number != last and number is not None:
            indent = line[: len(line) - len(line.lstrip())]
            shown.append(f"{indent}{sign} {number}: {written[number - 1].strip()}")
            last = number
        shown.append(line)
    return "\n".join(shown)


def _has_slashes(target: str) -> bool:
    """Return whether comments of the target's assembly start with slashes."""
    chosen = get_target(target)
    return chosen.is_device or str(chosen.layout[0]).startswith(("aarch64", "arm64"))
