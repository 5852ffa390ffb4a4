"""Functions of the C library, called by intrinsics or by name."""

from __future__ import annotations

from ...ir import tir
from ...ir.diagnostics import error
from . import vectors
from .api import Value, ir
from .expressions import ExpressionEmitter, scalar_of
from .intrinsic_kinds import Intrinsic
from .types import register_type

_C_MATHS = {
    f"{name}{suffix}": (len(params), dtype)
    for suffix, dtype in (("", "float64"), ("f", "float32"))
    for name, params in {
        **dict.fromkeys(("acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh"), "x"),
        **dict.fromkeys(("erf", "erfc", "exp", "exp2", "expm1", "fabs", "floor", "lgamma", "log", "log10"), "x"),
        **dict.fromkeys(("log1p", "log2", "round", "sin", "sinh", "sqrt", "tan", "tanh", "tgamma", "trunc"), "x"),
        **dict.fromkeys(("atan2", "copysign", "fdim", "fmax", "fmin", "fmod", "hypot", "nextafter", "pow"), "xy"),
    }.items()
}
"""The C functions that a program may call by name, with the number and dtype of their operands."""


def libm(name: str) -> Intrinsic:
    """Return an emitter that calls a function of the C library (`expf` for float32) for each lane."""

    def emit(emitter: ExpressionEmitter, call: tir.Call) -> Value:
        dtype = scalar_of(call.dtype)
        if dtype not in ("float32", "float64"):
            raise error("E0604", f"'{name}' of dtype '{call.dtype}' cannot be compiled", call.span)
        symbol = name if dtype == "float64" else name + "f"
        lanes = [vectors.split(emitter.builder, operand) for operand in emitter.operands(call)]
        return vectors.join(
            emitter.builder,
            [call_c(emitter, symbol, register_type(dtype), list(row)) for row in zip(*lanes, strict=True)],
        )

    return emit


def call_c(emitter: ExpressionEmitter, symbol: str, result: object, args: list[Value]) -> Value:
    """Call the C function `symbol`, which must be one of `codegen.runtime.jit.C_FUNCTIONS`."""
    module = emitter.builder.module
    function = module.globals.get(symbol)
    if function is None:
        function = ir.Function(module, ir.FunctionType(result, [arg.type for arg in args]), symbol)
        function.attributes.add("nounwind")
    return emitter.builder.call(function, args)


def call_extern(emitter: ExpressionEmitter, call: tir.Call) -> Value:
    """Emit a call of a C function by name. Only functions of `_C_MATHS` are allowed, with their declared signature."""
    name, *operands = call.args
    symbol = name.value if isinstance(name, tir.StringImm) else ""
    if symbol not in _C_MATHS:
        help = "use an intrinsic, or call a Python function from the graph level with R.call_dps_packed"
        raise error("E0603", f"unknown external function '{symbol}'", call.span, help)
    arity, dtype = _C_MATHS[symbol]
    given = [operand.dtype for operand in operands if isinstance(operand, tir.PrimExpr)]
    if given != [dtype] * arity or call.dtype != dtype:
        wanted = ", ".join([dtype] * arity)
        raise error(
            "E0603",
            f"'{symbol}' takes ({wanted}) and returns {dtype}, but is called with ({', '.join(given)})",
            call.span,
        )
    values = [emitter.emit(operand) for operand in operands if isinstance(operand, tir.PrimExpr)]
    return call_c(emitter, symbol, register_type(dtype), values)
