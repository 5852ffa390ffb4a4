"""Shared libraries of whole graphs: C programs call them without Python, and Python loads them again."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tvms
from tvms import relax
from tvms.codegen import aot, library
from tvms.dsl.cli import main

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")

GRAPH = """
I.ir_module Module:
    R.function main(x: R.Tensor((3, 8), "float32"), w: R.Tensor((8, 8), "float32"), b: R.Tensor((8,), "float32")):
        y = R.matmul(x, w)
        z = R.nn.softmax(R.add(y, b))
        r = R.nn.relu(y)
        return (z, (x, b), r, z)

    R.function double(x: R.Tensor((3, 8), "float32")) -> R.Tensor((3, 8), "float32"):
        y = R.add(x, x)
        return y

    T.prim_func pick(X: T.Buffer((4,), "float32"), J: T.Buffer((1,), "int32"), Y: T.Buffer((1,), "float32")):
        Y[0] = X[J[0]]
"""
PROGRAM = """
#include <stdio.h>
#include "model.h"
static float x[24], z[24], x2[24], b[8], r[24], z2[24], d[24];
static void show(const float *values, int count) {
    for (int i = 0; i < count; i++) printf("%.9g ", values[i]);
    printf("\\n");
}
int main(void) {
    for (int i = 0; i < 24; i++) x[i] = (float)(i % 7) - 3;
    int32_t j = 9;
    for (int call = 0; call < 2; call++)
        if (tvms_main(x, z, x2, b, r, z2) != 0) return 1;
    if (tvms_double(x, d) != 0) return 2;
    show(z, 24); show(x2, 24); show(b, 8); show(r, 24); show(z2, 24); show(d, 24);
    printf("%s\\n", tvms_message(tvms_pick(x, &j, z)));
    return 0;
}
"""


def bound() -> tvms.IRModule:
    """Return `GRAPH` with weights as constants."""
    random = np.random.default_rng(0)
    weights = {"w": random.standard_normal((8, 8), np.float32), "b": random.standard_normal(8, np.float32)}
    return relax.transform.BindParams("main", weights)(tvms.parse(GRAPH, "graph.tvms"))


def said_by(program: str, folder: Path, *options: str) -> list[str]:
    """Return the lines that a C program prints, linked with model.so in `folder`."""
    (folder / "main.c").write_text(program)
    command = ["cc", "-std=c99", "-Wall", "-Werror", "main.c", "-o", "main", "model.so", "-Wl,-rpath,.", *options]
    subprocess.run(command, cwd=folder, check=True)
    return subprocess.run(["./main"], cwd=folder, check=True, capture_output=True, text=True).stdout.splitlines()


@needs_compiler
@pytest.mark.parametrize("way", ["export_library", "tvms compile"])
def test_a_c_program_runs_a_whole_graph(way: str, tmp_path: Path) -> None:
    module = bound()
    executable = tvms.compile(module)
    if way == "export_library":
        executable.export_library(tmp_path / "model.so")
    else:
        tvms.save(module, str(tmp_path / "model.tvms"))
        assert main(["compile", str(tmp_path / "model.tvms"), "--emit", "so", "-o", str(tmp_path / "model.so")]) == 0
    *numbers, fault = said_by(PROGRAM, tmp_path)
    x = np.array([i % 7 - 3 for i in range(24)], "f4").reshape(3, 8)
    z, (x2, b), r, z2 = executable["main"](x)
    for line, expected in zip(numbers, (z, x2, b, r, z2, executable["double"](x)), strict=True):
        np.testing.assert_array_equal(np.array(line.split(), "f4"), np.asarray(expected).ravel())
    assert fault.endswith("E0707: an index of 'X' is outside dimension 0")


@needs_compiler
def test_a_library_is_also_a_compiled_module(tmp_path: Path) -> None:
    executable, x = tvms.compile(bound()), np.ones((3, 8), "f4")
    executable.export_library(tmp_path / "model.so")
    assert (tmp_path / "model.so").read_bytes().startswith(b"\x7fELF")
    (z, (x2, b), r, _), (again, _, _, _) = (
        executable["main"](x),
        tvms.runtime.load_module(tmp_path / "model.so")["main"](x),
    )
    assert (x2 is x, b.shape, r.shape) == (True, (8,), (3, 8))
    np.testing.assert_array_equal(again, z)


@needs_compiler
def test_a_library_without_its_module_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.so").write_bytes(aot.shared_library(bound()))
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.runtime.load_module(tmp_path / "model.so")
    assert caught.value.diagnostics[0].message == (
        f"the compiled module '{tmp_path}/model.so' cannot be loaded: "
        "it is a library for programs in C, without the module that it was made from"
    )


def test_a_header_declares_the_public_functions() -> None:
    declared = [line for line in aot.header(bound()).splitlines() if line.startswith("int32_t")]
    assert declared == [
        "int32_t tvms_main(const float *x_, float *result_0_, float *result_1_, float *result_2_, float *result_3_, "
        "float *result_4_);",
        "int32_t tvms_double(const float *x_, float *result_0_);",
        "int32_t tvms_pick(float *X_, int32_t *J_, float *Y_);",
    ]


REFUSED = {
    "sizes": ('x: R.Tensor(("n",), "float32")', "        y = R.exp(x)", "it has symbolic sizes"),
    "python": (
        'x: R.Tensor((4,), "float32")',
        '        y = R.call_dps_packed("my.function", (x,), out_sinfo=R.Tensor((4,), "float32"))',
        "it calls the function 'my.function' of Python or a library",
    ),
    "packed": (
        'x: R.Tensor((4,), "float32")',
        '        y = R.call_pure_packed("my.other", x, sinfo_args=R.Tensor((4,), "float32"))',
        "it calls the function 'my.other' of Python or a library",
    ),
    "values": (
        'x: R.Tensor((4,), "float32")', "        y = R.unique(x)", "the operator 'R.unique' is computed in Python"
    ),
    "nothing": ('x: R.Tensor((4,), "float32")', "        y = x", "it calls no kernel"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_needs_python_is_named(case: str) -> None:
    params, body, reason = REFUSED[case]
    module = tvms.parse(f"I.ir_module Module:\n    R.function main({params}):\n{body}\n        return y\n")
    for make in (aot.header, aot.shared_library):
        with pytest.raises(tvms.TvmsError) as caught:
            make(module)
        (found,) = caught.value.diagnostics
        assert (found.code, found.message) == (
            "E0620", f"graph function 'main' cannot be part of a library for C: {reason}",
        )  # fmt: skip
        assert found.span is not None


@needs_compiler
def test_a_library_has_all_functions_for_python(tmp_path: Path) -> None:
    params, body, reason = REFUSED["sizes"]
    other = '    T.prim_func one(A: T.Buffer((1,), "int32")):\n        T.func_attr({"global_symbol": "one"})\n        A[0] = 1\n'
    module = tvms.parse(f"I.ir_module Module:\n{other}    R.function main({params}):\n{body}\n        return y\n")
    path = tmp_path / "model.so"
    tvms.compile(module).export_library(path)
    header = path.with_suffix(".h").read_text()
    assert f"/* graph function 'main' cannot be part of a library for C: {reason} */" in header
    assert "int32_t tvms_one(int32_t *A_);" in header
    assert "tvms_main" not in header
    assert tvms.runtime.load_module(path)["main"](np.zeros(3, "f4")).tolist() == [1.0] * 3
    found = np.zeros(1, "i4")
    assert ctypes.CDLL(str(path)).tvms_one(ctypes.c_void_p(found.ctypes.data)) == 0
    assert found.tolist() == [1]


def test_a_refused_library_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tvms.parse('T.prim_func one(A: T.Buffer((1,), "int32")):\n    A[0] = 1\n')
    monkeypatch.setattr(library, "COMPILERS", ())
    with pytest.raises(tvms.TvmsError, match="E0608"):
        tvms.compile(module).export_library(tmp_path / "model.so")
    assert list(tmp_path.iterdir()) == []


PARALLEL = """
T.prim_func count(A: T.Buffer((1000, 1000), "float32")):
    for i in T.parallel(1000):
        for j in range(1000):
            A[i, j] = A[i, j] * T.float32(2)
"""
COUNT_THREADS = """
#include <dirent.h>
#include <stdio.h>
#include "model.h"
static float a[1000000];
int main(void) {
    if (tvms_count(a) != 0) return 1;
    int threads = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task = readdir(tasks); task; task = readdir(tasks)) threads += task->d_name[0] != '.';
    printf("%d\\n", threads);
    return 0;
}
"""


@needs_compiler
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs CPU masks")
def test_a_library_uses_the_cpus_that_its_process_may_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TVMS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "model.so").write_bytes(aot.shared_library(tvms.parse(PARALLEL)))
    (tmp_path / "model.h").write_text(aot.header(tvms.parse(PARALLEL)))
    cpus = sorted(os.sched_getaffinity(0))
    assert said_by(COUNT_THREADS, tmp_path) == [str(len(cpus))]
    only = f"{{ cpus=$(taskset -pc {cpus[0]} $$); ./main; }}"
    found = subprocess.run(["sh", "-c", only], cwd=tmp_path, capture_output=True, text=True, check=False)
    if found.returncode == 127 or "not found" in found.stderr:
        pytest.skip("taskset is missing")
    assert found.stdout.strip() == "1"


CALLS = """
I.ir_module Module:
    R.function layer(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")) -> R.Tuple(R.Tensor((4, 4), "float32"), R.Tensor((4, 4), "float32")):
        y = R.matmul(x, w)
        z = R.nn.relu(y)
        return (z, x)

    R.function block(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")) -> R.Tensor((4, 4), "float32"):
        a = Module.layer(x, w)
        b = Module.layer(a[0], w)
        c = R.add(b[0], b[1])
        return c

    R.function main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")) -> R.Tensor((4, 4), "float32"):
        y = Module.block(x, w)
        z = Module.block(y, x)
        return z
"""


def test_graph_functions_that_are_called_become_part_of_their_callers() -> None:
    module = tvms.parse(CALLS)
    executable, random = tvms.compile(module), np.random.default_rng(0)
    x, w = (random.standard_normal((4, 4), np.float32) for _ in range(2))
    assert set(executable.plans) == {"layer", "block", "main"}
    expected = tvms.interpret(module, "main", [x, w])
    np.testing.assert_allclose(executable["main"](x, w), expected, rtol=1e-5, atol=1e-5)
    by_call = tvms.compile(module, native=False)["main"](x, w)
    np.testing.assert_array_equal(executable["main"](x, w), by_call)


def test_recursive_functions_stay_outside() -> None:
    text = """
I.ir_module Module:
    R.function main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = Module.other(x)
        return y

    R.function other(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        if R.less(R.sum(x), R.const(100.0, "float32")):
            r = Module.main(R.add(x, x))
        else:
            r = x
        return r
"""
    module = tvms.parse(text)
    assert tvms.compile(module)["main"](np.ones(4, "f4")).tolist() == [32.0] * 4
    with pytest.raises(tvms.TvmsError) as caught:
        aot.header(module)
    assert [found.message.split(": ")[1] for found in caught.value.diagnostics] == [
        f"its calls of graph functions, such as '{name}', are recursive or too many" for name in ("other", "main")
    ]
