"""`tvms compile FILE --emit KIND`: write machine code, or the form of one of the stages before it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...ir.files import write_together
from ...ir.sanitize import json_text, say
from ...ir.source_lines import source_of
from . import common_options
from .files import STANDARD_OUTPUT, write_output
from .progress import progress
from .reporting import UsageError, terminal_width

if TYPE_CHECKING:
    from ...codegen import Settings
    from ...ir.base import IRModule


def run(arguments: argparse.Namespace) -> int:
    """Write the compiled module."""
    from ...codegen import Settings, aot

    output = aot.OUTPUTS[arguments.emit]
    if output.is_binary and arguments.output in STANDARD_OUTPUT and sys.stdout.isatty():
        raise UsageError(f"'{arguments.emit}' is binary: write it to a file with -o FILE")
    module = common_options.defined(common_options.loaded(arguments), arguments)
    settings = Settings(**common_options.settings_of(arguments))
    target = arguments.target
    if arguments.report:
        return _report(module, target, settings)
    if arguments.lines is not None:
        _check_lines(arguments)
        with progress():
            text = _with_lines(module, arguments, settings)
        write_output(text, arguments.output)
        return 0
    with progress():
        result = output.make(module, target, settings)
        if arguments.emit == "so" and isinstance(result, bytes) and arguments.output not in STANDARD_OUTPUT:
            return _write_library(result, aot.header(module, target), arguments.output)
    write_output(result, arguments.output)
    return 0


def _check_lines(arguments: argparse.Namespace) -> None:
    from ...codegen.source_map import MAPPED

    if arguments.emit not in MAPPED:
        kinds = ", ".join(MAPPED)
        raise UsageError(f"--emit {arguments.emit} --lines {arguments.lines}: lines are known of {kinds}")


def _with_lines(module: IRModule, arguments: argparse.Namespace, settings: Settings) -> str:
    """Return the text of a kind of output with the source lines of its lines."""
    from ...codegen.source_map import interleaved, mapped

    found = mapped(module, arguments.emit, arguments.target, settings)
    if arguments.lines == "json":
        return f"{json_text(msgspec.to_builtins(found))}\n"
    return interleaved(found, arguments.emit, arguments.target, source_of(module))


def _write_library(library: bytes, header: str, path: str) -> int:
    """Write a shared library, and its C header beside it."""
    beside = str(Path(path).with_suffix(".h"))
    if beside == path:
        raise UsageError(f"-o {path}: the library would replace its header", help="name a file with suffix .so")
    write_together([(header, beside), (library, path)])
    return 0


def _report(module: IRModule, target: str, settings: Settings) -> int:
    """Print where machine code differs from its schedule or, for a GPU, the resources that the kernels of a module use."""
    from ...codegen.build import prepare
    from ...codegen.gpu.program import build_program
    from ...codegen.gpu.report import report
    from ...codegen.remarks import report as remarks_of
    from ...codegen.target import get_target

    chosen = get_target(target)
    if chosen.is_device:
        say(report(build_program(prepare(module, chosen), chosen, settings), chosen, terminal_width()))
    else:
        say(remarks_of(module, chosen, settings))
    return 0
