"""`relax.binding_rewrite`: bindings of a dataflow block change one by one."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from tvms import relax
from tvms.relax.analysis import name_to_binding
from tvms.relax.binding_rewrite import DataflowBlockRewrite

TEXT = """
I.ir_module Module:
    R.function main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            a = R.exp(x)
            b = R.negative(x)
            c = R.add(a, a)
            d = R.sin(c)
            gv = R.multiply(b, x)
            R.output(gv)
        return gv
"""


def rewriter_of(module: tvms.IRModule) -> tuple[DataflowBlockRewrite, dict[str, relax.Var]]:
    function = module["main"]
    variables = {name: bindings[0].var for name, bindings in name_to_binding(function).items()}
    return DataflowBlockRewrite(function.body.blocks[0], function), variables


def result_of(module: tvms.IRModule) -> np.ndarray:
    return np.asarray(tvms.compile(module)["main"](np.arange(4, dtype="float32")))


def test_unused_bindings_are_removed_and_the_result_stays() -> None:
    module = tvms.parse(TEXT)
    rewriter, variables = rewriter_of(module)
    rewriter.remove_unused(variables["d"])
    rewriter.remove_unused(variables["c"])
    assert set(name_to_binding(rewriter.mutated_root_fn())) == {"a", "b", "gv"}
    rewriter.remove_all_unused()
    changed = rewriter.mutate_irmodule(module)
    assert set(name_to_binding(changed["main"])) == {"b", "gv"}
    assert rewriter.mutated_dfb() is changed["main"].body.blocks[0]
    assert not tvms.verify(changed)
    np.testing.assert_array_equal(result_of(changed), result_of(module))


def test_replaced_and_added_bindings() -> None:
    module = tvms.parse(TEXT)
    rewriter, variables = rewriter_of(module)
    rewriter.replace_all_uses(variables["b"], variables["a"])
    rewriter.remove_unused(variables["b"])
    rewriter.add(relax.op.cos(variables["d"]), is_dfvar=True)
    rewriter.add(relax.op.cos(variables["d"]), is_dfvar=True)
    rewriter.add(variables["d"], name="out")
    changed = rewriter.mutate_irmodule(module)
    assert [b.var.name_hint for b in rewriter.mutated_dfb().bindings] == ["a", "c", "d", "gv", "tmp", "tmp1", "out"]
    assert not isinstance(rewriter.mutated_dfb().bindings[-1].var, relax.DataflowVar)
    assert not tvms.verify(changed)
    x = np.arange(4, dtype="float32")
    np.testing.assert_allclose(result_of(changed), np.exp(x) * x, rtol=1e-6)


def test_a_block_without_bindings_leaves_the_function_and_returns() -> None:
    module = tvms.parse(
        "R.function main(x: R.Tensor((4,), 'float32')) -> R.Tensor((4,), 'float32'):\n"
        "    with R.dataflow():\n        a = R.exp(x)\n        R.output(a)\n    return x\n"
    )
    rewriter, variables = rewriter_of(module)
    rewriter.remove_unused(variables["a"])
    assert rewriter.mutated_root_fn().body.blocks == ()
    assert rewriter.mutated_dfb().bindings == ()
    rewriter.add(module["main"].params[0], name="again")
    assert "again" in name_to_binding(rewriter.mutated_root_fn())


def test_refusals() -> None:
    rewriter, variables = rewriter_of(tvms.parse(TEXT))
    before = rewriter.mutated_root_fn()
    with pytest.raises(tvms.TvmsError) as caught:
        rewriter.remove_unused(variables["a"])
    assert str(caught.value) == (
        "error[E0105]: 'a' is used by 1 var\n  = help: replace its uses first: replace_all_uses(old_var, new_var)"
    )
    other = relax.Var("other")
    with pytest.raises(tvms.TvmsError) as caught:
        rewriter.remove_unused(other)
    assert str(caught.value) == "error[E0105]: the block does not bind 'other'\n  = help: pass allow_undef=True"
    with pytest.raises(tvms.TvmsError) as caught:
        rewriter.replace_all_uses(variables["a"], other)
    assert (
        str(caught.value) == "error[E0105]: Cannot find 'other' in the function\n  = help: give a variable of root_fn"
    )
    rewriter.remove_unused(other, allow_undef=True)
    assert rewriter.mutated_root_fn() is before
    with pytest.raises(tvms.TvmsError, match=r"error\[E0105\]: 'dfb' is not a block of 'root_fn'"):
        DataflowBlockRewrite(relax.DataflowBlock(()), before)
