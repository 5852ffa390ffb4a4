"""Merges two revisions of a text with their common base, statement by statement.

Statements are matched with those of the base. Each part of a statement, its comments, its own lines, its place and its block,
is taken from the side that changed it. A conflict is a statement that both sides changed, moved or deleted differently, or two
insertions at one place that do not commute. Conflicts are marked as `git` does in the style `zdiff3`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from msgspec import Struct

from ...ir.base import Source
from .effects import commute
from .match import Matching, in_order
from .outline import CLAUSE, DEFINITION, FILE, LINE, Node, Row, comments_of, flat, outline

OURS, THEIRS = 0, 1


class Labels(Struct, frozen=True):
    """Names of the revisions in conflict markers, and the length of the markers."""

    ours: str = "ours"
    base: str = "base"
    theirs: str = "theirs"
    size: int = 7


class Entity:
    """A statement in the three revisions; `sides` are ours and theirs."""

    __slots__ = ("base", "sides")

    def __init__(self, base: Node | None) -> None:
        self.base = base
        self.sides: list[Node | None] = [None, None]

    @property
    def some(self) -> Node:
        """The node of any revision."""
        node = self.sides[OURS] or self.sides[THEIRS] or self.base
        assert node is not None
        return node


class Lost(Exception):
    """A statement would be lost, because both sides moved statements into each other."""


_Slot: TypeAlias = tuple[list[Entity], list[Entity], list[Entity]]
"""What ours and theirs add at a place, and the statement of the base after it, if it stays there."""


class Merged(Struct, frozen=True):
    """The merged text; the lines from 1 at which conflicts start, and the definitions that contain them."""

    text: str
    conflicts: tuple[int, ...] = ()
    names: tuple[str, ...] = ()


def merge(base: Source, ours: Source, theirs: Source, labels: Labels = Labels(), kept: Iterable[str] = ()) -> Merged:  # noqa: B008  # it is frozen
    """Merge two revisions with their base; definitions named in `kept` are conflicts if both sides changed them.

    Texts with syntax errors are merged line by line.
    """
    texts = [revision.text for revision in (base, ours, theirs)]
    for one, other, result in ((1, 2, 1), (0, 1, 2), (0, 2, 1)):
        if texts[one] == texts[other]:
            return Merged(texts[result])
    trees = [outline(revision) for revision in (base, ours, theirs)]
    if len({_is_flat(tree) for tree in trees}) > 1:
        trees = [flat(text.replace("\r\n", "\n")) for text in texts]
    try:
        lines = _Merge(trees, labels, frozenset(kept)).lines()
    except Lost:
        lines = _Merge([flat(text.replace("\r\n", "\n")) for text in texts], labels, frozenset()).lines()
    newline = "\r\n" if "\r\n" in ours.text else "\n"
    mark = "<" * labels.size + " "
    places = tuple(number for number, (text, _) in enumerate(lines, 1) if text.startswith(mark))
    names = dict.fromkeys(name for text, name in lines if text.startswith(mark) and name)
    ends = not texts[0] or texts[0].endswith("\n") or texts[1].endswith("\n")
    return Merged(newline.join(text for text, _ in lines) + (newline if ends and lines else ""), places, tuple(names))


def _is_flat(tree: Node) -> bool:
    return any(child.kind == LINE for child in tree.children) and all(child.kind == LINE for child in tree.children)


class _Merge:
    def __init__(self, trees: Sequence[Node], labels: Labels, kept: frozenset[str]) -> None:
        base, *sides = trees
        self.labels, self.kept = labels, kept
        self.found: list[tuple[str, str]] = []
        """The merged lines, each with the name of the definition around it."""
        self.name = ""
        self.emitted: set[Entity] = set()
        self.moves: dict[Entity, set[int]] = {}
        """The sides that moved a statement."""
        self.of: dict[Node, Entity] = {node: Entity(node) for node in base.walk()}
        for side, tree in enumerate(sides):
            matching = Matching(base, tree)
            for node in tree.walk():
                old = matching.old.get(node)
                entity = self.of[old] if old is not None else Entity(None)
                entity.sides[side] = node
                self.of[node] = entity
        self.root = self.of[base]
        self._unify(self.root)
        self._find_moves()

    def _find_moves(self) -> None:
        """Record moves to other blocks; those within one block are recorded where it is aligned."""
        for entity in dict.fromkeys(self.of.values()):
            base = entity.base
            for side, node in enumerate(entity.sides):
                if base is None or node is None or base.parent is None or node.parent is None:
                    continue
                if self.of[node.parent] is not self.of[base.parent]:
                    self.moves.setdefault(entity, set()).add(side)

    def _unify(self, parent: Entity) -> None:
        """Make definitions that both sides add under one name the same."""
        pending = [parent]
        while pending:
            around = pending.pop()
            added = [
                {child.key: self.of[child] for child in self._children(around, side) if self._is_new_definition(child)}
                for side in (OURS, THEIRS)
            ]
            for key, entity in added[OURS].items():
                other = added[THEIRS].get(key)
                if other is not None and (node := other.sides[THEIRS]) is not None:
                    entity.sides[THEIRS] = node
                    self.of[node] = entity
            pending += {self.of[child]: None for child in self._children(around, OURS) if child.kind == DEFINITION}

    def _is_new_definition(self, node: Node) -> bool:
        return node.kind == DEFINITION and self.of[node].base is None

    @staticmethod
    def _children(entity: Entity, side: int) -> list[Node]:
        node = entity.sides[side]
        return node.children if node is not None else []

    def lines(self) -> list[tuple[str, str]]:
        """Return the merged lines; raise Lost if a statement is not among them."""
        self.rows(self.root, "lead", 0)
        self.block(self.root, 0)
        for entity in dict.fromkeys(self.of.values()):
            if entity in self.emitted or entity is self.root:
                continue
            if entity.base is None or (entity.sides[OURS] is not None and entity.sides[THEIRS] is not None):
                raise Lost
        return self.found

    # --- Statements

    def write(self, rows: Iterable[Row], column: int) -> None:
        self.found += [(row.at(column), self.name) for row in rows]

    def statement(self, entity: Entity, column: int) -> None:
        """Write a statement that stays, with its block."""
        if entity in self.emitted:
            return
        self.emitted.add(entity)
        outer, node = self.name, entity.some
        if node.kind == DEFINITION:
            self.name = node.name
        changed = [entity.sides[side] is not None and self._changed(entity, side) for side in (OURS, THEIRS)]
        if node.kind == DEFINITION and all(changed) and (node.name in self.kept or entity.base is None):
            self.conflict([entity.sides[OURS]], [entity.base], [entity.sides[THEIRS]], column)
        else:
            self.rows(entity, "lead", column)
            self.rows(entity, "rows", column)
            self.block(entity, column)
        self.name = outer

    def _changed(self, entity: Entity, side: int) -> bool:
        node = entity.sides[side]
        return node is None or entity.base is None or node.digest != entity.base.digest

    def rows(self, entity: Entity, part: str, column: int) -> None:
        """Write a part of a statement: its own lines, or comments, of the side that changed them."""
        base, ours, theirs = entity.base, entity.sides[OURS], entity.sides[THEIRS]
        nodes = [node for node in (base, ours, theirs) if node is not None]
        if ours is None or theirs is None or base is None:
            chosen = ours or theirs or base
            if ours is not None and theirs is not None and _content(ours, part) != _content(theirs, part):
                return self.mark(_rows(ours, part), (), _rows(theirs, part), column)
            return self.write(_rows(chosen, part) if chosen is not None else (), column)
        contents = [_content(node, part) for node in nodes]
        if contents[0] == contents[1]:
            exact = _rows(base, part) == _rows(theirs, part) and contents[1] == contents[2]
            return self.write(_rows(ours if exact else theirs, part), column)
        if contents[0] == contents[2] or contents[1] == contents[2]:
            return self.write(_rows(ours, part), column)
        return self.mark(_rows(ours, part), _rows(base, part), _rows(theirs, part), column)

    # --- Blocks

    def block(self, entity: Entity, column: int) -> None:
        """Write the children of a statement, and the comments at the end of its block."""
        some = entity.some
        slots = self._slots(entity)
        depth = next((node.depth for node in (*entity.sides, entity.base) if node is not None and node.body_size), 4)
        inner = 0 if some.kind == FILE else column + depth
        is_done = False
        for slot in slots:
            clause = all(item.some.kind == CLAUSE for run in slot for item in run)
            if clause and any(slot) and not is_done:
                self.rows(entity, "tail", inner)
                is_done = True
            self._slot(entity, slot, column, inner)
        if not is_done:
            self.rows(entity, "tail", inner)

    def _slot(self, parent: Entity, slot: _Slot, column: int, inner: int) -> None:
        """Write what both sides add at one place, and the statement of the base after it."""

        def place(item: Entity) -> int:
            if parent.some.kind == FILE:
                return item.some.column
            return column if item.some.kind == CLAUSE else inner

        *runs, base = slot
        if all(runs):
            both = [[item.sides[side] for item in run] for side, run in enumerate(runs)]
            ours, theirs = ([node.digest for node in nodes if node is not None] for nodes in both)
            hides_change = any(item.base is not None and self._changed(item, OURS) for item in runs[THEIRS])
            if ours == theirs and (runs[OURS] == runs[THEIRS] or not hides_change):
                for item in runs.pop():
                    self._mark_emitted(item)
            elif ours == theirs or not commute(both[OURS], both[THEIRS]):
                for side, run in enumerate(runs):
                    moved = [item for item in run if item.base is not None and self._changed(item, 1 - side)]
                    both[1 - side] += [item.sides[1 - side] for item in moved]  # what the other side changed in them
                self.conflict(both[OURS], [], both[THEIRS], place(runs[OURS][0]))
                runs = []
        for side, run in enumerate(runs):
            for item in run:
                other = item.sides[1 - side]
                if (
                    item.base is not None
                    and (other is None or self._is_moved(item, 1 - side))
                    and item not in self.emitted
                ):
                    shown = [item.sides[side] if at == side else None for at in (OURS, THEIRS)]
                    self.conflict([shown[OURS]], [item.base] if other is None else [], [shown[THEIRS]], place(item))
                else:
                    self.statement(item, place(item))
        for item in base:
            gone = [side for side in (OURS, THEIRS) if item.sides[side] is None]
            if not gone:
                self.statement(item, place(item))
            elif len(gone) == 1 and self._is_touched(item, 1 - gone[0]):
                self.conflict([item.sides[OURS]], [item.base], [item.sides[THEIRS]], place(item))

    def _is_moved(self, item: Entity, side: int) -> bool:
        """Return whether a side moved a statement to a place where the other side did not move it."""
        return side in self.moves.get(item, ())

    def _slots(self, parent: Entity) -> list[_Slot]:
        """Return for each place in a block what ours and theirs add there, and the statement of the base after it.

        Statements of the base that a side moves are additions at their new place.
        """
        base = [self.of[child] for child in parent.base.children] if parent.base is not None else []
        index = {entity: place for place, entity in enumerate(base)}
        arrivals: list[list[tuple[int, int, list[Entity]]]] = [[], []]
        away: set[Entity] = set()
        for side in (OURS, THEIRS):
            children = [self.of[child] for child in self._children(parent, side)]
            known = [entity for entity in children if entity in index]
            stays = {known[place] for place in in_order([index[entity] for entity in known])}
            away |= {entity for entity in base if entity.sides[side] is not None and entity not in stays}
            arrivals[side] = _runs(children, stays, index, len(base))
            for entity in children:
                if entity.base is not None and entity not in stays:
                    self.moves.setdefault(entity, set()).add(side)
        slots: list[_Slot] = [([], [], []) for _ in range(len(base) + 1)]
        for place, entity in enumerate(base):
            if entity not in away:
                slots[place][2].append(entity)
        ends = [last for _, last, _ in arrivals[OURS]]
        for first, _, run in arrivals[OURS]:
            slots[first][OURS].extend(run)
        for first, last, run in arrivals[THEIRS]:
            near = bisect_left(ends, first)
            is_near = near < len(ends) and arrivals[OURS][near][0] <= last
            slot = slots[arrivals[OURS][near][0] if is_near else first]
            together = set(slot[OURS])
            slot[THEIRS].extend(entity for entity in run if entity not in together or entity.base is None)
            for entity in together.intersection(run):
                self.moves.pop(entity, None)
        return slots

    def _is_touched(self, entity: Entity, side: int) -> bool:
        """Return whether a side changed, moved or added to a statement that the other deleted."""
        pending = [entity]
        while pending:
            item = pending.pop()
            node, base = item.sides[side], item.base
            if node is None:
                continue
            home = self.of[node.parent] if node.parent is not None else None
            if item is not entity and base is not None and (base.parent is None or self.of[base.parent] is not home):
                return True
            if item.sides[1 - side] is not None:
                continue
            if base is None or any(_content(node, part) != _content(base, part) for part in ("lead", "rows", "tail")):
                return True
            pending += [self.of[child] for child in node.children]
        return False

    # --- Conflicts

    def _mark_emitted(self, entity: Entity) -> None:
        """Record that a statement is written, with all that any revision has inside of it."""
        for node in (entity.base, *entity.sides):
            if node is not None:
                self.emitted.update(self.of[part] for part in node.walk())

    def conflict(
        self, ours: Sequence[Node | None], base: Sequence[Node | None], theirs: Sequence[Node | None], column: int
    ) -> None:
        """Write a conflict of whole statements."""
        for node in (*ours, *base, *theirs):
            if node is not None:
                self._mark_emitted(self.of[node])
        texts = [
            [row for node in side if node is not None for row in node.lines(column)] for side in (ours, base, theirs)
        ]
        self._write_conflict(*texts)

    def mark(self, ours: Iterable[Row], base: Iterable[Row], theirs: Iterable[Row], column: int) -> None:
        """Write a conflict of a part of a statement."""
        self._write_conflict(*([row.at(column) for row in side] for side in (ours, base, theirs)))

    def _write_conflict(self, ours: list[str], base: list[str], theirs: list[str]) -> None:
        """Write three texts between markers; lines that both sides share at the ends are outside of them."""
        most = min(len(ours), len(theirs))
        start = next((at for at in range(most) if ours[at] != theirs[at]), most)
        end = next((at for at in range(most - start) if ours[-1 - at] != theirs[-1 - at]), most - start)
        size, labels = self.labels.size, self.labels
        shown = [
            *ours[:start],
            f"{'<' * size} {labels.ours}",
            *ours[start : len(ours) - end],
            f"{'|' * size} {labels.base}",
            *base,
            "=" * size,
            *theirs[start : len(theirs) - end],
            f"{'>' * size} {labels.theirs}",
            *ours[len(ours) - end :],
        ]
        self.found += [(text, self.name) for text in shown]


def _rows(node: Node, part: str) -> tuple[Row, ...]:
    return getattr(node, part)


def _content(node: Node, part: str) -> tuple[str, ...]:
    """Return what counts in a part of a statement: tokens and comments, not layout."""
    return node.tokens if part == "rows" else comments_of(_rows(node, part))


def _runs(
    children: Sequence[Entity], stays: set[Entity], index: dict[Entity, int], size: int
) -> list[tuple[int, int, list[Entity]]]:
    """Return the runs of children that are not at their place in the base: the first and last place where each may be."""
    found: list[tuple[int, int, list[Entity]]] = []
    run: list[Entity] = []
    first = 0
    for entity in children:
        if entity not in stays:
            run.append(entity)
            continue
        if run:
            found.append((first, index[entity], run))
            run = []
        first = index[entity] + 1
    if run:
        found.append((first, size, run))
    return found
