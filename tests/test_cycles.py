"""Import cycles between the modules of the source, lazy imports and those for type checkers included.

The modules that import each other, directly or through others, form a component; there may be none. `python
tests/test_cycles.py` prints the components with the imports inside them.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from sources import ROOT, SOURCES, imports_in, name_of, tree_of
from test_house import FILE_SOFT, MAY_BE_SLOW

Graph = Mapping[str, Mapping[str, int]]

SHORT = 80
"""Maximum number of lines of a short file."""
ONE_PER_FILE = {
    "codegen/lower": "pass",
    "dsl/importers/onnx": "family of operators",
    "dsl/importers/torch": "family of operators",
    "codegen/dlight/cpu": "schedule rule",
    "codegen/dlight/gpu": "schedule rule",
    "dsl/script/ir_builder": "module of TVM",
    "dsl/testing": "module of TVM",
    "dsl/testing/stages": "family of stages",
    "ir/api/arith": "module of TVM",
    "ir/nn": "module of TVM",
    "ir/api/relax": "module of TVM",
    "ir/api/relax/testing": "module of TVM",
    "ir/api/tir": "module of TVM",
    "ir/api/topi": "module of TVM",
    "ir/make": "family of constructors",
    "ir/passes": "pass",
    "ir/schedule/primitives": "primitive",
    "ir/simplify": "family of operators",
    "ir/verify": "law",
}
"""Folders with one noun per file, however short; one module of the folder lists them."""
PROGRAM = "grammar/generate.py"
"""A program: `python -m tvms.grammar.generate`."""


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("tvms", *(parts[:-1] if parts[-1] == "__init__" else parts)))


@cache
def import_graph() -> Graph:
    """Return the modules that each module imports, with the lines; the public package itself is left out."""
    modules = {module_of(path): path for path in SOURCES}
    graph: dict[str, dict[str, int]] = {name: {} for name in modules}
    for name, path in modules.items():
        for imported, _, line in imports_in(path):
            while imported and imported not in modules:
                imported = imported.rpartition(".")[0]
            if imported not in ("", "tvms", name):
                graph[name][imported] = line
        for imported, line in listed_imports(path):
            graph[name][imported] = line
    return graph


def listed_imports(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the modules of its folder that a file imports at once by a list of names; registries that load late are not seen."""
    if "import_module" not in path.read_text(encoding="utf-8"):
        return
    tree = tree_of(path)
    deferred = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inner = {id(part) for function in deferred for part in ast.walk(function)}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and id(node) not in inner]
    if any(isinstance(call.func, ast.Name) and call.func.id == "import_module" for call in calls):
        names = {part.value: part.lineno for part in ast.walk(tree) if isinstance(part, ast.Constant)}
        files = {path.with_name(f"{name}.py"): line for name, line in names.items() if str(name).isidentifier()}
        yield from ((module_of(file), line) for file, line in files.items() if file.exists())


def components(graph: Graph) -> list[tuple[str, ...]]:
    """Return the strongly connected components of at least two modules, the smallest first (Tarjan)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[tuple[str, ...]] = []
    for root in graph:
        open_modules: list[tuple[str, Iterator[str]]] = [] if root in order else [(root, iter(graph[root]))]
        while open_modules:
            name, rest = open_modules[-1]
            if name not in order:
                order[name] = low[name] = len(order)
                stack.append(name)
            new = next((key for key in rest if key not in order or key in stack), None)
            if new is not None and new not in order:
                open_modules.append((new, iter(graph[new])))
            elif new is not None:
                low[name] = min(low[name], order[new])
            else:
                open_modules.pop()
                if open_modules:
                    above = open_modules[-1][0]
                    low[above] = min(low[above], low[name])
                if low[name] == order[name]:
                    at = stack.index(name)
                    found.append(tuple(sorted(stack[at:])))
                    del stack[at:]
    return sorted(
        (component for component in found if len(component) > 1), key=lambda component: (len(component), component)
    )


def test_no_modules_import_each_other() -> None:
    advice = "move what both modules use below them, or let the upper one define a hook of the lower one (ir/hooks.py)"
    assert components(import_graph()) == [], (
        f"{advice}; `python tests/test_cycles.py` prints the imports of each component"
    )


def test_components_of_a_known_graph() -> None:
    graph = {"a": {"b": 1}, "b": {"c": 1}, "c": {"a": 1, "d": 2}, "d": {"e": 1}, "e": {}, "f": {"g": 1}, "g": {"f": 1}}
    assert components(graph) == [("f", "g"), ("a", "b", "c")]


def short_files() -> dict[str, str]:
    """Return the short files with one importer in their folder that would fit into it, with that importer.

    A file with a stub stays by itself, since the stub replaces all of it, and so does one that imports slow libraries, which its
    importer loads only where it needs them.
    """
    paths = {module_of(path): path for path in SOURCES}
    importers: dict[str, set[str]] = {}
    for name, imported in import_graph().items():
        for other in imported:
            importers.setdefault(other, set()).add(name)
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in paths.items()}
    found: dict[str, str] = {}
    for name, users in importers.items():
        (user, *others), path = sorted(users), paths[name]
        is_alone = not others and paths[user].parent == path.parent and path.name != "__init__.py"
        is_alone = is_alone and name_of(path) not in MAY_BE_SLOW
        is_alone = is_alone and not (ROOT / "stubs" / name_of(path)).with_suffix(".pyi").exists()
        if is_alone and lengths[name] <= SHORT and lengths[name] + lengths[user] <= FILE_SOFT:
            found[name_of(path)] = name_of(paths[user])
    return found


def test_a_short_file_with_one_importer_belongs_in_that_importer() -> None:
    found = short_files()
    folders = {file: file.rpartition("/")[0] for file in found}
    assert {file: user for file, user in found.items() if folders[file] not in ONE_PER_FILE and file != PROGRAM} == {}
    unused = set(ONE_PER_FILE) - set(folders.values())
    assert unused == set(), "these folders have no short file: remove them from ONE_PER_FILE"


def main() -> None:
    graph = import_graph()
    present = components(graph)
    for component in present:
        print(f"{len(component)} modules")
        for name in component:
            for imported, line in graph[name].items():
                if imported in component:
                    print(f"    {name}:{line} imports {imported}")
    print(f"{len(present)} components, {sum(map(len, present))} modules in them")


if __name__ == "__main__":
    main()
