"""What the verifier does is proportional to the text, also where questions about it would not be."""

from __future__ import annotations

import pytest
from tvms.dsl.load import parse
from tvms.dsl.testing.growth import check_growth
from tvms.ir import tir
from tvms.ir.verify import meetings, verify
from tvms.ir.verify.axis_kinds import check_axis_kinds
from tvms.ir.verify.subject import Subject

HEAD = 'T.prim_func f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):\n    for i in range(16):\n'


def _elif_chain(size: int) -> str:
    branches = (f"        elif i == {k + 1}:\n            B[i] = A[i]\n" for k in range(size))
    return f"{HEAD}        if i == 0:\n            B[i] = A[i]\n{''.join(branches)}"


def _choices(size: int) -> str:
    opened = "".join(f"T.if_then_else(i < {k}, A[i], " for k in range(size))
    return f"{HEAD}        B[i] = {opened}A[i]{')' * size}\n"


TEXTS = {
    "elif": _elif_chain,
    "if_then_else": _choices,
    "and": lambda size: (
        f"{HEAD}        if {' and '.join(f'i < {k + 1}' for k in range(size))}:\n            B[i] = A[i]\n"
    ),
    "or": lambda size: f"{HEAD}        if {' or '.join(f'i == {k}' for k in range(size))}:\n            B[i] = A[i]\n",
    "lets": lambda size: (
        f"{HEAD}        x0 = i % 2\n"
        + "".join(f"        x{k + 1} = x{k} + x{k}\n" for k in range(size))
        + f"        B[x{size}] = A[i]\n"
    ),
    "lets in conditions": lambda size: (
        f"{HEAD}        x0 = i % 2\n"
        + "".join(
            f"        x{k + 1} = x{k} % 7 + x{k} // 3\n        if x{k} < 3:\n            B[x{k} % 16] = A[i]\n"
            for k in range(size)
        )
    ),
    "axes": lambda size: (
        HEAD
        + "".join(
            f'        with T.block("b{k}"):\n            v = T.axis.spatial(16, i)\n            B[v] = A[v]\n'
            for k in range(size)
        )
    ),
    "a long condition": lambda size: (
        f"{HEAD}        if {' + '.join('i' for _ in range(size))} < 9:\n" + "            B[i + 1] = A[i]\n" * size
    ),
}


@pytest.mark.parametrize("level", ["types", "bounds", "races"])
@pytest.mark.parametrize("name", TEXTS)
def test_work_is_linear(name: str, level: str) -> None:
    modules = {size: parse(TEXTS[name](size)) for size in (16, 32, 64, 128, 256, 512, 1024)}
    check_growth(lambda size: verify(modules[size], level), 16)


@pytest.mark.parametrize("value", ["x{0} + x{0}", "T.max(x{0}, x{0} % 7)", "x{0} % 3 + x{0} // 2", "x{0} * x{0}"])
def test_let_bombs_are_checked_at_once(value: str) -> None:
    lets = "".join(f"        x{k + 1} = {value.format(f'{k}')}\n" for k in range(60))
    verify(parse(f"{HEAD}        x0 = i % 2\n{lets}        B[x60] = A[i]\n"), "races")


def test_what_is_known_of_many_conditions_is_no_false_alarm() -> None:
    """The 100th `else` is reached only where i >= 100: without the conditions that are forgotten, B[i - 90] would fail."""
    nest = "".join(f"{' ' * (8 + k)}if i != {k + 20}:\n" for k in range(100))
    text = f"{HEAD.replace('range(16)', 'range(121)')}{nest}{' ' * 108}if i < 16:\n{' ' * 109}B[i] = A[i]\n"
    assert verify(parse(text), "races") == ()
    assert [each.code for each in verify(parse(text.replace("B[i]", "B[i + 99]")))] == []
    few = f"{HEAD.replace('range(16)', 'range(121)')}        if i != 3:\n            B[i] = A[0]\n"
    assert [each.code for each in verify(parse(few))] == ["E0414"]


def test_updates_below_many_loops_are_checked_at_once() -> None:
    """Which stores come before an update is asked case by case: one condition for all took time exponential in the loops."""
    loops = "".join(f"{' ' * (4 + k)}for i{k} in range(2):\n" for k in range(12))
    body = ['with T.block("b"):', " v = T.axis.spatial(4, i0 * 2 + i1)"]
    body += [f" r = T.axis.reduce(1024, {' + '.join(f'i{k} * {2 ** (k - 2)}' for k in range(2, 12))})"]
    body += [" with T.init():", "  B[v] = T.float32(0)", " B[v] = B[v] + A[v]"]
    text = HEAD.splitlines()[0] + "\n" + loops + "".join(f"{' ' * 16}{line}\n" for line in body)
    assert verify(parse(text), "races") == ()


def test_unrolled_blocks_are_checked_up_to_a_number_of_pairs() -> None:
    def text(size: int) -> str:
        lines = (f"            B[v * 99 + {k}] = B[v * 99 + {k}] + B[v * 99 + {k + 1}]\n" for k in range(size))
        head = HEAD.replace("16", "2048") + '        with T.block("b"):\n            v = T.axis.spatial(16, i)\n'
        return head.replace("range(2048)", "range(16)") + "".join(lines)

    for size, is_whole in ((4, True), (48, False)):
        (function,) = parse(text(size)).functions.values()
        assert isinstance(function, tir.PrimFunc)
        assert check_axis_kinds(Subject(function)) is is_whole


def _stores(size: int, index: str) -> str:
    """A parallel loop with `size` stores to different elements."""
    lines = "".join(f"        B[{index.replace('k', str(k))}] = A[i]\n" for k in range(size))
    head = f'T.prim_func f(A: T.Buffer((16,), "float32"), B: T.Buffer((16, {size}), "float32")):\n'
    return f"{head}    for i in T.parallel(16):\n{lines}"


@pytest.mark.parametrize("index", ["i, k", "i, (i + k) % 2"])
def test_races_of_iterations_with_own_rows_take_linear_work(index: str) -> None:
    check_growth(lambda module: verify(module, "races"), 16, lambda size: parse(_stores(size, index)))


@pytest.mark.parametrize("limit", ["MOST_PAIRS", "MOST_MEETINGS"])
def test_races_beyond_the_limits_are_not_proven_absent(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    racing = parse(_stores(4, "(i + k) % 16, k") + "        B[0, 0] = A[i]\n")
    assert [found.code for found in verify(racing, "races")] == ["E0419"]
    monkeypatch.setattr(meetings, limit, 2)
    (found,) = verify(racing, "races")
    assert (found.code, found.severity) == ("E0444", "warning")
    assert found.message == "the iterations of the loop over 'i' are not proven not to race"
