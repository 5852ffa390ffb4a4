"""Structural equality is an equivalence that renaming keeps and the hash agrees with; differences are located."""

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvms
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tvms.ir import make, relax, tir
from tvms.ir.base import GlobalVar, IRModule
from tvms.ir.equal import first_difference, structural_equal, structural_hash

sys.path.insert(0, str(Path(__file__).parent))
from ir_programs import X, Y, deep, expressions, functions, nest, renamed

DEPTH = 20_000


@given(functions, functions)
def test_equality_is_symmetric_and_the_hash_agrees(a: tir.PrimFunc, b: tir.PrimFunc) -> None:
    assert structural_equal(a, a)
    assert structural_equal(a, b) == structural_equal(b, a) == (first_difference(a, b) is None)
    if structural_equal(a, b):
        assert structural_hash(a) == structural_hash(b)
    else:
        assert structural_hash(a) != structural_hash(b)


@given(functions)
def test_renaming_changes_nothing(function: tir.PrimFunc) -> None:
    copy = renamed(function)
    assert first_difference(function, copy) is None
    assert structural_hash(function) == structural_hash(copy)


@given(expressions)
def test_free_variables_are_themselves(node: tir.PrimExpr) -> None:
    assert structural_equal(tir.Add("int32", node, X), tir.Add("int32", node, X))
    assert not structural_equal(tir.Add("int32", node, X), tir.Add("int32", node, Y))
    assert structural_equal(tir.Add("int32", X, make.const(1)), tir.Add("int32", Y, make.const(1)), map_free_vars=True)
    assert not structural_equal(tir.Add("int32", X, Y), tir.Add("int32", X, X), map_free_vars=True)


ATOMS = [True, 1, 1.0, 0.0, -0.0, math.nan, "1", None, make.const(True), make.const(1), make.const(1, "int64")]


@pytest.mark.parametrize("a", range(len(ATOMS)))
@pytest.mark.parametrize("b", range(len(ATOMS)))
def test_values_of_different_kinds_differ(a: int, b: int) -> None:
    left, right = ({"key": ATOMS[index]} for index in (a, b))
    assert structural_equal(left, right) == (a == b)
    assert (structural_hash(left) == structural_hash(right)) == (a == b)


def test_attributes_have_no_order_and_tuples_do() -> None:
    assert structural_equal({"a": 1, "b": (2, 3)}, {"b": [2, 3], "a": 1})
    assert not structural_equal({"a": (1, 2)}, {"a": (2, 1)})


@given(st.lists(st.floats(width=32), max_size=4))
def test_arrays_compare_by_their_bytes(values: list[float]) -> None:
    array = np.array(values, "float32")
    assert structural_equal(relax.Constant(array, name="a"), relax.Constant(array.copy(), name="b"))
    assert not structural_equal(relax.Constant(array), relax.Constant(array.astype("float64")))
    assert not structural_equal(relax.Constant(array), relax.Constant(array[None]))


def test_two_buffers_of_one_shape_are_two() -> None:
    function = nest([X, Y])
    (buffer,) = function.buffer_map.values()
    other = tir.Buffer(tir.Var("handle", "B", buffer.data.type_annotation), "int32", buffer.shape, "B")
    handle = tir.Var("handle", "b")

    def stores(first: tir.Buffer, second: tir.Buffer) -> tir.PrimFunc:
        body = tir.SeqStmt(tuple([tir.BufferStore(b, make.const(0), (make.const(0),)) for b in (first, second)]))
        return replace(
            function, params=(*function.params, handle), body=body, buffer_map={**function.buffer_map, handle: other}
        )

    assert structural_equal(stores(buffer, other), renamed(stores(buffer, other)))
    assert not structural_equal(stores(buffer, other), stores(other, buffer))
    assert not structural_equal(stores(buffer, buffer), stores(buffer, other))


def test_the_first_difference_is_located() -> None:
    modules = [IRModule({"f": nest([make.add(X, constant)])}) for constant in (1, 2)]
    assert str(first_difference(*modules)) == "at <root>.functions['f'].body.body.value.b.value: 1 against 2"
    assert str(first_difference(nest([X]), nest([X, X]))) == "at <root>.body: a For against a SeqStmt"
    assert str(first_difference(GlobalVar("f"), GlobalVar("g"))) == "at <root>.name_hint: 'f' against 'g'"
    assert str(first_difference((X,), ())) == "at <root>: 1 elements against 0 elements"
    assert first_difference(nest([X]), nest([X], name="B")) is None


def test_any_depth() -> None:
    assert structural_equal(deep(DEPTH, X), deep(DEPTH, X))
    assert not structural_equal(deep(DEPTH, X), deep(DEPTH, Y))
    assert structural_hash(deep(DEPTH, X)) == structural_hash(deep(DEPTH, X)) != structural_hash(deep(DEPTH, Y))


@given(functions)
def test_functions_of_a_module_may_share_names(function: tir.PrimFunc) -> None:
    shared = IRModule({"a": function, "b": function})
    apart = IRModule({"a": function, "b": renamed(function)})
    assert first_difference(shared, apart) is None
    assert first_difference(apart, shared) is None
    assert structural_hash(shared) == structural_hash(apart)


def test_symbolic_dimensions_are_names() -> None:
    def identity(name: str) -> relax.Function:
        n = tir.Var("int64", name)
        x = relax.Var("x", struct_info=relax.TensorStructInfo(relax.ShapeExpr((n, make.add(n, 1))), "float32", 2))
        return relax.Function((x,), relax.SeqExpr((), x), x.struct_info)

    assert structural_equal(identity("n"), identity("m"))
    assert structural_hash(identity("n")) == structural_hash(identity("m"))


def test_the_hash_is_the_same_in_every_process() -> None:
    program = (
        "from tvms.ir import make; from tvms.ir.equal import structural_hash; print(structural_hash(make.const(7)))"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(found.stdout) == structural_hash(make.const(7))


def test_names_of_blocks_count_unless_they_are_ignored_as_in_tvm() -> None:
    """Schedules find blocks by name; TVM's comparison ignores their names, and so does `tvms.ir`."""
    block = tir.Block((), (), (), "A", tir.Evaluate(X))
    other = replace(block, name_hint="B")
    assert not structural_equal(block, other)
    assert structural_equal(block, other, as_tvm=True)
    assert tvms.ir.structural_equal(block, other)
    assert tvms.ir.structural_hash(block, True) == tvms.ir.structural_hash(other, True)
    assert structural_hash(block, True) != structural_hash(other, True)
    tvms.ir.assert_structural_equal(block, other)
    with pytest.raises(ValueError, match=r"^the programs differ: at <root>\.body\.value: Var 'x' against Var 'y'$"):
        tvms.ir.assert_structural_equal(block, replace(other, body=tir.Evaluate(Y)))


def test_integers_of_annotations_are_their_nodes_in_tvm() -> None:
    """TVM 0.21 stores `[0]` in an annotation as nodes, the newest TVM as integers; programs keep the difference."""
    block = tir.Block((), (), (), "A", tir.Evaluate(X), annotations={"regions": (0, 1)})
    other = replace(block, annotations={"regions": (make.const(0), make.const(1))})
    assert not structural_equal(block, other)
    assert tvms.ir.structural_equal(block, other)
    assert tvms.ir.structural_hash(block, True) == tvms.ir.structural_hash(other, True)
    assert not tvms.ir.structural_equal(block, replace(block, annotations={"regions": (0, 2)}))
    assert not tvms.ir.structural_equal(block, replace(block, annotations={"regions": (0, True)}))


def test_free_buffers_of_statements_are_matched_with_their_pointers() -> None:
    """A statement taken out of a program uses buffers that it does not declare; each use must have the same counterpart."""
    left, right, third = (tvms.tir.decl_buffer((4,), "float32", name) for name in "ABC")
    store = tir.BufferStore(left, make.buffer_load(left, (0,)), (make.const(1),))
    renamed = tir.BufferStore(right, make.buffer_load(right, (0,)), (make.const(1),))
    assert tvms.ir.structural_equal(store, renamed)
    assert not structural_equal(store, renamed), "two buffers of one program are different"
    assert not tvms.ir.structural_equal(store, tir.BufferStore(right, make.buffer_load(third, (0,)), (make.const(1),)))


def test_an_element_that_differs_comes_before_the_number_of_elements() -> None:
    def function(*names: str) -> Any:
        lines = [f"    y = R.{name}(y)" for name in names]
        return tvms.parse("\n".join(['R.function f(y: R.Tensor((2,), "float32")):', *lines, "    return y"]))["f"]

    with pytest.raises(ValueError, match=r"at <root>\.body\.blocks\[0\]\.bindings\[0\]\.value\.op\.name: 'relax.abs'"):
        tvms.ir.assert_structural_equal(function("abs", "exp"), function("exp"))
    with pytest.raises(ValueError, match=r"at <root>\.body\.blocks\[0\]\.bindings: 1 elements against 2 elements"):
        tvms.ir.assert_structural_equal(function("exp"), function("exp", "exp"))
    assert not tvms.ir.structural_equal(function("exp"), function("exp", "exp"))
