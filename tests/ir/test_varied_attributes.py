"""Attributes and shapes that random calls found: each is refused with a reason, or means the same in both definitions."""

from __future__ import annotations

import pytest
from tvms.dsl.load import parse
from tvms.ir.diagnostics import TvmsError
from tvms.ir.passes.transform import get_pass
from tvms.ir.programs import as_module
from tvms.testing import assert_equivalent

REFUSED = [
    ('R.nn.adaptive_avg_pool1d(x, output_size=[])', (2, 4, 5), "needs 1 values as 'output_size', not 0"),
    ('R.nn.max_pool2d(x, pool_size=[2, -1])', (1, 2, 4, 3), "needs values of at least 1 as 'pool_size', not -1"),
    ('R.nn.max_pool2d(x, pool_size=[2, 2], strides=[1, 0])', (1, 2, 4, 3), "needs values of at least 1 as 'strides', not 0"),
    ('R.nn.max_pool2d(x, padding=[0, -1, 0, 0])', (1, 2, 4, 3), "needs values of at least 0 as 'padding', not -1"),
    ('R.nn.avg_pool2d(x, out_layout="NCHW4c")', (1, 3, 4, 3), "cannot split 3 elements of dimension C into blocks of 4"),
    ('R.nn.avg_pool1d(x, layout="NCW4c")', (1, 1, 4, 5), "needs blocks of 4 in dimension c of the layout NCW4c, not of 5"),
    ('R.nn.conv2d(x, x, dilation=[1, -2])', (2, 2, 3, 3), "needs values of at least 1 as 'dilation', not -2"),
    ('R.nn.conv2d_transpose(x, x, padding=[-1, 0, 0, 0])', (2, 2, 3, 3), "needs values of at least 0 as 'padding', not -1"),
    ('R.nn.pixel_shuffle(x, upscale_factor=0)', (1, 4, 2, 2), "cannot enlarge by a factor of 0"),
    ('R.nn.attention(x, x, x, causal_mask="top")', (1, 2, 2, 3), 'has no causal_mask "top"'),
    ('R.repeat(x, repeats=-1, axis=0)', (2, 3), "cannot repeat elements -1 times"),
    ('R.reverse_sequence(x, R.const([2, 1], "int32"), batch_axis=1)', (2, 3), "has 2 lengths, but dimension 1 of 'data' is 3"),
    ('R.tile(x, [2, -1])', (2, 3), "cannot repeat dimensions [2, -1] times"),
    ('R.dequantize(x, R.const(0.5, "float32"), R.const(1, "int8"), out_dtype="void")', (2,), "needs an out_dtype"),
    ('R.index_put(x, (R.const([1], "int64"),), R.zeros((2, 1), "float32"))', (2,), "needs 'values' to have at most 1 dimensions, but it has 2"),
    ('R.index_put(x, (R.const([1], "int64"), R.const([1], "int64")), x)', (2,), "has 2 indices for 1 dimensions"),
    ('R.grad.take_backward(x, R.zeros((3, 3), "float32"), R.const([1, 0], "int64"), axis=1)', (2, 3), "needs 'output_grad' to have the shape (3, 2), but its shape is (2, 3)"),
    ('R.grad.avg_pool2d_backward(x, R.zeros((1, 1, 3, 3), "float32"), pool_size=[2, 2])', (1, 2, 2), "needs 'output_grad' to have 4 dimensions, but it has 3"),
    ('R.grad.avg_pool2d_backward(x, x, pool_size=[1, 1], padding=[0, 0, 0])', (1, 1, 2, 2), "needs 4 values as 'padding', not 3"),
]  # fmt: skip
"""A call, the shape of `x`, and the reason why it is refused."""

ACCEPTED = [
    ("R.split(x, 4)[0]", (5, 3)), ("R.split(x, 4)[3]", (5, 3)), ("R.split(x, 1)", (5, 3)), ("R.repeat(x, 0, axis=0)", (2, 3)),
    ('R.nn.attention(x, R.zeros((1, 1, 2, 3), "float32"), R.ones((1, 1, 2, 3), "float32"), causal_mask="BottomRight")', (1, 3, 2, 3)),
    ('R.nn.attention(x, x, x, causal_mask="TopLeft", window_size=0)', (1, 3, 2, 3)),
    ("R.nn.batch_flatten(x)", (0, 2)), ('R.wrap_param(x, "int64")', (2, 3)), ("R.nn.pad(x, [2, -1, 0, 1], pad_value=0.5)", (3, 4)),
    ('R.nn.pad(x, [2, -1, -1, 1], pad_mode="reflect")', (3, 4)), ("R.median(x, axis=[0], keepdims=True)[0]", (4, 0)),
    ('R.quantize(x, R.const(0.5, "float32"), R.const(1, "int8"), out_dtype="int64")', (3, 2)),
    ('R.quantize(x, R.const(0.5, "float32"), R.const(1, "int8"), out_dtype="float64")', (3, 2)),
    ('R.quantize(x, R.const(0.5, "float32"), R.const(1, "int8"), out_dtype="float16")', (3, 2)),
    ('R.dequantize(R.astype(x, "int32"), R.const(0.5, "float32"), R.const(1, "int32"), out_dtype="float64")', (3, 2)),
    ('R.matmul(x, R.ones((2, 2), "float32"), out_dtype="int32")', (3, 2)),
    ('R.nn.conv1d_transpose(x, R.ones((2, 1, 2), "float32"), out_dtype="int32")', (1, 2, 3)),
]  # fmt: skip


def _function(call: str, shape: tuple[int, ...]) -> str:
    sizes = "".join(f"{size}, " for size in shape)
    return f'R.function main(x: R.Tensor(({sizes}), "float32")):\n    y = {call}\n    return y\n'


@pytest.mark.parametrize(("call", "shape", "reason"), REFUSED, ids=[row[0] for row in REFUSED])
def test_wrong_attributes_are_refused(call: str, shape: tuple[int, ...], reason: str) -> None:
    with pytest.raises(TvmsError) as caught:
        parse(_function(call, shape))
    (found,) = caught.value.diagnostics
    assert found.message == f"{call.partition('(')[0]} {reason}"


@pytest.mark.parametrize(("call", "shape"), ACCEPTED, ids=[row[0] for row in ACCEPTED])
@pytest.mark.parametrize("seed", [0, 1])
def test_definitions_agree(call: str, shape: tuple[int, ...], seed: int) -> None:
    module = as_module(parse(_function(call, shape)))
    assert_equivalent(module, get_pass("LegalizeOps")(module), seed=seed, integers=(-8, 9))
