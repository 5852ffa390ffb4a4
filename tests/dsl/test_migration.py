"""`tvms migrate`: texts for older versions of TVM become texts for the newest one, with their layout and comments."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tvms import parse
from tvms.dsl.cli import main
from tvms.dsl.compatibility import dialect_of
from tvms.dsl.diagnostics import in_order, render
from tvms.dsl.migration import Migration, migrate
from tvms.dsl.newest import widened
from tvms.ir.diagnostics import Source
from tvms.ir.equal import structural_equal
from tvms.ir.tir import PrimFunc
from tvms.testing import prim_funcs

OLD = """\
# A script of TVM 0.21.
from tvm.script import ir as I, relax as R, tir as T


@I.ir_module
class Module:
    @T.prim_func(private=True)
    def double(A: T.Buffer((4,4), "float32"), B: T.Buffer((4,4), "float32")):
        T.func_attr({"tir.noalias": True, 'tir.y': "double"})
        C = T.alloc_buffer((4,4))   # between
        for i,j in T.grid(4,4):
            with T.block("C"):  # tir.block
                vi, vj = T.axis.remap("SS", [i, j])
                two: T.float32 = T.float32(2)
                C[vi, vj] = A[vi, vj] * two
        for i, j in T.grid(4, 4):
            with T.block("B"):
                vi, vj = T.axis.remap( "SS", [i, j])
                T.block_attr({"tir.x": 1})
                B[vi, vj] = C[vi, vj]

    @R.function
    def main(x: R.Tensor((4, 4), "float32"), o: R.Object):
        y = R.call_tir(Module.double, (x,), out_sinfo=R.Tensor((4, 4), "float32"))
        return y
"""
NEW = (
    OLD.replace("tir as T", "tirx as T")
    .replace("private=True)", "private=True, s_tir=True)")
    .replace('"tir.', '"tirx.')
    .replace("'tir.", "'tirx.")
    .replace("T.alloc_buffer", "T.sblock_alloc_buffer")
    .replace("T.block", "T.sblock")
    .replace("two: T.float32", "two: T.let[T.float32]")
    .replace("R.Object", "R.Any")
    .replace("out_sinfo", "out_ty")
)


def test_renamed_forms_change_and_nothing_else() -> None:
    migration = migrate(Source("old.py", OLD))
    assert migration.text == NEW
    assert (migration.renamed, migration.printed, migration.found) == (1, 0, ())
    assert structural_equal(parse(OLD), parse(NEW))
    assert migrate(Source("new.py", NEW)).text == NEW


HOST = """\
import os
from tvm.script import tir as T

print(os)

class TestReturn:
    @T.prim_func
    def one() -> T.int32:
        # the result
        T.evaluate(T.ret(T.int32(1)))   # here

    @T.prim_func
    def allocating(A: T.Buffer((4,), "float32")):
        data = T.allocate([4], "float32", "global")
        B = T.Buffer((4,), data=data)
        B[0] = T.float32(1)
        A[0] = B[0]

def make(n):
    @T.prim_func
    def unknown(A: T.Buffer((n,), "float32")):
        with T.block("b"):  # text
            A[0] = T.float32(n)
    return unknown
"""


def test_definitions_in_a_program() -> None:
    migration = migrate(Source("host.py", HOST))
    assert (migration.renamed, migration.printed, migration.found) == (2, 1, ())
    start, end = HOST.index("    @T.prim_func\n    def allocating"), HOST.index("def make")
    lines = migration.text.splitlines()
    assert "        return T.int32(1)   # here" in lines
    assert '        with T.sblock("b"):  # text' in lines
    assert "        data = T.alloc_buffer((4,))" in lines
    assert "from tvm.script import tirx as T" in lines
    assert migration.text.endswith(
        HOST[end:].replace("T.block", "T.sblock").replace("@T.prim_func", "@T.prim_func(s_tir=True)")
    )
    assert HOST[:start].replace("tir as", "tirx as").split("    @T.prim_func")[0] in migration.text


def test_what_cannot_be_migrated_stays_with_a_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = HOST.replace('with T.block("b"):  # text', "B = T.decl_buffer((n,))").replace(
        "            A[0] = T", "        A[0] = T"
    )
    path = tmp_path / "host.py"
    path.write_text(text)
    assert main(["migrate", str(path)]) == 2
    assert (
        capsys.readouterr().err
        == f"""\
error[E0822]: 'unknown' is not read: it captures 'n', whose value only the running program knows
   --> {path}:20:5
    |
 20 |     @T.prim_func
    |     ^^^^^^^^^^^^
    = help: give it: -D n=VALUE
note: 'n' is bound here
   --> {path}:19:10
    |
 19 | def make(n):
    |          ^
1 file migrated (1 in part), 0 left unchanged: 1 definition by renaming, 1 printed anew
"""
    )
    after = path.read_text()
    assert after.endswith(text[text.index("def make") :])
    assert "from tvm.script import tirx as T" in after


def test_the_rest_of_a_file_migrated_in_part_is_migrated_later() -> None:
    text = HOST.replace('with T.block("b"):  # text', 'data = T.allocate([n], "float32", "global")').replace(
        "            A[0] = T", "        A[0] = T"
    )
    partly = migrate(Source("host.py", text))
    assert [found.code for found in partly.found] == ["E0822"]
    assert (partly.renamed, partly.printed) == (1, 1)
    wholly = migrate(Source("host.py", partly.text), {"n": 4})
    assert (wholly.renamed, wholly.printed, wholly.found) == (0, 1, ())
    assert "        data = T.alloc_buffer((4,))" in wholly.text
    assert "tir as T" not in wholly.text
    assert "T.allocate(" not in wholly.text


def test_imports_stay_where_no_definition_is_migrated() -> None:
    text = "import os\nfrom tvm.script import tir as T\n\nprint(os)\n\n@T.prim_func\ndef f():\n    T.nothing()\n"
    migration = migrate(Source("host.py", text))
    assert [found.code for found in migration.found] == ["E0103"]
    assert migration.text == text


def test_functions_in_a_rewriter_are_definitions() -> None:
    text = (
        "from tvm.script import relax as R\n\n\n@R.rewriter\nclass Rewriter:\n    @R.function\n"
        "    def pattern(x: R.Object):\n        return x\n\n    @R.function\n    def replacement(x: R.Object):\n        return x\n"
    )
    migration = migrate(Source("host.py", text))
    assert (migration.renamed, migration.found) == (2, ())
    assert migration.text == text.replace("R.Object", "R.Any")


def test_calls_with_types_have_the_newest_name() -> None:
    text = (
        'from tvm.script import relax as R\n\n\n@R.function\ndef f(x: R.Tensor((4,), "float32")):\n'
        '    y = R.emit_with_sinfo("relax.add", (x, x), (R.Tensor((4,), "float32"),))\n    return y\n'
    )
    migration = migrate(Source("host.py", text))
    assert (migration.renamed, migration.found) == (1, ())
    assert migration.text == text.replace("emit_with_sinfo", "emit_with_ty")


def test_a_meta_class_is_part_of_the_program() -> None:
    text = (
        "from tvm.script import tirx as T\n\n\n@T.meta_class\nclass Ring:\n    def __init__(self, depth, *, stage=0):\n"
        "        raise ValueError(depth)\n"
    )
    migration = migrate(Source("host.py", text))
    assert (migration.renamed, migration.found, migration.text) == (0, (), text)


def test_an_internal_error_in_a_file_does_not_end_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.py").write_text(OLD)

    def fails_on_b(source: Source, values: object) -> object:
        if source.name.endswith("b.py"):
            raise ZeroDivisionError("planted")
        return migrate(source)

    monkeypatch.delenv("TVMS_DEBUG", raising=False)
    monkeypatch.setattr("tvms.dsl.cli.migrate_command.migrate", fails_on_b)
    assert main(["migrate", str(tmp_path)]) == 3
    assert (
        capsys.readouterr().err
        == f"""\
internal error in '{tmp_path}/b.py': ZeroDivisionError: planted
  = help: this is a bug in tvms; set TVMS_DEBUG=1 for a traceback, and please report it with the file
2 files migrated, 1 left unchanged: 2 definitions by renaming, 0 printed anew
"""
    )
    assert [(tmp_path / f"{name}.py").read_text() for name in ("a", "b", "c")] == [NEW, OLD, NEW]


@pytest.mark.parametrize("command", ["fmt", "port", "migrate"])
def test_all_files_are_read_after_an_internal_error(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **options: object) -> object:
        raise ZeroDivisionError("planted")

    for name in ("a", "b"):
        (tmp_path / f"{name}.py").write_text(OLD)
    monkeypatch.delenv("TVMS_DEBUG", raising=False)
    monkeypatch.setattr(f"tvms.dsl.cli.{command}_command.read_source", fails)
    assert main([command, str(tmp_path)]) == 3
    said = capsys.readouterr().err
    assert [f"internal error in '{tmp_path}/{name}.py': ZeroDivisionError: planted" in said for name in "ab"] == [
        True,
        True,
    ]
    assert [(tmp_path / f"{name}.py").read_text() for name in "ab"] == [OLD, OLD]


def test_what_precedes_printed_definitions_stays_once() -> None:
    old = (
        "# About the script.\n\nfrom tvm.script import tir as T\n\nN = 4\n\n# About the function.\n@T.prim_func\n"
        'def f(A: T.Buffer((N,), "float32")):\n    data = T.allocate([N], "float32", "global")\n'
        "    B = T.Buffer((N,), data=data)\n    B[0] = T.float32(1)\n    A[0] = B[0]\n"
    )
    migration = migrate(Source("old.py", old))
    assert (migration.printed, migration.found) == (1, ())
    start = old.index("@T.prim_func")
    assert migration.text.startswith(old[:start].replace("tir as", "tirx as") + "@T.prim_func(s_tir=True)\n")
    assert migration.text.count("About") == 2


def test_looking_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "old.py"
    path.write_text(OLD)
    assert main(["migrate", "--check", str(path)]) == 1
    assert main(["migrate", "--diff", str(path)]) == 1
    assert "+from tvm.script import ir as I, relax as R, tirx as T" in capsys.readouterr().out
    assert path.read_text() == OLD
    assert main(["migrate", str(tmp_path)]) == 0
    assert path.read_text() == NEW


NATIVE = 'T.prim_func f(A: T.Buffer((4,), "float32")):\n    with T.block("b"):\n        A[0] = 1.0\n'


def test_our_own_dialect_stays() -> None:
    assert migrate(Source("f.tvms", NATIVE)).text == NATIVE


@given(prim_funcs(), st.booleans())
def test_the_newest_form_of_any_function_is_the_same_program(function: PrimFunc, is_inside: bool) -> None:
    text: str = "from tvm.script import tir as T\n\n" + function.script("tvm-0.21") + "\n"  # type: ignore[reportAttributeAccessIssue]
    old = f"import os\nprint(os)\n{text}" if is_inside else text
    migration = migrate(Source("old.py", old))
    assert not migration.found
    assert " T.block(" not in migration.text.replace("# with T.block", "")
    if dialect_of(Source("old.py", old)) != "tvm-0.27":
        assert "tirx as T" in migration.text
    new = migration.text.removeprefix("import os\nprint(os)\n")
    assert structural_equal(widened(parse(text)), widened(parse(new)), map_free_vars=True)


def test_forms_that_the_newest_tvm_does_not_have_are_reported() -> None:
    old = """from tvm.script import relax as R

@R.function
def f(x: R.Tensor((4, 4), "float32")):
    n: R.Prim("int64") = R.inspect.tensor_shape_i(x, R.prim_value(0))
    y = R.layout_transform(x, index_map=lambda i, j: (j, i), axis_separators=[1])
    z = R.layout_transform(x, index_map=lambda i, j: (j, i), axis_separators=[])
    o: R.Object = z
    return y
"""
    migration = migrate(Source("old.py", old))
    assert "o: R.Any" in migration.text
    assert (
        str(render(in_order(migration.found)))
        == """\
warning[E0816]: the newest TVM has no 'R.inspect.tensor_shape_i', and refuses this definition
  --> old.py:5:26
   |
 5 |     n: R.Prim("int64") = R.inspect.tensor_shape_i(x, R.prim_value(0))
   |                          ^^^^^^^^^^^^^^^^^^^^^^^^
   = help: replace it by hand, or keep the definition for the version that it was written for

warning[E0816]: the newest TVM has no 'axis_separators=', and refuses this definition
  --> old.py:6:62
   |
 6 |     y = R.layout_transform(x, index_map=lambda i, j: (j, i), axis_separators=[1])
   |                                                              ^^^^^^^^^^^^^^^^^^^
   = help: replace it by hand, or keep the definition for the version that it was written for"""
    )


RENEWED = {
    'with T.block(f"b_{name}"):\n        A[0] = T.float32(1)': 'with T.sblock(f"b_{name}"):\n        A[0] = T.float32(1)',
    'B = T.Buffer((4,), "e4m3_float8x2", data=A.data)\n    B[0] = B[1]': 'B = T.decl_buffer((4,), "float8_e4m3fnx2", data=A.data)\n    B[0] = B[1]',
    'p: T.handle("float32") = T.tvm_struct_get(A.data, 0, 1, dtype="handle")': 'p: T.let[T.handle("float32")] = T.tvm_struct_get(A.data, 0, 1, dtype=T.handle("float32").ty)',
    'T.Call("int32", tvm.ir.Op.get("tir.tvm_call_packed"), ["f"])': 'T.call_packed("f")',
    'T.ptx_cp_async(C.data, 0, A.data, 4, 16, dtype="float32")': 'T.s_tir.cp_async_raw("float32", C.data, 0, A.data, 4, 16)',
    'T.ptx.cp_async.legacy("float32", C.data, 0, A.data, 4, 16)': 'T.s_tir.cp_async_raw("float32", C.data, 0, A.data, 4, 16)',
    'A[0] = T.call_intrin("float32", "tir.exp", A[1])': 'A[0] = T.call_intrin("float32", "tirx.exp", A[1])',
    "p: T.Ptr[T.float32] = T.address_of(A[1])": 'p: T.let[T.handle("float32", "global")] = T.call_intrin(T.handle("float32", "global").ty, "tirx.address_of", A[1])',
    "with T.LetStmt(A[0]) as x:\n        A[1] = x\n    A[2] = A[3]": "x: T.let[T.float32] = A[0]\n    A[1] = x\n    A[2] = A[3]",
    "with T.LetStmt(A[0]) as x:\n        A[1] = x\n        with T.LetStmt(x) as y:\n            A[2] = y\n            # 1\n        # 2\n    # 3\n    A[2] = A[3]": "x: T.let[T.float32] = A[0]\n    A[1] = x\n    y: T.let[T.float32] = x\n    A[2] = y\n    # 1\n    # 2\n    # 3\n    A[2] = A[3]",
}


@pytest.mark.parametrize("line", RENEWED)
def test_forms_are_renewed(line: str) -> None:
    head = "import tvm\nfrom tvm.script import tir as T\n\nname = input()\n\n"
    old = f'{head}@T.prim_func\ndef f(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):\n    {line}\n'
    migration = migrate(Source("old.py", old))
    assert not migration.found
    assert f"    {RENEWED[line]}\n" in migration.text


def test_what_a_module_of_0_13_ends_with_goes() -> None:
    old = """from tvm.script import tir as T, ir as I

@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        with T.block("b"):
            A[0] = T.float32(1)
    __tvm_meta__ = None
"""
    assert "__tvm_meta__" not in migrate(Source("old.py", old)).text


def test_a_scalar_that_names_a_dimension_is_printed_anew() -> None:
    old = """from tvm.script import relax as R, tir as T

@R.function
def f(x: R.Tensor(("n",), "float32"), _n: R.Prim(value="n"), o: R.Object):
    n = T.int64()
    y = R.reshape(x, R.shape([n, 1]))
    return (y, y.struct_info)[0]
""".replace("(y, y.struct_info)[0]", "y")
    new = migrate(Source("old.py", old)).text
    assert "n: T.int64, o: R.Any" in new


def test_late_renames_reach_texts_that_have_the_other_new_names() -> None:
    old = """from tvm.script import ir as I, relax as R, tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        x: T.float32 = T.float32(2)
        for i in range(4):
            with T.sblock("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] * x

    @R.function
    def main(x: R.Tensor((4,), "float32"), o: R.Object):
        y = R.call_tir(Module.double, (x,), out_sinfo=R.Tensor((4,), "float32"))
        return y
"""
    new = old.replace("R.Object", "R.Any").replace("out_sinfo", "out_ty")
    migration = migrate(Source("old.py", old))
    assert migration.text == new
    assert migrate(Source("new.py", new)).text == new


def test_late_removals_reach_texts_that_have_the_other_new_names() -> None:
    old = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def copies(A: T.Buffer((8,), "float32"), a: T.handle) -> T.int32:
    n = T.int32(is_size_var=True)
    B = T.match_buffer(a, (n,), axis_separators=[])  # sizes
    T.ptx.cp_async.commit_group(dtype="")
    T.evaluate(T.ptx.cp_async.wait_group(0, dtype=""))
    p: T.let[T.handle("int32")] = T.call_extern("memory", dtype="handle")
    P = T.Buffer([1], "int32", data=p)
    P[0] = 1
    B[0] = A[0]
    T.ret(42)
"""
    new = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def copies(A: T.Buffer((8,), "float32"), a: T.handle) -> T.int32:
    n = T.int32()
    B = T.match_buffer(a, (n,))  # sizes
    T.ptx.cp.async_.commit_group()
    T.evaluate(T.ptx.cp.async_.wait_group(0))
    p: T.let[T.handle("int32")] = T.call_extern("memory", dtype=T.handle("int32").ty)
    P = T.decl_buffer([1], "int32", data=p)
    P[0] = 1
    B[0] = A[0]
    return 42
"""
    assert migrate(Source("old.py", old)) == Migration(new, renamed=1)
    assert migrate(Source("new.py", new)).text == new


def test_vectors_that_are_written_as_slices_are_printed_anew() -> None:
    old = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def copy(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    B[0:8] = A[0:8]
"""
    assert "B[T.Ramp(0, 1, 8)] = A[T.Ramp(0, 1, 8)]" in migrate(Source("old.py", old)).text


def test_operators_without_a_dtype_keep_the_choice() -> None:
    old = """from tvm.script import relax as R

@R.function
def f(x: R.Tensor((2, 2), "float16")):
    y = R.matmul(x, x, out_dtype="void")
    z = R.call_dps_packed("f", (y,), out_sinfo=R.Tensor((2, 2), dtype="float16"))
    return z
"""
    new = old.replace('"void"', "None").replace("out_sinfo", "out_ty")
    assert migrate(Source("old.py", old)) == Migration(new, renamed=1)


def test_masked_loads_and_vectors_of_texts_with_the_newest_names_are_printed_anew() -> None:
    old = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def copy(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    LINE
"""
    masked = "B.vstore([T.Ramp(0, 1, 4)], T.Broadcast(T.float32(1), 4), predicate=T.Broadcast(T.bool(True), 4))"
    assert "T.masked_store(" in migrate(Source("old.py", old.replace("LINE", masked))).text
    vector = "x: T.float32x4 = A[0:4]\n    B[T.Ramp(0, 1, 4)] = x"
    assert "A[T.Ramp(0, 1, 4)]" in migrate(Source("old.py", old.replace("LINE", vector))).text


def test_a_name_of_a_constant_in_a_graph_function_is_printed_as_the_constant() -> None:
    old = """from tvm.script import relax as R, tir as T

@R.function
def f(x: R.Tensor((4, 4, 8, 8), "float32"), o: R.Object):
    scale = T.FloatImm("float32", 0.5)
    y = R.nn.attention(x, x, x, scale=scale)
    return y
"""
    migration = migrate(Source("old.py", old))
    assert (migration.printed, migration.found) == (1, ())
    assert "scale=0.5" in migration.text


def test_a_view_of_memory_is_declared_where_the_newest_tvm_would_lose_its_memory() -> None:
    old = """from tvm.script import tir as T

@T.prim_func
def f(A: T.Buffer((32,), "float32"), p: T.handle("float32")):
    T.func_attr({"tir.noalias": True})
    A[0] = T.float32(1)
    B = T.Buffer((16,), data=A.data)  # a view
    A[1] = T.float32(1)
    for i in range(16):
        with T.block("b"):
            vi = T.axis.spatial(16, i)
            C = T.Buffer((16,), data=A.data)
            T.reads(C[vi])
            T.writes(B[vi])
            D = T.buffer_decl((32,), data=p)
            B[vi] = C[vi] + D[0]
"""
    migration = migrate(Source("old.py", old))
    assert (migration.renamed, migration.found) == (1, ())
    assert "    B = T.decl_buffer((16,), data=A.data)  # a view\n" in migration.text
    assert "            D = T.decl_buffer((32,), data=p)\n" in migration.text
    assert "            C = T.Buffer((16,), data=A.data)\n" in migration.text  # no declaration stands above T.reads


def test_a_view_is_declared_in_printed_definitions_and_in_texts_with_the_newest_names() -> None:
    old = """from tvm.script import tir as T

@T.prim_func
def f(A: T.Buffer((4,), "float32")):
    data = T.allocate([4], "float32", "global")
    B = T.Buffer((4,), data=data)
    B[0] = T.float32(1)
    A[0] = B[0]
"""
    assert "    B = T.decl_buffer((4,), data=data.data)\n" in migrate(Source("old.py", old)).text
    newer = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,), "float32")):
    B = T.Buffer((2, 2), data=A.data)
    B[0, 0] = T.float32(1)
"""
    assert migrate(Source("newer.py", newer)).text == newer.replace("B = T.Buffer", "B = T.decl_buffer")
