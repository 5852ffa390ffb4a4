"""Sources of models: `.pt2` archives, which are read without executing anything in them, and functions of the user's modules."""

from __future__ import annotations

import io
import json
import logging
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from ....ir.diagnostics import TvmsError, error
from ....ir.files import memory_limit, read_file
from .library import library

_SYMBOL = re.compile(r"[su]\d+|zu[fi]\d+|unbacked_\w+|[a-z]\w*_\d+")
_FUNCTIONS = frozenset(
    (
        "Abs", "Add", "And", "CeilDiv", "CeilToInt", "CleanDiv", "Eq", "Equality", "FloatPow", "FloatTrueDiv", "FloorDiv", "FloorToInt",
        "Ge", "GreaterThan", "Gt", "Identity", "IntTrueDiv", "Integer", "Le", "LessThan", "Lt", "Max", "Min", "Mod",
        "ModularIndexing", "Mul", "Ne", "Not", "Or", "Piecewise", "Pow", "PowByNatural", "PythonMod", "Rational", "StrictGreaterThan",
        "StrictLessThan", "Symbol", "ToFloat", "True", "False", "TruncToInt", "Unequality", "Where", "ceiling", "floor", "integer",
        "positive", "nonnegative", "int_oo", "oo",
    )
)  # fmt: skip
"""Names that may occur in expressions of sizes; torch evaluates them as Python when it reads an archive."""
_PICKLES = ("custom_obj", "opaque")


def read_archive(path: str) -> Any:
    """Return the exported program in the `.pt2` file at `path`.

    Nothing in the file is executed: pickled objects other than tensors are refused, and so are sizes that are not
    arithmetic. Raises TvmsError E1002 if the file cannot be read or is refused.
    """
    torch = library()
    try:
        data = read_file(path, memory_limit())
    except OSError as problem:
        raise _unreadable(path, problem.strerror or problem) from None
    _check(path, data)
    logging.getLogger("torch.export").setLevel(logging.ERROR)
    try:
        program = torch.export.load(io.BytesIO(data))
    except Exception as problem:  # torch raises many kinds of errors for unreadable files
        raise _unreadable(path, _first_line(problem)) from None
    program._guards_code = []  # Python text, which `module()` would execute
    return program


def _unreadable(path: str, reason: object) -> TvmsError:
    return error("E1002", f"'{path}' cannot be read: {reason}", help="save it again with torch.export.save")


def _first_line(problem: Exception) -> str:
    text = str(problem).strip() or type(problem).__name__
    return text.splitlines()[0]


def _check(path: str, data: bytes) -> None:
    """Raise E1002 unless an archive is complete and can be read without executing anything."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if (damaged := archive.testzip()) is not None:
                raise _unreadable(path, f"'{damaged}' in it is damaged")
            files = {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, EOFError, RuntimeError, ValueError, OSError) as problem:
        raise _unreadable(path, _first_line(problem)) from None
    if not any(name.startswith("models/") for name in files):
        raise _unreadable(path, "it is not an archive of an exported program")
    for name, contents in files.items():
        if name.endswith(".json"):
            _check_json(path, name, contents, files)
        elif name.startswith("data/sample_inputs/") or name.endswith(".pt"):
            _check_pickle(path, name, contents)


def _check_json(path: str, name: str, contents: bytes, files: Mapping[str, bytes]) -> None:
    try:
        parsed = json.loads(contents)
    except (ValueError, RecursionError) as problem:
        raise _unreadable(path, f"'{name}' in it is not JSON: {problem}") from None
    folder = name.rpartition("/")[0]
    for table in _tables(parsed):
        if table.get("use_pickle") is True:
            target = str(table.get("path_name"))
            if target.startswith(_PICKLES):
                raise _refused(path, target)
            _check_pickle(path, f"{folder}/{target}", files.get(f"{folder}/{target}", b""))
        if isinstance(text := table.get("expr_str"), str):
            _check_expression(path, text)


def _tables(value: Any) -> Iterator[dict[str, Any]]:
    """Yield all JSON objects in a value."""
    rest = [value]
    while rest:
        item = rest.pop()
        if isinstance(item, dict):
            yield cast("dict[str, Any]", item)
            rest.extend(cast("dict[str, Any]", item).values())
        elif isinstance(item, list):
            rest.extend(cast("list[Any]", item))


def _check_pickle(path: str, name: str, contents: bytes) -> None:
    """Raise E1002 if a pickle contains anything but tensors and plain values."""
    try:
        library().load(io.BytesIO(contents), weights_only=True)
    except Exception:  # torch raises many kinds of errors for objects that it refuses
        raise _refused(path, name) from None


def _refused(path: str, name: str) -> TvmsError:
    reason = f"'{path}' is refused: '{name}' in it is pickled, and loading it could execute code"
    return error(
        "E1002", reason, help="import it from Python, where you trust it: from_exported_program(torch.export.load(…))"
    )


def _check_expression(path: str, text: str) -> None:
    """Raise E1002 if the text of a size is not arithmetic."""
    names = re.findall(r"[A-Za-z_]\w*", text)
    is_plain = re.fullmatch(r"[\w\s+\-*/(),.<>=!&|~%']*", text) is not None
    if not is_plain or any(name not in _FUNCTIONS and not _SYMBOL.fullmatch(name) for name in names):
        raise _unreadable(path, f"the size {text[:60]!r} in it is not arithmetic")


def call_factory(name: str) -> Any:
    """Call the function `package.module:function`, which is code of the user, and return its result.

    Raises TvmsError E1002 if there is no such function, or if it fails.
    """
    module, _, function = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        return getattr(import_module(module), function)()
    except Exception as problem:  # the user's code may raise anything
        reason = f"{type(problem).__name__}: {_first_line(problem)}"
        raise error(
            "E1002", f"'{name}' cannot be called: {reason}", help="name it as package.module:function"
        ) from None
    finally:
        sys.path.pop(0)
