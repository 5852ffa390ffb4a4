"""`tvms fuzz LAW FILE`: users' programs, in sizes that terminate, with their strides, and reproducible failures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from tvms.dsl.cli import fuzz_command, main
from tvms.ir.base import Source
from tvms.ir.verify import verify
from tvms.testing import campaign, laws
from tvms.testing.laws import find_law
from tvms.testing.smaller import MOST_WORK, smaller_programs

MATMUL = """\
T.prim_func main(A: T.Buffer((4096, 4096), "float32"), B: T.Buffer((4096, 4096), "float32"), C: T.Buffer((4096, 4096), "float32")):
    for i, j, k in T.grid(4096, 4096, 4096):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
TILED = """\
T.prim_func main(A: T.Buffer((4096,), "float32"), B: T.Buffer((64, 64), "float32")):
    for i0, i1 in T.grid(64, 64):
        with T.block("B"):
            vi = T.axis.spatial(4096, i0 * 64 + i1)
            B[vi // 64, vi % 64] = A[vi]
"""
STRIDED = """\
T.prim_func main(A: T.Buffer((5,), "float32", strides=(2,)), B: T.Buffer((5,), "float32")):
    for i in range(5):
        with T.block("B"):
            vi = T.axis.spatial(5, i)
            B[vi] = A[vi] * T.float32(2)
"""
GRAPH = """\
I.ir_module Module:
    R.function main(x: R.Tensor((4096, 4096), "float32")) -> R.Tensor((4096, 4096), "float32"):
        y = R.add(x, x)
        return y
"""
ENDLESS = """\
T.prim_func main(A: T.Buffer((1000000007,), "int8")):
    for i in range(1000000007):
        A[1000000006 - i] = T.int8(1)
"""


def _write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "program.tvms"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("text", [MATMUL, TILED, GRAPH, STRIDED], ids=["matmul", "tiled", "graph", "strided"])
def test_programs_become_small_and_keep_the_law(text: str) -> None:
    programs = smaller_programs(Source("program.tvms", text))
    assert len(programs) > 1
    assert [
        diagnostic for program in programs for diagnostic in verify(program) if diagnostic.severity == "error"
    ] == []


def test_sizes_that_multiply_stay_together() -> None:
    shapes = [
        [buffer.shape[0].value for buffer in program.functions["main"].buffer_map.values()]  # type: ignore[attr-defined]
        for program in smaller_programs(Source("program.tvms", TILED))
    ]
    assert all(size <= MOST_WORK for size, _ in shapes)
    assert any(rows < 64 for _, rows in shapes)


@pytest.mark.parametrize("law", ["codegen", "memory", "tiers", "floats", "schedule", "bounds", "order", "traps"])
def test_declared_strides_are_kept(law: str, tmp_path: Path) -> None:
    path = _write(tmp_path, STRIDED)
    assert main(["fuzz", law, path, "--n", "8", "--seed", "1", "--save", str(tmp_path)]) == 0


@pytest.mark.parametrize("law", ["codegen", "memory"])
def test_large_programs_end(law: str, tmp_path: Path) -> None:
    assert main(["fuzz", law, _write(tmp_path, MATMUL), "--n", "5", "--seed", "1", "--save", str(tmp_path)]) == 0


def test_a_program_that_cannot_become_smaller(tmp_path: Path, capsys: Any) -> None:
    assert main(["fuzz", "codegen", _write(tmp_path, ENDLESS), "--seed", "1"]) == 2
    assert capsys.readouterr().err == (
        "error[E0813]: one example of this program takes 1.0e+09 iterations, and no smaller sizes were found\n"
        "  = help: fuzz a copy with small sizes, or with symbolic ones\n"
    )


@pytest.mark.parametrize("law", ["memory", "bounds", "tiers", "schedule", "order"])
def test_a_law_of_loops_needs_loops(law: str, tmp_path: Path, capsys: Any) -> None:
    assert main(["fuzz", law, _write(tmp_path, GRAPH), "--seed", "1"]) == 2
    assert capsys.readouterr().err == (
        "error[E0813]: this law requires a loop-level function, and the program has none\n"
        "  = help: give one with a T.prim_func\n"
    )


def test_a_failure_saves_its_inputs(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(module: Any, entry: str) -> Any:
        def call(a: Any, b: Any) -> None:
            b[...] = a * 3

        return call

    monkeypatch.setattr(fuzz_command, "compiled", wrong)
    monkeypatch.setattr(fuzz_command, "compiled_together", lambda modules: wrong)
    text = STRIDED.replace(", strides=(2,)", "")
    assert main(["fuzz", "codegen", _write(tmp_path, text), "--seed", "1", "--save", str(tmp_path)]) == 1
    said, saved = capsys.readouterr().out, tmp_path / "codegen_1.tvms"
    replay = f"--arg A={tmp_path}/codegen_1.A.npy --arg B={tmp_path}/codegen_1.B.npy"
    assert said.endswith(f"run with the same inputs: tvms run {saved} --verify {replay}\n")
    a = np.load(tmp_path / "codegen_1.A.npy")
    assert f"A = {np.array2string(a, separator=', ')}\n" in said
    assert (a != 0).any()  # the smallest inputs that fail
    assert main(["run", str(saved), "--verify", *replay.split()]) == 0


@pytest.mark.parametrize("law", ["cost", "output", "artifacts"])
def test_a_law_without_files_refuses_one(law: str, tmp_path: Path, capsys: Any) -> None:
    assert main(["fuzz", law, _write(tmp_path, MATMUL)]) == 2
    assert capsys.readouterr().err == (
        f"error[E0813]: law '{law}' draws its own examples\n  = help: give it no file, or a failure that it saved\n"
    )


@pytest.mark.parametrize("law", ["artifacts", "cost", "order", "output"])
def test_a_saved_failure_is_replayed(law: str, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(example: Any, execute: Any) -> None:
        raise AssertionError(f"wrong: {found.show(example)}")

    found = find_law(law)
    with monkeypatch.context() as broken:
        broken.setattr(laws, "find_law", lambda name: replace(found, check=fail, check_all=None))
        broken.setattr(campaign, "find_law", lambda name: replace(found, check=fail, check_all=None))
        assert main(["fuzz", law, "--n", "5", "--seed", "1", "--save", str(tmp_path)]) == 1
        shown = capsys.readouterr().out.partition("wrong: ")[2].partition("\n\n")[0]
        saved = str(tmp_path / f"{law}_1.tvms")
        assert main(["fuzz", law, saved, "--n", "1"]) == 1
        said = capsys.readouterr().out
        assert said.startswith(f"{law}: the saved example still fails\n\nAssertionError: wrong: {shown}\n")
    assert main(["fuzz", law, saved, "--n", "1"]) == 0
    assert capsys.readouterr().out.startswith(f"{law}: the saved example holds now\n")


SCHEDULED = """\
T.prim_func main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)

S.schedule tiled(main):
    (i,) = S.get_loops("B")
    i0, i1 = S.split(i, factors=[None, 4])
"""


def test_the_schedules_of_a_file_are_not_applied_to_scheduled_programs(tmp_path: Path, capsys: Any) -> None:
    path = _write(tmp_path, SCHEDULED)
    assert main(["fuzz", "schedule", path, "--n", "20", "--seed", "1"]) == 0
    assert "schedule: 20 examples" in capsys.readouterr().out
    example = find_law("schedule").read(Source(path, SCHEDULED))
    assert example.module.schedules == {}
    assert example.written.name == "tiled"
