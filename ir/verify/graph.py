"""The law of graph-level scoping: variables are defined once, before their uses, and used only in scope."""

from __future__ import annotations

from collections.abc import Iterable

from .. import relax, tir
from ..base import IRModule, Node
from ..contradiction import contradiction
from ..diagnostics import Diagnostic, Severity
from ..visit import children, walk


def check_function(function: relax.Function, _: IRModule | None) -> list[Diagnostic]:
    """Check scoping in `function` (TVM: `relax.analysis.well_formed`).

    E0430: a variable is used before its definition, or outside its scope · E0431: it is defined twice ·
    E0432, a warning: a dataflow variable is used outside its block, as in some programs that TVM prints ·
    E0433: a symbolic dimension has no definition · E0426: a tensor has a negative dimension.
    """
    checker = _Checker()
    checker.function(function)
    return checker.found


def _tir_vars(node: Node | None) -> Iterable[tir.Var]:
    """Yield the variables in `node`, except those in the struct info of functions, which its own parameters bind."""
    stack = [] if node is None else [node]
    while stack:
        below = stack.pop()
        if isinstance(below, tir.Var):
            yield below
        elif not isinstance(below, relax.FuncStructInfo):
            stack.extend(reversed(children(below)))


def _bound_dimensions(info: Node | None) -> Iterable[tir.Var]:
    """Return the variables that a value with this struct info binds: those that are by themselves a dimension or value."""
    if info is None:
        return ()
    found: list[tir.PrimExpr | None] = []
    for below in walk(info):
        match below:
            case relax.ShapeExpr(values=values) | relax.ShapeStructInfo(values=tuple() as values):
                found.extend(values)
            case relax.PrimStructInfo(value=value):
                found.append(value)
            case _:
                pass
    return [expr for expr in found if isinstance(expr, tir.Var)]


class _Checker:
    """One pass over a function, in order of execution."""

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []
        self.visible: set[relax.Var] = set()
        self.defined: set[relax.Var] = set()
        self.dimensions: set[tir.Var] = set()
        self.reported: set[object] = set()
        self.here: Node | None = None
        self.unfinished: dict[relax.Var, relax.BindingBlock] = {}
        """The variables of dataflow blocks without outputs, and their blocks."""
        self.mistyped: set[relax.Expr] = set()
        """Results that contradict the declared type, which is reported."""
        self.is_negative = False
        """Whether a negative dimension was reported. Tensors that are computed from it usually have one as well."""

    def function(self, function: relax.Function) -> None:
        """Check a function; a nested function sees the variables around it."""
        visible, dimensions = set(self.visible), set(self.dimensions)
        for param in function.params:
            self.dimensions.update(_bound_dimensions(param.struct_info))
        for param in function.params:
            self.is_negative = False
            self.define(param)
        said, known = function.ret_struct_info, function.body.struct_info
        if said is not None and known is not None and contradiction(said, known) is not None:
            self.mistyped.add(function.body.body)
        self.expression(function.body)
        self.dimensions_of(function.ret_struct_info, function.body)
        self.visible, self.dimensions = visible, dimensions

    def define(self, var: relax.Var) -> None:
        """Add `var` to the scope; its struct info may use variables that hold shapes."""
        if var in self.defined:
            self.report("E0431", f"variable '{var.name_hint}' is defined twice", var, "rename the second one")
        for node in walk(var.struct_info) if var.struct_info is not None else ():
            if isinstance(node, relax.Var):
                self.use(node)
            elif isinstance(node, relax.TensorStructInfo) and isinstance(node.shape, relax.ShapeExpr):
                self.sizes(var, node.shape)
        self.defined.add(var)
        self.visible.add(var)

    def sizes(self, var: relax.Var, shape: relax.ShapeExpr) -> None:
        """Check that a tensor has no negative dimension."""
        for value in shape.values:
            if isinstance(value, tir.IntImm) and value.value < 0 and not self.is_negative:
                self.is_negative = True
                self.report(
                    "E0426", f"'{var.name_hint}' has the dimension {value.value}", var, "give a dimension of at least 0"
                )

    def expression(self, expr: Node) -> None:
        """Check the variables in `expr`; errors are placed at the innermost expression."""
        outside = self.here
        if expr.span is not None and not isinstance(expr, relax.Var | relax.Function | relax.SeqExpr):
            self.here = expr
        self._parts(expr)
        self.here = outside

    def _parts(self, expr: Node) -> None:
        match expr:
            case relax.Var():
                self.use(expr)
            case relax.SeqExpr():
                for block in expr.blocks:
                    self.block(block)
                self.expression(expr.body)
            case relax.If():
                self.expression(expr.cond)
                for branch in (expr.true_branch, expr.false_branch):
                    visible, dimensions = set(self.visible), set(self.dimensions)
                    self.expression(branch)
                    self.visible, self.dimensions = visible, dimensions
            case relax.Function():
                self.function(expr)
            case relax.Call():
                if isinstance(expr.op, relax.Expr):
                    self.expression(expr.op)
                for argument in expr.args:
                    self.expression(argument)
                for info in expr.sinfo_args:
                    self.dimensions_of(info, expr)
            case relax.Tuple():
                for field in expr.fields:
                    self.expression(field)
            case relax.TupleGetItem():
                self.expression(expr.tuple_value)
            case relax.ShapeExpr() | relax.PrimValue():
                self.dimensions_of(expr, expr)
            case _:
                pass

    def block(self, block: relax.BindingBlock) -> None:
        """Check the bindings of a block; the scope of dataflow variables ends with it."""
        own: list[relax.Var] = []
        for binding in block.bindings:
            value, self.here = binding.value, binding
            if isinstance(value, relax.Function):  # a local function may call itself
                self.define(binding.var)
                self.expression(value)
            else:
                self.expression(value)
                if isinstance(binding, relax.MatchCast):
                    self.dimensions.update(_bound_dimensions(binding.struct_info))
                self.define(binding.var)
            if isinstance(binding.var, relax.DataflowVar):
                own.append(binding.var)
        if all(isinstance(binding.var, relax.DataflowVar) for binding in block.bindings):
            self.unfinished.update(dict.fromkeys(own, block))
        self.here = None
        if isinstance(block, relax.DataflowBlock):
            self.visible.difference_update(own)

    def use(self, var: relax.Var) -> None:
        """Check that `var` is in scope."""
        if var in self.visible or (var in self.mistyped and var in self.defined):
            return
        if var in self.defined and isinstance(var, relax.DataflowVar):
            self.visible.add(var)  # reported once
            unfinished = self.unfinished.get(var)
            if unfinished is not None:  # the block outputs nothing
                self.visible.update(other for other, block in self.unfinished.items() if block is unfinished)
            message = f"dataflow variable '{var.name_hint}' is used outside its block"
            self.report(
                "E0432",
                message,
                var if self.here is None else self.here,
                "add it to the block's R.output(…)",
                severity="warning",
            )
        else:
            message = f"variable '{var.name_hint}' is used where it is not defined"
            self.report("E0430", message, var if self.here is None else self.here, "define it above")

    def dimensions_of(self, node: Node | None, place: Node) -> None:
        """Check that every symbolic dimension in `node` is bound."""
        for var in _tir_vars(node):
            if var not in self.dimensions and var not in self.reported:
                self.reported.add(var)
                help = "use it as a dimension of a parameter, or bind it with R.match_cast"
                self.report("E0433", f"nothing defines the size '{var.name}'", var if var.span else place, help)

    def report(self, code: str, message: str, place: Node, help: str, severity: Severity = "error") -> None:
        """Add an error."""
        self.found.append(Diagnostic(code, message, place.span, help, severity=severity))
