"""Calls of operators from Python: what they take beyond the text's arguments, what they refuse, and how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tvms
from tvms import relax, tir
from tvms.ir.ops import dims as d

n, m = tir.Var("n", "int64"), tir.Var("m", "int64")


def tensor(*shape: Any, dtype: str = "float32") -> relax.Var:
    return relax.Var("x", relax.TensorStructInfo(shape, dtype))


REFUSED: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "arguments": (
        lambda: relax.op.abs(tensor(2), tensor(2)),
        TypeError,
        "R.abs: expected at most 1 argument by position, got 2",
    ),
    "kind": (lambda: relax.op.full(4, tensor()), TypeError, "argument 1, 'shape' to R.full: expected a shape, got 4"),
    "dtype": (
        lambda: relax.op.nn.conv1d(tensor(2, 3, 28), tensor(4, 3, 3, dtype="int8")),
        TypeError,
        "R.nn.conv1d needs operands of one dtype, but 'data' is float32 and 'weight' is int8",
    ),
    "strides": (
        lambda: relax.op.nn.conv1d(tensor(2, 3, 28), tensor(4, 3, 3), strides=(1, 2)),
        TypeError,
        "R.nn.conv1d needs 1 values as 'strides', not 2",
    ),
    "pool size": (
        lambda: relax.op.nn.max_pool2d(tensor(2, 3, 28, 28), pool_size=(1, 2, 3)),
        TypeError,
        "R.nn.max_pool2d needs 2 values as 'pool_size', not 3",
    ),
    "groups": (
        lambda: relax.op.nn.conv1d_transpose(tensor(2, 3, 28), tensor(3, 4, 3), groups=0),
        TypeError,
        "R.nn.conv1d_transpose cannot have 0 groups",
    ),
    "channels": (
        lambda: relax.op.nn.conv1d_transpose(tensor(2, 128, 28), tensor(128, 20, 3), groups=6),
        tvms.TvmsError,
        "R.nn.conv1d_transpose cannot split 128 input channels into 6 groups",
    ),
    "symbolic channels": (
        lambda: relax.op.nn.conv1d(tensor(n, m * 6, 28), tensor(n * 6 + 4, m, 3), groups=6),
        tvms.TvmsError,
        "R.nn.conv1d cannot split n * 6 + 4 output channels into 6 groups",
    ),
    "classes": (
        lambda: relax.op.nn.nll_loss(tensor(3, 6), tensor(3, dtype="int64"), tensor(5)),
        tvms.TvmsError,
        "R.nn.nll_loss has 6 classes, but weights (5,)",
    ),
    "one part, no such axis": (
        lambda: relax.op.split(tensor(2, 3), [], axis=2),
        tvms.TvmsError,
        "R.split has axis 2, but its tensor has 2 dimensions",
    ),
    "slice by tensors": (
        lambda: relax.op.strided_slice(tensor(8, 9), tensor(2), tensor(2), tensor(2)),
        tvms.TvmsError,
        "R.strided_slice needs a tuple as 'axes', but it is a tensor",
    ),
    "a number of repetitions that is not known": (
        lambda: relax.op.tile(tensor(2, 3), (2, n)),
        tvms.TvmsError,
        "R.tile cannot repeat dimensions [2, n] times",
    ),
    "call of a scalar": (
        lambda: relax.Call(relax.Var("f", relax.PrimStructInfo("int32")), [tensor(2)]),
        ValueError,
        "only a function can be called, not a scalar of dtype int32",
    ),
    "view of more elements": (
        lambda: relax.op.memory.view(tensor(n), relax.ShapeExpr([n + 1])),
        tvms.TvmsError,
        "R.memory.view views n * 4 + 4 bytes of a tensor of n * 4",
    ),
    "view of wider elements": (
        lambda: relax.op.memory.view(tensor(16, dtype="uint8"), dtype="float16"),
        tvms.TvmsError,
        "R.memory.view views 32 bytes of a tensor of 16",
    ),
    "view beyond the end": (
        lambda: relax.op.memory.view(relax.Var("x", relax.TensorStructInfo(dtype="")), relative_byte_offset=16),
        tvms.TvmsError,
        "R.memory.view views 17 bytes of a tensor of 1",
    ),
    "padding of integers": (
        lambda: relax.op.layout_transform(tensor(4, dtype="int32"), lambda i: (i // 3, i % 3), pad_value=2.5),
        TypeError,
        "R.layout_transform cannot fill a tensor of dtype int32 with 2.5",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_call_that_does_not_fit_is_refused_in_pythons_terms(case: str) -> None:
    call, kind, message = REFUSED[case]
    with pytest.raises(kind) as raised:
        call()
    assert isinstance(raised.value, tvms.TvmsError)
    assert [diagnostic.message for diagnostic in raised.value.diagnostics] == [message]


def test_errors_of_shapes_are_value_errors() -> None:
    for call in (
        lambda: relax.op.add(tensor(2), tensor(3)),
        lambda: relax.op.matmul(tensor(2, 3), tensor(4, 5)),
        lambda: relax.op.permute_dims(tensor(2, 3), [0, 2]),
        lambda: relax.op.nn.conv2d(tensor(2, 3), tensor(2, 3)),
        lambda: relax.BlockBuilder().normalize(relax.op.strided_slice(tensor(2), [3], [0], [1])),
    ):
        with pytest.raises(ValueError, match=r"E032[356]") as raised:
            call()
        assert isinstance(raised.value, tvms.TvmsError)


INFERRED: dict[str, tuple[Callable[[], Any], str]] = {
    "one size for height and width": (
        lambda: relax.op.image.resize2d(tensor(1, 3, 8, 8), 28),
        'R.Tensor((1, 3, 28, 28), "float32")',
    ),
    "a function of indices": (
        lambda: relax.op.layout_transform(tensor(10, 20), lambda i, j: (i, j // 2, j % 2)),
        'R.Tensor((10, 10, 2), "float32")',
    ),
    "more than there are": (
        lambda: relax.op.topk(tensor(2, 4), k=6, ret_type="values"),
        'R.Tensor((2, 4), "float32")',
    ),
    "a reduction of what nothing is known of": (
        lambda: relax.op.max(relax.Var("x", relax.TensorStructInfo(dtype="float32"))),
        'R.Tensor((), "float32")',
    ),
    "a slice inside of its axis": (
        lambda: relax.op.strided_slice(tensor(8), axes=[0], begin=[n], end=[8], assume_inbound=True),
        'R.Tensor((8 - n,), "float32")',
    ),
    "a slice that may be empty": (
        lambda: relax.op.strided_slice(tensor(8), axes=[0], begin=[n], end=[8]),
        'R.Tensor((T.max(8 - n, 0),), "float32")',
    ),
    "a smaller view": (
        lambda: relax.op.memory.view(tensor(n), relax.ShapeExpr([n // 2])),
        'R.Tensor((n // 2,), "float32")',
    ),
}


@pytest.mark.parametrize("case", INFERRED)
def test_struct_info_of_calls_from_python(case: str) -> None:
    call, expected = INFERRED[case]
    assert str(call().struct_info) == expected


@pytest.mark.parametrize(
    ("dim", "normal"),
    [
        (n + 1 - m, "n + 1 - m"),
        (n - 1 - m, "n - m - 1"),
        ((n - 3) // 2 + 1, "(n - 3) // 2 + 1"),
        ((n - 4) // 2 + 1, "n // 2 - 1"),
        (n * m * 6 // (n * 4), "m * 3 // 2"),
        ((n * 4 + m * 3) // 4, "n + m * 3 // 4"),
        (n * m // (n * m), "T.int64(1)"),
        ((7 - n + n) // 2, "T.int64(3)"),
        (0 - n * 2, "n * -2"),
        (tir.max(n + 1, n), "n + 1"),
    ],
)
def test_dimensions_have_tvms_normal_form(dim: tir.PrimExpr, normal: str) -> None:
    simple = d.simplify(dim)
    assert str(simple) == normal
    assert str(d.simplify(simple)) == normal


def test_attributes_are_read_as_fields() -> None:
    call = relax.op.nn.conv1d(tensor(2, 3, 28), tensor(4, 3, 3), strides=2)
    assert call.attrs["strides"] == (2,)
    assert [(size.value, size.dtype) for size in call.attrs.strides] == [(2, "int64")]
    assert call.attrs.strides[0] == 2
    assert call.attrs.strides[0] != 3
    assert isinstance(call.attrs.strides[0], int)
    assert call.attrs.strides[0].ty.dtype == "int64"
    split = relax.op.split(tensor(2, 10), 5, axis=1)
    assert (split.attrs.indices_or_sections.dtype, split.attrs.axis) == ("int64", 1)
    again = relax.op.nn.conv1d(*call.args, strides=call.attrs.strides)
    assert [type(size) for size in again.attrs["strides"]] == [int]
    assert tir.const(1) + call.attrs.strides[0] is not None
    node = tir.BufferLoad(tir.decl_buffer((4,)), [call.attrs.strides[0]]).indices[0]
    assert (node.value, node.dtype) == (2, "int64")
    with pytest.raises(AttributeError, match="there is no attribute 'stride', only strides, padding"):
        _ = call.attrs.stride
