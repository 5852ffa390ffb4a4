"""Lists and mappings of parameters and modules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from tvms.relax.frontend import nn


class Scaled(nn.Module):
    def __init__(self) -> None:
        self.biases = nn.ParameterList([nn.Parameter((4,), "float32"), nn.Parameter((4,), "float32")])
        self.scales = nn.ParameterDict({"main": nn.Parameter((4,), "float32")})

    def forward(self, x: Any) -> Any:
        return (x + self.biases[0] + self.biases[1]) * self.scales["main"]


class Outer(nn.Module):
    def __init__(self) -> None:
        self.blocks = nn.ModuleDict({"inner": Scaled()})

    def forward(self, x: Any) -> Any:
        return self.blocks["inner"](x)


def test_parameters_in_containers_have_names_and_values() -> None:
    names = ["blocks.inner.biases.0", "blocks.inner.biases.1", "blocks.inner.scales.main"]
    module, params = Outer().export_tvm({"forward": {"x": nn.spec.Tensor((4,), "float32")}})
    assert [name for name, _ in params] == names == list(Outer().state_dict())
    x, a, b, c = (np.full(4, value, np.float32) for value in (1, 2, 3, 4))
    np.testing.assert_array_equal(tvms.compile(module)["forward"](x, a, b, c), (x + a + b) * c)


def test_containers_behave_as_lists_and_mappings() -> None:
    first, second = nn.Parameter((4,), "float32"), nn.Parameter((4,), "float32")
    numbered = nn.ParameterList([first])
    numbered.extend([second])
    numbered[0] = second
    assert list(numbered) == [second, second]
    assert len(numbered) == 2
    named = nn.ParameterDict({"a": first})
    named.update({"b": second})
    assert (list(named), "b" in named, named.pop("b"), len(named)) == (["a", "b"], True, second, 1)
    named.clear()
    assert not list(named.items())


@pytest.mark.parametrize(
    "make", [lambda: nn.ParameterList([1]), lambda: nn.ParameterDict({"a": 1}), lambda: nn.ModuleDict({1: Scaled()})]
)  # type: ignore[reportArgumentType]
def test_other_values_are_refused(make: Any) -> None:
    with pytest.raises(TypeError, match="expected"):
        make()


def test_mutators_replace_parts_of_containers() -> None:
    seen: list[str] = []

    class Halved(nn.Mutator):
        def visit_param(self, name: str, node: nn.Parameter) -> Any:
            seen.append(name)
            return nn.Parameter((2,), "float32")

    module = Outer()
    Halved().visit_module("", module)
    assert seen == list(module.state_dict())
    assert {tuple(int(size) for size in param.shape) for param in module.parameters()} == {(2,)}


def test_the_dtype_of_all_parameters_changes() -> None:
    module = Outer()
    module.to("float16")
    assert {param.dtype for param in module.parameters()} == {"float16"}
