"""Builds the syntax tree: one method for each action that `tvms.lark` names, given the symbols of its alternative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from .. import syntax
from ..syntax import Expr, Stmt
from .comments import Comments
from .lexer import Problem, Token
from .literals import LiteralError, number, string
from .operators import resolve


class Tree:
    """The actions. What is wrong with a value or a target goes to `report`, and the tree goes on."""

    def __init__(self, comments: Comments, report: Callable[[Problem], None]) -> None:
        self.comments = comments
        self.report = report

    # --- Lists ------------------------------------------------------------------------------------------------

    def nothing(self) -> list[Any]:
        return []

    def absent(self) -> None:
        return None

    def first(self, item: Any) -> list[Any]:
        return [item]

    def more(self, items: list[Any], item: Any) -> list[Any]:
        items.append(item)
        return items

    def more_after_comma(self, items: list[Any], comma: Token, item: Any) -> list[Any]:
        items.append(item)
        return items

    append = more

    def pair(self, first: Any, second: Any) -> list[Any]:
        return [first, second]

    def second(self, first: Token, second: Any) -> Any:
        return second

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
        self, head: Token, name: Token, opening: Token, names: list[Token], *rest: Any
    ) -> syntax.Definition:
        """The names are those of symbolic sizes; annotations declare them anyway."""
        *_, parameters, returns, body = rest
        return self._definition(head, name, parameters, returns, body)

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
        if definition.head is not None:
            problem = "a decorator stands above a definition that is not a `def` or a `class`"
            self.report(Problem("E0016", problem, head.start, head.end, "remove the decorator"))
        trivia = self.comments.trivia(start)
        return replace(definition, start=start, head=head, decorated=True, trivia=trivia)

    def parameters(self, opening: Token, parameters: list[syntax.Param], *closing: Token) -> tuple[syntax.Param, ...]:
        return tuple(parameters)

    def no_parameters(self, opening: Token, closing: Token) -> tuple[syntax.Param, ...]:
        return ()

    def parameter(self, name: Token) -> syntax.Param:
        return syntax.Param(start=name.start, end=name.end, name=name.text, annotation=None)

    def annotated_parameter(self, name: Token, colon: Token, annotation: Expr) -> syntax.Param:
        return syntax.Param(start=name.start, end=annotation.end, name=name.text, annotation=annotation)

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
                case syntax.Starred() | syntax.Parenthesised():
                    parts.append(part.value)
                case _:
                    message = "nothing can be assigned to this expression"
                    self.report(Problem("E0015", message, part.start, part.end, "write a name on the left"))
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

    # --- Expressions ------------------------------------------------------------------------------------------

    def starred(self, star: Token, value: Expr) -> syntax.Starred:
        return syntax.Starred(start=star.start, end=value.end, value=value)

    def bare_tuple(self, elements: list[Expr], comma: Token, last: Expr | None = None) -> syntax.Tuple:
        if last is not None:
            elements.append(last)
        return syntax.Tuple(start=elements[0].start, end=(last or comma).end, elements=tuple(elements))

    def conditional(self, then: Expr, if_: Token, condition: Expr, else_: Token, otherwise: Expr) -> syntax.Conditional:
        return syntax.Conditional(
            start=then.start, end=otherwise.end, then=then, condition=condition, otherwise=otherwise
        )

    def lambda_expression(self, lambda_: Token, *rest: Any) -> syntax.Lambda:
        names: list[Token] = rest[0] if len(rest) == 3 else []
        body: Expr = rest[-1]
        params = tuple(self.parameter(name) for name in names)
        return syntax.Lambda(start=lambda_.start, end=body.end, params=params, body=body)

    def resolve(self, chain: list[Expr | Token]) -> Expr:
        return resolve(chain, self._misplaced_not)

    def _misplaced_not(self, token: Token, operator: str) -> None:
        message = f"`not` cannot stand directly after `{operator}`"
        self.report(Problem("E0008", message, token.start, token.end, "put parentheses around `not …`"))

    def attribute(self, value: Expr, dot: Token, name: Token) -> syntax.Attribute:
        return syntax.Attribute(start=value.start, end=name.end, value=value, attr=name.text)

    def call(self, func: Expr, opening: Token, *rest: Any) -> syntax.Call:
        *inner, closing = rest
        arguments: list[Expr | syntax.Keyword] = inner[0] if inner else []
        return syntax.Call(
            start=func.start,
            end=closing.end,
            func=func,
            args=tuple(self._positional(arguments)),
            keywords=tuple(argument for argument in arguments if isinstance(argument, syntax.Keyword)),
        )

    def _positional(self, arguments: list[Expr | syntax.Keyword]) -> list[Expr]:
        positional: list[Expr] = []
        keyword: syntax.Keyword | None = None
        for argument in arguments:
            if isinstance(argument, syntax.Keyword):
                keyword = argument
                continue
            if keyword is not None and not isinstance(argument, syntax.Starred):
                message = f"an argument without a name stands after `{keyword.name}=…`"
                help = "put arguments without names first"
                self.report(Problem("E0008", message, argument.start, argument.end, help))
            positional.append(argument)
        return positional

    def keyword(self, name: Token, equal: Token, value: Expr) -> syntax.Keyword:
        return syntax.Keyword(start=name.start, end=value.end, name=name.text, value=value)

    def subscript(self, value: Expr, opening: Token, indices: list[Expr], closing: Token) -> syntax.Subscript:
        match indices:
            case [syntax.Tuple(elements=())]:
                indices = []
            case _:
                pass
        return syntax.Subscript(start=value.start, end=closing.end, value=value, indices=tuple(indices))

    def subscript_with_comma(
        self, value: Expr, opening: Token, indices: list[Expr], comma: Token, closing: Token
    ) -> syntax.Subscript:
        return self.subscript(value, opening, indices, closing)

    def slice(
        self,
        lower: Expr | None,
        colon: Token,
        upper: Expr | None,
        second_colon: Token | None = None,
        step: Expr | None = None,
    ) -> syntax.Slice:
        end = (step or second_colon or upper or colon).end
        return syntax.Slice(start=(lower or colon).start, end=end, lower=lower, upper=upper, step=step)

    def name(self, token: Token) -> syntax.Name:
        return syntax.Name(start=token.start, end=token.end, id=token.text)

    def number(self, token: Token) -> syntax.Constant:
        value = self._value(token, number)
        return syntax.Constant(start=token.start, end=token.end, value=0 if value is None else value)

    def string(self, tokens: list[Token]) -> syntax.Constant:
        value = "".join(self._value(token, string) or "" for token in tokens)
        return syntax.Constant(start=tokens[0].start, end=tokens[-1].end, value=value)

    def _value(self, token: Token, read: Callable[[str], Any]) -> Any:
        try:
            return read(token.text)
        except LiteralError as error:
            start = token.start + error.start
            end = token.end if error.end is None else token.start + error.end
            self.report(Problem(error.code, error.message, start, end, error.help))
            return None

    def true(self, token: Token) -> syntax.Constant:
        return syntax.Constant(start=token.start, end=token.end, value=True)

    def false(self, token: Token) -> syntax.Constant:
        return syntax.Constant(start=token.start, end=token.end, value=False)

    def none(self, token: Token) -> syntax.Constant:
        return syntax.Constant(start=token.start, end=token.end, value=None)

    def ellipsis(self, token: Token) -> syntax.Constant:
        return syntax.Constant(start=token.start, end=token.end, value=...)

    def parenthesised(self, opening: Token, value: Expr, closing: Token) -> syntax.Parenthesised:
        return syntax.Parenthesised(start=opening.start, end=closing.end, value=value)

    def tuple_in_parentheses(self, opening: Token, *rest: Any) -> syntax.Tuple:
        elements, closing = _elements(rest)
        return syntax.Tuple(start=opening.start, end=closing.end, elements=elements)

    def list_display(self, opening: Token, *rest: Any) -> syntax.List:
        elements, closing = _elements(rest)
        return syntax.List(start=opening.start, end=closing.end, elements=elements)

    def dict_display(self, opening: Token, *rest: Any) -> syntax.Dict:
        *inner, closing = rest
        items: list[tuple[Expr, Expr]] = inner[0] if inner else []
        return syntax.Dict(
            start=opening.start,
            end=closing.end,
            keys=tuple(key for key, _ in items),
            values=tuple(value for _, value in items),
        )

    def item(self, key: Expr, colon: Token, value: Expr) -> tuple[Expr, Expr]:
        return key, value


def _elements(rest: tuple[Any, ...]) -> tuple[tuple[Expr, ...], Token]:
    """Split what follows an opening bracket, `[elements [, [last]]] closing`, into the elements and the closing one."""
    *elements, closing = rest
    first: list[Expr] = elements[0] if elements else []
    return (*first, *elements[2:]), closing
