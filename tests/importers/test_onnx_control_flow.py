"""Conditions, loops, sequences, optional values and texts of ONNX models: cases of onnx's own suite, laws, and errors."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx, the extra 'onnx', is not installed")

import tvms  # noqa: E402  # after the check that there is anything to test
from onnx.backend.test.case import node  # noqa: E402
from onnx.backend.test.runner import Runner  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from tvms.ir.interp import run  # noqa: E402
from tvms.relax.frontend.onnx import backend, from_onnx  # noqa: E402

OPERATORS = {
    "If", "Loop", "Scan", "SequenceMap", "SequenceInsert", "SplitToSequence", "OptionalHasElement", "OptionalGetElement",
    "StringConcat", "StringSplit", "StringNormalizer", "Shape", "Size", "Identity",
}  # fmt: skip
FILES = (
    "clip", "identity", "if_", "loop", "optionalgetelement", "optionalhaselement", "scan", "sequence_map", "sequenceinsert", "shape", "size",
    "splittosequence", "string_concat", "string_split", "stringnormalizer",
)  # fmt: skip
"""The files of the suite with their cases; making those of all operators takes ten seconds."""
NOT_COMPARABLE = ("test_loop16_seq_none",)
"""The suite cannot compare tensors without dimensions within sequences."""


def _cases() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # onnx overflows on purpose
        for name in FILES:
            import_module(f"{node.__name__}.{name}")
    return {
        case.name: case
        for case in node._NodeTestCases  # type: ignore[reportPrivateUsage]  # all, if another test has read the whole suite
        if {part.op_type for part in case.model.graph.node} <= OPERATORS and case.name not in NOT_COMPARABLE
    }


CASES = _cases()


@pytest.mark.parametrize("name", CASES)
def test_suite(name: str) -> None:
    case = CASES[name]
    prepared = backend.prepare(case.model)
    for inputs, expected in case.data_sets:
        Runner.assert_similar_outputs(expected, prepared.run(inputs), case.rtol, case.atol)


def parsed(text: str, opset: int = 18) -> Any:
    return onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : {opset}]>\n{text}')


LOOPS = {
    "state that grows": """g (int64 n, float[a] x) => (float[b] z) {
        go = Constant<value = bool {1}>()
        z = Loop (n, go, x) <body = step (int64 i, bool c, float[k] s) => (bool c2, float[l] s2) {
            c2 = Identity(c)
            s2 = Concat<axis = 0>(s, x)
        }>
    }""",
    "collected values and a condition": """g (int64 n, float[a] x) => (float[a] z, float[b, a] all) {
        go = Constant<value = bool {1}>()
        limit = Constant<value_float = 40.0>()
        z, all = Loop (n, go, x) <body = step (int64 i, bool c, float[a] s) => (bool c2, float[a] s2, float[a] y) {
            s2 = Add(s, s)
            y = Identity(s2)
            m = ReduceMax<keepdims = 0>(s2)
            c2 = Less(m, limit)
        }>
    }""",
    "a loop in a loop": """g (int64 n, float[a] x) => (float[a] z) {
        go = Constant<value = bool {1}>()
        z = Loop (n, go, x) <body = outer (int64 i, bool c, float[a] s) => (bool c2, float[a] s2) {
            c2 = Identity(c)
            s2 = Loop (i, go, s) <body = inner (int64 j, bool d, float[a] t) => (bool d2, float[a] t2) {
                d2 = Identity(d)
                t2 = Add(t, x)
            }>
        }>
    }""",
    "sizes around a loop": """g (int64 n, float[a] x) => (int64 z) {
        go = Constant<value = bool {1}>()
        start = Constant<value_int = 0>()
        size = Size(x)
        z = Loop (n, go, start) <body = step (int64 i, bool c, int64 s) => (bool c2, int64 s2) {
            c2 = Identity(c)
            s2 = Add(s, size)
        }>
    }""",
}


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("name", LOOPS)
def test_loops(name: str, count: int) -> None:
    """The interpreter and compiled programs compute what onnx's reference evaluator computes."""
    if name == "collected values and a condition" and not count:
        pytest.skip("onnx's evaluator has no shape for what no iteration collects")
    model = parsed(LOOPS[name])
    inputs = [np.array(count), np.array([1, 2, 5], "float32")]
    expected = ReferenceEvaluator(model).run(None, dict(zip(("n", "x"), inputs, strict=True)))
    made = backend.run_model(model, inputs)
    interpreted = run(from_onnx(model), "main", inputs)
    several = interpreted if isinstance(interpreted, tuple) else (interpreted,)
    for wanted, compiled, other in zip(expected, made, several, strict=True):
        np.testing.assert_array_equal(compiled, wanted)
        np.testing.assert_array_equal(other, wanted)


def test_sequences_of_known_length_are_free() -> None:
    model = parsed("""g (float[2] x, float[3] y) => (float[5] z) {
        pair = SequenceConstruct(x, y)
        z = ConcatFromSequence<axis = 0>(pair)
    }""")
    assert "z = R.concat((x, y))" in from_onnx(model).script()


BAD = {
    "no sequence": ("g (float[2] x) => (int64 z) { z = SequenceLength(x) }", "node 'z' (SequenceLength of ai.onnx, version 18): its input is a tensor of float32, but the operator takes a sequence"),
    "position": ("g (float[2] x) => (float[2] z) { p = Constant<value_int = 3>() s = SequenceConstruct(x) z = SequenceAt(s, p) }", "node 'z' (SequenceAt of ai.onnx, version 18): position 3 is outside a sequence of 1"),
    "mixed": ("g (float[2] x, int64[2] y) => (int64 z) { s = SequenceConstruct(x, y) z = SequenceLength(s) }", "node 's' (SequenceConstruct of ai.onnx, version 18): it joins a tensor of float32 and a tensor of int64"),
    "a sequence to add": ("g (float[2] x) => (float[2] z) { s = SequenceConstruct(x) z = Add(s, x) }", "node 'z' (Add of ai.onnx, version 18): its input 's' is a sequence of a tensor of float32, but the operator takes tensors of numbers"),
    "condition": ("g (float[2] x) => (float[2] z) { z = If(x) <then_branch = a () => (float[2] b) { b = Identity(x) }, else_branch = c () => (float[2] d) { d = Identity(x) }> }", "node 'z' (If of ai.onnx, version 18): its condition is a tensor of float32, not of dtype bool"),
    "branches": ("g (bool t, float[2] x) => (float[2] z) { z = If(t) <then_branch = a () => (float[2] b) { b = Identity(x) }, else_branch = c () => (float[2] d, float[2] e) { d = Identity(x) e = Identity(x) }> }", "node 'z' (If of ai.onnx, version 18): one branch has 1 outputs, and the other 2"),
    "body": ("g (int64 n, float[2] x) => (float[2] z) { go = Constant<value = bool {1}>() z = Loop(n, go, x) <body = b (int64 i) => (bool c) { c = Constant<value = bool {1}>() }> }", "node 'z' (Loop of ai.onnx, version 18): its body has 1 inputs and 1 outputs for 1 values"),
    "a kind": ("g (float[2] x) => (float[2] z) { z = LeakyRelu<alpha = 1>(x) }", "node 'z' (LeakyRelu of ai.onnx, version 18): its attribute 'alpha' is of kind INT, not FLOAT"),
    "a kind of onnxruntime": ("g (float[2] x) => (float[2] z) { z = com.microsoft.QuickGelu<alpha = \"a\">(x) }", "node 'z' (QuickGelu of com.microsoft, version 1): its attribute 'alpha' is of kind STRING, not FLOAT"),
    "state": ("g (int64 n, float[2] x) => (float[2] z) { go = Constant<value = bool {1}>() z = Loop(n, go, x) <body = b (int64 i, bool c, float[2] s) => (bool d, int64 t) { d = Identity(c) t = Identity(i) }> }", "node 'z' (Loop of ai.onnx, version 18): it joins a tensor of float32 and a tensor of int64"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_is_malformed_is_an_error_that_names_the_node(case: str) -> None:
    text, message = BAD[case]
    with pytest.raises(tvms.TvmsError) as problem:
        from_onnx(parsed(text))
    assert str(problem.value).splitlines()[0] == f"error[E1006]: {message}"


SQUEEZED = """g (float[a, b] x) => (float[c, d] z, float[e] s) {
    sizes = Shape(x)
    last = Constant<value = int64[1] {1}>()
    width = Gather(sizes, last)
    one = Constant<value = int64[1] {1}>()
    is_column = Equal(width, one)
    y = If(is_column) <then_branch = t () => (float[p] u) { u = Squeeze(x, last) },
                       else_branch = f () => (float[q, r] v) { v = Identity(x) }>
    OTHER
    doubled = Add(y, y)
    z = Exp(doubled)
    s = ReduceSum<keepdims = 0>(y)
}"""
"""A model whose nodes after a condition have inputs of one or two dimensions."""


@pytest.mark.parametrize("shape", [(3, 1), (3, 2), (1, 1)])
@pytest.mark.parametrize("count", [1, 2])
def test_nodes_after_a_condition_whose_branches_have_different_ranks(shape: tuple[int, int], count: int) -> None:
    again = "first = Constant<value = int64[1] {0}>() height = Gather(sizes, first) is_row = Equal(height, one) " + (
        "w = If(is_row) <then_branch = t2 () => (float[j] k) { k = Squeeze(x, first) },"
        " else_branch = f2 () => (float[l, m] n) { n = Identity(x) }>"
    )
    text = SQUEEZED.replace("OTHER", again if count == 2 else "w = Identity(x)").replace(
        "ReduceSum<keepdims = 0>(y)", "ReduceSum<keepdims = 0>(w)"
    )
    model, x = parsed(text), np.random.default_rng(0).standard_normal(shape).astype("float32")
    for found in (backend.run_model(model, [x]), run(from_onnx(model), "main", [x])):
        for made, expected in zip(found, ReferenceEvaluator(model).run(None, {"x": x}), strict=True):
            np.testing.assert_allclose(made, expected, rtol=1e-6)


def test_a_branch_that_no_input_fits_is_an_error_of_the_run() -> None:
    """The product of the second branch needs a matrix of 3 rows, and x has 2; the reference evaluator stops there, too."""
    model = parsed("""g (bool t, float[2, 2] x, float[3, 2] y) => (float[n, 2] z) {
        z = If(t) <then_branch = a () => (float[2, 2] b) { b = MatMul(x, x) },
                   else_branch = c () => (float[n, 2] d) { d = MatMul(x, y) }>
    }""")
    x, y = np.eye(2, dtype="f4"), np.ones((3, 2), "f4")
    function = tvms.compile(from_onnx(model))["main"]
    np.testing.assert_array_equal(np.asarray(function(np.array(True), x, y)), x)
    with pytest.raises(tvms.TvmsError) as problem:
        function(np.array(False), x, y)
    assert str(problem.value).splitlines()[0] == (
        "error[E0705]: match_cast of 'z_takes_then_branch': expected shape (1,), got (0,)"
    )
