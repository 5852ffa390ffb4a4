"""Copies of boxes by Hopper's copy engine, and barriers in shared memory, as inline PTX.

The host describes each matrix by a tensor map of 128 bytes, which is a parameter of the kernel. A barrier has 8 bytes in static
shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ...ir import tir
from ...ir.diagnostics import error
from ...ir.matrix_units import name_of
from ...ir.tensor_copies import ARRIVE, COPY, CREATE, EXPECT, INIT, PREDICATES, WAIT, TensorMap, tensor_map_of
from ..gpu.tensor_maps import MAP_ALIGNMENT
from .api import LLVMType, Value, ir
from .casts import emit_cast
from .expressions import ExpressionEmitter
from .intrinsics import Table
from .operators import number
from .types import I32, I64, memory_type


class _HasBarriers(Protocol):
    """What copies need of `nvptx.DeviceEmitter`."""

    @property
    def barriers(self) -> Value: ...
    @property
    def tensor_maps(self) -> Sequence[tuple[TensorMap, Value]]: ...


_VOID: LLVMType = ir.VoidType()
_SHARED: LLVMType = ir.PointerType(addrspace=3)
_FIRST = 90
_COPIED = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"


def map_parameter(argument: Value) -> None:
    """Make a parameter of a kernel, a pointer to bytes, a tensor map that lies among the parameters."""
    argument.add_attribute("byval")
    argument.attributes.align = MAP_ALIGNMENT
    attributes: set[str] = argument.attributes
    set[str].add(attributes, '"nvvm.grid_constant"')  # llvmlite does not know attributes that are texts


def _require(emitter: ExpressionEmitter, call: tir.Call) -> None:
    target = emitter.module.target.arch
    if int(target.removeprefix("sm_").rstrip("a")) < _FIRST:
        reason = f"copies of boxes and their barriers need sm_90 or newer; the target is {target}"
        raise error("E0602", reason, call.span, 'compile for Hopper: "cuda -arch=sm_90a"')


def _predicated(
    emitter: ExpressionEmitter, call: tir.Call, text: str, operands: Sequence[Value], letters: str
) -> tuple[Sequence[Value], str, str]:
    """Return PTX that depends on the condition of `call`, if it has one. A branch would separate products from their waits."""
    at = PREDICATES.get(name_of(call), len(call.args))
    if at >= len(call.args):
        return operands, letters, text
    condition = call.args[at]
    assert isinstance(condition, tir.PrimExpr)
    is_true = emit_cast(emitter.builder, emitter.emit(condition), condition.dtype, "int32")
    guarded = f"{{ .reg .pred active; setp.ne.b32 active, ${len(operands)}, 0; @active {text} }}"
    return [*operands, is_true], letters + "r", guarded


def _assembly(emitter: ExpressionEmitter, call: tir.Call, text: str, operands: Sequence[Value], letters: str) -> Value:
    """Emit PTX that reads `operands`, of the kinds `letters`."""
    operands, letters, text = _predicated(emitter, call, text, operands, letters)
    kind = ir.FunctionType(_VOID, [value.type for value in operands])
    constraints = ",".join([*letters, "~{memory}"])
    emitter.builder.call(ir.InlineAsm(kind, text, constraints, side_effect=True), operands)
    return number(I32, 0)


def _number(emitter: ExpressionEmitter, operand: object, kind: LLVMType = I32) -> Value:
    assert isinstance(operand, tir.PrimExpr)
    dtype = "int32" if kind is I32 else "int64"
    return emit_cast(emitter.builder, emitter.emit(operand), operand.dtype, dtype)


def _barrier(emitter: ExpressionEmitter, call: tir.Call, at: int = 0) -> Value:
    """Return the address of a barrier in shared memory."""
    _require(emitter, call)
    device: _HasBarriers = emitter  # type: ignore[assignment]
    index = _number(emitter, call.args[at], I64)
    return emitter.builder.ptrtoint(emitter.builder.gep(device.barriers, [index], source_etype=I64), I32)


def _create(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    _require(emitter, call)
    return number(I32, 0)


def _initialize(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Initialize a barrier, and let the copy engine and other blocks know."""
    text = "mbarrier.init.shared::cta.b64 [$0], $1; fence.mbarrier_init.release.cluster;"
    return _assembly(emitter, call, text, [_barrier(emitter, call), _number(emitter, call.args[1])], "rr")


def _arrive(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    return _assembly(emitter, call, "mbarrier.arrive.shared::cta.b64 _, [$0];", [_barrier(emitter, call)], "r")


def _expect(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    text = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;"
    return _assembly(emitter, call, text, [_barrier(emitter, call), _number(emitter, call.args[1])], "rr")


def _wait(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    parity = _number(emitter, call.args[1]) if call.args[1:] else number(I32, 0)
    text = (
        "{ .reg .pred complete; AGAIN_${:uid}: mbarrier.try_wait.parity.shared::cta.b64 complete, [$0], $1; "
        "@!complete bra AGAIN_${:uid}; }"
    )
    return _assembly(emitter, call, text, [_barrier(emitter, call), parity], "rr")


def _copy(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    barrier = _barrier(emitter, call, 9)
    device: _HasBarriers = emitter  # type: ignore[assignment]
    wanted = tensor_map_of(call)
    place = next(value for known, value in device.tensor_maps if known.is_same(wanted))
    assert isinstance(call.args[0], tir.PrimExpr)
    start = _number(emitter, call.args[1], I64)
    target = emitter.builder.gep(emitter.emit(call.args[0]), [start], source_etype=memory_type(call.dtype))
    row, column = _number(emitter, call.args[6]), _number(emitter, call.args[7])
    address = emitter.builder.ptrtoint(emitter.builder.addrspacecast(target, _SHARED), I32)
    operands = [address, emitter.builder.ptrtoint(place, I64), column, row, barrier]
    return _assembly(emitter, call, f"{_COPIED} [$0], [$1, {{$2, $3}}], [$4];", operands, "rlrrr")


TENSOR_COPIES: Table = {
    f"tir.{name}": rule
    for name, rule in (
        (COPY, _copy), (CREATE, _create), (INIT, _initialize), (ARRIVE, _arrive), (EXPECT, _expect), (WAIT, _wait),
    )
}  # fmt: skip
"""The intrinsics of Hopper's copy engine."""
