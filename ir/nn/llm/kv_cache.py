"""Paged caches of keys and values in exported modules (TVM: `relax.frontend.nn.llm.kv_cache`).

    class Attention(nn.Module):
        def forward(self, x: nn.Tensor, cache: PagedKVCache, layer_id: int) -> nn.Tensor:
            qkv = self.qkv_proj(x).reshape(b, s, 3 * heads, dim)
            return self.o_proj(cache.attention_with_fused_qkv(layer_id, qkv, heads, dim**-0.5).reshape(b, s, heads * dim))

A method of the module that returns a `TIRPagedKVCache` creates the cache. The program around it calls the functions of
`ir.vm_kv_functions`: it adds sequences, and begins and ends each forward step.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any

from ... import relax, tir
from ...building.values import apply, dimension
from ...diagnostics import TvmsError, error
from ...ops.inference import tensor_info
from ..tensor import Object, Tensor, builder
from . import attention, pages
from .position_embedding import llama_rope_with_position_map
from .tree_attn import tree_attn, tree_attn_cpu, tree_attn_with_paged_kv_cache, tree_attn_with_paged_kv_cache_cpu

__all__ = [
    "AttnKind", "FlashInferPagedKVCache", "PagedKVCache", "RopeMode", "TIRPagedKVCache", "_attention_decode", "_attention_decode_cpu",
    "_attention_prefill", "_attention_prefill_cpu", "_attention_prefill_ragged", "_attention_prefill_ragged_cpu", "_compact_kv_copy",
    "_compact_kv_copy_cpu", "_copy_single_page", "_copy_single_page_cpu", "_kv_cache_debug_get_kv", "_kv_cache_transpose_append",
    "_merge_state_inplace", "_merge_state_inplace_cpu", "llama_rope_with_position_map", "tree_attn", "tree_attn_cpu",
    "tree_attn_with_paged_kv_cache", "tree_attn_with_paged_kv_cache_cpu",
]  # fmt: skip


class AttnKind(enum.IntEnum):
    """The kind of attention of a layer: to all positions, with latent keys (not supported), or to the last positions."""

    MHA = 0
    MLA = 1
    MHA_SLIDING = 3


class RopeMode(enum.IntEnum):
    """Where queries and keys are rotated: nowhere, before keys are written to the cache, or whenever keys are read."""

    NONE = 0
    NORMAL = 1
    INLINE = 2


def _left_out(what: str, help: str) -> TvmsError:
    return error("E0729", f"{what} is not supported", None, help)


class PagedKVCache(Object):
    """A cache of keys and values of many sequences, as a value of the graph."""

    def attention_with_fused_qkv(self, layer_id: int, qkv: Tensor, num_qo_heads: int, sm_scale: float) -> Tensor:
        """Append the keys and values in `qkv` to a layer, and return the attention of its queries to all positions.

        `qkv` is (batch, length, num_qo_heads + 2 kv heads, dim), the result (batch, length, num_qo_heads, dim). The batch and the
        length together have the positions of the forward step, sequence by sequence. Scores are multiplied by `sm_scale`.
        """
        batch, length, heads, dim = qkv.shape
        rows = qkv.reshape(batch * length, heads, dim)
        info = tensor_info((dimension(batch * length), dimension(num_qo_heads), dimension(dim)), qkv.dtype)
        result = self._attend("attention_with_fused_qkv", [layer_id, sm_scale], [rows], info)
        return Tensor(result).reshape(batch, length, num_qo_heads, dim)

    def self_attention(self, layer_id: int, q: Tensor, k: Tensor, v: Tensor, sm_scale: float) -> tuple[Tensor, Tensor]:
        """Return the causal attention within the step, and the base-2 logarithms of its sums (batch, length, q heads) float32.

        `q`, `k` and `v` are (batch, length, heads, dim).
        """
        rows = [self._rows(tensor) for tensor in (q, k, v)]
        return self._attend_partly("self_attention", layer_id, sm_scale, rows, q, v.shape[3])

    def cross_attention(self, layer_id: int, q: Tensor, v_head_dim: int, sm_scale: float) -> tuple[Tensor, Tensor]:
        """Return the attention to the positions before the step, and the base-2 logarithms of its sums, as `self_attention` does."""
        return self._attend_partly("cross_attention", layer_id, sm_scale, [self._rows(q)], q, v_head_dim)

    def attention_with_shared_kv(
        self, source_layer_id: int, q: Tensor, current_k: Tensor, current_v: Tensor, sm_scale: float
    ) -> Tensor:
        """Return the attention of `q` to the keys and values of another layer, which must have run in this step (TVM 0.27).

        `current_k` and `current_v` are the keys and values of the step of that layer. All are (batch, length, heads, dim).
        """
        batch, length, heads, _ = q.shape
        dim = current_v.shape[3]
        rows = [self._rows(tensor) for tensor in (q, current_k, current_v)]
        info = tensor_info((dimension(batch * length), dimension(heads), dimension(dim)), q.dtype)
        result = self._attend("attention_with_shared_kv", [source_layer_id, sm_scale], rows, info)
        return Tensor(result).reshape(batch, length, heads, dim)

    def merge_attn_output_inplace(
        self, o_self_attn: Tensor, lse_self_attn: Tensor, o_cross_attn: Tensor, lse_cross_attn: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return two results of attention to different keys as one; the first is overwritten.

        Outputs are (batch, length, heads, dim), logarithms (batch, length, heads).
        """
        batch, length, heads, dim = o_self_attn.shape
        given = (o_self_attn, lse_self_attn, o_cross_attn, lse_cross_attn)
        rows = [tensor.reshape(batch * length, *tensor.shape[2:]).expr for tensor in given]
        info = relax.TupleStructInfo(tuple(row.struct_info for row in rows[:2]))  # type: ignore[reportArgumentType]
        output, lse = self._both(self._packed("merge_attn_output_inplace", info, *rows))
        return output.reshape(batch, length, heads, dim), lse.reshape(batch, length, heads)

    def append_mla_kv(self, layer_id: int, kv: Tensor) -> PagedKVCache:
        """Raise TvmsError E0729: multi-head latent attention is not supported."""
        raise _left_out("multi-head latent attention (MLA)", "use attention_with_fused_qkv")

    def get_query_positions(self, total_length: Any) -> Tensor:
        """Return the position of each new token in its sequence, (total_length,) int32."""
        info = tensor_info((dimension(total_length),), "int32")
        return Tensor(builder().emit(self._packed("get_query_positions", info)))

    def _rows(self, tensor: Tensor) -> Tensor:
        batch, length, heads, dim = tensor.shape
        return tensor.reshape(batch * length, heads, dim)

    def _attend(self, name: str, numbers: Sequence[float], tensors: Sequence[Tensor], info: Any) -> Any:
        args = (self.expr, *map(_number, numbers), *(tensor.expr for tensor in tensors))
        callee = relax.ExternFunc(f"vm.builtin.attention_kv_cache_{name}")
        return builder().emit(apply("call_dps_packed", callee, relax.Tuple(args), out_sinfo=info))

    def _attend_partly(
        self, name: str, layer_id: int, sm_scale: float, rows: Sequence[Tensor], q: Tensor, dim: Any
    ) -> tuple[Tensor, Tensor]:
        batch, length, heads, _ = q.shape
        lead = (dimension(batch * length), dimension(heads))
        infos = [tensor_info((*lead, dimension(dim)), q.dtype), tensor_info(lead, "float32")]
        output, lse = self._both(self._attend(name, [layer_id, sm_scale], rows, infos))
        return output.reshape(batch, length, heads, dim), lse.reshape(batch, length, heads)

    def _both(self, value: relax.Expr) -> tuple[Tensor, Tensor]:
        pair = value if isinstance(value, relax.Var) else builder().emit(value)
        first, second = (Tensor(builder().emit(relax.TupleGetItem(pair, index))) for index in (0, 1))
        return first, second

    def _packed(self, name: str, info: relax.StructInfo, *args: Any) -> relax.Expr:
        return apply("call_pure_packed", f"vm.builtin.attention_kv_cache_{name}", self.expr, *args, sinfo_args=info)


def _number(value: float) -> relax.PrimValue:
    return relax.PrimValue(tir.IntImm("int64", value) if isinstance(value, int) else tir.FloatImm("float64", value))


class FlashInferPagedKVCache(PagedKVCache):
    """Caches that call FlashInfer, which are not supported."""

    def __init__(self, *args: Any, **named: Any) -> None:
        """Raise TvmsError E0729."""
        raise _left_out("FlashInfer", "use TIRPagedKVCache, with the same arguments")


class TIRPagedKVCache(PagedKVCache):
    """A new cache whose functions are compiled with the module."""

    def __init__(
        self,
        attn_kind: str | Sequence[str],
        max_batch_size: Any,
        max_total_seq_len: Any,
        prefill_chunk_size: Any,
        page_size: Any,
        support_sliding_window: Any,
        layer_partition: relax.ShapeExpr,
        num_hidden_layers: int,
        num_attention_heads: int,
        num_key_value_heads: int,
        qk_head_dim: int,
        v_head_dim: int,
        mla_original_qk_head_dim: int,
        mla_original_v_head_dim: int,
        rope_mode: int,
        rope_scale: float,
        rope_theta: float,
        rope_scaling: Mapping[str, Any],
        rope_ext_factors: Any,
        rotary_dim: int,
        enable_disaggregation: bool,
        dtype: str,
        target: Any,
        name: str = "paged_kv_cache",
        layer_sliding_window_size: int = attention.LAYER_WINDOW,
    ) -> None:
        """Create a cache for `max_batch_size` sequences in a step and `max_total_seq_len` positions in all.

        A step has at most `prefill_chunk_size` positions; pages have `page_size`. These, and `support_sliding_window` (0 or 1), are
        numbers or parameters of the method. `attn_kind` is "mha" or "mha_sliding", for all layers or for each; layers of the latter
        attend to the last `layer_sliding_window_size` positions. `layer_partition` are the first layer and the one after the last.
        `rope_theta`, `rope_scale`, `rope_scaling` and `rotary_dim` are those of `llama_rope_with_position_map`; `rope_ext_factors` is
        an array for LongRoPE. TvmsError E0729 for latent attention ("mla"), and for `enable_disaggregation`.
        """
        kinds = [attn_kind] * num_hidden_layers if isinstance(attn_kind, str) else attn_kind
        if "mla" in kinds:
            raise _left_out("multi-head latent attention (MLA)", 'use the attention kind "mha"')
        if enable_disaggregation:
            raise _left_out("disaggregation", "pass enable_disaggregation=False")
        sizes = [max_batch_size, max_total_seq_len, prefill_chunk_size, page_size, support_sliding_window]
        if "mha_sliding" in kinds:
            sizes.append(layer_sliding_window_size)
        counts = (num_attention_heads, num_key_value_heads, qk_head_dim, v_head_dim)
        args = [
            _shape(sizes), layer_partition, *map(_number, counts), _shape([AttnKind[kind.upper()] for kind in kinds]),
            _number(0), _number(int(rope_mode)), _number(float(rope_scale)), _number(float(rope_theta)), rope_ext_factors,
            apply("zeros", relax.ShapeExpr(()), dtype),
        ]  # fmt: skip
        heads = (num_key_value_heads, num_attention_heads, qk_head_dim, dtype)
        rotation = (rope_theta, rope_scale, qk_head_dim, num_attention_heads, num_key_value_heads, dtype, rope_scaling)
        kernels = _kernels(
            heads,
            v_head_dim,
            page_size,
            rope_scaling,
            layer_sliding_window_size,
            num_hidden_layers,
            attention.is_gpu(target),
        )
        kernels["tir_split_rotary"] = llama_rope_with_position_map(*rotation, rotary_dim)
        functions = {name: builder().add_func(function, name) for name, function in kernels.items()}
        args += [_given(functions, chosen) for chosen in _ORDER]
        made = apply("call_pure_packed", _CREATE, *args, sinfo_args=relax.ObjectStructInfo())
        super().__init__(made, name)


_CREATE = "vm.builtin.paged_attention_kv_cache_create"
_ORDER = (
    "kv_cache_transpose_append", "", "[]tir_attention_prefill_ragged", "[]tir_attention_prefill", "[]tir_attention_decode",
    "[]tir_attention_prefill_sliding_window", "[]tir_attention_decode_sliding_window",
    "[]tir_attention_prefill_with_tree_mask_with_paged_kv_cache", "[]tir_attention_prefill_with_tree_mask", "[]",
    "()tir_attention_merge_state", "tir_split_rotary", "kv_cache_copy_single_page", "kv_cache_debug_get_kv", "kv_cache_compact_kv_copy",
)  # fmt: skip
"""The functions of a cache in the order of the arguments that create it: alone, in a pair with "tir" ([]), or in a tuple (())."""


def _given(functions: Mapping[str, relax.Expr], chosen: str) -> relax.Expr:
    name = chosen.removeprefix("[]").removeprefix("()")
    if not name:
        return relax.Tuple(())
    if chosen == name:
        return functions[name]
    kind = (relax.StringImm("tir"),) if chosen.startswith("[]") else ()
    return relax.Tuple((*kind, functions[name]))


def _shape(sizes: Sequence[Any]) -> relax.ShapeExpr:
    return relax.ShapeExpr(tuple(dimension(size if isinstance(size, tir.PrimExpr) else int(size)) for size in sizes))


def _kernels(
    heads: tuple[int, int, int, str],
    v_dim: int,
    page_size: Any,
    rope_scaling: Mapping[str, Any],
    window: int,
    layers: int,
    gpu: bool,
) -> dict[str, tir.PrimFunc]:
    """Return the functions of a cache by name; the page size is a dimension of the pages if it is not a number."""
    h_kv, _, dim, dtype = heads
    return {
        "kv_cache_transpose_append": pages.append(h_kv, dim, dtype, page_size),
        "tir_attention_prefill_ragged": attention.ragged(*heads[:3], v_dim, dtype, rope_scaling, gpu),
        "tir_attention_prefill": attention.prefill(*heads, False, rope_scaling, page_size, on_gpu=gpu),
        "tir_attention_decode": attention.decode(*heads, False, rope_scaling, page_size, gpu),
        "tir_attention_prefill_sliding_window": attention.prefill(*heads, True, rope_scaling, page_size, window, gpu),
        "tir_attention_decode_sliding_window": attention.decode(*heads, True, rope_scaling, page_size, gpu),
        "tir_attention_prefill_with_tree_mask_with_paged_kv_cache": attention.paged_tree(
            *heads, rope_scaling, page_size, gpu
        ),
        "tir_attention_prefill_with_tree_mask": attention.tree(*heads, rope_scaling, gpu),
        "tir_attention_merge_state": pages.merge_state(dtype),
        "kv_cache_copy_single_page": pages.copy_page(h_kv, page_size, dim, dtype),
        "kv_cache_debug_get_kv": pages.get(layers, h_kv, dim, dtype),
        "kv_cache_compact_kv_copy": pages.compact(h_kv, dim, dtype, page_size),
    }


# --- The functions under TVM's names ------------------------------------------------------------------------------

_kv_cache_transpose_append = pages.append
_kv_cache_debug_get_kv = pages.get
_attention_prefill_cpu = attention.prefill
_attention_decode_cpu = attention.decode
_attention_prefill_ragged_cpu = attention.ragged
_merge_state_inplace_cpu = pages.merge_state
_copy_single_page_cpu = pages.copy_page
_compact_kv_copy_cpu = pages.compact


def _attention_prefill(
    h_kv: int, h_q: int, d: int, dtype: str, sliding_window: bool, rope_scaling: Mapping[str, Any], target: Any, page_size: Any = 16,
    sliding_window_size: int = attention.LAYER_WINDOW,
) -> tir.PrimFunc:  # fmt: skip
    """Return the function that `attention.prefill` describes, for `target`."""
    gpu = attention.is_gpu(target)
    return attention.prefill(h_kv, h_q, d, dtype, sliding_window, rope_scaling, page_size, sliding_window_size, gpu)


def _attention_decode(
    num_kv_heads: int, num_qo_heads: int, head_dim: int, qkv_dtype: str, sliding_window: bool, rope_scaling: Mapping[str, Any],
    target: Any, page_size: Any = 16,
) -> tir.PrimFunc:  # fmt: skip
    """Return the function that `attention.decode` describes, for `target`."""
    heads = (num_kv_heads, num_qo_heads, head_dim, qkv_dtype)
    return attention.decode(*heads, sliding_window, rope_scaling, page_size, attention.is_gpu(target))


def _attention_prefill_ragged(
    h_kv: int, h_q: int, d_qk: int, d_v: int, dtype: str, rope_scaling: Mapping[str, Any], target: Any
) -> tir.PrimFunc:  # fmt: skip
    """Return the function that `attention.ragged` describes, for `target`."""
    return attention.ragged(h_kv, h_q, d_qk, d_v, dtype, rope_scaling, attention.is_gpu(target))


def _merge_state_inplace(
    num_heads: int, head_dim: int, v_dtype: str, target: Any, global_symbol: str | None = None
) -> tir.PrimFunc:  # fmt: skip
    """Return the function that `pages.merge_state` describes, which has a default schedule for each target."""
    function = pages.merge_state(v_dtype)
    return function if global_symbol is None else function.with_attr("global_symbol", global_symbol)


def _copy_single_page(num_heads: int, page_size: Any, head_dim: int, dtype: str, target: Any) -> tir.PrimFunc:
    """Return the function that `pages.copy_page` describes, which has a default schedule for each target."""
    return pages.copy_page(num_heads, page_size, head_dim, dtype)


def _compact_kv_copy(num_heads: int, head_dim: int, dtype: str, target: Any, page_size: Any = 16) -> tir.PrimFunc:
    """Return the function that `pages.compact` describes, which has a default schedule for each target."""
    return pages.compact(num_heads, head_dim, dtype, page_size)
