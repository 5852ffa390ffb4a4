"""Layout changes of a buffer: its accesses are rewritten, and the padding of the new layout is filled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ... import make, tir
from ...access import detect_regions, full_region
from ...base import GlobalVar, Node, Op
from ...dtype import is_vector
from ...equal import structural_equal
from ...idioms import is_one
from ...visit import rewrite, substitute, walk
from ..conditions import Condition
from ..program import Program
from ..tree import statements_in
from .blocks import DATA_PAR
from .caching import Spot, insert, point
from .index_maps import Inverse, map_indices
from .loops import nest_of
from .pipeline import bindings_of
from .removal import OPAQUE
from .trivia import joined

NOT_CALLED = Condition(
    "E0556", "no function whose parameters change is called in the module", "cache_read or cache_write the buffer, and change the layout of the copy"
)  # fmt: skip
_TRUE = tir.IntImm("bool", 1)
_Vars = Sequence[tir.Var]


def is_parameter(function: tir.PrimFunc, buffer: tir.Buffer) -> bool:
    """Return whether a buffer is a parameter, as opposed to allocated. Refused if it is a view (E0544)."""
    if any(array is buffer for array in function.buffer_map.values()):
        return True
    for node in walk(function.body):
        if isinstance(node, tir.Block) and any(alloc_buffer is buffer for alloc_buffer in node.alloc_buffers):
            return False
    raise OPAQUE.refuse(f"'{buffer.name}' is a view of another buffer", argument="buffer")


def check_not_called(program: Program, name: str) -> None:
    """Refuse to change the parameters of a function that the module calls (E0556)."""
    for caller, function in program.module.functions.items():
        if any(isinstance(node, GlobalVar) and node.name_hint == name for node in walk(function)):
            raise NOT_CALLED.refuse(f"function '{caller}' calls '{name}', whose parameter changes")


class Relayout(Struct, frozen=True):
    """Replacement of buffer `old` by `new`; `index_map` maps the index of an element in `old` to that in `new`."""

    old: tir.Buffer
    new: tir.Buffer
    index_map: tir.IndexMap

    def rewritten(self, program: Program, body: tir.Stmt) -> tir.Stmt:
        """Return the body of a function with accesses of the old buffer replaced, with simplified indices."""
        domains = _domains_in(body)

        def moved(node: Node) -> Node | None:
            match node:
                case tir.BufferLoad() | tir.BufferStore() if node.buffer is self.old:
                    indices = map_indices(self.index_map, node.indices, domains)
                    self._check_vector(node, indices)
                    return replace(node, buffer=self.new, indices=indices)
                case tir.Block():
                    return self._declared(node)
                case _:
                    return None

        return program.rewrite(body, moved)

    def _check_vector(self, node: tir.BufferLoad | tir.BufferStore, indices: Sequence[tir.PrimExpr]) -> None:
        """Refuse an access of a vector that is not along the last dimension of the new buffer (E0544)."""
        vectors = [index for index in node.indices if is_vector(index.dtype)]
        others = [part for index in indices[:-1] for part in walk(index)]
        if vectors and (
            indices[-1] is not vectors[0]
            or any(isinstance(part, tir.PrimExpr) and is_vector(part.dtype) for part in others)
        ):
            raise OPAQUE.refuse(f"a vector of '{self.old.name}' is not along one dimension of the new layout")

    def _declared(self, block: tir.Block) -> tir.Block | None:
        """Return a block that declares the new buffer, which its body already accesses."""
        kept = [region for region in (*block.reads, *block.writes) if region.buffer is self.old]
        if not kept and all(alloc_buffer is not self.old for alloc_buffer in block.alloc_buffers):
            return None
        reads, writes, _ = detect_regions(block, (self.new,)) if kept else ((), (), ())
        return replace(
            block,
            reads=self._regions(block.reads, reads),
            writes=self._regions(block.writes, writes),
            alloc_buffers=tuple(
                [self.new if alloc_buffer is self.old else alloc_buffer for alloc_buffer in block.alloc_buffers]
            ),
        )

    def _regions(
        self, declared: tuple[tir.BufferRegion, ...], found: tuple[tir.BufferRegion, ...]
    ) -> tuple[tir.BufferRegion, ...]:
        (own,) = found or (full_region(self.new),)
        return tuple([own if region.buffer is self.old else region for region in declared])


class PaddingFiller(Struct, frozen=True):
    """Fills the positions of a new layout that belong to no element.

    They are filled in the nest that writes all elements if there is one, or else after the last write. If nothing is
    written, an assumption states that the caller has filled them.
    """

    relayout: Relayout
    inverse: Inverse
    value: tir.IndexMap

    def fill(self, program: Program, root: tir.Block) -> None:
        """Change the function with root block `root`."""
        old = self.relayout.old
        nests = [loop for loop in _loops_in(root) if self._is_traversal(loop)]
        for nest in nests:
            program.replace(nest, self._padded_nest(program, nest))
        if nests:
            return
        last = _last_write(root, old, ())
        if last is None:
            insert(program, Spot(root, before=root.body), self._assumption())
        else:
            insert(program, Spot(root, after=last), self._epilogue())

    # --- In the nest that writes all elements ----------------------------------------------------------------

    def _is_traversal(self, outermost: tir.For) -> bool:
        """Return whether a perfect nest visits all elements in order, and only writes the current one."""
        old = self.relayout.old
        loops = nest_of(outermost, len(old.shape))
        if len(loops) != len(old.shape):
            return False
        for loop, extent in zip(loops, old.shape, strict=True):
            is_plain = loop.kind is tir.ForKind.SERIAL and not loop.annotations
            if not (is_plain and structural_equal((loop.min, loop.extent), (make.const(0, loop.min.dtype), extent))):
                return False
        return self._writes_only(loops[-1].body, [loop.loop_var for loop in loops])

    def _writes_only(self, body: tir.Stmt, loops: _Vars) -> bool:
        """Return whether `body` contains only loops, blocks, and stores of the element at `loops`."""
        match body:
            case tir.BufferStore():
                return body.buffer is self.relayout.old and body.predicate is None and _are(body.indices, loops)
            case tir.For() if any(node in loops for end in (body.min, body.extent) for node in walk(end)):
                return False  # its range is undefined at padding positions
            case tir.SeqStmt() | tir.For():
                return all(self._writes_only(statement, loops) for statement in statements_in(body))
            case tir.BlockRealize():
                at = _iterators_at(body, loops)
                if at is None or not is_one(body.predicate) or body.block.alloc_buffers or body.block.match_buffers:
                    return False
                inits = () if body.block.init is None else (body.block.init,)
                return all(self._writes_only(stmt, at) for stmt in (*inits, body.block.body))
            case _:
                return False

    def _padded_nest(self, program: Program, outermost: tir.For) -> tir.Stmt:
        loops = nest_of(outermost, len(self.relayout.old.shape))
        places = self.inverse.places
        elements = dict(zip([loop.loop_var for loop in loops], self.inverse.elements, strict=True))
        body = self._padded(program, loops[-1].body, elements, dict(zip(places, places, strict=True)))
        trivia = joined(*[loop.trivia for loop in loops])
        program.became.update(dict.fromkeys(loops))
        nest = _nest(places, self.relayout.new.shape, body)
        return replace(nest, trivia=trivia)

    def _padded(
        self, program: Program, body: Any, elements: Mapping[tir.Var, tir.PrimExpr], at: Mapping[tir.Var, tir.Var]
    ) -> Any:
        """Return a statement of the nest for all positions.

        `elements` maps the old loop variables to the indices of the element at a position; `at` maps positions to the
        variables that denote them.
        """
        if isinstance(body, tir.BlockRealize):
            return self._padded_block(program, body, elements, at)
        if isinstance(body, tir.BufferStore):
            indices = tuple(at.values())
            (fill,) = map_indices(self.value, indices)
            own = substitute(self._of_element(body, indices), elements)
            value = make.if_then_else(substitute(self.inverse.padding, at), fill, own)
            return replace(body, buffer=self.relayout.new, indices=indices, value=value)
        if isinstance(body, tir.SeqStmt):
            return replace(body, seq=tuple([self._padded(program, stmt, elements, at) for stmt in body.seq]))
        result = replace(body, body=self._padded(program, body.body, elements, at))
        program.became[body] = result
        return result

    def _of_element(self, store: tir.BufferStore, indices: tuple[tir.PrimExpr, ...]) -> tir.PrimExpr:
        """Return the value of a store that becomes one at `indices`; an update reads the element that it replaces."""
        element = make.buffer_load(self.relayout.new, indices)

        def moved(node: Node) -> Node | None:
            if isinstance(node, tir.BufferLoad) and node.buffer is store.buffer and _are(node.indices, store.indices):
                return element
            return None

        return rewrite(store.value, moved)

    def _padded_block(
        self,
        program: Program,
        realize: tir.BlockRealize,
        elements: Mapping[tir.Var, tir.PrimExpr],
        at: Mapping[tir.Var, tir.Var],
    ) -> tir.BlockRealize:
        block, values = realize.block, tuple([substitute(iter_value, elements) for iter_value in realize.iter_values])
        axes = block.iter_vars
        start = next((index for index, iter_value in enumerate(realize.iter_values) if iter_value in elements), None)
        if start is not None:
            fresh = {place: replace(place, name=f"v_{place.name}") for place in at}
            new = [
                tir.IterVar(tir.Range(make.const(0, size.dtype), size), fresh[place], DATA_PAR)
                for place, size in zip(at, self.relayout.new.shape, strict=True)
            ]
            own = axes[start : start + len(elements)]
            inside = [substitute(element, fresh) for element in elements.values()]
            elements = dict(zip([axis.var for axis in own], inside, strict=True))
            axes = (*axes[:start], *new, *axes[start + len(own) :])
            values = (*values[:start], *at.values(), *values[start + len(own) :])
            at = fresh
        init = None if block.init is None else self._padded(program, block.init, elements, at)
        result = replace(
            block,
            iter_vars=axes,
            reads=tuple([substitute(read, elements) for read in block.reads]),
            init=init,
            body=self._padded(program, block.body, elements, at),
        )
        program.became[block] = result
        return replace(realize, iter_values=values, block=result)

    # --- In a block of its own -------------------------------------------------------------------------------

    def _epilogue(self) -> tir.Stmt:
        """Return a nest that writes the padding."""
        new, (axes, indices) = self.relayout.new, self._axes()
        store = tir.BufferStore(new, map_indices(self.value, indices)[0], indices)
        block = tir.Block(axes, (), (point(new, indices),), f"buffer_{new.name}_padding", store)
        return self._own_nest(tir.BlockRealize(self.inverse.places, self.inverse.padding, block))

    def _assumption(self) -> tir.Stmt:
        """Return a nest with assumptions on the values of the padding."""
        new, (axes, indices) = self.relayout.new, self._axes()
        padding = substitute(self.inverse.padding, dict(zip(self.inverse.places, indices, strict=True)))
        holds = make.equal(make.buffer_load(new, indices), map_indices(self.value, indices)[0])
        known = tir.Call("bool", Op("tir.assume"), (make.logical_or(make.logical_not(padding), holds),))
        name = f"buffer_{new.name}_assumptions"
        block = tir.Block(axes, (point(new, indices),), (), name, tir.Evaluate(known))
        return self._own_nest(tir.BlockRealize(self.inverse.places, _TRUE, block))

    def _axes(self) -> tuple[tuple[tir.IterVar, ...], tuple[tir.Var, ...]]:
        indices = tuple([replace(place, name=f"v_{place.name}") for place in self.inverse.places])
        axes = [
            tir.IterVar(tir.Range(make.const(0, size.dtype), size), index, DATA_PAR)
            for index, size in zip(indices, self.relayout.new.shape, strict=True)
        ]
        return tuple(axes), indices

    def _own_nest(self, realize: tir.BlockRealize) -> tir.Stmt:
        """Return a block in new loops over all positions."""
        own = {place: replace(place) for place in self.inverse.places}
        return substitute(_nest(self.inverse.places, self.relayout.new.shape, realize), own)


def _nest(variables: _Vars, extents: Sequence[tir.PrimExpr], body: tir.Stmt) -> tir.Stmt:
    for variable, extent in reversed(list(zip(variables, extents, strict=True))):
        body = tir.For(variable, make.const(0, variable.dtype), extent, tir.ForKind.SERIAL, body)
    return body


def _are(indices: Sequence[tir.PrimExpr], variables: Sequence[tir.PrimExpr]) -> bool:
    return len(indices) == len(variables) and all(a is b for a, b in zip(indices, variables, strict=True))


def _iterators_at(realize: tir.BlockRealize, loops: _Vars) -> _Vars | None:
    """Return the variables that denote `loops` inside a block, or None if there are none.

    They are the loop variables if no iterator is bound to them, or spatial iterators bound to them in the same order.
    """
    values, axes = realize.iter_values, realize.block.iter_vars
    using = [at for at, value in enumerate(values) if any(node in loops for node in walk(value))]
    if not using:
        return loops
    own = axes[using[0] : using[-1] + 1]
    if not _are([values[at] for at in using], loops) or len(own) != len(using):
        return None
    return [axis.var for axis in own] if all(axis.iter_type is DATA_PAR for axis in own) else None


def _loops_in(node: tir.Stmt) -> Iterator[tir.For]:
    if isinstance(node, tir.For):
        yield node
    for statement in statements_in(node):
        yield from _loops_in(statement)


def _last_write(node: tir.Stmt, buffer: tir.Buffer, around: tuple[tuple[tir.Stmt, frozenset[tir.Var]], ...]) -> Any:
    """Return the outermost loop that the index of the last store to a buffer depends on.

    Returns the innermost block around the store if the index depends on no loop, None if there is no store. `around`
    are the loops and blocks around `node`, each with the variables that depend on the loop.
    """
    match node:
        case tir.BufferStore() if node.buffer is buffer:
            used = {inner for index in node.indices for inner in walk(index) if isinstance(inner, tir.Var)}
            loops = [stmt for stmt, variables in around if isinstance(stmt, tir.For) and used & variables]
            blocks = [stmt for stmt, _ in around if isinstance(stmt, tir.BlockRealize)]
            return loops[0] if loops else (blocks or [node])[-1]
        case tir.For():
            around = (*around, (node, frozenset([node.loop_var])))
        case tir.BlockRealize():
            bound = bindings_of(node)
            grown = [
                (stmt, known | {axis for axis, value in bound.items() if any(part in known for part in walk(value))})
                for stmt, known in around
            ]
            around = (*grown, (node, frozenset()))
        case _:
            pass
    inits = (node.init,) if isinstance(node, tir.Block) and node.init is not None else ()
    for stmt in reversed((*inits, *statements_in(node))):
        found = _last_write(stmt, buffer, around)
        if found is not None:
            return found
    return None


def _domains_in(body: tir.Stmt) -> dict[tir.Var, tir.Range]:
    """Return the domains of all loops and iterators of a function."""
    found: dict[tir.Var, tir.Range] = {}
    for node in walk(body):
        if isinstance(node, tir.For):
            found[node.loop_var] = tir.Range(node.min, node.extent)
        elif isinstance(node, tir.IterVar) and node.dom is not None:
            found[node.var] = node.dom
    return found
