"""Default schedules: how the compiler schedules functions that have no schedule.

A rule recognizes a computation and returns tiled and vectorized loops for it, as ordinary IR. If a rule
declines, it gives the reason, and the next rule is tried. Loops that are scheduled already are unchanged.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice, takewhile

from msgspec import Struct
from msgspec.structs import replace

from ...ir import tir
from ...ir.jumps import is_jump
from ...ir.visit import walk
from ..lower.rewriter import sequence
from ..machine import Machine
from .argument import schedule_argument
from .bands import Band, accesses_of, has_plain_epilogue, is_product, read_bands, runs_of
from .build import allocated
from .convolution import schedule_convolution
from .epilogue import with_epilogue
from .fusion import compact, flattened, inline_producers, shared_axes
from .gemv import schedule_gemv
from .matmul import schedule_matmul
from .nest import Declined, Nest, read_nest, separated, statement_of
from .rows import schedule_rows
from .transpose import schedule_transpose

Rule = Callable[[Nest], tir.Stmt]
_Users = Mapping[tir.Buffer, set[Nest]]
MOST_TOGETHER = 32
"""Maximum number of nests that are merged or share loops."""


class Rules(Struct, frozen=True):
    """The rules for a kind of machine.

    - `single`: the rules for single blocks, in the order in which they are tried; those in `with_epilogue` can also
      compute the element-wise operations that follow;
    - `rows`: the rule for all others, consecutive nests that share a number of outer axes. It gets the buffers that
      only these nests access, and returns its name, the statement, and the nests after compaction of these buffers;
    - `alone`: returns the name and the schedule of a statement that is not a nest;
    - `bands`: returns the bands of consecutive nests, given the buffers that only they access, and `around` the loops around the
      scheduled nests of a band.
    """

    single: Mapping[str, Rule]
    with_epilogue: tuple[str, ...]
    rows: Callable[[Sequence[Nest], int, set[tir.Buffer]], tuple[str, tir.Stmt, Sequence[Nest]]]
    alone: Callable[[tir.Stmt], tuple[str, tir.Stmt]]
    bands: Callable[[Sequence[Nest], set[tir.Buffer]], Sequence[Band]] | None = None
    around: Callable[[Band, tir.Stmt], tir.Stmt] | None = None


def rules_for(machine: Machine) -> Rules:
    """Return the rules for a processor."""

    def rows(group: Sequence[Nest], shared: int, owned: set[tir.Buffer]) -> tuple[str, tir.Stmt, Sequence[Nest]]:
        small, buffers = compact(group, shared, owned)
        return "rows", schedule_rows(small, shared, machine, buffers), small

    rules = {
        "matmul": schedule_matmul, "gemv": schedule_gemv, "convolution": schedule_convolution,
        "transpose": schedule_transpose,
    }  # fmt: skip
    single = {name: partial(rule, machine=machine) for name, rule in rules.items()}
    return Rules(
        single, ("matmul", "convolution"), rows, lambda part: ("argument", schedule_argument(part, machine)),
        partial(read_bands, machine=machine), partial(Band.around, machine=machine),
    )  # fmt: skip


class Decision(Struct, frozen=True):
    """The decision about one block or several merged ones: the rule that was applied, or None, and the reasons
    why others declined.
    """

    block: str
    rule: str | None
    declined: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        reasons = "; ".join(f"{rule}: {reason}" for rule, reason in self.declined)
        return f"block '{self.block}': {self.rule or 'not scheduled'}" + (f" ({reasons})" if reasons else "")


def apply_rules(func: tir.PrimFunc, rules: Rules) -> tuple[tir.PrimFunc, tuple[Decision, ...]]:
    """Return `func` with the schedules of the rules that apply, and the decision for every block.

    Scheduled functions are `tir.noalias`: their callers must ensure that arguments do not overlap.
    """
    root = func.body
    if not isinstance(root, tir.BlockRealize) or root.block.iter_vars or root.block.name_hint != "root":
        return func, (Decision("root", None, (("all", "the function has no blocks"),)),)
    if any(map(is_jump, walk(func.body))):
        return func, (Decision("root", None, (("all", "a loop of the function may end early"),)),)
    scheduler = _Scheduler(root.block.alloc_buffers, rules)
    body = scheduler.run(root.block.body)
    if not any(decision.rule for decision in scheduler.decisions):
        return func, tuple(scheduler.decisions)
    block = replace(root.block, body=body, alloc_buffers=tuple(scheduler.buffers))
    attrs = {**func.attrs, "tir.noalias": tir.IntImm("bool", 1)}
    return replace(func, body=replace(root, block=block), attrs=attrs), tuple(scheduler.decisions)


class _Scheduler:
    """Schedules the statements of one root block, or the nests of a band, with the given allocated buffers."""

    def __init__(self, buffers: Sequence[tir.Buffer], rules: Rules) -> None:
        self.rules = rules
        self.decisions: list[Decision] = []
        self.buffers = {buffer: number for number, buffer in enumerate(buffers)}
        """The buffers that are still allocated, with their order."""

    def run(self, body: tir.Stmt) -> tir.Stmt:
        """Return the scheduled body; consecutive nests are considered together."""
        parts = [
            separate
            for part in (body.seq if isinstance(body, tir.SeqStmt) else (body,))
            for separate in separated(part)
        ]
        result: list[tir.Stmt] = []
        nests: list[Nest] = []
        others: list[tir.Stmt] = []
        read: list[Nest | tir.Stmt] = []
        for part in parts:
            try:
                read.append(read_nest(part))
            except Declined as problem:
                part = self._alone(part, str(problem))
                others.append(part)
                read.append(part)
        foreign = {node for part in others for node in walk(part) if isinstance(node, tir.Buffer)}
        users = _users([part for part in read if isinstance(part, Nest)])
        for part in read:
            if isinstance(part, Nest):
                nests.append(part)
                continue
            result += [*self._segment(nests, foreign, users), part]
            nests = []
        return sequence([*result, *self._segment(nests, foreign, users)])

    def _alone(self, part: tir.Stmt, reason: str) -> tir.Stmt:
        """Schedule a statement that is not a nest, for the given `reason`."""
        try:
            rule, statement = self.rules.alone(part)
        except Declined as problem:
            own = () if str(problem) == reason else (("argument", str(problem)),)
            self.decisions.append(Decision("", None, (("all", reason), *own)))
            return part
        self.decisions.append(Decision(_name_of(part), rule, ()))
        return statement

    def _segment(self, nests: list[Nest], foreign: set[tir.Buffer], everywhere: _Users) -> list[tir.Stmt]:
        """Schedule consecutive nests; `foreign` are the buffers that statements other than nests access."""
        own = {buffer for buffer, users in _users(nests).items() if users == everywhere[buffer]}
        own = (own & self.buffers.keys()) - foreign
        nests, gone = inline_producers(nests, sorted(own, key=lambda buffer: self.buffers[buffer]))
        self._drop(gone)
        return self._scheduled(nests, {buffer: users for buffer, users in _users(nests).items() if buffer in own})

    def _scheduled(self, nests: Sequence[Nest], users: _Users) -> list[tir.Stmt]:
        """Schedule consecutive nests, whose producers are inlined; `users` are the nests that access buffers which no others do."""
        result: list[tir.Stmt] = []
        group: list[Nest] = []
        rest = deque(nests)
        while rest:
            nest = rest.popleft()
            statement = self._in_bands(nest, rest, users) or self._with_next(nest, rest, users) or self._single(nest)
            if statement is None and (not group or (len(group) < MOST_TOGETHER and shared_axes([*group, nest]))):
                group.append(nest)
                continue
            if group:
                result.append(self._group(group, users))
            group = [] if statement is not None else [nest]
            result += [] if statement is None else [statement]
        return [*result, self._group(group, users)] if group else result

    def _in_bands(self, nest: Nest, rest: deque[Nest], users: _Users) -> tir.Stmt | None:
        """Schedule a nest with as many following nests of `rest` as possible in bands; None if that is not possible, or does not
        pay off. Nests between them that do not depend on them come before.
        """
        if self.rules.bands is None:
            return None
        for run in reversed(runs_of(_merged([nest, *islice(rest, MOST_TOGETHER - 1)], users))):
            members = {nest, *islice(rest, run.taken - 1)}
            owned = {buffer for buffer, used in users.items() if used <= members}
            for other in run.before:
                owned -= {access.buffer for access in accesses_of(other)}
            try:
                statement = self._banded(self.rules.bands(run.nests, owned))
            except Declined:
                continue
            before = self._scheduled(run.before, users)
            self._drop(owned)
            for _ in range(run.taken - 1):
                rest.popleft()
            return sequence([*before, statement])
        return None

    def _banded(self, bands: Sequence[Band]) -> tir.Stmt:
        """Schedule the nests of bands; Declined if no rule schedules one of them."""
        assert self.rules.around is not None
        statements: list[tir.Stmt] = []
        for band in bands:
            inner = _Scheduler(band.buffers, replace(self.rules, bands=None))
            body = sequence(inner._scheduled(band.nests, _users(band.nests)))
            for decision in inner.decisions:
                if decision.rule is None and any(
                    decision.block == nest.name for nest in band.nests if is_product(nest)
                ):
                    raise Declined(f"no rule schedules block '{decision.block}'")
            used = {node.data for node in walk(body) if isinstance(node, tir.Buffer)}
            kept = [buffer for buffer in inner.buffers if buffer.data in used]
            statements.append(self.rules.around(band, allocated(kept, body)))
            names = ", ".join(nest.name for nest in band.nests)
            self.decisions += [*inner.decisions, Decision(names, "bands", ())]
        return sequence(statements)

    def _drop(self, buffers: Iterable[tir.Buffer]) -> None:
        for buffer in buffers:
            self.buffers.pop(buffer, None)

    def _with_next(self, nest: Nest, rest: deque[Nest], users: _Users) -> tir.Stmt | None:
        """Schedule a nest with as many following nests of `rest` as possible as its epilogue; None if all rules
        decline.
        """
        for together in reversed(_chain(nest, rest, users)):
            for name in self.rules.with_epilogue:
                try:
                    statement = self.rules.single[name](together)
                except Declined:
                    continue
                self.decisions.append(Decision(together.name, name, ()))
                kept = {node.data for node in walk(statement) if isinstance(node, tir.Buffer)}
                inner = {store.buffer for store in (nest.store, *together.after[:-1])}
                self._drop(buffer for buffer in inner if buffer.data not in kept)
                for _ in together.after:
                    rest.popleft()
                return statement
        return None

    def _single(self, nest: Nest) -> tir.Stmt | None:
        """Schedule a nest by a rule for single blocks; None if all rules decline."""
        declined: list[tuple[str, str]] = []
        for name, rule in self.rules.single.items():
            try:
                statement = rule(nest)
            except Declined as problem:
                declined.append((name, str(problem)))
                continue
            self.decisions.append(Decision(nest.name, name, tuple(declined)))
            return statement
        self.decisions.append(Decision(nest.name, None, tuple(declined)))
        return None

    def _group(self, group: Sequence[Nest], users: _Users) -> tir.Stmt:
        """Schedule consecutive nests by rows: together if possible, otherwise one by one; leave those that are
        declined unscheduled.
        """
        members, stored = set(group), {nest.store.buffer for nest in group}
        inside = {buffer for buffer in stored & users.keys() if users[buffer] <= members}
        group = [flattened(group[0])] if len(group) == 1 else group
        shared = shared_axes(group)
        names = ", ".join(nest.name for nest in group)
        try:
            rule, statement, small = self.rules.rows(group, shared, inside)
        except Declined as problem:
            if len(group) > 1:
                return sequence([self._group([nest], users) for nest in group])
            self.decisions.append(Decision(names, None, (("rows", str(problem)),)))
            return statement_of(group[0])
        self.decisions.append(Decision(names, rule, ()))
        pairs = zip(group, small, strict=True)
        self._drop(nest.store.buffer for nest, cut in pairs if nest.store.buffer is not cut.store.buffer)
        return statement


def _chain(nest: Nest, rest: Iterable[Nest], users: _Users) -> list[Nest]:
    """Return `nest` merged with the next nest, with the next two, and so on, as long as each is an epilogue of
    the result before it and its only reader.
    """
    chain, writer, together = list[Nest](), nest, nest
    for following in islice(rest, MOST_TOGETHER - 1):
        if users.get((writer.store, *writer.after)[-1].buffer, set()) - {writer, following}:
            break
        joined = with_epilogue(together, following, users.keys())
        if joined is None:
            break
        chain.append(joined)
        writer, together = following, joined
    return chain


def _merged(nests: Sequence[Nest], users: _Users) -> list[tuple[Nest, int]]:
    """Return the nests, with those that are epilogues of products as parts of these, and how many nests each one replaces."""
    rest, result = deque(nests), list[tuple[Nest, int]]()
    while rest:
        nest = rest.popleft()
        chain = _chain(nest, rest, users) if is_product(nest) else []
        chain = [*takewhile(has_plain_epilogue, chain)]
        for _ in chain:
            rest.popleft()
        result.append((chain[-1] if chain else nest, 1 + len(chain)))
    return result


def _users(nests: Iterable[Nest]) -> dict[tir.Buffer, set[Nest]]:
    """Return the nests that access each buffer."""
    found = defaultdict[tir.Buffer, set[Nest]](set)
    for nest in nests:
        after = (node for update in nest.after for node in walk(update) if isinstance(node, tir.BufferLoad))
        for access in (nest.store, *nest.loads(), *nest.after, *after):
            found[access.buffer].add(nest)
    return dict(found)


def _name_of(part: tir.Stmt) -> str:
    return next((node.name_hint for node in walk(part) if isinstance(node, tir.Block)), "")
