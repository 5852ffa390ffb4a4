"""Run-time checks of declared results and of sizes, where the compiler cannot prove them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvms
from tvms.ir.run_time_checks import with_checked_results

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


# --- Sizes that an operator requires to be equal ---------------------------------------------------------------------

SIZES: dict[str, tuple[str, str, dict[str, int], dict[str, int]]] = {
    "reshape": ('x: R.Tensor((2, 3)), s: R.Shape(["n"])', "R.reshape(x, (n,))", {"n": 6}, {"n": 7}),
    "matmul": ('x: R.Tensor((2, "n")), y: R.Tensor(("m", 3))', "R.matmul(x, y)", {"n": 6, "m": 6}, {"n": 6, "m": 4}),
    "einsum": (
        'x: R.Tensor((2, "n")), y: R.Tensor(("m", 3))', 'R.einsum((x, y), "ij,jk->ik")', {"n": 6, "m": 6}, {"n": 6, "m": 4},
    ),
    "concat": ('x: R.Tensor((2, "n")), y: R.Tensor((2, "m"))', "R.concat((x, y), axis=0)", {"n": 4, "m": 4}, {"n": 6, "m": 4}),
    "stack": ('x: R.Tensor((2, "n")), y: R.Tensor((2, "m"))', "R.stack((x, y), axis=0)", {"n": 4, "m": 4}, {"n": 6, "m": 4}),
    "broadcast_to": ('x: R.Tensor(("n",)), s: R.Shape(["m"])', "R.broadcast_to(x, (2, m))", {"n": 4, "m": 4}, {"n": 6, "m": 4}),
    "collapse_sum_to": (
        'x: R.Tensor((4, "n")), s: R.Shape(["m"])', "R.collapse_sum_to(x, (m,))", {"n": 4, "m": 4}, {"n": 6, "m": 4},
    ),
    "conv2d": (
        'x: R.Tensor((1, "n", 5, 5)), y: R.Tensor((3, "m", 3, 3))', "R.nn.conv2d(x, y)", {"n": 2, "m": 2}, {"n": 4, "m": 2},
    ),
    "conv2d, groups": (
        'x: R.Tensor((1, 4, 5, 5)), y: R.Tensor(("m", 2, 3, 3))', "R.nn.conv2d(x, y, groups=2)", {"m": 6}, {"m": 5},
    ),
    "layer_norm": (
        'x: R.Tensor((2, "n")), y: R.Tensor(("m",))', "R.nn.layer_norm(x, y, y, axes=[-1])", {"n": 4, "m": 4}, {"n": 6, "m": 4},
    ),
    "batch_norm": (
        'x: R.Tensor((1, "n", 2, 2)), y: R.Tensor(("m",))', "R.nn.batch_norm(x, y, y, y, y, axis=1)[0]",
        {"n": 4, "m": 4}, {"n": 6, "m": 4},
    ),
    "group_norm": (
        'x: R.Tensor((2, "n", 3)), y: R.Tensor(("n",))', "R.nn.group_norm(x, y, y, 2, 1, [2])", {"n": 4}, {"n": 5},
    ),
    "prelu": ('x: R.Tensor((2, "n")), y: R.Tensor(("m",))', "R.nn.prelu(x, y)", {"n": 4, "m": 4}, {"n": 6, "m": 4}),
    "attention": (
        'x: R.Tensor((1, 4, 2, 8)), y: R.Tensor((1, "n", 2, 8)), z: R.Tensor((1, "m", 2, 8))', "R.nn.attention(x, y, z)",
        {"n": 4, "m": 4}, {"n": 5, "m": 6},
    ),
    "attention, heads": (
        'x: R.Tensor((1, 4, "h", 8)), y: R.Tensor((1, 4, "g", 8))', "R.nn.attention(x, y, y)", {"h": 4, "g": 2}, {"h": 3, "g": 2},
    ),
    "cross_entropy": (
        'x: R.Tensor(("n",)), y: R.Tensor(("m",))', "R.nn.cross_entropy_with_logits(x, y)", {"n": 4, "m": 4}, {"n": 6, "m": 4},
    ),
    "squeeze": ('x: R.Tensor(("n", 3))', "R.squeeze(x, axis=[0])", {"n": 1}, {"n": 6}),
    "topk": ('x: R.Tensor(("n",))', 'R.topk(x, 8, ret_type="values")', {"n": 9}, {"n": 6}),
    "pixel_shuffle": ('x: R.Tensor((1, "n", 2, 2))', "R.nn.pixel_shuffle(x, 2)", {"n": 8}, {"n": 6}),
    "nested": ('x: R.Tensor((2, 3)), s: R.Shape(["n"])', "R.exp(R.reshape(x, (n,)))", {"n": 6}, {"n": 7}),
}  # fmt: skip
"""Parameters, a value, sizes that fit and sizes that do not, of which the graph tells neither."""


@pytest.mark.deep(8)
@pytest.mark.parametrize("in_dataflow", [False, True])
@pytest.mark.parametrize("name", SIZES)
def test_sizes_that_must_be_equal_are_checked(name: str, in_dataflow: bool) -> None:
    params, value, fitting, wrong = SIZES[name]
    params = params.replace("))", '), "float32")')
    lines = [f"{size} = T.int64()" for size in fitting]
    if in_dataflow:
        lines += ["with R.dataflow():", f"    r = {value}", "    R.output(r)", "return r"]
    else:
        lines += [f"r = {value}", "return r"]
    text = f"    R.function main({params}):\n" + "".join(f"        {line}\n" for line in lines)
    expected = run("interpret", text, *arguments(text, fitting))
    np.testing.assert_allclose(run("compile", text, *arguments(text, fitting)), expected, rtol=1e-5)
    for engine in ("interpret", "compile"):
        with pytest.raises(tvms.TvmsError, match="E0705"):
            run(engine, text, *arguments(text, wrong))


def arguments(text: str, sizes: dict[str, int]) -> list[Any]:
    """Return arguments of function `main` for these sizes."""
    function = tvms.parse(HEAD + text)["main"]
    assert isinstance(function, tvms.Function)
    random, made = np.random.default_rng(0), list[Any]()
    for param in function.params:
        info: Any = param.struct_info
        is_tensor = type(info).__name__ == "TensorStructInfo"
        dims: list[Any] = info.shape.values if is_tensor else info.values
        shape: tuple[int, ...] = tuple(getattr(dim, "value", None) or sizes[dim.name] for dim in dims)
        made.append(random.random(shape, "float32") if is_tensor else shape)
    return made


def test_a_branch_checks_only_its_own_sizes() -> None:
    text = """\
    R.function main(c: R.Tensor((), "bool"), x: R.Tensor((2, 3), "float32"), s: R.Shape(["n"])) -> R.Tensor(ndim=1):
        n = T.int64()
        if c:
            y = R.reshape(x, (n,))
        else:
            y = R.broadcast_to(R.sum(x), (n,))
        return y
"""
    x = np.ones((2, 3), "float32")
    for engine in ("interpret", "compile"):
        np.testing.assert_array_equal(run(engine, text, np.array(False), x, (7,)), np.full(7, 6, "float32"))
        with pytest.raises(tvms.TvmsError, match="E0705"):
            run(engine, text, np.array(True), x, (7,))


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ("interpret", "the value of 'sizes_of_reshape' has shape (6,), but its dimension 0 is n, which is 7"),
        ("compile", "match_cast of 'sizes_of_reshape': expected shape (n,) with n = 7, got (6,)"),
    ],
)
def test_the_error_names_the_operator_and_the_sizes(engine: str, message: str) -> None:
    text = """\
    R.function main(x: R.Tensor((2, 3), "float32"), s: R.Shape(["n"])):
        n = T.int64()
        y = R.reshape(x, (n,))
        return y
"""
    with pytest.raises(tvms.TvmsError) as caught:
        run(engine, text, np.ones((2, 3), "float32"), (7,))
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == ("E0705", message)
    assert ":4:13" in str(caught.value)


def test_pipelines_keep_the_checks() -> None:
    text = """\
    R.function main(x: R.Tensor((2, 3), "float32"), s: R.Shape(["n"])):
        n = T.int64()
        y = R.reshape(x, (n,))
        return y
"""
    module = tvms.relax.get_pipeline("zero")(tvms.parse(HEAD + text))
    with pytest.raises(tvms.TvmsError, match="E0705"):
        tvms.compile(module)["main"](np.ones((2, 3), "float32"), (7,))
