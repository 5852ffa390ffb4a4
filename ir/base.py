"""What all nodes of a program share: source position, comments, and names.

Nodes are frozen and compare by identity; `tvms.ir.equal` compares them by structure. `span` and `trivia` are
not part of structural equality.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from . import hooks
from . import script as _script
from .diagnostics import Diagnostic, Span, UnknownName
from .diagnostics import Source as Source
from .operators import GraphOperators


class Trivia(Struct, frozen=True, gc=False):
    """Comments that belong to a statement or a function: each text starts with `#` and has no line end."""

    before: tuple[str, ...] = ()
    """Own-line comments above the statement."""
    after: str | None = None
    """The comment at the end of the (first) line."""
    end: tuple[str, ...] = ()
    """Own-line comments after the last statement of the body."""
    parts: tuple[tuple[str, Trivia], ...] = ()
    """Comments of declarations in the body that are not nodes: `T.reads(…)` under the key "reads", and
    `C = T.alloc_buffer(…)` under "C".
    """

    def __bool__(self) -> bool:
        """Return whether there is a comment: a statement with empty trivia prints like one without."""
        return bool(self.before or self.after or self.end or self.parts)


class Node(Struct, frozen=True, eq=False, kw_only=True):
    """Base class of all nodes of a program."""

    span: Span | None = None

    def script(self, dialect: str = "tvms", **options: Any) -> str:
        """Return this node as text in `dialect`, "tvms" or "tvm-0.21" (TVM: `Scriptable.script`)."""
        return _script.script(self, dialect, **options)

    def show(self, dialect: str = "tvms", **options: Any) -> None:
        """Print this node, colored in a terminal and as HTML in a notebook (TVM: `Scriptable.show`)."""
        _script.show(self, dialect, **options)

    def same_as(self, other: object) -> bool:
        """Whether `other` is the same object."""
        return self is other

    def __str__(self) -> str:
        return _script.script(self, "tvms")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return this node as HTML, for notebooks."""
        return _script.html(self)


class Commented(Node, frozen=True, eq=False, kw_only=True):
    """A node that can have comments."""

    trivia: Trivia | None = None


Attrs: TypeAlias = dict[str, Any]
"""Attributes of a function, loop, block, operator call or module. Values are None, bool, int, float, str,
tuples and dicts of values, or nodes; `True` and `T.bool(True)` are different values. Never modified in place."""


class NamedAttrs(dict[str, Any]):
    """Attributes of an operator call, also readable as fields: `call.attrs.axis`. Integers are then `Integer`, also in lists."""

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(f"there is no attribute '{name}', only {', '.join(self)}")
        return _with_integers(self[name])


class Integer(int):
    """An integer attribute, as programs read it: a number as in TVM 0.27, with the members of a constant of dtype int64, which it
    is in TVM 0.21: `call.attrs.strides[0].value`.
    """

    __slots__ = ()
    dtype = "int64"

    @property
    def value(self) -> int:
        """The plain number."""
        return int(self)

    @property
    def ty(self) -> Any:
        """The type of the number in TVM 0.27."""
        return hooks.call("prim_type", self.dtype)


def _with_integers(value: Any) -> Any:
    """Return the value of an attribute with its integers as `Integer`."""
    if isinstance(value, tuple):
        return tuple([_with_integers(item) for item in cast("tuple[Any, ...]", value)])
    return Integer(value) if type(value) is int else value


class StructInfo(Node, frozen=True, eq=False):
    """Static information about a graph-level value; `tvms.ir.relax` defines the kinds. Compares by structure."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StructInfo) and (self is other or hooks.call("structural_equal", self, other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(hooks.call("structural_hash", self))

    def is_missing(self) -> bool:
        """Return whether this is the type of a value whose type is not known yet (TVM 0.27)."""
        return False

    def as_type(self) -> StructInfo:
        """Return this struct info as the type of a value in TVM 0.27."""
        return self

    def is_base_of(self, derived: StructInfo) -> bool:
        """Return whether every value of `derived` also matches this struct info."""
        return hooks.call("is_base_of", self, derived)


class MissingType(StructInfo, frozen=True, eq=False):
    """The `ty` of a value whose type is not known yet. It never occurs in a program."""

    def is_missing(self) -> bool:
        """Return whether the type is not known yet, as is the case here."""
        return True


class RelaxExpr(GraphOperators["RelaxExpr"], Node, frozen=True, eq=False, kw_only=True):
    """A graph-level value: `relax.Expr`, a function, or a reference to one (TVM: `tvm.ir.RelaxExpr`)."""

    struct_info: StructInfo | None = None

    @property
    def struct_info_(self) -> StructInfo | None:
        """Alias of `struct_info` (TVM: `struct_info_`, which is null if the struct info is unknown)."""
        return self.struct_info

    @property
    def ty(self) -> StructInfo:
        """TVM 0.27's name for `struct_info`. It is never None: while the type is unknown, `ty.is_missing()` is True.

        The type of a scalar is its dtype, without the value that `struct_info` may know.
        """
        return MissingType() if self.struct_info is None else self.struct_info.as_type()


class Op(Node, frozen=True, eq=False):
    """An operator or intrinsic, by its registered name, such as `tir.exp` or `relax.matmul`.

    `tvms.ir.ops` holds its arity, dtype rule and semantics under `name`.
    """

    name: str

    def same_as(self, other: object) -> bool:
        """Whether `other` is the same operator."""
        return isinstance(other, Op) and self.name == other.name

    @staticmethod
    def get(op_name: str) -> Op:
        """Return the operator or intrinsic that is registered as `op_name`; TvmsError E0301 if there is none."""
        hooks.call("check_operator", op_name)
        return Op(op_name)

    def get_attr(self, attr_name: str) -> Any:
        """Return what is known of this operator under TVM's name, such as "FPrimalGradient", its gradient; None if nothing is."""
        return hooks.call("operator_attribute", self.name, attr_name)

    def reset_attr(self, attr_name: str) -> None:
        """Remove an attribute that `tvms.ir.register_op_attr` gave to this operator."""
        hooks.call("reset_operator_attribute", self.name, attr_name)

    def has_attr(self, attr_name: str) -> bool:
        """Return whether `get_attr` knows the attribute."""
        return self.get_attr(attr_name) is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Op) and other.name == self.name

    def __ne__(self, other: object) -> bool:  # Struct's own hash is by identity
        return not self == other

    def __hash__(self) -> int:
        return hash(self.name)


class GlobalVar(RelaxExpr, frozen=True, eq=False):
    """A reference by name to a function of the module. It equals its name, so that it finds the function in a mapping."""

    name_hint: str

    def __eq__(self, other: object) -> bool:
        return self.name_hint == (other.name_hint if isinstance(other, GlobalVar) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.name_hint)


class Attributed(Struct, frozen=True, eq=False):
    """Mixin of functions and modules, whose attributes can be set."""

    def with_attr(self, attr_key_or_dict: str | Attrs, attr_value: Any = None) -> Self:
        """Return a copy with one attribute set, or all attributes of a dictionary."""
        new = {attr_key_or_dict: attr_value} if isinstance(attr_key_or_dict, str) else attr_key_or_dict
        return replace(self, attrs={**self._attrs, **new})

    def with_attrs(self, attr_map: Attrs) -> Self:
        """Return a copy with all attributes of a dictionary set."""
        return self.with_attr(attr_map)

    def without_attr(self, attr_key: str) -> Self:
        """Return a copy without the attribute."""
        return replace(self, attrs={key: value for key, value in self._attrs.items() if key != attr_key})

    @property
    def _attrs(self) -> Attrs:
        return getattr(self, "attrs")  # noqa: B009


class BaseFunc(RelaxExpr, Attributed, frozen=True, eq=False, kw_only=True, weakref=True):
    """A function of a module: `tir.PrimFunc`, `relax.Function` or `relax.ExternFunc`."""

    attrs: Attrs = {}
    trivia: Trivia | None = None


class GlobalInfo(Node, frozen=True, eq=False):
    """Information that belongs to a whole module, listed in `IRModule.global_infos`."""


class DummyGlobalInfo(GlobalInfo, frozen=True, eq=False):
    """`I.dummy_global_info()`."""


class VDevice(GlobalInfo, frozen=True, eq=False):
    """`I.vdevice(target, vdevice_id, memory_scope)`: the device that holds a tensor."""

    target: Attrs
    vdevice_id: int = 0
    memory_scope: str = "global"


class Target(Node, frozen=True, eq=False):
    """`T.target({"kind": "cuda"})`: the compilation target; its host is the attribute "host"."""

    attrs: Attrs


def target_attributes(text: str) -> Attrs:
    """Return a target as attributes: "llvm -mcpu=native" gives kind and mcpu, "nvidia/a100" the tag."""
    kind, *options = text.split()
    result: Attrs = {"tag" if "/" in kind else "kind": kind}
    for option in options:
        key, _, value = option.lstrip("-").partition("=")
        result[key] = int(value) if value.isdecimal() else value or True
    return result


class Metadata(Node, frozen=True, eq=False):
    """`metadata["relax.expr.Constant"][0]`: an object whose contents TVM printed elsewhere or not at all."""

    key: str
    index: int

    @property
    def name(self) -> str:
        """The name of the object in a sidecar file."""
        return f"{self.key}[{self.index}]"


EXTERNAL_MODULES = "external_mods"
"""The module attribute that lists the external modules, which libraries compiled from its functions."""


class IRModule(Node, Attributed, frozen=True, eq=False, weakref=True):
    """A module: its functions by name, in the order of their definition (TVM: `tvm.IRModule`)."""

    functions: dict[str, BaseFunc] = {}
    attrs: Attrs = {}
    global_infos: dict[str, tuple[GlobalInfo, ...]] = {}
    name: str = "Module"
    trivia: Trivia | None = None
    schedules: dict[str, Node] = {}
    """The schedules of the module's loop functions (`tvms.ir.schedule.text.ScheduleText`), by name. Apache TVM's
    dialects omit them, because Apache TVM has no text for schedules.
    """

    def __post_init__(self) -> None:
        if not all(type(key) is str for key in self.functions):
            force_setattr(self, "functions", _by_name(self.functions))

    def __getitem__(self, name: str | GlobalVar) -> BaseFunc:
        """Return the function `name`; UnknownName, a KeyError with E0102, if there is none."""
        key = name.name_hint if isinstance(name, GlobalVar) else name
        if key not in self.functions:
            help = f"it has {', '.join(self.functions) or 'no functions'}"
            raise UnknownName(Diagnostic("E0102", f"the module has no function '{key}'", None, help))
        return self.functions[key]

    def __setitem__(self, name: str | GlobalVar, function: BaseFunc) -> None:
        """Bind `name` to a function in this module only, even if the function table was shared with other modules."""
        self.update({name: function})

    def __delitem__(self, name: str | GlobalVar) -> None:
        """Remove the function `name` from this module only; UnknownName, a KeyError with E0102, if there is none."""
        self[name]
        force_setattr(self, "functions", {key: func for key, func in self.functions.items() if key != name})

    def update(self, other: IRModule | Mapping[str | GlobalVar, BaseFunc]) -> None:
        """Add the functions of another module or of a mapping, replacing those with the same names."""
        given = other.functions if isinstance(other, IRModule) else other
        force_setattr(self, "functions", {**self.functions, **_by_name(given)})

    def update_func(self, var: str | GlobalVar, func: BaseFunc) -> None:
        """Replace the function that `var` refers to."""
        self[var] = func

    def update_global_info(self, name: str, global_info: Sequence[GlobalInfo]) -> None:
        """Set the global info `name` to `global_info`."""
        force_setattr(self, "global_infos", {**self.global_infos, name: tuple(global_info)})

    def get_attr(self, attr_key: str) -> Any:
        """Return an attribute of the module; None if it has none of that name."""
        return self.attrs.get(attr_key)

    def clone(self) -> IRModule:
        """Return a module with the same functions that can be changed independently."""
        return replace(self)

    def __contains__(self, name: object) -> bool:
        return (name.name_hint if isinstance(name, GlobalVar) else name) in self.functions

    def get_global_var(self, name: str) -> GlobalVar:
        """Return the reference to function `name`, with the struct info of the function; KeyError if there is none."""
        if name not in self.functions:
            raise KeyError(name)
        return GlobalVar(name, struct_info=hooks.call("function_struct_info", self.functions[name]))

    def get_global_vars(self) -> list[GlobalVar]:
        """Return the references to all functions."""
        return [self.get_global_var(name) for name in self.functions]

    def functions_items(self) -> list[tuple[GlobalVar, BaseFunc]]:
        """Return pairs of a reference and its function, for all functions."""
        return [(self.get_global_var(name), function) for name, function in self.functions.items()]

    @staticmethod
    def from_expr(expr: BaseFunc) -> IRModule:
        """Return the module that holds one function, under its global symbol or `main`."""
        return IRModule({expr.attrs.get("global_symbol", "main"): expr})


def _by_name(functions: Mapping[str | GlobalVar, BaseFunc] | Mapping[str, BaseFunc]) -> dict[str, BaseFunc]:
    return {key.name_hint if isinstance(key, GlobalVar) else key: function for key, function in functions.items()}


def get_first_structural_mismatch(lhs: Any, rhs: Any, map_free_vars: bool = False) -> Any:
    """Return the paths to the first difference in two programs, or None; see `tvms.access_path`."""
    return hooks.call("first_structural_mismatch", lhs, rhs, map_free_vars)


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raise ValueError with the first difference unless two programs are equal up to names (TVM: `tvm.ir.base`)."""
    hooks.call("assert_structural_equal", lhs, rhs, map_free_vars)
