"""The words of the language with their arguments and meaning: forms, operators of `R`, steps of schedules."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal, NamedTuple

from ...ir.codes import CODES
from ...ir.ops.registry import relax_ops
from ...ir.schedule.declaration import COMPOSITES, PRIMITIVES, Primitive, load_composites
from ...ir.schedule.primitives import load
from ..reference.catalogue import forms
from ..reference.pages import step_signature

Kind = Literal["definition", "type", "form", "operator", "primitive", "method"]
_ARGUMENT = re.compile(r"(?:[^,()\[\]{}]|\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\})+")


class Word(NamedTuple):
    """A word of the language."""

    name: str
    """Its dotted name, such as `T.grid`; a method of a buffer is `A.vload`, one of an expression `x.astype`."""
    arguments: str
    """Its arguments in parentheses, or ""."""
    doc: str
    kind: Kind

    @property
    def parameters(self) -> list[str]:
        """Its parameters as they are written in `arguments`."""
        inner = self.arguments.strip()[1:-1]
        return [found[0].strip() for found in _ARGUMENT.finditer(inner) if found[0].strip() not in ("", "*", "/")]

    @property
    def markdown(self) -> str:
        """Its description."""
        return f"```tvms\n{self.name}{self.arguments}\n```\n{self.doc}"


@cache
def vocabulary() -> dict[str, Word]:
    """Return all words by name."""
    found = {
        name: Word(name, entry.arguments, entry.doc, "method" if name[0] in "Ax" else entry.role)
        for name, entry in forms().items()
    }
    for op in relax_ops().values():
        name, _, arguments = op.signature.partition("(")
        found.setdefault(name, Word(name, f"({arguments}", " ".join(op.doc.split()), "operator"))
    load()
    load_composites()
    for step in (*PRIMITIVES.values(), *COMPOSITES.values()):
        word = _step(step)
        found.setdefault(word.name, word)
    return found


def _step(step: Primitive) -> Word:
    name, _, arguments = step_signature(step).partition("(")
    requires = [f"- {condition.code}: {condition.holds}" for condition in step.requires]
    knobs = [f"- `{knob}`: {declared.meaning}; {declared.range}" for knob, declared in step.knobs.items()]
    parts = [step.doc, *(("Requires:\n\n" + "\n".join(requires),) if requires else ())]
    parts += ["Knobs:\n\n" + "\n".join(knobs)] if knobs else []
    return Word(name, f"({arguments}", "\n\n".join(parts), "primitive")


def explanation(code: str) -> str:
    """Return the meaning of the code of a diagnostic."""
    return CODES.get(code, "")


@cache
def members(prefix: str) -> dict[str, Word | None]:
    """Return what may follow `prefix` and a dot: words, and None for a part of longer names, such as `nn` in `R.nn.relu`."""
    found: dict[str, Word | None] = {}
    for name, word in vocabulary().items():
        if name.startswith(f"{prefix}."):
            member, _, rest = name[len(prefix) + 1 :].partition(".")
            if not rest:
                found[member] = word
            else:
                found.setdefault(member, None)
    return found
