"""Speed of hand-written schedules (samples/schedules), compared with the default rules and with NumPy.

    python bench/handwritten.py [name …]
    python bench/handwritten.py --gpu [name …]

Each program is compiled with its schedule and without it. All run alternately in one process on one thread, measured
in processor time; each ratio is the median of the ratios of rounds. A ratio above 1 is slower than the default rule, or than
NumPy. Before that, the results are compared.

With `--gpu`, the times of the schedules for GPUs are estimated (docs/tuning.md), for an A100; nothing is measured.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Callable
from math import prod
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when NumPy is imported

import numpy as np
import tvms
from msgspec.structs import replace
from peers.torch_calls import seconds
from tvms.codegen.build import Settings, prepare
from tvms.codegen.gpu.estimate import Estimate, estimate
from tvms.codegen.gpu.program import build_program
from tvms.codegen.target import get_target

SCHEDULES = Path(__file__).parent.parent / "samples" / "schedules"
ROUNDS = 7
PAGE = 4096


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, r: np.ndarray) -> None:
    """Store the attention of each head."""
    scores = q @ k.swapaxes(1, 2)
    np.exp((scores - scores.max(2, keepdims=True)) * np.float32(0.125), out=scores)
    np.divide(scores @ v, scores.sum(2, keepdims=True), out=r)


def depthwise(x: np.ndarray, w: np.ndarray, y: np.ndarray) -> None:
    """Store a depthwise convolution."""
    rows, columns = y.shape[1:]
    windows = (x[:, dy : dy + rows, dx : dx + columns] * w[:, dy, dx, None, None] for dy in range(3) for dx in range(3))
    np.copyto(y, sum(windows))


def convolution(x: np.ndarray, w: np.ndarray, y: np.ndarray) -> None:
    """Store a convolution, computed as a sum of nine products."""
    rows, columns = y.shape[1:]
    parts = (
        w[:, :, dy, dx] @ x[:, dy : dy + rows, dx : dx + columns].reshape(x.shape[0], -1)
        for dy in range(3)
        for dx in range(3)
    )
    np.copyto(y.reshape(len(y), -1), sum(parts))


def softmax(a: np.ndarray, b: np.ndarray) -> None:
    """Store a softmax of each row."""
    np.exp(np.subtract(a, a.max(1, keepdims=True), out=b), out=b)
    np.divide(b, b.sum(1, keepdims=True), out=b)


def stencil(a: np.ndarray, b: np.ndarray) -> None:
    """Store the average of five neighbors."""
    np.add(a[:-2, 1:-1], a[1:-1, :-2], out=b)
    for part in (a[1:-1, 1:-1], a[1:-1, 2:], a[2:, 1:-1]):
        np.add(b, part, out=b)
    np.multiply(b, np.float32(0.2), out=b)


def layer_norm(a: np.ndarray, scale: np.ndarray, shift: np.ndarray, b: np.ndarray) -> None:
    """Store a layer norm of each row."""
    np.subtract(a, a.mean(1, keepdims=True), out=b)
    np.divide(b, np.sqrt(np.square(b).mean(1, keepdims=True) + np.float32(1e-5)), out=b)
    np.add(np.multiply(b, scale, out=b), shift, out=b)


PEERS: dict[str, Callable[..., object]] = {
    "attention": attention,
    "gemm": lambda a, b, c: np.matmul(a, b, out=c),
    "gemv": lambda a, x, y: np.matmul(a, x, out=y),
    "conv2d": convolution,
    "depthwise": depthwise,
    "layer": layer_norm,
    "reduction": lambda a, s: np.sum(a, 1, out=s),
    "scan": lambda a, s: np.cumsum(a, 0, out=s),
    "transpose": lambda a, b: np.copyto(b, a.T),
    "softmax": softmax,
    "stencil": stencil,
}
"""The computations in NumPy, by the first word of the name of a sample."""


def aligned(shape: list[int]) -> np.ndarray:
    """Return a float32 array at the start of a page: the placement of arrays changes times by up to 1.7."""
    memory = np.empty(4 * prod(shape) + PAGE, np.uint8)
    start = -memory.ctypes.data % PAGE
    return memory[start : start + 4 * prod(shape)].view(np.float32).reshape(shape)


def measure(path: Path) -> None:
    """Print the rates of a program with its schedule, and relative to its peers."""
    module = tvms.load(path)
    (function,) = (module[name] for name in module.functions)
    scheduled = tvms.compile(module, threads=1)["main"]
    default = tvms.compile(replace(module, schedules={}), threads=1)["main"]
    random = np.random.default_rng(0)
    shapes = [[size.value for size in buffer.shape] for buffer in function.buffer_map.values()]
    inputs, results = [aligned(shape) for shape in shapes[:-1]], [aligned(shapes[-1]) for _ in range(3)]
    for values in inputs:
        random.random(dtype=np.float32, out=values)
    peer = PEERS[path.stem.split("_")[0]]
    calls = [lambda c=call, r=out: c(*inputs, r) for call, out in zip((scheduled, default, peer), results, strict=True)]
    for call in calls:
        call()
    for other in results[1:]:
        np.testing.assert_allclose(results[0], other, rtol=1e-3, atol=1e-4)
    rounds = [[seconds(call, 1) for call in calls] for _ in range(ROUNDS)]
    mine = statistics.median(row[0] for row in rounds)
    ratios = [statistics.median(row[0] / row[column] for row in rounds) for column in (1, 2)]
    print(f"{path.stem:<24} {mine * 1e3:10.3f} {ratios[0]:10.2f} {ratios[1]:10.2f}", flush=True)


def estimated(module: tvms.IRModule) -> Estimate:
    """Return the estimate for a program, scheduled by its schedule or by the default rules."""
    target = get_target("cuda -arch=sm_80")
    return estimate(build_program(prepare(module, target), target, Settings()), target)


def show_estimate(path: Path) -> None:
    """Print the estimates for a program with its schedule and without it."""
    module = tvms.load(path)
    mine, default = estimated(module), estimated(replace(module, schedules={}))
    print(
        f"{path.stem:<24} {mine.seconds * 1e6:10.1f} {mine.seconds / default.seconds:10.2f}   {mine.kernels[0]}",
        flush=True,
    )


def main() -> None:
    """Measure the samples, or those whose names start with an argument."""
    names = [name for name in sys.argv[1:] if name != "--gpu"]
    is_gpu = "--gpu" in sys.argv
    print(f"{'estimated' if is_gpu else 'one thread':<24} {'us' if is_gpu else 'ms':>10} {'x default':>10}", end="")
    print("" if is_gpu else f" {'x NumPy':>10}")
    for path in sorted(SCHEDULES.glob("*.tvms")):
        is_wanted = ('target="cuda"' in path.read_text()) is is_gpu
        if is_wanted and (not names or path.stem.startswith(tuple(names))):
            (show_estimate if is_gpu else measure)(path)


if __name__ == "__main__":
    main()
