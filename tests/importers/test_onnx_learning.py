"""Rows for ai.onnx.ml compute what onnxruntime computes, for random models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx, the extra 'onnx', is not installed")

from tvms import TvmsError
from tvms.relax.frontend.onnx import backend

from .onnx_laws import Node, by_onnxruntime, by_reference, check, choice, generator, model_of, tensor

Rng = np.random.Generator
ML = "ai.onnx.ml"
WORDS = np.array(["red", "green", "blue", "", "Ünïcode"], object)
CLASSES = {"classlabels_int64s": [7, 3, 9], "classlabels_strings": ["a", "b", "c"]}


def _scaler(rng: Rng) -> Node:
    width = int(rng.integers(1, 5))
    count = choice(rng, (1, width))
    attributes = {"scale": rng.normal(size=count).tolist(), "offset": rng.normal(size=count).tolist()}
    return Node(
        "Scaler",
        [tensor(rng, (3, width), choice(rng, ("float32", "float64", "int64", "int32")))],
        attributes,
        opset=1,
        domain=ML,
    )


def _normalizer(norm: str, rng: Rng) -> Node:
    x = np.abs(tensor(rng, (4, 5))) if norm == "MAX" else tensor(rng, (4, 5))  # onnxruntime's maximum keeps the sign
    x[0] = 0
    return Node("Normalizer", [x], {"norm": norm}, opset=1, domain=ML)


def _imputer(rng: Rng) -> Node:
    x = tensor(rng, (5, 3))
    x[rng.random(x.shape) < 0.3] = choice(rng, (np.nan, 1.0))
    values = rng.normal(size=choice(rng, (1, 3))).tolist()
    attributes = {"replaced_value_float": float("nan") if np.isnan(x).any() else 1.0, "imputed_value_floats": values}
    return Node("Imputer", [x], attributes, opset=1, domain=ML)


def _extractor(rng: Rng) -> Node:
    x = tensor(rng, choice(rng, ((6,), (2, 6), (2, 3, 6))), choice(rng, ("float32", "float64", "int32", "int64")))
    return Node("ArrayFeatureExtractor", [x, rng.integers(0, 6, 4)], opset=1, domain=ML)


def _binarizer(rng: Rng) -> Node:
    return Node("Binarizer", [tensor(rng, (3, 4))], {"threshold": 0.5}, opset=1, domain=ML)


def _vectorizer(rng: Rng) -> Node:
    return Node(
        "FeatureVectorizer", [tensor(rng, (2, 3)), tensor(rng, (2, 4))], {"inputdimensions": [3, 4]}, opset=1, domain=ML
    )


def _encoder(keys: str, values: str, rng: Rng) -> Node:
    made: dict[str, Any] = {
        "strings": WORDS[:4].tolist(), "int64s": [3, -1, 4, 9], "floats": [1.5, -2.0, float("nan"), 0.25],
    }  # fmt: skip
    inputs = {
        "strings": rng.choice(WORDS, (2, 5)).astype(object), "int64s": rng.integers(-1, 10, (2, 5)),
        "floats": rng.choice(np.array([1.5, -2, np.nan, 7], "float32"), (2, 5)),
    }  # fmt: skip
    attributes = {f"keys_{keys}": made[keys], f"values_{values}": made[values]}
    opset = 4 if keys == "floats" else int(choice(rng, (2, 4)))  # from version 4 on, NaN is equal to NaN
    return Node("LabelEncoder", [inputs[keys]], attributes, opset=opset, domain=ML)


def _one_hot(kind: str, rng: Rng) -> Node:
    if kind == "strings":
        return Node(
            "OneHotEncoder",
            [rng.choice(WORDS, 6).astype(object)],
            {"cats_strings": WORDS[:3].tolist()},
            opset=1,
            domain=ML,
        )
    return Node("OneHotEncoder", [rng.integers(0, 6, (2, 3))], {"cats_int64s": [4, 1, 3]}, opset=1, domain=ML)


def _mapper(is_text: bool, rng: Rng) -> Node:
    attributes = {
        "cats_strings": WORDS[:3].tolist(),
        "cats_int64s": [4, 1, 3],
        "default_int64": 8,
        "default_string": "?",
    }
    x = rng.choice(WORDS, 6).astype(object) if is_text else rng.integers(0, 6, 6)
    return Node("CategoryMapper", [x], attributes, opset=1, domain=ML)


FEATURES: tuple[Callable[[Rng], Node], ...] = (
    _scaler, *(partial(_normalizer, norm) for norm in ("MAX", "L1", "L2")), _imputer, _extractor, _binarizer, _vectorizer,
    *(partial(_encoder, *pair) for pair in (("strings", "int64s"), ("strings", "floats"), ("strings", "strings"),
                                            ("int64s", "strings"), ("int64s", "floats"), ("int64s", "int64s"),
                                            ("floats", "strings"), ("floats", "int64s"), ("floats", "floats"))),
    partial(_one_hot, "strings"), partial(_one_hot, "int64s"), partial(_mapper, True), partial(_mapper, False),
)  # fmt: skip


@pytest.mark.parametrize("make", FEATURES)
def test_features(make: Callable[[Rng], Node]) -> None:
    rng = generator()
    for _ in range(4):
        check(make(rng), oracle=by_onnxruntime)


TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def _linear_models(transform: str, labels: str, rng: Rng) -> Iterator[Node]:
    x = tensor(rng, (6, 4)).astype("float32") * 0.1
    for targets in (1, 3):
        coefficients = np.abs(rng.normal(size=4 * targets) * 0.1).tolist()
        x = np.abs(x) if transform == "PROBIT" else x
        attributes: dict[str, Any] = {
            "coefficients": coefficients,
            "intercepts": [0.3] * targets,
            "post_transform": transform,
        }
        if targets > 1 or transform in ("NONE", "PROBIT"):  # onnxruntime ignores other functions of one score
            yield Node("LinearRegressor", [x], {**attributes, "targets": targets}, opset=1, domain=ML)
        if targets == 1 and transform == "PROBIT":
            continue  # onnxruntime returns memory that it has not written
        names = {"classlabels_int64s": "classlabels_ints"}
        attributes[names.get(labels, labels)] = CLASSES[labels][: max(targets, 2)]
        yield Node("LinearClassifier", [x], attributes, outputs=2, opset=1, domain=ML)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("labels", ["classlabels_int64s", "classlabels_strings"])
def test_linear_models(transform: str, labels: str) -> None:
    for node in _linear_models(transform, labels, generator()):
        check(node, oracle=by_onnxruntime)


MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


def _trees(
    rng: Rng, width: int, modes: tuple[str, ...], is_missing: bool
) -> tuple[dict[str, Any], list[tuple[int, int]]]:
    """Return the attributes of the nodes of random trees, and their leaves."""
    made: dict[str, list[Any]] = {
        name: [] for name in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids",
                              "missing_value_tracks_true", "hitrates")
    }  # fmt: skip
    leaves: list[tuple[int, int]] = []
    for tree in range(int(rng.integers(1, 5))):
        pending, used = [(0, 0)], 1
        while pending:
            node, depth = pending.pop()
            is_leaf = depth == 4 or (depth > 0 and rng.random() < 0.3)
            children = (0, 0) if is_leaf else (used, used + 1)
            row = (tree, node, int(rng.integers(width)), "LEAF" if is_leaf else choice(rng, modes), float(rng.integers(-2, 3)), *children,
                   int(is_missing and rng.random() < 0.5), 1.0)  # fmt: skip
            for values, value in zip(made.values(), row, strict=True):
                values.append(value)
            if is_leaf:
                leaves.append((tree, node))
            else:
                used += 2
                pending += [(child, depth + 1) for child in children]
    return {f"nodes_{name}": values for name, values in made.items()}, leaves


def _features(rng: Rng, width: int, is_missing: bool) -> Any:
    x = np.where(rng.random((7, width)) < 0.5, rng.integers(-2, 3, (7, width)), rng.normal(size=(7, width))).astype(
        "float32"
    )
    x[rng.random(x.shape) < (0.2 if is_missing else 0)] = np.nan
    return x


def _regressors(aggregate: str, is_missing: bool, rng: Rng) -> Iterator[Node]:
    for targets in (1, 2):
        for modes in (("BRANCH_LEQ",), MODES):
            attributes, leaves = _trees(rng, 3, modes, is_missing)
            several = [(leaf, target) for leaf in leaves for target in range(targets)]
            attributes |= {
                "n_targets": targets, "aggregate_function": aggregate,
                "target_treeids": [leaf[0] for leaf, _ in several], "target_nodeids": [leaf[1] for leaf, _ in several],
                "target_ids": [target for _, target in several], "target_weights": rng.normal(size=len(several)).tolist(),
            }  # fmt: skip
            if rng.random() < 0.5:
                attributes["base_values"] = rng.normal(size=targets).tolist()
            x = _features(rng, 3, is_missing)
            yield Node("TreeEnsembleRegressor", [x], attributes, opset=3, domain=ML)


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("is_missing", [False, True])
def test_trees_of_regressors(aggregate: str, is_missing: bool) -> None:
    for node in _regressors(aggregate, is_missing, generator()):
        check(node, oracle=by_onnxruntime)


CASES = [
    *(("first", transform) for transform in ("NONE", "LOGISTIC")), *(("first positive", transform) for transform in ("NONE", "LOGISTIC")),
    *((kind, transform) for kind in ("second", "second positive") for transform in TRANSFORMS[:4]),
    *((kind, transform) for kind in ("two", "three") for transform in TRANSFORMS[:3]),
]  # fmt: skip
"""Classes with weights, and functions of scores for which onnxruntime or the reference evaluator do what the standard says."""


def _classifiers(kind: str, transform: str, rng: Rng) -> Iterator[Node]:
    for labels in CLASSES:
        attributes, leaves = _trees(rng, 3, ("BRANCH_LEQ",), False)
        classes, is_several = 3 if kind == "three" else 2, kind in ("two", "three")
        ids = [int(rng.integers(classes)) if is_several else int(kind.startswith("second")) for _ in leaves]
        if is_several:
            ids[0] = (ids[-1] + 1) % classes
        weights = rng.normal(size=len(leaves))
        attributes |= {
            labels: CLASSES[labels][:classes], "post_transform": transform, "class_ids": ids,
            "class_treeids": [leaf[0] for leaf in leaves], "class_nodeids": [leaf[1] for leaf in leaves],
            "class_weights": (np.abs(weights) if "positive" in kind else weights).tolist(),
        }  # fmt: skip
        yield Node("TreeEnsembleClassifier", [_features(rng, 3, False)], attributes, outputs=2, opset=3, domain=ML)


@pytest.mark.parametrize(("kind", "transform"), CASES)
def test_trees_of_classifiers(kind: str, transform: str) -> None:
    for node in _classifiers(kind, transform, generator()):
        check(node, oracle=by_reference if kind in ("two", "three") else by_onnxruntime)


def nodes(rng: Rng) -> list[Node]:
    """Return nodes of all operators, for tests of mutants."""
    others = (
        _linear_models("SOFTMAX", "classlabels_strings", rng),
        _regressors("SUM", True, rng),
        _classifiers("three", "NONE", rng),
    )
    return [*(make(rng) for make in FEATURES), *chain.from_iterable(others)]


def test_trees_that_are_not_trees() -> None:
    attributes = {
        "nodes_treeids": [0, 0], "nodes_nodeids": [0, 1], "nodes_featureids": [0, 0], "nodes_modes": ["BRANCH_LEQ"] * 2,
        "nodes_values": [0.0, 0.0], "nodes_truenodeids": [1, 0], "nodes_falsenodeids": [1, 0], "n_targets": 1,
        "target_treeids": [0], "target_nodeids": [1], "target_ids": [0], "target_weights": [1.0],
    }  # fmt: skip
    node = Node("TreeEnsembleRegressor", [np.zeros((1, 2), "float32")], attributes, opset=3, domain=ML)
    with pytest.raises(TvmsError) as caught:
        backend.prepare(model_of(node))
    assert caught.value.diagnostics[0].message == (
        "node 'y0' (TreeEnsembleRegressor of ai.onnx.ml, version 3): its inputs or attributes do not fit: its nodes are not trees"
    )
