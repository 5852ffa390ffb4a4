"""Registry of the patterns of libraries."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from ..passes.fuse_by_pattern import FusionPattern, Given

_patterns: dict[str, FusionPattern] = {}


def register_patterns(patterns: Iterable[Given]) -> None:
    """Register patterns: each is a `FusionPattern` or the tuple of its fields (TVM: `register_patterns`).

    Patterns registered later are tried first.
    """
    for given in patterns:
        pattern = given if isinstance(given, FusionPattern) else FusionPattern(*given)
        _patterns.pop(pattern.name, None)
        _patterns[pattern.name] = pattern


@cache
def _load_own() -> None:
    """Register the patterns of the built-in libraries."""
    from . import blas

    register_patterns(blas.patterns("cublas"))
    register_patterns(blas.patterns("openblas"))


def get_pattern(name: str) -> FusionPattern | None:
    """Return the pattern called `name`, such as `cublas.matmul_bias_relu`, or None."""
    _load_own()
    return _patterns.get(name)


def get_patterns_with_prefix(prefix: str) -> list[FusionPattern]:
    """Return the patterns whose names start with `prefix`, those with the highest priority first."""
    _load_own()
    return [pattern for name, pattern in reversed(_patterns.items()) if name.startswith(prefix)]
