"""The loop level: `T.serial`, `T.block`, `T.buffer_store`, … as calls; all forms of the language, and its statements."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec.structs import replace

from ....ir import te, tir
from ....ir.api.constructor import condition
from ....ir.building.values import plain_nodes
from ... import syntax
from ...builder import module as module  # declares the forms
from ...builder.forms import NAMESPACES, Form, Namespace
from ...builder.tir_blocks import close_block
from ...builder.tir_frames import BlockFrame, Body, Frame, FunctionFrame, InitFrame
from ...builder.tir_function import completed
from .base import PLACE, IRBuilder, Opened

_WITH = syntax.With(PLACE, None, ())


class _Forms:
    """The forms of a namespace of the language as functions."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace

    def __getattr__(self, name: str) -> Any:
        return _member(self._namespace, name)


def _member(namespace: Namespace, name: str) -> Any:
    found = namespace.members.get(name)
    if isinstance(found, Namespace):
        return _Forms(found)
    if not isinstance(found, Form):
        raise AttributeError(f"'{namespace.name}' has no form '{name}'")
    return _function(found)


def _function(form: Form) -> Callable[..., Any]:
    def call(*args: Any, **keywords: Any) -> Any:
        builder = IRBuilder.current() if IRBuilder.is_in_scope() else IRBuilder()
        made = builder.call(form, args, keywords)
        if isinstance(made, Frame | BlockFrame | InitFrame):
            return _opened(builder, made)
        return builder.context.tir.body.add(made) if isinstance(made, tir.Stmt) else made

    call.__name__, call.__doc__ = form.name, form.build.__doc__
    return call


def _opened(builder: IRBuilder, frame: Frame | BlockFrame | InitFrame) -> Opened:
    """Open a body of statements; on exit, wrap it in the frame."""
    context = builder.context
    block = frame if isinstance(frame, BlockFrame) else None

    def enter() -> Any:
        if block is not None:
            context.tir.blocks.append(block)
        context.tir.bodies.append(Body(declares=block is not None))
        return frame.value if isinstance(frame, Frame) else None

    def leave() -> None:
        body, _ = context.tir.bodies.pop().close()
        if block is not None:
            context.tir.blocks.pop()
            builder.attempt(partial(close_block, context, block, body, _WITH, None))
        elif isinstance(frame, InitFrame):
            context.tir.blocks[-1].init = body
        elif isinstance(frame, Frame):
            context.tir.body.add(frame.wrap(body, context.span(PLACE), None))

    return Opened(enter, leave)


# --- Statements that have a syntax of their own in texts --------------------------------------------------------


def While(condition_: te.Value) -> Opened:
    """`with T.While(i < n):`"""
    test = condition(condition_)
    return _opened(IRBuilder.current(), Frame(None, lambda body, span, trivia: tir.While(test, body)))


def Assert(condition_: te.Value, message: str) -> Opened:
    """`with T.Assert(n > 0, "n is positive"):`"""
    test, text = condition(condition_), tir.StringImm("handle", message)
    return _opened(IRBuilder.current(), Frame(None, lambda body, span, trivia: tir.AssertStmt(test, text, body)))


_branches: list[dict[str, tir.Stmt]] = []
"""The branches of every open `T.If`."""


def If(condition_: te.Value) -> Opened:
    """`with T.If(i < n):`; `T.Then` and `T.Else` open its branches."""
    test = condition(condition_)
    builder = IRBuilder.current()

    def leave() -> None:
        branches = _branches.pop()
        builder.context.tir.body.add(tir.IfThenElse(test, branches["Then"], branches.get("Else")))

    return Opened(lambda: _branches.append({}), leave)


def _branch(name: str) -> Opened:
    builder = IRBuilder.current()
    bodies = builder.context.tir.bodies

    def leave() -> None:
        _branches[-1][name] = bodies.pop().close()[0]

    return Opened(lambda: bodies.append(Body()), leave)


def Then() -> Opened:
    """The branch of the enclosing `T.If` that runs if the condition holds."""
    return _branch("Then")


def Else() -> Opened:
    """The branch of the enclosing `T.If` that runs if the condition does not hold."""
    return _branch("Else")


# --- Functions ------------------------------------------------------------------------------------------------


class _Function(FunctionFrame):
    """The function under construction."""

    def __init__(self) -> None:
        super().__init__(0)
        self.name = ""
        self.returned: tir.Type | None = None


def prim_func(is_private: bool = False) -> Opened:
    """`with T.prim_func():`; `T.func_name` and `T.arg` define its signature."""
    context = (builder := IRBuilder.current()).context
    outer, function = context.tir, _Function()

    def leave() -> None:
        context.tir = outer
        body, _ = function.body.close()
        attrs = function.attrs if is_private or not function.name else {"global_symbol": function.name} | function.attrs
        made = tir.PrimFunc(
            tuple(function.params), completed(function, body), function.returned, function.buffer_map, attrs=attrs
        )
        builder.finish(function.name or "main", made)

    def enter() -> None:
        context.tir = function

    return Opened(enter, leave)


def _open_function() -> _Function:
    function = IRBuilder.current().context.tir
    if not isinstance(function, _Function):
        raise ValueError("no loop function is open; open one: with T.prim_func():")
    return function


def func_name(name: str) -> None:
    """Set the name of the function."""
    _open_function().name = name


def func_ret(ret_type: tir.Type) -> None:
    """Set the type of the result."""
    _open_function().returned = ret_type


def arg(name: str, obj: Any) -> Any:
    """Add the parameter `name`, a variable or a buffer; return it."""
    function, value = _open_function(), plain_nodes(obj)
    if isinstance(value, tir.Buffer):
        handle = tir.Var("handle", f"{name}_handle")
        function.buffer_map[handle] = replace(value, name=name, data=replace(value.data, name=name))
        function.params.append(handle)
        return function.buffer_map[handle]
    function.params.append(replace(value, name=name))
    return function.params[-1]


def meta_var(value: Any) -> Any:
    """Return `value` unchanged, under its own name."""
    return value


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _member(NAMESPACES["T"], name)
