"""Assign a device to every tensor, and insert copies between devices (TVM: `RealizeVDevice`).

    lv = R.hint_on_device(x, R.device(2, 0))        lv: R.Tensor(…, "cuda:0") = R.to_vdevice(x, "cuda:0")
    gv = R.add(lv, lv)                              gv: R.Tensor(…, "cuda:0") = R.add(lv, lv)

Operands are on the device of the bound variable, except for those two operators. If the device of the operand of a hint
is not otherwise known, it is that of the hint, which is then removed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from .. import relax
from ..base import IRModule, Node, Op, StructInfo, VDevice
from ..building.values import apply
from ..deep import deep
from ..visit import rewrite, substitute, walk
from .rewriter import ValueRewriter, forgotten, refined_result
from .transform import declare_pass, map_functions

_HINT, _MOVE = Op("relax.hint_on_device"), Op("relax.to_vdevice")


@declare_pass("RealizeVDevice")
@deep
def realize_vdevice(mod: IRModule) -> IRModule:
    """Assign devices to all tensors for which they follow from hints, copies, parameters or results.

    A hint with a device that the module does not list is ignored and kept.
    """
    devices = [global_info for global_info in mod.global_infos.get("vdevice", ()) if isinstance(global_info, VDevice)]

    def listed(node: Node) -> Node | None:
        if not isinstance(node, relax.Call) or node.op != _HINT:
            return None
        hint, scope = node.attrs["dst_vdevice"], node.attrs.get("memory_scope", "global")
        if hint in devices:
            return None
        same = [device for device in devices if _name(device) == _name(hint)]
        same.sort(key=lambda device: device.memory_scope != scope)
        return replace(node, attrs={**node.attrs, "dst_vdevice": same[0] if same else hint})

    def realized(function: relax.Function) -> relax.Function:
        return _realized(rewrite(function, listed), devices)

    return map_functions(mod, relax.Function, realized)


def _name(device: VDevice) -> tuple[object, int]:
    return device.target.get("kind"), device.vdevice_id


def _realized(function: relax.Function, devices: Sequence[VDevice]) -> relax.Function:
    places = {var: device for var, device in _places(function).items() if device in devices}
    if not places:
        return function
    placed = forgotten(substitute(function, {var: _at(var, device) for var, device in places.items()}))
    return refined_result(replace(_Mover(placed, devices).function(placed), struct_info=None))


def _places(function: relax.Function) -> Mapping[relax.Var, VDevice]:
    """Return the devices of variables; definite information takes precedence over operands of hints."""
    bindings = [node for node in walk(function) if isinstance(node, relax.VarBinding | relax.MatchCast)]
    bound = {binding.var: binding.value for binding in bindings}
    together: defaultdict[relax.Var, list[relax.Var]] = defaultdict(list)
    variables = {node: None for node in walk(function) if isinstance(node, relax.Var)}
    certain = {var: device for var in variables if (device := _device(var.struct_info)) is not None}
    hinted: dict[relax.Var, VDevice] = {}
    for var, device in _returned(function.body.body, function.ret_struct_info, bound):
        certain.setdefault(var, device)
    for var, value in bound.items():
        if isinstance(value, relax.Call) and value.op in (_HINT, _MOVE):
            certain[var] = value.attrs["dst_vdevice"]
            if value.op == _HINT and isinstance(value.args[0], relax.Var):
                hinted[value.args[0]] = certain[var]
            continue
        for other in walk(value):
            if isinstance(other, relax.Var):
                together[var].append(other)
                together[other].append(var)
    places: dict[relax.Var, VDevice] = {}
    for known in (certain, hinted):
        pending = [var for var in known if var not in places]
        places |= {var: known[var] for var in pending}
        while pending:
            var = pending.pop()
            new = [other for other in together[var] if other not in places]
            places |= dict.fromkeys(new, places[var])
            pending += new
    return places


def _returned(
    value: relax.Expr, info: StructInfo | None, bound: Mapping[relax.Var, relax.Expr]
) -> Iterator[tuple[relax.Var, VDevice]]:
    """Yield the variables whose devices a signature determines."""
    device = _device(info)
    if isinstance(value, relax.Var) and device is not None:
        yield value, device
    if isinstance(info, relax.TupleStructInfo):
        while isinstance(value, relax.Var) and value in bound:
            value = bound[value]
        fields = value.fields if isinstance(value, relax.Tuple) else ()
        for field, kind in zip(fields, info.fields, strict=False):
            yield from _returned(field, kind, bound)


def _device(info: StructInfo | None) -> VDevice | None:
    return info.vdevice if isinstance(info, relax.TensorStructInfo) else None


def _at(var: relax.Var, device: VDevice) -> relax.Var:
    """Return a variable with its device in its struct info."""
    info = var.struct_info
    return replace(var, struct_info=replace(info, vdevice=device)) if isinstance(info, relax.TensorStructInfo) else var


class _Mover(ValueRewriter):
    def __init__(self, function: relax.Function, devices: Sequence[VDevice]) -> None:
        super().__init__(function)
        self._devices = devices

    def value(self, binding: relax.Binding) -> relax.Expr:
        """Return the replacement of a hint: a copy, or only the operand."""
        call = binding.value
        if not isinstance(call, relax.Call) or call.op != _HINT:
            return call
        (data,), device = call.args, call.attrs["dst_vdevice"]
        if device not in self._devices:
            return call
        return data if _device(data.struct_info) is device else apply("to_vdevice", data, dst_vdevice=device)
