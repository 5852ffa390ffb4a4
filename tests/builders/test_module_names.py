"""Modules that programs written for TVM import, and names that are left out with a reason."""

from __future__ import annotations

from importlib import import_module

import pytest
import tvms
from tvms import relax, tir
from tvms.ir.aliases import NAMESPACES, PARTS
from tvms.ir.left_out import LEFT_OUT
from tvms.ir.passes.transform import passes


@pytest.mark.parametrize("name", [f"{package}.{name}" for package, names in PARTS.items() for name in names.split()])
def test_a_module_has_the_names_of_its_package(name: str) -> None:
    package, _, module = name.rpartition(".")
    assert import_module(name) is import_module(package)
    assert getattr(import_module(package), module) is import_module(name)  # it hides no function of that name


@pytest.mark.parametrize("name", NAMESPACES)
def test_groups_of_operators_are_modules(name: str) -> None:
    module = import_module(f"tvms.relax.op.{name}")
    assert module is getattr(relax.op, name) is import_module(f"tvms.relax.op.{name}.{name}")
    assert all(callable(getattr(module, member)) for member in dir(module))


def test_importing_a_module_of_operators_keeps_the_functions_of_the_package() -> None:
    from tvms.relax.op.binary import add
    from tvms.relax.op.nn import relu

    x = relax.Var("x", relax.TensorStructInfo((2,), "float32"))
    assert str(relu(add(x, x))) == "R.nn.relu(R.add(x, x))"
    assert callable(relax.op.sort)


def test_small_names() -> None:
    assert tir.CallEffectKind.Pure == 1
    assert str(tir.get_vscale_expr("float32")) == "T.vscale() * 4"
    assert str(tir.call_tir(tvms.GlobalVar("f"), 1)) == "f(1)"
    assert isinstance(relax.VarBinding(relax.Var("x"), relax.Var("y")), relax.Binding)
    assert str(tvms.target.create("llvm")) == "llvm"
    assert str(tvms.target.cuda(arch="sm_90")) == "cuda -arch=sm_90"
    assert tvms.ir.CallingConv.C_PACKED_FUNC == 1


@pytest.mark.parametrize(
    ("module", "name", "reason"),
    [
        ("tir.transform", "ThreadSync", "this is a part of 'tvms.compile', without a pass of its own; 'tvms opt --list' shows the passes, and docs/lowering.md the steps"),
        ("te", "create_schedule", "TVM removed schedules of tensor expressions; use te.create_prim_func and tvms.Schedule"),
        ("topi.nn", "lstm", "TVM cannot lower it; import the model with tvms.relax.frontend, or write the loop with R.call_tir"),
        ("ir", "make_node", "attributes of a node are its fields: read call.attrs, and pass keywords to the operator"),
        ("relax.testing", "Linear", "write modules with relax.frontend.nn, which has Module, Parameter, Linear, ReLU and others"),
    ],
)  # fmt: skip
def test_names_left_out_say_why(module: str, name: str, reason: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(import_module(f"tvms.{module}"), name)
    assert str(caught.value) == f"module 'tvms.{module}' has no attribute '{name}': {reason}"


def test_no_pass_is_left_out() -> None:
    import_module("tvms.tir.transform")
    hidden = [name for name in LEFT_OUT if ".transform." in name and name.rpartition(".")[2] in passes()]
    assert not hidden, f"these passes exist, but their names say that they do not: {hidden}"
