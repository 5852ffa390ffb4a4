"""Neural networks as Python modules, in PyTorch's style (TVM: `tvm.relax.frontend.nn`).

class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 256)
        self.relu = nn.ReLU()
        self.fc2 = nn.Linear(256, 10, bias=False)

    def forward(self, x):
        return self.fc2(self.relu(self.fc1(x)))

mod, params = Perceptron().export_tvm({"forward": {"x": nn.spec.Tensor([1, 784], "float32")}})
"""

from __future__ import annotations

from typing import Any

from . import op, spec
from .layers import (
    GELU,
    Attention,
    Conv1D,
    Conv2D,
    Conv3D,
    ConvTranspose1D,
    Embedding,
    GroupNorm,
    Identity,
    LayerNorm,
    Linear,
    ReLU,
    RMSNorm,
    SiLU,
    TimestepEmbedding,
    Timesteps,
)
from .module import Module, ModuleList
from .tensor import Object, Parameter, Tensor, get_default_dtype, set_default_dtype

__all__ = [
    "GELU", "Attention", "Conv1D", "Conv2D", "Conv3D", "ConvTranspose1D", "Embedding", "GroupNorm", "Identity",
    "LayerNorm", "Linear", "Module", "ModuleList", "Object", "Parameter", "RMSNorm", "ReLU", "SiLU", "Tensor",
    "TimestepEmbedding", "Timesteps", "get_default_dtype", "op", "set_default_dtype", "spec",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(op, name)
