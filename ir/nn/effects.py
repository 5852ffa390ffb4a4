"""Effects: state that the functions of a module take and return beside their values (TVM: `relax.frontend.nn.Effect`)."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar

from .. import relax, tir
from .. import vm_builtins as vm_builtins  # registers the functions
from ..building.block_builder import BlockBuilder
from ..building.values import apply, dimension
from ..ops.inference import tensor_info
from .tensor import Tensor, builder, get_default_dtype


class Effect:
    """State of a module, such as a cache. Subclasses define how it is created, passed to a function and returned."""

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[relax.Var]:
        """Bind the initial state to variables and return them."""
        raise self._undefined("emit_init")

    def create(self, name_hint: str) -> list[relax.Var]:
        """Return the parameters of a function that hold the state."""
        raise self._undefined("create")

    def set_state(self, state_vars: Sequence[relax.Var]) -> None:
        """Set the variables of the state, at the start of a function."""
        raise self._undefined("set_state")

    def finalize(self) -> list[relax.Var]:
        """Return the variables of the state, at the end of a function."""
        raise self._undefined("finalize")

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of the state; without effect by default."""

    def _undefined(self, name: str) -> TypeError:
        return TypeError(f"'{type(self).__name__}' is an effect without a method '{name}'; define it")


class IOEffect(Effect):
    """The order of input and output, such as prints."""

    effect: relax.Var | None = None

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[relax.Var]:
        return [builder.emit(apply("null_value"), f"{name_hint}.io")]

    def create(self, name_hint: str) -> list[relax.Var]:
        return [relax.Var(f"{name_hint}_io", struct_info=relax.ObjectStructInfo())]

    def set_state(self, state_vars: Sequence[relax.Var]) -> None:
        (self.effect,) = state_vars

    def finalize(self) -> list[relax.Var]:
        state, self.effect = self.effect, None
        return [] if state is None else [state]


class KVCache(Effect):
    """A cache of keys or values: a tensor of `unit_shape` for each position, which grows by `append`."""

    cache: relax.Var | None = None

    def __init__(self, init_seq_len: int, unit_shape: Sequence[int], dtype: str | None = None) -> None:
        """Reserve `init_seq_len` positions; `dtype` is the default dtype unless given."""
        self.init_seq_len = init_seq_len
        self.unit_shape = [int(size) for size in unit_shape]
        self.dtype = dtype or get_default_dtype()

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[relax.Var]:
        shape = self._shape(self.init_seq_len)
        zeros = builder.emit(apply("zeros", shape, self.dtype))
        return [builder.emit(_packed("create", relax.ObjectStructInfo(), zeros, shape, 0), name_hint)]

    def create(self, name_hint: str) -> list[relax.Var]:
        return [relax.Var(name_hint, struct_info=relax.ObjectStructInfo())]

    def set_state(self, state_vars: Sequence[relax.Var]) -> None:
        (self.cache,) = state_vars

    def finalize(self) -> list[relax.Var]:
        state, self.cache = self.cache, None
        return [] if state is None else [state]

    def to(self, dtype: str | None = None) -> None:
        self.dtype = dtype or self.dtype

    def view(self, seq_len: tir.Var | int) -> Tensor:
        """Return the last `seq_len` positions as a tensor (seq_len, *unit_shape)."""
        shape = self._shape(seq_len)
        info = tensor_info(shape.values, self.dtype)
        return Tensor(builder().emit(_packed("view", info, self._state(), shape)))

    def append(self, new_element: Tensor) -> None:
        """Append the positions of a tensor (n, *unit_shape); TypeError if its dtype differs."""
        if new_element.dtype != self.dtype:
            raise TypeError(f"the cache holds {self.dtype}, but the new element is {new_element.dtype}")
        call = apply(
            "call_inplace_packed",
            "vm.builtin.attention_kv_cache_append",
            self._state(),
            new_element.expr,
            inplace_indices=[0],
            sinfo_args=relax.ObjectStructInfo(),
        )
        self.cache = builder().emit(call)

    def _shape(self, length: tir.Var | int) -> relax.ShapeExpr:
        return relax.ShapeExpr(tuple(map(dimension, (length, *self.unit_shape))))

    def _state(self) -> relax.Var:
        if self.cache is None:
            raise RuntimeError("the cache has a state only while a module is exported: module.export_tvm(spec)")
        return self.cache


def _packed(verb: str, info: relax.StructInfo, *args: object) -> relax.Expr:
    return apply("call_pure_packed", f"vm.builtin.attention_kv_cache_{verb}", *args, sinfo_args=info)


io_effect: ContextVar[IOEffect | None] = ContextVar("io_effect", default=None)
"""The effect of input and output of the module that is being exported; None without `debug=True`."""
