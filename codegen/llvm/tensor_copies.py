"""Copies of boxes by Hopper's copy engine, barriers in shared memory, and clusters of blocks, as inline PTX.

The host describes each matrix by a tensor map of 128 bytes, which is a parameter of the kernel. A barrier has 8 bytes in static
shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ...ir import clusters, tir
from ...ir.base import Node
from ...ir.diagnostics import error
from ...ir.matrix_units import name_of
from ...ir.matrix_units import number as constant
from ...ir.tensor_copies import (
    ARRIVE,
    COPY,
    CREATE,
    EXPECT,
    INIT,
    MULTICAST,
    PREDICATES,
    REMOTE,
    WAIT,
    TensorMap,
    tensor_map_of,
)
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
    def has_clusters(self) -> bool: ...
    @property
    def tensor_maps(self) -> Sequence[tuple[TensorMap, Value]]: ...


_VOID: LLVMType = ir.VoidType()
_SHARED: LLVMType = ir.PointerType(addrspace=3)
_FIRST = 90
_WITH_REGISTERS = "sm_90a"
"""The architecture whose warpgroups change their number of registers."""
_COPIED = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"


def map_parameter(argument: Value) -> None:
    """Make a parameter of a kernel, a pointer to bytes, a tensor map that lies among the parameters."""
    argument.add_attribute("byval")
    argument.attributes.align = MAP_ALIGNMENT
    attributes: set[str] = argument.attributes
    set[str].add(attributes, '"nvvm.grid_constant"')  # llvmlite does not know attributes that are texts


def note_function(function: Value, name: str, value: str) -> None:
    """Add an attribute to a function that is a pair of texts."""
    attributes: set[str] = function.attributes
    set[str].add(attributes, f'"{name}"="{value}"')


def require_hopper(target: str, what: str, place: Node) -> None:
    """Raise E0602 if an architecture has no clusters, copy engine and barriers in shared memory, which `what` says are needed."""
    if int(target.removeprefix("sm_").rstrip("a")) < _FIRST:
        reason = f"{what} sm_90 or newer; the target is {target}"
        raise error("E0602", reason, place.span, 'compile for Hopper: "cuda -arch=sm_90a"')


def _require(emitter: ExpressionEmitter, call: tir.Call) -> None:
    require_hopper(emitter.module.target.arch, "copies of boxes and their barriers need", call)


def _predicated(
    emitter: ExpressionEmitter, call: tir.Call, text: str, operands: Sequence[Value], letters: str
) -> tuple[Sequence[Value], str, str]:
    """Return PTX that depends on the condition of `call`, if it has one. A branch would separate products from their waits."""
    at = PREDICATES.get(name_of(call), len(call.args))
    if at >= len(call.args):
        return operands, letters, text.replace("@active ", "")
    condition = call.args[at]
    assert isinstance(condition, tir.PrimExpr)
    is_true = emit_cast(emitter.builder, emitter.emit(condition), condition.dtype, "int32")
    text = text if "@active" in text else f"@active {text}"
    guarded = f"{{ .reg .pred active; setp.ne.b32 active, ${len(operands)}, 0; {text} }}"
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


def barrier_address(emitter: ExpressionEmitter, call: tir.Call, at: int = 0) -> Value:
    """Return the address of the barrier whose number is an operand, in shared memory."""
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
    return _assembly(emitter, call, text, [barrier_address(emitter, call), _number(emitter, call.args[1])], "rr")


def _arrive(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    return _assembly(emitter, call, "mbarrier.arrive.shared::cta.b64 _, [$0];", [barrier_address(emitter, call)], "r")


def _arrive_remote(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Arrive at the barrier of another block, which has the same address in the shared memory of that block."""
    text = (
        "{ .reg .b32 remote; mapa.shared::cluster.u32 remote, $0, $1; "
        "@active mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote]; }"
    )
    operands = [barrier_address(emitter, call), _number(emitter, call.args[1])]
    return _assembly(emitter, call, text, operands, "rr")


def _expect(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    text = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;"
    return _assembly(emitter, call, text, [barrier_address(emitter, call), _number(emitter, call.args[1])], "rr")


def _wait(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    given = _number(emitter, call.args[1]) if call.args[1:] else number(I32, 0)
    parity = emitter.builder.and_(given, number(I32, 1))  # PTX defines no other
    device: _HasBarriers = emitter  # type: ignore[assignment]
    order = ".acquire.cluster" * device.has_clusters  # otherwise other blocks cannot arrive
    text = (
        f"{{ .reg .pred complete; AGAIN_${{:uid}}: mbarrier.try_wait.parity{order}.shared::cta.b64 complete, [$0], $1; "
        "@!complete bra AGAIN_${:uid}; }"
    )
    return _assembly(emitter, call, text, [barrier_address(emitter, call), parity], "rr")


def _copy(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    barrier = barrier_address(emitter, call, 9)
    device: _HasBarriers = emitter  # type: ignore[assignment]
    wanted = tensor_map_of(call)
    place = next(value for known, value in device.tensor_maps if known.is_same(wanted))
    assert isinstance(call.args[0], tir.PrimExpr)
    start = _number(emitter, call.args[1], I64)
    target = emitter.builder.gep(emitter.emit(call.args[0]), [start], source_etype=memory_type(call.dtype))
    row, column = _number(emitter, call.args[6]), _number(emitter, call.args[7])
    address = emitter.builder.ptrtoint(emitter.builder.addrspacecast(target, _SHARED), I32)
    operands = [address, emitter.builder.ptrtoint(place, I64), column, row, barrier]
    if name_of(call) == MULTICAST:
        operands.append(emitter.builder.trunc(_number(emitter, call.args[10]), ir.IntType(16)))
        text = f"{_COPIED}.multicast::cluster [$0], [$1, {{$2, $3}}], [$4], $5;"
        return _assembly(emitter, call, text, operands, "rlrrrh")
    return _assembly(emitter, call, f"{_COPIED} [$0], [$1, {{$2, $3}}], [$4];", operands, "rlrrr")


def _meet(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Emit a step of the barrier of a cluster; all threads of a warp execute it together, but the compiler need not prove that."""
    step = "arrive.release" if name_of(call) == clusters.ARRIVE else "wait.acquire"
    return _assembly(emitter, call, f"barrier.cluster.{step};", [], "")


def _named(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    return _assembly(emitter, call, f"barrier.sync {constant(call, 0)}, {constant(call, 1)};", [], "")


def _registers(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Emit a change of the number of registers; E0602 if the architecture is not sm_90a."""
    if emitter.module.target.arch != _WITH_REGISTERS:
        reason = f"T.{name_of(call)} needs {_WITH_REGISTERS}; the target is {emitter.module.target.arch}"
        raise error("E0602", reason, call.span, f'compile for Hopper: "cuda -arch={_WITH_REGISTERS}"')
    change = "inc" if constant(call, 0) else "dec"
    return _assembly(emitter, call, f"setmaxnreg.{change}.sync.aligned.u32 {constant(call, 1)};", [], "")


TENSOR_COPIES: Table = {
    f"tir.{name}": rule
    for name, rule in (
        (COPY, _copy), (MULTICAST, _copy), (CREATE, _create), (INIT, _initialize), (ARRIVE, _arrive), (REMOTE, _arrive_remote),
        (EXPECT, _expect), (WAIT, _wait), (clusters.ARRIVE, _meet), (clusters.WAIT, _meet), (clusters.NAMED, _named),
        (clusters.REGISTERS, _registers),
    )
}  # fmt: skip
"""The intrinsics of Hopper's copy engine, of clusters, and of roles of warps."""
