"""The law of memory in compiled code and in the interpreter: what is accessed lies in its allocation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvms
from tvms.ir.interp import run

Arguments = Callable[[], tuple[Any, ...]]

WAYS = ("interpreted", "check at O0", "check", "prove at O0", "prove")


def told(text: str, way: str, arguments: Arguments, calls: int = 1) -> str:
    """Return the codes and messages of the error of a call, "" where there is none."""
    module = tvms.parse(text, "memory.tvms")
    bounds: Any = way.split()[0]
    try:
        if way == "interpreted":
            run(module, "main", arguments())
            return ""
        function = tvms.compile(module, bounds=bounds, level=0 if "O0" in way else 3)["main"]
        for _ in range(calls):
            function(*arguments())
    except tvms.TvmsError as problem:
        return "; ".join(f"{diagnostic.code}: {diagnostic.message}" for diagnostic in problem.diagnostics)
    return ""


# --- Sizes ------------------------------------------------------------------------------------------------------

NARROW = """
T.prim_func main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int8")
    B = T.match_buffer(b, (1,), "int8")
    B[0] = T.int8(1)
"""


def test_sizes_fit_their_dtype_at_the_call() -> None:
    large = np.empty(2**31 + 5, "i1")  # never touched, so that it takes no memory
    for way in WAYS:
        said = told(NARROW, way, lambda: (large, np.zeros(1, "i1")))
        if way == "interpreted":
            expected = "argument 'A' has shape (2147483653,), but its dimension 0 is bound to n of dtype int32"
        else:
            expected = "argument 'a' of 'main': dimension 0 is 2147483653, but 'n' has dtype int32, whose maximum is 2147483647"
        assert said == f"E0703: {expected}"


def test_sizes_fit_their_dtype_in_quick_calls() -> None:
    call = tvms.compile(tvms.parse(NARROW))["main"]
    small, result = np.zeros(4, "i1"), np.zeros(1, "i1")
    for _ in range(8):
        call(small, result)
    with pytest.raises(tvms.TvmsError, match="dimension 0 is 2147483653"):
        call(np.empty(2**31 + 5, "i1"), result)


def test_sizes_that_are_expressions_fit_their_dtype() -> None:
    text = NARROW.replace('(1,), "int8"', '(n * 2,), "int8"')
    large = np.empty(2**31, "i1")
    for way in WAYS[1:]:
        said = told(text, way, lambda: (large[: 2**30], large))
        reason = "dimension 0 is 2147483648, but 'n * 2' has dtype int32, whose maximum is 2147483647"
        assert said == f"E0703: argument 'b' of 'main': {reason}"


def test_strides_that_are_expressions_are_checked() -> None:
    text = """
T.prim_func main(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 4), "int8", strides=[n * 100, 1])
    A[n - 1, 0] = T.int8(1)
"""
    for way in WAYS:
        assert told(text, way, lambda: (np.zeros((4, 4), "i1"),)).startswith("E0706")


@pytest.mark.parametrize("offset", ["k", "k * 2", "k + 4 - 1"])
def test_arrays_start_at_element_0(offset: str) -> None:
    text = f"""
T.prim_func main(a: T.handle, k: T.int32):
    A = T.match_buffer(a, (4,), "int8", elem_offset={offset})
    A[0] = T.int8(1)
"""
    for way in WAYS:
        assert told(text, way, lambda: (np.zeros(4, "i1"), 1), calls=6).startswith("E0706"), way


def test_an_offset_of_its_own_is_0() -> None:
    text = """
T.prim_func main(a: T.handle):
    k = T.int32()
    A = T.match_buffer(a, (4,), "int8", elem_offset=k)
    A[k] = T.int8(1)
"""
    for way in WAYS:
        assert told(text, way, lambda: (np.zeros(4, "i1"),), calls=6) == ""


# --- Shifts -----------------------------------------------------------------------------------------------------

SHIFTS = """
T.prim_func main(A: T.Buffer((8,), "{dtype}"), N: T.Buffer((8,), "{dtype}")):
    for i in {kind}(8):
        with T.block("shift"):
            vi = T.axis.spatial(8, i)
            A[vi] = T.{name}(A[vi], N[vi])
"""


@pytest.mark.parametrize("kind", ["T.serial", "T.vectorized"])
@pytest.mark.parametrize("name", ["shift_left", "shift_right"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64"])
def test_shifts_by_any_count(dtype: str, name: str, kind: str) -> None:
    text = SHIFTS.format(dtype=dtype, name=name, kind=kind)
    values = np.array([1, 3, -1, -7, 100, 127, -128, 5]).astype(dtype)
    counts = np.array([0, 1, 7, 8, 31, 32, 64, 127]).astype(dtype)
    expected = values.copy()
    run(tvms.parse(text), "main", (expected, counts))
    wide = [int(value) for value in values]
    shifted = [v << int(n) if name == "shift_left" else v >> int(n) for v, n in zip(wide, counts, strict=True)]
    np.testing.assert_array_equal(expected, np.array([number % 2**64 for number in shifted], "u8").astype(dtype))
    for bounds in ("check", "prove"):
        found = values.copy()
        tvms.compile(tvms.parse(text), bounds=bounds)["main"](found, counts)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", ["T.serial", "T.vectorized"])
@pytest.mark.parametrize("name", ["shift_left", "shift_right"])
def test_shifts_by_a_negative_count(name: str, kind: str) -> None:
    text = SHIFTS.format(dtype="int32", name=name, kind=kind)
    for way in WAYS:
        said = told(text, way, lambda: (np.ones(8, "i4"), np.array([0, 1, 2, 3, 4, 5, -1, 0], "i4")))
        assert said == "E0712: a shift by a negative count"


def test_lanes_that_are_off_shift_by_any_count() -> None:
    text = SHIFTS.format(dtype="int32", name="shift_left", kind="T.vectorized")
    text = text.replace("A[vi] = ", "if N[vi] >= 0:\n                A[vi] = ")
    for way in WAYS:
        assert told(text, way, lambda: (np.ones(8, "i4"), np.arange(-4, 4, dtype="i4"))) == ""


def test_fixed_point_shifts() -> None:
    text = """
T.prim_func main(A: T.Buffer((1,), "int32"), q: T.int32, s: T.int32):
    A[0] = T.q_multiply_shift(A[0], 1 << 30, q, s)
"""
    for q, s, expected in ((31, 1, ""), (31, -3, ""), (0, 1, "E0712"), (31, -40, "E0712"), (31, 40, "E0712")):
        for way in WAYS:
            assert told(text, way, lambda q=q, s=s: (np.ones(1, "i4"), q, s))[:5] == expected


# --- Pointers that no buffer has --------------------------------------------------------------------------------


def test_hints_of_a_prefetch() -> None:
    text = 'T.prim_func main(A: T.Buffer((4,), "int64")):\n    T.evaluate(T.prefetch("int32", A.data, {}))\n'
    arguments: Arguments = lambda: (np.zeros(4, "i8"),)  # noqa: E731
    for hints in ("0, 3, 1", "1, 0, 1", "1, 2, 0"):
        assert [told(text.format(hints), way, arguments) for way in WAYS] == [""] * len(WAYS)
    for hints, said in (("1, 2, 3", "cache = 3"), ("2, 0, 1", "rw = 2"), ("0, -1, 1", "locality = -1")):
        assert told(text.format(hints), "prove", arguments) == f"E0606: a prefetch has {said}"


def test_integers_are_no_pointers_in_the_interpreter() -> None:
    text = """
T.prim_func main(A: T.Buffer((4,), "int64")):
    T.evaluate(T.call_intrin("int64", "tir.atomic_add", T.reinterpret("handle", T.uint64(4096)), T.int64(1)))
"""
    said = told(text, "interpreted", lambda: (np.zeros(4, "i8"),))
    assert said == "E0725: an integer cannot become a pointer"


# --- Matched buffers --------------------------------------------------------------------------------------------

MATCH = """
T.prim_func main(A: T.Buffer((4, 6), "int64")):
    with T.block("b"):
        X = T.match_buffer(A[{region}], {shape}, "int64"{strides})
        T.evaluate(0)
"""


@pytest.mark.parametrize(
    ("region", "shape", "strides", "said"),
    [
        ("0:4, 0:2", "(1, 4, 2)", "", "has 3 dimensions, but its region of 'A' has 2"),
        ("0:4, 0:2", "(4, 3)", "", "has extent 3 in dimension 1, but its region of 'A' has 2"),
        ("0:4, 0:2", "(4, 2)", ", strides=[1]", "has 2 dimensions, but 1 stride"),
        (
            "0:4, 0:2",
            "(4, 2)",
            ", strides=[100000000, 1]",
            "has stride 100000000 in dimension 0, but its region of 'A' has 6",
        ),
    ],
)
def test_matched_buffers_that_do_not_fit_their_region(region: str, shape: str, strides: str, said: str) -> None:
    module = tvms.parse(MATCH.format(region=region, shape=shape, strides=strides), "memory.tvms")
    (found,) = tvms.verify(module)
    assert (found.code, found.message) == ("E0427", f"matched buffer 'X' {said}")


def test_a_matched_buffer_of_too_many_dimensions_as_it_is_shown() -> None:
    text = """
T.prim_func main(A: T.Buffer((4,), "int64")):
    with T.block("b"):
        X = T.match_buffer(A[0:4], (2, 2), "int64", strides=[100000000, 1])
        X[1, 1] = T.int64(3)
"""
    (found,) = tvms.verify(tvms.parse(text, "memory.tvms"))
    assert (
        str(tvms.TvmsError([found]))
        == """\
error[E0427]: matched buffer 'X' has 2 dimensions, but its region of 'A' has 1
  --> memory.tvms:4:13
   |
 4 |         X = T.match_buffer(A[0:4], (2, 2), "int64", strides=[100000000, 1])
   |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   = help: declare the shape of the region, and no strides of your own"""
    )
    for way in WAYS:
        assert told(text, way, lambda: (np.zeros(4, "i8"),)) == f"E0427: {found.message}"


# --- Views ------------------------------------------------------------------------------------------------------

VIEWS = [
    # a view, its element that is written, and the fault: the position that is told, and the elements there are
    ('C = T.Buffer((1000,), "int64", data=A.data)', "[i * 4]", (4, 4)),
    ('C = T.Buffer((4,), "int64", data=A.data, elem_offset=10**9)', "[i]", (10**9, 4)),
    ('C = T.Buffer((4,), "int64", data=A.data, elem_offset=-1)', "[i]", (-1, 4)),
    ('C = T.Buffer((4,), "int64", data=A.data, elem_offset=2)', "[i]", (4, 4)),
    ('C = T.Buffer((4,), "int64", data=A.data, elem_offset=n)', "[i]", (4, 4)),
    ('C = T.Buffer((4, 2), "int64", data=A.data, strides=[10**8, 1])', "[i, 0]", (10**8, 4)),
    ('C = T.Buffer((4, 2), "int64", data=A.data, strides=[-10**8, 1])', "[i, 0]", (-(10**8), 4)),
    ('C = T.Buffer((4, 2), "int64", data=A.data, strides=[2**61, 1])', "[i, 0]", (2**61, 4)),
    ('C = T.Buffer((4, 2), "int64", data=A.data, strides=[2**62, 2**62])', "[i, i // 3]", (2**62, 4)),
    ('C = T.Buffer((4,), "int64", data=A.data, strides=[n])', "[i]", (6, 4)),
    ('C = T.Buffer((4, 4), "int64", data=A.data, strides=[1, 0], elem_offset=1)', "[i, i]", (4, 4)),
    ('C = T.Buffer((4,), "int64", data=A.data, strides=[n - 5])', "[i]", (-2, 4)),
    ('C = T.Buffer((4, 4), "int64", data=A.data)', "[i, 3]", (7, 4)),
    ('C = T.Buffer((n, n + 1), "int64", data=A.data)', "[0, i]", None),
    ('C = T.Buffer((n * n,), "int64", data=A.data)', "[i]", None),
    ('C = T.Buffer((), "int64", data=A.data, elem_offset=n + 1)', "[()]", (4, 4)),
    ('C = T.Buffer((8,), "int32", data=A.data)', "[i * 2]", None),
    ('C = T.Buffer((9,), "int32", data=A.data)', "[8 - i]", (8, 8)),
    ('C = T.Buffer((4,), "float64", data=A.data, elem_offset=1)', "[i]", (4, 4)),
    ('C = T.Buffer((40,), "int8", data=A.data)', "[i + 29]", (32, 32)),
    ('p: T.handle("int64") = T.address_of(A[2])\n    C = T.decl_buffer((4,), "int64", data=p)', "[i]", (2, 2)),
    ('p: T.handle("int64") = T.address_of(A[n])\n    C = T.decl_buffer((4,), "int64", data=p)', "[i]", (1, 1)),
    (
        'p: T.handle("int64") = T.address_of(A[n])\n    C = T.decl_buffer((4,), "int64", data=p, strides=[-1])',
        "[i]",
        None,
    ),
    (
        'p: T.handle("int64") = T.handle_add_byte_offset(A.data, 8)\n    C = T.decl_buffer((4,), "int64", data=p)',
        "[i]",
        (3, 3),
    ),
    (
        'p: T.handle("int64") = T.handle_add_byte_offset(A.data, -8)\n    C = T.decl_buffer((4,), "int64", data=p)',
        "[i]",
        (0, 5),
    ),
    (
        'p: T.handle("int64") = T.handle_add_byte_offset(A.data, n * 8)\n    C = T.decl_buffer((4,), "int64", data=p)',
        "[i]",
        (1, 1),
    ),
    (
        'p: T.handle("int64") = T.handle_add_byte_offset(A.data, 4)\n    C = T.decl_buffer((4,), "int64", data=p)',
        "[i]",
        (3, 3),
    ),
    (
        'p: T.handle("int64") = T.if_then_else(n > 2, T.address_of(A[1]), A.data)\n    C = T.decl_buffer((4,), "int64", data=p)',
        "[i]",
        (3, 3),
    ),
    (
        'p: T.handle("int64") = T.address_of(A[1])\n    q: T.handle("int64") = T.handle_add_byte_offset(p, n * 4)\n    C = T.decl_buffer((4,), "int64", data=q)',
        "[i]",
        (1, 1),
    ),
    (
        'p: T.handle("int64") = T.tvm_access_ptr(T.type_annotation("int64"), A.data, 3, 1, 3)\n    C = T.decl_buffer((4,), "int64", data=p)',
        "[i]",
        (1, 1),
    ),
    (
        'p: T.handle("int64") = T.reinterpret("handle", A.data)\n    C = T.decl_buffer((5,), "int64", data=p)',
        "[i + 1]",
        (4, 4),
    ),
    ('B = T.alloc_buffer((2,), "int64")\n    C = T.Buffer((4,), "int64", data=B.data)', "[i]", (2, 2)),
    ('B = T.alloc_buffer((n,), "int64")\n    C = T.Buffer((4,), "int64", data=B.data)', "[i]", (3, 3)),
    ('C = T.Buffer((4,), "int64x2", data=A.data)', "[i]", (2, 2)),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("view", "element", "place"), VIEWS)
def test_views_lie_in_their_allocation(view: str, element: str, place: tuple[int, int] | None, way: str) -> None:
    value = "T.Broadcast(T.int64(1), 2)" if "x2" in view else f'T.Cast("{_dtype(view)}", 1)'
    text = f"""
T.prim_func main(A: T.Buffer((4,), "int64"), n: T.int32):
    {view}
    for i in range(4):
        C{element} = {value}
"""
    memory = np.full(12, -5, "i8")
    expected = ""
    if place is not None:
        expected = f"E0707: element {place[0]} of 'C' is outside its memory, which holds {place[1]} elements"
    assert told(text, way, lambda: (memory[4:8], 3)) == expected
    assert (memory[:4] == -5).all()
    assert (memory[8:] == -5).all()


def _dtype(view: str) -> str:
    return view[view.rindex("C = ") :].split('"')[1]


@pytest.mark.parametrize(("view", "element", "place"), VIEWS)
def test_strict_checks_say_what_is_not_proven(view: str, element: str, place: tuple[int, int] | None) -> None:
    value = "T.Broadcast(T.int64(1), 2)" if "x2" in view else f'T.Cast("{_dtype(view)}", 1)'
    text = f"""
T.prim_func main(A: T.Buffer((4,), "int64"), n: T.int32):
    {view}
    for i in range(4):
        C{element} = {value}
"""
    told = {diagnostic.code for diagnostic in tvms.verify(tvms.parse(text), "bounds", strict=True)}
    if place is not None:
        assert told & {"E0414", "E0420"}


CALLS = """
I.ir_module Module:
    T.prim_func main(A: T.Buffer(({size},), "int64"), n: T.int32):
        p: T.handle("int64") = T.handle_add_byte_offset(A.data, {offset})
        Module.fill(p)

    T.prim_func(private=True) fill(F: T.Buffer((4,), "int64")):
        for i in range(4):
            F[i] = T.int64(1)
"""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("size", "offset", "fits"), [(4, 0, True), (3, 0, False), (6, "n * 8", True), (6, "n * 12", False), (9, -8, False)])  # fmt: skip
def test_functions_get_as_much_memory_as_their_buffers_have(size: int, offset: object, fits: bool, way: str) -> None:
    said = "this pointer has less memory than 'F' of 'fill', which is 32 bytes large"
    text = CALLS.format(size=size, offset=offset)
    assert told(text, way, lambda: (np.zeros(size, "i8"), 2)) == ("" if fits else f"E0707: {said}")


@pytest.mark.parametrize("cast", ['T.reinterpret("handle", T.uint64(4096))', 'T.reinterpret("handle", T.int64(n))'])
def test_integers_become_pointers_only_on_trust(cast: str) -> None:
    text = f"""
T.prim_func main(A: T.Buffer((4,), "int64"), n: T.int32):
    p: T.handle("int64") = {cast}
    C = T.decl_buffer((4,), "int64", data=p)
    if n > 5:
        C[0] = T.int64(1)
"""
    for way in WAYS:
        code = "E0725" if way == "interpreted" else "E0619"
        assert told(text, way, lambda: (np.zeros(4, "i8"), 2)) == f"{code}: an integer cannot become a pointer"
    tvms.compile(tvms.parse(text), bounds="trust")["main"](np.zeros(4, "i8"), 2)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("start", "n", "fits"), [("0", 4, True), ("n", 4, False), ("n - 4", 3, False), ("n - 2", 2**31 - 1, False)]
)
def test_regions_lie_in_their_source(start: str, n: int, fits: bool, way: str) -> None:
    text = f"""
T.prim_func main(A: T.Buffer((4,), "int64"), n: T.int32):
    with T.block("b"):
        T.reads()
        T.writes()
        X = T.match_buffer(A[{start}:{start} + 4], (4,), "int64")
        X[3] = T.int64(1)
"""
    said = "E0707: the region of matched buffer 'X' is outside 'A' in dimension 0"
    assert told(text, way, lambda: (np.zeros(4, "i8"), n)) == ("" if fits else said)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("index", "fits"), [("n", False), ("n - 2", True), ("0 - n", False)])
def test_elements_of_matched_buffers_lie_in_their_region(index: str, fits: bool, way: str) -> None:
    text = f"""
T.prim_func main(A: T.Buffer((16,), "int64"), n: T.int32):
    with T.block("b"):
        T.reads()
        T.writes()
        X = T.match_buffer(A[4:6], (2,), "int64")
        X[{index}] = T.int64(1)
"""
    said = told(text, way, lambda: (np.zeros(16, "i8"), 2))
    assert said.startswith("E0707: X[") != fits


@pytest.mark.parametrize("way", WAYS)
def test_the_address_of_an_element_of_a_matched_buffer(way: str) -> None:
    text = """
T.prim_func main(A: T.Buffer((4, 4), "int32"), n: T.int32):
    with T.block("b"):
        T.reads()
        T.writes()
        X = T.match_buffer(A[1:3, 1:3], (2, 2), "int32")
        p: T.handle("int32") = T.address_of(X[n, 1])
        C = T.decl_buffer((100,), "int32", data=p)
        C[n * 6] = 1
"""
    said = [told(text, way, lambda n=n: (np.zeros((4, 4), "i4"), n)) for n in (0, 1, 2)]
    assert said[0] == ""
    assert said[1] == "E0707: element 6 of 'C' is outside its memory, which holds 6 elements"
    assert said[2] == "E0707: X[2, 1] is outside the buffer: its dimension 0 has 2 elements"


BOOL_VIEW = """
T.prim_func main(A: T.Buffer((8,), "{dtype}"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "bool"), D: T.Buffer((8,), "bool")):
    V = T.decl_buffer((8,), "bool", data=A.data)
    for i in {kind}(8):
        B[i] = T.Select(V[i], T.Cast("int32", V[i]), 7)
        C[i] = not V[i]
        D[i] = V[i] == V[7 - i]
"""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["range", "T.vectorized"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_any_byte_of_a_bool_but_zero_is_true(dtype: str, kind: str, way: str) -> None:
    """NumPy's rule, which views of other memory, and arrays that NumPy views as bool, need."""
    data = np.array([0, 1, 2, 255, 128, 254, 3, 0], "u1")
    arrays = data.view(dtype), np.zeros(8, "i4"), np.zeros(8, "?"), np.zeros(8, "?")
    assert not told(BOOL_VIEW.format(dtype=dtype, kind=kind), way, lambda: arrays)
    np.testing.assert_array_equal(arrays[1], np.where(data != 0, 1, 7))
    np.testing.assert_array_equal(arrays[2], data == 0)
    np.testing.assert_array_equal(arrays[3], (data != 0) == (data != 0)[::-1])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("store", ["V[i] = V[i]", "E[i] = V[i]"])
@pytest.mark.parametrize("kind", ["range", "T.vectorized", "T.parallel"])
def test_a_stored_bool_is_one_or_zero(kind: str, store: str, way: str) -> None:
    """A store of a loaded bool is not removed, nor copied as bytes: it changes bytes other than 0 and 1."""
    data = np.array([0, 1, 2, 255, 128, 254, 3, 0], "u1")
    text = f"""
T.prim_func main(A: T.Buffer((8,), "uint8"), E: T.Buffer((8,), "bool")):
    V = T.decl_buffer((8,), "bool", data=A.data)
    for i in {kind}(8):
        {store}
"""
    arrays = data.copy(), np.zeros(8, "?")
    assert not told(text, way, lambda: arrays)
    np.testing.assert_array_equal(arrays[store[0] == "E"].view("u1"), data != 0)


def test_simplification_keeps_stores_of_loaded_bools() -> None:
    module = tvms.parse(BOOL_VIEW.format(dtype="int8", kind="range").replace("C[i] = not V[i]", "V[i] = V[i]"))
    assert "V[i] = V[i]" in tvms.tir.transform.Simplify()(module).script()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint32"])
@pytest.mark.parametrize("k", [1, -2, 250])
def test_indices_that_wrap_do_not_bound_what_an_array_needs(k: int, dtype: str, way: str) -> None:
    """The region of `M` that is accessed decides how much of it is allocated."""
    text = f"""
T.prim_func main(k: T.int32, B: T.Buffer((4,), "int8")):
    with T.block("block"):
        v = T.axis.spatial(1, 0)
        M = T.alloc_buffer((4,), "int8")
        for f in range(4):
            M[f] = T.Cast("int8", f)
        for i in T.unroll(8):
            M[T.Cast("{dtype}", k + i)] = M[3 - i]
        B[0] = M[0]
"""
    index = 4 if k == 1 else np.array(k).astype(dtype)  # the first that is outside
    said = told(text, way, lambda: (k, np.zeros(4, "i1")))
    assert said == f"E0707: M[{index}] is outside the buffer: its dimension 0 has 4 elements"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["range", "T.unroll", "T.vectorized"])
@pytest.mark.parametrize(
    ("store", "said"),
    [
        ("V[i + 1] = i", "E0707: V[4] is outside the buffer: its dimension 0 has 4 elements"),
        ("V[0] = V[i + 1]", "E0707: V[4] is outside the buffer: its dimension 0 has 4 elements"),
        ("A[(i // 3) * A[i * 30]] = i", "E0707: A[30] is outside the buffer: its dimension 0 has 16 elements"),
        ("A[i * (1 // k)] = i", "E0708: division by zero"),
        ("A[(1 // k) % (i + 1)] = i", "E0708: division by zero"),
    ],
)
def test_a_product_with_zero_keeps_the_faults_of_its_factors(store: str, said: str, kind: str, way: str) -> None:
    text = f"""
T.prim_func main(k: T.int32, A: T.Buffer((16,), "int32")):
    V = T.decl_buffer((4,), "int32", data=A.data, strides=[0])
    for i in {kind}(4):
        {store}
"""
    assert told(text, way, lambda: (0, np.zeros(16, "i4"))) == said


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("k", [0, 2, 10**9, -(10**9)])
@pytest.mark.parametrize("index", ["A[A[k]]", "A[A[k] % 4]", "X[X[k]]", "X[T.max(X[k], X[k])]"])
def test_addresses_of_elements_at_loaded_indices(index: str, k: int, way: str) -> None:
    """The load of the index is checked before any other load of it, and the address keeps its memory."""
    text = f"""
T.prim_func main(k: T.int32, A: T.Buffer((4,), "int32")):
    with T.block("block"):
        T.reads()
        T.writes()
        X = T.match_buffer(A[0:4], (4,), "int32")
        p: T.handle("int32") = T.address_of({index})
        C = T.decl_buffer((1,), "int32", data=p)
        C[0] = 7
"""
    array = np.array([3, 0, 1, 2], "i4")
    said = told(text, way, lambda: (k, array))
    if 0 <= k < 4:
        assert not said
        np.testing.assert_array_equal(array, [3, 0, 1, 7] if k == 0 else [3, 7, 1, 2])
    else:
        assert said == f"E0707: {index[0]}[{k}] is outside the buffer: its dimension 0 has 4 elements"


@pytest.mark.parametrize("sizes", [(0, 3), (3, 0), (0, 0), (2, 3), (-1, 3), (-1, -1), (-2, 0)], ids=str)
@pytest.mark.parametrize("strides", ["(m * 3 + 1, 2)", "(m, 1)", "(1, n)"])
def test_strided_buffers_may_be_empty(strides: str, sizes: tuple[int, int]) -> None:
    text = f"""T.prim_func main(A: T.Buffer((1,), "int32"), n: T.int32, m: T.int32):
    B = T.alloc_buffer((n, m), "int32", strides={strides})
    for i, j in T.grid(n, m):
        B[i, j] = 1
    for i, j in T.grid(n, m):
        A[0] = A[0] + B[i, j]
"""

    def outcome(call: Any) -> Any:
        array = np.zeros(1, "i4")
        try:
            call(array)
        except tvms.TvmsError as problem:
            return problem.diagnostics[0].code
        return int(array[0])

    module = tvms.parse(text)
    found = [outcome(lambda array: run(module, "main", (array, *sizes)))]
    found += [
        outcome(lambda array, level=level: tvms.compile(module, level=level)["main"](array, *sizes)) for level in (0, 3)
    ]
    assert found == [sizes[0] * sizes[1] if min(sizes) >= 0 else "E0717"] * 3


def test_a_prefetched_argument_may_be_read_only() -> None:
    text = """
T.prim_func main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    T.evaluate(T.prefetch("void", T.address_of(A[8]), 0, 3, 1))
    for i in range(16):
        B[i] = A[i]
"""
    a, b = np.arange(16, dtype="f4"), np.zeros(16, "f4")
    a.flags.writeable = False
    tvms.compile(tvms.parse(text))["main"](a, b)
    np.testing.assert_array_equal(b, a)
