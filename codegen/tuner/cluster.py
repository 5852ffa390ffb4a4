"""A runner on many machines: each program is a task of dask.distributed (extra `dask`).

Dask assigns the tasks, and gives those of a worker that ended or does not answer to another one. A worker measures in a process
of its own, like a tuner on one machine. Its resource `device` is the number of measurements that it does at a time; workers on the
same machine take turns (`worker`).
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Timer, get_ident
from typing import Any

from msgspec.structs import replace

from ...ir.diagnostics import TvmsError, error
from ..target import get_target
from .protocol import Batch, Outcome, Workload
from .runner import LocalRunner, Runner
from .tasks import rules_version, target_key

RESOURCE = "device"
"""The resource of a worker that a task needs one of."""
_CONNECTING = 5.0
"""Seconds to wait for a scheduler."""
_PATIENCE = 30.0
"""Seconds to wait for a worker if there is none, and without a sign of life of an embedded one."""
_SLACK = 120.0
"""Seconds of a task beside its measurement: the start of a process, and the turns of other workers on the machine."""
_BASELINE = 10
"""Time limit of a program and its baseline in time limits of a trial."""


class DaskRunner:
    """Measures on the workers of a scheduler at `address`, or on `workers` processes of this machine."""

    def __init__(
        self, address: str | None = None, workers: int = 0, factory: Callable[[], Runner] = LocalRunner, patience: float = _PATIENCE
    ) -> None:  # fmt: skip
        """Connect to a scheduler, or start the processes; `factory` makes the runner of a worker. Raises E1104 if there is no
        scheduler or worker, and E0812 if dask is not installed.
        """
        self._dask = _library()
        self._factory, self._patience = factory, patience
        self._cluster = _local(self._dask, workers, patience) if address is None else None
        self._client = _connected(self._dask, address or self._cluster)
        self._workloads: dict[str, tuple[Any, str]] = {}
        """Workloads as results that dask can make again, and what a machine has to be for them."""
        try:
            self._check_workers(address)
        except TvmsError:
            self.close()
            raise

    def open(self, workload: Workload) -> Outcome:
        """See `Runner`."""
        machine = _machine(workload)
        self._workloads[workload.key] = self._client.submit(_same, workload, pure=False), machine
        ((_, outcome),) = self._outcomes(workload.key, [None])
        return outcome

    def measure(self, batch: Batch) -> Iterator[tuple[int, Outcome]]:
        """See `Runner`."""
        return self._outcomes(batch.key, [replace(batch, programs=(program,)) for program in batch.programs])

    def close(self) -> None:
        """See `Runner`; the workers of a scheduler go on without their processes."""
        with suppress(Exception):  # a scheduler that has ended cannot be told
            if self._cluster is None:
                self._client.run(_release, wait=False, on_error="ignore")
        self._client.close(timeout=2)
        if self._cluster is not None:
            self._cluster.close(timeout=10)

    # --- Tasks

    def _outcomes(self, key: str, parts: Sequence[Batch | None]) -> Iterator[tuple[int, Outcome]]:
        workload, machine = self._workloads[key]
        numbers = {
            self._client.submit(
                measure_part, workload, part, machine, self._factory, resources={RESOURCE: 1}, retries=2, pure=False
            ): number
            for number, part in enumerate(parts)
        }  # fmt: skip
        try:
            while numbers:
                for future in self._finished(list(numbers)):
                    yield numbers.pop(future), self._outcome(future)
        finally:
            self._client.cancel(list(numbers))

    def _finished(self, futures: list[Any]) -> set[Any]:
        """Return the tasks that are done, at least one. Raises E1104 if there is no worker for some time."""
        last_seen = time.monotonic()
        while True:
            try:
                with self._client.as_current():
                    return self._dask.wait(futures, timeout=1, return_when="FIRST_COMPLETED").done
            except TimeoutError:
                if self._client.status == "running" and self._suitable():
                    last_seen = time.monotonic()
                if time.monotonic() - last_seen > self._patience:
                    help = "start workers, and run the same command again: all measurements are kept"
                    raise error("E1104", "all workers of the scheduler have ended", None, help) from None
            except Exception as problem:  # dask raises errors of its transports as they are
                raise _lost(problem) from None

    def _outcome(self, future: Any) -> Outcome:
        """Return the result of a task; tasks that end several workers are crashes."""
        if future.status == "finished":
            return future.result()
        problem = future.exception() if future.status == "error" else None
        if isinstance(problem, self._dask.KilledWorker):
            return Outcome("crash", "the workers that measured it ended")
        if isinstance(problem, TvmsError):
            raise problem
        if problem is None:
            raise _lost(future.status)
        return Outcome("device lost", f"{type(problem).__name__}: {problem}")

    # --- Workers

    def _suitable(self) -> list[str]:
        """Return the addresses of the workers that measure."""
        found: dict[str, Any] = self._client.scheduler_info(n_workers=-1)["workers"]
        return [address for address, worker in found.items() if worker["resources"].get(RESOURCE, 0) >= 1]

    def _check_workers(self, address: str | None) -> None:
        """Raise E1104 unless there are workers that measure, all with this version of the compiler."""
        deadline = time.monotonic() + (_CONNECTING if address else self._patience)
        while not (found := self._suitable()):
            if time.monotonic() > deadline:
                help = f"start one: dask worker {address} --nthreads 1 --resources {RESOURCE}=1"
                raise error("E1104", f"the scheduler has no worker with the resource '{RESOURCE}'", None, help)
            time.sleep(0.05)
        try:
            versions: dict[str, str] = self._client.run(rules_version, workers=found)
        except Exception as problem:  # what a worker raises without tvms, or with another one, is not known here
            help = "install the same version of tvms-lang where the workers run"
            raise error("E1104", f"the workers cannot use tvms: {problem}", None, help) from None
        for worker, version in versions.items():
            if version != rules_version():
                raise error(
                    "E1104", f"worker {worker} has another version of tvms", None, "install the same version there"
                )


# --- On a worker ------------------------------------------------------------------------------------------------


def dask_setup(_: object) -> None:
    """Let Ctrl-C end the tuner alone, which ends its embedded workers then; dask calls this at their start."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


_RUNNERS: dict[int, tuple[Runner, dict[str, Workload]]] = {}
"""The runner of each thread of a worker, and its open workloads."""


def measure_part(workload: Workload, part: Batch | None, machine: str, factory: Callable[[], Runner]) -> Outcome:
    """Measure a batch of one program on this worker, or the baseline of its workload for None. Raises E1104 on machines that differ from the
    tuner's in what schedules depend on.
    """
    if _machine(workload) != machine:
        reason = f"a worker has another processor: {_machine(workload)}, not {machine}"
        raise error("E1104", reason, None, "let all workers of a scheduler run on machines like this one")
    runner, opened = _RUNNERS.setdefault(get_ident(), (factory(), {}))
    with _limited(runner, _SLACK + _BASELINE * workload.limits.seconds * max(part.effort if part else 1, 1)):
        if part is None or opened.get(workload.key) != workload:
            outcome = runner.open(workload)
            opened[workload.key] = workload
            if part is None:
                return outcome
            if outcome.status != "ok":
                del opened[workload.key]
                return Outcome("device lost", f"the baseline cannot be measured on this worker: {outcome.message}")
        ((_, found),) = runner.measure(part)
    return found


@contextmanager
def _limited(runner: Runner, seconds: float) -> Generator[None]:
    """End the process of a runner that needs too much time; its trial is a crash then."""
    timer = Timer(seconds, runner.close)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


async def _release() -> None:
    """End the processes of the runners of this worker; dask waits only for functions that are not asynchronous."""
    while _RUNNERS:
        _RUNNERS.popitem()[1][0].close()


def _machine(workload: Workload) -> str:
    return target_key(get_target(workload.target), workload.threads)


def _same(workload: Workload) -> Workload:
    return workload


# --- Schedulers -------------------------------------------------------------------------------------------------


def _library() -> Any:
    try:
        import distributed
    except ImportError:
        raise error("E0812", "measuring on several workers needs dask", None, "pip install 'tvms-lang[dask]'") from None
    return distributed


def _local(dask: Any, workers: int, patience: float) -> Any:
    """Return a scheduler and its workers as processes of this machine."""
    return dask.LocalCluster(
        n_workers=workers, threads_per_worker=1, resources={RESOURCE: 1}, dashboard_address="127.0.0.1:0", silence_logs=50,
        preload=[__name__], scheduler_kwargs={"worker_ttl": f"{patience}s"},
    )  # fmt: skip


def _connected(dask: Any, address: Any) -> Any:
    try:
        if isinstance(address, str):
            dask.comm.registry.get_backend(dask.comm.parse_address(address)[0])
            dask.comm.get_address_host_port(address, strict=True)
        return dask.Client(address, timeout=_CONNECTING, set_as_default=False)
    except (OSError, ValueError) as problem:
        reason = f"the scheduler '{address}' cannot be reached: {problem}"
        raise error(
            "E1104", reason, None, "start one with: dask scheduler, and pass the address that it prints"
        ) from None


def _lost(problem: object) -> TvmsError:
    help = "start it, and run the same command again: all measurements are kept"
    return error("E1104", f"the connection to the scheduler was lost: {problem}", None, help)
