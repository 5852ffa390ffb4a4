"""The builder of statements under TVM's name `tvms.tir.ir_builder`."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from tvms import te, tir


def test_the_running_sum_of_a_branch() -> None:
    ib = tir.ir_builder.create()
    n = te.size_var("n")
    source = tir.decl_buffer((8,), "float32", "source")
    target, start = ib.buffer_ptr(tir.decl_buffer((8,), "float32", "target")), ib.pointer("float32", name="start")
    total = ib.allocate("float32", (1,), name="total", scope="local")
    total[0] = start[0]
    half = ib.let("half", n // 2)
    with ib.for_range(0, n) as i:
        with ib.if_scope(ib.likely(i % 2 == 0)):
            total[0] += source[i]
        with ib.else_scope():
            total[0] += source[i] * 2.0
        target[i] = total[0] + half.astype("float32")
    func = tir.PrimFunc([source, target, start, n], ib.get())
    x = np.arange(8, dtype="float32")
    y, offset = np.zeros(8, "float32"), np.array([0.5], "float32")
    tvms.compile(tvms.IRModule.from_expr(func))["main"](x, y, offset, 8)
    assert y.tolist() == (np.cumsum(x * np.array([1, 2] * 4)) + 4.5).tolist()


def test_loops_have_kinds_names_and_dtypes() -> None:
    ib = tir.ir_builder.create()
    data = ib.pointer("int32", name="data")
    with ib.for_range(2, 5, kind="parallel") as i, ib.for_range(0, te.var("m", "int64")) as j:
        unrolled = ib.for_range(0, 2, kind="unroll")
        with unrolled as k:
            data[i] = 1
    with ib.for_range(0, 4, kind="vectorize") as lane:
        data[lane] = 2
    loop, vector = ib.get().seq
    names = [var.name for var in (i, j, k, lane)]
    assert names == ["i", "j", "k", "i_0"]
    assert isinstance(loop, tir.For)
    assert (loop.kind, loop.min.value, loop.extent.value) == (tir.ForKind.PARALLEL, 2, 3)
    assert loop.body.loop_var.dtype == "int64"
    assert vector.kind == tir.ForKind.VECTORIZED


def test_scopes_bound_attributes_and_loops_end() -> None:
    ib = tir.ir_builder.create()
    thread = te.thread_axis("threadIdx.x")
    data = ib.pointer("int32", name="data")
    with ib.new_scope():
        ib.scope_attr(thread, "thread_extent", 4)
        data[thread] = 0
    with ib.while_loop(data[0] < 3):
        data[0] += 1
    ib.emit(tir.call_extern("int32", "done"))
    first, second, last = ib.get().seq
    assert isinstance(first, tir.AttrStmt)
    assert (first.node, first.attr_key, first.body.indices[0]) == (thread, "thread_extent", thread.var)
    assert isinstance(second, tir.While)
    assert isinstance(last, tir.Evaluate)


def test_misuse_is_refused() -> None:
    ib = tir.ir_builder.create()
    data = ib.pointer("int32", name="data")
    with pytest.raises(ValueError, match="'data' holds int32, not float32"):
        data[0] = te.var("x", "float32")
    with pytest.raises(RuntimeError, match="can only follow an if_scope"):
        ib.else_scope()
    with pytest.raises(ValueError, match="a kind of loop among serial, parallel"):
        ib.for_range(0, 4, kind="thread")
    with ib.for_range(0, 4), pytest.raises(RuntimeError, match="inside construction scope"):
        ib.get()


def test_axes_of_threads_and_tags_of_computations() -> None:
    axis = te.thread_axis(32, "blockIdx.x", "bx")
    assert (axis.var.name, axis.thread_tag, axis.dom.extent.value) == ("bx", "blockIdx.x", 32)
    with pytest.raises(ValueError, match="expected a tag"):
        te.thread_axis(32)

    @te.tag_scope("double")
    def double(x: te.Tensor) -> te.Tensor:
        return te.compute(x.shape, lambda i: x[i] * 2.0, attrs={"a": 1})

    x = te.placeholder((4,))
    assert (double(x).op.tag, double(x).op.attrs) == ("double", {"a": 1})
    assert te.compute((4,), lambda i: x[i], tag="copy").op.tag == "copy"
    assert te.compute((4,), lambda i: x[i]).op.tag == ""


def test_conditions_may_be_python_bools() -> None:
    x = te.var("x")
    assert tvms.structural_equal(te.all(True, x < 1), te.all(x < 1))
    assert te.any(x < 1, True).value == 1
    for combine in (te.all, te.any):
        with pytest.raises(ValueError, match="expected at least one condition"):
            combine()
