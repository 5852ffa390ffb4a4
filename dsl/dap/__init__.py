"""The debug adapter: `tvms.dsl.debugger` for editors, by the Debug Adapter Protocol.

Modules: `messages` (framing), `adapter` (requests and events), `control` (running and stopping), `points` (breakpoints),
`inspection` (stack, variables, expressions, buffers).
"""
