"""Time until what is found is known after a keystroke, in a text of many lines: the median, and what 99 of 100 stay below.

python bench/editing.py [LINES]: words are typed letter by letter at random places of random definitions, and deleted again.
python bench/editing.py [LINES] --memory EDITS: instead, the memory that is in use after each tenth of the given number of edits.
"""

from __future__ import annotations

import argparse
import gc
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles
from time import perf_counter

import tvms
from tvms.dsl.cli.check_command import check_schedules
from tvms.dsl.server.document import Document
from tvms.dsl.server.lines import Lines
from tvms.dsl.server.tokens import semantic_tokens
from tvms.ir import tir

SAMPLES = ("01_elementwise_add", "02_matmul", "03_matmul_relu", "05_dynamic_batch")
WORDS = ("factor", "T.exp(", "12", "# note", "vi")


def long_text(lines: int) -> str:
    """Return a module with the functions of samples again and again."""
    parts = ["#tvms 1\nI.ir_module Module:\n"]
    functions = [
        (name, func.script())
        for sample in SAMPLES
        for name, func in tvms.load(f"samples/{sample}.tvms").functions.items()
        if isinstance(func, tir.PrimFunc)
    ]
    count = number = 0
    while count < lines:
        name, text = functions[number % len(functions)]
        body = text.removeprefix("#tvms 1\n").strip("\n")
        body = re.sub(r"^(T\.prim_func(?:\([^\n]*?\))? )\w+\(", rf"\g<1>{name}_{number}(", body, flags=re.MULTILINE)
        parts.append("".join(f"    {line}\n" if line else "\n" for line in body.split("\n")))
        count += body.count("\n") + 1
        number += 1
    return "".join(parts)


def keystrokes(text: str) -> Iterator[str]:
    """Yield the text after each keystroke, without end; each word is deleted again."""
    while True:
        at = text.find("\n", random.randrange(len(text)))
        word = random.choice(WORDS)
        for typed in (
            *(word[:count] for count in range(1, len(word) + 1)),
            *(word[:count] for count in reversed(range(len(word)))),
        ):
            yield text[:at] + typed + text[at:]


def measure_memory(lines: int, edits: int) -> None:
    """Print the memory of the process, and the number of Python's blocks of memory, after each tenth of the edits."""
    random.seed(7)
    text = long_text(lines)
    document = Document("file:///long.tvms", "long.tvms", text, 1, check_schedules)
    document.examine()
    for version, edited in enumerate(keystrokes(text), start=2):
        document.update(Lines(edited), version)
        document.examine()
        semantic_tokens(document)
        done = version - 1
        if done % max(edits // 10, 1) == 0:
            gc.collect()
            status = Path("/proc/self/status").read_text(encoding="ascii")
            resident = int(re.search(r"VmRSS:\s*(\d+)", status)[1]) / 1024  # type: ignore[reportOptionalSubscript]
            print(f"{done:,} edits: {resident:.0f} MiB resident, {sys.getallocatedblocks():,} blocks", flush=True)
        if done >= edits:
            return


def main(lines: int, edits: int = 400) -> None:
    """Print the times of keystrokes."""
    random.seed(7)
    text = long_text(lines)
    start = perf_counter()
    document = Document("file:///long.tvms", "long.tvms", text, 1, check_schedules)
    document.examine()
    semantic_tokens(document)
    print(f"{text.count(chr(10)):,} lines, {len(text):,} characters; opened in {perf_counter() - start:.2f} s")
    gc.collect()
    gc.freeze()  # as the server does
    times: list[float] = []
    version = 1
    for edited in keystrokes(text):
        version += 1
        begin = perf_counter()
        document.update(Lines(edited), version)
        document.examine()
        times.append(perf_counter() - begin)
        if len(times) >= edits:
            break
    parts = quantiles(times, n=100)
    print(
        f"{len(times)} keystrokes: median {1e3 * parts[49]:.0f} ms, 90 of 100 below {1e3 * parts[89]:.0f} ms, 99 below {1e3 * parts[98]:.0f} ms"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lines", type=int, nargs="?", default=10_000)
    parser.add_argument("--memory", type=int, metavar="EDITS")
    given = parser.parse_args()
    if given.memory is None:
        main(given.lines)
    else:
        measure_memory(given.lines, given.memory)
