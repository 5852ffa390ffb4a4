"""The command `tvms`: one file per subcommand, each imported only when it is used.

Exit codes: 0 success · 1 findings (wrong program, different results) · 2 usage, files, syntax · 3 internal error.
"""

from __future__ import annotations

import argparse
import errno
import os
import re
import sys
import time
from collections.abc import Callable, Iterable
from importlib import import_module, metadata
from typing import NoReturn

from ...ir.diagnostics import TvmsError
from ...ir.sanitize import say
from ...ir.spelling import did_you_mean
from . import options
from .common_options import check_stdin_name
from .files import find_files
from .reporting import COLORS, UsageError, choose_colors, exit_code, report, report_internal

COMMANDS = {
    "check": "check files and report every error in them",
    "print": "print a module in canonical form, in any dialect",
    "fmt": "format files in place, keeping comments, names and meaning",
    "diff": "compare two revisions of a program by structure",
    "merge": "merge two revisions of a program with their common base, statement by statement",
    "git-setup": "let git compare and merge files of programs by structure",
    "convert": "rewrite modules in another dialect",
    "migrate": "rewrite TVMScript for older versions of TVM as the newest one writes it",
    "port": "change Python programs for Apache TVM into programs for tvms: imports and names",
    "import": "import an ONNX or PyTorch model, and compare it with the model",
    "opt": "run passes on a module and print the result",
    "reduce": "reduce a program on which passes fail to a small one",
    "schedule": "apply the schedules of a file and print the resulting module",
    "run": "compile a module, run one of its functions and show the result",
    "compile": "compile a module to LLVM IR, assembly, an object file, or a library with its C header",
    "bench": "measure the time of a function, and compare it with the peak rates of the machine",
    "tune": "search for faster schedules of loop functions, and write them as texts",
    "db": "list, check, copy and prune the measurements of a tuner",
    "profile": "show the time of each kernel and source line, and its share of the machine's limit",
    "doctor": "show what tvms can use on this machine, and how to get what is missing",
    "view": "draw a module: its graphs as layers of operators, its loop nests as nested boxes",
    "tour": "print a program after every stage of the compiler, with the code that produced it",
    "explain": "explain a diagnostic code, or list all of them",
    "debug": "step through a function in the interpreter, with breakpoints and watches",
    "dap": "serve an editor: breakpoints, steps and values of a function in the interpreter",
    "fuzz": "check a law on random programs, or on random variants of one",
    "new": "write a small program to start from",
    "lsp": "serve an editor: diagnostics, hover, completion, renaming, live schedules",
    "completion": "print a script that completes the command line in a shell",
}
"""Subcommands and their one-line help; command `x` is implemented in module `x_command`."""


def _version() -> str:
    try:
        return metadata.version("tvms-lang")
    except metadata.PackageNotFoundError:
        return "unknown"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        help = f"see '{self.prog} --help'"
        if found := re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", message):
            help = did_you_mean(found[1], re.findall(r"'(.*?)'", found[2])) or help
        elif found := re.match(r"unrecognized arguments: (--[\w-]+)", message):
            help = did_you_mean(found[1], re.findall(r"--[\w-]+", self.format_help())) or help
        raise UsageError(message, self.format_usage(), help)


def build_parser() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """Return the parser of the command line, and those of its subcommands by name."""
    parser = _Parser(
        prog="tvms",
        description="A tensor compiler whose programs are plain text files.",
        epilog="Exit codes: 0 success, 1 findings, 2 usage or input, 3 internal error. See also 'tvms COMMAND --help'.",
        allow_abbrev=False,
    )
    parser.add_argument("-V", "--version", action="version", version=f"tvms {_version()}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    parsers: dict[str, argparse.ArgumentParser] = {}
    for name, text in COMMANDS.items():
        description = f"{text[0].upper()}{text[1:]}."
        parsers[name] = commands.add_parser(name, help=text, description=description, allow_abbrev=False)
        options.ADD[name](parsers[name])
        parsers[name].add_argument(
            "--color", choices=COLORS, default="auto",
            help="when to use colors (default: auto, which follows the terminal, NO_COLOR and FORCE_COLOR)",
        )  # fmt: skip
    return parser, parsers


def _parse(argv: list[str]) -> argparse.Namespace:
    """Parse a command line; `help`, alone or before a command, is `--help`."""
    if argv[:1] == ["help"]:
        argv = [*argv[1:2], "--help"]
    parser, parsers = build_parser()
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        parsers[arguments.command].error(f"unrecognized arguments: {' '.join(unknown)}")
    check_stdin_name(arguments)
    return arguments


def _run(argv: list[str]) -> int:
    arguments = _parse(argv)
    choose_colors(arguments.color)
    command = import_module(f"{__name__}.{arguments.command.replace('-', '_')}_command")
    if getattr(arguments, "watch", False):
        return _run_again(command.run, arguments)
    if getattr(arguments, "sandbox", False):
        from .sandbox import Limits, run_inside

        limits = Limits(arguments.memory, arguments.timeout)
        return run_inside(limits, lambda: _guarded(lambda: command.run(arguments), (MemoryError,)))
    return command.run(arguments)


def _run_again(run: Callable[[argparse.Namespace], int], arguments: argparse.Namespace) -> int:
    """Run a command whenever its files change."""
    paths = getattr(arguments, "paths", None) or [arguments.file]
    if getattr(arguments, "sandbox", False):
        raise UsageError("--watch runs outside of --sandbox", help="use only one of them")
    if "-" in paths:
        raise UsageError("--watch needs files, not standard input")
    return watch(lambda: _guarded(lambda: run(arguments), (KeyboardInterrupt,)), lambda: find_files(paths))


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit code; never raise or show a traceback (unless TVMS_DEBUG is set)."""
    _open_closed_streams()
    return _guarded(lambda: _run(sys.argv[1:] if argv is None else argv))


def _guarded(run: Callable[[], int], passed: tuple[type[BaseException], ...] = ()) -> int:
    """Return the exit code of `run`; report its exceptions except those in `passed`, which are re-raised."""
    try:
        code = run()
        sys.stdout.flush()
        return code
    except UsageError as error:
        help = f"\n  = help: {error.help}" if error.help else ""
        say(f"{error.usage}error[E0801]: {error}{help}", sys.stderr)
        return 2
    except TvmsError as error:
        report(error.diagnostics)
        return exit_code(error.diagnostics)
    except SystemExit as exit:  # argparse's --help and --version
        return exit.code if isinstance(exit.code, int) else 2
    except BrokenPipeError:
        _forget_output()  # the reader of the pipe is gone
        return 0
    except OSError as problem:
        if problem.errno not in (errno.ENOSPC, errno.EIO, errno.EDQUOT) or problem.filename is not None:
            return report_internal(problem)
        _forget_output()
        say(f"error[E0802]: cannot write to standard output: {problem.strerror}", sys.stderr)
        say("  = help: free some space, or write elsewhere", sys.stderr)
        return 2
    except passed:
        raise
    except KeyboardInterrupt:
        return 130
    except MemoryError:
        say(
            "error[E0717]: out of memory\n  = help: reduce the size of the program, or allow it more memory",
            sys.stderr,
        )
        return 1
    except Exception as error:  # `main` promises not to raise
        return report_internal(error)


def _open_closed_streams() -> None:
    """Redirect standard streams that the shell closed (`>&-`) to the null device."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  # it is open to the end


def _forget_output() -> None:
    """Redirect standard output to the null device, so that Python's final flush does not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_INTERVAL = 0.25
"""Seconds between two checks of the files."""


def watch(
    run: Callable[[], int], files: Callable[[], Iterable[str]], pause: Callable[[float], None] = time.sleep
) -> int:
    """Call `run` now and whenever one of `files` changes, appears or disappears; only KeyboardInterrupt ends it."""
    seen: dict[str, tuple[int, int] | None] | None = None
    while True:
        now = {file: _state(file) for file in files()}
        if now != seen:
            seen = now
            run()
            say("watching for changes; Ctrl-C ends")
        pause(_INTERVAL)


def _state(file: str) -> tuple[int, int] | None:
    """Return the modification time and size of a file; None if it does not exist."""
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
