"""The table of intrinsics: every row is whole, found by both of its names, and builds calls of its arity and dtype."""

import pytest
from tvms.ir import make, tir
from tvms.ir.diagnostics import TvmsError
from tvms.ir.ops import tir as ops
from tvms.ir.ops.tir_table import check_row

ROWS = list(ops.INTRINSICS.values())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_row(row: ops.Intrinsic) -> None:
    assert check_row(row) is None
    assert ops.get(row.name) is ops.find_script(row.script) is row
    assert row.doc.endswith(".")
    least, most = row.arity
    args = [make.const(1.5)] * least
    call = ops.build(row, args, dtype="float16" if row.dtype_location != "none" else None)
    assert call.op.name == row.name  # type: ignore[union-attr]
    assert least <= len(call.args) <= (most if most is not None else least)
    if row.dtype_location != "none":
        assert call.dtype == "float16"
    if most is not None:
        with pytest.raises(TvmsError) as caught:
            ops.build(row, [make.const(0)] * (most + 1), dtype="int32")
        assert caught.value.diagnostics[0].code == "E0105"


def test_the_calls_of_packed_functions_have_two_names() -> None:
    assert ops.find_script("tvm_call_packed") is ops.find_script("call_packed") is ops.get("tir.tvm_call_packed")


def test_arguments_by_name_and_defaults() -> None:
    row = ops.get("tir.simdgroup_load")
    assert row is not None
    zero = make.const(0)
    call = ops.build(row, [zero, zero, zero], {"stride": zero, "transpose_matrix": make.const(True)})
    assert [getattr(arg, "value", None) for arg in call.args] == [0, 0, 0, 0, 8, 8, 1]
    with pytest.raises(TvmsError) as caught:
        ops.build(row, [zero, zero, zero], {"strides": zero})
    assert caught.value.diagnostics[0].message == "T.simdgroup_load: unknown argument 'strides'"


def test_vectors_keep_their_lanes() -> None:
    row = ops.get("tir.isnan")
    assert row is not None
    assert ops.build(row, [tir.Var("float32x4", "x")]).dtype == "boolx4"
