"""`tvms.relax.transform`. Generated from the declarations; do not edit."""

import builtins
import collections.abc
import tvms.codegen.target
import tvms.ir.base
import tvms.ir.building.block_builder
import tvms.ir.passes.fuse_by_pattern
import tvms.ir.passes.transform
import tvms.ir.relax
import tvms.ir.tir
import typing
def AbstractSizes() -> tvms.ir.passes.transform.Pass:
    """Replace computed sizes of the operands of private loop functions by variables.

    A size is kept if the function also uses the variables that it is computed from in another way. Arguments that only
    passed these variables are removed. The function must be called by `R.call_tir` only, and have no schedule, which may
    refer to its sizes.
    """
def AdjustMatmulOrder() -> tvms.ir.passes.transform.Pass:
    """Reassociate products of three matrices to take fewer multiplications, or to combine two weights.

    Weights are values that depend only on the parameters after the first `num_input`. Symbolic sizes are at least 1, and at most the
    bounds in the attribute `tir_var_upper_bound`. Results are rounded differently.
    An infinite operand or an overflow may give NaN where the original product does not, and vice versa.
    """
def AlterOpImpl(op_impl_map: collections.abc.Mapping[builtins.str, tvms.ir.tir.PrimFunc], op_buffer_transforms: collections.abc.Mapping[builtins.str, collections.abc.Sequence[tvms.ir.tir.IndexMap | collections.abc.Callable[..., typing.Any] | None]] | None = None, op_buffer_axis_separators: collections.abc.Mapping[builtins.str, collections.abc.Sequence[collections.abc.Sequence[builtins.int]] | None] | None = None, op_buffer_input_axis_separators: collections.abc.Mapping[builtins.str, collections.abc.Sequence[collections.abc.Sequence[builtins.int]] | None] | None = None) -> tvms.ir.passes.transform.Pass:
    """Call `op_impl_map[name]` instead of each function whose attribute `operator_name` is that name.

    `op_buffer_transforms[name]` lists the layouts of its buffers, inputs before outputs. Operands are converted by
    `R.layout_transform`, and results are converted back; a function `remove_pad` removes their padding. `op_buffer_axis_separators` are the
    axis separators of what the layout transform of each buffer returns, `op_buffer_input_axis_separators` those of its operand.

    Raises TvmsError: E0902 if an implementation is not a loop function, if the numbers of layouts and buffers differ,
    or if a layout cannot be inverted.
    """
def AnnotateDeviceRegions() -> tvms.ir.passes.transform.Pass:
    """Put the attribute "target" around the parts of functions that a GPU executes, those in "thread_extent" or "device_scope", if the
    target of the function has a host.
    """
def AnnotateEntryFunc() -> tvms.ir.passes.transform.Pass:
    """Mark the only loop function as the entry of the program (TVM: `tir.transform.AnnotateEntryFunc`)."""
def AnnotateTIROpPattern() -> tvms.ir.passes.transform.Pass:
    """Set the attribute `op_pattern` of each loop function that has none."""
def Apply(ftransform: collections.abc.Callable[[tvms.ir.tir.PrimFunc], tvms.ir.tir.PrimFunc]) -> tvms.ir.passes.transform.Pass:
    """Replace each loop function by the result of `ftransform` (TVM: `tir.transform.Apply`)."""
def ApplyDefaultSchedule() -> tvms.ir.passes.transform.Pass:
    """Apply the default schedules for this processor to unscheduled functions, as the compiler does."""
def AttachAttrLayoutFreeBuffers() -> tvms.ir.passes.transform.Pass:
    """Let every `R.call_tir` call a copy of its function that has the attribute `layout_free_buffers`."""
def AttachExternModules(ext_mods: collections.abc.Sequence[typing.Any]) -> tvms.ir.passes.transform.Pass:
    """Load external modules, such as `nn.SourceModule`, and register their functions by symbol."""
def AttachGlobalSymbol() -> tvms.ir.passes.transform.Pass:
    """Set the attribute `global_symbol` of every function to its name in the module, which makes it public.

    If the module has the attribute `system_lib_prefix`, loop functions are renamed, so that their names start with it.

    Raises TvmsError E0906 if another function has the new name of a loop function.
    """
def BF16ComputeLegalize() -> tvms.ir.passes.transform.Pass:
    """Compute operations on bfloat16 in float32, also in memory that a function allocates, for targets without bfloat16. Each operation
    still rounds to bfloat16, except for reductions across threads.
    """
def BF16StorageLegalize() -> tvms.ir.passes.transform.Pass:
    """Keep bfloat16 as uint16 in memory, except for buffers that are parameters, for targets without bfloat16."""
def BindParams(func_name: builtins.str, params: collections.abc.Mapping[builtins.str | tvms.ir.relax.Var, typing.Any]) -> tvms.ir.passes.transform.Pass:
    """Replace parameters of function `func_name` by constants: `params` maps names, or variables, to arrays.

    Symbolic dimensions that the shapes of the arrays determine are also replaced.

    Raises TvmsError: E0905 if the module has no such function, E0906 if it has no such parameter or an array does not
    match it.
    """
def BindSymbolicVars(binding_map: collections.abc.Mapping[builtins.str | tvms.ir.tir.Var, builtins.int | tvms.ir.tir.PrimExpr], func_name: builtins.str | None = None) -> tvms.ir.passes.transform.Pass:
    """Replace symbolic dimensions, given by name or as variables, in `func_name`, or in all graph functions.

    Raises TvmsError: E0905 if the module has no such function, E0906 if no such function has the dimension.
    """
def BindTarget(target: builtins.str | tvms.codegen.target.Target | collections.abc.Mapping[builtins.str, typing.Any]) -> tvms.ir.passes.transform.Pass:
    """Set the target of each loop function that has none (TVM: `tir.transform.BindTarget`).

    A host function gets the host of `target`, or "llvm", and is no longer marked. If `target` has a host, functions with a
    global symbol state it as well, those with a target of their own included.
    """
def BundleModelParams(param_tuple_name: builtins.str = 'model_params') -> tvms.ir.passes.transform.Pass:
    """Bundle the parameters after the first `num_input` into one tuple, in functions that have this attribute.

    Raises TvmsError E0906 if the attribute is not a valid number of parameters.
    """
def CallTIRRewrite() -> tvms.ir.passes.transform.Pass:
    """Replace `R.call_tir`, `R.call_tir_inplace` and `R.call_dps_packed` by allocations and calls with side effects.

    Dataflow blocks become plain blocks, and purity checks are disabled. Calls whose results have unknown shapes are
    kept.
    """
def CanonicalizeBindings() -> tvms.ir.passes.transform.Pass:
    """Replace aliases by the variables that they denote, and fields of known tuples by their values.

    Variables of a dataflow block that are not used outside of it become dataflow variables. Variables bound to
    constants are replaced by them. Symbolic dimensions that a `match_cast` equates are unified. Raises TvmsError E0909
    if two of them give different sizes for one dimension.
    """
def CombineParallelMatmul(check: collections.abc.Callable[[tvms.ir.relax.Var, collections.abc.Sequence[tvms.ir.base.RelaxExpr], collections.abc.Sequence[tvms.ir.base.RelaxExpr], collections.abc.Mapping[tvms.ir.relax.Var, tvms.ir.base.RelaxExpr]], builtins.bool] | None = None) -> tvms.ir.passes.transform.Pass:
    """Concatenate the right operands of products in a dataflow block that share the left one, and split the product.

    If a vector is added to every product, which has no other use, the vectors are also concatenated. If the only use of every
    result is the same activation, it is applied before the split. All widths but one must be known, and the other dimensions
    must be equal. `check` may refuse a group.
    """
def CommonSubexprElimTIR(enable_cse_tir: builtins.bool = True, identify_equiv_terms: builtins.bool = False) -> tvms.ir.passes.transform.Pass:
    """Bind repeated computations to variables. Terms are repeated only if they are written alike, also with
    `identify_equiv_terms`.
    """
def CompactBufferAllocation(is_strict: builtins.bool = True, with_all: builtins.bool = True) -> tvms.ir.passes.transform.Pass:
    """Reduce the buffers of opaque blocks to the part that is used. No dimension becomes larger, even if `is_strict` is
    False, with which TVM may also pad buffers. With `with_all`, conditions on sums of loop variables count, in the compiler only those on
    single ones, and alignments become strides.
    """
def ComputePrimValue() -> tvms.ir.passes.transform.Pass:
    """Replace each `R.prim_value` that is not a constant or a variable by a call of a function that computes it."""
def ConvertBlocksToOpaque() -> tvms.ir.passes.transform.Pass:
    """Return `func` with the iterators of blocks replaced by their bindings."""
def ConvertForLoopsToSerial() -> tvms.ir.passes.transform.Pass:
    """Return `func` with its parallel loops made sequential (TVM: `ConvertForLoopsToSerial`)."""
def ConvertLayout(desired_layouts: collections.abc.Mapping[builtins.str, collections.abc.Sequence[builtins.str]], layout_cb: collections.abc.Callable[[tvms.ir.relax.Call], collections.abc.Mapping[builtins.str, collections.abc.Sequence[builtins.str]]] | None = None) -> tvms.ir.passes.transform.Pass:
    """Compute the operators in `desired_layouts` with data, weights and result in other layouts.

    In `{"relax.nn.conv2d": ["NHWC", "OHWI"]}`, a third layout would be that of the result; the default is that of the
    data. Following operators keep the layout if they can; otherwise `R.permute_dims` converts it back. Only dataflow
    blocks are changed. Layouts may split axes, as in `["NCHW4c", "OIHW4o"]`, by `R.layout_transform`, if the axes are
    known to be multiples of the block size. Resizing of images has one layout. `layout_cb` gives the desired layouts of each call, instead of
    `desired_layouts`.

    Raises TvmsError: E0902 if a layout is not valid for its operator.
    """
def ConvertSSA() -> tvms.ir.passes.transform.Pass:
    """Return `mod` with every variable and buffer defined once: a repeated definition gets a new variable in its scope.

    A function that shares definitions with an earlier one is copied. Several attributes of one function may launch the same
    thread.
    """
def ConvertToDataflow(min_size: builtins.int = 2) -> tvms.ir.passes.transform.Pass:
    """Put each sequence of at least `min_size` bindings without side effects or branches into a dataflow block.

    An existing dataflow block is extended by adjacent pure bindings, regardless of their number.
    """
from tvms.ir.passes.catalogue import DataflowBlockPass as DataflowBlockPass
def DataflowUseInplaceCalls() -> tvms.ir.passes.transform.Pass:
    """Replace calls of elementwise operators in dataflow blocks by in-place calls where no other value needs the memory.

    An argument is overwritten if it has the shape and dtype of the result, and if neither it nor another variable that may hold
    its memory is used later. Parameters and constants are never overwritten.
    """
def DeadCodeElimination(entry_functions: collections.abc.Sequence[builtins.str] | None = None) -> tvms.ir.passes.transform.Pass:
    """Remove unused pure bindings, and functions that neither `entry_functions` nor public functions reach.

    Raises TvmsError: E0905 if an entry function does not exist.
    """
def DecomposeOpsForInference(func_name: builtins.str | None = None) -> tvms.ir.passes.transform.Pass:
    """Decompose batch normalization using its moving mean and variance, regardless of its attribute `training`.

    `R.tensor_to_shape` becomes a call of "vm.builtin.tensor_to_shape", whose sizes are bound to variables. Applies to function `func_name`, or to all functions.

    Raises TvmsError E0905 if the function does not exist.
    """
def DecomposeOpsForTraining(func_name: builtins.str | None = None) -> tvms.ir.passes.transform.Pass:
    """Decompose batch and layer normalization using the mean and variance of the data, and update the moving ones.

    Applies to function `func_name`, or to all functions.

    Raises TvmsError E0905 if the function does not exist.
    """
def DecorateDeviceScope() -> tvms.ir.passes.transform.Pass:
    """Wrap the body of each loop function, or of its root block, in the attribute "device_scope"."""
def DefaultGPUSchedule() -> tvms.ir.passes.transform.Pass:
    """Bind the spatial loops of unscheduled functions for a GPU to its threads."""
def DispatchSampling() -> tvms.ir.passes.transform.Pass:
    """Replace `multinomial_from_uniform` by a loop function; one definition serves all targets, so that this is a part of
    `LegalizeOps`.
    """
def DispatchSortScan() -> tvms.ir.passes.transform.Pass:
    """Replace sorting, cumulative operators and `bucketize` by loop functions; one definition serves all targets, so that this is
    a part of `LegalizeOps`.
    """
def EliminateCommonSubexpr(call_only: builtins.bool = False) -> tvms.ir.passes.transform.Pass:
    """Replace variables whose values were computed before by the earlier variables.

    With `call_only`, only calls are considered. Values with side effects, allocations, and values that are overwritten
    are kept.
    """
def ExpandMatmulOfSum() -> tvms.ir.passes.transform.Pass:
    """Replace `x · (a + b)` by `x · a + x · b`, also if the sum is transposed, unless a and b are weights.

    Results are rounded differently. An infinite operand or an overflow may give NaN where the original product does not,
    and vice versa.
    """
def ExpandTupleArguments() -> tvms.ir.passes.transform.Pass:
    """Replace tuple parameters of private functions by one parameter for each field, including nested tuples."""
def FP8ComputeLegalize(promote_dtype: typing.Literal['float16', 'float32'] = 'float32') -> tvms.ir.passes.transform.Pass:
    """Compute operations on 8-bit floats in `promote_dtype`, also in memory that a function allocates, for targets without 8-bit floats.
    Each operation still rounds to its own dtype, except for reductions across threads.
    """
def FP8StorageLegalize() -> tvms.ir.passes.transform.Pass:
    """Keep 8-bit floats as uint8 in memory, except for buffers that are parameters, for targets without 8-bit floats."""
def FastMathTransform() -> tvms.ir.passes.transform.Pass:
    """Replace `softmax`, `exp`, `erf` and `tanh` by the loop functions of `topi.nn.fast_softmax`, `topi.fast_exp` and so on, whose
    vectorized code is as exact as that of the operators.
    """
def Filter(fcond: collections.abc.Callable[[tvms.ir.tir.PrimFunc], builtins.bool]) -> tvms.ir.passes.transform.Pass:
    """Remove the loop functions for which `fcond` does not hold (TVM: `tir.transform.Filter`)."""
def FlattenBuffer(index_dtype: typing.Literal['int64', 'same'] = 'same') -> tvms.ir.passes.transform.Pass:
    """Replace buffers by flat ones. Indices are int64, or with "same" stay int32 where all positions fit."""
def FlattenSignature() -> tvms.ir.passes.transform.Pass:
    """Return `func` with pointers and numbers as parameters, and an empty buffer map."""
def FoldBatchnormToConv2D() -> tvms.ir.passes.transform.Pass:
    """Fold batch normalization of the result of a convolution into its weights, if weights and moments are constants.

    Normalization for training is kept, as it uses the moments of its data, and so is that of a result with other uses,
    which would be computed twice.
    """
def FoldConstant(evaluate: collections.abc.Callable[[tvms.ir.base.IRModule, builtins.str], typing.Any] | None = None, operators: collections.abc.Sequence[builtins.str] | None = None) -> tvms.ir.passes.transform.Pass:
    """Replace calls with constant arguments by their results, and variables bound to constants by these.

    `evaluate` executes the calls; the default is the interpreter. Calls without a constant tensor argument are kept, because
    they would only enlarge the program, but for `R.zeros` and the like of up to 1024 elements. Operators are folded only in dataflow blocks, calls of loop
    functions everywhere. With `operators`, names such as "relax.add", only calls of these are folded, everywhere. Bindings that
    become unused are removed.
    """
def ForceNarrowIndexToInt32() -> tvms.ir.passes.transform.Pass:
    """Return `func` with int32 variables and constants in place of all of int64. Sums and products must fit int32.

    Other calls, such as `T.clz`, still get operands of int64. Raises TvmsError E0906 if a buffer holds int64, or a constant
    does not fit int32.
    """
from tvms.ir.passes.catalogue import FunctionPass as FunctionPass
def FuseOps(fuse_opt_level: builtins.int = -1) -> tvms.ir.passes.transform.Pass:
    """Fuse calls of loop functions into private functions with the attribute Primitive.

    The loop functions need the attribute `op_pattern`. Level 0 disables fusion; -1 uses the level of the context.
    """
def FuseOpsByPattern(patterns: collections.abc.Sequence[tvms.ir.passes.fuse_by_pattern.FusionPattern | builtins.tuple[typing.Any, ...]], bind_constants: builtins.bool = True, annotate_codegen: builtins.bool = False, entry_functions: collections.abc.Sequence[builtins.str] | None = None) -> tvms.ir.passes.transform.Pass:
    """Move each part of a dataflow block that matches one of `patterns` to a private function; earlier patterns win.

    The function has the attribute Composite, the name of the pattern. With `bind_constants`, constants become part of
    it; otherwise they are parameters. With `annotate_codegen`, it is wrapped in a public function with the attribute
    Codegen, the first part of that name: the library.

    Raises TvmsError: E0905 if the module has none of `entry_functions`, E0431 if two functions define one variable.
    """
def FuseTIR() -> tvms.ir.passes.transform.Pass:
    """Replace functions with the attribute Primitive that consist of `R.call_tir` by loop functions with the same name.

    Intermediate values become buffers of the new function. A function is kept if it does anything else, or if a called
    function requires particular layouts of its buffers.
    """
def FuseTransposeMatmul() -> tvms.ir.passes.transform.Pass:
    """Let products read the sources of transposed operands. The product `R.matmul(x, lv)` of `lv = R.permute_dims(w, ...)`, which
    swaps the last two axes of `w`, becomes a call of the loop function `NT_matmul`, and `lv` is removed from its dataflow block if
    nothing else uses it. Unused results of loop functions are not removed.
    """
from tvms.ir.passes.catalogue import FusionPattern as FusionPattern
def Gradient(func_name: builtins.str, require_grads: tvms.ir.relax.Var | builtins.str | collections.abc.Sequence[tvms.ir.relax.Var | builtins.str] | None = None, target_index: builtins.int = 0) -> tvms.ir.passes.transform.Pass:
    """Add the function `<func_name>_adjoint`, which returns the result of `func_name` and a tuple of gradients.

    They are the gradients of its result, or of field `target_index` of that, which must be a float scalar, with respect
    to `require_grads`: variables of the function or their names; the default is all parameters.

    Raises TvmsError: E0905 if the function does not exist, E0906 if it has no such variable or field, E0908 if it cannot
    be differentiated.
    """
def GuardBlocks(bounds: typing.Literal['check', 'prove', 'trust'] = 'prove') -> tvms.ir.passes.transform.Pass:
    """Check the sizes of buffers of blocks, and matched buffers, at run time: all with `bounds="check"`,
    those that are not proven to be valid with "prove".
    """
def GuardIndices(bounds: typing.Literal['check', 'prove', 'trust'] = 'prove') -> tvms.ir.passes.transform.Pass:
    """Check indices at run time: all with `bounds="check"`, those that are not proven to be in bounds with
    "prove".
    """
def HoistExpression() -> tvms.ir.passes.transform.Pass:
    """Move conditions and variables out of loops; the option "tir.HoistExpression" of the context limits their kinds."""
def HoistFirstSteps() -> tvms.ir.passes.transform.Pass:
    """Return `func` with first steps hoisted out of as many loops as possible."""
def HoistIfThenElse(of_threads: builtins.bool = False) -> tvms.ir.passes.transform.Pass:
    """Move loop-invariant conditions out of loops; those that depend on threads of "thread_extent" attributes only with `of_threads`, as
    in the compiler, or if the option `support_block_scope_hoisting` of "tir.HoistIfThenElse" of the context asks for it.
    """
def InjectDoubleBuffer(with_all: builtins.bool = True) -> tvms.ir.passes.transform.Pass:
    """Double the memory of a `double_buffer_scope` in a loop, also if the scope contains all statements of the loop, unless `with_all` is
    False, as in the compiler.
    """
def InjectPermutedLayout() -> tvms.ir.passes.transform.Pass:
    """Return `func` with permuted shared memory, and without the annotations of it."""
def InjectSoftwarePipeline() -> tvms.ir.passes.transform.Pass:
    """Return `func`, whose blocks are opaque, with annotated loops replaced by software pipelines.

    Raises TvmsError E0616 if the annotations of a loop are invalid.
    """
def InjectVirtualThread() -> tvms.ir.passes.transform.Pass:
    """Return `func`, whose buffers are flat, without virtual threads. Those with jumps, or with an unknown number of threads, stay, and so
    do the threads called "cthread" that synchronize.
    """
def InlinePrivateFunctions() -> tvms.ir.passes.transform.Pass:
    """Inline each private graph function into its callers, and remove functions that are no longer called.

    Recursive functions are kept, and calls in dataflow blocks of functions that must not be inlined there.
    """
def InstrumentProfileIntrinsics() -> tvms.ir.passes.transform.Pass:
    """Mark the beginning and the end of functions and loops for a profiler, by calls of `T.start_profile_intrinsic(n)` and
    `T.end_profile_intrinsic(n)`, without effect in compiled programs. By default these are loops beside other loops, except for innermost
    loops; the options "tir.instr_siblings", "tir.lwp_max_depth", "tir.lwp_min_height" and "tir.lwp_disable_func_prof" of the context
    choose others. Functions and loops are numbered in order.
    """
def KillAfterLastUse() -> tvms.ir.passes.transform.Pass:
    """Insert `R.memory.kill_tensor`, `R.memory.kill_storage` or `R.vm.kill_object` after the last use of each variable.

    Results of a body and variables used by inner functions are not freed. Memory lives until the last variable that
    holds it is freed: a storage may be killed before the tensors inside it. Dataflow blocks become plain blocks, and
    purity checks are disabled.
    """
def LambdaLift() -> tvms.ir.passes.transform.Pass:
    """Turn every inner function into a private function of the module, called `<function>_<inner>`.

    Captured variables become additional parameters, and the inner function becomes a closure: `R.make_closure`, called
    by `R.invoke_pure_closure` or `R.invoke_closure`. The attribute `global_symbol` of an inner function overrides its
    name.

    Raises TvmsError E0104 if the module already has a function with that name.
    """
def LazyGetInput() -> tvms.ir.passes.transform.Pass:
    """Replace the weights of public functions by a parameter, a function that returns a weight given its index and name.

    Weights are the parameters after the first `num_input`. A weight is loaded before its first use.
    """
def LazySetOutput() -> tvms.ir.passes.transform.Pass:
    """Add a parameter to public functions, a function that gets the index and the value of each result once it is known.

    The functions return an empty tuple. Dataflow blocks become plain blocks.
    """
def LazyTransformParams(fget_item: builtins.str = 'get_item', fset_item: builtins.str | None = 'set_item', extra_get_item_params: collections.abc.Sequence[tvms.ir.relax.Var] = ..., extra_set_item_params: collections.abc.Sequence[tvms.ir.relax.Var] = ...) -> tvms.ir.passes.transform.Pass:
    """Make functions whose names end in `transform_params` load each weight before its first use and free it after its last.

    `fget_item` and `fset_item` are names of registered functions: `fget_item(*extra, index)` returns a weight, and
    `fset_item(*extra, index, value)` gets a result; if it is None, the results are returned. The variables `extra` become
    parameters. Dataflow blocks become plain blocks. Raises TvmsError E0906 if a tuple of weights is used as a whole.
    """
def LegalizeOps(customize_legalize_map: collections.abc.Mapping[builtins.str, collections.abc.Callable[[tvms.ir.building.block_builder.BlockBuilder, tvms.ir.relax.Call], tvms.ir.base.RelaxExpr]] | None = None, enable_warning: builtins.bool = False, skip_ops: collections.abc.Sequence[builtins.str] | None = None) -> tvms.ir.passes.transform.Pass:
    """Replace every call of an operator that is defined by a tensor expression and has known shapes.

    Each becomes a `call_tir` of a private PrimFunc; equal PrimFuncs are shared. `R.arange` and `R.astype` of numbers become
    constants of up to 1024 elements. Other calls are kept. Where a call needs
    sizes to be equal that are not proven equal, `R.match_cast` checks them at run time. Functions in
    `customize_legalize_map`, by names of operators such as "relax.add", replace calls themselves, and so do those of
    `register_legalize`; what they return and emit is also legalized. `enable_warning` has no effect.
    Calls of the operators in `skip_ops` are kept.
    """
def LiftTransformParams(shared_transform: builtins.bool | collections.abc.Sequence[builtins.str] = False) -> tvms.ir.passes.transform.Pass:
    """Move computations of a function that depend only on its weights to a function `<name>_transform_params`.

    Weights are the parameters after the first `num_input`. The new function takes them as a tuple. It returns the new
    parameters of the old function: the weights that this still uses, followed by the computed values. Branches and
    values guarded by `R.builtin.stop_lift_params` are not moved. With `shared_transform`, one function
    `transform_params` performs the computations that all functions, or all those listed, have in common. If the module has
    a transform of that name, the new one follows it.

    Raises TvmsError: E0906 if `num_input` is invalid, shared weights differ, or the weights are not the result of the
    transform that the module has, E0905 if one of the listed functions has no weights.
    """
def LoopPartition(with_marks: builtins.bool = True) -> tvms.ir.passes.transform.Pass:
    """Split loops where guards inside them may become false. Where loops have the annotation "pragma_loop_partition_hint", or
    conditions are in `T.likely`, only these are cut, at all places, by the option "tir.LoopPartition" of the context, unless
    `with_marks` is False, as in the compiler.
    """
def LowerAllocTensor() -> tvms.ir.passes.transform.Pass:
    """Replace each `R.builtin.alloc_tensor` by a storage of the same size, and a tensor that fills it."""
def LowerCrossThreadReduction() -> tvms.ir.passes.transform.Pass:
    """Let each thread reduce its part, and then all threads together, where a loop over threads is one of a reduction."""
def LowerInitBlock() -> tvms.ir.passes.transform.Pass:
    """Return `func` with the inits of its blocks as conditional statements in their bodies."""
def LowerIntrin() -> tvms.ir.passes.transform.Pass:
    """Return `func` without `//` and `%` of scalar integers, unless their operands have effects (TVM: `LowerIntrin`)."""
def LowerMatchBuffer(with_checks: builtins.bool = True) -> tvms.ir.passes.transform.Pass:
    """Replace matched buffers by their sources. With `with_checks`, TvmsError E0706 if a buffer certainly declares another offset or other
    strides than its region has; the compiler checks strides at run time.
    """
def LowerOpaqueBlock(with_pragmas: builtins.bool = True) -> tvms.ir.passes.transform.Pass:
    """Replace blocks without iterators by their statements. Their buffers become allocations, and their pragmas and those of loops
    attributes; the latter only with `with_pragmas`, which the compiler does not need.
    """
def LowerRuntimeBuiltin() -> tvms.ir.passes.transform.Pass:
    """Replace allocations by those of the virtual machine, and shape computations by calls of its functions.

    `RemovePurityChecking` comes before, because these calls count as impure. Raises TvmsError E0914 for
    `R.builtin.alloc_tensor`, which `LowerAllocTensor` replaces.
    """
def ManifestSharedMemoryLocalStage() -> tvms.ir.passes.transform.Pass:
    """Return `func`, whose blocks are opaque, with the copies that ask for it divided into loads and stores.

    The buffer between them is allocated where the target of the copy is.
    """
def MergeCompositeFunctions() -> tvms.ir.passes.transform.Pass:
    """Merge calls of composite functions of one library into public functions with the attribute Codegen.

    A call joins the group of its operands, unless another group lies between them. Aliases join the group of their values, and
    so do tuples that are only used by their fields, and these fields. The composite functions become inner functions. Run
    it after FuseOpsByPattern without `annotate_codegen`.
    """
def MergeEqualFunctions() -> tvms.ir.passes.transform.Pass:
    """Merge private functions that are equal up to block names into the first one.

    Functions with a schedule are kept, since it refers to block names.
    """
def MergeWindows() -> tvms.ir.passes.transform.Pass:
    """Return `func`, whose buffers are flat, with maxima and minima over small windows as expressions."""
def MetaScheduleApplyDatabase(work_dir: builtins.str) -> tvms.ir.passes.transform.Pass:
    """Apply the best schedules for the current target that the database in `work_dir` has for the loop functions. Raises E1102 if
    there is no database.
    """
def MetaScheduleTuneIRMod(params: collections.abc.Mapping[builtins.str, typing.Any], work_dir: builtins.str, max_trials_global: builtins.int, max_trials_per_task: builtins.int | None = None) -> tvms.ir.passes.transform.Pass:
    """Bind `params` to the parameters of `main`, then do the same as MetaScheduleTuneTIR; the module is unchanged."""
def MetaScheduleTuneTIR(work_dir: builtins.str, max_trials_global: builtins.int, max_trials_per_task: builtins.int | None = None) -> tvms.ir.passes.transform.Pass:
    """Tune the loop functions for the current target; the measurements go to a database in `work_dir`, and the module is
    unchanged.
    """
def NarrowDataType(target_bits: builtins.int) -> tvms.ir.passes.transform.Pass:
    """Narrow variables of loops and blocks to `target_bits` bits, where all that is computed from them fits."""
def Normalize() -> tvms.ir.passes.transform.Pass:
    """Bind every nested call to a new variable, also in results, and infer struct info.

    The blocks of a body that is the value of a binding come before that binding. Adjacent blocks of the same kind are merged.
    """
def NormalizeGlobalVar() -> tvms.ir.passes.transform.Pass:
    """Rename every public function to its attribute `global_symbol`; a private function with that name is renamed.

    Raises TvmsError E0910 if two functions have the same symbol.
    """
def OptimizeLayoutTransform() -> tvms.ir.passes.transform.Pass:
    """Replace a layout transform that inverts the preceding one by the original tensor."""
def OrderLanes() -> tvms.ir.passes.transform.Pass:
    """Return `func`, whose blocks are opaque, with the dimension of small buffers innermost that vectors run along."""
def PackWeights(columns: builtins.int = 32) -> tvms.ir.passes.transform.Pass:
    """Let products read constants and the parameters after the first `num_input` in panels of `columns` columns.

    A weight is packed if it is a matrix of floats with a multiple of `columns` columns, and only products of more than one row
    read it. Sums and their order stay the same. Functions whose blocks are not in plain loops, such as scheduled ones, are kept.
    """
from tvms.ir.passes.catalogue import PatternCheckContext as PatternCheckContext
def PlanAndUpdateBufferAllocationLocation() -> tvms.ir.passes.transform.Pass:
    """Return `func`, whose blocks are opaque, with the allocations of its blocks moved to their uses."""
def PointerValueTypeRewrite() -> tvms.ir.passes.transform.Pass:
    """Turn memory that is only accessed by aligned vectors into memory of vectors, parameters included, whose shapes change; single
    elements of it are lanes of a loaded vector.
    """
def RealizeVDevice() -> tvms.ir.passes.transform.Pass:
    """Assign devices to all tensors for which they follow from hints, copies, parameters or results.

    A hint with a device that the module does not list is ignored and kept.
    """
def ReduceBranchingThroughOvercompute() -> tvms.ir.passes.transform.Pass:
    """Remove conditions around statements that would change nothing where the condition is false. With the option
    `use_dataflow_analysis` of the context, this also considers known contents of memory and elements that are overwritten later; it
    assumes that parameters do not overlap.
    """
def RemoveAssume() -> tvms.ir.passes.transform.Pass:
    """Return `func` without assumptions `T.assume(…)`, and without loops around nothing else (TVM: `RemoveAssume`)."""
def RemoveNoOp() -> tvms.ir.passes.transform.Pass:
    """Remove statements without effect. With the option `use_dataflow_analysis` of the context, also remove stores to elements that
    are overwritten before they are read, and stores of what the element already holds; this assumes that parameters do not overlap.
    """
def RemovePurityChecking() -> tvms.ir.passes.transform.Pass:
    """Mark pure functions so that they may contain calls with side effects, and turn pure calls into ordinary calls.

    This includes inner functions. Lowering requires it, as memory is written in place.
    """
def RemoveRedundantReshape() -> tvms.ir.passes.transform.Pass:
    """Merge consecutive reshapes into one, and remove reshapes that do not change the shape."""
def RemoveStoreUndef() -> tvms.ir.passes.transform.Pass:
    """Return `func` without stores of values computed from `T.undef()`, which allow any value.

    Stores of expressions with other effects stay. Raises TvmsError E0906 if an index is computed from `T.undef()`.
    """
def RemoveUnusedOutputs() -> tvms.ir.passes.transform.Pass:
    """Remove fields of results of private functions that no caller uses; a single field is returned without a tuple."""
def RemoveUnusedParameters() -> tvms.ir.passes.transform.Pass:
    """Remove unused parameters of private functions, and computations of callers that are only used for them.

    A symbolic dimension determined only by such a parameter is passed as a separate number, `param_<name>`. If a call
    does not know it, the function is kept.
    """
def RenormalizeSplitPattern(domains: collections.abc.Mapping[tvms.ir.tir.Var, tvms.ir.tir.Range] = ...) -> tvms.ir.passes.transform.Pass:
    """Return `func` with simplified divisions in indices; `domains` are those of variables that no loop binds."""
def ReorderPermuteDimsAfterConcat() -> tvms.ir.passes.transform.Pass:
    """Permute the axes of a concatenation instead of those of each part."""
def ReorderTakeAfterMatmul() -> tvms.ir.passes.transform.Pass:
    """Take columns of a product instead of multiplying by taken columns, so that no weights are copied.

    If each matrix of a batch is multiplied by a matrix taken from a table, it is multiplied by the whole table instead.
    """
def RewriteCUDAGraph() -> tvms.ir.passes.transform.Pass:
    """Mark the graph functions by the attribute `relax.backend.use_cuda_graph` if the option of this name is set.

    Compiled for a GPU, such a function records the launches of a call, and repeats them as CUDA graphs in later calls with arguments of the
    same sizes, unless a part of it runs on the processor. Memory for that is planned then; TVM's pass divides functions instead.
    """
def RewriteDataflowReshape() -> tvms.ir.passes.transform.Pass:
    """Replace calls of loop functions in dataflow blocks that copy all elements in order by `R.reshape`.

    A reshape copies no memory. Outputs of the block are kept, as they would share memory with other values.
    """
def RewriteUnsafeSelect() -> tvms.ir.passes.transform.Pass:
    """Return `func` with `T.if_then_else`, which evaluates one side only, for each `T.Select` with a side that
    reads memory or has effects (TVM: `RewriteUnsafeSelect`). A select with a condition per lane stays.
    """
def RunCodegen(target_options: collections.abc.Mapping[builtins.str, collections.abc.Mapping[builtins.str, typing.Any]] | None = None, entry_functions: collections.abc.Sequence[builtins.str] | None = None) -> tvms.ir.passes.transform.Pass:
    """Replace calls of functions with the attribute Codegen by `R.call_dps_packed` of library functions.

    The code generator is the global function `relax.ext.<name>`; `target_options` holds its options by library name.
    Its results are kept in the module's attribute `external_mods`, as attributes that can be printed: kind and
    functions.

    Raises TvmsError: E0907 if no library with that name is registered.
    """
def SerializeThreads() -> tvms.ir.passes.transform.Pass:
    """Return `func` with its outermost parallel loops; all other loops over threads become sequential."""
def Simplify() -> tvms.ir.passes.transform.Pass:
    """Simplify expressions under the loops and conditions around them. With the option "tir.Simplify" of the context, conditions and
    other expressions may also use known contents of memory, which assumes that parameters do not overlap, and conditions may be
    written as conjunctions of disjunctions.
    """
def SimplifyDivisions(domains: collections.abc.Mapping[tvms.ir.tir.Var, tvms.ir.tir.Range] = ...) -> tvms.ir.passes.transform.Pass:
    """Return `func` with simplified divisions in indices; `domains` are those of variables that no loop binds."""
def SkipAssert() -> tvms.ir.passes.transform.Pass:
    """Return `func` without assertions (TVM: `SkipAssert`)."""
def SmallFloatComputeLegalize() -> tvms.ir.passes.transform.Pass:
    """Return `func` with all arithmetic on small floats computed in float32."""
def SplitLayoutRewritePreproc() -> tvms.ir.passes.transform.Pass:
    """Split loop functions with blocks annotated `meta_schedule.layout_rewrite_preproc` in two.

    `<name>_weight_prepack` computes the rearranged weights, `<name>_prepacked` the results from them. A function is kept if anything else
    reads such a weight, or if a statement at the root has other blocks as well.
    """
def StartEmptyReductions() -> tvms.ir.passes.transform.Pass:
    """Return `func` with a statement before each possibly empty reduction that executes its `T.init` if it is empty."""
def StaticPlanBlockMemory(pack: builtins.bool = False) -> tvms.ir.passes.transform.Pass:
    """Replace `R.builtin.alloc_tensor` by tensors in storages, which are reused after the last use of their tensors.

    Only tensors that are passed to loop functions and packed functions of the same block are planned, and no results of
    the function. Tensors of symbolic size share storages of equal size, or have the upper bounds in the attribute
    `tir_var_upper_bound`. Results of symbolic size get storages of their own if the function has the attribute
    `relax.memory_plan_dynamic_func_output`, which is removed. Run it after CallTIRRewrite. With `pack`, all tensors of known size in a block of the
    function's body share one storage at different offsets, which is hardly larger than the live tensors.
    """
def StorageRewrite(with_all: builtins.bool = True) -> tvms.ir.passes.transform.Pass:
    """Share memory among allocations that are used one after another. Allocations move out of loops, up to the threads that use them, and
    share memory with others of other dtypes and sizes, or in place; memory that is only accessed by aligned vectors holds vectors. With `with_all` False, as in the compiler, only allocations side by
    side and of the same dtype do.
    """
def ToMixedPrecision(out_dtype: builtins.str = 'float32', fp16_input_names: collections.abc.Sequence[builtins.str] | None = None) -> tvms.ir.passes.transform.Pass:
    """Cast the float32 operands of products, convolutions and attention in dataflow blocks to float16.

    They accumulate in `out_dtype`. Following operators stay in float16 if that is safe; results keep their dtypes.
    Parameters listed in `fp16_input_names` become float16.

    Raises TvmsError: E0902 if `out_dtype` is neither float16 nor float32.
    """
def ToNonDataflow() -> tvms.ir.passes.transform.Pass:
    """Merge the blocks of each body into a plain block, which allows side effects, with plain variables."""
def TopologicalSort(order: builtins.str = 'depth-first', direction: builtins.str = 'from-inputs') -> tvms.ir.passes.transform.Pass:
    """Order bindings as a search visits them, either from inputs to their users or from outputs to their operands.

    Raises TvmsError E0902 for an unknown order or direction.
    """
def UnifyThreadBinding() -> tvms.ir.passes.transform.Pass:
    """Return `func` with one loop for each thread axis of a kernel, outside of its other statements.

    Raises TvmsError: E0417 if the extents of an axis differ, E0416 if a statement is not executed by all threads, or an axis
    has a loop within another one.
    """
def UnrollLoop() -> tvms.ir.passes.transform.Pass:
    """Unroll loops of kind "unrolled". The option "tir.UnrollLoop" of the context may ask for other loops as well."""
def UpdateParamStructInfo(sinfo_func: collections.abc.Callable[[tvms.ir.relax.Var], tvms.ir.base.StructInfo | None]) -> tvms.ir.passes.transform.Pass:
    """Set the struct info of parameters to the result of `sinfo_func`, unless that is None.

    The struct info of all other values is inferred anew. Raises TvmsError if an operator does not accept it.
    """
def UpdateVDevice(new_vdevice: tvms.ir.base.VDevice, index: builtins.int) -> tvms.ir.passes.transform.Pass:
    """Replace the device with the given `index` by `new_vdevice`.

    Raises TvmsError E0902 if the module has no such device.
    """
def UseAssumeToReduceBranches() -> tvms.ir.passes.transform.Pass:
    """Return `func` with one side of `T.if_then_else` for those whose sides are equal wherever the condition selects the other.

    The assumptions are blocks with `T.assume(condition or A[i] == value)` for all elements of a parameter that is not written. The
    kept side must read parameters only, and must be valid for all indices.
    """
def VMShapeLower(emit_err_ctx: builtins.bool = True) -> tvms.ir.passes.transform.Pass:
    """Replace sizes in graph functions by calls that check types, and that match, compute and make shapes.

    It is the last pass, because types keep their sizes. These calls count as impure, so that pure functions get the
    attribute `relax.force_pure`. `emit_err_ctx` passes a text to the checks that says which value is wrong. Functions in
    functions stay as they are; `LambdaLift` moves them out.
    """
def VectorizeLoop(masks: typing.Literal['all', 'prefixes', 'none'] | typing.Literal['by-target'] = 'by-target') -> tvms.ir.passes.transform.Pass:
    """Replace vectorized loops by vector statements. With "by-target", as in TVM, conditions on lanes become masks if the target has
    instructions for them or the option "tir.enable_buffer_level_predication" of the context is true; otherwise, such statements are
    executed lane by lane. The compiler uses "all".
    """
def WinogradConv2D(tile: builtins.int = 4) -> tvms.ir.passes.transform.Pass:
    """Compute convolutions with windows of 3 × 3 by Winograd's algorithm where this needs fewer multiplications.

    `tile` is the maximum width of tiles, 2 or 4. Tiles of 2 are about as exact as other convolutions; with tiles of 4, the largest
    error is some 8 times and the mean square error 4 times as large: 1e-5 of the largest result, of 64 to 256 channels of
    normally distributed numbers. Converted are float32 convolutions of known shapes in NCHW, without strides, dilation and
    groups, with constant weights, if the estimated time is shorter. Run `FoldBatchnormToConv2D` and `FoldConstant` before, and
    `FoldConstant` after, which transforms the weights.

    Raises TvmsError: E0902 if `tile` is neither 2 nor 4.
    """
from tvms.ir.passes.catalogue import dataflowblock_pass as dataflowblock_pass
from tvms.ir.passes.catalogue import function_pass as function_pass
from tvms.relax.transform import legalize_ops as legalize_ops
from tvms.relax.transform import transform as transform
