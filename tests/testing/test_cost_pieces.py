"""The law of cost covers every construct: each action of the grammar, form and operator has a piece."""

from __future__ import annotations

import pytest
from tvms.dsl.builder.forms import NAMESPACES, Form, Namespace
from tvms.dsl.testing.growth import check_growth
from tvms.dsl.testing.laws.cost import Example, text_of
from tvms.dsl.testing.pieces import chains, named_actions, pieces
from tvms.grammar.tables import load
from tvms.ir.ops.registry import relax_ops


def test_every_action_of_the_grammar_has_a_piece() -> None:
    assert {rule.action for rule in load().rules if rule.action} - named_actions() == set()


def test_every_form_and_operator_has_a_piece() -> None:
    names = {piece.name for piece in pieces()}
    assert {f"R.{operator.script_name}" for operator in relax_ops().values()} <= names
    waiting: list[Namespace] = [NAMESPACES["T"]]
    while waiting:
        for member in waiting.pop().members.values():
            if isinstance(member, Namespace):
                waiting.append(member)
            elif isinstance(member, Form):
                assert member.name in names


@pytest.mark.parametrize("name", chains())
def test_chains_grow_with_their_size(name: str) -> None:
    few, many = (len(text_of(Example("chain", (name,), "read", 4), size)) for size in (4, 8))
    assert few < many < 3 * few


def test_quadratic_work_is_found() -> None:
    def quadratic(size: int) -> None:
        for i in range(size):
            for _ in range(i):
                len("")

    with pytest.raises(AssertionError, match="calls at 128, 256 and 512"):
        check_growth(quadratic, 8)
    check_growth(lambda size: [len("") for _ in range(size)], 8)


def test_deep_work_is_counted() -> None:
    def recurse(depth: int) -> int:
        return depth and len(range(depth)) + recurse(depth - 1)

    with pytest.raises(AssertionError, match="calls at"):
        check_growth(lambda size: [recurse(size) for _ in range(size)], 64)
