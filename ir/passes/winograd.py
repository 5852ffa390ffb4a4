"""Winograd convolutions: fewer multiplications for windows of 3 × 3 (TVM: `topi.nn.conv2d_winograd_nchw`).

    lv = R.nn.conv2d(x, w)             transformed = R.call_tir(winograd_input, (x,))       tiles of the input
                                       products = R.call_tir(winograd_products, (u, transformed))
                                       lv = R.call_tir(winograd_output, (products,))

F(m × m, 3 × 3) computes a tile of m × m results from (m + 2)² products instead of 9 m²: 2.25 times fewer for m = 2, and 4
times fewer for m = 4. The transformed weights `u` are computed from constants, by `FoldConstant`.

Source: Lavin, Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from .. import relax, te, tir
from ..base import GlobalVar, IRModule, Op
from ..building.call_te import call_te
from ..building.values import apply, const
from ..deep import deep
from ..diagnostics import error
from ..function_table import FunctionTable, numbered
from ..infer import infer_struct_info
from ..ops.inference import dims_of
from ..schedule import Schedule
from ..visit import walk
from .op_pattern import OP_PATTERN, OpPatternKind
from .rewriter import ValueRewriter
from .transform import declare_pass

COLUMNS = 16
"""Number of columns of a product that are computed together: a vector of float32 has up to 16 lanes."""
TRANSFORM = 48
"""Number of multiplications of a product that take as long as the transform of one element of a tile, most of which is access
to the L2 and L3 caches.
"""
_Matrix = Sequence[Sequence[float]]


class _Transforms(Struct, frozen=True):
    """The matrices of F(m, 3), with the names of the paper; Bᵀ d and Aᵀ m for vectors, G g for weights."""

    input: _Matrix
    weight: _Matrix
    output: _Matrix


_TRANSFORMS = {
    2: _Transforms(
        ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1)),
        ((1, 0, 0), (1 / 2, 1 / 2, 1 / 2), (1 / 2, -1 / 2, 1 / 2), (0, 0, 1)),
        ((1, 1, 1, 0), (0, 1, -1, -1)),
    ),
    4: _Transforms(
        (
            (4, 0, -5, 0, 1, 0), (0, -4, -4, 1, 1, 0), (0, 4, -4, -1, 1, 0), (0, -2, -1, 2, 1, 0), (0, 2, -1, -2, 1, 0),
            (0, 4, 0, -5, 0, 1),
        ),
        (
            (1 / 4, 0, 0), (-1 / 6, -1 / 6, -1 / 6), (-1 / 6, 1 / 6, -1 / 6), (1 / 24, 1 / 12, 1 / 6),
            (1 / 24, -1 / 12, 1 / 6), (0, 0, 1),
        ),
        ((1, 1, 1, 1, 1, 0), (0, 1, -1, 2, -2, 0), (0, 1, 1, 4, 4, 0), (0, 1, -1, 8, -8, 1)),
    ),
}  # fmt: skip
"""Transforms by the width of a tile of the result."""


@declare_pass("WinogradConv2D")
@deep
def winograd_conv2d(mod: IRModule, tile: int = 4) -> IRModule:
    """Compute convolutions with windows of 3 × 3 by Winograd's algorithm where this needs fewer multiplications.

    `tile` is the maximum width of tiles, 2 or 4. Tiles of 2 are about as exact as other convolutions; with tiles of 4, the largest
    error is some 8 times and the mean square error 4 times as large: 1e-5 of the largest result, of 64 to 256 channels of
    normally distributed numbers. Converted are float32 convolutions of known shapes in NCHW, without strides, dilation and
    groups, with constant weights, if the estimated time is shorter. Run `FoldBatchnormToConv2D` and `FoldConstant` before, and
    `FoldConstant` after, which transforms the weights.

    Raises TvmsError: E0902 if `tile` is neither 2 nor 4.
    """
    if tile not in _TRANSFORMS:
        reason = f"pass 'WinogradConv2D' has tiles of 2 or 4, not {tile}"
        raise error("E0902", reason, help="give 2 for small errors, or 4 for speed")
    table, changed = FunctionTable(mod.functions), False
    for name, function in mod.functions.items():
        if isinstance(function, relax.Function):
            new = _Converter(function, table, tile).function(function)
            changed |= new is not function
            table.functions[name] = new
    return replace(mod, functions=table.functions) if changed else mod


class _Shape(Struct, frozen=True):
    """A convolution: images, channels, the size of the result, and the padding before its rows and columns."""

    images: int
    inputs: int
    outputs: int
    height: int
    width: int
    top: int
    left: int

    def tiles(self, tile: int) -> tuple[int, int]:
        """Return the number of rows and columns of tiles."""
        return -(-self.height // tile), -(-self.width // tile)

    def is_paneled(self, tile: int) -> bool:
        """Return whether a row of tiles is stored as a panel of a product's right factor, which then needs no packing."""
        return self.tiles(tile)[1] % (2 * COLUMNS) == 0

    def cost(self, tile: int) -> int:
        """Return the number of multiplications with tiles, or of what takes as long."""
        rows, columns = self.tiles(tile)
        products = _whole(self.images * rows * columns) * self.inputs * self.outputs
        transforms = self.images * rows * columns * (self.inputs + self.outputs) * TRANSFORM
        return (tile + 2) ** 2 * (products + transforms)

    def direct_cost(self) -> int:
        """Return the number of multiplications without tiles."""
        return 9 * self.images * _whole(self.height * self.width) * self.inputs * self.outputs


def _whole(columns: int) -> int:
    """Return a number of columns of a product, rounded up to whole vectors."""
    return -(-columns // COLUMNS) * COLUMNS


class _Converter(ValueRewriter):
    def __init__(self, function: relax.Function, table: FunctionTable, most: int) -> None:
        super().__init__(function)
        self._table, self._most = table, most

    def value(self, binding: relax.Binding) -> relax.Expr:
        call = binding.value
        shape = _shape_of(call)
        if shape is None:
            return call
        assert isinstance(call, relax.Call)
        tile = min((tile for tile in _TRANSFORMS if tile <= self._most), key=shape.cost)
        if shape.cost(tile) >= shape.direct_cost():
            return call
        data, weight = call.args
        transformed = self._call(_input_transform, data, shape, tile, kind=OpPatternKind.OPAQUE)
        kind = OpPatternKind.OUT_ELEMWISE_FUSABLE
        products = self._call(_products, self._weight(weight, shape, tile), transformed, shape, tile, kind=kind)
        return self._call(_output_transform, products, shape, tile, kind=kind)

    def _weight(self, weight: relax.Expr, shape: _Shape, tile: int) -> relax.Expr:
        """Return G g Gᵀ for each pair of channels, as [rows, columns, outputs, inputs]."""
        matrix, size = _TRANSFORMS[tile].weight, tile + 2
        both = const([[a * b for a in rows for b in columns] for rows in matrix for columns in matrix], "float32")
        pairs = apply("permute_dims", apply("reshape", weight, (shape.outputs * shape.inputs, 9)), (1, 0))
        return self.emit(apply("reshape", apply("matmul", both, pairs), (size, size, shape.outputs, shape.inputs)))

    def _call(self, compute: Any, *args: Any, kind: OpPatternKind) -> relax.Expr:
        made = call_te(compute, args, {})
        function, (result,) = _in_shared_order(made.function), made.results
        function = replace(function, attrs={**function.attrs, OP_PATTERN: int(kind)})
        name = self._table.add(function, numbered(f"winograd{compute.__name__}"))
        call = relax.Call(Op("relax.call_tir"), (GlobalVar(name), relax.Tuple(made.args)), {}, (result,))
        return replace(call, struct_info=result)


def _shape_of(call: relax.Expr) -> _Shape | None:
    """Return the shape of a convolution that can be converted; None for other calls."""
    if not isinstance(call, relax.Call) or call.op != Op("relax.nn.conv2d"):
        return None
    attrs, (data, weight) = call.attrs, call.args
    plain = {
        "strides": [1, 1], "dilation": [1, 1], "groups": 1, "data_layout": "NCHW", "kernel_layout": "OIHW",
        "out_layout": "NCHW",
    }  # fmt: skip
    if any(
        attrs[name] not in (value, tuple(value) if isinstance(value, list) else value) for name, value in plain.items()
    ):
        return None
    known, weights, result = map(_sizes, (data, weight, call))
    if (
        not isinstance(weight, relax.Constant)
        or known is None
        or weights is None
        or result is None
        or weights[2:] != [3, 3]
    ):
        return None
    (outputs, inputs, *_), (images, _, height, width) = weights, result
    return _Shape(images, inputs, outputs, height, width, *attrs["padding"][:2])


def _sizes(expr: relax.Expr) -> list[int] | None:
    """Return the dimensions of a float32 tensor, if they are known and positive."""
    info = infer_struct_info(expr)
    dims = dims_of(info) if isinstance(info, relax.TensorStructInfo) and info.dtype == "float32" else None
    sizes = [dim.value for dim in dims or () if isinstance(dim, tir.IntImm) and dim.value > 0]
    return sizes if dims is not None and len(sizes) == len(dims) else None


# --- The parts ------------------------------------------------------------------------------------------------


def _combination(matrix: _Matrix, row: tir.PrimExpr, values: Sequence[tir.PrimExpr]) -> tir.PrimExpr:
    """Return the sum of `values` with the factors in a row of `matrix`."""

    def term(total: tir.PrimExpr | None, factor: float, value: tir.PrimExpr) -> tir.PrimExpr:
        scaled = value if abs(factor) == 1 else value * te.const(abs(factor), value.dtype)
        if total is None:
            return scaled if factor > 0 else te.const(0, value.dtype) - scaled
        return total + scaled if factor > 0 else total - scaled

    sums: list[tir.PrimExpr] = []
    for factors in matrix:
        total = None
        for factor, value in zip(factors, values, strict=True):
            total = term(total, factor, value) if factor else total
        assert total is not None
        sums.append(total)
    *others, last = enumerate(sums)
    return reduce(lambda rest, item: te.select(te.equal(row, item[0]), item[1], rest), reversed(others), last[1])


def _input_transform(x: te.Tensor, shape: _Shape, tile: int) -> te.Tensor:
    """Return Bᵀ d B of each tile of the padded input, as [rows, columns, inputs, images, tiles down, tiles across], or with the
    inputs before the last dimension.

    Columns of the input are grouped by their remainder, so that those of adjacent tiles are adjacent.
    """
    size, matrix = tile + 2, _TRANSFORMS[tile].input
    down, across = shape.tiles(tile)
    height, width = x.dims[2:]

    def element(c: Any, n: Any, y: Any, rest: Any, column: Any) -> tir.PrimExpr:
        row, column = y - shape.top, column * tile + rest - shape.left
        inside = te.all(row >= 0, row < height, column >= 0, column < width)
        return te.if_then_else(inside, x(n, c, row, column), te.const(0, x.dtype))

    source = te.compute(
        (shape.inputs, shape.images, down * tile + 2, tile, across + 1), element, "columns",
        varargs_names=("c", "n", "y", "rest", "column"),
    )  # fmt: skip

    def rows(c: Any, n: Any, ty: Any, a: Any, rest: Any, column: Any) -> tir.PrimExpr:
        return _combination(matrix, a, [source(c, n, ty * tile + i, rest, column) for i in range(size)])

    half = te.compute(
        (shape.inputs, shape.images, down, size, tile, across + 1), rows, "rows",
        varargs_names=("c", "n", "ty", "a", "rest", "column"),
    )  # fmt: skip

    def tiles(a: Any, b: Any, c: Any, n: Any, ty: Any, tx: Any) -> tir.PrimExpr:
        return _combination(matrix, b, [half(c, n, ty, a, j % tile, tx + j // tile) for j in range(size)])

    def panels(a: Any, b: Any, n: Any, ty: Any, c: Any, tx: Any) -> tir.PrimExpr:
        return tiles(a, b, c, n, ty, tx)

    if shape.is_paneled(tile):
        return te.compute(
            (size, size, shape.images, down, shape.inputs, across), panels, "transformed",
            varargs_names=("a", "b", "n", "ty", "c", "tx"),
        )  # fmt: skip
    return te.compute(
        (size, size, shape.inputs, shape.images, down, across), tiles, "transformed",
        varargs_names=("a", "b", "c", "n", "ty", "tx"),
    )  # fmt: skip


def _products(weight: te.Tensor, transformed: te.Tensor, shape: _Shape, tile: int) -> te.Tensor:
    """Return the sum over the inputs for each element of the transformed tiles."""
    rows, columns, outputs, inputs = weight.dims
    c = te.reduce_axis((te.const(0, "int64"), inputs), "c")

    def value(a: Any, b: Any, k: Any, n: Any, ty: Any, tx: Any) -> Any:
        place = (n, ty, c, tx) if shape.is_paneled(tile) else (c, n, ty, tx)
        return te.sum(weight(a, b, k, c) * transformed(a, b, *place), axis=c)

    sizes = (rows, columns, outputs, shape.images, *shape.tiles(tile))
    return te.compute(sizes, value, "products", varargs_names=("a", "b", "k", "n", "ty", "tx"))


def _output_transform(products: te.Tensor, shape: _Shape, tile: int) -> te.Tensor:
    """Return Aᵀ m A of each tile, as an image."""
    size, matrix = tile + 2, _TRANSFORMS[tile].output
    down, across = shape.tiles(tile)

    def rows(n: Any, k: Any, ty: Any, i: Any, b: Any, tx: Any) -> tir.PrimExpr:
        return _combination(matrix, i, [products(a, b, k, n, ty, tx) for a in range(size)])

    half = te.compute(
        (shape.images, shape.outputs, down, tile, size, across), rows, "rows",
        varargs_names=("n", "k", "ty", "i", "b", "tx"),
    )  # fmt: skip

    def tiles(n: Any, k: Any, ty: Any, i: Any, j: Any, tx: Any) -> tir.PrimExpr:
        return _combination(matrix, j, [half(n, k, ty, i, b, tx) for b in range(size)])

    whole = te.compute(
        (shape.images, shape.outputs, down, tile, tile, across), tiles, "tiles",
        varargs_names=("n", "k", "ty", "i", "j", "tx"),
    )  # fmt: skip

    def image(n: Any, k: Any, y: Any, x: Any) -> tir.PrimExpr:
        return whole(n, k, y // tile, y % tile, x % tile, x // tile)

    size_of_image = (shape.images, shape.outputs, shape.height, shape.width)
    return te.compute(size_of_image, image, "conv2d_winograd", varargs_names=("n", "k", "y", "x"))


def _in_shared_order(function: tir.PrimFunc) -> tir.PrimFunc:
    """Return the transform of the input with channels, images and rows of tiles as outer loops of all its blocks."""
    if not any(isinstance(node, tir.Block) and node.name_hint == "transformed" for node in walk(function.body)):
        return function
    schedule = Schedule(function)
    block = schedule.get_block("transformed")
    names = [axis.var.name.removeprefix("v_") for axis in schedule.get(block).iter_vars]
    loops = dict(zip(names, schedule.get_loops(block), strict=True))
    schedule.reorder(*(loops[name] for name in ("c", "n", "ty", "a", "b")))
    result = schedule.mod["main"]
    assert isinstance(result, tir.PrimFunc)
    return result
