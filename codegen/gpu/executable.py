"""Compile modules for a GPU, to executables or to text."""

from __future__ import annotations

import time

from ...ir import tir
from ...ir.base import BaseFunc, IRModule, Source
from ...ir.diagnostics import error
from ...ir.passes.rewrite_cuda_graph import CUDA_GRAPH, rewrite_cuda_graph
from ..build import Built, Settings
from ..graph.calls import GraphEntry
from ..graph.entries import Entry, compile_graphs
from ..llvm.module import EmittedModule
from ..target import Target
from .entry import DeviceEntry, LoadedProgram
from .home import DeviceHome
from .lower import with_threads
from .program import build_program
from .recording import RecordedEntry


def compile_for_gpu(
    module: IRModule, target: Target, settings: Settings
) -> tuple[Built, dict[str, Entry], bytes, Target, Settings, DeviceHome]:
    """Compile a prepared module; return the parts of its executable, in the order of its constructor.

    A GPU is needed only when one of its functions is called.
    """
    start = time.perf_counter()
    module = rewrite_cuda_graph(module)
    program = build_program(module, target, settings)
    loaded = LoadedProgram(program)
    home = DeviceHome(loaded)
    inside: dict[str, Entry] = {}
    for name in program.hosts:
        source = module.functions[name]
        assert isinstance(source, tir.PrimFunc)
        inside[name] = DeviceEntry(name, source, loaded)
    compile_graphs(module, inside, home)
    entries = {
        name: home.outside(_recorded(function, inside[name], loaded, home))
        for name, function in module.functions.items()
        if name in inside
    }
    program.stats["total"] = time.perf_counter() - start
    emitted = EmittedModule(program.llvm, program.faults)
    built = Built(module, {}, {}, emitted, program.decisions, program.safety, program.stats)
    return built, entries, program.ptx.encode(), target, settings, home


def _recorded(function: BaseFunc, entry: Entry, loaded: LoadedProgram, home: DeviceHome) -> Entry:
    """Return the entry of a function, recorded as a CUDA graph if its attributes ask for that."""
    if function.attrs.get(CUDA_GRAPH) and isinstance(entry, GraphEntry):
        return RecordedEntry(entry, loaded, home.constants)
    return entry


def emit_for_gpu(module: IRModule, kind: str, target: Target, settings: Settings, source: Source | None = None) -> str:
    """Return the kernels of a prepared module as PTX ("ptx", "asm") or as optimized LLVM IR ("llvm"), with the lines of
    statements in `source`, if any.
    """
    program = build_program(module, target, settings, source)
    if kind == "llvm":
        return program.llvm
    if kind in ("ptx", "asm"):
        return program.ptx
    raise error("E0601", f"target '{target.name}' has no output '{kind}'", None, "emit ptx, llvm or tir")


def lowered_for_gpu(module: IRModule, target: Target, settings: Settings) -> IRModule:
    """Return a prepared module after lowering, with the code of threads inside `T.launch_thread`."""
    program = build_program(module, target, settings)
    return IRModule({name: with_threads(host) for name, host in program.hosts.items()}, name="Lowered")
