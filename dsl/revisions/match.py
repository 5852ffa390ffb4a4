"""Finds which nodes of two trees are the same statement, in time n log n.

Siblings are aligned: equal ones first, then those with the same name or target, then similar ones; each time the longest
common order is kept (Hunt and Szymanski, 1977). What is left is a move if an equal subtree, or a definition of the same name,
is left on the other side, as in GumTree (Falleri et al., 2014). A definition that is left may have been renamed, and a loop
or a block that is left may have been changed inside as well.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence

from .outline import DEFINITION, LINE, Node

LEAST_SIMILAR = 0.5
"""Least share of common tokens of a statement before and after a change. For a moved loop or block, this share is enough if its
own line is the same.
"""
LEAST_MOVED = 0.8
"""Least share of common tokens of a loop or a block that was moved within its definition and changed inside."""
MOST_COMPARED = 2_500
"""Number of pairs in a gap above which similar statements are only looked for at equal places."""


class Matching:
    """The pairs of nodes of two trees: `new` maps nodes of the first to the second, `old` back."""

    def __init__(self, first: Node, second: Node) -> None:
        self.new: dict[Node, Node] = {}
        self.old: dict[Node, Node] = {}
        self._pair(first, second)
        self._align([(first, second)])
        self._find_moves(first, second)

    def _pair(self, a: Node, b: Node) -> None:
        self.new[a], self.old[b] = b, a

    def _align(self, pairs: list[tuple[Node, Node]]) -> None:
        """Match the children of matched nodes, and theirs."""
        while pairs:
            a, b = pairs.pop()
            if a.digest == b.digest:
                for one, other in zip(a.walk(), b.walk(), strict=True):
                    self._pair(one, other)
                continue
            found = _aligned(
                [child for child in a.children if child not in self.new],
                [child for child in b.children if child not in self.old],
            )
            for one, other in found:
                self._pair(one, other)
            pairs += found

    def _find_moves(self, first: Node, second: Node) -> None:
        for find in (self._same_names, self._same_trees, self._similar_trees):
            left = [node for node in first.walk() if node not in self.new and node.kind != LINE]
            right = [node for node in second.walk() if node not in self.old and node.kind != LINE]
            if not left or not right:
                return
            for a, b in find(left, right):
                if a not in self.new and b not in self.old:
                    self._pair(a, b)
                    self._align([(a, b)])

    def _same_names(self, left: Sequence[Node], right: Sequence[Node]) -> list[tuple[Node, Node]]:
        return _unique(left, right, lambda node: node.key if node.kind == DEFINITION else None)

    def _same_trees(self, left: Sequence[Node], right: Sequence[Node]) -> list[tuple[Node, Node]]:
        """Return equal subtrees within one definition, large ones first."""

        left_homes, right_homes = self._homes(left, right)

        def key(node: Node) -> Hashable:
            home = left_homes[node] if node in left_homes else right_homes[node]
            return None if home is None else (node.digest, id(home))

        return sorted(_unique(left, right, key), key=lambda pair: -pair[0].size)

    def _homes(self, left: Sequence[Node], right: Sequence[Node]) -> tuple[dict[Node, Node | None], ...]:
        """Return the definition of the first tree around each node; None if it is matched with none."""
        return (
            {node: _definition(node) for node in left},
            {node: self.old.get(around) if (around := _definition(node)) else None for node in right},
        )

    def _similar_trees(self, left: Sequence[Node], right: Sequence[Node]) -> list[tuple[Node, Node]]:
        """Return definitions that share most of their statements, which were renamed, and moved loops and blocks that changed."""
        left = [node for node in left if node.kind == DEFINITION or node.children]
        right = [node for node in right if node.kind == DEFINITION or node.children]
        if len(left) * len(right) > MOST_COMPARED:
            return []
        left_homes, right_homes = self._homes(left, right)
        bags = {node: Counter(token for part in node.walk() for token in part.tokens) for node in (*left, *right)}
        scored: list[tuple[float, int, Node, Node]] = []
        for index, a in enumerate(left):
            for b in right:
                is_near = a.kind == DEFINITION or (left_homes[a] is not None and left_homes[a] is right_homes[b])
                score = _overlap(bags[a], bags[b]) if a.kind == b.kind and is_near else 0.0
                is_alike = a.kind == DEFINITION or a.tokens == b.tokens
                if score > (LEAST_SIMILAR if is_alike else LEAST_MOVED):
                    scored.append((score, -index, a, b))
        scored.sort(key=lambda row: row[:2], reverse=True)
        return [(a, b) for _, _, a, b in scored]


def _definition(node: Node) -> Node | None:
    """Return the definition around a node, or the file."""
    around = node.parent
    while around is not None and around.kind != DEFINITION and around.parent is not None:
        around = around.parent
    return around


def _unique(left: Sequence[Node], right: Sequence[Node], key: Callable[[Node], Hashable]) -> list[tuple[Node, Node]]:
    """Return the pairs of nodes whose key occurs once on each side."""
    sides: list[dict[Hashable, list[Node]]] = []
    for nodes in (left, right):
        found: dict[Hashable, list[Node]] = defaultdict(list)
        for node in nodes:
            found[key(node)].append(node)
        sides.append(found)
    first, second = sides
    return [
        (nodes[0], second[name][0])
        for name, nodes in first.items()
        if name is not None and len(nodes) == 1 and len(second.get(name, ())) == 1
    ]


def _aligned(left: Sequence[Node], right: Sequence[Node]) -> list[tuple[Node, Node]]:
    """Return pairs of siblings that are in the same order on both sides."""
    found: list[tuple[Node, Node]] = []
    waiting: list[tuple[Sequence[Node], Sequence[Node], int]] = [(left, right, 0)]
    stages: list[Callable[[Sequence[Node], Sequence[Node]], list[tuple[int, int]]]] = [
        lambda a, b: _common([node.digest for node in a], [node.digest for node in b]),
        lambda a, b: _common([_named(node) for node in a], [_named(node) for node in b]),
        _similar,
    ]
    while waiting:
        a, b, stage = waiting.pop()
        if not a or not b or stage == len(stages):
            continue
        pairs = stages[stage](a, b)
        found += [(a[i], b[j]) for i, j in pairs]
        before = (-1, -1)
        for i, j in [*pairs, (len(a), len(b))]:
            waiting.append((a[before[0] + 1 : i], b[before[1] + 1 : j], stage + 1))
            before = (i, j)
    return found


def _named(node: Node) -> Hashable:
    """Return the identity of a sibling; one without a name equals no other."""
    return node.key if node.key[1] else (id(node),)


def _common(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Return pairs of equal items in the same order: common ends, then as many as possible of the n-th with the n-th."""
    start, most = 0, min(len(left), len(right))
    while start < most and left[start] == right[start]:
        start += 1
    end = 0
    while end < most - start and left[-1 - end] == right[-1 - end]:
        end += 1
    places: dict[tuple[Hashable, int], int] = {}
    seen: Counter[Hashable] = Counter()
    for j in range(start, len(right) - end):
        places[right[j], seen[right[j]]] = j
        seen[right[j]] += 1
    seen.clear()
    candidates: list[tuple[int, int]] = []
    for i in range(start, len(left) - end):
        j = places.get((left[i], seen[left[i]]))
        seen[left[i]] += 1
        if j is not None:
            candidates.append((i, j))
    middle = in_order([j for _, j in candidates])
    ends = [(len(left) - k, len(right) - k) for k in range(end, 0, -1)]
    return [(i, i) for i in range(start)] + [candidates[place] for place in middle] + ends


def in_order(numbers: Sequence[int]) -> list[int]:
    """Return the places of a longest increasing subsequence."""
    tails: list[int] = []
    ends: list[int] = []
    before = [-1] * len(numbers)
    for place, number in enumerate(numbers):
        at = bisect_left(tails, number)
        before[place] = ends[at - 1] if at else -1
        tails[at : at + 1] = [number]
        ends[at : at + 1] = [place]
    found: list[int] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        found.append(at)
        at = before[at]
    return found[::-1]


def _overlap(left: Counter[str], right: Counter[str]) -> float:
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if total else 1.0


def _similarity(a: Node, b: Node) -> float:
    """Return how much of two nodes is equal, from 0 to 1: their tokens, and their children."""
    if a.kind != b.kind or (a.kind != LINE and (a.tokens[0] == "return") != (b.tokens[0] == "return")):
        return 0.0
    if a.kind == LINE:
        left, right = Counter(a.tokens[0].split()), Counter(b.tokens[0].split())
        return _overlap(left, right) if left and right else 0.0
    own = _overlap(Counter(a.tokens), Counter(b.tokens))
    if not (a.children and b.children):
        return own
    inner = _overlap(*(Counter(token for child in node.children for token in child.tokens) for node in (a, b)))
    return (own + inner) / 2


def _similar(left: Sequence[Node], right: Sequence[Node]) -> list[tuple[int, int]]:
    """Return the pairs of similar nodes in order with the greatest sum of similarities."""
    if len(left) * len(right) > MOST_COMPARED:
        both = range(min(len(left), len(right)))
        return [(i, i) for i in both if _similarity(left[i], right[i]) >= LEAST_SIMILAR]
    best = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    score = [[_similarity(a, b) for b in right] for a in left]
    for i in reversed(range(len(left))):
        for j in reversed(range(len(right))):
            together = score[i][j] + best[i + 1][j + 1] if score[i][j] >= LEAST_SIMILAR else 0.0
            best[i][j] = max(best[i + 1][j], best[i][j + 1], together)
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(left) and j < len(right):
        if score[i][j] >= LEAST_SIMILAR and best[i][j] == score[i][j] + best[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs
