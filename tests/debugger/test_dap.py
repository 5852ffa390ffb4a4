"""`tvms dap`: scripted sessions over standard streams."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from debugger.client import SECONDS, Client

PROGRAM = """\
#tvms 1
I.ir_module Module:
    T.prim_func(private=True) mm(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
        for i, j, k in T.grid(4, 4, 4):
            with T.block("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    R.function main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")) -> R.Tensor((4, 4), "float32"):
        cls = Module
        with R.dataflow():
            y = R.add(x, w)
            z = R.call_tir(cls.mm, (y, w), out_sinfo=R.Tensor((4, 4), "float32"))
            R.output(z)
        return z

    S.schedule tiled(mm):
        i, j, k = S.get_loops(S.get_block("matmul"))
        i0, i1 = S.split(i, factors=[2, 2])
"""
GATHER = """\
T.prim_func main(A: T.Buffer((3,), "int32"), B: T.Buffer((2,), "float32")):
    for i in range(2):
        B[i] = T.float32(1)
        B[i] = T.float32("nan")
        A[i] = A[A[i]]
"""


@pytest.fixture
def client() -> Iterator[Client]:
    with Client() as client:
        yield client


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "mm.tvms"
    path.write_text(PROGRAM)
    return path


def test_a_program_is_stepped_through(client: Client, program: Path) -> None:
    assert client.start(program, args={"x": 1, "w": 2}) == ("entry", 14)
    assert client.get("threads") == {"threads": [{"id": 1, "name": "main"}]}
    assert client.stop("next") == ("step", 15)
    assert client.stop("stepIn") == ("step", 4)
    assert client.stop("next") == ("step", 5)
    frames = client.get("stackTrace", threadId=1)
    assert [(frame["name"], frame["line"]) for frame in frames["stackFrames"]] == [
        ("block matmul (vi = 0, vj = 0, vk = 0)", 5), ("mm (i = 0, j = 0, k = 0)", 5), ("main", 15),
    ]  # fmt: skip
    assert frames["stackFrames"][0]["source"] == {"name": "mm.tvms", "path": str(program)}
    assert client.get("stackTrace", threadId=1, startFrame=1, levels=1)["stackFrames"] == frames["stackFrames"][1:2]
    assert client.values() == {
        "vi": "0", "vj": "0", "vk": "0", "i": "0", "j": "0", "k": "0",
        "A": "float32[4, 4]", "B": "float32[4, 4]", "C": "float32[4, 4]",
    }  # fmt: skip
    assert client.values(3) == {"x": "float32[4, 4]", "w": "float32[4, 4]", "y": "float32[4, 4]"}
    assert client.stop("tvms/stepOverLoop") == ("step", 9)
    assert client.stop("stepOut") == ("step", 17)
    assert client.get("evaluate", expression="z[0, 1]", frameId=1)["result"] == "24.0"
    client.get("continue", threadId=1)
    assert client.event("exited") == {"exitCode": 0}
    client.event("terminated")
    client.get("disconnect")
    assert client.process.wait(SECONDS) == 0


def test_breakpoints_stop_on_conditions(client: Client, program: Path) -> None:
    client.launch(program, stopOnEntry=False)
    wanted = [
        {"line": 9, "condition": "vi == 1 and vk == 3", "hitCondition": "2"},
        {"line": 7, "logMessage": "init of {vi}, {vj}, {nothing}"},
        {"line": 99},
        {"line": 9, "condition": "vi =="},
        {"line": 9, "hitCondition": "often"},
    ]
    answer = client.get("setBreakpoints", source={"path": str(program)}, breakpoints=wanted)["breakpoints"]
    assert answer == [
        {"id": 1, "verified": True, "line": 9},
        {"id": 2, "verified": True, "line": 8},
        {"verified": False, "message": "no statement starts in this line, or after it"},
        {"verified": False, "message": "expected an expression, found the end of the line"},
        {"verified": False, "message": "'often' is not a condition on the number of hits"},
    ]
    client.get("configurationDone")
    said = client.event("output")["output"]
    assert said == "init of 0, 0, <name 'nothing' is not defined>\n"
    stopped = client.event("stopped")
    assert (stopped["reason"], stopped["hitBreakpointIds"]) == ("breakpoint", [1])
    assert [client.values()[name] for name in ("vi", "vj", "vk")] == ["1", "1", "3"]
    assert client.stop("tvms/runUntil", condition="vi == 3 and vj == 2") == ("step", 5)
    client.get("setBreakpoints", source={"path": str(program)}, breakpoints=[])
    assert client.stop("tvms/runUntil", line=17) == ("step", 17)


def test_functions_blocks_and_writes_stop_the_run(client: Client, program: Path) -> None:
    client.launch(program, stopOnEntry=False)
    names: list[dict[str, Any]] = [{"name": "mm"}, {"name": "matmul", "condition": "vj == 3"}, {"name": "nothing"}]
    assert client.get("setFunctionBreakpoints", breakpoints=names)["breakpoints"] == [
        {"id": 1, "verified": True},
        {"id": 2, "verified": True},
        {"id": 3, "verified": False, "message": "there is no function or block 'nothing'"},
    ]
    client.get("configurationDone")
    assert client.stopped() == ("function breakpoint", 4)
    assert client.stop("continue") == ("function breakpoint", 5)
    assert client.values()["vj"] == "3"
    client.get("setFunctionBreakpoints", breakpoints=[])
    scopes = {scope["name"]: scope["variablesReference"] for scope in client.get("scopes", frameId=1)["scopes"]}
    info = client.get("dataBreakpointInfo", variablesReference=scopes["Buffers"], name="C")
    assert info["dataId"] == "C"
    assert client.get("dataBreakpointInfo", name="vi")["dataId"] is None
    client.get("setDataBreakpoints", breakpoints=[{"dataId": "C[2, 1]"}])
    client.get("continue", threadId=1)
    stopped = client.event("stopped")
    assert (stopped["reason"], stopped["description"]) == ("data breakpoint", "C[2, 1]: nan -> 0.0")


def test_a_run_goes_back(client: Client, program: Path) -> None:
    client.launch(program, entry="mm", args=["A=1", "B=2"])
    client.get("setBreakpoints", source={"path": str(program)}, breakpoints=[{"line": 9, "condition": "vk == 3"}])
    client.get("configurationDone")
    client.stopped()

    def sums() -> str:
        return client.get("evaluate", expression="C[0, :]", frameId=1)["result"]

    assert client.stop("continue") == ("breakpoint", 9)
    assert sums() == "[6.0, 0.0, 0.0, 0.0]"
    assert client.stop("continue") == ("breakpoint", 9)
    assert sums() == "[8.0, 6.0, 0.0, 0.0]"
    assert client.stop("stepBack") == ("step", 5)
    assert client.stop("stepBack") == ("step", 9)
    assert sums() == "[8.0, 4.0, 0.0, 0.0]"
    assert client.stop("reverseContinue") == ("breakpoint", 9)
    assert sums() == "[6.0, 0.0, 0.0, 0.0]"
    assert client.stop("reverseContinue")[0] == "entry"
    assert sums() == "[0.0, 0.0, 0.0, 0.0]"
    assert client.stop("continue") == ("breakpoint", 9)
    assert client.stop("continue") == ("breakpoint", 9)
    assert sums() == "[8.0, 6.0, 0.0, 0.0]"


def test_arrays_are_shown_in_pages(client: Client, program: Path) -> None:
    client.start(program, entry="mm", args={"A": 1, "B": 2})
    whole = client.get("evaluate", expression="A", frameId=1)
    assert (whole["result"], whole["type"], whole["indexedVariables"]) == ("float32[4, 4]", "float32[4, 4]", 4)
    rows = client.get("variables", variablesReference=whole["variablesReference"], filter="indexed", start=2, count=1)
    (row,) = rows["variables"]
    assert (row["name"], row["evaluateName"], row["value"]) == ("[2]", "A[2]", "[1.0, 1.0, 1.0, 1.0]")
    (element,) = client.get("variables", variablesReference=row["variablesReference"], start=3)["variables"]
    assert element == {
        "name": "[3]", "evaluateName": "A[2, 3]", "value": "1.0", "type": "float32", "variablesReference": 0,
    }  # fmt: skip
    buffer = client.get("tvms/buffer", expression="A[0:2, :]", frameId=1)
    assert {key: buffer[key] for key in ("title", "shape", "min", "max", "heatMap")} == {
        "title": "A[0:2, :]: float32[2, 4], 1 to 1", "shape": [2, 4], "min": 1.0, "max": 1.0, "heatMap": "    \n    ",
    }  # fmt: skip
    assert client.get("tvms/buffer", expression="A", format="html")["heatMap"].startswith("<table")
    assert client.refused("tvms/buffer", expression="A[0, 0]") == "'A[0, 0]' is not a buffer or a part of one"


def test_faults_and_nan_stop_the_run(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "gather.tvms"
    path.write_text(GATHER)
    client.launch(path, args={"A": 7}, stopOnEntry=False)
    client.get("setExceptionBreakpoints", filters=["fault", "nan"])
    client.get("configurationDone")
    stopped = client.event("stopped")
    assert (stopped["reason"], stopped["description"]) == ("exception", "line 4 writes NaN: B[0]: 1.0 -> nan")
    client.get("continue", threadId=1)
    stopped = client.event("stopped")
    message = "error[E0707]: A[7] is outside the buffer: its dimension 0 has 3 elements"
    assert (stopped["reason"], stopped["description"]) == ("exception", message)
    assert client.get("exceptionInfo", threadId=1)["exceptionId"] == "E0707"
    assert client.values()["i"] == "0"
    assert client.stop("stepBack") == ("step", 5)
    assert client.stop("stepBack") == ("step", 4)
    assert client.stop("next") == ("step", 5)
    assert client.stop("next")[0] == "exception"
    client.get("continue", threadId=1)
    assert client.event("exited") == {"exitCode": 1}


def test_names_are_completed(client: Client, program: Path) -> None:
    client.start(program, entry="mm")
    assert client.stop("next") == ("step", 5)
    targets = client.get("completions", text="A[vi, v", column=8, frameId=1)["targets"]
    assert [target["label"] for target in targets] == ["vi", "vj", "vk"]
    assert {(target["start"], target["length"]) for target in targets} == {(6, 1)}
    assert len(client.get("completions", text="", column=1)["targets"]) == 9


def test_races_stop_the_run_where_asked(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "race.tvms"
    path.write_text(
        'T.prim_func main(A: T.Buffer((4,), "float32"), B: T.Buffer((1,), "float32")):\n'
        '    for t in T.thread_binding(4, thread="threadIdx.x"):\n        B[0] = B[0] + A[t]\n'
    )
    client.launch(path, stopOnEntry=False)
    client.get("setExceptionBreakpoints", filters=["race"])
    client.get("configurationDone")
    stopped = client.event("stopped")
    assert stopped["reason"] == "exception"
    assert stopped["description"].startswith("error[E0723]: threads 0 and 1 of a block race on element 0 of 'B'")
    assert client.values()["t"] == "0"
    answer = client.get("setExceptionBreakpoints", filters=["race", "undeclared"])["breakpoints"]
    assert answer == [{"verified": True}, {"verified": False, "message": "choose it before the run starts"}]
    assert client.refused("setExceptionBreakpoints", filters=["x"]).startswith("there is no exception filter 'x'")


def test_a_running_program_is_paused_and_ended(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "endless.tvms"
    path.write_text('T.prim_func main(A: T.Buffer((1,), "int32")):\n    while A[0] < 1:\n        A[0] = A[0] * 0\n')
    client.launch(path, stopOnEntry=False)
    client.get("configurationDone")
    assert client.refused("stackTrace", threadId=1) == "the program is running"
    assert client.refused("next", threadId=1) == "the program is running"
    assert client.stop("pause")[0] == "pause"
    assert client.stop("next") == ("step", 3)
    client.get("continue", threadId=1)
    client.get("terminate")
    client.event("terminated")
    client.get("disconnect")
    assert client.process.wait(SECONDS) == 0


def test_a_schedule_is_debugged_in_its_own_text(client: Client, program: Path) -> None:
    client.launch(program, entry="mm", schedule="tiled")
    refused = client.get("setBreakpoints", source={"path": str(program)}, breakpoints=[{"line": 9}])["breakpoints"]
    assert refused == [
        {"verified": False, "message": f"the program is '{program} after tiled': set breakpoints in that text"}
    ]
    client.get("configurationDone")
    client.event("stopped")
    source = client.get("stackTrace", threadId=1)["stackFrames"][0]["source"]
    assert source == {"name": "mm.tvms after tiled", "sourceReference": 1}
    text = client.get("source", sourceReference=1, source=source)["content"]
    assert "for i_0, i_1, j, k in T.grid(2, 2, 4, 4):" in text
    line = next(number for number, line in enumerate(text.splitlines(), 1) if "C[vi, vj] + " in line)
    assert client.get("setBreakpoints", source=source, breakpoints=[{"line": line}])["breakpoints"][0]["verified"]
    assert client.stop("continue") == ("breakpoint", line)


def test_what_cannot_be_done_is_said(client: Client, program: Path) -> None:
    assert client.refused("threads") == "nothing is launched"
    assert client.refused("launch", program=3) == "the launch request has no program: give the path of a file"
    assert client.refused("launch", program="no.tvms") == "there is no file 'no.tvms'"
    assert client.refused("launch", program=str(program), entry="f") == "there is no function 'f'"
    assert client.refused("launch", program=str(program), args={"q": 1}) == "--arg q: there is no such parameter"
    assert (
        client.refused("launch", program=str(program), args="x")
        == "'args' is neither an object nor a list of NAME=VALUE"
    )
    assert client.refused("launch", program=str(program), schedule="x") == f"'{program}' has no schedule 'x'"
    assert client.refused("attach") == "a running program cannot be debugged: use a launch request"
    assert client.refused("fly") == "there is no request 'fly'"
    client.start(program)
    assert client.refused("launch", program=str(program)) == "a program is launched already"
    assert client.refused("configurationDone") == "the run has started already"
    assert client.refused("evaluate", expression="q + 1") == "name 'q' is not defined"
    assert (
        client.refused("evaluate", expression="x[9, 0]")
        == "x[9, 0] is outside the buffer: its dimension 0 has 4 elements"
    )
    assert (
        client.refused("evaluate", expression='T.call_extern("int32", "f")')
        == "calling 'call_extern' could change the run"
    )
    assert client.refused("evaluate") == "the arguments of 'evaluate' do not fit: KeyError: 'expression'"
    assert client.refused("scopes", frameId=9) == "there is no stack frame 9"
    assert client.refused("variables", variablesReference=99) == "there are no variables 99: the program has run on"
    other = client.get("setBreakpoints", source={"path": "/other.tvms"}, breakpoints=[{"line": 1}])["breakpoints"]
    assert other == [{"verified": False, "message": "this file is not a part of the program"}]


def test_a_program_with_errors_is_not_launched(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "wrong.tvms"
    path.write_text('T.prim_func main(A: T.Buffer((1,), "int32")):\n    A[0] = q\n')
    answer = client.ask("launch", program=str(path))
    assert answer["message"] == "name 'q' is not defined"
    assert answer["body"]["error"]["format"].startswith("error[E0101]: name 'q' is not defined\n  --> ")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"hello\r\n\r\n", "expected a header 'Content-Length: N', got 'hello'"),
        (b"Content-Length: 3\r\n\r\n{{{", "a message is not JSON: "),
        (b"Content-Length: 2\r\n\r\n[]", "a message is not an object"),
        (b"Content-Length: 99999999999\r\n\r\n", "a message has 99999999999 bytes, more than 67108864"),
    ],
)
def test_what_is_no_message_ends_the_adapter(client: Client, data: bytes, message: str) -> None:
    client.send(data)
    _, errors = client.process.communicate(timeout=SECONDS)
    assert errors.decode().startswith(f"error[E0826]: {message}")
    assert client.process.returncode == 2


def test_the_end_of_the_connection_ends_the_adapter(client: Client, program: Path) -> None:
    client.start(program)
    _, errors = client.process.communicate(timeout=SECONDS)
    assert (client.process.returncode, errors) == (0, b"")


def test_a_port_serves_one_client() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tvms.dsl.cli", "dap", "--tcp", str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == f"tvms dap listens on 127.0.0.1:{port}\n"
        with socket.create_connection(("127.0.0.1", port), SECONDS) as connection:
            data = json.dumps({"seq": 1, "type": "request", "command": "initialize"}).encode()
            connection.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))
            assert connection.recv(15) == b"Content-Length:"
        assert process.wait(SECONDS) == 0


def test_restart_begins_again_with_the_breakpoints_and_the_text_of_the_file(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "gather.tvms"
    path.write_text(GATHER)
    client.launch(path, stopOnEntry=False)
    assert client.refused("restart") == "the run has not started"
    points = [{"line": 3, "hitCondition": "2"}]
    client.get("setBreakpoints", source={"path": str(path)}, breakpoints=points)
    client.get("configurationDone")
    assert client.stopped() == ("breakpoint", 3)
    assert client.values()["i"] == "1"
    assert client.stop("restart") == ("breakpoint", 3)
    assert client.values()["i"] == "1"  # hits are counted from zero
    path.write_text(GATHER.replace("range(2)", "range(1)"))
    client.get("restart")
    assert client.event("exited") == {"exitCode": 0}
