"""`tvms.relax.frontend.nn.tensor`. Generated from the declarations; do not edit."""

from tvms.ir.nn.tensor import Object as Object
from tvms.ir.nn.tensor import Parameter as Parameter
from tvms.ir.nn.tensor import Tensor as Tensor
from tvms.ir.nn.tensor import builder as builder
from tvms.ir.nn.tensor import call as call
from tvms.ir.nn.tensor import get_default_dtype as get_default_dtype
from tvms.ir.nn.tensor import plain_values as plain_values
from tvms.ir.nn.tensor import set_default_dtype as set_default_dtype
from tvms.ir.nn.tensor import wrap as wrap
from tvms.ir.nn.tensor import wrap_nested as wrap_nested
