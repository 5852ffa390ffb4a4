"""Sequences of positions in pages of memory. Sequences share pages until one of them writes to one (copy on write).

A sequence of `length` positions occupies the slots `0 … extent - 1` of its pages, in order. Position `p` is in slot `p`, except with a
sliding window: the first `sink` positions stay, the others are in slots from `offset` on, and pages before these are given back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from .diagnostics import TvmsError, count, error

Copy: TypeAlias = "Callable[[int, int, int], None]"
"""Copies the first positions of a page to another: source, destination, number of positions."""


class Tree:
    """Tokens that were appended as trees, and of which a path is accepted later; node `i` has the parent `parents[i]`, or -1."""

    def __init__(self, parents: Sequence[int]) -> None:
        self.parents = list(parents)
        self.depths: list[int] = []
        for parent in parents:
            self.depths.append(0 if parent < 0 else self.depths[parent] + 1)

    def path(self, node: int) -> list[int]:
        """Return the nodes from the root to `node`; none for -1."""
        found: list[int] = []
        while node >= 0:
            found.append(node)
            node = self.parents[node]
        return found[::-1]

    def order(self) -> list[tuple[int, int]]:
        """Return for each node how many nodes a walk from the roots enters before it, and before it leaves it again."""
        sizes = [1] * len(self.parents)
        for node in range(len(sizes) - 1, -1, -1):
            if self.parents[node] >= 0:
                sizes[self.parents[node]] += sizes[node]
        starts, roots, following = [0] * len(sizes), 0, [0] * len(sizes)
        for node, parent in enumerate(self.parents):
            if parent < 0:
                starts[node], roots = roots, roots + sizes[node]
            else:
                starts[node] = following[parent]
                following[parent] += sizes[node]
            following[node] = starts[node] + 1
        return [(start, start + size) for start, size in zip(starts, sizes, strict=True)]


class CachedSequence:
    """The pages of a sequence, its window if it slides, and its tree of tokens that are not accepted yet."""

    def __init__(self, length: int = 0, pages: Iterable[int] = ()) -> None:
        self.length, self.pages = length, list(pages)
        self.window: int | None = None
        self.sink = self.offset = 0
        self.tree = Tree(())

    @property
    def extent(self) -> int:
        """The number of slots up to the last position."""
        return self.slot(self.length - 1) + 1

    @property
    def start(self) -> int:
        """The number of positions before the tree."""
        return self.length - len(self.tree.parents)

    def slot(self, position: int) -> int:
        """Return the slot of a position."""
        return position if position < self.sink else position - self.sink + self.offset


class PageTable:
    """Sequences by number, and the pages that they use."""

    def __init__(self, pages: int, page_size: int, copy: Copy) -> None:
        """`copy` is called when a shared page is about to be written."""
        self.page_size, self._copy = page_size, copy
        self.sequences: dict[int, CachedSequence] = {}
        self._users = [0] * pages
        self.free = list(range(pages - 1, -1, -1))

    def __getitem__(self, number: int) -> CachedSequence:
        """Return a sequence; TvmsError E0728 if there is none."""
        if number not in self.sequences:
            raise error(
                "E0728", f"the cache has no sequence {number}", None, f"{self._held()}; add it with add_sequence"
            )
        return self.sequences[number]

    def _held(self) -> str:
        shown = ", ".join(map(str, list(self.sequences)[:8]))
        more = ", …" if len(self.sequences) > 8 else ""
        return f"sequences are: {shown}{more}" if self.sequences else "it has no sequences"

    def _check_new(self, number: int) -> None:
        if number in self.sequences:
            raise error(
                "E0728", f"the cache already has a sequence {number}", None, "remove it first, or use another number"
            )

    def add(self, number: int) -> None:
        """Add an empty sequence; TvmsError E0728 if it exists."""
        self._check_new(number)
        self.sequences[number] = CachedSequence()

    def remove(self, number: int) -> None:
        """Remove a sequence."""
        self._release(self[number].pages)
        del self.sequences[number]

    def fork(self, parent: int, child: int, position: int) -> None:
        """Add the sequence `child` that starts with the first `position` positions of `parent`, all for -1.

        TvmsError E0729 if the parent has fewer, or if these may have slid out of its window.
        """
        source = self[parent]
        self._check_new(child)
        if source.tree.parents:
            raise uncommitted(parent)
        end = source.length if position == -1 else position
        if not 0 <= end <= source.length:
            help = "fork at a position of the parent, or at -1 for its end"
            raise error("E0729", f"cannot fork sequence {parent} of length {source.length} at {position}", None, help)
        if source.window is not None and end > source.sink:
            help = f"fork within its sink: at most at {source.sink}"
            raise error("E0729", f"cannot fork sequence {parent} at {end}: its window slides", None, help)
        pages = source.pages[: self._pages_for(end)]
        for page in pages:
            self._users[page] += 1
        self.sequences[child] = CachedSequence(end, pages)

    def pop(self, number: int, positions: int) -> None:
        """Remove the last positions of a sequence; TvmsError E0729 if it has fewer."""
        sequence = self[number]
        if not 0 <= positions <= sequence.length:
            held = count(sequence.length, "position")
            help = f"pop between 0 and {sequence.length}"
            raise error(
                "E0729", f"cannot pop {count(positions, 'position')} of sequence {number}, which has {held}", None, help
            )
        sequence.length -= positions
        if sequence.length <= sequence.sink:
            sequence.offset = sequence.sink
        kept = self._pages_for(sequence.extent)
        self._release(sequence.pages[kept:])
        del sequence.pages[kept:]

    def slide(self, sequence: CachedSequence) -> None:
        """Remove the positions that are no longer in the window, and give their pages back."""
        if sequence.window is None or sequence.length <= sequence.window:
            return
        sequence.offset += sequence.length - sequence.window
        sequence.length = sequence.window
        first, last = self._pages_for(sequence.sink), sequence.offset // self.page_size
        if first < last:
            self._release(sequence.pages[first:last])
            del sequence.pages[first:last]
            sequence.offset -= (last - first) * self.page_size

    def needed(self, batch: Sequence[tuple[CachedSequence, int]]) -> int:
        """Return how many pages it takes to append that many positions to each sequence."""
        new, writers = 0, Counter[int]()
        for sequence, positions in batch:
            new += self._pages_for(sequence.extent + positions) - len(sequence.pages)
            if self._writes_shared_page(sequence, positions):
                writers[sequence.pages[-1]] += 1
        return new + sum(min(users, self._users[page] - 1) for page, users in writers.items())

    def extend(self, sequence: CachedSequence, positions: int) -> None:
        """Append positions to a sequence; there are enough free pages."""
        if self._writes_shared_page(sequence, positions):
            old, sequence.pages[-1] = sequence.pages[-1], self._take()
            self._copy(old, sequence.pages[-1], sequence.extent % self.page_size)
            self._release([old])
        sequence.length += positions
        while len(sequence.pages) < self._pages_for(sequence.extent):
            sequence.pages.append(self._take())

    def places(self, sequence: CachedSequence, positions: Iterable[int]) -> Iterator[int]:
        """Yield where positions are in memory: page times page size, plus the place in the page."""
        for position in positions:
            page, place = divmod(sequence.slot(position), self.page_size)
            yield sequence.pages[page] * self.page_size + place

    def _pages_for(self, slots: int) -> int:
        return -(-slots // self.page_size)

    def _writes_shared_page(self, sequence: CachedSequence, positions: int) -> bool:
        return positions > 0 and sequence.extent % self.page_size > 0 and self._users[sequence.pages[-1]] > 1

    def _take(self) -> int:
        page = self.free.pop()
        self._users[page] = 1
        return page

    def _release(self, pages: Iterable[int]) -> None:
        for page in pages:
            self._users[page] -= 1
            if not self._users[page]:
                self.free.append(page)


def uncommitted(number: int) -> TvmsError:
    """Return the error for a sequence with a tree where none is allowed."""
    help = "call commit_accepted_token_tree_nodes first"
    return error("E0722", f"sequence {number} has a tree of tokens that are not accepted yet", None, help)
