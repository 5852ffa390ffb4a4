"""Rows for attention as onnxruntime defines it (com.microsoft)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt
from typing import Any

from ....ir import relax, tir
from ....ir.api.relax import op
from ....ir.building.values import const
from ....ir.ops import dims as d
from ..values import dims_of, dtype_of, rank_of
from .converter import Converter
from .elementwise import number
from .products import product, sum_dtype
from .rows import Family
from .signatures import MICROSOFT, Signature

ROWS = Family()


def _attended(
    c: Converter,
    heads: tuple[relax.Expr, relax.Expr, relax.Expr],
    scale: float,
    biases: list[relax.Expr | None],
    softcap: float = 0.0,
) -> relax.Expr:
    """Return attention (batch, length, heads * size) of queries, keys and values (batch, heads, length, size)."""
    query, key, value = heads
    dtype = dtype_of(query)
    wide = sum_dtype(dtype) or dtype
    size = d.value_of(dims_of(query)[3])
    if not scale:
        if size is None:
            raise c.unsupported("the size of its heads is not known", "make it known")
        scale = 1 / sqrt(size)
    scores = op.matmul(query, op.permute_dims(key, [0, 1, 3, 2]), wide)
    scores = op.multiply(scores, const(scale, wide))
    if softcap:
        scores = op.multiply(op.tanh(op.divide(scores, const(softcap, wide))), const(softcap, wide))
    for bias in biases:
        scores = scores if bias is None else op.add(scores, c.cast(bias, wide))
    weights = c.cast(op.nn.softmax(scores, 3), dtype)
    made = op.permute_dims(product(c, weights, value), [0, 2, 1, 3])
    batch, length, count, width = dims_of(c.emit(made, "_heads"))
    return op.reshape(made, c.shape((batch, length, d.multiply(count, width))))


def _split_heads(c: Converter, x: relax.Expr, count: int) -> relax.Expr:
    """Return (batch, length, heads * size) as (batch, heads, length, size)."""
    batch, length, width = dims_of(x)
    return op.permute_dims(op.reshape(x, c.shape((batch, length, count, d.floordiv(width, count)))), [0, 2, 1, 3])


def _after(c: Converter, past: relax.Expr | None, x: relax.Expr) -> relax.Expr:
    return x if past is None else c.emit(op.concat([past, x], 2), "_present")


def _causal(c: Converter, queries: tir.PrimExpr, keys: tir.PrimExpr, value: float) -> relax.Expr:
    """Return the bias (queries, keys) of the last queries, none of which attends to later keys."""
    start = d.subtract(keys, queries)
    rows = op.add(op.arange(0, queries, 1, "int64"), c.full(start, "int64"))
    is_later = op.greater(op.expand_dims(op.arange(0, keys, 1, "int64"), [0]), op.expand_dims(rows, [1]))
    return op.where(is_later, const(value, "float32"), const(0.0, "float32"))


def _masked(
    c: Converter, mask: relax.Expr | None, keys: tir.PrimExpr, batch: tir.PrimExpr, value: float
) -> relax.Expr | None:
    """Return the bias of a mask: ones for (batch, keys), (batch, queries, keys) or (batch, 1, queries, keys), or the ends of the
    sequences, which their starts may follow.
    """
    if mask is None:
        return None
    rank = rank_of(mask)
    if rank == 1:
        places = op.expand_dims(op.arange(0, keys, 1, "int64"), [0])
        is_pair = not d.is_equal(dims_of(mask)[0], batch)
        parts = op.reshape(c.cast(mask, "int64"), c.shape((2 if is_pair else 1, batch, 1)))
        ends = op.squeeze(op.strided_slice(parts, [0], [0], [1]), [0])
        kept = op.less(places, ends)
        if is_pair:
            starts = op.squeeze(op.strided_slice(parts, [0], [1], [2]), [0])
            kept = op.logical_and(kept, op.greater_equal(places, starts))
    else:
        kept = c.cast(mask, "bool")
    kept = op.reshape(kept, c.shape(_around(dims_of(c.emit(kept, "_kept")))))
    return op.where(kept, const(0.0, "float32"), const(value, "float32"))


def _around(dims: tuple[tir.PrimExpr, ...]) -> list[Any]:
    """Return the dimensions of a mask with those of the heads and of the queries."""
    return {2: [dims[0], 1, 1, dims[-1]], 3: [dims[0], 1, *dims[1:]]}.get(len(dims), list(dims))


SELF_ATTENTION: dict[str, Any] = {
    "num_heads": 0, "unidirectional": 0, "scale": 0.0, "mask_filter_value": -10000.0, "do_rotary": 0, "past_present_share_buffer": 0,
}  # fmt: skip
"""The attributes of self-attention with their defaults."""


@ROWS.row(
    "Attention",
    domain=MICROSOFT,
    signature=Signature(
        ("input", "weights", "bias", "mask_index", "past", "attention_bias", "past_sequence_length"),
        {**SELF_ATTENTION, "qkv_hidden_sizes": None, "rotary_embedding_dim": 0},
    ),
)
def _attention(c: Converter, a: Any) -> list[relax.Expr]:
    return self_attention(c, a, product(c, a.input, a.weights), a.qkv_hidden_sizes, [a.attention_bias])


def self_attention(
    c: Converter,
    a: Any,
    projected: relax.Expr,
    sizes: list[int] | None = None,
    biases: Sequence[relax.Expr | None] = (),
) -> list[relax.Expr]:
    """Attend to queries, keys and values that one matrix projected, of the given sizes; `past` (2, batch, heads, length, size)
    precedes. Return the result, and the keys and values if the node has this output.
    """
    if a.do_rotary or a.past_present_share_buffer:
        raise c.unsupported("it rotates, or shares buffers of past and present", "export it without")
    width = d.value_of(dims_of(projected)[2])
    sizes = sizes or ([width // 3] * 3 if width is not None else None)
    if sizes is None or a.num_heads < 1:
        raise c.unsupported("its number of heads or its width is not known", "make them known")
    projected = c.emit(projected if a.bias is None else op.add(projected, a.bias), "_projected")
    parts = [
        c.emit(op.strided_slice(projected, [2], [sum(sizes[:place])], [sum(sizes[: place + 1])]), "_part")
        for place in range(3)
    ]
    query, key, value = (_split_heads(c, part, a.num_heads) for part in parts)
    past = [None, None]
    if a.past is not None:
        past = [op.squeeze(op.strided_slice(a.past, [0], [place], [place + 1]), [0]) for place in range(2)]
    key, value = (c.emit(_after(c, old, x)) for old, x in zip(past, (key, value), strict=True))
    (batch, _, length, _), keys = dims_of(c.emit(query, "_query")), dims_of(key)[2]
    biases = [_masked(c, a.mask_index, keys, batch, a.mask_filter_value), *biases]
    if a.unidirectional:
        biases.append(_causal(c, length, keys, a.mask_filter_value))
    made = _attended(c, (query, key, value), a.scale, biases)
    return [made, op.stack([key, value], 0)] if any(c.node.output[1:2]) else [made]


@ROWS.row(
    "MultiHeadAttention",
    domain=MICROSOFT,
    signature=Signature(
        ("query", "key", "value", "bias", "key_padding_mask", "attention_bias", "past_key", "past_value", "past_sequence_length",
         "cache_indirection"),
        {"num_heads": 0, "mask_filter_value": -10000.0, "scale": 0.0, "unidirectional": 0},
    ),
)  # fmt: skip
def _multi_head_attention(c: Converter, a: Any) -> list[relax.Expr]:
    """Attend; queries, keys and values may be packed in one tensor, or keys and values already be split into heads."""
    if a.past_sequence_length is not None or a.cache_indirection is not None or a.num_heads < 1:
        raise c.unsupported("it shares buffers, or has no heads", "export it without past_sequence_length")
    parts = _packed_parts(c, a)
    if a.bias is not None:
        ends = [0]
        for part in parts:
            ends.append(ends[-1] + (d.value_of(_width(part)) or 0))
        biases = [op.strided_slice(a.bias, [0], [first], [last]) for first, last in pairwise(ends)]
        parts = [part if rank_of(part) == 4 else op.add(part, bias) for part, bias in zip(parts, biases, strict=True)]
    query, key, value = (c.emit(x if rank_of(x) == 4 else _split_heads(c, x, a.num_heads)) for x in parts)
    key, value = (c.emit(_after(c, old, x)) for old, x in ((a.past_key, key), (a.past_value, value)))
    (batch, _, length, _), keys = dims_of(query), dims_of(key)[2]
    biases = [_masked(c, a.key_padding_mask, keys, batch, a.mask_filter_value), a.attention_bias]
    if a.unidirectional:
        biases.append(_causal(c, length, keys, a.mask_filter_value))
    return [_attended(c, (query, key, value), a.scale, biases), key, value]


def _width(x: relax.Expr) -> tir.PrimExpr:
    dims = dims_of(x)
    return dims[2] if len(dims) == 3 else d.multiply(dims[1], dims[3])


def _packed_parts(c: Converter, a: Any) -> list[relax.Expr]:
    """Return queries, keys and values (batch, length, heads * size), or keys and values (batch, heads, length, size)."""

    def unpacked(x: relax.Expr, count: int) -> list[relax.Expr]:
        batch, length, heads, _, size = dims_of(x)
        found = [op.strided_slice(x, [3], [place], [place + 1]) for place in range(count)]
        return [c.emit(op.reshape(part, c.shape((batch, length, d.multiply(heads, size))))) for part in found]

    if a.key is None:
        return unpacked(a.query, 3)
    return [a.query, *(unpacked(a.key, 2) if a.value is None else [a.key, a.value])]


# --- Rotary embedding -------------------------------------------------------------------------------------------


def _rotated(
    c: Converter,
    x: relax.Expr,
    angles: tuple[relax.Expr, relax.Expr],
    places: relax.Expr,
    is_interleaved: bool,
    width: int,
) -> relax.Expr:
    """Rotate pairs of elements of (batch, heads, length, size) by the angles, of which caches hold cosines and sines, at places."""
    size = d.value_of(dims_of(x)[3])
    if size is None:
        raise c.unsupported("the size of its heads is not known", "make it known")
    width = width or size
    cosine, sine = (c.emit(op.expand_dims(op.take(table, places, 0), [1])) for table in angles)
    half = d.value_of(dims_of(cosine)[3]) or width // 2
    if 2 * half != width:
        raise ValueError(f"its caches have {half} angles, but rotate {width} elements")
    x = c.emit(x, "_plain")
    turned = x if width == size else op.strided_slice(x, [3], [0], [width])
    if is_interleaved:
        pairs = op.reshape(turned, c.shape((*dims_of(x)[:3], half, 2)))
        first, second = (op.squeeze(op.strided_slice(pairs, [4], [place], [place + 1]), [4]) for place in range(2))
    else:
        first, second = (op.strided_slice(turned, [3], [place * half], [(place + 1) * half]) for place in range(2))
    first, second = c.emit(first, "_first"), c.emit(second, "_second")
    real = op.subtract(op.multiply(cosine, first), op.multiply(sine, second))
    other = op.add(op.multiply(sine, first), op.multiply(cosine, second))
    if is_interleaved:
        made = op.reshape(op.stack([real, other], 4), c.shape((*dims_of(x)[:3], width)))
    else:
        made = op.concat([real, other], 3)
    return made if width == size else op.concat([made, op.strided_slice(x, [3], [width], [size])], 3)


@ROWS.row(
    "RotaryEmbedding",
    domain=MICROSOFT,
    signature=Signature(
        ("input", "position_ids", "cos_cache", "sin_cache"),
        {"interleaved": 0, "num_heads": 0, "rotary_embedding_dim": 0, "scale": 1.0, "is_packed_batching": 0},
    ),
)
def _rotary(c: Converter, a: Any) -> relax.Expr:
    """Rotate (batch, heads, length, size) or (batch, length, heads * size); one position is that of the first element."""
    is_split = rank_of(a.input) == 4
    width = d.value_of(dims_of(a.cos_cache)[1])
    heads = a.num_heads
    if not is_split and not heads:
        whole = d.value_of(dims_of(a.input)[2])
        if whole is None or not width:
            raise c.unsupported("the size of its heads is not known", "make it known")
        heads = whole // (2 * width)
    x = a.input if is_split else _split_heads(c, a.input, heads)
    places = a.position_ids
    if rank_of(places) == 1:
        length = dims_of(c.emit(x, "_heads"))[2]
        places = op.add(op.expand_dims(op.arange(0, length, 1, "int64"), [0]), op.reshape(places, c.shape((-1, 1))))
    made = _rotated(c, x, (a.cos_cache, a.sin_cache), places, bool(a.interleaved), a.rotary_embedding_dim)
    if is_split:
        return made
    return op.reshape(op.permute_dims(made, [0, 2, 1, 3]), c.shape(dims_of(a.input)))


# --- Attention over groups of heads, with a cache ---------------------------------------------------------------


@ROWS.row(
    "GroupQueryAttention",
    domain=MICROSOFT,
    signature=Signature(
        ("query", "key", "value", "past_key", "past_value", "seqlens_k", "total_sequence_length", "cos_cache", "sin_cache",
         "position_ids", "attention_bias", "head_sink"),
        {"num_heads": 0, "kv_num_heads": 0, "scale": 0.0, "softcap": 0.0, "local_window_size": -1, "do_rotary": 0,
         "rotary_interleaved": 0, "smooth_softmax": 0, "qk_output": 0, "k_quant_type": "NONE", "v_quant_type": "NONE",
         "kv_cache_bit_width": 0},
    ),
)  # fmt: skip
def _group_query_attention(c: Converter, a: Any) -> list[relax.Expr]:
    """Write new keys and values behind those of the cache, and attend to all earlier ones, or to those in a window."""
    if a.head_sink is not None or a.smooth_softmax == 1 or a.qk_output or a.kv_cache_bit_width:
        raise c.unsupported("it has sinks, or a quantized cache", "export it without")
    heads, groups = a.num_heads, a.kv_num_heads
    if heads < 1 or groups < 1 or heads % groups:
        raise ValueError(f"it has {heads} heads and {groups} heads of keys")
    query, key, value = (c.emit(part) for part in _heads_of_groups(c, a, heads, groups))
    batch, _, length, _ = dims_of(query)
    total = d.as_dim(c.sizes(a.total_sequence_length)[0])
    ends = op.add(c.cast(op.reshape(a.seqlens_k, c.shape((batch,))), "int64"), const(1, "int64"))
    is_first = op.equal(c.full(total, "int64"), c.full(length, "int64"))
    start = op.where(is_first, const(0, "int64"), op.subtract(ends, c.full(length, "int64")))
    start = c.emit(op.expand_dims(start, [1]), "_start")
    places = c.emit(op.add(op.expand_dims(op.arange(0, length, 1, "int64"), [0]), start), "_places")
    if a.do_rotary:
        tables, at = (a.cos_cache, a.sin_cache), places if a.position_ids is None else a.position_ids
        query, key = (c.emit(_rotated(c, x, tables, at, bool(a.rotary_interleaved), 0)) for x in (query, key))
    keys, values = (_cached(c, *pair, start, total) for pair in ((a.past_key, key), (a.past_value, value)))
    bias = _window(c, places, dims_of(keys)[2], a.local_window_size)
    repeated = [x if heads == groups else op.repeat(x, heads // groups, 1) for x in (keys, values)]
    made = _attended(c, (query, repeated[0], repeated[1]), a.scale, [bias, a.attention_bias], a.softcap)
    return [made, keys, values]


def _heads_of_groups(c: Converter, a: Any, heads: int, groups: int) -> list[relax.Expr]:
    """Return queries, keys and values as heads; they may be packed in the queries."""
    if a.key is not None:
        return [_split_heads(c, x, count) for x, count in ((a.query, heads), (a.key, groups), (a.value, groups))]
    width = d.value_of(dims_of(a.query)[2])
    if width is None:
        raise c.unsupported("the size of its heads is not known", "make it known")
    size = width // (heads + 2 * groups)
    ends = [0, heads * size, (heads + groups) * size, (heads + 2 * groups) * size]
    parts = [op.strided_slice(a.query, [2], [ends[place]], [ends[place + 1]]) for place in range(3)]
    return [_split_heads(c, c.emit(x), count) for x, count in zip(parts, (heads, groups, groups), strict=True)]


def _cached(
    c: Converter, past: relax.Expr | None, new: relax.Expr, start: relax.Expr, total: tir.PrimExpr
) -> relax.Expr:
    """Return the cache (batch, heads, length, size) with the new elements from `start` (batch, 1) on, at least `total` long."""
    batch, heads, count, size = dims_of(new)
    old = d.dim(0) if past is None else dims_of(past)[2]
    known = d.value_of(old), d.value_of(total)
    length = total if known[0] == 0 else d.maximum(old, total)
    places = op.arange(0, length, 1, "int64")
    offset = c.emit(op.subtract(op.expand_dims(places, [0]), start), "_offset")
    zero = const(0, "int64")
    is_new = op.logical_and(op.greater_equal(offset, zero), op.less(offset, c.full(count, "int64")))
    is_new = op.reshape(is_new, c.shape((batch, 1, length, 1)))
    bounded = op.maximum(op.minimum(offset, c.full(d.subtract(count, 1), "int64")), zero)
    rows = op.permute_dims(new, [0, 2, 1, 3])
    written = op.permute_dims(op.gather_nd(rows, op.expand_dims(bounded, [-1]), batch_dims=1), [0, 2, 1, 3])
    kept: relax.Expr = op.zeros(c.shape((batch, heads, length, size)), dtype_of(new))
    if past is not None and known[0] != 0:
        last = op.minimum(places, c.full(d.subtract(old, 1), "int64"))
        is_old = op.reshape(op.less(offset, zero), c.shape((batch, 1, length, 1)))
        kept = op.where(is_old, op.take(past, last, 2), number(0, new))
    return c.emit(op.where(is_new, written, kept), "_cache")


def _window(c: Converter, places: relax.Expr, keys: tir.PrimExpr, size: int) -> relax.Expr:
    """Return the bias (batch, 1, queries, keys) of queries at `places`, which attend to the last `size` keys, or to all earlier ones."""
    queries = op.expand_dims(op.expand_dims(places, [1]), [3])
    distance = c.emit(op.subtract(queries, op.arange(0, keys, 1, "int64")), "_distance")
    is_seen = op.greater_equal(distance, const(0, "int64"))
    if size > 0:
        is_seen = op.logical_and(is_seen, op.less(distance, const(size, "int64")))
    return op.where(is_seen, const(0.0, "float32"), const(float("-inf"), "float32"))
