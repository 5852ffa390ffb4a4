"""Stubs of what is declared: operators, functions of `topi`, passes, and primitives of schedules."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from ...ir.api.topi.table import ROWS
from ...ir.building.values import TAKE_NUMBERS
from ...ir.ops.registry import Param, find, get_op
from ...ir.schedule.declaration import COMPOSITES, PRIMITIVES, Primitive, load_composites
from .stub_text import Stub, annotations_of

_EXPR = "tvms.ir.tir.PrimExpr"
_SHAPE = f"Sequence[{_EXPR} | int]"
_VALUE = "tvms.ir.relax.Expr"
_PLAIN = {
    "sections": "int | Sequence[int]",
    "int": "int",
    "ints": "int | Sequence[int]",
    "float": "float",
    "bool": "bool",
    "str": "str",
    "dtype": "str",
    "value": "Any",
}
_OF_VALUES = {
    **_PLAIN,
    "expr": _VALUE,
    "exprs": _VALUE,
    "tuple": f"{_VALUE} | Sequence[{_VALUE}]",
    "shape": f"{_VALUE} | {_SHAPE}",
    "sizes": f"{_VALUE} | {_SHAPE} | int",
    "prim": f"{_VALUE} | {_EXPR} | float",
    "string": f"{_VALUE} | str",
    "datatype": f"{_VALUE} | str",
    "callee": f"{_VALUE} | tvms.ir.base.GlobalVar | tvms.ir.base.BaseFunc | str",
    "sinfo": "tvms.ir.base.StructInfo",
    "sinfos": "tvms.ir.base.StructInfo | Sequence[tvms.ir.base.StructInfo]",
}
"""Types of the arguments of `relax.op` by the kind of the parameter."""

_TENSOR = "tvms.ir.te.tensor.Tensor"
_OF_TENSORS = {
    **_OF_VALUES,
    "expr": f"{_TENSOR} | {_EXPR} | float",
    "exprs": f"{_TENSOR} | {_EXPR} | float",
    "tuple": f"Sequence[{_TENSOR}]",
    "shape": _SHAPE,
    "sizes": f"{_SHAPE} | int",
    "prim": f"{_EXPR} | float",
}
"""Types of the arguments of `topi` by the kind of the parameter."""

_BLOCK, _LOOP, _NUMBER = (f"tvms.ir.schedule.handles.{name}" for name in ("BlockRV", "LoopRV", "ExprRV"))
_OF_PRIMITIVES = {
    "Block": f"{_BLOCK} | str",
    "Loop": _LOOP,
    "Location": _LOOP,
    "BlockOrLoop": f"{_BLOCK} | {_LOOP} | str",
    "Integer": f"int | {_EXPR}",
    "Flag": "bool",
    "Number": "float",
    "Text": "str",
    "Expression": f"int | {_EXPR}",
    "Factors": f"Sequence[int | {_EXPR} | None]",
    "Integers": f"Sequence[int | {_EXPR}]",
    "Numbers": "Sequence[float]",
    "Attribute": "Any",
    "IndexMap": "tvms.ir.tir.IndexMap | Callable[..., Any]",
    "PadValue": f"float | {_EXPR} | tvms.ir.tir.IndexMap | Callable[..., Any] | None",
    "AccessedBuffer": "tuple[str, int] | str | tvms.ir.tir.Buffer",
    "BufferIndex": "int | str | tvms.ir.tir.Buffer",
    "StorageScope": "str",
    "Blocks": f"Sequence[{_BLOCK} | str]",
    "DataType": "str",
    "LoopOrBlocks": f"{_LOOP} | Sequence[{_BLOCK} | str]",
}
"""Types of the arguments of primitives by the kind of the argument."""

_RESULTS = {
    "None": "None",
    "Any": "Any",
    "int": _NUMBER,
    "tir.Block": _BLOCK,
    "tir.For": _LOOP,
    "tir.For | ComputeLocation": _LOOP,
    "list[tir.Block]": f"list[{_BLOCK}]",
    "list[tir.For]": f"list[{_LOOP}]",
    "list[tir.Stmt]": f"list[{_BLOCK} | {_LOOP}]",
    "list[int | None]": f"list[{_NUMBER}]",
}
"""Types of the results of the methods of a schedule by what the primitive returns."""

_MODULES = {
    **dict.fromkeys(("bool", "float", "int", "list", "str", "tuple"), "builtins"),
    "AbstractContextManager": "contextlib",
    "Any": "typing",
    "Callable": "collections.abc",
    "Iterator": "collections.abc",
    "Sequence": "collections.abc",
}
_WORD = re.compile(r"[A-Za-z_][\w.]*")


def typed(text: str, stub: Stub) -> str:
    """Return a type with modules before its names: "Sequence[int]" is "collections.abc.Sequence[builtins.int]"."""

    def named(match: re.Match[str]) -> str:
        word = match[0]
        module = _MODULES.get(word)
        return stub.named(word if module is None else f"{module}.{word}") if "." in word or module else word

    return _WORD.sub(named, text)


def _optional(text: str, is_optional: bool) -> str:
    return f"{text} | None" if is_optional and text != "Any" and "None" not in text else text


def _annotations(params: tuple[Param, ...], types: dict[str, str], stub: Stub) -> dict[str, str]:
    return {
        param.name: typed(
            _optional(types[param.kind.removeprefix("opt_")], param.kind.startswith("opt_") or param.default is None),
            stub,
        )
        for param in params
    }


def define_operator(stub: Stub, name: str, operator: str, indent: str = "") -> None:
    """Add the function of `relax.op` of an operator, below the line `indent` a static method of a class."""
    op = get_op(f"relax.{operator}")
    types = {**_OF_VALUES, "expr": f"{_VALUE} | float"} if operator in TAKE_NUMBERS else _OF_VALUES
    annotations = _annotations(op.params, types, stub)
    stub.define(name, op.python_signature(), annotations, typed(_VALUE, stub), op.doc, indent)


def define_topi(stub: Stub, name: str, row_name: str) -> None:
    """Add a function of `topi` that computes an operator; one with several results returns them in a tuple."""
    row = ROWS[row_name]
    op = get_op(f"relax.{row.operator}")
    result = "Any" if row.operator in _SEVERAL else _TENSOR
    annotations = _annotations(op.params, _OF_TENSORS, stub)
    stub.define(name, op.python_signature(row.order), annotations, typed(result, stub), op.doc)


_SEVERAL = ("split", "meshgrid", "topk", "nn.batch_norm")
"""Operators with several results in `topi`."""


def define_pass(stub: Stub, name: str, constructor: Callable[..., Any]) -> None:
    """Add the constructor of a pass."""
    annotations = annotations_of(inspect.unwrap(constructor), stub)
    stub.define(
        name,
        inspect.signature(constructor),
        annotations,
        typed("tvms.ir.passes.transform.Pass", stub),
        constructor.__doc__ or "",
    )


def operator_of(value: Any) -> str | None:
    """Return the name of the operator of which a value is the function, without "relax."; None for other values."""
    name = getattr(value, "operator", None)
    return name if isinstance(name, str) and find(f"relax.{name}") else None


def primitive_methods() -> str:
    """Return the stub of the methods of a schedule for primitives, with their names since TVM 0.27, and composite steps."""
    load_composites()
    stub = Stub("Methods of a schedule, from the declarations of primitives. Generated; do not edit.")
    stub.lines += ["", "class PrimitiveMethods:", '    """Methods of a schedule: one for each primitive."""', ""]
    for primitive in (*PRIMITIVES.values(), *COMPOSITES.values()):
        _define_method(stub, primitive.name, primitive)
    for primitive in PRIMITIVES.values():
        if "block" in primitive.name:
            _define_method(stub, primitive.name.replace("block", "sblock"), primitive)
    return stub.text()


def _define_method(stub: Stub, name: str, primitive: Primitive) -> None:
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = primitive.signature.replace(parameters=[own, *primitive.signature.parameters.values()])
    annotations = {
        argument.name: typed(
            _optional(
                _OF_PRIMITIVES[argument.kind.name],
                argument.optional or (argument.default is None and not argument.required and not argument.variadic),
            ),
            stub,
        )
        for argument in primitive.arguments
    }
    result = typed(_RESULTS[primitive.apply.__annotations__["return"]], stub)
    stub.define(name, signature, annotations, result, primitive.doc, "    ")
