"""Writing commands under SIGKILL, full disks and failing disks: each file is unchanged or completely replaced.

    python tests/testing/write_faults.py --kills 500 --full 200

Each trial runs a command in a child process. Its system calls that write are counted, and one of them kills the process
or fails with ENOSPC or EIO. Afterwards every file must be the old one or the new one.
"""

from __future__ import annotations

import argparse
import errno
import os
import random
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

CALLS = ("open", "write", "fchmod", "fsync", "close", "rename", "mkdir", "link", "unlink")
TEXT = 'T.prim_func main( A: T.Buffer((4,), "float32") ):\n    for i in range(4):\n        A[i] = T.float32(1)\n'
COMMANDS = (
    ("fmt", "program.tvms"),
    ("print", "program.tvms", "-o", "out.tvms"),
    ("convert", "program.tvms", "--to", "tvm-0.21", "-o", "out.py"),
    ("convert", "tree", "--to", "tvm-0.21", "-o", "folder"),
    ("opt", "program.tvms", "--passes", "Normalize", "-o", "out.tvms"),
    ("compile", "program.tvms", "--emit", "tir", "-o", "out.tir"),
    ("view", "program.tvms", "-o", "out.svg"),
    ("run", "program.tvms", "--interpret", "--out", "results"),
)
OLD = b"old\n"


def prepare(folder: Path) -> None:
    """Create the files that the commands read and replace."""
    (folder / "program.tvms").write_text(TEXT)
    for name in ("tree", "folder", "results"):
        (folder / name).mkdir()
    (folder / "tree" / "a.tvms").write_text(TEXT)
    (folder / "tree" / "b.tvms").write_text(TEXT)
    for name in ("out.tvms", "out.py", "out.tir", "out.svg", "folder/a.py", "folder/b.py", "results/A.npy"):
        (folder / name).write_bytes(OLD)


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder, without the temporary ones that a killed process leaves."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths if not path.name.startswith(".tvms-")}


@contextmanager
def faults(number: int, strike: Callable[[], Any]) -> Iterator[Callable[[], int]]:
    """Call `strike` at the system call with this number. Yield a function that returns the number of calls."""
    seen = 0

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            nonlocal seen
            seen += 1
            if seen - 1 == number:
                if real.__name__ == "close":
                    real(*args)
                strike()
            return real(*args, **options)

        return call

    old = {name: getattr(os, name) for name in CALLS}
    for name, real in old.items():
        setattr(os, name, counted(real))
    try:
        yield lambda: seen
    finally:
        for name, real in old.items():
            setattr(os, name, real)


def run_child(folder: Path, command: tuple[str, ...], number: int | None, fault: str) -> int:
    """Run a command in a child process with one fault. Return its exit code, or the negative number of the signal that
    ended it. Without a number, return the number of calls.
    """
    from tvms.dsl.cli import main

    def strike() -> None:
        if fault == "SIGKILL":
            os.kill(os.getpid(), signal.SIGKILL)
        raise OSError(getattr(errno, fault), os.strerror(getattr(errno, fault)))

    child = os.fork()
    if child == 0:
        os.chdir(folder)
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        with faults(-1 if number is None else number, strike) as seen:
            code = main([*command])
        os._exit(code if number is not None else seen())
    _, status = os.waitpid(child, 0)
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


@cache
def warm_up() -> None:
    """Run each command once, so that child processes need not import anything."""
    from tvms.dsl.cli import main

    with tempfile.TemporaryDirectory() as name, chdir(name), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        prepare(Path(name))
        for command in COMMANDS:
            main([*command])


@cache
def undisturbed(command: tuple[str, ...]) -> tuple[dict[str, bytes], int]:
    """Return the files that a command leaves, and the number of its calls."""
    warm_up()
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name))
        count = run_child(Path(name), command, None, "")
        return contents(Path(name)), abs(count)


def trial(command: tuple[str, ...], number: int, fault: str) -> str | None:
    """Return the error after a fault; None if there is none."""
    wanted, _ = undisturbed(command)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        before = contents(folder)
        code = run_child(folder, command, number, fault)
        after = contents(folder)
        leftovers = [path.name for path in folder.rglob(".tvms-*")]
    where = f"{' '.join(command)}: {fault} at call {number}"
    for path in before.keys() | after.keys():
        if after.get(path) not in (before.get(path), wanted.get(path)):
            return f"{where}: '{path}' is neither old nor new"
    if fault == "SIGKILL":
        return None if code == -signal.SIGKILL else f"{where}: ends with {code}"
    if leftovers:
        return f"{where}: leaves {leftovers}"
    return None if code in (0, 2) else f"{where}: ends with {code}"


def campaign(fault: str, count: int, seed: int = 1) -> tuple[int, list[str]]:
    """Return the number of faults, and the failures."""
    generator, wrong = random.Random(seed), list[str]()
    for _ in range(count):
        command = generator.choice(COMMANDS)
        problem = trial(command, generator.randrange(undisturbed(command)[1]), fault)
        wrong += [problem] if problem else []
    return count, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--full", type=int, default=200)
    arguments = parser.parse_args()
    failed = 0
    for fault, count in (("SIGKILL", arguments.kills), ("ENOSPC", arguments.full), ("EIO", arguments.full)):
        done, wrong = campaign(fault, count)
        failed += len(wrong)
        print(f"{fault}: {done} faults, {len(wrong)} failures", flush=True)
        print("".join(f"  {name}\n" for name in wrong), end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
