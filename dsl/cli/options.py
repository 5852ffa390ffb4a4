"""The options of every subcommand: cheap to import, so that `--help` is quick."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from . import choices
from . import common_options as common
from .choices import Choices, at_least, seconds
from .text_options import ADD as TEXTS
from .tuning_options import ADD as TUNING


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
    parser.add_argument("--schedule", metavar="NAME", help="debug the module after this schedule of the file")
    parser.add_argument(
        "--trap",
        action="store_true",
        help="also stop at undeclared accesses of a block, and at reads of uninitialized elements",
    )
    parser.add_argument("--nan", action="store_true", help="also stop after a write of NaN over a number")
    parser.add_argument(
        "--races", action="store_true", help="also stop at accesses that race with those of other threads"
    )


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
    parser.add_argument(
        "--lines",
        metavar="FORMAT",
        choices=Choices(choices.line_formats),
        help="show which source line each line comes from, for tir, llvm, asm and ptx; %(choices)s: as comments in the text, or with it as JSON",
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
    common.add_stdin_name(parser)
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
    common.add_stdin_name(parser)
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
        "-o",
        "--output",
        metavar="OUT",
        help="the picture, OUT.svg or OUT.html; - writes SVG to standard output (default: FILE's name with .svg)",
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
        "--coverage",
        action="store_true",
        help="print a table of the parts of programs that the examples contain, and of those that they lack without a reason",
    )
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
    **TEXTS,
    **TUNING,
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
    "dap": TEXTS["lsp"],
    "fuzz": _add_fuzz,
    "new": _add_new,
    "completion": _add_completion,
}
