"""Forms of Python and other languages that are not part of this one, and their replacements."""

from __future__ import annotations

from collections.abc import Callable

from .lexer import Problem, Token
from .place import HEAD, UnexpectedToken

STATEMENTS = {
    "async": "use `def`",
    "await": "call the function directly",
    "break": "move the condition into the loop, or use `while`",
    "case": "use `if` and `elif`",
    "continue": "move the rest of the loop's body under an `if`",
    "del": "remove it: names end with their block",
    "except": "check with `assert`",
    "finally": "check with `assert`",
    "global": "pass the value as a parameter",
    "match": "use `if` and `elif`",
    "nonlocal": "pass the value as a parameter",
    "raise": "check with `assert`",
    "try": "check with `assert`",
    "yield": "return the value",
}
SIGNS = {
    ":=": "assign on a line of its own",
    "&&": "write `and`",
    "||": "write `or`",
    "++": "write `+= 1`",
    "--": "write `-= 1`",
    "!": "write `not`",
    "?": "write `a if condition else b`",
    ";": "put each statement on a line of its own",
    "//": "begin a comment with `#`",
    "/*": "begin a comment with `#`",
    "@": "multiply tensors with R.matmul, elements in a loop",
}
_TYPES = frozenset(
    ("int", "float", "double", "half", "bool", "char", "long", "auto", "const", "unsigned", "size_t", "let", "var")
)
"""Words before a declared name in C and similar languages."""
PREFIXES = {"f": "an f-string", "b": "a bytes literal", "r": "a raw string", "u": "a string with a prefix"}


def foreign_form(place: UnexpectedToken) -> Problem | None:
    """Return the problem of a form that is not part of the language, if `place` is in one."""
    return next((problem for rule in RULES if (problem := rule(place))), None)


def _refuse(form: str, at: Token, help: str) -> Problem:
    return Problem("E0013", f"{form} is not part of the language", at.start, at.end, help)


def _statement(place: UnexpectedToken) -> Problem | None:
    kind, first = place.tokens[0]
    if kind == "NAME" and first.text in STATEMENTS and place.tokens[1][0] not in (".", "=", "[", ","):
        return _refuse(f"`{first.text}`", first, STATEMENTS[first.text])
    return None


def _sign(place: UnexpectedToken) -> Problem | None:
    """Refuse a foreign sign that starts at the token or up to two tokens before it."""
    starts = [token.start for _, token in place.tokens[max(0, place.index - 2) : place.index + 1]]
    for sign, help in SIGNS.items():
        if sign.startswith("/") and place.index:
            continue  # a division
        for start in starts if len(sign) == 2 else starts[-1:]:
            if place.text.startswith(sign, start):
                return _refuse(f"`{sign}`", Token(start, start + len(sign)), help)
    return None


def _prefixed_string(place: UnexpectedToken) -> Problem | None:
    prefix = place.previous
    if place.kind == "STRING" and prefix and prefix.end == place.token.start and not prefix.text.lower().strip("fbru"):
        return _refuse(PREFIXES[prefix.text[0].lower()], prefix, "write a plain string")
    return None


def _operator(place: UnexpectedToken) -> Problem | None:
    if place.token.text == "is":
        return _refuse("`is`", place.token, "compare with `==`")
    following = place.tokens[place.index + 1 : place.index + 2]
    if place.kind == "in" or (place.kind == "not" and following and following[0][0] == "in"):
        if place.tokens[0][0] == "for":
            return _refuse(
                "a second `in` of a loop", place.token, "write one loop over both: for i, j in T.grid(8, 8):"
            )
        return _refuse("`in` as an operator", place.token, "compare with `==`, joined by `or`")
    return None


def _in_brackets(place: UnexpectedToken) -> Problem | None:
    kind, token, opening = place.kind, place.token, place.opening
    if kind == "*" and place.previous and place.previous.text == "import":
        return _refuse("`import *`", token, "name what to import")
    if kind in ("*", "**") and HEAD.match(place.text, place.tokens[0][1].start):
        return _refuse("a parameter for any number of arguments", token, "name each parameter")
    if opening is None:
        return None
    if kind == "for" and place.previous and "\n" not in place.text[place.previous.end : token.start]:
        return _refuse("a comprehension", token, "write the elements out")
    if token.text == "**":
        return _refuse("`**` before an argument", token, "name each argument: `name=value`")
    if kind in (",", "}") and opening.text == "{" and ":" in place.expected:
        return _refuse("a set", opening, "write a list, or `key: value` pairs")
    return None


def _other_language(place: UnexpectedToken) -> Problem | None:
    """Refuse loops, bodies, branches and declarations in the syntax of C and similar languages."""
    kind, token, previous = place.kind, place.token, place.previous
    first = place.tokens[0][1]
    is_counting = kind == "=" and place.opening is None
    if first.text == "for" and (is_counting or (kind == "NAME" and place.opening is place.tokens[1][1])):
        return _refuse("a loop of this kind", Token(first.start, token.end), "write `for i in range(0, 16):`")
    if kind == "{" and place.token is place.tokens[1][1] and place.tokens[-2][1].text != "{":
        return _refuse("an index in `{…}`", token, f"write {first.text}[…]")
    if kind == "{" and ":" in place.expected:
        return _refuse("`{` around a body", token, "end the line with `:`, and indent the body")
    if first.text == "for" and kind == "NAME" and place.index == 2 and previous and previous.text in _TYPES:
        return _refuse(
            "a type before a name", Token(place.tokens[1][1].start, token.end), f"write for {token.text} in …"
        )
    if first.text == "for" and kind == "NUMBER" and token.text.startswith(".") and place.text[token.start - 1] == ".":
        low, high = place.previous.text.removesuffix(".") if place.previous else "0", token.text.lstrip(".")
        at = Token(place.previous.start if place.previous else token.start, token.end)
        return _refuse("a range in this form", at, f"write range({low}, {high})")
    if kind == "NAME" and previous and previous.text == ")" and previous.end == token.start and _is_cast(place):
        return _refuse("a cast in this form", Token(previous.start, previous.end), 'write T.Cast("float32", …)')
    if kind == "if" and previous and previous.text == "else" and previous is first:
        return _refuse("`else if`", Token(previous.start, token.end), "write `elif`")
    kinds = [name for name, _ in place.tokens[: place.index]]
    if kind == "=" and previous and kinds[-2:] == ["NAME", "NAME"] and {*kinds} <= {"NAME", "."}:
        help = f"write {previous.text} = …, or {previous.text}: T.float32 = …"
        return _refuse("a type before a name", Token(first.start, previous.end), help)
    return None


def _is_cast(place: UnexpectedToken) -> bool:
    """Return whether `(float)` is before the token."""
    before = place.tokens[max(0, place.index - 3) : place.index]
    return [kind for kind, _ in before] == ["(", "NAME", ")"]


def _declared_parameter(place: UnexpectedToken) -> Problem | None:
    """Refuse `float s` in a list of parameters, and `__shared__ float tile`."""
    previous = place.previous
    if place.kind != "NAME" or previous is None or place.tokens[place.index - 1][0] != "NAME":
        return None
    name, at = place.token.text, Token(previous.start, place.token.end)
    if previous.text in _TYPES and place.opening and HEAD.match(place.text, place.tokens[0][1].start):
        return _refuse("a type before a name", at, f"write {name}: T.float32")
    memory = {"__shared__": "shared", "__local__": "local"}.get(place.tokens[0][1].text)
    if memory:
        first = place.tokens[0][1]
        return _refuse(f"`{first.text}`", first, f'write {name} = T.alloc_{memory}((128,), "float32")')
    return None


def _element_by_point(place: UnexpectedToken) -> Problem | None:
    """Refuse `values.0`."""
    previous, element = place.previous, place.token.text.removeprefix(".")
    is_next = place.kind == "NUMBER" and previous is not None and previous.end == place.token.start
    if (
        not is_next
        or element == place.token.text
        or not element.isdigit()
        or place.tokens[place.index - 1][0] != "NAME"
    ):
        return None
    name = place.tokens[place.index - 1][1]
    return _refuse("an element in this form", Token(name.start, place.token.end), f"write {name.text}[{element}]")


def _chained_assignment(place: UnexpectedToken) -> Problem | None:
    earlier = place.tokens[: place.index]
    if (
        place.kind == "="
        and "BINARY" in place.expected
        and not place.opening
        and any(kind == "=" for kind, _ in earlier)
    ):
        return _refuse("a chained assignment", place.token, "write one assignment a line")
    return None


RULES: tuple[Callable[[UnexpectedToken], Problem | None], ...] = (
    _statement,
    _sign,
    _prefixed_string,
    _operator,
    _in_brackets,
    _other_language,
    _declared_parameter,
    _element_by_point,
    _chained_assignment,
)
