"""Kernels as LLVM IR for NVPTX.

LLVM aborts the process on many constructs that NVPTX cannot do (`llvm.sin`, memory of a dynamic size, names
that PTX does not allow). Therefore only what the tables of `nvptx_intrinsics` list is emitted; everything else
is refused here with an error.

A kernel has the parameters of its launch (`codegen.gpu.launch`) and the address where it stores the number of a
fault before it returns. Products and sums may be fused into one rounding, as other GPU compilers do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import cached_property
from math import gcd, prod
from typing import Any

from ...ir import tir
from ...ir.analysis.modular_set import modular_set
from ...ir.base import Source
from ...ir.clusters import REGISTERS, calls_of
from ...ir.clusters import TAGS as CLUSTER_TAGS
from ...ir.diagnostics import Diagnostic, TvmsError, error
from ...ir.dtype import element_bytes, lanes_of, with_lanes
from ...ir.matrix_units import Fragment, fragments_in, is_fragment_scope, name_of
from ...ir.tensor_copies import TensorMap, calls_in, tensor_maps
from ...ir.tensor_memory import LOAD, PRODUCT, SCOPE
from ...ir.visit import walk
from ...ir.warpgroups import warpgroup_calls
from ..gpu.architectures import PARAMETER_BYTES
from ..gpu.dynamic_memory import (
    DYNAMIC,
    Need,
    check_need,
    count_of,
    dynamic_bytes,
    dynamic_offsets,
    rounded,
    shared_alignment,
)
from ..gpu.kernel import THREAD_TAGS, Kernel, constant_memory, scope_of, size_of
from ..gpu.launch import parameter_bytes
from ..gpu.tensor_copies import BARRIER_BYTES, barrier_count
from ..gpu.tensor_maps import MAP_BYTES
from ..names import local_name, mangle
from ..target import Target
from .api import LLVMType, Value, ir
from .matrix_units import fragment_bytes
from .module import EmittedModule
from .numbering import NumberingBuilder
from .nvptx_intrinsics import NVPTX
from .operators import number
from .parallel import KernelEmitter
from .shared import LLVMModule
from .tensor_copies import map_parameter, note_function, require_hopper
from .types import I32, I64, POINTER, register_type

SHARED_SPACE = 3
ADDRESS_BYTES = 4
"""Number of bytes of an address of tensor memory, which an allocation stores in shared memory."""
WIDEST_ACCESS = 16
"""Maximum number of bytes that one instruction loads or stores."""
_REGISTERS = {"threadIdx": "tid", "blockIdx": "ctaid", "clusterCtaIdx": "cluster.ctaid"}


def emit_kernels(
    kernels: Sequence[Kernel], params: Mapping[str, Sequence[tir.Var]], target: Target, source: Source | None = None
) -> EmittedModule:
    """Emit lowered kernels, with their parameters by name; TvmsError with everything that GPUs cannot do, from all
    kernels. With `source`, instructions have the lines of statements in it.
    """
    emitter = DeviceModule(target, source)
    problems: list[Diagnostic] = []
    for kernel in kernels:
        try:
            emitter.emit_device(kernel, params[kernel.name])
        except TvmsError as problem:
            problems.extend(problem.diagnostics)
    if problems:
        raise TvmsError(problems)
    return EmittedModule(str(emitter.module), tuple(emitter.faults), frozenset(emitter.noting))


class DeviceModule(LLVMModule):
    """Holds what the kernels of a module share."""

    def __init__(self, target: Target, source: Source | None = None) -> None:
        super().__init__({}, target, 1, NVPTX, source=source)
        self.noting: set[str] = set()

    def emit_device(self, kernel: Kernel, params: Sequence[tir.Var]) -> None:
        """Emit the entry of `kernel`, with `params` and the address of the fault status."""
        types = [register_type(param.dtype, param.span) for param in params]
        maps = tensor_maps(kernel.body)
        size = parameter_bytes(params, len(maps))
        if size > PARAMETER_BYTES:
            reason = f"kernel '{kernel.name}' has arguments of {size} bytes; the limit is {PARAMETER_BYTES}"
            raise error("E0614", reason, params[-1].span or kernel.body.span, "pass fewer arrays")
        of_maps = [ir.PointerType(ir.ArrayType(ir.IntType(8), MAP_BYTES)) for _ in maps]
        function = ir.Function(
            self.module, ir.FunctionType(ir.VoidType(), [*types, *of_maps, POINTER]), mangle(kernel.name)
        )
        function.calling_convention = "ptx_kernel"
        emitter = DeviceEmitter(self, function, kernel)
        emitter.locate(kernel.body)
        constant = constant_memory(kernel)
        for param, value in zip(params, function.args, strict=False):
            value.name = local_name(param.name)
            emitter.values[param] = value
            if param in constant:
                value.add_attribute("noalias")
        described = list(zip(maps, function.args[len(params) : -1], strict=True))
        for _, value in described:
            map_parameter(value)
        emitter.tensor_maps = described
        self._bound_clusters(function, kernel)
        for axis in kernel.axes:
            emitter.values[axis.var] = emitter.special_register(axis.tag)
        emitter.run(kernel.body)
        if not emitter.builder.block.is_terminated:
            emitter.builder.ret_void()
        emitter.check_limits()
        self._bound_threads(function, kernel)

    def _bound_threads(self, function: Value, kernel: Kernel) -> None:
        """Tell LLVM the number of threads, which limits the registers per thread."""
        sizes = {axis.tag: size_of(axis) for axis in kernel.threads}
        notes: list[Any] = [function]
        for tag, name in zip(reversed(THREAD_TAGS), ("maxntidx", "maxntidy", "maxntidz"), strict=True):
            notes += [name, number(I32, sizes.get(tag, 1))]
        metadata = self.module.add_metadata(notes)
        self.module.add_named_metadata("nvvm.annotations", metadata)

    def _bound_clusters(self, function: Value, kernel: Kernel) -> None:
        """Tell LLVM the number of blocks of a cluster, with which the kernel is then launched; E0602 if the GPU has none."""
        calls = calls_of(kernel.body)
        for axis in kernel.clusters:
            require_hopper(self.target.arch, "clusters of blocks need", axis.var)
        for call in calls:
            require_hopper(self.target.arch, f"T.{name_of(call)} needs", call)
        if kernel.clusters:
            sizes = {axis.tag: size_of(axis) for axis in kernel.clusters}
            extents = ",".join(str(sizes.get(tag, 1)) for tag in reversed(CLUSTER_TAGS))
            note_function(function, "nvvm.cluster_dim", extents)
        if any(name_of(call) == REGISTERS for call in calls):
            note_function(function, "nvvm.minctasm", "1")  # without a bound on registers, PTX ignores `setmaxnreg`

    def c_function(self, symbol: str, result: LLVMType, params: list[LLVMType]) -> Value:
        """Return the declaration of an LLVM intrinsic; E0602 for others, since GPUs have no C library."""
        if not symbol.startswith("llvm."):
            raise error("E0602", f"the function '{symbol}' does not exist on target '{self.target.name}'")
        return super().c_function(symbol, result, params)


def _power_of_two(number: int) -> int:
    """Return the largest power of two that divides `number`."""
    return number & -number


class _FusingBuilder(NumberingBuilder):
    """Builder that allows sums and products to be fused into one instruction with one rounding."""

    def fadd(self, lhs: Value, rhs: Value, name: str = "", flags: Sequence[str] = ("contract",)) -> Value:
        return super().fadd(lhs, rhs, name, flags)  # type: ignore[no-any-return]

    def fsub(self, lhs: Value, rhs: Value, name: str = "", flags: Sequence[str] = ("contract",)) -> Value:
        return super().fsub(lhs, rhs, name, flags)  # type: ignore[no-any-return]

    def fmul(self, lhs: Value, rhs: Value, name: str = "", flags: Sequence[str] = ("contract",)) -> Value:
        return super().fmul(lhs, rhs, name, flags)  # type: ignore[no-any-return]


class DeviceEmitter(KernelEmitter):
    """Emits the code of one thread."""

    def __init__(self, module: DeviceModule, function: Value, kernel: Kernel) -> None:
        super().__init__(module, function, None)
        self._noting = module.noting
        self.builder = _FusingBuilder(self.builder.block)
        self._kernel, self._shared_bytes, self._local_bytes = kernel, 0, 0
        self.tensor_maps: list[tuple[TensorMap, Value]] = []
        self._dynamic, self._alignment = dynamic_offsets(kernel), shared_alignment(kernel)
        self._dynamic_bytes = dynamic_bytes(kernel)

    @cached_property
    def fragments(self) -> dict[tir.Var, Fragment]:
        """Return the shape, dtype and kind of each fragment of the kernel."""
        return fragments_in(self._kernel.body)

    @cached_property
    def accumulators(self) -> dict[tir.Var, int]:
        """Return the local memory of the accumulators of warpgroups, with its number of elements."""
        return self._sizes_of({call.args[10] for call in warpgroup_calls(self._kernel.body)})

    @cached_property
    def load_targets(self) -> dict[tir.Var, int]:
        """Return the local memory that tensor memory is loaded into, with its number of elements."""
        return self._sizes_of({call.args[0] for call in calls_in(self._kernel.body, (LOAD,))})

    def _sizes_of(self, used: Set[object]) -> dict[tir.Var, int]:
        found = (stmt for stmt in walk(self._kernel.body) if isinstance(stmt, tir.Allocate) and stmt.buffer_var in used)
        sizes = {
            stmt.buffer_var: [part.value for part in stmt.extents if isinstance(part, tir.IntImm)] for stmt in found
        }
        return {data: prod(size) for data, size in sizes.items()}

    @cached_property
    def barriers(self) -> Value:
        """Return the barriers in shared memory."""
        return self._shared_variable(BARRIER_BYTES * barrier_count(self._kernel))

    @property
    def has_clusters(self) -> bool:
        """Whether blocks may reach the barriers of other blocks."""
        return bool(self._kernel.clusters)

    def special_register(self, tag: str) -> Value:
        """Return the index of this thread or block along an axis."""
        register, axis = tag.split(".")
        symbol = f"llvm.nvvm.read.ptx.sreg.{_REGISTERS[register]}.{axis}"
        return self.builder.call(self.module.c_function(symbol, I32, []), [])

    def note_loop(self, loop: tir.For, back: Value) -> None:
        """Keep loops with asynchronous products: unrolled ones have more instructions than the cache of a multiprocessor holds."""
        if not (warpgroup_calls(loop.body) or calls_in(loop.body, (PRODUCT,))):
            return
        module = self.builder.module
        disabled = module.add_metadata(["llvm.loop.unroll.disable"])
        note = ir.values.MDValue(module, (), str(len(module.metadata)))
        note.operands = (note, disabled)  # LLVM identifies loops by metadata that refer to themselves
        back.set_metadata("llvm.loop", note)

    def leave(self, status: Value) -> None:
        """Store the status and end this thread. If several threads fail, the last store remains."""
        self._noting.add(self._kernel.name)
        self.builder.store(status, self.function.args[-1], align=4)
        self.builder.ret_void()

    def call_function(self, call: tir.Call, name: str) -> Value:
        """Raise E0606: kernels do not call functions of the module."""
        help = "inline its body, or call it from the graph level"
        raise error("E0606", f"a kernel cannot call the function '{name}'", call.span, help)

    def return_value(self, call: tir.Call) -> Value:
        raise error("E0606", "a kernel cannot return a value", call.span, "write it to a buffer")

    def alignment(self, access: tir.BufferLoad | tir.BufferStore) -> int:
        """Return the alignment of an access in bytes: at most that of the whole vector, as far as its first index is known to be a
        multiple. Wider vectors are several accesses.
        """
        scalar = super().alignment(access)
        (index,), buffer_lanes = access.indices, lanes_of(access.buffer.dtype)
        size = element_bytes(with_lanes(access.buffer.dtype, 1))
        whole = min(_power_of_two(size * max(lanes_of(index.dtype), buffer_lanes)), WIDEST_ACCESS)
        if buffer_lanes > 1:
            return whole
        if not isinstance(index, tir.Ramp) or access.predicate is not None:
            return scalar
        if not isinstance(index.stride, tir.IntImm) or index.stride.value != 1:
            return scalar
        base = modular_set(index.base)
        step = gcd(base.base, base.coeff) * size
        return max(min(_power_of_two(step) if step else whole, whole), scalar)

    def _allocate(self, stmt: tir.Allocate) -> None:
        """Allocate local or shared memory of a constant size."""
        count = count_of(stmt)
        size = max(count * element_bytes(stmt.dtype), 1)
        scope = scope_of(stmt.buffer_var)
        if is_fragment_scope(scope):
            fragment = self.fragments.get(stmt.buffer_var)
            size = fragment_bytes(fragment, count) if fragment else 1
        if scope == DYNAMIC:
            self.values[stmt.buffer_var] = self._of_launch(self._dynamic[stmt])
        elif scope == "shared":
            self.values[stmt.buffer_var] = self._shared(size)
        elif scope == SCOPE:
            self.values[stmt.buffer_var] = self._shared_variable(ADDRESS_BYTES, ADDRESS_BYTES)
        elif scope == "local" or is_fragment_scope(scope):
            self._local_bytes += size
            self.values[stmt.buffer_var] = self._local(size)
        else:
            span, help = stmt.span or stmt.buffer_var.span, 'allocate it in scope "local" or "shared"'
            raise error("E0606", f"the GPU has no memory of scope '{scope}'", span, help)
        self.check_limits(stmt)
        self.run(stmt.body)

    def _local(self, size: int) -> Value:
        return self.stack_memory(ir.ArrayType(ir.IntType(8), size), WIDEST_ACCESS)

    def _shared(self, size: int) -> Value:
        return self.builder.addrspacecast(self._shared_variable(size), POINTER)

    def _shared_variable(self, size: int, alignment: int | None = None) -> Value:
        module, kind = self.builder.module, ir.ArrayType(ir.IntType(8), size)
        alignment = alignment or self._alignment
        self._shared_bytes = rounded(self._shared_bytes, alignment) + size
        name = module.get_unique_name(f"{self.function.name}_shared")
        variable = ir.GlobalVariable(module, kind, name, addrspace=SHARED_SPACE)
        variable.linkage, variable.align = "internal", alignment
        variable.initializer = ir.Constant(kind, ir.Undefined)
        return variable

    def _of_launch(self, offset: int) -> Value:
        """Return the address at `offset` in dynamic shared memory, whose size the launch gives."""
        module, name = self.builder.module, "dynamic_shared"
        variable = module.globals.get(name)
        if variable is None:
            variable = ir.GlobalVariable(module, ir.ArrayType(ir.IntType(8), 0), name, addrspace=SHARED_SPACE)
            variable.linkage, variable.align = "external", self._alignment
        variable.align = max(variable.align, self._alignment)
        start = self.builder.addrspacecast(variable, POINTER)
        return self.builder.gep(start, [number(I64, offset)], source_etype=ir.IntType(8))

    def check_limits(self, place: tir.Stmt | None = None) -> None:
        """Raise E0614 if the kernel needs more memory than the GPU has."""
        shared = rounded(self._shared_bytes, self._alignment) if self._dynamic_bytes else self._shared_bytes
        need = Need(shared, self._local_bytes, self._dynamic_bytes)
        check_need(self._kernel.name, need, self.module.target.arch, place)
