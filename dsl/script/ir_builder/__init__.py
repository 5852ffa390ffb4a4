"""Programs built statement by statement in Python (TVM: `tvm.script.ir_builder`): forms of the language as calls.

from tvms.script.ir_builder import IRBuilder, tir as T

with IRBuilder() as builder:
    with T.prim_func():
        T.func_name("zeros")
        A = T.arg("A", T.Buffer((8,), "float32"))
        with T.serial(8) as i:
            T.buffer_store(A, 0.0, [i])
zeros = builder.get()
"""

from . import ir, relax, tir
from .base import IRBuilder

__all__ = ["IRBuilder", "ir", "relax", "tir"]
