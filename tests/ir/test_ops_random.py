"""Operators on random shapes and attributes: inference, symbolic inference, oracle and legalized program agree."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from operator_programs import Case, b, check, check_compiled, f, i, positive

Rng = np.random.Generator
DRAWS = 40 if "TVMS_FUZZ" in os.environ else 3


def shape(rng: Rng, low: int = 1, high: int = 4, size: int = 5) -> list[int]:
    """A random shape of `low` to `high` dimensions."""
    return [int(dim) for dim in rng.integers(1, size, rng.integers(low, high + 1))]


def pick(rng: Rng, *choices: Any) -> Any:
    return choices[rng.integers(len(choices))]


def below(rng: Rng, full: list[int]) -> list[int]:
    """A shape that broadcasts to `full`: some dimensions 1, some leading ones left out."""
    dims = [pick(rng, dim, dim, 1) for dim in full]
    return dims[int(rng.integers(len(dims) + 1)) :]


def axis_of(rng: Rng, dims: list[int]) -> int:
    return int(rng.integers(-len(dims), len(dims)))


def axes_of(rng: Rng, dims: list[int]) -> list[int]:
    chosen = rng.permutation(len(dims))[: rng.integers(1, len(dims) + 1)]
    return [int(axis) - pick(rng, 0, len(dims)) for axis in chosen]


def unary(rng: Rng) -> Case:
    return pick(rng, "exp", "tanh", "nn.relu", "nn.silu", "negative", "floor", "isnan", "square"), f(*shape(rng, 0))


def binary(rng: Rng) -> Case:
    full = shape(rng)
    one, other = (full, below(rng, full)) if rng.random() < 0.5 else (below(rng, full), full)
    name = pick(rng, "add", "subtract", "multiply", "maximum", "less", "equal", "divide", "power", "floor_mod")
    return name, positive(*one), positive(*other)


def choose(rng: Rng) -> Case:
    full = shape(rng)
    return "where", b(*below(rng, full)), f(*full), f(*below(rng, full))


def reduction(rng: Rng) -> Case:
    dims = shape(rng)
    keywords: dict[str, Any] = {"keepdims": bool(rng.integers(2))}
    if rng.random() < 0.8:
        keywords["axis"] = axes_of(rng, dims)
    return pick(rng, "sum", "prod", "max", "min", "mean", "variance", "std"), f(*dims), keywords


def arg_reduction(rng: Rng) -> Case:
    dims = shape(rng)
    return (
        pick(rng, "argmax", "argmin"),
        i(*dims, high=3),
        {"axis": axis_of(rng, dims), "keepdims": bool(rng.integers(2))},
    )


def product(rng: Rng) -> Case:
    batch = shape(rng, 0, 2)
    m, n, k = shape(rng, 3, 3)
    left = [] if rng.random() < 0.2 else [*below(rng, batch), m]
    right = [] if rng.random() < 0.2 else [n]
    return "matmul", f(*left, k), f(*(below(rng, batch) if right else []), k, *right)


def permutation(rng: Rng) -> Case:
    dims = shape(rng)
    return "permute_dims", f(*dims), [int(axis) for axis in rng.permutation(len(dims))]


def reshaping(rng: Rng) -> Case:
    dims = shape(rng)
    parts = [int(np.prod(dims[:cut])) for cut in (rng.integers(len(dims) + 1),)]
    return "reshape", f(*dims), (parts[0], -1) if rng.random() < 0.5 else (int(np.prod(dims)) // parts[0], parts[0])


def joining(rng: Rng) -> Case:
    dims = shape(rng)
    axis = axis_of(rng, dims)
    parts = tuple(
        f(*[int(rng.integers(1, 4)) if n == axis % len(dims) else d for n, d in enumerate(dims)]) for _ in "abc"
    )
    return "concat", parts, {"axis": axis}


def cutting(rng: Rng) -> Case:
    dims = shape(rng)
    axis = axis_of(rng, dims)
    places = sorted({int(place) for place in rng.integers(0, dims[axis] + 1, 2)})
    return "split", f(*dims), places, axis


def repeating(rng: Rng) -> Case:
    dims = shape(rng)
    if rng.random() < 0.5:
        return "tile", f(*dims), [int(n) for n in rng.integers(1, 4, rng.integers(1, 5))]
    return "repeat", f(*dims), int(rng.integers(1, 4)), axis_of(rng, dims)


def slicing(rng: Rng) -> Case:
    dims = shape(rng)
    axes = axes_of(rng, dims)
    begin = [int(rng.integers(-dims[axis], dims[axis])) for axis in axes]
    end = [int(rng.integers(-dims[axis], dims[axis] + 3)) for axis in axes]
    steps = [pick(rng, 1, 1, 2, 3) for _ in axes]
    return "strided_slice", f(*dims), axes, begin, end, steps


def taking(rng: Rng) -> Case:
    dims = shape(rng)
    axis = axis_of(rng, dims)
    return "take", f(*dims), i(*shape(rng, 0, 2), high=dims[axis]), axis


def sorting(rng: Rng) -> Case:
    dims = shape(rng, size=7)
    keywords = {"axis": axis_of(rng, dims), "descending": bool(rng.integers(2))}
    return pick(rng, "sort", "argsort"), i(*dims, high=4), keywords


def greatest(rng: Rng) -> Case:
    dims = shape(rng, size=7)
    axis = axis_of(rng, dims)
    return "topk", f(*dims), {"k": int(rng.integers(1, dims[axis] + 1)), "axis": axis, "largest": bool(rng.integers(2))}


def scattering(rng: Rng) -> Case:
    dims = shape(rng, 1, 3)
    axis = axis_of(rng, dims)
    places = [
        int(rng.integers(1, dim + 1)) if n != axis % len(dims) else int(rng.integers(1, 6))
        for n, dim in enumerate(dims)
    ]
    reduction = pick(rng, "update", "add", "mul", "mean", "max", "min")
    indices = i(*places, low=-dims[axis], high=dims[axis])
    return "scatter_elements", f(*dims), indices, f(*places), {"axis": axis, "reduction": reduction}


def padding(rng: Rng) -> Case:
    dims = [int(dim) for dim in rng.integers(3, 6, rng.integers(1, 4))]
    widths = [int(width) for width in rng.integers(0, 3, 2 * len(dims))]
    return (
        "nn.pad",
        f(*dims),
        widths,
        {"pad_mode": pick(rng, "constant", "reflect", "replicate", "circular"), "pad_value": 2.0},
    )


def softmax(rng: Rng) -> Case:
    dims = shape(rng)
    return pick(rng, "nn.softmax", "nn.log_softmax"), f(*dims), axis_of(rng, dims)


def normalization(rng: Rng) -> Case:
    dims = shape(rng, 2, 4, 6)
    last = dims[-int(rng.integers(1, len(dims))) :]
    axes = list(range(-len(last), 0))
    return "nn.layer_norm", f(*dims), f(*last), f(*last), {"axes": axes}


def convolution(rng: Rng) -> Case:
    groups = pick(rng, 1, 1, 2)
    batch, inputs, outputs = (int(n) for n in rng.integers(1, 3, 3))
    window, sizes = [int(n) for n in rng.integers(1, 4, 2)], [int(n) for n in rng.integers(6, 9, 2)]
    keywords = {
        "strides": [int(n) for n in rng.integers(1, 3, 2)],
        "padding": [int(n) for n in rng.integers(0, 3, 4)],
        "dilation": [int(n) for n in rng.integers(1, 3, 2)],
        "groups": groups,
    }
    if rng.random() < 0.5:
        layouts = {"data_layout": "NHWC", "kernel_layout": "HWIO", "out_layout": pick(rng, "NHWC", "NCHW")}
        data, kernel = f(batch, *sizes, inputs * groups), f(*window, inputs, outputs * groups)
        return "nn.conv2d", data, kernel, {**keywords, **layouts}
    return "nn.conv2d", f(batch, inputs * groups, *sizes), f(outputs * groups, inputs, *window), keywords


def pooling(rng: Rng) -> Case:
    keywords = {
        "strides": [int(n) for n in rng.integers(1, 3, 2)],
        "padding": [int(n) for n in rng.integers(0, 2, 4)],
        "ceil_mode": bool(rng.integers(2)),
    }
    window = [int(n) for n in rng.integers(2, 4, 2)]
    name = pick(rng, "nn.max_pool2d", "nn.avg_pool2d")
    return name, f(1, 2, *(int(n) for n in rng.integers(4, 8, 2))), window, keywords


def scaling(rng: Rng) -> Case:
    size = tuple(int(n) for n in rng.integers(1, 7, 2))
    modes = ("half_pixel", "align_corners", "pytorch_half_pixel")
    keywords = {"method": pick(rng, "linear", "cubic"), "coordinate_transformation_mode": pick(rng, *modes)}
    return "image.resize2d", f(1, 1, *(int(n) for n in rng.integers(2, 6, 2))), size, keywords


GENERATORS = [
    unary, binary, choose, reduction, arg_reduction, product, permutation, reshaping, joining, cutting, repeating, slicing,
    taking, sorting, greatest, scattering, padding, softmax, normalization, convolution, pooling, scaling,
]  # fmt: skip


@pytest.mark.parametrize("generate", GENERATORS, ids=lambda generate: generate.__name__)
def test_a_random_call_agrees_with_the_oracle(generate: Callable[[Rng], Case], random: Rng) -> None:
    for _ in range(DRAWS):
        case = generate(random)
        print(case[0], [getattr(arg, "shape", arg) for arg in case[1:]])
        check(case, random)


def test_random_calls_agree_with_the_oracle_when_compiled(random: Rng) -> None:
    cases = [generate(random) for generate in GENERATORS[:: 1 if "TVMS_FUZZ" in os.environ else 4]]
    print([(case[0], [getattr(arg, "shape", arg) for arg in case[1:]]) for case in cases])
    check_compiled(cases, random)
