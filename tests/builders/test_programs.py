"""Programs written for TVM, with other imports, print what TVM prints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvms
from tvms import relax, te, topi
from tvms.relax.frontend import nn

TEXTS = Path(__file__).parents[1] / "cases" / "printed_by_tvm"


@te.symbolic_equality()
def te_matmul(A: te.Tensor, B: te.Tensor) -> te.Tensor:
    assert A.shape[1] == B.shape[0]
    n, m = A.shape[0], B.shape[1]
    k = te.reduce_axis((0, A.shape[1]), name="k")
    return te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="matmul")


def te_relu(A: te.Tensor) -> te.Tensor:
    return te.compute(A.shape, lambda *i: te.max(A(*i), 0), name="relu")


def matmul() -> Any:
    A, B = (te.placeholder((128, 128), name=name, dtype="float32") for name in "AB")
    return te.create_prim_func([A, B, te_matmul(A, B)])


def matmul_relu() -> Any:
    A, B = (te.placeholder((128, 128), name=name, dtype="float32") for name in "AB")
    return te.create_prim_func([A, B, te_relu(te_matmul(A, B))])


def emit_te() -> Any:
    A, B = (te.placeholder((128, 128), name=name, dtype="float32") for name in "AB")
    bb = relax.BlockBuilder()
    with bb.function("main"):
        with bb.dataflow():
            C = bb.emit_te(te_matmul, A, B)
            D = bb.emit_te(te_relu, C)
            R = bb.emit_output(D)
        bb.emit_func_output(R, params=[A, B])
    return bb.get()


def parameter(*shape: int) -> Any:
    return relax.const(np.ones(shape, "float32"), relax.DynTensorType(len(shape), "float32"))


def translated(shape: tuple[int, ...], layers: list[Callable[[Any, Any], Any]]) -> Any:
    """A function with one input, through `layers` one after another, as an importer emits it."""
    bb = relax.BlockBuilder()
    value = x = relax.Var("x", relax.TensorStructInfo(shape, "float32"))
    with bb.function("main"):
        with bb.dataflow():
            for layer in layers:
                value = layer(bb, value)
            bb.emit_output(value)
        bb.emit_func_output(value, [x])
    return bb.get()


def from_fx() -> Any:
    weight = parameter(128, 128)
    return translated((1, 128), [lambda bb, x: bb.emit_te(te_matmul, x, weight), lambda bb, x: bb.emit_te(te_relu, x)])


def mlp_te() -> Any:
    def linear(inputs: int, outputs: int) -> Callable[[Any, Any], Any]:
        w, b = parameter(outputs, inputs), parameter(outputs)
        return lambda bb, x: bb.emit_te(topi.add, bb.emit_te(topi.nn.dense, x, w), b)

    return translated((1, 784), [linear(784, 128), lambda bb, x: bb.emit_te(te_relu, x), linear(128, 10)])


def mlp_operators() -> Any:
    def linear(inputs: int, outputs: int) -> Callable[[Any, Any], Any]:
        return lambda bb, x: bb.emit(relax.op.linear(x, parameter(outputs, inputs), parameter(outputs)))

    return translated((1, 784), [linear(784, 128), lambda bb, x: bb.emit(relax.op.nn.relu(x)), linear(128, 10)])


class RelaxModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(784, 256)
        self.relu1 = nn.ReLU()
        self.fc2 = nn.Linear(256, 10, bias=False)

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        x = self.fc1(x)
        x = self.relu1(x)
        return self.fc2(x)


def two_layers() -> Any:
    mod, params = RelaxModel().export_tvm({"forward": {"x": nn.spec.Tensor((1, 784), "float32")}})
    assert [(name, p.shape, p.dtype) for name, p in params] == [
        ("fc1.weight", [256, 784], "float32"),
        ("fc1.bias", [256], "float32"),
        ("fc2.weight", [10, 256], "float32"),
    ]
    return mod


PROGRAMS = [matmul, matmul_relu, emit_te, from_fx, mlp_te, mlp_operators, two_layers]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_program_prints_what_tvm_prints(program: Callable[[], Any]) -> None:
    expected = (TEXTS / f"{program.__name__}.tvms").read_text(encoding="utf-8")
    assert program().script("tvm-0.21") + "\n" == expected


@pytest.mark.parametrize("program", [emit_te, mlp_te, mlp_operators, two_layers], ids=lambda program: program.__name__)
def test_what_a_program_builds_is_read_again(program: Callable[[], Any]) -> None:
    from tvms.dsl.printer import script_with_constants

    module = program()
    for dialect in ("tvms", "tvm-0.21", "tvm-0.27"):
        text, constants = script_with_constants(module, dialect)
        again = tvms.parse(text, constants={name: constant.data for name, constant in constants.items()})
        assert tvms.structural_equal(again, module)
