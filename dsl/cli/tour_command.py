"""`tvms tour FILE`: the program after every stage of the compiler, and the code that produced it."""

from __future__ import annotations

import argparse
from itertools import chain

from ...ir.sanitize import say, write_program
from ..builder.module import build_module
from ..entries import needed_for, select_entry
from . import common_options
from .reporting import UsageError


def run(arguments: argparse.Namespace) -> int:
    """Print the stages, or with `--list` their names; `--stage` selects one."""
    from ...codegen.tour import Stage, tour

    module = common_options.loaded(arguments)
    if arguments.entry is not None:
        module = needed_for(module, select_entry(module, arguments.entry)[0])
    names: list[str] = []
    stages = chain([Stage.of("read", build_module, module.script())], tour(module))
    for number, stage in enumerate(stages, 1):
        names.append(stage.name)
        if arguments.stage is not None and stage.name != arguments.stage:
            continue
        change = "" if stage.text else " · unchanged"
        function = f" of {stage.function}" if stage.function else ""
        say(f"# {number}. {stage.name}{function} · {stage.code}{change}\n#    {stage.purpose}")
        if stage.text and not arguments.list:
            write_program(f"\n{stage.text}\n\n")
    if arguments.stage is not None and arguments.stage not in names:
        raise UsageError(f"unknown stage '{arguments.stage}'", help=f"choose one of {', '.join(dict.fromkeys(names))}")
    return 0
