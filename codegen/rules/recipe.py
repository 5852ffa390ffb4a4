"""Derivation of default schedules: the blocks of a function are scheduled step by step, and the trace of the steps is the recipe.

A rule looks at nests and either chooses a step with its knobs or declines with a reason; then the next rule is tried. Blocks that
are scheduled already are unchanged.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice, takewhile
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Attrs
from ...ir.schedule import BlockRV, Schedule, ScheduleError
from ...ir.schedule.analysis.reductions import reduction_of
from ...ir.schedule.conditions import Refused
from ...ir.schedule.program import child_blocks
from ...ir.schedule.text import ScheduleText
from ...ir.schedule.tree import walk_statements
from ...ir.visit import walk
from .bands import accesses_of, has_plain_epilogue, is_product, runs_of
from .epilogue import with_epilogue
from .fusion import Producers, flattened, shared_axes
from .nest import Declined, Nest, separated
from .rules import Choice, Decision, Division, Rules
from .site import nest_at, nest_of

MOST_TOGETHER = 32
"""Maximum number of nests that are merged or share loops."""
MOST_NAMED = 16
"""Maximum number of blocks that are looked up by name, one by one."""
Users = Mapping[tir.Buffer, set[Nest]]


class Recipe(Struct, frozen=True, eq=False):
    """Default schedule of a function: the scheduled function, and the decision for every block. `schedule` has its steps."""

    function: tir.PrimFunc
    decisions: tuple[Decision, ...]
    schedule: Schedule | None = None

    def text(self, function: str, name: str, target: str | Attrs | None = None) -> ScheduleText:
        """Return the steps as a schedule of the function called `function`."""
        if self.schedule is None:
            return ScheduleText(name, function, target, ())
        found = self.schedule.trace.simplified().as_text(name)
        return replace(found, function=function, target=target)


def function_in(schedule: Schedule) -> tir.PrimFunc:
    """Return the function of a schedule of a single one."""
    function = schedule.mod.functions["main"]
    assert isinstance(function, tir.PrimFunc)
    return function


def derive(func: tir.PrimFunc, rules: Rules, first: Sequence[str] = ()) -> Recipe:
    """Schedule `func` by the rules that apply, after the steps `first`, and return how."""
    root = func.body
    if not isinstance(root, tir.BlockRealize) or root.block.iter_vars or root.block.name_hint != "root":
        return Recipe(func, (Decision("root", None, (("all", "the function has no blocks"),)),))
    scheduler = _Scheduler(func, rules)
    if scheduler.schedule.jumping:
        return Recipe(func, (Decision("root", None, (("all", "a loop of the function may end early"),)),))
    for step in first:
        scheduler.schedule.apply(step)
    scheduler.run()
    decisions = tuple(scheduler.decisions)
    if not any(decision.rule for decision in decisions):
        return Recipe(func, decisions)
    return Recipe(function_in(scheduler.schedule), decisions, scheduler.schedule)


class _Scheduler:
    """Schedules the blocks of one function."""

    def __init__(self, func: tir.PrimFunc, rules: Rules) -> None:
        self.rules = rules
        self.decisions: list[Decision] = []
        self.schedule = Schedule(func, error_render_level="fast")
        self._blocks: dict[tir.Block, BlockRV] = {}
        self._handles: dict[Nest, BlockRV] = {}
        self._is_left = False
        """Whether a statement is not scheduled."""

    # --- Blocks and their handles

    def _parts(self) -> tuple[tir.Stmt, ...]:
        function = function_in(self.schedule)
        assert isinstance(function.body, tir.BlockRealize)
        body = function.body.block.body
        return body.seq if isinstance(body, tir.SeqStmt) else (body,)

    def _allocated(self) -> dict[tir.Buffer, int]:
        """Return the buffers that are still allocated, with their order."""
        function = function_in(self.schedule)
        assert isinstance(function.body, tir.BlockRealize)
        return {buffer: number for number, buffer in enumerate(function.body.block.alloc_buffers)}

    def _find_blocks(self) -> None:
        """Get handles of all blocks directly in the root block: by name, or by position if names are not unique."""
        blocks = [block for part in self._parts() for block in _outermost(part)]
        names = [
            node.name_hint for node in walk_statements(function_in(self.schedule).body) if isinstance(node, tir.Block)
        ]
        if len(blocks) <= MOST_NAMED and len(set(names)) == len(names):
            found = [self.schedule.apply("get_block", block.name_hint) for block in blocks]
        elif names.count("root") == 1:
            found = self.schedule.apply("get_child_blocks", self.schedule.apply("get_block", "root"))
        else:
            found = list[BlockRV]()
        self._blocks.update(zip(blocks, found, strict=False))

    def _handle(self, part: tir.Stmt) -> BlockRV:
        blocks = _outermost(part)
        if len(blocks) != 1 or blocks[0] not in self._blocks:
            raise Declined("the block has no name of its own")
        return self._blocks[blocks[0]]

    def _apply(self, choice: Choice, blocks: Sequence[BlockRV], **more: Any) -> None:
        try:
            self.schedule.apply(choice.step, *blocks, **more, **choice.knobs)
        except ScheduleError as problem:
            raise Declined(problem.reason) from None

    # --- Segments

    def run(self) -> None:
        """Schedule all blocks; consecutive nests are considered together."""
        self._find_blocks()
        if self._whole():
            return
        self._separate()
        if self.rules.parts is not None:
            self._divide(self.rules.parts)
        read: list[Nest | tir.Stmt] = []
        program = self.schedule.program()
        for part in self._parts():
            try:
                nest = nest_at(program, part)
                self._handles[nest] = self._handle(part)
                read.append(nest)
            except Declined as problem:
                read.append(part)
                self._alone(part, str(problem))
                program = self.schedule.program()
        others = [part for part in read if isinstance(part, tir.Stmt)]
        foreign = {node for part in others for node in walk(part) if isinstance(node, tir.Buffer)}
        users = users_of([part for part in read if isinstance(part, Nest)])
        nests: list[Nest] = []
        for part in read:
            if isinstance(part, Nest):
                nests.append(part)
            else:
                self._segment(nests, foreign, users)
                nests = []
        self._segment(nests, foreign, users)
        if self.rules.last and self._is_left:
            self.schedule.apply(self.rules.last)

    def _whole(self) -> bool:
        """Schedule all blocks by one rule; return whether it applied."""
        if self.rules.whole is None:
            return False
        try:
            choice = self.rules.whole(function_in(self.schedule))
            self._apply(choice, [*self._blocks.values()])
        except Declined:
            return False
        self.decisions.append(Decision(", ".join([block.name_hint for block in self._blocks]), choice.rule, ()))
        return True

    def _separate(self) -> None:
        """Split reductions to several buffers."""
        for part in self._parts():
            if len(separated(part)) > 1 and (block := _outermost(part)[0]) in self._blocks:
                made = self.schedule.apply("fission", self._blocks[block])
                self._blocks.update({self.schedule.get(handle): handle for handle in made})

    def _divide(self, division_of: Callable[[Nest], Division | None]) -> None:
        """Divide reductions into parts that are combined by a block of their own."""
        for part in self._parts():
            try:
                nest, handle = nest_at(self.schedule.program(), part), self._handle(part)
                division = division_of(nest)
                reduction_of(self.schedule.get(handle))
            except (Declined, Refused):
                continue
            if division is not None:
                loops = self.schedule.apply("get_loops", handle)
                outer, _ = self.schedule.apply("split", loops[division.place], factors=[division.count, None])
                if division.is_outermost and division.place:
                    self.schedule.apply("reorder", outer, *loops[: division.place])
                made = self.schedule.apply("rfactor", outer, division.factor_axis)
                self._blocks.update({self.schedule.get(found): found for found in (made, handle)})

    def _alone(self, part: tir.Stmt, reason: str) -> None:
        """Schedule a statement that is not a nest, for the given `reason`."""
        try:
            choice = self.rules.alone(part)
            if choice.step:
                self._apply(choice, [self._handle(part)])
        except Declined as problem:
            self._is_left = True
            own = () if str(problem) == reason else (("argument", str(problem)),)
            self.decisions.append(Decision("", self.rules.last or None, (("all", reason), *own)))
            return
        self._is_left = self._is_left or not choice.step
        self.decisions.append(Decision(_name_of(part), choice.rule, ()))

    def _segment(self, nests: list[Nest], foreign: set[tir.Buffer], everywhere: Users) -> None:
        """Schedule consecutive nests; `foreign` are the buffers that statements other than nests access."""
        allocated = self._allocated()
        own = {buffer for buffer, users in users_of(nests).items() if users == everywhere[buffer]}
        own = (own & allocated.keys()) - foreign
        nests = self._inline(nests, sorted(own, key=lambda buffer: allocated[buffer]))
        self._scheduled(nests, {buffer: users for buffer, users in users_of(nests).items() if buffer in own})

    def _scheduled(self, nests: Sequence[Nest], users: Users) -> None:
        """Schedule consecutive nests, whose producers are inlined; `users` are the nests that access buffers which no others do."""
        group: list[Nest] = []
        rest = deque(nests)
        while rest:
            nest = rest.popleft()
            is_done = self._in_bands(nest, rest, users) or self._with_next(nest, rest, users) or self._single(nest)
            if not is_done and (not group or (len(group) < MOST_TOGETHER and shared_axes([*group, nest]))):
                group.append(nest)
                continue
            if group:
                self._group(group)
            group = [] if is_done else [nest]
        if group:
            self._group(group)

    def _inline(self, nests: Sequence[Nest], buffers: Iterable[tir.Buffer]) -> list[Nest]:
        """Inline producers into their consumers where that pays off, and return the remaining nests."""
        producers, handles = Producers(nests, self.rules.once), [self._handles[nest] for nest in nests]

        def perform(position: int, readers: Sequence[int]) -> list[Nest]:
            self._apply(Choice("", "inline_values", {}), [handles[position]])
            program = self.schedule.program()
            return [nest_of(program, self.schedule.get(handles[reader])) for reader in readers]

        for buffer in buffers:
            producers.inline(buffer, perform)
        self._handles.update({nest: handles[position] for position, nest in producers.nests.items()})
        return list(producers.nests.values())

    # --- Rules

    def _in_bands(self, nest: Nest, rest: deque[Nest], users: Users) -> bool:
        """Schedule a nest with as many following nests of `rest` as possible in bands; return whether that is possible and pays off.
        Nests between them that do not depend on them come before.
        """
        if self.rules.bands is None:
            return False
        near = [nest, *islice(rest, MOST_TOGETHER - 1)]
        merged, originals, place = merged_nests(near, users), dict[Nest, list[Nest]](), 0
        for together, count in merged:
            originals[together] = near[place : place + count]
            place += count
        for run in reversed(runs_of(merged)):
            before = [other for together in run.before for other in originals[together]]
            members, others = set(near[: run.taken]), set(before)
            owned = {buffer for buffer, used in users.items() if used <= members}
            for other in run.before:
                owned -= {access.buffer for access in accesses_of(other)}
            taken = [other for other in near[: run.taken] if other not in others]
            try:
                choice = self.rules.bands(run.nests, owned)
                self._apply(choice, [self._handles[other] for other in taken])
            except Declined:
                continue
            self.decisions.append(Decision(", ".join([other.name for other in taken]), choice.rule, ()))
            for _ in range(run.taken - 1):
                rest.popleft()
            self._scheduled(before, users)
            return True
        return False

    def _with_next(self, nest: Nest, rest: deque[Nest], users: Users) -> bool:
        """Schedule a nest with as many following nests of `rest` as possible as its epilogue; return whether a rule applied."""
        for number, together in reversed([*enumerate(_chain(nest, rest, users), 1)]):
            following = [self._handles[other] for other in islice(rest, number)]
            for name in self.rules.with_epilogue:
                try:
                    choice = self.rules.single[name](together)
                    self._apply(choice, [self._handles[nest]], epilogue=following)
                except Declined:
                    continue
                self.decisions.append(Decision(together.name, name, ()))
                for _ in following:
                    rest.popleft()
                return True
        return False

    def _single(self, nest: Nest) -> bool:
        """Schedule a nest by a rule for single blocks; return whether one applied."""
        declined: list[tuple[str, str]] = []
        for name, rule in self.rules.single.items():
            try:
                self._apply(rule(nest), [self._handles[nest]])
            except Declined as problem:
                declined.append((name, str(problem)))
                continue
            self.decisions.append(Decision(nest.name, name, tuple(declined)))
            return True
        self.decisions.append(Decision(nest.name, None, tuple(declined)))
        return False

    def _group(self, group: Sequence[Nest]) -> None:
        """Schedule consecutive nests by rows: together if possible, otherwise one by one; leave those that are
        declined unscheduled.
        """
        handles = [self._handles[nest] for nest in group]
        names = ", ".join(nest.name for nest in group)
        seen = [flattened(group[0])] if len(group) == 1 else group
        shared, reason = shared_axes(seen), ""
        for rule in self.rules.rows:
            try:
                choice = rule(seen, shared)
                self._apply(choice, handles)
            except Declined as problem:
                reason = str(problem)
                continue
            self.decisions.append(Decision(names, choice.rule, ()))
            return
        if len(group) > 1:
            for nest in group:
                self._group([nest])
            return
        self._is_left = True
        self.decisions.append(Decision(names, self.rules.last or None, (("rows", reason),)))


def _chain(nest: Nest, rest: Iterable[Nest], users: Users) -> list[Nest]:
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


def merged_nests(nests: Sequence[Nest], users: Users) -> list[tuple[Nest, int]]:
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


def users_of(nests: Iterable[Nest]) -> dict[tir.Buffer, set[Nest]]:
    """Return the nests that access each buffer."""
    found = defaultdict[tir.Buffer, set[Nest]](set)
    for nest in nests:
        for access in accesses_of(nest):
            found[access.buffer].add(nest)
    return dict(found)


def _outermost(part: tir.Stmt) -> list[tir.Block]:
    """Return the outermost blocks in a statement, in order."""
    return [part.block] if isinstance(part, tir.BlockRealize) else [*child_blocks(part)]


def _name_of(part: tir.Stmt) -> str:
    return next((node.name_hint for node in walk(part) if isinstance(node, tir.Block)), "")
