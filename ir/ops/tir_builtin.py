"""Intrinsics for control flow, memory, calls and the runtime (TVM: `src/tir/op/builtin.cc`)."""

from __future__ import annotations

from .tir_table import Intrinsic

ROWS = (
    Intrinsic("ret", "val:result", "arg0", "jump", "Return val from the function."),
    Intrinsic("break_loop", "", "int32", "jump", "End the innermost loop.", in_script=False),
    Intrinsic("continue_loop", "", "int32", "jump", "Continue with the next iteration.", in_script=False),
    Intrinsic("thread_return", "", "int32", "jump", "End this thread's part of the kernel.", in_script=False),
    Intrinsic("assume", "cond:condition", "bool", "embed", "Assume that cond holds."),
    Intrinsic(
        "checked_index", "index:int buffer:text dimension:constant *indices_and_extents:int", "arg0", "update",
        "index, after a check that it is inside a dimension of a buffer (inserted by the compiler).",
    ),
    Intrinsic(
        "checked_position", "index:int buffer:text size:index extent:index offset:index elem_offset:index *indices_and_strides:int", "arg0", "update",
        "index, after a check that its element is inside the memory of extent bytes (inserted by the compiler).",
    ),
    Intrinsic(
        "checked_pointer", "pointer:handle message:text size:index extent:index offset:index", "handle", "update",
        "pointer, after a check that it points to size bytes inside the memory of extent bytes (inserted by the compiler).",
    ),
    Intrinsic(
        "check", "condition:condition code:text message:text", "int32", "opaque",
        "Stop with the error code unless condition holds (inserted by the compiler).",
    ),
    Intrinsic("undef", "", "int32", "read", "An undefined value."),
    Intrinsic("ignore_loop_partition", "predicate:condition", "bool", "pure", "predicate, excluded from loop partitioning."),
    Intrinsic("address_of", "obj:element", "handle", "pure", "The address of an element, or of a buffer's first one."),
    Intrinsic("isnullptr", "x:handle", "bool", "pure", "Whether a handle is null."),
    Intrinsic("handle_add_byte_offset", "handle:handle offset:index", "handle", "pure", "handle plus offset bytes."),
    Intrinsic("type_annotation", "", "first", "pure", "A dtype, as an argument."),
    Intrinsic(
        "tvm_access_ptr", "ptype:dtype data:handle offset:index extent:index rw_mask:index", "handle", "special",
        "The address of element offset of data; extent elements are read (1), written (2) or both (3).",
    ),
    Intrinsic("tvm_tuple", "*value:any", "handle", "embed", "Several values, as an argument."),
    Intrinsic("tvm_static_handle", "", "handle", "special", "A handle that outlives the call.", in_script=False),
    Intrinsic("tvm_context_id", "", "handle", "read", "The thread's context.", in_script=False),
    Intrinsic("tvm_thread_context", "value:value", "handle", "opaque", "value, evaluated once per thread.", in_script=False),
    Intrinsic("prefetch", "address:handle rw:constant locality:constant cache:constant", "first", "opaque", "Prefetch into the cache.", in_script=False),
    # Calls of functions
    Intrinsic("call_extern", "func_name:text *args:any", "first", "opaque", "Call an external function."),
    Intrinsic("call_pure_extern", "func_name:text *args:any", "first", "pure", "Call an external function without side effects."),
    Intrinsic("call_llvm_intrin", "name:any *args:any", "first", "opaque", "Call an intrinsic of LLVM."),
    Intrinsic("call_llvm_pure_intrin", "name:any *args:any", "first", "pure", "Call an intrinsic of LLVM without side effects."),
    Intrinsic("call_spirv_pure_glsl450", "*args:any", "first", "pure", "Call a GLSL instruction.", in_script=False),
    Intrinsic("call_packed", "func_name:text *args:any", "int32", "opaque", "Call a registered function.", op="tir.tvm_call_packed"),
    Intrinsic("call_cpacked", "func_name:text *args:any", "int32", "opaque", "Call a C function.", op="tir.tvm_call_cpacked"),
    Intrinsic(
        "call_packed_lowered", "func_name:text *args:any", "int32", "opaque", "Call a registered function whose arguments are on a stack.",
        op="tir.tvm_call_packed_lowered",
    ),
    Intrinsic(
        "call_cpacked_lowered", "func_name:text *args:any", "int32", "opaque", "Call a C function whose arguments are on a stack.",
        op="tir.tvm_call_cpacked_lowered",
    ),
    Intrinsic("tvm_call_trace_packed", "*args:any", "first", "opaque", "Call a function for tracing.", in_script=False),
    Intrinsic(
        "tvm_call_trace_packed_lowered", "*args:any", "first", "opaque", "Call a function for tracing, lowered.",
        in_script=False,
    ),
    Intrinsic("tvm_throw_last_error", "", "handle", "opaque", "Raise the last error that was set."),
    Intrinsic("lookup_param", "param_name:text", "handle", "update", "Look a parameter up by name."),
    Intrinsic("tvm_stack_alloca", "dtype_str:text num:index", "handle", "opaque", "Allocate memory on the stack."),
    Intrinsic("tvm_stack_make_shape", "*args:index", "handle", "opaque", "Build a shape on the stack."),
    Intrinsic(
        "tvm_stack_make_array", "data:handle shape:handle strides:value ndim:index arr_dtype:scalar elem_offset:index", "handle", "opaque",
        "Build a tensor descriptor on the stack.",
    ),
    Intrinsic("tvm_struct_get", "arr:handle index:index field:index", "last", "read", "A field of element index of a run-time structure."),
    Intrinsic(
        "tvm_struct_set", "arr:handle index:index field:index value:any", "int32", "update", "Set a field of element index of a run-time structure."
    ),
    Intrinsic("anylist_getitem", "list_handle:handle index:index", "handle", "read", "An element of a list of any values."),
    Intrinsic("anylist_resetitem", "list_handle:handle index:index", "int32", "opaque", "Empty an element of a list."),
    Intrinsic(
        "anylist_setitem_call_packed", "list_handle:handle index:index func_name:text *args:any", "int32", "opaque",
        "Set an element to the result of a registered function.",
    ),
    Intrinsic(
        "anylist_setitem_call_cpacked", "list_handle:handle index:index func_name:text *args:any", "int32", "opaque",
        "Set an element to the result of a C function.",
    ),
    Intrinsic(
        "TVMBackendAllocWorkspace", "device_type:index device_id:index nbytes:index dtype_code_hint:index dtype_bits_hint:index", "handle", "opaque",
        "Allocate memory from the device's pool.",
    ),
    Intrinsic("TVMBackendFreeWorkspace", "device_type:index device_id:index ptr:handle", "int32", "opaque", "Free memory of the pool."),
    Intrinsic("TVMBackendAnyListSetPackedArg", "*args:any", "int32", "opaque", "Pass an element of a list.", in_script=False),
    Intrinsic(
        "TVMBackendAnyListMoveFromPackedReturn", "*args:any", "int32", "opaque", "Store a result in a list.",
        in_script=False,
    ),
    Intrinsic("start_profile_intrinsic", "id:index", "handle", "pure", "Begin the measurement of part id."),
    Intrinsic("end_profile_intrinsic", "id:index", "handle", "pure", "End the measurement of part id."),
    Intrinsic("nd_mem_alloc_with_scope", "*args:any", "handle", "opaque", "Allocate memory in a scope.", in_script=False),
)  # fmt: skip
