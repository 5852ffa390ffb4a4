"""What the dialect tvm-0.27 prints in its own words, and what it reads of them."""

from __future__ import annotations

import pytest
from tvms.dsl.load import parse
from tvms.dsl.round_trip import check_round_trip
from tvms.ir import tir
from tvms.ir.visit import walk

GRAPHS = {
    "layouts without separators": (
        'y = R.layout_transform(x, index_map=T.index_map(lambda i, j: (j, i)))',
        "R.layout_transform(x, index_map=T.index_map(lambda i, j: (j, i)), pad_value=None)",
    ),
    "take": ('y = R.take(x, R.const(1, "int64"), axis=0)', 'R.take(x, R.const(1, "int64"), axis=0)'),
    "take with a mode": (
        'y = R.take(x, R.const(1, "int64"), axis=0, mode="clip")',
        'R.take(x, R.const(1, "int64"), axis=0, mode="clip")',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_arguments_that_a_version_lacks_are_printed_only_if_they_matter(name: str) -> None:
    line, printed = GRAPHS[name]
    module = parse(f'R.function main(x: R.Tensor((2, 4), "float32")):\n    {line}\n    return y\n')
    assert printed in module.script("tvm-0.27")
    assert check_round_trip(module, name) == ()


@pytest.mark.parametrize("value", ["T.broadcast(A[0], 2)", "T.vectorlow(T.broadcast(A[0], 4))", "T.address_of(A[1])"])
def test_a_binding_without_a_typed_name_does_not_become_a_mutable_scalar(value: str) -> None:
    dtype = ', dtype="float32x2"' if "vectorlow" in value else ""
    value = f"{value[:-1]}{dtype})"
    module = parse(
        f'T.prim_func f(A: T.Buffer((4,), "float32")):\n    x = {value}\n    T.call_extern("int32", "use", x)\n'
    )
    assert "    x: T.let = T." in module.script("tvm-0.27")
    assert check_round_trip(module, "f") == ()


@pytest.mark.parametrize(
    ("call", "dtype"),
    [
        (
            'T.ptx_legacy.mma("m8n8k4", "row", "col", "fp16", "fp16", "fp32", A.data, 0, A.data, 0, B.data, 0, T.bool(False))',
            "void",
        ),
        ('T.ptx_legacy.ldmatrix(T.bool(False), 4, ".b16", A.data, 0, B.data, 0)', "float16"),
    ],
)
def test_matrix_instructions_may_leave_out_their_dtype(call: str, dtype: str) -> None:
    head = 'def f(A: T.Buffer((16,), "float16"), B: T.Buffer((16,), "float32")):'
    module = parse(f"@T.prim_func(s_tir=True)\n{head}\n    {call}\n")
    [found] = [node for node in walk(module["f"]) if isinstance(node, tir.Call)]
    assert found.dtype == dtype or dtype == "void"


def test_numbers_in_the_text_of_a_target_are_numbers() -> None:
    text = '@T.prim_func\ndef f(A: T.Buffer((1,), "float32")):\n    T.func_attr({"target": T.target("llvm -opt-level=2 -mcpu=native")})\n'
    target = parse(f"{text}    A[0] = T.float32(0)\n")["f"].attrs["target"]
    assert target.attrs == {"kind": "llvm", "opt-level": 2, "mcpu": "native"}
