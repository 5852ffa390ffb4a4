"""Operators of ONNX models that the laws of rows do not cover: shapes that are computed, caches, texts, optimizers, long loops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx, the extra 'onnx', is not installed")

import onnx
import tvms
from tvms import TvmsError
from tvms.relax.frontend.onnx import backend, from_onnx

from .onnx_laws import Node, by_reference, check, choice, generator, model_of, tensor

Rng = np.random.Generator


def parsed(text: str) -> Any:
    return onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 20]> {text}')


@pytest.mark.parametrize("allows_zero", [0, 1])
def test_reshape_to_a_shape_that_is_known_at_run_time(allows_zero: int) -> None:
    rng = generator()
    for trial in range(12):
        dims = rng.integers(1, 5, 3)
        x = tensor(rng, dims)
        shape = choice(rng, ([-1], [dims[0], -1], [dims[2], dims[0], dims[1]], [-1, 1, dims[1], dims[2]]))
        if not allows_zero:
            shape = [
                0 if place < 3 and size == dims[place] and rng.random() < 0.5 else size
                for place, size in enumerate(shape)
            ]
        node = Node("Reshape", {"data": x, "shape": np.array(shape, "int64")}, {"allowzero": allows_zero})
        check(node, is_symbolic=trial % 2 == 1)


def test_axes_that_are_known_at_run_time() -> None:
    rng = generator()
    for trial in range(12):
        rank, count = int(rng.integers(1, 4)), int(rng.integers(1, 3))
        x = tensor(rng, rng.integers(1, 5, rank))
        axes = rng.permutation(rank + count)[:count] - choice(rng, (0, rank + count))
        check(Node("Unsqueeze", {"data": x, "axes": axes}), is_symbolic=trial % 2 == 1)
        removed = rng.permutation(rank)[: min(count, rank)]
        dims = [1 if axis in removed else int(rng.integers(2, 5)) for axis in range(rank)]
        axes = removed - choice(rng, (0, rank))
        check(Node("Squeeze", {"data": tensor(rng, dims), "axes": axes}), is_symbolic=trial % 2 == 1)
    check(Node("Unsqueeze", {"data": tensor(rng, ()), "axes": np.array([1, 0])}))


def test_axes_of_slices_that_are_known_at_run_time() -> None:
    rng = generator()
    for trial in range(12):
        dims = rng.integers(1, 6, 3)
        axes = rng.permutation(3)[: rng.integers(1, 4)]
        starts, ends = (rng.integers(-7, 8, len(axes)) for _ in range(2))
        steps = rng.choice([-2, -1, 1, 2], len(axes))
        inputs = {
            "data": tensor(rng, dims),
            "starts": starts,
            "ends": ends,
            "axes": axes - choice(rng, (0, 3)),
            "steps": steps,
        }
        check(Node("Slice", inputs), is_symbolic=trial % 2 == 1)


@pytest.mark.parametrize(("name", "given"), [("Squeeze", 0), ("Reshape", 3)])
def test_a_shape_of_run_time_has_as_many_elements_as_the_data(name: str, given: int) -> None:
    model = parsed(f"g (float[2, 3] x, int64[1] given) => (float[n] y) {{ y = {name}(x, given) }}")
    function = tvms.compile(from_onnx(model))["main"]
    with pytest.raises(TvmsError, match=r"E0705.*expected shape \(y_size0,\) with y_size0 = 3, got \(6,\)"):
        function(np.zeros((2, 3), "float32"), np.array([given]))


def test_writes_to_a_cache() -> None:
    rng = generator()
    for trial in range(12):
        batch, length, count = 3, 6, int(rng.integers(1, 5))
        rest = choice(rng, ((), (2,), (2, 3)))
        axis = int(rng.integers(1, 2 + len(rest)))
        cache, update = [batch, *rest], [batch, *rest]
        cache.insert(axis, length), update.insert(axis, count)
        mode = choice(rng, ("linear", "circular"))
        starts = rng.integers(0, length if mode == "circular" else length - count + 1, batch)
        inputs = {
            "past_cache": tensor(rng, cache),
            "update": tensor(rng, update),
            "write_indices": choice(rng, (starts, None)),
        }
        check(Node("TensorScatter", inputs, {"mode": mode, "axis": axis}), is_symbolic=trial % 3 == 2)


def test_determinants() -> None:
    rng = generator()
    for dims in ((3, 3), (2, 4, 4), (0, 2, 2)):
        check(Node("Det", [tensor(rng, dims, choice(rng, ("float32", "float64")))]), tolerance=1e-3)


def test_blocks_and_depth() -> None:
    rng = generator()
    x = tensor(rng, (2, 3, 4, 6))
    check(Node("SpaceToDepth", [x], {"blocksize": 2}), is_symbolic=True)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("transformation", ["half_pixel", "output_half_pixel"])
@pytest.mark.parametrize("ratio", [0, 1, 2, 3])
def test_regions(mode: str, transformation: str, ratio: int) -> None:
    rng = generator()
    corners = rng.uniform(0, 8, (4, 2, 2))
    rois = np.concatenate([corners.min(1), corners.max(1) + 0.5], 1).astype("float32")
    inputs = {"X": tensor(rng, (2, 3, 7, 9)), "rois": rois, "batch_indices": rng.integers(0, 2, 4)}
    attributes = {"mode": mode, "coordinate_transformation_mode": transformation, "output_height": 3, "output_width": 2,
                  "sampling_ratio": ratio, "spatial_scale": float(choice(rng, (0.5, 1.0)))}  # fmt: skip
    check(Node("RoiAlign", inputs, attributes, opset=22), tolerance=1e-3)


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
def test_frequencies_of_terms(mode: str) -> None:
    rng = generator()
    for trial in range(6):
        pool = [2, 3, 5, 5, 4, 5, 6, 7, 8, 6, 7]
        attributes: dict[str, Any] = {
            "mode": mode, "min_gram_length": int(rng.integers(1, 3)), "max_gram_length": 2, "max_skip_count": int(rng.integers(0, 4)),
            "ngram_counts": [0, 3], "ngram_indexes": rng.permutation(7).tolist(), "weights": rng.uniform(0.5, 2, 7).tolist(),
        }  # fmt: skip
        x = rng.integers(2, 9, choice(rng, ((9,), (3, 8))))
        check(Node("TfIdfVectorizer", [x], {**attributes, "pool_int64s": pool}, opset=9))
        if trial == 0:
            words = np.array([f"w{number}" for number in range(10)], object)
            texts = Node("TfIdfVectorizer", [words[x]], {**attributes, "pool_strings": words[pool].tolist()}, opset=9)
            check(texts)


OPTIMIZERS: dict[str, tuple[int, dict[str, Any]]] = {
    "Adagrad": (3, {"decay_factor": 0.1, "epsilon": 1e-4, "norm_coefficient": 0.01}),
    "Adam": (4, {"alpha": 0.9, "beta": 0.99, "epsilon": 1e-4, "norm_coefficient": 0.01, "norm_coefficient_post": 0.02}),
    "Momentum": (3, {"alpha": 0.9, "beta": 0.7, "norm_coefficient": 0.01, "mode": "standard"}),
}


def _in_float32(model: Any, inputs: Mapping[str, Any]) -> list[Any]:
    """Return what the reference evaluator computes, which for Adam is in float64."""
    return [np.asarray(value, "float32") for value in by_reference(model, inputs)]


@pytest.mark.parametrize("operator", [*OPTIMIZERS, "Nesterov"])
@pytest.mark.parametrize("number", [0, 3])
def test_optimizers(operator: str, number: int) -> None:
    rng = generator()
    name = "Momentum" if operator == "Nesterov" else operator
    parts, attributes = OPTIMIZERS[name]
    attributes = {**attributes, "mode": "nesterov"} if operator == "Nesterov" else attributes
    for count in (1, 2):
        values = [np.abs(tensor(rng, (2, 3 + place))) for _ in range(parts) for place in range(count)]
        inputs = [np.array(0.1, "float32"), np.array(number, "int64"), *values]
        domain = "ai.onnx.preview.training"
        check(
            Node(name, inputs, attributes, outputs=count * (parts - 1), opset=1, domain=domain),
            oracle=_in_float32,
            tolerance=1e-3,
        )


# --- Texts ----------------------------------------------------------------------------------------------------


def test_texts_are_constants_of_nodes_graphs_and_branches() -> None:
    text = """
    main (string[N] x, bool c) => (string[N] y) <string[1] suffix = {"!"}> {
      hello = Constant <value_string = "hello ">()
      z = StringConcat(hello, x)
      y = If (c) <
        then_branch = yes () => (string[N] a) <string[1] more = {"?"}> { a = StringConcat(z, more) },
        else_branch = no () => (string[N] b) { b = StringConcat(z, suffix) }
      >
    }"""
    run = backend.prepare(parsed(text))
    words = np.array(["you", "wörld"], object)
    for flag, end in ((True, "?"), (False, "!")):
        (found,) = run.run([words, np.array(flag)])
        assert found.tolist() == [f"hello you{end}", f"hello wörld{end}"]


def test_a_text_that_is_not_utf8() -> None:
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("StringConcat", ["x", "t"], ["y"])],
        "texts",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.STRING, [1])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.STRING, [1])],
        [onnx.TensorProto(name="t", data_type=onnx.TensorProto.STRING, dims=[1], string_data=[b"\xff"])],
    )
    with pytest.raises(TvmsError) as caught:
        from_onnx(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)]))
    found = caught.value.diagnostics[0]
    assert (found.code, found.message) == ("E1002", "a text of the tensor 't' is not valid UTF-8")


def test_texts_whose_shapes_do_not_fit_are_an_error_of_the_run() -> None:
    words = [np.array(list("ab"), object), np.array(list("abc"), object)]
    prepared = backend.prepare(model_of(Node("StringConcat", words, opset=20), is_symbolic=True))
    with pytest.raises(TvmsError) as caught:
        prepared.run(words)
    assert str(caught.value).splitlines()[0] == (
        "error[E0712]: R.text_concat fails on these values: operands could not be broadcast together with shapes (2,) (3,) "
    )


def test_a_pattern_that_is_not_a_regular_expression() -> None:
    node = Node("RegexFullMatch", [np.array(["a"], object)], {"pattern": "(a"}, opset=20)
    with pytest.raises(TvmsError) as caught:
        backend.prepare(model_of(node))
    assert caught.value.diagnostics[0].message == (
        "node 'y0' (RegexFullMatch of ai.onnx, version 20): its inputs or attributes do not fit: "
        "the pattern is not a regular expression: missing ), unterminated subpattern at position 0"
    )


def test_data_that_are_not_an_image() -> None:
    pytest.importorskip("PIL", reason="Pillow, which decodes images, is not installed")
    node = Node("ImageDecoder", [np.arange(9, dtype="uint8")], {"pixel_format": "RGB"}, opset=20)
    with pytest.raises(TvmsError) as caught:
        backend.prepare(model_of(node)).run(node.inputs)  # type: ignore[reportArgumentType]
    assert caught.value.diagnostics[0].code == "E0702"


# --- Loops ----------------------------------------------------------------------------------------------------

COUNT = """
main (int64 n, float[2] x) => (float[2] y) {
  c = Constant <value: tensor = bool {1}>()
  y = Loop(n, c, x) <body: graph = body (int64 i, bool before, float[2] s) => (bool after, float[2] t) {
    after = Identity(before)
    one = Constant <value: tensor = float {1}>()
    t = Add(s, one)
  }>
}"""


def test_loops_of_many_iterations() -> None:
    run = tvms.compile(from_onnx(parsed(COUNT)))["main"]
    np.testing.assert_array_equal(run(np.array(12_000), np.zeros(2, "float32")), [12_000, 12_000])
