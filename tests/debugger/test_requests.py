"""Requests of the debug adapter with any arguments, in any order: each is answered, and nothing else happens."""

from __future__ import annotations

import io
import json
import os
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tvms.dsl.cli.dap_command import launch
from tvms.dsl.dap.adapter import REQUESTS, Adapter
from tvms.dsl.dap.messages import Channel

SESSIONS = 40 * int(os.environ.get("TVMS_FUZZ", "1"))
PROGRAM = """\
T.prim_func main(A: T.Buffer((3, 2), "float32"), B: T.Buffer((3,), "int32")):
    for i, j in T.grid(3, 2):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = A[vi, vj] + T.Cast("float32", B[vi])
    A[B[0] * 9, 0] = T.float32(1)
"""
FITTING: dict[str, Any] = {
    "breakpoints": [{"line": 5, "name": "b", "dataId": "A[0, 1]", "condition": "1 == 1"}],
    "filters": ["fault", "nan"], "frameId": 1, "variablesReference": 1, "start": 1, "count": 2, "filter": "indexed",
    "expression": "A", "format": "html", "line": 5, "endLine": 9, "condition": "i == 2", "name": "A", "threadId": 1,
    "startFrame": 0, "text": "v", "column": 2, "levels": 5, "sourceReference": 1, "stopOnEntry": True,
}  # fmt: skip
"""Arguments of requests, each with a value that fits."""


def value(random: Random, path: str, depth: int = 0) -> Any:
    """Return a random value, often one that a request can use."""
    simple = [
        None, True, 0, 1, 2, 7, -1, 10**30, 1.5, "", "i == 1", "A", "A[0, :]", "A[0, 0] + 1", "A[9, 9]", "B[", "vi", "text",
        "html", "nan", "race", ">= 2", "%0", "{vi} {", "main", "b", "A[1, 0]", "é\ud800", "x" * 20_000,
    ]  # fmt: skip
    if depth > 2 or random.random() < 0.5:
        return random.choice(simple)
    if random.random() < 0.3:
        return [value(random, path, depth + 1) for _ in range(random.randint(0, 3))]
    if random.random() < 0.3:
        return {"path": path}
    inner = ("line", "condition", "hitCondition", "logMessage", "dataId", "name", "path")
    return {key: value(random, path, depth + 1) for key in random.sample(inner, 4)}


def messages(data: bytes) -> list[dict[str, Any]]:
    """Return the messages in what the adapter wrote."""
    found: list[dict[str, Any]] = []
    while data:
        head, _, rest = data.partition(b"\r\n\r\n")
        size = int(head.removeprefix(b"Content-Length: "))
        found.append(json.loads(rest[:size]))
        data = rest[size:]
    return found


@pytest.mark.parametrize("seed", range(SESSIONS))
def test_each_request_is_answered(seed: int, tmp_path: Path) -> None:
    random, path = Random(seed), tmp_path / "a.tvms"
    path.write_text(PROGRAM)
    written = io.BytesIO()
    adapter = Adapter(Channel(io.BytesIO(), written), launch)
    script = [("initialize", {}), ("launch", {"program": str(path), "args": {"B": 1}}), ("configurationDone", {})]
    script += [
        (command, FITTING) for command in ("next", "scopes", "variables", "evaluate", "variables", "tvms/buffer")
    ]
    commands = [name for name in REQUESTS if name != "launch"]
    asked = 0
    for number in range(60):
        if script and random.random() < 0.5:
            command, arguments = script.pop(0)
        else:
            command = random.choice(commands)
            fitting = {**FITTING, "source": {"path": str(path)}}
            chosen = random.sample([*fitting], random.choice((8, len(fitting))))
            share = random.choice((0.3, 1.0))
            arguments = {key: fitting[key] if random.random() < share else value(random, str(path)) for key in chosen}
        adapter.answer({"seq": number, "type": "request", "command": command, "arguments": arguments})
        asked += 1
        time.sleep(0.001)  # the run may stop
    if adapter.is_started:
        adapter.session.end()
    answers = [message for message in messages(written.getvalue()) if message["type"] == "response"]
    assert [answer["request_seq"] for answer in answers] == list(range(asked))
    assert all(answer["success"] or answer["message"] for answer in answers)
