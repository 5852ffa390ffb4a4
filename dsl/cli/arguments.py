"""The parameters of a function, and values for them: from the command line, or generated from a seed."""

from __future__ import annotations

import math
import re
from io import BytesIO
from typing import TYPE_CHECKING, Any

from ...ir import tir
from ...ir.base import Node
from ...ir.diagnostics import TvmsError, error
from ...ir.dtype import int_range, is_bool, is_float
from ...ir.files import memory_limit, read_file
from ...ir.fold import fold
from ...ir.make import const
from ...ir.variables import free_variables
from ...ir.visit import rewrite, substitute
from ..entries import Argument
from .reporting import UsageError

if TYPE_CHECKING:
    import numpy as np

DEFAULT_DIMENSION = 4
"""Size of a symbolic dimension that neither `--dim` nor an array determines."""
INTEGER_LIMIT = 4
"""Upper bound of random integers: small, so that they are likely to be valid indices."""


def split_pairs(pairs: list[str], option: str) -> dict[str, str]:
    """Split `NAME=VALUE` arguments of `option`."""
    result: dict[str, str] = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or not name or not value:
            raise UsageError(f"{option} {pair}: expected NAME=VALUE")
        if name in result:
            raise UsageError(f"{option} {name} is given twice")
        result[name] = value
    return result


def _fold(node: Node) -> Node | None:
    return fold(type(node), node.a, node.b, None) if isinstance(node, tir.BinaryOp) else None


def _dimension(size: tir.PrimExpr, argument: Argument, sizes: dict[tir.Var, int]) -> int:
    unknown = [var for var in free_variables(size) if isinstance(var, tir.Var)]
    for var in unknown:
        sizes.setdefault(var, DEFAULT_DIMENSION)
    value = rewrite(substitute(size, {var: const(sizes[var], var.dtype) for var in unknown}), _fold)
    if not isinstance(value, tir.IntImm) or value.value < 0:
        raise error("E0806", f"the size {size} of parameter '{argument.name}' cannot be computed", argument.span)
    return value.value


def bind_sizes(arguments: tuple[Argument, ...], given: dict[str, Any], dims: dict[str, str]) -> dict[tir.Var, int]:
    """Return the sizes of symbolic dimensions: from `--dim`, else from the given arrays."""
    sizes: dict[tir.Var, int] = {}
    known: set[str] = set()
    for argument in arguments:
        for axis, size in enumerate(argument.shape or ()):
            for var in free_variables(size):
                if not isinstance(var, tir.Var):
                    continue
                known.add(var.name)
                if var.name in dims:
                    sizes[var] = _size(var.name, dims[var.name])
                elif size is var and getattr(given.get(argument.name), "ndim", 0) > axis:
                    sizes.setdefault(var, int(given[argument.name].shape[axis]))
    for name in dims:
        if name not in known:
            known_names = ", ".join(sorted(known)) or "none"
            raise error("E0807", f"--dim {name}: no parameter has that dimension", None, f"dimensions: {known_names}")
    return sizes


def _size(name: str, text: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text):
        raise error("E0807", f"--dim {name}={text}: not a size", None, "give an integer, such as 8")
    return int(text)


def read_given(arguments: tuple[Argument, ...], given: dict[str, str]) -> dict[str, Any]:
    """Return the values given by `--arg`: arrays and numbers; 'random' and 'zeros' are kept as strings."""
    names = [argument.name for argument in arguments]
    values: dict[str, Any] = {}
    for name, text in given.items():
        if name not in names:
            raise error("E0808", f"--arg {name}: there is no such parameter", None, f"parameters: {', '.join(names)}")
        if text in ("random", "zeros"):
            values[name] = text
        elif text.endswith(".npy"):
            values[name] = _read_array(name, text, arguments[names.index(name)].dtype)
        else:
            values[name] = _read_number(name, text, arguments[names.index(name)].dtype)
    return values


def _read_number(name: str, text: str, dtype: str) -> int | float:
    """Return `text` as a number; raise E0808 if it is not one, or not a value of `dtype`."""
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    try:
        number = int(text, 0) if len(text) <= _SHOWN else float(text)
    except ValueError:
        try:
            number = float(text)
        except ValueError:
            hint = "give FILE.npy, a number, 'random' or 'zeros'"
            raise error("E0808", f"--arg {name}={shown}: neither a number nor an array file", None, hint) from None
    low, high = (-math.inf, math.inf) if is_float(dtype) else (0, 1) if is_bool(dtype) else int_range(dtype)
    is_overflow = isinstance(number, float) and math.isinf(number) and "inf" not in text.lower()
    is_fraction = isinstance(number, float) and not is_float(dtype)
    if is_overflow or is_fraction or not (low <= number <= high or math.isnan(number)):
        hint = None if is_float(dtype) else f"give an integer from {low} to {high}"
        raise error("E0808", f"--arg {name}={shown}: not a value of dtype {dtype}", None, hint)
    return number


_SHOWN = 80
"""Maximum number of characters of a value in a message; 64-bit numbers are shorter."""


def _read_array(name: str, path: str, dtype: str) -> np.ndarray:
    """Return the array in a file of `numpy.save`; raise E0809 if it cannot be read."""
    import numpy as np

    from ...ir.numpy_dtype import numpy_dtype

    try:
        data = read_file(path, memory_limit())
        if not data.startswith(np.lib.format.MAGIC_PREFIX):
            raise ValueError("it is not in the format of numpy.save")
        array = np.load(BytesIO(data), allow_pickle=False)
    except OSError as problem:
        raise _unreadable(name, path, problem.strerror or str(problem)) from None
    except Exception as problem:  # NumPy raises many undocumented exceptions for damaged files
        raise _unreadable(name, path, str(problem).partition("\n")[0]) from None
    if array.dtype.kind == "V" and array.dtype.itemsize == numpy_dtype(dtype).itemsize:
        return array.view(numpy_dtype(dtype))  # numpy.save does not store bfloat16 and float8
    return array


def _unreadable(name: str, path: str, reason: str) -> TvmsError:
    return error("E0809", f"--arg {name}: cannot read '{path}': {reason}", None, "save it with numpy.save")


def make_values(
    arguments: tuple[Argument, ...], given: dict[str, Any], sizes: dict[tir.Var, int], seed: int
) -> list[Any]:
    """Return a value for each parameter. Random floats are uniform in [-0.5, 0.5), results are initialized to zero."""
    import numpy as np

    from ...ir.numpy_dtype import numpy_dtype

    random = np.random.default_rng(seed)
    values: list[Any] = []
    for argument in arguments:
        value = given.get(argument.name, "zeros" if argument.is_result else "random")
        shape = tuple(_dimension(size, argument, sizes) for size in argument.shape or ())
        if not isinstance(value, str):
            is_scalar_given = argument.shape is not None and isinstance(value, int | float)
            values.append(np.full(shape, value, numpy_dtype(argument.dtype)) if is_scalar_given else value)
            continue
        array = _make_array(value, shape, argument.dtype, random)
        values.append(array if argument.shape is not None else array.item())
    return values


def _make_array(kind: str, shape: tuple[int, ...], dtype: str, random: np.random.Generator) -> np.ndarray:
    import numpy as np

    from ...ir.numpy_dtype import numpy_dtype

    try:
        if kind == "zeros":
            return np.zeros(shape, numpy_dtype(dtype))
        if is_float(dtype):
            return (random.random(shape) - 0.5).astype(numpy_dtype(dtype))
        return random.integers(0, 2 if is_bool(dtype) else INTEGER_LIMIT, shape).astype(numpy_dtype(dtype))
    except (MemoryError, ValueError) as problem:
        raise error(
            "E0806", f"cannot allocate an array of shape {shape}: {problem}", None, "choose smaller sizes with --dim"
        ) from None
