"""Structural equality and hashing: programs that differ only in names, spans and comments are equal.

Variables and buffers are matched at their definitions (TVM: `SEqualReduce`, `DefEqual`) and must agree at every
use. All traversals are iterative. Attributes compare without order, arrays by dtype, shape and bytes, floats by sign
and value with a single NaN; `True`, 1, 1.0 and `IntImm("bool", 1)` all differ.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from enum import Enum, IntEnum
from functools import cache
from typing import Any, TypeAlias

from msgspec import Struct

from . import hooks, relax, tir
from .base import BaseFunc, GlobalVar, IRModule, Node, Op, Target
from .diagnostics import TvmsError
from .visit import field_names


class Mode(IntEnum):
    """Role of an occurrence: a use, a definition unless it is already defined, a definition, or a scope, whose names are its own.

    A pair of sequences whose elements are equal, though one of the two is shorter, is a difference.
    """

    USE = 0
    DEFINE = 1
    BIND = 2
    SCOPE = 3
    SHORTER = 4


_USE, _DEFINE, _BIND, _SCOPE, _SHORTER = Mode
_Plan: TypeAlias = tuple[tuple[str, Mode], ...]

_PLANS: dict[type[Node], str] = {
    tir.For: "loop_var! min extent kind thread_binding annotations body",
    tir.LetStmt: "value var! body",
    tir.Let: "dtype value var! body",
    tir.Allocate: "dtype extents condition annotations buffer_var! body",
    tir.AllocateConst: "dtype extents data annotations irmod_storage_idx buffer_var! body",
    tir.DeclBuffer: "buffer? body",
    tir.BufferRealize: "buffer? bounds condition body",
    tir.Block: "name_hint iter_vars alloc_buffers? match_buffers annotations reads writes init body",
    tir.MatchBufferRegion: "source buffer?",
    tir.IterVar: "dom var! iter_type thread_tag",
    tir.CommReducer: "lhs! rhs! result identity_element",
    tir.Reduce: "dtype axis combiner source condition value_index init",
    tir.IndexMap: "initial_indices! final_indices inverse_index_map",
    tir.Buffer: "data dtype shape strides elem_offset data_alignment offset_factor buffer_type axis_separators scope attrs",
    tir.PrimFunc: "params! buffers? ret_type attrs body",
    relax.Function: "params! body ret_struct_info is_pure attrs",
    relax.FuncStructInfo: "params? ret purity derive_func",
    relax.VarBinding: "value var!",
    relax.MatchCast: "value struct_info? var!",
    relax.Constant: "data",
    relax.ExternFunc: "global_symbol attrs",
    IRModule: "attrs global_infos functions~ schedules",
    GlobalVar: "name_hint",
    Op: "name",
}
"""The compared fields, in the order of definitions: `!` marks fields that define names, `?` those that may define some,
and `~` those whose values are scopes: two functions of a module may share a buffer or a variable.
"""

_SEQUENCES: Any = (tuple, list)
_MAPPING: Any = dict
_NAMES = (tir.Var, relax.Var, tir.Buffer)
_Path: TypeAlias = "tuple[_Path, str] | None"


class Difference(Struct, frozen=True):
    """The first difference of two programs: its path, written as an expression, and the two values found there."""

    path: str
    left: Any
    right: Any

    def __str__(self) -> str:
        return f"at {self.as_tvm()}: {_describe(self.left)} against {_describe(self.right)}"

    def as_tvm(self) -> str:
        """Return the path from the root, as TVM writes it: `<root>.body.blocks[0]`."""
        return f"<root>{'' if not self.path or self.path.startswith('[') else '.'}{self.path}"


@cache
def _plan(kind: type[Node]) -> _Plan:
    text = _PLANS.get(kind)
    if text is None:
        return tuple([(name, _USE) for name in field_names(kind) if name != "struct_info"])
    modes = {"!": _BIND, "?": _DEFINE, "~": _SCOPE}
    return tuple([(name.rstrip("!?~"), modes.get(name[-1], _USE)) for name in text.split()])


def _parts(node: Node, mode: Mode, as_tvm: bool) -> list[tuple[str, Any, Mode]]:
    """Return the compared parts of `node` in order, each with its label and mode."""
    if isinstance(node, tir.Block) and as_tvm:
        return [part for part in _parts(node, mode, False) if part[0] != "name_hint"]
    inherited = _DEFINE if mode in (_DEFINE, _BIND) else _USE
    if isinstance(node, relax.Function | relax.VarBinding):
        return _relax_parts(node)
    if isinstance(node, tir.PrimFunc):
        values = {"buffers": tuple([node.buffer_map.get(param) for param in node.params])}
        return [(name, values.get(name, getattr(node, name, None)), m) for name, m in _plan(type(node))]
    if isinstance(node, tir.Buffer):
        offset = node.elem_offset
        parts = [(name, getattr(node, name), inherited) for name, _ in _plan(tir.Buffer)]
        if as_tvm:  # the first use of a free buffer defines its pointer
            parts[0] = ("data", node.data, max(inherited, _DEFINE))
        if isinstance(offset, tir.IntImm) and offset.value == 0:
            parts[4] = ("elem_offset", None, inherited)
        return parts
    return [(name, getattr(node, name), max(m, inherited)) for name, m in _plan(type(node))]


def _relax_parts(node: relax.Function | relax.VarBinding) -> list[tuple[str, Any, Mode]]:
    parts = [(name, getattr(node, name), mode) for name, mode in _plan(type(node))]
    is_recursive = isinstance(node, relax.VarBinding) and isinstance(node.value, BaseFunc)
    return parts[::-1] if is_recursive else parts


def _facts(name: tir.Var | relax.Var) -> tuple[tuple[str, Any, Mode], ...]:
    """Return the properties of a variable other than its name."""
    if isinstance(name, relax.Var):
        return (("struct_info", name.struct_info, _DEFINE),)
    annotation = name.type_annotation
    if isinstance(annotation, tir.PrimType) and annotation.dtype == name.dtype:
        annotation = None
    return (("dtype", name.dtype, _USE), ("type_annotation", annotation, _USE))


class _Comparison:
    def __init__(self, map_free_vars: bool, as_tvm: bool) -> None:
        self.as_tvm = as_tvm
        self.forward: dict[Node, Node] = {}
        self.backward: dict[Node, Node] = {}
        self.map_free_vars = map_free_vars
        self.stack: list[tuple[Any, Any, Mode, _Path]] = []

    def run(self, a: Any, b: Any) -> tuple[_Path, Any, Any] | None:
        """Return the first difference, or None."""
        self.stack.append((a, b, _USE, None))
        while self.stack:
            left, right, mode, path = self.stack.pop()
            if mode is _SHORTER:
                return path, left, right
            if self.as_tvm and type(left) is not type(right):
                left, right = _as_integer(left), _as_integer(right)
            if isinstance(left, Node) and isinstance(right, Node):
                same = type(left) is type(right) and self._compare_nodes(left, right, mode, path)
            else:
                same = self._compare_values(left, right, mode, path)
            if not same:
                return path, left, right
        return None

    def _push(self, parts: Sequence[tuple[str, Any, Any, Mode]], path: _Path) -> None:
        for label, left, right, mode in reversed(parts):
            self.stack.append((left, right, mode, (path, label)))

    def _compare_nodes(self, left: Node, right: Node, mode: Mode, path: _Path) -> bool:
        if isinstance(left, _NAMES):
            known = self._match(left, right, mode)
            if known is not None:
                return known
        elif mode is _SCOPE:
            self.forward.clear()
            self.backward.clear()
        pairs = zip(self._shape(left, mode), self._shape(right, mode), strict=True)
        self._push([(label, value, other, m) for (label, value, m), (_, other, _) in pairs], path)
        return True

    def _shape(self, node: Node, mode: Mode) -> Sequence[tuple[str, Any, Mode]]:
        return _facts(node) if isinstance(node, tir.Var | relax.Var) else _parts(node, mode, self.as_tvm)

    def _match(self, left: Node, right: Node, mode: Mode) -> bool | None:
        """Match two names; None if their properties must still be compared."""
        known, other = self.forward.get(left), self.backward.get(right)
        if mode is not _BIND and (known is not None or other is not None):
            return known == right and other == left
        free = mode is _USE and not self.map_free_vars
        if free and left != right and not isinstance(left, tir.Buffer):
            return False
        self.forward[left], self.backward[right] = right, left
        return None

    def _compare_values(self, left: Any, right: Any, mode: Mode, path: _Path) -> bool:
        if isinstance(left, _SEQUENCES) and isinstance(right, _SEQUENCES):
            pairs: list[tuple[Any, Any]] = list(zip(left, right, strict=False))
            is_same = len(left) == len(right)
            if self.as_tvm and not is_same:  # an element that differs is the more useful difference
                self.stack.append((left, right, _SHORTER, path))
                is_same = True
            self._push([(f"[{index}]", a, b, mode) for index, (a, b) in enumerate(pairs)], path)
            return is_same
        if isinstance(left, _MAPPING) and isinstance(right, _MAPPING):
            keys: set[str] = set(left) & set(right)
            if self.as_tvm:
                left, right = _with_targets(left), _with_targets(right)
            self._push([(f"[{key!r}]", left[key], right[key], mode) for key in sorted(keys)], path)
            return len(keys) == len(left) == len(right)
        return _atom(left) == _atom(right)


def _as_integer(value: Any) -> Any:
    """Return the integer of a node of int32, which TVM 0.21 stores in annotations where the newest TVM stores the integer."""
    return value.value if isinstance(value, tir.IntImm) and value.dtype == "int32" else value


def _with_targets(attrs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return attributes in which a target has one form: a text or a `T.target`, with or without options that have their default."""
    target = attrs.get("target")
    if not isinstance(target, str | Target) or not hooks.is_defined("target"):
        return attrs
    try:
        whole = hooks.call("target", target.attrs if isinstance(target, Target) else target)
    except TvmsError:  # a kind of target that tvms does not know
        return attrs
    host = getattr(target, "host", None) or whole.host
    return {**attrs, "target": (str(whole), str(host) if host else None)}


def _atom(value: Any) -> Any:
    """Return a hashable value that is the same for equal values only."""
    if isinstance(value, float):
        return ("float", "nan" if math.isnan(value) else (value, math.copysign(1.0, value)))
    if isinstance(value, Enum):
        return (type(value).__name__, value.name)
    if hasattr(value, "tobytes"):
        return ("array", str(value.dtype), tuple(value.shape), value.tobytes())
    return (type(value).__name__, value)


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False, *, as_tvm: bool = False) -> bool:
    """Whether two nodes (or tuples, attributes, … of nodes) are the same program.

    With `map_free_vars`, free variables are also matched in order; otherwise they must be the same objects. With `as_tvm`,
    names of blocks, by which schedules find them, do not count, an integer of an annotation is the same as its node, and buffers
    that are not declared are matched in order.
    """
    return _Comparison(map_free_vars, as_tvm).run(lhs, rhs) is None


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False, *, as_tvm: bool = False) -> None:
    """Raise ValueError with the first difference of two nodes, unless they are the same program."""
    difference = first_difference(lhs, rhs, map_free_vars, as_tvm=as_tvm)
    if difference is not None:
        raise ValueError(f"the programs differ: {difference}")


def first_difference(a: Any, b: Any, map_free_vars: bool = False, *, as_tvm: bool = False) -> Difference | None:
    """Return the first difference of two programs, or None if they are equal."""
    found = difference_with_labels(a, b, map_free_vars, as_tvm=as_tvm)
    if found is None:
        return None
    labels, left, right = found
    path = "".join([label if label.startswith("[") else f".{label}" for label in labels])
    return Difference(path.removeprefix("."), left, right)


def difference_with_labels(
    a: Any, b: Any, map_free_vars: bool = False, *, as_tvm: bool = False
) -> tuple[list[str], Any, Any] | None:
    """Return the first difference of two programs, or None: names of fields, and indices and keys in brackets, and both values."""
    found = _Comparison(map_free_vars, as_tvm).run(a, b)
    if found is None:
        return None
    path, left, right = found
    labels: list[str] = []
    while path is not None:
        path, label = path
        labels.append(label)
    return labels[::-1], left, right


def structural_hash(node: Any, map_free_vars: bool = False, *, as_tvm: bool = False) -> int:
    """Return a 64-bit hash that is the same for equal programs, in every process.

    Unless `map_free_vars` is set, free variables are hashed by identity, so the hash is valid in this process only.
    """
    digest = hashlib.blake2b(digest_size=8)
    numbers: dict[Node, int] = {}
    bound = 0
    stack: list[tuple[Any, Mode]] = [(node, _USE)]
    while stack:
        value, mode = stack.pop()
        if as_tvm:
            value = _as_integer(value)
        if isinstance(value, _NAMES):
            number = None if mode is _BIND else numbers.get(value)
            if number is None:
                numbers[value] = bound
                bound += 1
                free = mode is _USE and not map_free_vars and not isinstance(value, tir.Buffer)
                number = abs(hash(value)) if free else -1
            digest.update(f"{type(value).__name__} {number};".encode())
            if number >= 0:
                continue
            parts = _facts(value) if not isinstance(value, tir.Buffer) else _parts(value, mode, as_tvm)
            stack.extend([(part, m) for _, part, m in reversed(parts)])
        elif isinstance(value, Node):
            if mode is _SCOPE:
                numbers.clear()
            digest.update(f"{type(value).__name__};".encode())
            stack.extend([(part, m) for _, part, m in reversed(_parts(value, mode, as_tvm))])
        elif isinstance(value, _SEQUENCES):
            digest.update(f"tuple {len(value)};".encode())
            stack.extend([(element, mode) for element in reversed(value)])
        elif isinstance(value, _MAPPING):
            keys: list[str] = sorted(value)
            value = _with_targets(value) if as_tvm else value
            digest.update(f"dict {keys};".encode())
            stack.extend([(value[key], mode) for key in reversed(keys)])
        elif hasattr(value, "tobytes"):
            digest.update(f"array {value.dtype} {tuple(value.shape)};".encode())
            digest.update(value.tobytes())
        else:
            digest.update(repr(_atom(value)).encode() + b";")
    return int.from_bytes(digest.digest(), "big")


def _describe(value: Any) -> str:
    if isinstance(value, tir.Var | tir.Buffer):
        return f"{type(value).__name__} '{value.name}'"
    if isinstance(value, Node):
        return f"a {type(value).__name__}"
    if isinstance(value, _SEQUENCES):
        return f"{len(value)} elements"
    return "an array" if hasattr(value, "tobytes") else repr(value)
