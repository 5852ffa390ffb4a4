"""Graph functions whose launches are recorded as CUDA graphs: later calls with arrays of the same sizes repeat them.

Consecutive launches whose addresses do not change are one graph. They use a workspace, constants, and arguments that have been the same
arrays so far, such as weights. Launches that read other arguments, or write results, which are new arrays in each call, are repeated one
by one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from itertools import pairwise
from threading import RLock
from typing import Any, cast

import numpy as np
from msgspec import Struct

from ...ir.diagnostics import TvmsError
from ..graph.calls import GraphEntry
from ..runtime.sizes import Frame
from .arrays import DeviceArray
from .driver import Driver, Graph, find_driver
from .entry import LoadedProgram
from .relocate import Arrays, Launch, NotRepeatable, Relocated, relocate
from .trace import current_trace, tracing

FEWEST = 2
"""Number of consecutive launches from which on they become a graph."""
MOST_RECORDINGS = 32
"""Number of combinations of sizes that are kept for each function, the latest ones."""


NO_MEMORY = "the GPU does not have enough memory"


class GraphReport(Struct, frozen=True):
    """What became of the calls with arguments of some sizes: `kernels` launches, of which `captured` are in `graphs` CUDA graphs, or the
    reason why there are none.
    """

    kernels: int = 0
    captured: int = 0
    graphs: int = 0
    obstacle: str = ""

    def __str__(self) -> str:
        if self.obstacle:
            return f"not recorded: {self.obstacle}"
        return f"{self.captured} of {self.kernels} kernels in {self.graphs} CUDA graph{'s' * (self.graphs != 1)}"


class _Recording:
    """Repeats launches. `fixed` are the arguments that have been the same arrays so far: their addresses by number."""

    def __init__(self, driver: Driver, relocated: Relocated, fixed: dict[int, int]) -> None:
        self._driver, self._relocated, self._fixed = driver, relocated, fixed
        self.names = {launch.call.function.name for launch in relocated.launches}
        self._workspace = DeviceArray(driver.allocate(relocated.workspace), (relocated.workspace,), np.uint8, driver)
        self._steps, self._stream = self._made(fixed), driver.current_stream

    @property
    def report(self) -> GraphReport:
        kernels, singles = len(self._relocated.launches), [step for step in self._steps if isinstance(step, Launch)]
        return GraphReport(kernels, kernels - len(singles), len(self._steps) - len(singles))

    def prepare(self, args: Arrays) -> None:
        """Capture the graphs again, if an argument that they read has moved."""
        fixed = {number: address for number, address in self._fixed.items() if args[number].address == address}
        if len(fixed) < len(self._fixed):
            self._steps, self._fixed = self._made(fixed), fixed

    def replay(self, args: Arrays) -> Any:
        """Repeat the launches with other arguments, which do not overlap, after `prepare`; return the value of the function."""
        driver, given = self._driver, [array.address for array in args]
        sizes = self._relocated.results
        results = [DeviceArray(driver.allocate(size), (size,), np.uint8, driver) for size in sizes]
        bases = [*given, *(result.address for result in results)]
        driver.follow(self._stream)
        self._stream = driver.current_stream
        for step in self._steps:
            if isinstance(step, Launch):
                driver.run(step.at(bases, self._workspace.address))
            else:
                driver.launch_graph(step)
        return self._relocated.value(args, results)

    def _made(self, fixed: Mapping[int, int]) -> list[Graph | Launch]:
        """Return the launches, with those that only depend on fixed addresses in graphs."""
        steps: list[Graph | Launch] = []
        launches = self._relocated.launches
        start = 0
        while start < len(launches):
            end = start
            while end < len(launches) and all(source < 0 or source in fixed for source, _ in launches[end].places):
                end += 1
            if end - start >= FEWEST:
                known = [fixed.get(number, 0) for number in range(max(fixed, default=-1) + 1)]
                calls = [launch.at(known, self._workspace.address) for launch in launches[start:end]]
                steps.append(self._driver.capture(calls))
            else:
                end = max(end, start + 1)
                steps.extend(launches[start:end])
            start = end
        return steps


class RecordedEntry:
    """A graph function whose calls are recorded: the second one for arguments of the same kinds and sizes is repeated by later ones, if
    it depends on nothing else.
    """

    def __init__(
        self, entry: GraphEntry, loaded: LoadedProgram, constants: Callable[[], Iterable[DeviceArray]]
    ) -> None:
        """`constants` returns those of the program that are in GPU memory."""
        self._entry, self._loaded, self._constants, self._lock = entry, loaded, constants, RLock()
        self._states: dict[Hashable, list[int] | _Recording | GraphReport] = {}
        """What is known of calls, by the kinds and sizes of their arguments: the addresses of arrays in the first call, then a recording
        or why there is none.
        """

    def __repr__(self) -> str:
        return repr(self._entry)

    def release_memory(self) -> None:
        """Drop the recordings, unless another thread repeats one; later calls are executed."""
        if self._lock.acquire(blocking=False):
            try:
                for key, state in self._states.items():
                    if isinstance(state, _Recording):
                        self._states[key] = GraphReport(obstacle=NO_MEMORY)
            finally:
                self._lock.release()

    @property
    def reports(self) -> list[GraphReport]:
        """Return what became of the calls for each combination of sizes for which the function was called twice."""
        with self._lock:
            states = [state.report if isinstance(state, _Recording) else state for state in self._states.values()]
        return [state for state in states if isinstance(state, GraphReport)]

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call the function; errors are those of `GraphEntry`."""
        frame, arrays = self._entry.bind(args, named), list[DeviceArray]()
        try:
            key = tuple([_kind(frame[slot], arrays) for _, _, slot in self._entry.parameters])
        except NotRepeatable:
            return self._entry.execute(frame)
        if current_trace() is not None or _overlap(arrays):
            return self._entry.execute(frame)
        addresses = [array.address for array in arrays]
        with self._lock:
            state = self._states.get(key)
            if isinstance(state, _Recording):
                self._states[key] = self._states.pop(key)
                self._loaded.is_noting |= not self._loaded.program.noting.isdisjoint(state.names)
                try:
                    state.prepare(arrays)
                except TvmsError as problem:
                    state = self._states[key] = _unrecorded(problem)
                else:
                    return state.replay(arrays)
            if state is None:
                self._keep(key, addresses)
        if not isinstance(state, list) or _overlap([*arrays, *self._constants()]):
            return self._entry.execute(frame)
        fixed = {at: address for at, address in enumerate(addresses) if address == state[at]}
        return self._record(key, frame, arrays, fixed)

    def _record(self, key: Hashable, frame: Frame, arrays: Arrays, fixed: dict[int, int]) -> Any:
        """Execute a call, and keep its recording; `fixed` are the addresses of the arguments that were the same before, by number."""
        find_driver().note_keeper(self)
        with tracing() as trace:
            value = self._entry.execute(frame)
        try:
            found: _Recording | GraphReport = _Recording(find_driver(), relocate(trace, arrays, value), fixed)
        except NotRepeatable as reason:
            found = GraphReport(obstacle=str(reason))
        except TvmsError as problem:
            found = _unrecorded(problem)
        with self._lock:
            self._keep(key, found)
        return value

    def _keep(self, key: Hashable, state: list[int] | _Recording | GraphReport) -> None:
        """Store a state, and forget that of the sizes that were not used for the longest time if there are too many."""
        self._states.pop(key, None)
        self._states[key] = state
        if len(self._states) > MOST_RECORDINGS:
            del self._states[next(iter(self._states))]


def _kind(value: Any, arrays: list[DeviceArray]) -> Hashable:
    """Return what launches depend on: the size and dtype of an array, which is added to `arrays`, and other values themselves.

    NotRepeatable for values that may change.
    """
    if isinstance(value, DeviceArray):
        arrays.append(value)
        return value.shape, value.dtype, value.is_writeable, value.origin is not None
    if type(value) is tuple:
        return tuple([_kind(field, arrays) for field in cast("tuple[Any, ...]", value)])
    if isinstance(value, float | np.generic):  # -0.0 equals 0.0, and no NaN equals itself
        return type(cast("object", value)), np.asarray(cast("Any", value)).tobytes()
    if value is None or isinstance(value, tuple | int | str):
        return type(cast("object", value)), cast("Hashable", value)
    raise NotRepeatable("an argument is not an array, a shape or a number")


def _unrecorded(problem: TvmsError) -> GraphReport:
    """Return the report of calls that cannot be recorded because of an error of the driver; raise any other error."""
    reason = problem.diagnostics[0]
    if reason.code not in ("E0717", "E0727"):
        raise problem
    return GraphReport(obstacle=NO_MEMORY if reason.code == "E0717" else reason.message)


def _overlap(arrays: Arrays) -> bool:
    """Return whether two arrays share memory."""
    spans = sorted([(array.address, array.address + array.nbytes) for array in arrays if array.nbytes])
    return any(start < end for (_, end), (start, _) in pairwise(spans))
