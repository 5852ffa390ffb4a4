"""Operands of schedule primitives: the blocks of a function, the loops around them, and random choices among these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeVar

from msgspec import Struct

from ...ir import tir
from ...ir.schedule import LoopRV, Schedule
from ...ir.schedule.analysis.scope import Scope, is_output_block
from ...ir.schedule.tree import statements_in

_T = TypeVar("_T")


class BlockSite(Struct, frozen=True):
    """A block, the loops around it in its scope, and that scope."""

    block: tir.Block
    loops: tuple[tir.For, ...]
    scope: tir.Block | None

    @property
    def name(self) -> str:
        """The unique name of the block."""
        return self.block.name_hint

    @property
    def is_stage(self) -> bool:
        """Whether it writes only buffers that its scope allocates."""
        return self.scope is not None and not is_output_block(self.block, self.scope)

    @property
    def is_sum(self) -> bool:
        """Whether it is a reduction."""
        return self.block.init is not None

    @property
    def updates(self) -> bool:
        """Whether it reads what it writes."""
        return any(read.buffer is write.buffer for read in self.block.reads for write in self.block.writes)


def sites_of(module_function: tir.PrimFunc) -> list[BlockSite]:
    """Return the blocks of a function with a unique name, without the root block."""
    found: list[BlockSite] = []

    def visit(node: tir.Stmt, loops: tuple[tir.For, ...], scope: tir.Block | None) -> None:
        match node:
            case tir.BlockRealize():
                found.append(BlockSite(node.block, loops, scope))
                visit(node.block.body, (), node.block)
            case tir.For():
                visit(node.body, (*loops, node), scope)
            case _:
                for child in statements_in(node):
                    visit(child, loops, scope)

    visit(module_function.body, (), None)
    names = [site.block.name_hint for site in found]
    return [site for site in found if site.scope is not None and names.count(site.block.name_hint) == 1]


class Offer:
    """The operands available to a primitive, and the random numbers that choose among them."""

    def __init__(self, schedule: Schedule, number: int) -> None:
        self.schedule, self.random = schedule, Random(number)
        function = schedule.mod.functions[schedule.func_working_on or ""]
        assert isinstance(function, tir.PrimFunc)
        self.function, self.sites = function, sites_of(function)

    def pick(self, options: Sequence[_T]) -> _T:
        return self.random.choice(options)

    def site(self, suits: Callable[[BlockSite], Any] = lambda site: site.loops) -> BlockSite | None:
        """Pick a block, usually one that suits."""
        fitting = [site for site in self.sites if suits(site)]
        options = fitting if fitting and self.random.random() < 0.95 else self.sites
        return self.pick(options) if options else None

    def loops(self, site: BlockSite | None) -> list[LoopRV]:
        return [] if site is None else self.schedule.get_loops(site.name)

    def loop(self, site: BlockSite | None, suits: Callable[[tir.For], bool] = lambda loop: True) -> LoopRV | None:
        """Pick a loop around a block, usually one that suits."""
        if site is None or not site.loops:
            return None
        fitting = [at for at, loop in enumerate(site.loops) if suits(loop)]
        at = self.pick(fitting if fitting and self.random.random() < 0.95 else range(len(site.loops)))
        return self.loops(site)[at]

    def related(self, site: BlockSite | None, consumers: bool) -> BlockSite | None:
        """Pick a consumer or a producer of a block."""
        if site is None or site.scope is None:
            return None
        scope = Scope(site.scope)
        others = scope.consumers(site.block) if consumers else scope.producers(site.block)
        found = [other for other in self.sites if other.block in others]
        return self.pick(found) if found else None
