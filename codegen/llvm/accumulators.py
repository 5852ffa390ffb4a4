"""Accumulators in memory: elements that an innermost loop of optimized LLVM IR stores in every step.

k.body:                                             ; preds = %k.body, …
  %new = call <16 x float> @llvm.fma.v16f32(…)
  store <16 x float> %new, ptr %C                   ; should be a register, stored once after the loop
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct, field

_FUNCTION = re.compile(r"^define .*?@(?P<name>\"[^\"]*\"|[\w.$-]+)\(.*?^}", re.MULTILINE | re.DOTALL)
_LABEL = re.compile(r"^(?P<label>\"[^\"]*\"|[\w.$-]+):", re.MULTILINE)
_TARGET = re.compile(r"label %(\"[^\"]*\"|[\w.$-]+)")
_DEFINED = re.compile(r"^  %(\"[^\"]*\"|[\w.$-]+) = ", re.MULTILINE)
_POINTER = r"ptr %(?P<pointer>\"[^\"]*\"|[\w.$-]+)"
_STORE = re.compile(rf"^  store .*, {_POINTER}", re.MULTILINE)
_MOVED = re.compile(rf"^  %(?P<name>\"[^\"]*\"|[\w.$-]+) = getelementptr [^\n]*?{_POINTER}", re.MULTILINE)
_RESTARTED = re.compile(r"\.\d+$")


class _Block(Struct):
    text: str
    following: set[str] = field(default_factory=set[str])


def accumulators_in_memory(text: str) -> dict[str, dict[str, int]]:
    """Return, for each function of optimized LLVM IR, the number of such elements or vectors by the name of their memory; ""
    is unknown memory.
    """
    return {match["name"].strip('"'): _in_function(match.group()) for match in _FUNCTION.finditer(text)}


def _in_function(text: str) -> dict[str, int]:
    blocks, found = _blocks(text), dict[str, int]()
    bases = {match["name"]: match["pointer"] for match in _MOVED.finditer(text)}
    for body in _innermost(blocks):
        code = "\n".join(blocks[label].text for label in body)
        own = set(_DEFINED.findall(code))
        for pointer in {match["pointer"] for match in _STORE.finditer(code)} - own:
            name = _memory_of(pointer, bases)
            found[name] = found.get(name, 0) + 1
    return found


def _memory_of(pointer: str, bases: dict[str, str]) -> str:
    """Return the name of the parameter or allocation behind a pointer; "" for a number."""
    while pointer in bases:
        pointer = bases[pointer]
    name = _RESTARTED.sub("", pointer.strip('"'))
    return "" if not name or name.startswith(".") or name.isdigit() else name


def _blocks(text: str) -> dict[str, _Block]:
    places = [*_LABEL.finditer(text)]
    ends = [*(place.start() for place in places[1:]), len(text)]
    blocks = {place["label"]: _Block(text[place.end() : end]) for place, end in zip(places, ends, strict=True)}
    for block in blocks.values():
        block.following = set(_TARGET.findall(block.text)) & blocks.keys()
    return blocks


def _innermost(blocks: dict[str, _Block]) -> Iterator[set[str]]:
    """Yield the blocks of each loop that contains no other loop."""
    before: dict[str, set[str]] = {label: set() for label in blocks}
    for label, block in blocks.items():
        for following in block.following:
            before[following].add(label)
    loops: dict[str, set[str]] = {}
    for source, header in _back_edges(blocks):
        body, stack = loops.setdefault(header, {header}), [source]
        while stack:
            label = stack.pop()
            if label not in body:
                body.add(label)
                stack += before[label]
    for header, body in loops.items():
        if not any(other in body for other in loops if other != header):
            yield body


def _back_edges(blocks: dict[str, _Block]) -> Iterator[tuple[str, str]]:
    """Yield the edges to a block from one that a depth-first search reaches through it."""
    on_path, done = set[str](), set[str]()
    stack = [(next(iter(blocks)), False)] if blocks else []
    while stack:
        label, is_left = stack.pop()
        if is_left:
            on_path.discard(label)
            continue
        if label in done:
            continue
        done.add(label)
        on_path.add(label)
        stack.append((label, True))
        for following in blocks[label].following:
            if following in on_path:
                yield label, following
            elif following not in done:
                stack.append((following, False))
