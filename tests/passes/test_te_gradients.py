"""Gradients of loop functions that are registered as tensor expressions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from tvms import relax, te
from tvms.ir.passes.transform import get_pass
from tvms.relax.training.utils import register_te_gradient


def scaled(x: Any, y: Any) -> Any:
    return te.compute(x.shape, lambda *at: x[at] * y[at] * te.const(3, "float32"), name="scaled")


@register_te_gradient("test.scaled_gradient")
def scaled_gradient(g: Any, x: Any, y: Any, factor: Any) -> Any:
    return [
        te.compute(x.shape, lambda *at: g[at] * y[at] * factor, name="by_x"),
        te.compute(y.shape, lambda *at: g[at] * x[at] * factor, name="by_y"),
    ]


def program(gradient: str) -> tvms.IRModule:
    n = tvms.tir.Var("n", "int64")
    x, y = (relax.Var(name, relax.TensorStructInfo((n,), "float32")) for name in "xy")
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y]):
        with bb.dataflow():
            kwargs = {"factor": te.const(3, "float32")}
            lv = bb.emit(bb.call_te_with_grad(scaled, x, y, te_grad_name=gradient, te_grad_kwargs=kwargs))
            gv = bb.emit_output(relax.op.sum(lv))
        bb.emit_func_output(gv)
    return bb.get()


def test_the_registered_function_computes_the_gradients() -> None:
    module = program("test.scaled_gradient")
    assert "R.call_tir_with_grad(" in module.script()
    adjoint = get_pass("Gradient", "main")(module)
    assert not tvms.verify(adjoint)
    assert "with_grad" not in str(adjoint["main_adjoint"])
    x, y = np.array([1, 2], "float32"), np.array([-1, 0.5], "float32")
    total, (by_x, by_y) = tvms.interpret(adjoint, "main_adjoint", [x, y])
    np.testing.assert_allclose(total, (3 * x * y).sum())
    np.testing.assert_allclose(by_x, 3 * y)
    np.testing.assert_allclose(by_y, 3 * x)


def test_a_gradient_that_is_not_registered_is_named() -> None:
    with pytest.raises(tvms.TvmsError, match=r"E0908.*the gradient 'test.unknown' is not registered"):
        get_pass("Gradient", "main")(program("test.unknown"))


def test_a_gradient_has_one_result_for_each_argument() -> None:
    def only_one(g: Any, x: Any, y: Any, factor: Any) -> Any:
        return te.compute(x.shape, lambda *at: g[at] * y[at] * factor, name="by_x")

    register_te_gradient("test.only_one", only_one)
    with pytest.raises(tvms.TvmsError, match=r"E0908.*'test.only_one' has 1 results for 2 arguments"):
        get_pass("Gradient", "main")(program("test.only_one"))
