"""What the debuggers run: a function of a file with its arguments, or of the module after one of its schedules."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ...ir import tir
from ...ir.base import IRModule, Source
from ...ir.diagnostics import Diagnostic, error
from ...ir.schedule.text import ScheduleText, kind_of
from ...ir.spelling import did_you_mean
from ..debugger.session import Options, Session
from ..entries import arguments_of, select_entry
from ..load import load_verified, parse_source
from .arguments import bind_sizes, make_values, read_given, split_pairs
from .verification import copy_of


class Debuggee(Struct, frozen=True):
    """A function to run, with the arguments that `tvms run` takes; `schedule` is applied to the module first."""

    file: str
    entry: str | None = None
    args: Sequence[str] = ()
    dims: Sequence[str] = ()
    seed: int = 0
    schedule: str | None = None


def open_session(debuggee: Debuggee, options: Options) -> Session:
    """Return a session that has not started; errors are those of `tvms run`."""
    module = load_verified(debuggee.file)
    if debuggee.schedule is not None:
        module = _scheduled(module, debuggee.schedule, debuggee.file)
    entry, function = select_entry(module, debuggee.entry)
    params = arguments_of(function)
    given = read_given(params, split_pairs(list(debuggee.args), "--arg"))
    sizes = bind_sizes(params, given, split_pairs(list(debuggee.dims), "--dim"))
    values = make_values(params, given, sizes, debuggee.seed)

    def races() -> Sequence[Diagnostic]:
        from ...codegen.gpu.races import find_races

        if not isinstance(function, tir.PrimFunc):
            raise error("E0826", f"races are found in loop functions, and '{entry}' is a graph function")
        return find_races(module, entry, [copy_of(value) for value in values], options.thread_order)

    return Session(module, entry, values, options, races)


def _scheduled(module: IRModule, name: str, file: str) -> IRModule:
    """Return the module after a schedule, read from its own text: the text that the debugger shows."""
    from ...ir.schedule.apply import apply_each

    text = module.schedules.get(name)
    if not isinstance(text, ScheduleText):
        known = [name for name, text in module.schedules.items() if isinstance(text, ScheduleText)]
        help = did_you_mean(name, known) or "use the name of an S.schedule of the file"
        raise error("E0814", f"'{file}' has no schedule '{name}'", None, help)
    scheduled = apply_each(replace(module, schedules={}), (text,), kind_of(text.target))
    return parse_source(Source(f"{file} after {name}", scheduled.script()))
