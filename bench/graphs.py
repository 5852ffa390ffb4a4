"""Speed and memory of compiled graphs, compared with torch and apache-tvm.

    python bench/graphs.py [--torch PYTHON] [--peer PYTHON] [--threads N]

`--torch` names a Python interpreter that has torch, `--peer` one that has apache-tvm. All systems run
alternately in one run; each figure is the median of the rounds, each ratio the median of the ratios of
rounds. One thread (the default) is measured in processor time, which is least affected by other
processes; several threads are measured in wall-clock time. Weights are arguments of every call, and the
same arrays for all systems.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

THREADS = int(sys.argv[sys.argv.index("--threads") + 1]) if "--threads" in sys.argv else 1
os.environ |= dict.fromkeys(("TVMS_NUM_THREADS", "OMP_NUM_THREADS", "TVM_NUM_THREADS"), str(THREADS))  # read at startup

import numpy as np  # noqa: E402
import tvms  # noqa: E402
from peers.torch_calls import seconds  # noqa: E402
from tvms import relax  # noqa: E402
from tvms.relax.frontend import nn  # noqa: E402

ROUNDS = 9


# --- The networks ---------------------------------------------------------------------------------------------


class Perceptron(nn.Module):
    """784 → 256 → 10, the perceptron of the tutorials."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(784, 256)
        self.fc2 = nn.Linear(256, 10, bias=False)

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        return self.fc2(nn.op.relu(self.fc1(x)))


class DeepPerceptron(nn.Module):
    """Layers of one width, each with a relu."""

    def __init__(self, layers: int, width: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(layers)])

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        for layer in self.layers:
            x = nn.op.relu(layer(x))
        return x


class Block(nn.Module):
    """A transformer block with normalization first: attention, then two layers with a GELU between them."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        batch, length, width = x.shape
        split = (batch, length, 3 * self.heads, width // self.heads)
        query, key, value = nn.op.split(nn.op.reshape(self.qkv(self.norm1(x)), split), 3, axis=2)
        attended = nn.op.scaled_dot_product_attention(query, key, value)
        x = x + self.out(nn.op.reshape(attended, (batch, length, width)))
        return x + self.down(nn.op.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    """A sequence of blocks."""

    def __init__(self, blocks: int, width: int, heads: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(blocks)])

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        for block in self.blocks:
            x = block(x)
        return x


NETWORKS: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "perceptron, batch 1": (Perceptron(), (1, 784)),
    "12-layer MLP of 512, batch 1": (DeepPerceptron(12, 512), (1, 512)),
    "12-layer MLP of 512, batch 16": (DeepPerceptron(12, 512), (16, 512)),
    "4 transformer blocks of 256, 64 tokens": (Transformer(4, 256, 4), (1, 64, 256)),
}
"""Each network, and the shape of its input."""


# --- The peers: they say "ready", then time one round for every line they read -----------------------------------

SERVE = """
def serve(run, output, threads):
    import sys, time
    clock = time.process_time if threads == 1 else time.perf_counter
    import numpy
    numpy.save(output, numpy.asarray(run()))
    print("ready", flush=True)
    for _ in sys.stdin:
        count, taken = 1, 0.0
        while taken < 0.05:
            start = clock()
            for _ in range(count):
                run()
            taken, count = clock() - start, count * 2
        print(taken / (count // 2), flush=True)
"""

TORCH = """
import sys
import numpy as np, torch, torch.nn.functional as F
kind, given, output, threads = sys.argv[1], np.load(sys.argv[2]), sys.argv[3], int(sys.argv[4])
torch.set_num_threads(threads)
arrays = [torch.from_numpy(given[f"arr_{i}"]) for i in range(len(given.files))]
x, *weights = arrays

def perceptron(x, w):
    return F.linear(F.relu(F.linear(x, w[0], w[1])), w[2])

def deep(x, w):
    for i in range(0, len(w), 2):
        x = F.relu(F.linear(x, w[i], w[i + 1]))
    return x

def transformer(x, w, heads=4):
    batch, length, width = x.shape
    for i in range(0, len(w), 12):
        n1, b1, n2, b2, qkv, qkv_bias, out, out_bias, up, up_bias, down, down_bias = w[i : i + 12]
        qkv = F.linear(F.layer_norm(x, (width,), n1, b1), qkv, qkv_bias)
        q, k, v = qkv.reshape(batch, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, length, width)
        x = x + F.linear(attended, out, out_bias)
        x = x + F.linear(F.gelu(F.linear(F.layer_norm(x, (width,), n2, b2), up, up_bias)), down, down_bias)
    return x

with torch.inference_mode():
    function = {"Perceptron": perceptron, "DeepPerceptron": deep, "Transformer": transformer}[kind]
    serve(lambda: function(x, weights), output, threads)
"""

TVM = """
import sys
import numpy as np, tvm
from tvm import relax
from tvm.script import from_source
text, given, output, threads = open(sys.argv[1]).read(), np.load(sys.argv[2]), sys.argv[3], int(sys.argv[4])
device = tvm.cpu()
arrays = [tvm.runtime.tensor(given[f"arr_{i}"], device) for i in range(len(given.files))]
module = relax.get_pipeline("zero")(from_source(text))
function = relax.VirtualMachine(tvm.compile(module, tvm.target.Target("llvm")), device)["forward"]
result = function(*arrays)
serve(lambda: function(*arrays).numpy(), output, threads)
"""


class Peer:
    """Another system in a process of its own that runs the same network on the same arrays."""

    def __init__(self, python: str, program: str, first: str, arrays: Sequence[np.ndarray], wanted: np.ndarray) -> None:
        self._folder = tempfile.TemporaryDirectory()
        given, output = (str(Path(self._folder.name, name)) for name in ("given.npz", "output.npy"))
        np.savez(given, *arrays)
        command = [python, "-c", SERVE + program, first, given, output, str(THREADS)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._line() == "ready\n", f"{python} ended"
        np.testing.assert_allclose(np.load(output), wanted, rtol=1e-3, atol=1e-3)

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def seconds(self) -> float:
        """Return the time of one call."""
        assert self._process.stdin is not None
        self._process.stdin.write("round\n")
        self._process.stdin.flush()
        return float(self._line())

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
        self._folder.cleanup()


# --- Ours -------------------------------------------------------------------------------------------------------


def export(network: nn.Module, shape: Sequence[int]) -> tuple[tvms.IRModule, list[np.ndarray]]:
    """Return the module of a network, and random arguments."""
    module, params = network.export_tvm({"forward": {"x": nn.spec.Tensor(list(shape), "float32")}})
    random = np.random.default_rng(0)
    shapes = [shape, *(parameter.shape for _, parameter in params)]
    scale = np.float32(1 / np.sqrt(shape[-1]))
    return module, [(random.standard_normal([int(size) for size in extents], np.float32) * scale) for extents in shapes]


def compare(name: str, arguments: argparse.Namespace) -> None:
    """Print the row of one network."""
    network, shape = NETWORKS[name]
    module, arrays = export(network, shape)
    exe = tvms.compile(relax.get_pipeline("zero")(module), threads=THREADS)

    def call() -> Any:
        return exe["forward"](*arrays)

    wanted = call()
    peers: dict[str, Peer] = {}
    if arguments.torch:
        peers["torch"] = Peer(arguments.torch, TORCH, type(network).__name__, arrays, wanted)
    if arguments.peer:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "module.py")
            path.write_text(module.script("tvm-0.27"))
            peers["tvm"] = Peer(arguments.peer, TVM, str(path), arrays, wanted)
    rounds = [(seconds(call, THREADS), *(peer.seconds() for peer in peers.values())) for _ in range(ROUNDS + 1)][1:]
    for peer in peers.values():
        peer.close()
    figures = [f"{statistics.median(column) * 1e6:10.0f}" for column in zip(*rounds, strict=True)]
    ratios = [f"{statistics.median(row[0] / row[1 + place] for row in rounds):8.2f}" for place in range(len(peers))]
    print(f"{name:<40}{''.join(figures)} µs {''.join(ratios)}", flush=True)


def peak(exe: tvms.Executable, arrays: Sequence[np.ndarray]) -> int:
    """Return the peak of the bytes that a call allocates, including the workspace."""
    for _ in range(3):
        exe["forward"](*arrays)  # exclude one-time allocations
    tracemalloc.start()
    exe["forward"](*arrays)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most + (exe.plans["forward"].size if "forward" in exe.plans else 0)


def memory(name: str) -> None:
    """Print the memory of a network: measured with and without a plan, the planned tensors, and the maximum that
    is alive.
    """
    module, arrays = export(*NETWORKS[name])
    planned, unplanned = (tvms.compile(module, threads=THREADS, native=native) for native in (True, False))
    plan = planned.plans["forward"]
    tensors = plan.size + planned["forward"](*arrays).nbytes
    rows = (peak(planned, arrays), peak(unplanned, arrays), tensors, plan.live)
    print(f"{name:<40}{''.join(f'{row / 1024:12.1f}' for row in rows)} KiB {tensors / plan.live:8.3f}", flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch", help="a Python interpreter with torch")
    parser.add_argument("--peer", help="a Python interpreter with apache-tvm 0.27")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    peers = [name for name in ("torch", "peer") if getattr(arguments, name)]
    beside = "".join(f", {name}" for name in peers) + ", ratios tvms / peer" * bool(peers)
    print(f"latency, {THREADS} thread(s): tvms{beside}")
    for name in NETWORKS:
        compare(name, arguments)
    print(
        "memory of a call: measured with a plan and without, planned tensors, those that live at once, planned / live"
    )
    for name in NETWORKS:
        memory(name)


if __name__ == "__main__":
    main()
