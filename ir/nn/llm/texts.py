"""Loop functions written as texts, and the rotation of position embeddings as a part of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

from ... import script, tir


@cache
def kernel(text: str) -> tir.PrimFunc:
    """Return the only function of a text."""
    (function,) = script.parse(text, "<nn.llm>").functions.values()
    return function


class Rotation(NamedTuple):
    """The rotation of dimension `d` at `position`, as texts. `lets` are variables and their values, which may use earlier ones."""

    lets: tuple[tuple[str, str], ...]
    cos: str
    sin: str
    rotary_dim: int
    is_interleaved: bool
    """Whether dimensions 2 i and 2 i + 1 rotate together, instead of i and i + rotary_dim / 2."""

    @staticmethod
    def of(
        cos: tir.PrimExpr, sin: tir.PrimExpr, values: Mapping[tir.Var, tir.PrimExpr], rotary_dim: int, is_interleaved: bool
    ) -> Rotation:  # fmt: skip
        lets = tuple((variable.name, str(value)) for variable, value in reversed(list(values.items())))
        return Rotation(lets, str(cos), str(sin), rotary_dim, is_interleaved)

    def bindings(self, position: str, indent: str) -> str:
        """Return the statements that bind `position` and the variables of the rotation."""
        bound = [f"{indent}position: T.int32 = {position}\n"]
        return "".join(bound + [f"{indent}{name}: T.float32 = {value}\n" for name, value in self.lets])

    def value(self, load: Callable[[str], str]) -> str:
        """Return the float32 value of dimension `d`; `load(d)` is the text of a float32 element."""
        half = self.rotary_dim // 2
        first, step = ("d % 2 == 0", 1) if self.is_interleaved else (f"d < {half}", half)
        partner = f"T.if_then_else({first}, -{load(f'd + {step}')}, {load(f'd - {step}')})"
        return f"{self.cos} * {load('d')} + {self.sin} * {partner}"
