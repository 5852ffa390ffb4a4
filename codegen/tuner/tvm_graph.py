"""Modules of loop functions in the JSON of apache-tvm 0.27 (`tvm.ir.save_json`): a list of typed nodes, children before parents.

Both directions follow the same table of nodes. What is not in it, such as statements without blocks, cannot be represented: E0018.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from typing import Any

from ...ir import tir
from ...ir.base import IRModule, Op
from ...ir.deep import deep
from ...ir.diagnostics import TvmsError, error
from ...ir.equal import structural_hash
from ...ir.schedule.trace import Trace
from ...ir.schedule.trace_forms import TERMS

_BINARY = {
    f"prim.{node.__name__}": node
    for node in (
        tir.Add, tir.Sub, tir.Mul, tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod, tir.Min, tir.Max, tir.EQ, tir.NE, tir.LT,
        tir.LE, tir.GT, tir.GE, tir.And, tir.Or,
    )
}  # fmt: skip
_NODES: dict[str, tuple[type[Any], dict[str, str]]] = {
    **{name: (node, {"a": "node", "b": "node"}) for name, node in _BINARY.items()},
    "prim.Not": (tir.Not, {"a": "node"}),
    "prim.Cast": (tir.Cast, {"value": "node"}),
    "prim.Select": (tir.Select, {"condition": "node", "true_value": "node", "false_value": "node"}),
    "prim.Ramp": (tir.Ramp, {"base": "node", "stride": "node", "lanes": "node"}),
    "prim.Broadcast": (tir.Broadcast, {"value": "node", "lanes": "node"}),
    "ir.IntImm": (tir.IntImm, {"value": "object"}),
    "ir.FloatImm": (tir.FloatImm, {"value": "plain"}),
    "ir.TensorLoad": (tir.BufferLoad, {"source": "node", "indices": "nodes"}),
    "ir.Range": (tir.Range, {"min": "node", "extent": "node"}),
    "ir.TensorRegion": (tir.BufferRegion, {"source": "node", "region": "nodes"}),
    "s_tir.MatchBufferRegion": (tir.MatchBufferRegion, {"buffer": "node", "source": "node"}),
    "tirx.BufferStore": (tir.BufferStore, {"buffer": "node", "value": "node", "indices": "nodes"}),
    "tirx.SeqStmt": (tir.SeqStmt, {"seq": "nodes"}),
    "tirx.IfThenElse": (tir.IfThenElse, {"condition": "node", "then_case": "node", "else_case": "node"}),
    "tirx.Evaluate": (tir.Evaluate, {"value": "node"}),
    "tirx.While": (tir.While, {"condition": "node", "body": "node"}),
    "s_tir.SBlockRealize": (tir.BlockRealize, {"iter_values": "nodes", "predicate": "node", "block": "node"}),
    "s_tir.SBlock": (
        tir.Block,
        {
            "iter_vars": "nodes", "reads": "nodes", "writes": "nodes", "name_hint": "object", "alloc_buffers": "nodes",
            "match_buffers": "nodes", "annotations": "map", "init": "node", "body": "node",
        },
    ),
}  # fmt: skip
"""Our nodes by TVM's names, and how their fields are written: as a node, an array, a map, an object, or a plain value."""
_RENAMED = {"source": "buffer"}
"""Our names of fields of accesses."""
_KINDS = tuple(tir.ForKind)
_ITER_TYPES = tuple(
    tir.IterVarType(name)
    for name in (
        "spatial",
        "thread",
        "reduce",
        "scan",
        "opaque",
        "unrolled",
        "vectorized",
        "parallelized",
        "tensorized",
    )
)
_PLAIN_OPS = ("if_then_else", "vscale", "log2", "likely", "clz", "ceil")
"""Operators whose names begin with "prim." there; those of all others begin with "tirx."."""


@deep
def module_to_json(module: IRModule) -> str:
    """Return a module of loop functions as JSON. Raises E0018 if a part of it cannot be represented."""
    return json.dumps(_Writer().module(module))


@deep
def module_from_json(text: str) -> IRModule:
    """Return the module of the result of `tvm.ir.save_json`. Raises E0018 if it is something else."""
    try:
        graph = json.loads(text)
        return _Reader(graph["nodes"]).module(graph["root_index"])
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as problem:
        reason = f"this is not a module in the JSON of apache-tvm 0.27: {type(problem).__name__}: {problem}"
        raise error("E0018", reason, None, "write it with that version of apache-tvm") from None


def module_to_base64(module: IRModule) -> list[str]:
    """Return a module as `[hash, module]`, a row of the file `database_workload.json`. Raises E0018 as `module_to_json` does."""
    data = module_to_json(module).encode()
    return [str(structural_hash(module)), base64.b64encode(len(data).to_bytes(8, "little") + data).decode()]


def module_from_base64(row: Any) -> IRModule:
    """Return the module of a row of the file `database_workload.json`. Raises E0018 if it is something else."""
    try:
        _, coded = row
        text = base64.b64decode(coded, validate=True)[8:].decode()
    except (ValueError, TypeError):
        raise error("E0018", "its module is not in base64", None, "restore the file") from None
    return module_from_json(text)


def instructions_of_tvm(trace: Trace) -> list[Any]:
    """Return a trace for JSON, with its instructions as 0.27 writes them. Raises E0018 for terms, which have another form there."""
    insts, decisions = trace.as_json()
    return [[_instruction(*inst) for inst in insts], decisions]


def instructions_from_tvm(given: Any, module: IRModule) -> Any:
    """Return the instructions of a row, without the name of the function in which a block is, which may be "main" whatever its name is here.

    Other values are returned as they are.
    """
    match given:
        case [[*insts], decisions] if len(module.functions) == 1:
            return [[_without_function(inst) for inst in insts], decisions]
        case _:
            return given


def _without_function(inst: Any) -> Any:
    match inst:
        case ["GetSBlock" | "GetBlock" as kind, inputs, [name, _, *rest], outputs]:
            return [kind, inputs, [name, None, *rest], outputs]
        case _:
            return inst


def _instruction(kind: str, inputs: list[Any], attributes: list[Any], outputs: list[str]) -> list[Any]:
    if any(isinstance(value, list) and value and value[0] in TERMS for value in (*inputs, *attributes)):  # type: ignore[reportUnknownMemberType]
        raise error("E0018", f"the terms in {kind} have another form in TVM", None, "tune with another space")
    if kind == "GetBlock" and attributes[1] is None:
        attributes = [attributes[0], "main"]
    return ["GetSBlock" if kind == "GetBlock" else kind, inputs, attributes, outputs]


def _unknown(name: str) -> TvmsError:
    return error(
        "E0018", f"'{name}' has no equivalent in the JSON of apache-tvm 0.27", None, "print the module as a text"
    )


# --- Writing ----------------------------------------------------------------------------------------------------


class _Writer:
    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = [{"type": "None"}]
        self._known: dict[Any, int] = {}
        self._params: dict[tir.Var, tir.Buffer] = {}
        self._names = {node: (name, fields) for name, (node, fields) in _NODES.items()}

    def module(self, module: IRModule) -> dict[str, Any]:
        functions: list[int] = []
        names: list[int] = []
        for name, function in module.functions.items():
            if not isinstance(function, tir.PrimFunc):
                raise _unknown(type(function).__name__)
            variable = self._node("ir.GlobalVar", ty=self._node("ir.Type"), name_hint=self._object(name))
            functions += [variable, self._function(function)]
            names += [self._object(name), variable]
        empty = self._add("ffi.Map", [])
        root = self._add("ir.IRModule", {
            "functions": self._add("ffi.Map", functions), "global_var_map_": self._add("ffi.Map", names),
            "source_map": self._add("ir.SourceMap", {"source_map": empty}), "attrs": self._attrs(dict(module.attrs)),
            "global_infos": empty,
        })  # fmt: skip
        return {"root_index": root, "nodes": self.nodes, "metadata": {"tvm_version": "0.27.0"}}

    def _function(self, function: tir.PrimFunc) -> int:
        self._params = dict(function.buffer_map)
        params = [self.node(self._params.get(param, param)) for param in function.params]
        if function.ret_type is not None:
            raise _unknown("return value")
        attrs = {key.replace("tir.", "tirx."): value for key, value in function.attrs.items()}
        nothing = self._node("ir.TupleType", fields=self._add("ffi.Array", []))
        return self._node(
            "tirx.PrimFunc", ty=self._node("ir.Type"), attrs=self._attrs({"s_tir": True, **attrs}),
            params=self._add("ffi.Array", params), ret_type=nothing, body=self.node(function.body),
        )  # fmt: skip

    def _attrs(self, values: dict[str, Any]) -> int:
        return self._add("ir.DictAttrs", {"__dict__": self._object(values)})

    def node(self, value: Any) -> int:
        """Return the index of a node of ours; variables and buffers that are the same object are the same node."""
        if value is None:
            return 0
        if isinstance(value, tir.Var | tir.Buffer | tir.IterVar):
            if value not in self._known:
                self._known[value] = self._new(value)
            return self._known[value]
        return self._new(value)

    def _new(self, value: Any) -> int:
        match value:
            case tir.Var():
                if value.dtype == "handle":
                    raise _unknown(f"pointer {value.name}")
                return self._node("ir.Var", ty=self._type(value.dtype), name=self._object(value.name))
            case tir.Buffer():
                return self._buffer(value)
            case tir.IterVar():
                kind = _ITER_TYPES.index(value.iter_type)
                tag = self._object(value.thread_tag)
                return self._node(
                    "tirx.IterVar", dom=self.node(value.dom), var=self.node(value.var), iter_type=kind, thread_tag=tag
                )
            case tir.For():
                return self._node(
                    "tirx.For", loop_var=self.node(value.loop_var), min=self.node(value.min), extent=self.node(value.extent),
                    kind=_KINDS.index(value.kind), body=self.node(value.body), thread_binding=self.node(value.thread_binding),
                    annotations=self._object(dict(value.annotations)), step=0,
                )  # fmt: skip
            case tir.Call(op=Op(name=name)) if not value.annotations:
                short = name.removeprefix("tir.")
                op = self._add("ir.Op", f"{'prim' if short in _PLAIN_OPS else 'tirx'}.{short}")
                args, types = self._array(value.args), self._add("ffi.Array", [])
                return self._node("ir.Call", ty=self._type(value.dtype), op=op, args=args, attrs=0, ty_args=types)
            case tir.StringImm():
                return self._node("ir.StringImm", ty=self._node("ir.StringType"), value=self._object(value.value))
            case _ if type(value) in self._names:
                return self._by_table(value)
            case _:
                raise _unknown(type(value).__name__)

    def _by_table(self, value: Any) -> int:
        name, fields = self._names[type(value)]
        if getattr(value, "predicate", None) is not None and not isinstance(value, tir.BlockRealize):
            raise _unknown("predicate of an access")
        data = {field: self._field(getattr(value, _renamed(name, field)), kind) for field, kind in fields.items()}
        if isinstance(value, tir.PrimExpr):
            data = {"ty": self._type(value.dtype), **data}
        elif isinstance(value, tir.BufferRegion):
            data = {"ty": self._node("tirx.BufferRegionType"), **data}
        return self._add(name, data) if name == "s_tir.MatchBufferRegion" else self._node(name, **data)

    def _field(self, value: Any, kind: str) -> Any:
        writers: dict[str, Callable[[Any], Any]] = {
            "node": self.node, "nodes": self._array, "map": self._object, "object": self._object, "plain": lambda value: value,
        }  # fmt: skip
        return writers[kind](value)

    def _buffer(self, buffer: tir.Buffer) -> int:
        if buffer.axis_separators or buffer.buffer_type is not tir.BufferType.DEFAULT:
            raise _unknown(f"buffer {buffer.name} with separators or broadcasts")
        offset = buffer.elem_offset if buffer.elem_offset is not None else tir.IntImm("int32", 0)
        kind = self._node(
            "tirx.BufferType", dtype=self._type(buffer.dtype), storage_scope=self._object(buffer.scope), shape=self._array(buffer.shape),
            strides=self._array(buffer.strides), elem_offset=self.node(offset), data_alignment=buffer.data_alignment,
            offset_factor=buffer.offset_factor, layout=0, allocated_addr=self._add("ffi.Array", []),
        )  # fmt: skip
        return self._node("ir.Var", ty=kind, name=self._object(buffer.name))

    def _type(self, dtype: str) -> int:
        return self._shared(("type", dtype), lambda: self._node("ir.PrimType", dtype=dtype))

    def _array(self, values: Sequence[Any]) -> int:
        return self._add("ffi.Array", [self.node(value) for value in values])

    def _object(self, value: Any) -> int:
        match value:
            case bool() | int() | float():
                return self._shared((type(value), value), lambda: self._add(type(value).__name__, value))
            case str():
                return self._shared((str, value), lambda: self._add("ffi.String", value))
            case dict():
                pairs = [self._object(part) for pair in value.items() for part in pair]  # type: ignore[reportUnknownVariableType]
                return self._add("ffi.Map", pairs)
            case tuple() | list():
                return self._add("ffi.Array", [self._object(item) for item in value])  # type: ignore[reportUnknownVariableType]
            case _:
                return self.node(value)

    def _shared(self, key: Any, make: Callable[[], int]) -> int:
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def _node(self, kind: str, /, **data: Any) -> int:
        return self._add(kind, {"span": 0, **data})

    def _add(self, name: str, data: Any) -> int:
        self.nodes.append({"type": name, "data": data})
        return len(self.nodes) - 1


def _renamed(name: str, field: str) -> str:
    return _RENAMED.get(field, field) if name in ("ir.TensorLoad", "ir.TensorRegion") else field


# --- Reading ----------------------------------------------------------------------------------------------------


class _Reader:
    def __init__(self, nodes: list[Any]) -> None:
        self._nodes = nodes
        self._known: dict[int, Any] = {}

    def module(self, root: int) -> IRModule:
        data = self._nodes[root]["data"]
        pairs: list[int] = self._nodes[data["functions"]]["data"]
        names = [self._value(self._nodes[at]["data"]["name_hint"]) for at in pairs[::2]]
        return IRModule({name: self._function(at) for name, at in zip(names, pairs[1::2], strict=True)})

    def _function(self, at: int) -> tir.PrimFunc:
        if self._nodes[at]["type"] != "tirx.PrimFunc":
            raise _unknown(self._nodes[at]["type"])
        data = self._nodes[at]["data"]
        params: list[tir.Var] = []
        buffers: dict[tir.Var, tir.Buffer] = {}
        for value in self._value(data["params"]):
            is_buffer = isinstance(value, tir.Buffer)
            params.append(tir.Var("handle", f"{value.name}_handle") if is_buffer else value)
            if is_buffer:
                buffers[params[-1]] = value
        attrs = self._value(self._nodes[data["attrs"]]["data"]["__dict__"])
        kept = {key.replace("tirx.", "tir."): value for key, value in attrs.items() if key != "s_tir"}
        return tir.PrimFunc(tuple(params), self._value(data["body"]), None, buffers, attrs=kept)

    def _value(self, at: int) -> Any:
        """Return the value of a node; what occurs twice, such as variables, is read once."""
        if at not in self._known:
            self._known[at] = self._read(self._nodes[at]["type"], self._nodes[at].get("data"))
        return self._known[at]

    def _read(self, name: str, data: Any) -> Any:
        match name:
            case "None":
                return None
            case "int" | "bool" | "float" | "ffi.String":
                return data
            case "ffi.Array":
                return tuple([self._value(item) for item in data])
            case "ffi.Map":
                values = [self._value(item) for item in data]
                return dict(zip(values[::2], values[1::2], strict=True))
            case "ir.Var":
                return self._variable(data)
            case "tirx.IterVar":
                dom, var, tag = (self._value(data[field]) for field in ("dom", "var", "thread_tag"))
                return tir.IterVar(dom, var, _ITER_TYPES[int(data["iter_type"])], tag)
            case "tirx.For" if self._value(data["step"]) is None:
                return tir.For(
                    self._value(data["loop_var"]), self._value(data["min"]), self._value(data["extent"]), _KINDS[int(data["kind"])],
                    self._value(data["body"]), self._value(data["thread_binding"]), self._value(data["annotations"]),
                )  # fmt: skip
            case "ir.Call":
                op = self._nodes[data["op"]]
                if op["type"] == "ir.Op":
                    short = op["data"].partition(".")[2]
                    return tir.Call(self._dtype(data), Op(f"tir.{short}"), self._value(data["args"]))
                raise _unknown(op["type"])
            case "ir.StringImm":
                return tir.StringImm("handle", self._value(data["value"]))
            case _ if name in _NODES:
                return self._by_table(name, data)
            case _:
                raise _unknown(name)

    def _by_table(self, name: str, data: dict[str, Any]) -> Any:
        node, fields = _NODES[name]
        values = {
            _renamed(name, field): data[field] if kind == "plain" else self._value(data[field])
            for field, kind in fields.items()
        }
        return node(self._dtype(data), **values) if issubclass(node, tir.PrimExpr) else node(**values)

    def _dtype(self, data: dict[str, Any]) -> str:
        return self._nodes[data["ty"]]["data"]["dtype"]

    def _variable(self, data: dict[str, Any]) -> tir.Var | tir.Buffer:
        kind, name = self._nodes[data["ty"]], self._value(data["name"])
        if kind["type"] == "ir.PrimType":
            return tir.Var(kind["data"]["dtype"], name)
        if kind["type"] != "tirx.BufferType":
            raise _unknown(kind["type"])
        given = kind["data"]
        dtype, scope = self._dtype({"ty": given["dtype"]}), self._value(given["storage_scope"])
        shape, strides, offset = (self._value(given[field]) for field in ("shape", "strides", "elem_offset"))
        pointer = tir.Var("handle", name, tir.PointerType(tir.PrimType(dtype), scope))
        is_start = isinstance(offset, tir.IntImm) and offset.value == 0
        return tir.Buffer(
            pointer, dtype, shape, name, strides, None if is_start else offset, given["data_alignment"], given["offset_factor"],
            scope=scope,
        )  # fmt: skip
