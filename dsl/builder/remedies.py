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
_ARRAY = 'allocate it: A = T.alloc_buffer((16,), "float32")'
_SYNCHRONIZE = 'write T.tvm_storage_sync("shared")'
_QUOTED = ("shared", "local", "warp", "cuda", "llvm")
"""Scopes and targets, which are written in quotes."""
_DEFINITION = "T.prim_func opens a loop function, R.function a graph function, I.ir_module a module"
_NAMES = {
    **dict.fromkeys(("np", "numpy"), f'{_OPERATORS}; T.alloc_buffer((16,), "float32") allocates an array'),
    **dict.fromkeys(("math", "torch", "jnp", "tf", "F", "nn", "topi"), _OPERATORS),
    **{name: f'write "{name}"' for name in _QUOTED},
    "prange": "did you mean 'T.parallel'?",
    "__syncthreads": _SYNCHRONIZE,
    "bb": "bind the value to a name: y = R.add(x, x)",
    "where": "did you mean 'T.where'?",
    "s": "primitives are called as S.name",
    **dict.fromkeys(("func", "fn", "function", "kernel", "module"), _DEFINITION),
    **dict.fromkeys(("enumerate", "zip"), "loop over indices, as in `for i in range(16):`"),
    "print": "`tvms debug` stops at a line and shows values",
    "sum": "add in a loop, or in a block with a reduction axis",
    "str": "write a string in quotes",
    **{name: f"write {name.capitalize()}" for name in ("true", "false", "none")},
    **dict.fromkeys(("null", "nil", "undefined"), "write None"),
    **dict.fromkeys(("nan", "inf"), 'write T.float32("nan"), T.float32("inf") or T.float32("-inf")'),
    **dict.fromkeys(
        ("threadIdx", "blockIdx", "blockDim"),
        'bind a loop to it: S.bind(loop, "threadIdx.x"), or T.thread_binding(32, thread="threadIdx.x")',
    ),
    "bool": 'T.bool is the type; write T.Cast("bool", x) to convert an expression',
    "self": "call functions as cls.name",
    "sch": "primitives are called as S.name",
    "te": "a text has no tensor expressions: n = T.int64() declares a size, a loop function computes elements",
    "tuple": "write R.Tuple(…) for the type, (a, b) for the value",
    **dict.fromkeys(
        ("list", "dict", "ndarray", "Tensor"),
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
    **dict.fromkeys(("T.sum", "T.mean", "T.prod"), "add in a loop, or in a block with a reduction axis: T.axis.reduce"),
    "T.relu": "write T.max(x, T.float32(0))",
    **dict.fromkeys(("T.syncthreads", "T.sync_threads", "T.sync", "T.barrier"), _SYNCHRONIZE),
    "T.predicate": "did you mean 'T.where'?",
    "T.axis.parallel": "did you mean 'T.axis.spatial'?",
    "T.axis.reduction": "did you mean 'T.axis.reduce'?",
    **dict.fromkeys(("T.spatial", "T.spatial_axis", "T.data_par"), "did you mean 'T.axis.spatial'?"),
    **dict.fromkeys(("T.reduce", "T.reduce_axis", "T.reduction"), "did you mean 'T.axis.reduce'?"),
    **dict.fromkeys(("T.remap", "T.axis_remap"), "did you mean 'T.axis.remap'?"),
    "T.thread_bind": "did you mean 'thread_binding'?",
    "T.thread_axis": 'write the name of the axis, such as "threadIdx.x"',
    **dict.fromkeys(("S.tile", "S.tiling"), "split each loop with S.split, and put the parts in order with S.reorder"),
    "S.permute": "did you mean 'S.reorder'?",
    "S.inline": "did you mean 'S.compute_inline'?",
    **dict.fromkeys(("R.ret", "R.Return"), "end the function with `return value`"),
    "R.emit": "bind the value to a name: y = R.add(x, x)",
    **dict.fromkeys(("T.inf", "T.infty"), 'write T.float32("inf")'),
    "T.nan": 'write T.float32("nan")',
    **dict.fromkeys(("T.fmax", "T.fmaxf"), "did you mean 'T.max'?"),
    **dict.fromkeys(("T.fmin", "T.fminf"), "did you mean 'T.min'?"),
    "T.alloc_fragment": "write T.alloc_local, or T.alloc_buffer with a scope",
}
"""Remedies for forms that TileLang, older versions of TVM and other frameworks have."""
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
    "nn.dense": "linear", "nn.linear": "linear", "dense": "linear", "nn.bias_add": "add", "bias_add": "add",
    "concatenate": "concat", "rsub": "subtract", "to": "astype", "type": "astype", "bitwise_invert": "bitwise_not",
}  # fmt: skip
"""Operators on tensors, by their names in other frameworks."""
_ATTRIBUTES = {
    "T": "R.permute_dims({0})", "transpose": "R.permute_dims({0})", "t": "R.permute_dims({0})", "view": "R.reshape({0}, …)",
    **dict.fromkeys(("half", "to", "cast", "type"), 'R.astype({0}, "float16")'), "float": 'R.astype({0}, "float32")',
    "mm": "R.matmul({0}, …)", "dot": "R.matmul({0}, …)", "pow": "R.power({0}, …)", "size": "R.shape_of({0})",
}  # fmt: skip
"""What replaces attributes of tensors in other frameworks."""
_FOREIGN_ARGUMENTS = {
    ("R.call_tir", "dtype"): 'state the type of the result: out_sinfo=R.Tensor((8, 16), "float32")',
    ("R.concat", "axis"): "write the tensors as one tuple: R.concat((x, y), axis=0)",
    ("R.stack", "axis"): "write the tensors as one tuple: R.stack((x, y), axis=0)",
    ("R.call_tir", "shape"): 'state the type of the result: out_sinfo=R.Tensor((8, 16), "float32")',
}
"""Remedies for arguments of other versions, by form and name."""


_LISTS = {
    "R.shape": "write R.shape([n, 4])",
    "R.reshape": "write the shape as one tuple: R.reshape(x, (n, 4))",
    "R.broadcast_to": "write the shape as one tuple: R.broadcast_to(x, (n, 4))",
    "R.permute_dims": "write the axes as one list: R.permute_dims(x, axes=[1, 0])",
    "T.func_attr": 'write the attributes as a dict: T.func_attr({"tir.noalias": True})',
    "R.einsum": 'write the operands as one tuple: R.einsum((x, y), "ij,jk->ik")',
}
"""Remedies for elements that are written as arguments of their own instead of one tuple or list, by form."""


def tensor_attribute(name: str, tensor: str) -> str | None:
    """Return a remedy for an attribute or a method that tensors of other frameworks have."""
    if name == "item":
        return f"{tensor} is a value of the graph: use a tensor of shape () as it is"
    new = _ATTRIBUTES.get(name)
    return f"write {new.format(tensor)}" if new else None


def attribute(name: str, owner: str) -> str | None:
    """Return a remedy for an attribute of a value in a loop function or a schedule: a form that takes the value."""
    if name in ("to", "cast", "type", "float", "half"):
        return 'convert it with astype, as in x.astype("float32")'
    from ...ir.schedule.declaration import primitive_called

    if primitive_called(name) is not None:
        return f"write S.{name}({owner})"
    return f"write T.{name}({owner})" if is_form(f"T.{name}") else None


def step(form: str) -> str | None:
    """Return a remedy for a form of loops in a schedule: the primitive of its name, such as S.unroll."""
    from ...ir.schedule.declaration import primitive_called

    name = form.removeprefix("T.")
    return f"write S.{name}" if primitive_called(name) is not None else None


def limit(form: str, name: str) -> str | None:
    """Return a remedy for an attribute of a dtype that other languages have, as in `T.float32.max`."""
    dtype = form.removeprefix("T.")
    return f'write T.{name}_value("{dtype}")' if name in ("min", "max") and is_dtype(dtype) else None


def foreign_form(name: str) -> str | None:
    """Return a remedy for a form that other languages have, such as "T.Kernel"."""
    return _FOREIGN_FORMS.get(name)


def foreign_operator(name: str) -> str | None:
    """Return a suggestion for an operator by its name in other frameworks, such as "R.mul"."""
    own = _OF_TORCH.get(name.removeprefix("R."))
    return f"did you mean 'R.{own}'?" if own else None


def usage(form: str, at: int | str | None) -> str | None:
    """Return a remedy for arguments at a place that do not fit the signature of a form, but that of another one."""
    if form == "T.func_attr" and isinstance(at, int):
        return _LISTS[form]
    if form == "T.where" and isinstance(at, int):
        return "write T.if_then_else(condition, a, b) for a value; T.where takes the predicate of a block"
    return None


def argument(form: str, name: str, value: object) -> str | None:
    """Return a remedy for an argument of the wrong kind that fits elsewhere."""
    if name == "data" and isinstance(value, str):
        return f'name the argument: scope="{value}"'
    if form == "T.cast" and name == "value" and isinstance(value, str):
        return f'T.cast takes the value first: T.cast(x, "{value}")'
    if name == "dtype" and form.startswith("T.call_") and isinstance(value, str):
        return f'write the dtype of the result before the name: {form}("int32", "{value}", …)'
    if form == "T.thread_binding" and name == "start" and isinstance(value, str):
        return f'write the extent first, and name the axis: T.thread_binding(16, thread="{value}")'
    if form == "T.match_buffer" and name == "shape" and isinstance(value, str):
        return f'write the parameter first: T.match_buffer(a, (128,), "{value}")'
    if form == "T.axis.remap" and name == "bindings" and isinstance(value, str):
        return 'write the kinds as one string, and the bindings as one list: T.axis.remap("SR", [i, j])'
    if form == "T.grid" and isinstance(value, tuple | list):
        return "write the extents without brackets: T.grid(16, 16)"
    if form == "T.var" and name == "name":
        return "declare a variable with a value as x: T.float32 = …"
    return None


def foreign_argument(form: str, name: int | str | None) -> str | None:
    """Return a remedy for an argument that a form had in other versions."""
    return _FOREIGN_ARGUMENTS.get((form, name)) if isinstance(name, str) else _LISTS.get(form)


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


def is_form(name: str) -> bool:
    """Return whether a form of the language has this full name."""
    return any(name in known() for known in FORMS)


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
