"""`tvms.contrib`: temporary folders, the C++ compiler, products by an external function."""

from __future__ import annotations

import ctypes
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import tvms
from tvms import relax
from tvms.contrib import cblas, cc, utils


def test_a_temporary_folder_ends_with_its_block() -> None:
    with utils.tempdir() as folder:
        Path(folder.relpath("a")).write_text("x")
        assert folder.listdir() == ["a"]
        assert (folder / "a").read_text() == "x"
    assert not Path(folder.path).exists()


def test_a_given_folder_is_kept(tmp_path: Path) -> None:
    utils.tempdir(str(tmp_path)).remove()
    assert tmp_path.exists()


@pytest.mark.skipif(cc.get_cc() is None, reason="needs a C++ compiler")
def test_a_source_becomes_a_library(tmp_path: Path) -> None:
    source, library = tmp_path / "twice.cc", str(tmp_path / "libtwice.so")
    source.write_text('extern "C" int twice(int x) { return 2 * x; }')
    cc.create_shared(library, str(source))
    assert ctypes.CDLL(library).twice(21) == 42
    source.write_text("int main( {")
    with pytest.raises(RuntimeError, match=r"' failed:\n"):
        cc.create_executable(str(tmp_path / "program"), str(source))


@pytest.mark.parametrize(("transa", "transb"), [*product([False, True], repeat=2)])
def test_an_external_product_is_a_product(transa: bool, transb: bool) -> None:
    left, right = np.arange(6.0, dtype="float32").reshape(2, 3), np.arange(12.0, dtype="float32").reshape(3, 4)
    given = [np.ascontiguousarray(left.T) if transa else left, np.ascontiguousarray(right.T) if transb else right]
    builder = relax.BlockBuilder()
    a, b = (relax.Var(name, relax.TensorStructInfo(x.shape, "float32")) for name, x in zip("ab", given, strict=True))
    with builder.function("main", [a, b]):
        builder.emit_func_output(builder.emit_te(cblas.matmul, a, b, transa=transa, transb=transb))
    np.testing.assert_array_equal(tvms.interpret(builder.get(), "main", given), left @ right)
