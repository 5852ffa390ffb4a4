"""`tvms compile --lines`: which lines of each stage come from which line of the source."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import tvms
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tvms.codegen import Settings
from tvms.codegen.aot import OUTPUTS
from tvms.codegen.source_map import Mapped, mapped
from tvms.dsl.cli import main
from tvms.dsl.entries import select_entry
from tvms.dsl.load import load_verified
from tvms.dsl.testing.data import random_inputs
from tvms.dsl.testing.modules import modules
from tvms.dsl.testing.prim_funcs import prim_funcs
from tvms.ir import tir
from tvms.ir.base import IRModule, Source
from tvms.ir.diagnostics import TvmsError
from tvms.ir.interp import Observer, run
from tvms.ir.interp.frame import Frame
from tvms.ir.source_lines import SourceLines, source_of

SAMPLES = Path(__file__).parents[2] / "samples"
AS_WRITTEN = Settings(schedule=False, level=0)
STAGES = [("tir", "llvm"), ("llvm", "llvm"), ("asm", "llvm"), ("ptx", "cuda -arch=sm_80"), ("tir", "cuda -arch=sm_80")]


def reread(program: IRModule | tir.PrimFunc) -> IRModule:
    """Return a program with positions: those of its text."""
    return tvms.parse(program.script())


def may_store_what_is_there(stmt: tir.BufferStore) -> bool:
    """Return whether a statement copies an element within a buffer: it is not compiled if both are proven to be the same."""
    return isinstance(stmt.value, tir.BufferLoad) and stmt.value.buffer is stmt.buffer


class Executed(Observer):
    """Records the lines of the stores and calls that a run executes."""

    def __init__(self, source: Source) -> None:
        self.source, self.known, self.lines = source, SourceLines(), set[int]()

    def statement(self, stmt: tir.Stmt, frame: Frame) -> None:
        is_call = isinstance(stmt, tir.Evaluate) and isinstance(stmt.value, tir.Call)
        if is_call or (isinstance(stmt, tir.BufferStore) and not may_store_what_is_there(stmt)):
            number = self.known.line_of(stmt.span, self.source)
            self.lines |= {number} if number is not None else set()


def executed_lines(module: IRModule, seed: int) -> set[int]:
    """Return the lines of the stores and calls that a run on random inputs executes, until it ends or fails."""
    source = source_of(module)
    assert source is not None
    name, function = select_entry(module, None)
    observer = Executed(source)
    with suppress(TvmsError):
        run(module, name, random_inputs(function, np.random.default_rng(seed)), observer=observer, tier="obvious")
    return observer.lines


def outcome(make: Callable[[], object]) -> object:
    """Return what a function returns, or the codes of its errors; with lines, kernels of operators have positions as well."""
    try:
        return make()
    except TvmsError as problem:
        return {found.code for found in problem.diagnostics}


def assert_within(module: IRModule, found: Mapped) -> None:
    """Check that ranges are ordered and in the text, and that source lines are in functions."""
    known, source = SourceLines(), source_of(module)
    assert source is not None
    inside: set[int] = set()
    for function in module.functions.values():
        if function.span is not None:
            first, last = known.line(source, function.span.start), known.line(source, function.span.end - 1)
            inside |= set(range(first, last + 1))
    ends = [0, *[place for _, first, last in found.lines for place in (first - 1, last)]]
    assert ends == sorted(ends), found.lines
    assert ends[-1] <= found.text.count("\n") + 1
    assert {number for number, _, _ in found.lines} <= inside


@given(prim_funcs(max_blocks=3), st.integers(0, 99), st.sampled_from(("tir", "llvm", "asm")))
def test_each_executed_statement_has_lines_in_every_stage(function: tir.PrimFunc, seed: int, kind: str) -> None:
    module = reread(function)
    wanted = executed_lines(module, seed)
    found = mapped(module, kind, "llvm", AS_WRITTEN)
    assert_within(module, found)
    missing = wanted - {number for number, _, _ in found.lines}
    assert not missing, f"{kind} has nothing for the lines {missing}\n{module.script()}\n{found.text}"


@settings(max_examples=max(settings().max_examples // 4, 5))
@given(modules(), st.sampled_from(STAGES))
def test_lines_change_no_text(module: IRModule, stage: tuple[str, str]) -> None:
    module, (kind, target) = reread(module), stage
    plain = outcome(lambda: OUTPUTS[kind].make(module, target, Settings()))
    with_lines = outcome(lambda: mapped(module, kind, target, Settings()))
    if not isinstance(with_lines, Mapped):
        assert with_lines == plain
        return
    assert with_lines.text == plain
    assert_within(module, with_lines)


def test_a_module_without_kernels() -> None:
    module = tvms.parse('R.function main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):\n    return x\n')
    found = mapped(module, "ptx", "cuda -arch=sm_80", Settings())
    assert found == Mapped(OUTPUTS["ptx"].make(module, "cuda -arch=sm_80", Settings()), ())
    assert found.text.endswith(".address_size 64\n\n\n")


@pytest.mark.deep(10)
@pytest.mark.parametrize("sample", sorted(SAMPLES.glob("0*.tvms")), ids=lambda path: path.stem)
@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: f"{stage[0]}-{stage[1][:4]}")
def test_samples(sample: Path, stage: tuple[str, str]) -> None:
    module, (kind, target) = load_verified(str(sample)), stage
    found = mapped(module, kind, target, Settings())
    assert found.text == OUTPUTS[kind].make(module, target, Settings())
    assert_within(module, found)
    assert found.lines


COPY = """\
T.prim_func copy(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    for i in range(4):
        B[i] = A[i]
"""


def test_text_shows_each_source_line_above_its_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "copy.tvms"
    path.write_text(COPY)
    assert main(["compile", str(path), "--emit", "tir", "--lines", "text", "--no-schedule"]) == 0
    assert (
        capsys.readouterr().out
        == """\
#tvms 1

I.ir_module Lowered:
    # 1: T.prim_func copy(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    T.prim_func copy(A: T.handle("int32", "global"), B: T.handle("int32", "global")):
        # 2: for i in range(4):
        for i in range(4):
            # 3: B[i] = A[i]
            B_1 = T.Buffer((T.int64(4),), "int32", data=B)
            A_1 = T.Buffer((T.int64(4),), "int32", data=A)
            B_1[T.Cast("int64", i)] = A_1[T.Cast("int64", i)]"""
    )


def test_json_has_the_text_and_its_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "copy.tvms"
    path.write_text(COPY)
    assert main(["compile", str(path), "--emit", "tir", "--lines", "json", "--no-schedule"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["lines"] == [[1, 4, 4], [2, 5, 5], [3, 6, 8]]
    assert found["text"].split("\n")[7].lstrip().startswith("B_1[")


def test_binary_outputs_have_no_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "copy.tvms"
    path.write_text(COPY)
    assert main(["compile", str(path), "--emit", "obj", "--lines", "json", "-o", str(tmp_path / "copy.o")]) == 2
    message = "error[E0801]: --emit obj --lines json: lines are known of tir, llvm, asm, ptx\n"
    assert capsys.readouterr().err == message
    assert not (tmp_path / "copy.o").exists()


def test_a_fused_kernel_has_the_lines_of_its_operators() -> None:
    text = """\
R.function main(x: R.Tensor((8, 8), "float32"), w: R.Tensor((8, 8), "float32")) -> R.Tensor((8, 8), "float32"):
    with R.dataflow():
        a = R.matmul(x, w)
        b = R.nn.relu(a)
        R.output(b)
    return b
"""
    for kind, target in STAGES:
        found = mapped(tvms.parse(text), kind, target, Settings())
        assert {3, 4} <= {number for number, _, _ in found.lines}, (kind, target)


def test_a_program_without_a_text_has_no_lines() -> None:
    module = tvms.parse(COPY)
    built = IRModule({"copy": replace(module.functions["copy"], span=None)})
    assert mapped(built, "llvm", "llvm", Settings()).lines == ()
