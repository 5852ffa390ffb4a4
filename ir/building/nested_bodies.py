"""Bodies as values of bindings: `y = {z = 2; z}` becomes `z = 2; y = z`."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from .. import relax


def unnested(blocks: Iterable[relax.BindingBlock]) -> tuple[relax.BindingBlock, ...]:
    """Return blocks in which no value is a body: its blocks come before the binding, and its result becomes the value.

    A block is split where blocks of the other kind come into it. Blocks without such values stay as they are.
    """
    new: list[relax.BindingBlock] = []
    for block in blocks:
        if any(isinstance(binding.value, relax.SeqExpr) for binding in block.bindings):
            new += _parts(block)
        else:
            new.append(block)
    return tuple(new)


def _parts(block: relax.BindingBlock) -> list[relax.BindingBlock]:
    parts: list[relax.BindingBlock] = []
    own: list[relax.Binding] = []
    for binding in block.bindings:
        value = binding.value
        for inner in unnested(value.blocks) if isinstance(value, relax.SeqExpr) else ():
            if type(inner) is type(block):
                own += inner.bindings
                continue
            if own:
                parts.append(replace(block, bindings=tuple(own)))
                own = []
            if parts and type(parts[-1]) is type(inner):
                parts[-1] = replace(parts[-1], bindings=(*parts[-1].bindings, *inner.bindings))
            else:
                parts.append(inner)
        own.append(replace(binding, value=value.body) if isinstance(value, relax.SeqExpr) else binding)
    return [*parts, replace(block, bindings=tuple(own))]
