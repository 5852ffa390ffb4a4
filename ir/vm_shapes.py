"""Functions of TVM's virtual machine that check, match and make shapes, copy and allocate (TVM: `src/runtime/vm/builtin.cc`).

Dimensions are kept in a heap, an int64 array. Programs of TVM that are already lowered call these functions by name.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from .functions import register_func
from .numpy_dtype import numpy_dtype

_COMPARE_WITH_NUMBER, _STORE, _IGNORE, _COMPARE_WITH_HEAP = range(4)
_NUMBER, _FROM_HEAP = range(2)


def _place(context: str) -> str:
    return f"{context}: " if context else ""


def _need(condition: bool, context: str, message: str, kind: type[Exception] = ValueError) -> None:
    if not condition:
        raise kind(f"{_place(context)}{message}")


def _need_kind(condition: bool, context: str, wanted: str, value: Any) -> None:
    if not condition:
        raise TypeError(f"{_place(context)}expected {wanted}, got {type(value).__name__}")


@register_func("vm.builtin.alloc_shape_heap")
def alloc_shape_heap(size: int) -> Any:
    """Return a heap for `size` dimensions."""
    import numpy as np

    return np.zeros(int(size), np.int64)


@register_func("vm.builtin.check_tensor_info")
def check_tensor_info(value: Any, ndim: int, *dtype_and_context: Any) -> None:
    """Raise TypeError if `value` is not a tensor, ValueError if it has another rank or dtype; -1, None and "" are unknown."""
    *dtype, context = dtype_and_context
    _need_kind(hasattr(value, "dtype"), context, "a tensor", value)
    _need(ndim in (-1, value.ndim), context, f"expected ndim {ndim}, got {value.ndim}")
    for wanted in dtype:
        is_known = wanted not in (None, "", "void")
        _need(
            not is_known or value.dtype == numpy_dtype(wanted), context, f"expected dtype {wanted}, got {value.dtype}"
        )


@register_func("vm.builtin.check_shape_info")
def check_shape_info(value: Any, ndim: int, context: str = "") -> None:
    """Raise TypeError if `value` is not a shape, ValueError if it has another rank."""
    _need_kind(isinstance(value, tuple), context, "a shape", value)
    _need(ndim in (-1, len(value)), context, f"expected a shape of ndim {ndim}, got {len(value)}")


@register_func("vm.builtin.check_prim_value_info")
def check_prim_value_info(value: Any, dtype: str, context: str = "") -> None:
    """Raise TypeError if `value` is not a scalar of the kind of `dtype`."""
    import numpy as np

    kinds = "b" if dtype == "bool" else "f" if dtype.startswith(("float", "bfloat")) else "iu"
    _need_kind(
        np.ndim(value) == 0 and np.asarray(value).dtype.kind in kinds, context, f"a scalar of dtype {dtype}", value
    )


@register_func("vm.builtin.check_tuple_info")
def check_tuple_info(value: Any, size: int, context: str = "") -> None:
    """Raise TypeError if `value` is not a tuple, ValueError if it has another number of fields."""
    _need_kind(isinstance(value, tuple | list), context, "a tuple", value)
    _need(len(value) == size, context, f"expected a tuple of {size} elements, got {len(value)}")


@register_func("vm.builtin.check_func_info")
def check_func_info(value: Any, context: str = "") -> None:
    """Raise TypeError if `value` is not a function."""
    _need_kind(callable(value), context, "a function", value)


@register_func("vm.builtin.match_shape")
def match_shape(value: Any, heap: Any, size: int, *codes_and_context: Any) -> None:
    """Compare the dimensions of a tensor or a shape, or store them, by a pair of code and number for each.

    Raise RuntimeError if one differs, as TVM does.
    """
    *codes, context = codes_and_context
    dims = tuple(getattr(value, "shape", value))
    _need(len(dims) == size, context, f"expected {size} dimensions, got {len(dims)}", RuntimeError)
    for place, dim in enumerate(dims):
        _match(int(dim), heap, int(codes[2 * place]), int(codes[2 * place + 1]), context, f"dimension {place}")


@register_func("vm.builtin.match_prim_value")
def match_prim_value(value: int, heap: Any, code: int, number: int, context: str = "") -> None:
    """Compare an integer, or store it, as `match_shape` does."""
    _match(int(value), heap, int(code), int(number), context, "the value")


def _match(value: int, heap: Any, code: int, number: int, context: str, name: str) -> None:
    if code == _STORE:
        heap[number] = value
    elif code != _IGNORE:
        wanted = number if code == _COMPARE_WITH_NUMBER else int(heap[number])
        _need(value == wanted, context, f"expected {name} to be {wanted}, got {value}", RuntimeError)


@register_func("vm.builtin.make_shape")
def make_shape(heap: Any, size: int, *codes: int) -> tuple[int, ...]:
    """Return the shape of numbers and of dimensions of the heap, by a pair of code and number for each."""
    pairs = zip(codes[::2], codes[1::2], strict=True)
    dims = tuple([int(number) if code == _NUMBER else int(heap[int(number)]) for code, number in pairs])
    _need(len(dims) == size, "", f"expected {size} dimensions, got {len(dims)}")
    return dims


@register_func("vm.builtin.make_prim_value")
def make_prim_value(heap: Any, code: int, number: int) -> int:
    """Return a number, or a dimension of the heap."""
    return int(number) if code == _NUMBER else int(heap[int(number)])


@register_func("vm.builtin.shape_of")
def shape_of(value: Any) -> tuple[int, ...]:
    """Return the shape of a tensor."""
    return tuple(value.shape)


@register_func("vm.builtin.tensor_to_shape")
def tensor_to_shape(value: Any) -> tuple[int, ...]:
    """Return the elements of a tensor as a shape."""
    return tuple([int(item) for item in value])


@register_func("vm.builtin.reshape")
def reshape(value: Any, shape: tuple[int, ...]) -> Any:
    """Return a tensor of another shape with the same elements; ValueError if their number differs."""
    return value.reshape(tuple(shape))


@register_func("vm.builtin.copy")
def copy(value: Any) -> Any:
    """Return the value."""
    return value


@register_func("vm.builtin.to_device")
def to_device(value: Any, device_type: int, device_id: int) -> Any:
    """Return a tensor on a device; ValueError for a device other than the host, to which a whole program moves."""
    _need(
        device_type == 1, "", f"expected the host (device type 1), got {device_type}; choose the device of the machine"
    )
    return value


@register_func("vm.builtin.make_tuple")
def make_tuple(*fields: Any) -> tuple[Any, ...]:
    """Return a tuple."""
    return fields


@register_func("vm.builtin.tuple_getitem")
def tuple_getitem(value: Any, index: int) -> Any:
    """Return a field of a tuple."""
    return value[index]


@register_func("vm.builtin.null_value")
def null_value() -> None:
    """Return nothing."""


@register_func("vm.builtin.make_closure")
def make_closure(function: Any, *captured: Any) -> Any:
    """Return a function with its first arguments bound."""
    return partial(function, *captured)


@register_func("vm.builtin.alloc_storage")
def alloc_storage(machine: Any, shape: tuple[int, ...], device_index: int, dtype: str, scope: str = "global") -> Any:
    """Return memory for a tensor, as bytes; ValueError for a scope other than "global"."""
    import numpy as np

    _need(scope == "global", "", f"expected memory of scope 'global', got '{scope}'")
    return np.empty(int(np.prod(shape)) * numpy_dtype(dtype).itemsize, np.uint8)


@register_func("vm.builtin.alloc_tensor")
def alloc_tensor(storage: Any, offset: int, shape: tuple[int, ...], dtype: str) -> Any:
    """Return a tensor in `storage`, `offset` bytes after its start; ValueError if it is not inside."""
    import numpy as np

    kind = numpy_dtype(dtype)
    end = int(offset) + int(np.prod(shape)) * kind.itemsize
    _need(
        0 <= offset <= end <= storage.nbytes, "", f"bytes {offset} to {end} are not in {storage.nbytes} bytes of memory"
    )
    return storage[int(offset) : end].view(kind).reshape(tuple(shape))


@register_func("runtime.TVMArrayCreateView")
@register_func("runtime.TVMTensorCreateView")
def create_view(value: Any, shape: tuple[int, ...], dtype: str, offset: int) -> Any:
    """Return a tensor of another shape and dtype on the memory of `value`, `offset` bytes after its start.

    ValueError if it is not inside.
    """
    return alloc_tensor(value.reshape(-1).view("uint8"), offset, shape, dtype)
