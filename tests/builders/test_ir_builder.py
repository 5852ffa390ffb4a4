"""Programs built by calls are those that their texts say."""

from __future__ import annotations

import pytest
import tvms
from tvms import relax
from tvms.ir import assert_structural_equal
from tvms.script.ir_builder import IRBuilder
from tvms.script.ir_builder import ir as I
from tvms.script.ir_builder import relax as R
from tvms.script.ir_builder import tir as T

TEXT = """\
I.ir_module Module:
    I.module_attrs({"version": 1})

    T.prim_func identity(A: T.Buffer((8, 8), "float32"), n: T.int32):
        T.func_attr({"tir.noalias": True})
        B = T.alloc_buffer((8, 8))
        for i, j in T.grid(8, 8):
            with T.block("A"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.where(i < n)
                with T.init():
                    B[vi, vj] = T.float32(0)
                if vi == vj:
                    A[vi, vj] = B[vi, vj] + T.float32(1)
                else:
                    A[vi, vj] = T.exp(B[vi, vj])
        with T.launch_thread("threadIdx.x", 8) as tx:
            T.evaluate(tx)

    R.function main(x: R.Tensor((8, 8), "float32")) -> R.Tensor((8, 8), "float32"):
        R.func_attr({"seen": True})
        with R.dataflow():
            lv = R.nn.relu(x)
            z = R.add(lv, R.const(1.0, "float32"))
            R.output(z)
        return z
"""


def _identity() -> None:
    with T.prim_func():
        T.func_name("identity")
        T.func_attr({"tir.noalias": True})
        a, n = T.arg("A", T.Buffer((8, 8), "float32")), T.arg("n", T.int32())
        b = IRBuilder.name("B", T.alloc_buffer((8, 8)))
        with T.grid(8, 8) as (i, j), T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            for name, variable in (("i", i), ("j", j), ("vi", vi), ("vj", vj)):
                IRBuilder.name(name, variable)
            T.where(i < n)
            with T.init():
                T.buffer_store(b, 0.0, [vi, vj])
            with T.If(vi == vj):
                with T.Then():
                    T.buffer_store(a, b[vi, vj] + 1.0, [vi, vj])
                with T.Else():
                    T.buffer_store(a, T.exp(b[vi, vj]), [vi, vj])
        with T.launch_thread("threadIdx.x", 8) as tx:
            IRBuilder.name("tx", tx)
            T.evaluate(tx)


def _main() -> None:
    with R.function():
        R.func_name("main")
        R.func_attr({"seen": True})
        x = R.arg("x", R.Tensor((8, 8), "float32"))
        with R.dataflow() as block:
            IRBuilder.name("z", z := R.emit(R.add(R.emit(R.nn.relu(x)), R.const(1.0, "float32"))))
            R.output(z)
        (result,) = block.output_vars
        R.func_ret_value(result)


def test_a_module_of_calls_is_that_of_its_text() -> None:
    with IRBuilder() as builder, I.ir_module():
        I.module_attrs({"version": 1})
        _identity()
        _main()
    module = builder.get()
    assert_structural_equal(module, tvms.parse(TEXT))
    assert module.script() == tvms.parse(TEXT).script()


def test_statements_stand_alone() -> None:
    with IRBuilder() as builder, T.serial(4) as i, T.While(i < 2), T.Assert(i > 0, "positive"):
        T.evaluate(i)
    assert str(builder.get()).split("\n")[0] == "for v in range(4):"
    assert relax.analysis.well_formed(tvms.parse(TEXT))


def test_builders_nest_and_end() -> None:
    with IRBuilder() as outer:
        with IRBuilder() as inner:
            assert IRBuilder.current() is inner
        assert IRBuilder.current() is outer
    with pytest.raises(ValueError, match=r"^no builder is open; open one: with IRBuilder\(\) as builder:$"):
        IRBuilder.current()


def test_misuse_is_refused_at_the_call() -> None:
    with IRBuilder(), pytest.raises(tvms.TvmsError) as caught:
        T.serial("x")
    (found,) = caught.value.diagnostics
    assert found.message == "argument 1, 'start' to T.serial: expected an expression, got 'x'"
    assert found.span is not None
    assert found.span.source.text[found.span.start : found.span.end] == 'T.serial("x")'
    with IRBuilder(), pytest.raises(ValueError, match=r"^no graph function is open; open one: with R\.function"):
        R.arg("x", R.Tensor((8,), "float32"))
