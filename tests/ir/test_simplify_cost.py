"""Simplifying conditions takes work in proportion to their size, however `and` and `or` nest, and is done once."""

from __future__ import annotations

import pytest
from tvms.dsl.testing.growth import check_growth
from tvms.ir import tir
from tvms.ir.base import Op
from tvms.ir.deep import run_with_big_stack
from tvms.ir.equal import structural_equal
from tvms.ir.simplify import simplify
from tvms.ir.simplify.core import Simplifier

VARIABLES = [tir.Var("int32", f"v{number}") for number in range(8)]
KINDS = (tir.And, tir.Or)


def _leaf(number: int) -> tir.PrimExpr:
    return tir.LT("bool", VARIABLES[number % 8], tir.IntImm("int32", number * 5 % 23))


def _balanced(size: int, first: int = 0, level: int = 0) -> tir.PrimExpr:
    if size < 2:
        return _leaf(first)
    half = size // 2
    parts = _balanced(half, first, level + 1), _balanced(size - half, first + half, level + 1)
    return KINDS[level % 2]("bool", *parts)


def _spine(size: int) -> tir.PrimExpr:
    found = _leaf(0)
    for number in range(1, size):
        found = KINDS[number % 2]("bool", _leaf(number), found)
    return found


def _flat(size: int) -> tir.PrimExpr:
    found = _leaf(0)
    for number in range(1, size):
        product = tir.Mul("int32", VARIABLES[number * number % 8], VARIABLES[(number + 3) % 8])
        found = tir.And("bool", found, tir.LT("bool", tir.Add("int32", product, VARIABLES[number % 8]), product))
    return found


def _cast(size: int) -> tir.PrimExpr:
    """Conditions in numbers in conditions."""
    found = _leaf(0)
    for number in range(1, size):
        taken = tir.GT("bool", tir.Cast("float32", found), tir.Var("float32", "x"))
        found = tir.Or("bool", taken, _leaf(number))
    return found


CONDITIONS = {"balanced": _balanced, "spine": _spine, "flat": _flat, "cast": _cast}


def _choice(is_select: bool, condition: tir.PrimExpr, yes: tir.PrimExpr, no: tir.PrimExpr) -> tir.PrimExpr:
    if is_select:
        return tir.Select("int32", condition, yes, no)
    return tir.Call("int32", Op("tir.if_then_else"), (condition, yes, no))


def _choices(size: int, place: str, is_select: bool, leaf: tir.PrimExpr) -> tir.PrimExpr:
    """Choices in the conditions of choices, or where these hold, or where they do not."""
    found: tir.PrimExpr = VARIABLES[0]
    for number in range(size):
        bound = tir.IntImm("int32", number)
        inside = {"condition": (found, VARIABLES[0], leaf), "holds": (VARIABLES[0], found, leaf)}
        compared, yes, no = inside.get(place, (VARIABLES[0], leaf, found))
        found = _choice(is_select, tir.LT("bool", compared, bound), yes, no)
    return found


def _calls(size: int) -> tir.PrimExpr:
    """A sum of calls with effects."""
    call = tir.Call("int32", Op("tir.call_extern"), (tir.StringImm("handle", "f"),))
    found: tir.PrimExpr = VARIABLES[0]
    for _ in range(size):
        found = tir.Add("int32", found, call)
    return found


@pytest.mark.parametrize("name", CONDITIONS)
def test_work_is_linear(name: str) -> None:
    check_growth(simplify, 16, CONDITIONS[name])


@pytest.mark.parametrize("leaf", ["total", "may fault"])
@pytest.mark.parametrize("is_select", [True, False])
@pytest.mark.parametrize("place", ["condition", "holds", "does not"])
def test_work_of_nested_choices_is_linear(place: str, is_select: bool, leaf: str) -> None:
    kind = tir.Mul if leaf == "total" else tir.FloorDiv
    parts = kind("int32", VARIABLES[1], VARIABLES[2])
    check_growth(simplify, 6, lambda size: _choices(size, place, is_select, parts))


def test_work_of_effects_is_linear() -> None:
    check_growth(Simplifier().run, 16, _calls)


@pytest.mark.parametrize("size", [4, 8, 16, 64])
@pytest.mark.parametrize("name", CONDITIONS)
def test_simplifying_again_changes_nothing(name: str, size: int) -> None:
    def check() -> None:
        once = simplify(CONDITIONS[name](size))
        assert structural_equal(simplify(once), once, map_free_vars=False)

    run_with_big_stack(check)


def test_large_conditions_end_at_a_part_that_decides_them() -> None:
    never = tir.LT("bool", VARIABLES[0], VARIABLES[0])
    found = simplify(tir.And("bool", _flat(64), never))
    assert isinstance(found, tir.IntImm)
    assert found.value == 0
    always = tir.Not("bool", never)
    twice = tir.And("bool", tir.And("bool", _flat(64), always), _leaf(0))
    assert structural_equal(simplify(twice), simplify(_flat(64)), map_free_vars=False)


@pytest.mark.parametrize("is_left", [True, False])
def test_work_of_products_is_linear(is_left: bool) -> None:
    variables = [tir.Var("int32", f"x{number}") for number in range(1024)]

    def product(size: int) -> tir.PrimExpr:
        found: tir.PrimExpr = variables[0]
        for variable in variables[1:size]:
            found = tir.Mul("int32", found, variable) if is_left else tir.Mul("int32", variable, found)
        return found

    check_growth(simplify, 16, product)
