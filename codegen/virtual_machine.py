"""TVM's way to run programs: a virtual machine around a compiled module (TVM: `relax.VirtualMachine`,
`relax.build`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from ..ir import relax, tir
from ..ir import vm_builtins as vm_builtins  # registers the functions
from ..ir.base import IRModule
from ..ir.diagnostics import TvmsError, error
from ..ir.functions import find_function
from ..ir.passes.bind_params import bind_params
from ..ir.passes.transform import Pass
from .bytecode import Bytecode
from .bytecode import ExecBuilder as ExecBuilder
from .device import Device, check_device, check_devices
from .graph.observe import observed
from .profiling.profiler import Profiler
from .profiling.report import Report
from .runtime.executable import Entry, Executable, compile
from .runtime.ndarray import unwrap, wrap
from .runtime.specs import ArgumentContext, kind_of
from .runtime.timing import BenchmarkResult, Evaluator
from .target import Target

VMExecutable = Executable
"""Compiled programs (TVM: `relax.VMExecutable`)."""


class VMInstrumentReturnKind(IntEnum):
    """The result of an instrument before a call: make the call, or skip it."""

    NO_OP = 0
    SKIP_RUN = 1


Call = tuple[Sequence[Any], Mapping[str, Any]]
"""Arguments by position and by name."""


class VirtualMachine:
    """Runs the functions of a compiled module: `vm["main"](x, w)`.

    Arguments are arrays (of NumPy, `tvms.nd`, or any library that supports DLPack), numbers, shapes and
    tuples. Arrays in results are `NDArray`s, or GPU arrays if the machine is on a GPU. Arguments and results
    are not copied, except from host memory to the GPU.
    """

    def __init__(
        self,
        rt_mod: Executable | Bytecode,
        device: Device | Sequence[Device],
        memory_cfg: str | Mapping[Device, str] | None = None,
        profile: bool = False,
    ) -> None:
        """`rt_mod` is the result of `tvms.compile` or of `ExecBuilder.get`. `memory_cfg` and `profile` exist for compatibility with TVM and
        have no effect: results always have memory of their own, and every machine can profile.

        Raises TvmsError: E0702 for an argument of another kind, E0721 if a device does not exist.
        """
        self._executable = _check_executable(rt_mod)
        self.devices = check_devices(device, "VirtualMachine")
        self._home = rt_mod.home.there(self.devices[0].device_type)
        self._entries: Mapping[str, Entry] = {
            name: self._home.outside(self._home.inside(rt_mod[name])) for name in rt_mod
        }
        self._saved: dict[str, Entry] = {}
        self._inputs: dict[str, Call] = {}
        self._outputs: dict[str, Any] = {}

    def __getitem__(self, key: str) -> Entry:
        """Return the function, or saved function, of that name; TvmsError E0102 if there is none."""
        function = self._find(key)

        def call(*args: Any, **named: Any) -> Any:
            return wrap(function(*map(unwrap, args), **{name: unwrap(value) for name, value in named.items()}))

        return call

    def _find(self, name: str) -> Entry:
        return self._saved.get(name) or self._entries.get(name) or self._executable[name]

    def invoke_closure(self, closure: Callable[..., Any], *args: Any) -> Any:
        """Call a closure that a function returned; TvmsError E0702 if it is not a closure."""
        if not callable(closure):
            place = ArgumentContext("closure", "invoke_closure")
            raise place.fault(
                "E0702", f"expected a closure, got {kind_of(closure)}", "pass a closure that a function returned"
            )
        return wrap(closure(*map(unwrap, args)))

    def save_function(
        self, func_name: str, saved_name: str, *args: Any, include_return: bool = True, **kwargs: Any
    ) -> None:
        """Define `vm[saved_name]()` as a call of function `func_name` with these arguments; it returns None unless
        `include_return`.

        Raises TvmsError: E0102 for an unknown function, E0104 if the module has a function `saved_name`.
        """
        function = self[func_name]
        if saved_name in self._executable:
            help = "save it under another name"
            raise error("E0104", f"the module already has a function '{saved_name}'", None, help)

        def call() -> Any:
            result = function(*args, **kwargs)
            return result if include_return else None

        self._saved[saved_name] = call

    # --- Calls in stages

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Set the arguments with which `invoke_stateful` calls the function; TvmsError E0102 for an unknown
        function.
        """
        self._find(func_name)
        self._inputs[func_name] = args, kwargs

    def invoke_stateful(self, func_name: str) -> None:
        """Call the function with the arguments of `set_input`, and keep its result for `get_outputs`.

        Raises TvmsError: E0722 if no arguments were set, and the errors of the call.
        """
        if func_name not in self._inputs:
            raise _too_early(f"the inputs of '{func_name}' are not set", f'vm.set_input("{func_name}", ...)')
        args, named = self._inputs[func_name]
        self._outputs[func_name] = self[func_name](*args, **named)

    def get_outputs(self, func_name: str) -> Any:
        """Return the result of the last `invoke_stateful` of the function; TvmsError E0722 if there is none."""
        if func_name not in self._outputs:
            raise _too_early(f"'{func_name}' has no outputs yet", f'vm.invoke_stateful("{func_name}")')
        return self._outputs[func_name]

    # --- Watching

    def set_instrument(self, instrument: Callable[..., Any]) -> None:
        """Call `instrument(func, func_symbol, before_run, ret_value, *args)` before and after every call of a kernel
        or an external function; if it returns `SKIP_RUN` before one, that call is skipped.
        """

        def observe(name: str, entry: Entry) -> Entry:
            def call(*args: Any) -> Any:
                shown = tuple(map(wrap, args))
                if instrument(entry, name, True, None, *shown) == VMInstrumentReturnKind.SKIP_RUN:
                    return None
                result = entry(*args)
                instrument(entry, name, False, wrap(result), *shown)
                return result

            return call

        self._entries = self._observed(observe)

    def time_evaluator(
        self,
        func_name: str,
        dev: Device,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
        f_preproc: str = "",
    ) -> Callable[..., BenchmarkResult]:
        """Return an evaluator that times calls of a function, a saved function, or "invoke_stateful" with its
        arguments.

        See `Evaluator` for the options; `f_preproc` is a registered function. Raises TvmsError: E0102, E0715 and
        E0721 if the function, the registered function or the device does not exist.
        """
        device = check_device(dev, "time_evaluator", "dev")
        function = self.invoke_stateful if func_name == "invoke_stateful" else self._find(func_name)
        prepare = find_function(f_preproc) if f_preproc else None
        cooldown = cooldown_interval_ms, repeats_to_cooldown
        evaluator = Evaluator(function, number, repeat, min_repeat_ms, *cooldown, prepare, device.sync)
        return lambda *args: evaluator(*map(unwrap, args))

    def profile(self, func_name: str, *args: Any) -> Report:
        """Call a function and return its profile: the number, time and work of the calls of each kernel and external
        function, and of each source line. Where no Python runs between kernels, none runs for the profile either.

        Calls before it exclude one-time costs. TvmsError E0102 for an unknown function.
        """
        function = self._profiler.entries.get(func_name) or self._find(func_name)
        return self._profiler.measure(function, tuple(map(unwrap, args)))

    @cached_property
    def _profiler(self) -> Profiler:
        if isinstance(self._executable, Bytecode):
            help = "compile a module of graph functions: tvms.compile(mod)"
            raise error("E0702", "a program of instructions has no kernels to profile", None, help)
        return Profiler(self._executable, self._home, self.devices[0].sync)

    def _observed(self, observe: Callable[[str, Entry], Entry]) -> Mapping[str, Entry]:
        executable = self._executable
        return observed(executable.module, {name: executable[name] for name in executable}, observe, self._home)


def _check_executable(value: object) -> Executable | Bytecode:
    if not isinstance(value, Executable | Bytecode):
        message = f"expected an executable, got {kind_of(value)}"
        raise ArgumentContext("rt_mod", "VirtualMachine").fault("E0702", message, "compile it first: tvms.compile(mod)")
    return value


def _too_early(message: str, first: str) -> TvmsError:
    return error("E0722", message, None, f"call {first} first")


def build(
    mod: IRModule | relax.Function,
    target: str | Target | None = None,
    params: Mapping[str, Any] | None = None,
    relax_pipeline: str | Pass | None = "default",
    exec_mode: str = "bytecode",
) -> Executable:
    """Compile a graph module for `target`, the processor by default (TVM: `relax.build`).

    `params` are values of parameters of `main`, by name. `relax_pipeline`, a pass or the name of a pipeline,
    runs first; "default" is what `tvms.compile` does. Both of TVM's values of `exec_mode` produce the same
    machine code.

    Raises TvmsError: E0903 for an unknown pipeline, E0905 and E0906 if `params` do not fit, E0601 to E0607
    if the module cannot be compiled.
    """
    module = mod if isinstance(mod, IRModule) else IRModule({mod.attrs.get("global_symbol", "main"): mod}, name="")
    if params:
        module = bind_params(module, "main", {name: unwrap(value) for name, value in params.items()})
    return compile(module, target, relax_pipeline=relax_pipeline)


# --- The steps of `build` under TVM's names -----------------------------------------------------------------------


def _vmcodegen(builder: ExecBuilder, mod: IRModule, exec_mode: str = "bytecode") -> IRModule:  # type: ignore[reportUnusedFunction]
    """Give the module to the builder; return its loop functions."""
    builder.module = mod
    functions = {name: function for name, function in mod.functions.items() if isinstance(function, tir.PrimFunc)}
    return replace(mod, functions=functions)


def _vmlink(  # type: ignore[reportUnusedFunction]
    builder: ExecBuilder, target: str | Target | None, tir_mod: IRModule | None = None, **options: Any
) -> Executable | Bytecode:
    """Compile the module of the builder, or return its program of instructions."""
    return compile(builder.module, target) if builder.module is not None else builder.get()
