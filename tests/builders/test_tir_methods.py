"""Methods of buffers, index maps and loop functions in Python programs."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from tvms import te, tir

n = te.var("n")


def test_pointers_into_buffers() -> None:
    A = tir.decl_buffer((4, n), "float32", elem_offset=8)
    pointer = A.access_ptr("w", offset=n, extent=4)
    kind, data, start, length, mask = pointer.args
    assert (kind.dtype, data, mask.value) == ("float32", A.data, tir.Buffer.WRITE)
    assert (str(start), str(length)) == ("8 + n", "4")
    assert str(A.access_ptr("rw", offset=2).args[3]) == "4 * n - 2"
    strided = tir.decl_buffer((4, 8), "float32", strides=(16, 1))
    vectors = strided.access_ptr(tir.Buffer.READ, content_lanes=4, offset=8)
    assert [str(arg) for arg in vectors.args[2:]] == ["2", "14", "1"]
    assert vectors.args[0].dtype == "float32x4"
    with pytest.raises(ValueError, match="expected 'r', 'w' or 'rw', got 'x'"):
        A.access_ptr("x")
    with pytest.raises(ValueError, match="lanes, got 0"):
        A.access_ptr("r", content_lanes=0)


@pytest.mark.parametrize(
    ("buffer", "indices", "offsets"),
    [
        (tir.decl_buffer((4, n), elem_offset=100), [2, 3], ["n * 2 + 103"]),
        (tir.decl_buffer((4, 8), strides=(16, 2)), [1, 3], ["22"]),
        (tir.decl_buffer((4, 16, 32), axis_separators=[2]), [1, 2, 3], ["18", "3"]),
        (tir.decl_buffer(()), [], ["0"]),
    ],
)
def test_offsets_of_elements(buffer: tir.Buffer, indices: list[int], offsets: list[str]) -> None:
    assert list(map(str, buffer.offset_of(indices))) == offsets


def test_flat_buffers_of_the_same_memory() -> None:
    matrix = tir.decl_buffer((4, n))
    flat = matrix.get_flattened_buffer()
    assert flat.data is matrix.data
    assert list(map(str, flat.shape)) == ["4 * n"]
    assert flat.get_flattened_buffer() is flat
    strided = tir.decl_buffer((4, 8), strides=(16, 1)).get_flattened_buffer()
    assert (list(map(str, strided.shape)), strided.strides) == (["64"], ())
    separated = tir.decl_buffer((4, 16, 32), axis_separators=[2]).get_flattened_buffer()
    assert (list(map(str, separated.shape)), separated.axis_separators) == (["64", "32"], (1,))


def tiles(i: tir.Var) -> list[tir.PrimExpr]:
    return [i // 4, i % 4]


def test_positions_and_shapes_of_index_maps() -> None:
    index_map = tir.IndexMap.from_func(tiles, index_dtype="int32")
    assert list(map(str, index_map.map_indices([42]))) == ["10", "2"]
    assert [place.dtype for place in index_map.map_indices([tir.IntImm("int64", 42)])] == ["int64"] * 2
    assert list(map(str, index_map.map_shape([14]))) == ["4", "4"]
    with pytest.raises(ValueError, match="takes 1 indices, got 2"):
        index_map.map_indices([1, 2])
    with pytest.raises(tvms.TvmsError, match="negative positions"):
        tir.IndexMap.from_func(lambda i: [i - 8]).map_shape([14])


def test_arrays_in_other_layouts() -> None:
    index_map = tir.IndexMap.from_func(tiles)
    moved = index_map.map_ndarray(np.arange(1, 7, dtype="int32"))
    assert moved.tolist() == [[1, 2, 3, 4], [5, 6, 0, 0]]
    assert index_map.map_ndarray(tvms.nd.array(np.arange(8))).numpy().tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_inverses_of_index_maps() -> None:
    index_map = tir.IndexMap.from_func(tiles)
    undone = tir.IndexMap.from_func(lambda i, j: [j + i * 4])
    assert index_map.inverse([16]).is_equivalent_to(undone)
    found, padding = index_map.non_surjective_inverse([15])
    assert found.is_equivalent_to(undone)
    empty = [(i, j) for i, j in np.ndindex(4, 4) if _holds(padding, found.initial_indices, (i, j))]
    assert empty == [(3, 3)]
    with pytest.raises(tvms.TvmsError, match="is not bijective"):
        index_map.inverse([14])
    with pytest.raises(tvms.TvmsError, match="not known to be injective"):
        tir.IndexMap.from_func(lambda i: [i // 4]).inverse([16])
    given = tir.IndexMap.from_func(lambda i: [i * i], inverse_index_map=undone)
    assert given.inverse([4]) is undone


def _holds(condition: tir.PrimExpr, names: tuple[tir.Var, ...], values: tuple[int, ...]) -> bool:
    known = tir.stmt_functor.substitute(condition, dict(zip(names, values, strict=True)))
    return bool(tvms.arith.Analyzer().simplify(known).value)


def test_other_index_maps_are_not_equivalent() -> None:
    index_map = tir.IndexMap.from_func(tiles)
    assert index_map.is_equivalent_to(tir.IndexMap.from_func(lambda k: [k // 4, k - k // 4 * 4]))
    assert not index_map.is_equivalent_to(tir.IndexMap.from_func(lambda k: [k // 4, k]))
    assert not index_map.is_equivalent_to(tir.IndexMap.from_func(lambda k: [k // 4]))


COPY = """
T.prim_func copy(a: T.handle, b: T.handle, m: T.int32, scale: T.float32):
    n = T.int32()
    A = T.match_buffer(a, (m, n // 2), "float32")
    B = T.match_buffer(b, (m, n), "float32")
    for i, j in T.grid(m, n):
        B[i, j] = A[i, j // 2] * scale
"""


@pytest.fixture
def copy() -> tir.PrimFunc:
    return tvms.parse(COPY)["copy"]


def test_functions_for_known_sizes(copy: tir.PrimFunc) -> None:
    a, b, _, scale = copy.params
    assert copy.specialize({}) is copy
    known = copy.specialize({b: tir.decl_buffer((3, 4)), scale: 2.0})
    assert known.params == (a, b)
    assert [list(map(str, buffer.shape)) for buffer in known.buffer_map.values()] == [["3", "2"], ["3", "4"]]
    x, y = np.arange(6, dtype="float32").reshape(3, 2), np.zeros((3, 4), "float32")
    tvms.compile(known)(x, y)
    assert y.tolist() == np.repeat(2 * x, 2, axis=1).tolist()


def test_buffers_that_do_not_fit_are_refused(copy: tir.PrimFunc) -> None:
    _, b, m, scale = copy.params
    for values, message in (
        ({te.var("k"): 1}, "has no parameter 'k'"),
        ({scale: tir.decl_buffer((3, 4))}, "'scale' is not a buffer"),
        ({b: tir.decl_buffer((3, 4), "int32")}, "which .* does not fit"),
        ({m: 4, b: tir.decl_buffer((3, 4))}, "'m' gets two values"),
    ):
        with pytest.raises(tvms.TvmsError, match=message):
            copy.specialize(values)
    fixed = copy.specialize({m: 3})
    with pytest.raises(tvms.TvmsError, match="has 3 where the given one has 5"):
        fixed.specialize({b: tir.decl_buffer((5, 4))})


def test_pointers_are_bound_to_addresses() -> None:
    text = """
T.prim_func f(A_data: T.handle("float32"), B_data: T.handle("float32")):
    A = T.decl_buffer((8,), "float32", data=A_data)
    B = T.decl_buffer((4,), "float32", data=B_data)
    B[0] = A[1]
"""
    func = tvms.parse(text)["f"]
    place = tir.address_of(func.body.buffer[4])
    known = func.specialize({func.params[1]: place})
    assert known.params == func.params[:1]
    binding = known.body.body
    assert isinstance(binding, tir.LetStmt)
    assert (binding.var, binding.body.buffer.data) == (func.params[1], func.params[1])


def test_tensors_that_a_loop_function_writes() -> None:
    func = tvms.parse(SUMS)["sums"]
    x, y = te.placeholder((4,), name="x"), te.placeholder((4,), name="y")
    total = te.extern_primfunc([x, y], func)
    assert (total.op.input_placeholders[0].name, total.op.output_placeholders[0].name) == ("A", "C")
    compiled = tvms.compile(te.create_prim_func([x, y, total]))
    a, b, c = np.arange(4, dtype="float32"), np.ones(4, "float32"), np.zeros(4, "float32")
    compiled(a, b, c)
    assert c.tolist() == [1, 2, 3, 4]
    with pytest.raises(ValueError, match=r"expected tensors for the buffers A \(float32\), B \(float32\), got 1"):
        te.extern_primfunc([x], func)
    with pytest.raises(ValueError, match="'z' does not have the shape of buffer 'B'"):
        te.extern_primfunc([x, te.placeholder((5,), name="z")], func)


def test_a_buffer_that_is_updated_is_the_output() -> None:
    func = tvms.parse(
        'T.prim_func f(A: T.Buffer((4,), "float32")):\n    for i in range(4):\n        A[i] = A[i] * 2.0\n'
    )["f"]
    assert te.extern_primfunc([], func).op.output_placeholders == tuple(func.buffer_map.values())


SUMS = """
T.prim_func sums(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        C[i] = A[i] + B[i]
"""


def test_operators_as_functions() -> None:
    assert [str(make(n, 2)) for make in (tir.add, tir.subtract, te.multiply)] == ["n + 2", "n - 2", "n * 2"]


def test_base_classes_of_programs() -> None:
    assert issubclass(tvms.ir.PrimExpr, tvms.ir.Node)
    assert issubclass(tvms.ir.VDevice.kinds[0], tvms.ir.GlobalInfo)
    assert isinstance(tvms.parse(COPY)["copy"].body.span, tvms.ir.Span)
