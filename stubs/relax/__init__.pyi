"""`tvms.relax`. Generated from the declarations; do not edit."""

import builtins
import collections.abc
import tvms.ir.base
import tvms.ir.relax
import tvms.ir.tir
import typing
from tvms.ir.relax import ObjectStructInfo as AnyType
from tvms.ir.api.relax.base_py_module import BasePyModule as BasePyModule
from tvms.ir.api.relax import Binding as Binding
from tvms.ir.relax import BindingBlock as BindingBlock
from tvms.ir.api.relax import BlockBuilder as BlockBuilder
from tvms.ir.relax import Call as Call
from tvms.ir.api.relax import Constant as Constant
from tvms.ir.relax import DataTypeImm as DataTypeImm
from tvms.ir.relax import DataflowBlock as DataflowBlock
from tvms.ir.relax import DataflowVar as DataflowVar
from tvms.ir.relax import TensorStructInfo as DynTensorType
from tvms.codegen.bytecode import ExecBuilder as ExecBuilder
from tvms.ir.api.relax import Expr as Expr
from tvms.ir.relax import ExternFunc as ExternFunc
from tvms.ir.relax import FuncStructInfo as FuncStructInfo
from tvms.ir.relax import FuncStructInfo as FuncType
from tvms.ir.relax import Function as Function
from tvms.ir.api.relax import GlobalVar as GlobalVar
from tvms.ir.relax import If as If
from tvms.ir.relax import MatchCast as MatchCast
from tvms.ir.relax import ObjectStructInfo as ObjectStructInfo
from tvms.ir.relax import ObjectStructInfo as ObjectType
from tvms.ir.relax import FuncStructInfo as PackedFuncType
from tvms.ir.relax import PrimStructInfo as PrimStructInfo
from tvms.ir.relax import PrimValue as PrimValue
from tvms.ir.api.relax.expr_mutator import PyExprMutator as PyExprMutator
from tvms.ir.api.relax.expr_functor import PyExprVisitor as PyExprVisitor
from tvms.ir.relax import SeqExpr as SeqExpr
from tvms.ir.relax import ShapeExpr as ShapeExpr
from tvms.ir.relax import ShapeStructInfo as ShapeStructInfo
from tvms.ir.relax import ShapeStructInfo as ShapeType
from tvms.ir.api.relax import Span as Span
from tvms.ir.relax import StringImm as StringImm
from tvms.ir.api.relax import StructInfo as StructInfo
from tvms.ir.relax import TensorStructInfo as TensorStructInfo
from tvms.ir.relax import TensorStructInfo as TensorType
from tvms.ir.relax import Tuple as Tuple
from tvms.ir.relax import TupleGetItem as TupleGetItem
from tvms.ir.relax import TupleStructInfo as TupleStructInfo
from tvms.ir.relax import TupleStructInfo as TupleType
from tvms.ir.api.relax import Type as Type
from tvms.codegen.runtime.executable import Executable as VMExecutable
from tvms.codegen.virtual_machine import VMInstrumentReturnKind as VMInstrumentReturnKind
from tvms.ir.relax import Var as Var
from tvms.ir.relax import VarBinding as VarBinding
from tvms.codegen.virtual_machine import VirtualMachine as VirtualMachine
args_converter: typing.Any
from tvms.codegen.virtual_machine import build as build
def call_dps_packed(func: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], out_sinfo: tvms.ir.base.StructInfo) -> tvms.ir.relax.Expr:
    """Call an external function with `args` and new tensors for its results."""
def call_inplace_packed(func: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, *args: tvms.ir.relax.Expr, inplace_indices: builtins.int | collections.abc.Sequence[builtins.int], sinfo_args: tvms.ir.base.StructInfo | collections.abc.Sequence[tvms.ir.base.StructInfo] = ...) -> tvms.ir.relax.Expr:
    """Call an external function that writes some of its arguments in place."""
def call_pure_packed(func: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, *args: tvms.ir.relax.Expr, sinfo_args: tvms.ir.base.StructInfo | collections.abc.Sequence[tvms.ir.base.StructInfo] = ...) -> tvms.ir.relax.Expr:
    """Call an external function that has no side effects."""
def call_tir(gvar: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], out_sinfo: tvms.ir.base.StructInfo, tir_vars: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int] | None = None) -> tvms.ir.relax.Expr:
    """Call a loop function with `args` and new tensors for its results."""
def call_tir_inplace(gvar: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], inplace_indices: builtins.int | collections.abc.Sequence[builtins.int], out_sinfo: tvms.ir.base.StructInfo, tir_vars: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int] | None = None) -> tvms.ir.relax.Expr:
    """Call a loop function that writes its results over some of its arguments."""
def call_tir_with_grad(gvar: tvms.ir.relax.Expr | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | builtins.str, args: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.relax.Expr], out_sinfo: tvms.ir.base.StructInfo, te_grad_name: builtins.str, te_grad_kwargs: typing.Any = None, tir_vars: tvms.ir.relax.Expr | collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int] | None = None) -> tvms.ir.relax.Expr:
    """Call a loop function, whose gradient is the tensor expression registered as `te_grad_name`."""
from tvms.ir.api.relax import const as const
from tvms.ir.api.relax.utils import convert_to_expr as convert_to_expr
from tvms.ir.api.relax import extern as extern
from tvms.ir.api.relax import get_default_pipeline as get_default_pipeline
from tvms.ir.api.relax import get_pipeline as get_pipeline
from tvms.ir.api.relax import get_shape_of as get_shape_of
from tvms.ir.api.relax import prim_value as prim_value
from tvms.ir.api.relax import register_pipeline as register_pipeline
from tvms.relax import analysis as analysis
from tvms.relax import backend as backend
from tvms.relax import base_py_module as base_py_module
from tvms.relax import binding_rewrite as binding_rewrite
from tvms.relax import block_builder as block_builder
from tvms.relax import dpl as dpl
from tvms.relax import exec_builder as exec_builder
from tvms.relax import expr as expr
from tvms.relax import expr_dispatch as expr_dispatch
from tvms.relax import expr_functor as expr_functor
from tvms.relax import expr_mutator as expr_mutator
from tvms.relax import frontend as frontend
from tvms.relax import layouts as layouts
from tvms.relax import op as op
from tvms.relax import operators as operators
from tvms.relax import pipeline as pipeline
from tvms.relax import struct_info as struct_info
from tvms.relax import subsumption as subsumption
from tvms.relax import testing as testing
from tvms.relax import training as training
from tvms.relax import transform as transform
from tvms.relax import ty as ty
from tvms.relax import type as type
from tvms.relax import utils as utils
from tvms.relax import variables as variables
from tvms.relax import vm as vm
from tvms.relax import vm_build as vm_build
