"""A client of the debug adapter: raw messages over the standard streams of `tvms dap`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from threading import Timer
from typing import Any

SECONDS = 120


class Client:
    """A debug session with a process of its own; it is killed if it takes too long."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tvms.dsl.cli", "dap"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.timer = Timer(SECONDS, self.process.kill)
        self.timer.start()
        self.sequence = 0
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.timer.cancel()
        self.process.kill()
        self.process.communicate()

    def send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """Return the next message."""
        assert self.process.stdout is not None
        head = self.process.stdout.readline()
        assert head.startswith(b"Content-Length: "), (head, self.process.stderr and self.process.stderr.read())
        assert self.process.stdout.readline() == b"\r\n"
        return json.loads(self.process.stdout.read(int(head.split()[1])))

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Send a request; return its response. Events before it are kept."""
        self.sequence += 1
        message = {"seq": self.sequence, "type": "request", "command": command, "arguments": arguments}
        data = json.dumps(message).encode()
        self.send(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))
        while True:
            answer = self.read()
            if answer["type"] == "response":
                assert (answer["command"], answer["request_seq"]) == (command, self.sequence)
                return answer
            self.events.append(answer)

    def get(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Send a request that succeeds; return the body of its response."""
        answer = self.ask(command, **arguments)
        assert answer["success"], answer
        return answer["body"]

    def refused(self, command: str, **arguments: Any) -> str:
        """Send a request that is refused; return the message."""
        answer = self.ask(command, **arguments)
        assert not answer["success"], answer
        return answer["message"]

    def event(self, name: str) -> dict[str, Any]:
        """Return the body of the next event `name`; events before it are dropped."""
        while True:
            event = self.events.pop(0) if self.events else self.read()
            assert event["type"] == "event", event
            if event["event"] == name:
                return event["body"]

    def stop(self, command: str, **arguments: Any) -> tuple[str, int]:
        """Send a motion; return why the run stopped after it, and the line."""
        self.get(command, threadId=1, **arguments)
        return self.stopped()

    def stopped(self) -> tuple[str, int]:
        reason = self.event("stopped")["reason"]
        return reason, self.get("stackTrace", threadId=1)["stackFrames"][0]["line"]

    def launch(self, path: Path, **arguments: Any) -> None:
        """Initialize, and launch a program."""
        self.get("initialize", adapterID="tvms")
        self.get("launch", program=str(path), **arguments)
        self.event("initialized")

    def start(self, path: Path, **arguments: Any) -> tuple[str, int]:
        """Launch a program without breakpoints; return where it stops."""
        self.launch(path, **arguments)
        self.get("configurationDone")
        return self.stopped()

    def values(self, frame: int = 1) -> dict[str, str]:
        """Return all variables of a stack frame."""
        return {
            item["name"]: item["value"]
            for scope in self.get("scopes", frameId=frame)["scopes"]
            for item in self.get("variables", variablesReference=scope["variablesReference"])["variables"]
        }
