"""Passes by their cases, and the laws that every pass keeps: what it makes verifies, reads back, and computes the same."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvms
from msgspec.structs import replace
from text_cases import read_cases
from tvms.dsl.cli.opt_command import parse_passes
from tvms.ir import relax, tir
from tvms.ir.passes.instrument import VerifyEach
from tvms.ir.passes.transform import PassContext, Sequential, get_pass

sys.path.insert(0, str(Path(__file__).parent))
from complete_passes import COMPLETE

HERE = Path(__file__).parent
SAMPLES = sorted(
    path for path in (HERE.parents[1] / "samples").glob("*.tvms") if path.stem != "12_resnet18"
)  # random weights through 18 layers give results around 1e34, which rounding alone changes by more than the tolerance
CASES = [
    pytest.param(case.parts["before"], case.arguments["passes"], case.parts["after"], id=case.id)
    for case in read_cases("passes")
]


def optimize(module: Any, names: str) -> Any:
    with PassContext(opt_level=3, instruments=[VerifyEach()]):
        return Sequential(parse_passes(names))(module)


def random_value(info: Any, random: np.random.Generator) -> Any:
    """A random value of a parameter; its symbolic sizes are 3."""
    match info:
        case relax.TupleStructInfo():
            return tuple(random_value(field, random) for field in info.fields)
        case relax.TensorStructInfo(shape=relax.ShapeExpr(values=dims)):
            shape = [dim.value if isinstance(dim, tir.IntImm) else 3 for dim in dims]
            return np.asarray(random.integers(-3, 4, shape)).astype(info.dtype)
        case relax.ShapeStructInfo(values=tuple() as sizes):
            return tuple(size.value if isinstance(size, tir.IntImm) else 3 for size in sizes)
        case _:
            pytest.skip(f"no random value of {info}")


def interpreted(module: Any) -> Any:
    return lambda name, args: tvms.interpret(module, name, args)


def compiled(module: Any) -> Any:
    executable = tvms.compile(module)
    return lambda name, args: executable[name](*args)


def results(module: Any, prepare: Any = interpreted, seed: int = 0) -> dict[str, Any]:
    """What every graph function that can be called from outside returns for random arguments."""
    found: dict[str, Any] = {}
    functions = [other for other in module.functions.values() if isinstance(other, relax.Function)]
    execute = prepare(module) if functions else None
    for name, function in module.functions.items():
        if isinstance(function, relax.Function) and "global_symbol" in function.attrs:
            random = np.random.default_rng(seed)
            names = [key for key in (f"{name}_transform_params", "transform_params") if key in module.functions]
            is_split = bool(names) and name not in names
            inputs = function.params[: function.attrs["num_input"] if is_split else None]
            args = [random_value(param.struct_info, random) for param in inputs]
            if is_split:  # computes the other arguments from the weights
                weights = random_value(module.functions[names[0]].params[0].struct_info, random)
                args += execute(names[0], [weights])
            found[name] = result_of(execute, name, args)
    return found


def result_of(execute: Any, name: str, args: list[Any]) -> Any:
    """What a function returns, or the name of the library function that it would need."""
    try:
        return execute(name, args)
    except tvms.TvmsError as problem:
        if problem.diagnostics[0].code != "E0715":
            raise
        return problem.diagnostics[0].message


def assert_same(a: Any, b: Any) -> None:
    if isinstance(a, tuple | list):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    elif isinstance(a, np.ndarray):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    else:
        assert a == b


@cache
def sample(path: Path) -> tuple[Any, dict[str, Any]]:
    module = tvms.load(path)
    return module, results(module, compiled)


def assert_law(before: dict[str, Any], after: Any, prepare: Any = interpreted) -> None:
    """Assert that `after` is well formed, reads back, and returns the results of before."""
    assert not [problem for problem in tvms.verify(after) if problem.severity == "error"]
    assert tvms.structural_equal(tvms.parse(after.script()), after)
    assert tvms.structural_equal(tvms.parse(after.script("tvm-0.21")), replace(after, schedules={}))
    found = results(after, prepare)
    for name in before.keys() & found.keys():
        assert_same(before[name], found[name])


@pytest.mark.parametrize(("before", "names", "after"), CASES)
def test_case(before: str, names: str, after: str) -> None:
    module = tvms.parse(before)
    result = optimize(module, names)
    wanted = tvms.parse(after)
    if not tvms.structural_equal(result, wanted):
        assert result.script() == wanted.script()
        pytest.fail("they differ, but print alike")
    assert_law(results(module), result)


@pytest.mark.deep(16)
@pytest.mark.parametrize("name", COMPLETE)
def test_every_pass_keeps_the_law_on_the_samples(name: str) -> None:
    for path in SAMPLES:
        module, before = sample(path)
        after = optimize(module, name)
        if after is not module:
            assert_law(before, after, compiled)


@pytest.mark.parametrize("name", COMPLETE)
def test_every_pass_leaves_an_empty_module_alone(name: str) -> None:
    module = tvms.parse("I.ir_module Module:\n    pass\n")
    assert get_pass(name)(module).functions == {}
