"""What is said of a token that does not fit, in people's words, and where to read on after it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .lexer import Problem, Token

CLOSING = {"(": ")", "[": "]", "{": "}"}
HEAD = re.compile(r"(?:def|class|[\w.]+(?:\([^()\n]*\))?)[ \t]+(\w+)[ \t]*[(\[:]")
STATEMENT = frozenset({"with", "def", "class", "return", "assert", "while", "pass", "import", "from"})
PREFIXES = {"f": "f-strings", "b": "bytes", "r": "raw strings", "u": "string prefixes"}
PYTHON = {
    "async": "use `def`",
    "await": "call the function directly",
    "break": "put the condition into the loop, or use `while`",
    "case": "use `if` and `elif`",
    "continue": "put the rest of the loop's body under an `if`",
    "del": "names end with their block",
    "except": "check with `assert`",
    "finally": "check with `assert`",
    "global": "pass the value as a parameter",
    "match": "use `if` and `elif`",
    "nonlocal": "pass the value as a parameter",
    "raise": "check with `assert`",
    "try": "check with `assert`",
    "yield": "return the value",
}
"""First words of Python's statements that are not part of the language, and what to do instead."""
WORDS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a string",
    "NEWLINE": "the end of the line",
    "INDENT": "an indented block",
    "DEDENT": "the end of the block",
    "$END": "the end of the text",
}
LOOKALIKES = {
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
    "（": "(",
    "）": ")",
    "，": ",",
    "：": ":",
    "\u00a0": " ",
    "×": "*",
}

Tokens = list[tuple[str, Token]]


def head_name(text: str, first: Token) -> Iterator[str]:
    """Yield the name that a line left out would have defined."""
    match = HEAD.match(text, first.start)
    if match:
        yield match[1]


def missing_body(colon: Token) -> Problem:
    """Return the problem of a head that no indented block follows."""
    message = "an indented block must follow this line"
    return Problem("E0014", message, colon.start, colon.end, "write its body, or `pass`")


def unexpected_indent(indent: Token) -> Problem:
    """Return the problem of a line that is indented for no reason."""
    message = "this line is indented, but nothing above it opens a block"
    return Problem("E0007", message, indent.start, indent.end, "indent it as the line above")


def undecorated(decorator: Token) -> Problem:
    """Return the problem of a decorator that no definition follows."""
    message = "no `def` or `class` follows this decorator"
    return Problem("E0016", message, decorator.start, decorator.end, "decorate a `def` or a `class`, or remove it")


def unexpected(text: str, tokens: Tokens, index: int, expected: set[str], decorator: Token | None) -> Problem:
    """Return what is wrong with `tokens[index]`, where one of the kinds `expected` had to be."""
    kind, token = tokens[index]
    opened = _opened(tokens[:index])
    if kind == "INVALID":
        return _character(text, token)
    return (
        _python_form(text, tokens, index, opened)
        or _equal_sign(text, tokens, index, opened, expected)
        or _bracket(tokens, index, opened)
        or _expected(tokens, index, opened, expected, decorator)
    )


def _opened(tokens: Tokens) -> list[Token]:
    """Return the brackets that are open after `tokens`."""
    opened: list[Token] = []
    for kind, token in tokens:
        if kind in CLOSING:
            opened.append(token)
        elif opened and kind in CLOSING.values():
            opened.pop()
    return opened


def _character(text: str, token: Token) -> Problem:
    character = token.text
    if character in "\"'":
        triple = text.startswith(character * 3, token.start)
        end = text.find("\n", token.start)
        quotes = character * 3 if triple else character
        where = "" if triple else " on its line"
        return Problem("E0006", f"this string is not closed{where}", token.start, end, f"close it with {quotes}")
    start, end = token.start, token.end
    if character == ";":
        return Problem("E0013", "semicolons are not part of the language", start, end, "put each statement on a line")
    if character == "\\":
        message = "a backslash continues a line only as its last character"
        return Problem("E0005", message, start, end, "remove what follows it, or the backslash")
    if character in LOOKALIKES:
        help = f"write {LOOKALIKES[character]!r}"
        return Problem("E0005", f"the character {character!r} looks like another one", start, end, help)
    shown = repr(character) if character.isprintable() else f"U+{ord(character):04X}"
    return Problem("E0005", f"the character {shown} is not part of the language", start, end)


def _python_form(text: str, tokens: Tokens, index: int, opened: list[Token]) -> Problem | None:
    kind, token = tokens[index]
    first_kind, first = tokens[0]

    def refuse(form: str, at: Token, help: str) -> Problem:
        return Problem("E0013", f"{form} not part of the language", at.start, at.end, help)

    if first_kind == "NAME" and first.text in PYTHON and tokens[1][0] not in (".", "=", "[", ","):
        return refuse(f"`{first.text}` is", first, PYTHON[first.text])
    previous = tokens[index - 1][1] if index else None
    if kind == "STRING" and previous and previous.end == token.start and previous.text.lower().strip("fbru") == "":
        form = PREFIXES[previous.text[0].lower()]
        return refuse(f"{form} are", previous, "write a plain string")
    if token.text == "is":
        return refuse("`is` is", token, "compare with `==`")
    if kind == "in" or (kind == "not" and tokens[index + 1][0] == "in"):
        return refuse("`in` as an operator is", token, "compare with `==`, joined by `or`")
    if kind == "for" and opened:
        return refuse("comprehensions are", token, "write the elements out")
    if text.startswith(":=", token.start - (kind == "=")):
        return refuse(
            "`:=` is", Token(token.start - (kind == "="), token.start + (kind != "=") + 1), "assign on a line before"
        )
    if kind == "else" and first_kind in ("for", "while"):
        return refuse("`else` after a loop is", token, "put it after the loop")
    if token.text == "**" and opened:
        return refuse("`**` before an argument is", token, "name each argument: `name=value`")
    return None


def _equal_sign(text: str, tokens: Tokens, index: int, opened: list[Token], expected: set[str]) -> Problem | None:
    kind, token = tokens[index]
    if kind != "=" or not expected & {"BINARY", ")"}:
        return None
    if not opened and any(earlier == "=" for earlier, _ in tokens[:index]):
        message = "chained assignments are not part of the language"
        return Problem("E0013", message, token.start, token.end, "write one assignment a line")
    if len(opened) == 1 and HEAD.match(text, tokens[0][1].start):
        message = "default values of parameters are not part of the language"
        return Problem("E0013", message, token.start, token.end, "pass the value in every call")
    return Problem(
        "E0008", "`=` assigns, and no name to assign to stands here", token.start, token.end, "compare with `==`"
    )


def _bracket(tokens: Tokens, index: int, opened: list[Token]) -> Problem | None:
    kind, token = tokens[index]
    if kind in CLOSING.values():
        if not opened:
            return Problem("E0009", f"'{kind}' closes nothing", token.start, token.end, "remove it")
        opening = opened[-1]
        if CLOSING[opening.text] != kind:
            message = f"'{kind}' does not match '{opening.text}'"
            help = f"write '{CLOSING[opening.text]}'"
            return Problem("E0009", message, token.start, token.end, help, (("opened here", opening),))
    elif opened and _opened(tokens):
        opening = opened[-1]
        message = f"'{opening.text}' is never closed"
        return Problem("E0009", message, opening.start, opening.end, f"close it with '{CLOSING[opening.text]}'")
    return None


def _expected(tokens: Tokens, index: int, opened: list[Token], expected: set[str], decorator: Token | None) -> Problem:
    kind, token = tokens[index]
    if decorator:
        message = "no `def` or `class` follows this decorator"
        return Problem("E0016", message, decorator.start, decorator.end, "remove the decorator")
    if kind == "else" or kind == "elif":
        return Problem("E0008", f"`{kind}` without an `if` before it", token.start, token.end)
    found = WORDS[kind] if kind in ("NEWLINE", "$END", "INDENT", "DEDENT") else repr(token.text)
    message = f"expected {_either(_choices(expected, opened))}, found {found}"
    notes: tuple[tuple[str, Token], ...] = ()
    help = None
    if opened and "," in expected:
        help = "put a comma before it, or close the bracket"
        notes = ((f"inside this '{opened[-1].text}'", opened[-1]),)
    elif ":" in expected and kind == "NEWLINE":
        help = "end the line with ':'"
    return Problem("E0008", message, token.start, max(token.end, token.start), help, notes)


def _choices(expected: set[str], opened: list[Token]) -> list[str]:
    """Return the few most telling of the expected kinds."""
    if {"NAME", "NUMBER", "STRING"} <= expected:
        return ["an expression"] if "pass" not in expected else ["a statement"]
    closing = CLOSING[opened[-1].text] if opened else ""
    telling = [kind for kind in (",", closing, ":", "=", "in", "else", "import") if kind in expected]
    if "BINARY" in expected:
        telling = [kind for kind in telling if kind not in ("=", "else")] or telling
        if not telling or "NEWLINE" in expected:
            return ["an operator", "the end of the line"] if "NEWLINE" in expected else [*map(repr, telling)]
        return [*map(repr, telling)]
    rest = sorted(kind for kind in expected if kind not in telling)
    return ([repr(kind) for kind in telling] + [WORDS.get(kind, repr(kind)) for kind in rest])[:4]


def _either(choices: list[str]) -> str:
    return " or ".join([", ".join(choices[:-1]), choices[-1]] if len(choices) > 1 else choices)


def resume_after(text: str, tokens: Tokens, index: int) -> int | None:
    """Return the end of the token after whose physical line to go on, where that is not the end of the logical line.

    That is so where a bracket was not closed: the line then took in others, the first of which stands out by starting
    a statement, or by being indented no deeper than the line itself.
    """
    if tokens[index][0] == "INVALID" and text.startswith(tokens[index][1].text * 3, tokens[index][1].start):
        return len(text)
    start = tokens[0][1].start
    column = _column(text, start)
    unclosed = bool(_opened(tokens))
    for position in range(1, len(tokens) - 1):
        (_, previous), (kind, token) = tokens[position - 1 : position + 1]
        if "\n" not in text[previous.end : token.start]:
            continue
        stands_out = kind in STATEMENT or (_column(text, token.start) <= column and kind not in CLOSING.values())
        if stands_out or (unclosed and position >= index):
            return previous.end
    return None


def _column(text: str, offset: int) -> int:
    return offset - text.rfind("\n", 0, offset) - 1
