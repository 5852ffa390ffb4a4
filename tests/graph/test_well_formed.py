"""Programs that `relax.analysis.well_formed` refuses, made from nodes."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tvms.dsl.load import parse
from tvms.ir import relax
from tvms.ir.api.relax.analysis import well_formed
from tvms.ir.base import IRModule
from tvms.ir.diagnostics import TvmsError
from tvms.ir.visit import rewrite

MODULE = parse("""\
R.function main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    with R.dataflow():
        y = R.add(x, x)
        z = R.multiply(y, x)
        R.output(z)
    return z
""")


def bindings(module: IRModule) -> tuple[relax.Binding, ...]:
    function = module.functions["main"]
    assert isinstance(function, relax.Function)
    return function.body.blocks[0].bindings


def test_a_program_in_normal_form() -> None:
    assert well_formed(MODULE)


def test_nested_calls_are_not_well_formed() -> None:
    inner, _ = bindings(MODULE)
    for nested in (inner.value, relax.Tuple((inner.value,), struct_info=inner.var.struct_info)):
        broken = rewrite(
            MODULE.functions["main"],
            lambda node, new=nested: (
                replace(node, args=(new, *node.args[1:]))
                if isinstance(node, relax.Call) and node.args[0] is inner.var
                else None
            ),
        )
        assert not well_formed(broken)


def test_dataflow_variables_outside_of_their_block_are_not_well_formed() -> None:
    function = MODULE.functions["main"]
    inner, _ = bindings(MODULE)
    assert isinstance(inner.var, relax.DataflowVar)
    assert isinstance(function, relax.Function)
    assert not well_formed(replace(function, body=replace(function.body, body=inner.var)))


KERNEL = """\
I.ir_module Module:
    T.prim_func(private=True) k(A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = A[i] + T.float32(1)

    R.function main(x: R.Tensor((4,), "float32")):
        y = R.call_tir_inplace(Module.k, (x,), out_sinfo=OUT, inplace_indices=INDICES)
        return y
"""


@pytest.mark.parametrize(
    ("out", "indices", "says"),
    [
        ('R.Tensor((4096,), "float32")', "[0]", 'writes a result over argument 0, which is R.Tensor((4,), "float32")'),
        ('R.Tensor((4,), "float16")', "[0]", "writes a result over argument 0"),
        ('R.Tensor((2, 2), "float32")', "[0]", "writes a result over argument 0"),
        ('R.Tensor((4,), "float32")', "[0, -1]", "gives inplace_indices for 2 results, but returns 1"),
        ('R.Tensor((4,), "float32")', "[1]", "writes argument 1 in place, but has 1 arguments"),
    ],
)
def test_a_result_in_place_is_like_its_argument(out: str, indices: str, says: str) -> None:
    with pytest.raises(TvmsError) as caught:
        parse(KERNEL.replace("OUT", out).replace("INDICES", indices))
    assert f"R.call_tir_inplace {says}" in str(caught.value)


def test_a_result_in_place_that_fits() -> None:
    parse(KERNEL.replace("OUT", 'R.Tensor((4,), "float32")').replace("INDICES", "[0]"))


def test_dimensions_of_other_dtypes_are_cast() -> None:
    text = (
        'R.function f(A: R.Tensor(("N",), "float32")):\n    N = T.int64()\n    y = R.reshape(A, (DIM,))\n    return y\n'
    )
    for dim in ("N + T.if_then_else(N < 0, -1, 1)", "N * T.if_then_else(N < 0, -1, 1) + N"):
        module = parse(text.replace("DIM", dim))
        assert well_formed(module)
        assert str(module).count("T.Cast") == 2
