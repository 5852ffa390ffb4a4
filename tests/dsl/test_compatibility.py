"""What TVM does not check is an error in every dialect; `--trust tvm-tests` makes it a warning in texts of TVM's."""

from __future__ import annotations

from pathlib import Path

import pytest
from tvms.dsl.cli import main
from tvms.dsl.compatibility import TRUSTED, as_tvm_takes_them
from tvms.dsl.load import parse
from tvms.ir.codes import CODES
from tvms.ir.script import render
from tvms.ir.verify import verify

HEAD = 'main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((3, 3), "float32"):'
BODY = """
    y: R.Tensor((2, 4), "float32") = R.exp(x)
    return y
"""
SAID = """\
KIND[E0438]: function 'main' does not return its declared type: dimension 0 is 2, not 3
  --> case:LINE:COLUMN
   |
 LINE | DEF main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((3, 3), "float32"):
   |SPACE                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^
   = help: write R.Tensor((2, 4), "float32")
note: the value is R.Tensor((2, 4), "float32")
  --> case:NEXT:5
   |
 NEXT |     y: R.Tensor((2, 4), "float32") = R.exp(x)
   |     ^

KIND[E0438]: the annotation of 'y' contradicts its value: dimension 1 is 3, not 4
  --> case:NEXT:5
   |
 NEXT |     y: R.Tensor((2, 4), "float32") = R.exp(x)
   |     ^
   = help: annotate it as R.Tensor((2, 3), "float32"), or leave it out
note: the value is R.Tensor((2, 3), "float32")
  --> case:NEXT:38
   |
 NEXT |     y: R.Tensor((2, 4), "float32") = R.exp(x)
   |                                      ^^^^^^^^"""


def said(kind: str, definition: str, line: int) -> str:
    text = SAID.replace("SPACE", " " * len(definition)).replace("COLUMN", str(42 + len(definition)))
    return (
        text.replace("KIND", kind).replace("DEF", definition).replace("LINE", str(line)).replace("NEXT", str(line + 1))
    )


def test_a_native_text_is_in_error() -> None:
    module = parse(f"R.function {HEAD}{BODY}", "case")
    assert render(as_tvm_takes_them(verify(module))) == said("error", "R.function", 1)


def test_a_text_of_tvm_is_warned_of() -> None:
    module = parse(f"@R.function\ndef {HEAD}{BODY}", "case")
    found = as_tvm_takes_them(verify(module))
    assert render(found) == said("warning", "def", 2)
    assert parse(module.script(), "again").script() == module.script()


def test_what_tvm_refuses_stays_an_error() -> None:
    module = parse("@T.prim_func\ndef f(x: T.int32):\n    T.evaluate(T.Var('y', 'int32'))\n", "case")
    assert [diagnostic.severity for diagnostic in as_tvm_takes_them(verify(module))] == ["error"]
    assert CODES.keys() > TRUSTED


HEADS = {
    "native": "T.prim_func f(",
    "decorated": "@T.prim_func\ndef f(",
    "0.21": "from tvm.script import tir as T\n\n@T.prim_func\ndef f(",
    "0.27": "from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\ndef f(",
}


@pytest.mark.parametrize("dialect", HEADS)
@pytest.mark.parametrize("store", ["B[16] = A[0]", "B[-1] = A[0]", "B[0] = A[16]", "T.evaluate(A[20])"])
def test_a_definite_fault_is_an_error_in_every_dialect(dialect: str, store: str, tmp_path: Path) -> None:
    path = tmp_path / "fault.py"
    path.write_text(f'{HEADS[dialect]}A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):\n    {store}\n')
    assert main(["check", str(path)]) == 1
    assert main(["check", "--trust", "tvm-tests", str(path)]) == (1 if dialect == "native" else 0)
