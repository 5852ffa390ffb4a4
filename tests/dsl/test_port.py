"""`tvms port`: imports and names change, every other byte stays."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tvms.dsl.cli import main
from tvms.dsl.porting import port
from tvms.ir.diagnostics import Source, TvmsError

IMPORTS = {
    "import tvm": "import tvms as tvm",
    "import tvm as t": "import tvms as t",
    "import tvm.relax": "import tvms as tvm, tvms.relax",
    "import tvm; import tvm.relax": "import tvms as tvm; import tvms as tvm, tvms.relax",
    "import tvm\nimport tvm.relax": "import tvms as tvm\nimport tvms.relax",
    "import tvm.relax as r": "import tvms.relax as r",
    "import os, tvm,  numpy as np # ü": "import os, tvms as tvm,  numpy as np # ü",
    "from tvm import te": "from tvms import te",
    "from tvm.relax import (\n    Call,  # a call\n    Var as V,\n)": (
        "from tvms.relax import (\n    Call,  # a call\n    Var as V,\n)"
    ),
    "from tvm . relax \\\n  import Call": "from tvms.relax \\\n  import Call",
    "from tvm.script.parser import *": "from tvms.script.parser import *",
    "from tvm._ffi import register_func": "from tvms import register_func",
    "import tvm\ny = tvm.ffi.from_dlpack(x)": "import tvms as tvm\ny = tvm.nd.from_dlpack(x)",
    "from tvm._ffi import register_func, nothing": "from tvms._ffi import nothing; from tvms import register_func",
    "from tvm._ffi import a, register_func as r, b": "from tvms._ffi import a, b; from tvms import register_func as r",
    "from tvm.ffi import (\n  a, # b\n  register_func  # c\n)": (
        "from tvms.ffi import (\n  a, # b\n    # c\n); from tvms import register_func"
    ),
    "from tvm import build, te": "from tvms import compile as build, te",
    "from tvm import build": "from tvms import compile as build",
    "import tvm_ffi": "import tvms as tvm_ffi",
    "from tvm_ffi import register_global_func": "from tvms import register_global_func",
    "import importlib\nimportlib.import_module('tvm.relax')": "import importlib\nimportlib.import_module('tvms.relax')",
    "if True: from tvm import te; x = 1": "if True: from tvms import te; x = 1",
    "import tvm\nfor v, f in m.functions.items(): pass": "import tvms as tvm\nfor v, f in m.functions_items(): pass",
    "import tvm\nv = [*m.functions . keys()]; w = m.functions.values()": (
        "import tvms as tvm\nv = [*m.get_global_vars()]; w = m.functions.values()"
    ),
    "import tvm\nprint(m.script())": 'import tvms as tvm\nprint(m.script(dialect="tvm-0.21"))',
    "import tvm\nt = m . script( # ü\n  show_meta=True)": (
        'import tvms as tvm\nt = m . script( # ü\n  dialect="tvm-0.21", show_meta=True)'
    ),
    "import tvm\nt = m.script(dialect='tvms'), m.script(**k), jit.script(f)": (
        "import tvms as tvm\nt = m.script(dialect='tvms'), m.script(**k), jit.script(f)"
    ),
    "from tvm import tirx; m.script()": 'from tvms import tirx; m.script(dialect="tvm-0.27")',
    "from tvm import tirx; ty._relax_script()": 'from tvms import tirx; ty.script(dialect="tvm-0.27")',
    "m.script()": "m.script()",
    "for v, f in m.functions.items(): pass": "for v, f in m.functions.items(): pass",
    "import tvm\nf = tvm.build(m)": "import tvms as tvm\nf = tvm.compile(m)",
    "import tvm as t\nf = t . driver.build(m)": "import tvms as t\nf = t.compile(m)",
    "from tvm import ffi\n@ffi.register_func('x')\ndef f(): pass": (
        "from tvms import ffi\n@ffi.register_func('x')\ndef f(): pass"
    ),
}
"""Statements of programs for TVM, with their ported form."""

UNCHANGED = (
    "",
    "x = 1",
    "import tvmlib, notvm.tvm",
    "from .tvm import te",
    "from . import tvm",
    "tvm = 'import tvm'  # from tvm import te",
    "import importlib\nimportlib.import_module('tvmlib')",
    "import importlib\nimportlib.import_module(f'tvm.{x}')",
)


def ported(text: str, name: str = "program.py") -> str:
    return port(Source(name, text))[0]


@pytest.mark.parametrize(("before", "after"), IMPORTS.items())
def test_an_import_changes(before: str, after: str) -> None:
    assert ported(before) == after
    ast.parse(after)
    assert ported(after) == after


@pytest.mark.parametrize("text", UNCHANGED)
def test_anything_else_stays(text: str) -> None:
    assert ported(text) == text


@given(
    st.lists(
        st.sampled_from([*IMPORTS, *UNCHANGED, "# größe\t", "s = '''\n import tvm '''", "\x0c", "y = 'ж'; import tvm"])
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_programs_change_statement_by_statement(statements: list[str], end: str, has_mark: bool) -> None:
    """Joining statements commutes with porting, for any line ends, except that a second import of the package is shorter."""
    mark = "\ufeff" if has_mark else ""
    whole = mark + end.join(statement.replace("\n", end) for statement in statements)
    once = ported(whole)
    assert ported(once) == once
    assert once.startswith(mark)
    assert once.count(end) == whole.count(end)
    if not any(
        re.search(r"ffi|^tvm = |^from \. import tvm|functions|script", statement) for statement in statements
    ):  # names bound twice, and methods that are only renamed in programs for TVM
        kept = re.sub(r"import tvms(?=\.relax\b)", "import tvms as tvm, tvms", once)
        wanted = mark + end.join(ported(statement).replace("\n", end) for statement in statements)
        assert kept == re.sub(r"import tvms(?=\.relax\b)", "import tvms as tvm, tvms", wanted)


def test_a_name_bound_otherwise_is_not_renamed() -> None:
    text = "import tvm\ndef f(tvm):\n    return tvm.build(1)\n"
    assert ported(text) == text.replace("import tvm", "import tvms as tvm")


def test_missing_names_are_reported_once_with_reason_and_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "old.py"
    file.write_text(
        "import tvm\nfrom tvm import relay, relax\n\nrelay.var('x'); relay.op\nrelax.BlockBuildr()\n"
        "x = 'ü'; tvm.contrib.graph_executor.GraphModule()\n"
    )
    assert main(["port", str(file)]) == 0
    assert file.read_text().startswith("import tvms as tvm\nfrom tvms import relay, relax\n")
    assert (
        capsys.readouterr().err
        == f"""\
warning[E0820]: tvms has no 'relay'
  --> {file}:2:17
   |
 2 | from tvm import relay, relax
   |                 ^^^^^
   = help: TVM replaced Relay by Relax; write graphs with tvms.relax, or import the model with tvms.relax.frontend

warning[E0820]: tvms has no 'relax.BlockBuildr'
  --> {file}:5:1
   |
 5 | relax.BlockBuildr()
   | ^^^^^^^^^^^^^^^^^
   = help: did you mean 'BlockBuilder'?

warning[E0820]: tvms has no 'contrib.graph_executor'
  --> {file}:6:10
   |
 6 | x = 'ü'; tvm.contrib.graph_executor.GraphModule()
   |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   = help: TVM replaced the graph executor by Relax's virtual machine; use tvms.relax.VirtualMachine
1 file ported, 0 left unchanged, 3 names are missing
"""
    )


def test_nothing_is_executed(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text("import tvm\nraise SystemExit(3)\n")
    assert main(["port", str(file)]) == 0


def test_a_broken_program_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "broken.py"
    file.write_text("import tvm\ndef f(:\n")
    assert main(["port", str(tmp_path)]) == 2
    assert file.read_text() == "import tvm\ndef f(:\n"
    assert (
        capsys.readouterr().err
        == f"""\
error[E0821]: this is not valid Python: invalid syntax
  --> {file}:2:7
   |
 2 | def f(:
   |       ^
   = help: correct the program, or leave the file out
0 files ported, 0 left unchanged, 1 not ported because of errors
"""
    )


def test_check_and_diff_write_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "program.py"
    file.write_text("import tvm\n")
    assert main(["port", "--check", str(file)]) == 1
    assert capsys.readouterr().err == f"would port {file}\n1 file would be ported, 0 left unchanged\n"
    assert main(["port", "--diff", str(file)]) == 1
    assert capsys.readouterr().out == (
        f"--- {file}\n+++ {file} (ported)\n@@ -1 +1 @@\n-import tvm\n+import tvms as tvm\n"
    )
    assert file.read_text() == "import tvm\n"
    assert main(["port", str(file)]) == 0
    assert main(["port", "--check", str(file)]) == 0


CELLS = [
    {"cell_type": "markdown", "metadata": {}, "source": ["import tvm\n"]},
    {"cell_type": "code", "source": ["%pip install apache-tvm\n", "import tvm\n", "import tvm.relax  # ж"], "outputs": [{"text": ["import tvm"]}]},
    {"cell_type": "code", "source": "!ls\nfrom tvm.relax import (\n  Call,\n)\nrelax?", "outputs": []},
    {"cell_type": "code", "source": ["%%bash\n", "import tvm"], "outputs": []},
    {"cell_type": "code", "source": ["f = tvm.build(m)"], "outputs": []},
]  # fmt: skip


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("is_ascii", [False, True])
def test_a_notebook_changes_in_its_code_only(indent: int | None, is_ascii: bool) -> None:
    text = json.dumps({"cells": CELLS, "nbformat": 4}, indent=indent, ensure_ascii=is_ascii)
    expected = text
    for before, after in (
        ('"import tvm\\n", "import tvm.relax  #', '"import tvms as tvm\\n", "import tvms.relax  #'),
        ("from tvm.relax", "from tvms.relax"),
        ("tvm.build", "tvm.compile"),
    ):
        if indent is not None:
            before, after = (part.replace('", "', '",\n    "') for part in (before, after))
        assert before in expected
        expected = expected.replace(before, after)
    assert ported(text, "notebook.ipynb") == expected
    assert ported(expected, "notebook.ipynb") == expected


def test_an_import_over_several_lines_of_a_notebook_can_move() -> None:
    cell = {"cell_type": "code", "source": ["from tvm.ffi import (\n", "  a, # b\n", "  register_func,\n", ")"]}
    text = json.dumps({"cells": [cell]})
    source = json.loads(ported(text, "notebook.ipynb"))["cells"][0]["source"]
    assert "".join(source) == "from tvms.ffi import (\n  a, # b\n  \n); from tvms import register_func"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "this notebook is not valid JSON"),
        ("[]", "this file has no list of cells"),
        ('{"cells": 1}', "this file has no list of cells"),
        ('{"cells": [{"cell_type": "code", "source": ["def f(:"]}]}', "this is not valid Python: invalid syntax"),
    ],
)
def test_what_is_not_a_notebook_is_an_error(text: str, message: str) -> None:
    with pytest.raises(TvmsError) as caught:
        port(Source("notebook.ipynb", text))
    assert [(found.code, found.message) for found in caught.value.diagnostics] == [("E0821", message)]
