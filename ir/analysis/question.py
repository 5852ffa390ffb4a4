"""Keys for questions to the prover: questions that differ only in the identity and names of variables share a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import tir
from ..base import Node, Op
from ..int_set import Interval
from ..intern import is_pure_call
from .const_bounds import Domains


def question(
    condition: tir.PrimExpr, domains: Domains, given: Sequence[tir.PrimExpr]
) -> tuple[tuple[Any, ...], tuple[tir.Var, ...]]:
    """Return the key of the question whether `condition` holds, and its variables, in the order in which the key numbers them.

    A question that contains a node that is not compared by structure, such as a buffer load, has a unique key.
    """
    ranges = [(v, d.min, d.max if isinstance(d, Interval) else d.extent) for v, d in domains.items()]
    parts: list[Node | None] = [condition, *given, *[part for range_ in ranges for part in range_]]
    key: list[Any] = [len(given), *map(type, domains.values())]
    numbers: dict[tir.Var, int] = {}
    stack = parts[::-1]
    while stack:
        match node := stack.pop():
            case tir.Var():
                key.append(numbers.get(node) or (type(node), node.dtype))
                numbers.setdefault(node, len(numbers) + 1)
            case tir.IntImm():
                key.append((node.value, node.dtype))
            case tir.BinaryOp():
                key += (type(node), node.dtype)
                stack += (node.b, node.a)
            case tir.Not():
                key += (tir.Not, node.dtype)
                stack.append(node.a)
            case tir.Cast():
                key += (tir.Cast, node.dtype)
                stack.append(node.value)
            case tir.Select():
                key += (tir.Select, node.dtype)
                stack += (node.false_value, node.true_value, node.condition)
            case tir.Call(op=Op(name=name)) if is_pure_call(node) and not node.annotations:
                key += (name, node.dtype, len(node.args))
                stack += reversed(node.args)
            case None:
                key.append(None)
            case _:
                return (*key, *parts), ()
    return tuple(key), tuple(numbers)
