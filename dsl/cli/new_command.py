"""`tvms new FILE`: write a small program to start from."""

from __future__ import annotations

import argparse
import os

from ...ir.diagnostics import error
from ...ir.sanitize import say
from .files import write_output

_PROGRAM = """\
#tvms 1
# A program to start from. Run and check it:
#
#     tvms run {file} --verify

I.ir_module Module:
    # B = max(A + bias, 0), element by element.
    T.prim_func add_relu(A: T.Buffer((64, 32), "float32"), bias: T.Buffer((32,), "float32"), B: T.Buffer((64, 32), "float32")):
        for i, j in T.grid(64, 32):
            with T.block("add_relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.max(A[vi, vj] + bias[vj], T.float32(0))

    # Without a schedule, a default rule applies. Delete this one and compare: tvms bench {file} --entry add_relu
    S.schedule rows(add_relu):
        i, j = S.get_loops("add_relu")
        j0, j1 = S.split(j, factors=[None, 16])
        S.vectorize(j1)

    R.function main(x: R.Tensor((64, 32), "float32"), bias: R.Tensor((32,), "float32")) -> R.Tensor((64, 32), "float32"):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.add_relu, (x, bias), out_sinfo=R.Tensor((64, 32), "float32"))
            R.output(y)
        return y
"""


def run(arguments: argparse.Namespace) -> int:
    """Write the program; raise E0802 if the file exists."""
    file = arguments.file
    if os.path.lexists(file):
        raise error("E0802", f"'{file}' exists", None, "name a file that does not exist")
    write_output(_PROGRAM.replace("{file}", file), file)
    say(f"wrote {file}; next: tvms run {file} --verify")
    return 0
