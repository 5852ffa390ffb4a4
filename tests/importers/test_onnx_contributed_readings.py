"""Rows for com.microsoft that onnxruntime does not execute on processors compute what NumPy does; refusals name the node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import erf
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx, the extra 'onnx', is not installed")

from tvms import TvmsError
from tvms.relax.frontend.onnx import from_onnx

from .onnx_laws import Node, by_reference, check, choice, generator, model_of, tensor

Rng = np.random.Generator
MICROSOFT = "com.microsoft"


def node(operator: str, inputs: Mapping[str, Any], attributes: Mapping[str, Any] | None = None, **more: Any) -> Node:
    return Node(operator, inputs, attributes or {}, **{"opset": 1, "domain": MICROSOFT, **more})


def zeros(*dims: int, dtype: str = "float32") -> Any:
    return np.zeros(dims, dtype)


# --- Operators without an implementation on processors -----------------------------------------------------------


def _softmax_of_rows(data: Any, bias: Any, axis: int, is_inner: int) -> Any:
    """Add the bias to rows of the data: each row of the bias to several rows in order if it is inner, else to every n-th one."""
    width = int(np.prod(data.shape[axis:]))
    rows, added = data.reshape(-1, width), bias.reshape(-1, width)
    added = added.repeat(len(rows) // len(added), 0) if is_inner else np.tile(added, (len(rows) // len(added), 1))
    powers = np.exp(rows + added - (rows + added).max(1, keepdims=True))
    return (powers / powers.sum(1, keepdims=True)).reshape(data.shape)


def _bias_softmax(rng: Rng, is_inner: int) -> tuple[Node, Any]:
    data, axis = tensor(rng, (2, 3, 4, 5)), int(rng.integers(1, 4))
    kept = int(rng.integers(axis + 1))
    ones = [1] * (axis - kept) if rng.integers(2) else []
    front = [*data.shape[:kept], *ones] if is_inner else [*ones, *data.shape[axis - kept : axis]]
    bias = tensor(rng, (*front, *data.shape[axis:]))
    axis = axis - 4 if rng.integers(2) else axis
    made = node("BiasSoftmax", {"data": data, "bias": bias}, {"axis": axis, "is_inner_broadcast": is_inner})
    return made, _softmax_of_rows(data, bias, axis % 4, is_inner)


@pytest.mark.parametrize("is_inner", [0, 1])
def test_softmax_of_a_sum(is_inner: int) -> None:
    rng = generator()
    for number in range(8):
        made, expected = _bias_softmax(rng, is_inner)
        check(made, number % 4 == 3, oracle=lambda model, inputs, expected=expected: [expected])


def test_gated_activation() -> None:
    rng = generator()
    x, bias = tensor(rng, (2, 3, 8)), tensor(rng, (8,))
    left, right = np.split(x + bias, 2, axis=-1)
    expected = (left * right * 0.5 * (1 + np.vectorize(erf)(right / np.sqrt(2)))).astype("float32")
    for is_symbolic in (False, True):
        check(node("BiasSplitGelu", {"X": x, "bias": bias}), is_symbolic, oracle=lambda model, inputs: [expected])


def _channels_first(model: Any, inputs: Mapping[str, Any]) -> Sequence[Any]:
    """Return what Conv computes of the data and the weights with their channels first, with the channels last."""
    attributes = {entry.name: entry.ints or entry.i or entry.s.decode() for entry in model.graph.node[0].attribute}
    turned = {name: np.moveaxis(x, -1, 1) if x.ndim > 1 else x for name, x in inputs.items()}
    attributes = {name: value if isinstance(value, int | str) else list(value) for name, value in attributes.items()}
    (made,) = by_reference(model_of(Node("Conv", turned, attributes, opset=11)), turned)
    return [np.moveaxis(made, 1, -1)]


def test_convolutions_of_channels_last() -> None:
    rng = generator()
    for number in range(8):
        group = int(choice(rng, (1, 2)))
        inputs = {"X": tensor(rng, (2, 6, 7, 4)), "W": tensor(rng, (6, 3, 2, 4 // group))}
        if rng.integers(2):
            inputs["B"] = tensor(rng, (6,))
        attributes: dict[str, Any] = {"group": group, "strides": [int(n) for n in rng.integers(1, 3, 2)]}
        if rng.integers(2):
            attributes |= {"pads": [int(n) for n in rng.integers(0, 2, 4)], "dilations": [2, 1]}
        else:
            attributes["auto_pad"] = choice(rng, ("SAME_UPPER", "VALID"))
        check(node("NhwcConv", inputs, attributes), number % 4 == 3, oracle=_channels_first)


# --- Refusals ----------------------------------------------------------------------------------------------------


_MATRIX = {"A": zeros(2, 16), "B": zeros(5, 1, 8, dtype="uint8"), "scales": zeros(5, 1)}
_BITS = {"K": 16, "N": 5, "block_size": 16}
_SELF = {"input": zeros(1, 3, 4), "weights": zeros(4, 12), "bias": zeros(12)}
_CODES = zeros(1, 3, 4, dtype="uint8")
_QUANTIZED = {
    "input": _CODES, "weight": zeros(4, 12, dtype="uint8"), "bias": zeros(12), "input_scale": zeros(), "weight_scale": zeros(),
}  # fmt: skip
_HEADS = {"query": zeros(1, 3, 4), "key": zeros(1, 3, 4), "value": zeros(1, 3, 4)}
_CACHE = {
    **{name: zeros(1, 1, 8) for name in ("query", "key", "value")}, "past_key": zeros(1, 1, 2, 8), "past_value": zeros(1, 1, 2, 8),
    "seqlens_k": zeros(1, dtype="int32"), "total_sequence_length": np.array(3, "int32"),
}  # fmt: skip
_ROTARY = {
    "input": zeros(1, 2, 8), "position_ids": zeros(1, 2, dtype="int64"), "cos_cache": zeros(9, 4), "sin_cache": zeros(9, 4),
}  # fmt: skip
_CROP = {
    "X": zeros(1, 1, 4, 4), "rois": zeros(2, 4), "batch_indices": zeros(2, dtype="int32"), "crop_size": np.array([2, 2], "int32"),
}  # fmt: skip
_CONCAT = {"Y_scale": zeros(), "Y_zero_point": zeros(dtype="uint8"), "a": zeros(2, dtype="uint8"), "a_scale": zeros()}
_MALFORMED = "its inputs or attributes do not fit: "
REFUSED: dict[str, tuple[Node, str, str, str]] = {
    "permuted rows": (
        node("MatMulNBits", {**_MATRIX, "zero_points": None, "g_idx": zeros(16, dtype="int32")}, _BITS),
        "E1004", "its rows are permuted by g_idx", "export the model without act-order",
    ),
    "three bits": (
        node("MatMulNBits", _MATRIX, {**_BITS, "bits": 3}),
        "E1006", f"{_MALFORMED}its sizes are K=16, N=5, bits=3, block_size=16", "",
    ),
    "an activation": (
        node("FusedConv", {"X": zeros(1, 1, 3, 3), "W": zeros(1, 1, 1, 1)}, {"activation": "Clip", "activation_params": [1.0]}),
        "E1006", f"{_MALFORMED}its activation 'Clip' with 1 parameters is not supported", "",
    ),
    "a small bias": (
        node("BiasSoftmax", {"data": zeros(2, 3, 4), "bias": zeros(4)}, {"axis": 1, "is_inner_broadcast": 1}),
        "E1006", f"{_MALFORMED}its bias has 1 dimensions, fewer than those from axis 1 on", "",
    ),
    "a value outside": (
        node("CropAndResize", _CROP, {"extrapolation_value": 1.0}, constants=("crop_size",)),
        "E1004", "it needs constant sizes, bilinear interpolation and zeros outside", "export it so",
    ),
    "nearest elements": (
        node("CropAndResize", _CROP, {"mode": "nearest"}, constants=("crop_size",)),
        "E1004", "it needs constant sizes, bilinear interpolation and zeros outside", "export it so",
    ),
    "a missing zero point": (
        node("QLinearConcat", _CONCAT, {"axis": 0}), "E1006", f"{_MALFORMED}it has 2 inputs, not three for each tensor", "",
    ),
    "a rotation in attention": (
        node("Attention", _SELF, {"num_heads": 2, "do_rotary": 1}),
        "E1004", "it rotates, or shares buffers of past and present", "export it without",
    ),
    "a rotation in quantized attention": (
        node("QAttention", _QUANTIZED, {"num_heads": 2, "do_rotary": 1}),
        "E1004", "it rotates, or shares buffers of past and present", "export it without",
    ),
    "no heads": (
        node("Attention", _SELF), "E1004", "its number of heads or its width is not known", "make them known",
    ),
    "a shared buffer": (
        node("MultiHeadAttention", {
            **_HEADS, "bias": None, "mask": None, "add": None, "past_key": None, "past_value": None,
            "past_sequence_length": np.array(1, "int32"),
        }, {"num_heads": 2}),
        "E1004", "it shares buffers, or has no heads", "export it without past_sequence_length",
    ),
    "angles": (
        node("RotaryEmbedding", _ROTARY, {"num_heads": 2}),
        "E1006", f"{_MALFORMED}its caches have 4 angles, but rotate 4 elements", "",
    ),
    "sinks": (
        node("GroupQueryAttention", _CACHE, {"num_heads": 1, "kv_num_heads": 1, "smooth_softmax": 1}, outputs=3),
        "E1004", "it has sinks, or a quantized cache", "export it without",
    ),
    "groups": (
        node("GroupQueryAttention", _CACHE, {"num_heads": 3, "kv_num_heads": 2}, outputs=3),
        "E1006", f"{_MALFORMED}it has 3 heads and 2 heads of keys", "",
    ),
}  # fmt: skip
"""Nodes that are refused, with the code, the reason and the help."""


@pytest.mark.parametrize("name", REFUSED)
def test_refused_nodes(name: str) -> None:
    made, code, reason, help = REFUSED[name]
    output = "y" if made.outputs == ["y"] else "y0" if made.outputs == 1 else "y0, y1, y2"
    with pytest.raises(TvmsError) as refused:
        from_onnx(model_of(made))
    place = f"node '{output}' ({made.operator} of {MICROSOFT}, version 1)"
    assert str(refused.value) == f"error[{code}]: {place}: {reason}" + (f"\n  = help: {help}" if help else "")


UNKNOWN = {
    "Attention": ({"input": zeros(1, 3, 4), "weights": zeros(4, 12)}, {"num_heads": 2}, "its number of heads or its width is not known", "make them known"),
    "MultiHeadAttention": (_HEADS, {"num_heads": 2}, "the size of its heads is not known", "make it known"),
    "RotaryEmbedding": (_ROTARY, {}, "the size of its heads is not known", "make it known"),
    "GroupQueryAttention": (
        {**_CACHE, "query": zeros(1, 1, 24), "key": None, "value": None}, {"num_heads": 1, "kv_num_heads": 1},
        "the size of its heads is not known", "make it known",
    ),
}  # fmt: skip
"""Operators that need sizes which a model with symbolic sizes does not give."""


@pytest.mark.parametrize("operator", UNKNOWN)
def test_unknown_sizes(operator: str) -> None:
    inputs, attributes, reason, help = UNKNOWN[operator]
    with pytest.raises(TvmsError) as refused:
        from_onnx(model_of(node(operator, inputs, attributes, outputs=["y"]), is_symbolic=True))
    place = f"node 'y' ({operator} of {MICROSOFT}, version 1)"
    assert str(refused.value) == f"error[E1004]: {place}: {reason}\n  = help: {help}"
