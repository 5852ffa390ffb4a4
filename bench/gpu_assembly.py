"""Assemble GPU kernels with NVIDIA's assembler, without a GPU: samples, benchmarks, random programs, and
given files.

    python bench/gpu_assembly.py --random 300 my_kernels.tvms

Counts the programs that assemble for each architecture, and prints the resources of the kernels of
`bench/gpu_kernels` on the first architecture, with their schedules and with default schedules. Reports if
ptxas is missing or does not know an architecture.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import tvms
from tvms.codegen.build import Settings, prepare
from tvms.codegen.gpu.program import build_program
from tvms.codegen.gpu.ptxas import assemble, find_ptxas
from tvms.codegen.gpu.report import report
from tvms.codegen.target import get_target
from tvms.ir.base import IRModule

sys.path.insert(0, str(Path(__file__).parent))
from gpu import kernel

ROOT = Path(__file__).parents[1]
KERNELS = ("matmul_f32", "matmul_f16", "matmul_bf16", "softmax", "layer_norm", "transpose")
UNKNOWN = "is not defined for option"


def measured() -> Iterator[tuple[str, IRModule]]:
    """Yield the kernels of `bench/gpu.py`, with their schedules and with default schedules."""
    for name in KERNELS:
        for is_scheduled in (True, False):
            yield f"{name} {'scheduled' if is_scheduled else 'by default'}", kernel(name, is_scheduled)


def random_programs(count: int, seed: int) -> Iterator[tuple[str, IRModule]]:
    """Yield programs of the law `tvms fuzz gpu`; none if hypothesis is not installed."""
    if not count or find_spec("hypothesis") is None:
        return
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded
    from tvms.testing.laws import find_law

    found: list[IRModule] = []

    @seeded(seed)
    @settings(
        max_examples=count,
        phases=(Phase.generate,),
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(find_law("gpu").examples(None))
    def collect(example: tuple[IRModule, int]) -> None:
        found.append(example[0])

    collect()
    for number, program in enumerate(found):
        yield f"random program {number} of seed {seed}", program


def assembled(programs: list[tuple[str, IRModule]], arch: str, tool: str) -> int:
    """Print how many programs assemble for an architecture, and why others do not; return the number of these."""
    failed = refused = kernels = spilling = 0
    for name, program in programs:
        try:
            ptx = str(tvms.emit(program, "ptx", f"cuda -arch={arch}"))
        except tvms.TvmsError as problem:
            if problem.diagnostics[0].code != "E0602":
                raise
            refused += 1
            continue
        made = assemble(ptx, arch, tool)
        if UNKNOWN in made.problem:
            print(f"{arch}: not supported by this ptxas")
            return 0
        if made.problem:
            failed += 1
            print(f"{arch}: {name}: {made.problem}")
        kernels += len(made.usage)
        spilling += sum(bool(usage.spill_bytes) for usage in made.usage.values())
    whole = len(programs) - refused
    print(f"{arch}: {whole - failed} of {whole} programs assemble: {kernels} kernels, {spilling} spill", end="")
    print(f"; {refused} need tensor cores that it lacks" if refused else "")
    return failed


def main() -> int:
    """Return 1 if a program does not assemble."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("files", nargs="*", help="programs for a GPU")
    parser.add_argument("--random", type=int, default=30, help="number of random programs (default: 30)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random programs (default: 0)")
    parser.add_argument("--arch", default="sm_80,sm_75,sm_90", help="architectures (default: sm_80,sm_75,sm_90)")
    given = parser.parse_args()
    tool, archs = find_ptxas(), given.arch.split(",")
    if tool is None:
        print("ptxas not found: pip install nvidia-cuda-nvcc")
        return 0
    own = [*sorted((ROOT / "samples").glob("*_gpu_*.tvms")), *map(Path, given.files)]
    benchmarks = list(measured())
    programs = [
        *benchmarks,
        *((path.name, tvms.load(path)) for path in own),
        *random_programs(given.random, given.seed),
    ]
    failed = sum(assembled(programs, arch, tool) for arch in archs)
    target = get_target(f"cuda -arch={archs[0]}")
    for name, program in benchmarks:
        try:
            said = report(build_program(prepare(program, target), target, Settings()), target)
        except tvms.TvmsError as problem:
            said = problem.diagnostics[0].message
        print(f"{name}: {said}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
