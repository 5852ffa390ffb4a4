"""The helpers of tests that `tvms.testing` has under TVM's names."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvms
import tvms.te
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

class TestDefinitions(Base):
    def before(A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = T.float32(1)
    def expected(B: T.Buffer((4,), "float32")):
        for j in T.serial(4):
            B[j] = T.float32(1)

class TestModules(Base):
    class before:
        def one(A: T.Buffer((4,), "float32")): A[0] = T.float32(1)
        @T.prim_func
        def two(A: T.Buffer((4,), "float32")): A[0] = T.float32(2)
    expected = before

class TestParametersOfClasses:
    first, second = tvms.testing.parameters((1, 1), (2, 2))
    made = tvms.testing.parameter("a", "b")
    @tvms.testing.fixture(cache_return_value=True)
    def pair(self, made): return [made]
    def test_in_a_class(self, first, second, pair): assert first == second and pair in (["a"], ["b"]); pair.append(1)

@tvms.testing.requires_llvm()
@tvms.testing.requires_llvm_minimum_version(3)
def test_needs_a_version(): pass

@tvms.testing.exclude_targets("cuda")
def test_some_targets(target, dev): assert target == "llvm"

@tvms.testing.known_failing_targets("llvm")
def test_failing_target(target, dev): assert False

@tvms.testing.skip_parameterizations("b", reason="no")
@tvms.testing.xfail_parameterizations("a", reason="no")
def test_named_cases(one): assert one == 2

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
    "test_targets": 2, "test_all_targets": 2, "test_needs_llvm": 1, "test_needs_a_package": 1, "test_compare": 7,
    "test_in_a_class": 4, "test_needs_a_version": 1, "test_some_targets": 1, "test_failing_target": 2, "test_named_cases": 2,
}  # fmt: skip
"""The number of cases of each test."""


def test_parameters_and_requirements_of_tests(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(PARAMETERS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-n", "0", "test_some.py"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    cases = re.findall(r"::(test_\w+)(\[\S+\])? (PASSED|SKIPPED|FAILED|ERROR|XFAIL)", result.stdout)
    assert Counter(name for name, _, _ in cases) == OUTCOMES, result.stdout
    skipped = {name for name, _, outcome in cases if outcome == "SKIPPED"}
    gpu = set[str]() if tvms.cuda().exist else {"test_targets", "test_all_targets", "test_failing_target"}
    assert skipped == {"test_needs_a_package", "test_named_cases"} | gpu
    assert {outcome for _, _, outcome in cases} == {"PASSED", "SKIPPED", "XFAIL"}, result.stdout
    assert {name for name, _, outcome in cases if outcome == "XFAIL"} == {"test_failing_target", "test_named_cases"}


def test_a_pass_that_gives_another_program_is_found() -> None:
    class Compared(testing.CompareBeforeAfter):
        expected = tvms.IRModule({})

    with pytest.raises(ValueError, match="the programs differ"):
        Compared.test_compare(Compared(), tvms.parse(FUNCTION), tvms.IRModule({}), lambda mod: mod)  # type: ignore[attr-defined]


FUNCTION = 'T.prim_func f(A: T.Buffer((4,), "float32")):\n    A[0] = T.float32(1)\n'


def test_parameters_are_values_or_names() -> None:
    with pytest.raises(ValueError, match=r"^tvms.testing.parameter takes values and ids, or by_dict, but not both$"):
        testing.parameter(1, by_dict={"a": 2})


def test_gradients_are_compared_with_differences() -> None:
    point, slope = np.array([1.0, 2.0]), np.array([2.0, 4.0])

    def squares(x: Any, y: Any = 0.0) -> Any:
        return (x * x).sum() + y

    testing.check_numerical_grads(squares, [point], [slope])
    testing.check_numerical_grads(squares, {"x": point, "y": np.array(1.0)}, {"x": slope})
    with pytest.raises(AssertionError, match="differs from the numerical one"):
        testing.check_numerical_grads(squares, [point], [slope + 1])
    with pytest.raises(AssertionError, match=r"has shape \(1,\), expected \(2,\)"):
        testing.check_numerical_grads(squares, [point], [slope[:1]])


def test_expressions_are_compared_by_proof() -> None:
    x = tvms.te.var("x")
    testing.assert_prim_expr_equal(x * 2 + x, 3 * x)
    with pytest.raises(ValueError, match="are not proven to be equal"):
        testing.assert_prim_expr_equal(x, x + 1)


def test_answers_about_this_machine() -> None:
    assert testing.device_enabled("llvm")
    assert not testing.device_enabled("metal")
    assert testing.get_dtype_range("int8") == (-128, 127)
    assert testing.strtobool("Yes")
    assert not testing.strtobool("0")
    with pytest.raises(ValueError, match="expected a truth value"):
        testing.strtobool("maybe")
