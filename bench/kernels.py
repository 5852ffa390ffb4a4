"""Speed of compiled kernels with default schedules, compared with NumPy: products, fused chains, reductions,
transposes, calls.

    python bench/kernels.py [threads]

Both run alternately in one process; each figure is the median of several rounds, each ratio the median of
the ratios of rounds. One thread (the default) is measured in processor time, which is least affected by
other processes; several threads are measured in wall-clock time, with the same number of threads for
NumPy's product (OpenBLAS).
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable

PARSER = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
PARSER.add_argument("threads", nargs="?", type=int, default=1, help="number of threads (default: 1)")
THREADS: int = PARSER.parse_args().threads
os.environ["OPENBLAS_NUM_THREADS"] = str(THREADS)  # read when NumPy is imported

import numpy as np  # noqa: E402
import tvms  # noqa: E402
from convolutions import kernel  # noqa: E402
from peers.torch_calls import seconds  # noqa: E402

Call = Callable[[], object]
ROUNDS = 7

MATMUL = """
T.prim_func main(A: T.Buffer({a}, "float32"), B: T.Buffer({b}, "float32"), C: T.Buffer(({m}, {n}), "float32")):
    T.func_attr({{"tir.noalias": True}})
    for i, j, k in T.grid({m}, {n}, {k}):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[{ai}] * B[{bi}]
"""
SOFTMAX = """
T.prim_func main(A: T.Buffer(({m}, {n}), "float32"), B: T.Buffer(({m}, {n}), "float32")):
    T.func_attr({{"tir.noalias": True}})
    M = T.alloc_buffer(({m},), "float32")
    E = T.alloc_buffer(({m}, {n}), "float32")
    S = T.alloc_buffer(({m},), "float32")
    for i, k in T.grid({m}, {n}):
        with T.block("greatest"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.min_value("float32")
            M[vi] = T.max(M[vi], A[vi, vk])
    for i, k in T.grid({m}, {n}):
        with T.block("exponential"):
            vi, vk = T.axis.remap("SS", [i, k])
            E[vi, vk] = T.exp(A[vi, vk] - M[vi])
    for i, k in T.grid({m}, {n}):
        with T.block("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + E[vi, vk]
    for i, k in T.grid({m}, {n}):
        with T.block("quotient"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi, vk] = E[vi, vk] / S[vi]
"""
ELEMENTWISE = """
T.prim_func main(A: T.Buffer({shape}, "float32"), B: T.Buffer({result}, "float32")):
    T.func_attr({{"tir.noalias": True}})
    for i, j in T.grid{result}:
        with T.block("elements"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = {value}
"""
GELU = "A[vi, vj] * T.float32(0.5) * (T.float32(1) + T.tanh(T.float32(0.7978846) * (A[vi, vj] + T.float32(0.044715) * A[vi, vj] * A[vi, vj] * A[vi, vj])))"


def compiled(text: str) -> Callable[..., object]:
    """Return the compiled function of `text`."""
    return tvms.compile(tvms.parse(text), threads=THREADS)["main"]


def compare(name: str, ours: Call, peer: Call, amount: float, unit: str) -> None:
    """Print the rates of both, and the ratio."""
    rounds: list[tuple[float, float]] = []
    for _ in range(ROUNDS + 1):
        if THREADS > 1:
            time.sleep(0.2)  # wait until the threads of the other side sleep
        rounds.append((seconds(ours, THREADS), seconds(peer, THREADS)))
    mine, theirs = (statistics.median(column) for column in zip(*rounds[1:], strict=True))
    ratio = statistics.median(other / own for own, other in rounds[1:])
    print(f"{name:<26} {amount / mine / 1e9:8.1f} {amount / theirs / 1e9:8.1f} {unit:<8} {ratio:6.2f}", flush=True)


def products() -> None:
    """Measure products: square, tall, wide and odd shapes, and a transposed right factor."""
    random = np.random.default_rng(0)
    squares = [(n, n, n) for n in (256, 512, 1024, 2048)]
    others = [(4096, 64, 512), (64, 4096, 512), (16, 1024, 1024), (1000, 1000, 1000), (333, 777, 555), (127, 129, 131)]
    for m, n, k in squares + others:
        for is_transposed in (False, True)[: 2 if m == n == k == 1024 else 1]:
            b_shape, b_index = ((n, k), "vj, vk") if is_transposed else ((k, n), "vk, vj")
            call = compiled(MATMUL.format(m=m, n=n, k=k, a=(m, k), b=b_shape, ai="vi, vk", bi=b_index))
            a, b = random.random((m, k), np.float32), random.random(b_shape, np.float32)
            c = np.empty((m, n), np.float32)
            right = b.T if is_transposed else b
            name = f"sgemm {m}x{n}x{k}{' NT' if is_transposed else ''}"
            compare(name, lambda: call(a, b, c), lambda: np.matmul(a, right, out=c), 2 * m * n * k, "GFLOP/s")  # noqa: B023


def rows() -> None:
    """Measure a softmax, an element-wise chain and a transpose, in the caches and out of them."""
    random = np.random.default_rng(0)
    for m, n in ((64, 1024), (4096, 1024)):
        a, b = random.standard_normal((m, n)).astype("f4"), np.empty((m, n), "f4")
        softmax = compiled(SOFTMAX.format(m=m, n=n))

        def numpy_softmax(a: np.ndarray = a, b: np.ndarray = b) -> None:
            np.exp(np.subtract(a, a.max(1, keepdims=True), out=b), out=b)
            np.divide(b, b.sum(1, keepdims=True), out=b)

        compare(f"softmax {m}x{n}", lambda: softmax(a, b), numpy_softmax, 8 * m * n, "GB/s")  # noqa: B023
        gelu = compiled(ELEMENTWISE.format(shape=(m, n), result=(m, n), value=GELU))

        def numpy_gelu(a: np.ndarray = a, b: np.ndarray = b) -> None:
            np.tanh(0.7978846 * (a + 0.044715 * a * a * a), out=b)
            np.multiply(a * np.float32(0.5), b + 1, out=b)

        compare(f"gelu (tanh) {m}x{n}", lambda: gelu(a, b), numpy_gelu, 8 * m * n, "GB/s")  # noqa: B023
        largest, (source, _) = kernel([(m, n)], "R.argmax(x0, axis=-1)", THREADS)
        compare(f"argmax {m}x{n}", largest, lambda: source.argmax(1), 4 * m * n, "GB/s")  # noqa: B023
        swap, t = compiled(ELEMENTWISE.format(shape=(m, n), result=(n, m), value="A[vj, vi]")), np.empty((n, m), "f4")
        compare(f"transpose {m}x{n}", lambda: swap(a, t), lambda: np.copyto(t, a.T), 8 * m * n, "GB/s")  # noqa: B023


def calls() -> None:
    """Measure a call with three arguments."""
    text = """
T.prim_func main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("add"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi] + B[vi]
"""
    a, b, c = (np.ones(8, "f4") for _ in range(3))
    add = compiled(text)
    mine = statistics.median(seconds(lambda: add(a, b, c), THREADS) for _ in range(ROUNDS))
    theirs = statistics.median(seconds(lambda: np.add(a, b, out=c), THREADS) for _ in range(ROUNDS))
    print(f"{'a call of 3 arguments':<26} {mine * 1e6:8.2f} {theirs * 1e6:8.2f} {'µs':<8} {theirs / mine:6.2f}")


def main() -> None:
    """Print the table."""
    print(f"{THREADS} thread{'s' * (THREADS > 1)}{'tvms':>26} {'NumPy':>8} {'':<8}  ratio")
    products()
    rows()
    calls()


if __name__ == "__main__":
    main()
