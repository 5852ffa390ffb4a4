"""The laws between parser and printer: what is printed parses to the same program, and prints the same again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from tvms.dsl.load import parse as parse_text
from tvms.ir.base import IRModule
from tvms.ir.equal import structural_equal

DIALECTS = ("tvms", "tvm-0.21", "tvm-0.27")
PRINTED_BY_TVM = sorted((Path(__file__).parent / "texts").glob("*.txt"))
SAMPLES = sorted((Path(__file__).parents[2] / "samples").glob("*.tvms"))
_COMMENT = re.compile(r"^\s*(#.*)$", re.MULTILINE)


def parse(path: Path) -> IRModule:
    return parse_text(path.read_text(encoding="utf-8"), path.name)


@pytest.mark.parametrize("path", PRINTED_BY_TVM, ids=lambda path: path.stem)
def test_what_tvm_printed_prints_back_byte_for_byte(path: Path) -> None:
    assert parse(path).script("tvm-0.21") + "\n" == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("path", PRINTED_BY_TVM + SAMPLES, ids=lambda path: path.stem)
def test_print_and_parse_are_inverse(path: Path, dialect: str) -> None:
    module = parse(path)
    if dialect != "tvms":  # which alone has a word for schedules
        module = replace(module, schedules={})
    text = module.script(dialect)
    again = parse_text(text, "printed")
    assert structural_equal(module, again, map_free_vars=True)
    assert again.script(dialect) == text


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_no_comment_is_lost_or_doubled(path: Path) -> None:
    written = sorted(_COMMENT.findall(path.read_text(encoding="utf-8")))
    assert sorted(_COMMENT.findall(parse(path).script())) == written


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_module_without_a_name_gets_one_where_it_has_attributes(dialect: str) -> None:
    bare = parse_text(
        'T.prim_func f():\n    T.evaluate(0)\n\nR.function main() -> R.Object:\n    return R.call_pure_packed("f", sinfo_args=R.Object)\n'
    )
    assert not bare.name
    module = bare.with_attr("origin", "test")
    text = module.script(dialect)
    assert 'module_attrs({"origin": "test"})' in text
    assert structural_equal(parse_text(text), module)
