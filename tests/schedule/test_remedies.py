"""Exact remedies of refused steps: each is an edit, and the step is no longer refused so after it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from lsprotocol import types as lsp
from tvms.dsl.cli import main
from tvms.dsl.cli.check_command import check_schedules
from tvms.dsl.server.actions import actions
from tvms.dsl.server.document import Document
from tvms.dsl.server.reports import from_findings

ROOT = Path(__file__).parents[2]
PROGRAM = """\
T.prim_func f(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16, 16))
    for i, j in T.grid(16, 16):
        with T.block("double"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, k, l in T.grid(16, 4, 4):
        with T.block("sum"):
            v, vk = T.axis.spatial(16, i), T.axis.reduce(16, k * 4 + l)
            with T.init():
                C[v] = T.float32(0)
            C[v] = C[v] + B[v, vk]
"""
ARGMAX = """\
T.prim_func f(A: T.Buffer((16,), "float32"), I: T.Buffer((1,), "int32"), V: T.Buffer((1,), "float32")):
    for o, k, l in T.grid(1, 4, 4):
        with T.block("sum"):
            v, vk = T.axis.spatial(1, o), T.axis.reduce(16, k * 4 + l)
            with T.init():
                I[v] = -1
                V[v] = T.min_value("float32")
            index: T.int32 = T.Select(V[v] >= A[vk], I[v], vk)
            value: T.float32 = T.Select(V[v] >= A[vk], V[v], A[vk])
            I[v] = index
            V[v] = value
"""
SCHEDULE = """
S.schedule s(f):
    double, block = S.get_block("double"), S.get_block("sum")
    i, j = S.get_loops(double)
    o, k, l = S.get_loops(block)
"""


class Remedy(NamedTuple):
    """The function that refuses, the steps with what the message points at between marks, and the steps after the remedy."""

    where: str
    steps: str
    after: str
    program: str = PROGRAM


REMEDIES = (
    Remedy("split.split", "S.split(i, factors=[3, 6], disable_predication=¦True¦)", "S.split(i, factors=[3, 6])"),
    Remedy("split._inferred", "S.split(i, factors=¦[2, 4]¦)", "S.split(i, factors=[None, 4])"),
    Remedy("split._inferred", "S.split(i, ¦[2, 4]¦)", "S.split(i, [None, 4])"),
    Remedy("split._inferred", "S.split(i, factors=[¦-1¦, 4])", "S.split(i, factors=[None, 4])"),
    Remedy("reorder.check_once", "S.reorder(j, i, ¦j¦)", "S.reorder(j, i)"),
    Remedy("declaration._read", "S.fuse(¦S.get_loops(double)¦)", "S.fuse(*S.get_loops(double))"),
    Remedy("moving._insertion_point", "S.compute_at(double, o, index=¦1¦)", "S.compute_at(double, o)"),
    Remedy(
        "storage_align.storage_align",
        'S.annotate(double, "buffer_dim_align", 1)\n    S.storage_align(¦double¦, 0, 0, 32, 8)',
        'S.annotate(double, "buffer_dim_align", 1)\n    S.unannotate(double, "buffer_dim_align")\n'
        "    S.storage_align(double, 0, 0, 32, 8)",
    ),
    Remedy("values.expect_vector", "S.expect_vector(¦j¦)", "S.vectorize(j)\n    S.expect_vector(j)"),
    Remedy("decompose_reduction._check_height", "S.decompose_reduction(block, ¦l¦)", "S.decompose_reduction(block, k)"),
    Remedy(
        "decompose_reduction._check_height",
        "loops = S.get_loops(block)\n    S.decompose_reduction(block, loop=¦loops[2]¦)",
        "loops = S.get_loops(block)\n    S.decompose_reduction(block, loop=k)",
    ),
    Remedy("rfactor._check_ties", "S.rfactor(¦l¦, factor_axis=0)", "S.rfactor(k, factor_axis=0)", ARGMAX),
    Remedy("loop_kinds.bind", 'S.bind(i, ¦"threadIdx.X"¦)', 'S.bind(i, "threadIdx.x")'),
    Remedy(
        "annotations.unannotate",
        'S.annotate(i, "pragma_unroll", 1)\n    S.unannotate(i, ¦"pragma_unrol"¦)',
        'S.annotate(i, "pragma_unroll", 1)\n    S.unannotate(i, "pragma_unroll")',
    ),
    Remedy(
        "annotate_buffer_access._regions",
        'S.annotate_buffer_access(double, 0, ¦"reads"¦, lambda a, b: [a, a + 1, b, b + 1])',
        'S.annotate_buffer_access(double, 0, "read", lambda a, b: [a, a + 1, b, b + 1])',
    ),
    Remedy("caching.accessed_buffer", 'S.cache_read(double, ¦"a"¦, "local")', 'S.cache_read(double, "A", "local")'),
    Remedy("caching.accessed_buffer", 'S.set_scope(double, ¦"b"¦, "local")', 'S.set_scope(double, "B", "local")'),
    Remedy(
        "layout_arguments.buffer_accessed",
        'S.transform_layout(double, buffer=¦"b"¦, index_map=lambda i, j: (j, i))',
        'S.transform_layout(double, buffer="B", index_map=lambda i, j: (j, i))',
    ),
    Remedy(
        "tensorize.tensorize",
        'S.tensorize(i, ¦"dot_16x4_vnn"¦)', 'S.tensorize(i, "dot_16x4_vnni")',
    ),
    Remedy("program.block_named", 'S.get_block(¦"duble"¦)', 'S.get_block("double")'),
    Remedy("declaration.bind", "S.split(i, ¦factor=[4, 4]¦)", "S.split(i, factors=[4, 4])"),
)  # fmt: skip


def text_of(remedy: Remedy, steps: str) -> str:
    head = SCHEDULE if remedy.program is PROGRAM else SCHEDULE.replace('S.get_block("double")', 'S.get_block("sum")')
    head = head if remedy.program is PROGRAM else head.replace("    i, j = S.get_loops(double)\n", "")
    return f"{remedy.program}{head}    {steps}\n"


def opened(text: str) -> tuple[Document, list[lsp.Diagnostic]]:
    document = Document("file:///m.tvms", "m.tvms", text, 1, check_schedules)
    document.examine()
    return document, from_findings(document, document.latest.diagnostics)


@pytest.mark.parametrize("remedy", REMEDIES, ids=lambda remedy: remedy.where)
def test_the_remedy_of_a_refused_step_is_a_quick_fix(remedy: Remedy) -> None:
    document, (found, *_) = opened(text_of(remedy, remedy.steps.replace("¦", "")))
    lines = document.lines
    pointed = lines.text[lines.offset(found.range.start) : lines.offset(found.range.end)]
    assert pointed == remedy.steps.split("¦")[1], found.message
    (action,) = [one for one in actions(document, 0, 0, [found]) if one.kind == lsp.CodeActionKind.QuickFix]
    assert action.edit is not None
    assert action.edit.changes is not None
    (edit,) = action.edit.changes[document.uri]
    after = lines.edited(edit.range, edit.new_text).text  # type: ignore[reportAttributeAccessIssue]
    assert after == text_of(remedy, remedy.after)
    assert all((one.code, one.message) != (found.code, found.message) for one in opened(after)[1])


@pytest.mark.parametrize("remedy", REMEDIES[:12], ids=lambda remedy: remedy.where)
def test_check_fix_follows_remedies(remedy: Remedy, tmp_path: Path) -> None:
    path = tmp_path / "m.tvms"
    path.write_text(text_of(remedy, remedy.steps.replace("¦", "")))
    main(["check", "--fix", str(path)])
    assert text_of(remedy, remedy.after).rstrip() in path.read_text()


def test_a_remedy_needs_the_argument_in_the_text() -> None:
    for steps in ("fs = [2, 4]\n    S.split(i, factors=fs)", "S.split(i, factors=[*[2], 4])", "S.reorder(*[j, j])"):
        document, (found, *_) = opened(text_of(REMEDIES[0], steps))
        assert found.code in ("E0508", "E0512")
        assert not [one for one in actions(document, 0, 0, [found]) if one.kind == lsp.CodeActionKind.QuickFix]


def refusing() -> Iterator[str]:
    """Yield the functions of schedules that refuse with an exact remedy or a similar name: `file.function`."""
    for path in sorted((ROOT / "ir/schedule").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            text = ast.unparse(node) if isinstance(node, ast.FunctionDef) else ""
            if ".refuse(" in text and re.search(r"\b(Change|did_you_mean)\(|help=wrong\.help", text):
                yield f"{path.stem}.{node.name}"  # type: ignore[reportAttributeAccessIssue]


def test_each_remedy_has_a_case() -> None:
    assert {remedy.where for remedy in REMEDIES} == set(refusing())
