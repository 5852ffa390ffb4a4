"""Builds the syntax tree: one method per action of `tvms.lark`, called with the symbols of its alternative."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from .. import syntax
from ..syntax import Expr, Stmt
from .expressions import ExpressionTree
from .lexer import Problem, Token


class Tree(ExpressionTree):
    """The actions for definitions and statements. An invalid target is reported to `report`."""

    # --- Definitions ------------------------------------------------------------------------------------------

    def module(self, head: Expr | Token, name: Token, body: list[Stmt]) -> syntax.Definition:
        return self._definition(head, name, None, None, body)

    def class_with_bases(self, head: Token, name: Token, opening: Token, *rest: Any) -> syntax.Definition:
        return self._definition(head, name, None, None, rest[-1])

    def function(
        self,
        head: Expr | Token,
        name: Token,
        parameters: tuple[syntax.Param, ...],
        returns: Expr | None,
        body: list[Stmt],
    ) -> syntax.Definition:
        return self._definition(head, name, parameters, returns, body)

    def generic_function(
        self, head: Token, name: Token, opening: Token, type_params: list[syntax.Param], *rest: Any
    ) -> syntax.Definition:
        *_, parameters, returns, body = rest
        return replace(self._definition(head, name, parameters, returns, body), type_params=tuple(type_params))

    def _definition(
        self,
        head: Expr | Token,
        name: Token,
        params: tuple[syntax.Param, ...] | None,
        returns: Expr | None,
        body: list[Stmt],
    ) -> syntax.Definition:
        return syntax.Definition(
            start=head.start,
            end=body[-1].end,
            head=None if isinstance(head, Token) else head,
            name=name.text,
            params=params,
            returns=returns,
            body=tuple(body),
            name_start=name.start,
            name_end=name.end,
            trivia=self.comments.trivia(head.start),
        )

    def decorator(self, at: Token, head: Expr, newline: Token) -> tuple[int, Expr]:
        return at.start, head

    def decorated(self, decorators: list[tuple[int, Expr]], definition: syntax.Definition) -> syntax.Definition:
        start, head = decorators[0][0], decorators[-1][1]
        if len(decorators) > 1:
            problem, (_, other) = "a definition can have only one decorator", decorators[0]
            self.report(Problem("E0016", problem, other.start, other.end, "keep the one that opens the definition"))
        if definition.head is not None:
            problem = "only a `def` or a `class` can have a decorator"
            self.report(Problem("E0016", problem, head.start, head.end, "remove the decorator"))
        trivia = self.comments.trivia(start)
        return replace(definition, start=start, head=head, decorated=True, trivia=trivia)

    def parameters(self, opening: Token, parameters: list[syntax.Param], *closing: Token) -> tuple[syntax.Param, ...]:
        return tuple(parameters)

    def no_parameters(self, opening: Token, closing: Token) -> tuple[syntax.Param, ...]:
        return ()

    def annotated_parameter(self, name: Token, colon: Token, annotation: Expr) -> syntax.Param:
        return syntax.Param(start=name.start, end=annotation.end, name=name.text, annotation=annotation)

    def default_parameter(self, name: Token, equals: Token, default: Expr) -> syntax.Param:
        return syntax.Param(start=name.start, end=default.end, name=name.text, annotation=None, default=default)

    def annotated_default_parameter(
        self, name: Token, colon: Token, annotation: Expr, equals: Token, default: Expr
    ) -> syntax.Param:
        return syntax.Param(start=name.start, end=default.end, name=name.text, annotation=annotation, default=default)

    # --- Compound statements ----------------------------------------------------------------------------------

    def line(self, statement: Stmt, newline: Token) -> Stmt:
        return statement

    def block(self, colon: Token, newline: Token, indent: Token, body: list[Stmt], dedent: Token) -> list[Stmt]:
        return body

    def line_block(self, colon: Token, statement: Stmt, newline: Token) -> list[Stmt]:
        return [statement]

    def context(self, value: Expr) -> tuple[Expr, Expr | None]:
        return value, None

    def context_as(self, value: Expr, as_: Token, target: Expr) -> tuple[Expr, Expr | None]:
        return value, self._target(target)

    def with_statement(self, with_: Token, contexts: list[tuple[Expr, Expr | None]], body: list[Stmt]) -> syntax.With:
        inner, end = tuple(body), body[-1].end
        for value, target in contexts[:0:-1]:
            inner = (syntax.With(start=value.start, end=end, context=value, target=target, body=inner),)
        value, target = contexts[0]
        trivia = self.comments.trivia(with_.start)
        return syntax.With(start=with_.start, end=end, context=value, target=target, body=inner, trivia=trivia)

    def for_statement(self, for_: Token, target: Expr, in_: Token, iterable: Expr, body: list[Stmt]) -> syntax.For:
        return syntax.For(
            start=for_.start,
            end=body[-1].end,
            target=self._target(target),
            iterable=iterable,
            body=tuple(body),
            trivia=self.comments.trivia(for_.start),
        )

    def while_statement(self, while_: Token, condition: Expr, body: list[Stmt]) -> syntax.While:
        trivia = self.comments.trivia(while_.start)
        return syntax.While(start=while_.start, end=body[-1].end, condition=condition, body=tuple(body), trivia=trivia)

    def if_statement(
        self, if_: Token, condition: Expr, body: list[Stmt], orelse: list[Stmt] | tuple[Token, list[Stmt]]
    ) -> syntax.If:
        else_starts: tuple[int, ...] = ()
        if isinstance(orelse, tuple):
            else_starts, orelse = (orelse[0].start,), orelse[1]
        return syntax.If(
            start=if_.start,
            end=(orelse or body)[-1].end,
            condition=condition,
            body=tuple(body),
            orelse=tuple(orelse),
            trivia=self.comments.trivia(if_.start, *else_starts),
        )

    def elif_branch(
        self, elif_: Token, condition: Expr, body: list[Stmt], orelse: list[Stmt] | tuple[Token, list[Stmt]]
    ) -> list[Stmt]:
        return [self.if_statement(elif_, condition, body, orelse)]

    def else_branch(self, else_: Token, body: list[Stmt]) -> tuple[Token, list[Stmt]]:
        return else_, body

    # --- Simple statements ------------------------------------------------------------------------------------

    def expression_statement(self, value: Expr) -> syntax.ExprStmt:
        trivia = self.comments.trivia(value.start)
        return syntax.ExprStmt(start=value.start, end=value.end, value=value, trivia=trivia)

    def assign(self, target: Expr, equal: Token, value: Expr) -> syntax.Assign:
        return syntax.Assign(
            start=target.start,
            end=value.end,
            target=self._target(target),
            value=value,
            trivia=self.comments.trivia(target.start),
        )

    def augmented_assign(self, target: Expr, op: Token, value: Expr) -> syntax.AugAssign:
        return syntax.AugAssign(
            start=target.start,
            end=value.end,
            target=self._target(target),
            op=op.text[:-1],
            value=value,
            trivia=self.comments.trivia(target.start),
        )

    def annotated_assign(
        self, target: Expr, colon: Token, annotation: Expr, equal: Token | None = None, value: Expr | None = None
    ) -> syntax.AnnAssign:
        return syntax.AnnAssign(
            start=target.start,
            end=(value or annotation).end,
            target=self._target(target),
            annotation=annotation,
            value=value,
            trivia=self.comments.trivia(target.start),
        )

    def _target(self, target: Expr) -> Expr:
        parts = [target]
        for part in parts:
            match part:
                case syntax.Name() | syntax.Attribute() | syntax.Subscript():
                    pass
                case syntax.Tuple() | syntax.List():
                    parts.extend(part.elements)
                case syntax.Starred():
                    parts.append(part.value)
                case _:
                    message = "cannot assign to this expression"
                    is_call = isinstance(part, syntax.Call)
                    help = "write an element with brackets: A[0]" if is_call else "write a name on the left"
                    self.report(Problem("E0015", message, part.start, part.end, help))
        return target

    def return_statement(self, return_: Token, value: Expr | None = None) -> syntax.Return:
        trivia = self.comments.trivia(return_.start)
        return syntax.Return(start=return_.start, end=(value or return_).end, value=value, trivia=trivia)

    def assert_statement(
        self, assert_: Token, condition: Expr, comma: Token | None = None, message: Expr | None = None
    ) -> syntax.Assert:
        return syntax.Assert(
            start=assert_.start,
            end=(message or condition).end,
            condition=condition,
            message=message,
            trivia=self.comments.trivia(assert_.start),
        )

    def pass_statement(self, pass_: Token) -> syntax.Pass:
        return syntax.Pass(start=pass_.start, end=pass_.end, trivia=self.comments.trivia(pass_.start))

    def dotted(self, name: Token) -> Token:
        return name

    def dotted_more(self, dotted: Token, dot: Token, name: Token) -> Token:
        return Token(dotted.start, name.end, f"{dotted.text}.{name.text}")

    def imported(self, dotted: Token, as_: Token | None = None, name: Token | None = None) -> tuple[Token, str]:
        return Token(dotted.start, (name or dotted).end, dotted.text), (name or dotted).text

    def import_statement(self, import_: Token, names: list[tuple[Token, str]]) -> syntax.Import:
        return self._import(import_, "", names, names[-1][0].end)

    def import_from(self, from_: Token, module: Token, import_: Token, names: list[tuple[Token, str]]) -> syntax.Import:
        return self._import(from_, module.text + ".", names, names[-1][0].end)

    def import_from_in_parentheses(
        self,
        from_: Token,
        module: Token,
        import_: Token,
        opening: Token,
        names: list[tuple[Token, str]],
        *closing: Token,
    ) -> syntax.Import:
        return self._import(from_, module.text + ".", names, closing[-1].end)

    def _import(self, first: Token, prefix: str, names: list[tuple[Token, str]], end: int) -> syntax.Import:
        bound = tuple((name, prefix + token.text) for token, name in names)
        return syntax.Import(start=first.start, end=end, names=bound, trivia=self.comments.trivia(first.start))
