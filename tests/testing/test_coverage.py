"""Each empty cell of the tables needs a reason; each reason is about an existing row, law or feature."""

from __future__ import annotations

from tvms.codegen.gpu.rules import rules_for as gpu_rules_for
from tvms.codegen.machine import Machine
from tvms.codegen.rules import rules_for
from tvms.dsl.load import parse
from tvms.ir.base import Op
from tvms.ir.ops.registry import relax_ops
from tvms.ir.ops.tir import INTRINSICS
from tvms.ir.visit import walk
from tvms.testing.coverage import (
    GRAPH_LAWS,
    INTRINSIC_LAWS,
    INTRINSIC_REASONS,
    LAW_REASONS,
    LOOP_LAWS,
    OPERATOR_REASONS,
    PRIMITIVE_REASONS,
    REASONS,
    RULE_REASONS,
    SCHEDULE_REASONS,
    SHORT_FORMS,
    Gap,
    coverage_of,
    form_table,
    forms,
    gaps,
)
from tvms.testing.features import FEATURES
from tvms.testing.laws import LAWS
from tvms.testing.matrix import RULES
from tvms.testing.operator_calls import CALLS, DTYPES, result_of
from tvms.testing.steps import CHANGING

ROWS = {*forms(graphs=False), *forms(graphs=True)}


def test_an_empty_cell_needs_a_reason() -> None:
    everything = dict.fromkeys(ROWS, 1)
    assert gaps({"codegen": everything}) == []
    assert gaps({"codegen": {**everything, "For.annotations": 0}}) == [Gap("codegen", "For.annotations")]
    assert gaps({"codegen": {**everything, "AllocateConst.annotations": 0}}) == []
    graphs = {**everything, **{f"op:{name}": 1 for name in relax_ops()}}
    assert gaps({"graph": graphs}) == []
    assert str(gaps({"graph": {**graphs, "R.If": 0}})[0]) == "graph never met R.If"
    assert gaps({"graph": {**graphs, "op:relax.tanh": 0, "op:relax.print": 0}}) == [Gap("graph", "relax.tanh")]


def test_a_primitive_without_a_feature_needs_a_reason() -> None:
    met = {f"{name} × {feature}": 1 for name in CHANGING for feature in FEATURES}
    assert gaps({"schedule": met}) == []
    assert gaps({"schedule": {**met, "split × late loop": 0}}) == [Gap("schedule", "split × late loop")]
    assert gaps({"schedule": {**met, "split × late loop": 0, "split × late loop, refused": 2}}) == []
    assert gaps({"schedule": {**met, "split × while": 0}}) == []


def test_an_intrinsic_that_no_law_meets_needs_a_reason() -> None:
    met = {law: {**dict.fromkeys(ROWS, 1), **{f"op:{name}": 1 for name in INTRINSICS}} for law in INTRINSIC_LAWS}
    without = {law: {row: count for row, count in counts.items() if row != "op:tir.clz"} for law, counts in met.items()}
    intrinsics = [gap for gap in gaps(without) if gap.row.startswith("tir.")]
    assert [str(gap) for gap in intrinsics] == ["any law never met tir.clz"]
    assert not [gap for gap in gaps(met) if gap.row.startswith("tir.")]


def test_a_rule_without_a_feature_needs_a_reason() -> None:
    cells = [f"{kind}: {rule}" for kind, rules in RULES.items() for rule in rules]
    met = dict.fromkeys([*cells, *[f"{cell} × {feature}" for cell in cells for feature in FEATURES], *ROWS], 1)
    assert gaps({"recipes": met}) == []
    assert gaps({"recipes": {**met, "GPU: tiles × late loop": 0}}) == [Gap("recipes", "GPU: tiles × late loop")]
    assert gaps({"recipes": {**met, "GPU: tiles × late loop": 0, "GPU: tiles × late loop, refused": 1}}) == []
    assert gaps({"recipes": {**met, "GPU: tiles": 0, "processor: bands": 0}}) == [Gap("recipes", "GPU: tiles")]


def test_rules_have_the_names_and_order_of_the_compiler() -> None:
    processor, gpu = (
        tuple(rules.single)
        for rules in (rules_for(Machine(32, 16, 32 << 10, 512 << 10, 2, True)), gpu_rules_for("sm_80"))
    )
    assert RULES["processor"][1 : 1 + len(processor)] == processor
    assert RULES["GPU"][: len(gpu)] == gpu


def test_the_coverage_of_a_law_names_its_gaps() -> None:
    lines = coverage_of("codegen", {**dict.fromkeys(ROWS, 3), "For": 0})
    assert "| `While` | 3 |" in lines
    assert lines[-2:] == ["", "- `For`"]
    assert coverage_of("format", {}) == ["law 'format' fills no table: its examples are not programs of the IR"]


def test_reasons_are_about_what_exists() -> None:
    known = ROWS | {row.rpartition(".")[0] for row in ROWS}
    assert set(REASONS) <= known
    assert {row for _, row in LAW_REASONS} <= known
    assert {law for law, _ in LAW_REASONS} | set(LOOP_LAWS) | set(GRAPH_LAWS) <= set(LAWS)
    assert set(SCHEDULE_REASONS) <= set(FEATURES)
    assert set(PRIMITIVE_REASONS) <= set(CHANGING)
    assert {f"tir.{name}" for name in INTRINSIC_REASONS} <= set(INTRINSICS)
    assert all(what in (*FEATURES, *RULES[kind]) for kind, what in RULE_REASONS)
    assert {f"relax.{name}" for name in OPERATOR_REASONS} <= set(relax_ops())
    assert {f"relax.{name}" for name in CALLS}.isdisjoint(f"relax.{name}" for name in OPERATOR_REASONS)


def test_short_forms_become_other_operators() -> None:
    graphs = {**dict.fromkeys(ROWS, 1), **{f"op:{name}": 1 for name in relax_ops()}}
    assert gaps({"graph": {**graphs, **{f"op:relax.{name}": 0 for name in SHORT_FORMS}}}) == []
    for name in SHORT_FORMS:
        module = parse(_function_of(*CALLS[name]))
        assert {node.name for node in walk(module) if isinstance(node, Op)}.isdisjoint({f"relax.{name}"})


def _function_of(text: str, operands: tuple[str, ...]) -> str:
    """Return the text of a function of one call."""
    head = ", ".join(f"x{place}: {_tensor(operand)}" for place, operand in enumerate(operands))
    return f"R.function f({head}):\n    y = {text.format(*[f'x{at}' for at in range(len(operands))])}\n    return y\n"


def _tensor(operand: str) -> str:
    dtype, axes = operand.split()
    sizes = ", ".join(axis if axis.isdigit() else str("abc".index(axis) + 1) for axis in axes.split(","))
    return f'R.Tensor(({sizes},), "{DTYPES[dtype]}")'


def test_the_table_has_counts_and_reasons() -> None:
    lines = form_table({"codegen": {"For": 7}}, graphs=False)
    assert "| `For` | 7 |" in lines
    assert any(line.startswith("- `ProducerLoad`") or "`ProducerLoad`" in line for line in lines)


def test_every_listed_call_has_a_tensor_result() -> None:
    for name, (text, operands) in CALLS.items():
        infos = [_tensor(operand) for operand in operands]
        call = text.format(*[f"x{place}" for place in range(len(infos))])
        assert name in call
        assert result_of(call, tuple(infos))[2], f"{name} has no tensor result"
