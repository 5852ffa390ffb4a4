"""A paged cache of keys and values of sequences, which attends to them (TVM: `src/runtime/vm/paged_kv_cache.cc`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

from msgspec import Struct

from .diagnostics import TvmsError, count, error
from .vm_kv_config import INLINE, NORMAL, SLIDING, Config, Kernels
from .vm_sequences import CachedSequence, PageTable, Tree, uncommitted

_CAUSAL, _CAUSAL_IN_WINDOW = 1, 2


class Step(Struct):
    """A forward step of a batch: arrays of int32 for the kernels. Sequences have their new positions already."""

    numbers: tuple[int, ...]
    sequences: list[CachedSequence]
    appended: tuple[int, ...]
    rows: Any
    """(b + 1,): where the rows of each sequence start."""
    positions: Any
    """(n,): the position of each new token for its rotation."""
    places: Any
    """(n,): where each token is in the pages."""
    trees: tuple[Any, Any] | None
    """(b + 1,) and (t, 2): where the nodes of each tree start, and their order; None without trees."""
    layers: set[int]
    """The layers that have their keys and values of this step."""


class PagedCache:
    """Keys and values of sequences for all layers, in pages (pages, 2, kv heads, page size, dim) of each layer."""

    def __init__(self, config: Config, kernels: Kernels) -> None:
        import numpy as np

        self.config, self._kernels = config, kernels
        shape = (config.pages, 2, config.kv_heads, config.page_size, config.qk_dim)
        try:
            self.pages = [np.zeros(shape, config.dtype) for _ in config.layers]
        except (MemoryError, ValueError):  # NumPy refuses sizes beyond the address space with a ValueError
            said = f"there is no memory left for {count(len(config.layers), 'layer')} of {count(config.pages, 'page')}"
            raise error("E0717", said, None, "create the cache with a smaller max_total_seq_len") from None
        self.clear()

    def clear(self) -> None:
        """Remove all sequences."""
        self.table = PageTable(self.config.pages, self.config.page_size, self._copy_page)
        self._step: Step | None = None

    def _copy_page(self, source: int, destination: int, positions: int) -> None:
        for pages in self.pages:
            self._kernels.copy_page(pages, source, destination, positions)

    # --- Steps

    def begin(self, numbers: Sequence[int], appended: Sequence[int], parents: Sequence[int] | None = None) -> None:
        """Append that many positions to each sequence, whose keys and values follow layer by layer.

        `parents` makes them nodes of trees: for each new token its parent in the tree of its sequence, or -1.
        """
        self.end()
        sequences = self._check_batch(numbers, appended)
        trees = self._trees(numbers, sequences, appended, parents)
        self._check_room(list(zip(sequences, appended, strict=True)))
        for sequence, tree, positions in zip(sequences, trees, appended, strict=True):
            self.table.extend(sequence, positions)
            sequence.tree = tree
        self._step = self._new_step(tuple(numbers), sequences, tuple(appended), parents is not None)

    def end(self) -> None:
        """End the step, if there is one: sequences with a window slide."""
        if self._step is not None:
            for sequence in self._step.sequences:
                self.table.slide(sequence)
            self._step = None

    def _check_batch(self, numbers: Sequence[int], appended: Sequence[int]) -> list[CachedSequence]:
        config = self.config
        if len(numbers) != len(appended):
            help = "pass one length for each sequence"
            raise refused(f"expected {count(len(numbers), 'length')}, got {len(appended)}", help)
        if len(set(numbers)) < len(numbers):
            raise refused("a sequence occurs twice in the batch", "append all its positions at once")
        if len(numbers) > config.max_batch_size:
            help = "create the cache with a larger max_batch_size, or split the batch"
            raise refused(f"the batch has {len(numbers)} sequences, but the cache takes {config.max_batch_size}", help)
        if any(length < 0 for length in appended):
            raise refused(f"cannot append {min(appended)} positions", "append 0 or more")
        if sum(appended) > config.prefill_chunk_size:
            help = "create the cache with a larger prefill_chunk_size, or append in several steps"
            said = f"the batch appends {sum(appended)} positions, but the cache takes {config.prefill_chunk_size} in a step"
            raise refused(said, help)
        return [self.table[number] for number in numbers]

    def _check_room(self, batch: Sequence[tuple[CachedSequence, int]]) -> None:
        needed, free = self.table.needed(batch), len(self.table.free)
        if needed > free:
            said = f"the cache is full: it takes {count(needed, 'page')} to append, and {free} of {self.config.pages} are free"
            help = "remove sequences, or create the cache with a larger max_total_seq_len"
            raise refused(said, help)

    def _trees(
        self, numbers: Sequence[int], sequences: Sequence[CachedSequence], appended: Sequence[int], parents: Sequence[int] | None
    ) -> list[Tree]:  # fmt: skip
        """Return the trees of the sequences with their new nodes."""
        if parents is None:
            for number, sequence in zip(numbers, sequences, strict=True):
                if sequence.tree.parents:
                    raise uncommitted(number)
            return [sequence.tree for sequence in sequences]
        if self.config.slides or self.config.rope_mode == INLINE or SLIDING in self.config.kinds:
            help = 'use a cache without sliding window, and with the rope_mode "normal" or "none"'
            raise refused("this cache cannot attend to trees of tokens", help)
        if len(parents) != sum(appended):
            help = "pass the parent of each new token"
            raise refused(f"expected {count(sum(appended), 'parent')} of tokens, got {len(parents)}", help)
        given, trees = iter(parents), list[Tree]()
        for number, sequence, length in zip(numbers, sequences, appended, strict=True):
            nodes = [*sequence.tree.parents, *(next(given) for _ in range(length))]
            for node, parent in enumerate(nodes):
                if not -1 <= parent < node:
                    said = f"node {node} of the tree of sequence {number} has the parent {parent}"
                    raise refused(said, "a parent is an earlier node of the tree, or -1")
            trees.append(Tree(nodes))
        return trees

    def _new_step(
        self, numbers: tuple[int, ...], sequences: list[CachedSequence], appended: tuple[int, ...], has_trees: bool
    ) -> Step:  # fmt: skip
        positions, places, order, starts = list[int](), list[int](), list[tuple[int, int]](), [0]
        for sequence, length in zip(sequences, appended, strict=True):
            new = range(sequence.length - length, sequence.length)
            depths = sequence.tree.depths[len(sequence.tree.depths) - length :]
            positions += [sequence.start + depth for depth in depths] if has_trees else new
            places += self.table.places(sequence, new)
            order += sequence.tree.order()
            starts.append(len(order))
        trees = (_int32(starts), _int32(order).reshape(-1, 2)) if has_trees else None
        rows = _int32(accumulate(appended, initial=0))
        return Step(numbers, sequences, appended, rows, _int32(positions), _int32(places), trees, set())

    @property
    def step(self) -> Step:
        """The step that was begun; TvmsError E0722 if there is none."""
        if self._step is None:
            help = "call vm.builtin.kv_state_begin_forward(cache, seq_ids, append_lengths) first"
            raise error("E0722", "no forward step of the cache was begun", None, help)
        return self._step

    # --- Attention

    def attend_fused(self, layer: int, scale: float, qkv: Any, output: Any) -> None:
        """Write keys and values of the step to the pages of a layer, and attend to all positions.

        `qkv` is (n, q heads + 2 kv heads, dim), with at least the rows of the step, and `output` (n, q heads, dim).
        """
        import numpy as np

        config, step = self.config, self.step
        pages, rows = self._pages(layer), len(step.places)
        _check_shape("qkv", qkv, (None, config.q_heads + 2 * config.kv_heads, config.qk_dim), rows)
        _check_shape("output", output, (None, config.q_heads, config.v_dim), rows)
        if rows == 0:
            return
        q, k, v = (
            np.empty((rows, heads, config.qk_dim), config.dtype) for heads in (config.q_heads, *[config.kv_heads] * 2)
        )
        last = int(config.rope_mode == NORMAL) if config.factors is None else config.factors
        self._kernels.split(qkv[:rows], step.positions, q, k, v, last)
        self._kernels.append(pages, k, v, step.places)
        step.layers.add(layer)
        self._attend(layer, scale, q, output[:rows])

    def attend_shared(self, layer: int, scale: float, q: Any, output: Any) -> None:
        """Attend with other queries to the keys and values of a layer, which has those of this step."""
        if layer not in self.step.layers:
            help = "call attention_with_fused_qkv of that layer first"
            raise error("E0722", f"layer {layer} has no keys and values of this step yet", None, help)
        _check_shape("q", q, (None, self.config.q_heads, self.config.qk_dim), len(self.step.places))
        self._attend(layer, scale, q, output)

    def attend_self(self, layer: int, scale: float, q: Any, k: Any, v: Any, output: Any, lse: Any) -> None:
        """Attend to the keys and values of the step only, which are given; `lse` gets the logarithms of the sums."""
        step = self.step
        self._pages(layer)
        common = (q, step.rows, k, v, step.rows, step.positions)
        if step.trees is not None:
            self._kernels.tree(*common, *step.trees, output, lse, *self._scalars(scale))
            return
        first = _int32(sequence.length - length for sequence, length in zip(step.sequences, step.appended, strict=True))
        self._kernels.ragged(*common, first, output, lse, _CAUSAL, *self._scalars(scale))

    def attend_cached(self, layer: int, scale: float, q: Any, output: Any, lse: Any) -> None:
        """Attend to the positions before the step only; `lse` gets the logarithms of the sums."""
        step = self.step
        before = [sequence.length - length for sequence, length in zip(step.sequences, step.appended, strict=True)]
        tables = self._tables(before, [0] * len(before))
        kernel = self._kernels.sliding_prefill if self.config.slides else self._kernels.prefill
        kernel(q, step.rows, self._pages(layer), *tables, step.positions, output, lse, 0, *self._scalars(scale))

    def merge(self, output: Any, lse: Any, other: Any, other_lse: Any) -> tuple[Any, Any]:
        """Merge two attentions to different keys in place of the first, and return it."""
        self._kernels.merge(output, lse, other, other_lse)
        return output, lse

    def _attend(self, layer: int, scale: float, q: Any, output: Any) -> None:
        """Attend to all positions of the sequences of the step."""
        import numpy as np

        config, step, kernels = self.config, self.step, self._kernels
        is_sliding = config.kinds[layer] == SLIDING
        is_decode = all(length == 1 for length in step.appended) and step.trees is None
        stops = [sequence.length for sequence in step.sequences]
        skipped = [max(stop - config.layer_window, 0) if is_sliding and is_decode else 0 for stop in stops]
        tables = self._tables(stops, skipped, is_sliding)
        results = output, np.empty(output.shape[:2], np.float32)
        pages, scalars = self._pages(layer), self._scalars(scale)
        if step.trees is not None:
            kernels.paged_tree(q, step.rows, pages, *tables, step.positions, *results, *scalars, *step.trees)
        elif is_decode:
            kernel = kernels.sliding_decode if config.slides or is_sliding else kernels.decode
            kernel(q, pages, *tables, step.positions, *results, *scalars)
        else:
            kernel = kernels.sliding_prefill if config.slides or is_sliding else kernels.prefill
            mask = _CAUSAL_IN_WINDOW if is_sliding else _CAUSAL
            kernel(q, step.rows, pages, *tables, step.positions, *results, mask, *scalars)

    def _tables(self, stops: Sequence[int], skipped: Sequence[int], is_sliding: bool = False) -> tuple[Any, ...]:
        """Return where the pages of each sequence start, the pages, their length information, and the first positions.

        Of each sequence, the positions up to `stops` count, without the first `skipped`.
        """
        size, starts, numbers, info = self.config.page_size, [0], list[int](), list[tuple[int, int, int]]()
        for sequence, stop, skip in zip(self.step.sequences, stops, skipped, strict=True):
            extent = sequence.slot(stop - 1) + 1
            numbers += sequence.pages[: -(-extent // size)]
            starts.append(len(numbers))
            offset, sink = (skip, 0) if skip else (sequence.offset, sequence.sink)
            info.append(((extent - 1) % size + 1 if extent else 0, offset, sink))
        slides = self.config.slides or is_sliding
        lengths = _int32(info).reshape(-1, 3).T.copy() if slides else _int32(last for last, _, _ in info)
        return _int32(starts), _int32(numbers), lengths, _int32(skipped)

    def _scalars(self, scale: float) -> tuple[int, float, float, float]:
        config = self.config
        return int(config.rope_mode == INLINE), config.rope_scale, config.rope_theta, float(scale)

    def _pages(self, layer: int) -> Any:
        if layer not in self.config.layers:
            first, last = self.config.layers[0], self.config.layers[-1]
            raise refused(f"the cache has no layer {layer}", f"its layers are {first} to {last}; use one of these")
        return self.pages[layer - self.config.layers.start]

    # --- Sequences

    def set_window(self, number: int, window: int, sink: int) -> None:
        """Let a sequence keep its first `sink` positions, and of the others the last, `window` in all."""
        sequence = self.table[number]
        if not self.config.slides and SLIDING not in self.config.kinds:
            raise refused("this cache does not support sliding windows", "create it with support_sliding_window=1")
        if sequence.window is not None:
            raise refused(f"sequence {number} already has a sliding window", "set it once, before the first step")
        if not 0 <= sink < window:
            raise refused(
                f"expected fewer sinks than the {window} positions of the window, got {sink}", "give a smaller sink"
            )
        sequence.window, sequence.sink, sequence.offset = window, sink, sink

    def _ready(self, number: int) -> CachedSequence:
        """Return a sequence that is about to change; the step ends if the sequence takes part in it."""
        sequence = self.table[number]
        if self._step is not None and number in self._step.numbers:
            self.end()
        return sequence

    def remove(self, number: int) -> None:
        """Remove a sequence."""
        self._ready(number)
        self.table.remove(number)

    def pop(self, number: int, positions: int) -> None:
        """Remove the last positions of a sequence."""
        if self._ready(number).tree.parents:
            raise uncommitted(number)
        self.table.pop(number, positions)

    def accept(self, numbers: Sequence[int], leaves: Sequence[int]) -> None:
        """Keep of the tree of each sequence the path to a node, none for -1, and remove the others."""
        if len(numbers) != len(leaves):
            raise refused(
                f"expected {count(len(numbers), 'node')}, got {len(leaves)}", "pass one node for each sequence"
            )
        for number, leaf in zip(numbers, leaves, strict=True):
            nodes = len(self._ready(number).tree.parents)
            if not -1 <= leaf < nodes:
                said = f"the tree of sequence {number} has {count(nodes, 'node')}, and no node {leaf}"
                raise refused(said, "accept one of its nodes, or -1 for none")
        copies, starts = list[tuple[int, int]](), [0]
        for number, leaf in zip(numbers, leaves, strict=True):
            copies += self._accepted(number, leaf)
            starts.append(len(copies))
        if copies:
            moved = _int32(copies).T.copy()
            for pages in self.pages:
                self._kernels.compact(pages, _int32(starts), moved, len(numbers))
        for number, leaf in zip(numbers, leaves, strict=True):
            tree, self.table[number].tree = self.table[number].tree, Tree(())
            self.table.pop(number, len(tree.parents) - len(tree.path(leaf)))

    def _accepted(self, number: int, leaf: int) -> Iterable[tuple[int, int]]:
        """Yield from where to where the nodes of a path move in the pages."""
        sequence = self.table[number]
        moved = [(node, target) for target, node in enumerate(sequence.tree.path(leaf)) if node != target]
        places = list(self.table.places(sequence, range(sequence.start, sequence.length)))
        return [(places[node], places[target]) for node, target in moved]

    def get(self, number: int, start: int, stop: int, keys: Any, values: Any) -> None:
        """Write keys and values of positions to arrays (layers, stop - start, kv heads, dim)."""
        sequence = self.table[number]
        if not 0 <= start <= stop <= sequence.length:
            said = f"sequence {number} of length {sequence.length} has no positions {start} to {stop}"
            raise refused(said, "ask for positions that it has")
        shape = (len(self.pages), stop - start, self.config.kv_heads, self.config.qk_dim)
        _check_shape("k_data", keys, shape)
        _check_shape("v_data", values, shape)
        places = _int32(self.table.places(sequence, range(start, stop)))
        if len(places):
            for layer, pages in enumerate(self.pages):
                self._kernels.get(pages, places, keys, values, layer)


def _int32(values: Iterable[Any]) -> Any:
    import numpy as np

    return np.array(list(values), np.int32)


def refused(message: str, help: str) -> TvmsError:
    """Return the error of a request that the cache cannot serve."""
    return error("E0729", message, None, help)


def _check_shape(name: str, value: Any, shape: Sequence[int | None], rows: int = 0) -> None:
    """Raise TvmsError E0705 if an array has another shape, or fewer rows."""
    if not hasattr(value, "shape"):
        said = f"'{name}': expected an array, got {type(value).__name__}"
        raise error("E0702", said, None, "pass an array of NumPy, or a tensor of tvms.runtime")
    fits = len(value.shape) == len(shape) and all(
        wanted in (None, size) for size, wanted in zip(value.shape, shape, strict=True)
    )
    if not fits or value.shape[0] < rows:
        wanted = ", ".join("n" if size is None else str(size) for size in shape)
        least = f" with n ≥ {rows}" if rows else ""
        help = "pass the array of the shape that the cache was created for"
        raise error("E0705", f"'{name}': expected shape ({wanted}){least}, got {tuple(value.shape)}", None, help)
