"""Algebraic rewrites of products that save work (TVM: `AdjustMatmulOrder`, `ExpandMatmulOfSum`,
`ReorderTakeAfterMatmul`, `ReorderPermuteDimsAfterConcat`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Set
from typing import TypeAlias

from .. import relax, tir
from ..analysis.proof import Verdict, prove
from ..base import IRModule, Node, Op
from ..building.values import apply
from ..deep import deep
from ..infer import infer_struct_info
from ..int_set import Interval
from ..make import less
from ..ops import dims as d
from ..ops.inference import dims_of
from ..purity import inplace_arguments
from ..visit import substitute, walk
from .allocation import Bounds
from .dead_code import remove_unused_bindings
from .lift_transform_params import known_from_weights
from .rewriter import ValueRewriter
from .transform import declare_pass, map_functions


class Values:
    """Values of variables, the variables that depend only on weights (attribute `num_input`), and the maxima of sizes."""

    def __init__(self, early: Set[Node], limits: Mapping[tir.Var, int]) -> None:
        self.bound: dict[relax.Var, relax.Expr] = {}
        self.limits = limits
        self._early = early

    def call(self, expr: relax.Expr, name: str) -> relax.Call | None:
        """Return the value as a call of operator `name`, or None."""
        value = self.bound.get(expr) if isinstance(expr, relax.Var) else expr
        is_it = isinstance(value, relax.Call) and value.op == Op(f"relax.{name}")
        return value if is_it and isinstance(value, relax.Call) else None

    def are_early(self, *exprs: relax.Expr) -> bool:
        """Return whether the values do not depend on inputs."""
        return all(expr in self._early for expr in exprs)


Rule: TypeAlias = Callable[[relax.Call, Values], relax.Expr | None]
"""Function from a call to its replacement, or None."""


def _apply(mod: IRModule, name: str, rule: Rule) -> IRModule:
    """Apply a rule to the calls of operator `name`, and remove bindings that become unused."""

    def rewritten(function: relax.Function) -> relax.Function:
        changed = _MatmulReplacer(function, mod, name, rule).function(function)
        return function if changed is function else remove_unused_bindings(changed, mod)

    return map_functions(mod, relax.Function, rewritten)


class _MatmulReplacer(ValueRewriter):
    def __init__(self, function: relax.Function, mod: IRModule, name: str, rule: Rule) -> None:
        super().__init__(function)
        self._name, self._rule = name, rule
        self._values = Values(known_from_weights(function, mod), Bounds(function).limits)

    def value(self, binding: relax.Binding) -> relax.Expr:
        """Return the replacement of a call."""
        call = self._values.call(binding.value, self._name)
        new = None if call is None else self._rule(call, self._values)
        result = binding.value if new is None else new
        if inplace_arguments(binding.value):  # a value that is overwritten later must not be computed again
            self._values.bound.clear()
        if isinstance(binding, relax.VarBinding):
            self._values.bound[binding.var] = result
        return result


@declare_pass("AdjustMatmulOrder", opt_level=1)
@deep
def adjust_matmul_order(mod: IRModule) -> IRModule:
    """Reassociate products of three matrices to take fewer multiplications, or to combine two weights.

    Weights are values that depend only on the parameters after the first `num_input`. Symbolic sizes are at least 1, and at most the
    bounds in the attribute `tir_var_upper_bound`. Results are rounded differently.
    An infinite operand or an overflow may give NaN where the original product does not, and vice versa.
    """
    return _apply(mod, "matmul", _in_order)


@declare_pass("ExpandMatmulOfSum", opt_level=1)
@deep
def expand_matmul_of_sum(mod: IRModule) -> IRModule:
    """Replace `x · (a + b)` by `x · a + x · b`, also if the sum is transposed, unless a and b are weights.

    Results are rounded differently. An infinite operand or an overflow may give NaN where the original product does not,
    and vice versa.
    """
    return _apply(mod, "matmul", _expanded)


@declare_pass("ReorderTakeAfterMatmul", opt_level=1)
@deep
def reorder_take_after_matmul(mod: IRModule) -> IRModule:
    """Take columns of a product instead of multiplying by taken columns, so that no weights are copied.

    If each matrix of a batch is multiplied by a matrix taken from a table, it is multiplied by the whole table instead.
    """
    return _apply(mod, "matmul", _taken_late)


@declare_pass("ReorderPermuteDimsAfterConcat", opt_level=1)
@deep
def reorder_permute_dims_after_concat(mod: IRModule) -> IRModule:
    """Permute the axes of a concatenation instead of those of each part."""
    return _apply(mod, "concat", _permuted_late)


def _dims(value: relax.Expr) -> d.Dims | None:
    info = infer_struct_info(value)
    return dims_of(info) if isinstance(info, relax.TensorStructInfo) else None


def _sizes(value: relax.Expr) -> list[int] | None:
    sizes = [d.value_of(dim) for dim in _dims(value) or (tir.Var("int64", "unknown"),)]
    return None if None in sizes else [size for size in sizes if size is not None]


def _is_plain(call: relax.Call | None) -> bool:
    """Return whether a call is a product in the dtype of its operands."""
    if call is None:
        return False
    info = infer_struct_info(call.args[0])
    return isinstance(info, relax.TensorStructInfo) and call.attrs["out_dtype"] in ("void", info.dtype)


def _factors(value: relax.Expr, values: Values) -> tuple[relax.Expr, relax.Expr] | None:
    """Return the two operands of a product, transposed and swapped if the product is transposed."""
    product = values.call(value, "matmul")
    if product is not None:
        return (product.args[0], product.args[1]) if _is_plain(product) else None
    turned = values.call(value, "permute_dims")
    inner = None if turned is None else values.call(turned.args[0], "matmul")
    if turned is None or inner is None or not _is_plain(inner) or turned.attrs["axes"] not in (None, (1, 0)):
        return None
    a, b = inner.args
    if any(len(_dims(expr) or ()) != 2 for expr in (a, b)):
        return None
    return apply("permute_dims", b), apply("permute_dims", a)


def _in_order(call: relax.Call, values: Values) -> relax.Expr | None:
    left, right = _factors(call.args[0], values), _factors(call.args[1], values)
    if not _is_plain(call) or (left is None) == (right is None):
        return None
    a, b, c = (*left, call.args[1]) if left is not None else (call.args[0], *(right or ()))
    if not _dims(a) or len(_dims(b) or ()) != 2 or not _dims(c) or values.are_early(a, b, c):
        return None
    if left is None and _is_better(a, b, c, values, left_first=True):
        return apply("matmul", apply("matmul", a, b), c)
    if left is not None and _is_better(a, b, c, values, left_first=False):
        return apply("matmul", a, apply("matmul", b, c))
    return None


def _is_better(a: relax.Expr, b: relax.Expr, c: relax.Expr, values: Values, left_first: bool) -> bool:
    """Return whether this order combines two weights, or is proven to take fewer multiplications than the other one."""
    if values.are_early(a, b) or values.are_early(b, c):
        return values.are_early(a, b) == left_first
    (some, rows, inner), (others, width, columns) = _matrices(_dims(a) or ()), _matrices(_dims(c) or (), d.dim(1))
    both = max(some, others)
    left = d.product([rows, width, d.add(d.multiply(inner, some), d.multiply(columns, both))])
    right = d.product([inner, columns, d.add(d.multiply(width, others), d.multiply(rows, both))])
    fewer, more = (left, right) if left_first else (right, left)
    return _is_positive(d.subtract(more, fewer), values.limits)


def _is_positive(count: tir.PrimExpr, limits: Mapping[tir.Var, int]) -> bool:
    """Return whether a count is proven positive for all sizes: at both ends of each size with a maximum in which it is linear."""
    used = dict.fromkeys(node for node in walk(count) if isinstance(node, tir.Var))
    for size in used:
        later = [substitute(count, {size: d.add(size, step)}) for step in (0, 1, 2)]
        if size in limits and d.is_equal(d.add(later[0], later[2]), d.multiply(later[1], 2)):
            ends = [d.simplify(substitute(count, {size: d.dim(end)})) for end in (1, limits[size])]
            return all(_is_positive(end, limits) for end in ends)
    sizes = {size: Interval(d.dim(1), d.dim(limits[size]) if size in limits else None) for size in used}
    return prove(less(d.dim(0), count), sizes).verdict is Verdict.PROVEN


def _matrices(dims: d.Dims, *columns: tir.PrimExpr) -> tuple[int, tir.PrimExpr, tir.PrimExpr]:
    """Return the number of matrices in a tensor, and their sizes; a vector is a row, or a column of `columns`.

    A batch of unknown size counts as one.
    """
    if len(dims) == 1:
        dims = (*dims, *columns) if columns else (d.dim(1), *dims)
    return math.prod([d.value_of(dim) or 1 for dim in dims[:-2]]), dims[-2], dims[-1]


def _expanded(call: relax.Call, values: Values) -> relax.Expr | None:
    x, rhs = call.args
    turned = values.call(rhs, "permute_dims")
    total = values.call(rhs if turned is None else turned.args[0], "add")
    if total is None or not _is_plain(call) or values.are_early(*total.args):
        return None
    if _sizes(total.args[0]) is None or _sizes(total.args[0]) != _sizes(total.args[1]):
        return None
    axes: Mapping[str, object] = {} if turned is None else {"axes": turned.attrs["axes"]}
    a, b = total.args if turned is None else [apply("permute_dims", arg, **axes) for arg in total.args]
    return apply("add", apply("matmul", x, a), apply("matmul", x, b))


def _taken_late(call: relax.Call, values: Values) -> relax.Expr | None:
    taken = values.call(call.args[1], "take")
    if taken is None or not _is_plain(call) or taken.attrs["axis"] is None:
        return None
    (x, (table, indices)), infos = (
        (call.args[0], taken.args),
        [infer_struct_info(value) for value in (*taken.args, call)],
    )
    ranks = [info.ndim if isinstance(info, relax.TensorStructInfo) else -1 for info in infos]
    if ranks == [3, 1, 3] and taken.attrs["axis"] % 3 == 0:
        return _taken_matrices_late(x, table, indices, taken)
    if -1 in ranks or ranks[0] < 2 or ranks[1] != 1 or taken.attrs["axis"] % ranks[0] != ranks[0] - 1:
        return None
    attrs = {**taken.attrs, "axis": ranks[2] - 1}
    return apply("take", apply("matmul", x, table), indices, **attrs)


def _taken_matrices_late(x: relax.Expr, table: relax.Expr, indices: relax.Expr, taken: relax.Call) -> relax.Expr | None:
    """Return the products of a batch with one taken matrix each, from the product with all matrices."""
    given, weights, count = _dims(x), _dims(table), _dims(indices)
    if given is None or weights is None or count is None or len(given) != 3 or not d.is_equal(given[0], count[0]):
        return None
    number, width, columns = weights
    side_by_side = apply("reshape", apply("permute_dims", table, axes=[1, 0, 2]), (width, d.multiply(number, columns)))
    whole = apply("reshape", apply("matmul", x, side_by_side), (*given[:2], number, columns))
    chosen = apply("take", whole, indices, **{**taken.attrs, "axis": 2})
    return apply("einsum", (chosen,), subscripts="ijik->ijk")


def _permuted_late(call: relax.Call, values: Values) -> relax.Expr | None:
    parts = call.args[0].fields if isinstance(call.args[0], relax.Tuple) else ()
    turned = [values.call(part, "permute_dims") for part in parts]
    info = infer_struct_info(call)
    rank = info.ndim if isinstance(info, relax.TensorStructInfo) else -1
    if len(parts) < 2 or rank == -1 or any(base is None for base in turned):
        return None
    orders = {tuple([n % rank for n in base.attrs["axes"] or range(rank)[::-1]]) for base in turned if base is not None}
    if len(orders) != 1:
        return None
    order = orders.pop()
    joined = apply(
        "concat", [base.args[0] for base in turned if base is not None], axis=order[(call.attrs["axis"] or 0) % rank]
    )
    is_reversed = any(base.attrs["axes"] is None for base in turned if base is not None)
    return apply("permute_dims", joined, axes=None if is_reversed else list(order))
