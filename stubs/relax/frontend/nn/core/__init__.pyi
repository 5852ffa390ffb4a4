"""`tvms.relax.frontend.nn.core`. Generated from the declarations; do not edit."""

from tvms.ir.nn.core import Effect as Effect
from tvms.ir.nn.core import ExternModule as ExternModule
from tvms.ir.nn.core import Module as Module
from tvms.ir.nn.core import ModuleList as ModuleList
from tvms.ir.nn.core import Object as Object
from tvms.ir.nn.core import Parameter as Parameter
from tvms.ir.nn.core import SubroutineMixin as SubroutineMixin
from tvms.ir.nn.core import Tensor as Tensor
from tvms.ir.nn.core import get_default_dtype as get_default_dtype
from tvms.ir.nn.core import set_default_dtype as set_default_dtype
from tvms.ir.nn.core import wrap_nested as wrap_nested
