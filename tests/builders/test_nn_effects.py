"""Modules with effects, external functions, functions of their own, and changes of their structure."""

from __future__ import annotations

import inspect
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvms
from tvms import relax
from tvms.contrib import cc
from tvms.relax.frontend import nn
from tvms.relax.frontend.nn import core, modules, op, spec

SEED = random.randrange(2**32)


def run(module: nn.Module, args: dict[str, Any], *values: Any, **options: Any) -> Any:
    """Export `module`, compile it, and call its method `forward`."""
    exported, _ = module.export_tvm({"forward": args}, **options)
    return relax.VirtualMachine(tvms.compile(exported), tvms.cpu())["forward"](*values)


@pytest.mark.parametrize("name", op.__all__)
def test_every_function_has_a_signature_and_a_docstring(name: str) -> None:
    function = getattr(nn, name)
    kinds = [parameter.kind for parameter in inspect.signature(function).parameters.values()]
    assert inspect.Parameter.VAR_KEYWORD not in kinds
    assert inspect.Parameter.VAR_POSITIONAL not in kinds or name == "debug_func"
    assert function.__doc__


def test_debugging_calls_a_registered_function_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[Any] = []

    @tvms.register_func("tests.nn.debug", override=True)
    def debug(line: str, tensor: Any, *more: Any) -> None:
        seen.append((Path(line.rpartition(":")[0]).name, tensor.copy(), more))

    class Model(nn.Module):
        def forward(self, x: nn.Tensor) -> nn.Tensor:
            op.debug_func("tests.nn.debug", x, 1, 2.0, "text")
            y = x + x
            op.debug_func("tests.nn.debug", y)
            op.print_(y)
            return y

    args = {"x": spec.Tensor((2,), "float32")}
    x = np.array([1, 2], "float32")
    result, (effect,) = run(Model(), args, x, None, debug=True)
    np.testing.assert_array_equal(result, 2 * x)
    assert effect is None
    assert [(name, list(tensor), more) for name, tensor, more in seen] == [
        ("test_nn_effects.py", [1, 2], (1, 2.0, "text")),
        ("test_nn_effects.py", [2, 4], ()),
    ]
    assert "shape = (2,), dtype = float32, data =\n[2. 4.]" in capsys.readouterr().out
    with pytest.raises(RuntimeError, match=r"^the module is exported without effects; pass debug=True to export_tvm$"):
        Model().export_tvm({"forward": args})


@pytest.mark.parametrize("mode", ["plain", "packed"])
def test_a_cache_grows_from_call_to_call(mode: str) -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            self.cache = nn.KVCache(2, [3])

        def forward(self, x: nn.Tensor, total: tvms.tir.Var) -> nn.Tensor:
            self.cache.append(x)
            return op.sum(self.cache.view(total), axis=0)

    args = {"x": spec.Tensor(("n", 3), "float32"), "total": int, "$": {"effect_mode": mode, "param_mode": "none"}}
    exported, _ = Model().export_tvm({"forward": args})
    machine = relax.VirtualMachine(tvms.compile(exported), tvms.cpu())
    state: Any = machine["_initialize_effect"]()
    numbers = np.random.default_rng(SEED)
    print(f"TVMS_SEED={SEED}")
    held = np.zeros((0, 3), "float32")
    for count in (1, 3, 2):
        new = numbers.random((count, 3), dtype="float32")
        held = np.concatenate([held, new])
        states = state if mode == "plain" else (state,)
        result, state = machine["forward"](new, (len(held),), *states)
        np.testing.assert_allclose(result, held.sum(0), rtol=1e-6)


def test_a_cache_refuses_another_dtype() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            self.cache = nn.KVCache(2, [3], "float16")

        def forward(self, x: nn.Tensor) -> nn.Tensor:
            self.cache.append(x)
            return x

    with pytest.raises(TypeError, match=r"^the cache holds float16, but the new element is float32$"):
        Model().export_tvm({"forward": {"x": spec.Tensor((1, 3), "float32")}})


def test_a_subroutine_is_shared_by_equal_calls() -> None:
    class Layer(nn.Module):
        define_subroutine = True

        def __init__(self) -> None:
            self.weight = nn.Parameter((4, 4), "float32")

        def forward(self, x: nn.Tensor) -> nn.Tensor:
            return op.matmul(x, self.weight)

    class Model(nn.Module):
        def __init__(self) -> None:
            self.layers = nn.ModuleList([Layer(), Layer()])

        def forward(self, x: nn.Tensor) -> nn.Tensor:
            return self.layers(x)

    args = {"forward": {"x": spec.Tensor((2, 4), "float32")}}
    for _ in range(2):  # the functions belong to one export
        exported, _ = Model().export_tvm(args)
        assert sorted(str(name) for name in exported.functions) == ["forward", "layer"]
        x, v, w = (
            np.random.default_rng(n).random(shape, "float32") for n, shape in enumerate([(2, 4), (4, 4), (4, 4)])
        )
        np.testing.assert_allclose(tvms.compile(exported)["forward"](x, v, w), x @ v @ w, rtol=1e-5)


SOURCE = """
#include <cstdint>
struct DLTensor { void *data; int32_t device_type, device_id, ndim; uint8_t code, bits; uint16_t lanes;
                  int64_t *shape, *strides; uint64_t byte_offset; };
extern "C" int scale(DLTensor *x, double factor, int64_t offset, DLTensor *y) {
    for (int64_t i = 0; i < x->shape[0]; i++) ((float *)y->data)[i] = ((float *)x->data)[i] * factor + offset;
    return x->shape[0] > 5;
}
"""


@pytest.mark.skipif(cc.get_cc() is None, reason="needs a C++ compiler")
@pytest.mark.parametrize("form", ["text", "file", "object"])
def test_a_module_calls_functions_in_c(form: str, tmp_path: Path) -> None:
    source = tmp_path / "scale.cc"
    source.write_text(SOURCE)
    symbols = {"scale": lambda x, factor, offset: nn.Tensor.placeholder(x.shape, x.dtype)}

    def external() -> nn.ExternModule:
        if form == "object":
            cc.create_shared(str(tmp_path / "scale.o"), str(source), ["-c"])
            return nn.ObjectModule(symbols, tmp_path / "scale.o")
        return nn.SourceModule(symbols, SOURCE if form == "text" else source)

    class Model(nn.Module):
        def forward(self, x: nn.Tensor) -> nn.Tensor:
            extern = external()
            nn.add_extern(extern)
            return extern["scale"](x, 2.0, 1)

    args = {"forward": {"x": spec.Tensor(("n",), "float32")}}
    exported, _, externs = Model().export_tvm(args, allow_extern=True)
    program = tvms.compile(relax.transform.AttachExternModules(externs)(exported))
    np.testing.assert_array_equal(program["forward"](np.arange(4, dtype="float32")), [1, 3, 5, 7])
    with pytest.raises(RuntimeError, match=r"^the external function 'scale' failed with status 1$"):
        program["forward"](np.zeros(6, "float32"))
    with pytest.raises(ValueError, match=r"^the module uses external modules; pass allow_extern=True to export_tvm$"):
        Model().export_tvm(args)


def test_symbols_are_defined_once() -> None:
    class Model(nn.Module):
        def forward(self, x: nn.Tensor) -> nn.Tensor:
            for _ in range(2):
                nn.add_extern(nn.ExternModule({"f": lambda x: x}))
            return x

    with pytest.raises(ValueError, match=r"^the symbol 'f' is defined by two external modules$"):
        Model().export_tvm({"forward": {"x": spec.Tensor((1,), "float32")}}, allow_extern=True)


def test_a_mutator_sees_the_path_of_every_part() -> None:
    paths: list[str] = []

    class Paths(nn.Mutator):
        def visit_param(self, name: str, node: nn.Parameter) -> Any:
            paths.append(name)
            return nn.Parameter(node.shape, "float16")

    model = nn.ModuleList([nn.Linear(2, 3), nn.ModuleList([nn.Embedding(4, 5)])])
    assert Paths().visit("model", model) is model
    assert paths == ["model.0.weight", "model.0.bias", "model.1.0.weight"]
    assert {parameter.dtype for parameter in model.parameters()} == {"float16"}


def test_tokens_are_drawn_from_the_likeliest() -> None:
    class Model(nn.Module):
        def forward(self, prob: nn.Tensor, index: nn.Tensor, p: nn.Tensor, k: nn.Tensor, u: nn.Tensor) -> Any:
            return op.sample_top_p_top_k_from_sorted_prob(prob, index, p, k, u)

        def kept(self, prob: nn.Tensor, order: nn.Tensor, p: nn.Tensor, k: nn.Tensor) -> Any:
            return op.renormalize_top_p_top_k_prob(prob, order, p, k)

    numbers = np.random.default_rng(SEED)
    print(f"TVMS_SEED={SEED}")
    batch, size = 7, 9
    prob = numbers.dirichlet(np.ones(size), batch).astype("float32")
    index = np.argsort(-prob, axis=1).astype("int64")
    ordered = np.take_along_axis(prob, index, 1)
    top_p, top_k = numbers.random((batch, 1), "float32"), numbers.integers(1, size + 1, (batch, 1))
    uniform = numbers.random((batch, 1), "float32")
    tensors = [("float32", prob), ("int64", index), ("float32", top_p), ("int64", top_k), ("float32", uniform)]
    kinds = [spec.Tensor(value.shape, dtype) for dtype, value in tensors]
    exported, _ = Model().export_tvm(
        {
            "forward": dict(zip(("prob", "index", "p", "k", "u"), kinds, strict=True)),
            "kept": dict(zip(("prob", "order", "p", "k"), (kinds[0], kinds[0], kinds[2], kinds[3]), strict=True)),
        }
    )
    program = tvms.compile(exported)
    sums = np.cumsum(ordered, 1)
    kept = np.minimum(((sums < top_p) & (np.arange(size) + 1 < top_k)).sum(1), size - 1)
    share = sums / np.take_along_axis(sums, kept[:, None], 1)
    expected = np.take_along_axis(index, np.minimum((uniform >= share).sum(1), size - 1)[:, None], 1)
    np.testing.assert_array_equal(program["forward"](ordered, index, top_p, top_k, uniform), expected)
    cut = np.where(prob >= np.take_along_axis(ordered, kept[:, None], 1), prob, 0)
    result = program["kept"](prob, ordered, top_p, top_k)
    np.testing.assert_allclose(result, cut / cut.sum(1, keepdims=True), rtol=1e-5)


def test_submodules_have_the_names_of_tvm() -> None:
    assert core.Module is nn.Module
    assert core.wrap_nested is nn.wrap_nested
    assert modules.KVCache is nn.KVCache
    value = relax.Var("x", relax.TensorStructInfo((2,), "float32"))
    tensor = nn.Tensor(_expr=value)
    assert tensor._expr is value
    assert nn.Object(_expr=relax.Var("o", relax.ObjectStructInfo()), _name="o")._expr.name_hint == "o"
