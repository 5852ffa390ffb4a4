"""Options that several subcommands have: cheap to import, so that `--help` is quick."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, cast

from . import choices
from .choices import Choices, at_least
from .reporting import UsageError

if TYPE_CHECKING:
    from ...ir.base import IRModule


def add_stdin_name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--stdin-filename", metavar="NAME", help="the name of the file that standard input is the text of"
    )


def add_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a .tvms file, or a file with TVMScript (FILE::NAME for one definition); - is standard input",
    )
    add_stdin_name(parser)


def check_stdin_name(arguments: argparse.Namespace) -> None:
    """Refuse a name of standard input that is not read."""
    name = getattr(arguments, "stdin_filename", None)
    paths = getattr(arguments, "paths", None) or [getattr(arguments, "file", None) or ""]
    if name and [path.partition("::")[0] for path in paths] != ["-"]:
        raise UsageError("--stdin-filename requires the path '-'")


def loaded(arguments: argparse.Namespace) -> IRModule:
    """Return the verified module in the file of a command."""
    from ..load import load_verified

    return load_verified(arguments.file, arguments.stdin_filename)


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


PARAMETER = "the value of a parameter of a schedule: bn=32, or tiled.bn=32 for one of several (may be repeated)"
CAPTURED = "the value of a name that definitions capture from the program around them (may be repeated)"


def add_defines(parser: argparse.ArgumentParser, meaning: str = PARAMETER) -> None:
    """Add the option that gives values to names; `meaning` says which names."""
    parser.add_argument(
        "-D", "--define", dest="defines", metavar="NAME=VALUE", action="append", default=[], help=meaning
    )


def defined(module: IRModule, arguments: argparse.Namespace) -> IRModule:
    """Return a module with the parameters of schedules that `-D` gives."""
    if not arguments.defines:
        return module
    from ...ir.schedule.apply import with_parameters

    return with_parameters(module, defined_values(arguments))


def defined_values(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the values that `-D` gives: Python literals, and other texts as strings."""
    found: dict[str, Any] = {}
    for definition in arguments.defines:
        name, sign, text = definition.partition("=")
        if not (name and sign and text):
            raise UsageError(f"-D {definition}: write NAME=VALUE, such as -D bn=32")
        found[name] = _literal(text)
    return found


def _literal(text: str) -> Any:
    """Return the value of a literal, with tuples for lists; other text is a string."""
    import ast

    try:
        value: Any = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return tuple(cast("list[Any]", value)) if isinstance(value, list) else value


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
