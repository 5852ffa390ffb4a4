"""The nests of blocks in the root block of a function, for composite steps: each step reads some and replaces them by a kernel."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise

from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Trivia
from ...ir.schedule.analysis.origins import with_origins
from ...ir.schedule.analysis.removal import comments_in
from ...ir.schedule.analysis.trivia import joined
from ...ir.schedule.conditions import EXISTS, Condition, name_of
from ...ir.schedule.program import Program
from ...ir.visit import walk
from ..lower.rewriter import sequence
from .epilogue import with_epilogue
from .nest import Declined, Nest, read_nest

APPLIES = Condition(
    "E0595", "the step applies to the block", "'tvms schedule FILE --default' prints the steps that apply to its blocks"
)


class Site:
    """Blocks of a function with the statements of the root block that contain them."""

    def __init__(self, program: Program, blocks: Sequence[tir.Block], is_consecutive: bool = True) -> None:
        """Find the statements of `blocks`; refused if two are in one statement, or they are not in order, or not consecutive."""
        if not blocks:
            raise APPLIES.refuse("it needs a block")
        self.program, self.blocks = program, blocks
        places = [self._place(block) for block in blocks]
        self.root, self.parts = places[0][0], [part for _, part in places]
        body = self.root.body
        self.all = body.seq if isinstance(body, tir.SeqStmt) else (body,)
        number = {part: place for place, part in enumerate(self.all)}
        for (one, first), (other, second) in pairwise(zip(blocks, self.parts, strict=True)):
            if number[second] != number[first] + 1 and (is_consecutive or number[second] <= number[first]):
                raise APPLIES.refuse(f"{name_of(other)} does not follow {name_of(one)} directly", other, one)

    def _place(self, block: tir.Block) -> tuple[tir.Block, tir.Stmt]:
        part: tir.Stmt | None = None
        for stmt in self.program.around(block):
            if isinstance(stmt, tir.Block):
                if part is None or self.program.scope_of(stmt) is not None:
                    break
                return stmt, part
            part = part if isinstance(stmt, tir.SeqStmt) else stmt
        raise APPLIES.refuse(f"{name_of(block)} is not directly in the root block", block)

    def nests(self) -> list[Nest]:
        """Return the nests of the blocks; refused if one is not a plain nest."""
        return [self._nest(part, block) for part, block in zip(self.parts, self.blocks, strict=True)]

    def _nest(self, part: tir.Stmt, block: tir.Block) -> Nest:
        try:
            return nest_at(self.program, part)
        except Declined as problem:
            raise APPLIES.refuse(str(problem), block) from None

    def with_epilogue(self) -> Nest:
        """Return the nest of the first block, with the other blocks as its epilogue; refused if they are none."""
        together, *following = self.nests()
        owned = self.owned({nest.store.buffer for nest in (together, *following)}) if following else set[tir.Buffer]()
        for block, nest in zip(self.blocks[1:], following, strict=True):
            joined_nest = with_epilogue(together, nest, owned)
            if joined_nest is None:
                raise APPLIES.refuse(f"{name_of(block)} is not an element-wise epilogue of the product", block)
            together = joined_nest
        return together

    def owned(self, buffers: set[tir.Buffer]) -> set[tir.Buffer]:
        """Return which of `buffers` the root block allocates and no statement accesses but those of the blocks."""
        own, members = buffers & set(self.root.alloc_buffers), set(self.parts)
        for part in self.all if own else ():
            if part not in members:
                used = memory_in(self.program, part)
                own = {buffer for buffer in own if buffer.data not in used}
        return own

    def build(self, kernel: Callable[[], tir.Stmt]) -> tir.Stmt:
        """Return the kernel; refused if it is declined."""
        try:
            return kernel()
        except Declined as problem:
            raise APPLIES.refuse(str(problem), self.blocks[0]) from None

    def replace(self, kernel: tir.Stmt, unused: Collection[tir.Buffer] = ()) -> None:
        """Replace the statements of the blocks by `kernel`, without those of the allocations `unused` that it does not access.

        Comments move above the kernel.
        """
        used = _memory(kernel) if unused else frozenset[tir.Var]()
        comments = tuple([comment for part in self.parts for comment in comments_in(part)])
        members = set(self.parts[1:])
        kernel = with_origins(kernel, self.parts)
        kernel = _below(comments, kernel) if comments else kernel
        kept = [kernel if part is self.parts[0] else part for part in self.all if part not in members]
        self.rebuild(kept, {buffer for buffer in unused if buffer.data not in used})

    def rebuild(self, parts: Sequence[tir.Stmt], gone: set[tir.Buffer]) -> None:
        """Let the root block consist of `parts`, without the allocations `gone`."""
        buffers = tuple([buffer for buffer in self.root.alloc_buffers if buffer not in gone])
        self.program.replace(self.root, replace(self.root, body=sequence(parts), alloc_buffers=buffers))


def _below(comments: tuple[str, ...], kernel: tir.Stmt) -> tir.Stmt:
    """Return `kernel` with comments above its first statement."""
    if isinstance(kernel, tir.SeqStmt):
        return replace(kernel, seq=(_below(comments, kernel.seq[0]), *kernel.seq[1:]))
    return replace(kernel, trivia=joined(Trivia(comments), kernel.trivia))


def nest_at(program: Program, part: tir.Stmt) -> Nest:
    """Return the nest of a statement of the program; Declined if it is none."""
    found = program.note(part, "nest", _nest_or_reason)
    if isinstance(found, str):
        raise Declined(found)
    return found


def nest_of(program: Program, block: tir.Block) -> Nest:
    """Return the nest of a block directly in the root block; Declined if it is none."""
    return nest_at(program, Site(program, [block]).parts[0])


def _nest_or_reason(part: tir.Stmt) -> Nest | str:
    try:
        return read_nest(part)
    except Declined as problem:
        return str(problem)


def memory_in(program: Program, part: tir.Stmt) -> frozenset[tir.Var]:
    """Return the memory that a statement of the program accesses, by buffers or by pointers, as asynchronous copies do."""
    return program.note(part, "memory", _memory)


def _memory(part: tir.Stmt) -> frozenset[tir.Var]:
    pointers = (node for node in walk(part) if isinstance(node, tir.Var) and node.dtype == "handle")
    return frozenset([*pointers, *(node.data for node in walk(part) if isinstance(node, tir.Buffer))])


def working_function(program: Program) -> tuple[str, tir.PrimFunc]:
    """Return the function that names of blocks refer to; refused if it is ambiguous."""
    name = program.working_on
    function = None if name is None else program.module.functions[name]
    if name is None or not isinstance(function, tir.PrimFunc):
        raise EXISTS.refuse("no function was chosen with work_on")
    return name, function
