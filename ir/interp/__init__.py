"""The reference interpreter, in NumPy: the definition of what programs compute. Simple rather than fast.

All other executors are tested against it. Integers wrap around, floats are computed in their own dtype, uninitialized
memory holds poison, and faults are reported with their position.

    run(module, "main", [x, w])         a function of a module
    call_prim_func(func, [a, b, c])     one loop function, with c written in place

Modules: values (`scalars`, `memory`, `struct_info`), the loop level (`expressions`, `intrinsics`, `calls`,
`buffers`, `statements`, `threads`, `exchanges`, `matrix_units`, `warpgroups`, `tensor_memory`), the graph level (`graph`, `graph_calls`), calls (`arguments`,
`prim_func`, `entry`), and observation of a run (`observer`, `trap`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import hooks
from ..base import BaseFunc, IRModule
from ..deep import deep
from ..programs import as_module
from ..tir import PrimFunc
from ..verify import check_types
from . import addresses as _addresses  # imported to register the evaluators of calls
from . import calls as _calls
from . import clusters as _clusters
from . import exchanges as _exchanges
from . import graph_calls as _graph_calls
from . import matrix_units as _matrix_units
from . import tensor_copies as _tensor_copies
from . import tensor_memory as _tensor_memory
from . import warpgroups as _warpgroups
from .frame import Observer, ThreadOrder, Tier, World
from .graph import module_function
from .observer import Recorder
from .prim_func import call_prim_func
from .scalars import Value
from .trap import Trap

__all__ = ["Observer", "Recorder", "Trap", "call_prim_func", "run"]
_ = _addresses, _calls, _clusters, _exchanges, _graph_calls, _matrix_units, _tensor_copies, _tensor_memory, _warpgroups


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
    """Call function `entry` of `module`; for a single function, the name does not matter.

    Tensors and buffers are NumPy arrays of the declared dtype and shape, shapes and tuples are tuples. A graph
    function returns its value; a loop function writes its arrays in place and returns the value of `T.ret`.

    `functions` are external functions by name, in addition to those of `tvms.register_func`; for `call_dps_packed`, the
    outputs are their last arguments. `seed` determines the contents of uninitialized memory. With `track`, a read of
    uninitialized memory is an error. `thread_order` is the order of parallel iterations, and of threads between barriers;
    results must not depend on it. `observer` is called for every statement and every access; `Trap()` stops at accesses
    that a block does not declare. `tier` selects lockstep execution of loops: where it pays ("auto"), never ("obvious"), or
    wherever possible ("lanes"); results are the same. `execute` is offered each call of a loop function, and returns
    whether it executed it; `report` is called with messages about progress.

    Raises TvmsError: the errors of `verify` at level "types", E0102 if there is no such function, E0701 to E0706 if an
    argument does not fit, E0707 to E0716 if the program faults.
    """
    module = check_types(as_module(module, entry))
    external = hooks.call("external_functions", module)
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
