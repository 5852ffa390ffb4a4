"""Damaged texts: each is a program that prints and reads back, or has errors that say what, where and what to do."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from fuzz_texts import SCALE, check_text, damaged, generator, texts

TEXTS = 250 * SCALE


def test_every_text_is_a_program_or_has_errors_that_help() -> None:
    random = generator("damage")
    mutants = damaged(random, texts())
    for _ in range(TEXTS):
        text = next(mutants)
        try:
            check_text(text)
        except BaseException:
            print(text)
            raise
