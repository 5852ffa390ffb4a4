"""Compiled modules: `compile` returns an `Executable`, which has a callable for every function."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache as once
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...ir import relax, script, tir
from ...ir.backend.external import external_functions
from ...ir.base import BaseFunc, IRModule, Source
from ...ir.deep import deep
from ...ir.diagnostics import Diagnostic, TvmsError, error
from ...ir.files import memory_limit, read_file, write_together, write_whole
from ...ir.passes.pipelines import get_pipeline
from ...ir.passes.transform import Pass
from ...ir.programs import as_module
from ...ir.verify import check_law
from ..artifact import (
    Contents,
    Machine,
    Manifest,
    embed,
    embedded,
    faults_of,
    machine_of,
    pack,
    refused,
    unpack,
    version,
    why_other_machine,
)  # fmt: skip
from ..build import Built, Settings, build, lower_program, prepare, rare_collections
from ..cache import Cache, find_cache
from ..current_target import default_target
from ..device import Device, check_device
from ..gpu.orders import EACH, InEveryOrder
from ..graph.entries import Entry, compile_function, compile_graphs
from ..graph.home import HOST, Home
from ..graph.native import native_functions
from ..graph.native_entry import NativeEntry
from ..library import exports, header_text, link_library
from ..llvm.backend import ObjectWriter, objects_in, optimize, to_assembly, to_object
from ..llvm.faults import Fault
from ..llvm.module import EmittedModule
from ..lower import Bounds
from ..pipeline import pack_constants
from ..target import Target, TargetLike, check_runs_here, get_target
from ..tuned import is_tuned
from .jit import Library, link
from .prim_entry import PrimEntry
from .signature import Signature
from .timing import Evaluator

if TYPE_CHECKING:
    from ..tuner.database import Database


class Executable:
    """A compiled module.

    `exe["main"](x, w)` calls a function. `module` is the compiled program; `stats` the time of each stage of
    the compilation in seconds; `decisions` the decisions of the default schedules by function; `safety` how
    many indices of each function were proven to be in bounds. `plans` is the memory plan of each graph
    function that became machine code, and `home` the memory of the tensors of the others. `built` is the
    result of the compiler for `target`. `notes` are warnings about files with machine code that were not used.
    """

    def __init__(
        self, built: Built, entries: dict[str, Entry], image: bytes, target: Target, settings: Settings,
        home: Home = HOST,
    ) -> None:  # fmt: skip
        self.module, self.stats, self.decisions, self.safety = built.module, built.stats, built.decisions, built.safety
        self.plans = {name: native.plan for name, native in built.natives.items()}
        self._entries, self.built, self._image = entries, built, image
        self.target, self._settings, self.home = target, settings, home
        self.notes: tuple[Diagnostic, ...] = ()

    @property
    def entry_names(self) -> tuple[str, ...]:
        """Return the names of all functions that can be called."""
        return tuple(self._entries)

    def __getitem__(self, name: str) -> Entry:
        """Return the function `name`; TvmsError E0102 if there is none.

        `exe["as_text"]` and `exe["as_python"]` are the methods of these names, unless functions have them (TVM: loaded modules).
        """
        if name not in self._entries:
            if name in ("as_text", "as_python"):
                return getattr(self, name)
            help = f"functions are: {', '.join(self._entries)}"
            raise error("E0102", f"the module has no function '{name}'", None, help)
        return self._entries[name]

    @property
    def main(self) -> Entry:
        """The function `main`, or the only function if it has another name (as in TVM's `runtime.Module`)."""
        (name,) = self._entries if len(self._entries) == 1 else ("main",)
        return self[name]

    entry_func = main

    def __call__(self, *args: Any) -> Any:
        """Call `main`, or the only function if it has another name."""
        return self.main(*args)

    def time_evaluator(self, func_name: str, dev: Device, number: int = 10, **options: Any) -> Evaluator:
        """Return an `Evaluator` that times calls of a function (TVM: `runtime.Module.time_evaluator`)."""
        device = check_device(dev, "time_evaluator", "dev")
        return Evaluator(self[func_name], number, finish=device.sync, **options)

    def export_library(self, file_name: str | PathLike[str]) -> None:
        """Write the compiled module to a file for `tvms.runtime.load_module`, atomically.

        If the suffix is ".so", it also is a shared library for programs in C, and its header is written beside it
        (`codegen.library`). Graph functions that need Python, for example because of symbolic sizes, are only in the compiled
        module; the header names them. Raises TvmsError: E0802 if the file cannot be written, E0608 if a library cannot be linked.
        """
        path = Path(file_name)
        if path.suffix != ".so":
            write_whole(self.to_bytes(), str(path))
            return
        library = link_library(self.built, self._image, self.target)
        header = header_text(exports(self.module, self.built.natives))
        write_together([(header, str(path.with_suffix(".h"))), (embed(library, self.to_bytes()), str(path))])

    def jit(self) -> Executable:
        """Return the module itself, whose machine code is loaded already (TVM: `Executable.jit`)."""
        return self

    def to_bytes(self) -> bytes:
        """Return the compiled module as the contents of a file (`codegen.artifact`)."""
        text, tensors = script.dump(self.module)
        return pack(self.built, self._image, self.target, self._settings, (text, tensors))

    def as_text(self) -> str:
        """Return the compiled program as a text, as `script` prints it: each kernel and its calls (TVM: `Executable.as_text`, which
        lists instructions).
        """
        return self.module.script()

    def as_python(self) -> str:
        """Return the compiled program in the dialect of TVMScript (TVM: `Executable.as_python`)."""
        return self.module.script(dialect="tvm-0.21")

    def __repr__(self) -> str:
        return f"<Executable for {self.target.name}: {', '.join(self._entries)}>"

    def _repr_html_(self) -> str:
        """Return the target, a table of the functions, and the compiled program as HTML, for notebooks."""
        rows = [["Function", "Kind", "Schedule", "Indices checked at run time"]]
        for name, function in self.module.functions.items():
            kind = "loop function" if isinstance(function, tir.PrimFunc) else "graph function"
            rules = [decision.rule for decision in self.decisions.get(name, ()) if decision.rule]
            safety = self.safety.get(name)
            checked = f"{safety.checked} of {safety.proven + safety.checked}" if safety else ""
            rows.append([name, kind, ", ".join(dict.fromkeys(rules)), checked])
        return script.html(f"Executable for {self.target.name}", rows, self.module)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)


@deep
def compile(
    program: IRModule | BaseFunc,
    target: TargetLike | None = None,
    *,
    schedule: bool = True,
    bounds: Bounds = "prove",
    threads: int = 0,
    level: int = 3,
    native: bool = True,
    cache: str | PathLike[str] | None = None,
    database: str | PathLike[str] | Database | None = None,
    relax_pipeline: str | Pass | None = "default",
) -> Executable:
    """Compile a module, or a single function, for `target`; the default is the current target
    (`tvms.target.Target`) or the processor. See `codegen.build.Settings` for the settings.

    `relax_pipeline`, a pass or the name of a pipeline, runs first; "default" is what `compile` does anyway.

    With `cache`, a folder (or that of TVMS_CACHE_DIR), compiled modules are reused. Schedules that the module
    contains for this target (`S.schedule`) are applied first; functions without one use those of `database`, a file of
    `tvms tune` or an open one, and then the results are not cached.

    Raises TvmsError with everything that cannot be compiled (E0601 to E0607), from all functions, and E0903 for an unknown pipeline.
    """
    chosen, start = get_target(default_target(target)), time.perf_counter()
    if relax_pipeline not in (None, "default"):
        pipeline = get_pipeline(relax_pipeline) if isinstance(relax_pipeline, str) else relax_pipeline
        program = pipeline(as_module(program))
    settings = Settings(schedule, bounds, threads, level, native)
    with nullcontext() if database is None else _tuned_by(database, threads):
        if chosen.is_device:
            from ..gpu.executable import compile_for_gpu

            return Executable(*compile_for_gpu(prepare(program, chosen), chosen, settings))
        found = None if is_tuned() else find_cache(cache)
        with rare_collections():
            built, image = _build(program, chosen, settings, found)
    executable = link_built(built, image, chosen, settings)
    executable.notes += tuple(found.notes) if found else ()
    executable.stats["total"] = time.perf_counter() - start
    return executable


def _tuned_by(database: str | PathLike[str] | Database, threads: int) -> AbstractContextManager[None]:
    from ..tuner.use import tuned_by

    return tuned_by(database, threads)


def _build(
    program: IRModule | BaseFunc, target: Target, settings: Settings, cache: Cache | None
) -> tuple[Built, bytes]:
    """Return a module and its machine code, from the cache if possible."""
    key = None if cache is None else cache.key(as_module(program), target, settings)
    found = None if cache is None or key is None else cache.find(key)
    if found is not None:
        return _restored(pack_constants(found.module), found.manifest), found.image
    lowered = lower_program(program, target)
    built, image = build_image(pack_constants(lowered), target, settings)
    if cache is not None and key is not None:
        cache.keep(key, lowered, built, image, target, settings)
    return built, image


def build_image(module: IRModule, target: Target, settings: Settings) -> tuple[Built, bytes]:
    """Build a prepared module and return it with its object files (`objects_in`).

    LLVM works on parts of a large module while the others are lowered. `stats["llvm"]` is the time that remains after that.
    """
    with ObjectWriter(target, settings.level) as writer:
        built = build(module, target, settings, for_c=False, take=writer.add)
        start = time.perf_counter()
        image = writer.finish(built.emitted.text)
    built.stats["llvm"] = time.perf_counter() - start
    return built, image


def _restored(module: IRModule, manifest: Manifest) -> Built:
    """Restore a built module from its manifest."""
    natives = native_functions(module) if manifest.settings.native else {}
    emitted = EmittedModule("", faults_of(manifest))
    return Built(module, manifest.signatures, natives, emitted, manifest.decisions, manifest.safety, {})


def link_built(built: Built, image: bytes, target: Target, settings: Settings) -> Executable:
    """Return the executable of a module whose kernels, and drivers of native functions, are in the object files
    `image`.

    TvmsError E0617 if the code does not run on this processor.
    """
    check_runs_here(target)
    module, natives, library = built.module, built.natives, link(objects_in(image), built.signatures, target)
    entries: dict[str, Entry] = {}
    for name, signature in built.signatures.items():
        source = natives[name].driver if name in natives else module.functions[name]
        assert isinstance(source, tir.PrimFunc)
        entry = prim_entry(name, source, module, signature, library, built.emitted.faults, target, settings)
        if name in natives:
            graph = module.functions[name]
            assert isinstance(graph, relax.Function)
            execute = once(partial(compile_function, name, graph, entries, external_functions(module)))
            entry = NativeEntry(natives[name], graph, entry, library.addresses[name], execute)
        entries[name] = entry
        if target.order == EACH and library.pattern is not None:
            entries[name] = InEveryOrder(name, entries[name], library.pattern, source.span)
    compile_graphs(module, entries)
    ordered = {name: entries[name] for name in module.functions if name in entries}
    return Executable(built, ordered, image, target, settings)


def prim_entry(
    name: str, source: tir.PrimFunc, module: IRModule, signature: Signature, library: Library, faults: Sequence[Fault],
    target: Target, settings: Settings,
) -> PrimEntry:  # fmt: skip
    """Return the entry of a kernel of `library`, compiled from function `name` of a module. If only its default
    schedule requires that arguments do not overlap, calls with overlapping arguments use an unscheduled
    version.
    """
    relies_on_rules = signature.is_alone and not source.attrs.get("tir.noalias")
    again = _unscheduled(name, module, target, settings) if relies_on_rules else None
    return PrimEntry(name, source, signature, library, faults, again)


def load_compiled(data: bytes, name: str, trust: bool = False) -> Executable:
    """Return the compiled module in `data` (`Executable.to_bytes`), called `name` in messages.

    Its machine code is loaded if it is signed by this user's tvms and made for this machine. Otherwise its
    text is verified and compiled, with `bounds="prove"` if it was made with "trust", and a note
    (`Executable.notes`) says so. With `trust`, machine code is loaded regardless of its origin: it can do
    whatever a program of yours can.

    Raises TvmsError E0609 if the data is damaged and, with `trust`, if it was made by another version, or for
    another machine; without, the errors of its text and of `compile`.
    """
    contents = unpack(data, name)
    manifest, target = contents.manifest, get_target(contents.manifest.target)
    module = script.parse(contents.text, name, contents.tensors)
    if target.is_device:
        return _compiled_again(module, target, manifest.settings)
    reason = _why_unfit(manifest, machine_of(target))
    if trust and reason:
        raise refused(name, reason)
    if contents.is_signed and reason is None:
        return link_built(_restored(module, manifest), contents.image, target, manifest.settings)
    if trust:
        return _linked_on_trust(module, contents, target, name)
    executable = _compiled_again(module, target, manifest.settings)
    message = f"the machine code in '{name}' was not loaded: {reason or 'it is not signed by this user'}"
    help = "its text was compiled instead; trust=True loads machine code of any origin"
    executable.notes += (Diagnostic("E0618", message, None, help, severity="warning"),)
    return executable


def _why_unfit(manifest: Manifest, here: Machine) -> str | None:
    """Return why machine code does not run on this machine; None if it does."""
    if manifest.version != version():
        return f"it was made by tvms {manifest.version}, but this is {version()}"
    return why_other_machine(manifest.machine, here)


def _compiled_again(module: IRModule, target: Target, settings: Settings) -> Executable:
    """Compile a module of unknown origin: it is verified, and no setting disables checks."""
    check_law(module)
    bounds = "prove" if settings.bounds == "trust" else settings.bounds
    return compile(
        module, target, schedule=settings.schedule, bounds=bounds, threads=settings.threads, level=settings.level,
        native=settings.native,
    )  # fmt: skip


def _linked_on_trust(module: IRModule, contents: Contents, target: Target, name: str) -> Executable:
    """Link machine code that the user trusts; E0609 if it does not match its text."""
    built = _restored(module, contents.manifest)
    loops = {key for key, function in module.functions.items() if isinstance(function, tir.PrimFunc)}
    if built.signatures.keys() != loops | built.natives.keys():
        raise refused(name, "its manifest names other functions than its text")
    try:
        return link_built(built, contents.image, target, contents.manifest.settings)
    except TvmsError:
        raise
    except (RuntimeError, ValueError) as problem:
        raise refused(name, f"its machine code cannot be linked: {problem}") from None


def load_module(path: str | PathLike[str], trust: bool = False) -> Executable:
    """Load the compiled module in a file (`Executable.export_library`); options and errors are those of
    `load_compiled`.
    """
    try:
        data = read_file(path, memory_limit())
    except OSError as problem:
        raise refused(str(path), f"it cannot be read: {problem.strerror}", "check the path") from None
    return load_compiled(embedded(data, str(path)), str(path), trust)


def _unscheduled(name: str, module: IRModule, target: Target, settings: Settings) -> Callable[[], Entry]:
    """Return a function that compiles function `name` unscheduled, once, for calls with overlapping arguments."""

    @once
    def make() -> Entry:
        bounds, threads, level = settings.bounds, settings.threads, settings.level
        return compile(module, target, schedule=False, bounds=bounds, threads=threads, level=level)[name]

    return make


@deep
def emit(
    program: IRModule | BaseFunc, kind: str, target: TargetLike = "llvm", settings: Settings | None = None,
    source: Source | None = None,
) -> str | bytes:  # fmt: skip
    """Return the loop functions of a program as optimized LLVM IR ("llvm"), assembly ("asm") or an object file
    ("obj"); for a GPU, as LLVM IR or as PTX ("ptx", "asm"). With `source`, text has the lines of statements in it as debug
    locations. TvmsError E0601 for another kind.
    """
    chosen, how = get_target(target), settings or Settings()
    prepared = prepare(program, chosen, lines=source is not None)
    if chosen.is_device:
        from ..gpu.executable import emit_for_gpu

        return emit_for_gpu(prepared, kind, chosen, how, source)
    if kind not in ("llvm", "asm", "obj"):
        raise error("E0601", f"target '{chosen.name}' has no output '{kind}'", None, "emit llvm, asm or obj")
    module = optimize(build(prepared, chosen, how, source=source).emitted.text, chosen, how.level)
    if kind == "obj":
        return to_object(module, chosen, how.level)
    return to_assembly(module, chosen, how.level) if kind == "asm" else str(module)
