"""Rotary position embeddings of tensors and of fused queries, keys and values, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from tvms import relax
from tvms.relax.frontend import nn
from tvms.relax.frontend.nn.llm import position_embedding

DIM, THETA = 8, 100.0
Array = np.ndarray[Any, Any]


SCALINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "gptj": {"rope_type": "gptj"},
    "llama3": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64},
    "longrope": {"rope_type": "longrope", "max_position_embeddings": 256, "original_max_position_embeddings": 64},
    "yarn": {"rope_type": "yarn", "factor": 4.0, "beta_fast": 32, "beta_slow": 1, "original_max_position_embeddings": 256},
}  # fmt: skip


def frequencies(kind: str, factors: Array) -> tuple[Array, float]:
    """Return the angle of each dimension at position 1, and the factor of the result."""
    pair = np.arange(DIM) // 2 if kind == "gptj" else np.arange(DIM) % (DIM // 2)
    plain, scaling = THETA ** (-2.0 * pair / DIM), SCALINGS[kind]
    match kind:
        case "llama3":
            turns = scaling["original_max_position_embeddings"] * plain / (2 * np.pi)
            kept = np.clip((turns - 1.0) / 3.0, 0, 1)
            return plain * (kept + (1 - kept) / 8), 1.0
        case "longrope":
            return plain / factors[pair], np.sqrt(1 + np.log(4) / np.log(64))
        case "yarn":
            low, high = (DIM * np.log(256 / (turns * 2 * np.pi)) / (2 * np.log(THETA)) for turns in (32, 1))
            low, high = max(np.floor(low), 0), min(np.ceil(high), DIM - 1)
            ramp = np.clip((pair - low) / (high - low), 0, 1)
            return plain * (ramp / 4 + 1 - ramp), 1.0
        case _:
            return plain, 1.0


@pytest.mark.parametrize("kind", SCALINGS)
def test_rotations(kind: str, random: np.random.Generator) -> None:
    function = position_embedding.llama_rope_with_position_map(THETA, 1.0, DIM, 2, 1, "float32", SCALINGS[kind])
    qkv, factors = random.standard_normal((3, 4, DIM)).astype(np.float32), np.linspace(1, 2, DIM // 2, dtype=np.float32)
    q, k, v = (np.zeros((3, heads, DIM), np.float32) for heads in (2, 1, 1))
    at = np.array([0, 5, 61], np.int32)
    tvms.compile(function)(qkv, at, q, k, v, factors if kind == "longrope" else 1)
    per_position, factor = frequencies(kind, factors)
    angle = at[:, None, None] * per_position
    if kind == "gptj":
        turned = np.stack([-qkv[..., 1::2], qkv[..., ::2]], -1).reshape(qkv.shape)
    else:
        turned = np.concatenate([-qkv[..., DIM // 2 :], qkv[..., : DIM // 2]], -1)
    rotated = factor * (qkv * np.cos(angle) + turned * np.sin(angle))
    np.testing.assert_allclose(q, rotated[:, :2], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(k, rotated[:, 2:3], rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(v, qkv[:, 3:])


def rotate(x: Array) -> Array:
    """Rotate (1, 3, heads, dim) at the positions 6, 7 and 8."""
    angle = np.arange(6, 9)[:, None, None] * frequencies("default", x)[0]
    return x * np.cos(angle) + np.concatenate([-x[..., DIM // 2 :], x[..., : DIM // 2]], -1) * np.sin(angle)


def test_rotations_of_tensors(random: np.random.Generator) -> None:
    class Rotated(nn.Module):
        def forward(self, x: nn.Tensor, total: Any) -> Any:
            return position_embedding.llama_rope(x, total, THETA, 1.0, 2, 1, {})

    spec = {"forward": {"x": nn.spec.Tensor([1, "s", 4, DIM], "float32"), "total": int}}
    vm = relax.VirtualMachine(tvms.compile(Rotated().export_tvm(spec)[0]), tvms.cpu())
    qkv = random.standard_normal((1, 3, 4, DIM)).astype(np.float32)
    q, k, v = vm["forward"](qkv, (9,))
    np.testing.assert_allclose(q.numpy(), rotate(qkv[:, :, :2]), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(k.numpy(), rotate(qkv[:, :, 2:3]), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(v.numpy(), qkv[:, :, 3:])


def test_unknown_scalings_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^expected a rope_type among gptj, llama3, longrope, yarn, got 'other'$"):
        position_embedding.switch_rope_freq_func({"rope_type": "other"})
    with pytest.raises(ValueError, match=r"^rope_scaling of type 'yarn' needs 'original_max_position_embeddings'$"):
        position_embedding.switch_rope_freq_func({"rope_type": "yarn"})
