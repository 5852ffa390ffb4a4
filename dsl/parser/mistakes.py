"""Messages for a token that does not fit, and the position from which to continue."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from .foreign import foreign_form
from .lexer import Problem, Token
from .place import CLOSING, HEAD, OPENING, Tokens, UnexpectedToken, closed_last, opened_by

STATEMENT = frozenset({"with", "def", "class", "return", "assert", "while", "pass", "import", "from"})
"""Keywords that start a statement and never occur in brackets."""
KEYWORDS = (*sorted(STATEMENT), "for", "if", "elif")
"""Keywords that start a statement and are followed by something else than a colon."""
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
    "÷": "/",
    "−": "-",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "→": "->",
}
_ELIF = frozenset(("elseif", "elsif", "elsf", "elif_"))
DEFINING = frozenset({"prim_func", "function", "macro", "inline", "ir_module", "schedule"})
"""Forms that open a definition, without their dialect."""


def head_name(text: str, first: Token) -> Iterator[str]:
    """Yield the name that a skipped line would have defined."""
    match = HEAD.match(text, first.start)
    if match:
        yield match[1]


def missing_body(colon: Token) -> Problem:
    """Return the problem of a head without an indented block."""
    message = "an indented block must follow this line"
    return Problem("E0014", message, colon.start, colon.end, "write its body, or `pass`")


def unexpected_indent(indent: Token) -> Problem:
    """Return the problem of an unexpectedly indented line."""
    message = "this line is indented, but nothing above it opens a block"
    return Problem("E0007", message, indent.start, indent.end, "indent it as the line above")


def undecorated(decorator: Token) -> Problem:
    """Return the problem of a decorator without a definition."""
    message = "no `def` or `class` follows this decorator"
    return Problem("E0016", message, decorator.start, decorator.end, "write one, or remove the decorator")


def unexpected(place: UnexpectedToken, decorator: Token | None) -> Problem:
    """Return the problem of the token at `place`; `decorator` is the previous line, if it is one."""
    for rule in (_keyword, foreign_form, _unclosed_string, _character, _head, _bracket, _number, _equal_sign):
        if problem := rule(place):
            return problem
    is_definition = place.tokens[0][0] in ("def", "class")
    return undecorated(decorator) if decorator and not is_definition else _expected(place)


def _unclosed_string(place: UnexpectedToken) -> Problem | None:
    if place.kind != "UNCLOSED":
        return None
    start, text = place.token.start, place.token.text
    triple = text[:3] in ('"""', "'''")
    message = "this string is not closed" if triple else "this string is not closed on its line"
    end = start + len(text.partition("\n")[0])
    return Problem("E0006", message, start, end, f"close it with {text[:3] if triple else text[0]}")


def _character(place: UnexpectedToken) -> Problem | None:
    if place.kind != "INVALID":
        return None
    character, start, end = place.token.text, place.token.start, place.token.end
    if character == "\\":
        message = "a backslash must be the last character of its line"
        return Problem("E0005", message, start, end, "remove what follows it, or the backslash")
    shown = repr(character) if character.isprintable() else f"U+{ord(character):04X}"
    help = f"write {LOOKALIKES[character]!r}" if character in LOOKALIKES else "remove it, or write it in a string"
    return Problem("E0005", f"the character {shown} is not part of the language", start, end, help)


def _keyword(place: UnexpectedToken) -> Problem | None:
    """Recognize a misspelt keyword at the start of a statement: `wiht T.block("b"):`, `retrun y`."""
    kind, first = place.tokens[0]
    is_else = [kind for kind, _ in place.tokens[1:3]] == [":", "NEWLINE"] and place.index == 2
    is_word = place.index >= 1 and place.tokens[1][0] in ("NAME", "NUMBER", "STRING")
    if kind != "NAME" or not (is_else or is_word):
        return None
    letters = sorted(first.text)
    swapped = [word for word in (*KEYWORDS, "else") if sorted(word) == letters or word == first.text.lower()]
    swapped = ["elif"] if first.text in _ELIF and not is_else else swapped
    near = swapped or get_close_matches(first.text, (*KEYWORDS, "else"), 1, 0.7)
    if is_else and "else" not in near:
        return None
    if not near or "." in first.text:
        return None
    return Problem(
        "E0008", f"'{first.text}' does not start a statement", first.start, first.end, f"did you mean '{near[0]}'?"
    )


def _head(place: UnexpectedToken) -> Problem | None:
    """Recognize `T.prim_func(A: …):`, `T.prim_func f A: …` and `T.block("b"):`: no name, no parentheses, no `with`."""
    opener = next((token for kind, token in place.tokens if kind != "NAME" and token.text != "."), place.token)
    last = next((token for _, token in reversed(place.tokens) if token.text), place.token)
    start = place.tokens[0][1].start
    if place.tokens[0][0] != "NAME" or opener.text not in ("(", ":") or last.text != ":":
        return None
    form, *name = place.text[start : opener.start].split()
    is_definition = form.rpartition(".")[2] in DEFINING
    if is_definition and not name and place.kind in (":", "NEWLINE"):
        help = f"write {form} name{opener.text}"
        return Problem("E0008", "this definition has no name", start, opener.start, help)
    if is_definition and name and opener.text == ":" and place.kind != "NEWLINE":
        message = "a function needs parameters in parentheses"
        return Problem("E0021", message, start, opener.end, f"write {form} {name[0]}(…):")
    if opener.text == "(" and place.kind == "NEWLINE" and place.previous is last:
        return Problem("E0008", "this does not open a block", start, last.start, "write `with` before it")
    return None


def _number(place: UnexpectedToken) -> Problem | None:
    """Recognize `0x1G` and `1.0f`: a name right after a number."""
    number = place.previous
    if place.kind != "NAME" or number is None or number.end != place.token.start or not number.text[:1].isdigit():
        return None
    text = place.text[number.start : place.token.end]
    help = "write the number alone, or with a dtype as T.float32(1)"
    return Problem("E0012", f"'{text}' is not a number", number.start, place.token.end, help)


def _equal_sign(place: UnexpectedToken) -> Problem | None:
    if place.kind == "=" and "BINARY" in place.expected:
        message = "an assignment is not allowed here"
        notes = () if place.opening else _ended(place)
        is_key = place.opening is not None and place.opening.text == "{" and ":" in place.expected
        help = "write `:` after a key" if is_key else "compare with `==`"
        return Problem("E0008", message, place.token.start, place.token.end, help, notes)
    return None


def _bracket(place: UnexpectedToken) -> Problem | None:
    kind, token, opening = place.kind, place.token, place.opening
    if kind in CLOSING.values():
        if opening is None:
            within = Token(place.tokens[0][1].start, token.start)
            help = f"remove it, or add the missing '{OPENING[kind]}'"
            notes = ((f"no '{OPENING[kind]}' is open in this part", within),)
            return Problem("E0009", f"unmatched '{kind}'", token.start, token.end, help, notes)
        wanted = CLOSING[opening.text]
        if wanted != kind:
            message, notes = f"'{kind}' does not match '{opening.text}'", (("opened here", _inside(place, opening)),)
            return Problem("E0009", message, token.start, token.end, f"write '{wanted}'", notes)
    elif opening and opened_by(place.tokens):
        message = f"'{opening.text}' is never closed"
        within = _inside(place, opening)
        notes = (("this is read as its contents", within),) if within.end > opening.end else ()
        return Problem("E0009", message, opening.start, opening.end, f"close it with '{CLOSING[opening.text]}'", notes)
    return None


def _inside(place: UnexpectedToken, opening: Token) -> Token:
    """Return the text that is read as the contents of `opening`, including the bracket."""
    return Token(opening.start, place.previous.end if place.previous else opening.end)


def _ended(place: UnexpectedToken, start: int = 0) -> tuple[tuple[str, Token], ...]:
    """Return a note at the last brackets closed before the place, from token `start` on: possibly too early."""
    closed = closed_last(place.tokens[start : place.index])
    return (("these brackets are closed before it", closed),) if closed else ()


def _expected(place: UnexpectedToken) -> Problem:
    kind, token = place.kind, place.token
    if kind in ("else", "elif"):
        help = "indent it as its `if`, right below the body"
        return Problem("E0008", f"`{kind}` without an `if` before it", token.start, token.end, help)
    *most, last = choices = _choices(place)
    said = f"{', '.join(most)} or {last}" if most else last
    message = f"expected {said}, found {WORDS[kind] if kind == 'NEWLINE' else repr(token.text)}"
    in_list = place.opening if "," in place.expected else None
    notes = ((f"inside this '{in_list.text}'", in_list),) if in_list else ()
    if place.opening and place.previous and place.previous.text == ",":
        start = next(index for index, (_, token) in enumerate(place.tokens) if token is place.opening)
        notes = _ended(place, start + 1)
    elif kind == "," and not place.opening:
        notes = _ended(place)
    return Problem("E0008", message, token.start, token.end, _remedy(place, choices), notes)


def _remedy(place: UnexpectedToken, choices: list[str]) -> str:
    if place.kind == "STRING" and "NAME" in place.expected and place.previous is place.opening:
        return "write the name without quotes"
    if place.opening and "," in place.expected:
        return "put a comma before it, or close the bracket"
    if place.kind == "NEWLINE":
        return "end the line with ':'" if ":" in place.expected else f"write {choices[0]} before the line ends"
    if choices == [WORDS["NEWLINE"]]:
        return "start a new line with it, or remove it"
    return f"write {choices[0]} before it, or {'start a new line' if WORDS['NEWLINE'] in choices else 'remove it'}"


def _choices(place: UnexpectedToken) -> list[str]:
    """Return the most helpful of the expected kinds, in words."""
    expected = place.expected
    if "pass" in expected:
        return ["a statement"]
    if {"NAME", "NUMBER", "STRING"} <= expected:
        return ["an expression"]
    closing = CLOSING[place.opening.text] if place.opening else ""
    if "BINARY" in expected and "NEWLINE" in expected:
        return ["an operator", WORDS["NEWLINE"]]
    telling = [repr(kind) for kind in (",", closing, ":", "in", "else", "import") if kind in expected]
    if "BINARY" in expected and telling:
        return telling
    return sorted(WORDS.get(kind, repr(kind)) for kind in expected)[:4]


def resume_after(text: str, tokens: Tokens, index: int) -> int | None:
    """Return the end of the token after whose physical line to continue, or None for the end of the logical line.

    An unclosed bracket makes a logical line absorb the following ones. The first of them is recognized by starting with
    a keyword of a statement, or by being indented no deeper than the line itself.
    """
    column = _column(text, tokens[0][1].start)
    unclosed = bool(opened_by(tokens))
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
