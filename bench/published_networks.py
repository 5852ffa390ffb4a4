"""Networks as torchvision and transformers define them, with random weights, for `bench/torch_import.py`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

Network = tuple[Any, ...]
"""A model, followed by its inputs."""

VISION = {
    "resnet50": 224,
    "mobilenet_v2": 224,
    "mobilenet_v3_large": 224,
    "mobilenet_v3_small": 224,
    "efficientnet_b0": 224,
    "vgg16": 224,
    "densenet121": 224,
    "inception_v3": 299,
    "googlenet": 224,
    "squeezenet1_1": 224,
    "shufflenet_v2_x1_0": 224,
    "regnet_y_400mf": 224,
    "swin_t": 224,
    "convnext_tiny": 224,
    "vit_b_16": 224,
}
"""Classifiers of torchvision by name, and the height and width of their images."""


def published() -> dict[str, Callable[[], Network]]:
    """Return the networks by name; the packages are imported when one is made."""
    vision = {name: lambda name=name, size=size: _classifier(name, size) for name, size in VISION.items()}
    return vision | {
        "t5-small-encoder": _t5_encoder,
        "whisper-tiny-encoder": _whisper_encoder,
        "bert-base-uncased": _bert,
        "gpt2": _gpt2,
    }


def _classifier(name: str, size: int) -> Network:
    import torch

    _without_vision_operators()
    models: Any = import_module("torchvision.models")
    options = {"aux_logits": False, "init_weights": True} if name in ("inception_v3", "googlenet") else {}
    return getattr(models, name)(weights=None, **options), torch.randn(1, 3, size, size)


def _t5_encoder() -> Network:
    import torch

    transformers = transformers_module()
    config = transformers.T5Config(d_model=512, d_kv=64, d_ff=2048, num_layers=6, num_heads=8)
    return _result(transformers.T5EncoderModel(config), "last_hidden_state"), torch.randint(
        0, config.vocab_size, (1, 32)
    )


def _whisper_encoder() -> Network:
    import torch

    transformers = transformers_module()
    sizes = {"d_model": 384, "encoder_layers": 4, "encoder_attention_heads": 6, "encoder_ffn_dim": 1536}
    model = transformers.WhisperModel(transformers.WhisperConfig(decoder_layers=1, **sizes))
    return _result(model.encoder, "last_hidden_state"), torch.randn(1, 80, 3000)


def _bert() -> Network:
    import torch

    transformers = transformers_module()
    config = transformers.BertConfig()
    return _result(transformers.BertModel(config), "last_hidden_state"), torch.randint(0, config.vocab_size, (1, 64))


def _gpt2() -> Network:
    import torch

    transformers = transformers_module()
    config = transformers.GPT2Config(use_cache=False)
    return _result(transformers.GPT2LMHeadModel(config), "logits"), torch.randint(0, config.vocab_size, (1, 64))


def _without_vision_operators() -> None:
    """Let torchvision be imported without its own operators, a compiled library for one build of torch."""
    sys.modules.setdefault("torchvision._meta_registrations", ModuleType("torchvision._meta_registrations"))


def transformers_module() -> Any:
    """Return the module `transformers`, which looks for a package with the name of a file beside this one, `kernels`."""
    _without_vision_operators()
    here = str(Path(__file__).parent)
    sys.path[:] = [path for path in sys.path if path != here]
    return import_module("transformers")


def _result(model: Any, name: str) -> Any:
    """Return a module that computes the result `name` of a model of transformers."""
    import torch

    class Result(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, given: Any) -> Any:
            return getattr(self.model(given), name)

    return Result()
