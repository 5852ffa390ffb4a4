"""Constructors of struct info, and functions whose types have dimensions of their own."""

from __future__ import annotations

from typing import Any

import pytest
import tvms
from tvms import relax, tir


def function_type(size: int) -> relax.FuncStructInfo:
    n, m = tir.Var("n", "int64"), tir.Var("m", "int64")
    return relax.FuncStructInfo(
        [relax.TensorStructInfo([size, n]), relax.TensorStructInfo([n, m])], relax.TensorStructInfo([m])
    )


def test_dimensions_of_a_function_s_type_are_its_own() -> None:
    assert tvms.structural_equal(function_type(1), function_type(1))
    assert tvms.structural_hash(function_type(1)) == tvms.structural_hash(function_type(1))
    assert not tvms.structural_equal(function_type(1), function_type(2))
    n = tir.Var("n", "int64")
    other = relax.FuncStructInfo(
        [relax.TensorStructInfo([1, n]), relax.TensorStructInfo([n, n])], relax.TensorStructInfo([n])
    )
    assert not tvms.structural_equal(function_type(1), other)


@pytest.mark.parametrize(
    ("kind", "args", "message"),
    [
        (
            relax.ShapeStructInfo,
            {"values": [1, 2], "ndim": 2},
            "2 dimensions are given, and also ndim=2; leave ndim out",
        ),
        (relax.TensorStructInfo, {"shape": [1], "ndim": 3}, "1 dimensions are given, and also ndim=3; leave ndim out"),
    ],
)
def test_sizes_and_their_number_are_not_both_given(kind: Any, args: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind(**args)


def test_a_value_is_not_a_dtype() -> None:
    with pytest.raises(
        TypeError, match=r"expected the name of a dtype, got \[1\]; write value=\[1\] for a known value"
    ):
        relax.PrimStructInfo([1])


def test_types_take_the_arguments_of_either_version() -> None:
    assert relax.TensorType(3, "int32").ndim == relax.TensorType(ndim=3, dtype="int32").ndim == 3
    assert str(relax.TensorType((2, 3), "int32")) == 'R.Tensor((2, 3), "int32")'
    kind = relax.FuncType(arg_types=[relax.ObjectType()], ret_type=relax.ShapeType(ndim=3))
    assert str(kind) == "R.Callable((R.Object,), R.Shape(ndim=3), True)"


def test_the_rank_of_adaptive_pooling_is_known() -> None:
    x = relax.Var("x", relax.TensorStructInfo(dtype="float32"))
    for number, ndim in ((1, 3), (2, 4), (3, 5)):
        info = getattr(relax.op.nn, f"adaptive_avg_pool{number}d")(x).struct_info
        assert (info.ndim, info.dtype, info.shape) == (ndim, "float32", None)


def test_a_scalar_has_one_unique_element() -> None:
    x = relax.Var("x", relax.TensorStructInfo((), "float32"))
    infos = relax.op.unique(x, return_index=True, axis=None).struct_info.fields
    assert [str(info) for info in infos] == ['R.Tensor((1,), "float32")', 'R.Tensor((1,), "int64")']


def test_external_functions_have_struct_info() -> None:
    anything = relax.FuncStructInfo.opaque_func()
    assert tvms.structural_equal(relax.ExternFunc("f").struct_info, anything)
    one = relax.FuncStructInfo([relax.TensorStructInfo([2])], relax.TensorStructInfo([2]), purity=True)
    for function in (relax.ExternFunc("f", one), relax.extern("f", one)):
        assert function.struct_info is one
