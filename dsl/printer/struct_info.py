"""Struct info."""

from __future__ import annotations

from typing import Any, cast

from ...ir import relax, tir
from ...ir.base import DummyGlobalInfo, StructInfo, VDevice
from .literals import string
from .printer import Printer, prints
from .variables import variables_in


def shape_value(printer: Printer, value: tir.PrimExpr) -> str:
    """Return one dimension; in a signature it is quoted if it uses a variable that the signature binds."""
    text = printer.expr(value)
    frame = next((frame for frame in printer.frames if frame.function_vars is not None), None)
    if frame is None or not frame.function_vars or frame.function_vars.isdisjoint(variables_in(value)):
        return text
    return string(text)


def symbols_in(info: StructInfo | None) -> set[object]:
    """Return the variables of either level in a struct info."""
    found: set[object] = set()
    stack: list[object] = [info]
    while stack:
        item = stack.pop()
        if isinstance(item, tir.Var | relax.Var):
            found.add(item)
        elif isinstance(item, tuple):
            stack.extend(cast("tuple[object, ...]", item))
        elif isinstance(item, StructInfo | tir.PrimExpr | relax.ShapeExpr):
            stack.extend([getattr(item, name) for name in item.__struct_fields__ if name != "struct_info"])
    return found


def _shape(printer: Printer, shape: relax.Expr) -> str:
    if not isinstance(shape, relax.ShapeExpr):
        return printer.expr(shape)
    values = [shape_value(printer, value) for value in shape.values]
    return f"({values[0]},)" if len(values) == 1 else f"({', '.join(values)})"


def vdevice_name(printer: Printer, device: VDevice) -> str:
    """Return the reference to a device: if the module lists it, its kind and its index among those of that kind."""
    kind = device.target.get("kind")
    same = [item for item in printer.vdevices if isinstance(item, VDevice) and item.target.get("kind") == kind]
    index = next((index for index, item in enumerate(same) if item is device), None)
    return printer.expr(device) if index is None else string(f"{kind}:{index}")


@prints(relax.ObjectStructInfo)
def _object(printer: Printer, node: relax.ObjectStructInfo, level: int) -> str:
    return printer.relax(printer.dialect.object)


@prints(relax.PrimStructInfo)
def _prim(printer: Printer, node: relax.PrimStructInfo, level: int) -> str:
    if not any(frame.is_function for frame in printer.frames):
        return annotation(printer, node, printer.dialect.plain_scalars)
    return annotation(printer, node, False)


def annotation(printer: Printer, node: StructInfo, plain: bool = True) -> str:
    """Return struct info as an annotation of a variable or a result: that of a scalar is `T.int64` in a dialect of plain scalars.

    Inside of other struct info and of calls, 0.27 prints that form too, but does not read it; so it is not printed there.
    """
    if not isinstance(node, relax.PrimStructInfo):
        return printer.expr(node)
    if node.value is None and plain and printer.dialect.plain_scalars:
        return printer.tir(node.dtype)
    argument = string(node.dtype) if node.value is None else f"value={shape_value(printer, node.value)}"
    return f"{printer.relax('Prim')}({argument})"


@prints(relax.ShapeStructInfo)
def _shape_info(printer: Printer, node: relax.ShapeStructInfo, level: int) -> str:
    if node.values is None:
        return f"{printer.relax('Shape')}(ndim={node.ndim})"
    return f"{printer.relax('Shape')}([{', '.join([shape_value(printer, value) for value in node.values])}])"


@prints(relax.TensorStructInfo)
def _tensor(printer: Printer, node: relax.TensorStructInfo, level: int) -> str:
    arguments = [] if node.shape is None else [_shape(printer, node.shape)]
    if node.dtype != "void":
        positional = printer.dialect.native and node.shape is not None
        arguments.append(string(node.dtype) if positional else f"dtype={string(node.dtype)}")
    if node.shape is None and node.ndim >= 0:
        arguments.append(f"ndim={node.ndim}")
    if node.vdevice is not None:
        arguments.append(f"vdevice={vdevice_name(printer, node.vdevice)}")
    head = printer.relax("Tensor")
    return f"{head}({', '.join(arguments)})" if arguments else head


@prints(relax.TupleStructInfo)
def _tuple(printer: Printer, node: relax.TupleStructInfo, level: int) -> str:
    head = printer.relax("Tuple")
    return f"{head}({printer.joined(node.fields)})" if node.fields else head


@prints(relax.FuncStructInfo)
def _func(printer: Printer, node: relax.FuncStructInfo, level: int) -> str:
    head = printer.relax("Callable")
    if node.params is not None:
        return f"{head}({printer.tuple(node.params)}, {printer.expr(node.ret)}, {node.purity})"
    arguments: list[str] = []
    if not isinstance(node.ret, relax.ObjectStructInfo):
        arguments.append(f"ret={printer.expr(node.ret)}")
    if node.purity:
        arguments.append("purity=True")
    if node.derive_func is not None:
        name = printer.dialect.functions.get(node.derive_func, node.derive_func)
        arguments.append(f"derive_func={string(name)}")
    return f"{head}({', '.join(arguments)})" if arguments else head


# --- Distributed tensors, devices -----------------------------------------------------------------------------


@prints(relax.Placement)
def _placement(printer: Printer, node: relax.Placement, level: int) -> str:
    return string(", ".join(["R" if axis is None else f"S[{axis}]" for axis in node.dim_specs]))


@prints(relax.DeviceMesh)
def _device_mesh(printer: Printer, node: relax.DeviceMesh, level: int) -> str:
    infos = printer.module.global_infos if printer.module is not None and printer.in_relax else {}
    for name, items in infos.items():
        for index, item in enumerate(items):
            if cast("object", item) is node:
                return string(f"{name}[{index}]")
    devices = printer.value(node.device_ids) if node.device_range is None else _device_range(printer, node.device_range)
    return f"{printer.relax('device_mesh')}({printer.tuple(node.shape)}, {devices})"


def _device_range(printer: Printer, node: tir.Range) -> str:
    was, printer.in_relax = printer.in_relax, True
    text = printer.expr(node).replace("R.", "I.", 1)
    printer.in_relax = was
    return text


@prints(relax.DTensorStructInfo)
def _dtensor(printer: Printer, node: relax.DTensorStructInfo, level: int) -> str:
    tensor = node.tensor_sinfo
    rest: list[tuple[str, Any]] = [("device_mesh", node.device_mesh), ("placement", node.placement)]
    if tensor.dtype != "void":
        rest.insert(0, ("dtype", tensor.dtype))
    if tensor.shape is not None and tensor.dtype != "void":
        arguments = [_shape(printer, tensor.shape), *[printer.expr(value) for _, value in rest]]
    else:
        arguments = [] if tensor.shape is None else [_shape(printer, tensor.shape)]
        arguments += [f"{name}={printer.expr(value)}" for name, value in rest]
    if tensor.shape is None and tensor.ndim >= 0:
        arguments.append(f"ndim={tensor.ndim}")
    return f"{printer.relax('DTensor')}({', '.join(arguments)})"


@prints(DummyGlobalInfo)
def _dummy(printer: Printer, node: DummyGlobalInfo, level: int) -> str:
    return f"{printer.ir('dummy_global_info')}()"


@prints(VDevice)
def _vdevice(printer: Printer, node: VDevice, level: int) -> str:
    target = printer.attrs(node.target)
    return f"{printer.ir('vdevice')}({target}, {node.vdevice_id}, {string(node.memory_scope)})"
