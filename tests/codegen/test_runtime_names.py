"""The names of `tvms.runtime`: dtypes as values, and arrays as bytes in TVM's format."""

from __future__ import annotations

import random
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import tvms
from tvms.runtime import DataType, DataTypeCode

SEED = random.randrange(2**32)
DTYPES = ("int8", "uint16", "int64", "float16", "float32", "float64", "bool", "bfloat16", "float8_e4m3fn")
SAVED_BY_TVM = bytes.fromhex(
    "b79c04054f8de5f70000000000000000020000000000000001000000000000006102000000000000006262020000000000000"
    "03fa1b496f0405edd00000000000000000100000000000000010000000220010003000000000000000c000000000000000000"
    "00000000803f000000403fa1b496f0405edd00000000000000000100000000000000020000000608010001000000000000000"
    "20000000000000002000000000000000100"
)
"""What apache-tvm 0.27 writes for `ARRAYS`."""
ARRAYS = {"a": np.arange(3, dtype="float32"), "bb": np.array([[True, False]])}


def test_bytes_are_those_of_tvm() -> None:
    assert tvms.runtime.save_param_dict(ARRAYS) == SAVED_BY_TVM


def test_saved_arrays_are_loaded_as_they_were(tmp_path: Path) -> None:
    print(f"TVMS_SEED={SEED}")
    numbers = np.random.default_rng(SEED)
    shapes: list[tuple[int, ...]] = [(), (0, 3), (5,), (2, 3, 4)]
    given = {
        f"{dtype} {shape}": numbers.integers(0, 2, shape).astype(getattr(ml_dtypes, dtype, dtype))
        for dtype in DTYPES
        for shape in shapes
    }
    given["strided"] = np.arange(12).reshape(3, 4).T
    tvms.runtime.save_param_dict_to_file(given, tmp_path / "params")
    loaded = tvms.runtime.load_param_dict_from_file(tmp_path / "params")
    assert list(loaded) == list(given)
    for name, array in given.items():
        assert loaded[name].dtype == array.dtype, name
        np.testing.assert_array_equal(loaded[name].numpy(), array, name)


def test_every_shorter_prefix_is_refused() -> None:
    for length in range(len(SAVED_BY_TVM)):
        with pytest.raises(tvms.TvmsError, match=r"error\[E0809\]"):
            tvms.runtime.load_param_dict(SAVED_BY_TVM[:length])


def test_damage_is_reported() -> None:
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.runtime.load_param_dict(b"1234567" * 8)
    assert str(caught.value) == (
        "error[E0809]: the bytes are not saved parameters: they do not start with the magic number\n"
        "  = help: pass the result of save_param_dict"
    )


@pytest.mark.parametrize(
    ("name", "code", "bits", "lanes", "size"),
    [
        ("float32x4", DataTypeCode.FLOAT, 32, 4, 16),
        ("int8", DataTypeCode.INT, 8, 1, 1),
        ("bool", DataTypeCode.BOOL, 8, 1, 1),
        ("bfloat16", DataTypeCode.BFLOAT, 16, 1, 2),
        ("float8_e4m3fn", DataTypeCode.Float8E4M3FN, 8, 1, 1),
        ("handle", DataTypeCode.HANDLE, 64, 1, 8),
    ],
)
def test_a_dtype_knows_its_parts(name: str, code: int, bits: int, lanes: int, size: int) -> None:
    dtype = DataType(name)
    assert (dtype.type_code, dtype.bits, dtype.lanes, dtype.itemsize) == (code, bits, lanes, size)
    assert dtype == name
    assert dtype.with_lanes(8).lanes == 8


def test_a_dtype_is_checked() -> None:
    with pytest.raises(ValueError, match=r"^'float31' is not a dtype$"):
        DataType("float31")


def test_arguments_are_converted_as_in_tvm() -> None:
    assert tvms.runtime.convert([1, [2, "a"]]) == (1, (2, "a"))
    assert tvms.runtime.enabled("llvm")
    assert not tvms.runtime.enabled("opencl")
