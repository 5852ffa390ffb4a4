"""Named preconditions of primitives, each with its error code and its remedy.

A primitive lists the conditions that it checks; its code raises `CONDITION.refuse(reason, *places)`. A condition has
one code, regardless of the primitive that checks it.
"""

from __future__ import annotations

from msgspec import Struct

from .. import tir


class Change(Struct, frozen=True):
    """What an exact remedy changes in a call: what is refused, or an `element` of the list that is.

    It becomes `text`, in which "{}" is what is written there, or it is left out if there is no text, or it becomes the name of
    `loop`. With `before`, a step is inserted instead, in which "{}" is the first argument of the call.
    """

    text: str = ""
    element: int | None = None
    loop: tir.For | None = None
    before: str = ""


class Refused(Exception):
    """Refusal of a primitive: the violated condition, the reason, and the loops and blocks that show it."""

    def __init__(
        self,
        condition: Condition,
        reason: str,
        places: tuple[tir.Stmt, ...],
        help: str,
        argument: str | None,
        position: int | None,
        element: int | None,
        change: Change | None,
    ) -> None:
        super().__init__(reason)
        self.condition, self.reason, self.places, self.help = condition, reason, places, help
        self.argument, self.position, self.element, self.change = argument, position, element, change
        self.at: int | str | None = None
        """The argument that does not fit the signature, as `BadArguments.at`."""


class Condition(Struct, frozen=True):
    """Precondition: the fact that must hold (`holds`, in the present tense), its code in `ir.codes`, and the remedy."""

    code: str
    holds: str
    remedy: str

    def refuse(
        self,
        reason: str,
        *places: tir.Stmt,
        help: str | None = None,
        argument: str | None = None,
        position: int | None = None,
        element: int | None = None,
        change: Change | None = None,
    ) -> Refused:
        """Return the exception to raise: `reason` says what is wrong and names the loop or block.

        The message points at the argument called `argument` (for a variadic one, the one at `position`; of a list, at
        `element`), or else at the argument whose value is the first of `places`. `change` does what the help says.
        """
        return Refused(self, reason, places, help or self.remedy, argument, position, element, change)


SIGNATURE = Condition(
    "E0105", "the arguments fit the signature", "see docs/schedules.md for the arguments of each primitive"
)
ARGUMENT = Condition(
    "E0501",
    "every argument has a value that the primitive accepts",
    "see docs/schedules.md for the arguments of each primitive",
)
EXISTS = Condition(
    "E0502", "the named block or function exists and is unique", "print the current program with sch.show()"
)
ALIVE = Condition("E0503", "the loop or block still exists", "get a new handle, as a primitive has replaced it")
PIPELINED = Condition(
    "E0588",
    "every loop that is annotated as a software pipeline can run as one",
    "unannotate the loop first, and annotate it again when its body is final",
)
RUNS_TO_THE_END = Condition(
    "E0590",
    "no loop of the function ends early",
    "use a condition instead of 'break' or 'continue'",
)
VISIBLE = Condition(
    "E0538", "every buffer is used where it is declared", "declare the buffer before all blocks of the function"
)
KNOB = Condition("E0594", "every knob is in its range", "choose a value in the range")
PLAIN_LOOP = Condition(
    "E0504", "the loop has no annotation and no thread binding", "do this before the loop is annotated or bound"
)
STARTS_AT_ZERO = Condition(
    "E0505", "the loop starts at 0", "let the loop start at 0, and add the offset to its variable"
)
ONE_INFERRED = Condition("E0506", "at most one factor is inferred", "give all factors but one")
POSITIVE = Condition("E0507", "every factor is positive", "give factors of at least 1")
NESTED = Condition("E0510", "each loop is the only child of the one before", "reorder the loops, or choose others")
IN_ORDER = Condition("E0534", "dependent iterations stay in order", "put the blocks into separate loops first")
INDEPENDENT_ITERATIONS = Condition(
    "E0524",
    "the loop is only in spatial iterators, or, if it is bound to threadIdx, in reductions of blocks without blocks or views in them",
    "split the reduction off with rfactor, or run another loop in parallel",
)
PLAIN_ITERATORS = Condition(
    "E0515", "every iterator of the block is spatial or a reduction", "leave the order of this block as it is"
)
AFFINE = Condition(
    "E0516",
    "the iterators of the block are bound to independent, quasi-affine values that cover their domains",
    "bind them to loop variables, or to splits and fusions of them",
)

STAGE_PIPELINE = Condition(
    "E0517",
    "the scope is a stage pipeline: blocks only read written elements, and no element is written after it is read",
    "compute the producers fully before they are read, and write each buffer once",
)
COMPLETE = Condition(
    "E0518",
    "the block is complete: its iterators are spatial, and it is the only writer of its output, which it does not read",
    "use it on a block that only computes new elements",
)
REDUCTION = Condition(
    "E0519",
    "the block is a reduction: it has T.init, affine bindings, spatial and reduction iterators, and no other block writes its output",
    "use it on a block with T.init",
)
COMPLETE_OR_REDUCTION = Condition(
    "E0520", "the block is complete or a reduction", "see tvms explain E0518 and tvms explain E0519"
)
COMPACT = Condition(
    "E0521", "every block under the loop is complete or a reduction", "do this before the block is decomposed"
)
NOT_OUTPUT = Condition(
    "E0522",
    "the block writes only buffers that its scope allocates",
    "cache_write it first, and use the block before the copy",
)
FIXED_DOMAINS = Condition(
    "E0589",
    "the block depends on the loops around it only through its bindings",
    "give the iterator a domain that holds for all iterations, such as T.axis.spatial(n, k)",
)
SINGLE_STORE = Condition(
    "E0542",
    "the block is a single store, without a predicate and without side effects",
    "write it as one store, or move it with compute_at or reverse_compute_at instead",
)
UNCONDITIONAL = Condition(
    "E0591",
    "there is no condition between the block and its loops",
    "move the condition into the block, or to T.where",
)
DISTINCT_WRITES = Condition(
    "E0592",
    "different iterations of the block write different elements",
    "use all iterators of the block in the indices of its store",
)
NOT_ROOT = Condition("E0523", "the block is not the root block", "choose a block inside of it")


def name_of(node: tir.Stmt) -> str:
    """Return the name of a loop or a block for messages."""
    if isinstance(node, tir.For):
        return f"loop '{node.loop_var.name}'"
    if isinstance(node, tir.BlockRealize):
        node = node.block
    return f"block '{node.name_hint}'" if isinstance(node, tir.Block) else "a statement outside of blocks"
