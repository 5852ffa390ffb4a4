"""What `make docs` adds to the pages of docs/: pages whose source is elsewhere, links between all of them, and colors.

Documents link to files of the repository, as a Git host expects. On the site, a link to a file that is a page leads to the
page, and a link to another file becomes its text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from tvms.ir.codes import CODES

ROOT = Path(__file__).parent.parent
OUTSIDE = {"README.md": "first-steps.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
"""Documents outside of docs/, and where they are on the site."""
SAMPLES, DIAGNOSTICS = "samples.md", "diagnostics.md"
LINK = re.compile(r"`[^`\n]*`|^#.*|(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)|\b(E\d{4})\b", re.M)
"""A link or a code of a diagnostic; or a heading or a piece of code, in which there are none."""
ITEM = re.compile(r"(?:[-*]|\d+\.) ")
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.M | re.S)
TITLE = re.compile(r"\A# .*")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Expand patterns in the navigation, such as `decisions/*.md`."""
    config.nav = list(_expanded(config.nav or [], Path(config.docs_dir)))
    return config


def _expanded(entries: list[Any], folder: Path) -> Iterator[Any]:
    for entry in entries:
        if isinstance(entry, dict):
            yield {
                title: list(_expanded(part, folder)) if isinstance(part, list) else part
                for title, part in entry.items()
            }
        elif "*" in entry:
            found = sorted(path.relative_to(folder).as_posix() for path in folder.glob(entry))
            yield from sorted(found, key=lambda path: not path.endswith("README.md"))
        else:
            yield entry


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages whose source is outside of docs/."""
    for source, target in OUTSIDE.items():
        files.append(File.generated(config, target, content=(ROOT / source).read_text(encoding="utf-8")))
    files.append(File.generated(config, SAMPLES, content=samples()))
    return files


def samples() -> str:
    """Return the page of the programs in samples/, with the table of the README as its contents."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = re.search(r"^## Samples\n\n(.*?)\n\n", readme, re.M | re.S)
    assert table is not None, "README.md has no section 'Samples'"
    linked = re.sub(r"`samples/(\w+)\.tvms`", r"[`\1.tvms`](#\1tvms)", table[1])
    parts = ["# Samples", "Programs that come with tvms, in the order in which to read them.", linked]
    for path in sorted((ROOT / "samples").glob("*.tvms")):
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines(keepends=True)
        shown = "".join(lines[:120]) + ("# …\n" if len(lines) > 120 else "")
        parts += [f"## {path.name}", f"```tvms\n{shown}```"]
    return "\n\n".join(parts) + "\n"


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite lists, links and the languages of code blocks."""
    site = page.file.src_uri
    source = next((name for name, target in OUTSIDE.items() if target == site), f"docs/{site}")
    if site == SAMPLES:
        source = "README.md"
    if site == "README.md":
        page.meta["hide"] = ["navigation"]
    if site == OUTSIDE["README.md"]:
        markdown = TITLE.sub("# First steps", markdown)
    markdown = _indented(markdown)
    parts, end = [], 0
    for fence in FENCE.finditer(markdown):
        parts += [_linked(markdown[end : fence.start()], source, site), _colored(fence)]
        end = fence.end()
    return "".join([*parts, _linked(markdown[end:], source, site)])


def _indented(markdown: str) -> str:
    """Return a text with lists as Python-Markdown expects them; Git hosts are less strict.

    The contents of items are indented by 4 columns instead of 2, and an item of several paragraphs ends with an empty line.
    """
    lines = [""]
    is_item = is_code = has_parts = False
    for line in markdown.split("\n"):
        is_code ^= line.startswith("```")
        if ITEM.match(line) and not is_code:
            lines += [""] * has_parts
            is_item, has_parts = True, False
        elif line and not line.startswith(" ") and not lines[-1]:
            is_item = has_parts = False
        has_parts |= is_item and not lines[-1] and line.startswith("  ")
        lines.append(f"  {line}" if is_item and line.startswith("  ") else line)
    return "\n".join(lines[1:])


def _linked(text: str, source: str, site: str) -> str:
    """Return `text` with links from the page `site`, whose source is the file `source`, to other pages."""

    def link(match: re.Match[str]) -> str:
        mark, shown, address, code = match.groups()
        if code in CODES and site != DIAGNOSTICS:
            shown, address = code, f"{os.path.relpath('docs/' + DIAGNOSTICS, os.path.dirname(source))}#{code.lower()}"
        if address is None:
            return match[0]
        path, _, anchor = address.partition("#")
        if ":" in path or not path:
            return match[0]
        target = _page_of(os.path.normpath(os.path.join(os.path.dirname(source), path)))
        if target is None:
            return shown
        target = os.path.relpath(target, os.path.dirname(site) or ".")
        return f"{mark or ''}[{shown}]({target}{'#' * bool(anchor)}{anchor})"

    return LINK.sub(link, text)


def _page_of(path: str) -> str | None:
    """Return where a file of the repository is on the site; None if it is not."""
    if path in OUTSIDE:
        return OUTSIDE[path]
    if not path.startswith("docs/"):
        return None
    inside = path.removeprefix("docs/")
    return f"{inside}/README.md" if (ROOT / path).is_dir() else inside


def _colored(fence: re.Match[str]) -> str:
    """Return a code block whose language is `tvms` if its text is a program, which documents call `python` for Git hosts."""
    indent, language, text = fence.groups()
    is_python = re.search(r"^\s*(?:import|from) |^\s*(?:def|class|@)|\btvms\.|\brelax\.|\bprint\(", text, re.M)
    if language == "python" and re.search(r"\b[IRST]\.\w|^#tvms", text, re.M) and not is_python:
        language = "tvms"
    return f"{indent}```{language}\n{text}{indent}```"
