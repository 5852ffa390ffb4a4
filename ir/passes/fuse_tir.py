"""Merge each group of calls that forms one kernel into one loop function (TVM: `FuseTIR`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from .. import relax, tir
from ..base import BaseFunc, GlobalVar, IRModule, Node, Op, StructInfo
from ..buffers import decl_buffer
from ..deep import deep
from ..equal import structural_equal
from ..function_table import unused_name
from ..infer import infer_struct_info
from ..ops.inference import dims_of
from ..variables import variables_of_buffer
from ..visit import rewrite, substitute, walk
from .canonicalize_bindings import canonicalize_bindings
from .dead_code import eliminate_dead_code
from .expand_tuple_arguments import expand_tuple_arguments
from .grouping import PRIMITIVE
from .normalize import normalized
from .remove_unused_parameters import remove_unused_parameters
from .rewriter import BindingRewriter
from .transform import declare_pass

_CALL_TIR = Op("relax.call_tir")


@declare_pass("FuseTIR")
@deep
def fuse_tir(mod: IRModule) -> IRModule:
    """Replace functions with the attribute Primitive that consist of `R.call_tir` by loop functions with the same name.

    Intermediate values become buffers of the new function. A function is kept if it does anything else, or if a called
    function requires particular layouts of its buffers.
    """
    fused: dict[str, tir.PrimFunc] = {}
    if not any(PRIMITIVE in function.attrs for function in mod.functions.values()):
        return mod
    mod = remove_unused_parameters(canonicalize_bindings(expand_tuple_arguments(mod)))
    for name, function in mod.functions.items():
        if isinstance(function, relax.Function) and function.attrs.get(PRIMITIVE):
            made = _Fuser(mod).fuse(function)
            if made is not None:
                fused[name] = made
    if not fused:
        return mod
    caller = _Caller(fused)
    functions: dict[str, BaseFunc] = {
        name: _call(function, caller) if isinstance(function, relax.Function) else function
        for name, function in mod.functions.items()
    }
    return eliminate_dead_code(replace(mod, functions={**functions, **fused}))


class _Declined(Exception):
    """The function is not a sequence of calls of loop functions."""


class _Body(Struct):
    """Parts of the new function collected so far."""

    allocated: list[tir.Buffer] = field(default_factory=list[tir.Buffer])
    statements: list[tir.Stmt] = field(default_factory=list[tir.Stmt])
    buffer_names: set[str] = field(default_factory=set[str])
    block_names: set[str] = field(default_factory=set[str])


class _Fuser:
    """Fuses one function."""

    def __init__(self, mod: IRModule) -> None:
        self._mod = mod
        self._buffers: dict[relax.Expr, tuple[tir.Buffer, ...]] = {}
        self._body = _Body()
        self._scalars_are_arguments = False
        """Whether a call passes scalars before its results, as in TVM 0.27; the merged function then also does."""

    def fuse(self, function: relax.Function) -> tir.PrimFunc | None:
        """Return the merged function of all calls in `function`; None if that is not possible."""
        try:
            inputs = [buffer for param in function.params for buffer in self._declare(param)]
            for block in function.body.blocks:
                for binding in block.bindings:
                    self._buffers[binding.var] = self._evaluate(binding)
            return self._finish(function, inputs, self._value(function.body.body))
        except _Declined:
            return None

    def _declare(self, param: relax.Var) -> tuple[tir.Buffer, ...]:
        """Return the buffers of a parameter; shapes and numbers have none, as they are passed as scalars."""
        info = param.struct_info
        infos = _leaves(info)
        names = [param.name_hint] if len(infos) == 1 else [f"{param.name_hint}_{n}" for n in range(len(infos))]
        buffers: tuple[tir.Buffer, ...] = ()
        if _numbers(info) is None:
            buffers = tuple([self._make_buffer(name, kind) for name, kind in zip(names, infos, strict=True)])
        self._buffers[param] = buffers
        return buffers

    def _make_buffer(self, name: str, info: StructInfo | None, scope: str = "global") -> tir.Buffer:
        dims = dims_of(info) if isinstance(info, relax.TensorStructInfo) else None
        if dims is None or not isinstance(info, relax.TensorStructInfo) or info.dtype == "void":
            raise _Declined
        name = unused_name(name, self._body.buffer_names)
        self._body.buffer_names.add(name)
        return decl_buffer(dims, info.dtype, name, scope)

    # --- Values

    def _value(self, expr: relax.Expr) -> tuple[tir.Buffer, ...]:
        """Return the buffers that hold a value."""
        match expr:
            case relax.Var() if expr in self._buffers:
                return self._buffers[expr]
            case relax.Tuple():
                return tuple([buffer for part in expr.fields for buffer in self._value(part)])
            case relax.TupleGetItem(
                tuple_value=relax.Expr(struct_info=relax.TupleStructInfo(fields=fields)), index=index
            ):
                start = sum(len(_leaves(info)) for info in fields[:index])
                return self._value(expr.tuple_value)[start : start + len(_leaves(fields[index]))]
            case _:
                raise _Declined

    def _evaluate(self, binding: relax.Binding) -> tuple[tir.Buffer, ...]:
        value = binding.value
        if not isinstance(value, relax.Call):
            return self._value(value)
        target = value.args[0] if value.op == _CALL_TIR else None
        function = self._mod.functions.get(target.name_hint) if isinstance(target, GlobalVar) else None
        if isinstance(binding, relax.MatchCast) or not isinstance(function, tir.PrimFunc):
            raise _Declined
        return self._inline(value, function)

    def _inline(self, call: relax.Call, function: tir.PrimFunc) -> tuple[tir.Buffer, ...]:
        """Append the body of a called function, with the buffers of its arguments and new ones for its results."""
        fields = call.args[1].fields if isinstance(call.args[1], relax.Tuple) else (call.args[1],)
        given = [_scalar(arg) for arg in fields]
        inputs = [
            buffer for arg, number in zip(fields, given, strict=True) if number is None for buffer in self._value(arg)
        ]
        scalars = [number for number in given if number is not None]
        self._scalars_are_arguments |= bool(scalars)
        scalars += call.args[2].values if len(call.args) > 2 and isinstance(call.args[2], relax.ShapeExpr) else ()
        infos = [leaf for info in call.sinfo_args for leaf in _leaves(info)]
        old = [function.buffer_map.get(param) for param in function.params]
        places = [buffer for buffer in old if buffer is not None]
        is_root = isinstance(function.body, tir.BlockRealize) and function.body.block.name_hint == "root"
        if len(places) != len(inputs) + len(infos) or len(old) != len(places) + len(scalars) or not is_root:
            raise _Declined
        outputs = [
            self._make_buffer(f"{buffer.name}_intermediate", info, buffer.scope)
            for buffer, info in zip(places[len(inputs) :], infos, strict=True)
        ]
        new = (*inputs, *outputs)
        taken = [param for param in function.params if param not in function.buffer_map]
        replaced: dict[Node, Node] = dict(zip(taken, scalars, strict=True))
        for before, after in zip(places, new, strict=True):
            _bind(before, after, replaced)
        self._append(function, replaced)
        return tuple(outputs)

    def _append(self, function: tir.PrimFunc, replaced: dict[Node, Node]) -> None:
        """Append the body with new definitions of everything that it defines, and unique block names."""
        assert isinstance(function.body, tir.BlockRealize)
        root = renew(replace(function.body.block), replaced, self._body.buffer_names)
        self._body.allocated += root.alloc_buffers
        names: dict[str, str] = {}
        for node in walk(root.body):
            if isinstance(node, tir.Block) and node.name_hint not in names:
                names[node.name_hint] = _unused_block_name(node.name_hint, self._body.block_names)
        self._body.block_names |= set(names.values())

        def complete(node: Node) -> Node | None:
            if not isinstance(node, tir.Block):
                return None
            return replace(
                node,
                name_hint=names[node.name_hint],
                reads=distinct_regions(node.reads),
                writes=distinct_regions(node.writes),
            )

        body = rewrite(root.body, complete)
        self._body.statements += body.seq if isinstance(body, tir.SeqStmt) else (body,)

    def _finish(
        self, function: relax.Function, inputs: Sequence[tir.Buffer], outputs: Sequence[tir.Buffer]
    ) -> tir.PrimFunc:
        if len(set(outputs)) != len(outputs) or set(outputs) & set(inputs):
            raise _Declined  # no kernel would write a parameter that is returned unchanged
        buffer_map: dict[tir.Var, tir.Buffer] = {}
        for buffer in inputs:
            buffer_map[tir.Var("handle", f"p_{buffer.name}")] = buffer
        for index, buffer in enumerate(outputs):
            buffer_map[tir.Var("handle", f"p_output{index}")] = buffer
        given = [number for param in function.params for number in _numbers(param.struct_info) or ()]
        numbers = [number for number in given if isinstance(number, tir.Var)]
        if len(set(numbers)) != len(given):
            raise _Declined
        inner = [buffer for made in self._buffers.values() for buffer in made if buffer not in buffer_map.values()]
        allocated = (*dict.fromkeys(inner), *self._body.allocated)
        statements = tuple(self._body.statements)
        body = statements[0] if len(statements) == 1 else tir.SeqStmt(statements)
        root = tir.Block((), (), (), "root", body, alloc_buffers=allocated)
        realize = tir.BlockRealize((), tir.IntImm("bool", 1), root)
        kept = {key: value for key, value in function.attrs.items() if key not in (PRIMITIVE, "global_symbol")}
        attrs = {"tir.noalias": True, **kept}
        handles = tuple(buffer_map)
        count = len(inputs) if self._scalars_are_arguments else len(handles)
        params = (*handles[:count], *numbers, *handles[count:])
        return tir.PrimFunc(params, realize, buffer_map=buffer_map, attrs=attrs)


def _leaves(info: StructInfo | None) -> list[StructInfo | None]:
    """Return the leaves of the struct info of a value, with nested tuples flattened."""
    if isinstance(info, relax.TupleStructInfo):
        return [leaf for kind in info.fields for leaf in _leaves(kind)]
    return [info]


def _numbers(info: StructInfo | None) -> tuple[tir.PrimExpr, ...] | None:
    """Return the scalars of a shape or a number; None for other values."""
    match info:
        case relax.ShapeStructInfo(values=values):
            return values or ()
        case relax.PrimStructInfo(value=value):
            return () if value is None else (value,)
        case _:
            return None


def _scalar(arg: relax.Expr) -> tir.PrimExpr | None:
    """Return the scalar that an argument of a loop function is; None for tensors. The value of a scalar must be known."""
    info = infer_struct_info(arg)
    if not isinstance(info, relax.PrimStructInfo):
        return None
    value = arg.value if isinstance(arg, relax.PrimValue) else info.value
    if value is None:
        raise _Declined
    return value


def _parts(value: relax.Expr) -> list[relax.Expr]:
    """Return the leaves of a value, with nested tuples flattened."""
    info = value.struct_info
    if not isinstance(info, relax.TupleStructInfo):
        return [value]
    fields = [relax.TupleGetItem(value, n, struct_info=kind) for n, kind in enumerate(info.fields)]
    return [part for tuple_get_item in fields for part in _parts(tuple_get_item)]


def _bind(before: tir.Buffer, after: tir.Buffer, replaced: dict[Node, Node]) -> None:
    """Map buffer `before` to `after`, and the variables in its shape to the dimensions of the latter."""
    is_plain = not before.strides and before.elem_offset is None and not before.axis_separators
    if (
        not is_plain
        or before.dtype != after.dtype
        or len(before.shape) != len(after.shape)
        or before.scope != after.scope
    ):
        raise _Declined
    for size, value in zip(before.shape, after.shape, strict=True):
        if isinstance(size, tir.Var) and size not in replaced:
            if size.dtype != value.dtype:
                raise _Declined
            replaced[size] = value
    replaced[before], replaced[before.data] = after, after.data


def renew(block: tir.Block, replaced: Mapping[Node, Node], names: set[str]) -> tir.Block:
    """Return `block` with `replaced` substituted, and with new definitions of all that it defines (TVM: `RenewDefs`).

    Allocated buffers get names that are not in `names`, and these are added to it.
    """
    new: dict[Node, Node] = dict(replaced)
    for node in walk(block):
        if isinstance(node, tir.Block):
            for buffer in (*node.alloc_buffers, *[match.buffer for match in node.match_buffers]):
                if buffer not in new:
                    name = unused_name(buffer.name, names)
                    names.add(name)
                    for var in variables_of_buffer(buffer):
                        if var is buffer.data:
                            new.setdefault(var, replace(var, name=name))
                    new[buffer] = replace(buffer, name=name, data=new[buffer.data])  # type: ignore[reportArgumentType]
        for variable in _defined(node):
            new.setdefault(variable, replace(variable))
    shapes = {old: value for old, value in new.items() if isinstance(old, tir.Var)}
    for old, buffer in list(new.items()):
        if isinstance(old, tir.Buffer) and old not in replaced:
            new[old] = substitute(buffer, shapes)
    return substitute(block, new)


def _defined(node: Node) -> Iterable[tir.Var]:
    match node:
        case tir.For():
            return (node.loop_var,)
        case tir.IterVar() | tir.LetStmt() | tir.Let():
            return (node.var,)
        case _:
            return ()


def distinct_regions(regions: Sequence[tir.BufferRegion]) -> tuple[tir.BufferRegion, ...]:
    """Return the regions without duplicates, which occur if two arguments are the same."""
    kept: list[tir.BufferRegion] = []
    for region in regions:
        if not any(structural_equal(region, other) for other in kept):
            kept.append(region)
    return tuple(kept)


def _unused_block_name(hint: str, taken: set[str]) -> str:
    """Return `hint`, with an underscore and a number if it is taken."""
    name, count = hint, 0
    while name in taken:
        count += 1
        name = f"{hint}_{count}"
    return name


def _call(function: relax.Function, caller: _Caller) -> relax.Function:
    new = caller.function(function)
    return function if new is function else normalized(new)


class _Caller(BindingRewriter):
    """Calls the merged functions by `R.call_tir`."""

    def __init__(self, fused: Mapping[str, tir.PrimFunc]) -> None:
        super().__init__()
        self._fused = fused

    def binding(self, binding: relax.Binding) -> Iterable[relax.Binding]:
        call = binding.value
        if not (isinstance(call, relax.Call) and isinstance(call.op, GlobalVar) and call.op.name_hint in self._fused):
            return (binding,)
        infos = [infer_struct_info(arg) for arg in call.args]
        numbers = tuple([number for info in infos for number in _numbers(info) or ()])
        tensors = [arg for arg, info in zip(call.args, infos, strict=True) if _numbers(info) is None]
        args = [part for arg in tensors for part in _parts(arg)]
        function = self._fused[call.op.name_hint]
        if numbers and function.params[-1] in function.buffer_map:  # it takes them before its results
            args += [
                relax.PrimValue(number, struct_info=relax.PrimStructInfo(number.dtype, number)) for number in numbers
            ]
            numbers = ()
        result = call.struct_info
        assert result is not None
        tuple_info = relax.TupleStructInfo(tuple([arg.struct_info or relax.ObjectStructInfo() for arg in args]))
        operands = (GlobalVar(call.op.name_hint), relax.Tuple(tuple(args), struct_info=tuple_info))
        sizes = (relax.ShapeExpr(numbers, struct_info=relax.ShapeStructInfo(numbers, len(numbers))),) if numbers else ()
        packed = relax.Call(_CALL_TIR, (*operands, *sizes), {}, (result,), span=call.span, struct_info=result)
        return (replace(binding, value=packed),)
