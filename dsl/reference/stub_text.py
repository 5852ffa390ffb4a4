"""Text of stub files (`.pyi`): imports, types and definitions of functions."""

from __future__ import annotations

import builtins
import inspect
import keyword
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, cast

Parameter = inspect.Parameter


class Stub:
    """A stub file in the making: the modules that it imports, and its lines."""

    def __init__(self, doc: str) -> None:
        self.lines: list[str] = []
        self._doc = doc
        self._modules: set[str] = set()

    def named(self, path: str) -> str:
        """Return the text of a name with its module, "tvms.ir.relax.Expr", and import the module."""
        self._modules.add(path.rpartition(".")[0])
        return path

    def builtin(self, name: str) -> str:
        """Return the text of a builtin type; a module may define a function of the same name."""
        return self.named(f"builtins.{name}")

    def export(self, module: str, name: str) -> None:
        """Add a name that is defined in another module."""
        self.lines.append(f"from {module} import {name} as {name}")

    def define(
        self,
        name: str,
        signature: inspect.Signature,
        annotations: Mapping[str, str],
        result: str,
        doc: str,
        indent: str = "",
    ) -> None:
        """Add a function; a parameter without a text in `annotations` may be anything.

        An indented one is a member of a class, and a static method if its first parameter is not `self`.
        """
        parameters = list(signature.parameters.values())
        shown = [self._parameter(parameter, annotations) for parameter in parameters]
        first = next((i for i, parameter in enumerate(parameters) if parameter.kind is Parameter.KEYWORD_ONLY), None)
        if first is not None and not any(parameter.kind is Parameter.VAR_POSITIONAL for parameter in parameters):
            shown.insert(first, "*")
        head = f"{indent}def {name}({', '.join(shown)}) -> {result}:"
        if indent and "self" not in signature.parameters:
            self.lines.append(f"{indent}@{self.named('builtins.staticmethod')}")
        body = docstring(doc, f"{indent}    ")
        self.lines += [f"{head} ..."] if body is None else [head, body]

    def _parameter(self, parameter: Parameter, annotations: Mapping[str, str]) -> str:
        stars = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        name = f"{parameter.name}_" if keyword.iskeyword(parameter.name) else parameter.name
        if name == "self" and name not in annotations:
            return name
        default = "" if parameter.default is Parameter.empty else f" = {literal(parameter.default)}"
        return f"{stars}{name}: {annotations.get(parameter.name) or self.named('typing.Any')}{default}"

    @property
    def imports(self) -> list[str]:
        """The lines that import the modules of its types."""
        return [f"import {module}" for module in sorted(self._modules)]

    def text(self) -> str:
        """Return the file."""
        return "\n".join([f'"""{self._doc}"""', "", *self.imports, *self.lines, ""])


def literal(value: object) -> str:
    """Return the text of a default; `...` if it has none."""
    is_plain = value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and value == value)
    return repr(value) if is_plain and "inf" not in repr(value) else "..."


def docstring(doc: str, indent: str) -> str | None:
    """Return a docstring as indented lines, None for an empty one."""
    lines = inspect.cleandoc(doc).replace("\\", "\\\\").replace('"""', r"\"\"\"").splitlines()
    if not lines:
        return None
    if lines[-1].endswith('"'):
        lines[-1] += " "
    filled = [lines[0], *(f"{indent}{line}".rstrip() for line in lines[1:])]
    end = [f'{indent}"""'] if len(lines) > 1 else []
    return f'{indent}"""' + "\n".join([*filled, *end]) + ('"""' if len(lines) == 1 else "")


def annotations_of(function: Callable[..., Any], stub: Stub) -> dict[str, str]:
    """Return the texts of the annotations of a function, also of "return"; empty if they cannot be evaluated."""
    try:
        hints = typing.get_type_hints(function)
    except (NameError, TypeError, AttributeError):
        return {}
    return {name: type_text(hint, stub) for name, hint in hints.items()}


def type_text(hint: Any, stub: Stub) -> str:
    """Return the text of a type; `Any` for one that cannot be named from outside its module."""
    if hint is None or hint is type(None):
        return "None"
    if hint is Ellipsis:
        return "..."
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return f"{stub.named('typing.Literal')}[{', '.join(map(repr, arguments))}]"
    if origin in (typing.Union, types.UnionType):
        return " | ".join(dict.fromkeys(type_text(argument, stub) for argument in arguments))
    if origin is not None and arguments:
        return _generic(origin, arguments, stub)
    if isinstance(hint, type):
        return _class_text(hint, stub)
    return stub.named("typing.Any")


def _generic(origin: Any, arguments: tuple[Any, ...], stub: Stub) -> str:
    def shown(argument: Any) -> str:
        is_list = isinstance(argument, list)
        return f"[{', '.join(map(shown, cast('list[Any]', argument)))}]" if is_list else type_text(argument, stub)

    if not isinstance(origin, type):
        return type_text(arguments[0], stub)
    return f"{_class_text(origin, stub)}[{', '.join(map(shown, arguments))}]"


def _class_text(kind: type, stub: Stub) -> str:
    module, name = kind.__module__, kind.__qualname__
    if module == "builtins" and hasattr(builtins, name):
        return stub.builtin(name)
    if vars(sys.modules.get(module, builtins)).get(name) is not kind or module.startswith("_"):
        return stub.named("typing.Any")
    return stub.named(f"{module}.{name}")
