"""The kinds of buffers, axes and loops (TVM: `BufferType`, `IterVarType`, `ForKind`)."""

from enum import Enum


class BufferType(Enum):
    DEFAULT = "default"
    AUTO_BROADCAST = "auto_broadcast"


class IterVarType(Enum):
    """The kind of an axis, which limits what may be done with its iterations (TVM: `IterVarType`)."""

    DATA_PAR = "spatial"
    COMM_REDUCE = "reduce"
    ORDERED = "scan"
    OPAQUE = "opaque"
    THREAD_INDEX = "thread"
    UNROLLED = "unrolled"
    VECTORIZED = "vectorized"
    PARALLELIZED = "parallelized"
    TENSORIZED = "tensorized"


class ForKind(Enum):
    SERIAL = "serial"
    PARALLEL = "parallel"
    VECTORIZED = "vectorized"
    UNROLLED = "unroll"
    THREAD_BINDING = "thread_binding"
