"""The laws between parser and printer: what is printed parses to the same program, and prints the same again."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest
from msgspec.structs import replace
from tvms.dsl.load import parse as parse_text
from tvms.ir import tir
from tvms.ir.base import IRModule
from tvms.ir.equal import structural_equal
from tvms.ir.verify import verify
from tvms.ir.visit import rewrite, walk

DIALECTS = ("tvms", "tvm-0.21", "tvm-0.27")
PRINTED_BY_TVM = sorted((Path(__file__).parents[1] / "cases" / "printed_by_tvm").glob("*.tvms"))
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


@pytest.mark.parametrize("dialect", DIALECTS)
def test_regions_keep_the_dtypes_of_their_ranges(dialect: str) -> None:
    """A single index stands for a range of one whose extent has the dtype of the index; other ranges are slices, whose
    extents are as wide as their starts, as the verifier demands."""
    module = parse_text("""
T.prim_func f(A: T.Buffer((4, 4), "float32")):
    with T.block("b"):
        T.reads(A[0, 0])
        T.writes()
        T.evaluate(A[0, 0])
""")
    (region,) = (node for node in walk(module["f"]) if isinstance(node, tir.BufferRegion))
    for first, second in product(product(("int32", "int64"), repeat=2), repeat=2):
        ranges = [tir.Range(tir.IntImm(low, 0), tir.IntImm(extent, 1)) for low, extent in (first, second)]
        other = replace(region, region=tuple(ranges))
        changed = IRModule(
            {"f": rewrite(module["f"], lambda node, other=other: other if node is region else None)}, name=""
        )
        if ("int64", "int32") in (first, second):
            assert {diagnostic.code for diagnostic in verify(changed, "types")} == {"E0405"}
        else:
            assert structural_equal(parse_text(changed.script(dialect)), changed), changed.script()


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("sizes", [(), (tir.IntImm("int64", 4),)], ids=["no dimension", "one dimension"])
def test_offsets_and_strides_keep_their_dtypes(sizes: tuple[tir.PrimExpr, ...], dialect: str) -> None:
    """A variable that a buffer declares is written as its attribute only where reading gives it the same dtype."""
    module = parse_text(
        "T.prim_func f(A_handle: T.handle):\n    A = T.match_buffer(A_handle, ())\n    T.evaluate(A.data)\n"
    )
    function = module["f"]
    assert isinstance(function, tir.PrimFunc)
    (buffer,) = function.buffer_map.values()
    for offset, stride in product(("int32", "int64"), repeat=2):
        strides = tuple([tir.Var(stride, "s") for _ in sizes])
        other = replace(buffer, shape=sizes, strides=strides, elem_offset=tir.Var(offset, "o"))
        changed = IRModule({"f": replace(function, buffer_map=dict.fromkeys(function.buffer_map, other))}, name="")
        assert structural_equal(parse_text(changed.script(dialect)), changed), changed.script()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_factor_beside_an_offset_of_zero(dialect: str) -> None:
    """A buffer with an `offset_factor` and no offset would get a new variable as its offset."""
    text = 'T.prim_func f(a: T.handle):\n    A = T.match_buffer(a, (4,), "float32", elem_offset=0, offset_factor=8)\n    T.evaluate(A[0])\n'
    module = parse_text(text)
    assert structural_equal(parse_text(module.script(dialect)), module), module.script(dialect)


@pytest.mark.parametrize("dialect", ["tvms", "tvm-0.21", "tvm-0.27"])
def test_comments_stay_at_the_only_statement_of_a_body_that_does_nothing(dialect: str) -> None:
    body = "    for i in range(4):\n        # first\n        T.evaluate(0)  # second\n        # third\n"
    module = parse_text(f'T.prim_func main(A: T.Buffer((4,), "float32")):\n{body}')
    assert module.script(dialect).endswith(body.rstrip())
