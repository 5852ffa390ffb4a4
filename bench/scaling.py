"""How the time of each stage grows with a program: the exponent between n and 4n, by stage and construct.

    python bench/scaling.py [--only WORD] [--stages WORD,...] [--scale FACTOR]

Each figure is the processor time at the largest size n, and the exponent of its growth from n / 4 on: 1.00 is proportional to
the text. Figures below 30 ms have no exponent. `optimize` and `object` are LLVM's share; `opt`, `schedule` and `run` are whole
commands, the second one on texts with a block "b0".
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import tvms
from tvms.codegen.build import Settings, lower_module, prepare
from tvms.codegen.llvm.backend import optimize, to_object
from tvms.codegen.llvm.module import emit_module
from tvms.codegen.target import get_target
from tvms.dsl.cli import main as run_command
from tvms.dsl.formatter import format_text
from tvms.ir.deep import run_with_big_stack

STAGES = ("read", "check", "races", "print", "format", "lower", "emit", "optimize", "object", "opt", "schedule", "run")
COMMANDS = {"opt": ("--passes", "Simplify"), "schedule": (), "run": ()}
"""The options of whole commands."""
SCHEDULE = (
    '\nS.schedule s(f):\n    b = S.get_block("b0")\n    l = S.get_loops(b)\n    S.split(l[0], factors=[None, 8])\n'
)
SHORTEST = 0.03
"""Seconds below which an exponent says nothing."""

HEAD = 'T.prim_func f(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), k: T.int32):\n'
LOOP = HEAD + "    for i in range(64):\n"


def _sum(count: int, sign: str) -> str:
    terms = f" {sign} ".join(f"A[{i % 64}]" for i in range(count))
    return f"{HEAD}    B[0] = {terms}\n"


def _index_sum(count: int) -> str:
    parameters = ", ".join(f"n{i}: T.int64" for i in range(count))
    terms = " + ".join(f"n{i}" for i in range(count))
    return f'T.prim_func f(B: T.Buffer((1,), "int64"), {parameters}):\n    B[0] = {terms}\n'


def _integers(count: int, sign: str) -> str:
    terms = f" {sign} ".join(f"A[{i % 64}]" for i in range(count))
    return f'T.prim_func f(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")):\n    B[0] = {terms}\n'


def _conditions(count: int, word: str) -> str:
    terms = f" {word} ".join(f"A[{i % 64}] < T.float32({i})" for i in range(count))
    return f"{HEAD}    if {terms}:\n        B[0] = A[0]\n"


def _bounds(count: int, word: str) -> str:
    terms = f" {word} ".join(f"i * {i % 7 + 1} + k < {i}" for i in range(count))
    return f"{LOOP}        if {terms}:\n            B[i] = A[0]\n"


def _statements(count: int) -> str:
    return HEAD + "".join(f"    B[{i % 64}] = A[{(i * 7) % 64}] + T.float32({i})\n" for i in range(count))


def _lets(count: int) -> str:
    lines = "".join(f"    x{i}: T.float32 = A[{i % 64}] + {f'x{i - 1}' if i else 'A[0]'}\n" for i in range(count))
    return f"{HEAD}{lines}    B[0] = x{count - 1}\n"


def _lets_used_last(count: int) -> str:
    lines = "".join(f"    x{i}: T.float32 = A[{i % 64}] + T.float32({i})\n" for i in range(count))
    return f"{HEAD}{lines}    B[0] = {' + '.join(f'x{i}' for i in range(count))}\n"


def _loops(count: int) -> str:
    lines = "".join(
        f"    for i{i} in range(64):\n        B[i{i}] = A[i{i}] + B[i{i}] * T.float32({i})\n" for i in range(count)
    )
    return HEAD + lines


def _blocks(count: int) -> str:
    lines = "".join(
        f'    for i in range(64):\n        with T.block("b{i}"):\n            v = T.axis.spatial(64, i)\n'
        f"            B[v] = A[v] + B[v] * T.float32({i})\n"
        for i in range(count)
    )
    return HEAD + lines


def _nest(count: int) -> str:
    lines = "".join(f"{'  ' * (i + 1)}for i{i} in range(2):\n" for i in range(count))
    return f"{HEAD}{lines}{'  ' * (count + 1)}B[i{count - 1}] = A[i0] + T.float32(1)\n"


def _ifs_nested(count: int) -> str:
    lines = "".join(f"{' ' * (i + 1)}if k < {i}:\n" for i in range(count))
    return f"{HEAD}{lines}{' ' * (count + 1)}B[0] = A[0]\n"


def _elifs(count: int) -> str:
    lines = "".join(f"    {'elif' if i else 'if'} k == {i}:\n        B[0] = T.float32({i})\n" for i in range(count))
    return HEAD + lines


def _functions(count: int) -> str:
    inner = "\n".join(
        _blocks(1).replace("prim_func f(", f"prim_func f{i}(").replace("(0)", f"({i})") for i in range(count)
    )
    return "I.ir_module Module:\n" + "".join(f"    {line}\n" if line else "\n" for line in inner.split("\n"))


def _buffers(count: int) -> str:
    lines = "".join(f'    W{i} = T.alloc_buffer((64,), "float32")\n' for i in range(count))
    chain = "".join(
        f'    for i in range(64):\n        with T.block("b{i}"):\n            v = T.axis.spatial(64, i)\n'
        f"            W{i}[v] = {f'W{i - 1}' if i else 'A'}[v] * T.float32({i})\n"
        for i in range(count)
    )
    return f"{HEAD}{lines}{chain}"


def _parameters(count: int) -> str:
    params = ", ".join(f'A{i}: T.Buffer((64,), "float32")' for i in range(count))
    lines = "".join(f"        A{i}[i] = A{i}[i] + T.float32({i})\n" for i in range(count))
    return f"T.prim_func f({params}):\n    for i in range(64):\n{lines}"


def _selects(count: int) -> str:
    value = "A[i]"
    for i in range(count):
        value = f"T.if_then_else(k < {i}, A[{i % 64}], {value})"
    return f"{LOOP}        B[i] = {value}\n"


def _literals(count: int) -> str:
    values = ", ".join(map(str, range(count)))
    return (
        f'T.prim_func f(B: T.Buffer(({count},), "int32")):\n    C = T.allocate_const([{values}], "int32", [{count}])\n'
        f'    D = T.decl_buffer(({count},), "int32", data=C)\n    for i in range({count}):\n        B[i] = D[i]\n'
    )


def _in_main(lines: str, result: str) -> str:
    return (
        'I.ir_module Module:\n  R.function main(x: R.Tensor((8, 8), "float32")) -> R.Tensor((8, 8), "float32"):\n'
        f"      with R.dataflow():\n{lines}        R.output({result})\n      return {result}\n"
    )


def _graph(count: int, operator: str) -> str:
    lines = "".join(f"        y{i + 1} = R.{operator}({f'y{i}' if i else 'x'}, x)\n" for i in range(count))
    return _in_main(lines, f"y{count}")


def _wide_graph(count: int) -> str:
    lines = "".join(f'        y{i} = R.multiply(x, R.const({i}.5, "float32"))\n' for i in range(count))
    sums = "".join(f"        z{i} = R.add({f'z{i - 1}' if i else 'x'}, y{i})\n" for i in range(count))
    return _in_main(lines + sums, f"z{count - 1}")


CONSTRUCTS: dict[str, tuple[Callable[[int], str], int]] = {
    "product of floats": (lambda n: _sum(n, "*"), 5000),
    "sum of floats": (lambda n: _sum(n, "+"), 5000),
    "product of integers": (lambda n: _integers(n, "*"), 5000),
    "sum of integers": (lambda n: _integers(n, "+"), 5000),
    "sum of distinct indices": (_index_sum, 2000),
    "and of loads": (lambda n: _conditions(n, "and"), 2000),
    "or of loads": (lambda n: _conditions(n, "or"), 2000),
    "and of indices": (lambda n: _bounds(n, "and"), 400),
    "or of indices": (lambda n: _bounds(n, "or"), 400),
    "independent stores": (_statements, 8000),
    "chain of lets": (_lets, 4000),
    "lets used last": (_lets_used_last, 2000),
    "loops in sequence": (_loops, 2000),
    "blocks in sequence": (_blocks, 1000),
    "nested loops": (_nest, 200),
    "nested ifs": (_ifs_nested, 1000),
    "elif chain": (_elifs, 2000),
    "functions": (_functions, 400),
    "buffers": (_buffers, 500),
    "parameters": (_parameters, 2000),
    "nested if_then_else": (_selects, 1000),
    "literals": (_literals, 20000),
    "graph chain": (lambda n: _graph(n, "add"), 1000),
    "graph, wide": (_wide_graph, 500),
    "graph of products": (lambda n: _graph(n, "matmul"), 500),
}
"""How a construct is repeated, and the largest size."""


class Timer:
    """Seconds of each stage over one text."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def time(self, stage: str, work: Callable[[], Any]) -> Any:
        """Return what `work` returns, and note its seconds."""
        start = time.process_time()
        try:
            return work()
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0) + time.process_time() - start


def measure(text: str, stages: frozenset[str]) -> dict[str, float]:
    """Return the seconds of each stage over `text`."""
    timer = Timer()
    module = timer.time("read", lambda: tvms.parse(text))
    if "check" in stages:
        timer.time("check", lambda: tvms.verify(module))
    if "races" in stages:
        timer.time("races", lambda: tvms.verify(module, "races"))
    if "print" in stages:
        timer.time("print", module.script)
    if "format" in stages:
        timer.time("format", lambda: format_text(text))
    if stages & {"lower", "emit", "optimize", "object"}:
        target, settings = get_target("llvm"), Settings()
        prepared = timer.time("lower", lambda: prepare(module, target))
        kernels, *_ = timer.time("lower", lambda: lower_module(prepared, target, settings))
        emitted = timer.time("emit", lambda: emit_module(kernels, target, 1))
        if stages & {"optimize", "object"}:
            optimized = timer.time("optimize", lambda: optimize(emitted.text, target))
            timer.time("object", lambda: to_object(optimized, target))
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        file = Path(folder) / "text.tvms"
        for stage in COMMANDS.keys() & stages:
            file.write_text(text + SCHEDULE if stage == "schedule" else text)
            if stage != "schedule" or 'T.block("b0")' in text:
                code = timer.time(stage, partial(run_command, [stage, str(file), *COMMANDS[stage]]))
                assert code == 0, f"tvms {stage} ended with {code}"
    return {stage: timer.seconds.get(stage, 0) for stage in stages}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="constructs whose names contain this")
    parser.add_argument("--stages", default=",".join(STAGES), help="stages, separated by commas")
    parser.add_argument("--scale", type=float, default=1.0, help="multiply the sizes by this")
    arguments = parser.parse_args()
    stages = frozenset(arguments.stages.split(","))
    print(f"{'':24}{'n':>7} " + "".join(f"{stage:>15}" for stage in STAGES if stage in stages), flush=True)
    for name, (make, largest) in CONSTRUCTS.items():
        if arguments.only in name:
            size = max(16, int(largest * arguments.scale))
            _, small, large = (
                run_with_big_stack(partial(measure, make(n), stages)) for n in (size // 16, size // 4, size)
            )
            cells = [_cell(small[stage], large[stage]) for stage in STAGES if stage in stages]
            print(f"{name:24}{size:7} " + "".join(f"{cell:>15}" for cell in cells), flush=True)


def _cell(small: float, large: float) -> str:
    if large < SHORTEST:
        return f"{large * 1e3:.0f} ms  –  "
    return f"{large * 1e3:.0f} ms {math.log(large / max(small, 1e-4), 4):.2f}"


if __name__ == "__main__":
    main()
