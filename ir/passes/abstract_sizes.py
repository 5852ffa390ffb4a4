"""Replace computed sizes of the buffers of private loop functions by variables.

    T.prim_func(private=True) relu(p_x: T.handle, p_y: T.handle, n: T.int64):      T.prim_func(private=True) relu(p_x: T.handle, p_y: T.handle):
        x = T.match_buffer(p_x, ((n - 1) // 2 // 2 + 1,))                              x_dim0 = T.int64()
        y = T.match_buffer(p_y, ((n - 1) // 2 // 2 // 2 + 1,))                         x = T.match_buffer(p_x, (x_dim0,))
                                                                                       y = T.match_buffer(p_y, ((x_dim0 - 1) // 2 + 1,))

The deeper a network, the longer are the expressions of its sizes in those of its inputs. With sizes of their own, kernels are as
small as those of the first layer, and equal kernels of several layers become the same function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from .. import relax, tir
from ..base import BaseFunc, GlobalVar, IRModule, Node, Op
from ..deep import deep
from ..equal import structural_equal
from ..function_table import mentions_of
from ..schedule.text import ScheduleText
from ..simplify import Simplifier
from ..variables import tir_variables
from ..visit import children, rewrite, walk
from .dead_code import is_public
from .transform import declare_pass

_T = TypeVar("_T")
_CALL_TIR = Op("relax.call_tir")


@declare_pass("AbstractSizes")
@deep
def abstract_sizes(mod: IRModule) -> IRModule:
    """Replace computed sizes of the operands of private loop functions by variables.

    A size is kept if the function also uses the variables that it is computed from in another way. Arguments that only
    passed these variables are removed. The function must be called by `R.call_tir` only, and have no schedule, which may
    refer to its sizes.
    """
    changed: dict[str, tir.PrimFunc] = {}
    for name, inputs in _only_called(mod).items():
        function = mod.functions[name]
        made = _abstracted(function, inputs) if isinstance(function, tir.PrimFunc) else None
        if made is not None:
            changed[name] = made
    if not changed:
        return mod
    kept = {name: [param in new.params for param in _numbers(mod.functions[name])] for name, new in changed.items()}

    def update(node: Node) -> Node | None:
        name = _callee(node)
        return _with_numbers(node, kept[name]) if name in kept and isinstance(node, relax.Call) else None

    functions: dict[str, BaseFunc] = {
        name: rewrite(function, update) if isinstance(function, relax.Function) else changed.get(name, function)
        for name, function in mod.functions.items()
    }
    return replace(mod, functions=functions)


def _callee(node: Node) -> str | None:
    """Return the name of the loop function that `node` calls by `R.call_tir`."""
    if isinstance(node, relax.Call) and node.op == _CALL_TIR and isinstance(node.args[0], GlobalVar):
        return node.args[0].name_hint
    return None


def _only_called(mod: IRModule) -> dict[str, int]:
    """Return the private functions without a schedule that only `R.call_tir` mentions, and their numbers of operands."""
    found: dict[str, int] = {}
    other = {text.function for text in mod.schedules.values() if isinstance(text, ScheduleText)}
    for function in mod.functions.values():
        if not isinstance(function, relax.Function):
            other |= mentions_of(function).called | mentions_of(function).passed
            continue
        for node in walk(function):
            name = _callee(node)
            if name is not None and isinstance(node, relax.Call) and isinstance(node.args[1], relax.Tuple):
                found[name] = len(node.args[1].fields)
                below = node.args[1:]
            else:
                below = children(node)
            other.update([child.name_hint for child in below if isinstance(child, GlobalVar)])
    return {name: inputs for name, inputs in found.items() if name not in other and not is_public(mod.functions[name])}


def _numbers(function: BaseFunc) -> list[tir.Var]:
    """Return the parameters of a loop function that are not buffers."""
    assert isinstance(function, tir.PrimFunc)
    return [param for param in function.params if param not in function.buffer_map]


def _with_numbers(call: relax.Call, kept: Sequence[bool]) -> relax.Call:
    """Return an `R.call_tir` that passes only those of its numbers that are kept."""
    if len(call.args) < 3 or not isinstance(call.args[2], relax.ShapeExpr):
        return call
    numbers = tuple([number for number, is_kept in zip(call.args[2].values, kept, strict=True) if is_kept])
    sizes = (relax.ShapeExpr(numbers, struct_info=relax.ShapeStructInfo(numbers, len(numbers))),) if numbers else ()
    return replace(call, args=(*call.args[:2], *sizes))


# --- Sizes of one function -------------------------------------------------------------------------------------


class _Pattern(Struct, frozen=True, eq=False):
    """An expression and its replacement."""

    expr: tir.PrimExpr
    replacement: tir.PrimExpr


def _abstracted(function: tir.PrimFunc, inputs: int) -> tir.PrimFunc | None:
    """Return `function` with variables for the computed sizes of its first `inputs` buffers; None if it has none."""
    sizes = _computed_sizes(function, inputs)
    while sizes:
        new = _replaced(function, _patterns_of(sizes))
        used = _used_variables(new)
        kept = {name: size for name, size in sizes.items() if used.isdisjoint(tir_variables(size))}
        if len(kept) == len(sizes):
            params = tuple([param for param in new.params if param in new.buffer_map or param in used])
            return replace(new, params=params)
        sizes = kept
    return None


def _computed_sizes(function: tir.PrimFunc, inputs: int) -> dict[str, tir.PrimExpr]:
    """Return the computed sizes by names for them, the smallest first: larger ones may contain these.

    A size is left alone if an argument determines one of its variables.
    """
    buffers = [function.buffer_map[param] for param in function.params if param in function.buffer_map]
    known = {size for buffer in buffers for size in buffer.shape if isinstance(size, tir.Var)}
    found: dict[str, tir.PrimExpr] = {}
    for buffer in buffers[:inputs]:
        for axis, size in enumerate(buffer.shape):
            if not isinstance(size, tir.Var | tir.IntImm) and known.isdisjoint(tir_variables(size)):
                found[f"{buffer.name}_dim{axis}"] = size
    return dict(sorted(found.items(), key=lambda item: sum(1 for _ in walk(item[1]))))


def _patterns_of(sizes: Mapping[str, tir.PrimExpr]) -> list[_Pattern]:
    """Return a pattern for each size, in which those before it are replaced already.

    A sum with a constant, `e + 1`, gives a pattern for `e`, which also occurs in other sizes.
    """
    patterns: list[_Pattern] = []
    old = {variable for size in sizes.values() for variable in tir_variables(size)}
    for name, size in sizes.items():
        rest = _replaced(size, patterns)
        if old.isdisjoint(tir_variables(rest)):
            continue
        variable: tir.PrimExpr = tir.Var(size.dtype, name)
        if isinstance(rest, tir.Add | tir.Sub) and isinstance(rest.b, tir.IntImm):
            inverse = tir.Sub if isinstance(rest, tir.Add) else tir.Add
            rest, variable = rest.a, inverse(size.dtype, variable, rest.b)
        patterns.append(_Pattern(rest, variable))
    return patterns


def _replaced(node: _T, patterns: Sequence[_Pattern]) -> _T:
    """Return `node` with the patterns replaced, and with simplified sizes of buffers and loops."""
    kinds = {type(pattern.expr) for pattern in patterns}
    simplified = Simplifier().run

    def change(node: Node) -> Node | None:
        match node:
            case tir.Buffer():
                return replace(node, shape=tuple(map(simplified, node.shape)))
            case tir.For() | tir.Range():
                return replace(node, extent=simplified(node.extent))
            case _ if type(node) in kinds:
                return next((found.replacement for found in patterns if structural_equal(node, found.expr)), None)
            case _:
                return None

    return rewrite(node, change)


def _used_variables(function: tir.PrimFunc) -> set[Node]:
    """Return the variables that the body and the buffers of `function` mention."""
    roots = (function.body, *function.buffer_map.values())
    return {node for root in roots for node in walk(root) if isinstance(node, tir.Var)}
