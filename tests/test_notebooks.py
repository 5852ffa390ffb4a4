"""The sample notebooks run, and their outputs are those that are stored.

python tests/test_notebooks.py    run them and store their outputs
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest

for _name in ("IPython", "ipykernel"):
    pytest.importorskip(_name, reason="the extra `test` has it: a kernel runs the notebooks")
nbclient = pytest.importorskip("nbclient", reason="the extra `test` has it: it runs the notebooks")
nbformat = pytest.importorskip("nbformat", reason="nbclient requires it")

NOTEBOOKS = sorted((Path(__file__).parent.parent / "samples" / "notebooks").glob("*.ipynb"))


def executed(path: Path) -> tuple[Any, Any]:
    """Return a notebook as it is stored, and after all its cells ran; only cells tagged `raises-exception` may fail."""
    stored = nbformat.read(path, as_version=4)
    ran = nbformat.from_dict(stored)
    nbclient.NotebookClient(ran, timeout=60, kernel_name="python3").execute()
    return stored, ran


def shown(cell: Any) -> list[tuple[str, str]]:
    """Return the outputs of a cell: their kind, and their text with the text of their HTML, without colors and addresses."""
    found: list[tuple[str, str]] = []
    for output in cell.get("outputs", ()):
        data = output.get("data", {})
        page = re.sub("<style>.*?</style>|<[^>]+>", "", data.get("text/html", ""), flags=re.DOTALL)
        text = output.get("text", "") + data.get("text/plain", "") + "\n".join(output.get("traceback", ()))
        text = re.sub(r"\x1b\[[\d;]*m| at 0x[0-9a-f]+", "", text)  # a kernel may force colors; addresses differ
        found.append((output["output_type"], f"{text}\n{html.unescape(page)}"))
    return found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_show_what_is_stored(path: Path) -> None:
    stored, ran = executed(path)
    assert [shown(cell) for cell in ran.cells] == [shown(cell) for cell in stored.cells]


def test_the_first_notebook_shows_an_error_and_goes_on() -> None:
    stored = nbformat.read(NOTEBOOKS[0], as_version=4)
    outputs = [output for cell in stored.cells for output in cell.get("outputs", ())]
    errors = [output for output in outputs if output["output_type"] == "error"]
    assert [error["traceback"] for error in errors] == [["1 error: the cell defines nothing"]]
    pages = [output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert sum("<details" in page for page in pages) >= 2
    assert sum("tvms-31" in page.partition("</style>")[2] for page in pages) == 1


if __name__ == "__main__":
    for path in NOTEBOOKS:
        notebook = executed(path)[1]
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)
        notebook.metadata.pop("language_info", None)
        nbformat.write(notebook, path)
