"""Patterns of BLAS libraries: matrix products with an optionally transposed right operand, bias and activation.

The same patterns serve cuBLAS on the GPU and OpenBLAS on the CPU (TVM: `relax/backend/cuda/cublas.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod

from msgspec import Struct

from .. import relax, tir
from ..ops.dims import is_equal
from ..ops.inference import dims_of
from ..passes.fuse_by_pattern import FusionPattern, PatternCheckContext, has_leaking_intermediate_variables
from .patterns import make_matmul_pattern

DTYPES: Mapping[str, frozenset[str]] = {
    "cublas": frozenset(("float16", "bfloat16", "float32", "float64")),
    "openblas": frozenset(("float32", "float64")),
}
"""Supported dtypes of each library; both operands and the result have the same dtype."""


class Epilogue(Struct, frozen=True):
    """Variant of a product: whether the right operand is transposed and a bias is added, and the activation."""

    transposed: bool = False
    bias: bool = False
    activation: str | None = None

    @property
    def name(self) -> str:
        """Name of the pattern without the prefix of the library."""
        activation = self.activation and self.activation.rpartition(".")[2]
        parts = ("matmul", self.transposed and "transposed", self.bias and "bias", activation)
        return "_".join(part for part in parts if part)


EPILOGUES: Mapping[str, Epilogue] = {
    epilogue.name: epilogue
    for transposed in (False, True)
    for epilogue in (
        Epilogue(transposed),
        Epilogue(transposed, bias=True),
        Epilogue(transposed, bias=True, activation="relax.nn.relu"),
        Epilogue(transposed, bias=True, activation="relax.nn.gelu"),
    )
}


def patterns(library: str) -> list[FusionPattern]:
    """Return the patterns of `library`, the plain product first."""
    check: Callable[[PatternCheckContext], bool] = partial(_check, DTYPES[library])
    return [
        FusionPattern(
            f"{library}.{name}", *make_matmul_pattern(epilogue.bias, epilogue.activation, epilogue.transposed), check
        )
        for name, epilogue in EPILOGUES.items()
    ]


def _check(dtypes: frozenset[str], context: PatternCheckContext) -> bool:
    """Return whether the library supports the shapes and dtypes, and the match can be replaced: no inner value is used outside."""
    if has_leaking_intermediate_variables(context):
        return False
    parts = context.annotated_expr
    lhs, rhs, root = (parts[name].struct_info for name in ("lhs", "rhs", "root"))
    dims = [dims_of(info) if isinstance(info, relax.TensorStructInfo) else None for info in (lhs, rhs, root)]
    if any(dim is None or len(dim) < 2 for dim in dims):
        return False
    kinds = {info.dtype for info in (lhs, rhs, root) if isinstance(info, relax.TensorStructInfo)}
    if len(kinds) != 1 or not kinds <= dtypes:
        return False
    left, right, _ = dims
    assert left is not None
    assert right is not None
    if not isinstance(left[-1], tir.IntImm) or ("transposed" in parts and not _swaps_last(parts["transposed"])):
        return False
    if "bias" in parts and not _is_row(parts["bias"], root):
        return False
    return _are_batches_equal(left[:-2], right[:-2]) or _size(right[:-2]) == 1


def _swaps_last(permute: relax.Expr) -> bool:
    """Return whether a `permute_dims` swaps the last two axes and keeps all others."""
    assert isinstance(permute, relax.Call)
    info, axes = permute.struct_info, permute.attrs.get("axes")
    ndim = info.ndim if isinstance(info, relax.TensorStructInfo) else -1
    if axes is None:
        return ndim == 2
    wanted = [*range(ndim - 2), ndim - 1, ndim - 2]
    return [int(getattr(axis, "value", axis)) % ndim for axis in axes] == wanted


def _is_row(bias: relax.Expr, root: object) -> bool:
    """Return whether the bias has one value for each column of the product."""
    own = dims_of(bias.struct_info) if isinstance(bias.struct_info, relax.TensorStructInfo) else None
    out = dims_of(root) if isinstance(root, relax.TensorStructInfo) else None
    if not own or not out or isinstance(bias.struct_info, relax.TensorStructInfo) is False:
        return False
    return _size(own[:-1]) == 1 and is_equal(own[-1], out[-1])


def _size(dims: tuple[tir.PrimExpr, ...]) -> int | None:
    """Return the product of constant dimensions, or None if one is symbolic."""
    sizes = [dim.value for dim in dims if isinstance(dim, tir.IntImm)]
    return prod(sizes) if len(sizes) == len(dims) else None


def _are_batches_equal(left: tuple[tir.PrimExpr, ...], right: tuple[tir.PrimExpr, ...]) -> bool:
    return len(left) == len(right) and all(map(is_equal, left, right))
