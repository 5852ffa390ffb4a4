"""Ctrl-C ends every command with 130, without a traceback, and leaves nothing behind, whenever it comes."""

from __future__ import annotations

import contextlib
import io
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

import pytest
from tvms.dsl.cli import main

ROOT = Path(__file__).parent.parent.parent
MATMUL = str(ROOT / "samples/02_matmul.tvms")
MOMENTS = 7
COMMANDS = {
    "check": ["check", "--level", "races", MATMUL],
    "print": ["print", MATMUL, "-o", "OUT/printed.tvms"],
    "format": ["fmt", "--diff", MATMUL],
    "interpret": ["run", "--interpret", MATMUL],
    "compile": ["compile", "--emit", "obj", MATMUL, "-o", "OUT/object.o"],
    "passes": ["opt", "--passes", "Simplify", MATMUL],
    "draw": ["view", MATMUL, "-o", "OUT/drawn.svg"],
    "fuzz": ["fuzz", "locate", "--n", "2", "--seed", "1", "--save", "OUT"],
}
SHUTTING_DOWN = ("cb", "__del__")
"""Functions that Python calls where nothing that they raise can go on."""


def interrupted_at(arguments: list[str], moment: int) -> tuple[int, int, str]:
    """Run a command that is interrupted at its n-th call of a function; return its code, its calls and what it wrote."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        if event == "call" and frame.f_code.co_name not in SHUTTING_DOWN:
            calls += 1
            if calls == moment:
                sys.setprofile(None)
                raise KeyboardInterrupt

    output = io.StringIO()
    before = sys.getprofile()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        sys.setprofile(count)
        try:
            code = main(arguments)
        finally:
            sys.setprofile(before)
    return code, calls, output.getvalue()


@pytest.mark.parametrize("name", COMMANDS)
def test_at_many_calls(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ignored: list[object] = []  # Python ignores exceptions in finalizers and callbacks of weak references
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    arguments = [part.replace("OUT", str(tmp_path)) for part in COMMANDS[name]]
    main(arguments)  # imports what it needs
    code, total, output = interrupted_at(arguments, -1)
    assert code in (0, 1), output
    whole = {path.name for path in tmp_path.iterdir()}
    for number in range(MOMENTS):
        for path in tmp_path.iterdir():
            path.unlink()
        moment = 10 + (total - 10) * number // MOMENTS  # the first calls are those of `main` before it runs anything
        code, calls, output = interrupted_at(arguments, moment)
        assert code == 130 or calls < moment or ignored, (moment, code, output)
        ignored.clear()
        assert "Traceback" not in output
        assert {path.name for path in tmp_path.iterdir()} <= whole, moment


INTERRUPTED = """
import sys
sys.argv = ["tvms", "check", {file!r}]
calls = 0
def count(frame, event, argument):
    global calls
    if event == "call" and frame.f_code.co_name not in {shutting_down!r}:
        calls += 1
        if calls == {moment}:
            sys.setprofile(None)
            raise KeyboardInterrupt
import tvms_command
sys.setprofile(count)
sys.exit(tvms_command.main())
"""


@pytest.mark.parametrize("moment", [3, 50, 2000, 20_000])
def test_while_it_is_imported(moment: int) -> None:
    program = INTERRUPTED.format(file=MATMUL, shutting_down=SHUTTING_DOWN, moment=moment)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def _heed_interrupts() -> None:
    """A test that runs in the background of a shell may have inherited that SIGINT is ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


ENDLESS = (
    "T.prim_func main(A: T.Buffer((4,), 'float32')):\n    while A[0] == A[0]:\n        A[1] = A[1] + T.float32(1)\n"
)
WATCHED = """
import sys, threading, time, tvms_command
main = threading.main_thread().ident
def watch():
    while True:
        frame = sys._current_frames()[main]
        while frame is not None and not frame.f_code.co_filename.endswith("interp/statements.py"):
            frame = frame.f_back
        if frame is not None:
            print("interpreting", flush=True)
            return
        time.sleep(0.01)
print("ready", flush=True)
threading.Thread(target=watch, daemon=True).start()
sys.exit(tvms_command.main())
"""
"""Runs the command, and says when it interprets a statement."""


def _started(*arguments: str) -> subprocess.Popen[str]:
    """Start a command on the endless program."""
    command = [sys.executable, "-c", WATCHED, "run", *arguments, "-"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
        preexec_fn=_heed_interrupts,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.stdin.write(ENDLESS)
    process.stdin.close()
    process.stdin = None
    return process


def _check_interrupted(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert "Traceback" not in errors
    assert process.returncode in (130, -signal.SIGINT)  # which is 130 in a shell, too


def test_a_signal_while_a_program_is_interpreted() -> None:
    process = _started("--interpret")
    assert process.stdout is not None
    assert process.stdout.readline() == "interpreting\n"
    _check_interrupted(process)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux says which signals a process catches")
def test_a_signal_while_machine_code_runs() -> None:
    """Python cannot raise KeyboardInterrupt then: while machine code runs, the signal has its default effect."""
    process = _started()
    while process.poll() is None and _catches_interrupts(process.pid):
        time.sleep(0.05)
    _check_interrupted(process)


def _catches_interrupts(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    (caught,) = (line.split()[1] for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught, 16) >> (signal.SIGINT - 1) & 1)
