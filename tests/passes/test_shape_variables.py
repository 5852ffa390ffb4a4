"""Variables of shapes in types: passes that replace such a variable keep the bindings of these types."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from tvms.ir.passes.transform import get_pass
from tvms.ir.verify import verify

PASSES = (
    "FoldConstant",
    "CanonicalizeBindings",
    "EliminateCommonSubexpr",
    "DeadCodeElimination",
    "LegalizeOps",
    "ToNonDataflow",
    "Normalize",
)
LINES = {
    "a value": 'z: R.Tensor(u, dtype="float32") = R.reshape(y, u)',
    "a match_cast": 'w = R.reshape(y, u)\n        z = R.match_cast(w, R.Tensor(u, dtype="float32"))',
    "two variables": 'w: R.Tensor(u, dtype="float32") = R.zeros(u, "float32")\n        z: R.Tensor(u, dtype="float32") = R.add(w, R.reshape(y, u))',
}
TEXT = """I.ir_module Module:
    R.function main(x: R.Tensor((2,), "int64"), y: R.Tensor((6,), "float32")) -> R.Tensor(ndim=2, dtype="float32"):
        a = T.int64()
        b = T.int64()
        s: R.Shape(ndim=2) = R.tensor_to_shape(x)
        t: R.Shape([a, b]) = R.match_cast(s, R.Shape([a, b]))
        u: R.Shape([a, b]) = R.shape([a, b])
        {line}
        return z
"""
X, Y = np.array([2, 3]), np.arange(6, dtype="float32")


@pytest.mark.parametrize("line", LINES)
def test_compiled_functions_have_their_values(line: str) -> None:
    main = tvms.compile(tvms.parse(TEXT.format(line=LINES[line])))["main"]
    np.testing.assert_array_equal(np.asarray(main(X, Y)), Y.reshape(2, 3))


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("name", PASSES)
def test_passes_keep_bindings(name: str, line: str) -> None:
    module = get_pass(name)(tvms.parse(TEXT.format(line=LINES[line])))
    assert verify(module) == ()
    assert verify(tvms.parse(str(module))) == ()
    np.testing.assert_array_equal(np.asarray(tvms.interpret(module, "main", [X, Y])), Y.reshape(2, 3))
