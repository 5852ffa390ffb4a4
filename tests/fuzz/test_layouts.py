"""Layout has no meaning: spaces, blank lines, indentation, line ends, parentheses and last commas give one program."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TypeGuard

from tvms.dsl import syntax
from tvms.dsl.compatibility import dialect_of
from tvms.dsl.load import parse
from tvms.dsl.parser import parse_syntax
from tvms.dsl.parser.lexer import Lexer
from tvms.ir.base import Source
from tvms.ir.equal import structural_equal

sys.path.insert(0, str(Path(__file__).parent))
from fuzz_texts import SCALE, check_format, generator, valid_texts

TEXTS = 120 * SCALE
WRAPPED = (
    syntax.Name, syntax.Constant, syntax.Attribute, syntax.Call, syntax.Subscript, syntax.List, syntax.Dict,
    syntax.Unary, syntax.Binary, syntax.Conditional,
)  # fmt: skip


def nodes(tree: object) -> Iterator[syntax.Syntax]:
    """Yield all nodes of a tree but the heads and the names of definitions."""
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack.extend(node)
        elif isinstance(node, syntax.Syntax):
            yield node
            stack.extend(
                getattr(node, field)
                for field in node.__struct_fields__
                if field not in ("head", "trivia") and not (field == "params" and isinstance(node, syntax.Lambda))
            )


def is_chain(node: syntax.Syntax) -> TypeGuard[syntax.Binary]:
    """Whether `node` is `a < b < c`, which stands for `a < b and b < c`: neither part may be in parentheses."""
    return isinstance(node, syntax.Binary) and node.op == "and" and node.right.start < node.left.end


def enriched(random: random.Random, text: str) -> str:
    """Return `text` with parentheses around some expressions, and a comma after some last elements."""
    file, _ = parse_syntax(Source("text", text))
    inserts: list[tuple[int, int, str]] = []
    parts = {id(part) for node in nodes(file.body) if is_chain(node) for part in (node.left, node.right)}
    for order, node in enumerate(nodes(file.body)):
        if isinstance(node, WRAPPED) and id(node) not in parts and random.random() < 0.1:
            inserts += [(node.start, order, "("), (node.end, -order, ")")]
        is_list = isinstance(node, syntax.List) and node.elements
        is_call = isinstance(node, syntax.Call) and (node.args or node.keywords)
        if (is_list or is_call) and text[: node.end - 1].rstrip()[-1] not in ",\n" and random.random() < 0.1:
            inserts.append((node.end - 1, 1, ","))
    for place, _, new in sorted(inserts, key=lambda insert: (insert[0], insert[2] != ")", insert[1]), reverse=True):
        text = text[:place] + new + text[place:]
    return text


def laid_out(random: random.Random, text: str, loose: bool) -> str:
    """Return `text` without its comments, and with other white space if it is to be loose."""
    lexer = Lexer(text, lambda problem: None)
    indents, lines = [""], list[str]()
    for line in lexer.lines():
        for kind, _ in line.layout:
            if kind == "INDENT":
                indents.append(indents[-1] + (random.choice([" ", "  ", "    ", "        "]) if loose else "    "))
            else:
                indents.pop()
        if loose:
            lines += [random.choice(["", "   ", "\t"]) for _ in range(random.choice([0, 0, 0, 1, 3]))]
        if line.tokens[0][0] == "$END":
            break
        lines.append(indents[-1] + _joined(random, lexer.text, [token for _, token in line.tokens[:-1]], loose))
    newline = random.choice(["\n", "\r\n"]) if loose else "\n"
    return newline.join(lines) + newline


def _joined(random: random.Random, text: str, tokens: list[syntax.Syntax], loose: bool) -> str:
    depth, parts = 0, [text[tokens[0].start : tokens[0].end]]
    for one, other in pairwise(tokens):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(parts[-1], 0)
        gaps = [" "] if one.end < other.start else [""]
        if loose and not (gaps == [""] and random.random() < 0.8):
            gaps = [" ", "  ", "\t", " \\\n ", *["\n", " \n\n  "] * bool(depth)]
        parts += [random.choice(gaps), text[other.start : other.end]]
    return "".join(parts)


def check(random: random.Random, text: str) -> None:
    plain = laid_out(random, text, loose=False)
    other = laid_out(random, enriched(random, plain), loose=True)
    try:
        one, two = parse(plain), parse(other)
        assert structural_equal(one, two)
        # The dialect is recognized by how names are spelled, which parentheses and spaces in them hide.
        if dialect_of(Source("", plain)) == dialect_of(Source("", other)):
            assert one.script() == two.script()
        check_format(other)
    except BaseException:
        print(other)
        raise


def test_layout_has_no_meaning() -> None:
    random = generator("layouts")
    for _ in range(TEXTS):
        check(random, random.choice(valid_texts()))
