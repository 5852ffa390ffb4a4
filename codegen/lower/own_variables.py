"""Definitions that are unique in a module (TVM: `ConvertSSA`)."""

from __future__ import annotations

from msgspec.structs import replace

from ...ir import tir
from ...ir.base import BaseFunc, IRModule, Node
from ...ir.deep import deep
from ...ir.variables import Variable, defined_variables
from ...ir.visit import distinct, substitute, walk
from .rewriter import Rewriter


@deep
def rename_repeated_definitions(mod: IRModule) -> IRModule:
    """Return `mod` with every variable and buffer defined once: a repeated definition gets a new variable in its scope.

    A function that shares definitions with an earlier one is copied. Several attributes of one function may launch the same
    thread.
    """
    taken = set[Node]()
    functions: dict[str, BaseFunc] = {}
    for name, function in mod.functions.items():
        if isinstance(function, tir.PrimFunc):
            function = _renamed(function)
            own = set[Node](_definitions(function))
            if own & taken:
                copies = {node: replace(node) for node in own if isinstance(node, tir.Var)}
                function = substitute(function, copies)
                own = set[Node](_definitions(function))
            taken |= own
        functions[name] = function
    same = all(functions[name] is function for name, function in mod.functions.items())
    return mod if same else replace(mod, functions=functions)


def _definitions(function: tir.PrimFunc) -> list[Variable]:
    return [*function.params, *(name for node in walk(function) for name in defined_variables(node))]


def _renamed(function: tir.PrimFunc) -> tir.PrimFunc:
    renamer = _Renamer(function)
    body = renamer.rewrite(function.body)
    return replace(function, body=body) if renamer.has_renamed else function


class _Renamer(Rewriter):
    def __init__(self, function: tir.PrimFunc) -> None:
        super().__init__({
            tir.LetStmt: self._let, tir.Let: self._let, tir.For: self._for, tir.Allocate: self._memory,
            tir.AllocateConst: self._memory,
        })  # fmt: skip
        self.has_renamed = False
        self._defined = set[tir.Var](function.params)
        for buffer in function.buffer_map.values():
            self._defined.update(node for node in distinct(buffer) if isinstance(node, tir.Var))

    def _own(self, var: tir.Var) -> tir.Var:
        """Return the variable that a definition of `var` now defines, and use it in its scope."""
        own = replace(var) if var in self._defined else var
        self.has_renamed |= own is not var
        self._defined.add(own)
        self.values[var] = own
        return own

    def _let(self, node: tir.LetStmt | tir.Let) -> tir.LetStmt | tir.Let:
        value, outer = self.rewrite(node.value), self._scope()
        var = self._own(node.var)
        body = self.rewrite(node.body)
        self.values, self.buffers = outer
        is_same = var is node.var and value is node.value and body is node.body
        return node if is_same else replace(node, var=var, value=value, body=body)

    def _for(self, loop: tir.For) -> tir.For:
        low, extent, outer = self.rewrite(loop.min), self.rewrite(loop.extent), self._scope()
        var = self._own(loop.loop_var)
        body = self.rewrite(loop.body)
        self.values, self.buffers = outer
        is_same = var is loop.loop_var and low is loop.min and extent is loop.extent and body is loop.body
        return loop if is_same else replace(loop, loop_var=var, min=low, extent=extent, body=body)

    def _memory(self, node: tir.Allocate | tir.AllocateConst) -> tir.Stmt:
        extents, outer = self.rewrite(node.extents), self._scope()
        var = self._own(node.buffer_var)
        body = self.rewrite(node.body)
        self.values, self.buffers = outer
        is_same = var is node.buffer_var and extents is node.extents and body is node.body
        return node if is_same else replace(node, buffer_var=var, extents=extents, body=body)

    def _scope(self) -> tuple[dict[tir.Var, tir.PrimExpr], dict[tir.Buffer, tir.Buffer]]:
        """Return the replacements outside of a scope that begins; those of buffers are found anew in it."""
        outer = (dict(self.values), dict(self.buffers))
        self.buffers = {}
        return outer
