"""Names of the newest TVM that have another form here."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from tvms import ir, relax, tir
from tvms.relax.frontend import nn

INT64 = ir.PrimType("int64")


def test_kinds_of_expressions() -> None:
    n, x = ir.Var("n", INT64), ir.Var("x", relax.TensorType((4,), "float32"))
    assert isinstance(n, tir.Var)
    assert isinstance(x, relax.Var)
    assert isinstance(ir.Var("p", relax.PrimStructInfo("int32")), tir.Var)
    assert isinstance(n, ir.Var)
    assert isinstance(x, ir.Var)
    assert isinstance(relax.const(1.0), ir.Expr)
    scalar = relax.Var("s", relax.PrimStructInfo("int64"))
    assert [ir.is_prim_expr(value) for value in (n, n + 1, scalar, relax.PrimValue(n), x, relax.const(1.0), 1)] == [
        True, True, True, True, False, False, False,
    ]  # fmt: skip
    assert [ir.is_prim_var(value) for value in (n, n + 1, scalar, relax.PrimValue(n), x)] == [
        True,
        False,
        True,
        False,
        False,
    ]


def test_scalars() -> None:
    n = tir.Var("n", "int64")
    assert relax.prim_value(n).value is n
    assert relax.prim_value(3, "int32").value.dtype == "int32"
    assert relax.prim_value(2.0).value.dtype == "float64"
    with pytest.raises(TypeError, match="expected a number or an expression of the loop level, got Constant"):
        relax.prim_value(relax.const(1.0))


def test_patterns_of_types() -> None:
    x = relax.Var("x", relax.TensorType((4,), "float32"))
    with pytest.raises(AttributeError, match="roi_aling"):
        relax.op.roi_aling  # noqa: B018
    assert not relax.dpl.wildcard().has_ty(relax.TensorType((5,), "float32")).match(x)


def test_operators_on_images_are_operators() -> None:
    assert relax.op.roi_align.operator == "vision.roi_align"
    assert "relax.op.roi_aling" in str(pytest.raises(AttributeError, lambda: relax.op.roi_aling).value)


def test_functions_of_tensors() -> None:
    class Model(nn.Module):
        def forward(self, x: nn.Tensor) -> nn.Tensor:
            steps = nn.op.arange(1, 5, dtype="float32")
            return nn.op.add(nn.op.log(x), nn.op.floor(nn.op.multiply(steps, x)))

    program, _ = Model().export_tvm({"forward": {"x": nn.spec.Tensor((4,), "float32")}})
    x = np.array([1.5, 2.5, 0.7, 3.0], np.float32)
    found = tvms.compile(program)["forward"](x)
    np.testing.assert_allclose(found, np.log(x) + np.floor(np.arange(1, 5, dtype=np.float32) * x), rtol=1e-6)


def test_calls_of_gpu_tests() -> None:
    assert tvms.testing.run_with_gpu_lock(lambda a, b: a - b, 5, b=3) == 2
