"""The tensors and calls of a graph function, traced from binding to binding: its steps as machine code."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...ir import relax, tir
from ...ir.base import GlobalVar, IRModule, Node, Op, Span, StructInfo
from ...ir.ops import dims as d
from ...ir.passes.rewrite_dataflow_reshape import is_reshape
from ..lower.signature import size_variables, written_variables
from ..runtime.dlpack import Array
from .driver import Choose, Copy, Expect, Fill, Invoke, Step
from .size_table import SizeTable
from .tensors import (
    Known,
    Loaded,
    NeedsExecutor,
    Storage,
    Tensor,
    driver_buffer,
    new_storage,
    new_tensor,
    tensor_info,
    what_needs_python,
)

_MOST_NESTED, _MOST_INLINED = 8, 1000
"""Maximum depth and number of calls of graph functions that become part of a native function."""


class Tracer:
    """Traces one function; NeedsExecutor if it cannot become machine code."""

    def __init__(self, module: IRModule) -> None:
        self._module = module
        self.steps: list[Step] = []
        self.given: list[Tensor] = []
        """The inputs, then the constants."""
        self.constants: list[Array] = []
        self.results: list[Tensor] = []
        self.sizes = SizeTable()
        self.tensors: list[Tensor] = []
        """All tensors, in the order of their creation."""
        self._values: dict[relax.Var, Known] = {}
        self.clock = 0
        """The number of steps and branches so far."""
        self._depth = self._inlined = 0
        """Depth of calls of other graph functions, and their number."""
        self._reshapes: dict[str, bool] = {}
        self._rules: dict[str, Callable[[relax.Call], Known]] = {
            "relax.call_tir": self._call_tir,
            "relax.shape_to_tensor": self._shape_to_tensor,
            "relax.tensor_to_shape": self._tensor_to_shape,
            "relax.builtin.alloc_tensor": lambda call: self._new(call.struct_info, more=True),
            **dict.fromkeys(("relax.memory.alloc_storage", "relax.vm.alloc_storage"), new_storage),
            **dict.fromkeys(("relax.memory.alloc_tensor", "relax.vm.alloc_tensor"), self._tensor_in_storage),
            **dict.fromkeys(
                ("relax.memory.kill_storage", "relax.memory.kill_tensor", "relax.vm.kill_object"), lambda call: ()
            ),
        }

    def trace(self, function: relax.Function) -> Known:
        """Trace `function`, and return its value: tensors that are inputs, constants, or in `results`."""
        infos = [tensor_info(param.struct_info) for param in function.params]
        self.sizes = SizeTable(size for shape, _ in infos for size in shape if isinstance(size, tir.Var))
        for param, (shape, dtype) in zip(function.params, infos, strict=True):
            self.given.append(new_tensor(self.sizes.dims(shape), dtype, param.name_hint, param.span))
        self._values.update(zip(function.params, self.given, strict=True))
        returned = self._owned(self._body(function.body))
        if not self.clock:
            raise NeedsExecutor("it calls no kernel")
        return returned

    # --- Values

    def _body(self, body: relax.SeqExpr) -> Known:
        """Trace the bindings of a sequence, and return its value."""
        for block in body.blocks:
            for binding in block.bindings:
                assert isinstance(binding, relax.VarBinding | relax.MatchCast)
                value = self._value(binding.value)
                if isinstance(binding, relax.MatchCast):
                    self._match(value, binding.struct_info, binding.span)
                self._values[binding.var] = value
        return self._value(body.body)

    def _value(self, expr: relax.Expr) -> Known:
        match expr:
            case relax.Var() if expr in self._values:
                return self._values[expr]
            case relax.Constant() if not isinstance(expr.data, Node):
                return self._constant(expr)
            case relax.Tuple(fields=fields):
                return tuple(map(self._value, fields))
            case relax.TupleGetItem(tuple_value=value, index=index):
                fields = self._value(value)
                assert isinstance(fields, tuple)
                return fields[index]
            case relax.ShapeExpr(values=values):
                return relax.ShapeExpr(self.sizes.dims(values))
            case relax.SeqExpr():
                return self._body(expr)
            case relax.If():
                return self._branch(expr)
            case relax.Call(op=Op(name=name)) if name in self._rules:
                return self._rules[name](expr)
            case relax.Call(op=GlobalVar(name_hint=name)) if isinstance(
                self._module.functions.get(name), relax.Function
            ):
                return self._call_graph(name, expr)
            case relax.Call(op=GlobalVar(name_hint=name)):
                return self._call(name, self._tensors(expr.args), expr.span)
            case _:
                raise NeedsExecutor(what_needs_python(expr), expr.span)

    def _constant(self, expr: relax.Constant) -> Tensor:
        shape, dtype = tensor_info(expr.struct_info)
        self.given.append(new_tensor(shape, dtype, f"constant_{len(self.constants)}"))
        self.constants.append(_read_only(expr.data))
        return self.given[-1]

    def _tensors(self, exprs: Iterable[relax.Expr]) -> list[Tensor]:
        values = list(map(self._value, exprs))
        tensors = [value for value in values if isinstance(value, Tensor)]
        if len(tensors) != len(values):
            raise NeedsExecutor("it passes values other than tensors")
        return tensors

    def _new(self, info: StructInfo | None, *, more: bool = False) -> Tensor:
        """Return a new tensor of the workspace."""
        shape, dtype = tensor_info(info)
        return self._kept(new_tensor(self.sizes.dims(shape), dtype, more=more))

    def _kept(self, tensor: Tensor) -> Tensor:
        self.tensors.append(tensor)
        return tensor

    def _do(self, step: Step, *tensors: Tensor) -> None:
        """Add a step that accesses `tensors`."""
        for tensor in tensors:
            tensor.storage.steps.append(self.clock)
        self.steps.append(step)
        self.clock += 1

    # --- Sizes

    def _match(self, value: Known, info: StructInfo, span: Span | None) -> None:
        """Check a value against the declaration of a `match_cast`, which defines the sizes that are new in it."""
        match value, info:
            case tuple(), relax.TupleStructInfo(fields=fields) if len(value) == len(fields):
                for part, field in zip(value, fields, strict=True):
                    self._match(part, field, span)
            case Tensor(dtype=actual), relax.TensorStructInfo(dtype=dtype, shape=shape, ndim=ndim) if dtype in (
                actual,
                "void",
            ):
                if isinstance(shape, relax.ShapeExpr):
                    self.sizes.match(value.shape, shape.values, span)
                elif shape is not None or ndim not in (-1, len(value.shape)):
                    raise NeedsExecutor("it checks a value at run time with R.match_cast", span)
            case relax.ShapeExpr(values=actual), relax.ShapeStructInfo(values=tuple() as declared):
                self.sizes.match(actual, declared, span)
            case Loaded(tensor=tensor), relax.ShapeStructInfo(values=tuple() as declared):
                (count,) = tensor.shape
                self.sizes.agree(count, d.dim(len(declared)), span)
                self._do(Expect(tensor, self.sizes.dims(declared), span), tensor)
            case _:
                raise NeedsExecutor("it checks a value at run time with R.match_cast", span)

    def _shape_to_tensor(self, call: relax.Call) -> Tensor:
        shape = self._value(call.args[0])
        if not isinstance(shape, relax.ShapeExpr):
            raise NeedsExecutor("it passes values other than tensors")
        tensor = self._kept(new_tensor((d.dim(len(shape.values)),), "int64"))
        self._do(Fill(tensor, shape.values), tensor)
        return tensor

    def _tensor_to_shape(self, call: relax.Call) -> Loaded:
        (tensor,) = self._tensors(call.args)
        if tensor.dtype != "int64" or len(tensor.shape) != 1:
            raise NeedsExecutor("it converts a tensor to a shape", call.span)
        return Loaded(tensor)

    # --- Branches

    def _branch(self, expr: relax.If) -> Known:
        """Trace a branch; its value is written to the same memory in both cases."""
        (condition,) = self._tensors((expr.cond,))
        if condition.dtype != "bool" or d.value_of(d.product(condition.shape)) != 1:
            raise NeedsExecutor("the condition of a branch is not one bool", expr.span)
        condition.storage.steps.append(self.clock)
        self.clock += 1
        with self._part() as then:
            value = self._body(expr.true_branch)
            target = self._for_both(value, self._made_since(then), [])
        with self._part() as otherwise:
            other = self._body(expr.false_branch)
            self._move(other, target, self._made_since(otherwise), [])
        self.steps.append(Choose(condition, then.steps, otherwise.steps))
        return target

    @contextmanager
    def _part(self) -> Generator[_Part]:
        """Collect the steps of a branch; sizes that it defines are not known outside."""
        outer, sizes, values = self.steps, dict(self.sizes.values), dict(self._values)
        part = _Part(len(self.tensors))
        self.steps = part.steps
        yield part
        self.steps, self.sizes.values, self._values = outer, sizes, values

    def _made_since(self, part: _Part) -> set[Storage]:
        """Return the storages that are new in a branch, and written once."""
        storages = {tensor.storage for tensor in self.tensors[part.first :]}
        return {storage for storage in storages if storage.buffer is None and not storage.is_written_later}

    def _for_both(self, value: Known, made: set[Storage], used: list[Storage]) -> Known:
        """Return the value that a branch has for both cases: its tensors, or copies of those that exist outside or twice."""
        if isinstance(value, tuple):
            return tuple([self._for_both(field, made, used) for field in value])
        tensor = _tensor(value)
        if tensor.storage in made and tensor.storage not in used and tensor.is_whole:
            used.append(tensor.storage)
            return tensor
        target = self._copied(tensor)
        used.append(target.storage)
        return target

    def _move(self, value: Known, target: Known, made: set[Storage], used: list[Storage]) -> None:
        """Let the other case write its value to `target`."""
        if isinstance(target, tuple):
            if not isinstance(value, tuple) or len(value) != len(target):
                raise NeedsExecutor("its branches have values of different kinds")
            for part, place in zip(value, target, strict=True):
                self._move(part, place, made, used)
            return
        source, place = _tensor(value), _tensor(target)
        if source.dtype != place.dtype or len(source.shape) != len(place.shape):
            raise NeedsExecutor("its branches have values of different kinds")
        for size, wanted in zip(source.shape, place.shape, strict=True):
            self.sizes.agree(size, wanted)
        if (
            source.storage in made
            and source.storage not in used
            and source.is_whole
            and source.storage is not place.storage
        ):
            used.append(source.storage)
            source.storage.join(place.storage)
        else:
            self._do(Copy(source, place), source, place)

    def _copied(self, tensor: Tensor) -> Tensor:
        copy = self._kept(new_tensor(tensor.shape, tensor.dtype))
        self._do(Copy(tensor, copy), tensor, copy)
        return copy

    # --- Calls

    def _call_graph(self, name: str, call: relax.Call) -> Known:
        """Trace a call of another graph function as a part of this one."""
        function, values = self._module.functions[name], list(map(self._value, call.args))
        assert isinstance(function, relax.Function)
        self._inlined += 1
        if self._depth == _MOST_NESTED or self._inlined > _MOST_INLINED:
            raise NeedsExecutor(f"its calls of graph functions, such as '{name}', are recursive or too many", call.span)
        sizes, self.sizes.values = self.sizes.values, {}
        for param, value in zip(function.params, values, strict=True):
            if not isinstance(value, Tensor) or param.struct_info is None:
                raise NeedsExecutor(f"it calls '{name}' with values of unknown shapes", call.span)
            self._match(value, param.struct_info, call.span)
        self._values.update(zip(function.params, values, strict=True))
        self._depth += 1
        result = self._body(function.body)
        self._depth -= 1
        self.sizes.values = sizes
        return result

    def _call_tir(self, call: relax.Call) -> Known:
        target, given = call.args[:2]
        if not isinstance(target, GlobalVar) or not isinstance(given, relax.Tuple):
            callee = getattr(target, "value", getattr(target, "global_symbol", None))
            reason = f"it calls the function '{callee}' of Python or a library" if callee else "it calls no kernel"
            raise NeedsExecutor(reason, call.span)
        numbers = self._value(call.args[2]) if len(call.args) > 2 else relax.ShapeExpr(())
        assert isinstance(numbers, relax.ShapeExpr)
        inputs, (info, *more) = self._tensors(given.fields), call.sinfo_args
        is_tuple = bool(more) or isinstance(info, relax.TupleStructInfo)
        infos = info.fields if isinstance(info, relax.TupleStructInfo) else call.sinfo_args
        results = [self._new(kind) for kind in infos]
        if self._is_view(target.name_hint, inputs, results):
            (source,), (result,) = inputs, results
            return Tensor(source.memory, result.shape, result.dtype, source.offset)
        self._call(target.name_hint, [*inputs, *results], call.span, len(inputs), numbers.values)
        return tuple(results) if is_tuple else results[0]

    def _is_view(self, name: str, inputs: Sequence[Tensor], results: Sequence[Tensor]) -> bool:
        """Return whether a kernel only reshapes its argument, which stays as it is."""
        if len(inputs) != 1 or len(results) != 1 or inputs[0].storage.is_written_later:
            return False
        if name not in self._reshapes:
            self._reshapes[name] = is_reshape(self._module.functions.get(name))
        return (
            self._reshapes[name]
            and inputs[0].dtype == results[0].dtype
            and d.is_equal(d.product(inputs[0].shape), d.product(results[0].shape))
        )

    def _call(
        self,
        name: str,
        tensors: list[Tensor],
        span: Span | None,
        inputs: int = 0,
        numbers: Sequence[tir.PrimExpr] = (),
    ) -> Known:
        """Record a call of a kernel, which must not write its first `inputs` arguments."""
        kernel = self._module.functions.get(name)
        if not isinstance(kernel, tir.PrimFunc) or len(kernel.params) != len(tensors) + len(numbers):
            raise NeedsExecutor(f"it calls '{name}', which is not a kernel with these arguments", span)
        changed = written_variables(kernel.body)
        for position, (param, tensor) in enumerate(zip(kernel.params, tensors, strict=False)):
            buffer = kernel.buffer_map.get(param)
            if buffer is None:
                raise NeedsExecutor(f"'{name}' takes arguments other than arrays of these shapes", span)
            others = tensors[:position] + tensors[position + 1 :]
            is_own = position >= inputs and not tensor.storage.buffer and not any(map(tensor.overlaps, others))
            if buffer.data in changed and not is_own:
                raise NeedsExecutor(f"'{name}' writes memory that others may read", span)
        sizes = self.sizes.arguments(name, kernel, tensors, numbers, span)
        given = [*tensors, *[sizes[param] for param in kernel.params[len(tensors) :]]]
        given += [sizes[variable] for variable in size_variables(kernel)]
        self._do(Invoke(name, tuple(given), span), *tensors)
        return ()

    def _tensor_in_storage(self, call: relax.Call) -> Known:
        """Return a tensor in memory that a pass has planned."""
        storage, offset = self._value(call.args[0]), call.args[1]
        shape, dtype = tensor_info(call.struct_info)
        tensor = new_tensor(self.sizes.dims(shape), dtype)
        if not (isinstance(offset, relax.PrimValue) and isinstance(offset.value, tir.IntImm)):
            raise NeedsExecutor("the offset of a tensor is computed")
        start, size = offset.value.value, d.value_of(tensor.size)
        if not isinstance(storage, Storage) or size is None:
            raise NeedsExecutor("the size of a tensor in a storage is computed")
        if not 0 <= start <= (d.value_of(storage.size) or 0) - size:
            raise NeedsExecutor("a tensor is outside its storage")  # the executor reports the error
        return self._kept(Tensor(storage, tensor.shape, dtype, start))

    # --- Results

    def _owned(self, value: Known) -> Known:
        """Return the value of the function: each tensor that is computed becomes a parameter of the driver, and each view a copy."""
        if isinstance(value, tuple):
            return tuple(map(self._owned, value))
        tensor = _tensor(value)
        storage = tensor.storage
        is_new = storage.buffer is None
        if is_new and tensor.is_whole:
            storage.buffer = driver_buffer(f"result_{len(self.results)}", tensor.shape, tensor.dtype)
            self.results.append(tensor)
            return tensor
        if is_new and storage.is_written_later:
            raise NeedsExecutor("it returns a part of a storage")
        is_same = storage.buffer is not None and _is_declared(tensor, storage.buffer)
        return tensor if is_same else self._owned(self._copied(tensor))


class _Part:
    """The steps of a branch, and the number of tensors before it."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.steps: list[Step] = []


def _tensor(value: Known) -> Tensor:
    if not isinstance(value, Tensor):
        raise NeedsExecutor("it returns a shape or memory")
    return value


def _is_declared(tensor: Tensor, buffer: tir.Buffer) -> bool:
    """Return whether a tensor has the shape of the argument that it lies in."""
    return len(tensor.shape) == len(buffer.shape) and all(map(d.is_equal, tensor.shape, buffer.shape))


def _read_only(data: Any) -> Array:
    array: Array = np.asarray(data, order="C").view()
    array.flags.writeable = False
    return array
