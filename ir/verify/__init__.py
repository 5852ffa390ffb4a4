"""The verifier: checks of the law of the IR. `checks` lists them; the modules implement one family each.

A diagnostic is an error only if the program is certainly wrong for some valid input; it then shows such an input.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

from msgspec import Struct

from ..base import BaseFunc, IRModule, Node
from ..deep import deep
from ..diagnostics import ArgumentError, Diagnostic, TvmsError
from ..programs import not_a_program
from ..relax import Function
from ..tir import PrimFunc
from ..visit import children, walk
from .calls import mentioned
from .checks import CHECKS, GRAPH_CHECKS, LEVELS, LOOP_CHECKS, MODULE_CHECKS, PART_CHECKS, Check, Level
from .subject import Subject

__all__ = ["CHECKS", "LEVELS", "Check", "Level", "check_law", "check_types", "verify"]

_well_typed: WeakKeyDictionary[IRModule, dict[str, BaseFunc]] = WeakKeyDictionary()
"""Modules that `check_types` passed, and their functions at that time."""


class Examined(Struct, frozen=True):
    """What the checks of one function found, and the references and calls in it."""

    found: tuple[Diagnostic, ...]
    mentions: list[Node]
    has_broken_parts: bool
    """Whether a part of it does not have its declared type, so that checks of the whole module must not read it."""


_known: WeakKeyDictionary[PrimFunc, dict[tuple[int, bool], Examined]] = WeakKeyDictionary()
"""Findings by function, level and strictness: most passes keep most functions, and nodes do not change."""


@deep
def verify(node: Node, level: Level = "bounds", strict: bool = False) -> tuple[Diagnostic, ...]:
    """Return all diagnostics of `node`, a module or a function, in textual order; () if it is well-formed.

    `level` selects the checks: "types" for names, dtypes and signatures, "bounds" also for accesses, regions and
    reductions, "races" also for dependences between iterations. `strict` also warns of properties that are not proven.
    """
    if level not in LEVELS:
        raise ArgumentError(
            Diagnostic("E0702", f"option 'level' must be {' or '.join(map(repr, LEVELS))}, not {level!r}")
        )
    if not isinstance(node, Node):  # type: ignore[reportUnnecessaryIsInstance]  # callers are not all type-checked
        raise not_a_program(node)
    module = node if isinstance(node, IRModule) else None
    functions = module.functions if module else {"": node}
    examined = {name: examine(function, module, level, strict) for name, function in functions.items()}
    found = [diagnostic for function in examined.values() for diagnostic in function.found]
    if module:
        found += examine_calls(module, examined, level)
    return tuple(dict.fromkeys(sorted(found, key=lambda diagnostic: diagnostic.span.start if diagnostic.span else 0)))


@deep
def examine(function: Node, module: IRModule | None, level: Level = "bounds", strict: bool = False) -> Examined:
    """Run the checks of one function of `module`; see `verify`."""
    depth = LEVELS.index(level)
    if isinstance(function, PrimFunc):
        return _of_loop_function(function, depth, strict)
    nodes = tuple(walk(function))
    mentions = mentioned((*nodes, *children(function)))
    broken = _broken_parts(function, nodes, depth)
    found = list(broken)
    if not broken and isinstance(function, Function):
        for check in GRAPH_CHECKS:
            found.extend(check.run(function, module) if LEVELS.index(check.level) <= depth else ())
    return Examined(tuple(found), mentions, bool(broken))


def examine_calls(module: IRModule, examined: Mapping[str, Examined], level: Level = "bounds") -> list[Diagnostic]:
    """Run the checks of the whole module, whose functions were examined; they do not run if one has broken parts."""
    if any(function.has_broken_parts for function in examined.values()):
        return []
    mentions = {name: function.mentions for name, function in examined.items()}
    checks = [check for check in MODULE_CHECKS if LEVELS.index(check.level) <= LEVELS.index(level)]
    return [diagnostic for check in checks for diagnostic in check.run(module, mentions)]


def check_law(node: Node, level: Level = "bounds") -> None:
    """Raise TvmsError with the errors of `node`, a module or a function, where it breaks the law at this level."""
    problems = [diagnostic for diagnostic in verify(node, level) if diagnostic.severity == "error"]
    if problems:
        raise TvmsError(problems)


def check_types(module: IRModule) -> IRModule:
    """Return `module`; raises TvmsError where it breaks the law at level "types", on which all that runs a program relies.

    A module is checked again only after its functions changed.
    """
    known = _well_typed.get(module, {})
    if known.keys() != module.functions.keys() or any(
        known[name] is not function for name, function in module.functions.items()
    ):
        check_law(module, "types")
        _well_typed[module] = {**module.functions}
    return module


def _of_loop_function(function: PrimFunc, depth: int, strict: bool) -> Examined:
    """Run the checks of a loop function, once for each level; none, if a later level found nothing."""
    known = _known.setdefault(function, {})
    for (level, is_strict), findings in known.items():
        if level >= depth and is_strict >= strict and not findings.found:
            return findings
    if (depth, strict) not in known:
        subject = Subject(function, strict)
        nodes = (*subject.signature, *subject.nodes)
        broken = _broken_parts(function, nodes, depth)
        found = tuple(broken or _loop_level(subject, LEVELS[: depth + 1]))
        known[depth, strict] = Examined(found, mentioned((*nodes, *children(function))), bool(broken))
    return known[depth, strict]


def _broken_parts(function: Node, nodes: Sequence[Node], depth: int) -> list[Diagnostic]:
    return [diagnostic for check in PART_CHECKS if depth for diagnostic in check.run(function, nodes)]


def _loop_level(subject: Subject, levels: Sequence[Level]) -> list[Diagnostic]:
    """Run a level only if the previous ones found no error, since later checks would report the same mistakes again."""
    for level in levels:
        if not subject.report.has_errors:
            for check in LOOP_CHECKS:
                if check.level == level:
                    check.run(subject)
    return subject.report.found
