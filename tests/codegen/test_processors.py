"""Processors as targets: read, checked by LLVM, used; code for another one is written and not run."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import tvms
from llvmlite import binding
from tvms.codegen import emit
from tvms.codegen.target import get_target
from tvms.target import Target

MATMUL = (Path(__file__).parents[2] / "samples/02_matmul.tvms").read_text()
BASELINE = "x86-64" if get_target("llvm").words[0].startswith("x86_64") else "generic"


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (f"llvm -mcpu={BASELINE}", f"llvm -mcpu={BASELINE}"),
        ("llvm -num-cores 4 -opt-level=2 -keys=cpu", "llvm -num-cores=4 -opt-level=2"),
        ("llvm -opt-level=3", "llvm"),
        ("llvm -opt-level=0 -fast-math-nnan=0 -fast-math-contract", "llvm -opt-level=0 -fast-math-contract=1"),
        ({"kind": "llvm", "fast-math": True}, "llvm -fast-math=1"),
        ({"kind": "llvm", "mcpu": BASELINE, "num-cores": 1}, f"llvm -mcpu={BASELINE} -num-cores=1"),
        (
            {"kind": "llvm", "mtriple": "x86_64-linux-gnu", "mattr": ["+avx2", "+fma"]},
            "llvm -mtriple=x86_64-linux-gnu -mcpu=generic -mattr=+avx2,+fma",
        ),
    ],
)
def test_a_processor_is_what_its_text_says(target: str | dict[str, object], text: str) -> None:
    made = Target(target)
    assert made == text
    assert Target({"kind": made.kind, **made.attrs}) == made
    assert Target(str(made)) == made


def test_what_runs_here_computes_what_it_should() -> None:
    a, b, c = np.random.default_rng(0).random((48, 64), "f4"), np.eye(64, 32, dtype="f4"), np.zeros((48, 32), "f4")
    target = f"llvm -mcpu={BASELINE} -num-cores=1 -opt-level=1"
    executable = tvms.compile(tvms.parse(MATMUL), target=target)
    executable["matmul"](a, b, c)
    assert (a[:, :32] == c).all()
    assert tvms.codegen.load_compiled(executable.to_bytes(), "saved").entry_names == ("matmul",)


SCALED_SUM = """
T.prim_func main(A: T.Buffer((64,), "float32"), B: T.Buffer((1,), "float32")):
    for i in range(64):
        B[0] = B[0] + A[i] * T.float32(0.5)
"""


def test_floats_are_computed_as_written_unless_the_target_says_otherwise() -> None:
    def instructions(target: str) -> set[str]:
        text = emit(tvms.parse(SCALED_SUM), "llvm", target)
        assert isinstance(text, str)
        return set(re.findall(r"= (f(?:add|mul)[a-z ]*) (?:float|<)", text))

    assert instructions("llvm") == {"fadd", "fmul"}
    assert instructions("llvm -fast-math-contract -fast-math-nsz") == {"fadd nsz contract", "fmul nsz contract"}
    assert instructions("llvm -fast-math") == {"fadd fast", "fmul fast"}
    a, b = np.arange(64, dtype="f4"), np.ones(1, "f4")
    tvms.compile(tvms.parse(SCALED_SUM), target="llvm -fast-math")["main"](a, b)
    assert b[0] == 1 + 63 * 64 / 4


@pytest.mark.parametrize(
    ("target", "vector_bytes", "register"),
    [("-mcpu=znver5", 64, "zmm"), ("-mcpu=haswell", 32, "ymm"), ("-mcpu=x86-64", 16, "xmm")],
)
def test_schedules_know_the_vectors_of_a_processor(target: str, vector_bytes: int, register: str) -> None:
    chosen = f"llvm -mtriple=x86_64-linux-gnu {target}"
    assert get_target(chosen).processor.vector_bytes == vector_bytes
    assembly = emit(tvms.parse(MATMUL), "asm", chosen)
    assert isinstance(assembly, str)
    wider = {"xmm": "ymm|zmm", "ymm": "zmm", "zmm": "none"}[register]
    assert register in assembly
    assert not re.search(wider, assembly)


def test_code_for_another_processor_is_not_run() -> None:
    here = get_target("llvm").words[1]
    other = "aarch64" if BASELINE == "x86-64" else "x86_64"
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.compile(tvms.parse(MATMUL), target=f"llvm -mtriple={other}-linux-gnu")
    assert str(caught.value) == (
        f"error[E0617]: code for 'llvm -mtriple={other}-linux-gnu -mcpu=generic' does not run on this processor "
        f"('{here}')\n"
        "  = help: write it to a file (tvms compile --emit so), or compile for this processor ('llvm')"
    )


HASWELL = {"avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}


@pytest.mark.skipif(BASELINE != "x86-64", reason="processors of x86")
@pytest.mark.parametrize(
    ("name", "features"),
    [
        ("nehalem", {"sse4.2"}),
        ("haswell", HASWELL),
        ("znver2", HASWELL | {"sha", "sse4a"}),
        ("skylake-avx512", HASWELL | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}),
        ("icelake-server", HASWELL | {"avx512vbmi2", "avx512bitalg", "avx512vnni", "gfni", "vaes", "sha"}),
    ],
)
def test_code_runs_where_all_its_instructions_exist(name: str, features: set[str]) -> None:
    here = {feature for feature, is_there in binding.get_host_cpu_features().items() if is_there}
    if features <= here:
        tvms.compile(tvms.parse(MATMUL), target=f"llvm -mcpu={name}")
    else:
        with pytest.raises(tvms.TvmsError, match="E0617"):
            tvms.compile(tvms.parse(MATMUL), target=f"llvm -mcpu={name}")


@pytest.mark.parametrize(
    ("target", "reason", "help"),
    [
        ("-mcpu=znver4x", "has no processor 'znver4x'", "did you mean 'znver4'?"),
        ("-mattr=+avx512ff", "has no feature 'avx512ff'", "did you mean 'avx512f'?"),
        ("-mattr=avx2", "has no feature 'avx2'", "prefix a feature with + to enable or - to disable it"),
        (
            "-mcpu=i386",
            "has no code for the processor 'i386' as described",
            "LLVM says: 64-bit code requested on a subtarget that doesn't support it!",
        ),
        ("-num-cores=many", "has no -num-cores of 'many'", "give a number from 1 to 1024"),
        ("-opt-level 4", "has no -opt-level of '4'", "give a number from 0 to 3"),
        ("-fast-math=often", "has no -fast-math of 'often'", "omit the value, or give 0 or 1"),
        (
            "-cpu=znver4",
            "has no option '-cpu'",
            "it has: -mtriple, -mcpu, -mattr, -num-cores, -opt-level, -fast-math, -fast-math-nnan, -fast-math-ninf, "
            "-fast-math-nsz, -fast-math-arcp, -fast-math-contract, -fast-math-reassoc",
        ),
    ],
)
def test_what_is_unknown_is_said(target: str, reason: str, help: str) -> None:
    with pytest.raises(tvms.TvmsError) as caught:
        get_target(f"llvm -mtriple=x86_64-linux-gnu {target}")
    assert str(caught.value) == f"error[E0601]: the target 'llvm' {reason}\n  = help: {help}"


def test_an_unknown_machine_is_said() -> None:
    with pytest.raises(tvms.TvmsError) as caught:
        get_target("llvm -mtriple=vax-dec")
    assert str(caught.value) == (
        "error[E0601]: the target 'llvm' has no machine 'vax-dec'\n"
        "  = help: give -mtriple in LLVM's form, such as aarch64-linux-gnu"
    )
