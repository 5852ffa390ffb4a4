"""Workloads and records under TVM's names, and their rows in the files of its tuner.

A row is `[trace, seconds, target, arguments]`, as apache-tvm 0.27 writes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from ...ir import tir
from ...ir.base import IRModule
from ...ir.diagnostics import TvmsError, error
from ...ir.schedule import Schedule
from ...ir.schedule.trace import Trace
from ..target import Target, TargetLike, get_target
from .tvm_graph import instructions_from_tvm, instructions_of_tvm, module_from_base64, module_to_base64

FAILED = 1e10
"""Seconds of a program that could not be run."""


class ArgInfo(Struct, frozen=True):
    """An argument of a measured function (TVM: `ArgInfo`, `TensorInfo`)."""

    dtype: str
    shape: tuple[int, ...]

    def __repr__(self) -> str:
        return f'TensorInfo("{self.dtype}", [{", ".join(map(str, self.shape))}])'

    def as_json(self) -> list[Any]:
        """Return it as a list for JSON."""
        return ["TENSOR", self.dtype, list(self.shape)]

    @staticmethod
    def from_json(json_obj: Any) -> ArgInfo:
        """Return the argument of the result of `as_json`. Raises E1102 for something else."""
        match json_obj:
            case ["TENSOR", str() as dtype, [*shape]] if all(isinstance(size, int) for size in shape):
                return ArgInfo(dtype, tuple(shape))
            case _:
                raise no_row("an argument is not ['TENSOR', dtype, shape]")

    @staticmethod
    def from_prim_func(func: tir.PrimFunc) -> list[ArgInfo]:
        """Return the arguments of a function. Raises E0018 for arguments without a constant shape."""
        buffers = [(param.name, func.buffer_map.get(param)) for param in func.params]
        return [_argument_info(name, buffer) for name, buffer in buffers]

    @staticmethod
    def from_entry_func(mod: IRModule, remove_preproc: bool = True) -> list[ArgInfo]:
        """Return the arguments of the only loop function of a module, or of `main`; nothing is removed from it."""
        found = mod.functions.get("main") or next(iter(mod.functions.values()))
        assert isinstance(found, tir.PrimFunc)
        return ArgInfo.from_prim_func(found)


TensorInfo = ArgInfo


def _argument_info(name: str, buffer: tir.Buffer | None) -> ArgInfo:
    sizes = [size.value for size in buffer.shape if isinstance(size, tir.IntImm)] if buffer is not None else []
    if buffer is None or len(sizes) != len(buffer.shape):
        raise error(
            "E0018",
            f"rows of TVM cannot represent the argument '{name}', whose shape is not constant",
            None,
            "give it a constant shape",
        )
    return ArgInfo(buffer.dtype, tuple(sizes))


class Workload(Struct, frozen=True, eq=False):
    """A module that is tuned (TVM: `Workload`)."""

    mod: IRModule

    def as_json(self) -> list[Any]:
        """Return it as `[hash, module]` for JSON. Raises E0018 if a part of the module cannot be represented."""
        return module_to_base64(self.mod)

    @staticmethod
    def from_json(json_obj: Any) -> Workload:
        """Return the workload of the result of `as_json`. Raises E0018 if it is something else."""
        return Workload(module_from_base64(json_obj))


class TuningRecord:
    """A schedule of a workload, and the seconds of its calls (TVM: `TuningRecord`)."""

    def __init__(
        self, trace: Trace, workload: Workload, run_secs: Sequence[Any] | None = None, target: TargetLike | None = None,
        args_info: Sequence[ArgInfo] | None = None,
    ) -> None:  # fmt: skip
        """Seconds are floats, or constants of a program; None for a schedule that was not measured."""
        self.trace, self.workload = trace, workload
        times = None if run_secs is None else [float(getattr(value, "value", value)) for value in run_secs]
        self.run_secs = None if times is None else [tir.FloatImm("float64", value) for value in times]
        self.target = None if target is None else get_target(target)
        self.args_info = None if args_info is None else list(args_info)

    @property
    def seconds(self) -> float:
        """Mean seconds of the calls; infinity if none was measured."""
        times = [value.value for value in self.run_secs or ()]
        return sum(times) / len(times) if any(time != FAILED for time in times) else float("inf")

    def as_json(self) -> list[Any]:
        """Return the row of the record for JSON. Raises E0018 if apache-tvm 0.27 has another form for a part of its trace."""
        times = None if self.run_secs is None else [value.value for value in self.run_secs]
        infos = None if self.args_info is None else [info.as_json() for info in self.args_info]
        return [instructions_of_tvm(self.trace), times, None if self.target is None else _written(self.target), infos]

    @staticmethod
    def from_json(json_obj: Any, workload: Workload) -> TuningRecord:
        """Return the record of a row. Raises E1102 or E0569 if it is something else, and refusals of the steps of its trace."""
        try:
            trace, times, target, infos = json_obj
            options: dict[str, Any] = dict(target or {})
            for name in ("keys", "tag"):
                options.pop(name, None)
            schedule = Schedule(workload.mod)
            Trace.apply_json_to_schedule(instructions_from_tvm(trace, workload.mod), schedule)
            found = None if infos is None else [ArgInfo.from_json(info) for info in infos]
            return TuningRecord(schedule.trace, workload, times, options or None, found)
        except (TypeError, ValueError, AttributeError):
            raise no_row("expected a trace, seconds, a target, and arguments") from None


def _written(target: Target) -> dict[str, Any]:
    return {"kind": target.name, "keys": ["cuda" if target.arch else "cpu"], "tag": "", **target.options}


def no_row(reason: str) -> TvmsError:
    """Return the error for something that is not a row."""
    return error("E1102", f"this is not a row of TVM: {reason}", None, "pass the result of as_json")
