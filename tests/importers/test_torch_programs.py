"""Exported programs: networks compute what they do in torch, and their text says where everything came from."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch, the extra 'torch', is not installed")

import tvms  # noqa: E402  # after the check that there is anything to test
from torch import nn  # noqa: E402
from torch.export import Dim, export  # noqa: E402
from tvms.relax.frontend import detach_params  # noqa: E402
from tvms.relax.frontend.torch import from_exported_program  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
import torch_models as models  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")


def exported(model: Any, *inputs: Any, **keywords: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return export(model.eval(), inputs, **keywords)


def arrays(value: Any) -> list[Any]:
    leaves = torch.utils._pytree.tree_leaves(value)
    return [leaf.detach().numpy() for leaf in leaves]


def check(model: Any, *inputs: Any, tolerance: float = 1e-4, **keywords: Any) -> tvms.IRModule:
    """Import a model, and compare what it computes when compiled with what torch does."""
    module = from_exported_program(exported(model, *inputs, **keywords))
    assert tvms.verify(module) == ()
    made = tvms.compile(module)["main"](*map(np.asarray, inputs))
    for got, want in zip(made if isinstance(made, list | tuple) else [made], arrays(model(*inputs)), strict=True):
        np.testing.assert_allclose(np.asarray(got), want, rtol=tolerance, atol=tolerance * max(1.0, np.abs(want).max()))
    return module


def ids(*shape: int) -> Any:
    return torch.randint(0, 20, shape)


NETWORKS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "resnet": lambda: (models.ResNet(4, 10, (1, 1)), torch.randn(2, 3, 32, 32)),
    "mobilenet": lambda: (models.MobileNetV2(((1, 8, 1, 1), (2, 8, 2, 2)), 16, 10), torch.randn(1, 3, 16, 16)),
    "unet": lambda: (models.UNet(4), torch.randn(1, 3, 16, 16)),
    "vit": lambda: (models.ViT(16, 8, 16, 2, 2, 10), torch.randn(2, 3, 16, 16)),
    "gpt": lambda: (models.GPT(20, 8, 16, 2, 2), ids(2, 6)),
    "bert": lambda: (models.BERT(20, 8, 16, 2, 2), ids(2, 6), torch.tensor([[1] * 6, [1] * 4 + [0] * 2])),
    "lstm": lambda: (models.LanguageModel(20, 8, 2), ids(2, 5)),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name: str) -> None:
    torch.manual_seed(0)
    check(*NETWORKS[name]())


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(4, 3)
        self.fc2 = nn.Linear(3, 2)

    def forward(self, x: Any) -> Any:
        hidden = torch.relu(self.fc1(x))
        return self.fc2(hidden) * 2


def test_names_places_and_parameters() -> None:
    module = from_exported_program(exported(Small(), torch.randn(2, 4)))
    bindings = [binding for block in module["main"].body.blocks for binding in block.bindings]
    names = [binding.var.name_hint for binding in bindings]
    assert names == [
        "fc1_permute_dims",
        "fc1_matmul",
        "fc1",
        "relu",
        "fc2_permute_dims",
        "fc2_matmul",
        "fc2",
        "mul",
        "gv",
    ]
    assert 'I.constant("fc1.weight", R.Tensor((3, 4), "float32"))' in module.script()
    relu = bindings[3].value.span
    assert relu.source.name == __file__
    assert relu.source.text[relu.start : relu.end] == "hidden = torch.relu(self.fc1(x))"


def test_shared_module_named_after_its_operator() -> None:
    class Shared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.relu = nn.ReLU()

        def forward(self, x: Any) -> Any:
            return self.relu(self.relu(x) - 1)

    module = from_exported_program(exported(Shared(), torch.randn(2)))
    names = [binding.var.name_hint for block in module["main"].body.blocks for binding in block.bindings]
    assert names == ["relu", "sub", "relu_1", "gv"]


def test_the_sample_is_an_import() -> None:
    program = exported(models.ResNet(), torch.randn(1, 3, 224, 224))
    module = from_exported_program(program, keep_params_as_input=True, unwrap_unit_return_tuple=True)
    text = detach_params(module)[0].script()
    for kind, name in (("mean", "mean"), ("var", "variance")):
        pattern = rf'I\.constant\("[^"]*running_{kind}", R\.Tensor\(\((\d+),\), "float32"\)\)'
        text = re.sub(pattern, rf"{name}_\1", text)
    sample = tvms.load(Path(__file__).parents[2] / "samples/12_resnet18.tvms").script()
    statistics = re.compile(r"(mean|variance)_\d+ = ")
    kept = [line for line in sample.splitlines() if not line.strip().startswith("#") and not statistics.search(line)]
    assert text.splitlines()[1:] == kept


class Sliced(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("places", torch.tensor([[0, 3], [2, 2]]))

    def forward(self, x: Any) -> Any:
        return x.narrow(1, 1, 2).softmax(-1)[1], x.sum((-1, 0)), x.gather(-1, self.places)


class Updated(nn.Module):
    def forward(self, x: Any) -> Any:
        y = x.narrow(1, 1, 2).softmax(-1)
        y[0] = 0
        return y.relu_()


def test_operators_with_rows_are_not_decomposed() -> None:
    """Operators and axes stay as the model wrote them, unless an operator changes a tensor."""
    module = check(Sliced(), torch.randn(2, 4))
    text = module.script()
    for call in ("R.strided_slice(x, (R.prim_value(1),), (R.prim_value(1),), (R.prim_value(3),))", "axis=[-1, 0]"):
        assert call in text
    assert "narrow = " in text
    check(Updated(), torch.randn(2, 4))


def test_weights_are_not_copied() -> None:
    model = Small()
    program = exported(model, torch.randn(2, 4))
    module = from_exported_program(program, keep_params_as_input=True)
    kept = module["main"].attrs["params"][0]
    assert np.shares_memory(kept.data, program.state_dict["fc1.weight"].detach().numpy())


def test_tied_weights_are_one_constant() -> None:
    module = from_exported_program(exported(models.GPT(20, 8, 16, 1, 2), ids(1, 4)))
    assert module.script().count('I.constant("wte.weight"') == 2
    assert "head.weight" not in module.script()


def test_parameters_as_inputs() -> None:
    model, x = Small(), torch.randn(2, 4)
    module = from_exported_program(exported(model, x), keep_params_as_input=True, unwrap_unit_return_tuple=True)
    assert module["main"].attrs["num_input"] == 1
    plain, params = detach_params(module)
    assert "params" not in plain["main"].attrs
    assert [param.name_hint for param in plain["main"].params] == [
        "x",
        "fc1_weight",
        "fc1_bias",
        "fc2_weight",
        "fc2_bias",
    ]
    got = tvms.compile(plain)["main"](x.numpy(), *params["main"])
    np.testing.assert_allclose(np.asarray(got), model(x).detach().numpy(), 1e-5, 1e-6)


def test_forms_of_the_result() -> None:
    program = exported(Small(), torch.randn(2, 4))
    texts = [
        str(from_exported_program(program, **{option: True}) if option else from_exported_program(program)).splitlines()
        for option in ("", "unwrap_unit_return_tuple", "no_bind_return_tuple")
    ]
    assert [text[-3].strip() for text in texts] == ["gv = (mul,)", "gv = mul", "gv = mul"]
    assert [text[-1].strip() for text in texts] == ["return gv", "return gv", "return (gv,)"]


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x: Any) -> Any:
        self.seen.add_(x)
        return self.seen * 2


def test_updated_buffers_are_inputs_and_results() -> None:
    module = from_exported_program(exported(Counter(), torch.ones(3)))
    function = tvms.compile(module)["main"]
    result, seen = function(np.full(3, 2, "float32"), np.ones(3, "float32"))
    np.testing.assert_array_equal(np.asarray(result), [6, 6, 6])
    np.testing.assert_array_equal(np.asarray(seen), [3, 3, 3])


def test_sizes_that_vary_and_their_ranges() -> None:
    module = check(Small(), torch.randn(3, 4), dynamic_shapes={"x": {0: Dim("rows", min=3, max=16)}})
    function = tvms.compile(module)["main"]
    for rows in (2, 17):
        with pytest.raises(tvms.TvmsError) as raised:
            function(np.ones((rows, 4), "float32"))
        reason = "dimension 0 of 'x' is declared to be between 3 and 16"
        assert str(raised.value) == f"error[E0711]: assertion failed: {reason}"


def test_sizes_that_depend_on_data() -> None:
    class Chosen(nn.Module):
        def forward(self, x: Any) -> Any:
            return x[x > 0] * 2

    x = torch.tensor([1.0, -1.0, 2.0])
    module = from_exported_program(exported(Chosen(), x))
    for values in ([1, -1, 2], [-1, -2, -3]):
        made = tvms.interpret(module, "main", [np.array(values, "float32")])[0]
        np.testing.assert_array_equal(made, Chosen()(torch.tensor(values, dtype=torch.float32)).numpy())


class Unknown(nn.Module):
    def forward(self, x: Any) -> Any:
        y = torch.rand(2, 2)
        return torch.linalg.qr(x)[0] + y


def test_all_unsupported_operators_are_one_error() -> None:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    first = lines.index("        y = torch.rand(2, 2)") + 1
    with pytest.raises(tvms.TvmsError) as raised:
        from_exported_program(exported(Unknown(), torch.rand(2, 2)))
    assert str(raised.value).replace(__file__, "model.py").splitlines() == [
        "error[E1001]: 2 operators of the model have no converter: rand.default, linalg_qr.default",
        f"    --> model.py:{first}:9",
        "     |",
        f" {first} |         y = torch.rand(2, 2)",
        "     |         ^^^^^^^^^^^^^^^^^^^^",
        '     = help: give a function that converts it: custom_convert_map={"rand.default": lambda node, converter: …}',
        "note: linalg_qr.default is used here",
        f"    --> model.py:{first + 1}:9",
        "     |",
        f" {first + 1} |         return torch.linalg.qr(x)[0] + y",
        "     |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
    ]


def test_converters_of_the_caller() -> None:
    from tvms import relax

    def halved(node: Any, converter: Any) -> Any:
        x = converter.env[node.args[0]]
        return converter.block_builder.emit(relax.op.multiply(x, relax.const(0.5, "float32")))

    class Random(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.bernoulli(x) + 1

    program = exported(Random(), torch.rand(2))
    module = from_exported_program(program, custom_convert_map={"bernoulli.default": halved})
    made = tvms.interpret(module, "main", [np.array([2, 4], "float32")])[0]
    np.testing.assert_array_equal(made, [2, 3])


def test_operators_without_a_row_are_decomposed() -> None:
    class Composite(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.diff(x, dim=-1), torch.nn.functional.grid_sample(x[None, None], torch.zeros(1, 2, 2, 2))

    check(Composite(), torch.randn(3, 4))


class Chooser(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda y: self.first(y), lambda y: self.second(y) - 1, (x,))


@pytest.mark.parametrize("sign", [1, -1])
def test_conditions(sign: int) -> None:
    torch.manual_seed(0)
    model, x = Chooser(), torch.ones(2, 3)
    module = from_exported_program(exported(model, x))
    assert tvms.verify(module) == ()
    made = tvms.compile(module)["main"](sign * x.numpy())[0]
    np.testing.assert_allclose(np.asarray(made), model(sign * x).detach().numpy(), 1e-5, 1e-5)


def test_loops() -> None:
    from torch._higher_order_ops.while_loop import while_loop

    class Loop(nn.Module):
        def forward(self, count: Any, x: Any) -> Any:
            return while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * 2), (count, x))

    check(Loop(), torch.tensor(2), torch.ones(3))


def test_maps() -> None:
    from torch._higher_order_ops.map import map as torch_map

    class Mapped(nn.Module):
        def forward(self, xs: Any, y: Any) -> Any:
            return torch_map(lambda x, y: x * y + 1, xs, y)

    check(Mapped(), torch.randn(3, 2), torch.randn(2))


def test_a_model_that_was_not_exported() -> None:
    with pytest.raises(tvms.TvmsError) as raised:
        from_exported_program(Small())
    assert str(raised.value) == (
        "error[E0702]: the model is of type Small, not ExportedProgram\n"
        "  = help: export it first: torch.export.export(model, inputs)"
    )


def test_sizes_that_are_only_in_expressions() -> None:
    class Halves(nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            a, b = x.chunk(2)
            return x.reshape(2, -1, 4).sum(0) + a * b, torch.cat([x, y])

    half = Dim("half", min=2, max=8)
    module = check(
        Halves(), torch.randn(6, 4), torch.randn(7, 4), dynamic_shapes={"x": {0: 2 * half}, "y": {0: 2 * half + 1}}
    )
    assert 'main(x: R.Tensor(("x_dim0", 4), "float32"), y: R.Tensor(("x_dim0 + 1", 4), "float32"))' in module.script()
    function = tvms.compile(module)["main"]
    reasons = {5: "dimension 0 of 'x' is declared to be 2*half", 18: "'half' is declared to be at most 8"}
    for rows, reason in reasons.items():
        with pytest.raises(tvms.TvmsError) as raised:
            function(np.ones((rows, 4), "float32"), np.ones((rows + 1, 4), "float32"))
        assert str(raised.value) == f"error[E0711]: assertion failed: {reason}"
    assert function(np.ones((16, 4), "float32"), np.ones((17, 4), "float32"))[1].shape == (33, 4)


@pytest.mark.parametrize("name", ["batch", "x", "T", "int64", "main", "gv"])
def test_sizes_have_the_names_of_the_user(name: str) -> None:
    program = exported(Small(), torch.randn(6, 4), dynamic_shapes={"x": {0: Dim(name, max=8)}})
    module = from_exported_program(program)
    text = module.script()
    assert tvms.parse(text).script() == text
    assert ('x: R.Tensor(("batch", 4), "float32")' in text) == (name == "batch")
    assert np.asarray(tvms.compile(module)["main"](np.ones((3, 4), "float32"))[0]).shape == (3, 2)


def test_bags_of_embeddings() -> None:
    check(nn.EmbeddingBag(10, 4, mode="mean"), torch.randint(0, 10, (7,)), torch.tensor([0, 3]))


def test_caches_are_inputs_and_results() -> None:
    class Cache(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("keys", torch.zeros(1, 8, 4))

        def forward(self, x: Any, place: Any) -> Any:
            self.keys[:, place] = x
            return self.keys.sum()

    x = torch.ones(1, 1, 4)
    module = from_exported_program(exported(Cache(), x, torch.tensor([2])))
    total, keys = tvms.compile(module)["main"](x.numpy(), np.array([2]), np.zeros((1, 8, 4), "float32"))
    assert float(np.asarray(total)) == 4.0
    np.testing.assert_array_equal(np.asarray(keys)[0, 2], [1, 1, 1, 1])
