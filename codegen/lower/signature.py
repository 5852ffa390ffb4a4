"""The parameters of a kernel in machine code.

Each buffer parameter becomes its data pointer; the symbolic sizes, strides and offsets that buffers declare
follow as separate parameters. `ret_type` is the type of the result of a function that returns a value.
"""

from __future__ import annotations

from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Op
from ...ir.diagnostics import error
from ...ir.jumps import result_dtype, returns
from ...ir.variables import layout_of
from ...ir.visit import distinct


def declared_variables(buffer: tir.Buffer) -> list[tir.Var]:
    """Return the variables that are a whole size, stride or offset of `buffer`, which an argument determines."""
    return [expr for expr in layout_of(buffer) if isinstance(expr, tir.Var)]


def size_variables(func: tir.PrimFunc) -> list[tir.Var]:
    """Return the variables that the buffer parameters of `func` determine, in order, without its scalar
    parameters.
    """
    found: dict[tir.Var, None] = {}
    for param in func.params:
        if param in func.buffer_map:
            found.update(dict.fromkeys(declared_variables(func.buffer_map[param])))
    return [var for var in found if var not in func.params]


def declare_result(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with the type of its result, before a step removes a `T.ret` that is never reached; E0606 if it returns
    values of several dtypes.
    """
    dtype = result_dtype(func)
    for call, value in returns(func.body):
        if value.dtype != dtype:
            message = f"the function returns {value.dtype} here, but its result is {dtype}"
            raise error("E0606", message, call.span, f'convert the value: T.Cast("{dtype}", …)')
    declared = func.ret_type.dtype if isinstance(func.ret_type, tir.PrimType) else None
    return func if declared == dtype else replace(func, ret_type=None if dtype is None else tir.PrimType(dtype))


def flatten_signature(func: tir.PrimFunc) -> tir.PrimFunc:
    """Return `func` with pointers and numbers as parameters, and an empty buffer map."""
    params = [func.buffer_map[param].data if param in func.buffer_map else param for param in func.params]
    return replace(declare_result(func), params=(*params, *size_variables(func)), buffer_map={})


def written_variables(body: tir.Stmt) -> set[tir.Var]:
    """Return the data variables whose memory `body` may write: by stores, or through their addresses, which prefetches only
    read.
    """
    found: set[tir.Var] = set()
    prefetched: set[int] = set()
    for node in distinct(body):
        if isinstance(node, tir.Call) and node.op == Op("tir.prefetch"):
            prefetched.update(map(id, node.args))
        if id(node) in prefetched:
            continue
        if isinstance(node, tir.BufferStore):
            found.add(node.buffer.data)
        elif isinstance(node, tir.Call):
            found.update(arg for arg in node.args if isinstance(arg, tir.Var) and arg.dtype == "handle")
            found.update(arg.buffer.data for arg in node.args if isinstance(arg, tir.BufferLoad) and _is_address(node))
    return found


def _is_address(call: tir.Call) -> bool:
    return call.op == Op("tir.address_of")
