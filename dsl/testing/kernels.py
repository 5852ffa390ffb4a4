"""A loop-level function under construction: indices in bounds, values, blocks, and the whole function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from ...ir.access import detect_regions, full_region
from ...ir.dtype import is_float
from ...ir.idioms import sequence
from ...ir.software_pipeline import is_pipeline
from ...ir.visit import substitute, walk
from .choices import Choices
from .expressions import constants, expression
from .features import FUNCTIONS, LARGE
from .memory import Memory, size_of
from .options import MAX_EXTENT

TRUE = tir.IntImm("bool", 1)
SPATIAL, REDUCE = tir.IterVarType.DATA_PAR, tir.IterVarType.COMM_REDUCE
SCAN, OPAQUE = tir.IterVarType.ORDERED, tir.IterVarType.OPAQUE
_GATHERS = 2
"""Maximum number of loads within each other that take their index from memory; without one, their number grows exponentially."""
_CROWDED = 3
"""Number of reads of a buffer from which on a block declares the whole buffer."""


class Axis(Struct, frozen=True):
    """An axis of a block: its variable, the number of its values, its kind and its lowest value."""

    var: tir.Var
    extent: tir.PrimExpr
    kind: tir.IterVarType = tir.IterVarType.DATA_PAR
    low: int = 0

    @property
    def is_reduction(self) -> bool:
        return self.kind is tir.IterVarType.COMM_REDUCE

    @property
    def index(self) -> tir.PrimExpr:
        """Distance of the variable from its lowest value."""
        return make.sub(self.var, self.low) if self.low else self.var


class Kernel(Memory):
    """A loop-level function under construction."""

    # --- Axes ------------------------------------------------------------------------------------------------

    def axes(
        self, shape: Sequence[tir.PrimExpr], kind: tir.IterVarType = SPATIAL, is_plain: bool = False
    ) -> list[Axis]:
        """Return an axis for each dimension of `shape`. If `is_plain`, they begin at 0."""
        letters = "krs" if kind is REDUCE else "ijl"
        found: list[Axis] = []
        for place, extent in enumerate(shape):
            low = self.choose.number(1, 3) if not is_plain and self.wants("late axis", 12) else 0
            found.append(Axis(tir.Var(self.index, self.choose.fresh(f"v{letters[place % 3]}")), extent, kind, low))
        return found

    # --- Indices ---------------------------------------------------------------------------------------------

    def at(self, buffer: tir.Buffer, axes: Sequence[Axis]) -> tuple[tir.PrimExpr, ...]:
        """Return the element of a result that axes denote."""
        return tuple([_placed(axis, low) for axis, (low, _) in zip(axes, self.box(buffer), strict=True)])

    def position(self, extent: tir.PrimExpr, axes: Sequence[Axis]) -> tir.PrimExpr:
        """Choose an index that lies in [0, extent) for all values of `axes`."""
        fitting = [axis for axis in axes if _fits(axis, extent)]
        shape = self.choose.number(0, 7)
        if self.is_straight and not (fitting and shape <= 3):
            shape = 5 if fitting and shape == 4 else 6
        if fitting and shape <= 3:
            return self.choose.pick(fitting).index
        if fitting and shape == 4:
            return make.sub(make.sub(extent, 1), self.choose.pick(fitting).index)
        if fitting and shape == 5:
            axis = self.choose.pick(fitting)
            room = (size_of(extent) or 0) - (size_of(axis.extent) or 0)
            return make.add(axis.index, self.const(self.choose.number(0, max(room, 0))))
        if shape == 6 or not axes:
            size = size_of(extent)
            return self.const(0 if size is None else self.choose.number(0, size - 1))
        return self._confined(self._combined(axes), extent)

    def _combined(self, axes: Sequence[Axis]) -> tir.PrimExpr:
        """Choose any integer expression of `axes`."""
        if self.gathers < _GATHERS and self.chances("gather", 6):
            return self._gathered(axes)
        one, other = self.choose.pick(axes).var, self.choose.pick(axes).var
        factor, offset = self.const(self.choose.number(1, 3)), self.const(self.choose.number(0, 3))
        match self.choose.number(0, 3):
            case 0:
                return make.add(one, offset)
            case 1:
                return make.add(make.mul(one, factor), other)
            case 2:
                return make.sub(one, other)
            case _:
                return make.floordiv(make.add(one, offset), factor)

    def _gathered(self, axes: Sequence[Axis]) -> tir.PrimExpr:
        """Choose an integer that is loaded from memory."""
        self.gathers += 1
        element = self.element(self.source(self.dtype("int32", "int64", "uint8")), axes)
        self.gathers -= 1
        return make.cast(element, self.index)

    def _confined(self, index: tir.PrimExpr, extent: tir.PrimExpr) -> tir.PrimExpr:
        """Bring an integer into [0, extent) by a remainder or by clamping."""
        if self.choose.number(0, 1):
            return make.floormod(index, extent)
        return make.maximum(make.minimum(index, make.sub(extent, 1)), self.const(0))

    def element(self, buffer: tir.Buffer, axes: Sequence[Axis]) -> tir.PrimExpr:
        """Choose an element of `buffer`. Usually the axes are in the order of the dimensions."""
        is_ordered = bool(axes) and self.choose.number(0, 7 if self.is_straight else 1) > 0
        indices: list[tir.PrimExpr] = []
        for place, (low, size) in enumerate(self.box(buffer)):
            if is_ordered and place < len(axes) and _fits(axes[place], size):
                indices.append(_placed(axes[place], low))
            else:
                index = self.position(size, axes)
                indices.append(make.add(index, low) if low else index)
        return tir.BufferLoad(buffer.dtype, buffer, tuple(indices))

    # --- Values ----------------------------------------------------------------------------------------------

    def value(self, dtype: str, axes: Sequence[Axis], size: int | None = None) -> tir.PrimExpr:
        """Choose a value of `dtype` that is computed from readable buffers and from `axes`."""

        def leaf(choose: Choices, wanted: str) -> tir.PrimExpr:
            kind = choose.number(0, 7)
            if kind <= 4 and wanted != "bool":
                buffer = self.source(wanted) if kind <= 2 and wanted in self.options.dtypes else self.source()
                return make.cast(self.element(buffer, axes), wanted)
            if kind <= 5 and axes:
                return make.cast(choose.pick(axes).var, wanted)
            return self._constant(wanted)

        depth = self.choose.number(0, 6) if size is None else size
        return expression(self.choose, dtype, leaf, depth, self.operations)

    def _constant(self, dtype: str) -> tir.PrimExpr:
        if is_float(dtype) and self.chances("float scalar", 8):
            return make.cast(self.scalar(dtype), dtype)
        if is_float(dtype) and self.chances("special constant", 6):
            return make.const(self.choose.pick((float("inf"), float("-inf"), float("nan"))), dtype)
        chosen = self.options.constant(self.choose, dtype)
        return constants(self.choose, dtype) if chosen is None else chosen

    def scalar(self, dtype: str) -> tir.Var:
        """Return a scalar parameter of a dtype, or of float32 for narrow floats, which cannot be passed."""
        dtype = "float32" if dtype in ("float16", "bfloat16") else dtype
        self.met("integer scalar" if not is_float(dtype) else "float scalar")
        found = [scalar for scalar in self.scalars if scalar.dtype == dtype]
        if not found:
            found = [tir.Var(dtype, self.choose.fresh("x"))]
            self.scalars += found
        return found[0]

    def outermost(self, value: tir.PrimExpr, axes: Sequence[Axis]) -> tuple[tir.PrimExpr, bool]:
        """Return a value or a function of it, and whether the result is inexact or of limited range, so that nothing
        may be computed from it.
        """
        dtype = value.dtype
        if self.pending and not any(isinstance(node, tir.BufferLoad) for node in walk(value)):
            value = make.maximum(value, self.element(self.source(dtype), axes))
        if "gather" in self.pending:
            self.met("gather")
            source = self.parameter("A", dtype, (self.const(self.choose.number(2, MAX_EXTENT)),))
            index = self._confined(self._gathered(axes), source.shape[0])
            value = make.maximum(value, tir.BufferLoad(dtype, source, (index,)))
        if "computed index" in self.pending and axes:
            self.met("computed index")
            source = self.source(dtype, 1)
            ((low, size),) = self.box(source)
            index = make.maximum(make.minimum(self._combined(axes), make.sub(size, 1)), self.const(0))
            value = make.maximum(value, tir.BufferLoad(dtype, source, (make.add(index, low),)))
        if "let" in self.pending:
            self.met("let")
            variable = tir.Var(dtype, self.choose.fresh("x"))
            value = tir.Let(dtype, variable, value, make.add(variable, make.const(1, dtype)))
        if is_float(dtype):
            if "float scalar" in self.pending:
                value = make.add(value, make.cast(self.scalar(dtype), dtype))
            if "special constant" in self.pending:
                self.met("special constant")
                value = make.maximum(value, make.const(float("-inf"), dtype))
            return (self._function(value), True) if self.wants("function", 3) else (value, False)
        if "integer scalar" in self.pending or self.wants("integer scalar", 16):
            value = make.add(value, make.cast(self.scalar("int32"), dtype))
        if "shift" in self.pending:
            self.met("shift")
            value = make.left_shift(value, make.const(2, dtype))
        if dtype not in ("int32", "int64", "uint32") or not self.wants("large integer", 4):
            return value, False
        large = make.const(self.choose.pick(_LARGE[dtype]), dtype)
        combine = self.choose.pick((make.minimum, make.maximum, make.bitwise_and, make.bitwise_xor))
        return combine(value, large), True

    def _function(self, value: tir.PrimExpr) -> tir.PrimExpr:
        name, dtype = self.choose.pick(FUNCTIONS), value.dtype
        if name == "exp":
            value = make.minimum(value, make.const(8.0, dtype))
        if name == "pow":
            arguments = (make.abs(value), make.const(self.choose.pick((2.0, 0.5, 3.0)), dtype))
            return make.call("tir.pow", arguments, dtype)
        return make.call(f"tir.{name}", (make.abs(value) if name in ("log", "sqrt") else value,), dtype)

    # --- The whole -------------------------------------------------------------------------------------------

    def block(
        self,
        name: str,
        axes: Sequence[Axis],
        body: tir.Stmt,
        init: tir.Stmt | None = None,
        own: tuple[tir.Buffer, ...] = (),
        matches: tuple[tir.MatchBufferRegion, ...] = (),
        inside: tuple[tir.Buffer, ...] = (),
    ) -> tir.Block:
        """Return a block that declares the regions found in its body. `inside` is memory of an enclosing block."""
        self.room -= 1
        iters = tuple([tir.IterVar(tir.Range(self.const(axis.low), axis.extent), axis.var, axis.kind) for axis in axes])
        notes = self.choose.pick(NOTES) if self.wants("block annotation", 12) else {}
        block = tir.Block(iters, (), (), self.choose.fresh(name), body, init, own, matches, notes)
        visible = dict.fromkeys((*self.params.values(), *self.allocated, *self.views, *inside))
        crowded = [] if matches else self._crowded(body, visible)
        reads, writes, opaque = detect_regions(block, [buffer for buffer in visible if buffer not in crowded])
        self.read.update(region.buffer.data for region in (*reads, *opaque))
        self.read.update(buffer.data for buffer in crowded)
        reads = (*reads, *[full_region(buffer) for buffer in crowded], *opaque)
        return replace(block, reads=reads, writes=(*writes, *opaque))

    def _crowded(self, body: tir.Stmt, visible: dict[tir.Buffer, None]) -> list[tir.Buffer]:
        """Return the buffers that a body reads at many places and does not write. Computing their region would take long."""
        nodes = list(walk(body))
        if any(isinstance(node, tir.BlockRealize) for node in nodes):
            return []
        written = {node.buffer.data for node in nodes if isinstance(node, tir.BufferStore)}
        counts = Counter(node.buffer for node in nodes if isinstance(node, tir.BufferLoad))
        alike = Counter(buffer.data for buffer in visible)
        return [buffer for buffer, count in counts.items() if count >= _CROWDED and buffer in visible and buffer.data not in written and alike[buffer.data] == 1]  # fmt: skip

    def _renamed(self, stage: tir.Stmt) -> tir.Stmt:
        """Return a stage of which one block, or one load in it, perhaps accesses memory of the function through another buffer. Stages
        of a software pipeline use one buffer for the same memory. A stage without blocks perhaps has one such access.
        """
        common = {*self.params.values(), *self.allocated}
        blocks = [node for node in walk(stage) if isinstance(node, tir.Block) and node.iter_vars]
        is_pipelined = any(isinstance(node, tir.For) and is_pipeline(node) for node in walk(stage))
        if is_pipelined or not self.renames(10):
            return stage
        if not blocks:
            known = [node for node in dict.fromkeys(walk(stage)) if isinstance(node, tir.BufferLoad | tir.BufferStore)]
            known = [access for access in known if access.buffer in common]
            renamed = [self.choose.pick(known)] if known else []
            return substitute(
                stage, {access: replace(access, buffer=self.other_name(access.buffer)) for access in renamed}
            )
        block = self.choose.pick(blocks)
        used = [node for node in dict.fromkeys(walk(block)) if isinstance(node, tir.Buffer) and node in common]
        if not used:
            return stage
        buffer = self.choose.pick(used)
        view = self.other_name(buffer)
        loads = [node for node in walk(block.body) if isinstance(node, tir.BufferLoad) and node.buffer is buffer]
        reads = tuple([replace(region, buffer=view) for region in block.reads if region.buffer is buffer])
        if not (loads and reads and self.choose.number(0, 1)):
            return substitute(stage, {block: substitute(block, {buffer: view})})
        load = self.choose.pick(loads)
        body = substitute(block.body, {load: replace(load, buffer=view)})
        return substitute(stage, {block: replace(block, body=body, reads=(*block.reads, *reads))})

    def function(self, stages: Sequence[tir.Stmt], attrs: dict[str, object]) -> tir.PrimFunc:
        """Return the function that executes `stages`."""
        body = sequence([self._renamed(stage) for stage in stages])
        used = {node for node in walk(body) if isinstance(node, tir.Buffer)}
        for view in self.views:
            if view in used:
                body = tir.DeclBuffer(view, body)
        root = tir.Block((), (), (), "root", body, alloc_buffers=tuple(self.allocated))
        realize = tir.BlockRealize((), TRUE, root)
        told = {extent for buffer in self.params.values() for extent in (*buffer.shape, *buffer.strides)}
        untold = [size for size in self.sizes if size not in told and any(node is size for node in walk(realize))]
        if not self.allows("integer scalar"):
            for size in untold:
                self.params[tir.Var("handle", f"{size.name}_handle")] = self.declare("N", self.dtype(), (size,))
            untold = []
        return tir.PrimFunc((*self.params, *self.scalars, *untold), realize, buffer_map=self.params, attrs=attrs)


NOTES: tuple[dict[str, object], ...] = ({"hint": 1}, {"note": "a text"}, {"sizes": [1, 2]})
"""Annotations of loops and blocks."""
_LARGE = {
    "int32": (LARGE, -LARGE - 1, -LARGE), "int64": (LARGE, LARGE + 1, -LARGE - 2, 2**40, 2**63 - 1, -(2**63)),
    "uint32": (LARGE, LARGE + 1, 2**32 - 1),
}  # fmt: skip


def indices_of(axes: Sequence[Axis]) -> tuple[tir.PrimExpr, ...]:
    """Return the element that axes denote, counted from the lowest value of each."""
    return tuple([axis.index for axis in axes])


def _placed(axis: Axis, low: int) -> tir.PrimExpr:
    """Return the index that an axis denotes in a dimension whose part begins at `low`."""
    if axis.low == low:
        return axis.var
    return make.add(axis.index, low) if low else axis.index


def _fits(axis: Axis, extent: tir.PrimExpr) -> bool:
    """Return whether the values of `axis` are indices of a dimension."""
    known, size = size_of(axis.extent), size_of(extent)
    return axis.extent is extent if known is None or size is None else known <= size
