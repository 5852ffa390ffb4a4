"""Training of compiled programs, step by step (TVM: `relax.training.Trainer`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from ..ir import relax
from ..ir.base import IRModule
from ..ir.diagnostics import error
from ..ir.numpy_dtype import numpy_dtype
from .device import Device
from .profiling.report import Report
from .runtime.ndarray import array
from .virtual_machine import VirtualMachine

Arrays = Sequence[Any] | Mapping[str, Any]
"""Arrays in order, or by name."""


class Trainer:
    """Trains the network of a module that `SetupTrainer` made; `vm` runs that module on `device`.

    Weights and states start as zeros with `zero_init_param_state`; otherwise they are set before use.
    """

    BACKBONE_FUNC = "backbone"
    ADJOINT_FUNC = "backbone_loss_adjoint"
    OPTIMIZER_FUNC = "optimizer"

    def __init__(
        self, train_mod: IRModule, vm: VirtualMachine, device: Device, zero_init_param_state: bool = True
    ) -> None:
        self.mod, self.vm, self.device = train_mod.without_attr("optim_state"), vm, device
        self._optim_state = tuple(array(value, device) for value in train_mod.attrs["optim_state"])
        inputs, weights, states = (int(train_mod.attrs[key]) for key in ("input_num", "param_num", "state_num"))
        params = cast("relax.Function", train_mod[self.ADJOINT_FUNC]).params
        self._inputs = inputs
        self._param_vars = params[inputs : inputs + weights]
        self._state_vars = params[inputs + weights : inputs + weights + states]
        self._params: list[Any] = [None] * weights
        self._states: list[Any] = [None] * states
        if zero_init_param_state:
            self.zero_init_params()
            self.zero_init_states()

    # --- Weights and states

    def xaiver_uniform_init_params(self) -> None:
        """Set each weight to uniform random numbers of NumPy's global generator, below sqrt(6 / sum of the sizes) (Glorot and
        Bengio, 2010); the name is TVM's.
        """
        for number, param in enumerate(self._param_vars):
            shape, dtype = _form(param)
            values = np.sqrt(6.0 / max(sum(shape), 1)) * np.random.uniform(-1.0, 1.0, shape)
            self._params[number] = array(np.asarray(values, dtype), self.device)

    def zero_init_params(self) -> None:
        """Set all weights to zero."""
        self._params = self._zeros(self._param_vars)

    def zero_init_states(self) -> None:
        """Set all states to zero."""
        self._states = self._zeros(self._state_vars)

    def _zeros(self, variables: Sequence[relax.Var]) -> list[Any]:
        return [array(np.zeros(*_form(variable)), self.device) for variable in variables]

    def load_params(self, params: Arrays) -> None:
        """Set all weights in order, or some by name; ValueError for a wrong number or an unknown name."""
        self._load(self._params, self._param_vars, params, "weight")

    def load_states(self, states: Arrays) -> None:
        """Set all states in order, or some by name; ValueError for a wrong number or an unknown name."""
        self._load(self._states, self._state_vars, states, "state")

    def _load(self, held: list[Any], variables: Sequence[relax.Var], given: Arrays, what: str) -> None:
        names = [variable.name_hint for variable in variables]
        if isinstance(given, Mapping):
            if unknown := [name for name in given if name not in names]:
                raise ValueError(f"the network has no {what} '{unknown[0]}'; it has {', '.join(names)}")
            for name, value in given.items():
                held[names.index(name)] = array(value, self.device)
            return
        if len(given) != len(names):
            raise ValueError(f"{len(given)} arrays are given for {len(names)} {what}s")
        held[:] = [array(value, self.device) for value in given]

    def export_params(self) -> dict[str, Any]:
        """Return the weights by name."""
        return {var.name_hint: value for var, value in zip(self._param_vars, self._params, strict=True)}

    def export_states(self) -> dict[str, Any]:
        """Return the states by name."""
        return {var.name_hint: value for var, value in zip(self._state_vars, self._states, strict=True)}

    # --- Steps

    def predict(self, *input_instances: Any) -> Any:
        """Return the predictions for inputs; ValueError for a wrong number of them, TvmsError E0722 without weights."""
        result = self.vm[self.BACKBONE_FUNC](*self._arguments(input_instances))
        if not self._states:
            return result
        predictions = result[: -len(self._states)]
        return predictions[0] if len(predictions) == 1 else predictions

    def update(self, input_instances: Any, targets: Any) -> Any:
        """Do one step with inputs and targets, each an array or a list of them; return the loss before it."""
        arguments = [*self._arguments(_listed(input_instances)), *self._arrays(_listed(targets))]
        result, gradients = self.vm[self.ADJOINT_FUNC](*arguments)
        loss = result
        if self._states:
            loss, *self._states = result
        step = self.vm[self.OPTIMIZER_FUNC]
        params, self._optim_state = step(tuple(self._params), gradients, tuple(self._optim_state))
        self._params = list(params)
        return loss

    def profile_adjoint(self, input_instances: Any, targets: Any) -> Report:
        """Return the profile of the loss and its gradients."""
        arguments = [*self._arguments(_listed(input_instances)), *self._arrays(_listed(targets))]
        return self.vm.profile(self.ADJOINT_FUNC, *arguments)

    def _arguments(self, inputs: Sequence[Any]) -> list[Any]:
        if len(inputs) != self._inputs:
            raise ValueError(f"{len(inputs)} inputs are given, but the network has {self._inputs}")
        for variables, values in ((self._param_vars, self._params), (self._state_vars, self._states)):
            for variable, value in zip(variables, values, strict=True):
                if value is None:
                    help = "call load_params and load_states, or initialize them"
                    raise error("E0722", f"'{variable.name_hint}' has no value", None, help)
        return [*self._arrays(inputs), *self._params, *self._states]

    def _arrays(self, values: Sequence[Any]) -> list[Any]:
        return [array(value, self.device) for value in values]


def _listed(value: Any) -> Sequence[Any]:
    return cast("Sequence[Any]", value) if isinstance(value, list) else [value]


def _form(variable: relax.Var) -> tuple[list[int], Any]:
    info = cast("relax.TensorStructInfo", variable.struct_info)
    sizes = cast("relax.ShapeExpr", info.shape).values
    return [int(cast("Any", size)) for size in sizes], numpy_dtype(info.dtype)
