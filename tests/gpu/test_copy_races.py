"""Accesses of elements to which an asynchronous copy is pending are races."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from tvms.codegen.gpu.races import find_races
from tvms.ir.programs import as_module

COPY = 'T.ptx_cp_async("float32", S.data, {0} % 2 * 64 + tx, A.data, {0} * 64 + tx, 4)'
COMMIT, WAIT, BARRIER = "T.ptx_commit_group()", "T.ptx_wait_group({})", 'T.tvm_storage_sync("shared")'
SET = ["S[0, tx] = T.float32(-1)", BARRIER]
READ, READ_OWN = "B[tx] = S[0, 63 - tx]", "B[tx] = S[0, tx]"


def pipeline(first: str, commit: str, wait: str, end: str) -> list[str]:
    """Return a loop over stages that copies the next one while it reads this one."""
    loop = [
        "if k < 3:",
        "    " + COPY.format("(k + 1)"),
        commit,
        wait,
        BARRIER,
        "B[tx] = B[tx] + S[k % 2, 63 - tx]",
        end,
    ]
    return [COPY.format(0), first, "for k in range(4):", *("    " + line for line in loop if line)]


CORRECT = {
    "a wait and a barrier": [*SET, COPY.format(0), COMMIT, WAIT.format(0), BARRIER, READ],
    "its own copy": [*SET, COPY.format(0), COMMIT, WAIT.format(0), READ_OWN],
    "a pipeline": pipeline(COMMIT, COMMIT, WAIT.format(1), BARRIER),
    "a pipeline that waits for all": pipeline(COMMIT, COMMIT, WAIT.format(0), BARRIER),
}
RACES = {
    "no wait": ([*SET, COPY.format(0), COMMIT, BARRIER, READ], 63),
    "no group": ([*SET, COPY.format(0), WAIT.format(0), BARRIER, READ], 63),
    "a wait for an older group": ([*SET, COPY.format(0), COMMIT, WAIT.format(1), BARRIER, READ], 63),
    "its own copy without a wait": ([*SET, COPY.format(0), COMMIT, READ_OWN], 0),
    "its own element is written": ([*SET, COPY.format(0), COMMIT, "S[0, tx] = T.float32(2)", WAIT.format(0)], 0),
    "a pipeline that does not wait": (pipeline(COMMIT, COMMIT, "T.evaluate(0)", BARRIER), 63),
    "a pipeline that waits for too few": (pipeline(COMMIT, COMMIT, WAIT.format(2), BARRIER), 63),
    "a pipeline without a first group": (pipeline("T.evaluate(0)", COMMIT, WAIT.format(1), BARRIER), 63),
    "a pipeline without groups": (pipeline(COMMIT, "T.evaluate(0)", WAIT.format(1), BARRIER), 63),
}


def races(lines: list[str]) -> tuple[tvms.Diagnostic, ...]:
    head = [
        'T.prim_func main(A: T.Buffer((256,), "float32"), B: T.Buffer((64,), "float32")):',
        '    tx = T.launch_thread("threadIdx.x", 64)',
        '    S = T.alloc_buffer((2, 64), "float32", scope="shared")',
    ]
    module = as_module(tvms.parse("\n".join([*head, *("    " + line for line in lines)]) + "\n"))
    return find_races(module, "main", [np.arange(256, dtype=np.float32), np.zeros(64, np.float32)])


@pytest.mark.parametrize("name", CORRECT)
def test_copies_that_are_waited_for(name: str) -> None:
    assert races(CORRECT[name]) == ()


@pytest.mark.parametrize("name", RACES)
def test_pending_copies(name: str) -> None:
    lines, thread = RACES[name]
    found, *_ = races(lines)
    own = "it started itself" if thread == 0 else f"thread {thread} started"
    does = "writes" if "written" in name else "reads"
    assert found.code == "E0723"
    assert found.message == (
        f"thread 0 {does} element {thread} of 'S' before the asynchronous copy to it, which {own}, is complete"
    )
    behind = "" if thread == 0 else ', and T.tvm_storage_sync("shared") after them'
    assert found.help == f"call T.ptx_commit_group and T.ptx_wait_group between{behind}"


def test_a_pipeline_whose_stage_is_still_read() -> None:
    found, *_ = races(pipeline(COMMIT, COMMIT, WAIT.format(1), ""))
    assert "without a barrier between" in found.message or "is complete" in found.message
