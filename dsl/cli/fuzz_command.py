"""`tvms fuzz LAW [FILE]`: check a law on random programs, or on random variants of one."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...ir import tir
from ...ir.base import IRModule, Source
from ...ir.diagnostics import TvmsError, error
from ...ir.sanitize import say
from ..laws import LAWS
from ..load import read_source
from .files import write_output
from .reporting import say_list

SECONDS_BETWEEN_LINES = 5.0
"""Seconds between lines of progress, if there is no bar."""

if TYPE_CHECKING:
    from ...codegen.rules import Decision
    from ..testing.campaign import Batch, Failure, Total
    from ..testing.laws.artifacts import Damage
    from ..testing.laws.lowering import Lowering
    from ..testing.laws.recipes import Defaults, Derived
    from ..testing.matrix import Decided


def compiled(module: IRModule | Damage | Lowering | Defaults, entry: str) -> Any:
    """Return a callable for a function of a module, compiled for its target attribute. Without one, compile for the
    CPU, and a loop function in all variants. For a damaged file, return the result of `load_damaged`; for a lowering, that
    of `_lower_in_steps`; for default schedules, that of `_default_schedules`.
    """
    if not isinstance(module, IRModule):
        from ..testing.laws.lowering import Lowering
        from ..testing.laws.recipes import Defaults
        from .fuzz_artifacts import load_damaged

        if isinstance(module, Defaults):
            return _default_schedules(module)
        return _lower_in_steps(module) if isinstance(module, Lowering) else load_damaged(module)
    from ...codegen import compile as compile_module
    from ...codegen.runtime.variants import compile_variants

    target = module.attrs.get("target")
    if target is None and isinstance(module.functions[entry], tir.PrimFunc):
        return {way: entries[entry] for way, entries in compile_variants(*_with_bounds(module)).items()}
    if target is None:
        return compile_module(module, target="llvm")[entry]
    return compile_module(module, target=target, bounds="check", level=0)[entry]


def _with_bounds(module: IRModule) -> tuple[IRModule, Any]:
    return module, module.attrs.get("bounds", "prove")


def compiled_together(modules: Sequence[IRModule]) -> Callable[[IRModule, str], Any]:
    """Return a replacement of `compiled` for `modules`, whose loop functions are compiled together."""
    from ...codegen.runtime.variants import compile_together

    plain = [candidate for candidate in modules if "target" not in candidate.attrs and not _has_graphs(candidate)]
    found = dict(zip(map(id, plain), compile_together([_with_bounds(module) for module in plain]), strict=True))

    def execute(module: IRModule, entry: str) -> Any:
        ways = found.get(id(module))
        if ways is None:
            return compiled(module, entry)
        if isinstance(ways, Exception):
            raise ways
        return {way: entries[entry] for way, entries in ways.items()}

    return execute


def _has_graphs(module: IRModule) -> bool:
    return not all(isinstance(function, tir.PrimFunc) for function in module.functions.values())


def _batch(
    law: str, file: Source | None, seed: int, number: int, size: int, report: Callable[[int], None] | None = None
) -> Batch:
    """Check one batch, in this process or in a worker."""
    from ..testing.campaign import run_batch

    return run_batch(law, file, seed, number, size, compiled, compiled_together, report=report)


def _batches(
    arguments: argparse.Namespace, file: Source | None, sizes: dict[int, int], report: Callable[[int], None]
) -> Iterator[Batch]:
    """Yield finished batches up to the first failing one; report the number of examples as they are checked."""
    work = [(arguments.law, file, arguments.seed, number, size) for number, size in sizes.items()]
    if arguments.jobs == 1:
        for job in work:
            yield _batch(*job, report)
        return
    with ProcessPoolExecutor(arguments.jobs, get_context("spawn")) as pool:
        try:
            for batch in pool.map(_batch, *zip(*work, strict=True)) if work else ():
                report(batch.checked)
                yield batch
        finally:
            pool.shutdown(cancel_futures=True)


def run(arguments: argparse.Namespace) -> int:
    """Check the law; return 0 if it holds, 1 if an example breaks it or expected constructs do not occur."""
    if arguments.law is None:
        say_list(LAWS.items())
        if find_spec("hypothesis") is None:
            say("\nchecking a law needs Hypothesis: pip install 'tvms-lang[fuzz]'")
        return 0
    if arguments.law not in LAWS:
        raise error("E0813", f"there is no law '{arguments.law}'", None, f"choose one of: {', '.join(LAWS)}")
    from ..testing.campaign import BATCH, FILE_BATCH, begin

    file = None if arguments.file is None else read_source(arguments.file)
    if file is not None:
        result = _replay(arguments.law, file)
        if result is not None:
            return result
    path = None if arguments.state is None else Path(arguments.state)
    state = begin(path, arguments.law, arguments.n, arguments.seed, arguments.file or "", file.text if file else "")
    arguments.seed = state.seed
    most = BATCH if file is None else FILE_BATCH
    sizes = {number: min(most, arguments.n - start) for number, start in enumerate(range(0, arguments.n, most))}
    left = {number: size for number, size in sizes.items() if number not in state.done}
    failure = None
    with _progress(f"{arguments.law}, seed {arguments.seed}", state.total.checked, arguments.n) as report:
        for batch in _batches(arguments, file, left, report):
            state.total.add(batch)
            if batch.failure:
                failure = batch.failure
                break
            state.done.add(batch.number)
            if path:
                state.write(path)
    return _conclude(arguments, state.total, failure, is_from_file=file is not None)


def _replay(name: str, file: Source) -> int | None:
    """Check the example of `file` if it is a saved failure; return 1 if it still fails, None to go on with its variants."""
    from ..testing.campaign import check_saved, law_of_saved
    from ..testing.laws import find_law

    is_saved = law_of_saved(file.text) == name
    if not is_saved and not find_law(name).reads_files:
        raise error(
            "E0813", f"law '{name}' draws its own examples", None, "give it no file, or a failure that it saved"
        )
    if not is_saved:
        return None
    failure = check_saved(name, file, compiled)
    say(f"{name}: the saved example {'still fails' if failure else 'holds now'}")
    if failure:
        _show_failure(failure)
        return 1
    return None if find_law(name).reads_files else 0


@contextmanager
def _progress(title: str, done: int, examples: int) -> Generator[Callable[[int], None]]:
    """Show the number of checked examples on standard error: a bar on a terminal, else a line every few seconds."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if console.is_terminal:
        with Progress(console=console, transient=True) as bars:
            task = bars.add_task(title, total=examples, completed=done)
            yield lambda count: bars.advance(task, count)
        return
    start = shown = time.monotonic()

    def report(count: int) -> None:
        nonlocal done, shown
        done += count
        now = time.monotonic()
        if now - shown >= SECONDS_BETWEEN_LINES:
            shown = now
            say(f"{title}: {done} of {examples} examples after {now - start:.0f} s", sys.stderr)

    yield report


def _conclude(arguments: argparse.Namespace, total: Total, failure: Failure | None, is_from_file: bool) -> int:
    from ..testing.laws import find_law

    law = find_law(arguments.law)
    seconds = max(total.seconds, 1e-9)
    rate, discarded = total.checked / seconds, total.started - total.checked - (failure is not None)
    shown = f"{total.checked} examples in {seconds:.1f} s ({rate:.0f}/s), {discarded} discarded, "
    shown += f"{len(total.constructs)} constructs"
    say(f"{arguments.law}: {shown}, seed {arguments.seed}")
    if law.counted:
        say("  " + ", ".join(f"{total.constructs.get(name, 0)} {name}" for name in law.counted))
    if arguments.counts:
        _print_counts(total)
    if arguments.coverage:
        from ..testing.coverage import coverage_of

        say("\n".join(["", *coverage_of(arguments.law, total.constructs)]))
    if failure:
        path = _save(arguments, failure)
        _show_failure(failure)
        say(f"saved as {path}; reproduce with: tvms fuzz {arguments.law} {path}")
        given = " ".join(f"--arg {name}={_input_file(path, name)}" for name in failure.inputs)
        if given:
            say(f"run with the same inputs: tvms run {path} --verify {given}")
        return 1
    faults = total.faults(frozenset() if is_from_file else law.expected)
    for fault in faults:
        say(f"  {fault}")
    return 1 if faults else 0


def _show_failure(failure: Failure) -> None:
    say(f"\n{failure.reason}\n\n{failure.text}\n")
    if failure.shown_inputs:
        say(f"{failure.shown_inputs}\n")


def _print_counts(total: Total) -> None:
    """Print how often each construct occurred, and the matrix of primitives and features if the law counts them."""
    from ..testing.matrix import is_cell, tables

    plain = {name: count for name, count in total.constructs.items() if not is_cell(name)}
    width = max(map(len, plain), default=0)
    say("\n".join([f"  {name:{width}} {count:8,}" for name, count in sorted(plain.items())]))
    if len(plain) < len(total.constructs):
        say("\n".join(["", *tables(total.constructs)]))


def _save(arguments: argparse.Namespace, failure: Failure) -> str:
    """Write a failing example to the folder that the tests read; its name contains the law and the seed."""
    name = f"{arguments.law}_{arguments.seed}.tvms"
    head = f"# law: {arguments.law}, seed {arguments.seed}\n"
    write_output(head + failure.text.rstrip("\n") + "\n", name, below=arguments.save)
    for argument, data in failure.inputs.items():
        write_output(data, _input_file(name, argument), below=arguments.save)
    return str(Path(arguments.save, name))


def _input_file(path: str, argument: str) -> str:
    """Return the name of the file with an argument of the failing example in `path`."""
    return f"{path.removesuffix('.tvms')}.{argument}.npy"


def _default_schedules(defaults: Defaults) -> list[Derived]:
    """Return the default schedules of the function `main` for a processor and for a GPU."""
    from ...codegen.gpu.rules import derive_for_gpu
    from ...codegen.gpu.split import has_threads
    from ...codegen.machine import Machine
    from ...codegen.rules import derive, rules_for
    from ..testing.laws.recipes import Derived

    function, number = defaults.module.functions["main"], defaults.number
    assert isinstance(function, tir.PrimFunc)
    vectors, threads = ((16, 16), (32, 16), (64, 32))[number % 3], (1, 2, 64)[number // 3 % 3]
    caches = (1 << 10, 1 << 10) if number % 4 == 3 else (32 << 10, 512 << 10)
    machine = Machine(*vectors, *caches, threads, has_fma=number % 2 == 0, has_byte_dots=vectors[0] > 16)
    found = {"processor": derive(function, rules_for(machine))}
    if not has_threads(function):
        found["GPU"] = derive_for_gpu(function, ("sm_75", "sm_80")[number % 2])
    return [
        Derived(
            kind, tuple(_last_decisions(recipe.decisions)),
            None if recipe.schedule is None else recipe.text("main", "default"), recipe.function,
        )
        for kind, recipe in found.items()
    ]  # fmt: skip


def _last_decisions(decisions: Iterable[Decision]) -> Iterator[Decided]:
    """Yield the decisions that no other rule follows. Rules whose names say a number of elements are one."""
    from ..testing.matrix import Decided

    for decision in decisions:
        rule = decision.rule and re.sub(r"\d+ elements", "several elements", decision.rule).replace(
            "single_thread", "one thread"
        )
        if rule or (decision.declined and decision.declined[0][0] in ("all", "rows")):
            yield Decided(tuple(decision.block.split(", ")), rule)


_LAST = "FlattenSignature"
"""The step after which a function no longer has the parameters that it had."""
_ALONE = (
    "Simplify", "HoistExpression", "CommonSubexprElimTIR", "ConvertForLoopsToSerial", "RemoveAssume", "RewriteUnsafeSelect",
    "ConvertSSA", "LowerIntrin", "InjectVirtualThread", "InstrumentProfileIntrinsics", "BF16ComputeLegalize",
    "BF16StorageLegalize", "FP8ComputeLegalize", "FP8StorageLegalize",
)  # fmt: skip
"""Passes on loops that are not part of the lowering."""
_BY_OPTIONS: dict[str, dict[str, int]] = {
    "Simplify": dict.fromkeys((
        "convert_boolean_to_and_of_ors", "propagate_knowns_to_prove_conditional", "propagate_knowns_to_simplify_expressions",
    ), True),
    "RemoveNoOp": {"use_dataflow_analysis": True},
    "ReduceBranchingThroughOvercompute": {"use_dataflow_analysis": True},
    "UnrollLoop": {"auto_max_step": 16, "auto_max_extent": 2, "unroll_local_access": True},
    "LoopPartition": {"partition_const_loop": True, "unroll_loop_with_partition_hint_no_interval": True},
}  # fmt: skip
"""Passes on loops with what an option asks for, which count parameters as different memory."""
_BY_NAME = ("CompactBufferAllocation", "LowerOpaqueBlock", "FlattenBuffer", "StorageRewrite")
"""Passes that do more, or something else, if they are asked for by name than in the lowering."""
_STORAGE_AFTER = ("GuardIndices", "VectorizeLoop")
"""Steps after which `StorageRewrite` by name sees dimensions, or vectors."""
_ON_BLOCKS = ("LowerCrossThreadReduction",)
"""Passes on blocks that are not part of the lowering; they may refuse a function."""


def _lower_in_steps(lowering: Lowering) -> dict[str, IRModule]:
    """Return the module after each step of its lowering that changes it, and after single passes, by their names."""
    from ...codegen.lower.passes import LOWERING_OPTIONS, ORDER
    from ...ir.passes.context import PassContext
    from ...ir.passes.transform import get_pass

    found: dict[str, IRModule] = {}

    def after(key: str, before: IRModule, name: str = "") -> IRModule:
        made = get_pass(name) if name else get_pass(key, **LOWERING_OPTIONS.get(key, {}))
        module = made(before)
        if module is not before:
            found[key] = module
        return module

    module = after("ApplyDefaultSchedule", lowering.module) if lowering.is_scheduled else lowering.module
    if not lowering.is_lowered:
        return found
    after("Simplify", module)
    for name in _ON_BLOCKS:
        with suppress(TvmsError):
            after(name, module)
    for name in ORDER:
        if name == _LAST:
            break
        if name in _BY_NAME:
            after(f"{name} by name", module, name)
        module = after(name, module)
        if name == "UnrollLoop":
            after("VectorizeLoop without masks", module, "VectorizeLoop")
        if name in _STORAGE_AFTER:
            after(f"StorageRewrite after {name}", module, "StorageRewrite")
        if name == "GuardIndices":
            for single in _ALONE:
                after(single, module)
            for single, options in _BY_OPTIONS.items():
                with PassContext(config={f"tir.{single}": options}):
                    after(f"{single} by options", module, single)
    return found
