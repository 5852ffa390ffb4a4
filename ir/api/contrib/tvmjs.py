"""Arrays by name in a folder of shards, as the weights of large models are stored (TVM: `tvm.contrib.tvmjs`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, cast

from ... import hooks
from ...sanitize import say
from ...vm_params import INDEX, NEWER_INDEX, ROUNDED, from_bfloat16, read_shards, rounded_to_bfloat16, write_shards

_convert_f32_to_bf16 = rounded_to_bfloat16  # pyright: ignore[reportUnusedVariable]
_convert_bf16_to_f32 = from_bfloat16  # pyright: ignore[reportUnusedVariable]


def _dump(
    index: str,
    params: Mapping[str, Any] | Iterable[tuple[str, Any]],
    cache_dir: str,
    encode_format: str = ROUNDED,
    meta_data: Any = None,
    shard_cap_mb: int = 32,
    show_progress: bool = True,
    update_if_exists: bool = False,
) -> None:
    if encode_format not in ("raw", ROUNDED):
        raise ValueError(f"encode_format is 'raw' or '{ROUNDED}', not {encode_format!r}")
    pairs = cast("Mapping[str, Any]", params).items() if isinstance(params, Mapping) else params
    arrays, shards = write_shards(
        pairs, cache_dir, index, is_rounded=encode_format == ROUNDED, metadata=meta_data,
        shard_bytes=shard_cap_mb << 20, updates=update_if_exists,
    )  # fmt: skip
    if show_progress:
        say(f"{cache_dir} has {arrays} arrays in {shards} files")


def _read(index: str, cachepath: str, device: Any = None) -> tuple[dict[str, Any], Any]:
    arrays, metadata = read_shards(cachepath, index)
    return {name: hooks.call("array", value, device) for name, value in arrays.items()}, metadata


def dump_ndarray_cache(
    params: Mapping[str, Any] | Iterable[tuple[str, Any]], cache_dir: str, encode_format: str = ROUNDED, **options: Any
) -> None:
    """Write arrays, given by name or as pairs, to the folder `cache_dir`; float32 is stored as bfloat16 unless `encode_format` is "raw".

    `meta_data` is kept beside them, or a function that returns it. A file has up to `shard_cap_mb` MiB (32). With `update_if_exists`,
    arrays of the same name are replaced and others kept. A line says what was written unless `show_progress` is False.
    Raises ValueError if a name is given twice, or if a replaced array had another size; TvmsError E0802 and E0809 for files.
    """
    _dump(INDEX, params, cache_dir, encode_format, **options)


def load_ndarray_cache(cachepath: str, device: Any = None) -> tuple[dict[str, Any], Any]:
    """Return the arrays in a folder, or in the folder of a JSON file, by name on `device`, and their metadata; TvmsError E0809."""
    return _read(INDEX, cachepath, device)


dump_tensor_cache: Callable[..., None] = partial(_dump, NEWER_INDEX)
"""`dump_ndarray_cache` in TVM 0.22 and later, which calls the file with the list `tensor-cache.json`."""
load_tensor_cache: Callable[..., tuple[dict[str, Any], Any]] = partial(_read, NEWER_INDEX)
"""`load_ndarray_cache` in TVM 0.22 and later."""
