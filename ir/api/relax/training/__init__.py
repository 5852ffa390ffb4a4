"""Training of graph-level programs (TVM: `tvm.relax.training`).

trained = SetupTrainer(loss.CrossEntropyLoss(), optimizer.Adam(1e-3), [predictions, targets])(module)
trainer = Trainer(trained, relax.VirtualMachine(tvms.compile(trained), tvms.cpu()), tvms.cpu())
trainer.load_params({"w": w, "b": b})
value = trainer.update(inputs, targets)
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from . import loss, optimizer, setup_trainer, utils
from .loss import Loss
from .optimizer import Optimizer
from .setup_trainer import SetupTrainer
from .utils import AppendLoss

__all__ = ["AppendLoss", "Loss", "Optimizer", "SetupTrainer", "loss", "optimizer", "setup_trainer", "utils"]


def __getattr__(name: str) -> Any:
    """Import `Trainer`, which runs programs, on first use; it belongs to a package that `ir` must not import."""
    if name != "Trainer":
        raise AttributeError(f"module 'tvms.relax.training' has no attribute '{name}'")
    return import_module("tvms.relax.training.trainer").Trainer
