"""Rotary position embeddings (TVM: `relax.frontend.nn.llm.position_embedding`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from string import Template
from typing import Any

from ... import te, tir
from ..op import tensor_ir_op
from ..tensor import Tensor
from .texts import Rotation, kernel

Frequencies = tuple[tir.PrimExpr, tir.PrimExpr, dict[tir.Var, tir.PrimExpr]]
"""Cosine and sine of an angle, and the values of the variables in them; a value may use the variables after it."""


def _exponent(d: Any, d_range: int) -> tir.PrimExpr:
    """Return the exponent of theta for dimension `d`; the dimensions of both halves have equal ones."""
    return (d * 2 % d_range).astype("float32") / te.const(d_range, "float32")


def _rotation(angle: tir.PrimExpr, dtype: str, factor: float = 1.0) -> Frequencies:
    freq = tir.Var("float32", "freq")
    cos, sin = te.cos(freq), te.sin(freq)
    if factor != 1.0:
        cos, sin = cos * te.const(factor, "float32"), sin * te.const(factor, "float32")
    return cos.astype(dtype), sin.astype(dtype), {freq: angle}


def rope_freq_default(s: Any, d: Any, d_range: int, theta: Any, dtype: str) -> Frequencies:
    """Return cosine and sine of the angle `s / theta ** (2 d / d_range)`, of `dtype`.

    `s` is the scaled position, and `d` the dimension, one of `d_range`. The third result gives the values of variables in the others.
    """
    return _rotation(s / te.power(_number(theta), _exponent(d, d_range)), dtype)


rope_freq = rope_freq_default


def rope_freq_gptj(s: Any, d: Any, d_range: int, theta: Any, dtype: str) -> Frequencies:
    """Return cosine and sine for GPT-J, where dimensions `2 i` and `2 i + 1` have equal angles."""
    exponent = (d // 2 * 2 % d_range).astype("float32") / te.const(d_range, "float32")
    return _rotation(s / te.power(_number(theta), exponent), dtype)


def rope_freq_llama3(
    s: Any, d: Any, d_range: int, theta: Any, dtype: str, factor: float, low_freq_factor: float, high_freq_factor: float,
    original_max_position_embeddings: float,
) -> Frequencies:  # fmt: skip
    """Return cosine and sine for Llama 3, which divides low frequencies by `factor`, keeps high ones, and blends those in between."""
    original = tir.Var("float32", "orig_freq")
    smoothed = tir.Var("float32", "smoothed_freq")
    spread = high_freq_factor - low_freq_factor
    slope = original_max_position_embeddings / (2 * math.pi * spread)
    blend = te.maximum(0.0, te.minimum(1.0, original * slope - low_freq_factor / spread))
    value = s * ((1.0 - blend) * original * (1.0 / factor) + blend * original)
    inverse = te.const(1.0, "float32") / te.power(_number(theta), _exponent(d, d_range))
    return te.cos(smoothed).astype(dtype), te.sin(smoothed).astype(dtype), {smoothed: value, original: inverse}


def rope_freq_longrope(
    s: Any, d: Any, d_range: int, theta: Any, dtype: str, max_position_embeddings: int, original_max_position_embeddings: int,
    ext_factors: Any = None,
) -> Frequencies:  # fmt: skip
    """Return cosine and sine for LongRoPE: `ext_factors`, a buffer (d_range // 2,), divides frequencies, and the result is scaled."""
    extension = max_position_embeddings / original_max_position_embeddings
    factor = math.sqrt(1 + math.log(extension) / math.log(original_max_position_embeddings)) if extension > 1 else 1.0
    divisor = te.power(_number(theta), _exponent(d, d_range))
    if ext_factors is not None:
        divisor = ext_factors[d % (d_range // 2)] * divisor
    return _rotation(s / divisor, dtype, factor)


def rope_freq_yarn(
    s: Any, d: Any, d_range: int, theta: Any, dtype: str, original_max_position_embeddings: int, scaling_factor: float,
    beta_fast: int, beta_slow: int,
) -> Frequencies:  # fmt: skip
    """Return cosine and sine for YaRN: dimensions with fewer than `beta_slow` rotations over the original context are interpolated,
    those with more than `beta_fast` are kept, and those in between are blended.
    """
    kept = te.const(1.0, "float32") / te.power(_number(theta), _exponent(d, d_range))
    low, high = yarn_find_correction_range(beta_fast, beta_slow, d_range, theta, original_max_position_embeddings)
    pair = (d % (d_range // 2)).astype("float32")
    ramp = te.maximum(te.minimum((pair - low) / te.maximum(high - low, 0.001), 1.0), 0.0)
    return _rotation(s * (kept * (1.0 / scaling_factor) * ramp + kept * (1.0 - ramp)), dtype)


def yarn_find_correction_dim(num_rotations: int, d: int, theta: Any, max_position_embeddings: int) -> tir.PrimExpr:
    """Return the pair of dimensions, of `d` dimensions, that rotates that many times over the original context."""
    log = te.const(math.log(theta), "float32") if isinstance(theta, int | float) else te.log(theta)
    return te.const(d * math.log(max_position_embeddings / (num_rotations * 2 * math.pi)), "float32") / (log * 2.0)


def yarn_find_correction_range(
    low_rot: int, high_rot: int, d: int, theta: Any, max_position_embeddings: int
) -> tuple[tir.PrimExpr, tir.PrimExpr]:
    """Return the first and the last pair of dimensions whose frequencies are blended."""
    low = te.floor(yarn_find_correction_dim(low_rot, d, theta, max_position_embeddings))
    high = te.ceil(yarn_find_correction_dim(high_rot, d, theta, max_position_embeddings))
    return te.maximum(low, 0.0), te.minimum(high, d - 1.0)


_PARAMETERS: dict[str, tuple[Callable[..., Frequencies], dict[str, str]]] = {
    "gptj": (rope_freq_gptj, {}),
    "llama3": (
        rope_freq_llama3,
        {name: name for name in ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")},
    ),
    "longrope": (
        rope_freq_longrope,
        {name: name for name in ("max_position_embeddings", "original_max_position_embeddings")},
    ),
    "yarn": (
        rope_freq_yarn,
        {
            "original_max_position_embeddings": "original_max_position_embeddings", "scaling_factor": "factor",
            "beta_fast": "beta_fast", "beta_slow": "beta_slow",
        },
    ),
}  # fmt: skip
"""The function of each `rope_type`, and its parameters by the names of the keys of `rope_scaling` that give them."""


def switch_rope_freq_func(rope_scaling: Mapping[str, Any]) -> Callable[..., Frequencies]:
    """Return the function that computes the frequencies of `rope_scaling["rope_type"]`; `rope_freq_default` without that key.

    ValueError if the type is unknown, or if a key that it needs is missing.
    """
    if "rope_type" not in rope_scaling:
        return rope_freq_default
    kind = rope_scaling["rope_type"]
    if kind not in _PARAMETERS:
        raise ValueError(f"expected a rope_type among {', '.join(_PARAMETERS)}, got {kind!r}")
    function, keys = _PARAMETERS[kind]
    if missing := [key for key in keys.values() if key not in rope_scaling]:
        raise ValueError(f"rope_scaling of type '{kind}' needs '{missing[0]}'")
    return partial(function, **{name: rope_scaling[key] for name, key in keys.items()})


def _number(value: Any) -> Any:
    return te.const(float(value), "float32") if isinstance(value, int | float) else value


def rotation_of(
    rope_scaling: Mapping[str, Any], rotary_dim: int, theta: Any = None, scale: Any = None, ext_factors: Any = None
) -> Rotation:
    """Return the rotation of dimension `d` at `position` as texts; `rope_theta` and `rope_scale` are variables unless given."""
    position, d = tir.Var("int32", "position"), tir.Var("int32", "d")
    base = tir.Var("float32", "rope_theta") if theta is None else theta
    factor = tir.Var("float32", "rope_scale") if scale is None else te.const(float(scale), "float32")
    extra = {} if ext_factors is None else {"ext_factors": ext_factors}
    found = switch_rope_freq_func(rope_scaling)(
        position.astype("float32") * factor, d, rotary_dim, base, "float32", **extra
    )
    return Rotation.of(*found, rotary_dim, rope_scaling.get("rope_type") == "gptj")


_FUSED = Template("""\
T.prim_func(private=$private) $name($params):
    T.func_attr({"op_pattern": 8, "tir.noalias": True})
$sizes    qkv = T.match_buffer(var_qkv, ($lead$fused, $width), "$dtype")
    q = T.match_buffer(var_q, ($lead$q_heads, $width), "$dtype")
    k = T.match_buffer(var_k, ($lead$kv_heads, $width), "$dtype")
    v = T.match_buffer(var_v, ($lead$kv_heads, $width), "$dtype")
$map    for $loops, h0, d0 in T.grid($lead$fused, $width):
        with T.block("llama_fused_rope"):
            $axes, h, d = T.axis.remap("$kinds", [$loops, h0, d0])
$bindings            if h < $q_heads:
                q[$axes, h, d] = T.if_then_else($condition, $rotated, qkv[$axes, h, d])
            elif h < $q_heads + $kv_heads:
                k[$axes, h - $q_heads, d] = T.if_then_else($condition, $rotated, qkv[$axes, h, d])
            else:
                v[$axes, h - ($q_heads + $kv_heads), d] = qkv[$axes, h, d]
""")
"""Rotates the heads of q and k, the first of `qkv`, and copies all to three buffers."""


def _rotated(rotation: Rotation, axes: str, position: str, dtype: str) -> dict[str, str]:
    value = rotation.value(lambda at: f'T.Cast("float32", qkv[{axes}, h, {at}])')
    return {"bindings": rotation.bindings(position, " " * 12), "rotated": f'T.Cast("{dtype}", {value})'}


def llama_rope(
    qkv: Tensor,
    total_seq_len: Any,
    theta: float,
    scale: float,
    num_q_heads: int,
    num_kv_heads: int,
    rope_scaling: Mapping[str, Any],
    rotary_dim: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return q, k and v of a fused tensor (batch, length, num_q_heads + 2 num_kv_heads, head_dim); q and k are rotated.

    The last position is `total_seq_len - 1`. Rotated are the first `rotary_dim` dimensions, by default all; `theta` is the base of
    the frequencies, and `scale` multiplies positions.
    """
    batch, length, heads, width = qkv.shape
    if heads != num_q_heads + 2 * num_kv_heads:
        raise ValueError(f"expected {num_q_heads + 2 * num_kv_heads} heads in qkv, got {heads}")
    rotary, dtype = rotary_dim or width, qkv.dtype
    rotation = rotation_of(rope_scaling, rotary, theta, scale)
    text = _FUSED.substitute(
        private=True, name="fused_rope", fused=heads, width=width, dtype=dtype, q_heads=num_q_heads, kv_heads=num_kv_heads,
        params="var_qkv: T.handle, var_q: T.handle, var_k: T.handle, var_v: T.handle, total_seq_len: T.int64",
        sizes="    batch_size = T.int64()\n    seq_len = T.int64()\n", lead="batch_size, seq_len, ", map="", loops="b0, s0",
        axes="b, s", kinds="SSSS", condition=f"d < {rotary}",
        **_rotated(rotation, "b, s", 'T.Cast("int32", s + total_seq_len - seq_len)', dtype),
    )  # fmt: skip
    shapes = [(batch, length, heads, width) for heads in (num_q_heads, num_kv_heads, num_kv_heads)]
    out = tuple(Tensor.placeholder(shape, dtype) for shape in shapes)
    return tensor_ir_op(kernel(text), "llama_rope", [qkv, total_seq_len], out)


def llama_rope_with_position_map(
    theta: float,
    scale: float,
    head_dim: int,
    num_q_heads: int,
    num_kv_heads: int,
    dtype: str,
    rope_scaling: Mapping[str, Any],
    rotary_dim: int | None = None,
) -> tir.PrimFunc:
    """Return the function `(qkv, position_map, q, k, v, apply_rope)` that splits qkv and rotates q and k.

    `qkv` is (length, num_q_heads + 2 num_kv_heads, head_dim), `position_map` int32 (length,); with `apply_rope == 0` nothing is rotated.
    With LongRoPE, the last parameter is the float32 array of the factors, (rotary_dim // 2,), instead.
    """
    rotary = rotary_dim or head_dim
    is_long = rope_scaling.get("rope_type") == "longrope"
    factors = te.placeholder((rotary // 2,), "float32", "ext_factors") if is_long else None
    rotation = rotation_of(rope_scaling, rotary, theta, scale, factors)
    last = f'ext_factors: T.Buffer(({rotary // 2},), "float32")' if is_long else "apply_rope: T.int32"
    text = _FUSED.substitute(
        private=False, name="fused_rope_longrope_scaling" if is_long else "fused_rope", fused=num_q_heads + 2 * num_kv_heads,
        width=head_dim, dtype=dtype, q_heads=num_q_heads, kv_heads=num_kv_heads,
        params=f"var_qkv: T.handle, var_position_map: T.handle, var_q: T.handle, var_k: T.handle, var_v: T.handle, {last}",
        sizes="    seq_len = T.int32()\n", lead="seq_len, ", loops="s0", axes="s", kinds="SSS",
        map='    position_map = T.match_buffer(var_position_map, (seq_len,), "int32")\n',
        condition=f"d < {rotary}" if is_long else f"apply_rope > 0 and d < {rotary}",
        **_rotated(rotation, "s", "position_map[s]", dtype),
    )  # fmt: skip
    return kernel(text)
