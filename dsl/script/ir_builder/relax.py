"""The graph level: `R.arg`, `R.emit`, `R.dataflow`, … as calls, on top of `relax.BlockBuilder`; and all operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ....ir import relax
from ....ir.api import relax as api
from ....ir.base import Attrs, Node, StructInfo
from ....ir.building.block_builder import BlockBuilder
from ....ir.passes.rewriter import refined_result
from ....ir.spelling import newer_names
from ....ir.visit import substitute
from .base import IRBuilder, Opened


class _Function(Struct):
    """The function under construction."""

    builder: BlockBuilder
    name: str = ""
    params: list[relax.Var] = []
    attrs: Attrs = {}
    returned: StructInfo | None = None
    result: Any = None
    block: DataflowBlock | None = None
    """The dataflow block that was opened last."""
    outputs: dict[Node, Node] = {}
    """Variables of dataflow blocks that are visible outside, and their replacements there."""


_functions: list[_Function] = []
"""Functions that are open."""


def _open() -> _Function:
    if not _functions:
        raise ValueError("no graph function is open; open one: with R.function():")
    return _functions[-1]


def function(is_pure: bool = True, is_private: bool = False) -> Opened:
    """`with R.function():`; `R.func_name` and `R.arg` define its signature, and `R.func_ret_value` ends it."""
    program, state = IRBuilder.current(), _Function(BlockBuilder())
    scope = state.builder.function("main", pure=is_pure, private=True)

    def enter() -> None:
        _functions.append(state)
        scope.__enter__()

    def leave() -> None:
        _functions.pop()
        state.builder.emit_func_output(state.result, state.params)
        scope.__exit__(None, None, None)
        made: Any = substitute(state.builder.get()["main"], state.outputs)
        attrs = state.attrs if is_private or not state.name else {**state.attrs, "global_symbol": state.name}
        returned = state.returned or made.ret_struct_info
        program.finish(state.name or "main", refined_result(replace(made, attrs=attrs, ret_struct_info=returned)))

    return Opened(enter, leave)


def func_name(name: str) -> None:
    """Set the name of the function."""
    _open().name = name


def func_attr(attrs: Attrs) -> None:
    """Set attributes of the function."""
    _open().attrs = {**_open().attrs, **attrs}


def arg(name: str, struct_info: StructInfo) -> relax.Var:
    """Add a parameter; return it."""
    _open().params.append(relax.Var(name, struct_info=struct_info))
    return _open().params[-1]


def func_ret_struct_info(ret_sinfo: StructInfo) -> None:
    """Set the struct info of the result."""
    _open().returned = ret_sinfo


func_ret_ty = func_ret_struct_info
"""Name in TVM 0.27."""


def func_ret_value(value: Any) -> None:
    """Return `value` from the function."""
    _open().result = value


def emit(value: Any) -> relax.Var:
    """Bind `value` to a new variable; return it."""
    return _open().builder.emit(value)


def emit_te(func: Callable[..., Any], *args: Any, **kwargs: Any) -> relax.Call:
    """Return a call of the loop function computed by `func` on tensors (`BlockBuilder.call_te`)."""
    return _open().builder.call_te(func, *args, **kwargs)


@newer_names(ty="struct_info")
def emit_match_cast(value: Any, struct_info: StructInfo) -> relax.Var:
    """Bind `value` to a new variable of `struct_info`, which is checked at run time; return it."""
    return _open().builder.match_cast(value, struct_info)


def emit_var_binding(value: relax.VarBinding) -> relax.Var:
    """Add a binding; return its variable."""
    _open().builder.emit_normalized(value)
    return value.var


class DataflowBlock:
    """A dataflow block; `output_vars` are its outputs, as variables that are visible outside."""

    def __init__(self, builder: BlockBuilder) -> None:
        self._scope = builder.dataflow()
        self.output_vars: tuple[relax.Var, ...] = ()

    def __enter__(self) -> DataflowBlock:
        self._scope.__enter__()
        _open().block = self
        return self

    def __exit__(self, *problem: Any) -> None:
        self._scope.__exit__(*problem)


def dataflow() -> DataflowBlock:
    """`with R.dataflow() as block:`; `R.output` names the variables that are visible outside."""
    return DataflowBlock(_open().builder)


def output(*variables: relax.Var) -> None:
    """Make `variables` visible outside the dataflow block."""
    state = _open()
    if state.block is None:
        raise ValueError("no dataflow block is open; open one: with R.dataflow() as block:")
    name_of = IRBuilder.current().name_of
    seen = tuple(relax.Var(name_of(var), struct_info=var.struct_info) for var in variables)
    state.outputs = {**state.outputs, **dict(zip(variables, seen, strict=True))}
    state.block.output_vars = seen


@newer_names(ty_args="sinfo_args")
def call_packed(
    func: str | relax.Expr, *args: Any, sinfo_args: StructInfo | Sequence[StructInfo] = (), **kwargs: Any
) -> relax.Call:
    """Return a call of a function that is registered at run time; its result has the struct info `sinfo_args`."""
    callee = api.ExternFunc(func) if isinstance(func, str) else func
    return api.Call(callee, args, kwargs, sinfo_args)


def __getattr__(name: str) -> Any:
    """Return a type (`R.Tensor`), a value (`R.const`), or an operator."""
    from .. import relax as dialect

    if name.startswith("__"):
        raise AttributeError(name)
    if name[0].isupper():
        return getattr(dialect, name)
    return getattr(api, name, None) or getattr(api.op, name)
