"""Speed of products with default schedules, compared with schedules that apache-tvm finds by search, and
with NumPy.

    python bench/tuned.py --peer PYTHON [--trials 64] [--threads N] [SIZE …]

`--peer` names a Python interpreter that has apache-tvm 0.27 and psutil. It first searches for a schedule
of each square product with its meta-schedule and its cost model; then all three run alternately. Each
figure is the median of several rounds, each ratio the median of the ratios of rounds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from peers.torch_calls import seconds

ROUNDS = 7


def product(te: Any, n: int) -> Any:
    """Return the function of a square product, in tensor expressions of either system."""
    a, b = (te.placeholder((n, n), name=name, dtype="float32") for name in "AB")
    k = te.reduce_axis((0, n), name="k")
    return te.create_prim_func([a, b, te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")])


def serve(n: int, trials: int, threads: int, cpu: str) -> None:
    """Tune the product in apache-tvm, then answer each line with the seconds of one call."""
    import tempfile

    import numpy as np
    import tvm
    from tvm import te
    from tvm.s_tir import meta_schedule

    target = tvm.target.Target({"kind": "llvm", "mcpu": cpu, "num-cores": threads})
    with tempfile.TemporaryDirectory() as folder:
        module = tvm.IRModule({"main": product(te, n)})
        database = meta_schedule.tune_tir(
            mod=module, target=target, max_trials_global=trials, num_trials_per_iter=32, work_dir=folder
        )
        tuned = meta_schedule.tir_integration.compile_tir(database, module, target)
    call = tvm.compile(tuned.mod, target=target)["main"]
    random = np.random.default_rng(0)
    arrays = [tvm.runtime.tensor(random.random((n, n), np.float32)) for _ in range(3)]
    call(*arrays)
    np.testing.assert_allclose(arrays[2].numpy(), arrays[0].numpy() @ arrays[1].numpy(), rtol=1e-3)
    print("ready", flush=True)
    for _ in sys.stdin:
        print(seconds(lambda: call(*arrays), threads), flush=True)


def compare(n: int, peer: str, trials: int, threads: int) -> None:
    """Print the rates of all three and the ratios of ours to the others'."""
    import llvmlite.binding
    import numpy as np
    import tvms
    from tvms import te

    command = [peer, __file__, "--serve", llvmlite.binding.get_host_cpu_name(), "--trials", str(trials)]
    process = subprocess.Popen(
        [*command, "--threads", str(threads), str(n)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        bufsize=1,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    while (line := process.stdout.readline()) != "ready\n":  # skip the messages of the search
        assert line, f"{peer} ended with {process.wait()}"
    mine = tvms.compile(product(te, n), threads=threads)["main"]
    random = np.random.default_rng(0)
    a, b, c = (random.random((n, n), np.float32) for _ in range(3))
    rounds: list[tuple[float, float, float]] = []
    for _ in range(ROUNDS + 1):
        process.stdin.write("round\n")
        tuned = float(process.stdout.readline())
        own, numpy = (seconds(call, threads) for call in (lambda: mine(a, b, c), lambda: np.matmul(a, b, out=c)))
        rounds.append((own, numpy, tuned))
    process.communicate()
    rates = (2 * n**3 / statistics.median(column) / 1e9 for column in zip(*rounds[1:], strict=True))
    ratios = (statistics.median(entry[i] / entry[0] for entry in rounds[1:]) for i in (1, 2))
    print(f"sgemm {n:<8}", *(f"{rate:8.1f}" for rate in rates), *(f"{ratio:8.2f}" for ratio in ratios), flush=True)


def main() -> None:
    """Print the table, or run as the peer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", type=int, default=[256, 512, 1024, 2048])
    parser.add_argument("--peer", default=sys.executable, help="a Python interpreter with apache-tvm 0.27")
    parser.add_argument(
        "--trials", type=int, default=64, help="number of schedules that the search may try (default: 64)"
    )
    parser.add_argument("--threads", type=int, default=1, help="number of threads (default: 1)")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.sizes[0], given.trials, given.threads, given.serve)
        return
    peer = str(Path(given.peer).absolute())
    print(f"GFLOP/s, {given.threads} thread{'s' * (given.threads > 1)}, {given.trials} trials")
    print(f"{'':<14}     tvms    NumPy      TVM  ÷ NumPy    ÷ TVM")
    for n in given.sizes:
        compare(n, peer, given.trials, given.threads)


if __name__ == "__main__":
    THREADS = sys.argv[sys.argv.index("--threads") + 1] if "--threads" in sys.argv else "1"
    os.environ |= dict.fromkeys(
        ("OPENBLAS_NUM_THREADS", "TVM_NUM_THREADS"), THREADS
    )  # read when the libraries are loaded
    main()
