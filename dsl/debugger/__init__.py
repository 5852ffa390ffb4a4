"""The debugger: a function runs in the interpreter, and stops at its statements and bindings.

`Session` is the engine below the command `tvms debug` and the debug adapter `tvms dap`: both give it motions and
breakpoints, and read its events. It knows nothing of terminals and protocols.

Modules: `places` (the statements of a program, and the names that each sees), `timeline` (the steps and writes of a run, so
that it can be shown backwards), `motions`, `breakpoints`, `session` (the run), `expressions` (values in the scope of a
step), `values` (values as text), `tables` (buffers as tables and heat maps), `stack` (the functions and blocks that are
active).
"""
