"""Code actions: the exact remedies of diagnostics, and changes of the text that keep its meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lsprotocol import types as lsp

from ...ir import tir
from ...ir.base import Source
from ...ir.diagnostics import TvmsError
from ...ir.equal import structural_equal
from ...ir.visit import walk
from .. import syntax
from ..edits import Edit, applied
from ..fixes import fixed
from ..load import parse
from .chunks import Placed
from .document import Document
from .hints import called, is_block
from .reports import edit_of
from .structure import statements

_MEANT = re.compile(r"did you mean '([^']+)'\?|help: write (\"[\w.]+\"|range\(\w+, \w+\)|\w+\[\d+\]|None|True|False)$")
"""Remedies that replace what the diagnostic points at: by another name, or by an expression."""
_ARGUMENT = re.compile(r"\w+(?=[ ]*=[^=])")
"""Pattern of the name of a named argument."""
_QUALIFIER = re.compile(r"(?:\w+\.)*\Z")
"""Pattern of the qualifier of a dotted name: all parts but the last."""
_TARGETS = {"tvms": "the native dialect", "tvm-0.21": "TVM 0.21", "tvm-0.27": "TVM 0.27"}


def actions(document: Document, start: int, end: int, diagnostics: Sequence[lsp.Diagnostic]) -> list[lsp.CodeAction]:
    """Return the actions for a range, and for the diagnostics that a client shows in it."""
    found = list(_quick_fixes(document, diagnostics))
    found += [lsp.CodeAction("Fix all", lsp.CodeActionKind.SourceFixAll, data=["fix", document.uri])]
    placed = document.chunk_at(start)
    if placed is not None:
        for title, edit in _rewrites(document, placed, start - placed.start, end - placed.start):
            moved = Edit(placed.start + edit.start, placed.start + edit.end, edit.text)
            found.append(_action(document, title, lsp.CodeActionKind.RefactorRewrite, [moved]))
    if document.division.is_regular:
        for dialect, title in _TARGETS.items():
            data = ["convert", document.uri, dialect]
            found.append(lsp.CodeAction(f"Convert to {title}", lsp.CodeActionKind.Source, data=data))
    return found


def resolve(document: Document, action: lsp.CodeAction) -> lsp.CodeAction:
    """Return an action with its edit."""
    text = document.lines.text
    kind, _, *rest = list(action.data or ["", ""])
    if kind == "fix":
        new = fixed(Source(document.name, text), document.check_schedules)
    else:
        try:
            new = parse(text, document.name).script(rest[0])
        except TvmsError:
            return action
    action.edit = _edit(document, [Edit(0, len(text), new)] if new != text else [])
    return action


def _action(
    document: Document,
    title: str,
    kind: lsp.CodeActionKind,
    edits: Sequence[Edit],
    fixes: Sequence[lsp.Diagnostic] = (),
) -> lsp.CodeAction:
    return lsp.CodeAction(title, kind, list(fixes) or None, edit=_edit(document, edits))


def _edit(document: Document, edits: Sequence[Edit]) -> lsp.WorkspaceEdit:
    changes = [lsp.TextEdit(document.range(edit.start, edit.end), edit.text) for edit in edits]
    return lsp.WorkspaceEdit(changes={document.uri: changes})


def _quick_fixes(document: Document, diagnostics: Sequence[lsp.Diagnostic]) -> Iterator[lsp.CodeAction]:
    """Yield the edit of each diagnostic that has one, and a replacement where the remedy is another name."""
    for diagnostic in diagnostics:
        start, end = document.lines.offset(diagnostic.range.start), document.lines.offset(diagnostic.range.end)
        change = edit_of(diagnostic)
        if change is not None:
            changes = lsp.WorkspaceEdit(changes={document.uri: [change]})
            title = _title(document, change)
            yield lsp.CodeAction(title, lsp.CodeActionKind.QuickFix, [diagnostic], edit=changes, is_preferred=True)
            continue
        meant = _MEANT.search(diagnostic.message)
        if meant is None:
            continue
        written = document.lines.text[start:end]
        if name := _ARGUMENT.match(written):
            end, written = start + name.end(), name[0]
        if re.fullmatch(r"[\w.]+|[\"'][^\"'\n]*[\"']", written):
            if "." in (meant[1] or ""):  # the remedy is a full name
                line = document.lines.text[:start].rpartition("\n")[2]
                start -= len(line) - len(_QUALIFIER.sub("", line, 1))
            new = meant[2] or (f"{written[0]}{meant[1]}{written[-1]}" if written[0] in "\"'" else meant[1])
            action = _action(
                document,
                f"Replace by '{meant[1] or meant[2]}'",
                lsp.CodeActionKind.QuickFix,
                [Edit(start, end, new)],
                [diagnostic],
            )
            action.is_preferred = True
            yield action


def _title(document: Document, change: lsp.TextEdit) -> str:
    """Return what an edit does: it deletes something, inserts a line above, or writes something else."""
    lines, new = document.lines, change.new_text
    written = lines.text[lines.offset(change.range.start) : lines.offset(change.range.end)]
    if new and written.startswith(new):
        return f"Leave out '{written[len(new) :].lstrip(', ')}'"
    if new.endswith(written):
        return f"Insert '{new[: len(new) - len(written)].strip()}'"
    return f"Replace by '{new}'" if new else "Delete it"


# --- Changes that keep the meaning


def _rewrites(document: Document, placed: Placed, start: int, end: int) -> Iterator[tuple[str, Edit]]:
    """Yield the changes of the statements at a range that leave the program as it is."""
    before = document.excerpt(placed)
    for node in statements(placed.chunk.file.body):
        line_end = placed.chunk.text.find("\n", node.start)
        if not node.start <= start <= (node.end if line_end < 0 else line_end):
            continue
        for title, edit in (*_regions(document, placed, node), *_loops(placed, node)):
            at = len(before) - len(placed.chunk.text)
            after = applied(before, [Edit(at + edit.start, at + edit.end, edit.text)])
            if _is_same(before, after, document.name):
                yield title, edit


def _is_same(before: str, after: str, name: str) -> bool:
    """Return whether two texts mean the same."""
    try:
        return structural_equal(parse(before, name), parse(after, name))
    except TvmsError:
        return False


def _regions(document: Document, placed: Placed, node: syntax.Stmt) -> Iterator[tuple[str, Edit]]:
    """Yield the declaration of the regions that a block accesses."""
    built = document.node_of(placed.chunk)
    if built is None or not is_block(node) or any(called(part) in ("reads", "writes") for part in node.body):
        return
    block = next(
        (part for part in walk(built) if isinstance(part, tir.Block) and part.span and part.span.start == node.start),
        None,
    )
    rest = [part for part in node.body if not _defines_axis(part)]
    if block is None or not rest:
        return
    at = placed.chunk.text.rfind("\n", 0, rest[0].start) + 1
    indent = placed.chunk.text[at : rest[0].start]
    lines = [
        f"{indent}T.reads({', '.join(map(str, block.reads))})\n",
        f"{indent}T.writes({', '.join(map(str, block.writes))})\n",
    ]
    if not indent.strip():
        yield "Declare the regions: T.reads, T.writes", Edit(at, at, "".join(lines))


def _defines_axis(node: syntax.Stmt) -> bool:
    value = node.value if isinstance(node, syntax.Assign) else None
    func = value.func if isinstance(value, syntax.Call) else None
    return isinstance(func, syntax.Attribute) and isinstance(func.value, syntax.Attribute) and func.value.attr == "axis"


def _loops(placed: Placed, node: syntax.Stmt) -> Iterator[tuple[str, Edit]]:
    """Yield a nest of loops as T.grid, or T.grid as a nest of loops."""
    if not isinstance(node, syntax.For):
        return
    text = placed.chunk.text
    extents = _extents(node)
    names = _targets(node)
    if extents is None or names is None or len(names) != len(extents) or '"""' in text[node.start : node.end]:
        return
    line = text.rfind("\n", 0, node.start) + 1
    indent = text[line : node.start]
    if len(extents) > 1:
        heads = [
            f"for {name} in range({extent}):"
            for name, extent in zip(names, (text[e.start : e.end] for e in extents), strict=True)
        ]
        new = f"\n{indent}".join(f"{'    ' * depth}{head}" for depth, head in enumerate(heads))
        body = _moved(text[_body_start(text, node) : node.end], 4 * (len(heads) - 1))
        yield "Write T.grid as loops", Edit(node.start, node.end, f"{new}\n{body}")
    inner = node.body[0]
    if len(node.body) == 1 and isinstance(inner, syntax.For) and "#" not in text[node.iterable.end : inner.start]:
        more, others = _extents(inner), _targets(inner)
        if more is not None and others is not None:
            sizes = ", ".join(text[extent.start : extent.end] for extent in (*extents, *more))
            body = _moved(text[_body_start(text, inner) : node.end], -4)
            yield (
                "Join the loops: T.grid",
                Edit(node.start, node.end, f"for {', '.join((*names, *others))} in T.grid({sizes}):\n{body}"),
            )


def _extents(node: syntax.For) -> tuple[syntax.Expr, ...] | None:
    """Return the extents of `T.grid(n, m)` or `range(n)`."""
    call = node.iterable
    if not isinstance(call, syntax.Call) or call.keywords:
        return None
    is_grid = isinstance(call.func, syntax.Attribute) and call.func.attr == "grid"
    is_range = isinstance(call.func, syntax.Name) and call.func.id == "range" and len(call.args) == 1
    return call.args if is_grid or is_range else None


def _targets(node: syntax.For) -> list[str] | None:
    targets = node.target.elements if isinstance(node.target, syntax.Tuple) else (node.target,)
    names = [target.id for target in targets if isinstance(target, syntax.Name)]
    return names if len(names) == len(targets) else None


def _body_start(text: str, node: syntax.For) -> int:
    """Return the start of the line after the head of a loop."""
    return text.find("\n", node.iterable.end) + 1


def _moved(body: str, by: int) -> str:
    """Return lines with more or less indentation."""
    if by > 0:
        return "\n".join(f"{' ' * by}{line}" if line.strip() else line for line in body.split("\n"))
    return "\n".join(line[-by:] if line[:-by].isspace() else line for line in body.split("\n"))
