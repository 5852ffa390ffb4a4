"""Walking and rewriting: orders, sharing, one object for one object, and any depth."""

import sys
from pathlib import Path

from hypothesis import given
from tvms.ir import make, relax, tir
from tvms.ir.equal import structural_equal
from tvms.ir.variables import free_variables
from tvms.ir.visit import children, post_order, rewrite, substitute, walk

sys.path.insert(0, str(Path(__file__).parent))
from ir_programs import X, Y, Z, deep, expressions, functions

DEPTH = 20_000


@given(functions)
def test_both_orders_visit_the_same_nodes(function: tir.PrimFunc) -> None:
    before, after = list(walk(function)), list(post_order(function))
    assert before[0] is after[-1] is function
    assert sorted(map(id, before)) == sorted(map(id, after))
    place = {id(node): index for index, node in enumerate(before)}
    assert all(place[id(child)] > 0 for node in before for child in children(node))


@given(functions)
def test_rewriting_nothing_shares_everything(function: tir.PrimFunc) -> None:
    assert rewrite(function, lambda node: None) is function
    assert substitute(function, {tir.Var("int32", "other"): X}) is function


@given(expressions)
def test_substitution_composes(node: tir.PrimExpr) -> None:
    swapped = substitute(node, {X: Y, Y: X})
    assert structural_equal(substitute(swapped, {X: Y, Y: X}), node, map_free_vars=True)
    gone = substitute(node, {X: make.const(1), Y: make.const(1), Z: make.const(1)})
    assert free_variables(gone) == ()
    assert set(free_variables(node)) <= {X, Y, Z}


@given(functions)
def test_a_whole_function_has_no_free_variables(function: tir.PrimFunc) -> None:
    assert free_variables(function) == ()


@given(functions)
def test_a_rewritten_buffer_is_one_buffer(function: tir.PrimFunc) -> None:
    (old,) = function.buffer_map.values()
    new_extent = rewrite(function, lambda node: make.const(32) if getattr(node, "value", None) == 16 else None)
    (new,) = new_extent.buffer_map.values()
    assert new is not old
    assert {id(n.buffer) for n in walk(new_extent) if isinstance(n, tir.BufferStore)} == {id(new)}


def test_any_depth() -> None:
    node = deep(DEPTH, X)
    assert sum(1 for _ in walk(node)) == sum(1 for _ in post_order(node)) == 2 * DEPTH + 1
    assert free_variables(node) == (X,)
    assert free_variables(substitute(node, {X: Y})) == (Y,)


def test_symbolic_shapes_are_defined_by_signatures_and_match_casts() -> None:
    n, m = tir.Var("int64", "n"), tir.Var("int64", "m")
    x = relax.Var("x", struct_info=relax.TensorStructInfo(relax.ShapeExpr((n,)), "float32", 1))
    y = relax.Var("y", struct_info=relax.TensorStructInfo(relax.ShapeExpr((m,)), "float32", 1))
    cast = relax.MatchCast(y, x, y.struct_info)  # type: ignore[arg-type]
    body = relax.SeqExpr((relax.BindingBlock((cast,)),), y)
    assert free_variables(relax.Function((x,), body)) == ()
    assert free_variables(body) == (x, n)
