"""The frame of passes: contexts, sequences, instruments, passes made of functions and classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from msgspec.structs import replace
from tvms.ir.passes.instrument import PassInstrument, PassTimingInstrument, PrintAfterAll, VerifyEach
from tvms.ir.passes.transform import (
    PassContext,
    Sequential,
    dataflowblock_pass,
    function_pass,
    get_pass,
    module_pass,
    passes,
    prim_func_pass,
)

TEXT = """\
I.ir_module Module:
    T.prim_func copy(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("copy"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi]

    R.function main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.add(x, x)
        return y
"""


@pytest.fixture
def mod() -> Any:
    return tvms.parse(TEXT)


def mark(name: str) -> Any:
    """A pass that writes its name into the attributes of the module."""

    @module_pass(opt_level=0, name=name)
    def run(mod: Any, ctx: PassContext) -> Any:
        return replace(mod, attrs={**mod.attrs, name: len(mod.attrs)})

    return run


def test_passes_run_in_order(mod: Any) -> None:
    assert Sequential([mark("a"), mark("b"), Sequential([mark("c")])])(mod).attrs == {"a": 0, "b": 1, "c": 2}


def test_a_context_leaves_out_passes(mod: Any) -> None:
    @module_pass(opt_level=3)
    def late(mod: Any, ctx: PassContext) -> Any:
        return mark("late")(mod)

    both = Sequential([mark("a"), late])
    assert list(both(mod).attrs) == ["a"]
    with PassContext(opt_level=3):
        assert list(both(mod).attrs) == ["a", "late"]
        with PassContext(disabled_pass=["a"]):
            assert list(both(mod).attrs) == []
    with PassContext(required_pass=["late"]):
        assert list(both(mod).attrs) == ["a", "late"]
    assert late.info.name == "late"


def test_a_required_pass_runs_before(mod: Any) -> None:
    @module_pass(opt_level=0, required=["LegalizeOps"])
    def after(mod: Any, ctx: PassContext) -> Any:
        assert "add" in mod.functions
        return mod

    Sequential([after])(mod)


def test_a_class_is_a_pass(mod: Any) -> None:
    @module_pass(opt_level=0, name="Named")
    class Mark:
        """Marks."""

        def __init__(self, value: int) -> None:
            self.value = value

        def transform_module(self, mod: Any, ctx: PassContext) -> Any:
            return replace(mod, attrs={"value": self.value})

    made = Mark(7)
    assert (made.info.name, made.value, Mark.__doc__) == ("Named", 7, "Marks.")
    assert made(mod).attrs == {"value": 7}


def test_passes_of_one_kind_of_function(mod: Any) -> None:
    seen: list[str] = []

    def look(function: Any, mod: Any, ctx: PassContext) -> Any:
        seen.append(type(function).__name__)
        return function

    assert function_pass(look)(mod).functions == mod.functions
    assert prim_func_pass(look)(mod).functions == mod.functions
    assert seen == ["Function", "PrimFunc"]


def test_instruments_look_on(mod: Any, capsys: pytest.CaptureFixture[str]) -> None:
    events: list[str] = []

    class Log(PassInstrument):
        def enter_pass_ctx(self) -> None:
            events.append("enter")

        def exit_pass_ctx(self) -> None:
            events.append("exit")

        def should_run(self, mod: Any, info: Any) -> bool:
            return info.name != "never"

        def run_before_pass(self, mod: Any, info: Any) -> None:
            events.append(f"before {info.name}")

        def run_after_pass(self, mod: Any, info: Any) -> None:
            events.append(f"after {info.name}")

    timing = PassTimingInstrument()
    with PassContext(instruments=[Log(), timing, PrintAfterAll()]):
        result = Sequential([mark("a"), mark("never")])(mod)
    assert events == ["enter", "before sequential", "before a", "after a", "after sequential", "exit"]
    assert [line.split(":")[0] for line in timing.render().splitlines()] == ["sequential", "  a"]
    assert f"# --- after a\n{result.script()}\n" in capsys.readouterr().out


def test_a_pass_that_breaks_the_law_is_named(mod: Any) -> None:
    @module_pass(opt_level=0, name="Break")
    def run(mod: Any, ctx: PassContext) -> Any:
        return tvms.parse(TEXT.replace("B[vi] = A[vi]", "B[vi + 4] = A[vi]"))

    with PassContext(instruments=[VerifyEach()]), pytest.raises(tvms.TvmsError) as raised:
        run(mod)
    assert str(raised.value).splitlines()[0] == "error[E0904]: pass 'Break' breaks the law of the IR"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda mod: get_pass("LegaliseOps"),
            "error[E0903]: unknown pass 'LegaliseOps'\n  = help: did you mean 'LegalizeOps'?",
        ),
        (
            lambda mod: get_pass("ToNonDataflow", 1, 2),
            "error[E0105]: ToNonDataflow: expected at most 0 arguments by position, got 2\n  = help: write ToNonDataflow()",
        ),
        (
            lambda mod: get_pass("LegalizeOps")(mod["main"]),
            "error[E0901]: pass 'LegalizeOps' expects a module, got a Function\n"
            "  = help: wrap a function in a module first: IRModule({name: function})",
        ),
        (
            lambda mod: module_pass(lambda mod, ctx: None, name="Nothing")(mod),
            "error[E0901]: pass 'Nothing' returned a NoneType, not a module\n"
            "  = help: return the given module, or a changed copy",
        ),
    ],
)
def test_misuse_says_what_to_do(mod: Any, call: Any, message: str) -> None:
    with pytest.raises(tvms.TvmsError) as raised:
        call(mod)
    assert str(raised.value) == message


@pytest.mark.parametrize("name", passes())
def test_every_pass_is_documented(name: str) -> None:
    assert passes()[name].__doc__


def test_two_casts_cannot_find_two_sizes_for_one_dimension() -> None:
    mod = tvms.parse(
        'R.function main(x: R.Tensor((2,), "float32"), y: R.Tensor((3,), "float32")):\n'
        "    n = T.int64()\n"
        '    a = R.match_cast(x, R.Tensor((n,), "float32"))\n'
        '    b = R.match_cast(y, R.Tensor((n,), "float32"))\n'
        "    return (a, b)\n",
        "casts.tvms",
    )
    with pytest.raises(tvms.TvmsError) as raised:
        get_pass("CanonicalizeBindings")(mod)
    assert str(raised.value) == (
        "error[E0909]: 'n' is 2 by 'a', and 3 by 'b'\n"
        "  --> casts.tvms:4:5\n"
        "   |\n"
        ' 4 |     b = R.match_cast(y, R.Tensor((n,), "float32"))\n'
        "   |     ^\n"
        "   = help: give different dimensions different names"
    )


def test_public_functions_get_their_symbols_for_names() -> None:
    mod = tvms.parse(
        "I.ir_module Module:\n"
        '    R.function(private=True) f() -> R.Tensor((), "int32"):\n'
        '        return R.const(1, "int32")\n\n'
        '    R.function main() -> R.Tensor((), "int32"):\n'
        "        gv = Module.f()\n"
        "        return gv\n"
    )
    outer = replace(mod["main"], attrs={"global_symbol": "f"})
    after = get_pass("NormalizeGlobalVar")(replace(mod, functions={"f": mod["f"], "main": outer}))
    assert list(after.functions) == ["f1", "f"]
    assert "= Module.f1()" in after.script()
    assert not tvms.verify(after)
    free = replace(mod, functions={"f": mod["f"], "f1": outer})
    assert list(get_pass("NormalizeGlobalVar")(free).functions) == ["f1", "f"]
    with pytest.raises(tvms.TvmsError) as raised:
        get_pass("NormalizeGlobalVar")(tvms.IRModule({"first": outer, "main": outer}))
    assert str(raised.value).startswith("error[E0910]: 'main' and another function have the symbol 'f'\n")


def test_parameters_are_said_to_be_something_else() -> None:
    mod = tvms.parse(
        'R.function main(x: R.Tensor((16,), "float32"), weight: R.Tensor((32, 16), "float32")) -> R.Tensor((32,), "float32"):\n'
        '    y: R.Tensor((32,), "float32") = R.matmul(weight, x)\n'
        "    return y\n"
    )
    wide = tvms.relax.TensorStructInfo((64, 16), "float32")
    after = get_pass("UpdateParamStructInfo", lambda param: wide if param.name_hint == "weight" else None)(mod)
    assert after.script() == mod.script().replace("32, 16", "64, 16").replace("(32,)", "(64,)").replace(
        'y: R.Tensor((64,), "float32") =', "y ="
    )


def test_passes_of_dataflow_blocks() -> None:
    text = """
R.function main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    y = R.exp(x)
    with R.dataflow():
        lv = R.negative(y)
        gv = R.exp(y)
        R.output(gv)
    return gv
"""

    @dataflowblock_pass(opt_level=1)
    class KeepLast:
        def transform_dataflowblock(self, block: Any, mod: Any, ctx: PassContext) -> Any:
            return replace(block, bindings=block.bindings[-1:])

    after = KeepLast()(tvms.parse(text))
    assert tvms.structural_equal(after, tvms.parse(text.replace("        lv = R.negative(y)\n", "")))


PARTS = """
I.ir_module Module:
    R.function main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.add(x, x)
        z = Module.helper(y)
        return z

    R.function(private=True) helper(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        unused = R.exp(x)
        y = R.add(x, x)
        return y

    R.function other(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.add(x, x)
        return y
"""


def test_a_pass_is_applied_to_the_functions_of_matching_names() -> None:
    from tvms.ir.transform import ApplyPassToFunction

    before = tvms.parse(PARTS)
    after = ApplyPassToFunction(get_pass("LegalizeOps"), "main|o.*")(before)
    assert set(after.functions) == {"main", "helper", "other", "add"}
    assert after["helper"] is before["helper"]
    tvms.verify(after)
    x = np.arange(4, dtype=np.float32)
    assert tvms.interpret(after, "main", [x]).tolist() == [0, 4, 8, 12]


def test_functions_that_others_call_survive_a_pass_that_removes_them() -> None:
    from tvms.ir.transform import ApplyPassToFunction

    before = tvms.parse(PARTS)
    after = ApplyPassToFunction(get_pass("DeadCodeElimination"), "helper")(before)
    assert set(after.functions) == {"main", "helper", "other"}
    with pytest.raises(tvms.TvmsError) as raised:
        ApplyPassToFunction(get_pass("DeadCodeElimination"), "hel", True)(before)
    assert str(raised.value) == (
        "error[E0902]: no function matches 'hel'\n  = help: functions are: main, helper, other"
    )  # fmt: skip
