"""The cell magic `%%tvms`: what a cell defines and shows, and that a cell with errors defines nothing and executes nothing."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tvms

pytest.importorskip("IPython", reason="the extra `notebook` is not installed")
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

TEXT = """\
# Doubles four numbers.
I.ir_module Double:
    T.prim_func double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] * T.float32(2)
"""
FUNCTION = "T.prim_func f(A: T.Buffer((4,), 'float32')):\n    for i in range(4):\n        A[i] = T.float32(0)\n"
WRONG = TEXT.replace("B[i] =", "B[i + 1] =")
ERROR = """\
error[E0414]: i = 3 writes B[4], outside its 4 elements
  --> In[1]:6:15
   |
 6 |             B[i + 1] = A[i] * T.float32(2)
   |               ^^^^^
   = help: keep the index from 0 to 3: bound the loop, or guard the access
note: 'B' is declared here
  --> In[1]:4:57
   |
 4 |     T.prim_func double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
   |                                                         ^^^^^^^^^^^^^^^^^^^^^^^^^"""


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[InteractiveShell]:
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    shell = InteractiveShell.instance(config=config, ipython_dir=str(tmp_path))
    shell.run_line_magic("load_ext", "tvms")
    yield shell
    InteractiveShell.clear_instance()


class Ran:
    """An executed cell: its error, its displayed outputs, and the text that it printed."""

    def __init__(self, shell: InteractiveShell, cell: str) -> None:
        with capture_output() as captured:
            self.error: Any = shell.run_cell(cell, store_history=True).error_in_exec
        self.shown = [output.data for output in captured.outputs]
        self.out, self.err = captured.stdout, captured.stderr


def text_of(page: str) -> str:
    return html.unescape(re.sub("<style>.*?</style>|<[^>]+>", "", page, flags=re.DOTALL)).strip("\n")


def test_a_cell_defines_a_module_and_shows_it(shell: InteractiveShell) -> None:
    ran = Ran(shell, f"%%tvms\n{TEXT}")
    assert (ran.error, ran.out, ran.err) == (None, "", "")
    module = shell.user_ns["Double"]
    assert tvms.structural_equal(module, tvms.parse(TEXT))
    (shown,) = ran.shown
    assert shown["text/plain"] == module.script()
    assert shown["text/html"] == module._repr_html_()


def test_errors_have_the_number_of_the_cell(shell: InteractiveShell) -> None:
    for number in (1, 2):
        assert f"--> In[{number}]:" in Ran(shell, f"%%tvms\n{WRONG}").shown[0]["text/plain"]
        assert shell.displayhook.prompt_count == number


@pytest.mark.parametrize(
    ("line", "text", "name"),
    [("", TEXT, "Double"), ("other", TEXT, "other"), ("", FUNCTION, "Module"), ("fills", FUNCTION, "fills")],
)
def test_the_name_is_that_of_the_argument_or_of_the_module(
    line: str, text: str, name: str, shell: InteractiveShell
) -> None:
    before = set(shell.user_ns)
    Ran(shell, f"%%tvms {line}\n{text}")
    new = {key for key in set(shell.user_ns) - before if not key.startswith("_")}
    assert new == {name}


@pytest.mark.parametrize("options", ["", "--check"])
def test_errors_are_shown_and_nothing_is_defined(options: str, shell: InteractiveShell) -> None:
    shell.user_ns["Double"] = "kept"
    ran = Ran(shell, f"%%tvms {options}\n{WRONG}")
    (shown,) = ran.shown
    assert shown["text/plain"] == ERROR
    assert text_of(shown["text/html"]) == ERROR
    assert '<span class="tvms-1 tvms-31">error[E0414]</span>' in shown["text/html"]
    assert shell.user_ns["Double"] == "kept"
    assert type(ran.error).__name__ == "CellError"
    assert ran.out.strip() == ("1 error" if options else "1 error: the cell defines nothing")
    assert "Traceback" not in ran.out + ran.err


def test_all_errors_of_a_text_are_shown(shell: InteractiveShell) -> None:
    ran = Ran(shell, f"%%tvms\n{TEXT}            B[j] = A[i]\n            B[i] = Q[i]\n")
    codes = re.findall(r"^error\[(E\d+)\]", ran.shown[0]["text/plain"], re.M)
    assert len(codes) == 2
    assert ran.out.strip() == "2 errors: the cell defines nothing"


def test_a_refused_schedule_is_an_error(shell: InteractiveShell) -> None:
    ran = Ran(shell, f"%%tvms\n{TEXT}\n    S.schedule s(double):\n        S.get_loops('none')\n")
    assert ran.shown[0]["text/plain"].startswith("error[E05")
    assert "Double" not in shell.user_ns


def test_warnings_are_shown_and_the_module_is_defined(shell: InteractiveShell) -> None:
    text = 'T.prim_func f(A: T.Buffer((4,), "float32"), n: T.int32):\n    unused: T.int32 = T.int32(1)\n    A[0] = T.float32(0)\n'
    ran = Ran(shell, f"%%tvms\n{text}")
    warnings, module = ran.shown
    assert warnings["text/plain"].startswith("warning[")
    assert module["text/plain"] == shell.user_ns["Module"].script()


def test_check_defines_nothing(shell: InteractiveShell) -> None:
    ran = Ran(shell, f"%%tvms --check\n{TEXT}")
    assert (ran.error, ran.out, ran.shown) == (None, "no errors\n", [])
    assert "Double" not in shell.user_ns


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1x", "UsageError: %%tvms: '1x' is not the name of a variable"),
        ("lambda", "UsageError: %%tvms: 'lambda' is not the name of a variable"),
        ("--chek", "UsageError: unrecognized arguments: --chek"),
        ("a b", "UsageError: unrecognized arguments: b"),
    ],
)
def test_wrong_arguments_are_told_in_a_line(line: str, message: str, shell: InteractiveShell) -> None:
    ran = Ran(shell, f"%%tvms {line}\n{TEXT}")
    assert ran.err.strip() == message
    assert "Double" not in shell.user_ns


def test_a_cell_is_text_only(shell: InteractiveShell, tmp_path: Path) -> None:
    shell.user_ns["extent"] = 4
    evil = f"__import__('pathlib').Path({str(tmp_path / 'made')!r}).touch()"
    for text in (evil, TEXT.replace("range(4)", "range(extent)"), TEXT.replace("range(4)", f"range({evil})")):
        Ran(shell, f"%%tvms\n{text}")
        assert "Double" not in shell.user_ns
    assert not (tmp_path / "made").exists()


def test_ipython_is_imported_late() -> None:
    code = "import sys, tvms, tvms.dsl.cli; tvms.parse; print('IPython' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
