"""What generated functions do, one stage after the other. A stage computes one buffer from those before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ....ir import tir
from ..kernels import Kernel
from .chains import padded, relay, rewritten, stream, tiled, together, windowed
from .disordered import disordered
from .pointwise import elementwise, formulas, guarded, update
from .recurrences import scan, wavefront
from .reductions import matmul, reduction, tiles, triangle
from .regions import nested, staged
from .vectors import counted

Stage: TypeAlias = Callable[[Kernel, bool], tir.Stmt]
"""Makes the loops of a stage; the flag says that it is the last one, which writes a parameter."""

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
    "relay": relay,
    "stream": stream,
    "together": together,
    "rewritten": rewritten,
    "padded": padded,
    "windowed": windowed,
    "tiled": tiled,
    "tiles": tiles,
}
"""By the name under which a run counts them."""
DISORDERED: dict[str, Stage] = {"disordered": disordered}
"""Those that break the law of order, as often as not: they are drawn only where they are named."""
WEIGHTS = {"elementwise": 4, "reduction": 2, "update": 2}
"""How often a stage is drawn, where that is not once."""
BLOCKS = {"nested": 2, "relay": 2, "together": 2, "rewritten": 2, "windowed": 2, "stream": 2, "tiled": 2}
"""How many blocks a stage has at least, where that is more than one."""
SIZES = {"padded": 3, "windowed": 3, "tiled": 14}
"""The size of the greatest dimension that a stage has at least."""
ALWAYS: dict[str, tuple[str, ...]] = {
    "reduction": ("reduction",), "matmul": ("reduction",), "scan": ("scan", "dependence"), "wavefront": ("scan", "dependence"),
    "update": ("in place",), "triangle": ("computed extent",), "nested": ("nested blocks",),
    "together": ("shared loop",), "rewritten": ("rewritten",), "windowed": ("reduction",),
    "tiled": ("shared loop", "reduction", "split axis"), "tiles": ("reduction",),
    "staged": ("own memory", "matched region"), "counted": ("while", "vector", "gather"),
}  # fmt: skip
"""The features that a stage always has."""
