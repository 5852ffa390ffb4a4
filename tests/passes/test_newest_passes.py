"""Passes as programs for the newest TVM use them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from tvms import relax
from tvms.ir.diagnostics import ArgumentValueError
from tvms.relax.dpl import is_op, wildcard
from tvms.script import ir as I
from tvms.script import relax as R


def test_results_in_nested_tuples_are_allocated_one_by_one() -> None:
    sizes = [R.Tensor((2, 3), "float32"), R.Tensor((4,), "int32"), R.Tensor((5, 6), "float16")]
    x = relax.Var("x", sizes[0])
    nested = R.Tuple(sizes[0], R.Tuple(sizes[1], sizes[2]))
    call = relax.Call(
        tvms.ir.Op.get("relax.call_dps_packed"),
        [relax.ExternFunc("of_the_test"), relax.Tuple([x])],
        sinfo_args=[nested],
    )
    builder = relax.BlockBuilder()
    with builder.function("main", [x], attrs={"relax.force_pure": True}):
        builder.emit_func_output(builder.emit(call))
    after = relax.transform.CallTIRRewrite()(builder.get())
    assert not tvms.verify(after)
    assert after["main"].ret_struct_info == nested
    bindings = [
        str(binding.value).replace('R.str("global")', "scope") for binding in after["main"].body.blocks[0].bindings
    ]
    device = "R.prim_value(0), scope"
    assert bindings == [
        f'R.builtin.alloc_tensor(R.shape([2, 3]), R.dtype("float32"), {device})',
        f'R.builtin.alloc_tensor(R.shape([4]), R.dtype("int32"), {device})',
        f'R.builtin.alloc_tensor(R.shape([5, 6]), R.dtype("float16"), {device})',
        'R.call_packed("of_the_test", x, alloc, alloc1, alloc2)',
        "(alloc, (alloc1, alloc2))",
    ]


def test_functions_with_common_variables_are_not_grouped() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            with R.dataflow():
                y = R.nn.relu(x)
                R.output(y)
            return y

    patterns = [("library.relu", is_op("relax.nn.relu")(wildcard()))]
    fused = relax.transform.FuseOpsByPattern(patterns)
    assert len(fused(Module).functions) == 2
    Module["copy"] = Module["main"].with_attr("global_symbol", "copy")
    with pytest.raises(ArgumentValueError) as caught:
        fused(Module)
    assert caught.value.diagnostics[0].code == "E0431"
    assert caught.value.diagnostics[0].message == "'y' is defined in 'main' and in 'copy'"
    Module["copy"] = relax.utils.copy_with_new_vars(Module["copy"])
    assert len(fused(Module).functions) == 3


@pytest.mark.parametrize(
    ("bound", "shown"), [("[4]", "(4,)"), ("-1", "-1"), ('"4"', "'4'")], ids=["a list", "negative", "a text"]
)
def test_lower_bounds_of_sizes_are_integers(bound: str, shown: str) -> None:
    text = """
R.function main(x: R.Tensor((2, "n"), "float32")):
    R.func_attr({{"tir_var_lower_bound": {{"n": {bound}}}, "relax.force_pure": True}})
    return x
"""
    plan = relax.transform.StaticPlanBlockMemory()
    plan(tvms.parse(text.format(bound="0")))
    with pytest.raises(tvms.TvmsError) as caught:
        plan(tvms.parse(text.format(bound=bound)))
    (problem,) = caught.value.diagnostics
    assert (problem.code, problem.message, problem.help) == (
        "E0906",
        f"the lower bound of dimension 'n' is {shown}, not an integer that is not negative",
        'write R.func_attr({"tir_var_lower_bound": {"n": 1024}})',
    )


def test_mixed_precision_corrects_a_declared_result_that_is_wrong() -> None:
    module = tvms.parse("""
R.function main(x: R.Tensor((2, 3), "float32"), w: R.Tensor((3, 4), "float32")) -> R.Tensor((2, 5), "float32"):
    with R.dataflow():
        y = R.matmul(x, w)
        R.output(y)
    return y
""")
    assert relax.transform.ToMixedPrecision()(module)["main"].ret_struct_info == R.Tensor((2, 4), "float32")


def test_a_field_of_a_written_tuple_is_its_value() -> None:
    condition, x, y = relax.Var("c", R.Tensor((), "bool")), relax.Var("x", R.Tensor((2,), "float32")), relax.Var("y")
    chosen = relax.If(relax.TupleGetItem(relax.Tuple([condition]), 0), relax.op.add(x, x), relax.op.multiply(x, x))
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(y, chosen)])], y)
    function = relax.Function([condition, x], body, R.Tensor((2,), "float32"))
    after = relax.transform.Normalize()(tvms.IRModule.from_expr(function))
    values = [binding.value for binding in after["main"].body.blocks[0].bindings]
    assert values[0] is after["main"].params[0]
    assert not tvms.verify(after)


def test_a_product_of_truth_values_is_their_conjunction() -> None:
    module = tvms.parse('R.function main(x: R.Tensor((2, 3), "bool")):\n    return R.prod(x, axis=[1])')
    assert " and x[" in relax.transform.LegalizeOps()(module).script()
    values = np.array([[True, True, True], [True, False, True]])
    for run in (tvms.compile(module)["main"], lambda x: tvms.interpret(module, "main", [x])):
        np.testing.assert_array_equal(run(values), values.prod(axis=1).astype(bool))


def _composites(body: str) -> tvms.IRModule:
    pair = 'R.Tuple(R.Tensor((1, 4), "float32"), R.Tensor((1, 4), "float32"))'
    return tvms.parse(f"""
I.ir_module Module:
    R.function(private=True) split(x: R.Tensor((2, 4), "float32")) -> {pair}:
        R.func_attr({{"Composite": "library.split", "Primitive": True}})
        return R.split(x, 2, axis=0)

    R.function(private=True) subtract(x: R.Tensor((1, 4), "float32"), y: R.Tensor((1, 4), "float32")):
        R.func_attr({{"Composite": "library.subtract", "Primitive": True}})
        return R.subtract(x, y)

    R.function main(x: R.Tensor((2, 4), "float32")):
        with R.dataflow():
            parts = Module.split(x)
{body}
            R.output(out)
        return out
""")


@pytest.mark.parametrize(
    ("body", "merged"),
    [
        ("a = parts[0]\nb = parts[1]\nout = Module.subtract(b, a)", ["fused_split_subtract_library"]),
        (
            "a = parts[0]\nb = parts[1]\npair = (a, b)\nc = pair[0]\nd = pair[1]\nout = Module.subtract(d, c)",
            ["fused_split_subtract_library"],
        ),
        ("again = parts\na = again[0]\nb = parts[1]\nout = Module.subtract(b, a)", ["fused_split_subtract_library"]),
        (
            "again = parts\na = again[0]\nb = again[1]\nc = Module.subtract(b, a)\nout = (again, c)",
            ["fused_split_library", "fused_subtract_library"],
        ),
        (
            "a = parts[0]\nb = R.exp(a)\nc = Module.subtract(b, a)\nout = c",
            ["fused_split_library", "fused_subtract_library"],
        ),
    ],
    ids=["fields", "packed again", "an alias", "the tuple is a result", "another operator lies between"],
)
def test_fields_of_tuples_join_the_group_of_the_tuple(body: str, merged: list[str]) -> None:
    module = _composites("\n".join(f"            {line}" for line in body.split("\n")))
    after = relax.transform.MergeCompositeFunctions()(module)
    assert not [problem for problem in tvms.verify(after) if problem.severity == "error"]
    assert sorted(name for name, function in after.functions.items() if "Codegen" in function.attrs) == merged
    x = np.arange(8, dtype="float32").reshape(2, 4)
    expected, found = (tvms.interpret(program, "main", [x]) for program in (module, after))
    for a, b in zip(_flat(expected), _flat(found), strict=True):
        np.testing.assert_array_equal(a, b)


def _flat(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in _flat(item)] if isinstance(value, tuple) else [value]
