"""Sizes are checked, matched, computed and made by functions of the virtual machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from tvms import relax

STEPS = ("vm.builtin.check_tensor_info", "vm.builtin.match_shape", "vm.builtin.make_shape", "shape_func")


def lowered(module: Any, **options: Any) -> Any:
    after = relax.transform.VMShapeLower(**options)(relax.transform.RemovePurityChecking()(module))
    assert not tvms.verify(after)
    return after


def test_a_lowered_program_computes_the_same() -> None:
    before = tvms.parse("""
R.function main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(ndim=2, dtype="float32"), p: R.Prim(value="q")):
    n, m, q, k = T.int64(), T.int64(), T.int64(), T.int64()
    z = R.match_cast(y, R.Tensor((k, k + n), "float32"))
    s = R.shape([k * 2, m, 3])
    return (s, R.prim_value(q + n), z)
""")
    after = lowered(before)
    text = after.script()
    for step in STEPS:
        assert step in text
    x, y = np.zeros((2, 5), np.float32), np.arange(15, dtype=np.float32).reshape(3, 5)
    for program in (before, after):
        for run in (tvms.compile(program)["main"], lambda *args, p=program: tvms.interpret(p, "main", args)):
            s, q, z = run(x, y, 7)
            assert (tuple(s), int(q)) == ((6, 5, 3), 9)
            np.testing.assert_array_equal(z, y)


def test_sizes_that_a_branch_stores_are_not_known_in_the_other_one() -> None:
    before = tvms.parse("""
R.function main(x: R.Tensor(dtype="float32", ndim=1), y: R.Tensor(dtype="float32", ndim=1), c: R.Tensor((), "bool")):
    k = T.int64()
    if c:
        a = R.match_cast(x, R.Tensor((k,), "float32"))
        s = R.shape([k, 1])
    else:
        b = R.match_cast(y, R.Tensor((k,), "float32"))
        s = R.shape([k, 1])
    return s
""")
    after = lowered(before)
    x, y = np.zeros(2, np.float32), np.zeros(3, np.float32)
    for program in (before, after):
        run = tvms.compile(program)["main"]
        assert [tuple(run(x, y, np.array(c))) for c in (True, False)] == [(2, 1), (3, 1)]


@pytest.mark.parametrize("y", [np.zeros((4, 2), np.float32), np.zeros((3, 2), np.float32), np.zeros(8, np.float32)])
def test_a_lowered_check_refuses_what_the_program_refuses(y: Any) -> None:
    before = tvms.parse("""
R.function main(x: R.Tensor(("n",), "float32"), y: R.Object) -> R.Tensor(("n * 2", 2), "float32"):
    return y
""")
    after, x = lowered(before), np.zeros(2, np.float32)
    for program in (before, after):
        run = tvms.compile(program)["main"]
        if y.shape == (4, 2):
            assert run(x, y).shape == (4, 2)
        else:
            with pytest.raises((ValueError, RuntimeError)):
                run(x, y)


def test_the_context_says_which_value_is_wrong() -> None:
    module = tvms.parse('R.function main(x: R.Tensor(("n",), "float32")):\n    return x\n')
    said = 'ErrorContext(fn=main, loc=param[0], param=x, annotation=R.Tensor((n,), "float32")) '
    assert said in lowered(module).script().replace('\\"', '"')
    assert "ErrorContext" not in lowered(module, emit_err_ctx=False).script()


def test_parameters_that_are_weights_of_known_size_are_not_checked() -> None:
    module = tvms.parse("""
R.function main(x: R.Tensor((2,), "float32"), w: R.Tensor((3,), "float32"), v: R.Tensor(("n",), "float32")):
    R.func_attr({"num_input": 1})
    return (x, w, v)
""")
    assert lowered(module).script().count("check_tensor_info") == 2


def test_equal_computations_share_a_function() -> None:
    module = tvms.parse("""
I.ir_module Module:
    R.function f(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        return R.shape([n + 1])

    R.function g(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        return R.shape([n + 1])
""")
    assert sorted(lowered(module).functions) == ["f", "g", "shape_func"]


def test_functions_in_functions_stay_as_they_are() -> None:
    before = tvms.parse("""
R.function main(x: R.Tensor(("n",), "float32")):
    n = T.int64()
    R.function inner(y: R.Tensor((n,), "float32")):
        return (R.shape([n * 2]), y)
    return inner(x)
""")
    x = np.zeros(3, np.float32)
    for program in (before, lowered(before), lowered(relax.transform.LambdaLift()(before))):
        assert tuple(tvms.compile(program)["main"](x)[0]) == (6,)


def test_calls_of_checks_do_not_make_a_pure_function_impure() -> None:
    module = tvms.parse('R.function main(x: R.Tensor(("n",), "float32")):\n    return x\n')
    assert not tvms.verify(relax.transform.VMShapeLower()(module))


def test_sizes_of_other_dtypes_stay_as_they_are() -> None:
    module = tvms.parse("""
R.function main(p: R.Prim("float32")):
    return R.prim_value(T.float32(2) * T.float32(3))
""")
    assert "vm.builtin.make_prim_value" not in lowered(module).script()
