"""Replace one of the devices of a module (TVM: `UpdateVDevice`).

x: R.Tensor((2, 3), "float32", "llvm:0")        x: R.Tensor((2, 3), "float32", "cuda:0")
"""

from __future__ import annotations

from msgspec.structs import replace

from .. import relax
from ..base import GlobalInfo, IRModule, VDevice
from ..deep import deep
from ..diagnostics import error
from ..visit import rewrite
from .rewriter import refined_result
from .transform import declare_pass


@declare_pass("UpdateVDevice")
@deep
def update_vdevice(mod: IRModule, new_vdevice: VDevice, index: int) -> IRModule:
    """Replace the device with the given `index` by `new_vdevice`.

    Raises TvmsError E0902 if the module has no such device.
    """
    devices = mod.global_infos.get("vdevice", ())
    if not 0 <= index < len(devices):
        reason = f"pass 'UpdateVDevice': the module has no device {index}: it has {len(devices)}"
        raise error("E0902", reason, help='I.module_global_infos({"vdevice": …}) lists them, from 0')
    old = devices[index]
    functions = {
        name: rewrite(function, lambda node: new_vdevice if node is old else None)
        for name, function in mod.functions.items()
    }
    for name, function in functions.items():
        functions[name] = refined_result(function) if isinstance(function, relax.Function) else function
    infos: tuple[GlobalInfo, ...] = tuple([new_vdevice if device is old else device for device in devices])
    return replace(mod, functions=functions, global_infos={**mod.global_infos, "vdevice": infos})
