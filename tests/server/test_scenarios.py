"""Every request that the server offers, over its standard input and output: a table of requests and what they answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from lsprotocol import converters
from lsprotocol import types as lsp
from safetensors.numpy import save_file
from server.test_session import Client, session
from tvms.dsl.server.lines import Lines

MODULE = """\
#tvms 1
I.ir_module Module:
    # Ünits 😀 beside the first axis.
    T.prim_func double(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("double"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] * T.float32(2)  # 😀 twice

    R.function main(x: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        cls = Module
        w = I.constant("w")
        y = R.call_tir(cls.double, (x,), out_sinfo=R.Tensor((8,), "float32"))
        return R.add(y, w)

    S.schedule tiled(double):
        block = S.get_block("double")
        (i,) = S.get_loops(block)
        i0, i1 = S.split(i, factors=[None, 4])
        S.vectorize(i1)
"""
PROGRAM = """\
from tvm.script import tir as T

name = "😀"; print("never run"); raise SystemExit

@T.prim_func
def f(A: T.Buffer((8,), "float32")):
    for i in range(8):
        A[i] = A[i] + T.float32(1)
"""
CROOKED = """\
T.prim_func f(A: T.Buffer((8,), "float32")):
    for i in range( 8 ):

        A[i]=T.float32(0)
"""
CONVERTER = converters.get_converter()
CLIENT = lsp.ClientCapabilities(
    text_document=lsp.TextDocumentClientCapabilities(
        rename=lsp.RenameClientCapabilities(prepare_support=True), diagnostic=lsp.DiagnosticClientCapabilities()
    )
)
COMMANDS = (
    ("tvms.run", "module.tvms", "main", "y"),
    ("tvms.run", "program.py", "f", "A"),
    ("tvms.verify", "module.tvms", "double", "agree"),
    ("tvms.bench", "module.tvms", "double", "median"),
    ("tvms.schedule", "module.tvms", "tiled", "T.vectorized(4)"),
    ("tvms.view", "module.tvms", "main", "<svg"),
    ("tvms.showllvm", "module.tvms", "double", "define "),
    ("tvms.showasm", "module.tvms", "double", "double"),
    ("tvms.showtir", "program.py", "f", "T.prim_func"),
    ("tvms.showptx", "module.tvms", "double", ".visible .entry"),
)
"""Command, file, name of a definition in it, and a part of the answer."""
CAPABILITIES: dict[str, Sequence[str]] = {
    "textDocumentSync": ("textDocument/didOpen", "textDocument/didChange", "textDocument/didClose"),
    "completionProvider": ("textDocument/completion",),
    "hoverProvider": ("textDocument/hover",),
    "signatureHelpProvider": ("textDocument/signatureHelp",),
    "definitionProvider": ("textDocument/definition",),
    "referencesProvider": ("textDocument/references",),
    "documentHighlightProvider": ("textDocument/documentHighlight",),
    "documentSymbolProvider": ("textDocument/documentSymbol",),
    "codeActionProvider": ("textDocument/codeAction",),
    "codeActionProvider.resolveProvider": ("codeAction/resolve",),
    "codeLensProvider": ("textDocument/codeLens",),
    "documentLinkProvider": ("textDocument/documentLink",),
    "workspaceSymbolProvider": ("workspace/symbol",),
    "documentFormattingProvider": ("textDocument/formatting",),
    "documentRangeFormattingProvider": ("textDocument/rangeFormatting",),
    "documentOnTypeFormattingProvider": ("textDocument/onTypeFormatting",),
    "renameProvider": ("textDocument/rename",),
    "renameProvider.prepareProvider": ("textDocument/prepareRename",),
    "foldingRangeProvider": ("textDocument/foldingRange",),
    "selectionRangeProvider": ("textDocument/selectionRange",),
    "callHierarchyProvider": (
        "textDocument/prepareCallHierarchy", "callHierarchy/incomingCalls", "callHierarchy/outgoingCalls",
    ),
    "semanticTokensProvider.full": ("textDocument/semanticTokens/full",),
    "semanticTokensProvider.full.delta": ("textDocument/semanticTokens/full/delta",),
    "semanticTokensProvider.range": ("textDocument/semanticTokens/range",),
    "inlayHintProvider": ("textDocument/inlayHint",),
    "diagnosticProvider": ("textDocument/diagnostic",),
}  # fmt: skip
"""The messages that belong to what a server may offer."""
DETAILS = {
    "executeCommandProvider", "semanticTokensProvider.legend", "workspace", "textDocumentSync.openClose",
    "diagnosticProvider.interFileDependencies", "diagnosticProvider.workspaceDiagnostics",
}  # fmt: skip
"""What a server says of itself beside what it offers."""
PARTS = {"semanticTokensProvider"}
"""What is offered by its parts."""


class Scenario(NamedTuple):
    """A request about the place `¦` in `mark`, and what is found in its answer."""

    method: str
    mark: str
    expected: Any
    found: Callable[[Any], Any] = lambda answer: answer
    more: dict[str, Any] = {}
    file: str = "module.tvms"


def texts(answer: Any) -> list[str]:
    """Return the places of an answer as line and column from 1."""
    places = [getattr(one, "range", None) or one.location.range for one in answer]
    return [
        f"{place.start.line + 1}:{place.start.character + 1}-{place.end.line + 1}:{place.end.character + 1}"
        for place in places
    ]


def labels(answer: Any) -> set[str]:
    """Return the words that a completion offers."""
    return {item.label for item in answer}


def names(answer: Any) -> list[Any]:
    """Return the names of symbols with those in them."""
    return [(one.name, *names(getattr(one, "children", None) or ())) for one in answer]


WHOLE = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}}
OPTIONS = {"options": {"tabSize": 4, "insertSpaces": True}}
ITEM = lsp.SymbolKind.Function
SCENARIOS = (
    Scenario("textDocument/hover", "A[¦vi] *", "spatial axis vi: 0 … 7", lambda a: a.contents.value.split("\n")[1]),
    Scenario(
        "textDocument/hover", "S.¦split", "S.split(loop, factors", lambda a: a.contents.value.split("\n")[1][:21]
    ),
    Scenario("textDocument/hover", "for ¦i in range", "loop i", lambda a: a.contents.value.split("\n")[1], file="program.py"),
    Scenario(
        "textDocument/signatureHelp", "factors=¦[", ("factors", 1),
        lambda a: (a.signatures[0].label[14:21], a.active_parameter),
    ),
    Scenario("textDocument/completion", "S.¦split", {"split", "reorder"}, lambda a: labels(a) & {"split", "reorder", "grid"}),
    Scenario("textDocument/completion", 'get_block("¦', {"double"}, labels),
    Scenario("textDocument/definition", "cls.¦double", ["4:17-4:23"], texts),
    Scenario("textDocument/definition", "A[¦i] + ", ["7:9-7:10"], texts, file="program.py"),
    Scenario(
        "textDocument/references", "= A[¦vi", ["7:17-7:19", "8:19-8:21", "8:27-8:29"], texts,
        {"context": {"includeDeclaration": True}},
    ),
    Scenario("textDocument/documentHighlight", "A[¦vi", ["7:17-7:19", "8:19-8:21", "8:27-8:29"], texts),
    Scenario("textDocument/prepareRename", "cls.¦double", "double", lambda a: a.placeholder),
    Scenario(
        "textDocument/rename", "cls.¦double", ["4:17-4:23", "13:28-13:34", "16:22-16:28"],
        lambda a: texts(*a.changes.values()), {"newName": "twice"},
    ),
    Scenario(
        "textDocument/documentSymbol", "", [("Module", ("double", ("double",)), ("main",), ("tiled",))], names,
    ),
    Scenario("workspace/symbol", "", [("tiled",), ("tiled_elsewhere",)], names, {"query": "TILED"}),
    Scenario("textDocument/foldingRange", "", [(3, 7), (4, 7)], lambda a: [(one.start_line, one.end_line) for one in a[:2]]),
    Scenario("textDocument/selectionRange", "A[¦vi]", ["8:27-8:29"], texts),
    Scenario("textDocument/documentLink", "", ["12:13-12:27"], texts),
    Scenario(
        "textDocument/codeLens", "", ["tvms.run", "tvms.verify", "tvms.showllvm", "tvms.showptx", "tvms.bench"],
        lambda a: [lens.command.command for lens in a[:5]],
    ),
    Scenario(
        "textDocument/inlayHint", "", ["reads A[vi], writes B[vi]", "double: vectors of 4 float32: 128 bits"],
        lambda a: [a[0].label, a[-1].label], WHOLE,
    ),
    Scenario("textDocument/formatting", "", [], list, OPTIONS),
    Scenario("textDocument/formatting", "",  "    for i in range(8):\n        A[i] = T.float32(0)\n",
        lambda a: a[0].new_text, OPTIONS, "crooked.tvms",
    ),
    Scenario("textDocument/rangeFormatting", "", [], list, OPTIONS | WHOLE),
    Scenario("textDocument/onTypeFormatting", "range(8):\n¦", [], list, OPTIONS | {"ch": "\n"}),
    Scenario("textDocument/codeAction", "with ¦T.block", "Declare the regions: T.reads, T.writes",
             lambda a: next(one.title for one in a if one.edit), {"context": {"diagnostics": []}}),
    Scenario("textDocument/prepareCallHierarchy", "cls.¦double", [("double",)], names),
    Scenario("textDocument/semanticTokens/range", "", 4, lambda a: a.data[0], {
        "range": {"start": {"line": 4, "character": 0}, "end": {"line": 5, "character": 0}}}),
    Scenario("textDocument/diagnostic", "", [], lambda a: list(a.items)),
    Scenario("textDocument/diagnostic", "", [], lambda a: list(a.items), file="program.py"),
)  # fmt: skip


class Conversation:
    """A session that remembers which messages it sent."""

    def __init__(self, client: Client, folder: Path) -> None:
        self.client, self.folder = client, folder
        self.sent: set[str] = set()
        self.texts: dict[str, str] = {}
        for name, text in (("module.tvms", MODULE), ("program.py", PROGRAM), ("crooked.tvms", CROOKED)):
            self.texts[name] = text
            client.open(text, self.uri(name))
        self.sent.add(lsp.TEXT_DOCUMENT_DID_OPEN)

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    async def ask(self, method: str, parameters: dict[str, Any]) -> Any:
        """Send a request with parameters as the protocol writes them; the answer has its declared type."""
        self.sent.add(method)
        _, _, kind, _ = lsp.METHOD_TO_TYPES.get(method, (None, None, None, None))
        return await self.client.protocol.send_request_async(
            method, CONVERTER.structure(parameters, kind) if kind is not None else parameters
        )

    async def about(self, scenario: Scenario) -> Any:
        """Return what is found in the answer to the request of a scenario."""
        place = CONVERTER.unstructure(self.place(scenario.file, scenario.mark))
        parameters = {
            "textDocument": {"uri": self.uri(scenario.file)}, "position": place, "positions": [place],
            "range": {"start": place, "end": place},
        }  # fmt: skip
        return scenario.found(await self.ask(scenario.method, parameters | scenario.more))

    def place(self, file: str, mark: str) -> lsp.Position:
        text = self.texts[file]
        return Lines(text).position(text.index(mark.replace("¦", "")) + max(mark.find("¦"), 0))

    def command(self, name: str, file: str, definition: str) -> Any:
        self.sent.add(name)
        parameters = lsp.ExecuteCommandParams(name, [self.uri(file), definition])
        return self.client.workspace_execute_command_async(parameters)


def converse(folder: Path, run: Callable[[Conversation], Awaitable[None]]) -> Conversation:
    """Run a session in a folder with the files of the scenarios, and one that is not opened."""
    save_file({"w": np.ones(8, "float32")}, folder / "module.safetensors")
    (folder / "elsewhere.tvms").write_text(MODULE.replace("tiled", "tiled_elsewhere"), encoding="utf-8")
    kept: list[Conversation] = []

    async def whole(client: Client) -> None:
        kept.append(Conversation(client, folder))
        await run(kept[0])

    session(whole, CLIENT, [lsp.WorkspaceFolder(folder.as_uri(), "folder")])
    return kept[0]


async def chains(talk: Conversation) -> None:
    """Requests that use answers of other requests: calls, changes of tokens, and actions whose edit is computed later."""
    document = {"textDocument": {"uri": talk.uri("module.tvms")}}
    place = CONVERTER.unstructure(talk.place("module.tvms", "double(A"))
    (item,) = await talk.ask("textDocument/prepareCallHierarchy", document | {"position": place})
    assert (item.name, texts([item])) == ("double", ["3:1-10:1"])
    named = {"item": CONVERTER.unstructure(item)}
    incoming = await talk.ask("callHierarchy/incomingCalls", named)
    assert [one.from_.name for one in incoming] == ["main", "tiled"]
    assert not await talk.ask("callHierarchy/outgoingCalls", named)
    tokens = await talk.ask("textDocument/semanticTokens/full", document)
    assert len(tokens.data) > 5 * 50
    delta = {"previousResultId": tokens.result_id}
    assert (await talk.ask("textDocument/semanticTokens/full/delta", document | delta)).edits == ()
    context = {"range": {"start": place, "end": place}, "context": {"diagnostics": [], "only": ["source"]}}
    actions = {action.title: action for action in await talk.ask("textDocument/codeAction", document | context)}
    action = actions["Convert to TVM 0.27"]
    assert action.edit is None
    resolved = await talk.ask("codeAction/resolve", CONVERTER.unstructure(action))
    ((edit,),) = resolved.edit.changes.values()
    assert "@T.prim_func" in edit.new_text
    live = await talk.ask(
        "tvms/scheduled", document | {"position": CONVERTER.unstructure(talk.place("module.tvms", "S.vec"))}
    )
    assert (live.name, live.steps, "T.vectorized(4)" in live.text) == ("tiled", 4, True)


async def changes(talk: Conversation) -> None:
    """Edits and what is found after them, until the file is closed."""
    uri = talk.uri("program.py")
    place = talk.place("program.py", "8):\n")
    talk.client.change(2, "9", lsp.Range(place, lsp.Position(place.line, place.character + 1)), uri)
    talk.sent.add(lsp.TEXT_DOCUMENT_DID_CHANGE)
    found = (await talk.ask("textDocument/diagnostic", {"textDocument": {"uri": uri}})).items[0]
    assert (found.code, found.range.start, found.source) == ("E0414", lsp.Position(7, 8), "tvms")
    assert found.message.splitlines()[-1].startswith("help: ")
    talk.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
    talk.sent.add(lsp.TEXT_DOCUMENT_DID_CLOSE)
    with pytest.raises(Exception, match="is not open"):
        await talk.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": CONVERTER.unstructure(place)})


async def commands(talk: Conversation) -> None:
    """What the lenses execute, each in a process of its own."""
    for name, file, definition, part in COMMANDS:
        output = await talk.command(name, file, definition)
        assert output["status"] == 0, output
        assert part in output["text"], output


def test_each_offered_request_has_a_scenario(tmp_path: Path) -> None:
    async def run(talk: Conversation) -> None:
        wrong = [
            (scenario.method, scenario.mark, found)
            for scenario in SCENARIOS
            if (found := await talk.about(scenario)) != scenario.expected
        ]
        assert not wrong, "\n".join(map(str, wrong))
        await chains(talk)
        await commands(talk)
        await changes(talk)

    talk = converse(tmp_path, run)
    offered = CONVERTER.unstructure(talk.client.offered)
    messages = {message for name in offers(offered) for message in CAPABILITIES[name]}
    assert talk.sent == messages | {*offered["executeCommandProvider"]["commands"], "tvms/scheduled"}


def offers(value: dict[str, Any], path: str = "") -> Iterator[str]:
    """Yield the full names of what a server offers; a new one is missing in `CAPABILITIES`."""
    for key, part in value.items():
        name = f"{path}{key}"
        if name in DETAILS:
            continue
        if part is True or (isinstance(part, dict) and name not in PARTS):
            yield name
        if isinstance(part, dict):
            yield from offers(part, f"{name}.")
