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

from . import core, exporter, extern, modules, op, spec, visitor
from .containers import ModuleDict, ParameterDict, ParameterList
from .core import Module, ModuleList
from .effects import Effect, IOEffect, KVCache
from .exporter import add_extern
from .extern import ExternModule, ObjectModule, SourceModule
from .modules import (
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
from .op import *  # noqa: F403
from .operators import IntExpr as IntExpr
from .operators import OutType as OutType
from .subroutine import SubroutineMixin
from .tensor import Object, Parameter, Tensor, get_default_dtype, set_default_dtype, wrap_nested
from .visitor import Mutator

__all__ = [
    "GELU", "Attention", "Conv1D", "Conv2D", "Conv3D", "ConvTranspose1D", "Effect", "Embedding", "ExternModule", "GroupNorm", "IOEffect",
    "Identity", "KVCache", "LayerNorm", "Linear", "Module", "ModuleDict", "ModuleList", "Mutator", "Object", "ObjectModule", "Parameter", "ParameterDict", "ParameterList", "RMSNorm",
    "ReLU", "SiLU", "SourceModule", "SubroutineMixin", "Tensor", "TimestepEmbedding", "Timesteps", "add_extern", "core", "exporter",
    "extern", "get_default_dtype", "modules", "op", "set_default_dtype", "spec", "visitor", "wrap_nested",
]  # fmt: skip
__all__ += op.__all__  # type: ignore[reportUnknownMemberType]
