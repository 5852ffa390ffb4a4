"""Normal form of bodies that are values, and of variables without struct info."""

from __future__ import annotations

import tvms
from tvms import relax


def scalar(name: str, is_local: bool = False) -> relax.Var:
    kind = relax.DataflowVar if is_local else relax.Var
    return kind(name, relax.TensorStructInfo((), "int32"))


def nested(is_dataflow: bool) -> relax.SeqExpr:
    """Return `b = 2; {c = b}; d = c; d`, in which the middle block is a dataflow block if `is_dataflow`."""
    b, c, d = map(scalar, "bcd")
    middle = (relax.DataflowBlock if is_dataflow else relax.BindingBlock)([relax.VarBinding(c, b)])
    first = relax.BindingBlock([relax.VarBinding(b, relax.const(2, "int32"))])
    return relax.SeqExpr([first, middle, relax.BindingBlock([relax.VarBinding(d, c)])], d)


def test_blocks_of_a_body_come_before_its_binding() -> None:
    a, y = map(scalar, "ay")
    block = relax.BindingBlock([relax.VarBinding(a, relax.const(1, "int32")), relax.VarBinding(y, nested(True))])
    function = relax.Function([], relax.SeqExpr([block], y), ret_struct_info=y.struct_info)
    after = relax.transform.Normalize()(tvms.IRModule({"main": function}))
    tvms.verify(after)
    kinds = [
        (type(block).__name__, [binding.var.name_hint for binding in block.bindings])
        for block in after["main"].body.blocks
    ]
    assert kinds == [("BindingBlock", ["a", "b"]), ("DataflowBlock", ["c"]), ("BindingBlock", ["d", "y"])]
    assert tvms.interpret(after, "main", []).item() == 2


def test_the_builder_emits_the_blocks_of_a_body() -> None:
    bb = relax.BlockBuilder()
    with bb.function("main", []):
        with bb.dataflow():
            bb.emit(relax.const(1, "int32"), "unused")
            value = bb.emit(nested(False), "e")
            out = bb.emit_output(value, "f")
        bb.emit_func_output(out)
    blocks = bb.get()["main"].body.blocks
    kinds = [(type(block).__name__, [binding.var.name_hint for binding in block.bindings]) for block in blocks]
    assert kinds == [("DataflowBlock", ["unused"]), ("BindingBlock", ["b", "c", "d"]), ("DataflowBlock", ["e", "f"])]
    tvms.verify(bb.get())


def test_variables_get_struct_info() -> None:
    x, y = scalar("x"), relax.Var("y")
    seq = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(y, relax.op.add(x, x))])], y)
    function = relax.Function([x], seq, ret_struct_info=x.struct_info)
    after = relax.transform.Normalize()(tvms.IRModule({"main": function}))
    (binding,) = after["main"].body.blocks[0].bindings
    assert str(binding.var.struct_info) == 'R.Tensor((), "int32")'
    assert after["main"].body.body is binding.var


def test_the_result_gets_the_struct_info_of_the_body() -> None:
    x, y = relax.Var("x", relax.TensorStructInfo((3,), "float32")), relax.Var("y")
    block = relax.BindingBlock([relax.VarBinding(y, relax.op.add(x, x))])
    result = relax.TensorStructInfo(None, "float32", ndim=1)
    function = relax.Function([x], relax.SeqExpr([block], y), result)
    after = relax.transform.Normalize()(tvms.IRModule.from_expr(function))["main"]
    assert tvms.structural_equal(after.ret_struct_info, x.struct_info)
