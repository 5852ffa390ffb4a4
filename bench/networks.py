"""Whole networks beside torch, and imported ONNX models beside onnxruntime: latency, memory and seconds to compile.

    python bench/networks.py [NETWORK …] [--threads 1 2] [--batch 1 8] [--all] [--tvm PYTHON] [--onnx FILE SHAPE …]

Needs torch. The networks are those of `tests/importers/torch_models.py`, with random weights; a process exports and imports
each. tvms, torch eager and torch.compile then have a process each, which calls its function when asked, in turn.
torch.compile is measured with batch 1 only, unless `--all` is given. Times are medians of rounds in wall-clock time;
`peak` is the largest memory of the process in MiB while it loads and runs the network on one thread, with machine code
from a cache, or while torch compiles it. `cold` and `warm` are seconds of processor time to compile, without a cache and with it.

"with Winograd" are networks to which the pass `WinogradConv2D` was applied, which changes the rounding. `--tvm` names an
interpreter with torch and apache-tvm 0.27, which is measured with ResNet-18 and the perceptron of batch 1, without tuning.

`--onnx model.onnx 1,3,48,192` measures a model of one input beside onnxruntime, as it is and imported for that shape.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from peers.network_calls import WINOGRAD

HERE = Path(__file__).parent
ROUNDS, LIMIT = 9, 6.0
"""Rounds for each row, and the seconds after which a row ends, if it has three."""
TARGETS = {
    "resnet18": 0.85, f"resnet18{WINOGRAD}": 0.85, "mobilenetv2": 0.65, "vit-b16": 0.9, "bert-base": 0.9, "unet": 0.6,
    f"unet{WINOGRAD}": 0.6, "perceptron": 0.5, "mlp12": 0.5, "blocks": 0.7,
}  # fmt: skip
"""The networks, and the fraction of torch's time that tvms should need."""
BESIDE_TVM = ("resnet18", "perceptron")


class Peer:
    """A process that runs one system (`peers/network_calls.py`)."""

    def __init__(self, kind: str, folder: str, threads: int, *words: str, python: str = sys.executable) -> None:
        count = str(threads)
        variables = dict.fromkeys(("OMP_NUM_THREADS", "TVMS_NUM_THREADS", "MKL_NUM_THREADS"), count)
        command = [python, str(HERE / "peers" / "network_calls.py"), kind, folder, count, *words]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={**os.environ, **variables},
        )  # fmt: skip
        self.facts: Mapping[str, Any] = self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        while line and not line.startswith("{"):
            line = self._process.stdout.readline()
        return json.loads(line) if line else {"failed": True}

    def seconds(self) -> float:
        """Return the time of one call; nan if the process has failed."""
        if "failed" in self.facts:
            return math.nan
        assert self._process.stdin is not None
        self._process.stdin.write("call\n")
        self._process.stdin.flush()
        return self._answer().get("seconds", math.nan)

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def ours(folder: str, threads: int) -> Peer:
    """Return tvms with the network in `folder`, which another process has compiled."""
    first = Peer("cold", folder, threads)
    first.close()
    peer = Peer("tvms", folder, threads)
    peer.facts = {**first.facts, **peer.facts}
    return peer


def alternate(peers: Sequence[Peer]) -> list[list[float]]:
    """Return the times of rounds in which all peers run in turn."""
    rounds: list[list[float]] = []
    for number in range(ROUNDS + 1):
        row = [peer.seconds() for peer in peers]
        rounds += [row] if number or sum(row) > LIMIT else []  # the first round warms up, unless it is long
        if len(rounds) >= 3 and sum(map(sum, rounds)) > LIMIT:
            break
    return rounds


def row_of(name: str, peers: Sequence[Peer], target: float | None, tvm: Sequence[Peer] = ()) -> str:
    """Measure the peers, the first of which is tvms, and apache-tvm; end them, and return the row of a table."""
    everyone = (*peers, *tvm)
    rounds = alternate(everyone)
    for peer in everyone:
        peer.close()
    medians = [statistics.median(column) * 1e3 for column in zip(*rounds, strict=True)]
    times, other = medians[: len(peers)], medians[len(peers) :]
    best = min((time for time in times[1:] if not math.isnan(time)), default=math.nan)
    cells = [*(f"{time:.3g}" for time in times), *["–"] * (3 - len(times)), f"{times[0] / best:.2f}"]
    cells.append("" if target is None else f"{target:.2f}")
    facts = [peer.facts for peer in peers]
    cells += [f"{fact['peak']:.0f}" if "peak" in fact else "–" for fact in facts] + ["–"] * (3 - len(facts))
    cells += [f"{fact[key]:.1f}" if key in fact else "–" for fact in facts[:1] for key in ("cold", "warm")]
    cells += [f"{facts[2]['cold']:.1f}" if len(facts) > 2 and "cold" in facts[2] else "–"]
    cells += [f"{facts[0].get('difference', math.nan):.0e}", *([f"{time:.3g}" for time in other] or ["–"])]
    return f"| {name} | {' | '.join(cells)} |"


def header(beside: tuple[str, str]) -> str:
    """Return the head of a table."""
    first, second = beside
    titles = (
        "network, batch, threads", "tvms ms", f"{first} ms", f"{second} ms", "÷ best", "aim", "peak", f"{first} peak",
        f"{second} peak", "cold s", "warm s", f"{second} s", "difference", "TVM ms",
    )  # fmt: skip
    return f"| {' | '.join(titles)} |\n|{' --- |' * len(titles)}"


def networks(
    names: Sequence[str], batches: Sequence[int], threads: Sequence[int], is_whole: bool, tvm: str | None
) -> None:
    """Print a row for each network, batch size and number of threads; `tvm` is an interpreter with apache-tvm."""
    print(header(("torch", "torch.compile")))
    for name in names:
        for batch in batches:
            with tempfile.TemporaryDirectory() as folder:
                Peer("export", folder, 1, name, str(batch)).close()
                for count in threads:
                    kinds = ("eager", *(["compile"] if batch == 1 or is_whole else []))
                    words = folder, count, name, str(batch)
                    peers = [ours(folder, count), *(Peer(kind, *words) for kind in kinds)]
                    others = [Peer("tvm", *words, python=tvm)] if tvm and batch == 1 and name in BESIDE_TVM else []
                    print(row_of(f"{name}, {batch}, {count}", peers, TARGETS[name], others), flush=True)


def onnx_models(pairs: Sequence[Sequence[str]], threads: Sequence[int]) -> None:
    """Print two rows for each model and number of threads: with the sizes of the model, and for the given shape."""
    print(header(("onnxruntime", "–")))
    for file, shape in pairs:
        for count in threads:
            for kind in ("symbolic", "static"):
                with tempfile.TemporaryDirectory() as folder:
                    Peer("export-onnx", folder, 1, file, shape, kind).close()
                    peers = [ours(folder, count), Peer("onnxruntime", folder, count, file, shape)]
                    print(row_of(f"{Path(file).stem}, {kind}, {count}", peers, None), flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NETWORK", help=f"of {', '.join(TARGETS)}")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--all", action="store_true", help="measure torch.compile with all batch sizes")
    parser.add_argument("--tvm", metavar="PYTHON", help="a Python interpreter with torch and apache-tvm")
    parser.add_argument("--onnx", nargs=2, action="append", metavar=("FILE", "SHAPE"), default=[])
    arguments = parser.parse_args()
    if arguments.names or not arguments.onnx:
        networks(arguments.names or list(TARGETS), arguments.batch, arguments.threads, arguments.all, arguments.tvm)
    if arguments.onnx:
        onnx_models(arguments.onnx, arguments.threads)


if __name__ == "__main__":
    main()
