"""Example calls of every row of the importer's table: tensors by kind and shape, which a test fills at random."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class T(Struct, frozen=True):
    """A tensor argument: kind `f` floats, `i` integers, `b` bools, `x` indices below `high`."""

    kind: str
    shape: tuple[int, ...]
    low: float = -2
    high: float = 2
    dtype: str = ""


class Call(Struct, frozen=True):
    args: tuple[Any, ...]
    keywords: dict[str, Any]


def call(*args: Any, **keywords: Any) -> Call:
    return Call(args, keywords)


def f(*shape: int, low: float = -2, high: float = 2, dtype: str = "") -> T:
    return T("f", shape, low, high, dtype)


def w(*shape: int) -> T:
    """Values so small that the rounding of one step does not grow in the next."""
    return f(*shape, low=-0.5, high=0.5)


def i(*shape: int, low: int = -5, high: int = 5, dtype: str = "") -> T:
    return T("i", shape, low, high, dtype)


def b(*shape: int) -> T:
    return T("b", shape)


def x(*shape: int, below: int) -> T:
    """Indices."""
    return T("x", shape, 0, below, "int64")


def dtype(name: str) -> Any:
    import torch

    return getattr(torch, name)


_EVERY = [call(f(2, 3)), call(f()), call(i(2, 3)), call(f(0, 3))]
_ANY_REAL = ("abs", "neg", "square", "relu", "ceil", "floor", "round", "trunc", "sign", "sgn", "positive", "alias", "clone", "detach", "contiguous",
             "cos", "sin", "tanh", "sigmoid", "exp", "erf", "atan", "asinh", "sinh", "cosh", "tan", "expm1", "special_expm1", "exp2", "erfc",
             "deg2rad", "rad2deg", "isnan", "isinf", "isfinite", "logical_not", "lift_fresh_copy")  # fmt: skip
_FLOAT_ONLY = ("silu", "hardsigmoid", "hardswish", "mish", "relu6", "selu", "gelu", "elu", "celu", "leaky_relu", "softplus",
               "log_sigmoid", "frac", "hardshrink", "softshrink", "hardtanh")  # fmt: skip
_ARITHMETIC = [
    call(f(2, 3), f(3)),
    call(f(2, 3), i(2, 1)),
    call(i(2, 3), i(3)),
    call(i(4), f()),
    call(f(2, 1, 3), f(4, 1)),
]
_COMPARE = [call(i(2, 3), i(3)), call(f(2, 3), i(3)), call(b(2, 3), b(3)), call(i(3), f(3))]
_COMPARE_SCALAR = [call(f(2, 3), 0.5), call(i(2, 3), 1), call(i(2, 3), 0.5), call(b(3), 1)]
_BITS = [call(i(2, 3), i(3)), call(b(2, 3), b(3))]
_BITS_SCALAR = [call(i(2, 3), 6), call(b(3), True)]
_REDUCE_DIM = [call(f(2, 3, 4), [1]), call(f(2, 3, 4), [-1, 0], True), call(f(3), [0]), call(f(2, 3), [])]
_SHRUNK = [call(f(2, 3, 4), 1), call(f(2, 3, 4), -1, True), call(i(2, 3), 0), call(f(5), 0)]
_VARIANCE = [
    call(f(4, 5)),
    call(f(4, 5), [1]),
    call(f(4, 5), [0], correction=0, keepdim=True),
    call(f(2, 3, 4), [-1, 0], correction=2),
]
_WINDOW_2D = [call(f(1, 2, 7, 6), [2, 3]), call(f(1, 2, 7, 6), [3, 3], [2, 2], [1, 1]), call(f(2, 7, 6), [2, 2], [2, 2], [0, 0]), call(f(1, 2, 7, 6), [3, 2], [2, 2], [1, 1], ceil_mode=True)]  # fmt: skip
_SPREAD = [call(f(1, 2, 4, 4), [8, 8]), call(f(1, 2, 5, 4), [7, 3])]


def unary(*names: str, calls: list[Call]) -> dict[str, list[Call]]:
    return {f"{name}.default": calls for name in names}


def overloads(name: str, *pairs: tuple[str, list[Call]]) -> dict[str, list[Call]]:
    return {f"{name}.{overload}": calls for overload, calls in pairs}


def both(name: str, tensors: list[Call], scalars: list[Call]) -> dict[str, list[Call]]:
    return overloads(name, ("Tensor", tensors), ("Scalar", scalars))


_NUMBERS = [call(f(2, 3), 3), call(i(2, 3), 2), call(i(2, 3), 1.5), call(f(), -2)]
_NO_ZERO = [call(f(2, 3), f(3, low=0.5)), call(f(2, 3), f(3, low=-3, high=-0.5)), call(i(2, 3), i(3, low=1))]
_WHOLE = [*_NO_ZERO, call(i(2, 3), i(3, low=-4, high=-1))]

ELEMENTWISE: dict[str, list[Call]] = {
    **unary(*_ANY_REAL, calls=_EVERY),
    **unary(*_FLOAT_ONLY, calls=[call(f(2, 3)), call(f()), call(f(4, low=-8, high=8))]),
    **unary("acos", "asin", "atanh", calls=[call(f(2, 3, low=-0.9, high=0.9)), call(f(low=-0.5, high=0.5))]),
    **unary("acosh", calls=[call(f(2, 3, low=1.1, high=5)), call(i(2, 3, low=1))]),
    **unary(
        "log",
        "log2",
        "log10",
        "sqrt",
        "rsqrt",
        "reciprocal",
        calls=[call(f(2, 3, low=0.1, high=9)), call(i(4, low=1)), call(f(low=1))],
    ),
    **unary(
        "log1p",
        "special_log1p",
        calls=[call(f(2, 3, low=-0.9, high=5)), call(f(4, low=-1e-6, high=1e-6, dtype="float32")), call(i(4, low=0))],
    ),
    **unary("bitwise_not", calls=[call(i(2, 3)), call(b(3))]),
    **unary("prelu", "_prelu_kernel", calls=[call(f(2, 3), f(1)), call(f(2, 3, 4), f(3))]),
    "_prelu_kernel.default": [call(f(2, 3), f(1, 3)), call(f(2, 3, 4), f(1, 3, 1))],
    "gelu.default": [call(f(2, 3)), call(f(2, 3), approximate="tanh")],
    "elu.default": [call(f(2, 3)), call(f(4), 0.5, 2.0, 1.5)],
    "leaky_relu.default": [call(f(2, 3)), call(f(4), 0.3)],
    "softplus.default": [call(f(2, 3)), call(f(4, high=30), 2.0, 10.0)],
    "hardtanh.default": [call(f(2, 3)), call(f(4), -0.5, 1.5)],
    "round.decimals": [call(f(2, 3, dtype="float32"), decimals=2)],
    "nan_to_num.default": [call(f(2, 3)), call(f(3), 1.0, 2.0, 3.0)],
    "clamp.default": [call(f(2, 3), -1, 1), call(i(4), 0), call(f(4), None, 0.5), call(i(4), 0.5, 2.5)],
    "clamp.Tensor": [call(f(2, 3), f(3, high=0), f(2, 1, low=0)), call(f(4), None, f(4))],
    "clamp_min.default": [call(f(2, 3), 0.5)],
    "clamp_min.Tensor": [call(f(2, 3), f(3))],
    "clamp_max.default": [call(i(2, 3), 1)],
    "clamp_max.Tensor": [call(f(2, 3), f(1))],
    "threshold.default": [call(f(2, 3), 0.5, 7.0)],
    "glu.default": [call(f(2, 4)), call(f(4, 3), 0)],
    "logit.default": [call(f(2, 3, low=0.1, high=0.9)), call(f(5, low=0, high=1), 0.2)],
    **unary("dropout", "feature_dropout", "alpha_dropout", calls=[call(f(2, 3), 0.5, False)]),
    "native_dropout.default": [call(f(2, 3), 0.5, False)],
}

BINARY: dict[str, list[Call]] = {
    **both("add", [*_ARITHMETIC, call(b(3), b(3)), call(f(2, 3), f(3), alpha=2)], [*_NUMBERS, call(f(3), 2, 3)]),
    **both("sub", [*_ARITHMETIC, call(f(2, 3), f(3), alpha=0.5)], _NUMBERS),
    **both("rsub", _ARITHMETIC, [call(f(2, 3), 2), call(i(3), 4, 2)]),
    **both("mul", [*_ARITHMETIC, call(b(3), b(3))], _NUMBERS),
    **both("div", [*_NO_ZERO, call(i(3), f(3, low=1))], _NUMBERS),
    "div.Tensor_mode": [call(*base.args, rounding_mode=mode) for base in _WHOLE for mode in ("floor", "trunc", None)],
    "div.Scalar_mode": [call(f(2, 3), 0.7, rounding_mode="floor"), call(i(2, 3), -2, rounding_mode="trunc")],
    **both("true_divide", _NO_ZERO, _NUMBERS),
    "floor_divide.default": _WHOLE,
    "floor_divide.Scalar": [call(f(2, 3), 0.7), call(i(2, 3), -2)],
    **both("remainder", _WHOLE, [call(f(2, 3), -0.7), call(i(2, 3), 3)]),
    "remainder.Scalar_Tensor": [call(5, i(3, low=1)), call(-5, i(3, low=1))],
    **both("fmod", _WHOLE, [call(f(2, 3), -0.7), call(i(2, 3), 3)]),
    "pow.Tensor_Tensor": [call(f(2, 3, low=0.1), f(3))],
    "pow.Tensor_Scalar": [
        call(f(2, 3), 2),
        call(f(2, 3), 3),
        call(i(3), 3),
        call(f(3, low=0.1), -0.5),
        call(f(3, low=0), 0.5),
        call(f(3, low=1), 1.7),
        call(i(3), 0),
    ],
    "pow.Scalar": [call(2.0, f(2, 3)), call(2, f(3))],
    "float_power.Tensor_Tensor": [call(f(3, low=0.1), f(3))],
    **{
        key: value
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
        for key, value in both(name, _COMPARE, _COMPARE_SCALAR).items()
    },
    **unary(
        "logical_and", "logical_or", "logical_xor", calls=[call(b(2, 3), b(3)), call(f(3), i(3)), call(i(2, 3), b(1))]
    ),
    **{
        key: value
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "__and__", "__or__", "__xor__")
        for key, value in both(name, _BITS, _BITS_SCALAR).items()
    },
    **{
        key: value
        for name in ("bitwise_left_shift", "bitwise_right_shift")
        for key, value in overloads(
            name, ("Tensor", [call(i(2, 3, low=0), i(3, low=0, high=3))]), ("Tensor_Scalar", [call(i(3), 2)])
        ).items()
    },
    **{
        key: value
        for name in ("__lshift__", "__rshift__")
        for key, value in both(name, [call(i(3), i(3, low=0, high=3))], [call(i(3), 2)]).items()
    },
    **unary("maximum", "minimum", calls=[call(f(2, 3), f(3)), call(i(3), f(3)), call(b(3), b(3)), call(i(2, 3), i(3))]),
    **overloads("max", ("other", [call(f(2, 3), f(3))])),
    **overloads("min", ("other", [call(i(2, 3), i(3))])),
    "where.self": [call(b(2, 3), f(3), f(2, 1)), call(b(3), i(3), f(3))],
    "where.ScalarSelf": [call(b(2, 3), 1.5, f(3))],
    "where.ScalarOther": [call(b(2, 3), f(3), 2)],
    "where.Scalar": [call(b(2, 3), 1.5, 2.0)],
    **both(
        "masked_fill",
        [call(f(2, 3), b(3), f())],
        [
            call(f(2, 3), b(2, 1), -1.5),
            call(i(3), b(3), 2),
            call(f(2, 3), b(3), -(10**10)),
            call(f(2, 3), b(2, 3), float("-inf")),
        ],
    ),
    "atan2.default": [call(f(2, 3), f(3)), call(f(2, 3), f(1)), call(i(2, 3), i(3))],
    **both("copysign", [call(f(2, 3), f(3)), call(i(3), f(3))], [call(f(2, 3), -1.0)]),
    "hypot.default": [call(f(2, 3), f(3))],
    **both("lerp", [call(f(2, 3), f(3), f(2, 1))], [call(f(2, 3), f(3), 0.3), call(f(3), f(3), 0.8)]),
    "addcmul.default": [call(f(2, 3), f(3), f(2, 1)), call(f(3), f(3), f(3), value=0.5)],
    "addcdiv.default": [call(f(2, 3), f(3), f(2, 1, low=1)), call(f(3), f(3), f(3, low=1), value=0.5)],
    "logaddexp.default": [call(f(2, 3), f(3))],
    "isclose.default": [
        call(f(2, 3), f(3)),
        call(i(9, low=0, high=2), i(9, low=0, high=2)),
        call(f(3), f(3), 0.5, 0.5, True),
    ],
}

REDUCTIONS: dict[str, list[Call]] = {
    "sum.default": [call(f(2, 3)), call(i(3)), call(f()), call(b(4)), call(i(3, dtype="int32"))],
    "sum.dim_IntList": [*_REDUCE_DIM, call(f(2, 3), None), call(i(2, 3), [0]), call(f(2, 3), [0], dtype="float64")],
    "prod.default": [call(f(2, 3)), call(i(3))],
    "prod.dim_int": [call(f(2, 3), 1), call(i(2, 3), -2, True)],
    "mean.default": [call(f(2, 3)), call(f())],
    "mean.dim": [*_REDUCE_DIM, call(f(2, 3), None, True)],
    **unary("amax", "amin", calls=[*_REDUCE_DIM, call(i(2, 3), [0]), call(b(2, 3), [1])]),
    "aminmax.default": [call(f(2, 3), dim=1), call(f(2, 3))],
    **unary("max", "min", calls=[call(f(2, 3)), call(i(2, 3)), call(f())]),
    "max.dim": _SHRUNK,
    "min.dim": _SHRUNK,
    **unary("argmax", "argmin", calls=[*_SHRUNK, call(f(2, 3)), call(f(2, 3), None, True)]),
    **{f"{name}.default": [call(b(2, 3)), call(f(3)), call(b())] for name in ("any", "all")},
    **{f"{name}.dim": [call(b(2, 3), 1), call(i(2, 3, low=0, high=2), -2, True)] for name in ("any", "all")},
    **{f"{name}.dims": [call(b(2, 3, 4), [0, 2]), call(b(2, 3), None)] for name in ("any", "all")},
    **{f"{name}.correction": _VARIANCE for name in ("var", "std", "var_mean", "std_mean")},
    **{
        f"{name}.dim": [call(f(4, 5), [1]), call(f(4, 5), [0], False, True)]
        for name in ("var", "std", "var_mean", "std_mean")
    },
    **{f"{name}.default": [call(f(4, 5)), call(f(4, 5), False)] for name in ("var", "std", "var_mean", "std_mean")},
    "logsumexp.default": [call(f(2, 3), [1]), call(f(2, 3, low=50, high=90, dtype="float32"), [0], True)],
    "linalg_vector_norm.default": [
        call(f(2, 3)),
        call(f(2, 3), 1, [1]),
        call(f(2, 3), float("inf"), [0], True),
        call(f(2, 3), 3, [1]),
        call(f(2, 3), 0, [1]),
        call(f(2, 3), float("-inf"), [1]),
    ],
    "norm.Scalar": [call(f(2, 3), 2)],
    "norm.ScalarOpt_dim": [call(f(2, 3), 1, [1]), call(f(2, 3), None, [0], True)],
    "count_nonzero.default": [call(i(2, 3, low=0, high=2)), call(f(3), 0)],
    "count_nonzero.dim_IntList": [call(i(2, 3, low=0, high=2), [1])],
    "cumsum.default": [
        call(f(2, 3), 1),
        call(i(2, 3, dtype="int32"), -2),
        call(b(4), 0),
        call(f(2, 3), 0, dtype="float64"),
    ],
    "cumprod.default": [call(f(2, 3), 1), call(i(2, 3), 0)],
    **unary("cummax", "cummin", calls=[call(f(2, 5), 1), call(i(4, 2), -2), call(f(5), 0)]),
}

SHAPES: dict[str, list[Call]] = {
    **unary(
        "view",
        "reshape",
        "_unsafe_view",
        "_reshape_alias",
        "view_copy",
        "_reshape_copy",
        calls=[call(f(2, 3, 4), [6, 4]), call(f(2, 3), [-1]), call(f(), [1])],
    ),
    "_reshape_alias.default": [call(f(2, 3, 4), [6, 4], [4, 1])],
    "flatten.using_ints": [call(f(2, 3, 4), 1), call(f(2, 3, 4), 0, 1)],
    "unflatten.int": [call(f(2, 6), 1, [2, 3]), call(f(2, 6), -1, [2, -1])],
    "view_as.default": [call(f(2, 3), f(6))],
    "reshape_as.default": [call(f(2, 3), f(3, 2))],
    "ravel.default": [call(f(2, 3))],
    **unary("permute", "permute_copy", calls=[call(f(2, 3, 4), [2, 0, 1]), call(f(2, 3), [-1, 0])]),
    "transpose.int": [call(f(2, 3, 4), 0, -1), call(f(2, 3), 0, 1)],
    "swapaxes.default": [call(f(2, 3, 4), 0, -1)],
    "swapdims.default": [call(f(2, 3, 4), 0, 1)],
    "t.default": [call(f(2, 3)), call(f(3))],
    "numpy_T.default": [call(f(2, 3))],
    "movedim.int": [call(f(2, 3, 4), 0, -1), call(f(2, 3, 4), 2, 0)],
    "movedim.intlist": [call(f(2, 3, 4), [0, 1], [1, 2])],
    "unsqueeze.default": [call(f(2, 3), 0), call(f(2, 3), -1), call(f(), 0)],
    "squeeze.default": [call(f(1, 3, 1)), call(f(2, 3)), call(f())],
    "squeeze.dim": [call(f(1, 3), 0), call(f(2, 3), 0), call(f(3, 1), -1)],
    "squeeze.dims": [call(f(1, 3, 1), [0, 2]), call(f(1, 3), [0, 1])],
    **unary(
        "expand",
        "expand_copy",
        "broadcast_to",
        calls=[call(f(1, 3), [2, 3]), call(f(1, 3), [4, -1, 3]), call(f(3), [2, -1])],
    ),
    "broadcast_to.default": [call(f(1, 3), [2, 3])],
    "expand_as.default": [call(f(1, 3), f(2, 3))],
    **unary("repeat", "tile", calls=[call(f(2, 3), [2, 1]), call(f(3), [2, 2]), call(f(2, 3), [1, 1])]),
    "tile.default": [call(f(2, 3), [2, 1]), call(f(2, 3), [2]), call(f(2), [3, 1, 2]), call(f(), [2])],
    "repeat_interleave.self_int": [call(f(2, 3), 2), call(f(2, 3), 3, 1)],
    **unary("cat", "concat", calls=[call([f(2, 3), f(1, 3)]), call([f(2, 3), f(2, 1)], -1), call([i(2), f(3)])]),
    "stack.default": [call([f(2, 3), f(2, 3)]), call([f(3), f(3)], -1)],
    "slice.Tensor": [
        call(f(5, 3), 0, 1, 3),
        call(f(5, 3), 0, -2),
        call(f(5, 3), 0, None, None, 2),
        call(f(5, 3), 1, 0, -1),
        call(f(5, 3), 0, 4, 2**63 - 1, 3),
        call(f(5), 0, -9, 9),
    ],
    "narrow.default": [call(f(5, 3), 0, 1, 3)],
    "select.int": [call(f(5, 3), 0, 1), call(f(5, 3), -1, -1)],
    "split.Tensor": [call(f(6, 3), 2), call(f(5, 3), 2), call(f(2, 6), 3, -1)],
    "split_with_sizes.default": [call(f(6, 3), [1, 2, 3]), call(f(2, 6), [2, 4], -1)],
    "chunk.default": [call(f(6, 3), 2), call(f(5, 3), 3), call(f(2, 6), 3, -1)],
    "tensor_split.sections": [call(f(7, 3), 3)],
    "tensor_split.indices": [call(f(7, 3), [2, 5])],
    "unbind.int": [call(f(3, 2)), call(f(2, 3), -1), call(f(1, 3))],
    "diagonal.default": [call(f(3, 4)), call(f(3, 4), 1), call(f(3, 4), -1), call(f(2, 3, 4), 0, 2, 1)],
    "flip.default": [call(f(2, 3), [0]), call(f(2, 3), [-1, 0])],
    "roll.default": [call(f(2, 3), [1], [1]), call(f(2, 3), [2]), call(f(4, 3), [-1, 2], [0, 1])],
    "unfold.default": [call(f(2, 7), 1, 3, 2), call(f(6, 2), 0, 2, 1)],
    "as_strided.default": [call(f(6), [2, 2], [3, 1]), call(f(12), [2, 3], [1, 2], 1)],
    "pixel_shuffle.default": [call(f(1, 8, 2, 3), 2)],
    "pixel_unshuffle.default": [call(f(1, 2, 4, 6), 2)],
    **unary("channel_shuffle", "native_channel_shuffle", calls=[call(f(1, 6, 2, 3), 3)]),
    "constant_pad_nd.default": [call(f(2, 3), [1, 2]), call(f(2, 3), [1, 0, 0, 2], 1.5), call(f(4, 5), [-1, 1, 0, -2])],
    "reflection_pad1d.default": [call(f(2, 5), [2, 1])],
    "reflection_pad2d.default": [call(f(1, 4, 5), [2, 1, 1, 3])],
    "reflection_pad3d.default": [call(f(1, 3, 4, 5), [2, 1, 1, 3, 1, 1])],
    "replication_pad1d.default": [call(f(2, 5), [2, 1])],
    "replication_pad2d.default": [call(f(1, 4, 5), [2, 1, 1, 3])],
    "replication_pad3d.default": [call(f(1, 3, 4, 5), [2, 1, 1, 3, 1, 1])],
    "_pad_circular.default": [call(f(1, 2, 4, 5), [2, 1, 1, 3])],
    "pad.default": [
        call(f(2, 5), [2, 1], "constant", 2.0),
        call(f(1, 2, 5), [2, 1], "reflect"),
        call(f(1, 2, 5), [2, 1], "replicate"),
        call(f(1, 2, 5), [2, 1], "circular"),
    ],
}

_ROWS_OF = x(2, below=5)
INDEXING: dict[str, list[Call]] = {
    "embedding.default": [call(f(5, 3), x(2, 2, below=5)), call(f(5, 3), x(4, below=5), 1)],
    "_embedding_bag.default": [call(f(5, 3), x(6, below=5), T("s", (0, 2, 5))), call(f(5, 3), x(6, below=5), T("s", (0, 2, 2)), False, 1), call(f(5, 3), x(6, below=5), T("s", (0, 2, 4)), False, 2), call(f(5, 3), x(6, below=5), T("s", (0, 2, 6)), False, 0, False, f(6), True)],
    "_embedding_bag_forward_only.default": [call(f(5, 3), x(6, below=5), T("s", (0, 2, 5)))],
    "embedding_bag.padding_idx": [call(f(5, 3), x(6, below=5), T("s", (0, 2, 5)), False, 0, False, None, False, 2)],
    "index_select.default": [call(f(5, 3), 0, _ROWS_OF), call(f(3, 5), -1, _ROWS_OF)],
    "gather.default": [call(f(5, 3), 0, x(2, 3, below=5)), call(f(3, 5), -1, x(2, 4, below=5))],
    "take.default": [call(f(5, 3), x(2, 2, below=15))],
    "take_along_dim.default": [call(f(5, 3), x(2, 3, below=5), 0)],
    **{name: [call(f(5, 3), [x(4, below=5)]), call(f(5, 3), [None, x(2, 2, below=3)]), call(f(5, 3), [x(2, below=5), x(2, below=3)]), call(f(4, 5, 3), [None, x(2, 1, below=5), x(3, below=3)]), call(f(4, 5, 3), [x(2, below=4), None, x(2, below=3)]), call(f(5, 3), [T("x", (4,), -5, 5, "int64")])] for name in ("index.Tensor", "_unsafe_index.Tensor")},
    **{name: [call(f(5, 3), [T("s", (4, 1))], f(2, 3)), call(f(5, 3), [x(4, below=5)], f(4, 3), True), call(f(5, 3), [None, T("s", (2, 0))], f(5, 2)), call(f(5, 3), [b(5, 3)], f()), call(f(4, 5, 3), [T("s", (1, 3)), None, T("s", (2, 0))], f(5)), call(f(4, 5), [i(3, 1, low=-4, high=4, dtype="int64"), x(2, below=5)], f(3, 2)), call(f(4, 5, 3), [None, T("s", (1, 3)), T("s", (2, 0))], f(2))] for name in ("index_put.default", "_unsafe_index_put.default")},
    "scatter.value": [call(f(5, 3), 0, x(2, 3, below=5), 1.5)],
    "scatter.src": [call(f(5, 3), 1, T("p", (5, 2), 0, 3), f(5, 3))],
    "scatter.reduce": [call(f(5, 3), 0, x(4, 3, below=5), f(4, 3), reduce="add"), call(f(5, 3), 0, x(4, 3, below=5), f(4, 3), reduce="multiply")],
    "scatter.value_reduce": [call(f(5, 3), 0, x(4, 3, below=5), 2.0, reduce="add")],
    "scatter_add.default": [call(f(5, 3), 0, x(7, 3, below=5), f(7, 3))],
    "scatter_reduce.two": [call(f(5, 3), 0, x(7, 3, below=5), f(7, 3), reduce, include_self=own) for reduce in ("sum", "prod", "amax", "amin", "mean") for own in (True, False)],
    "index_add.default": [call(f(5, 3), 0, x(7, below=5), f(7, 3)), call(f(5, 3), -1, x(2, below=3), f(5, 2), alpha=2)],
    "index_copy.default": [call(f(5, 3), 0, T("s", (4, 1)), f(2, 3))],
    "index_fill.int_Scalar": [call(f(5, 3), 0, x(2, below=5), 1.5)],
    "index_fill.int_Tensor": [call(f(5, 3), 1, x(2, below=3), f())],
    "slice_scatter.default": [call(f(5, 3), f(2, 3), 0, 1, 3), call(f(5, 3), f(3, 3), 0, 0, 5, 2), call(f(5, 3), f(5, 3)), call(f(5, 3), f(5, 2), -1, -2)],
    "select_scatter.default": [call(f(5, 3), f(3), 0, 1), call(f(5, 3), f(5), -1, -1)],
    "masked_scatter.default": [call(f(5, 3), b(5, 3), f(15)), call(f(5, 3), b(3), f(5, 3))],
    "one_hot.default": [call(x(4, below=5), 5)],
    "meshgrid.default": [call([f(3), f(2)]), call([f(3), f(), f(2)])],
    "meshgrid.indexing": [call([f(3), f(2), f(4)], indexing="xy"), call([f(3)], indexing="xy"), call([i(3), i(2)], indexing="ij")],
}  # fmt: skip

CREATION: dict[str, list[Call]] = {
    "zeros.default": [call([2, 3]), call([2], dtype="int32")],
    "ones.default": [call([2, 3]), call([2], dtype="int32")],
    "full.default": [call([2, 3], 1.5), call([2], 3), call([2], True)],
    "zero.default": [call(f(2, 3)), call(i(2))],
    **unary("zeros_like", "ones_like", calls=[call(f(2, 3)), call(i(2), dtype="float32")]),
    "full_like.default": [call(f(2, 3), 2.5), call(f(2), 1, dtype="int64")],
    "new_zeros.default": [call(f(2), [3, 2])],
    "new_ones.default": [call(f(2), [3, 2], dtype="int64")],
    "new_full.default": [call(f(2), [3, 2], 1.5)],
    "fill.Scalar": [call(f(2, 3), 2)],
    "fill.Tensor": [call(f(2, 3), f())],
    "arange.default": [call(5), call(2.5), call(5, dtype="float32")],
    "arange.start": [call(1, 5), call(0.5, 3.2)],
    "arange.start_step": [call(1, 10, 3), call(5, 0, -2), call(0.0, 1.0, 0.3)],
    "linspace.default": [call(0, 1, 5), call(2.0, -1.0, 4)],
    "scalar_tensor.default": [call(2.5), call(3, dtype="int64")],
    "eye.default": [call(3)],
    "eye.m": [call(3, 2, dtype="int64")],
    "hamming_window.default": [call(7), call(1), call(0)],
    "hamming_window.periodic": [call(6, False), call(5, True, dtype="float64")],
    "hamming_window.periodic_alpha": [call(6, False, 0.5)],
    "hamming_window.periodic_alpha_beta": [call(6, True, 0.5, 0.4)],
    **unary("tril", "triu", calls=[call(f(3, 4)), call(f(2, 3, 3), -1), call(i(3, 3), 1), call(b(3, 3))]),
    "_to_copy.default": [
        call(f(2, 3), dtype="int64"),
        call(i(3), dtype="float16"),
        call(f(3), dtype="bool"),
        call(b(3), dtype="float32"),
        call(f(3), dtype="bfloat16"),
        call(f(3)),
    ],
    "to.dtype": [call(f(2, 3), "int32")],
    "to.dtype_layout": [call(f(2, 3), dtype="float64")],
    "type_as.default": [call(f(2, 3, low=0), i(1)), call(i(2, 3), f(1))],
    "copy.default": [call(f(2, 3), f(3)), call(f(2, 3), i(2, 1))],
}

PRODUCTS: dict[str, list[Call]] = {
    "linear.default": [call(f(2, 3), f(4, 3), f(4)), call(f(2, 5, 3), f(4, 3)), call(f(3), f(4, 3), f(4))],
    "matmul.default": [
        call(f(2, 3), f(3, 4)),
        call(f(3), f(3)),
        call(f(2, 2, 3), f(3)),
        call(f(5, 1, 2, 3), f(2, 3, 4)),
    ],
    "mm.default": [call(f(2, 3), f(3, 4)), call(i(2, 3), i(3, 4))],
    "bmm.default": [call(f(2, 3, 4), f(2, 4, 5))],
    "mv.default": [call(f(2, 3), f(3))],
    "dot.default": [call(f(3), f(3))],
    "vdot.default": [call(f(3), f(3))],
    "addmm.default": [
        call(f(4), f(2, 3), f(3, 4)),
        call(f(2, 4), f(2, 3), f(3, 4), beta=0.5, alpha=2),
        call(f(4), f(2, 3), f(3, 4), beta=0),
    ],
    "baddbmm.default": [
        call(f(2, 3, 5), f(2, 3, 4), f(2, 4, 5)),
        call(f(5), f(2, 3, 4), f(2, 4, 5), beta=2, alpha=0.5),
    ],
    "addmv.default": [call(f(2), f(2, 3), f(3))],
    "addbmm.default": [call(f(3, 5), f(2, 3, 4), f(2, 4, 5))],
    "addr.default": [call(f(2, 3), f(2), f(3), alpha=2)],
    "outer.default": [call(f(2), f(3))],
    "einsum.default": [call("ij,jk->ik", [f(2, 3), f(3, 4)]), call("b i j, b j -> b i", [f(2, 3, 4), f(2, 4)])],
    "bilinear.default": [call(f(2, 3), f(2, 4), f(5, 3, 4), f(5)), call(f(2, 3), f(2, 4), f(5, 3, 4), None)],
    **unary("_cdist_forward", calls=[call(f(3, 4), f(5, 4), p, None) for p in (2.0, 1.0, 0.0, 3.0, float("inf"))]),
    "cdist.default": [call(f(2, 3, 4), f(2, 5, 4))],
    "_pdist_forward.default": [call(f(4, 3)), call(f(4, 3), 1.0)],
}

NETWORKS: dict[str, list[Call]] = {
    "conv1d.default": [call(f(2, 3, 8), f(4, 3, 3), f(4)), call(f(3, 8), f(4, 3, 3), None, [2], [1])],
    "conv2d.default": [call(f(1, 4, 6, 7), f(4, 2, 3, 3), f(4), [2, 1], [1, 1], [1, 2], 2), call(f(1, 2, 5, 5), f(3, 2, 2, 2))],
    "conv3d.default": [call(f(1, 2, 4, 5, 5), f(3, 2, 2, 2, 2), f(3), [1, 2, 1])],
    "conv1d.padding": [call(f(2, 3, 8), f(4, 3, 4), f(4), [1], "same")],
    "conv2d.padding": [call(f(1, 2, 6, 6), f(3, 2, 2, 3), None, [1, 1], "same", [2, 1]), call(f(1, 2, 6, 6), f(3, 2, 3, 3), None, [1, 1], "valid")],
    "conv3d.padding": [call(f(1, 2, 4, 4, 4), f(3, 2, 2, 2, 3), None, [1, 1, 1], "same")],
    "convolution.default": [call(f(1, 4, 6), f(4, 3, 3), f(6), [2], [1], [1], True, [1], 2), call(f(1, 4, 6, 6), f(4, 2, 3, 3), None, [1, 1], [1, 1], [1, 1], False, [0, 0], 2)],
    "conv_transpose1d.default": [call(f(1, 4, 6), f(4, 3, 3), f(3), [2], [1], [1], 1, [1])],
    "conv_transpose2d.input": [call(f(1, 4, 4, 5), f(4, 3, 3, 2), f(3), [2, 1], [1, 0]), call(f(1, 4, 4, 5), f(4, 3, 2, 2), f(6), [2, 2], [0, 0], [1, 1], 2), call(f(1, 2, 4, 5), f(2, 3, 3, 3), None, [1, 1], [1, 1], [0, 0], 1, [2, 2])],
    "conv_transpose3d.input": [call(f(1, 4, 3, 3, 4), f(4, 2, 2, 3, 3), f(4), [2, 1, 2], [0, 1, 1], [1, 0, 0], 2), call(f(1, 2, 3, 3, 3), f(2, 3, 2, 2, 2), None)],
    "max_pool1d.default": [call(f(1, 2, 7), [3]), call(f(2, 7), [3], [2], [1], [1], True)],
    "max_pool2d.default": _WINDOW_2D,
    "max_pool3d.default": [call(f(1, 2, 5, 5, 5), [2, 2, 2]), call(f(1, 2, 5, 5, 5), [3, 2, 2], [2, 2, 2], [1, 1, 0])],
    "max_pool1d_with_indices.default": [call(f(1, 2, 7), [3], [2], [1])],
    "max_pool2d_with_indices.default": _WINDOW_2D,
    "max_pool3d_with_indices.default": [call(f(1, 2, 5, 4, 5), [2, 2, 2], [2, 2, 2], [1, 0, 1])],
    "avg_pool1d.default": [call(f(1, 2, 7), [3]), call(f(1, 2, 7), [3], [2], [1], True), call(f(1, 2, 7), [3], [2], [1], False, False)],
    "avg_pool2d.default": [*_WINDOW_2D, call(f(1, 2, 7, 6), [3, 3], [2, 2], [1, 1], False, False), call(f(1, 2, 7, 6), [2, 2], [2, 2], [0, 0], False, True, 3), call(f(1, 2, 7, 6), [3, 3], [2, 2], [1, 1], True, False)],
    "avg_pool3d.default": [call(f(1, 2, 5, 5, 5), [2, 2, 2])],
    "adaptive_avg_pool1d.default": [call(f(1, 2, 7), [3])],
    "adaptive_avg_pool2d.default": [call(f(1, 2, 7, 6), [3, 2]), call(f(2, 7, 6), [1, 1])],
    "adaptive_avg_pool3d.default": [call(f(1, 2, 5, 5, 4), [2, 1, 2])],
    "_adaptive_avg_pool2d.default": [call(f(1, 2, 7, 6), [3, 2])],
    "_adaptive_avg_pool3d.default": [call(f(1, 2, 5, 5, 4), [2, 1, 2])],
    "adaptive_max_pool1d.default": [call(f(1, 2, 7), [3])],
    "adaptive_max_pool2d.default": [call(f(1, 2, 7, 6), [3, 2])],
    "adaptive_max_pool3d.default": [call(f(1, 2, 5, 5, 4), [2, 1, 2])],
    "batch_norm.default": [call(f(2, 3, 4), f(3), f(3), f(3), f(3, low=0.5), False, 0.1, 1e-5, False), call(f(4, 3), None, None, f(3), f(3, low=0.5), False, 0.1, 1e-3, False)],
    "_native_batch_norm_legit_no_training.default": [call(f(2, 3, 4, 5), f(3), f(3), f(3), f(3, low=0.5), 0.1, 1e-5)],
    "_native_batch_norm_legit.default": [call(f(2, 3, 4), f(3), f(3), f(3), f(3, low=0.5), False, 0.1, 1e-5)],
    "_native_batch_norm_legit.no_stats": [call(f(2, 3, 4), f(3), f(3), True, 0.1, 1e-5)],
    "_native_batch_norm_legit_functional.default": [call(*(f(*shape, low=0.5, dtype="float32") for shape in ((2, 3, 4), (3,), (3,), (3,), (3,))), True, 0.1, 1e-5)],
    "instance_norm.default": [call(f(2, 3, 4), f(3), f(3), None, None, True, 0.1, 1e-5, False), call(f(2, 3, 4), None, None, f(3), f(3, low=0.5), False, 0.1, 1e-5, False)],
    "layer_norm.default": [call(f(2, 3, 4), [4], f(4), f(4)), call(f(2, 3, 4), [3, 4], None, None, 1e-3)],
    "native_layer_norm.default": [call(f(2, 3, 4), [4], f(4), f(4), 1e-5)],
    "nll_loss_nd.default": [call(f(4, 3), T("s", (0, 2, 1, 2))), call(f(2, 3, 4), x(2, 4, below=3), f(3, low=0.1), 2), call(f(4, 3), T("s", (0, 2, 1, 2)), f(3, low=0.1), 0, 2), call(f(3), T("x", (), 0, 3, "int64"))],
    "cross_entropy_loss.default": [
        call(f(4, 3), T("s", (0, 2, 1, 2))), call(f(2, 3, 4), x(2, 4, below=3), f(3, low=0.1), 2), call(f(4, 3), T("s", (0, 2, 1, 2)), f(3, low=0.1), 1, 2, 0.2),
        call(f(4, 3), T("s", (0, 2, 1, 2)), None, 1, 2, 0.2), call(f(4, 3), f(4, 3, low=0.0)), call(f(2, 3, 4), f(2, 3, 4, low=0.0), f(3, low=0.1), 0, -100, 0.1),
        call(f(3), f(3, low=0.0), None, 2), call(f(4, 3), T("s", (0, 2, 1, 2)), None, 0, -100, 0.2),
    ],
    "rms_norm.default": [call(f(2, 3, 4), [4], f(4), 1e-5), call(f(2, 4), [4])],
    "group_norm.default": [call(f(2, 6, 4), 3, f(6), f(6)), call(f(2, 6, 2, 3), 2)],
    "native_group_norm.default": [call(f(2, 6, 4), f(6), f(6), 2, 6, 4, 3, 1e-5)],
    **{name: [call(f(2, 3), 1), call(f(2, 3, 4), -2), call(f(), 0)] for name in ("softmax.int", "log_softmax.int")},
    **{name: [call(f(2, 3), 1, False)] for name in ("_softmax.default", "_log_softmax.default")},
    "_safe_softmax.default": [call(f(2, 3), 1)],
    "scaled_dot_product_attention.default": [call(f(2, 2, 3, 4), f(2, 2, 5, 4), f(2, 2, 5, 6)), call(f(2, 2, 3, 4), f(2, 2, 3, 4), f(2, 2, 3, 4), None, 0.0, True), call(f(1, 2, 3, 4), f(1, 2, 5, 4), f(1, 2, 5, 4), f(3, 5), scale=0.3), call(f(2, 3, 4), f(2, 5, 4), f(2, 5, 4), f(2, 3, 5)), call(f(2, 4, 3, 4), f(2, 2, 5, 4), f(2, 2, 5, 4), enable_gqa=True), call(f(1, 2, 3, 4), f(1, 2, 3, 4), f(1, 2, 3, 4), T("m", (1, 1, 3, 3)))],
    "_scaled_dot_product_flash_attention_for_cpu.default": [call(f(1, 2, 3, 4), f(1, 2, 5, 4), f(1, 2, 5, 4)), call(f(1, 2, 3, 4), f(1, 2, 3, 4), f(1, 2, 3, 4), 0.0, True)],
    "lstm.input": [call(w(3, 2, 4), [w(1, 2, 5), w(1, 2, 5)], [w(20, 4), w(20, 5), w(20), w(20)], True, 1, 0.0, False, False, False), call(w(2, 3, 4), [w(2, 2, 5), w(2, 2, 5)], [w(20, 4), w(20, 5), w(20, 4), w(20, 5)], False, 1, 0.0, False, True, True)],
    "gru.input": [call(w(3, 2, 4), w(2, 2, 5), [w(15, 4), w(15, 5), w(15), w(15), w(15, 5), w(15, 5), w(15), w(15)], True, 2, 0.0, False, False, False)],
    "rnn_tanh.input": [call(w(3, 2, 4), w(1, 2, 5), [w(5, 4), w(5, 5), w(5), w(5)], True, 1, 0.0, False, False, False)],
    "rnn_relu.input": [call(w(2, 3, 4), w(1, 2, 5), [w(5, 4), w(5, 5)], False, 1, 0.0, False, False, True)],
}  # fmt: skip

_D = "float32"
IMAGES: dict[str, list[Call]] = {
    "affine_grid_generator.default": [
        call(f(2, 2, 3), [2, 3, 4, 5], False),
        call(f(1, 2, 3), [1, 2, 3, 1], True),
        call(f(1, 3, 4), [1, 2, 3, 4, 2], True),
    ],
    "grid_sampler.default": [call(f(2, 3, 4, 5), f(2, 3, 6, 2), 0, 0, False)],
    "grid_sampler_2d.default": [
        call(f(2, 3, 4, 5, dtype=dtype), f(2, 3, 6, 2, dtype=dtype), method, padding, corners)
        for method, dtype in ((0, ""), (1, "float32"), (2, "float32"))
        for padding in (0, 1, 2)
        for corners in (False, True)
    ],
    "grid_sampler_3d.default": [
        call(f(1, 2, 3, 4, 2, dtype=dtype), f(1, 3, 2, 4, 3, dtype=dtype), method, padding, corners)
        for method, dtype in ((0, ""), (1, "float32"))
        for padding in (0, 1, 2)
        for corners in (False, True)
    ],
    "upsample_nearest1d.default": [call(f(1, 2, 4), [7]), call(f(1, 2, 5), [7], 1.5)],
    "upsample_nearest1d.vec": [call(f(1, 2, 4), None, [2.0])],
    "upsample_nearest2d.default": _SPREAD,
    "upsample_nearest2d.vec": [call(f(1, 2, 4, 3), None, [2.0, 2.0]), call(f(1, 2, 5, 3), None, [1.5, 2.5])],
    "upsample_nearest3d.default": [call(f(1, 2, 3, 4, 2), [5, 6, 3])],
    "upsample_nearest3d.vec": [call(f(1, 2, 3, 4, 2), None, [2.0, 1.0, 2.0])],
    "_upsample_nearest_exact1d.default": [call(f(1, 2, 4), [7])],
    "_upsample_nearest_exact1d.vec": [call(f(1, 2, 5), None, [1.5])],
    "_upsample_nearest_exact2d.default": _SPREAD,
    "_upsample_nearest_exact2d.vec": [call(f(1, 2, 5, 3), None, [1.5, 2.5])],
    "_upsample_nearest_exact3d.default": [call(f(1, 2, 3, 4, 2), [5, 6, 3])],
    "_upsample_nearest_exact3d.vec": [call(f(1, 2, 3, 4, 2), None, [2.0, 1.0, 2.0])],
    "upsample_linear1d.default": [call(f(1, 2, 4), [7], False), call(f(1, 2, 4), [7], True)],
    "upsample_linear1d.vec": [call(f(1, 2, 5), None, False, [1.5])],
    "upsample_bilinear2d.default": [call(f(1, 2, 4, 4), [8, 7], False), call(f(1, 2, 4, 4), [3, 7], True)],
    "upsample_bilinear2d.vec": [
        call(f(1, 2, 4, 4), None, False, [2.0, 2.0]),
        call(f(1, 2, 5, 5), None, False, [1.5, 0.7]),
    ],
    "upsample_trilinear3d.default": [call(f(1, 2, 3, 4, 2), [5, 6, 3], False), call(f(1, 2, 3, 4, 2), [5, 6, 3], True)],
    "upsample_trilinear3d.vec": [call(f(1, 2, 3, 4, 2), None, False, [2.0, 2.0, 2.0])],
    "upsample_bicubic2d.default": [call(f(1, 2, 4, 4), [8, 7], False), call(f(1, 2, 4, 4), [6, 7], True)],
    "upsample_bicubic2d.vec": [
        call(f(1, 2, 4, 4), None, False, [2.0, 2.0]),
        call(f(1, 2, 5, 5), None, False, [1.5, 1.3]),
    ],
    "_upsample_bilinear2d_aa.default": [call(f(1, 2, 8, 7, dtype=_D), [3, 4], False)],
    "_upsample_bilinear2d_aa.vec": [call(f(1, 2, 8, 7, dtype=_D), [3, 4], False, None)],
    "_upsample_bicubic2d_aa.default": [call(f(1, 2, 8, 7, dtype=_D), [3, 4], False)],
    "_upsample_bicubic2d_aa.vec": [call(f(1, 2, 8, 7, dtype=_D), [3, 4], False, None)],
}

SORTING: dict[str, list[Call]] = {
    "sort.default": [call(f(2, 5)), call(i(5, low=-99, high=99), 0, True), call(f(4, 2), 0)],
    "sort.stable": [
        call(f(2, 5), stable=True),
        call(i(9, low=0, high=3), stable=True),
        call(i(9, low=0, high=3), stable=True, descending=True),
    ],
    "argsort.default": [call(f(2, 5)), call(f(4, 2), 0, True)],
    "argsort.stable": [call(i(9, low=0, high=3), stable=True)],
    "topk.default": [call(f(2, 5), 2), call(f(5, 2), 3, 0, False)],
    "kthvalue.default": [call(f(2, 5), 2), call(f(5, 2), 3, 0, True)],
    "median.dim": [call(f(2, 5), 1), call(f(4, 2), 0, True)],
    "median.default": [call(f(3, 5)), call(f(4))],
    "bucketize.Tensor": [call(f(2, 3), T("o", (4,))), call(f(2, 3), T("o", (4,)), out_int32=True, right=True)],
    "searchsorted.Tensor": [call(T("o", (4,)), f(2, 3)), call(T("o", (2, 4)), f(2, 3), right=True)],
    "isin.Tensor_Tensor": [call(i(2, 3), i(4)), call(i(5), i(3), invert=True)],
}

CALLS: dict[str, list[Call]] = {
    **ELEMENTWISE, **BINARY, **REDUCTIONS, **SHAPES, **INDEXING, **CREATION, **PRODUCTS, **NETWORKS, **IMAGES, **SORTING,
}  # fmt: skip

DATA_DEPENDENT = frozenset(
    ("nonzero.default", "masked_select.default", "_unique2.default", "_local_scalar_dense.default", "item.default")
)
"""Rows whose results have sizes that depend on data: other tests export whole models with them."""
CHECKS = frozenset(
    (
        "_assert_tensor_metadata.default",
        "_assert_async.msg",
        "_assert_scalar.default",
        "sym_constrain_range_for_size.default",
        "sym_constrain_range.default",
    )
)
"""Rows that compute nothing."""
UNSET = frozenset(
    (
        "empty.memory_format",
        "empty_like.default",
        "new_empty.default",
        "empty_strided.default",
        "new_empty_strided.default",
        "empty_permuted.default",
    )
)
"""Rows whose results are not set in torch."""
ELSEWHERE = frozenset(
    (
        "torchvision.roi_align.default",
        "torchvision.roi_pool.default",
        "to.device",
        "to.other",
        "_convolution.default",
        "detach_.default",
        "cond",
        "while_loop",
        "map_impl",
        "_scaled_dot_product_efficient_attention.default",
        "_scaled_dot_product_flash_attention.default",
    )
)
"""Rows whose arguments are devices, or whose kernels are of other devices."""
