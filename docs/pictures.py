"""Make the pictures in docs/pictures: `make pictures`, which builds the site and the extension of Visual Studio Code first.

Chromium takes them: of the site, of a graph as `tvms view` draws it, and of a schedule and a debugged program in the editor.
`notebook.png`, of JupyterLab, was taken by hand.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tvms.dsl.cli import main as tvms

ROOT = Path(__file__).parent.parent
SITE = ROOT / "build" / "site"
PICTURES = Path(__file__).parent / "pictures"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
EDITOR = ROOT / "editors" / "vscode" / "test" / "real" / "pictures.mjs"


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
        graph = Path(folder, "graph.html")
        tvms(["view", str(ROOT / "samples" / "04_perceptron.tvms"), "--entry", "main", "-o", str(graph)])
        photograph(browser, graph.as_uri(), "graph.png", 540, 650)
        photograph(browser, (SITE / "index.html").as_uri(), "site.png", 1280, 820)
    subprocess.run(["node", str(EDITOR), str(PICTURES)], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
