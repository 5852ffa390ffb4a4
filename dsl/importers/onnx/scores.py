"""Rows for linear models, and what all classifiers share: functions of scores, and labels."""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import const
from ..values import dims_of
from .converter import Converter
from .features import label
from .rows import LEARNING, Family

ROWS = Family()
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
"""Functions of scores, in the order of their numbers."""


def number(value: float) -> relax.Constant:
    """Return a score as a constant."""
    return const(value, "float32")


def transformed(c: Converter, scores: relax.Expr, name: str) -> relax.Expr:
    """Return a function of scores (row, class)."""
    if name == "NONE":
        return scores
    if name == "LOGISTIC":
        return op.sigmoid(scores)
    if name == "PROBIT":
        return _probit(c, scores)
    if name == "SOFTMAX":
        return op.nn.softmax(scores, 1)
    if name != "SOFTMAX_ZERO":
        raise ValueError(f"its post_transform is '{name}', not one of {', '.join(TRANSFORMS)}")
    is_zero = op.less_equal(op.abs(scores), number(1e-7))
    largest = op.max(scores, [1], True)
    powers = op.where(is_zero, op.multiply(scores, op.exp(op.negative(largest))), op.exp(op.subtract(scores, largest)))
    powers = c.emit(powers, "_powers")
    total = op.sum(op.where(is_zero, number(0.0), powers), [1], True)
    return op.divide(powers, total)


def _probit(c: Converter, scores: relax.Expr) -> relax.Expr:
    """Return the inverse of the normal distribution, approximated as in onnxruntime (Winitzki, a = 0.147)."""
    x = c.emit(op.subtract(op.multiply(scores, number(2.0)), number(1.0)), "_centered")
    log = c.emit(op.log(op.multiply(op.subtract(number(1.0), x), op.add(number(1.0), x))), "_log")
    half = c.emit(op.add(op.multiply(log, number(0.5)), number(2 / (pi * 0.147))), "_half")
    root = op.sqrt(op.subtract(op.square(half), op.divide(log, number(0.147))))
    found = op.sqrt(op.subtract(root, half))
    return op.multiply(op.where(op.less(x, number(0.0)), op.negative(found), found), number(sqrt(2)))


def labels_of(a: Any, integers: str) -> Any:
    """Return the labels of classes as an array: of texts, or of int64."""
    import numpy as np

    if a.classlabels_strings:
        return np.array(a.classlabels_strings, object)
    return np.array(getattr(a, integers) or [], "int64")


def most_likely(c: Converter, scores: relax.Expr, labels: Any) -> relax.Expr:
    """Return the label of the largest score of each row."""
    return label(c, op.argmax(scores, 1, False), labels)


def matrix(c: Converter, x: relax.Expr) -> relax.Expr:
    """Return features (row, feature) as float32; a vector is one row."""
    x = c.cast(x, "float32")
    return op.reshape(x, c.shape((1, -1))) if len(dims_of(x)) == 1 else x


def _linear(c: Converter, a: Any, targets: int) -> relax.Expr:
    import numpy as np

    if targets < 1 or len(a.coefficients) % targets:
        raise ValueError(f"it has {len(a.coefficients)} coefficients for {targets} targets")
    weight = np.array(a.coefficients, "float32").reshape(targets, -1).T
    made = op.matmul(matrix(c, a.X), const(np.ascontiguousarray(weight)))
    return op.add(made, const(np.array(a.intercepts, "float32"))) if a.intercepts else made


@ROWS.row("LinearRegressor", domain=LEARNING)
def _linear_regressor(c: Converter, a: Any) -> relax.Expr:
    return transformed(c, _linear(c, a, a.targets), a.post_transform)


@ROWS.row("LinearClassifier", domain=LEARNING)
def _linear_classifier(c: Converter, a: Any) -> list[relax.Expr]:
    """Return labels and scores; the scores of two classes may be those of the second one only."""
    labels = labels_of(a, "classlabels_ints")
    count = len(a.intercepts or ()) or len(labels)
    scores = c.emit(_linear(c, a, count), "_scores")
    if count == 1 and len(labels) == 2:
        is_second = op.astype(op.greater(op.reshape(scores, c.shape((-1,))), number(0.0)), "int64")
        transform = "NONE" if a.post_transform.startswith("SOFTMAX") else a.post_transform
        second = c.emit(transformed(c, scores, transform), "_second")
        return [label(c, is_second, labels), op.concat([op.subtract(number(1.0), second), second], 1)]
    return [most_likely(c, scores, labels), transformed(c, scores, a.post_transform)]
