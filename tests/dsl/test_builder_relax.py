"""Graph functions from text: cases of kind `relax`.

Part `prints` is the canonical text of the module, part `says` all messages as they are rendered.
"""

from __future__ import annotations

import pytest
from text_cases import read_cases
from tvms.dsl.load import parse
from tvms.ir import relax
from tvms.ir.diagnostics import TvmsError
from tvms.ir.equal import structural_equal
from tvms.ir.tir import Var


def cases_with(part: str) -> list[object]:
    """Return the cases that have a part: the text that is given, and the part."""
    return [pytest.param(c.parts["given"], c.parts[part], id=c.id) for c in read_cases("relax") if part in c.parts]


@pytest.mark.parametrize(("given", "expected"), cases_with("prints"))
def test_prints(given: str, expected: str) -> None:
    module = parse(given, "case.tvms")
    assert module.script().rstrip("\n") == expected.rstrip("\n")
    again = parse(expected, "case.tvms")
    assert structural_equal(module, again)
    assert again.script() == module.script()


@pytest.mark.parametrize(("given", "expected"), cases_with("says"))
def test_says(given: str, expected: str) -> None:
    with pytest.raises(TvmsError) as caught:
        parse(given, "case.tvms")
    assert str(caught.value).rstrip("\n") == expected.rstrip("\n")
    assert all(diagnostic.help for diagnostic in caught.value.diagnostics)


def build_main(text: str) -> relax.Function:
    function = parse(text).functions["main"]
    assert isinstance(function, relax.Function)
    return function


def test_a_name_and_a_string_are_the_same_dimension() -> None:
    main = build_main("""
R.function main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    n = T.int64()
    z: R.Tensor((n,), "float32") = x
    return z
""")
    dims = set[object]()
    for value in (*main.params, main.body.blocks[0].bindings[0].var):  # type: ignore[attr-defined]
        assert isinstance(value.struct_info, relax.TensorStructInfo)
        assert isinstance(value.struct_info.shape, relax.ShapeExpr)
        dims.add(value.struct_info.shape.values[0])
    (only,) = dims
    assert isinstance(only, Var)
    assert only.dtype == "int64"


def test_only_outputs_are_no_dataflow_variables() -> None:
    main = build_main("""
R.function main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    with R.dataflow():
        a = R.exp(R.exp(x))
        b = R.exp(a)
        R.output(b)
    return b
""")
    (block,) = main.body.blocks
    kinds = [type(binding.var) for binding in block.bindings]  # type: ignore[attr-defined]
    assert kinds == [relax.DataflowVar, relax.DataflowVar, relax.Var]


def test_neighboring_blocks_of_a_kind_are_one() -> None:
    main = build_main("""
R.function main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    with R.dataflow():
        a = R.exp(x)
        R.output(a)
    with R.dataflow():
        b = R.exp(a)
        R.output(b)
    c = R.exp(b)
    return R.exp(c)
""")
    assert [type(block) for block in main.body.blocks] == [relax.DataflowBlock, relax.BindingBlock]
    assert [len(block.bindings) for block in main.body.blocks] == [2, 2]


def test_every_binding_has_its_place_and_struct_info() -> None:
    text = "R.function main(x: R.Tensor((2,), 'float32')) -> R.Tensor((2,), 'float32'):\n    y = R.add(x, R.exp(x))\n    return y\n"
    (block,) = build_main(text).body.blocks
    shown: list[str] = []
    for binding in block.bindings:
        assert binding.span is not None
        assert isinstance(binding, relax.VarBinding)
        assert binding.value.struct_info is not None
        assert binding.var.struct_info is binding.value.struct_info
        shown.append(text[binding.span.start : binding.span.end])
    assert shown == ["R.exp(x)", "y = R.add(x, R.exp(x))"]


def test_depth() -> None:
    depth = 3000
    text = f"R.function main(x: R.Tensor((2,), 'float32')) -> R.Tensor((2,), 'float32'):\n    return {'R.exp(' * depth}x{')' * depth}\n"
    (block,) = build_main(text).body.blocks
    assert len(block.bindings) == depth


def test_one_operand_used_twice_is_not_bound_twice() -> None:
    main = build_main("""
R.function main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    y = x
    return R.add(y, y)
""")
    (block,) = main.body.blocks
    assert len(block.bindings) == 2
