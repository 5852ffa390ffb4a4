"""The law of intrinsics: the arguments and the dtype of a call match its row in `ir.ops.tir`.

E0105: the wrong number of arguments · E0405: a result whose dtype does not follow from them · E0442: an intrinsic that
LLVM does not have · E0443: an argument of the wrong kind, or with a value that the intrinsic does not support.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .. import tir
from ..base import Node, Op
from ..codes import CODES
from ..diagnostics import count
from ..dtype import MAX_LANES, int_range, is_vector, lanes_of, parse_dtype, with_lanes
from ..ops.llvm_intrinsics import is_llvm_intrinsic, nearest_llvm_intrinsic
from ..ops.tir import get, result_dtype
from ..ops.tir_kinds import KINDS, described, is_dtype_argument
from ..ops.tir_table import ARGUMENT_RULES, Intrinsic, IntrinsicParameter
from ..signature import BadArguments
from .report import Report
from .subject import Subject


def check_intrinsics(subject: Subject) -> None:
    """Check the calls of intrinsics, shuffles and vectors of a function."""
    taken: set[int] = set()
    annotations: list[tir.Call] = []
    for call in subject.of_kinds(tir.Call):
        assert isinstance(call, tir.Call)
        row = get(call.op.name) if isinstance(call.op, Op) else None
        if row is not None:
            taken.update(id(arg) for arg in call.args if is_dtype_argument(arg))
            annotations += [call] if is_dtype_argument(call) else []
            _check_call(row, call, subject.report)
    for call in annotations:
        if id(call) not in taken:
            help = "pass it to an intrinsic that takes a dtype, such as T.tvm_access_ptr"
            subject.report.add(
                "E0443", "T.type_annotation is an argument of an intrinsic, and has no value", call, help
            )
    for shuffle in subject.of_kinds(tir.Shuffle):
        assert isinstance(shuffle, tir.Shuffle)
        _check_shuffle(shuffle, subject.report)


def _check_call(row: Intrinsic, call: tir.Call, report: Report) -> None:
    try:
        row.signature.bind(f"T.{row.script}", call.args)
    except BadArguments as wrong:
        report.add(wrong.code, wrong.message, call, wrong.help)
        return
    for place, argument in enumerate(call.args):
        parameter = row.parameters[min(place, len(row.parameters) - 1)]
        found = _mismatch(row, call, parameter, argument)
        if found is not None:
            what, help = found
            message = f"T.{row.script} takes {what} as '{parameter.name}', not {described(argument)}"
            near = argument if argument.span is not None else call
            report.add("E0443", message, near, help or None)
            return
    _check_result(row, call, report)


def _mismatch(row: Intrinsic, call: tir.Call, parameter: IntrinsicParameter, argument: Node) -> tuple[str, str] | None:
    """Return the expected kind and a remedy if `argument` does not match `parameter`."""
    kind = KINDS.get(parameter.kind)
    if kind is None:
        places = [item.name for item in row.parameters]
        like = call.args[places.index(parameter.kind)]
        wanted = like.dtype if isinstance(like, tir.PrimExpr) else ""
        is_like = KINDS["value"].holds(argument) and isinstance(argument, tir.PrimExpr) and argument.dtype == wanted
        return (
            None
            if is_like
            else (f"{wanted}, the dtype of '{parameter.kind}',", f'convert it, as in T.Cast("{wanted}", …)')
        )
    if not kind.holds(argument):
        return kind.what, kind.help
    if kind.is_lanewise and isinstance(argument, tir.PrimExpr):
        given, result = parse_dtype(argument.dtype), parse_dtype(call.dtype)
        if given.is_vector and (given.lanes, given.scalable) != (result.lanes, result.scalable):
            return f"{count(result.lanes, 'lane')} or a scalar", "give all vectors the lanes of the result"
    return None


def _check_result(row: Intrinsic, call: tir.Call, report: Report) -> None:
    """Check the dtype of a call against its arguments, and the requirements of its intrinsic."""
    wanted = result_dtype(row, call.args)
    is_used = row.dtype in ARGUMENT_RULES or row.effect in ("pure", "special")
    if wanted is not None and call.dtype != wanted and (is_used or call.dtype not in _UNUSED):
        report.add("E0405", f"T.{row.script} gives {wanted} here, not {call.dtype}", call)
        return
    if row.script.startswith(("ptx", "mma")) and row.dtype == "first" and parse_dtype(call.dtype).code not in _NUMBERS:
        message = f"T.{row.script} takes the dtype of numbers in memory, not {call.dtype}"
        report.add("E0443", message, call, "give the dtype of the elements")
        return
    for message, help in _OWN.get(row.script, _nothing)(call):
        code = "E0442" if row.script.startswith("call_llvm") else "E0443"
        report.add(code, message, call, help)


_UNUSED = ("void", "int32", "handle")
"""Dtypes in texts of calls that are made for their side effects."""
_NUMBERS = ("int", "uint", "float", "bfloat", "bool")


# --- What single intrinsics ask for ---------------------------------------------------------------------------


_Complaints = Iterator[tuple[str, str | None]]


def _nothing(call: tir.Call) -> _Complaints:
    return iter(())


def _dtypes(call: tir.Call) -> list[str]:
    return [arg.dtype for arg in call.args if isinstance(arg, tir.PrimExpr)]


def _bits(dtype: str) -> int:
    parsed = parse_dtype(dtype)
    return parsed.bits * parsed.lanes


_MOST_LLVM_INTRINSICS = 1 << 16
"""More than any version of LLVM has."""


def _llvm_name(call: tir.Call) -> _Complaints:
    """Check a name; a number is an intrinsic ID of an unknown version of LLVM, of which only the range is checked."""
    match call.args:
        case (tir.IntImm(value=number), *_) if not 0 < number < _MOST_LLVM_INTRINSICS:
            yield f"LLVM has no intrinsic number {number}", "write its name, such as llvm.fma.f32"
        case (tir.FloatImm() as value, *_):
            yield f"an intrinsic of LLVM is a name, not {value}", "write its name, such as llvm.fma.f32"
        case (tir.StringImm(value=name), *_) if not is_llvm_intrinsic(name):
            nearest = nearest_llvm_intrinsic(name)
            help = f"did you mean '{nearest}'?" if nearest else "write a name of LLVM's, such as llvm.fma.f32"
            yield f"LLVM has no intrinsic '{name}'", help
        case _:
            pass


def _reinterpret(call: tir.Call) -> _Complaints:
    (source,) = _dtypes(call)
    if call.dtype != source and _bits(source) != _bits(call.dtype):
        message = f"T.reinterpret reads {_bits(source)} bits of {source} as {_bits(call.dtype)} of {call.dtype}"
        yield message, "reinterpret a value as one with as many bits"


def _large_uint(call: tir.Call) -> _Complaints:
    if parse_dtype(call.dtype).code not in ("int", "uint") or is_vector(call.dtype):
        yield f"T.large_uint_imm is an integer, not {call.dtype}", "give it an integer dtype"
        return
    low, high = [value.value if isinstance(value, tir.IntImm) else 0 for value in call.args]
    if min(low, high) < 0 or max(low, high) >= 1 << 32 or (high << 32 | low) > int_range(call.dtype)[1]:
        yield f"{call.dtype} does not hold {low} + ({high} << 32)", "give two halves of 32 bits, or another dtype"


def _half(call: tir.Call) -> _Complaints:
    (source,) = _dtypes(call)
    lanes = lanes_of(source)
    wanted = with_lanes(source, lanes // 2)
    if lanes % 2 or call.dtype != wanted:
        message = (
            f"{source} has an odd number of lanes" if lanes % 2 else f"half of {source} is {wanted}, not {call.dtype}"
        )
        yield message, "give half of an even number of lanes"


def _combined(call: tir.Call) -> _Complaints:
    source, _ = _dtypes(call)
    if 2 * lanes_of(source) > MAX_LANES:
        yield f"two of {source} have more than {MAX_LANES} lanes", None
        return
    wanted = with_lanes(source, 2 * lanes_of(source))
    if call.dtype != wanted:
        yield f"two of {source} are {wanted}, not {call.dtype}", "give the dtype of both together"


def _lane_mask(call: tir.Call) -> _Complaints:
    if parse_dtype(call.dtype).code not in ("bool", "uint"):
        yield f"T.get_active_lane_mask is a vector of bools, not {call.dtype}", 'give it a dtype such as "boolx4"'


def _width(call: tir.Call) -> _Complaints:
    width = call.args[3]
    if isinstance(width, tir.IntImm) and width.value < 1:
        yield f"a width of {width.value} threads", "give a width of at least 1"


def _allreduce(call: tir.Call) -> _Complaints:
    size = call.args[0] if call.args else None
    if not isinstance(size, tir.IntImm) or size.value < 1 or len(call.args) < 2 * size.value + 2:
        message = (
            "T.tvm_thread_allreduce takes a constant count, as many values, a condition, as many results, and threads"
        )
        yield message, "write as in T.tvm_thread_allreduce(T.uint32(1), A[0], T.bool(True), R.data, tx)"


def _check(call: tir.Call) -> _Complaints:
    code = call.args[1]
    if isinstance(code, tir.StringImm) and code.value not in CODES:
        yield f"'{code.value}' is not the code of an error", "write a code such as E0707"


def _bytes(call: tir.Call) -> _Complaints:
    count = call.args[4 if len(call.args) > 4 else 0]
    if isinstance(count, tir.IntImm) and count.value < 0:
        yield f"a size of {count.value}", "give a size of at least 0"


def _dimension(call: tir.Call) -> _Complaints:
    dimension, rank = call.args[2], (len(call.args) - 3) // 2
    if len(call.args) % 2 == 0 or (isinstance(dimension, tir.IntImm) and not 0 <= dimension.value < rank):
        yield "T.checked_index takes a dimension, and the indices and extents of all", None


def _pairs(call: tir.Call) -> _Complaints:
    if len(call.args) % 2:
        yield "T.checked_position takes an index and a stride for each dimension", None


_OWN: dict[str, Callable[[tir.Call], _Complaints]] = {
    "call_llvm_intrin": _llvm_name, "call_llvm_pure_intrin": _llvm_name, "reinterpret": _reinterpret,
    "large_uint_imm": _large_uint, "vectorlow": _half, "vectorhigh": _half, "vectorcombine": _combined,
    "get_active_lane_mask": _lane_mask, "tvm_thread_allreduce": _allreduce, "checked_index": _dimension,
    "checked_position": _pairs, "check": _check, "ptx_cp_async": _bytes, "ptx_cp_async_bulk": _bytes, "mma_fill": _bytes,
    **dict.fromkeys(("tvm_warp_shuffle", "tvm_warp_shuffle_up", "tvm_warp_shuffle_down", "tvm_warp_shuffle_xor"), _width),
}  # fmt: skip
"""Requirements on a call in addition to the kinds of its arguments; each yields messages with their remedies."""


def _check_shuffle(shuffle: tir.Shuffle, report: Report) -> None:
    lanes = sum(lanes_of(vector.dtype) for vector in shuffle.vectors)
    for index in shuffle.indices:
        if not KINDS["index"].holds(index):
            report.add("E0406", f"an index of T.Shuffle is {described(index)}, not an integer", shuffle)
            return
        if isinstance(index, tir.IntImm) and not 0 <= index.value < lanes:
            message = f"T.Shuffle picks lane {index.value} of {count(lanes, 'lane')}"
            report.add("E0443", message, shuffle, f"pick a lane from 0 to {lanes - 1}")
            return
    names = {parse_dtype(vector.dtype).name for vector in shuffle.vectors}
    wanted = with_lanes(min(names), len(shuffle.indices)) if names and shuffle.indices else ""
    if len(names) > 1 or shuffle.dtype != wanted:
        given = ", ".join(vector.dtype for vector in shuffle.vectors) or "nothing"
        report.add("E0405", f"T.Shuffle of {given} is not {shuffle.dtype}", shuffle, "give vectors of one dtype")
