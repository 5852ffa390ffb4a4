"""Nothing in a text is ever executed: no `eval`, `exec`, `compile`, `pickle` or import on the way from text to IR."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ON_THE_WAY = (
    "grammar/tables.py",
    "dsl/*.py",
    "dsl/parser/*.py",
    "dsl/builder/*.py",
    "dsl/formatter/*.py",
    "dsl/printer/*.py",
)
READING = [path for pattern in ON_THE_WAY for path in ROOT.glob(pattern)]
EXECUTES = {"eval", "exec", "compile", "__import__"}
LOADS = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "runpy", "code"}

HOSTILE = """
import os, subprocess, pickle
from importlib import import_module

T.prim_func f(A: T.Buffer((4,), "int32")):
    T.evaluate(__import__("os").system("true"))
    T.evaluate(eval("1"))
    exec("x = 1")
    A[0] = (lambda: open("/etc/passwd"))()
    T.evaluate(T.__class__.__mro__[1].__subclasses__())
    T.evaluate(A.__reduce__())

R.function main(x: R.Tensor(("__import__('os')",), "float32")) -> R.Object:
    y = pickle.loads(x)
    return os.system("true")
"""

WATCH = """
import sys
from pathlib import Path
import tvms
from tvms.ir.diagnostics import TvmsError
hostile, *samples = [Path(path).read_text(encoding="utf-8") for path in sys.argv[1:]]
for text in samples:  # the language's own modules are loaded by now
    tvms.verify(tvms.parse(text))
seen = []
sys.addaudithook(lambda event, args: seen.append(event))
for text in [*samples, hostile]:
    try:
        tvms.parse(text)
    except TvmsError:
        pass
forbidden = ("exec", "compile", "import", "marshal", "pickle", "open", "os.", "subprocess", "socket", "ctypes")
print([event for event in seen if event.startswith(forbidden)])
"""


def test_reading_a_text_executes_nothing(tmp_path: Path) -> None:
    hostile = tmp_path / "hostile.tvms"
    hostile.write_text(HOSTILE, encoding="utf-8")
    samples = sorted(str(path) for path in (ROOT / "samples").glob("*.tvms"))
    done = subprocess.run(
        [sys.executable, "-c", WATCH, str(hostile), *samples], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("path", READING, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_source_on_the_way_can_execute_a_text(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Call(func=ast.Name(id=name)):
                assert name not in EXECUTES, f"line {node.lineno} calls {name}"
            case ast.Import(names=names):
                assert not LOADS & {alias.name.partition(".")[0] for alias in names}, f"line {node.lineno}"
            case ast.ImportFrom(module=str(module), level=0):
                assert module.partition(".")[0] not in LOADS, f"line {node.lineno} imports {module}"
            case _:
                pass
