"""Reads texts and files to modules, and reports all errors of a text together."""

from __future__ import annotations

import errno
import gc
import os
import re
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ..ir import script
from ..ir.base import IRModule, Source
from ..ir.diagnostics import ArgumentError, Diagnostic, TvmsError, error
from ..ir.files import MIB, read_file
from ..ir.sanitize import say
from .builder.module import build_module
from .embedded import Definition, Host, is_host, read_host
from .parser import parse_syntax
from .sidecar import names_tensors, read_constants, sidecar_of, with_constants

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_BYTES = 64 * MIB
"""Maximum size of a text in bytes: the longest text that is parsed is smaller, whatever its characters."""
_LONE_RETURN = re.compile(r"\r(?!\n)")


def parse(text: str, name: str = "<string>", constants: Mapping[str, NDArray[Any]] | None = None) -> IRModule:
    """Return the module that `text` holds; `name` is used in messages, and `constants` are the tensors that it names.

    Raise TvmsError with all errors of the text: syntax, names and forms. Raise ArgumentError E0702, a TypeError, if
    `text` is not a string.
    """
    if not isinstance(text, str):  # type: ignore[reportUnnecessaryIsInstance]  # callers are not all type-checked
        raise _not_a_text(text)
    module = parse_source(Source(name, text))
    return with_constants(module, constants) if constants else module


def _not_a_text(value: object) -> ArgumentError:
    remedies = {bytes: "decode it: data.decode()", Path: "tvms.load reads a file"}
    help = next((remedy for kind, remedy in remedies.items() if isinstance(value, kind)), None)
    return ArgumentError(
        Diagnostic("E0702", f"expected a text, got a value of type {type(value).__name__}", None, help)
    )


@contextmanager
def _collector_paused() -> Generator[None]:
    """Pause the garbage collector while a tree is built: there is no garbage, and it saves a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def parse_source(
    source: Source,
    names: Mapping[str, Any] | None = None,
    warnings: list[Diagnostic] | None = None,
    is_python: bool = False,
    parts: Sequence[tuple[int, int]] | None = None,
) -> IRModule:
    """Return the module that a text holds; `names` maps predefined names to values. Errors are those of `parse`.

    Warnings are added to `warnings`; `is_python` says that the text is part of a Python program. With `parts`, ranges of
    whole lines in order, only these are read.
    """
    with _collector_paused():
        file, mistakes = parse_syntax(source, parts)
        module, more = build_module(file, names or {}, is_python)
    if warnings is not None and module is not None:
        warnings += more
    if module is None or any(mistake.severity == "error" for mistake in mistakes):
        raise TvmsError(
            tuple(sorted((*mistakes, *more), key=lambda diagnostic: diagnostic.span.start if diagnostic.span else 0))
        )
    if not module.functions and not module.name:
        raise error(
            "E0004",
            f"'{source.name}' contains no definition",
            help="write a T.prim_func, an R.function or an I.ir_module",
        )
    return module


def load_module(
    path: str | Path,
    warnings: list[Diagnostic] | None = None,
    *,
    mmap: bool = False,
    values: Mapping[str, Any] | None = None,
    stdin_name: str | None = None,
) -> IRModule:
    """Return the module in the file at `path` ("-" is standard input, the text of the file `stdin_name` if that is given);
    errors are those of `read_source` and `parse`.

    In a Python program, a notebook or a Markdown page (.py, .ipynb, .md), definitions are found among other things, which
    are ignored; `FILE::NAME` reads one of them. `values` are those of the names that they capture; raise E0822 for others
    whose values only the program knows, E0823 for several modules.

    The tensors that it names are read from the sidecar file, if any; raise E0018 if it cannot be read, E0326 if a
    tensor does not match. Warnings are added to `warnings`. With `mmap`, the sidecar file is mapped instead of read: its pages take
    memory only while they are used, but it must not change as long as the tensors exist.
    """
    return read_module(*open_file(str(path), values, stdin_name), warnings, mmap=mmap, values=values)


def read_module(
    source: Source,
    host: Host | None,
    warnings: list[Diagnostic] | None = None,
    *,
    mmap: bool = False,
    values: Mapping[str, Any] | None = None,
) -> IRModule:
    """Return the module in an open file; see `load_module`."""
    module = parse_source(source, values, warnings) if host is None else _merged(host, warnings)
    if not names_tensors(module) or source.name == "<stdin>" or not os.path.lexists(sidecar_of(Path(source.name))):
        return module
    return with_constants(module, read_constants(sidecar_of(Path(source.name)), mmap))


def open_file(
    path: str, values: Mapping[str, Any] | None = None, stdin_name: str | None = None
) -> tuple[Source, Host | None]:
    """Return the text of a file, and its definitions if it is a host of them; errors are those of `load_module`.

    `values` are those of the names that definitions capture. `stdin_name` is the file that standard input is the text of.
    """
    name = ""
    if "::" in path and not os.path.lexists(path):
        path, _, name = path.rpartition("::")
    source = read_source(path)
    if path == "-" and stdin_name:
        source = Source(stdin_name, source.text)
    if not is_host(source.name):
        if name:
            help = f"name the function by an option of the command, or give '{path}' alone"
            raise error("E0823", f"'{path}' is a single module: '::{name}' does not select a part of it", help=help)
        return source, None
    host = read_host(source)
    if host is None:
        return source, None
    host = host.given(values or {})
    return source, host.select(name) if name else host


def read_definition(definition: Definition, warnings: list[Diagnostic] | None = None) -> IRModule:
    """Return the module of a definition in a host; raise E0822 if it captures names without known values."""
    if definition.captured:
        raise TvmsError(definition.missing())
    return parse_source(definition.source, definition.names, warnings, definition.is_python, definition.parts)


def _merged(host: Host, warnings: list[Diagnostic] | None) -> IRModule:
    """Return the only module of a host, or all its functions as one; raise E0823 if there are several modules."""
    names = [definition.name for definition in host.definitions]
    if not names:
        help = "write a T.prim_func, an R.function or an I.ir_module"
        raise error("E0004", f"'{host.source.name}' contains no definition", help=help)
    modules = [read_definition(definition, warnings) for definition in host.definitions]
    if len(modules) == 1:
        return modules[0]
    if any(module.name for module in modules) or len(set(names)) < len(names):
        count, shown = len(names), ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
        help = f"choose one of {shown}: '{host.source.name}::{names[0]}'"
        raise error("E0823", f"'{host.source.name}' contains {count} definitions, which are not one module", help=help)
    functions = {name: func for module in modules for name, func in module.functions.items()}
    return replace(modules[0], functions=functions)


def load_verified(path: str, stdin_name: str | None = None) -> IRModule:
    """Return the verified module in a file, as `load_module`; raise TvmsError if it breaks a law of the IR.

    Warnings of the text are written to standard error.
    """
    from ..ir.verify import check_law

    warnings: list[Diagnostic] = []
    module = load_module(path, warnings, stdin_name=stdin_name)
    if warnings:
        say(script.render(warnings), sys.stderr)
    check_law(module)
    return module


def _standard_input() -> bytes:
    buffer = getattr(sys.stdin, "buffer", None)  # a replaced standard input may be a stream of text
    data = sys.stdin.read(MAX_BYTES + 1).encode() if buffer is None else buffer.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise OSError(errno.EFBIG, f"it is larger than {MAX_BYTES // MIB} MiB")
    return data


def read_source(path: str, *, keep_mark: bool = False) -> Source:
    """Return the text of a file, without a byte-order mark unless `keep_mark`.

    Raise E0001 if the file cannot be read, E0002 if it is not UTF-8, E0003 if it contains NUL, E0020 if lines
    end with a carriage return alone.
    """
    name = "<stdin>" if path == "-" else path
    if path == "-" and sys.stdin is None:  # type: ignore[reportUnnecessaryComparison]  # as a shell's `<&-` makes it
        raise error("E0001", "standard input is closed", help="name a file, or redirect a text to it")
    try:
        data = _standard_input() if path == "-" else read_file(path, MAX_BYTES)
    except IsADirectoryError:
        raise error("E0001", f"'{path}' is a folder", help="name a file in it") from None
    except FileNotFoundError:
        raise error("E0001", f"there is no file '{path}'", help="check the path; '-' reads standard input") from None
    except OSError as problem:
        help = "check the path and its permissions; '-' reads standard input"
        raise error("E0001", f"'{name}' cannot be read: {problem.strerror}", help=help) from None
    try:
        text = data.decode("utf-8" if keep_mark else "utf-8-sig")
    except UnicodeDecodeError as problem:
        offset = problem.start + (3 if data.startswith(b"\xef\xbb\xbf") and not keep_mark else 0)
        message = f"'{name}' is not UTF-8: byte {offset} is 0x{data[offset]:02x}"
        raise error("E0002", message, help="save the file as UTF-8") from None
    nul = text.find("\0")
    if nul >= 0:
        line = text.count("\n", 0, nul) + 1
        raise error("E0003", f"'{name}' contains a NUL character in line {line}", help="is it a binary file?")
    if lone := _LONE_RETURN.search(text):
        line = text.count("\n", 0, lone.start()) + 1
        message = f"line {line} of '{name}' ends with a carriage return alone"
        raise error("E0020", message, help="save the file with line feeds at the ends of lines")
    return Source(name, text)
