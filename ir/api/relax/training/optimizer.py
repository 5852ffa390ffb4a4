"""Optimizers, as graph functions of parameters, gradients and state (TVM: `relax.training.optimizer`)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, cast

from .... import hooks, relax
from ....building.block_builder import BlockBuilder
from ....building.values import apply, const, graph_value
from ....dtype import is_float
from ....numpy_dtype import numpy_dtype
from ....ops.inference import tensor_info


class Optimizer:
    """An update of parameters by their gradients.

    `init` sets the parameters and `state`, the initial state: a tuple of `NDArray`, the first of which counts the steps. `get_function`
    returns the graph function `(params, gradients, optim_states) -> (params, optim_states)`, all of them tuples.
    """

    def __init__(self, name: str) -> None:
        """`name` is the symbol of the function."""
        self.name = name
        self.param_list: list[relax.Var] = []
        self.state: tuple[Any, ...] | None = None
        self.dtype: str | None = None

    def init(self, params: relax.Var | Sequence[relax.Var]) -> Optimizer:
        """Set the parameters, different float tensors of one dtype; ValueError for others. Return the optimizer."""
        import numpy as np

        given: Any = list(cast("Any", params)) if isinstance(params, list | tuple) else [params]
        self.dtype = _common_dtype(given)
        self.param_list = given
        scalars, copies = self._state_form()
        kind = numpy_dtype(self.dtype)
        zeros = [np.zeros(_sizes(param), kind) for _ in range(copies) for param in given]
        values = [np.zeros((), "int64"), *(np.ones((), kind) for _ in range(scalars)), *zeros]
        self.state = tuple(hooks.call("array", value) for value in values)
        return self

    def get_function(self) -> relax.Function:
        """Return the function of one step; RuntimeError before `init`."""
        if self.state is None:
            raise RuntimeError("Please call init() for the optimizer before calling get_function()")
        scalars, copies = self._state_form()
        infos = [cast("relax.TensorStructInfo", param.struct_info) for param in self.param_list]
        head = [tensor_info([], "int64"), *(tensor_info([], self._dtype) for _ in range(scalars))]
        variables = [
            relax.Var(name, struct_info=relax.TupleStructInfo(tuple(fields)))
            for name, fields in (("params", infos), ("gradients", infos), ("optim_states", [*head, *infos * copies]))
        ]
        builder = BlockBuilder()
        with builder.function(self.name, variables):
            with builder.dataflow():
                new, state = _Step(builder, variables, scalars, len(infos)).results(self)
                outputs = [
                    builder.emit_output(tuple(new), "params_new"),
                    builder.emit_output(tuple(state), "optim_states_new"),
                ]
            builder.emit_func_output(tuple(outputs))
        return cast("relax.Function", builder.get()[self.name])

    @property
    def _dtype(self) -> str:
        return cast("str", self.dtype)

    def _state_form(self) -> tuple[int, int]:
        """Return the number of scalars in the state after the number of steps, and of tensors for each parameter."""
        return 0, 0

    def _scalars(self, step: _Step, old: Sequence[relax.Var]) -> list[relax.Var]:
        """Bind the new scalars of the state."""
        return []

    def _update(
        self,
        step: _Step,
        param: relax.Var,
        gradient: relax.Var,
        state: Sequence[relax.Var],
        scalars: Sequence[relax.Var],
    ) -> list[relax.Var]:
        """Bind the new value of one parameter and its new state."""
        raise TypeError(f"'{type(self).__name__}' defines no update of a parameter")

    def _constant(self, value: float) -> relax.Constant:
        return const(value, self._dtype)

    def _decayed(self, step: _Step, param: relax.Var, gradient: relax.Var, weight_decay: float) -> relax.Var:
        """Return the gradient of the parameter with that of `weight_decay / 2 * param ** 2`."""
        if not weight_decay:
            return gradient
        decay = apply("multiply", self._constant(weight_decay), param)
        return step.bind(apply("add", decay, gradient), param, "grad_new")


class _Step:
    """Emits the bindings of one step in TVM's order and with TVM's names."""

    def __init__(self, builder: BlockBuilder, variables: Sequence[relax.Var], scalars: int, count: int) -> None:
        self._builder = builder
        self._params, self._gradients, self._states = variables
        self._scalars, self._count = scalars, count

    def bind(self, value: relax.Expr, param: relax.Var, suffix: str) -> relax.Var:
        """Bind a value of a parameter to a variable."""
        return self._builder.emit(value, f"{param.name_hint}_{suffix}")

    def emit(self, value: relax.Expr, name: str) -> relax.Var:
        """Bind a value to a variable."""
        return self._builder.emit(value, name)

    def field(self, value: relax.Var, index: int) -> relax.Expr:
        """Return a field of a tuple."""
        return graph_value(list(value)[index])

    def results(self, optimizer: Optimizer) -> tuple[list[relax.Var], list[relax.Var]]:
        """Return the new parameters and the new state."""
        steps = self.emit(self.field(self._states, 0), "num_steps")
        new_steps = self.emit(apply("add", steps, const(1, "int64")), "num_steps_new")
        scalars = optimizer._scalars(self, [self.field(self._states, 1 + n) for n in range(self._scalars)])  # type: ignore
        new: list[relax.Var] = []
        states: list[list[relax.Var]] = []
        _, copies = optimizer._state_form()  # type: ignore[reportPrivateUsage]
        for number, param in enumerate(optimizer.param_list):
            name = param.name_hint
            value = self.emit(self.field(self._params, number), name)
            gradient = self.emit(self.field(self._gradients, number), f"{name}_grad")
            places = [1 + self._scalars + copy * self._count + number for copy in range(copies)]
            hints = {0: (), 1: ("v",), 2: ("m", "v")}[copies]
            old = [
                self.emit(self.field(self._states, at), f"{name}_{hint}")
                for at, hint in zip(places, hints, strict=True)
            ]
            after, *state = optimizer._update(self, value, gradient, old, scalars)  # type: ignore[reportPrivateUsage]
            new.append(after)
            states.append(state)
        return new, [new_steps, *scalars, *(state[copy] for copy in range(copies) for state in states)]


class SGD(Optimizer):
    """Gradient descent: `p -= lr * g`, where `g` includes `weight_decay * p` (PyTorch: `torch.optim.SGD`)."""

    def __init__(self, lr: float, weight_decay: float = 0) -> None:
        super().__init__("SGD")
        self.lr, self.weight_decay = float(lr), float(weight_decay)

    def _update(
        self,
        step: _Step,
        param: relax.Var,
        gradient: relax.Var,
        state: Sequence[relax.Var],
        scalars: Sequence[relax.Var],
    ) -> list[relax.Var]:
        gradient = self._decayed(step, param, gradient, self.weight_decay)
        change = apply("multiply", self._constant(self.lr), gradient)
        return [step.bind(apply("subtract", param, change), param, "new")]


class MomentumSGD(Optimizer):
    """Gradient descent with momentum: `v = momentum * v + (1 - dampening) * g`, then `p -= lr * v`.

    With `nesterov`, `g + momentum * v` replaces `v` (PyTorch: `torch.optim.SGD`, whose first step is not dampened).
    """

    def __init__(
        self, lr: float, momentum: float, dampening: float = 0, weight_decay: float = 0, nesterov: bool = False
    ) -> None:
        super().__init__("MomentumSGD")
        self.lr, self.momentum = float(lr), float(momentum)
        self.dampening, self.weight_decay, self.nesterov = float(dampening), float(weight_decay), nesterov

    def _state_form(self) -> tuple[int, int]:
        return 0, 1

    def _update(
        self,
        step: _Step,
        param: relax.Var,
        gradient: relax.Var,
        state: Sequence[relax.Var],
        scalars: Sequence[relax.Var],
    ) -> list[relax.Var]:
        gradient = self._decayed(step, param, gradient, self.weight_decay)
        momentum = self._constant(self.momentum)
        kept = apply("multiply", momentum, state[0])
        added = apply("multiply", self._constant(_minus(1, self.dampening)), gradient) if self.dampening else gradient
        velocity = step.bind(apply("add", kept, added), param, "v_new")
        change = velocity
        if self.nesterov:
            change = step.bind(apply("add", gradient, apply("multiply", momentum, velocity)), param, "g_nest")
        moved = apply("multiply", self._constant(self.lr), change)
        return [step.bind(apply("subtract", param, moved), param, "new"), velocity]


class Adam(Optimizer):
    """Gradient descent scaled by moving means of the gradient and its square (Kingma and Ba, 2015; PyTorch: `torch.optim.Adam`)."""

    def __init__(
        self, lr: float, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0
    ) -> None:
        super().__init__("Adam")
        self.lr, self.eps, self.weight_decay = float(lr), float(eps), float(weight_decay)
        self.beta1, self.beta2 = float(betas[0]), float(betas[1])

    def _state_form(self) -> tuple[int, int]:
        return 2, 2

    def _scalars(self, step: _Step, old: Sequence[relax.Expr]) -> list[relax.Var]:
        betas = (("beta1_prod", self.beta1), ("beta2_prod", self.beta2))
        parts = zip(betas, old, strict=True)
        return [step.emit(apply("multiply", value, self._constant(beta)), name) for (name, beta), value in parts]

    def _update(
        self,
        step: _Step,
        param: relax.Var,
        gradient: relax.Var,
        state: Sequence[relax.Var],
        scalars: Sequence[relax.Var],
    ) -> list[relax.Var]:
        gradient = self._decayed(step, param, gradient, self.weight_decay)
        mean = step.bind(self._moving(self.beta1, state[0], gradient), param, "m_new")
        square = step.bind(self._moving(self.beta2, state[1], apply("multiply", gradient, gradient)), param, "v_new")
        one = self._constant(1)
        unbiased = [
            step.bind(apply("divide", value, apply("subtract", one, product)), param, name)
            for value, product, name in ((mean, scalars[0], "m_hat"), (square, scalars[1], "v_hat"))
        ]
        scale = apply("add", apply("sqrt", unbiased[1]), self._constant(self.eps))
        change = apply("multiply", self._constant(self.lr), apply("divide", unbiased[0], scale))
        return [step.bind(apply("subtract", param, change), param, "new"), mean, square]

    def _moving(self, beta: float, old: relax.Expr, new: relax.Expr) -> relax.Expr:
        kept = apply("multiply", self._constant(beta), old)
        return apply("add", kept, apply("multiply", self._constant(_minus(1, beta)), new))


def _minus(a: float, b: float) -> float:
    """Return `a - b` of the decimal numbers that are printed, so that 1 - 0.9 is 0.1."""
    return float(Decimal(str(a)) - Decimal(str(b)))


def _sizes(param: relax.Var) -> list[int]:
    info = cast("relax.TensorStructInfo", param.struct_info)
    return [int(cast("Any", size)) for size in cast("relax.ShapeExpr", info.shape).values]


def _common_dtype(params: Sequence[relax.Var]) -> str:
    """Return the dtype of the parameters; ValueError unless they are different float tensors of one dtype."""
    dtypes: dict[str, str] = {}
    for number, param in enumerate(params):
        if not isinstance(cast("object", param), relax.Var):
            raise ValueError(f"parameter {number} is not a relax.Var, but {param}")
        info = param.struct_info
        if not isinstance(info, relax.TensorStructInfo) or not is_float(info.dtype):
            raise ValueError(f"parameter '{param.name_hint}' is {info}; give a tensor of floats")
        if any(param is other for other in params[:number]):
            raise ValueError(f"parameter '{param.name_hint}' is given twice")
        dtypes.setdefault(info.dtype, param.name_hint)
    if len(dtypes) > 1:
        (a, first), (b, second), *_ = dtypes.items()
        raise ValueError(f"parameter '{first}' is {a}, but '{second}' is {b}; give parameters of one dtype")
    return next(iter(dtypes), "float32")
