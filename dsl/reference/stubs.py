"""Stub files of the public modules, for type checkers and editors: `tvms.relax`, `tvms.te`, `tvms.script`, ….

Names that a module defines in its own text are exported from it. Those that exist only at run time, from declarations, are
written out with their arguments and documentation.
"""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from ...ir import te
from ...ir.api.constructor import Constructor
from ...ir.api.topi.table import ROWS
from .stub_declared import define_operator, define_pass, define_topi, operator_of, primitive_methods
from .stub_script import script_stub
from .stub_text import Stub, annotations_of

_PUBLIC = {"tvms.ir.tir": "tvms.tir", "tvms.ir.relax": "tvms.relax"}
"""Modules of nodes: their stubs are their texts, with the constructors of the public modules. A program names a kind of node and
makes one by the same name, `relax.Var`, which there is one class."""

_OPEN = ("tvms.ir.api", "tvms.ir.backend", "tvms.ir.dpl", "tvms.ir.nn", "tvms.dsl.script")
"""Packages whose modules are public below their aliases."""

_SCRIPT = {"tvms.script.ir": "I", "tvms.script.relax": "R", "tvms.script.tir": "T"}
_HEAD = "Generated from the declarations; do not edit."

_RANKS = range(1, 7)
"""Numbers of axes for which checkers know the types of the parameters of a lambda in `te.compute`."""


def stub_files() -> dict[str, Callable[[], str]]:
    """Return the path of every stub file in the repository, and the function that returns its text."""
    found: dict[str, Callable[[], str]] = {
        "stubs/__init__.pyi": _facade,
        "stubs/ir/relax.pyi": lambda: node_stub("tvms.ir.relax"),
        "stubs/ir/schedule/primitive_methods.pyi": primitive_methods,
        "stubs/ir/tir.pyi": lambda: node_stub("tvms.ir.tir"),
    }
    for public in public_modules():
        found[f"stubs/{public.removeprefix('tvms.').replace('.', '/')}/__init__.pyi"] = lambda public=public: _stub(
            public
        )
    return found


@cache
def public_modules() -> dict[str, str]:
    """Return the real name of every public module, by its public name."""
    package = import_module("tvms")
    assert callable(package.compile)  # loads the compiler, which declares its passes
    aliases: dict[str, str] = package._FINDER.aliases
    found = dict(aliases)
    for real in {*aliases.values()}:
        if real.startswith(_OPEN):
            public = _shortest([name for name, target in aliases.items() if target == real])
            found = {f"{public}{rest}": f"{real}{rest}" for rest in _below(real)} | found
    found |= dict.fromkeys(_SCRIPT, "tvms.dsl.script")
    for public in list(found):
        while (public := public.rpartition(".")[0]) not in ("", "tvms", "tvms.ir"):
            if public not in found:
                found[public] = import_module(public).__name__
    for real in {*found.values()}:  # what some of them declare is part of others
        import_module(real)
    return dict(sorted(found.items()))


def _below(real: str) -> Iterator[str]:
    """Yield what follows `real` in the names of the public modules below it: ".op", ".op.nn"."""
    path = getattr(import_module(real), "__path__", None)
    for module in pkgutil.iter_modules(path) if path is not None and not isinstance(path, str) else ():
        if not module.name.startswith("_"):
            yield f".{module.name}"
            yield from (f".{module.name}{rest}" for rest in _below(f"{real}.{module.name}"))


def _first(public: str) -> str:
    """Return the name of the stub that defines what the module `public` contains: the shortest of its names."""
    real = public_modules()[public]
    names = [name for name, target in public_modules().items() if target == real and name not in _SCRIPT]
    return _shortest(names)


def _shortest(names: list[str]) -> str:
    return min(names, key=lambda name: (name.count("."), len(name), name))


def _facade() -> str:
    package, stub = import_module("tvms"), Stub(f"{import_module('tvms').__doc__}\n{_HEAD}")
    for name in package.__all__:
        place = package._PLACES[name]
        stub.lines.append(f"from tvms.{place.rpartition('.')[0]} import {place.rpartition('.')[2]} as {name}")
    stub.lines += [f"from tvms import {name} as {name}" for name in ("codegen", "dsl", "grammar", "ir")]
    stub.lines += _children("tvms")
    stub.lines.append(f"__version__: {stub.builtin('str')}")
    return stub.text()


def _children(public: str) -> list[str]:
    depth = public.count(".") + 1
    names = [
        name.rpartition(".")[2]
        for name in public_modules()
        if name.startswith(f"{public}.") and name.count(".") == depth
    ]
    return [f"from {public} import {name} as {name}" for name in names]


def _stub(public: str) -> str:
    if public in _SCRIPT:
        return script_stub(_SCRIPT[public])
    real, first = public_modules()[public], _first(public)
    stub = Stub(f"`{public}`. {_HEAD}")
    if real == "tvms.ir":
        stub.lines.append("from tvms.ir import *")
    elif first != public:
        stub.lines.append(f"from {first} import *")
    else:
        module = import_module(public)
        for name in _public_names(module):
            if f"{public}.{name}" not in public_modules():
                _add(stub, module, real, name)
    if real == "tvms.dsl.script":
        stub.lines.append("from tvms.script import tir as tirx")
    stub.lines += _children(public)
    return stub.text()


def _public_names(module: ModuleType) -> list[str]:
    """Return the names that a module offers: its own, the names in `__all__`, and the names made on demand."""
    bound, exported = _bindings(module.__name__), set[str](getattr(module, "__all__", ()))
    is_package = bool(getattr(module, "__path__", None))
    own = {
        name for name, kind in bound.items() if kind == "own" or (kind == "relative" and is_package and not exported)
    }
    dynamic = {name for name in dir(module) if name not in vars(module)} | _starred(module)
    return sorted(name for name in own | exported | dynamic if not name.startswith("_"))


def _starred(module: ModuleType) -> set[str]:
    is_starred = "*" in _bindings(module.__name__)
    return {name for name in vars(module) if name not in _bindings(module.__name__)} if is_starred else set()


@cache
def _bindings(real: str) -> dict[str, str]:
    """Return how the text of a module binds each name: "own", "relative" (an import inside tvms) or "foreign"."""
    file = getattr(import_module(real), "__file__", None)
    found: dict[str, str] = {}
    for node in ast.parse(Path(file).read_text(encoding="utf-8")).body if file else ():
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found[name] = "own"
            case ast.Assign(targets=targets):
                found |= {
                    part.id: "own" for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)
                }
            case ast.AnnAssign(target=ast.Name(id=name)):
                found[name] = "own"
            case ast.ImportFrom(names=names, level=level):
                for alias in names:
                    kind = "own" if alias.asname == alias.name else "relative" if level else "foreign"
                    found[alias.asname or alias.name] = kind
            case ast.Import(names=names):
                found |= {(alias.asname or alias.name).partition(".")[0]: "foreign" for alias in names}
            case _:
                pass
    return found


def _add(stub: Stub, module: ModuleType, real: str, name: str) -> None:
    """Add a name of a module: from where a text defines it, or with what is known of its value."""
    made = getattr(module, name, None)
    if made is te.compute:
        _define(stub, name, made, {"fcompute": _element(stub)})
        return
    if isinstance(made, Constructor) and name[0].isupper():
        (kind,) = made.kinds
        stub.lines.append(f"from {kind.__module__} import {kind.__name__} as {name}")
        return
    if _bindings(real).get(name) in ("own", "relative"):
        stub.export(real, name)
        return
    try:
        value = getattr(module, name)
    except AttributeError:  # left out, or of a package that is not installed
        return
    home = str(getattr(value, "__module__", ""))
    own = str(getattr(value, "__name__", ""))
    if isinstance(value, ModuleType) or (inspect.isclass(value) and not home.startswith("tvms.")):
        return
    if (
        home.startswith("tvms.")
        and home in sys.modules
        and own in _bindings(home)
        and vars(sys.modules[home])[own] is value
    ):
        stub.lines.append(f"from {home} import {own} as {name}")
    elif operator := operator_of(value):
        define_operator(stub, name, operator)
    elif real.startswith("tvms.ir.api.topi") and (row := f"nn.{name}" if real.endswith(".nn") else name) in ROWS:
        define_topi(stub, name, row)
    elif real == "tvms.ir.passes.catalogue":
        define_pass(stub, name, value)
    elif callable(value):
        _define(stub, name, value, {})
    else:
        stub.lines.append(f"{name}: {stub.named('typing.Any')}")


def _define(stub: Stub, name: str, value: Any, other: Mapping[str, str]) -> None:
    """Add a function with its annotations, or those in `other`."""
    annotations = {**annotations_of(value, stub), **other}
    result = annotations.get("return", "") or stub.named("typing.Any")
    stub.define(name, inspect.signature(value), annotations, result, inspect.getdoc(value) or "")


def _element(stub: Stub) -> str:
    """Return the type of a function from indices to an element: one row for each rank, from which the types of its parameters
    are inferred. The sources use functions of `*axes`, for which checkers infer no types, and declare any function.
    """
    function, index = stub.named("collections.abc.Callable"), stub.named("tvms.ir.tir.PrimExpr")
    anything = stub.named("typing.Any")
    ranks = [", ".join([index] * rank) for rank in _RANKS]
    return " | ".join([*(f"{function}[[{indices}], {anything}]" for indices in ranks), f"{function}[..., {anything}]"])


def node_stub(real: str) -> str:
    """Return the stub of a module of nodes."""
    module, public = import_module(real), import_module(_PUBLIC[real])
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    lines, stub = source.splitlines(), Stub("")
    for node in reversed(ast.parse(source).body):
        made: Any = getattr(public, node.name, None) if isinstance(node, ast.ClassDef) else None
        if isinstance(made, Constructor):
            end = node.end_lineno or node.lineno
            last = re.sub(r": \.\.\.$", ":", lines[end - 1])
            lines[end - 1 : end] = [last, *_members(stub, cast("Constructor[..., Any]", made))]
        elif isinstance(node, ast.ImportFrom) and node.level:
            lines[node.lineno - 1 : node.end_lineno] = _exports(node)
    imports = next(index for index, line in enumerate(lines) if line.startswith("from __future__")) + 1
    return "\n".join([*lines[:imports], *stub.imports, *lines[imports:], ""])


def _exports(node: ast.ImportFrom) -> list[str]:
    """Return an import as lines that also export the names from the stub."""
    path = f"{'.' * node.level}{node.module or ''}"
    found = [f"from {path} import {alias.name} as {alias.name}" for alias in node.names]
    return [*found, *(f"{alias.asname} = {alias.name}" for alias in node.names if alias.asname)]


def _members(stub: Stub, made: Constructor[..., Any]) -> list[str]:
    """Return the lines of the constructor of a class, and of the other members of TVM's class."""
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.signature(made.make)
    signature = signature.replace(parameters=[own, *signature.parameters.values()])
    stub.lines.clear()
    stub.define("__init__", signature, annotations_of(made.make, stub), "None", made.__doc__ or "", "    ")
    anything = stub.named("typing.Any")
    return [*stub.lines, *(f"    {name}: {anything}" for name in made.members)]
