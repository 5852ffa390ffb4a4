"""One pass over a function that records the place of each access, block and matched buffer."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from .. import tir
from ..analysis.const_bounds import Bounds, bounds_of, of_dtype
from ..base import Node, Op
from ..visit import Substitution, children, is_larger
from .affine import conjuncts, is_affine
from .elements import with_elements
from .place import UNKNOWN, AccessSite, BlockSite, Inside, Iterate, MatchSite, ProgramPoint, Unknown, Where

_JUMPS = ("tir.ret", "tir.break_loop", "tir.continue_loop")
_LAUNCHES = ("thread_extent", "virtual_thread")
MAX_VALUE = 256
"""Maximum size, in nodes, of a condition, loop bound, let-bound value, or axis value; larger ones are treated as unknown,
because every question about their body would contain them.
"""
_ANYTHING = tir.Buffer(tir.Var("handle", "anything"), "int32", (), "anything")


def _bounded(expr: tir.PrimExpr) -> tir.PrimExpr:
    """Return `expr`, or an unknown value, such as a buffer element, if it is too large."""
    return tir.BufferLoad(expr.dtype, _ANYTHING, ()) if is_larger(expr, MAX_VALUE) else expr


def _step(condition: tir.PrimExpr) -> Where | Unknown:
    """Return the step into code that runs if `condition` holds."""
    is_known = not is_larger(condition, MAX_VALUE) and is_affine(condition)
    return Where(condition) if is_known else Unknown(condition)


class Flow:
    """The places of the accesses, blocks and matched buffers of a function whose variables are defined once each.

    `domains` holds the ranges of loop variables and axes; `owners` the places where the memory of data pointers is allocated.
    """

    def __init__(self, function: tir.PrimFunc) -> None:
        self.sites: list[AccessSite] = []
        self.addresses: list[AccessSite] = []
        """The elements whose address is taken, except by prefetches, which may be out of bounds."""
        self.blocks: list[BlockSite] = []
        self.matches: list[MatchSite] = []
        self.domains: dict[tir.Var, tir.Range] = {}
        self._has_values = False
        self._substitution = Substitution()
        self.owners: dict[tir.Var, ProgramPoint] = {
            buffer.data: ProgramPoint() for buffer in function.buffer_map.values()
        }
        self._bounds: dict[tir.PrimExpr, Bounds] = {}
        self._in_init = False
        self._pointers: dict[tir.Var, tir.PrimExpr] = {}
        self._visit(function.body, ProgramPoint())
        self.sites = with_elements(self.sites, [site.node for site in self.matches], self._pointers, self.resolve)
        self.elements = {site.node: site.element for site in self.sites if site.element is not None}
        """The elements of accesses to memory that is accessed through several buffers."""

    def resolve(self, expr: tir.PrimExpr) -> tir.PrimExpr:
        """Return `expr` in terms of loop variables and parameters, with axes and let-bound variables replaced by their values."""
        return expr if isinstance(expr, tir.IntImm) or not self._has_values else self._substitution(expr)

    def _let(self, var: tir.Var, value: tir.PrimExpr) -> None:
        """Record the value of `var`; a value that is too large for questions about it to be fast is treated as unknown."""
        if var.dtype == "handle":
            self._pointers[var] = value
        self._substitution[var] = _bounded(self.resolve(value))
        self._has_values = True

    def bounds(self, expr: tir.PrimExpr) -> Bounds:
        """Return constant bounds of `expr`, without the conditions around it."""
        found = self._bounds.get(expr)
        if found is None:
            found = of_dtype(expr.dtype) if isinstance(expr, tir.Var) else bounds_of(expr, self.bounds)
            self._bounds[expr] = found
        return found

    def _let_range(self, var: tir.Var, domain: tir.Range) -> None:
        """Record the range of `var`; a thread variable may have several launches with different ranges."""
        least, extent = self.bounds(domain.min), self.bounds(domain.extent)
        inside = Bounds(least.min, max(least.min, least.max + extent.max - 1))
        if var in self.domains:
            inside = inside.join(self._bounds[var])
            self._bounds.clear()
        self.domains[var], self._bounds[var] = domain, inside

    def _visit_all(self, nodes: Iterable[Node], place: ProgramPoint) -> None:
        for node in nodes:
            self._visit(node, place)

    def _visit(self, node: Node, place: ProgramPoint) -> None:
        match node:
            case tir.Var() | tir.IntImm() | tir.FloatImm():
                return
            case tir.BufferLoad() | tir.BufferStore():
                self._visit_all(node.indices, place)
                if isinstance(node, tir.BufferStore):
                    self._visit(node.value, place)
                here = place if node.predicate is None else place.then(UNKNOWN)
                self.sites.append(AccessSite(node, here, self._in_init))
            case tir.For():
                self._visit_all((node.min, node.extent), place)
                self._visit_loop(node, node.loop_var, tir.Range(node.min, node.extent), place)
            case tir.AttrStmt(node=tir.IterVar(var=var), attr_key=key, value=extent) if key in _LAUNCHES:
                self._visit_loop(node, var, tir.Range(tir.IntImm(extent.dtype, 0), extent), place)
            case tir.SeqStmt():
                self._visit_sequence(node, place)
            case tir.BlockRealize():
                self._visit_realize(node, place)
            case tir.Allocate() | tir.AllocateConst():
                self.owners[node.buffer_var] = place
                self._visit(node.body, place)
            case tir.LetStmt() | tir.Let():
                self._visit(node.value, place)
                self._let(node.var, node.value)
                self._visit(node.body, place)
            case tir.IfThenElse():
                self._visit_choice(node.condition, node.then_case, node.else_case, place)
            case tir.Select():  # TVM lets it guard its loads (RewriteUnsafeSelect), and programs rely on that
                self._visit_choice(node.condition, node.true_value, node.false_value, place)
            case tir.Call():
                self._visit_call(node, place)
            case tir.And() | tir.Or():
                self._visit_logic(node, place)
            case tir.AssertStmt():
                self._visit(node.condition, place)
                self._visit_where(node.condition, True, node.body, place)
            case tir.While():
                self._visit(node.condition, place)
                self._visit(node.body, place.then(UNKNOWN))
            case _:
                self._visit_all(
                    [child for child in children(node) if isinstance(child, tir.PrimExpr | tir.Stmt)], place
                )

    def _visit_loop(self, loop: tir.For | tir.AttrStmt, var: tir.Var, domain: tir.Range, place: ProgramPoint) -> None:
        domain = tir.Range(_bounded(self.resolve(domain.min)), _bounded(self.resolve(domain.extent)))
        if self.bounds(domain.extent).max <= 0:
            return
        self._let_range(var, domain)
        place = place.then(Iterate(var, domain, loop))
        if not (is_affine(domain.min) and is_affine(domain.extent)):
            place = place.then(UNKNOWN)
        self._visit(loop.body, place)

    def _visit_sequence(self, node: tir.SeqStmt, place: ProgramPoint) -> None:
        for stmt in node.seq:
            self._visit(stmt, place)
            match stmt:
                case tir.Evaluate(value=tir.Call(op=Op(name="tir.assume"), args=(tir.PrimExpr() as condition,))):
                    for part in conjuncts(self.resolve(condition), True):
                        place = place.then(Where(part)) if isinstance(_step(part), Where) else place
                case _:
                    pass

    def _visit_choice(self, condition: tir.PrimExpr, first: Node, second: Node | None, place: ProgramPoint) -> None:
        self._visit(condition, place)
        self._visit_where(condition, True, first, place)
        if second is not None:
            self._visit_where(condition, False, second, place)

    def _visit_logic(self, node: tir.And | tir.Or, place: ProgramPoint) -> None:
        """Visit the operands of a chain of `and` or `or`; each is evaluated only if those before it are true, or false."""
        kind, operands = type(node), list[tir.PrimExpr]()
        rest: tir.PrimExpr = node
        while isinstance(rest, kind):
            operands.append(rest.b)
            rest = rest.a
        self._visit(rest, place)
        for before, operand in pairwise([rest, *reversed(operands)]):
            known = self._where(before, kind is tir.And, place)
            if known is None:
                return
            place = known
            self._visit(operand, place)

    def _visit_where(self, condition: tir.PrimExpr, holds: bool, body: Node, place: ProgramPoint) -> None:
        """Visit `body`, which runs if `condition` holds, or if it does not; skip it if that never happens."""
        known = self._where(condition, holds, place)
        if known is not None:
            self._visit(body, known)

    def _where(self, condition: tir.PrimExpr, holds: bool, place: ProgramPoint) -> ProgramPoint | None:
        """Return the place inside `place` under `condition` or its negation; None if that never holds."""
        for part in conjuncts(self.resolve(condition), holds):
            if isinstance(part, tir.IntImm):
                if not part.value:
                    return None
            else:
                place = place.then(_step(part))
        return place

    def _visit_call(self, node: tir.Call, place: ProgramPoint) -> None:
        match node:
            case tir.Call(op=Op(name="tir.if_then_else"), args=(tir.PrimExpr() as condition, first, second)):
                self._visit_choice(condition, first, second, place)
            case tir.Call(op=Op(name="tir.address_of"), args=(tir.BufferLoad() as load,)):
                self.addresses.append(AccessSite(load, place))
            case tir.Call(op=Op(name="tir.address_of" | "tir.prefetch")):
                return
            case _:
                self._visit_all([arg for arg in node.args if isinstance(arg, tir.PrimExpr)], place)

    def _visit_realize(self, node: tir.BlockRealize, place: ProgramPoint) -> None:
        block = node.block
        self._visit_all((*node.iter_values, node.predicate), place)
        for part in conjuncts(self.resolve(node.predicate), True):
            if not isinstance(part, tir.IntImm):
                place = place.then(_step(part))
            elif not part.value:
                return  # the block never executes
        self.blocks.append(BlockSite(node, place))
        for axis, value in zip(block.iter_vars, node.iter_values, strict=False):
            self._let(axis.var, value)
            if axis.dom is not None:
                self._let_range(axis.var, axis.dom)
        self.matches += [MatchSite(match, place) for match in block.match_buffers]
        place = place.then(Inside(node))
        self.owners.update({buffer.data: place for buffer in block.alloc_buffers})
        if block.init is not None:
            self._in_init = True
            self._visit(block.init, self._at_start(block, place))
            self._in_init = False
        self._visit(block.body, place)

    def _at_start(self, block: tir.Block, place: ProgramPoint) -> ProgramPoint:
        """Visit the init, which runs when all reduction axes are at the start of their domains."""
        for axis in block.iter_vars:
            if axis.iter_type is tir.IterVarType.COMM_REDUCE and axis.dom is not None:
                start = tir.EQ("bool", self.resolve(axis.var), self.resolve(axis.dom.min))
                place = place.then(_step(start))
        return place
