"""Pipelines: named sequences of passes (TVM: `relax.get_pipeline`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..diagnostics import error
from .transform import Pass, Sequential, get_pass

PIPELINES: dict[str, Sequence[str]] = {
    "zero": ("LegalizeOps", "AnnotateTIROpPattern", "FoldConstant", "FuseOps", "FuseTIR"),
    "default_build": (
        "Normalize", "CanonicalizeBindings", "EliminateCommonSubexpr", "FoldConstant", "DeadCodeElimination", "LegalizeOps",
        "AnnotateTIROpPattern", "FoldConstant", "FuseOps", "FuseTIR", "DeadCodeElimination", "AttachGlobalSymbol",
    ),
}  # fmt: skip
"""Passes of each pipeline, in order: `zero` legalizes and fuses; `default_build` also cleans up before and after."""

_registered: dict[str, Callable[..., Pass]] = {}


def get_pipeline(name: str = "zero") -> Pass:
    """Return the pipeline called `name` as one pass. Raises TvmsError E0903 if there is none."""
    if name in _registered:
        return _registered[name]()
    if name not in PIPELINES:
        known = ", ".join(pipelines())
        raise error("E0903", f"unknown pipeline '{name}'", help=f"pipelines are: {known}")
    return Sequential([get_pass(pipeline) for pipeline in PIPELINES[name]], name=name)


def get_default_pipeline(target: object = None) -> Pass:
    """Return the pipeline "default_build" for every target: schedules for it are chosen when the module is compiled."""
    del target
    return get_pipeline("default_build")


def pipelines() -> tuple[str, ...]:
    """Return the names of all pipelines."""
    return (*PIPELINES, *_registered)


def register_pipeline(name: str) -> Callable[[Callable[..., Pass]], Callable[..., Pass]]:
    """Register the decorated function as the constructor of pipeline `name`. Raises ValueError if the name is taken."""

    def register(function: Callable[..., Pass]) -> Callable[..., Pass]:
        if name in PIPELINES or name in _registered:
            raise ValueError(f"pipeline '{name}' is already registered")
        _registered[name] = function
        return function

    return register
