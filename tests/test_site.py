"""The site that `make docs` builds: it loads nothing from a network, and has every page, anchor and color."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tvms.ir.codes import CODES

pytest.importorskip("mkdocs", reason="MkDocs, the extra 'docs', is not installed")
pytest.importorskip("material", reason="mkdocs-material, the extra 'docs', is not installed")

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site; broken links and anchors end its construction."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    config: Any = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True)
    build(config)
    return folder


class Loads(HTMLParser):
    """Collects the addresses that a page loads, and its anchors."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.loaded += filter(None, [values.get("src"), values.get("href") if tag == "link" else None])
        self.anchors.update(filter(None, [values.get("id")]))


def test_nothing_is_loaded_from_a_network(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) >= 40
    far = {address for page in pages for address in Loads(page).loaded if re.match(r"\w+:|//", address)}
    assert far == set()
    styles = "\n".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"url\([\"']?(?:https?:)?//[^)]*", styles) == []


def test_what_pages_load_exists(site: Path) -> None:
    for page in site.rglob("*.html"):
        missing = [address for address in Loads(page).loaded if not (page.parent / address.split("?")[0]).exists()]
        assert missing == [] or page.name == "404.html", page.name


def test_each_code_has_an_anchor(site: Path) -> None:
    assert {code.lower() for code in CODES} - Loads(site / "diagnostics.html").anchors == set()
    assert 'href="diagnostics.html#e0211"' in (site / "language.html").read_text(encoding="utf-8")


def test_programs_are_colored_by_our_lexer(site: Path) -> None:
    text = (site / "index.html").read_text(encoding="utf-8")
    assert '<span class="kd">T.prim_func</span>' in text
    assert '<span class="nb">S.split</span>' in text


def test_search_finds_sections(site: Path) -> None:
    found = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    places = {entry["location"] for entry in found}
    assert {"diagnostics.html#e0203-axes-that-do-not-fit-their-kinds-names-or-loops", "schedules.html#split"} <= places
    assert (site / "search" / "search_index.js").exists()  # the same for pages that are opened as files
