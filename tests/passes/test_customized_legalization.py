"""`LegalizeOps` with functions of the program that replace calls of operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tvms
from tvms import relax
from tvms.ir.passes import legalize_ops
from tvms.relax.transform.legalize_ops.common import register_legalize

MODULE = """
I.ir_module Module:
    R.function main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((3,), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            z = R.add(x, y)
            w = R.multiply(z, x)
            R.output(w)
        return w
"""


def add_on_rows(bb: relax.BlockBuilder, call: relax.Call) -> relax.Call:
    return bb.call_te(lambda a, b: tvms.te.compute(a.shape, lambda i, j: b[j] + a[i, j], "rows"), *call.args)


def negated_twice(bb: relax.BlockBuilder, call: relax.Call) -> Any:
    x, y = call.args
    return relax.op.negative(bb.emit(relax.op.subtract(bb.emit(relax.op.negative(x)), y), "difference"))


def called(module: tvms.IRModule) -> list[str]:
    (block,) = module["main"].body.blocks
    return [binding.value.args[0].name_hint for binding in block.bindings]


def check(before: tvms.IRModule, after: tvms.IRModule) -> None:
    x, y = np.float32([[1, 2, 3], [4, 5, 6]]), np.float32([1, 0, -1])
    tvms.verify(after)
    np.testing.assert_array_equal(tvms.interpret(after, "main", [x, y]), tvms.interpret(before, "main", [x, y]))


def test_a_function_builds_the_kernel() -> None:
    before = tvms.parse(MODULE)
    after = relax.transform.LegalizeOps({"relax.add": add_on_rows})(before)
    check(before, after)
    assert len(called(after)) == 2


def test_emitted_bindings_and_results_are_legalized() -> None:
    before = tvms.parse(MODULE)
    after = relax.transform.LegalizeOps({"relax.add": negated_twice})(before)
    check(before, after)
    assert called(after) == ["tir_negative", "subtract", "tir_negative", "multiply"]


def test_a_call_of_the_same_operator_is_replaced_once() -> None:
    before = tvms.parse(MODULE)
    swap = lambda bb, call: relax.op.add(call.args[1], call.args[0])  # noqa: E731
    after = relax.transform.LegalizeOps({"relax.add": swap})(before)
    check(before, after)
    (block,) = after["main"].body.blocks
    assert [arg.name_hint for arg in block.bindings[0].value.args[1].fields] == ["y", "x"]


@pytest.fixture
def no_registrations() -> Iterator[None]:
    yield
    legalize_ops._registered.clear()


@pytest.mark.usefixtures("no_registrations")
def test_registered_functions_are_used_unless_the_pass_has_its_own() -> None:
    @register_legalize("relax.add")
    def _(bb: relax.BlockBuilder, call: relax.Call) -> Any:
        return negated_twice(bb, call)

    before = tvms.parse(MODULE)
    assert called(relax.transform.LegalizeOps()(before)) == ["tir_negative", "subtract", "tir_negative", "multiply"]
    own = relax.transform.LegalizeOps({"relax.add": lambda bb, call: relax.op.subtract(*call.args)})(before)
    assert called(own) == ["subtract", "multiply"]
