"""Fusion: groups in branches, results of groups, and the patterns of CUTLASS."""

from __future__ import annotations

import re

import tvms
from tvms import relax
from tvms.relax.backend.cuda.cutlass import partition_for_cutlass
from tvms.relax.dpl import is_op, wildcard
from tvms.testing import assert_equivalent

BRANCHES = """
I.ir_module Module:
    R.function main(x: R.Tensor((4, 4), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((4, 4), "float32"):
        if c:
            with R.dataflow():
                a = R.exp(x)
                b = R.negative(a)
                R.output(b)
            y = b
        else:
            with R.dataflow():
                d = R.add(x, x)
                e = R.negative(d)
                R.output(e)
            y = e
        return y
"""


def test_branches_are_fused() -> None:
    module = tvms.parse(BRANCHES)
    fused = tvms.transform.Sequential(
        [relax.transform.LegalizeOps(), relax.transform.AnnotateTIROpPattern(), relax.transform.FuseOps()]
    )(module)
    names = {name for name in fused.functions if name.startswith("fused_")}
    assert names == {"fused_tir_exp_tir_negative", "fused_add_tir_negative"}
    assert not tvms.verify(fused)
    assert_equivalent(module, fused)
    matched = relax.transform.FuseOpsByPattern([("lib.exp", is_op("relax.negative")(is_op("relax.exp")(wildcard())))])(
        module
    )
    assert [name for name in matched.functions if name.startswith("fused_")] == ["fused_relax_exp_relax_negative"]
    assert_equivalent(module, matched)


def test_results_of_a_function_are_in_the_order_of_their_uses() -> None:
    module = tvms.parse("""
R.function main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    with R.dataflow():
        a = R.exp(x)
        b = R.negative(a)
        c = R.sin(b)
        d = R.cos(a)
        gv = R.add(c, d)
        R.output(gv)
    return gv
""")
    module = tvms.IRModule({"main": module["main"]})
    pattern = is_op("relax.negative")(is_op("relax.exp")(wildcard()))
    fused = relax.transform.FuseOpsByPattern([("lib.f", pattern)])(module)
    text = fused.script()
    assert re.search(r"R.output\(a, b\)\s+return \(b, a\)", text), text
    assert re.search(r"a(: .*)? = lv\[1\]\s+b(: .*)? = lv\[0\]\n", text), text
    assert_equivalent(module, fused)


def test_operations_for_cutlass_are_found() -> None:
    half = 'R.Tensor((8, 8), "float16")'
    module = tvms.parse(f"""
I.ir_module Module:
    R.function main(x: {half}, w: {half}, b: R.Tensor((8,), "float16"), r: {half}) -> {half}:
        with R.dataflow():
            t = R.permute_dims(w)
            a = R.matmul(x, t)
            c = R.add(a, b)
            d = R.add(r, c)
            e = R.nn.relu(d)
            f = R.matmul(e, w)
            g = R.exp(f)
            R.output(g)
        return g

    R.function convolution(x: R.Tensor((1, 8, 8, 4), "float32"), w: R.Tensor((4, 3, 3, 4), "float32")) -> R.Tensor((1, 6, 6, 4), "float32"):
        with R.dataflow():
            a = R.nn.conv2d(x, w, data_layout="NHWC", kernel_layout="OHWI")
            R.output(a)
        return a

    R.function other(x: R.Tensor((1, 4, 8, 8), "float32"), w: R.Tensor((4, 4, 3, 3), "float32")) -> R.Tensor((1, 4, 6, 6), "float32"):
        with R.dataflow():
            a = R.nn.conv2d(x, w)
            R.output(a)
        return a
""")
    found = partition_for_cutlass(module)
    composites = set(re.findall(r'"Composite": "(cutlass\.\w+)"', found.script()))
    assert composites == {"cutlass.matmul_transposed_bias_residual_add_relu", "cutlass.matmul", "cutlass.conv2d"}
    assert found.script().count('"Codegen": "cutlass"') == 3
    tvms.ir.assert_structural_equal(found["other"], module["other"])
    assert_equivalent(module, found)
