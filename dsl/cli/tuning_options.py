"""The options of `tvms tune` and `tvms db`."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from . import choices
from . import common_options as common
from .choices import Choices, at_least, duration

DATABASE = "tvms-tuning.db"
"""The database of `tvms tune`, beside the current directory's files, unless another one is named."""


def _add_tune(parser: argparse.ArgumentParser) -> None:
    common.add_file(parser)
    parser.add_argument("--target", default="llvm", help="what to tune for (default: llvm, this processor)")
    parser.add_argument(
        "--func",
        metavar="NAME",
        action="append",
        default=[],
        help="a loop function to tune (default: all; may be repeated)",
    )
    parser.add_argument(
        "--trials",
        type=at_least(1),
        default=64,
        metavar="N",
        help="number of schedules to measure, of all functions together (default: 64)",
    )
    parser.add_argument("--time", type=duration, metavar="T", help="stop after this time: 90, 90s, 10m or 2h")
    parser.add_argument(
        "--patience",
        type=at_least(1),
        default=192,
        metavar="N",
        help="stop the search of a function after N trials without a faster one (default: 192)",
    )
    parser.add_argument(
        "--strategy",
        metavar="STRATEGY",
        choices=Choices(choices.search_strategies),
        default="evolutionary",
        help="how schedules are chosen: by mutating the fastest ones (evolutionary), by drawing all (replay-trace), or all in their order "
        "(grid) (default: evolutionary)",
    )
    parser.add_argument(
        "--db", default=DATABASE, metavar="PATH", help=f"the database of measurements (default: {DATABASE})"
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="add the best schedules to the file, or replace those that were added before",
    )
    parser.add_argument(
        "-o", "--output", dest="output", metavar="OUT", help="write the module with the best schedules to this file"
    )
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="draw the best speed of each function after each trial and over time: an .svg or .png file",
    )
    parser.add_argument(
        "--dim",
        metavar="NAME=SIZE",
        action="append",
        default=[],
        help="the size of a symbolic dimension in the measurements",
    )
    parser.add_argument("--threads", type=at_least(1), metavar="N", help="threads of a parallel loop (default: all)")
    parser.add_argument(
        "--seed",
        type=at_least(0),
        default=0,
        metavar="N",
        help="the seed of the search and of the arguments (default: 0)",
    )
    _add_measurement(parser)


def _add_measurement(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--timeout", type=at_least(1), default=10, metavar="S", help="time limit of a trial in seconds (default: 10)"
    )
    parser.add_argument(
        "--memory",
        type=at_least(256),
        default=8192,
        metavar="MIB",
        help="limit of the memory of a trial (default: 8192)",
    )
    places = parser.add_mutually_exclusive_group()
    places.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="measure on the workers of this scheduler of dask, such as tcp://host:8786",
    )
    places.add_argument(
        "--workers", type=at_least(1), metavar="N", help="measure with N workers of dask on this machine"
    )
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")


def _add_db(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        metavar="ACTION",
        choices=Choices(choices.database_actions),
        help="what to do with the database: %(choices)s",
    )
    parser.add_argument(
        "argument",
        nargs="?",
        metavar="WORKLOAD|FILE",
        help="show: the workload, by its key or the start of it; export and import: a file of JSON lines (-: standard output or input)",
    )
    parser.add_argument(
        "--tvm",
        action="store_true",
        help="export and import: the files of TVM's tuner in this folder, database_workload.json and "
        "database_tuning_record.json",
    )
    parser.add_argument("--db", default=DATABASE, metavar="PATH", help=f"the database (default: {DATABASE})")
    parser.add_argument(
        "--keep",
        type=at_least(1),
        default=16,
        metavar="N",
        help="prune: how many of the fastest rows of each workload and target to keep (default: 16)",
    )


ADD: dict[str, Callable[[argparse.ArgumentParser], None]] = {"tune": _add_tune, "db": _add_db}
