"""Positions of the boxes of a graph: in layers, with every edge downwards (Sugiyama, Tagawa and Toda, 1981).

The layer of a box is the length of the longest path to it; sources are just above their first use. Edges that cross a
layer go straight through it, between its boxes. The boxes of each layer are repeatedly ordered by the positions of their neighbors, downwards
and upwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from msgspec import Struct

Name: TypeAlias = Any
"""Identity of a box: any hashable value."""
Edge: TypeAlias = "tuple[Name, Name]"
GAP_ACROSS, GAP_DOWN, PASSAGE, SWEEPS = 24.0, 40.0, 8.0, 4
"""Pixels between boxes of a layer, between layers, width of an edge's point in a layer; and the number of sweeps."""


class Layout(Struct, frozen=True):
    """The upper left corner of each box, the points along each edge, and the total size."""

    corners: Mapping[Name, tuple[float, float]]
    routes: Mapping[Edge, tuple[tuple[float, float], ...]]
    width: float
    height: float


def place(sizes: Mapping[Name, tuple[float, float]], edges: Sequence[Edge]) -> Layout:
    """Return the layout of boxes with these sizes, given in topological order."""
    depths = _depths(sizes, edges)
    chains = {edge: _chain(edge, depths) for edge in edges}
    layers: list[list[Name]] = [[] for _ in range(max(depths.values(), default=-1) + 1)]
    for name, depth in depths.items():
        layers[depth].append(name)
    for edge, chain in chains.items():
        for step, point in enumerate(chain[1:-1], depths[edge[0]] + 1):
            layers[step].append(point)
    links = [link for chain in chains.values() for link in pairwise(chain)]
    _order(layers, links)
    widths = {name: width for name, (width, _) in sizes.items()}
    lefts = [_lefts(layer, widths) for layer in layers]
    width = max((row[-1] + widths.get(layer[-1], PASSAGE) for row, layer in zip(lefts, layers, strict=True)), default=0)
    corners: dict[Name, tuple[float, float]] = {}
    bottoms: dict[Name, float] = {}
    y = 0.0
    for layer, row in zip(layers, lefts, strict=True):
        shift = (width - row[-1] - widths.get(layer[-1], PASSAGE)) / 2
        corners.update((name, (shift + left, y)) for name, left in zip(layer, row, strict=True))
        y += max((sizes[name][1] for name in layer if name in sizes), default=0)
        bottoms.update(dict.fromkeys(layer, y))
        y += GAP_DOWN
    routes = {edge: _route(chain, corners, bottoms, sizes) for edge, chain in chains.items()}
    return Layout({name: corners[name] for name in sizes}, routes, width, max(y - GAP_DOWN, 0))


def _depths(names: Mapping[Name, object], edges: Sequence[Edge]) -> dict[Name, int]:
    depths = dict.fromkeys(names, 0)
    sources = {name: [start for start, end in edges if end == name] for name in names}
    for name in names:
        depths[name] = max((depths[source] + 1 for source in sources[name]), default=0)
    for name in names:
        users = [depths[end] for start, end in edges if start == name]
        if users and not sources[name]:
            depths[name] = min(users) - 1
    return depths


def _chain(edge: Edge, depths: Mapping[Name, int]) -> list[Name]:
    """Return the boxes of an edge, with a point between them for every layer that it crosses."""
    return [edge[0], *((edge, depth) for depth in range(depths[edge[0]] + 1, depths[edge[1]])), edge[1]]


def _order(layers: list[list[Name]], links: Sequence[Edge]) -> None:
    """Order each layer by the mean position of its neighbors, alternating between the previous and the next layer."""
    before: dict[Name, list[Name]] = {}
    after: dict[Name, list[Name]] = {}
    for start, end in links:
        before.setdefault(end, []).append(start)
        after.setdefault(start, []).append(end)
    for sweep in range(SWEEPS):
        neighbors = after if sweep % 2 else before
        rank: dict[Name, float] = {}
        for layer in reversed(layers) if sweep % 2 else layers:
            own = {name: position / len(layer) for position, name in enumerate(layer)}
            middle = {
                name: sum(found) / len(found)
                if (found := [rank[neighbor] for neighbor in neighbors.get(name, ())])
                else at
                for name, at in own.items()
            }
            layer.sort(key=middle.__getitem__)
            rank.update((name, position / len(layer)) for position, name in enumerate(layer))


def _lefts(layer: Sequence[Name], widths: Mapping[Name, float]) -> list[float]:
    lefts, x = list[float](), 0.0
    for name in layer:
        lefts.append(x)
        x += widths.get(name, PASSAGE) + GAP_ACROSS
    return lefts


def _route(
    chain: Sequence[Name],
    corners: Mapping[Name, tuple[float, float]],
    bottoms: Mapping[Name, float],
    sizes: Mapping[Name, tuple[float, float]],
) -> tuple[tuple[float, float], ...]:
    """Return the points of an edge: from the bottom of its first box, straight down through the layers, to the top of its last.

    `bottoms` has the end of the layer of each box and point.
    """
    points: list[tuple[float, float]] = []
    for name in chain:
        width, height = sizes.get(name, (PASSAGE, 0))
        x, y = corners[name][0] + width / 2, corners[name][1]
        points += [(x, y + height if name == chain[0] else y), (x, bottoms[name])]
    return tuple(dict.fromkeys(points[:-1]))
