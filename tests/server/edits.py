"""Random edits of texts, as people make them: half-typed lines, moved and doubled lines, renamed words, undo."""

from __future__ import annotations

import re
from random import Random

_TOKEN = re.compile(r"[^\W\d]\w*|\d+|\"[^\"\n]*\"|[^\w\s]")


def edited(text: str, original: str, words: list[str], random: Random) -> str:
    """Return `text` after one random edit; now and then it is set back to `original`."""
    tokens = list(_TOKEN.finditer(text))
    if not tokens:
        return original
    token = random.choice(tokens)
    lines = text.splitlines(keepends=True)
    match random.randrange(10):
        case 0:
            return text[: token.start()] + random.choice(words) + text[token.end() :]
        case 1:
            return text[: token.start()] + text[token.end() :]
        case 2 | 3:
            return text[: token.end()] + str(random.randrange(3)) + text[token.end() :]
        case 4:
            del lines[random.randrange(len(lines))]
            return "".join(lines)
        case 5:
            lines.insert(random.randrange(len(lines) + 1), random.choice(lines))
            return "".join(lines)
        case 6:
            return re.sub(rf"\b{re.escape(token[0])}\b", f"{token[0]}x", text) if token[0].isidentifier() else original
        case 7:
            at = random.randrange(len(text) + 1)
            return text[:at] + random.choice(("(", "\n", " ", '"', "größe", "# x\n", "\t", "😀", ")", ":")) + text[at:]
        case _:
            return original


def words_of(texts: list[str]) -> list[str]:
    """Return the words of texts."""
    return [token[0] for text in texts for token in _TOKEN.finditer(text)]
