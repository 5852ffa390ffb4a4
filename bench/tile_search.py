"""Tiles of convolutions that the default rules choose for other processors, compared with those of a search.

    python bench/tile_search.py [--trials N] [--seed N] [--cpu NAME …] [NUMBER …]

The rules choose the tiles of a convolution from the registers and caches of the processor. For each convolution of ResNet-18 (all,
or those with these numbers, from 0), and each set of instructions that this processor has, the rules choose tiles for several sizes of
the L1 and L2 caches, those of this processor included. All of these, and up to N more with tiles drawn near them, are
measured here, on one thread in processor time: in turns, each by the median of its measurements. A ratio is the time of the best
tiles over that of the chosen ones.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain, islice
from typing import Any, TypeAlias

import numpy as np
import tvms
from convolutions import RESNET, module_of
from msgspec.structs import replace
from peers.torch_calls import seconds
from tvms.codegen.llvm.api import binding
from tvms.codegen.machine import Machine
from tvms.codegen.rules.processor import rules_for_nests
from tvms.codegen.rules.recipe import derive
from tvms.codegen.target import get_target
from tvms.codegen.tuner.spaces import candidates_of, workload_of
from tvms.ir.schedule.declaration import primitive_called
from tvms.ir.schedule.text import ScheduleText, Step

CACHES = [(0, 0), (32, 256), (32, 1024), (48, 2048), (128, 4096)]
"""KiB of the L1 and L2 cache; 0 for those of this processor."""
FEATURES = {"x86-64-v2": "sse4.2", "x86-64-v3": "avx2", "x86-64-v4": "avx512vl"}
"""A feature of LLVM that tells whether code for a processor runs here."""
TILES = ("chunk", "rows", "columns", "depth", "panels")
FIRST_ROUNDS, ROUNDS = 3, 9
FASTER = 1.4
"""Tiles that take more than this factor longer than the best are measured in the first rounds only."""

Knobs: TypeAlias = tuple[tuple[str, int], ...]
Calls: TypeAlias = dict[Knobs, Callable[[], object]]


def convolution(number: int) -> tvms.IRModule:
    """Return a convolution of ResNet-18 as a module of one loop function."""
    inputs, outputs, side, window, stride, padding = RESNET[number]
    shapes = [(1, inputs, side, side), (outputs, inputs, window, window)]
    module = module_of(shapes, f"R.nn.conv2d(x0, x1, strides=({stride}, {stride}), padding=({padding}, {padding}))")
    return workload_of(next(function for name, function in module.functions.items() if name != "main"))


def tiles_in(text: ScheduleText) -> Knobs:
    """Return the tiles of the convolution in a default schedule."""
    step = next(step for step in text.steps if isinstance(step, Step) and step.primitive == "im2col")
    return tuple((name, step.named[name]) for name in TILES if name in step.named)


def with_tiles(text: ScheduleText, knobs: Knobs) -> ScheduleText:
    """Return a default schedule with other tiles of the convolution."""

    def changed(step: Any) -> Any:
        if not isinstance(step, Step) or step.primitive != "im2col":
            return step
        rest = {name: value for name, value in step.named.items() if name not in TILES}
        return replace(step, named={**rest, **dict(knobs)})

    return replace(text, steps=tuple(changed(step) for step in text.steps))


def neighbors(chosen: list[Knobs], draw: random.Random) -> Iterator[Knobs]:
    """Yield tiles near the chosen ones, for ever."""
    found = primitive_called("im2col")
    assert found is not None
    while True:
        yield tuple((name, draw.choice(candidates_of(value, found.knobs[name]))) for name, value in draw.choice(chosen))


def call_of(workload: tvms.IRModule, text: ScheduleText, target: str) -> Callable[[], object]:
    """Return a call of the scheduled convolution; raises ScheduleError if its tiles are refused."""
    module = replace(
        workload, schedules={text.name: text}
    )  # as it is in a file: what is proven before it needs no checks
    run, function = tvms.compile(module, target=target, threads=1)["main"], workload.functions["main"]
    assert isinstance(function, tvms.PrimFunc)
    draw = np.random.default_rng(0)
    arrays = [
        draw.standard_normal([size.value for size in buffer.shape]).astype("f4")
        for buffer in function.buffer_map.values()
    ]
    return lambda: run(*arrays)


def times_of(calls: Calls) -> dict[Knobs, float]:
    """Return the median time of each call, measured in turns; those that may be the best are measured more often."""
    measured = {knobs: [seconds(call, 1)] for knobs, call in calls.items()}
    for turn in range(1, ROUNDS):
        limit = FASTER * min(map(statistics.median, measured.values()))
        for knobs, times in measured.items():
            if turn < FIRST_ROUNDS or statistics.median(times) <= limit:
                times.append(seconds(calls[knobs], 1))
    return {knobs: statistics.median(times) for knobs, times in measured.items()}


def default_schedule(workload: tvms.IRModule, machine: Machine) -> ScheduleText:
    """Return the default schedule of a convolution for a processor."""
    return derive(workload.functions["main"], rules_for_nests(machine)).text("main", "default")


def candidates(workload: tvms.IRModule, target: str, chosen: list[Knobs], trials: int, seed: int) -> Calls:
    """Return calls of the convolution with the chosen tiles, and with up to `trials` others near them."""
    text, draw = default_schedule(workload, get_target(target).processor), random.Random(seed)
    calls: Calls = {}
    for knobs in islice(chain(chosen, neighbors(chosen, draw)), len(chosen) + 4 * trials):
        if knobs not in calls and len(calls) < len(chosen) + trials:
            with suppress(tvms.TvmsError):
                calls[knobs] = call_of(workload, with_tiles(text, knobs), target)
    return calls


def compare(number: int, cpu: str, trials: int, seed: int) -> list[float]:
    """Print the ratio of each size of caches for a convolution, and return them."""
    workload, target = convolution(number), f"llvm -mcpu={cpu}"
    machine, chosen = get_target(target).processor, dict[tuple[int, int], Knobs]()
    for l1, l2 in CACHES:
        sizes = {"l1_bytes": l1 << 10, "l2_bytes": l2 << 10} if l1 else {}
        chosen[l1, l2] = tiles_in(default_schedule(workload, replace(machine, **sizes)))
    times = times_of(candidates(workload, target, list(dict.fromkeys(chosen.values())), trials, seed))
    best = min(times, key=times.__getitem__)
    ratios = [times[best] / times[chosen[caches]] for caches in CACHES]
    inputs, outputs, side, window, stride, _ = RESNET[number]
    name = f"{inputs}x{side}x{side} {window}x{window}/{stride} to {outputs}"
    row = "".join(f" {ratio:11.2f}" for ratio in ratios)
    tiles = ", ".join(f"{key}={value}" for key, value in best)
    print(f"{name:<26} {cpu:<10} {len(times):>5}{row}   {tiles}", flush=True)
    return ratios


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("numbers", nargs="*", type=int, metavar="NUMBER", default=range(len(RESNET)))
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cpu", nargs="+", choices=FEATURES, metavar="NAME", default=list(FEATURES))
    arguments = parser.parse_args()
    has = binding.get_host_cpu_features()
    processors = [cpu for cpu in arguments.cpu if has.get(FEATURES[cpu])]
    heads = ["own caches" if not l1 else f"{l1}, {l2} KiB" for l1, l2 in CACHES]
    print(
        f"seed {arguments.seed}\n{'convolution':<26} {'-mcpu':<10} tiles"
        + "".join(f" {head:>11}" for head in heads)
        + "   best tiles"
    )
    ratios = [
        ratio for number in arguments.numbers for cpu in processors
        for ratio in compare(number, cpu, arguments.trials, arguments.seed)
    ]  # fmt: skip
    print(f"least ratio {min(ratios):.2f}, {sum(ratio < 0.8 for ratio in ratios)} of {len(ratios)} below 0.8")


if __name__ == "__main__":
    main()
