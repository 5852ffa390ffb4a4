"""Struct info: symbolic shapes, and what is said of operands that do not fit."""

from __future__ import annotations

from typing import Any

import pytest
import tvms
from tvms.ir import relax, tir
from tvms.ir.base import GlobalVar, StructInfo
from tvms.ir.diagnostics import TvmsError
from tvms.ir.infer import infer_struct_info, join
from tvms.ir.ops import dims
from tvms.ir.ops.binding import bind
from tvms.ir.ops.inference import tensor_info
from tvms.ir.ops.registry import get_op
from tvms.ir.script import script

N, M = tir.Var("int64", "n"), tir.Var("int64", "m")


def tensor(*shape: int | tir.PrimExpr | None, dtype: str = "float32", ndim: int = -1) -> relax.Var:
    known = [dims.as_dim(size) for size in shape if size is not None]
    info = tensor_info(known if ndim == -1 else None, dtype, ndim if ndim != -1 else len(known))
    return relax.Var("x", struct_info=info)


def show(info: StructInfo) -> str:
    match info:
        case relax.TensorStructInfo():
            shape = info.shape
            text = dims.show(shape.values) if isinstance(shape, relax.ShapeExpr) else f"ndim={info.ndim}"
            return f"{text} {info.dtype}"
        case relax.TupleStructInfo():
            return ", ".join(show(field) for field in info.fields)
        case _:
            return type(info).__name__


def infer(name: str, *args: Any, **attrs: Any) -> str:
    return show(infer_struct_info(bind(get_op(f"relax.{name}"), args, attrs)))


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("add", (tensor(N, 4), tensor(4)), "(n, 4) float32"),
        ("add", (tensor(N, 1), tensor(1, M)), "(n, m) float32"),
        ("add", (tensor(N, 4), tensor(M, 4)), "ndim=2 float32"),
        ("add", (tensor(N), tensor(ndim=3)), "ndim=3 float32"),
        ("add", (tensor(4), relax.PrimValue(tir.FloatImm("float32", 1.0))), "(4,) float32"),
        ("less", (tensor(N), tensor(N)), "(n,) bool"),
        ("matmul", (tensor(N, 4), tensor(4, M)), "(n, m) float32"),
        ("matmul", (tensor(2, 1, N, 4), tensor(3, 4, 5)), "(2, 3, n, 5) float32"),
        ("permute_dims", (tensor(N, 4, M),), "(m, 4, n) float32"),
        ("reshape", (tensor(N, 4), (-1, 2)), "(n * 2, 2) float32"),
        ("reshape", (tensor(N, 4), (2, -1, 2)), "(2, n, 2) float32"),
        ("flatten", (tensor(N, 4),), "(n * 4,) float32"),
        ("concat", ((tensor(N, 4), tensor(N, 4), tensor(3, 4)),), "(n * 2 + 3, 4) float32"),
        ("split", (tensor(N, 6), 3, 1), "(n, 2) float32, (n, 2) float32, (n, 2) float32"),
        ("sum", (tensor(N, 4), [0]), "(4,) float32"),
        ("sum", (tensor(ndim=3), [0]), "ndim=2 float32"),
        ("argmax", (tensor(N, 4), 1), "(n,) int64"),
        ("take", (tensor(N, 4), tensor(2, 3, dtype="int64"), 0), "(2, 3, 4) float32"),
        ("nn.conv2d", (tensor(N, 3, 8, 8), tensor(16, 3, 3, 3)), "(n, 16, 6, 6) float32"),
        ("full_like", (tensor(N), 1.0), "(n,) float32"),
    ],
)  # fmt: skip
def test_what_is_inferred(name: str, args: tuple[Any, ...], expected: str) -> None:
    assert infer(name, *args) == expected


def test_packed_layouts() -> None:
    layouts = {"data_layout": "NCHW4c", "kernel_layout": "OIHW", "out_layout": "NCHW4c"}
    assert infer("nn.conv2d", tensor(1, 2, 5, 5, 4), tensor(8, 8, 3, 3), **layouts) == "(1, 2, 3, 3, 4) float32"


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        (
            "add", (tensor(2, 3), tensor(4)),
            "error[E0326]: R.add cannot broadcast x: (2, 3) and x: (4,), which differ in dimension -1\n"
            "  = help: broadcast dimensions must be equal, or one of them 1",
        ),
        (
            "add", (tensor(2), tensor(2, dtype="float16")),
            "error[E0324]: R.add needs operands of one dtype, but 'x1' is float32 and 'x2' is float16\n"
            '  = help: convert one: R.astype(…, "float32")',
        ),
        (
            "matmul", (tensor(N, 4), tensor(5, 6)),
            "error[E0326]: R.matmul cannot multiply shapes (n, 4) and (5, 6): the inner dimensions are 4 and 5\n"
            "  = help: the last dimension of x1 must equal the second to last of x2; R.permute_dims transposes a matrix",
        ),
        (
            "sum", (tensor(2, 3), [2]),
            "error[E0325]: R.sum has axis 2, but its tensor has 2 dimensions\n"
            "  = help: give an axis from -2 to 1",
        ),
        (
            "reshape", (tensor(2, 3), (4, 2)),
            "error[E0326]: R.reshape cannot turn shape (2, 3) into (4, 2): they hold different numbers of elements\n"
            "  = help: keep the product of the dimensions, or write -1 for one",
        ),
        (
            "exp", (tensor(2, dtype="int32"),),
            "error[E0324]: R.exp needs 'x' to be of a float dtype, but it is int32\n"
            "  = help: convert it with R.astype",
        ),
        (
            "nn.conv2d", (tensor(1, 3, 8, 8), tensor(4, 5, 3, 3)),
            "error[E0326]: R.nn.conv2d has 3 input channels, but its kernel is for 5\n"
            "  = help: check the layouts and the groups",
        ),
        (
            "exp", ((2, 3),),
            "error[E0322]: R.exp needs a tensor as 'x', but it is a tuple of 2 values",
        ),
        (
            "exp", (),
            "error[E0105]: R.exp: missing argument 1, 'x'\n"
            "  = help: write R.exp(x)",
        ),
        (
            "permute_dims", (tensor(2), "rows"),
            "error[E0321]: argument 2, 'axes' to R.permute_dims: expected integers, got 'rows'\n  = help: write integers",
        ),
    ],
)  # fmt: skip
def test_what_is_said_of_a_misfit(name: str, args: tuple[Any, ...], expected: str) -> None:
    with pytest.raises(TvmsError) as caught:
        infer(name, *args)
    assert str(caught.value).strip() == expected


@pytest.mark.parametrize(
    ("name", "args", "rank"),
    [
        ("expand_dims", (tensor(*[1] * 64), [0]), 65),
        ("reshape", (tensor(1), [1] * 70), 70),
        ("broadcast_to", (tensor(1), [1] * 65), 65),
        ("stack", ((tensor(*[1] * 64),), 0), 65),
        ("tile", (tensor(1), [1] * 65), 65),
        ("take", (tensor(*[1] * 40), tensor(*[1] * 40, dtype="int64"), 0), 79),
        (
            "one_hot",
            (tensor(*[1] * 64, dtype="int64"), relax.PrimValue(dims.dim(0)), relax.PrimValue(dims.dim(1)), 2, 0),
            65,
        ),
        ("zeros", ([1] * 65, "float32"), 65),
    ],
)
def test_more_dimensions_than_numpy_has(name: str, args: tuple[Any, ...], rank: int) -> None:
    with pytest.raises(TvmsError) as caught:
        infer(name, *args)
    assert str(caught.value).strip() == (
        f"error[E0010]: the tensor has {rank} dimensions, more than 64\n"
        "  = help: combine dimensions with R.reshape or R.flatten"
    )


def test_as_many_dimensions_as_numpy_has() -> None:
    assert infer("expand_dims", tensor(*[1] * 63), [0]) == infer("exp", tensor(*[1] * 64))


def test_a_call_of_a_function_is_in_terms_of_the_caller() -> None:
    rows = tir.Var("int64", "rows")
    signature = relax.FuncStructInfo((tensor_info((rows, dims.dim(4)), "float32"),), tensor_info((rows,), "float32"))
    callee = GlobalVar("f", struct_info=signature)
    assert show(infer_struct_info(relax.Call(callee, (tensor(M, 4),)))) == "(m,) float32"
    with pytest.raises(TvmsError, match="E0328"):
        infer_struct_info(relax.Call(callee, (tensor(M, 5),)))


def test_branches_keep_what_they_share() -> None:
    a, b = tensor_info((N, dims.dim(2)), "float32"), tensor_info((M, dims.dim(2)), "float32")
    assert show(join(a, a)) == "(n, 2) float32"
    assert show(join(a, b)) == "ndim=2 float32"
    assert show(join(a, relax.PrimStructInfo("int64"))) == "ObjectStructInfo"


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (tir.Add("int64", N, N), "n * 2"),
        (tir.Sub("int64", tir.Mul("int64", N, dims.dim(3)), N), "n * 2"),
        (tir.FloorDiv("int64", tir.Mul("int64", N, dims.dim(6)), dims.dim(3)), "n * 2"),
        (tir.Max("int64", tir.Add("int64", N, dims.dim(1)), N), "n + 1"),
        (tir.Sub("int64", N, N), "0"),
    ],
)
def test_dimensions_are_simplified(expr: tir.PrimExpr, expected: str) -> None:
    assert dims.show_one(dims.simplify(expr)) == expected


@pytest.mark.parametrize(("parts", "expected"), [
    ([640], "R.Shape([640, M])"), ([600], "R.Shape([600, M + 40])"),
    ([700], "R.Shape([T.min(700, M + 640), T.max(M - 60, 0)])"),
    ([0, 5], "R.Shape([0, 5, M + 635])"), ([9, 5], "R.Shape([9, 0, M + 635])"),
])  # fmt: skip
def test_parts_of_a_joined_axis(parts: list[int], expected: str) -> None:
    """As in TVM, the size of joined tensors has its terms in their order, and sizes are known not to be negative."""
    size = tir.Var("int64", "M")
    x, y = (
        relax.Var(name, struct_info=relax.TensorStructInfo(relax.ShapeExpr((dim,)), "float32", 1))
        for name, dim in (("x", tir.IntImm("int64", 640)), ("y", size))
    )
    joined = tvms.relax.op.concat([x, y], axis=0)
    assert script(joined.struct_info, "tvms") == 'R.Tensor((640 + M,), "float32")'
    sizes = [field.shape.values[0] for field in tvms.relax.op.split(joined, parts, axis=0).struct_info.fields]
    assert script(relax.ShapeStructInfo(tuple(sizes), len(sizes)), "tvms") == expected
    assert script(tvms.relax.op.concat([y, x, y], axis=0).struct_info, "tvms") == 'R.Tensor((M * 2 + 640,), "float32")'


def test_shapes_in_variables_are_kept_where_they_do_not_change() -> None:
    """As in TVM, results of another shape have a known rank only; dimensions that a variable holds are still checked."""
    held = relax.Var("s", struct_info=relax.ShapeStructInfo(tuple(tir.IntImm("int64", size) for size in (2, 1, 3)), 3))
    x = relax.Var("x", struct_info=relax.TensorStructInfo(held, "float32", 3))
    row = relax.Var("s1", struct_info=relax.ShapeStructInfo((tir.IntImm("int64", 4),), 1))
    line = relax.Var("y", struct_info=relax.TensorStructInfo(row, "float32", 1))
    op = tvms.relax.op
    same = [
        op.permute_dims(x, [0, 1, 2]), op.expand_dims(x, []), op.squeeze(x, []), op.concat([x], axis=1), op.split(x, 1),
        op.zeros(held, "float32"), op.broadcast_to(x, held),
    ]  # fmt: skip
    assert all(value.struct_info.shape is held for value in same)
    assert op.flatten(line).struct_info.shape is row
    index = relax.Var("i", struct_info=relax.TensorStructInfo(None, "int64", 2))
    others = {
        3: op.permute_dims(x), 4: op.expand_dims(x, [0]), 2: op.squeeze(x, [1]), 1: op.flatten(x), -1: op.squeeze(x),
    }  # fmt: skip
    for ndim, value in (*others.items(), (3, op.concat([x, x], axis=0)), (4, op.take(x, index, axis=0))):
        assert (value.struct_info.shape, value.struct_info.ndim) == (None, ndim)
    assert op.squeeze(x, [0, 1]).struct_info.ndim == 2  # as in TVM, a dimension of 2 stays


def test_a_concatenation_without_an_axis_is_of_vectors() -> None:
    matrix = relax.Var("x", struct_info=relax.TensorStructInfo(None, "float32", 2))
    with pytest.raises(tvms.TvmsError, match=r"E0323.*needs an axis, since its tensors have 2 dimensions"):
        tvms.relax.op.concat([matrix, matrix], axis=None)
