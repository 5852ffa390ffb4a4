"""Row for gradients: the nodes between two values are converted once more, as a function, which is differentiated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.base import Node
from ....ir.building.block_builder import BlockBuilder
from ....ir.passes.dead_code import remove_unused_bindings
from ....ir.passes.gradient import differentiated
from ....ir.visit import substitute
from ..values import dtype_of, info_of, is_floating
from .converter import Converter, variable_name
from .rows import TRAINING, Family

ROWS = Family()


@ROWS.row("Gradient", domain=TRAINING)
def _gradient(c: Converter, a: Any) -> list[relax.Expr]:
    """Return the gradients of the sum of the value `y` of the graph with respect to its values `xs`.

    The inputs are the values of `xs` and `zs`, the independent variables, at which the gradients are computed.
    """
    names = [*a.xs, *(a.zs or ())]
    if len(names) != len(a.Inputs) or len(set(names)) < len(names):
        raise ValueError(f"it has {len(a.Inputs)} inputs for {len(names)} names, which must be different")
    for name in (a.y, *names):
        value = c.scope.values.get(name)
        if value is None:
            raise ValueError(f"the graph has no value '{name}'")
        if name in (a.y, *a.xs) and not is_floating(dtype_of(value)):
            raise ValueError(f"'{name}' is of dtype {dtype_of(value)}, which has no gradient")
    params = [
        relax.Var(c.unique(variable_name(name) or "x"), struct_info=info_of(value))
        for name, value in zip(names, a.Inputs, strict=True)
    ]
    function = _function(c, params, lambda: _sum_of(c, dict(zip(names, params, strict=True)), a.y))
    made = remove_unused_bindings(differentiated(function, params[: len(a.xs)]), c.block_builder.get())
    return _gradients(c, made, a.Inputs)


def _function(c: Converter, params: Sequence[relax.Var], make: Callable[[], relax.Expr]) -> relax.Function:
    """Return the function that computes what `make` converts; it may use values around it."""
    outer, c.block_builder = c.block_builder, BlockBuilder()
    try:
        with c.own_variables(), c.block_builder.function("differentiated", list(params)):
            found = c.block_builder.emit_func_output(make())
        function = c.block_builder.get().functions[found.name_hint]
    finally:
        c.block_builder = outer
    assert isinstance(function, relax.Function)
    return function


def _sum_of(c: Converter, params: Mapping[str, relax.Var], y: str) -> relax.Expr:
    """Convert the nodes between `params` and the value `y`, and return the sum of its elements."""
    nodes = _nodes_between(c.scope.nodes.values(), set(params), y)
    with c.inner_scope(params):
        c.run(nodes)
        value = c.scope.values[y]
    assert value is not None
    return c.emit(op.sum(value), "_sum")


def _nodes_between(nodes: Iterable[Any], names: set[str], y: str) -> list[Any]:
    """Return the nodes that depend on the values `names`, and on which the value `y` depends, in order."""
    after, found = set(names), list[Any]()
    for node in {id(node): node for node in nodes}.values():
        if not after.isdisjoint(_used_names(node)):
            after.update(set(node.output) - names)
            found.append(node)
    before, between = {y} - names, list[Any]()
    for node in reversed(found):
        if not before.isdisjoint(node.output):
            before.update(set(_used_names(node)) - names)
            between.append(node)
    return between[::-1]


def _used_names(node: Any) -> Iterator[str]:
    """Yield the names of the values that a node uses, those in its subgraphs and of a gradient's target among them."""
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        if node.op_type == "Gradient" and attribute.name == "y":
            yield attribute.s.decode()
        for inner in chain(attribute.g.node, *(graph.node for graph in attribute.graphs)):
            yield from _used_names(inner)


def _gradients(c: Converter, function: relax.Function, inputs: Sequence[relax.Expr]) -> list[relax.Expr]:
    """Emit the bindings of a differentiated function for the values of its parameters, and return the gradients."""
    replaced: dict[Node, Node] = dict(zip(function.params, inputs, strict=True))
    for binding in (binding for block in function.body.blocks for binding in block.bindings):
        c.count(1)
        value, name = substitute(binding.value, replaced), c.unique(binding.var.name_hint)
        if isinstance(binding, relax.MatchCast):
            replaced[binding.var] = c.block_builder.match_cast(value, binding.struct_info, name)
        else:
            replaced[binding.var] = c.block_builder.emit(value, name)
    result = substitute(function.body.body, replaced)
    assert isinstance(result, relax.Tuple)
    assert isinstance(result.fields[1], relax.Tuple)
    return list(result.fields[1].fields)
