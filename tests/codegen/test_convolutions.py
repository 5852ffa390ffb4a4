"""Convolutions with default schedules: any stride, padding, dilation, groups and layout compute what their sums say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from tvms.ir.passes.legalize_ops import legalize_ops

Array = np.ndarray[Any, Any]

GRAPH = """
I.ir_module Module:
    R.function main(x: R.Tensor({x}, "float32"), w: R.Tensor({w}, "float32")) -> R.Tensor:
        with R.dataflow():
            y = R.nn.conv2d(x, w, {options})
            R.output(y)
        return y
"""


def expected(x: Array, w: Array, stride: int, padding: int, dilation: int, groups: int) -> Array:
    """The convolution of NCHW images, one step of the window at a time, in float64."""
    x = np.pad(x.astype("f8"), ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    outputs, inputs, *window = w.shape
    height, width = ((side - dilation * (k - 1) - 1) // stride + 1 for side, k in zip(x.shape[2:], window, strict=True))
    result = np.zeros((len(x), outputs, height, width))
    for group in range(groups):
        filters = slice(group * outputs // groups, (group + 1) * outputs // groups)
        for i, j in np.ndindex(*window):
            top, left = i * dilation, j * dilation
            part = x[:, group * inputs : (group + 1) * inputs, top:, left:]
            part = part[:, :, : stride * height : stride, : stride * width : stride][:, :, :height, :width]
            result[:, filters] += np.einsum("nchw,oc->nohw", part, w[filters, :, i, j].astype("f8"))
    return result


SHAPES = [
    # images, channels in and out, height, width, window, stride, padding, dilation, groups
    (1, 3, 8, 17, 19, 3, 1, 1, 1, 1),
    (2, 16, 24, 14, 14, 3, 2, 1, 1, 2),
    (1, 5, 40, 31, 29, 7, 2, 3, 1, 1),
    (1, 33, 20, 7, 7, 3, 1, 1, 1, 1),
    (1, 16, 16, 20, 21, 3, 1, 2, 2, 1),
    (1, 32, 64, 28, 28, 1, 2, 0, 1, 1),
    (3, 8, 8, 9, 9, 3, 1, 1, 1, 8),
    (1, 300, 30, 13, 13, 3, 3, 0, 1, 1),
]


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_convolutions_of_any_kind(number: int) -> None:
    images, inputs, outputs, height, width, window, stride, padding, dilation, groups = SHAPES[number]
    random = np.random.default_rng(number)
    x = random.standard_normal((images, inputs, height, width)).astype("f4")
    w = random.standard_normal((outputs, inputs // groups, window, window)).astype("f4")
    options = f"strides=({stride}, {stride}), padding=({padding}, {padding}), dilation=({dilation}, {dilation})"
    text = GRAPH.format(x=x.shape, w=w.shape, options=f"{options}, groups={groups}")
    wanted = expected(x, w, stride, padding, dilation, groups)
    executable = tvms.compile(legalize_ops(tvms.parse(text)), threads=1 + number % 2)
    taken = {decision.rule for decisions in executable.decisions.values() for decision in decisions}
    assert ("rows" if groups == inputs else "convolution") in taken
    result = np.full(wanted.shape, np.nan, "f4")
    executable["conv2d"](x, w, result)
    np.testing.assert_allclose(result, wanted, atol=1e-3)


@pytest.mark.deep(4)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_convolutions_of_unknown_sizes(shape: tuple[int, ...]) -> None:
    """Rows of any length, also none, fill the tiles; the last chunk of columns is shorter."""
    images, inputs, outputs, _, _, window, stride, padding, dilation, groups = shape
    x = f'("n", {inputs}, "h", "w")'
    options = f"strides=({stride}, {stride}), padding=({padding}, {padding}), dilation=({dilation}, {dilation})"
    weight = (outputs, inputs // groups, window, window)
    executable = tvms.compile(tvms.parse(GRAPH.format(x=x, w=weight, options=f"{options}, groups={groups}")))
    taken = {decision.rule for decisions in executable.decisions.values() for decision in decisions}
    assert ("rows" if groups == inputs else "matmul" if window == 1 else "convolution") in taken
    random = np.random.default_rng(window)
    w = random.standard_normal(weight).astype("f4")
    reach = dilation * (window - 1) + 1 - 2 * padding
    for height, width in ((0, 5), (1, 1), (2, 67), (31, 3), (9, 16), (13, 40)):
        size = (images, inputs, max(reach - 1, 0) + height, max(reach - 1, 0) + width)
        x = random.standard_normal(size).astype("f4")
        wanted = expected(x, w, stride, padding, dilation, groups)
        np.testing.assert_allclose(executable["main"](x, w), wanted, atol=1e-3, err_msg=str((size, weight)))


KINDS = {
    "conv1d": ('("n", 11, "w")', (13, 11, 5), "", [(1, 11, 4), (2, 11, 5), (1, 11, 219)]),
    "conv3d": ('("n", 5, "d", "h", "w")', (9, 5, 2, 3, 3), "", [(1, 5, 2, 3, 2), (1, 5, 3, 4, 19), (2, 5, 5, 6, 21)]),
    "conv2d": (
        '("n", "h", "w", 6)', (3, 3, 6, 19), 'data_layout="NHWC", kernel_layout="HWIO"', [(1, 3, 3, 6), (2, 9, 33, 6), (1, 21, 2, 6)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("operator", KINDS)
def test_convolutions_of_unknown_sizes_in_any_layout(operator: str) -> None:
    x, shape, options, sizes = KINDS[operator]
    text = GRAPH.format(x=x, w=shape, options=options).replace("nn.conv2d", f"nn.{operator}").replace(", )", ")")
    module = tvms.parse(text)
    executable = tvms.compile(module, threads=2)
    assert "convolution" in {decision.rule for decisions in executable.decisions.values() for decision in decisions}
    random = np.random.default_rng(0)
    w = random.standard_normal(shape).astype("f4")
    for size in sizes:
        x = random.standard_normal(size).astype("f4")
        expected = tvms.interpret(module, "main", [x, w])
        np.testing.assert_allclose(executable["main"](x, w), expected, atol=1e-4, err_msg=str(size))


NHWC = """
T.prim_func main(X: T.Buffer((2, 12, 11, 10), "float32"), W: T.Buffer({w}, "float32"), Y: T.Buffer((2, 10, 9, 37), "float32")):
    T.func_attr({{"tir.noalias": True}})
    for n, y, x, f, i, j, c in T.grid(2, 10, 9, 37, 3, 3, 10):
        with T.block("conv2d"):
            vn, vy, vx, vf, vi, vj, vc = T.axis.remap("SSSSRRR", [n, y, x, f, i, j, c])
            with T.init():
                Y[vn, vy, vx, vf] = T.float32(0)
            Y[vn, vy, vx, vf] = Y[vn, vy, vx, vf] + X[vn, vy + vi, vx + vj, vc] * W[{index}]
"""


@pytest.mark.parametrize("index", ["vi, vj, vc, vf", "vf, vi, vj, vc", "vf, vc, vi, vj"])
def test_convolutions_with_the_channels_last(index: str) -> None:
    sizes = {"vi": 3, "vj": 3, "vc": 10, "vf": 37}
    order = index.split(", ")
    text = NHWC.format(w=tuple(sizes[name] for name in order), index=index)
    executable = tvms.compile(tvms.parse(text))
    assert [decision.rule for decision in executable.decisions["main"]] == ["convolution"]
    random = np.random.default_rng(0)
    x, w = random.standard_normal((2, 12, 11, 10)).astype("f4"), random.standard_normal((37, 10, 3, 3)).astype("f4")
    result = np.full((2, 10, 9, 37), np.nan, "f4")
    filters = w.transpose([("vf", "vc", "vi", "vj").index(name) for name in order])
    executable["main"](x, np.ascontiguousarray(filters), result)
    wanted = expected(x.transpose(0, 3, 1, 2), w, 1, 0, 1, 1).transpose(0, 2, 3, 1)
    np.testing.assert_allclose(result, wanted, atol=1e-4)


FUSED = """
T.prim_func main(A: T.Buffer((2, {m}, 20), "float32"), B: T.Buffer((20, {n}), "float32"), V: T.Buffer({v}, "float32"), D: T.Buffer((2, {m}, {n}), "float32")):
    C = T.alloc_buffer((2, {m}, {n}), "float32")
    X = T.alloc_buffer((2, {m}, {n}), "float32")
    for h, i, j, k in T.grid(2, {m}, {n}, 20):
        with T.block("matmul"):
            vh, vi, vj, vk = T.axis.remap("SSSR", [h, i, j, k])
            with T.init():
                C[vh, vi, vj] = T.float32(0)
            C[vh, vi, vj] = C[vh, vi, vj] + A[vh, vi, vk] * B[vk, vj]
    for h, i, j in T.grid(2, {m}, {n}):
        with T.block("add"):
            vh, vi, vj = T.axis.remap("SSS", [h, i, j])
            X[vh, vi, vj] = C[vh, vi, vj] + V[{at}]
    for h, i, j in T.grid(2, {m}, {n}):
        with T.block("bend"):
            vh, vi, vj = T.axis.remap("SSS", [h, i, j])
            D[vh, vi, vj] = {value}
"""
SQUASHED = "X[vh, vi, vj] / (T.float32(1) + T.exp(T.float32(0) - X[vh, vi, vj]))"
PLACED = 'X[vh, vi, vj] * T.Cast("float32", vi)'


CASES = [
    (29, 37, "vj", SQUASHED),
    (12, 32, "vh, vi, vj", "T.max(X[vh, vi, vj], T.float32(0))"),
    (5, 70, "vj", SQUASHED),
    (5, 40, "vj", PLACED),
]


@pytest.mark.parametrize(("m", "n", "at", "value"), CASES)
def test_what_follows_a_product_is_computed_on_its_tiles(
    m: int, n: int, at: str, value: str, agree: Any, numbers: Any
) -> None:
    shape = (n,) if at == "vj" else (2, m, n)
    text = FUSED.format(m=m, n=n, v=shape if len(shape) > 1 else f"({n},)", at=at, value=value)
    taken = [str(decision) for decision in tvms.compile(tvms.parse(text)).decisions["main"] if decision.rule]
    whole = "block 'matmul, bend': matmul" if "max" in value else "block 'matmul, add, bend': matmul"
    assert taken[0] == ("block 'matmul': matmul" if value is PLACED else whole)
    arrays = numbers((2, m, 20), "float32"), numbers((20, n), "float32"), numbers(shape, "float32")
    agree(text, *arrays, np.empty((2, m, n), "f4"), ulps=200)


def test_a_convolution_whose_length_has_no_parts() -> None:
    text = """
T.prim_func main(X: T.Buffer((20, 4009), "float32"), W: T.Buffer((9, 20, 7), "float32"), Y: T.Buffer((9, 4003), "float32")):
    T.func_attr({"tir.noalias": True})
    for f, x, c, i in T.grid(9, 4003, 20, 7):
        with T.block("conv1d"):
            vf, vx, vc, vi = T.axis.remap("SSRR", [f, x, c, i])
            with T.init():
                Y[vf, vx] = T.float32(0)
            Y[vf, vx] = Y[vf, vx] + X[vc, vx + vi] * W[vf, vc, vi]
"""
    executable = tvms.compile(tvms.parse(text))
    assert [decision.rule for decision in executable.decisions["main"]] == ["convolution"]
    random = np.random.default_rng(0)
    x, w = random.standard_normal((20, 4009)).astype("f4"), random.standard_normal((9, 20, 7)).astype("f4")
    result = np.full((9, 4003), np.nan, "f4")
    executable["main"](x, w, result)
    np.testing.assert_allclose(result, expected(x[None, :, None], w[:, :, None], 1, 0, 1, 1)[0, :, 0], atol=1e-4)


def test_a_convolution_says_why_it_declines() -> None:
    text = NHWC.format(w=(37, 3, 3, 10), index="vf, vi, vj, vc").replace("X[vn, vy + vi,", "X[vn, (vy + vi) // 2,")
    (decision, *_) = tvms.compile(tvms.parse(text)).decisions["main"]
    assert ("convolution", "an index of 'X' is not a sum of axes") in decision.declined


@pytest.mark.parametrize("operator", ["conv1d", "conv2d", "conv3d", "conv1d_transpose", "conv2d_transpose"])
def test_zero_times_infinity_is_nan_in_convolutions(operator: str) -> None:
    shape = (1, 1, *(3,) * int(operator[4]))
    source = GRAPH.format(x=shape, w=(1, 1, *(1,) * len(shape[2:])), options="").replace("nn.conv2d", f"nn.{operator}")
    mod = tvms.parse(source.replace(", )", ")"))
    x, w = np.full(shape, np.inf, "float32"), np.zeros((1,) * len(shape), "float32")
    for found in (tvms.ir.interp.run(mod, "main", [x, w]), tvms.compile(mod)["main"](x, w)):
        assert np.isnan(np.asarray(found)).all()


@pytest.mark.parametrize("tail", ["a", "R.nn.relu(R.add(a, b))"])
def test_pointwise_convolutions_of_unknown_sizes_are_one_product(tail: str) -> None:
    text = f"""#tvms 1
R.function main(x: R.Tensor(("n", 12, "h", "w"), "float32"), k: R.Tensor((37, 12, 1, 1), "float32"), b: R.Tensor((37, 1, 1), "float32")):
    with R.dataflow():
        a = R.nn.conv2d(x, k)
        r = {tail}
        R.output(r)
    return r
"""
    module = tvms.parse(text)
    executable = tvms.compile(module)
    (kernel,) = executable.decisions.keys() - {"main"}
    assert [decision.rule for decision in executable.decisions[kernel]] == ["matmul"]
    random = np.random.default_rng(5)
    k, b = random.standard_normal((37, 12, 1, 1), "f4"), random.standard_normal((37, 1, 1), "f4")
    for shape in ((1, 12, 5, 7), (2, 12, 1, 33), (3, 12, 16, 16), (1, 12, 0, 4)):
        x = random.standard_normal(shape, "f4")
        expected = tvms.interpret(module, "main", [x, k, b])
        np.testing.assert_allclose(executable["main"](x, k, b), expected, rtol=1e-5, atol=1e-5)
