"""Patterns that match together in a dataflow block, with constraints on uses (TVM: `PatternContext`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar, Token
from copy import copy
from typing import Any, Protocol

from msgspec import Struct

from .. import relax
from ..diagnostics import error
from ..ops.dims import is_equal
from ..ops.inference import dims_of
from ..spelling import newer_names
from ..visit import walk


class Pattern(Protocol):
    """What a context needs of `DFPattern`."""

    def parts(self) -> Iterator[Pattern]: ...

    def extract_matched_expr(
        self, expr: relax.Expr, var2val: Mapping[relax.Var, relax.Expr] | None = None
    ) -> Mapping[Any, relax.Expr] | None: ...


Match = Mapping[Pattern, relax.Var]


class Use(Struct, frozen=True, eq=False):
    """Constraint that `user` uses `source`, as its operand number `index` unless that is -1."""

    source: Pattern
    user: Pattern
    index: int
    is_only: bool
    """Whether the user must be the only one in the block."""


class PatternContext:
    """Collects constraints between patterns in a `with` statement, and finds values of a block that satisfy them."""

    def __init__(self, incremental: bool = False) -> None:
        """With `incremental`, the constraints of the active context also hold in this one."""
        outer = _current.get() if incremental else None
        self.uses: list[Use] = list(outer.uses) if outer else []
        self.calls: list[Pattern] = list(outer.calls) if outer else []
        """Call patterns created in the `with` statement. Unless they are parts of others, they must match as well."""
        self.same_shapes: list[tuple[Pattern, ...]] = list(outer.same_shapes) if outer else []
        """Patterns that must match tensors of the same shape."""
        self._tokens: list[Token[PatternContext | None]] = []

    @staticmethod
    def add_call(pattern: Pattern) -> None:
        """Register `pattern` with the innermost active context, if there is one."""
        context = _current.get()
        if context is not None:
            context.calls.append(pattern)

    @staticmethod
    def current() -> PatternContext:
        """Return the innermost active context. Raises TvmsError E0911 if there is none."""
        context = _current.get()
        if context is None:
            raise error(
                "E0911",
                "constraints between patterns need an active PatternContext",
                help="put the patterns into `with PatternContext() as ctx:`",
            )
        return context

    def __enter__(self) -> PatternContext:
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        _current.reset(self._tokens.pop())

    @newer_names(dfb="block")
    def match_dfb(self, block: relax.DataflowBlock) -> dict[Pattern, relax.Var] | None:
        """Return a variable for each pattern and nested pattern such that all uses hold, or None if none match."""
        return _Search(self, self._patterns(), block).found({}, 0)

    def _patterns(self) -> list[Pattern]:
        """Return the patterns with constraints, and the calls that are not part of another pattern."""
        joined = [pattern for use in self.uses for pattern in (use.source, use.user)]
        held = {part for pattern in (*joined, *self.calls) for part in pattern.parts()}
        return list(dict.fromkeys([*joined, *(call for call in self.calls if call not in held)]))


_current: ContextVar[PatternContext | None] = ContextVar("pattern context", default=None)


class PatternSequence:
    """Chain of patterns, each used by the next: in `a ^ b` other uses of `a` are allowed, in `a >> b` they are not."""

    def __init__(self, patterns: Sequence[Pattern], uses: Sequence[Use] = ()) -> None:
        self.patterns, self._uses = list(patterns), list(uses)

    def used_by(self, other: Pattern | PatternSequence, index: int = -1) -> PatternSequence:
        """Require that `other` uses the last pattern, as its operand number `index` unless that is -1."""
        return self._join(other, index, is_only=False)

    def only_used_by(self, other: Pattern | PatternSequence, index: int = -1) -> PatternSequence:
        """Require that `other` uses the last pattern and is its only user."""
        return self._join(other, index, is_only=True)

    def __xor__(self, other: Pattern | PatternSequence) -> PatternSequence:
        return self.used_by(other)

    def __rshift__(self, other: Pattern | PatternSequence) -> PatternSequence:
        return self.only_used_by(other)

    def dup(self) -> PatternSequence:
        """Return a copy of this sequence with new patterns and the same constraints."""
        new = {pattern: copy(pattern) for pattern in self.patterns}
        uses = [Use(new[use.source], new[use.user], use.index, use.is_only) for use in self._uses]
        PatternContext.current().uses.extend(uses)
        return PatternSequence(list(new.values()), uses)

    def _join(self, other: Pattern | PatternSequence, index: int, is_only: bool) -> PatternSequence:
        after = other if isinstance(other, PatternSequence) else PatternSequence([other])
        use = Use(self.patterns[-1], after.patterns[0], index, is_only)
        PatternContext.current().uses.append(use)
        return PatternSequence([*self.patterns, *after.patterns], [*self._uses, use, *after._uses])


class _Search:
    """Backtracking search for the variables of a block that match the patterns."""

    def __init__(self, context: PatternContext, patterns: Sequence[Pattern], block: relax.DataflowBlock) -> None:
        self._uses, self._same_shapes, self._patterns = context.uses, context.same_shapes, patterns
        self._values = {binding.var: binding.value for binding in block.bindings}
        self._bound = {binding.value: binding.var for binding in block.bindings}
        self._used = {
            var: [node for node in walk(value) if isinstance(node, relax.Var)] for var, value in self._values.items()
        }
        self._candidates = list(dict.fromkeys([*(var for used in self._used.values() for var in used), *self._values]))

    def found(self, known: dict[Pattern, relax.Var], place: int) -> dict[Pattern, relax.Var] | None:
        """Return `known` extended by variables for the patterns from index `place` on, or None."""
        if place == len(self._patterns):
            return known
        pattern = self._patterns[place]
        for var in self._candidates:
            parts = pattern.extract_matched_expr(var, self._values)
            if parts is None:
                continue
            more = {part: variable for part, expr in parts.items() if (variable := self._variable(expr)) is not None}
            more[pattern] = var
            if all(known.get(part, variable) is variable for part, variable in more.items()) and self._holds(
                {**known, **more}
            ):
                result = self.found({**known, **more}, place + 1)
                if result is not None:
                    return result
        return None

    def _variable(self, expr: object) -> relax.Var | None:
        return expr if isinstance(expr, relax.Var) else self._bound.get(expr)  # type: ignore[reportArgumentType]

    def _holds(self, found: Match) -> bool:
        """Return whether the uses between patterns matched so far hold, and no variable matches two of the patterns."""
        roots = [found[pattern] for pattern in self._patterns if pattern in found]
        return (
            len(set(roots)) == len(roots)
            and all(
                self._is_use(found[use.source], found[use.user], use)
                for use in self._uses
                if use.source in found and use.user in found
            )
            and all(_have_same_shape([found[part] for part in parts if part in found]) for parts in self._same_shapes)
        )

    def _is_use(self, source: relax.Var, user: relax.Var, use: Use) -> bool:
        used = self._used.get(user, [])
        is_there = source in used if use.index == -1 else use.index < len(used) and used[use.index] is source
        users = [var for var, variables in self._used.items() if source in variables]
        return is_there and (not use.is_only or users == [user])


def _have_same_shape(variables: Sequence[relax.Var]) -> bool:
    """Return whether all are tensors with the same known shape; true if there are none."""
    infos = [var.struct_info for var in variables]
    shapes = [dims_of(info) if isinstance(info, relax.TensorStructInfo) else None for info in infos]
    return all(
        shape is not None and first is not None and len(shape) == len(first) and all(map(is_equal, shape, first))
        for first, shape in zip(shapes[:1] * len(shapes), shapes, strict=True)
    )
