"""Store weights of products as the panels in which kernels read them (compare `SplitLayoutRewritePreproc`).

    lv = R.call_tir(cls.matmul, (x, w), …)        lv = R.layout_transform(w, index_map=lambda k, j: (j // 32, k, j % 32))
                                                  lv1 = R.call_tir(cls.matmul_packed, (x, lv), …)

A panel has the columns of one tile. A kernel arranges other weights in each call, which takes as long as their product with several
rows. `FoldConstant` computes the panels of constants, `LiftTransformParams` those of parameters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from msgspec.structs import replace

from .. import relax, tir
from ..base import GlobalVar, IRModule, Node, Op
from ..building.values import apply
from ..deep import deep
from ..function_table import FunctionTable, numbered
from ..visit import rewrite, walk
from .bundle_model_params import input_count
from .rewriter import ValueRewriter
from .transform import declare_pass

LEAST = 4096
"""Minimum number of elements of a weight that is packed; smaller ones stay in the L1 cache."""
_CALL_TIR = Op("relax.call_tir")


@declare_pass("PackWeights")
@deep
def pack_weights(mod: IRModule, columns: int = 32) -> IRModule:
    """Let products read constants and the parameters after the first `num_input` in panels of `columns` columns.

    A weight is packed if it is a matrix of floats with a multiple of `columns` columns, and only products of more than one row
    read it. Sums and their order stay the same. Functions whose blocks are not in plain loops, such as scheduled ones, are kept.
    """
    table, packer = FunctionTable(mod.functions), _Places(mod, columns)
    changed = False
    for name, function in mod.functions.items():
        if isinstance(function, relax.Function):
            new = _Packer(function, table, packer).function(function)
            changed |= new is not function
            table.functions[name] = new
    return replace(mod, functions=table.functions) if changed else mod


class _Places:
    """The weights of a module that can be packed."""

    def __init__(self, mod: IRModule, columns: int) -> None:
        self.columns, self._mod = columns, mod
        self._axes: dict[tuple[str, int], int | None] = {}
        uses, packable = Counter[int](), Counter[tuple[int, int]]()
        for function in mod.functions.values():
            if isinstance(function, relax.Function):
                nodes = list(walk(function.body))
                uses.update(_key(node) for node in nodes if isinstance(node, relax.Constant | relax.Var))
                packable.update(
                    (_key(weight), axis)
                    for node in nodes
                    for _, weight, axis in self._factors(node, _weights(function))
                )
        self._packed = {place for place, count in packable.items() if count == uses[place[0]]}

    def of(self, call: relax.Expr, weights: Collection[relax.Expr]) -> list[tuple[int, relax.Expr, int]]:
        """Return the positions among the arguments, the values and the axes of columns of the weights that `call` can read packed."""
        return [found for found in self._factors(call, weights) if (_key(found[1]), found[2]) in self._packed]

    def _factors(self, call: Node, weights: Collection[relax.Expr]) -> Iterator[tuple[int, relax.Expr, int]]:
        match call:
            case relax.Call(args=(GlobalVar(name_hint=name), relax.Tuple(fields=fields), *_)) if call.op == _CALL_TIR:
                for position, field in enumerate(fields):
                    is_given = isinstance(field, relax.Constant) and not isinstance(field.data, Node)
                    if is_given or field in weights:
                        axis = self._axis(name, position)
                        if axis is not None:
                            yield position, field, axis
            case _:
                return

    def _axis(self, name: str, position: int) -> int | None:
        """Return the axis of the columns of a parameter that is a right factor; None if it is not one."""
        if (name, position) not in self._axes:
            function = self._mod[name]
            self._axes[name, position] = (
                _axis_of_columns(function, position, self.columns) if isinstance(function, tir.PrimFunc) else None
            )
        return self._axes[name, position]


def _key(weight: Node) -> int:
    """Return a number that is equal for all uses of a weight."""
    return id(weight.data if isinstance(weight, relax.Constant) else weight)


def _weights(function: relax.Function) -> frozenset[relax.Expr]:
    count = input_count(function)
    return frozenset(() if count is None else function.params[count:])


class _Packer(ValueRewriter):
    """Transforms the weights of one function."""

    def __init__(self, function: relax.Function, table: FunctionTable, places: _Places) -> None:
        super().__init__(function)
        self._table, self._places, self._weights = table, places, _weights(function)
        self._made: dict[int, relax.Var] = {}
        """Packed weights of the current block by key."""

    def block(self, block: relax.BindingBlock) -> relax.BindingBlock:
        outer, self._made = self._made, {}
        try:
            return super().block(block)
        finally:
            self._made = outer

    def value(self, binding: relax.Binding) -> relax.Expr:
        """Return the call of a kernel that reads packed weights."""
        call = binding.value
        found = self._places.of(call, self._weights)
        if not found:
            return call
        assert isinstance(call, relax.Call)
        kernel, given, *rest = call.args
        assert isinstance(kernel, GlobalVar)
        assert isinstance(given, relax.Tuple)
        function, fields = self._table.functions[kernel.name_hint], list(given.fields)
        for position, weight, axis in found:
            assert isinstance(function, tir.PrimFunc)
            function = _reading_panels(function, position, axis, self._places.columns)
            fields[position] = self._panels(weight, axis)
        name = self._table.add(function, numbered(f"{kernel.name_hint}_packed"))
        return replace(call, args=(GlobalVar(name), relax.Tuple(tuple(fields)), *rest))

    def _panels(self, weight: relax.Expr, axis: int) -> relax.Var:
        if _key(weight) not in self._made:
            indices = tir.Var("int64", "i"), tir.Var("int64", "j")
            final = _place(indices, axis, self._places.columns)
            self._made[_key(weight)] = self.emit(
                apply("layout_transform", weight, index_map=tir.IndexMap(indices, final))
            )
        return self._made[_key(weight)]


def _place(indices: tuple[tir.PrimExpr, ...], axis: int, columns: int) -> tuple[tir.PrimExpr, ...]:
    """Return the indices in the panels of an element of the weight."""
    column, row = indices[axis], indices[1 - axis]
    return column // columns, row, column % columns


def _axis_of_columns(function: tir.PrimFunc, position: int, columns: int) -> int | None:
    buffer = function.buffer_map.get(function.params[position])
    if buffer is None or len(buffer.shape) != 2 or buffer.strides or buffer.dtype not in ("float32", "float64"):
        return None
    nodes = list(walk(function.body))
    realizes = [node for node in nodes if isinstance(node, tir.BlockRealize) and node.block.name_hint != "root"]
    loads = [node for node in nodes if isinstance(node, tir.BufferLoad) and node.buffer is buffer]
    places = [axis for realize in realizes if (axis := _axis_in_block(realize, buffer, columns)) is not None]
    sizes = [size.value for size in buffer.shape if isinstance(size, tir.IntImm)]
    is_large = len(sizes) == 2 and sizes[0] * sizes[1] >= LEAST
    is_plain = all(isinstance(value, tir.Var | tir.IntImm) for realize in realizes for value in realize.iter_values)
    is_only = len(loads) == len(places) == 1 and all(
        loop.kind is tir.ForKind.SERIAL for loop in nodes if isinstance(loop, tir.For)
    )
    return places[0] if is_large and is_plain and is_only and sizes[places[0]] % columns == 0 else None


def _axis_in_block(realize: tir.BlockRealize, buffer: tir.Buffer, columns: int) -> int | None:
    """Return the axis of the columns of `buffer` if the block multiplies more than one row by it."""
    block = realize.block
    match block.body:
        case tir.BufferStore(
            indices=(*rows, tir.Var() as column),
            value=tir.Add(b=tir.Mul(a=tir.BufferLoad() as a, b=tir.BufferLoad() as b)),
        ):
            if b.buffer is not buffer:
                a, b = b, a
        case _:
            return None
    axes = {axis.var: axis for axis in block.iter_vars}
    reduced = [var for var, axis in axes.items() if axis.iter_type is tir.IterVarType.COMM_REDUCE]
    outside = (*rows, *a.indices)
    if (
        block.init is None
        or b.buffer is not buffer
        or column not in b.indices
        or len(reduced) != 1
        or {*b.indices} != {column, *reduced}
    ):
        return None
    if any(node is column for index in outside for node in walk(index)):
        return None
    extents = [
        axis.dom.extent
        for var, axis in axes.items()
        if var is not column and var not in reduced and axis.dom is not None
    ]
    is_row = all(isinstance(extent, tir.IntImm) and extent.value == 1 for extent in extents)
    return None if is_row else b.indices.index(column)


def _reading_panels(function: tir.PrimFunc, position: int, axis: int, columns: int) -> tir.PrimFunc:
    """Return a private variant of `function` whose parameter at this index is packed."""
    param = function.params[position]
    old = function.buffer_map[param]
    width, rows = old.shape[axis], old.shape[1 - axis]
    new = replace(old, data=replace(old.data), shape=(width // columns, rows, tir.IntImm(width.dtype, columns)))

    def update(node: Node) -> Node | None:
        match node:
            case tir.BufferLoad() if node.buffer is old:
                return replace(node, buffer=new, indices=_place(node.indices, axis, columns))
            case tir.BufferRegion() if node.buffer is old:
                column, row = node.region[axis], node.region[1 - axis]
                panel, lane = (replace(column, min=value) for value in (column.min // columns, column.min % columns))
                return replace(node, buffer=new, region=(panel, row, lane))
            case _:
                return None

    attrs = {name: value for name, value in function.attrs.items() if name != "global_symbol"}
    buffers = {**function.buffer_map, param: new}
    return replace(function, body=rewrite(function.body, update), buffer_map=buffers, attrs=attrs)
