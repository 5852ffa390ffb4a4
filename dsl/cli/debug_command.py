"""`tvms debug FILE`: step through a function in the interpreter. Commands come from standard input, one per line."""

from __future__ import annotations

import argparse
import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO

from ...ir import tir
from ...ir.base import IRModule, Node, Source
from ...ir.diagnostics import TvmsError, error
from ...ir.interp import run as interpret
from ...ir.interp.frame import Access, Frame, Observer
from ...ir.interp.memory import View
from ...ir.sanitize import say
from ...ir.visit import children, walk
from ..entries import arguments_of, select_entry
from ..load import load_verified
from .arguments import bind_sizes, make_values, read_given, split_pairs

if TYPE_CHECKING:
    import numpy as np

HELP = """\
step (s, n, an empty line)   run to the next statement
continue (c, r)              run to the next breakpoint or watched write
break LINE (b)               stop at the statements in this line, or in the next line with any
watch BUFFER (w)             stop after each write to this buffer
clear                        remove all breakpoints and watches
print NAME[INDICES] (p)      show a variable, a buffer, or an element: print C[vi, 0]
where                        show the current statement
help (h)                     show this
quit (q)                     end the run"""
_NAME = re.compile(r"(\w+)(?:\[([^\]]*)\])?$")


class _Quit(Exception):
    """The user has ended the run."""


class Debugger(Observer):
    """Stops the run and reads commands: at every statement at first, then at breakpoints and watched writes."""

    def __init__(self, module: IRModule, commands: TextIO, say: Callable[[str], None]) -> None:
        self.commands = commands
        self.say = say
        self.is_stepping = True
        self.lines: set[int] = set()
        self.watched: set[str] = set()
        self.written: tuple[Access, tuple[int, ...], Any] | None = None
        self.here: tuple[tir.Stmt, Frame] | None = None
        """The last statement that was reached, and its frame."""
        functions = [function for function in module.functions.values() if isinstance(function, tir.PrimFunc)]
        self.buffers = {node.name for function in functions for node in walk(function) if isinstance(node, tir.Buffer)}
        self.visible = {stmt: names for function in functions for stmt, names in _visible_variables(function.body)}
        self.starts: dict[Source, list[int]] = {}

    # --- Events of the run ----------------------------------------------------------------------------------

    def statement(self, stmt: tir.Stmt, frame: Frame) -> None:
        self.is_stepping |= self._show_write(frame)
        if not _is_step(stmt):
            return
        self.here = stmt, frame
        if self.is_stepping or self._line(stmt) in self.lines:
            self._show_place(stmt, frame)
            self._ask(stmt, frame)

    def access(self, access: Access, indices: tuple[int, ...], frame: Frame) -> None:
        if isinstance(access, tir.BufferStore) and access.buffer.name in self.watched:
            self.written = (access, indices, _array(frame[access.buffer])[indices].copy())

    def _show_write(self, frame: Frame) -> bool:
        """Show the last write if it was to a watched buffer; return whether it was."""
        if self.written is None:
            return False
        access, indices, before = self.written
        self.written = None
        after = _array(frame[access.buffer])[indices]
        self.say(f"{access.buffer.name}[{', '.join(map(str, indices))}]: {before} -> {after}")
        return True

    # --- Commands of the user ----------------------------------------------------------------------------------

    def look_around(self) -> None:
        """Read commands at the statement where the run failed, until the user continues or quits."""
        if self.here is not None:
            self._show_place(*self.here)
            with suppress(_Quit):
                self._ask(*self.here)

    def _ask(self, stmt: tir.Stmt, frame: Frame) -> None:
        while True:
            if self.commands.isatty():
                say("> ", end="")
            line = self.commands.readline()
            if not line:
                raise _Quit
            word, _, rest = line.strip().partition(" ")
            match word:
                case "" | "s" | "step" | "n" | "next":
                    self.is_stepping = True
                    return
                case "c" | "continue" | "r" | "run":
                    self.is_stepping = False
                    return
                case "b" | "break" if rest.strip().isdigit():
                    self._break(int(rest))
                case "w" | "watch" if rest.strip():
                    self._watch(rest.strip())
                case "clear":
                    self.lines.clear()
                    self.watched.clear()
                case "p" | "print":
                    self.say(self._value(rest.strip(), stmt, frame))
                case "where":
                    self._show_place(stmt, frame)
                case "q" | "quit":
                    raise _Quit
                case "h" | "help":
                    self.say(HELP)
                case _:
                    self.say(f"unknown command '{line.strip()}':\n{HELP}")

    def _break(self, line: int) -> None:
        lines = {self._line(stmt) for stmt in self.visible if _is_step(stmt)}
        following = min([start for start in lines if start >= line], default=None)
        if following is None:
            self.say(f"no statement starts in line {line}, or after it")
            return
        self.lines.add(following)
        if following != line:
            self.say(f"no statement starts in line {line}: the breakpoint is in line {following}")

    def _watch(self, name: str) -> None:
        if name in self.buffers:
            self.watched.add(name)
        else:
            self.say(f"unknown buffer '{name}'; the buffers are {', '.join(sorted(self.buffers))}")

    def _value(self, text: str, stmt: tir.Stmt, frame: Frame) -> str:
        match = _NAME.match(text)
        if match is None:
            return "print a variable, a buffer or an element, such as C[vi, 0]"
        name, indices = match.groups()
        variables = {variable.name: frame[variable] for variable in self._variables(stmt, frame)}
        views = {key.name: value for key, value in frame.items() if isinstance(value, View)}
        if name in variables:
            return str(variables[name])
        if name not in views:
            return f"'{name}' is not defined here; the names are {', '.join([*variables, *views])}"
        array = _array(views[name])
        if indices is None:
            return str(array)
        parts = [part.strip() for part in indices.split(",") if part.strip()]
        if not all(part.isdigit() or part in variables for part in parts):
            return "expected a number or a variable as an index"
        try:
            return str(array[tuple([int(variables.get(part, part)) for part in parts])])
        except IndexError as problem:
            return str(problem)

    # --- Current position -----------------------------------------------------------------------------------

    def _line(self, stmt: tir.Stmt) -> int:
        assert stmt.span is not None
        source = stmt.span.source
        if source not in self.starts:
            self.starts[source] = [0, *[match.end() for match in re.finditer("\n", source.text)]]
        return bisect_right(self.starts[source], stmt.span.start)

    def _variables(self, stmt: tir.Stmt, frame: Frame) -> list[tir.Var]:
        return [variable for variable in self.visible.get(stmt, ()) if variable in frame]

    def _show_place(self, stmt: tir.Stmt, frame: Frame) -> None:
        assert stmt.span is not None
        line = self._line(stmt)
        values = ", ".join(f"{variable.name} = {frame[variable]}" for variable in self._variables(stmt, frame))
        self.say(f"{line:4} | {stmt.span.source.text.splitlines()[line - 1]}" + (f"    # {values}" if values else ""))


def _is_step(stmt: tir.Stmt) -> bool:
    """Return whether a run can stop at `stmt`: it is in the text, and does not merely wrap other statements."""
    return stmt.span is not None and not isinstance(stmt, tir.SeqStmt | tir.BlockRealize)


def _array(view: View) -> np.ndarray:
    return view.as_array()


def _visible_variables(body: tir.Stmt) -> Iterator[tuple[tir.Stmt, tuple[tir.Var, ...]]]:
    """Yield each statement with the loop variables, iterators and lets around it."""
    stack: list[tuple[Node, tuple[tir.Var, ...]]] = [(body, ())]
    while stack:
        node, names = stack.pop()
        match node:
            case tir.For():
                inside = (*names, node.loop_var)
            case tir.LetStmt():
                inside = (*names, node.var)
            case tir.Block():
                names = inside = (*names, *[axis.var for axis in node.iter_vars])
            case tir.AttrStmt(node=tir.IterVar(var=variable)):
                inside = (*names, variable)
            case _:
                inside = names
        if isinstance(node, tir.Stmt):
            yield node, names
            stack.extend((child, inside) for child in children(node))


def run(arguments: argparse.Namespace) -> int:
    """Run one function step by step; return 0 if it finished or the user ended it, 1 if it failed."""
    if arguments.file == "-":
        raise error(
            "E0815", "the program cannot be read from standard input, which holds the commands", None, "name a file"
        )
    module = load_verified(arguments.file)
    entry, function = select_entry(module, arguments.entry)
    params = arguments_of(function)
    given = read_given(params, split_pairs(arguments.arg, "--arg"))
    sizes = bind_sizes(params, given, split_pairs(arguments.dim, "--dim"))
    values = make_values(params, given, sizes, arguments.seed)
    debugger = Debugger(module, sys.stdin, say)
    try:
        interpret(module, entry, values, thread_order=arguments.thread_order, observer=debugger)
    except _Quit:
        return 0
    except TvmsError as problem:
        debugger.say(str(problem))
        debugger.look_around()
        return 1
    say("the run has ended" + ("" if debugger.here else ": it called no loop function to stop in"))
    return 0
