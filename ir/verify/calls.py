"""The law of calls: callees exist, arguments fit them, and recursion is conditional."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from .. import relax, tir
from ..base import BaseFunc, GlobalVar, IRModule, Node, Op, StructInfo
from ..diagnostics import Diagnostic, Note, count
from ..simplify import simplify
from ..visit import substitute

CallNode: TypeAlias = relax.Call | tir.Call


def mentioned(nodes: Iterable[Node]) -> list[Node]:
    """Return the references to functions and the graph-level calls among `nodes`."""
    return [node for node in nodes if type(node) is GlobalVar or type(node) is relax.Call]


def check_calls(module: IRModule, mentions: Mapping[str, list[Node]]) -> list[Diagnostic]:
    """Check the calls between the functions of `module`; `mentions` holds the references and calls of each by name.

    E0102: a function that the module does not have · E0435: arguments that do not fit the callee · E0436: functions
    that call each other unconditionally, so that no call of them returns.
    """
    found: list[Diagnostic] = []
    for nodes in mentions.values():
        for node in nodes:
            if type(node) is GlobalVar and node.name_hint not in module:
                known = ", ".join(module.functions)
                message = f"the module has no function '{node.name_hint}'"
                found.append(Diagnostic("E0102", message, node.span, f"it has: {known}"))
            elif type(node) is relax.Call:
                found.extend(_check_call(module, node))
    return found + list(_endless({name: module.functions[name] for name, nodes in mentions.items() if nodes}))


def _check_call(module: IRModule, call: relax.Call) -> Iterator[Diagnostic]:
    match call:
        case relax.Call(op=Op(name="relax.call_tir"), args=(GlobalVar() as callee, arguments, *rest)):
            function = module.functions.get(callee.name_hint)
            if isinstance(function, tir.PrimFunc):
                yield from _check_call_tir(call, callee.name_hint, function, arguments, rest)
            elif function is not None:
                message = f"R.call_tir calls '{callee.name_hint}', which is not a T.prim_func"
                yield Diagnostic("E0435", message, callee.span or call.span, f"write cls.{callee.name_hint}(…)")
        case relax.Call(op=GlobalVar(name_hint=name)):
            function = module.functions.get(name)
            if isinstance(function, relax.Function) and len(function.params) != len(call.args):
                message = f"'{name}' takes {count(len(function.params), 'argument')}, but {len(call.args)} are given"
                yield Diagnostic("E0435", message, call.span, None, _defined_at(function))
        case _:
            return


def _check_call_tir(
    call: relax.Call, name: str, function: tir.PrimFunc, arguments: relax.Expr, rest: Iterable[relax.Expr]
) -> Iterator[Diagnostic]:
    given = _fields(arguments)
    results = _results(call)
    if given is None or results is None:
        return
    extra = sum(len(expr.values) for expr in rest if isinstance(expr, relax.ShapeExpr))
    counted = len(given) + len(results) + extra
    if counted != len(function.params):
        message = (
            f"'{name}' takes {count(len(function.params), 'parameter')}, but this call passes {counted}: "
            f"{count(len(given), 'argument')} and {count(len(results) + extra, 'result')}"
        )
        help = "pass one argument for each input, and one out_sinfo for each result, in the order of the parameters"
        yield Diagnostic("E0435", message, call.span, help, _defined_at(function))
        return
    bound: dict[tir.Var, tir.PrimExpr] = {}
    buffers = [function.buffer_map.get(param) for param in function.params]
    passed = list(zip(buffers, [*given, *results], strict=False))
    for buffer, info in passed:
        if buffer is not None:
            _bind(buffer, info, bound)
    for param, (buffer, info) in zip(function.params, passed, strict=False):
        reason = _misfit_of_scalar(param, info) if buffer is None else _misfit(buffer, info, bound)
        if reason:
            declared = buffer or param
            message = f"'{name}' needs '{declared.name}' {reason}"
            place = info.span if info is not None and info.span else call.span
            notes = (Note(f"'{declared.name}' is declared here", declared.span),) if declared.span else ()
            yield Diagnostic("E0435", message, place, "make both agree", notes)


def _bind(buffer: tir.Buffer, info: StructInfo | None, bound: dict[tir.Var, tir.PrimExpr]) -> None:
    """Add the sizes that a value determines: those of dimensions that are a variable alone."""
    shape = info.shape if isinstance(info, relax.TensorStructInfo) else None
    if isinstance(shape, relax.ShapeExpr) and len(shape.values) == len(buffer.shape):
        for wanted, value in zip(buffer.shape, shape.values, strict=True):
            if isinstance(wanted, tir.Var):
                bound.setdefault(wanted, value)


def _misfit(buffer: tir.Buffer, info: StructInfo | None, bound: dict[tir.Var, tir.PrimExpr]) -> str | None:
    """Return why a value of struct info `info` cannot be passed as `buffer`; None if it fits, or if that is unknown."""
    if isinstance(info, relax.PrimStructInfo):
        return "to be a tensor, but it is a scalar"
    if not isinstance(info, relax.TensorStructInfo):
        return None
    if info.dtype not in ("void", buffer.dtype):
        return f"to have dtype {buffer.dtype}, but it has dtype {info.dtype}"
    if not isinstance(info.shape, relax.ShapeExpr):
        rank_differs = info.ndim not in (-1, len(buffer.shape))
        return f"to have {count(len(buffer.shape), 'dimension')}, but it has {info.ndim}" if rank_differs else None
    values = info.shape.values
    if len(values) != len(buffer.shape):
        return f"to have {count(len(buffer.shape), 'dimension')}, but it has {len(values)}"
    for axis, (wanted, value) in enumerate(zip(buffer.shape, values, strict=True)):
        expected = wanted if isinstance(wanted, tir.IntImm) else simplify(substitute(wanted, bound))
        if not isinstance(expected, tir.IntImm) or not isinstance(value, tir.IntImm):
            continue
        if expected.value != value.value:
            return f"to have size {expected.value} in dimension {axis}, but it has size {value.value}"
    return None


def _misfit_of_scalar(param: tir.Var, info: StructInfo | None) -> str | None:
    """Return why a value of struct info `info` cannot be passed as the scalar `param`; None if it fits, or if that is unknown."""
    if param.dtype == "handle":
        return None
    if isinstance(info, relax.TensorStructInfo):
        return "to be a scalar, but it is a tensor"
    if isinstance(info, relax.PrimStructInfo) and info.dtype != param.dtype:
        return f"to have dtype {param.dtype}, but it has dtype {info.dtype}"
    return None


def _fields(arguments: relax.Expr) -> list[StructInfo | None] | None:
    """Return the struct info of each argument; None if their number is unknown."""
    if isinstance(arguments, relax.Tuple):
        return [field.struct_info for field in arguments.fields]
    info = arguments.struct_info
    return list(info.fields) if isinstance(info, relax.TupleStructInfo) else None


def _results(call: relax.Call) -> list[StructInfo] | None:
    match call.sinfo_args:
        case (relax.TupleStructInfo(fields=fields),):
            return list(fields)
        case (info,):
            return [info]
        case _:
            return None


def _defined_at(function: BaseFunc) -> tuple[Note, ...]:
    return (Note("it is defined here", function.span),) if function.span else ()


def _endless(functions: Mapping[str, Node]) -> Iterator[Diagnostic]:
    """Find the functions that unconditionally call themselves, directly or through others."""
    calls = {name: _unconditional_calls(function) for name, function in functions.items()}
    suspects = _without_ends(_reversed(_without_ends(_reversed(calls))))
    reported: set[str] = set()
    for name in functions:
        path = _path_back(name, calls) if name in suspects else None
        if path and name not in reported:
            reported.update(path)
            first = calls[name][path[1]]
            circle = " → ".join(f"'{key}'" for key in path)
            message = f"this call never returns: {circle}"
            yield Diagnostic("E0436", message, first.span, "put the call under a condition, or break the cycle")


def _reversed(edges: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Return the edges of a graph in the other direction, without nodes that are not keys."""
    found: dict[str, list[str]] = {name: [] for name in edges}
    for name, targets in edges.items():
        for target in targets:
            if target in found:
                found[target].append(name)
    return found


def _without_ends(edges: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return a graph without the nodes from which no endless path starts; each circle remains. The time is linear."""
    sources, left = _reversed(edges), {name: len(targets) for name, targets in edges.items()}
    ends = [name for name, count in left.items() if not count]
    while ends:
        end = ends.pop()
        del left[end]
        for source in sources[end]:
            left[source] -= 1
            if not left[source]:
                ends.append(source)
    return {name: [target for target in edges[name] if target in left] for name in left}


def _path_back(start: str, calls: dict[str, dict[str, CallNode]]) -> list[str] | None:
    """Return the shortest path of calls from `start` to itself, or None."""
    paths = [[start]]
    seen: set[str] = set()
    while paths:
        path = paths.pop(0)
        for callee in calls.get(path[-1], {}):
            if callee == start:
                return [*path, start]
            if callee not in seen:
                seen.add(callee)
                paths.append([*path, callee])
    return None


def _unconditional_calls(function: Node) -> dict[str, CallNode]:
    """Return the functions that `function` calls unconditionally, each with one such call."""
    found: dict[str, CallNode] = {}
    stack: list[Node] = [function]
    while stack:
        node = stack.pop()
        match node:
            case relax.Function() | tir.PrimFunc() if node is function:  # a local function may never be called
                stack.append(node.body)
            case relax.SeqExpr():
                stack.extend(binding.value for block in node.blocks for binding in block.bindings)
                stack.append(node.body)
            case relax.If():
                stack.append(node.cond)
            case relax.Call():
                if isinstance(node.op, GlobalVar):
                    found.setdefault(node.op.name_hint, node)
                stack.extend(node.args)
            case tir.SeqStmt():
                stack.extend(node.seq)
            case tir.Evaluate(value=tir.Call(op=GlobalVar(name_hint=name)) as call):
                found.setdefault(name, call)
            case tir.LetStmt() | tir.AttrStmt() | tir.Allocate() | tir.DeclBuffer() | tir.AllocateConst():
                stack.append(node.body)
            case tir.BlockRealize(predicate=tir.IntImm()):
                stack.append(node.block.body)
            case _:
                pass
    return found
