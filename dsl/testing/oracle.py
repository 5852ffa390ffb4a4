"""Whether two programs do the same: on random inputs, the results of one are those of the other.

The interpreter runs both, unless told otherwise. Usable on any module that the interpreter takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from ...ir import relax, tir
from ...ir.base import IRModule
from ...ir.diagnostics import TvmsError
from ...ir.dtype import is_bool, is_float
from ...ir.programs import as_module
from ...ir.visit import free_variables, walk
from ..cli.arguments import Argument, arguments_of, select_entry

if TYPE_CHECKING:
    import numpy as np

Program: TypeAlias = IRModule | tir.PrimFunc | relax.Function
Call: TypeAlias = Callable[..., Any]
"""Calls a function on NumPy arrays and numbers; buffers are written in place."""
Ways: TypeAlias = Mapping[str, Call]
"""Several ways to call the same function, by name."""
Execute: TypeAlias = Callable[[IRModule, str], Call | Ways]
"""From a module and the name of a function to what calls it, in one way or several."""

PROFILES = ("plain", "sparse", "dense")
"""How many edge values random inputs have: none, a few, many."""


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
    tolerance: float | None = None,
    execute_before: Callable[[IRModule, str], Call] = interpreted,
    execute_after: Execute = interpreted,
) -> None:
    """Assert that function `entry` (`main`, or the first) of two programs returns and writes the same, the second in all
    ways in which `execute_after` calls it, and each of them twice with the same bits.

    It is called with `inputs`, else once for each of `profiles` with random ones made from `seed` (`random_inputs`), the
    constants of both programs among them. `integers` is the range of integers, the upper bound excluded; without it they
    are as the profile says, or from 0 to 3 where `before` fails on these.

    Floats are equal within `tolerance`, else within `TOLERANCE`; all else, and infinities and NaNs, exactly. Raises
    AssertionError with the first element that differs and how to get it again, and TvmsError where `before` fails.
    """
    first, second = as_module(before), as_module(after)
    name, function = select_entry(first, entry)
    labels = [argument.name for argument in arguments_of(function)]
    run_before, calls = execute_before(first, name), None
    constants = constants_of(first, second) if inputs is None else ()
    for profile in profiles if inputs is None else ("",):

        def drawn(integers: tuple[int, int] | None, profile: str = profile) -> list[Any]:
            random = _random_state(seed)
            return random_inputs(function, random, sizes, integers, profile=profile, constants=constants)

        values = drawn(integers) if inputs is None else list(inputs)
        try:
            expected = _results(run_before, values, labels)
        except TvmsError:
            if inputs is not None or integers is not None:
                raise
            values = drawn((0, 4))
            expected = _results(run_before, values, labels)
        try:
            calls = calls or execute_after(second, name)
            _compare(calls, values, expected, labels, f" (seed {seed})", tolerance)
        except TvmsError as problem:
            raise AssertionError(f"the second program fails (seed {seed}): {problem}") from problem


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


def constants_of(*modules: IRModule) -> tuple[float, ...]:
    """Return the numbers that stand in the functions of modules, each once."""
    nodes = (node for module in modules for function in module.functions.values() for node in walk(function))
    return tuple({float(node.value): None for node in nodes if isinstance(node, tir.IntImm | tir.FloatImm)})


def random_inputs(
    function: tir.PrimFunc | relax.Function,
    random: np.random.Generator,
    sizes: Mapping[str, int] | None = None,
    integers: tuple[int, int] | None = (0, 4),
    *,
    profile: str = "plain",
    constants: Sequence[float] = (),
) -> list[Any]:
    """Return a value for each parameter of `function`; E0806 where one is neither a tensor nor a scalar.

    `profile` is "plain" (floats in quarters from -2 to 2), "sparse" (a few edge values of the dtype among them: NaN,
    infinities, -0.0, denormals, ties, limits of integers, values around powers of two, and `constants` with their
    neighbours) or "dense" (many of them). Integers of tensors are from `integers`, the upper bound excluded (unsigned ones
    wrap around), or, without it, as the profile says; scalar integers are from 1 to 5. Symbolic dimensions are those of
    `sizes` by name, else 1 to 5, and up to 33 beyond "plain".
    """
    from ...ir.interp.expressions import compile_expr

    known: Any = {}

    def dimension(size: tir.PrimExpr) -> int:
        for variable in free_variables(size):
            if isinstance(variable, tir.Var) and variable not in known:
                drawn = random.integers(1, 6) if profile == "plain" or len(known) > 1 else random.choice(_SIZES)
                known[variable] = (sizes or {}).get(variable.name, int(drawn))
        return compile_expr(size)(known)

    arguments = arguments_of(function)
    shapes = [tuple([dimension(size) for size in argument.shape or ()]) for argument in arguments]
    values: list[Any] = []
    for argument, shape in zip(arguments, shapes, strict=True):
        value = _random(argument, shape, random, integers)
        if profile != "plain" and (is_float(argument.dtype) or (integers is None and argument.shape is not None)):
            value = _with_edges(value, argument, random, _SHARE[profile], constants)
        values.append(value)
    return [known.get(param, value) for param, value in zip(function.params, values, strict=True)]


_SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33)
"""Around the widths of vectors and tiles."""
_SHARE = {"sparse": 0.1, "dense": 0.6}


def _with_edges(
    value: Any, argument: Argument, random: np.random.Generator, share: float, constants: Sequence[float]
) -> Any:
    """Return `value` with edge values of its dtype, or neighbours of constants, in about `share` of its elements."""
    import numpy as np

    from .values import float_edges, int_edges, neighbours

    if is_bool(argument.dtype):
        return value
    edges = float_edges(argument.dtype, finite=False) if is_float(argument.dtype) else int_edges(argument.dtype)
    near = neighbours(constants, argument.dtype)
    edges = np.where(random.random(value.shape) < 0.5, random.choice(edges, value.shape), random.choice(near, value.shape)) if len(near) else random.choice(edges, value.shape)  # fmt: skip
    mixed = np.where(random.random(value.shape) < share, edges, value).astype(value.dtype)
    return mixed[()] if argument.shape is None else mixed


def _random(
    argument: Argument, shape: tuple[int, ...], random: np.random.Generator, integers: tuple[int, int] | None
) -> Any:
    import numpy as np

    from ...ir.numpy_dtype import numpy_dtype

    dtype, (low, high) = argument.dtype, (1, 6) if argument.shape is None else integers or (-8, 9)
    if is_float(dtype):
        array = random.integers(-8, 9, shape) / 4
    elif is_bool(dtype):
        array = random.integers(0, 2, shape)
    else:
        array = random.integers(low, high, shape)
    typed = np.asarray(array).astype(numpy_dtype(dtype))
    return typed[()] if argument.shape is None else typed


def _results(call: Call, values: Sequence[Any], labels: Sequence[str]) -> dict[str, Any]:
    """Call with copies of `values`; return what they hold then, and what was returned, by name."""
    own = [value.copy() if hasattr(value, "copy") else value for value in values]
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
