"""Gradients are what small changes say: of every operator that has one, and of whole functions; what has none is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from tvms import relax
from tvms.ir.ops.registry import relax_ops
from tvms.ir.passes.gradient import find_rule
from tvms.ir.passes.transform import get_pass
from tvms.relax.analysis import udchain

SHAPES = {
    "x": (2, 3),
    "y": (2, 3),
    "v": (3,),
    "w": (3, 4),
    "b": (2, 2, 3),
    "i": (1, 2, 5, 4),
    "k": (3, 2, 3, 2),
    "j": (2, 4, 5, 4),
    "u": (6, 2, 3, 2),
}
"""Parameters of the functions; each uses some."""

EXPRESSIONS = """
R.add(x, v)
R.subtract(v, x)
R.multiply(x, R.multiply(y, v))
R.divide(x, R.exp(v))
R.power(R.exp(x), y)
R.maximum(x, y)
R.minimum(v, y)
R.negative(x)
R.abs(x)
R.exp(x)
R.log(R.exp(R.tanh(x)))
R.sqrt(R.exp(x))
R.rsqrt(R.exp(x))
R.square(x)
R.sin(x)
R.cos(x)
R.tan(R.tanh(x))
R.sinh(x)
R.cosh(x)
R.tanh(x)
R.atan(x)
R.sigmoid(x)
R.erf(x)
R.sum(x, axis=[1])
R.sum(b, axis=[0, -1], keepdims=True)
R.mean(b, axis=[1])
R.mean(x)
R.variance(b, axis=[0, 2])
R.max(x, axis=[1], keepdims=True)
R.min(b, axis=[2])
R.matmul(x, w)
R.matmul(b, w)
R.matmul(v, w)
R.matmul(x, v)
R.matmul(v, v)
R.permute_dims(b, axes=[1, 2, 0])
R.permute_dims(x)
R.reshape(b, R.shape([3, 4]))
R.flatten(x)
R.expand_dims(x, axis=[0, 2])
R.squeeze(R.expand_dims(x, axis=[1]), axis=[1])
R.broadcast_to(v, R.shape([4, 3]))
R.collapse_sum_to(b, R.shape([2, 1]))
R.concat((x, R.exp(y), x), axis=1)
R.concat(R.split(x, 3, axis=1), axis=0)
R.split(b, [1], axis=2)[1]
R.where(R.less(x, y), R.exp(x), R.multiply(v, y))
R.take(x, R.const([1, 0, 1], "int64"), axis=1)
R.cumsum(x, axis=1)
R.cumsum(x)
R.tril(x)
R.triu(b, R.prim_value(1))
R.add(R.floor(x), R.multiply(R.grad.no_grad(R.floor(y)), v))
R.add(R.grad.start_checkpoint(x), R.grad.end_checkpoint(y))
R.astype(R.astype(x, "float64"), "float64")
R.add(x, R.add(R.zeros(R.shape([3]), "float64"), R.ones_like(v)))
R.nn.relu(x)
R.nn.leakyrelu(x, alpha=0.1)
R.nn.silu(x)
R.nn.gelu(x)
R.nn.softplus(x)
R.nn.softmax(x, axis=0)
R.nn.log_softmax(x)
R.nn.cross_entropy_with_logits(x, y)
R.nn.nll_loss(R.nn.log_softmax(x), R.const([2, 0], "int64"))
R.nn.conv2d(i, k)
R.nn.conv2d(i, k, strides=[2, 1], padding=[1, 0, 2, 1], dilation=[1, 2])
R.nn.conv2d(j, u, groups=2)
R.nn.conv2d(j, u, strides=[2, 1], padding=[1, 0, 2, 1], dilation=[1, 2], groups=2)
R.nn.max_pool2d(i, pool_size=[2, 2], strides=[2, 1], padding=[1, 0, 0, 1])
R.nn.avg_pool2d(i, pool_size=[3, 2], padding=[1, 1, 1, 1], count_include_pad=True)
""".strip().splitlines()


def program(expression: str) -> tuple[Any, list[Any]]:
    """A module whose function returns the sum of an expression, each element weighed; and arguments for it."""
    params = ", ".join(f'{name}: R.Tensor({shape}, "float64")' for name, shape in SHAPES.items())
    head = f"I.ir_module Module:\n    R.function main({params}"
    bare = f"{head}):\n        value = {expression}\n        return value\n"
    info = get_pass("Normalize")(tvms.parse(bare))["main"].body.body.struct_info
    shape = tuple(size.value for size in info.shape.values)
    weighed = f"value = {expression}\n        total = R.sum(R.multiply(value, weights))\n        return total\n"
    text = f'{head}, weights: R.Tensor({shape}, "float64")) -> R.Tensor((), "float64"):\n        {weighed}'
    random = np.random.default_rng(0)
    args = [
        np.asarray(random.uniform(0.1, 1.5, size) * random.choice([-1, 1], size)) for size in (*SHAPES.values(), shape)
    ]
    return get_pass("Normalize")(tvms.parse(text)), args


def numeric(function: Any, args: list[Any], index: int) -> Any:
    """The gradient by central differences."""
    result = np.zeros(args[index].shape)
    for place in np.ndindex(*args[index].shape):
        values = []
        for step in (1e-5, -1e-5):
            moved = [arg.copy() for arg in args]
            moved[index][place] += step
            values.append(float(function(moved)))
        result[place] = (values[0] - values[1]) / 2e-5
    return result


@pytest.mark.deep(4)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_gradient_is_what_small_changes_say(expression: str) -> None:
    module, args = program(expression)
    adjoint = get_pass("Gradient", "main")(module)
    assert not tvms.verify(adjoint)
    assert tvms.structural_equal(tvms.parse(adjoint.script()), adjoint)
    value, gradients = tvms.interpret(adjoint, "main_adjoint", args)
    np.testing.assert_allclose(value, tvms.interpret(module, "main", args), rtol=1e-12)
    for index, name in enumerate(SHAPES):
        if f"{name})" in expression or f"{name}," in expression:
            wanted = numeric(lambda moved: tvms.interpret(module, "main", moved), args, index)
            np.testing.assert_allclose(gradients[index], wanted, rtol=1e-5, atol=1e-6, err_msg=name)
        else:
            assert not gradients[index].any()


def test_every_rule_is_tried() -> None:
    text = " ".join(EXPRESSIONS)
    rules = {name for name in relax_ops() if find_rule(name) is not None}
    constant = {"ceil", "round", "sign", "full", "full_like", "zeros_like", "ones", "arange"}
    constant |= {"equal", "not_equal", "less_equal", "greater", "greater_equal"}
    assert {name.removeprefix("relax.") for name in rules if f"R.{name[6:]}(" not in text} == constant


CHAIN = """\
I.ir_module Module:
    R.function main(x: R.Tensor((2,), "float32"), n: R.Tensor((2,), "int32")) -> R.Tuple(R.Tensor((2,), "float32"), R.Tensor((), "float32")):
        with R.dataflow():
            lv = R.exp(x)
            pair = (lv, n)
            lv1 = pair[0]
            lv2 = R.nn.prelu(lv1, x, axis=0)
            gv = R.sum(lv1)
            gv1 = R.sum(lv2)
            R.output(lv, gv, gv1)
        return (lv, gv)
"""


def test_by_chosen_variables_and_a_chosen_result() -> None:
    module = get_pass("Gradient", "main", ["lv1", "x"], 1)(tvms.parse(CHAIN))
    x = np.array([0.5, -1], "float32")
    (exponential, total), (by_middle, by_input) = tvms.interpret(module, "main_adjoint", [x, np.zeros(2, "int32")])
    np.testing.assert_allclose(exponential, np.exp(x), rtol=1e-6)
    np.testing.assert_allclose(total, np.exp(x).sum(), rtol=1e-6)
    np.testing.assert_array_equal(by_middle, np.ones(2))
    np.testing.assert_allclose(by_input, np.exp(x), rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("other",), "error[E0905]: the module has no graph function 'other'\n  = help: it has main"),
        (("main", "z", 1), "error[E0906]: the function has no variable 'z'\n  = help: it has x, n, lv, pair, lv1, lv2, gv, gv1"),
        (("main", ["x", "x"], 1), "error[E0906]: variable 'x' is given twice\n  = help: give each variable once"),
        (("main", "x", 2), "error[E0906]: the function has no result 2"),
        (("main", "n", 1), "error[E0906]: 'n' is R.Tensor((2,), \"int32\"), which has no gradient"),
        (("main", "x", 0), "error[E0908]: the result to differentiate is R.Tensor((2,), \"float32\"), not a float scalar"),
    ],
)  # fmt: skip
def test_what_cannot_be_differentiated_is_said(options: Any, message: str) -> None:
    with pytest.raises(tvms.TvmsError) as raised:
        get_pass("Gradient", *options)(tvms.parse(CHAIN))
    assert str(raised.value).startswith(message)


def test_an_operator_without_gradient_is_named() -> None:
    with pytest.raises(tvms.TvmsError) as raised:
        get_pass("Gradient", "main", "x", 1)(tvms.parse(CHAIN.replace("return (lv, gv)", "return (lv, gv1)")))
    assert str(raised.value).splitlines()[0] == "error[E0908]: R.nn.prelu has no gradient"


def test_operators_tell_their_gradients() -> None:
    x, y = (relax.Var(name, relax.TensorStructInfo((3, 1 if name == "y" else 4), "float32")) for name in "xy")
    call = relax.op.add(x, y)
    result, given = (relax.Var(name, relax.TensorStructInfo((3, 4), "float32")) for name in "rg")
    own, other = call.op.get_attr("FPrimalGradient")(result, call, given, relax.BlockBuilder())
    assert own is given
    assert str(other) == "R.collapse_sum_to(g, R.shape([3, 1]))"
    compared = relax.op.less(x, y)
    assert [str(part) for part in compared.op.get_attr("FPrimalGradient")(result, compared, given, None)] == [
        "R.grad.no_grad(x)", "R.grad.no_grad(y)",
    ]  # fmt: skip
    parts = relax.op.concat([x, x])
    gradients = parts.op.get_attr("FPrimalGradient")(result, parts, relax.op.concat([x, x]), None)
    assert len(gradients) == 1
    assert gradients[0].struct_info == relax.TupleStructInfo([x.struct_info, x.struct_info])
    assert call.op.has_attr("FInferStructInfo")
    assert call.op.get_attr("FInferStructInfo")(call, None) == call.struct_info
    assert tvms.ir.Op.get("relax.print").get_attr("FPurity") is False
    assert not call.op.has_attr("FNothing")


STAGES = """\
I.ir_module Module:
    R.function main(x: R.Tensor((3,), "float32")) -> R.Tensor((), "float32"):
        with R.dataflow():
            kept = R.exp(x)
            start = R.grad.start_checkpoint(kept)
            inside = R.sin(start)
            result = R.tanh(inside)
            end = R.grad.end_checkpoint(result)
            after = R.exp(end)
            gv = R.sum(after)
            R.output(gv)
        return gv
"""


def test_values_of_a_checkpoint_stage_are_computed_again() -> None:
    module = get_pass("Gradient", "main")(tvms.parse(STAGES))
    assert not tvms.verify(module)
    adjoint: Any = module["main_adjoint"]
    values = {binding.var.name_hint: str(binding.value) for binding in adjoint.body.blocks[0].bindings}
    assert values["inside_cp"] == "R.sin(kept)"
    assert values["result_cp"] == "R.tanh(inside_cp)"
    assert "kept_cp" not in values
    assert "checkpoint" not in " ".join(values.values())
    users = {
        var.name_hint: [user.name_hint for user in found] for var, found in udchain(adjoint.body.blocks[0]).items()
    }
    assert (users["inside"], users["result"]) == (["result"], ["after"])
    x = np.array([0.5, -1, 2], "float32")
    _, (gradient,) = tvms.interpret(module, "main_adjoint", [x])
    unmarked = tvms.parse(
        STAGES.replace("R.grad.start_checkpoint(kept)", "kept").replace("R.grad.end_checkpoint(result)", "result")
    )
    _, (wanted,) = tvms.interpret(get_pass("Gradient", "main")(unmarked), "main_adjoint", [x])
    np.testing.assert_array_equal(gradient, wanted)


def test_gradients_of_tuples_are_bound_field_by_field() -> None:
    text = """\
I.ir_module Module:
    R.function main(pair: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "int32"), R.Tensor("float32", ndim=1))) -> R.Tensor((), "float32"):
        with R.dataflow():
            x = pair[0]
            y = R.exp(x)
            again = pair[0]
            z = R.add(y, again)
            gv = R.sum(z)
            R.output(gv, y)
        return gv
"""
    module = get_pass("Gradient", "main", ["y", "x"])(tvms.parse(text))
    assert not tvms.verify(module)
    x = np.array([0.5, -1], "float32")
    _, (by_y, by_x) = tvms.interpret(module, "main_adjoint", [(x, np.zeros(2, "int32"), x[:1])])
    np.testing.assert_array_equal(by_y, np.ones(2))
    np.testing.assert_allclose(by_x, np.exp(x), rtol=1e-6)
