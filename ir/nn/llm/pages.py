"""Loop functions that write, read and copy keys and values in pages of a cache, (pages, 2, heads, page_size, dim)."""

from __future__ import annotations

from string import Template
from typing import Any

from ... import tir
from .texts import kernel

_APPEND = Template("""\
T.prim_func tir_kv_cache_transpose_append(var_pages: T.handle, var_k_data: T.handle, var_v_data: T.handle, var_position_map: T.handle):
    T.func_attr({"tir.noalias": True})
    ntoken = T.int64()
    num_pages = T.int64()
$declared    pages = T.match_buffer(var_pages, (num_pages, 2, $heads, $size, $dim), "$dtype")
    k_data = T.match_buffer(var_k_data, (ntoken, $heads, $dim), "$dtype")
    v_data = T.match_buffer(var_v_data, (ntoken, $heads, $dim), "$dtype")
    position_map = T.match_buffer(var_position_map, (ntoken,), "int32")
    for p0, h0, d0 in T.grid(ntoken, $heads, $dim):
        with T.block("append"):
            p, h, d = T.axis.remap("SSS", [p0, h0, d0])
            T.reads(position_map[p], k_data[p, h, d], v_data[p, h, d])
            T.writes(pages[0:num_pages, 0:2, h, 0:$size, d])
            position: T.int32 = position_map[p]
            if position >= 0:
                pages[position // $size, 0, h, position % $size, d] = k_data[p, h, d]
                pages[position // $size, 1, h, position % $size, d] = v_data[p, h, d]
""")

_GET = Template("""\
T.prim_func tir_kv_cache_debug_get_kv(var_pages: T.handle, var_position_map: T.handle, var_k_data: T.handle, var_v_data: T.handle, layer_id: T.int64):
    T.func_attr({"tir.noalias": True})
    seqlen = T.int64()
    page_size = T.int64()
    num_pages = T.int64()
    pages = T.match_buffer(var_pages, (num_pages, 2, $heads, page_size, $dim), "$dtype")
    position_map = T.match_buffer(var_position_map, (seqlen,), "int32")
    k_data = T.match_buffer(var_k_data, ($layers, seqlen, $heads, $dim), "$dtype")
    v_data = T.match_buffer(var_v_data, ($layers, seqlen, $heads, $dim), "$dtype")
    for p0, h0, d0 in T.grid(seqlen, $heads, $dim):
        with T.block("copy"):
            p, h, d = T.axis.remap("SSS", [p0, h0, d0])
            T.reads(position_map[p], pages[0:num_pages, 0:2, h, 0:page_size, d])
            T.writes(k_data[layer_id, p, h, d], v_data[layer_id, p, h, d])
            position: T.int64 = T.Cast("int64", position_map[p])
            k_data[layer_id, p, h, d] = pages[position // page_size, 0, h, position % page_size, d]
            v_data[layer_id, p, h, d] = pages[position // page_size, 1, h, position % page_size, d]
""")

_COPY_PAGE = Template("""\
T.prim_func copy_single_page(var_pages: T.handle, src_page_id: T.int64, tgt_page_id: T.int64, copy_length: T.int64):
    num_pages = T.int64()
$declared    pages = T.match_buffer(var_pages, (num_pages, 2, $heads, $size, $dim), "$dtype")
    for h0, p0, d0 in T.grid($heads, copy_length, $dim):
        with T.block("copy"):
            h, p, d = T.axis.remap("SSS", [h0, p0, d0])
            T.reads(pages[src_page_id, 0:2, h, p, d])
            T.writes(pages[tgt_page_id, 0:2, h, p, d])
            pages[tgt_page_id, 0, h, p, d] = pages[src_page_id, 0, h, p, d]
            pages[tgt_page_id, 1, h, p, d] = pages[src_page_id, 1, h, p, d]
""")

_COMPACT = Template("""\
T.prim_func compact_kv_copy(var_pages: T.handle, var_copy_length_indptr: T.handle, var_copy_src_dst_pos: T.handle, batch_size: T.int32):
    num_pages = T.int32()
    total_copy_length = T.int32()
$declared    pages = T.match_buffer(var_pages, (num_pages, 2, $heads, $size, $dim), "$dtype")
    copy_length_indptr = T.match_buffer(var_copy_length_indptr, (batch_size + 1,), "int32")
    copy_src_dst_pos = T.match_buffer(var_copy_src_dst_pos, (2, total_copy_length), "int32")
    for h0, d0 in T.grid($heads, $dim):
        with T.block("compact"):
            h, d = T.axis.remap("SS", [h0, d0])
            T.reads(copy_length_indptr[0:batch_size + 1], copy_src_dst_pos[0:2, 0:total_copy_length], pages[0:num_pages, 0:2, h, 0:$size, d])
            T.writes(pages[0:num_pages, 0:2, h, 0:$size, d])
            for i in range(copy_length_indptr[0], copy_length_indptr[batch_size]):
                src: T.int32 = copy_src_dst_pos[0, i]
                dst: T.int32 = copy_src_dst_pos[1, i]
                pages[dst // $size, 0, h, dst % $size, d] = pages[src // $size, 0, h, src % $size, d]
                pages[dst // $size, 1, h, dst % $size, d] = pages[src // $size, 1, h, src % $size, d]
""")

_MERGE = Template("""\
T.prim_func merge_state_inplace(v: T.handle, s: T.handle, v_other: T.handle, s_other: T.handle):
    T.func_attr({"tir.noalias": True})
    N = T.int32()
    H = T.int32()
    D = T.int32()
    V = T.match_buffer(v, (N, H, D), "$dtype")
    S = T.match_buffer(s, (N, H), "float32")
    V_other = T.match_buffer(v_other, (N, H, D), "$dtype")
    S_other = T.match_buffer(s_other, (N, H), "float32")
    for n0, h0 in T.grid(N, H):
        with T.block("merge"):
            n, h = T.axis.remap("SS", [n0, h0])
            T.reads(S[n, h], S_other[n, h], V[n, h, 0:D], V_other[n, h, 0:D])
            T.writes(S[n, h], V[n, h, 0:D])
            top: T.float32 = T.max(S[n, h], S_other[n, h])
            own: T.float32 = T.exp2(S[n, h] - top)
            other: T.float32 = T.exp2(S_other[n, h] - top)
            for d in range(D):
                V[n, h, d] = T.Cast("$dtype", (T.Cast("float32", V[n, h, d]) * own + T.Cast("float32", V_other[n, h, d]) * other) / (own + other))
            S[n, h] = top + T.log2(own + other)
""")


def _size(page_size: Any, dtype: str) -> dict[str, Any]:
    """Return the texts for a page size: a number, or a dimension of the pages if it is not known."""
    if isinstance(page_size, int):
        return {"size": page_size, "declared": ""}
    return {"size": "page_size", "declared": f"    page_size = T.{dtype}()\n"}


def append(num_key_value_heads: int, head_dim: int, dtype: str, page_size: Any = 16) -> tir.PrimFunc:
    """Return the function `(pages, k_data, v_data, position_map)` that writes keys and values, (n, heads, dim), to the pages.

    `position_map` (n,) int32 is `page * page_size + slot` for each; those with a negative one are dropped.
    """
    size = _size(page_size, "int32")
    return kernel(_APPEND.substitute(heads=num_key_value_heads, dim=head_dim, dtype=dtype, **size))


def get(num_hidden_layers: int, num_key_value_heads: int, head_dim: int, dtype: str) -> tir.PrimFunc:
    """Return the function `(pages, position_map, k_data, v_data, layer_id)` that reads keys and values from the pages of a layer.

    It writes row `layer_id` of `k_data` and `v_data`, (layers, n, heads, dim); see `append` for `position_map`.
    """
    return kernel(_GET.substitute(layers=num_hidden_layers, heads=num_key_value_heads, dim=head_dim, dtype=dtype))


def copy_page(num_heads: int, page_size: Any, head_dim: int, dtype: str) -> tir.PrimFunc:
    """Return the function `(pages, src_page_id, tgt_page_id, copy_length)` that copies the first positions of a page to another."""
    size = _size(page_size, "int64")
    return kernel(_COPY_PAGE.substitute(heads=num_heads, dim=head_dim, dtype=dtype, **size))


def compact(num_heads: int, head_dim: int, dtype: str, page_size: Any = 16) -> tir.PrimFunc:
    """Return the function `(pages, copy_length_indptr, copy_src_dst_pos, batch_size)` that copies positions one after the other.

    `copy_src_dst_pos` (2, n) int32 are sources and destinations, `page * page_size + slot`; `copy_length_indptr` (batch_size + 1,) is
    where those of each sequence start.
    """
    size = _size(page_size, "int32")
    return kernel(_COMPACT.substitute(heads=num_heads, dim=head_dim, dtype=dtype, **size))


def merge_state(v_dtype: str) -> tir.PrimFunc:
    """Return the function `(v, s, v_other, s_other)` that merges two attentions to different keys, in place of the first.

    `v` and `v_other` are the outputs (n, heads, dim), `s` and `s_other` the logarithms to base 2 of their sums, (n, heads) float32.
    """
    return kernel(_MERGE.substitute(dtype=v_dtype))
