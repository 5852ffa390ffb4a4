"""Tensor cores and asynchronous copies of GPUs, as intrinsics of NVPTX.

The fragment of a thread lies in its local memory; LLVM promotes it to registers if the offsets fold to
constants. Only what the tables of `ir.matrix_units` list is emitted, on architectures that have it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ...ir import tir
from ...ir.diagnostics import error
from ...ir.dtype import element_bytes
from ...ir.matrix_units import (
    DTYPES,
    STORE,
    WARP,
    WMMA_TYPES,
    Fragment,
    Product,
    matrices_of,
    name_of,
    never_loaded,
    product_of,
    texts,
)  # fmt: skip
from ...ir.matrix_units import number as constant
from ..gpu.matrix_units import copied_bytes
from .api import LLVMType, Value, ir
from .casts import emit_cast
from .expressions import ExpressionEmitter
from .intrinsics import Table
from .operators import number
from .types import I32, I64, memory_type


class _HasFragments(Protocol):
    """What fragments need of `nvptx.DeviceEmitter`."""

    @property
    def fragments(self) -> Mapping[tir.Var, Fragment]: ...


_VOID: LLVMType = ir.VoidType()
_SHARED: LLVMType = ir.PointerType(addrspace=3)
_GLOBAL: LLVMType = ir.PointerType(addrspace=1)
_HALVES: LLVMType = ir.VectorType(ir.HalfType(), 2)
_REGISTERS: dict[str, LLVMType] = {"f16": _HALVES, "f32": ir.FloatType()}
"""Register types of PTX's element types; the others use 32-bit integers."""
_REGISTER_BYTES = 4


def call_symbol(emitter: ExpressionEmitter, symbol: str, result: LLVMType, *args: Value) -> Value:
    """Emit a call of a function by its symbol."""
    return emitter.builder.call(emitter.module.c_function(symbol, result, [arg.type for arg in args]), args)


def require(emitter: ExpressionEmitter, call: tir.Call, arch: int, what: str) -> None:
    """Raise E0602 if the target is older than `arch` (80 for sm_80)."""
    target = emitter.module.target.arch
    if int(target.removeprefix("sm_").rstrip("a")) < arch:
        reason = f"{what} need sm_{arch} or newer; the target is {target}"
        raise error("E0602", reason, call.span, f'compile for a newer GPU: "cuda -arch=sm_{max(arch, 80)}"')


def _wide(emitter: ExpressionEmitter, expr: Any) -> Value:
    return emit_cast(emitter.builder, emitter.emit(expr), expr.dtype, "int64")


def _narrow(emitter: ExpressionEmitter, expr: Any) -> Value:
    return emit_cast(emitter.builder, emitter.emit(expr), expr.dtype, "int32")


def _pointer(emitter: ExpressionEmitter, call: tir.Call, at: int, dtype: str) -> Value:
    """Return the address given by two arguments of `call`: a pointer at position `at`, and an offset in elements after
    it.
    """
    base: Any = call.args[at]
    return emitter.builder.gep(emitter.emit(base), [_wide(emitter, call.args[at + 1])], source_etype=memory_type(dtype))


def _results(kind: LLVMType, count: int) -> LLVMType:
    return kind if count == 1 else ir.LiteralStructType([kind] * count)


def _taken(emitter: ExpressionEmitter, result: Value, count: int) -> list[Value]:
    return [result] if count == 1 else [emitter.builder.extract_value(result, i) for i in range(count)]


def _load(emitter: ExpressionEmitter, address: Value, kind: LLVMType, count: int) -> list[Value]:
    """Return `count` consecutive registers from `address`."""
    places = (emitter.builder.gep(address, [number(I64, i)], source_etype=kind) for i in range(count))
    return [emitter.builder.load(place, align=_REGISTER_BYTES, typ=kind) for place in places]


def _store(emitter: ExpressionEmitter, address: Value, registers: Sequence[Value]) -> None:
    for i, value in enumerate(registers):
        place = emitter.builder.gep(address, [number(I64, i)], source_etype=value.type)
        emitter.builder.store(value, place, align=_REGISTER_BYTES)


# --- mma, ldmatrix and stmatrix -----------------------------------------------------------------------------------------


def _types(product: Product) -> str:
    """Return LLVM's suffix for the types of a product; factors alone if they determine the type of the result."""
    if product.a == "f16":
        return f"{product.c}.{product.c}"
    return product.a if product.a == product.b else f"{product.a}.{product.b}"


def _mma(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    product = product_of(call)
    shape = f"m{product.m}n{product.n}k{product.k}"
    require(emitter, call, product.arch, f"products {shape} of {product.a}")
    registers: list[Value] = []
    for at, ptx_type, count in ((6, product.a, product.a_count), (8, product.b, product.b_count), (10, product.c, product.c_count)):  # fmt: skip
        dtype = DTYPES[ptx_type]
        words = count * element_bytes(dtype) // _REGISTER_BYTES
        registers += _load(emitter, _pointer(emitter, call, at, dtype), _REGISTERS.get(ptx_type, I32), words)
    kind, words = registers[-1].type, product.c_count * element_bytes(DTYPES[product.c]) // _REGISTER_BYTES
    is_saturating = product.c == "s32" and len(call.args) > 12 and bool(constant(call, 12))
    symbol = f"llvm.nvvm.mma.{shape}.row.col.{'satfinite.' * is_saturating}{_types(product)}"
    result = call_symbol(emitter, symbol, _results(kind, words), *registers)
    _store(emitter, _pointer(emitter, call, 10, DTYPES[product.c]), _taken(emitter, result, words))
    return number(I32, 0)


def _ldmatrix(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    load = matrices_of(call)
    require(emitter, call, 75, "loads of matrices")
    shared = emitter.builder.addrspacecast(_pointer(emitter, call, 5, call.dtype), _SHARED)
    symbol = f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x{load.count}{'.trans' * load.is_transposed}.b16.p3"
    result = call_symbol(emitter, symbol, _results(I32, load.count), shared)
    _store(emitter, _pointer(emitter, call, 3, call.dtype), _taken(emitter, result, load.count))
    return number(I32, 0)


def _stmatrix(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    stored = matrices_of(call)
    require(emitter, call, 90, "stores of matrices")
    shared = emitter.builder.addrspacecast(_pointer(emitter, call, 5, call.dtype), _SHARED)
    registers = _load(emitter, _pointer(emitter, call, 3, call.dtype), I32, stored.count)
    symbol = f"llvm.nvvm.stmatrix.sync.aligned.m8n8.x{stored.count}{'.trans' * stored.is_transposed}.b16.p3"
    call_symbol(emitter, symbol, ir.VoidType(), shared, *registers)
    return number(I32, 0)


# --- Fragments ------------------------------------------------------------------------------------------------


def _ptx_type(fragment: Fragment) -> str:
    if fragment.kind == "accumulator":
        return {"float16": "f16", "float32": "f32"}.get(fragment.dtype, "s32")
    return WMMA_TYPES[fragment.dtype][2]


def _register_count(fragment: Fragment) -> int:
    """Return how many registers per thread a fragment takes; float16 factors are stored twice."""
    if fragment.dtype == "float16" and fragment.kind != "accumulator":
        return 8
    return fragment.size * element_bytes(fragment.dtype) // _REGISTER_BYTES // WARP


def fragment_bytes(fragment: Fragment, elements: int) -> int:
    """Return how many bytes per thread fragments of `elements` elements in total take."""
    return -(-elements // fragment.size) * _register_count(fragment) * _REGISTER_BYTES


def _fragment(emitter: ExpressionEmitter, call: tir.Call, at: int, which: int) -> tuple[Fragment, Value, LLVMType, int]:
    """Return the fragment that the arguments `at`, a variable, and `which`, a number, of `call` select; with the
    address, the type and the number of its registers.
    """
    device: _HasFragments = emitter  # type: ignore[assignment]
    variable = call.args[at]
    fragment = device.fragments.get(variable) if isinstance(variable, tir.Var) else None
    if fragment is None:
        raise never_loaded(call, variable)
    if fragment.kind != "accumulator":
        require(emitter, call, WMMA_TYPES[fragment.dtype][3], f"fragments of {fragment.dtype}")
    elif fragment.dtype == "int32":
        require(emitter, call, WMMA_TYPES["int8"][3], "fragments of int32")
    count, kind = _register_count(fragment), _REGISTERS.get(_ptx_type(fragment), I32)
    offset = emitter.builder.mul(_wide(emitter, call.args[which]), number(I64, count))
    address = emitter.builder.gep(emitter.emit(variable), [offset], source_etype=I32)  # type: ignore[arg-type]
    return fragment, address, kind, count


def _fill(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    fragment, address, kind, count = _fragment(emitter, call, 0, 4)
    given: Any = call.args[5]
    value = emit_cast(emitter.builder, emitter.emit(given), given.dtype, fragment.dtype)
    if kind is _HALVES:
        whole = ir.Constant(kind, ir.Undefined)
        for lane in range(2):
            whole = emitter.builder.insert_element(whole, value, number(I32, lane))
        value = whole
    _store(emitter, address, [value] * count)
    return number(I32, 0)


def _move(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Emit a load or store of a fragment: `(fragment, m, n, k, number, pointer, stride, layout)`."""
    fragment, address, kind, count = _fragment(emitter, call, 0, 4)
    memory, stride = emitter.emit(call.args[5]), _narrow(emitter, call.args[6])  # type: ignore[arg-type]
    layout = texts(call)[-1].removesuffix("_major").replace("column", "col")
    ptx_type = _ptx_type(fragment)
    if name_of(call) == "tvm_store_matrix_sync":
        symbol = f"llvm.nvvm.wmma.{fragment.shape_name}.store.d.{layout}.stride.{ptx_type}.p0"
        call_symbol(emitter, symbol, _VOID, memory, *_load(emitter, address, kind, count), stride)
        return number(I32, 0)
    role = {"accumulator": "c"}.get(fragment.kind, fragment.kind)
    symbol = f"llvm.nvvm.wmma.{fragment.shape_name}.load.{role}.{layout}.stride.{ptx_type}.p0"
    result = call_symbol(emitter, symbol, _results(kind, count), memory, stride)
    _store(emitter, address, _taken(emitter, result, count))
    return number(I32, 0)


def _mma_sync(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Emit a product of fragments: `(d, number, a, number, b, number, c, number)`."""
    parts = [_fragment(emitter, call, at, at + 1) for at in (0, 2, 4, 6)]
    (d, target, kind, count), (a, *_), (b, *_), (c, *_) = parts
    shapes = {fragment.shape_name for fragment, *_ in parts}
    if a.dtype != b.dtype or d != c or len(shapes) > 1 or c.dtype not in WMMA_TYPES[a.dtype][1]:
        reason = (
            f"fragments of {a.dtype} and {b.dtype}, {' and '.join(sorted(shapes))}, cannot be multiplied into {c.dtype}"
        )
        raise error("E0606", reason, call.span, "load them for the same product")
    layouts = ".".join("col" if fragment.is_column else "row" for fragment in (a, b))
    ptx_type = f"{_ptx_type(d)}.{_ptx_type(c)}" if a.dtype == "float16" else _ptx_type(a)
    registers = [value for _, address, item, words in parts[1:] for value in _load(emitter, address, item, words)]
    symbol = f"llvm.nvvm.wmma.{a.shape_name}.mma.{layouts}.{ptx_type}"
    result = call_symbol(emitter, symbol, _results(kind, count), *registers)
    _store(emitter, target, _taken(emitter, result, count))
    return number(I32, 0)


# --- Copies that go on by themselves ----------------------------------------------------------------------------


def _copy(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Emit an asynchronous copy: `(target, offset, source, offset, bytes)` and, optionally, whether to copy or to
    write zeros.
    """
    size = copied_bytes(call)
    target = emitter.builder.addrspacecast(_pointer(emitter, call, 0, call.dtype), _SHARED)
    source = emitter.builder.addrspacecast(_pointer(emitter, call, 2, call.dtype), _GLOBAL)
    cache = "cg" if size == 16 else "ca"
    symbol, rest = f"llvm.nvvm.cp.async.{cache}.shared.global.{size}", list[Value]()
    if len(call.args) > 5:
        taken = emitter.emit(call.args[5])  # type: ignore[arg-type]
        symbol, rest = f"{symbol}.s", [emitter.builder.select(taken, number(I32, size), number(I32, 0))]
    call_symbol(emitter, symbol, _VOID, target, source, *rest)
    return number(I32, 0)


def _commit(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    call_symbol(emitter, "llvm.nvvm.cp.async.commit.group", _VOID)
    return number(I32, 0)


def _wait(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    call_symbol(emitter, "llvm.nvvm.cp.async.wait.group", _VOID, number(I32, constant(call, 0)))
    return number(I32, 0)


MATRIX_UNITS: Table = {
    "tir.ptx_mma": _mma, "tir.ptx_ldmatrix": _ldmatrix, f"tir.{STORE}": _stmatrix, "tir.tvm_fill_fragment": _fill, "tir.tvm_load_matrix_sync": _move,
    "tir.tvm_store_matrix_sync": _move, "tir.tvm_mma_sync": _mma_sync, "tir.ptx_cp_async": _copy,
    "tir.ptx_commit_group": _commit, "tir.ptx_wait_group": _wait,
}  # fmt: skip
"""The intrinsics of GPUs with tensor cores."""
