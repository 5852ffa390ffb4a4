"""Every row of the importer's table computes what torch does, on random inputs of several dtypes, of fixed sizes and not."""

from __future__ import annotations

import os
import sys
from operator import getitem
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch, the extra 'torch', is not installed")

import tvms  # noqa: E402  # after the check that there is anything to test
from tvms import TvmsError  # noqa: E402
from tvms.dsl.importers.torch import numbers, quantization  # noqa: E402
from tvms.dsl.importers.torch.converter import Converter  # noqa: E402
from tvms.dsl.importers.torch.library import dtype_name  # noqa: E402
from tvms.dsl.importers.torch.symbols import Symbols  # noqa: E402
from tvms.dsl.importers.torch.table import ROWS  # noqa: E402
from tvms.ir import relax  # noqa: E402
from tvms.ir.building.block_builder import BlockBuilder  # noqa: E402
from tvms.ir.numpy_dtype import numpy_dtype  # noqa: E402
from tvms.ir.ops.inference import tensor_info  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
from torch_calls import BINARY, CALLS, CHECKS, DATA_DEPENDENT, ELEMENTWISE, ELSEWHERE, UNSET, Call, T  # noqa: E402

SAMPLE = 1 if "TVMS_FUZZ" in os.environ else 8
"""Of how many variants of a call one is tested."""
TOLERANCES = {"float64": 1e-6, "float32": 2e-5, "float16": 1e-2, "bfloat16": 6e-2}


def test_every_row_has_a_call() -> None:
    rest = ROWS.keys() - CALLS.keys() - DATA_DEPENDENT - CHECKS - UNSET - ELSEWHERE
    assert rest - quantization.ROWS.keys() - numbers.ROWS.keys() == set()
    assert CALLS.keys() - ROWS.keys() == set()


def test_core_aten_is_covered() -> None:
    """Rows and torch's decompositions cover what Core ATen has beside random numbers and complex tensors."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
    from torch_import import coverage

    found = coverage()
    assert found.endswith(
        "98.4%; missing: _adaptive_avg_pool2d_backward.default, avg_pool2d_backward.default, convolution_backward.default"
    ), found


def overload(name: str) -> Any:
    packet, _, last = name.rpartition(".")
    return getattr(getattr(torch.ops.aten, packet), last)


class Filled:
    """A call with tensors for its specifications, in the order in which they stand."""

    def __init__(self, name: str, call: Call, floats: str, ints: str, random: np.random.Generator) -> None:
        self.floats, self.ints, self.random = floats, ints, random
        self.tensors: list[Any] = []
        self.args = [self.filled(arg) for arg in call.args]
        self.keywords = {key: self.filled(value) for key, value in call.keywords.items()}
        if isinstance(named := self.keywords.get("dtype"), str):
            self.keywords["dtype"] = getattr(torch, named)
        self.args = [getattr(torch, arg) if name == "to.dtype" and isinstance(arg, str) else arg for arg in self.args]

    def filled(self, arg: Any) -> Any:
        if isinstance(arg, list):
            return [self.filled(item) for item in arg]
        if not isinstance(arg, T):
            return arg
        self.tensors.append(self.tensor(arg))
        return self.tensors[-1]

    def tensor(self, spec: T) -> Any:
        random, shape = self.random, spec.shape
        match spec.kind:
            case "f":
                values = random.uniform(spec.low, spec.high, shape)
                return torch.tensor(values).to(getattr(torch, spec.dtype or self.floats))
            case "o":
                values = np.sort(random.uniform(-2, 2, shape))
                return torch.tensor(values).to(getattr(torch, self.floats))
            case "s":
                return torch.tensor(shape)
            case "p":
                return torch.tensor(
                    random.permuted(np.broadcast_to(np.arange(spec.high), (shape[0], int(spec.high))), axis=1)[
                        :, : shape[1]
                    ].astype("int64")
                )
            case "m":
                return torch.ones(shape, dtype=torch.bool).tril()
            case "b":
                return torch.tensor(random.integers(0, 2, shape).astype(bool))
            case _:
                values = random.integers(int(spec.low), int(spec.high), shape)
                return torch.tensor(values).to(getattr(torch, spec.dtype or self.ints))


def graph_of(name: str, call: Filled, dynamic: bool) -> tuple[Any, list[Any]]:
    """Return a graph that makes the call, with what torch knows of every value, and its placeholders."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext
    from torch.fx.passes.fake_tensor_prop import FakeTensorProp

    mode = FakeTensorMode(shape_env=ShapeEnv() if dynamic else None, allow_non_fake_inputs=True)
    graph = torch.fx.Graph()
    placeholders = {id(tensor): graph.placeholder(f"x{number}") for number, tensor in enumerate(call.tensors)}

    def node(arg: Any) -> Any:
        if isinstance(arg, list):
            return [node(item) for item in arg]
        return placeholders[id(arg)] if isinstance(arg, torch.Tensor) else arg

    made = graph.call_function(
        overload(name), tuple(map(node, call.args)), {key: node(arg) for key, arg in call.keywords.items()}
    )
    returns = overload(name)._schema.returns
    if len(returns) > 1:
        made = [graph.call_function(getitem, (made, number)) for number in range(GRADIENT_ONLY.get(name, len(returns)))]
    graph.output(made)
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    fakes: list[Any] = []
    for number, tensor in enumerate(call.tensors):
        context = StatelessSymbolicContext([DimDynamic.DYNAMIC] * tensor.ndim) if dynamic else None
        from torch._dynamo.source import ConstantSource

        fakes.append(
            mode.from_tensor(tensor, symbolic_context=context, source=ConstantSource(f"x{number}") if dynamic else None)
        )
    FakeTensorProp(module, mode).propagate_dont_convert_inputs(*fakes)
    return module, list(placeholders.values())


def imported(module: Any, placeholders: list[Any]) -> tvms.IRModule:
    """Return a program whose function makes the call of a graph by the row."""
    for node in module.graph.nodes:
        node.meta.setdefault("val", None)
    builder, symbols = BlockBuilder(), Symbols()
    converter = Converter(builder, symbols, module.graph.nodes, ROWS)
    inputs: list[relax.Var] = []
    for node in placeholders:
        value = node.meta["val"]
        for size in value.shape:
            symbols.bind(size)
        inputs.append(relax.Var(node.name, struct_info=tensor_info(symbols.dims(value.shape), dtype_name(value.dtype))))
        converter.env[node] = inputs[-1]
    with builder.function("main", inputs):
        with builder.dataflow():
            result = converter.run(module)
            output = builder.emit_output(result)
        builder.emit_func_output(output)
    return builder.get()


def as_array(tensor: Any) -> Any:
    if tensor.dtype == torch.bfloat16:
        return tensor.contiguous().view(torch.int16).numpy().view(numpy_dtype("bfloat16"))
    return np.ascontiguousarray(tensor.numpy()).reshape(tuple(tensor.shape))


GRADIENT_ONLY = {
    "native_layer_norm.default": 1, "native_group_norm.default": 1, "_native_batch_norm_legit.default": 1, "_native_batch_norm_legit_no_training.default": 1,
    "_native_batch_norm_legit.no_stats": 3, "_embedding_bag.default": 1, "_embedding_bag_forward_only.default": 1, "embedding_bag.padding_idx": 1,
    "adaptive_max_pool1d.default": 1, "adaptive_max_pool2d.default": 1, "adaptive_max_pool3d.default": 1, "_scaled_dot_product_flash_attention_for_cpu.default": 1,
}  # fmt: skip
"""How many results of a row a model may use: the others are for gradients."""


def expected(name: str, call: Filled) -> list[Any]:
    """Return what torch computes, as arrays."""
    made = overload(name)(*call.args, **call.keywords)
    several = list(made) if isinstance(made, list | tuple) else [made]
    return [as_array(tensor) for tensor in several[: GRADIENT_ONLY.get(name)]]


def check_close(name: str, got: Any, want: Any, dtype: str) -> None:
    assert str(got.dtype) == str(want.dtype), f"{name}: {got.dtype}, not {want.dtype}"
    assert got.shape == want.shape, f"{name}: {got.shape}, not {want.shape}"
    tolerance = 0.0
    if "float" in str(want.dtype):
        tolerance = max(TOLERANCES.get(dtype, 0.0), TOLERANCES[str(want.dtype)])
    scale = max(1.0, float(np.abs(want.astype("float64"))[np.isfinite(want.astype("float64"))].max(initial=0)))
    np.testing.assert_allclose(
        got.astype("float64"), want.astype("float64"), rtol=tolerance, atol=tolerance * scale, err_msg=name
    )


def variants(name: str) -> list[tuple[Call, str, str, bool]]:
    """The calls of a row with each dtype, of fixed sizes and not; a sample of them, the first always."""
    dtypes = [("float32", "int64"), ("float16", "int32"), ("bfloat16", "int8"), ("float64", "uint8")]
    whole = [(call, *pair, dynamic) for call in CALLS[name] for pair in dtypes for dynamic in (False, True)]
    return whole[:: max(1, min(SAMPLE, len(whole)))]


@pytest.mark.parametrize("name", sorted(CALLS))
def test_row(name: str, random: np.random.Generator) -> None:
    for call, floats, ints, dynamic in variants(name):
        filled = Filled(name, call, floats, ints, random)
        try:
            wanted = expected(name, filled)
        except (RuntimeError, NotImplementedError, IndexError):
            continue  # torch has no kernel for this dtype
        try:
            graph = graph_of(name, filled, dynamic)
        except RuntimeError:
            assert dynamic  # torch itself does not follow symbolic sizes through this operator
            continue
        try:
            module = imported(*graph)
        except TvmsError as problem:
            codes = [diagnostic.code for diagnostic in problem.diagnostics]
            if dynamic and codes == ["E1004"]:
                continue  # a size that the row needs to know
            raise
        assert tvms.verify(module) == (), module
        made = tvms.interpret(module, "main", [as_array(tensor) for tensor in filled.tensors])
        several = list(made) if isinstance(made, list | tuple) else [made]
        for got, want in zip(several, wanted, strict=True):
            check_close(f"{module}", np.asarray(got), want, floats)


SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-30, 1e30, -1e30, 88.0, -100.0, 3.4e38, 1e-7]
INEXACT = ("addcmul", "softplus", "hardswish", "gelu", "erfc", "fmod", "remainder", "prelu", "_prelu_kernel", "glu")
"""Operators whose special values differ between kernels of torch, that lose digits, or need tensors of their own shapes."""
PLAIN = {
    name: calls[0]
    for name, calls in {**ELEMENTWISE, **BINARY}.items()
    if name.partition(".")[0] not in INEXACT and all(arg.kind == "f" for arg in calls[0].args if isinstance(arg, T))
}


class Special(Filled):
    """A call with every special value, and with every pair of them."""

    def tensor(self, spec: T) -> Any:
        values = torch.tensor(SPECIAL, dtype=torch.float32)
        return values.reshape(-1, 1) if not self.tensors else values


@pytest.mark.parametrize("name", sorted(PLAIN)[:: 1 if "TVMS_FUZZ" in os.environ else 4])
def test_special_values(name: str, random: np.random.Generator) -> None:
    """NaN, infinities, zeros of both signs, and what overflows."""
    filled = Special(name, PLAIN[name], "float32", "int64", random)
    (want,) = expected(name, filled)[:1]
    module = imported(*graph_of(name, filled, False))
    made = tvms.interpret(module, "main", [as_array(tensor) for tensor in filled.tensors])
    got = np.asarray(made[0] if isinstance(made, tuple) else made)
    np.testing.assert_allclose(
        got.astype("float64"), want.astype("float64"), rtol=1e-5, atol=1e-30, err_msg=str(module)
    )


@pytest.mark.parametrize("name", sorted(CALLS)[:: 1 if "TVMS_FUZZ" in os.environ else 40])
def test_compiled_row(name: str, random: np.random.Generator) -> None:
    for call in CALLS[name]:
        filled = Filled(name, call, "float32", "int64", random)
        made = tvms.compile(imported(*graph_of(name, filled, False)))["main"](*map(as_array, filled.tensors))
        several = list(made) if isinstance(made, list | tuple) else [made]
        for got, want in zip(several, expected(name, filled), strict=True):
            check_close(name, np.asarray(got), want, "float32")
