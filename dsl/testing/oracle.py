"""Comparison of two programs: on random inputs, both must give the same results.

The interpreter runs both unless another executor is given. It works on any module that the interpreter accepts.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from msgspec import Struct

from ...ir import relax, tir
from ...ir.base import IRModule, Op
from ...ir.diagnostics import TvmsError
from ...ir.dtype import is_float
from ...ir.programs import as_module
from ...ir.visit import walk
from ..entries import arguments_of, select_entry
from .data import PROFILES, Drawn, Range, constants_of, copies, draw_inputs, random_inputs
from .vacuity import count_comparison

if TYPE_CHECKING:
    import numpy as np

Program: TypeAlias = IRModule | tir.PrimFunc | relax.Function
Call: TypeAlias = Callable[..., Any]
"""Function that calls a program on NumPy arrays and numbers. Buffers are written in place."""
Ways: TypeAlias = Mapping[str, Call]
"""Several ways to call the same function, by name."""
Execute: TypeAlias = Callable[[IRModule, str], Call | Ways]
"""Function from a module and the name of a function to one or several ways to call it."""
ExecuteAll: TypeAlias = Callable[[Sequence[IRModule]], Execute]
"""Function from modules to their executors, which may compile them together."""

__all__ = ["as_module", "assert_equivalent", "random_inputs"]


def profiles(seed: int) -> tuple[str]:
    """Return one of `PROFILES`, depending on the seed, for laws whose examples have their own seeds."""
    return (PROFILES[seed % len(PROFILES)],)


TOLERANCE = {
    "float64": 1e-10, "float32": 2e-5, "float16": 1e-2, "bfloat16": 5e-2,
}  # fmt: skip
"""Maximum difference of equal floats, relative to the maximum of the result (at least 1). Narrower floats use the last."""


def interpreted(module: IRModule, entry: str) -> Call:
    """Return a function that interprets `entry`. A read of unwritten memory is an error."""
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
    """Assert that function `entry` (by default `main`, or else the first one) of two programs returns and writes the
    same. The second program runs in all ways that `execute_after` gives, twice each, with the same bits.

    It is called on `inputs`, or else once for each of `profiles` on random inputs from `seed` (see `random_inputs`),
    which include constants of both programs. `integers` is the range of integers, upper bound exclusive; `ranges` gives
    the minimum and maximum of single parameters by name. By default, the profile determines integers. If `before` fails
    on such inputs, sizes are at least 1 and integers from 0 to 3.

    Floats are compared within `tolerance`, or else within the `TOLERANCE` of their dtype, or of a narrower dtype from which
    `before` casts computed values; all other values, infinities and NaNs exactly. Return the classes of inputs that were tried, such as "dense" or "strided A". Raise AssertionError with the first element
    that differs and how to reproduce it, and TvmsError if `before` fails.
    """
    first, second = as_module(before), as_module(after)
    count_comparison(first, second)
    name, function = select_entry(first, entry)
    labels = [argument.name for argument in arguments_of(function)]
    run_before, calls = execute_before(first, name), None
    least = _precision(first) if tolerance is None else 0.0
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
            _compare(calls, drawn.values, expected, labels, f" (seed {seed})", tolerance, least)
        except TvmsError as problem:
            said = AssertionError(f"the second program fails (seed {seed}): {problem}")
            raise _with_inputs(said, drawn, labels) from problem
        except AssertionError as problem:
            raise _with_inputs(problem, drawn, labels) from None
    return tuple(tried)


class Inputs(Struct, frozen=True):
    """Arguments, by name, on which two programs differ, and the classes of these inputs."""

    values: Mapping[str, Any]
    classes: tuple[str, ...]


def _with_inputs(problem: AssertionError, drawn: Drawn, labels: Sequence[str]) -> AssertionError:
    """Attach the inputs to an error: the classes as a note, the values as `problem.inputs`."""
    problem.add_note(f"inputs: {', '.join(drawn.classes)}")
    problem.inputs = Inputs(dict(zip(labels, drawn.values, strict=True)), drawn.classes)  # type: ignore[reportAttributeAccessIssue]
    return problem


_Attempt: TypeAlias = tuple[Drawn, dict[str, Any]]


def _first_that_runs(
    attempt: Callable[[tuple[int, int] | None, int], _Attempt], integers: tuple[int, int] | None
) -> _Attempt:
    """Return inputs on which the first program runs: try sizes of 0, then larger sizes, then small integers."""
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
    least: float,
) -> None:
    ways: Ways = {"": calls} if callable(calls) else calls
    for way, call in ways.items():
        found = _results(call, values, labels)
        said = f"{way and f' as {way}'}{inputs}"
        assert found.keys() == expected.keys(), f"results {[*found]} and {[*expected]}{said}"
        for label, result in expected.items():
            difference = first_difference(found[label], result, tolerance, least)
            assert difference is None, f"{label} differs{said}: {difference}"
        if way:
            again = _results(call, values, labels)
            other = [label for label in found if not _same_bits(found[label], again[label])]
            assert not other, f"{other[0]} differs{said} from one run to the next"


def _results(call: Call, values: Sequence[Any], labels: Sequence[str]) -> dict[str, Any]:
    """Call with copies of `values`, and return their contents after the call and the returned values, by name."""
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


def _precision(module: IRModule) -> float:
    """Return the largest tolerance of the floats that `module` casts to a wider dtype after computing them."""
    given = {param for func in module.functions.values() if isinstance(func, relax.Function) for param in func.params}
    return max((TOLERANCE.get(dtype, 0.0) for node in walk(module) for dtype in _widened(node, given)), default=0.0)


def _widened(node: object, given: Container[relax.Var]) -> Iterator[str]:
    """Yield the dtype of the computed floats that `node` casts; elements of buffers and values in `given` are exact."""
    match node:
        case tir.Cast(value=value) if not isinstance(value, tir.BufferLoad | tir.Var):
            yield value.dtype
        case relax.Call(op=Op(name="relax.astype"), args=(relax.Var() as value,)) if value not in given:
            yield getattr(value.struct_info, "dtype", None) or ""
        case _:
            pass


def first_difference(found: Any, expected: Any, tolerance: float | None = None, least: float = 0.0) -> str | None:
    """Describe where two values differ; None if they are equal within `tolerance`. Its default is the precision of their
    dtype, but at least `least`.
    """
    import numpy as np

    a, b = np.asarray(found), np.asarray(expected)
    if type(expected) is int and a.dtype.kind in "iu":  # an int has no dtype
        b = b.astype(a.dtype)
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{a.dtype} of shape {a.shape}, not {b.dtype} of shape {b.shape}"
    if is_float(str(b.dtype)) and b.size:
        own = max(least, TOLERANCE.get(str(b.dtype), TOLERANCE["bfloat16"]))
        allowed = own if tolerance is None else tolerance
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
