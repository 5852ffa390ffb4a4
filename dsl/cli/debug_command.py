"""`tvms debug FILE`: step through a function in the interpreter, with commands from the terminal or standard input."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import import_module

from msgspec.structs import replace

from ...ir.diagnostics import TvmsError, error
from ...ir.sanitize import say
from ..debugger.breakpoints import Breakpoint, Watch, parse_hits, resolve
from ..debugger.motions import Kind, Motion
from ..debugger.places import Place
from ..debugger.session import Exited, Options, Output, Session, Stopped
from ..debugger.stack import levels, numbers, scopes
from ..debugger.tables import check_array, head, heat_map, summarize, table
from ..debugger.timeline import Step
from ..debugger.values import brief, shown
from ..debugger.writes import watchable
from .debuggee import Debuggee, open_session

HELP = """\
step (s, an empty line)      run to the next statement, also in a called function
next (n)                     run to the next statement of this function
finish                       run to the end of this function
until [LINE or CONDITION]    run until the condition holds, or past the loop: until i == 3
continue (c, r)              run to the next breakpoint or watched write
back [N]                     go back by one statement, or by N
rcontinue (rc)               go back to the previous breakpoint or watched write
break PLACE [if CONDITION] [hits N]   stop at a line, a function or a block: break 7 if vi == 2
log LINE TEXT                say a text there instead: log 7 vi is {vi}
watch BUFFER[INDICES] [if CONDITION]  stop after each write to this buffer or element
clear [NUMBER]               remove all breakpoints and watches, or one
print EXPRESSION (p)         show a value: print A[vi, vk] + 1, print C[0, :]
table EXPRESSION             show a buffer as a table
map EXPRESSION               show a buffer as a heat map
locals                       show all variables
where                        show the functions and blocks around the statement
list [LINE] (l)              show the text around the statement or a line
help (h)                     show this
quit (q)                     end the run"""
_AROUND = 4
"""The number of lines that `list` shows on each side."""
_BREAK = re.compile(r"(?P<place>\S+)(?:\s+if\s+(?P<condition>.*?))?(?:\s+hits\s+(?P<when>[^a-z]*))?$")
_WATCH = re.compile(r"(?P<name>\w+)\s*(?:\[(?P<indices>.*?)\])?(?:\s+if\s+(?P<condition>.*))?$")
_MOTIONS: dict[str, Kind] = {
    "": "into", "s": "into", "step": "into", "n": "over", "next": "over", "finish": "out", "c": "continue",
    "continue": "continue", "r": "continue", "run": "continue",
}  # fmt: skip


class Terminal:
    """Reads commands and shows the state of a session."""

    def __init__(self, session: Session, read: Callable[[], str | None]) -> None:
        self.session = session
        self.read = read
        self.commands: dict[str, Callable[[str], None]] = {
            "b": self._break, "break": self._break, "log": self._log, "w": self._watch, "watch": self._watch,
            "clear": self._clear, "p": self._print, "print": self._print, "table": self._table, "map": self._map,
            "locals": self._locals, "where": self._where, "l": self._list, "list": self._list,
        }  # fmt: skip

    @property
    def step(self) -> Step:
        """The shown step."""
        return self.session.timeline.shown

    def run(self) -> int:
        """Run to the end, or until the user quits; return 1 if the program faults."""
        self.session.start(Motion("into"))
        while True:
            event = self._next_event()
            match event:
                case Output(text=text):
                    say(text)
                case Exited(fault=None):
                    place = "" if self.session.steps else ": it has no statement to stop at"
                    say(f"the run has ended{place}")
                    return 0
                case Exited(fault=fault):
                    if self.session.steps == 0:
                        say(str(fault))
                    return 1
                case Stopped():
                    self._show(event)
                    if not self._ask():
                        self.session.end()
                        return 1 if self.session.fault else 0

    def _next_event(self) -> Output | Stopped | Exited:
        while True:
            try:
                return self.session.events.get()
            except KeyboardInterrupt:
                self.session.pause()

    def _show(self, event: Stopped) -> None:
        if event.text:
            say(event.text)
        self._show_place(self.step.place, numbers(self.step))

    def _show_place(self, place: Place, values: str) -> None:
        say(f"{place.line:4} | {place.text}" + (f"    # {values}" if values else ""))

    def _ask(self) -> bool:
        """Carry out commands until one continues the run; return False if the user ends it."""
        while True:
            line = self.read()
            if line is None:
                return False
            word, _, rest = line.strip().partition(" ")
            rest = rest.strip()
            if word in ("q", "quit"):
                return False
            try:
                if self._move(word, rest):
                    return True
                if word in ("h", "help"):
                    say(HELP)
                elif word in self.commands:
                    self.commands[word](rest)
                else:
                    say(f"unknown command '{line.strip()}':\n{HELP}")
            except TvmsError as problem:
                say(str(problem))

    # --- Motions ------------------------------------------------------------------------------------------------

    def _move(self, word: str, rest: str) -> bool:
        """Continue the run if `word` is a motion; return whether it is."""
        session, origin = self.session, self.step
        if word in _MOTIONS and not rest:
            session.resume(Motion(_MOTIONS[word], origin))
        elif word == "until":
            session.resume(_until(rest, origin))
        elif word == "back" and (not rest or rest.isdecimal()):
            self._back(int(rest or 1))
        elif word in ("rc", "rcontinue"):
            session.back(Motion("continue", origin))
        else:
            return False
        return True

    def _back(self, count: int) -> None:
        timeline = self.session.timeline
        if count > 1:
            timeline.go(max(timeline.at - count + 1, timeline.start))
        self.session.back(Motion("over", self.step))

    # --- Breakpoints --------------------------------------------------------------------------------------------

    def _break(self, text: str) -> None:
        match = _BREAK.match(text)
        if match is None:
            raise _refused(text, "name a line, a function or a block: break 7 if vi == 2")
        place, condition, when = match["place"], match["condition"], match["when"]
        if when is not None:
            parse_hits(when)
        self._add(place, Breakpoint(self.session.breakpoints.number(), condition=condition, when=when))

    def _log(self, text: str) -> None:
        place, _, said = text.partition(" ")
        if not said:
            raise _refused(text, "name a line and a text: log 7 vi is {vi}")
        self._add(place, Breakpoint(self.session.breakpoints.number(), log=said))

    def _add(self, place: str, point: Breakpoint) -> None:
        if place.isdecimal():
            point = self._at_line(int(place), point)
        elif place in self._names():
            point.name = place
        else:
            raise _refused(place, f"the functions and blocks are {', '.join(sorted(self._names()))}")
        self.session.breakpoints.set([*self.session.breakpoints.all, point])

    def _at_line(self, line: int, point: Breakpoint) -> Breakpoint:
        source = self.step.place.source.name
        found = resolve(self._places(), source, line)
        if found is None:
            raise _refused(str(line), "no statement starts in this line, or after it")
        if found != line:
            say(f"no statement starts in line {line}: the breakpoint is in line {found}")
        point.file, point.line = source, found
        return point

    def _places(self) -> Iterable[Place]:
        return self.session.places.of_module(self.session.module)

    def _names(self) -> set[str]:
        blocks = {getattr(place.node, "name_hint", "") for place in self._places() if place.is_head}
        return {*self.session.module.functions, *blocks} - {""}

    def _watch(self, text: str) -> None:
        match = _WATCH.match(text)
        buffers = watchable(self._places())
        if match is None or match["name"] not in buffers:
            raise _refused(text, f"watch one of {', '.join(sorted(buffers))}, or an element of it")
        indices = None if match["indices"] is None else self.session.evaluator.indices(match["indices"], self.step)
        points = self.session.breakpoints
        points.watches = (*points.watches, Watch(points.number(), match["name"], indices, match["condition"]))

    def _clear(self, text: str) -> None:
        points = self.session.breakpoints
        points.set([point for point in points.all if text and str(point.number) != text])
        points.watches = tuple([watch for watch in points.watches if text and str(watch.number) != text])

    # --- Values -------------------------------------------------------------------------------------------------

    def _print(self, text: str) -> None:
        say(shown(self.session.evaluator.value(text, self.step)))

    def _table(self, text: str) -> None:
        summary = summarize(check_array(self.session.evaluator.value(text, self.step), text))
        say(f"{head(summary, text)}\n{table(summary)}")

    def _map(self, text: str) -> None:
        summary = summarize(check_array(self.session.evaluator.value(text, self.step), text))
        say(f"{head(summary, text)}\n{heat_map(summary)}")

    def _locals(self, _: str) -> None:
        for variables in scopes(self.step).values():
            for variable in variables:
                say(f"{variable.name} = {brief(variable.value)}")

    def _where(self, _: str) -> None:
        for level in levels(self.step):
            say(f"{level.title}, {level.place.source.name}:{level.place.line}")

    def _list(self, text: str) -> None:
        lines = self.step.place.source.text.splitlines()
        middle = int(text) if text.isdecimal() else self.step.place.line
        stops = {point.line for point in self.session.breakpoints.all if point.file == self.step.place.source.name}
        for number in range(max(middle - _AROUND, 1), min(middle + _AROUND, len(lines)) + 1):
            mark = ">" if number == self.step.place.line else "*" if number in stops else " "
            say(f"{mark}{number:3} | {lines[number - 1]}")


def _until(text: str, origin: Step) -> Motion:
    if not text:
        return Motion("loop", origin)
    if text.isdecimal():
        return Motion("continue", origin, line=int(text))
    return Motion("continue", origin, until=text)


def _refused(text: str, help: str) -> TvmsError:
    return error("E0826", f"there is nothing to stop at: '{text}'", None, help)


def _reader() -> Callable[[], str | None]:
    """Return a function that reads a command: with line editing and history where the terminal has them."""
    if not sys.stdin.isatty():
        return lambda: sys.stdin.readline() or None
    with suppress(ImportError):
        import_module("readline")  # it changes what `input` does

    def read() -> str | None:
        try:
            return input("> ")
        except (EOFError, KeyboardInterrupt):
            return None

    return read


def run(arguments: argparse.Namespace) -> int:
    """Run one function step by step; return 0 if it finished or the user ended it, 1 if it failed."""
    if arguments.file == "-":
        raise error(
            "E0815", "the program cannot be read from standard input, which holds the commands", None, "name a file"
        )
    debuggee = Debuggee(
        arguments.file, arguments.entry, arguments.arg, arguments.dim, arguments.seed, arguments.schedule
    )
    options = replace(
        Options(thread_order=arguments.thread_order),
        track=arguments.trap,
        trap=arguments.trap,
        stop_at_nan=arguments.nan,
        stop_at_races=arguments.races,
    )
    return Terminal(open_session(debuggee, options), _reader()).run()
