"""Floats have the same meaning in every executor: formulas, reductions and graph operators on NaN, infinities, zeros and ties."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from ....ir import tir
from ....ir.base import IRModule, Source
from ....ir.dtype import is_float
from ....ir.numpy_dtype import numpy_dtype
from ...entries import arguments_of, select_entry
from ...load import parse
from ..data import copies, random_inputs, with_special_values
from ..floats import TOLERANCE, Program, float_programs
from ..oracle import Execute, ExecuteAll, interpreted
from ..smaller import programs_in
from ..values import float_edges, some_of
from .law import Law, module_constructs

GIVEN = "given"
"""Kind of programs from files. Nothing is known of their results, so the tolerance of sums applies."""


class _Example(Struct, frozen=True):
    program: Program
    seed: int


def _examples(file: Source | None) -> st.SearchStrategy[_Example]:
    programs = float_programs() if file is None else programs_in(file).map(_as_program)
    return st.builds(_Example, programs, st.integers(0, 1000))


def _as_program(module: IRModule) -> Program:
    return Program(module.script(), GIVEN, is_exact=False, is_sum=True)


def _inputs(module: IRModule, example: _Example) -> list[Any]:
    """Return edge values and small numbers for each parameter. Sums get no values that overflow, and products no denormals."""
    random = np.random.default_rng(example.seed)
    _, function = select_entry(module, None)
    if example.program.kind == GIVEN:
        return [with_special_values(value, example.seed) for value in random_inputs(function, random)]
    arguments = arguments_of(function)
    found: list[Any] = []
    for argument in arguments:
        shape = tuple([size.value for size in argument.shape or () if isinstance(size, tir.IntImm)])
        if not is_float(argument.dtype):
            found.append(np.zeros(shape, argument.dtype))
            continue
        edges = float_edges(argument.dtype, finite=not example.program.is_sum)
        if example.program.has_products:
            edges = edges[~((edges != 0) & (np.abs(edges.astype(np.float64)) < 1e-4))]
        edges = some_of(edges, random)
        plain = (random.integers(-8, 9, shape) / 4).astype(edges.dtype)
        share = random.choice((0.0, 0.1, 0.5, 1.0))
        found.append(np.where(random.random(shape) < share, random.choice(edges, shape), plain).astype(edges.dtype))
    return found


def _check(example: _Example, execute: Execute) -> None:
    _compare(example, _module(example), execute)


def _check_all(examples: Sequence[_Example], execute_all: ExecuteAll) -> Iterator[None]:
    modules = [_module(drawn) for drawn in examples]
    execute = execute_all(modules)
    for example, module in zip(examples, modules, strict=True):
        yield _compare(example, module, execute)


def _module(example: _Example) -> IRModule:
    module = parse(example.program.text)
    target = {"target": "cuda -simulate=each"} if example.program.is_simulated else {}
    return replace(module, attrs={**module.attrs, **target})


def _compare(example: _Example, module: IRModule, execute: Execute) -> None:
    inputs = _inputs(module, example)
    expected = _run(interpreted(module, select_entry(module, None)[0]), inputs)
    _compare_unfolded(example.program, inputs, expected)
    calls = execute(module, select_entry(module, None)[0])
    for way, call in ({"compiled": calls} if callable(calls) else calls).items():
        for place, (found, wanted) in enumerate(zip(_run(call, inputs), expected, strict=True)):
            difference = disagreement(found, wanted, example.program)
            assert difference is None, f"result {place}, {way} (seed {example.seed}): {difference}"


def _compare_unfolded(program: Program, inputs: list[Any], expected: list[Any]) -> None:
    """Assert that constants, which are folded when a text is read, mean the same as elements of an array."""
    unfolded = program.unfolded()
    if unfolded is None:
        return
    text, dtype, constants = unfolded
    with np.errstate(over="ignore"):
        values = np.array([float(constant) for constant in constants]).astype(numpy_dtype(dtype))
    found = _run(interpreted(parse(text), "main"), [values, *inputs])[1:]
    for place, (folded, wanted) in enumerate(zip(expected, found, strict=True)):
        difference = disagreement(folded, wanted, program)
        assert difference is None, f"result {place}, with constants: {difference}"


def _run(call: Callable[..., Any], inputs: list[Any]) -> list[Any]:
    own = copies(inputs)
    returned = call(*own)
    parts: Sequence[Any] = () if returned is None else (returned,)
    if isinstance(returned, tuple | list):
        parts = cast("Sequence[Any]", returned)
    return [*own, *map(np.asarray, parts)]


def disagreement(found: Any, wanted: Any, program: Program) -> str | None:
    """Describe the difference of two results: in class (NaN, infinity, zero), or in value by more than the law allows."""
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        return f"{found.dtype} of shape {found.shape}, not {wanted.dtype} of shape {wanted.shape}"
    if not is_float(str(wanted.dtype)):
        differs = found != wanted
    else:
        with np.errstate(all="ignore"):
            differs = _differs(found.astype(np.float64), wanted.astype(np.float64), program, str(wanted.dtype))
    if not differs.any():
        return None
    place = tuple(int(index) for index in np.argwhere(differs)[0])
    return f"element {list(place)} is {found[place]!s}, not {wanted[place]!s} ({int(differs.sum())} of {found.size} differ)"


def _differs(found: Any, wanted: Any, program: Program, dtype: str) -> Any:
    same_class = (np.isnan(found) == np.isnan(wanted)) & (np.isinf(found) == np.isinf(wanted))
    allowed = np.zeros_like(wanted)
    if not program.is_exact:
        tolerance = TOLERANCE[dtype]
        scale = np.where(np.isfinite(wanted), np.abs(wanted), 0)
        if program.kind != "function":
            scale = np.maximum(scale, scale.max(initial=1.0) if program.is_sum else 1.0)
        allowed = tolerance * scale + _LEAST[dtype]
    near = (found == wanted) | (np.isnan(found) & np.isnan(wanted)) | (np.abs(found - wanted) <= allowed)
    is_zero = (found == 0) & (wanted == 0)
    other_sign = is_zero & (np.signbit(found) != np.signbit(wanted)) & program.has_signed_zeros
    return ~(same_class & near) | other_sign


_LEAST = {"float64": 1e-300, "float32": 1e-37, "float16": 3e-4, "bfloat16": 1e-37}
"""Magnitudes below which results, such as denormals, may differ."""


def _constructs(example: _Example) -> Iterator[str]:
    yield from module_constructs(parse(example.program.text))
    yield f"kind:{example.program.kind}"
    if example.program.is_simulated:
        yield "simulated"


LAW = Law(
    _examples,
    _check,
    _check_all,
    show=lambda example: example.program.text,
    read=lambda source: _Example(Program(source.text, "formula"), 0),
    constructs=_constructs,
    expected=frozenset(
        ["simulated", *[f"kind:{kind}" for kind in ("formula", "function", "max", "min", "sum", "operator", "rows")]]
    ),
    counted=("simulated",),
)
