"""Modules with functions in Python beside those of the program (TVM: `tvm.relax.base_py_module`)."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from ... import hooks, relax, tir
from ...base import IRModule
from ...diagnostics import count, error
from ...functions import find_function

PythonFunction = Callable[..., Any]
"""A method, whose first parameter is `self`, or a function."""


class BasePyModule:
    """The functions of a module, which call each other: those of the program are compiled, the others run in Python.

        @I.ir_module
        class Model(BasePyModule):
            @I.pyfunc
            def main(self, x):
                return torch.relu(self.scale(x))

            @R.function
            def scale(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                return R.multiply(x, R.const(2.0))

        model = Model(tvms.cpu())
        model.main(torch.ones(4))

    Arguments are tensors of torch, other arrays that support DLPack, and numbers. Their memory is used where it is. Results are
    tensors of torch, or `NDArray`s where torch is not installed. The program is compiled by the first call of one of its functions.
    """

    def __init__(self, ir_mod: Any, device: Any = None, target: Any = None) -> None:
        """`ir_mod` is an IRModule or a class decorated with `@I.ir_module`. The target is that of the device if none is given."""
        self.ir_mod = ir_mod
        self.device = device or hooks.call("runtime").cpu()
        self.target = target or hooks.call("target_of", self.device)
        self.pyfuncs: dict[str, PythonFunction] = {}
        self.extern_funcs: dict[str, PythonFunction] = {}
        for name, function in getattr(ir_mod, "pyfuncs", {}).items():
            self.add_python_function(name, function)

    @property
    def tir_func_names(self) -> list[str]:
        """The names of the loop functions."""
        return [name for name, function in _functions(self.ir_mod).items() if isinstance(function, tir.PrimFunc)]

    @property
    def relax_func_names(self) -> list[str]:
        """The names of the graph functions."""
        return [name for name, function in _functions(self.ir_mod).items() if isinstance(function, relax.Function)]

    def list_functions(self) -> dict[str, list[str]]:
        """Return the names of the functions of the program, and of the registered functions that were called."""
        return {"tirx": self.tir_func_names, "relax": self.relax_func_names, "extern": list(self.extern_funcs)}

    @functools.cached_property
    def relax_vm(self) -> Any:
        """The compiled program (TVM: `relax.VirtualMachine`)."""
        return hooks.call("machine", _program(self.ir_mod), self.device, self.target)

    def __getattr__(self, name: str) -> Any:
        """Return a function of the program, or an attribute of the module."""
        if name.startswith("__") or "ir_mod" not in vars(self):
            raise AttributeError(name)
        if name in self.relax_func_names:
            return functools.partial(self._call_relax, name)
        if name in self.tir_func_names:
            return functools.partial(self._call_loops, name)
        return getattr(self.ir_mod, name)

    def get_function(self, name: str) -> PythonFunction | None:
        """Return the function of the program, or the registered function that was called before, of a name; None if there is none."""
        if name in _functions(self.ir_mod):
            return cast("PythonFunction", getattr(self, name))
        return self.extern_funcs.get(name)

    def add_python_function(self, name: str, func: PythonFunction) -> None:
        """Add a function; a function whose first parameter is `self` gets this module there."""
        self.pyfuncs[name] = func
        is_method = next(iter(inspect.signature(func).parameters), None) == "self"
        setattr(self, name, functools.wraps(func)(functools.partial(func, self)) if is_method else func)

    def call_py_func(self, func_name: str, args: Sequence[Any]) -> Any:
        """Call a function in Python; TvmsError E0102 if there is none of that name."""
        if func_name not in self.pyfuncs:
            raise error("E0102", f"the module has no Python function '{func_name}'", help=_names(self.pyfuncs))
        return getattr(self, func_name)(*args)

    def call_tir(self, tir_func: Any, args: Any, out_ty: Any) -> Any:
        """Call a loop function, a name or an attribute of this module, with new arrays for its results.

        `out_ty` is a type, a shape, whose dtype is float32, or a list of these. Raises TvmsError: E0102 if the program has no such
        function, E0704 if a size of a result is not that of an argument.
        """
        bound = cast("Any", tir_func).args if isinstance(tir_func, functools.partial) else (tir_func,)
        name = str(bound[0])
        if name not in self.tir_func_names:
            raise error("E0102", f"the module has no loop function '{name}'", help=_names(self.tir_func_names))
        return self._call_into(self.relax_vm[name], args, out_ty)

    def call_dps_packed(self, func_name: str, args: Any, out_ty: Any) -> Any:
        """Call a registered function with new arrays for its results, as `call_tir`; or a function of this module, with `args` alone.

        Raises TvmsError E0715 if there is none of that name.
        """
        if func_name in self.pyfuncs or func_name in _functions(self.ir_mod):
            return getattr(self, func_name)(*args)
        if func_name not in self.extern_funcs:
            self.extern_funcs[func_name] = find_function(func_name)
        return self._call_into(self.extern_funcs[func_name], args, out_ty)

    def _call_relax(self, name: str, *args: Any, **kwargs: Any) -> Any:
        named = {key: self._convert_pytorch_to_tvm(value) for key, value in kwargs.items()}
        return self._convert_tvm_to_pytorch(self.relax_vm[name](*self._convert_pytorch_to_tvm(args), **named))

    def _call_loops(self, name: str, *args: Any) -> Any:
        return self.relax_vm[name](*self._convert_pytorch_to_tvm(args))

    def _call_into(self, function: PythonFunction, args: Any, out_ty: Any) -> Any:
        """Call a function with arguments and new arrays for its results; return these."""
        given = self._convert_pytorch_to_tvm(args if isinstance(args, list | tuple) else [args])
        types = cast("list[Any]", out_ty) if isinstance(out_ty, list) else [out_ty]
        results = [self._array(*self._size_and_dtype(ty, given)) for ty in types]
        function(*given, *results)
        found = self._convert_tvm_to_pytorch(results)
        return found[0] if len(found) == 1 else found

    def _array(self, shape: Sequence[int], dtype: str) -> Any:
        """Return a new array of zeros on the device of this module."""
        host = hooks.call("runtime").empty(shape, dtype)
        host.fill(0)
        return hooks.call("runtime").tensor(host, self.device)

    def _size_and_dtype(self, ty: Any, args: Sequence[Any]) -> tuple[list[int], str]:
        if not hasattr(ty, "dtype"):
            return [int(extent) for extent in ty], "float32"
        return self._infer_concrete_shape_from_args(ty.shape, args), str(ty.dtype)

    def _infer_concrete_shape_from_args(self, shape: Any, in_args: Any) -> list[int]:
        """Return a shape whose unknown sizes are those of the first argument with as many dimensions; TvmsError E0704 if there is none."""
        known = [_extent(extent) for extent in shape]
        if None not in known:
            return cast("list[int]", known)
        args = cast("Sequence[Any]", in_args if isinstance(in_args, list | tuple) else [in_args])
        for arg in args:
            given = tuple(getattr(arg, "shape", ()))
            if len(given) == len(known):
                return [int(given[at]) if extent is None else extent for at, extent in enumerate(known)]
        shown = ", ".join(map(str, shape))
        help = "give the sizes of the result as numbers, or an argument with as many dimensions"
        rank = count(len(known), "dimension")
        raise error("E0704", f"the sizes of the result ({shown}) are unknown: no argument has {rank}", help=help)

    def _convert_pytorch_to_tvm(self, tensors: Any) -> Any:
        """Return tensors of torch and other arrays as arrays on the same memory; other values as they are."""
        if isinstance(tensors, list | tuple):
            return [self._convert_pytorch_to_tvm(value) for value in cast("Sequence[Any]", tensors)]
        if not hasattr(tensors, "__dlpack__"):
            return tensors
        return hooks.call("runtime").from_dlpack(tensors.detach() if hasattr(tensors, "detach") else tensors)

    def _convert_tvm_to_pytorch(self, tvm_tensors: Any) -> Any:
        """Return arrays as tensors of torch on the same memory; as they are, if torch is not installed."""
        if isinstance(tvm_tensors, list | tuple):
            return [self._convert_tvm_to_pytorch(value) for value in cast("Sequence[Any]", tvm_tensors)]
        torch = _torch() if hasattr(tvm_tensors, "__dlpack__") else None
        return torch.from_dlpack(tvm_tensors) if torch and not isinstance(tvm_tensors, torch.Tensor) else tvm_tensors

    def script(self, dialect: str = "tvms", **options: Any) -> str:
        """Return the text of the program, without the functions in Python (see `IRModule.script`)."""
        return _program(self.ir_mod).script(dialect, **options)

    def show(self, dialect: str = "tvms", **options: Any) -> None:
        """Print the text of the program, with colours in a terminal (see `IRModule.show`)."""
        _program(self.ir_mod).show(dialect, **options)


class ModuleFactory:
    """What a class that is derived from `BasePyModule` becomes: a module, whose calls return instances."""

    def __init__(self, ir_module: IRModule, original_class: type, pyfuncs: Mapping[str, PythonFunction]) -> None:
        self.ir_module = ir_module
        self.original_class = original_class
        self.pyfuncs = dict(pyfuncs)
        self.__name__ = original_class.__name__
        self.__doc__ = original_class.__doc__

    def __call__(self, device: Any = None, target: Any = None) -> BasePyModule:
        """Return the functions for a device; the target is that of the device if none is given."""
        return BasePyModule(self, device, target)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "ir_module":
            raise AttributeError(name)
        return getattr(self.ir_module, name)


def _torch() -> Any:
    """Return the module `torch`; None if it is not installed."""
    try:
        import torch  # type: ignore[reportMissingImports]
    except ImportError:
        return None
    return cast("Any", torch)


def _program(module: Any) -> IRModule:
    return module.ir_module if isinstance(module, ModuleFactory) else module


def _functions(module: Any) -> Mapping[str, Any]:
    return {str(getattr(name, "name", name)): function for name, function in _program(module).functions.items()}


def _names(names: Any) -> str | None:
    shown = ", ".join(f"'{name}'" for name in names)
    return f"it has {shown}" if shown else None


def _extent(value: Any) -> int | None:
    """Return a size as a number; None if it is not known."""
    if isinstance(value, tir.IntImm):
        return int(value.value)
    return int(value) if hasattr(value, "__index__") and not isinstance(value, tir.PrimExpr) else None
