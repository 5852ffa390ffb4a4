"""Handing parts of a graph to a library: the program and the printed module of the description of the system."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from tvms import relax

PERCEPTRON = """\
@I.ir_module
class Module:
    @R.function
    def forward(x: R.Tensor((1, 784), dtype="float32"), fc1_weight: R.Tensor((256, 784), dtype="float32"), fc1_bias: R.Tensor((256,), dtype="float32"), fc2_weight: R.Tensor((10, 256), dtype="float32")) -> R.Tensor((1, 10), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            permute_dims: R.Tensor((784, 256), dtype="float32") = R.permute_dims(fc1_weight, axes=None)
            matmul: R.Tensor((1, 256), dtype="float32") = R.matmul(x, permute_dims, out_dtype="void")
            add: R.Tensor((1, 256), dtype="float32") = R.add(matmul, fc1_bias)
            relu: R.Tensor((1, 256), dtype="float32") = R.nn.relu(add)
            permute_dims1: R.Tensor((256, 10), dtype="float32") = R.permute_dims(fc2_weight, axes=None)
            matmul1: R.Tensor((1, 10), dtype="float32") = R.matmul(relu, permute_dims1, out_dtype="void")
            gv: R.Tensor((1, 10), dtype="float32") = matmul1
            R.output(gv)
        return gv
"""
DISPATCHED = """\
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    I.module_attrs({"external_mods": [metadata["runtime.Module"][0]]})
    @R.function
    def forward(x: R.Tensor((1, 784), dtype="float32"), fc1_weight: R.Tensor((256, 784), dtype="float32"), fc1_bias: R.Tensor((256,), dtype="float32"), fc2_weight: R.Tensor((10, 256), dtype="float32")) -> R.Tensor((1, 10), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv = R.call_dps_packed("fused_relax_permute_dims_relax_matmul_relax_add_relax_nn_relu_LIBRARY", (fc1_weight, x, fc1_bias), out_sinfo=R.Tensor((1, 256), dtype="float32"))
            permute_dims1: R.Tensor((256, 10), dtype="float32") = R.permute_dims(fc2_weight, axes=None)
            matmul1: R.Tensor((1, 10), dtype="float32") = R.matmul(lv, permute_dims1, out_dtype="void")
            gv: R.Tensor((1, 10), dtype="float32") = matmul1
            R.output(gv)
        return gv

# Metadata omitted. Use show_meta=True in script() method to show it."""


def dispatch(mod: Any, library: str) -> Any:
    import tvms.relax.backend.cuda.cublas as _cublas  # noqa: F401

    @tvms.transform.module_pass(opt_level=0, name="BlasDispatch")
    class BlasDispatch:
        def transform_module(self, mod: Any, _ctx: Any) -> Any:
            assert tvms.get_global_func(f"relax.ext.{library}", True)
            patterns = [relax.backend.get_pattern(f"{library}.matmul_transposed_bias_relu")]
            mod = relax.transform.FuseOpsByPattern(patterns, annotate_codegen=True)(mod)
            return relax.transform.RunCodegen()(mod)

    return BlasDispatch()(mod)


def arguments(mod: Any) -> list[Any]:
    random = np.random.default_rng(0)
    shapes = [[dim.value for dim in param.struct_info.shape.values] for param in mod["forward"].params]
    return [random.standard_normal(shape).astype("float32") for shape in shapes]


@pytest.mark.parametrize("library", ["cublas", "openblas"])
def test_the_dispatched_module_prints_as_described(library: str) -> None:
    mod = dispatch(tvms.parse(PERCEPTRON), library)
    assert mod.script("tvm-0.21") == DISPATCHED.replace("LIBRARY", library)
    assert tvms.structural_equal(tvms.parse(mod.script()), mod)
    assert not tvms.verify(mod)


@pytest.mark.parametrize("prefix", ["", ".matmul"])
def test_what_is_dispatched_computes_the_same(prefix: str) -> None:
    mod = tvms.parse(PERCEPTRON)
    patterns = relax.backend.get_patterns_with_prefix(f"openblas{prefix}")
    fused = relax.transform.FuseOpsByPattern(patterns, annotate_codegen=True)(mod)
    dispatched = relax.transform.RunCodegen()(fused)
    assert dispatched.script().count("R.call_dps_packed") == 2
    args = arguments(mod)
    wanted = tvms.interpret(mod, "forward", args)
    for result in (
        tvms.interpret(fused, "forward", args),
        tvms.interpret(dispatched, "forward", args),
        tvms.compile(dispatched)["forward"](*args),
    ):
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-4)


VARIANTS = {
    "plain": ("R.matmul(a, b)", "matmul", 1),
    "bias first": ("R.add(c, R.matmul(a, b))", "matmul_bias", 1),
    "gelu": ("R.nn.gelu(R.add(R.matmul(a, b), c))", "matmul_bias_gelu", 1),
    "same twice": ("R.matmul(a, R.permute_dims(a))", "matmul_transposed", 1),
    "not transposed": ("R.matmul(a, R.permute_dims(b, axes=[0, 1]))", "matmul", 1),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_variants(name: str) -> None:
    expression, composite, count = VARIANTS[name]
    text = f"""\
I.ir_module Module:
    R.function forward(a: R.Tensor((3, 4), "float32"), b: R.Tensor((4, 5), "float32"), c: R.Tensor((5,), "float32")) -> R.Tensor(ndim=2, dtype="float32"):
        with R.dataflow():
            gv = {expression}
            R.output(gv)
        return gv
"""
    mod = relax.transform.Normalize()(tvms.parse(text))
    patterns = relax.backend.get_patterns_with_prefix("openblas")
    dispatched = relax.transform.RunCodegen()(relax.transform.FuseOpsByPattern(patterns, annotate_codegen=True)(mod))
    assert dispatched.script().count("R.call_dps_packed") == count
    assert f'"composite": "{composite}"' in dispatched.script()
    args = arguments(mod)
    np.testing.assert_allclose(
        tvms.interpret(dispatched, "forward", args), tvms.interpret(mod, "forward", args), rtol=1e-5, atol=1e-5
    )


def test_an_unknown_library_is_said() -> None:
    mod = tvms.parse(PERCEPTRON)
    pattern = ("nolib.matmul", relax.dpl.is_op("relax.matmul")(relax.dpl.wildcard(), relax.dpl.wildcard()))
    fused = relax.transform.FuseOpsByPattern([pattern], annotate_codegen=True)(mod)
    with pytest.raises(tvms.TvmsError) as raised:
        relax.transform.RunCodegen()(fused)
    assert str(raised.value) == (
        "error[E0907]: library 'nolib' is not registered\n"
        "  = help: install the library, register_func('relax.ext.nolib', …), or use the patterns of another library"
    )


def test_patterns_of_ones_own_library_are_made_of_parts_with_names() -> None:
    from tvms.relax.backend.patterns import make_conv2d_pattern, make_residual_block_pattern
    from tvms.relax.backend.utils import has_leaking_intermediate_variables

    mod = tvms.parse("""#tvms 1

I.ir_module Module:
    R.function main(x: R.Tensor((1, 4, 8, 8), "float32"), w: R.Tensor((4, 4, 1, 1), "float32"), b: R.Tensor((1, 4, 1, 1), "float32")):
        with R.dataflow():
            a = R.nn.conv2d(x, w)
            c = R.nn.relu(R.add(a, b))
            d = R.nn.relu(R.add(x, c))
            R.output(d)
        return d
""")
    seen: list[list[str]] = []

    def check(context: relax.transform.PatternCheckContext) -> bool:
        seen.append(sorted(context.annotated_expr))
        return not has_leaking_intermediate_variables(context)

    block = make_residual_block_pattern(make_conv2d_pattern(True, "relax.nn.relu"), activation="relax.nn.relu")
    fused = relax.transform.FuseOpsByPattern([("library.block", *block, check)], annotate_codegen=True)(mod)
    assert seen == [["bias", "input", "residual", "root", "weight"]]
    assert list(fused.functions)[1:] == [
        "fused_relax_nn_conv2d_relax_add_relax_nn_relu_relax_add_relax_nn_relu_library"
    ]
