"""Sessions with the language server's documents: several files, random edits, and requests after each of them.

python tests/server/sessions.py [--n 2000] [--edits 50] [--seed 0]: run sessions on the repository's texts. A session
fails if a request raises an error, if an edit of a range gives another text than the client has, or if what is found at the
end is not what `tvms check` finds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from time import perf_counter

from lsprotocol import types as lsp

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from server.edits import edited, words_of
from tvms.dsl.cli.check_command import check_schedules
from tvms.dsl.formatter import format_text
from tvms.dsl.load import parse_source
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
from tvms.dsl.server.tokens import semantic_tokens
from tvms.ir.base import Source, Span
from tvms.ir.diagnostics import Diagnostic, TvmsError
from tvms.ir.lints import lint
from tvms.ir.verify import verify

ROOT = Path(__file__).parents[2]
MOST_CHARACTERS = 20_000
"""Longer texts are left out: checking them as a whole takes longer than the session."""


def found_in(name: str, text: str) -> tuple[Diagnostic, ...]:
    """Return what `tvms check` finds in a text."""
    warnings: list[Diagnostic] = []
    try:
        module = parse_source(Source(name, text), None, warnings)
    except TvmsError as problem:
        return problem.diagnostics
    found = verify(module)
    if not any(diagnostic.severity == "error" for diagnostic in found):
        found += check_schedules(module) + lint(module)
    return (*warnings, *found)


def shown(document: Document, found: tuple[Diagnostic, ...]) -> set[object]:
    """Return diagnostics in a form that can be compared, with offsets in the whole text."""

    def place(span: Span | None) -> tuple[int, int] | None:
        return document.place(span) if span is not None else None

    return {
        (
            d.code,
            d.severity,
            d.message,
            d.help,
            place(d.span),
            tuple((note.message, place(note.span)) for note in d.notes),
        )
        for d in found
    }


def _actions(document: Document, at: int) -> None:
    found = from_findings(document, document.latest.diagnostics)
    for action in actions(document, at, at, found):
        if action.data:
            resolve(document, action)


def _rename(document: Document, at: int) -> None:
    with suppress(navigation.CannotRename):
        navigation.renamable(document, at)
        navigation.rename(document, at, "renamed")


def _format(document: Document, at: int) -> None:
    with suppress(TvmsError):
        line_edits(document, format_text(document.lines.text, document.name))


def _calls(document: Document, at: int) -> None:
    named = document.name_at(at)
    if named is not None and named[1].symbol.is_global:
        structure.call_item(document, named[1].symbol.name)
        structure.grouped(document, named[1].symbol.name, incoming=True)
        structure.grouped(document, named[1].symbol.name, incoming=False)


REQUESTS: tuple[Callable[[Document, int], object], ...] = (
    hover, signature_help, complete, navigation.definitions, navigation.highlights, _rename, _format, _actions, _calls,
    scheduled_at, structure.selection,
    lambda document, at: navigation.references(document, at, True),
    lambda document, at: structure.symbols(document),
    lambda document, at: structure.folding(document),
    lambda document, at: structure.links(document),
    lambda document, at: structure.lenses(document),
    lambda document, at: hints(document, at, min(at + 500, len(document.lines.text))),
    lambda document, at: semantic_tokens(document),
    lambda document, at: indented(document, document.range(at, at).start.line),
)  # fmt: skip
"""The requests of the protocol, at an offset."""
PASTED = (
    "\x00\x07",
    "(((((((",
    "\r\r\n",
    "\u2028\u202e",
    "if\n\tfor x in\n",
    "😀" * 20,
    '"""',
    "@",
    "}\n{\n",
    "\ufeff",
    "0x",
    "\\\n",
)


class Session:
    """Some open documents, and edits of them in turn."""

    def __init__(self, texts: Sequence[tuple[str, str]], random: Random) -> None:
        self.random = random
        self.words = words_of([text for _, text in texts])
        chosen = random.sample(list(texts), min(random.randint(1, 3), len(texts)))
        self.originals = dict(chosen)
        self.documents = [
            Document(f"file:///{name}", name, text, 0, check_schedules) for name, text in self.originals.items()
        ]
        self.history = {name: [text] for name, text in chosen}
        self.latest = dict(chosen)
        """The latest text of each file of which all was known without a check of the whole text."""
        self.exact = 0
        """How often what was found was known without a check of the whole text."""
        self.seconds: list[float] = []
        """The time of each edit with its examination."""

    def run(self, edits: int) -> None:
        """Make edits, each followed by requests; compare the diagnostics of all documents from time to time and at the end."""
        for version in range(1, edits + 1):
            document = self.random.choice(self.documents)
            self._edit(document, version)
            for request in self.random.sample(REQUESTS, 3):
                request(document, self.random.randint(0, len(document.lines.text)))
            if version % 10 == 0:
                self._compare(document)
        for document in self.documents:
            self._compare(document)
            self._replace(document, self.latest[document.name], edits + 1)  # undo to a text without syntax errors
            self._compare(document)

    def _edit(self, document: Document, version: int) -> None:
        text, history = document.lines.text, self.history[document.name]
        chance = self.random.random()
        if chance < 0.1:
            new = self.random.choice(history)
        elif chance < 0.2:
            at, other = self.random.randint(0, len(text)), self.random.choice(list(self.originals.values()))
            start = self.random.randint(0, len(other))
            new = text[:at] + self.random.choice((*PASTED, other[start : start + 200])) + text[at:]
        else:
            new = edited(text, self.originals[document.name], self.words, self.random)
        history.append(new)
        self._replace(document, new, version)

    def _replace(self, document: Document, new: str, version: int) -> None:
        begin = perf_counter()
        document.update(_edited(document, new), version)
        findings = document.examine()
        self.seconds.append(perf_counter() - begin)
        if findings.is_exact:
            self.latest[document.name] = new

    def _compare(self, document: Document) -> None:
        findings, text = document.examine(), document.lines.text
        if findings.is_exact:
            self.exact += 1
            found = shown(document, findings.diagnostics)
            assert found == shown(document, found_in(document.name, text)), text


def _edited(document: Document, new: str) -> Lines:
    """Return the lines after an edit of the part that changes, as a client sends it."""
    old = document.lines.text
    start = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    rest = min(len(old), len(new)) - start
    ends = zip(reversed(old[len(old) - rest :]), reversed(new[len(new) - rest :]), strict=True)
    kept = next((at for at, (a, b) in enumerate(ends) if a != b), rest)
    within = document.range(start, len(old) - kept)
    if document.lines.offset(within.start) != start or document.lines.offset(within.end) != len(old) - kept:
        return Lines(new)  # between the two characters of a line end
    lines = document.lines.edited(lsp.Range(within.start, within.end), new[start : len(new) - kept])
    assert lines.text == new
    return lines


def texts_of_repository() -> list[tuple[str, str]]:
    """Return the samples and the test cases that are not too long."""
    paths = sorted([*ROOT.glob("samples/**/*.tvms"), *ROOT.glob("tests/cases/**/*.tvms")])
    texts = [(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8", errors="replace")) for path in paths]
    return [(name, text) for name, text in texts if 0 < len(text) < MOST_CHARACTERS]


def main() -> int:
    """Run sessions; return the number of those that failed, at most 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=2000, help="number of sessions")
    parser.add_argument("--edits", type=int, default=50, help="edits of each")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    texts, failed, seconds, exact = texts_of_repository(), 0, list[float](), 0
    for number in range(given.n):
        session = Session(texts, Random(f"{given.seed} {number}"))
        try:
            session.run(given.edits)
        except Exception as problem:
            failed += 1
            print(f"session {number}, seed {given.seed}: {type(problem).__name__}: {str(problem)[:2000]}", flush=True)
            import traceback

            traceback.print_tb(problem.__traceback__, limit=-3)
        seconds += session.seconds
        exact += session.exact
        if number % 50 == 49:
            print(f"{number + 1} sessions, {failed} failed, {exact} exact comparisons", flush=True)
    seconds.sort()
    parts = [1e3 * seconds[min(int(len(seconds) * part), len(seconds) - 1)] for part in (0.5, 0.99)]
    print(
        f"{given.n} sessions of {given.edits} edits, {failed} failed; {exact} comparisons with a check of the whole text"
    )
    print(f"an edit with its examination: median {parts[0]:.1f} ms, 99 of 100 below {parts[1]:.1f} ms")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
