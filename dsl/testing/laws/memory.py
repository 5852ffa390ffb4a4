"""Every access is inside its allocation or faults, at the same access in the interpreter and in compiled code.

An example is a function whose views, pointers, sizes and matched regions may be wrong, with arbitrary scalars. Compiled
code runs in a child process, with its arrays between guard pages: once right after the first page, once right before
the second. It must do what the interpreter does, with and without optimization, with all indices checked and with only
the unproven ones checked. A program without findings of `tvms check --strict` must not fault.

Functions whose buffers share sizes are also called until their calls are fast, and then with an array that has another size or
other strides. Compiled code must refuse it if the interpreter does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from hypothesis import strategies as st
from msgspec import Struct, field
from msgspec.structs import replace

from ....ir import tir
from ....ir.base import IRModule, Source
from ....ir.diagnostics import TvmsError
from ....ir.interp.guarded import guarded
from ....ir.verify import verify
from ...load import parse_source
from ..apart import Apart
from ..choices import Choices
from ..data import copies, placed
from ..oracle import Call, Execute, ExecuteAll, random_inputs
from ..sizes import Sizes
from ..smaller import loop_entry, programs_in
from ..views import SCALARS, Views
from .law import Law, module_constructs

FAULTS, RESULTS = "faults that all ways tell", "results that all ways agree on"
REFUSED, PROVEN = "functions that the verifier refuses", "functions that are proven to be right"
WRONG = "arrays that disagree"
_CALLS = 6
"""Number of calls after which calls are fast."""
_MEMORY = ("E0420", "E0414", "E0422", "E0426", "E0427")


class Example(Struct):
    """The text of a module, and the scalar arguments of `main`."""

    text: str
    scalars: tuple[int, int]
    size: int
    """Value of each symbolic dimension."""
    outcome: list[str] = field(default_factory=list[str])
    wrong: int = -1
    """Number that chooses the array and the dimension that disagree in a further call; negative if there is none."""
    is_told: bool = False
    """Whether `tvms check --strict` reports its accesses."""


def _examples(file: Source | None) -> st.SearchStrategy[Example]:
    @st.composite
    def example(draw: st.DrawFn) -> Example:
        choose = Choices(draw)
        if file is None and choose.rarely(5):
            return Example(Sizes(choose).text(), (0, 0), choose.pick((4, 1, 3, 8)), wrong=choose.number(0, 99))
        text = Views(choose).text() if file is None else draw(programs_in(file, is_loop_level=True)).script()
        return Example(text, (choose.pick(SCALARS), choose.pick(SCALARS)), choose.pick((4, 1, 3, 8)))

    return example()


def _check(example: Example, execute: Execute) -> None:
    for _ in _check_all([example], lambda _: execute):
        pass


def _check_all(examples: Sequence[Example], execute_all: ExecuteAll) -> Iterator[None]:
    modules = {number: _guarded_modules(example) for number, example in enumerate(examples)}
    execute = execute_all([module for some in modules.values() for module in some.values()])
    works = [partial(_outcomes, example, modules[number], execute) for number, example in enumerate(examples)]
    with Apart(works) as apart:
        for number, example in enumerate(examples):
            found = apart.result(number)
            if modules[number]:
                _compare(example, modules[number]["check"], found)
            else:
                example.outcome = [REFUSED]
            yield


def _guarded_modules(example: Example) -> dict[str, IRModule]:
    """Return the module of an example with all indices checked and with the unproven ones checked; nothing if it is refused."""
    module = parse_source(Source("example.tvms", example.text))
    told = verify(module, "bounds", strict=True)
    if any(diagnostic.severity == "error" and diagnostic.code in ("E0426", "E0427") for diagnostic in told):
        return {}
    example.is_told = any(diagnostic.code in _MEMORY for diagnostic in told)
    return {bounds: replace(module, attrs={**module.attrs, "bounds": bounds}) for bounds in ("check", "prove")}


def _outcomes(example: Example, modules: Mapping[str, IRModule], execute: Execute) -> dict[str, list[list[str]]]:
    """Return the outcome of each way to call a function, on arrays at both ends of their pages."""
    found: dict[str, list[list[str]]] = {}
    for bounds, module in modules.items():
        for way, call in _ways(execute(module, loop_entry(module))).items():
            inputs = _inputs(module, example)
            found[f"{bounds}, {way}"] = [_guarded(call, inputs, at_end) for at_end in (False, True)]
            if example.wrong >= 0:
                found[f"{WRONG}, {bounds}, {way}"] = [_after_fast_calls(call, inputs, _disagreeing(inputs, example))]
    return found


def _compare(example: Example, module: IRModule, found: dict[str, list[list[str]]] | str) -> None:
    """Assert that all outcomes in `found` equal that of the interpreter. A string is a reason not to compare."""
    inputs = _inputs(module, example)
    expected = _outcome(lambda *args: _interpret(module, args), inputs)
    assert isinstance(found, dict), f"{found}, but the interpreter says {_shown(expected)}"
    is_proven = not example.is_told and "Module.fill" not in example.text
    assert not is_proven or expected[0] != "E0707", (
        f"the verifier reports nothing, but the interpreter faults: {expected}"
    )
    refused = _outcome(lambda *args: _interpret(module, args), _disagreeing(inputs, example))
    for way, outcomes in found.items():
        wanted = refused if way.startswith(WRONG) else expected
        for outcome in outcomes:
            is_alike = bool(outcome[0]) if wanted is refused and refused[0] else _are_alike(outcome, wanted)
            assert is_alike, f"{way}: {_shown(outcome)}, but the interpreter says {_shown(wanted)}"
    example.outcome = [*([PROVEN] if is_proven else []), FAULTS if expected[0] else RESULTS]


def _disagreeing(inputs: Sequence[Any], example: Example) -> list[Any]:
    """Return the arguments with one array that has one more row or column, or other strides."""
    import numpy as np

    arrays = [place for place, value in enumerate(inputs) if isinstance(value, np.ndarray)]
    if example.wrong < 0 or not arrays:
        return [*inputs]
    place, found = arrays[example.wrong % len(arrays)], [*inputs]
    old, axis = found[place], example.wrong // len(arrays) % 3
    if axis < old.ndim:
        shape = tuple([size + (number == axis) for number, size in enumerate(old.shape)])
        found[place] = np.resize(old, shape)
    elif old.ndim > 1:
        steps = [step // old.itemsize for step in old.strides]
        found[place] = placed(old, (steps[0] + 1, *steps[1:]))
    return found


def _after_fast_calls(call: Call, inputs: Sequence[Any], others: Sequence[Any]) -> list[str]:
    """Return the outcome of a call with `others` after as many calls with `inputs` as make calls fast."""
    for _ in range(_CALLS):
        _outcome(call, inputs)
    return _outcome(call, others)


def _are_alike(found: list[str], expected: list[str]) -> bool:
    """Return whether two outcomes are equal. If both sides of a store fault, either fault may be reported."""
    return found[1:] == expected[1:] and bool(found[0]) == bool(expected[0])


def _ways(calls: Any) -> dict[str, Call]:
    return {"": calls} if callable(calls) else dict(calls)


def _inputs(module: IRModule, example: Example) -> list[Any]:
    """Return arguments: the scalars of the example, and arrays of small numbers."""
    import numpy as np

    function = module.functions[loop_entry(module)]
    assert isinstance(function, tir.PrimFunc)
    names = {param.name for param in function.params}
    sizes = {"n": example.size, "m": example.size + 1, **{f"n{name.upper()}": example.size for name in names}}
    values = random_inputs(function, np.random.default_rng(example.size), sizes, (0, 6))
    scalars = dict(zip("km", example.scalars, strict=True))
    return [scalars.get(param.name, value) for param, value in zip(function.params, values, strict=True)]


def _interpret(module: IRModule, args: Iterable[Any]) -> Any:
    from ....ir.interp import run

    return run(module, loop_entry(module), list(args))


def _outcome(call: Call, inputs: Iterable[Any]) -> list[str]:
    """Return the code and the line of a fault, or "" and the contents of the arrays."""
    own = copies([*inputs])
    return _told(call, own, own)


def _told(call: Call, passed: list[Any], arrays: list[Any]) -> list[str]:
    import numpy as np

    try:
        call(*passed)
    except TvmsError as problem:
        (fault, *_) = problem.diagnostics
        line = "" if fault.span is None else str(fault.span.source.text.count("\n", 0, fault.span.start) + 1)
        return [fault.code, line]
    return ["", *[array.tobytes().hex() for array in arrays if isinstance(array, np.ndarray)]]


def _guarded(call: Call, inputs: list[Any], at_end: bool) -> list[str]:
    passed, arrays = guarded(inputs, at_end)
    found = _told(call, passed, [array.array for array in arrays])
    return found if all(array.is_kept() for array in arrays) else ["memory beside an array was written"]


def _shown(outcome: list[str]) -> str:
    return f"{outcome[0]} in line {outcome[1]}" if outcome[0] else f"the result {outcome[1:]}"


def _constructs(example: Example) -> Iterable[str]:
    yield from module_constructs(parse_source(Source("example.tvms", example.text)))
    yield from example.outcome


def _show(example: Example) -> str:
    k, m = example.scalars
    return f"# k = {k}, m = {m}, symbolic dimensions are {example.size}\n{example.text}"


def _read(source: Source) -> Example:
    """Return the example in a text, with the numbers in its first line."""
    import re

    numbers = [int(item) for item in re.findall(r"-?\d+", source.text.split("\n# k = ")[-1].split("\n")[0])]
    k, m, size = numbers if source.text.count("# k = ") and len(numbers) == 3 else (3, 3, 4)
    return Example(source.text, (k, m), size)


LAW = Law(
    _examples, _check, _check_all, show=_show, read=_read, constructs=_constructs,
    expected=frozenset(["DeclBuffer", "LetStmt", "MatchBufferRegion", "BlockAllocates", "op:tir.address_of", FAULTS, RESULTS]),
    counted=(FAULTS, RESULTS, REFUSED, PROVEN),
)  # fmt: skip
