"""Pass the fields of tuples as separate arguments (TVM: `ExpandTupleArguments`)."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from .. import relax
from ..base import IRModule, StructInfo
from ..deep import deep
from .calls import clean_up, functions_only_called, with_signatures
from .transform import declare_pass


@declare_pass("ExpandTupleArguments")
@deep
def expand_tuple_arguments(mod: IRModule) -> IRModule:
    """Replace tuple parameters of private functions by one parameter for each field, including nested tuples."""
    old = {
        name: function
        for name, function in functions_only_called(mod).items()
        if any(isinstance(param.struct_info, relax.TupleStructInfo) for param in function.params)
    }
    if not old:
        return mod

    def arguments(name: str, call: relax.Call) -> tuple[relax.Expr, ...]:
        pairs = zip(call.args, old[name].params, strict=True)
        return tuple([field for arg, param in pairs for field in _fields(arg, param.struct_info)])

    return clean_up(with_signatures(mod, {name: _expand(func) for name, func in old.items()}, arguments))


def _expand(function: relax.Function) -> relax.Function:
    """Return `function` with parameters for the fields; a first block builds the tuples from them."""
    params: list[relax.Var] = []
    bindings: list[relax.Binding] = []

    def expand(param: relax.Var) -> relax.Expr:
        info = param.struct_info
        if not isinstance(info, relax.TupleStructInfo):
            params.append(param)
            return param
        fields = [relax.Var(f"{param.name_hint}_{n}", struct_info=field) for n, field in enumerate(info.fields)]
        return relax.Tuple(tuple(map(expand, fields)), struct_info=info)

    for param in function.params:
        value = expand(param)
        if value is not param:
            bindings.append(relax.VarBinding(param, value))
    body = replace(function.body, blocks=(relax.BindingBlock(tuple(bindings)), *function.body.blocks))
    return replace(function, params=tuple(params), body=body, struct_info=None)


def _fields(arg: relax.Expr, info: StructInfo | None) -> Iterator[relax.Expr]:
    """Yield the arguments to pass for a parameter with struct info `info`."""
    if not isinstance(info, relax.TupleStructInfo):
        yield arg
        return
    for index, field in enumerate(info.fields):
        is_made = isinstance(arg, relax.Tuple)
        yield from _fields(arg.fields[index] if is_made else relax.TupleGetItem(arg, index), field)
