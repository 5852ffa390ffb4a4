"""Variables of programs: the variables that a node defines, free variables, and copies with new variables."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec.structs import replace

from . import relax, tir
from .base import Node
from .equal import structural_equal
from .visit import ByKind, distinct, substitute, walk

Variable: TypeAlias = tir.Var | relax.Var


_DEFINES = ByKind(
    lambda kind: issubclass(
        kind,
        tir.For | tir.LetStmt | tir.Let | tir.IterVar | tir.Allocate | tir.AllocateConst | tir.Block | tir.MatchBufferRegion
        | tir.BufferRealize | tir.CommReducer | tir.IndexMap | tir.PrimFunc | relax.Function | relax.VarBinding
        | relax.MatchCast,
    )
)  # fmt: skip
"""Whether nodes of a kind define variables."""


def defined_variables(node: Node) -> tuple[Variable, ...]:
    """Return the variables that `node` itself defines, for its descendants or for the statements after it.

    A buffer defines its data pointer and, in a signature or in `T.match_buffer`, also the variables of its shape, strides
    and offset.
    """
    if not _DEFINES[type(node)]:
        return ()
    match node:
        case tir.For() | tir.LetStmt() | tir.Let() | tir.IterVar():
            return (node.loop_var if isinstance(node, tir.For) else node.var,)
        case tir.Allocate() | tir.AllocateConst():
            return (node.buffer_var,)
        case tir.Block():
            return tuple([buffer.data for buffer in node.alloc_buffers])
        case tir.MatchBufferRegion() | tir.BufferRealize():
            return variables_of_buffer(node.buffer)
        case tir.CommReducer():
            return (*node.lhs, *node.rhs)
        case tir.IndexMap():
            return node.initial_indices
        case tir.PrimFunc():
            shapes = [variable for buffer in node.buffer_map.values() for variable in variables_of_buffer(buffer)]
            return (*node.params, *shapes)
        case relax.Function():
            return (*node.params, *[v for param in node.params for v in tir_variables(param)])
        case relax.VarBinding():
            return (node.var,)
        case relax.MatchCast():
            return (node.var, *tir_variables(node.struct_info))
        case _:
            return ()


def with_new_variables(node: Any) -> Any:
    """Return a copy of `node` in which all defined variables, of both levels, are new, so that it can be used beside `node`."""
    found = dict.fromkeys([variable for below in distinct(node) for variable in defined_variables(below)])
    new: dict[Node, Node] = {variable: replace(variable) for variable in found if isinstance(variable, tir.Var)}
    for variable in found:
        if isinstance(variable, relax.Var):
            info = variable.struct_info
            new[variable] = replace(variable, struct_info=None if info is None else substitute(info, new))
    return substitute(node, new)


def renamed_lets(node: Node) -> dict[Node, Node]:
    """Return replacements of the `T.Let` below `node` whose variable has another value elsewhere, with new variables.

    Those inside another one that is replaced come only with the next call.
    """
    first: dict[tir.Var, tir.Let] = {}
    found: dict[Node, Node] = {}
    for let in distinct(node):
        if isinstance(let, tir.Let) and not structural_equal(first.setdefault(let.var, let).value, let.value):
            new = replace(let.var)
            found[let] = replace(let, var=new, body=substitute(let.body, {let.var: new}))
    return found


def variables_of_buffer(buffer: tir.Buffer) -> tuple[tir.Var, ...]:
    """Return the data pointer of `buffer` and the variables in its layout."""
    return (buffer.data, *[v for part in layout_of(buffer) for v in tir_variables(part)])


def layout_of(buffer: tir.Buffer) -> tuple[tir.PrimExpr, ...]:
    """Return the shape, the strides and the offset of `buffer`."""
    return (*buffer.shape, *buffer.strides, *(() if buffer.elem_offset is None else (buffer.elem_offset,)))


def tir_variables(node: Node) -> list[tir.Var]:
    return [below for below in walk(node) if isinstance(below, tir.Var)]


def free_variables(node: Node) -> tuple[Variable, ...]:
    """Return the free variables of `node`, in the order of their first use."""
    used: dict[Variable, None] = {}
    defined: set[Variable] = set()
    for below in distinct(node):
        if isinstance(below, tir.Var | relax.Var):
            used[below] = None
        else:
            defined.update(defined_variables(below))
    return tuple([variable for variable in used if variable not in defined])
