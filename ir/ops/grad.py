"""Gradients and checkpoints (TVM: `relax/op/grad`)."""

from __future__ import annotations

from .inference import same_as_first
from .loss import LOSS_PARAMS
from .registry import InferRule, Param, RelaxOp, register


def _like(name: str) -> InferRule:
    return lambda a: a.tensor(name)


_POOL = (
    Param("output_grad"),
    Param("data"),
    Param("pool_size", "ints", (1, 1)),
    Param("strides", "ints", (1, 1)),
    Param("padding", "ints", (0, 0, 0, 0)),
    Param("dilation", "ints", (1, 1)),
    Param("ceil_mode", "bool", False),
    Param("count_include_pad", "bool", False),
    Param("layout", "str", "NCHW"),
    Param("out_layout", "opt_str", None),
)
for _name, _doc in (
    ("no_grad", "Return `input`, through which no gradient flows."),
    ("start_checkpoint", "Return `input`; what follows is computed again for the gradient."),
    ("end_checkpoint", "Return `input`; what went before is computed again for the gradient."),
):
    register(RelaxOp(f"relax.grad.{_name}", (Param("input"),), same_as_first, _doc, lambda np, a: a.input))
register(
    RelaxOp(
        "relax.grad.nll_loss_backward",
        (Param("output_grad"), *LOSS_PARAMS),
        _like("predictions"),
        "Return the gradient of `nll_loss` with respect to `predictions`.",
    )
)
for _name in ("max_pool2d", "avg_pool2d"):
    register(
        RelaxOp(
            f"relax.grad.{_name}_backward",
            _POOL,
            _like("data"),
            f"Return the gradient of `{_name}` with respect to `data`.",
            complete=lambda values: values.update(out_layout=values["out_layout"] or values["layout"]),
        )
    )
register(
    RelaxOp(
        "relax.grad.take_backward",
        (Param("output_grad"), Param("x"), Param("indices"), Param("axis", "opt_int", None)),
        _like("x"),
        "Return the gradient of `take` with respect to `x`.",
    )
)
