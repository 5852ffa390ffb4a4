"""The tree-sitter grammar reads what the compiler reads, and the configurations of editors fit it."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygments.token import Comment
from server.edits import edited, words_of
from text_cases import programs
from tvms.dsl.highlighting import TvmsLexer
from tvms.dsl.parser import parse_syntax
from tvms.dsl.reference.catalogue import forms
from tvms.grammar import tables, tree_sitter
from tvms.ir.base import Source

ROOT = Path(__file__).parents[2]
EDITORS = ROOT / "editors"
GRAMMAR = EDITORS / "tree-sitter-tvms"
KINDS = sorted({path.name for path in (ROOT / "tests/cases").iterdir() if path.is_dir()} - {"broken", "hostile"})
TEXTS = [*(path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("samples/**/*.tvms"))), *programs(*KINDS)]
QUERIES = sorted(EDITORS.glob("*/**/*.scm"))
COMPILER = shutil.which("cc")


@pytest.fixture(scope="session")
def language(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Build the parser, and return it as a language of the binding."""
    binding = pytest.importorskip("tree_sitter", reason="the Python package tree-sitter is not installed")
    if COMPILER is None:
        pytest.skip("no C compiler")
    library = tmp_path_factory.mktemp("tree_sitter") / "tvms.so"
    sources = [str(GRAMMAR / "src" / name) for name in ("parser.c", "scanner.c")]
    flags = ["-O1", "-shared", "-fPIC", f"-I{GRAMMAR / 'src'}"]
    subprocess.run([COMPILER, *flags, "-Wall", "-Wextra", "-Werror", "-c", sources[1], "-o", "/dev/null"], check=True)
    subprocess.run([COMPILER, *flags, *sources, "-o", str(library)], check=True)
    function = ctypes.CDLL(str(library)).tree_sitter_tvms
    function.restype = ctypes.c_void_p
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return binding.Language(capsule(function(), b"tree_sitter.Language", None))


def parsed(language: Any, text: str) -> Any:
    import tree_sitter as binding  # type: ignore[reportMissingImports]

    return binding.Parser(language).parse(text.encode()).root_node


def nodes(root: Any) -> Iterator[Any]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)


def captured(language: Any, query: Path, text: str) -> dict[str, set[str]]:
    import tree_sitter as binding  # type: ignore[reportMissingImports]

    cursor = binding.QueryCursor(binding.Query(language, query.read_text(encoding="utf-8")))
    found = cursor.captures(parsed(language, text))
    return {name: {node.text.decode() for node in captures} for name, captures in found.items()}


def test_texts_without_syntax_errors_have_trees_without_errors(language: Any) -> None:
    right = [text for text in TEXTS if not parse_syntax(Source("text", text))[1]]
    assert len(right) > 1000
    assert [text for text in right if parsed(language, text).has_error] == []


def test_edited_texts_without_syntax_errors_have_trees_without_errors(language: Any) -> None:
    random, words, right = Random(26), words_of(TEXTS), 0
    for _ in range(1500):
        original = text = random.choice(TEXTS)
        for _ in range(random.randint(1, 3)):
            text = edited(text, original, words, random)
        root = parsed(language, text)
        if not parse_syntax(Source("text", text))[1]:
            right += 1
            assert not root.has_error, text
    assert right > 500


def test_comments_are_those_of_the_lexer(language: Any) -> None:
    for text in TEXTS:
        if not parse_syntax(Source("text", text))[1]:
            found = [
                node.text.decode().rstrip("\r") for node in nodes(parsed(language, text)) if node.type == "comment"
            ]
            tokens = TvmsLexer(stripnl=False, ensurenl=False).get_tokens(text)
            assert found == [value for kind, value in tokens if kind in Comment]


@given(st.text(alphabet="'\"\\ab\r\n\u00e9\U0001f600", max_size=12))
def test_strings_are_those_of_the_grammar(language: Any, text: str) -> None:
    """A text is one string for both, or for neither."""
    pattern = re.compile(tables.load().patterns["STRING"])
    root = parsed(language, f"f({text})")
    strings = [node for node in nodes(root) if node.type == "string_literal"]
    is_one = not root.has_error and len(strings) == 1 and strings[0].text.decode() == text
    assert is_one == (pattern.fullmatch(text) is not None)


def test_a_comment_belongs_to_the_block_that_is_indented_as_it_is(language: Any) -> None:
    text = "if a:\n    if b:\n        pass\n        # inner\n    # outer\n# file\n"
    parents = {node.text.decode(): node.parent for node in nodes(parsed(language, text)) if node.type == "comment"}
    assert {name: parent.type for name, parent in parents.items()} == {
        "# inner": "block",
        "# outer": "block",
        "# file": "source_file",
    }
    assert parents["# inner"].parent.start_point[1] == 4
    assert parents["# outer"].parent.start_point[1] == 0


def test_deep_blocks_are_read_and_deeper_ones_do_no_harm(language: Any) -> None:
    def nested(depth: int) -> str:
        return "".join(" " * level + "if a:\n" for level in range(depth)) + " " * depth + "pass\n"

    assert not parsed(language, nested(500)).has_error
    assert parsed(language, nested(600)).has_error


@pytest.mark.parametrize("query", [pytest.param(path, id=path.relative_to(EDITORS).as_posix()) for path in QUERIES])
def test_queries_fit_the_grammar(language: Any, query: Path) -> None:
    text = (ROOT / "samples/07_schedule.tvms").read_text(encoding="utf-8")
    assert captured(language, query, text)


@pytest.mark.parametrize(
    ("text", "capture", "value"),
    [
        ("f(1)  # why\n", "comment", "# why"),
        ('f("a # b")\n', "string", '"a # b"'),
        ("x = T.float16(1)\n", "type.builtin", "float16"),
        ("x = T.grid(4)\n", "function.builtin", "grid"),
        ("x = R.nn.relu(y)\n", "function.builtin", "relu"),
        ("for i in a:\n    pass\n", "keyword", "for"),
        ("for i in a:\n    pass\n", "keyword", "pass"),
        ("f(0x1F)\n", "number", "0x1F"),
        ("T.prim_func(private=True) f(x: T.int32):\n    pass\n", "function", "f"),
        ("T.prim_func f(x: T.int32):\n    pass\n", "variable.parameter", "x"),
        ("I.ir_module M:\n    pass\n", "keyword.function", "ir_module"),
        ("def main(x):\n    pass\n", "function", "main"),
        ("x = a if None else b\n", "constant.builtin", "None"),
        ("x = not a\n", "keyword.operator", "not"),
    ],
)
def test_words_are_told_apart(language: Any, text: str, capture: str, value: str) -> None:
    assert value in captured(language, GRAMMAR / "queries/highlights.scm", text)[capture]


def test_no_name_has_two_colors(language: Any) -> None:
    import tree_sitter as binding  # type: ignore[reportMissingImports]

    query = binding.Query(language, (GRAMMAR / "queries/highlights.scm").read_text(encoding="utf-8"))
    for path in sorted(ROOT.glob("samples/*.tvms")):
        found = binding.QueryCursor(query).captures(parsed(language, path.read_text(encoding="utf-8")))
        names = [node.id for capture, found_nodes in found.items() if capture[0] != "_" for node in found_nodes]
        assert len(names) == len(set(names))


def test_the_parser_is_that_of_the_grammar() -> None:
    """All nodes of the grammar are in the generated parser."""
    rules = re.findall(r"^    (\w+): \(\$\)", (GRAMMAR / "grammar.js").read_text(encoding="utf-8"), re.MULTILINE)
    parser = (GRAMMAR / "src/parser.c").read_text(encoding="utf-8")
    names = re.search(r"ts_symbol_names\[\] = \{(.*?)\};", parser, re.DOTALL)
    assert names is not None
    known = set(re.findall(r'= "(\w+)",', names[1]))
    assert {rule for rule in rules if not rule.startswith("_")} <= known


def test_definitions_are_those_of_the_language() -> None:
    heads = {entry.name.rpartition(".")[2] for entry in forms().values() if entry.role == "definition"}
    assert heads == set(tree_sitter.DEFINITIONS)


def test_configurations_are_readable_and_name_files_that_exist() -> None:
    for path in EDITORS.glob("*/**/*.toml"):
        tomllib.loads(path.read_text(encoding="utf-8"))
    page = (ROOT / "docs/editors.md").read_text(encoding="utf-8")
    configurations = "".join(
        path.read_text(encoding="utf-8") for path in EDITORS.rglob("*") if path.suffix in (".toml", ".el", ".json")
        and "node_modules" not in path.parts
    )  # fmt: skip
    named = set(re.findall(r"\beditors/[\w./-]*[\w]", page + configurations))
    assert "editors/zed" in named
    assert [
        name for name in sorted(named) if not (ROOT / name).exists() and not name.startswith("editors/vscode/out/")
    ] == []
    listed = re.findall(r'"(queries/\w+\.scm)"', (GRAMMAR / "tree-sitter.json").read_text(encoding="utf-8"))
    assert listed
    assert all((GRAMMAR / name).exists() for name in listed)


def test_the_page_shows_the_configuration_of_helix() -> None:
    shown = re.search(r"```toml\n(.*?)```", (ROOT / "docs/editors.md").read_text(encoding="utf-8"), re.DOTALL)
    assert shown is not None
    written = tomllib.loads((EDITORS / "helix/languages.toml").read_text(encoding="utf-8"))
    assert tomllib.loads(shown[1]) == written
