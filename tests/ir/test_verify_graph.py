"""The law of the graph level: each breach is found, once, at its place; programs that keep it give no alarm."""

from __future__ import annotations

import pytest
import tvms
from tvms.dsl.diagnostics import render

FINE = """
I.ir_module Module:
    T.prim_func(private=True) double(x_handle: T.handle, y_handle: T.handle):
        n = T.int64()
        x = T.match_buffer(x_handle, (n, T.int64(4)), "float32")
        y = T.match_buffer(y_handle, (n, T.int64(4)), "float32")
        for i, j in T.grid(n, T.int64(4)):
            with T.block("double"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vi, vj] * T.float32(2)

    R.function countdown(flag: R.Tensor((), "bool"), x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        cls = Module
        if flag:
            result = R.call_tir(cls.double, (x,), out_sinfo=R.Tensor((n, 4), "float32"))
        else:
            result: R.Tensor((n, 4), "float32") = cls.countdown(flag, x)
        return result
"""

BREACHES = [
    (
        "a dataflow variable leaves its block",
        """
R.function main(x: R.Tensor((4,), "float32")):
    with R.dataflow():
        y = R.add(x, x)
        z = R.add(y, y)
        R.output(z)
    return y
""",
        """warning[E0432]: dataflow variable 'y' is used outside its block
  --> case.tvms:4:9
   |
 4 |         y = R.add(x, x)
   |         ^
   = help: add it to the block's R.output(…)""",
    ),
    (
        "arguments that do not fit",
        """
I.ir_module Module:
    T.prim_func(private=True) f(a: T.Buffer((4, 8), "float32"), b: T.Buffer((4, 8), "float32")):
        T.evaluate(0)

    R.function main(x: R.Tensor((4, 9), "float32")) -> R.Tensor((4, 8), "float32"):
        cls = Module
        y = R.call_tir(cls.f, (x,), out_sinfo=R.Tensor((4, 8), "float32"))
        return y
""",
        "E0435",
    ),
    (
        "the wrong number of arguments",
        """
I.ir_module Module:
    T.prim_func(private=True) f(a: T.Buffer((4, 8), "float32"), b: T.Buffer((4, 8), "float32")):
        T.evaluate(0)

    R.function main(x: R.Tensor((4, 8), "float32")) -> R.Tensor((4, 8), "float32"):
        cls = Module
        y = R.call_tir(cls.f, (x, x), out_sinfo=R.Tensor((4, 8), "float32"))
        return y
""",
        "E0435",
    ),
]


def test_sizes_that_follow_from_arguments() -> None:
    text = """
I.ir_module Module:
    T.prim_func(private=True) f(a: T.handle, b: T.handle):
        m, n = T.int64(), T.int64()
        A = T.match_buffer(a, (m, n), "float32")
        B = T.match_buffer(b, (m * n,), "float32")
        T.evaluate(0)

    R.function main(x: R.Tensor((4, 8), "float32")) -> R.Tensor((SIZE,), "float32"):
        cls = Module
        y = R.call_tir(cls.f, (x,), out_sinfo=R.Tensor((SIZE,), "float32"))
        return y
"""
    messages = [[item.message for item in tvms.verify(tvms.parse(text.replace("SIZE", size)))] for size in ("32", "64")]
    assert messages == [[], ["'f' needs 'B' to have size 32 in dimension 0, but it has size 64"]]


def test_programs_that_keep_the_law_give_no_alarm() -> None:
    assert tvms.verify(tvms.parse(FINE)) == ()


@pytest.mark.parametrize(("text", "expected"), [row[1:] for row in BREACHES], ids=[row[0] for row in BREACHES])
def test_breaches_are_found(text: str, expected: str) -> None:
    found = tvms.verify(tvms.parse(text, "case.tvms"))
    assert len(found) == 1
    if expected.startswith("E"):
        assert found[0].code == expected
    else:
        assert render(found) == expected


def test_what_is_known_of_a_variable_names_variables_in_scope() -> None:
    shape = tvms.relax.Var("s", tvms.relax.ShapeStructInfo(ndim=1))
    x = tvms.relax.Var("x", tvms.relax.TensorStructInfo(shape, "float32"))
    body = tvms.relax.SeqExpr([], x)
    (problem,) = tvms.verify(tvms.relax.Function([x], body, x.struct_info))
    assert problem.message == "variable 's' is used where it is not defined"
    assert not tvms.verify(tvms.relax.Function([shape, x], body, tvms.relax.TensorStructInfo(None, "float32", ndim=1)))


SCALED = """#tvms 1

I.ir_module M:
    T.prim_func(private=True) scale(A: T.Buffer((16,), "float16"), s: T.float32, B: T.Buffer((16,), "float16")):
        for i in range(16):
            B[i] = A[i] * T.Cast("float16", s)

    R.function main(A: R.Tensor((16,), "float16"), s: R.Prim("{dtype}")) -> R.Tensor((16,), "float16"):
        B = R.call_tir(M.scale, {args}, out_sinfo=R.Tensor((16,), "float16"))
        return B
"""


@pytest.mark.parametrize(
    ("dtype", "args", "problems"),
    [
        ("float32", "(A, s)", []),
        ("int64", "(A, s)", ["'scale' needs 's' to have dtype float32, but it has dtype int64"]),
        (
            "float32",
            "(s, A)",
            [
                "'scale' needs 's' to be a scalar, but it is a tensor",
                "'scale' needs 'A' to be a tensor, but it is a scalar",
            ],
        ),
    ],
)
def test_scalars_of_loop_functions_have_their_dtypes(dtype: str, args: str, problems: list[str]) -> None:
    found = tvms.verify(tvms.parse(SCALED.format(dtype=dtype, args=args)))
    assert [(problem.code, problem.message) for problem in found] == [("E0435", problem) for problem in problems]
