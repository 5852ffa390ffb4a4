"""Memory, devices and the virtual machine (TVM: `relax/op/{builtin,memory,vm}`, `to_vdevice`, `hint_on_device`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import tir
from ..base import StructInfo, VDevice
from ..dtype import lanes_of, parse_dtype, type_code
from ..relax import DataTypeImm, PrimStructInfo, TensorStructInfo, TupleStructInfo
from . import dims as d
from .inference import Inference, any_object, dims_of, nothing, same_as_first, tensor_info
from .registry import InferRule, Kind, Param, RelaxOp, register


def _dtype(a: Inference) -> str:
    argument = a.argument("dtype")
    return argument.value if isinstance(argument, DataTypeImm) else "void"


def _allocated(a: Inference) -> StructInfo:
    info = a.shape("shape")
    if info.values is not None:
        return tensor_info(info.values, _dtype(a), len(info.values))
    return TensorStructInfo(a.argument("shape"), _dtype(a), info.ndim)


_SHAPE = Param("shape", "shape")
_DTYPE = Param("dtype", "datatype")
_DEVICE = Param("runtime_device_index", "prim")
_SCOPE = Param("storage_scope", "string", "global")
_STORED = (Param("storage"), Param("offset", "prim"), _SHAPE, _DTYPE)

register(
    RelaxOp(
        "relax.builtin.alloc_tensor",
        (_SHAPE, _DTYPE, _DEVICE, _SCOPE),
        _allocated,
        "Return a new tensor.",
        lambda np, a: np.empty(a.shape, a.result_dtype),
    )
)
register(
    RelaxOp(
        "relax.builtin.stop_lift_params",
        (Param("x"),),
        same_as_first,
        "Return `x` and stop the lifting of parameter transformations.",
        lambda np, a: a.x,
        is_identity=True,
    )
)
register(
    RelaxOp(
        "relax.memory.alloc_storage",
        (Param("size", "shape"), Param("virtual_device_index", "prim"), Param("storage_scope", "string"), _DTYPE),
        any_object,
        "Return new memory.",
    )
)
_PLACED = (*_STORED, Param("runtime_device_ind", "opt_prim", None))


def _complete_place(values: dict[str, Any]) -> None:
    """Omit the number of the device if it is 0, which is its default (TVM 0.27 writes it)."""
    device = values["runtime_device_ind"]
    if d.value_of(getattr(device, "value", device)) == 0:
        values["runtime_device_ind"] = None


register(
    RelaxOp(
        "relax.memory.alloc_tensor",
        _PLACED,
        _allocated,
        "Return a tensor inside `storage`.",
        complete=_complete_place,
    )
)
register(RelaxOp("relax.memory.kill_storage", (Param("storage"),), nothing, "Free memory.", pure=False))
register(RelaxOp("relax.memory.kill_tensor", (Param("tensor"),), nothing, "Free a tensor.", pure=False))
register(RelaxOp("relax.vm.alloc_storage", (_SHAPE, _DEVICE, _DTYPE, _SCOPE), any_object, "Return new memory."))
register(
    RelaxOp("relax.vm.alloc_tensor", _PLACED, _allocated, "Return a tensor inside `storage`.", complete=_complete_place)
)
register(RelaxOp("relax.vm.kill_object", (Param("obj"),), nothing, "Free an object.", pure=False))


def _infer_view(a: Inference) -> StructInfo:
    info = a.tensor("data")
    dtype, dims, ndim = info.dtype, dims_of(info), info.ndim
    if _is_given(a, "dtype"):
        dtype = _dtype(a)
        if isinstance(a.argument("dtype"), DataTypeImm) and dtype == "void":
            raise a.fail(
                "E0324", "needs the dtype of elements, which void is not", "leave 'dtype' out to keep that of 'data'"
            )
    if _is_given(a, "shape"):
        dims, ndim = a.shape("shape").values, a.shape("shape").ndim
    result = tensor_info(dims, dtype, ndim, info.vdevice)
    _check_view(a, info, result)
    return result


def _is_given(a: Inference, name: str) -> bool:
    return a.has(name) and not isinstance(a.info(name), TupleStructInfo)


def _check_view(a: Inference, whole: TensorStructInfo, view: TensorStructInfo) -> None:
    """Check that a view lies inside its source, as far as shapes and dtypes are known (E0326)."""
    same_shape, same_dtype = not _is_given(a, "shape"), not _is_given(a, "dtype")
    if not (same_shape or None not in (dims_of(whole), dims_of(view))):
        return
    if not (same_dtype or "void" not in (whole.dtype, view.dtype)):
        return
    offset = a.number("relative_byte_offset") if same_shape or whole.dtype != "void" else None
    end = d.add(_bytes(view), d.dim(0) if offset is None else offset)
    if d.is_greater(end, _bytes(whole)):
        raise a.fail("E0326", f"views {d.show_one(end)} bytes of a tensor of {d.show_one(_bytes(whole))}")


def _bytes(info: TensorStructInfo) -> tir.PrimExpr:
    """Return the size of a tensor in bytes; an unknown shape counts as one element, an unknown dtype as one byte."""
    size = 1 if info.dtype == "void" else -(-parse_dtype(info.dtype).bits * lanes_of(info.dtype) // 8)
    return d.multiply(d.product(dims_of(info) or ()), size)


def _complete_view(values: dict[str, Any]) -> None:
    """Replace omitted arguments by empty tuples, so that later ones keep their positions (TVM: `relax.op.memory.view`)."""
    from ..relax import Tuple

    for name in ("shape", "dtype", "relative_byte_offset"):
        if values[name] is None:
            values[name] = Tuple(())


def _numpy_view(np: Any, a: Any) -> Any:
    from ..numpy_dtype import numpy_dtype

    elements = a.data.reshape(-1).view("uint8")[
        0 if a.relative_byte_offset in (None, ()) else int(a.relative_byte_offset) :
    ]
    dtype = a.data.dtype if a.dtype in (None, ()) else numpy_dtype(a.dtype)
    shape = a.data.shape if a.shape in (None, ()) else tuple(int(size) for size in a.shape)
    count = int(np.prod(shape))
    return elements[: count * dtype.itemsize].view(dtype).reshape(shape)


_OPTIONAL_DTYPE: Kind = "opt_datatype"
register(
    RelaxOp(
        "relax.memory.view",
        (
            Param("data"),
            Param("shape", "opt_shape", None),
            Param("dtype", _OPTIONAL_DTYPE, None),
            Param("relative_byte_offset", "opt_prim", None),
        ),
        _infer_view,
        "Return a view of the memory of `data` with another shape or dtype.",
        _numpy_view,
        complete=_complete_view,
    )
)
register(
    RelaxOp(
        "relax.memory.ensure_zero_offset",
        (Param("data"),),
        same_as_first,
        "Return `data`, copied if it does not start at the beginning of its memory.",
        lambda np, a: a.data,
    )
)


def _infer_to_vdevice(a: Inference) -> StructInfo:
    info = a.tensor("data")
    device = a.attr("dst_vdevice")
    return TensorStructInfo(info.shape, info.dtype, info.ndim, device if not isinstance(device, str) else info.vdevice)


register(
    RelaxOp(
        "relax.to_vdevice",
        (Param("data"), Param("dst_vdevice", "value")),
        _infer_to_vdevice,
        "Return `data` on another device.",
        lambda np, a: a.data,
    )
)
DEVICE_TYPES = {"llvm": 1, "cuda": 2, "opencl": 4, "vulkan": 7, "metal": 8, "rocm": 10, "webgpu": 15, "hexagon": 16}
"""DLPack's numbers of the types of devices, by the kind of their target."""


def absent_device(name: str, args: Sequence[Any]) -> VDevice | None:
    """Return the device of a program that `R.opencl(2)`, or `R.device(4, 2)`, names; None if programs can run on such a device."""
    kinds = {number: kind for kind, number in DEVICE_TYPES.items()}
    kind = kinds.get(args[0], "cuda") if name == "device" and args else name
    return (
        VDevice({"kind": kind}, *args[name == "device" :]) if kind in DEVICE_TYPES.keys() - {"llvm", "cuda"} else None
    )


def _device_of_program(values: dict[str, Any]) -> None:
    """Convert a device, such as `tvms.cpu()`, to the device of a program; its type is a number of DLPack."""
    given = values["dst_vdevice"]
    kinds = {number: kind for kind, number in DEVICE_TYPES.items()}
    if getattr(given, "device_type", None) in kinds:
        values["dst_vdevice"] = VDevice({"kind": kinds[given.device_type]}, given.device_id)


register(
    RelaxOp(
        "relax.hint_on_device",
        (Param("data"), Param("dst_vdevice", "value"), Param("memory_scope", "str", "global")),
        same_as_first,
        "Return `data`, with a hint to place it on another device.",
        lambda np, a: a.data,
        complete=_device_of_program,
    )
)


def _numpy_shape_i(np: Any, a: Any) -> Any:
    return int(a.tensor.shape[int(a.axis)])


def _numpy_stride_i(np: Any, a: Any) -> Any:
    """Return the stride, in elements, of a compact tensor."""
    return int(np.prod(a.tensor.shape[int(a.axis) + 1 :]))


def _known(dtype: str) -> InferRule:
    return lambda a: PrimStructInfo(dtype)


def _infer_shape_i(a: Inference) -> StructInfo:
    info, axis = a.tensor("tensor"), a.number("axis")
    dims = dims_of(info)
    number = d.value_of(axis) if axis is not None else None
    if number is not None and number < 0:
        raise a.fail("E0325", f"asks for axis {number}", "count axes from the front")
    if number is not None and info.ndim != -1:
        a.axis(number, info.ndim)
    return PrimStructInfo("int64", dims[number] if dims is not None and number is not None else None)


def _offset(array: Any) -> int:
    """Return how many bytes after the start of the array that owns its memory an array of NumPy starts."""
    owner = array
    while hasattr(owner.base, "ctypes"):
        owner = owner.base
    return array.ctypes.data - owner.ctypes.data


_ASPECTS: tuple[tuple[str, str, str, Callable[[Any], int]], ...] = (
    ("tensor_dtype_code", "uint8", "the type code of the dtype", lambda x: type_code(str(x.dtype))),
    ("tensor_dtype_bits", "uint8", "the number of bits of the dtype", lambda x: 8 * x.dtype.itemsize),
    ("tensor_dtype_lanes", "uint16", "the lanes of the dtype", lambda x: 1),
    ("tensor_ndim", "int32", "the number of dimensions", lambda x: x.ndim),
    ("tensor_byte_offset", "uint64", "the offset of the first element in its memory, in bytes", lambda x: _offset(x)),
    (
        "tensor_elem_offset",
        "uint64",
        "the offset of the first element in its memory, in elements",
        lambda x: _offset(x) // x.itemsize,
    ),
)
for _name, _kind, _doc, _of in _ASPECTS:
    register(
        RelaxOp(
            f"relax.inspect.{_name}",
            (Param("tensor"),),
            _known(_kind),
            f"Return {_doc} of a tensor.",
            lambda np, a, of=_of: of(a.tensor),
        )
    )
for _name, _doc in (("tensor_shape_i", "a dimension"), ("tensor_stride_i", "a stride")):
    register(
        RelaxOp(
            f"relax.inspect.{_name}",
            (Param("tensor"), Param("axis", "prim")),
            _infer_shape_i if _name == "tensor_shape_i" else _known("int64"),
            f"Return {_doc} of a tensor.",
            _numpy_shape_i if _name == "tensor_shape_i" else _numpy_stride_i,
        )
    )
