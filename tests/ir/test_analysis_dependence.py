"""Dependences and regions: as every iteration shows them, with counterexamples that do meet."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tvms.dsl.load import parse
from tvms.ir import make, tir
from tvms.ir.analysis.dependence import (
    DependenceKind,
    accesses,
    carried,
    dependences,
    insertion_points,
    is_order_free,
    is_parallel,
)
from tvms.ir.analysis.evaluate import evaluate
from tvms.ir.analysis.proof import Verdict
from tvms.ir.analysis.regions import RegionSet, are_disjoint, hull, is_covered, lies_in, relaxed
from tvms.ir.te import expr as te
from tvms.ir.visit import walk

HEAD = 'T.prim_func f(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32"), n: T.int32):\n'
MATMUL = """
T.prim_func f(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    D = T.alloc_buffer((16, 16))
    for i, j, k in T.grid(16, 16, 16):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                D[vi, vj] = T.float32(0)
            D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]
    for x, y in T.grid(16, 16):
        with T.block("relu"):
            vi, vj = T.axis.remap("SS", [x, y])
            C[vi, vj] = T.max(D[vi, vj], T.float32(0))
"""


def loops(text: str) -> dict[str, tir.For]:
    """The loops of a function by the names of their variables."""
    return {node.loop_var.name: node for node in walk(parse(text)) if isinstance(node, tir.For)}


def boxes(region: tuple[tir.Range, ...], at: dict[tir.Var, int]) -> set[tuple[int, ...]]:
    sides = [(evaluate(axis.min, at) or 0, evaluate(axis.extent, at) or 0) for axis in region]
    return set(itertools.product(*[range(start, start + extent) for start, extent in sides]))


def test_loops_are_parallel_where_no_two_iterations_meet(random: np.random.Generator) -> None:
    for _ in range(30):
        a, b, c, d = (int(n) for n in random.integers(0, 5, 4))
        division = f"({a} * i + {b} * j) // {1 + c}"
        guard = random.choice(["i < 8", f"i + j < {3 + d}", f"i % 2 == {d % 2}"])
        text = f"{HEAD}    for i, j in T.grid(6, 3):\n        if {guard}:\n            A[{division} + {d}] = A[{c} * i + j + {b}]\n"
        loop = loops(text)["i"]
        write, read = [next(x for x in accesses(loop) if x.is_write is kind) for kind in (True, False)]
        i, j = loop.loop_var, write.loops[1].loop_var
        touched: dict[int, list[set[tuple[int, ...]]]] = {}
        for x, y in itertools.product(range(6), range(3)):
            at = {i: x, j: y}
            if all(evaluate(condition, at) for condition in write.conditions):
                reads, writes = touched.setdefault(x, [set(), set()])
                reads |= boxes(read.region, at)
                writes |= boxes(write.region, at)
        clash = any(
            mine[1] & (other[0] | other[1]) for x, mine in touched.items() for z, other in touched.items() if x != z
        )
        assert is_parallel(loop) is not clash, text
        assert all(dependence.is_certain for dependence in carried(loop))


def test_reductions_run_in_any_order_but_not_at_once() -> None:
    found = loops(MATMUL)
    assert [is_parallel(found[name]) for name in "ijkxy"] == [True, True, False, True, True]
    assert all(is_order_free(loop) for loop in found.values())
    (dependence,) = carried(found["k"])
    assert dependence.kind is DependenceKind.WAW
    (function,) = [node for node in walk(parse(MATMUL)) if isinstance(node, tir.PrimFunc)]
    assert [
        (d.kind.name, d.source.statement.name_hint, d.sink.statement.name_hint) for d in dependences(function.body)
    ] == [  # type: ignore[union-attr]
        ("WAW", "matmul", "matmul"),
        ("RAW", "matmul", "relu"),
    ]


@pytest.mark.parametrize(
    ("body", "parallel"),
    [
        ("for i in range(100):\n        A[i + 1] = A[i]", False),
        ("for i in range(100):\n        A[i * 2] = A[i * 2 + 1]", True),
        ("for i in range(n):\n        A[i] = A[i + n]", True),
        ("for i in range(n):\n        A[i * n] = A[i]", False),
        ("for i in range(100):\n        A[T.Cast(\"int32\", B[i])] = B[i]", False),
        ("for i in range(100):\n        A[0] = B[i]", False),
        ("for i in range(100):\n        t: T.int32 = 100 - i\n        A[t + i] = B[i]", False),
        ("for i in range(100):\n        t: T.int32 = 100 - i\n        A[t] = B[i]", True),
        ("C = T.decl_buffer((256,), \"float32\", data=A.data)\n    for i in range(100):\n        A[i] = C[i + 1]", False),
        ("N = T.alloc_buffer((1,), \"int32\")\n    for i in range(100):\n        N[0] = 100 - i\n        A[N[0] + i] = B[i]", False),
    ],
)  # fmt: skip
def test_symbols_and_memory(body: str, parallel: bool) -> None:
    assert is_parallel(loops(f"{HEAD}    {body}\n")["i"]) is parallel


@pytest.mark.parametrize(
    ("length", "index", "parallel"), [(2, "i", True), (2, "x1", True), (40, "i", True), (40, "x39", False)]
)
def test_the_values_of_lets_are_known_unless_they_are_long(length: int, index: str, parallel: bool) -> None:
    """Each value is twice the one before, so that the last one of 40 in full is as long as 2 ** 40 variables."""
    names = ["i", *(f"x{count}" for count in range(length))]
    lets = "".join(
        f"        {name}: T.let[T.int32] = {before} + {before}\n" for before, name in itertools.pairwise(names)
    )
    text = f"{HEAD}    for i in range(8):\n{lets}        A[{index}] = B[{index}] + T.cast({names[-1]}, 'float32')\n"
    assert is_parallel(loops(text)["i"]) == parallel


def test_a_statement_stands_after_what_it_reads_and_before_what_reads_it() -> None:
    rows = ["A[i] = B[i]", "B[i + 128] = A[i]", "A[i + 1] = B[i]"]
    text = HEAD + "".join(f"    for i in range(100):\n        {row}\n" for row in rows)
    sequence = [node for node in walk(parse(text)) if isinstance(node, tir.For)]
    buffers = {
        node.buffer.name: node.buffer
        for node in walk(sequence[0])
        if isinstance(node, tir.BufferStore | tir.BufferLoad)
    }
    zero = make.const(0)
    new = tir.BufferStore(buffers["B"], make.buffer_load(buffers["A"], (zero,)), (zero,))
    assert list(insertion_points(sequence, new)) == []
    only_reads = tir.Evaluate(make.buffer_load(buffers["B"], (zero,)))
    assert list(insertion_points(sequence, only_reads)) == [2, 3]


def test_regions() -> None:
    i, j, n = te.var("i"), te.var("j"), te.size_var("n")
    rows = {i: tir.Range(make.const(0), make.const(8))}
    tile = (tir.Range((i * 16), make.const(16)), tir.Range(make.const(0), n))
    shape = (make.const(128), n)
    whole = relaxed(tile, shape, rows)  # type: ignore[arg-type]
    assert [(str(axis.min), str(axis.extent)) for axis in whole] == [("0", "128"), ("0", "n")]
    assert lies_in(tile, whole, rows).verdict is Verdict.PROVEN  # type: ignore[arg-type]
    shifted = (tir.Range((i * 16 + 16), make.const(16)), tile[1])
    assert are_disjoint(tile, shifted).verdict is Verdict.PROVEN
    assert str(hull([tile, shifted], shape)[0].extent) == "32"
    element = (tir.Range((j + 1), make.const(1)),)
    wanted = RegionSet(element, {j: tir.Range(make.const(0), make.const(128))})  # type: ignore[dict-item]
    tiles = RegionSet((tile[0],), rows)  # type: ignore[arg-type]
    proof = is_covered(wanted, [tiles])
    assert proof.verdict is Verdict.REFUTED
    last = RegionSet((tir.Range(make.const(128), make.const(1)),))
    assert is_covered(wanted, [tiles, last]).verdict is Verdict.PROVEN
    odd = RegionSet(tiles.region, rows, ((i % 2 < 1),))  # type: ignore[arg-type]
    assert is_covered(tiles, [odd]).verdict is Verdict.REFUTED


def test_tiles_fill_a_box() -> None:
    """Indices of many nested tiles take all values; overlapping ones and those with a gap are decided in general."""
    loops = [te.var(f"i{number}") for number in range(6)]
    sizes = [8, 8, 2, 8, 8, 2]
    domains = {loop: tir.Range(make.const(0), make.const(size)) for loop, size in zip(loops, sizes, strict=True)}
    a, b, c, d, e, f = loops
    rows, columns = a * 16 + b * 2 + c, d * 16 + e * 2 + f
    box = tuple([tir.Range(make.const(0), make.const(128))] * 2)

    def verdict(*indices: object, box: tuple[tir.Range, ...] = box) -> Verdict:
        point = tuple([tir.Range(index, make.const(1)) for index in indices])  # type: ignore[arg-type]
        return is_covered(RegionSet(box), [RegionSet(point, domains)]).verdict  # type: ignore[arg-type]

    assert verdict(rows, columns) is Verdict.PROVEN
    assert verdict((rows * 128 + columns) // 128, (rows * 128 + columns) % 128) is Verdict.PROVEN
    assert verdict(rows, rows) is not Verdict.PROVEN
    assert verdict(rows, columns + 1) is not Verdict.PROVEN
    assert verdict(rows, a * 16 + e * 2) is not Verdict.PROVEN
    wider = (box[0], tir.Range(make.const(0), make.const(129)))
    assert verdict(rows, columns, box=wider) is not Verdict.PROVEN
    empty = {**domains, f: tir.Range(make.const(0), make.const(0))}
    point = (tir.Range(rows, make.const(1)), tir.Range(d * 16 + e * 2, make.const(1)))
    assert is_covered(RegionSet(box), [RegionSet(point, empty)]).verdict is not Verdict.PROVEN  # type: ignore[arg-type]
