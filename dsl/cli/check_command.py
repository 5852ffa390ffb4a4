"""`tvms check PATH…`: report every error of every file in one run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec.structs import replace

from ...ir.base import IRModule
from ...ir.diagnostics import CallSpan, Diagnostic, Source, TvmsError
from ...ir.files import write_whole
from ...ir.lints import lint
from ...ir.sanitize import emit, say
from ...ir.verify import verify
from ..compatibility import as_tvm_takes_them
from ..diagnostics import in_order, summary
from ..embedded import PATTERNS, rewritten
from ..fixes import fixed
from ..load import open_file, read_definition, read_module
from .common_options import defined_values
from .files import find_files
from .reporting import UsageError, exit_code, report


def _check(path: str, arguments: argparse.Namespace, values: dict[str, Any]) -> tuple[Diagnostic, ...] | None:
    """Return what is found in a file: in its module, or in each definition of a host; None for a file of a tree that has
    no definition.
    """
    if arguments.fix:
        _fix(path)
    try:
        source, host = open_file(path, values, arguments.stdin_filename)
        if host is None:
            return _examined(path, lambda warnings: read_module(source, None, warnings, values=values), arguments)
        if not host.definitions and path not in arguments.paths:
            return None
        if not host.definitions:
            read_module(source, host)  # raises
    except TvmsError as problem:
        return _located(problem, path)
    found: list[Diagnostic] = []
    for definition in host.definitions:
        if definition.captured:
            found += [replace(diagnostic, severity="warning") for diagnostic in definition.missing()]
        else:
            found += _examined(path, partial(read_definition, definition), arguments)
    return tuple(found)


def _located(problem: TvmsError, path: str) -> tuple[Diagnostic, ...]:
    return tuple(found if found.span else replace(found, file=path) for found in problem.diagnostics)


def _examined(
    path: str, read: Callable[[list[Diagnostic]], IRModule], arguments: argparse.Namespace
) -> tuple[Diagnostic, ...]:
    """Return all diagnostics of the module that `read` returns; `read` appends the warnings of its text to a list."""
    warnings: list[Diagnostic] = []
    try:
        module = read(warnings)
    except TvmsError as problem:
        return _located(problem, path)
    found = verify(module, arguments.level, arguments.strict)
    if arguments.trust:
        found = as_tvm_takes_them(found)
    if arguments.round_trip:
        from ..round_trip import check_round_trip

        found += check_round_trip(module, path)
    if arguments.level != "syntax" and not any(diagnostic.severity == "error" for diagnostic in found):
        found += check_schedules(module)
        if not arguments.no_lints:
            found += lint(module)
    return (*warnings, *found)


def check_schedules(module: IRModule) -> tuple[Diagnostic, ...]:
    """Return the first error of each schedule: an unknown target, a step that is refused, an assertion that does not hold."""
    if not module.schedules:
        return ()
    from ...ir.schedule.apply import SEED
    from ...ir.schedule.schedule import Schedule
    from ...ir.schedule.text import ScheduleText

    found: list[Diagnostic] = []
    plain = replace(module, schedules={})
    for text in module.schedules.values():
        if not isinstance(text, ScheduleText):
            continue
        found += _target_errors(text.target, text)
        try:
            Schedule(plain, seed=SEED, error_render_level="fast").replay(text)
        except TvmsError as refused:
            found += refused.diagnostics
    return tuple(found)


def _target_errors(target: object, text: object) -> list[Diagnostic]:
    from ...codegen.target import get_target

    if target is None:
        return []
    span = getattr(text, "span", None)
    place = span.of("target", None) if isinstance(span, CallSpan) else span
    try:
        get_target(target)  # type: ignore[reportArgumentType]
    except TvmsError as wrong:
        return [replace(diagnostic, span=diagnostic.span or place) for diagnostic in wrong.diagnostics]
    return []


def _fix(path: str) -> None:
    """Apply the edits of what is found to a file."""
    if path == "-":
        raise UsageError("--fix needs a file, not standard input")
    try:
        source, host = open_file(path)
    except TvmsError:
        return
    if host is None:
        text = fixed(source, check_schedules)
    else:
        texts = {definition: definition.text() for definition in host.definitions if definition.is_python}
        changed = {definition: fixed(Source(path, text), check_schedules) for definition, text in texts.items()}
        text = rewritten(host, {definition: new for definition, new in changed.items() if new != texts[definition]})
    if text != source.text:
        write_whole(text, source.name, follow=True)


def run(arguments: argparse.Namespace) -> int:
    """Check all files; return 0 if there are no errors."""
    values = defined_values(arguments)
    results = [_check(file, arguments, values) for file in find_files(arguments.paths, ("*.tvms", *PATTERNS))]
    files = [result for result in results if result is not None]
    found = in_order([diagnostic for result in files for diagnostic in result])
    if arguments.output_format != "full":
        from ..reports import FORMATS

        emit(FORMATS[arguments.output_format](found))
        return exit_code(found)
    if found:
        report(found)
    noun = "file" if len(files) == 1 else "files"
    say(f"{len(files)} {noun} checked: {summary(found) or 'no errors'}", sys.stderr if found else sys.stdout)
    return exit_code(found)
