"""Programs that Python made, and that break the law of the IR: whatever runs a program refuses them with the verifier's errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tvms
from msgspec.structs import replace
from tvms import relax
from tvms.codegen.aot import header, lowered, shared_library
from tvms.ir import tir
from tvms.ir.base import IRModule, Op

TEXT = """\
T.prim_func f(A: T.Buffer((4,), "float32")):
    A[0] = A[1] + T.float32(1)
"""


def broken() -> Iterator[tuple[str, str, tir.PrimFunc]]:
    """Yield what is wrong, the code, and a function."""
    function = tvms.parse(TEXT)["f"]
    assert isinstance(function, tir.PrimFunc)
    store = function.body
    assert isinstance(store, tir.BufferStore)
    one = tir.IntImm("int32", 1)

    def having(**fields: Any) -> tir.PrimFunc:
        return replace(function, body=replace(store, **fields))

    yield "an undefined variable", "E0401", having(value=tir.Var("float32", "z"))
    yield "another dtype", "E0407", having(value=one)
    yield "operands of two dtypes", "E0405", having(value=tir.Add("float32", store.value, one))
    yield "a dtype that does not exist", "E0440", having(value=tir.Cast("float99", store.value))
    yield (
        "a dtype that does not exist, cast",
        "E0440",
        having(value=tir.Cast("float32", tir.Cast("float99", store.value))),
    )
    yield "no dtype", "E0440", having(value=tir.Cast(None, store.value))  # type: ignore[reportArgumentType]
    yield "no index", "E0235", having(indices=())
    yield "too many indices", "E0235", having(indices=(one, one))
    yield "a float index", "E0406", having(indices=(tir.FloatImm("float32", 1.0),))
    yield "a number of Python", "E0440", having(value=3)
    yield "no argument", "E0105", having(value=tir.Call("float32", Op("tir.exp"), ()))
    yield (
        "a vector in an element",
        "E0407",
        having(value=tir.Broadcast("float32x4", store.value, tir.IntImm("int32", 4))),
    )
    yield "an expression as a statement", "E0440", replace(function, body=one)
    yield "an integer with a fraction", "E0440", having(indices=(tir.IntImm("int32", 1.5),))  # type: ignore[reportArgumentType]
    yield "an integer that does not fit", "E0440", having(indices=(tir.IntImm("int32", 2**40),))
    yield "a negative unsigned one", "E0440", having(indices=(tir.IntImm("uint8", -1),))
    yield "a float number as text", "E0440", having(value=tir.FloatImm("float32", "1"))  # type: ignore[reportArgumentType]
    yield "a comparison of floats that is a float", "E0405", having(value=tir.LT("float32", store.value, store.value))
    yield (
        "a huge vector",
        "E0440",
        having(value=tir.Broadcast("float32x9999999999", store.value, tir.IntImm("int32", 4))),
    )
    yield (
        "a loop over a float",
        "E0406",
        replace(function, body=tir.For(tir.Var("float32", "i"), one, one, tir.ForKind.SERIAL, store)),
    )
    yield "an attribute that is not a node", "E0440", replace(function, attrs={"x": object()})
    yield "a buffer without a pointer", "E0440", having(buffer=replace(store.buffer, data=None))
    yield "a buffer of another dtype", "E0407", having(buffer=replace(store.buffer, dtype="int8"))


CASES = list(broken())
WAYS: dict[str, Callable[[tir.PrimFunc], object]] = {
    "compile": tvms.compile,
    "compile for a GPU": lambda function: tvms.compile(function, target="cuda"),
    "emit": lambda function: tvms.emit(function, "llvm"),
    "relax.build": lambda function: relax.build(IRModule({"f": function})),
    "lowered": lowered,
    "header": header,
    "shared_library": shared_library,
    "interpret": lambda function: tvms.interpret(function, "f", [np.zeros(4, "float32")]),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("code", "function"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_broken_programs_are_refused(way: str, code: str, function: tir.PrimFunc) -> None:
    """The first error is the verifier's, with its code."""
    with pytest.raises(tvms.TvmsError) as caught:
        WAYS[way](function)
    assert caught.value.diagnostics == tvms.verify(function, "types")
    assert caught.value.diagnostics[0].code == code
