"""Rows for com.microsoft compute what onnxruntime computes, for random inputs and attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx, the extra 'onnx', is not installed")

from .onnx_laws import Node, by_onnxruntime, check, choice, generator, model_of, tensor

Rng = np.random.Generator
MICROSOFT = "com.microsoft"


def node(operator: str, inputs: dict[str, Any], attributes: dict[str, Any] | None = None, **options: Any) -> Node:
    return Node(operator, inputs, attributes or {}, **{"opset": 1, "domain": MICROSOFT, **options})


def small(rng: Rng, *dims: int) -> Any:
    return rng.normal(0, 0.5, dims).astype("float32")


# --- Products, activations, normalizations ----------------------------------------------------------------------


def _matmul(rng: Rng) -> Node:
    left, right, batch_a, batch_b = (int(flag) for flag in rng.integers(0, 2, 4))

    def factor(rows: int, columns: int, is_turned: int, is_batch: int) -> Any:
        dims = [rows, columns] if not is_turned else [columns, rows]
        return small(rng, *([dims[0], 2, dims[1]] if is_batch else [2, *dims]))

    attributes = {"transA": left, "transB": right, "transBatchA": batch_a, "transBatchB": batch_b, "alpha": 0.5}
    return node("FusedMatMul", {"A": factor(3, 4, left, batch_a), "B": factor(4, 5, right, batch_b)}, attributes)


def _bits(bits: int, rng: Rng) -> Node:
    width, columns, block = int(choice(rng, (16, 32, 40))), 5, int(choice(rng, (16, 32)))
    blocks = -(-width // block)
    inputs: dict[str, Any] = {
        "A": small(rng, 2, 3, width), "B": rng.integers(0, 256, (columns, blocks, block * bits // 8)).astype("uint8"),
        "scales": np.abs(small(rng, columns, blocks)), "zero_points": None, "g_idx": None, "bias": choice(rng, (None, small(rng, columns))),
    }  # fmt: skip
    if rng.random() < 0.6:
        inputs["zero_points"] = rng.integers(0, 256, (columns, -(-blocks * bits // 8))).astype("uint8")
    attributes = {"K": width, "N": columns, "bits": bits, "block_size": block}
    return node("MatMulNBits", inputs, attributes, constants=("B", "scales", "zero_points"))


def _fused_conv(rng: Rng) -> Node:
    name = choice(rng, ("Relu", "Sigmoid", "Tanh", "LeakyRelu", "Clip", "HardSigmoid"))
    params = {"LeakyRelu": [0.2], "Clip": [-0.1, 0.3], "HardSigmoid": [0.2, 0.5]}.get(name)
    attributes = {"activation": name, "pads": [1, 1, 1, 1], **({"activation_params": params} if params else {})}
    return node("FusedConv", {"X": small(rng, 1, 2, 5, 6), "W": small(rng, 3, 2, 3, 3), "B": small(rng, 3)}, attributes)


def _elementwise(operator: str, rng: Rng) -> Node:
    x = tensor(rng, (2, 3, 8))
    match operator:
        case "BiasGelu":
            return node(operator, {"A": x, "B": small(rng, 8)})
        case "FastGelu":
            return node(operator, {"X": x, "bias": choice(rng, (None, small(rng, 8)))})
        case "QuickGelu":
            return node(operator, {"X": x}, {"alpha": 1.3})
        case _:
            return node(operator, {"X": x})


def _skip(operator: str, rng: Rng) -> Node:
    inputs = {"input": small(rng, 2, 3, 8), "skip": small(rng, 2, 3, 8), "gamma": small(rng, 8)}
    if operator == "SkipLayerNormalization":
        inputs["beta"] = small(rng, 8)
    inputs["bias"] = choice(rng, (None, small(rng, 8)))
    return node(operator, inputs, {"epsilon": 1e-5}, outputs=["y", "", "", "total"])


def _simplified(rng: Rng) -> Node:
    return Node(
        "SimplifiedLayerNormalization", {"X": small(rng, 2, 3, 8), "scale": small(rng, 8)}, {"epsilon": 1e-5}, opset=17
    )


def _layer_norm(rng: Rng) -> Node:
    """A node in version 14 of the standard's domain, in which onnxruntime has the operator before the standard."""
    inputs = {"X": small(rng, 2, 3, 8), "Scale": small(rng, 8), "B": choice(rng, (None, small(rng, 8)))}
    return Node("LayerNormalization", inputs, {"epsilon": 1e-3}, opset=14)


def _embed(rng: Rng) -> Node:
    ids = rng.integers(0, 7, (2, 4)).astype("int32")
    inputs = {
        "input_ids": ids, "segment_ids": rng.integers(0, 2, (2, 4)).astype("int32"), "word_embedding": small(rng, 7, 8),
        "position_embedding": small(rng, 9, 8), "segment_embedding": small(rng, 2, 8), "gamma": small(rng, 8), "beta": small(rng, 8),
        "mask": np.array([[1, 1, 1, 0], [1, 1, 0, 0]], "int32"),
    }  # fmt: skip
    return node("EmbedLayerNormalization", inputs, {"epsilon": 1e-5}, outputs=2)


def _trilu(rng: Rng) -> Node:
    return node(
        "Trilu",
        {"X": tensor(rng, (2, 4, 5)), "k": np.array(int(rng.integers(-3, 4)))},
        {"upper": int(rng.integers(2))},
        constants=("k",),
    )


def _inverse(rng: Rng) -> Node:
    return node("Inverse", {"X": (np.eye(4) * 3 + rng.normal(0, 0.3, (2, 4, 4))).astype("float32")})


def _crop(rng: Rng) -> Node:
    corners = np.sort(rng.uniform(0, 1, (3, 2, 2)), axis=1)
    rois = np.concatenate([corners[:, 0], corners[:, 1]], 1).astype("float32")
    inputs = {
        "X": small(rng, 2, 3, 6, 7),
        "rois": rois,
        "batch_indices": rng.integers(0, 2, 3).astype("int32"),
        "crop_size": np.array([3, 4], "int32"),
    }
    return node("CropAndResize", inputs, constants=("crop_size",))


def _grid(rng: Rng) -> Node:
    inputs = {"X": small(rng, 2, 3, 5, 6), "Grid": rng.uniform(-1.2, 1.2, (2, 4, 3, 2)).astype("float32")}
    attributes = {
        "mode": choice(rng, ("bilinear", "nearest")),
        "padding_mode": choice(rng, ("zeros", "border", "reflection")),
        "align_corners": int(rng.integers(2)),
    }
    return node("GridSample", inputs, attributes)


def _range(rng: Rng) -> Node:
    return node(
        "Range",
        {"start": np.array(2, "int64"), "limit": np.array(9, "int64"), "delta": choice(rng, (None, np.array(3)))},
    )


PRODUCTS: tuple[Callable[[Rng], Node], ...] = (
    _matmul, *(partial(_bits, bits) for bits in (4, 8)), _fused_conv, _simplified, _layer_norm, _embed, _trilu, _inverse, _crop, _grid, _range,
    *(partial(_elementwise, name) for name in ("Gelu", "BiasGelu", "FastGelu", "QuickGelu")),
    *(partial(_skip, name) for name in ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization")),
)  # fmt: skip


@pytest.mark.parametrize("make", PRODUCTS)
def test_products_activations_and_normalizations(make: Callable[[Rng], Node]) -> None:
    rng = generator()
    for _ in range(4):
        check(make(rng), oracle=by_onnxruntime, tolerance=1e-3)


# --- Attention --------------------------------------------------------------------------------------------------


def _attention(mask: str, rng: Rng) -> Node:
    batch, length, width, heads = 2, 4, 8, 2
    past = int(choice(rng, (0, 3))) if mask in ("", "raw") else 0
    keys = past + length
    masks = {
        "": None, "ends": np.array([2, 4], "int32"), "raw": (np.arange(keys) < np.array([[keys - 1], [keys]])).astype("int32"),
        "pairs": np.array([3, 4, 1, 0], "int32"), "three": np.tril(np.ones((batch, length, keys), "int32")),
    }  # fmt: skip
    inputs = {
        "input": small(rng, batch, length, width), "weights": small(rng, width, 3 * width), "bias": small(rng, 3 * width),
        "mask_index": masks[mask], "past": small(rng, 2, batch, heads, past, width // heads) if past else None,
        "attention_bias": None if past else choice(rng, (None, small(rng, batch, heads, length, keys))),
    }  # fmt: skip
    attributes: dict[str, Any] = {
        "num_heads": heads,
        "unidirectional": int(rng.integers(2)) if mask in ("", "raw") else 0,
    }
    if not past and rng.random() < 0.5:  # values whose size differs from that of keys, which onnxruntime cannot stack
        sizes = attributes["qkv_hidden_sizes"] = [8, 8, 4]
        inputs |= {"weights": small(rng, width, sum(sizes)), "bias": small(rng, sum(sizes))}
    return node(
        "Attention", inputs, attributes, outputs=["y"] if "qkv_hidden_sizes" in attributes else ["y", "present"]
    )


def _multi_head(packing: str, rng: Rng) -> Node:
    batch, length, keys, heads, size = 2, 4, 5 if packing in ("none", "heads") else 4, 2, 4
    width = heads * size
    inputs: dict[str, Any] = {
        "query": small(rng, batch, length, width),
        "key": small(rng, batch, keys, width),
        "value": small(rng, batch, keys, width),
    }
    if packing == "qkv":
        inputs = {"query": small(rng, batch, length, heads, 3, size), "key": None, "value": None}
    elif packing == "kv":
        inputs |= {"key": small(rng, batch, keys, heads, 2, size), "value": None}
    elif packing == "heads":
        inputs |= {"key": small(rng, batch, heads, keys, size), "value": small(rng, batch, heads, keys, size)}
    inputs["bias"] = choice(rng, (None, small(rng, 3 * width))) if packing == "none" else None
    inputs["key_padding_mask"] = choice(rng, (None, (np.arange(keys) < np.array([[keys - 1], [keys]])).astype("int32")))
    inputs["attention_bias"] = choice(rng, (None, small(rng, batch, heads, length, keys)))
    attributes = {"num_heads": heads, "unidirectional": int(packing == "qkv" and rng.integers(2))}
    return node("MultiHeadAttention", inputs, attributes)


def _angles(positions: int, half: int) -> tuple[Any, Any]:
    angle = np.arange(positions)[:, None] * 10.0 ** (-np.arange(half) / half)
    return np.cos(angle).astype("float32"), np.sin(angle).astype("float32")


def _rotary(rng: Rng) -> Node:
    batch, length, heads, size = 2, 3, 2, 8
    x = choice(rng, (small(rng, batch, length, heads * size), small(rng, batch, heads, length, size)))
    cosine, sine = _angles(10, size // 2)
    places = choice(rng, (np.array([2]), rng.integers(0, 10, (batch, length))))
    return node(
        "RotaryEmbedding",
        {"input": x, "position_ids": places, "cos_cache": cosine, "sin_cache": sine},
        {"interleaved": int(rng.integers(2))},
    )


def _group_query(kind: str, rng: Rng) -> Node:
    batch, heads, groups, size = 2, 4, 2, 16
    past, length = (0, 5) if kind == "prompt" else (6, 1)
    total = past + length if kind == "prompt" else past + 1
    inputs: dict[str, Any] = {
        "query": small(rng, batch, length, heads * size), "key": small(rng, batch, length, groups * size),
        "value": small(rng, batch, length, groups * size), "past_key": small(rng, batch, groups, past, size),
        "past_value": small(rng, batch, groups, past, size),
        "seqlens_k": np.full(batch, total - 1, "int32") if kind != "ragged" else np.array([3, total - 1], "int32"),
        "total_sequence_length": np.array(total, "int32"), "cos_cache": None, "sin_cache": None,
    }  # fmt: skip
    if rng.random() < 0.5:
        inputs |= {"query": small(rng, batch, length, (heads + 2 * groups) * size), "key": None, "value": None}
    attributes: dict[str, Any] = {
        "num_heads": heads,
        "kv_num_heads": groups,
        "local_window_size": int(choice(rng, (-1, 3))),
    }
    if rng.random() < 0.5:
        inputs["cos_cache"], inputs["sin_cache"] = _angles(16, size // 2)
        attributes |= {"do_rotary": 1, "rotary_interleaved": int(rng.integers(2))}
    constants = ("total_sequence_length",) if rng.random() < 0.5 else ()
    return node("GroupQueryAttention", inputs, attributes, outputs=3, constants=constants)


ATTENTION: tuple[Callable[[Rng], Node], ...] = (
    *(partial(_attention, mask) for mask in ("", "ends", "raw", "pairs", "three")),
    *(partial(_multi_head, packing) for packing in ("none", "heads")),
    _rotary, *(partial(_group_query, kind) for kind in ("prompt", "token", "ragged")),
)  # fmt: skip


@pytest.mark.parametrize("make", ATTENTION)
def test_attention(make: Callable[[Rng], Node]) -> None:
    rng = generator()
    for _ in range(5):
        check(make(rng), oracle=by_onnxruntime, tolerance=1e-3)


def _unpacked(model: Any, inputs: Mapping[str, Any]) -> Any:
    """Return what onnxruntime computes without packing, of which it lacks an implementation on processors."""
    given = dict(inputs)
    names = ("query", "key", "value")[3 - (3 if "key" not in given else 2) :]
    packed = given.pop("key" if "key" in given else "query")
    for place, name in enumerate(names):
        given[name] = packed[:, :, :, place].reshape(*packed.shape[:2], -1)
    attributes = {entry.name: entry.i for entry in model.graph.node[0].attribute}
    order = ("query", "key", "value", "bias", "key_padding_mask", "attention_bias")
    plain = node("MultiHeadAttention", {name: given.get(name) for name in order}, attributes)
    return by_onnxruntime(model_of(plain), given)


@pytest.mark.parametrize("packing", ["qkv", "kv"])
def test_packed_attention(packing: str) -> None:
    rng = generator()
    for _ in range(5):
        check(_multi_head(packing, rng), oracle=_unpacked, tolerance=1e-3)


# --- Quantized tensors ------------------------------------------------------------------------------------------


def _codes(rng: Rng, *dims: int, dtype: str = "uint8") -> Any:
    return rng.integers(0 if dtype == "uint8" else -128, 256 if dtype == "uint8" else 128, dims).astype(dtype)


def _parameters(rng: Rng, prefix: str, dtype: str) -> dict[str, Any]:
    return {
        f"{prefix}scale": np.array(rng.uniform(0.01, 0.1), "float32"),
        f"{prefix}zero_point": _codes(rng, dtype=dtype),
    }


def _quantized_binary(operator: str, rng: Rng) -> Node:
    dtype = choice(rng, ("uint8", "int8"))
    inputs = {
        "A": _codes(rng, 2, 3, 4, dtype=dtype), **_parameters(rng, "A_", dtype),
        "B": _codes(rng, *choice(rng, ((4,), (3, 1))), dtype=dtype), **_parameters(rng, "B_", dtype), **_parameters(rng, "C_", dtype),
    }  # fmt: skip
    return node(operator, inputs)


def _quantized_unary(operator: str, rng: Rng) -> Node:
    dtype = choice(rng, ("uint8", "int8"))
    prefix = "x" if operator == "QLinearGlobalAveragePool" else "X"
    inputs = {
        "X": _codes(rng, 2, 3, 4, 5, dtype=dtype),
        **_parameters(rng, f"{prefix}_", dtype),
        **_parameters(rng, f"{chr(ord(prefix) + 1)}_", dtype),
    }
    attributes = {
        "QLinearLeakyRelu": {"alpha": 0.1},
        "QLinearGlobalAveragePool": {"channels_last": int(rng.integers(2))},
    }
    constants = [name for name in inputs if name != "X"]
    return node(operator, inputs, attributes.get(operator, {}), constants=constants)


def _quantized_concat(rng: Rng) -> Node:
    inputs = {"Y_scale": np.array(0.05, "float32"), "Y_zero_point": _codes(rng)}
    for name, width in (("a", 2), ("b", 3)):
        inputs |= {name: _codes(rng, 2, width), **_parameters(rng, f"{name}_", "uint8")}
    return node("QLinearConcat", inputs, {"axis": 1}, constants=[name for name in inputs if name not in "ab"])


def _dynamic(rng: Rng) -> Node:
    dtype = choice(rng, ("uint8", "int8"))
    inputs = {
        "A": small(rng, 3, 8),
        "B": _codes(rng, 8, 5, dtype=dtype),
        **_parameters(rng, "b_", dtype),
        "bias": choice(rng, (None, small(rng, 5))),
    }
    return node("DynamicQuantizeMatMul", inputs)


def _quantized_attention(rng: Rng) -> Node:
    batch, length, width, heads = 2, 3, 8, 2
    past = int(choice(rng, (0, 2)))
    dtype, by_column = choice(rng, ("uint8", "int8")), bool(rng.integers(2))
    dims = (3 * width,) if by_column else ()
    masks = (None, (np.arange(past + length) < np.array([[past + 2], [past + 3]])).astype("int32"))
    inputs = {
        "input": _codes(rng, batch, length, width), "weight": _codes(rng, width, 3 * width, dtype=dtype), "bias": small(rng, 3 * width),
        "input_scale": np.array(0.02, "float32"), "weight_scale": rng.uniform(0.005, 0.01, dims).astype("float32"),
        "mask_index": choice(rng, masks), "input_zero_point": choice(rng, (None, _codes(rng))),
        "weight_zero_point": choice(rng, (None, _codes(rng, *dims, dtype=dtype))),
        "past": small(rng, 2, batch, heads, past, width // heads) if past else None,
    }  # fmt: skip
    attributes = {"num_heads": heads, "unidirectional": int(rng.integers(2))}
    constants = ("weight",) if rng.random() < 0.5 else ()
    return node("QAttention", inputs, attributes, outputs=["y", "present"], constants=constants)


def _to_float(rng: Rng) -> Node:
    inputs = {
        "A": _codes(rng, 3, 8), "B": _codes(rng, 8, 5), "a_scale": np.array(0.02, "float32"), "b_scale": np.array(0.03, "float32"),
        "a_zero_point": _codes(rng), "b_zero_point": _codes(rng), "bias": choice(rng, (None, small(rng, 5))),
    }  # fmt: skip
    return node("MatMulIntegerToFloat", inputs)


def _gemm(rng: Rng) -> Node:
    left, right = int(rng.integers(2)), int(rng.integers(2))
    inputs = {
        "A": _codes(rng, *((8, 3) if left else (3, 8))), **_parameters(rng, "a_", "uint8"),
        "B": _codes(rng, *((5, 8) if right else (8, 5))), **_parameters(rng, "b_", "uint8"), "C": rng.integers(-99, 99, 5).astype("int32"),
    }  # fmt: skip
    if rng.random() < 0.5:
        inputs |= {"y_scale": np.array(1.5, "float32"), "y_zero_point": _codes(rng)}
    return node(
        "QGemm",
        inputs,
        {"transA": left, "transB": right, "alpha": 0.5},
        constants=[name for name in inputs if name != "A"],
    )


def _linear(operator: str, rng: Rng) -> Node:
    dtype = choice(rng, ("uint8", "int8", "uint16", "int16"))
    zero = np.array(3, dtype)
    scale = np.array(0.05, "float32")
    if operator == "QuantizeLinear":
        return node(operator, {"x": tensor(rng, (3, 4)), "y_scale": scale, "y_zero_point": zero})
    return node(operator, {"x": rng.integers(0, 99, (3, 4)).astype(dtype), "x_scale": scale, "x_zero_point": zero})


QUANTIZED: tuple[Callable[[Rng], Node], ...] = (
    *(partial(_quantized_binary, name) for name in ("QLinearAdd", "QLinearMul")), _quantized_concat, _quantized_attention, _dynamic,
    _to_float, _gemm,
    *(partial(_quantized_unary, name) for name in ("QLinearSigmoid", "QLinearLeakyRelu", "QLinearGlobalAveragePool")),
    *(partial(_linear, name) for name in ("QuantizeLinear", "DequantizeLinear")),
)  # fmt: skip


@pytest.mark.parametrize("make", QUANTIZED)
def test_quantized_tensors(make: Callable[[Rng], Node]) -> None:
    rng = generator()
    for _ in range(5):
        check(make(rng), oracle=by_onnxruntime, tolerance=1e-3)


def nodes(rng: Rng) -> list[Node]:
    """Return nodes of all operators, for tests of mutants."""
    return [
        make(rng)
        for make in (*PRODUCTS, *ATTENTION, *(partial(_multi_head, kind) for kind in ("qkv", "kv")), *QUANTIZED)
    ]
