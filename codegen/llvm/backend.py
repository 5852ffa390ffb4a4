"""Optimize LLVM IR and translate it to assembly or an object file.

If LLVM rejects the IR, the compiler has a bug; the user's program is not at fault. The result is an
`InternalError` with LLVM's message.
"""

from __future__ import annotations

import re
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import msgspec

from ...ir.deep import has_big_stack
from ...ir.passes.transform import announce
from .api import binding

if TYPE_CHECKING:
    from ..target import Target


class InternalError(Exception):
    """LLVM rejected IR that the compiler emitted: a bug to report, with the program that triggers it."""


_FROM_WIDE_UNSIGNED = re.compile(r"uitofp (?:<\d+ x )?i(?:16|32|64)")
"""Conversions to floats that LLVM 22's SLP vectorizer gets wrong: it converts the narrow integer whose sign extension is the
operand, as in float32(uint64(int32(-1))), to 2**32 instead of 2**64."""


def optimize(text: str, target: Target, level: int = 3) -> Any:
    """Parse, verify and optimize `text` for the target's machine, at level 0 to 3; return the LLVM module."""
    announce("optimize")
    level = min(level, target.level)
    has_slp = level > 1 and not _FROM_WIDE_UNSIGNED.search(text)
    module = _optimized(text, target, level, has_slp)
    if has_slp and not _is_valid(module):
        module = _optimized(text, target, level, has_slp=False)
    return module


def _optimized(text: str, target: Target, level: int, has_slp: bool) -> Any:
    try:
        module = binding.parse_assembly(text)
        module.verify()
    except RuntimeError as problem:
        raise InternalError(f"LLVM rejects the emitted IR: {problem}") from problem
    options = binding.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = options.loop_interleaving = level > 1
    options.slp_vectorization = has_slp
    builder = binding.create_pass_builder(target.machine_at(level), options)
    builder.getModulePassManager().run(module, builder)
    return module


def _is_valid(module: Any) -> bool:
    """Return whether optimized code is valid. LLVM 22's SLP vectorizer may use a vector before its definition, which aborts the
    process when machine code is made.
    """
    try:
        module.verify()
    except RuntimeError:
        return False
    return True


def to_object(module: Any, target: Target, level: int = 3) -> bytes:
    """Return the object file of an optimized module."""
    announce("make machine code")
    return target.machine_at(level).emit_object(module)


class ObjectWriter:
    """Turns LLVM IR into object files in a thread, while the caller lowers and emits the next functions.

    LLVM runs without Python's lock. There is one such thread, because llvmlite permits one call of LLVM at a time. A caller
    with a big stack (`ir.deep`) does the work itself, since its programs may nest too deep for the stack of another thread.
    """

    def __init__(self, target: Target, level: int) -> None:
        self._target, self._level = target, level
        self._thread = None if has_big_stack() else ThreadPoolExecutor(1, "tvms-llvm")
        self._objects: list[Future[bytes]] = []

    def add(self, text: str) -> None:
        """Start to translate a module."""
        if self._thread is not None:
            self._objects.append(self._thread.submit(self._translate, text))
            return
        done: Future[bytes] = Future()
        done.set_result(self._translate(text))
        self._objects.append(done)

    def finish(self, text: str) -> bytes:
        """Translate a last module, and return the object files of all, for `objects_in`."""
        last = self._translate(text)
        return msgspec.msgpack.encode([*(made.result() for made in self._objects), last])

    def _translate(self, text: str) -> bytes:
        return to_object(optimize(text, self._target, self._level), self._target, self._level)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)


def objects_in(image: bytes) -> list[bytes]:
    """Return the object files that `ObjectWriter.finish` packed; ValueError if the bytes are damaged."""
    try:
        return msgspec.msgpack.decode(image, type=list[bytes])
    except msgspec.MsgspecError as problem:
        raise ValueError(f"it is not a list of object files: {problem}") from None


def to_assembly(module: Any, target: Target, level: int = 3) -> str:
    """Return the assembly of an optimized module."""
    return target.machine_at(level).emit_assembly(module)
