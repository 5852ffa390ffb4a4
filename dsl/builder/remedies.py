"""Default remedies by code, for errors without a more specific one, and suggestions for unknown names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain

from ...ir.dtype import is_dtype
from ...ir.ops.registry import relax_ops
from ...ir.spelling import did_you_mean

REMEDIES = {
    "E0101": "define it above, or correct its spelling",
    "E0102": "define the function in this module, or call one that it has",
    "E0103": "see docs/language.md for all forms, docs/operators.md for all operators",
    "E0105": "see docs/language.md for the arguments of each form",
    "E0202": "write a value of the expected kind",
    "E0203": "write one letter for each axis: S for spatial, R for reduction",
    "E0204": "give as many names as there are values",
    "E0205": "use an index or a key that exists; indices count from 0",
    "E0206": "apply it to numbers: load an element of a buffer first, as in A[i]",
    "E0207": "remove it, or move it to where it is allowed",
    "E0208": 'write T.Buffer((128,), "float32"), T.handle, or a scalar such as T.int32',
    "E0209": "keep one of them",
    "E0230": 'cast one of them, as in T.Cast("float32", value)',
    "E0231": "use a wider dtype, or another value",
    "E0233": 'cast it first, as in T.Cast("int32", value)',
    "E0235": "give one index for each dimension",
    "E0301": "see docs/operators.md for all operators",
    "E0304": "count the elements from 0",
    "E0312": "give one name for each element",
    "E0321": "see docs/operators.md for the values of each argument",
    "E0322": "see docs/operators.md for the arguments of each operator",
    "E0323": "see docs/operators.md for the ranks of operands; R.reshape and R.expand_dims change a rank",
    "E0324": "convert an operand with R.astype",
    "E0325": "count axes from 0, or back from -1",
    "E0326": "change an operand's shape with R.reshape, R.broadcast_to or R.permute_dims",
    "E0328": "pass arguments that match the function's signature",
}  # fmt: skip
"""Default remedy of each code."""

_OPERATORS = "operators are forms of the language: T.exp(x) on scalars, R.exp(x) on tensors"
_DEFINITION = "T.prim_func opens a loop function, R.function a graph function, I.ir_module a module"
_NAMES = {
    **dict.fromkeys(("np", "numpy", "math", "torch", "jnp", "tf"), _OPERATORS),
    **dict.fromkeys(("func", "fn", "function", "kernel", "module"), _DEFINITION),
    **dict.fromkeys(("enumerate", "zip"), "loop over indices, as in `for i in range(16):`"),
    "print": "`tvms debug` stops at a line and shows values",
    "sum": "add in a loop, or in a block with a reduction axis",
    "str": "write a string in quotes",
    **{name: f"write {name.capitalize()}" for name in ("true", "false", "none")},
    **dict.fromkeys(("null", "nil", "undefined"), "write None"),
    **dict.fromkeys(("nan", "inf"), 'write T.float32("nan"), T.float32("inf") or T.float32("-inf")'),
    **dict.fromkeys(("threadIdx", "blockIdx", "blockDim"), 'bind a loop to it: S.bind(loop, "threadIdx.x")'),
    "bool": 'T.bool is the type; write T.Cast("bool", x) to convert an expression',
    "self": "call functions as cls.name",
    "sch": "primitives are called as S.name",
    "te": "a text has no tensor expressions: n = T.int64() declares a size, a loop function computes elements",
    **dict.fromkeys(
        ("list", "tuple", "dict", "ndarray", "Tensor"),
        'write T.Buffer((n,), "float32") for an array of a loop function, R.Tensor((n,), "float32") in a graph function',
    ),
}
"""Remedies for names that are common in Python or in other frameworks."""
_THREADS = 'write `for bx in T.thread_binding(8, thread="blockIdx.x"):` for each axis of the launch'
_FOREIGN_FORMS = {
    "T.Tensor": 'write T.Buffer((128,), "float32"); R.Tensor belongs to graph functions',
    "T.Kernel": _THREADS,
    "T.Parallel": "write `for i, j in T.grid(8, 8):`, and give the loops to threads in a schedule",
    "T.Pipelined": "write `for k in range(8):`, and pipeline the loop by S.annotate in a schedule",
    **dict.fromkeys(("T.copy", "T.clear", "T.fill"), "write the loops over the elements"),
    "T.gemm": "write the loops over the elements; a schedule tensorizes them by S.tensorize",
    "T.alloc_fragment": "write T.alloc_local, or T.alloc_buffer with a scope",
}
"""Remedies for forms of TileLang."""
_OF_NUMPY = {
    "maximum": "max", "minimum": "min", "power": "pow", "where": "Select", "absolute": "abs", "mod": "floormod",
    "floor_divide": "floordiv",
}  # fmt: skip
"""Operations on elements, by the names of the operators on tensors."""
_OF_TORCH = {
    "chunk": "split", "transpose": "permute_dims", "mul": "multiply", "sub": "subtract", "div": "divide", "cat": "concat",
    "view": "reshape", "cast": "astype", "mm": "matmul", "bmm": "matmul", "dot": "matmul", "pow": "power",
    "unsqueeze": "expand_dims", "gather": "gather_elements", "expand": "broadcast_to", "clamp": "clip", "eq": "equal",
    "ne": "not_equal", "lt": "less", "gt": "greater", "le": "less_equal", "ge": "greater_equal",
    "concatenate": "concat", "rsub": "subtract", "to": "astype", "type": "astype", "bitwise_invert": "bitwise_not",
}  # fmt: skip
"""Operators on tensors, by their names in other frameworks."""
_FOREIGN_ARGUMENTS = {
    ("R.call_tir", "dtype"): 'state the type of the result: out_sinfo=R.Tensor((8, 16), "float32")',
    ("R.call_tir", "shape"): 'state the type of the result: out_sinfo=R.Tensor((8, 16), "float32")',
}
"""Remedies for arguments of other versions, by form and name."""


def foreign_form(name: str) -> str | None:
    """Return a remedy for a form that other languages have, such as "T.Kernel"."""
    return _FOREIGN_FORMS.get(name)


def foreign_operator(name: str) -> str | None:
    """Return a suggestion for an operator by its name in other frameworks, such as "R.mul"."""
    own = _OF_TORCH.get(name.removeprefix("R."))
    return f"did you mean 'R.{own}'?" if own else None


def foreign_argument(form: str, name: int | str | None) -> str | None:
    """Return a remedy for an argument that a form had in other versions."""
    return _FOREIGN_ARGUMENTS.get((form, name)) if isinstance(name, str) else None


FORMS: list[Callable[[], Iterable[str]]] = []
"""Functions that return the full names of forms; a module that declares forms adds its own."""


def undefined(name: str, known: Iterable[str], dialect: str) -> str | None:
    """Return a remedy for an undefined name: a common foreign name, a form of a dialect, or a similar name."""
    known = tuple(known)
    if dialect == "R" and is_dtype(name):
        return f'write "{name}"'
    near = did_you_mean(name, (other for other in known if other.lower() == name.lower()))
    form = elsewhere(name, dialect)
    form = (
        None if dialect == "T" and form and "'R." in form else form
    )  # a loop function cannot call operators on tensors
    return _NAMES.get(name) or near or form or (did_you_mean(name, known) if len(name) > 1 else None)


def holds_operators(namespace: str) -> bool:
    """Return whether operators are called `R.NAMESPACE.…`."""
    return any(op.script_name.startswith(f"{namespace}.") for op in relax_ops().values())


def elsewhere(name: str, dialect: str) -> str | None:
    """Return a suggestion of a form or operator whose last part is `name`, preferring those of `dialect`."""
    names = [*chain.from_iterable(known() for known in FORMS), *(f"R.{op.script_name}" for op in relax_ops().values())]
    found = [full for full in names if full.rpartition(".")[2] == name]
    if dialect == "T" and name in _OF_NUMPY and f"T.{name}" not in found:
        found = [f"T.{_OF_NUMPY[name]}"]
    return f"did you mean '{min(found, key=lambda key: (key[0] != dialect, len(key)))}'?" if found else None
