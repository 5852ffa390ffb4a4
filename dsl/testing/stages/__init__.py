"""The stages of generated functions. Each stage computes one buffer from those of earlier stages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ....ir import tir
from ..kernels import Kernel
from .chains import padded, relay, rewritten, stream, tiled, together, windowed
from .disordered import disordered
from .pipelines import pipelined
from .pointwise import elementwise, formulas, guarded, update
from .recurrences import scan, wavefront
from .reductions import argmax, biased, matmul, quotients, reduction, tiles, triangle
from .regions import nested, staged
from .statements import statements
from .vectors import counted

Stage: TypeAlias = Callable[[Kernel, bool], tir.Stmt]
"""Function that makes the loops of a stage. The flag marks the last stage, which writes a parameter."""

STAGES: dict[str, Stage] = {
    "elementwise": elementwise,
    "formulas": formulas,
    "reduction": reduction,
    "guarded": guarded,
    "matmul": matmul,
    "scan": scan,
    "wavefront": wavefront,
    "update": update,
    "triangle": triangle,
    "nested": nested,
    "staged": staged,
    "counted": counted,
    "statements": statements,
    "relay": relay,
    "stream": stream,
    "together": together,
    "pipelined": pipelined,
    "rewritten": rewritten,
    "padded": padded,
    "windowed": windowed,
    "tiled": tiled,
    "tiles": tiles,
    "argmax": argmax,
    "quotients": quotients,
    "biased": biased,
}
"""Stages by the names under which a run counts them."""
DISORDERED: dict[str, Stage] = {"disordered": disordered}
"""Stages that often violate the law of order. They are drawn only if they are named."""
WEIGHTS = {"elementwise": 4, "reduction": 2, "update": 2, "statements": 3, "wavefront": 3}
"""Weight of a stage, 1 by default."""
BLOCKS = {
    "nested": 2,
    "relay": 2,
    "together": 2,
    "pipelined": 2,
    "rewritten": 2,
    "windowed": 2,
    "stream": 2,
    "tiled": 2,
    "quotients": 2,
    "biased": 2,
}
"""Minimum number of blocks of a stage, 1 by default."""
SIZES = {"padded": 3, "windowed": 3, "tiled": 14}
"""Minimum size of the largest dimension of a stage."""
ALWAYS: dict[str, tuple[str, ...]] = {
    "reduction": ("reduction",), "matmul": ("reduction",), "scan": ("scan", "dependence"), "wavefront": ("scan", "dependence"),
    "update": ("in place",), "triangle": ("computed extent",), "nested": ("nested blocks",),
    "together": ("shared loop",), "pipelined": ("software pipeline",), "rewritten": ("rewritten",), "windowed": ("reduction",),
    "tiled": ("shared loop", "reduction", "split axis"), "tiles": ("reduction",),
    "argmax": ("reduction", "first extremum", "outputs", "init of several", "variables", "let in reduction"),
    "quotients": ("reduction", "divisor"), "biased": ("reduction",),
    "staged": ("own memory", "matched region"), "counted": ("while", "vector", "gather"),
}  # fmt: skip
"""Features that a stage always has."""
OFTEN: dict[str, tuple[str, ...]] = {
    "pipelined": ("shared loop",),
    "statements": (
        "branch", "variables", "late loop", "extent 0", "extent 1", "computed extent", "unrolled loop", "vectorized loop",
    ),
}  # fmt: skip
"""Features that a stage may have, and that it has no way to avoid."""
