"""`tvms.relax.op.grad`. Generated from the declarations; do not edit."""

import builtins
import collections.abc
import tvms.ir.relax
def avg_pool2d_backward(output_grad: tvms.ir.relax.Expr, data: tvms.ir.relax.Expr, pool_size: builtins.int | collections.abc.Sequence[builtins.int] = ..., strides: builtins.int | collections.abc.Sequence[builtins.int] = ..., padding: builtins.int | collections.abc.Sequence[builtins.int] = ..., dilation: builtins.int | collections.abc.Sequence[builtins.int] = ..., ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = False, layout: builtins.str = 'NCHW', out_layout: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return the gradient of `avg_pool2d` with respect to `data`."""
def end_checkpoint(input: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return `input`; what precedes is recomputed for the gradient."""
def max_pool2d_backward(output_grad: tvms.ir.relax.Expr, data: tvms.ir.relax.Expr, pool_size: builtins.int | collections.abc.Sequence[builtins.int] = ..., strides: builtins.int | collections.abc.Sequence[builtins.int] = ..., padding: builtins.int | collections.abc.Sequence[builtins.int] = ..., dilation: builtins.int | collections.abc.Sequence[builtins.int] = ..., ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = False, layout: builtins.str = 'NCHW', out_layout: builtins.str | None = None) -> tvms.ir.relax.Expr:
    """Return the gradient of `max_pool2d` with respect to `data`."""
def nll_loss_backward(output_grad: tvms.ir.relax.Expr, predictions: tvms.ir.relax.Expr, targets: tvms.ir.relax.Expr, weights: tvms.ir.relax.Expr | None = None, reduction: builtins.str = 'mean', ignore_index: builtins.int = -100) -> tvms.ir.relax.Expr:
    """Return the gradient of `nll_loss` with respect to `predictions`."""
def no_grad(input: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return `input` and block its gradient."""
def start_checkpoint(input: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return `input`; what follows is recomputed for the gradient."""
def take_backward(output_grad: tvms.ir.relax.Expr, x: tvms.ir.relax.Expr, indices: tvms.ir.relax.Expr, axis: builtins.int | None = None) -> tvms.ir.relax.Expr:
    """Return the gradient of `take` with respect to `x`."""
from tvms.relax.op.grad import grad as grad
