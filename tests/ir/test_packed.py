"""Packed programs are the same programs: equal in structure and text, with the same positions, comments and shared nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvms
from msgspec.structs import replace
from tvms.ir import relax, tir
from tvms.ir.base import NamedAttrs, Node, Op
from tvms.ir.packed import UnpackableError, pack, unpack
from tvms.ir.visit import walk

SAMPLES = sorted((Path(__file__).parents[2] / "samples").glob("*.tvms"))


def again(node: Any) -> Any:
    return unpack(*pack(node))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_program_is_the_same_again(path: Path) -> None:
    module = tvms.load(path)
    made = again(module)
    assert tvms.structural_equal(made, module, map_free_vars=True)
    assert made.script() == module.script()
    assert pack(made)[0] == pack(module)[0]
    assert shape(made) == shape(module)


def shape(node: Node) -> list[Any]:
    """Return the kind, position and comments of each node, and at which place it occurs first."""
    first: dict[int, int] = {}
    found: list[Any] = []
    for number, below in enumerate(walk(node)):
        span, trivia = below.span, getattr(below, "trivia", None)
        place = span and (span.source.name, span.source.text, span.start, span.end)
        found.append((type(below), place, trivia, first.setdefault(id(below), number)))
    return found


VALUES = [
    None, True, 1, 1.0, -0.0, 0.0, "1", (), (1,), (True,), ((1, "a"), 2.5), {}, {"a": (1, {"b": None})}, NamedAttrs(a=1), {"a": 1},
    2**63 - 1, 2**63, -(2**70), float("inf"),
]  # fmt: skip


def called_with(value: Any) -> relax.Call:
    """Return a call with an attribute."""
    return relax.Call(Op("relax.nn.relu"), (), {"value": value})


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_keep_their_types(value: Any) -> None:
    made = again(called_with(value)).attrs["value"]
    assert (type(made), repr(made)) == (type(value), repr(value))


def test_different_values_have_different_bytes() -> None:
    packed = [pack(called_with(value))[0] for value in VALUES]
    assert len(set(packed)) == len(VALUES)


def test_shared_nodes_stay_shared_and_others_apart() -> None:
    one, other = tir.IntImm("int64", 1), tir.IntImm("int64", 1)
    made = again(tir.Add("int64", tir.Add("int64", one, one), other))
    assert made.a.a is made.a.b
    assert made.b is not made.a.a


def test_arrays_are_beside_the_bytes() -> None:
    array = np.arange(3, dtype="f4")
    constant = relax.Constant(array, struct_info=relax.TensorStructInfo((3,), "float32"))
    data, arrays = pack(relax.Tuple((constant, replace(constant))))
    assert len(arrays) == 1
    assert arrays[0] is constant.data
    assert all(field.data is constant.data for field in unpack(data, arrays).fields)
    assert np.shares_memory(constant.data, array)


def test_what_has_no_bytes_is_refused() -> None:
    with pytest.raises(UnpackableError, match=r"^a program holds a object$"):
        pack(called_with(object()))


def test_damaged_bytes_are_refused() -> None:
    data, _ = pack(tvms.load(SAMPLES[0]))
    for part in (b"", data[:-1], data[1:], b"\x93\x91\xa3x:y\x90\x90", data.replace(b"IntImm", b"IntImn")):
        with pytest.raises(UnpackableError, match=r"^the bytes are not a program: "):
            unpack(part, [])
