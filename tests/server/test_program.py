"""The law of incremental checks: after any edits, what is found is what `tvms check` finds in the whole text."""

from __future__ import annotations

import gc
import os
import weakref
from pathlib import Path
from random import Random

import pytest
from server.edits import edited, words_of
from server.sessions import Session, found_in, shown
from tvms.dsl.cli.check_command import check_schedules
from tvms.dsl.server.chunks import Chunk, divide
from tvms.dsl.server.document import Document
from tvms.dsl.server.hints import hints
from tvms.dsl.server.lines import Lines
from tvms.dsl.server.tokens import semantic_tokens

ROOT = Path(__file__).parents[2]
SESSIONS = 4 * int(os.environ.get("TVMS_FUZZ", "1"))
"""Number of random sessions for each text."""
LONG = 2500
"""Length of a text whose check takes a second; it has fewer sessions."""
TEXTS = [
    *sorted(ROOT.glob("samples/0*.tvms")),
    *sorted(ROOT.glob("samples/schedules/*.tvms"))[:4],
]
MODULE = """\
#tvms 1
from tvm.script import tir as T

N = 8

# The module.
I.ir_module Module:
    I.module_attrs({"version": 1})

    T.macro clear(B):
        for i in range(8):
            B[i] = T.float32(0)

    # Adds one.
    T.prim_func add_one(
        A: T.Buffer((N,), "float32"),
        B: T.Buffer((N,), "float32"),
    ):
        for i in range(N):
            with T.block("add"):
                vi = T.axis.spatial(N, i)
                B[vi] = A[vi] + T.float32(1)

    T.prim_func zero(B: T.Buffer((8,), "float32")):
        clear(B)

    R.function main(x: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        cls = Module
        y = R.call_tir(cls.add_one, (x,), out_sinfo=R.Tensor((8,), "float32"))
        return twice(y)

    R.function twice(x: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        return R.add(x, x)

    S.function halve(loop, factor=2):
        outer, inner = S.split(loop, factors=[None, factor])
        return outer, inner

    S.schedule tiled(add_one):
        (i,) = S.get_loops(S.get_block("add"))
        i0, i1 = halve(i, factor=4)
        S.vectorize(i1)
"""


def check_session(name: str, original: str, words: list[str], random: Random) -> int:
    """Edit a text some times, and compare after each edit; return how often what is found was exact."""
    document, text, exact = Document(f"file:///{name}", name, original, 0, check_schedules), original, 0
    for version in range(1, random.randrange(2, 10)):
        text = edited(text, original, words, random)
        document.update(Lines(text), version)
        findings = document.examine()
        if findings.is_exact:
            assert shown(document, findings.diagnostics) == shown(document, found_in(name, text)), text
            exact += 1
    return exact


@pytest.mark.deep(4)
@pytest.mark.parametrize("path", TEXTS, ids=[path.stem for path in TEXTS])
def test_edits_of_samples_find_what_a_check_finds(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    words = words_of([text, MODULE])
    for seed in range(SESSIONS if len(text) < LONG else max(SESSIONS // 4, 1)):
        check_session(path.name, text, words, Random(f"{path.name}{seed}"))


def test_edits_of_a_module_find_what_a_check_finds() -> None:
    words = words_of([MODULE])
    assert (
        sum(check_session("module.tvms", MODULE, words, Random(seed)) for seed in range(20 * SESSIONS)) > 20 * SESSIONS
    )


def test_a_module_is_divided_into_its_definitions() -> None:
    division = divide(MODULE, "module.tvms")
    assert division.is_regular
    assert division.module == "Module"
    heads = [placed.chunk.text.strip().split("(")[0].split("\n")[-1].strip() for placed in division.chunks]
    assert heads == [
        "I.module_attrs", "T.macro clear", "T.prim_func add_one", "T.prim_func zero", "R.function main", "R.function twice",
        "S.function halve", "S.schedule tiled",
    ]  # fmt: skip
    assert division.chunks[-1].end == len(MODULE)


@pytest.mark.parametrize(
    "text", ["", "x = 1\n", "I.ir_module A:\n    pass\nI.ir_module B:\n    pass\n", "  T.prim_func f():\n    pass\n"]
)
def test_a_text_of_another_form_is_examined_as_a_whole(text: str) -> None:
    document = Document("file:///a.tvms", "a.tvms", text, 0, check_schedules)
    findings = document.examine()
    assert not findings.is_exact or shown(document, findings.diagnostics) == shown(document, found_in("a.tvms", text))


def test_an_edit_builds_only_what_depends_on_it() -> None:
    document = Document("file:///m.tvms", "m.tvms", MODULE, 0, check_schedules)
    document.examine()
    before = {placed.chunk.text: document.node_of(placed.chunk) for placed in document.chunks}
    document.update(Lines(MODULE.replace("T.float32(1)", "T.float32(2)")), 1)
    document.examine()
    after = {placed.chunk.text: document.node_of(placed.chunk) for placed in document.chunks}
    same = [text.strip() for text, node in after.items() if node is not None and before.get(text) is node]
    assert [text.split("(")[0] for text in same] == [
        "T.prim_func zero", "R.function main", "R.function twice", "S.function halve", "S.schedule tiled",
    ]  # fmt: skip


def test_a_half_typed_line_leaves_other_definitions_as_they_are() -> None:
    document = Document("file:///m.tvms", "m.tvms", MODULE, 0, check_schedules)
    document.examine()
    before = {placed.chunk: document.node_of(placed.chunk) for placed in document.chunks}
    for version, text in enumerate((MODULE.replace("= A[vi]", "= A[vi"), MODULE), start=1):
        document.update(Lines(text), version)
        document.examine()
        same = [placed.chunk for placed in document.chunks if before.get(placed.chunk) is not None]
        built = [chunk for chunk in same if document.node_of(chunk) is not before[chunk]]
        assert all("add_one" in chunk.words for chunk in built)
        assert len(same) >= len(before) - 3


def test_equal_definitions_are_told_apart() -> None:
    text = 'T.prim_func f(A: T.Buffer((8,), "float32")):\n    A[0] = 0.0\n\n' * 2
    document = Document("file:///f.tvms", "f.tvms", text, 0, check_schedules)
    document.update(Lines(text + "\n"), 1)
    assert len(document.chunks) == 2
    assert not document.examine().is_exact


def test_a_changed_signature_is_noticed_by_its_callers() -> None:
    document = Document("file:///m.tvms", "m.tvms", MODULE, 0, check_schedules)
    assert not document.examine().diagnostics
    changed = MODULE.replace(
        """R.function twice(x: R.Tensor((8,), "float32")) -> R.Tensor((8,)""",
        """R.function twice(x: R.Tensor((9,), "float32")) -> R.Tensor((9,)""",
    )
    document.update(Lines(changed), 1)
    found = document.examine().diagnostics
    assert found
    assert shown(document, found) == shown(document, found_in("m.tvms", changed))


def test_a_remedy_offers_the_names_of_the_current_text() -> None:
    """It names a function that nothing else in its definition mentions."""
    texts = [
        MODULE.replace("cls.add_one", "cls.add_two").replace("add_one(", f"{name}(") for name in ("other", "add_one")
    ]
    document = Document("file:///m.tvms", "m.tvms", texts[0], 0, check_schedules)
    for text in (*texts, *reversed(texts)):
        document.update(Lines(text), 1)
        assert shown(document, document.examine().diagnostics) == shown(document, found_in(document.name, text))


@pytest.mark.parametrize("seed", range(SESSIONS))
def test_sessions_of_several_files_answer_all_requests(seed: int) -> None:
    session = Session([(path.name, path.read_text(encoding="utf-8")) for path in TEXTS[:6]], Random(f"files {seed}"))
    session.run(20)
    assert session.exact


def test_a_name_that_a_function_hid_is_visible_again() -> None:
    text = 'T.prim_func f(A: T.Buffer((8,), "float32")):\n    for i in range(N):\n        A[i] = 0.0\n\n'
    hiding = 'T.prim_func {}(A: T.Buffer((8,), "float32")):\n    A[0] = 0.0\n'
    for name in ("range", "N"):
        whole = f"N = 8\n{text}"
        document = Document("file:///f.tvms", "f.tvms", whole + hiding.format(name), 0, check_schedules)
        assert document.examine().diagnostics
        document.update(Lines(whole), 1)
        findings = document.examine()
        assert findings.is_exact
        assert findings.diagnostics == ()


def test_a_module_with_a_statement_behind_its_head_is_checked_as_a_whole() -> None:
    text = MODULE.replace("I.ir_module Module:", "I.ir_module Module:2")
    document = Document("file:///m.tvms", "m.tvms", text, 0, check_schedules)
    assert not document.examine().is_exact


def test_what_left_the_text_is_not_kept() -> None:
    document = Document("file:///m.tvms", "m.tvms", MODULE, 0, check_schedules)
    seen: list[weakref.ref[Chunk]] = []
    for version in range(1, 20):
        document.update(Lines(MODULE.replace("T.float32(1)", f"T.float32({version})")), version)
        document.examine()
        semantic_tokens(document)
        hints(document, 0, len(document.lines.text))
        seen += [weakref.ref(placed.chunk) for placed in document.chunks]
    gc.collect()
    assert {chunk() for chunk in seen} - {None} == {placed.chunk for placed in document.chunks}


@pytest.mark.parametrize("line", [")", "]", "}", "else:", "elif x:"])
def test_a_line_that_continues_nothing_is_reported(line: str) -> None:
    function = 'T.prim_func f(A: T.Buffer((8,), "float32")):\n    A[0] = 0.0\n'
    module = "I.ir_module M:\n" + "".join(f"    {part}\n" for part in [line, *function.splitlines()])
    for text in (f"{line}\n{function}", f"# A comment.\n\n{line}\n{function}", module):
        document = Document("file:///f.tvms", "f.tvms", text, 0, check_schedules)
        assert document.examine().diagnostics
        assert any(line in placed.chunk.text for placed in document.chunks)


@pytest.mark.parametrize("line", ["    \u2028\n", "\r", "\u00a0\n", "\v\n", "# a\0b\n", "# a\rb\n", "\r\n"])
def test_white_space_that_is_no_part_of_the_language_is_reported(line: str) -> None:
    """Such a line is neither blank nor a comment, above and between definitions: the whole text is checked. The end of a line in Windows is."""
    function = 'T.prim_func {}(A: T.Buffer((8,), "float32")):\n    A[0] = 0.0\n'
    inside = "I.ir_module M:\n" + "".join(f"    {part}\n" for part in function.format("f").splitlines())
    for text in (line + function.format("f"), line + inside, function.format("f") + line + function.format("g")):
        document = Document("file:///f.tvms", "f.tvms", text, 0, check_schedules)
        assert document.examine().is_exact == (line == "\r\n")


@pytest.mark.parametrize("text", ["# x", f"{MODULE}    # end", "T.prim_func f():\n    T.evaluate(0)\n# end"])
def test_a_comment_may_end_a_text_without_a_line_end(text: str) -> None:
    for name in ("m.tvms", "m.py"):
        assert [mistake for placed in divide(text, name).chunks for mistake in placed.chunk.mistakes] == []
