"""Check types and compute shapes by functions of the virtual machine (TVM: `VMShapeLower`, `src/relax/backend/vm/vm_shape_lower.cc`).

Every size of a function, such as `n` or `n * 2`, gets a slot: an element of the int64 array `shape_heap`. Where variables
are defined, by parameters or by `R.match_cast`, their slots are stored, and a loop function `shape_func` computes those of
the expressions that are known from then on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from .. import relax, tir
from .. import vm_shapes as vm_shapes  # registers the functions
from ..base import GlobalVar, IRModule, Op, StructInfo
from ..buffers import decl_buffer
from ..deep import deep
from ..equal import structural_equal
from ..function_table import FunctionTable, numbered
from ..infer import ANY_FUNCTION, function_struct_info, infer_struct_info, join
from ..ops import dims as d
from ..purity import FORCE_PURE
from ..variables import tir_variables
from ..visit import substitute
from .rewriter import ValueRewriter, merged_blocks
from .transform import declare_pass

_COMPARE_WITH_NUMBER, _STORE, _IGNORE, _COMPARE_WITH_HEAP = range(4)
_NUMBER, _FROM_HEAP = range(2)
_NOTHING = relax.TupleStructInfo(())
_HEAP = relax.TensorStructInfo(None, "int64", ndim=1)


@declare_pass("VMShapeLower")
@deep
def vm_shape_lower(mod: IRModule, emit_err_ctx: bool = True) -> IRModule:
    """Replace sizes in graph functions by calls that check types, and that match, compute and make shapes.

    It is the last pass, because types keep their sizes. These calls count as impure, so that pure functions get the
    attribute `relax.force_pure`. `emit_err_ctx` passes a text to the checks that says which value is wrong. Functions in
    functions stay as they are; `LambdaLift` moves them out.
    """
    table = FunctionTable(mod.functions)
    for name, function in mod.functions.items():
        if isinstance(function, relax.Function):
            table.update(name, _ShapeLowering(function, name, table, emit_err_ctx).lowered(function))
    return replace(mod, functions=table.functions)


class _Match(Struct, frozen=True):
    """The sizes that a value must have."""

    value: relax.Expr
    sizes: d.Dims
    context: str


class _ShapeLowering(ValueRewriter):
    def __init__(self, function: relax.Function, name: str, table: FunctionTable, has_context: bool) -> None:
        super().__init__(function)
        self._name, self._table, self._has_context = name, table, has_context
        self._slots = _slots(function)
        self._numbers = {key: number for number, key in enumerate(self._slots)}
        self._computed: set[object] = set()
        """Keys of the slots that have their value."""

    def lowered(self, function: relax.Function) -> relax.Function:
        """Return the function with checks of its parameters first, and of its result last."""
        inputs = int(function.attrs.get("num_input", len(function.params)))
        with self.collecting() as first:
            self._allocate()
            pending: list[_Match] = []
            for number, param in enumerate(function.params):
                info = infer_struct_info(param)
                where = f"fn={self._name}, loc=param[{number}], param={param.name_hint}, annotation={info}"
                self._check(info, param, pending, where, is_static_known=number >= inputs)
            self._match(pending)
        body = self._sequence(function.body)
        with self.collecting() as last:
            pending = []
            info = function.ret_struct_info
            if info is not None and not _implies(info, body.body):
                self._check(info, body.body, pending, f"fn={self._name}, loc=return, annotation={info}", always=False)
                self._match(pending)
        blocks = (relax.BindingBlock(tuple(first)), *body.blocks, relax.BindingBlock(tuple(last)))
        attrs = {**function.attrs, FORCE_PURE: True} if function.is_pure else function.attrs
        return replace(function, body=replace(body, blocks=merged_blocks(blocks)), attrs=attrs)

    def function(self, function: relax.Function) -> relax.Function:
        """Return a function in this function, with other variables replaced."""
        return self.use(function)

    def sequence(self, body: relax.SeqExpr) -> relax.SeqExpr:
        """Return a branch with its sizes lowered; sizes that it stores are not known after it."""
        before = set(self._computed)
        body = self._sequence(body)
        self._computed = before
        return body

    def _sequence(self, body: relax.SeqExpr) -> relax.SeqExpr:
        body = super().sequence(body)
        with self.collecting() as last:
            result = self.flat(self._expr(body.body))
            if isinstance(result, relax.Call):
                result = self.emit(result)
        if result is body.body:
            return body
        return replace(body, blocks=merged_blocks([*body.blocks, relax.BindingBlock(tuple(last))]), body=result)

    # --- Values -----------------------------------------------------------------------------------------------

    def value(self, binding: relax.Binding) -> relax.Expr:
        """Return a value whose shapes are made from the heap; the sizes that `R.match_cast` requires are matched."""
        value = self._expr(binding.value)
        if isinstance(binding, relax.MatchCast):
            value = self.flat(value)
            value = self.emit(value) if isinstance(value, relax.Call) else value
            pending: list[_Match] = []
            where = f"match_cast, struct_info={binding.struct_info}"
            self._check(binding.struct_info, value, pending, where, always=False)
            self._match(pending)
        return value

    def rebound(self, binding: relax.Binding, value: relax.Expr) -> relax.Binding:
        """Return a binding of a lowered value; its variable has the type of that value."""
        if isinstance(binding, relax.MatchCast):
            return replace(binding, value=value)
        info, var = infer_struct_info(value), binding.var
        if not structural_equal(info, var.struct_info):
            var = self.replaced[binding.var] = replace(var, struct_info=info)
            self._is_retyped = True
        return replace(binding, value=value, var=var)

    def _expr(self, expr: Any) -> Any:
        """Return an expression whose shapes and scalars are loaded from the heap."""
        match expr:
            case relax.ShapeExpr():
                codes = self._codes(expr.values)
                if codes is None:
                    return expr
                info = relax.ShapeStructInfo(None, len(expr.values))
                return _call("make_shape", (self._heap, _number(len(expr.values)), *codes), info)
            case relax.PrimValue():
                codes = self._codes((expr.value,))
                return (
                    expr if codes is None else _call("make_prim_value", (self._heap, *codes), infer_struct_info(expr))
                )
            case relax.Call():
                args = tuple([self._expr(arg) for arg in expr.args])
                return _with(expr, "args", args)
            case relax.Tuple():
                return _with(expr, "fields", tuple([self._expr(field) for field in expr.fields]))
            case _:
                return expr

    def _codes(self, sizes: d.Dims) -> tuple[relax.Expr, ...] | None:
        """Return the code and the operand of each size; None if all sizes are constants, or if one has not been computed."""
        if all(isinstance(size, tir.IntImm | tir.FloatImm) for size in sizes):
            return None
        keys = [d.key_of(size) for size in sizes]
        if not all(
            isinstance(size, tir.IntImm) or key in self._computed for size, key in zip(sizes, keys, strict=True)
        ):
            return None
        codes: list[relax.Expr] = []
        for size, key in zip(sizes, keys, strict=True):
            is_number = isinstance(size, tir.IntImm)
            codes += (_number(_NUMBER), _number(size.value)) if is_number else (_number(_FROM_HEAP), self._slot(key))
        return tuple(codes)

    # --- Checks -----------------------------------------------------------------------------------------------

    def _check(
        self, info: StructInfo, value: relax.Expr, pending: list[_Match], where: str,
        *, always: bool = True, is_static_known: bool = False,
    ) -> None:  # fmt: skip
        """Check the kind, rank and dtype of `value`, and append its sizes to `pending`. Unless `always`, skip what its type already proves."""
        if not always and _implies(info, value):
            return
        check = partial(self._check_kind, where=where, value=value)
        below = partial(self._check, pending=pending, where=where, always=always, is_static_known=is_static_known)
        sizes: d.Dims | None = None
        match info:
            case relax.PrimStructInfo():
                sizes = None if info.value is None else (info.value,)
                if always or not _implies(relax.PrimStructInfo(info.dtype), value):
                    check("check_prim_value_info", _dtype(info.dtype))
            case relax.ShapeStructInfo():
                sizes = info.values
                if always or not _implies(relax.ShapeStructInfo(None, info.ndim), value):
                    check("check_shape_info", _number(info.ndim))
            case relax.TensorStructInfo():
                sizes = info.shape.values if isinstance(info.shape, relax.ShapeExpr) else None
                if is_static_known and sizes is not None and all(isinstance(size, tir.IntImm) for size in sizes):
                    return
                if always or not _implies(relax.TensorStructInfo(None, info.dtype, ndim=info.ndim), value):
                    check("check_tensor_info", _number(info.ndim), _dtype(info.dtype))
            case relax.TupleStructInfo():
                if always or not isinstance(infer_struct_info(value), relax.TupleStructInfo):
                    check("check_tuple_info", _number(len(info.fields)))
                for index, field in enumerate(info.fields):
                    below(field, _field(value, index))
            case relax.FuncStructInfo():
                if always or not isinstance(infer_struct_info(value), relax.FuncStructInfo):
                    check("check_func_info")
            case _:
                pass
        if sizes is not None:
            pending.append(_Match(value, sizes, where))

    def _check_kind(self, name: str, *expected: relax.Expr, value: relax.Expr, where: str) -> None:
        self.emit(_call(name, (value, *expected, self._context(where))), "_")

    def _match(self, pending: Sequence[_Match]) -> None:
        """Store the sizes that are variables, compute those that follow, and compare the rest."""
        remaining = [match for match in pending if self._match_once(match)]
        self._compute()
        for match in remaining:
            self._match_once(match)

    def _match_once(self, match: _Match) -> bool:
        """Compare or store the sizes of a value; return whether some could not be compared yet."""
        codes: list[relax.Expr] = []
        is_ignored: list[bool] = []
        for size in match.sizes:
            key = d.key_of(size)
            code, number = _IGNORE, _number(0)
            if isinstance(size, tir.IntImm):
                code, number = _COMPARE_WITH_NUMBER, _number(size.value)
            elif key in self._computed:
                code, number = _COMPARE_WITH_HEAP, self._slot(key)
            elif isinstance(size, tir.Var) and key in self._slots:
                code, number = _STORE, self._slot(key)
                self._computed.add(key)
            is_ignored.append(code == _IGNORE)
            codes += _number(code), number
        if not is_ignored or not all(is_ignored):
            is_scalar = isinstance(infer_struct_info(match.value), relax.PrimStructInfo)
            name, count = ("match_prim_value", ()) if is_scalar else ("match_shape", (_number(len(match.sizes)),))
            self.emit(_call(name, (match.value, self._heap, *count, *codes, self._context(match.context))), "_")
        return any(is_ignored)

    def _context(self, where: str) -> relax.StringImm:
        return relax.StringImm(
            f"ErrorContext({where}) " if self._has_context else "", struct_info=relax.ObjectStructInfo()
        )

    # --- The heap ---------------------------------------------------------------------------------------------

    def _allocate(self) -> None:
        """Bind the heap; it is nothing in a function without sizes."""
        if self._slots:
            args = (
                relax.ExternFunc("vm.builtin.alloc_shape_heap", struct_info=ANY_FUNCTION),
                relax.Tuple((_number(len(self._slots)),)),
            )
            call = relax.Call(Op("relax.call_builtin_with_ctx"), args, sinfo_args=(_HEAP,), struct_info=_HEAP)
        else:
            call = relax.Call(Op("relax.null_value"), ())
        self._heap = self.emit(call, "shape_heap")

    def _slot(self, key: object) -> relax.PrimValue:
        return _number(self._numbers[key])

    def _compute(self) -> None:
        """Compute the slots whose variables are all known, in a loop function."""
        ready = [
            (key, size) for key, size in self._slots.items()
            if key not in self._computed and all(var in self._computed for var in tir_variables(size))
        ]  # fmt: skip
        if not ready:
            return
        self._computed.update(key for key, _ in ready)
        function = self._shape_function(ready)
        callee = GlobalVar(
            self._table.add(function, numbered("shape_func")), struct_info=function_struct_info(function)
        )
        self.emit(relax.Call(callee, (self._heap,)), "_")

    def _shape_function(self, ready: Sequence[tuple[object, tir.PrimExpr]]) -> tir.PrimFunc:
        """Return the loop function that stores these sizes, which it computes from those in the heap."""
        heap = decl_buffer((tir.IntImm("int64", len(self._slots)),), "int64", "H")
        numbers = {key: tir.IntImm("int64", number) for number, key in enumerate(self._slots)}
        loads = {
            size: tir.BufferLoad("int64", heap, (numbers[key],))
            for key, size in self._slots.items()
            if isinstance(size, tir.Var)
        }
        stores = [tir.BufferStore(heap, substitute(size, loads), (numbers[key],)) for key, size in ready]
        handle = tir.Var("handle", "heap")
        body = stores[0] if len(stores) == 1 else tir.SeqStmt(tuple(stores))
        return tir.PrimFunc((handle,), body, None, {handle: heap}, attrs={"tir.is_host_func": True})


def _slots(function: relax.Function) -> dict[object, tir.PrimExpr]:
    """Return the int64 sizes of a function that are not constants by their keys, in the order of their slots."""
    found: dict[object, tir.PrimExpr] = {}
    for param in function.params:
        _add_sizes(param, found)
    _add_sizes(function.body, found)
    _add_sizes(function.ret_struct_info, found)
    integers = {key: size for key, size in found.items() if size.dtype == "int64"}
    return {key: size for key, size in integers.items() if all(var in integers for var in tir_variables(size))}


def _add_sizes(node: Any, found: dict[object, tir.PrimExpr]) -> None:
    """Add the sizes in a node and in the types of its parts; functions have sizes of their own."""
    if isinstance(node, tir.PrimExpr):
        if not isinstance(node, tir.IntImm | tir.FloatImm):
            found.setdefault(d.key_of(node), node)
    else:
        for part in _parts(node):
            _add_sizes(part, found)


def _parts(node: Any) -> Iterable[Any]:
    match node:
        case relax.TensorStructInfo():
            return (node.shape,)
        case relax.PrimStructInfo() | relax.PrimValue():
            return (node.value,)
        case relax.ShapeStructInfo() | relax.ShapeExpr():
            return node.values or ()
        case relax.TupleStructInfo() | relax.Tuple():
            return node.fields
        case relax.Var():
            return (node.struct_info,)
        case relax.Call():
            return (*node.args, *node.sinfo_args, node.struct_info)
        case relax.TupleGetItem():
            return (node.tuple_value,)
        case relax.If():
            return node.cond, node.true_branch, node.false_branch
        case relax.SeqExpr():
            return (*node.blocks, node.body)
        case relax.BindingBlock():
            return node.bindings
        case relax.VarBinding():
            return node.value, node.var
        case relax.MatchCast():
            return node.struct_info, node.value
        case _:
            return ()


def _implies(info: StructInfo, value: relax.Expr) -> bool:
    """Return whether every value of the known type of `value` is one of `info` (TVM: `IsBaseOf`)."""
    return structural_equal(join(info, infer_struct_info(value)), info)


def _field(value: relax.Expr, index: int) -> relax.Expr:
    """Return a field of a tuple, which may be known as an object only."""
    if isinstance(value, relax.Tuple):
        return value.fields[index]
    if isinstance(infer_struct_info(value), relax.TupleStructInfo):
        item = relax.TupleGetItem(value, index)
        return replace(item, struct_info=infer_struct_info(item))
    return _call("tuple_getitem", (value, _number(index)), relax.ObjectStructInfo())


def _call(name: str, args: tuple[relax.Expr, ...], info: StructInfo = _NOTHING) -> relax.Call:
    callee = relax.ExternFunc(f"vm.builtin.{name}", struct_info=ANY_FUNCTION)
    return relax.Call(callee, args, sinfo_args=(info,), struct_info=info)


def _number(value: int) -> relax.PrimValue:
    node = tir.IntImm("int64", value)
    return relax.PrimValue(node, struct_info=relax.PrimStructInfo("int64", node))


def _dtype(dtype: str) -> relax.DataTypeImm:
    return relax.DataTypeImm(dtype, struct_info=relax.ObjectStructInfo())


def _with(expr: Any, name: str, parts: tuple[relax.Expr, ...]) -> Any:
    """Return an expression with new parts, the same object if they are unchanged."""
    old: tuple[relax.Expr, ...] = getattr(expr, name)
    is_same = all(a is b for a, b in zip(parts, old, strict=True))
    return expr if is_same else replace(expr, struct_info=None, **{name: parts})
