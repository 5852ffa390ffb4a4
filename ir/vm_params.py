"""Arrays by name in a folder of shards, TVM's format for the weights of large models (TVM: `contrib/tvmjs.py`,
`src/runtime/vm/ndarray_cache_support.cc`), and the functions that give them to programs.

The folder has a file in JSON with the name, shape, dtype and place of each array, and files `params_shard_N.bin` with their elements.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from hashlib import md5
from math import prod
from pathlib import Path
from typing import Any, TypeAlias, cast

from . import hooks
from .diagnostics import TvmsError, error
from .dtype import is_dtype
from .files import memory_limit, read_file, write_whole
from .functions import register_func
from .numpy_dtype import numpy_dtype

INDEX = "ndarray-cache.json"
"""The file that lists the arrays."""
NEWER_INDEX = "tensor-cache.json"
"""Its name in TVM 0.22 and later."""
ROUNDED = "f32-to-bf16"
"""The format of an array of float32 whose elements are stored as bfloat16."""
_Records: TypeAlias = "list[dict[str, Any]]"


def rounded_to_bfloat16(value: Any) -> Any:
    """Return the upper halves (uint16) of float32 elements, rounded to nearest even; finite numbers stay finite, and NaN stays NaN."""
    import numpy as np

    bits = np.ascontiguousarray(value, np.float32).view(np.uint32)
    upper = ((bits + (((bits >> 16) & 1) + 0x7FFF)) >> 16).astype(np.uint16)
    cut = (bits >> 16).astype(np.uint16)
    overflows = np.isfinite(value) & ((upper & 0x7F80) == 0x7F80)
    return np.where(np.isnan(value), cut | 0x40, np.where(overflows | np.isinf(value), cut, upper))


def from_bfloat16(value: Any) -> Any:
    """Return the float32 elements whose upper halves (uint16) are given."""
    import numpy as np

    return (np.ascontiguousarray(value).view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def write_shards(
    params: Iterable[tuple[str, Any]],
    folder: str,
    index: str = INDEX,
    *,
    is_rounded: bool = True,
    metadata: Any = None,
    shard_bytes: int = 32 << 20,
    updates: bool = False,
) -> tuple[int, int]:
    """Write arrays to a folder, and return the numbers of arrays and of shards in it.

    With `is_rounded`, the elements of float32 arrays are stored as bfloat16. With `updates`, arrays of the same name in the folder are
    replaced, and others kept. `metadata` is kept in the index, or a function that returns it. Raises ValueError if a name is given twice,
    or if an array that is replaced had another size; TvmsError E0802 if a file cannot be written, E0809 for a damaged index.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    known = _index(Path(folder, index)) if updates and Path(folder, index).exists() else {}
    writer = _Writer(folder, known.get("records", []), shard_bytes)
    for name, value in params:
        writer.add(name, _plain(value), is_rounded, updates)
    writer.commit()
    metadata = metadata() if callable(metadata) else known.get("metadata", {}) if metadata is None else metadata
    _write_index(Path(folder, index), metadata, writer.shards)
    if any(record["format"] == ROUNDED and record["dtype"] == "float32" for record in writer.records.values()):
        shards = [{**shard, "records": [*map(_as_bfloat16, shard["records"])]} for shard in writer.shards]
        _write_index(Path(folder, f"{index.removesuffix('.json')}-b16.json"), metadata, shards)
    return len(writer.records), len(writer.shards)


def _plain(value: Any) -> Any:
    import numpy as np

    return np.asarray(value.numpy() if hasattr(value, "numpy") else value)


def _as_bfloat16(record: dict[str, Any]) -> dict[str, Any]:
    is_one = record["dtype"] == "float32" and record["format"] == ROUNDED
    return {**record, "dtype": "bfloat16", "format": "raw"} if is_one else record


def _write_index(path: Path, metadata: Any, shards: _Records) -> None:
    write_whole(json.dumps({"metadata": metadata, "records": shards}, indent=4), str(path))


class _Writer:
    """Packs arrays into shards of at most `limit` bytes; a larger array gets its own shard."""

    def __init__(self, folder: str, shards: _Records, limit: int) -> None:
        self.shards, self._folder, self._limit = shards, folder, limit
        self.records: dict[str, dict[str, Any]] = {}
        self._old = {record["name"]: (shard, record) for shard in shards for record in shard["records"]}
        self.records |= {name: record for name, (_, record) in self._old.items()}
        self._given: set[str] = set()
        self._data, self._pending = bytearray(), list[dict[str, Any]]()

    def add(self, name: str, value: Any, is_rounded: bool, updates: bool) -> None:
        """Add an array, or replace the one of its name."""
        dtype = str(value.dtype)
        rounds = is_rounded and dtype == "float32"
        data = (rounded_to_bfloat16(value) if rounds else value).tobytes()
        stored = ROUNDED if is_rounded else "raw"
        record = {
            "name": name, "shape": list(value.shape), "dtype": dtype, "format": stored, "nbytes": len(data),
        }  # fmt: skip
        if name in self._given or (name in self.records and not updates):
            raise ValueError(f"two arrays are called '{name}'")
        self._given.add(name)
        if name in self._old:
            return self._replace(*self._old[name], record, data)
        self.records[name] = record
        if len(self._data) + len(data) >= self._limit:
            if 2 * len(data) >= self._limit:
                return self._write(data, [{**record, "byteOffset": 0}])
            self.commit()
        self._pending.append({**record, "byteOffset": len(self._data)})
        self._data += data
        return None

    def _replace(self, shard: dict[str, Any], old: dict[str, Any], record: dict[str, Any], data: bytes) -> None:
        if old["nbytes"] != len(data):
            raise ValueError(f"'{old['name']}' has {old['nbytes']} bytes, and cannot be replaced by {len(data)} bytes")
        path = _shard_path(self._folder, shard)
        whole = bytearray(read_file(path, memory_limit()))
        whole[old["byteOffset"] : old["byteOffset"] + len(data)] = data
        write_whole(bytes(whole), path)
        shard["md5sum"] = _checksum(whole)
        old.update(record)

    def commit(self) -> None:
        """Write the arrays that are not in a shard yet."""
        if self._pending:
            data, self._data = bytes(self._data), bytearray()
            pending, self._pending = self._pending, []
            self._write(data, pending)

    def _write(self, data: bytes, records: _Records) -> None:
        name = f"params_shard_{len(self.shards)}.bin"
        write_whole(data, os.path.join(self._folder, name))
        self.shards.append(
            {
                "dataPath": name,
                "format": "raw-shard",
                "nbytes": len(data),
                "records": records,
                "md5sum": _checksum(data),
            }
        )


def _checksum(data: bytes | bytearray) -> str:
    return md5(data, usedforsecurity=False).hexdigest()


def read_shards(path: str, index: str = INDEX) -> tuple[dict[str, Any], Any]:
    """Return the arrays in a folder of shards by name, and its metadata; `path` is the folder, or the file that lists the arrays.

    Arrays of float32 that are stored as bfloat16 are converted. Raises TvmsError E0809 for a file that is missing or damaged.
    """
    file = Path(path) if path.endswith(".json") else Path(path, index)
    found = _index(file)
    try:
        arrays = {name: value for shard in found["records"] for name, value in _arrays(str(file.parent), shard)}
    except (KeyError, TypeError, AttributeError) as problem:
        raise _damaged(file, f"an entry is missing or of another kind: {problem!r}") from None
    return arrays, found.get("metadata")


def _index(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_file(str(file), memory_limit()))
    except OSError as problem:
        raise _damaged(file, problem.strerror or "it cannot be read") from None
    except (ValueError, RecursionError):
        raise _damaged(file, "it is not JSON") from None
    if not isinstance(found, dict) or not isinstance(cast("dict[str, Any]", found).get("records"), list):
        raise _damaged(file, "it has no list of records")
    return cast("dict[str, Any]", found)


def _shard_path(folder: str, shard: Mapping[str, Any]) -> str:
    name = shard["dataPath"]
    if os.path.basename(name) != name or name in ("", ".", ".."):
        raise _damaged(Path(folder), f"the shard '{name}' is not a file of the folder")
    return os.path.join(folder, name)


def _arrays(folder: str, shard: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    import numpy as np

    path = _shard_path(folder, shard)
    try:
        data = read_file(path, memory_limit())
    except OSError as problem:
        raise _damaged(Path(path), problem.strerror or "it cannot be read") from None
    if shard["format"] != "raw-shard" or len(data) != shard["nbytes"]:
        raise _damaged(Path(path), f"it has {len(data)} bytes, but {shard['nbytes']} are expected")
    for record in shard["records"]:
        name, dtype, shape, start = record["name"], record["dtype"], record["shape"], record["byteOffset"]
        if not is_dtype(dtype):
            raise _damaged(Path(path), f"'{name}' has an unknown dtype")
        rounds = record["format"] == ROUNDED and dtype == "float32"
        kind = np.dtype(np.uint16) if rounds else np.dtype(numpy_dtype(dtype))
        count = prod(shape)
        if min([0, *shape]) < 0 or start < 0 or start + count * kind.itemsize > len(data):
            raise _damaged(Path(path), f"'{name}' is not inside of it")
        values = np.frombuffer(data, kind, count, start).reshape(shape)
        yield name, from_bfloat16(values) if rounds else values.copy()


def _damaged(file: Path, reason: str) -> TvmsError:
    return error("E0809", f"{file} does not list arrays: {reason}", None, "pass a folder of dump_ndarray_cache")


# --- The arrays that programs get by name

_loaded: dict[str, Any] = {}


def _load(index: str, path: str, device_type: int, device_id: int) -> None:
    arrays, _ = read_shards(path, index)
    _loaded.update({name: hooks.call("array", value, (device_type, device_id)) for name, value in arrays.items()})


def _update(name: str, value: Any, override: bool = False) -> None:
    """Keep an array; ValueError if the name is taken and `override` is not set."""
    if name in _loaded and not override:
        raise ValueError(f"an array '{name}' is already loaded; pass override=True to replace it")
    _loaded[name] = value


def _remove(name: str) -> None:
    _loaded.pop(name, None)


for _kind, _file in (("ndarray_cache", INDEX), ("tensor_cache", NEWER_INDEX)):
    register_func(f"vm.builtin.{_kind}.load", partial(_load, _file))
    register_func(f"vm.builtin.{_kind}.get", _loaded.get)
    register_func(f"vm.builtin.{_kind}.update", _update)
    register_func(f"vm.builtin.{_kind}.remove", _remove)
    register_func(f"vm.builtin.{_kind}.clear", _loaded.clear)


@register_func("vm.builtin.param_array_from_cache")
def param_array_from_cache(prefix: str, num_params: int) -> tuple[Any, ...]:
    """Return the loaded arrays `prefix_0`, `prefix_1`, …: as many as there are if `num_params` is -1. ValueError if one is missing."""
    names: list[str] = []
    while len(names) != num_params and (num_params >= 0 or f"{prefix}_{len(names)}" in _loaded):
        names.append(f"{prefix}_{len(names)}")
    return param_array_from_cache_by_name(names)


@register_func("vm.builtin.param_array_from_cache_by_name")
def param_array_from_cache_by_name(names: Iterable[str]) -> tuple[Any, ...]:
    """Return loaded arrays by name; ValueError if one is missing."""
    wanted = list(names)
    for name in wanted:
        if name not in _loaded:
            raise ValueError(f"no array '{name}' is loaded")
    return tuple(_loaded[name] for name in wanted)


@register_func("vm.builtin.param_array_from_cache_by_name_unpacked")
def param_array_from_cache_by_name_unpacked(*names: str) -> tuple[Any, ...]:
    """Return loaded arrays by name; ValueError if one is missing."""
    return param_array_from_cache_by_name(names)
