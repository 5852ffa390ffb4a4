"""`relax.testing.dump_ast` shows the nodes of a program."""

from __future__ import annotations

import pytest
import tvms
from tvms import relax
from tvms.relax.testing import dump_ast
from tvms.script import relax as R

TEXT = """
R.function(pure=False) main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")) -> R.Tuple(R.Tensor, R.Shape(ndim=2)):
    R.func_attr({"kind": "test"})
    if c:
        y = R.add(x, R.const(1.0))
    else:
        y = x
    n = T.int64()
    z = R.match_cast(y, R.Tensor((n, 4), "float32"))
    w = R.call_packed("f", z, R.str("s"), R.dtype("int8"), sinfo_args=R.Callable((R.Object,), R.Prim("int32")))
    with R.dataflow():
        t = (z, R.shape_of(z))
        u = t[0]
        v = R.sum(u, axis=[0], keepdims=True)
        R.output(t)
    return t
"""
EXPECTED = """
Call(
    op=Op(name="relax.sum"),
    args=[DataflowVar(name_hint="u")],
    attrs={
        "axis": (0,),
        "keepdims": True
    }
)
"""


def calls_of(function: relax.Function) -> list[str]:
    blocks = function.body.blocks
    return [dump_ast(binding.value, include_struct_info_annotations=False) for binding in blocks[-1].bindings]


def test_a_call_is_shown_line_by_line() -> None:
    function = tvms.parse(TEXT)["main"]
    assert calls_of(function)[-1] == EXPECTED.strip()
    wide = dump_ast(function.body.blocks[-1].bindings[-1].value, "  ", False, False)
    assert wide == 'Call(\n  op=Op(name="relax.sum"),\n  args=[DataflowVar(name_hint="u")]\n)'


def test_every_kind_of_node_is_in_the_text_of_a_function() -> None:
    text = dump_ast(tvms.parse(TEXT)["main"])
    kinds = [
        "Function",
        "SeqExpr",
        "BindingBlock",
        "DataflowBlock",
        "VarBinding",
        "MatchCast",
        "Var",
        "DataflowVar",
        "If",
        "Call",
        "Op",
        "ExternFunc",
        "Constant",
        "Tuple",
        "TupleGetItem",
        "StringImm",
        "DataTypeImm",
        "PrimExpr",
        "ShapeExpr",
        "TensorStructInfo",
        "ShapeStructInfo",
        "TupleStructInfo",
        "FuncStructInfo",
        "ObjectStructInfo",
        "PrimStructInfo",
    ]
    assert [kind for kind in kinds if f"{kind}(" not in text] == []
    assert 'attrs={"kind": "test", "global_symbol": "main"}' in " ".join(text.split()).replace("{ ", "{").replace(
        " }", "}"
    )
    for opening, closing in ("()", "[]"):
        assert text.count(opening) == text.count(closing)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (relax.Var("x"), 'Var(name_hint="x")'),
        (relax.ObjectStructInfo(), "ObjectStructInfo()"),
        (relax.TupleStructInfo([]), "TupleStructInfo(fields=[])"),
        (R.Tensor([2], "int8"), None),
        (relax.ShapeStructInfo(ndim=2), "ShapeStructInfo(ndim=2)"),
    ],
)
def test_single_nodes(node: relax.Expr, expected: str | None) -> None:
    text = dump_ast(node)
    assert text == expected or (expected is None and text.startswith("TensorStructInfo(\n    dtype=int8,\n    shape="))


def test_the_newest_names_follow_from_the_newest_option() -> None:
    var = relax.Var("x", relax.TensorStructInfo((2,), "float32"))
    text = dump_ast(var, include_ty_annotations=True)
    assert 'name="x"' in text
    assert "ty=TensorType(" in text
    assert "Expr(value=`T.int64(2)`)" in text
    assert "StructInfo" not in text
    assert dump_ast(var, include_ty_annotations=False) == 'Var(name="x")'
