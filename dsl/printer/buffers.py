"""Buffers: their declarations, loads and stores, regions."""

from __future__ import annotations

from collections import Counter

from ...ir import make, tir
from ...ir.buffers import ALIGNMENT, index_dtype
from ...ir.ops.tile import VIEW
from .expressions import var_creation
from .literals import identifier, string
from .printer import Frame, Printer, prints, prints_lines
from .variables import frame_to_declare_in, variables_in

_DEFAULT_DTYPE = "float32"


def is_constant(value: object, number: int) -> bool:
    """Return whether `value` is the integer constant `number` (TVM: `is_one`, `is_zero`)."""
    return isinstance(value, tir.IntImm) and value.value == number


def is_zero_offset(offset: tir.PrimExpr | None) -> bool:
    """Return whether a buffer's element offset is zero."""
    return offset is None or is_constant(offset, 0)


def define_buffer(printer: Printer, buffer: tir.Buffer, frame: Frame | None = None) -> str:
    """Name a buffer until `frame` ends."""
    return printer.define(buffer, buffer.name or "buffer", frame)


class _Declaration:
    """The arguments of a buffer's declaration; variables that they introduce are declared before it."""

    def __init__(self, printer: Printer, buffer: tir.Buffer, frame: Frame, data_is_new: bool) -> None:
        self.printer = printer
        self.buffer = buffer
        self.frame = frame
        self.lefts: list[str] = []
        self.rights: list[str] = []
        self.uses = Counter(variables_in((buffer.data, buffer.elem_offset, buffer.shape, buffer.strides)))
        self.shape = self._shape()
        self.data = self._data(data_is_new)
        self.keywords = self._keywords()
        if self.lefts:
            frame.line(f"{', '.join(self.lefts)} = {', '.join(self.rights)}")

    def _is_new(self, value: object) -> bool:
        return isinstance(value, tir.Var) and value not in self.printer.names

    def _declare(self, var: tir.Var) -> None:
        self.lefts.append(self.printer.define(var, var.name or "v", self.frame))
        self.rights.append(var_creation(self.printer, var))

    def _inline(self, var: tir.Var, path: str) -> bool:
        """Print `var` as an attribute of the buffer if the buffer uses it once and the parser would give it its dtype, else
        declare it; return whether inlined."""
        is_number = var.dtype != "handle"
        if self.uses[var] != 1 or (is_number and var.dtype != index_dtype(self.buffer.shape)):
            self._declare(var)
            return False
        printer, buffer = self.printer, self.buffer
        printer.define_as(var, lambda: f"{printer.expr(buffer)}.{path}", self.frame)
        return True

    def _shape(self) -> str:
        for extent in self.buffer.shape:
            if self._is_new(extent):
                self._declare(extent)  # pyright: ignore[reportArgumentType]
        return self.printer.tuple(self.buffer.shape)

    def _data(self, data_is_new: bool) -> str | None:
        data = self.buffer.data
        if self._is_new(data):
            if data_is_new and self._inline(data, "data"):
                return None
            if not data_is_new:
                self._declare(data)
        return self.printer.expr(data)

    def _strides(self) -> str:
        strides: list[str] = []
        for index, stride in enumerate(self.buffer.strides):
            if isinstance(stride, tir.Var) and self._is_new(stride) and self._inline(stride, f"strides[{index}]"):
                strides.append(string(stride.name))
            else:
                strides.append(self.printer.expr(stride))
        return f"({strides[0]},)" if len(strides) == 1 else f"({', '.join(strides)})"

    def _keywords(self) -> dict[str, str]:
        buffer, printer = self.buffer, self.printer
        keywords: dict[str, str] = {}
        if self.data is not None:
            keywords["data"] = self.data
        if buffer.strides:
            keywords["strides"] = self._strides()
        offset = buffer.elem_offset
        offset_is_new = isinstance(offset, tir.Var) and self._is_new(offset) and self._inline(offset, "elem_offset")
        if not offset_is_new and not (is_zero_offset(offset) and buffer.offset_factor == 1):
            keywords["elem_offset"] = (
                "0" if offset is None else printer.expr(offset)
            )  # a factor alone makes a new offset
        if buffer.scope != "global":
            keywords["scope"] = string(buffer.scope)
        if buffer.data_alignment != ALIGNMENT:
            keywords["align"] = str(buffer.data_alignment)
        if offset_is_new or buffer.offset_factor != 1:
            keywords["offset_factor"] = str(buffer.offset_factor)
        if buffer.buffer_type is not tir.BufferType.DEFAULT:
            keywords["buffer_type"] = '"auto"'
        if buffer.axis_separators:
            keywords["axis_separators"] = printer.value(buffer.axis_separators)
        return keywords | {name: printer.expr(value) for name, value in buffer.attrs.items()}


def declaration(
    printer: Printer,
    buffer: tir.Buffer,
    form: str,
    frame: Frame,
    first: str | None = None,
    data_is_new: bool = True,
) -> str:
    """Return the call `T.form(first, shape, dtype, …)` that declares `buffer` (TVM: `BufferDecl`).

    `data_is_new` says that the declaration allocates the memory; otherwise its data pointer is declared before it.
    """
    if VIEW in buffer.attrs:
        return printer.expr(buffer.attrs[VIEW])
    parts = _Declaration(printer, buffer, frame, data_is_new)
    arguments = [parts.shape] if first is None else [first, parts.shape]
    if buffer.dtype != _DEFAULT_DTYPE:
        arguments.append(string(buffer.dtype))
    arguments += [f"{name}={value}" for name, value in parts.keywords.items()]
    return f"{printer.tir(form)}({', '.join(arguments)})"


def annotation(printer: Printer, buffer: tir.Buffer, frame: Frame) -> str:
    """Return the annotation of a buffer parameter, `T.Buffer(shape, dtype)`."""
    shape = _Declaration(printer, buffer, frame, data_is_new=True).shape
    return f"{printer.tir('Buffer')}({shape}, {string(buffer.dtype)})"


def alloc_buffers(printer: Printer, buffers: tuple[tir.Buffer, ...]) -> None:
    """Add the lines that allocate the buffers of a block."""
    frame = printer.frames[-1]
    for buffer in buffers:
        name = define_buffer(printer, buffer)
        frame.line(f"{name} = {declaration(printer, buffer, printer.dialect.alloc_buffer, frame)}")


# --- Accesses -------------------------------------------------------------------------------------------------


def _index(printer: Printer, index: tir.PrimExpr) -> str:
    if not (isinstance(index, tir.Ramp) and isinstance(index.stride, tir.IntImm) and printer.dialect.slices_vectors):
        return printer.expr(index)
    if index.stride.value < 1:  # TVM reads other lanes from a slice that descends
        return printer.expr(index)
    stop = make.add(index.base, make.mul(index.lanes, index.stride))
    text = f"{printer.expr(index.base)}:{printer.expr(stop)}"
    return text if index.stride.value == 1 else f"{text}:{printer.expr(index.stride)}"


def _indices(printer: Printer, indices: tuple[tir.PrimExpr, ...]) -> str:
    return ", ".join([_index(printer, index) for index in indices]) if indices else "()"


@prints(tir.Buffer)
def _buffer(printer: Printer, node: tir.Buffer, level: int) -> str:
    name = printer.names.get(node)
    if name is None:
        frame = frame_to_declare_in(printer, node)
        name = define_buffer(printer, node, frame)
        frame.line(f"{name} = {declaration(printer, node, 'Buffer', frame)}")
    return name if isinstance(name, str) else name()


@prints(tir.BufferLoad)
def _buffer_load(printer: Printer, node: tir.BufferLoad, level: int) -> str:
    buffer = printer.expr(node.buffer)
    if node.predicate is None:
        return f"{buffer}[{_indices(printer, node.indices)}]"
    if printer.dialect.masks_by_call:
        arguments = f"{string(node.dtype)}, {buffer}, {printer.joined((*node.indices, node.predicate))}"
        return f"{printer.tir('masked_load')}({arguments})"
    return f"{buffer}.vload([{printer.joined(node.indices)}], predicate={printer.expr(node.predicate)})"


@prints_lines(tir.BufferStore)
def _buffer_store(printer: Printer, node: tir.BufferStore) -> None:
    buffer = printer.expr(node.buffer)
    value = printer.expr(node.value)
    if node.predicate is None:
        text = f"{buffer}[{_indices(printer, node.indices)}] = {value}"
    elif printer.dialect.masks_by_call:
        arguments = printer.joined((*node.indices, node.predicate))
        text = f"{printer.tir('masked_store')}({buffer}, {value}, {arguments})"
    else:
        indices, predicate = printer.joined(node.indices), printer.expr(node.predicate)
        text = f"{buffer}.vstore([{indices}], {value}, predicate={predicate})"
    printer.add(text, node.trivia)


@prints(tir.ProducerLoad)
def _producer_load(printer: Printer, node: tir.ProducerLoad, level: int) -> str:
    return f"{producer_name(node)}[{_indices(printer, node.indices)}]"


@prints_lines(tir.ProducerStore)
def _producer_store(printer: Printer, node: tir.ProducerStore) -> None:
    printer.add(f"{producer_name(node)}[{_indices(printer, node.indices)}] = {printer.expr(node.value)}", node.trivia)


def producer_name(node: tir.ProducerLoad | tir.ProducerStore | tir.ProducerRealize) -> str:
    """Return the name of the tensor expression; the text says nothing else about it."""
    return identifier(str(getattr(node.producer, "name", "producer")))


def slices(printer: Printer, ranges: tuple[tir.Range, ...], points: bool = True) -> str:
    """Return ranges as slices; with `points`, a range of extent 1 is a single index if its min and extent have one dtype."""
    parts: list[str] = []
    for item in ranges:
        text = printer.expr(item.min)
        if not (points and is_constant(item.extent, 1) and item.extent.dtype == item.min.dtype):
            text += f":{printer.expr(make.add(item.min, item.extent))}"
        parts.append(text)
    return ", ".join(parts) if parts else "()"


@prints(tir.BufferRegion)
def _buffer_region(printer: Printer, node: tir.BufferRegion, level: int) -> str:
    return f"{printer.expr(node.buffer)}[{slices(printer, node.region)}]"


@prints_lines(tir.MatchBufferRegion)
def _match_buffer_region(printer: Printer, node: tir.MatchBufferRegion) -> None:
    frame = printer.frames[-1]
    name = define_buffer(printer, node.buffer)
    source = printer.expr(node.source)
    printer.add(f"{name} = {declaration(printer, node.buffer, 'match_buffer', frame, source)}")
