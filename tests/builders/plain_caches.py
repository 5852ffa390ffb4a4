"""Paged caches of keys and values, and plain arrays that keep all keys and values of each sequence."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import tvms
from tvms.relax.frontend.nn.llm import kv_cache
from tvms.relax.frontend.nn.llm.kv_cache import AttnKind, RopeMode

LAYERS, Q_HEADS, KV_HEADS, DIM, PAGE = 2, 4, 2, 8, 4
SCALE, THETA = DIM**-0.5, 100.0
Array = np.ndarray[Any, Any]


def call(name: str, *args: Any) -> Any:
    return tvms.get_global_func(f"vm.builtin.{name}")(*args)


def built(target: str) -> dict[str, Any]:
    """Return the functions of a cache, compiled for a target."""
    heads, k = (KV_HEADS, Q_HEADS, DIM, "float32"), cast("Any", kv_cache)
    functions: dict[str, tvms.PrimFunc] = {
        "append": k._kv_cache_transpose_append(KV_HEADS, DIM, "float32", PAGE),
        "split": k.llama_rope_with_position_map(THETA, 1.0, DIM, Q_HEADS, KV_HEADS, "float32", {}),
        "get": k._kv_cache_debug_get_kv(LAYERS, KV_HEADS, DIM, "float32"),
    }
    if target == "llvm":
        functions |= {
            "ragged": k._attention_prefill_ragged_cpu(*heads[:3], DIM, "float32", {}),
            "prefill": k._attention_prefill_cpu(*heads, False, {}, PAGE),
            "decode": k._attention_decode_cpu(*heads, False, {}, PAGE),
            "sliding_prefill": k._attention_prefill_cpu(*heads, True, {}, PAGE, 5),
            "sliding_decode": k._attention_decode_cpu(*heads, True, {}, PAGE),
            "paged_tree": k.tree_attn_with_paged_kv_cache_cpu(*heads, {}, PAGE),
            "tree": k.tree_attn_cpu(*heads, {}),
            "merge": k._merge_state_inplace_cpu("float32"),
            "copy": k._copy_single_page_cpu(KV_HEADS, PAGE, DIM, "float32"),
            "compact": k._compact_kv_copy_cpu(KV_HEADS, DIM, "float32", PAGE),
        }
    else:
        functions |= {
            "ragged": k._attention_prefill_ragged(*heads[:3], DIM, "float32", {}, target),
            "prefill": k._attention_prefill(*heads, False, {}, target, PAGE),
            "decode": k._attention_decode(*heads, False, {}, target, PAGE),
            "sliding_prefill": k._attention_prefill(*heads, True, {}, target, PAGE, 5),
            "sliding_decode": k._attention_decode(*heads, True, {}, target, PAGE),
            "paged_tree": k.tree_attn_with_paged_kv_cache(*heads, {}, target, PAGE),
            "tree": k.tree_attn(*heads, {}, target),
            "merge": k._merge_state_inplace(Q_HEADS, DIM, "float32", target),
            "copy": k._copy_single_page(KV_HEADS, PAGE, DIM, "float32", target),
            "compact": k._compact_kv_copy(KV_HEADS, DIM, "float32", target, PAGE),
        }
    plain: dict[str, Any] = {name: function.without_attr("global_symbol") for name, function in functions.items()}
    executable = tvms.compile(tvms.IRModule(plain), target)
    return {name: executable[name] for name in functions}


def create(
    kernels: dict[str, Any], mode: int = RopeMode.NORMAL, *, slides: bool = False, kinds: tuple[int, ...] = (0,) * LAYERS,
    capacity: int = 400, batch: int = 8, **changed: Any,
) -> Any:  # fmt: skip
    k = kernels
    order = [
        k["append"], None, *(["tir", k[name]] for name in ("ragged", "prefill", "decode", "sliding_prefill", "sliding_decode")),
        ["tir", k["paged_tree"]], ["tir", k["tree"]], [], [k["merge"]], k["split"], k["copy"], k["get"], k["compact"],
    ]  # fmt: skip
    sizes = (batch, capacity, 60, changed.get("page_size", PAGE), int(slides), 5)
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
