"""Sessions with the server as a process: `tvms lsp` on standard input and output."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from lsprotocol import types as lsp
from pygls.lsp.client import BaseLanguageClient
from server.edits import edited, words_of
from server.sessions import found_in
from server.test_program import MODULE, SESSIONS
from tvms.dsl.cli.check_command import check_schedules
from tvms.dsl.server.document import Document
from tvms.dsl.server.lines import Lines
from tvms.dsl.server.reports import from_findings

URI = "file:///folder/module.tvms"
SECONDS = 120.0
"""Time after which an answer is missing; no test depends on a shorter one."""


class Client(BaseLanguageClient):
    """A client that remembers the diagnostics of each version."""

    def __init__(self) -> None:
        super().__init__("test", "1")
        self.published: dict[str, lsp.PublishDiagnosticsParams] = {}
        self.offered = lsp.ServerCapabilities()
        self.refreshed = 0

        @self.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def on_diagnostics(params: lsp.PublishDiagnosticsParams) -> None:
            self.published[params.uri] = params

        @self.feature(lsp.WORKSPACE_INLAY_HINT_REFRESH)
        def on_refresh(params: None) -> None:
            self.refreshed += 1

    def open(self, text: str, uri: str = URI) -> None:
        self.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "tvms", 1, text)))

    def change(self, version: int, text: str, range: lsp.Range | None = None, uri: str = URI) -> None:
        change = (
            lsp.TextDocumentContentChangeWholeDocument(text)
            if range is None
            else lsp.TextDocumentContentChangePartial(range, text)
        )
        identifier = lsp.VersionedTextDocumentIdentifier(version, uri)
        self.text_document_did_change(lsp.DidChangeTextDocumentParams(identifier, [change]))

    async def diagnostics(self, uri: str = URI) -> list[lsp.Diagnostic]:
        """Return what is found in the current version."""
        report = await self.text_document_diagnostic_async(
            lsp.DocumentDiagnosticParams(lsp.TextDocumentIdentifier(uri))
        )
        return list(report.items)  # type: ignore[reportAttributeAccessIssue]


def session(
    run: Callable[[Client], Awaitable[None]],
    capabilities: lsp.ClientCapabilities | None = None,
    folders: Sequence[lsp.WorkspaceFolder] = (),
) -> None:
    """Run a session with a server of its own; the server has to end when it is told to."""

    async def whole() -> None:
        client = Client()
        await client.start_io(sys.executable, "-m", "tvms.dsl.cli", "lsp")
        parameters = lsp.InitializeParams(capabilities or lsp.ClientCapabilities(), workspace_folders=folders)
        client.offered = (await client.initialize_async(parameters)).capabilities
        client.initialized(lsp.InitializedParams())
        await run(client)
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()

    asyncio.run(asyncio.wait_for(whole(), SECONDS))


def expected(name: str, text: str) -> list[tuple[Any, ...]]:
    """Return what `tvms check` finds in a text, as the protocol shows it."""
    document = Document(URI, name, text, 1, check_schedules)
    document.division = document.division._replace(chunks=())  # positions are those of the whole text
    return keys(from_findings(document, found_in(name, text)))


def keys(found: list[lsp.Diagnostic]) -> list[tuple[Any, ...]]:
    return sorted(
        (one.range.start.line, one.range.start.character, one.range.end, one.code, one.message) for one in found
    )


def test_hints_and_hover_are_about_the_text_that_was_just_sent() -> None:
    text = 'R.function main(x: R.Tensor((8,), "float32")):\n    y = R.add(x, x)\n    return y\n'

    async def run(client: Client) -> None:
        document, whole = lsp.TextDocumentIdentifier(URI), Lines(text).range(0, len(text))
        client.open(text)
        for version, extent in enumerate(("8", "16", "32"), 1):
            if version > 1:
                client.change(version, text.replace("8", extent))
            hints, hover = await asyncio.gather(
                client.text_document_inlay_hint_async(lsp.InlayHintParams(document, whole)),
                client.text_document_hover_async(lsp.HoverParams(document, lsp.Position(2, 11))),
            )
            assert [hint.label for hint in hints or []] == [f': R.Tensor(({extent},), "float32")']
            assert hover is not None
            assert f"(({extent},)" in str(hover.contents)

    session(run)


def test_code_actions_can_be_asked_for_by_kind() -> None:
    async def run(client: Client) -> None:
        client.open(MODULE)
        start = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
        for kind, titles in ((lsp.CodeActionKind.SourceFixAll, ["Fix all"]), (lsp.CodeActionKind.QuickFix, [])):
            context = lsp.CodeActionContext([], only=[kind])
            found = await client.text_document_code_action_async(
                lsp.CodeActionParams(lsp.TextDocumentIdentifier(URI), start, context)
            )
            assert [action.title for action in found or ()] == titles

    session(run)


def test_errors_name_their_reason() -> None:
    async def run(client: Client) -> None:
        with pytest.raises(Exception, match=r"'file:///nowhere\.tvms' is not open"):
            await client.text_document_hover_async(
                lsp.HoverParams(lsp.TextDocumentIdentifier("file:///nowhere.tvms"), lsp.Position(0, 0))
            )
        client.open(MODULE)
        place = Lines(MODULE).position(MODULE.index("T.axis"))
        with pytest.raises(Exception, match="only names that the text defines can be renamed"):
            await client.text_document_prepare_rename_async(
                lsp.PrepareRenameParams(lsp.TextDocumentIdentifier(URI), place)
            )

    session(run)


def test_a_command_runs_in_a_process_of_its_own() -> None:
    async def run(client: Client) -> None:
        client.open(MODULE)
        parameters = lsp.ExecuteCommandParams("tvms.schedule", arguments=[URI, "tiled"])
        result: Any = await client.workspace_execute_command_async(parameters)
        assert result["status"] == 0
        assert "T.vectorized(4)" in result["text"]
        parameters = lsp.ExecuteCommandParams("tvms.schedule", arguments=[URI])
        whole: Any = await client.workspace_execute_command_async(parameters)
        assert (whole["status"], whole["errors"]) == (0, "")

    session(run)


def test_a_measured_time_is_shown_until_the_schedule_changes() -> None:
    async def run(client: Client) -> None:
        client.open(MODULE)
        everything = lsp.InlayHintParams(lsp.TextDocumentIdentifier(URI), Lines(MODULE).range(0, len(MODULE)))

        async def times() -> list[str]:
            hints = await client.text_document_inlay_hint_async(everything) or ()
            return [str(hint.label) for hint in hints if str(hint.label).startswith("measured: ")]

        await client.diagnostics()
        assert await times() == []
        await client.workspace_execute_command_async(lsp.ExecuteCommandParams("tvms.bench", [URI, "add_one"]))
        (time,) = await times()
        assert time.endswith("s (llvm)")
        client.change(2, MODULE.replace("T.float32(1)", "T.float32(3)"))
        await client.diagnostics()
        assert await times() == []
        client.change(3, MODULE)
        await client.diagnostics()
        assert await times() == [time]
        assert client.refreshed == 1

    hints = lsp.InlayHintWorkspaceClientCapabilities(refresh_support=True)
    session(run, lsp.ClientCapabilities(workspace=lsp.WorkspaceClientCapabilities(inlay_hint=hints)))


def test_diagnostics_are_published_to_a_client_that_does_not_ask() -> None:
    async def run(client: Client) -> None:
        client.open(MODULE.replace("T.axis", "T.axes"))
        found = await client.diagnostics()
        assert (client.published[URI].version, list(client.published[URI].diagnostics)) == (1, found)

    session(run)


def test_a_client_that_asks_for_diagnostics_is_sent_none() -> None:
    capabilities = lsp.ClientCapabilities(
        text_document=lsp.TextDocumentClientCapabilities(diagnostic=lsp.DiagnosticClientCapabilities())
    )

    async def run(client: Client) -> None:
        client.open(MODULE.replace("T.axis", "T.axes"))
        assert await client.diagnostics() != []
        assert client.published == {}

    session(run, capabilities)


def test_a_live_schedule_shows_the_last_edit() -> None:
    last = MODULE.rindex("S.vectorize")
    place = Lines(MODULE).position(last)

    async def run(client: Client) -> None:
        parameters = {"textDocument": {"uri": URI}, "position": {"line": place.line, "character": 0}}
        client.open(MODULE)
        live = await client.protocol.send_request_async("tvms/scheduled", parameters)
        assert "T.vectorized(4)" in live.text
        client.change(2, "S.unroll", Lines(MODULE).range(last, last + len("S.vectorize")))
        live = await client.protocol.send_request_async("tvms/scheduled", parameters)
        assert "T.unroll(4)" in live.text

    session(run)


def test_a_program_is_checked_as_the_command_line_does() -> None:
    text = """\
from tvm.script import tir as T

def helper():
    return 1

@T.prim_func
def f(A: T.Buffer((8,), "float32")):
    for i in range(9):
        A[i] = 0.0
"""

    async def run(client: Client) -> None:
        client.open(text, "file:///folder/program.py")
        (found,) = await client.diagnostics("file:///folder/program.py")
        assert (found.code, found.range.start) == ("E0414", lsp.Position(8, 8))

    session(run)


def change_between(before: str, after: str) -> tuple[lsp.Range, str]:
    """Return the smallest change of the protocol that turns a text into another one."""

    def common(one: str, other: str) -> int:
        return next(
            (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
        )

    start = common(before, after)
    end = common(before[start:][::-1], after[start:][::-1])
    return Lines(before).range(start, len(before) - end), after[start : len(after) - end]


def test_random_sessions_end_with_what_a_check_finds() -> None:
    random, words = Random(20261126), words_of([MODULE])

    async def run(client: Client) -> None:
        client.open(MODULE)
        text, version = MODULE, 1
        for _ in range(SESSIONS):
            for _ in range(random.randrange(1, 8)):
                before, text = text, edited(text, MODULE, words, random)
                version += 1
                place, new = change_between(before, text)
                client.change(version, new, place)
            assert keys(await client.diagnostics()) == expected("/folder/module.tvms", text), text

    session(run)


def test_a_client_that_stops_reading_ends_the_server_quietly() -> None:
    command = [sys.executable, "-m", "tvms.dsl.cli", "lsp"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(message("initialize", {"capabilities": {}}))
        process.stdin.flush()
        process.stdout.read(20)
        process.stdout.close()
        with suppress(BrokenPipeError):
            while process.poll() is None:
                process.stdin.write(message("workspace/symbol", {"query": "x"}))
                process.stdin.flush()
        assert process.wait(60) == 0
        assert process.stderr.read() == b""


def message(method: str, params: dict[str, Any]) -> bytes:
    """Return a request as its bytes."""
    data = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(data), data)
