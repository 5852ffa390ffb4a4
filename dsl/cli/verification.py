"""`tvms run --verify`: compares results with the interpreter's.

Small programs are interpreted in full. Large loop functions run as unoptimized machine code, which the
interpreter checks at sampled points of every loop nest; `--verify=full` interprets them in full as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...ir import tir
from ...ir.base import IRModule
from ...ir.diagnostics import TvmsError
from ...ir.interp.compare import difference, tolerance
from ...ir.passes.transform import announce
from ...ir.sanitize import say
from .progress import interruptible, progress

if TYPE_CHECKING:
    from ...ir.interp.frame import ThreadOrder
    from ...ir.interp.lanes.sample import Checked, Opened

POINTS = 1024
"""Number of sampled points per loop nest."""
LARGE = 1 << 27
"""Number of innermost iterations from which a function is sampled."""

Results = dict[str, Any]


class Reference:
    """The executor that results are compared with; it records the functions that the interpreter only sampled."""

    def __init__(self, module: IRModule, entry: str, order: ThreadOrder, seed: int, is_full: bool) -> None:
        self._module, self._entry, self._seed = module, entry, seed
        self._order: ThreadOrder = order
        self._is_full = is_full
        self._compiled: dict[tir.PrimFunc, tuple[Opened, Callable[..., Any]] | None] = {}
        self._start = time.monotonic()
        self.checked: list[Checked] = []
        self.faults: list[str] = []

    def __call__(self, *values: Any) -> Any:
        """Call the function and return its result."""
        from ...ir import interp

        execute = None if self._is_full else self._execute
        with progress():
            return interp.run(
                self._module, self._entry, values, thread_order=self._order, execute=execute, report=announce
            )

    def longest_reduction(self, sizes: Mapping[str, int]) -> int:
        """Return how many values the functions of the module combine to one at most, with symbolic dimensions of these sizes."""
        from ...codegen.profiling.work import longest_reduction
        from ...ir.passes.legalize_ops import legalize_ops

        functions = legalize_ops(self._module).functions.values()
        return max((longest_reduction(func, sizes) for func in functions if isinstance(func, tir.PrimFunc)), default=1)

    def _execute(self, func: tir.PrimFunc, args: Sequence[Any]) -> bool:
        """Run a large function as machine code, and check it at sampled points; return whether that was possible."""
        from ...ir.interp.lanes.sample import allocate_intermediates, check_nests, work_of

        if work_of(func) < LARGE or any(hasattr(arg, "memory") for arg in args):
            return False
        if func not in self._compiled:
            self._compiled[func] = self._compile(func)
        ready = self._compiled[func]
        if ready is None:
            return False
        opened, call = ready
        intermediates = allocate_intermediates(opened, args)
        if intermediates is None:
            return False
        before = [copy_of(value) for value in (*args, *intermediates)]
        after = [copy_of(value) for value in before]
        announce(f"run {func.attrs.get('global_symbol', 'a function')} as unoptimized machine code")
        try:
            interruptible(call)(*after)
        except TvmsError:
            return False
        announce("interpret sampled points")
        checked = check_nests(opened, before, after, POINTS, self._seed)
        if checked is None:
            return False
        self._judge(func, checked)
        for value, new in zip(args, after, strict=False):
            if hasattr(value, "shape") and value.shape and value.flags.writeable:
                value[...] = new
        return True

    def _compile(self, func: tir.PrimFunc) -> tuple[Opened, Callable[..., Any]] | None:
        from ...codegen import compile as compile_module
        from ...ir.interp.lanes.sample import open_function

        opened = open_function(func)
        if opened is None:
            return None
        announce("compile without optimizations")
        try:
            return opened, compile_module(
                IRModule({"opened": opened.func}, name=""), schedule=False, level=0, bounds="prove", threads=1
            )["opened"]
        except TvmsError:
            return None

    def _judge(self, func: tir.PrimFunc, checked: Sequence[Checked]) -> None:
        self.checked.extend(checked)
        for nest in checked:
            for name, expected, found in nest.written:
                largest = difference(found, expected)
                if largest > tolerance(expected):
                    self.faults.append(f"'{name}' by {largest:.2g}")


def copy_of(value: Any) -> Any:
    return value.copy() if hasattr(value, "copy") else value


def compare_results(results: Results, expected: Results, reference: Reference, sizes: Mapping[str, int]) -> int:
    """Print how far the results agree with the reference, and what that proves; return 1 if they differ.

    `sizes` are those of symbolic dimensions, by name.
    """
    differences = {name: difference(value, expected[name]) for name, value in results.items()}
    worst = max(differences, key=lambda name: differences[name], default=None)
    if worst is None:
        say("verify: nothing to compare")
        return 0
    import numpy as np

    value, largest = np.asarray(results[worst]), differences[worst]
    allowed = tolerance(value)
    if allowed < largest < float("inf"):
        allowed = tolerance(value, reference.longest_reduction(sizes))
    verdict = "agrees with" if largest <= allowed else "DIFFERS from"
    whom = "unoptimized machine code" if reference.checked else "the interpreter"
    say(f"verify: {verdict} {whom}; largest difference {largest:.2g} in '{worst}' (allowed {allowed:.2g})")
    if reference.checked:
        say(f"verify: {_proof(reference)}")
    return 0 if largest <= allowed and not reference.faults else 1


def _proof(reference: Reference) -> str:
    """Return how many points were compared with the interpreter, and which share of wrong points that excludes."""
    if reference.faults:
        return f"unoptimized machine code DIFFERS from the interpreter at sampled points: {', '.join(reference.faults)}"
    points, total = (sum(getattr(nest, name) for nest in reference.checked) for name in ("points", "total"))
    nests = len(reference.checked)
    where = "1 loop nest" if nests == 1 else f"{nests} loop nests"
    share = max((1 - 0.01 ** (2 / nest.points) for nest in reference.checked if nest.points < nest.total), default=0.0)
    proven = f"99 % confidence that less than {share:.1%} of each nest is wrong" if share else "all of them"
    return f"that code agrees with the interpreter at {points:,} of {total:,} points in {where}: {proven} (--verify=full checks all)"
