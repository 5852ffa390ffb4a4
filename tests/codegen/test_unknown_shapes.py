"""Compiled graphs whose shapes nobody knows before they run, and those that ask a value about itself."""

from __future__ import annotations

import numpy as np
import pytest
import tvms

PROGRAMS = {
    "every aspect of a tensor": """
R.function main(x: R.Tensor((4, 6), "float32"), i: R.Prim("int64")):
    rank = R.inspect.tensor_ndim(x)
    size = R.inspect.tensor_shape_i(x, i)
    stride = R.inspect.tensor_stride_i(x, R.prim_value(0))
    code = x.dtype.type_code
    bits = x.dtype.bits
    lanes = x.dtype.lanes
    offset = R.inspect.tensor_byte_offset(x)
    return (rank, size, stride, code, bits, lanes, offset, R.inspect.tensor_elem_offset(x))
""",
    "unknown shapes and dtypes": """
R.function main(x: R.Tensor, i: R.Prim("int64")):
    total = R.sum(R.add(x, x), axis=[0])
    parts = R.split(x, 2, axis=1)
    return (total, parts[1], R.strided_slice(x, axes=[0], begin=[1], end=[3]))
""",
    "other views of the same bytes": """
R.function main(x: R.Tensor((4, 6), "float32"), i: R.Prim("int64")):
    flat = R.memory.view(x, R.shape([24]))
    bits = R.memory.view(x, R.shape([2, 6]), R.dtype("int32"), R.prim_value(48))
    return (flat, bits)
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_what_is_compiled_is_what_is_interpreted(text: str) -> None:
    module = tvms.parse(f"#tvms 1\n{text}")
    module = module if isinstance(module, tvms.IRModule) else tvms.IRModule({"main": module})
    args = [np.arange(24, dtype="float32").reshape(4, 6), 1]
    wanted, got = tvms.interpret(module, "main", args), tvms.compile(module)["main"](*args)
    assert len(wanted) == len(got)
    for one, other in zip(wanted, got, strict=True):
        np.testing.assert_array_equal(one, other, strict=isinstance(one, np.ndarray))


def test_a_value_that_does_not_fit_is_an_error_at_its_call() -> None:
    text = """#tvms 1

R.function main(x: R.Tensor("float32"), i: R.Prim("int64")):
    return R.inspect.tensor_shape_i(x, i)
"""
    entry = tvms.compile(tvms.parse(text))["main"]
    with pytest.raises(tvms.TvmsError) as raised:
        entry(np.zeros((2, 3), "float32"), 2)
    assert (
        str(raised.value)
        == """\
error[E0712]: R.inspect.tensor_shape_i fails on these values: tuple index out of range
  --> <string>:4:12
   |
 4 |     return R.inspect.tensor_shape_i(x, i)
   |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"""
    )


@pytest.mark.deep(4)
@pytest.mark.parametrize("depth", [1, 40, 400])
@pytest.mark.parametrize("kind", ["plain", "transposed", "epilogue", "batch"])
def test_products_of_an_unknown_number_of_rows(kind: str, depth: int) -> None:
    """Few rows are handled apart, and none must not be read."""
    operands = {
        "plain": (f'x: R.Tensor(("m", {depth}), "float32"), w: R.Tensor(({depth}, 70), "float32")', "R.matmul(x, w)"),
        "transposed": (
            f'x: R.Tensor(("m", {depth}), "float32"), w: R.Tensor((70, {depth}), "float32")',
            "R.matmul(x, R.permute_dims(w))",
        ),
        "epilogue": (
            f'x: R.Tensor(("m", {depth}), "float32"), w: R.Tensor(({depth}, 70), "float32")',
            'R.nn.relu(R.add(R.matmul(x, w), R.const(0.5, "float32")))',
        ),
        "batch": (
            f'x: R.Tensor((2, "m", {depth}), "float32"), w: R.Tensor((2, {depth}, 70), "float32")', "R.matmul(x, w)"
        ),
    }  # fmt: skip
    params, value = operands[kind]
    text = (
        f"R.function main({params}):\n    with R.dataflow():\n        y = {value}\n        R.output(y)\n    return y\n"
    )
    module = tvms.parse(text)
    main = tvms.compile(module, threads=1)["main"]
    random = np.random.default_rng(depth)
    for rows in (0, 1, 2, 3, 4, 5, 12, 13, 29):
        x = random.standard_normal((2, rows, depth) if kind == "batch" else (rows, depth), np.float32)
        shape = {"transposed": (70, depth), "batch": (2, depth, 70)}.get(kind, (depth, 70))
        w = random.standard_normal(shape, np.float32)
        expected = x @ (w.T if kind == "transposed" else w)
        expected = np.maximum(expected + np.float32(0.5), 0) if kind == "epilogue" else expected
        np.testing.assert_allclose(main(x, w), expected, rtol=1e-4, atol=1e-4)
