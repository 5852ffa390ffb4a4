"""What the verifier does is proportional to the text, also where questions about it would not be."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from tvms.dsl.load import parse
from tvms.dsl.testing.growth import check_growth
from tvms.ir import tir
from tvms.ir.diagnostics import Diagnostic
from tvms.ir.verify import meetings, partners, verify
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


@pytest.mark.deep(4)
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
    assert [diagnostic.code for diagnostic in verify(parse(text.replace("B[i]", "B[i + 99]")))] == []
    few = f"{HEAD.replace('range(16)', 'range(121)')}        if i != 3:\n            B[i] = A[0]\n"
    assert [diagnostic.code for diagnostic in verify(parse(few))] == ["E0414"]


def test_nested_parallel_loops_with_branches_are_checked_at_once() -> None:
    """Each loop compares the stores below it; loops that do not decide an element or a value are not part of a question."""

    def nest(size: int, indent: str) -> str:
        store = f"{indent}B[i] = A[i]\n"
        if not size:
            return store
        inner = nest(size - 1, indent + "  ")
        return f"{indent}for p{size} in T.parallel(4):\n{indent} if i < {size}:\n{inner}{indent} else:\n  {store}"

    def text(size: int) -> str:
        return HEAD + nest(size, " " * 8)

    check_growth(
        lambda module: verify(module, "races"), 12, lambda size: parse(text(size)), lambda size: len(text(size))
    )


def test_updates_below_many_loops_are_checked_at_once() -> None:
    """Which stores come before an update is asked case by case: one condition for all took time exponential in the loops."""
    loops = "".join(f"{' ' * (4 + k)}for i{k} in range(2):\n" for k in range(12))
    body = ['with T.block("b"):', " v = T.axis.spatial(4, i0 * 2 + i1)"]
    body += [f" r = T.axis.reduce(1024, {' + '.join(f'i{k} * {2 ** (k - 2)}' for k in range(2, 12))})"]
    body += [" with T.init():", "  B[v] = T.float32(0)", " B[v] = B[v] + A[v]"]
    text = HEAD.splitlines()[0] + "\n" + loops + "".join(f"{' ' * 16}{line}\n" for line in body)
    assert verify(parse(text), "races") == ()


def _block(lines: list[str]) -> str:
    head = 'T.prim_func f(A: T.Buffer((16,), "float32"), B: T.Buffer((65536,), "float32")):\n    for i in range(16):\n'
    head += '        with T.block("b"):\n            v = T.axis.spatial(16, i)\n'
    return head + "".join(f"            {line}\n" for line in lines)


def test_instances_of_unrolled_blocks_take_linear_work() -> None:
    def text(size: int) -> str:
        index = f"v * {size + 1}"
        return _block([f"B[{index} + {k}] = B[{index} + {k}] + B[{index} + {k + 1}]" for k in range(size)])

    check_growth(lambda module: verify(module, "races"), 16, lambda size: parse(text(size)))


def test_instances_of_blocks_are_compared_up_to_a_number_of_pairs() -> None:
    for size, is_whole in ((4, True), (48, False)):
        stores = [line for k in range(size) for line in ("if v == 3:", f"    B[0] = T.float32({k})")]
        (function,) = parse(_block(stores)).functions.values()
        assert isinstance(function, tir.PrimFunc)
        subject = Subject(function)
        assert check_axis_kinds(subject) is is_whole
        assert not subject.report.found


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
    guarded = "".join(f"        if i == 3:\n            B[0, 0] = A[{k}]\n" for k in range(4))
    racing = f"{_stores(0, '')}{guarded}        B[1, 0] = A[i]\n".replace("(16, 0)", "(16, 1)")
    assert [found.code for found in verify(parse(racing), "races")] == ["E0419"]
    monkeypatch.setattr(meetings, limit, 2)
    (found,) = verify(parse(racing), "races")
    assert (found.code, found.severity) == ("E0444", "warning")
    assert found.message == "the iterations of the loop over 'i' are not proven not to race"


_PARTS = {
    "index": ("i", "i * 9", "i * 9 + j", "(i + {a}) % 16", "i * 3 + j", "j", "{a}", "i // 2", "T.Cast('int64', i)"),
    "statement": ("B[{x}] = A[{y}]", "B[{x}] = B[{x}] + A[{y}]", "B[{x}] = B[{y}]", "B[{x}] = T.float32({a})"),
    "around": ("", "", "if i < {b}:", "if i == {b}:", "if A[i] > T.float32(0):"),
    "loop": ("T.parallel(16)", 'T.thread_binding(16, "threadIdx.x")', "T.vectorized(16)", "range(16)"),
}


def _random_text(choose: random.Random) -> str:
    def pick(part: str) -> str:
        return choose.choice(_PARTS[part])

    index = [pick("index") for _ in range(choose.randint(1, 2))]
    is_block = choose.random() < 0.3
    lines: list[str] = []
    for number in range(choose.randint(1, 9)):
        a, b, c = (choose.choice((0, 1, 2, 3, 8, 64, 200)) for _ in range(3))
        x, y = (f"{choose.choice(index)} + {offset}".replace("{a}", str(b)) for offset in (a, choose.choice((a, c))))
        body = pick("statement").replace("{x}", x).replace("{y}", y).replace("{a}", str(a))
        around = pick("around").replace("{b}", str(b))
        body = f"for j in range({choose.choice((2, 9))}):\n {body}".replace("j", f"j{number}")
        lines += [*([around] if around else []), *[f"{' ' if around else ''}{line}" for line in body.split("\n")]]
    if is_block:
        loop = f"for n in {choose.choice(('range', 'T.parallel'))}(16):\n  with T.block('b'):\n   i = T.axis.spatial(16, n)\n"
    else:
        loop = f"for i in {pick('loop')}:\n"
    head = "T.prim_func f(A: T.Buffer((999,), 'float32'), B: T.Buffer((999,), 'float32')):\n "
    return head + loop + "".join(f"   {line}\n" for line in lines)


@pytest.mark.deep(4)
@pytest.mark.parametrize("seed", range(8))
def test_grouped_accesses_race_like_single_ones(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    choose, found = random.Random(seed), Counter[str]()
    for _ in range(40):
        text = _random_text(choose)
        grouped, single = ([race.message for race in _races_of(text, few, monkeypatch)] for few in (0, 1000))
        assert grouped == single, text
        found["races" if grouped else "none"] += 1
    assert min(found["races"], found["none"]) > 5, found


def _races_of(text: str, few: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Diagnostic, ...]:
    monkeypatch.setattr(partners, "FEW_PAIRS", few)
    return verify(parse(text), "races")
