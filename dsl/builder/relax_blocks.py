"""Collects bindings into blocks, in TVM's normal form (TVM: `relax::BlockBuilder`, `Normalizer`).

In normal form every operand is a leaf or a tuple of leaves: a nested value is bound to its own variable.
Blocks are never empty, and adjacent blocks differ in kind.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
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
    """Return whether `value` can be an operand unchanged (so can a tuple of such values)."""
    return isinstance(value, _LEAVES)


def is_void(struct_info: StructInfo | None) -> bool:
    """Return whether this is the struct info of the empty tuple."""
    return isinstance(struct_info, relax.TupleStructInfo) and not struct_info.fields


def _read(var: relax.Var) -> relax.Expr:
    """Return a variable as an operand: the empty tuple if its struct info is that (TVM: `NormalizeArgument`)."""
    return relax.Tuple((), struct_info=var.struct_info, span=var.span) if is_void(var.struct_info) else var


class _Sequence(Struct):
    """The blocks of a function body or a branch built so far; `bindings` is the open block."""

    blocks: list[relax.BindingBlock] = []
    bindings: list[relax.Binding] = []
    dataflow: bool = False
    trivia: Trivia | None = None
    parts: list[tuple[str, Trivia]] = []

    def close(self) -> None:
        """End the open block: drop it if it is empty, join it to the previous block if both have the same kind."""
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
    """Collects the bindings of a function under construction."""

    def __init__(self, context: Context, taken: set[str]) -> None:
        """Create a builder; `taken` are the names in the text, which nested values must not get."""
        self.context = context
        self.attrs: Attrs = {}
        """The attributes of the function."""
        self.leaving = False
        """Whether nested values that are bound from now on are used after their dataflow block."""
        self.comments: list[str] = []
        """Comments of statements that bind nothing, for the next binding or the end of the block."""
        self.parts: list[tuple[str, Trivia]] = []
        """Comments of declarations such as `R.func_attr`, which are kept in the function."""
        self.bindings = 0
        """Number of bindings that were added."""
        self._taken = taken
        self._sequences: list[_Sequence] = []

    def reserve(self, names: Iterable[str]) -> None:
        """Keep nested values from getting one of `names`."""
        self._taken.update(names)

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
        """Drop the innermost sequence after a failure."""
        self._sequences.pop()

    @contextmanager
    def dataflow(self, trivia: Trivia | None) -> Generator[None]:
        """Collect the bindings inside into one dataflow block."""
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
        """Close the innermost sequence as a branch that returns its last binding; return None if it binds nothing.

        Return the last bound variable and the branch, in which its name gets `suffix` (TVM: `GetSeqExprForBranch`).
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
        """Keep the comments of a statement that bound nothing, together with its line if that is printed again."""
        sequence, key = self._sequences[-1], declaration_key(statement)
        if statement.trivia is not None and key is not None and (sequence.dataflow or len(self._sequences) == 1):
            own = self.parts if key == "return" or not sequence.dataflow else sequence.parts
            own.append((key, statement.trivia))
        else:
            self.comments.extend(comments_of(statement.trivia))

    def take_comments(self) -> tuple[str, ...]:
        """Return and clear the comments that wait for a binding."""
        taken = tuple(self.comments)
        self.comments.clear()
        return taken

    def inferred(self, value: ExprT) -> ExprT:
        """Return `value` with its struct info, inferred if it has none; raise Failed if the inference refuses it."""
        if value.struct_info is not None:
            return value
        try:
            return replace(value, struct_info=infer_struct_info(value))
        except TvmsError as error:
            raise self.context.report(error, value) from None

    def operand(self, value: relax.Expr) -> relax.Expr:
        """Return `value` as an operand; bind it to a new variable if it is neither a leaf nor a tuple of leaves."""
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
        """Return a variable for a nested value, with TVM's names: lv, lv1, … in a dataflow block, else gv, gv1, …"""
        stem = "lv" if self.in_dataflow else "gv"
        kind = relax.DataflowVar if self.in_dataflow and not self.leaving else relax.Var
        name, count = stem, 0
        while name in self._taken:
            count += 1
            name = f"{stem}{count}"
        self._taken.add(name)
        return kind(name, struct_info=value.struct_info, span=value.span)
