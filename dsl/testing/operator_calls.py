"""Calls of graph operators for random graphs: one row per operator with its operands, in the order of `ir/ops`.

An operand is a dtype and a shape, "f a,b,3": letters are sizes that a graph chooses, equal letters equal sizes. The
operator's own rule infers the struct info of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from ...ir import relax, tir
from ..load import parse
from .choices import Choices

DTYPES = {"f": "float32", "i": "int32", "l": "int64", "b": "bool", "u": "uint8"}
"""Dtypes of operands by letter."""
_UNARY = (
    "acos", "acosh", "asin", "asinh", "atanh", "cosh", "log", "rsqrt", "sinh", "sqrt", "tan", "isfinite", "isinf", "isnan",
    "nn.gelu_tanh", "nn.selu", "nn.leakyrelu", "nn.softplus", "nn.relu6", "ones_like", "zeros_like", "eye_like", "tril", "triu",
    "flatten", "nn.dropout", "wrap_param", "builtin.stop_lift_params", "memory.ensure_zero_offset", "grad.no_grad",
    "grad.start_checkpoint", "grad.end_checkpoint", "abs", "atan", "cos", "erf", "exp", "negative", "nn.gelu", "nn.relu", "nn.silu",
    "sigmoid", "sin", "square", "tanh", "ceil", "floor", "round", "sign", "trunc",
)  # fmt: skip
_BINARY = ("atan2", "divide", "mod", "power", "log_add_exp", "add", "multiply", "maximum", "less", "equal")
_OF_INTEGERS = (
    "subtract",
    "minimum",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "greater_equal",
    "greater",
    "less_equal",
    "not_equal",
)
_LOGICAL = ("logical_and", "logical_or", "logical_xor")
_QUOTIENTS = ("floor_divide", "floor_mod")
_SHIFTS = ("left_shift", "right_shift")
_OVER_AXIS = ("prod", "variance", "std", "argmax", "argmin")
CALLS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    **{name: (f"R.{name}({{0}})", ("f a,b",)) for name in _UNARY},
    **{name: (f"R.{name}({{0}}, {{1}})", ("f a,b", "f a,b")) for name in _BINARY},
    **{name: (f"R.{name}({{0}}, R.const(3, 'int32'))", ("i a,b",)) for name in _SHIFTS},
    **{name: (f"R.{name}({{0}}, axis={'1' if name.startswith('arg') else '[1]'})", ("f a,b",)) for name in _OVER_AXIS},
    **{name: (f"R.{name}({{0}}, axis=[1])", ("f a,b",)) for name in ("sum", "max", "min", "mean")},
    **{name: (f"R.{name}({{0}}, axis=-1)", ("f a,b",)) for name in ("nn.softmax", "nn.log_softmax")},
    **{name: (f"R.{name}({{0}}, {{1}})", ("i a,b", "i a,b")) for name in _OF_INTEGERS},
    **{name: (f"R.{name}({{0}}, {{1}})", ("b a,b", "b a,b")) for name in _LOGICAL},
    **{name: (f"R.{name}({{0}}, R.const(3, 'int32'))", ("i a,b",)) for name in _QUOTIENTS},
    "bitwise_not": ("R.bitwise_not({0})", ("i a,b",)),
    "logical_not": ("R.logical_not({0})", ("b a,b",)),
    "reshape": ("R.reshape({0}, R.shape([6]))", ("f 2,3",)),
    "broadcast_to": ("R.broadcast_to({0}, R.shape([2, 4, 3]))", ("f 1,3",)),
    "matmul": ("R.matmul({0}, {1})", ("f a,b", "f b,c")),
    "where": ("R.where({0}, {1}, {2})", ("b a,b", "f a,b", "f a,b")),
    "permute_dims": ("R.permute_dims({0}, axes=[1, 2, 0])", ("f a,b,c",)),
    "expand_dims": ("R.expand_dims({0}, axis=[1])", ("f a,b",)),
    "concat": ("R.concat(({0}, {1}), axis=0)", ("f a,b", "f c,b")),
    "astype": ('R.astype({0}, "int32")', ("u a,b",)),
    "nn.layer_norm": ("R.nn.layer_norm({0}, {1}, {2}, axes=[-1], epsilon=0.5)", ("f a,b", "f b", "f b")),
    "nn.batch_norm": ("R.nn.batch_norm({0}, {1}, {2}, {3}, R.exp({4}), axis=1)", ("f a,b,c", *("f b",) * 4)),
    "nn.conv2d": ("R.nn.conv2d({0}, {1}, padding=[1, 1])", ("f 1,b,3,4", "f c,b,2,3")),
    **{f"nn.{kind}_pool2d": (f"R.nn.{kind}_pool2d({{0}}, pool_size=[2, 2], padding=[1, 0])", ("f a,b,4,3",)) for kind in ("max", "avg")},
    "clip": ("R.clip({0}, -0.5, 1.0)", ("f a,b",)),
    "ewise_fma": ("R.ewise_fma({0}, {1}, {2})", ("f a,b",) * 3),
    "full": ('R.full((2, 3), R.const(0.5, "float32"))', ()),
    "full_like": ('R.full_like({0}, R.const(0.5, "float32"))', ("f a,b",)),
    "ones": ('R.ones((2, 3), "float32")', ()),
    "zeros": ('R.zeros((2, 3), "float32")', ()),
    "eye": ('R.eye(3, 2, 0, "float32")', ()),
    "arange": ('R.arange(0, 7, 2, "float32")', ()),
    "hamming_window": ('R.hamming_window(5, True, 0.5, 0.5, "float32")', ()),
    "squeeze": ("R.squeeze({0}, axis=[1])", ("f a,1,b",)),
    "stack": ("R.stack(({0}, {1}), axis=1)", ("f a,b", "f a,b")),
    "split": ("R.split({0}, 2, axis=0)", ("f 4,b",)),
    "repeat": ("R.repeat({0}, 2, axis=0)", ("f a,b",)),
    "tile": ("R.tile({0}, [2, 1])", ("f a,b",)),
    "flip": ("R.flip({0}, axis=1)", ("f a,b",)),
    "take": ("R.take({0}, R.const([1, 0], \"int64\"), axis=0)", ("f 2,b",)),
    "reverse_sequence": ('R.reverse_sequence({0}, R.const([2, 1], "int32"))', ("f 2,b",)),
    "nn.batch_flatten": ("R.nn.batch_flatten({0})", ("f a,b,2",)),
    "strided_slice": ("R.strided_slice({0}, axes=[0], begin=[1], end=[4], strides=[2])", ("f 5,b",)),
    "gather_elements": ('R.gather_elements({0}, R.const([[1, 0], [0, 1]], "int64"), axis=0)', ("f 2,2",)),
    "gather_nd": ('R.gather_nd({0}, R.const([[1], [0]], "int64"))', ("f 2,b",)),
    "index_tensor": ('R.index_tensor({0}, (R.const([1, 0], "int64"),))', ("f 2,b",)),
    "meshgrid": ('R.meshgrid(({0}, {1}), indexing="ij")', ("f a", "f b")),
    "scatter_elements": ('R.scatter_elements({0}, R.const([[1, 0]], "int64"), {1}, axis=0, reduction="add")', ("f 2,2", "f 1,2")),
    "scatter_nd": ('R.scatter_nd({0}, R.const([[1]], "int64"), {1}, reduction="update")', ("f 2,b", "f 1,b")),
    "index_put": ('R.index_put({0}, (R.const([1], "int64"),), {1}, accumulate=True)', ("f 2", "f 1")),
    "slice_scatter": ("R.slice_scatter({0}, {1}, 1, 3, 1, axis=0)", ("f 4,b", "f 2,b")),
    "one_hot": ("R.one_hot(R.const([1, 0, 2], \"int64\"), R.prim_value(T.float32(1)), R.prim_value(T.float32(0)), depth=3, axis=-1)", ()),
    "collapse_sum_like": ("R.collapse_sum_like({0}, {1})", ("f a,b", "f 1,b")),
    "collapse_sum_to": ("R.collapse_sum_to({0}, R.shape([1, 3]))", ("f a,3",)),
    "layout_transform": ("R.layout_transform({0}, index_map=T.index_map(lambda i, j: (j, i)))", ("f a,b",)),
    "linear": ("R.linear({0}, {1}, {2})", ("f a,b", "f c,b", "f c")),
    "outer": ("R.outer({0}, {1})", ("f a", "f b")),
    "einsum": ('R.einsum(({0}, {1}), subscripts="ij,kj->ik")', ("f a,b", "f c,b")),
    "nn.prelu": ("R.nn.prelu({0}, {1}, axis=1)", ("f a,b", "f b")),
    "nn.rms_norm": ("R.nn.rms_norm({0}, {1}, axes=[-1])", ("f a,b", "f b")),
    "nn.group_norm": ("R.nn.group_norm({0}, {1}, {2}, num_groups=2, channel_axis=1, axes=[2])", ("f a,4,b", "f 4", "f 4")),
    "nn.instance_norm": ("R.nn.instance_norm({0}, {1}, {2}, channel_axis=1, axes=[2])", ("f a,b,3", "f b", "f b")),
    "nn.conv1d": ("R.nn.conv1d({0}, {1}, padding=[1, 1])", ("f a,b,4", "f c,b,3")),
    "nn.conv3d": ("R.nn.conv3d({0}, {1})", ("f 1,b,2,3,2", "f c,b,2,2,2")),
    "nn.conv1d_transpose": ("R.nn.conv1d_transpose({0}, {1}, strides=[2])", ("f a,b,3", "f b,c,2")),
    "nn.conv2d_transpose": ("R.nn.conv2d_transpose({0}, {1}, strides=[2, 1])", ("f 1,b,2,3", "f b,c,2,2")),
    "nn.conv3d_transpose": ("R.nn.conv3d_transpose({0}, {1}, strides=[1, 2, 1])", ("f 1,b,2,2,2", "f b,c,2,1,2")),
    **{f"nn.{kind}_pool1d": (f"R.nn.{kind}_pool1d({{0}}, pool_size=[2], padding=[1, 0])", ("f a,b,4",)) for kind in ("max", "avg")},
    **{f"nn.{kind}_pool3d": (f"R.nn.{kind}_pool3d({{0}}, pool_size=[2, 2, 1])", ("f 1,b,3,2,2",)) for kind in ("max", "avg")},
    "nn.adaptive_avg_pool1d": ("R.nn.adaptive_avg_pool1d({0}, output_size=[2])", ("f a,b,5",)),
    "nn.adaptive_avg_pool2d": ("R.nn.adaptive_avg_pool2d({0}, output_size=[2, 1])", ("f 1,b,3,4",)),
    "nn.adaptive_avg_pool3d": ("R.nn.adaptive_avg_pool3d({0}, output_size=[2, 1, 1])", ("f 1,b,3,2,2",)),
    "nn.pixel_shuffle": ("R.nn.pixel_shuffle({0}, upscale_factor=2)", ("f a,4,b,2",)),
    "image.resize3d": ("R.image.resize3d({0}, R.shape([3, 2, 4]))", ("f 1,b,2,3,2",)),
    "image.resize2d": ("R.image.resize2d({0}, R.shape([3, 5]))", ("f 1,b,2,4",)),
    "nn.pad": ("R.nn.pad({0}, pad_width=[1, 0, 0, 2])", ("f a,b",)),
    "nn.attention": ("R.nn.attention({0}, {1}, {2})", ("f 1,a,2,3", "f 1,b,2,3", "f 1,b,2,3")),
    "nn.attention_bias": ("R.nn.attention_bias({0}, {1}, {2}, {3})", ("f 1,a,2,3", "f 1,b,2,3", "f 1,b,2,3", "f 1,2,a,b")),
    "nn.cross_entropy_with_logits": ("R.expand_dims(R.nn.cross_entropy_with_logits({0}, {1}), axis=[0])", ("f a,b", "f a,b")),
    "image.affine_grid": ("R.image.affine_grid({0}, R.shape([2, 3]), align_corners=False)", ("f a,2,3",)),
    "image.grid_sample": ('R.image.grid_sample({0}, {1}, padding_mode="reflection")', ("f a,b,2,3", "f a,2,2,c")),
    "vision.roi_align": ("R.vision.roi_align({0}, R.zeros((2, 5), \"float32\"), pooled_size=[2, 1], spatial_scale=1.0, sample_ratio=2)", ("f 1,a,3,b",)),
    "vision.roi_pool": ("R.vision.roi_pool({0}, R.zeros((2, 5), \"float32\"), pooled_size=[2, 1], spatial_scale=0.5)", ("f 1,a,3,b",)),
    "size": ("R.reshape(R.size({0}), R.shape([1]))", ("f a,b",)),
    "median": ("R.median({0}, axis=[1])", ("f a,b",)),
    "shape_of": ("R.shape_to_tensor(R.shape_of({0}))", ("f a,b",)),
    "nn.nll_loss": ('R.nn.nll_loss({0}, R.const([1, 0], "int64"), {1}, reduction="none")', ("f 2,2", "f 2")),
    "cumsum": ("R.cumsum({0}, axis=0)", ("f a,b",)),
    "cumprod": ("R.cumprod({0}, axis=1)", ("f a,b",)),
    "masked_fill": ("R.masked_fill({0}, {1}, R.const(2.0, \"float32\"))", ("f a,b", "b a,b")),
    "bucketize": ('R.bucketize({0}, R.const([-1.0, 0.0, 0.5], "float32"))', ("f a,b",)),
    "sort": ("R.sort({0}, axis=1)", ("f a,b",)),
    "argsort": ("R.argsort({0}, axis=0)", ("f a,b",)),
    "topk": ('R.topk({0}, k=2, axis=1, ret_type="values")', ("f a,3",)),
    "quantize": ('R.quantize({0}, R.const(0.5, "float32"), R.const(1, "int8"))', ("f a,b",)),
    "dequantize": ('R.dequantize({0}, R.const(0.5, "float32"), R.const(1, "int32"))', ("i a,b",)),
    "memory.view": ("R.memory.view({0}, R.shape([6]))", ("f 2,3",)),
    "tensor_to_shape": ('R.shape_to_tensor(R.tensor_to_shape(R.const([2, 3], "int64")))', ()),
    "shape_to_tensor": ("R.shape_to_tensor(R.shape([2, 3]))", ()),
    "grad.nll_loss_backward": ('R.grad.nll_loss_backward({0}, {1}, R.const([1, 0], "int64"), {2}, reduction="none")', ("f 2", "f 2,2", "f 2")),
    "grad.max_pool2d_backward": ("R.grad.max_pool2d_backward({0}, {1}, pool_size=[2, 2])", ("f 1,b,2,2", "f 1,b,3,3")),
    "grad.avg_pool2d_backward": ("R.grad.avg_pool2d_backward({0}, {1}, pool_size=[2, 2])", ("f 1,b,2,2", "f 1,b,3,3")),
    "grad.take_backward": ('R.grad.take_backward({0}, {1}, R.const([1, 0], "int64"), axis=0)', ("f 2,b", "f 3,b")),
    "multinomial_from_uniform": (
        'R.multinomial_from_uniform(R.const([[0.25, 0.75]], "float32"), R.const([[0.5]], "float32"), R.const([[0]], "int64"))', (),
    ),
}  # fmt: skip
"""Text of a call and its operands, by the name of the operator, for all operators that law `graph` draws except those that call
functions of the module."""


def drawn_call(
    choose: Choices, name: str, operand: Callable[[tuple[int, ...], str], str]
) -> tuple[str, tuple[int, ...], str] | None:
    """Return the text, shape and dtype of the row `name` of `CALLS`; None if its result is not a tensor with dimensions.

    `operand` returns the name of a value of a shape and dtype.
    """
    text, operands = CALLS[name]
    sizes: dict[str, int] = {}
    infos, names = list[str](), list[str]()
    for dtype, axes in (key.split() for key in operands):
        shape = tuple([int(axis) if axis.isdigit() else _size(choose, sizes, axis) for axis in axes.split(",")])
        names.append(operand(shape, DTYPES[dtype]))
        infos.append(f'R.Tensor(({", ".join(map(str, shape))},), "{DTYPES[dtype]}")')
    suffix, shape, dtype = result_of(text.format(*[f"x{place}" for place in range(len(names))]), tuple(infos))
    return (text.format(*names) + suffix, shape, dtype) if dtype else None


NAMES = tuple(CALLS)


def _size(choose: Choices, sizes: dict[str, int], axis: str) -> int:
    if axis not in sizes:
        sizes[axis] = choose.number(1, 3)
    return sizes[axis]


@cache
def result_of(text: str, operands: tuple[str, ...]) -> tuple[str, tuple[int, ...], str]:
    """Return what to append to a call to get a tensor, its shape and its dtype; an empty dtype if there is no such tensor.

    `operands` are the struct infos of the operands x0, x1, …, to which `text` refers.
    """
    head = ", ".join(f"x{place}: {info}" for place, info in enumerate(operands))
    function = parse(f"R.function f({head}):\n    y = {text}\n    return y\n").functions["f"]
    assert isinstance(function, relax.Function)
    info, suffix = function.ret_struct_info, ""
    if isinstance(info, relax.TupleStructInfo):
        info, suffix = info.fields[0], "[0]"
    sizes = (
        info.shape.values
        if isinstance(info, relax.TensorStructInfo) and isinstance(info.shape, relax.ShapeExpr)
        else ()
    )
    static = tuple([size.value for size in sizes if isinstance(size, tir.IntImm)])
    if not isinstance(info, relax.TensorStructInfo) or not static or len(static) != len(sizes):
        return "", (), ""
    return suffix, static, info.dtype
