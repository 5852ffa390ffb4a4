"""Pipelines: named sequences of passes (TVM: `relax.get_pipeline`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from .. import hooks
from ..base import IRModule
from ..diagnostics import ArgumentValueError, Diagnostic, error
from .transform import Pass, PassContext, PassInfo, Sequential, get_pass

PIPELINES: dict[str, Sequence[str]] = {
    "zero": ("LegalizeOps", "AnnotateTIROpPattern", "FoldConstant", "FuseOps", "FuseTIR"),
    "default_build": (
        "Normalize", "CanonicalizeBindings", "EliminateCommonSubexpr", "FoldConstant", "DeadCodeElimination", "LegalizeOps",
        "AnnotateTIROpPattern", "FoldConstant", "FuseOps", "FuseTIR", "DeadCodeElimination", "AttachGlobalSymbol",
    ),
}  # fmt: skip
"""Passes of each pipeline, in order: `zero` legalizes and fuses; `default_build` also cleans up before and after."""

_STAGES: dict[str, Sequence[str]] = {
    "legalize": ("LegalizeOps", "AnnotateTIROpPattern", "FoldConstant", "FuseOps", "FuseTIR"),
    "dataflow_lower": ("RewriteDataflowReshape", "ToNonDataflow", "RemovePurityChecking", "CallTIRRewrite"),
    "finalize": (
        "StaticPlanBlockMemory", "LowerAllocTensor", "KillAfterLastUse", "LowerRuntimeBuiltin", "ComputePrimValue", "VMShapeLower",
        "AttachGlobalSymbol",
    ),
}  # fmt: skip
"""Passes of the stages that TVM's pipelines for a target consist of. Schedules are chosen by `tvms.compile`."""

FOREIGN_PROCESSORS = ("c", "hexagon")
"""Kinds of processors that TVM knows, and tvms does not compile for."""

_registered: dict[str, Callable[..., Pass]] = {}


def get_pipeline(name: str = "zero", **options: Any) -> Pass:
    """Return the pipeline called `name` as one pass, with the options that it takes. Raises TvmsError E0903 if there is none, E0902
    for wrong options.
    """
    if name not in PIPELINES and name not in _registered:
        known = ", ".join(pipelines())
        raise error("E0903", f"unknown pipeline '{name}'", help=f"pipelines are: {known}")
    construct = _registered[name] if name in _registered else _fixed(name)
    signature = inspect.signature(construct)
    try:
        signature.bind(**options)
    except TypeError as problem:
        help = f"its options are: {', '.join(signature.parameters)}" if signature.parameters else "it takes no options"
        raise error("E0902", f"pipeline '{name}': {problem}", help=help) from None
    return construct(**options)


def _fixed(name: str) -> Callable[[], Pass]:
    return lambda: Sequential([get_pass(pass_name) for pass_name in PIPELINES[name]], name=name)


def get_default_pipeline(target: object = None) -> Pass:
    """Return the pipeline "default_build" for every target: schedules for it are chosen when the module is compiled.

    Raises TvmsError E0601, also a ValueError, for a target such as "hexagon" that has no pipeline.
    """
    _check(target)
    return get_pipeline("default_build")


def library_dispatch_passes(target: object) -> list[Pass]:
    """Return the passes that choose library functions for `target`: none, because `tvms.compile` chooses them."""
    _check(target)
    return []


def legalize_passes(target: object) -> list[Pass]:
    """Return the passes that turn operators into fused loop functions, the same ones for every target."""
    _check(target)
    return _stage("legalize")


def dataflow_lower_passes(target: object) -> list[Pass]:
    """Return the passes from dataflow blocks to calls that write their results into tensors, the same ones for every target."""
    _check(target)
    return _stage("dataflow_lower")


def finalize_passes(target: object) -> list[Pass]:
    """Return the passes that plan memory and shapes for the virtual machine, the same ones for every target."""
    _check(target)
    return _stage("finalize")


def _check(target: object) -> None:
    """Raise TvmsError E0601 for a kind of processor that no pipeline is for."""
    kind = str(target).partition(" ")[0]
    if kind in FOREIGN_PROCESSORS:
        problem = f"pipelines for the target '{kind}' are not yet supported"
        raise ArgumentValueError(Diagnostic("E0601", problem, None, help="use llvm or cuda"))


def _stage(name: str) -> list[Pass]:
    return [get_pass(pass_name) for pass_name in _STAGES[name]]


def pipelines() -> tuple[str, ...]:
    """Return the names of all pipelines."""
    return (*PIPELINES, *_registered)


def static_shape_tuning_pipeline(
    total_trials: int, target: object, work_dir: str = "tuning_logs", cpu_weight_prepack: bool = False
) -> Pass:
    """Return a pass that legalizes and fuses a module, tunes its loop functions in `total_trials` trials, and applies the best
    schedules of the database in `work_dir` (TVM: `relax.pipeline.static_shape_tuning_pipeline`).

    With no trials, only schedules that the database has are applied. With `cpu_weight_prepack`, weights are rearranged by the function
    "main_transform_params", whose results are then arguments of "main".
    """
    before = ("DecomposeOpsForInference", "CanonicalizeBindings", *PIPELINES["zero"])
    before += ("AttachAttrLayoutFreeBuffers",) if cpu_weight_prepack else ()
    after = ("SplitLayoutRewritePreproc", "LiftTransformParams", "FoldConstant") if cpu_weight_prepack else ()
    tuned = [get_pass("MetaScheduleTuneIRMod", {}, work_dir, total_trials)] if total_trials > 0 else []
    applied = get_pass("MetaScheduleApplyDatabase", work_dir)
    return _ForTarget(Sequential([*map(get_pass, before), *tuned, applied, *map(get_pass, after)]), target)


class _ForTarget(Pass):
    """Runs a pass with `target` as the current target."""

    def __init__(self, inner: Pass, target: object) -> None:
        super().__init__(PassInfo("static_shape_tuning", 0))
        self._inner, self._target = inner, target

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        with hooks.call("target", self._target):
            return self._inner(mod)


_registered["static_shape_tuning"] = static_shape_tuning_pipeline


def register_pipeline(name: str) -> Callable[[Callable[..., Pass]], Callable[..., Pass]]:
    """Register the decorated function as the constructor of pipeline `name`. Raises ValueError if the name is taken."""

    def register(function: Callable[..., Pass]) -> Callable[..., Pass]:
        if name in PIPELINES or name in _registered:
            raise ValueError(f"pipeline '{name}' is already registered")
        _registered[name] = function
        return function

    return register
