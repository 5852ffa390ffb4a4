"""Long runs of all laws, which go on where they were broken off, and past failures.

    python tests/testing/long_run.py FOLDER --n 20000 --seed 3001            all laws
    python tests/testing/long_run.py FOLDER --n 20000 --seed 3001 LAW…       only these
    python tests/testing/long_run.py FOLDER --report                         one line for each law of FOLDER

Laws take turns of `--turn` seconds of processor time, so that a run of any length has examples of each law. FOLDER keeps the state
of each law, which `tvms fuzz --state` and `feature_matrix.py` read, and each failure as a file that `tvms fuzz LAW FILE` checks
again. A law runs in a process of its own; a batch that kills it counts as a failure.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from tvms.dsl.cli.fuzz_command import compiled, compiled_together
from tvms.testing.campaign import BATCH, Batch, State, begin, run_batch
from tvms.testing.laws import LAWS

SLOW = {"cost": 0.01, "artifacts": 0.1}
"""Share of the number of examples, for laws whose single examples take long."""


def state_of(folder: Path, law: str, n: int, seed: int | None) -> State:
    """Return the state of a law in a run of `n` examples, which begins if it has no state."""
    return begin(folder / f"{law}.json", law, max(1, int(n * SLOW.get(law, 1))), seed, "", "")


def left(state: State) -> list[int]:
    """Return the numbers of the batches still to check."""
    return [number for number in range(-(-state.n // BATCH)) if number not in state.done]


def take_turn(folder: Path, law: str, n: int, seed: int, seconds: float) -> None:
    """Check batches of a law for some seconds of processor time, in this process."""
    state, start = state_of(folder, law, n, seed), time.process_time()
    for number in left(state):
        (folder / f"{law}.running").write_text(str(number))
        size = min(BATCH, state.n - number * BATCH)
        finish(folder, state, run_batch(law, None, seed, number, size, compiled, compiled_together))
        if time.process_time() - start > seconds:
            break
    (folder / f"{law}.running").unlink(missing_ok=True)


def finish(folder: Path, state: State, batch: Batch) -> None:
    """Save the result of a batch. A failure becomes a file."""
    state.total.add(batch)
    state.done.add(batch.number)
    if batch.failure:
        path = folder / f"{state.law}_{batch.number}.tvms"
        reason = "\n# ".join(batch.failure.reason.splitlines())
        path.write_text(
            f"# law: {state.law}, seed {state.seed}, batch {batch.number}\n# {reason}\n{batch.failure.text}\n"
        )
    state.write(folder / f"{state.law}.json")


def run_apart(folder: Path, law: str, n: int, seed: int, seconds: float) -> None:
    """Let a child process take a turn. The batch that kills it counts as a failure without a text."""
    own = [
        sys.executable,
        __file__,
        str(folder),
        law,
        "--n",
        str(n),
        "--seed",
        str(seed),
        "--turn",
        str(seconds),
        "--own",
    ]
    result = subprocess.run(own, capture_output=True, text=True, check=False)
    running = folder / f"{law}.running"
    if result.returncode == 0:
        return
    if not running.exists():
        raise RuntimeError(result.stderr)
    state = state_of(folder, law, n, seed)
    number = int(running.read_text())
    (folder / f"{law}_{number}.txt").write_text(f"ended with exit code {result.returncode}\n{result.stderr}")
    state.done.add(number)
    state.write(folder / f"{law}.json")
    running.unlink()


def report(folder: Path, law: str, n: int, seed: int | None) -> str:
    """Return the line of a law."""
    state = state_of(folder, law, n, seed)
    failures = sorted(path.name for path in folder.glob(f"{law}_[0-9]*.t*"))
    total, shown = state.total, f": {', '.join(failures)}" if failures else ""
    discarded = total.started - total.checked - len([name for name in failures if name.endswith(".tvms")])
    return f"{law}: {total.checked} of {state.n} examples, {discarded} discarded, {len(failures)} failures{shown}"


def main() -> None:
    """Run laws in turns until all examples are checked, then print their lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("laws", nargs="*", metavar="LAW")
    parser.add_argument("--n", type=int, default=20_000, help="examples of each law")
    parser.add_argument("--seed", type=int, default=3001)
    parser.add_argument("--turn", type=float, default=120.0, help="seconds of processor time of a turn")
    parser.add_argument("--report", action="store_true", help="only print the lines")
    parser.add_argument("--own", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_intermixed_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    laws = given.laws or [*LAWS]
    if given.own:
        take_turn(given.folder, laws[0], given.n, given.seed, given.turn)
        return
    waiting = [] if given.report else laws
    while waiting:
        for law in waiting:
            run_apart(given.folder, law, given.n, given.seed, given.turn)
            print(report(given.folder, law, given.n, given.seed), flush=True)
        waiting = [law for law in waiting if left(state_of(given.folder, law, given.n, given.seed))]
    seed = None if given.report else given.seed  # a report is about the runs in the folder
    print("\n".join([report(given.folder, law, given.n, seed) for law in laws]))


if __name__ == "__main__":
    main()
