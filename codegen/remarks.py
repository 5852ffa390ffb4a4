"""Remarks: where machine code differs from what its schedule looks like.

A vectorized loop may stay scalar, a vector may be gathered element by element, an accumulator may stay in memory, and
registers may be spilled. `tvms compile --report` and `tvms schedule --explain` print them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from ..ir import tir
from ..ir.base import IRModule
from ..ir.deep import deep
from ..ir.diagnostics import Span
from ..ir.dtype import is_vector, lanes_of
from ..ir.passes.instrument import PassInstrument
from ..ir.passes.transform import PassContext
from ..ir.visit import walk
from .build import Settings, build, lower_module, prepare
from .llvm.accumulators import accumulators_in_memory
from .llvm.backend import optimize
from .lower.vectorize import declined_loops
from .names import kernel_symbol
from .target import Target

_SYMBOL = re.compile(r"^\"?(?P<name>[\w.$]+)\"?:")
_SPILL = re.compile(r"(?:16|32|64)-byte (?:Folded )?Spill")
"""A spilled vector register."""


class Remark(Struct, frozen=True):
    """A remark on a function; `line` is that of the text it was read from, 0 if it is unknown."""

    function: str
    text: str
    line: int = 0

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}" if self.line else self.text


class _Vectorization(PassInstrument):
    """Records each function before and after its loops are vectorized."""

    def __init__(self) -> None:
        self.steps: list[tuple[tir.PrimFunc, tir.PrimFunc]] = []

    def run_after_step(self, name: str, code: Callable[..., Any], before: tir.PrimFunc, after: tir.PrimFunc) -> None:
        if name == "VectorizeLoop":
            self.steps.append((before, after))


@deep
def remarks(program: IRModule, target: Target, settings: Settings) -> dict[str, tuple[Remark, ...]]:
    """Return the remarks on each loop function of a program for a processor."""
    module = prepare(program, target)
    recorder = _Vectorization()
    with PassContext(instruments=(recorder,)):
        kernels, *_ = lower_module(module, target, settings)
    machine = optimize(build(module, target, settings, for_c=False).emitted.text, target, settings.level)
    in_memory, spills = accumulators_in_memory(str(machine)), _spills(machine, target, settings.level)
    found: dict[str, tuple[Remark, ...]] = {}
    for name, (before, after) in zip(kernels, recorder.steps, strict=True):
        texts = dict.fromkeys([*_of_loops(before), *_of_vectors(after)])
        of_code = [*_of_accumulators(name, in_memory), *_of_spills(name, spills)]
        found[name] = (*(Remark(name, text, line) for text, line in texts), *(Remark(name, text) for text in of_code))
    return found


def report(program: IRModule, target: Target, settings: Settings) -> str:
    """Return the remarks as text, a paragraph for each function."""
    lines: list[str] = []
    for name, some in remarks(program, target, settings).items():
        lines.append(f"{name}: {_counted(len(some), 'remark')}" if some else f"{name}: as scheduled")
        lines += [f"  {remark}" for remark in some]
    return "\n".join(lines)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def line_of(span: Span | None) -> int:
    """Return the line at which a span starts; 0 without a span."""
    return 0 if span is None else span.source.text.count("\n", 0, span.start) + 1


def _of_loops(func: tir.PrimFunc) -> Iterator[tuple[str, int]]:
    for loop, reason in declined_loops(func):
        stores = [node for node in walk(loop.body) if isinstance(node, tir.BufferStore)]
        span = loop.span or next((store.span for store in stores if store.span is not None), None)
        yield f"vectorized loop '{loop.loop_var.name}' is scalar: {reason}", line_of(span)


def _of_vectors(func: tir.PrimFunc) -> Iterator[tuple[str, int]]:
    for node in walk(func.body):
        if not isinstance(node, tir.BufferLoad | tir.BufferStore) or is_vector(node.buffer.dtype):
            continue
        (index,) = node.indices
        lanes, is_load = lanes_of(index.dtype), isinstance(node, tir.BufferLoad)
        if lanes == 1 or (isinstance(index, tir.Broadcast) and is_load):
            continue
        apart = "at computed places"
        match index:
            case tir.Ramp(stride=tir.IntImm(value=1)):
                continue
            case tir.Ramp(stride=tir.IntImm(value=2)) if is_load:
                continue  # two loads and a shuffle
            case tir.Ramp(stride=tir.IntImm(value=step)):
                apart = f"{step} elements apart"
            case _:
                pass
        what = "load of" if is_load else "store to"
        kind = "gather" if is_load else "scatter"
        yield f"vector {what} '{node.buffer.name}' is a {kind}: {lanes} lanes {apart}", line_of(node.span)


def _of_accumulators(function: str, in_memory: dict[str, dict[str, int]]) -> Iterator[str]:
    symbol, found = kernel_symbol(function), dict[str, int]()
    for name, counts in in_memory.items():
        if name.startswith(symbol):
            for memory, count in counts.items():
                found[memory] = found.get(memory, 0) + count
    for memory, count in sorted(found.items()):
        of = f" of '{memory}'" if memory else ""
        yield f"accumulator in memory: an innermost loop stores the same {_counted(count, 'place')}{of} in every step"


def _of_spills(function: str, spills: dict[str, int]) -> Iterator[str]:
    symbol = kernel_symbol(function)
    count = sum(number for name, number in spills.items() if name.startswith(symbol))
    if count:
        yield f"{_counted(count, 'vector register')} spilled to the stack"


def _spills(module: Any, target: Target, level: int) -> dict[str, int]:
    """Return the number of spills of each symbol of an optimized module."""
    machine = target.machine_at(level)
    machine.set_asm_verbosity(True)
    try:
        text = machine.emit_assembly(module)
    finally:
        machine.set_asm_verbosity(False)
    counts, symbol = dict[str, int](), ""
    for line in text.splitlines():
        label = _SYMBOL.match(line)
        if label is not None and not line.startswith("."):
            symbol = label["name"]
        if _SPILL.search(line):
            counts[symbol] = counts.get(symbol, 0) + 1
    return counts
