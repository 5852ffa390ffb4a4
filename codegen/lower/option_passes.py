"""The passes on loops that read options of the context, as TVM's passes do."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Literal, TypeVar

from msgspec import Struct, ValidationError, convert

from ...ir import tir
from ...ir.base import IRModule
from ...ir.deep import deep
from ...ir.diagnostics import error
from ...ir.passes.context import PassContext
from ...ir.passes.transform import declare_pass, map_functions
from ...ir.simplify import simplify
from ...ir.simplify.clauses import in_clauses
from ...ir.simplify.statements import simplify_statements
from ...ir.visit import walk
from ..current_target import Target
from ..target import get_target, options_of
from . import Step
from .double_buffer import inject_double_buffers
from .float_legalization import IsSmall, compute_in_wide_floats, store_as_integers
from .invariants import hoist_conditions
from .known_contents import Uses, use_known_contents
from .no_op import remove_no_ops, without_no_ops
from .overcompute import overcompute
from .overwritten import remove_overwritten
from .partition import partition_loops
from .partition_points import PartitionOptions, asks_for_parts, partition_at_points
from .profile_points import ProfileOptions, mark_loops
from .small_floats import is_bfloat, is_tiny
from .storage import rewrite_storage
from .storage_plan import plan_storage
from .unroll import unroll_loops
from .unroll_marks import UnrollOptions, unroll_by_options
from .vector_memory import use_vector_memory
from .vectorize import Masks, vectorize_loops


def on_modules(step: Step) -> Callable[[IRModule], IRModule]:
    def run(mod: IRModule) -> IRModule:
        return map_functions(mod, tir.PrimFunc, deep(step))

    return update_wrapper(run, step)


def unless(is_early: Callable[[tir.Block], bool], step: Step) -> Step:
    """Return `step` restricted to functions without blocks for which `is_early` holds; other functions are
    unchanged.
    """

    def run(func: tir.PrimFunc) -> tir.PrimFunc:
        blocks = (node for node in walk(func.body) if isinstance(node, tir.Block))
        return func if any(is_early(block) for block in blocks) else step(func)

    return update_wrapper(run, step)


def on_loops(step: Step) -> Step:
    return unless(lambda _: True, step)


_Options = TypeVar("_Options", bound=Struct)


def _options(name: str, kind: type[_Options]) -> _Options:
    """Return the option `name` of the context; TvmsError E0902 if it is not of this kind."""
    try:
        return convert(PassContext.current().config.get(name, {}), kind, strict=False)
    except ValidationError as problem:
        fields = ", ".join(kind.__struct_fields__)
        raise error("E0902", f"option '{name}': {problem}", help=f"its fields are: {fields}") from None


class SimplifyOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """The option "tir.Simplify" of passes. The first three are accepted and have no effect: tvms always does what they enable."""

    transitively_prove_inequalities: bool = True
    apply_constraints_to_boolean_branches: bool = True
    enable_simplify_let_inline: bool = True
    convert_boolean_to_and_of_ors: bool = False
    propagate_knowns_to_prove_conditional: bool = False
    propagate_knowns_to_simplify_expressions: bool = False


@declare_pass("Simplify")
def simplify_all(mod: IRModule) -> IRModule:
    """Simplify expressions under the loops and conditions around them. With the option "tir.Simplify" of the context, conditions and
    other expressions may also use known contents of memory, which assumes that parameters do not overlap, and conditions may be
    written as conjunctions of disjunctions.
    """
    options = _options("tir.Simplify", SimplifyOptions)
    in_conditions, in_loads = (
        options.propagate_knowns_to_prove_conditional,
        options.propagate_knowns_to_simplify_expressions,
    )

    def step(func: tir.PrimFunc) -> tir.PrimFunc:
        if options.convert_boolean_to_and_of_ors:
            func = in_clauses(func, lambda condition, given: simplify(condition, given=given))
        func = simplify_statements(func)
        if in_conditions or in_loads:
            func = simplify_statements(use_known_contents(func, Uses(in_conditions, in_loads)))
        return func

    return map_functions(mod, tir.PrimFunc, deep(step))


@declare_pass("LoopPartition")
def partition(mod: IRModule, with_marks: bool = True) -> IRModule:
    """Split loops where guards inside them may become false. Where loops have the annotation "pragma_loop_partition_hint", or
    conditions are in `T.likely`, only these are cut, at all places, by the option "tir.LoopPartition" of the context, unless
    `with_marks` is False, as in the compiler.
    """
    options = _options("tir.LoopPartition", PartitionOptions)

    def step(func: tir.PrimFunc) -> tir.PrimFunc:
        is_marked = with_marks and asks_for_parts(func)
        return partition_at_points(func, options) if is_marked else partition_loops(func)

    return map_functions(mod, tir.PrimFunc, deep(on_loops(step)))


class DataflowOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """The options "tir.RemoveNoOp" and "tir.ReduceBranchingThroughOvercompute" of passes."""

    use_dataflow_analysis: bool = False
    max_simplification_steps: int = 0
    """Not used: proofs have their own limits."""


@declare_pass("RemoveNoOp")
def remove_without_effect(mod: IRModule) -> IRModule:
    """Remove statements without effect. With the option `use_dataflow_analysis` of the context, also remove stores to elements that
    are overwritten before they are read, and stores of what the element already holds; this assumes that parameters do not overlap.
    """
    options = _options("tir.RemoveNoOp", DataflowOptions)

    def step(func: tir.PrimFunc) -> tir.PrimFunc:
        if options.use_dataflow_analysis:
            func = use_known_contents(remove_overwritten(func), Uses(stores=True))
        return remove_no_ops(func)

    return map_functions(mod, tir.PrimFunc, deep(on_loops(step)))


@declare_pass("ReduceBranchingThroughOvercompute")
def reduce_by_overcompute(mod: IRModule) -> IRModule:
    """Remove conditions around statements that would change nothing where the condition is false. With the option
    `use_dataflow_analysis` of the context, this also considers known contents of memory and elements that are overwritten later; it
    assumes that parameters do not overlap.
    """
    use_contents = _options("tir.ReduceBranchingThroughOvercompute", DataflowOptions).use_dataflow_analysis
    step = deep(on_loops(lambda func: overcompute(func, without_no_ops, use_contents)))
    return map_functions(mod, tir.PrimFunc, step)


def _has_masks(target: str) -> bool:
    return "+sve" in target


@declare_pass("VectorizeLoop")
def vectorize(mod: IRModule, masks: Masks | Literal["by-target"] = "by-target") -> IRModule:
    """Replace vectorized loops by vector statements. With "by-target", as in TVM, conditions on lanes become masks if the target has
    instructions for them or the option "tir.enable_buffer_level_predication" of the context is true; otherwise, such statements are
    executed lane by lane. The compiler uses "all".
    """
    asked = PassContext.current().config.get("tir.enable_buffer_level_predication")

    def step(func: tir.PrimFunc) -> tir.PrimFunc:
        if masks != "by-target":
            return vectorize_loops(func, masks)
        is_masked = _has_masks(str(func.attrs.get("target") or Target.current() or "")) if asked is None else asked
        return vectorize_loops(func, "prefixes" if is_masked else "none", _has_masks if asked is None else None)

    return map_functions(mod, tir.PrimFunc, deep(on_loops(step)))


class HoistOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """The option "tir.HoistIfThenElse" of passes."""

    support_block_scope_hoisting: bool = False


@declare_pass("HoistIfThenElse")
def hoist_if(mod: IRModule, of_threads: bool = False) -> IRModule:
    """Move loop-invariant conditions out of loops; those that depend on threads of "thread_extent" attributes only with `of_threads`, as
    in the compiler, or if the option `support_block_scope_hoisting` of "tir.HoistIfThenElse" of the context asks for it.
    """
    is_asked = not of_threads and _options("tir.HoistIfThenElse", HoistOptions).support_block_scope_hoisting
    step = deep(on_loops(lambda func: hoist_conditions(func, of_threads or is_asked, is_asked)))
    return map_functions(mod, tir.PrimFunc, step)


@declare_pass("InjectDoubleBuffer")
def double_buffers(mod: IRModule, with_all: bool = True) -> IRModule:
    """Double the memory of a `double_buffer_scope` in a loop, also if the scope contains all statements of the loop, unless `with_all` is
    False, as in the compiler.
    """
    return map_functions(mod, tir.PrimFunc, deep(on_loops(lambda func: inject_double_buffers(func, with_all))))


@declare_pass("StorageRewrite")
def share_storage(mod: IRModule, with_all: bool = True) -> IRModule:
    """Share memory among allocations that are used one after another. Allocations move out of loops, up to the threads that use them, and
    share memory with others of other dtypes and sizes, or in place; memory that is only accessed by aligned vectors holds vectors. With `with_all` False, as in the compiler, only allocations side by
    side and of the same dtype do.
    """
    step: Step = (lambda func: use_vector_memory(plan_storage(func))) if with_all else rewrite_storage
    return map_functions(mod, tir.PrimFunc, deep(on_loops(step)))


@declare_pass("PointerValueTypeRewrite")
def point_to_vectors(mod: IRModule) -> IRModule:
    """Turn memory that is only accessed by aligned vectors into memory of vectors, parameters included, whose shapes change; single
    elements of it are lanes of a loaded vector.
    """
    step = deep(on_loops(lambda func: use_vector_memory(func, with_params=True, with_elements=True)))
    return map_functions(mod, tir.PrimFunc, step)


@declare_pass("UnrollLoop")
def unroll(mod: IRModule) -> IRModule:
    """Unroll loops of kind "unrolled". The option "tir.UnrollLoop" of the context may ask for other loops as well."""
    options = _options("tir.UnrollLoop", UnrollOptions) if "tir.UnrollLoop" in PassContext.current().config else None

    def step(func: tir.PrimFunc) -> tir.PrimFunc:
        return unroll_loops(func) if options is None else unroll_by_options(func, options)

    return map_functions(mod, tir.PrimFunc, deep(on_loops(step)))


@declare_pass("InstrumentProfileIntrinsics")
def instrument(mod: IRModule) -> IRModule:
    """Mark the beginning and the end of functions and loops for a profiler, by calls of `T.start_profile_intrinsic(n)` and
    `T.end_profile_intrinsic(n)`, without effect in compiled programs. By default these are loops beside other loops, except for innermost
    loops; the options "tir.instr_siblings", "tir.lwp_max_depth", "tir.lwp_min_height" and "tir.lwp_disable_func_prof" of the context
    choose others. Functions and loops are numbered in order.
    """
    config = PassContext.current().config
    names = {
        "tir.lwp_max_depth": "max_depth",
        "tir.lwp_min_height": "min_height",
        "tir.instr_siblings": "only_siblings",
    }
    given = {field: config[name] for name, field in names.items() if name in config}
    with_function = not config.get("tir.lwp_disable_func_prof", False)
    options, number = ProfileOptions(**given, with_function=with_function), 0

    def step(func: tir.PrimFunc) -> tir.PrimFunc:
        nonlocal number
        func, number = mark_loops(func, options, number)
        return func

    return map_functions(mod, tir.PrimFunc, deep(step))


_FIRST_WITH: dict[IsSmall, int] = {is_bfloat: 80, is_tiny: 89}
"""The first architectures of NVIDIA's GPUs with instructions for small floats: sm_80, sm_89."""


def _legalized(mod: IRModule, is_small: IsSmall, step: Step) -> IRModule:
    """Apply `step` to functions for targets that cannot compute with these floats."""

    def change(func: tir.PrimFunc) -> tir.PrimFunc:
        options = options_of(get_target(str(func.attrs.get("target") or Target.current() or "llvm")).text)
        digits = "".join(filter(str.isdigit, options.get("arch", "")))
        is_native = options["kind"] == "cuda" and digits and int(digits) >= _FIRST_WITH[is_small]
        return func if is_native else step(func)

    return map_functions(mod, tir.PrimFunc, deep(on_loops(change)))


@declare_pass("BF16ComputeLegalize")
def legalize_bfloat_arithmetic(mod: IRModule) -> IRModule:
    """Compute operations on bfloat16 in float32, also in memory that a function allocates, for targets without bfloat16. Each operation
    still rounds to bfloat16, except for reductions across threads.
    """
    return _legalized(mod, is_bfloat, lambda func: compute_in_wide_floats(func, is_bfloat, "float32"))


@declare_pass("BF16StorageLegalize")
def legalize_bfloat_memory(mod: IRModule) -> IRModule:
    """Keep bfloat16 as uint16 in memory, except for buffers that are parameters, for targets without bfloat16."""
    return _legalized(mod, is_bfloat, lambda func: store_as_integers(func, is_bfloat))


@declare_pass("FP8ComputeLegalize")
def legalize_tiny_arithmetic(mod: IRModule, promote_dtype: Literal["float16", "float32"] = "float32") -> IRModule:
    """Compute operations on 8-bit floats in `promote_dtype`, also in memory that a function allocates, for targets without 8-bit floats.
    Each operation still rounds to its own dtype, except for reductions across threads.
    """
    return _legalized(mod, is_tiny, lambda func: compute_in_wide_floats(func, is_tiny, promote_dtype))


@declare_pass("FP8StorageLegalize")
def legalize_tiny_memory(mod: IRModule) -> IRModule:
    """Keep 8-bit floats as uint8 in memory, except for buffers that are parameters, for targets without 8-bit floats."""
    return _legalized(mod, is_tiny, lambda func: store_as_integers(func, is_tiny))


WITH_OPTIONS = (
    "FlattenBuffer",
    "HoistIfThenElse",
    "InjectDoubleBuffer",
    "LoopPartition",
    "RemoveNoOp",
    "StorageRewrite",
    "UnrollLoop",
    "VectorizeLoop",
)
"""The passes of the lowering that are declared here."""
