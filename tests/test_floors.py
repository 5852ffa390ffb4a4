"""The floors of `ir`: a module imports only modules of its own floor and of the floors below, lazy imports included.

Each floor also works alone: its modules are imported while the floors above, `dsl` and `codegen` cannot be.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from sources import ROOT, SOURCES, imports_in, name_of
from test_cycles import import_graph

FLOORS = {
    "nodes": (
        "base", "buffers", "clusters", "codes", "deep", "diagnostics", "dl_tensor", "dtype", "equal", "files", "fold", "functions", "hooks", "idioms",
        "infer", "run_time_checks", "intern", "kinds", "make", "matrix_units", "numpy_dtype", "operators", "ops.binding", "ops.dims", "ops.inference",
        "ops.llvm_intrinsics", "ops.registry", "ops.tile", "ops.tir", "ops.tir_builtin", "ops.tir_device", "ops.tir_kinds", "ops.tir_math",
        "ops.tir_table", "packed", "programs", "promote", "relax", "sanitize", "script", "signature", "source_lines", "spelling", "tir", "variables",
        "tensor_copies", "tensor_memory", "visit", "vm_builtins", "vm_kv_cache", "vm_kv_config", "vm_kv_functions", "vm_params", "vm_sequences", "vm_shapes", "warpgroups",
    ),
    "arithmetic": (
        "access", "analysis", "contradiction", "empty_reductions", "exchanges", "function_table", "int_set", "jumps", "linear",
        "index_dtype", "purity", "reduction", "simplify", "sums",
    ),
    "verifier and interpreter": ("annotations", "interp", "lints", "verify"),
    "schedule": ("schedule", "software_pipeline", "local_stage"),
    "graph": ("backend", "building", "dpl", "ops", "passes", "te"),
    "the mirror of TVM's Python API": ("aliases", "api", "left_out", "nn"),
}  # fmt: skip
"""The floors, lowest first, and the modules of each with those below them; the longest name decides."""
LAZY = 32
"""Imports within `ir` that functions execute, without those of the hooks. Lower it with their number."""
ALONE = """
import importlib, json, sys, types

floor, absent = map(set, json.loads(sys.argv[1]))

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in absent or name.startswith(("tvms.dsl", "tvms.codegen")):
            raise ImportError(f"{name} is above this floor")

package = types.ModuleType("tvms")
package.__path__ = [sys.argv[2]]
sys.modules["tvms"] = package
sys.meta_path.insert(0, Absent())
for name in sorted(floor):
    importlib.import_module(name)
"""


def floor_of(module: str) -> int:
    """Return the number of the floor of a module of `ir`."""
    name = module.removeprefix("tvms.ir.")
    rooms = [
        (len(room), n) for n, rooms in enumerate(FLOORS.values()) for room in rooms if f"{name}.".startswith(f"{room}.")
    ]
    assert rooms, f"{module} has no floor"
    return max(rooms)[1]


def modules() -> list[str]:
    """Return the modules of `ir`, without folders whose modules are on several floors: these import nothing."""
    graph = import_graph()
    folders = {name.rpartition(".")[0] for name in graph}
    return [
        name for name, imported in graph.items() if name.startswith("tvms.ir.") and (imported or name not in folders)
    ]


def test_every_room_exists() -> None:
    present = modules()
    rooms = [room for rooms in FLOORS.values() for room in rooms]
    assert [room for room in rooms if not any(f"{name}.".startswith(f"tvms.ir.{room}.") for name in present)] == []


def test_imports_lead_downwards() -> None:
    graph = import_graph()
    wrong = [
        f"{name}:{line} imports {imported}"
        for name in modules()
        for imported, line in graph[name].items()
        if imported.startswith("tvms.ir.") and floor_of(imported) > floor_of(name)
    ]
    assert wrong == []


def test_lazy_imports_do_not_become_more() -> None:
    assert len(list(lazy_imports())) <= LAZY


def lazy_imports() -> Iterator[str]:
    """Yield the imports within `ir` that functions execute."""
    for path in SOURCES:
        if name_of(path).startswith("ir/") and name_of(path) != "ir/__init__.py":
            for imported, at_import, line in imports_in(path):
                if imported.startswith("tvms.ir") and not at_import:
                    yield f"{name_of(path)}:{line} imports {imported}"


@pytest.mark.parametrize("number", range(len(FLOORS)), ids=list(FLOORS))
def test_a_floor_works_without_those_above(number: int) -> None:
    floors = {name: floor_of(name) for name in modules()}
    own = [name for name, floor in floors.items() if floor == number]
    absent = [name for name, floor in floors.items() if floor > number]
    command = [sys.executable, "-c", ALONE, json.dumps([own, absent]), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    print(*lazy_imports(), sep="\n")
