"""Model files: mapped weights, and files that are damaged, hostile, or outside of the model's folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx, the extra 'onnx', is not installed")

import tvms  # noqa: E402  # after the check that there is anything to test
from tvms.dsl.cli import main  # noqa: E402
from tvms.dsl.importers.onnx import compare, files, wire  # noqa: E402
from tvms.relax.frontend.onnx import from_onnx  # noqa: E402

WEIGHTS = np.arange(4096, dtype="float32").reshape(1, 4096)


def model(location: str | None = None, offset: str = "0", length: str = "16384") -> Any:
    """Return the model that adds its weights, which are in a file if a location is given."""
    tensor = onnx.numpy_helper.from_array(WEIGHTS, "w")
    if location is not None:
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", location), ("offset", offset), ("length", length)):
            tensor.external_data.add(key=key, value=value)
    node = onnx.helper.make_node("Add", ["x", "w"], ["z"], "sum")
    kind = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph([node], "g", [kind("x", 1, (1, 4096))], [kind("z", 1, (1, 4096))], [tensor])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)])


def saved(folder: Path, proto: Any) -> Path:
    path = folder / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


def constants(module: Any) -> list[Any]:
    found: list[Any] = []

    def visit(node: Any) -> None:
        if isinstance(node, tvms.relax.Constant):
            found.append(node.data)

    tvms.relax.analysis.post_order_visit(module["main"], visit)
    return found


def is_mapped(array: Any) -> bool:
    """Return whether an array is a view of a file."""
    while array is not None:
        if isinstance(array, np.memmap):
            return True
        array = getattr(array, "base", None)
    return False


def test_weights_in_a_file_are_mapped(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/w.bin").write_bytes(b"\0" * 64 + WEIGHTS.tobytes())
    module = from_onnx(saved(tmp_path, model("data/w.bin", "64")))
    (data,) = constants(module)
    assert is_mapped(data)
    np.testing.assert_array_equal(data, WEIGHTS)


def test_weights_of_a_large_model_stay_in_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_LARGE", 100)
    path = saved(tmp_path, model())
    read = files.read_model(path)
    (tensor,) = read.proto.graph.initializer
    assert not tensor.raw_data
    (data,) = constants(from_onnx(path))
    np.testing.assert_array_equal(data, WEIGHTS)
    (plain,) = constants(from_onnx(onnx.load(path)))
    np.testing.assert_array_equal(plain, WEIGHTS)


EXTERNAL: dict[str, tuple[dict[str, str], Callable[[Path], None], str]] = {
    "parent": ({"location": "../w.bin"}, lambda folder: None, "the tensor 'w' is stored in '../w.bin', which is not a file below the model's folder"),
    "absolute": ({"location": "/etc/passwd"}, lambda folder: None, "the tensor 'w' is stored in '/etc/passwd', which is not a file below the model's folder"),
    "no location": ({"location": ""}, lambda folder: None, "the tensor 'w' is stored in '', which is not a file below the model's folder"),
    "link": ({"location": "w.bin"}, lambda folder: os.symlink("/etc/passwd", folder / "w.bin"), "the tensor 'w' is stored in 'w.bin', which is not a file below the model's folder"),
    "linked folder": ({"location": "etc/passwd"}, lambda folder: os.symlink("/etc", folder / "etc"), "the tensor 'w' is stored in 'etc/passwd', which is not a file below the model's folder"),
    "missing": ({"location": "w.bin"}, lambda folder: None, "the file 'w.bin' of the tensor 'w' cannot be read: No such file or directory"),
    "folder": ({"location": "w.bin"}, lambda folder: (folder / "w.bin").mkdir(), "'w.bin' of the tensor 'w' is not a file"),
    "pipe": ({"location": "w.bin"}, lambda folder: os.mkfifo(folder / "w.bin"), "'w.bin' of the tensor 'w' is not a file"),
    "too short": ({"location": "w.bin"}, lambda folder: (folder / "w.bin").write_bytes(b"1234"), "the tensor 'w' is stored in bytes 0 to 16384 of 'w.bin', which has 4"),
    "offset beyond": ({"location": "w.bin", "offset": "99999999999999999"}, lambda folder: (folder / "w.bin").write_bytes(b"1234"), "the tensor 'w' is stored in bytes 99999999999999999 to 100000000000016383 of 'w.bin', which has 4"),
    "negative offset": ({"location": "w.bin", "offset": "-4"}, lambda folder: (folder / "w.bin").write_bytes(b"1234"), "the offset of the tensor 'w' is '-4', not a number"),
    "wrong length": ({"location": "w.bin", "length": "4"}, lambda folder: (folder / "w.bin").write_bytes(b"1234"), "the tensor 'w' has 4 bytes, but its shape needs 16384"),
}  # fmt: skip


@pytest.mark.parametrize("case", EXTERNAL)
def test_weights_outside_of_the_folder_are_refused(case: str, tmp_path: Path) -> None:
    given, prepare, message = EXTERNAL[case]
    prepare(tmp_path)
    with pytest.raises(tvms.TvmsError) as problem:
        from_onnx(saved(tmp_path, model(**given)))
    assert str(problem.value).splitlines()[0] == f"error[E1002]: {message}"


def test_weights_need_a_folder() -> None:
    with pytest.raises(tvms.TvmsError) as problem:
        from_onnx(model("w.bin"))
    assert str(problem.value) == (
        "error[E1002]: the tensor 'w' is stored in the file 'w.bin', but the model has no folder\n"
        "  = help: pass the path of the model instead of its contents"
    )


UNREADABLE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "it is not an ONNX model: it has no graph"),
    "text": (b"a model of mine", "it is not an ONNX model, or it is truncated"),
    "truncated": (model().SerializeToString()[:900], "it is not an ONNX model, or it is truncated"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_unreadable_files(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    contents, reason = UNREADABLE[case]
    path = tmp_path / "m.onnx"
    path.write_bytes(contents)
    assert main(["import", str(path)]) == 2
    assert capsys.readouterr().err == (
        f"error[E1002]: '{path}' cannot be read: {reason}\n  = help: save it again with onnx.save\n"
    )


def test_a_file_of_nothing_but_messages_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MOST_MESSAGES", 1000)
    many = b"\x0a\x00" * 2000
    graph = b"\x3a" + wire._encoded(len(many)) + many
    with pytest.raises(wire.WireError) as problem:
        wire.check_messages(memoryview(graph), onnx.ModelProto.DESCRIPTOR)
    assert str(problem.value) == "it has more than 1000 messages and values"


def test_tvms_import(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(tmp_path, model())
    assert main(["import", str(path), "-o", str(tmp_path / "m.tvms")]) == 0
    assert "'z' agrees with " in capsys.readouterr().err
    module = tvms.load(str(tmp_path / "m.tvms"))
    np.testing.assert_array_equal(tvms.compile(module)["main"](WEIGHTS), WEIGHTS + WEIGHTS)


def test_differences_within_the_noise_of_rounding_are_no_errors(tmp_path: Path) -> None:
    """A variance of nearly constant rows, computed as E[x²] - E[x]², has no correct digits; a wrong result is still an error."""
    weights = np.float32(1000) + np.random.default_rng(4).random((64, 512), np.float32)
    make, kind = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    nodes = [
        make("Mul", ["x", "w"], ["v"]),
        make("Mul", ["v", "v"], ["square"]),
        make("ReduceMean", ["square"], ["mean_of_squares"], axes=[1], keepdims=0),
        make("ReduceMean", ["v"], ["mean"], axes=[1], keepdims=0),
        make("Mul", ["mean", "mean"], ["square_of_mean"]),
        make("Sub", ["mean_of_squares", "square_of_mean"], ["variance"]),
    ]
    tensor = onnx.numpy_helper.from_array(weights, "w")
    graph = onnx.helper.make_graph(nodes, "g", [kind("x", 1, (64, 512))], [kind("variance", 1, (64,))], [tensor])
    path = str(saved(tmp_path, onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])))
    exact = (weights.astype("f8") ** 2).mean(1) - weights.astype("f8").mean(1) ** 2

    def computed(result: Any) -> Any:
        return compare.compare(path, from_onnx(path), [np.ones((64, 512), np.float32)], lambda *_: result)[1][0]

    found = computed(exact + np.float32(0.5))
    assert found.largest > found.tolerance * max(1.0, found.scale)
    with pytest.raises(tvms.TvmsError, match="E1003"):
        computed(exact + np.float32(1e6))
