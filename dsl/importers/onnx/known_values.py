"""What is known of the values of an ONNX graph: their kinds, and elements that are constant or computed from sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from ....ir import relax, tir
from ....ir.building.block_builder import BlockBuilder
from ....ir.building.values import apply, const
from ....ir.diagnostics import TvmsError, error
from ....ir.infer import infer_struct_info
from ....ir.ops import dims as d
from ....ir.ops.inference import tensor_info
from ..bindings import Bindings
from ..values import broadcast_sizes, dims_of, dtype_of
from .kinds import Kind, Sizes, TensorKind, kind_of_info
from .scopes import Value
from .shape_folding import objects

if TYPE_CHECKING:
    from numpy.typing import NDArray


class KnownValues(Bindings):
    """Binds the values of a model, and records their kinds and elements where these are known."""

    def __init__(self, builder: BlockBuilder) -> None:
        super().__init__(builder)
        self._kinds: dict[relax.Expr, Kind] = {}
        """The kinds of values that are not tensors of numbers."""
        self.input_names: dict[relax.Var, str] = {}
        """The inputs of the graph with their names in the model."""
        self.given: Mapping[str, NDArray[Any]] = {}
        """Values of inputs of the graph for which the model is specialized."""
        self.asked: set[str] = set()
        """The inputs of the graph that a row needs as constants."""
        self._elements: dict[relax.Expr, NDArray[Any]] = {}
        """The elements of integer tensors that are computed from sizes: integers and symbolic expressions."""

    # --- Kinds

    def bound(self, value: relax.Expr) -> relax.Expr:
        """Return a value as a constant or a variable of the same kind."""
        if isinstance(value, relax.Constant):
            return value
        variable = self.known_shape(self.emit(value), broadcast_sizes(value))
        if value in self._kinds:
            self._kinds[variable] = self._kinds[value]
        return variable

    def size_elements(self, value: relax.Expr) -> NDArray[Any] | None:
        """Return the elements of a tensor that is computed from sizes, or None for other values."""
        return self._elements.get(value)

    def known_shape(self, value: relax.Var, sizes: Sizes | None = None) -> relax.Expr:
        """Return a tensor as a variable with known dimensions: `sizes`, and names, which are bound at run time; others unchanged."""
        info = value.struct_info
        if not isinstance(info, relax.TensorStructInfo) or isinstance(info.shape, relax.ShapeExpr) or info.ndim == -1:
            return value
        return self.declared(value, TensorKind(info.dtype, sizes or (None,) * info.ndim))

    def declared(self, value: relax.Expr, kind: Kind | None) -> relax.Expr:
        """Return a value as one of the given kind: a tensor's dtype and sizes are checked at run time, and unknown sizes get names."""
        if not isinstance(kind, TensorKind) or kind.dtype == "string":
            return self.with_kind(value, kind)
        name = self.unique(self.value_name())
        sizes = [
            self.new_size(f"{name}_dim{axis}") if n is None else d.as_dim(n) for axis, n in enumerate(kind.sizes or ())
        ]
        info = tensor_info(None if kind.sizes is None else sizes, kind.dtype)
        return self.block_builder.match_cast(value, info, name)

    def kind(self, value: relax.Expr) -> Kind | None:
        """Return the kind of a value; None if it is unknown."""
        return self._kinds.get(value) or kind_of_info(infer_struct_info(value))

    def with_kind(self, value: relax.Expr, kind: Kind | None) -> relax.Expr:
        """Return a value of `R.Object` after recording its kind."""
        if kind is not None:
            self._kinds[value] = kind
        return value

    def new_size(self, name: str) -> tir.Var:
        """Return a new symbolic size."""
        return tir.Var("int64", self.unique(name))

    # --- Elements and sizes

    def array(self, value: Value, what: str) -> NDArray[Any]:
        """Return the elements of a tensor that must be constant; E1004, which calls it `what`, otherwise."""
        known = self.elements(value)
        if known is not None and known.dtype != object:
            return known
        name = self.input_names.get(value) if isinstance(value, relax.Var) else None
        if name is not None:
            self.asked.add(name)
            if name in self.given:
                return self.given[name]
        raise self.unsupported(f"{what} must be constant", "make it an initializer of the model")

    def ints(self, value: Value, what: str) -> list[int]:
        """Return the elements of an integer tensor that must be constant, in row-major order."""
        return [int(element) for element in self.array(value, what).reshape(-1)]

    def axes(self, given: relax.Expr | list[int]) -> list[int]:
        """Return axes that are an attribute or, in later versions of an operator, a constant."""
        return list(given) if isinstance(given, list) else self.ints(given, "the axes")

    def axes_at_run_time(self, given: Value | list[int], rank: int) -> relax.Expr | None:
        """Return axes that are not constant as a tensor of int64 from 0 to `rank` - 1, which are counted from the end if they are negative.

        None for an attribute, a constant, or without axes. E1004 if the number of axes is unknown.
        """
        if given is None or isinstance(given, list) or self.elements(given) is not None:
            return None
        count = d.value_of(d.product(dims_of(given)))
        if count is None:
            raise self.unsupported("the number of axes depends on data", "make their number known")
        axes = self.emit(apply("reshape", self.cast(given, "int64"), relax.ShapeExpr((d.dim(count),))), "_axes")
        return self.emit(apply("floor_mod", axes, const(rank, "int64")), "_axes")

    def elements(self, value: Value) -> NDArray[Any] | None:
        """Return the elements of a tensor if they are known: an array, of objects if some are symbolic expressions of sizes."""
        if isinstance(value, relax.Constant):
            return cast("NDArray[Any]", value.data)
        return None if value is None else self._elements.get(value)

    def with_elements(self, value: relax.Expr, elements: NDArray[Any]) -> None:
        """Let operators that need constants take the elements of `value` as known."""
        self._elements[value] = elements

    def sizes(self, value: relax.Expr | list[int]) -> list[int | tir.PrimExpr]:
        """Return the elements of an integer tensor of at most one dimension, or an attribute, as numbers and expressions.

        What is only known at run time gets the name of a new symbolic size. E1004 if the number of elements is unknown.
        """
        if isinstance(value, list):
            return list(value)
        known = self.elements(value)
        if known is not None:
            return [as_size(element) for element in known.reshape(-1)]
        count = d.value_of(d.product(dims_of(value)))
        if count is None:
            raise self.unsupported("the number of sizes depends on data", "make their number known")
        flat = value if len(dims_of(value)) == 1 else apply("reshape", value, relax.ShapeExpr((d.dim(count),)))
        shape = self.emit(apply("tensor_to_shape", self.cast(flat, "int64")), "_sizes")
        names = [self.new_size(f"{self.value_name()}_size{place}") for place in range(count)]
        self.block_builder.match_cast(shape, relax.ShapeStructInfo(tuple(names), count), self.unique("sizes"))
        return list(names)

    def from_elements(self, elements: NDArray[Any], dtype: str) -> relax.Expr:
        """Return the tensor of an array of numbers and symbolic expressions: a constant if all are numbers."""
        import numpy as np

        numbers = [as_size(element) for element in elements.reshape(-1)]
        if all(isinstance(number, int) for number in numbers):
            return const(np.array(numbers, dtype="int64").reshape(elements.shape), dtype)
        if elements.ndim == 0:
            made = self.full(d.as_dim(numbers[0]), dtype)
        else:
            shape = relax.ShapeExpr(tuple(d.as_dim(number) for number in numbers))
            made = self.cast(apply("shape_to_tensor", shape), dtype)
            if elements.ndim > 1:
                made = apply("reshape", made, relax.ShapeExpr(tuple(map(d.dim, elements.shape))))
        self._elements[made] = elements
        return made

    def from_size(self, size: tir.PrimExpr) -> relax.Expr:
        """Return a size as a tensor of int64 without dimensions."""
        return self.from_elements(objects(size).reshape(()), "int64")

    def tensor(self, value: Any, like: relax.Expr) -> relax.Expr:
        """Return a number, or a tensor of another dtype, as a tensor of the dtype of `like`."""
        return self.cast(value, dtype_of(like)) if isinstance(value, relax.Expr) else const(value, dtype_of(like))

    def shape(self, dims: Iterable[int | tir.PrimExpr]) -> relax.ShapeExpr:
        """Return dimensions as an argument of an operator."""
        return relax.ShapeExpr(tuple(d.as_dim(dim) for dim in dims))

    def unsupported(self, reason: str, help: str) -> TvmsError:
        """Return the error E1004 for the current node, which no program can express."""
        return error("E1004", reason, None, help)


def as_size(element: Any) -> int | tir.PrimExpr:
    """Return an element of an array of sizes as a number if it is known."""
    if isinstance(element, tir.PrimExpr):
        found = d.value_of(d.simplify(element)) if element.dtype == "int64" else None
        return element if found is None else found
    return int(element)
