"""Graphs of torch.fx and of torch.compile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch, the extra 'torch', is not installed")

import tvms  # noqa: E402  # after the check that there is anything to test
from torch import fx, nn  # noqa: E402
from tvms import relax, tir, topi  # noqa: E402
from tvms.relax.frontend.torch import dynamo_capture_subgraphs, from_fx, relax_dynamo  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning", "ignore::DeprecationWarning")


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.drop = nn.Dropout(0.5)
        self.fc = nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        y = torch.relu(self.conv(x)).mean(dim=[2, 3])
        return self.fc(self.drop(y.contiguous()))


def test_modules_functions_and_methods() -> None:
    model, x = Net(), torch.randn(2, 3, 8, 8)
    graph = fx.symbolic_trace(model)
    module = from_fx(graph, [((2, 3, 8, 8), "float32")])
    assert tvms.structural_equal(module, from_fx(graph, [((2, 3, 8, 8), torch.float32)]))
    assert graph.training
    assert [param.name_hint for param in module["main"].params] == ["inp_0"]
    assert 'I.constant("conv.weight"' in module.script()
    got = tvms.compile(module)["main"](x.numpy())
    np.testing.assert_allclose(np.asarray(got), model.eval()(x).detach().numpy(), 1e-4, 1e-4)


def test_sizes_that_vary() -> None:
    n = tir.Var("n", "int64")
    module = from_fx(fx.symbolic_trace(nn.Linear(4, 2)), [((n, 4), "float32")], keep_params_as_input=True)
    main = module["main"]
    assert [param.name_hint for param in main.params] == ["inp_0", "bias", "weight"]
    assert str(main.params[0].struct_info) == 'R.Tensor((n, 4), "float32")'
    assert str(main.ret_struct_info) == 'R.Tensor((n, 2), "float32")'


def test_converters_of_the_caller() -> None:
    def doubled(node: Any, importer: Any) -> Any:
        x = importer.env[node.args[0]]
        return importer.block_builder.emit(relax.op.add(x, x))

    class Relu(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.relu(x) + 1

    module = from_fx(fx.symbolic_trace(Relu()), [((2,), "float32")], custom_convert_map={"relu": doubled})
    np.testing.assert_array_equal(tvms.interpret(module, "main", [np.ones(2, "float32")]), [3, 3])


def lines_of(function: Any) -> list[str]:
    """Return the bindings of the program of a function of one tensor of shape (4, 3), without the frame."""

    class Model(nn.Module):
        def forward(self, x: Any) -> Any:
            return function(x)

    text = from_fx(fx.symbolic_trace(Model()), [((4, 3), "float32")]).script()
    return [line.strip() for line in text.splitlines() if line.startswith(" " * 12)][:-1]


def test_one_result_is_returned_as_it_is() -> None:
    """The parts of an operator as its tuple, a size as a shape, and a number as a constant."""
    assert lines_of(lambda x: x.split(2)) == [
        "split_parts = R.split(inp_0, indices_or_sections=2)",
        "gv = split_parts",
    ]
    assert lines_of(lambda x: x.size()) == ["gv: R.Shape([4, 3]) = R.shape([4, 3])"]
    assert lines_of(lambda x: x.numel()) == ['gv = R.const(12, "int32")']
    assert lines_of(lambda x: x.split(2)[0]) == [
        "split_parts = R.split(inp_0, indices_or_sections=2)",
        "split = split_parts[0]",
        "gv = split",
    ]


def test_nothing_is_dropped_in_inference() -> None:
    assert lines_of(lambda x: nn.functional.dropout(x, 0.5, True)) == ["gv = inp_0"]


def test_what_torch_cannot_export_is_one_error() -> None:
    with pytest.raises(tvms.TvmsError) as raised:
        from_fx(fx.symbolic_trace(nn.Linear(4, 2)), [((3, 5), "float32")])
    (problem,) = raised.value.diagnostics
    assert problem.code == "E1004"
    assert problem.message.startswith("torch cannot export the graph: ")


def test_a_module_that_was_not_traced() -> None:
    with pytest.raises(tvms.TvmsError) as raised:
        from_fx(nn.Linear(4, 2), [((3, 4), "float32")])
    assert str(raised.value) == (
        "error[E0702]: the model is of type Linear, not GraphModule\n"
        "  = help: trace it first: torch.fx.symbolic_trace(model)"
    )


def test_a_converter_as_the_lessons_write_it() -> None:
    """The user's own walk over a graph, with a block builder, tensor expressions and operators."""

    class MLP(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear0 = nn.Linear(8, 6)
            self.relu = nn.ReLU()
            self.linear1 = nn.Linear(6, 3)

        def forward(self, x: Any) -> Any:
            return self.linear1(self.relu(self.linear0(x)))

    def parameter(value: Any) -> Any:
        info = relax.TensorStructInfo(tuple(value.shape), "float32")
        return relax.const(value.data.cpu().numpy(), info)

    def convert(model: Any, shape: tuple[int, ...], by_te: bool) -> tvms.IRModule:
        values: dict[Any, Any] = {}
        modules = dict(model.named_modules())
        builder = relax.BlockBuilder()
        inputs: list[Any] = []
        with builder.function("main"):
            with builder.dataflow():
                for node in model.graph.nodes:
                    if node.op == "placeholder":
                        values[node] = relax.Var(node.target, relax.TensorStructInfo(shape, "float32"))
                        inputs.append(values[node])
                    elif node.op == "call_module":
                        x, layer = values[node.args[0]], modules[node.target]
                        if isinstance(layer, nn.ReLU):
                            values[node] = (
                                builder.emit_te(topi.nn.relu, x) if by_te else builder.emit(relax.op.nn.relu(x))
                            )
                            continue
                        weight, bias = parameter(layer.weight), parameter(layer.bias)
                        if by_te:
                            values[node] = builder.emit_te(topi.add, builder.emit_te(topi.nn.dense, x, weight), bias)
                        else:
                            values[node] = builder.emit(relax.op.linear(x, weight, bias))
                    elif node.op == "output":
                        output = builder.emit_output(values[node.args[0]])
            builder.emit_func_output(output, inputs)
        return builder.get()

    model, x = MLP(), torch.randn(1, 8)
    for by_te in (False, True):
        module = convert(fx.symbolic_trace(model), (1, 8), by_te)
        got = tvms.compile(module)["main"](x.numpy())
        np.testing.assert_allclose(np.asarray(got), model(x).detach().numpy(), 1e-5, 1e-5)


class Branching(nn.Module):
    def forward(self, x: Any) -> Any:
        y = torch.sin(x)
        if y.sum() > 0:
            return y * 2
        return y - 1


def test_subgraphs_of_a_call() -> None:
    module = dynamo_capture_subgraphs(Branching(), torch.ones(3))
    assert list(module.functions) == ["subgraph_0", "subgraph_1"]
    assert module["subgraph_1"].attrs["global_symbol"] == "subgraph_1"


def test_backend_of_torch_compile() -> None:
    model = Net().eval()
    compiled = torch.compile(model, backend=relax_dynamo())
    x = torch.randn(2, 3, 8, 8)
    with torch.no_grad():
        np.testing.assert_allclose(compiled(x).numpy(), model(x).numpy(), 1e-4, 1e-4)
        branching = torch.compile(Branching(), backend=relax_dynamo())
        for values in (torch.ones(3), -torch.ones(3)):
            np.testing.assert_allclose(branching(values).numpy(), Branching()(values).numpy(), 1e-5, 1e-5)
