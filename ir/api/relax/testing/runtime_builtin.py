"""Codes of the functions that match and make shapes at run time (TVM: `relax.testing.runtime_builtin`)."""

from enum import IntEnum


class MatchShapeCode(IntEnum):
    """What to do with a dimension: compare it with a number or a known size, store it, or nothing."""

    ASSERT_EQUAL_TO_IMM = 0
    STORE_TO_HEAP = 1
    NO_OP = 2
    ASSERT_EQUAL_TO_LOAD = 3


class MakeShapeCode(IntEnum):
    """Where a dimension comes from: a number, or a known size."""

    USE_IMM = 0
    LOAD_SHAPE = 1
