"""Speed of parsing and printing, compared with CPython's `ast.parse` and, optionally, apache-tvm.

    python bench/language.py [--peer PYTHON]

`--peer` names a Python interpreter that has apache-tvm 0.27. Each figure is the median of several runs in
one process, in kB of text per second; the peer reads the same program, printed in its own dialect.
"""

from __future__ import annotations

import argparse
import ast
import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import tvms
from tvms.dsl.formatter import format_text
from tvms.dsl.parser import parse_syntax
from tvms.ir.base import Source

SAMPLES = Path(__file__).parent.parent / "samples"
REPEATS = 5

PEER = """
import json, statistics, sys, time
import tvm
from tvm.script import from_source
text = open(sys.argv[1]).read()
def median(call):
    times = []
    for _ in range(5):
        start = time.perf_counter(); call(); times.append(time.perf_counter() - start)
    return statistics.median(times)
module = from_source(text)
print(json.dumps({"parse": median(lambda: from_source(text)), "print": median(module.script), "printed": len(module.script())}))
"""


def median_seconds(call: Callable[[], object]) -> float:
    """Return the median time of `call`, after one warm-up run."""
    call()
    times: list[float] = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def program(count: int) -> str:
    """Return a module of `count` matmul+relu functions, in a dialect that all three can read."""
    module = tvms.load(SAMPLES / "03_matmul_relu.tvms")
    function = module["matmul_relu"].script("tvm-0.27")
    start = function.index("@T.prim_func")
    body = function[start:].rstrip()
    copies = (body.replace("def matmul_relu", f"def matmul_relu{i}") for i in range(count))
    indented = ("\n".join(f"    {line}" if line else line for line in copy.splitlines()) for copy in copies)
    return "@I.ir_module\nclass Module:\n" + "\n\n".join(indented) + "\n"


def flat(count: int) -> str:
    """Return a function of `count` stores to different elements."""
    head = '@T.prim_func\ndef f(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):\n'
    return head + "".join(f"    B[{i % 64}] = A[{i * 7 % 64}] + T.float32({i})\n" for i in range(count))


def measure(text: str) -> dict[str, float]:
    """Return the seconds of each step on `text`."""
    module, neat, untidy = tvms.parse(text), format_text(text), text.replace(", ", ",")
    return {
        "ast.parse (CPython)": median_seconds(lambda: ast.parse(text)),
        "text to syntax tree": median_seconds(lambda: parse_syntax(Source("bench", text))),
        "text to IR": median_seconds(lambda: tvms.parse(text)),
        "text to verified IR": median_seconds(lambda: tvms.verify(tvms.parse(text))),
        "print (tvms)": median_seconds(module.script),
        "print (tvm-0.27)": median_seconds(lambda: module.script("tvm-0.27")),
        "format, nothing to do": median_seconds(lambda: format_text(neat)),
        "format, every line": median_seconds(lambda: format_text(untidy)),
    }


def measure_peer(python: str, text: str) -> dict[str, float]:
    """Return apache-tvm's seconds on the same text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "module.py")
        path.write_text(text)
        done = subprocess.run([python, "-c", PEER, str(path)], capture_output=True, text=True, check=True)
    figures = json.loads(done.stdout.splitlines()[-1])
    return {"apache-tvm: text to IR": figures["parse"], "apache-tvm: print": figures["print"]}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", help="a Python interpreter with apache-tvm 0.27")
    parser.add_argument("--count", type=int, default=200, help="functions in the program (default: 200)")
    arguments = parser.parse_args()
    text = program(arguments.count)
    figures = measure(text)
    if arguments.peer:
        figures |= measure_peer(arguments.peer, text)
    print(f"{arguments.count} matmul+relu functions, {len(text) / 1000:.0f} kB, {len(text.splitlines())} lines")
    _show(text, figures)
    stores = flat(arguments.count * 40)
    print(f"{arguments.count * 40} stores, {len(stores) / 1000:.0f} kB")
    _show(stores, measure(stores))


def _show(text: str, figures: dict[str, float]) -> None:
    for name, seconds in figures.items():
        print(f"  {name:<26} {seconds * 1e3:9.1f} ms {len(text) / 1000 / seconds:9.0f} kB/s")


if __name__ == "__main__":
    main()
