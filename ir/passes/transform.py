"""Infrastructure of passes: passes map modules to modules in a context, and can be composed (TVM: `tvm.transform`).

A pass of this folder is declared once, by `declare_pass` on a function from a module (and options) to a module. Its
constructor `relax.transform.<Name>(options)`, its name for `tvms opt` and the text of `tvms opt --list` follow from
that.
"""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache as once
from functools import update_wrapper
from typing import Any, ParamSpec, cast, get_type_hints

from msgspec.structs import replace

from .. import relax
from ..annotations import fits
from ..base import BaseFunc, IRModule, Node
from ..diagnostics import error
from ..function_table import mentions_of
from ..infer import function_struct_info
from ..sanitize import write_program
from ..signature import BadArguments, Parameter, Signature, describe, wrong_kind
from ..tir import PrimFunc
from ..visit import rewrite
from .context import PassContext as PassContext
from .context import announce as announce
from .context import observed as observed
from .instrument import PassInfo

_P = ParamSpec("_P")


class Pass(ABC):
    """Function from modules to modules."""

    def __init__(self, info: PassInfo) -> None:
        self.info = info

    def __call__(self, mod: IRModule) -> IRModule:
        """Run the pass on `mod` in the current context.

        Raises TvmsError: E0901 if the pass does not return a module, and the errors of the pass itself.
        """
        if not isinstance(cast("object", mod), IRModule):
            raise error("E0901", f"pass '{self.info.name}' expects a module, got {_kind(mod)}", help=_WRAP)
        context = PassContext.current()
        if not all(instrument.should_run(mod, self.info) for instrument in context.instruments):
            return mod
        for instrument in context.instruments:
            instrument.run_before_pass(mod, self.info)
        result = self.transform_module(mod, context)
        if not isinstance(cast("object", result), IRModule):
            reason = f"pass '{self.info.name}' returned {_kind(result)}, not a module"
            raise error("E0901", reason, help="return the given module, or a changed copy")
        for instrument in context.instruments:
            instrument.run_after_pass(result, self.info)
        return result

    @abstractmethod
    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return the transformed module."""

    def __repr__(self) -> str:
        return f"transform.{self.info.name}"


_WRAP = "wrap a function in a module first: IRModule({name: function})"


def _kind(value: object) -> str:
    return f"a {type(value).__name__}"


class Sequential(Pass):
    """Sequence of passes (TVM: `Sequential`)."""

    def __init__(
        self,
        passes: Sequence[Pass] = (),
        opt_level: int = 0,
        name: str = "sequential",
        required: Sequence[str] = (),
        traceable: bool = False,
    ) -> None:
        super().__init__(PassInfo(name, opt_level, tuple(required), traceable))
        self.passes = tuple(passes)

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Run the passes that the context enables, each after those that it requires."""
        for pass_ in self.passes:
            if ctx.pass_enabled(pass_.info):
                for name in pass_.info.required:
                    mod = get_pass(name)(mod)
                mod = pass_(mod)
        return mod


class ApplyPassToFunction(Pass):
    """Applies a pass to the functions whose whole names match a regular expression; for the pass, all others are external."""

    def __init__(self, transform: Pass, func_name_regex: str, error_if_no_function_matches_regex: bool = False) -> None:
        super().__init__(PassInfo(f"ApplyPassToFunction({func_name_regex!r})", 0))
        self._transform, self._pattern, self._must_match = (
            transform,
            func_name_regex,
            error_if_no_function_matches_regex,
        )

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return the transformed module; TvmsError E0902 if no function matches but one must."""
        others = {name: function for name, function in mod.functions.items() if not re.fullmatch(self._pattern, name)}
        if self._must_match and len(others) == len(mod.functions):
            raise error("E0902", f"no function matches {self._pattern!r}", help=f"functions are: {', '.join(others)}")
        known = {name: relax.ExternFunc(name, struct_info=function_struct_info(others[name])) for name in others}
        new = self._transform(replace(mod, functions={**mod.functions, **known}))
        functions = {**new.functions, **others}
        reached = list(others.values())
        while reached:  # the pass does not see what the others call, and may have removed it
            mentioned = mentions_of(reached.pop())
            for name in (mentioned.called | mentioned.passed) - functions.keys():
                functions[name] = mod.functions[name]
                reached.append(functions[name])
        return replace(new, functions=functions)


class PrintIR(Pass):
    """Pass that prints the module, after a line with `header`, and returns it (TVM: `PrintIR`)."""

    def __init__(self, header: str = "", show_meta_data: bool = False) -> None:
        super().__init__(PassInfo("PrintIR"))
        self._header = header

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Print `mod`, without control characters, and return it."""
        write_program(f"PrintIR({self._header}):\n{mod.script()}\n")
        return mod


# --- Passes of functions and classes ---------------------------------------------------------------------------


class _FunctionalPass(Pass):
    """Pass implemented by a function of the module and the context."""

    def __init__(self, transform: Callable[[IRModule, PassContext], IRModule], info: PassInfo) -> None:
        super().__init__(info)
        self._transform = transform
        update_wrapper(self, transform)

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return self._transform(mod, ctx)


Wrap = Callable[[Any], Callable[[IRModule, PassContext], IRModule]]


def _decorate(wrap: Wrap, target: Any, info: Callable[[str], PassInfo], method: str) -> Any:
    """Return a pass for a function, or a class of passes for a class with `method`."""
    if not inspect.isclass(target):
        return _FunctionalPass(wrap(target), info(target.__name__))

    class DecoratedPass(Pass):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(info(target.__name__))
            self._inner = target(*args, **kwargs)

        def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
            return wrap(getattr(self._inner, method))(mod, ctx)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.__dict__["_inner"], name)

    DecoratedPass.__name__, DecoratedPass.__doc__ = target.__name__, target.__doc__
    return DecoratedPass


def _of_functions(kind: type[BaseFunc]) -> Wrap:
    def wrap(function: Callable[[Any, IRModule, PassContext], BaseFunc]) -> Callable[[IRModule, PassContext], IRModule]:
        def transform(mod: IRModule, ctx: PassContext) -> IRModule:
            return map_functions(mod, kind, lambda entry: function(entry, mod, ctx))

        return update_wrapper(transform, function)

    return wrap


def _of_dataflow_blocks(function: Callable[[Any, IRModule, PassContext], Any]) -> Any:
    def transform(mod: IRModule, ctx: PassContext) -> IRModule:
        def changed(node: Node) -> Node | None:
            return function(node, mod, ctx) if isinstance(node, relax.DataflowBlock) else None

        return map_functions(mod, relax.Function, lambda entry: rewrite(entry, changed))

    return update_wrapper(transform, function)


def map_functions(mod: IRModule, kind: type[BaseFunc], function: Callable[[Any], BaseFunc]) -> IRModule:
    """Return `mod` with `function` applied to each of its functions of `kind`, the same object if nothing changes."""
    functions = {name: function(func) if isinstance(func, kind) else func for name, func in mod.functions.items()}
    is_same = all(functions[name] is func for name, func in mod.functions.items())
    return mod if is_same else replace(mod, functions=functions)


def _decorator(wrap: Wrap, method: str) -> Any:
    def decorator(
        pass_func: Any = None,
        opt_level: int = 0,
        name: str | None = None,
        required: Sequence[str] = (),
        traceable: bool = False,
    ) -> Any:
        def decorate(target: Any) -> Any:
            return _decorate(
                wrap, target, lambda own: PassInfo(name or own, opt_level, tuple(required), traceable), method
            )

        return decorate if pass_func is None else decorate(pass_func)

    return decorator


module_pass = _decorator(lambda function: function, "transform_module")
"""Create a pass from a function of (module, context), or a class with `transform_module` (TVM: `module_pass`)."""
function_pass = _decorator(_of_functions(relax.Function), "transform_function")
"""Create a pass from a function of (function, module, context), for each graph function (TVM:
`relax.transform.function_pass`).
"""
dataflowblock_pass = _decorator(_of_dataflow_blocks, "transform_dataflowblock")
"""Create a pass from a function of (block, module, context), for each dataflow block, whose outputs must be kept (TVM:
`relax.transform.dataflowblock_pass`).
"""
prim_func_pass = _decorator(_of_functions(PrimFunc), "transform_function")
"""Create a pass from a function of (function, module, context), for each loop function (TVM:
`tir.transform.prim_func_pass`).
"""


# --- Passes that are declared ------------------------------------------------------------------------------------

_declared: dict[str, Callable[..., Pass]] = {}
_FILES = (
    "normalize",
    "legalize_ops",
    "legalize_collectives",
    "dispatch_operators",
    "dataflow_use_inplace_calls",
    "dead_code",
    "common_subexpressions",
    "canonicalize_bindings",
    "fold_constant",
    "bind_params",
    "attach_global_symbol",
    "remove_unused_parameters",
    "remove_unused_outputs",
    "expand_tuple_arguments",
    "convert_to_dataflow",
    "to_non_dataflow",
    "op_pattern",
    "fuse_ops",
    "fuse_tir",
    "fuse_transpose_matmul",
    "pack_weights",
    "fuse_by_pattern",
    "run_codegen",
    "remove_purity_checking",
    "call_tir_rewrite",
    "static_plan_block_memory",
    "lower_alloc_tensor",
    "lower_runtime_builtin",
    "vm_shape_lower",
    "kill_after_last_use",
    "rewrite_dataflow_reshape",
    "lambda_lift",
    "lazy_params",
    "decompose_ops",
    "to_mixed_precision",
    "convert_layout",
    "gradient",
    "merge_composite_functions",
    "bundle_model_params",
    "lift_transform_params",
    "inline_private_functions",
    "topological_sort",
    "alter_op_impl",
    "matmul_rewrites",
    "combine_parallel_matmul",
    "remove_redundant_reshape",
    "normalize_global_var",
    "update_param_struct_info",
    "abstract_sizes",
    "merge_equal_functions",
    "fold_batchnorm_to_conv2d",
    "winograd",
    "optimize_layout_transform",
    "compute_prim_value",
    "attach_attr_layout_free_buffers",
    "split_layout_rewrite_preproc",
    "attach_extern_modules",
    "update_vdevice",
    "realize_vdevice",
    "rewrite_cuda_graph",
    "tuning",
)
"""Files of this folder that declare passes."""


def declare_pass(
    name: str, *, opt_level: int = 0, required: Sequence[str] = ()
) -> Callable[[Callable[_P, IRModule]], Callable[_P, IRModule]]:
    """Declare a function `(mod, **options) -> IRModule` as the pass `name`; the function itself is unchanged."""

    def declare(function: Callable[_P, IRModule]) -> Callable[_P, IRModule]:
        assert name not in _declared, name
        parameters = list(inspect.signature(function).parameters.values())[1:]
        signature = inspect.Signature(parameters)
        expected = Signature(
            [
                Parameter(
                    parameter.name,
                    parameter.default is parameter.empty,
                    "named" if parameter.kind is parameter.KEYWORD_ONLY else "plain",
                )
                for parameter in parameters
            ]
        )
        numbers = {parameter.name: number for number, parameter in enumerate(parameters, 1)}

        @once
        def annotations() -> Mapping[str, Any]:
            return get_type_hints(function)

        def construct(*args: Any, **options: Any) -> Pass:
            try:
                given = expected.bind(name, args, options.items()).values
            except BadArguments as wrong:
                raise error(wrong.code, wrong.message, help=wrong.help) from None
            for option, value in given.items():
                if not fits(value, annotations().get(option, Any)):
                    wanted = signature.parameters[option].annotation
                    reason = wrong_kind(name, numbers[option], option, wanted, describe(value))
                    raise error("E0902", reason, help=expected.usage(name))

            def transform(mod: IRModule, ctx: PassContext) -> IRModule:
                return cast("Any", function)(mod, **given)

            return _FunctionalPass(update_wrapper(transform, function), PassInfo(name, opt_level, tuple(required)))

        construct.__name__ = construct.__qualname__ = name
        construct.__doc__, construct.__module__ = function.__doc__, function.__module__
        setattr(construct, "__signature__", signature)  # noqa: B010
        setattr(construct, "__wrapped__", function)  # noqa: B010  # `inspect.unwrap` finds the code of the pass
        _declared[name] = construct
        return function

    return declare


def passes() -> Mapping[str, Callable[..., Pass]]:
    """Return the constructors of all declared passes by name, in the order of declaration."""
    from importlib import import_module

    for file in _FILES:
        import_module(f".{file}", __package__)
    return _declared


def get_pass(name: str, *args: Any, **options: Any) -> Pass:
    """Return the pass `name` with its options. Raises TvmsError E0903 for an unknown pass, E0902 for wrong options."""
    known = passes()
    if name not in known:
        from difflib import get_close_matches

        close = get_close_matches(name, known, 1)
        help = f"did you mean '{close[0]}'?" if close else "'tvms opt --list' shows all passes"
        raise error("E0903", f"unknown pass '{name}'", help=help)
    return known[name](*args, **options)
