"""Make the pictures in docs/pictures: `make pictures`, which builds the site first.

Chromium takes them: of the site, of a graph as `tvms view` draws it, and of a schedule as editors show it. The last is a page
with the answers of the language server: the source with its inlay hints, and beside it the document that follows the cursor.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from pygments import highlight
from pygments.formatters import HtmlFormatter
from tvms.dsl.cli import main as tvms
from tvms.dsl.cli.check_command import check_schedules
from tvms.dsl.highlighting import TvmsLexer
from tvms.dsl.server.document import Document
from tvms.dsl.server.hints import hints
from tvms.dsl.server.schedules import scheduled_at
from tvms.ir.sanitize import markup

ROOT = Path(__file__).parent.parent
SITE = ROOT / "build" / "site"
PICTURES = Path(__file__).parent / "pictures"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
CURSOR = "S.vectorize(j1)"
"""The step with the cursor in the picture of the schedule."""

PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Live schedule</title><style>
body { margin: 0; display: grid; grid-template-columns: 1010px 1fr; font: 12.5px system-ui, sans-serif; color: #1f2328; }
section { overflow: hidden; border-right: 1px solid #d0d7de; }
h1 { font-size: 12.5px; font-weight: 600; margin: 0; padding: 8px 14px; background: #f6f8fa; border-bottom: 1px solid #d0d7de; }
pre { margin: 8px 0; font: 11.5px/19px ui-monospace, monospace; }
pre div { height: 19px; padding-left: 14px; white-space: pre; }
.number { display: inline-block; width: 2.5em; margin-right: 1.2em; text-align: right; color: #8c959f; }
.hint { margin-left: 0.6em; padding: 1px 4px; border-radius: 3px; background: #eff2f5; color: #59636e; font-size: 10.5px; }
.cursor { background: #fff3c4; }
</style></head><body>
"""


def lines_of(text: str) -> list[str]:
    """Return the lines of a program as colored HTML."""
    return (
        highlight(text, TvmsLexer(stripnl=False), HtmlFormatter(nowrap=True, noclasses=True)).rstrip("\n").split("\n")
    )


def pane(title: str, lines: list[str], first: int = 1, cursor: int | None = None) -> str:
    """Return lines of HTML, with their numbers from `first`, below a title; the line `cursor` is marked."""
    rows = [
        f'<div{" class=cursor" if number == cursor else ""}><span class="number">{number}</span>{line}</div>'
        for number, line in enumerate(lines, first)
    ]
    return f"<section><h1>{markup(title)}</h1><pre>{''.join(rows)}</pre></section>"


def schedule_page(path: Path) -> str:
    """Return the page of the live schedule of a file, with the cursor at `CURSOR`."""
    text = path.read_text(encoding="utf-8")
    document = Document(path.as_uri(), path.name, text, 1, check_schedules)
    document.examine()
    offset = text.index(CURSOR)
    found = scheduled_at(document, offset)
    assert found is not None, f"{path} has no schedule with {CURSOR}"
    labels: defaultdict[int, str] = defaultdict(str)
    for hint in hints(document, 0, len(text)):
        labels[hint.position.line] += f'<span class="hint">{markup(str(hint.label))}</span>'
    start = text.index("I.ir_module")
    first, cursor = text.count("\n", 0, start), text.count("\n", 0, offset)
    source = [line + labels[number] for number, line in enumerate(lines_of(text))]
    left = pane(path.relative_to(ROOT).as_posix(), source[first:], first + 1, cursor + 1)
    return f"{PAGE}{left}{pane(f'{found.name} after {found.steps} steps', lines_of(found.text))}</body></html>"


def photograph(browser: str, address: str, name: str, width: int, height: int) -> None:
    """Write the picture `name` of the page at an address."""
    subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={width},{height}",
         "--virtual-time-budget=5000", f"--screenshot={PICTURES / name}", address],
        check=True, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def main() -> int:
    """Make all pictures; return 1 if there is no browser or no site."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None or not (SITE / "index.html").exists():
        print(f"needs {'the site: make docs' if browser else 'Chromium: ' + ', '.join(BROWSERS)}", file=sys.stderr)
        return 1
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        schedule, graph = Path(folder, "schedule.html"), Path(folder, "graph.html")
        schedule.write_text(schedule_page(ROOT / "samples" / "07_schedule.tvms"), encoding="utf-8")
        tvms(["view", str(ROOT / "samples" / "04_perceptron.tvms"), "--entry", "main", "-o", str(graph)])
        photograph(browser, schedule.as_uri(), "schedule.png", 1620, 486)
        photograph(browser, graph.as_uri(), "graph.png", 540, 650)
        photograph(browser, (SITE / "index.html").as_uri(), "site.png", 1280, 820)
    return 0


if __name__ == "__main__":
    sys.exit(main())
