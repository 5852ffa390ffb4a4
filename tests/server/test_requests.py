"""The answers to requests, on texts in which `¦` marks the position."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from lsprotocol import converters
from lsprotocol import types as lsp
from tvms.dsl.cli.check_command import check_schedules
from tvms.dsl.server import navigation, structure
from tvms.dsl.server.actions import actions, resolve
from tvms.dsl.server.completion import complete
from tvms.dsl.server.document import Document
from tvms.dsl.server.features import indented, line_edits
from tvms.dsl.server.hints import hints
from tvms.dsl.server.hover import hover, signature_help
from tvms.dsl.server.lines import Lines
from tvms.dsl.server.reports import from_findings
from tvms.dsl.server.schedules import scheduled_at
from tvms.dsl.server.tokens import TYPES, delta, semantic_tokens

MODULE = """\
#tvms 1
I.ir_module Module:
    # Doubles every element.
    T.prim_func double(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("double"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] * T.float32(2)

    R.function main(x: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        cls = Module
        y = R.call_tir(cls.double, (x,), out_sinfo=R.Tensor((8,), "float32"))
        z = R.nn.relu(y)
        return z

    S.schedule tiled(double):
        block = S.get_block("double")
        (i,) = S.get_loops(block)
        i0, i1 = S.split(i, factors=[None, 4])
        S.vectorize(i1)
"""

UNUSED = MODULE.replace(
    "        for i in range(8):\n", '        C = T.alloc_buffer((8,), "float32")\n        for i in range(8):\n'
)


def opened(text: str, name: str = "m.tvms") -> tuple[Document, int]:
    """Return a document, and the offset of the mark in its text."""
    offset = text.find("¦")
    document = Document(f"file:///{name}", name, text.replace("¦", ""), 1, check_schedules)
    document.examine()
    return document, offset


def at(before: str, after: str) -> tuple[Document, int]:
    """Return the module with the position between two texts in it."""
    assert MODULE.count(before + after) >= 1
    return opened(MODULE.replace(before + after, f"{before}¦{after}", 1))


def texts(document: Document, places: Sequence[lsp.Location | lsp.DocumentHighlight | lsp.TextEdit]) -> list[str]:
    """Return the line number from 1 and the text of each place."""
    lines = document.lines
    return [
        f"{place.range.start.line + 1} {lines.text[lines.offset(place.range.start) : lines.offset(place.range.end)]}"
        for place in places
    ]


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("B[", "vi] =", "spatial axis vi: 0 … 7"),
        ("= ", "A[vi]", 'A: T.Buffer((8,), "float32")'),
        ("(8, ", "i)", "serial loop i: 0 … 7"),
        ("relu(", "y)", 'y: R.Tensor((8,), "float32")'),
        ("return ", "z", 'z: R.Tensor((8,), "float32")'),
        ("split(", "i, ", "handle i"),
    ],
)
def test_hover_shows_the_type_of_a_name(before: str, after: str, shown: str) -> None:
    found = hover(*at(before, after))
    assert found is not None
    assert isinstance(found.contents, lsp.MarkupContent)
    assert found.contents.value == f"```tvms\n{shown}\n```"


@pytest.mark.parametrize(
    ("before", "after", "start"),
    [
        ("T.axis.sp", "atial", "```tvms\nT.axis.spatial("),
        ("R.nn.", "relu", "```tvms\nR.nn.relu(data)\n```\nReturn `max(x, 0)` of every element."),
        ("S.sp", "lit", "```tvms\nS.split(loop, factors"),
        ("cls.do", "uble", "```tvms\nT.prim_func double(A: T.Buffer"),
    ],
)
def test_hover_describes_words_and_functions(before: str, after: str, start: str) -> None:
    found = hover(*at(before, after))
    assert found is not None
    assert isinstance(found.contents, lsp.MarkupContent)
    assert found.contents.value.startswith(start)


def test_hover_of_a_function_shows_the_comment_above_it() -> None:
    found = hover(*at("cls.", "double"))
    assert found is not None
    assert isinstance(found.contents, lsp.MarkupContent)
    assert found.contents.value.endswith("\nDoubles every element.")


def test_signature_help_marks_the_argument() -> None:
    found = signature_help(*at("S.split(i, factors=", "[None, 4]"))
    assert found is not None
    assert found.signatures[0].label.startswith("S.split(loop, factors, ")
    assert found.active_parameter == 1
    assert signature_help(*at("return", " z")) is None


@pytest.mark.parametrize(
    ("line", "expected", "unexpected"),
    [
        ("        S.sp¦", {"split"}, {"T.grid", "relu"}),
        ("        S.split(i0, ¦", {"factors=", "i0", "i1", "block"}, {"A"}),
        ('        b = S.get_block("¦', {"double"}, {"float32"}),
        ("        ¦", {"S", "i0", "tiled"}, {"vi"}),
        ("        S.reorder(i0, ¦", {"i1", "block"}, {"vi"}),
        ("        i2, i3 = S.¦", {"split", "reorder"}, {"grid"}),
    ],
)
def test_completion_in_a_half_typed_schedule(line: str, expected: set[str], unexpected: set[str]) -> None:
    document, offset = opened(f"{MODULE}{line}\n")
    labels = {item.label for item in complete(document, offset)}
    assert expected <= labels
    assert not unexpected & labels


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("R.nn.", "relu", {"relu", "softmax", "conv2d"}),
        ("cls.", "double", {"double", "main", "tiled"}),
        ('"flo', 'at32"), B', {"float32", "int8"}),
        ("(8, ", "i)", {"i", "A", "B", "double", "T"}),
        ("B[vi] = A", "[vi]", {"A", "vi"}),
    ],
)
def test_completion_offers_what_fits(before: str, after: str, expected: set[str]) -> None:
    assert expected <= {item.label for item in complete(*at(before, after))}


def test_a_half_typed_line_hides_no_other_names() -> None:
    document, offset = opened(MODULE.replace("B[vi] = A[vi]", "B[vi] = A[vi").replace("vi = T", "¦vi = T"))
    assert texts(document, navigation.references(document, offset, True)) == ["7 vi"]
    assert [symbol.name for symbol in structure.symbols(document)[0].children or ()] == ["double", "main", "tiled"]


def test_a_constant_without_definitions_around_it_has_names() -> None:
    text = MODULE.replace("    # Doubles", '    weight = I.constant("weight")\n\n    # Doubles')
    document, offset = opened(text.replace("R.nn.relu", "¦R.nn.relu"))
    assert {"weight", "double", "main"} <= {item.label for item in complete(document, offset)}


def test_nothing_is_offered_in_comments() -> None:
    assert complete(*at("# Doubles", " every")) == []


def test_definitions_and_references() -> None:
    document, offset = at("A[", "vi]")
    assert texts(document, navigation.definitions(document, offset)) == ["7 vi"]
    assert texts(document, navigation.references(document, offset, True)) == ["7 vi", "8 vi", "8 vi"]
    document, offset = at("cls.", "double")
    assert texts(document, navigation.definitions(document, offset)) == ["4 double"]
    assert texts(document, navigation.references(document, offset, False)) == ["12 double", "16 double"]
    document, offset = at('get_block("', 'double")')
    assert texts(document, navigation.definitions(document, offset)) == ["6 double"]


def test_highlights_distinguish_writes() -> None:
    document, offset = at(
        'range(8):\n            with T.block("double"):\n                vi = T.axis.spatial(8, ', "i)"
    )
    found = navigation.highlights(document, offset)
    assert texts(document, found) == ["5 i", "7 i"]
    assert [highlight.kind for highlight in found] == [lsp.DocumentHighlightKind.Write, lsp.DocumentHighlightKind.Read]


def test_renaming_a_block_reaches_its_schedules() -> None:
    document, offset = at('T.block("', 'double")')
    edit = navigation.rename(document, offset, "twice")
    assert edit.changes is not None
    assert texts(document, edit.changes[document.uri]) == ["6 double", "17 double"]


def test_renaming_a_function_reaches_calls_and_schedules() -> None:
    document, offset = at("prim_func ", "double(")
    edit = navigation.rename(document, offset, "twice")
    assert edit.changes is not None
    assert texts(document, edit.changes[document.uri]) == ["4 double", "12 double", "16 double"]


@pytest.mark.parametrize(
    ("before", "after", "new", "reason"),
    [
        ("vi = ", "T.axis", "U", "only names that the text defines can be renamed"),
        ("A[", "vi]", "1x", "'1x' is not a name: use letters, digits and underscores"),
        ("A[", "vi]", "for", "'for' is not a name: use letters, digits and underscores"),
        ("A[", "vi]", "i", "'i' is already used here"),
    ],
)
def test_impossible_names_are_refused(before: str, after: str, new: str, reason: str) -> None:
    with pytest.raises(navigation.CannotRename, match=f"^{reason}$"):
        navigation.rename(*at(before, after), new)


def test_symbols_are_nested() -> None:
    (module,) = structure.symbols(opened(MODULE)[0])
    assert module.name == "Module"
    assert [(part.name, [inner.name for inner in part.children or ()]) for part in module.children or ()] == [
        ("double", ["double"]), ("main", []), ("tiled", []),
    ]  # fmt: skip


def test_folding_selection_and_lenses() -> None:
    document, offset = at("A[", "vi]")
    assert (3, 7) in [(found.start_line, found.end_line) for found in structure.folding(document)]
    selection: lsp.SelectionRange | None = structure.selection(document, offset)
    found: list[str] = []
    while selection is not None:
        found.append(
            document.lines.text[
                document.lines.offset(selection.range.start) : document.lines.offset(selection.range.end)
            ]
        )
        selection = selection.parent
    assert found[:3] == ["vi", "A[vi]", "A[vi] * T.float32(2)"]
    assert found[-1] == document.lines.text
    titles = [(lens.command.title, lens.range.start.line) for lens in structure.lenses(document) if lens.command]
    steps = ["Run", "Verify", "Show LLVM", "Show PTX", "Bench"]
    assert titles == [*((step, 3) for step in steps), *((step, 9) for step in steps), ("Schedule", 15)]


def test_selection_in_deeply_nested_code_can_be_sent() -> None:
    text = 'T.prim_func f(A: T.Buffer((1,), "int32")):\n    A[0] = A[¦0]' + " + A[0]" * 3000 + "\n"
    document, offset = opened(text)
    answer = converters.get_converter().unstructure(structure.selection(document, offset))
    assert json.loads(json.dumps(answer)) == answer
    assert answer["range"] == {"start": {"line": 1, "character": 13}, "end": {"line": 1, "character": 14}}
    depth = 1
    while "parent" in answer:
        answer, depth = answer["parent"], depth + 1
    assert answer["range"]["start"] == {"line": 0, "character": 0}
    assert depth == 200


def test_calls() -> None:
    document, _ = opened(MODULE)
    assert [item.name for item, _ in structure.grouped(document, "double", incoming=True)] == ["main", "tiled"]
    assert [item.name for item, _ in structure.grouped(document, "main", incoming=False)] == ["double"]


def test_hints_show_what_is_inferred() -> None:
    document, _ = opened(MODULE)
    found = [(hint.position.line + 1, hint.label) for hint in hints(document, 0, len(MODULE))]
    assert found == [
        (6, "reads A[vi], writes B[vi]"),
        (12, ': R.Tensor((8,), "float32")'),
        (13, ': R.Tensor((8,), "float32")'),
        (19, "double: i_0 2 [32 B] · i_1 4 [8 B]"),
        (20, "double: vectors of 4 float32: 128 bits"),
    ]


def test_a_schedule_is_applied_up_to_a_line() -> None:
    found = scheduled_at(*at("i0, i1 = S.sp", "lit"))
    assert found is not None
    assert (found.name, found.steps) == ("tiled", 3)
    assert "for i_0, i_1 in T.grid(2, 4):" in found.text
    assert scheduled_at(*at("R.nn", ".relu")) is None


def test_a_refused_step_is_part_of_the_shown_program() -> None:
    document, offset = opened(
        MODULE.replace("S.vectorize(i1)", "S.vectorize(i1)\n        S.split¦(i1, factors=[2, 1])")
    )
    found = scheduled_at(document, offset)
    assert found is not None
    assert "# error[E0508]" in found.text


def quick_fixes(text: str) -> list[str]:
    """Return the texts after each quick fix for what is found in a text."""
    document, _ = opened(text)
    found = from_findings(document, document.latest.diagnostics)
    fixed: list[str] = []
    for action in actions(document, 0, len(text), found):
        if action.kind == lsp.CodeActionKind.QuickFix and action.edit and action.edit.changes:
            (edit,) = action.edit.changes[document.uri]
            assert isinstance(edit, lsp.TextEdit)
            fixed.append(document.lines.edited(edit.range, edit.new_text).text)
    return fixed


def test_a_misspelt_name_is_replaced() -> None:
    assert quick_fixes(MODULE.replace("R.nn.relu", "R.nn.rleu")) == [MODULE]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [('scope="local"', "scope=local"), ("range(0, 4)", "0..4"), ("T.axis.reduce(", "T.reduce_axis(")],
)
def test_an_exact_remedy_is_a_quick_fix(right: str, wrong: str) -> None:
    text = """\
T.prim_func main(A: T.Buffer((4,), "float32"), B: T.Buffer((1,), "float32")):
    C = T.alloc_buffer((4,), "float32", scope="local")
    for i in range(0, 4):
        C[i] = A[i]
    for k in range(4):
        with T.block("sum"):
            v = T.axis.spatial(1, 0)
            vk = T.axis.reduce(4, k)
            with T.init():
                B[v] = T.float32(0)
            B[v] = B[v] + C[vk]
"""
    assert quick_fixes(text.replace(right, wrong)) == [text]


@pytest.mark.parametrize(
    ("old", "new", "codes"),
    [
        ("", "", []),
        ("        for i in range(8):\n", "        x = A[0]\n        for i in range(8):\n", ["E0461"]),
        ("        for i in range(8):\n", "        C = T.alloc_buffer((8,))\n        for i in range(8):\n", ["E0462"]),
        ("in range(8)", "in range(0)", ["E0464"]),
        ("        z = R.nn", "        with R.dataflow():\n            u = R.nn.relu(x)\n            y = x\n            R.output(y)\n        z = R.nn", ["E0461"]),
    ],
)  # fmt: skip
def test_code_without_effect_is_faded(old: str, new: str, codes: list[str]) -> None:
    document, _ = opened(MODULE.replace(old, new, 1))
    found = from_findings(document, document.latest.diagnostics)
    assert [one.code for one in found if one.tags == [lsp.DiagnosticTag.Unnecessary]] == codes


def test_an_unused_buffer_is_deleted() -> None:
    assert quick_fixes(UNUSED) == [MODULE]


def rewritten(before: str, after: str, title: str, text: str = MODULE) -> str:
    """Return the text after a change that an action offers at a position."""
    document, offset = opened(text.replace(before + after, f"{before}¦{after}", 1))
    action = next(action for action in actions(document, offset, offset, ()) if action.title == title)
    assert action.edit is not None
    assert action.edit.changes is not None
    (edit,) = action.edit.changes[document.uri]
    assert isinstance(edit, lsp.TextEdit)
    return document.lines.edited(edit.range, edit.new_text).text


def test_regions_are_declared() -> None:
    assert rewritten("with ", "T.block", "Declare the regions: T.reads, T.writes") == MODULE.replace(
        "                B[vi] = A",
        "                T.reads(A[vi])\n                T.writes(B[vi])\n                B[vi] = A",
    )


NEST = """\
T.prim_func f(A: T.Buffer((4, 8), "float32")):
    for i, j in T.grid(4, 8):
        A[i, j] = 0.0
"""
LOOPS = """\
T.prim_func f(A: T.Buffer((4, 8), "float32")):
    for i in range(4):
        for j in range(8):
            A[i, j] = 0.0
"""


def test_a_grid_becomes_loops_and_back() -> None:
    assert rewritten("for i", ", j", "Write T.grid as loops", NEST) == LOOPS
    assert rewritten("for i", " in range(4)", "Join the loops: T.grid", LOOPS) == NEST


@pytest.mark.parametrize("head", ["for i in T.grid(4, 8):", "for i, j in T.grid(4):", "for i, j in range(4):"])
def test_loops_with_other_numbers_of_names_are_left_alone(head: str) -> None:
    document, offset = opened(NEST.replace("for i, j in T.grid(4, 8):", f"¦{head}"))
    assert all(action.kind != lsp.CodeActionKind.RefactorRewrite for action in actions(document, offset, offset, ()))


def test_fixes_of_an_earlier_text_are_not_offered() -> None:
    document, _ = opened(UNUSED)
    document.update(Lines(UNUSED.replace("C = T.alloc_buffer", "D = T.alloc_buffer")), 2)
    found = actions(document, 0, len(UNUSED), ())
    assert all(action.kind != lsp.CodeActionKind.QuickFix for action in found)


def test_fix_all_and_conversion_are_resolved_later() -> None:
    document, _ = opened(UNUSED)
    found = {action.title: action for action in actions(document, 0, 0, ())}
    action = resolve(document, found["Fix all"])
    assert action.edit is not None
    assert action.edit.changes is not None
    assert action.edit.changes[document.uri][0].new_text == MODULE  # type: ignore[reportAttributeAccessIssue]
    action = resolve(document, found["Convert to TVM 0.27"])
    assert action.edit is not None
    assert action.edit.changes is not None
    assert "@T.prim_func" in action.edit.changes[document.uri][0].new_text  # type: ignore[reportAttributeAccessIssue]


def test_tokens_have_the_roles_of_names() -> None:
    document, _ = opened(MODULE)
    data = semantic_tokens(document)
    line = character = 0
    found: dict[tuple[int, str], str] = {}
    for index in range(0, len(data), 5):
        down, right, length, kind, _ = data[index : index + 5]
        line, character = line + down, right if down else character + right
        found.setdefault((line + 1, document.lines.line(line)[character : character + length]), TYPES[kind])
    expected = {
        (1, "#tvms 1"): "comment", (3, "# Doubles every element."): "comment", (4, "T"): "namespace", (4, "double"): "function",
        (4, "A"): "parameter", (4, '"float32"'): "type", (5, "for"): "keyword", (5, "i"): "variable", (7, "axis.spatial"): "function",
        (8, "*"): "operator", (10, "8"): "number", (16, "tiled"): "event",
    }  # fmt: skip
    assert {key: found.get(key) for key in expected} == expected
    assert delta(data, data) == []
    assert delta([1, 2, 3], [1, 5, 3]) == [lsp.SemanticTokensEdit(1, 1, [5])]


def test_a_range_has_the_tokens_of_its_lines() -> None:
    document, _ = opened(MODULE)
    part = semantic_tokens(document, lsp.Range(lsp.Position(4, 0), lsp.Position(4, 99)))
    assert part[0] == 4
    assert sum(part[::5]) == 4


def test_the_edits_of_formatting_are_whole_lines() -> None:
    document, _ = opened("a = 1\nb=2\nc = 3\n")
    (edit,) = line_edits(document, "a = 1\nb = 2\nc = 3\n")
    assert (edit.range, edit.new_text) == (lsp.Range(lsp.Position(1, 0), lsp.Position(2, 0)), "b = 2\n")


def test_a_new_line_is_indented() -> None:
    document, _ = opened("for i in range(8):\n\n")
    (edit,) = indented(document, 1)
    assert edit.new_text == "    "
    assert indented(opened("x = 1\n\n")[0], 1) == []


def test_positions_count_utf16_units() -> None:
    lines = Lines("# 😀 ü\r\nx = 1\n")
    assert lines.position(3) == lsp.Position(0, 4)
    assert lines.offset(lsp.Position(0, 4)) == 3
    assert lines.offset(lsp.Position(0, 99)) == 5
    assert lines.offset(lsp.Position(9, 0)) == len(lines.text)
    assert lines.edited(lsp.Range(lsp.Position(1, 0), lsp.Position(1, 1)), "y").text == "# 😀 ü\r\ny = 1\n"
    for offset in range(len(lines.text) + 1):
        if lines.text[offset - 1 : offset + 1] != "\r\n" and offset not in (6,):
            assert lines.offset(lines.position(offset)) == offset


def test_definitions_in_a_python_program_are_understood() -> None:
    text = """\
from tvm.script import tir as T

def helper():
    return 1

@T.prim_func
def f(A: T.Buffer((8,), "float32")):
    for i in range(8):
        A[¦i] = 0.0
"""
    document, offset = opened(text, "m.py")
    assert texts(document, navigation.references(document, offset, True)) == ["8 i", "9 i"]
    assert [symbol.name for symbol in structure.symbols(document)] == ["f"]
