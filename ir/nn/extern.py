"""Functions in C that modules call (TVM: `relax.frontend.nn.ExternModule`).

A function takes its inputs and then its outputs: a tensor as `DLTensor *`, an int as `int64_t`, a float as `double`, a string as
`const char *`. It has C linkage, and returns 0, or another int if it fails.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import relax, tir
from ..api.contrib import cc
from ..api.contrib.utils import tempdir
from ..building.values import apply, graph_value
from ..dl_tensor import dl_tensor
from .tensor import plain_values, wrap


class ExternModule:
    """Functions outside of the program, by symbol. `symbols` maps each to a function from the inputs to placeholders of its
    outputs: `{"add": lambda x, y: nn.Tensor.placeholder(x.shape, x.dtype)}`.
    """

    def __init__(self, symbols: Mapping[str, Callable[..., Any]]) -> None:
        self.symbols = dict(symbols)

    def __getitem__(self, func_name: str) -> Callable[..., Any]:
        """Return the function of that symbol on tensors, numbers and strings; KeyError if there is none."""
        infer = self.symbols[func_name]

        def call(*args: Any) -> Any:
            info = relax.Tuple(tuple(map(_value, (infer(*args),)))).fields[0].struct_info
            return wrap(apply("call_dps_packed", func_name, tuple(map(_value, args)), info), func_name)

        return call

    def load(self) -> dict[str, Callable[..., None]]:
        """Return Python functions that call the functions, by symbol."""
        raise TypeError(f"'{type(self).__name__}' is not loaded from a file; use ObjectModule or SourceModule")


def _value(arg: Any) -> relax.Expr:
    if isinstance(arg, float):
        return relax.PrimValue(tir.FloatImm("float64", arg))
    return graph_value(plain_values(arg))


class ObjectModule(ExternModule):
    """Functions in an object file or a shared library; ValueError if the file does not exist."""

    def __init__(self, symbols: Mapping[str, Callable[..., Any]], filepath: str | Path) -> None:
        super().__init__(symbols)
        self.filepath = Path(filepath)
        if not self.filepath.is_file():
            raise ValueError(f"there is no file '{filepath}'")

    def load(self) -> dict[str, Callable[..., None]]:
        """Link the file to a library and return its functions; RuntimeError if the linker fails."""
        with tempdir() as folder:
            library = folder.relpath("extern.so")
            cc.create_shared(library, str(self.filepath))
            return _functions(library, self.symbols)


class SourceModule(ExternModule):
    """Functions in C++ source code, or in a file of it."""

    def __init__(
        self,
        symbols: Mapping[str, Callable[..., Any]],
        source_code: str | Path,
        source_format: str = "cpp",
        compile_options: Sequence[str] | None = None,
        compiler: str | None = None,
    ) -> None:
        """`source_format` is "cpp"; ValueError for others. `compile_options` defaults to optimization of C++17."""
        super().__init__(symbols)
        if source_format != "cpp":
            raise ValueError(f'source_format is "cpp", not {source_format!r}; compile other sources to an ObjectModule')
        is_file = isinstance(source_code, Path) or (
            "\n" not in source_code and len(source_code) < 4096 and Path(source_code).is_file()
        )
        self.source_code = Path(source_code).read_text() if is_file else str(source_code)
        self.compile_options = self.get_compile_options() if compile_options is None else list(compile_options)
        self.compiler = compiler

    @staticmethod
    def get_compile_options(source_format: str = "cpp") -> list[str]:
        """Return the default options of the compiler."""
        return ["-O3", "-std=c++17"]

    def compile(self, output_path: str | Path) -> None:
        """Write a shared library with the functions; RuntimeError with the compiler's messages if that fails."""
        with tempdir() as folder:
            source = folder / "main.cc"
            source.write_text(self.source_code)
            cc.create_shared(str(output_path), str(source), self.compile_options, self.compiler)

    def load(self) -> dict[str, Callable[..., None]]:
        """Compile the source and return its functions."""
        with tempdir() as folder:
            library = folder.relpath("extern.so")
            self.compile(library)
            return _functions(library, self.symbols)


def _functions(library: str, symbols: Mapping[str, Any]) -> dict[str, Callable[..., None]]:
    loaded = ctypes.CDLL(library)
    return {symbol: _caller(symbol, loaded[symbol]) for symbol in symbols}


def _caller(symbol: str, function: Any) -> Callable[..., None]:
    function.restype = ctypes.c_int

    def call(*args: Any) -> None:
        if status := function(*map(_c_argument, args)):
            raise RuntimeError(f"the external function '{symbol}' failed with status {status}")

    return call


def _c_argument(value: Any) -> Any:
    """Return the argument in C of an array, a string, or a number, which can be a scalar of NumPy."""
    if hasattr(value, "ctypes"):
        return ctypes.byref(dl_tensor(value))
    scalar = value.item() if hasattr(value, "item") else value
    match scalar:
        case str():
            return ctypes.c_char_p(scalar.encode())
        case float():
            return ctypes.c_double(scalar)
        case _:
            return ctypes.c_int64(scalar)
