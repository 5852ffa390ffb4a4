"""Functions of TVM's virtual machine on paged caches of keys and values (TVM: `src/runtime/vm/kv_state.cc`).

add = tvms.get_global_func("vm.builtin.kv_state_add_sequence")
add(cache, 0)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import signature
from operator import index
from typing import Any, TypeVar, cast

from .diagnostics import error
from .functions import register_func
from .numpy_dtype import numpy_dtype
from .vm_kv_cache import PagedCache, refused
from .vm_kv_config import INLINE, MLA, NO_ROTATION, NORMAL, Config, Kernels

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _kernel(given: Any) -> Any:
    """Return the function in `["tir", function]`, `[function]` or `function`; None if there is none."""
    if isinstance(given, list | tuple):
        several = cast("Sequence[Any]", given)
        return several[-1] if several else None
    return given


@register_func("vm.builtin.paged_attention_kv_cache_create")
def paged_attention_kv_cache_create(
    cache_config: tuple[int, ...], layer_partition: tuple[int, ...], num_qo_heads: int, num_kv_heads: int, qk_head_dim: int,
    v_head_dim: int, attn_kinds: tuple[int, ...], enable_kv_transfer: bool, rope_mode: int, rotary_scale: float, rotary_theta: float,
    rope_ext_factors: Any, init: Any, *kernels: Any,
) -> PagedCache:  # fmt: skip
    """Return an empty cache of the dtype of `init`.

    `cache_config` is (max_batch_size, max_total_seq_len, prefill_chunk_size, page_size, support_sliding_window), and
    optionally the window of layers of kind 3 (`AttnKind.MHA_SLIDING`); `layer_partition` are the first layer and the one after the last. `kernels` are
    those of `Kernels`, each a function or `["tir", function]`. TvmsError E0729 for what is not supported.
    """
    if enable_kv_transfer:
        raise refused("caches do not send keys and values to other machines", "pass enable_kv_transfer=False")
    if MLA in attn_kinds:
        help = 'use the attention kind "mha", or "mha_sliding"'
        raise refused("multi-head latent attention (MLA) is not supported", help)
    if qk_head_dim != v_head_dim:
        help = "pad the values to the dimension of the keys"
        raise refused(f"keys have {qk_head_dim} dimensions, but values {v_head_dim}", help)
    _check_sizes(cache_config, layer_partition, attn_kinds, len(kernels))
    max_batch, capacity, chunk, page_size, slides, *window = map(int, cache_config)
    mode = INLINE if slides and int(rope_mode) != NO_ROTATION else int(rope_mode)
    factors = rope_ext_factors if hasattr(rope_ext_factors, "shape") and len(rope_ext_factors.shape) == 1 else None
    if factors is not None and mode != NORMAL:
        raise refused("only the rope mode NORMAL supports rope_ext_factors", "pass rope_mode=RopeMode.NORMAL")
    first, last = (int(layer) for layer in layer_partition)
    config = Config(
        max_batch, capacity, chunk, page_size, bool(slides), range(first, last), int(num_qo_heads), int(num_kv_heads), int(qk_head_dim),
        int(v_head_dim), tuple(map(int, attn_kinds)), mode, float(rotary_scale), float(rotary_theta), factors, _dtype(init), *window,
    )  # fmt: skip
    return PagedCache(config, Kernels(*map(_kernel, kernels)))


def _check_sizes(sizes: Sequence[int], layers: Sequence[int], kinds: Sequence[int], kernels: int) -> None:
    """Raise TvmsError E0701 or E0729 for arguments that make no cache."""
    wanted = len(Kernels.__struct_fields__)
    if kernels != wanted:
        said = f"expected {wanted} functions of a cache, got {kernels}"
        raise error("E0701", said, None, "pass them in the order of TVM 0.21; see ir/vm_kv_cache.py")
    names = ("max_batch_size", "max_total_seq_len", "prefill_chunk_size", "page_size")
    if len(sizes) not in (5, 6):
        help = f"pass ({', '.join(names)}, support_sliding_window)"
        raise refused(f"expected 5 sizes of a cache, got {len(sizes)}", help)
    for name, size in zip((*names, "support_sliding_window", "the window of layers"), sizes, strict=False):
        if size < 1 and name != "support_sliding_window":
            raise refused(f"expected a positive number for {name}, got {size}", "pass at least 1")
    if len(layers) != 2 or not 0 <= layers[0] < layers[1] <= len(kinds):
        help = "pass the first layer and the one after the last, and the kind of attention of each layer"
        raise refused(f"layers {tuple(layers)} do not fit {len(kinds)} kinds of attention", help)


def _dtype(init: Any) -> Any:
    return numpy_dtype(str(init.dtype))


def _of_cache(name: str) -> Callable[[_Function], _Function]:
    """Register a function of a cache and other arguments; TvmsError E0702 if the first argument is something else."""

    def register(function: _Function) -> _Function:
        parameters = list(signature(function).parameters.values())[1:]
        least, most = sum(parameter.default is parameter.empty for parameter in parameters), len(parameters)
        known = {"int": _integer, "Sequence[int]": _integers, "Sequence[int] | None": _integers}

        @wraps(function)
        def call(cache: Any = None, *args: Any) -> Any:
            if not isinstance(cache, PagedCache):
                help = "pass the result of vm.builtin.paged_attention_kv_cache_create"
                raise error("E0702", f"'{name}': expected a paged cache, got {type(cache).__name__}", None, help)
            if not least <= len(args) <= most:
                expected = f"{least} to {most}" if least < most else str(most)
                help = f"pass (cache, {', '.join(parameter.name for parameter in parameters)})"
                raise error(
                    "E0701", f"'{name}': expected {expected} arguments after the cache, got {len(args)}", None, help
                )
            given = list(args)
            for at, (parameter, value) in enumerate(zip(parameters, args, strict=False)):
                if parameter.annotation in known and value is not parameter.default:
                    given[at] = known[parameter.annotation](f"'{name}': argument '{parameter.name}'", value)
            return function(cache, *given)

        register_func(name, call)
        return function

    return register


def _integer(what: str, value: Any) -> int:
    """Return `value` as an integer; TvmsError E0702 for another kind of value."""
    try:
        return index(value)
    except TypeError:
        said = f"{what} must be an integer, got {type(value).__name__}"
        raise error("E0702", said, None, "pass an integer") from None


def _integers(what: str, values: Any) -> list[int]:
    """Return `values` as integers; TvmsError E0702 for anything else."""
    try:
        return [index(value) for value in values]
    except TypeError:
        said = f"{what} must be a sequence of integers, got {type(values).__name__}"
        raise error("E0702", said, None, "pass a tuple or list of integers") from None


# --- Sequences


@_of_cache("vm.builtin.kv_state_clear")
def kv_state_clear(cache: PagedCache) -> None:
    """Remove all sequences."""
    cache.clear()


@_of_cache("vm.builtin.kv_state_add_sequence")
def kv_state_add_sequence(cache: PagedCache, seq_id: int) -> None:
    """Add an empty sequence; TvmsError E0728 if it exists."""
    cache.table.add(seq_id)


@_of_cache("vm.builtin.kv_state_remove_sequence")
def kv_state_remove_sequence(cache: PagedCache, seq_id: int) -> None:
    """Remove a sequence; TvmsError E0728 if there is none."""
    cache.remove(seq_id)


@_of_cache("vm.builtin.kv_state_fork_sequence")
def kv_state_fork_sequence(cache: PagedCache, parent_seq_id: int, child_seq_id: int, fork_pos: int = -1) -> None:
    """Add a sequence that starts with the first `fork_pos` positions of another, all for -1. TvmsError E0728, E0729 or E0722."""
    cache.table.fork(parent_seq_id, child_seq_id, fork_pos)


@_of_cache("vm.builtin.kv_state_popn")
def kv_state_popn(cache: PagedCache, seq_id: int, n: int) -> None:
    """Remove the last `n` positions of a sequence; TvmsError E0728, or E0729 if it has fewer."""
    cache.pop(seq_id, n)


@_of_cache("vm.builtin.kv_state_begin_forward")
def kv_state_begin_forward(
    cache: PagedCache, seq_ids: Sequence[int], append_lengths: Sequence[int], token_tree_parent_ptr: Sequence[int] | None = None
) -> None:  # fmt: skip
    """Begin a step that appends positions to sequences, as nodes of trees if the parent of each is given, -1 for roots.

    TvmsError E0728 for an unknown sequence, E0729 if the cache is full or too small, E0722 if a tree was not committed.
    """
    cache.begin(seq_ids, append_lengths, token_tree_parent_ptr)


@_of_cache("vm.builtin.kv_state_end_forward")
def kv_state_end_forward(cache: PagedCache) -> None:
    """End the step: sequences with a sliding window forget what has left it."""
    cache.end()


@_of_cache("vm.builtin.attention_kv_cache_enable_sliding_window_for_seq")
def enable_sliding_window_for_seq(
    cache: PagedCache, seq_id: int, sliding_window_size: int, attn_sink_size: int
) -> None:
    """Let a sequence keep `sliding_window_size` positions: the first `attn_sink_size`, and the last. TvmsError E0728 or E0729."""
    cache.set_window(seq_id, sliding_window_size, attn_sink_size)


@_of_cache("vm.builtin.attention_kv_cache_commit_accepted_token_tree_nodes")
def commit_accepted_token_tree_nodes(cache: PagedCache, seq_ids: Sequence[int], leaf_indices: Sequence[int]) -> None:
    """Keep of the tree of each sequence the path to a node, none for -1; nodes are counted in the whole tree. TvmsError E0728 or E0729."""
    cache.accept(seq_ids, leaf_indices)


@_of_cache("vm.builtin.attention_kv_cache_empty")
def attention_kv_cache_empty(cache: PagedCache) -> bool:
    """Return whether the cache has no sequences, and all its pages are free."""
    return not cache.table.sequences and len(cache.table.free) == cache.config.pages


@_of_cache("vm.builtin.attention_kv_cache_get_num_available_pages")
def get_num_available_pages(cache: PagedCache) -> int:
    """Return the number of free pages."""
    return len(cache.table.free)


@_of_cache("vm.builtin.attention_kv_cache_get_total_sequence_length")
def get_total_sequence_length(cache: PagedCache) -> int:
    """Return the sum of the lengths of all sequences."""
    return sum(sequence.length for sequence in cache.table.sequences.values())


# --- Attention


@_of_cache("vm.builtin.attention_kv_cache_attention_with_fused_qkv")
def attention_with_fused_qkv(cache: PagedCache, layer_id: int, sm_scale: float, qkv: Any, output: Any) -> None:
    """Write the keys and values of the step to a layer, and attend to all positions.

    `qkv` is (n, q heads + 2 kv heads, dim), `output` (n, q heads, dim). TvmsError E0722 without a step, E0705 for another shape.
    """
    cache.attend_fused(layer_id, sm_scale, qkv, output)


@_of_cache("vm.builtin.attention_kv_cache_attention_with_shared_kv")
def attention_with_shared_kv(
    cache: PagedCache, source_layer_id: int, sm_scale: float, q: Any, current_k: Any, current_v: Any, output: Any
) -> None:
    """Attend with q (n, q heads, dim) to the keys and values of a layer that has those of this step; E0722 if it has not."""
    cache.attend_shared(source_layer_id, sm_scale, q, output)


@_of_cache("vm.builtin.attention_kv_cache_self_attention")
def self_attention(
    cache: PagedCache, layer_id: int, sm_scale: float, q: Any, k: Any, v: Any, output: Any, lse: Any
) -> None:
    """Attend to the keys and values of the step, which are given; `lse` (n, q heads) gets the base-2 logarithms of the sums."""
    cache.attend_self(layer_id, sm_scale, q, k, v, output, lse)


@_of_cache("vm.builtin.attention_kv_cache_cross_attention")
def cross_attention(cache: PagedCache, layer_id: int, sm_scale: float, q: Any, output: Any, lse: Any) -> None:
    """Attend to the positions before the step; `lse` (n, q heads) gets the base-2 logarithms of the sums."""
    cache.attend_cached(layer_id, sm_scale, q, output, lse)


@_of_cache("vm.builtin.attention_kv_cache_merge_attn_output_inplace")
def merge_attn_output_inplace(cache: PagedCache, output: Any, lse: Any, other: Any, other_lse: Any) -> tuple[Any, Any]:
    """Merge two results of attention in place of the first, and return it."""
    return cache.merge(output, lse, other, other_lse)


@_of_cache("vm.builtin.attention_kv_cache_get_query_positions")
def get_query_positions(cache: PagedCache) -> Any:
    """Return the position of each new token in its sequence, (n,) int32."""
    return cache.step.positions


@_of_cache("vm.builtin.attention_kv_cache_debug_get_kv")
def debug_get_kv(cache: PagedCache, seq_id: int, start_pos: int, end_pos: int, k_data: Any, v_data: Any) -> None:
    """Write keys and values of positions to arrays (layers, end_pos - start_pos, kv heads, dim). TvmsError E0728, E0729 or E0705."""
    cache.get(seq_id, start_pos, end_pos, k_data, v_data)
