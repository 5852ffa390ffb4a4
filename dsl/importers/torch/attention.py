"""Rows for attention: softmax(query · key × scale + mask) · value."""

from __future__ import annotations

from math import inf
from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.ops import dims as d
from ..values import dims_of, dtype_of, rank_of
from .converter import Convert, Converter
from .elementwise import number


def _attention(c: Converter, a: Any) -> relax.Expr:
    if a.dropout_p:
        raise c.unsupported("drops elements at random: the model was exported for training", "call model.eval() first")
    query, key, value = (_in_heads(x) for x in (a.query, a.key, a.value))
    bias = None if a.attn_mask is None else _bias(c, a.attn_mask, query, key)
    causal = "TopLeft" if a.is_causal else None
    scale = None if a.scale is None else float(a.scale)
    result = op.nn.attention(*map(_lengths_first, (query, key, value)), bias, scale=scale, causal_mask=causal)
    return op.reshape(_lengths_first(result), c.shape) if rank_of(a.query) != 4 else _lengths_first(result)


def _in_heads(x: relax.Expr) -> relax.Expr:
    """Return a tensor as (batch, heads, length, width): leading dimensions are merged into one, missing ones are 1."""
    *front, length, width = dims_of(x)
    if len(front) == 2:
        return x
    batch, heads = (d.product(front[:-1]), front[-1]) if front else (d.dim(1), d.dim(1))
    return op.reshape(x, [batch, heads, length, width])


def _lengths_first(x: relax.Expr) -> relax.Expr:
    """Swap the second and third dimension: (batch, heads, length, width) and (batch, length, heads, width)."""
    return op.permute_dims(x, [0, 2, 1, 3])


def _bias(c: Converter, mask: relax.Expr, query: relax.Expr, key: relax.Expr) -> relax.Expr:
    """Return a mask as a term to add to the scores: -inf where it is false."""
    dtype = dtype_of(query)
    if dtype_of(mask) == "bool":
        zero = number(0, query)
        mask = op.where(mask, zero, number(-inf, query))
    mask = c.cast(mask, dtype)
    rows, columns = dims_of(query)[2], dims_of(key)[2]
    dims = dims_of(mask)
    if len(dims) < 4:
        return op.broadcast_to(
            op.reshape(mask, [*[1] * (4 - len(dims)), *dims]), [*[1] * (4 - len(dims)), *dims[:-2], rows, columns]
        )
    return mask


def _with_statistics(c: Converter, a: Any) -> Any:
    """Convert an attention kernel of torch, whose further results are used only by its gradient."""
    from types import SimpleNamespace

    mask = getattr(a, "attn_mask", getattr(a, "attn_bias", None))
    given = SimpleNamespace(**(vars(a) | {"attn_mask": mask}))
    count = len(c.node.meta["val"])
    return [lambda: _first(c, given), *[c.only_for_gradients] * (count - 1)]


def _first(c: Converter, a: Any) -> relax.Expr:
    return _attention(c, a)


ROWS: dict[str, Convert] = {
    "scaled_dot_product_attention.default": _attention,
    "_scaled_dot_product_flash_attention_for_cpu.default": _with_statistics,
    "_scaled_dot_product_efficient_attention.default": _with_statistics,
    "_scaled_dot_product_flash_attention.default": _with_statistics,
}
