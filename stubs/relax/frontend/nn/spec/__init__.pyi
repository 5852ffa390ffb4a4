"""`tvms.relax.frontend.nn.spec`. Generated from the declarations; do not edit."""

from tvms.ir.nn.spec import HasParameters as HasParameters
from tvms.ir.nn.spec import Int as Int
from tvms.ir.nn.spec import MethodSpec as MethodSpec
from tvms.ir.nn.spec import Mode as Mode
from tvms.ir.nn.spec import ModuleSpec as ModuleSpec
from tvms.ir.nn.spec import Object as Object
from tvms.ir.nn.spec import Tensor as Tensor
from tvms.ir.nn.spec import Tuple as Tuple
