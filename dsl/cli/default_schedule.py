"""`tvms schedule FILE --default`: print the default schedules of a file, or add them to it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...ir.base import IRModule, Source, Trivia
from ...ir.diagnostics import error
from ...ir.equal import structural_equal
from ...ir.files import write_whole
from ...ir.relax import Function
from ...ir.schedule.text import ScheduleText
from ...ir.spelling import did_you_mean
from .. import syntax
from ..load import parse_source, read_source
from ..parser import parse_syntax
from . import common_options
from .files import write_module, write_output

if TYPE_CHECKING:
    from ...codegen.default_schedules import DefaultSchedule
    from ...codegen.rules import Decision


def run(arguments: argparse.Namespace) -> int:
    """Print the texts of the default schedules, with `-o` write the module with them, with `--write` add them to the file."""
    from ...codegen.build import lower_program
    from ...codegen.default_schedules import default_schedules
    from ...codegen.target import get_target

    target = get_target(arguments.target or "llvm")
    source = common_options.loaded(arguments)
    has_graphs = any(isinstance(function, Function) for function in source.functions.values())
    module = source
    if has_graphs:
        module = lower_program(source, target)
    found = default_schedules(module, target)
    if arguments.func is not None:
        _check_function(arguments.func, found)
        found = {arguments.func: found[arguments.func]}
    texts = {text.name: text for text in (_text(one, module, arguments.explain) for one in found.values())}
    real = {name: text for name, text in texts.items() if text.steps}
    if arguments.write:
        _add_to_file(arguments.file, real, found, source, has_graphs)
    elif arguments.output is not None:
        write_module(replace(module, schedules={**module.schedules, **real}), arguments.dialect, arguments.output)
    else:
        shown = texts if arguments.explain or not real else real
        write_output("\n\n".join([text.script().strip("\n") for text in shown.values()]) + "\n", None)
    return 0


def _check_function(name: str, found: Mapping[str, DefaultSchedule]) -> None:
    if name not in found:
        help = (
            did_you_mean(name, found)
            or "name a loop function; those of graph operators have the names that 'tvms opt' prints"
        )
        raise error("E0102", f"the module has no loop function '{name}'", None, help)


def _text(found: DefaultSchedule, module: IRModule, is_explained: bool) -> ScheduleText:
    """Return the schedule of a function; with comments on its decisions and its steps if they are explained, or it is empty."""
    from ...ir.schedule.explain import explain

    text = found.text or ScheduleText(f"{found.function}_default", found.function, None, ())
    if is_explained and found.text is not None:
        text = explain(replace(module, schedules={}), text, text.steps).text
    if not is_explained and found.text is not None:
        return text
    comments = tuple([f"# {line}" for line in _lines(found.decisions)])
    trivia = text.trivia or Trivia()
    return replace(text, trivia=replace(trivia, before=(*trivia.before, *comments)))


def _lines(decisions: Sequence[Decision]) -> Iterator[str]:
    """Yield the rule of each block with the reasons why the rules before it declined."""
    declined = {decision.block: decision.declined for decision in decisions if decision.rule is None}
    scheduled = [decision for decision in decisions if decision.rule is not None]
    taken = {block for decision in scheduled for block in decision.block.split(", ")}
    for decision in scheduled:
        yield f"block '{decision.block}': {decision.rule}"
        reasons = [
            *decision.declined,
            *(pair for name in decision.block.split(", ") for pair in declined.get(name, ())),
        ]
        yield from (f"  {rule} declined: {reason}" for rule, reason in reasons)
    for decision in decisions:
        if decision.rule is None and decision.block not in taken:
            yield f"block '{decision.block}': not scheduled"
            yield from (f"  {rule} declined: {reason}" for rule, reason in decision.declined)


# --- Adding to the file ---------------------------------------------------------------------------------------


def _add_to_file(
    path: str,
    texts: Mapping[str, ScheduleText],
    found: Mapping[str, DefaultSchedule],
    module: IRModule,
    has_graphs: bool,
) -> None:
    """Add schedules to a file, whose text stays as it is; E0814 if there are none, or it does not have the functions."""
    if path == "-":
        raise error("E0801", "--write needs a file, not standard input", None, "print the schedules, or use -o")
    missing = [text.function for text in texts.values() if text.function not in module.functions]
    if missing or has_graphs:
        help = f"lower it first: tvms schedule {path} --default -o OUT.tvms"
        reason = "graph functions are lowered before the loop functions are scheduled"
        raise error("E0814", f"'{path}' has no functions for some schedules: {reason}", None, help)
    if not texts:
        reasons = "; ".join([str(decision) for one in found.values() for decision in one.decisions])
        raise error("E0814", f"no rule schedules a function of '{path}': {reasons}", None, "see --default --explain")
    replace_schedules(path, texts, module)


def replace_schedules(path: str, texts: Mapping[str, ScheduleText], module: IRModule) -> None:
    """Add schedules to the file of a module; those that have the same names are replaced, everything else stays as it is."""
    if not texts:
        return
    source = read_source(path, keep_mark=True)
    changed = with_schedules(_without_schedules(source, texts), [text.script() for text in texts.values()])
    again = parse_source(Source(path, changed))
    assert structural_equal(replace(again, schedules={}), replace(module, schedules={}))
    assert again.schedules.keys() == {*module.schedules, *texts}
    write_whole(changed, path, follow=True)


def _without_schedules(source: Source, names: Collection[str]) -> Source:
    """Return a text without the schedules of these names."""
    file, _ = parse_syntax(source)
    parts = [part for part in file.body if isinstance(part, syntax.Definition)]
    parts += [
        inner for part in parts for inner in part.body if part.params is None and isinstance(inner, syntax.Definition)
    ]
    text = source.text
    for part in sorted(parts, key=lambda part: part.start, reverse=True):
        if part.name in names and part.params is not None:
            start = text.rfind("\n", 0, part.start) + 1
            text = text[:start].rstrip(" \n") + "\n" + text[part.end :]
    return Source(source.name, text)


def with_schedules(source: Source, texts: list[str]) -> str:
    """Return the text of a file with schedules added at the end: in its module, or beside its functions."""
    file, _ = parse_syntax(source)
    holder = next((part for part in file.body if isinstance(part, syntax.Definition) and part.params is None), None)
    indentation = "" if holder is None else _indentation(source.text, holder)
    body = source.text.rstrip()
    for text in texts:
        lines = [f"{indentation}{line}" if line else "" for line in text.strip("\n").split("\n")]
        body += "\n\n" + "\n".join(lines)
    return body + "\n"


def _indentation(text: str, holder: syntax.Definition) -> str:
    first = holder.body[0]
    line = text[text.rfind("\n", 0, first.start) + 1 : first.start]
    found = re.match(r"[ \t]*", line)
    return found.group() if found is not None else "    "
