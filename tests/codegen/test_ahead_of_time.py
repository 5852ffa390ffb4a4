"""Libraries that a C program calls, compiled modules that are saved and loaded, and the cache of compiled modules."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvms
from tvms.codegen import aot, load_compiled
from tvms.codegen.artifact import FORMAT, MAGIC
from tvms.codegen.cache import Cache, Key

TEXT = """
T.prim_func axpy(a: T.float32, x: T.handle, y: T.handle):
    n = T.int64()
    X = T.match_buffer(x, (n,), "float32")
    Y = T.match_buffer(y, (n,), "float32")
    for i in T.parallel(n):
        with T.block("axpy"):
            vi = T.axis.spatial(n, i)
            Y[vi] = Y[vi] + a * X[vi]

T.prim_func pick(X: T.Buffer((4,), "float32"), J: T.Buffer((1,), "int32"), Y: T.Buffer((1,), "float32")):
    Y[0] = X[J[0]]
"""

PROGRAM = """
#include <stdio.h>
#include "library.h"
int main(void) {
    float x[5] = {1, 2, 3, 4, 5}, y[5] = {10, 20, 30, 40, 50};
    int32_t j = 7;
    if (tvms_axpy(2.0f, x, y, 5) != 0 || tvms_message(0) != NULL) return 1;
    for (int i = 0; i < 5; i++) printf("%g ", y[i]);
    int32_t status = tvms_pick(x, &j, y);
    printf("\\n%s\\n", tvms_message(status));
    return 0;
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_c_program_calls_a_library(tmp_path: Path) -> None:
    module = tvms.parse(TEXT, "axpy.tvms")
    (tmp_path / "library.h").write_text(aot.header(module))
    (tmp_path / "liblibrary.so").write_bytes(aot.shared_library(module))
    (tmp_path / "main.c").write_text(PROGRAM)
    command = ["cc", "-std=c99", "-Wall", "-Werror", "main.c", "-o", "main", "-L.", "-llibrary", "-Wl,-rpath,."]
    subprocess.run(command, cwd=tmp_path, check=True)
    said = subprocess.run(["./main"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    expected = "12 24 36 48 60 \naxpy.tvms:12: E0707: an index of 'X' is outside dimension 0\n"
    assert said == expected


def test_a_header_declares_every_function() -> None:
    assert (
        "/* X_: (n) of float32; Y_: (n) of float32 */\nint32_t tvms_axpy(float a_, float *X_, float *Y_, int64_t n_);"
        in (aot.header(tvms.parse(TEXT)))
    )


def call_all(functions: Any) -> list[Any]:
    x, y = np.arange(4, dtype="f4"), np.ones(4, "f4")
    functions["axpy"](2.0, x, y)
    out = np.zeros(1, "f4")
    functions["pick"](x, np.array([2], "i4"), out)
    with pytest.raises(tvms.TvmsError) as caught:
        functions["pick"](x, np.array([-1], "i4"), out)
    (problem,) = caught.value.diagnostics
    assert problem.span is not None
    return [*y, *out, problem.message, problem.span.source.text[problem.span.start : problem.span.end]]


EXPECTED = [1, 3, 5, 7, 2, "X[-1] is outside the buffer: its dimension 0 has 4 elements", "X[J[0]]"]


def test_a_compiled_module_is_loaded_again() -> None:
    executable = tvms.compile(tvms.parse(TEXT, "axpy.tvms"))
    assert call_all(executable) == EXPECTED
    assert call_all(load_compiled(executable.to_bytes(), "axpy.tvmsc")) == EXPECTED


def test_a_damaged_module_is_refused_or_harmless() -> None:
    data = tvms.compile(tvms.parse(TEXT, "axpy.tvms")).to_bytes()
    generator = random.Random(20261121)
    for number in range(500):
        damaged = bytearray(data)
        place = generator.randrange(len(data))
        if number % 3 == 0:
            del damaged[place:]
        elif number % 3 == 1:
            damaged[place] ^= 1 << generator.randrange(8)
        else:
            damaged[place:place] = bytes([generator.randrange(256)])
        with pytest.raises(tvms.TvmsError) as caught:
            load_compiled(bytes(damaged), "axpy.tvmsc")
        assert [problem.code for problem in caught.value.diagnostics] == ["E0609"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: b"ELF" + data, "it is not a compiled module"),
        (lambda data: data.replace(MAGIC + b"%d\n" % FORMAT, MAGIC + b"9\n", 1), "its format is of another version"),
        (lambda data: data[:100], "its manifest is damaged"),
        (lambda data: data[:-1], "its machine code is damaged"),
        (lambda data: data + b" ", "there is data after its end"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(change: Callable[[bytes], bytes], said: str) -> None:
    data = tvms.compile(tvms.parse(TEXT)).to_bytes()
    with pytest.raises(tvms.TvmsError) as caught:
        load_compiled(change(data), "axpy.tvmsc")
    assert caught.value.diagnostics[0].message == f"the compiled module 'axpy.tvmsc' cannot be loaded: {said}"


def test_what_was_compiled_before_is_not_compiled_again(tmp_path: Path) -> None:
    module = tvms.parse(TEXT, "axpy.tvms")
    first = tvms.compile(module, cache=tmp_path)
    again = tvms.compile(tvms.parse(TEXT, "axpy.tvms"), cache=tmp_path)
    assert "llvm" in first.stats
    assert "llvm" not in again.stats
    assert (first.safety, first.decisions) == (again.safety, again.decisions)
    assert call_all(first) == call_all(again) == EXPECTED
    assert "llvm" in tvms.compile(module, cache=tmp_path, bounds="check").stats
    (entry, _) = sorted(tmp_path.rglob("*.tvmsc"), key=lambda path: path.stat().st_mtime)
    entry.write_bytes(entry.read_bytes()[:-7])
    repaired = tvms.compile(module, cache=tmp_path)
    assert "llvm" in repaired.stats
    assert call_all(repaired) == EXPECTED


def test_a_cache_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    assert call_all(tvms.compile(tvms.parse(TEXT, "axpy.tvms"), cache=tmp_path / "file")) == EXPECTED
    assert Cache(tmp_path / "file").find(Key("00" * 32)) is None


SHARED = """
import sys, numpy, tvms
for number in range(8):
    text = f'''
T.prim_func main(X: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("b"):
            vi = T.axis.spatial(4, i)
            X[vi] = X[vi] + T.float32({number})
'''
    x = numpy.zeros(4, "f4")
    tvms.compile(tvms.parse(text), cache=sys.argv[1])["main"](x)
    assert (x == number).all()
"""


def test_processes_share_a_cache(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SHARED, str(tmp_path)]
    processes = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0]
    assert len(list(tmp_path.rglob("*.tvmsc"))) == 8
    assert not list(tmp_path.rglob(".new-*"))
