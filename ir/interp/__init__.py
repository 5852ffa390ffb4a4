"""The reference interpreter: the living definition of what programs mean. Slow, obvious, in NumPy.

Every other way of running a program is tested against it. Integers wrap around, floats are computed in their own
dtype, memory that nobody wrote holds poison, and what goes wrong says where.

    run(module, "main", [x, w])         a function of a module
    call_prim_func(func, [a, b, c])     one loop-level function, with c written in place
"""

from __future__ import annotations

from .prim_func import call_prim_func

__all__ = ["call_prim_func"]
