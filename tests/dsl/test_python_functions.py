"""Modules with functions in Python (`BasePyModule`, `I.pyfunc`)."""

# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import inspect

import numpy as np
import pytest
import tvms
from tvms.relax import BasePyModule
from tvms.script import ir as I
from tvms.script import relax as R
from tvms.script import tir as T

FACTOR = 3


@I.ir_module
class Mixed(BasePyModule):
    """Functions of each kind."""

    @I.pyfunc
    def through_both(self, x):
        """Its text is Python: a list, a condition, a captured name."""
        parts = [self.tripled(x), self.call_tir(self.incremented, [x], R.Tensor((x.shape[0],), "float32"))]
        return sum(parts) if len(parts) == 2 else None

    @I.pyfunc
    def scaled(x, factor=FACTOR):
        return x * factor

    @T.prim_func
    def incremented(x: T.handle, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n,), "float32")
        Y = T.match_buffer(y, (n,), "float32")
        for i in range(n):
            with T.block("Y"):
                vi = T.axis.spatial(n, i)
                Y[vi] = X[vi] + T.float32(1)

    @R.function
    def tripled(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return R.multiply(x, R.const(FACTOR, "float32"))


@I.ir_module
class OnlyPython(BasePyModule):
    @I.pyfunc
    def negated(self, x):
        return -x


def _numpy(value):
    return value if isinstance(value, np.ndarray) else value.numpy()


def test_functions_call_each_other():
    module = Mixed()
    x = np.arange(5, dtype=np.float32)
    np.testing.assert_array_equal(_numpy(module.through_both(x)), 4 * x + 1)
    np.testing.assert_array_equal(_numpy(module.tripled(x[:2])), 3 * x[:2])
    np.testing.assert_array_equal(module.scaled(x), 3 * x)
    np.testing.assert_array_equal(module.call_py_func("scaled", [x, 2]), 2 * x)
    assert OnlyPython().negated(4) == -4


def test_loop_functions_write_to_arguments():
    x, y = np.ones(4, np.float32), np.zeros(4, np.float32)
    Mixed().incremented(x, y)
    np.testing.assert_array_equal(y, 2 * x)


def test_the_program_has_no_python():
    assert list(Mixed.functions) == ["incremented", "tripled"]
    assert Mixed.script().startswith("#tvms 1\n\nI.ir_module Mixed:\n")
    assert "through_both" not in Mixed().script()
    assert list(inspect.signature(Mixed.pyfuncs["through_both"]).parameters) == ["self", "x"]
    assert Mixed().list_functions() == {"tirx": ["incremented"], "relax": ["tripled"], "extern": []}
    assert list(OnlyPython.functions) == []


def test_positions_of_errors_stay():
    with pytest.raises(tvms.TvmsError) as caught:

        @I.ir_module
        class Wrong(BasePyModule):
            @I.pyfunc
            def before(self, x):
                return [
                    x,
                ]

            @R.function
            def wrong(x: R.Tensor((4,), "float32")):
                return R.add(x, missing)  # noqa: F821

    span = caught.value.diagnostics[0].span
    lines = span.source.text.split("\n")
    assert lines[span.source.text[: span.start].count("\n")].strip().startswith("return R.add(x, missing)")
    assert (
        "missing"
        in inspect.getsource(inspect.getmodule(_numpy)).split("\n")[span.source.text[: span.start].count("\n")]
    )


def test_python_is_refused_in_other_classes():
    with pytest.raises(tvms.TvmsError, match="E0103"):

        @I.ir_module
        class Plain:
            @I.pyfunc
            def f(self, x):
                return x


@tvms.register_func("test_python_functions.sum", override=True)
def _sum(a, b, result):
    result[:] = a + b


def test_registered_functions():
    module = BasePyModule(tvms.IRModule({}))
    a = np.arange(3, dtype=np.float32)
    n = tvms.tir.Var("n", "int64")
    found = module.call_dps_packed("test_python_functions.sum", [a, 2.5], tvms.relax.TensorStructInfo((n,), "float32"))
    np.testing.assert_array_equal(_numpy(found), a + np.float32(2.5))
    assert module.list_functions()["extern"] == ["test_python_functions.sum"]
    assert module.get_function("test_python_functions.sum") is not None
    assert module.get_function("tripled") is None


def test_results_of_several_types():
    @tvms.register_func("test_python_functions.both", override=True)
    def both(x, first, second):
        first[:], second[:] = x, x + 1

    x = np.arange(4, dtype=np.int32)
    types = [R.Tensor((4,), "int32"), (4,)]
    first, second = BasePyModule(tvms.IRModule({})).call_dps_packed("test_python_functions.both", x, types)
    assert (_numpy(first).dtype, _numpy(second).dtype) == (np.dtype("int32"), np.dtype("float32"))
    np.testing.assert_array_equal(_numpy(second), x + 1)


def test_unknown_names_and_sizes():
    module = Mixed()
    with pytest.raises(tvms.TvmsError) as caught:
        module.call_py_func("other", [])
    assert str(caught.value) == (
        "error[E0102]: the module has no Python function 'other'\n  = help: it has 'through_both', 'scaled'"
    )
    with pytest.raises(tvms.TvmsError) as caught:
        module.call_tir("other", [], (4,))
    assert str(caught.value) == "error[E0102]: the module has no loop function 'other'\n  = help: it has 'incremented'"
    type_of_result = tvms.relax.TensorStructInfo((tvms.tir.Var("n", "int64"),), "float32")
    with pytest.raises(ValueError, match="E0704") as unknown:
        module.call_tir("incremented", [np.ones((2, 2), np.float32)], type_of_result)
    assert str(unknown.value) == (
        "error[E0704]: the sizes of the result (n) are unknown: no argument has 1 dimension\n"
        "  = help: give the sizes of the result as numbers, or an argument with as many dimensions"
    )
    with pytest.raises(AttributeError):
        module.other  # noqa: B018


def test_tensors_of_torch():
    torch = pytest.importorskip("torch", reason="needs torch")
    module = Mixed()
    x = torch.arange(4, dtype=torch.float32, requires_grad=True)
    found = module.through_both(x)
    assert isinstance(found, torch.Tensor)
    np.testing.assert_array_equal(found.numpy(), 4 * np.arange(4) + 1)
    y = torch.zeros(4)
    module.incremented(x, y)
    np.testing.assert_array_equal(y.numpy(), np.arange(4) + 1)
