"""The out-of-bounds set: the cases of kind `bounds` are kernels that leave their buffers, each in a way of its own.

Part `check` is the error of `tvms check`, part `run` that of the interpreter: `LINE:COLUMN: CODE: message`, or nothing. What data decide, or sizes that the text does not relate, cannot be told before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from text_cases import Case, read_cases
from tvms.dsl.load import load_module
from tvms.dsl.reports import position
from tvms.ir import tir
from tvms.ir.base import IRModule
from tvms.ir.diagnostics import Diagnostic, TvmsError
from tvms.ir.interp import run
from tvms.ir.numpy_dtype import numpy_dtype
from tvms.ir.verify import verify

CASES = read_cases("bounds")
SIZES = {"n": 7, "m": 5}


def inputs(module: IRModule) -> list[Any]:
    """Zeros for floats, and for integers numbers that are no indices of anything here."""
    function = module["main"]
    assert isinstance(function, tir.PrimFunc)
    buffers = [function.buffer_map[param] for param in function.params]
    shapes = [[expr.value if isinstance(expr, tir.IntImm) else SIZES[str(expr)] for expr in b.shape] for b in buffers]
    return [np.full(s, 9 * ("int" in b.dtype), numpy_dtype(b.dtype)) for b, s in zip(buffers, shapes, strict=True)]


def told(found: Sequence[Diagnostic]) -> str:
    """Return the first of `found`, in one line."""
    if not found:
        return "nothing"
    assert found[0].span is not None
    line, column = position(found[0].span, found[0].span.start)
    return f"{line}:{column}: {found[0].code}: {found[0].message}"


def test_there_are_enough() -> None:
    assert len(CASES) >= 13


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_leaving_a_buffer_is_told(case: Case) -> None:
    module = load_module(str(case.path))
    assert told([problem for problem in verify(module) if problem.severity == "error"]) == case.arguments["check"]
    with pytest.raises(TvmsError) as caught:
        run(module, "main", inputs(module))
    assert told(caught.value.diagnostics) == case.arguments["run"]
