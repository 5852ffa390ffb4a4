"""A merge whose result is a valid program, or has conflicts."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.base import IRModule, Source
from ...ir.diagnostics import Diagnostic, TvmsError
from ..embedded import is_host
from ..load import parse_source, read_definition
from .merge import Labels, Merged, merge
from .outline import DEFINITION, Node, outline


def merge_verified(
    base: Source,
    ours: Source,
    theirs: Source,
    labels: Labels = Labels(),  # noqa: B008  # it is frozen
) -> tuple[Merged, tuple[Diagnostic, ...]]:
    """Merge two revisions with their base, and return the errors of a merge that is wrong though both sides are right.

    The definitions with these errors are conflicts in the result; if neither side changed them, the whole file is one.
    """
    merged = merge(base, ours, theirs, labels)
    if merged.conflicts or merged.text in (base.text, ours.text, theirs.text):
        return merged, ()
    result = Source(ours.name, merged.text)
    found = errors_of(result)
    if not found or errors_of(ours) or errors_of(theirs):
        return merged, ()
    again = merge(base, ours, theirs, labels, _names_at(result, found))
    return (again if again.conflicts else _whole(base, ours, theirs, labels)), found


def errors_of(source: Source) -> tuple[Diagnostic, ...]:
    """Return the errors of a text; definitions in a host that capture values are not checked."""
    from ...ir.verify import check_law

    found: list[Diagnostic] = []
    try:
        for module in _modules(source):
            check_law(module)
    except TvmsError as problem:
        found += [
            item for item in problem.diagnostics if item.severity == "error" and item.code not in ("E0004", "E0822")
        ]
    return tuple(found)


def _modules(source: Source) -> Sequence[IRModule]:
    from ..embedded import read_host

    host = read_host(source) if is_host(source.name) else None
    if host is None:
        return [parse_source(source)]
    return [read_definition(definition) for definition in host.definitions if not definition.captured]


def _names_at(source: Source, found: Sequence[Diagnostic]) -> set[str]:
    """Return the names of the definitions that contain the positions of diagnostics."""
    definitions = [node for node in outline(source).walk() if node.kind == DEFINITION]
    lines = [source.text.count("\n", 0, item.span.start) + 1 for item in found if item.span]
    names: set[str] = set()
    for line in lines:
        around: list[Node] = [node for node in definitions if node.line <= line]
        names |= {around[-1].name} if around else set()
    return names


def _whole(base: Source, ours: Source, theirs: Source, labels: Labels) -> Merged:
    """Return the whole file as one conflict."""
    marks = [f"{'<' * labels.size} {labels.ours}", f"{'|' * labels.size} {labels.base}", "=" * labels.size]
    parts = [
        part for mark, side in zip(marks, (ours, base, theirs), strict=True) for part in (mark, side.text.rstrip("\n"))
    ]
    return Merged("\n".join([*parts, f"{'>' * labels.size} {labels.theirs}"]) + "\n", (1,))
