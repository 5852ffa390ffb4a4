"""A TextMate grammar of the language for editors, built from `tvms.lark`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from ...grammar.tables import load
from ...ir.dtype import PATTERN
from ...ir.ops.registry import relax_ops
from ...ir.schedule.declaration import COMPOSITES, PRIMITIVES, load_composites
from ...ir.schedule.primitives import load as load_primitives
from .catalogue import forms
from .pages import step_signature

_CONSTANTS = ("True", "False", "None")
_WORD_OPERATORS = ("and", "or", "not", "in", "as")
_DECLARING = ("class", "def", "lambda", "import", "from")
_ESCAPE = {"name": "constant.character.escape.tvms", "match": r"\\(?:\r\n|[\s\S])"}


def textmate() -> str:
    """Return the grammar as JSON; scopes end in `.tvms`."""
    return json.dumps(_grammar(), indent=2, ensure_ascii=False) + "\n"


def _grammar() -> dict[str, Any]:
    tables = load()
    words = [text for text in tables.fixed if text.isidentifier()]
    control = [word for word in words if word not in (*_CONSTANTS, *_WORD_OPERATORS, *_DECLARING)]
    signs = "|".join([tables.patterns["AUGMENT"], tables.patterns["BINARY"], "->", "[-+*~=@]"])
    return {
        "name": "tvms",
        "scopeName": "source.tvms",
        "fileTypes": ["tvms"],
        "firstLineMatch": r"^#\s*tvms\s+\d+",
        "patterns": [
            {"name": "comment.line.number-sign.tvms", "match": "#.*$"},
            *_definitions(),
            _block(),
            *_strings(),
            *_forms(),
            {"name": "constant.numeric.tvms", "match": rf"(?<![\w.])(?:{tables.patterns['NUMBER']})"},
            {"name": "constant.language.tvms", "match": rf"\b(?:{_either(_CONSTANTS)})\b"},
            {"name": "keyword.control.word.tvms", "match": rf"\b(?:{_either(_WORD_OPERATORS)})\b"},
            {"name": "storage.type.tvms", "match": rf"\b(?:{_either(_DECLARING)})\b"},
            {"name": "keyword.control.tvms", "match": rf"\b(?:{_either(control)})\b"},
            {"name": "keyword.operator.tvms", "match": signs},
        ],
    }


def _definitions() -> list[dict[str, Any]]:
    """Return rules for heads: `T.prim_func(private=True) name`, `def name`, `class Name`, and decorators."""
    heads = _either(entry.name for entry in forms().values() if entry.role == "definition")
    return [
        {
            "match": rf"^\s*({heads})(\([^()]*\))?\s+([^\W\d]\w*)",
            "captures": {
                "1": {"name": "storage.type.tvms"},
                "2": {"patterns": [{"include": "$self"}]},
                "3": {"name": "entity.name.function.tvms"},
            },
        },
        {
            "match": r"\b(def|class)\s+([^\W\d]\w*)",
            "captures": {"1": {"name": "storage.type.tvms"}, "2": {"name": "entity.name.function.tvms"}},
        },
        {
            "match": rf"(@)\s*({heads})\b",
            "captures": {"1": {"name": "punctuation.decorator.tvms"}, "2": {"name": "storage.type.tvms"}},
        },
    ]


def _block() -> dict[str, Any]:
    """Return a rule for the name of a block, which schedules refer to."""
    return {
        "match": r'\b(T\.s?block)(\()("[^"\\]*")',
        "captures": {
            "1": {"name": "support.function.tvms"},
            "3": {"name": "string.quoted.double.tvms entity.name.section.tvms"},
        },
    }


def _strings() -> list[dict[str, Any]]:
    """Return rules for strings; the name of a dtype is highlighted."""
    dtype = PATTERN.pattern.removesuffix("$").replace("?P<", "?<")
    return [
        {"name": "string.quoted.dtype.tvms support.type.tvms", "match": rf'"(?:{dtype})"'},
        *(
            {"name": f"string.quoted.{kind}.tvms", "begin": quote, "end": end, "patterns": [_ESCAPE]}
            for kind, quote, end in (
                ("triple", '"""', '"""'), ("triple", "\'\'\'", "\'\'\'"), ("double", '"', '"|$'), ("single", "\'", "\'|$"),
            )
        ),
    ]  # fmt: skip


def _forms() -> list[dict[str, Any]]:
    """Return rules for the members of `I`, `T`, `R`, `S`: types, then others; unknown names are not highlighted."""
    entries = [entry for entry in forms().values() if entry.name[0] in "ITRS"]
    types = [entry.name for entry in entries if entry.role == "type"]
    functions = [entry.name for entry in entries if entry.role != "type"]
    functions += [f"R.{op.script_name}" for op in relax_ops().values()]
    load_primitives()
    load_composites()
    functions += [step_signature(step).partition("(")[0] for step in (*PRIMITIVES.values(), *COMPOSITES.values())]
    return [
        {"name": "support.type.tvms", "match": rf"\b(?:{_either(types)})(?:x\d+)?\b"},
        {"name": "support.function.tvms", "match": rf"\b(?:{_either(functions)})\b"},
        {"match": r"\b[ITRS](?:\.\w+)+"},
    ]


def _either(names: Iterable[str]) -> str:
    """Return a pattern that matches any of `names`, longest first; names with a common prefix share it."""
    return "|".join(re.escape(name) for name in sorted(set(names), key=lambda name: (-len(name), name)))
