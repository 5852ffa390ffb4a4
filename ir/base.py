"""What every node of the program shares: where it came from, what was written beside it, and what it is called.

Nodes are frozen and compare by identity; `tvms.ir.equal` compares them by structure. `span` and `trivia` are
outside structural equality.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, TypeAlias

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from . import script as _script
from .diagnostics import Diagnostic, UnknownName
from .operators import GraphOperators


class Source(Struct, eq=False, frozen=True, gc=False):
    """A text that was read, and the name to show for it in messages (a path, or `<string>`)."""

    name: str
    text: str

    def __repr__(self) -> str:
        return f"Source({self.name!r})"


class Span(Struct, frozen=True, gc=False):
    """The half-open range of characters `[start, end)` of `source` that a node was written as."""

    source: Source
    start: int
    end: int


class Trivia(Struct, frozen=True, gc=False):
    """Comments that belong to a statement or a function: each text starts with `#` and has no line end."""

    before: tuple[str, ...] = ()
    """Own-line comments above it."""
    after: str | None = None
    """The comment at the end of its (first) line."""
    end: tuple[str, ...] = ()
    """Own-line comments below the last statement of its body."""
    parts: tuple[tuple[str, Trivia], ...] = ()
    """Comments of declarations in its body, which are no nodes: `T.reads(…)` under the key "reads", and
    `C = T.alloc_buffer(…)` under "C"."""


class Node(Struct, frozen=True, eq=False, kw_only=True):
    """The base of everything in a program."""

    span: Span | None = None

    def script(self, dialect: str = "tvms", **options: Any) -> str:
        """Return this node as text in `dialect`: "tvms" or "tvm-0.21" (TVM: `Scriptable.script`)."""
        return _script.script(self, dialect, **options)

    def show(self, dialect: str = "tvms", **options: Any) -> None:
        """Print this node: coloured in a terminal, as HTML in a notebook (TVM: `Scriptable.show`)."""
        _script.show(self, dialect, **options)

    def same_as(self, other: object) -> bool:
        """Whether `other` is this very node."""
        return self is other

    def __str__(self) -> str:
        return _script.script(self, "tvms")

    __repr__ = __str__


class Commented(Node, frozen=True, eq=False, kw_only=True):
    """A node that comments may stand beside."""

    trivia: Trivia | None = None


Attrs: TypeAlias = dict[str, Any]
"""Attributes of a function, loop, block, operator call or module. Values are None, bool, int, float, str,
tuples and dicts of values, or nodes; `True` and `T.bool(True)` are different values. Never modified in place."""


class NamedAttrs(dict[str, Any]):
    """Attributes of an operator call, which are read as fields, too: `call.attrs.axis`."""

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(f"there is no attribute '{name}', only {', '.join(self)}")
        return self[name]


class StructInfo(Node, frozen=True, eq=False):
    """What is known of a graph-level value at compile time; the kinds stand in `tvms.ir.relax`. Compares by structure."""

    def __eq__(self, other: object) -> bool:
        from .equal import structural_equal

        return isinstance(other, StructInfo) and (self is other or structural_equal(self, other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        from .equal import structural_hash

        return hash(structural_hash(self))


class RelaxExpr(GraphOperators, Node, frozen=True, eq=False, kw_only=True):
    """A graph-level value: `relax.Expr`, a function, or a reference to one (TVM: `tvm.ir.RelaxExpr`)."""

    struct_info: StructInfo | None = None

    @property
    def struct_info_(self) -> StructInfo | None:
        """`struct_info`, as TVM's own code calls it where it may be unknown."""
        return self.struct_info

    @property
    def ty(self) -> StructInfo | None:
        """`struct_info`, as TVM 0.27 calls it."""
        return self.struct_info


class Op(Node, frozen=True, eq=False):
    """An operator or intrinsic, by its registered name, such as `tir.exp` or `relax.matmul`.

    What is known of it (arity, dtype rule, meaning) stands in `tvms.ir.ops`, looked up by `name`.
    """

    name: str

    @staticmethod
    def get(op_name: str) -> Op:
        """Return the operator or intrinsic that is registered as `op_name`; TvmsError E0301 where none is."""
        from .ops import registry, tir

        if registry.find(op_name) is None and tir.get(op_name) is None:
            from difflib import get_close_matches

            from .diagnostics import error

            near = get_close_matches(op_name, (*registry.relax_ops(), *tir.INTRINSICS), 1)
            hint = f"did you mean '{near[0]}'?" if near else "names begin with 'relax.' or 'tir.'"
            raise error("E0301", f"there is no operator '{op_name}'", help=hint)
        return Op(op_name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Op) and other.name == self.name

    def __ne__(self, other: object) -> bool:  # Struct's own goes by identity
        return not self == other

    def __hash__(self) -> int:
        return hash(self.name)


class GlobalVar(RelaxExpr, frozen=True, eq=False):
    """A reference to a function of the module, by name."""

    name_hint: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlobalVar) and other.name_hint == self.name_hint

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.name_hint)


class Attributed(Struct, frozen=True, eq=False):
    """What has attributes that can be set: functions and modules."""

    def with_attr(self, attr_key_or_dict: str | Attrs, attr_value: Any = None) -> Self:
        """Return a copy with an attribute, or all of a dictionary, set."""
        new = {attr_key_or_dict: attr_value} if isinstance(attr_key_or_dict, str) else attr_key_or_dict
        return replace(self, attrs={**self._attrs, **new})

    def with_attrs(self, attr_map: Attrs) -> Self:
        """Return a copy with all attributes of a dictionary set."""
        return self.with_attr(attr_map)

    def without_attr(self, attr_key: str) -> Self:
        """Return a copy without an attribute."""
        return replace(self, attrs={key: value for key, value in self._attrs.items() if key != attr_key})

    @property
    def _attrs(self) -> Attrs:
        return getattr(self, "attrs")  # noqa: B009


class BaseFunc(RelaxExpr, Attributed, frozen=True, eq=False, kw_only=True):
    """A function of a module: `tir.PrimFunc`, `relax.Function` or `relax.ExternFunc`."""

    attrs: Attrs = {}
    trivia: Trivia | None = None


class GlobalInfo(Node, frozen=True, eq=False):
    """Information that a whole module shares, listed in `IRModule.global_infos`."""


class DummyGlobalInfo(GlobalInfo, frozen=True, eq=False):
    """`I.dummy_global_info()`."""


class VDevice(GlobalInfo, frozen=True, eq=False):
    """`I.vdevice(target, vdevice_id, memory_scope)`: where a tensor lives."""

    target: Attrs
    vdevice_id: int = 0
    memory_scope: str = "global"


class Target(Node, frozen=True, eq=False):
    """`T.target({"kind": "cuda"})`: what to compile for; its host is the attribute "host"."""

    attrs: Attrs


class Metadata(Node, frozen=True, eq=False):
    """`metadata["relax.expr.Constant"][0]`: an object whose contents TVM printed elsewhere, or nowhere."""

    key: str
    index: int


EXTERNAL_MODULES = "external_mods"
"""The attribute of a module that lists what libraries made of its functions."""


class IRModule(Node, Attributed, frozen=True, eq=False):
    """A module: its functions by name, in the order of their definition (TVM: `tvm.IRModule`)."""

    functions: dict[str, BaseFunc]
    attrs: Attrs = {}
    global_infos: dict[str, tuple[GlobalInfo, ...]] = {}
    name: str = "Module"
    trivia: Trivia | None = None
    schedules: dict[str, Node] = {}
    """The schedules of its loop-level functions (`tvms.ir.schedule.text.ScheduleText`), by name. Apache TVM has no
    text for them: its dialects leave them out."""

    def __getitem__(self, name: str | GlobalVar) -> BaseFunc:
        """Return the function `name`; UnknownName, a KeyError with E0102, if there is none."""
        key = name.name_hint if isinstance(name, GlobalVar) else name
        if key not in self.functions:
            help = f"it has {', '.join(self.functions) or 'no functions'}"
            raise UnknownName(Diagnostic("E0102", f"the module has no function '{key}'", None, help))
        return self.functions[key]

    def __setitem__(self, name: str | GlobalVar, function: BaseFunc) -> None:
        """Let `name` stand for a function in this module; in no other, also where they had their functions in common."""
        self.update({name: function})

    def update(self, other: IRModule | Mapping[str | GlobalVar, BaseFunc]) -> None:
        """Take the functions of another module, or of a mapping, in the place of those with the same names."""
        given = other.functions if isinstance(other, IRModule) else other
        named = {key.name_hint if isinstance(key, GlobalVar) else key: each for key, each in given.items()}
        force_setattr(self, "functions", {**self.functions, **named})

    def update_func(self, var: str | GlobalVar, func: BaseFunc) -> None:
        """Put a function in the place of the one that `var` refers to."""
        self[var] = func

    def update_global_info(self, name: str, global_info: Sequence[GlobalInfo]) -> None:
        """Let `global_info` be what the module shares under `name`."""
        force_setattr(self, "global_infos", {**self.global_infos, name: tuple(global_info)})

    def clone(self) -> IRModule:
        """Return a module of the same functions, which changes on its own."""
        return replace(self)

    def __contains__(self, name: object) -> bool:
        return (name.name_hint if isinstance(name, GlobalVar) else name) in self.functions

    def get_global_var(self, name: str) -> GlobalVar:
        """Return the reference to function `name`; KeyError where there is none."""
        if name not in self.functions:
            raise KeyError(name)
        return GlobalVar(name)

    def get_global_vars(self) -> list[GlobalVar]:
        """Return the references to all functions."""
        return [GlobalVar(name) for name in self.functions]

    def functions_items(self) -> list[tuple[GlobalVar, BaseFunc]]:
        """Return all functions, each with the reference to it."""
        return [(GlobalVar(name), function) for name, function in self.functions.items()]

    @staticmethod
    def from_expr(expr: BaseFunc) -> IRModule:
        """Return the module that holds one function, by its global symbol, or as `main`."""
        return IRModule({expr.attrs.get("global_symbol", "main"): expr})
