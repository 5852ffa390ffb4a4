"""Requests that start, continue, stop and end the run."""

from __future__ import annotations

from typing import cast

from msgspec.structs import replace

from ..debugger.motions import Kind, Motion
from .adapter import Adapter, BadRequest, request
from .messages import Json

FILTERS = {
    "fault": (
        "Faults",
        "Stop where the program faults: an index out of bounds, a failed assertion, a division by zero.",
    ),
    "nan": ("NaN", "Stop after a write of NaN over a number."),
    "race": ("Races", "Stop at accesses that race with those of other threads."),
    "undeclared": ("Undeclared accesses", "Stop at an access that its block does not declare."),
    "uninitialized": ("Uninitialized reads", "Stop at a read of an element that nothing has written."),
}
"""The exception breakpoints: label and description. The last three are chosen before the run starts."""


@request("initialize")
def _initialize(adapter: Adapter, arguments: Json) -> Json:
    adapter.first_line = 0 if arguments.get("linesStartAt1") is False else 1
    filters = [
        {"filter": name, "label": label, "description": text, "default": name == "fault"}
        for name, (label, text) in FILTERS.items()
    ]
    supported = (
        "ConfigurationDoneRequest", "FunctionBreakpoints", "ConditionalBreakpoints", "HitConditionalBreakpoints", "LogPoints",
        "EvaluateForHovers", "StepBack", "DataBreakpoints", "TerminateRequest", "ExceptionInfoRequest",
        "BreakpointLocationsRequest", "CompletionsRequest", "RestartRequest",
    )  # fmt: skip
    return {"exceptionBreakpointFilters": filters, **{f"supports{name}": True for name in supported}}


@request("launch")
def _launch(adapter: Adapter, arguments: Json) -> None:
    adapter.open(arguments)
    adapter.stop_at_entry = bool(arguments.get("stopOnEntry", True)) and not arguments.get("noDebug", False)
    adapter.after(lambda: adapter.channel.event("initialized"))


@request("attach")
def _attach(adapter: Adapter, arguments: Json) -> None:
    raise BadRequest("a running program cannot be debugged: use a launch request")


@request("setExceptionBreakpoints")
def _set_exception_breakpoints(adapter: Adapter, arguments: Json) -> Json:
    chosen = [name for name in arguments["filters"] if isinstance(name, str)]
    for name in chosen:
        if name not in FILTERS:
            raise BadRequest(f"there is no exception filter '{name}': the filters are {', '.join(FILTERS)}")
    is_late = adapter.is_started
    session = adapter.session
    session.options = replace(
        session.options,
        stop_at_faults="fault" in chosen,
        stop_at_nan="nan" in chosen,
        stop_at_races=session.options.stop_at_races if is_late else "race" in chosen,
        trap=session.options.trap if is_late else "undeclared" in chosen,
        track=session.options.track if is_late else "uninitialized" in chosen,
    )
    late = "choose it before the run starts"
    applied = {
        "race": session.options.stop_at_races,
        "undeclared": session.options.trap,
        "uninitialized": session.options.track,
    }
    return {
        "breakpoints": [
            {"verified": applied.get(name, True), **({} if applied.get(name, True) else {"message": late})}
            for name in chosen
        ]
    }


@request("configurationDone")
def _configuration_done(adapter: Adapter, arguments: Json) -> None:
    if adapter.is_started:
        raise BadRequest("the run has started already")
    adapter.is_started = True
    _start(adapter)


def _start(adapter: Adapter) -> None:
    """Start the run once the response is sent."""
    session, motion = adapter.session, Motion("into" if adapter.stop_at_entry else "continue")

    def start() -> None:
        session.start(motion)
        adapter.start_events()

    adapter.after(start)


@request("restart")
def _restart(adapter: Adapter, arguments: Json) -> None:
    """Start the program from the beginning, as its file is now."""
    if not adapter.is_started:
        raise BadRequest("the run has not started")
    changed = arguments.get("arguments")
    adapter.reopen(cast("Json", changed) if isinstance(changed, dict) and "program" in changed else None)
    _start(adapter)


@request("threads")
def _threads(adapter: Adapter, arguments: Json) -> Json:
    return {"threads": [{"id": 1, "name": adapter.session.entry}]}


# --- Motions --------------------------------------------------------------------------------------------------------


def _go(adapter: Adapter, motion: Motion, is_back: bool = False) -> None:
    """Continue a stopped run once the response is sent."""
    session = adapter.stopped
    adapter.is_stopped = False
    adapter.after(lambda: session.back(motion) if is_back else session.resume(motion))


def _motion(name: str, kind: Kind, is_back: bool = False) -> None:
    @request(name)
    def move(adapter: Adapter, arguments: Json) -> Json:
        _go(adapter, Motion(kind, adapter.stopped.timeline.shown), is_back)
        return {"allThreadsContinued": True} if kind == "continue" else {}


_motion("continue", "continue")
_motion("next", "over")
_motion("stepIn", "into")
_motion("stepOut", "out")
_motion("tvms/stepOverLoop", "loop")
_motion("stepBack", "over", is_back=True)
_motion("reverseContinue", "continue", is_back=True)


@request("tvms/runUntil")
def _run_until(adapter: Adapter, arguments: Json) -> None:
    """Continue to a line, or until a condition such as `i == 3` holds."""
    origin = adapter.stopped.timeline.shown
    condition, line = arguments.get("condition"), arguments.get("line")
    if isinstance(condition, str):
        _go(adapter, Motion("continue", origin, until=condition))
    elif isinstance(line, int):
        _go(adapter, Motion("continue", origin, line=line + 1 - adapter.first_line))
    else:
        raise BadRequest("tvms/runUntil needs a condition or a line")


@request("pause")
def _pause(adapter: Adapter, arguments: Json) -> None:
    adapter.session.pause()


@request("terminate")
def _terminate(adapter: Adapter, arguments: Json) -> None:
    session = adapter.session
    if adapter.is_started:
        adapter.after(session.end)
    else:
        adapter.after(lambda: adapter.channel.event("terminated"))


@request("disconnect")
def _disconnect(adapter: Adapter, arguments: Json) -> None:
    adapter.is_over = True
