"""`tvms run --verify`: what is interpreted, what is sampled, and that samples find faults."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvms
from tvms import codegen
from tvms.dsl.cli import main, verification
from tvms.ir.interp.lanes import sample

PAD_AND_SUM = """#tvms 1
T.prim_func main(A: T.Buffer((40, 40), "float32"), W: T.Buffer((3, 3), "float32"), C: T.Buffer((40, 40), "float32")):
    P = T.alloc_buffer((42, 42))
    for y, x in T.grid(42, 42):
        with T.block("pad"):
            vy, vx = T.axis.remap("SS", [y, x])
            P[vy, vx] = T.if_then_else(1 <= vy and vy < 41 and 1 <= vx and vx < 41, A[vy - 1, vx - 1], T.float32(0))
    for y, x, i, j in T.grid(40, 40, 3, 3):
        with T.block("conv"):
            vy, vx, vi, vj = T.axis.remap("SSRR", [y, x, i, j])
            with T.init():
                C[vy, vx] = T.float32(0)
            C[vy, vx] = C[vy, vx] + P[vy + vi, vx + vj] * W[vi, vj]
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file whose function counts as large."""
    monkeypatch.setattr(verification, "LARGE", 1)
    path = tmp_path / "conv.tvms"
    path.write_text(PAD_AND_SUM, encoding="utf-8")
    return str(path)


def test_what_samples_prove_is_told(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", file, "--verify", "--no-schedule"]) == 0
    said = capsys.readouterr().out.splitlines()[-2:]
    assert said == [
        "verify: agrees with unoptimized machine code; largest difference 0 in 'C' (allowed 1e-05)",
        "verify: that code agrees with the interpreter at 1,382 of 3,364 points in 2 loop nests: 99 % confidence that "
        "less than 1.3% of each nest is wrong (--verify=full checks all)",
    ]


def test_everything_can_be_interpreted(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", file, "--verify=full", "--no-schedule"]) == 0
    (said,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("verify")]
    assert said == "verify: agrees with the interpreter; largest difference 0 in 'C' (allowed 1e-05)"


def _damaged(damage: Callable[[list[Any]], None]) -> Callable[..., Any]:
    """Return a compiler whose unoptimized code is damaged."""
    compile_module = codegen.compile

    def compile_wrongly(module: Any, **settings: Any) -> Any:
        executable = compile_module(module, **settings)
        if settings.get("level") != 0:
            return executable

        def call(*args: Any) -> None:
            executable["opened"](*args)
            damage([*args])

        return {"opened": call}

    return compile_wrongly


def _first_row(args: list[Any]) -> None:
    args[2][0] += 1


def _padding(args: list[Any]) -> None:
    args[3][:, 41] = 1


def _some(args: list[Any]) -> None:
    args[2].reshape(-1)[5::97] *= -1


def _transposed(args: list[Any]) -> None:
    args[2][...] = args[2].T.copy()


@pytest.mark.parametrize("damage", [_first_row, _padding, _some, _transposed])
def test_samples_find_wrong_machine_code(
    damage: Callable[[list[Any]], None], file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(codegen, "compile", _damaged(damage))
    assert main(["run", file, "--verify", "--no-schedule"]) == 1
    assert "unoptimized machine code DIFFERS from the interpreter at sampled points" in capsys.readouterr().out


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(99):\n        A[i + 1] = A[i] + A[i + 1]",
        "for i in range(100):\n        A[i] = T.float32(1)\n    for i in range(100):\n        A[i] = A[i] + T.float32(1)",
        "for i in range(100):\n        A[i // 2] = A[i]",
    ],
)
def test_what_cannot_be_judged_point_by_point_is_not(body: str) -> None:
    """Neither iterations that meet, nor memory that several nests write."""
    (function,) = tvms.parse(f'T.prim_func main(A: T.Buffer((100,), "float32")):\n    {body}\n').functions.values()
    assert sample.open_function(function) is None


def test_long_sums_may_cancel() -> None:
    """Their error is measured against what is usual, not against what is left."""
    expected = np.array([300.0, -300.0, 0.001], "float32")
    assert verification.difference(expected + np.float32(0.0005), expected) < 1e-5
    assert verification.difference(expected + np.float32(0.05), expected) > 1e-5


@pytest.mark.parametrize(("shape", "option"), [("(4096, 4096)", []), ('("n", 4096)', ["--dim", "n=4096"])])
def test_a_sum_of_many_terms_may_differ_more(
    shape: str, option: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The default schedule adds 2^24 terms in another order than NumPy, and in one that depends on the processor."""
    path = tmp_path / "sum.tvms"
    path.write_text(
        f"""#tvms 1
I.ir_module Module:
    R.function main(x: R.Tensor({shape}, "float32")):
        with R.dataflow():
            y = R.sum(x)
            R.output(y)
        return y
""",
        encoding="utf-8",
    )
    assert main(["run", str(path), "--verify", *option]) == 0
    said = re.search(r"largest difference (\S+) in 'y' \(allowed (\S+)\)$", capsys.readouterr().out.splitlines()[-1])
    assert said is not None
    assert said[2] == ("1e-05" if float(said[1]) <= 1e-5 else "0.00032")


def test_wrong_sums_of_many_terms_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    text = """T.prim_func main(A: T.Buffer(("n",), "float32"), B: T.Buffer((1,), "float32")):
    for i in range(n):
        with T.block("sum"):
            vi = T.axis.reduce(n, i)
            with T.init():
                B[0] = T.float32(0)
            B[0] = B[0] + A[vi]
"""
    reference = verification.Reference(tvms.parse(text), "main", "ascending", 0, False)
    right = {"B": np.array([100], "float32")}
    wrong = {"B": np.array([100.01], "float32")}
    for terms, code in ((1 << 14, 1), (1 << 22, 0)):
        assert verification.compare_results(wrong, right, reference, {"n": terms}) == code
    wrong["B"][0] = np.inf
    assert verification.compare_results(wrong, right, reference, {"n": 1 << 24}) == 1
    assert capsys.readouterr().out.splitlines() == [
        "verify: DIFFERS from the interpreter; largest difference 0.0001 in 'B' (allowed 1e-05)",
        "verify: agrees with the interpreter; largest difference 0.0001 in 'B' (allowed 0.00016)",
        "verify: DIFFERS from the interpreter; largest difference inf in 'B' (allowed 1e-05)",
    ]


def test_only_what_an_entry_needs_is_compiled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        PAD_AND_SUM.replace("main", "other")
        + '\nT.prim_func main(A: T.Buffer((4,), "float32")):\n    A[0] = T.float32(2)\n'
    )
    path = tmp_path / "two.tvms"
    path.write_text(text, encoding="utf-8")
    assert main(["run", str(path), "--verify"]) == 0
    assert "verify: agrees with the interpreter; largest difference 0 in 'A'" in capsys.readouterr().out
