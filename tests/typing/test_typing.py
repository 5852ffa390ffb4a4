"""Type checkers know the Python interface: the stubs are right, complete, and found beside the installed package."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tvms.dsl.reference.stubs import public_modules
from tvms.ir.schedule.declaration import COMPOSITES, PRIMITIVES, load_composites

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).parent / "program.py"


def check(text: str, folder: Path) -> list[str]:
    """Return what pyright reports on a program far from the repository, in its strict mode."""
    command = Path(sys.executable).parent / "pyright"
    if not command.exists() and shutil.which("pyright") is None:
        pytest.skip("pyright is not installed: pip install -e '.[dev]'")
    (folder / "program.py").write_text(text, encoding="utf-8")
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}', encoding="utf-8")
    run = [
        str(command) if command.exists() else "pyright",
        "--pythonpath",
        sys.executable,
        "--outputjson",
        "program.py",
    ]
    result = subprocess.run(run, capture_output=True, text=True, check=False, cwd=folder, timeout=300)
    if not result.stdout.startswith("{"):
        pytest.skip(f"pyright does not start: {(result.stderr or result.stdout).strip()}")
    found: list[dict[str, Any]] = json.loads(result.stdout)["generalDiagnostics"]
    return [f"{row['range']['start']['line'] + 1}: {row['severity']}: {row['message']}" for row in found]


def test_a_program_has_no_errors_and_no_unknown_types(tmp_path: Path) -> None:
    assert check(PROGRAM.read_text(encoding="utf-8"), tmp_path) == []


def test_the_program_runs() -> None:
    """What type checkers accept also exists at run time."""
    result = subprocess.run([sys.executable, str(PROGRAM)], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


WRONG = {
    "relax.op.matmull": '"matmull" is not a known attribute of module "tvms.relax.op"',
    "topi.nn.reluu": '"reluu" is not a known attribute of module "tvms.topi.nn"',
    "relax.transform.Fuse": '"Fuse" is not a known attribute of module "tvms.relax.transform"',
    "T.axis.space": 'Cannot access attribute "space" for class "type[axis]"',
    "schedule.spilt": 'Cannot access attribute "spilt" for class "Schedule"',
    "schedule.fuse(1)": '"Literal[1]" is not assignable to "LoopRV"',
    "relax.VirtualMachine.invoke": 'Cannot access attribute "invoke" for class "type[VirtualMachine]"',
}
"""Expressions, and what pyright says of each."""


def test_errors_of_programs_are_found(tmp_path: Path) -> None:
    head = "import tvms\nfrom tvms import relax, topi\nfrom tvms.script import tir as T\nschedule = tvms.Schedule(tvms.IRModule({}))\n"
    found = check(head + "\n".join(WRONG), tmp_path)
    for line, message in enumerate(WRONG.values(), 5):
        assert [
            row for row in found if row.startswith(f"{line}: error: ") and message in row.replace("\xa0", " ")
        ] != [], found


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def test_stubs_are_python() -> None:
    """Pyright goes on after a syntax error, mypy does not."""
    assert [path for path in (ROOT / "stubs").rglob("*.pyi") if not parsed(path).body] == []


def test_every_import_of_a_stub_exists() -> None:
    missing: list[str] = []
    for public in public_modules():
        file = ROOT / "stubs" / public.removeprefix("tvms.").replace(".", "/") / "__init__.pyi"
        for node in parsed(file).body:
            if isinstance(node, ast.ImportFrom) and node.module in sys.modules and node.names[0].name != "*":
                module = import_module(node.module)
                missing += [
                    f"{file}: {node.module}.{alias.name}" for alias in node.names if not hasattr(module, alias.name)
                ]
    assert missing == []


def test_every_primitive_is_a_documented_method() -> None:
    load_composites()
    (methods,) = [
        node for node in parsed(ROOT / "stubs/ir/schedule/primitive_methods.pyi").body if isinstance(node, ast.ClassDef)
    ]
    documented = {node.name for node in methods.body if isinstance(node, ast.FunctionDef) and ast.get_docstring(node)}
    assert {*PRIMITIVES, *COMPOSITES} - documented == set()


@pytest.mark.parametrize(
    ("stub", "name"),
    [
        ("ir/schedule/primitive_methods.pyi", "split"),
        ("script/relax/__init__.pyi", "matmul"),
        ("relax/op/__init__.pyi", "matmul"),
        ("script/tir/__init__.pyi", "Buffer"),
        ("te/__init__.pyi", "compute"),
    ],
)
def test_hover_text_is_in_the_stubs(stub: str, name: str) -> None:
    """An editor shows the docstring of the stub."""
    definitions = (ast.FunctionDef, ast.ClassDef)
    found = [
        node for node in ast.walk(parsed(ROOT / "stubs" / stub)) if isinstance(node, definitions) and node.name == name
    ]
    assert found
    assert all(ast.get_docstring(node) for node in found)
