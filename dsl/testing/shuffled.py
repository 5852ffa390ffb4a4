"""Programs whose results may depend on order, and the same programs in another order of their block instances."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

from hypothesis import strategies as st
from msgspec.structs import replace

from ...ir import tir
from ...ir.analysis.evaluate import evaluate
from ...ir.base import IRModule, Node
from ...ir.visit import children, rewrite, substitute, walk, with_new_variables
from ..load import parse
from .choices import Choices
from .kernels import TRUE

_SIZE = 12
_PARAMETERS = ", ".join(
    [f'{name}: T.Buffer(({_SIZE}, {_SIZE}), "int32")' for name in "AR"]
    + [f'{name}: T.Buffer(({_SIZE},), "int32")' for name in "CDV"]
)
_FREE = (tir.IterVarType.DATA_PAR, tir.IterVarType.COMM_REDUCE)
_KINDS = {"S": "spatial", "R": "reduce", "O": "scan"}


@st.composite
def ordered_programs(draw: st.DrawFn) -> IRModule:
    """Modules of one function: scans, stencils and updates in place, reductions of one or two outputs, with and without
    T.init, lets, predicates, outer blocks, and loops that are triangular, start above zero, or are used by no axis."""
    return parse(_text(Choices(draw)))


def _text(choose: Choices) -> str:
    lines, indent = [f"T.prim_func main({_PARAMETERS}):"], "    "
    own = choose.rarely(8)
    if own:
        lines.append(f'{indent}L = T.alloc_buffer(({_SIZE},), "int32")')
    kinds = choose.pick(("SR", "S", "SS", "SSR", "SRR", "RR", "SO", "R"))
    names = "ijk"[: len(kinds)]
    spare = choose.number(0, len(names)) if choose.rarely(8) else -1
    is_outer = choose.rarely(8) and kinds[0] == "S"
    bounds, values = dict[str, str](), dict(zip(names, names, strict=True))
    for place, name in enumerate(names):
        if place == spare:
            lines.append(f"{indent}for t in range(2):")
            indent += "    "
        low = choose.number(0, 2) if choose.rarely(4) else 0
        is_triangular = place and choose.rarely()
        high = f"{values[names[place - 1]]} + {low + 1}" if is_triangular else str(low + choose.number(1, 4))
        bounds[name] = str(low)
        lines.append(f"{indent}for {name} in range({low}, {high}):")
        indent += "    "
        if not place and is_outer:
            lines += [f'{indent}with T.block("outer"):', f"{indent}    vo = T.axis.spatial({_SIZE}, i)"]
            indent += "    "
            values[name] = "vo"
    body = [*_axes(choose, names, kinds, bounds, values), *_statements(choose, names, kinds, "L" if own else "C")]
    return "\n".join([*lines, f'{indent}with T.block("b"):', *[f"{indent}    {line}" for line in body]]) + "\n"


def _axes(choose: Choices, names: str, kinds: str, bounds: dict[str, str], values: dict[str, str]) -> Iterator[str]:
    for name, kind in zip(names, kinds, strict=True):
        yield f"v{name} = T.axis.{_KINDS[kind]}(({bounds[name]}, {_SIZE}), {values[name]})"
    if choose.rarely(5):
        yield f"T.where({values[names[-1]]} < {choose.number(1, 4)})"


def _statements(choose: Choices, names: str, kinds: str, target: str) -> list[str]:
    first = f"v{names[0]}" if not choose.rarely(10) else "0"
    last = f"v{names[-1]}"
    taken, element = f"A[v{names[0]}, {last}]", f"{target}[{first}]"
    init = ["with T.init():", f"    {element} = {choose.pick(('0', '1', element, first))}"]
    if "R" not in kinds or choose.rarely(4):
        init = []
    match choose.number(0, 9):
        case 0 | 1:
            operation = choose.pick(("{e} + {t}", "T.max({e}, {t})", "{e} * 2 + {t}", "{t} - {e}", "{e} - {t}", "{t}"))
            return [*init, f"{element} = {operation.format(e=element, t=taken)}"]
        case 2:
            names_of = [f"v{name} + {choose.number(0, 1)}" for name in (names[0], names[-1])]
            other = [f"v{name} + {choose.number(0, 1)}" for name in (names[0], names[-1])]
            one, two = (f"R[{', '.join(each)}]" for each in (names_of, other))
            return [f"{one} = {choose.pick((one + ' + ', ''))}{two} * 3 + {taken}"]
        case 3:
            return [f"C[{first} + 1] = C[{first} + {choose.number(0, 2)}] * 3 + {taken}"]
        case 4 | 5:
            update = choose.pick(("{d} + {t} * {t}", "{d} + {e}", "T.min({d}, {t})", "{d} + {e} * {t}"))
            second = update.format(d=f"D[{first}]", e=element, t=taken)
            start = [*init, f"    D[{first}] = 0"] if init else []
            if choose.number(0, 1):
                return [*start, f"{element} = {element} + {taken}", f"D[{first}] = {second}"]
            lets = [f"x: T.int32 = {element} + {taken}", f"y: T.int32 = {second}"]
            return [*start, *lets, f"{element} = x", f"D[{first}] = y"]
        case 6 | 7:
            better = choose.pick((">", ">=", "<="))
            tie = f" or V[{first}] == {taken} and {element} < {last}" if choose.number(0, 1) else ""
            start = (
                [*init[:1], f"    {element} = -1", f"    V[{first}] = {-99 if better[0] == '>' else 99}"]
                if init
                else []
            )
            value = f"x: T.int32 = T.Select(V[{first}] {better} {taken}{tie}, {element}, {last})"
            other_value = f"y: T.int32 = T.Select(V[{first}] {better} {taken}, V[{first}], {taken})"
            return [*start, value, other_value, f"{element} = x", f"V[{first}] = y"]
        case 8:
            return [f"if {last} < {choose.number(1, 3)}:", f"    {element} = {element} + {taken}"]
        case _:
            index = ", ".join(
                choose.pick((f"v{name}", f"v{names[0]}", f"{_SIZE - 1} - v{name}")) for name in (names[0], names[-1])
            )
            return [f"R[{index}] = {taken} + {last}"]


# --- Another order ----------------------------------------------------------------------------------------------


def shuffled(module: IRModule, seed: int) -> IRModule:
    """Return the module with the instances of each block that has loops of its own in random order.

    T.init runs before all updates. Along axes that are neither spatial nor reductions, instances stay in order.
    """
    numbers = random.Random(seed)
    nests = [each for function in module.functions.values() for each in _nests(function)]
    return substitute(module, {loops[0]: _shuffled(loops, realize, numbers) for loops, realize in nests})


def run_once(module: IRModule) -> IRModule:
    """Return the module with one iteration of each loop around blocks that neither their axes nor their predicates use."""

    def once(node: object) -> tir.For | None:
        if not isinstance(node, tir.For):
            return None
        blocks = [each for each in walk(node.body) if isinstance(each, tir.BlockRealize)]
        used = {part for each in blocks for value in (*each.iter_values, each.predicate) for part in walk(value)}
        bounds = (each for each in walk(node.body) if isinstance(each, tir.For))
        used |= {part for each in bounds for value in (each.min, each.extent) for part in walk(value)}
        return replace(node, extent=tir.IntImm(node.extent.dtype, 1)) if blocks and node.loop_var not in used else None

    return rewrite(module, once)


def _nests(node: Node) -> Iterator[tuple[list[tir.For], tir.BlockRealize]]:
    """Yield the outermost loops that hold one block each, and that block."""
    loops, inner = list[tir.For](), node
    while isinstance(inner, tir.For):
        loops.append(inner)
        inner = inner.body
    if loops and isinstance(inner, tir.BlockRealize):
        used = {each for value in (*inner.iter_values, inner.predicate) for each in walk(value)}
        while loops and loops[0].loop_var not in used:  # what it repeats, it repeats in order
            del loops[0]
        if loops and all(loop.loop_var in used for loop in loops):
            yield loops, inner
        return
    for child in children(node):
        if isinstance(child, tir.Stmt):
            yield from _nests(child)


def _shuffled(loops: Sequence[tir.For], realize: tir.BlockRealize, numbers: random.Random) -> tir.Stmt:
    instances, axes, init = list(instances_of(realize, loops, {})), realize.block.iter_vars, realize.block.init
    kept = [place for place, axis in enumerate(axes) if axis.iter_type not in _FREE]
    order = [(tuple([values[place] for place in kept]), each) for values, each in instances]
    first = {key: number for number, (key, _) in reversed(list(enumerate(order)))}
    numbers.shuffle(order)
    order.sort(key=lambda each: first[each[0]])
    parts: list[tir.Stmt] = []
    if init is not None:
        starts = [each for values, each in instances if _is_start(axes, values)]
        parts += [replace(each, block=replace(each.block, body=init, init=None)) for each in starts]
    parts += [replace(each, block=replace(each.block, init=None)) for _, each in order]
    return parts[0] if len(parts) == 1 else tir.SeqStmt(tuple(map(with_new_variables, parts)))


def _is_start(axes: Sequence[tir.IterVar], values: Sequence[int]) -> bool:
    return all(
        axis.iter_type is not tir.IterVarType.COMM_REDUCE
        or (axis.dom is not None and isinstance(axis.dom.min, tir.IntImm) and axis.dom.min.value == value)
        for axis, value in zip(axes, values, strict=True)
    )


def instances_of(
    realize: tir.BlockRealize, loops: Sequence[tir.For], values: Mapping[tir.Var, int]
) -> Iterator[tuple[tuple[int, ...], tir.BlockRealize]]:
    """Yield the instances of a block in their order: the values of its axes, and the block bound to them."""
    if not loops:
        if evaluate(realize.predicate, values):
            numbers = tuple([evaluate(value, values) or 0 for value in realize.iter_values])
            bound = tuple([tir.IntImm(value.dtype, n) for value, n in zip(realize.iter_values, numbers, strict=True)])
            yield numbers, replace(realize, iter_values=bound, predicate=TRUE)
        return
    loop, rest = loops[0], loops[1:]
    low, count = evaluate(loop.min, values) or 0, evaluate(loop.extent, values) or 0
    for value in range(low, low + count):
        yield from instances_of(realize, rest, {**values, loop.loop_var: value})
