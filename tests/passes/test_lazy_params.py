"""`LazyGetInput`, `LazySetOutput` and `LazyTransformParams`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from tvms import relax

WEIGHTS = """
R.function transform_params(a: R.Tensor((2, "n"), "float32"), b: R.Tensor((4,), "float32"), c: R.Tensor((4,), "float32")):
    d = R.permute_dims(a)
    e = R.add(b, b)
    return (d, e, b, R.const(2.0, "float32"), e)
"""
TUPLE = """
R.function main_transform_params(params: R.Tuple(R.Tensor((2, "n"), "float32"), R.Tensor((4,), "float32"))):
    with R.dataflow():
        b = params[1]
        a = params[0]
        d = R.permute_dims(a)
        e = R.add(b, b)
        out = (d, e, b, R.const(2.0, "float32"), e)
        R.output(out)
    return out
"""
VALUES = (np.arange(6, dtype="float32").reshape(2, 3), np.arange(4, dtype="float32"))
RESULTS = (VALUES[0].T, VALUES[1] * 2, VALUES[1], np.float32(2), VALUES[1] * 2)


class Store:
    """The weights that programs read, and the results that they hand over."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.results: dict[int, Any] = {}

    def get(self, index: int, *name: Any) -> Any:
        self.events.append(f"get {index}")
        return VALUES[int(index)]

    def put(self, index: int, value: Any) -> None:
        self.events.append(f"set {index}")
        self.results[int(index)] = np.array(value)

    def check(self) -> None:
        assert sorted(self.results) == [0, 1, 2, 3, 4]
        for index, expected in enumerate(RESULTS):
            np.testing.assert_array_equal(self.results[index], expected)


@pytest.fixture
def store() -> Store:
    store = Store()
    tvms.register_func("get_item", store.get, override=True)
    tvms.register_func("set_item", store.put, override=True)
    return store


@pytest.mark.parametrize("text", [WEIGHTS, TUPLE])
def test_weights_are_loaded_before_their_first_use(text: str, store: Store) -> None:
    module = relax.transform.LazyTransformParams()(tvms.parse(text))
    assert not tvms.verify(module)
    (name,) = module.functions
    assert tvms.compile(module)[name]() == ()
    store.check()
    if text is WEIGHTS:  # the third weight is never loaded; results that are used no more leave at once
        assert store.events == ["get 0", "set 0", "get 1", "set 2", "set 1", "set 4", "set 3"]
    else:
        assert module.script().count("R.vm.kill_object(") == 2


def test_results_may_be_returned(store: Store) -> None:
    module = relax.transform.LazyTransformParams(fset_item=None)(tvms.parse(TUPLE))
    for value, expected in zip(tvms.compile(module)["main_transform_params"](), RESULTS, strict=True):
        np.testing.assert_array_equal(np.asarray(value), expected)


def test_more_arguments_of_the_functions() -> None:
    loader, setter = relax.Var("loader", relax.ObjectStructInfo()), relax.Var("setter", relax.ObjectStructInfo())
    module = relax.transform.LazyTransformParams(extra_get_item_params=[loader], extra_set_item_params=[setter])(
        tvms.parse(WEIGHTS)
    )
    text = module.script()
    assert "transform_params(loader: R.Object, setter: R.Object)" in text
    assert 'R.call_packed("get_item", loader, R.prim_value(0),' in text
    assert 'R.call_packed("set_item", setter, R.prim_value(0),' in text
    assert not tvms.verify(module)


def test_parameters_that_get_weights_and_take_results(store: Store) -> None:
    module = tvms.parse(WEIGHTS.replace("transform_params", "f"))
    module = relax.transform.LazySetOutput()(relax.transform.LazyGetInput()(module))
    function = module["f"]
    assert [param.name_hint for param in function.params] == ["fget_param", "fset_output"]
    assert function.attrs["num_input"] == 2
    assert not tvms.verify(module)
    assert tvms.compile(module)["f"](store.get, store.put) == ()
    store.check()
    assert store.events == ["get 0", "set 0", "get 1", "set 2", "set 1", "set 4", "set 3"]


def test_inputs_stay() -> None:
    text = WEIGHTS.replace("transform_params", "f").replace("    d =", '    R.func_attr({"num_input": 1})\n    d =')
    function = relax.transform.LazyGetInput()(tvms.parse(text))["f"]
    assert [param.name_hint for param in function.params] == ["a", "fget_param"]
    function = relax.transform.LazySetOutput()(tvms.parse(text))["f"]
    assert [param.name_hint for param in function.params] == ["a", "fset_output", "b", "c"]
    assert function.attrs["num_input"] == 2


def test_a_tuple_that_is_used_as_a_whole_is_refused() -> None:
    text = TUPLE.replace("out = (d, e, b", "out = (d, e, params")
    with pytest.raises(tvms.TvmsError) as caught:
        relax.transform.LazyTransformParams()(tvms.parse(text))
    assert "error[E0906]: the tuple 'params' of weights is used as a whole" in str(caught.value)
    assert "= help: read its fields, such as params[0]" in str(caught.value)


def test_external_functions_without_a_type_have_side_effects() -> None:
    called: list[int] = []
    tvms.register_func("test.effect", lambda: called.append(1), override=True)
    call = relax.Call(relax.ExternFunc("test.effect"), [], None, [relax.ObjectStructInfo()])
    binding = relax.VarBinding(relax.Var("_", relax.ObjectStructInfo()), call)
    body = relax.SeqExpr([relax.BindingBlock([binding])], relax.const(1))
    function = relax.Function(
        [], body, relax.TensorStructInfo((), "int32"), is_pure=False, attrs={"global_symbol": "f"}
    )
    assert int(tvms.compile(tvms.IRModule({"f": function}))["f"]()) == 1
    assert called == [1]
