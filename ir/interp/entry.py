"""Where a run starts: a function of a module, its arguments, and the world it runs in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..backend.external import external_functions
from ..base import BaseFunc, IRModule
from ..deep import deep
from ..programs import as_module
from ..tir import PrimFunc
from .frame import ThreadOrder, Tier, World
from .graph import module_function
from .observer import Observer
from .scalars import Value


@deep
def run(
    module: IRModule | BaseFunc,
    entry: str,
    args: Sequence[Any],
    *,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    seed: int = 0,
    track: bool = False,
    thread_order: ThreadOrder = "ascending",
    observer: Observer | None = None,
    tier: Tier = "auto",
    execute: Callable[[PrimFunc, Sequence[Any]], bool] | None = None,
    report: Callable[[str], None] | None = None,
) -> Value:
    """Call function `entry` of `module`; a function by itself is called by any name.

    Tensors and buffers are NumPy arrays of the declared dtype and shape, shapes and tuples are tuples. A graph
    function returns its value; a loop-level function writes its arrays in place and returns what `T.ret` gives.

    `functions` are external functions by name, beside those of `tvms.register_func`; those of `call_dps_packed` get their results' memory last.
    `seed` decides what uninitialised memory holds. With `track` a read of what was never written is an error.
    `thread_order` is that of parallel iterations, and of threads between barriers: what a program does must not depend
    on it. `observer` is told every statement and every access; `Trap()` stops at those that a block does not declare.
    `tier` says whether loops run in lockstep where it pays ("auto"), never ("obvious"), or wherever they can ("lanes");
    what a program does is the same. `execute` is offered each call of a loop-level function, and says whether it ran it; `report` is told
    how far a run is.

    Raises TvmsError: E0102 where there is no such function, E0701 to E0706 where an argument does not fit, E0707 to
    E0716 where the program goes wrong.
    """
    module = as_module(module, entry)
    external = external_functions(module)
    world = World(
        module,
        {**external, **(functions or {})},
        np.random.default_rng(seed),
        track,
        thread_order,
        tier,
        execute,
        report,
        observer,
    )
    return module_function(world, entry)(*args)
