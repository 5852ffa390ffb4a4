"""What threads know of each other at barriers in shared memory, at those of clusters, and at named ones: happens-before, by vector clocks.

A thread has a clock, which advances when it arrives at a barrier. It knows the clocks of the threads that had arrived when it has waited,
and what these knew. An access happened before another one if the thread of the latter knows a clock of the former's thread that is not
less than that of the access. A copy of a box has the clock of its barrier instead, the number of the phase that counts it; so has a product in
tensor memory, with the barrier of its commit. (L. Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System", 1978; F.
Mattern, 1988.)
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct

from ...ir import tir
from ...ir.diagnostics import Diagnostic, Note
from ...ir.interp.clusters import Cluster
from ...ir.interp.frame import Frame, Meets
from ...ir.matrix_units import name_of
from ...ir.tensor_copies import INIT
from ...ir.tensor_memory import COMMIT
from .architectures import WARP

_Who: TypeAlias = tuple[int, int]


class Moment(Struct, frozen=True):
    """A value of the clock of a thread, or of a barrier, in a cluster."""

    cluster: int
    owner: int
    time: int


NEVER = Moment(-1, 0, 0)
"""A moment that no thread knows."""


class Known(Struct, frozen=True):
    """The moments that a thread of a cluster knew when it did something."""

    cluster: int
    clocks: Any

    def has(self, moment: Moment) -> bool:
        """Return whether it knew a moment."""
        return (
            moment.cluster == self.cluster >= 0
            and moment.owner < len(self.clocks)
            and bool(self.clocks[moment.owner] >= moment.time)
        )


class _Clocks:
    """The clocks that the threads of a cluster know, a row for each thread and a column for each thread and barrier."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._places: dict[object, int] = {}
        self.known = np.zeros((64, 64), np.int32)
        self.told: dict[object, Any] = {}
        """The clocks that are known to a thread that has waited, by barrier and phase."""

    def place(self, owner: object) -> int:
        found = self._places.get(owner)
        if found is None:
            found = self._places[owner] = len(self._places)
            if found == len(self.known):
                self.known = np.pad(self.known, (0, found))
            self.known[found, found] = 1
        return found


class Knowledge:
    """Follows the barriers of a run."""

    def __init__(self, is_needed: bool) -> None:
        self.problems: dict[tuple[int, int], Diagnostic] = {}
        self._is_needed = is_needed
        self._clusters: dict[int, tuple[_Clocks, Any]] = {}
        self._meets: dict[tuple[_Clocks, _Who], list[object]] = {}
        """The barriers of its block that a thread has reached since it did anything else."""
        self._made: dict[object, tuple[Moment, _Who, tir.Call]] = {}
        """When each barrier in shared memory was initialized."""
        self._tracked: dict[tuple[_Clocks, _Who], dict[int, int]] = {}
        """The clocks of the barriers of a thread's commits, each of which waits for what those before wait for."""
        self._copy = NEVER
        self._keep: list[Any] = []

    def _clocks(self, frame: Frame) -> _Clocks:
        cluster = frame.shared.get(Cluster, (frame.shared,))[0]
        if id(cluster) not in self._clusters:
            self._clusters[id(cluster)] = _Clocks(len(self._clusters)), cluster
        return self._clusters[id(cluster)][0]

    def _known(self, clocks: _Clocks, who: _Who) -> Any:
        """Return the clocks that a thread knows, after the barriers that it has reached."""
        place = clocks.place(who)
        for key in self._meets.pop((clocks, who), ()):
            told = clocks.told[key]
            own = clocks.known[place, : len(told)]
            np.maximum(own, told, out=own)
        return clocks.known[place]

    def _tell(self, clocks: _Clocks, who: _Who, key: object) -> None:
        """Let those that wait for `key` know what a thread knows, and advance its clock."""
        self._add(clocks, key, self._known(clocks, who).copy())
        place = clocks.place(who)
        clocks.known[place, place] += 1

    def _add(self, clocks: _Clocks, key: object, known: Any) -> None:
        told = clocks.told.get(key)
        size = len(known) if told is None else max(len(told), len(known))
        padded = [np.pad(part, (0, size - len(part))) for part in (known, told) if part is not None]
        clocks.told[key] = np.maximum.reduce(padded)

    def _commit(self, clocks: _Clocks, who: _Who, barrier: object, phase: int) -> None:
        """Let those that wait for a commit know what the thread knows of others, but nothing that it has done itself."""
        tracked, own = self._tracked.setdefault((clocks, who), {}), clocks.place(who)
        known = self._known(clocks, who).copy()
        known[own] -= 1
        for place, time in tracked.items():
            known[place] = max(known[place], time)
        self._add(clocks, (id(barrier), phase), known)
        tracked[clocks.place(id(barrier))] = phase + 1

    def meet(self, who: _Who, scope: str, count: int, frame: Frame) -> None:
        """Record that a thread reaches the barrier number `count` of its block, or of its warp."""
        if self._is_needed:
            key = (scope, who[0], who[1] // WARP if scope == "warp" else -1, count)
            clocks = self._clocks(frame)
            self._tell(clocks, who, key)
            self._meets.setdefault((clocks, who), []).append(key)

    def synchronize(self, kind: Meets, key: tuple[Any, int], who: _Who, frame: Frame, call: tir.Call) -> None:
        """Record that a thread initializes a barrier, starts a copy, arrives, or has waited."""
        clocks, (barrier, phase) = self._clocks(frame), key
        self._keep.append(barrier)
        if name_of(call) == INIT:
            self._made[id(barrier)] = self.now(who, frame), who, call
            return
        self._check_made(barrier, who, frame, call)
        if kind == "begin":
            self._copy = Moment(clocks.number, clocks.place(id(barrier)), phase + 1)
            if name_of(call) == COMMIT:
                self._commit(clocks, who, barrier, phase)
        elif kind == "arrive":
            self._tell(clocks, who, (id(barrier), phase))
        else:
            self._meets.setdefault((clocks, who), []).append((id(barrier), phase))
            clocks.told.setdefault((id(barrier), phase), np.zeros(1, np.int32))
            of_copies = clocks.place(id(barrier))
            known = self._known(clocks, who)
            known[of_copies] = max(known[of_copies], phase + 1)

    def now(self, who: _Who, frame: Frame) -> Moment:
        """Return the clock of a thread."""
        if not self._is_needed:
            return NEVER
        clocks = self._clocks(frame)
        known = self._known(clocks, who)
        place = clocks.place(who)
        return Moment(clocks.number, place, int(known[place]))

    def of_copy(self) -> Moment:
        """Return the moment of the copy that was begun last."""
        return self._copy

    def so_far(self, who: _Who, frame: Frame) -> Known:
        """Return all moments that are before what a thread does now."""
        if not self._is_needed:
            return Known(-1, None)
        clocks = self._clocks(frame)
        return Known(clocks.number, self._known(clocks, who).copy())

    def knows(self, who: _Who, moment: Moment, frame: Frame) -> bool:
        """Return whether a moment is before what a thread does now."""
        if moment.cluster < 0 or not self._is_needed:
            return False
        clocks = self._clocks(frame)
        return clocks.number == moment.cluster and bool(self._known(clocks, who)[moment.owner] >= moment.time)

    def _check_made(self, barrier: object, who: _Who, frame: Frame, call: tir.Call) -> None:
        """Report the use of a barrier that another thread initialized, if that may not be before."""
        made = self._made.get(id(barrier))
        if made is None or made[1] == who or self.knows(who, made[0], frame):
            return
        _, other, place = made
        message = (
            f"thread {who[1]} uses a barrier that thread {other[1]} initializes, without a barrier of the block between"
        )
        help = 'put T.tvm_storage_sync("shared") behind the initialization'
        if other[0] != who[0]:
            message = f"block {who[0]} uses a barrier that block {other[0]} initializes, without a barrier of their cluster between"
            help = "let all threads arrive and wait at the barrier of the cluster behind the initialization"
        note = Note("it is initialized here", place.span)
        self.problems.setdefault(
            (id(place), id(call)), Diagnostic("E0723", message, call.span, help=help, notes=(note,))
        )
