"""Options that several subcommands have: cheap to import, so that `--help` is quick."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from . import choices
from .choices import Choices, at_least
from .reporting import UsageError

if TYPE_CHECKING:
    from ...ir.base import IRModule


def add_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a .tvms file, or a file with TVMScript (FILE::NAME for one definition); - is standard input",
    )


def add_define(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-D",
        "--define",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="the value of a name that definitions capture from the program around them",
    )


def add_dialect(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dialect",
        metavar="DIALECT",
        choices=Choices(choices.dialects),
        default="tvms",
        help="the dialect to print: %(choices)s (default: tvms)",
    )


def add_entry(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--entry", metavar="NAME", help="the function to run (default: main, or the first public one)")


def add_values(parser: argparse.ArgumentParser) -> None:
    """Add the options for the arguments of the function."""
    add_entry(parser)
    parser.add_argument(
        "--arg",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a parameter's value: FILE.npy, a number, 'random' or 'zeros' (default: random inputs)",
    )
    parser.add_argument(
        "--dim", metavar="NAME=SIZE", action="append", default=[], help="the size of a symbolic dimension (default: 4)"
    )
    parser.add_argument(
        "--seed", type=at_least(0), default=0, metavar="N", help="the seed of random arguments (default: 0)"
    )
    parser.add_argument(
        "--thread-order",
        metavar="ORDER",
        choices=Choices(choices.thread_orders),
        default="ascending",
        help="the order of parallel iterations and threads in the interpreter: %(choices)s (default: ascending)",
    )


def add_settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bounds",
        metavar="BOUNDS",
        choices=Choices(choices.bounds),
        default="prove",
        help="check all indices at run time, those that are not proven in bounds, or none: %(choices)s (default: prove)",
    )
    parser.add_argument("--threads", type=at_least(1), metavar="N", help="threads of a parallel loop (default: all)")
    parser.add_argument(
        "--no-schedule", action="store_true", help="do not apply default rules to functions without a schedule"
    )
    parser.add_argument(
        "-O",
        dest="opt_level",
        metavar="LEVEL",
        choices=Choices(choices.opt_levels),
        default="3",
        help="optimization level of LLVM: %(choices)s (default: 3)",
    )


def add_defines(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-D",
        dest="defines",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="the value of a parameter of a schedule: bn=32, or tiled.bn=32 for one of several (may be repeated)",
    )


def defined(module: IRModule, arguments: argparse.Namespace) -> IRModule:
    """Return a module with the parameters of schedules that `-D` gives."""
    if not arguments.defines:
        return module
    from ...ir.schedule.apply import with_parameters

    pairs = [define.partition("=") for define in arguments.defines]
    for name, sign, value in pairs:
        if not (name and sign and value):
            raise UsageError(f"-D {name}{sign}{value}: write NAME=VALUE, such as -D bn=32")
    return with_parameters(module, {name: _constant(value) for name, _, value in pairs})


def _constant(text: str) -> Any:
    """Return a number, a flag or None; other text is a string, which may have quotes."""
    named = {"True": True, "False": False, "None": None}
    if text in named:
        return named[text]
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            pass
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] in "\"'" else text


def add_watch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--watch", action="store_true", help="run again whenever the file changes, until Ctrl-C")


def settings_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the compiler settings that `add_settings` declares, as keyword arguments of `codegen.compile`."""
    return {
        "schedule": not arguments.no_schedule,
        "bounds": arguments.bounds,
        "threads": arguments.threads or 0,
        "level": int(arguments.opt_level),
    }
