"""Builds and checks the module of a divided text one definition at a time.

After an edit, only the definitions whose text changed are built again, and those that mention a function whose signature
changed; the results are those of `tvms check` on the whole text. What the definitions share (imports, constants, macros, the
head of the module) is read once; if it changes, all is built again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ...ir import tir
from ...ir.base import BaseFunc, GlobalVar, IRModule, Node, Source
from ...ir.deep import deep
from ...ir.diagnostics import Diagnostic
from ...ir.equal import structural_equal
from ...ir.lints import lint
from ...ir.verify import Examined, examine, examine_calls
from .. import syntax
from ..builder.incremental import Incremental
from ..builder.module import SCHEDULES
from ..fixes import CheckSchedules
from ..parser import parse_syntax
from .chunks import Chunk, Division

MAX_BUILDS = 2_000
"""Definitions built before all is built again: the builder remembers every value that ever had a name."""

_LINE_NUMBER = re.compile(r"\bline \d")


class Built(NamedTuple):
    """What the builder made of a definition: a function, a schedule, or None, and what it reported."""

    chunk: Chunk
    name: str
    kind: str
    node: Node | None
    found: tuple[Diagnostic, ...]
    warnings: tuple[Diagnostic, ...]


class Findings(NamedTuple):
    """All that is found in a text."""

    diagnostics: tuple[Diagnostic, ...]
    module: IRModule | None = None
    """The module, as far as its definitions could be built."""
    is_exact: bool = True
    """Whether `tvms check` finds the same. It may find more if a text cannot be divided, or has syntax errors."""


class Program:
    """The module of a text that changes."""

    def __init__(self, check_schedules: CheckSchedules) -> None:
        self._check_schedules = check_schedules
        self.forget()

    def forget(self) -> None:
        """Forget what was built."""
        self._environment: tuple[str, ...] | None = None
        self._builder: Incremental | None = None
        self._built: dict[str, Built] = {}
        self._signatures: dict[str, GlobalVar] = {}
        self._schedules: list[Chunk] = []
        self._examined: dict[str, tuple[tuple[Node | None, ...], Examined, tuple[Diagnostic, ...]]] = {}
        self._applied: dict[str, tuple[tuple[Node | None, ...], tuple[Diagnostic, ...]]] = {}
        self._builds = 0

    @deep
    def update(self, division: Division, text: str) -> Findings:
        """Return what is found in a text."""
        mistakes = tuple(mistake for placed in division.chunks for mistake in placed.chunk.mistakes)
        found = self._update(division, text, mistakes) if division.is_regular else None
        if found is None:
            self.forget()
            return Findings(mistakes, is_exact=False)
        is_exact = not mistakes and not any(map(_names_lines, found.diagnostics))
        return found._replace(is_exact=is_exact)

    def node_of(self, chunk: Chunk) -> Node | None:
        """Return what was built of a chunk."""
        names = [statement.name for statement in chunk.file.body if isinstance(statement, syntax.Definition)]
        built = self._built.get(names[0]) if names else None
        return built.node if built is not None and built.chunk is chunk else None

    def _update(self, division: Division, text: str, mistakes: tuple[Diagnostic, ...]) -> Findings | None:
        """Build what changed, and check it; None if that takes the whole text."""
        definitions: dict[str, tuple[Chunk, syntax.Definition]] = {}
        shared: list[Chunk] = []
        count = 0
        for chunk, _ in division.chunks:
            body = chunk.file.body
            if (
                chunk.is_definition
                and len(body) == 1
                and isinstance(body[0], syntax.Definition)
                and not _is_macro(body[0])
            ):
                definitions[body[0].name] = chunk, body[0]
                count += 1
            elif body or not chunk.mistakes:  # else a definition with a syntax error
                shared.append(chunk)
        if len(definitions) < count or not self._prepare(division, text, shared):
            return None
        assert self._builder is not None
        broken = {name for chunk, _ in division.chunks for name in chunk.file.broken} - definitions.keys()
        kinds = {name: self._builder.kind_of(chunk.file, node) for name, (chunk, node) in definitions.items()}
        if None in kinds.values():
            return None
        changed = self._remove(kinds, broken) | self._declare(definitions, kinds, broken)
        self._build(definitions, kinds, changed, broken)
        return None if self._builder.is_stuck else self._findings(list(definitions), mistakes)

    def _prepare(self, division: Division, text: str, shared: Sequence[Chunk]) -> bool:
        """Read what the definitions share, if it changed; return whether that succeeded."""
        environment = (division.header, *(chunk.text for chunk in shared))
        if environment == self._environment and self._builds <= MAX_BUILDS:
            return True
        self.forget()
        head = "    pass\n" if division.module else ""
        name = shared[0].source.name if shared else ""
        file, mistakes = parse_syntax(Source(name, division.header + head))
        self._builder = Incremental(file, len(text))
        if mistakes or not self._builder.share([chunk.file for chunk in shared]):
            return False
        self._environment = environment
        return True

    def _remove(self, kinds: dict[str, str | None], broken: set[str]) -> set[str]:
        """Forget the definitions that are no longer in the text, or of another kind; return their names."""
        assert self._builder is not None
        gone = {name for name, built in self._built.items() if kinds.get(name) != built.kind}
        gone |= self._signatures.keys() - kinds.keys() - broken
        for name in gone:
            self._builder.remove(name)
            for known in (self._built, self._signatures, self._examined, self._applied):
                known.pop(name, None)
        return gone

    def _declare(
        self, definitions: dict[str, tuple[Chunk, syntax.Definition]], kinds: dict[str, str | None], broken: set[str]
    ) -> set[str]:
        """Declare the functions whose text changed; return the names whose signature changed."""
        assert self._builder is not None
        changed: set[str] = set()
        declared: dict[str, GlobalVar] = {name: GlobalVar(name) for name in broken}
        for name, (chunk, definition) in definitions.items():
            kind, before = kinds[name], self._built.get(name)
            if kind is not None and kind not in SCHEDULES and (before is None or before.chunk is not chunk):
                declared[name] = self._builder.signature(chunk.file, definition, kind)
        for name, reference in declared.items():
            known = self._signatures.get(name)
            if known is None or not _same(known, reference):
                self._builder.declare(name, reference)
                self._signatures[name] = reference
                changed.add(name)
        return changed

    def _build(
        self,
        definitions: dict[str, tuple[Chunk, syntax.Definition]],
        kinds: dict[str, str | None],
        changed: set[str],
        broken: set[str],
    ) -> None:
        """Build changed definitions and those that mention them: functions first, then schedules."""
        assert self._builder is not None
        schedules = [definitions[name][0] for name, kind in kinds.items() if kind in SCHEDULES]
        is_reordered = schedules != self._schedules  # a schedule calls only those above it
        if is_reordered:
            self._schedules = schedules
            for name in [name for name, built in self._built.items() if built.kind in SCHEDULES]:
                self._builder.remove(name)
        functions = {name for name, kind in kinds.items() if kind == "T.prim_func"} | broken
        for name, (chunk, definition) in sorted(definitions.items(), key=lambda item: kinds[item[0]] in SCHEDULES):
            kind, before = kinds[name] or "", self._built.get(name)
            mentioned = (
                changed if before is not None and before.found else chunk.words & changed
            )  # remedies name others
            is_stale = bool(mentioned - {name}) or (is_reordered and kind in SCHEDULES)
            if before is not None and before.chunk is chunk and not is_stale:
                continue
            node, found, warnings = self._builder.build(chunk.file, definition, kind, functions)
            self._built[name] = Built(chunk, name, kind, node, found, warnings)
            self._builds += 1
            if before is None or (before.node is None) != (node is None):
                changed = changed | {name}

    def _findings(self, names: Sequence[str], mistakes: tuple[Diagnostic, ...]) -> Findings | None:
        """Return what is found, in the order in which `tvms check` looks."""
        assert self._builder is not None
        built = [self._built[name] for name in names]
        functions = {one.name: one.node for one in built if isinstance(one.node, BaseFunc)}
        schedules = {one.name: one.node for one in built if one.node is not None and one.name not in functions}
        module = self._builder.module(functions, schedules)
        wrong = [diagnostic for one in built for diagnostic in one.found]
        warnings = [*self._builder.warnings, *(warning for one in built for warning in one.warnings)]
        if wrong or mistakes:
            return Findings((*mistakes, *wrong, *warnings), module)
        if not functions and not module.name:
            return None
        found: list[Diagnostic] = []
        lints: list[Diagnostic] = []
        for name, function in module.functions.items():
            key = self._key(name, function, module)
            known = self._examined.get(name)
            if known is None or known[0] != key:
                alone = IRModule({name: function})
                known = self._examined[name] = key, examine(function, module), lint(alone)
            found += known[1].found
            lints += known[2]
        found += examine_calls(module, {name: self._examined[name][1] for name in module.functions})
        if any(diagnostic.severity == "error" for diagnostic in found):
            return Findings((*warnings, *found), module)
        found += self._schedule_errors(module)
        found += lints
        return Findings((*warnings, *found), module)

    def _key(self, name: str, function: Node, module: IRModule) -> tuple[Node | None, ...]:
        """Return the functions on which the checks of a function depend."""
        if isinstance(function, tir.PrimFunc) or name not in self._built:
            return (function,)
        words = self._built[name].chunk.words
        return (function, *(other for callee, other in module.functions.items() if callee in words))

    def _schedule_errors(self, module: IRModule) -> list[Diagnostic]:
        """Return the errors of schedules; those of a schedule are looked for again if something that it mentions changed."""
        found: list[Diagnostic] = []
        for name, text in module.schedules.items():
            words = self._built[name].chunk.words
            parts = {**module.functions, **module.schedules}
            key = (text, *(node for other, node in parts.items() if other in words))
            known = self._applied.get(name)
            if known is None or known[0] != key:
                functions = {other: node for other, node in module.functions.items() if other in words}
                alone = IRModule(functions, module.attrs, module.global_infos, module.name, schedules={name: text})
                known = self._applied[name] = key, self._check_schedules(alone)
            found += known[1]
        return found


def _names_lines(diagnostic: Diagnostic) -> bool:
    """Return whether a diagnostic names a line by its number, which depends on the text above it."""
    return any(_LINE_NUMBER.search(text) for text in (diagnostic.message, *(note.message for note in diagnostic.notes)))


def _is_macro(definition: syntax.Definition) -> bool:
    head = definition.head
    while isinstance(head, syntax.Call):
        head = head.func
    return isinstance(head, syntax.Attribute) and head.attr in ("macro", "inline")


def _same(one: GlobalVar, other: GlobalVar) -> bool:
    if one.struct_info is None or other.struct_info is None:
        return one.struct_info is other.struct_info
    return structural_equal(one.struct_info, other.struct_info)
