"""Tensors and parameters of neural-network modules: graph-level values of known shape with Python operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from .. import relax, te, tir
from ..building.block_builder import BlockBuilder
from ..building.values import apply, const, dimension, graph_value
from ..ops.inference import dims_of, tensor_info
from ..relax import Expr, TensorStructInfo, TupleStructInfo

_default_dtype = ["float32"]


def get_default_dtype() -> str:
    """Return the default dtype of parameters."""
    return _default_dtype[0]


def set_default_dtype(dtype: str) -> None:
    """Set the default dtype of parameters."""
    _default_dtype[0] = dtype


def builder() -> BlockBuilder:
    """Return the builder of the module that is being exported; RuntimeError if there is none."""
    current = BlockBuilder.current()
    if current is None:
        raise RuntimeError("tensors exist only while a module is exported: module.export_tvm(spec)")
    return current


class Tensor:
    """A tensor in the graph that a module builds: its shape and dtype are known, its values are not."""

    def __init__(self, expr: Expr | None = None, *, _expr: Expr | None = None) -> None:
        """Wrap the graph-level value `expr`, which TVM calls `_expr`."""
        self.expr = cast("Expr", _expr if expr is None else expr)

    @property
    def _expr(self) -> Expr:
        """The graph-level value, under TVM's name."""
        return self.expr

    @_expr.setter
    def _expr(self, value: Expr) -> None:
        self.expr = value

    @property
    def struct_info(self) -> TensorStructInfo:
        return cast("TensorStructInfo", self.expr.struct_info)

    @property
    def shape(self) -> list[Any]:
        """The dimensions: ints, and expressions for symbolic ones."""
        dims = dims_of(self.struct_info) or ()
        return [dim.value if isinstance(dim, tir.IntImm) else dim for dim in dims]

    @property
    def ndim(self) -> int:
        return self.struct_info.ndim

    @property
    def dtype(self) -> str:
        return self.struct_info.dtype

    @staticmethod
    def from_const(data: Any) -> Tensor:
        """Return an array as a tensor."""
        return Tensor(const(data))

    @staticmethod
    def from_scalar(data: float, dtype: str) -> Tensor:
        """Return a number as a tensor without dimensions."""
        return Tensor(const(data, dtype))

    @staticmethod
    def from_struct_info(struct_info: TensorStructInfo, name: str = "tensor") -> Tensor:
        """Return a variable of `struct_info`."""
        return Tensor(relax.Var(name, struct_info=struct_info))

    @staticmethod
    def from_ty(ty: TensorStructInfo, name: str = "tensor") -> Tensor:
        """Return a variable of type `ty` (TVM 0.27)."""
        return Tensor.from_struct_info(ty, name)

    @staticmethod
    def placeholder(shape: Sequence[Any], dtype: str, name: str = "tensor") -> Tensor:
        """Return a variable of `shape` and `dtype`; strings in the shape are symbolic dimensions."""
        dims = [te.var(item, "int64") if isinstance(item, str) else dimension(item) for item in shape]
        return Tensor.from_struct_info(tensor_info(dims, dtype), name)

    def __repr__(self) -> str:
        return f'{type(self).__name__}({[str(item) for item in self.shape]}, "{self.dtype}")'

    def __add__(self, other: Any) -> Tensor:
        return call("add", "add", self, self._like(other))

    def __radd__(self, other: Any) -> Tensor:
        return call("add", "add", self, self._like(other))

    def __sub__(self, other: Any) -> Tensor:
        return call("subtract", "subtract", self, self._like(other))

    def __rsub__(self, other: Any) -> Tensor:
        return call("subtract", "subtract", self._like(other), self)

    def __mul__(self, other: Any) -> Tensor:
        return call("multiply", "mul", self, self._like(other))

    def __rmul__(self, other: Any) -> Tensor:
        return call("multiply", "mul", self, self._like(other))

    def __truediv__(self, other: Any) -> Tensor:
        return call("divide", "divide", self, self._like(other))

    def __lt__(self, other: Any) -> Tensor:
        return call("less", "less", self, self._like(other))

    def __le__(self, other: Any) -> Tensor:
        return call("less_equal", "less_equal", self, self._like(other))

    def __gt__(self, other: Any) -> Tensor:
        return call("greater", "greater", self, self._like(other))

    def __ge__(self, other: Any) -> Tensor:
        return call("greater_equal", "greater_equal", self, self._like(other))

    def astype(self, dtype: str) -> Tensor:
        """Return this tensor converted to `dtype`; the tensor itself if it has that dtype."""
        return self if dtype == self.dtype else call("astype", "astype", self, dtype)

    def maximum(self, other: Any) -> Tensor:
        return call("maximum", "maximum", self, self._like(other))

    def minimum(self, other: Any) -> Tensor:
        return call("minimum", "minimum", self, self._like(other))

    def reshape(self, *shape: Any) -> Tensor:
        return call("reshape", "reshape", self, shape)

    def permute_dims(self, *axes: int) -> Tensor:
        return call("permute_dims", "permute_dims", self, axes or None)

    def repeat(self, repeats: int, axis: int | None = None) -> Tensor:
        return call("repeat", "repeat", self, repeats, axis)

    def _like(self, other: Any) -> Any:
        return Tensor.from_scalar(other, self.dtype) if isinstance(other, int | float) else other


class Parameter(Tensor):
    """A weight: a parameter of the exported functions, with `data` if its values are known."""

    def __init__(self, shape: Sequence[Any], dtype: str | None = None) -> None:
        super().__init__(Tensor.placeholder(shape, dtype or get_default_dtype(), "param").expr)
        self.attrs: dict[str, Any] = {}
        self._data: Any = None

    @property
    def data(self) -> Any:
        """The values, an array; None if unknown."""
        return self._data

    @data.setter
    def data(self, data: Any) -> None:
        """Set the values: an array, or None. ValueError if shape or dtype differ."""
        array = None if data is None else const(data).data
        if array is not None and (list(array.shape) != self.shape or str(array.dtype) != self.dtype):
            expected = f"{self.dtype} of shape {tuple(self.shape)}"
            raise ValueError(f"a parameter of {expected} cannot hold {array.dtype} of shape {array.shape}")
        self._data = array

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype; ValueError if the values are set."""
        if dtype is None:
            return
        if self._data is not None:
            raise ValueError("the values of this parameter are set; change its dtype first")
        self.expr = Tensor.placeholder(self.shape, dtype, "param").expr


class Object:
    """A graph-level value that is not a tensor, such as a cache."""

    def __init__(
        self, expr: Expr | None = None, name: str = "object", *, _expr: Expr | None = None, _name: str | None = None
    ) -> None:
        """Wrap the graph-level value `expr`, bound to a variable called `name`; TVM calls these `_expr` and `_name`."""
        value = cast("Expr", _expr if expr is None else expr)
        self.expr = value if isinstance(value, relax.Var) else builder().emit(value, _name or name)

    @property
    def _expr(self) -> Expr:
        """The graph-level value, under TVM's name."""
        return self.expr


def plain_values(value: Any) -> Any:
    """Return `value` with tensors replaced by their graph-level values, also in lists and tuples."""
    if isinstance(value, Tensor | Object):
        return value.expr
    if isinstance(value, list | tuple):
        return tuple(plain_values(item) for item in cast("Sequence[Any]", value))
    return value


def call(operator: str, name: str, *args: Any, **keywords: Any) -> Any:
    """Return the operator applied to tensors, with the result bound to a variable called `name`."""
    values = {key: plain_values(value) for key, value in keywords.items()}
    return wrap(apply(operator, *map(plain_values, args), **values), name)


def wrap(value: Expr, name: str) -> Any:
    """Bind a graph-level value to a variable called `name`; return it as a tensor, or as a tuple of tensors."""
    bound = value if isinstance(value, relax.DataflowVar) else builder().emit(value, name)
    info = bound.struct_info
    if isinstance(info, TupleStructInfo):
        return tuple(wrap(graph_value(field), f"{name}.{number}") for number, field in enumerate(bound))
    if not isinstance(info, TensorStructInfo):
        raise TypeError(f"'{name}' is not a tensor: {info}")
    return Tensor(bound)


wrap_nested = wrap
"""TVM's name of `wrap`."""
