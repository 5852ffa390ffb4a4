"""Recurrent layers over sequences of any length compute what they do in torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch, the extra 'torch', is not installed")

import tvms  # noqa: E402  # after the check that there is anything to test
from torch import nn  # noqa: E402
from torch.export import Dim  # noqa: E402
from tvms.dsl.cli import main  # noqa: E402
from tvms.relax.frontend.torch import from_exported_program, sequences_of_any_length  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")

LAYERS = [
    *((kind, {"num_layers": 2}) for kind in (nn.LSTM, nn.GRU, nn.RNN)),
    *((kind, {"num_layers": 2, "bidirectional": True, "batch_first": True}) for kind in (nn.LSTM, nn.GRU, nn.RNN)),
    *((kind, {"bias": False, "bidirectional": True}) for kind in (nn.LSTM, nn.GRU, nn.RNN)),
    (nn.LSTM, {"num_layers": 2, "bidirectional": True, "proj_size": 3}),
    (nn.RNN, {"nonlinearity": "relu", "batch_first": True}),
]


@pytest.mark.parametrize(("kind", "options"), LAYERS, ids=str)
@pytest.mark.parametrize("varying", ["length", "both"])
def test_sequences_of_any_length(kind: Any, options: dict[str, Any], varying: str) -> None:
    torch.manual_seed(0)
    model = kind(4, 5, **options).eval()
    axis = int(options.get("batch_first", False))
    sizes = {axis: Dim("steps", max=64)} | ({1 - axis: Dim("batch", max=8)} if varying == "both" else {})
    with sequences_of_any_length():
        program = torch.export.export(model, (torch.randn(3, 3, 4),), dynamic_shapes=(sizes,))
    module = from_exported_program(program)
    assert tvms.verify(module) == ()
    function = tvms.compile(module)["main"]
    for steps in (1, 2, 7, 33):
        batch = 2 if varying == "both" else 3
        x = torch.randn(*((batch, steps) if axis else (steps, batch)), 4)
        for got, want in zip(function(x.numpy()), torch.utils._pytree.tree_leaves(model(x)), strict=True):
            np.testing.assert_allclose(np.asarray(got), want.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_archive_with_sequences_of_any_length(tmp_path: Path) -> None:
    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.LSTM(4, 5, bidirectional=True)

        def forward(self, x: Any) -> Any:
            y = self.layers(x)[0].clone()
            y[0] = 0
            return y.relu_()

    model, steps = Tagger().eval(), Dim("steps", max=64)
    with sequences_of_any_length():
        program = torch.export.export(model, (torch.randn(3, 2, 4),), dynamic_shapes=({0: steps},))
    torch.export.save(program, tmp_path / "m.pt2")
    assert main(["import", str(tmp_path / "m.pt2"), "-o", str(tmp_path / "m.tvms")]) == 0
    x = torch.randn(9, 2, 4)
    (made,) = tvms.compile(tvms.load(str(tmp_path / "m.tvms")))["main"](x.numpy())
    np.testing.assert_allclose(np.asarray(made), model(x).detach().numpy(), 1e-5, 1e-6)
