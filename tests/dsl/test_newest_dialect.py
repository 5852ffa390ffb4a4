"""What the dialect tvm-0.27 prints in its own words, and what it reads of them."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from tvms.dsl.load import parse
from tvms.dsl.round_trip import check_round_trip
from tvms.ir import relax, tir
from tvms.ir.diagnostics import TvmsError
from tvms.ir.interp import run
from tvms.ir.visit import walk

GRAPHS = {
    "layouts without separators": (
        'y = R.layout_transform(x, index_map=T.index_map(lambda i, j: (j, i)))',
        "R.layout_transform(x, index_map=T.index_map(lambda i, j: (j, i)), pad_value=None)",
    ),
    "take": ('y = R.take(x, R.const(1, "int64"), axis=0)', 'R.take(x, R.const(1, "int64"), axis=0)'),
    "take with a mode": (
        'y = R.take(x, R.const(1, "int64"), axis=0, mode="clip")',
        'R.take(x, R.const(1, "int64"), axis=0, mode="clip")',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_arguments_that_a_version_lacks_are_printed_only_if_they_matter(name: str) -> None:
    line, printed = GRAPHS[name]
    module = parse(f'R.function main(x: R.Tensor((2, 4), "float32")):\n    {line}\n    return y\n')
    assert printed in module.script("tvm-0.27")
    assert check_round_trip(module, name) == ()


@pytest.mark.parametrize("value", ["T.broadcast(A[0], 2)", "T.vectorlow(T.broadcast(A[0], 4))", "T.address_of(A[1])"])
def test_a_binding_without_a_typed_name_does_not_become_a_mutable_scalar(value: str) -> None:
    dtype = ', dtype="float32x2"' if "vectorlow" in value else ""
    value = f"{value[:-1]}{dtype})"
    module = parse(
        f'T.prim_func f(A: T.Buffer((4,), "float32")):\n    x = {value}\n    T.call_extern("int32", "use", x)\n'
    )
    assert "    x: T.let = T." in module.script("tvm-0.27")
    assert check_round_trip(module, "f") == ()


@pytest.mark.parametrize(
    ("call", "dtype"),
    [
        (
            'T.ptx_legacy.mma("m8n8k4", "row", "col", "fp16", "fp16", "fp32", A.data, 0, A.data, 0, B.data, 0, T.bool(False))',
            "void",
        ),
        ('T.ptx_legacy.ldmatrix(T.bool(False), 4, ".b16", A.data, 0, B.data, 0)', "float16"),
    ],
)
def test_matrix_instructions_may_leave_out_their_dtype(call: str, dtype: str) -> None:
    head = 'def f(A: T.Buffer((16,), "float16"), B: T.Buffer((16,), "float32")):'
    module = parse(f"@T.prim_func(s_tir=True)\n{head}\n    {call}\n")
    [found] = [node for node in walk(module["f"]) if isinstance(node, tir.Call)]
    assert found.dtype == dtype or dtype == "void"


def test_numbers_in_the_text_of_a_target_are_numbers() -> None:
    text = '@T.prim_func\ndef f(A: T.Buffer((1,), "float32")):\n    T.func_attr({"target": T.target("llvm -opt-level=2 -mcpu=native")})\n'
    target = parse(f"{text}    A[0] = T.float32(0)\n")["f"].attrs["target"]
    assert target.attrs == {"kind": "llvm", "opt-level": 2, "mcpu": "native"}


PASSED = {
    "a name": 'n: R.Prim("int64"), x: R.Tensor([n], "float32")',
    "a string": 'x: R.Tensor(["n"], "float32"), n: R.Prim("int64")',
    "an expression": 'n: R.Prim("int64"), x: R.Tensor(["n + 1"], "float32")',
    "as TVM prints it": 'n: T.int64, x: R.Tensor(("n",), dtype="float32")',
}


@pytest.mark.parametrize("name", PASSED)
def test_a_scalar_parameter_is_the_dimension_of_its_name(name: str) -> None:
    module = parse(f"@R.function\ndef f({PASSED[name]}):\n    return x\n")
    function = module["f"]
    assert isinstance(function, relax.Function)
    [n] = [node for node in walk(function.params[1 if name == "a string" else 0]) if isinstance(node, tir.Var)]
    tensor = function.params[0 if name == "a string" else 1]
    assert n in set(walk(tensor))
    assert "n: T.int64" in module.script("tvm-0.27")
    assert check_round_trip(module, name) == ()


def test_known_scalars_compute() -> None:
    text = """@R.function
def f(m: R.Prim("int64"), n: R.Prim("int64")):
    total: R.Prim("int64") = m + n * 2
    two: R.Prim("int32") = 2
    again = R.prim_value(total)
    return (total, two, again)
"""
    module = parse(text)
    printed = module.script("tvm-0.27")
    assert "total: T.int64 = m + n * 2" in printed
    assert "two: T.int32 = T.int32(2)" in printed
    assert not {"R.Prim(", "R.prim_value"} & {word for word in ("R.Prim(", "R.prim_value") if word in printed}
    assert check_round_trip(module, "f") == ()


def test_scalars_are_plain_expressions_and_types() -> None:
    text = """#tvms 1

R.function f(x: R.Tensor(("n",), "float32"), k: R.Prim("int32")) -> R.Tuple(R.Prim("float32"), R.Prim("int64")):
    n = T.int64()
    y = R.call_tir(g, (x, R.prim_value(n * 2)), out_sinfo=R.Tensor((n,), "float32"))
    half: R.Prim(value=T.float32(0.5)) = R.prim_value(T.float32(0.5))
    wide: R.Prim("int64") = R.prim_value(n)
    return (half, R.prim_value(n))
"""
    module = parse(text.replace("call_tir(g", 'call_dps_packed("g"'))
    body = module.script("tvm-0.27").partition("def ")[2].splitlines()
    assert body == [
        'f(x: R.Tensor(("n",), dtype="float32"), k: T.int32) -> R.Tuple(R.Prim("float32"), R.Prim("int64")):',
        "    n = T.int64()",
        '    y = R.call_dps_packed("g", (x, n * 2), out_ty=R.Tensor((n,), dtype="float32"))',
        "    half: T.float32 = T.float32(0.5)",
        "    wide: T.int64 = R.prim_value(n)",
        "    return (half, n)",
    ]
    assert check_round_trip(module, "f") == ()


def test_a_scalar_result_is_a_plain_expression() -> None:
    module = parse('#tvms 1\n\nR.function f() -> R.Prim("int64"):\n    return R.prim_value(1)\n')
    assert module.script("tvm-0.27").endswith("def f() -> T.int64:\n    return 1")
    assert module.script("tvm-0.21").endswith("    return R.prim_value(1)")


def test_variables_are_declared_before_the_dataflow_block_that_uses_them() -> None:
    info = tvms.relax.TensorStructInfo([tir.Var("int64", "n")], "float32")
    value = tvms.relax.op.exp(tvms.relax.Var("a", info))
    block = relax.DataflowBlock((relax.VarBinding(tvms.relax.Var("b", info), value),))
    lines = block.script("tvm-0.27").splitlines()
    assert [line.strip() for line in lines[:3]] == [
        "n = T.int64()",
        'a: R.Tensor((n,), dtype="float32")',
        "with R.dataflow():",
    ]
    assert block.script("tvm-0.21").splitlines()[0] == "with R.dataflow():"


def test_what_0_27_prints_above_a_program_is_no_comment_of_it() -> None:
    text = "# from tvm.script import tirx as T\n# from tvm.tirx.layout import Axis\n\n@T.prim_func(s_tir=True)\ndef f():\n    T.evaluate(0)"
    module = parse(text)
    assert module.script("tvm-0.27") == text
    assert "Axis" not in module.script()


def test_a_scalar_that_no_dimension_uses_stays_one() -> None:
    module = parse('@R.function\ndef f(n: R.Prim("int64"), m: R.Prim("int64")):\n    s = R.add(n, m)\n    return s\n')
    assert not [node for node in walk(module["f"]) if isinstance(node, tir.Var)]
    assert check_round_trip(module, "f") == ()


ASSERTIONS = {
    '"one"': '"one"',
    '("RuntimeError", ["one"])': '"one"',
    '("ValueError", ["one"])': '("ValueError", ["one"])',
    '("RuntimeError", ["one ", "two"])': '("RuntimeError", ["one ", "two"])',
}


@pytest.mark.parametrize("said", ASSERTIONS)
def test_assertions_keep_their_exception_and_parts(said: str) -> None:
    module = parse(f"@T.prim_func\ndef f(x: T.int32):\n    assert x > 0, {said}\n    T.evaluate(x)\n")
    assert f"assert x > 0, {ASSERTIONS[said]}" in module.script("tvm-0.27")
    assert check_round_trip(module, "f") == ()


def test_a_message_of_an_assertion_is_text() -> None:
    with pytest.raises(TvmsError) as raised:
        parse('@T.prim_func\ndef f(x: T.int32):\n    assert x > 0, ("ValueError", x)\n    T.evaluate(x)\n', "f.py")
    assert (
        str(raised.value)
        == """error[E0202]: expected a string, got a tuple
  --> f.py:3:19
   |
 3 |     assert x > 0, ("ValueError", x)
   |                   ^^^^^^^^^^^^^^^^^
   = help: write "wrong size", or ("ValueError", ["wrong ", "size"])"""
    )


LINES = {
    'T.Call("tirx.isnullptr", [A.data], ret_ty="bool")': "T.isnullptr(A.data)",
    'T.tvm_storage_sync("shared", T.bool(False), -1)': 'T.tvm_storage_sync("shared")',
    'B = T.alloc_local((4,), annotations={"k": 1})\n    T.evaluate(B[0])': 'T.alloc_buffer((4,), scope="local", annotations={"k": 1})',
    'n = T.Var("n", ty="int32")\n    T.evaluate(n)': "T.evaluate(n)",
}


@pytest.mark.parametrize("line", LINES)
def test_forms_of_the_newest_tvm_are_read(line: str) -> None:
    module = parse(f"@T.prim_func(s_tir=True)\ndef f(A: T.Buffer((4,))):\n    {line}\n")
    assert LINES[line] in module.script("tvm-0.27")


def test_infinities_are_numbers() -> None:
    text = 'R.function f():\n    x = R.add(R.const(float("-inf"), "float32"), R.const(float("nan"), "float32"))\n    return x\n'
    module = parse(text)
    for dialect in ("tvm-0.21", "tvm-0.27"):
        assert 'R.const(float("-inf"), "float32")' in module.script(dialect)
    assert check_round_trip(module, "f") == ()


def test_a_list_of_one_result_is_that_result() -> None:
    text = """@I.ir_module
class Module:
    @T.prim_func
    def copy(A: T.Buffer((4,)), B: T.Buffer((4,))):
        for i in range(4):
            B[i] = A[i]

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Module
        y = R.call_tir_with_grad(cls.copy, (x,), out_ty=[R.Tensor((4,), "float32")], te_grad_name="g")
        return y
"""
    module = parse(text)
    assert 'out_ty=R.Tensor((4,), dtype="float32")' in module.script("tvm-0.27")
    assert check_round_trip(module, "f") == ()


def test_the_values_of_an_assertion_are_one_argument() -> None:
    text = """R.function(pure=False) f(n: R.Prim(value="n")) -> R.Tuple:
    n = T.int64()
    R.assert_op(R.prim_value(n > 0), R.prim_value(n), R.prim_value(n + 1), format="{} {}")
    return R.tuple()
"""
    module = parse(text)
    for dialect in ("tvm-0.21", "tvm-0.27"):
        printed = module.script(dialect)
        assert "[R.prim_value(n" in printed
        assert "+ 1)], format=" in printed
    assert check_round_trip(module, "f") == ()


@pytest.mark.parametrize("uses", ["m[0] = A[0]", "M[0] = A[0]", "T.evaluate(m.data)"])
@pytest.mark.parametrize("comment", ["", "    # why\n"])
@pytest.mark.parametrize("annotations", ["", ', annotations={"k": 1}'])
def test_a_second_buffer_of_an_allocation_stays_one(uses: str, comment: str, annotations: str) -> None:
    text = f"""@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,))):
    m = T.alloc_buffer((4,){annotations})
{comment}    M = T.decl_buffer((4,), data=m.data)
    {uses}
"""
    module = parse(text)
    assert "M = T.decl_buffer((4,), data=m.data)" in module.script("tvm-0.27")
    assert check_round_trip(module, "f") == ()


def test_a_dimension_that_is_not_1_stays_when_it_is_squeezed() -> None:
    text = 'R.function f(x: R.Tensor((3, 1, 4), "float32")):\n    y = R.squeeze(x, axis=[0, 1])\n    return y\n'
    module = parse(text)
    assert '-> R.Tensor((3, 4), "float32")' in module.script()
    value = np.arange(12, dtype="float32").reshape(3, 1, 4)
    assert np.array_equal(run(module, "f", [value]), value[:, 0])


def test_constants_of_a_function_of_the_loop_level_keep_their_dtype_in_a_graph() -> None:
    text = "R.function f():\n    x = R.prim_value(T.FloorDiv(T.int64(32), T.int64(4)))\n    return x\n"
    module = parse(text)
    assert "T.FloorDiv(T.int64(32), T.int64(4))" in module.script("tvm-0.27")
    assert check_round_trip(module, "f") == ()


def test_the_comment_of_a_root_block_comes_before_comments_of_nothing() -> None:
    text = """@T.prim_func(s_tir=True)
def main(A: T.Buffer((4,))):
    # the name
    T.func_attr({"global_symbol": "main"})
    B = T.sblock_alloc_buffer((4,))
    for i in range(4):
        with T.sblock("b"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi]
"""
    printed = parse(text).script("tvm-0.27")
    assert '    # with T.sblock("root"):\n    # the name\n    B = ' in printed
    assert parse(printed).script("tvm-0.27") == printed


CALLS = {
    "a type that a call makes": (
        'y = R.call_inplace_packed("f", o, x, inplace_indices=[0], sinfo_args=(R.Object,))',
        'R.call_inplace_packed("f", o, x, inplace_indices=[0], ty_args=(R.Any(),))',
    ),
    "no type": ('y = R.call_builtin_with_ctx("f", (x,))', 'R.call_builtin_with_ctx("f", (x,), ty_args=())'),
    "a type that is converted": (
        'y = R.call_pure_packed("f", x, sinfo_args=(R.Object,))',
        'R.call_pure_packed("f", x, ty_args=(R.Any,))',
    ),
    "types of an operator": (
        'y = R.emit_with_sinfo("relax.add", (x, x), (R.Tensor((2, 4), "float32"),))',
        'R.emit_with_ty("relax.add", (x, x), (R.Tensor((2, 4), dtype="float32"),))',
    ),
    "a function of Python": (
        'y = R.call_py_func("relu", (x,), out_sinfo=R.Tensor((2, 4), "float32"))',
        'R.call_py_func(R.str("relu"), (x,), out_ty=R.Tensor((2, 4), dtype="float32"))',
    ),
    "a device": (
        'y = R.memory.alloc_tensor(o, 0, R.shape([4]), R.dtype("float32"), 1)',
        'R.memory.alloc_tensor(o, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(1))',
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_state_types_as_the_newest_version_takes_them(name: str) -> None:
    line, printed = CALLS[name]
    head = 'R.function(pure=False) main(x: R.Tensor((2, 4), "float32"), o: R.Object):'
    module = parse(f"{head}\n    {line}\n    return x\n")
    assert printed in module.script("tvm-0.27")
    assert check_round_trip(module, name) == ()
    assert line.replace('"relu"', 'R.str("relu")').split("(")[0] in module.script()


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ('R.emit_with_sinfo("relax.ad", (x, x))', "E0301"),
        ('R.emit_with_sinfo("relax.add", x)', "E0321"),
        ('R.call_py_func("relu", (x,))', "E0105"),
    ],
)
def test_wrong_calls_with_types_are_reported(call: str, code: str) -> None:
    with pytest.raises(TvmsError) as caught:
        parse(f'R.function main(x: R.Tensor((4,), "float32")):\n    y = {call}\n    return y\n')
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == [code]


def test_functions_of_the_virtual_machine_have_their_newer_names() -> None:
    module = parse(
        '#tvms 1\n\nR.function f(x: R.Tensor((4096,), "float32")) -> R.Tensor((64, 64), "float32"):\n'
        "    y = R.memory.view(x, R.shape([64, 64]))\n    return y\n"
    )
    lowered = tvms.relax.transform.LowerRuntimeBuiltin()(module)
    newer, older = lowered.script("tvm-0.27"), lowered.script("tvm-0.21")
    assert ('"runtime.TVMTensorCreateView"' in newer, '"tvm.relax.type.infer_view_ty"' in newer) == (True, True)
    assert ('"runtime.TVMArrayCreateView"' in older, "infer_view_sinfo" in older) == (True, True)
    assert tvms.ir.structural_equal(parse(newer), lowered)
    assert tvms.ir.structural_equal(parse(older), lowered)


def test_a_view_has_a_dtype() -> None:
    with pytest.raises(TvmsError, match=r"R\.memory\.view needs the dtype of elements, which void is not"):
        parse('R.function f(x: R.Tensor("float32")):\n    return R.memory.view(x, dtype=R.dtype("void"))\n')
