"""Passes that belong together, by name (TVM: `relax.get_pipeline`)."""

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
"""The passes of each pipeline, in order: `zero` fuses what legalisation gives; `default_build` cleans up around it."""

_registered: dict[str, Callable[..., Pass]] = {}


def get_pipeline(name: str = "zero") -> Pass:
    """Return the pipeline called `name` as one pass; TvmsError E0903 where there is none."""
    if name in _registered:
        return _registered[name]()
    if name not in PIPELINES:
        known = ", ".join(pipelines())
        raise error("E0903", f"there is no pipeline '{name}'", help=f"pipelines are: {known}")
    return Sequential([get_pass(each) for each in PIPELINES[name]], name=name)


def pipelines() -> tuple[str, ...]:
    """Return the names of all pipelines."""
    return (*PIPELINES, *_registered)


def register_pipeline(name: str) -> Callable[[Callable[..., Pass]], Callable[..., Pass]]:
    """Let the decorated function make the pipeline `name`; ValueError where the name is taken."""

    def register(function: Callable[..., Pass]) -> Callable[..., Pass]:
        if name in PIPELINES or name in _registered:
            raise ValueError(f"a pipeline '{name}' is registered already")
        _registered[name] = function
        return function

    return register
