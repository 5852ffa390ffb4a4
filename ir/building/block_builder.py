"""Build graph functions one binding at a time (TVM: `relax.BlockBuilder`, `src/relax/ir/block_builder.cc`)."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, cast

from msgspec import Struct
from msgspec.structs import replace

from .. import relax, te, tir
from ..base import Attrs, BaseFunc, GlobalVar, IRModule, Op, StructInfo
from ..deep import deep
from ..function_table import FunctionTable
from ..infer import function_struct_info, infer_struct_info, replace_dims
from ..relax import Call, Expr, Var
from ..spelling import newer_names
from ..variables import defined_variables
from ..visit import rewrite
from .nested_bodies import unnested
from .tensor_functions import TensorFunctions
from .values import graph_value, inferred, normal_call, with_written_arguments

_LEAVES = (
    relax.Var, relax.Constant, relax.ShapeExpr, relax.PrimValue, relax.StringImm, relax.DataTypeImm, relax.Function,
    relax.ExternFunc, GlobalVar, relax.Tuple,
)  # fmt: skip
"""Kinds that may be arguments; other expressions are bound to variables."""


class _Frame(Struct):
    """The block that is being built."""

    is_dataflow: bool
    bindings: list[relax.Binding] = []
    variables: dict[int, tuple[Expr, Var]] = {}
    """Variables that were bound to arguments, by the identity of the value."""


class Branch(Struct):
    """The body of a branch; `result`, its value, is set while it is built."""

    result: Expr | None = None
    blocks: list[relax.BindingBlock] = []

    def sequence(self) -> relax.SeqExpr:
        """Return the branch for `relax.If`."""
        if self.result is None:
            raise RuntimeError("the branch has no result; set its attribute 'result' where it is built")
        return cast("relax.SeqExpr", inferred(relax.SeqExpr(tuple(self.blocks), self.result)))


class _FunctionScope(Struct):
    """The function that is being built."""

    name: str
    params: tuple[Var, ...] | None
    attrs: Attrs
    is_pure: bool
    blocks: list[relax.BindingBlock] = []
    is_finished: bool = False


class BlockBuilder(TensorFunctions):
    """Builds a module: functions of bindings, inside or outside of dataflow blocks.

        bb = relax.BlockBuilder()
        x = relax.Var("x", relax.TensorStructInfo((n, 128), "float32"))
        with bb.function("main", [x]):
            with bb.dataflow():
                lv = bb.emit(relax.op.nn.relu(x))
                gv = bb.emit_output(lv)
            bb.emit_func_output(gv)
        mod = bb.get()

    Every emitted value is normalized: calls in arguments are bound to variables, and all parts get struct info.
    Names are TVM's: `lv`, `lv1`, … inside dataflow blocks, `gv`, … outside, numbered over the whole builder. An input
    tensor of `te` denotes the variable with its name and shape. Misuse raises RuntimeError, operands that do not fit
    raise TvmsError.
    """

    _current: ClassVar[list[BlockBuilder]] = []

    def __init__(self, mod: IRModule | None = None, table: FunctionTable | None = None) -> None:
        """`table` holds the functions of `mod` if others also add functions."""
        super().__init__()
        self._module = mod or IRModule({})
        self._table = FunctionTable(self._module.functions) if table is None else table
        self._names: dict[str, int] = {}
        self._frames: list[_Frame] = []
        self._scopes: list[_FunctionScope] = []
        self._bound: dict[Var, Expr] = {}

    @staticmethod
    def current() -> BlockBuilder | None:
        """Return the builder that is currently building a function, or None."""
        return BlockBuilder._current[-1] if BlockBuilder._current else None

    # --- Scopes -----------------------------------------------------------------------------------------------

    @contextmanager
    def function(
        self,
        name: str,
        params: Var | te.Tensor | Sequence[Var | te.Tensor] | None = None,
        attrs: Attrs | None = None,
        pure: bool = True,
        private: bool = False,
    ) -> Generator[None]:
        """Build the function `name` in a `with`; its parameters are given here or to `emit_func_output`."""
        own_attrs = dict(attrs or {}) if private else {**(attrs or {}), "global_symbol": name}
        scope = _FunctionScope(name, None if params is None else self._params(params), own_attrs, pure)
        depth = len(self._frames)
        self._scopes.append(scope)
        self._frames.append(_Frame(False))
        BlockBuilder._current.append(self)
        try:
            yield
        finally:
            BlockBuilder._current.pop()
            self._scopes.pop()
            del self._frames[depth:]
        if not scope.is_finished:
            raise RuntimeError(f"function '{name}' has no result; call emit_func_output at its end")

    @contextmanager
    def dataflow(self) -> Generator[None]:
        """Build a dataflow block in a `with`; values used outside of it must be given to `emit_output`."""
        self._keep_block()
        self._begin_dataflow_block()
        yield
        self._keep_block()
        self._begin_binding_block()

    @contextmanager
    def branch(self) -> Generator[Branch]:
        """Build a branch of a condition in a `with`, which sees the variables around it; set its `result` there.

        RuntimeError in a dataflow block, which cannot contain branches.
        """
        if self._frame().is_dataflow:
            raise RuntimeError("a dataflow block cannot contain branches; end it before the condition")
        scope, branch = self._scope(), Branch()
        outer, scope.blocks = scope.blocks, branch.blocks
        self._frames.append(_Frame(False))
        try:
            yield branch
            self._keep_block()
            self._begin_binding_block()
        finally:
            self._frames.pop()
            scope.blocks = outer

    def begin_block(self, is_dataflow: bool) -> None:
        """Build a block inside or outside of a function, until `end_block` returns it."""
        self._frames.append(_Frame(is_dataflow))

    def end_block(self) -> relax.BindingBlock:
        """Return the innermost block; RuntimeError if none is being built."""
        frame = self._frame()
        self._frames.pop()
        return (relax.DataflowBlock if frame.is_dataflow else relax.BindingBlock)(tuple(frame.bindings))

    def begin_scope(self, params: Sequence[Var] | None = None) -> None:
        """Begin a block outside of a function, until `end_scope`; the dimensions of `params` need no definition."""
        del params
        self.begin_block(is_dataflow=False)

    def end_scope(self) -> None:
        """End the scope, and drop the bindings in it."""
        self.end_block()

    @contextmanager
    def testing_scope(self, def_vars: Sequence[tir.Var]) -> Generator[None]:
        """Normalize and infer outside of a function, in a `with`; the dimensions `def_vars` need no definition."""
        del def_vars
        self.begin_scope()
        try:
            yield
        finally:
            self.end_scope()

    def _begin_binding_block(self) -> None:
        """Begin a block (a name of TVM)."""
        self.begin_block(is_dataflow=False)

    def _begin_dataflow_block(self) -> None:
        """Begin a dataflow block (a name of TVM)."""
        self.begin_block(is_dataflow=True)

    _end_block = end_block

    def _keep_block(self) -> None:
        """End the innermost block, and make it part of the function unless it is empty."""
        block = self.end_block()
        if block.bindings:
            self._scope().blocks += unnested([block])

    def _scope(self) -> _FunctionScope:
        if not self._scopes:
            raise RuntimeError("no function is being built; open one: with bb.function(name, params):")
        return self._scopes[-1]

    def _frame(self) -> _Frame:
        if not self._frames:
            self._scope()
        return self._frames[-1]

    def current_block_is_dataflow(self) -> bool:
        """Return whether the current block is a dataflow block."""
        return self._frame().is_dataflow

    # --- Bindings ---------------------------------------------------------------------------------------------

    def emit(self, expr: Any, name_hint: str = "") -> Var:
        """Bind `expr` to a new variable and return it."""
        return self._emit(expr, self._frame().is_dataflow, name_hint)

    def emit_output(self, output: Any, name_hint: str = "") -> Var:
        """Bind `output` to a variable that is visible outside of this dataflow block."""
        if not self._frame().is_dataflow:
            raise RuntimeError("emit_output must be called inside a dataflow block; open one: with bb.dataflow():")
        return self._emit(output, False, name_hint)

    def _emit(self, expr: Any, is_local: bool, name_hint: str) -> Var:
        value = self.normalize(expr)
        var = self._variable(infer_struct_info(value), is_local, name_hint)
        self.emit_normalized(relax.VarBinding(var, value))
        return var

    def _variable(self, info: StructInfo, is_local: bool, name_hint: str) -> Var:
        kind = relax.DataflowVar if is_local else relax.Var
        return kind(self.get_unique_name(name_hint or ("lv" if is_local else "gv")), struct_info=info)

    @newer_names(ty="struct_info")
    def match_cast(self, value: Any, struct_info: StructInfo, name_hint: str = "") -> Var:
        """Bind `value` to a new variable of `struct_info`, which is checked at run time."""
        var = self._variable(struct_info, self._frame().is_dataflow, name_hint)
        self.emit_normalized(relax.MatchCast(var, self.normalize(value), struct_info))
        return var

    def emit_normalized(self, binding: relax.Binding) -> None:
        """Add a binding whose value is already normalized."""
        frame = self._frame()
        if isinstance(binding.var, relax.DataflowVar) and not frame.is_dataflow:
            raise RuntimeError(f"'{binding.var.name_hint}' is local to a dataflow block, but none is being built")
        frame.bindings.append(binding)
        if isinstance(binding, relax.VarBinding):
            self._bound[binding.var] = binding.value

    def lookup_binding(self, var: Var) -> Expr | None:
        """Return the value of `var`, or None for a parameter."""
        return self._bound.get(var)

    @deep
    def normalize(self, expr: Any) -> Expr:
        """Return `expr` with struct info, and with every argument that is neither a leaf nor a tuple bound to a variable."""
        return self._normal(self._value(expr))

    def _normal(self, expr: Expr) -> Expr:
        match expr:
            case Call():
                args = tuple(self.normalize_argument(arg) for arg in expr.args)
                op = expr.op if isinstance(expr.op, Op) else self.normalize_argument(expr.op)
                changed = op is not expr.op or any(a is not b for a, b in zip(args, expr.args, strict=True))
                call = inferred(normal_call(replace(expr, op=op, args=args) if changed else expr))
                written = with_written_arguments(call, self._bound)
                return call if written is call else self._normal(written)
            case relax.Tuple():
                fields = tuple(self.normalize_argument(field) for field in expr.fields)
                changed = any(a is not b for a, b in zip(fields, expr.fields, strict=True))
                return inferred(replace(expr, fields=fields) if changed else expr)
            case relax.TupleGetItem():
                return inferred(replace(expr, tuple_value=self.normalize_argument(expr.tuple_value)))
            case relax.If():
                return inferred(replace(expr, cond=self.normalize_argument(expr.cond)))
            case _:
                return inferred(expr)

    def normalize_argument(self, arg: Expr) -> Expr:
        """Return `arg` as an operand: bound to a variable if it is neither a leaf nor a tuple."""
        value = self._normal(arg)
        if isinstance(arg, _LEAVES):
            return value
        frame = self._frame()
        known = frame.variables.get(id(arg))
        if known is None:
            known = frame.variables[id(arg)] = (arg, self.emit(value))
        return known[1]

    def _value(self, value: Any) -> Expr:
        """Return a Python value as a graph-level value; an input tensor of `te` becomes the variable that it denotes."""
        if isinstance(value, te.Tensor):
            return self._input(value)
        if isinstance(value, list | tuple):
            return relax.Tuple(tuple(self._value(item) for item in cast("Sequence[Any]", value)))
        return value if isinstance(value, Expr) else graph_value(value)

    # --- Functions and the module -----------------------------------------------------------------------------

    def emit_func_output(self, output: Any, params: Any = None) -> GlobalVar:
        """Set the result of the function to `output`, once in each function; return the reference to the function."""
        scope = self._scope()
        if scope.is_finished:
            raise RuntimeError(f"function '{scope.name}' already has a result; call emit_func_output once")
        if (scope.params is None) == (params is None):
            either = "to function or to emit_func_output"
            raise RuntimeError(f"give the parameters of '{scope.name}' once, either {either}")
        parameters = scope.params if scope.params is not None else self._params(params)
        result = self.normalize_argument(self._value(output))
        self._keep_block()
        self._begin_binding_block()
        scope.is_finished = True
        body = relax.SeqExpr(tuple(scope.blocks), result)
        known = {var: var for param in parameters for var in _dimensions(param)}
        returned = replace_dims(infer_struct_info(result), known, all_known=False)
        function = relax.Function(parameters, body, returned, scope.is_pure, attrs=scope.attrs)
        return self.add_func(function, scope.name)

    def _params(self, params: Any) -> tuple[Var, ...]:
        items = cast("Sequence[Any]", params) if isinstance(params, list | tuple) else (params,)
        values = tuple(self._value(item) for item in items)
        for value in values:
            if not isinstance(value, Var):
                raise TypeError(f"a parameter is a relax.Var, not {value}")
        return cast("tuple[Var, ...]", values)

    def add_func(self, func: BaseFunc, func_name: str) -> GlobalVar:
        """Add a function as `func_name`, with a number if it is taken; return the reference to it or to an equal function."""
        names = iter(lambda: self.get_unique_name(func_name), None)
        return self._reference(self._table.add(func, names))

    def update_func(self, gv: GlobalVar, updated_func: BaseFunc) -> None:
        """Replace the function that `gv` refers to."""
        self._table.update(gv.name_hint, updated_func)

    def _reference(self, name: str) -> GlobalVar:
        return GlobalVar(name, struct_info=function_struct_info(self._table.functions[name]))

    def get_unique_name(self, name_prefix: str) -> str:
        """Return `name_prefix`, with the first number that makes it unique if it is taken."""
        prefix = "".join(letter if letter.isalnum() else "_" for letter in name_prefix)
        name = prefix
        while name in self._names:
            self._names[prefix] += 1
            name = f"{prefix}{self._names[prefix]}"
        self._names[name] = 0
        return name

    def reserve(self, names: Iterable[str]) -> None:
        """Give none of `names` to a new variable or function."""
        for name in names:
            self._names.setdefault(name, 0)

    def get(self) -> IRModule:
        """Return the current module, the same object until a function is added or changed."""
        if self._module.functions != self._table.functions:
            self._module = replace(self._module, functions=dict(self._table.functions))
        return self._module

    def finalize(self) -> IRModule:
        """Return the module with every public function named by its symbol; private functions are renamed if necessary."""
        functions = self._table.functions
        symbols = {name: function.attrs.get("global_symbol", name) for name, function in functions.items()}
        wanted = {symbol: name for name, symbol in symbols.items() if symbol != name}
        for symbol in [symbol for symbol in wanted if symbol in functions]:
            symbols[symbol] = self.get_unique_name(symbol)
        renamed = {GlobalVar(old): GlobalVar(new) for old, new in symbols.items() if new != old}

        def rename(node: Any) -> GlobalVar | None:
            new = renamed.get(node) if isinstance(node, GlobalVar) else None
            return new and replace(node, name_hint=new.name_hint)

        return replace(self.get(), functions={symbols[name]: rewrite(f, rename) for name, f in functions.items()})


def _dimensions(param: Var) -> list[tir.Var]:
    function = relax.Function((param,), relax.SeqExpr((), param))
    return [var for var in defined_variables(function) if isinstance(var, tir.Var)]
