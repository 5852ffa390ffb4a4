"""Loop-level functions that keep the law of the IR, and whose runs stay inside their buffers."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from ...ir import tir
from .choices import Choices
from .kernels import Kernel
from .stages import STAGES

MAX_STAGES = 3


@st.composite
def prim_funcs(
    draw: st.DrawFn,
    stages: Sequence[str] = tuple(STAGES),
    max_stages: int = MAX_STAGES,
    symbolic: bool | None = None,
    name: str = "main",
) -> tir.PrimFunc:
    """Functions of one to `max_stages` stages, of the kinds in `stages` (`STAGES` has all).

    `symbolic` says whether sizes may be known only at the call; None means sometimes. They verify, they can be
    interpreted, and they shrink to one stage with few loops.
    """
    return prim_func(Choices(draw), stages, max_stages, symbolic, name)


def prim_func(
    choose: Choices, stages: Sequence[str], max_stages: int, symbolic: bool | None, name: str
) -> tir.PrimFunc:
    """As `prim_funcs`, by the choices of a larger example."""
    kernel = Kernel(choose, choose.rarely(4) if symbolic is None else symbolic)
    count = choose.number(1, max_stages)
    parts = [STAGES[choose.pick(stages)](kernel, place == count - 1) for place in range(count)]
    attrs: dict[str, object] = {"global_symbol": name}
    if choose.rarely():
        attrs["tir.noalias"] = True
    return kernel.function(parts, attrs)
