"""Time of kernels, graphs and the language front end, compared with another checkout of tvms.

    git worktree add --detach BASE COMMIT
    python bench/commits.py --base BASE [--only GROUP …] [--threads N] [--processes N] [--rounds N] [--most RATIO]

Both checkouts run in processes of their own that alternate within every round, each on one thread (the default), in processor time,
or on several, in wall-clock time. Arrays have the same addresses within their pages in all processes. Several pairs of processes are measured, because physical addresses
differ and may decide about conflicts in caches. A ratio is the median over all rounds of the time of this checkout divided by that of the base: above 1, this one is
slower. With `--most`, the exit code is 1 if a ratio exceeds RATIO.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).parent.parent / "samples"
SECONDS = 0.05
"""Minimum processor time of one measurement."""
ENVIRONMENT = {"MALLOC_MMAP_THRESHOLD_": "33554432", "MALLOC_TRIM_THRESHOLD_": "1073741824"}
"""Malloc keeps memory, since the page faults of new memory depend on what was freed before."""


def threads() -> int:
    """Return the number of threads of each call."""
    return int(os.environ["TVMS_NUM_THREADS"])


def operator(shapes: list[tuple[int, ...]], value: str, dtype: str = "float32") -> Callable[[], Callable[[], object]]:
    """Return a maker of calls of the kernel that computes `value`, an expression of x0, x1, …"""

    def make() -> Callable[[], object]:
        import tvms
        from tvms.ir import tir
        from tvms.ir.passes.transform import get_pass

        params = ", ".join(f'x{i}: R.Tensor({shape}, "{dtype}")' for i, shape in enumerate(shapes))
        text = f"R.function main({params}) -> R.Object:\n    with R.dataflow():\n        y = {value}\n        R.output(y)\n    return y\n"
        module = get_pass("LegalizeOps")(tvms.parse(text))
        ((name, kernel),) = [item for item in module.functions.items() if isinstance(item[1], tir.PrimFunc)]
        buffers = [kernel.buffer_map[param] for param in kernel.params]
        arrays = [
            placed(tuple(size.value for size in buffer.shape), buffer.dtype, number)
            for number, buffer in enumerate(buffers)
        ]
        call = tvms.compile(module, threads=threads())[name]
        return lambda: call(*arrays)

    return make


def sample(name: str, shapes: list[tuple[int, ...]], entry: str = "main") -> Callable[[], Callable[[], object]]:
    """Return a maker of calls of a function of a sample."""

    def make() -> Callable[[], object]:
        import tvms

        arrays = [placed(shape, "float32", number) for number, shape in enumerate(shapes)]
        call = tvms.compile(tvms.load(SAMPLES / name), threads=threads())[entry]
        return lambda: call(*arrays)

    return make


def placed(shape: tuple[int, ...], dtype: str, number: int) -> Any:
    """Return a random array whose address in its page depends on `number` only, so that accesses conflict equally everywhere."""
    import numpy as np

    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.empty(size + 2 * _PAGE, np.uint8)
    start = -memory.ctypes.data % _PAGE + 320 * (number + 1) % _PAGE
    array = memory[start : start + size].view(dtype).reshape(shape)
    array[...] = np.random.default_rng(number).random(shape) - 0.5
    return array


_PAGE = 4096


def many_functions(count: int = 40) -> str:
    """Return a module of many loop functions as text."""
    import tvms

    body = tvms.load(SAMPLES / "03_matmul_relu.tvms")["matmul_relu"].script("tvms").partition("T.prim_func ")[2]
    functions = [f"    T.prim_func f{i}_{body}".replace("\n", "\n    ") for i in range(count)]
    return "I.ir_module Module:\n" + "\n\n".join(functions) + "\n"


def language(action: str) -> Callable[[], Callable[[], object]]:
    """Return a maker of an action on a text of many functions."""

    def make() -> Callable[[], object]:
        import tvms
        from tvms.dsl.formatter import format_text
        from tvms.dsl.parser import parse_syntax
        from tvms.ir.base import Source

        text = many_functions()
        module = tvms.parse(text)
        untidy = text.replace(" = ", "  =  ")
        actions: dict[str, Callable[[], object]] = {
            "syntax": lambda: parse_syntax(Source("bench", text)),
            "build": lambda: tvms.parse(text),
            "verify": lambda: tvms.verify(tvms.parse(text)),
            "print": lambda: module.script(),
            "print tvm-0.27": lambda: module.script("tvm-0.27"),
            "format": lambda: format_text(untidy),
        }
        return actions[action]

    return make


def compiling(name: str) -> Callable[[], Callable[[], object]]:
    """Return a maker of the compilation of a sample."""

    def make() -> Callable[[], object]:
        import tvms

        text = (SAMPLES / name).read_text(encoding="utf-8")
        return lambda: tvms.compile(tvms.parse(text), threads=threads())

    return make


def optimizing(name: str, passes: tuple[str, ...]) -> Callable[[], Callable[[], object]]:
    """Return a maker of passes on a sample."""

    def make() -> Callable[[], object]:
        import tvms
        from tvms.ir.passes.transform import Sequential, get_pass

        module = tvms.load(SAMPLES / name)
        return lambda: Sequential([get_pass(name) for name in passes])(module)

    return make


CASES: dict[str, dict[str, Callable[[], Callable[[], object]]]] = {
    "products": {
        **{
            f"{m} x {k} x {n}": operator([(m, k), (k, n)], "R.matmul(x0, x1)")
            for m, k, n in [(64, 64, 64), (128, 784, 512), (256, 256, 256), (512, 512, 512), (1000, 100, 333)]
        },
        "matrix times vector": operator([(1024, 1024), (1024,)], "R.matmul(x0, x1)"),
        "batch of 8": operator([(8, 64, 96), (8, 96, 64)], "R.matmul(x0, x1)"),
        "float64": operator([(256, 256), (256, 256)], "R.matmul(x0, x1)", "float64"),
    },
    "convolutions": {
        "3 x 3, 64 to 64": operator([(1, 64, 28, 28), (64, 64, 3, 3)], "R.nn.conv2d(x0, x1, padding=1)"),
        "3 x 3, stride 2": operator([(1, 64, 28, 28), (128, 64, 3, 3)], "R.nn.conv2d(x0, x1, strides=2, padding=1)"),
        "1 x 1": operator([(1, 256, 14, 14), (64, 256, 1, 1)], "R.nn.conv2d(x0, x1)"),
        "depthwise": operator([(1, 64, 28, 28), (64, 1, 3, 3)], "R.nn.conv2d(x0, x1, padding=1, groups=64)"),
        "max_pool2d": operator([(1, 64, 56, 56)], "R.nn.max_pool2d(x0, pool_size=(3, 3), strides=(2, 2))"),
    },
    "rows": {
        "softmax": operator([(256, 1024)], "R.nn.softmax(x0)"),
        "layer_norm": operator([(256, 1024), (1024,), (1024,)], "R.nn.layer_norm(x0, x1, x2, axes=[-1])"),
        "gelu_tanh": operator([(256, 1024)], "R.nn.gelu_tanh(x0)"),
        "permute_dims": operator([(1024, 768)], "R.permute_dims(x0)"),
        "sum": operator([(256, 1024)], "R.sum(x0, axis=-1)"),
        "argmax": operator([(256, 1024)], "R.argmax(x0, axis=-1)"),
        "add": operator([(256, 1024), (1024,)], "R.add(x0, x1)"),
    },
    "graphs": {
        "perceptron": sample("04_perceptron.tvms", [(1, 784), (256, 784), (256,), (10, 256)]),
        "dynamic batch": sample("05_dynamic_batch.tvms", [(8, 32), (32, 16), (16,)]),
        "passes on resnet18": optimizing("12_resnet18.tvms", ("LegalizeOps", "AnnotateTIROpPattern", "FuseOps", "FuseTIR")),
    },
    "language": {
        name: language(name) for name in ("syntax", "build", "verify", "print", "print tvm-0.27", "format")
    },
    "compilation": {name: compiling(name) for name in ("02_matmul.tvms", "04_perceptron.tvms", "07_schedule.tvms")},
}  # fmt: skip


def work() -> None:
    """Measure what the standard input asks for; a line is the name of a group and a case, an answer the time of a call."""
    import tvms

    print(json.dumps(str(Path(tvms.__file__ or "").parent)), flush=True)
    prepared: dict[tuple[str, str], tuple[Callable[[], object], int]] = {}
    for line in sys.stdin:
        group, name = json.loads(line)
        if (group, name) not in prepared:
            call = CASES[group][name]()
            call()
            count, seconds = 1, _seconds(call, 1)
            while seconds < SECONDS:
                count = max(count + 1, min(2 * count, int(count * 1.2 * SECONDS / max(seconds, 1e-9))))
                seconds = _seconds(call, count)
            prepared = {(group, name): (call, count)}
        call, count = prepared[group, name]
        print(json.dumps(_seconds(call, count) / count), flush=True)


def _seconds(call: Callable[[], object], count: int) -> float:
    clock = time.process_time if threads() == 1 else time.perf_counter
    start = clock()
    for _ in range(count):
        call()
    return clock() - start


class Checkout:
    """A process that measures one checkout."""

    def __init__(self, folder: Path, links: Path, threads: int) -> None:
        link = Path(tempfile.mkdtemp(dir=links))
        (link / "tvms").symlink_to(folder, target_is_directory=True)
        environment = {**os.environ, "PYTHONPATH": str(link), "TVMS_NUM_THREADS": str(threads), **ENVIRONMENT}
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )  # fmt: skip
        found = Path(self._answer())
        if found.resolve() != folder.resolve():
            raise SystemExit(f"the process imports tvms from {found}, not from {folder}")

    def seconds(self, group: str, name: str) -> float:
        """Return the time of one call."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([group, name]) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("a measuring process has ended")
        return json.loads(line)


def rounds_of(base: Checkout, own: Checkout, group: str, name: str, count: int) -> Iterator[tuple[float, float]]:
    """Yield the times of both checkouts in every round; which of them is first alternates."""
    for number in range(count + 1):
        pair = (base, own) if number % 2 else (own, base)
        times = {checkout: checkout.seconds(group, name) for checkout in pair}
        if number:  # the first round compiles
            yield times[base], times[own]


def main() -> int:
    """Print a line for each case, and the geometric mean of each group."""
    parser = argparse.ArgumentParser(description="Compare the speed of two checkouts.")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--base", type=Path, help="the other checkout")
    parser.add_argument("--only", metavar="GROUP", nargs="+", choices=tuple(CASES), default=tuple(CASES))
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads of each call (default: 1)")
    parser.add_argument("--processes", type=int, default=3, help="pairs of processes (default: 3)")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of each pair (default: 7)")
    parser.add_argument("--most", type=float, default=float("inf"), metavar="RATIO")
    arguments = parser.parse_args()
    if arguments.worker:
        work()
        return 0
    if arguments.base is None:
        print("nothing to compare with: give --base, the folder of another checkout")
        return 0
    slower: list[str] = []
    with tempfile.TemporaryDirectory() as links:
        folders = arguments.base.resolve(), Path(__file__).resolve().parent.parent
        pairs = [
            [Checkout(folder, Path(links), arguments.threads) for folder in folders] for _ in range(arguments.processes)
        ]
        print(f"{'':<36} {'base':>10} {'this':>10}  ratio  quartiles")
        for group in arguments.only:
            medians: list[float] = []
            for name in CASES[group]:
                times = [times for base, own in pairs for times in rounds_of(base, own, group, name, arguments.rounds)]
                ratios = [mine / theirs for theirs, mine in times]
                before, now = (statistics.median(side) for side in zip(*times, strict=True))
                low, ratio, high = statistics.quantiles(ratios, n=4)
                medians.append(ratio)
                slower += [f"{group}: {name}"] if ratio > arguments.most else []
                shown = f"{group + ': ' + name:<36} {before * 1e6:10.1f} {now * 1e6:10.1f}"
                print(f"{shown} {ratio:6.3f}  {low:.3f} to {high:.3f}", flush=True)
            print(f"{group + ': geometric mean':<58} {statistics.geometric_mean(medians):6.3f}", flush=True)
    print(*[f"slower than {arguments.most}: {name}" for name in slower], sep="\n")
    return bool(slower)


if __name__ == "__main__":
    sys.exit(main())
