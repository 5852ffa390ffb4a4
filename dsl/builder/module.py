"""Builds a whole text: a module, or bare functions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from ...ir import relax, tir
from ...ir.base import Attrs, BaseFunc, GlobalInfo, GlobalVar, IRModule, Node, Trivia, VDevice
from ...ir.deep import deep
from ...ir.diagnostics import Diagnostic, Note
from ...ir.signature import describe
from ...ir.tir import PrimFunc
from .. import syntax
from ..comments import comments_of, with_comments
from . import relax_calls, relax_function, relax_statements, tile, tir_calls, tir_literals, tir_operators, tir_scopes
from .context import POISON, Context, Failed, Scope, TooManyErrors, target_names
from .convert import Attributes, Integer, Text, is_tuple
from .expressions import evaluate, opener
from .forms import Closure, Form, FormUse, ModuleReference, form
from .imports import base_names, define_imports
from .macros import MACROS, define_macro
from .signatures import type_variable
from .tir_assignments import define
from .tir_function import build_prim_func, declare_prim_func

_MODULE, _PRIM_FUNC, _FUNCTION = "I.ir_module", "T.prim_func", "R.function"
_OF_GRAPHS = {"I.module_attrs": relax_statements.module_attributes, "R.ExternFunc": relax_calls.extern_func_of_module}
"""Statements of a module with graph-level values, such as types."""
SCHEDULES = ("S.schedule", "S.function")

FORMS = (tile, tir_calls, tir_literals, tir_operators, tir_scopes)
"""Modules that are imported because they declare forms of `T`."""
VERSION = 1
"""Version of the language."""
_VERSION = re.compile(r"#\s*tvms\s+(\d+)\s*$")
"""The line with the version of the language; the printer writes it itself."""


@form("I.ir_module")
def ir_module(site: FormUse, mod: Any = None, check_well_formed: Any = True) -> None:
    """`I.ir_module Name:` opens a module."""


@form("R.function")
def function(site: FormUse) -> None:
    """`R.function(private=True) f(…):` opens a graph function.

    `relax_function` reads its arguments.
    """


@form("S.schedule")
def schedule(site: FormUse) -> None:
    """`S.schedule name(function, bn=64, target="llvm"):` opens a schedule of a loop function: calls of primitives, names
    of values, loops over lists, conditions and assertions.

    `schedules` reads its parameters and its body.
    """


@form("S.function")
def schedule_function(site: FormUse) -> None:
    """`S.function name(loop, factor=4):` opens a function that the schedules below it may call. It may end with `return`.

    `schedules` reads its parameters and its body.
    """


@form("I.module_attrs")
def module_attrs(site: FormUse, attrs: Attributes) -> Attrs:
    """`I.module_attrs({"key": value})`: attributes of the module."""
    return attrs


@form("I.module_global_infos")
def module_global_infos(site: FormUse, global_infos: Attributes) -> dict[str, tuple[GlobalInfo, ...]]:
    """`I.module_global_infos({"vdevice": [I.vdevice("llvm")]})`: objects that functions refer to by index."""
    for key, infos in global_infos.items():
        if not is_tuple(infos):
            raise site.error("E0202", f"expected a list of global infos for '{key}', got {describe(infos)}")
    return global_infos


@form("I.vdevice")
def vdevice(site: FormUse, target: Any = None, vdevice_id: Integer = 0, memory_scope: Text = "global") -> VDevice:
    """`I.vdevice("llvm", 0, "global")`: a virtual device."""
    config = {} if target is None else tir_calls.config_of(site, target, 0)
    return VDevice(config, vdevice_id, memory_scope, span=site.span)


@form("I.dummy_global_info")
def dummy_global_info(site: FormUse) -> GlobalInfo:
    """`I.dummy_global_info()`: a placeholder without information."""
    from ...ir.base import DummyGlobalInfo

    return DummyGlobalInfo(span=site.span)


@deep
def build_module(
    file: syntax.File, names: Mapping[str, Any] = MappingProxyType({}), is_python: bool = False
) -> tuple[IRModule | None, tuple[Diagnostic, ...]]:
    """Return the module that a text holds, or None if there are errors, and all diagnostics.

    `names` are defined besides those of the language; `is_python` says that the text is part of a Python program.

    After 1,000 errors the rest is not built.
    """
    context = Context(file.source, Scope({**base_names(), **names}), is_python)
    module: IRModule | None = None
    with suppress(TooManyErrors):
        module = ModuleBuilder(context, file).build()
    diagnostics = (*context.diagnostics, *context.warnings)
    return (None if any(diagnostic.severity == "error" for diagnostic in diagnostics) else module), diagnostics


class ModuleBuilder:
    """The builder of one text."""

    def __init__(self, context: Context, file: syntax.File) -> None:
        self.context = context
        self.file = file
        self.name = ""
        self.attrs: Attrs = {}
        self.functions: dict[str, BaseFunc] = {}
        self.comments: list[str] = []
        """Comments of statements that do not become part of the module, such as imports."""
        self.parts: list[tuple[str, Trivia]] = []
        """Comments of attributes and global infos, which are kept in the module."""
        self.places: dict[str, syntax.Name] = {}
        """The first definition of each function's name."""
        self.schedules: dict[str, Node] = {}
        self.constants: dict[str, syntax.Expr] = {}
        """The first assignment to each constant."""
        self.wrong: set[str] = set()
        """Names of functions with errors of their own, to which schedules may refer."""
        self.kinds: dict[int, str] = {}
        """The kind of each definition, by identity."""

    def build(self) -> IRModule:
        """Build the whole file."""
        context, file = self.context, self.file
        self.check_version()
        others = self.shared(file.body)
        modules = [node for node in others if isinstance(node, syntax.Definition) and self.kind(node) == _MODULE]
        others = [node for node in others if node not in modules]
        span, trivia = None, None
        if modules:
            self._check_single(modules, others)
            span, trivia = context.span(modules[0]), modules[0].trivia
            self.open(modules[0])
            self.body(modules[0].body)
        else:
            self.body(others)
        return IRModule(
            self.functions, self.attrs, context.global_infos, self.name,
            self.trivia(trivia), self.schedules, span=span,
        )  # fmt: skip

    def open(self, module: syntax.Definition) -> None:
        """Define the names of the module."""
        self.name = module.name
        for name in (self.name, "cls"):
            self.context.scope.define(name, ModuleReference(self.name))

    def shared(self, statements: Sequence[syntax.Stmt]) -> list[syntax.Stmt]:
        """Build the statements of a text outside its module that all its functions share; return the others."""
        others: list[syntax.Stmt] = []
        for statement in statements:
            if (name := type_variable(statement)) is not None:
                self.context.type_variables.append(name)
                self.comments += comments_of(statement.trivia)
            elif isinstance(statement, syntax.Import | syntax.Assign) or _is_text(statement):
                with self.context.recover():
                    self.statement(statement)
            elif isinstance(statement, syntax.Definition) and self.kind(statement) in MACROS:
                self.define_macro(statement)
            else:
                others.append(statement)
        return others

    def check_version(self) -> None:
        """Report E0022 if the text names another version of the language."""
        for line in self.file.header:
            found = _VERSION.match(line)
            if found and found[1].lstrip("0") != str(VERSION):
                start = self.context.source.text.find(line)
                place = syntax.Name(line, start=start, end=start + len(line))
                message = f"version {found[1][:20]} of the language is not supported"
                self.context.error("E0022", message, place, f"change this line to `#tvms {VERSION}`")

    def _check_single(self, modules: Sequence[syntax.Definition], others: Sequence[syntax.Stmt]) -> None:
        context = self.context
        first = Note("the first module is here", context.span(_name(modules[0])))
        for module in modules[1:]:
            context.error(
                "E0108",
                f"the file defines a second module, '{module.name}'",
                _name(module),
                "move it to another file",
                first,
            )
        for statement in others:
            help = "move it into the module, or to another file"
            context.error("E0108", "this is outside the module", statement, help)

    def body(self, statements: Sequence[syntax.Stmt]) -> None:
        """Declare all functions, then build them and the schedules."""
        definitions: list[syntax.Definition] = []
        for statement in statements:
            with self.context.recover():
                if isinstance(statement, syntax.Definition) and self.kind(statement) in MACROS:
                    self.define_macro(statement)
                elif isinstance(statement, syntax.Definition):
                    self.wrong.add(statement.name)
                    if self.kind(statement) is not None:
                        definitions.append(statement)
                        self.wrong.discard(statement.name)
                else:
                    self.statement(statement)
        for name in self.file.broken:
            self.declare(name, GlobalVar(name))
        self.wrong |= set(self.file.broken)
        self.context.wrong_functions |= self.wrong
        self.context.has_misnamed = self.file.has_unnamed
        for definition in definitions:
            known = self.kinds[id(definition)] == _PRIM_FUNC
            if known:
                self.declare(definition.name, declare_prim_func(self.context, definition))
        for definition in definitions:
            if self.kinds[id(definition)] == _FUNCTION:
                info = relax_function.declare_function(self.context, definition)
                if info is None:
                    self.context.wrong_functions.add(definition.name)
                self.declare(definition.name, GlobalVar(definition.name, struct_info=info))
        for definition in definitions:
            if self.kinds[id(definition)] not in SCHEDULES:
                self.define(definition)
        self.functions |= self.context.generated.functions
        loops = {item.name for item in definitions if self.kinds[id(item)] == _PRIM_FUNC}
        self.wrong |= loops - self.functions.keys()
        for definition in definitions:
            if self.kinds[id(definition)] in SCHEDULES:
                self.define_schedule(definition)

    def declare(self, name: str, reference: GlobalVar) -> None:
        """Define `Module.name`, and plain `name`, as a function."""
        self.context.globals[name] = reference
        self.context.scope.define(name, reference)

    def define(self, definition: syntax.Definition) -> None:
        """Build one function; report E0104 if its name is taken."""
        context, name = self.context, definition.name
        first = self.places.setdefault(name, _name(definition))
        if first.start != definition.name_start:
            note = Note("the first one is here", context.span(first))
            context.error("E0104", f"two functions are called '{name}'", _name(definition), "rename one of them", note)
            context.has_misnamed = True
        build = build_prim_func if self.kinds[id(definition)] == _PRIM_FUNC else relax_function.build_function
        with context.recover():
            function = self.functions.setdefault(name, build(context, definition))
            if context.is_python and isinstance(function, relax.Function) and definition.returns is None:
                self.declare(
                    name, GlobalVar(name, struct_info=function.struct_info)
                )  # later calls know the inferred type

    def define_schedule(self, definition: syntax.Definition) -> None:
        """Build one schedule; report E0104 if its name is taken."""
        from .schedules import build_function, build_schedule, define

        context, name = self.context, definition.name
        if name in self.schedules:
            note = Note("the first one is here", self.schedules[name].span)
            context.error("E0104", f"two schedules are called '{name}'", _name(definition), "rename one of them", note)
        with context.recover():
            functions = {name for name, func in self.functions.items() if isinstance(func, PrimFunc)} | self.wrong
            is_function = self.kinds[id(definition)] == "S.function"
            made = (
                build_function(context, definition) if is_function else build_schedule(context, definition, functions)
            )
            self.schedules.setdefault(name, made)
            define(context, name, made)

    def statement(self, node: syntax.Stmt) -> None:
        """Build a statement of the module itself: attributes, global infos, an external function, a constant."""
        context = self.context
        if isinstance(node, syntax.Import | syntax.Pass) or _is_text(node):
            self.comments += comments_of(node.trivia)
            return define_imports(context, node) if isinstance(node, syntax.Import) else None
        value: Any = self.value_of(node.value) if isinstance(node, syntax.ExprStmt | syntax.Assign) else None
        if (
            isinstance(node, syntax.Assign)
            and isinstance(node.target, syntax.Name)
            and isinstance(value, relax.ExternFunc)
        ):
            self.functions[node.target.id] = replace(value, trivia=node.trivia)
            return self.declare(node.target.id, GlobalVar(node.target.id, struct_info=value.struct_info))
        if isinstance(node, syntax.Assign) and _is_plain(value) and not isinstance(node.target, syntax.Subscript):
            self.comments += comments_of(node.trivia)
            return self.define_constant(node, value)
        form_name = _form_name(node)
        if form_name == "I.module_attrs":
            self.attrs = {**self.attrs, **value}
        elif form_name == "I.module_global_infos":
            context.global_infos = {**context.global_infos, **value}
        else:
            help = "use functions, macros, plain constants, I.module_attrs and I.module_global_infos"
            raise context.error("E0106", "this statement is not allowed in a module", node, help)
        if node.trivia is not None:
            self.parts.append((form_name.removeprefix("I."), node.trivia))
        return None

    def value_of(self, node: syntax.Expr) -> Any:
        """Return the value of an expression in the module; only attributes and types may hold graph-level values."""
        called = evaluate(self.context, node.func) if isinstance(node, syntax.Call) else None
        if isinstance(node, syntax.Call) and isinstance(called, Form) and called.name in _OF_GRAPHS:
            return _OF_GRAPHS[called.name](self.context, node)
        return evaluate(self.context, node)

    def define_constant(self, node: syntax.Assign, value: Any) -> None:
        """Define a plain value in all functions; report E0209 if a name gets a second value."""
        context = self.context
        for name in target_names(node.target):
            first = self.constants.setdefault(name, node.target)
            if first is not node.target:
                note = Note("its first value is here", context.span(first))
                context.error("E0209", f"constant '{name}' is assigned twice", node.target, "rename one of them", note)
        define(context, node.target, value)

    def define_macro(self, definition: syntax.Definition) -> None:
        """Define a macro in all functions."""
        self.comments += comments_of(definition.trivia)
        with self.context.recover((definition.name,)):
            define_macro(self.context, definition)

    def kind(self, definition: syntax.Definition) -> str | None:
        """Return the form that opens a definition; report a head that opens none, and return None."""
        context, head = self.context, definition.head
        found = self.kinds.get(id(definition))
        if found is not None:
            return found
        try:
            if head is None:
                what = "@I.ir_module" if definition.params is None else "@T.prim_func or @R.function"
                message = f"definition '{definition.name}' has no decorator"
                raise context.error("E0107", message, _name(definition), f"write {what} above it")
            value = opener(context, head)
            known = value.name if isinstance(value, Form) else None
            if known not in (_MODULE, _PRIM_FUNC, _FUNCTION, *SCHEDULES, *MACROS):
                help = "use T.prim_func, R.function, T.macro, R.macro, S.schedule or I.ir_module"
                raise context.error("E0107", f"{describe(value)} does not open a definition", head, help)
        except Failed:
            context.scope.define(definition.name, POISON)
            return None
        if (definition.params is None) != (known == _MODULE):
            if known == _MODULE:
                code, what, written = "E0023", "a module takes no parameters", definition.name
            else:
                code, what, written = "E0021", "a function needs parameters in parentheses", f"{definition.name}()"
            context.error(code, what, _name(definition), f"write {known} {written}:")
        self.kinds[id(definition)] = known
        return known

    def trivia(self, trivia: Trivia | None) -> Trivia | None:
        """Return the comments of the module, with those at the top and the bottom of the file."""
        header = tuple(line for line in self.file.header if not _VERSION.match(line))
        unused = (comment for comments in self.context.unused_comments.values() for comment in comments)
        return with_comments(trivia, (*header, *self.comments, *unused), self.file.footer, self.parts)


def _name(definition: syntax.Definition) -> syntax.Name:
    return syntax.Name(definition.name, start=definition.name_start, end=definition.name_end)


def _is_plain(value: Any) -> bool:
    """Return whether a value is known when the text is read, so that a file can name it, as a number or a lambda."""
    if is_tuple(value):
        return all(_is_plain(element) for element in value)
    return value is None or isinstance(value, bool | int | float | str | tir.IntImm | tir.FloatImm | Closure | Form)


def _is_text(node: syntax.Stmt) -> bool:
    return isinstance(node, syntax.ExprStmt) and isinstance(node.value, syntax.Constant)


def _form_name(node: syntax.Stmt) -> str | None:
    """Return "I.module_attrs" for `I.module_attrs(…)`, also if `I` has another name in the text."""
    call = node.value if isinstance(node, syntax.ExprStmt) else None
    if isinstance(call, syntax.Call) and isinstance(call.func, syntax.Attribute):
        return f"I.{call.func.attr}"
    return None
