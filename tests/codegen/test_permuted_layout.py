"""`InjectPermutedLayout`: which memory is permuted, and that results stay."""

from __future__ import annotations

from textwrap import dedent, indent

import numpy as np
import pytest
import tvms
from tvms.ir import tir
from tvms.ir.base import IRModule
from tvms.ir.interp import run
from tvms.ir.programs import as_module
from tvms.ir.visit import walk
from tvms.tir import transform

BODY = """
with T.block("around"):
    T.reads(A[0:8, 0:WIDTH])
    T.writes(B[0:8, 0:WIDTH])
    S = T.alloc_buffer((8, WIDTH), "float16", scope="shared")
    for i, j in T.grid(8, WIDTH):
        with T.block("load"):
            T.reads(A[i, j])
            T.writes(S[i, 0:WIDTH])
            T.block_attr({"permuted_layout": 1})
            S[i, j] = A[i, j]
    for i, j in T.grid(8, WIDTH):
        with T.block("use"):
            T.reads(S[i, 0:WIDTH])
            T.writes(B[i, j])
            T.block_attr({"permuted_layout": "s2l"})
            B[i, j] = S[i, j] * T.float16(2)
"""


def module(width: int, body: str = BODY) -> IRModule:
    head = f'T.prim_func main(A: T.Buffer((8, {width}), "float16"), B: T.Buffer((8, {width}), "float16")):'
    text = dedent(body).strip().replace("WIDTH", str(width))
    return as_module(tvms.parse(f"#tvms 1\n{head}\n{indent(text, '    ')}\n"))


def same_results(before: IRModule, after: IRModule, width: int) -> None:
    a = np.arange(8 * width, dtype="float16").reshape(8, width)
    results = []
    for version in (before, after):
        b = np.zeros((8, width), "float16")
        run(version, "main", [a, b])
        results.append(b)
    np.testing.assert_array_equal(results[1], results[0])
    assert results[0].any()


@pytest.mark.parametrize(("width", "turn"), [(64, "i"), (32, "i // 2"), (96, "i // 2"), (128, "i")])
def test_groups_of_elements_change_places(width: int, turn: str) -> None:
    before = module(width)
    after = transform.InjectPermutedLayout()(before)
    text = after.script()
    assert f"S[i, T.bitwise_xor(j // 8, {turn}) * 8 + j % 8]" in text
    assert "permuted_layout" not in text
    same_results(before, after, width)
    stored = [
        node.indices for node in walk(after["main"]) if isinstance(node, tir.BufferStore) and node.buffer.name == "S"
    ]
    assert len(stored) == 1


@pytest.mark.parametrize(
    ("width", "old", "new"),
    [
        (64, '{"permuted_layout": "s2l"}', '{"other": 1}'),
        (64, '{"permuted_layout": "s2l"}', '{"permuted_layout": ""}'),
        (64, 'scope="shared"', 'scope="local"'),
        (40, "S", "S"),
    ],
)
def test_memory_with_other_uses_stays(width: int, old: str, new: str) -> None:
    before = module(width, BODY.replace(old, new))
    after = transform.InjectPermutedLayout()(before)
    assert "S[i, j] = " in after.script()
    assert "bitwise_xor" not in after.script()
    same_results(before, after, width)


def test_programs_without_the_annotation_stay() -> None:
    before = module(64, BODY.replace("permuted_layout", "other"))
    assert transform.InjectPermutedLayout()(before).script() == before.script()


MATRIX = """
with T.block("around"):
    T.reads(A[0:8, 0:64])
    T.writes(B[0:8, 0:64])
    S = T.alloc_buffer((8, 64), "DTYPE", scope="shared")
    M = T.alloc_buffer((8,), "DTYPE", scope="local")
    with T.block("load"):
        T.reads(S[0:8, 0:64])
        T.writes(M[0:8], S[1, 8])
        T.block_attr({"permuted_layout": 1})
        S[1, 8] = T.cast(A[1, 8], "DTYPE")
        T.ptx_ldmatrix("DTYPE", T.bool(False), 4, ".b16", M.data, 0, T.tvm_access_ptr(T.type_annotation("DTYPE"), S.data, PLACE, 512, MASK), 64)
"""


@pytest.mark.parametrize(
    ("dtype", "place", "mask", "found"),
    [
        ("float16", "16", "1", True), ("float16", "17", "1", False), ("float16", "16", "3", False), ("float32", "16", "1", False),
    ],
)  # fmt: skip
def test_matrices_are_loaded_from_permuted_rows(dtype: str, place: str, mask: str, found: bool) -> None:
    body = MATRIX.replace("DTYPE", dtype).replace("PLACE", place).replace("MASK", mask)
    text = transform.InjectPermutedLayout()(module(64, body)).script()
    assert ("S.data, 88, 512, 1), 0)" in text) is found
    assert ("S[1, 0] = " in text) is found
