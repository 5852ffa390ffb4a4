"""Registry of graph-level operators. Each is declared once, in a family file of this folder, and looked up here by name."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from types import SimpleNamespace
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from ..base import Span, StructInfo
from ..diagnostics import TvmsError, error
from ..functions import register_func
from ..relax import Call, Expr

Kind: TypeAlias = Literal[
    # arguments of the call
    "expr", "opt_expr", "exprs", "tuple", "opt_tuple", "shape", "opt_shape", "sizes", "prim", "opt_prim", "string", "datatype", "opt_datatype", "callee",
    # struct info arguments of the call
    "sinfo", "sinfos",
    # attributes of the call
    "int", "opt_int", "ints", "opt_ints", "sections", "float", "opt_float", "bool", "opt_bool", "str", "opt_str", "dtype", "value",
]  # fmt: skip
"""Kind of a parameter.

expr: a value · exprs: all further positional values · tuple: a tuple of values · shape: dimensions or a value that
holds a shape · sizes: a shape, or one number for all of it · prim: a loop-level scalar · string, datatype: a literal ·
callee: a function of the module, or an external one by name · sinfo(s): struct info · sections: a count or a list of
indices · value: any attribute. `opt_…` may be omitted or None.
"""

ARGUMENT_KINDS = frozenset(
    (
        "expr",
        "opt_expr",
        "exprs",
        "tuple",
        "opt_tuple",
        "shape",
        "opt_shape",
        "sizes",
        "prim",
        "opt_prim",
        "string",
        "datatype",
        "opt_datatype",
        "callee",
    )
)
SINFO_KINDS = frozenset(("sinfo", "sinfos"))


class _Required:
    """Marks a parameter without a default."""

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = _Required()


class Param(Struct, frozen=True):
    """A parameter of an operator: its name, its kind, and its default."""

    name: str
    kind: Kind = "expr"
    default: Any = REQUIRED

    @property
    def is_argument(self) -> bool:
        return self.kind in ARGUMENT_KINDS

    @property
    def kept_default(self) -> Any:
        """The default in the form of a call's attributes: an absent dtype is "void"."""
        return "void" if self.kind == "dtype" and self.default is None else self.default

    @property
    def is_attribute(self) -> bool:
        return not self.is_argument and self.kind not in SINFO_KINDS


InferRule: TypeAlias = Callable[[Any], StructInfo]
"""Returns the struct info of a call, given as an `inference.Inference`."""
Oracle: TypeAlias = Callable[[Any, Any], Any]
Meaning: TypeAlias = Callable[[Any], Any]


class RelaxOp(Struct, frozen=True):
    """A graph-level operator.

    `infer` returns the struct info of a call. `numpy(np, a)` computes the result from arrays, and `compute(a)`, the meaning,
    from `te.Tensor`s; it returns None if it does not support the attributes. In both, `a` holds arguments and attributes by
    parameter name. An operator without `compute` cannot be legalized; one with `expand` is an abbreviation of other calls.
    """

    name: str
    params: tuple[Param, ...]
    infer: InferRule | None
    doc: str
    numpy: Oracle | None = None
    compute: Meaning | None = None
    pure: bool = True
    expand: Callable[[Any], Expr] | None = None
    complete: Callable[[dict[str, Any]], None] | None = None
    """Converts attributes to the normal form of a call, like the operator's constructor in TVM."""
    rename: Callable[[dict[str, Any]], str] | None = None
    """Returns the name of the operator if it depends on the arguments."""
    attrs_order: tuple[str, ...] = ()
    """The order of the attributes in a call, if it differs from that of the parameters."""
    args_order: tuple[str, ...] = ()
    """The order of the arguments in a call, if it differs from that of the parameters."""
    scalars: tuple[str, ...] = ()
    """Arguments that are inlined into the PrimFunc if they are constant scalars, as long as one argument remains."""
    at_run_time: bool = False
    """Whether the oracle is executed at run time, because the shape of the result depends on values: legalization turns a call
    into one of the function registered as `relax.run.<name>`.
    """
    broadcasts: bool = False
    """Whether all tensor arguments are broadcast against each other."""
    is_identity: bool = False
    """Whether a call returns its argument and is only a hint for passes before legalization."""
    normalize: Callable[[Call], Expr] | None = None
    """Returns the normal form of a call, the same object if the call has it."""
    prim_func: str = ""
    """The name of the PrimFunc after legalization; by default the last part of `name`."""

    @property
    def script_name(self) -> str:
        """The name after `R.`."""
        return self.name.removeprefix("relax.")

    @property
    def prim_func_name(self) -> str:
        return self.prim_func or self.name.rsplit(".", 1)[-1]

    @property
    def run_time_name(self) -> str:
        """The name of the registered function that computes the operator at run time."""
        return f"relax.run.{self.prim_func_name}"

    @property
    def arguments(self) -> tuple[Param, ...]:
        """The arguments in the order of a call."""
        return self._ordered([param for param in self.params if param.is_argument], self.args_order)

    @property
    def attributes(self) -> tuple[Param, ...]:
        """The attributes in the order in which a call stores and prints them."""
        return self._ordered([param for param in self.params if param.is_attribute], self.attrs_order)

    @staticmethod
    def _ordered(params: list[Param], order: tuple[str, ...]) -> tuple[Param, ...]:
        declared = {param.name: param for param in params}
        return tuple(declared[name] for name in order) if order else tuple(params)

    @property
    def signature(self) -> str:
        """The signature of the operator, for messages and documentation."""
        shown = (p.name if p.default is REQUIRED else f"{p.name}={p.default!r}" for p in self.params)
        return f"R.{self.script_name}({', '.join(shown)})"

    def python_signature(self, order: tuple[str, ...] = ()) -> inspect.Signature:
        """Return the signature for `help` and `inspect`, with the parameters in `order` first."""
        by_name = {param.name: param for param in self.params}
        kind, parameters = inspect.Parameter.POSITIONAL_OR_KEYWORD, list[inspect.Parameter]()
        for param in (*(by_name[name] for name in order), *(param for param in self.params if param.name not in order)):
            if param.kind == "exprs":
                parameters.append(inspect.Parameter(param.name, inspect.Parameter.VAR_POSITIONAL))
                kind = inspect.Parameter.KEYWORD_ONLY
                continue
            default = inspect.Parameter.empty if param.default is REQUIRED else param.default
            if (
                default is inspect.Parameter.empty
                and parameters
                and parameters[-1].default is not inspect.Parameter.empty
            ):
                kind = inspect.Parameter.KEYWORD_ONLY
            parameters.append(inspect.Parameter(param.name, kind, default=default))
        return inspect.Signature(parameters)


_FAMILIES = (
    "unary", "binary", "create", "datatype", "manipulate", "joining", "indexing", "taking", "scatter", "collapse", "layout_transform", "linear_algebra", "activation",
    "normalization", "convolution", "pooling", "padding", "attention", "loss", "statistical", "search", "sorting", "qdq",
    "image", "sampling", "regions", "roi_align", "vision", "sequences", "texts", "calls", "builtin", "grad", "distributed",
)  # fmt: skip
_ops: dict[str, RelaxOp] = {}
_declared: dict[str, list[str]] = {}
"""The names of the operators that each module of this package declares."""
_families: dict[str, tuple[str, ...]] = {}


def register(op: RelaxOp) -> RelaxOp:
    """Register `op`: family files do this once for each operator, and so may user code.

    ValueError if an operator of that name exists.
    """
    if op.name in _ops:
        raise ValueError(f"operator '{op.name}' is already registered")
    _ops[op.name] = op
    _declared.setdefault(_module_in_import(), []).append(op.name)
    if op.at_run_time:
        register_func(op.run_time_name, _computed(op))
    return op


def unregister(name: str) -> None:
    """Forget the operator `name`, if there is one."""
    _ops.pop(name, None)


def _module_in_import() -> str:
    """Return the name of the module of this package that is being imported, "" if another module or none is."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    package, _, name = str(frame.f_globals.get("__name__", "") if frame else "").rpartition(".")
    return name if package == __package__ else ""


def _computed(op: RelaxOp) -> Callable[..., Any]:
    """Return a function that computes `op` from its arguments and then its attributes, in the order of a call."""

    def compute(*args: Any) -> Any:
        names = [param.name for param in (*op.arguments, *op.attributes)]
        values = dict.fromkeys(names) | dict(zip(names, args, strict=False))
        return by_numpy(op, SimpleNamespace(**values))

    return compute


def by_numpy(op: RelaxOp, values: SimpleNamespace, span: Span | None = None) -> Any:
    """Return what the oracle of `op` computes from its arguments and attributes by name; E0712 if it fails."""
    import numpy as np

    assert op.numpy is not None
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # the mean of nothing is NaN
            return op.numpy(np, values)
    except TvmsError:
        raise
    except (ValueError, TypeError, IndexError, ArithmeticError, MemoryError) as problem:
        raise error("E0712", f"R.{op.script_name} fails on these values: {problem}", span) from None


def relax_ops() -> Mapping[str, RelaxOp]:
    """Return all operators by name (`relax.matmul`); the first call loads the families."""
    families()
    return _ops


def families() -> Mapping[str, tuple[str, ...]]:
    """Return the names of the operators of each family, in the order of their declaration, whatever was imported first."""
    if not _families:
        for family in _FAMILIES:
            import_module(f".{family}", __package__)
        _families.update({family: tuple(_declared.get(family, ())) for family in _FAMILIES})
        ordered = {name: _ops[name] for names in _families.values() for name in names}
        others = {name: op for name, op in _ops.items() if name not in ordered}
        _ops.clear()
        _ops.update(ordered | others)
    return _families


def find(name: str) -> RelaxOp | None:
    """Return the operator called `name` (`relax.matmul`), or None."""
    return relax_ops().get(name)


def get_op(name: str) -> RelaxOp:
    """Return the operator called `name`; KeyError if there is none."""
    return relax_ops()[name]
