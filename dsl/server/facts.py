"""What is known of the names of a definition from its built form: struct info, shapes, domains."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache

from ...ir import relax, tir
from ...ir.base import Node, Source
from ...ir.deep import deep
from ...ir.visit import walk
from .scopes import Symbol

Fact = relax.Var | tir.Buffer | tir.Var | tir.IterVar | tir.For


@lru_cache(maxsize=64)
@deep
def facts_of(node: Node, source: Source) -> dict[str, list[tuple[int, int, Fact]]]:
    """Return the declarations in a built definition by name, each with the position in `source` that declares it."""
    found: defaultdict[str, list[tuple[int, int, Fact]]] = defaultdict(list)
    seen: set[int] = set()
    for part in walk(node):
        for fact, name in _facts(part):
            span = fact.span
            if span is not None and span.source is source and id(fact) not in seen:
                seen.add(id(fact))
                found[name].append((span.start, span.end, fact))
    return found


def _facts(node: Node) -> Iterator[tuple[Fact, str]]:
    match node:
        case tir.For():
            yield node, node.loop_var.name
        case tir.IterVar():
            yield node, node.var.name
        case tir.Buffer() | tir.Var():
            yield node, node.name
        case relax.Var():
            yield node, node.name_hint
        case _:
            return


def fact_about(symbol: Symbol, node: Node, source: Source) -> Fact | None:
    """Return what declares a symbol in a built definition; of several, the one that says most."""
    ranks = (tir.Buffer, tir.IterVar, tir.For, relax.Var, tir.Var)
    known = facts_of(node, source).get(symbol.name, ())
    around = [item for item in known if item[0] <= symbol.start < item[1]]
    after = [item for item in known if item[0] > symbol.start]  # a buffer is declared by the annotation behind its name
    found = [(ranks.index(_kind(fact)), end - start, fact) for start, end, fact in around or after[:2]]
    return min(found, key=lambda item: item[:2])[2] if found else None


def _kind(fact: Fact) -> type[Fact]:
    return relax.Var if isinstance(fact, relax.Var) else type(fact)


def described(symbol: Symbol, fact: Fact | None) -> str:
    """Return one line about a name: its kind, and its type or domain."""
    match fact:
        case tir.Buffer():
            scope = f', scope="{fact.scope}"' if fact.scope != "global" else ""
            return f'{fact.name}: T.Buffer({_shape(fact)}, "{fact.dtype}"{scope})'
        case tir.IterVar():
            domain = f": {_domain(fact.dom.min, fact.dom.extent)}" if fact.dom is not None else ""
            return f"{fact.iter_type.value} axis {fact.var.name}{domain}"
        case tir.For():
            return f"{fact.kind.name.lower()} loop {fact.loop_var.name}: {_domain(fact.min, fact.extent)}"
        case relax.Var():
            return f"{fact.name_hint}: {fact.struct_info or 'R.Object'}"
        case tir.Var():
            return f'{fact.name}: "{fact.dtype}"'
        case None:
            return f"{symbol.kind} {symbol.name}"


def _shape(buffer: tir.Buffer) -> str:
    sizes = ", ".join(map(str, buffer.shape))
    return f"({sizes},)" if len(buffer.shape) == 1 else f"({sizes})"


def _domain(start: tir.PrimExpr, extent: tir.PrimExpr) -> str:
    if isinstance(start, tir.IntImm) and not start.value:
        return f"0 … {extent.value - 1}" if isinstance(extent, tir.IntImm) else f"0 … {extent} - 1"
    return f"from {start}, {extent} values"
