"""The sizes and functions of a paged cache of keys and values (`vm_kv_cache`), and the kinds of its layers and rotations."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

NO_ROTATION, NORMAL, INLINE = range(3)
MLA, SLIDING = 1, 3


class Kernels(Struct):
    """The functions that compute on pages, in TVM's order of arguments; `ir.nn.llm` describes their parameters."""

    append: Any
    append_mla: Any
    ragged: Any
    prefill: Any
    decode: Any
    sliding_prefill: Any
    sliding_decode: Any
    paged_tree: Any
    tree: Any
    mla: Any
    merge: Any
    split: Any
    copy_page: Any
    get: Any
    compact: Any


class Config(Struct):
    """Sizes of a cache, and how it rotates keys."""

    max_batch_size: int
    capacity: int
    prefill_chunk_size: int
    page_size: int
    slides: bool
    layers: range
    q_heads: int
    kv_heads: int
    qk_dim: int
    v_dim: int
    kinds: tuple[int, ...]
    rope_mode: int
    rope_scale: float
    rope_theta: float
    factors: Any
    """The factors of LongRoPE, or None."""
    dtype: Any
    layer_window: int = 1024

    @property
    def pages(self) -> int:
        """The number of pages of a layer; a sequence that slides may use two more than its positions fill."""
        return -(-self.capacity // self.page_size) + 1 + 2 * self.max_batch_size * self.slides
