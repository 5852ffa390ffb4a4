"""Pairs of accesses that may meet, found without a comparison of all pairs.

Accesses whose loops and indices differ only in constant terms form a group. One question about two groups, in which the
terms are variables, usually proves that none of their pairs meets. Otherwise the groups are split by their terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import merge
from math import gcd
from operator import itemgetter
from typing import TypeAlias

from msgspec import Struct

from .. import tir
from ..analysis.update import key_of
from ..visit import Substitution, substitute
from .affine import all_of, is_affine
from .pairs import Twin
from .place import AccessSite, Facts, Iterate, ProgramPoint, Step
from .solve import variables
from .subject import Subject, is_write

FEW_PAIRS = 8
"""Number of pairs that are not worth grouping."""
MOST_QUESTIONS = 128
"""Maximum number of questions per buffer. Ordinary buffers need one or two; accesses that do meet need all."""
_Member: TypeAlias = tuple[int, AccessSite, tuple[int, ...]]
"""The number of an access, the access, and the constant terms of its indices."""
_Names: TypeAlias = dict[tir.Var, tir.PrimExpr]
_number = itemgetter(0)


def is_clear(subject: Subject, site: AccessSite) -> bool:
    """Whether an access certainly happens, at indices that proofs understand: conflicts of others are never certain."""
    return site.place.is_certain and all(is_affine(subject.flow.resolve(index)) for index in site.indices)


class _Form(Struct, frozen=True, eq=False):
    """The common form of a group: the indices of its first access and the loops that they depend on, with variables as
    constant terms and with loop variables that depend only on the order of these loops.
    """

    is_write: bool
    around: ProgramPoint
    """The place around the loops, shared by both runs."""
    names: _Names
    domains: dict[tir.Var, tir.Range]
    indices: tuple[tir.PrimExpr, ...]
    terms: tuple[tir.Var, ...]


class _Group(Struct, frozen=True, eq=False):
    """Accesses of one form, in order."""

    form: _Form
    members: list[_Member]

    def columns(self) -> list[tuple[int, ...]]:
        """Return the values of each term."""
        return list(zip(*[terms for _, _, terms in self.members], strict=True))

    def halves(self) -> list[_Group]:
        """Return the group split at the median of the term that differs most; only the group itself if no term differs."""
        columns = self.columns()
        spans = [max(column) - min(column) for column in columns]
        if not any(spans):
            return [self]
        widest = spans.index(max(spans))
        values = sorted(set(columns[widest]))
        middle = values[len(values) // 2]
        below = [member for member in self.members if member[2][widest] < middle]
        above = [member for member in self.members if member[2][widest] >= middle]
        return [_Group(self.form, below), _Group(self.form, above)]

    def run(self, names: _Names) -> tuple[list[tir.PrimExpr], dict[tir.Var, tir.Range]]:
        """Return the indices and the domains in a run with other variables. The values of a term form an arithmetic progression
        over a new variable.
        """
        renamed, domains = Substitution(names), dict[tir.Var, tir.Range]()
        for term, column in zip(self.form.terms, self.columns(), strict=True):
            first, step = min(column), gcd(*[value - min(column) for value in column])
            value: tir.PrimExpr = tir.IntImm(term.dtype, first)
            if step:
                count = tir.Var(term.dtype, term.name)
                extent = tir.IntImm(term.dtype, (max(column) - first) // step + 1)
                domains[count] = tir.Range(tir.IntImm(term.dtype, 0), extent)
                value = tir.Add(term.dtype, value, tir.Mul(term.dtype, count, tir.IntImm(term.dtype, step)))
            renamed[term] = value
        for var, domain in self.form.domains.items():
            domains[renamed(var)] = tir.Range(renamed(domain.min), renamed(domain.extent))
        return [renamed(index) for index in self.form.indices], domains


class Partners:
    """The accesses that may meet a store in another run, among `sites`, affine and certain accesses of one buffer.

    `shared` tells which steps around an access both runs share; `apart` is the condition that two runs differ, as in
    `pairs.Claim`.
    """

    def __init__(
        self,
        subject: Subject,
        sites: list[AccessSite],
        shared: Callable[[AccessSite], Callable[[Step], bool]],
        apart: Callable[[AccessSite, Twin], tir.PrimExpr],
    ) -> None:
        self._subject, self._shared, self._apart = subject, shared, apart
        self._numbers = {site: number for number, site in enumerate(sites)}
        self._found: dict[int, list[list[_Member]]] = {}
        self._vars: dict[tuple[str, int, str], tir.Var] = {}
        self._questions = MOST_QUESTIONS
        if sum(map(is_write, sites)) * len(sites) <= FEW_PAIRS:
            every: list[_Member] = [(number, site, ()) for number, site in enumerate(sites)]
            self._found = {number: [every] for number in range(len(sites))}
            return
        groups = self._groups(sites)
        for number, group in enumerate(groups):
            for other in groups[number:]:
                self._compare(group, other)

    def __call__(self, store: AccessSite) -> Iterator[AccessSite]:
        """Yield the accesses that may meet `store`, in order."""
        for _, site, _ in merge(*self._found.get(self._numbers[store], ()), key=_number):
            yield site

    # --- Groups

    def _groups(self, sites: list[AccessSite]) -> list[_Group]:
        found: dict[object, _Group] = {}
        for number, site in enumerate(sites):
            form, terms = self._form(site)
            ends = [end for domain in form.domains.values() for end in (domain.min, domain.extent)]
            key = (form.is_write, id(form.around), *map(key_of, ends), None, *map(key_of, form.indices))
            found.setdefault(key, _Group(form, [])).members.append((number, site, terms))
        return list(found.values())

    def _form(self, site: AccessSite) -> tuple[_Form, tuple[int, ...]]:
        """Return the form of an access, and its constant terms."""
        is_shared, loops = self._shared(site), list[Iterate]()
        around: ProgramPoint | None = site.place
        while around is not None and around.step is not None and not is_shared(around.step):
            loops += [around.step] if isinstance(around.step, Iterate) else []
            around = around.parent
        resolved = [self._subject.flow.resolve(index) for index in site.indices]
        names: _Names = {}
        domains: dict[tir.Var, tir.Range] = {}
        renamed = Substitution()
        for depth, step in enumerate(_deciding(loops, [*resolved, self._apart(site, Twin({}))])):
            names[step.var] = renamed[step.var] = var = self._var("i", depth, step.var.dtype)
            domains[var] = tir.Range(renamed(step.domain.min), renamed(step.domain.extent))
        terms = _Terms(self._var)
        indices = tuple([terms.of_sum(renamed(index)) for index in resolved])
        form = _Form(is_write(site), around or ProgramPoint(), names, domains, indices, tuple(terms.variables))
        return form, tuple(terms.values)

    def _var(self, name: str, number: int, dtype: str) -> tir.Var:
        return self._vars.setdefault((name, number, dtype), tir.Var(dtype, f"{name}{number}"))

    # --- Questions

    def _compare(self, first: _Group, second: _Group) -> None:
        """Record the pairs of two groups that are not proven apart."""
        waiting = [(first, second)] if first.form.is_write or second.form.is_write else []
        while waiting:
            first, second = waiting.pop()
            if self._is_apart(first, second):
                continue
            ours, theirs = first.halves(), second.halves()
            if self._questions <= 0 or len(ours) == len(theirs) == 1:
                for one, two in ((first, second), (second, first))[: 1 if first is second else 2]:
                    for number, _, _ in one.members:
                        self._found.setdefault(number, []).append(two.members)
            elif first is second:
                waiting += [(ours[0], ours[0]), (ours[0], ours[1]), (ours[1], ours[1])]
            else:
                waiting += [(one, two) for one in ours for two in theirs]

    def _is_apart(self, first: _Group, second: _Group) -> bool:
        """Whether no access of `first` meets one of `second` in another run."""
        if self._questions <= 0 or first.form.around is not second.form.around:
            return False
        self._questions -= 1
        primed: _Names = {}
        for depth, var in enumerate(second.form.domains):
            primed[var] = self._var("other", depth, var.dtype)
        ours, domains = first.run({})
        theirs, others = second.run(primed)
        site = first.members[0][1]
        twin = Twin({var: self._var("other", depth, var.dtype) for depth, var in enumerate(second.form.names)})
        conditions = [substitute(self._apart(site, twin), first.form.names)]
        conditions += [tir.EQ("bool", a, b) for a, b in zip(ours, theirs, strict=True)]
        outer = first.form.around.facts
        facts = Facts({**outer.domains, **domains, **others}, outer.conditions, is_certain=True)
        return all(map(is_affine, conditions)) and self._subject.solver.is_never(all_of(conditions), facts)


def _deciding(loops: list[Iterate], expressions: list[tir.PrimExpr]) -> list[Iterate]:
    """Return those of `loops`, given from the innermost, whose variables decide the values of `expressions`; the outermost first."""
    found, used = list[Iterate](), variables(expressions)
    for step in loops:
        if step.var in used:
            found.append(step)
            used |= variables((step.domain.min, step.domain.extent))
    return found[::-1]


class _Terms:
    """The constant terms of indices, replaced by variables."""

    def __init__(self, var: Callable[[str, int, str], tir.Var]) -> None:
        self.variables: list[tir.Var] = []
        self.values: list[int] = []
        self._var = var

    def of_sum(self, index: tir.PrimExpr) -> tir.PrimExpr:
        """Return `index`, a sum, with variables as constant terms; it has one, maybe zero, at its end."""
        match index:
            case tir.IntImm(value=value):
                return self._term(value, index.dtype)
            case tir.Add(a=a, b=tir.IntImm(value=value)):
                return tir.Add(index.dtype, self.inside(a), self._term(value, index.dtype))
            case tir.Sub(a=a, b=tir.IntImm(value=value)):
                return tir.Add(index.dtype, self.inside(a), self._term(-value, index.dtype))
            case _:
                return tir.Add(index.dtype, self.inside(index), self._term(0, index.dtype))

    def inside(self, expr: tir.PrimExpr) -> tir.PrimExpr:
        """Return an operand with variables as constant terms of sums in it."""
        match expr:
            case tir.Add() | tir.Sub():
                a, b = [
                    self._term(term.value, term.dtype) if isinstance(term, tir.IntImm) else self.inside(term)
                    for term in (expr.a, expr.b)
                ]
                return type(expr)(expr.dtype, a, b)
            case tir.Mul() | tir.FloorDiv() | tir.FloorMod() if isinstance(expr.b, tir.IntImm):
                return type(expr)(expr.dtype, self.inside(expr.a), expr.b)
            case _:
                return expr

    def _term(self, value: int, dtype: str) -> tir.Var:
        term = self._var("c", len(self.values), dtype)
        self.variables.append(term)
        self.values.append(value)
        return term
