"""TVMScript inside a Python program: `tvms.script` replaces `tvm.script`.

    from tvms.script import ir as I, tir as T

    @T.prim_func
    def double(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
        for i in range(128):
            with T.block("B"):
                vi = T.axis.spatial(128, i)
                B[vi] = A[vi] * T.float32(2)

`double` is a `tvms.PrimFunc`. A decorated function or class is never executed: its source is parsed as a text, in which
the surrounding values are known by name: numbers, strings, variables of `tvms.tir`, and also modules and functions, which are
called when the text is read (`R.const(np.eye(3))`, `R.emit_te(topi.add, x, y)`).
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import IntEnum
from functools import partial
from importlib import import_module
from inspect import isfunction
from types import FrameType
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from ...ir import relax as relax_nodes
from ...ir.api.constructor import Constructor
from ...ir.api.relax import struct_info
from ...ir.base import BaseFunc, GlobalVar, IRModule, Node, Source
from ...ir.building.values import apply, plain_nodes
from ...ir.diagnostics import TvmsError, error
from ...ir.dtype import is_dtype
from ...ir.ops.builtin import absent_device
from ...ir.ops.registry import find
from ...ir.passes.rewriter import refined_result
from ..builder.host import HostValue
from ..compatibility import TRUSTED, as_tvm_takes_them
from ..load import parse_source
from .host_expressions import as_factory, pyfunc, with_constants, without_pragmas, without_python_functions

_NAME = re.compile(r"[^\W\d]\w*")


class Dialect:
    """`I`, `T` or `R` in a Python program, or a member of one.

    Types are values, as in `R.Tensor((n, 784), "float32")` or `T.int64()`, and operators of `R` functions of values. Other uses in annotations and class bodies
    return the object itself: the source text has the meaning.
    """

    def __init__(self, letter: str, path: str = "") -> None:
        self.letter = letter
        self._path = path

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        path = f"{self._path}.{name}"
        if path in ("R.entry.StructInfoProxy", "R.entry.TypeProxy"):
            return Dialect
        if path == "R.rewriter":
            return _rewriter
        if path in ("T.macro", "T.inline", "R.macro"):
            return partial(_macro, self.letter)
        others = {"I.pyfunc": pyfunc, "I.meta_var": _META_VAR, **dict.fromkeys(_OPENERS, _opener)}
        others["T.meta_var"] = _META_VAR
        return others[path] if path in others else Dialect(self.letter, path)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        builder = import_module("tvms.script.ir_builder")
        operator = self._path.removeprefix("R.")
        if self.letter == "R" and builder.IRBuilder.is_in_scope() and operator in vars(builder.relax):
            return getattr(builder.relax, operator)(*args, **kwargs)
        if self.letter == "R" and find(f"relax.{operator}") is not None:
            return apply(operator, *args, **kwargs)
        if self._path == "R.call_packed":
            return builder.relax.call_packed(*args, **kwargs)
        with suppress(TvmsError, TypeError):
            return _make(self._path, args, kwargs)
        return _Called(self.letter, self._path)

    def as_struct_info(self) -> Any:
        """Return the struct info that a type means, as `R.Object` or `R.Tensor` without arguments (TVM: `StructInfoProxy`)."""
        return self()

    as_ty = as_struct_info
    """Name in TVM 0.27."""

    def __getitem__(self, key: Any) -> Dialect:
        return self

    __iter__ = None
    """Iteration is a TypeError; by `__getitem__` alone it would not end."""

    def __repr__(self) -> str:
        return self._path


class _Called(Dialect):
    """A call that has a meaning in a text only, such as `R.Tensor(("m", 4), "float32")`."""

    def as_struct_info(self) -> Any:
        return None


def _make(path: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the struct info, variable or constant that a call of `path` creates; raise TypeError for other calls."""
    from ...ir import te

    dialect, _, name = path.partition(".")
    if path in _STRUCT_INFOS:
        return _STRUCT_INFOS[path](*args, **kwargs)
    if dialect == "R" and (device := absent_device(name, args)) is not None:
        return device
    if path in _VALUES:
        module, _, name = f"tvms.{_VALUES[path]}".rpartition(".")
        return getattr(import_module(module), name)(*args, **kwargs)
    if dialect == "T" and is_dtype(name):
        return te.const(args[0], name) if args else te.var("v", name)
    if dialect == "T":
        function: Any = te.cast if name == "cast" else getattr(import_module("tvms.tir"), name, None)
        if isfunction(function) or isinstance(function, te.Reducer | Constructor):
            return cast("Any", function)(*args, **kwargs)
    raise TypeError(path)


def _tensor(shape: Any = None, dtype: str | None = None, vdevice: Any = None, ndim: int = -1) -> Node:
    """Return the struct info of `R.Tensor`; omitted arguments are unknown, and the dtype may be the only argument."""
    if isinstance(shape, str) and dtype is None:
        shape, dtype = None, shape
    return struct_info.TensorStructInfo(shape, dtype or "void", vdevice, ndim)


def _tuple(*fields: Any) -> Node:
    """Return the struct info of `R.Tuple`, given fields or a list of them."""
    is_list = len(fields) == 1 and isinstance(fields[0], list | tuple)
    return struct_info.TupleStructInfo(cast("Sequence[Any]", fields[0] if is_list else fields))


class _Definition:
    """A decorated function in the body of a class, which may be a module; an access to it parses the function alone."""

    def __init__(self, definition: Any, names: Mapping[str, Any]) -> None:
        self._definition = definition
        self._names = names

    def __get__(self, instance: object, owner: type | None = None) -> Node:
        return from_source(self._definition, self._names)


def from_source(program: Any, extra_vars: Mapping[str, Any] | None = None, check_well_formed: bool = True) -> Any:
    """Return the IRModule or the single function that a text, a class or a function defines.

    `extra_vars` are values that the text may mention: plain ones, and variables of `tvms.tir`.

    The result of a graph function of a class or function has its inferred type, if that is more precise than the declared one.

    Raise TvmsError with all errors, and E0019 if the source of a class or function is not available.
    Source: tvm.script.from_source.
    """
    is_python = not isinstance(program, str)
    source = _source_of(program) if is_python else Source("<string>", program)
    return _read(source, extra_vars or {}, check_well_formed, is_python)


def undecorated_prim_func(definition: Any, check_well_formed: bool = True) -> Any:
    """Return the loop function that a Python function without a decorator defines. Its source is read like that of
    `@T.prim_func`, with the names of its file.
    """
    source = _source_of(definition)
    lines = source.text.splitlines(keepends=True)
    first = inspect.getsourcelines(definition)[1] - 1
    lines[max(first - 1, 0)] = "@T.prim_func\n"
    decorated = Source(source.name, "".join(lines))
    return _read(decorated, inspect.unwrap(definition).__globals__, check_well_formed, is_python=True)


def _read(source: Source, extra_vars: Mapping[str, Any], check_well_formed: bool, is_python: bool) -> Any:
    constants: dict[str, Any] = {}
    if is_python:
        source, extra_vars = with_macros(without_pragmas(source), extra_vars)
        source, constants = with_constants(source, extra_vars)
    values = _values(source.text, {**extra_vars, **constants}, is_python)
    module = parse_source(source, values, is_python=is_python)
    if is_python:
        module = replace(module, functions={name: _refined(func) for name, func in module.functions.items()})
    if check_well_formed:
        from ...ir.verify import verify

        others = [f"the module has no function '{value}'" for value in values.values() if isinstance(value, GlobalVar)]
        errors = [item for item in as_tvm_takes_them(verify(module), TRUSTED) if item.severity == "error"]
        found = [item for item in errors if module.name or item.message not in others]  # a function may call others
        if found:
            raise TvmsError(found)
    return module if module.name else _only(module)


def _refined(function: BaseFunc) -> BaseFunc:
    """Return a graph function with the inferred type of its result where that is more precise (TVM: the constructor of `Function`)."""
    return refined_result(function) if isinstance(function, relax_nodes.Function) else function


def _only(module: IRModule) -> IRModule | BaseFunc:
    functions = list(module.functions.values())
    return functions[0] if len(functions) == 1 and not module.schedules else module


def _source_of(definition: Any) -> Source:
    """Return the source of a class or function, with its lines numbered as in its file."""
    try:
        lines, first = inspect.getsourcelines(definition)
        name = inspect.getsourcefile(definition) or "<string>"
    except (OSError, TypeError):
        name = getattr(definition, "__name__", repr(definition))
        help = "write it to a file, or give its text to tvms.parse"
        raise error("E0019", f"the source of '{name}' is not available", help=help) from None
    return without_python_functions(definition, Source(name, "\n" * (first - 1) + textwrap.dedent("".join(lines))))


def _values(text: str, names: Mapping[str, Any], is_python: bool) -> dict[str, Any]:
    """Return those of `names` that the text mentions, as values of the builders; for a text alone, only plain ones."""
    mentioned = {name: names[name] for name in set(_NAME.findall(text)) & names.keys()}
    found = {name: _host_value(value) if is_python else _value(value) for name, value in mentioned.items()}
    return {name: value for name, value in found.items() if value is not NotImplemented}


def _host_value(value: Any) -> Any:
    """Return a Python value as a value of the builders, wrapped if there is no equivalent."""
    found = _value(value)
    return HostValue(value, _host_value) if found is NotImplemented else found


def _value(value: Any) -> Any:
    """Return a Python value as a value of the builders; NotImplemented if there is no equivalent."""
    from ..builder.forms import NAMESPACES, Namespace
    from ..builder.macros import Captured

    if isinstance(value, Dialect):
        found: Any = NAMESPACES[value.letter]
        for part in str(value).split(".")[1:]:
            found = found.members.get(part) if isinstance(found, Namespace) else None
        return Namespace(str(value), {}) if found is None else found
    if value is _opener:  # `tvm.script.ir_module`
        return NAMESPACES["I"].members["ir_module"]
    operator: Any = getattr(value, "operator", None) if callable(value) else None
    if isinstance(operator, str):
        return _value(Dialect("R", f"R.{operator}"))
    if isinstance(value, Macro):
        around = {name: known for name, known in value.names.items() if not isinstance(known, Macro)}
        return Captured(_values(value.source.text, around, True))
    value = plain_nodes(value)
    if isinstance(value, IntEnum):
        return int(value)
    if value is None or isinstance(value, bool | int | float | str | Node):
        return value
    if isinstance(value, list | tuple):
        elements = tuple(_value(element) for element in cast("Sequence[Any]", value))
        return NotImplemented if NotImplemented in elements else elements
    if isinstance(value, dict):
        items = {key: _value(item) for key, item in cast("dict[Any, Any]", value).items()}
        return NotImplemented if NotImplemented in items.values() else items
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return value.item()
    return NotImplemented


def _names_around(frame: FrameType) -> dict[str, Any]:
    """Return the names visible at a decorator: those of its scope, of the scope around its class, and of its file."""
    names, around = dict(frame.f_locals), frame
    while _is_class_body(around) and around.f_back is not None:
        around = around.f_back
        names = {**around.f_locals, **names}
    return {**around.f_globals, **names}


def _is_class_body(frame: FrameType) -> bool:
    return "__qualname__" in frame.f_locals and "__module__" in frame.f_locals


def _opener(definition: Any = None, *, check_well_formed: bool = True, **options: Any) -> Any:
    """Open a definition, as a decorator with or without arguments: `@T.prim_func`, `@T.prim_func(private=True)`."""
    frame: FrameType = sys._getframe(1)  # type: ignore[reportPrivateUsage]

    def open_definition(definition: Any) -> Any:
        names = _names_around(frame)
        if _is_class_body(frame):
            return _Definition(definition, names)
        return as_factory(definition, from_source(definition, names, check_well_formed))

    return open_definition if definition is None else open_definition(definition)


def _macro(letter: str, definition: Any = None, **options: Any) -> Any:
    """Keep a function as a macro, as a decorator with or without arguments; the text says whether it is hygienic."""
    names = _names_around(sys._getframe(1))  # type: ignore[reportPrivateUsage]

    def keep(definition: Any) -> Macro:
        return Macro(definition.__name__, letter, _source_of(definition), names)

    return keep if definition is None else keep(definition)


_REWRITER = re.compile(r"@\s*[\w.]*\brewriter\b")


def _rewriter(definition: type) -> Any:
    """Return the rewriter that a decorated class of functions describes (TVM: `R.rewriter`): PatternMatchingRewriter."""
    names = _names_around(sys._getframe(1))  # type: ignore[reportPrivateUsage]
    source = _source_of(definition)
    text = _REWRITER.sub("@I.ir_module", source.text, count=1)
    module = _read(Source(source.name, text), names, True, is_python=True)
    return import_module("tvms.relax.dpl").PatternMatchingRewriter.from_module(module)


_OPENERS = ("I.ir_module", "T.prim_func", "R.function")
_STRUCT_INFOS: dict[str, Callable[..., Node]] = {
    "R.Tensor": _tensor,
    "R.Shape": struct_info.ShapeStructInfo,
    "R.Tuple": _tuple,
    "R.Prim": struct_info.PrimStructInfo,
    "R.Object": struct_info.ObjectStructInfo,
    "R.Any": struct_info.ObjectStructInfo,
    "R.Callable": struct_info.FuncStructInfo,
}
_VALUES = {
    "I.vdevice": "ir.VDevice",
    "R.const": "relax.const",
    "R.cpu": "cpu",
    "R.cuda": "cuda",
    "R.device": "device",
    "R.dtype": "relax.DataTypeImm",
    "R.prim_value": "relax.PrimValue",
    "R.shape": "relax.ShapeExpr",
    "R.str": "relax.StringImm",
    "T.iter_var": "dsl.builder.tir_scopes.iterator",
}
"""Forms that are values, and the functions of `tvms` that make them."""
_META_VAR = Dialect("T", "T.meta_var")
"""`I.meta_var` and `T.meta_var`, which are one object."""
ir, tir, relax = Dialect("I", "I"), Dialect("T", "T"), Dialect("R", "R")
tirx = tir
"""Name of `tir` in TVM 0.27."""
ir_module = _opener
_USERS = {"T": "T.prim_func", "R": "R.function"}


class Macro(Struct, frozen=True, eq=False):
    """A function decorated with `@T.macro` or `@R.macro`, whose text joins those of the definitions that use it."""

    name: str
    letter: str
    source: Source
    """Its text, with the lines of its file."""
    names: Mapping[str, Any]
    """The names around it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"'{self.name}' is a macro: use it in a function decorated with {_USERS[self.letter]}")


def with_macros(source: Source, names: Mapping[str, Any]) -> tuple[Source, dict[str, Any]]:
    """Return `source` with the texts of the macros that it uses, and `names` with those that the macros use.

    A macro of the same file keeps its lines if they are above the definition; others come first.
    """
    used = _used(source, names)
    if not used:
        return source, dict(names)
    lines = source.text.split("\n")
    first = next(number for number, line in enumerate(lines) if line.strip())
    before: list[str] = []
    found: dict[str, Any] = {}
    for macro in used:
        found = {**macro.names, **found}
        text = macro.source.text.split("\n")
        start = next(number for number, line in enumerate(text) if line.strip())
        if macro.source.name == source.name and len(text) <= first and not any(lines[start : len(text)]):
            lines[start : len(text)] = text[start:]
        else:
            before += text[start:]
    return Source(source.name, "\n".join([*before, *lines])), {**found, **names}


def _used(source: Source, names: Mapping[str, Any]) -> list[Macro]:
    """Return the macros that a text uses, also by other macros, each before those that use it."""

    def below(text: str, known: Mapping[str, Any]) -> Iterator[Macro]:
        for name in dict.fromkeys(_NAME.findall(text)):
            macro = known.get(name)
            if isinstance(macro, Macro) and macro not in seen:
                seen.append(macro)
                yield from below(macro.source.text, macro.names)
                yield macro

    seen: list[Macro] = []
    return list(below(source.text, names))
