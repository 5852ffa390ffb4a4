"""Conflicts between two runs of a part of a program: do both access one element?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from .. import tir
from ..analysis.update import Key, key_of
from ..equal import structural_equal
from ..visit import children, substitute, walk
from .affine import all_of, any_of, is_affine
from .place import AccessSite, Facts, Iterate, Step, Where
from .solve import Values
from .subject import Subject, is_known, is_write


class Twin(Struct, frozen=True, eq=False):
    """The renaming of loop variables for a second run of an inner part of the program."""

    names: dict[tir.Var, tir.Var]

    @staticmethod
    def of(site: AccessSite, is_shared: Callable[[Step], bool]) -> Twin:
        """Rename the loops around `site`, from the innermost to the first step that is shared with the first run."""
        names: dict[tir.Var, tir.Var] = {}
        for step in site.place.steps():
            if is_shared(step):
                break
            if isinstance(step, Iterate):
                names[step.var] = tir.Var(step.var.dtype, step.var.name)
        return Twin(names)

    def __call__(self, expr: tir.PrimExpr) -> tir.PrimExpr:
        """Return `expr` in the second run."""
        return substitute(expr, self.names)

    def facts(self, site: AccessSite) -> Facts:
        """Return the facts at `site` in the second run."""
        steps = list(site.place.steps())
        domains = {
            self.names.get(step.var, step.var): tir.Range(self(step.domain.min), self(step.domain.extent))
            for step in reversed(steps)
            if isinstance(step, Iterate)
        }
        conditions = tuple([self(step.condition) for step in steps if isinstance(step, Where)])
        return Facts(domains, conditions, site.place.is_certain)

    def values(self, values: Values) -> Values:
        """Return the values of the second run, by the names of the first."""
        return {**values, **{var: values[other] for var, other in self.names.items() if other in values}}


class Claim(Struct, frozen=True, eq=False):
    """The condition on two runs: loops inside of all `is_shared` steps run twice, independently.

    `apart` is the condition that the second run must not conflict with the first, `same` that two renamed runs are the same
    run.
    """

    is_shared: Callable[[Step], bool]
    apart: Callable[[Twin], tir.PrimExpr]
    same: Callable[[Twin, Twin], tir.PrimExpr]


def meet(
    subject: Subject, claim: Claim, first: AccessSite, second: AccessSite, sites: Iterable[AccessSite]
) -> tuple[Twin, Values] | None:
    """Return a second run, and values for which both runs access one element: `first` by a store, `second` by any access.

    Two stores conflict only if their values can differ; a load conflicts only if no store of its own run, among `sites`,
    may have written the element.
    """
    solver, flow = subject.solver, subject.flow
    twin = Twin.of(second, claim.is_shared)
    here, there = first.place.facts, twin.facts(second)
    facts = joined(here, there)
    conditions = [claim.apart(twin)]
    for a, b in zip(first.indices, second.indices, strict=True):
        conditions.append(tir.EQ("bool", flow.resolve(a), twin(flow.resolve(b))))
    if is_write(second) and not is_update(subject, first):
        differs = _values_differ(subject, first, second, twin)
        if differs is None:
            return None
        conditions.append(differs)
    if not all(map(is_affine, conditions)):
        return None
    values = solver.ask(all_of(conditions), facts).values
    if values is None or (not is_write(second) and _writes_before(subject, claim, twin, values, second, sites)):
        return None
    return twin, values


def joined(*facts: Facts) -> Facts:
    """Return the conjunction of several facts."""
    domains = {var: domain for fact in facts for var, domain in fact.domains.items()}
    conditions = tuple([condition for fact in facts for condition in fact.conditions])
    return Facts(domains, conditions, all(fact.is_certain for fact in facts))


def _writes_before(
    subject: Subject, claim: Claim, twin: Twin, values: Values, read: AccessSite, sites: Iterable[AccessSite]
) -> bool:
    """Whether the run that reads may itself have written the element."""
    pins = tuple([tir.EQ("bool", var, tir.IntImm(var.dtype, value)) for var, value in values.items()])
    for site in sites:
        if not is_write(site) or site.buffer is not read.buffer:
            continue
        third = Twin.of(site, claim.is_shared)
        same = [claim.same(twin, third)]
        for a, b in zip(read.indices, site.indices, strict=True):
            same.append(tir.EQ("bool", twin(subject.flow.resolve(a)), third(subject.flow.resolve(b))))
        facts = joined(twin.facts(read), third.facts(site), Facts({}, pins, is_certain=True))
        if not subject.solver.ask(all_of(same), facts).is_safe:
            return True
    return False


def is_update(subject: Subject, site: AccessSite) -> bool:
    """Whether an access is a store that computes its value from the element that it replaces."""
    store = site.node
    if not isinstance(store, tir.BufferStore):
        return False
    if _reads(store.value, store.buffer, store.indices) or _reads_element(subject, store.value, site):
        return True
    variables = dict.fromkeys(inner for inner in walk(store.value) if isinstance(inner, tir.Var))
    bound = [value for variable in variables if (value := subject.flow.resolve(variable)) is not variable]
    indices = [subject.flow.resolve(index) for index in store.indices] if bound else ()
    return any(_reads(value, store.buffer, indices) for value in bound)


def _reads_element(subject: Subject, value: tir.PrimExpr, site: AccessSite) -> bool:
    """Whether a value is computed from the element of `site`, perhaps through another buffer."""
    if site.element is None:
        return False
    others = [subject.flow.elements.get(node) for node in walk(value) if isinstance(node, tir.BufferLoad)]
    return any(
        other is not None
        and other.buffer is site.element.buffer
        and structural_equal(other.indices, site.element.indices)
        for other in others
    )


def _reads(value: tir.PrimExpr, buffer: tir.Buffer, indices: Sequence[tir.PrimExpr]) -> bool:
    return any(
        isinstance(node, tir.BufferLoad) and node.buffer is buffer and structural_equal(node.indices, tuple(indices))
        for node in walk(value)
    )


def _values_differ(subject: Subject, first: AccessSite, second: AccessSite, twin: Twin) -> tir.PrimExpr | None:
    """Return a condition under which two stores write values that can differ, or None if there is none."""
    a, b = first.node, second.node
    assert isinstance(a, tir.BufferStore)
    assert isinstance(b, tir.BufferStore)
    if first is not second:
        differ = _deciding(subject, a.value) or _deciding(subject, b.value) or _are_constants(a.value, b.value)
        return tir.IntImm("bool", 1) if differ and not structural_equal(a.value, b.value) else None
    parts = [subject.flow.resolve(part) for part in deciding(subject, first)]
    pairs = [(part, twin(part)) for part in parts if is_affine(part)]
    differing: list[tir.PrimExpr] = [tir.NE("bool", x, y) for x, y in pairs if x is not y]
    return any_of(differing) if differing else None


class Stored:
    """The values of stores, compared in constant time."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._classes: dict[Key, list[tir.PrimExpr]] = {}
        self._known: dict[AccessSite, tuple[bool, bool, bool, tir.PrimExpr]] = {}

    def may_differ(self, first: AccessSite, second: AccessSite) -> bool:
        """Whether two stores may conflict by their values, as `meet` judges it."""
        updates, decides, is_constant, value = self._of(first)
        _, also_decides, also_constant, other = self._of(second)
        if first is second or updates:
            return True
        return value is not other and (decides or also_decides or (is_constant and also_constant))

    def _of(self, site: AccessSite) -> tuple[bool, bool, bool, tir.PrimExpr]:
        """Return whether a store is an update, whether loads or variables decide its value, whether that is constant, and the
        first value that is equal to it.
        """
        found = self._known.get(site)
        if found is None:
            store = site.node
            assert isinstance(store, tir.BufferStore)
            alike = self._classes.setdefault(key_of(store.value), [])
            value = next((expr for expr in alike if structural_equal(expr, store.value)), None)
            if value is None:
                alike.append(value := store.value)
            decides = bool(_deciding(self._subject, store.value))
            found = is_update(self._subject, site), decides, _are_constants(store.value), value
            self._known[site] = found
        return found


def writes_alike(subject: Subject, site: AccessSite) -> bool:
    """Whether two runs of a store to one element obviously write the same value."""
    return not (is_update(subject, site) or deciding(subject, site))


def deciding(subject: Subject, site: AccessSite) -> list[tir.PrimExpr]:
    """Return the expressions that determine the value of a store, in addition to its indices."""
    store = site.node
    assert isinstance(store, tir.BufferStore)
    parts = _deciding(subject, store.value)
    return [part for part in parts if not any(structural_equal(part, index) for index in site.indices)]


def _are_constants(*values: tir.PrimExpr) -> bool:
    return all(isinstance(value, tir.IntImm | tir.FloatImm) for value in values)


def _deciding(subject: Subject, value: tir.PrimExpr) -> list[tir.PrimExpr]:
    """Return the expressions that determine a value: indices of loads from inputs, and variables."""
    found: list[tir.PrimExpr] = []
    stack: list[tir.PrimExpr] = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, tir.BufferLoad):
            if node.buffer.data in subject.inputs:
                found.extend([index for index in node.indices if is_known(index)])
        elif isinstance(node, tir.Var):
            found += [node] if node.dtype in ("int32", "int64") else []
        else:
            stack.extend([child for child in children(node) if isinstance(child, tir.PrimExpr)])
    return found


def describe(
    subject: Subject, first: AccessSite, second: AccessSite, twin: Twin, values: Values, variables: list[tir.Var]
) -> str:
    """Return "i = 0 and i = 1 both write A[0]" or "i = 0 writes A[1], which i = 1 reads", with the variables that differ."""
    there = twin.values(values)
    pairs = [(var.name, subject.value(var, values), subject.value(var, there)) for var in variables]
    one = ", ".join(f"{name} = {a}" for name, a, b in pairs if a != b)
    two = ", ".join(f"{name} = {b}" for name, a, b in pairs if a != b)
    element, other = subject.element(first, values), subject.element(second, there)
    name = "" if first.buffer is first.node.buffer or other == element else f" as {other}"
    if is_write(second):
        return f"{one} and {two} both {'update' if is_update(subject, first) else 'write'} {element}{name}"
    return f"{one} writes {element}, which {two} reads{name}"
