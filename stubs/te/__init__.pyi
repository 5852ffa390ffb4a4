"""`tvms.te`. Generated from the declarations; do not edit."""

import builtins
import collections.abc
import tvms.ir.tir
import typing
from tvms.ir.api.te import AXIS_SEPARATOR as AXIS_SEPARATOR
from tvms.ir.tir import Add as Add
from tvms.ir.tir import Allocate as Allocate
from tvms.ir.tir import AllocateConst as AllocateConst
from tvms.ir.tir import And as And
from tvms.ir.tir import AssertStmt as AssertStmt
from tvms.ir.tir import AttrStmt as AttrStmt
from tvms.ir.api.tir.data_layout import BijectiveLayout as BijectiveLayout
from tvms.ir.tir import Block as Block
from tvms.ir.tir import BlockRealize as BlockRealize
from tvms.ir.schedule.state import BlockScope as BlockScope
from tvms.ir.tir import Broadcast as Broadcast
from tvms.ir.tir import Buffer as Buffer
from tvms.ir.tir import BufferLoad as BufferLoad
from tvms.ir.tir import BufferRealize as BufferRealize
from tvms.ir.tir import BufferRegion as BufferRegion
from tvms.ir.tir import BufferStore as BufferStore
from tvms.ir.kinds import BufferType as BufferType
from tvms.ir.tir import Call as Call
from tvms.ir.api.tir.kinds import CallEffectKind as CallEffectKind
from tvms.ir.tir import Cast as Cast
from tvms.ir.tir import CommReducer as CommReducer
from tvms.ir.te.tensor import ComputeOp as ComputeOp
from tvms.ir.tir import DeclBuffer as DeclBuffer
from tvms.ir.tir import Div as Div
from tvms.ir.tir import EQ as EQ
from tvms.ir.tir import Evaluate as Evaluate
from tvms.ir.tir import PrimExpr as Expr
from tvms.ir.te.extern import ExternOp as ExternOp
from tvms.ir.tir import FloatImm as FloatImm
from tvms.ir.tir import FloorDiv as FloorDiv
from tvms.ir.tir import FloorMod as FloorMod
from tvms.ir.tir import For as For
from tvms.ir.kinds import ForKind as ForKind
from tvms.ir.tir import GE as GE
from tvms.ir.tir import GT as GT
from tvms.ir.tir import IfThenElse as IfThenElse
from tvms.ir.tir import IndexMap as IndexMap
from tvms.ir.tir import IntImm as IntImm
from tvms.ir.tir import IterVar as IterVar
from tvms.ir.tir import LE as LE
from tvms.ir.tir import LT as LT
from tvms.ir.api.tir.data_layout import Layout as Layout
from tvms.ir.tir import Let as Let
from tvms.ir.tir import LetStmt as LetStmt
from tvms.ir.tir import MatchBufferRegion as MatchBufferRegion
from tvms.ir.tir import Max as Max
from tvms.ir.tir import Min as Min
from tvms.ir.tir import Mod as Mod
from tvms.ir.tir import Mul as Mul
from tvms.ir.tir import NE as NE
from tvms.ir.tir import Not as Not
from tvms.ir.tir import Or as Or
from tvms.ir.te.tensor import PlaceholderOp as PlaceholderOp
from tvms.ir.tir import PrimExpr as PrimExpr
from tvms.ir.tir import PrimFunc as PrimFunc
from tvms.ir.tir import ProducerLoad as ProducerLoad
from tvms.ir.tir import ProducerRealize as ProducerRealize
from tvms.ir.tir import ProducerStore as ProducerStore
from tvms.ir.api.tir.functor import PyStmtExprMutator as PyStmtExprMutator
from tvms.ir.api.tir.functor import PyStmtExprVisitor as PyStmtExprVisitor
from tvms.ir.tir import Ramp as Ramp
from tvms.ir.tir import Reduce as Reduce
from tvms.ir.te.tensor import Reducer as Reducer
from tvms.ir.tir import Block as SBlock
from tvms.ir.tir import BlockRealize as SBlockRealize
from tvms.ir.te.scan import ScanOp as ScanOp
from tvms.ir.schedule.schedule import Schedule as Schedule
from tvms.ir.schedule.error import ScheduleError as ScheduleError
from tvms.ir.schedule.state import ScheduleState as ScheduleState
from tvms.ir.tir import Select as Select
from tvms.ir.tir import SeqStmt as SeqStmt
from tvms.ir.tir import Shuffle as Shuffle
from tvms.ir.tir import SizeVar as SizeVar
from tvms.ir.tir import Stmt as Stmt
from tvms.ir.schedule.state import StmtSRef as StmtSRef
from tvms.ir.tir import StringImm as StringImm
from tvms.ir.tir import Sub as Sub
from tvms.ir.te.tensor import Tensor as Tensor
from tvms.ir.schedule.tensor_intrin import TensorIntrin as TensorIntrin
from tvms.ir.te.tensor import TensorSlice as TensorSlice
Value: typing.Any
from tvms.ir.tir import Var as Var
from tvms.ir.tir import While as While
from tvms.ir.te.expr import abs as abs
from tvms.ir.te.expr import acos as acos
from tvms.ir.te.expr import acosh as acosh
from tvms.ir.api.tir.expressions import add as add
from tvms.ir.te.expr import all as all
annotations: typing.Any
from tvms.ir.te.expr import any as any
from tvms.ir.te.expr import asin as asin
from tvms.ir.te.expr import asinh as asinh
from tvms.ir.te.expr import atan as atan
from tvms.ir.te.expr import atanh as atanh
from tvms.ir.api.tir.data_layout import bijective_layout as bijective_layout
from tvms.ir.te.expr import call as call
from tvms.ir.api.tir.intrinsics import call_intrin as call_intrin
from tvms.ir.api.tir.kinds import call_tir as call_tir
from tvms.ir.te.expr import cast as cast
from tvms.ir.te.expr import ceil as ceil
from tvms.ir.te.tensor import comm_reducer as comm_reducer
from tvms.ir.te.create_prim_func import computations as computations
def compute(shape: collections.abc.Sequence[tvms.ir.tir.PrimExpr | builtins.int], fcompute: collections.abc.Callable[[tvms.ir.tir.PrimExpr], typing.Any] | collections.abc.Callable[[tvms.ir.tir.PrimExpr, tvms.ir.tir.PrimExpr], typing.Any] | collections.abc.Callable[[tvms.ir.tir.PrimExpr, tvms.ir.tir.PrimExpr, tvms.ir.tir.PrimExpr], typing.Any] | collections.abc.Callable[[tvms.ir.tir.PrimExpr, tvms.ir.tir.PrimExpr, tvms.ir.tir.PrimExpr, tvms.ir.tir.PrimExpr], typing.Any] | collections.abc.Callable[[tvms.ir.tir.PrimExpr, tvms.ir.tir.PrimExpr, tvms.ir.tir.PrimExpr, tvms.ir.tir.PrimExpr, tvms.ir.tir.PrimExpr], typing.Any] | collections.abc.Callable[[tvms.ir.tir.PrimExpr, tvms.ir.tir.PrimExpr, tvms.ir.tir.PrimExpr, tvms.ir.tir.PrimExpr, tvms.ir.tir.PrimExpr, tvms.ir.tir.PrimExpr], typing.Any] | collections.abc.Callable[..., typing.Any], name: builtins.str = 'compute', tag: builtins.str = '', attrs: builtins.dict[builtins.str, typing.Any] | None = None, varargs_names: collections.abc.Sequence[builtins.str] | None = None) -> typing.Any:
    """Return the tensor whose element at `(i, …)` is `fcompute(i, …)` (TVM: `te.compute`).

    If `fcompute` returns a tuple, return a tensor for each of its values. The axes are named after the parameters of
    `fcompute`; those of a parameter `*i` are named `varargs_names`, or `i0`, `i1`, …. `tag` and `attrs` are kept in the operation.
    """
from tvms.ir.te.expr import const as const
from tvms.ir.api.constructor import plain_node as convert
from tvms.ir.te.expr import cos as cos
from tvms.ir.te.expr import cosh as cosh
from tvms.ir.te.create_prim_func import create_prim_func as create_prim_func
def decl_buffer(*args: typing.Any, **keywords: typing.Any) -> typing.Any:
    """A buffer of `shape` over `data`, or over its own memory (TVM: `tir.decl_buffer`).

    Raises ValueError if `axis_separators` are not increasing numbers of dimensions.
    """
from tvms.ir.te.expr import equal as equal
from tvms.ir.te.expr import erf as erf
from tvms.ir.te.expr import exp as exp
from tvms.ir.te.extern import extern as extern
from tvms.ir.te.extern import extern_primfunc as extern_primfunc
from tvms.ir.te.expr import floor as floor
from tvms.ir.te.expr import floor_divide as floor_divide
from tvms.ir.te.expr import floor_mod as floor_mod
from tvms.ir.api.tir.kinds import get_vscale_expr as get_vscale_expr
from tvms.ir.te.expr import greatest as greatest
from tvms.ir.te.expr import if_then_else as if_then_else
def import_module(name: typing.Any, package: typing.Any = None) -> typing.Any:
    """Import a module.

    The 'package' argument is required when performing a relative import. It
    specifies the package to use as the anchor point from which to resolve the
    relative import to an absolute import.
    """
from tvms.ir.api.tir.intrinsics import intrinsic as intrinsic
from tvms.ir.api.tir.statements import is_buffer_var as is_buffer_var
from tvms.ir.te.expr import isfinite as isfinite
from tvms.ir.te.expr import isinf as isinf
from tvms.ir.te.expr import isnan as isnan
from tvms.ir.api.tir.data_layout import layout as layout
from tvms.ir.te.expr import least as least
from tvms.ir.te.expr import log as log
from tvms.ir.te.expr import logical_not as logical_not
def max(value: typing.Any, axis: typing.Any = None, *rest: typing.Any, where: typing.Any = None) -> typing.Any:
    """A commutative reducer, applied over an axis or to two values (TVM: the result of `te.comm_reducer`)."""
from tvms.ir.te.expr import max_value as max_value
from tvms.ir.te.expr import maximum as maximum
def min(value: typing.Any, axis: typing.Any = None, *rest: typing.Any, where: typing.Any = None) -> typing.Any:
    """A commutative reducer, applied over an axis or to two values (TVM: the result of `te.comm_reducer`)."""
from tvms.ir.te.expr import min_value as min_value
from tvms.ir.te.expr import minimum as minimum
from tvms.ir.api.tir.expressions import multiply as multiply
from tvms.ir.te.expr import not_equal as not_equal
from tvms.ir.promote import operand as operand
from tvms.ir.promote import operands as operands
from tvms.ir.te.tensor import placeholder as placeholder
from tvms.ir.te.expr import power as power
def prod(value: typing.Any, axis: typing.Any = None, *rest: typing.Any, where: typing.Any = None) -> typing.Any:
    """A commutative reducer, applied over an axis or to two values (TVM: the result of `te.comm_reducer`)."""
from tvms.ir.te.tensor import reduce_axis as reduce_axis
from tvms.ir.te.expr import round as round
from tvms.ir.te.expr import rsqrt as rsqrt
from tvms.ir.te.scan import scan as scan
from tvms.ir.te.expr import select as select
from tvms.ir.te.expr import sigmoid as sigmoid
from tvms.ir.te.expr import sin as sin
from tvms.ir.te.expr import sinh as sinh
from tvms.ir.te.expr import size_var as size_var
from tvms.ir.te.expr import sqrt as sqrt
from tvms.ir.api.tir.statements import stmt_list as stmt_list
from tvms.ir.api.tir.statements import stmt_seq as stmt_seq
from tvms.ir.api.tir.expressions import subtract as subtract
def sum(value: typing.Any, axis: typing.Any = None, *rest: typing.Any, where: typing.Any = None) -> typing.Any:
    """A commutative reducer, applied over an axis or to two values (TVM: the result of `te.comm_reducer`)."""
from tvms.ir.operators import symbolic_equality as symbolic_equality
from tvms.ir.te.tensor import tag_scope as tag_scope
from tvms.ir.te.expr import tan as tan
from tvms.ir.te.expr import tanh as tanh
from tvms.ir.te.tensor import thread_axis as thread_axis
from tvms.ir.te.expr import trunc as trunc
from tvms.ir.te.expr import truncdiv as truncdiv
from tvms.ir.te.expr import truncmod as truncmod
from tvms.ir.te.expr import var as var
from tvms.ir.api.tir.statements import vscale as vscale
from tvms.te import operation as operation
from tvms.te import tag as tag
from tvms.te import tensor as tensor
