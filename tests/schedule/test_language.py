"""The language of schedules: parameters, names, lists, conditions, functions, nested calls, assertions."""

from __future__ import annotations

from typing import Any

import pytest
import tvms
from tvms.dsl.formatter import format_text
from tvms.ir.equal import first_difference
from tvms.ir.schedule.apply import apply_schedules, with_parameters
from tvms.ir.schedule.text import ScheduleText

MATMUL = """\
#tvms 1

T.prim_func matmul(A: T.Buffer((32, 64), "float32"), B: T.Buffer((64, 16), "float32"), C: T.Buffer((32, 16), "float32")):
    for i, j, k in T.grid(32, 16, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

"""


def replayed(text: str, **values: Any) -> tvms.Schedule:
    """Return the schedule after the text that follows the product of matrices."""
    module = with_parameters(tvms.parse(MATMUL + text), values)
    (schedule,) = [one for one in module.schedules.values() if isinstance(one, ScheduleText)]
    result = tvms.Schedule(module)
    result.replay(schedule)
    return result


def extents(schedule: tvms.Schedule) -> list[int]:
    return [schedule.get(loop).extent.value for loop in schedule.get_loops("C")]


def kinds(schedule: tvms.Schedule) -> str:
    return "".join(schedule.get(loop).kind.name[0] for loop in schedule.get_loops("C"))


WHOLE = """\
# Halves of a loop.
S.function halve(loop, factor=2):
    # The outer one.
    outer, inner = S.split(loop, factors=[None, factor])
    return outer, inner

# A tiled product.
S.schedule tiled(matmul, bm=4, bn=8, scope="local", target="llvm"):
    i, j, k = S.get_loops("C")
    depth, twice = 4, bn * 2
    assert S.get_extent(j) % bn == 0, "bn divides the columns"
    i0, i1 = halve(i, factor=bm)  # rows
    j0, j1 = halve(j, bn)
    S.reorder(i0, j0, k, i1, j1)
    # Lanes or copies.
    if S.get_dtype("C") == "float32" and S.get_target() != "cuda":
        S.vectorize(j1)
        S.expect_vector(j1)
    elif S.get_extent(i1) > twice:
        S.unroll(i1)
    else:
        S.unroll(i0)
        # Not reached.
    for loop, count in [[i1, 2], [i0, depth]]:
        S.annotate(loop, ann_key="count", ann_val=count)  # each
        # last
    S.unroll(S.split(k, factors=[None, depth])[1])
"""


def test_a_schedule_of_all_statements_keeps_the_laws_of_texts() -> None:
    text = MATMUL + WHOLE
    module = tvms.parse(text)
    assert str(module) + "\n" == text
    assert first_difference(module, tvms.parse(str(module)), map_free_vars=True) is None
    assert format_text(text) == text
    other = tvms.parse(text.replace("bn * 2", "bn * 3"))
    assert first_difference(module, other, map_free_vars=True) is not None


def test_a_schedule_of_all_statements_runs() -> None:
    schedule = replayed(WHOLE)
    assert extents(schedule) == [8, 2, 16, 4, 4, 8]
    assert kinds(schedule) == "SSSUSV"
    assert extents(replayed(WHOLE, bm=8, bn=16)) == [4, 1, 16, 4, 8, 16]


def test_unrolled_schedules_are_plain_calls_with_names_and_comments() -> None:
    module = tvms.parse(MATMUL + WHOLE)
    text = tvms.Schedule(module).unrolled(module.schedules["tiled"])
    assert (
        text.script()
        == """\
# A tiled product.
S.schedule tiled(matmul, target="llvm"):
    i, j, k = S.get_loops("C")
    # The outer one.
    outer, inner = S.split(i, factors=[None, 4])
    # The outer one.
    outer_1, inner_1 = S.split(j, factors=[None, 8])
    S.reorder(outer, outer_1, k, inner, inner_1)
    S.vectorize(inner_1)
    S.annotate(inner, ann_key="count", ann_val=2)  # each
    S.annotate(outer, ann_key="count", ann_val=4)  # each
    k_0, k_1 = S.split(k, factors=[None, 4])
    S.unroll(k_1)"""
    )


def test_unrolled_schedules_replay_to_the_same_module() -> None:
    module = tvms.parse(MATMUL + WHOLE)
    schedule = tvms.Schedule(module)
    text = schedule.unrolled(module.schedules["tiled"])
    again = tvms.Schedule(module)
    again.replay(tvms.parse(MATMUL + text.script()).schedules["tiled"])
    assert tvms.structural_equal(schedule.mod, again.mod)


def test_a_schedule_calls_another_with_its_parameters() -> None:
    text = """
S.schedule inner(matmul, width=4, target="cuda"):
    i, j, k = S.get_loops("C")
    S.split(j, factors=[None, width])

S.schedule outer(matmul, columns=8, target="llvm"):
    inner(width=columns)
    S.unroll(S.get_loops("C")[-1])
"""
    module = tvms.parse(MATMUL + text)
    assert str(tvms.parse(str(module))) == str(module)
    assert extents(tvms.Schedule(apply_schedules(module, "llvm"))) == [32, 2, 8, 64]
    assert extents(tvms.Schedule(apply_schedules(module, "cuda"))) == [32, 4, 4, 64]


def test_conditions_depend_on_the_target() -> None:
    text = """
S.schedule both(matmul):
    i, j, k = S.get_loops("C")
    if S.get_target() == "llvm":
        outer, inner = S.split(j, factors=[None, 8])
    else:
        outer, inner = S.split(j, factors=[None, 2])
    S.unroll(inner)
"""
    module = tvms.parse(MATMUL + text)
    assert extents(tvms.Schedule(apply_schedules(module, "llvm"))) == [32, 2, 8, 64]
    assert extents(tvms.Schedule(apply_schedules(module, "cuda"))) == [32, 8, 2, 64]


def test_lists_are_indexed_spread_and_iterated() -> None:
    schedule = replayed("""
S.schedule s(matmul):
    loops = S.get_loops("C")
    first, last = loops[0], loops[-1]
    S.reorder(last, first)
    for axis in range(0, 2):
        S.unroll(S.get_loops("C")[axis])
    for block in [S.get_block("C")]:
        for loop in S.get_loops(block):
            if S.get_extent(loop) == 32:
                S.parallel(loop)
    S.fuse(*S.get_loops("C"))
""")
    assert extents(schedule) == [32 * 16 * 64]


PARTS = """
S.schedule s(matmul, n=1):
    loops = S.get_loops("C")
    for loop in loops[n + 1:]:
        S.unroll(loop)
    S.fuse(*loops[:-1][0:9])
    (last,) = S.get_loops("C")[-1:]
    S.annotate(last, ann_key="hint", ann_val=n)
"""


def test_parts_of_lists_are_lists() -> None:
    assert extents(replayed(PARTS)) == [32 * 16, 64]
    assert kinds(replayed(PARTS)) == "SU"
    module = tvms.parse(MATMUL + PARTS)
    assert str(module) + "\n" == MATMUL + PARTS.lstrip("\n")
    assert first_difference(module, tvms.parse(str(module)), map_free_vars=True) is None
    assert format_text(MATMUL + PARTS.lstrip("\n")) == MATMUL + PARTS.lstrip("\n")


def test_parameters_are_of_the_kind_of_their_defaults() -> None:
    module = tvms.parse(MATMUL + "S.schedule s(matmul, n=4, m=None):\n    pass\n")
    assert with_parameters(module, {"n": 8, "s.m": "x"}).schedules["s"].parameters == {"n": 8, "m": "x"}
    with pytest.raises(tvms.TvmsError) as raised:
        with_parameters(module, {"n": "8"})
    assert str(raised.value).split("\n")[0] == (
        "error[E0202]: parameter 'n' of schedule 's': expected a value such as 4, got '8'"
    )
    with pytest.raises(tvms.TvmsError) as raised:
        with_parameters(module, {"t.n": 8})
    assert str(raised.value) == ("error[E0814]: no schedule has a parameter 't.n'\n  = help: did you mean 's.n'?")


def refusal(text: str) -> str:
    """Return the message of the error in a text, or in its schedule, without the program below it."""
    try:
        module = tvms.parse(text, "s.tvms")
        schedule = module.schedules["s"]
        assert isinstance(schedule, ScheduleText)
        tvms.Schedule(module, error_render_level="fast").replay(schedule)
    except tvms.TvmsError as refused:
        return str(refused)
    raise AssertionError("it is accepted")


HEAD = MATMUL.removeprefix("#tvms 1\n")
REFUSED = {
    "an assertion": (
        'S.schedule s(matmul, n=7):\n    i, j, k = S.get_loops("C")\n    assert S.get_extent(i) % n == 0, "n divides i"\n',
        """\
error[E0537]: the assertion does not hold: n divides i
   --> s.tvms:14:5
    |
 14 |     assert S.get_extent(i) % n == 0, "n divides i"
    |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    = help: change the parameters or the program, or remove the assertion""",
    ),
    "an element": (
        'S.schedule s(matmul):\n    S.unroll(S.get_loops("C")[3])\n',
        """\
error[E0598]: the list has 3 elements, and no element 3
   --> s.tvms:13:14
    |
 13 |     S.unroll(S.get_loops("C")[3])
    |              ^^^^^^^^^^^^^^^^^^^
    = help: count from 0, or from -1 at the end""",
    ),
    "an element of no list": (
        "S.schedule s(matmul, n=3):\n    S.unroll(n[0])\n",
        """\
error[E0598]: expected a list before '[', got 3
   --> s.tvms:13:14
    |
 13 |     S.unroll(n[0])
    |              ^^^^
    = help: index a list""",
    ),
    "a part from a loop on": (
        'S.schedule s(matmul):\n    loops = S.get_loops("C")\n    S.fuse(*loops[loops[0]:])\n',
        """\
error[E0598]: expected a number before or after ':', got a loop
   --> s.tvms:14:13
    |
 14 |     S.fuse(*loops[loops[0]:])
    |             ^^^^^^^^^^^^^^^^
    = help: count from 0, or from -1 at the end""",
    ),
    "a part with steps": (
        'S.schedule s(matmul):\n    S.fuse(*S.get_loops("C")[::2])\n',
        """\
error[E0207]: a step is not allowed here
   --> s.tvms:13:32
    |
 13 |     S.fuse(*S.get_loops("C")[::2])
    |                                ^
    = help: write one position before ':', and one after it""",
    ),
    "a loop over no list": (
        "S.schedule s(matmul, n=3):\n    for x in n:\n        pass\n",
        """\
error[E0598]: expected a list, got 3
   --> s.tvms:13:5
    |
 13 |     for x in n:
    |     ^^^^^^^^^^^
    = help: loop over a list""",
    ),
    "a number": (
        'S.schedule s(matmul):\n    i, j, k = S.get_loops("C")\n    S.split(i, factors=[None, j * 2])\n',
        """\
error[E0598]: expected a number, got a loop
   --> s.tvms:14:5
    |
 14 |     S.split(i, factors=[None, j * 2])
    |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    = help: compute with numbers""",
    ),
    "a condition": (
        'S.schedule s(matmul):\n    if S.get_block("C"):\n        pass\n',
        """\
error[E0599]: the condition is not known: a block
   --> s.tvms:13:8
    |
 13 |     if S.get_block("C"):
    |        ^^^^^^^^^^^^^^^^
    = help: test what is constant, such as an extent""",
    ),
    "a step in a function": (
        "S.function cut(loop, n=7):\n    S.split(loop, factors=[n, n])\n\nS.schedule s(matmul):\n"
        '    i, j, k = S.get_loops("C")\n    cut(k)\n',
        """\
error[E0508]: argument 2, 'factors' to split: loop 'k' has 64 iterations, more than 49
   --> s.tvms:13:27
    |
 13 |     S.split(loop, factors=[n, n])
    |                           ^^^^^^
    = help: write None for the first factor to infer it, or make a factor larger
note: 'cut' is called here
   --> s.tvms:17:5
    |
 17 |     cut(k)
    |     ^^^^^^""",
    ),
    "an argument of a function": (
        "S.function cut(loop):\n    pass\n\nS.schedule s(matmul):\n    cut(3, 4)\n",
        """\
error[E0105]: cut: expected at most 1 argument by position, got 2
   --> s.tvms:16:5
    |
 16 |     cut(3, 4)
    |     ^^^^^^^^^
    = help: write cut(loop)""",
    ),
    "a parameter of a schedule": (
        "S.schedule t(matmul, n=4):\n    pass\n\nS.schedule s(matmul):\n    t(m=4)\n",
        """\
error[E0105]: schedule 't' has no parameter 'm'
   --> s.tvms:16:7
    |
 16 |     t(m=4)
    |       ^^^
    = help: write t(n=…)""",
    ),
    "a later function": (
        "S.schedule s(matmul):\n    cut(3)\n\nS.function cut(loop):\n    pass\n",
        """\
error[E0101]: name 'cut' is not defined
   --> s.tvms:13:5
    |
 13 |     cut(3)
    |     ^^^
    = help: define it above, or correct its spelling""",
    ),
    "a name of one branch": (
        'S.schedule s(matmul):\n    if S.get_target() == "llvm":\n        a = 3\n    S.unroll(a)\n',
        """\
error[E0101]: name 'a' is not defined
   --> s.tvms:15:14
    |
 15 |     S.unroll(a)
    |              ^
    = help: define it above, or correct its spelling""",
    ),
    "a step outside of schedules": (
        "T.prim_func f():\n    S.split(3, 4)\n",
        """\
error[E0103]: S.split is a step of a schedule
   --> s.tvms:13:7
    |
 13 |     S.split(3, 4)
    |       ^^^^^
    = help: write it in an S.schedule""",
    ),
    "a long range": (
        "S.schedule s(matmul):\n    for i in range(10001):\n        pass\n",
        """\
error[E0597]: the range has 10001 elements
   --> s.tvms:13:14
    |
 13 |     for i in range(10001):
    |              ^^^^^^^^^^^^
    = help: write at most 10000""",
    ),
    "many steps": (
        "S.schedule s(matmul):\n    for i in range(1000):\n        for j in range(1000):\n            n = 3\n",
        """\
error[E0597]: the schedule runs more than 100000 statements
   --> s.tvms:15:13
    |
 15 |             n = 3
    |             ^^^^^
    = help: shorten the lists that it loops over""",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_says_what_is_wrong(case: str) -> None:
    text, message = REFUSED[case]
    assert refusal(HEAD + text) == message


def test_check_reports_the_mistakes_of_schedules(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    from tvms.dsl.cli import main

    path = tmp_path / "s.tvms"
    schedules = (
        'S.schedule a(matmul):\n    S.unroll(S.get_loops("X")[0])\n\nS.schedule b(matmul, target="lvm"):\n    pass\n'
    )
    path.write_text(HEAD + schedules, encoding="utf-8")
    assert main(["check", str(path)]) == 1
    found = capsys.readouterr().err.replace(str(path), "s.tvms")
    assert found.startswith("""\
error[E0502]: argument 1, 'block' to get_loops: no block is called 'X' in function 'matmul'
   --> s.tvms:13:26
    |
 13 |     S.unroll(S.get_loops("X")[0])
    |                          ^^^
    = help: use C

error[E0601]: unknown target 'lvm'
   --> s.tvms:15:29
    |
 15 | S.schedule b(matmul, target="lvm"):
    |                             ^^^^^
    = help: use one of llvm, cuda, nvptx
""")


def test_the_command_line_sets_parameters_and_unrolls(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    from tvms.dsl.cli import main

    path = tmp_path / "s.tvms"
    path.write_text(HEAD + WHOLE, encoding="utf-8")
    assert main(["schedule", str(path), "-D", "bm=8", "-D", "tiled.bn=16", "--unroll"]) == 0
    printed = capsys.readouterr().out
    assert "outer, inner = S.split(i, factors=[None, 8])" in printed
    assert "S.function" not in printed
    assert main(["schedule", str(path), "-D", "bm"]) == 2
    assert "-D bm: write NAME=VALUE, such as -D bn=32" in capsys.readouterr().err


def test_long_chains_and_deep_expressions_run() -> None:
    chain = "".join([f"    elif x == {index}:\n        pass\n" for index in range(2000)])
    text = f"S.schedule s(matmul):\n    x = 0{' + 1' * 2000}\n    y = x{' * x + 1' * 1000} - x\n    if x == 1:\n        pass\n{chain}"
    module = tvms.parse(MATMUL + text)
    assert len(str(module)) < 2 * len(MATMUL + text)
    schedule = tvms.Schedule(module)
    assert schedule.replay(module.schedules["s"])["x"] == 2000
