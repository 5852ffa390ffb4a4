"""A pass that breaks the law is stopped with its name and the smallest program on which it does; `tvms reduce`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tvms
from msgspec.structs import replace
from tvms.dsl.cli import main
from tvms.ir import relax, tir
from tvms.ir.base import Op
from tvms.ir.passes import transform
from tvms.ir.visit import rewrite, walk

PERCEPTRON = str(Path(__file__).parents[2] / "samples" / "04_perceptron.tvms")


def _bad_relu(node: Any) -> Any:
    """Forgets to bind the result of R.nn.relu."""
    is_relu = isinstance(node, relax.BindingBlock) and any(
        isinstance(binding.value, relax.Call) and binding.value.op == Op("relax.nn.relu") for binding in node.bindings
    )
    if not is_relu:
        return None
    return replace(
        node, bindings=tuple([b for b in node.bindings if getattr(b.value, "op", None) != Op("relax.nn.relu")])
    )


def _bad_max(node: Any) -> Any:
    """Reads what nothing defines in place of a maximum."""
    return tir.Var(node.dtype, "nothing") if isinstance(node, tir.Max) else None


@pytest.fixture(params=[_bad_relu, _bad_max], ids=["graph level", "loop level"])
def broken(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A pass called Break, which is no good."""

    def construct() -> Any:
        @transform.module_pass(opt_level=0, name="Break")
        def run(mod: Any, ctx: Any) -> Any:
            return replace(
                mod, functions={name: rewrite(function, request.param) for name, function in mod.functions.items()}
            )

        return run

    transform.passes()
    monkeypatch.setitem(transform._declared, "Break", construct)
    return "R.nn.relu" if request.param is _bad_relu else "T.max"


def test_verify_each_names_the_pass_and_writes_the_smallest_program(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["opt", PERCEPTRON, "--passes", "CanonicalizeBindings, Break, Normalize", "--verify-each"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "error[E0904]: pass 'Break' breaks the law of the IR"
    note = "= note: the smallest module found that fails in the same way is in broken-by-Break.tvms"
    assert note in [line.strip() for line in lines]
    smallest = tvms.load("broken-by-Break.tvms")
    assert not tvms.verify(smallest)
    assert len(smallest.functions) == 1
    assert broken in smallest.script()
    assert (
        sum(isinstance(node, relax.Binding | tir.BufferStore) for node in walk(next(iter(smallest.functions.values()))))
        == 1
    )
    assert main(["opt", "broken-by-Break.tvms", "--passes", "Break", "--verify-each"]) == 1


def test_reduce_prints_the_smallest_program(broken: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reduce", PERCEPTRON, "--passes", "Normalize, Break"]) == 0
    out = capsys.readouterr().out
    assert broken in out
    assert len(out.splitlines()) <= 12
    assert len(tvms.parse(out).functions) == 1


def test_a_pass_that_stops_is_reduced_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "program.tvms"
    program.write_text("""\
I.ir_module Module:
    R.function helper(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return x

    R.function main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")) -> R.Tensor((), "float32"):
        with R.dataflow():
            lv = R.add(x, y)
            lv1 = R.nn.prelu(lv, y, axis=0)
            lv2 = R.exp(lv1)
            gv = R.sum(lv2)
            R.output(gv)
        return gv
""")
    assert main(["reduce", str(program), "--passes", "Gradient('main')"]) == 0
    assert capsys.readouterr().out == (
        "#tvms 1\n\nI.ir_module Module:\n"
        '    R.function main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")) -> R.Tensor((), "float32"):\n'
        "        lv1 = R.nn.prelu(x, y, axis=0)\n"
        "        gv = R.sum(lv1)\n"
        "        return gv\n"
    )


def test_nothing_to_reduce_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reduce", PERCEPTRON, "--passes", "Normalize"]) == 2
    assert capsys.readouterr().err.startswith(f"error[E0817]: Normalize does not fail on {PERCEPTRON}\n")
