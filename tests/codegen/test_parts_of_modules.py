"""Modules that are too large for one LLVM module are compiled in parts: they compute and report the same."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
import tvms
from tvms.codegen import aot, load_compiled
from tvms.codegen.build import Settings, prepare
from tvms.codegen.llvm import module as emitted
from tvms.codegen.llvm.backend import objects_in
from tvms.codegen.runtime.executable import build_image
from tvms.codegen.target import get_target
from tvms.dsl.testing.oracle import random_inputs
from tvms.ir.deep import run_with_big_stack

SAMPLES = Path(__file__).parents[2] / "samples"

TEXT = """
T.prim_func caller(A: T.Buffer((8,), "int32"), K: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    pick(A.data, K.data, B.data)
    twice(B.data)

T.prim_func pick(A: T.Buffer((8,), "int32"), K: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in T.parallel(8):
        B[i] = A[K[i]]

T.prim_func twice(B: T.Buffer((8,), "int32")):
    for i in range(8):
        B[i] = B[i] * 2
"""
"""A function that is defined before the functions that it calls; each is large enough for a part of its own if `_PART` is 0."""

A, K = np.arange(8, dtype="i4") + 10, np.array([7, 0, 6, 1, 5, 2, 4, 3], "i4")


@pytest.fixture(params=[0, 10_000_000], ids=["parts", "whole"], autouse=True)
def part(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The number of instructions of a part: every function is a part, or there is one for all."""
    monkeypatch.setattr(emitted, "_PART", request.param)
    return request.param


def call(executable: tvms.Executable) -> None:
    """Call `caller` on good indices, and on one out of bounds."""
    result = np.zeros(8, "i4")
    executable["caller"](A, K, result)
    np.testing.assert_array_equal(result, A[K] * 2)
    with pytest.raises(tvms.TvmsError) as raised:
        executable["caller"](A, K + 1, result)
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.code == "E0707"
    assert diagnostic.span is not None
    assert diagnostic.span.source.text[diagnostic.span.start : diagnostic.span.end] == "A[K[i]]"


def test_every_function_is_a_part(part: int) -> None:
    target = get_target("llvm")
    _, image = build_image(prepare(tvms.parse(TEXT), target), target, Settings())
    assert len(objects_in(image)) == (1 if part else 3)


def test_parts_call_each_other_and_report_faults() -> None:
    call(tvms.compile(tvms.parse(TEXT)))


def test_parts_are_compiled_on_a_big_stack() -> None:
    call(run_with_big_stack(lambda: tvms.compile(tvms.parse(TEXT))))


def test_parts_are_saved_and_loaded() -> None:
    call(load_compiled(tvms.compile(tvms.parse(TEXT)).to_bytes(), "saved"))


def test_parts_are_kept_in_the_cache(tmp_path: Path) -> None:
    module = tvms.parse(TEXT)
    for _ in range(2):
        executable = tvms.compile(module, cache=tmp_path)
        assert not executable.notes
        call(executable)


def test_parts_are_linked_to_a_library(tmp_path: Path) -> None:
    path = tmp_path / "library.so"
    path.write_bytes(aot.shared_library(tvms.parse(TEXT)))
    result = np.zeros(8, "i4")
    function = ctypes.CDLL(str(path))["tvms_caller"]
    assert function(*(ctypes.c_void_p(array.ctypes.data) for array in (A, K, result))) == 0
    np.testing.assert_array_equal(result, A[K] * 2)


def test_a_graph_of_parts_computes_the_same() -> None:
    module = tvms.load(SAMPLES / "04_perceptron.tvms")
    inputs = random_inputs(module["main"], np.random.default_rng(20261124))
    expected = tvms.interpret(module, "main", inputs)
    np.testing.assert_allclose(tvms.compile(module)["main"](*inputs), expected, rtol=1e-5, atol=1e-5)


def test_all_functions_that_cannot_be_compiled_are_reported() -> None:
    broken = "".join(
        f'\nT.prim_func f{number}(A: T.Buffer((1,), "float32")):\n    T.evaluate(T.call_packed("no {number}"))\n'
        for number in range(2)
    )
    with pytest.raises(tvms.TvmsError) as raised:
        tvms.compile(tvms.parse(TEXT + broken))
    assert [diagnostic.code for diagnostic in raised.value.diagnostics] == ["E0602", "E0602"]
