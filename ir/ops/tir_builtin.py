"""Intrinsics of control, memory, calls and the run time (TVM: `src/tir/op/builtin.cc`)."""

from __future__ import annotations

from .tir_table import Intrinsic

ROWS = (
    Intrinsic("ret", "val", "arg0", "jump", "Return val from the function."),
    Intrinsic("break_loop", "", "int32", "jump", "End the innermost loop.", in_script=False),
    Intrinsic("continue_loop", "", "int32", "jump", "Go on with the next iteration.", in_script=False),
    Intrinsic("thread_return", "", "int32", "jump", "End this thread's part of the kernel.", in_script=False),
    Intrinsic("assume", "cond=None", "bool", "embed", "Say that cond holds here."),
    Intrinsic(
        "checked_index", "index buffer dimension *indices_and_extents", "arg0", "update",
        "index, which is checked to be inside a dimension of a buffer (put in by the compiler).",
    ),
    Intrinsic(
        "checked_position", "index buffer size extent offset elem_offset *indices_and_strides", "arg0", "update",
        "index, which is checked to be of an element that lies in its memory of extent bytes (put in by the compiler).",
    ),
    Intrinsic(
        "checked_pointer", "pointer message size extent offset", "handle", "update",
        "pointer, which is checked to have size bytes before it in its memory of extent bytes (put in by the compiler).",
    ),
    Intrinsic(
        "check", "condition code message", "int32", "opaque",
        "Stop with the error code where condition does not hold (put in by the compiler).",
    ),
    Intrinsic("undef", "", "int32", "read", "A value that may be anything."),
    Intrinsic("ignore_loop_partition", "predicate", "bool", "pure", "predicate, by which no loop is to be split."),
    Intrinsic("address_of", "obj", "handle", "pure", "The address of an element, or of a buffer's first one."),
    Intrinsic("isnullptr", "x", "bool", "pure", "Whether a handle is null."),
    Intrinsic("handle_add_byte_offset", "handle offset", "handle", "pure", "handle, offset bytes further."),
    Intrinsic("type_annotation", "", "first", "pure", "A dtype, as an argument."),
    Intrinsic(
        "tvm_access_ptr", "ptype data offset extent rw_mask", "handle", "special",
        "The address of data's element offset, of which extent are read (1), written (2) or both (3).",
    ),
    Intrinsic("tvm_tuple", "*value", "handle", "embed", "Several values, as an argument."),
    Intrinsic("tvm_static_handle", "", "handle", "special", "A handle that outlives the call.", in_script=False),
    Intrinsic("tvm_context_id", "", "handle", "read", "The thread's context.", in_script=False),
    Intrinsic("tvm_thread_context", "value", "handle", "opaque", "value, once a thread.", in_script=False),
    Intrinsic("prefetch", "address rw locality cache", "first", "opaque", "Fetch into the cache.", in_script=False),
    # Calls of functions
    Intrinsic("call_extern", "func_name *args", "first", "opaque", "Call an external function."),
    Intrinsic("call_pure_extern", "func_name *args", "first", "pure", "Call an external function without effects."),
    Intrinsic("call_llvm_intrin", "name *args", "first", "opaque", "Call an intrinsic of LLVM."),
    Intrinsic("call_llvm_pure_intrin", "name *args", "first", "pure", "Call an intrinsic of LLVM without effects."),
    Intrinsic("call_spirv_pure_glsl450", "*args", "first", "pure", "Call a GLSL instruction.", in_script=False),
    Intrinsic("call_packed", "*args", "int32", "opaque", "Call a registered function.", op="tir.tvm_call_packed"),
    Intrinsic("call_cpacked", "*args", "int32", "opaque", "Call a C function.", op="tir.tvm_call_cpacked"),
    Intrinsic(
        "call_packed_lowered", "*args", "int32", "opaque", "Call a registered function whose arguments are on a stack.",
        op="tir.tvm_call_packed_lowered",
    ),
    Intrinsic(
        "call_cpacked_lowered", "*args", "int32", "opaque", "Call a C function whose arguments are on a stack.",
        op="tir.tvm_call_cpacked_lowered",
    ),
    Intrinsic("tvm_call_trace_packed", "*args", "first", "opaque", "Call a function that traces.", in_script=False),
    Intrinsic(
        "tvm_call_trace_packed_lowered", "*args", "first", "opaque", "Call a function that traces, lowered.",
        in_script=False,
    ),
    Intrinsic("tvm_throw_last_error", "", "handle", "opaque", "Raise the error that was set last."),
    Intrinsic("lookup_param", "param_name", "handle", "update", "A parameter by its name."),
    Intrinsic("tvm_stack_alloca", "dtype_str num", "handle", "opaque", "Memory on the stack."),
    Intrinsic("tvm_stack_make_shape", "*args", "handle", "opaque", "A shape on the stack."),
    Intrinsic(
        "tvm_stack_make_array", "data shape strides ndim arr_dtype elem_offset", "handle", "opaque",
        "A tensor's description on the stack.",
    ),
    Intrinsic("tvm_struct_get", "arr index field", "last", "read", "A field of element index of a run-time structure."),
    Intrinsic(
        "tvm_struct_set", "arr index field value", "int32", "update", "Set a field of a run-time structure's element."
    ),
    Intrinsic("anylist_getitem", "list_handle index", "handle", "read", "An element of a list of any values."),
    Intrinsic("anylist_resetitem", "list_handle index", "int32", "opaque", "Empty an element of a list."),
    Intrinsic(
        "anylist_setitem_call_packed", "list_handle index func_name *args", "int32", "opaque",
        "Set an element to what a registered function returns.",
    ),
    Intrinsic(
        "anylist_setitem_call_cpacked", "list_handle index func_name *args", "int32", "opaque",
        "Set an element to what a C function returns.",
    ),
    Intrinsic(
        "TVMBackendAllocWorkspace", "device_type device_id nbytes dtype_code_hint dtype_bits_hint", "handle", "opaque",
        "Memory from the device's pool.",
    ),
    Intrinsic("TVMBackendFreeWorkspace", "device_type device_id ptr", "int32", "opaque", "Give pooled memory back."),
    Intrinsic("TVMBackendAnyListSetPackedArg", "*args", "int32", "opaque", "Pass a list's element.", in_script=False),
    Intrinsic(
        "TVMBackendAnyListMoveFromPackedReturn", "*args", "int32", "opaque", "Keep a result in a list.",
        in_script=False,
    ),
    Intrinsic("start_profile_intrinsic", "id", "handle", "pure", "Begin to measure part id."),
    Intrinsic("end_profile_intrinsic", "id", "handle", "pure", "End to measure part id."),
    Intrinsic("nd_mem_alloc_with_scope", "*args", "handle", "opaque", "Memory in a scope.", in_script=False),
)  # fmt: skip
