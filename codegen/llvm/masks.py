"""Masked loads and stores of vectors, and loads that LLVM 22 may move behind a store to the same memory.

If a loop becomes vectors, a branch that loads an element and then stores to it becomes a masked load and a masked store. The loaded
values are combined by a `select` behind the store with those of the iterations that do not take the branch; `InstCombine`
replaces both by one masked load there, which reads what was stored:

    for i in range(64):
        if G[i] == 0:
            t: T.float32 = C[i]     the load
            C[i] = R[i]
            R[i] = t

Loops with loads that are atomic (unordered, which costs nothing on its own) do not become vectors. Branches that contain loops cannot
become masks, and memory at constant indices is in registers.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir import tir
from ...ir.visit import children, walk
from . import vectors
from .api import Builder, LLVMType, Value, ir
from .operators import number, type_suffix
from .types import I32, POINTER

_MOVES: dict[str, tuple[str, LLVMType, int]] = {
    **dict.fromkeys(("f32", "i32"), ("ps", ir.FloatType(), 8)),
    **dict.fromkeys(("f64", "i64"), ("pd", ir.DoubleType(), 4)),
}
"""AVX's masked moves by LLVM's names of elements: their suffix, their type of element, and how many they move."""


def masked_load(builder: Builder, address: Value, mask: Value, result: LLVMType, align: int, has_moves: bool) -> Value:
    """Load the vector at `address` of type `result`; the lanes where `mask` does not hold are zero. `has_moves` tells whether
    the processor does this by masked moves (`Machine.has_mask_moves`).
    """
    move = _MOVES.get(result.element.intrinsic_name) if has_moves else None
    if move is not None and result.count > move[-1]:
        return _moved(builder, address, mask, result, *move)
    function = declared(
        builder, f"llvm.masked.load.{type_suffix(result)}.p0", result, [POINTER, I32, mask.type, result]
    )
    return builder.call(function, [address, number(I32, align), mask, number(result, 0)])


def _moved(
    builder: Builder, address: Value, mask: Value, result: LLVMType, suffix: str, element: LLVMType, lanes: int
) -> Value:
    """Load a vector by masked moves of a register each.

    LLVM 22 divides longer masked loads into such moves itself, but if it finds that no lane of a register is on, it loads that
    register without a mask, or aborts. Therefore masks pass through assembly, which hides how they are computed.
    """
    count, switches = result.count, ir.VectorType(ir.IntType(256 // lanes), lanes)
    hidden = ir.InlineAsm(ir.FunctionType(switches, [switches]), "", "=x,0")
    move = declared(builder, f"llvm.x86.avx.maskload.{suffix}.256", ir.VectorType(element, lanes), [POINTER, switches])
    parts: list[Value] = []
    for start in range(0, count, lanes):
        part_mask = [min(lane, count) for lane in range(start, start + lanes)]
        on = builder.sext(vectors.shuffle(builder, mask, number(mask.type, 0), part_mask), switches)
        place = builder.gep(address, [number(I32, start)], source_etype=result.element)
        part = builder.call(move, [place, builder.call(hidden, [on])])
        parts.append(builder.bitcast(part, ir.VectorType(result.element, lanes)))
    while len(parts) > 1:
        pairs = [*parts, number(parts[0].type, 0)] if len(parts) % 2 else parts
        both = range(2 * parts[0].type.count)
        parts = [vectors.shuffle(builder, *pair, both) for pair in zip(pairs[::2], pairs[1::2], strict=True)]
    return vectors.shuffle(builder, parts[0], parts[0], range(count))


def masked_store(builder: Builder, value: Value, address: Value, mask: Value, align: int) -> None:
    """Store the lanes of `value` where `mask` holds to the vector at `address`."""
    params = [value.type, POINTER, I32, mask.type]
    function = declared(builder, f"llvm.masked.store.{type_suffix(value.type)}.p0", ir.VoidType(), params)
    builder.call(function, [value, address, number(I32, align), mask])


def declared(builder: Builder, symbol: str, result: object, params: list[object]) -> Value:
    """Return the declaration of an LLVM intrinsic."""
    found = builder.module.globals.get(symbol)
    return found or ir.Function(builder.module, ir.FunctionType(result, params), symbol)


# --- Loads that must stay before a store ---------------------------------------------------------------------------

_LOOPS = (tir.For, tir.While)


def exchanged_loads(body: tir.Stmt) -> frozenset[tir.BufferLoad]:
    """Return the loads in branches inside of loops whose memory is stored to later in the branch, and whose values are stored to
    other memory or bound to a variable.
    """
    found: set[tir.BufferLoad] = set()
    for branch in _branches(body):
        nodes = list(walk(branch))
        last = {node.buffer.data: at for at, node in enumerate(nodes) if isinstance(node, tir.BufferStore)}
        kept: dict[tir.BufferLoad, bool] = {}
        for at, node in enumerate(nodes):
            if not isinstance(node, tir.BufferStore | tir.LetStmt | tir.Let):
                continue
            target = node.buffer.data if isinstance(node, tir.BufferStore) else None
            for load in walk(node.value):
                if (
                    isinstance(load, tir.BufferLoad)
                    and load.buffer.data is not target
                    and last.get(load.buffer.data, 0) > at
                ):
                    kept[load] = not all(isinstance(index, tir.IntImm) for index in load.indices)
        found.update(load for load, is_exchanged in kept.items() if is_exchanged)
    return frozenset(found)


def _branches(body: tir.Stmt) -> Iterator[tir.IfThenElse]:
    """Yield the outermost conditional statements without loops that are inside of loops."""
    around: set[tir.Stmt] = set()  # statements that contain loops
    stack: list[tuple[tir.Stmt, bool]] = [(body, False)]
    while stack:
        node, is_left = stack.pop()
        below = _statements_in(node)
        if is_left:
            if isinstance(node, _LOOPS) or not around.isdisjoint(below):
                around.add(node)
        elif below:
            stack.append((node, True))
            stack += [(child, False) for child in below]
    stack = [(body, False)] if body in around else []
    while stack:
        node, is_inside = stack.pop()
        if isinstance(node, tir.IfThenElse) and is_inside and node not in around:
            yield node
        else:
            is_inside = is_inside or isinstance(node, _LOOPS)
            stack += [(child, is_inside) for child in _statements_in(node)]


def _statements_in(stmt: tir.Stmt) -> tuple[tir.Stmt, ...]:
    if isinstance(stmt, tir.BufferStore | tir.Evaluate):
        return ()
    return tuple([child for child in children(stmt) if isinstance(child, tir.Stmt)])
