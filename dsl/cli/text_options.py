"""The options of the subcommands that read and write texts: cheap to import, so that `--help` is quick."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from . import choices
from . import common_options as common
from .choices import Choices, at_least, line_range


def _add_sources(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        help="files, folders (all .tvms files and the definitions in .py, .ipynb and .md files below), or -",
    )


def _add_check(parser: argparse.ArgumentParser) -> None:
    _add_sources(parser)
    common.add_defines(parser, common.CAPTURED)
    parser.add_argument(
        "--level",
        metavar="LEVEL",
        choices=Choices(choices.levels),
        default="bounds",
        help="how much to check: %(choices)s; each level includes the ones before it (default: bounds)",
    )
    parser.add_argument(
        "--strict", action="store_true", help="also warn of accesses that are not proven to be in bounds"
    )
    parser.add_argument("--no-lints", action="store_true", help="do not warn of code without effect")
    parser.add_argument(
        "--fix",
        action="store_true",
        help="delete unused code, correct the names of attributes, and follow the exact remedies of refused steps",
    )
    parser.add_argument(
        "--trust",
        choices=("tvm-tests",),
        help="in TVM's dialects, only warn of what TVM does not check: accesses, races, threads",
    )
    parser.add_argument(
        "--round-trip", action="store_true", help="also print each module in every dialect and read it back"
    )
    parser.add_argument(
        "--output-format",
        metavar="FORMAT",
        choices=Choices(choices.formats),
        default="full",
        help="format of the report: %(choices)s; full is written to standard error, the others to standard output "
        "(default: full)",
    )
    common.add_stdin_name(parser)
    common.add_watch(parser)


def _add_print(parser: argparse.ArgumentParser) -> None:
    common.add_file(parser)
    common.add_defines(parser, common.CAPTURED)
    common.add_dialect(parser)
    parser.add_argument(
        "--keep-source-forms",
        action="store_true",
        help="keep docstrings, constants and macros of a text in our own dialect as they are written",
    )
    parser.add_argument("-o", "--output", metavar="OUT", help="write to this file instead of standard output")


def _add_fmt(parser: argparse.ArgumentParser) -> None:
    _add_sources(parser)
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if a file is not formatted")
    parser.add_argument("--diff", action="store_true", help="change nothing; show what would change")
    parser.add_argument(
        "--line-length", type=at_least(1), metavar="N", help="wrap lines beyond N columns (default: never)"
    )
    parser.add_argument(
        "--range", type=line_range, metavar="FIRST:LAST", help="format only the statements in these lines of one file"
    )
    common.add_stdin_name(parser)


def _add_diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", metavar="FILE", nargs="+", help="two files: .tvms, .py, .ipynb or .md (FILE::NAME for one definition)"
    )
    parser.add_argument("--ignore-comments", action="store_true", help="do not compare comments")
    parser.add_argument("--json", action="store_true", help="print the differences as JSON")
    parser.add_argument("--run", action="store_true", help="also compare what functions compute on random inputs")
    parser.add_argument("--git", action="store_true", help="take the arguments of an external diff of git; exit with 0")


def _add_merge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("base", metavar="BASE", help="the common ancestor")
    parser.add_argument("ours", metavar="OURS", help="one revision")
    parser.add_argument("theirs", metavar="THEIRS", help="the other revision")
    parser.add_argument("-o", "--output", metavar="OUT", help="write to this file instead of standard output")
    parser.add_argument("--name", metavar="NAME", help="the name to show for the file, if git gave it another one")
    parser.add_argument(
        "--marker-size", type=at_least(1), default=7, metavar="N", help="length of conflict markers (default: 7)"
    )


def _add_git_setup(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--global", dest="is_global", action="store_true", help="for all repositories of this user")
    parser.add_argument("--remove", action="store_true", help="remove what this command has written")
    parser.add_argument(
        "--pattern",
        metavar="GLOB",
        action="append",
        help="the files to compare and merge (default: *.tvms; may be repeated)",
    )


def _add_convert(parser: argparse.ArgumentParser) -> None:
    _add_sources(parser)
    common.add_defines(parser, common.CAPTURED)
    parser.add_argument(
        "--to",
        metavar="DIALECT",
        choices=Choices(choices.dialects),
        required=True,
        help="the dialect to write: %(choices)s",
    )
    parser.add_argument("-o", "--output", metavar="OUT", help="a file, or the folder of the converted tree")
    parser.add_argument("--in-place", action="store_true", help="rewrite the files themselves; only definitions change")


def _add_migrate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", help="files, folders (all .py, .ipynb and .md files below), or -"
    )
    common.add_defines(parser, common.CAPTURED)
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if a file would change")
    parser.add_argument("--diff", action="store_true", help="change nothing; show what would change")


def _add_lsp(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stdio", action="store_true", help="serve standard input and output (the default)")
    parser.add_argument(
        "--tcp", type=at_least(1), metavar="PORT", help="serve a client that connects to this port of this machine"
    )


def _add_port(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        help="Python files, notebooks, folders (all .py and .ipynb files below), or -",
    )
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if a file would change")
    parser.add_argument("--diff", action="store_true", help="change nothing; show what would change")


def _add_import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="a .onnx or .pt2 file, or package.module:function, which executes that code of your own",
    )
    parser.add_argument("-o", "--output", metavar="OUT", help="write to this file, and the weights beside it")
    parser.add_argument(
        "--input",
        metavar="NAME=SIZES:DTYPE",
        action="append",
        default=[],
        help="an input of the model, such as x=1x3x224x224:float32; a size that is a name varies",
    )
    parser.add_argument(
        "--no-check",
        dest="check",
        action="store_false",
        help="do not compare the import with the model on random inputs",
    )


ADD: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    "check": _add_check,
    "print": _add_print,
    "fmt": _add_fmt,
    "diff": _add_diff,
    "merge": _add_merge,
    "git-setup": _add_git_setup,
    "convert": _add_convert,
    "migrate": _add_migrate,
    "lsp": _add_lsp,
    "port": _add_port,
    "import": _add_import,
}
