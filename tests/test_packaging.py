"""The wheel, as a user gets it: everything is in it, and it works with the repository out of sight."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("grammar", "dsl", "ir", "codegen")
STUBS = {path.relative_to(ROOT / "stubs").as_posix() for path in (ROOT / "stubs").rglob("*") if path.is_file()}
DATA = (
    "py.typed", "grammar/tvms.lark", "grammar/tvms.tables", "dsl/reference/language.md", "dsl/reference/passes.md",
    "codegen/runtime/placement.ll", "codegen/runtime/pool.ll",
    *[path.relative_to(ROOT).as_posix() for path in (ROOT / "ir/schedule/intrinsics").glob("*.tvms")],
    *[path.relative_to(ROOT).as_posix() for path in (ROOT / "dsl/reference/examples").glob("*.tvms")],
    *[path.relative_to(ROOT).as_posix() for path in (ROOT / "dsl/testing/programs").glob("*.tvms")],
)  # fmt: skip

PROGRAM = """
import numpy as np, tvms
mod = tvms.parse('''
T.prim_func double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("double"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] * T.float32(2)
''')
a, b = np.arange(4, dtype="float32"), np.zeros(4, "float32")
tvms.interpret(mod, "double", [a, b])
print(tvms.__file__, b.tolist())
"""

ROOT_FILES = ("__init__.py", "__main__.py", "tvms_command.py")
"""The last is a module of its own beside the package, too: the command starts there."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy, so that nothing built before can get into it."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "tvms"
    skipped = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in (
        *ROOMS,
        "stubs",
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "__init__.py",
        "__main__.py",
        "tvms_command.py",
        "py.typed",
    ):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=skipped)
        else:
            copy.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*build, "--wheel-dir", str(folder), str(copy)], check=True)
    (built,) = folder.glob("*.whl")
    return built


def test_everything_is_in_the_wheel(wheel: Path) -> None:
    sources = {path.relative_to(ROOT).as_posix() for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    packed = {name.removeprefix("tvms/") for name in zipfile.ZipFile(wheel).namelist() if name.startswith("tvms/")}
    assert {*sources, *DATA, *ROOT_FILES} - packed == set()
    assert packed - {*sources, *DATA, *ROOT_FILES} == set()
    names = zipfile.ZipFile(wheel).namelist()
    assert "tvms_command.py" in names
    assert {name.removeprefix("tvms-stubs/") for name in names if name.startswith("tvms-stubs/")} == STUBS


def test_the_installed_wheel_runs_a_program(wheel: Path, tmp_path: Path) -> None:
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(tmp_path)]
    subprocess.run([*install, str(wheel)], check=True)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    program = [sys.executable, "-c", PROGRAM]
    result = subprocess.run(program, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert result.stderr == ""
    command = [sys.executable, "-c", "import sys, tvms_command; sys.exit(tvms_command.main())", "--version"]
    version = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=environment)
    assert version.stdout.startswith("tvms ")
    assert result.stdout == f"{tmp_path / 'tvms' / '__init__.py'} [0.0, 2.0, 4.0, 6.0]\n"
