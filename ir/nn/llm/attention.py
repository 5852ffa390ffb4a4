"""Loop functions that attend to keys and values of a batch of sequences, in pages of a cache or in rows of a tensor.

Each sequence and head of keys is independent. Its keys and values are gathered to float32 first, keys rotated if asked for; then
each query has its scores, their exponentials, and their sum of values. Scores are scaled by log2(e), and exponentials are powers of 2;
`lse` is the logarithm to base 2 of the sum of the exponentials, by which `merge_state` combines results.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from ... import tir
from .attention_texts import CPU, GPU, THREADS
from .position_embedding import rotation_of
from .texts import kernel

LAYER_WINDOW = 1024
"""The default number of positions that layers with a sliding window attend to."""


def is_gpu(target: Any) -> bool:
    """Return whether a target, or its text, is a GPU."""
    known = getattr(target, "is_device", None)
    return str(target).split()[0] not in ("llvm", "c") if known is None else bool(known)


class Heads(NamedTuple):
    """Numbers of heads and dimensions of an attention."""

    kv: int
    q: int
    qk_dim: int
    v_dim: int
    dtype: str
    rope_scaling: Mapping[str, Any]
    on_gpu: bool = False


class _Source(NamedTuple):
    """Where keys and values are: texts of parameters, declarations, bindings of `kv_len`, and of the place of row `k`."""

    params: str
    buffers: str
    rows: str
    """The largest number of rows of a sequence."""
    length: str
    place: tuple[str, ...]
    """Statements that bind the variables in `key` and `value`, for row `k`."""
    key: str
    """The element of the key whose index replaces the braces."""
    value: str
    position: str
    """The position of row `k` for its rotation."""
    reads: str


class _Queries(NamedTuple):
    """Which queries a sequence has: the same parts for queries."""

    params: str
    buffers: str
    rows: str
    first: str
    """The row of the first query of sequence `b`."""
    number: str
    reads: str


def paged_source(heads: Heads, page_size: Any, is_sliding: bool) -> _Source:
    """Return keys and values in `pages`, (pages, 2, kv heads, page_size, dim), whose numbers `page_values` lists by sequence."""
    size, declared = (page_size, "") if isinstance(page_size, int) else ("page_size", "    page_size = T.int32()\n")
    count = f"(page_indptr[b + 1] - page_indptr[b] - 1) * {size}"
    info, slot = ("3, entries - 1", "k") if is_sliding else ("entries - 1,", "k")
    length = f"{count} + length_info[b]"
    if is_sliding:
        length = f"{count} + length_info[0, b] - length_info[1, b] + length_info[2, b]"
        slot = "T.if_then_else(k < length_info[2, b], k, k - length_info[2, b] + length_info[1, b])"
    buffers = f"""\
    max_num_pages = T.int32()
    nnz_pages = T.int32()
{declared}    pages = T.match_buffer(var_pages, (max_num_pages, 2, {heads.kv}, {size}, {heads.qk_dim}), "{heads.dtype}")
    page_indptr = T.match_buffer(var_page_indptr, (entries,), "int32")
    page_values = T.match_buffer(var_page_values, (nnz_pages,), "int32")
    length_info = T.match_buffer(var_length_info, ({info}), "int32")
    k_rope_pos_offset = T.match_buffer(var_k_rope_pos_offset, (entries - 1,), "int32")
"""
    place = (f"slot: T.int32 = {slot}", f"page: T.int32 = page_values[page_indptr[b] + slot // {size}]")
    whole = "0:3, b" if is_sliding else "b"
    return _Source(
        "var_pages: T.handle, var_page_indptr: T.handle, var_page_values: T.handle, var_length_info: T.handle, "
        "var_k_rope_pos_offset: T.handle",
        buffers, f"max_num_pages * {size}",
        f"T.if_then_else(page_indptr[b] < page_indptr[b + 1], {length}, 0)", place,
        f"pages[page, 0, h, slot % {size}, {{}}]", f"pages[page, 1, h, slot % {size}, {{}}]", "k_rope_pos_offset[b] + k",
        f"pages[0:max_num_pages, 0:2, h, 0:{size}, 0:{heads.qk_dim}], page_indptr[b:b + 2], page_values[0:nnz_pages], "
        f"length_info[{whole}], k_rope_pos_offset[b]",
    )  # fmt: skip


def ragged_source(heads: Heads, position: str) -> _Source:
    """Return keys and values in rows of tensors (rows, kv heads, dim); sequence `b` has the rows from `kv_indptr[b]` on."""
    offset = "k_rope_pos_offset" in position
    buffers = f"""\
    kv_rows = T.int32()
    key_data = T.match_buffer(var_k, (kv_rows, {heads.kv}, {heads.qk_dim}), "{heads.dtype}")
    value_data = T.match_buffer(var_v, (kv_rows, {heads.kv}, {heads.v_dim}), "{heads.dtype}")
    kv_indptr = T.match_buffer(var_kv_indptr, (entries,), "int32")
"""
    if offset:
        buffers += '    k_rope_pos_offset = T.match_buffer(var_k_rope_pos_offset, (entries - 1,), "int32")\n'
    return _Source(
        "var_k: T.handle, var_v: T.handle, var_kv_indptr: T.handle", buffers, "kv_rows", "kv_indptr[b + 1] - kv_indptr[b]",
        ("at: T.int32 = kv_indptr[b] + k",), "key_data[at, h, {}]", "value_data[at, h, {}]", position,
        f"key_data[0:kv_rows, h, 0:{heads.qk_dim}], value_data[0:kv_rows, h, 0:{heads.v_dim}], kv_indptr[b:b + 2]"
        + (", k_rope_pos_offset[b]" if offset else ""),
    )  # fmt: skip


def _queries(heads: Heads, is_decode: bool) -> _Queries:
    """Return the queries: one for each sequence, or those from row `q_indptr[b]` on."""
    rows = "entries - 1" if is_decode else "total_len"
    shared = f"""\
    q = T.match_buffer(var_q, ({rows}, {heads.q}, {heads.qk_dim}), "{heads.dtype}")
    q_rope_position = T.match_buffer(var_q_rope_position, ({rows},), "int32")
"""
    group = heads.q // heads.kv
    reads = f"q[0:{rows}, h * {group}:h * {group} + {group}, 0:{heads.qk_dim}], q_rope_position[0:{rows}]"
    if is_decode:
        return _Queries("var_q: T.handle", shared, rows, "b", "1", reads)
    indptr = '    total_len = T.int32()\n    q_indptr = T.match_buffer(var_q_indptr, (entries,), "int32")\n'
    return _Queries(
        "var_q: T.handle, var_q_indptr: T.handle", indptr + shared, rows, "q_indptr[b]",
        "q_indptr[b + 1] - q_indptr[b]", reads,
    )  # fmt: skip


class Mask(NamedTuple):
    """Which keys the query in row `row` of its sequence sees: those from `start` up to `stop` for which `condition` holds."""

    start: str = "0"
    stop: str = "kv_len"
    condition: str = ""
    params: tuple[str, ...] = ()
    """Parameters before and after the scalars."""
    buffers: str = ""
    reads: str = ""


_LAST = "kv_len - q_len + row + 1"
CAUSAL = Mask(stop=f"T.if_then_else(causal > 0, {_LAST}, kv_len)")


def windowed(size: int) -> Mask:
    """Return the causal mask that, with `causal == 2`, ends `size` positions before the query."""
    return CAUSAL._replace(start=f"T.if_then_else(causal == 2, T.max({_LAST} - {size}, 0), 0)")


def tree_mask(indptr: str, order: str) -> Mask:
    """Return the mask of a tree, the last positions of its sequence: a node sees its ancestors, and all positions before the tree.

    `order` gives each node the number of nodes entered before it, and before it or any of its descendants.
    """
    buffers = f"""\
    tree_rows = T.int32()
    tree_indptr = T.match_buffer({indptr}, (entries,), "int32")
    tree_order = T.match_buffer({order}, (tree_rows, 2), "int32")
"""
    nodes = "(tree_indptr[b + 1] - tree_indptr[b])"
    node, other = "tree_indptr[b + 1] - q_len + row", f"tree_indptr[b] + k - kv_len + {nodes}"
    condition = (
        f"T.if_then_else(k < kv_len - {nodes}, T.bool(True), tree_order[{node}, 0] >= tree_order[{other}, 0] "
        f"and tree_order[{node}, 0] < tree_order[{other}, 1])"
    )
    return Mask("0", "kv_len", condition, (), buffers, ", tree_indptr[b:b + 2], tree_order[0:tree_rows, 0:2]")


def attention(
    name: str, heads: Heads, params: str, source: _Source, mask: Mask, is_decode: bool = False
) -> tir.PrimFunc:
    """Return the function `name` with these parameters."""
    queries = _queries(heads, is_decode)
    rotation, group = rotation_of(heads.rope_scaling, heads.qk_dim), heads.q // heads.kv

    def key(at: str) -> str:
        return f'T.Cast("float32", {source.key.format(at)})'

    def query(at: str) -> str:
        return f'T.Cast("float32", q[first + row, h * {group} + g, {at}])'

    lanes, v_lanes = math.gcd(heads.qk_dim, 16), math.gcd(heads.v_dim, 16)
    form = GPU if heads.on_gpu else CPU
    score = f"{form.product} * sm_scale * T.float32(1.4426950408889634)"
    text = form.text.substitute(
        threads=THREADS,
        name=name, params=params,
        buffers=queries.buffers + source.buffers + mask.buffers, q_rows=queries.rows, q_heads=heads.q, kv_heads=heads.kv,
        qk_dim=heads.qk_dim, v_dim=heads.v_dim, dtype=heads.dtype, group=group, kv_length=source.length, first=queries.first,
        q_count=queries.number, rows=source.rows, lanes=lanes, v_lanes=v_lanes, qk_parts=heads.qk_dim // lanes,
        v_parts=heads.v_dim // v_lanes, place="".join(f"{form.place}{line}\n" for line in source.place), key_bindings=rotation.bindings(source.position, form.key),
        rotated_key=rotation.value(key), key=key("d"), value=f'T.Cast("float32", {source.value.format("d")})',
        visible=mask.stop, start=mask.start, query_bindings=rotation.bindings("q_rope_position[first + row]", form.query),
        rotated_query=rotation.value(query), query=query("d"),
        score=f"T.if_then_else({mask.condition}, {score}, T.float32(-50000))" if mask.condition else score,
        reads=f"{queries.reads}, {source.reads}{mask.reads}{'' if is_decode else ', q_indptr[b:b + 2]'}",
    )  # fmt: skip
    return kernel(text)


_SCALARS = "rotary_mode: T.int32, rope_scale: T.float32, rope_theta: T.float32, sm_scale: T.float32"
_RESULTS = "var_output: T.handle, var_lse: T.handle"


def prefill(
    h_kv: int, h_q: int, d: int, dtype: str, sliding_window: bool, rope_scaling: Mapping[str, Any], page_size: Any = 16,
    sliding_window_size: int = LAYER_WINDOW, on_gpu: bool = False,
) -> tir.PrimFunc:  # fmt: skip
    """Return the function that attends with several queries per sequence to keys and values in pages.

    Its parameters are q (n, h_q, d), q_indptr (b + 1,), pages (p, 2, h_kv, page_size, d), page_indptr (b + 1,), page_values,
    length_info, k_rope_pos_offset (b,), q_rope_position (n,), output (n, h_q, d), lse (n, h_q) float32, causal, rotary_mode,
    rope_scale, rope_theta and sm_scale; integers are int32. `length_info` (b,) is the number of positions in the last page; with
    `sliding_window` it is (3, b), with the first position of the window in the pages and the number of positions before it that stay.
    With `causal == 2`, queries see the last `sliding_window_size` positions only.
    """
    heads = Heads(h_kv, h_q, d, d, dtype, rope_scaling, on_gpu)
    source = paged_source(heads, page_size, sliding_window)
    params = (
        f"var_q: T.handle, var_q_indptr: T.handle, {source.params}, var_q_rope_position: T.handle, {_RESULTS}, causal: T.int32, "
        + _SCALARS
    )
    mask = windowed(sliding_window_size) if sliding_window else CAUSAL
    return attention("batch_prefill_paged_kv" + "_sliding_window" * sliding_window, heads, params, source, mask)


def decode(
    num_kv_heads: int, num_qo_heads: int, head_dim: int, qkv_dtype: str, sliding_window: bool,
    rope_scaling: Mapping[str, Any], page_size: Any = 16, on_gpu: bool = False,
) -> tir.PrimFunc:  # fmt: skip
    """Return the function that attends with one query per sequence; its parameters are those of `prefill` but q_indptr and causal."""
    heads = Heads(num_kv_heads, num_qo_heads, head_dim, head_dim, qkv_dtype, rope_scaling, on_gpu)
    source = paged_source(heads, page_size, sliding_window)
    params = f"var_q: T.handle, {source.params}, var_q_rope_position: T.handle, {_RESULTS}, {_SCALARS}"
    name = "batch_decode_paged_kv" + "_sliding_window" * sliding_window
    return attention(name, heads, params, source, Mask(), is_decode=True)


def ragged(
    h_kv: int, h_q: int, d_qk: int, d_v: int, dtype: str, rope_scaling: Mapping[str, Any], on_gpu: bool = False
) -> tir.PrimFunc:
    """Return the function that attends to keys and values in rows of tensors.

    Its parameters are q (n, h_q, d_qk), q_indptr (b + 1,), k (m, h_kv, d_qk), v (m, h_kv, d_v), kv_indptr (b + 1,),
    q_rope_position (n,), k_rope_pos_offset (b,), output (n, h_q, d_v), lse (n, h_q) and the scalars of `prefill`.
    """
    heads = Heads(h_kv, h_q, d_qk, d_v, dtype, rope_scaling, on_gpu)
    source = ragged_source(heads, "k_rope_pos_offset[b] + k")
    params = (
        f"var_q: T.handle, var_q_indptr: T.handle, {source.params}, var_q_rope_position: T.handle, "
        f"var_k_rope_pos_offset: T.handle, {_RESULTS}, causal: T.int32, {_SCALARS}"
    )
    return attention("batch_prefill_ragged_kv", heads, params, source, CAUSAL)


def tree(
    h_kv: int, h_q: int, d: int, dtype: str, rope_scaling: Mapping[str, Any], on_gpu: bool = False
) -> tir.PrimFunc:
    """Return the function that attends within trees of tokens.

    Its parameters are those of `ragged` with tree_indptr (b + 1,) and tree_order (t, 2) in place of k_rope_pos_offset, and without causal.
    """
    heads = Heads(h_kv, h_q, d, d, dtype, rope_scaling, on_gpu)
    source = ragged_source(heads, "q_rope_position[at]")
    params = (
        f"var_q: T.handle, var_q_indptr: T.handle, {source.params}, var_q_rope_position: T.handle, var_mn_indptr: T.handle, "
        f"var_mask: T.handle, {_RESULTS}, {_SCALARS}"
    )
    return attention("batch_tree_attn", heads, params, source, tree_mask("var_mn_indptr", "var_mask"))


def paged_tree(
    h_kv: int, h_q: int, d: int, dtype: str, rope_scaling: Mapping[str, Any], page_size: Any = 16, on_gpu: bool = False
) -> tir.PrimFunc:
    """Return the function that attends with nodes of trees to keys and values in pages, whose last positions are the trees.

    Its parameters are those of `prefill` without causal, and then tree_indptr (b + 1,) and tree_order (t, 2).
    """
    heads = Heads(h_kv, h_q, d, d, dtype, rope_scaling, on_gpu)
    source = paged_source(heads, page_size, False)
    params = (
        f"var_q: T.handle, var_q_indptr: T.handle, {source.params}, var_q_rope_position: T.handle, {_RESULTS}, {_SCALARS}, "
        "tree_order_indptr_handle: T.handle, tree_order_handle: T.handle"
    )
    mask = tree_mask("tree_order_indptr_handle", "tree_order_handle")
    return attention("tree_attn_paged_kv", heads, params, source, mask)
