"""Read transposed weights directly instead of transposing them at every call (TVM: `FuseTransposeMatmul`).

    lv = R.call_tir(cls.transpose, (w,), …)        y = R.call_tir(cls.matmul_nt, (x, w), …)
    y = R.call_tir(cls.matmul, (x, lv), …)

TVM's pass works on operators; this one also works on loop functions, the results of `LegalizeOps` and `FuseOps`. A product can
read its operands in any order; other uses of a transposed tensor are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from msgspec.structs import replace

from .. import relax, te, tir
from ..base import GlobalVar, IRModule, Node, Op
from ..building.call_te import call_te
from ..deep import deep
from ..function_table import FunctionTable, numbered
from ..infer import infer_struct_info
from ..ops import dims as d
from ..ops.inference import dims_of
from ..visit import rewrite, walk
from .memory_order import MemoryOrder
from .rewriter import BindingRewriter
from .transform import declare_pass

Axes = tuple[int, ...]
"""Axes of a transposed tensor, as axes of its source."""
_CALL_TIR, _PERMUTE_DIMS, _MATMUL = (Op(f"relax.{name}") for name in ("call_tir", "permute_dims", "matmul"))


@declare_pass("FuseTransposeMatmul")
@deep
def fuse_transpose_matmul(mod: IRModule) -> IRModule:
    """Let products read the sources of transposed operands. The product `R.matmul(x, lv)` of `lv = R.permute_dims(w, ...)`, which
    swaps the last two axes of `w`, becomes a call of the loop function `NT_matmul`, and `lv` is removed from its dataflow block if
    nothing else uses it. Unused results of loop functions are not removed.
    """
    table, memory = FunctionTable(mod.functions), MemoryOrder(mod)
    changed = False
    for name, function in mod.functions.items():
        if isinstance(function, relax.Function):
            new = _TransposeFuser(table, memory.overwritten(function)).function(function)
            changed |= new is not function
            table.functions[name] = new
    return replace(mod, functions=table.functions) if changed else mod


class _TransposeFuser(BindingRewriter):
    """Tracks transposed tensors in one function."""

    def __init__(self, table: FunctionTable, overwritten: Set[relax.Expr]) -> None:
        super().__init__()
        self._table, self._overwritten = table, overwritten
        self._transposed: dict[relax.Expr, tuple[relax.Expr, Axes]] = {}
        """Source of each transposed variable, if it is not overwritten, and the axes."""
        self._swapped: dict[relax.Expr, relax.Expr] = {}
        """The tensor that each `permute_dims` transposes, if it swaps only the last two axes and the tensor is never overwritten."""

    def block(self, block: relax.BindingBlock) -> relax.BindingBlock:
        new = super().block(block)
        if new is not block:
            used = {node for binding in new.bindings for node in walk(binding.value)}
            unused = [var for var in self._swapped if isinstance(var, relax.DataflowVar) and var not in used]
            new = replace(new, bindings=tuple(binding for binding in new.bindings if binding.var not in unused))
        # A variable of the block may be used after it, where a source inside of the block is unknown.
        self._transposed = {
            var: found for var, found in self._transposed.items() if not isinstance(found[0], relax.DataflowVar)
        }
        self._swapped = {
            var: source for var, source in self._swapped.items() if not isinstance(source, relax.DataflowVar)
        }
        return new

    def binding(self, binding: relax.Binding) -> Iterable[relax.Binding]:
        match binding.value:
            case relax.Call(op=op, args=(GlobalVar() as kernel, relax.Tuple() as given)) if op == _CALL_TIR:
                return (self._call(binding, kernel, given),)
            case relax.Call(op=op, args=(source,)) as call if op == _PERMUTE_DIMS:
                if source not in self._overwritten and _swaps_last_axes(call):
                    self._swapped[binding.var] = source
                return (binding,)
            case relax.Call(op=op, args=(x, w)) as call if op == _MATMUL and w in self._swapped:
                return (self._product(binding, call, x, self._swapped[w]),)
            case _:
                return (binding,)

    def _product(self, binding: relax.Binding, call: relax.Call, x: relax.Expr, w: relax.Expr) -> relax.Binding:
        """Return the binding of a product of `x` and the transposed `w`, as a loop function if their shapes allow it."""
        infos = [infer_struct_info(value) for value in (x, w, call)]
        tensors = [info for info in infos if isinstance(info, relax.TensorStructInfo)]
        p, q, kinds = dims_of(tensors[0]), dims_of(tensors[1]), [info.dtype for info in tensors]
        if p is None or q is None or kinds[0] != kinds[1] or "void" in kinds or not 2 <= len(q) <= len(p):
            return binding
        batch = zip(p[len(p) - len(q) : -2], q[:-2], strict=True)
        if not d.is_equal(p[-1], q[-1]) or not all(d.is_equal(*sizes) for sizes in batch):
            return binding
        lowered = call_te(_product_of_rows, (x, w), {"dtype": kinds[2]})
        name = self._table.add(lowered.function, numbered("NT_matmul"))
        return replace(binding, value=replace(lowered.call(GlobalVar(name)), span=call.span))

    def _call(self, binding: relax.Binding, kernel: GlobalVar, given: relax.Tuple) -> relax.Binding:
        function = self._table.functions[kernel.name_hint]
        assert isinstance(function, tir.PrimFunc)
        axes = _transposition(function)
        if axes is not None and given.fields[0] not in self._overwritten:
            self._transposed[binding.var] = given.fields[0], axes
            return binding
        fields = list(given.fields)
        for position, field in enumerate(given.fields):
            if field in self._transposed and _is_factor(function, position):
                fields[position], axes = self._transposed[field]
                function = _reading_source(function, position, axes)
        if function is self._table.functions[kernel.name_hint]:
            return binding
        assert isinstance(binding.value, relax.Call)
        name = self._table.add(function, numbered(f"{kernel.name_hint}_nt"))
        infos = relax.TupleStructInfo(tuple(field.struct_info for field in fields if field.struct_info is not None))
        args = GlobalVar(name), replace(given, fields=tuple(fields), struct_info=infos)
        return replace(binding, value=replace(binding.value, args=args))


def _swaps_last_axes(call: relax.Call) -> bool:
    """Return whether a call of `permute_dims` swaps the last two axes and keeps the others."""
    info = infer_struct_info(call.args[0])
    ndim = info.ndim if isinstance(info, relax.TensorStructInfo) else -1
    axes = call.attrs["axes"]
    order = [int(axis) % ndim for axis in axes] if axes is not None and ndim > 0 else [*reversed(range(ndim))]
    return ndim >= 2 and order == [*range(ndim - 2), ndim - 1, ndim - 2]


def _product_of_rows(x: te.Tensor, w: te.Tensor, dtype: str) -> te.Tensor:
    """Return the matrix product of `x` and `w` with its last two axes swapped, summed in `dtype`; `x` may have more batch dimensions."""
    k = te.reduce_axis((te.const(0, "int64"), x.dims[-1]), "k")

    def element(*i: tir.PrimExpr) -> tir.PrimExpr:
        batch = i[len(i) - w.ndim : -2]
        return te.sum(te.cast(x(*i[:-1], k.var), dtype) * te.cast(w(*batch, i[-1], k.var), dtype), axis=k)

    return te.compute((*x.dims[:-1], w.dims[-2]), element, "NT_matmul")


def _transposition(function: tir.PrimFunc) -> Axes | None:
    """Return the axes of a function that only transposes its first parameter; None for other functions."""
    if len(function.params) != 2:
        return None
    blocks = _blocks(function)
    stores = [node for block in blocks for node in walk(block) if isinstance(node, tir.BufferStore)]
    if len(blocks) != 1 or len(stores) != 1:
        return None
    source, result = (function.buffer_map.get(param) for param in function.params)
    (store,), (block,), value = stores, blocks, stores[0].value
    if not isinstance(value, tir.BufferLoad) or store.buffer is not result or value.buffer is not source:
        return None
    variables = [axis.var for axis in block.iter_vars]
    if {*store.indices} != {*variables} or {*value.indices} != {*variables} or len(value.indices) != len(variables):
        return None
    axes = tuple(value.indices.index(index) for index in store.indices)
    sizes = zip(store.buffer.shape, (value.buffer.shape[axis] for axis in axes), strict=True)
    return axes if all(d.is_equal(size, other) for size, other in sizes) else None  # a slice has other sizes


def _blocks(function: tir.PrimFunc) -> list[tir.Block]:
    return [node for node in walk(function.body) if isinstance(node, tir.Block) and node.name_hint != "root"]


def _is_factor(function: tir.PrimFunc, position: int) -> bool:
    """Return whether a parameter is only read as an operand of a sum of products."""
    buffer = function.buffer_map.get(function.params[position])
    reads = [node for node in walk(function.body) if isinstance(node, tir.BufferLoad) and node.buffer is buffer]
    factors = [factor for block in _blocks(function) if block.init is not None for factor in _factors(block.body)]
    return bool(reads) and all(read in factors for read in reads)


def _factors(body: tir.Stmt) -> Sequence[Node]:
    match body:
        case tir.BufferStore(value=tir.Add(b=tir.Mul(a=a, b=b))):
            return [factor.value if isinstance(factor, tir.Cast) else factor for factor in (a, b)]
        case _:
            return ()


def _reading_source(function: tir.PrimFunc, position: int, axes: Axes) -> tir.PrimFunc:
    """Return a variant of `function` whose parameter at this index is the source of the transposed tensor."""
    param = function.params[position]
    old = function.buffer_map[param]
    places = [axes.index(axis) for axis in range(len(axes))]
    new = replace(old, data=replace(old.data), shape=tuple(old.shape[place] for place in places))

    def update(node: Node) -> Node | None:
        match node:
            case tir.BufferLoad() if node.buffer is old:
                return replace(node, buffer=new, indices=tuple(node.indices[place] for place in places))
            case tir.BufferRegion() if node.buffer is old:
                return replace(node, buffer=new, region=tuple(node.region[place] for place in places))
            case _:
                return None

    return replace(function, body=rewrite(function.body, update), buffer_map={**function.buffer_map, param: new})
