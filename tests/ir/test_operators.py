"""Python's operators on loop-level expressions: they build the nodes that the text builds."""

import operator
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
import tvms
from msgspec.structs import replace
from tvms.ir import make, te, tir
from tvms.ir.diagnostics import TvmsError
from tvms.ir.equal import structural_equal
from tvms.ir.operators import symbolic_equality
from tvms.ir.verify import verify
from tvms.ir.visit import substitute, walk

X, Y = tir.Var("int32", "i"), tir.Var("int32", "j")
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
    "!=": operator.ne,
}  # fmt: skip
_DTYPES = ("int8", "int32", "int64", "uint8", "uint32", "float16", "float32", "float64", "bool")
_NO_TRUTH = (
    "an expression has no truth value; choose with te.if_then_else, combine with te.all and te.any, and test for None with "
    "'is None'"
)


def _written(text: str, x: str, y: str) -> tuple[Any, tir.Var, tir.Var]:
    """Return the value of an expression as the text builds it, or its error, and its variables."""
    program = f"T.prim_func f(x: T.{x}, y: T.{y}):\n    T.evaluate({text})\n"
    try:
        function = tvms.parse(program).functions["f"]
    except TvmsError as problem:
        return problem.diagnostics[0].code, tir.Var(x, "x"), tir.Var(y, "y")
    (value,) = (node.value for node in walk(function) if isinstance(node, tir.Evaluate))
    return value, *function.params


def _built(build: Callable[..., Any], *operands: Any) -> Any:
    try:
        with symbolic_equality():
            return build(*operands)
    except TvmsError as problem:
        return problem.diagnostics[0].code


def _is_same(a: Any, b: Any) -> bool:
    return a == b if isinstance(a, str) or isinstance(b, str) else structural_equal(a, b)


@pytest.mark.parametrize("sign", _OPERATORS)
def test_law_operators_build_what_the_text_builds(sign: str) -> None:
    for x, y in product(_DTYPES, repeat=2):
        if sign == "/" and "float" not in x + y:
            continue  # ambiguous in texts
        written, *variables = _written(f"x {sign} y", x, y)
        built = _built(_OPERATORS[sign], *variables)
        assert _is_same(built, written), f"{x} {sign} {y}: {built} is not {written}"


@pytest.mark.parametrize("sign", _OPERATORS)
@pytest.mark.parametrize(
    ("dtype", "number"), [("int32", 3), ("int64", -2), ("float32", 2), ("float32", 0.5), ("float64", 0.5)]
)
def test_law_numbers_are_operands_as_in_the_text(sign: str, dtype: str, number: float) -> None:
    if sign == "/" and dtype.startswith("int"):
        return  # ambiguous in texts
    for text, place in ((f"x {sign} {number}", 0), (f"{number} {sign} x", 1)):
        written, x, _ = _written(text, dtype, dtype)
        operands = (x, number) if place == 0 else (number, x)
        built = _built(_OPERATORS[sign], *operands)
        if isinstance(built, tir.CmpOp) and place == 1:  # Python reflects comparisons: 3 < x is x > 3
            assert structural_equal(built.b, make.const(number, dtype))
        else:
            assert _is_same(built, written), f"{text}: {built} is not {written}"


@pytest.mark.parametrize("dtype", _DTYPES)
def test_law_signs_build_what_the_text_builds(dtype: str) -> None:
    for sign, build in (("-", operator.neg), ("~", operator.invert)):
        written, x, _ = _written(f"{sign}x", dtype, dtype)
        assert _is_same(_built(build, x), written)


def test_an_expression_built_by_operators_is_a_part_of_a_program() -> None:
    function = tvms.parse(
        "T.prim_func f(A: T.Buffer((9,), 'int32')):\n    for i in range(8):\n        A[i] = i\n"
    ).functions["f"]
    (store,) = (node for node in walk(function) if isinstance(node, tir.BufferStore))
    loop = store.indices[0]
    changed = substitute(function, {store: replace(store, value=loop + 1, indices=(8 - loop,))})
    assert [type(node) for node in walk(changed) if isinstance(node, tir.BinaryOp)] == [tir.Add, tir.Sub]
    assert verify(changed) == ()
    assert "A[8 - i] = i + 1" in str(changed)
    assert "A[T.Sub(8, 4)] = T.Add(4, 1)" in str(substitute(changed.body.body, {loop: make.const(4)}))
    out_of_bounds = substitute(function, {store: replace(store, indices=(loop + 2,))})
    assert [found.code for found in verify(out_of_bounds)] == ["E0414"]


def test_equality_is_identity_outside_of_tensor_functions() -> None:
    again = tir.Var("int32", "i")
    assert (X == X, again == X, X != X, again != X) == (True, False, False, True)
    assert (X + 1 == X + 1, tir.IntImm("int32", 1) == 1, X == None) == (False, True, False)  # noqa: E711
    assert (again in (X, Y), [X, again].index(again), {X: 1}.get(again), len({X, again})) == (False, 1, None, 2)
    axis = te.reduce_axis((0, 4), "k")
    assert (axis == axis, axis == axis.var, hash(axis) == hash(axis)) == (True, False, True)


def test_equality_builds_nodes_within_tensor_functions() -> None:
    seen: list[Any] = []

    def diagonal(i: tir.Var, j: tir.Var) -> Any:
        seen.extend((i == j, i != 2, 2 == i, i == None))  # noqa: E711, SIM300
        return te.select(i == j, te.const(1.0), te.const(0.0))

    unit = te.compute((4, 4), diagonal, name="unit")
    assert [str(node) for node in seen] == ["i == j", "i != 2", "i == 2", "False"]
    assert "T.Select(v_i == v_j, " in str(te.create_prim_func([unit]))
    axis = te.reduce_axis((0, 4), "k")
    first = te.comm_reducer(lambda x, y: te.select(x == 0, y, x), lambda dtype: te.const(0, dtype))
    total = te.compute((4,), lambda i: first(te.if_then_else(axis == i, unit[i, axis], 0.0), axis=axis), name="total")
    text = str(te.create_prim_func([unit, total]))
    assert "T.Select(total[v_i] == 0.0, " in text
    assert "T.if_then_else(v_k == v_i, " in text


def test_equality_is_identity_again_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError):
        te.compute((4,), lambda i: 1 // 0)
    with symbolic_equality():
        assert isinstance(X == Y, tir.EQ)
        with symbolic_equality(False):
            assert bool(X == Y) is False
        assert isinstance(X != Y, tir.NE)
    assert bool(X == Y) is False


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (lambda: tvms.tir.Select(X == Y, 1, 2), "T.Select(i == j, 1, 2)"),
        (lambda: tvms.tir.Select(X != 3, X, Y), "T.Select(i != 3, i, j)"),
        (lambda: tvms.tir.all(X < Y, X == Y), "i < j and i == j"),
        (lambda: tvms.tir.if_then_else(te.reduce_axis((0, 4), "k") == X, X, 0), "T.if_then_else(k == i, i, 0)"),
        (lambda: tvms.tir.Not(X == Y), "not i == j"),
        (
            lambda: tvms.tir.IndexMap.from_func(lambda i: [tvms.tir.Select(i == 3, 0, i)]).map_indices([X])[0],
            "T.Select(i == 3, 0, i)",
        ),
        (lambda: tvms.arith.Analyzer().simplify(X + 1 == Y + 1), "i == j"),
        (lambda: (X == Y).astype("int32"), 'T.Cast("int32", i == j)'),
        (lambda: tvms.tir.Evaluate(X == Y).value, "i == j"),
    ],
)
def test_a_comparison_by_equality_is_an_operand(value: Callable[[], Any], text: str) -> None:
    node = value()
    assert isinstance(node, tir.PrimExpr), f"{node!r} is not an expression"
    assert node.script() == text


def test_the_truth_value_of_a_comparison_is_identity() -> None:
    other = tir.Var("int32", "i")
    truths = [bool(value) for value in (X == X, X != X, other == X, other != X, X == Y, X != Y, X == "i")]
    assert truths == [True, False, False, True, False, True, False]
    assert X not in [Y, other]
    assert [Y, X, other].index(X) == 1
    assert (X == Y) == (Y == X)
    assert (X == Y) != (X != Y)
    assert tir.IntImm("int32", 3) == 3
    assert tir.IntImm("int32", 3) != 4
    assert repr(X == Y) == "i == j"


def test_a_captured_comparison_is_a_condition() -> None:
    given, wanted = tvms.tir.all(X < Y, Y == 4), X == 3

    @tvms.script.tir.prim_func(check_well_formed=False)
    def func(A: tvms.script.tir.Buffer(1, "bool")) -> None:  # type: ignore[reportInvalidTypeForm]
        if given:
            A[0] = wanted

    assert "if i < j and j == 4:\n        A[0] = i == 3" in func.script()


@pytest.mark.parametrize("value", [X, X + 1, X < Y, make.equal(X, Y), make.not_equal(X, Y), te.reduce_axis((0, 4))])
def test_an_expression_has_no_truth_value(value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{_NO_TRUTH}$"):
        bool(value)


def test_constants_and_comparisons_of_equal_operands_have_a_truth_value() -> None:
    assert (bool(make.const(2)), bool(make.const(0)), bool(make.const(True))) == (True, False, True)
    assert (bool(make.equal(X + 1, X + 1)), bool(make.not_equal(X + 1, X + 1))) == (True, False)
    assert (int(make.const(7)), list(range(make.const(2)))) == (7, [0, 1])
    with pytest.raises(TypeError, match="'Var' object cannot be interpreted as an integer"):
        range(X)  # type: ignore[arg-type]


@pytest.mark.parametrize("other", ["j", None, [1], tir.Evaluate(X)])
def test_an_operand_is_an_expression_or_a_number(other: Any) -> None:
    with pytest.raises(TypeError, match=rf"^unsupported operand type\(s\) for \+: 'Var' and '{type(other).__name__}'$"):
        X + other


def test_a_number_gets_the_dtype_of_the_expression_beside_it() -> None:
    narrow, half = tir.Var("int8", "x"), tir.Var("float16", "h")
    assert [(narrow + 1).dtype, (1 - narrow).dtype, (half * 0.5).dtype, (narrow * 0.5).dtype] == [
        "int8", "int8", "float16", "float32",
    ]  # fmt: skip


def test_only_numbers_become_constants() -> None:
    assert [make.const(value).dtype for value in (np.int64(3), np.float32(0.5), np.bool_(True), 1 << 40)] == [
        "int64", "float32", "bool", "int64",
    ]  # fmt: skip
    with pytest.raises(TypeError) as found:
        tvms.tir.reinterpret("uint8", object())
    assert (
        str(found.value)
        == """\
error[E0702]: expected an expression or a number, got a value of type object
  = help: write a number, or an expression of tvms.tir"""
    )
