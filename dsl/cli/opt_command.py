"""`tvms opt FILE --passes "LegalizeOps, FuseOps(fuse_opt_level=2)"`: run passes on a module and print the result."""

from __future__ import annotations

import argparse
import ast
import sys
from typing import Any

from msgspec.structs import replace

from ...ir.base import IRModule
from ...ir.diagnostics import Note, TvmsError, error
from ...ir.passes.instrument import PassInstrument, PassTimingInstrument, PrintAfterAll, VerifyEach
from ...ir.passes.pipelines import get_pipeline, pipelines
from ...ir.passes.reproduce import smallest_failing
from ...ir.passes.transform import Pass, PassContext, PassInfo, Sequential, get_pass, passes
from ...ir.sanitize import say
from ..load import load_module
from .files import write_module
from .reporting import UsageError, say_list


def run(arguments: argparse.Namespace) -> int:
    """Run the passes and print the module, or list all passes."""
    if arguments.list:
        _load_lowering()
        say_list((name, _first_sentence(constructor.__doc__ or "")) for name, constructor in passes().items())
        return 0
    if arguments.file is None or not arguments.passes:
        raise UsageError("expected a file and --passes, or --list")
    timing, law = PassTimingInstrument(), VerifyEach()
    instruments: list[PassInstrument] = [timing] if arguments.timing else []
    instruments += [PrintAfterAll()] if arguments.print_after_all else []
    instruments += [law] if arguments.verify_each else []
    sequence = Sequential(parse_passes(arguments.passes))
    mod = load_module(arguments.file, stdin_name=arguments.stdin_filename)
    try:
        with PassContext(opt_level=3, instruments=instruments):
            result = sequence(mod)
    except TvmsError as problem:
        if law.broken is None:
            raise
        raise _with_smallest(problem, sequence, *law.broken) from None
    write_module(result, arguments.dialect, arguments.output)
    if arguments.timing:
        say(timing.render(), sys.stderr)
    return 0


def _first_sentence(text: str) -> str:
    """Return the first sentence of a docstring, in one line."""
    return " ".join(text.split()).partition(". ")[0].removesuffix(".")


def _with_smallest(problem: TvmsError, sequence: Sequential, mod: IRModule, info: PassInfo) -> TvmsError:
    """Write the smallest module that the pass breaks to a file; return `problem` with a note of its name."""
    broken = next((candidate for candidate in sequence.passes if candidate.info is info), sequence)
    smallest = smallest_failing(broken, mod) or mod
    path = f"broken-by-{info.name}.tvms"
    write_module(smallest, "tvms", path)
    (diagnostic,) = problem.diagnostics
    note = Note(f"the smallest module found that fails in the same way is in {path}")
    return TvmsError(replace(diagnostic, notes=(*diagnostic.notes, note)))


def parse_passes(text: str) -> list[Pass]:
    """Return the passes in a list such as `A, B(option=1)`; options are literals, by position or by name."""
    try:
        tree = ast.parse(f"[{text}]", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _unreadable(text) from None
    if not isinstance(tree, ast.List):
        raise _unreadable(text)
    return [_make_pass(element, text) for element in tree.elts]


def _make_pass(element: ast.expr, text: str) -> Pass:
    match element:
        case ast.Name(id=name):
            return _named(name)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            named = {keyword.arg: _literal(keyword.value, text) for keyword in keywords if keyword.arg}
            return _named(name, *[_literal(arg, text) for arg in args], **named)
        case _:
            raise _unreadable(text)


def _named(name: str, *args: Any, **options: Any) -> Pass:
    """Return the pass or the pipeline of that name."""
    if name not in passes():
        _load_lowering()
    is_pipeline = name not in passes() and name in pipelines() and not args
    return get_pipeline(name, **options) if is_pipeline else get_pass(name, *args, **options)


def _load_lowering() -> None:
    """Register the steps of the lowering as passes, after all others."""
    passes()
    from ...codegen.lower import passes as _  # noqa: F401


def _literal(value: ast.expr, text: str) -> Any:
    try:
        return ast.literal_eval(value)
    except (ValueError, RecursionError):
        raise _unreadable(text) from None


def _unreadable(text: str) -> TvmsError:
    help = 'separate passes by commas, give options in parentheses: --passes "LegalizeOps, DeadCodeElimination"'
    return error("E0811", f"--passes {text!r} is not a list of passes", help=help)
