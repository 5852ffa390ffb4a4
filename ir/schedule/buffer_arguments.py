"""Kinds of arguments for buffers, lists of blocks, dtypes and storage scopes."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, TypeAlias

from .. import tir
from ..dtype import parse_dtype
from ..verify.devices import is_scope
from .arguments import Mismatch, Reading, elements, kind, read_block, read_integer, read_loop, read_text
from .handles import LoopRV

BufferIndex: TypeAlias = int | str | tir.Buffer
StorageScope: TypeAlias = str
Blocks: TypeAlias = tuple[tir.Block, ...]
DataType: TypeAlias = str
LoopOrBlocks: TypeAlias = tir.For | tuple[tir.Block, ...]


@kind("BufferIndex", "a buffer: its position among what the block reads or writes, or its name")
def read_buffer_index(reading: Reading, value: Any) -> int | str | tir.Buffer:
    return value if isinstance(value, str | tir.Buffer) else read_integer(reading, value)


@kind("StorageScope", 'a storage scope, such as "global", "shared" or "local"')
def read_storage_scope(reading: Reading, value: Any) -> str:
    scope = read_text(reading, value)
    if not is_scope(scope):
        raise Mismatch
    return scope


@kind("Blocks", "a list of blocks")
def read_blocks(reading: Reading, value: Any) -> tuple[tir.Block, ...]:
    return tuple([read_block(reading, element) for element in elements(value)])


@kind("DataType", 'a dtype of numbers, such as "float16"')
def read_data_type(reading: Reading, value: Any) -> str:
    dtype = read_text(reading, value)
    with suppress(ValueError):
        if parse_dtype(dtype).code not in ("handle", "void"):
            return dtype
    raise Mismatch


@kind("LoopOrBlocks", "a loop, or a list of blocks")
def read_loop_or_blocks(reading: Reading, value: Any) -> tir.For | tuple[tir.Block, ...]:
    return read_loop(reading, value) if isinstance(value, LoopRV) else read_blocks(reading, value)
