"""Live schedules: what each step of an `S.schedule` changes, and the function after each line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lsprotocol import types as lsp
from msgspec.structs import replace

from ...ir import tir
from ...ir.base import IRModule
from ...ir.deep import deep
from ...ir.diagnostics import TvmsError
from ...ir.schedule.explain import explain
from ...ir.schedule.text import ScheduleText
from ..diagnostics import render
from ..measured import find, key_of
from .chunks import Chunk, per_chunk
from .document import Document


class Hint(NamedTuple):
    """A text that is shown behind an offset of a chunk."""

    offset: int
    label: str
    kind: lsp.InlayHintKind | None = None


class Scheduled(NamedTuple):
    """The function of a schedule after some of its steps."""

    name: str
    steps: int
    text: str


def scheduled_at(document: Document, offset: int) -> Scheduled | None:
    """Return the function after the steps up to the line of an offset; None outside of schedules that could be read."""
    placed = document.chunk_at(offset)
    node = document.node_of(placed.chunk) if placed is not None else None
    module = document.module
    if placed is None or not isinstance(node, ScheduleText) or module is None:
        return None
    function = module.functions.get(node.function)
    if not isinstance(function, tir.PrimFunc):
        return None
    line_end = document.lines.text.find("\n", offset)
    last = (len(document.lines.text) if line_end < 0 else line_end) - placed.start
    steps = tuple(step for step in node.steps if step.span is not None and step.span.start <= last)
    explained = explain(IRModule({node.function: function}), replace(node, trivia=None), steps)
    text = explained.module.functions[node.function].script()
    if explained.refusal is not None:
        text = f"{text}\n{_commented(explained.refusal)}"
    return Scheduled(node.name, len(explained.text.steps), text)


def _commented(refusal: TvmsError) -> str:
    return "\n".join(f"# {line}".rstrip() for line in render(refusal.diagnostics).splitlines())


@per_chunk
@deep
def effects(chunk: Chunk, text: ScheduleText, function: tir.PrimFunc) -> tuple[Hint, ...]:
    """Return hints about what the steps of a schedule change: tiles, working sets, vectors, parallel loops."""
    module = IRModule({text.function: function})
    try:
        explained = explain(module, replace(text, trivia=None), text.steps)
    except TvmsError:
        return ()
    return tuple(_behind(chunk, text, explained.effects))


def measured(chunk: Chunk, text: ScheduleText, function: tir.PrimFunc) -> tuple[Hint, ...]:
    """Return the time that `tvms bench` measured of the function with this schedule, as both are now."""
    time = find(_key(chunk, text, function))
    if time is None or text.span is None:
        return ()
    end = chunk.text.find("\n", text.span.start)
    return (Hint(len(chunk.text) if end < 0 else end, f"measured: {time}"),)


@per_chunk
def _key(chunk: Chunk, text: ScheduleText, function: tir.PrimFunc) -> str:
    return key_of(function, text)


def _behind(chunk: Chunk, text: ScheduleText, effects: tuple[tuple[str, ...], ...]) -> Iterator[Hint]:
    for step, lines in zip(text.steps, effects, strict=False):
        if lines and step.span is not None and step.span.source is chunk.source:
            end = chunk.text.find("\n", step.span.end)
            yield Hint(len(chunk.text) if end < 0 else end, "; ".join(lines))
