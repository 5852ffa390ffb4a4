"""`tvms.relax.expr`. Generated from the declarations; do not edit."""

from tvms.ir.api.relax.expr import Binding as Binding
from tvms.ir.relax import BindingBlock as BindingBlock
from tvms.ir.relax import Call as Call
from tvms.ir.api.relax.expr import Constant as Constant
from tvms.ir.relax import DataTypeImm as DataTypeImm
from tvms.ir.relax import DataflowBlock as DataflowBlock
from tvms.ir.relax import DataflowVar as DataflowVar
from tvms.ir.api.relax.expr import Expr as Expr
from tvms.ir.relax import ExternFunc as ExternFunc
from tvms.ir.relax import Function as Function
from tvms.ir.api.relax.expr import GlobalVar as GlobalVar
from tvms.ir.relax import If as If
from tvms.ir.relax import MatchCast as MatchCast
from tvms.ir.relax import PrimValue as PrimValue
from tvms.ir.relax import SeqExpr as SeqExpr
from tvms.ir.relax import ShapeExpr as ShapeExpr
from tvms.ir.relax import StringImm as StringImm
from tvms.ir.relax import TensorStructInfo as TensorStructInfo
from tvms.ir.relax import Tuple as Tuple
from tvms.ir.relax import TupleGetItem as TupleGetItem
from tvms.ir.relax import Var as Var
from tvms.ir.relax import VarBinding as VarBinding
from tvms.ir.api.relax.expr import extern as extern
from tvms.ir.api.relax.expr import get_shape_of as get_shape_of
from tvms.ir.api.relax.expr import make_shape as make_shape
from tvms.ir.api.relax.expr import te_tensor as te_tensor
