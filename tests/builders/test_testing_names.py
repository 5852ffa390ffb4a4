"""`tvms.relax.testing` and `tvms.topi.testing`: helpers for tests of programs, under TVM's names."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import tvms
from tvms import relax
from tvms.relax.testing import nn, runtime_builtin, vm
from tvms.topi import testing as topi_testing

SEED = random.randrange(2**32)


class Scaled(nn.Module):
    define_subroutine = True

    def __init__(self) -> None:
        self.scale = nn.Parameter((4,), name="scale")
        self.activation = nn.ReLU()

    def forward(self, input: Any) -> Any:
        return self.activation(relax.op.multiply(input, self.scale))


def test_a_module_of_graph_values_is_a_subroutine() -> None:
    builder = relax.BlockBuilder()
    model, data = Scaled(), nn.Placeholder((2, 4), name="data")
    with builder.function("main", [data, *model.parameters()]):
        result = model(model(data))
        assert isinstance(result, relax.Var)
        builder.emit_func_output(result)
    module = builder.get()
    assert sorted(module.functions) == ["main", "relu", "scaled"]
    x, scale = np.float32([[-1, 2, -3, 4]] * 2), np.float32([1, 2, 3, -4])
    expected = np.maximum(np.maximum(x * scale, 0) * scale, 0)
    np.testing.assert_array_equal(tvms.compile(module)["main"](x, scale), expected)


def test_modules_of_graph_values_compute_a_network() -> None:
    print(f"TVMS_SEED={SEED}")
    builder = relax.BlockBuilder()
    with builder.function("main"):
        model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2, bias=False), nn.LogSoftmax())
        data = nn.Placeholder((5, 4), name="data")
        with builder.dataflow():
            output = builder.emit_output(model(data))
        builder.emit_func_output(output, [data, *model.parameters()])
    module = builder.get()
    zeros = nn.init_params(module)
    assert [value.shape for value in zeros] == [(4, 3), (3,), (3, 2)]
    numbers = np.random.default_rng(SEED)
    x, w, b, v = (numbers.standard_normal(shape).astype("float32") for shape in ((5, 4), (4, 3), (3,), (3, 2)))
    expected = topi_testing.log_softmax_python(np.maximum(x @ w + b, 0) @ v)
    np.testing.assert_allclose(tvms.compile(module)["main"](x, w, b, v), expected, rtol=1e-4, atol=1e-5)


def test_checkpoints_do_not_change_the_result() -> None:
    builder = relax.BlockBuilder()
    x = nn.Placeholder((3,), name="x")
    steps = [lambda value: nn.emit(relax.op.exp(value)), lambda value: nn.emit(relax.op.sin(value))] * 2
    with builder.function("main", [x]):
        with builder.dataflow():
            output = builder.emit_output(nn.emit_checkpoint_sequential(steps, 2, x))
        builder.emit_func_output(output)
    given = np.array([0, 0.5, 1], "float32")
    found = tvms.compile(builder.get())["main"](given)
    np.testing.assert_allclose(found, np.sin(np.exp(np.sin(np.exp(given)))), rtol=1e-5)


def test_a_shape_that_is_not_a_sequence_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^the shape is a list or a tuple, not 3$"):
        nn.Placeholder(3)  # type: ignore[arg-type]


def test_a_saved_function_is_checked() -> None:
    module = tvms.parse(
        'R.function main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):\n'
        '    y = R.call_pure_packed("test.vm.mul", x, x, sinfo_args=(R.Tensor((2,), "float32"),))\n'
        "    return y\n"
    )
    machine = relax.VirtualMachine(tvms.compile(module), tvms.cpu())
    given = np.array([2, 3], "float32")
    np.testing.assert_array_equal(vm.check_saved_func(machine, "main", given), [4, 9])
    assert runtime_builtin.MatchShapeCode.ASSERT_EQUAL_TO_LOAD == 3


SLICES: list[tuple[dict[str, Any], Any]] = [
    ({"begin": [1, 0], "end": [3, 4], "strides": [1, 2]}, np.s_[1:3, 0:4:2]),
    ({"begin": [2], "end": [0], "strides": [-1]}, np.s_[2:0:-1]),
    ({"begin": [1], "end": [2], "axes": [1]}, np.s_[:, 1:2]),
    ({"begin": [0, 1], "end": [2, -1], "slice_mode": "size"}, np.s_[0:2, 1:]),
]


@pytest.mark.parametrize(("options", "index"), SLICES)
def test_a_strided_slice_is_numpys(options: dict[str, Any], index: Any) -> None:
    data = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(topi_testing.strided_slice_python(data, **options), data[index])


def test_oracles_agree_with_the_operators() -> None:
    print(f"TVMS_SEED={SEED}")
    numbers = np.random.default_rng(SEED)
    x, y, g = (numbers.standard_normal(shape).astype("float32") for shape in ((2, 3, 4), (2, 5, 4), (4,)))

    def run(expr: relax.Expr, *args: Any) -> Any:
        builder = relax.BlockBuilder()
        with builder.function("main", [var for var in (a, b, c) if var in relax.analysis.free_vars(expr)]):
            builder.emit_func_output(builder.emit(expr))
        return tvms.compile(builder.get())["main"](*args)

    a, b, c = (relax.Var(n, relax.TensorStructInfo(v.shape, "float32")) for n, v in (("a", x), ("b", y), ("c", g)))
    cases = [
        (relax.op.nn.softmax(a), [x], topi_testing.softmax_python(x)),
        (relax.op.nn.rms_norm(a, c, axes=[-1], epsilon=1e-5), [x, g], topi_testing.rms_norm_python(x, g, -1)),
        (relax.op.matmul(a, relax.op.permute_dims(b, [0, 2, 1])), [x, y], topi_testing.batch_matmul(x, y)),
    ]
    for expr, args, expected in cases:
        np.testing.assert_allclose(run(expr, *args), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        topi_testing.dense(x[0], y[0], g[:3], use_bias=False, use_relu=True), (x[0] @ y[0].T).clip(0)
    )
    np.testing.assert_allclose(
        topi_testing.layer_norm_python(x, g, None, -1),
        (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * g,
        rtol=1e-5,
    )
