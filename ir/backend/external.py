"""External modules: functions that libraries execute, as attributes of a module that can be printed and parsed.

An entry of the attribute `external_mods` is `{"kind": library, "functions": {symbol: description}}`. A description
names the composite function and the arguments of the call that are its operands:
`{"composite": "matmul_bias", "args": (0, 1, 2)}`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from .. import relax
from ..base import EXTERNAL_MODULES, Attrs, IRModule
from ..functions import register_func
from ..passes.fuse_by_pattern import COMPOSITE
from . import blas
from .patterns import make_matmul_pattern

BLAS = ("cublas", "openblas")


def compile_functions(
    library: str, functions: Sequence[relax.Function], options: Mapping[str, Any] | None = None
) -> list[Attrs]:
    """Return the external module of `library` for `functions`, each of which wraps a composite function."""
    described = {str(function.attrs["global_symbol"]): _describe(function) for function in functions}
    return [{"kind": library, "functions": described}]


for _library in BLAS:
    register_func(f"relax.ext.{_library}", partial(compile_functions, _library), override=True)


def _describe(function: relax.Function) -> Attrs:
    """Return the composite of a wrapper `local_func(…)`, and which of its parameters are the operands."""
    inner = next(
        binding.value
        for block in function.body.blocks
        for binding in block.bindings
        if isinstance(binding.value, relax.Function)
    )
    name = str(inner.attrs[COMPOSITE]).partition(".")[2]
    epilogue = blas.EPILOGUES[name]
    pattern, parts = make_matmul_pattern(epilogue.bias, epilogue.activation, epilogue.transposed)
    values = {binding.var: binding.value for block in inner.body.blocks for binding in block.bindings}
    found = pattern.extract_matched_expr(inner.body.body, values)
    assert found is not None, name
    operands = [found[parts[part]] for part in ("lhs", "rhs", "bias") if part in parts]
    return {"composite": name, "args": tuple([inner.params.index(operand) for operand in operands])}  # type: ignore[reportArgumentType]


def external_functions(mod: IRModule) -> dict[str, Callable[..., None]]:
    """Return the functions of the external modules of `mod` that run on the CPU, by symbol.

    Each takes the arguments of its call and the output array, as NumPy arrays.
    """
    functions: dict[str, Callable[..., None]] = {}
    for entry in mod.attrs.get(EXTERNAL_MODULES, ()):
        if isinstance(entry, dict) and entry.get("kind") in BLAS:  # type: ignore[reportUnknownMemberType]
            for symbol, description in entry.get("functions", {}).items():  # type: ignore[reportUnknownVariableType,reportUnknownMemberType]
                functions[str(symbol)] = _make_function(description)  # type: ignore[reportUnknownArgumentType]
    return functions


def _make_function(description: Mapping[str, Any]) -> Callable[..., None]:
    """Return a function that computes a matrix product and its epilogue with NumPy and its BLAS library."""
    import numpy as np

    epilogue, places = blas.EPILOGUES[description["composite"]], tuple(description["args"])

    def compute(*arrays: Any) -> None:
        *args, out = arrays
        lhs, rhs, *bias = [args[place] for place in places]
        np.matmul(lhs, rhs.swapaxes(-1, -2) if epilogue.transposed else rhs, out=out)
        if bias:
            np.add(out, bias[0], out=out)
        if epilogue.activation == "relax.nn.relu":
            np.maximum(out, 0, out=out)
        elif epilogue.activation is not None:
            out[...] = _apply(epilogue.activation, out)

    return compute


def _apply(operator: str, value: Any) -> Any:
    """Return the result of a unary operator for `value`, computed by its NumPy oracle."""
    from types import SimpleNamespace

    import numpy as np

    from ..ops.registry import get_op

    oracle = get_op(operator).numpy
    assert oracle is not None
    return oracle(np, SimpleNamespace(data=value, x=value, result_dtype=value.dtype))
