"""Bindings gathered into blocks, in TVM's normal form (TVM: `relax::BlockBuilder`, `Normalizer`).

In normal form every operand is a leaf or a tuple of leaves: what is nested is bound to a variable of its own.
Blocks are never empty, and neighbours of one kind are one block.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ...ir import relax
from ...ir.base import Attrs, GlobalVar, StructInfo, Trivia
from ...ir.diagnostics import TvmsError
from ...ir.infer import infer_struct_info
from .. import syntax
from ..comments import comments_of, with_comments
from ..declarations import declaration_key
from .context import Context

_LEAVES = (
    relax.Var, relax.Constant, relax.ShapeExpr, relax.PrimValue, relax.StringImm, relax.DataTypeImm, relax.ExternFunc,
    GlobalVar,
)  # fmt: skip

ExprT = TypeVar("ExprT", bound=relax.Expr)


def is_leaf(value: relax.Expr) -> bool:
    """Whether `value` may stand as an operand as it is (a tuple may, too, if its fields may)."""
    return isinstance(value, _LEAVES)


def is_void(struct_info: StructInfo | None) -> bool:
    """Whether this is said of a value that holds nothing: the empty tuple."""
    return isinstance(struct_info, relax.TupleStructInfo) and not struct_info.fields


def _read(var: relax.Var) -> relax.Expr:
    """Return what a variable is as an operand: one of nothing is the empty tuple (TVM: `NormalizeArgument`)."""
    return relax.Tuple((), struct_info=var.struct_info, span=var.span) if is_void(var.struct_info) else var


class _Sequence(Struct):
    """The blocks of a function body or a branch, as far as they are built; `bindings` is the open block."""

    blocks: list[relax.BindingBlock] = []
    bindings: list[relax.Binding] = []
    dataflow: bool = False
    trivia: Trivia | None = None
    parts: list[tuple[str, Trivia]] = []

    def close(self) -> None:
        """End the open block: drop it where it is empty, join it to the one before where both are of one kind."""
        kind = relax.DataflowBlock if self.dataflow else relax.BindingBlock
        if self.bindings:
            last = self.blocks[-1] if self.blocks else None
            if last is not None and type(last) is kind:
                first, *more = self.bindings
                first = replace(first, trivia=with_comments(first.trivia, comments_of(self.trivia)))
                self.blocks[-1] = replace(last, bindings=(*last.bindings, first, *more))
            else:
                self.blocks.append(kind(tuple(self.bindings), trivia=self.trivia))
        self.bindings, self.dataflow, self.trivia, self.parts = [], False, None, []


def _var_of(binding: relax.Binding) -> relax.Var:
    assert isinstance(binding, relax.VarBinding | relax.MatchCast)
    return binding.var


class BlockBuilder:
    """Where bindings go while a function is built."""

    def __init__(self, context: Context, taken: set[str]) -> None:
        """`taken` are the names that the text uses: no nested value is bound to one of them."""
        self.context = context
        self.attrs: Attrs = {}
        """The attributes of the function."""
        self.leaving = False
        """Whether nested values that are bound from now on are used after their dataflow block."""
        self.comments: list[str] = []
        """Comments of statements that bind nothing: the next binding, or the end of the block, takes them."""
        self.parts: list[tuple[str, Trivia]] = []
        """Comments of declarations, such as `R.func_attr`, which the function takes."""
        self.bindings = 0
        """How many bindings were added."""
        self._taken = taken
        self._sequences: list[_Sequence] = []

    @property
    def in_dataflow(self) -> bool:
        """Whether the open block is a dataflow block."""
        return self._sequences[-1].dataflow

    def begin(self) -> None:
        """Open the sequence of a function body or a branch."""
        self._sequences.append(_Sequence())

    def end(self, body: relax.Expr) -> relax.SeqExpr:
        """Close the innermost sequence, with `body` as its value."""
        body = self.operand(body)
        sequence = self._sequences.pop()
        sequence.close()
        return relax.SeqExpr(tuple(sequence.blocks), body, struct_info=body.struct_info, span=body.span)

    def discard(self) -> None:
        """Drop the innermost sequence, which failed."""
        self._sequences.pop()

    @contextmanager
    def dataflow(self, trivia: Trivia | None) -> Generator[None]:
        """Put what is bound inside into one dataflow block."""
        sequence = self._sequences[-1]
        sequence.close()
        sequence.dataflow, sequence.trivia = True, trivia
        try:
            yield
        finally:
            sequence.trivia = with_comments(sequence.trivia, end=self.take_comments(), parts=sequence.parts)
            if not sequence.bindings:
                self.comments.extend(comments_of(sequence.trivia))
            sequence.close()

    def end_branch(self, suffix: str) -> tuple[relax.Var, relax.SeqExpr] | None:
        """Close the innermost sequence as a branch whose value is what it binds last; None where it binds nothing.

        Return the variable bound last, and the branch; there the variable's name gets `suffix` (TVM: `GetSeqExprForBranch`).
        """
        sequence = self._sequences.pop()
        sequence.close()
        if not sequence.blocks:
            return None
        *blocks, last = sequence.blocks
        *bindings, binding = last.bindings
        var = _var_of(binding)
        value = binding.value if isinstance(binding, relax.VarBinding) else None
        if value is not None and (is_leaf(value) or isinstance(value, relax.Tuple)):
            body = value
            self.comments.extend(comments_of(binding.trivia))
        else:
            renamed = replace(var, name_hint=var.name_hint + suffix)
            bindings.append(replace(binding, var=renamed))
            body = _read(renamed)
        if bindings:
            blocks.append(replace(last, bindings=tuple(bindings)))
        return var, relax.SeqExpr(tuple(blocks), body, struct_info=body.struct_info, span=body.span)

    def append(self, binding: relax.Binding) -> None:
        """Add `binding`, whose value is in normal form, to the open block."""
        if self.comments:
            binding = replace(binding, trivia=with_comments(binding.trivia, self.take_comments()))
        self.bindings += 1
        self._sequences[-1].bindings.append(binding)

    def keep_comments(self, statement: syntax.Stmt) -> None:
        """Keep the comments of a statement that bound nothing, with its line where that is printed again."""
        sequence, key = self._sequences[-1], declaration_key(statement)
        if statement.trivia is not None and key is not None and (sequence.dataflow or len(self._sequences) == 1):
            own = self.parts if key == "return" or not sequence.dataflow else sequence.parts
            own.append((key, statement.trivia))
        else:
            self.comments.extend(comments_of(statement.trivia))

    def take_comments(self) -> tuple[str, ...]:
        """Return the comments that wait for a binding, which now have their place."""
        taken = tuple(self.comments)
        self.comments.clear()
        return taken

    def inferred(self, value: ExprT) -> ExprT:
        """Return `value` with its struct info: its own, or what is inferred; Failed where it has no meaning."""
        if value.struct_info is not None:
            return value
        try:
            return replace(value, struct_info=infer_struct_info(value))
        except TvmsError as error:
            raise self.context.report(error, value) from None

    def operand(self, value: relax.Expr) -> relax.Expr:
        """Return `value` as an operand: bound to a new variable where it is neither a leaf nor a tuple of leaves."""
        if isinstance(value, relax.Var) and is_void(value.struct_info):
            return _read(value)
        if is_leaf(value):
            return self.inferred(value)
        if isinstance(value, relax.Tuple):
            fields = tuple(self.operand(field) for field in value.fields)
            return self.inferred(replace(value, fields=fields, struct_info=None))
        value = self.inferred(value)
        var = self.fresh_var(value)
        self.append(relax.VarBinding(var, value, span=value.span))
        return _read(var)

    def fresh_var(self, value: relax.Expr) -> relax.Var:
        """Return a variable for a nested value, named as TVM does: lv, lv1, … in dataflow, else gv, gv1, …"""
        stem = "lv" if self.in_dataflow else "gv"
        kind = relax.DataflowVar if self.in_dataflow and not self.leaving else relax.Var
        name, count = stem, 0
        while name in self._taken:
            count += 1
            name = f"{stem}{count}"
        self._taken.add(name)
        return kind(name, struct_info=value.struct_info, span=value.span)
