"""The graph level: Relax, as fields only (TVM: `include/tvm/relax/{expr,struct_info}.h`).

Every expression may carry the struct info that was inferred for it; variables always do.
"""

from __future__ import annotations
import builtins
import collections.abc
import tvms.ir.base
import tvms.ir.relax
import typing

from collections.abc import Mapping
from typing import Any

from msgspec.structs import force_setattr

from . import hooks as hooks
from . import tir as tir
from .base import Attrs as Attrs
from .base import BaseFunc as BaseFunc
from .base import Commented as Commented
from .base import GlobalVar as GlobalVar
from .base import Node as Node
from .base import Op as Op
from .base import StructInfo as StructInfo
from .base import Trivia as Trivia
from .base import VDevice as VDevice
from .base import RelaxExpr as RelaxExpr
Expr = RelaxExpr
from .numpy_dtype import host_array as host_array

# --- Struct info: what is known of a value at compile time ----------------------------------------------------


class ObjectStructInfo(StructInfo, frozen=True, eq=False):
    """Any value."""
    def __init__(self) -> None:
        """Any value."""


class PrimStructInfo(StructInfo, frozen=True, eq=False):
    """A loop-level scalar; `value` if it is known."""

    dtype: str
    value: tir.PrimExpr | None = None

    def as_type(self) -> PrimStructInfo:
        """Return the scalar without its value: a type of TVM 0.27 has none."""
        return self if self.value is None else PrimStructInfo(self.dtype)
    def __init__(self, dtype: builtins.str | None = None, value: typing.Any = None) -> None:
        """A scalar of `dtype`, or the known `value`; ValueError if both or neither are given."""


class ShapeStructInfo(StructInfo, frozen=True, eq=False):
    """A shape; `ndim` is -1 if unknown, and `len(values)` if the values are known."""

    values: tuple[tir.PrimExpr, ...] | None = None
    ndim: int = -1
    def __init__(self, values: collections.abc.Sequence[typing.Any] | None = None, ndim: builtins.int = -1) -> None:
        """A shape of `values`, or of `ndim` unknown dimensions; ValueError if both are given."""


class TensorStructInfo(StructInfo, frozen=True, eq=False):
    """A tensor; `shape` is a ShapeExpr or a variable that holds a shape; dtype "void" and ndim -1 mean unknown."""

    shape: Expr | None = None
    dtype: str = "void"
    ndim: int = -1
    vdevice: VDevice | None = None
    def __init__(self, shape: typing.Any = None, dtype: builtins.str = 'float32', vdevice: tvms.ir.base.VDevice | None = None, ndim: builtins.int = -1) -> None:
        """A tensor of `shape` (integers, symbolic dimensions, or a variable that holds a shape), or of `ndim` dimensions.

        ValueError if the dimensions and `ndim` are given.
        """


class TupleStructInfo(StructInfo, frozen=True, eq=False):
    fields: tuple[StructInfo, ...]
    def __init__(self, fields: collections.abc.Sequence[tvms.ir.base.StructInfo]) -> None:
        """A tuple of `fields`."""


class FuncStructInfo(StructInfo, frozen=True, eq=False):
    """A function; if `params` is None, it accepts any arguments, and `derive_func` infers the result from the call."""

    params: tuple[StructInfo, ...] | None
    ret: StructInfo
    purity: bool = True
    derive_func: str | None = None
    def __init__(self, params: collections.abc.Sequence[tvms.ir.base.StructInfo], ret: tvms.ir.base.StructInfo, purity: builtins.bool = True) -> None:
        """A function of `params` that returns `ret`; with `purity`, it has no side effects."""
    opaque_func: typing.Any


class DeviceMesh(Node, frozen=True, eq=False):
    """Devices arranged in `shape`, either listed by `device_ids` or given by `device_range`."""

    shape: tuple[int, ...]
    device_ids: tuple[int, ...] = ()
    device_range: tir.Range | None = None


class Placement(Node, frozen=True, eq=False):
    """For each mesh dimension: the tensor dimension that is split over it, or None where it is replicated."""

    dim_specs: tuple[int | None, ...]


class DTensorStructInfo(StructInfo, frozen=True, eq=False):
    """A tensor that is distributed over a device mesh."""

    tensor_sinfo: TensorStructInfo
    device_mesh: DeviceMesh
    placement: Placement


# --- Expressions ----------------------------------------------------------------------------------------------


class Var(Expr, frozen=True, eq=False):
    name_hint: str

    @property
    def name(self) -> str:
        """Alias of `name_hint` in TVM 0.27."""
        return self.name_hint

    @property
    def vid(self) -> Var:
        """The identity of the variable, which is the variable itself (TVM: `Id`)."""
        return self
    def __init__(self, name_hint: builtins.str, struct_info: tvms.ir.base.StructInfo | None = None, ty: tvms.ir.base.StructInfo | None = None) -> None:
        """A graph-level variable."""


class DataflowVar(Var, frozen=True, eq=False):
    """A variable that is visible only inside its dataflow block."""
    def __init__(self, name_hint: builtins.str, struct_info: tvms.ir.base.StructInfo | None = None, ty: tvms.ir.base.StructInfo | None = None) -> None:
        """A variable that is visible only inside its dataflow block."""


class Constant(Expr, frozen=True, eq=False):
    """A tensor known at compile time.

    `data` is a NumPy array of that shape and dtype, with the method `numpy()`, or `base.Metadata` if the text names it without
    its contents.
    """

    data: Any
    name: str | None = None
    """The name in the sidecar file (`I.constant("fc1.weight")`); not part of structural equality."""

    def __post_init__(self) -> None:
        if not hasattr(self.data, "numpy") and hasattr(self.data, "view"):
            force_setattr(self, "data", self.data.view(host_array()))


class Call(Expr, frozen=True, eq=False):
    """A call. `attrs` holds every attribute that the operator declares, defaults included."""

    op: Op | Expr
    args: tuple[Expr, ...]
    attrs: Attrs = {}
    sinfo_args: tuple[StructInfo, ...] = ()

    @property
    def ty_args(self) -> tuple[StructInfo, ...]:
        """Alias of `sinfo_args` in TVM 0.27."""
        return self.sinfo_args
    def __init__(self, op: tvms.ir.base.Op | tvms.ir.base.RelaxExpr | None, args: collections.abc.Sequence[typing.Any], attrs: builtins.dict[builtins.str, typing.Any] | None = None, sinfo_args: tvms.ir.base.StructInfo | collections.abc.Sequence[tvms.ir.base.StructInfo] = ..., ty_args: tvms.ir.base.StructInfo | collections.abc.Sequence[tvms.ir.base.StructInfo] = ...) -> None:
        """A call of an operator or a function. `ty_args` is `sinfo_args` in TVM 0.27.

        A call with arguments of the wrong types has no struct info. Builders and passes report it when they normalize it.
        Raise TvmsError E0322, also a ValueError, if `op` is None or not a function.
        """


class Tuple(Expr, frozen=True, eq=False):
    fields: tuple[Expr, ...]
    def __init__(self, fields: collections.abc.Sequence[typing.Any]) -> None:
        """A tuple of values."""


class TupleGetItem(Expr, frozen=True, eq=False):
    tuple_value: Expr
    index: int
    def __init__(self, tuple_value: tvms.ir.base.RelaxExpr, index: builtins.int) -> None:
        """Field `index` of a tuple."""


class ShapeExpr(Expr, frozen=True, eq=False):
    values: tuple[tir.PrimExpr, ...]
    def __init__(self, values: collections.abc.Sequence[typing.Any]) -> None:
        """A shape."""


class PrimValue(Expr, frozen=True, eq=False):
    value: tir.PrimExpr
    def __init__(self, value: typing.Any) -> None:
        """A loop-level scalar: an int becomes int64, a float float64."""


class StringImm(Expr, frozen=True, eq=False):
    value: str
    def __init__(self, value: builtins.str) -> None:
        """A string."""


class DataTypeImm(Expr, frozen=True, eq=False):
    value: str
    def __init__(self, value: builtins.str) -> None:
        """A dtype."""


class ExternFunc(BaseFunc, frozen=True, eq=False):
    """A function that is registered under `global_symbol` at run time."""

    global_symbol: str
    def __init__(self, global_symbol: builtins.str, struct_info: tvms.ir.base.StructInfo | None = None) -> None:
        """A function that is registered under `global_symbol` at run time; it accepts any arguments unless `struct_info` says more."""


class If(Expr, frozen=True, eq=False):
    cond: Expr
    true_branch: SeqExpr
    false_branch: SeqExpr
    def __init__(self, cond: tvms.ir.base.RelaxExpr, true_branch: tvms.ir.base.RelaxExpr, false_branch: tvms.ir.base.RelaxExpr) -> None:
        """`true_branch` if `cond` holds, else `false_branch`."""


# --- Bindings and functions -----------------------------------------------------------------------------------


class Binding(Commented, frozen=True, eq=False):
    var: Var
    value: Expr


class VarBinding(Binding, frozen=True, eq=False):
    """`var = value`; `value` may be a nested `Function`."""
    def __init__(self, *args: typing.Any, **keywords: typing.Any) -> None:
        """`var = value`; `value` may be a nested `Function`. Its arguments are var, value."""


class MatchCast(Binding, frozen=True, eq=False):
    """`var = R.match_cast(value, struct_info)`: checked at run time; binds the symbolic dimensions that occur here first."""

    struct_info: StructInfo

    @property
    def ty(self) -> StructInfo:
        """Alias of `struct_info` in TVM 0.27."""
        return self.struct_info
    def __init__(self, *args: typing.Any, **keywords: typing.Any) -> None:
        """`var = R.match_cast(value, struct_info)`: checked at run time; binds the symbolic dimensions that occur here first. Its arguments are var, value, struct_info."""


class BindingBlock(Node, frozen=True, eq=False):
    bindings: tuple[Binding, ...]
    trivia: Trivia | None = None
    def __init__(self, *args: typing.Any, **keywords: typing.Any) -> None:
        """BindingBlock Its arguments are bindings."""


class DataflowBlock(BindingBlock, frozen=True, eq=False):
    """Bindings without side effects; variables that are not `DataflowVar` are its outputs (`R.output`)."""
    def __init__(self, *args: typing.Any, **keywords: typing.Any) -> None:
        """Bindings without side effects; variables that are not `DataflowVar` are its outputs (`R.output`). Its arguments are bindings."""


class SeqExpr(Expr, frozen=True, eq=False):
    blocks: tuple[BindingBlock, ...]
    body: Expr
    def __init__(self, *args: typing.Any, **keywords: typing.Any) -> None:
        """SeqExpr Its arguments are blocks, body."""


class Function(BaseFunc, frozen=True, eq=False):
    """A graph function; its body is a sequence of binding blocks and a result."""

    params: tuple[Var, ...]
    body: SeqExpr
    ret_struct_info: StructInfo | None = None
    is_pure: bool = True

    @property
    def ret_ty(self) -> StructInfo | None:
        """Alias of `ret_struct_info` in TVM 0.27."""
        return self.ret_struct_info

    def bind_params(self, binding_map: Mapping[str | Var, Any]) -> Function:
        """Return this function with parameters, given by name or as variables, replaced by values."""
        return hooks.call("bind_params", self, binding_map)

    def bind_symbolic_vars(self, binding_map: Mapping[str | tir.Var, int | tir.PrimExpr]) -> Function:
        """Return this function with symbolic dimensions, given by name or as variables, replaced."""
        return hooks.call("bind_symbolic_vars", self, binding_map)

    def inline_functions(self, function_map: Mapping[str | GlobalVar, Function]) -> Function:
        """Return this function with calls of other functions replaced by their bodies; ValueError for recursive ones."""
        return hooks.call("inline_functions", self, function_map)
    def __init__(self, params: collections.abc.Sequence[tvms.ir.relax.Var], body: tvms.ir.base.RelaxExpr, ret_struct_info: tvms.ir.base.StructInfo | None = None, is_pure: builtins.bool = True, attrs: builtins.dict[builtins.str, typing.Any] | None = None, ret_ty: tvms.ir.base.StructInfo | None = None) -> None:
        """A function; the struct info of its result is that of `body`, unless another or a more precise one is given.

        `ret_ty` is `ret_struct_info` in TVM 0.27.
        """
