"""Names of TVM that tvms leaves out on purpose, each with its reason and what to use instead."""

from __future__ import annotations

_AUTOTVM = "TVM replaced its template tuners by schedules; write a schedule (tvms.Schedule, or 'S.schedule' in a text)"
_DISTRIBUTED = "tvms compiles for one device; shard the program outside of it"
_DOCTOR = "'tvms doctor' describes the installation"
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
_CLUSTER = "'tvms tune --scheduler' measures on other machines, with dask; or derive a runner from meta_schedule.runner.PyRunner"
_LEARNED = "every measurement is stored, and the cost model of the tuner learns from it"
_PROCESSORS = "tvms tunes for processors; tvms.dlight schedules for GPUs"
_POSTPROC = "the rules apply these steps themselves; give others in the S.schedule, or in space_generator.ScheduleFn"
_SPACES = "a search space is an S.schedule that draws numbers: write it into the file, or see docs/tuning.md"
_ATTRS = "attributes of a node are its fields: read call.attrs, and pass keywords to the operator"
_CXX = "it is a part of TVM's C++ objects, which tvms does not have"
_LOWERED = "tvms.compile lowers loop functions; 'tvms opt --list' shows its passes"
_NN = "write modules with relax.frontend.nn, which has Module, Parameter, Linear, ReLU and others"
_WRITTEN = "write the program as a text, or with relax.BlockBuilder"
_MARKS = "mark the test with pytest.mark.skipif"
_PROOFS = "these proofs are not worth their time in the lowering: LLVM finds the common cases"
_RULES = "tvms.compile chooses the passes and schedules for the target; relax.get_pipeline has the pipelines"
_WINOGRAD = "'tvms.compile' chooses Winograd's algorithm where it is faster; use topi.nn.conv"
_LATENT = "caches of latent keys and values (MLA) are not supported; use the attention kind 'mha'"
_TE_SCHEDULES = "TVM removed schedules of tensor expressions; use te.create_prim_func and tvms.Schedule"

LEFT_OUT = {
    "arith.PresburgerSet": "tvms uses islpy for such sets; use it directly",
    "arith.int_solver": "use islpy, which tvms depends on, or arith.Analyzer",
    "arith.solve_linear_equations": "use islpy, which tvms depends on, or arith.Analyzer",
    "arith.solve_linear_inequalities": "use islpy, which tvms depends on, or arith.Analyzer",
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
    "contrib.pickle_memoize": "tvms does not unpickle files; keep arrays with numpy.save",
    "contrib.pipeline_executor": _RUNTIMES,
    "contrib.popen_pool": "start processes with concurrent.futures",
    "contrib.rocblas": _HARDWARE,
    "contrib.rocm": _HARDWARE,
    "contrib.rpc": _REMOTE,
    "contrib.tflite_runtime": "tvms imports ONNX and PyTorch models; convert the model to ONNX",
    "contrib.xcode": _HARDWARE,
    "driver.tvmc": "use the command 'tvms' (import, opt, compile, run, bench)",
    "exec": _REMOTE,
    "ext_dev": _HARDWARE,
    "hexagon": _HARDWARE,
    "ir.Attrs": _ATTRS,
    "ir.EnvFunc": "refer to functions by name, with R.ExternFunc and tvms.register_func",
    "ir.SequentialSpan": "a position is one span",
    "ir.SourceName": "a span has its source: span.source",
    "ir.make_node": _ATTRS,
    "ir.register_intrin_lowering": _COMPILED,
    "meta_schedule.cost_model.MLPModel": 'pass cost_model="xgb" to meta_schedule.tune_tir for the model of the tuner, or derive one from PyCostModel',
    "meta_schedule.cost_model.XGBModel": 'pass cost_model="xgb" to meta_schedule.tune_tir for the model of the tuner, or derive one from PyCostModel',
    "meta_schedule.feature_extractor": "the cost model of the tuner learns from the drawn numbers",
    "meta_schedule.measure_callback.AddToDatabase": _LEARNED,
    "meta_schedule.measure_callback.RemoveBuildArtifact": "the tuner removes the files that a builder made",
    "meta_schedule.measure_callback.UpdateCostModel": _LEARNED,
    "meta_schedule.mutator.MutateParallel": "the outer loops of a schedule run in parallel as a whole; there is no number to change",
    "meta_schedule.postproc.DisallowAsyncStridedMemCopy": _HARDWARE,
    "meta_schedule.postproc.RewriteLayout": _POSTPROC,
    "meta_schedule.postproc.VerifyGPUCode": "tvms.compile says what a GPU cannot run",
    "meta_schedule.postproc.VerifyVTCMLimit": _HARDWARE,
    "meta_schedule.runner.RPCConfig": _CLUSTER,
    "meta_schedule.runner.RPCRunner": _CLUSTER,
    "meta_schedule.schedule_rule.MultiLevelTilingTensorCore": _PROCESSORS,
    "meta_schedule.schedule_rule.MultiLevelTilingWideVector": _SPACES,
    "meta_schedule.search_strategy.PySearchStrategy": "a search is the tuner's own; drive it with SearchStrategy.generate_measure_candidates, or give a PyCostModel",
    "meta_schedule.task_scheduler.PyTaskScheduler": 'pass task_scheduler="gradient" or "round-robin" to meta_schedule.tune_tir',
    "metal": _HARDWARE,
    "micro": _MICRO,
    "opencl": _HARDWARE,
    "relax.DataflowBlockRewrite": "rewrite bindings with relax.expr_functor.PyExprMutator or relax.dpl.rewrite_bindings",
    "relax.ExprFunctor": "derive from relax.PyExprVisitor or relax.PyExprMutator",
    "relax.Id": "a variable is its own identity: compare variables with 'is' or same_as",
    "relax.backend.adreno": _HARDWARE,
    "relax.backend.contrib": "tvms generates its own kernels; relax.backend.register_patterns adds those of a library",
    "relax.backend.cpu_generic": _RULES,
    "relax.backend.gpu_generic": _RULES,
    "relax.backend.metal": _HARDWARE,
    "relax.backend.rocm": _HARDWARE,
    "relax.distributed": _DISTRIBUTED,
    "relax.dpl.DFConstraint": "constrain a pattern with its methods: has_shape, has_dtype, has_struct_info, has_attr",
    "relax.dpl.SameShapeConstraint": "compare the shapes of matches in the function of rewrite_call",
    "relax.dpl.register_df_node": _CXX,
    "relax.frontend.nn.llm.kv_cache._attention_prefill_mla": _LATENT,
    "relax.frontend.nn.llm.kv_cache._copy_single_page_mla": _LATENT,
    "relax.frontend.nn.llm.kv_cache._kv_cache_debug_get_kv_mla": _LATENT,
    "relax.frontend.nn.llm.kv_cache._kv_cache_transpose_append_mla": _LATENT,
    "relax.frontend.nn.llm.kv_cache._attention_sequence_prefill": "use nn.op.scaled_dot_product_attention",
    "relax.frontend.stablehlo": "tvms imports ONNX and PyTorch models; convert the model to ONNX",
    "relax.frontend.tflite": "tvms imports ONNX and PyTorch models; convert the model to ONNX",
    "relax.op.base.register_gradient": "the gradients of operators are rules of tvms; give your own with relax.op.call_tir_with_grad",
    "relax.op.op_attrs": _ATTRS,
    "relax.op.register_gradient": "the gradients of operators are rules of tvms; give your own with relax.op.call_tir_with_grad",
    "relax.testing.Linear": _NN,
    "relax.testing.LogSoftmax": _NN,
    "relax.testing.Module": _NN,
    "relax.testing.Parameter": _NN,
    "relax.testing.Placeholder": _NN,
    "relax.testing.ReLU": _NN,
    "relax.testing.Sequential": _NN,
    "relax.testing.checkpoint": _NN,
    "relax.testing.emit": _NN,
    "relax.testing.emit_checkpoint": _NN,
    "relax.testing.emit_checkpoint_sequential": _NN,
    "relax.testing.emit_te": _NN,
    "relax.testing.get_relax_attention_module": _WRITTEN,
    "relax.testing.get_relax_matmul_module": _WRITTEN,
    "relax.testing.get_relax_stacked_attention_module": _WRITTEN,
    "relax.testing.init_params": _NN,
    "relax.testing.lib_comparator": "'tvms run FILE --verify' compares what is compiled with the interpreter",
    "relax.transform.AllocateWorkspace": "tvms calls no library function that needs a workspace",
    "relax.transform.FewShotTuning": _TUNING,
    "relax.transform.IPCAllReduceRewrite": _DISTRIBUTED,
    "relax.transform.LowerGPUIPCAllocStorage": _DISTRIBUTED,
    "relay": _RELAY,
    "rocm": _HARDWARE,
    "rpc": _REMOTE,
    "runtime.ObjectGeneric": _CXX,
    "runtime.Scriptable": "every node and module has the method script()",
    "runtime.disco": _DISTRIBUTED,
    "runtime.ext_dev": _HARDWARE,
    "runtime.load_static_library": "'tvms compile -o model.o --header' writes an object for a linker",
    "runtime.metal": _HARDWARE,
    "runtime.opencl": _HARDWARE,
    "runtime.rocm": _HARDWARE,
    "runtime.system_lib": "'tvms compile -o model.o --header' writes an object for a linker",
    "runtime.vpi": _HARDWARE,
    "runtime.vulkan": _HARDWARE,
    "s_tir.backend.adreno": _HARDWARE,
    "s_tir.dlight.adreno": _HARDWARE,
    "support.clang": _HARDWARE,
    "support.describe": _DOCTOR,
    "support.emcc": _HARDWARE,
    "support.libinfo": _DOCTOR,
    "support.ndk": _REMOTE,
    "support.nvcc": "PTX needs no nvcc: LLVM writes it, and the driver assembles it",
    "support.popen_pool": "start processes with concurrent.futures",
    "support.rocm": _HARDWARE,
    "support.tar": _REMOTE,
    "support.xcode": _HARDWARE,
    "target.VirtualDevice": "use tvms.ir.VDevice",
    "target.adreno": _HARDWARE,
    "target.arm_cpu": _HARDWARE,
    "target.bifrost": _HARDWARE,
    "target.datatype": "tvms computes with the dtypes of the language only",
    "target.hexagon": _HARDWARE,
    "target.intel_graphics": _HARDWARE,
    "target.list_tags": "'tvms doctor' prints the targets of this machine",
    "target.make_compilation_config": "pass the target to tvms.compile",
    "target.mali": _HARDWARE,
    "target.rasp": _HARDWARE,
    "target.register_tag": "give the attributes of a target in its text, as in 'cuda -arch=sm_90'",
    "target.riscv_cpu": _HARDWARE,
    "target.rocm": _HARDWARE,
    "target.stm32": _HARDWARE,
    "te.create_schedule": _TE_SCHEDULES,
    "testing.DEFAULT_TEST_TARGETS": _MARKS,
    "testing.ErrorTest": _FFI,
    "testing.FrontendTestModule": _FFI,
    "testing.IS_IN_CI": _MARKS,
    "testing.SKIP_SLOW_TESTS": _MARKS,
    "testing.after_initializer": _FFI,
    "testing.call_cpp_ffi": _FFI,
    "testing.call_cpp_py_ffi": _FFI,
    "testing.call_py_ffi": _FFI,
    "testing.check_bool_expr_is_true": "use tir.analysis or arith.Analyzer().can_prove",
    "testing.check_int_constraints_trans_consistency": "use arith.Analyzer",
    "testing.device_test": _FFI,
    "testing.echo": _FFI,
    "testing.fast_summation": _FFI,
    "testing.identity_after": _FFI,
    "testing.identity_cpp": _FFI,
    "testing.initializer": _FFI,
    "testing.install_request_hook": _FFI,
    "testing.local_run": _REMOTE,
    "testing.nop": _FFI,
    "testing.object_use_count": _FFI,
    "testing.register_ffi": _FFI,
    "testing.requires_aarch64": _MARKS,
    "testing.requires_aprofile_aem_fvp": _MARKS,
    "testing.requires_arm_fp16": _MARKS,
    "testing.requires_libtorch": _MARKS,
    "testing.requires_mrvl": _MARKS,
    "testing.requires_tensorcore": _MARKS,
    "testing.requires_x86_amx": _MARKS,
    "testing.requires_x86_avx512": _MARKS,
    "testing.requires_x86_vnni": _MARKS,
    "testing.rpc_run": _REMOTE,
    "testing.run_check_signal": _FFI,
    "testing.skip_if_no_reference_system": _MARKS,
    "testing.slow": _MARKS,
    "testing.slow_summation": _FFI,
    "testing.terminate_self": _FFI,
    "testing.test_check_eq_callback": _FFI,
    "testing.test_raise_error": _FFI,
    "testing.test_wrap_callback": _FFI,
    "testing.timeout_job": _FFI,
    "testing.uses_multi_gpu": _MARKS,
    "tir.BlockDependenceInfo": "tir.ScheduleState has the scopes of blocks",
    "tir.DataProducer": _CXX,
    "tir.analysis.find_anchor_block": "it serves the tuner of TVM; 'tvms tune' finds the block itself",
    "tir.analysis.get_vtcm_compaction_passes": _HARDWARE,
    "tir.analysis.verify_gpu_code": "'tvms compile --report' prints what a kernel uses; the driver's limits are checked when it is compiled",
    "tir.analysis.verify_memory": "tvms.verify checks accesses of memory",
    "tir.get_default_tir_pipeline": _LOWERED,
    "tir.get_tir_pipeline": _LOWERED,
    "tir.tensor_intrin.metal": _HARDWARE,
    "tir.trace": "call print, or debug with 'tvms debug FILE'",
    "tir.transform.CombineContextCall": _COMPILED,
    "tir.transform.ExtractPrimFuncConstants": "constants are a part of compiled kernels; in texts they are in a sidecar file",
    "tir.transform.InferFragment": _COMPILED,
    "tir.transform.InjectPTXAsyncCopy": _COMPILED,
    "tir.transform.InjectPTXLDG32": _COMPILED,
    "tir.transform.InjectRollingBuffer": _COMPILED,
    "tir.transform.InstrumentBoundCheckers": "use the pass GuardIndices, or 'tvms compile --bounds check'",
    "tir.transform.LiftThreadBinding": _COMPILED,
    "tir.transform.LowerAsyncDMA": _COMPILED,
    "tir.transform.LowerAutoCopy": _COMPILED,
    "tir.transform.LowerCustomDatatypes": "tvms computes with the dtypes of the language only",
    "tir.transform.LowerDeviceKernelLaunch": _COMPILED,
    "tir.transform.LowerDeviceStorageAccessInfo": _COMPILED,
    "tir.transform.LowerTVMBuiltin": _COMPILED,
    "tir.transform.LowerThreadAllreduce": _COMPILED,
    "tir.transform.LowerVtcmAlloc": _HARDWARE,
    "tir.transform.LowerWarpMemory": _COMPILED,
    "tir.transform.MakePackedAPI": _COMPILED,
    "tir.transform.MakeUnpackedAPI": _COMPILED,
    "tir.transform.MergeSharedMemoryAllocations": _COMPILED,
    "tir.transform.RemoveWeightLayoutRewriteBlock": "it serves the tuner of TVM; relax.transform.FoldConstant computes weights that are packed",
    "tir.transform.SplitHostDevice": _COMPILED,
    "tir.transform.ThreadSync": _COMPILED,
    "tir.transform.TransformMmaBufferLayout": _COMPILED,
    "tir.transform.VerifyMemory": "'tvms check', and tvms.verify, check accesses of memory",
    "tir.transform.VerifyVTCMLimit": _HARDWARE,
    "topi.binary_search": "it writes statements for topi.searchsorted; call that",
    "topi.cpp": "tvms has no C++ operators; use the functions of tvms.topi",
    "topi.gpu": "schedules of operators follow from rules; use tvms.dlight",
    "topi.nn.Workload": "it serves the template tuners, which TVM removed",
    "topi.nn.binarize_pack": _BITS,
    "topi.nn.binary_dense": _BITS,
    "topi.nn.bitpack": _BITS,
    "topi.nn.bitserial_conv2d_nchw": _BITS,
    "topi.nn.bitserial_conv2d_nhwc": _BITS,
    "topi.nn.bitserial_dense": _BITS,
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
    found = [".".join(parts[:length]) for length in lengths if _known(".".join(parts[:length]))]
    return f"{root}.{found[0]}" if found else None


def _known(part: str) -> str | None:
    """Return the name in `LEFT_OUT` of `part`, which may be written with a newer name of the loop level."""
    older = ".".join(["tir", *part.split(".")[1:]]) if part.startswith(("s_tir.", "tirx.")) else part
    return part if part in LEFT_OUT else older if older in LEFT_OUT else None


def reason_for(name: str) -> str | None:
    """Return why the dotted name `name` is left out, and what to use; None if it is not."""
    part = left_out_part(name)
    known = _known(part.partition(".")[2]) if part else None
    return LEFT_OUT[known] if known else None


def message_for(name: str) -> str:
    """Return the message of the error that the name `name` of a module of tvms does not exist."""
    module, _, attribute = name.rpartition(".")
    reason = reason_for(name)
    return f"module '{module}' has no attribute '{attribute}'" + (f": {reason}" if reason else "")
