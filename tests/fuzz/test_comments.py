"""Comments anywhere in a text: none is lost or doubled on the way to the program and back, whatever it says."""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from pathlib import Path

from tvms.dsl.formatter import format_text
from tvms.dsl.load import parse

sys.path.insert(0, str(Path(__file__).parent))
from fuzz_texts import SCALE, dialects_of, generator, split, valid_texts

TEXTS = 150 * SCALE
SAYS = (
    "",
    " ",
    "#",
    "!",
    " ünïcødé 漢字",
    ' "quoted',
    " '''",
    " (",
    " ]}",
    ":",
    " \\",
    "\t tab",
    " # twice",
    " {x} %s",
    " T.evaluate(0)",
    " fmt: off",
    " fmt: on",
    "fmt:skip",
)
BY_THE_PRINTER = re.compile(
    r"#tvms \d+$|#\s*(?:from tvm\.(?:script|tirx\.layout) import .*|Metadata omitted\..*|with T\.s?block\(.root.\):)$"
)


def comments(text: str) -> list[str]:
    """Return the comments of a text in order, without those that the printer writes by itself."""
    found = [token.strip() for token in split(text) if token.startswith("#")]
    return [comment for comment in found if not BY_THE_PRINTER.match(comment)]


def commented(random: random.Random, text: str) -> str:
    """Return `text` with comments put wherever one may stand."""

    def comment() -> str:
        return (
            f"#{random.choice(SAYS)}" if random.random() < 0.2 else f"#{random.choice(SAYS)} {random.randrange(10**6)}"
        )

    def own_lines() -> str:
        return "".join(
            " " * random.choice([0, 0, 2, 4, 8, 12, 30]) + comment() + "\n"
            for _ in range(random.choice([0] * 8 + [1, 1, 2]))
        )

    depth, parts = 0, [own_lines()]
    for token in split(text):
        if token in ("(", "[", "{"):
            depth += 1
        elif token in (")", "]", "}"):
            depth -= 1
        if token.startswith("\n"):
            after_comment = parts[-1].startswith("#")
            if random.random() < 0.15 and not after_comment and parts[-1] != "\\":
                parts.append(random.choice(["", " ", "   "]) + comment())
            parts.extend(["\n" + own_lines(), token[1:]] if parts[-1] != "\\" else [token])
        else:
            parts.append(token)
            if depth and random.random() < 0.02 and not token.startswith("#"):
                parts.append(f" {comment()}\n" + " " * random.randrange(8))
    end = "" if random.random() < 0.2 else "\n"
    return "".join(parts).rstrip("\n") + "\n" + own_lines().rstrip("\n") + end


def check(text: str) -> None:
    written = comments(text)
    module = parse(text)
    for dialect in dialects_of(module):
        assert Counter(comments(module.script(dialect))) == Counter(written), dialect
    formatted = format_text(text)
    assert comments(formatted) == written, "formatted"
    assert format_text(formatted) == formatted


def test_no_comment_is_lost_or_doubled() -> None:
    random = generator("comments")
    for _ in range(TEXTS):
        text = commented(random, random.choice(valid_texts()))
        try:
            check(text)
        except BaseException:
            print(text)
            raise
