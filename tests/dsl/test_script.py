"""TVMScript inside Python programs (`tvms.script`)."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tvms
from tvms import relax, te, tir, topi
from tvms.ir.visit import walk
from tvms.script import from_source
from tvms.script import ir as I
from tvms.script import relax as R
from tvms.script import tir as T

n, dtype = 8, "float32"


@I.ir_module
class Doubled:
    @T.prim_func
    def double(A: T.Buffer((n,), dtype), B: T.Buffer((n,), dtype)) -> None:
        # by two
        for i in range(n):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] * T.cast(2, dtype)

    @R.function
    def main(x: R.Tensor((n,), dtype)) -> R.Tensor((n,), dtype):
        cls = Doubled
        return R.call_tir(cls.double, (x,), out_sinfo=R.Tensor((n,), dtype))


TEXT = """\
I.ir_module Doubled:
    T.prim_func double(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        # by two
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] * T.cast(2, "float32")
    R.function main(x: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        cls = Doubled
        return R.call_tir(cls.double, (x,), out_sinfo=R.Tensor((8,), "float32"))
"""


def test_a_class_is_the_module_that_its_text_says() -> None:
    assert isinstance(Doubled, tvms.IRModule)
    tvms.ir.assert_structural_equal(Doubled, tvms.parse(TEXT))
    assert "# by two" in Doubled.script()


def test_a_function_is_one_and_takes_values_from_around_it() -> None:
    extent, other = 4, I

    @T.prim_func(private=True)
    def fill(A: T.Buffer((extent, n), "int32")) -> None:
        for i, j in T.grid(extent, n):
            A[i, j] = i

    @R.function(pure=False)
    def main(x: R.Tensor(("m", extent), dtype)) -> R.Tensor(("m", extent), dtype):
        return x

    assert isinstance(fill, tvms.PrimFunc)
    assert [int(size.value) for size in fill.buffer_map[fill.params[0]].shape] == [4, 8]
    assert isinstance(main, tvms.Function)
    assert not main.is_pure
    assert other is I


class Pair:
    """What is defined in a class that is no module."""

    @T.prim_func
    def before(A: T.Buffer((n,), dtype)) -> None:
        A[0] = T.float32(1)


def test_a_function_of_another_class_stands_alone() -> None:
    assert isinstance(Pair.before, tvms.PrimFunc)
    assert isinstance(Pair().before, tvms.PrimFunc)


def test_types_are_values() -> None:
    m = T.int64()
    x = relax.Var("x", R.Tensor((m, 4), "float32"))
    assert str(relax.op.nn.relu(x).struct_info) == 'R.Tensor((v, 4), "float32")'
    assert isinstance(R.Tuple(R.Object(), R.Shape([m, 2])), relax.TupleStructInfo)
    assert isinstance(R.Callable((R.Object(),), R.Prim("int64")), relax.FuncStructInfo)


def test_devices_are_values() -> None:
    assert str(I.vdevice("llvm", 1)) == 'I.vdevice({"kind": "llvm"}, 1, "global")'
    x = relax.Var("x", R.Tensor((4,), "float32", I.vdevice("llvm")))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        y = bb.emit_te(topi.add, x, x)
        bb.emit_func_output(y)
    assert isinstance(y.struct_info, relax.TensorStructInfo)
    assert str(y.struct_info.vdevice) == str(I.vdevice("llvm"))


def test_hints_take_devices_of_programs_and_of_python() -> None:
    x = relax.Var("x", R.Tensor((4,), "float32"))
    written = tvms.parse("R.function f(x: R.Tensor((4,), 'float32')):\n    return R.hint_on_device(x, R.device(2, 1))")
    calls = [relax.op.hint_on_device(x, device) for device in (tvms.cuda(1), R.cuda(1), R.device(2, 1))]
    (expected,) = [node for node in walk(written) if isinstance(node, relax.Call)]
    for call in calls:
        tvms.ir.assert_structural_equal(call, expected, map_free_vars=True)
    assert str(relax.op.hint_on_device(x, R.cpu())) == "R.hint_on_device(x, dst_vdevice=R.device(1, 0))"


def test_a_text_takes_extra_vars() -> None:
    text = "@T.prim_func\ndef f(A: T.Buffer(shape, 'int8')):\n    A[0] = zero"
    func = from_source(text, {"shape": [4], "zero": tvms.tir.IntImm("int8", 0), "unused": SimpleNamespace()})
    tvms.ir.assert_structural_equal(func, from_source(text, {"shape": (4,), "zero": 0}))


def test_mistakes_are_told_where_they_stand() -> None:
    with pytest.raises(tvms.TvmsError) as caught:

        @T.prim_func
        def wrong(A: T.Buffer((4,), "float32")) -> None:
            A[0] = missing  # noqa: F821  # type: ignore[reportUndefinedVariable]

    line = test_mistakes_are_told_where_they_stand.__code__.co_firstlineno + 5
    assert f"test_script.py:{line}:12" in str(caught.value)
    assert "name 'missing' is not defined" in str(caught.value)


def test_the_law_holds_unless_it_is_not_asked_for() -> None:
    for head in ("T.prim_func f",):
        text = f"{head}(A: T.Buffer((4,), 'int8')):\n    A[4] = T.int8(0)"
        with pytest.raises(tvms.TvmsError, match="E0414"):
            from_source(text)
        assert isinstance(from_source(text, check_well_formed=False), tvms.PrimFunc)


def test_a_source_that_is_not_there_is_an_error() -> None:
    names: dict[str, object] = {}
    exec("def f(A): pass", names)
    with pytest.raises(tvms.TvmsError) as caught:
        from_source(names["f"])
    assert str(caught.value) == (
        "error[E0019]: the source of 'f' is not available\n  = help: write it to a file, or give its text to tvms.parse"
    )


def test_what_is_no_struct_info_is_refused() -> None:
    with pytest.raises(tvms.TvmsError, match=r"E0315.*is not struct info"):
        relax.Var("x", R.Tensor(("m", 4), "float32"))


def test_programs_that_differ_are_told_apart() -> None:
    with pytest.raises(ValueError, match=r"the programs differ: at .*: "):
        tvms.ir.assert_structural_equal(Doubled, tvms.parse(TEXT.replace("* T.cast(2", "* T.cast(3")))


@pytest.mark.parametrize(("operator", "called"), [(R.abs, "R.abs(x)"), (R.nn.relu, "R.nn.relu(x)")])
def test_operators_by_a_variable_and_by_their_place_in_tvm(operator: object, called: str) -> None:
    @R.function
    def named(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        lv = operator(x)
        return relax.op.add(lv, lv)

    assert f"lv = {called}" in str(named)
    assert "R.add(lv, lv)" in str(named)


def test_members_of_a_dialect_are_types_in_a_tuple_and_not_iterable() -> None:
    assert R.Tuple(R.Object) == R.Tuple(R.Object()) == R.Tuple([R.Object])
    assert R.Tuple(R.Tensor((2,), "float32"), R.Object) == R.Tuple(R.Tensor((2,), "float32"), R.Object())
    for member in (R, R.Object, R.nn):
        with pytest.raises(TypeError, match="'Dialect' object is not iterable"):
            list(member)


@pytest.mark.parametrize("op", [R.nn.relu, relax.op.nn.relu])
def test_operators_are_called_by_the_names_of_python_variables(op: object) -> None:
    @R.function(private=True)
    def function(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return op(x)

    (binding,) = function.body.blocks[0].bindings
    assert str(binding.value) == "R.nn.relu(x)"


def test_types_without_arguments_are_struct_info() -> None:
    proxy = R.entry.StructInfoProxy
    assert isinstance(R.Object, proxy)
    assert not isinstance(R.Object(), proxy)
    assert R.Object.as_struct_info() == relax.ObjectStructInfo()


SHADOWING = """\
@T.prim_func
def f(a: T.handle):
    k = T.int32()
    A = T.match_buffer(a, (4, k))
    for i, k in T.grid(4, 4):
        with T.block("zero"):
            i, k = T.axis.remap("SS", [i, k])
            A[i, k] = 0.0
"""


def test_loop_variables_and_axes_may_reuse_names_in_decorated_texts_only() -> None:
    made = from_source(SHADOWING.replace('with T.block("zero")', "with T.block()"), check_well_formed=False)
    names = [node.loop_var.name for node in walk(made) if isinstance(node, tir.For)]
    assert names == ["i", "k"]
    decorated = from_source(SHADOWING.partition("with T.block")[0] + "A[i, k] = 0.0", check_well_formed=False)
    native = SHADOWING.replace("@T.prim_func\ndef f", "T.prim_func f")
    with pytest.raises(tvms.TvmsError, match="loop variable 'k' shadows the variable 'k'"):
        tvms.parse(native)
    assert isinstance(decorated, tvms.PrimFunc)


def doubled(x: te.Tensor, factor: int = 2) -> te.Tensor:
    return te.compute(x.shape, lambda i: x[i] * factor, "doubled")


def test_modules_and_functions_around_a_definition_have_their_meaning() -> None:
    sizes = {"rows": 4}

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((sizes["rows"],), "float32")) -> R.Tensor((4,), "float32"):
            lv = R.emit_te(doubled, x, factor=3)
            lv1 = R.emit_te(doubled, lv, factor=3)
            lv2 = R.emit_te(doubled, lv1, primfunc_name_hint="main", primfunc_attrs={"op_pattern": 0})
            return R.add(lv2, R.const(np.full((4,), 1, "float32")))

    assert list(Module.functions) == ["main", "doubled", "main1"]
    assert Module["main1"].attrs["op_pattern"] == 0
    result = tvms.interpret(Module, "main", [np.ones(4, "float32")])
    np.testing.assert_array_equal(np.asarray(result), np.full(4, 19, "float32"))
    tvms.ir.assert_structural_equal(tvms.parse(Module.script()), Module)


def raising(x: object) -> object:
    raise KeyError("no such layer")


def no_function_of_tensors(x: te.Tensor) -> int:
    return 1


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("raising(x)", "E0207]: the Python function 'raising' raised KeyError: 'no such layer'"),
        ("np.no_name", "E0103]: 'numpy' has no attribute 'no_name'"),
        ("np.__loader__", "E0103]: 'numpy' has no attribute '__loader__'"),
        ("R.emit_te(np, x)", "E0202]: expected a Python function of tensors, got"),
        (
            "R.emit_te(no_function_of_tensors, x)",
            "E0207]: 'no_function_of_tensors' cannot build a loop function: 'no_function_of_tensors' must return one or "
            "several tensors, not 1",
        ),
        ("R.const(np)", "E0321]: the Python object 'numpy' is not a tensor"),
    ],
)
def test_mistakes_with_values_of_python_are_told(value: str, reason: str, tmp_path: Path) -> None:
    """Write and load a Python module, because the source of a decorated function must be in a file."""
    text = (
        "import numpy as np\nfrom tvms.script import relax as R\n"
        '@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    return {value}\n'
    )
    path = tmp_path / "written.py"
    path.write_text(text.format(value=value))
    spec = importlib.util.spec_from_file_location("written", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    module.__dict__.update(raising=raising, no_function_of_tensors=no_function_of_tensors)
    with pytest.raises(tvms.TvmsError) as caught:
        spec.loader.exec_module(module)
    assert reason in str(caught.value)


def test_a_text_alone_calls_no_python() -> None:
    with pytest.raises(tvms.TvmsError, match=r"E0101.*'raising' is not defined"):
        from_source('@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    return raising(x)', {"raising": raising})


def test_the_result_of_a_python_function_has_its_inferred_type() -> None:
    @R.function
    def f(x: R.Tensor((2, 3), "float32")) -> R.Tensor(None, "float32", ndim=2):
        return R.permute_dims(x)

    @R.function
    def kept(x: R.Tensor(None, "float32", ndim=2)) -> R.Tensor(None, "float32", ndim=2):
        m = T.int64()
        lv = R.match_cast(x, R.Tensor((m, 3), "float32"))
        return lv  # noqa: RET504

    assert f.ret_struct_info == R.Tensor((3, 2), "float32")
    assert kept.ret_struct_info == R.Tensor(None, "float32", ndim=2)


def test_operators_of_the_dialect_are_functions_of_values() -> None:
    x = relax.Var("x", R.Tensor((2,), "float32"))
    assert R.add(x, x).struct_info == R.Tensor((2,), "float32")
    with pytest.raises(tvms.TvmsError, match="E0326"):
        R.add(x, relax.Var("y", R.Tensor((3,), "float32")))


def test_loop_level_functions_of_the_dialect_are_functions_of_values() -> None:
    n = tir.Var("n", "int64")
    size = T.cast(T.ceil(T.cast(T.max(n, T.min(8, n)), "float32")), "int64")
    assert str(R.Tensor((size,), "float32").shape[0]) == str(size)
    assert size.dtype == "int64"


def test_unknown_dimensions_may_be_values_of_the_program() -> None:
    shape, ndim = None, 2

    @R.function(private=True)
    def function(s: R.Shape(shape, ndim=ndim), x: R.Tensor(shape, "float32", ndim=ndim)) -> R.Shape(ndim=2):
        return s

    assert function.params[0].struct_info == R.Shape(ndim=2)
    assert function.params[1].struct_info == R.Tensor("float32", ndim=2)


def test_comments_for_tools_are_not_of_the_program() -> None:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):  # type: ignore
        # fmt: off
        y = R.add(x, x)
        # A comment of the program, not of a tool
        return R.abs(y)  # the result

    text = main.script()
    assert "type:" not in text
    assert "fmt:" not in text
    assert "E501" not in text
    assert "# A comment of the program, not of a tool" in text
    assert "# the result" in text


def test_iterators_outside_of_texts_are_nodes() -> None:
    thread = tir.Var("tx", "int32")
    axis = T.iter_var(thread, tvms.ir.Range(0, 128), "ThreadIndex", "threadIdx.x")
    assert isinstance(axis, tir.IterVar)
    assert (axis.var, axis.thread_tag, axis.iter_type) == (thread, "threadIdx.x", tvms.ir.tir.IterVarType.THREAD_INDEX)
    assert T.iter_var("i", None, "DataPar", "").var.name == "i"


def test_a_function_calls_a_function_of_another_module() -> None:
    @I.ir_module
    class Other:
        @R.function(private=True)
        def twice(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return R.add(x, x)

    twice = Other.get_global_var("twice")

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return twice(x)

    Other["main"] = main
    assert not tvms.verify(Other)
    x = np.arange(4, dtype="float32")
    np.testing.assert_array_equal(tvms.interpret(Other, "main", [x]), 2 * x)
