"""Operators that a program registers: inference, purity, normal form and legalization are functions of the program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tvms
from tvms import relax
from tvms.script import ir as I
from tvms.script import relax as R

NAME = "test_operators.scaled_sum"
ATTRIBUTES = {
    "FInferStructInfo": lambda call, context: call.args[0].struct_info,
    "FLegalize": lambda builder, call: builder.emit(relax.op.add(call.args[0], call.args[0])),
    "FNormalize": lambda builder, call: (
        call if len(call.args) == 2 else relax.Call(call.op, [call.args[0], relax.Tuple([])])
    ),
    "FPurity": True,
}


@pytest.fixture
def operator() -> Iterator[Any]:
    for key, value in ATTRIBUTES.items():
        tvms.ir.register_op_attr(NAME, key, value)
    op = tvms.ir.Op.get(NAME)
    yield op
    for key in ATTRIBUTES:
        op.reset_attr(key)
    with pytest.raises(tvms.TvmsError, match="there is no operator"):
        tvms.ir.Op.get(NAME)


def program(operator: Any) -> Any:
    @I.ir_module(check_well_formed=False)
    class Module:
        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            with R.dataflow():
                y = relax.Call(operator, [x])
                R.output(y)
            return y

    return Module


def test_it_is_inferred_normalized_and_legalized(operator: Any) -> None:
    module = program(operator)
    assert str(module["main"].ret_struct_info) == 'R.Tensor((4,), "float32")'
    assert not relax.analysis.well_formed(module)
    normal = relax.transform.Normalize()(module)
    assert len(normal["main"].body.blocks[0].bindings[0].value.args) == 2
    assert relax.analysis.well_formed(normal)
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(tvms.compile(relax.transform.LegalizeOps()(normal))["main"](x), 2 * x)
    assert operator.get_attr("FPurity") is True
    assert operator.has_attr("FLegalize")


def test_inference_has_another_name_in_newer_programs() -> None:
    name = "test_operators.newer"
    tvms.ir.register_op_attr(name, "FInferType", lambda call, context: call.args[0].ty)
    op = tvms.ir.Op.get(name)
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    assert str(relax.BlockBuilder().normalize(relax.Call(op, [x])).struct_info) == 'R.Tensor((4,), "float32")'
    assert op.get_attr("FInferType") is op.get_attr("FInferStructInfo") is not None
    op.reset_attr("FInferType")
    with pytest.raises(tvms.TvmsError, match="there is no operator"):
        tvms.ir.Op.get(name)


def test_a_builder_normalizes_it(operator: Any) -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    with builder.function("main", [x]):
        y = builder.emit(relax.Call(operator, [x]))
        builder.emit_func_output(y)
    assert len(builder.get()["main"].body.blocks[0].bindings[0].value.args) == 2


def test_an_operator_of_tvms_takes_legalization_only() -> None:
    tvms.ir.register_op_attr("relax.exp", "FLegalize")(lambda builder, call: relax.op.negative(call.args[0]))
    module = tvms.parse('R.function main(x: R.Tensor((4,), "float32")):\n    return R.exp(x)\n')
    legal = relax.transform.LegalizeOps()(module)
    assert list(legal.functions) == ["tir_negative", "main"]
    tvms.ir.Op.get("relax.exp").reset_attr("FLegalize")
    assert list(relax.transform.LegalizeOps()(module).functions) == ["tir_exp", "main"]
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.ir.register_op_attr("relax.exp", "FPurity", False)
    assert str(caught.value) == (
        "error[E0104]: 'FPurity' of the operator 'relax.exp' is defined by tvms\n"
        "  = help: register an operator of another name"
    )
