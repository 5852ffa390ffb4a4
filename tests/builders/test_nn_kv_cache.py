"""Paged caches of keys and values, against plain arrays that keep all keys and values of each sequence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvms
from tvms import relax
from tvms.relax.frontend import nn
from tvms.relax.frontend.nn.llm import kv_cache
from tvms.relax.frontend.nn.llm.kv_cache import AttnKind, PagedKVCache, RopeMode, TIRPagedKVCache

LAYERS, Q_HEADS, KV_HEADS, DIM, PAGE = 2, 4, 2, 8, 4
SCALE, THETA = DIM**-0.5, 100.0
Array = np.ndarray[Any, Any]


def call(name: str, *args: Any) -> Any:
    return tvms.get_global_func(f"vm.builtin.{name}")(*args)


@pytest.fixture(scope="module")
def kernels() -> dict[str, Any]:
    heads = (KV_HEADS, Q_HEADS, DIM, "float32")
    functions: dict[str, Any] = {
        "append": kv_cache._kv_cache_transpose_append(KV_HEADS, DIM, "float32", PAGE),  # type: ignore[reportPrivateUsage]
        "ragged": kv_cache._attention_prefill_ragged_cpu(*heads[:3], DIM, "float32", {}),  # type: ignore[reportPrivateUsage]
        "prefill": kv_cache._attention_prefill_cpu(*heads, False, {}, PAGE),  # type: ignore[reportPrivateUsage]
        "decode": kv_cache._attention_decode_cpu(*heads, False, {}, PAGE),  # type: ignore[reportPrivateUsage]
        "sliding_prefill": kv_cache._attention_prefill_cpu(*heads, True, {}, PAGE, 5),  # type: ignore[reportPrivateUsage]
        "sliding_decode": kv_cache._attention_decode_cpu(*heads, True, {}, PAGE),  # type: ignore[reportPrivateUsage]
        "paged_tree": kv_cache.tree_attn_with_paged_kv_cache_cpu(*heads, {}, PAGE),
        "tree": kv_cache.tree_attn_cpu(*heads, {}),
        "merge": kv_cache._merge_state_inplace_cpu("float32"),  # type: ignore[reportPrivateUsage]
        "split": kv_cache.llama_rope_with_position_map(THETA, 1.0, DIM, Q_HEADS, KV_HEADS, "float32", {}),
        "copy": kv_cache._copy_single_page_cpu(KV_HEADS, PAGE, DIM, "float32"),  # type: ignore[reportPrivateUsage]
        "get": kv_cache._kv_cache_debug_get_kv(LAYERS, KV_HEADS, DIM, "float32"),  # type: ignore[reportPrivateUsage]
        "compact": kv_cache._compact_kv_copy_cpu(KV_HEADS, DIM, "float32", PAGE),  # type: ignore[reportPrivateUsage]
    }
    built = tvms.compile(
        tvms.IRModule({name: function.without_attr("global_symbol") for name, function in functions.items()})
    )
    return {name: built[name] for name in functions}


def create(
    kernels: dict[str, Any], mode: int = RopeMode.NORMAL, *, slides: bool = False, kinds: tuple[int, ...] = (0,) * LAYERS,
    capacity: int = 400, batch: int = 8, **changed: Any,
) -> Any:  # fmt: skip
    k = kernels
    order = [
        k["append"], None, *(["tir", k[name]] for name in ("ragged", "prefill", "decode", "sliding_prefill", "sliding_decode")),
        ["tir", k["paged_tree"]], ["tir", k["tree"]], [], [k["merge"]], k["split"], k["copy"], k["get"], k["compact"],
    ]  # fmt: skip
    sizes = (batch, capacity, 60, PAGE, int(slides), 5)
    return call(
        "paged_attention_kv_cache_create", sizes, (0, LAYERS), Q_HEADS, KV_HEADS, DIM, changed.get("v_dim", DIM), kinds,
        changed.get("transfer", False), mode, 1.0, THETA, None, np.zeros((), np.float32), *order,
    )  # fmt: skip


def rotate(x: Array, positions: Any) -> Array:
    """Rotate the last dimension of `x` (…, n, heads, dim)."""
    angle = np.asarray(positions)[:, None, None] / THETA ** (np.arange(DIM) * 2 % DIM / DIM)
    turned = np.concatenate([-x[..., DIM // 2 :], x[..., : DIM // 2]], -1)
    return x * np.cos(angle) + turned * np.sin(angle)


def attention(q: Array, k: Array, v: Array, mask: Array) -> Array:
    group = Q_HEADS // KV_HEADS
    scores = np.einsum("qhd,khd->hqk", q, k.repeat(group, 1)) * SCALE
    scores = np.where(mask, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True, initial=-1e30))
    return np.einsum("hqk,khd->qhd", weights / weights.sum(-1, keepdims=True), v.repeat(group, 1))


class Plain:
    """The keys (as they are cached) and values of a sequence, (layers, n, heads, dim), its window and its tree."""

    def __init__(self) -> None:
        self.k = self.v = np.zeros((LAYERS, 0, KV_HEADS, DIM), np.float32)
        self.window: tuple[int, int] | None = None
        self.tree: list[int] = []

    def __len__(self) -> int:
        return self.k.shape[1]

    def take(self, chosen: Any) -> None:
        self.k, self.v = self.k[:, chosen], self.v[:, chosen]

    def depths(self) -> list[int]:
        found: list[int] = []
        for parent in self.tree:
            found.append(0 if parent < 0 else found[parent] + 1)
        return found

    def path(self, node: int) -> list[int]:
        return [] if node < 0 else [*self.path(self.tree[node]), node]


class Pair:
    """A cache, and plain sequences with the same contents."""

    def __init__(self, cache: Any, mode: int, random: np.random.Generator) -> None:
        self.cache, self.mode, self.random = cache, mode, random
        self.plain: dict[int, Plain] = {}
        self.layer_window = [5 if kind == AttnKind.MHA_SLIDING else 1000 for kind in cache.config.kinds]

    def add(self, number: int, window: tuple[int, int] | None = None) -> None:
        call("kv_state_add_sequence", self.cache, number)
        self.plain[number] = Plain()
        if window:
            call("attention_kv_cache_enable_sliding_window_for_seq", self.cache, number, *window)
            self.plain[number].window = window

    def fork(self, parent: int, child: int, position: int) -> None:
        call("kv_state_fork_sequence", self.cache, parent, child, position)
        source, self.plain[child] = self.plain[parent], Plain()
        end = len(source) if position < 0 else position
        self.plain[child].k, self.plain[child].v = source.k[:, :end], source.v[:, :end]

    def pop(self, number: int, positions: int) -> None:
        call("kv_state_popn", self.cache, number, positions)
        self.plain[number].take(np.arange(len(self.plain[number]) - positions))

    def step(self, batch: dict[int, int], trees: dict[int, list[int]] | None = None) -> None:
        """Append positions to sequences, with the parents of new nodes of their trees, and compare the attention of all layers."""
        lengths = list(batch.values())
        parents = None if trees is None else tuple(parent for number in batch for parent in trees[number])
        call("kv_state_begin_forward", self.cache, tuple(batch), tuple(lengths), parents)
        if trees is not None:
            for number in batch:
                self.plain[number].tree += trees[number]
        n, heads = sum(lengths), Q_HEADS + 2 * KV_HEADS
        qkv = self.random.standard_normal((LAYERS, n, heads, DIM)).astype(np.float32)
        positions = [self.positions(number, length) for number, length in batch.items()]
        got = call("attention_kv_cache_get_query_positions", self.cache)
        np.testing.assert_array_equal(got, np.concatenate(positions))
        starts = np.cumsum([0, *lengths])
        for (number, length), start, at in zip(batch.items(), starts, positions, strict=False):
            k, v = qkv[:, start : start + length, Q_HEADS:-KV_HEADS], qkv[:, start : start + length, -KV_HEADS:]
            plain = self.plain[number]
            plain.k = np.concatenate([plain.k, rotate(k, at) if self.mode == RopeMode.NORMAL else k], 1)
            plain.v = np.concatenate([plain.v, v], 1)
        for layer in range(LAYERS):
            output = np.full((n, Q_HEADS, DIM), np.nan, np.float32)
            call("attention_kv_cache_attention_with_fused_qkv", self.cache, layer, SCALE, qkv[layer], output)
            for (number, length), start, at in zip(batch.items(), starts, positions, strict=False):
                wanted = self.expected(number, layer, qkv[layer, start : start + length, :Q_HEADS], at)
                np.testing.assert_allclose(output[start : start + length], wanted, rtol=2e-4, atol=2e-5)
        call("kv_state_end_forward", self.cache)
        for number in batch:
            self.slide(self.plain[number])

    def positions(self, number: int, length: int) -> Array:
        plain = self.plain[number]
        if plain.tree:
            return len(plain) - (len(plain.tree) - length) + np.array(plain.depths()[len(plain.tree) - length :], int)
        return np.arange(len(plain), len(plain) + length)

    def expected(self, number: int, layer: int, q: Array, at: Array) -> Array:
        plain = self.plain[number]
        k = plain.k[layer]
        if self.mode != RopeMode.NONE:
            q = rotate(q, at)
        if self.mode == RopeMode.INLINE:
            k = rotate(k, np.arange(len(plain)))
        rows, columns = np.arange(len(plain) - len(q), len(plain))[:, None], np.arange(len(plain))
        mask = (columns <= rows) & (columns > rows - self.layer_window[layer])
        if plain.tree:
            first = len(plain) - len(plain.tree)
            for row, node in enumerate(range(len(plain.tree) - len(q), len(plain.tree))):
                mask[row, first:] = np.isin(np.arange(len(plain.tree)), plain.path(node))
        return attention(q, k, plain.v[layer], mask)

    def slide(self, plain: Plain) -> None:
        if plain.window and len(plain) > plain.window[0]:
            window, sink = plain.window
            plain.take([*range(sink), *range(len(plain) - window + sink, len(plain))])

    def accept(self, leaves: dict[int, int]) -> None:
        call("attention_kv_cache_commit_accepted_token_tree_nodes", self.cache, tuple(leaves), tuple(leaves.values()))
        for number, leaf in leaves.items():
            plain = self.plain[number]
            first = len(plain) - len(plain.tree)
            plain.take([*range(first), *(first + node for node in plain.path(leaf))])
            plain.tree = []

    def check(self) -> None:
        """Compare the contents of all sequences."""
        for number, plain in self.plain.items():
            k, v = (np.zeros(plain.k.shape, np.float32) for _ in range(2))
            call("attention_kv_cache_debug_get_kv", self.cache, number, 0, len(plain), k, v)
            np.testing.assert_allclose(k, plain.k, rtol=1e-5, atol=1e-5)
            np.testing.assert_array_equal(v, plain.v)
        total = call("attention_kv_cache_get_total_sequence_length", self.cache)
        assert total == sum(map(len, self.plain.values()))

    def remove_all(self) -> None:
        """Remove the sequences one by one; then all pages are free."""
        while self.plain:
            number = int(self.random.choice(list(self.plain)))
            call("kv_state_remove_sequence", self.cache, number)
            del self.plain[number]
            self.check()
        assert call("attention_kv_cache_empty", self.cache)


def random_operation(pair: Pair, number: int, has_trees: bool) -> None:
    """Do one of the operations that the state allows; `number` is a new one."""
    random, plain = pair.random, pair.plain
    slides = pair.cache.config.slides
    kind = str(random.choice(["add", "fork", "pop", "remove", "decode", "prefill", "prefill", "tree"]))
    chosen = int(random.choice(list(plain))) if plain else 0
    batch = {int(one): 1 for one in random.permutation(list(plain))[: random.integers(1, 5)]}
    if kind == "add" or not plain:
        pair.add(
            number,
            (int(random.integers(4, 12)), int(random.integers(0, 4))) if slides and random.random() < 0.7 else None,
        )
    elif kind == "fork":
        window = plain[chosen].window
        end = min(len(plain[chosen]), window[1]) if window else len(plain[chosen])
        pair.fork(chosen, number, int(random.integers(0, end + 1)))
    elif kind == "pop":
        pair.pop(chosen, int(random.integers(0, len(plain[chosen]) + 1)))
    elif kind == "remove" and len(plain) > 4:
        call("kv_state_remove_sequence", pair.cache, chosen)
        del plain[chosen]
    elif kind == "tree" and has_trees:
        for _ in range(random.integers(1, 3)):
            batch = {one: int(random.integers(1, 6)) for one in batch}
            sizes = {one: len(plain[one].tree) for one in batch}
            pair.step(
                batch,
                {one: [int(random.integers(-1, sizes[one] + n)) for n in range(count)] for one, count in batch.items()},
            )
        pair.check()
        pair.accept({one: int(random.integers(-1, len(plain[one].tree))) for one in batch})
    else:
        pair.step(batch if kind == "decode" else {one: int(random.integers(0, 10)) for one in batch})


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


def test_caches_that_are_not_supported_say_so(kernels: dict[str, Any]) -> None:
    assert refusal(lambda: create(kernels, kinds=(1, 1))) == (
        "error[E0729]: multi-head latent attention (MLA) is not supported\n"
        '  = help: use the attention kind "mha", or "mha_sliding"'
    )
    assert "to other machines" in refusal(lambda: create(kernels, transfer=True))
    assert "values 4" in refusal(lambda: create(kernels, v_dim=4))
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

    def create(
        self, max_batch_size: Any, max_total_seq_len: Any, prefill_chunk_size: Any, page_size: Any
    ) -> PagedKVCache:
        return TIRPagedKVCache(
            "mha", max_batch_size, max_total_seq_len, prefill_chunk_size, page_size, 0, relax.ShapeExpr([0, 1]), 1, Q_HEADS, KV_HEADS,
            DIM, DIM, 0, 0, RopeMode.NORMAL, 1, THETA, {}, relax.PrimValue(0), DIM, False, self.dtype, tvms.target.Target("llvm"),
        )  # fmt: skip


def test_exported_modules_prefill_and_decode(random: np.random.Generator) -> None:
    sizes = ("max_batch_size", "max_total_seq_len", "prefill_chunk_size", "page_size")
    step = {"x": nn.spec.Tensor(["b", "s", 16], "float16"), "cache": nn.spec.Object(object_type=PagedKVCache)}
    module, _ = Decoder("float16").export_tvm({"forward": step, "create": dict.fromkeys(sizes, int)})
    vm = relax.VirtualMachine(tvms.compile(module), tvms.cpu())
    weight = (random.standard_normal(((Q_HEADS + 2 * KV_HEADS) * DIM, 16)) / 4).astype(np.float16)
    cache = vm["create"]((2,), (64,), (16,), (3,), weight)
    x = random.standard_normal((2, 9, 16)).astype(np.float16)
    qkv = (
        (x.astype(np.float32) @ weight.astype(np.float32).T)
        .astype(np.float16)
        .astype(np.float32)
        .reshape(2, 9, -1, DIM)
    )
    for number in range(2):
        call("kv_state_add_sequence", cache, number)
    got: list[Array] = []
    for start, stop in ((0, 7), (7, 8), (8, 9)):
        call("kv_state_begin_forward", cache, (0, 1), (stop - start,) * 2)
        result, cache = vm["forward"](np.ascontiguousarray(x[:, start:stop]), cache, weight)
        call("kv_state_end_forward", cache)
        got.append(result.numpy())
    mask = np.arange(9) <= np.arange(9)[:, None]
    for number in range(2):
        q, k, v = np.split(qkv[number], [Q_HEADS, Q_HEADS + KV_HEADS], 1)
        wanted = attention(rotate(q, np.arange(9)), rotate(k, np.arange(9)), v, mask)
        np.testing.assert_allclose(np.concatenate(got, 1)[number], wanted, rtol=5e-3, atol=5e-3)
