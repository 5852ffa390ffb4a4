"""Remove bindings that only give a value a second name (TVM: `CanonicalizeBindings`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from .. import relax
from ..base import IRModule, Node
from ..deep import deep
from ..equal import structural_equal
from ..visit import substitute, walk
from .rewriter import BindingRewriter
from .transform import declare_pass, map_functions


@declare_pass("CanonicalizeBindings", opt_level=1)
@deep
def canonicalize_bindings(mod: IRModule) -> IRModule:
    """Use values themselves where bindings only rename them, and fields of tuples that were just made.

    Variables of a dataflow block that nothing outside it uses become dataflow variables; a constant is used where its
    variable was.
    """
    return map_functions(mod, relax.Function, _canonicalize)


def _canonicalize(function: relax.Function) -> relax.Function:
    function = _with_outputs(_Unwrapper().function(function))
    return _Renamer(function).function(function)


def _with_outputs(function: relax.Function) -> relax.Function:
    """Return `function` with the dataflow variables that are used outside their block as outputs of it."""
    hidden = [var for var in _used_outside(function.body) if isinstance(var, relax.DataflowVar)]
    outputs: dict[Node, Node] = {
        var: relax.Var(var.name_hint, struct_info=var.struct_info, span=var.span) for var in hidden
    }
    return substitute(function, outputs) if outputs else function


class _Unwrapper(BindingRewriter):
    """Uses what a variable was bound to: another variable, a constant, a field of a known tuple."""

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[relax.Var, relax.Expr] = {}
        self._in_dataflow = False

    def block(self, block: relax.BindingBlock) -> relax.BindingBlock:
        self._in_dataflow = isinstance(block, relax.DataflowBlock)
        return super().block(block)

    def binding(self, binding: relax.Binding) -> Iterable[relax.Binding]:
        value = self._unwrap(binding.value)
        if value is not binding.value:
            binding = replace(binding, value=value)
        self._values[binding.var] = value
        if isinstance(binding, relax.MatchCast) and not _says_the_same(binding):
            return (binding,)
        is_hidden = isinstance(binding.var, relax.DataflowVar)
        is_visible = isinstance(value, relax.Var) and not isinstance(value, relax.DataflowVar)
        if isinstance(value, relax.Constant):
            self.replaced[binding.var] = value
        elif isinstance(value, relax.Var) and (is_hidden or is_visible or not self._in_dataflow):
            self.replaced[binding.var] = value
            return ()
        return (binding,)

    def _unwrap(self, value: relax.Expr) -> relax.Expr:
        match value:
            case relax.TupleGetItem(tuple_value=relax.Var() as whole) if isinstance(self._value(whole), relax.Tuple):
                made = self._value(whole)
                assert isinstance(made, relax.Tuple)
                return made.fields[value.index]
            case relax.Tuple(fields=(first, *_)):
                source = self._source(first, 0)
                count = _field_count(source)
                fields = [self._source(field, index) for index, field in enumerate(value.fields)]
                is_copy = source is not None and count == len(fields) and all(field is source for field in fields)
                return source if is_copy and source is not None else value
            case _:
                return value

    def _value(self, var: relax.Var) -> relax.Expr | None:
        return self._values.get(var)

    def _source(self, field: relax.Expr, index: int) -> relax.Expr | None:
        """The tuple that `field` is field `index` of."""
        value = self._value(field) if isinstance(field, relax.Var) else field
        return value.tuple_value if isinstance(value, relax.TupleGetItem) and value.index == index else None


def _field_count(source: relax.Expr | None) -> int | None:
    info = None if source is None else source.struct_info
    return len(info.fields) if isinstance(info, relax.TupleStructInfo) else None


def _says_the_same(binding: relax.MatchCast) -> bool:
    known = binding.value.struct_info
    return known is not None and structural_equal(known, binding.struct_info)


class _Renamer(BindingRewriter):
    """Gives outputs the name they are returned by, and hides what no one outside a dataflow block uses."""

    def __init__(self, function: relax.Function) -> None:
        super().__init__()
        self._outside = set(_used_outside(function.body))

    def block(self, block: relax.BindingBlock) -> relax.BindingBlock:
        if not isinstance(block, relax.DataflowBlock):
            return super().block(block)
        outputs = self._outputs(block)
        renamed: dict[Node, Node] = dict(outputs)
        bindings: list[relax.Binding] = []
        for old in block.bindings:
            if isinstance(old, relax.VarBinding) and outputs.get(old.value) is old.var:
                continue
            binding = self.visit(old if not renamed else _with_value(old, substitute(old.value, renamed)))
            var = renamed.get(binding.var, binding.var)
            if not isinstance(var, relax.DataflowVar) and var not in self._outside:
                assert isinstance(var, relax.Var)
                var = renamed[binding.var] = relax.DataflowVar(
                    var.name_hint, struct_info=var.struct_info, span=var.span
                )
            bindings.append(binding if var is binding.var else replace(binding, var=var))
        is_same = len(bindings) == len(block.bindings) and all(
            a is b for a, b in zip(bindings, block.bindings, strict=True)
        )
        return block if is_same else replace(block, bindings=tuple(bindings))

    def _outputs(self, block: relax.DataflowBlock) -> dict[Node, relax.Var]:
        """The dataflow variables that are bound to one output each, the first, and that output."""
        found: dict[Node, relax.Var] = {}
        own = {binding.var for binding in block.bindings}
        for binding in block.bindings:
            value = binding.value
            is_renaming = (
                isinstance(binding, relax.VarBinding) and isinstance(value, relax.DataflowVar) and value in own
            )
            if is_renaming and not isinstance(binding.var, relax.DataflowVar) and binding.var in self._outside:
                found.setdefault(value, binding.var)
        return found


def _with_value(binding: relax.Binding, value: relax.Expr) -> relax.Binding:
    return binding if value is binding.value else replace(binding, value=value)


def _used_outside(body: relax.SeqExpr) -> Iterator[relax.Var]:
    """Yield the variables that are used outside the block that binds them."""
    yield from _variables(body.body)
    for block in body.blocks:
        own = {binding.var for binding in block.bindings}
        is_dataflow = isinstance(block, relax.DataflowBlock)
        for binding in block.bindings:
            for node in walk(binding.value):
                if isinstance(node, relax.SeqExpr):
                    yield from _used_outside(node)
            is_inside = is_dataflow and not isinstance(binding.value, relax.Function)
            yield from (var for var in _variables(binding.value) if not (is_inside and var in own))


def _variables(node: Node) -> Iterator[relax.Var]:
    return (below for below in walk(node) if isinstance(below, relax.Var))
