"""Locations of values: virtual devices, device meshes and placements, given in place or by name of a global info."""

from __future__ import annotations

import re
from typing import Any, TypeVar

from ...ir import relax, tir
from ...ir.base import GlobalInfo, Node, VDevice
from ...ir.ops.builtin import DEVICE_TYPES
from ...ir.signature import describe
from .. import syntax
from . import relax_values as values
from .convert import Integer, Ints, integers
from .forms import FormUse, form
from .host import HostValue
from .relax_blocks import BlockBuilder

_NodeT = TypeVar("_NodeT", bound=Node)
_INFO = re.compile(r"(\w+)\[(\d+)\]$")
_SPLIT = re.compile(r"S\[(\d+)\]$")


def vdevice(builder: BlockBuilder, node: syntax.Expr) -> VDevice | None:
    """Return the device that `node` is or names ("llvm:0:global", "cuda", "vdevice:1"), also by a device of the host program
    (`tvms.cpu()`); raise E0321 if none exists.
    """
    value = values.evaluate(builder, node)
    if value is None or isinstance(value, VDevice):
        return value
    infos = builder.context.global_infos.get("vdevice", ())
    devices = [info for info in infos if isinstance(info, VDevice)]
    if isinstance(value, HostValue) and hasattr(value.value, "device_type"):
        kinds = {number: kind for kind, number in DEVICE_TYPES.items()}
        value = f"{kinds.get(value.value.device_type, '')}:{value.value.device_id}"
    if isinstance(value, str):
        kind, number, scope, *_ = f"{value}:::".split(":")
        alike = [device for device in devices if kind == "vdevice" or device.target.get("kind") == kind]
        index = int(number or 0) if (number or "0").isdecimal() else len(alike)
        if index < len(alike) and scope in ("", alike[index].memory_scope):
            return alike[index]
    help = 'list it with I.module_global_infos({"vdevice": [I.vdevice("llvm")]})'
    raise builder.context.error("E0321", f"{describe(value)} is not a device of the module", node, help)


def device_mesh(builder: BlockBuilder, node: syntax.Expr) -> relax.DeviceMesh:
    """Return the mesh that `node` is or names, as in "mesh[0]"; raise E0321 if there is none."""
    value = values.evaluate(builder, node)
    found = _named_info(builder, value) if isinstance(value, str) else value
    if isinstance(found, relax.DeviceMesh):
        return found
    help = 'list it with I.module_global_infos({"mesh": [R.device_mesh((2,), I.Range(0, 2))]})'
    raise builder.context.error("E0321", f"{describe(value)} is not a device mesh of the module", node, help)


def _named_info(builder: BlockBuilder, text: str) -> GlobalInfo | Node | None:
    match = _INFO.match(text)
    infos = builder.context.global_infos.get(match[1], ()) if match else ()
    return infos[int(match[2])] if match and int(match[2]) < len(infos) else None


def placement(builder: BlockBuilder, node: syntax.Expr) -> relax.Placement:
    """Return the placement that a string such as "S[0], R" describes; raise E0321 if it is not one."""
    value = values.evaluate(builder, node)
    if isinstance(value, relax.Placement):
        return value
    parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else ["?"]
    splits = [_SPLIT.match(part) for part in parts]
    if not all(split or part == "R" for split, part in zip(splits, parts, strict=True)):
        help = 'for each mesh dimension write S[d], split along tensor dimension d, or R, replicated: "S[0], R"'
        raise builder.context.error("E0321", f"{describe(value)} is not a placement", node, help)
    return relax.Placement(tuple(int(split[1]) if split else None for split in splits), span=builder.context.span(node))


@form("R.device")
def _device(site: FormUse, dev_type: Integer, dev_id: Integer = 0) -> VDevice:
    """`R.device(2, 0)`: a device by the number of its type, for `R.hint_on_device`."""
    kind = next((kind for kind, number in DEVICE_TYPES.items() if number == dev_type), None)
    if kind is None:
        help = "write " + ", ".join(f"{number} for {kind}" for kind, number in DEVICE_TYPES.items())
        raise site.error("E0321", f"{dev_type} is not the number of a device type", help, site.argument("dev_type", 0))
    return VDevice({"kind": kind}, dev_id, span=site.span)


@form("R.device_mesh", "R.dist.device_mesh")
def _device_mesh(site: FormUse, shape: Ints, device_ids: Any) -> relax.DeviceMesh:
    """`R.device_mesh((2, 2), I.Range(0, 4))`: a grid of devices."""
    if isinstance(device_ids, tir.Range):
        return relax.DeviceMesh(shape, (), device_ids, span=site.span)
    return relax.DeviceMesh(shape, integers(device_ids, site.span), span=site.span)
