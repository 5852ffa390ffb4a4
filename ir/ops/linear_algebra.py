"""Products of matrices and vectors (TVM: `relax/op/linear_algebra.py`)."""

from __future__ import annotations

from typing import Any

from .. import te, tir
from ..base import Op, StructInfo
from ..diagnostics import error
from ..numpy_dtype import converted
from ..relax import Call, Expr, TensorStructInfo
from ..te import topi
from . import dims as d
from .inference import Inference, common_vdevice, dims_of, tensor_info
from .registry import Oracle, Param, RelaxOp, register


def _infer_matmul(a: Inference) -> StructInfo:
    x1, x2 = a.tensor("x1"), a.tensor("x2")
    out = a.attr("out_dtype")
    dtype = a.same_dtype("x1", "x2") if out == "void" else out
    device = common_vdevice(x1, x2)
    for name, info in (("x1", x1), ("x2", x2)):
        if info.ndim == 0:
            raise a.fail(
                "E0323", f"needs '{name}' to have 1 or more dimensions, but it is a scalar", None, a.argument(name)
            )
    if -1 in (x1.ndim, x2.ndim):
        return tensor_info(None, dtype, -1, device)
    ndim = max(x1.ndim, x2.ndim, 2) - (x1.ndim == 1) - (x2.ndim == 1)
    left, right = dims_of(x1), dims_of(x2)
    if left is None or right is None:
        return tensor_info(None, dtype, ndim, device)
    inner = right[-2:][0]
    a.check_equal(
        left[-1],
        inner,
        f"cannot multiply shapes {d.show(left)} and {d.show(right)}: the inner dimensions are "
        f"{d.show_one(left[-1])} and {d.show_one(inner)}",
        "the last dimension of x1 must equal the second to last of x2; R.permute_dims transposes a matrix",
    )
    batch = a.broadcast(left[:-2], right[:-2], (f"the batch of {a.label('x1')}", f"that of {a.label('x2')}"))
    if batch is None:
        return tensor_info(None, dtype, ndim, device)
    rows = left[-2:-1] if len(left) > 1 else ()
    columns = right[-1:] if len(right) > 1 else ()
    return tensor_info([*batch, *rows, *columns], dtype, ndim, device)


def _matmul(a: Any) -> te.Tensor:
    x1: te.Tensor = a.x1
    x2: te.Tensor = a.x2
    k = te.reduce_axis((te.const(0, "int64"), x1.dims[-1]), "k")

    def value(*i: tir.PrimExpr) -> Any:
        rest = list(i)
        columns = [rest.pop()] if x2.ndim > 1 else []
        rows = [rest.pop()] if x1.ndim > 1 else []
        left = topi.broadcast_index(rest, a.result.dims, x1.dims[:-2])
        right = topi.broadcast_index(rest, a.result.dims, x2.dims[:-2])
        product = x1(*left, *rows, k), x2(*right, k, *columns)
        if a.out_dtype != "void":
            product = product[0].astype(a.out_dtype), product[1].astype(a.out_dtype)
        return te.sum(product[0] * product[1], axis=k)

    return te.compute(a.result.dims, value, "matmul")


def _numpy_matmul(np: Any, a: Any) -> Any:
    product = np.matmul(converted(a.x1, a.result_dtype), converted(a.x2, a.result_dtype))
    return product.astype(a.result_dtype)  # NumPy's product of bfloat16 is float32


register(
    RelaxOp(
        "relax.matmul",
        (Param("x1"), Param("x2"), Param("out_dtype", "dtype", None)),
        _infer_matmul,
        "Return the matrix product over the last two dimensions and broadcast the others; a vector is a row on the left "
        "and a column on the right.",
        _numpy_matmul,
        _matmul,
    )
)


def _linear(a: Any) -> Expr:
    turned = Call(Op("relax.permute_dims"), (a.weight,), {"axes": None})
    product = Call(Op("relax.matmul"), (a.data, turned), {"out_dtype": a.out_dtype})
    return product if a.bias is None else Call(Op("relax.add"), (product, a.bias))


register(
    RelaxOp(
        "relax.linear",
        (Param("data"), Param("weight"), Param("bias", "opt_expr", None), Param("out_dtype", "dtype", None)),
        None,
        "Return `data @ weight.T + bias`, composed of three operators.",
        expand=_linear,
    )
)


def _infer_outer(a: Inference) -> StructInfo:
    x1, x2 = a.rank("x1", 1), a.rank("x2", 1)
    left, right = dims_of(x1), dims_of(x2)
    dims = None if left is None or right is None else [*left, *right]
    return tensor_info(dims, a.same_dtype("x1", "x2"), 2, common_vdevice(x1, x2))


def _outer(a: Any) -> te.Tensor:
    def value(i: tir.PrimExpr, j: tir.PrimExpr) -> tir.PrimExpr:
        return a.x1(i) * a.x2(j)

    return te.compute(a.result.dims, value, "outer")


register(
    RelaxOp(
        "relax.outer",
        (Param("x1"), Param("x2")),
        _infer_outer,
        "Return the outer product of the vectors `x1` and `x2`.",
        lambda np, a: np.outer(a.x1, a.x2),
        _outer,
    )
)


def _labels(subscripts: str, ranks: list[int]) -> tuple[list[str], str]:
    """Return the labels of each operand and of the result; an ellipsis becomes upper-case labels."""
    left, _, right = subscripts.replace(" ", "").partition("->")
    operands = left.split(",")
    spare = [chr(ord("A") + number) for number in range(26) if chr(ord("A") + number) not in subscripts]
    widths = [rank - len(labels.replace("...", "")) for labels, rank in zip(operands, ranks, strict=False)]
    width = max([width for labels, width in zip(operands, widths, strict=False) if "..." in labels], default=0)
    ellipsis = "".join(spare[:width])
    filled = [labels.replace("...", ellipsis[width - own :]) for labels, own in zip(operands, widths, strict=False)]
    if "->" not in subscripts:
        once = sorted({label for label in left if label.isalpha() and left.count(label) == 1})
        return filled, ellipsis + "".join(once)
    return filled, right.replace("...", ellipsis)


def _infer_einsum(a: Inference) -> StructInfo:
    infos = a.tensors("operands")
    dtype = a.common_dtype([(f"operands[{number}]", info.dtype) for number, info in enumerate(infos)])
    shapes = [dims_of(info) for info in infos]
    if any(info.ndim == -1 for info in infos):
        return tensor_info(None, dtype, -1, common_vdevice(*infos))
    operands, result = _labels(a.attr("subscripts"), [info.ndim for info in infos])
    if len(operands) != len(infos):
        raise a.fail("E0105", f"has {len(operands)} operands in its subscripts, but {len(infos)} are given")
    sizes: dict[str, Any] = {}
    for number, (labels, info, shape) in enumerate(zip(operands, infos, shapes, strict=True)):
        if len(labels) != info.ndim:
            raise a.fail("E0323", f"labels {len(labels)} dimensions of operand {number}, but it has {info.ndim}")
        for label, dim in zip(labels, shape or (), strict=False):
            if label in sizes and not d.is_one(sizes[label]) and not d.is_one(dim):
                both = f"{d.show_one(sizes[label])} and {d.show_one(dim)}"
                a.check_equal(sizes[label], dim, f"has dimensions {both} under the one label '{label}'")
            if label not in sizes or d.is_one(sizes[label]):
                sizes[label] = dim
    known = None not in shapes and all(label in sizes for label in result)
    return tensor_info(
        [sizes[label] for label in result] if known else None, dtype, len(result), common_vdevice(*infos)
    )


def _einsum(a: Any) -> te.Tensor:
    tensors: tuple[te.Tensor, ...] = a.operands
    operands, result = _labels(a.subscripts, [tensor.ndim for tensor in tensors])
    sizes = {
        label: dim
        for labels, tensor in zip(operands, tensors, strict=True)
        for label, dim in zip(labels, tensor.dims, strict=True)
        if not d.is_one(dim)
    }
    inner = sorted({label for labels in operands for label in labels} - set(result))
    axes = {label: te.reduce_axis((te.const(0, "int64"), sizes.get(label, d.dim(1))), label) for label in inner}

    def value(*ax: tir.PrimExpr) -> Any:
        index = dict(zip(result, ax, strict=True)) | axes
        product: tir.PrimExpr | None = None
        for labels, tensor in zip(operands, tensors, strict=True):
            here = (0 if d.is_one(dim) else index[label] for label, dim in zip(labels, tensor.dims, strict=True))
            factor = tensor(*here)
            product = factor if product is None else product * factor
        return te.sum(product, axis=list(axes.values())) if axes else product

    return te.compute(a.result.dims, value, "T_einsum")


def _numpy_einsum(np: Any, a: Any) -> Any:
    if np.issubdtype(a.result_dtype, np.number):
        return np.einsum(a.subscripts, *a.operands)
    # NumPy's einsum does not support bfloat16
    return np.einsum(a.subscripts, *(x.astype("float32") for x in a.operands)).astype(a.result_dtype)


register(
    RelaxOp(
        "relax.einsum",
        (Param("operands", "tuple"), Param("subscripts", "str")),
        _infer_einsum,
        "Return the sum of products that `subscripts` denotes in Einstein notation.",
        _numpy_einsum,
        _einsum,
    )
)


# --- Square matrices, on the host -----------------------------------------------------------------------------


def _square_matrices(a: Inference) -> TensorStructInfo:
    """Return the struct info of the operand; E0323 if it is not a tensor of square matrices of floats."""
    info = a.float_tensor("x")
    dims = dims_of(info)
    if 0 <= info.ndim < 2 or (dims is not None and not d.is_equal(dims[-1], dims[-2])):
        shape = f"{info.ndim} dimensions" if dims is None else f"the shape {d.show(dims)}"
        raise a.fail("E0323", f"needs square matrices, but the operand has {shape}", None, a.argument("x"))
    return info


def _infer_determinant(a: Inference) -> StructInfo:
    info = _square_matrices(a)
    dims = dims_of(info)
    return tensor_info(None if dims is None else dims[:-2], info.dtype, max(info.ndim - 2, -1), info.vdevice)


def _infer_inverse(a: Inference) -> StructInfo:
    return _square_matrices(a)


def _by_numpy(name: str) -> Oracle:
    """Return the oracle that calls a function of `numpy.linalg`, which has float32 and float64 only."""

    def compute(np: Any, a: Any) -> Any:
        wide = a.x if str(a.x.dtype) in ("float32", "float64") else a.x.astype("float32")
        if wide.shape[-1] != wide.shape[-2]:
            raise error("E0705", f"matrices of shape {wide.shape[-2:]} are not square")
        try:
            return np.asarray(getattr(np.linalg, name)(wide)).astype(a.x.dtype)
        except np.linalg.LinAlgError:
            raise error("E0705", "a matrix is singular") from None

    return compute


register(
    RelaxOp(
        "relax.linalg.det",
        (Param("x"),),
        _infer_determinant,
        "Return the determinants of the square matrices in the last two dimensions.",
        _by_numpy("det"),
        at_run_time=True,
    )
)
register(
    RelaxOp(
        "relax.linalg.inv",
        (Param("x"),),
        _infer_inverse,
        "Return the inverses of the square matrices in the last two dimensions; a singular matrix is an error.",
        _by_numpy("inv"),
        at_run_time=True,
    )
)
