"""The block builder: names, normalization, functions of tensors, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from tvms import relax, te, tir


def tensor(name: str, *shape: Any, dtype: str = "float32") -> Any:
    return relax.Var(name, relax.TensorStructInfo(shape, dtype))


def body(module: tvms.IRModule, name: str = "main") -> str:
    """The lines of a function, in the dialect of TVM 0.21."""
    lines = module.script("tvm-0.21").splitlines()
    start = next(number for number, line in enumerate(lines) if f"def {name}(" in line)
    return "\n".join(line[8:] for line in lines[start + 1 :] if line.startswith("        "))


def test_names_are_numbered_over_the_whole_builder() -> None:
    x = tensor("x", 4)
    bb = relax.BlockBuilder()
    for name in ("first", "second"):
        with bb.function(name, [x]):
            with bb.dataflow():
                lv = bb.emit(relax.op.exp(x), "value.of x")
                gv = bb.emit_output(bb.emit(relax.op.exp(lv)))
            bb.emit_func_output(gv)
    module = bb.get()
    names = [
        binding.var.name_hint
        for name in ("first", "second")
        for block in module[name].body.blocks  # type: ignore[attr-defined]
        for binding in block.bindings
    ]
    assert names == ["value_of_x", "lv", "gv", "value_of_x1", "lv1", "gv1"]


def test_arguments_that_are_calls_get_variables_once() -> None:
    x = tensor("x", 4)
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        shared = relax.op.exp(x)
        bb.emit_func_output(bb.emit((shared + shared) * 2))
    assert body(bb.get()) == (
        'gv: R.Tensor((4,), dtype="float32") = R.exp(x)\n'
        'gv1: R.Tensor((4,), dtype="float32") = R.add(gv, gv)\n'
        'gv2: R.Tensor((4,), dtype="float32") = R.multiply(gv1, R.const(2.0, "float32"))\n'
        "return gv2"
    )


def test_shapes_that_a_caller_cannot_know_are_forgotten() -> None:
    n, m = tir.Var("n", "int64"), tir.Var("m", "int64")
    x, y = tensor("x", n, 4), relax.Var("y", relax.TensorStructInfo(ndim=1))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y]):
        z = bb.match_cast(y, relax.TensorStructInfo((m,), "float32"))
        reference = bb.emit_func_output((bb.emit(relax.op.exp(x)), z))
    info = reference.struct_info.ret  # type: ignore[union-attr]
    assert str(info) == 'R.Tuple(R.Tensor((n, 4), "float32"), R.Tensor(dtype="float32", ndim=1))'
    assert tvms.verify(bb.get()) == ()


def test_functions_of_tensors_take_nested_arguments_and_scalars() -> None:
    n = tir.Var("n", "int64")
    x, y = tensor("x", n), tensor("y", n)

    def weighted(parts: list[te.Tensor], more: dict[str, te.Tensor], factor: float, offset: tir.PrimExpr) -> te.Tensor:
        (a,), b = parts, more["b"]
        return te.compute(a.shape, lambda i: a[i] * factor + b[i] + te.cast(offset, "float32"), name="weighted")

    bb = relax.BlockBuilder()
    with bb.function("main", [x, y]):
        gv = bb.emit_te(weighted, [x], {"b": y}, 0.5, n * 2)
        bb.emit_func_output(gv)
    module = bb.get()
    assert tvms.verify(module) == ()
    a, b = np.arange(3, dtype="float32"), np.ones(3, "float32")
    np.testing.assert_array_equal(tvms.interpret(module, "main", [a, b]), a / 2 + b + 6)


def test_equal_functions_of_tensors_are_made_once() -> None:
    x = tensor("x", 4)

    def twice(a: te.Tensor) -> te.Tensor:
        return te.compute(a.shape, lambda i: a[i] * 2)

    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit_te(twice, bb.emit_te(twice, x)))
    assert list(bb.get().functions) == ["twice", "main"]


def test_tuples_have_fields_and_shapes_have_dimensions() -> None:
    n = tir.Var("n", "int64")
    bb = relax.BlockBuilder()
    x = tensor("x", n, 4)
    with bb.function("main", [x]):
        first, second = bb.emit(relax.op.split(x, 2, axis=1))
        gv = bb.emit(first + second)
        bb.emit_func_output(gv)
    shape = gv.struct_info.shape
    assert len(shape) == 2
    assert shape[0] is n
    assert int(shape[1]) == 2
    with pytest.raises(TypeError, match="only a tuple has fields"):
        gv[0]


def test_public_functions_keep_their_names() -> None:
    x = tensor("x", 4)
    bb = relax.BlockBuilder()
    with bb.function("main", [x], private=True):
        inner = bb.emit_func_output(bb.emit(relax.op.exp(x)))
    y = tensor("y", 4)
    with bb.function("main", [y]):
        bb.emit_func_output(bb.emit(inner(y)))
    module = bb.finalize()
    assert {name: function.attrs.get("global_symbol") for name, function in module.functions.items()} == {
        "main2": None,
        "main": "main",
    }
    assert tvms.verify(module) == ()
    data = np.arange(4, dtype="float32")
    np.testing.assert_allclose(tvms.interpret(module, "main", [data]), np.exp(data), 1e-6)


def test_errors_show_the_line_of_the_program() -> None:
    x, y = tensor("x", 8, 4), tensor("y", 8, 5)
    with pytest.raises(tvms.TvmsError) as caught:
        _ = relax.op.exp(x) + y
    (found,) = caught.value.diagnostics
    assert found.message == "R.add cannot broadcast x1: (8, 4) and y: (8, 5), which differ in dimension 1"
    assert found.span is not None
    assert found.span.source.name == __file__
    assert found.span.source.text[found.span.start : found.span.end] == "relax.op.exp(x) + y"


@pytest.mark.parametrize(
    ("misuse", "message"),
    [
        (lambda bb, x: bb.emit(x), r"no function is being built; open one: with bb\.function\(name, params\):"),
        (lambda bb, x: _in_function(bb, x, lambda: bb.emit_output(x)), r"emit_output must be called inside a dataflow block"),
        (lambda bb, x: _in_function(bb, x, lambda: None), r"function 'main' has no result; call emit_func_output"),
        (lambda bb, x: _in_function(bb, x, lambda: (bb.emit_func_output(x), bb.emit_func_output(x))), r"already has a result"),
        (lambda bb, x: _in_function(bb, x, lambda: bb.emit_func_output(x, [x])), r"give the parameters of 'main' once"),
        (lambda bb, x: _in_function(bb, x, lambda: bb.emit_te(lambda a: 3, x)), r"must return one or several tensors, not 3"),
        (lambda bb, x: bb.function("main", [3]).__enter__(), r"a parameter is a relax\.Var, not"),
    ],
)  # fmt: skip
def test_misuse_is_refused(misuse: Any, message: str) -> None:
    with pytest.raises((RuntimeError, TypeError), match=message):
        misuse(relax.BlockBuilder(), tensor("x", 4))
    assert relax.BlockBuilder.current() is None


def _in_function(bb: Any, x: Any, act: Any) -> None:
    with bb.function("main", [x]):
        act()


def test_references_know_the_signatures_of_functions() -> None:
    """A function that takes a matrix and a number, one that fills a buffer, and an external one."""
    module = tvms.parse(
        """\
I.ir_module Module:
    T.prim_func fill(A: T.Buffer((4,), "float32"), n: T.int64):
        A[0] = T.float32(0)

    T.prim_func one() -> T.int32:
        return 1

    R.function double(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        return R.add(x, x)

    external = R.ExternFunc("external")
"""
    )
    infos = {var.name_hint: str(var.struct_info) for var in module.get_global_vars()}
    assert infos == {
        "fill": 'R.Callable((R.Tensor((4,), "float32"), R.Prim(value=n)), R.Tuple, False)',
        "one": 'R.Callable((), R.Prim("int32"), False)',
        "double": 'R.Callable((R.Tensor((n, 4), "float32"),), R.Tensor((n, 4), "float32"), True)',
        "external": "R.Callable",
    }
    call = relax.Call(module.get_global_var("double"), [relax.Var("y", relax.TensorStructInfo((2, 4), "float32"))])
    assert str(relax.BlockBuilder().normalize(call).struct_info) == 'R.Tensor((2, 4), "float32")'


def test_blocks_are_built_outside_of_functions() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    bb._begin_binding_block()
    first = bb.emit(relax.op.exp(x))
    bb._begin_dataflow_block()
    local = bb.emit(relax.op.exp(first), "inner")
    result = bb.emit_output(relax.op.add(local, x))
    inner, outer = bb._end_block(), bb._end_block()
    assert isinstance(inner, relax.DataflowBlock)
    assert not isinstance(outer, relax.DataflowBlock)
    assert [binding.var for binding in inner.bindings] == [local, result]
    assert [binding.var.name_hint for binding in (*outer.bindings, *inner.bindings)] == ["gv", "inner", "gv1"]
    with pytest.raises(RuntimeError, match="no function is being built"):
        bb._end_block()


def test_values_are_normalized_in_a_scope_without_function() -> None:
    n = tir.Var("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo((n,), "float32"))
    bb = relax.BlockBuilder()
    with bb.testing_scope(def_vars=[n]):
        call = bb.normalize(relax.op.add(relax.op.exp(x), x))
        assert isinstance(call, relax.Call)
        assert isinstance(call.args[0], relax.Var)
    bb.begin_scope([x])
    assert bb.emit(x).struct_info == x.struct_info
    bb.end_scope()
    with pytest.raises(RuntimeError, match="no function is being built"):
        bb.emit(x)


def test_parts_are_counted() -> None:
    x = relax.Var("x", relax.TensorStructInfo((2,), "float32"))
    with pytest.raises(IndexError, match="Tuple index out of range: 2, but it has 2 parts"):
        relax.Tuple([x, x])[2]
    with pytest.raises(IndexError, match="ShapeExpr index out of range: -2, but it has 1 parts"):
        relax.ShapeExpr([4])[-2]
