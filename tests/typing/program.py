"""A user's program: the graph and the loop level, schedules, and execution. Type checkers know every name in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tvms
from tvms import relax, te, tir, topi
from tvms.relax.frontend import nn
from tvms.script import from_source
from tvms.script import relax as R
from tvms.script import tir as T

N = 128


@T.prim_func
def double(a: T.handle, b: T.handle) -> None:
    A = T.match_buffer(a, (N,), "float32")
    B = T.match_buffer(b, (N,), "float32")
    for i in range(N):
        with T.block("double"):
            vi = T.axis.spatial(N, i)
            T.reads(A[vi])
            T.writes(B[vi])
            B[vi] = A[vi] * T.float32(2)


@T.prim_func(private=True)
def clipped(a: T.handle, b: T.handle) -> None:
    A = T.match_buffer(a, (N, N), "float32")
    B = T.match_buffer(b, (N, N), "float32")
    for i, j in T.grid(N, N):
        with T.block("clipped"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.max(A[vi, vj], T.float32(0)) + T.exp(A[vi, vj])


def matmul(n: int) -> tir.PrimFunc:
    """Return the product of two square matrices, from a tensor expression."""
    a = te.placeholder((n, n), "float32", name="A")
    b = te.placeholder((n, n), "float32", name="B")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.create_prim_func([a, b, c])


def tiled(function: tir.PrimFunc, tile: int) -> tvms.IRModule:
    """Return a function with its loops tiled, vectorized and parallel."""
    sch = tvms.Schedule(function)
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    i0, i1 = sch.split(i, factors=[None, tile])
    j0, j1 = sch.split(j, factors=[None, tile])
    sch.reorder(i0, j0, k, i1, j1)
    sch.vectorize(j1)
    sch.parallel(sch.fuse(i0, j0))
    init = sch.decompose_reduction(block, k)
    sch.annotate(init, "pragma", 1)
    print(sch.trace, sch.script())
    return sch.mod


def perceptron() -> tvms.IRModule:
    """Return a network from a block builder."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((8, N), "float32"))
    w = relax.Var("w", relax.TensorStructInfo((N, N), "float32"))
    with builder.function("main", [x, w]):
        with builder.dataflow():
            hidden = builder.emit(relax.op.nn.relu(relax.op.matmul(x, w)))
            scaled = builder.emit(relax.op.multiply(hidden, relax.const(0.5, "float32")))
            summed = builder.emit_te(topi.add, scaled, hidden)
            output = builder.emit_output(R.add(summed, hidden))
        builder.emit_func_output(output)
    passes = tvms.transform.Sequential([relax.transform.LegalizeOps(), relax.transform.FuseOps(fuse_opt_level=2)])
    return passes(builder.get())


class Layers(nn.Module):
    """Two linear layers."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.first = nn.Linear(sizes[0], sizes[1])
        self.second = nn.Linear(sizes[1], sizes[2], bias=False)

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        return self.second(nn.op.relu(self.first(x)))


def main() -> None:
    module = perceptron()
    executable = tvms.compile(module, target="llvm")
    vm = relax.VirtualMachine(executable, tvms.cpu())
    x, w = np.ones((8, N), "float32"), np.ones((N, N), "float32")
    print(vm["main"](tvms.nd.array(x), tvms.nd.array(w)))
    exported, parameters = Layers([N, 64, 8]).export_tvm({"forward": {"x": nn.spec.Tensor((1, N), "float32")}})
    print([name for name, _ in parameters], exported.script(), from_source(module.script()))
    built = tvms.compile(tiled(matmul(N), 16), target="llvm")
    b = tvms.nd.array(w)
    built["main"](b, b, tvms.nd.array(np.zeros((N, N), "float32")))
    print(double.params, tvms.IRModule({"clipped": clipped}).functions)
    tvms.verify(module)


if __name__ == "__main__":
    main()
