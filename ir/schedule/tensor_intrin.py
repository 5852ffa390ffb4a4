"""Hardware intrinsics: their semantics and their calls. `tensorize` replaces the former by the latter."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from msgspec import Struct

from .. import script, tir
from .intrinsics import dot_products, mma, wmma

_TEXTS = {**mma.TEXTS, **wmma.TEXTS, **dot_products.TEXTS}
_registered: dict[str, TensorIntrin] = {}


class TensorIntrin(Struct, frozen=True):
    """Intrinsic (TVM: `tvm.tir.TensorIntrin`): two functions with the same buffers, each consisting of one block.

    `desc` describes the computation as loops, `impl` calls the intrinsic.
    """

    desc: tir.PrimFunc
    impl: tir.PrimFunc

    @staticmethod
    def register(name: str, desc: tir.PrimFunc, impl: tir.PrimFunc, override: bool = False) -> None:
        """Register an intrinsic.

        Raises ValueError if the name is taken, unless `override`, or if the functions do not take the same buffers.
        """
        if not override and TensorIntrin.get(name, allow_missing=True) is not None:
            raise ValueError(f"intrinsic '{name}' is already registered")
        for function in (desc, impl):
            if any(parameter not in function.buffer_map for parameter in function.params):
                raise ValueError(f"intrinsic '{name}' has parameters that are not buffers")
        if [_kind(desc, param) for param in desc.params] != [_kind(impl, param) for param in impl.params]:
            raise ValueError(f"the description and the implementation of intrinsic '{name}' take different buffers")
        _registered[name] = TensorIntrin(desc, impl)

    @staticmethod
    def get(name: str, allow_missing: bool = False) -> TensorIntrin | None:
        """Return the intrinsic called `name`. If there is none, raise ValueError, or return None if `allow_missing`."""
        if name not in _registered:
            _read_text(name)
        if name not in _registered and not allow_missing:
            raise ValueError(f"unknown intrinsic '{name}'")
        return _registered.get(name)

    @staticmethod
    def names() -> list[str]:
        """Return the names of all intrinsics."""
        built_in = [name.removesuffix("_desc") for name in _functions_of_processors() if name.endswith("_desc")]
        return list(dict.fromkeys((*_registered, *_TEXTS, *built_in)))


def _kind(function: tir.PrimFunc, parameter: tir.Var) -> tuple[str, int, str]:
    buffer = function.buffer_map[parameter]
    return buffer.dtype, len(buffer.shape), buffer.scope


def _read_text(name: str) -> None:
    """Register the built-in intrinsic `name`, if there is one, from functions `NAME_desc` and `NAME_impl` of a text."""
    write = _TEXTS.get(name)
    functions = _functions_of_processors() if write is None else script.parse(write(name), f"{name}.tvms").functions
    if f"{name}_desc" in functions:
        _registered[name] = TensorIntrin(functions[f"{name}_desc"], functions[f"{name}_impl"])


@cache
def _functions_of_processors() -> dict[str, Any]:
    path = files(f"{__package__}.intrinsics") / "multiply_add.tvms"
    return script.parse(path.read_text(encoding="utf-8"), path.name).functions
