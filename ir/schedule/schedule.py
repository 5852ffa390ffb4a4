"""The schedule of a module: applies primitives, and keeps handles, trace and history."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from .. import make, script, tir
from ..base import Attrs, IRModule, Span
from ..deep import deep
from ..diagnostics import Diagnostic, TvmsError, error
from ..jumps import is_jump
from ..programs import as_module
from ..simplify import simplify
from ..verify import verify
from ..visit import substitute, walk
from .analysis.memory import check_declared
from .analysis.software_pipeline import check_software_pipelines
from .arguments import Mismatch, Reading
from .conditions import RUNS_TO_THE_END, Refused
from .declaration import Primitive, primitive_called
from .error import ScheduleError, UnknownHandle, refusal
from .handles import BlockRV, ComputeLocation, ExprRV, Handle, LoopRV, Origin
from .instruction import Instruction
from .primitive_methods import PrimitiveMethods
from .program import Program, follow
from .random import Random
from .running import Runner
from .state import ScheduleState, StmtSRef
from .text import ScheduleText, Statement, kind_of
from .trace import Trace
from .tree import Tree

_PACKAGE = str(Path(__file__).parent)


class State(Struct, frozen=True, eq=False):
    """State of a schedule after a step. States share trees, so keeping all of them is cheap."""

    module: IRModule
    handles: dict[Handle, Any]
    insts: tuple[Instruction, ...]
    working_on: str | None
    seed: int


class Schedule(PrimitiveMethods):
    """Schedule of a module (TVM: `tvm.tir.Schedule`).

    `mod` is a module or a loop function, which becomes the function `main`. `seed` initializes the random numbers of
    sampling primitives. With `debug_mask="all"` the program is verified after each primitive; errors of a kind that `mod`
    itself has are not attributed to a primitive. A primitive that cannot be applied raises ScheduleError and leaves the schedule unchanged; `error_render_level="fast"` omits the program
    from the message, "detail" (the default) shows it in full.
    """

    def __init__(
        self,
        mod: IRModule | tir.PrimFunc,
        *,
        seed: int | None = None,
        debug_mask: str | int = "none",
        error_render_level: str = "detail",
    ) -> None:
        module = IRModule({"main": mod}, name="Module") if isinstance(mod, tir.PrimFunc) else as_module(mod)
        names = [name for name, function in module.functions.items() if isinstance(function, tir.PrimFunc)]
        working_on = names[0] if len(names) == 1 else "main" if "main" in names else None
        self._state = State(module, {}, (), working_on, Random(seed).state)
        self._history: list[State] = []
        self._trees: dict[str, Tree] = {}
        self._srefs: dict[tir.Stmt, StmtSRef] = {}
        self.jumping: set[str] = set()
        """Functions with loops that may end early, which primitives do not change."""
        self._with_lets: set[str] = set()
        """Functions with a `T.Let`, of which a primitive may make copies."""
        self._with_views: set[str] = set()
        """Functions that declare buffers in their bodies."""
        for name in names:
            for node in walk(module.functions[name]):
                if isinstance(node, tir.Let):
                    self._with_lets.add(name)
                elif isinstance(node, tir.DeclBuffer):
                    self._with_views.add(name)
                elif is_jump(node):
                    self.jumping.add(name)
        self.target = "llvm"
        """Kind of the target that `get_target` returns."""
        self._checks = debug_mask not in ("none", 0)
        self._given = module
        self.error_render_level = error_render_level

    # --- What there is ---------------------------------------------------------------------------------------

    @property
    def mod(self) -> IRModule:
        """Current module."""
        return self._state.module

    @property
    def trace(self) -> Trace:
        """Primitives applied so far."""
        return Trace(self._state.insts, function=self._state.working_on or "main")

    @property
    def func_working_on(self) -> str | None:
        """Function in which block names are looked up."""
        return self._state.working_on

    def get(self, rand_var_or_sref: BlockRV | LoopRV | ExprRV | StmtSRef) -> Any:
        """Return the value of a handle: a `tir.Block`, a `tir.For`, or a number. Raises E0503 if it is gone."""
        if isinstance(rand_var_or_sref, StmtSRef):
            return rand_var_or_sref.stmt
        if isinstance(rand_var_or_sref, ExprRV):
            return self.number(rand_var_or_sref)
        program = self.program()
        try:
            return Reading(program, self._state.handles).node(rand_var_or_sref)
        except Refused as refused:
            raise error(refused.condition.code, refused.reason, None, refused.help) from None
        except Mismatch as mismatch:
            reason, help = f"get: expected {mismatch}", "use the schedule that created the handle"
            raise UnknownHandle(Diagnostic("E0501", reason, None, help)) from None

    def get_sref(self, rand_var_or_stmt: BlockRV | LoopRV | tir.Block | tir.For) -> StmtSRef:
        """Return the reference to a block or loop."""
        is_handle = isinstance(rand_var_or_stmt, BlockRV | LoopRV)
        return self.state.get_sref(self.get(rand_var_or_stmt) if is_handle else rand_var_or_stmt)

    @property
    def state(self) -> ScheduleState:
        """Current program with its references and dependences (TVM: `Schedule.state`)."""
        return ScheduleState.of(self.program(), self._srefs)

    def show(self, **options: Any) -> None:
        """Print the current module and the schedule that led to it."""
        self.mod.show(**options)
        self.text().show(**options)

    def _repr_html_(self) -> str:
        """Return the current module and the schedule that led to it as HTML, for notebooks."""
        return script.html(self.mod, self.text())

    def text(self, name: str = "schedule", target: Attrs | None = None) -> ScheduleText:
        """Return the trace as a schedule for the text of the module."""
        return self.trace.as_text(name, target)

    def script(self, name: str = "schedule", **options: Any) -> str:
        """Return the trace as the text of an `S.schedule`. Parsing and applying it gives the same module."""
        return self.text(name).script(**options)

    # --- What can be done besides primitives -----------------------------------------------------------------

    def work_on(self, func_name: str) -> None:
        """Look block names up in function `func_name` from now on. Raises E0102 if it does not exist."""
        if not isinstance(self.mod.functions.get(func_name), tir.PrimFunc):
            raise error("E0102", f"the module has no loop function '{func_name}'")
        state = self._state
        self._state = State(state.module, state.handles, state.insts, func_name, state.seed)

    def copy(self) -> Schedule:
        """Return an independent copy of the schedule; the handles of this one are also valid in it."""
        copy = object.__new__(Schedule)
        vars(copy).update(vars(self), _history=list(self._history), _trees=dict(self._trees), _srefs={})
        copy.seed(self.fork_seed())
        return copy

    def seed(self, seed: int) -> None:
        """Set the seed of the random numbers; -1 chooses one at random."""
        state = self._state
        self._state = State(state.module, state.handles, state.insts, state.working_on, Random(seed).state)

    def fork_seed(self) -> int:
        """Return a seed for another schedule."""
        random = Random(self._state.seed)
        seed = random.fork()
        self.seed(random.state)
        return seed

    def undo(self, steps: int = 1) -> None:
        """Undo the last primitives. Raises ValueError if there are fewer."""
        if not 0 <= steps <= len(self._history):
            raise ValueError(f"cannot undo {steps} of {len(self._history)} steps")
        if steps:
            self._state = self._history[-steps]
            del self._history[-steps:]

    def can_decompose_padding(self, block: BlockRV | str, loop: LoopRV) -> bool:
        """Return whether decompose_padding can be applied to the block and the loop."""
        try:
            self.apply("decompose_padding", block, loop)
        except ScheduleError:
            return False
        self.undo()
        return True

    def remove_rv(self, rv: Handle) -> None:
        """Remove a handle."""
        state = self._state
        handles = {handle: value for handle, value in state.handles.items() if handle is not rv}
        self._state = State(state.module, handles, state.insts, state.working_on, state.seed)

    def replay(self, text: ScheduleText, target: str | None = None) -> dict[str, Any]:
        """Apply the schedule of a text and return the values of its names. A refusal undoes all of its steps.

        `target` is what `S.get_target()` returns; by default that for which the schedule is written, or "llvm".
        """
        self.target = target or kind_of(text.target) or "llvm"
        return self.replay_steps(text.function, text.steps, text.parameters)

    @deep
    def replay_steps(
        self, function: str, steps: tuple[Statement, ...], names: Mapping[str, Any], runner: Runner | None = None
    ) -> dict[str, Any]:
        """Apply the steps with the given values of `names`; return these and the names that the steps bind."""
        before, history = self._state, len(self._history)
        runner = runner or Runner(self, dict(names))
        self.work_on(function)
        try:
            runner.run(steps)
        except TvmsError:
            self._state = before
            del self._history[history:]
            raise
        return runner.known

    def unrolled(self, text: ScheduleText, target: str | None = None) -> ScheduleText:
        """Apply the schedule of a text, and return it as plain calls: no parameters, loops, conditions and functions."""
        self.target, first = target or kind_of(text.target) or "llvm", len(self._state.insts)
        runner = Runner(self, dict(text.parameters))
        self.replay_steps(text.function, text.steps, {}, runner)
        trace = Trace(self._state.insts[first:], function=text.function)
        steps = {index - first: step for index, step in runner.applied.items()}
        return trace.as_text(text.name, text.target, steps, text.trivia)

    def number(self, value: tir.PrimExpr) -> Any:
        """Return the value of an expression of handles of numbers: a number if it is known, else an expression."""
        found = simplify(substitute(value, self._state.handles))
        return found.value if isinstance(found, tir.IntImm) else found

    # --- Primitives ------------------------------------------------------------------------------------------

    def apply(self, name: str, *args: Any, **named: Any) -> Any:
        """Apply the primitive called `name`, as its method does."""
        return self._apply(self._primitive(name), args, named)

    @staticmethod
    def _primitive(name: str) -> Primitive:
        found = primitive_called(name)
        if found is None:
            raise error("E0103", f"no primitive is called '{name}'")
        return found

    def _apply(self, primitive: Primitive, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        return self.apply_at(_caller(), primitive, args, named)

    def program(self) -> Program:
        """Return the current program, read-only, for analyses."""
        state = self._state
        return Program(state.module, self._trees, state.working_on, Random(state.seed), self.target)

    @deep
    def apply_at(
        self, place: Span | str | None, primitive: Primitive, args: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        """Apply a primitive; `place` is the position of the call in a text, or "file.py:12" in Python."""
        state, program = self._state, self.program()
        read: dict[str, Any] = {}
        try:
            given = primitive.bind(args, named)
            read = primitive.read(Reading(program, state.handles), given)
            result = primitive.run(program, read)
            if primitive.is_value:
                return result
            for name in self._with_lets:
                program.separate_lets(name)
            for name in self._with_views:
                check_declared(program, state.module, name)
            self._check_jumps(program)
            check_software_pipelines(program, state.module)
        except Refused as refused:
            before = self.program()
            level = self.error_render_level
            raise refusal(primitive, refused, read, before, state.handles, place, level) from None
        given.update(program.recorded)
        given.pop("decision", None)
        return self._commit(primitive, program, given, result, place)

    def _check_jumps(self, program: Program) -> None:
        """Refuse to change a function with `break` or `continue`, as primitives do not track what they skip."""
        for name in self.jumping:
            if program.module.functions.get(name) is not self.mod.functions.get(name):
                raise RUNS_TO_THE_END.refuse(f"a loop of '{name}' may end early")

    def _commit(
        self, primitive: Primitive, program: Program, given: dict[str, Any], result: Any, place: Span | str | None
    ) -> Any:
        state = self._state
        became = program.became
        handles = {handle: _followed(value, became) for handle, value in state.handles.items()}
        values = _listed(result)
        made = [_handle(value, _origin(primitive, i, len(values), place)) for i, value in enumerate(values)]
        known = zip(made, [_followed(value, became) for value in values], strict=True)
        handles.update({handle: value for handle, value in known if handle is not None})
        results = tuple(made) if isinstance(result, list | tuple) else made[0] if made else None
        names = tuple([_name(value) for value in values])
        inst = Instruction.of(primitive, given, results, names, program.decision)
        self._history.append(state)
        self._state = State(program.module, handles, (*state.insts, inst), state.working_on, program.random.state)
        if self._checks:
            self._verify(primitive)
        return made if isinstance(results, tuple) else results

    def _verify(self, primitive: Primitive) -> None:
        problems = [problem for problem in verify(self.mod) if problem.severity == "error"]
        if problems:
            known = {problem.code for problem in verify(self._given)}
            problems = [problem for problem in problems if problem.code not in known]
        if problems:
            self.undo()
            raise TvmsError(problems)


def _listed(result: Any) -> list[Any]:
    """Return the results of a primitive as a list, with numbers as expressions."""
    if isinstance(result, list | tuple):
        return [make.to_expr(item) if isinstance(item, int) else item for item in result]  # type: ignore[reportUnknownVariableType]
    return [] if result is None else _listed([result])


def _followed(value: Any, became: dict[tir.Stmt, tir.Stmt | None]) -> Any:
    return follow(value, became) if isinstance(value, tir.Stmt) else value


def _handle(value: Any, origin: Origin) -> Handle | None:
    """Return a new handle for a result of a primitive; None, a factor that `split` infers, stays None."""
    if isinstance(value, tir.Block):
        return BlockRV(origin)
    if isinstance(value, tir.For | ComputeLocation):
        return LoopRV(origin)
    return None if value is None else ExprRV("int32", "v")


def _name(value: Any) -> str:
    """Return a base name for a result in the text of the schedule."""
    match value:
        case tir.Block():
            return value.name_hint if value.name_hint.strip("_") else "block"
        case tir.For():
            return value.loop_var.name if value.loop_var.name.strip("_") else "loop"
        case ComputeLocation():
            return "location"
        case _:
            return "_" if value is None else "v"


def _origin(primitive: Primitive, index: int, count: int, place: Span | str | None) -> Origin:
    names = primitive.results
    role = f"the {names[index]} of" if count <= len(names) else f"{names[-1].split()[-1]} {index + 1} of"
    return Origin(primitive.name, role, place, primitive.is_query)


def _caller() -> str | None:
    """Return the file and line outside this package that called a primitive."""
    frame = sys._getframe(1)  # type: ignore[reportPrivateUsage]
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return None if frame is None else f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


__all__ = ["BlockRV", "ExprRV", "LoopRV", "Schedule", "ScheduleError", "State", "StmtSRef"]
