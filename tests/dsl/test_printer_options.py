"""Options of printing under TVM's names: what they change, and that what is printed is still the same program."""

from __future__ import annotations

from typing import Any

import pytest
import tvms
from tvms.ir.equal import assert_structural_equal

TEXT = """\
I.ir_module Module:
    T.prim_func fill(A: T.Buffer((8, 8), "float32")):
        for i, j in T.grid(8, 8):
            with T.block("A"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = T.float32(0)

    R.function main(x: R.Tensor((8, 8), "float32")) -> R.Tensor((8, 8), "float32"):
        y = R.nn.relu(x)
        return y
"""


@pytest.mark.parametrize("dialect", ["tvms", "tvm-0.21"])
@pytest.mark.parametrize(
    "options",
    [{}, {"syntax_sugar": False}, {"indent_spaces": 2}, {"show_all_struct_info": False}, {"show_meta": True}],
    ids=str,
)
def test_the_text_of_any_option_is_the_same_program(dialect: str, options: dict[str, Any]) -> None:
    module = tvms.parse(TEXT)
    assert_structural_equal(tvms.parse(module.script(dialect, **options)), module)


def test_options_change_what_they_say() -> None:
    module = tvms.parse(TEXT)
    assert "T.grid" not in module.script(syntax_sugar=False)
    assert "vj = T.axis.spatial(8, j)" in module.script(syntax_sugar=False)
    assert "\n  R.function" in module.script(indent_spaces=2)
    assert "y: R.Tensor((8, 8)" in module.script("tvm-0.21")
    assert "y = R.nn.relu" in module.script("tvm-0.21", show_all_struct_info=False)
    assert module["fill"].script(name="zeros", print_line_numbers=True).startswith(" 1 | T.prim_func zeros(A:")


def test_an_expression_may_come_with_what_it_mentions() -> None:
    extent = tvms.ir.tir.Var("int64", "n")
    assert extent.script(verbose_expr=True) == "n = T.int64()\nn"
    assert extent.script() == "n"


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"int_dtype": "int64"}, ValueError, "int_dtype='int64' is not supported: it is always 'int32'"),
        ({"verbose": True}, TypeError, "unknown printing option 'verbose'; did you mean 'verbose_expr'?"),
    ],
)
def test_what_cannot_be_had_is_refused(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        tvms.parse(TEXT).script(**options)
    assert str(caught.value) == message
