"""What the stages of featured programs compute: `(writer, is_last)` returns the lines of a stage. The last stage writes
parameters; others mostly write what is allocated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from hypothesis import strategies as st

from ...ir.base import IRModule
from ..load import parse
from .choices import Choices
from .featured import Axis, Memory, Nest, Size, Writer

Box = Sequence[tuple[Size, Size]]
_REDUCERS = {"{0} + {1}": 0, "T.max({0}, {1})": -1000, "T.min({0}, {1})": 1000}


def _part(w: Writer, box: Box, is_last: bool) -> list[tuple[Size, Size]]:
    """Return a box in another one: mostly all of it."""
    found: list[tuple[Size, Size]] = []
    for low, high in box:
        if isinstance(low, str) or isinstance(high, str) or not w.choose.rarely(3):
            found.append((low, high))
            continue
        low = min(low + w.choose.number(0, 2), high - 1)
        high = max(high - w.choose.number(0, 2), low + 1)
        found.append((low, low if is_last and w.choose.rarely(10) else high))
    return found


def _target(w: Writer, name: str, shape: Sequence[Size], box: Box, is_last: bool) -> Memory:
    return w.buffer(name, shape, box, is_last or w.choose.rarely(8))


def _at(memory: Memory, axes: Sequence[Axis]) -> str:
    return f"{memory.name}[{', '.join([axis.name for axis in axes])}]"


def mapped(w: Writer, is_last: bool) -> list[str]:
    """Each element from another one; perhaps two outputs."""
    return _mapped(w, is_last, "spatial")


def opaque(w: Writer, is_last: bool) -> list[str]:
    """As `mapped`, by iterators without a kind."""
    return _mapped(w, is_last, "opaque")


def _mapped(w: Writer, is_last: bool, kind: str) -> list[str]:
    source = w.source(w.extents)
    box = _part(w, source.box, is_last)
    axes = w.axes(box, kind)
    count = 1 + w.choose.rarely(5)
    targets = [_target(w, "B", source.shape, box, is_last) for _ in range(count)]
    body = w.store([_at(each, axes) for each in targets], [w.formula(source, axes) for _ in targets])
    w.known += targets
    return w.block("map", w.nest(axes), body)


def reduced(w: Writer, is_last: bool) -> list[str]:
    """Sums and extrema of rows: of one or two kinds at once, from T.init or from a block before."""
    shape = [w.extents[0], w.choose.pick((4, 3, 6, 8, 1))]
    source = w.source(shape) if len(w.extents) == 2 and w.extents[1] == shape[1] else w.buffer("A", shape, [(0, each) for each in shape], is_parameter=True)  # fmt: skip
    return _reduced(w, is_last, source, _part(w, source.box, False))


def _reduced(w: Writer, is_last: bool, source: Memory, box: Box) -> list[str]:
    rows, columns = w.axes(box[:1]), w.axes(box[1:], "reduce")
    kinds = [w.choose.pick(list(_REDUCERS)) for _ in range(1 + w.choose.rarely(3))]
    targets = [_target(w, "R", source.shape[:1], box[:1], is_last) for _ in kinds]
    points = [_at(each, rows) for each in targets]
    starts = [f"{point} = {w.const(_REDUCERS[kind])}" for point, kind in zip(points, kinds, strict=True)]
    value = w.formula(source, [*rows, *columns])
    updates = [kind.format(point, value) for point, kind in zip(points, kinds, strict=True)]
    w.known += targets
    before = list[str]()
    extra = ["with T.init():", *[f"    {each}" for each in starts]]
    if w.choose.rarely(4):
        before, extra = w.block("start", w.nest(rows), starts), []
    return [*before, *w.block("reduce", w.nest([*rows, *columns]), w.store(points, updates), extra)]


def scanned(w: Writer, is_last: bool) -> list[str]:
    """Each row from the one before it."""
    source = w.source(w.extents)
    box = _part(w, source.box, is_last)
    axes = [*w.axes(box[:1], "scan"), *w.axes(box[1:])]
    target = _target(w, "S", source.shape, box, is_last)
    time, rest = axes[0].name, "".join([f", {axis.name}" for axis in axes[1:]])
    before = f"{target.name}[T.max({time} - 1, {box[0][0]}){rest}]"
    value = f"T.if_then_else({box[0][0]} < {time}, {before}, {w.const(0)}) + {w.element(source, axes)}"
    w.known.append(target)
    return w.block("scan", w.nest(axes, in_order=True), w.store([_at(target, axes)], [value]))


def in_place(w: Writer, is_last: bool) -> list[str]:
    """What a buffer holds is changed; without one, a parameter."""
    source = w.source(w.extents)
    fitting = [each for each in w.known if each is not source and len(each.shape) == len(source.shape) and each.is_parameter >= is_last]  # fmt: skip
    target = fitting[-1] if fitting else w.buffer("C", source.shape, source.box, is_parameter=True)
    axes = w.axes(_part(w, target.box, is_last))
    own = _at(target, axes)
    w.known.append(target)
    return w.block("update", w.nest(axes), w.store([own], [f"{own} * {w.const(2)} + {w.element(source, axes)}"]))


def overwritten(w: Writer, is_last: bool) -> list[str]:
    """A part of what was written is written again."""
    source = w.source(w.extents)
    fitting = [each for each in w.known if each is not source and len(each.shape) == len(source.shape)]
    if not fitting:
        return mapped(w, is_last)
    target = fitting[-1]
    axes = w.axes(_part(w, target.box, is_last=True))
    lines = w.block("again", w.nest(axes), w.store([_at(target, axes)], [w.formula(source, axes)]))
    return lines if not is_last else [*lines, *mapped(w, is_last)]


def padded(w: Writer, is_last: bool) -> list[str]:
    """Rows of a constant before and after those of a buffer."""
    shape: list[Size] = [w.choose.pick((4, 6, 3)), *w.extents[1:]]
    source = w.buffer("A", shape, [(0, each) for each in shape], is_parameter=True)
    assert isinstance(shape[0], int)
    wide: list[Size] = [shape[0] + 2, *shape[1:]]
    box: Box = [(0, each) for each in wide]
    axes, target = w.axes(box), _target(w, "P", wide, box, is_last)
    first = axes[0].name
    inside = f"{source.name}[{', '.join([f'{first} - 1', *[axis.name for axis in axes[1:]]])}]"
    value = f"T.if_then_else(1 <= {first} and {first} < {shape[0] + 1}, {inside}, {w.const(w.choose.pick((0, 0, 3)))})"
    lines = w.block("pad", w.nest(axes), [f"{_at(target, axes)} = {value}"])
    w.known.append(target)
    return lines if is_last or w.choose.rarely(2) else [*lines, *_windows(w, False, target, 3)]


def windowed(w: Writer, is_last: bool) -> list[str]:
    """Sums over a window of rows that another stage computes."""
    width = w.choose.pick((2, 3))
    shape: list[Size] = [w.choose.pick((8, 6, 4)) + width - 1, *w.extents[1:]]
    source = w.buffer("A", shape, [(0, each) for each in shape], is_parameter=True)
    axes = w.axes(source.box)
    middle = _target(w, "M", shape, source.box, is_last=False)
    lines = w.block("rows", w.nest(axes), [f"{_at(middle, axes)} = {w.formula(source, axes)}"])
    return [*lines, *_windows(w, is_last, middle, width)]


def _windows(w: Writer, is_last: bool, source: Memory, width: int) -> list[str]:
    low, high = source.box[0]
    assert isinstance(high, int)
    box = _part(w, [(low, high - width + 1), *source.box[1:]], is_last)
    rows, (step,) = w.axes(box), w.axes([(0, width)], "reduce")
    target = _target(w, "W", source.shape, box, is_last)
    point = _at(target, rows)
    read = f"{source.name}[{', '.join([f'{rows[0].name} + {step.name}', *[axis.name for axis in rows[1:]]])}]"
    w.known.append(target)
    init = ["with T.init():", f"    {point} = {w.const(0)}"]
    return w.block("window", w.nest([*rows, step]), [f"{point} = {point} + {read}"], init)


def nested(w: Writer, is_last: bool) -> list[str]:
    """Rows of a block of which each is computed by blocks inside."""
    source = w.source(w.extents)
    if len(source.shape) < 2:
        return mapped(w, is_last)
    box = _part(w, source.box, is_last)
    rows, columns = w.axes(box[:1]), w.axes(box[1:])
    target = _target(w, "N", source.shape, box, is_last)
    value = w.formula(source, [*rows, *columns])
    w.known.append(target)
    if w.choose.rarely(3):
        row = f"{w.choose.fresh('row')}"
        again = w.axes(box[1:])
        head = [f'{row} = T.alloc_buffer(({source.shape[1]},), "{w.dtype}")']
        fill = w.block("fill", w.nest(columns), [f"{row}[{columns[0].name}] = {value}"])
        copy = w.block("copy", w.nest(again), [f"{_at(target, [*rows, *again])} = {row}[{again[0].name}]"])
        return w.block("outer", w.nest(rows), [*fill, *copy], head)
    inner = w.block("inner", w.nest(columns), w.store([_at(target, [*rows, *columns])], [value]))
    return w.block("outer", w.nest(rows), inner)


def matched(w: Writer, is_last: bool) -> list[str]:
    """Rows that are read, or written, by a view."""
    source = w.source(w.extents)
    if len(source.shape) < 2 or isinstance(source.shape[1], str):
        return mapped(w, is_last)
    box = _part(w, source.box, is_last)
    (low, high), rows = box[1], w.axes(box[:1])
    assert isinstance(low, int) and isinstance(high, int)  # noqa: PT018
    target = _target(w, "V", source.shape, box, is_last)
    seen, column = target if w.choose.rarely(2) else source, w.choose.fresh("c")
    view, inner = w.choose.fresh("view"), f"[{rows[0].name}, {column} + {low}]"
    part = f"{seen.name}[{rows[0].name}, {low}:{high}]"
    head = [f'{view} = T.match_buffer({part}, ({high - low},), "{w.dtype}", offset_factor=1)']
    to, of = (f"{view}[{column}]" if each is seen else f"{each.name}{inner}" for each in (target, source))
    body = [f"for {column} in range({high - low}):", f"    {to} = {of} + {w.const(1)}"]
    w.known.append(target)
    return w.block("view", w.nest(rows), body, head)


def products(w: Writer, is_last: bool) -> list[str]:
    """A product of matrices with rows of 8, which suits intrinsics, or of less."""
    depth, width = w.choose.pick((3, 4, 8)), w.choose.pick((8, 8, 4))
    left, right = (
        w.buffer("A", shape, [(0, each) for each in shape], is_parameter=True)
        for shape in ((w.extents[0], depth), (depth, width))
    )
    box = _part(w, [(0, w.extents[0]), (0, width), (0, depth)], False)
    if not w.choose.rarely(3):
        box[1] = (0, width)
    rows, columns, steps = w.axes(box[:1]), w.axes(box[1:2]), w.axes(box[2:], "reduce")
    target = _target(w, "C", (w.extents[0], width), box[:2], is_last)
    point = _at(target, [*rows, *columns])
    value = f"{point} + {_at(left, [*rows, *steps])} * {_at(right, [*steps, *columns])}"
    start, extra, before = f"{point} = {w.const(0)}", list[str](), list[str]()
    if w.choose.rarely(2):
        extra = ["with T.init():", f"    {start}"]
    else:
        before = w.block("start", w.nest([*rows, *columns]), [start])
    w.known.append(target)
    order = [*rows, *steps, *columns]
    nest = w.nest(order) if w.choose.rarely(2) else _plain(order)
    return [*before, *w.block("product", nest, w.store([point], [value]), extra)]


def _plain(axes: Sequence[Axis]) -> Nest:
    """Return loops from the least to the greatest value of each axis."""
    names = [axis.name[1:] for axis in axes]
    return Nest(
        [f"{name}:range({axis.low}, {axis.high})" for name, axis in zip(names, axes, strict=True)],
        [
            f"{axis.name} = T.axis.{axis.kind}({axis.high}, {name})"
            if axis.low == 0
            else f"{axis.name} = T.axis.{axis.kind}(({axis.low}, {axis.high}), {name})"
            for name, axis in zip(names, axes, strict=True)
        ],
    )


def together(w: Writer, is_last: bool) -> list[str]:
    """Two blocks in one loop: the second reads what the first writes, or not; perhaps a software pipeline."""
    source = w.source(w.extents)
    if len(source.shape) < 2:
        return mapped(w, is_last)
    box = _part(w, source.box, False)
    (low, high), loop = box[0], w.choose.fresh("i")
    is_pipeline = w.choose.rarely(3)
    middle = _target(w, "M", source.shape, box, is_last=False)
    target = _target(w, "Y", source.shape, box, is_last)
    lines: list[str] = []
    for memory, read in ((middle, source), (target, middle if w.choose.rarely(2) else source)):
        (row,), columns = w.axes(box[:1]), w.axes(box[1:])
        nest = w.nest(columns)
        nest.bindings.insert(0, f"{row.name} = T.axis.spatial({f'({low}, {high})' if low else high}, {loop})")
        value = w.formula(read, [row, *columns]) if read is source else _at(read, [row, *columns])
        lines += w.block("part", nest, w.store([_at(memory, [row, *columns])], [f"{value} + {w.const(1)}"]))
    w.known += [middle, target]
    stages = '"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]'
    notes = f", annotations={{{stages}}}" if is_pipeline and middle.is_parameter is False else ""
    return [f"for {loop} in T.serial({low}, {high}{notes}):", *[f"    {line}" for line in lines]]


def triangular(w: Writer, is_last: bool) -> list[str]:
    """The lower triangle of a matrix, or the sums of its rows."""
    size = w.choose.pick((4, 5, 3, 1))
    source = w.buffer("A", (size, size), [(0, size)] * 2, is_parameter=True)
    i, k = w.choose.fresh("i"), w.choose.fresh("k")
    head = [f"for {i} in range({size}):", f"    for {k} in range({i} + 1):"]
    if w.choose.rarely(2):
        target = _target(w, "L", (size,), [(0, size)], is_last)
        w.known.append(target)
        block = [
            f'with T.block("{w.choose.fresh("prefix")}"):', f'    vi, vk = T.axis.remap("SR", [{i}, {k}])',
            "    with T.init():", f"        {target.name}[vi] = {w.const(0)}",
            f"    {target.name}[vi] = {target.name}[vi] + {source.name}[vi, vk]",
        ]  # fmt: skip
    else:
        target = w.buffer("L", (size, size), [(0, size)] * 2, is_parameter=True)
        block = [
            f'with T.block("{w.choose.fresh("lower")}"):', f'    vi, vk = T.axis.remap("SS", [{i}, {k}])',
            f"    {target.name}[vi, vk] = {source.name}[vi, vk] * {w.const(2)}",
        ]  # fmt: skip
    return [*head, *[f"        {line}" for line in block]]


STAGES: dict[Callable[[Writer, bool], list[str]], tuple[tuple[str, ...], ...]] = {
    mapped: (("blockize",), ("compute_inline",), ("reverse_compute_at",), ("loop_partition",), ("cache_read",), ("fuse",)),
    reduced: (("rfactor",), ("decompose_reduction",), ("rfactor",), ("pad_einsum",), ("blockize",), ("split", "rfactor")),
    scanned: (("reorder",), ("split",), ("cache_write",)),
    in_place: (("cache_inplace",), ("blockize",), ("reverse_compute_at",)),
    overwritten: (("compute_at",), ("reindex_cache_write",), ("read_at",), ("write_at",)),
    padded: (("decompose_padding",), ("decompose_padding",), ("transform_layout",)),
    windowed: (("compute_at", "rolling_buffer"), ("compute_at",), ("split", "compute_at", "rolling_buffer"), ("compute_at", "compute_at")),
    nested: (("blockize",), ("cache_read",), ("compute_at",), ("reorder",)),
    matched: (("cache_read",), ("transform_layout",), ("blockize",)),
    products: (("tensorize",), ("tensorize",), ("pad_einsum",), ("rfactor",), ("blockize",), ("transform_block_layout",)),
    together: (("merge",), ("merge",), ("compute_inline",), ("blockize",), ("rolling_buffer",)),
    triangular: (("decompose_reduction",), ("fuse",), ("reorder",), ("cache_write",)),
    opaque: (("blockize",), ("split",), ("compute_at",)),
}  # fmt: skip
"""What stages there are, and primitives to try on them first."""


@cache
def _parsed(text: str) -> IRModule:
    return parse(text)


@st.composite
def featured(draw: st.DrawFn) -> tuple[IRModule, tuple[str, ...]]:
    """Modules of one function of one to three stages, and primitives to try first."""
    choose = Choices(draw)
    count, stages = choose.number(1, 3), list(STAGES)
    chosen = [choose.pick(stages) for _ in range(count)]
    writer = Writer(choose)
    text = writer.program(chosen)
    first = choose.pick(STAGES[choose.pick(chosen)])
    return _parsed(text), first
