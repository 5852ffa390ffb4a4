"""Compile functions with the libraries that they name (TVM: `RunCodegen`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec.structs import replace

from .. import relax
from ..base import EXTERNAL_MODULES, Attrs, GlobalVar, IRModule, Op
from ..deep import deep
from ..diagnostics import error
from ..functions import get_global_func
from ..infer import infer_struct_info
from ..visit import rewrite, substitute, walk
from .dead_code import eliminate_dead_code
from .fuse_by_pattern import CODEGEN, COMPOSITE
from .rewriter import BindingRewriter
from .transform import declare_pass

Codegen: TypeAlias = Callable[[Sequence[relax.Function], Mapping[str, Any]], Sequence[Attrs]]
"""Code generator of a library, registered as `relax.ext.<name>`: from functions and options to external modules."""


@declare_pass("RunCodegen")
@deep
def run_codegen(
    mod: IRModule,
    target_options: Mapping[str, Mapping[str, Any]] | None = None,
    entry_functions: Sequence[str] | None = None,
) -> IRModule:
    """Replace calls of functions with the attribute Codegen by `R.call_dps_packed` of library functions.

    The code generator is the global function `relax.ext.<name>`; `target_options` holds its options by library name.
    Its results are kept in the module's attribute `external_mods`, as attributes that can be printed: kind and
    functions.

    Raises TvmsError: E0907 if no library with that name is registered.
    """
    made: dict[str, tuple[str, tuple[relax.Constant, ...]]] = {}
    by_library: dict[str, list[relax.Function]] = {}
    for name, function in mod.functions.items():
        if isinstance(function, relax.Function) and CODEGEN in function.attrs:
            function, constants = lift_constants(function)
            made[name] = str(function.attrs["global_symbol"]), constants
            by_library.setdefault(str(function.attrs[CODEGEN]), []).append(function)
    external = list(mod.attrs.get(EXTERNAL_MODULES, ()))
    for library, functions in by_library.items():
        external += _find(library)(functions, (target_options or {}).get(library, {}))
    if not external:
        return eliminate_dead_code(mod, entry_functions)
    caller = _Caller(made)
    rest = {
        name: caller.function(function) if isinstance(function, relax.Function) else function
        for name, function in mod.functions.items()
        if name not in made
    }
    attrs = {**mod.attrs, EXTERNAL_MODULES: tuple(external)}
    return eliminate_dead_code(replace(mod, functions=rest, attrs=attrs), entry_functions)


def lift_constants(function: relax.Function) -> tuple[relax.Function, tuple[relax.Constant, ...]]:
    """Return a wrapper of `local_func` with constants as additional parameters of both, and the constants."""
    constants = tuple(dict.fromkeys(node for node in walk(function) if isinstance(node, relax.Constant)))
    if not constants:
        return function, ()
    infos = [infer_struct_info(constant) for constant in constants]

    def params() -> tuple[relax.Var, ...]:
        return tuple([relax.Var(f"constant_{index}", struct_info=info) for index, info in enumerate(infos)])

    def lift(node: Any) -> Any:
        if isinstance(node, relax.Function) and COMPOSITE in node.attrs:
            own = params()
            inner = replace(node, params=(*node.params, *own), struct_info=None)
            return substitute(inner, dict(zip(constants, own, strict=True)))
        if isinstance(node, relax.Call) and isinstance(node.op, relax.Var):
            return replace(node, args=(*node.args, *outer))
        return None

    outer = params()
    lifted = rewrite(function, lift)
    return replace(lifted, params=(*lifted.params, *outer)), constants


def _find(library: str) -> Codegen:
    from ..backend import external as external  # registers the built-in libraries

    codegen = get_global_func(f"relax.ext.{library}", allow_missing=True)
    if codegen is None:
        help = f"install the library, register_func('relax.ext.{library}', …), or use the patterns of another library"
        raise error("E0907", f"library '{library}' is not registered", help=help)
    return codegen


class _Caller(BindingRewriter):
    def __init__(self, made: Mapping[str, tuple[str, tuple[relax.Constant, ...]]]) -> None:
        super().__init__()
        self._made = made

    def binding(self, binding: relax.Binding) -> Iterable[relax.Binding]:
        call = binding.value
        if not (isinstance(call, relax.Call) and isinstance(call.op, GlobalVar) and call.op.name_hint in self._made):
            return (binding,)
        result = call.struct_info
        assert result is not None
        symbol, constants = self._made[call.op.name_hint]
        args = (relax.ExternFunc(symbol), relax.Tuple((*call.args, *constants)))
        packed = relax.Call(Op("relax.call_dps_packed"), args, {}, (result,), span=call.span, struct_info=result)
        return (replace(binding, value=packed),)
