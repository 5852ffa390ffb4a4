"""Names of TVM that tvms leaves out on purpose, each with its reason and what to use instead."""

from __future__ import annotations

_AUTOTVM = "TVM replaced its template tuners by schedules; write a schedule (tvms.Schedule, or 'S.schedule' in a text)"
_DISTRIBUTED = "tvms compiles for one device; shard the program outside of it"
_HARDWARE = "tvms generates code for CPUs (LLVM) and NVIDIA GPUs (NVPTX) only"
_BITS = "tvms has no bit-serial arithmetic; write the operator with te.compute"
_COMPILED = (
    "this is a part of 'tvms.compile', without a pass of its own; 'tvms opt --list' shows the passes, and docs/lowering.md "
    "the steps"
)
_FFI = "it tests TVM's own C++ functions"
_MICRO = "TVM removed microTVM; 'tvms compile -o model.o --header' writes a library without a runtime"
_RELAY = "TVM replaced Relay by Relax; write graphs with tvms.relax, or import the model with tvms.relax.frontend"
_REMOTE = (
    "tvms runs programs in its own process; compile with 'tvms compile', and copy the library to the other machine"
)
_RUNTIMES = "TVM replaced the graph executor by Relax's virtual machine; use tvms.relax.VirtualMachine"
_TUNING = "tune with 'tvms tune', which writes the best schedule into the text"
_WINOGRAD = "'tvms.compile' chooses Winograd's algorithm where it is faster; use topi.nn.conv"
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
    "contrib.pickle_memoize": "tvms does not unpickle files; keep arrays with numpy.save",
    "contrib.popen_pool": "start processes with concurrent.futures",
    "contrib.rocblas": _HARDWARE,
    "contrib.rocm": _HARDWARE,
    "contrib.rpc": _REMOTE,
    "contrib.tflite_runtime": "tvms imports ONNX and PyTorch models; convert the model to ONNX",
    "contrib.tvmjs": _HARDWARE,
    "contrib.xcode": _HARDWARE,
    "driver.tvmc": "use the command 'tvms' (import, opt, compile, run, bench)",
    "exec": _REMOTE,
    "ext_dev": _HARDWARE,
    "hexagon": _HARDWARE,
    "metal": _HARDWARE,
    "ir.register_op_attr": (
        "operators are declared in tvms; call your own function with R.call_tir or R.call_dps_packed, and replace operators "
        "with relax.dpl.PatternMatchingRewriter"
    ),
    "micro": _MICRO,
    "opencl": _HARDWARE,
    "relax.backend.adreno": _HARDWARE,
    "relax.backend.metal": _HARDWARE,
    "relax.backend.rocm": _HARDWARE,
    "relax.distributed": _DISTRIBUTED,
    "relax.frontend.stablehlo": "tvms imports ONNX and PyTorch models; convert the model to ONNX",
    "relax.frontend.tflite": "tvms imports ONNX and PyTorch models; convert the model to ONNX",
    "relax.transform.FewShotTuning": _TUNING,
    "relax.transform.IPCAllReduceRewrite": _DISTRIBUTED,
    "relax.transform.LowerGPUIPCAllocStorage": _DISTRIBUTED,
    "relax.transform.MetaScheduleApplyDatabase": _TUNING,
    "relax.transform.MetaScheduleTuneIRMod": _TUNING,
    "relax.transform.MetaScheduleTuneTIR": _TUNING,
    "relax.transform.AllocateWorkspace": "tvms calls no library function that needs a workspace",
    "relax.transform.RewriteCUDAGraph": "tvms does not record CUDA graphs; a function launches its kernels itself",
    "relax.transform.VMShapeLower": "tvms.compile checks and computes shapes itself; remove the pass",
    "relay": _RELAY,
    "rocm": _HARDWARE,
    "rpc": _REMOTE,
    "runtime.disco": _DISTRIBUTED,
    "runtime.ext_dev": _HARDWARE,
    "runtime.metal": _HARDWARE,
    "runtime.opencl": _HARDWARE,
    "runtime.rocm": _HARDWARE,
    "runtime.vpi": _HARDWARE,
    "runtime.vulkan": _HARDWARE,
    "s_tir.backend.adreno": _HARDWARE,
    "s_tir.dlight.adreno": _HARDWARE,
    "target.adreno": _HARDWARE,
    "target.arm_cpu": _HARDWARE,
    "target.bifrost": _HARDWARE,
    "target.hexagon": _HARDWARE,
    "target.intel_graphics": _HARDWARE,
    "target.mali": _HARDWARE,
    "target.rasp": _HARDWARE,
    "target.riscv_cpu": _HARDWARE,
    "target.rocm": _HARDWARE,
    "target.stm32": _HARDWARE,
    "te.create_schedule": _TE_SCHEDULES,
    "te.scan": "TVM cannot lower scans; write the loop as a loop function, and call it with te.extern_primfunc",
    "testing.ErrorTest": _FFI,
    "testing.FrontendTestModule": _FFI,
    "testing.after_initializer": _FFI,
    "testing.call_cpp_ffi": _FFI,
    "testing.call_cpp_py_ffi": _FFI,
    "testing.call_py_ffi": _FFI,
    "testing.device_test": _FFI,
    "testing.echo": _FFI,
    "testing.fast_summation": _FFI,
    "testing.identity_cpp": _FFI,
    "testing.initializer": _FFI,
    "testing.local_run": _REMOTE,
    "testing.nop": _FFI,
    "testing.object_use_count": _FFI,
    "testing.rpc_run": _REMOTE,
    "testing.run_check_signal": _FFI,
    "testing.slow_summation": _FFI,
    "testing.test_check_eq_callback": _FFI,
    "testing.test_raise_error": _FFI,
    "testing.test_wrap_callback": _FFI,
    "tir.analysis.get_vtcm_compaction_passes": _HARDWARE,
    "tir.tensor_intrin.arm_cpu": _HARDWARE,
    "tir.tensor_intrin.hexagon": _HARDWARE,
    "tir.tensor_intrin.metal": _HARDWARE,
    "tir.tensor_intrin.rocm": _HARDWARE,
    "tir.transform.AnnotateDeviceRegions": _COMPILED,
    "tir.transform.BF16ComputeLegalize": _COMPILED,
    "tir.transform.BF16StorageLegalize": _COMPILED,
    "tir.transform.CombineContextCall": _COMPILED,
    "tir.transform.DecorateDeviceScope": _COMPILED,
    "tir.transform.DefaultGPUSchedule": "apply tvms.dlight.gpu.Fallback with dlight.ApplyDefaultSchedule",
    "tir.transform.ExtractPrimFuncConstants": "constants are a part of compiled kernels; in texts they are in a sidecar file",
    "tir.transform.FP8ComputeLegalize": _COMPILED,
    "tir.transform.FP8StorageLegalize": _COMPILED,
    "tir.transform.InferFragment": _COMPILED,
    "tir.transform.InjectPTXAsyncCopy": _COMPILED,
    "tir.transform.InjectPTXLDG32": _COMPILED,
    "tir.transform.InstrumentBoundCheckers": "use the pass GuardIndices, or 'tvms compile --bounds check'",
    "tir.transform.InstrumentProfileIntrinsics": "'tvms profile FILE' measures kernels and loops",
    "tir.transform.LowerAsyncDMA": _COMPILED,
    "tir.transform.LowerCustomDatatypes": "tvms computes with the dtypes of the language only",
    "tir.transform.LowerDeviceKernelLaunch": _COMPILED,
    "tir.transform.LowerDeviceStorageAccessInfo": _COMPILED,
    "tir.transform.LowerIntrin": _COMPILED,
    "tir.transform.LowerTVMBuiltin": _COMPILED,
    "tir.transform.LowerThreadAllreduce": _COMPILED,
    "tir.transform.LowerVtcmAlloc": _HARDWARE,
    "tir.transform.LowerWarpMemory": _COMPILED,
    "tir.transform.MakePackedAPI": _COMPILED,
    "tir.transform.MakeUnpackedAPI": _COMPILED,
    "tir.transform.MergeSharedMemoryAllocations": _COMPILED,
    "tir.transform.PointerValueTypeRewrite": _COMPILED,
    "tir.transform.SplitHostDevice": _COMPILED,
    "tir.transform.ThreadSync": _COMPILED,
    "tir.transform.TransformMmaBufferLayout": _COMPILED,
    "tir.transform.VerifyMemory": "'tvms check', and tvms.verify, check accesses of memory",
    "tir.transform.VerifyVTCMLimit": _HARDWARE,
    "topi.binary_search": "it writes statements for topi.searchsorted; call that",
    "topi.cpp": "tvms has no C++ operators; use the functions of tvms.topi",
    "topi.gpu": "schedules of operators follow from rules; use tvms.dlight",
    "topi.nn.binarize_pack": _BITS,
    "topi.nn.binary_dense": _BITS,
    "topi.nn.bitserial_conv2d_nchw": _BITS,
    "topi.nn.bitserial_conv2d_nhwc": _BITS,
    "topi.nn.bitserial_dense": _BITS,
    "topi.nn.bitpack": _BITS,
    "topi.nn.conv2d_winograd_nchw": _WINOGRAD,
    "topi.nn.conv2d_winograd_nchw_without_weight_transform": _WINOGRAD,
    "topi.nn.conv2d_winograd_nhwc": _WINOGRAD,
    "topi.nn.conv2d_winograd_nhwc_without_weight_transform": _WINOGRAD,
    "topi.nn.conv2d_winograd_weight_transform": _WINOGRAD,
    "topi.nn.conv3d_winograd_weight_transform": _WINOGRAD,
    "topi.nn.lstm": "TVM cannot lower it; import the model with tvms.relax.frontend, or write the loop with R.call_tir",
    "topi.nn.winograd_util": _WINOGRAD,
    "topi.utils.is_target": "compare tvms.target.Target.current()",
    "topi.utils.traverse_inline": _TE_SCHEDULES,
    "vpi": _HARDWARE,
    "vulkan": _HARDWARE,
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
