"""The debug adapter: it answers the requests of one client, and sends it the events of a session."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Any, TypeAlias, cast

from ...ir.diagnostics import TvmsError
from ..debugger.session import Exited, Options, Output, Session
from .messages import Channel, Json

Launch: TypeAlias = Callable[[Json, Options], Session]
"""Opens a session for the arguments of a launch request; raises TvmsError or BadRequest."""
Handler: TypeAlias = "Callable[[Adapter, Json], Json | None]"

REQUESTS: dict[str, Handler] = {}


class BadRequest(Exception):
    """A request that cannot be carried out; the text says why."""


def request(name: str) -> Callable[[Handler], Handler]:
    """Register the decorated function as the handler of the request `name`; it returns the body of the response."""

    def register(handler: Handler) -> Handler:
        REQUESTS[name] = handler
        return handler

    return register


class Adapter:
    """One debug session with a client."""

    def __init__(self, channel: Channel, launch: Launch) -> None:
        self.channel = channel
        self.launch = launch
        self.options = Options()
        self.is_stopped = False
        """Whether the run is stopped, so that its state can be shown."""
        self.is_started = False
        self.is_over = False
        self.stop_at_entry = True
        self.first_line = 1
        """The number that the client gives to the first line."""
        self.stop_text = ""
        self.references: list[Any] = []
        """What the references to variables mean while the run is stopped; the first is number 1."""
        self.data: Json = {}
        """The state of the handlers of breakpoints."""
        self._session: Session | None = None
        self._launched: Json = {}
        """The arguments of the launch."""
        self._after: list[Callable[[], None]] = []

    # --- State --------------------------------------------------------------------------------------------------

    @property
    def session(self) -> Session:
        """The session; a request that needs one before the launch is refused."""
        if self._session is None:
            raise BadRequest("nothing is launched")
        return self._session

    @property
    def stopped(self) -> Session:
        """The session, which is stopped; a request that needs its state while it runs is refused."""
        if not self.is_stopped:
            raise BadRequest("the program is running" if self.is_started and not self.is_over else "nothing runs")
        return self.session

    def open(self, arguments: Json) -> None:
        """Open the session that a launch request describes."""
        if self._session is not None:
            raise BadRequest("a program is launched already")
        self._session, self._launched = self.launch(arguments, self.options), arguments

    def reopen(self, arguments: Json | None) -> Session:
        """End the session, and open it again; breakpoints and options stay, and hits are counted anew."""
        old = self.session
        self._launched = arguments or self._launched
        new = self.launch(self._launched, self.options)
        new.options, new.breakpoints = old.options, old.breakpoints
        new.breakpoints.forget_hits()
        self._session, self.is_stopped, self.is_over = new, False, False
        self.references.clear()
        old.end()
        return new

    def after(self, action: Callable[[], None]) -> None:
        """Do something once the response to the current request is sent."""
        self._after.append(action)

    def output(self, text: str, category: str = "console") -> None:
        """Send lines to the client's console."""
        self.channel.event("output", {"category": category, "output": f"{text}\n"})

    # --- Messages -----------------------------------------------------------------------------------------------

    def serve(self) -> None:
        """Answer requests until the client disconnects."""
        while not self.is_over and (message := self.channel.read()) is not None:
            if message.get("type") == "request":
                self.answer(message)
        if self._session is not None:
            self._session.end()

    def answer(self, message: Json) -> None:
        """Answer a request."""
        command, arguments = message.get("command"), message.get("arguments")
        handler = REQUESTS.get(command) if isinstance(command, str) else None
        response: Json = {"type": "response", "request_seq": message.get("seq"), "command": command}
        try:
            if handler is None:
                raise BadRequest(f"there is no request '{command}'")
            body = handler(self, cast("Json", arguments) if isinstance(arguments, dict) else {})
        except (BadRequest, TvmsError) as problem:
            self._after.clear()
            error = {"id": 1, "format": str(problem).replace("{", "{{"), "showUser": command == "launch"}
            self.channel.write(
                {**response, "success": False, "message": _first_line(problem), "body": {"error": error}}
            )
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            self._after.clear()
            text = f"the arguments of '{command}' do not fit: {type(problem).__name__}: {problem}"
            self.channel.write({**response, "success": False, "message": text})
        else:
            self.channel.write({**response, "success": True, "body": body or {}})
        actions, self._after = self._after, []
        for action in actions:
            action()

    # --- Events of the session ------------------------------------------------------------------------------------

    def start_events(self) -> None:
        """Send the events of the session to the client, until it ends or another one takes its place. It runs in a separate thread."""
        Thread(target=self._send_events, args=(self.session,), name="tvms-debug-events", daemon=True).start()

    def _send_events(self, session: Session) -> None:
        while True:
            event = session.events.get()
            if session is not self._session:
                return
            if isinstance(event, Output):
                self.output(event.text)
            elif isinstance(event, Exited):
                self._send_end(event)
                return
            else:
                self.references.clear()
                self.stop_text, self.is_stopped = event.text, True
                reasons = {
                    "fault": "exception",
                    "nan": "exception",
                    "race": "exception",
                    "watch": "data breakpoint",
                    "start": "entry",
                }
                first = event.text.partition("\n")[0]
                self.channel.event(
                    "stopped",
                    {
                        "reason": reasons.get(event.reason, event.reason),
                        "threadId": 1,
                        "allThreadsStopped": True,
                        "hitBreakpointIds": list(event.breakpoints),
                        **({"description": first, "text": event.text} if first else {}),
                    },
                )

    def _send_end(self, event: Exited) -> None:
        self.is_stopped, self.is_over = False, True
        if event.fault is not None and not self.session.options.stop_at_faults:
            self.output(str(event.fault), "stderr")
        self.channel.event("exited", {"exitCode": 0 if event.fault is None else 1})
        self.channel.event("terminated")


class ConsoleStream(io.TextIOBase):
    """A text stream whose lines a client shows: standard output belongs to the protocol."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        with suppress(ValueError):
            self._channel.event("output", {"category": "stdout", "output": text})
        return len(text)


def _first_line(problem: Exception) -> str:
    if isinstance(problem, TvmsError):
        return problem.diagnostics[0].message
    return str(problem)
