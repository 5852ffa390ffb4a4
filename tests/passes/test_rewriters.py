"""Rewriters: rules in Python and rules as modules."""

# ruff: noqa: ANN201, ANN202 (definitions that are parsed)

from __future__ import annotations

from typing import Any

import pytest
import tvms
from tvms import relax
from tvms.relax.dpl import (
    PatternMatchingRewriter,
    PrimArrPattern,
    UnorderedTuplePattern,
    VarPattern,
    is_dfv,
    is_op,
    is_shape,
    is_tuple,
    is_var,
    wildcard,
)
from tvms.script import relax as R
from tvms.script import tir as T
from tvms.testing import assert_equivalent


@R.rewriter
class TwoProducts:
    """Two products with one right side as one product."""

    @R.function
    def pattern(a: R.Tensor(("n", "k"), "float32"), b: R.Tensor(("m", "k"), "float32"), x: R.Tensor(("k",), "float32")):
        first = R.matmul(a, x)
        second = R.matmul(b, x)
        return (first, second)

    @R.function
    def replacement(
        a: R.Tensor(("n", "k"), "float32"), b: R.Tensor(("m", "k"), "float32"), x: R.Tensor(("k",), "float32")
    ):
        n, m = T.int64(), T.int64()
        both = R.matmul(R.concat([a, b]), x)
        first: R.Tensor((n,), "float32") = R.strided_slice(both, axes=[0], begin=[0], end=[n])
        second: R.Tensor((m,), "float32") = R.strided_slice(both, axes=[0], begin=[n], end=[n + m])
        return (first, second)


def products(between: str = "", result: str = "R.add(R.sum(p), R.sum(q))") -> Any:
    return tvms.parse(f"""
R.function(pure=False) main(a: R.Tensor((3, 4), "float32"), b: R.Tensor((5, 4), "float32"), x: R.Tensor((4,), "float32")):
    p = R.matmul(a, x)
    {between or "z = R.exp(x)"}
    q = R.matmul(b, x)
    return {result}
""")


@pytest.mark.parametrize("result", ["R.add(R.sum(p), R.sum(q))", "(p, q)"])
def test_values_that_match_a_tuple_are_computed_together(result: str) -> None:
    before = products(result=result)
    after = TwoProducts(before)
    assert after.script().count("R.matmul") == 1
    assert not tvms.verify(after)
    assert_equivalent(before["main"], after["main"])


@pytest.mark.parametrize("between", ["z = R.exp(p)", 'z = R.print(format="between")'])
def test_a_value_used_before_the_last_one_is_not_delayed(between: str) -> None:
    before = products(between, "R.add(R.sum(p), R.add(R.sum(q), R.sum(z)))" if "exp" in between else "(p, q)")
    assert TwoProducts(before) is before


def test_a_module_gets_the_private_functions_that_its_new_values_call() -> None:
    @R.rewriter
    class Doubled:
        @R.function
        def pattern(a: R.Tensor((4,), "float32")):
            return R.add(a, a)

        @R.function
        def replacement(a: R.Tensor((4,), "float32")):
            return Doubled.twice(a)

        @R.function(private=True)
        def twice(a: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return R.multiply(a, R.const(2.0, "float32"))

    before = tvms.parse("""
I.ir_module Module:
    R.function main(x: R.Tensor((4,), "float32")):
        y = R.add(x, x)
        z = R.add(y, y)
        return twice(z)

    R.function twice(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.negative(x)
""")
    after = Doubled(before)
    assert [*after.functions] == ["main", "twice", "twice_1"]
    assert after.script().count("cls.twice_1(") + after.script().count("Module.twice_1(") == 2
    assert_equivalent(before, after)
    assert tvms.transform.Sequential([Doubled])(before).functions.keys() == after.functions.keys()
    with pytest.raises(tvms.TvmsError, match=r"E0913.*the new values call 'twice'"):
        Doubled(before["main"])


def test_rules_are_tried_in_order_until_nothing_changes() -> None:
    x = wildcard()
    doubled = PatternMatchingRewriter.from_pattern(
        is_op("relax.add")(x, x), lambda _, found: relax.op.negative(found[x])
    )
    inverse = PatternMatchingRewriter.from_pattern(
        is_op("relax.negative")(is_op("relax.negative")(x)), lambda _, found: found[x]
    )
    before = tvms.parse("""
R.function main(x: R.Tensor((4,), "float32")):
    y = R.add(x, x)
    z = R.add(y, y)
    return R.exp(z)
""")["main"]
    after = (doubled | inverse)(before)
    assert "R.add" not in after.script()
    assert "R.negative" not in after.script()


def test_a_rule_that_never_ends_is_refused() -> None:
    x = wildcard()
    grows = PatternMatchingRewriter.from_pattern(
        is_op("relax.exp")(x), lambda _, found: relax.op.exp(relax.op.negative(found[x]))
    )
    before = tvms.parse('R.function main(x: R.Tensor((4,), "float32")):\n    return R.exp(x)\n')["main"]
    tvms.ir.dpl.rewriter.MOST_ROUNDS, rounds = 5, tvms.ir.dpl.rewriter.MOST_ROUNDS
    try:
        with pytest.raises(tvms.TvmsError, match=r"E0913.*'main' still changes after 5 rounds"):
            grows(before)
    finally:
        tvms.ir.dpl.rewriter.MOST_ROUNDS = rounds


@pytest.mark.parametrize(
    ("functions", "kind", "message"),
    [
        ("R.function replacement(x: R.Object):\n    return x\n", KeyError, "needs a function 'pattern'"),
        (
            "T.prim_func pattern():\n    T.evaluate(0)\n\nR.function replacement():\n    return R.tuple()\n",
            TypeError,
            "'pattern' of a rewriter is a graph function",
        ),
        (
            "R.function pattern(x: R.Tensor((2,))):\n    return x\n\nR.function replacement(x: R.Tensor((3,))):\n    return x\n",
            ValueError,
            "must have the same signature",
        ),
    ],
)
def test_modules_that_are_no_rules_are_refused(functions: str, kind: type[Exception], message: str) -> None:
    module = tvms.parse("#tvms 1\n\nI.ir_module M:\n" + "".join(f"    {line}\n" for line in functions.splitlines()))
    with pytest.raises(kind, match=message):
        PatternMatchingRewriter.from_module(module)


def test_patterns_tell_what_they_match() -> None:
    assert isinstance(is_var("x"), VarPattern)
    assert is_var("x").name == "x"
    fields = is_tuple([is_var("x"), is_dfv()], unordered=True)
    assert isinstance(fields, UnorderedTuplePattern)
    assert len(fields) == 2
    shape = is_shape([3, 4])
    assert isinstance(shape, PrimArrPattern)
    assert shape[1] == 4
    pair = is_tuple([is_var("x"), is_var("y")])
    assert pair[-1].index == 1  # type: ignore[reportAttributeAccessIssue,reportIndexIssue]
    with pytest.raises(IndexError, match="there is no field 2"):
        pair[2]  # type: ignore[reportIndexIssue]


def test_one_symbolic_dimension_stands_for_one_size() -> None:
    n = tvms.tir.Var("n", "int64")
    sides = [wildcard().has_struct_info(relax.TensorStructInfo((n,), "float32")) for _ in range(2)]
    both = is_op("relax.add")(*sides)
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    y = relax.Var("y", relax.TensorStructInfo((1,), "float32"))
    assert both.match(relax.op.add(x, x))
    assert not both.match(relax.op.add(x, y))
