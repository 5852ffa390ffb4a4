"""The laws that `tvms fuzz` checks, by name, without what checks them: that needs Hypothesis."""

from __future__ import annotations

LAWS = {
    "parse": "any text is a program that prints, or has errors that say what is wrong, where, and what to do",
    "locate": "a mistake in a text is told exactly where it stands, and with the code that it has",
    "format": "the formatter changes no program, loses no comment, and leaves what it made as it is",
    "simplify": "a simplified expression has the value that it had, and is in normal form",
    "roundtrip": "what is printed reads back as the same program, in every dialect, and prints the same again",
    "bounds": "no valid program touches what it does not declare; an index pushed out of its buffer is always caught",
    "verify": "the verifier accepts what is right, and says what is wrong where something was broken",
    "order": "what the verifier accepts computes the same in any order of its block instances, and by default schedules",
    "schedule": "a chain of schedule primitives never changes what a program does, and replays from its text",
    "codegen": "what is compiled does what the interpreter does: not optimised, optimised, and scheduled",
    "traps": "what is compiled stops at an index that was pushed out of its buffer, and says where",
    "tiers": "the interpreter's fast tier does what its definition does, bit for bit, faults included",
    "memory": "every access lies in its allocation, or is a fault: the same one, interpreted and compiled",
    "graph": "a compiled graph does what the interpreter does",
    "passes": "no chain of passes changes what a graph computes; what they make keeps the law, and reads back",
    "each_pass": "no pass by itself, and no step of a pipeline, changes what a graph computes",
    "gradient": "the gradients of a function are those that finite differences find",
    "cost": "the work of every command grows at most like n**1.2 with its text, whatever is repeated, nested or doubled",
    "artifacts": "no damaged or forged file of machine code crashes, or runs code that is not that of its program",
    "output": "whatever characters a program holds, no terminal, picture, report or symbol obeys them",
    "floats": "NaN, infinities, zeros, denormals and ties mean the same in every executor, and in NumPy",
    "gpu": "threads simulated on the processor, in any order, do what the interpreter does",
}
"""The laws by name, in one line."""
