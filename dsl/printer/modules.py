"""Modules, and the texts of whole nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...ir import relax, tir
from ...ir.base import (
    EXTERNAL_MODULES,
    Attrs,
    BaseFunc,
    IRModule,
    Metadata,
    RelaxExpr,
    Source,
    Span,
    StructInfo,
    Trivia,
)
from .dialects import Dialect
from .heads import header
from .options import AS_USUAL, Options
from .printer import STATEMENTS, Placed, Printer, flatten, module_name, prints_lines

_OMITTED = "# Metadata omitted. Use show_meta=True in script() method to show it."
_SHOW_METADATA = "show_meta=True"
"""Pattern of comments that replace the header, in any dialect."""
_ORDER: tuple[type, ...] = (tir.PrimFunc, relax.ExternFunc, relax.Function)


def _ordered(printer: Printer, module: IRModule) -> list[tuple[str, BaseFunc]]:
    """Return the functions in the order of the text: TVM's dialects sort by kind and name, `main` last."""
    items = list(module.functions.items())
    if printer.dialect.native:
        return items
    return sorted(items, key=lambda item: (item[0] == "main", _ORDER.index(type(item[1])), item[0]))


def _functions(printer: Printer, module: IRModule) -> None:
    for name, function in _ordered(printer, module):
        if isinstance(function, relax.ExternFunc):
            printer.in_relax = True
            printer.add(f"{name} = {printer.expr(function)}", function.trivia)
            printer.in_relax = False
            continue
        printer.function_name = name
        printer.statement(function)
    for schedule in module.schedules.values() if printer.dialect.native else ():
        printer.statement(schedule)


def _global_infos(printer: Printer, module: IRModule) -> str:
    items = [f'"{name}": {printer.value(infos)}' for name, infos in sorted(module.global_infos.items())]
    return f"{printer.ir('module_global_infos')}({{{', '.join(items)}}})"


def _attributes(printer: Printer, module: IRModule) -> Attrs:
    """Return the attributes to print; TVM's dialects only mention code that a library has generated."""
    external: Any = module.attrs.get(EXTERNAL_MODULES, ())
    if printer.dialect.native or not external:
        return module.attrs
    shown = tuple(Metadata("runtime.Module", n) if isinstance(item, dict) else item for n, item in enumerate(external))
    return {**module.attrs, EXTERNAL_MODULES: shown}


@prints_lines(IRModule)
def _module(printer: Printer, node: IRModule) -> None:
    printer.module = node
    printer.vdevices = list(node.global_infos.get("vdevice", ()))
    title = module_name(node)
    if not title:
        if node.trivia and node.trivia.before:
            printer.frames[-1].lines.extend([*node.trivia.before, ""])
        _functions(printer, node)
        return
    name = printer.define(node, title)
    with printer.frame(node) as frame:
        if node.attrs:
            frame.line(f"{printer.ir('module_attrs')}({printer.attrs(_attributes(printer, node))})")
        if node.global_infos:
            frame.line(_global_infos(printer, node))
        if printer.dialect.native and frame.lines:
            frame.lines.append("")
        _functions(printer, node)
        if not frame.lines:
            frame.line("pass")
    head, trivia, outer = printer.ir("ir_module"), node.trivia or Trivia(), printer.frames[-1]
    if printer.dialect.native:
        printer.add(f"{head} {name}:", Trivia(trivia.before, trivia.after, parts=trivia.parts), frame)
        return
    outer.lines.extend(trivia.before)
    outer.line(f"@{head}")
    printer.add(f"class {name}:", Trivia(after=trivia.after, parts=trivia.parts), frame)


def print_node(
    node: Any,
    dialect: Dialect,
    marks: Iterable[object] = (),
    stored: dict[str, relax.Constant] | None = None,
    options: Options = AS_USUAL,
    places: tuple[Source, dict[int, Span]] | None = None,
) -> str:
    """Return the text of any node: a module or functions with header and footer, statements with declarations of
    their free variables, or an expression alone. Tensors that the text only names are added to `stored`. `places` is a
    source and a dictionary, which receives the position in the source of the statement on each line of the text.
    """
    printer = Printer(dialect, options)
    printer.root, printer.function_name = node, options.name
    printer.marks, printer.source = frozenset(marks), places and places[0]
    is_whole = isinstance(node, IRModule | tir.PrimFunc | relax.Function)
    printer.in_relax = isinstance(node, RelaxExpr | StructInfo | relax.Binding | relax.BindingBlock)
    with printer.frame(None, indented=False) as frame:
        if type(node) in STATEMENTS:
            printer.statement(node)
        else:
            text = printer.expr(node)
            frame.lines[:] = [*(frame.lines if options.verbose_expr else ()), text]
        lines = flatten(frame.lines)
    above = header(printer) if is_whole else []
    if is_whole and dialect.native:
        above = ["#tvms 1", ""] if isinstance(node, IRModule) else []
    if places is not None:
        numbered = enumerate(lines, len(above) + 1)
        places[1].update({number: line.span for number, line in numbered if isinstance(line, Placed)})
    if stored is not None:
        stored.update(printer.stored)
    text = "\n".join(above + lines).rstrip()
    below = list(node.trivia.end) if isinstance(node, IRModule) and node.trivia else []
    if printer.omits_metadata and not dialect.native and not any(_SHOW_METADATA in line for line in below):
        below.append(_OMITTED)
    if below:
        text += ("\n\n" if is_whole else "\n") + "\n".join(below)
    return text
