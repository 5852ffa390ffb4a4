"""What canonical printing resolves stays where a text keeps its dialect: docstrings, constants, macros; names in any language."""

from __future__ import annotations

from pathlib import Path

import pytest
from tvms.dsl.cli import main
from tvms.dsl.load import parse
from tvms.dsl.round_trip import check_round_trip

TEXT = '''#tvms 1
"""The module."""
N = 4

T.macro add(A, i):
    A[i] = A[i] + 1.0

T.prim_func f(A: T.Buffer((N,), "float32")):
    """What it does."""
    for i in range(N):  # a comment
        add(A, i)
'''


@pytest.mark.parametrize("command", [["print", "--keep-source-forms"], ["convert", "--to", "tvms"]])
def test_a_native_text_keeps_its_forms(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.tvms"
    path.write_text(TEXT.replace("A[i] + 1.0", "A[i]+1.0"))
    assert main([*command, str(path)]) == 0
    assert capsys.readouterr().out == TEXT


def test_a_text_with_errors_is_not_printed_as_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.tvms"
    path.write_text(TEXT.replace("for i in range(N):", "for i in range(M):"))
    assert main(["print", "--keep-source-forms", str(path)]) == 1
    assert capsys.readouterr().out == ""


def test_only_native_texts_have_source_forms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.py"
    path.write_text('@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    A[0] = T.float32(1)\n')
    assert main(["print", "--keep-source-forms", str(path)]) == 2
    assert (
        capsys.readouterr().err
        == "error[E0801]: --keep-source-forms prints a text of our own dialect\n  = help: leave it out\n"
    )


def test_names_in_any_language_survive() -> None:
    text = '#tvms 1\n\nT.prim_func größe(Länge: T.Buffer((4,), "float32")):\n    for ü in range(4):\n        Länge[ü] = T.float32(1)'
    module = parse(text)
    assert module.script() == text
    assert check_round_trip(module, "f") == ()
    assert "Länge[ü] = T.float32(1.0)" in module.script("tvm-0.27")


@pytest.mark.parametrize("dialect", ["tvms", "tvm-0.21", "tvm-0.27"])
def test_comments_on_matched_buffers_stay_where_they_are(dialect: str) -> None:
    text = """@T.prim_func
def f(a: T.handle, b: T.handle):
    # first
    A = T.match_buffer(a, (4, 4), "float32")  # the input
    # second
    B = T.match_buffer(b, (4, 4), "float32", strides=(8, 1))  # the output
    # with T.block("root"):
    for i, j in T.grid(4, 4):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
"""
    printed = parse(text).script(dialect)
    assert parse(printed).script(dialect) == printed
    assert [printed.count(comment) for comment in ("# first", "# the input", "# second", "# the output")] == [1] * 4
    assert parse(parse(printed).script("tvms")).script(dialect) == printed


def test_a_nested_recursive_function_with_a_known_scalar_prints_as_itself() -> None:
    text = """R.function main(x: R.Tensor(("n",), "float32"), k: R.Prim(value="i")) -> R.Tensor(("n",), "float32"):
    R.function repeat(i_arg: R.Prim(value="i"), y: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        i, n = T.int64(), T.int64()
        r = repeat(R.prim_value(i + 1), y)
        return r
    gv = repeat(k, x)
    return gv
"""
    module = parse(text)
    printed = module.script()
    assert parse(printed).script() == printed
    assert check_round_trip(module, "f") == ()
