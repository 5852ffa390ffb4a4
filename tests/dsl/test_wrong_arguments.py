"""Wrong values for functions, options and passes: a code, the reason and a remedy, whatever the value is."""

from __future__ import annotations

import io
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvms
from tvms.dsl.cli import main

ROOT = Path(__file__).parent.parent.parent
MATMUL, PERCEPTRON = ROOT / "samples/02_matmul.tvms", ROOT / "samples/04_perceptron.tvms"


def error_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return what the command line reports; it must be the user's error, not ours."""
    code = main(list(arguments))
    said = capsys.readouterr().err
    assert code in (1, 2), said
    return said


# --- Options of the command line


@pytest.mark.parametrize("seed", ["-1", "x", "1.5", "9" * 5000])
def test_a_seed_is_a_number(seed: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = error_of(capsys, "run", str(MATMUL), f"--seed={seed}")
    assert f"error[E0801]: argument --seed: expected an integer of at least 0, got '{seed}'" in said


@pytest.mark.parametrize("seconds", ["nan", "-1", "inf", "x"])
def test_seconds_are_a_time(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = error_of(capsys, "bench", str(MATMUL), f"--seconds={seconds}")
    assert f"argument --seconds: expected a number of seconds from 0 to 86400, got '{seconds}'" in said


@pytest.mark.parametrize("value", ["0x" + "f" * 5000, "9" * 5000, "1e999", "-1e999", "0" * 5000 + "x"])
def test_a_number_that_is_none_of_the_dtype(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = error_of(capsys, "run", str(MATMUL), "--arg", f"A={value}")
    assert said.startswith("error[E0808]: --arg A=")
    assert len(said) < 250


def test_an_integer_that_is_none_of_the_dtype(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "scale.tvms"
    file.write_text(
        'T.prim_func main(A: T.Buffer((4,), "int8"), n: T.int8):\n    for i in range(4):\n        A[i] = A[i] + n\n'
    )
    for name in ("A", "n"):
        for value in ("128", "-129", "0.5", "nan"):
            said = error_of(capsys, "run", str(file), "--arg", f"{name}={value}")
            expected = f"error[E0808]: --arg {name}={value}: not a value of dtype int8\n  = help: give an integer from -128 to 127\n"
            assert said == expected


def npy(header: str, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    return b"\x93NUMPY" + version + struct.pack("<H", len(header) + 1) + header.encode() + b"\n" + data


def head(shape: str, descr: str = "<f4") -> bytes:
    return npy(f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}")


DAMAGED = {
    "huge": head(f"({10**30},)"),
    "large": head(f"({10**12},)"),
    "negative": head("(-5,)"),
    "many dimensions": head(f"({'1,' * 70})"),
    "objects": head("(4,)", "|O"),
    "nested": npy("(" * 5000 + ")" * 5000),
    "a fraction": head("(4.0,)"),
    "no dtype": head("(4,)", "<f99999999999"),
    "dates": head("(4,)", "<M8[s]"),
    "nothing": b"",
    "a beginning": b"\x93NUMPY",
    "another version": npy("{}", version=b"\x09\x09"),
    "NUL": npy("\0\0"),
    "a ZIP file": b"PK\x03\x04" + b"x" * 100,
    "a pickle": b"\x80\x04K\x01.",
    "text": b"1 2 3 4",
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_array_file(damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.npy"
    file.write_bytes(DAMAGED[damage])
    said = error_of(capsys, "run", str(MATMUL), "--arg", f"A={file}")
    assert said.startswith(f"error[E0809]: --arg A: cannot read '{file}': ")
    assert said.endswith("\n  = help: save it with numpy.save\n")
    assert said.count("\n") == 2


def test_a_name_that_is_too_long_for_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    name = "a" * 300
    for command in (
        ["check", name],
        ["print", name],
        ["run", name],
        ["fmt", name],
        ["opt", name, "--passes", "Normalize"],
    ):
        assert "error[E0001]" in error_of(capsys, *command)
    assert "error[E0802]" in error_of(capsys, "print", str(MATMUL), "-o", name)
    assert "error[E0802]" in error_of(capsys, "run", str(MATMUL), "--out", name)
    assert "error[E0809]" in error_of(capsys, "run", str(MATMUL), "--arg", f"A={name}.npy")


# --- Options of passes


PASSES = {
    "Filter(None)": "argument 1, 'fcond' to {name}: expected Callable[[tir.PrimFunc], bool], got None",
    "Filter(3)": "argument 1, 'fcond' to {name}: expected Callable[[tir.PrimFunc], bool], got 3",
    "DeadCodeElimination(entry_functions=3)": "argument 1, 'entry_functions' to {name}: expected Sequence[str] | None, got 3",
    "DeadCodeElimination('main')": "argument 1, 'entry_functions' to {name}: expected Sequence[str] | None, got 'main'",
    "DeadCodeElimination([1])": "argument 1, 'entry_functions' to {name}: expected Sequence[str] | None, got a tuple",
    "FuseOpsByPattern(None)": "argument 1, 'patterns' to {name}: expected Sequence[Given], got None",
    "BindParams(None, {})": "argument 1, 'func_name' to {name}: expected str, got None",
    "BindSymbolicVars(None)": "argument 1, 'binding_map' to {name}: expected Mapping[str | tir.Var, int | tir.PrimExpr], got None",
    "FuseOps(fuse_opt_level='a')": "argument 1, 'fuse_opt_level' to {name}: expected int, got 'a'",
    "ConvertToDataflow(2.5)": "argument 1, 'min_size' to {name}: expected int, got 2.5",
    "GuardIndices('zz')": "argument 1, 'bounds' to {name}: expected Bounds, got 'zz'",
}


@pytest.mark.parametrize("given", PASSES)
def test_options_of_passes_have_the_declared_types(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    name = given.partition("(")[0]
    said = error_of(capsys, "opt", str(PERCEPTRON), "--passes", given)
    assert said.startswith(f"error[E0902]: {PASSES[given].format(name=name)}\n  = help: write {name}(")


def test_no_entry_functions_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("DeadCodeElimination", "RunCodegen"):
        assert main(["opt", str(PERCEPTRON), "--passes", f"{name}(entry_functions=None)"]) == 0
    capsys.readouterr()


def test_annotations_of_all_passes_are_known() -> None:
    from inspect import getclosurevars
    from typing import get_type_hints

    from tvms.ir.passes.transform import passes

    for construct in passes().values():
        get_type_hints(getclosurevars(construct).nonlocals["function"])


# --- Arguments of functions in Python


def said_by(call: Any, *args: Any, **named: Any) -> str:
    with pytest.raises(tvms.TvmsError) as caught:
        call(*args, **named)
    return str(caught.value)


def test_what_is_no_program() -> None:
    for function in (tvms.compile, tvms.emit, lambda value, *_: tvms.interpret(value, "main", [])):
        assert said_by(function, "kernel.tvms", "llvm") == (
            "error[E0702]: expected a module or a function, got a value of type str\n"
            "  = help: tvms.load reads a file, tvms.parse a text"
        )
        for value in (None, 3, [], object()):
            assert said_by(function, value, "llvm").startswith("error[E0702]: expected a module or a function, got")
    with pytest.raises(TypeError):
        tvms.compile(None)  # pyright: ignore[reportArgumentType]


def test_a_function_that_a_module_does_not_have() -> None:
    module = tvms.load(MATMUL)
    expected = "error[E0102]: the module has no function 'nope'\n  = help: it has matmul"
    assert said_by(lambda: module["nope"]) == expected
    with pytest.raises(KeyError):
        module["nope"]


def test_settings_of_the_compiler() -> None:
    module = tvms.load(MATMUL)
    assert said_by(tvms.compile, module, bounds="zz") == (
        "error[E0702]: option 'bounds' must be 'check' or 'prove' or 'trust', not 'zz'"
    )
    assert "option 'threads' must be int, not 'a'" in said_by(tvms.compile, module, threads="a")
    for wrong in ({"threads": -1}, {"level": 4}, {"level": -1}):
        assert said_by(tvms.compile, module, **wrong).startswith("error[E0702]: level is 0 to 3 and threads 0 to 1024")
    assert said_by(tvms.compile, module, 5).startswith("error[E0601]: expected a target, got int")


class Raises:
    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **_: Any) -> Any:
        raise ZeroDivisionError("boom")


class NoCapsule(Raises):
    def __dlpack__(self, **_: Any) -> Any:
        return 5


class NoDevice(NoCapsule):
    def __dlpack_device__(self) -> Any:
        return "x"


class NotCallable:
    __dlpack__ = __dlpack_device__ = 3


class NoDeviceAtAll:
    @property
    def __dlpack__(self) -> Any:
        raise ValueError("a property that fails")


@pytest.mark.parametrize("kind", [Raises, NoCapsule, NoDevice, NotCallable, NoDeviceAtAll])
def test_arrays_that_break_the_protocol(kind: type) -> None:
    b, c = np.zeros((64, 32), "f4"), np.zeros((48, 32), "f4")
    call = tvms.compile(tvms.load(MATMUL))["matmul"]
    assert said_by(call, kind(), b, c).startswith(
        "error[E0702]: argument 'A' of 'matmul': its memory cannot be shared: "
    )
    graph = tvms.compile(tvms.load(PERCEPTRON))["main"]
    assert "argument 'x' of 'main': its memory cannot be shared: " in said_by(graph, kind(), b, c, c)


def test_what_is_no_text_and_no_cache() -> None:
    assert said_by(tvms.parse, None) == "error[E0702]: expected a text, got a value of type NoneType"
    assert said_by(tvms.parse, b"T.prim_func f():\n    T.evaluate(0)\n") == (
        "error[E0702]: expected a text, got a value of type bytes\n  = help: decode it: data.decode()"
    )
    assert said_by(tvms.parse, MATMUL).endswith("= help: tvms.load reads a file")
    with pytest.raises(TypeError):
        tvms.parse(None)  # pyright: ignore[reportArgumentType]
    module = tvms.load(MATMUL)
    for wrong in (7, True, b"folder"):
        expected = f"error[E0702]: option 'cache' must be a path, not {wrong!r}\n  = help: name a folder"
        assert said_by(tvms.compile, module, cache=wrong) == expected
    assert said_by(tvms.verify, None) == "error[E0702]: expected a module or a function, got a value of type NoneType"
    assert said_by(tvms.verify, module, "all") == (
        "error[E0702]: option 'level' must be 'syntax' or 'types' or 'bounds' or 'races', not 'all'"
    )


# --- Streams


def test_streams_of_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Notebooks and tests put streams without bytes in the place of the standard ones."""
    monkeypatch.chdir(tmp_path)  # `view` writes a picture
    text = "T.prim_func main(A: T.Buffer((4,), 'float32')):\n    A[0] = 1.0\n"
    commands = [
        "check -",
        "print -",
        "fmt -",
        "run -",
        "compile --emit llvm -",
        "view -",
        "check --output-format sarif -",
    ]
    for command in commands:
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        monkeypatch.setattr(sys, "stdout", output := io.StringIO())
        monkeypatch.setattr(sys, "stderr", errors := io.StringIO())
        assert main(command.split()) == 0, errors.getvalue()
        assert output.getvalue(), command
        assert "internal error" not in errors.getvalue()
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    assert main(["compile", "--emit", "obj", "-"]) == 2
    assert "error[E0801]: standard output takes text only: name a file with -o" in errors.getvalue()
