"""The out-of-bounds set: `tests/cases/bounds` has kernels that leave their buffers, each in a way of its own.

A file says what `tvms check` tells before the run, and what the interpreter tells when it comes to it: `LINE:COLUMN: CODE:
message`, or nothing. What data decide, or sizes that the text does not relate, cannot be told before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tvms.dsl.load import load_module
from tvms.dsl.reports import position
from tvms.ir import tir
from tvms.ir.base import IRModule
from tvms.ir.diagnostics import Diagnostic, TvmsError
from tvms.ir.interp import run
from tvms.ir.numpy_dtype import numpy_dtype
from tvms.ir.verify import verify

CASES = sorted((Path(__file__).parents[1] / "cases" / "bounds").glob("*.tvms"))
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


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_leaving_a_buffer_is_told(path: Path) -> None:
    checked, run_into = re.findall(r"^# (?:check|run): (.*)$", path.read_text(), re.MULTILINE)
    module = load_module(str(path))
    assert told([diagnostic for diagnostic in verify(module) if diagnostic.severity == "error"]) == checked
    with pytest.raises(TvmsError) as caught:
        run(module, "main", inputs(module))
    assert told(caught.value.diagnostics) == run_into
