"""The functions of mathematics for GPUs, run on the processor with its own powers of two: at most as many units in the last place
from the correctly rounded result as are stated, less what `ex2.approx` may add."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from tvms.codegen.llvm.api import ir
from tvms.codegen.llvm.backend import optimize, to_object
from tvms.codegen.llvm.device_mathematics import FUNCTIONS
from tvms.codegen.runtime.jit import link_symbols
from tvms.codegen.target import get_target

F32, I64, POINTER = ir.FloatType(), ir.IntType(64), ir.PointerType()
EXPECTED: dict[str, tuple[Callable[[Any], Any], int]] = {
    "exp": (np.exp, 1), "exp2": (np.exp2, 1), "tanh": (np.tanh, 2), "log": (np.log, 1), "sin": (np.sin, 0),
    "cos": (np.cos, 0), "log1p": (np.log1p, 0), "sinh": (np.sinh, 0), "atan": (np.arctan, 0), "asin": (np.arcsin, 0),
}  # fmt: skip


def compiled(name: str) -> Callable[[Any], Any]:
    """Return a function of the table as one of arrays."""
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [POINTER, POINTER, I64]), "tvms_f")
    builder = ir.IRBuilder(function.append_basic_block())
    before, body, end = builder.block, function.append_basic_block(), function.append_basic_block()
    builder.branch(body)
    builder.position_at_end(body)
    index = builder.phi(I64)
    index.add_incoming(I64(0), before)
    source, target = (builder.gep(place, [index], source_etype=F32) for place in function.args[:2])
    builder.store(FUNCTIONS[name](builder, builder.load(source, typ=F32)), target)
    following = builder.add(index, I64(1))
    index.add_incoming(following, builder.block)
    builder.cbranch(builder.icmp_signed("<", following, function.args[2]), body, end)
    builder.position_at_end(end)
    builder.ret_void()
    machine = get_target("llvm")
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    llvm.add_symbol("exp2f", ctypes.cast(library.exp2f, ctypes.c_void_p).value)
    image = to_object(optimize(str(module), machine, 1), machine)
    addresses, linked = link_symbols([image], ["tvms_f"], machine)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(addresses["tvms_f"])

    def run(values: Any) -> Any:
        result = np.empty_like(values)
        call(values.ctypes.data, result.ctypes.data, len(values))
        assert linked
        return result

    return run


def ordered(values: Any) -> Any:
    """Return floats as integers, of which neighbors are neighbors."""
    bits = values.view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)


@pytest.mark.parametrize("name", EXPECTED)
def test_errors_are_as_stated(name: str) -> None:
    reference, most = EXPECTED[name]
    edges = [np.inf, -np.inf, np.nan, 0.0, 88.72, 88.73, -87.5, -103.9, -104.0, 127.9, 128.0, -149.0, 1e-40]
    spread = np.arange(0, 1 << 32, 40009, dtype=np.uint64).astype(np.uint32).view(np.float32)
    values = np.concatenate([spread, np.array(edges, np.float32)])
    with np.errstate(all="ignore"):
        expected = reference(values.astype(np.float64)).astype(np.float32)
    found = compiled(name)(values)
    is_taken = np.abs(values) < 2.0**50 if name in ("sin", "cos") else np.isfinite(values) | np.isinf(values)
    assert np.array_equal(np.isnan(found[is_taken]), np.isnan(expected[is_taken]))
    is_number = is_taken & ~np.isnan(expected)
    assert np.abs(ordered(found[is_number]) - ordered(expected[is_number])).max() <= most
