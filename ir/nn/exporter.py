"""Export of an `nn.Module` with methods to an IRModule with functions (TVM: `relax.frontend.nn.exporter`)."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, cast

from .. import relax, te, tir
from ..base import IRModule, StructInfo
from ..building.block_builder import BlockBuilder
from ..building.values import dimension
from ..ops.inference import tensor_info
from . import spec as kinds
from .effects import Effect, IOEffect, io_effect
from .extern import ExternModule
from .spec import MethodSpec, ModuleSpec
from .tensor import Parameter, Tensor, plain_values


class Exporter:
    """Exports one module; `debug` adds the effect of input and output."""

    _current: ClassVar[ContextVar[Exporter | None]] = ContextVar("exporter", default=None)

    def __init__(self, debug: bool = False) -> None:
        self.builder = BlockBuilder()
        self.io_effect = IOEffect() if debug else None
        self.extern_mods: list[ExternModule] = []

    @staticmethod
    def current() -> Exporter:
        """Return the exporter at work; RuntimeError if there is none."""
        current = Exporter._current.get()
        if current is None:
            raise RuntimeError("no module is being exported: module.export_tvm(spec)")
        return current

    def add_external_module(self, mod: ExternModule) -> None:
        """Add an external module; ValueError if one with the same symbol is already there."""
        known = {symbol for other in self.extern_mods for symbol in other.symbols}
        if both := sorted(known & mod.symbols.keys()):
            raise ValueError(f"the symbol '{both[0]}' is defined by two external modules")
        self.extern_mods.append(mod)

    def build(self, spec: ModuleSpec) -> tuple[IRModule, list[tuple[str, Parameter]], list[ExternModule]]:
        """Return the module with a function for each method, the parameters by name, and the external modules."""
        params = list(spec.module.named_parameters())
        own = [] if self.io_effect is None else [("", self.io_effect)]
        effects: list[tuple[str, Effect]] = [*own, *spec.module.named_effects()]
        with _set(self._current, self), _set(io_effect, self.io_effect):
            if effects:
                self._initialize(effects)
            for name, method in spec.methods.items():
                count = {"plain": len(effects), "packed": 1, "none": 0}[method.effect_mode] if effects else 0
                with self.builder.function(name, attrs={"num_input": len(method.arg_specs) + count}):
                    with self.builder.dataflow():
                        result, inputs = _Method(self.builder).emit(method, params, effects)
                    self.builder.emit_func_output(result, inputs)
        return self.builder.finalize(), params, self.extern_mods

    def _initialize(self, effects: Sequence[tuple[str, Effect]]) -> None:
        """Add the function that returns the initial effects."""
        with self.builder.function("_initialize_effect"):
            with self.builder.dataflow():
                states = [state for name, effect in effects for state in effect.emit_init(name, self.builder)]
                result = self.builder.emit_output(self.builder.emit(relax.Tuple(tuple(states))))
            self.builder.emit_func_output(result, [])


def add_extern(mod: ExternModule) -> None:
    """Add an external module to the module that is being exported; RuntimeError if none is."""
    Exporter.current().add_external_module(mod)


@contextmanager
def _set(variable: ContextVar[Any], value: Any) -> Generator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


class _Method:
    """The function of one method; symbolic dimensions with the same name are one variable."""

    def __init__(self, builder: BlockBuilder) -> None:
        self._builder = builder
        self._dims: dict[str, tir.Var] = {}

    def emit(
        self, method: MethodSpec, params: Sequence[tuple[str, Parameter]], effects: Sequence[tuple[str, Effect]]
    ) -> tuple[relax.Var, list[relax.Var]]:
        """Return the result of the method and the parameters of its function."""
        named = zip(method.arg_names, method.arg_specs, strict=True)
        variables = [relax.Var(name, struct_info=self._info(name, kind)) for name, kind in named]
        states = self._states(method.effect_mode, effects)
        weights = self._weights(method.param_mode, params)
        given = (self._argument(*part) for part in zip(variables, method.arg_specs, method.arg_names, strict=True))
        result = plain_values(method.method(*given))
        after = [state for _, effect in effects for state in effect.finalize()]
        if after and method.effect_mode != "none":
            result = (result, tuple(after))
        return self._builder.emit_output(result), [*variables, *states, *weights]

    def _states(self, mode: str, effects: Sequence[tuple[str, Effect]]) -> list[relax.Var]:
        """Set the states of the effects to new parameters of the function, and return those."""
        states = [effect.create(name) for name, effect in effects]
        flat = [state for group in states for state in group]
        packed = relax.Var("packed_effects", struct_info=relax.TupleStructInfo(tuple(map(_info_of, flat))))
        fields = iter(list(packed) if mode == "packed" else [])
        for (_, effect), group in zip(effects, states, strict=True):
            own = [self._builder.emit(next(fields), state.name_hint) for state in group] if mode == "packed" else group
            effect.set_state(own)
        return {"plain": flat, "packed": [packed] if effects else [], "none": []}[mode]

    def _dim(self, value: Any) -> tir.Var:
        name = value if isinstance(value, str) else value.name
        return self._dims.setdefault(name, te.var(name, "int64"))

    def _info(self, name: str, kind: Any) -> StructInfo:
        match kind:
            case kinds.Int():
                return relax.ShapeStructInfo((self._dim(name),), 1)
            case kinds.Tensor():
                return tensor_info([self._size(item) for item in kind.shape], kind.dtype)
            case kinds.Tuple():
                elements = enumerate(kind.elements)
                return relax.TupleStructInfo(tuple(self._info(f"{name}_{n}", item) for n, item in elements))
            case _:
                return relax.ObjectStructInfo()

    def _size(self, value: Any) -> Any:
        """Return a dimension in terms of the variables of this function."""
        is_variable = isinstance(value, str | tir.Var)
        return dimension(self._dim(value) if is_variable else value)

    def _argument(self, value: relax.Expr, kind: Any, name: str) -> Any:
        match kind:
            case kinds.Int():
                return self._dim(name)
            case kinds.Tuple():
                fields = [self._builder.emit(field, f"{name}_{n}") for n, field in enumerate(value)]
                parts = zip(fields, kind.elements, strict=True)
                inner = [self._argument(field, item, f"{name}_{n}") for n, (field, item) in enumerate(parts)]
                return tuple(inner) if isinstance(kind.elements, tuple) else inner
            case kinds.Object():
                return kind.object_type(_expr=value, _name=name)
            case _:
                return Tensor(value)

    def _weights(self, mode: str, params: Sequence[tuple[str, Parameter]]) -> list[relax.Var]:
        """Bind the parameters of the module to new parameters of the function, and return those."""
        variables: list[relax.Var] = []
        for name, parameter in params:
            info = tensor_info([self._size(size) for size in parameter.shape], parameter.dtype)
            variables.append(relax.Var(name, struct_info=info))
        packed = relax.Var("packed_params", struct_info=relax.TupleStructInfo(tuple(map(_info_of, variables))))
        fields = list(packed) if mode == "packed" else []
        for number, (name, parameter) in enumerate(params):
            parameter.expr = self._builder.emit(fields[number], name) if mode == "packed" else variables[number]
        return {"plain": variables, "packed": [packed], "none": []}[mode]


def _info_of(variable: relax.Var) -> StructInfo:
    return cast("StructInfo", variable.struct_info)
