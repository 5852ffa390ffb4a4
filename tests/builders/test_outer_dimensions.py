"""Functions of tensors that mention dimensions of the caller instead of those of their operands."""

from __future__ import annotations

import numpy as np
import tvms
from tvms import relax, te, tir


def test_a_dimension_of_the_caller_is_passed_as_an_argument() -> None:
    n, m = tir.Var("n", "int64"), tir.Var("m", "int64")
    x, y = (relax.Var(name, relax.TensorStructInfo((size,), "float32")) for name, size in (("x", n), ("y", m)))

    def concat(a: te.Tensor, b: te.Tensor) -> te.Tensor:
        return te.compute((n + m,), lambda i: te.if_then_else(i < n, a[i], b[i - n]), "joined")

    builder = relax.BlockBuilder()
    with builder.function("main", [x, y]):
        builder.emit_func_output(builder.emit_te(concat, x, y))
    module = builder.get()
    assert not tvms.verify(module)
    assert tvms.structural_equal(tvms.parse(module.script()), module)
    first, second = np.float32([1, 2]), np.float32([3, 4, 5])
    np.testing.assert_array_equal(tvms.compile(module)["main"](first, second), [1, 2, 3, 4, 5])
