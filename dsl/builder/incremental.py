"""Builds the definitions of one module one at a time, each from its own source, in any number of versions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from ...ir import relax
from ...ir.base import BaseFunc, GlobalVar, IRModule, Node
from ...ir.diagnostics import Diagnostic
from .. import syntax
from . import relax_function
from .budget import Budget
from .context import Context, Failed, Scope, TooManyErrors
from .imports import base_names
from .module import SCHEDULES, ModuleBuilder, build_prim_func, declare_prim_func
from .schedules import build_function, build_schedule, define


class Incremental:
    """The builder of a module whose definitions change; `file` is the text above them, with the head of their module, and
    `size` the length of the whole text."""

    def __init__(self, file: syntax.File, size: int) -> None:
        self.file, self.size = file, size
        self.context = Context(file.source, Scope(base_names()))
        self.builder = ModuleBuilder(self.context, file)
        self.warnings: tuple[Diagnostic, ...] = ()
        """The warnings about what the definitions share."""
        self.shared: dict[str, Any] = {}
        """The names that every definition sees unless a function or a schedule hides them."""
        self.is_stuck = False
        """Whether a definition depends on others in a way that only a whole text shows."""

    def share(self, files: Iterable[syntax.File]) -> bool:
        """Read what the definitions share: imports, constants, attributes, macros; return whether that succeeded."""
        context, builder = self.context, self.builder
        try:
            builder.check_version()
            for module in builder.shared(self.file.body):
                if not isinstance(module, syntax.Definition) or builder.kind(module) != "I.ir_module":
                    return False
                builder.open(module)
            for file in files:
                context.source = file.source
                for statement in builder.shared(file.body):
                    builder.statement(statement)
        except (Failed, TooManyErrors):
            return False
        self.warnings = tuple(context.warnings)
        context.warnings.clear()
        self.shared = {name: context.scope.get(name) for name in context.scope.names()}
        return not context.diagnostics and not builder.functions

    def kind_of(self, file: syntax.File, definition: syntax.Definition) -> str | None:
        """Return the form that opens a function or a schedule; None if it opens none, or in a wrong way."""
        self.context.source = file.source
        kind = None
        with suppress(TooManyErrors):
            kind = self.builder.kind(definition)
        self.builder.kinds.clear()
        reported = bool(self.context.diagnostics)
        self.context.diagnostics.clear()
        return None if reported or kind == "I.ir_module" else kind

    def signature(self, file: syntax.File, definition: syntax.Definition, kind: str) -> GlobalVar:
        """Return the reference to a function whose body is not built."""
        self.context.source = file.source
        if kind == "T.prim_func":
            return declare_prim_func(self.context, definition)
        info = relax_function.declare_function(self.context, definition)
        return GlobalVar(definition.name, struct_info=info)

    def declare(self, name: str, reference: GlobalVar) -> None:
        """Define a function for those that call it."""
        self.builder.declare(name, reference)

    def remove(self, name: str) -> None:
        """Forget a function or a schedule that is no longer in the text."""
        self.context.globals.pop(name, None)
        self.context.scope.undefine(name)
        if name in self.shared:
            self.context.scope.define(name, self.shared[name])

    def build(
        self, file: syntax.File, definition: syntax.Definition, kind: str, functions: set[str]
    ) -> tuple[Node | None, tuple[Diagnostic, ...], tuple[Diagnostic, ...]]:
        """Return what a definition defines, None if it has errors, its errors and its warnings."""
        context, node = self.context, None
        context.source, context.budget = file.source, Budget(self.size)
        try:
            if kind in SCHEDULES:
                node = (
                    build_function(context, definition)
                    if kind == "S.function"
                    else build_schedule(context, definition, functions)
                )
                define(context, definition.name, node)
            else:
                build = build_prim_func if kind == "T.prim_func" else relax_function.build_function
                node = build(context, definition)
        except Failed:
            pass
        except TooManyErrors:
            self.is_stuck = True
        self.is_stuck |= bool(context.generated.functions)
        found, warnings = tuple(context.diagnostics), tuple(context.warnings)
        context.diagnostics.clear()
        context.warnings.clear()
        return node, found, warnings

    def module(self, functions: Mapping[str, BaseFunc | relax.ExternFunc], schedules: Mapping[str, Node]) -> IRModule:
        """Return the module of functions and schedules."""
        builder = self.builder
        return IRModule({**functions}, builder.attrs, self.context.global_infos, builder.name, None, {**schedules})
