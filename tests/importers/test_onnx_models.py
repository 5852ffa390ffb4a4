"""Real models from wheels, end to end: the results are those of onnxruntime. Models whose wheel is not installed are skipped."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx, the extra 'onnx', is not installed")
onnxruntime = pytest.importorskip(
    "onnxruntime", reason="onnxruntime, which the models are compared with, is not installed"
)

import tvms  # noqa: E402  # after the check that there is anything to test
from tvms.relax.frontend.onnx import from_onnx  # noqa: E402


class Both:
    """A model, compiled and in onnxruntime."""

    def __init__(self, package: str, path: str) -> None:
        found = find_spec(package)
        if found is None or not found.submodule_search_locations:
            pytest.skip(f"the wheel of {package} is not installed")
        file = Path(found.submodule_search_locations[0], path)
        self.session = onnxruntime.InferenceSession(str(file))
        self.function = tvms.compile(from_onnx(onnx.load(file)))["main"]

    def run(self, **inputs: Any) -> tuple[list[Any], list[Any]]:
        """Return the outputs of the compiled model and those of onnxruntime."""
        made = self.function(*[inputs[given.name] for given in self.session.get_inputs()])
        outputs = [np.asarray(value) for value in (made if isinstance(made, tuple) else (made,))]
        return outputs, self.session.run(None, inputs)


def files() -> list[bytes]:
    """Return 30 files: texts of this repository, and bytes of other formats."""
    root = Path(__file__).parents[2]
    paths = sorted(root.glob("*.toml")) + sorted(root.glob("*.md")) + sorted(root.glob("samples/*.tvms"))[:6]
    paths += sorted((root / "docs").glob("*.svg"))[:3] + sorted((root / "ir").glob("*.py"))[:8] + [root / "Makefile"]
    made = [
        b"\x89PNG\r\n\x1a\n" + bytes(64),
        b"PK\x03\x04" + bytes(200),
        b"\x7fELF" + bytes(500),
        b"{}\n" * 40,
        b"%PDF-1.4\n" * 9,
    ]
    return (
        made + [path.read_bytes() for path in paths] + [hashlib.sha512(bytes([n])).digest() * 60 for n in range(30)]
    )[:30]


def features(data: bytes) -> Any:
    """Return the first and last 1,024 bytes of a file without surrounding blanks, padded by 256, as magika reads them."""
    first, last = data[:4096].lstrip()[:1024], data[-4096:].rstrip()[-1024:]
    return np.array([[*first, *[256] * (1024 - len(first)), *[256] * (1024 - len(last)), *last]], "i4")


def test_magika_finds_the_types_of_files() -> None:
    both = Both("magika", "models/standard_v3_3/model.onnx")
    for data in files():
        (found,), (expected,) = both.run(bytes=features(data))
        assert found.argmax() == expected.argmax()
        np.testing.assert_allclose(found, expected, atol=1e-4)


VARIANTS = ("silero_vad", "silero_vad_half", "silero_vad_16k_op15", "silero_vad_op18_ifless", "silero_vad_openvino_16k")


@pytest.mark.parametrize("name", VARIANTS)
def test_silero_finds_speech(name: str) -> None:
    """A vowel of 120 Hz between silences, one window after the other, each side with its own state."""
    both = Both("silero_vad", f"data/{name}.onnx")
    time = np.arange(32 * 512) / 16000
    voice = sum(np.sin(2 * np.pi * 120 * k * time) / k for k in range(1, 12)) * (np.sin(2 * np.pi * 2 * time) > 0)
    signal = np.concatenate([np.zeros(64), voice]).astype("f4") * 0.2
    states = [np.zeros((2, 1, 128), "f4")] * 2
    names = {given.name for given in both.session.get_inputs()}
    for window in range(32):
        given = {"input": signal[None, window * 512 : window * 512 + 576]} | (
            {"sr": np.array(16000)} if "sr" in names else {}
        )
        found, _ = both.run(**given, state=states[0])
        _, expected = both.run(**given, state=states[1])
        np.testing.assert_allclose(found[0], expected[0], atol=1e-4)
        states = [found[1], expected[1]]


def test_silero_over_a_sequence() -> None:
    both = Both("silero_vad", "data/silero_vad_16k_sequence.onnx")
    signal = np.random.default_rng(0).standard_normal((9, 576)).astype("f4") * 0.1
    zero = np.zeros((1, 1, 128), "f4")
    for found, expected in zip(*both.run(input=signal, h=zero, c=zero), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-4)
