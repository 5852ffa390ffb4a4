"""Networks that are ready for training (TVM: `relax.training.SetupTrainer`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from .... import relax
from ....base import IRModule
from ....passes.decompose_ops import decompose_ops_for_inference, decompose_ops_for_training
from ....passes.gradient import gradient
from ....passes.instrument import PassInfo
from ....passes.legalize_ops import legalize_ops
from ....passes.transform import Pass, PassContext
from .loss import Loss
from .optimizer import Optimizer
from .utils import AppendLoss


class SetupTrainer(Pass):
    """Adds to a module with a function `backbone` the functions `backbone_loss`, `backbone_loss_adjoint` and `optimizer`.

    The parameters of `backbone` are inputs, then the weights, as many as the attribute `param_num` of the module says, then states
    such as moving means, as many as `state_num` says; it returns predictions, then the new states. ValueError otherwise.
    The module gets the attributes `input_num` and `optim_state`, the initial state of the optimizer.
    """

    BACKBONE_FUNC = "backbone"
    BACKBONE_LOSS_FUNC = "backbone_loss"
    ADJOINT_FUNC = "backbone_loss_adjoint"
    OPTIMIZER_FUNC = "optimizer"
    PARAM_NUM_ATTR_KEY = "param_num"
    STATE_NUM_ATTR_KEY = "state_num"

    def __init__(
        self, loss: Loss, optimizer: Optimizer, loss_args: Sequence[relax.StructInfo | relax.Var], legalize: bool = True
    ) -> None:
        """`loss_args` are the arguments of `loss`. With `legalize`, operators become calls of loop functions."""
        super().__init__(PassInfo("SetupTrainer"))
        self._loss, self._optimizer, self._loss_args, self._legalize = loss, optimizer, loss_args, legalize

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return the module with the functions of training."""
        weights, states = self._counts(mod)
        make: Any = self._loss
        function = make(*self._loss_args)
        outputs = self._loss.num_backbone_outputs
        mod = AppendLoss(self.BACKBONE_FUNC, function, outputs, self.BACKBONE_LOSS_FUNC)(mod)
        mod = decompose_ops_for_inference(mod, self.BACKBONE_FUNC)
        mod = decompose_ops_for_training(mod, self.BACKBONE_LOSS_FUNC)
        inputs = len(_function(mod, self.BACKBONE_FUNC).params) - weights - states
        params = _function(mod, self.BACKBONE_LOSS_FUNC).params[inputs : inputs + weights]
        mod = gradient(mod, self.BACKBONE_LOSS_FUNC, require_grads=params, target_index=0)
        step = self._optimizer.init(params).get_function().with_attr("global_symbol", self.OPTIMIZER_FUNC)
        mod = replace(mod, functions={**mod.functions, self.OPTIMIZER_FUNC: step})
        mod = mod.with_attrs({"input_num": inputs, "optim_state": self._optimizer.state})
        return legalize_ops(mod) if self._legalize else mod

    def _counts(self, mod: IRModule) -> tuple[int, int]:
        """Return the numbers of weights and states; ValueError if the module does not have the form above."""
        function = mod.functions.get(self.BACKBONE_FUNC)
        if not isinstance(function, relax.Function):
            raise ValueError(f"the module has no graph function '{self.BACKBONE_FUNC}'")
        weights, states = (_count(mod, key) for key in (self.PARAM_NUM_ATTR_KEY, self.STATE_NUM_ATTR_KEY))
        if len(function.params) < weights + states:
            message = f"'{self.BACKBONE_FUNC}' has {len(function.params)} parameters, fewer than weights and states"
            raise ValueError(f"{message}, which are {weights + states}")
        result = function.body.body
        if states and (not isinstance(result, relax.Tuple) or len(result.fields) <= states):
            raise ValueError(
                f"'{self.BACKBONE_FUNC}' has {states} states, so that it must return more than {states} values"
            )
        return weights, states


def _function(mod: IRModule, name: str) -> relax.Function:
    function = mod.functions[name]
    assert isinstance(function, relax.Function)
    return function


def _count(mod: IRModule, key: str) -> int:
    value = getattr(mod.attrs.get(key), "value", mod.attrs.get(key))
    if not isinstance(value, int):
        raise ValueError(f"the module has no integer attribute '{key}'")
    return value
