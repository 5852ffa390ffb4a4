"""`tvms convert PATH… --to DIALECT`: convert a file or a tree of files to another dialect."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from ...ir.diagnostics import Diagnostic, TvmsError, error
from ...ir.sanitize import say
from ..compatibility import dialect_of
from ..diagnostics import in_order
from ..embedded import PATTERNS, Host, is_host
from ..formatter import format_text
from ..load import open_file, read_definition, read_module
from ..sidecar import sidecar_of
from .common_options import defined_values
from .files import STANDARD_OUTPUT, find_files, write_module, write_output
from .reporting import Findings, UsageError, exit_code, report

SUFFIXES = {"tvms": ".tvms", "tvm-0.21": ".py", "tvm-0.27": ".py"}
"""Suffix of the files of each dialect."""
SOURCES = ("*.tvms", *PATTERNS)
"""The files that are converted."""


def run(arguments: argparse.Namespace) -> int:
    """Convert all files; report those that cannot be read, and convert the others."""
    values = defined_values(arguments)
    if arguments.in_place:
        _check_in_place(arguments)
    if arguments.output in STANDARD_OUTPUT and not arguments.in_place:
        if len(arguments.paths) != 1 or os.path.isdir(arguments.paths[0]):
            raise UsageError("several files need -o FOLDER, or --in-place")
        shown = _convert(arguments.paths[0], None, arguments.to, None, values)
        if shown:
            report(in_order(shown))
        return exit_code(shown)
    found = Findings()
    if arguments.output is None:
        below, jobs = None, [(file, Path(file)) for file in find_files(arguments.paths, SOURCES)]
    else:
        below, jobs = _jobs(arguments.paths, arguments.output, arguments.to)
    for source, target in jobs:
        with found.inside(source):
            found.diagnostics += _convert(source, str(target), arguments.to, below, values)
    if found.diagnostics:
        report(in_order(found.diagnostics))
    say(f"{len(jobs)} file{'s' * (len(jobs) != 1)} read", sys.stderr)
    return found.exit_code()


def _check_in_place(arguments: argparse.Namespace) -> None:
    """Raise UsageError for options that exclude --in-place."""
    if arguments.output:
        raise UsageError("--in-place rewrites the files themselves", help="leave out -o, or --in-place")
    if arguments.to == "tvms":
        path = arguments.paths[0]
        output = "FOLDER" if os.path.isdir(path) or len(arguments.paths) > 1 else Path(path).with_suffix(".tvms")
        remedy = f"tvms convert {' '.join(arguments.paths)} --to tvms -o {output}"
        message = "--in-place keeps the file, but definitions in the dialect tvms belong in .tvms files"
        raise UsageError(message, help=f"write the definitions to such files: {remedy}")


def _convert(
    path: str, target: str | None, dialect: str, below: str | None, values: dict[str, Any]
) -> tuple[Diagnostic, ...]:
    """Convert a file, and return what was found in it. A host keeps everything but its definitions in a dialect of TVM;
    for our own, each of its modules is a file.
    """
    source, host = open_file(path, values)
    has_tensors = sidecar_of(Path(source.name)).exists()  # they are written with the module
    if host is None and dialect == "tvms" and dialect_of(source) == "tvms" and not has_tensors:
        read_module(source, host, values=values)  # a text with errors is not written
        write_output(format_text(source.text), target, below)
        return ()
    if host is None or not host.definitions:
        write_module(read_module(source, host, values=values), dialect, target, below)
        return ()
    if dialect != "tvms":
        from ..embedded.convert import converted

        text, found = converted(host, dialect, read_definition)
        write_output(text, target, below)
        return found
    if target is None or len(host.definitions) == 1:
        write_module(read_module(source, host), dialect, target, below)
        return ()
    return _split(host, target, below)


def _split(host: Host, target: str, below: str | None) -> tuple[Diagnostic, ...]:
    """Write each definition of a host to a file of its own in the folder of `target`: `file.definition.tvms`."""
    found: list[Diagnostic] = []
    count: Counter[str] = Counter()
    for definition in host.definitions:
        count[definition.name] += 1
        number = f"{count[definition.name]}" if count[definition.name] > 1 else ""
        try:
            module = read_definition(definition)
        except TvmsError as problem:
            found += problem.diagnostics
            continue
        write_module(module, "tvms", str(Path(target).with_suffix(f".{definition.name}{number}.tvms")), below)
    return tuple(found)


def _jobs(paths: list[str], output: str, dialect: str) -> tuple[str | None, list[tuple[str, Path]]]:
    """Return the output folder and each input with its output: `output` itself for a single file, else the same tree
    below the folder `output`. Files of a tree without definitions are left out.
    """
    if len(paths) == 1 and not os.path.isdir(paths[0]) and not os.path.isdir(output):
        return None, [(paths[0], Path(output))]
    jobs: dict[Path, str] = {}
    for path in paths:
        root = Path(path) if os.path.isdir(path) else Path(path).parent
        for file in find_files([path], SOURCES):
            suffix = SUFFIXES[dialect]
            if is_host(file):
                if file != path and not _has_definitions(file):
                    continue
                suffix = suffix if dialect == "tvms" else Path(file).suffix
            target = Path(file).relative_to(root).with_suffix(suffix)
            if target in jobs:
                message = f"'{jobs[target]}' and '{file}' would both become '{Path(output, target)}'"
                raise error("E0810", message, help="convert them one by one, or rename one")
            jobs[target] = file
    return output, [(file, target) for target, file in jobs.items()]


def _has_definitions(file: str) -> bool:
    """Return whether a host holds definitions; a file that cannot be read counts, so that it is reported."""
    try:
        _, host = open_file(file)
    except TvmsError:
        return True
    return host is None or bool(host.definitions)
