"""Rewriting what matches a dataflow pattern."""

from __future__ import annotations

from typing import Any

import pytest
import tvms
from tvms import relax
from tvms.relax.dpl import is_const, is_op, rewrite_call, wildcard
from tvms.testing import assert_equivalent


def function(*lines: str) -> Any:
    body = "".join(f"        {line}\n" for line in lines)
    head = 'R.function main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):\n    with R.dataflow():\n'
    return tvms.parse(f"{head}{body}        R.output(out)\n    return out\n")["main"]


def test_what_a_rewrite_makes_is_tried_in_turn() -> None:
    left, right = wildcard(), wildcard()
    scale = is_const()
    before = function("a = R.add(x, y)", "b = R.add(a, x)", 'out = R.multiply(b, R.const(2.0, "float32"))')
    product = is_op("relax.multiply")(is_op("relax.add")(left, right), scale)

    def distribute(expr: Any, matches: Any) -> Any:
        return relax.op.add(*[relax.op.multiply(matches[each], matches[scale]) for each in (left, right)])

    after = rewrite_call(product, distribute, before)
    assert after.script().count("R.multiply") == 3
    assert_equivalent(before, after)


def test_a_second_name_is_none() -> None:
    source = wildcard()
    before = function("lv = R.exp(x)", "lv1 = R.negative(lv)", "out = R.negative(lv1)")
    twice = is_op("relax.negative")(is_op("relax.negative")(source))
    after = rewrite_call(twice, lambda expr, matches: matches[source], before)
    assert tvms.structural_equal(after, function("out = R.exp(x)"))


@pytest.mark.parametrize(
    ("wanted", "matches"),
    [
        (relax.TensorStructInfo(dtype="float32"), True),
        (relax.TensorStructInfo((4,)), True),
        (relax.TensorStructInfo((tvms.tir.Var("n", "int64"),), "float32"), True),
        (relax.TensorStructInfo((5,), "float32"), False),
        (relax.TensorStructInfo((4,), "float16"), False),
    ],
)
def test_at_least_this_is_known(wanted: Any, matches: bool) -> None:
    (x, _) = function("out = R.exp(x)").params
    assert wildcard().has_struct_info(wanted).match(x) is matches
    assert (
        not wildcard()
        .has_struct_info(relax.TensorStructInfo((4,), "float32"))
        .match(relax.Var("z", relax.TensorStructInfo(ndim=1, dtype="float32")))
    )
