"""Analyses of graph-level programs (TVM: `relax.analysis`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, TypeVar

from ... import relax, tir
from ...base import BaseFunc, GlobalVar, IRModule, Node, Op, StructInfo
from ...building.values import dimension, normal_call, plain_nodes
from ...diagnostics import error
from ...dtype import parse_dtype
from ...equal import structural_equal
from ...infer import call_result, dimensions_alone, infer_struct_info, join, replace_dims
from ...passes.dead_code import remove_unused_bindings, remove_unused_in
from ...passes.rewrite_dataflow_reshape import is_reshape
from ...purity import FORCE_PURE, is_pure_call
from ...spelling import newer_names
from ...variables import Variable, free_variables
from ...visit import children, post_order, substitute, walk
from .layouts import suggest_layout_transforms as suggest_layout_transforms
from .subsumption import BaseCheckResult as BaseCheckResult
from .subsumption import struct_info_base_check as struct_info_base_check
from .variables import all_global_vars as all_global_vars
from .variables import all_vars as all_vars
from .variables import bound_vars as bound_vars
from .variables import defined_symbolic_vars as defined_symbolic_vars
from .variables import free_symbolic_vars as free_symbolic_vars
from .variables import free_vars as free_vars
from .variables import get_var2val as get_var2val
from .variables import name_to_binding as name_to_binding
from .variables import udchain as udchain
from .variables import used_vars as used_vars


def well_formed(obj: IRModule | BaseFunc, check_struct_info: bool = True, check_ty: bool = True) -> bool:
    """Whether a program is well-formed and in normal form; `tvms.verify` returns the errors.

    Without `check_struct_info`, which is `check_ty` in TVM 0.27, struct info is not checked.

    In normal form, operands are variables, constants or tuples of them, and dataflow variables stay in their blocks. As in
    TVM, these are also not well-formed: branches in dataflow blocks, functions that are forced to be pure but declared
    impure, symbols that differ from the names of functions, functions that share symbolic dimensions.
    """
    from ...verify import verify

    found = [diagnostic for diagnostic in verify(obj) if diagnostic.severity == "error" or diagnostic.code == "E0432"]
    functions = obj.functions.values() if isinstance(obj, IRModule) else (obj,)
    graphs = [function for function in functions if isinstance(function, relax.Function)]
    if any(not is_normal(function) or _breaks_structure(function) for function in graphs):
        return False
    if isinstance(obj, IRModule) and (_has_other_symbols(obj) or _share_dimensions(graphs)):
        return False
    return not any((check_struct_info and check_ty) or not diagnostic.code.startswith("E03") for diagnostic in found)


def _breaks_structure(function: relax.Function) -> bool:
    """Whether a function has bindings where they may not be, dimensions that are not int64, or contradictory purity."""
    if not function.is_pure and function.attrs.get(FORCE_PURE):
        return True
    if any(variable.dtype != "int64" for variable in _shape_variables(function)):
        return True
    for node in walk(function):
        match node:
            case relax.DataflowBlock():
                if any(isinstance(binding.value, relax.If) for binding in node.bindings):
                    return True
            case relax.BindingBlock():
                if any(type(binding.var) is relax.DataflowVar for binding in node.bindings):
                    return True
            case _:
                pass
    return False


def _shape_variables(function: relax.Function) -> Iterator[tir.Var]:
    """Yield the symbolic dimensions of the shapes of tensors of the parameters."""
    for param in function.params:
        for node in walk(param.struct_info) if param.struct_info else ():
            if isinstance(node, relax.ShapeExpr):
                yield from (dim for dim in walk(node) if isinstance(dim, tir.Var))


def _has_other_symbols(mod: IRModule) -> bool:
    return any(function.attrs.get("global_symbol", name) != name for name, function in mod.functions.items())


def _share_dimensions(functions: Sequence[relax.Function]) -> bool:
    """Whether two functions define the same symbolic dimension."""
    seen: set[Node] = set()
    for function in functions:
        own = set(_shape_variables(function))
        if not seen.isdisjoint(own):
            return True
        seen |= own
    return False


_COMPOUND = (relax.Call, relax.TupleGetItem, relax.If, relax.SeqExpr, relax.Function)


def is_normal(function: relax.Function) -> bool:
    """Whether every operand in `function` is a variable, a constant or a tuple of them (TVM: A-normal form)."""
    for node in walk(function):
        match node:
            case relax.Call():
                if normal_call(node) is not node:
                    return False
                operands: tuple[Node, ...] = (node.op, *node.args)
            case relax.Tuple():
                operands = node.fields
            case relax.TupleGetItem():
                operands = (node.tuple_value,)
            case relax.If():
                operands = (node.cond,)
            case relax.MatchCast():
                operands = (node.value,)
            case relax.SeqExpr():
                operands = (node.body,)
            case _:
                continue
        if any(isinstance(operand, _COMPOUND) for operand in operands):
            return False
    return True


def struct_info_lca(lhs: StructInfo, rhs: StructInfo) -> StructInfo:
    """Return the struct info of a value that matches `lhs` or `rhs`."""
    return join(lhs, rhs)


@newer_names(ty="sinfo")
def tir_vars_in_struct_info(sinfo: StructInfo) -> list[tir.Var]:
    """Return the symbolic dimensions in a struct info, in order."""
    return list(dict.fromkeys(node for node in walk(sinfo) if isinstance(node, tir.Var)))


@newer_names(ty="sinfo")
def definable_tir_vars_in_struct_info(sinfo: StructInfo) -> list[tir.Var]:
    """Return the symbolic dimensions that are single variables in a struct info, so that a value defines them."""
    return list(dimensions_alone(sinfo))


@newer_names(ty="sinfo")
def erase_to_well_defined(
    sinfo: StructInfo,
    shape_var_map: Mapping[tir.Var, tir.PrimExpr] | None = None,
    var_map: Mapping[relax.Var, relax.Expr] | None = None,
) -> StructInfo:
    """Return `sinfo` with its variables replaced by the maps; parts with other variables become unknown."""
    dims = {plain_nodes(var): dimension(value) for var, value in (shape_var_map or {}).items()}
    values = dict(var_map or {})
    return replace_dims(substitute(sinfo, values), dims, all_known=False, shapes=set(values.values()))


def has_reshape_pattern(func: tir.PrimFunc) -> bool:
    """Whether a loop function copies all elements in order."""
    return is_reshape(func)


def post_order_visit(expr: Node, fvisit: Callable[[Any], object]) -> None:
    """Call `fvisit` with every node of a program once, children first."""
    seen: set[int] = set()
    for node in post_order(expr):
        if id(node) not in seen:
            seen.add(id(node))
            fvisit(node)


_BodyT = TypeVar("_BodyT", relax.Function, relax.SeqExpr)


def remove_all_unused(func: _BodyT) -> _BodyT:
    """Return a function, or the body of one, without unused bindings, except those whose values have side effects."""
    return remove_unused_in(func) if isinstance(func, relax.SeqExpr) else remove_unused_bindings(func)


def contains_impure_call(expr: Node, own_name: relax.Var | GlobalVar | None = None) -> bool:
    """Whether `expr`, or the body of a function, contains a call that may have side effects.

    Bodies of nested functions do not count, nor do calls of `own_name`, the function itself.
    """
    pending: list[Node] = [expr.body if isinstance(expr, relax.Function) else expr]
    while pending:
        node = pending.pop()
        if isinstance(node, relax.Call) and not _is_call_of(node, own_name) and not is_pure_call(node, None):
            return True
        pending += [child for child in children(node) if not isinstance(child, relax.Function)]
    return False


def _is_call_of(call: relax.Call, name: relax.Var | GlobalVar | None) -> bool:
    if isinstance(name, GlobalVar):
        return isinstance(call.op, GlobalVar) and call.op.name_hint == name.name_hint
    return name is not None and call.op is name


def computable_at_compile_time(func: relax.Function) -> list[relax.Var]:
    """Return the variables that depend only on the parameters after the first `num_input`, in order.

    Without the attribute `num_input`, all parameters are inputs of run time. Values without variables are included.
    """
    count = func.attrs.get("num_input")
    known: dict[Variable, None] = {}
    for param in () if count is None else func.params[int(count) :]:
        known |= dict.fromkeys((param, *_dimensions(param)))
    for node in walk(func):
        if isinstance(node, relax.VarBinding | relax.MatchCast) and all(
            used in known for used in free_variables(node.value)
        ):
            known |= dict.fromkeys((node.var, *_dimensions(node.var)))
    return [variable for variable in known if isinstance(variable, relax.Var)]


def _dimensions(var: relax.Var) -> Sequence[tir.Var]:
    return () if var.struct_info is None else dimensions_alone(var.struct_info)


@newer_names(ty="sinfo")
def collect_non_negative_expressions(sinfo: StructInfo) -> list[tir.PrimExpr]:
    """Return the expressions that are sizes of tensors or shapes in a struct info, in order, without constants."""
    found: list[tir.PrimExpr] = []
    pending: list[Node] = [sinfo]
    while pending:
        node = pending.pop()
        if isinstance(node, relax.ShapeExpr | relax.ShapeStructInfo):
            sizes = [size for size in node.values or () if not isinstance(size, tir.IntImm)]
            found += [size for at, size in enumerate(sizes) if not _is_among(size, (*found, *sizes[:at]))]
        else:
            pending += reversed(children(node))
    return found


def _is_among(size: tir.PrimExpr, others: Sequence[tir.PrimExpr]) -> bool:
    return any(structural_equal(size, other) for other in others)


@newer_names(ty="sinfo")
def get_static_type(sinfo: StructInfo) -> StructInfo:
    """Return a struct info without sizes, values and devices, as TVM's types are: dtypes, ranks and fields are kept."""
    match sinfo:
        case relax.TensorStructInfo(dtype=dtype, ndim=ndim):
            return relax.TensorStructInfo(None, dtype, ndim)
        case relax.ShapeStructInfo(ndim=ndim):
            return relax.ShapeStructInfo(None, ndim)
        case relax.PrimStructInfo(dtype=dtype):
            return relax.PrimStructInfo(dtype)
        case relax.TupleStructInfo(fields=fields):
            return relax.TupleStructInfo(tuple(map(get_static_type, fields)))
        case relax.FuncStructInfo(params=params, ret=ret):
            types = None if params is None else tuple(map(get_static_type, params))
            return relax.FuncStructInfo(types, get_static_type(ret), sinfo.purity)
        case _:
            return sinfo


@newer_names(func_ty="func_sinfo")
def derive_call_ret_struct_info(func_sinfo: relax.FuncStructInfo, call: relax.Call, ctx: object = None) -> StructInfo:
    """Return the struct info of a call of a function with struct info `func_sinfo`; the callee of `call` is ignored.

    Raise TvmsError E0105 for another number of arguments, E0328 for an argument that does not fit. `ctx` is not used.
    """
    args = [infer_struct_info(arg) for arg in call.args]
    if func_sinfo.params is None:
        return func_sinfo.ret
    for number, (param, arg) in enumerate(zip(func_sinfo.params, args, strict=False)):
        if struct_info_base_check(get_static_type(param), get_static_type(arg)) is not BaseCheckResult.PASS:
            raise error(
                "E0328",
                f"argument {number} of the function does not fit its parameter: it needs {param}, but gets {arg}",
                call.span,
            )
    return call_result(func_sinfo, func_sinfo.params, args, "the function", call.span)


def detect_recursion(mod: IRModule) -> list[list[GlobalVar]]:
    """Return the sets of graph functions that refer to each other in a cycle; a function that refers to itself is one."""
    refers = {
        name: [var.name_hint for var in all_global_vars(function) if var.name_hint in mod.functions]
        for name, function in mod.functions.items()
        if isinstance(function, relax.Function)
    }
    reached = {name: _reached(name, refers) for name in refers}
    groups: dict[frozenset[str], None] = {}
    for name, names in reached.items():
        if name in names:
            groups[frozenset(other for other in names if name in reached.get(other, ()))] = None
    return [[mod.get_global_var(name) for name in mod.functions if name in group] for group in groups]


def _reached(name: str, refers: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the functions that `name` refers to, directly or through others."""
    found, pending = set[str](), [name]
    while pending:
        for other in refers.get(pending.pop(), ()):
            if other not in found:
                found.add(other)
                pending.append(other)
    return found


def estimate_memory_usage(mod: IRModule | relax.Function) -> str:
    """Return, for each graph function, the allocated memory before and after memory planning, in TVM's words.

    Counts all calls of `R.builtin.alloc_tensor`, `R.memory.alloc_tensor` and `R.memory.alloc_storage` in all branches.
    Tensors of symbolic size are counted, but not included in the sum; a GB is 2**30 bytes.
    """
    functions = mod.functions if isinstance(mod, IRModule) else {"foo": mod}
    said = [_memory_of(name, function) for name, function in functions.items() if isinstance(function, relax.Function)]
    return "".join(["Memory usage estimation:\n", *said]) if said else ""


def _memory_of(name: str, function: relax.Function) -> str:
    calls = [node for node in walk(function) if isinstance(node, relax.Call) and isinstance(node.op, Op)]
    sizes = [_size_of(call) for call in calls if call.op in _TENSORS]
    tensors = [size for size in sizes if size is not None]
    storage = [size for call in calls if call.op in (_STORAGE, _TENSORS[0]) and (size := _size_of(call)) is not None]
    symbolic = len(sizes) - len(tensors)
    before, after = (
        f"{len(known)} constant-size memory allocation(s) with total size {sum(known) / 2**30:.4} GB"
        for known in (tensors, storage)
    )
    unknown = f", and {symbolic} dynamic-size allocation(s)" if symbolic else ""
    lines = [f"- Function {name}:", f" * Without memory planning, there are {before}{unknown}."]
    lines.append(f" * With memory planning, there are {after}.")
    share = (
        f" * Memory planning reduces constant memory size to {sum(storage) / sum(tensors):.1%}." if sum(tensors) else ""
    )
    return "\n".join([*lines, share, ""])


_TENSORS = (Op("relax.builtin.alloc_tensor"), Op("relax.memory.alloc_tensor"))
_STORAGE = Op("relax.memory.alloc_storage")
"""Operators that allocate tensors, the first one with its own memory, and operators that allocate the second one's memory."""


def _size_of(call: relax.Call) -> int | None:
    """Return the number of bytes that a call allocates; None if it depends on symbolic dimensions."""
    shape, info = call.args[2 if call.op == _TENSORS[1] else 0], call.struct_info
    dims = shape.values if isinstance(shape, relax.ShapeExpr) else (None,)
    sizes = [dim.value for dim in dims if isinstance(dim, tir.IntImm)]
    element = parse_dtype(info.dtype).bytes if isinstance(info, relax.TensorStructInfo) else 1
    return element * prod(sizes) if len(sizes) == len(dims) else None


check_well_formed = well_formed
definable_tir_vars_in_type = definable_tir_vars_in_struct_info
derive_call_ret_type = derive_call_ret_struct_info
tir_vars_in_type = tir_vars_in_struct_info
type_base_check = struct_info_base_check
type_lca = struct_info_lca
"""Names in TVM 0.27."""
