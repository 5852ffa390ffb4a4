"""The rules of the house: which room may know which, how long things may be, and what never stands in the source."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from sources import ROOMS, ROOT, SOURCES, imports_in, name_of, tree_of

MAY_KNOW = {"grammar": set[str](), "ir": set[str](), "dsl": {"grammar", "ir"}, "codegen": {"ir"}}
"""The rooms that a room may import, beside itself."""
SLOW_IMPORTS = {"numpy", "ml_dtypes", "llvmlite", "rich", "islpy", "torch"}
"""What only these may import when they are imported themselves:"""
MAY_BE_SLOW = (
    "ir/analysis/affine.py", "codegen/", "ir/interp/", "dsl/cli/table.py", "dsl/testing/values.py", "dsl/testing/laws/floats.py",
    "dsl/testing/laws/gradient.py",
)  # fmt: skip
CODE_FROM_DATA = {"eval", "exec", "compile", "__import__"}
"""Builtins that turn data into code."""
UNSAFE_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "code", "runpy"}
TEXT_TO_PROGRAM = ("grammar/", "dsl/parser/", "dsl/builder/", "dsl/load.py", "ir/")
"""The way from text to the program, on which no module is imported by a name that came from elsewhere."""
MAY_IMPORT_BY_NAME = {
    "ir/aliases.py",
    "ir/api/relax/__init__.py",
    "ir/api/relax/training/__init__.py",
    "ir/api/tir/__init__.py",
    "ir/ops/registry.py",
    "ir/passes/transform.py",
    "ir/schedule/__init__.py",
    "ir/schedule/primitives/__init__.py",
}
"""These import the modules of a list that stands in them."""
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK|NotImplementedError)\b")

FILE_SOFT, FILE_HARD, FUNCTION_HARD = 400, 500, 80


def functions_in(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree_of(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_imports_follow_the_arrows() -> None:
    wrong: list[str] = []
    for path in SOURCES:
        room = path.relative_to(ROOT).parts[0]
        for imported, at_import, line in imports_in(path):
            target = imported.split(".")[1] if imported.startswith("tvms.") else ""
            known = {room, *MAY_KNOW.get(room, ROOMS)}
            is_command = name_of(path).startswith("dsl/cli/") and not at_import
            if target in ROOMS and target not in known and not (is_command and target == "codegen"):
                wrong.append(f"{name_of(path)}:{line} imports {imported}")
    assert wrong == []


def test_slow_libraries_are_imported_late() -> None:
    early = [
        f"{name_of(path)}:{line} imports {imported}"
        for path in SOURCES
        for imported, at_import, line in imports_in(path)
        if at_import and imported.split(".")[0] in SLOW_IMPORTS and not name_of(path).startswith(MAY_BE_SLOW)
    ]
    assert early == []


def test_importing_the_package_imports_nothing_slow() -> None:
    script = f"import sys, tvms, tvms.dsl.cli; print(*sorted({SLOW_IMPORTS!r} & sys.modules.keys()))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == ""


def test_files_are_short() -> None:
    lengths = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert {name: length for name, length in lengths.items() if length > FILE_HARD} == {}
    long = {name: length for name, length in lengths.items() if length > FILE_SOFT}
    if long:
        warnings.warn(f"files that are to be split by noun: {long}", stacklevel=1)


def test_functions_are_short() -> None:
    long = {
        f"{name_of(path)}:{node.lineno} {node.name}": length
        for path in SOURCES
        for node in functions_in(path)
        if (length := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_HARD
    }
    assert long == {}


def test_every_function_is_annotated() -> None:
    bare: list[str] = []
    for path in SOURCES:
        for node in functions_in(path):
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
            missing = [arg.arg for arg in given if arg and arg.annotation is None and arg.arg not in ("self", "cls")]
            if missing or node.returns is None:
                bare.append(f"{name_of(path)}:{node.lineno} {node.name}: {missing or 'what it returns'}")
    assert bare == []


def test_no_data_becomes_code() -> None:
    """Nothing that a user wrote may reach `eval` and its like; a function of ours called `compile` is not theirs."""
    wrong: list[str] = []
    for path in SOURCES:
        tree = tree_of(path)
        own = {node.name for node in functions_in(path)}
        own |= {
            alias.asname or alias.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for alias in n.names
        }
        called = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
        wrong += [f"{name_of(path)} calls {name}" for name in sorted(called & CODE_FROM_DATA - own)]
        imported = {name for name, _, _ in imports_in(path)}
        wrong += [
            f"{name_of(path)} imports {name}" for name in sorted(imported) if name.split(".")[0] in UNSAFE_MODULES
        ]
        is_between = name_of(path).startswith(TEXT_TO_PROGRAM) and name_of(path) not in MAY_IMPORT_BY_NAME
        if is_between and "importlib" in imported:
            wrong.append(f"{name_of(path)} imports modules by name")
    assert wrong == []


def test_nothing_is_left_for_later() -> None:
    texts = {name_of(path): path.read_text(encoding="utf-8") for path in SOURCES}
    assert {name: found for name, text in texts.items() if (found := UNFINISHED.findall(text))} == {}


def test_variables_are_named_after_what_they_hold() -> None:
    nodes = ((path, node) for path in SOURCES for node in ast.walk(tree_of(path)))
    assert [name_of(path) for path, node in nodes if isinstance(node, ast.Name) and node.id == "each"] == []


def test_every_package_is_listed() -> None:
    """A folder that is missing here would be missing from the wheel."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    folders = {path.parent for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    assert [name_of(folder) for folder in folders if not (folder / "__init__.py").exists()] == []
    assert sorted(listed["packages"]) == sorted(
        ["tvms", "tvms-stubs", *(f"tvms.{name_of(f).replace('/', '.')}" for f in folders)]
    )


def test_every_dependency_is_imported() -> None:
    """An extra is declared together with the feature that imports it; `test`, `dev` and `docs` are for targets of make."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [group for name, group in project["optional-dependencies"].items() if name not in ("test", "dev", "docs")]
    declared = {re.match(r"\w+", item)[0] for group in (project["dependencies"], *extras) for item in group}  # pyright: ignore
    sources = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    found = set(re.findall(r"""(?:^\s*(?:import|from)\s+|import_module\(["'])(\w+)""", sources, re.MULTILINE))
    assert declared - {name.lower() for name in found} == set()


def test_text_cases_have_one_home() -> None:
    """`tests/text_cases.py` documents their format."""
    texts = {path for ending in ("tvms", "txt") for path in (ROOT / "tests").rglob(f"*.{ending}")}
    homeless = {path for path in texts if path.parents[1] != ROOT / "tests" / "cases"}
    assert homeless == {ROOT / "tests" / "testing" / "survivors.txt"}  # a table of mutants, not of texts


def test_samples_are_numbered_and_introduced() -> None:
    names = sorted(path.name for path in (ROOT / "samples").glob("*.tvms"))
    assert [name[:3] for name in names] == [f"{number:02}_" for number in range(1, len(names) + 1)]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in names if name not in readme] == []


def test_codes_are_declared_and_used() -> None:
    from tvms.ir.codes import CODES

    used: set[str] = set()
    for path in SOURCES:
        if name_of(path) != "ir/codes.py":
            used.update(re.findall(r"\bE\d{4}\b", path.read_text(encoding="utf-8")))
    assert used - CODES.keys() == set()
    assert CODES.keys() - used == set()


def test_the_architecture_page_is_current() -> None:
    done = subprocess.run(
        [sys.executable, "docs/architecture.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_each_kind_of_rewriting_has_one_mechanism() -> None:
    """Decision 16: one function rebuilds nodes from changed parts, and three classes call it."""
    bases = {
        f"{name_of(path)}:{node.name}"
        for path in SOURCES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ClassDef) and node.name.endswith("Rewriter")
        if name_of(path)
        != "ir/dpl/rewriter.py"  # TVM's names of passes that choose new values; ValueRewriter applies them
    }
    expected = ("ir/passes/rewriter.py:BindingRewriter", "ir/passes/rewriter.py:ValueRewriter")
    assert bases == {"codegen/lower/rewriter.py:Rewriter", *expected}
    rebuilders = {
        name_of(path) for path in SOURCES for name, _, _ in imports_in(path) if name == "tvms.ir.visit.rebuilt"
    }
    assert rebuilders == {"codegen/lower/rewriter.py", "ir/simplify/core.py", "ir/simplify/statements.py"}
