"""Builders under TVM's names (`tvm.meta_schedule.builder`): they compile modules into files, which a runner (`tvm_runner`) loads."""

from __future__ import annotations

import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any

from msgspec import Struct

from ...ir import script
from ...ir.base import IRModule
from ...ir.diagnostics import ArgumentError, ArgumentValueError, Diagnostic, TvmsError
from ...ir.functions import get_global_func, register_func
from ...ir.passes.transform import get_pass
from ..machine import core_count
from ..runtime.executable import compile
from ..runtime.specs import kind_of
from ..target import Target, get_target
from .limited import limited
from .protocol import Build, Jobs, Limits, Outcome
from .runner import WorkerProcess

__all__ = ["Builder", "BuilderInput", "BuilderResult", "LocalBuilder", "PyBuilder", "create"]
SUFFIX = ".tvmso"
"""Suffix of the files of compiled modules."""
_PREFIX = "tvms-build-"
"""Prefix of the names of folders for such files."""


class BuilderInput(Struct, frozen=True, eq=False):
    """A module to build, with parameters to bind to those of its graph function `main` (TVM: `BuilderInput`)."""

    mod: IRModule
    target: Target | str
    params: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        """Raises ArgumentError E0702 for other kinds of objects."""
        checked_kind("mod", self.mod, IRModule)
        checked_kind("target", self.target, Target | str)
        checked_kind("params", self.params, Mapping | None)


class BuilderResult(Struct, frozen=True):
    """The file of a compiled module, or why there is none (TVM: `BuilderResult`)."""

    artifact_path: str | None
    error_msg: str | None


class Builder(ABC):
    """A builder; subclasses define `build` (TVM: `Builder`, `PyBuilder`)."""

    @abstractmethod
    def build(self, build_inputs: Sequence[BuilderInput]) -> list[BuilderResult]:
        """Return the results of building some modules, in their order. A module that cannot be built raises nothing."""
        ...

    @staticmethod
    def create(kind: str = "local", *args: Any, **kwargs: Any) -> Builder:
        """Return a `LocalBuilder` with these arguments, for the only kind "local". Raises ArgumentError E0702 for others."""
        if kind != "local":
            reason = f"argument 'kind' to Builder.create: expected 'local', got {kind!r}"
            raise ArgumentError([Diagnostic("E0702", reason, None, "derive your own builder from PyBuilder")])
        return LocalBuilder(*args, **kwargs)


PyBuilder = Builder
create = Builder.create


class LocalBuilder(Builder):
    """Builds in forked processes on this machine, at most `max_workers` at a time (TVM: `LocalBuilder`).

    `f_build(mod, target, params)` returns what `f_export` gets, by default the executable of `tvms.compile`; `f_export(executable)`
    writes it to a file, and returns the path. Either may be the name of a registered function, which `initializer` may register. They
    run in a thread of this process: after the time limit their results are ignored.
    """

    def __init__(
        self, *, max_workers: int | None = None, timeout_sec: float = 30.0, f_build: Callable[..., Any] | str | None = None,
        f_export: Callable[..., Any] | str | None = None, initializer: Callable[[], None] | None = None,
    ) -> None:  # fmt: skip
        """`timeout_sec` limits each build. Raises a ValueError, E0702, if no function is registered under a name, or for other numbers."""
        self.max_workers = checked_number("max_workers", max_workers or core_count(), 1, Integral)
        self.timeout_sec = checked_number("timeout_sec", timeout_sec, 0)
        if initializer is not None:
            initializer()
        self.f_build, self.f_export = registered(f_build, "f_build"), registered(f_export, "f_export")
        self._worker = WorkerProcess()

    @property
    def is_plain(self) -> bool:
        """Whether no function was given."""
        return self.f_build is None and self.f_export is None

    def build(self, build_inputs: Sequence[BuilderInput]) -> list[BuilderResult]:
        """See `Builder`. Files are in new temporary folders; `meta_schedule.utils.remove_build_dir` removes one."""
        if not self.is_plain:
            return [self._by_functions(given) for given in build_inputs]
        results: dict[int, BuilderResult] = {}
        jobs: dict[int, Build] = {}
        for number, given in enumerate(build_inputs):
            try:
                text, tensors = script.dump(_bound(given))
                jobs[number] = Build(text, tensors, get_target(given.target).text, _new_file())
            except TvmsError as problem:
                results[number] = _failed(str(problem))
        request = Jobs(tuple(jobs.values()), Limits(self.timeout_sec), self.max_workers)
        try:
            for place, outcome in self._worker.ask_all(request, len(jobs)) if jobs else ():
                number = list(jobs)[place]
                results[number] = self._result(jobs[number].path, outcome)
        except BaseException:  # such as Ctrl-C
            for job in jobs.values():
                remove_build_dir(job.path)
            raise
        return [results[number] for number in range(len(build_inputs))]

    def _result(self, path: str, outcome: Outcome) -> BuilderResult:
        if outcome.status == "ok":
            return BuilderResult(path, None)
        remove_build_dir(path)
        return _failed(outcome.message) if outcome.status != "timeout" else _late(self.timeout_sec)

    def _by_functions(self, given: BuilderInput) -> BuilderResult:
        def made() -> str:
            target, export = get_target(given.target), self.f_export or _exported
            built: Any = (
                self.f_build(given.mod, target, given.params)
                if self.f_build is not None
                else compile(_bound(given), target, cache=None)
            )
            path: object = export(built)
            if not isinstance(path, str | PathLike):
                raise TypeError(f"f_export returned {kind_of(path)} instead of the path of a file")
            return str(path)  # type: ignore[reportUnknownArgumentType]

        try:
            return BuilderResult(limited(made, self.timeout_sec), None)
        except TimeoutError:
            return _late(self.timeout_sec)
        except Exception as problem:  # a function of the user may raise anything
            return _failed(str(problem))


def registered(function: Callable[..., Any] | str | None, name: str) -> Callable[..., Any] | None:
    """Return a function, or that which is registered under a name. Raises a ValueError, E0702, if there is none; `name` is the argument."""
    if not isinstance(function, str):
        return function
    found = get_global_func(function, allow_missing=True)
    if found is None:
        reason = f"argument '{name}': no function is registered as '{function}'"
        help = f'register it: tvms.register_func("{function}", function)'
        raise ArgumentValueError([Diagnostic("E0702", reason, None, help)])
    return found


def checked_number(name: str, value: Any, least: int, kind: type[Real] = Real) -> Any:
    """Return the number of an argument. Raises a ValueError, E0702, if it is not of a kind, or less than `least`."""
    if isinstance(value, kind) and float(value) >= least:
        return int(value) if isinstance(value, Integral) else float(value)
    expected = f"{'an integer' if kind is Integral else 'a number'} of at least {least}"
    reason = f"argument '{name}': expected {expected}, got {value!r}"
    raise ArgumentValueError([Diagnostic("E0702", reason, None, f"pass {expected}")])


def checked_kind(name: str, value: object, kind: Any) -> None:
    """Raise ArgumentError E0702 unless the value of an argument is of a kind, a class or a union of classes."""
    if not isinstance(value, kind):
        kinds = [part.__name__.replace("NoneType", "None") for part in getattr(kind, "__args__", (kind,))]
        expected = " or ".join([", ".join(kinds[:-1]), kinds[-1]] if len(kinds) > 1 else kinds)
        reason = f"argument '{name}': expected {expected}, got {kind_of(value)}"
        raise ArgumentError([Diagnostic("E0702", reason, None, f"pass {expected}")])


@register_func("meta_schedule.remove_build_dir")
def remove_build_dir(artifact_path: str) -> None:
    """Remove a file that a builder made, and its folder if that is one of `LocalBuilder` (TVM: `meta_schedule.utils.remove_build_dir`,
    which removes any folder).
    """
    path = Path(artifact_path)
    if path.parent.name.startswith(_PREFIX):
        shutil.rmtree(path.parent, ignore_errors=True)
        return
    with suppress(OSError):
        path.unlink()


def _bound(given: BuilderInput) -> IRModule:
    return get_pass("BindParams", "main", dict(given.params))(given.mod) if given.params else given.mod


def _exported(executable: Any) -> str:
    path = _new_file()
    executable.export_library(path)
    return path


def _new_file() -> str:
    return str(Path(tempfile.mkdtemp(prefix=_PREFIX)) / f"module{SUFFIX}")


def _failed(reason: str) -> BuilderResult:
    return BuilderResult(None, f"LocalBuilder: An exception occurred\n{reason}")


def _late(seconds: float) -> BuilderResult:
    return BuilderResult(None, f"LocalBuilder: Timeout, killed after {seconds:g} seconds")
