"""Primitives by their cases, and the laws that every primitive keeps.

A file of kind `schedule` is called as the primitive it shows. Parts are the program `before`, the steps of the `schedule`, and
either the program `after`, or what the refusal `says`, without the program below it. Part `layout` tells which parameters are
laid out anew: `A = lambda i: (i // 4, i % 4)`, and after a semicolon what their padding holds. With `TVMS_UPDATE=1` the last
part is written anew: read the difference.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvms
from msgspec.structs import replace
from text_cases import Case, read_cases, write_cases
from tvms.dsl.entries import arguments_of
from tvms.dsl.formatter import format_text
from tvms.dsl.testing.oracle import Execute, assert_equivalent, interpreted
from tvms.ir import tir
from tvms.ir.base import Op
from tvms.ir.equal import first_difference
from tvms.ir.schedule import Schedule, ScheduleError, declaration
from tvms.ir.schedule.conditions import Condition
from tvms.ir.visit import walk

ALL = list(read_cases("schedule"))
UPDATE = bool(os.environ.get("TVMS_UPDATE"))


def scheduled(case: Case) -> str:
    """Return the program before, with the schedule beside it."""
    before, steps = case.parts["before"], case.parts["schedule"].strip()
    name = next(key for key, function in tvms.parse(before).functions.items() if isinstance(function, tir.PrimFunc))
    inside = "    " * before.startswith("I.")
    body = "".join([f"{inside}    {line}\n" if line else "\n" for line in steps.split("\n")])
    return f"{before.rstrip()}\n\n{inside}S.schedule case({name}):\n{body}"


def unscheduled(module: Any) -> Any:
    return replace(module, schedules={})


def comments(module: Any) -> list[str]:
    found: list[str] = []
    for node in walk(module):
        stack = [getattr(node, "trivia", None)]
        while stack:
            trivia = stack.pop()
            if trivia is not None:
                found.extend((*trivia.before, *((trivia.after,) if trivia.after else ()), *trivia.end))
                stack.extend(part for _, part in trivia.parts)
    return sorted(found)


def is_native(module: Any) -> bool:
    """Whether the program runs on the CPU: it binds no loop to a thread, and has no scalable vectors."""
    return not any(
        (isinstance(node, tir.For) and node.kind is tir.ForKind.THREAD_BINDING)
        or (isinstance(node, tir.Call) and node.op == Op("tir.vscale"))
        for node in walk(module)
    )


def natively(module: Any, entry: str) -> Any:
    executable = tvms.compile(module, target="llvm", schedule=False, level=0)
    return executable[entry]


def laid_out(layout: str | None, execute: Execute) -> Execute:
    """What calls a function with the parameters of `layout` as it takes them, and takes the results back."""
    maps = {name.strip(): eval(f"({text})".replace(";", ",")) for name, text in re.findall(r"(.*?)=(.*)", layout or "")}

    def prepare(module: Any, entry: str) -> Any:
        function, call = module.functions[entry], execute(module, entry)
        shapes = {
            item.name: [size.value for size in item.shape] for item in function.buffer_map.values() if item.name in maps
        }
        names = [argument.name for argument in arguments_of(function)]

        def called(*args: Any) -> Any:
            new = list(args)
            places: list[tuple[int, Any, Any]] = []
            for at, (name, array) in enumerate(zip(names, args, strict=True)):
                if name in maps:
                    change, pad = maps[name] if isinstance(maps[name], tuple) else (maps[name], 0)
                    new[at] = np.full(shapes[name], pad, array.dtype)
                    places += [(at, index, change(*index)) for index in np.ndindex(*array.shape)]
            for at, index, place in places:
                new[at][place] = args[at][index]
            result = call(*new)
            for at, index, place in places:
                args[at][index] = new[at][place]
            return result

        return called

    return prepare


def check_program(module: Any, source: str) -> None:
    """The laws of any program: it verifies, reads back as it is printed, and is formatted."""
    found = [diagnostic for diagnostic in tvms.verify(module) if diagnostic.severity == "error"]
    assert not found, f"{source} breaks the law of the IR:\n{tvms.TvmsError(found)}\n{module}"
    text = str(module)
    again = tvms.parse(text)
    assert first_difference(module, again, map_free_vars=True) is None, f"{source} reads back as another program"
    assert str(again) == text
    assert format_text(text + "\n").removesuffix("\n") == text


def test_titles_say_whether_the_primitive_is_refused() -> None:
    wrong = [case.id for case in ALL if ("says" in case.parts) != case.title.startswith(("refuses", "requires"))]
    assert wrong == []


@pytest.mark.parametrize("case", ALL, ids=[case.id for case in ALL])
def test_case(case: Case) -> None:
    module = tvms.parse(scheduled(case), case.path.name)
    check_program(module, "before")
    before = unscheduled(module)
    schedule = Schedule(before, seed=1)
    (text,) = module.schedules.values()
    try:
        schedule.replay(text)
    except ScheduleError as error:
        check_refusal(case, schedule, before, error)
        return
    after = schedule.mod
    if "after" not in case.parts and UPDATE:
        case = update(case, "after", program_of(after))
    assert "after" in case.parts, f"it is accepted:\n{after}"
    check_program(after, "after")
    expected = tvms.parse(case.parts["after"])
    difference = first_difference(after, expected, map_free_vars=True)
    if difference is not None and UPDATE:
        update(case, "after", program_of(after))
        difference = None
    assert difference is None, f"after differs at {difference}:\n{after}"
    check_laws(schedule, before, after, case.parts.get("layout"))


def check_refusal(case: Case, schedule: Schedule, before: Any, error: ScheduleError) -> None:
    message = str(without_program(error))
    if case.parts.get("says", "").strip("\n") != message and UPDATE:
        update(case, "says", message)
        return
    assert message == case.parts["says"].strip("\n")
    assert schedule.mod is before, "a refusal leaves the schedule as it was"
    assert not schedule.trace.insts


def without_program(error: ScheduleError) -> ScheduleError:
    return ScheduleError([replace(diagnostic, listing=None) for diagnostic in error.diagnostics])


def check_laws(schedule: Schedule, before: Any, after: Any, layout: str | None) -> None:
    """What every sequence of primitives keeps: results, comments; and the trace makes the same program again."""
    sizes = dict.fromkeys(("n", "m", "k"), 5)
    for execute in (interpreted, natively) if is_native(after) else (interpreted,):
        assert_equivalent(before, after, sizes=sizes, integers=(-3, 4), execute_after=laid_out(layout, execute))
    assert comments(after) == comments(before), "comments are lost, or there twice"
    again = Schedule(before)
    schedule.trace.apply_to_schedule(again)
    assert first_difference(after, again.mod, map_free_vars=True) is None, "the trace makes another program"
    written = replace(before, schedules={"trace": schedule.text("trace")})
    check_program(written, "the trace")
    replayed = Schedule(before)
    (text,) = tvms.parse(str(written)).schedules.values()
    replayed.replay(text)
    assert first_difference(after, replayed.mod, map_free_vars=True) is None, "the text makes another program"
    schedule.undo(len(schedule.trace.insts))
    assert schedule.mod is before, "undoing all steps gives the program before"


def program_of(module: Any) -> str:
    return str(module).removeprefix("#tvms 1\n\n")


def update(case: Case, name: str, text: str) -> Case:
    """Write the file of a case with another last part, which replaces "after" or "says"."""
    kept = {part: other for part, other in case.parts.items() if part not in ("after", "says")}
    new = replace(case, parts={**kept, name: f"{text}\n\n"})
    ALL[:] = [new if (other.path, other.title) == (case.path, case.title) else other for other in ALL]
    write_cases(case.path, [other for other in ALL if other.path == case.path])
    return new


def test_every_primitive_has_a_case() -> None:
    from tvms.ir.schedule.declaration import PRIMITIVES

    shown = {case.path.stem for case in ALL}
    changing = {name for name, primitive in PRIMITIVES.items() if not primitive.is_query}
    assert changing - shown == set()
    assert shown - PRIMITIVES.keys() == set()


def test_every_condition_is_refused_in_a_case() -> None:
    from tvms.ir.schedule.declaration import PRIMITIVES

    refused = {(case.path.stem, code) for case in ALL for code in re.findall(r"\[(E\d+)\]", case.parts.get("says", ""))}
    declared = {(name, condition.code) for name, primitive in PRIMITIVES.items() for condition in primitive.requires}
    assert declared - refused == set()


def test_every_primitive_says_what_it_preserves() -> None:
    from tvms.ir.schedule.declaration import PRIMITIVES

    silent = [
        name for name, primitive in PRIMITIVES.items() if not primitive.is_query and "Preserves:" not in primitive.doc
    ]
    assert silent == []


NOT_IN_TEXT = {
    "declaration.py": "what is wrong with arguments is said when a text is read",
    "layout_arguments.py": "functions of Python, which may return anything",
    "primitives/queries.py": "schedules of modules, which have not said which function they are about",
}
"""Files of which test_schedule.py has further refusals."""
GUARDS = ("are interleaved under the loop", "{name_of(member)} may read unwritten elements",
          "outside of the padding are unknown", "too many accesses to compare")  # fmt: skip
"""Parts of refusals that no known program triggers."""


def refusal_sites() -> dict[tuple[str, int], str]:
    """The calls in ir/schedule that refuse: what they say, by their files and first lines."""
    root = Path(declaration.__file__).parent
    found: dict[tuple[str, int], str] = {}
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "refuse":
                found[path.relative_to(root).as_posix(), node.lineno] = ast.unparse(node)
    return found


def test_every_refusal_is_shown_by_a_case(monkeypatch: pytest.MonkeyPatch) -> None:
    root, reached, refuse = Path(declaration.__file__).parent, set[tuple[str, int]](), Condition.refuse

    def noted(self: Condition, *args: Any, **named: Any) -> Any:
        frame = sys._getframe(1)
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(root):
            reached.add((path.relative_to(root).as_posix(), frame.f_lineno))
        return refuse(self, *args, **named)

    monkeypatch.setattr(Condition, "refuse", noted)
    messages = [(case, case.parts["says"].split("\n")[0]) for case in ALL if "says" in case.parts]
    refused = {re.sub(r"'.*?'|\d+", "", message): case for case, message in messages}
    for case in refused.values():
        module = tvms.parse(scheduled(case))
        (text,) = module.schedules.values()
        with pytest.raises(ScheduleError):
            Schedule(unscheduled(module), seed=1, error_render_level="fast").replay(text)
    left = [
        f"{path}:{line}: {text}"
        for (path, line), text in refusal_sites().items()
        if (path, line) not in reached and path not in NOT_IN_TEXT and not any(guard in text for guard in GUARDS)
    ]
    assert left == []
