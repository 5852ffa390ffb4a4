"""Time of `tvms run --verify` for every layer of ResNet-18, as a graph and as loops.

python bench/verify.py [LAYER…]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tvms
from tvms.relax.transform import LegalizeOps

LAYERS = Path(__file__).parent / "resnet18_layers.tvms"


def main() -> None:
    """Print a row for each layer: seconds, and the verdict."""
    graph = tvms.parse(LAYERS.read_text(encoding="utf-8"))
    names = sys.argv[1:] or list(graph.functions)
    with tempfile.TemporaryDirectory() as folder:
        loops = Path(folder) / "resnet18_loops.tvms"
        loops.write_text(LegalizeOps()(graph).script() + "\n", encoding="utf-8")
        print("| layer | as | s | |\n| --- | --- | ---: | --- |")
        for name in names:
            for form, file in (("graph", LAYERS), ("loops", loops)):
                command = [sys.executable, "-m", "tvms", "run", str(file), "--entry", name, "--verify"]
                start = time.perf_counter()
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                seconds = time.perf_counter() - start
                said = [line for line in done.stdout.splitlines() if line.startswith("verify")] or [done.stderr[-200:]]
                print(f"| {name} | {form} | {seconds:.1f} | {done.returncode}: {' / '.join(said)} |", flush=True)


if __name__ == "__main__":
    main()
