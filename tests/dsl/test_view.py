"""Pictures of programs: every function, loop, block and value is in them, edges point down, boxes never overlap."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import pytest
import tvms
from tvms.dsl.cli import main
from tvms.dsl.load import load_verified
from tvms.dsl.view import picture
from tvms.dsl.view.layout import place
from tvms.ir import relax, tir
from tvms.ir.visit import walk

SAMPLES = sorted((Path(__file__).parents[2] / "samples").glob("*.tvms"))
SVG = "{http://www.w3.org/2000/svg}"


def test_one_function_is_drawn(tmp_path: Path) -> None:
    path, picture_of_main = SAMPLES[3], tmp_path / "main.svg"
    assert main(["view", str(path), "--entry", "main", "-o", str(picture_of_main)]) == 0
    texts = ET.fromstring(picture_of_main.read_text()).iter(f"{SVG}text")
    assert [text.text for text in texts if text.get("class") == "title"] == ["main"]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_everything_is_in_the_picture(path: Path) -> None:
    module = tvms.load(path)
    drawn = ET.fromstring(picture(module, path.name))
    said = [text.text or "" for text in drawn.iter(f"{SVG}text")]
    assert all(name in said for name in module.functions)
    boxes = [box.get("class") for box in drawn.iter(f"{SVG}rect")]
    nodes = [node for function in module.functions.values() for node in walk(function)]
    blocks = [node for node in nodes if isinstance(node, tir.Block) and (node.name_hint != "root" or node.iter_vars)]
    assert boxes.count("block") == len(blocks)
    assert all(f"block {block.name_hint}" in said for block in blocks)
    calls = [node.value for node in nodes if isinstance(node, relax.VarBinding) and isinstance(node.value, relax.Call)]
    assert boxes.count("operator") + boxes.count("kernel") == len(calls)
    kinds = ("serial", "parallel", "vectorized", "unrolled", "thread")
    assert sum(map(boxes.count, kinds)) == sum(isinstance(node, tir.For) for node in nodes)


@pytest.mark.parametrize("seed", range(20))
def test_edges_point_down_and_boxes_stand_apart(seed: int) -> None:
    choice = random.Random(seed)
    sizes = {name: (choice.randrange(20, 200), choice.randrange(20, 60)) for name in range(choice.randrange(1, 30))}
    pairs = [(choice.randrange(end), end) for end in sizes for _ in range(choice.randrange(0, 3)) if end]
    layout = place(sizes, list(dict.fromkeys(pairs)))
    for route in layout.routes.values():
        downs = [y for _, y in route]
        assert downs == sorted(downs)
        assert route[0] != route[-1]
    boxes = [(*layout.corners[name], *size) for name, size in sizes.items()]
    for number, (x, y, width, height) in enumerate(boxes):
        assert 0 <= x <= layout.width - width + 1e-6
        assert 0 <= y <= layout.height - height + 1e-6
        for left, top, across, down in boxes[:number]:
            assert x >= left + across or left >= x + width or y >= top + down or top >= y + height
    for route in layout.routes.values():
        for (x, y), (next_x, next_y) in pairwise(route):
            for left, top, across, down in boxes:
                assert max(x, next_x) <= left or min(x, next_x) >= left + across or next_y <= top or y >= top + down


def test_branches_constants_and_what_needs_escaping() -> None:
    module = tvms.parse("""
R.function main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(("n", 4), "float32"):
    n = T.int64()
    if c:
        y = R.call_dps_packed("a<b>&c", (x,), out_sinfo=R.Tensor((n, 4), "float32"))
    else:
        y = R.add(x, R.const(1.0, "float32"))
    return y
""")
    drawn = ET.fromstring(picture(module, "branches"))
    said = [text.text for text in drawn.iter(f"{SVG}text")]
    assert {"a<b>&c", "R.add", "if … else", "constant", "(n, 4) float32", "() bool", "return"} <= {*said}


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = str(SAMPLES[0])
    assert main(["view", path]) == 0
    assert capsys.readouterr().out == f"{SAMPLES[0].stem}.svg\n"
    ET.parse(tmp_path / f"{SAMPLES[0].stem}.svg")
    assert main(["view", path, "-o", "page.html"]) == 0
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!doctype html>\n")
    assert (tmp_path / f"{SAMPLES[0].stem}.svg").read_text() in page
    assert main(["view", path, "-o", "page.pdf"]) == 2
    assert (
        capsys.readouterr().err
        == "error[E0801]: -o page.pdf: expected a .svg or .html file, or - for standard output\n"
    )
    assert main(["view", path, "-o", "-"]) == 0
    assert capsys.readouterr().out == (tmp_path / f"{SAMPLES[0].stem}.svg").read_text()


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_boxes_have_the_lines_of_what_they_show(path: Path) -> None:
    module, source = load_verified(str(path)), path.read_text().splitlines()
    boxes = list(ET.fromstring(picture(module, path.name)).iter(f"{SVG}rect"))
    lines = [
        (box.attrib["class"], source[int(box.attrib["data-line"]) - 1]) for box in boxes if "data-line" in box.attrib
    ]
    assert all("T.block" in line for kind, line in lines if kind == "block")
    assert all("for " in line or "T.thread_binding" in line for kind, line in lines if kind in ("serial", "parallel"))
    assert all(any(kind in line for kind in ("R.", "return")) for kind, line in lines if kind == "operator")
    assert len(lines) >= len(boxes) / 2
