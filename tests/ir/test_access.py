"""Detected regions: as TVM finds them in the usual cases, and never smaller than what a run touches."""

import itertools
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tvms.dsl.load import parse
from tvms.ir import make, tir
from tvms.ir.access import detect_regions, full_region
from tvms.ir.dtype import int_range
from tvms.ir.int_set import Interval, evaluate, from_range, is_at_most
from tvms.ir.linear import difference, linear, simplify
from tvms.ir.visit import substitute, walk

sys.path.insert(0, str(Path(__file__).parent))
from ir_programs import X, Y, Z, deep, expressions

HEAD = 'T.prim_func f(A: T.Buffer((128, 128), "float32"), B: T.Buffer((128,), "float32"), n: T.int32, idx: T.Buffer((128,), "int32")):\n'


def regions(body: str) -> tuple[str, str]:
    """The reads and the writes of the block named `b` that has `body`, as text."""
    lines = "".join(f"            {line}\n" for line in body.splitlines())
    head = '    for i, j in T.grid(128, 128):\n        with T.block("b"):\n            vi, vj = T.axis.remap("SS", [i, j])\n'
    module = parse(HEAD + head + lines)
    (block,) = [node for node in walk(module) if isinstance(node, tir.Block) and node.name_hint == "b"]
    return ", ".join(map(str, block.reads)), ", ".join(map(str, block.writes))


@pytest.mark.parametrize(
    ("body", "reads", "writes"),
    [
        ("B[vi] = A[vi, vj]", "A[vi, vj]", "B[vi]"),
        ("for k in range(4):\n    B[vi * 4 + k] = A[vi, vj]", "A[vi, vj]", "B[vi * 4:vi * 4 + 4]"),
        ("for k in range(16):\n    B[vi] = B[vi] + A[vi, k * 8 + 1]", "B[vi], A[vi, 1:122]", "B[vi]"),
        ("with T.init():\n    B[vi] = T.float32(0)\nB[vi] = B[vi] + A[vi, vj]", "A[vi, vj]", "B[vi]"),
        ("B[vi] = A[vi, vj] + A[vi + 1, vj]", "A[vi:vi + 2, vj]", "B[vi]"),
        ("B[vi] = A[idx[vi], vj]", "A[idx[vi], vj], idx[vi]", "B[vi]"),
        ("for k in range(n):\n    B[k] = A[vi, k + 1]", "A[vi, 1:1 + n]", "B[0:n]"),
        ("for k in range(8):\n    B[(vi * 8 + k) // 8] = A[vi, (vj * 8 + k) % 8]", "A[vi, 0:8]", "B[vi * 8 // 8]"),
        ("for k in range(64):\n    if k < 4:\n        B[k] = A[vi, vj]", "A[vi, vj]", "B[0:4]"),
        ("for k in range(2):\n    B[k] = T.if_then_else(k <= 4, A[vi, k], T.float32(idx[k]))", "A[vi, 0:2], idx[5:5]", "B[0:2]"),
        ("for k in range(8):\n    B[T.max(k - 2, 0)] = A[vi, 8 - k]", "A[vi, 1:9]", "B[0:6]"),
        ("for k in range(8):\n    B[k * k] = A[vi, idx[k]]", "A[vi, 0:128], idx[0:8]", "B[0:128]"),
        ("x: T.int32 = vi + 1\nB[x] = A[x, vj]", "A[vi + 1, vj]", "B[vi + 1]"),
        ("T.evaluate(T.tvm_access_ptr(T.type_annotation(\"float32\"), B.data, 0, 128, 1))", "B[0:128]", ""),
    ],
)  # fmt: skip
def test_regions_read_as_tvms(body: str, reads: str, writes: str) -> None:
    assert regions(body) == (reads, writes)


def test_inner_blocks_count_by_what_they_declare() -> None:
    inner = 'for k in range(4):\n    with T.block("inner"):\n        vk = T.axis.spatial(128, vi * 4 + k)\n'
    body = inner + "        T.reads(A[vk, 0:64])\n        T.writes(B[vk])\n        T.evaluate(0)"
    assert regions(body) == ("A[vi * 4:vi * 4 + 4, 0:64]", "B[vi * 4:vi * 4 + 4]")


def test_pointers_are_opaque_and_local_buffers_do_not_count() -> None:
    data = tir.Var("handle", "p", tir.PointerType(tir.PrimType("float32"), "global"))
    buffer = tir.Buffer(data, "float32", (make.const(8),), "P")
    local = tir.Buffer(tir.Var("handle", "q"), "float32", (make.const(8),), "Q")
    store = tir.BufferStore(local, make.const(0.0), (make.const(0),))
    use = tir.Evaluate(make.call("tir.call_extern", (tir.StringImm("handle", "f"), data), "int32"))
    block = tir.Block((), (), (), "b", tir.SeqStmt((store, use)), alloc_buffers=(local,))
    reads, writes, opaque = detect_regions(block, [buffer])
    assert (reads, writes) == ((), ())
    assert [region.buffer for region in opaque] == [buffer]
    assert [str(axis.extent.value) for axis in opaque[0].region] == ["8"]  # type: ignore[attr-defined]
    assert len(full_region(buffer).region) == 1


def value(node: tir.PrimExpr, at: dict[tir.Var, int]) -> int:
    """What `node` is where its variables have these values."""
    match node:
        case tir.IntImm():
            return node.value
        case tir.Var():
            return at[node]
        case tir.Let():
            return value(node.body, {**at, node.var: value(node.value, at)})
        case tir.Cast():
            low, high = int_range(node.dtype)
            return (value(node.value, at) - low) % (high - low + 1) + low
        case tir.Call():
            (argument,) = [value(arg, at) for arg in node.args]  # type: ignore[arg-type]
            return 32 - (argument & 0xFFFFFFFF).bit_length()
        case tir.BinaryOp():
            a, b = value(node.a, at), value(node.b, at)
            return {
                tir.Add: a + b, tir.Sub: a - b, tir.Mul: a * b, tir.Min: min(a, b), tir.Max: max(a, b),
                tir.FloorDiv: a // b if b else 0, tir.FloorMod: a % b if b else 0,
            }[type(node)]  # fmt: skip
        case _:
            raise AssertionError(node)


divisions = st.builds(
    lambda kind, a, b: kind("int32", a, make.const(b)),
    st.sampled_from([tir.FloorDiv, tir.FloorMod]), expressions, st.integers(-5, 5).filter(bool),
)  # fmt: skip
points = st.fixed_dictionaries({X: st.integers(-4, 4), Y: st.integers(-4, 4), Z: st.integers(-4, 4)})


@given(st.one_of(expressions, divisions), points)
def test_linear_forms_keep_the_value(node: tir.PrimExpr, at: dict[tir.Var, int]) -> None:
    form = linear(node)
    assert value(node, at) == form.constant + sum(factor * value(term, at) for term, factor in form.factors())
    assert value(simplify(node), at) == value(node, at)
    assert difference(node, node) == 0


@given(expressions, expressions, points)
def test_known_orders_hold(a: tir.PrimExpr, b: tir.PrimExpr, at: dict[tir.Var, int]) -> None:
    if is_at_most(a, b):
        assert value(a, at) <= value(b, at)


@given(st.one_of(expressions, divisions), points, st.integers(1, 4))
def test_intervals_contain_every_value(node: tir.PrimExpr, at: dict[tir.Var, int], extent: int) -> None:
    contains_every_value(node, at, extent)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint32", "int64", "uint64"])
@given(st.sampled_from([1, 40, -100]), st.one_of(st.sampled_from([X, Y]), expressions), points, st.integers(2, 4))
def test_intervals_of_casts_contain_every_value(
    dtype: str, factor: int, inner: tir.PrimExpr, at: dict[tir.Var, int], extent: int
) -> None:
    node = tir.Cast(dtype, make.mul(inner, factor))
    contains_every_value(node, at, extent)
    contains_every_value(tir.Cast("int32", node), at, extent)


def contains_every_value(node: tir.PrimExpr, at: dict[tir.Var, int], extent: int) -> None:
    """Check the interval of `node` where X and Y have `extent` values from those in `at` on."""
    domains = {var: from_range(make.const(at[var]), make.const(extent)) for var in (X, Y)}
    interval = evaluate(node, domains)
    for x, y in itertools.product(range(extent), repeat=2):
        here = {X: at[X] + x, Y: at[Y] + y, Z: at[Z]}
        assert interval.min is None or value(interval.min, here) <= value(node, here)
        assert interval.max is None or value(node, here) <= value(interval.max, here)


def test_points_stay_as_written() -> None:
    node = make.add(make.mul(X, 4), Y)
    assert evaluate(node, {}) == Interval(node, node)
    assert substitute(node, {}) is node


@pytest.mark.parametrize("first", ["J[vi] = 3 - vi", "K[vi] = 3 - vi"])
def test_bounds_in_memory_that_the_block_changes_are_unknown(first: str) -> None:
    text = f"""
T.prim_func f(A: T.Buffer((4,), "float32"), J: T.Buffer((4,), "int32"), K: T.Buffer((4,), "int32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            {first}
            B[vi] = A[J[vi] % 4]
"""
    (block,) = [node for node in walk(parse(text).functions["f"]) if isinstance(node, tir.Block) and node.iter_vars]
    assert str(block.reads[0]) == ("A[0:4]" if first.startswith("J") else "A[J[vi] % 4]")


def test_any_depth() -> None:
    buffer = tir.Buffer(tir.Var("handle", "p"), "int32", (make.const(8),), "P")
    block = tir.Block((), (), (), "b", tir.BufferStore(buffer, deep(10_000, X), (deep(10_000, Y),)))
    assert len(detect_regions(block, [buffer])[1]) == 1
