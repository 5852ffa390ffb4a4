"""Written programs and schedules, and random changes of them."""

from __future__ import annotations

import pytest
import tvms
from tvms.dsl.testing.known_programs import is_accepted, known_kernels, known_programs
from tvms.dsl.testing.written_schedules import Written, has_same_signature, varied_schedule, written_schedules
from tvms.ir.schedule import Schedule, ScheduleError
from tvms.testing.campaign import BACKEND
from tvms.testing.choices import drawn


def test_written_schedules_are_applied_or_refused() -> None:
    outcomes = [_is_applied(written) for written in written_schedules()]
    assert sum(outcomes) > 100
    assert sum(not outcome for outcome in outcomes) > 200


def _is_applied(written: Written) -> bool:
    try:
        Schedule(written.module, seed=0, error_render_level="fast").replay(written.schedule)
    except ScheduleError:
        return False
    return True


def test_written_programs_are_accepted() -> None:
    assert len(known_programs()) > 185
    assert len(known_kernels()) == 12
    assert all(is_accepted(written.module) for written in written_schedules())


@pytest.mark.parametrize(
    "parameter",
    [
        "(T.Let(t, where={t: 4}),)", "(2147483647,)", "(n * 2000,)", "(n - 3,)", "(4, 8), strides=(2, 1)",
        "(4,), strides=(1000000,)", "(4,), strides=(0,)",
    ],
)  # fmt: skip
def test_programs_with_unusual_parameters_are_not_drawn(parameter: str) -> None:
    text = "T.prim_func main(A_handle: T.handle, B: T.Buffer((1,), 'float32')):\n    n = T.int32()\n    t = T.int32()\n"
    assert not is_accepted(
        tvms.parse(f"{text}    A = T.match_buffer(A_handle, {parameter})\n    B[0] = T.float32(1)\n")
    )


def test_numbers_of_schedules_change() -> None:
    from hypothesis import given, settings

    texts: set[str] = set()

    @settings(max_examples=300, database=None, deadline=None, backend=BACKEND)
    @given(drawn(varied_schedule))
    def collect(written: Written) -> None:
        texts.add(str(written.schedule))
        assert has_same_signature(written.module, written.module)

    collect()
    assert len(texts - {str(written.schedule) for written in written_schedules()}) > 20
