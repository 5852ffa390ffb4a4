"""No single pass, and no step of a pipeline, changes what a graph computes, before or after it is legalized. A few of them are
checked on each random graph.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st
from msgspec import Struct

from ....ir.base import BaseFunc, IRModule, Source
from ....ir.equal import structural_equal, structural_hash
from ....ir.passes.instrument import VerifyEach
from ....ir.passes.transform import PassContext
from ...load import parse_source
from ..choices import Choices
from ..networks import network_modules
from ..oracle import Call, Execute, interpreted
from ..overwriting import overwriting
from ..smaller import programs_in
from .law import Law, module_constructs
from .passes import COMPLETE, SUBJECTS, TOGETHER, assert_printed, assert_same, fitting, has_steps, made

_SAMPLE = 4
"""One result in this number is also parsed again, which law `passes` does with all of its results."""
_LEGALIZE = "LegalizeOps"
_TRIED = 12
"""Number of passes that are drawn for an example. Most change nothing in most graphs."""
_CHANGES = 3
"""Number of results that differ from the graph and from each other after which an example ends."""
_PREFIX = "# passes: "


class _Example(Struct, frozen=True):
    module: IRModule
    chains: tuple[tuple[str, ...], ...]
    """Passes to apply to the module one after another. Each chain starts anew; only its end is compared."""

    def __str__(self) -> str:
        return f"{_PREFIX}{'; '.join(', '.join(chain) for chain in self.chains)}\n{self.module}"


@st.composite
def _examples(draw: st.DrawFn, file: Source | None) -> _Example:
    choose = Choices(draw)
    training = file is None and choose.pick((False, True))
    known = fitting(COMPLETE, training)
    subject, names = None, [choose.pick(known) for _ in range(_TRIED)]
    if choose.rarely(3):
        subject = choose.pick([operator for operator, about in SUBJECTS if fitting(about, training)])
        names = [*fitting(dict(SUBJECTS)[subject], training), *names]
    chains = [(name,) if choose.rarely(2) else (_LEGALIZE, name) for name in names]
    if choose.rarely(2):
        whole = tuple(choose.pick(TOGETHER))
        part = choose.number(1, len(whole))
        chains = [whole[:part], whole, *chains] if part < len(whole) else [whole, *chains]
    drawn = network_modules(training, subject and (subject,), overwrites=subject is overwriting or None)
    return _Example(draw(drawn if file is None else programs_in(file)), tuple(chains))


def _check(example: _Example, execute: Execute) -> None:
    module = example.module
    known, before, steps = _Modules(), _once(interpreted(module, "main")), has_steps(module.script())
    known.add(module)
    after_steps: dict[tuple[str, ...], IRModule] = {(): module}

    def remembered(*_: object) -> Call:
        return before

    for names in example.chains:
        after = _passed(after_steps, names)
        if after is module or not known.add(after):
            continue
        try:
            if len(known) % _SAMPLE == 0:
                assert_printed(after, after.script())
            assert_same(module, after, names, steps, execute_before=remembered, profiles=("plain",), integers=(0, 4))
        except AssertionError as problem:
            raise AssertionError(f"after {', '.join(names)}: {problem}") from problem
        if len(known) > _CHANGES:
            return


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


def _passed(known: dict[tuple[str, ...], IRModule], names: tuple[str, ...]) -> IRModule:
    """Return the result of the passes `names`, and remember that of each of their beginnings in `known`."""
    if names not in known:
        before = _passed(known, names[:-1])
        with PassContext(opt_level=3, instruments=[VerifyEach()]):
            known[names] = made(names[-1])(before)
    return known[names]


def _once(call: Call) -> Call:
    """Return a function that calls `call` once and caches the result; it writes to no argument."""
    said: list[Any] = []

    def again(*args: Any) -> Any:
        if not said:
            said.append(call(*args))
        return said[0]

    return again


def _constructs(example: _Example) -> Iterable[str]:
    return (*[name for chain in example.chains for name in chain], *module_constructs(example.module))


def _read(source: Source) -> _Example:
    chains = source.text.partition(_PREFIX)[2].partition("\n")[0]
    return _Example(
        parse_source(source), tuple(tuple(chain.split(", ")) for chain in (chains.split("; ") if chains else ()))
    )


LAW = Law(_examples, _check, read=_read, constructs=_constructs, expected=frozenset(COMPLETE))
