"""Documents refer to what exists: pages, anchors, codes and commands; the site has every page once."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from textwrap import dedent

import pytest
from tvms.dsl.cli import build_parser, main
from tvms.dsl.reference.examples import example
from tvms.ir.codes import CODES

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
INSIDE = sorted(DOCS.rglob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *INSIDE]
GENERATED = {"first-steps.md", "changelog.md", "contributing.md", "samples.md"}
"""Pages that docs/site_hook.py adds: their sources are outside of docs/."""
FENCE = re.compile(r"^( *)```.*?^\1```$", re.M | re.S)
LINK = re.compile(r"`[^`\n]*`|!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.M)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def prose(path: Path) -> str:
    """Return a document without its fenced blocks."""
    return FENCE.sub("", path.read_text(encoding="utf-8"))


def anchors(path: Path) -> set[str]:
    """Return the anchors of a document, as Git hosts and the site make them."""
    text = prose(path)
    titles = [re.sub(r"<[^>]*>|\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in HEADING.findall(text)]
    made = {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles}
    return made | set(re.findall(r'<a id="([^"]*)">', text))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files_and_anchors(page: Path) -> None:
    broken: list[str] = []
    for address in LINK.findall(prose(page)):
        path, _, anchor = address.partition("#")
        if not address or "://" in address:
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(address)
    assert broken == []


def test_pictures_are_shown_and_small() -> None:
    shown = {(page.parent / address).resolve() for page in PAGES for address in LINK.findall(prose(page)) if address}
    pictures = list((DOCS / "pictures").iterdir())
    assert len(pictures) >= 3
    assert [name_of(path) for path in pictures if path not in shown or path.stat().st_size > 300_000] == []


def navigation() -> list[str]:
    """Return the pages that mkdocs.yml lists, patterns expanded."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"^ +- (?:[^:\n]*: )?(\S+\.md)$", text, re.M)
    return [
        path
        for entry in listed
        for path in ([found.relative_to(DOCS).as_posix() for found in DOCS.glob(entry)] if "*" in entry else [entry])
    ]


def test_the_navigation_lists_each_page_once() -> None:
    assert sorted(navigation()) == sorted([*(path.relative_to(DOCS).as_posix() for path in INSIDE), *GENERATED])


def test_the_front_page_leads_to_each_page() -> None:
    """All pages that people look for are found from docs/README.md, which Git hosts show; it links to the list of decisions."""
    front = DOCS / "README.md"
    linked = {(DOCS / address.split("#")[0]).resolve() for address in LINK.findall(prose(front)) if address}
    wanted = [path for path in PAGES if path != front and not path.name[0].isdigit()]
    assert [name_of(path) for path in wanted if path not in linked] == []


def test_the_library_of_schedules_is_listed() -> None:
    text = (DOCS / "schedule-library.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \|", text, re.M)
    assert sorted(listed) == sorted(path.stem for path in (ROOT / "samples" / "schedules").glob("*.tvms"))


def test_each_code_has_an_anchor_and_an_example() -> None:
    text = (DOCS / "diagnostics.md").read_text(encoding="utf-8")
    assert re.findall(r'^### <a id="(e\d{4})"></a>', text, re.M) == [code.lower() for code in sorted(CODES)]
    parts = re.split(r'^### <a id="e\d{4}"></a>', text, flags=re.M)[1:]
    for code, part in zip(sorted(CODES), parts, strict=True):
        assert (example(code) is not None) == all(word in part for word in ("Wrong:", "Right:")), code
        assert example(code) is not None or "No example: " in part, code


def shown_commands() -> list[tuple[str, str]]:
    """Return each command line in a block of code of a document, with the file; what is explained beside it is cut off."""
    found: dict[tuple[str, str], None] = {}
    for page in PAGES:
        if page.name == "commands.md":  # generated from the parser
            continue
        text = page.read_text(encoding="utf-8")
        blocks = [block[0] for block in FENCE.finditer(text)]
        indented = re.findall(r"^    .*", FENCE.sub("", text), re.M)
        for line in re.findall(r"^ *(?:\$ )?(tvms [^|>\n]*)", "\n".join([*blocks, *indented]), re.M):
            command = re.split(r"\s{2,}|\s#", line)[0].strip()
            found[name_of(page), re.sub(r"[\[\]]", "", command)] = None
    return list(found)


def test_commands_have_the_options_that_documents_show() -> None:
    parser, _ = build_parser()
    wrong: list[tuple[str, str]] = []
    for page, command in shown_commands():
        try:
            _, unknown = parser.parse_known_args(shlex.split(command)[1:])
        except Exception as problem:  # a usage error
            unknown = [str(problem)]
        wrong += [(page, f"{command}: {' '.join(unknown)}")] * bool(unknown)
    assert wrong == []
    assert len(shown_commands()) >= 40


PYTHON = re.compile(r"^( *)```python\n(.*?)^\1```$", re.M | re.S)
DEFINITION = re.compile(r"^[ITRS]\.\w+(?:\(.*?\))? \w+", re.M)
MATMUL = """\
T.prim_func matmul(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    for i, j, k in T.grid(64, 64, 64):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

"""
"""The function of schedules that a document shows alone."""


def programs(page: Path) -> list[str]:
    """Return the blocks of a document that are programs in our language, not in Python."""
    blocks = [dedent(block) for _, block in PYTHON.findall(page.read_text(encoding="utf-8"))]
    return [block for block in blocks if DEFINITION.search(block) and not re.search(r"^import |\btvms\.", block, re.M)]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name != "diagnostics.md" and programs(page)], ids=name_of
)
def test_programs_pass_the_check(page: Path, tmp_path: Path) -> None:
    """The programs of diagnostics.md are wrong, and other tests check them."""
    for number, program in enumerate(programs(page)):
        needs_function = "(matmul" in program and "T.prim_func matmul" not in program
        (tmp_path / f"{number}.tvms").write_text(MATMUL * needs_function + program, encoding="utf-8")
    assert main(["check", str(tmp_path)]) == 0


def test_documents_show_programs() -> None:
    assert sum(len(programs(page)) for page in PAGES) >= 80
