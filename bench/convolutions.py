"""Speed of convolutions and other kernels with default schedules, compared with torch if an interpreter with
torch is given.

    python bench/convolutions.py [--threads N] [--torch PYTHON]

The convolutions are those of ResNet-18 with batch size 1, padding included. Both systems run alternately;
each figure is the median of several rounds, each ratio the median of the ratios of rounds. One thread
(the default) is measured in processor time, which is least affected by other processes; several threads
are measured in wall-clock time.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable

import numpy as np
import tvms
from peers.torch_calls import Peer, seconds

ROUNDS = 9
RESNET = [
    (3, 64, 224, 7, 2, 3), (64, 64, 56, 3, 1, 1), (64, 128, 56, 3, 2, 1), (64, 128, 56, 1, 2, 0),
    (128, 128, 28, 3, 1, 1), (128, 256, 28, 3, 2, 1), (128, 256, 28, 1, 2, 0), (256, 256, 14, 3, 1, 1),
    (256, 512, 14, 3, 2, 1), (256, 512, 14, 1, 2, 0), (512, 512, 7, 3, 1, 1),
]  # fmt: skip
"""Input and output channels, image size, window size, stride and padding."""

GRAPH = """
I.ir_module Module:
    R.function main({params}) -> R.Tensor:
        with R.dataflow():
            result = {value}
            R.output(result)
        return result
"""


def module_of(shapes: list[tuple[int, ...]], value: str) -> tvms.IRModule:
    """Return the module of a graph that computes `value`, with the loop function that it becomes."""
    from tvms.ir.passes.pipelines import get_pipeline

    params = ", ".join(f'x{i}: R.Tensor({shape}, "float32")' for i, shape in enumerate(shapes))
    return get_pipeline("zero")(tvms.parse(f"#tvms 1\n{GRAPH.format(params=params, value=value)}"))


def kernel(shapes: list[tuple[int, ...]], value: str, threads: int) -> tuple[Callable[[], object], list[np.ndarray]]:
    """Return a call of the loop function that a graph operator becomes, and its arguments."""
    module = module_of(shapes, value)
    executable = tvms.compile(module, threads=threads)
    name = next(name for name in module.functions if name != "main")
    function = module.functions[name]
    random = np.random.default_rng(0)
    arrays = [random.standard_normal(shape).astype("f4") for shape in shapes]
    result = list(function.buffer_map.values())[-1]
    arrays.append(np.empty([size.value for size in result.shape], result.dtype))
    call = executable[name]
    return lambda: call(*arrays), arrays


class Table:
    """Prints a row for each comparison."""

    def __init__(self, threads: int, python: str | None) -> None:
        self.threads, self.peer = threads, Peer(python, threads) if python else None
        self.ratios: list[float] = []
        beside = f"{'torch':>8} {'unit':<8}  ratio" if self.peer else "unit"
        print(f"{f'{threads} thread' + 's' * (threads > 1):<38} {'tvms':>7} {beside}")

    def compare(
        self, name: str, shapes: list[tuple[int, ...]], value: str, amount: float, unit: str, do: str, **options: object
    ) -> None:
        """Print the speed of `value`, on arrays of these shapes, for both systems."""
        call, _ = kernel(shapes, value, self.threads)
        if self.peer is not None:
            self.peer.prepare(do, shapes, **options)
        clocks = [lambda: seconds(call, self.threads), *([self.peer.seconds] if self.peer else [])]
        rounds = [[clock() for clock in clocks] for _ in range(ROUNDS + 1)][1:]
        mine, *theirs = (amount / statistics.median(column) / 1e9 for column in zip(*rounds, strict=True))
        ratios = [statistics.median(other / own for own, other in rounds) for _ in theirs]
        self.ratios += ratios
        beside = "".join(f" {rate:8.1f}" for rate in theirs)
        print(f"{name:<38} {mine:7.1f}{beside} {unit:<8}{''.join(f' {ratio:6.2f}' for ratio in ratios)}", flush=True)

    def mean(self) -> None:
        """Print the geometric mean of the ratios so far."""
        if self.peer is not None:
            print(f"{'geometric mean':<64} {statistics.geometric_mean(self.ratios):6.2f}")


def convolutions(table: Table) -> None:
    """Measure the convolutions of ResNet-18, in order."""
    for inputs, outputs, side, window, stride, padding in RESNET:
        shapes = [(1, inputs, side, side), (outputs, inputs, window, window)]
        result = (side + 2 * padding - window) // stride + 1
        value = f"R.nn.conv2d(x0, x1, strides=({stride}, {stride}), padding=({padding}, {padding}))"
        name = f"conv2d {inputs}x{side}x{side} {window}x{window}/{stride} to {outputs}"
        operations = 2 * outputs * result**2 * inputs * window**2
        table.compare(name, shapes, value, operations, "GFLOP/s", "conv2d", stride=stride, padding=padding)
    table.mean()


def others(table: Table) -> None:
    """Measure other kernels of networks, and rows larger than the caches."""
    m, n = 4096, 1024
    size = 4 * m * n
    table.compare(f"softmax {m}x{n}", [(m, n)], "R.nn.softmax(x0)", 2 * size, "GB/s", "softmax")
    norm = "R.nn.layer_norm(x0, x1, x2, axes=[-1])"
    table.compare(f"layer norm {m}x{n}", [(m, n), (n,), (n,)], norm, 2 * size, "GB/s", "layer_norm")
    table.compare(f"gelu (tanh) {m}x{n}", [(m, n)], "R.nn.gelu_tanh(x0)", 2 * size, "GB/s", "gelu")
    table.compare(f"transpose {m}x{n}", [(m, n)], "R.permute_dims(x0)", 2 * size, "GB/s", "transpose")
    table.compare(f"argmax {m}x{n}", [(m, n)], "R.argmax(x0, axis=-1)", size, "GB/s", "argmax")
    table.compare(f"matrix times vector {m}x{n}", [(m, n), (n,)], "R.matmul(x0, x1)", size, "GB/s", "mv")
    image, depthwise = (1, 64, 112, 112), "R.nn.conv2d(x0, x1, padding=(1, 1), groups=64)"
    amount = 4 * 2 * 64 * 112 * 112
    table.compare(
        "depthwise 64x112x112 3x3", [image, (64, 1, 3, 3)], depthwise, amount, "GB/s", "conv2d", padding=1, groups=64
    )
    pool = "R.nn.max_pool2d(x0, (3, 3), (2, 2), (1, 1))"
    table.compare(
        "max pool 64x112x112 3x3/2",
        [image],
        pool,
        amount * 5 / 8,
        "GB/s",
        "max_pool2d",
        kernel_size=3,
        stride=2,
        padding=1,
    )
    shapes: list[tuple[int, ...]] = [(128, 784), (784, 512), (512,)]
    linear = "R.nn.relu(R.add(R.matmul(x0, x1), x2))"
    table.compare("linear and relu 128x784 to 512", shapes, linear, 2 * 128 * 784 * 512, "GFLOP/s", "linear")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--torch", metavar="PYTHON", help="a Python interpreter with torch")
    arguments = parser.parse_args()
    table = Table(arguments.threads, arguments.torch)
    convolutions(table)
    others(table)
    if table.peer is not None:
        table.peer.close()


if __name__ == "__main__":
    main()
