"""Large tensors stand beside the text, under the names that it says, in every dialect."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import tvms
from tvms import relax
from tvms.dsl.printer import script_with_constants
from tvms.dsl.sidecar import read_constants, tensors_in
from tvms.ir.files import release_pages

RNG = np.random.default_rng(11)
WEIGHT = RNG.random((6, 5), "float32")
OFFSET = RNG.random((2, 6), "float32")
HALF = RNG.random((20,), "float32").astype(ml_dtypes.bfloat16)


def model() -> tvms.IRModule:
    x = relax.Var("x", relax.TensorStructInfo((2, 5), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            product = bb.emit(relax.op.linear(x, relax.const(WEIGHT), relax.const(np.ones(6, "float32"))))
            half = bb.emit(relax.op.nn.relu(relax.const(HALF)))
            gv = bb.emit_output((product, half, relax.op.add(product, relax.const(OFFSET))))
        bb.emit_func_output(gv)
    return bb.get()


@pytest.mark.parametrize("dialect", ["tvms", "tvm-0.21", "tvm-0.27"])
def test_a_saved_module_is_read_as_it_was(dialect: str, tmp_path: Path) -> None:
    path = str(tmp_path / "model.tvms")
    tvms.save(model(), path, dialect)
    again = tvms.load(path)
    assert tvms.structural_equal(again, model())
    assert again.script(dialect) == model().script(dialect)
    assert tvms.verify(again) == ()


@pytest.mark.parametrize("dialect", ["tvms", "tvm-0.21", "tvm-0.27"])
def test_a_text_and_its_tensors_are_the_module(dialect: str) -> None:
    text, constants = script_with_constants(model(), dialect)
    again = tvms.parse(text, constants={name: constant.data for name, constant in constants.items()})
    assert tvms.structural_equal(again, model())


def test_large_tensors_have_names_and_small_ones_stand_in_the_text() -> None:
    text, constants = script_with_constants(model())
    assert [(name, constant.data.shape) for name, constant in constants.items()] == [
        ("constant", (6, 5)),
        ("constant_1", (20,)),
    ]
    assert 'I.constant("constant", R.Tensor((6, 5), "float32"))' in text
    assert 'R.const([1.0, 1.0, 1.0, 1.0, 1.0, 1.0], "float32")' in text


def test_in_the_dialects_of_tvm_only_scalars_stand_in_the_text() -> None:
    _, constants = script_with_constants(model(), "tvm-0.21")
    assert list(constants) == [f"relax.expr.Constant[{index}]" for index in range(4)]


def test_without_its_sidecar_a_module_still_knows_its_shapes() -> None:
    again = tvms.parse(model().script())
    assert tvms.verify(again) == ()
    assert again.script() == model().script()


def test_a_tensor_that_does_not_fit_the_text_is_refused() -> None:
    text = model().script()
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.parse(text, constants={"constant": np.zeros((6, 4), "float32")})
    assert str(caught.value).splitlines()[0] == (
        "error[E0326]: the tensor 'constant' is float32 of shape (6, 4), but the text says R.Tensor((6, 5), \"float32\")"
    )


def test_a_sidecar_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.tvms"
    tvms.save(model(), str(path))
    path.with_suffix(".safetensors").write_bytes(b"no tensors")
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.load(str(path))
    assert caught.value.diagnostics[0].code == "E0018"


def test_more_dimensions_than_numpy_has(tmp_path: Path) -> None:
    header = b'{"w":{"dtype":"F32","shape":[' + b",".join([b"1"] * 70) + b'],"data_offsets":[0,4]}}'
    path = tmp_path / "wide.tvms"
    path.with_suffix(".safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    path.write_text('R.function main(x: R.Tensor((1,), "float32")):\n    y = R.add(x, I.constant("w"))\n    return y\n')
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.load(str(path))
    (found,) = caught.value.diagnostics
    assert found.code == "E0018"
    assert found.message.endswith("maximum supported dimension for an ndarray is currently 64, found 70")


@pytest.mark.parametrize("nested", [lambda value: value, lambda value: (1, value), lambda value: {"a": (value,)}])
@pytest.mark.parametrize("where", ["function", "module"])
@pytest.mark.parametrize("value", [
    relax.const(WEIGHT), relax.const(OFFSET[0, :3]), relax.const(1.0), relax.ShapeExpr([2, 3]), relax.PrimValue(2),
    relax.DataTypeImm("int8"), relax.Tuple([relax.PrimValue(2), relax.const(HALF)]), relax.TensorStructInfo((2,), "int8"),
    relax.ExternFunc("f"),
])  # fmt: skip
def test_attributes_hold_graph_level_constants(value: object, where: str, nested: Callable[[object], object], tmp_path: Path) -> None:  # fmt: skip
    module = model()
    if where == "module":
        module = module.with_attr("kept", nested(value))
    else:
        main = module["main"]
        assert isinstance(main, relax.Function)
        module["main"] = main.with_attr("kept", nested(value))
    path = str(tmp_path / "model.tvms")
    tvms.save(module, path)
    again = tvms.load(path)
    assert tvms.structural_equal(again, module)
    assert again.script() == module.script()


@pytest.mark.parametrize(
    "attribute", ["[R.add(x, x)]", "R.add(x, x)", "x", "[x]", '{"a": R.tuple(x, R.prim_value(1))}']
)
def test_attributes_hold_nothing_that_is_computed(attribute: str) -> None:
    text = f"""R.function main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    R.func_attr({{"kept": {attribute}}})
    return x
"""
    with pytest.raises(tvms.TvmsError) as told:
        tvms.parse(text)
    (found,) = told.value.diagnostics
    assert (found.code, found.message) == ("E0321", "attribute 'kept' is computed")
    assert found.help == "write constants, such as R.const(…), R.prim_value(…) or I.constant(…)"


def test_tensors_of_a_file_are_those_that_safetensors_reads(tmp_path: Path) -> None:
    """A file that safetensors refuses is also refused here, whichever bytes of its header are changed."""
    import safetensors
    from safetensors.numpy import save

    seed = int(os.environ.get("TVMS_SEED", "20"))
    print("seed", seed)
    rng = np.random.default_rng(seed)
    arrays = {"a": np.arange(6, dtype="f4").reshape(2, 3), "b": np.zeros((0, 2), "i8"), "c": np.ones((), "u1")}
    good, path = save(arrays, metadata={"by": "a test"}), tmp_path / "model.safetensors"
    length = int.from_bytes(good[:8], "little")
    accepted = 0
    for _ in range(400):
        data = bytearray(good)
        for place in rng.integers(0, 8 + length, rng.integers(0, 3)):
            data[place] = rng.choice([*b'0123456789[]{},":Fabc', data[place] ^ 1])
        data = data[: len(data) - int(rng.integers(0, 20) == 0)]
        path.write_bytes(data)
        try:
            wanted = {
                name: (entry["shape"], bytes(entry["data"])) for name, entry in safetensors.deserialize(bytes(data))
            }
        except safetensors.SafetensorError:
            wanted = "E0018"
        for read in (lambda: read_constants(path), lambda: tensors_in(bytes(data), str(path))):  # noqa: B023
            try:
                found = {name: ([*array.shape], array.tobytes()) for name, array in read().items()}
            except tvms.TvmsError as problem:
                found = problem.diagnostics[0].code
            assert found == wanted, bytes(data)
        accepted += wanted != "E0018"
    assert 0 < accepted < 400


def test_tensors_at_odd_offsets_are_aligned(tmp_path: Path) -> None:
    header = (
        b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}}'
    )
    data = len(header).to_bytes(8, "little") + header + b"\7" + np.array([1, 2], "f4").tobytes()
    path = tmp_path / "odd.safetensors"
    path.write_bytes(data)
    for found in (read_constants(path), tensors_in(data, str(path))):
        assert found["a"] == 7
        assert found["b"].flags.aligned
        assert found["b"].tolist() == [1, 2]


def test_pages_of_a_mapped_file_are_returned(tmp_path: Path) -> None:
    """A compiled module holds packed weights; the pages of the file from which they were made take no memory."""
    text = """
R.function main(x: R.Tensor((4, 512), "float32"), w: R.Tensor((512, 1024), "float32")):
    with R.dataflow():
        gv = R.matmul(x, w)
        R.output(gv)
    return gv
"""
    weight = np.random.default_rng(12).standard_normal((512, 1024)).astype("f4")
    bound = relax.transform.BindParams("main", {"w": weight})(relax.transform.Normalize()(tvms.parse(text)))
    path = tmp_path / "network.tvms"
    tvms.save(bound, str(path))
    mapped, read = tvms.load(path, mmap=True), tvms.load(path)
    assert tvms.structural_equal(mapped, read)
    assert _resident(path.with_suffix(".safetensors")) > 2000
    compiled = tvms.compile(mapped, cache=tmp_path / "cache")
    assert _resident(path.with_suffix(".safetensors")) < 100
    x = np.ones((4, 512), "f4")
    np.testing.assert_array_equal(compiled["main"](x), tvms.compile(read)["main"](x))
    assert tvms.structural_equal(mapped, read)


def _resident(path: Path) -> int:
    """Return how many KiB of a mapped file are in the memory of this process."""
    parts = Path("/proc/self/smaps").read_text().split(str(path))
    assert len(parts) > 1, "the file is not mapped"
    return sum(int(part.split("Rss:")[1].split()[0]) for part in parts[1:])


def test_arrays_in_memory_keep_their_pages() -> None:
    array = np.arange(5000.0)
    for view in (array, array[7:], np.frombuffer(array.tobytes())):
        copy = view.copy()
        release_pages(view)
        np.testing.assert_array_equal(view, copy)
