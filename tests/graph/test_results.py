"""Results are checked against their declared types at run time, unless they follow from what is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvms
from tvms.ir.results import with_checked_results

HEAD = "I.ir_module Module:\n"
OPAQUE = """\
    R.function(pure=False) {name}(x: R.Tensor(("n",), "float32"){more}) -> {declared}:
        y: {known} = R.call_packed("test.results.identity", x, sinfo_args={known})
        return y
"""


@tvms.register_func("test.results.identity", override=True)
def identity(value: Any) -> Any:
    return value


def run(engine: str, text: str, *args: Any) -> Any:
    module = tvms.parse(HEAD + text)
    assert not tvms.verify(module)
    call: Callable[..., Any] = {
        "interpret": lambda: tvms.interpret(module, "main", list(args)),
        "compile": lambda: tvms.compile(module)["main"](*args),
    }[engine]
    return call()


@pytest.mark.parametrize("engine", ["interpret", "compile"])
@pytest.mark.parametrize("known", ["R.Object", "R.Tensor", 'R.Tensor("float32")'])
@pytest.mark.parametrize(
    ("declared", "code"),
    [
        ('R.Tensor((4,), "float32")', "E0705"),
        ('R.Tensor("float32", ndim=2)', "E0704"),
        ('R.Tensor("int32")', "E0703"),
        ('R.Tensor(("n",), "float32")', None),
        ("R.Tensor(ndim=1)", None),
    ],
)
def test_a_declared_result_is_checked_where_it_is_not_known(
    engine: str, known: str, declared: str, code: str | None
) -> None:
    if known != "R.Object" and code == "E0703":
        known = "R.Tensor"
    text = OPAQUE.format(name="main", more="", declared=declared, known=known)
    x = np.array([1, 2, 3], "float32")
    if code is None:
        np.testing.assert_array_equal(run(engine, text, x), x)
    else:
        with pytest.raises(tvms.TvmsError, match=code):
            run(engine, text, x)


@pytest.mark.parametrize("engine", ["interpret", "compile"])
def test_results_of_called_functions_are_checked(engine: str) -> None:
    text = OPAQUE.format(name="inner", more="", declared='R.Tensor((4,), "float32")', known="R.Object")
    outer = """\
    R.function(pure=False) main(x: R.Tensor((3,), "float32")) -> R.Tensor((4,), "float32"):
        y: R.Tensor((4,), "float32") = Module.inner(x)
        return y
"""
    with pytest.raises(tvms.TvmsError, match="E0705"):
        run(engine, text + outer, np.zeros(3, "float32"))


def test_what_is_known_is_not_checked() -> None:
    text = 'R.function main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(ndim=2):\n    y = R.exp(x)\n    return y\n'
    function = tvms.parse(text)["main"]
    assert isinstance(function, tvms.Function)
    assert with_checked_results(function) is function


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ('Module.f, (x, x), [0, 0], [R.Tensor((4,), "float32"), R.Tensor((4,), "float32")]', "E0325"),
        ('Module.f, (x, x), [-1], R.Tensor((4,), "float32")', "E0325"),
        ('Module.f, (o, x), [0], R.Tensor((4,), "float32")', "E0322"),
    ],
)
def test_results_in_place_need_a_tensor_of_their_own(call: str, code: str) -> None:
    text = f"""{HEAD}    T.prim_func f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.evaluate(0)
    R.function(pure=False) main(x: R.Tensor((4,), "float32"), o: R.Object):
        y = R.call_tir_inplace({call.replace("[", "inplace_indices=[", 1).replace("], ", "], out_sinfo=", 1)})
        return y
"""
    with pytest.raises(tvms.TvmsError, match=code):
        tvms.parse(text)


def test_a_checkpoint_marks_a_variable() -> None:
    with pytest.raises(tvms.TvmsError, match=r"E0321.*marks a variable"):
        tvms.relax.op.grad.start_checkpoint(tvms.relax.const(1, "float32"))
