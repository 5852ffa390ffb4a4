"""Traces of TVM in JSON and Python make the same module and the same trace again; names of TVM 0.27 work."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tvms
from tvms import dlight as dl
from tvms.dsl.traces import apply_trace
from tvms.ir.schedule import Schedule
from tvms.target import Target
from tvms.tir.schedule.testing import verify_trace_roundtrip

PROGRAMS = tvms.load(Path(__file__).parent.parent / "cases" / "dlight" / "programs.tvms")


@pytest.mark.deep(8)
@pytest.mark.parametrize("name", list(PROGRAMS.functions))
def test_traces_of_rules_make_the_same_module(name: str) -> None:
    rules = (dl.gpu.Matmul(), dl.gpu.GEMV(), dl.gpu.Reduction(), dl.gpu.GeneralReduction(), dl.gpu.Fallback())
    made = [rule.apply(PROGRAMS[name], Target("cuda"), False) for rule in rules]
    assert any(made)
    for sch in filter(None, made):
        assert isinstance(sch, Schedule)
        verify_trace_roundtrip(sch, PROGRAMS[name])
        assert str(sch.trace) == sch.script()


def test_names_of_tvm_0_27() -> None:
    older, newer = Schedule(PROGRAMS["elements"]), Schedule(PROGRAMS["elements"])
    older.compute_inline(older.get_block("double"))
    newer.compute_inline(newer.get_sblock("double"))
    older.transform_block_layout("shift", lambda i, j: (i * 12 + j,))
    newer.transform_sblock_layout("shift", lambda i, j: (i * 12 + j,))
    assert tvms.structural_equal(older.mod, newer.mod)
    replayed = Schedule(PROGRAMS["elements"])
    apply_trace(json.dumps(older.trace.as_json()).replace("GetBlock", "GetSBlock"), replayed)
    assert tvms.structural_equal(older.mod, replayed.mod)
    replayed = Schedule(PROGRAMS["elements"])
    apply_trace("\n".join(older.trace.as_python()).replace("get_block", "get_sblock"), replayed)
    assert tvms.structural_equal(older.mod, replayed.mod)
    with pytest.raises(AttributeError, match="no attribute 'get_sblocks'"):
        newer.get_sblocks()


def test_an_equal_annotation_stays() -> None:
    sch = Schedule(PROGRAMS["elements"])
    for _ in range(2):
        sch.annotate(sch.get_loops(sch.get_block("shift"))[0], "pragma_auto_unroll_max_step", 16)
    assert "pragma_auto_unroll_max_step" in sch.mod.script()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[1, ", "it is not JSON (Expecting value: line 1 column 5 (char 4))"),
        ("import os", "no line calls a method of 'sch'"),
    ],
)
def test_what_is_not_a_trace(text: str, reason: str) -> None:
    with pytest.raises(tvms.TvmsError) as raised:
        apply_trace(text, Schedule(PROGRAMS["rows"]))
    assert str(raised.value) == (
        f"error[E0569]: invalid trace: {reason}\n"
        "  = help: pass the result of trace.as_json(), or the lines of trace.as_python()"
    )


def test_a_trace_in_python_applies_to_a_function_without_a_module() -> None:
    function = PROGRAMS["elements"]
    assert isinstance(function, tvms.tir.PrimFunc)
    bare = tvms.parse(str(function))
    made = Schedule(bare)
    made.transform_block_layout("shift", lambda i, j: (0, i * 12 + j))
    replayed = Schedule(bare)
    apply_trace("\n".join(made.trace.as_python()), replayed)
    assert tvms.structural_equal(made.mod, replayed.mod)


@pytest.mark.parametrize("module", ["tvm.tir", "tvm.tirx", "tir"])
def test_index_maps_of_tvm(module: str) -> None:
    made, replayed = Schedule(PROGRAMS["elements"]), Schedule(PROGRAMS["elements"])
    made.transform_layout("double", ("write", 0), lambda i, j: (i, j // 4, j % 4))
    mapping = "lambda i, j: (i, j // 4, j % 4,), inverse_index_map=lambda i, j, k: (i, j * 4 + k,)"
    text = f"""# from tvm import s_tir
def apply_trace(sch: s_tir.Schedule) -> None:
  b0 = sch.get_sblock(name="double", func_name="main")
  sch.transform_layout(block=b0, buffer=("write", 0), index_map={module}.IndexMap.from_func({mapping}), pad_value=None,
    assume_injective_transform=False)
"""
    apply_trace(text.replace("None,\n   ", "None,"), replayed)
    assert tvms.structural_equal(made.mod, replayed.mod)


def test_index_maps_in_the_json_of_tvm() -> None:
    nodes: list[dict[str, object]] = [
        {"type": "None"},
        {"type": "ir.PrimType", "data": {"span": 0, "dtype": "int32"}},
        {"type": "ffi.String", "data": "i"},
        {"type": "ir.Var", "data": {"span": 0, "ty": 1, "name": 2}},
        {"type": "ffi.String", "data": "j"},
        {"type": "ir.Var", "data": {"span": 0, "ty": 1, "name": 4}},
        {"type": "ffi.Array", "data": [3, 5]},
        {"type": "int", "data": 4},
        {"type": "ir.IntImm", "data": {"span": 0, "ty": 1, "value": 7}},
        {"type": "prim.FloorDiv", "data": {"span": 0, "ty": 1, "a": 5, "b": 8}},
        {"type": "prim.FloorMod", "data": {"span": 0, "ty": 1, "a": 5, "b": 8}},
        {"type": "ffi.Array", "data": [3, 9, 10]},
        {"type": "tirx.IndexMap", "data": {"initial_indices": 6, "final_indices": 11, "inverse_index_map": 0}},
    ]

    def trace(graph: str) -> str:
        get: list[object] = ["GetSBlock", [], ["double", "main"], ["b0"]]
        change: list[object] = ["TransformLayout", ["b0", graph], [0, 1, None, False], []]
        return json.dumps([[get, change], []])

    made, replayed = Schedule(PROGRAMS["elements"]), Schedule(PROGRAMS["elements"])
    made.transform_layout("double", ("write", 0), lambda i, j: (i, j // 4, j % 4))
    apply_trace(trace(json.dumps({"root_index": 12, "nodes": nodes})), replayed)
    assert tvms.structural_equal(made.mod, replayed.mod)
    # The map of a block's iterators is an attribute, and its text has line breaks.
    made, replayed = Schedule(PROGRAMS["elements"]), Schedule(PROGRAMS["elements"])
    made.transform_block_layout("double", lambda i, j: (i, j // 4, j % 4))
    assert made.trace.insts[0].attrs
    get: list[object] = ["GetSBlock", [], ["double", "main"], ["b0"]]
    whole = json.dumps({"root_index": 12, "nodes": nodes}, indent=2)
    apply_trace(json.dumps([[get, ["TransformSBlockLayout", ["b0"], [whole], []]], []]), replayed)
    assert tvms.structural_equal(made.mod, replayed.mod)
    # A variable with the name of a result is that result.
    made, replayed = Schedule(PROGRAMS["elements"]), Schedule(PROGRAMS["elements"])
    size = made.sample_categorical([4], [1.0])
    made.transform_layout("double", ("write", 0), lambda i, j: (i, j // size, j % size))
    with_result = [*nodes[:8], {"type": "ir.Var", "data": {"span": 0, "ty": 1, "name": 13}}, *nodes[9:]]
    with_result.append({"type": "ffi.String", "data": "v7"})
    draw: list[object] = ["SampleCategorical", [], [[4], [1.0]], ["v7"]]
    graph = json.dumps({"root_index": 12, "nodes": with_result})
    change: list[object] = ["TransformLayout", ["b0", graph], [0, 1, None, False], []]
    apply_trace(json.dumps([[get, draw, change], [[1, 0]]]), replayed)
    assert tvms.structural_equal(made.mod, replayed.mod)
    nodes[10] = {"type": "prim.BufferLoad", "data": {}}
    with pytest.raises(tvms.TvmsError) as caught:
        apply_trace(trace(json.dumps({"root_index": 12, "nodes": nodes})), replayed)
    assert str(caught.value) == (
        "error[E0569]: invalid trace: an index map cannot be read ('BufferLoad' is not part of an index)\n"
        "  = help: pass the result of trace.as_json(), or the lines of trace.as_python()"
    )


def test_index_maps_in_the_json_of_tvm_0_21() -> None:
    def var(name: int) -> dict[str, object]:
        return {
            "type_key": "tir.Var",
            "attrs": {"dtype": "int32", "name": str(name), "span": "0", "type_annotation": "3"},
        }

    def term(kind: str) -> dict[str, object]:
        return {"type_key": f"tir.{kind}", "attrs": {"a": "4", "b": "7", "dtype": "int32", "span": "null"}}

    nodes: list[dict[str, object]] = [
        {"type_key": ""},
        {"type_key": "ffi.Array", "data": [2, 4]},
        var(5),
        {"type_key": "PrimType", "attrs": {"dtype": "int32"}},
        var(6),
        {"type_key": "ffi.String", "repr_str": "i"},
        {"type_key": "ffi.String", "repr_str": "j"},
        {"type_key": "IntImm", "attrs": {"dtype": "int32", "span": "0", "value": "4"}},
        {"type_key": "ffi.Array", "data": [2, 9, 10]},
        term("FloorDiv"),
        term("FloorMod"),
        {
            "type_key": "tir.IndexMap",
            "attrs": {"final_indices": "8", "initial_indices": "1", "inverse_index_map": "null"},
        },
    ]
    graph = json.dumps({"root": 11, "nodes": nodes, "b64ndarrays": [], "attrs": {"tvm_version": "0.21.0"}}, indent=2)
    get: list[object] = ["GetBlock", [], ["double", "main"], ["b0"]]
    for change in (
        ["TransformLayout", ["b0", graph], [0, 1, None, 0], []],
        ["TransformBlockLayout", ["b0"], [graph], []],
    ):
        made, replayed = Schedule(PROGRAMS["elements"]), Schedule(PROGRAMS["elements"])
        if change[0] == "TransformLayout":
            made.transform_layout("double", ("write", 0), lambda i, j: (i, j // 4, j % 4))
        else:
            made.transform_block_layout("double", lambda i, j: (i, j // 4, j % 4))
        apply_trace(json.dumps([[get, change], []]), replayed)
        assert tvms.structural_equal(made.mod, replayed.mod)
