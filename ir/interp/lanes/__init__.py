"""The fast tier of the interpreter: iterations of independent loops run in lockstep, as lanes of NumPy arrays.

This package only executes statements as `ir.interp.statements` defines them. A loop nest runs once for all of its
lanes, statement by statement, and each access to memory that the nest writes is checked: if two lanes access one
element, and one of them writes it, their order matters. In that case, and on any fault (an index outside its buffer, a
division by zero, an uninitialized element), the nest restores the memory that it changed, and the obvious tier runs
those iterations. So the fast tier never determines the result of a program.

- `arithmetic`: operations on lanes, equal bit for bit to those of `ir.interp.scalars`;
- `state`: the lanes of a nest, the accesses of each lane, and how to undo stores;
- `views`, `expressions`, `accesses`, `statements`, `blocks`: the parts of programs, for lanes;
- `support`: which loops can run this way; `tier`: entering and leaving it.
"""

from __future__ import annotations
