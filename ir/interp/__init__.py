"""The reference interpreter, in NumPy: the definition of what programs compute. Simple rather than fast.

All other executors are tested against it. Integers wrap around, floats are computed in their own dtype, uninitialized
memory holds poison, and faults are reported with their position.

    run(module, "main", [x, w])         a function of a module
    call_prim_func(func, [a, b, c])     one loop function, with c written in place

Modules: values (`scalars`, `memory`, `struct_info`), the loop level (`expressions`, `intrinsics`, `calls`,
`buffers`, `statements`, `threads`, `matrix_units`), the graph level (`graph`, `graph_calls`), calls (`arguments`,
`prim_func`, `entry`), and observation of a run (`observer`, `trap`).
"""

from __future__ import annotations

from . import calls as _calls  # imported to register the evaluators of calls
from . import graph_calls as _graph_calls
from . import matrix_units as _matrix_units
from .entry import run
from .frame import Observer
from .observer import Recorder
from .prim_func import call_prim_func
from .trap import Trap

__all__ = ["Observer", "Recorder", "Trap", "call_prim_func", "run"]
_ = _calls, _graph_calls, _matrix_units
