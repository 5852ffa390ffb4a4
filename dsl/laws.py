"""Names of the laws that `tvms fuzz` checks; `dsl.testing.laws` has their definitions, which need Hypothesis."""

from __future__ import annotations

LAWS = {
    "parse": "any text parses to a program that prints, or has errors with a reason, a position and a remedy",
    "locate": "an error in a text is reported at its exact position and with the right code",
    "arguments": "every argument of a form or an operator counts: another value gives another program, or an error",
    "format": "the formatter changes no program, loses no comment, and does not change formatted text",
    "hosts": "formatted, converted and migrated in place, programs, notebooks and pages change in their definitions only",
    "simplify": "a simplified expression has the same value, a simplified function computes the same, and both are in normal form",
    "analysis": "bounds, remainders and maps of iterators that an analysis finds hold at every point",
    "texts": "operators on texts and sequences have their defining properties",
    "merge": "a merge has the edits of both sides, and conflicts only where both touch one statement",
    "roundtrip": "a printed program reads back as the same program, in every dialect, and prints the same again",
    "bounds": "no valid program accesses what it does not declare; an index moved out of its buffer is always caught",
    "verify": "the verifier accepts valid programs, and reports the right error in broken ones",
    "order": "a verified program computes the same in any order of its block instances, and by default schedules",
    "schedule": "a chain of schedule primitives never changes what a program computes, and replays from its text",
    "codegen": "compiled code computes what the interpreter does: unoptimized, optimized, and scheduled",
    "lowering": "no step of the lowering, and no pass on loops, changes what a function computes",
    "variations": "a random change of a program that somebody wrote prints, runs, compiles and lowers like any other",
    "recipes": "a default schedule replays from its text to the function that is compiled, and its knobs keep it correct",
    "traps": "compiled code stops at an index that was moved out of its buffer, and reports where",
    "debugger": "a run under the debugger computes the same, and its record goes back and forth exactly",
    "tiers": "the interpreter's fast tier agrees with its definition bit for bit, faults included",
    "memory": "every access lies in its allocation, or is the same fault in the interpreter and in compiled code",
    "graph": "a graph computes what its operators define, as loops of each operator and compiled",
    "passes": "no chain of passes changes what a graph computes; its results are valid and read back",
    "each_pass": "no single pass, before or after the graph is legalized, and no step of a pipeline changes what a graph computes",
    "gradient": "the gradients of a function agree with finite differences",
    "cost": "the work of every command grows at most like n**1.2 with its text, for every construct of the language",
    "artifacts": "no damaged or forged file of machine code crashes, or runs code other than its program's",
    "output": "whichever characters a program contains, no terminal, picture, report or symbol interprets them",
    "floats": "NaN, infinities, zeros, denormals and ties mean the same in every executor, and in NumPy",
    "gpu": "GPU threads simulated on the CPU, in any order, compute what the interpreter does",
}
"""Description of each law, in one line."""
