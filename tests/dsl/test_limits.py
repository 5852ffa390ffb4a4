"""Depth and length: ten thousand of anything is read, printed, formatted and compared; what goes beyond says so."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tvms.dsl.cli import main
from tvms.dsl.formatter import format_text
from tvms.dsl.load import parse
from tvms.dsl.parser.driver import MAX_TEXT
from tvms.ir.diagnostics import TvmsError
from tvms.ir.equal import structural_equal

N = 10_000
HEAD = 'T.prim_func f(A: T.Buffer((4,), "int32"), n: T.int32):\n'
DEEP = {
    "a sum": f"    A[0] = {' + '.join(['n'] * N)}\n",
    "parentheses": f"    A[0] = {'(' * N}n{')' * N}\n",
    "calls": f"    A[0] = {'T.popcount(' * N}n{')' * N}\n",
    "signs": f"    A[0] = {'-' * N}n\n",
    "assertions": '    assert n > 0, "positive"\n' * N + "    A[0] = 1\n",
}


@pytest.mark.deep(5)
@pytest.mark.parametrize("body", DEEP.values(), ids=DEEP)
def test_ten_thousand_of_anything(body: str) -> None:
    module = parse(HEAD + body)
    printed = module.script()
    assert structural_equal(parse(printed), module)
    assert format_text(printed).rstrip("\n") == printed


@pytest.mark.deep(8)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{HEAD}    A[0] = {'(' * 20_001}", "brackets nest more than 20,000 deep"),
        ("(" * MAX_TEXT, "brackets nest more than 20,000 deep"),
        ("x" * (MAX_TEXT + 1), f"the text is longer than {MAX_TEXT // 2**20} MiB"),
        ("".join(" " * depth + "if x:\n" for depth in range(5_002)), "blocks nest more than 5,000 deep"),
        (f"{HEAD}    A[0] = {'9' * 5_000}\n", "this integer has more than 64 bits"),
        (f"{HEAD}    A[0] = 0x{'f' * 5_000_000}\n", "this integer has more than 64 bits"),
        (f"{HEAD}    A[0] = {2**40}\n", f"{2**40} does not fit int32"),
        (f'{HEAD}    A[0] = "{"x" * 2**20}', "this string is not closed on its line"),
        (f"{HEAD}    A[0] = {'+'.join('n' * 50_002)}\n", "this expression has more than 50,000 operators"),
        ("\0" * MAX_TEXT, "the text has more than 2,000,000 tokens"),
    ],
    ids=[
        "brackets",
        "only brackets",
        "bytes",
        "blocks",
        "digits",
        "hexadecimal",
        "width",
        "a string",
        "operators",
        "tokens",
    ],
)
def test_what_goes_beyond_a_limit_says_so_at_once(text: str, message: str) -> None:
    start = time.process_time()
    with pytest.raises(TvmsError) as caught:
        parse(text)
    assert time.process_time() - start < 120
    error = caught.value.diagnostics[0]
    assert error.message == message
    assert error.span is not None
    assert error.help


def test_a_thousand_mistakes_are_enough() -> None:
    with pytest.raises(TvmsError) as caught:
        parse(HEAD + "    m\n" * 2_000)
    assert len(caught.value.diagnostics) == 1_000


def test_what_nests_deeper_than_any_stack_says_so() -> None:
    chain = "[0]" * 300_000
    with pytest.raises(TvmsError, match="E0010") as caught:
        parse(f"{HEAD}    A[0] = A{chain}\n")
    assert caught.value.diagnostics[0].message == "the program nests too deep"


COMMANDS = (
    "check --round-trip", "print", "fmt --check", "convert --to tvm-0.27", "opt --passes Simplify", "view -o OUT",
    "run --verify --arg n=1", "run --interpret --trap", "bench --seconds 0", "compile --emit asm", "tour",
)  # fmt: skip


@pytest.mark.deep(8)
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_handle_deep_programs(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    depth = 2_000
    nest = "".join(f"{' ' * (4 + level)}if n > {level}:\n" for level in range(depth))
    file = tmp_path / "deep.tvms"
    file.write_text(f"#tvms 1\n\n{HEAD}{nest}{' ' * (4 + depth)}A[0] = A[0] + 1\n")
    name, *options = command.replace("OUT", str(tmp_path / "out.svg")).split()
    code = main([name, str(file), *options])
    assert "error" not in capsys.readouterr().err
    assert code == (name == "fmt")
