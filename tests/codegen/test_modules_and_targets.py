"""Compiled modules as values: called, timed, saved with their tensors, loaded; targets as values of a program."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tvms
from tvms import relax
from tvms.target import Target

TEXT = """\
T.prim_func main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] + T.float32(1)
"""
GRAPH = """\
I.ir_module Module:
    R.function main(x: R.Tensor((2, 32), "float32"), w: R.Tensor((32, 32), "float32")) -> R.Tensor((2, 32), "float32"):
        with R.dataflow():
            gv = R.matmul(x, w)
            R.output(gv)
        return gv
"""
x, w = np.ones((2, 32), "f4"), np.eye(32, dtype="f4")


def test_a_module_is_called_and_timed() -> None:
    lib = tvms.tir.build(tvms.parse(TEXT), target="llvm")
    a, b = tvms.nd.array(np.arange(4, dtype="f4")), tvms.nd.empty((4,))
    lib(a, b)
    assert b.numpy().tolist() == [1, 2, 3, 4]
    assert lib.time_evaluator("main", tvms.cpu(), number=1)(a, b).mean > 0


def test_a_saved_module_has_its_tensors(tmp_path: Path) -> None:
    module = relax.transform.BindParams("main", {"w": w * 3})(tvms.parse(GRAPH))
    tvms.compile(module).export_library(tmp_path / "model.tvmsc")
    loaded = tvms.runtime.load_module(tmp_path / "model.tvmsc")
    assert isinstance(loaded, tvms.runtime.Module)
    assert (loaded["main"](x) == 3).all()
    assert (relax.VirtualMachine(loaded, tvms.cpu())["main"](x).numpy() == 3).all()
    compiled = tvms.compile(module)
    assert loaded["as_text"]() == compiled.as_text()
    assert loaded["as_python"]() == compiled.as_python()


def test_what_cannot_be_loaded_or_saved_is_said(tmp_path: Path) -> None:
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.runtime.load_module(tmp_path / "missing.tvmsc")
    assert str(caught.value) == (
        f"error[E0609]: the compiled module '{tmp_path}/missing.tvmsc' cannot be loaded: "
        "it cannot be read: No such file or directory\n  = help: check the path"
    )
    with pytest.raises(tvms.TvmsError, match="E0802"):
        tvms.compile(tvms.parse(TEXT)).export_library(tmp_path / "no" / "folder.tvmsc")
    assert list(tmp_path.iterdir()) == []


def test_a_target_is_its_text() -> None:
    assert Target("llvm") == "llvm"
    assert Target({"kind": "cuda", "arch": "sm_80"}, host="llvm") == "cuda -arch=sm_80"
    assert Target("cuda -arch=sm_90").kind == "cuda"
    assert Target("cuda -arch=sm_90").attrs == {"arch": "sm_90"}
    assert Target("llvm").attrs == {}
    assert Target.from_device(tvms.cpu()) == "llvm"
    assert Target.from_device("cpu") == "llvm"
    assert Target.from_device(tvms.cuda()).kind == "cuda"
    with pytest.raises(tvms.TvmsError, match="E0601"):
        Target("vax")


def test_the_innermost_target_is_that_of_what_is_compiled() -> None:
    assert Target.current() is None
    with pytest.raises(ValueError, match="no current target"):
        Target.current(allow_none=False)
    with Target("cuda -arch=sm_80 -simulate=ascending") as simulated:
        with Target("llvm") as inner:
            assert Target.current() is inner
        assert Target.current() is simulated
        assert b'"target":"cuda -arch=sm_80 -simulate=ascending"' in tvms.compile(tvms.parse(TEXT)).to_bytes()
    assert Target.current() is None
    assert b'"target":"llvm"' in tvms.compile(tvms.parse(TEXT)).to_bytes()


def test_attributes_are_set_on_copies() -> None:
    module = tvms.parse(GRAPH)
    function = module["main"]
    named = function.with_attr("global_symbol", "other").with_attr({"a": 1, "b": 2}).without_attr("b")
    assert named.attrs == {**function.attrs, "global_symbol": "other", "a": 1}
    assert module.with_attr("system", "x").attrs == {"system": "x"}
    assert tvms.IRModule.from_expr(named).get_global_vars()[0].name_hint == "other"
