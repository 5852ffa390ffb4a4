"""Phrases that the style of prose in CONTRIBUTING.md bans, in docstrings, comments, messages and documentation.

python tests/prose.py [PATH…]              every finding with its place; exit code 1 if there is one
python tests/prose.py --draw N [--seed S]  N random sentences, to be read against the style
"""

from __future__ import annotations

import argparse
import ast
import io
import random
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROOMS = ("grammar", "dsl", "ir", "codegen", "bench", "docs")
BANNED = (
    (r"(?<!\b[Tt]here )\b(is|are|was|were|be) no (?!longer\b|more than\b|less than\b|op\b|one\b)(?=[a-z'])", "negate the verb: 'is not a …'"),
    (r"\b(has|have) not (an?|the|any)\b", "'has no …' or 'does not have …'"),
    (r"\b(stands?|stood) (in|where|for|here|there|at|before|around|under|by|beside|inside|alone)\b",
     "'is in', 'denotes', 'occurs', 'represents'"),
    (r"\bas (it|they) stands?\b", "'unchanged', 'unscheduled'"),
    (r"\b[Tt]akes? in\b", "'record', 'add'"),
    (r"\b(comes|come) to nothing\b", "say what happens"),
    (r"\bsees? (it|them) as\b|\bis seen as\b", "'is a view of'"),
    (r"\bthose (of|that|which|whose) .*\bthose (of|that|which|whose)\b", "name the noun"),
    (r"\bwhat .{3,40}\bwhat\b", "do not nest 'what' clauses"),
    (r"\bof which\b.*\bof which\b", "one relative clause a sentence"),
    (r", too\b", "'also' before the verb"),
    (r"\bfor itself\b", "'separately'"),
    (r"\bso many\b", "'the given number of'"),
    (r"\bbring(s|ing)? .* into being\b", "'create'"),
    (r"\bin (his|her|its|their|LLVM's) words\b", "name the terms"),
    (r"\bhowever (it|they) (is|are)\b", "'regardless of'"),
)  # fmt: skip
PATTERNS = [(re.compile(pattern), remedy) for pattern, remedy in BANNED]


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the prose of a file with its line numbers: strings and comments of Python, all lines of Markdown outside of code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        is_code = False
        for number, line in enumerate(text.splitlines(), 1):
            is_code ^= line.startswith("```")
            if not is_code and not line.startswith("    "):
                yield number, re.sub(r"`[^`]*`", "``", line)
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            for offset, line in enumerate(node.value.splitlines()):
                yield node.lineno + offset, line
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def findings(paths: list[Path]) -> Iterator[str]:
    """Yield one line per banned phrase."""
    for path in paths:
        for number, line in texts_of(path):
            for pattern, remedy in PATTERNS:
                found = pattern.search(line)
                if found is not None:
                    yield f"{path}:{number}: '{found[0]}': {remedy}"


def sentences(path: Path) -> Iterator[str]:
    """Yield the sentences of a file with their lines; headings, tables and signatures are not sentences."""
    paragraph: list[str] = []
    start = last = 0
    for number, line in [*sorted(texts_of(path)), (1 << 30, "")]:
        line = line.strip().removeprefix("#").strip()
        if number != last + 1 or not line or line.startswith(("|", "#", "-", ">", "*")):
            for sentence in re.split(r"(?<=[.:!?]) +(?=[A-Z`])", " ".join(paragraph)):
                if len(sentence.split()) >= 5:
                    yield f"{path.relative_to(ROOT)}:{start}: {sentence}"
            paragraph, start = [], number
        paragraph.append(line.removeprefix("- "))
        last = number


def main(arguments: list[str]) -> int:
    """Print the findings in the given files or folders, or in the whole source, or random sentences; return the exit code."""
    parser = argparse.ArgumentParser(description="Check or sample the prose.")
    parser.add_argument("paths", nargs="*", type=Path, default=[ROOT / room for room in ROOMS])
    parser.add_argument("--draw", type=int, metavar="N", help="print N random sentences")
    parser.add_argument("--seed", type=int, default=None, help="seed of the sentences (default: a random one)")
    options = parser.parse_args(arguments)
    paths = [
        path
        for root in options.paths
        for path in ([root] if root.is_file() else sorted([*root.rglob("*.py"), *root.rglob("*.md")]))
    ]
    if options.draw is not None:
        seed = random.randrange(1 << 32) if options.seed is None else options.seed
        everything = sorted({sentence for path in paths for sentence in sentences(path.resolve())})
        print(f"{options.draw} of {len(everything)} sentences, seed {seed}")
        print(*random.Random(seed).sample(everything, min(options.draw, len(everything))), sep="\n")
        return 0
    found = list(findings(paths))
    print(*found, sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
