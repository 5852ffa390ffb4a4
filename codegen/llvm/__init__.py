"""LLVM IR from lowered functions, and machine code from LLVM IR."""
