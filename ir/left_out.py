"""Names of TVM that tvms leaves out on purpose, each with its reason and what to use instead."""

from __future__ import annotations

_AUTOTVM = "TVM replaced its template tuners by schedules; write a schedule (tvms.Schedule, or 'S.schedule' in a text)"
_DISTRIBUTED = "tvms compiles for one device; shard the program outside of it"
_HARDWARE = "tvms generates code for CPUs (LLVM) and NVIDIA GPUs (NVPTX) only"
_MICRO = "TVM removed microTVM; 'tvms compile -o model.o --header' writes a library without a runtime"
_RELAY = "TVM replaced Relay by Relax; write graphs with tvms.relax, or import the model with tvms.relax.frontend"
_REMOTE = (
    "tvms runs programs in its own process; compile with 'tvms compile', and copy the library to the other machine"
)
_RUNTIMES = "TVM replaced the graph executor by Relax's virtual machine; use tvms.relax.VirtualMachine"
_TE_SCHEDULES = "TVM removed schedules of tensor expressions; use te.create_prim_func and tvms.Schedule"

LEFT_OUT = {
    "auto_scheduler": _AUTOTVM,
    "autotvm": _AUTOTVM,
    "contrib.coreml_runtime": _HARDWARE,
    "contrib.cudnn": "tvms calls cuBLAS, and generates its own convolutions",
    "contrib.cutlass": "tvms calls cuBLAS, and generates its own kernels",
    "contrib.debugger": "'tvms debug FILE' steps through a program, and 'tvms profile FILE' measures its kernels",
    "contrib.ethosu": _HARDWARE,
    "contrib.graph_executor": _RUNTIMES,
    "contrib.graph_runtime": _RUNTIMES,
    "contrib.hexagon": _HARDWARE,
    "contrib.hipblas": _HARDWARE,
    "contrib.micro": _MICRO,
    "contrib.miopen": _HARDWARE,
    "contrib.mps": _HARDWARE,
    "contrib.mrvl": _HARDWARE,
    "contrib.msc": "tvms has no multi-system compiler; import the model with tvms.relax.frontend",
    "contrib.ndk": _REMOTE,
    "contrib.pipeline_executor": _RUNTIMES,
    "contrib.rocblas": _HARDWARE,
    "contrib.rocm": _HARDWARE,
    "contrib.rpc": _REMOTE,
    "contrib.tflite_runtime": "tvms imports ONNX and PyTorch models; convert the model to ONNX",
    "contrib.tvmjs": _HARDWARE,
    "contrib.xcode": _HARDWARE,
    "driver.tvmc": "use the command 'tvms' (import, opt, compile, run, bench)",
    "exec": _REMOTE,
    "micro": _MICRO,
    "relax.backend.adreno": _HARDWARE,
    "relax.backend.metal": _HARDWARE,
    "relax.backend.rocm": _HARDWARE,
    "relax.distributed": _DISTRIBUTED,
    "relax.frontend.stablehlo": "tvms imports ONNX and PyTorch models; convert the model to ONNX",
    "relax.frontend.tflite": "tvms imports ONNX and PyTorch models; convert the model to ONNX",
    "relay": _RELAY,
    "rpc": _REMOTE,
    "runtime.disco": _DISTRIBUTED,
    "s_tir.backend.adreno": _HARDWARE,
    "s_tir.dlight.adreno": _HARDWARE,
    "te.create_schedule": _TE_SCHEDULES,
    "te.scan": "TVM cannot lower scans; write the loop as a loop function, and call it with te.extern_primfunc",
    "tir.tensor_intrin.arm_cpu": _HARDWARE,
    "tir.tensor_intrin.hexagon": _HARDWARE,
    "tir.tensor_intrin.metal": _HARDWARE,
    "tir.tensor_intrin.rocm": _HARDWARE,
}
"""Dotted names without their root, each with a reason and an alternative; a name covers all names below it."""


def left_out_part(name: str) -> str | None:
    """Return the part of the dotted name `name` (such as "tvms.rpc.server") that is left out as a whole: "tvms.rpc"."""
    root, *parts = name.split(".")
    lengths = range(1, len(parts) + 1)
    found = (".".join(parts[:length]) for length in lengths if ".".join(parts[:length]) in LEFT_OUT)
    return next((f"{root}.{part}" for part in found), None)


def reason_for(name: str) -> str | None:
    """Return why the dotted name `name` is left out, and what to use; None if it is not."""
    part = left_out_part(name)
    return LEFT_OUT[part.partition(".")[2]] if part else None


def message_for(name: str) -> str:
    """Return the message of the error that the name `name` of a module of tvms does not exist."""
    module, _, attribute = name.rpartition(".")
    reason = reason_for(name)
    return f"module '{module}' has no attribute '{attribute}'" + (f": {reason}" if reason else "")
