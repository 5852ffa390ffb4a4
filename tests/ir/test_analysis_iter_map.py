"""Iterator maps: levels mean what they say at every point, inverses invert, and divisions put together what they divide."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from tvms.ir import make, tir
from tvms.ir.analysis.evaluate import evaluate
from tvms.ir.analysis.iter_map import IterMapLevel, detect_iter_map
from tvms.ir.analysis.iter_map_use import inverse_affine_iter_map, normalize_iter_map_to_expr, subspace_divide
from tvms.ir.te import expr as te

X, Y, Z, N, M = te.var("x"), te.var("y"), te.var("z"), te.size_var("n"), te.size_var("m")


def domain(*extents: te.Value) -> dict[tir.Var, tir.Range]:
    """The iterators x, y, z from 0 to these extents."""
    pairs = zip((X, Y, Z), extents, strict=False)
    return {v: tir.Range(make.const(0), te.operand(e)) for v, e in pairs}  # type: ignore[misc]


def nodes(*indices: te.Value) -> list[tir.PrimExpr]:
    return [te.operand(index) for index in indices]


Map = tuple[list[tir.PrimExpr], dict[tir.Var, tir.Range], tir.PrimExpr | None]


def random_map(random: np.random.Generator, is_plain: bool = False) -> Map:
    """Iterators that are split and fused at random, and a predicate now and then.

    Not only as schedules do it, unless plain: what is split may start anywhere, what is fused may overlap, and some
    parts may be left out.
    """
    extents = [int(random.choice([1, 2, 4, 6, 8, 12])) for _ in range(3)]
    parts: list[tuple[tir.PrimExpr, int]] = list(zip((X, Y, Z), extents, strict=True))
    predicate = None
    for _ in range(int(random.integers(1, 5))):
        value, extent = parts.pop(int(random.integers(len(parts))))
        kind = random.random()
        if kind < 0.5 and extent > 1:
            factor = int(random.integers(1, extent + 1))
            start = 0 if is_plain or random.random() < 0.6 else int(random.integers(-5, 20))
            parts += [((value + start) // factor, -(-extent // factor)), ((value + start) % factor, factor)]
        elif parts and kind < 0.9:
            other, length = parts.pop(int(random.integers(len(parts))))
            step = length if is_plain or random.random() < 0.7 else int(random.integers(1, length + 2))
            parts.append((value * step + other, extent * length))
        else:
            parts.append((value, extent))
            if predicate is None and not is_plain and extent > 1:
                limit = int(random.integers(1, extent + 1))
                predicate = value < limit if random.random() < 0.5 else extent - limit <= value
    random.shuffle(parts)  # type: ignore[arg-type]
    kept = parts if is_plain or random.random() < 0.7 else parts[1:] or parts
    return [value for value, _ in kept], domain(*extents), predicate


def values_at_every_point(
    indices: list[tir.PrimExpr], domains: dict[tir.Var, tir.Range], predicate: tir.PrimExpr | None = None
) -> Counter[tuple[int | None, ...]]:
    ranges = [range(d.extent.value) for d in domains.values()]  # type: ignore[attr-defined]
    points = [dict(zip(domains, point, strict=True)) for point in itertools.product(*ranges)]
    inside = [point for point in points if predicate is None or evaluate(predicate, point)]
    return Counter(tuple([evaluate(index, point) for index in indices]) for point in inside)


def test_levels_mean_what_they_say(random: np.random.Generator) -> None:
    seen = Counter[str]()
    for number in range(400):
        is_plain = number % 2 == 0
        indices, domains, predicate = random_map(random, is_plain)
        found = values_at_every_point(indices, domains, predicate)
        whole = 1
        for axis in range(len(indices)):
            whole *= len({value[axis] for value in found})
        is_surjective, is_injective = len(found) == whole, set(found.values()) <= {1}
        surjective, bijective = [
            detect_iter_map(indices, domains, predicate, level) for level in ("surjective", "bijective")
        ]
        assert is_surjective or not surjective.is_detected
        assert (is_surjective and is_injective) or not bijective.is_detected
        seen[f"{is_plain}{is_surjective}{surjective.is_detected}"] += 1
        for sums, index in zip(surjective.indices, indices, strict=bool(surjective.indices)):
            again = values_at_every_point([normalize_iter_map_to_expr(sums)], domains, predicate)
            assert again == values_at_every_point([index], domains, predicate)
            extents = [split.extent.value for split in sums.args]  # type: ignore[attr-defined]
            assert len(again) == (extents or [1])[0]
    assert seen["TrueTrueTrue"] > 4 * seen["TrueTrueFalse"]
    assert seen["FalseTrueTrue"] > seen["FalseTrueFalse"]


def test_inverses_invert(random: np.random.Generator) -> None:
    count = 0
    for _ in range(100):
        indices, domains, _ = random_map(random, is_plain=True)
        result = detect_iter_map(indices, domains, None, IterMapLevel.BIJECTIVE)
        if not result.is_detected:
            continue
        count += 1
        outputs = [tir.Var("int32", f"o{axis}") for axis in range(len(indices))]
        inverse = inverse_affine_iter_map(result.indices, outputs)
        for point in itertools.product(*[range(item.extent.value) for item in domains.values()]):  # type: ignore[attr-defined]
            at = dict(zip(domains, point, strict=True))
            there = {output: evaluate(index, at) or 0 for output, index in zip(outputs, indices, strict=True)}
            assert all(evaluate(value, there) == at[variable] for variable, value in inverse.items())
    assert count > 30


@pytest.mark.parametrize(
    ("indices", "extents", "predicate", "level", "reason"),
    [
        ([X, X], (3,), None, "surjective", "parts of an iterator overlap"),
        ([X], (3, 4), None, "bijective", "iterator 'y' is not used"),
        ([X * 5 + Y], (3, 4), None, "surjective", "the iterators in a sum overlap, or leave gaps"),
        (
            [X // 4, X % 4],
            (10,),
            None,
            "surjective",
            "an iterator is split by a factor that does not divide its extent",
        ),
        ([X // 4], (16,), None, "bijective", "the lowest part of an iterator is not used"),
        ([X * X], (8,), None, "surjective", "iterators are multiplied with each other"),
        ([X, Y], (8, 8), X * 8 + Y < 20, "surjective", "a predicate bounds iterators that are used on their own"),
        (
            [te.maximum(X, Y)],
            (8, 8),
            None,
            "surjective",
            "an index is neither a sum, a quotient nor a remainder of iterators",
        ),
    ],
)
def test_reasons(
    indices: list[te.Value], extents: tuple[int, ...], predicate: tir.PrimExpr | None, level: str, reason: str
) -> None:
    given = None if predicate is None else predicate
    assert detect_iter_map(nodes(*indices), domain(*extents), given, level).errors == (reason,)


def test_predicates_shorten_and_symbols_may_be_extents() -> None:
    fused = X * 10 + Y
    (index,) = detect_iter_map(nodes(fused), domain(13, 10), te.all(fused > 5, fused < 128)).indices
    assert [str(index.args[0].extent), str(index.base)] == ["122", "6"]
    assert detect_iter_map(nodes(X * N + Y), domain(M, N), None, "bijective").is_detected
    assert detect_iter_map(nodes(X // N, X % N), domain(N * M), None, "bijective").is_detected
    assert not detect_iter_map(nodes(X // N, X % N), domain(M)).is_detected


def test_spaces_are_divided() -> None:
    found = subspace_divide(nodes(Z * 12 + Y * 3 + X + N), domain(3, 4, 5), [X], (Z * 4 + Y < 18))  # type: ignore[list-item]
    assert found is not None
    (division,) = found.divisions
    parts = (division.outer, division.outer_extent, division.inner, division.inner_extent)
    assert list(map(str, parts)) == ["z * 4 + y", "18", "x + n", "3"]
    assert [str(found.outer_predicate), str(found.inner_predicate)] == ["z * 4 + y < 18", "T.bool(True)"]
    assert subspace_divide(nodes(X * 2 + Y // 4, Y % 4 * 2 + Z), domain(4, 8, 2), [X, Z]) is None  # type: ignore[list-item]


def test_quotients_of_a_fusion_whose_parts_do_not_divide_each_other() -> None:
    """128 and 112 share the factor 16 only: the fused index is taken apart as a whole."""
    fused = X * 128 + Y
    indices = nodes(fused // 896 * 14 + fused % 112 // 8, fused % 896 // 112 * 8 + fused % 8)
    assert detect_iter_map(indices, domain(98, 128), None, "bijective").is_detected
    assert not detect_iter_map(
        nodes(fused // 896 * 14 + fused % 112 // 8), domain(98, 128), None, "bijective"
    ).is_detected


@pytest.mark.parametrize("level", list(IterMapLevel))
@pytest.mark.parametrize("index", [X // -2, X % -3, (X // 2) // -2, X % 6 // -2], ids=str)
def test_a_divisor_that_is_not_positive_gives_no_map(index: te.Value, level: IterMapLevel) -> None:
    assert not detect_iter_map(nodes(index), domain(9), check_level=level).is_detected
