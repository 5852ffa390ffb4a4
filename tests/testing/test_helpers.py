"""The helpers of tests that `tvms.testing` has under TVM's names."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import tvms
from tvms import testing


def test_arrays_are_compared_with_their_shapes() -> None:
    testing.assert_allclose([1.0, 2.0], [1.0, 2.0 + 1e-8])
    for other in ([1.0, 2.1], [[1.0, 2.0]], 1.0):
        with pytest.raises(AssertionError):
            testing.assert_allclose([1.0, 2.0], other)
    testing.assert_allclose([1.0], [1.1], rtol=0, atol=0.2)


def test_tests_of_gpus_are_skipped_without_one() -> None:
    @testing.requires_gpu
    def kernel() -> None: ...

    marks: list[Any] = kernel.pytestmark  # type: ignore[attr-defined]
    (mark,) = marks
    assert mark.args == (not tvms.cuda().exist,)
    assert mark.kwargs == {"reason": "needs a GPU"}


def test_main_runs_the_tests_of_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "test_one.py"
    file.write_text("import tvms.testing\ndef test_one(): assert 1 == 2\ntvms.testing.main()\n", encoding="utf-8")
    given: list[str] = []

    def run(args: list[str]) -> int:
        given.extend(args)
        return 1

    monkeypatch.setattr(pytest, "main", run)
    monkeypatch.setattr(sys, "argv", [str(file), "-q"])
    with pytest.raises(SystemExit) as raised:
        exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), {})
    assert raised.value.code == 1
    assert given == [str(file), "-q"]
