"""The server with its open documents: what clients do to them, and when they are examined."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.uris import to_fs_path

from ..fixes import CheckSchedules
from . import commands
from .document import Document
from .program import Findings
from .reports import from_findings, from_json

logger = logging.getLogger(__name__)

IDLE_SECONDS = 0.3
"""Time after an edit until a text that cannot be checked in parts is checked as a whole."""
LARGE = 100_000
"""Length of a text from which garbage collections would be noticed."""


class Protocol(LanguageServerProtocol):
    """The protocol without pygls's texts: ours are divided, and their lines end where the protocol says."""

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: lsp.DidOpenTextDocumentParams) -> Generator[Any, Any, None]:
        """Pass a notification on to its feature."""
        yield self._feature(lsp.TEXT_DOCUMENT_DID_OPEN), (params,), None

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> Generator[Any, Any, None]:
        """Pass a notification on to its feature."""
        yield self._feature(lsp.TEXT_DOCUMENT_DID_CHANGE), (params,), None

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: lsp.DidCloseTextDocumentParams) -> Generator[Any, Any, None]:
        """Pass a notification on to its feature."""
        yield self._feature(lsp.TEXT_DOCUMENT_DID_CLOSE), (params,), None

    def _feature(self, name: str) -> Any:
        return self.fm.features[name]  # type: ignore[reportUnknownMemberType]


class TvmsServer(LanguageServer):
    """The server with its open documents."""

    def __init__(self, version: str, check_schedules: CheckSchedules) -> None:
        super().__init__("tvms", version, protocol_cls=Protocol)  # type: ignore[reportUnknownMemberType]
        self.check_schedules = check_schedules
        self.documents: dict[str, Document] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.found: dict[str, tuple[int, list[lsp.Diagnostic]]] = {}
        """What was found in each document, by its version."""
        self.tokens: dict[str, tuple[str, list[int]]] = {}
        self.examiner = ThreadPoolExecutor(1, "examine")

    # --- Documents

    def document(self, uri: str) -> Document:
        """Return an open document."""
        if uri not in self.documents:
            raise JsonRpcInvalidParams(f"'{uri}' is not open")
        return self.documents[uri]

    def offset(self, params: Any) -> tuple[Document, int]:
        """Return the document and the offset that a request is about."""
        document = self.document(params.text_document.uri)
        return document, document.lines.offset(params.position)

    def open(self, item: lsp.TextDocumentItem) -> None:
        """Open a document."""
        path = to_fs_path(item.uri)
        document = Document(item.uri, path or item.uri, item.text, item.version, self.check_schedules)
        self.documents[item.uri] = document
        self.examine_soon(document)

    def close(self, uri: str) -> None:
        """Forget a document."""
        for known in (self.documents, self.found, self.tokens):
            known.pop(uri, None)
        task = self.tasks.pop(uri, None)
        if task is not None:
            task.cancel()
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    def examine_soon(self, document: Document) -> None:
        """Examine a document in the background; a newer version replaces the task."""
        task = self.tasks.get(document.uri)
        if task is not None:
            task.cancel()
        self.tasks[document.uri] = asyncio.get_running_loop().create_task(self._examine(document))

    async def examined(self, document: Document) -> Findings:
        """Return what is found in the current text of a document, without what only a check of the whole text finds."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self.examiner, document.examine)
        except Exception:
            logger.exception("examining '%s' failed; it is checked as a whole", document.name)
            document.forget()
            return document.latest

    async def _examine(self, document: Document) -> None:
        version, lines = document.version, document.lines
        found = await self.examined(document)
        if document.version != version:
            return
        if not self.found.get(document.uri) and len(lines.text) > LARGE:
            gc.collect()
            gc.freeze()  # what a large text was built into outlives most edits, and is not looked at again
        self._publish(document, version, from_findings(document, found.diagnostics))
        if found.is_exact and not document.names_tensors:
            return
        await asyncio.sleep(IDLE_SECONDS)
        rows = await commands.check(document.name, lines.text)
        if rows is not None and document.version == version:
            self._publish(document, version, from_json(document.uri, document.name, lines, rows))

    def _publish(self, document: Document, version: int, found: list[lsp.Diagnostic]) -> None:
        self.found[document.uri] = version, found
        client = self.client_capabilities.text_document
        if client is not None and client.diagnostic is not None:
            return  # a client that asks would show each of them twice
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(document.uri, found, version))

    def refresh_hints(self) -> None:
        """Let the client ask for the hints again, if it can: there are new measurements."""
        client = self.client_capabilities.workspace
        if client is not None and client.inlay_hint is not None and client.inlay_hint.refresh_support:
            self.workspace_inlay_hint_refresh(None)

    def known(
        self, document: Document, start: int, end: int, shown: Sequence[lsp.Diagnostic]
    ) -> Sequence[lsp.Diagnostic]:
        """Return what is found between two offsets of a document; what a client shows there until the last edit is examined."""
        known = self.found.get(document.uri)
        if known is None or known[0] != document.version:
            return shown
        lines = document.lines
        return [
            one for one in known[1] if lines.offset(one.range.start) <= end and start <= lines.offset(one.range.end)
        ]

    async def diagnostics(self, document: Document) -> list[lsp.Diagnostic]:
        """Return what is found in the current version, when all of it is known."""
        while document.uri in self.tasks:
            version = document.version
            await asyncio.wait([self.tasks[document.uri]])
            known = self.found.get(document.uri)
            if document.version == version:
                return known[1] if known is not None and known[0] == version else []
        return []
