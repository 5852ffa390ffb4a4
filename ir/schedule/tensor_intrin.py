"""Intrinsics of machines: what they compute, and how they are called; `tensorize` puts the one for the other."""

from __future__ import annotations

from importlib.resources import files

from msgspec import Struct

from .. import script, tir

_TEXTS = ("dot_products", "wmma")
_registered: dict[str, TensorIntrin] = {}


class TensorIntrin(Struct, frozen=True):
    """An intrinsic (TVM: `tvm.tir.TensorIntrin`): two functions of the same buffers, each of which is one block.

    `desc` says in loops what is computed, `impl` does it.
    """

    desc: tir.PrimFunc
    impl: tir.PrimFunc

    @staticmethod
    def register(name: str, desc: tir.PrimFunc, impl: tir.PrimFunc, override: bool = False) -> None:
        """Make an intrinsic known; ValueError where there is one of that name, unless `override`, or where its
        functions do not take the same buffers."""
        if not override and TensorIntrin.get(name, allow_missing=True) is not None:
            raise ValueError(f"an intrinsic '{name}' is registered already")
        for function in (desc, impl):
            if any(parameter not in function.buffer_map for parameter in function.params):
                raise ValueError(f"intrinsic '{name}' takes more than buffers")
        if [_kind(desc, each) for each in desc.params] != [_kind(impl, each) for each in impl.params]:
            raise ValueError(f"the description and the implementation of intrinsic '{name}' take different buffers")
        _registered[name] = TensorIntrin(desc, impl)

    @staticmethod
    def get(name: str, allow_missing: bool = False) -> TensorIntrin | None:
        """Return the intrinsic called `name`; None, or ValueError, where there is none."""
        if name not in _registered:
            _read_texts()
        if name not in _registered and not allow_missing:
            raise ValueError(f"no intrinsic is called '{name}'")
        return _registered.get(name)


def _kind(function: tir.PrimFunc, parameter: tir.Var) -> tuple[str, int, str]:
    buffer = function.buffer_map[parameter]
    return buffer.dtype, len(buffer.shape), buffer.scope


def _read_texts() -> None:
    """Register the intrinsics that are written beside this file: `NAME_desc` and `NAME_impl` in a text make `NAME`."""
    folder = files(f"{__package__}.intrinsics")
    for text in _TEXTS:
        path = folder / f"{text}.tvms"
        functions = script.parse(path.read_text(encoding="utf-8"), path.name).functions
        for desc, impl in zip(*[iter(functions.items())] * 2, strict=True):
            _registered.setdefault(desc[0].removesuffix("_desc"), TensorIntrin(desc[1], impl[1]))
