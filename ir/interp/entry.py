"""Where a run starts: a function of a module, its arguments, and the world it runs in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..base import IRModule
from ..deep import deep
from .frame import World
from .graph import module_function
from .scalars import Value


@deep
def run(
    module: IRModule,
    entry: str,
    args: Sequence[Any],
    *,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    seed: int = 0,
    track: bool = False,
    shuffle: bool = False,
) -> Value:
    """Call function `entry` of `module`.

    Tensors and buffers are NumPy arrays of the declared dtype and shape, shapes and tuples are tuples. A graph
    function returns its value; a loop-level function writes its arrays in place and returns what `T.ret` gives.

    `functions` are external functions by name, beside those of `tvms.register_func`; those of `call_dps_packed` get their results' memory last.
    `seed` decides what uninitialised memory holds. With `track` a read of what was never written is an error; with
    `shuffle` the threads of a block take turns in random order.

    Raises TvmsError: E0102 where there is no such function, E0701 to E0706 where an argument does not fit, E0707 to
    E0716 where the program goes wrong.
    """
    world = World(module, dict(functions or {}), np.random.default_rng(seed), track, shuffle)
    return module_function(world, entry)(*args)
