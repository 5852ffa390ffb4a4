"""The constructs of the language as pieces of text that can be repeated, doubled and nested.

`PIECES` has a piece for every rule of the grammar, by the name of its action. `form_pieces` and `operator_pieces` make
one for every declared form and operator, so that the set is complete.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from msgspec import Struct

from ...ir.ops.registry import REQUIRED, relax_ops
from ...ir.signature import Signature
from ..builder.convert import CONVERTERS
from ..builder.forms import NAMESPACES, Form, FormParameter, Namespace

LEAF = {"expression": "A[i]", "operand": "x"}
"""Levels whose pieces nest in each other, with the innermost operand."""
_OPERANDS = {"expression": "A[i]", "statement": "A[i]", "operand": "x", "binding": "x"}


class Piece(Struct, frozen=True):
    """A construct: an expression with operands `{x}`, or statements with a nested body `{body}`.

    `{k}` is a distinct number for each use. `level` says where it may occur: an `expression` or `statement` of the loop
    level, an `operand` or `binding` of the graph level, or a `definition` of the module.
    """

    name: str
    level: str
    text: str

    @property
    def nests(self) -> bool:
        """Whether it can contain other pieces."""
        return "{body}" in self.text or ("{x}" in self.text and self.level in LEAF)

    def fill(self, number: int, operand: str = "", body: str = "") -> str:
        """Return the text of one use, whose first operand is `operand`."""
        leaf = _OPERANDS.get(self.level, "")
        text = self.text.replace("{k}", str(number)).replace("{x}", operand or leaf, 1).replace("{x}", leaf)
        return text.replace("{body}", body)


_EXPRESSIONS = {
    "resolve": "-{x}", "chain": "({x} + A[i])", "product": "({x} * A[i])", "right": "(A[i] - {x})", "pair": "{x} + A[i]",
    "quotient": "(B[i] / {x})", "not": 'T.Cast("float32", not {x} > T.float32(0))',
    "comparison": 'T.Cast("float32", {x} < A[i])', "chained comparison": 'T.Cast("float32", i < 3 <= i + 2)',
    "and": 'T.Cast("float32", i < {k} and {x} > B[i])', "or": 'T.Cast("float32", {x} > B[i] or i == {k})',
    "parenthesised": "({x})", "conditional": "({x} if i < {k} else B[i])", "call": "T.max({x}, B[i])",
    "condition": "T.if_then_else(i < {k}, B[i], {x})", "select": "T.Select({x} > A[i], {x}, B[i])",
    "keyword": "T.exp(x={x})", "subscript": 'A[T.Cast("int32", {x}) % 16]', "index": "A[(i * {k} + {k}) % 16]",
    "subscript_with_comma": 'A[T.Cast("int32", {x}) % 16,]', "attribute": "{x} + A[i].dtype", "slice": "A[i:i + 1] + {x}",
    "string": '"a" "b"', "number": "{k}.5", "integer": "T.int64({k})", "true": "True", "false": "False", "none": "None",
    "ellipsis": "...", "tuple_in_parentheses": "({x}, {x})", "list_display": "[{x}, A[i]]", "name": "i",
    "dict_display": '{"a": {x}, {k}: 1}', "item": "{i: {x}}", "lambda_expression": "(lambda a: a + {x})",
    "starred": "T.max(*({x}, A[i]))", "let": 'T.Let(v{k} + A[i], where={v{k}: {x}})', "undefined": "nowhere{k} + {x}",
    "broadcast": "T.Broadcast({x}, 4)", "cast": 'T.Cast("float32", T.Cast("float64", {x}))',
    "integer operators": 'T.Cast("float32", (T.Cast("int32", {x}) // 3 + i % ({k} + 1) * 2) % 7)',
}  # fmt: skip
_STATEMENTS = {
    "assign": "B[i] = {x}", "expression_statement": "T.evaluate({x})", "line": "B[(i + {k}) % 16] = {x}",
    "let statement": "y{k} = {x}", "integer let": "z{k} = i * {k} + 1", "annotated_assign": "y{k}: T.float32 = {x}",
    "augmented_assign": "B[i] += {x}", "assert_statement": 'assert i < {k} + 99, "{k}"', "pass_statement": "pass",
    "return_statement": "return {x}", "bare_tuple": "a{k}, b{k} = A[i], {x}", "comment": "# {k}\nB[i] = {x}  # {k}",
    "for_statement": "for j{k} in range({k} + 2):\n{body}", "while_statement": "while B[0] < {x}:\n{body}",
    "if_statement": "if {x} > T.float32({k}):\n{body}", "if on indices": "if i < {k}:\n{body}",
    "else_branch": "if i < {k}:\n{body}\nelse:\n B[i] = {x}", "line_block": "if i == {k}: B[i] = {x}",
    "nested else": "if i < {k}:\n B[i] = {x}\nelse:\n{body}", "with_statement": 'with T.block("b{k}"):\n{body}',
    "block": 'with T.block("b{k}"):\n v{k} = T.axis.spatial(16, i)\n T.reads(A[v{k}])\n T.writes(B[v{k}])\n B[v{k}] = A[v{k}]',
    "context_as": 'with T.block("b{k}") as b{k}:\n{body}', "context": "with T.attr(0, 'key{k}', {k}):\n{body}",
    "grid": "for a{k}, b{k} in T.grid(2, {k} + 1):\n{body}", "parallel": "for p{k} in T.parallel(4):\n{body}",
    "reduction": 'for r{k} in range(4):\n with T.block("r{k}"):\n  v{k} = T.axis.reduce(4, r{k})\n  with T.init():\n'
    "   B[0] = T.float32(0)\n  B[0] = B[0] + A[v{k}]",
    "allocation": 'C{k} = T.alloc_buffer((16,), "float32")\nC{k}[i] = {x}', "view": 'D{k} = T.Buffer((16,), data=A.data)',
    "let": 'v{k} = T.var("float32")\nB[i] = T.Let(v{k} + A[i], where={v{k}: {x}})',
    "redefinition": "y = {x}", "assumption": "T.evaluate(T.assume(i < {k} + 20))",
    "import_statement": "import tvm", "dotted": "from tvm.script import tir", "unknown form": "T.nowhere{k}({x})",
}  # fmt: skip
_CHAINS = {
    "elif_branch": ("if i == 0:\n B[i] = A[i]", "elif i == {k} + 1:\n B[i] = {x}"),
    "more_after_comma": ("T.evaluate(T.call_extern('int32', 'f'", ", {x}", "))"),
    "conjunction": ("assert i < 99", " and i < {k} + 99", ', "all"'), "disjunction": ("assert i == 0", " or i < {k} + 99"),
    "sum": ("B[i] = A[i]", " + {x}"), "product of all": ("B[i] = A[i]", " * {x}"), "shifts": ("B[i << 0", " >> {k}", "] = A[i]"),
    "strings": ('T.evaluate("a"', ' "{k}"', ")"), "sum of indices": ("B[(i", " + i * {k}", ") % 16] = A[i]"),
    "more": ("# first\nB[i] = A[i]", "\n# {k}"), "items": ('T.func_attr({"k": 1', ', "k{k}": {k}', "})"),
    "loops of a grid": ("for j", ", j{k}", " in T.grid(1{rest}):\n B[i] = A[i]"),
    "signs": ("B[i] = ", "-", "A[i]"), "brackets": ("B[i] = A[i", "]["  , "]"), "open brackets": ("B[i] = ", "(", ""),
    "concatenation": ('T.evaluate("a"', ' + "{k}"', ")"), "numbers": ("B[0] = T.float32(0", " + {k}", ")"),
}  # fmt: skip
"""Lists of one construct: the beginning, the repeated part, and the end."""
_DEFINITIONS = {
    "function": 'T.prim_func f{k}(A: T.Buffer((16,), "float32")):\n A[0] = T.float32({k})',
    "decorated": '@T.prim_func\ndef d{k}(A: T.Buffer((16,), "float32")):\n A[0] = T.float32({k})',
    "decorator": "@T.prim_func(private=True)\ndef d{k}(a: T.int32):\n T.evaluate(a)", "no_parameters": "T.prim_func n{k}():\n pass",
    "generic_function": "def g{k}[T0](a: T.int32):\n pass", "parameters": "T.prim_func p{k}(a: T.int32, b: T.int64):\n T.evaluate(a)",
    "default_parameter": "T.macro m{k}(a, b=1):\n A[0] = a", "annotated_parameter": "T.macro n{k}(a: T.int32):\n pass",
    "annotated_default_parameter": "T.prim_func q{k}(a: T.int32 = {k}):\n T.evaluate(a)", "parameter": "T.macro o{k}(a):\n pass",
    "macro": "T.macro u{k}(A):\n A[0] = T.float32(1)\n\nT.prim_func v{k}(A: T.Buffer((16,), 'float32')):\n u{k}(A)",
    "schedule": 'S.schedule s{k}(f):\n b = S.get_block("b0")\n l = S.get_loops(b)',
    "graph function": 'R.function r{k}(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):\n return x',
    "caller": 'R.function c{k}(x: R.Tensor((4,), "float32")):\n y = cls.r{k}(x)\n return y', "global constant": "c{k} = {k}",
    "import_from": "from tvm.script import tir as T", "import_from_in_parentheses": "from tvm.script import (ir as I, tir as T)",
    "imported": "import tvm as t{k}", "dotted_more": "import tvm.script", "module": "class M{k}:\n pass",
    "class_with_bases": "class C{k}(object):\n pass", "symbolic": "T.prim_func y{k}(a: T.handle, n: T.int32):\n"
    ' A = T.match_buffer(a, (n, n * {k}), "float32")\n for i in range(n):\n  A[i, 0] = T.float32(0)',
}  # fmt: skip
_BINDINGS = {
    "second": "y{k}: R.Tensor((4, 4), 'float32') = {x}", "bound": "y{k} = {x}", "chain of bindings": "x = R.add(x, {x})",
    "graph tuple": "t{k} = ({x}, x)", "dataflow": "with R.dataflow():\n d{k} = {x}\n R.output(d{k})", "branch": "if c:\n"
    " e{k} = {x}\nelse:\n e{k} = x", "nested branch": "if c:\n{body}\n e{k} = {x}\nelse:\n e{k} = x",
    "match_cast": "m{k} = R.match_cast({x}, R.Tensor((4, 4), 'float32'))", "constant": "n{k} = R.const({k}.5)",
    "element": "g{k} = ({x}, x)[1]", "packed": 'p{k} = R.call_packed("f", {x}, sinfo_args=R.Object())',
}  # fmt: skip
ACTIONLESS = frozenset({"nothing", "absent", "first", "append"})
"""Actions of lists, which every list reaches."""


def pieces() -> tuple[Piece, ...]:
    """Return every piece, without the lists of `chains`."""
    return _pieces()


@cache
def _pieces() -> tuple[Piece, ...]:
    tables = (
        ("expression", _EXPRESSIONS),
        ("statement", _STATEMENTS),
        ("definition", _DEFINITIONS),
        ("binding", _BINDINGS),
    )
    written = [Piece(name, level, text) for level, table in tables for name, text in table.items()]
    return (*written, *form_pieces(), *operator_pieces())


def chains() -> dict[str, tuple[str, ...]]:
    """Return the lists, each as its beginning, its repeated part and its end, which may be empty."""
    return _CHAINS


def named_actions() -> frozenset[str]:
    """Return the grammar actions that have a piece."""
    return frozenset({*_EXPRESSIONS, *_STATEMENTS, *_CHAINS, *_DEFINITIONS, *_BINDINGS, *ACTIONLESS})


_ARGUMENTS = {
    "PrimExpr": "{x}", "Any": "{x}", "Argument": "{x}", "Condition": "i < {k}", "Flag": "True", "Text": '"x"',
    "DTypeName": '"float32"', "Integer": "1", "Ints": "[1, 2]", "Attributes": '{"a": 1}', "Shape": "(4,)", "Var": "A.data",
    "Strides": "(1,)", "Domain": "16", "Exprs": "[{x}]", "Buffer": "A", "Region": "A[0:4]",
}  # fmt: skip


def form_pieces() -> Iterator[Piece]:
    """Yield a piece for every form of the loop level, as an expression with its required arguments."""
    kinds = {id(convert): name for name, convert in CONVERTERS.items()}
    seen: set[str] = set()
    waiting: list[Namespace] = [NAMESPACES["T"]]
    while waiting:
        for member in waiting.pop().members.values():
            if isinstance(member, Namespace):
                waiting.append(member)
            elif isinstance(member, Form) and member.name not in seen:
                seen.add(member.name)
                yield Piece(member.name, "expression", f"{member.name}({_arguments(member.signature, kinds)})")


def _arguments(signature: Signature[FormParameter], kinds: dict[int, str]) -> str:
    needed = [parameter for parameter in signature.positional if parameter.required]
    if signature.variadic is not None:
        needed += [signature.variadic] * 2
    return ", ".join(_ARGUMENTS.get(kinds.get(id(parameter.convert), "Any"), "{x}") for parameter in needed)


def operator_pieces() -> Iterator[Piece]:
    """Yield a piece for every operator of the graph level."""
    for operator in relax_ops().values():
        needed = [parameter for parameter in operator.params if parameter.default is REQUIRED]
        arguments = ", ".join("{x}" if parameter.kind == "expr" else "[0, 1]" for parameter in needed)
        yield Piece(f"R.{operator.script_name}", "operand", f"R.{operator.script_name}({arguments})")
