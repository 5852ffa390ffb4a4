"""Rows for ensembles of decision trees: all rows descend all trees at once, one level after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import const
from ..values import dims_of, dtype_of
from .converter import Converter
from .features import label
from .rows import LEARNING, Family
from .scores import TRANSFORMS, labels_of, matrix, most_likely, number, transformed

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROWS = Family()
_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER")
_COMPARE = (op.less_equal, op.less, op.greater_equal, op.greater, op.equal, op.not_equal)
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
"""Functions of the weights of a target, in the order of their numbers."""
_LEAF = -1
_MOST_LEVELS = 256
"""Maximum depth of trees."""
_MOST_WEIGHTS = 2**26
"""Maximum number of weights: leaves times targets."""


class Forest(Struct):
    """Nodes of all trees, by position. A leaf is its own successor."""

    roots: NDArray[Any]
    features: NDArray[Any]
    splits: NDArray[Any]
    modes: NDArray[Any]
    """Positions in `_MODES`; `_LEAF` for leaves."""
    yes: NDArray[Any]
    no: NDArray[Any]
    missing: NDArray[Any]
    """Whether NaN goes to the node's first successor."""
    members: NDArray[Any] | None = None
    """The set of each node that tests membership, filled up with NaN."""

    @property
    def depth(self) -> int:
        """The number of levels below the roots; ValueError if a successor does not exist, or a node has two parents."""
        import numpy as np

        seen = np.zeros(len(self.modes), bool)
        level, depth = self.roots, 0
        while len(level):
            if level.min() < 0 or level.max() >= len(seen) or seen[level].any() or len(np.unique(level)) < len(level):
                raise ValueError("its nodes are not trees")
            seen[level] = True
            inner = level[self.modes[level] != _LEAF]
            level = np.concatenate([self.yes[inner], self.no[inner]])
            depth += bool(len(inner))
        return depth


def _leaf_of(c: Converter, x: relax.Expr, forest: Forest) -> relax.Expr:
    """Return the leaf (row, tree) that each row of features reaches."""
    depth = forest.depth
    if depth > _MOST_LEVELS:
        raise c.unsupported(f"its trees are {depth} levels deep", f"use trees of at most {_MOST_LEVELS} levels")
    rows = dims_of(x)[0]
    node: relax.Expr = op.broadcast_to(const(forest.roots.reshape(1, -1)), c.shape((rows, len(forest.roots))))
    tables = [const(part) for part in (forest.features, forest.yes, forest.no)]
    split, missing = const(forest.splits, dtype_of(x)), const(forest.missing)
    for _ in range(depth):
        node = c.emit(node, "_node")
        feature, yes, no = (op.take(table, node, 0) for table in tables)
        value = c.emit(op.gather_elements(x, feature, 1), "_value")
        is_yes = _decided(c, forest, node, value, op.take(split, node, 0))
        if forest.missing.any():
            is_yes = op.logical_or(is_yes, op.logical_and(op.isnan(value), op.take(missing, node, 0)))
        node = op.where(is_yes, yes, no)
    return c.emit(node, "_leaf")


def _decided(c: Converter, forest: Forest, node: relax.Expr, value: relax.Expr, split: relax.Expr) -> relax.Expr:
    """Return whether a feature passes the test of its node."""
    import numpy as np

    present = [int(mode) for mode in np.unique(forest.modes) if mode != _LEAF]
    mode = op.take(const(forest.modes), node, 0)
    found: relax.Expr | None = None
    for kind in present:
        if kind < len(_COMPARE):
            passed = _COMPARE[kind](value, split)
        else:
            sets = op.take(const(forest.members, dtype_of(value)), node, 0)
            equal = op.astype(op.equal(op.expand_dims(value, [-1]), sets), "uint8")
            passed = op.greater(op.max(equal, [2], False), const(0, "uint8"))
        found = passed if found is None else op.where(op.equal(mode, const(kind, "int64")), passed, found)
    assert found is not None
    return found


def _aggregated(c: Converter, leaf: relax.Expr, weights: NDArray[Any], has: NDArray[Any], how: str) -> relax.Expr:
    """Return the sums, averages, minima or maxima of the weights (leaf, target) of the leaves of all trees (row, target)."""
    import numpy as np

    dtype = str(weights.dtype)
    if how in ("SUM", "AVERAGE"):
        total = op.sum(op.take(const(weights), leaf, 0), [1], False)
        return total if how == "SUM" else op.divide(total, const(dims_of(leaf)[1].value, dtype))  # type: ignore[reportAttributeAccessIssue]
    if how not in ("MIN", "MAX"):
        raise ValueError(f"its aggregate_function is '{how}', not SUM, AVERAGE, MIN or MAX")
    nothing = np.array(np.inf if how == "MIN" else -np.inf, dtype)
    parts = op.take(const(np.where(has, weights, nothing)), leaf, 0)
    found = c.emit((op.min if how == "MIN" else op.max)(parts, [1], False), "_extremum")
    return op.where(op.isinf(found), const(0.0, dtype), found)


# --- Version 5 ------------------------------------------------------------------------------------------------


@ROWS.row("TreeEnsemble", domain=LEARNING, since=5)
def _ensemble(c: Converter, a: Any) -> relax.Expr:
    import numpy as np

    splits = _data(a.nodes_splits)
    inner, leaves = len(a.nodes_featureids), len(a.leaf_targetids)
    weights, places = _data(a.leaf_weights), np.arange(inner + leaves)

    def successors(ids: list[int], are_leaves: list[int]) -> NDArray[Any]:
        return np.append(np.array(ids, "int64") + np.where(np.array(are_leaves), inner, 0), places[inner:])

    def with_leaves(values: Any, other: Any) -> NDArray[Any]:
        return np.append(np.asarray(values), np.full(leaves, other))

    modes = _data(a.nodes_modes).astype("int64")
    if len(modes) != inner or len(splits) != inner or len(weights) != leaves or modes.min(initial=0) < 0:
        raise ValueError("its lists of nodes have different lengths")
    forest = Forest(
        np.array(a.tree_roots, "int64"),
        with_leaves(np.array(a.nodes_featureids, "int64"), 0),
        with_leaves(splits, 0).astype(splits.dtype),
        with_leaves(modes, _LEAF),
        successors(a.nodes_truenodeids, a.nodes_trueleafs),
        successors(a.nodes_falsenodeids, a.nodes_falseleafs),
        with_leaves(np.array(a.nodes_missing_value_tracks_true or [0] * inner, bool), False),
        _member_sets(None if a.membership_values is None else _data(a.membership_values), modes, inner + leaves),
    )
    found, has = _weights(c, inner + leaves, a.n_targets, places[inner:], a.leaf_targetids, weights)
    made = _aggregated(c, _leaf_of(c, a.X, forest), found, has, _AGGREGATES[int(a.aggregate_function)])
    return transformed(c, made, TRANSFORMS[int(a.post_transform)])


def _data(tensor: Any) -> NDArray[Any]:
    return cast("NDArray[Any]", tensor.data).reshape(-1)


def _member_sets(values: NDArray[Any] | None, modes: NDArray[Any], count: int) -> NDArray[Any] | None:
    """Return the sets of the nodes that test membership, consecutive in `values`, each ended by NaN."""
    import numpy as np

    testing = np.nonzero(modes == _MODES.index("BRANCH_MEMBER"))[0]
    if not len(testing):
        return None
    values = np.zeros(0, "float32") if values is None else values
    ends = np.nonzero(np.isnan(values))[0]
    sets = np.split(values, ends + 1)[: len(testing)]
    if len(ends) < len(testing):
        raise ValueError(f"it has {len(ends)} sets for {len(testing)} nodes that test membership")
    made = np.full((count, max(map(len, sets))), np.nan, values.dtype)
    for node, members in zip(testing, sets, strict=True):
        made[node, : len(members)] = members
    return made


def _weights(
    c: Converter, count: int, targets: int, nodes: Any, ids: Any, values: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the weights (node, target) of leaves, and whether they have any."""
    import numpy as np

    if targets < 1 or count * targets > _MOST_WEIGHTS:
        raise c.unsupported(f"it has {targets} targets", f"use 1 to {_MOST_WEIGHTS // max(count, 1)}")
    places = np.asarray(nodes, "int64"), np.asarray(ids, "int64")
    if len(places[1]) and not 0 <= int(places[1].min()) <= int(places[1].max()) < targets:
        raise ValueError(f"a leaf has a target outside of {targets}")
    made, has = np.zeros((count, targets), values.dtype), np.zeros((count, targets), bool)
    np.add.at(made, places, values)
    has[places] = True
    return made, has


# --- Versions before 5 ----------------------------------------------------------------------------------------


def _list(a: Any, name: str) -> NDArray[Any]:
    """Return a list of floats that is an attribute or, in later versions, a tensor."""
    import numpy as np

    tensor = getattr(a, f"{name}_as_tensor", None)
    return np.array(getattr(a, name) or [], "float32") if tensor is None else _data(tensor)


def _forest(a: Any) -> tuple[Forest, dict[tuple[int, int], int]]:
    """Return the trees, and the position of each node by its tree and its number."""
    import numpy as np

    keys = list(zip(a.nodes_treeids or [], a.nodes_nodeids or [], strict=True))
    places = {key: place for place, key in enumerate(keys)}
    if len(places) != len(keys) or not keys:
        raise ValueError("its nodes have the same numbers, or there are none")
    modes = np.array([_LEAF if mode == "LEAF" else _MODES.index(mode) for mode in a.nodes_modes])
    yes, no = (
        np.array([
            place if modes[place] == _LEAF else places[tree, child]
            for place, ((tree, _), child) in enumerate(zip(keys, children, strict=True))
        ])
        for children in (a.nodes_truenodeids, a.nodes_falsenodeids)
    )  # fmt: skip
    inner = modes != _LEAF
    below = set(yes[inner].tolist()) | set(no[inner].tolist())
    roots = [place for place in range(len(keys)) if place not in below]
    values = _list(a, "nodes_values")
    if not roots or len(values) != len(keys) or len({keys[root][0] for root in roots}) != len(roots):
        raise ValueError("its nodes are not trees")
    missing = np.array(a.nodes_missing_value_tracks_true or [0] * len(keys), bool)
    features = np.where(inner, np.array(a.nodes_featureids, "int64"), 0)
    return Forest(np.array(roots), features, values, modes, yes, no, missing), places


def _sums(c: Converter, a: Any, prefix: str, targets: int, how: str) -> tuple[relax.Expr, NDArray[Any]]:
    """Return the aggregated weights (row, target), and the weights as they are given."""
    forest, places = _forest(a)
    lists: Any = [getattr(a, f"{prefix}_{name}") or [] for name in ("treeids", "nodeids", "ids")]
    trees, nodes, ids = lists
    values = _list(a, f"{prefix}_weights")
    leaves = [places[key] for key in zip(trees, nodes, strict=True)]
    found, has = _weights(c, len(places), targets, leaves, ids, values)
    return _aggregated(c, _leaf_of(c, matrix(c, a.X), forest), found, has, how), values


def _with_base(a: Any, made: relax.Expr) -> relax.Expr:
    base = _list(a, "base_values")
    return op.add(made, const(base)) if len(base) else made


@ROWS.row("TreeEnsembleRegressor", domain=LEARNING)
def _tree_regressor(c: Converter, a: Any) -> relax.Expr:
    made, _ = _sums(c, a, "target", a.n_targets, a.aggregate_function)
    return transformed(c, _with_base(a, made), a.post_transform)


@ROWS.row("TreeEnsembleClassifier", domain=LEARNING)
def _tree_classifier(c: Converter, a: Any) -> list[relax.Expr]:
    """Return labels and scores. If the weights of two classes all belong to one class, they are the scores of the second class."""
    labels = labels_of(a, "classlabels_int64s")
    ids: set[int] = set(a.class_ids or ())
    if len(labels) != 2 or len(ids) != 1:
        made, _ = _sums(c, a, "class", len(labels), "SUM")
        scores = c.emit(_with_base(a, made), "_scores")
        return [most_likely(c, scores, labels), transformed(c, scores, a.post_transform)]
    a.class_ids = [0] * len(a.class_ids)
    made, weights = _sums(c, a, "class", 1, "SUM")
    base = _list(a, "base_values")
    score = c.emit(op.add(made, const(base[-1:])) if len(base) else made, "_score")
    are_positive = bool((weights >= 0).all())
    limit = number(0.5 if are_positive else 0.0)
    is_second = op.astype(op.greater(op.reshape(score, c.shape((-1,))), limit), "int64")
    if 1 in ids:  # onnxruntime leaves the score of the first class at 0
        first = op.multiply(score, number(0.0))
    elif are_positive and a.post_transform != "LOGISTIC":
        first = op.subtract(number(1.0), score)
    else:
        first = op.negative(score)
    both = c.emit(op.concat([first, score], 1), "_scores")
    return [label(c, is_second, labels), transformed(c, both, a.post_transform)]
