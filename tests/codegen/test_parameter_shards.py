"""Arrays in folders of shards, the format of the weights of large models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tvms
from tvms.contrib import tvmjs

ARRAYS = {
    "x_0": np.arange(6, dtype=np.int32).reshape(2, 3),
    "x_1": np.linspace(-3, 5, 11, dtype=np.float32),
    "x_2": np.array(2.5, np.float16),
    "b": np.array([1, 2.5], ml_dtypes.bfloat16),
}


def same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert list(found) == list(wanted)
    for name, value in wanted.items():
        assert (found[name].dtype, found[name].shape) == (value.dtype, value.shape)
        np.testing.assert_array_equal(np.asarray(found[name]), value)


@pytest.mark.parametrize("cap", [32, 0])
def test_arrays_are_read_as_they_were_written(tmp_path: Path, cap: int, capsys: pytest.CaptureFixture[str]) -> None:
    tvmjs.dump_ndarray_cache(ARRAYS, str(tmp_path), "raw", meta_data={"a": 1}, shard_cap_mb=cap)
    found, metadata = tvmjs.load_ndarray_cache(str(tmp_path), tvms.cpu())
    same(found, ARRAYS)
    assert metadata == {"a": 1}
    shards = 4 if cap == 0 else 1
    assert len(list(tmp_path.glob("*.bin"))) == shards
    assert capsys.readouterr().out == f"{tmp_path} has 4 arrays in {shards} files\n"


def test_float32_is_stored_as_bfloat16(tmp_path: Path) -> None:
    tvmjs.dump_ndarray_cache(iter(ARRAYS.items()), str(tmp_path), meta_data=lambda: 7, show_progress=False)
    rounded = ARRAYS["x_1"].astype(ml_dtypes.bfloat16)
    found, metadata = tvmjs.load_ndarray_cache(str(tmp_path))
    same(found, {**ARRAYS, "x_1": rounded.astype(np.float32)})
    assert metadata == 7
    found, _ = tvmjs.load_ndarray_cache(str(tmp_path / "ndarray-cache-b16.json"))
    same(found, {**ARRAYS, "x_1": rounded})


def test_the_newest_tvm_calls_the_list_otherwise(tmp_path: Path) -> None:
    tvmjs.dump_tensor_cache(ARRAYS, str(tmp_path), "raw", show_progress=False)
    same(tvmjs.load_tensor_cache(str(tmp_path))[0], ARRAYS)
    same(tvmjs.load_ndarray_cache(str(tmp_path / "tensor-cache.json"))[0], ARRAYS)


def test_rounding_keeps_finite_numbers_finite_and_nan_nan() -> None:
    largest, tiny_nan = np.finfo(np.float32).max, np.uint32(0x7F800001).view(np.float32)
    values = np.array([largest, -largest, np.inf, -np.inf, tiny_nan, np.nan, 0.0, 1.00390625, 1.01171875], np.float32)
    back = tvmjs._convert_bf16_to_f32(tvmjs._convert_f32_to_bf16(values))
    limit = np.float32(ml_dtypes.finfo(ml_dtypes.bfloat16).max)
    np.testing.assert_array_equal(
        back, np.array([limit, -limit, np.inf, -np.inf, np.nan, np.nan, 0, 1, 1.015625], np.float32)
    )


def test_arrays_are_replaced_and_added(tmp_path: Path) -> None:
    tvmjs.dump_ndarray_cache(ARRAYS, str(tmp_path), "raw", meta_data="kept", show_progress=False)
    new = {"x_0": -ARRAYS["x_0"], "y": np.ones(3, np.int8)}
    tvmjs.dump_ndarray_cache(new, str(tmp_path), "raw", update_if_exists=True, show_progress=False)
    found, metadata = tvmjs.load_ndarray_cache(str(tmp_path))
    same(found, {**ARRAYS, **new})
    assert metadata == "kept"
    with pytest.raises(ValueError, match=r"^'b' has 4 bytes, and cannot be replaced by 3 bytes$"):
        tvmjs.dump_ndarray_cache({"b": new["y"]}, str(tmp_path), "raw", update_if_exists=True, show_progress=False)
    with pytest.raises(ValueError, match=r"^two arrays are called 'y'$"):
        tvmjs.dump_ndarray_cache(iter([("y", new["y"])] * 2), str(tmp_path), show_progress=False)
    with pytest.raises(ValueError, match=r"^encode_format is 'raw' or 'f32-to-bf16', not 'zip'$"):
        tvmjs.dump_ndarray_cache(new, str(tmp_path), "zip")


@pytest.mark.parametrize("kind", ["ndarray", "tensor"])
def test_programs_get_loaded_arrays(tmp_path: Path, kind: str) -> None:
    def function(name: str) -> Any:
        return tvms.get_global_func(f"vm.builtin.{name}")

    getattr(tvmjs, f"dump_{kind}_cache")(ARRAYS, str(tmp_path), "raw", show_progress=False)
    function(f"{kind}_cache.load")(str(tmp_path), tvms.cpu().device_type, 0)
    found = function("param_array_from_cache")("x", -1)
    same(dict(enumerate(value.numpy() for value in found)), dict(enumerate(list(ARRAYS.values())[:3])))  # type: ignore[arg-type]
    assert len(function("param_array_from_cache")("x", 2)) == 2
    with pytest.raises(ValueError, match=r"^no array 'x_3' is loaded$"):
        function("param_array_from_cache")("x", 4)
    (b,) = function("param_array_from_cache_by_name")(["b"])
    assert b is function("param_array_from_cache_by_name_unpacked")("b")[0]
    assert b is function(f"{kind}_cache.get")("b")
    function(f"{kind}_cache.remove")("b")
    assert function(f"{kind}_cache.get")("b") is None
    function(f"{kind}_cache.update")("b", b)
    with pytest.raises(ValueError, match=r"^an array 'b' is already loaded; pass override=True to replace it$"):
        function(f"{kind}_cache.update")("b", b)
    function(f"{kind}_cache.update")("b", b, True)
    function(f"{kind}_cache.clear")()
    assert function("param_array_from_cache")("x", -1) == ()


def damaged(change: Any, tmp_path: Path) -> str:
    tvmjs.dump_ndarray_cache(ARRAYS, str(tmp_path), "raw", show_progress=False)
    index = tmp_path / "ndarray-cache.json"
    content = json.loads(index.read_text())
    index.write_text(json.dumps(change(content) or content))
    with pytest.raises(tvms.TvmsError) as caught:
        tvmjs.load_ndarray_cache(str(tmp_path))
    (found,) = caught.value.diagnostics
    assert found.code == "E0809"
    return found.message.replace(str(tmp_path), "FOLDER")


def test_damaged_folders_are_refused(tmp_path: Path) -> None:
    def in_shard(**fields: Any) -> Any:
        return lambda content: content["records"][0].update(fields)

    def in_record(**fields: Any) -> Any:
        return lambda content: content["records"][0]["records"][0].update(fields)

    index, shard = "FOLDER/ndarray-cache.json does not list arrays", "FOLDER/params_shard_0.bin does not list arrays"
    assert damaged(lambda _: [1], tmp_path) == f"{index}: it has no list of records"
    assert damaged(lambda content: content["records"][0].pop("format") and None, tmp_path) == (
        f"{index}: an entry is missing or of another kind: KeyError('format')"
    )
    assert damaged(in_shard(dataPath="../x.bin"), tmp_path) == (
        "FOLDER does not list arrays: the shard '../x.bin' is not a file of the folder"
    )
    assert damaged(in_shard(dataPath="x.bin"), tmp_path) == (
        "FOLDER/x.bin does not list arrays: No such file or directory"
    )
    assert damaged(in_shard(nbytes=1), tmp_path) == f"{shard}: it has 74 bytes, but 1 are expected"
    assert damaged(in_record(shape=[99]), tmp_path) == f"{shard}: 'x_0' is not inside of it"
    assert damaged(in_record(byteOffset=-4), tmp_path) == f"{shard}: 'x_0' is not inside of it"
    assert damaged(in_record(shape=[-1, -6]), tmp_path) == f"{shard}: 'x_0' is not inside of it"
    assert damaged(in_record(dtype="int33x"), tmp_path) == f"{shard}: 'x_0' has an unknown dtype"
    assert damaged(in_record(byteOffset="a"), tmp_path).startswith(f"{index}: an entry is missing or of another kind: ")
    (tmp_path / "ndarray-cache.json").write_text("{")
    with pytest.raises(tvms.TvmsError, match="it is not JSON"):
        tvmjs.load_ndarray_cache(str(tmp_path))
