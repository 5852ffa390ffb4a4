"""Rewriting what matches a dataflow pattern."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
import tvms
from tvms import relax
from tvms.ir.variables import defined_variables
from tvms.ir.visit import walk
from tvms.relax.dpl import PatternContext, is_const, is_op, rewrite_bindings, rewrite_call, wildcard
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
        return relax.op.add(*[relax.op.multiply(matches[value], matches[scale]) for value in (left, right)])

    after = rewrite_call(product, distribute, before)
    assert after.script().count("R.multiply") == 2  # x * 2 is computed once
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
    assert [found[value] for value in (root, *chain.patterns)] == [variables[name] for name in "acd"]
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
        "error[E0911]: constraints between patterns need an active PatternContext\n"
        "  = help: put the patterns into `with PatternContext() as ctx:`"
    )


def three_products() -> tuple[PatternContext, Any]:
    """Patterns of three products of one value, and what makes one product of them."""
    with PatternContext() as ctx:
        source, *weights = (wildcard() for _ in range(4))
        products = [is_op("relax.matmul")(source, weight) for weight in weights]

    def rewriter(found: Any, _: Any) -> Any:
        joined = relax.op.concat([found[weight] for weight in weights], axis=1)
        whole = relax.op.matmul(found[source], joined)
        width = found[weights[0]].struct_info.shape[1]
        return {
            found[product]: relax.op.strided_slice(whole, axes=[1], begin=[width * at], end=[width * (at + 1)])
            for at, product in enumerate(products)
        }

    return ctx, rewriter


def test_bindings_that_match_together_are_rewritten_together() -> None:
    names = ("x", "y", *"abcdef")
    params = ", ".join(f'{name}: R.Tensor((4, 4), "float32")' for name in names)
    lines = ("at = R.permute_dims(a)", "p = R.matmul(x, at)", "bt = R.permute_dims(b)", "q = R.matmul(x, bt)",
             "r = R.matmul(x, c)", "s = R.matmul(y, d)", "t = R.matmul(y, e)", "u = R.matmul(y, f)")  # fmt: skip
    body = "".join(f"        {line}\n" for line in (*lines, "out = (p, q, r, s, t, u)", "R.output(out)"))
    text = f"#tvms 1\n\nR.function main({params}):\n    with R.dataflow():\n{body}    return out\n"
    before: Any = tvms.parse(text)["main"]
    after = rewrite_bindings(*three_products(), before)
    bound = [binding.var.name_hint for binding in after.body.blocks[0].bindings]
    assert bound == ["at", "bt", "lv", "lv1", "p", "q", "r", "lv2", "lv3", "s", "t", "u", "out"]
    assert_equivalent(before, after)


def test_bindings_stay_where_the_rewriter_returns_nothing() -> None:
    before = function("a = R.exp(x)", "out = R.nn.relu(a)")
    with PatternContext() as ctx:
        is_op("relax.exp")(wildcard())
    assert rewrite_bindings(ctx, lambda found, values: {}, before) is before


def test_a_new_value_must_not_need_itself() -> None:
    before = function("a = R.exp(x)", "b = R.nn.relu(a)", "out = R.negative(b)")
    with PatternContext() as ctx:
        first = is_op("relax.exp")(wildcard())
        second = is_op("relax.nn.relu")(first)
    with pytest.raises(tvms.TvmsError) as raised:
        rewrite_bindings(ctx, lambda found, values: {found[first]: relax.op.exp(found[second])}, before)
    assert str(raised.value).splitlines()[0] == "error[E0912]: the new value of 'a' depends on itself"


def test_functions_of_patterns_are_told_the_sizes_that_no_tensor_tells() -> None:
    text = """#tvms 1

I.ir_module Module:
    R.function main(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("n * m",), "float32"):
        n = T.int64()
        m = T.int64()
        with R.dataflow():
            a = R.add(x, x)
            b = R.reshape(a, R.shape([n * m]))
            c = R.add(b, b)
            d = R.add(c, b)
            R.output(d)
        return d
"""
    pattern = ("library.add", is_op("relax.add")(wildcard(), wildcard()))
    fused = relax.transform.FuseOpsByPattern([pattern])(tvms.parse(text))
    merged = relax.transform.MergeCompositeFunctions()(fused)
    args = [np.arange(6, dtype="float32").reshape(2, 3)]
    for module in (fused, merged):
        assert not tvms.verify(module)
        for result in (tvms.interpret(module, "main", args), tvms.compile(module)["main"](*args)):
            np.testing.assert_array_equal(result, 6 * args[0].reshape(-1))
    assert str(fused["main"]).count("R.shape([n, m])") + str(fused["main"]).count("R.shape([m, n])") == 2


def test_functions_that_hold_the_same_composite_function_share_no_variables() -> None:
    before = tvms.parse("""#tvms 1

I.ir_module Module:
    R.function main(x: R.Tensor(("n", 2), "float32")) -> R.Tensor(("n", 2), "float32"):
        with R.dataflow():
            a = R.nn.relu(x)
            b = R.exp(a)
            c = R.nn.relu(b)
            d = R.negative(c)
            R.output(d)
        return d
""")
    patterns = [(f"library.{name}", is_op(f"relax.{name}")(wildcard())) for name in ("nn.relu", "negative")]
    merged = relax.transform.MergeCompositeFunctions()(relax.transform.FuseOpsByPattern(patterns)(before))
    tvms.ir.assert_structural_equal(tvms.parse(str(merged)), merged)
    assert len(merged.functions) == 3
    defined = [{var for node in walk(item) for var in defined_variables(node)} for item in merged.functions.values()]
    assert not any(one & other for one, other in combinations(defined, 2))


def test_functions_of_patterns_do_not_need_each_other() -> None:
    before = function(
        "n1 = R.negative(x)",
        "n2 = R.negative(y)",
        "a1 = R.add(n1, n2)",
        "a2 = R.add(n2, n1)",
        "out = R.multiply(a1, a2)",
    )
    pattern = is_op("relax.add")(is_op("relax.negative")(wildcard()), wildcard())
    fused = relax.transform.FuseOpsByPattern([("library.sum", pattern)])(tvms.IRModule({"main": before}))
    assert list(fused.functions) == ["main", "fused_relax_negative_relax_add"]
    assert_equivalent(tvms.IRModule({"main": before}), fused)
