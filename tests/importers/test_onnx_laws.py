"""Rows of the ONNX importer compute what onnx's reference evaluator computes, for random shapes, attributes and dtypes."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx, the extra 'onnx', is not installed")

from .onnx_laws import FLOATS, INTEGERS, NUMBERS, Make, Node, check_family, choice, shape, tensor

Rng = np.random.Generator


def _unary(operator: str, dtypes: tuple[str, ...], rng: Rng) -> Node:
    dtype = choice(rng, dtypes)
    x = tensor(rng, shape(rng, int(operator == "Softsign")), dtype)  # the reference's Softsign refuses scalars
    if operator in ("Log", "Sqrt"):
        x = np.abs(x) + x.dtype.type(0.5)
    if operator in ("Acos", "Asin", "Atanh"):
        x = np.clip(x, -0.9, 0.9).astype(dtype)
    return Node(operator, [np.abs(x) + x.dtype.type(1) if operator == "Acosh" else x])


_OF_FLOATS = [
    "Exp",
    "Log",
    "Sqrt",
    "Sigmoid",
    "Tanh",
    "Sin",
    "Cos",
    "Asin",
    "Acos",
    "Atan",
    "Sinh",
    "Cosh",
    "Asinh",
    "Acosh",
    "Atanh",
    "Erf",
    "Softplus",
    "Ceil",
    "Floor",
    "Round",
    "Elu",
    "Selu",
    "Celu",
    "LeakyRelu",
    "ThresholdedRelu",
    "HardSigmoid",
    "HardSwish",
    "Softsign",
    "Mish",
    "Gelu",
    "Shrink",
    "IsNaN",
    "IsInf",
    "Swish",
]
_OF_NUMBERS = ("Abs", "Neg", "Sign", "Identity")


def test_elementwise(random: Rng) -> None:
    signed = tuple(dtype for dtype in NUMBERS if not dtype.startswith("u"))
    makers: list[Make] = [partial(_unary, operator, FLOATS) for operator in _OF_FLOATS]
    makers += [partial(_unary, operator, signed) for operator in _OF_NUMBERS]
    check_family(random, makers, 2)


def _pair(rng: Rng, dtype: str) -> list[np.ndarray]:
    """Return two tensors whose shapes broadcast."""
    dims = shape(rng, 0, 3)
    cut = [tuple(1 if rng.random() < 0.3 else size for size in dims)[int(rng.integers(0, len(dims) + 1)) :], dims]
    return [tensor(rng, part, dtype) for part in (cut if rng.random() < 0.5 else cut[::-1])]


def _binary(operator: str, dtypes: tuple[str, ...], rng: Rng) -> Node:
    dtype = choice(rng, dtypes)
    x, y = _pair(rng, dtype)
    if operator in ("Div", "Mod"):
        y = np.where(y == 0, y.dtype.type(3), y)
        if operator == "Div" and not dtype.startswith("f"):
            x, y = np.abs(x), np.abs(y)
    if operator == "Pow":
        x = np.abs(x) + x.dtype.type(1)
        y = np.abs(tensor(rng, y.shape, choice(rng, ("float32", "int64"))))
    attributes = {"fmod": 1} if operator == "Mod" and dtype.startswith("f") else {}
    if operator == "BitShift":
        attributes, y = {"direction": choice(rng, ("LEFT", "RIGHT"))}, np.abs(y)
    return Node(operator, [x, y], attributes)


def test_operands(random: Rng) -> None:
    makers: list[Make] = [
        *(
            partial(_binary, name, NUMBERS)
            for name in ("Add", "Sub", "Mul", "Div", "Mod", "Less", "GreaterOrEqual", "Max")
        ),
        *(partial(_binary, name, ("bool",)) for name in ("And", "Or", "Xor", "Equal")),
        *(partial(_binary, name, INTEGERS) for name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")),
        partial(_binary, "BitShift", tuple(dtype for dtype in INTEGERS if dtype.startswith("u"))),
        partial(_binary, "Pow", ("float32", "float64", "int32")),
        lambda rng: Node("Where", [tensor(rng, (3, 1), "bool"), tensor(rng, (2, 1, 4)), tensor(rng, (3, 4))]),
        lambda rng: Node(
            "Clip", [tensor(rng, shape(rng)), np.float32(-1)[...], choice(rng, (None, np.float32(1)[...]))]
        ),
    ]
    check_family(random, makers, 3)


def _reduction(operator: str, rng: Rng) -> Node:
    dtype = choice(rng, ("float32", "float64", "int64") if operator != "ReduceMean" else ("float32", "float64"))
    dims = shape(rng, 1, 4)
    axes = rng.permutation(len(dims))[: int(rng.integers(0, len(dims) + 1))]
    signed = np.where(rng.random(len(axes)) < 0.5, axes, axes - len(dims)).astype("int64")
    given = signed if len(axes) or rng.random() < 0.5 else None
    x = tensor(rng, dims, dtype)
    if operator == "ReduceLogSum":
        x = np.abs(x) + x.dtype.type(1)
    attributes = {"keepdims": int(rng.integers(2)), "noop_with_empty_axes": int(rng.integers(2))}
    if "Log" in operator or operator == "ReduceL2":
        x = x.astype("float32")
    return Node(operator, [x, given], attributes, 1, opset=18 if operator not in ("ReduceMax", "ReduceMin") else 20)


def _index_of_extremum(rng: Rng) -> Node:
    dims = shape(rng, 1, 4)
    attributes = {"axis": int(rng.integers(-len(dims), len(dims))), "keepdims": int(rng.integers(2))}
    attributes["select_last_index"] = int(rng.integers(2))
    return Node(choice(rng, ("ArgMax", "ArgMin")), [tensor(rng, dims, choice(rng, NUMBERS))], attributes)


def _cumulative(rng: Rng) -> Node:
    dims = shape(rng, 1, 3)
    axis = np.array(rng.integers(-len(dims), len(dims)))
    attributes = {"exclusive": int(rng.integers(2)), "reverse": int(rng.integers(2))}
    is_constant = int(rng.integers(2))
    return Node("CumSum", [tensor(rng, dims, choice(rng, ("float32", "int32"))), axis], attributes, 2 - is_constant)


def test_reductions(random: Rng) -> None:
    names = ["Sum", "Prod", "Mean", "Max", "Min", "L1", "L2", "SumSquare", "LogSum", "LogSumExp"]
    check_family(
        random, [*(partial(_reduction, f"Reduce{name}") for name in names), _index_of_extremum, _cumulative], 4
    )


def _slice(rng: Rng) -> Node:
    dims = shape(rng, 1, 3)
    axes = rng.permutation(len(dims))[: int(rng.integers(1, len(dims) + 1))].astype("int64")
    starts, ends = rng.integers(-7, 8, (2, len(axes)))
    steps = choice(rng, (None, rng.choice([-2, -1, 1, 2, 3], len(axes))))
    is_limit = rng.random(len(axes)) < 0.2
    ends = np.where(is_limit, np.sign(ends) * (2**63 - 1), ends)
    return Node("Slice", [tensor(rng, dims), starts, ends, axes, steps], {}, 1)


def _pad(rng: Rng) -> Node:
    dims = shape(rng, 1, 3, 2)
    mode = choice(rng, ("constant", "constant", "edge", "reflect", "wrap"))
    pads = rng.integers(0, 2, 2 * len(dims)) if mode != "constant" else rng.integers(0, 3, 2 * len(dims))
    dtype = choice(rng, ("float32", "int64", "bool") if mode == "constant" else ("float32", "int32"))
    value = choice(rng, (None, np.array(1).astype(dtype))) if mode == "constant" else None
    return Node("Pad", [tensor(rng, dims, dtype), pads, value], {"mode": mode}, 1)


def _split(rng: Rng) -> Node:
    sizes = rng.integers(0, 4, int(rng.integers(1, 4)))
    dims = [*shape(rng, 0, 2)]
    axis = int(rng.integers(0, len(dims) + 1))
    dims.insert(axis, int(sizes.sum()))
    return Node("Split", [tensor(rng, dims), sizes], {"axis": axis - choice(rng, (0, len(dims)))}, 1, len(sizes))


def _expand(rng: Rng) -> Node:
    x, y = _pair(rng, "float32")
    return Node("Expand", [x, np.array(y.shape, "int64")], {}, 1)


def _of_axes(operator: str, rng: Rng) -> Node:
    dims = list(shape(rng, 0, 3))
    rank = len(dims) + 2
    axes = np.sort(rng.permutation(rank)[:2])
    if operator == "Squeeze":
        for axis in axes:
            dims.insert(int(axis), 1)
    return Node(operator, [tensor(rng, dims), axes - choice(rng, (0, rank))], {}, 1)


def test_shapes(random: Rng) -> None:
    makers: list[Make] = [
        _slice, _slice, _pad, _pad, _split, _expand, partial(_of_axes, "Squeeze"), partial(_of_axes, "Unsqueeze"),
        lambda rng: Node("Transpose", [tensor(rng, (2, 3, 4))], {"perm": rng.permutation(3).tolist()}),
        lambda rng: Node("Flatten", [tensor(rng, (2, 3, 4))], {"axis": int(rng.integers(-3, 4))}),
        lambda rng: Node("Tile", [tensor(rng, (2, 3)), rng.integers(0, 3, 2)], {}, 1),
        lambda rng: Node("Concat", [tensor(rng, (2, size, 2)) for size in (1, 2, 3)], {"axis": choice(rng, (1, -2))}),
        lambda rng: Node("DepthToSpace", [tensor(rng, (2, 8, 2, 3))], {"blocksize": 2, "mode": choice(rng, ("DCR", "CRD"))}),
        lambda rng: Node("SpaceToDepth", [tensor(rng, (2, 3, 4, 6))], {"blocksize": 2}),
        lambda rng: Node("Reshape", [tensor(rng, (2, 3, 4)), np.array(choice(rng, ([0, -1], [4, -1, 2], [-1], [3, 0, 4])[:3]))], {}, 1),
    ]  # fmt: skip
    check_family(random, makers, 4)


def _gather(rng: Rng) -> Node:
    dims = shape(rng, 1, 3)
    axis = int(rng.integers(0, len(dims)))
    index = rng.integers(-dims[axis], dims[axis], shape(rng, 0, 2))
    return Node("Gather", [tensor(rng, dims), index], {"axis": axis - choice(rng, (0, len(dims)))})


def _elements(operator: str, rng: Rng) -> Node:
    dims = shape(rng, 1, 3)
    axis = int(rng.integers(0, len(dims)))
    count = int(rng.integers(1, dims[axis] + 1))
    index = np.argsort(rng.random(dims), axis).take(range(count), axis) - choice(rng, (0, dims[axis]))
    if operator == "GatherElements":
        return Node(operator, [tensor(rng, dims), index], {"axis": axis})
    reduction = choice(rng, ("none", "add", "mul", "max", "min"))
    return Node(
        operator, [tensor(rng, dims), index, tensor(rng, index.shape)], {"axis": axis, "reduction": reduction}, opset=18
    )


def test_indices(random: Rng) -> None:
    makers: list[Make] = [
        _gather, partial(_elements, "GatherElements"), partial(_elements, "ScatterElements"),
        lambda rng: Node("GatherND", [tensor(rng, (2, 3, 4)), rng.integers(-2, 2, (3, 2))]),
        lambda rng: Node("ScatterND", [tensor(rng, (4, 3)), rng.permutation(4)[:2].reshape(2, 1), tensor(rng, (2, 3))]),
        lambda rng: Node("OneHot", [rng.integers(-3, 3, (2, 2)), np.array(3), tensor(rng, (2,))], {"axis": int(rng.integers(-1, 3))}, 1),
        lambda rng: Node("Trilu", [tensor(rng, (2, 3, 4)), np.array(rng.integers(-3, 4))], {"upper": int(rng.integers(2))}, 1),
        lambda rng: Node("ReverseSequence", [tensor(rng, (4, 3, 2)), rng.integers(1, 5, 3)], {"time_axis": 0, "batch_axis": 1}),
        lambda rng: Node("Compress", [tensor(rng, (3, 4)), tensor(rng, (3,), "bool")], {"axis": choice(rng, (0, -2))}),
        lambda rng: Node("NonZero", [tensor(rng, shape(rng, 1, 3), "int32")]),
        lambda rng: Node("TopK", [tensor(rng, (3, 5)), np.array([int(rng.integers(1, 6))])], {"axis": -1, "largest": int(rng.integers(2))}, 1, 2),
        lambda rng: Node("Unique", [tensor(rng, (7,), "int32")], {"sorted": int(rng.integers(2))}, outputs=4),
        lambda rng: Node("Range", [np.array(value) for value in (int(rng.integers(-5, 5)), 7, 2)]),
    ]  # fmt: skip
    check_family(random, makers, 4)


def _windows(rng: Rng, spatial: int, is_pool: bool) -> dict[str, object]:
    attributes: dict[str, object] = {"kernel_shape": rng.integers(1, 4, spatial).tolist()}
    attributes["strides"] = rng.integers(1, 3, spatial).tolist()
    attributes["dilations"] = rng.integers(1, 3, spatial).tolist()
    if rng.random() < 0.3 and not is_pool:
        attributes["auto_pad"] = choice(rng, ("SAME_UPPER", "SAME_LOWER", "VALID"))
        attributes["dilations"] = [1] * spatial
    else:
        attributes["pads"] = (
            rng.integers(0, 2, 2 * spatial).tolist() if min(attributes["kernel_shape"]) > 1 else [0] * 2 * spatial
        )  # type: ignore[arg-type, call-overload]
    return attributes


def _conv(rng: Rng) -> Node:
    spatial, groups = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    attributes = _windows(rng, spatial, False)
    weight = tensor(rng, (2 * groups, 2, *attributes["kernel_shape"]))  # type: ignore[misc]
    x = tensor(rng, (2, 2 * groups, *rng.integers(5, 8, spatial)))
    return Node(
        "Conv", [x, weight, choice(rng, (None, tensor(rng, (2 * groups,))))], {**attributes, "group": groups}, 1
    )


def _pool(operator: str, rng: Rng) -> Node:
    spatial = 2
    attributes = {**_windows(rng, spatial, True), "ceil_mode": 0}
    if operator == "AveragePool":
        attributes |= {"count_include_pad": int(rng.integers(2))}
    if operator == "MaxPool":
        attributes["dilations"] = [1] * spatial
    return Node(operator, [tensor(rng, (2, 2, *rng.integers(5, 8, spatial)))], attributes)


def _resize(rng: Rng) -> Node:
    modes = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric")
    mode = choice(rng, ("nearest", "linear", "cubic"))
    attributes: dict[str, object] = {"mode": mode, "coordinate_transformation_mode": choice(rng, modes)}
    if mode == "nearest":
        attributes["nearest_mode"] = choice(rng, ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"))
    elif rng.random() < 0.4:
        attributes["antialias"] = 1
    x = tensor(rng, (1, 2, *rng.integers(3, 6, 2)))
    scales = np.array([1, 1, *rng.choice([0.5, 0.6, 1.5, 2.0, 3.0], 2)], "float32")
    return Node("Resize", [x, None, scales], attributes, 1, opset=19)


def test_windows(random: Rng) -> None:
    makers: list[Make] = [
        _conv, partial(_pool, "AveragePool"), partial(_pool, "MaxPool"), _resize,
        lambda rng: Node("ConvTranspose", [tensor(rng, (1, 2, 3, 4)), tensor(rng, (2, 3, 3, 2))], {"strides": rng.integers(1, 3, 2).tolist()}),
        lambda rng: Node("GlobalAveragePool", [tensor(rng, (2, 3, 4, 5))]),
        lambda rng: Node("GlobalMaxPool", [tensor(rng, (2, 3, 4, 5))]),
    ]  # fmt: skip
    check_family(random, makers, 4)


def test_products_and_normalizations(random: Rng) -> None:
    makers: list[Make] = [
        lambda rng: Node("MatMul", choice(rng, ([tensor(rng, (2, 3, 4)), tensor(rng, (4, 2))], [tensor(rng, (3,)), tensor(rng, (3,))]))),
        lambda rng: Node("Gemm", [tensor(rng, (4, 3)), tensor(rng, (5, 4)), tensor(rng, choice(rng, ((5,), (3, 1), ())))], {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0}),
        lambda rng: Node("Einsum", [tensor(rng, (2, 3, 4)), tensor(rng, (2, 4, 5))], {"equation": choice(rng, ("bij,bjk->bik", "...ij, ...jk"))}),
        lambda rng: Node(choice(rng, ("Softmax", "LogSoftmax", "Hardmax")), [tensor(rng, (2, 3, 4))], {"axis": int(rng.integers(-3, 3))}, opset=13),
        lambda rng: Node("LpNormalization", [np.abs(tensor(rng, (3, 4)))], {"axis": int(rng.integers(-2, 2)), "p": int(rng.integers(1, 3))}),
        lambda rng: Node("LRN", [tensor(rng, (6, 6, 3, 2))], {"size": int(rng.integers(1, 6))}),
        lambda rng: Node("InstanceNormalization", [tensor(rng, (2, 3, 4)), tensor(rng, (3,)), tensor(rng, (3,))]),
        lambda rng: Node("BatchNormalization", [tensor(rng, (2, 3, 4)), *(tensor(rng, (3,)) for _ in range(3)), np.abs(tensor(rng, (3,))) + 1]),
        lambda rng: Node("DFT", [tensor(rng, (2, 6, choice(rng, (1, 2)))), None, np.array(1)], {"inverse": 0}, 1, opset=20),
    ]  # fmt: skip
    check_family(random, makers, 4)
