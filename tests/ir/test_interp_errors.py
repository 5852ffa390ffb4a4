"""What goes wrong while a program runs: each message, whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from tvms.ir.interp import run

COPY = """
T.prim_func main(A: T.Buffer((4, 3), "float32"), B: T.Buffer((4, 3), "float32")):
    for i, j in T.grid(4, 3):
        with T.block("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
"""
TWO_SIZES = """
T.prim_func main(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n, n * 2), "float32")
    T.evaluate(0)
"""
SCALARS = """
T.prim_func main(n: T.int8, x: T.float32):
    T.evaluate(n)
"""
GRAPH = """
R.function main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n",), "float32"), p: R.Tuple(R.Shape(["n"]), R.Object)):
    return x
"""


def floats(*shape: int) -> np.ndarray:
    return np.zeros(shape, "float32")


def message(text: str, *args: Any, entry: str = "main", **options: Any) -> str:
    """Run a program that fails; return its first error as `code: message`, with the text that it points at."""
    with pytest.raises(tvms.TvmsError) as caught:
        run(tvms.parse(text), entry, args, **options)
    (diagnostic,) = caught.value.diagnostics
    span = diagnostic.span
    place = "" if span is None else f" at `{span.source.text[span.start : span.end].splitlines()[0]}`"
    hint = f" ({diagnostic.help})" if diagnostic.help else ""
    return f"{diagnostic.code}: {diagnostic.message}{hint}{place}"


@pytest.mark.parametrize(
    ("text", "args", "expected"),
    [
        (COPY, (floats(4, 3),), "E0701: 'main' takes 2 arguments, but 1 was given"),
        (COPY, (floats(4, 3), 1.5), "E0702: argument 'B' is of type float, but must be a NumPy array"),
        (COPY, (np.zeros((4, 3)), floats(4, 3)), "E0703: argument 'A' has dtype float64, but must be float32"),
        (COPY, (floats(12), floats(4, 3)), "E0704: argument 'A' has 1 dimension, but 2 are declared"),
        (COPY, (floats(4, 5), floats(4, 3)), "E0705: argument 'A' has shape (4, 5), but its dimension 1 is 3"),
        (
            COPY,
            (floats(3, 4).T, floats(4, 3)),
            "E0706: argument 'A' has strides (1, 4), but must be contiguous in row-major order (pass numpy.ascontiguousarray of it)",
        ),
        (
            TWO_SIZES,
            (floats(3), floats(3, 5)),
            "E0705: argument 'B' has shape (3, 5), but its dimension 1 is n * 2, which is 6",
        ),
        (
            TWO_SIZES,
            (floats(3), floats(2, 6)),
            "E0705: argument 'B' has shape (2, 6), but its dimension 0 is n, which is 3",
        ),
        (SCALARS, ("1", 1.0), "E0702: argument 'n' is of type str, but must be a number"),
        (SCALARS, (1.5, 1.0), "E0703: argument 'n' is 1.5, but must be of dtype int8"),
        (SCALARS, (200, 1.0), "E0703: argument 'n' is 200, which is outside int8"),
        (GRAPH, (floats(2, 4),), "E0701: 'main' takes 3 arguments, but 1 was given"),
        (GRAPH, (floats(2, 5), floats(2), ((2,), 0)), "E0705: argument 'x' has shape (2, 5), but its dimension 1 is 4"),
        (
            GRAPH,
            (floats(2, 4), floats(3), ((2,), 0)),
            "E0705: argument 'y' has shape (3,), but its dimension 0 is n, which is 2",
        ),
        (GRAPH, (floats(2, 4), floats(2), 7), "E0702: argument 'p' is of type int, but must be a tuple"),
        (GRAPH, (floats(2, 4), floats(2), ()), "E0704: argument 'p' has 0 fields, but 2 are declared"),
        (
            GRAPH,
            (floats(2, 4), floats(2), (2, 0)),
            "E0702: field 0 of argument 'p' is of type int, but must be a shape: a tuple of integers",
        ),
    ],
)
def test_arguments_that_do_not_fit(text: str, args: tuple[Any, ...], expected: str) -> None:
    assert message(text, *args).split(" at `")[0] == expected


def program(*lines: str, parameters: str = 'A: T.Buffer((4, 3), "float32"), n: T.int32') -> str:
    return f"T.prim_func main({parameters}):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            ["for i in range(5):", "    A[i, 2] = T.float32(1)"],
            "E0707: A[4, 2] is outside the buffer: its dimension 0 has 4 elements at `A[i, 2] = T.float32(1)`",
        ),
        (
            ["A[0, 0] = A[n - 1, 0]"],
            "E0707: A[-1, 0] is outside the buffer: its dimension 0 has 4 elements at `A[n - 1, 0]`",
        ),
        (
            ["A[3, T.Ramp(1, 1, 4)] = T.Broadcast(T.float32(0), 4)"],
            "E0707: A[3, 3] is outside the buffer: its dimension 1 has 3 elements"
            " at `A[3, T.Ramp(1, 1, 4)] = T.Broadcast(T.float32(0), 4)`",
        ),
        (
            ['B = T.decl_buffer((20,), "float32", data=A.data)', "A[0, 0] = B[12]"],
            "E0707: element 12 of 'B' is outside its memory, which holds 12 elements"
            " (check the shape, strides and elem_offset that the buffer was declared with) at `B[12]`",
        ),
        (["T.evaluate(5 // n)"], "E0708: division by zero at `5 // n`"),
        (["T.evaluate(T.truncmod(5, n))"], "E0708: division by zero at `T.truncmod(5, n)`"),
        (
            ['assert n > 0, "n must be positive"'],
            """E0711: assertion failed: n must be positive at `assert n > 0, "n must be positive"`""",
        ),
        (
            ['T.evaluate(T.call_extern("int32", "nothing", n))'],
            "E0715: the external function 'nothing' is not registered (register it: tvms.register_func(\"nothing\", function))"
            ' at `T.call_extern("int32", "nothing", n)`',
        ),
        (
            [
                "for i in range(4):",
                '    with T.block("b"):',
                "        vi = T.axis.spatial(3, i)",
                "        A[vi, 0] = T.float32(0)",
            ],
            """E0713: block 'b' runs with vi = 3, outside its domain [0, 3) at `with T.block("b"):`""",
        ),
        (
            ['tx = T.launch_thread("threadIdx.x", 4)', "if tx < 1:", '    T.tvm_storage_sync("shared")'],
            "E0714: only 1 of 4 threads reach this barrier (move it out of conditions and loops that some threads skip or leave)"
            ' at `T.tvm_storage_sync("shared")`',
        ),
        (
            [
                'tx = T.launch_thread("threadIdx.x", 4)',
                "if T.tvm_warp_shuffle(T.uint32(0), tx, 0, 4, 4) == 0:",
                "    A[0, 0] = T.float32(0)",
            ],
            "E0712: threads can exchange values only where one is stored, bound or evaluated (store it to a buffer first)"
            " at `T.tvm_warp_shuffle(T.uint32(0), tx, 0, 4, 4)`",
        ),
        (["T.evaluate(T.shift_left(1, n - 1))"], "E0712: a shift by a negative count at `T.shift_left(1, n - 1)`"),
    ],
)
def test_programs_that_go_wrong(lines: list[str], expected: str) -> None:
    assert message(program(*lines), floats(4, 3), 0) == expected


def test_the_message_as_it_is_shown() -> None:
    with pytest.raises(tvms.TvmsError) as caught:
        run(tvms.parse(program("A[0, 0] = A[n - 1, 0]"), "wrong.tvms"), "main", [floats(4, 3), 0])
    assert (
        str(caught.value)
        == """\
error[E0707]: A[-1, 0] is outside the buffer: its dimension 0 has 4 elements
  --> wrong.tvms:2:15
   |
 2 |     A[0, 0] = A[n - 1, 0]
   |               ^^^^^^^^^^^"""
    )


def test_reading_what_was_never_written() -> None:
    text = program('B = T.alloc_buffer((2,), "float32")', "B[0] = T.float32(1)", "A[0, 0] = B[0]", "A[0, 1] = B[1]")
    expected = "E0710: 'B' is read here before anything was written there at `B[1]`"
    assert message(text, floats(4, 3), 0, track=True) == expected


def test_writing_to_an_argument_that_is_read_only() -> None:
    array = floats(4, 3)
    array.flags.writeable = False
    expected = (
        "E0702: this writes to an argument that is read-only (pass a writeable array) at `A[0, 0] = T.float32(1)`"
    )
    assert message(program("A[0, 0] = T.float32(1)"), array, 0) == expected


def test_a_function_that_the_module_does_not_have() -> None:
    assert message(COPY, entry="nothing") == "E0102: the module has no function 'nothing'"


def test_calls_without_end() -> None:
    text = """
I.ir_module Module:
    R.function main(x: R.Tensor((2,), "float32"), again: R.Tensor((), "bool")) -> R.Tensor((2,), "float32"):
        cls = Module
        if again:
            y = cls.main(x, again)
        else:
            y = x
        return y
"""
    assert message(text, floats(2), np.array(True)).startswith("E0716: the calls of 'main' nest too deep")


def test_a_match_cast_that_does_not_hold() -> None:
    text = """
R.function main(x: R.Tensor(dtype="float32", ndim=2)):
    n = T.int64()
    y = R.match_cast(x, R.Tensor((n, n), "float32"))
    return y
"""
    expected = "E0705: the value of 'y' has shape (2, 3), but its dimension 1 is n, which is 2"
    assert message(text, floats(2, 3)).split(" at `")[0] == expected
