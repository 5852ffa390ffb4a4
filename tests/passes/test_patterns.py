"""Rewriting what matches a dataflow pattern."""

from __future__ import annotations

from typing import Any

import pytest
import tvms
from tvms import relax
from tvms.relax.dpl import PatternContext, is_const, is_op, rewrite_call, wildcard
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


def test_patterns_that_use_each_other_match_together() -> None:
    before = function("a = R.exp(x)", "b = R.nn.relu(a)", "c = R.negative(a)", "d = R.nn.relu(c)", "out = R.add(b, d)")
    (block,) = before.body.blocks
    variables = {binding.var.name_hint: binding.var for binding in block.bindings}

    def call(name: str) -> Any:
        return is_op(f"relax.{name}")(wildcard())

    with PatternContext() as several:
        root, chain = call("exp"), call("negative") >> call("nn.relu")
        root.fork_to(chain, call("nn.relu"))
    found = several.match_dfb(block)
    assert found is not None
    assert [found[each] for each in (root, *chain.patterns)] == [variables[name] for name in "acd"]
    with PatternContext() as only:
        call("exp") >> call("nn.relu")
    assert only.match_dfb(block) is None  # `c` uses it, too
    with PatternContext() as second:
        relu = call("nn.relu")
        relu.used_by(is_op("relax.add")(wildcard(), wildcard()), 1)
    assert (second.match_dfb(block) or {})[relu] is variables["d"]


def test_patterns_use_each_other_in_a_context() -> None:
    with pytest.raises(tvms.TvmsError) as raised:
        wildcard() ^ wildcard()
    assert str(raised.value) == (
        "error[E0911]: patterns use each other in a context only\n  = help: write: with PatternContext() as ctx:"
    )
