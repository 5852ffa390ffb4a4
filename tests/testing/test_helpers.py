"""The helpers of tests that `tvms.testing` has under TVM's names."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import tvms
from tvms import testing


def test_arrays_are_compared_with_their_shapes() -> None:
    testing.assert_allclose([1.0, 2.0], [1.0, 2.0 + 1e-8])
    for other in ([1.0, 2.1], [[1.0, 2.0]], 1.0):
        with pytest.raises(AssertionError):
            testing.assert_allclose([1.0, 2.0], other)
    testing.assert_allclose([1.0], [1.1], rtol=0, atol=0.2)


def test_tests_of_gpus_are_skipped_without_one() -> None:
    @testing.requires_gpu
    def kernel() -> None: ...

    marks: list[Any] = kernel.pytestmark  # type: ignore[attr-defined]
    (mark,) = marks
    assert mark.args == (not tvms.cuda().exist,)
    assert mark.kwargs == {"reason": "needs a GPU"}


def test_main_runs_the_tests_of_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "test_one.py"
    file.write_text("import tvms.testing\ndef test_one(): assert 1 == 2\ntvms.testing.main()\n", encoding="utf-8")
    given: list[str] = []

    def run(args: list[str]) -> int:
        given.extend(args)
        return 1

    monkeypatch.setattr(pytest, "main", run)
    monkeypatch.setattr(sys, "argv", [str(file), "-q"])
    with pytest.raises(SystemExit) as raised:
        exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), {})
    assert raised.value.code == 1
    assert given == [str(file), "-q"]


PARAMETERS = """
import pytest, tvms, tvms.testing
from tvms.script import ir as I, tir as T

one = tvms.testing.parameter(1, 2, ids=["a", "b"])
named = tvms.testing.parameter(by_dict={"x": "first", "y": "second"})
low, high = tvms.testing.parameters((1, 10), (2, 20))

def test_all_values(one, named): assert one in (1, 2) and named in ("first", "second")
def test_one_set_at_a_time(low, high): assert high == 10 * low
def test_one_of_a_group(high): assert high in (10, 20)
def test_groups_and_parameters(one, low, high): assert high == 10 * low

@tvms.testing.parametrize_targets("llvm", "cuda")
def test_targets(target, dev): assert dev == tvms.device(target) and dev.exist

@tvms.testing.parametrize_targets
def test_all_targets(target, dev): assert dev.exist

@tvms.testing.requires_llvm
def test_needs_llvm(): pass

@pytest.mark.parametrize("value", [pytest.param(1, marks=tvms.testing.requires_package("no_such_package").marks())])
def test_needs_a_package(value): raise AssertionError

class Base(tvms.testing.CompareBeforeAfter):
    transform = tvms.relax.transform.Normalize()

class TestTexts(Base):
    @T.prim_func
    def before(A: T.Buffer((4,), "float32")): A[0] = T.float32(1)
    expected = before

class TestMethods(tvms.testing.CompareBeforeAfter):
    def transform(self): return lambda mod: tvms.IRModule({})
    def before(self, one): return tvms.IRModule({})
    def expected(self, before): return before

class TestRefusals(TestMethods):
    def transform(self):
        def refuse(mod): raise ValueError
        return refuse
    expected = ValueError
"""
OUTCOMES = {
    "test_all_values": 4, "test_one_set_at_a_time": 2, "test_one_of_a_group": 2, "test_groups_and_parameters": 4,
    "test_targets": 2, "test_all_targets": 2, "test_needs_llvm": 1, "test_needs_a_package": 1, "test_compare": 5,
}  # fmt: skip
"""The number of cases of each test."""


def test_parameters_and_requirements_of_tests(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(PARAMETERS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-n", "0", "test_some.py"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    cases = re.findall(r"::(test_\w+)(\[\S+\])? (PASSED|SKIPPED|FAILED|ERROR)", result.stdout)
    assert Counter(name for name, _, _ in cases) == OUTCOMES, result.stdout
    skipped = {name for name, _, outcome in cases if outcome == "SKIPPED"}
    gpu = set[str]() if tvms.cuda().exist else {"test_targets", "test_all_targets"}
    assert skipped == {"test_needs_a_package"} | gpu
    assert {outcome for _, _, outcome in cases} == {"PASSED", "SKIPPED"}, result.stdout


def test_a_pass_that_gives_another_program_is_found() -> None:
    class Compared(testing.CompareBeforeAfter):
        expected = tvms.IRModule({})

    with pytest.raises(ValueError, match="the programs differ"):
        Compared.test_compare(Compared(), tvms.parse(FUNCTION), tvms.IRModule({}), lambda mod: mod)  # type: ignore[attr-defined]


FUNCTION = 'T.prim_func f(A: T.Buffer((4,), "float32")):\n    A[0] = T.float32(1)\n'


def test_parameters_are_values_or_names() -> None:
    with pytest.raises(ValueError, match=r"^tvms.testing.parameter takes values and ids, or by_dict, but not both$"):
        testing.parameter(1, by_dict={"a": 2})
