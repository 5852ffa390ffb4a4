"""The operator of each function of `topi`, and the order of its arguments in TVM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from msgspec import Struct

from ... import relax, te
from ...building.meaning import meaning_of
from ...building.place import with_place
from ...building.values import TAKE_NUMBERS, numbers_as_constants, plain_nodes
from ...diagnostics import TvmsError
from ...infer import infer_struct_info
from ...ops.binding import bind
from ...ops.inference import tensor_info
from ...ops.registry import get_op
from ...relax import Expr

_SAME = (
    "abs acos acosh asin asinh atan atanh ceil cos cosh erf exp floor log negative round rsqrt sigmoid sign sin sinh sqrt "
    "tan tanh trunc isfinite isinf isnan bitwise_not logical_not clip add subtract multiply divide floor_divide mod "
    "floor_mod power maximum minimum log_add_exp logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor "
    "left_shift right_shift equal not_equal less less_equal greater greater_equal expand_dims squeeze reshape "
    "broadcast_to stack split repeat tile flip take where sum prod max min argmax argmin cumsum cumprod matmul einsum "
    "full full_like arange eye one_hot gather_nd meshgrid sort argsort topk strided_slice scatter_elements scatter_nd "
    "nn.relu nn.prelu nn.softmax nn.log_softmax nn.layer_norm nn.rms_norm nn.group_norm nn.instance_norm nn.batch_norm "
    "nn.max_pool1d nn.max_pool2d nn.max_pool3d nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d nn.adaptive_avg_pool2d image.resize2d "
    "image.resize3d image.affine_grid image.grid_sample vision.roi_align vision.roi_pool hamming_window index_tensor index_put "
    "slice_scatter nn.softplus nn.nll_loss nn.pixel_shuffle nn.adaptive_avg_pool1d nn.adaptive_avg_pool3d nn.conv1d_transpose "
    "nn.conv2d_transpose nn.conv3d_transpose"
)
_OTHER = {
    "adv_index": "index_tensor",
    "cast": "astype",
    "collapse_sum": "collapse_sum_to",
    "concatenate": "concat",
    "layout_transform": "layout_transform",
    "nn.gelu": "nn.gelu",
    "nn.avg_pool2d_grad": "grad.avg_pool2d_backward",
    "nn.leaky_relu": "nn.leakyrelu",
    "nn.max_pool2d_grad": "grad.max_pool2d_backward",
    "transpose": "permute_dims",
    "tril": "tril",
    "triu": "triu",
}


class Row(Struct, frozen=True):
    """The operator, and its parameters in the order of TVM's function, if that differs from the operator's."""

    operator: str
    order: tuple[str, ...] = ()


ROWS: dict[str, Row] = {
    **{name: Row(name) for name in _SAME.split()},
    **{name: Row(operator) for name, operator in _OTHER.items()},
    "gather": Row("gather_elements", ("data", "axis", "indices")),
    "full": Row("full", ("shape", "dtype", "fill_value")),
    "full_like": Row("full_like", ("x", "fill_value")),
    "nn.conv1d": Row(
        "nn.conv1d", ("data", "weight", "strides", "padding", "dilation", "data_layout", "kernel_layout", "out_dtype")
    ),
    "nn.conv2d": Row(
        "nn.conv2d", ("data", "weight", "strides", "padding", "dilation", "data_layout", "kernel_layout", "out_dtype")
    ),
    "nn.conv3d": Row(
        "nn.conv3d",
        ("data", "weight", "strides", "padding", "dilation", "groups", "data_layout", "kernel_layout", "out_dtype"),
    ),
}


def function(name: str) -> Callable[..., Any]:
    """Return the function `topi.<name>`; AttributeError if there is none."""
    if name not in ROWS:
        from difflib import get_close_matches

        near = get_close_matches(name, ROWS, 1)
        raise AttributeError(f"there is no 'topi.{name}'" + (f"; did you mean 'topi.{near[0]}'?" if near else ""))
    row = ROWS[name]
    op = get_op(f"relax.{row.operator}")

    def compute(*args: Any, **keywords: Any) -> Any:
        named = dict(zip(row.order, args, strict=False)) if row.order else {}
        try:
            return _compute(row.operator, args[len(named) :], {**named, **keywords})
        except TvmsError as problem:
            raise with_place(problem) from None

    compute.__name__ = compute.__qualname__ = name.rsplit(".", 1)[-1]
    compute.__signature__ = op.python_signature(row.order)  # type: ignore[attr-defined]
    compute.__doc__ = f"{op.doc} The arguments are those of {op.signature}, with tensors of `te` for values."
    return compute


class _Given:
    """The tensors of a call, and the variables that represent them while its struct info is inferred."""

    def __init__(self) -> None:
        self.tensors: dict[relax.Var, te.Tensor] = {}

    def value(self, arg: Any) -> Any:
        if isinstance(arg, te.Tensor):
            var = relax.Var(arg.name, struct_info=tensor_info(arg.dims, arg.dtype))
            self.tensors[var] = arg
            return var
        if isinstance(arg, tuple | list):
            return tuple(self.value(item) for item in cast("Sequence[Any]", arg))
        return plain_nodes(arg)

    def convert(self, name: str, arg: Expr) -> Any:
        """Return the argument in the form that the meaning of an operator takes."""
        match arg:
            case relax.Var():
                return self.tensors[arg]
            case relax.Tuple():
                return tuple(self.convert(name, field) for field in arg.fields)
            case relax.ShapeExpr():
                return arg.values
            case relax.PrimValue():
                return arg.value
            case relax.Constant():
                return te.const(arg.data.item(), str(arg.data.dtype))
            case _:
                return None


def _compute(operator: str, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    op, given = get_op(f"relax.{operator}"), _Given()
    operands = [given.value(arg) for arg in args]
    if operator in TAKE_NUMBERS:
        operands = numbers_as_constants(operands)
    call = bind(op, operands, {name: given.value(arg) for name, arg in keywords.items()})
    assert isinstance(call, relax.Call)
    made = meaning_of(op, call, infer_struct_info(call), given.convert)
    if made is None:
        raise TypeError(f"topi has no tensor expression for {call}")
    return made[0] if len(made) == 1 else made
