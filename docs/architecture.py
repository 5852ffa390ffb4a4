"""Write docs/architecture.md, its picture and docs/decisions/README.md from the source: `python docs/architecture.py [--check]`.

The picture shows the rooms and the imports between them; the life of a matrix product is the output of `tvms tour`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import tvms
from tvms.codegen.tour import Stage, tour
from tvms.dsl.builder.module import build_module
from tvms.dsl.parser import parse_syntax
from tvms.dsl.view.svg import LINE, MARGIN, Drawing, box, document, moved, size_of, stacked, text

ROOT = Path(__file__).parent.parent
HERE = Path(__file__).parent
ROOMS = {
    "dsl": "Text and people: parser, printer, formatter, diagnostics, command line, testing.",
    "ir": "The program: nodes, operators, verifier, interpreter, passes, schedules.",
    "codegen": "The machine: lowering, LLVM, GPUs, runtime.",
    "grammar": "The syntax, as data: the Lark grammar and the table of forms.",
}
SAMPLE = "samples/02_matmul.tvms"
GAP = 3 * LINE

PAGE = """\
# Architecture

tvms has four rooms. An arrow is an import; there are no others, except that a command of the command line imports `codegen`
when it compiles something. `tests/test_house.py` enforces this.

![The rooms of tvms and their imports](architecture.svg)

- [`grammar`](../grammar) is the syntax as data. `tvms.lark` is the grammar, and `python -m tvms.grammar.generate` turns it into
  tables, so that no grammar is compiled when a program starts.
- [`ir`](../ir) defines programs and their meaning: immutable nodes ([`tir.py`](../ir/tir.py) for loops,
  [`relax.py`](../ir/relax.py) for graphs), the verifier, the reference interpreter, simplification and proofs, schedule
  primitives and graph passes. It knows neither text nor machines: printing goes through a hook ([`hooks.py`](../ir/hooks.py)).
  It has floors, lowest first: nodes, arithmetic, verifier and interpreter, schedule, graph, and the mirror of TVM's Python API.
  A module imports only its own floor and those below; `tests/test_floors.py` also imports each floor with those above absent.
  No modules import each other, lazily or not (`tests/test_cycles.py`).
- [`dsl`](../dsl) turns text into programs and back, and reports mistakes.
- [`codegen`](../codegen) turns programs into machine code, for processors and GPUs, and runs it.

## Rooms

| room | purpose |
|---|---|
{rooms}

## Life of a matrix product

`tvms tour {sample}` prints the program after each of these stages. Steps that leave
this program unchanged are omitted.

| stage | code | purpose |
|---|---|---|
{stages}

Before a default schedule is used, the bounds of the *unscheduled* program are proven ([`guarded_loops`](../codegen/build.py)): the
proof holds for the scheduled program, because a schedule only reorders accesses. Machine code is kept in memory, or written
to a file by `tvms compile`. A call checks its arguments against the signature
([`prim_entry.py`](../codegen/runtime/prim_entry.py)) and then jumps to the code.

Decisions that were hard to make have [a page each](decisions/README.md).
"""
DECISIONS = """\
# Decisions

Each page records one decision that was hard to make: the decision, its reasons and its price. Read them before you propose to
change what they decide; [architecture](../architecture.md) describes the result.

{decisions}
"""


def _folders(room: str) -> list[Path]:
    """Return the folders of a room that hold code, itself first."""
    below = sorted(path.parent for path in (ROOT / room).glob("*/__init__.py"))
    return [ROOT / room, *below]


def _purpose(folder: Path) -> str:
    """Return the first sentence of the docstring of a package."""
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    return " ".join(text.split()).split(". ")[0].rstrip(".") + "."


def _rows() -> Iterator[str]:
    for room in ROOMS:
        for folder in _folders(room):
            name = folder.relative_to(ROOT).as_posix()
            yield f"| [`{name}`](../{name}) | {_purpose(folder)} |"


def _stages() -> Iterator[str]:
    module = tvms.load(ROOT / SAMPLE)
    first = [Stage.of("read", parse_syntax, "."), Stage.of("build", build_module, ".")]
    for stage in [*first, *tour(module, "llvm -mcpu=x86-64-v3")]:
        if stage.text:
            file = stage.code.split(":")[0]
            yield f"| {stage.name} | [`{file}`](../{file}) | {stage.purpose}. |"


def _decisions() -> Iterator[str]:
    for path in sorted((HERE / "decisions").glob("[0-9]*.md")):
        title = path.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
        yield f"- [{title}]({path.name})"


# --- Picture --------------------------------------------------------------------------------------------------


def _imports() -> set[tuple[str, str]]:
    """Return the pairs of rooms of which the first imports the second, apart from imports inside functions."""
    found: set[tuple[str, str]] = set()
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            depth = len(path.relative_to(ROOT).parts)
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ImportFrom) and node.level == depth:
                    names = [node.module.split(".")[0]] if node.module else [name.name for name in node.names]
                    found.update((room, name) for name in names if name in ROOMS and name != room)
    return found


def _room(room: str) -> Drawing:
    """Return a box with the folders of a room."""
    names = [folder.name for folder in _folders(room)[1:]]
    inner = stacked(
        [
            Drawing(*size_of([name]), (box("statement", 0, 0, 150, 2 * LINE), *text([name], MARGIN, MARGIN)))
            for name in names
        ]
    )
    width, height = 150 + 2 * MARGIN, inner.height + 3 * MARGIN + LINE
    shapes = [
        box("serial", 0, 0, width, height),
        *text([room], MARGIN, MARGIN, "title"),
        moved(inner, MARGIN, 2 * MARGIN + LINE),
    ]
    return Drawing(width, height, tuple(shapes))


def picture() -> str:
    """Return the picture of the rooms."""
    rooms = {room: _room(room) for room in ("grammar", "dsl", "ir", "codegen")}
    elements, x = list[str](), 0.0
    places: dict[str, float] = {}
    for room, drawing in rooms.items():
        places[room] = x
        elements.append(moved(drawing, x, 0))
        x += drawing.width + GAP
    y = LINE
    for source, target in sorted(_imports()):
        to_right = places[source] < places[target]
        begin = places[source] + (rooms[source].width if to_right else 0)
        end = places[target] + (0 if to_right else rooms[target].width)
        elements.append(f'<path d="M{begin:g},{y:g} L{end:g},{y:g}"/>')
    height = max(drawing.height for drawing in rooms.values())
    return document(Drawing(x - GAP, height, tuple(elements)))


def main(arguments: list[str]) -> int:
    """Write the files, or with `--check` return 1 if one is out of date."""
    files = {
        "architecture.md": PAGE.format(rooms="\n".join(_rows()), stages="\n".join(_stages()), sample=SAMPLE),
        "architecture.svg": picture(),
        "decisions/README.md": DECISIONS.format(decisions="\n".join(_decisions())),
    }
    is_old = False
    for name, content in files.items():
        path = HERE / name
        if "--check" not in arguments:
            path.write_text(content, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != content:
            print(f"docs/{name} is out of date: run make generate")
            is_old = True
    return int(is_old)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
