"""Stubs of `tvms.script`: the forms of `I`, `T` and `R` as functions, and those that name types as classes."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from ...ir.dtype import is_dtype
from ...ir.ops.registry import relax_ops
from ..builder.forms import NAMESPACES, Form, Namespace
from .catalogue import Entry, forms
from .stub_declared import define_operator, typed
from .stub_text import Stub, docstring

_VAR, _EXPR, _VALUE = "tvms.ir.tir.Var", "tvms.ir.tir.PrimExpr", "tvms.ir.relax.Expr"
_ARGUMENTS = {
    "Flag": "bool",
    "Text": "str",
    "DTypeName": "str",
    "Integer": f"int | {_EXPR}",
    "PrimExpr": f"{_EXPR} | float",
    "Operand": f"{_EXPR} | float",
    "Shape": f"Sequence[int | {_EXPR}] | int | {_EXPR}",
    "Var": _VAR,
    "text": "str",
    "float": f"{_EXPR} | float",
    "int": f"{_EXPR} | int",
    "index": f"{_EXPR} | int",
}
"""Types of arguments by what a form calls them."""

_RESULTS = {
    "tir.PrimExpr": _EXPR,
    "tir.Var": _VAR,
    "tir.Call": "tvms.ir.tir.Call",
    "tir.BufferLoad": "tvms.ir.tir.BufferLoad",
    "tir.Buffer": "Buffer",
    "tir.Buffer | Frame": "Buffer",
    "LoopFrame": f"Iterator[{_VAR}]",
    "BlockFrame": "AbstractContextManager[None]",
    "InitFrame": "AbstractContextManager[None]",
    "None": "None",
    "str": "str",
}
"""Types of results by what a form builds; others may be anything."""

_FORMS = {
    "T.grid": "Any",
    "T.alloc_buffer": "Buffer",
    "R.dataflow": "AbstractContextManager[None]",
    "R.const": "tvms.ir.relax.Constant",
    "R.shape": "tvms.ir.relax.ShapeExpr",
    "R.ShapeExpr": "tvms.ir.relax.ShapeExpr",
    "R.prim_value": "tvms.ir.relax.PrimValue",
    "R.str": "tvms.ir.relax.StringImm",
    "R.dtype": "tvms.ir.relax.DataTypeImm",
    "R.tuple": "tvms.ir.relax.Tuple",
    "R.TupleGetItem": "tvms.ir.relax.TupleGetItem",
    "R.emit_te": _VALUE,
    "R.call_packed": _VALUE,
    "R.match_cast": _VALUE,
}
"""Types of results of single forms."""

_TYPES = {
    "T.Buffer": "tvms.ir.tir.Buffer",
    "T.handle": _VAR,
    "R.Tensor": f"{_VALUE}, tvms.ir.relax.TensorStructInfo",
    "R.Shape": f"{_VALUE}, tvms.ir.relax.ShapeStructInfo",
    "R.Tuple": f"{_VALUE}, tvms.ir.relax.TupleStructInfo",
    "R.Callable": f"{_VALUE}, tvms.ir.relax.FuncStructInfo",
    "R.Object": f"{_VALUE}, tvms.ir.relax.ObjectStructInfo",
    "R.Any": f"{_VALUE}, tvms.ir.relax.ObjectStructInfo",
    "R.Prim": f"{_VALUE}, tvms.ir.relax.PrimStructInfo",
}
"""Forms that are types of parameters, and the classes of which a parameter is an instance."""

_DEFINES = {
    "I.ir_module": ("type", "tvms.ir.base.IRModule"),
    "T.prim_func": ("Callable[..., Any]", "tvms.ir.tir.PrimFunc"),
    "R.function": ("Callable[..., Any]", "tvms.ir.relax.Function"),
    "T.macro": ("Callable[..., Any]", "Callable[..., Any]"),
    "T.inline": ("Callable[..., Any]", "Callable[..., Any]"),
    "R.macro": ("Callable[..., Any]", "Callable[..., Any]"),
}
"""Forms that are decorators: what they take and return."""

_OPTIONS = {
    "T.macro": "hygienic: bool = True",
    "T.inline": "hygienic: bool = True",
    "R.macro": "hygienic: bool = True",
    "I.ir_module": "check_well_formed: bool = True",
}
_SETS = """
    def __getitem__(self, indices: Any) -> Any: ...
    def __setitem__(self, indices: Any, value: Any) -> None: ..."""


def script_stub(letter: str) -> str:
    """Return the stub of `tvms.script.tir` (T), `relax` (R) or `ir` (I)."""
    stub = Stub(f"`{letter}` of TVMScript. Generated from the declarations of the forms; do not edit.")
    members: dict[str, Any] = {}
    for path, entry in forms().items():
        if path.startswith(f"{letter}."):
            _put(members, path.split(".")[1:], entry)
    if letter == "R":
        for name in relax_ops():
            _put(members, name.split(".")[1:], name.removeprefix("relax."))
    if letter == "R":
        stub.lines.append(
            f"def rewriter(definition: type, /) -> {typed('Any', stub)}: ...".replace(
                "type,", f"{stub.builtin('type')},"
            )
        )
    _define_all(stub, letter, members, "")
    return stub.text()


def _put(members: dict[str, Any], parts: list[str], value: Any) -> None:
    for part in parts[:-1]:
        members = members.setdefault(part, {})
    members.setdefault(parts[-1], value)


def _define_all(stub: Stub, path: str, members: Mapping[str, Any], indent: str) -> None:
    for name, member in members.items():
        full = f"{path}.{name}"
        if isinstance(member, dict):
            stub.lines += [f"{indent}class {name}:", f'{indent}    """Forms `{full}.*`."""']
            _define_all(stub, full, cast("dict[str, Any]", member), f"{indent}    ")
        elif isinstance(member, str):
            define_operator(stub, name, member, indent)
        elif full in _DEFINES:
            _define_decorator(stub, full, name, member)
        elif full in _TYPES or (not indent and is_dtype(name)):
            _define_type(stub, full, name, member)
        else:
            _define_form(stub, full, name, member, indent)


def _define_decorator(stub: Stub, path: str, name: str, entry: Entry) -> None:
    takes, result = (typed(text, stub) for text in _DEFINES[path])
    options = _OPTIONS.get(
        path, "private: bool = False, check_well_formed: bool = True, pure: bool = True, s_tir: bool = False"
    )
    takes = takes.replace("type", stub.builtin("type")) if takes == "type" else takes
    overload, options = f"@{stub.named('typing.overload')}", typed(options, stub)
    returned = f"{typed('Callable', stub)}[[{takes}], {result}]"
    body = docstring(entry.doc, "    ") or "    ..."
    stub.lines += [overload, f"def {name}(definition: {takes}, /) -> {result}:", body]
    stub.lines += [overload, f"def {name}(*, {options}) -> {returned}:", body]


def _define_type(stub: Stub, path: str, name: str, entry: Entry) -> None:
    bases = typed(_TYPES.get(path, _EXPR), stub)
    stub.lines += [f"class {name}({bases}):", docstring(entry.doc, "    ") or "    ..."]
    signature, annotations = _signature(path, entry, stub)
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = signature.replace(parameters=[own, *signature.parameters.values()])
    stub.define("__init__", signature, annotations, "None", "", "    ")
    if path == "T.Buffer":
        stub.lines += typed(_SETS, stub).strip("\n").split("\n")


def _define_form(stub: Stub, path: str, name: str, entry: Entry, indent: str) -> None:
    signature, annotations = _signature(path, entry, stub)
    form = _form(path)
    built = str(getattr(form.build, "__annotations__", {}).get("return")) if form else "Any"
    result = _FORMS.get(path) or _RESULTS.get(built, "Any")
    stub.define(name, signature, annotations, typed(result, stub), entry.doc, indent)


def _form(path: str) -> Form | None:
    letter, *parts = path.split(".")
    found: Any = NAMESPACES[letter]
    for part in parts:
        found = found.members.get(part) if isinstance(found, Namespace) else None
    return found if isinstance(found, Form) else None


def _signature(path: str, entry: Entry, stub: Stub) -> tuple[inspect.Signature, dict[str, str]]:
    """Return the signature that the reference shows, and the types of its parameters."""
    form = _form(path)
    known = (
        {}
        if form is None
        else {name.rstrip("_"): text for name, text in getattr(form.build, "__annotations__", {}).items()}
    )
    parameters, annotations = list[inspect.Parameter](), dict[str, str]()
    for argument, kind, default in _arguments(entry.arguments):
        kind_name = ast.unparse(argument.annotation) if argument.annotation else str(known.get(argument.arg, ""))
        text = _ARGUMENTS.get(kind_name.removesuffix(" | None"))
        is_optional = kind_name.endswith(" | None") or (isinstance(default, ast.Constant) and default.value is None)
        if text:
            annotations[argument.arg] = typed(f"{text} | None" if is_optional else text, stub)
        value = inspect.Parameter.empty if default is None else _value(default)
        parameters.append(inspect.Parameter(argument.arg, kind, default=value))
    return inspect.Signature(parameters), annotations


def _arguments(text: str) -> Iterator[tuple[ast.arg, Any, ast.expr | None]]:
    """Yield the parameters in "(a, b=1, *c, d=…)" with their kinds and defaults; one after a default may also be omitted."""
    kinds = inspect.Parameter
    text = text.replace("…", "...")
    try:
        found = ast.parse(f"def f{text}: ...").body[0]
    except SyntaxError:
        names = re.findall(r"[*]*\w+", text)
        found = ast.parse(f"def f({', '.join(name for name in names if not name[0].isdigit())}): ...").body[0]
    assert isinstance(found, ast.FunctionDef)
    arguments = found.args
    plain = [*arguments.posonlyargs, *arguments.args]
    missing = len(plain) - len(arguments.defaults)
    for index, argument in enumerate(plain):
        yield argument, kinds.POSITIONAL_OR_KEYWORD, arguments.defaults[index - missing] if index >= missing else None
    if arguments.vararg:
        yield arguments.vararg, kinds.VAR_POSITIONAL, None
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield argument, kinds.KEYWORD_ONLY, default
    if arguments.kwarg:
        yield arguments.kwarg, kinds.VAR_KEYWORD, None


def _value(default: ast.expr) -> Any:
    try:
        return ast.literal_eval(default)
    except ValueError:
        return ...
