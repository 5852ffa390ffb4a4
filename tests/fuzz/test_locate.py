"""Where errors are shown: a single token that was deleted, doubled, misspelt or replaced is at the place that is shown."""

from __future__ import annotations

import math
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from fuzz_texts import SCALE, errors_of, generator, split, valid_texts

FAULTS = 300 * SCALE
SHARE = 0.95
"""Of the faults, those whose errors are shown at the token, or at one beside it where it was deleted."""
REPLACEMENTS = ("nothing", "0", "(", ")", "]", ":", ",", "=", "==", ".", "+", "for", '"text"')


def faulty(random: random.Random, text: str) -> tuple[str, int, int]:
    """Return `text` with a fault in one of its tokens, and where the fault and the tokens beside it are."""
    tokens = split(text)
    places = [index for index, token in enumerate(tokens) if token.strip() and not token.startswith("#")]
    order = random.randrange(len(places))
    place = places[order]
    token = tokens[place]
    match random.randrange(4):
        case 0:
            tokens[place] = ""
        case 1:
            tokens[place] = f"{token} {token}"
        case 2 if token.isidentifier():
            letter = random.randrange(len(token))
            tokens[place] = token[:letter] + random.choice("xyz_") + token[letter:]
        case _:
            tokens[place] = random.choice(REPLACEMENTS)
    first, last = places[max(0, order - 1)], places[min(len(places) - 1, order + 1)]
    return "".join(tokens), len("".join(tokens[:first])), len("".join(tokens[: last + 1]))


def test_errors_are_shown_at_the_token_that_is_wrong() -> None:
    random = generator("locate")
    texts = [text for text in valid_texts() if len(text) < 4000]
    found, missed = 0, list[str]()
    while found + len(missed) < FAULTS:
        text, start, end = faulty(random, random.choice(texts))
        _, errors = errors_of(text)
        spans = [error.span for error in errors] + [note.span for error in errors for note in error.notes]
        if any(span and span.start <= end and span.end >= start for span in spans):
            found += 1
        elif errors:
            missed.append(f"at {start}: {errors[0].code} {errors[0].message}\n{text}")
    share = found / FAULTS
    print(f"{share:.1%} of {FAULTS} faults in one token are shown at it")
    by_chance = 2 * math.sqrt(SHARE * (1 - SHARE) / FAULTS)
    assert share >= SHARE - by_chance, "\n\n".join(missed[:5])
