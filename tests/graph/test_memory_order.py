"""Passes that bring bindings into another order leave in-place calls after what reads the memory that they overwrite."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
import tvms
from tvms import relax
from tvms.ir.passes.memory_order import MemoryOrder
from tvms.relax.dpl import is_op, wildcard

HEAD = """#tvms 1

I.ir_module Module:
    T.prim_func(private=True) double(A: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("double"):
                vi = T.axis.spatial(4, i)
                A[vi] = A[vi] * T.float32(2)

"""


def module(*lines: str) -> tvms.IRModule:
    body = "".join(f"            {line}\n" for line in lines)
    return tvms.parse(
        f'{HEAD}    R.function main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):\n'
        f"        with R.dataflow():\n{body}            R.output(out)\n        return out\n"
    )


def doubled(name: str) -> str:
    return f'R.call_tir_inplace(Module.double, ({name},), inplace_indices=[0], out_sinfo=R.Tensor((4,), "float32"))'


def random_module(choose: Random, length: int = 12) -> tvms.IRModule:
    """Return a program of operators, views and in-place calls; what was overwritten is not used under an older name."""
    lines, live = list[str](), [{"v0"}, {"v1"}]
    lines += ["v0 = R.add(x, y)", "v1 = R.multiply(x, y)"]
    for number in range(2, length):
        name, memory = f"v{number}", choose.choice(live)
        one, other = choose.choice(sorted(memory)), choose.choice(sorted(choose.choice(live)))
        match choose.randrange(5):
            case 0:
                lines.append(f"{name} = {doubled(one)}")
                live = [members for members in live if members is not memory] + [{name}]
            case 1:
                lines.append(f"{name} = R.reshape({one}, R.shape([4]))")
                memory.add(name)
            case 2:
                lines.append(f"{name} = R.negative({one})")
                live.append({name})
            case _:
                lines.append(f"{name} = R.add({one}, {other})")
                live.append({name})
    names = sorted(name for memory in live for name in memory)
    lines += [f"s{n} = R.add({'s' + str(n - 1) if n else names[0]}, {name})" for n, name in enumerate(names)]
    return module(*lines, f"out = R.negative(s{len(names) - 1})")


PATTERNS = [
    ("library.sum", is_op("relax.add")(is_op("relax.negative")(wildcard()), wildcard())),
    ("library.negative", is_op("relax.negative")(wildcard())),
    ("library.add", is_op("relax.add")(wildcard(), wildcard())),
]
KERNELS = [relax.transform.LegalizeOps(), relax.transform.AnnotateTIROpPattern(), relax.transform.FuseOps()]
PASSES = {
    **{
        f"{order} {direction}": [relax.transform.TopologicalSort(order, direction)]
        for order in ("depth-first", "breadth-first")
        for direction in ("from-inputs", "from-outputs")
    },
    "kernels": KERNELS,
    "all kernels": [*KERNELS, relax.transform.FuseTIR(), relax.transform.TopologicalSort()],
    "patterns": [relax.transform.FuseOpsByPattern(PATTERNS)],
    "libraries": [relax.transform.FuseOpsByPattern(PATTERNS), relax.transform.MergeCompositeFunctions()],
    "shared": [relax.transform.EliminateCommonSubexpr(), relax.transform.CanonicalizeBindings()],
}


@pytest.mark.parametrize("passes", PASSES)
def test_passes_keep_what_is_read_before_it_is_overwritten(passes: str, random: np.random.Generator) -> None:
    args = [np.arange(4, dtype="float32"), np.full(4, 3, "float32")]
    for seed in random.integers(1 << 32, size=6):
        before = random_module(Random(int(seed)))
        assert not tvms.verify(before)
        after = tvms.transform.Sequential(PASSES[passes])(before)
        expected = tvms.interpret(before, "main", [arg.copy() for arg in args])
        np.testing.assert_array_equal(
            tvms.interpret(after, "main", [arg.copy() for arg in args]), expected, str(before)
        )


def test_compiled_programs_read_before_they_overwrite(random: np.random.Generator) -> None:
    args = [np.arange(4, dtype="float32"), np.full(4, 3, "float32")]
    for seed in random.integers(1 << 32, size=3):
        mod = random_module(Random(int(seed)))
        expected = tvms.interpret(mod, "main", [arg.copy() for arg in args])
        np.testing.assert_array_equal(tvms.compile(mod)["main"](*args), expected, str(mod))


def test_readers_of_any_name_come_first() -> None:
    mod = module(
        "a = R.add(x, x)", "b = R.reshape(a, R.shape([4]))", "c = R.negative(b)", f"d = {doubled('a')}",
        "e = R.negative(y)", "f = R.add(d, e)", "out = R.add(f, c)",
    )  # fmt: skip
    block = mod["main"].body.blocks[0]
    needs = {
        var.name_hint: [var.name_hint for var in kept] for var, kept in MemoryOrder(mod).needs(block.bindings).items()
    }
    assert {var: kept for var, kept in needs.items() if kept} == {"d": ["b", "c"], "f": ["d"]}


def test_a_transposed_copy_outlives_what_it_was_made_of() -> None:
    mod = tvms.parse("""#tvms 1

I.ir_module Module:
    T.prim_func(private=True) double(A: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.block("double"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = A[vi, vj] * T.float32(2)

    R.function main(x: R.Tensor((4, 4), "float32"), y: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            a = R.add(x, x)
            t = R.permute_dims(a)
            b = R.call_tir_inplace(Module.double, (a,), inplace_indices=[0], out_sinfo=R.Tensor((4, 4), "float32"))
            out = R.add(R.matmul(y, t), b)
            R.output(out)
        return out
""")
    x, y = np.arange(16, dtype="float32").reshape(4, 4), np.full((4, 4), 3, "float32")
    for result in (tvms.interpret(mod, "main", [x, y]), tvms.compile(mod)["main"](x, y)):
        np.testing.assert_array_equal(result, y @ (2 * x).T + 4 * x)
