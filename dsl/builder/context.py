"""State shared by the builders of a text: its source, its diagnostics and the values of its names.

How a builder uses it:

- `context.error(code, message, node, help)` records a diagnostic under `node` and returns the exception `Failed`:
  `raise context.error(…)` abandons the statement, and plain `context.error(…)` continues.
- `with context.recover(names):` around one statement catches `Failed`; the names that the statement would have
  defined become `POISON`, whose use raises `Failed` again without a further message.
- `context.scope` maps names to values; `with context.scope.frame():` discards on exit what was defined inside.
- `context.globals` holds the functions of the module, declared before any body is built.

Values are what `expressions.evaluate(context, node)` returns: plain Python values (None, bool, int, float, str,
tuples for tuples and lists, dicts), IR nodes, and the objects of `forms` (namespaces, forms, modules, closures).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...ir import tir
from ...ir.base import BaseFunc, GlobalInfo, GlobalVar, Node, Source, Span
from ...ir.diagnostics import Diagnostic, Note, TvmsError
from ...ir.function_table import FunctionTable, numbered
from ...ir.infer import function_struct_info
from ...ir.spelling import did_you_mean
from .. import syntax
from ..compatibility import Dialect, dialect_of, has_tiles
from .budget import Budget
from .remedies import REMEDIES, undefined

_ABSENT = object()


MAX_ERRORS = 1000


class TooManyErrors(Exception):
    """The maximum number of errors is recorded; the rest of the text is not built."""


class Failed(Exception):
    """A part of the text cannot be built; a diagnostic with the reason has been recorded."""


class Poison:
    """The value of a name whose definition failed."""


POISON = Poison()


class Binding(Struct, frozen=True):
    """The value of a name, the kind of its definition, and the depth of its frame."""

    value: Any
    depth: int
    kind: str


class Scope:
    """Names and their innermost values: a dict with an undo log, so that a look-up costs the same at any depth."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._values = dict(names)
        self._variables = [name for name, value in names.items() if isinstance(value, tir.Var)]
        """Names of variables that are defined outside all frames."""
        self._bindings: dict[str, Binding] = {}
        """Bindings of the names that a frame defines."""
        self._undo: list[dict[str, tuple[Any, Binding | None]]] = []
        """For each open frame, the names that it defines, with their previous values and bindings."""
        self._named: dict[int, Any] = {}
        """Every value that was ever named, by identity."""

    def define(self, name: str, value: Any, kind: str = "variable") -> None:
        """Bind `name` to `value`, which is a `kind`, until the innermost frame ends."""
        if self._undo:
            if name not in self._undo[-1]:
                self._undo[-1][name] = self._values.get(name, _ABSENT), self._bindings.get(name)
            self._bindings[name] = Binding(value, self.depth, kind)
        elif isinstance(value, tir.Var):
            self._variables.append(name)
        self._values[name] = value
        self._named[id(value)] = value

    def undefine(self, name: str) -> None:
        """Remove a name that is defined outside all frames."""
        self._values.pop(name, None)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of `name`."""
        return self._values.get(name, default)

    @property
    def depth(self) -> int:
        """Number of open frames."""
        return len(self._undo)

    def outer(self, depth: int) -> Scope:
        """Return a scope with the names of the outermost `depth` frames, without those that inner frames define.

        It is a view: neither scope may end a frame while the other is in use.
        """
        return _OuterScope(self, depth)

    def at_depth(self, name: str, depth: int, default: Any = None) -> Any:
        """Return the value of `name` in the outermost `depth` frames."""
        for changes in self._undo[depth:]:
            if name in changes:
                value, _ = changes[name]
                return default if value is _ABSENT else value
        return self.get(name, default)

    def binding(self, name: str) -> Binding | None:
        """Return the binding of `name` in a frame, or None."""
        return self._bindings.get(name)

    def binding_at_depth(self, name: str, depth: int) -> Binding | None:
        """Return the binding of `name` in one of the outermost `depth` frames, or None."""
        for changes in self._undo[depth:]:
            if name in changes:
                return changes[name][1]
        return self.binding(name)

    def __contains__(self, name: str) -> bool:
        return self.get(name, _ABSENT) is not _ABSENT

    def holds(self, value: object) -> bool:
        """Return whether `value` itself has, or had, a name."""
        return id(value) in self._named

    def names(self) -> Iterable[str]:
        """Return all names that are defined here."""
        return self._values.keys()

    def variables(self) -> set[tir.Var]:
        """Return the loop-level variables that have a name, in the open frames or outside all frames."""
        values = (self.get(name) for names in (self._variables, *self._undo) for name in names)
        return {value for value in values if isinstance(value, tir.Var)}

    @contextmanager
    def frame(self) -> Generator[None]:
        """Discard on exit what was defined inside."""
        self._undo.append({})
        try:
            yield
        finally:
            for name, (value, binding) in self._undo.pop().items():
                if value is _ABSENT:
                    del self._values[name]
                else:
                    self._values[name] = value
                if binding is None:
                    del self._bindings[name]
                else:
                    self._bindings[name] = binding


class _OuterScope(Scope):
    """The outermost frames of another scope, with its own frames on top."""

    def __init__(self, base: Scope, depth: int) -> None:
        super().__init__({})
        self._base, self._base_depth = base, depth
        self._named = base._named

    def get(self, name: str, default: Any = None) -> Any:
        if name in self._values:
            return self._values[name]
        return self._base.at_depth(name, self._base_depth, default)

    @property
    def depth(self) -> int:
        return self._base_depth + len(self._undo)

    def at_depth(self, name: str, depth: int, default: Any = None) -> Any:
        if depth <= self._base_depth:
            return self._base.at_depth(name, depth, default)
        return super().at_depth(name, depth - self._base_depth, default)

    def binding(self, name: str) -> Binding | None:
        return self._bindings.get(name) or self._base.binding_at_depth(name, self._base_depth)

    def binding_at_depth(self, name: str, depth: int) -> Binding | None:
        if depth <= self._base_depth:
            return self._base.binding_at_depth(name, depth)
        return super().binding_at_depth(name, depth - self._base_depth)

    def names(self) -> Iterable[str]:
        return [*(name for name in self._base.names() if name in self), *self._values]


def _is_within(inner: Span | None, outer: Span | None) -> bool:
    return inner is not None and (outer is None or (outer.start <= inner.start and inner.end <= outer.end))


class Context:
    """The state of building one text; see the module's docstring."""

    def __init__(self, source: Source, scope: Scope, is_python: bool = False) -> None:
        self.source = source
        self.scope = scope
        self.diagnostics: list[Diagnostic] = []
        self.warnings: list[Diagnostic] = []
        self.replaced_by: Callable[[Any], Any] | None = None
        """Replaces the values of names in the expression that is being read, if given."""
        dialect = dialect_of(source)
        self.is_python = is_python
        self.dialect: Dialect = "decorated" if is_python and dialect == "tvm-0.21" else dialect
        """Dialect of the text. A function in a Python program does not count as a file of TVM 0.21."""
        self.is_newer_tvm = dialect == "tvm-0.27"
        """Whether the text is written for TVM after 0.21, where `T.alloc_buffer` does not belong to a block."""
        self.has_tiles = has_tiles(source)
        """Whether the text uses the tile level of TIRX, where an access may leave out its last indices."""
        self.globals: dict[str, GlobalVar] = {}
        self.generated = FunctionTable({})
        """The loop functions that expressions of graph functions add to the module (`R.emit_te`)."""
        self.global_infos: dict[str, tuple[GlobalInfo, ...]] = {}
        """The global infos of the module (`I.module_global_infos`), known before any function is built."""
        self.type_variables: list[str] = []
        """Names that `n = TypeVar("n")` declares: each is a dimension of the functions that mention it."""
        self.tir: Any = None
        """The loop function under construction (`tir_frames.FunctionFrame`)."""
        self.in_signature = False
        """Whether the parameters of a function are being read."""
        self.wrong_functions: set[str] = set()
        """Functions with an error in their head, which is reported there. Calls of them are not built."""
        self.has_misnamed = False
        """Whether an error about the name of a function was reported: a call of an unknown function may mean that one."""
        self.uses: list[Note] = []
        """The macro uses around the statement under construction, outermost first."""
        self.budget = Budget(len(source.text))
        """Nodes that the text may still create."""
        self.unused_comments: dict[int, tuple[str, ...]] = {}
        """The comments inside each macro that has not been used yet, by the macro's offset."""

    def span(self, node: syntax.Syntax) -> Span:
        """Return the span of `node` in the text."""
        return Span(self.source, node.start, node.end)

    def error(self, code: str, message: str, node: syntax.Syntax, help: str | None = None, *notes: Note) -> Failed:
        """Record an error at `node`; return the exception to raise if the statement has to be abandoned."""
        help = help or REMEDIES.get(code)
        self.diagnostics.append(Diagnostic(code, message, self.span(node), help, (*notes, *self.uses[:1])))
        if len(self.diagnostics) >= MAX_ERRORS:
            raise TooManyErrors
        return Failed()

    def warn(self, code: str, message: str, node: syntax.Syntax, help: str, *notes: Note) -> None:
        """Record a warning: the text is accepted, but probably does not mean what its author expects."""
        if len(self.warnings) < MAX_ERRORS:
            notes = (*notes, *self.uses[:1])
            self.warnings.append(Diagnostic(code, message, self.span(node), help, notes, "warning"))

    def report(self, error: TvmsError, node: syntax.Syntax | Node) -> Failed:
        """Record errors of `ir`, each at its own span if that is within `node`, else at `node`; return what to raise.

        The span of a variable used as an operand is that of its declaration, not that of its use.
        """
        span = node.span if isinstance(node, Node) else self.span(node)
        for diagnostic in error.diagnostics:
            help = diagnostic.help or REMEDIES.get(diagnostic.code)
            notes = (*diagnostic.notes, *self.uses[:1])
            place = diagnostic.span if _is_within(diagnostic.span, span) else span
            self.diagnostics.append(replace(diagnostic, span=place, help=help, notes=notes))
        return Failed()

    def lookup(self, node: syntax.Name) -> Any:
        """Return the value of a name; raise E0101 if it is not defined."""
        value = self.scope.get(node.id, _ABSENT)
        if value is _ABSENT:
            raise self.error("E0101", f"name '{node.id}' is not defined", node, self._remedy(node.id))
        if value is POISON:
            raise Failed
        if not self.budget.use(value):
            raise self.exhausted(node)
        return value if self.replaced_by is None else self.replaced_by(value)

    def pay(self, nodes: int, node: syntax.Syntax) -> None:
        """Pay for the `nodes` that `node` creates; if the budget does not suffice, report E0010 and stop building."""
        if not self.budget.pay(nodes):
            raise self.exhausted(node)

    def exhausted(self, node: syntax.Syntax) -> TooManyErrors:
        """Record that the budget is exhausted at `node`; return the exception to raise."""
        message = f"names and macros expand to more than {self.budget.total:,} nodes"
        help = "use a loop for repetitions, or a variable or buffer for a value that is used more than once"
        self.error("E0010", message, node, help)
        return TooManyErrors()

    def _remedy(self, name: str) -> str | None:
        if self.in_signature and name in ("torch", "np", "jnp", "tf"):
            name = "Tensor"
        help = undefined(name, self.scope.names(), "R" if self.tir is None else "T")
        return help or (f'write "{name}": a string names a dimension' if self.in_signature else None)

    def add_function(self, function: BaseFunc, hint: str) -> GlobalVar:
        """Add a generated function under `hint`, with a number if that is taken; return the reference to it or to an equal one."""
        free = (name for name in numbered(hint) if name not in self.globals)
        name = self.generated.add(function, free)
        return GlobalVar(name, struct_info=function_struct_info(self.generated.functions[name]))

    def global_var(self, name: str, node: syntax.Syntax) -> GlobalVar:
        """Return the reference to function `name` of the module; raise E0102 if there is none."""
        if name in self.wrong_functions or (name not in self.globals and self.has_misnamed):
            raise Failed
        if name not in self.globals:
            help = did_you_mean(name, self.globals)
            raise self.error("E0102", f"the module has no function '{name}'", node, help)
        return self.globals[name]

    @contextmanager
    def signature(self) -> Generator[None]:
        """Mark the body of the `with` as reading the parameters of a function."""
        self.in_signature = True
        try:
            yield
        finally:
            self.in_signature = False

    @contextmanager
    def expanding(self, use: syntax.Syntax, source: Source, names: Scope) -> Generator[None]:
        """Build, inside, the expansion of `use`: a macro of `source`, in which the names of `names` are defined; errors mention
        this use.
        """
        outer, self.scope = self.scope, names
        self.uses.append(Note("in the expansion of this macro", self.span(use)))
        try:
            with self.reading(source):
                yield
        finally:
            self.scope = outer
            self.uses.pop()

    @contextmanager
    def reading(self, source: Source) -> Generator[None]:
        """Place what is built inside in `source`; a macro may be defined in another source than its use."""
        outer, self.source = self.source, source
        try:
            yield
        finally:
            self.source = outer

    @contextmanager
    def recover(self, names: Iterable[str] = ()) -> Generator[None]:
        """Continue after a statement that failed; poison `names`, which it would have defined."""
        try:
            yield
        except Failed:
            for name in names:
                self.scope.define(name, POISON)


def target_names(target: syntax.Expr | None) -> tuple[str, ...]:
    """Return the names that an assignment to `target` defines."""
    if isinstance(target, syntax.Name):
        return (target.id,)
    if isinstance(target, syntax.Tuple | syntax.List):
        return tuple(name for element in target.elements for name in target_names(element))
    if isinstance(target, syntax.Starred):
        return target_names(target.value)
    return ()
