"""The importer of ONNX models: names, sizes, constants, subgraphs and functions."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx, the extra 'onnx', is not installed")

import tvms  # noqa: E402  # after the check that there is anything to test
from onnx.reference import ReferenceEvaluator  # noqa: E402
from tvms.relax.frontend.onnx import backend, from_onnx  # noqa: E402


def parsed(text: str, opset: int = 18) -> Any:
    return onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : {opset}, "own" : 1]>\n{text}')


def test_sizes_have_names_and_arithmetic_on_them_is_folded() -> None:
    model = parsed("""g (float[batch, 3, 4] x, float[4, 8] w) => (float[batch, 24] z) {
        y = MatMul(x, w)
        all = Shape(y)
        first = Constant<value_ints = [0]>()
        rows = Gather(all, first)
        rest = Constant<value_ints = [-1]>()
        sizes = Concat<axis = 0>(rows, rest)
        flat = Reshape(y, sizes)
        z = Add(flat, flat)
    }""")
    module = from_onnx(model)
    assert module.script() == (
        "#tvms 1\n\n"
        "I.ir_module Module:\n"
        '    R.function main(x: R.Tensor(("batch", 3, 4), "float32"), w: R.Tensor((4, 8), "float32"))'
        ' -> R.Tensor(("batch", 24), "float32"):\n'
        "        batch = T.int64()\n"
        '        R.func_attr({"num_input": 2})\n'
        "        with R.dataflow():\n"
        "            y = R.matmul(x, w)\n"
        "            flat = R.reshape(y, R.shape([batch, 24]))\n"
        "            z = R.add(flat, flat)\n"
        "            gv = z\n"
        "            R.output(gv)\n"
        "        return gv"
    )
    x, w = np.ones((2, 3, 4), "float32"), np.ones((4, 8), "float32")
    (made,) = backend.run_model(model, [x, w])
    np.testing.assert_array_equal(made, np.full((2, 24), 8, "float32"))


@pytest.mark.parametrize("test", [True, False])
def test_conditions(test: bool) -> None:
    model = parsed("""g (bool test, float[2] x) => (float[2] z) {
        z = If (test) <
            then_branch = yes () => (float[2] a) { a = Add(x, x) },
            else_branch = no () => (float[2] b) { b = Relu(x) }
        >
    }""")
    (made,) = backend.run_model(model, [np.array(test), np.array([-1, 2], "float32")])
    np.testing.assert_array_equal(made, [-2, 4] if test else [0, 2])


def test_functions_of_the_model_are_expanded() -> None:
    model = parsed("""g (float[2] x) => (float[2] z) { z = own.twice(x) }
        <domain: "own", opset_import: ["" : 18]> twice (a) => (b) { b = Add(a, a) }""")
    assert "z_b = R.add(x, x)" in from_onnx(model).script()


def test_an_error_names_the_node() -> None:
    model = parsed("g (float[2] x) => (float[2] z) { [my_node] z = Add(x, missing) }")
    with pytest.raises(tvms.TvmsError) as problem:
        from_onnx(model)
    assert str(problem.value) == (
        "error[E1006]: node 'my_node' (Add of ai.onnx, version 18): its input 'missing' has no value\n"
        "  = help: nodes must follow those that compute their inputs, without cycles"
    )


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_attributes_reach_functions_inside_of_functions(reduction: str) -> None:
    """The body of the loss calls another function, whose own body depends on the attribute."""
    model = parsed(f"""g (float[3, 5] x, int64[3] labels) => (float[{"3" if reduction == "none" else ""}] z) {{
        z = SoftmaxCrossEntropyLoss<reduction = "{reduction}">(x, labels)
    }}""")
    x, labels = np.random.default_rng(20261124).random((3, 5), "float32"), np.array([4, 0, 2])
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x, "labels": labels})
    (made,) = backend.run_model(model, [x, labels])
    np.testing.assert_allclose(made, expected, rtol=1e-5)


_CUT = """all = Shape(x) one = Constant<value = int64[1] {1}>() two = Constant<value = int64[1] {2}>() width = Slice(all, one, two)
    zero = Constant<value = int64[1] {0}>() y = Slice(table, zero, width, one)"""
SUMS = {
    "a size and its minimum with a number": ("float[batch, seq] x, float[batch, 9] table", _CUT, "(batch, seq)"),
    "a number and a size": ("float[batch, 3] x, float[m, k] y", "", "(s_1_dim0, 3)"),
    "unrelated sizes": ("float[batch, m] x, float[k, batch] y", "", "(s_1_dim0, s_1_dim1)"),
    "three operands": ("float[batch, m] x, float[batch, 1] y", "", "(batch, m)"),
}


@pytest.mark.parametrize("case", SUMS)
def test_sizes_of_a_sum_that_its_operands_determine(case: str) -> None:
    """A size is the only one with which the sum is valid, or a new one; sums are valid for the same sizes as in the evaluator."""
    inputs, nodes, sizes = SUMS[case]
    model = parsed(f"g ({inputs}) => (float[p, q] t) {{ {nodes} s = Add(x, y) t = Exp(s) }}")
    module = from_onnx(model)
    assert f"R.Tensor({sizes}, " in module.script().replace('"', "") or case == "three operands"
    function, given = tvms.compile(module)["main"], list(model.graph.input)
    shapes = [[(2, 3), (1, 3), (2, 1), (1, 1), (1, 12)], [(2, 3), (1, 3), (2, 1), (1, 1), (2, 9), (1, 9), (3, 2)]]
    valid = 0
    for pair in product(*shapes):
        if not _fit(given, pair):
            continue
        arrays = {value.name: np.full(shape, 2, "f4") for value, shape in zip(given, pair, strict=True)}
        try:
            (expected,) = ReferenceEvaluator(model).run(None, arrays)
        except TypeError:  # the sum is not valid
            with pytest.raises(tvms.TvmsError):
                function(*arrays.values())
        else:
            np.testing.assert_allclose(np.asarray(function(*arrays.values())), expected, rtol=1e-6)
            valid += 1
    assert valid > 1


def _fit(given: list[Any], shapes: tuple[tuple[int, int], ...]) -> bool:
    """Return whether inputs of these shapes are as the model declares them."""
    bound: dict[str, int] = {}
    dims = [dim for value in given for dim in value.type.tensor_type.shape.dim]
    sizes = [size for shape in shapes for size in shape]
    return all(
        size == (dim.dim_value or bound.setdefault(dim.dim_param, size)) for dim, size in zip(dims, sizes, strict=True)
    )


def test_kept_parameters_are_known_where_an_operator_needs_constants() -> None:
    """`keep_params_in_input` makes axes inputs of the program, whose values the import still knows."""
    make, kind = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    axes = onnx.numpy_helper.from_array(np.array([0, 2], "int64"), "axes")
    graph = onnx.helper.make_graph(
        [make("Squeeze", ["x", "axes"], ["y"])], "g", [kind("x", 1, (1, 3, 1))], [kind("y", 1, (3,))], [axes]
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)])
    module = from_onnx(model, keep_params_in_input=True)
    x = np.arange(3, dtype="float32").reshape(1, 3, 1)
    np.testing.assert_array_equal(tvms.compile(module)["main"](x, np.array([0, 2])), x.reshape(3))


def test_the_operators_of_onnxruntime_need_no_import_of_their_domain() -> None:
    """onnxruntime runs such models, and TVM reads them."""
    node = onnx.helper.make_node("BiasGelu", ["x", "b"], ["y"], domain="com.microsoft")
    kind = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph([node], "g", [kind("x", 1, (2, 3)), kind("b", 1, (3,))], [kind("y", 1, (2, 3))])
    module = from_onnx(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)]))
    zero = np.zeros((2, 3), "float32")
    np.testing.assert_array_equal(tvms.compile(module)["main"](zero, zero[0]), zero)
