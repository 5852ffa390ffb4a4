"""No single pass, and no step of a pipeline, changes what a graph computes, before or after it is legalized. All are checked on
the same random graph.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any
from zlib import crc32

from hypothesis import strategies as st

from ....ir.base import BaseFunc, IRModule, Source
from ....ir.equal import structural_equal, structural_hash
from ....ir.passes.instrument import VerifyEach
from ....ir.passes.transform import PassContext
from ..choices import Choices
from ..networks import network_modules
from ..oracle import Call, Execute, interpreted
from ..smaller import programs_in
from .law import Law
from .passes import COMPLETE, TOGETHER, assert_printed, assert_same, fitting, has_steps, made

_SAMPLE = 4
"""One result in this number is also parsed again, which law `passes` does with all of its results."""
_LEGALIZE = "LegalizeOps"


@st.composite
def _examples(draw: st.DrawFn, file: Source | None) -> IRModule:
    if file is not None:
        return draw(programs_in(file))
    training = Choices(draw).pick((False, True))
    return draw(network_modules(training)).with_attr("training", training)


def _check(module: IRModule, execute: Execute) -> None:
    text = module.script()
    known, before, steps = _Modules(), _once(interpreted(module, "main")), has_steps(text)
    known.add(module)

    def remembered(*_: object) -> Call:
        return before

    for names, after in _steps(module, random.Random(crc32(text.encode()))):
        if known.add(after):
            try:
                if len(known) % _SAMPLE == 0:
                    assert_printed(after, after.script())
                assert_same(
                    module, after, names, steps, execute_before=remembered, profiles=("plain",), integers=(0, 4)
                )
            except AssertionError as problem:
                raise AssertionError(f"after {', '.join(names)}: {problem}") from problem


class _Modules:
    """A set of modules by structure. Functions are compared once: most passes keep most of them."""

    def __init__(self) -> None:
        self._seen: set[object] = set()
        self._numbers: dict[int, tuple[BaseFunc, int]] = {}
        """The number of each function by identity; equal functions have the same."""
        self._alike: dict[int, list[tuple[BaseFunc, int]]] = {}
        """Functions of different structure, by hash."""

    def __len__(self) -> int:
        return len(self._seen)

    def add(self, module: IRModule) -> bool:
        """Add a module; return whether it was absent."""
        before = len(self._seen)
        functions = frozenset((name, self._number(function)) for name, function in module.functions.items())
        self._seen.add((functions, structural_hash((dict(module.attrs), dict(module.global_infos)))))
        return len(self._seen) > before

    def _number(self, function: BaseFunc) -> int:
        if id(function) not in self._numbers:
            alike = self._alike.setdefault(structural_hash(function), [])
            number = next((at for other, at in alike if structural_equal(other, function)), None)
            if number is None:
                number = len(self._numbers)
                alike.append((function, number))
            self._numbers[id(function)] = function, number
        return self._numbers[id(function)][1]


def _steps(module: IRModule, chosen: random.Random) -> Iterator[tuple[tuple[str, ...], IRModule]]:
    """Yield the results of each pass that changes a module or its legalized form, of each pipeline, and of a random part of
    each, with the names of the passes.
    """
    legalized = _passed(module, _LEGALIZE)
    starts = {(): module, (_LEGALIZE,): legalized}
    for name in fitting(COMPLETE, bool(module.attrs.get("training"))):
        for first, start in starts.items():
            after = _passed(start, name)
            if after is not start:
                yield (*first, name), after
    for chain in TOGETHER:
        after, part = module, chosen.randrange(1, len(chain))
        for count, name in enumerate(chain, 1):
            after = _passed(after, name)
            if count in (part, len(chain)):
                yield tuple(chain[:count]), after


def _passed(module: IRModule, name: str) -> IRModule:
    with PassContext(opt_level=3, instruments=[VerifyEach()]):
        return made(name)(module)


def _once(call: Call) -> Call:
    """Return a function that calls `call` once and caches the result; it writes to no argument."""
    said: list[Any] = []

    def again(*args: Any) -> Any:
        if not said:
            said.append(call(*args))
        return said[0]

    return again


def _constructs(module: IRModule) -> Iterable[str]:
    return fitting(COMPLETE, bool(module.attrs.get("training")))


LAW = Law(_examples, _check, constructs=_constructs, expected=frozenset(COMPLETE))
