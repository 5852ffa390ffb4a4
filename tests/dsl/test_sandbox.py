"""`tvms run --sandbox`: limits and walls around files from strangers."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tvms.dsl.cli import sandbox

ADD_ONE = """#tvms 1
T.prim_func main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.parallel(64):
        B[i] = A[i] + T.float32(1)
"""
FOREVER = """#tvms 1
T.prim_func main(A: T.Buffer((1,), "int32")):
    while A[0] < 1:
        A[0] = 0
"""
HUGE = """#tvms 1
T.prim_func main(B: T.Buffer((1,), "int8")):
    A = T.alloc_buffer((2147483647, 16), "int8")
    for i in range(1):
        A[0, 0] = T.int8(1)
        B[i] = A[0, 0]
"""


def run(path: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a file in a sandbox."""
    file = path / "file.tvms"
    file.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "tvms", "run", str(file), "--sandbox", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_what_is_harmless_runs_as_ever(tmp_path: Path) -> None:
    done = run(tmp_path, ADD_ONE, "--verify")
    assert done.returncode == 0, done.stderr
    assert "verify: agrees with the interpreter" in done.stdout


def test_errors_are_told_as_ever(tmp_path: Path) -> None:
    done = run(tmp_path, ADD_ONE.replace("A[i]", "A[i + 1]"))
    assert done.returncode == 1
    assert "error[E0414]" in done.stderr


@pytest.mark.parametrize("options", [(), ("--interpret",)])
def test_an_endless_loop_is_stopped(tmp_path: Path, options: tuple[str, ...]) -> None:
    done = run(tmp_path, FOREVER, "--timeout", "5", *options)
    assert done.returncode == 1
    assert done.stderr.endswith(
        "error[E0726]: the sandboxed run took more than 5 s\n  = help: allow more with --timeout S\n"
    )


def test_memory_is_limited(tmp_path: Path) -> None:
    done = run(tmp_path, HUGE, "--interpret")
    assert done.returncode == 1
    assert "error[E0717]: there is no memory left for buffer 'A'" in done.stderr


def outcome(attempt: Callable[[], object]) -> str:
    """Return what happens to an attempt behind the walls, in a process of its own."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = "walls are missing" if not sandbox.deny_system_calls() else f"did {attempt()}"
        except OSError as problem:
            said = type(problem).__name__
        os.write(send, said.encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(send)
    with os.fdopen(receive) as told:
        return told.read()


def connect() -> object:
    import socket

    return socket.socket()


def start_thread() -> object:
    import threading

    thread = threading.Thread(target=lambda: None)
    thread.start()
    return thread.join()


needs_seccomp = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"), reason="seccomp is of Linux"
)


@needs_seccomp
@pytest.mark.parametrize(
    "attempt",
    [
        connect,
        os.fork,
        lambda: os.execv("/bin/true", ["true"]),
        lambda: os.posix_spawn("/bin/true", ["true"], {}),
        lambda: os.kill(os.getppid(), 0),
        lambda: Path("/tmp/tvms-sandbox-test").write_bytes(b""),
        lambda: os.open("/dev/null", os.O_RDWR),
        lambda: os.unlink(__file__),
        lambda: os.rename(__file__, __file__ + ".old"),
        lambda: os.mkdir("/tmp/tvms-sandbox-folder"),
        lambda: os.chmod(__file__, 0o600),
        lambda: os.truncate(__file__, 0),
        lambda: os.symlink("/etc/passwd", "/tmp/tvms-sandbox-link"),
        lambda: os.utime(__file__),
    ],
)
def test_the_walls_hold(attempt: Callable[[], object]) -> None:
    assert outcome(attempt) == "PermissionError"


@needs_seccomp
def test_what_a_run_needs_is_allowed() -> None:
    assert outcome(start_thread) == "did None"
    assert outcome(lambda: len(Path(__file__).read_bytes()) > 0) == "did True"
    assert outcome(lambda: os.readlink("/proc/self/exe") != "") == "did True"


def test_every_step_of_the_filter_stays_inside_it() -> None:
    for machine in sandbox._MACHINES.values():
        program = sandbox.seccomp_program(machine)
        assert all(place + 1 + max(step[1], step[2]) < len(program) for place, step in enumerate(program[:-1]))
        assert len(program) < 4096
