"""Layouts of inputs that follow from layouts of outputs."""

from __future__ import annotations

from typing import Any

import pytest
import tvms
from tvms import relax, tir
from tvms.testing import assert_equivalent

POOL = """
T.prim_func main(x: T.Buffer((2, 8, 6, 6), "float32"), bias: T.Buffer((8,), "float32"), y: T.Buffer((2, 8, 3, 3), "float32")):
    z = T.alloc_buffer((2, 8, 6, 6))
    for a, b, c, d in T.grid(2, 8, 6, 6):
        with T.block("biased"):
            n, f, h, w = T.axis.remap("SSSS", [a, b, c, d])
            z[n, f, h, w] = x[n, f, h, w] + bias[f]
    for a, b, c, d, e, g in T.grid(2, 8, 3, 3, 2, 2):
        with T.block("pool"):
            n, f, h, w, i, j = T.axis.remap("SSSSRR", [a, b, c, d, e, g])
            with T.init():
                y[n, f, h, w] = T.float32(0)
            y[n, f, h, w] = y[n, f, h, w] + z[n, f, h * 2 + i, w * 2 + j]
"""


def suggested(function: Any, *maps: Any) -> dict[str, dict[str, str]]:
    found: Any = relax.analysis.suggest_layout_transforms(function, list(maps))

    def name(node: Any) -> str:
        return node.name_hint if isinstance(node, tir.Block) else node.name

    return {
        name(block): {name(key): [str(index) for index in change.final_indices] for key, change in changes.items()}
        for block, changes in found.items()
    }


def applied(function: Any, *maps: Any) -> Any:
    schedule = tvms.Schedule(function)
    for block, changes in relax.analysis.suggest_layout_transforms(function, list(maps)).items():
        for key, change in changes.items():
            if isinstance(key, tir.Block):
                schedule.transform_block_layout(key.name_hint, change)
            elif key in function.buffer_map.values() and key.name in ("x", "y", "bias"):
                continue  # a parameter would get another shape
            else:
                schedule.transform_layout(schedule.get_block(block.name_hint), key, change)
    return schedule.mod["main"]


def test_layouts_follow_through_blocks() -> None:
    function = tvms.parse(POOL)["main"]
    found = suggested(function, lambda n, f, h, w: (n, f // 4, h, w, f % 4))
    tiled = ["i0", "i1 // 4", "i2", "i3", "i1 % 4"]
    assert found == {
        "biased": {"biased": ["n", "f // 4", "h", "w", "f % 4"], "bias": ["i0 // 4", "i0 % 4"], "x": tiled},
        "pool": {
            "pool": ["n", "f // 4", "h", "w", "i", "j", "f % 4"],
            "y": ["n", "f // 4", "h", "w", "f % 4"],
            "z": tiled,
        },
    }
    assert_equivalent(function, applied(function, lambda n, f, h, w: (n, f // 4, h, w, f % 4)))


@pytest.mark.parametrize(
    "change",
    [lambda n, f, h, w: (n, f // 3, h, w, f % 3), lambda n, f, h, w: (n, f, h // 2, w)],
    ids=["uneven", "lossy"],
)
def test_maps_that_are_not_one_to_one_suggest_nothing(change: Any) -> None:
    assert suggested(tvms.parse(POOL)["main"], change) == {}


def test_maps_that_do_not_fit_are_refused() -> None:
    function = tvms.parse(POOL)["main"]
    with pytest.raises(tvms.TvmsError, match=r"'y' has 4 dimensions, the map takes 3"):
        relax.analysis.suggest_layout_transforms(function, [lambda n, h, w: (n, w, h)])
    with pytest.raises(tvms.TvmsError, match=r"4 maps for 3 buffers"):
        relax.analysis.suggest_layout_transforms(function, [lambda n, f, h, w: (n, h, w, f)] * 4)
