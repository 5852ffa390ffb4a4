"""The fast tier of the interpreter: iterations of independent loops run in lockstep, as lanes of NumPy arrays.

The statements of this room mean what `ir.interp.statements` says; nothing is defined here. A loop nest runs once for
all of its lanes, statement by statement, and each access to memory that the nest writes is checked: if two lanes touch
one element, and one of them writes it, their order matters. Then, and wherever something goes wrong (an index outside
its buffer, a division by zero, an unwritten element), the nest restores the memory that it changed, and the obvious
tier runs those iterations. So the fast tier never decides what a program does.

- `arithmetic`: operations on lanes, equal bit for bit to those of `ir.interp.scalars`;
- `state`: the lanes of a nest, who touched which element, and how to undo stores;
- `views`, `expressions`, `accesses`, `statements`, `blocks`: what programs consist of, for lanes;
- `support`: which loops can run this way; `tier`: entering and leaving it.
"""

from __future__ import annotations
