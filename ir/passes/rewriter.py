"""Base classes for passes that rewrite graph functions binding by binding, in execution order."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from .. import relax, tir
from ..base import Node, Op, StructInfo
from ..contradiction import contradiction
from ..equal import structural_equal
from ..function_table import unused_name
from ..infer import infer_struct_info, join, replace_dims
from ..schedule.analysis.trivia import joined
from ..variables import defined_variables
from ..visit import rewrite, substitute, walk
from .flatten import flatten


class BindingRewriter:
    """Rewrites functions from the first binding to the last; a pass overrides `binding` and, if needed, `block`.

    `replaced` maps variables to the expressions that replace them in everything rewritten later.
    """

    def __init__(self) -> None:
        self.replaced: dict[Node, Node] = {}

    def function(self, function: relax.Function) -> relax.Function:
        """Return `function` with its body rewritten, the same object if nothing changes."""
        body = self.sequence(function.body)
        return function if body is function.body else replace(function, body=body)

    def sequence(self, body: relax.SeqExpr) -> relax.SeqExpr:
        """Return a body with its blocks rewritten; blocks that become empty are removed."""
        blocks = tuple([block for old in body.blocks if (block := self.block(old)).bindings])
        value = self.use(body.body)
        if value is body.body and _same(blocks, body.blocks):
            return body
        return replace(body, blocks=blocks, body=value)

    def block(self, block: relax.BindingBlock) -> relax.BindingBlock:
        """Return a block with its bindings rewritten."""
        bindings = tuple([new for old in block.bindings for new in self.binding(self.visit(self._retyped(old)))])
        return block if _same(bindings, block.bindings) else replace(block, bindings=bindings)

    def _retyped(self, binding: relax.Binding) -> relax.Binding:
        """Return a binding with the variables in its struct info replaced, as they are in uses of its variable."""
        var = binding.var
        if not self.replaced or var in self.replaced:
            return binding
        info = substitute(var.struct_info, self.replaced)
        if info is var.struct_info:
            return binding
        self.replaced[var] = new = replace(var, struct_info=info)
        if isinstance(binding, relax.MatchCast):
            return replace(binding, var=new, struct_info=substitute(binding.struct_info, self.replaced))
        return replace(binding, var=new)

    def visit(self, binding: relax.Binding) -> relax.Binding:
        """Return a binding with the variables in its value replaced, and with nested bodies rewritten."""
        value = binding.value
        match value:
            case relax.If():
                cond = self.use(value.cond)
                branches = self.sequence(value.true_branch), self.sequence(value.false_branch)
                if (cond, *branches) != (value.cond, value.true_branch, value.false_branch):
                    value = replace(value, cond=cond, true_branch=branches[0], false_branch=branches[1])
            case relax.Function():
                value = self.function(value)
            case _:
                value = self.use(value)
        return binding if value is binding.value else replace(binding, value=value)

    def binding(self, binding: relax.Binding) -> Iterable[relax.Binding]:
        """Return the replacements of a binding whose value has been rewritten."""
        return (binding,)

    def use(self, expr: Any) -> Any:
        """Return an expression with the variables replaced."""
        return substitute(expr, self.replaced)


class ValueRewriter(BindingRewriter):
    """Rewrites the values of bindings; nested calls in a new value are bound before it (TVM: `ExprMutator`).

    A pass overrides `value`. If the struct info of a value changes, it is bound to a new variable.
    """

    def __init__(self, function: relax.Function) -> None:
        super().__init__()
        self._names = {node.name_hint for node in walk(function) if isinstance(node, relax.Var)}
        self._new: list[relax.Binding] = []
        self._emitted: dict[int, tuple[relax.Expr, relax.Var]] = {}
        self.in_dataflow = False
        """Whether the current block is a dataflow block."""
        self._is_retyped = False

    def use(self, expr: Any) -> Any:
        """Return an expression with the variables replaced, without struct info that may have changed."""
        new = super().use(expr)
        return forgotten(new) if self._is_retyped and new is not expr else new

    def value(self, binding: relax.Binding) -> relax.Expr:
        """Return the new value of `binding`, which need not be in normal form."""
        return binding.value

    def block(self, block: relax.BindingBlock) -> relax.BindingBlock:
        """Return a block with its bindings rewritten."""
        with self.collecting(isinstance(block, relax.DataflowBlock)):
            return super().block(block)

    def binding(self, binding: relax.Binding) -> Iterable[relax.Binding]:
        """Return a binding with its new value, preceded by the bindings that this needs."""
        with self.collecting(self.in_dataflow) as new:
            value = self.flat(self.value(binding))
            if isinstance(binding, relax.MatchCast) and isinstance(value, relax.Call):
                value = self.emit(value)
        return (*new, binding if value is binding.value else self.rebound(binding, value))

    @contextmanager
    def collecting(self, in_dataflow: bool = False) -> Generator[list[relax.Binding]]:
        """Collect the bindings emitted in a `with` statement, for a block of the given kind."""
        outer = self._new, self.in_dataflow, self._emitted
        self._new, self.in_dataflow, self._emitted = [], in_dataflow, {}
        try:
            yield self._new
        finally:
            self._new, self.in_dataflow, self._emitted = outer

    def emit(self, value: relax.Expr, hint: str = "") -> relax.Var:
        """Bind `value` to a new variable before the current binding, once; the name "_" need not be unique."""
        if id(value) in self._emitted:
            return self._emitted[id(value)][1]
        given, value = value, self.flat(value)
        kind = relax.DataflowVar if self.in_dataflow else relax.Var
        hint = hint or ("lv" if self.in_dataflow else "gv")
        name = hint if hint == "_" else unused_name(hint, self._names)
        self._names.add(name)
        var = kind(name, struct_info=infer_struct_info(value), span=value.span)
        self.append(relax.VarBinding(var, value, span=value.span))
        self._emitted[id(given)] = given, var
        return var

    def append(self, binding: relax.Binding) -> None:
        """Insert a binding before the current one."""
        self._new.append(binding)

    def flat(self, value: relax.Expr) -> relax.Expr:
        """Return `value` in normal form, emitting its nested calls."""
        return flatten(value, self.emit)

    def rebound(self, binding: relax.Binding, value: relax.Expr) -> relax.Binding:
        """Return a binding of another value, with a variable that has its struct info."""
        if isinstance(binding, relax.MatchCast):
            return replace(binding, value=value)
        info, var = infer_struct_info(value), binding.var
        if var.struct_info is None or contradiction(var.struct_info, info) is not None:
            var = self.replaced[binding.var] = replace(var, struct_info=info)
            self._is_retyped = True
        return replace(binding, value=value, var=var)


class Refiner(ValueRewriter):
    """Gives the variables of operators in dataflow blocks the struct info of their values, if that is more precise."""

    def function(self, function: relax.Function) -> relax.Function:
        """Return a function with refined variables, and a result of the type of its value."""
        new = super().function(function)
        corrected = corrected_result(new)
        return new if new is function and corrected is new else refined_result(corrected)

    def value(self, binding: relax.Binding) -> relax.Expr:
        """Return a call without struct info, to infer it again, if that is more precise than the type of its variable."""
        value = binding.value
        is_call = isinstance(value, relax.Call) and isinstance(value.op, Op) and isinstance(binding, relax.VarBinding)
        if not self.in_dataflow or not is_call or refined_variable(binding.var, value) is binding.var:
            return value
        return forgotten(value)

    def rebound(self, binding: relax.Binding, value: relax.Expr) -> relax.Binding:
        """Return a binding of a more precise value."""
        if isinstance(binding, relax.MatchCast):
            return super().rebound(binding, value)
        var = refined_variable(binding.var, value)
        if var is binding.var:
            return super().rebound(binding, value)
        self.replaced[binding.var] = var
        self._is_retyped = True
        return replace(binding, var=var, value=value)


def refined_variable(var: relax.Var, value: relax.Expr) -> relax.Var:
    """Return a variable with the struct info of its value, if that is more precise."""
    info = infer_struct_info(forgotten(value))
    return replace(var, struct_info=info) if _is_more(info, var.struct_info) else var


def refined_result(function: relax.Function) -> relax.Function:
    """Return a function whose result has the struct info of its body, if more precise, in terms of its parameters."""
    dims = {var: var for var in defined_variables(function) if isinstance(var, tir.Var)}
    info = replace_dims(infer_struct_info(forgotten(function.body.body)), dims, all_known=False)
    if not _is_more(info, function.ret_struct_info):
        return function
    return replace(function, ret_struct_info=info, struct_info=None)


def corrected_result(function: relax.Function) -> relax.Function:
    """Return a function without a declared result that its body contradicts."""
    info, value = function.ret_struct_info, infer_struct_info(function.body.body)
    is_wrong = info is not None and contradiction(info, value) is not None
    return replace(function, ret_struct_info=None) if is_wrong else function


def _is_more(info: StructInfo, known: StructInfo | None) -> bool:
    """Return whether `info` is at least as precise as `known` (TVM: `IsBaseOf`)."""
    if known is None:
        return True
    return structural_equal(join(known, info), known) and not structural_equal(info, known)


def commented_bindings(block: relax.BindingBlock) -> tuple[relax.Binding, ...]:
    """Return the bindings of a block, the first one with the comments of the block."""
    if block.trivia is None or not block.bindings:
        return block.bindings
    first, *others = block.bindings
    return (replace(first, trivia=joined(block.trivia, first.trivia)), *others)


def merged_blocks(blocks: Iterable[relax.BindingBlock]) -> tuple[relax.BindingBlock, ...]:
    """Return blocks with adjacent plain ones merged, and without empty ones."""
    new: list[relax.BindingBlock] = []
    for block in blocks:
        if new and type(new[-1]) is type(block) is relax.BindingBlock:
            new[-1] = replace(new[-1], bindings=(*new[-1].bindings, *block.bindings))
        elif block.bindings:
            new.append(block)
    return tuple(new)


def forgotten(expr: Any) -> Any:
    """Return `expr` without the struct info that follows from that of its variables."""
    return rewrite(expr, _forgotten)


def _forgotten(node: Node) -> Node | None:
    follows = isinstance(node, relax.Tuple | relax.TupleGetItem) or (
        isinstance(node, relax.Call) and isinstance(node.op, Op)
    )
    return replace(node, struct_info=None) if follows else None


def _same(new: tuple[Any, ...], old: tuple[Any, ...]) -> bool:
    return len(new) == len(old) and all(a is b for a, b in zip(new, old, strict=True))
