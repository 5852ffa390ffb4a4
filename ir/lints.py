"""Lints: code without effect. Such a program is valid but probably not what its author meant; every lint is a warning.

E0461: a variable that is never used · E0462: a buffer that is never used · E0463: stores that are never read ·
E0464: a loop without iterations · E0465: a condition that is always true, or always false · E0466: an attribute that is
misspelt · E0467: a parameter that is never used · E0468: a return type without a return.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from . import relax, tir
from .base import IRModule, Node, Op, Span
from .deep import deep
from .diagnostics import Diagnostic, Edit
from .verify.flow import Flow
from .visit import children, walk

ATTRIBUTES = (
    "global_symbol", "tir.noalias", "tir.fast_math", "tir.is_entry_func", "tir.is_host_func", "tir.is_global_func", "tir.is_scheduled",
    "tir.kernel_launch_params", "target", "calling_conv", "op_pattern", "layout_free_buffers", "buffer_dim_align",
    "relax.force_pure", "num_input", "Primitive", "Composite", "Codegen", "tir_var_upper_bound", "tir_var_lower_bound",
    "tir_non_negative_var", "pragma_auto_unroll_max_step", "pragma_unroll_explicit", "software_pipeline_stage",
    "software_pipeline_order", "software_pipeline_async_stages", "double_buffer_scope", "warp_execution",
    "meta_schedule.tiling_structure", "meta_schedule.unit",
)  # fmt: skip
"""Attributes that passes, rules and targets read."""
_RET = Op("tir.ret")
_COMPARISONS = (tir.LT, tir.LE, tir.GT, tir.GE, tir.EQ, tir.NE)


@deep
def lint(module: IRModule) -> tuple[Diagnostic, ...]:
    """Return the lints of a well-formed module, in the order of its functions."""
    found: list[Diagnostic] = []
    for function in module.functions.values():
        found += _attributes(function)
        if isinstance(function, tir.PrimFunc):
            found += _LoopLevel(function).lints()
        elif isinstance(function, relax.Function):
            found += _bindings(function)
    return tuple(found)


def _warning(code: str, message: str, span: Span | None, help: str, edit: Edit | None = None) -> Diagnostic:
    return Diagnostic(code, message, span, help, severity="warning", edit=edit)


def _attributes(function: Node) -> Iterator[Diagnostic]:
    """Find attributes whose names are similar to known ones."""
    for node in walk(function):
        attrs = getattr(node, "attrs", None) if node is function else getattr(node, "annotations", None)
        for key in attrs if isinstance(attrs, dict) else ():  # type: ignore[reportUnknownVariableType]
            near = [] if key in ATTRIBUTES else get_close_matches(key, ATTRIBUTES, n=1, cutoff=0.88)  # type: ignore[reportUnknownArgumentType]
            if near and len(key) > 5:  # type: ignore[reportUnknownArgumentType]
                span = _quoted(key, node.span or function.span)  # type: ignore[reportUnknownArgumentType]
                message = f"attribute '{key}' is unknown"
                edit = None if span is None else Edit(span, f'"{near[0]}"')
                yield _warning("E0466", message, span or node.span, f"did you mean '{near[0]}'?", edit)


def _deletion(span: Span | None) -> Edit | None:
    return None if span is None else Edit(span)


def _quoted(text: str, around: Span | None) -> Span | None:
    """Return the span of the quoted `text` inside `around`; None unless it occurs exactly once."""
    if around is None:
        return None
    for quote in "\"'":
        written = f"{quote}{text}{quote}"
        if around.source.text.count(written, around.start, around.end) == 1:
            start = around.source.text.index(written, around.start)
            return Span(around.source, start, start + len(written))
    return None


def _bindings(function: relax.Function) -> Iterator[Diagnostic]:
    """Find unused bindings of dataflow blocks; bindings elsewhere may have side effects."""
    used: set[int] = set()
    blocks: list[relax.DataflowBlock] = []
    for node in walk(function):
        blocks += [node] if isinstance(node, relax.DataflowBlock) else []
        own = node.var if isinstance(node, relax.Binding) else None
        used.update(id(child) for child in children(node) if isinstance(child, relax.Var) and child is not own)
    for block in blocks:
        for binding in block.bindings:
            is_plain = isinstance(binding, relax.VarBinding) and isinstance(binding.var, relax.DataflowVar)
            if is_plain and id(binding.var) not in used and binding.var.name_hint != "_":
                message = f"variable '{binding.var.name_hint}' is never used"
                yield _warning("E0461", message, binding.var.span, "remove it", _deletion(binding.span))


class _LoopLevel:
    def __init__(self, function: tir.PrimFunc) -> None:
        self.function = function
        self.nodes = tuple(walk(function.body))
        self.used: set[tir.Var] = set()
        self.read: set[tir.Var] = set()
        """The memory that is used other than by stores."""
        self.stores: dict[tir.Var, tir.BufferStore] = {}
        for node in self.nodes:
            self._note(node)

    def _note(self, node: Node) -> None:
        match node:
            case tir.BufferStore():
                self.stores.setdefault(node.buffer.data, node)
                self.used.update(child for child in (*node.indices, node.value) if isinstance(child, tir.Var))
            case tir.Buffer():
                self.used.update(
                    child for child in children(node) if isinstance(child, tir.Var) and child is not node.data
                )
            case tir.BufferLoad() | tir.MatchBufferRegion():
                buffer = node.buffer if isinstance(node, tir.BufferLoad) else node.source.buffer
                self.read.add(buffer.data)
                self.used.update(child for child in children(node) if isinstance(child, tir.Var))
            case tir.DeclBuffer():
                pass
            case tir.BufferRegion():
                pass
            case _:
                named = (getattr(node, name, None) for name in ("var", "loop_var", "buffer_var"))
                own = next((var for var in named if var is not None), None)
                uses = [child for child in children(node) if isinstance(child, tir.Var) and child is not own]
                self.used.update(uses)
                self.read.update(uses)

    def lints(self) -> Iterator[Diagnostic]:
        """Find the lints of all statements."""
        yield from self._parameters()
        yield from self._return()
        flow = Flow(self.function)
        declared: set[tir.Var] = set()
        for node in self.nodes:
            match node:
                case tir.LetStmt(var=var) if var not in self.used and var.name != "_" and not _calls(node.value):
                    message = f"variable '{var.name}' is never used"
                    yield _warning("E0461", message, var.span or node.span, "remove it", _deletion(node.span))
                case tir.Block(alloc_buffers=buffers):
                    for buffer in buffers:
                        yield from self._memory(buffer.data, buffer.name, buffer.span, declared)
                case tir.Allocate(buffer_var=var):
                    yield from self._memory(var, var.name, node.span or var.span, declared)
                case tir.For(extent=tir.IntImm(value=extent), loop_var=var) if extent <= 0:
                    message = f"the loop over '{var.name}' has no iterations"
                    yield _warning("E0464", message, var.span or node.span, "remove it, or correct its bounds")
                case tir.IfThenElse(condition=condition):
                    truth = _truth(flow, condition)
                    if truth is not None:
                        message = f"this condition is always {'true' if truth else 'false'}"
                        yield _warning("E0465", message, condition.span or node.span, "remove it, or correct it")
                case _:
                    pass

    def _return(self) -> Iterator[Diagnostic]:
        """Find a return type of a function that returns nothing."""
        kind, around = self.function.ret_type, self.function.span
        if not isinstance(kind, tir.PrimType) or any(
            isinstance(node, tir.Call) and node.op == _RET for node in self.nodes
        ):
            return
        span = around
        if around is not None:
            text = around.source.text
            start = text.find("->", around.start, around.end)
            end = text.find(":", start, around.end)
            span = around if start < 0 or end < 0 else Span(around.source, start, end)
        message = f"the function returns {kind.dtype}, but it has no return"
        help = "end it with `return value`, or remove the type and store the result in a buffer parameter"
        yield _warning("E0468", message, span, help)

    def _parameters(self) -> Iterator[Diagnostic]:
        """Find parameters that neither the body nor the shape of a buffer uses."""
        buffers = self.function.buffer_map
        shapes = {node for buffer in buffers.values() for node in walk(buffer) if node is not buffer.data}
        for param in self.function.params:
            buffer = buffers.get(param)
            memory = param if buffer is None else buffer.data
            if (
                memory in self.used
                or memory in self.read
                or memory in self.stores
                or param in self.used
                or param in shapes
            ):
                continue
            name, place = (param.name, param) if buffer is None else (buffer.name, buffer)
            message = f"parameter '{name}' is never used"
            if not name.startswith("_"):
                yield _warning(
                    "E0467", message, place.span, "remove it here and in the calls, or rename it to _" + name
                )

    def _memory(self, data: tir.Var, name: str, span: Span | None, declared: set[tir.Var]) -> Iterator[Diagnostic]:
        """Find memory that is never used, or written and never read."""
        if data in declared or data in self.read:
            return
        declared.add(data)
        if data not in self.stores:
            yield _warning("E0462", f"buffer '{name}' is never used", span, "remove it", _deletion(span))
        elif any(buffer.data in self.stores for buffer in self.function.buffer_map.values()):
            store = self.stores[data]
            message = f"what is stored in buffer '{name}' is never read"
            yield _warning("E0463", message, store.span or span, "remove the buffer and its stores, or read it")


def _calls(value: Node) -> bool:
    """Whether an expression contains a call, which may have side effects."""
    return any(isinstance(node, tir.Call) for node in walk(value))


def _truth(flow: Flow, condition: tir.PrimExpr) -> bool | None:
    """Return the constant value of a condition, if the bounds of loop variables imply one; None otherwise."""
    match condition:
        case tir.IntImm(value=value):
            return bool(value)
        case tir.And() | tir.Or():
            deciding = isinstance(condition, tir.Or)
            sides = (_truth(flow, condition.a), _truth(flow, condition.b))
            return deciding if deciding in sides else (None if None in sides else not deciding)
        case tir.Not():
            inner = _truth(flow, condition.a)
            return None if inner is None else not inner
        case tir.CmpOp() if isinstance(condition, _COMPARISONS) and condition.a.dtype in ("int32", "int64"):
            return _comparison(flow, condition)
        case _:
            return None


def _comparison(flow: Flow, condition: tir.CmpOp) -> bool | None:
    difference = flow.bounds(flow.resolve(tir.Sub(condition.a.dtype, condition.a, condition.b)))
    least, most = difference.min, difference.max
    match condition:
        case tir.LT():
            return True if most < 0 else False if least >= 0 else None
        case tir.LE():
            return True if most <= 0 else False if least > 0 else None
        case tir.GT():
            return True if least > 0 else False if most <= 0 else None
        case tir.GE():
            return True if least >= 0 else False if most < 0 else None
        case _:
            is_equal = isinstance(condition, tir.EQ)
            return is_equal if least == most == 0 else (not is_equal) if least > 0 or most < 0 else None
