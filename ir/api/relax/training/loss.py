"""Losses, as graph functions of predictions and targets (TVM: `relax.training.loss`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, cast

from .... import relax
from ....building.block_builder import BlockBuilder
from ....building.values import apply
from ....dtype import is_int

Reduction: TypeAlias = Literal["mean", "sum", "none"]
Param: TypeAlias = "relax.Var | relax.StructInfo"
"""A parameter of the loss: a variable, or its struct info."""


class Loss:
    """A loss of one or more outputs of a network, with the given reduction over the elements; ValueError for another reduction.

    Subclasses define `__call__`, which takes parameters and returns a graph function with one dataflow block.
    """

    _valid_reductions = ("mean", "sum", "none")

    def __init__(self, loss_name: str, num_backbone_outputs: int, reduction: Reduction = "mean") -> None:
        """`loss_name` is the symbol of the function, whose first `num_backbone_outputs` parameters are outputs of the network."""
        if reduction not in self._valid_reductions:
            raise ValueError(f'reduction is one of "mean", "sum", "none", not {reduction!r}')
        self._loss_name, self._num_backbone_outputs, self._reduction = loss_name, num_backbone_outputs, reduction

    @property
    def num_backbone_outputs(self) -> int:
        """The number of outputs of the network that the loss takes."""
        return self._num_backbone_outputs

    def _with_reduction(self, expr: relax.Expr) -> relax.Expr:
        return expr if self._reduction == "none" else apply(self._reduction, expr)

    def _function(self, params: Sequence[relax.Var], result: Callable[[BlockBuilder], relax.Expr]) -> relax.Function:
        """Return the function of `params` with the result that `result` builds."""
        builder = BlockBuilder()
        with builder.function(self._loss_name, list(params)):
            with builder.dataflow():
                loss = builder.emit_output(result(builder))
            builder.emit_func_output(loss)
        return cast("relax.Function", builder.get()[self._loss_name])


class _ElementwiseLoss(Loss):
    def __call__(self, predictions: Param, targets: Param) -> relax.Function:
        """Return the function of predictions and targets of the same shape."""
        params = _variable(predictions, "predictions"), _variable(targets, "targets")

        def result(builder: BlockBuilder) -> relax.Expr:
            difference = builder.emit(apply("subtract", *params))
            return self._with_reduction(builder.emit(self._elements(difference)))

        return self._function(params, result)

    def _elements(self, difference: relax.Var) -> relax.Expr:
        raise TypeError(f"'{type(self).__name__}' defines no loss of an element")


class L1Loss(_ElementwiseLoss):
    """The absolute difference of predictions and targets."""

    def __init__(self, reduction: Reduction = "mean") -> None:
        super().__init__("l1_loss", 1, reduction)

    def _elements(self, difference: relax.Var) -> relax.Expr:
        return apply("abs", difference)


class MSELoss(_ElementwiseLoss):
    """The squared difference of predictions and targets."""

    def __init__(self, reduction: Reduction = "mean") -> None:
        super().__init__("mse_loss", 1, reduction)

    def _elements(self, difference: relax.Var) -> relax.Expr:
        return apply("multiply", difference, difference)


class CrossEntropyLoss(Loss):
    """The negative logarithm of the softmax of predictions at the target classes; targets of `ignore_index` do not count."""

    def __init__(self, reduction: Reduction = "mean", ignore_index: int = -100) -> None:
        super().__init__("cross_entropy_loss", 1, reduction)
        self.ignore_index = ignore_index

    def __call__(self, predictions: Param, targets: Param, weights: Param | None = None) -> relax.Function:
        """Return the function of predictions (batch, classes), integer targets (batch,), and weights of the classes."""
        params = _variables(predictions, targets, weights)

        def result(builder: BlockBuilder) -> relax.Expr:
            logits = builder.emit(apply("nn.log_softmax", params[0]))
            return _nll(logits, params[1:], self._reduction, self.ignore_index)

        return self._function(params, result)


class CategoricalCrossEntropyLoss(Loss):
    """The cross entropy of predictions and one-hot targets of integers; classes of `ignore_index` do not count if it is not negative.

    Without an ignored class, "mean" divides by the number of elements, as in TVM.
    """

    def __init__(self, reduction: Reduction = "mean", ignore_index: int = -100) -> None:
        super().__init__("categorical_cross_entropy_loss", 1, reduction)
        self.ignore_index = ignore_index

    def __call__(self, predictions: Param, targets: Param, weights: Param | None = None) -> relax.Function:
        """Return the function of predictions and targets (batch, classes), and weights of the classes.

        TypeError if the targets are not integers.
        """
        params = _variables(predictions, targets, weights)
        info = params[1].struct_info
        if not isinstance(info, relax.TensorStructInfo) or not is_int(info.dtype):
            raise TypeError(f"the targets are {info}; give one-hot rows of integers")

        def result(builder: BlockBuilder) -> relax.Expr:
            logits = builder.emit(apply("nn.log_softmax", params[0]))
            if self.ignore_index >= 0:
                batch = cast("relax.ShapeExpr", info.shape).values[0]
                labels = builder.emit(apply("reshape", apply("argmax", params[1], 1), (batch,)))
                return _nll(logits, (labels, *params[2:]), self._reduction, self.ignore_index)
            one_hot = apply("astype", params[1], "float32")
            product = builder.emit(apply("multiply", apply("negative", logits), one_hot))
            for weight in params[2:]:
                product = builder.emit(apply("multiply", product, weight))
            return self._with_reduction(product)

        return self._function(params, result)


def _nll(logits: relax.Var, others: Sequence[relax.Expr], reduction: str, ignore_index: int) -> relax.Expr:
    targets, *weights = others
    given: dict[str, Any] = {"reduction": reduction, "ignore_index": ignore_index}
    return apply("nn.nll_loss", logits, targets, *weights, **given)


def _variables(predictions: Param, targets: Param, weights: Param | None) -> list[relax.Var]:
    given = {"predictions": predictions, "targets": targets, "weights": weights}
    return [_variable(value, name) for name, value in given.items() if value is not None]


def _variable(param: Param, name: str) -> relax.Var:
    """Return a new variable like `param`, or of that struct info; TypeError for other values."""
    if isinstance(param, relax.Var):
        return relax.Var(param.name_hint, struct_info=param.struct_info)
    if not isinstance(cast("object", param), relax.StructInfo):
        raise TypeError(f"'{name}' is a relax.Var or struct info, not {param!r}")
    return relax.Var(name, struct_info=param)
