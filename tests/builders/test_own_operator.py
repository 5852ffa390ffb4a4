"""An operator that is declared outside of the package: the tutorial, and the rules that it tells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvms
from tvms import relax, te
from tvms.ir.ops import registry
from tvms.ir.passes.legalize_ops import legalize_ops
from tvms.relax import operators as declare

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial" / "own-operator.md"


@pytest.fixture(autouse=True)
def _forget_new_operators() -> Iterator[None]:
    known = dict(registry.relax_ops())
    yield
    for name in set(registry.relax_ops()) - set(known):
        registry._ops.pop(name)


def test_the_tutorial_runs(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, str(TUTORIAL), "exec"), names)
    printed = capsys.readouterr().out
    assert 'gv: R.Tensor((n, 4), dtype="float32") = R.my.mish(x, beta=2.0)' in printed
    assert 'R.Tensor((2, 4), "float32")' in printed
    assert "error[E0324]: R.my.mish needs 'data' to be of a float dtype, but it is int32" in printed


def _outer_sum(a: declare.Inference) -> Any:
    x, y = a.rank("x", 1), a.rank("y", 1)
    left, right = declare.dims_of(x), declare.dims_of(y)
    dims = None if left is None or right is None else [*left, *right]
    return declare.tensor_info(dims, a.same_dtype("x", "y"), 2)


def declared() -> registry.RelaxOp:
    return declare.register(
        declare.RelaxOp(
            "relax.test.outer_sum",
            (declare.Param("x"), declare.Param("y"), declare.Param("scale", "float", 1.0)),
            _outer_sum,
            "Return the sums of every element of `x` and every one of `y`.",
            lambda np, a: (a.x[:, None] + a.y) * np.float32(a.scale),
            lambda a: te.compute(a.result.shape, lambda i, j: (a.x(i) + a.y(j)) * te.const(a.scale, a.x.dtype)),
        )
    )


TEXT = """\
R.function main(x: R.Tensor(("n",), "float32"), y: R.Tensor((3,), "float32")) -> R.Tensor(("n", 3), "float32"):
    gv = R.test.outer_sum(x, y, scale=0.5)
    return gv
"""


def test_one_declaration_parses_prints_infers_legalizes_and_runs() -> None:
    declared()
    module = tvms.parse(TEXT)
    assert tvms.verify(module) == ()
    for dialect in ("tvms", "tvm-0.21", "tvm-0.27"):
        assert tvms.structural_equal(tvms.parse(module.script(dialect)), module)
    x, y = np.arange(4, dtype="float32"), np.arange(3, dtype="float32")
    expected = (x[:, None] + y) / 2
    np.testing.assert_array_equal(tvms.interpret(module, "main", [x, y]), expected)
    legal = legalize_ops(module)
    assert "outer_sum" in legal
    np.testing.assert_array_equal(tvms.interpret(legal, "main", [x, y]), expected)
    np.testing.assert_array_equal(tvms.compile(legal)["main"](x, y), expected)


def test_its_misuse_is_told_as_for_every_operator() -> None:
    declared()
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.parse(TEXT.replace("scale=", "scales="))
    assert [(diagnostic.code, diagnostic.message) for diagnostic in caught.value.diagnostics] == [
        ("E0105", "R.test.outer_sum: unknown argument 'scales'")
    ]
    with pytest.raises(AttributeError, match=r"there is no operator 'relax.op.test.outer_summ'; did you mean 'relax"):
        relax.op.test.outer_summ  # noqa: B018


def test_a_name_is_declared_once() -> None:
    declared()
    with pytest.raises(ValueError, match=r"operator 'relax\.test\.outer_sum' is already registered"):
        declared()
