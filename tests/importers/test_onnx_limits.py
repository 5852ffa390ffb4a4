"""Absurd ONNX models need little memory: each is imported, or it is an error, in a process that is measured."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("onnx", reason="onnx, the extra 'onnx', is not installed")

sys.path.insert(0, str(Path(__file__).parent))
import onnx_absurd  # after the check that there is anything to test

MOST_MEMORY = 1 << 30
IMPORTED = "imported"
SAID = {
    "one sum of many": "error[E1004]: node 'z' (Sum of ai.onnx, version 18): the model has more than 200000 nodes and inputs",
    "functions that double": (
        "error[E1004]: node 'c' (f60 of own, version 1): the model has more than 200000 nodes and inputs"
    ),
    "initializers": "error[E1004]: the model has more than 200000 initializers",
    "nested conditions": IMPORTED,
    "conditions in a row": (
        "error[E1004]: node 'y' (Unsqueeze of ai.onnx, version 18): the rank of its input 'w6' is unknown"
    ),
    "dimensions that overflow": (
        "error[E1002]: the tensor 'w' has 4 bytes, but its shape needs 85070591730234615865843651857942052864"
    ),
    "a cycle": "error[E1006]: node 'a' (Relu of ai.onnx, version 18): its input 'b' has no value",
    "a value twice": "error[E1006]: node 'z' (Relu of ai.onnx, version 18): its output 'z' already has a value",
    "concatenated constants": IMPORTED,
    "broadcast constants": IMPORTED,
    "a filled constant": IMPORTED,
    "repeated constants": IMPORTED,
    "one-hot constants": IMPORTED,
    "padded constants": IMPORTED,
    "a resized constant": (
        "error[E1004]: node 'y' (Resize of ai.onnx, version 18): it interpolates 10 elements to 9999999827968"
    ),
}


@pytest.mark.deep(8)
@pytest.mark.parametrize("name", SAID)
def test_absurd_models_need_little_memory(name: str) -> None:
    _, peak, said = onnx_absurd.measured(name)
    assert said == SAID[name]
    assert peak <= MOST_MEMORY
