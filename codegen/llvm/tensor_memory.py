"""Tensor memory and its products, as inline PTX (`ir.tensor_memory`).

An allocation stores the address of its columns in shared memory, 4 bytes for each buffer; each use loads it from there. `wait::ld` changes
all registers that loads of the kernel have as targets, so that no access moves before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ...ir import tir
from ...ir.diagnostics import error
from ...ir.matrix_units import name_of
from ...ir.matrix_units import number as constant
from ...ir.tensor_memory import (
    AFTER,
    ALLOCATE,
    ARCHITECTURES,
    BEFORE,
    COMMIT,
    FREE,
    LOAD,
    PRODUCT,
    RELINQUISH,
    WAIT,
    loaded_columns,
    matrix_descriptor,
    tensor_memory_of,
    tensor_product_of,
)
from .api import Value
from .casts import emit_cast
from .expressions import ExpressionEmitter
from .intrinsics import Table
from .operators import number
from .tensor_copies import barrier_address
from .types import I32
from .warpgroups import assembly, change_elements, element_address, elements_at
from .warpgroups import matrix_descriptor as descriptor_of

_GROUP = "cta_group::1"
_LANE_BITS = 16
"""An address of tensor memory has the lane in its upper 16 bits, and the column in the lower ones."""
_COLLECTIVE = ("convergent",)
"""The attribute of what all threads of a warp execute together, which LLVM moves into no branch."""


class _HasTargets(Protocol):
    """What loads need of `nvptx.DeviceEmitter`."""

    @property
    def load_targets(self) -> Mapping[tir.Var, int]: ...


def _require(emitter: ExpressionEmitter, call: tir.Call) -> None:
    target = emitter.module.target.arch
    if target not in ARCHITECTURES:
        reason = f"tensor memory needs {' or '.join(ARCHITECTURES)}; the target is {target}"
        raise error("E0602", reason, call.span, f'compile for Blackwell: "cuda -arch={ARCHITECTURES[0]}"')


def _word(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Return the place of an address in shared memory."""
    return emitter.emit(tensor_memory_of(call))


def _index(emitter: ExpressionEmitter, call: tir.Call, at: int) -> Value:
    operand = call.args[at]
    assert isinstance(operand, tir.PrimExpr)
    return emit_cast(emitter.builder, emitter.emit(operand), operand.dtype, "int32")


def _address(emitter: ExpressionEmitter, call: tir.Call, column: int, lane: int | None = None) -> Value:
    """Return the address of a column in tensor memory, whose number is argument `column`, in the lane of an argument or lane 0."""
    builder = emitter.builder
    start = builder.load(_word(emitter, call), typ=I32, align=4)
    start = builder.add(start, _index(emitter, call, column))
    if lane is None:
        return start
    return builder.add(start, builder.shl(_index(emitter, call, lane), number(I32, _LANE_BITS)))


def _collective(emitter: ExpressionEmitter, text: str, operands: Sequence[Value], letters: str) -> Value:
    """Emit PTX that all threads of a warp execute together."""
    assembly(emitter, text, (), operands, letters, _COLLECTIVE)
    return number(I32, 0)


def _allocate(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    _require(emitter, call)
    place = emitter.builder.ptrtoint(_word(emitter, call), I32)
    text = f"tcgen05.alloc.{_GROUP}.sync.aligned.shared::cta.b32 [$0], {constant(call, 1)};"
    return _collective(emitter, text, [place], "r")


def _free(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    _require(emitter, call)
    start = emitter.builder.load(_word(emitter, call), typ=I32, align=4)
    return _collective(emitter, f"tcgen05.dealloc.{_GROUP}.sync.aligned.b32 $0, {constant(call, 1)};", [start], "r")


def _product(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    product = tensor_product_of(call)
    _require(emitter, call)
    descriptors = [
        descriptor_of(emitter, call, at, product.dtype, matrix_descriptor(tile)) for at, tile in ((6, product.a), (8, product.b))
    ]  # fmt: skip
    operands = [_address(emitter, call, 11), *descriptors, number(I32, product.instruction_descriptor)]
    condition = call.args[16]
    assert isinstance(condition, tir.PrimExpr)
    is_added = emit_cast(emitter.builder, emitter.emit(condition), condition.dtype, "int32")
    text = (
        "{ .reg .pred is_added; setp.ne.b32 is_added, $4, 0; "
        f"tcgen05.mma.{_GROUP}.kind::f16 [$0], $1, $2, $3, is_added; }}"
    )
    assembly(emitter, text, (), [*operands, is_added], "rllrr")
    return number(I32, 0)


def _commit(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    _require(emitter, call)
    text = f"tcgen05.commit.{_GROUP}.mbarrier::arrive::one.shared::cluster.b64 [$0];"
    assembly(emitter, text, (), [barrier_address(emitter, call)], "r")
    return number(I32, 0)


def _load(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    _require(emitter, call)
    count = loaded_columns(call)
    address = _address(emitter, call, 4, 3)
    registers = ", ".join(f"${i}" for i in range(count))
    text = f"tcgen05.ld.sync.aligned.32x32b.x{count}.b32 {{{registers}}}, [${2 * count}];"
    change_elements(
        emitter,
        elements_at(emitter, element_address(emitter, call, 0, "float32"), count),
        text,
        [address],
        "r",
        _COLLECTIVE,
    )
    return number(I32, 0)


def _wait(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    _require(emitter, call)
    device: _HasTargets = emitter  # type: ignore[assignment]
    targets = [
        place
        for data, count in device.load_targets.items()
        for place in elements_at(emitter, emitter.emit(data), count)
    ]
    change_elements(emitter, targets, "tcgen05.wait::ld.sync.aligned;", attributes=_COLLECTIVE)
    return number(I32, 0)


_PLAIN = {
    RELINQUISH: f"tcgen05.relinquish_alloc_permit.{_GROUP}.sync.aligned;",
    BEFORE: "tcgen05.fence::before_thread_sync;",
    AFTER: "tcgen05.fence::after_thread_sync;",
}


def _plain(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    _require(emitter, call)
    return _collective(emitter, _PLAIN[name_of(call)], [], "")


TENSOR_MEMORY: Table = {
    f"tir.{name}": rule
    for name, rule in (
        (ALLOCATE, _allocate), (FREE, _free), (RELINQUISH, _plain), (PRODUCT, _product), (COMMIT, _commit), (LOAD, _load),
        (WAIT, _wait), (BEFORE, _plain), (AFTER, _plain),
    )
}  # fmt: skip
"""The intrinsics of Blackwell's tensor cores."""
