"""Runners: they measure programs for a tuner. `LocalRunner` does so in a worker process on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Protocol

from ...ir.diagnostics import error
from .protocol import Batch, Jobs, Outcome, Workload, receive, send

_PROGRAM = "import tvms; from tvms.codegen.tuner.worker import serve; serve()"


class Runner(Protocol):
    """What measures programs."""

    def open(self, workload: Workload) -> Outcome:
        """Measure the baseline of a workload; its programs are measured from now on."""
        ...

    def measure(self, batch: Batch) -> Iterator[tuple[int, Outcome]]:
        """Yield the outcome of each program of a batch with its position, in any order."""
        ...

    def close(self) -> None:
        """End all processes."""
        ...


class WorkerProcess:
    """A worker (`worker.serve`), which is started when it is needed, and ends with this process."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            if self.process.poll() is None:
                with suppress(OSError):  # it may have ended just now
                    os.killpg(self.process.pid, signal.SIGKILL)  # with its forks
            self.process.wait()
            for stream in (self.process.stdin, self.process.stdout):
                if stream is not None:
                    with suppress(OSError):  # closing flushes to a process that may have ended
                        stream.close()
            self.process = None

    def ask(self, request: Workload) -> Outcome | None:
        """Return the answer to a workload; None if the process ended."""
        stream = self._send(request)
        return None if stream is None else receive(stream, Outcome)

    def ask_all(self, request: Batch | Jobs, count: int) -> Iterator[tuple[int, Outcome]]:
        """Yield the outcomes of the `count` parts of a request with their positions; the process is gone if it ended, and is ended if not all
        outcomes are taken, so that the next request does not get the others.
        """
        left = set(range(count))
        try:
            stream = self._send(request)
            while left:
                found = receive(stream, tuple[int, Outcome]) if stream is not None else None
                if found is None:
                    self.close()
                    for number in sorted(left):
                        yield number, Outcome("crash", "the worker ended")
                    return
                left.discard(found[0])
                yield found
        except BaseException:
            if left:
                self.close()
            raise

    def _send(self, request: Workload | Batch | Jobs) -> Any:
        process = self.process or self._start()
        assert process.stdin is not None
        try:
            send(process.stdin, request)  # type: ignore[arg-type]
        except OSError:
            return None
        return process.stdout

    def _start(self) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "OMP_WAIT_POLICY": "passive"}
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment,
                process_group=0,  # Ctrl-C is for the tuner
            )  # fmt: skip
        except OSError as problem:
            raise error(
                "E1104",
                f"no process can be started to measure: {problem.strerror}",
                None,
                "check the limits of this machine",
            ) from None
        return self.process


class LocalRunner:
    """Measures in a worker process; if that ends, a new one takes over, and the trial that was running counts as a crash."""

    def __init__(self) -> None:
        self._worker = WorkerProcess()
        self._workloads: dict[str, Workload] = {}

    @property
    def process(self) -> subprocess.Popen[bytes] | None:
        """The worker process, if there is one."""
        return self._worker.process

    def open(self, workload: Workload) -> Outcome:
        """See `Runner`."""
        self._workloads[workload.key] = workload
        return self._worker.ask(workload) or Outcome("crash", "the worker ended")

    def measure(self, batch: Batch) -> Iterator[tuple[int, Outcome]]:
        """See `Runner`."""
        yield from self._worker.ask_all(batch, len(batch.programs))
        if self._worker.process is None:
            for workload in list(self._workloads.values()):
                self.open(workload)

    def close(self) -> None:
        """See `Runner`."""
        self._worker.close()
