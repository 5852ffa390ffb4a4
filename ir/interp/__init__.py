"""The reference interpreter: the living definition of what programs mean. Slow, obvious, in NumPy.

Every other way of running a program is tested against it. Integers wrap around, floats are computed in their own
dtype, memory that nobody wrote holds poison, and what goes wrong says where.

    run(module, "main", [x, w])         a function of a module
    call_prim_func(func, [a, b, c])     one loop-level function, with c written in place

The rooms: values (`scalars`, `memory`, `struct_info`), the loop level (`expressions`, `intrinsics`, `calls`,
`buffers`, `statements`, `threads`, `matrix_units`), the graph level (`graph`, `graph_calls`), calls (`arguments`, `prim_func`,
`entry`), and what watches a run (`observer`, `trap`).
"""

from __future__ import annotations

from . import calls as _calls  # these register the meaning of calls
from . import graph_calls as _graph_calls
from . import matrix_units as _matrix_units
from .entry import run
from .observer import Observer, Recorder
from .prim_func import call_prim_func
from .trap import Trap

__all__ = ["Observer", "Recorder", "Trap", "call_prim_func", "run"]
_ = _calls, _graph_calls, _matrix_units
