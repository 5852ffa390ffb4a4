"""The requests of the protocol, each answered by a function of this package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.uris import to_fs_path

from ...ir.diagnostics import Source, TvmsError
from ..embedded import read_host
from ..fixes import CheckSchedules
from ..formatter import format_host, format_text
from . import commands, navigation, structure
from .actions import actions, resolve
from .completion import complete
from .document import Document
from .hints import hints
from .hover import hover, signature_help
from .schedules import scheduled_at
from .server import LARGE, TvmsServer
from .tokens import MODIFIERS, TYPES, delta, semantic_tokens

LEGEND = lsp.SemanticTokensLegend(list(TYPES), list(MODIFIERS))


def create(version: str, check_schedules: CheckSchedules) -> TvmsServer:
    """Return a server; `check_schedules` returns the errors of the schedules of a module."""
    server = TvmsServer(version, check_schedules)
    _documents(server)
    _names(server)
    _texts(server)
    _outline(server)
    _colors(server)
    _commands(server)
    return server


def _documents(server: TvmsServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: lsp.DidOpenTextDocumentParams) -> None:
        server.open(params.text_document)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: lsp.DidChangeTextDocumentParams) -> None:
        document = server.document(params.text_document.uri)
        lines = document.lines
        for change in params.content_changes:
            lines = lines.edited(getattr(change, "range", None), change.text)
        document.update(lines, params.text_document.version)
        server.examine_soon(document)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: lsp.DidCloseTextDocumentParams) -> None:
        server.close(params.text_document.uri)

    @server.feature(
        lsp.TEXT_DOCUMENT_DIAGNOSTIC,
        lsp.DiagnosticOptions(inter_file_dependencies=False, workspace_diagnostics=False, identifier="tvms"),
    )
    async def diagnostic(params: lsp.DocumentDiagnosticParams) -> lsp.RelatedFullDocumentDiagnosticReport:
        found = await server.diagnostics(server.document(params.text_document.uri))
        return lsp.RelatedFullDocumentDiagnosticReport(found)


def _names(server: TvmsServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    async def on_hover(params: lsp.HoverParams) -> lsp.Hover | None:
        await server.examined(server.document(params.text_document.uri))
        return hover(*server.offset(params))

    @server.feature(lsp.TEXT_DOCUMENT_SIGNATURE_HELP, lsp.SignatureHelpOptions(["(", ","], [","]))
    def on_signature_help(params: lsp.SignatureHelpParams) -> lsp.SignatureHelp | None:
        return signature_help(*server.offset(params))

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions([".", '"', "'"]))
    def on_completion(params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        return complete(*server.offset(params))

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def on_definition(params: lsp.DefinitionParams) -> list[lsp.Location]:
        return navigation.definitions(*server.offset(params))

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def on_references(params: lsp.ReferenceParams) -> list[lsp.Location]:
        return navigation.references(*server.offset(params), params.context.include_declaration)

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    def on_highlight(params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
        return navigation.highlights(*server.offset(params))

    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    def on_prepare_rename(params: lsp.PrepareRenameParams) -> lsp.PrepareRenamePlaceholder:
        document, offset = server.offset(params)
        try:
            placed, found = navigation.renamable(document, offset)
        except navigation.CannotRename as reason:
            raise JsonRpcInvalidParams(str(reason)) from None
        place = document.range(placed.start + found.start, placed.start + found.end)
        return lsp.PrepareRenamePlaceholder(place, found.symbol.name)

    @server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    def on_rename(params: lsp.RenameParams) -> lsp.WorkspaceEdit:
        try:
            return navigation.rename(*server.offset(params), params.new_name)
        except navigation.CannotRename as reason:
            raise JsonRpcInvalidParams(str(reason)) from None


def _texts(server: TvmsServer) -> None:
    def formatted(document: Document, within: lsp.Range | None = None) -> list[lsp.TextEdit]:
        text = document.lines.text
        try:
            host = read_host(Source(document.name, text))
            lines = (within.start.line + 1, within.end.line + 1) if within else None
            new = format_text(text, document.name, lines=lines) if host is None else format_host(host, lines=lines)
        except TvmsError:
            return []  # a text with syntax errors is shown as such, and stays as it is
        return line_edits(document, new)

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def on_formatting(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
        return formatted(server.document(params.text_document.uri))

    @server.feature(lsp.TEXT_DOCUMENT_RANGE_FORMATTING)
    def on_range_formatting(params: lsp.DocumentRangeFormattingParams) -> list[lsp.TextEdit]:
        return formatted(server.document(params.text_document.uri), params.range)

    @server.feature(lsp.TEXT_DOCUMENT_ON_TYPE_FORMATTING, lsp.DocumentOnTypeFormattingOptions("\n"))
    def on_type_formatting(params: lsp.DocumentOnTypeFormattingParams) -> list[lsp.TextEdit]:
        document = server.document(params.text_document.uri)
        return indented(document, params.position.line)

    @server.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        lsp.CodeActionOptions(
            [
                lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.RefactorRewrite, lsp.CodeActionKind.Source,
                lsp.CodeActionKind.SourceFixAll,
            ],
            resolve_provider=True,
        ),
    )  # fmt: skip
    def on_code_action(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        document = server.document(params.text_document.uri)
        start, end = document.lines.offset(params.range.start), document.lines.offset(params.range.end)
        found = actions(document, start, end, server.known(document, start, end, params.context.diagnostics))
        only = params.context.only
        return [action for action in found if not only or any((action.kind or "").startswith(kind) for kind in only)]

    @server.feature(lsp.CODE_ACTION_RESOLVE)
    def on_resolve(action: lsp.CodeAction) -> lsp.CodeAction:
        return resolve(server.document(action.data[1]), action) if action.data else action


def line_edits(document: Document, new: str) -> list[lsp.TextEdit]:
    """Return the edits that turn a text into another one, lines at a time."""
    from difflib import SequenceMatcher

    old_lines, new_lines = document.lines.text.splitlines(keepends=True), new.splitlines(keepends=True)
    edits: list[lsp.TextEdit] = []
    for tag, first, last, low, high in SequenceMatcher(None, old_lines, new_lines, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        start, end = sum(map(len, old_lines[:first])), sum(map(len, old_lines[:last]))
        edits.append(lsp.TextEdit(document.range(start, end), "".join(new_lines[low:high])))
    return edits


def indented(document: Document, line: int) -> list[lsp.TextEdit]:
    """Return the indentation of a new line: one level more after a line that opens a block."""
    above = document.lines.line(line - 1).rstrip() if line else ""
    here = document.lines.line(line)
    written = len(here) - len(here.lstrip(" \t"))
    depth = len(above) - len(above.lstrip()) + 4 * above.endswith(":")
    if not above or here.strip() or written == depth:
        return []
    place = lsp.Range(lsp.Position(line, 0), lsp.Position(line, written))
    return [lsp.TextEdit(place, " " * depth)]


def _outline(server: TvmsServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def on_symbols(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        return structure.symbols(server.document(params.text_document.uri))

    @server.feature(lsp.WORKSPACE_SYMBOL)
    def on_workspace_symbols(params: lsp.WorkspaceSymbolParams) -> list[lsp.WorkspaceSymbol]:
        return workspace_symbols(server, params.query)

    @server.feature(lsp.TEXT_DOCUMENT_FOLDING_RANGE)
    def on_folding(params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange]:
        return structure.folding(server.document(params.text_document.uri))

    @server.feature(lsp.TEXT_DOCUMENT_SELECTION_RANGE)
    def on_selection(params: lsp.SelectionRangeParams) -> list[lsp.SelectionRange]:
        document = server.document(params.text_document.uri)
        return [structure.selection(document, document.lines.offset(position)) for position in params.positions]

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_LINK)
    def on_links(params: lsp.DocumentLinkParams) -> list[lsp.DocumentLink]:
        return structure.links(server.document(params.text_document.uri))

    @server.feature(lsp.TEXT_DOCUMENT_CODE_LENS)
    def on_lenses(params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
        return structure.lenses(server.document(params.text_document.uri))

    @server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
    async def on_hints(params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        document = server.document(params.text_document.uri)
        await server.examined(document)  # editors ask as soon as a text is open or edited, and not again
        return hints(document, document.lines.offset(params.range.start), document.lines.offset(params.range.end))

    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY)
    def on_prepare_calls(params: lsp.CallHierarchyPrepareParams) -> list[lsp.CallHierarchyItem]:
        document, offset = server.offset(params)
        named = document.name_at(offset)
        item = structure.call_item(document, named[1].symbol.name) if named and named[1].symbol.is_global else None
        return [item] if item else []

    @server.feature(lsp.CALL_HIERARCHY_INCOMING_CALLS)
    def on_incoming(params: lsp.CallHierarchyIncomingCallsParams) -> list[lsp.CallHierarchyIncomingCall]:
        found = structure.grouped(server.document(params.item.uri), params.item.name, incoming=True)
        return [lsp.CallHierarchyIncomingCall(item, places) for item, places in found]

    @server.feature(lsp.CALL_HIERARCHY_OUTGOING_CALLS)
    def on_outgoing(params: lsp.CallHierarchyOutgoingCallsParams) -> list[lsp.CallHierarchyOutgoingCall]:
        found = structure.grouped(server.document(params.item.uri), params.item.name, incoming=False)
        return [lsp.CallHierarchyOutgoingCall(item, places) for item, places in found]


def workspace_symbols(server: TvmsServer, query: str) -> list[lsp.WorkspaceSymbol]:
    """Return the definitions of open documents, and of the .tvms files in the folders of the workspace, whose name contains a text."""
    documents = dict(server.documents)
    for folder in server.workspace.folders.values():
        root = to_fs_path(folder.uri)
        for path in sorted(Path(root).rglob("*.tvms"))[:MOST_FILES] if root else ():
            if path.as_uri() not in documents and path.stat().st_size < LARGE:
                text = path.read_text(encoding="utf-8", errors="replace")
                documents[path.as_uri()] = Document(path.as_uri(), str(path), text, 0, server.check_schedules)
    return [
        lsp.WorkspaceSymbol(
            lsp.Location(uri, symbol.selection_range), symbol.name, symbol.kind, container_name=document.division.module
        )
        for uri, document in documents.items()
        for outer in structure.symbols(document)
        for symbol in ([outer] if outer.kind != lsp.SymbolKind.Module else outer.children or [])
        if query.lower() in symbol.name.lower()
    ]


MOST_FILES = 1_000
"""Maximum number of files in a folder that are searched for symbols."""


def _colors(server: TvmsServer) -> None:
    def numbered(uri: str, data: list[int]) -> str:
        number = str(int(server.tokens.get(uri, ("0", []))[0]) + 1)
        server.tokens[uri] = number, data
        return number

    @server.feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, LEGEND)
    def on_tokens(params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
        uri = params.text_document.uri
        data = semantic_tokens(server.document(uri))
        return lsp.SemanticTokens(data, numbered(uri, data))

    @server.feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL_DELTA, LEGEND)
    def on_delta(params: lsp.SemanticTokensDeltaParams) -> lsp.SemanticTokens | lsp.SemanticTokensDelta:
        uri = params.text_document.uri
        known = server.tokens.get(uri)
        data = semantic_tokens(server.document(uri))
        number = numbered(uri, data)
        if known is None or known[0] != params.previous_result_id:
            return lsp.SemanticTokens(data, number)
        return lsp.SemanticTokensDelta(delta(known[1], data), number)

    @server.feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, LEGEND)
    def on_range(params: lsp.SemanticTokensRangeParams) -> lsp.SemanticTokens:
        return lsp.SemanticTokens(semantic_tokens(server.document(params.text_document.uri), params.range))


def _commands(server: TvmsServer) -> None:
    def register(command: str) -> None:
        @server.command(command)
        async def run(uri: str, *names: str | None) -> dict[str, Any]:  # pygls demands each named parameter
            document = server.document(uri)
            output = await commands.execute(command, document, next(iter(names), None))
            if command == "tvms.bench":
                server.refresh_hints()
            return output._asdict()

    for command in commands.COMMANDS:
        register(command)

    @server.feature("tvms/scheduled")
    async def on_scheduled(params: Any) -> dict[str, Any] | None:
        """Answer `{textDocument: {uri}, position}` with the function after the line: `{name, steps, text}`."""
        document = server.document(params.textDocument.uri)
        await server.examined(document)  # an edit that was sent just before is part of the answer
        position = lsp.Position(params.position.line, params.position.character)
        found = scheduled_at(document, document.lines.offset(position))
        return found._asdict() if found else None
