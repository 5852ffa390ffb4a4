"""What the analyses of indices say holds at every point: bounds, remainders, and maps of iterators.

Half of the examples are indices of loops that are split, fused and bounded at random, which start anywhere, and whose sizes
may be symbolic; the others are arbitrary expressions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from hypothesis import strategies as st
from msgspec import Struct

from ....ir import make, tir
from ....ir.analysis.const_bounds import const_bounds
from ....ir.analysis.iter_map import IterMapLevel, detect_iter_map
from ....ir.analysis.iter_map_use import inverse_affine_iter_map, normalize_iter_map_to_expr, subspace_divide
from ....ir.analysis.modular_set import modular_set
from ....ir.base import Source
from ....ir.dtype import is_int
from ....ir.interp.expressions import compile_expr
from ....ir.visit import substitute
from ..choices import Choices
from ..constructs import constructs_of
from ..expressions import variables
from ..oracle import Execute
from .law import Law
from .simplify import Expression, expressions, expressions_in, points

_MOST = 600
"""Maximum number of points that are all evaluated."""
DETECTED, BIJECTIVE, DIVIDED = "maps detected", "bijective maps", "divided maps"


class _Example(Struct):
    """Expressions of variables with known ranges. The size n has one value, which no analysis is told."""

    parts: tuple[Expression, ...]
    predicate: tir.PrimExpr | None = None
    outcome: tuple[str, ...] = ()

    @property
    def ranges(self) -> dict[tir.Var, range]:
        return {variable: values for part in self.parts for variable, values in part.ranges.items()}

    def __str__(self) -> str:
        """Return functions that store the expressions, and the predicate in a function of its own."""
        bounds = [] if self.predicate is None else [Expression(self.predicate, self.ranges)]
        texts = [str(part).replace(" main(", f" main_{place}(") for place, part in enumerate((*self.parts, *bounds))]
        head, *_ = texts[0].splitlines()
        bodies = ["\n".join(text.splitlines()[1:]) for text in texts]
        return "\n\n".join([head, *bodies])


def _read(file: Source) -> _Example:
    """Return the expressions of a file as one map. A condition is its predicate."""
    found = expressions_in(file)
    shared = {variable.name: variable for part in found for variable in part.ranges}
    parts = [
        Expression(
            substitute(part.expr, {variable: shared[variable.name] for variable in part.ranges}),
            {shared[variable.name]: values for variable, values in part.ranges.items()},
        )
        for part in found
        if part.ranges
    ]
    conditions = [part.expr for part in parts if part.expr.dtype == "bool"]
    return _Example(tuple([part for part in parts if part.expr.dtype != "bool"]), conditions[0] if conditions else None)


def _maps() -> st.SearchStrategy[_Example]:
    @st.composite
    def example(draw: st.DrawFn) -> _Example:
        return _map(Choices(draw))

    return example()


def _map(choose: Choices) -> _Example:
    """Split and fuse iterators at random. Split iterators may start anywhere, and fused ones may overlap."""
    iterators, n = variables("x", "y", "z")[: choose.number(1, 3)], tir.SizeVar("int32", "n")
    sizes = {variable: choose.pick((4, 2, 3, 6, 8, 1, 12)) for variable in iterators}
    starts = {variable: choose.pick((0, 0, 0, 1, 3, -2)) for variable in iterators}
    count = choose.number(1, 4) if choose.rarely(3) else 0
    parts: list[tuple[tir.PrimExpr, int]] = [(variable, sizes[variable]) for variable in iterators]
    is_plain, predicate = bool(choose.number(0, 1)), None
    for _ in range(choose.number(0, 4)):
        value, extent = parts.pop(choose.number(0, len(parts) - 1))
        match choose.number(0, 3):
            case 0 if extent > 1:
                size = choose.number(1, extent)
                factor = make.const(size)
                shifted = value if is_plain else make.add(value, choose.pick((0, 0, 1, -3, 5)))
                parts.append((make.floordiv(shifted, factor), -(-extent // size)))
                parts.append((make.floormod(shifted, factor), size))
            case 1 if parts:
                other, length = parts.pop(choose.number(0, len(parts) - 1))
                step: tir.PrimExpr | int = length if is_plain or choose.number(0, 2) else choose.number(1, length + 1)
                if count and choose.rarely(2):  # the step is symbolic, and the other part often is smaller
                    step, other = n, choose.pick((make.const(0), other))
                parts.append((make.add(make.mul(value, step), other), extent * length))
            case 2 if count:
                parts.append((make.mul(make.add(value, choose.number(0, 2)), n), extent))
            case 3 if predicate is None and extent > 1:
                compare = choose.pick((make.less, make.greater_equal, make.less_equal))
                predicate = compare(value, choose.number(0, extent))
                parts.append((value, extent))
            case _:
                parts.append((make.add(value, choose.number(-1, 2)), extent))
    ranges = {variable: range(starts[variable], starts[variable] + sizes[variable]) for variable in iterators}
    if count:
        ranges[n] = range(count, count + 1)
    return _Example(tuple([Expression(value, ranges) for value, _ in parts]), predicate)


def _examples(file: Source | None) -> st.SearchStrategy[_Example]:
    if file is not None:
        return st.just(_read(file))
    return _maps() | expressions().map(lambda found: _Example((found,)))


def _check(example: _Example, execute: Execute) -> None:
    inside = _points(example)
    for part in example.parts:
        if is_int(part.expr.dtype) and "x" not in part.expr.dtype:
            _check_values(part, inside)
    indices = [part.expr for part in example.parts]
    example.outcome = _check_map(example, indices, inside) if all(index.dtype == "int32" for index in indices) else ()


def _points(example: _Example) -> list[dict[tir.Var, int]]:
    """Return the points at which the predicate holds; of a single expression, some of them."""
    sizes = prod(map(len, example.ranges.values()))
    found = (
        [dict(zip(example.ranges, values, strict=True)) for values in product(*example.ranges.values())]
        if sizes <= _MOST
        else list(points(example.ranges))
    )
    if example.predicate is None:
        return found
    holds = compile_expr(example.predicate)
    return [point for point in found if holds(_frame(point))]


def _frame(point: Mapping[tir.Var, int]) -> Any:
    return dict(point)


def _domains(ranges: Mapping[tir.Var, range]) -> dict[tir.Var, tir.Range]:
    return {
        variable: tir.Range(tir.IntImm(variable.dtype, values[0]), tir.IntImm(variable.dtype, len(values)))
        for variable, values in ranges.items()
    }


def _check_values(part: Expression, inside: Sequence[Mapping[tir.Var, int]]) -> None:
    """Check the bounds and the remainders of an expression."""
    import numpy as np

    evaluate, bounds, rest = (
        compile_expr(part.expr),
        const_bounds(part.expr, _domains(part.ranges)),
        modular_set(part.expr),
    )
    for point in inside:
        with np.errstate(all="ignore"):
            value = int(evaluate(_frame(point)))
        assert bounds.min <= value <= bounds.max, f"{part.expr} is {value}, not from {bounds.min} to {bounds.max}"
        is_member = (value - rest.base) % rest.coeff == 0 if rest.coeff else value == rest.base
        assert is_member, f"{part.expr} is {value}, not {rest.base} plus a multiple of {rest.coeff}"


def _check_map(
    example: _Example, indices: Sequence[tir.PrimExpr], inside: Sequence[Mapping[tir.Var, int]]
) -> tuple[str, ...]:
    """Check the sums of iterators that indices are recognized as, the inverse of a bijective map, and its divisions."""
    iterators = {
        variable: values for variable, values in example.ranges.items() if not isinstance(variable, tir.SizeVar)
    }
    domains, is_complete = _domains(iterators), prod(map(len, iterators.values())) <= _MOST
    outcome = set[str]()
    for level in IterMapLevel:
        result = detect_iter_map(indices, domains, example.predicate, level)
        if not result.is_detected:
            continue
        outcome.add(DETECTED)
        for index, found in zip(indices, result.indices, strict=True):
            _check_equal(index, normalize_iter_map_to_expr(found), inside, f"as a {level.value} map")
        if is_complete:
            _check_level(level, indices, inside)
        if level is IterMapLevel.BIJECTIVE and example.predicate is None:
            outcome.add(BIJECTIVE)
            outputs = [tir.Var("int32", f"o{place}") for place in range(len(indices))]
            back = dict(zip(outputs, indices, strict=True))
            for variable, value in inverse_affine_iter_map(result.indices, outputs).items():
                _check_equal(variable, substitute(value, back), inside, "by the inverse map")
    found = subspace_divide(indices, domains, list(iterators)[-1:], example.predicate)
    if found is None:
        return tuple(outcome)
    for index, part in zip(indices, found.divisions, strict=True):
        whole = make.add(make.mul(part.outer, part.inner_extent), part.inner)
        _check_equal(index, whole, inside, "divided")
    return (*outcome, DIVIDED)


def _check_equal(index: tir.PrimExpr, other: tir.PrimExpr, inside: Sequence[Mapping[tir.Var, int]], how: str) -> None:
    one, two = compile_expr(index), compile_expr(other)
    for point in inside:
        expected, found = one(_frame(point)), two(_frame(point))
        place = ", ".join(f"{variable.name} = {value}" for variable, value in point.items())
        assert found == expected, f"{how}, {index} becomes {other}, which is {found}, not {expected}, where {place}"


def _check_level(level: IterMapLevel, indices: Sequence[tir.PrimExpr], inside: Sequence[Mapping[tir.Var, int]]) -> None:
    if level is IterMapLevel.NO_CHECK:
        return
    values = Counter(tuple([compile_expr(index)(_frame(point)) for index in indices]) for point in inside)
    whole = prod(len({value[place] for value in values}) for place in range(len(indices)))
    assert len(values) == whole, f"the map is not surjective: {len(values)} of {whole} combinations"
    assert level is not IterMapLevel.BIJECTIVE or set(values.values()) <= {1}, "the map is not bijective"


def _constructs(example: _Example) -> Iterable[str]:
    yield from constructs_of(*[part.expr for part in example.parts])
    yield from example.outcome


LAW = Law(
    _examples, _check, read=_read, constructs=_constructs, counted=(DETECTED, BIJECTIVE, DIVIDED),
    expected=frozenset(["Add", "Mul", "FloorDiv", "FloorMod", DETECTED, BIJECTIVE, DIVIDED]),
)  # fmt: skip
