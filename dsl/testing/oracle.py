"""Whether two programs do the same: on random inputs, the results of one are those of the other.

The interpreter runs both, unless told otherwise. Usable on any module that the interpreter takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from msgspec import Struct

from ...ir import relax, tir
from ...ir.base import IRModule
from ...ir.diagnostics import TvmsError
from ...ir.dtype import is_float
from ...ir.programs import as_module
from ..cli.arguments import arguments_of, select_entry
from .data import PROFILES, Drawn, Range, constants_of, copies, draw_inputs, random_inputs
from .vacuity import count_comparison

if TYPE_CHECKING:
    import numpy as np

Program: TypeAlias = IRModule | tir.PrimFunc | relax.Function
Call: TypeAlias = Callable[..., Any]
"""Calls a function on NumPy arrays and numbers; buffers are written in place."""
Ways: TypeAlias = Mapping[str, Call]
"""Several ways to call the same function, by name."""
Execute: TypeAlias = Callable[[IRModule, str], Call | Ways]
"""From a module and the name of a function to what calls it, in one way or several."""
ExecuteAll: TypeAlias = Callable[[Sequence[IRModule]], Execute]
"""From modules to what executes them, which may compile them together."""

__all__ = ["as_module", "assert_equivalent", "random_inputs"]


def profiles(seed: int) -> tuple[str]:
    """Return one of `PROFILES`, another one for the next seed: for laws, whose examples have seeds of their own."""
    return (PROFILES[seed % len(PROFILES)],)


TOLERANCE = {
    "float64": 1e-10, "float32": 2e-5, "float16": 1e-2, "bfloat16": 5e-2,
}  # fmt: skip
"""The greatest difference that counts as equal, relative to the greatest value of the result (or to one); the narrower
floats get the last."""


def interpreted(module: IRModule, entry: str) -> Call:
    """Return what calls function `entry` by the interpreter, in which a read of what was never written is an error."""
    from ...ir.interp import run

    return lambda *args: run(module, entry, args, track=True)


def assert_equivalent(
    before: Program,
    after: Program,
    *,
    entry: str | None = None,
    inputs: Sequence[Any] | None = None,
    sizes: Mapping[str, int] | None = None,
    seed: int = 0,
    profiles: Sequence[str] = PROFILES,
    integers: tuple[int, int] | None = None,
    ranges: Mapping[str, Range] | None = None,
    tolerance: float | None = None,
    execute_before: Callable[[IRModule, str], Call] = interpreted,
    execute_after: Execute = interpreted,
) -> tuple[str, ...]:
    """Assert that function `entry` (`main`, or the first) of two programs returns and writes the same, the second in all
    ways in which `execute_after` calls it, and each of them twice with the same bits.

    It is called with `inputs`, else once for each of `profiles` with random ones made from `seed` (`random_inputs`), the
    constants of both programs among them. `integers` is the range of integers, the upper bound excluded; `ranges` has the
    least and the greatest value of single parameters, by name. Without them integers are as the profile says. Where `before`
    fails on such inputs, sizes are at least 1 and integers from 0 to 3.

    Floats are equal within `tolerance`, else within `TOLERANCE`; all else, and infinities and NaNs, exactly. Returns the
    classes of inputs that were tried, such as "dense" or "strided A". Raises AssertionError with the first element that
    differs and how to get it again, and TvmsError where `before` fails.
    """
    first, second = as_module(before), as_module(after)
    count_comparison(first, second)
    name, function = select_entry(first, entry)
    labels = [argument.name for argument in arguments_of(function)]
    run_before, calls = execute_before(first, name), None
    constants = constants_of(*first.functions.values(), *second.functions.values()) if inputs is None else ()
    tried: dict[str, None] = {}
    for profile in profiles if inputs is None else ("",):

        def attempt(integers: tuple[int, int] | None, least: int, profile: str = profile) -> _Attempt:
            random = _random_state(seed)
            drawn = draw_inputs(function, random, sizes, integers, profile, constants, ranges or {}, least)
            return drawn, _results(run_before, drawn.values, labels)

        if inputs is None:
            drawn, expected = _first_that_runs(attempt, integers)
        else:
            drawn, expected = Drawn(list(inputs), ("given",)), _results(run_before, inputs, labels)
        tried.update(dict.fromkeys(drawn.classes))
        drawn.report()
        try:
            calls = calls or execute_after(second, name)
            _compare(calls, drawn.values, expected, labels, f" (seed {seed})", tolerance)
        except TvmsError as problem:
            said = AssertionError(f"the second program fails (seed {seed}): {problem}")
            raise _with_inputs(said, drawn, labels) from problem
        except AssertionError as problem:
            raise _with_inputs(problem, drawn, labels) from None
    return tuple(tried)


class Inputs(Struct, frozen=True):
    """The arguments of a call on which two programs differ, by name, and the classes that they are of."""

    values: Mapping[str, Any]
    classes: tuple[str, ...]


def _with_inputs(problem: AssertionError, drawn: Drawn, labels: Sequence[str]) -> AssertionError:
    """Let an error say what its inputs were: the classes in a note, the values in `problem.inputs`."""
    problem.add_note(f"inputs: {', '.join(drawn.classes)}")
    problem.inputs = Inputs(dict(zip(labels, drawn.values, strict=True)), drawn.classes)  # type: ignore[reportAttributeAccessIssue]
    return problem


_Attempt: TypeAlias = tuple[Drawn, dict[str, Any]]


def _first_that_runs(
    attempt: Callable[[tuple[int, int] | None, int], _Attempt], integers: tuple[int, int] | None
) -> _Attempt:
    """Return inputs on which the first program runs: with sizes of 0, else with larger ones, else with small integers."""
    ways = [(integers, 0), (integers, 1), *([((0, 4), 1)] if integers is None else [])]
    for way in ways[:-1]:
        try:
            return attempt(*way)
        except TvmsError:
            continue
    return attempt(*ways[-1])


def _random_state(seed: int) -> np.random.Generator:
    import numpy as np

    return np.random.default_rng(seed)


def _compare(
    calls: Call | Ways,
    values: Sequence[Any],
    expected: Mapping[str, Any],
    labels: Sequence[str],
    inputs: str,
    tolerance: float | None,
) -> None:
    ways: Ways = {"": calls} if callable(calls) else calls
    for way, call in ways.items():
        found = _results(call, values, labels)
        said = f"{way and f' as {way}'}{inputs}"
        assert found.keys() == expected.keys(), f"results {[*found]} and {[*expected]}{said}"
        for label, result in expected.items():
            difference = first_difference(found[label], result, tolerance)
            assert difference is None, f"{label} differs{said}: {difference}"
        if way:
            again = _results(call, values, labels)
            other = [label for label in found if not _same_bits(found[label], again[label])]
            assert not other, f"{other[0]} differs{said} from one run to the next"


def _results(call: Call, values: Sequence[Any], labels: Sequence[str]) -> dict[str, Any]:
    """Call with copies of `values`; return what they hold then, and what was returned, by name."""
    own = copies(values)
    returned = call(*own)
    return {**dict(zip(labels, own, strict=True)), **_flat("the result", returned)}


def _same_bits(a: Any, b: Any) -> bool:
    import numpy as np

    return np.asarray(a).tobytes() == np.asarray(b).tobytes()


def _flat(label: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, tuple | list):
        return {} if value is None else {label: value}
    parts = enumerate(cast("Sequence[Any]", value))
    return {key: leaf for place, part in parts for key, leaf in _flat(f"{label}[{place}]", part).items()}


def first_difference(found: Any, expected: Any, tolerance: float | None = None) -> str | None:
    """Return where two values differ, in words, or None where they are equal as far as their dtype can tell."""
    import numpy as np

    a, b = np.asarray(found), np.asarray(expected)
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{a.dtype} of shape {a.shape}, not {b.dtype} of shape {b.shape}"
    if is_float(str(b.dtype)) and b.size:
        allowed = TOLERANCE.get(str(b.dtype), TOLERANCE["bfloat16"]) if tolerance is None else tolerance
        wide, other = a.astype(np.float64), b.astype(np.float64)
        scale = max(1.0, float(np.max(np.abs(other), where=np.isfinite(other), initial=0.0)))
        with np.errstate(invalid="ignore"):
            differs = ~(
                (wide == other) | (np.isnan(wide) & np.isnan(other)) | (np.abs(wide - other) <= allowed * scale)
            )
    else:
        differs = a != b
    if not differs.any():
        return None
    place = tuple(int(index) for index in np.argwhere(differs)[0])
    count = int(differs.sum())
    return f"element {list(place)} is {a[place]}, not {b[place]} ({count} of {a.size} differ)"
