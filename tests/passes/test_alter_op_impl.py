"""Other implementations of operators, on other layouts: the program computes what it did."""

from __future__ import annotations

from typing import Any

import pytest
import tvms
from tvms.ir.passes.instrument import VerifyEach
from tvms.ir.passes.transform import PassContext, get_pass
from tvms.testing import assert_equivalent

PROGRAM = """\
I.ir_module Module:
    T.prim_func(private=True) add(a: T.Buffer((SIZE,), "float32"), b: T.Buffer((SIZE,), "float32"), c: T.Buffer((SIZE,), "float32")):
        T.func_attr({"operator_name": "relax.add"})
        for i in range(SIZE):
            with T.block("add"):
                vi = T.axis.spatial(SIZE, i)
                c[vi] = a[vi] + b[vi]

    R.function main(x: R.Tensor((SIZE,), "float32"), y: R.Tensor((SIZE,), "float32")) -> R.Tensor((SIZE,), "float32"):
        with R.dataflow():
            lv = R.call_tir(Module.add, (x, y), out_sinfo=R.Tensor((SIZE,), "float32"))
            gv = R.call_tir(Module.add, (lv, y), out_sinfo=R.Tensor((SIZE,), "float32"))
            R.output(gv)
        return gv
"""
TILED = """\
T.prim_func(private=True) add(a: T.Buffer((4, 4), "float32"), b: T.Buffer((4, 4), "float32"), c: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("add"):
            vi, vj = T.axis.remap("SS", [i, j])
            c[vi, vj] = a[vi, vj] + b[vi, vj]
"""


def tiles(i: Any) -> Any:
    return i // 4, i % 4


def altered(size: int, layouts: Any) -> tuple[Any, Any]:
    module = tvms.parse(PROGRAM.replace("SIZE", str(size)))
    with PassContext(instruments=[VerifyEach()]):
        return module, get_pass("AlterOpImpl", {"relax.add": tvms.parse(TILED)["add"]}, {"relax.add": layouts})(module)


@pytest.mark.parametrize("size", [16, 14])
def test_operands_are_laid_out_and_results_laid_back(size: int) -> None:
    module, result = altered(size, [tiles, tiles, tiles])
    text = result.script()
    assert text.count("R.layout_transform(") == 6
    assert text.count("R.call_tir(Module.relax_add_replacement") == 2
    assert text.count("R.call_tir(Module.remove_pad") == (0 if size == 16 else 2)
    assert tvms.structural_equal(tvms.parse(text), result)
    assert_equivalent(module, result)
    assert_equivalent(module, get_pass("LegalizeOps")(result))


def test_layouts_with_separators() -> None:
    """Each layout transform has the separators that are given for its buffer."""
    given = tvms.tir.IndexMap.from_func_with_separators(lambda i: (i // 4, tvms.tir.IndexMap.AXIS_SEPARATOR, i % 4))
    layouts, own = [given, given, given], [given[1], given[1], []]
    module = tvms.parse(PROGRAM.replace("SIZE", "14"))
    options = {"relax.add": layouts}, {"relax.add": own}, {"relax.add": [[], [], given[1]]}
    result = get_pass("AlterOpImpl", {"relax.add": tvms.parse(TILED)["add"]}, *options)(module)
    lines = [line for line in result.script().splitlines() if "R.layout_transform(" in line]
    assert [", axis_separators=[1])" in line for line in lines] == [True, True, False] * 2
    assert [", input_axis_separators=[1])" in line for line in lines] == [False, False, True] * 2
    assert_equivalent(module, result)


def test_a_function_of_the_same_layout_takes_the_place() -> None:
    module = tvms.parse(PROGRAM.replace("SIZE", "16"))
    faster = module["add"]
    result = get_pass("AlterOpImpl", {"relax.add": faster})(module)
    assert "R.layout_transform" not in result.script()
    assert_equivalent(module, result)


@pytest.mark.parametrize(
    ("layouts", "message"),
    [
        ([tiles], "error[E0902]: pass 'AlterOpImpl': expected 3 layouts for 'relax.add', got 1"),
        ([lambda i, j: (i, j)] * 3, "error[E0902]: pass 'AlterOpImpl': expected a layout of 1 indices, got 2"),
        ([tiles, tiles, lambda i: (i // 4, i // 4)], 'error[E0902]: pass \'AlterOpImpl\': the layout of R.Tensor((16,), "float32") cannot be inverted'),
    ],
)  # fmt: skip
def test_layouts_that_do_not_fit_are_refused(layouts: Any, message: str) -> None:
    with pytest.raises(tvms.TvmsError) as raised:
        altered(16, layouts)
    assert str(raised.value).splitlines()[0] == message


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(tvms.TvmsError) as raised:
        get_pass("AlterOpImpl", {"relax.add": tvms.parse(TILED)})(tvms.parse(TILED))
    assert str(raised.value) == (
        "error[E0902]: pass 'AlterOpImpl': the implementation of 'relax.add' is a IRModule, not a T.prim_func\n"
        "  = help: give the function itself, as mod['name']"
    )
