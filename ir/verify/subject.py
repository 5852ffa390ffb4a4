"""A loop function that is being verified, with shared analyses that are computed on first use."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, TypeVar

from .. import tir
from ..analysis.evaluate import evaluate
from ..base import Node, Op
from ..equal import structural_equal
from ..exchanges import ACTIVE, BARRIERS, SHUFFLES
from ..visit import substitute, walk
from .flow import Flow
from .kernels import Kernel, kernels
from .place import AccessSite
from .report import Report
from .solve import Solver, Values, variables

_NodeT = TypeVar("_NodeT", bound=Node)


class Subject:
    """`function`, and the report of its diagnostics; `strict` also reports what is not proven."""

    def __init__(self, function: tir.PrimFunc, strict: bool = False) -> None:
        self.function = function
        self.report = Report(function)
        self.strict = strict
        self.misbound: set[tir.Var] = set()
        """Axes that were reported as bound to values outside their domains."""

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes in the body, parents first."""
        return tuple(walk(self.function.body))

    @cached_property
    def nodes_by_kind(self) -> dict[type, list[Any]]:
        """The elements of `nodes` by kind."""
        found: dict[type, list[Any]] = {}
        for node in self.nodes:
            kind = type(node)
            if kind in found:
                found[kind].append(node)
            else:
                found[kind] = [node]
        return found

    def of_kinds(self, *kinds: type[_NodeT]) -> list[_NodeT]:
        """Return the nodes in the body of exactly these kinds."""
        return [node for kind in kinds for node in self.nodes_by_kind.get(kind, ())]

    @cached_property
    def signature(self) -> tuple[Node, ...]:
        """All nodes in the parameters and their buffers."""
        parts = (*self.function.params, *self.function.buffer_map.values())
        nodes = [part for part in parts if isinstance(part, Node)]  # pyright: ignore[reportUnnecessaryIsInstance]
        return tuple(node for part in nodes for node in walk(part))

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels in the body."""
        return kernels(self.nodes) if self.of_kinds(tir.For, tir.AttrStmt) else ()

    @cached_property
    def exchanges(self) -> frozenset[Node]:
        """The synchronizing calls in the body."""
        names = (ACTIVE, *BARRIERS, *SHUFFLES)
        return frozenset(node for node in self.of_kinds(tir.Call) if isinstance(node.op, Op) and node.op.name in names)

    @cached_property
    def flow(self) -> Flow:
        """The places of accesses and blocks."""
        return Flow(self.function)

    @cached_property
    def solver(self) -> Solver:
        return Solver(self.function)

    @cached_property
    def inputs(self) -> frozenset[tir.Var]:
        """The data pointers of parameters that the function does not write: their elements may have any values."""
        written = {site.buffer.data for site in self.flow.sites if is_write(site)}
        return frozenset([buffer.data for buffer in self.function.buffer_map.values()]) - written

    def under_one_name(self, block: tir.Block) -> tir.Block:
        """Return a block that reads the elements it stores through the same buffers by which it stores them."""
        elements = self.flow.elements
        if not elements:
            return block
        nodes = list(walk(block.body))
        stores = [(node, elements[node]) for node in nodes if isinstance(node, tir.BufferStore) and node in elements]
        loads = [(node, elements[node]) for node in nodes if isinstance(node, tir.BufferLoad) and node in elements]
        renamed: dict[Node, Node] = {}
        for store, stored in stores:
            for load, loaded in loads:
                is_same = stored.buffer is loaded.buffer and structural_equal(stored.indices, loaded.indices)
                if is_same and load.dtype == store.value.dtype:
                    renamed[load] = tir.BufferLoad(load.dtype, store.buffer, store.indices)
        return substitute(block, renamed)

    def value(self, expr: tir.PrimExpr, values: Values) -> int:
        """Return the value of `expr` for `values` of loop variables and parameters; 0 for arbitrary ones."""
        resolved = self.flow.resolve(expr.base if isinstance(expr, tir.Ramp) else expr)
        missing = {var: 0 for var in variables((resolved,)) if var not in values}
        return evaluate(resolved, {**missing, **values}) or 0

    def element(self, site: AccessSite, values: Values) -> str:
        """Return the element of an access, such as "A[0, 3]"; "…" denotes an index that depends on memory."""
        return f"{site.node.buffer.name}[{', '.join(self._index(index, values) for index in site.node.indices)}]"

    def _index(self, index: tir.PrimExpr, values: Values) -> str:
        if not is_known(self.flow.resolve(index)):
            return "…"
        first = self.value(index, values)
        match index:
            case tir.Ramp(stride=tir.IntImm(value=stride), lanes=tir.IntImm(value=lanes)):
                return f"{first}:{first + stride * lanes}" + (f":{stride}" if stride != 1 else "")
            case _:
                return str(first)

    def show(self, expressions: Iterable[tir.PrimExpr], values: Values) -> str:
        """Return "i = 1, j = 0" for the variables in `expressions`, axes included, and for sizes; else for parameters."""
        own = variables(expressions)
        known = dict.fromkeys((*[v for v in values if v in self.solver.sizes], *self.flow.domains, *values))
        shown = [var for var in known if var in own or var in self.solver.sizes]
        shown = shown or [var for var in values if var not in self.flow.domains]
        return ", ".join(f"{var.name} = {self.value(var, values)}" for var in shown)


def is_write(site: AccessSite) -> bool:
    """Whether an access is a store."""
    return isinstance(site.node, tir.BufferStore)


def is_known(index: tir.PrimExpr) -> bool:
    """Whether an index does not depend on memory."""
    return not any(isinstance(node, tir.BufferLoad) for node in walk(index))
