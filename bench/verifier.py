"""Cost of verification per line, relative to parsing: the samples, and modules of 10,000 lines and more.

    python bench/verifier.py [--lines N]

Medians of several runs in one process, in processor time, at each level of `tvms check`. `plain` repeats
a sample; `tiled` is the same program split into tiles with guards, whose bounds intervals cannot show, so
that they need proofs; `broken` has one fault in each function.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import tvms
from tvms.ir.analysis.proof import forget
from tvms.ir.verify import LEVELS, verify

SAMPLES = Path(__file__).parent.parent / "samples"
REPEATS = 3

PLAIN = """
T.prim_func matmul{i}(A: T.Buffer(({n}, 48), "float32"), B: T.Buffer((48, 40), "float32"), C: T.Buffer(({n}, 40), "float32")):
    T.func_attr({{"tir.noalias": True}})
    D = T.alloc_buffer(({n}, 40), "float32")
    for i, j, k in T.grid({n}, 40, 48):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(D[vi, vj])
            with T.init():
                D[vi, vj] = T.float32(0)
            D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid({n}, 40):
        with T.block("relu"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(D[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = T.max(D[vi, vj], T.float32(0))
"""
TILED = """
T.prim_func matmul{i}(A: T.Buffer(({n}, 48), "float32"), B: T.Buffer((48, 40), "float32"), C: T.Buffer(({n}, 40), "float32")):
    T.func_attr({{"tir.noalias": True}})
    for i_0, j_0 in T.grid(({n} + 15) // 16, 3):
        for k, i_1, j_1 in T.grid(48, 16, 16):
            with T.block("matmul"):
                vi = T.axis.spatial({n}, i_0 * 16 + i_1)
                vj = T.axis.spatial(40, j_0 * 16 + j_1)
                vk = T.axis.reduce(48, k)
                T.where(i_0 * 16 + i_1 < {n} and j_0 * 16 + j_1 < 40)
                T.reads(A[vi, vk], B[vk, vj])
                T.writes(C[vi, vj])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i_j_fused in T.parallel({n} * 40):
        C[i_j_fused // 40, i_j_fused % 40] = T.max(C[i_j_fused // 40, i_j_fused % 40], T.float32(0))
"""


def module(template: str, lines: int) -> str:
    """Return a module of at least `lines` lines whose functions differ in a size."""
    count = -(-lines // (template.count("\n") - 1))
    functions = "\n".join(template.strip("\n").format(i=i, n=33 + i) for i in range(count))
    indented = "\n".join(f"    {line}" if line else line for line in functions.splitlines())
    return f"I.ir_module Module:\n{indented}\n"


def seconds(call: Callable[[], object]) -> float:
    """Return the median processor time of `call`, with empty caches of proofs."""
    times: list[float] = []
    for _ in range(REPEATS):
        forget()
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return statistics.median(times)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=10_000, help="lines of the generated modules (default: 10,000)")
    lines = parser.parse_args().lines
    texts = {path.name: path.read_text() for path in sorted(SAMPLES.glob("*.tvms"))}
    texts |= {"plain": module(PLAIN, lines), "tiled": module(TILED, lines)}
    texts["broken"] = texts["plain"].replace("A[vi, vk] * B[vk, vj]", "A[vi, vk + 1] * B[vk, vj]")
    print(f"{'text':<34}{'lines':>7}{'parse':>11}" + "".join(f"{level:>10}" for level in LEVELS[1:]) + "   of parsing")
    for name, text in texts.items():
        program = tvms.parse(text)
        count = text.count("\n")
        parse = seconds(lambda text=text: tvms.parse(text))
        costs = [seconds(lambda level=level, program=program: verify(program, level)) for level in LEVELS[1:]]
        ratios = "".join(f"{cost / parse:>9.2f}×" for cost in costs)
        print(f"{name:<34}{count:>7}{parse / count * 1e6:>8.1f} µs{ratios}")


if __name__ == "__main__":
    main()
