"""What TVM takes on trust is a warning in a text of its dialects, and an error in a native one."""

from __future__ import annotations

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
KIND[E0438]: function 'main' does not return what it says: dimension 0 is 2, not 3
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
    assert [each.severity for each in as_tvm_takes_them(verify(module))] == ["error"]
    assert CODES.keys() > TRUSTED
