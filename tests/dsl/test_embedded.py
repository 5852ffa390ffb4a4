"""Definitions inside Python programs, notebooks and Markdown pages are found; everything around them stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tvms.dsl.cli import main
from tvms.dsl.embedded import Host, read_host, rewritten
from tvms.dsl.embedded.convert import converted
from tvms.dsl.formatter import format_host
from tvms.dsl.load import load_module, read_definition
from tvms.dsl.migration import migrate
from tvms.ir.diagnostics import Source, TvmsError
from tvms.ir.equal import structural_equal
from tvms.testing import prim_funcs

PROGRAM = '''\
import numpy as np
from .local import thing
from tvm.script import ir as I, relax as R, tir as T

M = 64
N = M * 2 // 1


def make(k, dtype="float32"):
    """Returns a kernel."""

    @T.prim_func
    def double(A: T.Buffer((M, N), "float32"), B: T.Buffer((M, N), "float32")):
        # twice
        for i,j in T.grid(M, N):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)   # here

    @T.prim_func
    def cast(A: T.Buffer((M, k), dtype)):
        for i in range(M):
            A[i, 0] = T.Cast(dtype, 1.0)

    return double   ,cast


class Modules:
    @staticmethod
    def unrelated(x=[1 , 2]): return x

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2,3), "float32")) -> R.Tensor((2, 3), "float32"):
            return x
'''


def _host(text: str, name: str = "host.py") -> Host:
    host = read_host(Source(name, text))
    assert host is not None
    return host


def test_definitions_are_found_with_what_is_known_of_their_names() -> None:
    double, cast, module = _host(PROGRAM).definitions
    assert (double.name, cast.name, module.name) == ("double", "cast", "Module")
    assert {name: value for name, value in double.names.items() if name != "T"} == {"M": 64, "N": 128}
    assert not double.captured
    assert {name: PROGRAM[span.start : span.end] for name, span in cast.captured.items()} == {
        "k": "k",
        "dtype": "dtype",
    }
    assert str(read_definition(double)).startswith(
        '#tvms 1\n\nT.prim_func double(A: T.Buffer((64, 128), "float32"), B: T.Buffer((64, 128), "float32")):\n    # twice\n'
    )
    assert list(read_definition(module).functions) == ["main"]


def test_unknown_names_are_listed_and_can_be_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "host.py"
    path.write_text(PROGRAM)
    assert main(["check", str(path)]) == 0
    assert (
        capsys.readouterr().err
        == f"""\
warning[E0822]: 'cast' is not read: it captures 'dtype' and 'k', whose values only the running program knows
   --> {path}:20:5
    |
 20 |     @T.prim_func
    |     ^^^^^^^^^^^^
    = help: give them: -D dtype=VALUE -D k=VALUE
note: 'dtype' is bound here
   --> {path}:9:13
    |
  9 | def make(k, dtype="float32"):
    |             ^^^^^
note: 'k' is bound here
   --> {path}:9:10
    |
  9 | def make(k, dtype="float32"):
    |          ^
1 file checked: 1 warning
"""
    )
    assert main(["check", str(path), "-D", "k=8", "-D", "dtype=float32"]) == 0
    assert capsys.readouterr().out == "1 file checked: no errors\n"
    assert main(["print", f"{path}::cast", "-D", "k=8", "-D", "dtype=float16"]) == 0
    assert 'A: T.Buffer((64, 8), "float16")' in capsys.readouterr().out


def test_errors_have_their_place_in_the_program() -> None:
    text = PROGRAM.replace("T.float32(2)", "T.flot32(2)")
    with pytest.raises(TvmsError) as found:
        read_definition(_host(text).definitions[0])
    assert (
        str(found.value)
        == """\
error[E0103]: 'T' has no form 'flot32'
   --> host.py:18:43
    |
 18 |                 B[vi, vj] = A[vi, vj] * T.flot32(2)   # here
    |                                           ^^^^^^
    = help: did you mean 'float32'?"""
    )


def test_formatting_changes_only_definitions() -> None:
    formatted = format_host(_host(PROGRAM))
    assert formatted == (
        PROGRAM.replace("i,j", "i, j")
        .replace("T.float32(2)   # here", "T.float32(2)  # here")
        .replace("(2,3)", "(2, 3)")
    )


def test_a_conversion_changes_definitions_and_the_import(capsys: pytest.CaptureFixture[str]) -> None:
    host = _host(PROGRAM).given({"k": 8, "dtype": "float32"})
    newer, found = converted(host, "tvm-0.27", read_definition)
    assert not found
    assert "ir as I, relax as R, tirx as T\n" in newer
    assert "    @T.prim_func(s_tir=True)\n    def double(" in newer
    assert newer.replace("tirx", "tir").startswith(PROGRAM[: PROGRAM.index("    @T.prim_func")])
    again = _host(newer)
    for definition, before in zip(again.definitions, host.definitions, strict=True):
        assert structural_equal(read_definition(definition), read_definition(before))


def test_a_file_of_nothing_but_definitions_is_one_module() -> None:
    text = "from tvm.script import tir as T\n\nN = 4\n\n@T.prim_func\ndef f(A: T.Buffer((N,), 'int8')):\n    A[0] = T.int8(1)\n"
    assert read_host(Source("script.py", text)) is None
    assert read_host(Source("script.tvms", text)) is None


@pytest.mark.parametrize(
    ("name", "code"),
    {
        "E0823 absent": "E0823",
        "E0823 several": "E0823",
        "E0004": "E0004",
    }.items(),
)
def test_what_cannot_be_one_module_is_refused(tmp_path: Path, name: str, code: str) -> None:
    path = tmp_path / "host.py"
    path.write_text("import os\n\nprint(os)\n" if code == "E0004" else PROGRAM)
    given = f"{path}::nothing" if name == "E0823 absent" else str(path)
    with pytest.raises(TvmsError) as found:
        load_module(given, values={"k": 1, "dtype": "float32"})
    assert [problem.code for problem in found.value.diagnostics] == [code]


def test_functions_of_the_program_cannot_be_given() -> None:
    text = (
        "import numpy as np\nfrom tvm.script import tir as T\nprint(1)\ndef load(x): return x\n\n"
        "@T.prim_func\ndef f(A: T.Buffer((4,), 'int8')):\n    A[0] = load(np.int8(n))\n"
    )
    (function,) = _host(f"{text}\nfor n in (1, 2):\n    pass\n").definitions
    (problem,) = function.missing()
    assert problem.message == (
        "'f' is not read: it captures 'load', 'n' and 'np', whose values only the running program knows"
    )
    assert problem.help == "write what 'load' computes into the definition; then give -D n=VALUE"
    (alone,) = _host(text).definitions
    assert alone.missing()[0].help == "write what 'load' computes into the definition"


MACRO = """\
import numpy

from tvm.script import tir as T

@T.macro
def fill(A, value):
    for i in range(4):
        A[i] = value

@T.prim_func
def zeros(A: T.Buffer((4,), "float32")):
    fill(A, T.float32(0))

print(zeros)
"""


def test_macros_of_the_program_are_read_with_their_users() -> None:
    (zeros,) = _host(MACRO).definitions
    assert "A[i] = T.float32(0)" in str(read_definition(zeros)) or "A[i] = 0.0" in str(read_definition(zeros))
    formatted = format_host(_host(MACRO))
    assert formatted == MACRO


def _notebook(cells: list[str], indent: int | None = 1) -> str:
    def cell(text: str) -> dict[str, object]:
        lines = text.splitlines(keepends=True)
        return {"cell_type": "code", "metadata": {"größe": 1}, "outputs": [], "source": lines, "execution_count": None}

    document = {"cells": [cell(text) for text in cells], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=indent, ensure_ascii=False)


CELLS = [
    "%load_ext tvms\nfrom tvm.script import tir as T\nN = 4",
    "# größe\n@T.prim_func\ndef f(A: T.Buffer((N,), 'float32')):\n    for i in range( N ):\n        A[i] = T.float32(0)\n",
    "print( f )",
]


@pytest.mark.parametrize("indent", [1, None])
def test_cells_of_a_notebook_are_one_program(indent: int | None) -> None:
    text = _notebook(CELLS, indent)
    host = _host(text, "notes.ipynb")
    (function,) = host.definitions
    assert function.source.name == "notes.ipynb:cell 2"
    assert function.names["N"] == 4
    assert "for i in range(4):" in str(read_definition(function))
    after = format_host(host)
    assert after == _notebook([CELLS[0], CELLS[1].replace("range( N )", "range(N)"), CELLS[2]], indent)


def test_cells_with_the_magic_are_texts_of_our_own_dialect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cell = "%%tvms scale\nT.prim_func f(A: T.Buffer((4,), 'float32')):\n    for i in range( 5 ):\n        A[i] = T.float32(0)\n"
    path = tmp_path / "notes.ipynb"
    path.write_text(
        _notebook(["import tvms", "%%bash\nls", "", cell, "%%tvms\nT.prim_fun g():\n    pass\n", CELLS[1]], 1)
    )
    host = read_host(Source(str(path), path.read_text()))
    assert host is not None
    assert [part.source.name.rpartition(":")[2] for part in host.definitions] == ["cell 4", "cell 5", "cell 6"]
    assert main(["check", str(path), "--output-format", "concise"]) == 1
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{path}:cell 4:4:9: error[E0414]")
    assert second.startswith(f"{path}:cell 5:2:")
    path.write_text(_notebook([cell], 1))
    assert main(["fmt", str(path)]) == 0
    (formatted,) = json.loads(path.read_text())["cells"]
    assert formatted["source"][2] == "    for i in range(5):\n"


def test_cells_that_show_an_error_are_not_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notebook = json.loads(_notebook(["%%tvms\nT.prim_func f():\n    pass\n", "%%tvms\nT.prim_fun g():\n    pass\n"], 1))
    notebook["cells"][1]["metadata"] = {"tags": ["raises-exception"]}
    path = tmp_path / "notes.ipynb"
    path.write_text(json.dumps(notebook))
    assert main(["check", str(path)]) == 0
    assert capsys.readouterr().out == "1 file checked: no errors\n"


def test_blocks_of_a_page_are_read_in_their_indentation() -> None:
    page = (
        "# Title\n\n1. A kernel:\n\n   ```python\n   from tvm.script import tir as T\n   @T.prim_func\n"
        "   def f(A: T.Buffer((4,), 'float32')):\n       A[ 0 ] = T.float32(1)\n   ```\n\n```tvms\n"
        "T.prim_func g(A: T.Buffer((4,),'float32')):\n    A[1] = 2.0\n```\n\n```\nA[ 0 ]\n```\n"
    )
    host = _host(page, "page.md")
    first, second = host.definitions
    assert list(read_definition(first).functions) == ["f"]
    assert list(read_definition(second).functions) == ["g"]
    assert format_host(host) == page.replace("A[ 0 ] =", "A[0] =").replace("(4,),'", "(4,), '")


def test_strings_over_several_lines_keep_their_text() -> None:
    text = (
        "import os\nfrom tvm.script import relax as R\n\ndef build():\n    @R.function\n    def f(x: R.Tensor((1,), 'int8')):\n"
        '        """One\n   two\n      three"""\n        return x\n    return f\n'
    )
    assert format_host(_host(text)) == text


def test_a_tree_is_searched_without_hidden_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "bad.py").write_text("from tvm.script import tir as T\n@T.prim_func\ndef f(: pass")
    (tmp_path / "plain.py").write_text("print(1)\n")
    (tmp_path / "host.py").write_text(PROGRAM)
    assert main(["check", str(tmp_path), "-D", "k=8", "-D", "dtype=int32"]) == 0
    assert main(["convert", str(tmp_path), "--to", "tvms", "-o", str(tmp_path / "out")]) == 2
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["host.Module.tvms", "host.double.tvms"]
    assert (
        main(["convert", str(tmp_path / "host.py"), "--to", "tvm-0.27", "--in-place", "-D", "k=1", "-D", "dtype=int8"])
        == 0
    )
    assert "tirx as T" in (tmp_path / "host.py").read_text()


AROUND = st.sampled_from(
    ("", "x = [1 , 2]\n", "if True:\n    pass\n", '"""Text"""\n', "# größe\n", "def g(): return 1\n")
)


def _around(text: str, depth: int, before: str, after: str, name: str) -> str:
    """Return the text of a host that holds a text, indented, among other code."""
    indentation = "    " * depth
    heads = "".join("    " * level + "if True:\n" for level in range(depth))
    body = "".join(indentation + line if line.strip() else line for line in text.splitlines(keepends=True))
    program = before + "import os\nprint(os)\n" + heads + body + after
    if name.endswith(".ipynb"):
        return _notebook([program, "1"])
    return f"# Title\n\n```python\n{program}```\n" if name.endswith(".md") else program


HOSTS = st.sampled_from(("host.py", "host.ipynb", "host.md"))


@given(prim_funcs(), st.integers(0, 3), AROUND, AROUND, HOSTS)
def test_any_definition_is_read_and_written_back(
    function: object, depth: int, before: str, after: str, name: str
) -> None:
    text = function.script("tvm-0.21") + "\n"  # type: ignore[reportAttributeAccessIssue]
    wanted = load_module_text(text)
    whole = _around(text, depth, before, after, name)
    host = _host(whole, name)
    (definition,) = host.definitions
    assert structural_equal(read_definition(definition), wanted)
    assert rewritten(host, {definition: definition.text()}) == whole
    formatted = format_host(host)
    again = _host(formatted, name)
    assert structural_equal(read_definition(again.definitions[0]), wanted)
    assert format_host(again) == formatted


IMPORTS = st.sampled_from(("from tvm.script import ir as I, tir as T\n", "from tvm.script import tir as T\n"))


@given(prim_funcs(), st.integers(0, 3), IMPORTS, AROUND, HOSTS)
def test_a_conversion_there_and_back_gives_the_same_bytes(
    function: object, depth: int, before: str, after: str, name: str
) -> None:
    text = function.script("tvm-0.21") + "\n"  # type: ignore[reportAttributeAccessIssue]
    old, found = converted(_host(_around(text, depth, before, after, name), name), "tvm-0.21", read_definition)
    assert not found
    new, found = converted(_host(old, name), "tvm-0.27", read_definition)
    assert not found
    back, found = converted(_host(new, name), "tvm-0.21", read_definition)
    assert (back, found) == (old, ())


def test_in_place_names_the_command_that_extracts_definitions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "host.py"
    path.write_text(PROGRAM)
    assert main(["convert", "--in-place", "--to", "tvms", str(path)]) == 2
    error = capsys.readouterr().err
    remedy = f"tvms convert {path} --to tvms -o {tmp_path}/host.tvms"
    assert error.endswith(
        "error[E0801]: --in-place keeps the file, but definitions in the dialect tvms belong in .tvms files\n"
        f"  = help: write the definitions to such files: {remedy}\n"
    )
    main([*remedy.split()[1:], "-D", "k=1", "-D", "dtype=int8"])
    extracted = sorted(tmp_path.glob("*.tvms"))
    assert len(extracted) == len(_host(PROGRAM).definitions)
    assert all(main(["check", "--level", "syntax", str(file)]) < 2 for file in extracted)
    assert path.read_text() == PROGRAM


def load_module_text(text: str) -> object:
    """Return the module that a text alone holds."""
    from tvms import parse

    return parse(text)


def test_a_block_of_a_page_may_start_with_an_indented_comment() -> None:
    page = "```tvms\n    # why\nI.ir_module Module:\n    T.prim_func f(n:T.int32):\n        pass\n```\n"
    host = read_host(Source("page.md", page))
    assert host is not None
    assert format_host(host) == page.replace("n:T", "n: T").replace("    # why", "# why")


def test_indented_comments_above_the_code_of_a_page_are_not_its_indentation() -> None:
    page = (
        "# Title\n\n```python\n    # a note\n# another\n\n@T.prim_func\ndef main(n: T.int32):\n    T.evaluate(n)\n```\n"
    )
    host = read_host(Source("a.md", page))
    assert host is not None
    (definition,) = host.definitions
    assert definition.text() == "@T.prim_func\ndef main(n: T.int32):\n    T.evaluate(n)\n"
    assert format_host(host) == page


def test_imports_of_notebooks_and_imports_in_comments_follow_the_dialect() -> None:
    code = """from tvm.script import tir as T
# from tvm.script import tir as T

@T.prim_func
def f(A: T.Buffer((4,), "float32")):
    with T.block("b"):
        A[0] = T.float32(1)
"""
    cell: dict[str, object] = {
        "cell_type": "code",
        "metadata": {},
        "source": code.splitlines(keepends=True),
        "outputs": [],
    }
    notebook = Source(
        "a.ipynb", json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    )
    host = read_host(notebook)
    assert host is not None
    converted_text, found = converted(host, "tvm-0.27", read_definition)
    assert not found
    for text in (converted_text, migrate(notebook).text):
        assert text.count("import tirx as T") == 2
        assert text.count("T.sblock") == 1
    back = read_host(Source("a.ipynb", converted_text))
    assert back is not None
    assert converted(back, "tvm-0.21", read_definition)[0].count("import tir as T") == 2


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("from tvm.script import tir as T", ["f"]),
        ("from .common import T", ["f"]),
        ("from common import T", ["f"]),
        ("", ["f"]),
        ("import tilelang.language as T", []),
        ("from tilelang import language as T", []),
        ("import tilelang.language as T\nfrom tvm.script import tir as T", ["f"]),
    ],
)
def test_a_letter_that_names_another_language_opens_no_definition(line: str, found: list[str]) -> None:
    text = f"{line}\nprint()\n\n@T.prim_func\ndef f():\n    T.evaluate(0)\n"
    host = read_host(Source("host.py", text))
    assert host is not None
    assert [definition.name for definition in host.definitions] == found
