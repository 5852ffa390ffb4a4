"""Attention (TVM: `relax/op/nn/nn.py: attention`)."""

from __future__ import annotations

from math import sqrt
from typing import Any

from .. import te
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


def _infer(a: Inference) -> StructInfo:
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
        heads, groups = d.value_of(q[2]), d.value_of(x)
        if heads is not None and groups and heads % groups:
            raise a.fail("E0326", f"cannot share {groups} heads of {what} among {heads} heads of query")
    if a.op.name == "relax.nn.attention_bias":
        _check_bias(a, (q[0], q[2], q[1], k[1]))
    return tensor_info([q[0], q[1], q[2], v[3]], dtype, 4, device)


def _check_bias(a: Inference, scores: d.Dims) -> None:
    bias = dims_of(a.rank("bias", 4))
    for x, y in zip(bias or (), scores, strict=False):
        if not d.is_one(x):
            a.check_equal(x, y, f"needs a bias that broadcasts to {d.show(scores)}, but it is {d.show(bias or ())}")


def _batch_matmul(x: te.Tensor, y: te.Tensor, transposed: bool) -> te.Tensor:
    """The products of matrices in batches; with `transposed`, of `x` and the transposed `y`."""
    k = te.reduce_axis((te.const(0, "int64"), x.dims[2]), "k")

    def value(b: te.Expr, i: te.Expr, j: te.Expr) -> te.Expr:
        return te.sum(x(b, i, k) * (y(b, j, k) if transposed else y(b, k, j)), axis=k)

    columns = y.dims[1] if transposed else y.dims[2]
    return te.compute([x.dims[0], x.dims[1], columns], value, f"T_batch_matmul_N{'T' if transposed else 'N'}")


def _attention(a: Any) -> te.Tensor:
    """Batch and heads become one; scores, softmax, weighted sum (TVM: `legalize_ops/nn.py`)."""
    q: te.Tensor = a.query
    batch, length, heads, width = q.dims
    rows = d.multiply(batch, heads)

    def flat(x: te.Tensor) -> te.Tensor:
        return topi.reshape(topi.transpose(x, [0, 2, 1, 3]), [rows, x.dims[1], x.dims[3]])

    key: te.Tensor = a.key
    scores = _batch_matmul(flat(q), flat(key), True)
    if a.scale is not None:
        scores = topi.multiply(scores, te.const(a.scale, q.dtype))
    else:
        scores = topi.divide(scores, te.sqrt(te.cast(te.Expr(width), q.dtype)))
    if a.bias is not None:
        whole = topi.add(topi.reshape(scores, [batch, heads, length, key.dims[1]]), a.bias)
        scores = topi.reshape(whole, scores.dims)
    weights = softmax(scores, -1) if a.causal_mask is None else _masked(a, scores)
    result = _batch_matmul(weights, flat(a.value), False)
    return topi.transpose(topi.reshape(result, [batch, heads, length, result.dims[2]]), [0, 2, 1, 3])


def _masked(a: Any, scores: te.Tensor) -> te.Tensor:
    """Softmax over the keys that a causal mask lets each query see."""
    offset = 0 if a.causal_mask == "TopLeft" else te.Expr(d.subtract(scores.dims[2], scores.dims[1]))

    def seen(i: te.Expr, j: te.Expr) -> te.Expr:
        causal = j <= i + offset
        if a.window_size is None:
            return causal
        return te.all(causal, i + offset < j + a.window_size)

    def lowest(b: te.Expr, i: te.Expr, j: te.Expr) -> te.Expr:
        return te.if_then_else(seen(i, j), scores(b, i, j), te.min_value(scores.dtype))

    weights = softmax(te.compute(scores.dims, lowest, "T_masked"), -1)

    def kept(b: te.Expr, i: te.Expr, j: te.Expr) -> te.Expr:
        return te.if_then_else(seen(i, j), weights(b, i, j), te.const(0, scores.dtype))

    return te.compute(scores.dims, kept, "T_masked_softmax")


def _oracle(np: Any, a: Any) -> Any:
    q, k, v = (np.moveaxis(x, 2, 1) for x in (a.query, a.key, a.value))
    scale = 1 / sqrt(q.shape[-1]) if a.scale is None else a.scale
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(scale)
    if a.bias is not None:
        scores = scores + a.bias
    if a.causal_mask is not None:
        rows, columns = np.indices(scores.shape[-2:])
        rows = rows + (0 if a.causal_mask == "TopLeft" else scores.shape[-1] - scores.shape[-2])
        seen = columns <= rows if a.window_size is None else (columns <= rows) & (rows < columns + a.window_size)
        scores = np.where(seen, scores, -np.inf)
    exponential = np.exp(scores - scores.max(-1, keepdims=True))
    weights = exponential / exponential.sum(-1, keepdims=True)
    return np.moveaxis(weights @ v, 1, 2).astype(a.query.dtype)


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
        "Return attention over sequences of different lengths, packed one after another.",
        complete=lambda values: values.update(
            seqstart_k=values["seqstart_q"] if values["seqstart_k"] is None else values["seqstart_k"],
            max_seqlen_k=values["max_seqlen_q"] if values["max_seqlen_k"] is None else values["max_seqlen_k"],
        ),
    )
)
