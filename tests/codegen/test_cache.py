"""A cache entry is used for the same program in the same conditions only, and computes the same; then no pass runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvms
from tvms import relax
from tvms.ir.passes.instrument import PassInfo, PassInstrument

GRAPH = """
I.ir_module Module:
    R.function main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        with R.dataflow():
            lv = R.nn.relu(x)
            gv = R.add(lv, lv)
            R.output(gv)
        return gv
"""


class Counter(PassInstrument):
    """Counts passes."""

    def __init__(self) -> None:
        self.count = 0

    def run_before_pass(self, mod: tvms.IRModule, info: PassInfo) -> None:
        self.count += 1


def passes_of(program: Any, folder: Path, **options: Any) -> tuple[Any, int]:
    """Return the executable, and how many passes ran."""
    counter = Counter()
    with tvms.transform.PassContext(instruments=[counter], **options):
        return tvms.compile(program, cache=folder), counter.count


def convolution(weight: np.ndarray) -> tvms.IRModule:
    """Return a convolution with a constant weight, whose normalization is folded into it."""
    info = relax.TensorStructInfo((1, 2, 5, 5), "float32")
    x, builder = relax.Var("x", info), relax.BlockBuilder()
    with builder.function("main", [x]), builder.dataflow():
        y = builder.emit(relax.op.nn.conv2d(x, relax.const(weight)))
        factors = [relax.const(np.array(values, "f4")) for values in ([2, 3], [1, 0], [0, 1], [1, 4])]
        y = builder.emit(relax.op.nn.batch_norm(y, *factors, axis=1, training=False)[0])
        builder.emit_func_output(builder.emit_output(y))
    return builder.get()


def test_no_pass_runs_again(tmp_path: Path) -> None:
    x = np.linspace(-1, 1, 12, dtype="f4").reshape(3, 4)
    first, passes = passes_of(tvms.parse(GRAPH), tmp_path)
    again, none = passes_of(tvms.parse(GRAPH), tmp_path)
    assert passes > 0
    assert none == 0
    assert again.module.script() == first.module.script()
    assert again.entry_names == first.entry_names
    np.testing.assert_array_equal(again["main"](x), first["main"](x))
    assert again.to_bytes() == first.to_bytes()


def test_constants_belong_to_the_key(tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((1, 2, 5, 5)).astype("f4")
    weights = [np.full((2, 2, 3, 3), value, "f4") for value in (1, 2)]
    results = []
    for _ in range(2):
        compiled = [tvms.compile(convolution(weight), cache=tmp_path) for weight in weights]
        results.append([executable["main"](x) for executable in compiled])
    assert all("llvm" not in executable.stats for executable in compiled)
    np.testing.assert_array_equal(results[0], results[1])
    assert not np.array_equal(*results[0])
    np.testing.assert_allclose(results[1][0], tvms.interpret(convolution(weights[0]), "main", [x]), rtol=1e-5)


@pytest.mark.parametrize(
    "options", [{"disabled_pass": ["FuseOps"]}, {"opt_level": 0}, {"config": {"relax.fallback": 1}}], ids=str
)
def test_the_context_of_passes_belongs_to_the_key(tmp_path: Path, options: dict[str, Any]) -> None:
    passes_of(tvms.parse(GRAPH), tmp_path)
    assert passes_of(tvms.parse(GRAPH), tmp_path, **options)[1] > 0
    assert passes_of(tvms.parse(GRAPH), tmp_path, **options)[1] == 0


def test_positions_belong_to_the_key(tmp_path: Path) -> None:
    for lines in (0, 1):
        text = "\n" * lines + GRAPH
        assert passes_of(tvms.parse(text, "graph.tvms"), tmp_path)[1] > 0
        assert passes_of(tvms.parse(text, "graph.tvms"), tmp_path)[1] == 0


def test_results_of_instruments_that_skip_passes_are_not_kept(tmp_path: Path) -> None:
    class Skipper(PassInstrument):
        def should_run(self, mod: tvms.IRModule, info: PassInfo) -> bool:
            return info.name != "FuseOps"

    with tvms.transform.PassContext(instruments=[Skipper()]):
        tvms.compile(tvms.parse(GRAPH), cache=tmp_path)
    assert not list(tmp_path.rglob("*.tvmsc"))
    assert passes_of(tvms.parse(GRAPH), tmp_path)[1] > 0
