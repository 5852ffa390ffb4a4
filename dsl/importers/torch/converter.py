"""Conversion of the nodes of a torch graph to bindings: arguments by schema name, torch's dtype promotion, names, positions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import isroutine
from types import SimpleNamespace
from typing import Any, TypeAlias, cast

from msgspec.structs import replace

from ....ir import relax, tir
from ....ir.base import Span
from ....ir.building.block_builder import BlockBuilder
from ....ir.building.values import const
from ....ir.diagnostics import Diagnostic, TvmsError, error
from ....ir.infer import infer_struct_info
from ....ir.ops.inference import tensor_info
from ..bindings import Bindings
from ..values import dtype_of, is_floating, rank_of
from .library import constant_of, dtype_name, library
from .places import Places
from .symbols import Symbols, is_symbolic

Convert: TypeAlias = Callable[["Converter", Any], Any]
"""Row of the table: a function of the converter and the named arguments that returns a value or a tuple of values."""


class Converter(Bindings):
    """Converts the nodes of one graph, in order, to bindings of the function that `builder` builds."""

    def __init__(
        self,
        builder: BlockBuilder,
        symbols: Symbols,
        nodes: Iterable[Any],
        rows: Mapping[Any, Convert],
        custom: Mapping[Any, Callable[[Any, Converter], Any]] | None = None,
        names: set[str] | None = None,
    ) -> None:
        super().__init__(builder, names)
        self.symbols = symbols
        self.env: dict[Any, Any] = {}
        """The values of the converted nodes (TVM: `BaseFXGraphImporter.env`)."""
        self.node: Any = None
        """The current node."""
        self._rows = rows
        self._custom = custom or {}
        self._places = Places(nodes)

    def inner(self, graph_module: Any) -> Converter:
        """Return a converter for a graph that is the body of a branch or a loop: a separate function."""
        return Converter(self.block_builder, self.symbols, graph_module.graph.nodes, self._rows, self._custom)

    def run(self, graph_module: Any, source: Any = None) -> Any:
        """Convert the nodes of a graph, whose placeholders already have values, and return its result: the tuple of the
        node `source`, if it is given."""
        result: Any = None
        for node in graph_module.graph.nodes:
            match node.op:
                case "call_function":
                    is_part = getattr(node.target, "__name__", "") == "getitem"
                    if not (is_part and (not node.users or node.args[0] is source)):
                        self.convert(node)
                case "get_attr":
                    self.env[node] = _attribute(graph_module, node.target)
                case "output":
                    result = self.value(node.args[0]) if source is None else self._tuple_of(source)
                case _:
                    pass
        return result

    # --- Nodes ------------------------------------------------------------------------------------------------

    def convert(self, node: Any) -> None:
        """Convert one node that calls a function, and record its value."""
        self.node = node
        self.start_node()
        try:
            self.env[node] = self._converted(node)
        except TvmsError as problem:
            raise self._placed(problem) from None

    def _placed(self, problem: TvmsError) -> TvmsError:
        """Return `problem` with the model's source line as its position."""
        span = self._places.span(self.node)
        return TvmsError(
            tuple(
                _at(diagnostic, f"{self.node.target}: {diagnostic.message}", span) for diagnostic in problem.diagnostics
            )
        )

    def _converted(self, node: Any) -> Any:
        custom = custom_of(node.target, self._custom)
        if custom is not None:
            return custom(node, self)
        value = node.meta.get("val")
        if isinstance(value, int | float):
            return value
        is_float = isinstance(value, library().SymFloat)
        if is_symbolic(value) and not is_float and self.symbols.is_bound(value):
            return self.symbols.size(value)
        if getattr(node.target, "__name__", "") == "getitem":
            return self._element(node)
        if row_name(node.target) not in self._rows and is_constant(node):
            return constant_of(node.target(*node.args, **node.kwargs), None)
        row = self._rows.get(row_name(node.target))
        if row is None:
            raise self.unsupported("computes with a number that a tensor holds", "compute with the tensor")
        given = self.arguments(node)
        try:
            return self.finish(row(self, given), value)
        except (AttributeError, TypeError, ValueError) as problem:
            names = _numbers_in_tensors(node.target, given)
            if isinstance(problem, TvmsError) or not names:
                raise
        reason = f"'{names[0]}' is a number that a tensor holds, but must be known before the call"
        raise self.unsupported(reason, "compute with the tensor, or make the number a constant of the model")

    def _element(self, node: Any) -> Any:
        """Return an element of a node with several values; elements are emitted on demand."""
        source, index = node.args
        values, self.node = self.env[source], source
        if isinstance(values, relax.Expr):
            return self.finish(values[index], node.meta.get("val"))
        values[index] = self.finish(values[index], node.meta.get("val"))
        return values[index]

    def _tuple_of(self, node: Any) -> relax.Expr:
        """Return the values of a node as one tuple."""
        values, self.node = self.env[node], node
        if isinstance(values, relax.Expr):
            return values
        sources = {id(getattr(value, "tuple_value", value)): getattr(value, "tuple_value", None) for value in values}
        (whole, *others) = sources.values()
        if whole is not None and not others and _width(whole) == len(values):
            return whole
        return self.emit(relax.Tuple(tuple(self._element_of(node, values, place) for place in range(len(values)))))

    def arguments(self, node: Any) -> SimpleNamespace:
        """Return the arguments of a call by schema name, with defaults; nodes are replaced by their values."""
        if not hasattr(node.target, "_schema"):
            return SimpleNamespace(args=[self.value(value) for value in node.args])
        schema = node.target._schema
        names = [argument.name for argument in schema.arguments]
        given = {argument.name: argument.default_value for argument in schema.arguments}
        given |= dict(zip(names, node.args, strict=False)) | dict(node.kwargs)
        return SimpleNamespace(**{name: self.value(value) for name, value in given.items()})

    def value(self, given: Any) -> Any:
        """Convert an argument for a row: nodes become values, dtypes become names."""
        torch = library()
        match given:
            case list() | tuple():
                return [self.value(item) for item in cast("Sequence[Any]", given)]
            case torch.fx.Node():
                found = self.env[given]
                if isinstance(found, list):
                    elements = cast("list[Any]", found)
                    return [self._element_of(given, elements, index) for index in range(len(elements))]
                return found
            case dict():
                return {key: self.value(item) for key, item in cast("dict[Any, Any]", given).items()}
            case torch.dtype():
                return dtype_name(given)
            case torch.SymInt():
                return self.symbols.size(given)
            case _:
                return given

    def _element_of(self, node: Any, values: list[Any], index: int) -> Any:
        values[index] = self.finish(values[index], node.meta["val"][index])
        return values[index]

    # --- Values -----------------------------------------------------------------------------------------------

    def finish(self, value: Any, expected: Any) -> Any:
        """Bind the result of a row to variables, with the dtype and shape that torch inferred."""
        if isinstance(value, list | tuple):
            return list(cast("Sequence[Any]", value))
        if callable(value) and not isinstance(value, relax.Expr):
            value = value()
        if not isinstance(value, relax.Expr) or expected is None or not hasattr(expected, "dtype"):
            return value
        value = self.cast(value, dtype_name(expected.dtype))
        if isinstance(value, relax.Constant):
            return value
        if not isinstance(value, relax.Var):
            value = self.emit(value)
        info = infer_struct_info(value)
        assert isinstance(info, relax.TensorStructInfo)
        if isinstance(info.shape, relax.ShapeExpr) and all(map(self.symbols.is_bound, expected.shape)):
            return value
        for size in expected.shape:
            self.symbols.bind(size)
        known = tensor_info(self.symbols.dims(expected.shape), info.dtype)
        return self.block_builder.match_cast(value, known, self.unique(self.value_name()))

    def value_name(self) -> str:
        return self._places.name(self.node)

    def value_span(self) -> Span | None:
        return self._places.span(self.node)

    # --- What rows ask for ------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[tir.PrimExpr, ...]:
        """Shape of the result, as torch inferred it."""
        return self.symbols.dims(self.node.meta["val"].shape)

    @property
    def dtype(self) -> str:
        """Dtype of the result, as torch inferred it."""
        return dtype_name(self.node.meta["val"].dtype)

    def tensor(self, value: Any, dtype: str) -> relax.Expr:
        """Return a tensor, a number or a symbolic size as a tensor of `dtype`."""
        if isinstance(value, relax.Expr):
            return self.cast(value, dtype)
        if isinstance(value, tir.PrimExpr):
            return self.full(value, dtype)
        return const(value, dtype)

    def promoted(self, *values: Any) -> list[relax.Expr]:
        """Convert tensors and numbers to tensors of their promoted dtype, by torch's rules."""
        dtype = self.common_dtype(*values)
        return [self.tensor(value, dtype) for value in values]

    def common_dtype(self, *values: Any) -> str:
        """Return the promoted dtype of tensors and numbers, by torch's rules."""
        torch = library()
        first, *others = [_stand_in(value) for value in values]
        for other in others:
            dtype = torch.result_type(first, other)
            first = torch.empty((1,) * max(_rank(first), _rank(other)), dtype=dtype, device="meta")
        return dtype_name(first.dtype)

    def floating(self, value: relax.Expr) -> relax.Expr:
        """Return an integer tensor as float32, as torch's mathematical functions do; others unchanged."""
        return value if is_floating(dtype_of(value)) else self.cast(value, "float32")

    def unsupported(self, reason: str, help: str) -> TvmsError:
        """Return the error E1004 for the current node, which no program can express."""
        return error("E1004", reason, None, help)

    def only_for_gradients(self) -> relax.Expr:
        """Refuse the use of a result that only the gradient of the current node needs."""
        raise self.unsupported("returns what only its gradient needs", "use its first result only")


def _attribute(module: Any, path: str) -> Any:
    """Return an attribute that a graph reads: a tensor as a constant, the graph of a branch unchanged."""
    found = module
    for part in path.split("."):
        found = getattr(found, part)
    return constant_of(found, path) if isinstance(found, library().Tensor) else found


def _width(value: relax.Expr) -> int:
    """Return the number of fields of a tuple."""
    info = infer_struct_info(value)
    return len(info.fields) if isinstance(info, relax.TupleStructInfo) else 0


def _at(problem: Diagnostic, message: str, span: Any) -> Diagnostic:
    return replace(problem, message=message, span=span)


def is_constant(node: Any) -> bool:
    """Return whether a node computes the same tensor in every call: its arguments are plain values, and it is not random."""
    torch = library()
    is_plain = not node.all_input_nodes and isinstance(node.meta.get("val"), torch.Tensor)
    return is_plain and torch.Tag.nondeterministic_seeded not in getattr(
        node.target, "tags", [torch.Tag.nondeterministic_seeded]
    )


def custom_of(target: Any, custom: Mapping[Any, Any]) -> Any:
    """Return the user's converter of an overload, registered as "relu.default" or "relu", or None."""
    name: str = getattr(target, "__name__", "")
    return custom.get(target) or custom.get(name) or custom.get(name.partition(".")[0])


def row_name(target: Any) -> str:
    """Return the name of an overload in the table: "relu.default", with its namespace unless it is aten; that of a Python
    function of numbers is "number.add".
    """
    return f"number.{target.__name__}" if isroutine(target) else str(target).removeprefix("aten.")


def _numbers_in_tensors(target: Any, given: SimpleNamespace) -> list[str]:
    """Return the names of the arguments that are tensors where the schema has numbers."""
    schema = getattr(target, "_schema", None)
    numbers = [argument.name for argument in schema.arguments if "Tensor" not in str(argument.type)] if schema else []
    return [name for name in numbers if isinstance(getattr(given, name), relax.Expr)]


def _stand_in(value: Any) -> Any:
    """Return a value that promotes like `value`: a number, or an empty tensor of the same dtype."""
    torch = library()
    if isinstance(value, relax.Expr):
        dims = (1,) if rank_of(value) else ()
        return torch.empty(dims, dtype=getattr(torch, dtype_of(value)), device="meta")
    return 1 if isinstance(value, tir.PrimExpr) else value


def _rank(value: Any) -> int:
    return getattr(value, "ndim", 0)
