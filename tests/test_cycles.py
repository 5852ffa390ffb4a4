"""Import cycles between the modules of the source, lazy imports and those for type checkers included.

The modules that import each other, directly or through others, form a component. `import_cycles.txt` lists the components
that exist; no other one may appear, and none may grow. `python tests/test_cycles.py` prints the present ones with the
imports inside them, and rewrites the list.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from test_house import ROOT, SOURCES, imports_in

LISTED = Path(__file__).with_name("import_cycles.txt")
Graph = Mapping[str, Mapping[str, int]]


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("tvms", *(parts[:-1] if parts[-1] == "__init__" else parts)))


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
    return graph


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


def listed() -> list[tuple[str, ...]]:
    return [tuple(line.split()) for line in LISTED.read_text(encoding="utf-8").splitlines()]


def test_no_import_cycle_is_added() -> None:
    known = [set(component) for component in listed()]
    new = [
        component
        for component in components(import_graph())
        if not any(known_one >= set(component) for known_one in known)
    ]
    advice = "move what both modules use below them, or let the upper one register itself with the lower one"
    assert new == [], f"{advice}; `python tests/test_cycles.py` prints the imports inside each component"


def test_components_of_a_known_graph() -> None:
    graph = {"a": {"b": 1}, "b": {"c": 1}, "c": {"a": 1, "d": 2}, "d": {"e": 1}, "e": {}, "f": {"g": 1}, "g": {"f": 1}}
    assert components(graph) == [("f", "g"), ("a", "b", "c")]


def main() -> None:
    graph = import_graph()
    present = components(graph)
    for component in present:
        print(f"{len(component)} modules")
        for name in component:
            for imported, line in graph[name].items():
                if imported in component:
                    print(f"    {name}:{line} imports {imported}")
    LISTED.write_text("".join(f"{' '.join(component)}\n" for component in present), encoding="utf-8")
    print(f"{len(present)} components, {sum(map(len, present))} modules in them")


if __name__ == "__main__":
    main()
