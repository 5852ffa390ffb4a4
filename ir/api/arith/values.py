"""Conversion of arguments of `tvms.arith`: Python expressions, nodes and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from ... import make, tir
from ...te.expr import Value, operand

Domain: TypeAlias = "tir.Range | tuple[Value, Value]"
"""A range, or a pair of start and extent."""


def variable_of(value: Value) -> tir.Var:
    """Return `value` as a variable; TypeError if it is not one."""
    node = operand(value)
    if not isinstance(node, tir.Var):
        raise TypeError(f"{value} is not a variable")
    return node


def range_of(domain: Domain, dtype: str) -> tir.Range:
    """Return `domain` as a range for a variable of `dtype`."""
    start, extent = domain if isinstance(domain, tuple) else (domain.min, domain.extent)
    return tir.Range(make.cast(operand(start, dtype), dtype), make.cast(operand(extent, dtype), dtype))


def ranges_of(domains: Mapping[tir.PrimExpr, Domain]) -> dict[tir.Var, tir.Range]:
    """Return the ranges of variables."""
    return {variable_of(name): range_of(domain, name.dtype) for name, domain in domains.items()}


def condition_of(value: Value | None) -> tir.PrimExpr | None:
    """Return a condition as a node; None if it is constant true."""
    node = None if value is None else operand(value, "bool")
    return None if isinstance(node, tir.IntImm) and node.value else node
