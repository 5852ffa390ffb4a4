"""The options of every subcommand: cheap to import, so that `--help` is quick."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from . import choices
from . import common_options as common
from .choices import Choices, at_least, line_range, seconds


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
    parser.add_argument("--fix", action="store_true", help="delete unused code, and correct the names of attributes")
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
    parser.add_argument(
        "--stdin-filename", metavar="NAME", help="the name of the file that standard input is the text of"
    )
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
    parser.add_argument(
        "--stdin-filename", metavar="NAME", help="the name of the file that standard input is the text of"
    )


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


def _add_run(parser: argparse.ArgumentParser) -> None:
    common.add_file(parser)
    common.add_defines(parser)
    common.add_values(parser)
    common.add_settings(parser)
    parser.add_argument(
        "--target", default="llvm", help="what to run on: llvm, or a GPU, as 'cuda -arch=sm_80' (default: llvm)"
    )
    parser.add_argument(
        "--simulate",
        nargs="?",
        metavar="ORDER",
        choices=Choices(choices.simulated_orders),
        const="ascending",
        help="run GPU threads on the CPU in this order: %(choices)s, which compares the results of all orders; the default "
        "without a GPU",
    )
    parser.add_argument("--races", action="store_true", help="report races between threads instead of results")
    parser.add_argument("--out", metavar="DIR", help="save every result as DIR/NAME.npy")
    parser.add_argument(
        "--verify",
        action="store_const",
        const="sampled",
        help="compare with the interpreter, which runs large functions only at sampled points",
    )
    parser.add_argument(
        "--verify=full", dest="verify", action="store_const", const="full", help="the same, but interpret every point"
    )
    parser.add_argument(
        "--sandbox",
        action="store_true",
        help="for untrusted files: run in a process with limits, without network, other programs or changes to files",
    )
    parser.add_argument(
        "--timeout",
        type=at_least(1),
        default=60,
        metavar="S",
        help="with --sandbox: time limit in seconds (default: 60)",
    )
    parser.add_argument(
        "--memory",
        type=at_least(256),
        default=4096,
        metavar="MIB",
        help="with --sandbox: limit of the address space (default: 4096)",
    )
    parser.add_argument("--interpret", action="store_true", help="run the interpreter only; compile nothing")
    parser.add_argument(
        "--trap",
        action="store_true",
        help="with --interpret: also stop at undeclared accesses of a block, and at reads of uninitialized elements",
    )
    common.add_watch(parser)


def _add_debug(parser: argparse.ArgumentParser) -> None:
    common.add_file(parser)
    common.add_values(parser)


def _add_compile(parser: argparse.ArgumentParser) -> None:
    common.add_file(parser)
    common.add_defines(parser)
    parser.add_argument(
        "--emit",
        metavar="KIND",
        choices=Choices(choices.outputs),
        default="llvm",
        help="what to write: %(choices)s; beside a library OUT.so, its C header OUT.h is written (default: llvm)",
    )
    parser.add_argument(
        "--target",
        default="llvm",
        help="what to compile for: llvm, this machine's CPU, or a GPU, as 'cuda -arch=sm_80' (default: llvm)",
    )
    parser.add_argument(
        "--report",
        action="store_true",
        help="print where code differs from its schedule instead: scalar loops, gathers, accumulators in memory, spills; for a GPU, the resources of each kernel",
    )
    common.add_settings(parser)
    parser.add_argument("-o", "--output", metavar="OUT", help="write to this file instead of standard output")


def _add_bench(parser: argparse.ArgumentParser) -> None:
    common.add_file(parser)
    common.add_defines(parser)
    common.add_values(parser)
    common.add_settings(parser)
    parser.add_argument(
        "--seconds",
        type=seconds,
        default=1.0,
        metavar="S",
        help="how long to measure; at least five calls are made (default: 1)",
    )
    parser.add_argument("--target", default="llvm", help="what to compile for, as for tvms run (default: llvm)")
    parser.add_argument("--json", action="store_true", help="print the measurement as JSON")
    parser.add_argument("--compare", metavar="FILE", help="compare with an earlier measurement that --json printed")


def _add_profile(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", nargs="?", help="a .tvms file, or a TVMScript file; - is standard input"
    )
    common.add_values(parser)
    common.add_settings(parser)
    common.add_defines(parser)
    parser.add_argument("--seconds", type=seconds, default=1.0, metavar="S", help="how long to measure (default: 1)")
    parser.add_argument("--target", default="llvm", help="what to compile for, as for tvms run (default: llvm)")
    parser.add_argument("--json", action="store_true", help="print the profile as JSON")
    parser.add_argument("--html", metavar="OUT", help="also write a page with tables, bars and the roofline")
    parser.add_argument("--svg", metavar="OUT", help="also write the picture of the page alone")
    parser.add_argument(
        "--compare", metavar="PROFILE", nargs=2, help="measure nothing; compare two profiles that --json printed"
    )


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--gpu", action="store_true", help="check step by step what running GPU kernels needs")


def _add_opt(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", nargs="?", help="a .tvms file, or a TVMScript file; - is standard input"
    )
    parser.add_argument("--passes", metavar="LIST", help='such as "LegalizeOps, FuseOps(fuse_opt_level=2)"')
    parser.add_argument("--list", action="store_true", help="list all passes")
    parser.add_argument("--verify-each", action="store_true", help="verify the module after every pass")
    parser.add_argument("--print-after-all", action="store_true", help="print the module after every pass")
    parser.add_argument("--timing", action="store_true", help="print the time of every pass to standard error")
    common.add_dialect(parser)
    parser.add_argument("-o", "--output", metavar="OUT", help="write to this file instead of standard output")


def _add_reduce(parser: argparse.ArgumentParser) -> None:
    common.add_file(parser)
    parser.add_argument("--passes", metavar="LIST", required=True, help="the passes that fail")
    parser.add_argument(
        "--tries", type=at_least(1), default=2000, metavar="N", help="run them at most N times (default: 2000)"
    )
    common.add_dialect(parser)
    parser.add_argument("-o", "--output", metavar="OUT", help="write to this file instead of standard output")


def _add_schedule(parser: argparse.ArgumentParser) -> None:
    common.add_file(parser)
    parser.add_argument(
        "--apply", metavar="NAME", action="append", help="the schedule to apply (default: all; may be repeated)"
    )
    parser.add_argument(
        "--trace", metavar="TRACE", help="apply a trace of TVM, as JSON or lines of Python, to the function of the file"
    )
    parser.add_argument("--target", help="apply the schedules for this target, such as llvm or cuda, and those for all")
    parser.add_argument(
        "--until", metavar="LINE", type=at_least(1), help="stop after the step in this line of the file"
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="print the unscheduled module and its schedules, with a comment on each step",
    )
    parser.add_argument(
        "--default",
        action="store_true",
        help="print the default schedules of functions without one, as texts; with --explain also why rules decline",
    )
    parser.add_argument("--func", metavar="NAME", help="with --default: the function (default: all)")
    parser.add_argument("--write", action="store_true", help="with --default: add the schedules to the file")
    parser.add_argument(
        "--unroll",
        action="store_true",
        help="print the unscheduled module and its schedules as plain calls of primitives",
    )
    common.add_defines(parser)
    common.add_dialect(parser)
    parser.add_argument("-o", "--output", metavar="OUT", help="write the scheduled module to this file")


def _add_view(parser: argparse.ArgumentParser) -> None:
    common.add_file(parser)
    parser.add_argument("--entry", metavar="NAME", help="the function to draw (default: all)")
    parser.add_argument(
        "-o", "--output", metavar="OUT", help="the picture, OUT.svg or OUT.html (default: FILE's name with .svg)"
    )


def _add_tour(parser: argparse.ArgumentParser) -> None:
    common.add_file(parser)
    parser.add_argument("--entry", metavar="NAME", help="show only this function and those it calls (default: all)")
    parser.add_argument("--list", action="store_true", help="print the stages without the programs")
    parser.add_argument("--stage", metavar="NAME", help="print only this stage")


def _add_explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("code", metavar="CODE", nargs="?", help="such as E0203")


def _add_fuzz(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("law", metavar="LAW", nargs="?", help="the law to check (default: list all)")
    parser.add_argument("file", metavar="FILE", nargs="?", help="a .tvms file; the examples are its variants")
    parser.add_argument("--n", type=at_least(1), default=1000, metavar="N", help="number of examples (default: 1000)")
    parser.add_argument(
        "--seed", type=at_least(0), metavar="S", help="the seed of the examples (default: that of --state, else random)"
    )
    parser.add_argument("--jobs", type=at_least(1), default=1, metavar="J", help="number of processes (default: 1)")
    parser.add_argument("--state", metavar="FILE", help="store the progress in this file, and continue from it")
    parser.add_argument("--counts", action="store_true", help="print how often each construct or primitive occurred")
    parser.add_argument(
        "--save",
        metavar="DIR",
        default="tests/cases/regressions",
        help="folder for failing examples (default: tests/cases/regressions)",
    )


def _add_new(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the file to write, such as hello.tvms")


def _add_completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", help="bash, zsh or another shell that shtab supports")


ADD: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    "check": _add_check,
    "convert": _add_convert,
    "migrate": _add_migrate,
    "lsp": _add_lsp,
    "port": _add_port,
    "import": _add_import,
    "fmt": _add_fmt,
    "diff": _add_diff,
    "merge": _add_merge,
    "git-setup": _add_git_setup,
    "print": _add_print,
    "opt": _add_opt,
    "reduce": _add_reduce,
    "schedule": _add_schedule,
    "run": _add_run,
    "compile": _add_compile,
    "bench": _add_bench,
    "profile": _add_profile,
    "doctor": _add_doctor,
    "view": _add_view,
    "tour": _add_tour,
    "explain": _add_explain,
    "debug": _add_debug,
    "fuzz": _add_fuzz,
    "new": _add_new,
    "completion": _add_completion,
}
