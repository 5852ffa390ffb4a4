"""Operators become functions of the virtual machine."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from tvms import relax

PROGRAM = """
R.function(pure=False) main(x: R.Tensor((2, 6), "float32"), s: R.Tensor((2,), "int64")):
    storage = R.memory.alloc_storage(R.shape([48]), R.prim_value(0), R.str("global"), R.dtype("float32"))
    y = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([2, 6]), R.dtype("float32"))
    _ = R.call_packed("test.vm.identity", x, y, sinfo_args=[R.Tuple()])
    shape = R.tensor_to_shape(s)
    z = R.reshape(y, shape)
    d = R.shape_of(z)
    __1 = R.memory.kill_storage(storage)
    return (z, d)
"""


def test_lowered_programs_compute_the_same() -> None:
    import tvms.relax.testing.vm  # registers functions

    before = tvms.parse(PROGRAM)
    after = relax.transform.LowerRuntimeBuiltin()(before)
    text = after.script()
    for name in (
        "vm.alloc_storage",
        "vm.alloc_tensor",
        "vm.kill_object",
        "vm.builtin.tensor_to_shape",
        "vm.builtin.reshape",
    ):
        assert name in text
    assert "R.memory." not in text
    assert not tvms.verify(after)
    x, s = np.arange(12, dtype=np.float32).reshape(2, 6), np.int64([3, 4])
    for program in (before, after):
        for run in (tvms.compile(program)["main"], lambda *args, p=program: tvms.interpret(p, "main", args)):
            z, d = run(x, s)
            np.testing.assert_array_equal(z, x.reshape(3, 4))
            assert tuple(d) == (3, 4)


def test_allocations_that_are_not_lowered_are_refused() -> None:
    before = tvms.parse("""
R.function main():
    x = R.builtin.alloc_tensor(R.shape([2]), R.dtype("float32"), R.prim_value(0), R.str("global"))
    return x
""")
    with pytest.raises(tvms.TvmsError, match=r"E0914.*R.builtin.alloc_tensor is not lowered here"):
        relax.transform.VMBuiltinLower()(before)
    lowered = relax.transform.VMBuiltinLower()(relax.transform.LowerAllocTensor()(before))
    assert "R.vm.alloc_tensor" in lowered.script()


def test_lowered_views_compute_the_same_and_have_the_same_types() -> None:
    before = tvms.parse("""
R.function main(x: R.Tensor((2, 6), "float32")):
    a = R.memory.view(x, R.shape([3, 4]))
    b = R.memory.view(x, dtype=R.dtype("int32"))
    c = R.memory.view(x, R.shape([2]), R.dtype("uint8"), R.prim_value(4))
    return (a, b, c)
""")
    after = relax.transform.LowerRuntimeBuiltin()(before)
    assert "R.memory." not in after.script()
    assert not tvms.verify(after)
    assert tvms.structural_equal(tvms.parse(after.script()), after)
    types = [[binding.var.struct_info for binding in mod["main"].body.blocks[0].bindings] for mod in (before, after)]
    assert all(map(tvms.structural_equal, *types))
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    expected = (x.reshape(3, 4), x.view(np.int32), x.view(np.uint8).reshape(-1)[4:6])
    for program in (before, after):
        for results in (tvms.compile(program)["main"](x), tvms.interpret(program, "main", [x])):
            for result, wanted in zip(results, expected, strict=True):
                np.testing.assert_array_equal(result, wanted)
