"""Mistakes in programs, for the tests: what was written instead of what, and the one diagnostic that tells of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from tvms.dsl.cli.check_command import check_schedules
from tvms.dsl.load import parse_source
from tvms.ir.base import Source
from tvms.ir.diagnostics import Diagnostic, TvmsError
from tvms.ir.lints import lint
from tvms.ir.verify import verify


class Mistake(NamedTuple):
    """A mistake in one of the programs. `help` is part of the remedy, `at` the text under the carets."""

    text: str
    old: str
    new: str
    code: str
    at: str
    help: str

    @property
    def wrong(self) -> str:
        """The program with the mistake."""
        assert self.old in self.text, self.old
        return self.text.replace(self.old, self.new, 1)


def mistakes(text: str, *rows: tuple[str, str, str, str, str]) -> list[Mistake]:
    """Return the mistakes in one program: old and new text, code, text under the carets, part of the remedy."""
    return [Mistake(text, *row) for row in rows]


def diagnostics(text: str) -> Sequence[Diagnostic]:
    """Return what `tvms check` reports about a text."""
    warnings: list[Diagnostic] = []
    try:
        module = parse_source(Source("a.tvms", text), warnings=warnings)
        found = [*warnings, *verify(module, "bounds")]
        return found or [*check_schedules(module), *lint(module)]
    except TvmsError as problem:
        return problem.diagnostics


def each_mistake(found: Sequence[Mistake]) -> pytest.MarkDecorator:
    """Run a test for each of the mistakes."""
    return pytest.mark.parametrize("mistake", found, ids=lambda mistake: f"{mistake.code} {mistake.new.strip()[:40]}")


def check_mistake(mistake: Mistake) -> None:
    """Check that a mistake is one diagnostic, with the right code, position and remedy."""
    (found,) = diagnostics(mistake.wrong)
    assert found.code == mistake.code, found.message
    assert found.span is not None
    if mistake.at:
        assert found.span.source.text[found.span.start : found.span.end] == mistake.at
    assert mistake.help in (found.help or "")
