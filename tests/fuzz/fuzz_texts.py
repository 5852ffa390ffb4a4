"""What the tests of bad input share: texts to damage, ways to damage them, and the law that any text keeps."""

from __future__ import annotations

import os
import random
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from zlib import crc32

from text_cases import programs
from tvms.dsl.diagnostics import render
from tvms.dsl.formatter import format_text
from tvms.dsl.load import parse_source
from tvms.dsl.reports import FORMATS
from tvms.ir.base import IRModule, Source
from tvms.ir.codes import CODES
from tvms.ir.diagnostics import Diagnostic, TvmsError
from tvms.ir.equal import structural_equal
from tvms.ir.verify import verify

ROOT = Path(__file__).parents[2]
SCALE = int(os.environ.get("TVMS_FUZZ", "1"))
"""How many times as many texts as in a quick run, which takes the same ones each time."""
DIALECTS = ("tvms", "tvm-0.21", "tvm-0.27")
WHOLE_FILE = {"E0001", "E0002", "E0003", "E0004"}
"""Codes of errors that stand at no place in the text."""
TOKEN = re.compile(
    r'"""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*"|#[^\n]*|\d(?:[eE][+-]\d|[\w.])*|\w+|->|<<|>>|//|\*\*|[<>=!]=|\n[ ]*|[ \t]+|[^\w\s]'
)
Damage = Callable[[random.Random, Sequence[str]], str]


def generator(name: str) -> random.Random:
    """Return randomness whose seed is shown where a test fails; `TVMS_SEED=…` gives the same again."""
    seed = int(os.environ.get("TVMS_SEED", secrets.randbits(32) if SCALE > 1 else crc32(name.encode())))
    print(f"{name}: TVMS_SEED={seed}")
    return random.Random(seed)


@cache
def texts() -> tuple[str, ...]:
    """Return all texts of the samples and the cases, right and wrong ones."""
    files = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "samples").glob("*.tvms"))]
    return (*files, *programs("bounds", "forms", "regressions", "relax", "tir"))


@cache
def valid_texts() -> tuple[str, ...]:
    """Return those of the texts that hold a program without an error."""
    return tuple(text for text in texts() if not errors_of(text)[1])


def errors_of(text: str) -> tuple[IRModule | None, Sequence[Diagnostic]]:
    """Return the module that a text holds, if one can be built, and the errors in it."""
    try:
        module = parse_source(Source("fuzz.tvms", text))
        return module, [diagnostic for diagnostic in verify(module) if diagnostic.severity == "error"]
    except TvmsError as error:
        return None, [diagnostic for diagnostic in error.diagnostics if diagnostic.severity == "error"]


# --- Damage ---------------------------------------------------------------------------------------------------


def split(text: str) -> list[str]:
    """Return a text as tokens and the white space between them; joined, they are the text."""
    return TOKEN.findall(text)


def _characters(random: random.Random, texts: Sequence[str]) -> str:
    text = random.choice(texts)
    for _ in range(random.randint(1, 4)):
        place, size = random.randrange(len(text) + 1), random.choice([0, 0, 1, 1, 2, 8])
        new = random.choice(["", *" \n\t\r\0\f#()[]{}:,.=-+*\"'\\@01e_xé\u202e\U0001f600"])
        text = text[:place] + new + text[place + size :]
    return text


def _tokens(random: random.Random, texts: Sequence[str]) -> str:
    tokens = split(random.choice(texts))
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        if len(tokens) < 2:
            break
        place, other = random.randrange(len(tokens)), random.randrange(len(tokens))
        match random.randrange(5):
            case 0:
                del tokens[place]
            case 1:
                tokens.insert(place, tokens[place])
            case 2:
                tokens[place], tokens[other] = tokens[other], tokens[place]
            case 3:
                tokens[place] = tokens[other]
            case _:
                tokens[place] = random.choice(split(random.choice(texts)) or [""])
    return "".join(tokens)


def _lines(random: random.Random, texts: Sequence[str]) -> str:
    lines = random.choice(texts).splitlines(keepends=True)
    place, other = random.randrange(len(lines)), random.randrange(len(lines))
    match random.randrange(4):
        case 0:
            del lines[place]
        case 1:
            lines.insert(other, lines[place])
        case 2:
            lines[place], lines[other] = lines[other], lines[place]
        case _:
            lines[place] = random.choice(["    ", " ", "\t"]) + lines[place]
    return "".join(lines)


def _splice(random: random.Random, texts: Sequence[str]) -> str:
    one, other = split(random.choice(texts)), split(random.choice(texts))
    return "".join(one[: random.randrange(len(one))] + other[random.randrange(len(other)) :])


def _truncate(random: random.Random, texts: Sequence[str]) -> str:
    text = random.choice(texts)
    place = random.randrange(len(text))
    return text[:place] if random.random() < 0.7 else text[place:]


DAMAGES: tuple[Damage, ...] = (_characters, _tokens, _tokens, _tokens, _lines, _splice, _truncate)


def damaged(random: random.Random, texts: Sequence[str]) -> Iterator[str]:
    """Yield damaged texts, without an end."""
    while True:
        yield random.choice(DAMAGES)(random, texts)


# --- The law --------------------------------------------------------------------------------------------------


def check_text(text: str) -> Sequence[Diagnostic]:
    """Assert what holds of every text: it is a program that prints and reads back, or has errors that help."""
    module, errors = errors_of(text)
    check_diagnostics(text, errors)
    if not any(error.code.startswith("E00") for error in errors):
        check_format(text)
    if module is not None and not errors:
        check_printed(module)
    return errors


def check_diagnostics(text: str, errors: Sequence[Diagnostic]) -> None:
    """Assert that each error has a known code, a reason, a place in the text and help, and can be shown."""
    for error in errors:
        assert error.code in CODES, error
        assert error.message, error
        assert error.help, f"no help: {error.code} {error.message}"
        if error.code not in WHOLE_FILE:
            assert error.span is not None, f"no place: {error.code} {error.message}"
        for span in (error.span, *(note.span for note in error.notes)):
            assert span is None or 0 <= span.start <= span.end <= len(span.source.text) == len(text), f"place: {error}"
    assert render(errors, color=True) or not errors
    for report in FORMATS.values():
        report(errors)


def check_format(text: str) -> None:
    """Assert that a text without syntax errors can be formatted, to a text that stays as it is."""
    formatted = format_text(text)
    assert format_text(formatted) == formatted


def dialects_of(module: IRModule) -> Sequence[str]:
    """Return the dialects that can say all that a module holds: TVM's have no schedules and no names of tensors."""
    return DIALECTS[:1] if module.schedules or 'I.constant("' in module.script() else DIALECTS


def check_printed(module: IRModule) -> None:
    """Assert that what is printed reads back as the same program in every dialect, and is formatted."""
    for dialect in dialects_of(module):
        printed = module.script(dialect)
        again = parse_source(Source(f"printed.{dialect}", printed))
        assert again.script(dialect) == printed, f"{dialect}: prints differently after parsing"
        assert format_text(printed).rstrip("\n") == printed.rstrip("\n"), f"{dialect}: the formatter changes it"
        if dialect != "tvm-0.27":  # where a binding reaches to the end of its body, so that `with` cannot be kept
            assert structural_equal(module, again), f"{dialect}: reads back as another program"
