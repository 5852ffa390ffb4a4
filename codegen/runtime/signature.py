"""The data about a kernel that calls need, so that a compiled module can be saved without the IR of its
kernels.
"""

from __future__ import annotations

from msgspec import Struct

from ...ir import tir
from ..lower.signature import written_variables


class Signature(Struct, frozen=True):
    """`params` are the dtypes of the parameters of the machine code, in order; `written` the positions of the
    parameters of the function that it writes; `result` the dtype of the result; `is_alone` whether written
    arguments must not overlap others.
    """

    params: tuple[str, ...]
    written: tuple[int, ...]
    result: str | None
    is_alone: bool


def signature_of(source: tir.PrimFunc, kernel: tir.PrimFunc) -> Signature:
    """Return the signature of `kernel`, which is `source` lowered."""
    changed = written_variables(kernel.body)
    buffers = [source.buffer_map.get(param) for param in source.params]
    written = tuple(i for i, buffer in enumerate(buffers) if buffer is not None and buffer.data in changed)
    result = kernel.ret_type.dtype if isinstance(kernel.ret_type, tir.PrimType) else None
    return Signature(
        tuple(param.dtype for param in kernel.params), written, result, bool(kernel.attrs.get("tir.noalias"))
    )
