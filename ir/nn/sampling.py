"""Sampling from distributions of tokens (TVM: `relax.frontend.nn.op`)."""

from __future__ import annotations

from typing import Any

from .. import te, tir
from ..building.values import const
from . import operators as op
from .tensor import Tensor, builder, call, wrap

_ZERO, _ONE = tir.IntImm("int64", 0), tir.IntImm("int64", 1)


def multinomial_from_uniform(
    prob: Tensor,
    uniform_sample: Tensor,
    sample_indices: Tensor | None = None,
    dtype: str = "int64",
    name: str = "multinomial_from_uniform",
) -> Tensor:
    """Return (n, 1) indices of `dtype`, drawn from distributions in the rows of `prob`, (batch, vocabulary).

    `uniform_sample` holds (n, 1) samples in [0, 1), and `sample_indices` the row for each, by default all in order.
    """
    rows = _rows(prob, uniform_sample, sample_indices)
    return call("multinomial_from_uniform", name, prob, uniform_sample, rows, dtype)


def sample_top_p_top_k_from_sorted_prob(
    sorted_prob: Tensor,
    sorted_index: Tensor,
    top_p: Tensor,
    top_k: Tensor,
    uniform_sample: Tensor,
    sample_indices: Tensor | None = None,
) -> Tensor:
    """Return (n, 1) indices of tokens, drawn from the likeliest ones: at most `top_k`, of probability `top_p` together.

    `sorted_prob` and `sorted_index`, (batch, vocabulary), are the probabilities in descending order and their tokens;
    `top_p` and `top_k` are (batch, 1). See `multinomial_from_uniform` for the samples.
    """
    rows = _rows(sorted_prob, uniform_sample, sample_indices)
    sums = op.cumsum(sorted_prob, axis=1)
    limit = _tensor_op(_value_at_cutoff, "get_renorm_prob", sums, sums, top_p, top_k)
    return _tensor_op(_drawn_token, "get_index_from_sorted", sums, sorted_index, limit, uniform_sample, rows)


def renormalize_top_p_top_k_prob(prob: Tensor, sorted_prob: Tensor, top_p: Tensor, top_k: Tensor) -> Tensor:
    """Return `prob` with zeros for all but the likeliest tokens, scaled so that each row adds up to 1.

    See `sample_top_p_top_k_from_sorted_prob` for the tokens that are kept.
    """
    sums = op.cumsum(sorted_prob, axis=1)
    cutoff = _tensor_op(_value_at_cutoff, "get_renorm_cutoff", sums, sorted_prob, top_p, top_k)
    kept = _tensor_op(_at_least, "filter_with_top_p_top_k", prob, cutoff)
    return kept / op.sum(kept, axis=1, keepdims=True)


def _rows(prob: Tensor, uniform_sample: Tensor, sample_indices: Tensor | None) -> Tensor:
    import numpy as np

    batch, samples = prob.shape[0], uniform_sample.shape[0]
    if sample_indices is None:
        if not isinstance(samples, int) or batch != samples:
            raise ValueError(f"{batch} distributions for {samples} samples need sample_indices")
        return Tensor(const(np.arange(samples).reshape(-1, 1), "int64"))
    if sample_indices.shape != uniform_sample.shape:
        raise ValueError(f"sample_indices is {sample_indices.shape}, but uniform_sample is {uniform_sample.shape}")
    return sample_indices


def _tensor_op(function: Any, name: str, *args: Tensor) -> Tensor:
    made = builder().call_te(function, *(arg.expr for arg in args), primfunc_name_hint=name)
    return wrap(builder().emit(made), name)


def _value_at_cutoff(sums: te.Tensor, values: te.Tensor, top_p: te.Tensor, top_k: te.Tensor) -> te.Tensor:
    """Return the value at the last kept token of each row; the sums of kept ones but the last are below `top_p`."""
    batch, size = sums.shape
    axis = te.reduce_axis((0, size), "j")

    def count(i: Any, _: Any) -> tir.PrimExpr:
        is_before_last = te.all(sums[i, axis] < top_p[i, 0], axis + 1 < top_k[i, 0].astype("int64"))
        return te.sum(te.if_then_else(is_before_last, _ONE, _ZERO), axis)

    before = te.compute((batch, 1), count, "kept")

    def value(i: Any, _: Any) -> tir.PrimExpr:
        return values[i, te.min(before[i, 0], size - 1)]

    return te.compute((batch, 1), value, "value")


def _drawn_token(
    sums: te.Tensor, tokens: te.Tensor, limit: te.Tensor, uniform: te.Tensor, rows: te.Tensor
) -> te.Tensor:
    """Return the first token whose share of the kept probability exceeds the sample."""
    samples, size = uniform.shape[0], sums.shape[1]
    axis = te.reduce_axis((0, size), "j")

    def count(i: Any, _: Any) -> tir.PrimExpr:
        is_passed = uniform[i, 0] >= sums[rows[i, 0], axis] / limit[rows[i, 0], 0]
        return te.sum(te.if_then_else(is_passed, _ONE, _ZERO), axis)

    passed = te.compute((samples, 1), count, "passed")

    def token(i: Any, _: Any) -> tir.PrimExpr:
        return tokens[rows[i, 0], te.min(passed[i, 0], size - 1)]

    return te.compute((samples, 1), token, "token")


def _at_least(prob: te.Tensor, cutoff: te.Tensor) -> te.Tensor:
    def kept(i: Any, j: Any) -> tir.PrimExpr:
        return te.if_then_else(prob[i, j] >= cutoff[i, 0], prob[i, j], 0.0)

    return te.compute(prob.shape, kept, "kept")
