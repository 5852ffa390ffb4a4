"""What laws about text draw beside programs: details of nodes, and texts that are also Python."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
import tvms
from hypothesis import Phase, given, settings
from tvms.dsl.load import parse_source
from tvms.dsl.testing.modules import all_modules
from tvms.ir import relax, tir
from tvms.ir.base import Source
from tvms.ir.interp import run
from tvms.ir.visit import walk
from tvms.testing.choices import Choices, drawn
from tvms.testing.details import detailed, details_of
from tvms.testing.floats import Program
from tvms.testing.laws import arguments, locate
from tvms.testing.python_texts import PythonText, python_text

FEW = settings(max_examples=30, derandomize=True, deadline=None, database=None, phases=[Phase.generate])


@FEW
@given(drawn(lambda choose: (choose.draw(all_modules()), choose)))
def test_a_module_with_details_computes_the_same_structure(drawn_pair: tuple[tvms.IRModule, Choices]) -> None:
    module, choose = drawn_pair
    changed = detailed(choose, module)
    kinds, others = (
        [type(node) for function in each.functions.values() for node in walk(function)] for each in (module, changed)
    )
    assert len(others) == len(kinds) or set(others) <= {*kinds, tir.IntImm}


@pytest.mark.parametrize(
    "kind", [tir.Block, tir.For, tir.Buffer, tir.Allocate, tir.PrimFunc, relax.Function], ids=lambda kind: kind.__name__
)
def test_kinds_with_optional_fields_have_details(kind: type[msgspec.Struct]) -> None:
    assert details_of(kind)  # type: ignore[arg-type]


@FEW
@given(drawn(python_text))
def test_a_written_text_is_read_again(example: PythonText) -> None:
    assert PythonText.read(str(example)) == example


@FEW
@given(drawn(python_text))
def test_a_written_text_is_valid(example: PythonText) -> None:
    assert parse_source(Source("a.tvms", example.text))


def test_a_second_error_breaks_the_law_of_positions() -> None:
    text = 'T.prim_func f(A: T.Buffer((4,), "float32")):\n    A[0] = nowhere\n    A[1] = nothing\n'
    start = text.index("nowhere")
    with pytest.raises(AssertionError) as caught:
        locate.LAW.check(locate._Example(text, "E0101", start, start + 7), tvms.compile)
    told = f"E0101 at {(start, start + 7)}"
    second = text.index("nothing")
    assert str(caught.value) == f"reported: {told}, E0101 at {(second, second + 7)}; expected only {told}"


def test_python_is_the_oracle_of_ranges_and_precedence() -> None:
    text = PythonText("for i in range(x - 1, y * 2 - x):\n    B[i & 3] += 7 - 2 - i << 1\n", 2, 4)
    memory = np.zeros(4, "int32")
    run(parse_source(Source("a.tvms", text.text)), "main", [memory, 2, 4])
    assert memory.tolist() == text.expected() == [2, 8, 6, 4]


def test_another_text_is_no_python_text() -> None:
    assert PythonText.read("T.prim_func main():\n    pass\n") is None


def test_constants_become_elements() -> None:
    program = Program(
        'T.prim_func main(B: T.Buffer((2,), "float32")):\n    for i in range(2):\n        B[i] = T.float32(3e38) * T.float32("inf")\n',
        "formula",
    )
    unfolded = program.unfolded()
    assert unfolded is not None
    text, dtype, constants = unfolded
    assert (dtype, constants) == ("float32", ("3e38", "inf"))
    assert 'main(K: T.Buffer((2,), "float32"), B:' in text
    assert "B[i] = K[0] * K[1]" in text
    assert tvms.parse(text)


def test_every_optional_argument_of_a_form_can_be_varied() -> None:
    """Law `arguments` finds a use of each form, or knows that it has none; nothing else ends the search."""
    contexts = {f"{name}.{parameter}": arguments._context_of(name, parameter) for name, parameter in arguments._forms()}  # type: ignore[reportPrivateUsage]
    without = [name for name, context in contexts.items() if context is None]
    assert len(without) < len(contexts) / 5, without
