"""The law of dtypes and ranks at the loop level.

E0405: operands of different dtypes, or a result whose dtype does not follow from them · E0406: an index, a bound or a
loop variable that is not an integer, or a condition that is not a bool · E0407: a value whose dtype differs from that of
its variable or buffer · E0235: a buffer access with the wrong number of indices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import tir
from ..base import Metadata, Node
from ..diagnostics import count
from ..dtype import is_bool, is_int, is_vector, parse_dtype, same_lanes, with_lanes_of
from ..make import access_dtype
from .report import Report
from .subject import Subject
from .values import missing

_CONDITIONS = {
    tir.IfThenElse: "if", tir.While: "while", tir.AssertStmt: "assert", tir.Allocate: "T.allocate", tir.BufferRealize: "T.realize",
}  # fmt: skip


def check_dtypes(subject: Subject) -> None:
    """Check every expression and statement separately."""
    report = subject.report
    for kind, nodes in subject.nodes_by_kind.items():
        check = next((check for kinds, check in _CHECKS if issubclass(kind, kinds)), None)
        if check is not None:
            for node in nodes:
                check(node, report)


def _check_binary(node: tir.BinaryOp, report: Report) -> None:
    if isinstance(node, tir.And | tir.Or):
        word = "and" if isinstance(node, tir.And) else "or"
        for operand in (node.a, node.b):
            _check_condition(operand, word, report)
        return
    expected = with_lanes_of("bool", node.a.dtype) if isinstance(node, tir.CmpOp) else node.a.dtype
    _check_same(node, node.a, node.b, report)
    if node.a.dtype == node.b.dtype and node.dtype != expected:
        message = f"the {type(node).__name__} of two {node.a.dtype} is {expected}, not {node.dtype}"
        report.add("E0405", message, node)


def _check_same(node: Node, a: tir.PrimExpr, b: tir.PrimExpr, report: Report) -> None:
    if a.dtype != b.dtype:
        message = f"the operands of {type(node).__name__} are {a.dtype} and {b.dtype}"
        report.add("E0405", message, node, "cast one of them, as in T.Cast(dtype, value)")


def _check_condition(value: tir.PrimExpr, what: str, report: Report) -> None:
    """Check a condition; integers are conditions as well, with zero as false (as in TVM's lowered code)."""
    if not (is_bool(value.dtype) or is_int(value.dtype)):
        report.add("E0406", f"{what} takes a condition, not {value.dtype}", value, "compare it, as in x != 0")


def _check_access(node: tir.BufferLoad | tir.BufferStore, report: Report) -> None:
    buffer = node.buffer
    if len(node.indices) != len(buffer.shape):
        message = f"buffer '{buffer.name}' has {count(len(buffer.shape), 'dimension')}, "
        report.add("E0235", message + f"but is accessed with {count(len(node.indices), 'index')}", node)
        return
    for index in node.indices:
        if not (is_int(index.dtype) or is_bool(index.dtype)):
            report.add("E0406", f"an index of '{buffer.name}' is {index.dtype}, not an integer", index)
            return
    if any(is_vector(index.dtype) for index in node.indices[:-1]):
        report.add("E0406", f"an index of '{buffer.name}' that is not the last one is a vector", node)
        return
    predicate = node.predicate
    if predicate is not None and node.indices and not same_lanes(predicate.dtype, node.indices[-1].dtype):
        given, wanted = (parse_dtype(expr.dtype) for expr in (predicate, node.indices[-1]))
        factors = ["vscale * " if dtype.scalable else "" for dtype in (given, wanted)]
        lanes = f"{factors[0]}{count(given.lanes, 'lane')}, its index {factors[1]}{wanted.lanes}"
        message = f"the predicate of an access to '{buffer.name}' has {lanes}"
        report.add("E0406", message, node, "give one condition for each lane")
        return
    expected = access_dtype(buffer, node.indices)
    actual = node.dtype if isinstance(node, tir.BufferLoad) else node.value.dtype
    if actual != expected and "handle" not in (actual, expected):
        place = node if isinstance(node, tir.BufferLoad) else node.value
        message = f"an element of '{buffer.name}' is {expected}, not {actual}"
        report.add("E0407", message, place, f'convert it, as in T.Cast("{expected}", …)')


def _check_loop(node: tir.For, report: Report) -> None:
    for what, value in (("variable", node.loop_var), ("start", node.min), ("extent", node.extent)):
        if not is_int(value.dtype):
            place = value if value.span is not None else node
            report.add("E0406", f"the {what} of the loop over '{node.loop_var.name}' is {value.dtype}", place)
            return


def _check_range(node: tir.Range, report: Report) -> None:
    """As a text says a range by its start and its end, the extent is as wide as what `end - start` gives."""
    if not (is_int(node.min.dtype) and is_int(node.extent.dtype)):
        return
    if parse_dtype(node.extent.dtype).bits < parse_dtype(node.min.dtype).bits:
        message = f"the start of a range is {node.min.dtype}, but its extent {node.extent.dtype}"
        place = node if node.span is not None else node.min
        report.add("E0405", message, place, f'T.Cast("{node.min.dtype}", …) converts the extent')


def _check_ramp(node: tir.Ramp, report: Report) -> None:
    for what, value in (("start", node.base), ("stride", node.stride)):
        if not is_int(value.dtype):
            report.add("E0406", f"the {what} of T.Ramp is {value.dtype}, not an integer", node)
            return
    _check_same(node, node.base, node.stride, report)


def _check_select(node: tir.Select, report: Report) -> None:
    _check_condition(node.condition, "T.Select", report)
    _check_same(node, node.true_value, node.false_value, report)


def _check_let(node: tir.LetStmt | tir.Let, report: Report) -> None:
    if node.var.dtype != node.value.dtype:
        message = f"'{node.var.name}' is {node.var.dtype}, but its value is {node.value.dtype}"
        report.add("E0407", message, node.value, f'convert it, as in T.Cast("{node.var.dtype}", …)')


_CHECKS: tuple[tuple[type | tuple[type, ...], Callable[[Any, Report], None]], ...] = (
    (tir.BinaryOp, _check_binary),
    ((tir.BufferLoad, tir.BufferStore), _check_access),
    (Metadata, lambda node, report: report.found.append(missing(node, node))),
    (tir.Not, lambda node, report: _check_condition(node.a, "not", report)),
    (tir.Select, _check_select),
    (tir.Ramp, _check_ramp),
    (tir.For, _check_loop),
    (tir.Range, _check_range),
    (tuple(_CONDITIONS), lambda node, report: _check_condition(node.condition, _CONDITIONS[type(node)], report)),
    (tir.BlockRealize, lambda node, report: _check_condition(node.predicate, "T.where", report)),
    ((tir.LetStmt, tir.Let), _check_let),
)
"""The check of each kind of node."""
