"""Analysis for memory planning: the memory that each variable of a function may hold, and its last use."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from math import prod
from typing import Any, TypeAlias

from msgspec import Struct

from .. import make, relax, tir
from ..analysis.const_bounds import const_bounds
from ..base import GlobalVar, IRModule, Node, Op
from ..diagnostics import error
from ..dtype import parse_dtype
from ..ops import dims as d
from ..ops.inference import dims_of
from ..purity import VIEWS
from ..visit import walk

ALLOC_TENSOR = Op("relax.builtin.alloc_tensor")
UPPER_BOUNDS = "tir_var_upper_bound"
"""Attribute of a function with upper bounds of symbolic dimensions of its parameters, by name."""
LOWER_BOUNDS = "tir_var_lower_bound"
NON_NEGATIVE = "tir_non_negative_var"
"""Attribute of a function with the names of dimensions of its parameters that are sizes, without upper bounds."""
DYNAMIC_OUTPUT = "relax.memory_plan_dynamic_func_output"
"""Attribute of a function whose results of symbolic size get storages of their maximum size."""


class Tensor(Struct, eq=False):
    """Tensor allocated by `R.builtin.alloc_tensor`: its maximum dimensions, and the last binding that uses it."""

    dims: tuple[tir.PrimExpr, ...]
    dtype: str
    scope: str
    block: relax.BindingBlock
    last_use: relax.Binding | None = None
    escapes: bool = False
    """Whether code outside its block, or code that may retain it, can access it."""

    @property
    def size(self) -> tir.PrimExpr:
        """The number of bytes: a number times the symbolic dimensions, in the form of TVM."""
        known = [size for dim in self.dims if (size := d.value_of(dim)) is not None]
        total = tir.IntImm("int64", prod(known, start=parse_dtype(self.dtype).bytes))
        symbolic = [dim for dim in self.dims if d.value_of(dim) is None]
        return make.mul(total, reduce(make.mul, symbolic)) if symbolic else total

    @property
    def written_size(self) -> tir.PrimExpr:
        """The number of bytes: the product of the dimensions and the size of an element, in the form of TVM."""
        return reduce(make.mul, (*self.dims, tir.IntImm("int64", parse_dtype(self.dtype).bytes)))


_Held: TypeAlias = "frozenset[Tensor] | tuple[_Held, ...]"
"""Tensors that a value may hold, or those of each field of a tuple."""


def _tensors(held: _Held) -> frozenset[Tensor]:
    return held if isinstance(held, frozenset) else frozenset[Tensor]().union(*map(_tensors, held))


class Bounds:
    """Upper bounds of the dimensions of a function (attribute `tir_var_upper_bound`).

    Raises TvmsError E0906 if a value of the attribute is not a positive integer, or one of `tir_var_lower_bound` not an
    integer that is not negative.
    """

    def __init__(self, function: relax.Function) -> None:
        limits = {name: _limit(name, value, function) for name, value in function.attrs.get(UPPER_BOUNDS, {}).items()}
        for name, value in function.attrs.get(LOWER_BOUNDS, {}).items():
            _check_bound(name, value, function, LOWER_BOUNDS)
        variables = [node for param in function.params for node in walk(param) if isinstance(node, tir.Var)]
        self._domains = {var: limits[var.name] for var in variables if var.name in limits}
        self.limits = {var: const_bounds(var, self._domains).max for var in self._domains}
        """The bounds by variable."""
        declared = [getattr(name, "value", name) for name in function.attrs.get(NON_NEGATIVE, ())]
        self._sizes = {var for var in variables if var.name in declared}

    def dims(self, info: relax.TensorStructInfo) -> tuple[tir.PrimExpr, ...]:
        """Return the maximum dimensions of a tensor of known shape."""
        return tuple([self._bounded(dim) for dim in dims_of(info) or ()])

    def size(self, info: relax.TensorStructInfo) -> tir.PrimExpr:
        """Return the maximum number of bytes of a tensor of known shape."""
        return d.product((*self.dims(info), d.dim(parse_dtype(info.dtype).bytes)))

    def _bounded(self, dim: tir.PrimExpr) -> tir.PrimExpr:
        used = [node for node in walk(dim) if isinstance(node, tir.Var)]
        if not any(variable in self._domains for variable in used):
            return dim
        if all(variable in self._domains for variable in used):
            return d.dim(const_bounds(dim, self._domains).max)
        raised = self._raised(dim)
        return dim if raised is None else raised

    def _raised(self, dim: tir.PrimExpr) -> tir.PrimExpr | None:
        """Return a sum or product of sizes with their upper bounds, constant factors last as in TVM; None for other expressions."""
        if dim in self._domains:
            return d.dim(const_bounds(dim, self._domains).max)
        if dim in self._sizes or (isinstance(dim, tir.IntImm) and dim.value >= 0):
            return dim
        if not isinstance(dim, tir.Add | tir.Mul):
            return None
        a, b = self._raised(dim.a), self._raised(dim.b)
        if a is None or b is None:
            return None
        if isinstance(dim, tir.Add):
            return make.add(a, b)
        return make.mul(b, a) if isinstance(dim.a, tir.IntImm) else make.mul(a, b)


def _limit(name: str, value: Any, function: relax.Function) -> tir.Range:
    return tir.Range(d.dim(0), d.dim(_check_bound(name, value, function, UPPER_BOUNDS) + 1))


def _check_bound(name: str, value: Any, function: relax.Function, attribute: str) -> int:
    """Return a bound of a dimension; TvmsError E0906 if it is not a positive integer, or 0 as the lower one."""
    is_upper = attribute == UPPER_BOUNDS
    number = value.value if isinstance(value, tir.IntImm) else value
    if not isinstance(number, int) or number < is_upper:
        side, kind = ("upper", "a positive integer") if is_upper else ("lower", "an integer that is not negative")
        reason = f"the {side} bound of dimension '{name}' is {number!r}, not {kind}"
        raise error("E0906", reason, function.span, f'write R.func_attr({{"{attribute}": {{"{name}": 1024}}}})')
    return number


def find_tensors(function: relax.Function, mod: IRModule) -> Mapping[relax.Call, Tensor]:
    """Return the tensors of known shape that `function` allocates, by the allocating calls."""
    flow = _Flow(mod, Bounds(function))
    flow.sequence(function.body)
    return flow.tensors


class _Flow:
    """Walks a function in execution order (TVM: `StorageAllocatorInit`)."""

    def __init__(self, mod: IRModule, bounds: Bounds) -> None:
        self.tensors: dict[relax.Call, Tensor] = {}
        self._mod, self._bounds = mod, bounds
        self._held: dict[relax.Var, _Held] = {}

    def sequence(self, body: relax.SeqExpr) -> None:
        """Record the bindings of a body; its result escapes."""
        for block in body.blocks:
            for binding in block.bindings:
                self._held[binding.var] = self._value(binding, block)
        self._escape(body.body)

    def _value(self, binding: relax.Binding, block: relax.BindingBlock) -> _Held:
        """Return the tensors that the value of a binding may hold."""
        value = binding.value
        match value:
            case relax.Call():
                return self._call(value, binding, block)
            case relax.If():
                self._escape(value.cond)
                self.sequence(value.true_branch)
                self.sequence(value.false_branch)
                return frozenset()
            case relax.Function():
                self._escape(value)
                self.sequence(value.body)
                return frozenset()
            case _:
                return self._holding(value)

    def _call(self, call: relax.Call, binding: relax.Binding, block: relax.BindingBlock) -> frozenset[Tensor]:
        info = call.struct_info
        if call.op == ALLOC_TENSOR and isinstance(info, relax.TensorStructInfo) and dims_of(info) is not None:
            scope = call.args[3]
            assert isinstance(scope, relax.StringImm)
            self.tensors[call] = tensor = Tensor(self._bounds.dims(info), info.dtype, scope.value, block)
            return frozenset((tensor,))
        if isinstance(call.op, Op) and call.op.name in VIEWS:
            return self._held_by(call)
        if not self._only_writes(call):
            self._escape(call)
            return frozenset()
        used = self._held_by(call)
        for tensor in used:
            tensor.last_use = binding
            tensor.escapes |= tensor.block is not block
        return used if isinstance(call.op, relax.ExternFunc) else frozenset()  # it may return an argument

    def _only_writes(self, call: relax.Call) -> bool:
        """Return whether the callee does not retain its arguments, as loop functions and packed functions."""
        if isinstance(call.op, GlobalVar):
            return isinstance(self._mod.functions.get(call.op.name_hint), tir.PrimFunc)
        return isinstance(call.op, relax.ExternFunc) or call.op == Op("relax.vm.call_tir_dyn")

    def _held_by(self, node: Node) -> frozenset[Tensor]:
        """Return the tensors that the variables in a node may hold."""
        variables = [below for below in walk(node) if isinstance(below, relax.Var)]
        return frozenset([tensor for var in variables for tensor in _tensors(self._held.get(var, ()))])

    def _holding(self, value: relax.Expr) -> _Held:
        """Return the tensors that a value may hold, those of each field of a tuple on their own."""
        match value:
            case relax.Var():
                return self._held.get(value, ())
            case relax.Tuple():
                return tuple([self._holding(field) for field in value.fields])
            case relax.TupleGetItem():
                whole = self._holding(value.tuple_value)
                return whole[value.index] if isinstance(whole, tuple) and whole else whole
            case _:
                return self._held_by(value)

    def _escape(self, node: Node) -> None:
        for tensor in self._held_by(node):
            tensor.escapes = True
