"""Calls of graph-level operators with arbitrary attributes and computed indices: slices, gathers, scatters, sorts, windows,
normalizations and arithmetic of integers.

`operator_calls` has each operator once, with fixed attributes. Here attributes are small numbers; a call that the
inference rules refuse is left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hypothesis import strategies as st

from ...ir import relax
from ...ir.diagnostics import TvmsError
from .graph import Graph, Operator, Shape, Value
from .graph_operators import OPERATORS
from .networks import network_functions
from .operator_calls import result_of

_EPSILON = 0.5
"""Number below the root of a normalization: with a small one, rounding errors of equal elements are amplified."""
_MOST = 64
"""Maximum size of a dimension of a result."""
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")


def add_call(graph: Graph, call: str, *operands: Value) -> Value | None:
    """Bind the result of a call with `operands`, or the first element of a tuple. Return the variable; None if the call is
    refused, or its result is large, has no dimensions, or a negative one.
    """
    made = _call(graph, call, operands)
    if made is not None:
        graph.values.append(made)
    return made


def _call(graph: Graph, call: str, operands: Sequence[Value]) -> Value | None:
    """Add the line of a call and return its variable, which no other operator uses unless it is added to the values."""
    places = {operand.name: f"x{place}" for place, operand in enumerate(operands)}
    text = _NAME.sub(lambda match: places.get(match[0], match[0]), f"R.{call}")
    try:
        suffix, shape, dtype = result_of(text, tuple([operand.struct_info() for operand in operands]))
    except TvmsError:
        return None
    if not dtype or not all(0 <= size <= _MOST for size in shape):
        return None
    graph.bind(f"R.{call}{suffix}", shape, dtype)
    return graph.values.pop()


# --- Operands and attributes ----------------------------------------------------------------------------------


def _data(graph: Graph, low: int = 1, high: int = 3, dtype: str = "float32", is_input: bool = False) -> Value:
    """Choose a tensor of static shape. With `is_input`, it is a parameter, whose elements have no rounding errors."""

    def fits(value: Value) -> bool:
        is_known = value in graph.params or not is_input
        return value.is_static and value.dtype == dtype and low <= len(value.shape) <= high and is_known

    known = [value for value in graph.values if fits(value)]
    if known and graph.choose.number(0, 2):
        return graph.choose.pick(known[::-1])
    return graph.parameter(_shape(graph, graph.choose.number(low, high)), dtype)


def _shape(graph: Graph, rank: int, least: int = 1, most: int = 4) -> Shape:
    return tuple([graph.choose.number(least, most) for _ in range(rank)])


def _axis(graph: Graph, rank: int) -> int:
    """Choose an axis, counted from the front or from the end."""
    return graph.choose.number(0, rank - 1) - graph.choose.pick((0, rank))


def _axes(graph: Graph, rank: int) -> list[int]:
    axes = [axis for axis in range(rank) if graph.choose.number(0, 1)] or [graph.choose.number(0, rank - 1)]
    return [axis - graph.choose.pick((0, rank)) for axis in graph.choose.pick((axes, axes[::-1]))]


def _numbers(graph: Graph, count: int, low: int, high: int) -> list[int]:
    return [graph.choose.number(low, high) for _ in range(count)]


def _place(graph: Graph, size: int) -> int:
    """Choose an end of a slice, which may lie beyond the dimension, counted from the front or from the end."""
    return graph.choose.number(-size - 2, size + 2)


def _flag(graph: Graph) -> bool:
    return graph.choose.pick((False, True))


def _indices(graph: Graph, shape: Shape, size: int, low: int = 0) -> Value | None:
    """Return integers from `low` to `size - 1` that depend on a parameter and that no other operator uses; None if `shape`
    has no dimensions.
    """
    given = graph.parameter(shape, "int64")
    bounded = f'floor_mod({given.name}, R.const({size - low}, "int64"))'
    return _call(graph, f'subtract(R.{bounded}, R.const({-low}, "int64"))' if low else bounded, [given])


# --- Elements that move ---------------------------------------------------------------------------------------


def sliced(graph: Graph) -> None:
    """Add a slice, a split, or a tensor that is repeated, flipped, stacked, or stripped of unit dimensions."""
    x = _data(graph)
    rank, axis = len(x.shape), _axis(graph, len(x.shape))
    size = int(x.shape[axis])
    match graph.choose.number(0, 9):
        case 0 | 1 | 9:
            axes = _axes(graph, rank)
            begin, end = ([_place(graph, int(x.shape[axis])) for axis in axes] for _ in range(2))
            steps = [graph.choose.pick((1, 1, 2, 3, -1, -2)) for _ in axes]
            add_call(graph, f"strided_slice({x.name}, {axes}, {begin}, {end}, {steps})", x)
        case 2:
            parts = graph.choose.pick((2, 3 if size > 1 else 2, sorted(_numbers(graph, 2, 0, size))))
            add_call(graph, f"split({x.name}, {parts}, axis={axis})", x)
        case 3:
            add_call(graph, f"tile({x.name}, {_numbers(graph, graph.choose.number(1, 3), 1, 2)})", x)
        case 4:
            add_call(graph, f"repeat({x.name}, {graph.choose.number(1, 3)}, axis={axis})", x)
        case 5:
            add_call(graph, f"flip({x.name}, axis={axis})", x)
        case 6:
            add_call(graph, f"stack(({x.name}, {x.name}), axis={_axis(graph, rank + 1)})", x)
        case 7:
            add_call(graph, f"{graph.choose.pick(('tril', 'triu'))}({x.name}, {graph.choose.number(-2, 2)})", x)
        case _:
            other = tuple([graph.choose.number(1, 3) if at == axis % rank else n for at, n in enumerate(x.shape)])
            y = graph.parameter(other, x.dtype)
            add_call(graph, f"concat(({x.name}, {y.name}, {x.name}), axis={axis})", x, y)


def gathered(graph: Graph) -> None:
    """Add an operator that reads elements at computed indices."""
    x = _data(graph)
    rank, axis = len(x.shape), _axis(graph, len(x.shape))
    size = int(x.shape[axis])
    if 0 in x.shape:
        return
    match graph.choose.number(0, 5):
        case 4 | 5:
            shapes = [_shape(graph, graph.choose.number(1, 2), most=3) for _ in range(graph.choose.number(1, rank))]
            if len(shapes) > 1 and graph.choose.number(0, 1):
                shapes[:2] = graph.choose.pick((((2, 1), (3,)), ((3,), (2, 1)), ((2, 1), (2, 3))))
            found = [_indices(graph, shape, int(n)) for shape, n in zip(shapes, x.shape, strict=False)]
            indices = [index for index in found if index is not None]
            if len(indices) == len(found):
                names = ", ".join(index.name for index in indices)
                add_call(graph, f"index_tensor({x.name}, ({names},))", x, *indices)
        case 0:
            index = _indices(graph, _shape(graph, graph.choose.number(1, 2), most=3), size)
            if index is not None:
                add_call(graph, f"take({x.name}, {index.name}, axis={axis})", x, index)
        case 1:
            shape = tuple([n if at != axis % rank else graph.choose.number(1, 4) for at, n in enumerate(x.shape)])
            index = _indices(graph, shape, size)
            if index is not None:
                add_call(graph, f"gather_elements({x.name}, {index.name}, axis={axis})", x, index)
        case 2:
            batch = graph.choose.number(0, rank - 1)
            depth = graph.choose.number(1, rank - batch)
            least = min([int(n) for n in x.shape[batch : batch + depth]])
            index = _indices(graph, (*x.shape[:batch], *_shape(graph, graph.choose.number(0, 1)), depth), least)
            if index is not None:
                add_call(graph, f"gather_nd({x.name}, {index.name}, batch_dims={batch})", x, index)
        case _:
            index = _indices(graph, _shape(graph, graph.choose.number(1, 2), most=3), 3)
            if index is not None:
                values = f"R.prim_value(T.float32(2)), R.prim_value(T.float32(-0.5)), 3, axis={_axis(graph, len(index.shape) + 1)}"
                add_call(graph, f"one_hot({index.name}, {values})", index)


def scattered(graph: Graph) -> None:
    """Add an operator that writes elements at computed indices, which may be negative."""
    x = _data(graph)
    rank, axis = len(x.shape), _axis(graph, len(x.shape))
    if 0 in x.shape:
        return
    size, how = int(x.shape[axis]), graph.choose.pick(("add", "max", "min", "mul", "mean"))
    match graph.choose.number(0, 2):
        case 0 | 1:
            shape = tuple([graph.choose.number(1, int(n)) if at != axis % rank else graph.choose.number(1, 4) for at, n in enumerate(x.shape)])  # fmt: skip
            index, updates = _indices(graph, shape, size, -size), graph.parameter(shape, x.dtype)
            if index is not None:
                call = f'scatter_elements({x.name}, {index.name}, {updates.name}, axis={axis}, reduction="{how}")'
                add_call(graph, call, x, index, updates)
        case _:
            index, updates = _indices(graph, (2, 1), int(x.shape[0]), -int(x.shape[0])), graph.parameter((2, *x.shape[1:]), x.dtype)  # fmt: skip
            if index is not None:
                call = f'scatter_nd({x.name}, {index.name}, {updates.name}, reduction="{how}")'
                add_call(graph, call, x, index, updates)


def ordered(graph: Graph) -> None:
    """Add a sort, a search, or a scan."""
    x = _data(graph, dtype=graph.choose.pick(("float32", "int32")), is_input=True)
    axis = _axis(graph, len(x.shape))
    match graph.choose.number(0, 3):
        case 0:
            name = graph.choose.pick(("sort", "argsort"))
            add_call(graph, f"{name}({x.name}, axis={axis}, descending={_flag(graph)})", x)
        case 1:
            add_call(graph, f"topk({x.name}, k={graph.choose.number(1, 3)}, axis={axis}, largest={_flag(graph)})", x)
        case 2:
            add_call(graph, f"{graph.choose.pick(('argmax', 'argmin'))}({x.name}, axis={axis}, keepdims={_flag(graph)})", x)  # fmt: skip
        case _:
            name = graph.choose.pick(("cumsum", "cumprod"))
            add_call(graph, f"{name}({x.name}, axis={axis}, exclusive={_flag(graph)})", x)


# --- Windows --------------------------------------------------------------------------------------------------


def _images(graph: Graph, spatial: int, channels: int, least: int = 3) -> Value:
    shape = (graph.choose.number(1, 2), channels, *_shape(graph, spatial, least, 6))
    return graph.parameter(shape, "float32")


def windows(graph: Graph) -> None:
    """Add a pooling or a padding with arbitrary strides, padding and dilation."""
    spatial = graph.choose.pick((2, 1))
    if graph.choose.rarely(3):
        x = _data(graph)
        mode = graph.choose.pick(("constant", "reflect", "replicate", "circular"))
        widths = _numbers(graph, 2 * len(x.shape), 0, 2)
        add_call(graph, f'nn.pad({x.name}, {widths}, pad_mode="{mode}", pad_value=2.5)', x)
        return
    x = _images(graph, spatial, graph.choose.number(1, 3))
    if graph.choose.rarely(4):
        add_call(graph, f"nn.adaptive_avg_pool{spatial}d({x.name}, {_numbers(graph, spatial, 1, 4)})", x)
        return
    attrs = f"strides={_numbers(graph, spatial, 1, 3)}, padding={_numbers(graph, 2 * spatial, 0, 1)}, ceil_mode={_flag(graph)}"
    if graph.choose.pick((False, True)):
        attrs += f", count_include_pad={_flag(graph)}"
        add_call(graph, f"nn.avg_pool{spatial}d({x.name}, {_numbers(graph, spatial, 1, 3)}, {attrs})", x)
    else:
        dilation = _numbers(graph, spatial, 1, 2)
        add_call(graph, f"nn.max_pool{spatial}d({x.name}, {_numbers(graph, spatial, 1, 3)}, {attrs}, dilation={dilation})", x)  # fmt: skip


_RESIZING = {
    "method": ("nearest_neighbor", "linear", "cubic"),
    "coordinate_transformation_mode": ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_crop_and_resize"),
    "rounding_method": ("round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
}  # fmt: skip


def resized(graph: Graph) -> None:
    """Add a resized image, with any method and coordinates."""
    x = _images(graph, 2, graph.choose.number(1, 2), least=1)
    attrs = "".join(f', {name}="{graph.choose.pick(values)}"' for name, values in _RESIZING.items())
    exclude, roi = graph.choose.number(0, 1), [graph.choose.pick((0.0, 1.0, 0.25, 1.5)) for _ in range(4)]
    attrs += f", cubic_exclude={exclude}, roi=({', '.join(map(str, roi))}), extrapolation_value=2.5"
    add_call(graph, f"image.resize2d({x.name}, R.shape({_shape(graph, 2, most=7)}){attrs})", x)


def convolutions(graph: Graph) -> None:
    """Add a convolution or a transposed one, with arbitrary strides, padding, dilation and groups."""
    spatial, groups = graph.choose.pick((2, 1)), graph.choose.pick((1, 1, 2))
    inputs, outputs = graph.choose.number(1, 2), graph.choose.number(1, 2)
    strides, dilation = (_numbers(graph, spatial, 1, 2) for _ in range(2))
    attrs = f"strides={strides}, padding={_numbers(graph, 2 * spatial, 0, 2)}, dilation={dilation}, groups={groups}"
    x, window = _images(graph, spatial, inputs * groups), _shape(graph, spatial, 1, 3)
    if graph.choose.rarely(3):
        w = graph.parameter((inputs * groups, outputs, *window), x.dtype)
        extra = [graph.choose.number(0, step - 1) for step in strides]
        add_call(graph, f"nn.conv{spatial}d_transpose({x.name}, {w.name}, {attrs}, output_padding={extra})", x, w)
    else:
        w = graph.parameter((outputs * groups, inputs, *window), x.dtype)
        add_call(graph, f"nn.conv{spatial}d({x.name}, {w.name}, {attrs})", x, w)


# --- Arithmetic -----------------------------------------------------------------------------------------------


def quotients(graph: Graph) -> None:
    """Add arithmetic of integers that may be negative, divided or shifted by numbers from 1 on."""
    dtype = graph.choose.pick(("int32", "int64", "int8"))
    x = _data(graph, dtype=dtype, is_input=True)
    y = graph.parameter(x.shape[graph.choose.number(0, len(x.shape) - 1) :], dtype)
    positive = f'R.add(R.floor_mod({y.name}, R.const(5, "{dtype}")), R.const(1, "{dtype}"))'
    name = graph.choose.pick(("mod", "floor_mod", "divide", "floor_divide", "left_shift", "right_shift", "mod"))
    sign = graph.choose.pick(("", "", "R.negative")) if "shift" not in name else ""
    add_call(graph, f"{name}({x.name}, {sign}({positive}))" if sign else f"{name}({x.name}, {positive})", x, y)


def moments(graph: Graph) -> None:
    """Add a reduction over several axes, or a normalization."""
    x = _data(graph, 1, 4)
    if graph.choose.number(0, 1):
        name = graph.choose.pick(("sum", "prod", "max", "min", "mean", "variance", "std"))
        axis = graph.choose.pick((_axes(graph, len(x.shape)), None))
        add_call(graph, f"{name}({x.name}, axis={axis}, keepdims={_flag(graph)})", x)
        return
    channels = 2 * graph.choose.number(1, 2)
    x = _images(graph, graph.choose.number(1, 2), channels, least=1)
    gamma, beta = (graph.parameter((channels,), x.dtype) for _ in range(2))
    axes = list(range(2, len(x.shape)))
    own = f"nn.instance_norm({x.name}, {gamma.name}, {beta.name}, channel_axis=1, axes={axes}, epsilon={_EPSILON})"
    if graph.choose.number(0, 1):
        own = f"nn.group_norm({x.name}, {gamma.name}, {beta.name}, num_groups=2, channel_axis=1, axes={axes}, epsilon={_EPSILON})"
    add_call(graph, own, x, gamma, beta)


CALLS: Sequence[Operator] = (
    sliced, gathered, scattered, ordered, windows, resized, convolutions, quotients, moments,
)  # fmt: skip


def call_functions() -> st.SearchStrategy[relax.Function]:
    """Generate functions of one to five operators, most of them with arbitrary attributes."""
    return network_functions(only=(*CALLS, *CALLS, *OPERATORS))
