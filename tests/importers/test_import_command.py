"""`tvms import`: archives and factories become checked programs; what cannot be read is one error."""

from __future__ import annotations

import io
import json
import pickle
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch, the extra 'torch', is not installed")

import tvms  # noqa: E402  # after the check that there is anything to test
from torch import nn  # noqa: E402
from tvms.dsl.cli import main  # noqa: E402
from tvms.dsl.importers.torch import binary, table  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")


class Tiny(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 40)

    def forward(self, x: Any) -> Any:
        hidden = self.fc(x)
        return hidden * hidden


def factory() -> Any:
    torch.manual_seed(1)
    return Tiny()


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    torch.manual_seed(1)
    rows = {"x": {0: torch.export.Dim("rows", min=1, max=16)}}
    torch.export.save(torch.export.export(Tiny().eval(), (torch.randn(2, 4),), dynamic_shapes=rows), tmp_path / "m.pt2")
    return tmp_path / "m.pt2"


def test_archive(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = archive.with_suffix(".tvms")
    assert main(["import", str(archive), "-o", str(target)]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "'mul' agrees with torch: the largest difference is " in captured.err
    assert 'I.constant("fc.weight"' in target.read_text(encoding="utf-8")
    torch.manual_seed(1)
    x = torch.randn(3, 4)
    made = tvms.compile(tvms.load(str(target)))["main"](x.numpy())[0]
    model = torch.export.load(archive).module()
    np.testing.assert_allclose(np.asarray(made), model(x).detach().numpy(), 1e-5, 1e-5)


@pytest.mark.parametrize(("options", "name"), [([], "x_dim0"), (["--input", "x=rowsx4"], "rows")])
def test_sizes_of_an_archive_have_names(
    archive: Path, options: list[str], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """torch.export.save does not write the names that the model was exported with."""
    assert main(["import", str(archive), *options]) == 0
    text = capsys.readouterr().out
    assert f'main(x: R.Tensor(("{name}", 4), "float32")) -> R.Tuple(R.Tensor(("{name}", 40), "float32"))' in text


def test_factory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "my_models", sys.modules[__name__])
    assert main(["import", "my_models:factory", "--input", "x=rowsx4:float32"]) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith("executing 'my_models:factory', which is code of your own\n")
    assert 'main(x: R.Tensor(("rows", 4)' in captured.out
    assert main(["import", "my_models:factory"]) == 2
    assert "error[E0801]: 'my_models:factory' returned a module without inputs" in capsys.readouterr().err
    assert main(["import", "my_models:nothing"]) == 2
    assert "error[E1002]: 'my_models:nothing' cannot be called: AttributeError: " in capsys.readouterr().err


def test_a_wrong_row_is_found(
    archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def wrong(c: Any, a: Any) -> Any:
        from tvms import relax

        return relax.op.add(a.self, a.other)

    monkeypatch.setitem(table.ROWS, "mul.Tensor", wrong)
    target = archive.with_suffix(".tvms")
    assert main(["import", str(archive), "-o", str(target)]) == 1
    text = capsys.readouterr().err
    assert "error[E1003]: 'mul' differs from torch by " in text
    assert "return hidden * hidden" in text
    assert not target.exists()
    assert main(["import", str(archive), "-o", str(target), "--no-check"]) == 0
    assert binary.ROWS["mul.Tensor"] is not wrong


def rewritten(archive: Path, change: Callable[[str, bytes], bytes]) -> None:
    with zipfile.ZipFile(archive) as old:
        files = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(archive, "w") as new:
        for name, contents in files.items():
            new.writestr(name, change(name, contents))


class Evil:
    def __reduce__(self) -> Any:
        return (Path.touch, (Path("executed"),))


def evil_inputs(name: str, contents: bytes) -> bytes:
    return pickle.dumps(Evil()) if "sample_inputs" in name else contents


def evil_weights(name: str, contents: bytes) -> bytes:
    if name.endswith("model_weights_config.json"):
        config = json.loads(contents)
        for entry in config["config"].values():
            entry["use_pickle"] = True
        return json.dumps(config).encode()
    if name.endswith("weights/weight_0"):
        buffer = io.BytesIO()
        torch.save(Evil(), buffer)
        return buffer.getvalue()
    return contents


def evil_size(name: str, contents: bytes) -> bytes:
    code = b'__import__(\\"pathlib\\").Path(\\"executed\\").touch()'
    return (
        contents.replace(b"Symbol('s77', positive=True, integer=True)", code)
        if name.endswith("model.json")
        else contents
    )


BAD: dict[str, tuple[Callable[[Path], None], str]] = {
    "truncated": (lambda path: path.write_bytes(path.read_bytes()[:900]), "cannot be read: File is not a zip file"),
    "empty": (lambda path: path.write_bytes(b""), "cannot be read: File is not a zip file"),
    "text": (lambda path: path.write_text("a model"), "cannot be read: File is not a zip file"),
    "no model": (lambda path: zipfile.ZipFile(path, "w").close(), "cannot be read: it is not an archive of an exported program"),
    "pickled inputs": (lambda path: rewritten(path, evil_inputs), "is refused: 'data/sample_inputs/model.pt' in it is pickled, and loading it could execute code"),
    "pickled weights": (lambda path: rewritten(path, evil_weights), "is refused: 'data/weights/weight_"),
    "code as a size": (lambda path: rewritten(path, evil_size), "cannot be read: the size '__import__(\"pathlib\").Path(\"executed\").touch()' in it is not arithmetic"),
    "broken model": (lambda path: rewritten(path, lambda name, data: b"{" if name.endswith("model.json") else data), "cannot be read: 'models/model.json' in it is not JSON: "),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_archives(
    case: str, archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    damage, reason = BAD[case]
    damage(archive)
    monkeypatch.chdir(archive.parent)
    assert main(["import", "m.pt2", "-o", "m.tvms"]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"error[E1002]: 'm.pt2' {reason}"), captured.err
    assert captured.err.count("error[") == 1
    assert sorted(path.name for path in archive.parent.iterdir()) == ["m.pt2"]


def test_missing_archive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", str(tmp_path / "none.pt2")]) == 2
    assert capsys.readouterr().err == (
        f"error[E1002]: '{tmp_path}/none.pt2' cannot be read: No such file or directory\n"
        "  = help: save it again with torch.export.save\n"
    )


@pytest.mark.parametrize("text", ["x", "x=axb:void7", "1x=3", "x=2x-1"])
def test_bad_inputs(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "m.pt2", "--input", text]) == 2
    assert f"error[E0801]: --input '{text}' is not NAME=SIZES:DTYPE" in capsys.readouterr().err
