"""What a name can denote besides a value: a dialect (`T`), a form in it (`T.grid`), a module, a lambda.

A form is declared once, by a typed Python function: `@form("T.where") def where(site: FormUse, predicate: Condition)`.
Its parameter names are TVM's; each annotation names a converter (`convert.CONVERTERS`) that checks the argument and
converts it to what the function expects. The binding of arguments and all messages about them follow from the
declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import CO_VARARGS, CO_VARKEYWORDS
from typing import Any, ClassVar, TypeVar

from msgspec import Struct

from ...ir import signature, tir
from ...ir.base import Span
from ...ir.dtype import current_dtype, is_dtype
from ...ir.signature import BadArguments, ParameterKind, Signature, describe, wrong_kind
from ...ir.spelling import did_you_mean
from .. import syntax
from . import remedies
from .context import Context, Failed, target_names
from .convert import CONVERTERS, Convert, Mismatch, converter
from .tir_frames import FunctionFrame

_COMMON_DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "bfloat16", "handle", "void",
)  # fmt: skip
_OTHER_DTYPES = {
    "float": "float32", "double": "float64", "half": "float16", "int": "int32", "long": "int64",
    "fp16": "float16", "fp32": "float32", "f16": "float16", "f32": "float32", "bf16": "bfloat16", "i32": "int32",
}  # fmt: skip
"""Names of dtypes in other languages."""
_Build = TypeVar("_Build", bound=Callable[..., Any])


class Namespace(Struct, frozen=True, eq=False):
    """A dialect or a part of one, such as `T` and `T.axis`, with its members by name."""

    name: str
    members: dict[str, Any]


class ModuleReference(Struct, frozen=True, eq=False):
    """The module under construction (`Module.f`, `cls.f`)."""

    name: str


class Closure(Struct, frozen=True, eq=False):
    """A lambda, and a function that evaluates its body for given values."""

    kind: ClassVar[str] = "a lambda"

    node: syntax.Lambda
    call: Callable[[Sequence[Any]], Any]


class MetadataTable(Struct, frozen=True, eq=False):
    """The value of the name `metadata`: `metadata["relax.expr.Constant"][0]` is an object that is printed elsewhere."""

    key: str | None = None


class Meta(Struct, frozen=True, eq=False):
    """A value that only gets another name (`x = T.meta_var(value)`)."""

    value: Any


class FormParameter(signature.Parameter, frozen=True, eq=False, kw_only=True):
    """A parameter of a form: its converter, and whether the argument may be None."""

    convert: Convert
    optional: bool = False


class Form(Struct, frozen=True, eq=False):
    """A form of the language. `build(site, *arguments)` returns the value of a call `T.name(…)`."""

    name: str
    build: Callable[..., Any]
    signature: Signature[FormParameter]

    def call(self, site: FormUse, values: Sequence[Any], nodes: Sequence[syntax.Expr], named: Named = ()) -> Any:
        """Bind arguments and build; a wrong argument is E0105 (number, name) or E0202 (kind).

        `values` are the evaluated positional arguments, `nodes` their expressions in the text.
        """
        given, positional, variadic = self.signature, self.signature.positional, self.signature.variadic
        if named or not len(values) == len(positional) == len(given.parameters):
            try:
                given.bind(self.name, values, [(keyword.name, value) for keyword, value in named])
            except BadArguments as wrong:
                at = wrong.at
                names = {keyword.name: keyword for keyword, _ in named}
                node = site.node if at is None else nodes[at] if isinstance(at, int) else names[at]
                raise site.context.error(
                    wrong.code, wrong.message, node, remedies.usage(self.name, at) or wrong.help
                ) from None
        arguments: list[Any] = []
        for index, (value, node) in enumerate(zip(values, nodes, strict=True)):
            parameter = positional[index] if index < len(positional) else variadic
            assert parameter is not None
            arguments.append(_converted(site, index, parameter, value, node))
        by_name: dict[str, Any] = {}
        for keyword, value in named:
            parameter = given.by_name.get(keyword.name, given.open)
            assert parameter is not None
            by_name[keyword.name] = _converted(site, None, parameter, value, keyword.value, keyword.name)
        return self.build(site, *arguments, **by_name)


class FormFamily(Form, frozen=True, eq=False):
    """A form with others below it, as `T.s_tir.cp_async_raw` has `T.s_tir.cp_async_raw.legacy`."""

    members: dict[str, Form]


Named = Sequence[tuple[syntax.Keyword, Any]]


class FormUse(Struct, frozen=True, eq=False):
    """The use of a form: the call, and the target that its value is assigned to."""

    context: Context
    node: syntax.Call | syntax.Expr
    name: str
    target: syntax.Expr | None = None

    @property
    def span(self) -> Span:
        return self.context.span(self.node)

    @property
    def function(self) -> FunctionFrame:
        """The enclosing loop function; E0201 if there is none."""
        if self.context.tir is None:
            other = f"R.{self.name.removeprefix('T.')}"
            help = remedies.step(self.name) or "open one with T.prim_func"
            help = f"write {other}" if remedies.is_form(other) else help
            raise self.error("E0201", f"{self.name} belongs in a loop function", help)
        return self.context.tir

    @property
    def first_name(self) -> str:
        """The name of the single value that the form creates; empty if it is not assigned."""
        names = target_names(self.target)
        return names[0] if names else ""

    def names(self, count: int, what: str, code: str = "E0204") -> list[str]:
        """Return the names of `count` values: those of the target; a single name for several values is numbered."""
        target = self.target
        if target is None:
            return [""] * count
        if isinstance(target, syntax.Name):
            return [target.id] if count == 1 else [f"{target.id}_{index}" for index in range(count)]
        elements = target.elements if isinstance(target, syntax.Tuple | syntax.List) else (target,)
        starred = [index for index, element in enumerate(elements) if isinstance(element, syntax.Starred)]
        names = list(target_names(target))
        if len(starred) == 1 and len(elements) - 1 <= count:
            spread = count - len(elements) + 1
            base = names[starred[0]]
            names[starred[0] : starred[0] + 1] = [f"{base}_{index}" for index in range(spread)]
        if len(names) != count:
            message = f"{what}, but binds {len(names)} name{'s' * (len(names) != 1)}"
            raise self.error(code, message, f"bind {count} name{'s' * (count != 1)}", target)
        return names

    def argument(self, name: str, index: int) -> syntax.Expr:
        """Return the expression of argument `name`, whose position is `index`."""
        if isinstance(self.node, syntax.Call):
            for keyword in self.node.keywords:
                if keyword.name == name:
                    return keyword.value
            if index < len(self.node.args):
                return self.node.args[index]
        return self.node

    def error(self, code: str, message: str, help: str | None = None, node: syntax.Syntax | None = None) -> Failed:
        """Record an error at `node`, or at the whole call; return the exception to raise."""
        return self.context.error(code, message, node or self.node, help)


@converter("DTypeName")
def dtype_name(value: Any, span: Span | None) -> str:
    """Return the name of a dtype that is given as a string or as `T.float32`."""
    name = value.name.removeprefix("T.") if isinstance(value, Form) else value
    if isinstance(name, str):
        name = current_dtype(name)
    if isinstance(value, tir.PrimType | tir.PointerType):
        name = value.dtype if isinstance(value, tir.PrimType) else "handle"
    if not isinstance(name, str) or not is_dtype(name):
        help = None
        if isinstance(name, str):
            help = f"write {_OTHER_DTYPES[name]}" if name in _OTHER_DTYPES else did_you_mean(name, _COMMON_DTYPES)
        elif isinstance(name, int | tir.PrimExpr):
            help = (
                'write a dtype, such as "float32": a shape is one tuple, as (16, 16), and T.Cast takes the dtype first'
            )
        raise Mismatch('a dtype, such as "float32"', help)
    return name


class Method(Struct, frozen=True, eq=False):
    """A form that is called as a method of a value: `A.vload(…)`."""

    form: Form
    receiver: Any


NAMESPACES: dict[str, Namespace] = {}
"""The dialects, by letter."""
remedies.FORMS.append(
    lambda: [f"{letter}.{member}" for letter, namespace in NAMESPACES.items() for member in namespace.members]
)


def register(name: str, value: Any) -> None:
    """Define the dotted `name`, such as "T.axis.spatial", as `value`."""
    *path, last = name.split(".")
    members = NAMESPACES.setdefault(path[0], Namespace(path[0], {})).members
    for index, part in enumerate(path[1:], 2):
        members = members.setdefault(part, Namespace(".".join(path[:index]), {})).members
    members[last] = value


def form(*names: str) -> Callable[[_Build], _Build]:
    """Declare the decorated function as the form `names[0]`, with the other names as aliases."""

    def declare(build: _Build) -> _Build:
        signature = signature_of(build)
        for name in names:
            register(name, Form(name, build, signature))
        return build

    return declare


def signature_of(build: Callable[..., Any]) -> Signature[FormParameter]:
    """Return the parameters of a form: names, defaults, and converters by the annotations of its function."""
    code, defaults = build.__code__, build.__defaults__ or ()
    keyword_defaults = build.__kwdefaults__ or {}
    names = code.co_varnames[1 : code.co_argcount]
    first_default = len(names) - len(defaults)
    parameters = [_parameter(build, name, index < first_default) for index, name in enumerate(names)]
    collecting = list(code.co_varnames[code.co_argcount + code.co_kwonlyargcount :])
    if code.co_flags & CO_VARARGS:
        parameters.append(_parameter(build, collecting.pop(0), False, "variadic"))
    for name in code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]:
        parameters.append(_parameter(build, name, name not in keyword_defaults, "named"))
    if code.co_flags & CO_VARKEYWORDS:
        parameters.append(_parameter(build, collecting.pop(0), False, "open"))
    return Signature(parameters)


def _parameter(build: Callable[..., Any], name: str, required: bool, kind: ParameterKind = "plain") -> FormParameter:
    annotation: str = build.__annotations__[name]
    known = annotation.removesuffix(" | None")
    return FormParameter(name.rstrip("_"), required, kind, convert=CONVERTERS[known], optional=known != annotation)


def _converted(
    site: FormUse, index: int | None, parameter: FormParameter, value: Any, node: syntax.Expr, name: str | None = None
) -> Any:
    if value is None and parameter.optional:
        return None
    try:
        return parameter.convert(value, Span(site.context.source, node.start, node.end))
    except Mismatch as mismatch:
        number = None if index is None else index + 1
        message = wrong_kind(site.name, number, name or parameter.name, mismatch.expected, describe(value))
        help = remedies.argument(site.name, name or parameter.name, value) or mismatch.help
        help = help or f"write {mismatch.expected}"
        raise site.context.error("E0202", message, node, help) from None
