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
from ...ir.visit import free_variables
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
    integers: tuple[int, int] = (0, 4),
    tolerance: float | None = None,
    execute_before: Callable[[IRModule, str], Call] = interpreted,
    execute_after: Execute = interpreted,
) -> None:
    """Assert that function `entry` (`main`, or the first) of two programs returns and writes the same, the second in all
    ways in which `execute_after` calls it, and each of them twice with the same bits.

    It is called with `inputs`, else with random ones made from `seed`: integers from `integers` (the upper bound
    excluded; unsigned ones wrap around), floats in quarters from -2 to 2; symbolic dimensions are those of `sizes` by name, else 1 to 5, as are
    scalar integers. Floats
    are equal within `tolerance`, else within `TOLERANCE`; all else, and infinities and NaNs, exactly. Raises
    AssertionError with the first element that differs and how to get it again, and TvmsError where `before` fails.
    """
    import numpy as np

    first, second = as_module(before), as_module(after)
    name, function = select_entry(first, entry)
    random = np.random.default_rng(seed)
    values = random_inputs(function, random, sizes, integers) if inputs is None else list(inputs)
    labels = [argument.name for argument in arguments_of(function)]
    expected = _results(execute_before(first, name), values, labels)
    try:
        calls = execute_after(second, name)
        ways: Ways = {"": calls} if callable(calls) else calls
        for way, call in ways.items():
            found = _results(call, values, labels)
            said = f"{way and f' as {way}'} (seed {seed})"
            assert found.keys() == expected.keys(), f"results {[*found]} and {[*expected]}{said}"
            for label, result in expected.items():
                difference = first_difference(found[label], result, tolerance)
                assert difference is None, f"{label} differs{said}: {difference}"
            if way:
                again = _results(call, values, labels)
                other = [label for label in found if not _same_bits(found[label], again[label])]
                assert not other, f"{other[0]} differs{said} from one run to the next"
    except TvmsError as problem:
        raise AssertionError(f"the second program fails (seed {seed}): {problem}") from problem


def random_inputs(
    function: tir.PrimFunc | relax.Function,
    random: np.random.Generator,
    sizes: Mapping[str, int] | None = None,
    integers: tuple[int, int] = (0, 4),
) -> list[Any]:
    """Return a value for each parameter of `function`; E0806 where one is neither a tensor nor a scalar."""
    from ...ir.interp.expressions import compile_expr

    known: Any = {}

    def dimension(size: tir.PrimExpr) -> int:
        for variable in free_variables(size):
            if isinstance(variable, tir.Var) and variable not in known:
                known[variable] = (sizes or {}).get(variable.name, int(random.integers(1, 6)))
        return compile_expr(size)(known)

    arguments = arguments_of(function)
    shapes = [tuple([dimension(size) for size in argument.shape or ()]) for argument in arguments]
    values = [_random(a, shape, random, integers) for a, shape in zip(arguments, shapes, strict=True)]
    return [known.get(param, value) for param, value in zip(function.params, values, strict=True)]


def _random(argument: Argument, shape: tuple[int, ...], random: np.random.Generator, integers: tuple[int, int]) -> Any:
    import numpy as np

    from ...ir.numpy_dtype import numpy_dtype

    dtype, (low, high) = argument.dtype, (1, 6) if argument.shape is None else integers
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
