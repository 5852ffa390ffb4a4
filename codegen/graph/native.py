"""Graph functions as machine code: if all shapes are known, the calls of kernels become one loop function,
the driver.

    R.function main(x, w):                               T.prim_func main(x, w, workspace, result):
        y = R.call_tir(Module.dense, (x, w), …)              Module.dense(x.data, w.data, T.address_of(workspace[0]))
        z = R.call_tir(Module.relu, (y,), …)                 Module.relu(T.address_of(workspace[0]), result.data)
        return z

No Python runs between the kernels. Calls of other graph functions become part of the driver. Intermediate
tensors are in a workspace that is planned once, at compile time, and in results that are not written yet. If
passes have planned memory (`R.memory.*`, `R.vm.*`), their storages are kept and placed in the same way. The
executor in `compiler` runs functions that need more: symbolic sizes, branches, functions in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ...ir import relax, tir
from ...ir.base import GlobalVar, IRModule, Node, Op, Span
from ..lower.rewriter import sequence
from ..lower.signature import written_variables
from ..runtime.dlpack import Array
from .plan import Lifetime, Plan, make_plan
from .tensors import Known, NeedsExecutor, Storage, Tensor, driver_buffer, new_storage, new_tensor, own_results

Returned: TypeAlias = "int | tuple[Returned, ...]"
"""The value of a call: positions of arguments of the driver, nested in tuples as the function returns them."""


class NativeFunction(Struct, frozen=True, eq=False):
    """The machine code of a graph function.

    `driver` takes `inputs` arguments, then the `constants`, the workspace if `plan` needs one, and the
    results. Its calls of kernels have the spans of the calls in the graph.
    """

    driver: tir.PrimFunc
    inputs: int
    constants: tuple[Array, ...]
    plan: Plan
    results: tuple[Tensor, ...]
    returned: Returned

    @property
    def calls(self) -> tuple[tir.Call, ...]:
        """Return the calls of kernels, in order."""
        body = self.driver.body
        steps = body.seq if isinstance(body, tir.SeqStmt) else (body,)
        return tuple(
            step.value for step in steps if isinstance(step, tir.Evaluate) and isinstance(step.value, tir.Call)
        )

    @property
    def written(self) -> tuple[int, ...]:
        """Return the positions of the arguments that the driver writes."""
        return tuple(range(self.inputs + len(self.constants), len(self.driver.params)))


def native_functions(module: IRModule) -> dict[str, NativeFunction]:
    """Return the graph functions of a prepared module that can become machine code."""
    found: dict[str, NativeFunction] = {}
    for name, function in module.functions.items():
        if isinstance(function, relax.Function):
            with suppress(NeedsExecutor):
                found[name] = _Tracer(module).trace(function)
    return found


def why_not_native(module: IRModule, name: str) -> tuple[str, Span | None]:
    """Return why graph function `name` of a prepared module cannot become machine code, and where."""
    function = module.functions[name]
    assert isinstance(function, relax.Function)
    try:
        _Tracer(module).trace(function)
    except NeedsExecutor as problem:
        return str(problem), problem.span
    return "machine code for whole graphs is off", None


_MOST_NESTED, _MOST_INLINED = 8, 1000
"""Maximum depth and number of calls of graph functions that become part of a native function."""


class _Tracer:
    """Traces the tensors of a function from binding to binding."""

    def __init__(self, module: IRModule) -> None:
        self._module = module
        self._values: dict[relax.Var, Known] = {}
        self._calls: list[tuple[str, list[Tensor], Span | None]] = []
        self._constants: list[Array] = []
        self._depth = self._inlined = 0
        """Depth of calls of other graph functions, and their number."""
        self._given: list[Tensor] = []
        """The inputs, then the constants."""
        self._rules: dict[str, Callable[[relax.Call], Known]] = {
            "relax.call_tir": self._call_tir,
            "relax.builtin.alloc_tensor": lambda call: new_tensor(call.struct_info),
            **dict.fromkeys(("relax.memory.alloc_storage", "relax.vm.alloc_storage"), new_storage),
            **dict.fromkeys(("relax.memory.alloc_tensor", "relax.vm.alloc_tensor"), self._tensor_in_storage),
            **dict.fromkeys(
                ("relax.memory.kill_storage", "relax.memory.kill_tensor", "relax.vm.kill_object"), lambda call: ()
            ),
        }

    def trace(self, function: relax.Function) -> NativeFunction:
        """Return `function` as a driver; NeedsExecutor if that is not possible."""
        self._given = [new_tensor(param.struct_info, param.name_hint, param.span) for param in function.params]
        self._values.update(zip(function.params, self._given, strict=True))
        returned = self._body(function.body)
        if not self._calls:
            raise NeedsExecutor("it calls no kernel")
        results = own_results(returned)
        inside, plan = self._plan(results)
        workspace = [driver_buffer("workspace", (plan.size,), "uint8")] if plan.size else []
        rooms = [*map(_bytes_of, results), *workspace]
        places = {
            storage: (rooms[room], offset)
            for storage, room, offset in zip(inside, plan.rooms, plan.offsets, strict=True)
        }
        arguments = [
            *(tensor.storage.buffer for tensor in self._given),
            *workspace,
            *(result.storage.buffer for result in results),
        ]
        params = [buffer for buffer in arguments if buffer is not None]
        back = _positions(returned, {buffer: position for position, buffer in enumerate(params)})
        driver = self._driver(params, places)
        return NativeFunction(driver, len(function.params), tuple(self._constants), plan, tuple(results), back)

    # --- Values

    def _body(self, body: relax.SeqExpr) -> Known:
        """Trace the bindings of a function, and return its value."""
        for block in body.blocks:
            for binding in block.bindings:
                if not isinstance(binding, relax.VarBinding):
                    raise NeedsExecutor("it checks a value at run time with R.match_cast", binding.span)
                self._values[binding.var] = self._value(binding.value)
        return self._value(body.body)

    def _value(self, expr: relax.Expr) -> Known:
        match expr:
            case relax.Var() if expr in self._values:
                return self._values[expr]
            case relax.Constant() if not isinstance(expr.data, Node):
                self._given.append(new_tensor(expr.struct_info, f"constant_{len(self._constants)}"))
                self._constants.append(_read_only(expr.data))
                return self._given[-1]
            case relax.Tuple(fields=fields):
                return tuple(map(self._value, fields))
            case relax.TupleGetItem(tuple_value=value, index=index):
                fields = self._value(value)
                assert isinstance(fields, tuple)
                return fields[index]
            case relax.Call(op=Op(name=name)) if name in self._rules:
                return self._rules[name](expr)
            case relax.Call(op=GlobalVar(name_hint=name)) if isinstance(
                self._module.functions.get(name), relax.Function
            ):
                return self._call_graph(name, expr)
            case relax.Call(op=GlobalVar(name_hint=name)):
                return self._call(name, self._tensors(expr.args), expr.span)
            case _:
                raise NeedsExecutor(_what_needs_python(expr), expr.span)

    def _tensors(self, exprs: Iterable[relax.Expr]) -> list[Tensor]:
        values = list(map(self._value, exprs))
        tensors = [value for value in values if isinstance(value, Tensor)]
        if len(tensors) != len(values):
            raise NeedsExecutor("it passes values other than tensors")
        return tensors

    # --- Calls

    def _call_graph(self, name: str, call: relax.Call) -> Known:
        """Trace a call of another graph function as a part of this one."""
        function, values = self._module.functions[name], list(map(self._value, call.args))
        assert isinstance(function, relax.Function)
        self._inlined += 1
        if self._depth == _MOST_NESTED or self._inlined > _MOST_INLINED:
            raise NeedsExecutor(f"its calls of graph functions, such as '{name}', are recursive or too many", call.span)
        for param, value in zip(function.params, values, strict=True):
            declared = new_tensor(param.struct_info)
            if not isinstance(value, Tensor) or (value.shape, value.dtype) != (declared.shape, declared.dtype):
                raise NeedsExecutor(f"it calls '{name}' with values of unknown shapes", call.span)
        self._values.update(zip(function.params, values, strict=True))
        self._depth += 1
        result = self._body(function.body)
        self._depth -= 1
        return result

    def _call_tir(self, call: relax.Call) -> Known:
        target, given = call.args[:2]
        if not isinstance(target, GlobalVar) or not isinstance(given, relax.Tuple) or len(call.args) > 2:
            callee = getattr(target, "value", getattr(target, "global_symbol", None))
            reason = (
                f"it calls the function '{callee}' of Python or a library" if callee else "it passes sizes to a kernel"
            )
            raise NeedsExecutor(reason, call.span)
        inputs, (info, *more) = self._tensors(given.fields), call.sinfo_args
        is_tuple = bool(more) or isinstance(info, relax.TupleStructInfo)
        infos = info.fields if isinstance(info, relax.TupleStructInfo) else call.sinfo_args
        results = [new_tensor(kind) for kind in infos]
        self._call(target.name_hint, [*inputs, *results], call.span, len(inputs))
        return tuple(results) if is_tuple else results[0]

    def _call(self, name: str, tensors: list[Tensor], span: Span | None, inputs: int = 0) -> Known:
        """Record a call of a kernel, which must not write its first `inputs` arguments."""
        kernel = self._module.functions.get(name)
        if not isinstance(kernel, tir.PrimFunc) or len(kernel.params) != len(tensors):
            raise NeedsExecutor(f"it calls '{name}', which is not a kernel with these arguments", span)
        changed = written_variables(kernel.body)
        for position, (param, tensor) in enumerate(zip(kernel.params, tensors, strict=True)):
            buffer = kernel.buffer_map.get(param)
            if buffer is None or not tensor.is_declared_as(buffer):
                raise NeedsExecutor(f"'{name}' takes arguments other than arrays of these shapes", span)
            others = tensors[:position] + tensors[position + 1 :]
            is_own = position >= inputs and not tensor.storage.buffer and not any(map(tensor.overlaps, others))
            if buffer.data in changed and not is_own:
                raise NeedsExecutor(f"'{name}' writes memory that others may read", span)
            tensor.storage.steps.append(len(self._calls))
        self._calls.append((name, tensors, span))
        return ()

    def _tensor_in_storage(self, call: relax.Call) -> Known:
        """Return a tensor in memory that a pass has planned."""
        storage, offset, tensor = self._value(call.args[0]), call.args[1], new_tensor(call.struct_info)
        if not (isinstance(offset, relax.PrimValue) and isinstance(offset.value, tir.IntImm)):
            raise NeedsExecutor("the offset of a tensor is computed")
        start = offset.value.value
        if not isinstance(storage, Storage) or not 0 <= start <= storage.size - tensor.size:
            raise NeedsExecutor("a tensor is outside its storage")  # the executor reports the error
        return replace(tensor, storage=storage, offset=start)

    # --- The driver

    def _plan(self, results: Iterable[Tensor]) -> tuple[list[Storage], Plan]:
        """Return the storages that are not arguments, and their plan, which also uses results before they are
        written.
        """
        used = dict.fromkeys(tensor.storage for _, tensors, _ in self._calls for tensor in tensors)
        inside = [storage for storage in used if storage.buffer is None]
        lifetimes = [Lifetime(storage.size, storage.steps[0], storage.steps[-1]) for storage in inside]
        own = [result.storage for result in results]
        end = len(self._calls)
        return inside, make_plan(
            lifetimes, [Lifetime(storage.size, min(storage.steps, default=0), end) for storage in own]
        )

    def _driver(self, params: list[tir.Buffer], places: Mapping[Storage, tuple[tir.Buffer, int]]) -> tir.PrimFunc:
        def pointer(tensor: Tensor) -> tir.PrimExpr:
            if tensor.storage.buffer is not None:
                return tensor.storage.buffer.data
            room, offset = places[tensor.storage]
            place = tir.IntImm("int64", offset + tensor.offset)
            return tir.Call("handle", Op("tir.address_of"), (tir.BufferLoad("uint8", room, (place,)),))

        calls = (
            tir.Call("void", GlobalVar(name), tuple(map(pointer, tensors)), span=span)
            for name, tensors, span in self._calls
        )
        handles = {tir.Var("handle", f"{buffer.name}_handle"): buffer for buffer in params}
        body = sequence(map(tir.Evaluate, calls))
        return tir.PrimFunc(tuple(handles), body, buffer_map=handles, attrs={"tir.noalias": tir.IntImm("bool", 1)})


def _what_needs_python(expr: relax.Expr) -> str:
    """Return what the tracer cannot express in machine code."""
    match expr:
        case relax.Call(op=Op(), args=(relax.ExternFunc(global_symbol=name) | relax.StringImm(value=name), *_)):
            return _outside(name)
        case relax.Call(op=relax.ExternFunc(global_symbol=name)):
            return _outside(name)
        case relax.Call(op=Op(name=name)):
            return f"the operator 'R.{name.removeprefix('relax.')}' is computed in Python"
        case relax.If():
            return "it has a branch"
        case relax.Constant():
            return "the value of a constant is not in the program"
        case relax.Call() | relax.Function():
            return "it calls a function that is a value"
        case _:
            return f"it holds a {type(expr).__name__}"


def _outside(name: str) -> str:
    if name.startswith("relax.run."):
        return f"the operator 'R.{name.removeprefix('relax.run.')}' is computed in Python"
    return f"it calls the function '{name}' of Python or a library"


def _bytes_of(result: Tensor) -> tir.Buffer:
    """Return the memory of a result as bytes."""
    buffer = result.storage.buffer
    assert buffer is not None
    return replace(driver_buffer(buffer.name, (result.size,), "uint8"), data=buffer.data)


def _read_only(data: Any) -> Array:
    array: Array = np.asarray(data, order="C").view()
    array.flags.writeable = False
    return array


def _positions(value: Known, positions: Mapping[tir.Buffer, int]) -> Returned:
    if isinstance(value, tuple):
        return tuple(_positions(field, positions) for field in value)
    assert isinstance(value, Tensor)
    assert value.storage.buffer is not None
    return positions[value.storage.buffer]
