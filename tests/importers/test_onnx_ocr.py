"""The text recognition of rapidocr-onnxruntime finds the same lines with compiled models as with onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx, the extra 'onnx', is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime, which the models are compared with, is not installed")
package = pytest.importorskip("rapidocr_onnxruntime", reason="the wheel of rapidocr-onnxruntime is not installed")
cv2 = pytest.importorskip("cv2", reason="opencv-python, which draws the texts, is not installed")

import tvms  # noqa: E402  # after the check that there is anything to test
from tvms.relax.frontend.onnx import from_onnx  # noqa: E402

TEXTS = ("Compilers turn text into code", "Tensor 42", "ONNX models in one file", "Hello World 2026")


class Session:
    """A compiled model in place of a session of onnxruntime; it is compiled once, for inputs of all sizes."""

    def __init__(self, path: str) -> None:
        self._function = tvms.compile(from_onnx(path))["main"]
        self.shapes: set[tuple[int, ...]] = set()

    def __call__(self, x: Any) -> list[Any]:
        self.shapes.add(x.shape)
        return [np.asarray(self._function(np.ascontiguousarray(x)))]


def drawn(height: int, width: int, texts: tuple[str, ...]) -> Any:
    """Return a white image with one line for each text."""
    image = np.full((height, width, 3), 255, np.uint8)
    for line, text in enumerate(texts):
        place = (30 + 15 * line, 70 + 90 * line)
        cv2.putText(image, text, place, cv2.FONT_HERSHEY_SIMPLEX, 1.1, (0, 0, 0), 2, cv2.LINE_AA)
    return image


@pytest.fixture(scope="module")
def engines() -> tuple[Any, Any, list[Session]]:
    """The package's engine with onnxruntime, the same with compiled models, and these: detection, direction, recognition."""
    models = Path(package.__file__).parent / "models"
    names = ("ch_PP-OCRv4_det_infer", "ch_ppocr_mobile_v2.0_cls_infer", "ch_PP-OCRv4_rec_infer")
    sessions = [Session(str(models / f"{name}.onnx")) for name in names]
    compiled = package.RapidOCR()
    compiled.text_det.infer, compiled.text_cls.infer, compiled.text_rec.session = sessions
    return package.RapidOCR(), compiled, sessions


def test_compiled_models_find_the_same_lines(engines: tuple[Any, Any, list[Session]]) -> None:
    """Two images of different sizes, with different numbers of lines, one upside down."""
    original, compiled, sessions = engines
    wide, narrow = drawn(400, 700, TEXTS), drawn(240, 460, TEXTS[1:3])[::-1, ::-1].copy()
    found_lines = 0
    for image in (wide, narrow):
        expected, _ = original(image)
        found, _ = compiled(image)
        assert [text for _, text, _ in found] == [text for _, text, _ in expected]
        np.testing.assert_allclose([box for box, _, _ in found], [box for box, _, _ in expected], atol=1.0)
        np.testing.assert_allclose([score for *_, score in found], [score for *_, score in expected], atol=1e-3)
        found_lines += len(found)
    assert found_lines == 6
    assert all(len(session.shapes) == 2 for session in sessions)
