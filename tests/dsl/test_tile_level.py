"""The tile level of TIRX: it is read, kept and printed, and the verifier refuses it."""

from __future__ import annotations

import pytest
import tvms
from tvms.dsl.load import parse
from tvms.dsl.round_trip import check_round_trip
from tvms.ir import tir
from tvms.ir.diagnostics import TvmsError
from tvms.ir.visit import walk

_HEAD = '@T.prim_func\ndef f(A: T.Buffer((8,), "float32"), B: T.Buffer((8, 4), "float32")):\n    T.device_entry()\n'

BODIES = {
    "scopes": "bx, by, bz = T.cta_id((4, 2, 1))\nlane = T.lane_id((32,))\nA[bx] = A[by + lane]",
    "a scope with a dtype": 'tx = T.thread_id((128,), dtype="uint32")\nA[tx] = T.float32(0.0)',
    "a hint": 'with T.hint("persistent", access=A[0:4]):\n    T.evaluate(A[0])\nA[0] = T.float32(1.0)',
    "instructions": 'T.ptx.bar.sync(0, 32)\nT.ptx["cp.async.bulk"](A.data, T.uint32(4), 1.5, None, True)',
    "a value": "T.ptx.mov.b64(T.ptx.SINK, A[0])",
    "operations on tiles": 'T.tile.copy(A[0:4], B[0:1, 0:4], dispatch="tma", workspace={"a": B})\nT.cta.fill(A, T.float32(0.0))',
    "a result": "A[0] = T.cuda.warp_sum(A[1], width=8)\nif T.cuda.elect_sync() == T.uint32(0):\n    A[2] = T.float32(0.0)",
    "layouts": "C = T.alloc_buffer((8, 4), layout=T.TileLayout(T.S[(8, 4):(4, 1)]))\nD = T.alloc_buffer((4,), layout=None)\n"
    "T.tile.copy(C[0:8, 0:4], D[0:4])",
    "an address": 'C = T.alloc_buffer((4,), scope="trn.sbuf", allocated_addr=(16,))\nT.nki.load(C[0], A[0])',
    "views": 'C = B.sub[1, 0:2]\nC[0] = T.float32(0.0)\nD = B.permute(1, 0)\nD[3, 7] = T.float32(0.0)\nE = A.view("float16")\n'
    "E[0] = T.float16(0.0)",
    "a view of a view": "C = B.sub[0:4].permute(1, 0)\nC[3, 3] = T.float32(0.0)",
    "layouts of views": "C = B.view(4, 8, layout=T.TileLayout(T.S[4, 8]))\nD = C.local(4, layout=T.TileLayout(T.S[4]))\n"
    "D[3] = T.float32(0.0)\nC[3, 7] = T.float32(0.0)",
    "tiles": "for w in range(2):\n    C = B.tile((0, (-1, 2, 2)), (1, (2, 2)))[:, w, :, 0, :]\n    C[3, 1] = T.float32(0.0)\n"
    "D = B.tile(0, (2, -1))[1, :]\nD[3, 3] = T.float32(0.0)",
    "rearranged": 'C = B.rearrange("(outer inner) tail -> outer (tail inner)", outer=2)\nC[1, 15] = T.float32(0.0)\n'
    'D = B.rearrange(pattern="(site i) t -> t i site", site=2)\nD[3, 3, 1] = T.float32(0.0)',
    "a lambda": "T.tile.select(B, B, 1.0, lambda i, j: i < j)",
    "an unrolled loop": "for i in T.serial(8, unroll=True):\n    T.cta.fill(A[i:i + 1], T.float32(0.0))",
}


def _text(name: str) -> str:
    return _HEAD + "".join(f"    {line}\n" for line in BODIES[name].splitlines())


@pytest.mark.parametrize("name", BODIES)
def test_it_is_the_same_after_printing_in_each_dialect(name: str) -> None:
    assert check_round_trip(parse(_text(name), name), name) == ()


@pytest.mark.parametrize(
    ("view", "shape"),
    [
        ("B.view(2, -1)", (2, 16)),
        ("B.tile((0, (-1, 2, 2)), (1, (2, 2)))[:, 1, :, 0, :]", (4, 2)),
        ("B.tile((-1, (2, -1)))[:, 0]", (8, 2)),
        ("B.tile((0, (2, 4)))[1, 3]", (4,)),
        ("B.tile(0, (2, -1))[1, :]", (4, 4)),
        ('B.rearrange("(o i) t -> o (t i)", o=2)', (2, 16)),
        ('B.rearrange("r c -> c r")', (4, 8)),
    ],
)
def test_shapes_of_views_follow_from_their_factors(view: str, shape: tuple[int, ...]) -> None:
    module = parse(f"{_HEAD}    C = {view}\n    T.evaluate(C.elem_offset_of({list(shape)}))\n", "f.py")
    [declared] = [node.buffer for node in walk(module["f"]) if isinstance(node, tir.DeclBuffer)]
    assert [extent.value for extent in declared.shape if isinstance(extent, tir.IntImm)] == list(shape)


@pytest.mark.parametrize(
    ("view", "code", "message"),
    [
        ("B.view(-1, -1)", "E0325", "more than one extent is -1"),
        ("B.tile((0, (-1, 2)))[0]", "E0325", "the axes are split into 2 factors, but 1 index given"),
        ("B.tile((0, (-1, 2)))[0, 0:1]", "E0325", "a factor is kept whole or picked"),
        ("B.tile((2, (-1, 2)))[0, :]", "E0325", "axis 2 does not exist in 2 axes"),
        ("B.tile((0, (-1, 2)), (-2, (2, 4)))[0, :, :, 1]", "E0325", "axis -2 is split twice"),
        ("B.tile(4)[0]", "E0325", "expected an axis and its factors"),
        (
            'B.rearrange("a b, b a")',
            "E0325",
            "the pattern 'a b, b a' does not have the same names on both sides of '->'",
        ),
        ('B.rearrange("a -> a")', "E0325", "the pattern has 1 axis, but 'B' 2"),
        ("B.rearrange()", "E0105", "rearrange takes one pattern"),
    ],
)
def test_wrong_views_are_refused(view: str, code: str, message: str) -> None:
    with pytest.raises(TvmsError) as caught:
        parse(f"{_HEAD}    C = {view}\n    T.evaluate(C[0])\n", "f.py")
    assert [(found.code, found.message) for found in caught.value.diagnostics] == [(code, message)]


def _printed(body: str) -> list[str]:
    text = _HEAD + "".join(f"    {line}\n" for line in body.splitlines())
    return parse(text, "f.py").script("tvm-0.27").splitlines()[6:]


@pytest.mark.parametrize(
    ("body", "printed"),
    [
        ("bx, by = T.cta_id([4, 2])\nA[bx] = A[by]", ["    bx, by = T.cta_id((4, 2))", "    A[bx] = A[by]"]),
        ("Tx.cta.copy(A, A)\nTx.copy(A, A)", ["    T.cta.copy(A, A)", "    T.tile.copy(A, A)"]),
        (
            'C = T.alloc_shared((128,), align=128)\nD = T.alloc_buffer((4,), scope="shared", layout=None)\nT.ptx.ld(C.data, D.data)',
            [
                '    C = T.alloc_buffer((128,), scope="shared", align=128)',
                '    D = T.alloc_buffer((4,), scope="shared", layout=None)',
                "    T.ptx.ld(C.data, D.data)",
            ],
        ),
        (
            'x = T.local_scalar("int32")\nx = T.cuda.ffs_u32(T.uint32(8))',
            ['    x = T.alloc_buffer((1,), "int32", scope="local")', "    x[0] = T.cuda.ffs_u32(T.uint32(8))"],
        ),
        ("Tx.copy(B[0], A)", ["    T.tile.copy(B[0:1, 0:4], A)"]),
        ("x: T.float32[8]\nx[0] = A[0]", ['    x = T.alloc_buffer((8,), scope="local")', "    x[0] = A[0]"]),
        ("T.ptx.st(A.ptr_to([1]))", ["    T.ptx.st(T.address_of(A[1]))"]),
    ],
)
def test_forms_with_an_equivalent_become_it(body: str, printed: list[str]) -> None:
    assert _printed(body) == printed


def test_indices_of_threads_are_bound_by_one_call() -> None:
    module = parse(_text("scopes"), "f.py")
    lets = [node for node in walk(module["f"]) if isinstance(node, tir.LetStmt)]
    assert [(node.var.name, node.value.name) for node in lets if isinstance(node.value, tir.TileCall)] == [
        ("bx", "cta_id"), ("by", "cta_id"), ("bz", "cta_id"), ("lane", "lane_id"),
    ]  # fmt: skip


def test_the_verifier_says_that_it_is_not_compiled() -> None:
    text = _HEAD.replace("    T.device_entry()\n", "") + "    T.cta.fill(A, T.float32(0))\n"
    [found] = tvms.verify(parse(text, "f.py"))
    assert (
        str(TvmsError(found))
        == """error[E0445]: T.cta.fill belongs to the tile level of TIRX, which is not compiled
  --> f.py:3:5
   |
 3 |     T.cta.fill(A, T.float32(0))
   |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^
   = help: write the kernel with loops of T.thread_binding, such as thread="blockIdx.x", and compute in plain stores"""
    )


def test_it_is_not_executed() -> None:
    with pytest.raises(TvmsError) as caught:
        tvms.compile(parse(_text("instructions"), "f.py"))
    assert caught.value.diagnostics[0].code == "E0445"


def test_a_misspelt_form_is_reported() -> None:
    with pytest.raises(TvmsError) as caught:
        parse(_HEAD + "    bx = T.cta_ib([4])\n", "f.py")
    assert caught.value.diagnostics[0].message == "'T' has no form 'cta_ib'"


def test_a_head_keeps_whether_the_function_may_have_blocks() -> None:
    module = parse(_text("instructions"), "f.py")
    assert "@T.prim_func\n" in module.script("tvm-0.27")
    assert "T.prim_func(s_tir=False) f(" in module.script()
    assert "@T.prim_func\n" in parse(module.script(), "f.tvms").script("tvm-0.27")
    again = parse(_text("instructions").replace("@T.prim_func", "@T.prim_func(s_tir=True)"), "f.py")
    assert "@T.prim_func(s_tir=True)\n" in again.script("tvm-0.27")


def test_memory_may_be_given_by_an_address() -> None:
    text = (
        _HEAD.replace("    T.device_entry()\n", "")
        + "    C = T.decl_buffer((4,), data=T.address_of(A[4]))\n    C[0] = A[1]\n"
    )
    module = parse(text, "f.py")
    assert check_round_trip(module, "f") == ()
    assert (
        '    C_data: T.handle("float32", "global") = T.address_of(A[4])\n    C = T.decl_buffer((4,), data=C_data)'
        in module.script()
    )


@pytest.mark.parametrize(
    ("buffer", "view", "message"),
    [
        *(
            ("(8, 4)", f"permute({axes})", f"permute of 'A': expected each axis from 0 to 1 once, got [{axes}]")
            for axes in ("1, 2", "0", "1, 1", "-1, 0")
        ),
        ("()", 'view("float16")', "view of 'A': it has no axis whose size another dtype could change"),
    ],
)
def test_views_of_axes_that_do_not_exist_are_refused(buffer: str, view: str, message: str) -> None:
    with pytest.raises(TvmsError) as caught:
        parse(f'T.prim_func f(A: T.Buffer({buffer}, "float32")):\n    B = A.{view}\n    T.evaluate(0)\n')
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == ("E0325", message)
