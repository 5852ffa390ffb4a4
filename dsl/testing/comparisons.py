"""Comparisons of gradients and of expressions in tests under the names of `tvm.testing`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...ir.api.arith import Analyzer
from ...ir.equal import structural_equal


def assert_prim_expr_equal(lhs: Any, rhs: Any) -> None:
    """Raise ValueError unless two expressions are the same or proven to be equal (TVM: `tvm.testing.assert_prim_expr_equal`)."""
    if not structural_equal(lhs, rhs) and not Analyzer().can_prove_equal(lhs, rhs):
        raise ValueError(f"{lhs} and {rhs} are not proven to be equal")


def get_dtype_range(dtype: str) -> tuple[int, int]:
    """Return the smallest and the largest value of a dtype (TVM: `tvm.testing.get_dtype_range`)."""
    import numpy as np

    limits: Any = np.finfo(dtype) if np.dtype(dtype).kind == "f" else np.iinfo(dtype)
    return limits.min, limits.max


def check_numerical_grads(
    function: Callable[..., Any],
    input_values: Mapping[str, Any] | Sequence[Any],
    grad_values: Mapping[str, Any] | Sequence[Any],
    function_value: Any = None,
    delta: float = 1e-3,
    atol: float = 1e-2,
    rtol: float = 0.1,
) -> None:
    """Raise AssertionError if gradients differ from central differences of `function`, a scalar function of arrays.

    Arrays are given in order or by name. The step is `delta`, and half of it where the difference is large. The norm of the
    differences may be `atol` times the root of the number of elements plus `rtol` times the norm of the gradient
    (TVM: `tvm.testing.check_numerical_grads`). `function_value` is not needed.
    """
    import numpy as np

    is_named = isinstance(input_values, Mapping)
    given: dict[Any, Any] = dict(input_values if is_named else enumerate(input_values))
    inputs = [np.asarray(array) for array in given.values()]
    grads: dict[Any, Any] = dict(grad_values if isinstance(grad_values, Mapping) else enumerate(grad_values))

    def value_at(number: int, place: int, step: float) -> float:
        moved = [array.copy() for array in inputs]
        moved[number].reshape(-1)[place] += step
        return float(function(**dict(zip(given, moved, strict=True))) if is_named else function(*moved))

    def slope(number: int, place: int, step: float) -> float:
        return (value_at(number, place, step) - value_at(number, place, -step)) / (2 * step)

    for number, name in enumerate(given):
        if name not in grads:
            continue
        grad = grads[name]
        if grad.shape != inputs[number].shape:
            raise AssertionError(f"the gradient of '{name}' has shape {grad.shape}, expected {inputs[number].shape}")
        found: Any = np.zeros(grad.size)
        for place, want in enumerate(grad.reshape(-1)):
            found[place] = slope(number, place, delta)
            if abs(found[place] - want) >= atol + rtol * abs(found[place]):
                found[place] = (4 * slope(number, place, delta / 2) - found[place]) / 3
        distance = float(np.linalg.norm(found - grad.reshape(-1)))
        if not distance <= atol * grad.size**0.5 + rtol * float(np.linalg.norm(found)):
            raise AssertionError(
                f"the gradient of '{name}' differs from the numerical one by {distance}:\n{grad}\n{found.reshape(grad.shape)}"
            )
