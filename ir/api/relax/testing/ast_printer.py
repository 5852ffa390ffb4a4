"""Show the nodes of a graph-level program as a text (TVM: `relax.testing.ast_printer`).

>>> print(dump_ast(call, include_struct_info_annotations=False))
Call(
    op=Op(name="relax.add"),
    args=[Var(name_hint="x"), Var(name_hint="y")]
)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from .... import relax, tir
from ....base import GlobalVar, Node, Op, StructInfo
from ....deep import deep
from ....script import script

_UNKNOWN = "void"
_OWN_FIELDS = ("span", "struct_info", "trivia", "attrs", "name")


_NEW_KINDS = {
    "FuncStructInfo": "FuncType", "ObjectStructInfo": "AnyType", "PrimStructInfo": "PrimType", "ShapeStructInfo": "ShapeType",
    "TensorStructInfo": "TensorType", "TupleStructInfo": "TupleType",
}  # fmt: skip
_NEW_FIELDS = {"name_hint": "name", "ret_struct_info": "ret_ty", "sinfo_args": "ty_args", "struct_info": "ty"}
"""Names in TVM 0.27."""


class ASTPrinter:
    """Returns texts of nodes: the kind of a node and its fields, each on a line of its own if there are several."""

    def __init__(
        self,
        indent_str: str = "    ",
        include_struct_info_annotations: bool = True,
        include_call_attrs: bool = True,
        *,
        include_ty_annotations: bool | None = None,
    ) -> None:
        """`include_ty_annotations` is the name of the second option in TVM 0.27, whose names the texts have if it is given."""
        self.indent_str = indent_str
        self.is_new = include_ty_annotations is not None
        self.include_struct_info_annotations = (
            include_struct_info_annotations if include_ty_annotations is None else include_ty_annotations
        )
        self.include_call_attrs = include_call_attrs

    def visit_expr(self, expr: Any) -> str:
        """Return the text of an expression, a binding, or a block of bindings."""
        match expr:
            case tir.PrimExpr():
                return self.visit_prim_expr_(expr)
            case StructInfo():
                return self.visit_struct_info_(expr)
            case Op():
                return f"Op(name={_quoted(expr.name)})"
            case relax.ExternFunc():
                return f"ExternFunc(global_symbol={_quoted(expr.global_symbol)})"
            case relax.Function():
                return self._annotated(expr, self._function_fields(expr))
            case relax.Call():
                return self._annotated(expr, self._call_fields(expr))
            case relax.BindingBlock():
                bindings = self._list(map(self.visit_expr, expr.bindings), is_broken=True)
                return self._node(type(expr).__name__, {"bindings": bindings})
            case relax.Binding():
                return self._node(type(expr).__name__, self._fields(expr))
            case _:
                is_broken = isinstance(expr, relax.Constant) and getattr(expr.data, "ndim", 0) > 0
                return self._annotated(expr, self._fields(expr), is_broken)

    def visit_prim_expr_(self, expr: tir.PrimExpr) -> str:
        """Return the text of a scalar expression, which is shown as in a program."""
        return f"{'Expr' if self.is_new else 'PrimExpr'}(value=`{script(expr, 'tvm-0.21').strip()}`)"

    def visit_ty_(self, ty: StructInfo | tir.PrimType) -> str:
        """Return the text of a type by the names of TVM 0.27."""
        return ASTPrinter(self.indent_str, include_ty_annotations=True).visit_struct_info_(ty)

    def visit_struct_info_(self, info: StructInfo | tir.PrimType) -> str:
        """Return the text of the struct info of a value."""
        fields: dict[str, Any] = {}
        match info:
            case relax.ShapeStructInfo():
                fields["ndim"] = str(info.ndim)
                if info.values is not None:
                    fields["values"] = self._list(map(self.visit_prim_expr_, info.values))
            case relax.PrimStructInfo() | tir.PrimType():
                fields["dtype"] = info.dtype
            case relax.TensorStructInfo():
                fields["dtype"] = "" if info.dtype == _UNKNOWN else info.dtype
                if info.shape is None:
                    fields["ndim"] = str(info.ndim)
                else:
                    fields["shape"] = self.visit_expr(info.shape)
            case relax.TupleStructInfo():
                fields["fields"] = self._list(map(self.visit_struct_info_, info.fields))
            case relax.FuncStructInfo():
                if info.params is not None:
                    fields["params"] = self._list(map(self.visit_struct_info_, info.params))
                fields |= {"ret": self.visit_struct_info_(info.ret), "purity": str(info.purity)}
            case _:
                pass
        return self._node(type(info).__name__, fields)

    def visit_type_(self, ty: StructInfo | tir.PrimType) -> str:
        """Return the text of a type by the names of TVM 0.27."""
        return self.visit_ty_(ty)

    def _annotated(self, expr: Any, fields: Mapping[str, str], is_broken: bool = False) -> str:
        """Return the text of a node with its struct info, unless annotations are left out."""
        info = getattr(expr, "struct_info_", None)
        if info is not None and self.include_struct_info_annotations:
            fields = {**fields, "struct_info": self.visit_struct_info_(info)}
        return self._node(type(expr).__name__, fields, is_broken)

    def _function_fields(self, function: relax.Function) -> dict[str, str]:
        ret = function.ret_struct_info
        fields = {
            "params": self._list(map(self.visit_expr, function.params)),
            "body": self.visit_expr(function.body),
            "ret_struct_info": "None" if ret is None else self.visit_struct_info_(ret),
            "is_pure": str(function.is_pure),
        }
        if function.attrs:
            attrs = (f"{_quoted(key)}: {_quoted(value)}" for key, value in function.attrs.items())
            fields["attrs"] = self._list(attrs, "{}")
        return fields

    def _call_fields(self, node: relax.Call) -> dict[str, str]:
        fields = {"op": self.visit_expr(node.op), "args": self._list(map(self.visit_expr, node.args))}
        if node.sinfo_args:
            fields["sinfo_args"] = self._list(map(self.visit_struct_info_, node.sinfo_args))
        if node.attrs and self.include_call_attrs:
            attrs = (f"{_quoted(key)}: {_attribute(value)}" for key, value in node.attrs.items())
            fields["attrs"] = self._list(attrs, "{}")
        return fields

    def _fields(self, node: Node) -> dict[str, str]:
        """Return the texts of the declared fields of a node."""
        names = [name for name in node.__struct_fields__ if name not in _OWN_FIELDS]
        if isinstance(node, relax.MatchCast):
            names.append("struct_info")
        return {name: self._value(node, getattr(node, name)) for name in names}

    def _value(self, node: Node, value: Any) -> str:
        match value:
            case Node():
                return self.visit_expr(value)
            case tuple():
                return self._list(map(self.visit_expr, cast("tuple[Any, ...]", value)))
            case str() if not isinstance(node, relax.DataTypeImm):
                return _quoted(value)
            case _:
                return str(value)

    def _node(self, name: str, fields: Mapping[str, str], is_broken: bool = False) -> str:
        if self.is_new:
            renamed = {} if name == "GlobalVar" else _NEW_FIELDS
            name, fields = _NEW_KINDS.get(name, name), {renamed.get(key, key): fields[key] for key in fields}
        return name + self._list((f"{key}={value}" for key, value in fields.items()), "()", is_broken)

    def _list(self, elements: Iterable[str], brackets: str = "[]", is_broken: bool = False) -> str:
        """Return elements in brackets: on one line if there is only one, which has one line, and it may not be broken."""
        found = list(elements)
        if len(found) <= 1 and not is_broken and "\n" not in "".join(found):
            return f"{brackets[0]}{''.join(found)}{brackets[1]}"
        lines = ",\n".join(self.indent_str + element.replace("\n", "\n" + self.indent_str) for element in found)
        return f"{brackets[0]}\n{lines}\n{brackets[1]}" if found else brackets


def _quoted(text: Any) -> str:
    return f'"{text}"'


def _attribute(value: Any) -> str:
    return _quoted(value) if isinstance(value, str) else str(value)


@deep
def dump_ast(
    exp: relax.Expr | relax.Binding | relax.BindingBlock | GlobalVar,
    indent_str: str = "    ",
    include_struct_info_annotations: bool = True,
    include_call_attrs: bool = True,
    *,
    include_ty_annotations: bool | None = None,
) -> str:
    """Return the nodes of `exp` as a text, with `indent_str` before each level, and optionally with struct info and attributes.

    With `include_ty_annotations`, the second option in TVM 0.27, by the names of that version.
    """
    return ASTPrinter(
        indent_str, include_struct_info_annotations, include_call_attrs, include_ty_annotations=include_ty_annotations
    ).visit_expr(exp)
