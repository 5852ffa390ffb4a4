"""Paged caches of keys and values, against plain arrays that keep all keys and values of each sequence."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import tvms
from builders.plain_caches import (
    DIM,
    KV_HEADS,
    PAGE,
    Q_HEADS,
    SCALE,
    THETA,
    Pair,
    attention,
    built,
    call,
    create,
    random_operation,
    rotate,
)
from tvms import relax
from tvms.relax.frontend import nn
from tvms.relax.frontend.nn.llm import kv_cache
from tvms.relax.frontend.nn.llm.kv_cache import AttnKind, PagedKVCache, RopeMode, TIRPagedKVCache


@pytest.fixture(scope="module")
def kernels() -> dict[str, Any]:
    return built("llvm")


@pytest.mark.parametrize(
    ("mode", "slides"),
    [
        (RopeMode.NONE, False),
        (RopeMode.NORMAL, False),
        (RopeMode.INLINE, False),
        (RopeMode.NONE, True),
        (RopeMode.INLINE, True),
    ],
)
def test_caches_hold_and_attend_to_what_plain_arrays_do(
    kernels: dict[str, Any], mode: RopeMode, slides: bool, random: np.random.Generator
) -> None:
    pair = Pair(create(kernels, mode, slides=slides), mode, random)
    for number in range(60):
        random_operation(pair, number, has_trees=not slides and mode != RopeMode.INLINE)
        pair.check()
    pair.remove_all()


def test_simulated_gpus_do_the_same(random: np.random.Generator) -> None:
    kernels = built("cuda -arch=sm_80 -simulate=random")
    for mode, slides in ((RopeMode.NORMAL, False), (RopeMode.INLINE, True)):
        pair = Pair(create(kernels, mode, slides=slides), mode, random)
        for number in range(20):
            random_operation(pair, number, has_trees=not slides)
            pair.check()
        pair.remove_all()


def test_layers_with_a_window_attend_to_the_last_positions(
    kernels: dict[str, Any], random: np.random.Generator
) -> None:
    kinds = (int(AttnKind.MHA), int(AttnKind.MHA_SLIDING))
    pair = Pair(create(kernels, RopeMode.NONE, kinds=kinds), RopeMode.NONE, random)
    pair.add(0)
    pair.add(1)
    for batch in ({0: 3}, {0: 9, 1: 2}, {0: 1, 1: 1}, {1: 7, 0: 2}, {0: 1, 1: 1}):
        pair.step(batch)
    pair.check()


def test_partial_attentions_merge_to_the_whole(kernels: dict[str, Any], random: np.random.Generator) -> None:
    pair = Pair(create(kernels, RopeMode.NONE), RopeMode.NONE, random)
    for number, length in ((0, 6), (1, 3)):
        pair.add(number)
        pair.step({number: length})
    k, v, q = (random.standard_normal((5, heads, DIM)).astype(np.float32) for heads in (KV_HEADS, KV_HEADS, Q_HEADS))
    call("kv_state_begin_forward", pair.cache, (0, 1), (2, 3))
    (own, own_lse), (old, old_lse) = ((np.zeros_like(q), np.zeros((5, Q_HEADS), np.float32)) for _ in range(2))
    call("attention_kv_cache_self_attention", pair.cache, 0, SCALE, q, k, v, own, own_lse)
    call("attention_kv_cache_cross_attention", pair.cache, 0, SCALE, q, old, old_lse)
    output, _ = call("attention_kv_cache_merge_attn_output_inplace", pair.cache, own, own_lse, old, old_lse)
    for number, rows in ((0, slice(0, 2)), (1, slice(2, 5))):
        plain = pair.plain[number]
        keys, values = np.concatenate([plain.k[0], k[rows]]), np.concatenate([plain.v[0], v[rows]])
        mask = np.arange(len(keys)) <= np.arange(len(plain), len(keys))[:, None]
        np.testing.assert_allclose(output[rows], attention(q[rows], keys, values, mask), rtol=2e-4, atol=2e-5)


def test_pages_are_shared_until_written(kernels: dict[str, Any], random: np.random.Generator) -> None:
    def free() -> int:
        return call("attention_kv_cache_get_num_available_pages", cache)

    cache = create(kernels)
    pair = Pair(cache, RopeMode.NORMAL, random)
    pair.add(0)
    pair.step({0: 2 * PAGE + 1})
    before = free()
    pair.fork(0, 1, -1)
    assert free() == before
    pair.step({0: 1, 1: 1})
    assert free() == before - 1
    pair.pop(1, 3)
    assert free() == before
    pair.check()


def refusal(action: Callable[[], object]) -> str:
    with pytest.raises(tvms.TvmsError) as caught:
        action()
    return str(caught.value)


def test_wrong_uses_are_refused_and_change_nothing(kernels: dict[str, Any], random: np.random.Generator) -> None:
    cache = create(kernels, capacity=20, batch=2)
    pair = Pair(cache, RopeMode.NORMAL, random)
    pair.add(3)
    pair.step({3: 5})
    output, qkv = np.zeros((1, Q_HEADS, DIM), np.float32), np.zeros((1, Q_HEADS + 2 * KV_HEADS, DIM), np.float32)
    fused = ("attention_kv_cache_attention_with_fused_qkv", cache, 0, SCALE)
    uses: list[tuple[tuple[Any, ...], str]] = [
        (("kv_state_add_sequence", cache, 3), "error[E0728]: the cache already has a sequence 3\n  = help: remove it first, or use another number"),
        (
            ("kv_state_remove_sequence", cache, 4),
            "error[E0728]: the cache has no sequence 4\n  = help: sequences are: 3; add it with add_sequence",
        ),
        (
            ("kv_state_popn", cache, 3, 6),
            "error[E0729]: cannot pop 6 positions of sequence 3, which has 5 positions\n  = help: pop between 0 and 5",
        ),
        (
            ("kv_state_fork_sequence", cache, 3, 5, 6),
            "error[E0729]: cannot fork sequence 3 of length 5 at 6\n  = help: fork at a position of the parent, or at -1 for its end",
        ),
        (
            ("kv_state_begin_forward", cache, (3,), (20,)),
            "error[E0729]: the cache is full: it takes 5 pages to append, and 4 of 6 are free\n"
            "  = help: remove sequences, or create the cache with a larger max_total_seq_len",
        ),
        (
            ("kv_state_begin_forward", cache, (3,), (61,)),
            "error[E0729]: the batch appends 61 positions, but the cache takes 60 in a step\n"
            "  = help: create the cache with a larger prefill_chunk_size, or append in several steps",
        ),
        (
            ("kv_state_begin_forward", cache, (3, 3), (1, 1)),
            "error[E0729]: a sequence occurs twice in the batch\n  = help: append all its positions at once",
        ),
        (
            ("kv_state_begin_forward", cache, (3, 4, 5), (1, 1, 1)),
            "error[E0729]: the batch has 3 sequences, but the cache takes 2\n"
            "  = help: create the cache with a larger max_batch_size, or split the batch",
        ),
        (
            ("kv_state_begin_forward", cache, (3,), (2,), (-1, 1)),
            "error[E0729]: node 1 of the tree of sequence 3 has the parent 1\n  = help: a parent is an earlier node of the tree, or -1",
        ),
        (
            (*fused, qkv, output),
            "error[E0722]: no forward step of the cache was begun\n"
            "  = help: call vm.builtin.kv_state_begin_forward(cache, seq_ids, append_lengths) first",
        ),
        (
            ("attention_kv_cache_enable_sliding_window_for_seq", cache, 3, 4, 1),
            "error[E0729]: this cache does not support sliding windows\n  = help: create it with support_sliding_window=1",
        ),
    ]  # fmt: skip
    for use, message in uses:
        assert refusal(lambda use=use: call(*use)) == message
        pair.check()
    call("kv_state_begin_forward", cache, (3,), (1,), (-1,))
    assert refusal(lambda: call(*fused, qkv[:, 1:], output)) == (
        f"error[E0705]: 'qkv': expected shape (n, {Q_HEADS + 2 * KV_HEADS}, {DIM}) with n ≥ 1, got (1, {Q_HEADS + 2 * KV_HEADS - 1}, {DIM})\n"
        "  = help: pass the array of the shape that the cache was created for"
    )
    assert refusal(lambda: call("kv_state_begin_forward", cache, (3,), (1,))) == (
        "error[E0722]: sequence 3 has a tree of tokens that are not accepted yet\n"
        "  = help: call commit_accepted_token_tree_nodes first"
    )


def test_arguments_of_wrong_kinds_are_refused(kernels: dict[str, Any]) -> None:
    cache = create(kernels)
    assert refusal(lambda: call("kv_state_popn", cache)) == (
        "error[E0701]: 'vm.builtin.kv_state_popn': expected 2 arguments after the cache, got 0\n"
        "  = help: pass (cache, seq_id, n)"
    )
    assert refusal(lambda: call("kv_state_fork_sequence", cache, 1)) == (
        "error[E0701]: 'vm.builtin.kv_state_fork_sequence': expected 2 to 3 arguments after the cache, got 1\n"
        "  = help: pass (cache, parent_seq_id, child_seq_id, fork_pos)"
    )
    assert refusal(lambda: call("kv_state_add_sequence", cache, "a")) == (
        "error[E0702]: 'vm.builtin.kv_state_add_sequence': argument 'seq_id' must be an integer, got str\n"
        "  = help: pass an integer"
    )
    assert refusal(lambda: call("kv_state_begin_forward", cache, "a", (1,))) == (
        "error[E0702]: 'vm.builtin.kv_state_begin_forward': argument 'seq_ids' must be a sequence of integers, got str\n"
        "  = help: pass a tuple or list of integers"
    )
    call("kv_state_add_sequence", cache, np.int64(0))
    call("kv_state_begin_forward", cache, np.array([0]), [1])
    assert refusal(lambda: call("attention_kv_cache_attention_with_fused_qkv", cache, 0, 1.0, [], None)) == (
        "error[E0702]: 'qkv': expected an array, got list\n"
        "  = help: pass an array of NumPy, or a tensor of tvms.runtime"
    )


@pytest.mark.parametrize("change", [("kv_state_popn", 0, 2), ("kv_state_remove_sequence", 0)])
def test_a_step_ends_when_a_sequence_in_it_changes(
    kernels: dict[str, Any], change: tuple[Any, ...], random: np.random.Generator
) -> None:
    cache = create(kernels, RopeMode.NONE, slides=True)
    for number in (0, 1):
        call("kv_state_add_sequence", cache, number)
    call("attention_kv_cache_enable_sliding_window_for_seq", cache, 0, 6, 1)
    call("kv_state_begin_forward", cache, (0,), (20,))
    call(change[0], cache, *change[1:])
    qkv = random.standard_normal((20, Q_HEADS + 2 * KV_HEADS, DIM)).astype(np.float32)
    attend = ("attention_kv_cache_attention_with_fused_qkv", cache, 0, SCALE, qkv, qkv[:, :Q_HEADS].copy())
    assert "no forward step of the cache was begun" in refusal(lambda: call(*attend))
    call("kv_state_begin_forward", cache, (1,), (20,))
    call("kv_state_remove_sequence", cache, 1)
    if change[0] == "kv_state_popn":
        assert call("attention_kv_cache_get_total_sequence_length", cache) == 4
        call("kv_state_remove_sequence", cache, 0)
    assert call("attention_kv_cache_empty", cache)


def test_caches_that_are_not_supported_say_so(kernels: dict[str, Any]) -> None:
    assert refusal(lambda: create(kernels, kinds=(1, 1))) == (
        "error[E0729]: multi-head latent attention (MLA) is not supported\n"
        '  = help: use the attention kind "mha", or "mha_sliding"'
    )
    assert "to other machines" in refusal(lambda: create(kernels, transfer=True))
    assert "values 4" in refusal(lambda: create(kernels, v_dim=4))
    assert refusal(lambda: create(kernels, page_size=0)) == (
        "error[E0729]: expected a positive number for page_size, got 0\n  = help: pass at least 1"
    )
    assert refusal(lambda: create(kernels, kinds=(0,))) == (
        "error[E0729]: layers (0, 2) do not fit 1 kinds of attention\n"
        "  = help: pass the first layer and the one after the last, and the kind of attention of each layer"
    )
    assert refusal(lambda: create(kernels, capacity=2**60)) == (
        "error[E0717]: there is no memory left for 2 layers of 288230376151711745 pages\n"
        "  = help: create the cache with a smaller max_total_seq_len"
    )
    assert refusal(lambda: call("kv_state_popn", None, 0, 1)) == (
        "error[E0702]: 'vm.builtin.kv_state_popn': expected a paged cache, got NoneType\n"
        "  = help: pass the result of vm.builtin.paged_attention_kv_cache_create"
    )
    few = ((2, 8, 4, 4, 0), (0, 1), 4, 2, 8, 8, (0,), False, 0, 1.0, 1.0, None, np.zeros(()))
    assert refusal(lambda: call("paged_attention_kv_cache_create", *few)) == (
        "error[E0701]: expected 15 functions of a cache, got 0\n"
        "  = help: pass them in the order of TVM 0.21; see ir/vm_kv_cache.py"
    )
    assert refusal(kv_cache.FlashInferPagedKVCache) == (
        "error[E0729]: FlashInfer is not supported\n  = help: use TIRPagedKVCache, with the same arguments"
    )


class Decoder(nn.Module):
    """A layer of attention with a cache."""

    def __init__(self, dtype: str) -> None:
        super().__init__()
        self.qkv = nn.Linear(16, (Q_HEADS + 2 * KV_HEADS) * DIM, bias=False)
        self.dtype = dtype
        self.to(dtype)

    def forward(self, x: nn.Tensor, cache: PagedKVCache) -> tuple[nn.Tensor, PagedKVCache]:
        b, s, _ = x.shape
        qkv = nn.op.reshape(self.qkv(x), (b, s, Q_HEADS + 2 * KV_HEADS, DIM))
        return cache.attention_with_fused_qkv(0, qkv, Q_HEADS, SCALE), cache

    def partly(self, q: nn.Tensor, k: nn.Tensor, v: nn.Tensor, cache: PagedKVCache) -> tuple[nn.Tensor, nn.Tensor]:
        own = cache.self_attention(0, q, k, v, SCALE)
        merged, _ = cache.merge_attn_output_inplace(*own, *cache.cross_attention(0, q, DIM, SCALE))
        return merged, cache.get_query_positions(q.shape[0] * q.shape[1])

    def shared(self, q: nn.Tensor, k: nn.Tensor, v: nn.Tensor, cache: PagedKVCache) -> nn.Tensor:
        return cache.attention_with_shared_kv(0, q, k, v, SCALE)

    def create(
        self, max_batch_size: Any, max_total_seq_len: Any, prefill_chunk_size: Any, page_size: Any
    ) -> PagedKVCache:
        return TIRPagedKVCache(
            "mha", max_batch_size, max_total_seq_len, prefill_chunk_size, page_size, 0, relax.ShapeExpr([0, 1]), 1, Q_HEADS, KV_HEADS,
            DIM, DIM, 0, 0, RopeMode.NORMAL, 1, THETA, {}, relax.PrimValue(0), DIM, False, self.dtype, tvms.target.Target("llvm"),
        )  # fmt: skip


def exported() -> Any:
    """Return a machine for the methods of `Decoder`."""
    cache = nn.spec.Object(object_type=PagedKVCache)
    heads = {"q": Q_HEADS, "k": KV_HEADS, "v": KV_HEADS}
    parts = {name: nn.spec.Tensor(["b", "s", number, DIM], "float16") for name, number in heads.items()}
    sizes = ("max_batch_size", "max_total_seq_len", "prefill_chunk_size", "page_size")
    spec: dict[str, dict[str, Any]] = {
        "forward": {"x": nn.spec.Tensor(["b", "s", 16], "float16"), "cache": cache},
        "partly": {**parts, "cache": cache},
        "shared": {**parts, "cache": cache},
        "create": dict.fromkeys(sizes, int),
    }
    module, _ = Decoder("float16").export_tvm(spec)
    return relax.VirtualMachine(tvms.compile(module), tvms.cpu())


def test_exported_modules_prefill_and_decode(random: np.random.Generator) -> None:
    n, vm = 9, exported()
    weight = (random.standard_normal(((Q_HEADS + 2 * KV_HEADS) * DIM, 16)) / 4).astype(np.float16)
    cache = vm["create"]((2,), (64,), (16,), (3,), weight)
    x = random.standard_normal((2, n, 16)).astype(np.float16)
    qkv = (x.astype(np.float32) @ weight.astype(np.float32).T).astype(np.float16)
    parts = np.split(qkv.reshape(2, n, -1, DIM).astype(np.float32), [Q_HEADS, Q_HEADS + KV_HEADS], 2)
    q, k = (np.stack([rotate(part, np.arange(n)) for part in whole]) for whole in parts[:2])
    v = parts[2]
    wanted = np.stack([attention(*one, np.arange(n) <= np.arange(n)[:, None]) for one in zip(q, k, v, strict=True)])
    for number in range(2):
        call("kv_state_add_sequence", cache, number)
    for start, stop in ((0, 6), (6, 7), (7, 9)):
        call("kv_state_begin_forward", cache, (0, 1), (stop - start,) * 2)
        new = [np.ascontiguousarray(part[:, start:stop], np.float16) for part in (q, k, v)]
        if start:
            merged, positions = vm["partly"](*new, cache, weight)
            np.testing.assert_allclose(merged.numpy(), wanted[:, start:stop], rtol=5e-3, atol=5e-3)
            np.testing.assert_array_equal(positions.numpy(), [*range(start, stop)] * 2)
        else:
            shared = refusal(partial(vm["shared"], *new, cache, weight))
            assert shared.startswith("error[E0722]: layer 0 has no keys and values of this step yet\n")
        result, cache = vm["forward"](np.ascontiguousarray(x[:, start:stop]), cache, weight)
        np.testing.assert_allclose(result.numpy(), wanted[:, start:stop], rtol=5e-3, atol=5e-3)
        shared = vm["shared"](*new, cache, weight)
        np.testing.assert_allclose(shared.numpy(), wanted[:, start:stop], rtol=5e-3, atol=5e-3)
        call("kv_state_end_forward", cache)
