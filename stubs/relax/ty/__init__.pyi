"""`tvms.relax.ty`. Generated from the declarations; do not edit."""

from tvms.ir.relax import ObjectStructInfo as AnyType
from tvms.ir.relax import TensorStructInfo as DynTensorType
from tvms.ir.relax import FuncStructInfo as FuncStructInfo
from tvms.ir.relax import FuncStructInfo as FuncType
from tvms.ir.relax import ObjectStructInfo as ObjectStructInfo
from tvms.ir.relax import ObjectStructInfo as ObjectType
from tvms.ir.relax import FuncStructInfo as PackedFuncType
from tvms.ir.relax import PrimStructInfo as PrimStructInfo
from tvms.ir.relax import ShapeStructInfo as ShapeStructInfo
from tvms.ir.relax import ShapeStructInfo as ShapeType
from tvms.ir.relax import TensorStructInfo as TensorStructInfo
from tvms.ir.relax import TensorStructInfo as TensorType
from tvms.ir.relax import TupleStructInfo as TupleStructInfo
from tvms.ir.relax import TupleStructInfo as TupleType
from tvms.ir.api.relax.struct_info import as_struct_info as as_struct_info
