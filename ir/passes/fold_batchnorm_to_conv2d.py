"""Fold batch normalization into the weights of the preceding convolution (TVM: `FoldBatchnormToConv2D`).

    lv = R.nn.conv2d(x, w)                              lv = R.nn.conv2d(x, R.multiply(w, scale))
    lv1 = R.nn.batch_norm(lv, gamma, beta, mean, var)   gv = R.add(lv, shift)
    gv = lv1[0]

with `scale` = gamma / √(var + epsilon) and `shift` = beta - mean · scale, which `FoldConstant` computes.
"""

from __future__ import annotations

from collections import Counter

from .. import relax
from ..base import IRModule, Op
from ..building.values import apply
from ..deep import deep
from ..visit import walk
from .calls import clean_up
from .common_subexpressions import eliminate_common_subexpr
from .rewriter import ValueRewriter
from .transform import declare_pass, map_functions


@declare_pass("FoldBatchnormToConv2D")
@deep
def fold_batchnorm_to_conv2d(mod: IRModule) -> IRModule:
    """Fold batch normalization of the result of a convolution into its weights, if weights and moments are constants.

    Normalization for training is kept, as it uses the moments of its data, and so is that of a result with other uses,
    which would be computed twice.
    """
    changed = map_functions(mod, relax.Function, lambda function: _Folder(function).function(function))
    return mod if changed is mod else clean_up(eliminate_common_subexpr(changed))


class _Folder(ValueRewriter):
    def __init__(self, function: relax.Function) -> None:
        super().__init__(function)
        self._bound: dict[relax.Expr, relax.Expr] = {}
        bindings = [node for node in walk(function) if isinstance(node, relax.VarBinding | relax.MatchCast)]
        values = [*(binding.value for binding in bindings), function.body.body]
        self._readers: Counter[relax.Expr] = Counter(
            node for value in values for node in {*walk(value)} if isinstance(node, relax.Var)
        )
        """The number of bindings that read each variable."""

    def value(self, binding: relax.Binding) -> relax.Expr:
        """Return the folded convolution for a binding of the first result of a normalization."""
        self._bound[binding.var] = value = binding.value
        if not isinstance(value, relax.TupleGetItem) or value.index != 0:
            return value
        norm = self._call(value.tuple_value, "relax.nn.batch_norm")
        conv = None if norm is None else self._call(norm.args[0], "relax.nn.conv2d")
        if norm is None or conv is None or norm.attrs["training"] or self._readers[norm.args[0]] > 1:
            return value
        return _folded(conv, norm) or value

    def _call(self, expr: relax.Expr, name: str) -> relax.Call | None:
        value = self._bound.get(expr, expr)
        return value if isinstance(value, relax.Call) and value.op == Op(name) else None


def _folded(conv: relax.Call, norm: relax.Call) -> relax.Expr | None:
    """Return the replacement of a normalization, or None if an operand is not constant or its axis is not "C"."""
    (data, weight), (_, gamma, beta, mean, variance) = conv.args, norm.args
    weights, results = conv.attrs["kernel_layout"], conv.attrs["out_layout"] or conv.attrs["data_layout"]
    are_known = all(isinstance(expr, relax.Constant) for expr in (weight, gamma, beta, mean, variance))
    if not are_known or not len(weights) == len(results) == 4 or norm.attrs["axis"] % 4 != results.index("C"):
        return None

    def over(value: relax.Expr, layout: str, axis: str) -> relax.Expr:
        return apply("reshape", value, [-1 if name == axis else 1 for name in layout])

    inverse = apply("rsqrt", apply("add", variance, norm.attrs["epsilon"]))
    scale = apply("multiply", gamma, inverse) if norm.attrs["scale"] else inverse
    shift = apply("multiply", mean, scale)
    shift = apply("subtract", beta, shift) if norm.attrs["center"] else apply("negative", shift)
    attrs = {name: value for name, value in conv.attrs.items() if value is not None}
    product = apply("nn.conv2d", data, apply("multiply", weight, over(scale, weights, "O")), **attrs)
    return apply("add", product, over(shift, results, "C"))
