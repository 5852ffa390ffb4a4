"""Modules of `relax.frontend.nn`: what they compute, their parameters, and the functions that they become."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from tvms.relax.frontend import nn


def computed(module: nn.Module, random: np.random.Generator, *arrays: np.ndarray, **spec: Any) -> Any:
    """What the exported module returns for `arrays`, with random parameters, and the parameters by name."""
    mod, params = module.export_tvm({"forward": spec})
    assert tvms.verify(mod) == ()
    assert tvms.structural_equal(tvms.parse(mod.script()), mod)
    values = {name: random.uniform(-1, 1, param.shape).astype(param.dtype) for name, param in params}
    return tvms.interpret(mod, "forward", [*arrays, *values.values()]), values


def uniform(random: np.random.Generator, *shape: int) -> np.ndarray:
    return random.uniform(-1, 1, shape).astype("float32")


def test_linear_with_a_symbolic_batch(random: np.random.Generator) -> None:
    x = uniform(random, 3, 5)
    result, p = computed(nn.Linear(5, 4), random, x, x=nn.spec.Tensor(["batch", 5], "float32"))
    np.testing.assert_allclose(result, x @ p["weight"].T + p["bias"], 1e-5)


@pytest.mark.parametrize(
    ("layer", "shape"), [(nn.Conv1D, (1, 4, 9)), (nn.Conv2D, (1, 4, 7, 6)), (nn.Conv3D, (1, 4, 5, 4, 4))]
)
def test_convolutions_add_their_bias_to_each_channel(
    layer: Any, shape: tuple[int, ...], random: np.random.Generator
) -> None:
    x = uniform(random, *shape)
    result, p = computed(layer(4, 6, 3, padding=1, groups=2), random, x, x=nn.spec.Tensor(shape, "float32"))
    assert result.shape == (1, 6, *shape[2:])
    assert p["weight"].shape == (6, 2, *[3] * (len(shape) - 2))
    without, _ = computed(
        layer(4, 6, 3, padding=1, groups=2, bias=False), np.random.default_rng(0), x, x=nn.spec.Tensor(shape, "float32")
    )
    assert without.shape == result.shape


def test_normalizations(random: np.random.Generator) -> None:
    x = uniform(random, 2, 4, 6)
    spec = {"x": nn.spec.Tensor((2, 4, 6), "float32")}
    mean, deviation = x.mean(-1, keepdims=True), np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    result, p = computed(nn.LayerNorm(6), random, x, **spec)
    np.testing.assert_allclose(result, (x - mean) / deviation * p["weight"] + p["bias"], 1e-4, 1e-5)
    result, _ = computed(nn.LayerNorm(6, elementwise_affine=False), random, x, **spec)
    np.testing.assert_allclose(result, (x - mean) / deviation, 1e-4, 1e-5)
    result, p = computed(nn.RMSNorm(6, [-1]), random, x, **spec)
    root = np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(result, x / root * p["weight"] + p["bias"], 1e-4, 1e-5)
    grouped = x.reshape(2, 2, 12)
    scaled = (grouped - grouped.mean(-1, keepdims=True)) / np.sqrt(grouped.var(-1, keepdims=True) + 1e-5)
    result, p = computed(nn.GroupNorm(2, 4), random, x, **spec)
    expected = scaled.reshape(x.shape) * p["weight"][:, None] + p["bias"][:, None]
    np.testing.assert_allclose(result, expected, 1e-4, 1e-5)


def test_embedding_and_a_list_of_modules(random: np.random.Generator) -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            self.table = nn.Embedding(10, 4)
            self.layers = nn.ModuleList([nn.Linear(4, 4, bias=False), nn.SiLU(), nn.Linear(4, 2)])

        def forward(self, x: nn.Tensor) -> nn.Tensor:
            return self.layers(self.table(x))

    x = np.array([[1, 9, 3], [0, 0, 5]], "int32")
    result, p = computed(Model(), random, x, x=nn.spec.Tensor((2, 3), "int32"))
    assert list(p) == ["table.weight", "layers.0.weight", "layers.2.weight", "layers.2.bias"]
    hidden = p["table.weight"][x] @ p["layers.0.weight"].T
    hidden = hidden / (1 + np.exp(-hidden))
    np.testing.assert_allclose(result, hidden @ p["layers.2.weight"].T + p["layers.2.bias"], 1e-4, 1e-5)


def test_attention_of_several_heads(random: np.random.Generator) -> None:
    x = uniform(random, 1, 5, 8)
    result, p = computed(
        nn.Attention(8, heads=2, dim_head=3), random, x, hidden_states=nn.spec.Tensor((1, 5, 8), "float32")
    )

    def heads(name: str) -> np.ndarray:
        return np.moveaxis((x @ p[f"{name}.weight"].T).reshape(1, 5, 2, 3), 2, 1)

    scores = heads("to_q") @ np.swapaxes(heads("to_k"), -1, -2) / np.sqrt(3)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    mixed = np.moveaxis(weights / weights.sum(-1, keepdims=True) @ heads("to_v"), 1, 2).reshape(1, 5, 6)
    np.testing.assert_allclose(result, mixed @ p["to_out.0.weight"].T + p["to_out.0.bias"], 1e-4, 1e-5)


class Everything(nn.Module):
    """Operators, numbers beside tensors, functions of the loop level, tuples and integers as arguments."""

    def __init__(self) -> None:
        self.scale = nn.Parameter((4,))

    def forward(self, x: nn.Tensor, pair: tuple[nn.Tensor, nn.Tensor], total: Any) -> Any:
        from tvms import te

        left, right = pair
        halves = nn.chunk(x, 2, dim=1)
        mixed = nn.concat([halves[1], halves[0]], dim=1) * 2.0 + self.scale - left.maximum(0.0)
        shifted = nn.tensor_expr_op(
            lambda a, n: te.compute(a.shape, lambda i, j: a[i, j] + te.cast(n, "float32")), "shift", [mixed, total]
        )
        return shifted.reshape(-1).astype("float16"), nn.op.where(left < right, left, right)


APPEND = """T.prim_func(private=True) append(var_cache: T.handle, var_new: T.handle, at: T.int64):
    m, s = T.int64(), T.int64()
    cache = T.match_buffer(var_cache, (m, 4))
    new = T.match_buffer(var_new, (s, 4))
    for i, j in T.grid(s, 4):
        with T.block("append"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(i + at < m)
            cache[vi + at, vj] = new[vi, vj]
"""


class Cached(nn.Module):
    def forward(self, x: nn.Tensor, cache: nn.Tensor, at: Any) -> Any:
        before = nn.op.sum(cache, axis=0)
        kept = nn.Tensor.placeholder(cache.shape, "float32")
        cache = nn.op.tensor_ir_inplace_op(tvms.parse(APPEND)["append"], "append", [cache, x, at], 0, kept)
        return cache, before


def test_a_cache_grows_where_it_is(random: np.random.Generator) -> None:
    spec = {"x": nn.spec.Tensor(["s", 4], "float32"), "cache": nn.spec.Tensor([8, 4], "float32"), "at": int}
    mod, _ = Cached().export_tvm({"forward": spec})
    forward = tvms.compile(mod)["forward"]
    cache, at, parts = np.zeros((8, 4), "float32"), 0, [uniform(random, size, 4) for size in (3, 1, 2)]
    for part in parts:
        filled = cache[:at].copy()
        cache, before = forward(part, cache, (at,))
        np.testing.assert_allclose(before, filled.sum(axis=0), 1e-5)
        at += len(part)
    np.testing.assert_array_equal(cache[:6], np.concatenate(parts))


def test_a_method_takes_tuples_and_integers(random: np.random.Generator) -> None:
    two = nn.spec.Tensor((2, 4), "float32")
    mod, params = Everything().export_tvm({"forward": {"x": two, "pair": (two, two), "total": "int"}})
    assert tvms.verify(mod) == ()
    x, left, right = (uniform(random, 2, 4) for _ in range(3))
    scale = np.arange(4, dtype="float32")
    first, second = tvms.interpret(mod, "forward", [x, (left, right), (3,), scale])
    mixed = np.concatenate([x[:, 2:], x[:, :2]], 1) * 2 + scale - np.maximum(left, 0) + 3
    np.testing.assert_allclose(first, mixed.reshape(-1).astype("float16"), 1e-2)
    np.testing.assert_array_equal(second, np.minimum(left, right))
    assert [name for name, _ in params] == ["scale"]


def test_parameters_can_be_packed_or_left_out() -> None:
    spec = {"x": nn.spec.Tensor((2, 5), "float32")}
    packed, _ = nn.Linear(5, 4).export_tvm({"forward": {**spec, "$": {"param_mode": "packed"}}})
    assert [param.name_hint for param in packed["forward"].params] == ["x", "packed_params"]  # type: ignore[attr-defined]
    assert tvms.verify(packed) == ()
    activation, _ = nn.ReLU().export_tvm({"forward": {**spec, "$": {"param_mode": "none"}}})
    assert len(activation["forward"].params) == 1  # type: ignore[attr-defined]


def test_parameters_have_dtypes_and_values() -> None:
    layer = nn.Linear(3, 2)
    layer.to("float16")
    assert {name: param.dtype for name, param in layer.named_parameters()} == {"weight": "float16", "bias": "float16"}
    weight = np.ones((2, 3), "float16")
    assert layer.load_state_dict({"weight": weight}, strict=False) == (["bias"], [])
    np.testing.assert_array_equal(layer.weight.data, weight)
    with pytest.raises(KeyError, match="missing: bias; unknown: beta"):
        layer.load_state_dict({"weight": weight, "beta": weight})
    with pytest.raises(
        ValueError, match=r"a parameter of float16 of shape \(2, 3\) cannot hold float32 of shape \(2, 2\)"
    ):
        layer.weight.data = np.ones((2, 2), "float32")
    with pytest.raises(ValueError, match="the values of this parameter are set"):
        layer.to("float32")


def test_misuse_is_refused() -> None:
    with pytest.raises(RuntimeError, match="tensors exist only while a module is exported"):
        nn.relu(nn.Tensor.placeholder((2,), "float32"))
    with pytest.raises(AttributeError, match=r"^module 'tvms\.ir\.nn' has no attribute 'rleu'$"):
        nn.rleu  # noqa: B018
    with pytest.raises(ValueError, match="'forward' has no parameter 'y'"):
        nn.ReLU().export_tvm({"forward": {"y": nn.spec.Tensor((2,), "float32")}})
    with pytest.raises(tvms.TvmsError, match=r"cannot multiply shapes \(2, 4\) and \(5, 3\)"):
        nn.Linear(5, 3).export_tvm({"forward": {"x": nn.spec.Tensor((2, 4), "float32")}})
