"""The verifier accepts what is right, and says what is wrong where something was broken.

What is right is made by construction. It is broken in one place: a variable that nobody defines, an index too many, a
value of another dtype, a block that hides what it writes, and so on; the code that this breach has must be told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from ....ir import make, tir
from ....ir.base import IRModule, Node, Source
from ....ir.diagnostics import Diagnostic
from ....ir.verify import verify
from ....ir.visit import substitute, walk
from ...load import parse_source
from ..constructs import LOOP_LEVEL
from ..modules import modules
from ..oracle import Execute
from .law import Law, module_constructs

_Breach: TypeAlias = Callable[[Any], Node | None]
"""From a node of the right kind to the broken one; None where it cannot be broken that way."""


class _Example(Struct, frozen=True):
    module: IRModule
    breach: str
    """The code of the breach, one of `BREACHES`, or nothing for a module that is left as it is."""
    place: int

    def broken(self) -> IRModule | None:
        """Return the module with one place broken; None where there is none that can be."""
        kind, breach = BREACHES[self.breach]
        nodes = [
            node for function in self.module.functions.values() for node in walk(function) if isinstance(node, kind)
        ]
        broken = [(node, wrong) for node in dict.fromkeys(nodes) if (wrong := breach(node)) is not None]
        if not broken:
            return None
        node, wrong = broken[self.place % len(broken)]
        return substitute(self.module, {node: wrong})

    def __str__(self) -> str:
        return f"# {self.breach or 'no breach'}\n{(self.broken() if self.breach else None) or self.module}"


def _undefined(store: tir.BufferStore) -> Node:
    nowhere = make.cast(tir.Var("int32", "nowhere"), store.value.dtype)
    return replace(store, value=make.add(store.value, nowhere))


def _other_dtype(store: tir.BufferStore) -> Node | None:
    if "x" in store.value.dtype:
        return None
    return replace(store, value=tir.Cast("float64" if store.buffer.dtype != "float64" else "int32", store.value))


def _index_too_many(load: tir.BufferLoad) -> Node:
    return replace(load, indices=(*load.indices, make.const(0)))


def _hidden_write(block: tir.Block) -> Node | None:
    return replace(block, writes=()) if block.writes and block.iter_vars and not block.match_buffers else None


def _too_few_values(realize: tir.BlockRealize) -> Node | None:
    return replace(realize, iter_values=realize.iter_values[1:]) if realize.iter_values else None


def _domain_too_small(realize: tir.BlockRealize) -> Node | None:
    """Where an axis is bound to a whole loop, one value less is certainly too few."""
    axes = realize.block.iter_vars
    if not axes or not isinstance(realize.iter_values[0], tir.Var) or axes[0].dom is None:
        return None
    extent = axes[0].dom.extent
    if not isinstance(extent, tir.IntImm) or extent.value < 2 or not isinstance(realize.predicate, tir.IntImm):
        return None
    smaller = replace(axes[0], dom=tir.Range(axes[0].dom.min, make.const(extent.value - 1, extent.dtype)))
    return replace(realize, block=replace(realize.block, iter_vars=(smaller, *axes[1:])))


def _no_thread(loop: tir.For) -> Node | None:
    binding = loop.thread_binding
    return None if binding is None else replace(loop, thread_binding=replace(binding, thread_tag="threadIdx.w"))


def _unequal_operands(add: tir.Add) -> Node | None:
    other = "int64" if add.dtype != "int64" else "int32"
    return None if "x" in add.dtype else replace(add, b=tir.Cast(other, add.b))


BREACHES: dict[str, tuple[type[Node], _Breach]] = {
    "E0401": (tir.BufferStore, _undefined),
    "E0405": (tir.Add, _unequal_operands),
    "E0407": (tir.BufferStore, _other_dtype),
    "E0408": (tir.BufferLoad, _index_too_many),
    "E0410": (tir.BlockRealize, _too_few_values),
    "E0413": (tir.Block, _hidden_write),
    "E0415": (tir.BlockRealize, _domain_too_small),
    "E0416": (tir.For, _no_thread),
}
"""Ways to break a program, by the code that tells of it."""


def _examples(file: Source | None) -> st.SearchStrategy[_Example]:
    programs = modules() if file is None else st.just(parse_source(file))
    return st.builds(_Example, programs, st.sampled_from(("", *BREACHES)), st.integers(0, 999))


def _errors(module: IRModule) -> list[Diagnostic]:
    return [each for each in verify(module) if each.severity == "error"]


def _check(example: _Example, execute: Execute) -> None:
    found = _errors(example.module)
    assert not found, f"a false alarm: {found[0].code} {found[0].message}"
    broken = example.broken() if example.breach else None
    if broken is not None:
        told = [each.code for each in _errors(broken)]
        assert example.breach in told, f"{example.breach} is not told, but {', '.join(told) or 'nothing'}"


def _constructs(example: _Example) -> Iterable[str]:
    yield from module_constructs(example.module)
    if example.breach and example.broken() is not None:
        yield example.breach


LAW = Law(
    _examples, _check, read=lambda source: _Example(parse_source(source), "", 0), constructs=_constructs,
    expected=LOOP_LEVEL | BREACHES.keys(),
)  # fmt: skip
