"""Evidence from a machine with a GPU: every feature of kernels, checked, and the speed of the main ones, in one JSON and
one Markdown file.

    python bench/gpu_evidence.py --out build/gpu_evidence
    python bench/gpu_evidence.py --simulate          small sizes, on the processor

Each part runs in a process of its own with a time limit, so that one that crashes or hangs does not stop the others; its
output and its PTX are kept in the folder. Results are compared with NumPy. Torch, if it is installed, is a reference for
the speed.
"""

from __future__ import annotations

import argparse
import json
import platform
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tvms.codegen.gpu.driver import why_missing

sys.path.insert(0, str(Path(__file__).parent))

SECONDS = 480
"""Time limit of all parts together."""
LONGEST = 90
"""Time limit of a part in seconds."""


def part_names() -> list[str]:
    """Return the names of all parts, in the order in which they run."""
    return list(_parts())


def _parts() -> dict[str, Callable[[Any], Iterator[dict[str, Any]]]]:
    """Return the parts by name."""
    from gpu_evidence_operators import PARTS as MORE
    from gpu_evidence_parts import PARTS

    return PARTS | MORE


def run_part(command: Sequence[str], log: Path, seconds: float) -> str:
    """Run a part as a process that writes its output to `log`; return "" or how it failed."""
    with log.open("w", encoding="utf-8") as output:
        try:
            code = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, timeout=seconds).returncode
        except subprocess.TimeoutExpired:
            return f"took more than {seconds:.0f} s"
    if code < 0:
        return f"ended by {signal.Signals(-code).name}"
    return f"ended with code {code}" if code else ""


def collect(
    names: Sequence[str], command: Callable[[str], Sequence[str]], folder: Path, seconds: float
) -> list[dict[str, Any]]:
    """Run the parts one after the other; return the result of each, or how it failed."""
    results: list[dict[str, Any]] = []
    end = time.monotonic() + seconds
    for name in names:
        start = time.monotonic()
        left = min(end - start, LONGEST)
        log, found = folder / f"{name}.log", folder / f"{name}.json"
        failure = run_part(command(name), log, left) if left > 1 else "was not run: no time was left"
        rows = json.loads(found.read_text(encoding="utf-8")) if found.exists() else []
        result = {"part": name, "seconds": round(time.monotonic() - start, 1), "failure": failure, "rows": rows}
        if failure and log.exists():
            result["output"] = log.read_text(encoding="utf-8", errors="replace")[-4000:]
            result["ptx"] = sorted(path.name for path in folder.glob(f"{name}.*.ptx"))
        results.append(result)
        print(f"{name:20} {failure or 'done'} ({result['seconds']} s)", flush=True)
    return results


def as_markdown(results: Sequence[dict[str, Any]], machine: str) -> str:
    """Return a report of the results: a table of the parts, and one of the rows of each."""
    lines = ["# Evidence", "", machine, "", "| part | result | time |", "|---|---|---:|"]
    for result in results:
        wrong = sum(not row.get("correct", True) for row in result["rows"])
        said = result["failure"] or (f"{wrong} wrong results" if wrong else "correct")
        lines.append(f"| {result['part']} | {said} | {result['seconds']} s |")
    for result in results:
        lines += ["", f"## {result['part']}", ""]
        keys = list(dict.fromkeys(key for row in result["rows"] for key in row))
        if keys:
            lines += [f"| {' | '.join(keys)} |", "|" + "---|" * len(keys)]
            lines += ["| " + " | ".join(_shown(row.get(key, "")) for key in keys) + " |" for row in result["rows"]]
        if result["failure"]:
            kept = ", ".join(result.get("ptx", [])) or "none"
            lines += [
                f"Failed: {result['failure']}. PTX: {kept}.",
                "",
                "```text",
                result.get("output", "").strip(),
                "```",
            ]
    return "\n".join(lines) + "\n"


def _shown(value: object) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")


def do_part(name: str, folder: Path, is_simulated: bool) -> int:
    """Run one part in this process, and write its rows after each; return 1 if it fails."""
    from gpu_evidence_parts import Machine

    rows: list[dict[str, Any]] = []
    machine = Machine(is_simulated, folder / name)
    try:
        for row in _parts()[name](machine):
            rows.append(row)
            (folder / f"{name}.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    except Exception:  # the report shows it
        traceback.print_exc()
        return 1
    return 0


def main() -> int:
    """Run all parts, or one of them, and write the files; return 1 if a part failed or a result is wrong."""
    parser = argparse.ArgumentParser(description="Collect evidence about kernels on a GPU.")
    parser.add_argument("--out", type=Path, default=Path("build/gpu_evidence"))
    parser.add_argument("--simulate", action="store_true", help="small sizes, with threads simulated on the processor")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time limit of all parts together")
    parser.add_argument("--only", nargs="*", help="run these parts only")
    parser.add_argument("--part", help="run one part in this process")
    arguments = parser.parse_args()
    folder: Path = arguments.out
    folder.mkdir(parents=True, exist_ok=True)
    if arguments.part:
        return do_part(arguments.part, folder, arguments.simulate)
    missing = "" if arguments.simulate else why_missing()
    if missing:
        print(f"no usable GPU: {missing}")
        return 0
    for path in (*folder.glob("*.json"), *folder.glob("*.ptx"), *folder.glob("*.log")):
        path.unlink()
    options = ["--out", str(folder), *(["--simulate"] if arguments.simulate else [])]

    def command(name: str) -> list[str]:
        return [sys.executable, "-X", "faulthandler", __file__, "--part", name, *options]

    results = collect(arguments.only or part_names(), command, folder, arguments.seconds)
    where = f"{platform.platform()}, Python {platform.python_version()}, {'simulated' if arguments.simulate else 'on the GPU'}"
    (folder / "evidence.json").write_text(json.dumps({"where": where, "parts": results}, indent=1), encoding="utf-8")
    (folder / "evidence.md").write_text(as_markdown(results, where), encoding="utf-8")
    print(f"{folder / 'evidence.md'} and evidence.json are written")
    is_wrong = any(
        result["failure"] or not all(row.get("correct", True) for row in result["rows"]) for result in results
    )
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
