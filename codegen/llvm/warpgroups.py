"""Products of warpgroups, as inline PTX: LLVM has no intrinsic for `wgmma.mma_async`.

The accumulator of a thread lies in its local memory, which LLVM promotes to registers. A product takes all of its registers and
returns them; so does `wgmma.wait_group` with all accumulators of the kernel, so that no access moves before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ...ir import tir
from ...ir.diagnostics import error
from ...ir.matrix_units import number as constant
from ...ir.warpgroups import (
    ARCHITECTURE,
    COMMIT,
    FENCE,
    PRODUCT,
    PROXY,
    WAIT,
    warpgroup_product_of,
)
from .api import LLVMType, Value, ir
from .casts import emit_cast
from .expressions import ExpressionEmitter
from .intrinsics import Table
from .operators import number
from .types import I32, I64, memory_type


class _HasAccumulators(Protocol):
    """What products need of `nvptx.DeviceEmitter`."""

    @property
    def accumulators(self) -> Mapping[tir.Var, int]: ...


_VOID: LLVMType = ir.VoidType()
_SHARED: LLVMType = ir.PointerType(addrspace=3)
_FLOAT: LLVMType = ir.FloatType()
_BYTES = 4


def _require(emitter: ExpressionEmitter, call: tir.Call, what: str) -> None:
    target = emitter.module.target.arch
    if target != ARCHITECTURE:
        reason = f"{what} need {ARCHITECTURE}; the target is {target}"
        raise error("E0602", reason, call.span, f'compile for Hopper: "cuda -arch={ARCHITECTURE}"')


def assembly(
    emitter: ExpressionEmitter,
    text: str,
    registers: Sequence[Value] = (),
    others: Sequence[Value] = (),
    letters: str = "",
    attributes: Sequence[str] = (),
) -> list[Value]:
    """Emit PTX that changes float `registers` and reads `others`, of the kinds `letters`; return the new registers.

    `attributes` are those of the call for LLVM.
    """
    count = len(registers)
    result = _VOID if not count else _FLOAT if count == 1 else ir.LiteralStructType([_FLOAT] * count)
    kind = ir.FunctionType(result, [value.type for value in (*registers, *others)])
    constraints = ["=f"] * count + [str(i) for i in range(count)] + list(letters) + ["~{memory}"]
    code = ir.InlineAsm(kind, text, ",".join(constraints), side_effect=True)
    found = emitter.builder.call(code, [*registers, *others], attrs=attributes)
    return [found] if count == 1 else [emitter.builder.extract_value(found, i) for i in range(count)]


def elements_at(emitter: ExpressionEmitter, address: Value, count: int) -> list[Value]:
    """Return the places of `count` floats from an address on."""
    return [emitter.builder.gep(address, [number(I64, i)], source_etype=_FLOAT) for i in range(count)]


def change_elements(
    emitter: ExpressionEmitter,
    places: Sequence[Value],
    text: str,
    others: Sequence[Value] = (),
    letters: str = "",
    attributes: Sequence[str] = (),
) -> None:
    """Emit PTX that changes the floats at `places`."""
    registers = [emitter.builder.load(place, align=_BYTES, typ=_FLOAT) for place in places]
    found = assembly(emitter, text, registers, others, letters, attributes)
    for place, value in zip(places, found, strict=True):
        emitter.builder.store(value, place, align=_BYTES)


def element_address(emitter: ExpressionEmitter, call: tir.Call, at: int, dtype: str) -> Value:
    """Return the address of the element that two operands name, a pointer and an offset."""
    base, offset = call.args[at], call.args[at + 1]
    assert isinstance(base, tir.PrimExpr)
    assert isinstance(offset, tir.PrimExpr)
    index = emit_cast(emitter.builder, emitter.emit(offset), offset.dtype, "int64")
    return emitter.builder.gep(emitter.emit(base), [index], source_etype=memory_type(dtype))


def matrix_descriptor(emitter: ExpressionEmitter, call: tir.Call, at: int, dtype: str, fields: int) -> Value:
    """Return the matrix descriptor of a factor, whose other `fields` are known; addresses of shared memory have at most 18 bits."""
    builder = emitter.builder
    shared = builder.addrspacecast(element_address(emitter, call, at, dtype), _SHARED)
    address = builder.zext(builder.ptrtoint(shared, I32), I64)
    return builder.add(builder.lshr(address, number(I64, 4)), number(I64, fields))


def _product(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    product = warpgroup_product_of(call)
    _require(emitter, call, "products of warpgroups")
    factors = zip((6, 8), product.dtypes, (product.a, product.b), strict=True)
    descriptors = [matrix_descriptor(emitter, call, at, dtype, tile.descriptor) for at, dtype, tile in factors]
    count = product.count
    registers = ", ".join(f"${i}" for i in range(count))
    name = f"wgmma.mma_async.sync.aligned.{product.shape}.f32.{'.'.join(product.kinds)}"
    turned = f", {int(not product.a.is_deep)}, {int(not product.b.is_deep)}" if product.is_turnable else ""
    text = f"{name} {{{registers}}}, ${2 * count}, ${2 * count + 1}, 1, 1, 1{turned};"
    places = elements_at(emitter, element_address(emitter, call, 10, "float32"), count)
    change_elements(emitter, places, text, descriptors, "ll")
    return number(I32, 0)


def _wait(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    _require(emitter, call, "products of warpgroups")
    device: _HasAccumulators = emitter  # type: ignore[assignment]
    places = [
        place
        for data, count in device.accumulators.items()
        for place in elements_at(emitter, emitter.emit(data), count)
    ]
    change_elements(emitter, places, f"wgmma.wait_group.sync.aligned {constant(call, 0)};")
    return number(I32, 0)


def _fence(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Emit `wgmma.fence` behind all changes of accumulators."""
    _require(emitter, call, "products of warpgroups")
    device: _HasAccumulators = emitter  # type: ignore[assignment]
    places = [
        place
        for data, count in device.accumulators.items()
        for place in elements_at(emitter, emitter.emit(data), count)
    ]
    change_elements(emitter, places, "wgmma.fence.sync.aligned;")
    return number(I32, 0)


def _commit(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    _require(emitter, call, "products of warpgroups")
    assembly(emitter, "wgmma.commit_group.sync.aligned;")
    return number(I32, 0)


def _proxy(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    target = emitter.module.target.arch
    if int(target.removeprefix("sm_").rstrip("a")) < 90:
        reason = f"fences of asynchronous memory accesses need sm_90 or newer; the target is {target}"
        raise error("E0602", reason, call.span, f'compile for a newer GPU: "cuda -arch={ARCHITECTURE}"')
    assembly(emitter, "fence.proxy.async.shared::cta;")
    return number(I32, 0)


WARPGROUPS: Table = {
    f"tir.{name}": rule
    for name, rule in ((PRODUCT, _product), (WAIT, _wait), (FENCE, _fence), (COMMIT, _commit), (PROXY, _proxy))
}
"""The intrinsics of Hopper's tensor cores."""
