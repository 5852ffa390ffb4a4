"""Attention (TVM: `relax/op/nn/nn.py: attention`)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import prod, sqrt
from typing import Any, TypeAlias

from .. import relax, te, tir
from ..base import StructInfo
from ..te import topi
from . import dims as d
from .activation import softmax
from .inference import Inference, common_vdevice, dims_of, tensor_info
from .registry import Param, RelaxOp, register

_ATTRIBUTES = (
    Param("scale", "opt_float", None),
    Param("causal_mask", "opt_str", None),
    Param("window_size", "opt_int", None),
)

_Seen: TypeAlias = Callable[[tir.PrimExpr, tir.PrimExpr], tir.PrimExpr]
"""Whether the query at the first position attends to the key at the second."""


def _infer(a: Inference) -> StructInfo:
    _check_mask(a)
    names = [param.name for param in a.op.arguments[:3]]
    query, key, value = (a.rank(name, 4) for name in names)
    dtype = a.common_dtype([(name, a.tensor(name).dtype) for name in names])
    device = common_vdevice(query, key, value)
    q, k, v = dims_of(query), dims_of(key), dims_of(value)
    if q is None or k is None or v is None:
        return tensor_info(None, dtype, 4, device)
    for x, y, what in (
        (q[0], k[0], "batches of query and key"),
        (q[0], v[0], "batches of query and value"),
        (q[3], k[3], "head dimensions of query and key"),
        (k[1], v[1], "lengths of key and value"),
    ):
        a.check_equal(x, y, f"needs equal {what}, but they are {d.show_one(x)} and {d.show_one(y)}")
    for x, what in ((k[2], "key"), (v[2], "value")):
        if d.value_of(x) != 0:
            shared = f"cannot share {d.show_one(x)} heads of {what} among {d.show_one(q[2])} heads of query"
            a.check_multiple(q[2], x, shared)
    if a.op.name == "relax.nn.attention_bias":
        _check_bias(a, (q[0], q[2], q[1], k[1]))
    return tensor_info([q[0], q[1], q[2], v[3]], dtype, 4, device)


def _check_mask(a: Inference) -> None:
    mask = a.attr("causal_mask")
    if mask not in (None, "TopLeft", "BottomRight"):
        raise a.fail("E0321", f'has no causal_mask "{mask}"', 'choose one of "TopLeft", "BottomRight"')


def _check_bias(a: Inference, scores: d.Dims) -> None:
    bias = dims_of(a.rank("bias", 4))
    for x, y in zip(bias or (), scores, strict=False):
        if not d.is_one(x):
            a.check_equal(x, y, f"needs a bias that broadcasts to {d.show(scores)}, but it is {d.show(bias or ())}")


def _batch_matmul(x: te.Tensor, y: te.Tensor, transposed: bool) -> te.Tensor:
    """Return the batched matrix products of `x` and `y`, or of `x` and the transposed `y`."""
    k = te.reduce_axis((te.const(0, "int64"), x.dims[2]), "k")

    def value(b: tir.PrimExpr, i: tir.PrimExpr, j: tir.PrimExpr) -> tir.PrimExpr:
        return te.sum(x(b, i, k) * (y(b, j, k) if transposed else y(b, k, j)), axis=k)

    columns = y.dims[1] if transposed else y.dims[2]
    return te.compute([x.dims[0], x.dims[1], columns], value, f"T_batch_matmul_N{'T' if transposed else 'N'}")


def _attend(
    q: te.Tensor, key: te.Tensor, value: te.Tensor, bias: te.Tensor | None, scale: float | None, seen: _Seen | None
) -> te.Tensor:
    """Fuse batch and heads; compute scores, softmax, and weighted sum (TVM: `legalize_ops/nn.py`)."""
    batch, length, heads, width = q.dims
    rows = d.multiply(batch, heads)

    def flat(x: te.Tensor) -> te.Tensor:
        shared = _shared(x, heads)
        return topi.reshape(topi.transpose(shared, [0, 2, 1, 3]), [rows, x.dims[1], x.dims[3]])

    scores = _batch_matmul(flat(q), flat(key), True)
    if scale is not None:
        scores = topi.multiply(scores, te.const(scale, q.dtype))
    else:
        scores = topi.divide(scores, te.sqrt(te.cast(width, q.dtype)))
    if bias is not None:
        whole = topi.add(topi.reshape(scores, [batch, heads, length, key.dims[1]]), bias)
        scores = topi.reshape(whole, scores.dims)
    weights = softmax(scores, -1) if seen is None else _masked(scores, seen)
    result = _batch_matmul(weights, flat(value), False)
    return topi.transpose(topi.reshape(result, [batch, heads, length, result.dims[2]]), [0, 2, 1, 3])


SCALED = "T_scaled"
WIDTHS = (64, 128)
"""Sizes of heads for which one kernel computes attention."""


def attended(query: te.Tensor, key: te.Tensor, value: te.Tensor, scale: float, offset: int | None = None) -> te.Tensor:
    """Return the attention of each head in float32, rounded at the end, by sums over the dimensions as they are in memory.

    With an `offset`, row i attends to keys up to i + offset; it is 0 if there are none.
    """
    batch, length, heads, width = query.dims
    group = d.floordiv(heads, key.dims[2])
    j, top, part, column = (
        te.reduce_axis((te.const(0, "int64"), size), name)
        for size, name in ((width, "k"), (key.dims[1], "m"), (key.dims[1], "s"), (key.dims[1], "j"))
    )

    def wide(value: tir.PrimExpr) -> tir.PrimExpr:
        return te.cast(value, "float32")

    def seen(i: tir.PrimExpr, s: tir.PrimExpr | tir.IterVar, value: tir.PrimExpr, otherwise: float) -> tir.PrimExpr:
        return value if offset is None else te.if_then_else(s <= i + offset, value, te.const(otherwise, "float32"))

    def score(b: tir.PrimExpr, h: tir.PrimExpr, i: tir.PrimExpr, s: tir.PrimExpr) -> tir.PrimExpr:
        return te.sum(wide(query(b, i, h, j)) * wide(key(b, s, h // group, j)), axis=j)

    def weighted(b: tir.PrimExpr, i: tir.PrimExpr, h: tir.PrimExpr, w: tir.PrimExpr) -> tir.PrimExpr:
        return te.sum(power(b, h, i, column) * wide(value(b, column, h // group, w)), axis=column)

    def rounded(b: tir.PrimExpr, i: tir.PrimExpr, h: tir.PrimExpr, w: tir.PrimExpr) -> tir.PrimExpr:
        value = whole(b, i, h, w) / total(b, h, i)
        return te.cast(value if offset is None or offset >= 0 else seen(i, te.const(0, "int64"), value, 0), query.dtype)

    def greatest(b: tir.PrimExpr, h: tir.PrimExpr, i: tir.PrimExpr) -> tir.PrimExpr:
        return te.max(seen(i, top, scaled(b, h, i, top), float("-inf")), axis=top)

    def exponential(b: tir.PrimExpr, h: tir.PrimExpr, i: tir.PrimExpr, s: tir.PrimExpr) -> tir.PrimExpr:
        return seen(i, s, te.exp(scaled(b, h, i, s) - most(b, h, i)), 0)

    shape = (batch, heads, length, key.dims[1])
    scores = te.compute(shape, score, "T_scores")
    scaled = te.compute(shape, lambda *i: scores(*i) * te.const(scale, "float32"), SCALED)
    most = te.compute(shape[:3], greatest, "T_most")
    power = te.compute(shape, exponential, "T_power")
    total = te.compute(shape[:3], lambda *i: te.sum(power(*i, part), axis=part), "T_total")
    whole = te.compute(query.dims, weighted, "T_weighted")
    return te.compute(query.dims, rounded, "T_attention")


def for_one_kernel(call: relax.Call) -> tuple[float, int | None] | None:
    """Return `scale` and `offset` of `attended` for an attention that one kernel of a GPU can compute: without bias and window, of
    float16 or bfloat16, with constant sizes; None for others.
    """
    infos = [arg.struct_info for arg in call.args[:3]]
    shapes = [dims_of(info) if isinstance(info, relax.TensorStructInfo) else None for info in infos]
    dtypes = {info.dtype for info in infos if isinstance(info, relax.TensorStructInfo)}
    sizes = [[d.value_of(size) for size in shape] for shape in shapes if shape is not None and len(shape) == 4]
    known = [[size for size in shape if size] for shape in sizes]
    if len(known) != 3 or any(len(shape) != 4 for shape in known) or dtypes not in ({"float16"}, {"bfloat16"}):
        return None
    query, key, value = known
    width = query[3]
    is_plain = len(call.args) == 3 and call.attrs.get("window_size") is None
    if not is_plain or width not in WIDTHS or value != key or max(prod(query), prod(key)) >= 2**31:
        return None
    scale, mask = call.attrs.get("scale"), call.attrs.get("causal_mask")
    offset = {"TopLeft": 0, "BottomRight": key[1] - query[1]}[mask] if mask is not None else None
    return 1 / sqrt(width) if scale is None else float(getattr(scale, "value", scale)), offset


def _shared(x: te.Tensor, heads: tir.PrimExpr) -> te.Tensor:
    """Return keys or values with as many heads as the query: each head serves a group of query heads."""
    if d.is_equal(x.dims[2], heads):
        return x
    group = d.floordiv(heads, x.dims[2])
    shape = (*x.dims[:2], heads, x.dims[3])

    def element(b: tir.PrimExpr, s: tir.PrimExpr, h: tir.PrimExpr, w: tir.PrimExpr) -> tir.PrimExpr:
        return x(b, s, h // group, w)

    return te.compute(shape, element, "T_shared_heads")


def _attention(a: Any) -> te.Tensor:
    offset = d.subtract(a.key.dims[1], a.query.dims[1]) if a.causal_mask == "BottomRight" else 0

    def seen(i: tir.PrimExpr, j: tir.PrimExpr) -> tir.PrimExpr:
        return _causal(a, i + offset, j)

    return _attend(a.query, a.key, a.value, a.bias, a.scale, None if a.causal_mask is None else seen)


def _causal(a: Any, i: tir.PrimExpr, j: tir.PrimExpr) -> tir.PrimExpr:
    """Return whether a query at `i` attends to a key at `j`, relative to the aligned ends of their sequences."""
    return j <= i if a.window_size is None else te.all(j <= i, i < j + a.window_size)


def _masked(scores: te.Tensor, seen: _Seen) -> te.Tensor:
    """Return the softmax over the keys that each query attends to."""

    def lowest(b: tir.PrimExpr, i: tir.PrimExpr, j: tir.PrimExpr) -> tir.PrimExpr:
        return te.if_then_else(seen(i, j), scores(b, i, j), te.const(float("-inf"), scores.dtype))

    weights = softmax(te.compute(scores.dims, lowest, "T_masked"), -1)

    def kept(b: tir.PrimExpr, i: tir.PrimExpr, j: tir.PrimExpr) -> tir.PrimExpr:
        return te.if_then_else(seen(i, j), weights(b, i, j), te.const(0, scores.dtype))

    return te.compute(scores.dims, kept, "T_masked_softmax")


def _var_len(a: Any) -> te.Tensor:
    """Let each query attend to the keys of its own sequence; a causal mask is aligned at the start or at the end of both."""
    from_end = a.causal_mask == "BottomRight"
    queries = _sequences(a.seqstart_q, a.queries.dims[1], from_end)
    keys = _sequences(a.seqstart_k, a.keys.dims[1], from_end)

    def seen(i: tir.PrimExpr, j: tir.PrimExpr) -> tir.PrimExpr:
        (number, origin), (other, start) = (
            tuple(part(at) for part in parts) for parts, at in ((queries, i), (keys, j))
        )
        same = te.equal(number, other)
        return same if a.causal_mask is None else te.all(same, _causal(a, i - origin, j - start))

    return _attend(a.queries, a.keys, a.values, None, a.scale, seen)


def _sequences(starts: te.Tensor, length: tir.PrimExpr, from_end: bool) -> tuple[te.Tensor, te.Tensor]:
    """Return, for each position in packed sequences, the number of its sequence, from 1 on, and its start or end."""
    k, bound = (te.reduce_axis((te.const(0, "int64"), starts.dims[0]), "k") for _ in range(2))

    def number(i: tir.PrimExpr) -> tir.PrimExpr:
        return te.sum(te.cast(te.cast(starts(k), "int64") <= i, "int64"), axis=k)

    def end(i: tir.PrimExpr) -> tir.PrimExpr:
        at = te.cast(starts(bound), "int64")
        if from_end:
            return te.min(te.if_then_else(i < at, at, te.max_value("int64")), axis=bound)
        return te.max(te.if_then_else(at <= i, at, te.const(0, "int64")), axis=bound)

    return te.compute((length,), number, "T_sequence"), te.compute((length,), end, "T_sequence_end")


def _numpy_attend(np: Any, a: Any, q: Any, k: Any, v: Any, bias: Any) -> Any:
    """Return the attention of a batch of sequences in NumPy."""
    q, k, v = (np.moveaxis(x, 2, 1) for x in (q, k, v))
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], 1) for x in (k, v))
    scale = 1 / sqrt(q.shape[-1]) if a.scale is None else a.scale
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(scale)
    if bias is not None:
        scores = scores + bias
    seen = None
    if a.causal_mask is not None:
        rows, columns = np.indices(scores.shape[-2:])
        rows = rows + (0 if a.causal_mask == "TopLeft" else scores.shape[-1] - scores.shape[-2])
        seen = columns <= rows if a.window_size is None else (columns <= rows) & (rows < columns + a.window_size)
        scores = np.where(seen, scores, -np.inf)
    exponential = np.exp(scores - scores.max(-1, keepdims=True, initial=-np.inf))
    weights = exponential / exponential.sum(-1, keepdims=True)
    if seen is not None:
        weights = np.where(seen.any(-1, keepdims=True), weights, 0)  # a sum over no keys
    return np.moveaxis(weights @ v, 1, 2).astype(q.dtype)


def _oracle(np: Any, a: Any) -> Any:
    return _numpy_attend(np, a, a.query, a.key, a.value, a.bias)


def _numpy_var_len(np: Any, a: Any) -> Any:
    bounds = map(pairwise, (a.seqstart_q, a.seqstart_k))
    parts = [
        _numpy_attend(np, a, a.queries[:, p:q], a.keys[:, r:s], a.values[:, r:s], None)
        for (p, q), (r, s) in zip(*bounds, strict=True)
    ]
    return np.concatenate(parts, 1)


_QUERY_KEY_VALUE = (Param("query"), Param("key"), Param("value"))
register(
    RelaxOp(
        "relax.nn.attention_bias",
        (*_QUERY_KEY_VALUE, Param("bias"), *_ATTRIBUTES),
        _infer,
        "Return softmax(query · key × scale + bias) · value, for each head.",
        _oracle,
        _attention,
    )
)
register(
    RelaxOp(
        "relax.nn.attention",
        (*_QUERY_KEY_VALUE, Param("bias", "opt_expr", None), *_ATTRIBUTES),
        _infer,
        "Return softmax(query · key × scale) · value, for each head; with a bias it is `R.nn.attention_bias`.",
        _oracle,
        _attention,
        rename=lambda values: "relax.nn.attention_bias" if values["bias"] is not None else "relax.nn.attention",
    )
)
register(
    RelaxOp(
        "relax.nn.attention_var_len",
        (
            Param("queries"),
            Param("keys"),
            Param("values"),
            Param("seqstart_q"),
            Param("max_seqlen_q"),
            Param("seqstart_k", "opt_expr", None),
            Param("max_seqlen_k", "opt_expr", None),
            *_ATTRIBUTES,
        ),
        _infer,
        "Return attention over packed sequences of different lengths: `seqstart_q` and `seqstart_k` hold the start of each "
        "sequence and the end of the last one.",
        _numpy_var_len,
        _var_len,
        complete=lambda values: values.update(
            seqstart_k=values["seqstart_q"] if values["seqstart_k"] is None else values["seqstart_k"],
            max_seqlen_k=values["max_seqlen_q"] if values["max_seqlen_k"] is None else values["max_seqlen_k"],
        ),
    )
)
