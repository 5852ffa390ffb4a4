"""What is generated from the declarations is current, and every form that is declared is exercised by a text."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from subprocess import run

import pytest
from tvms.dsl.load import parse
from tvms.dsl.reference.__main__ import GENERATED, main
from tvms.dsl.reference.catalogue import SECTIONS, forms
from tvms.ir.codes import CODES, FAMILIES, RETIRED
from tvms.ir.equal import structural_equal
from tvms.ir.ops.registry import families, relax_ops
from tvms.ir.ops.tir import INTRINSICS

ROOT = Path(__file__).parents[2]
TEXTS = sorted((ROOT / "tests/cases/forms").glob("*.tvms"))
NATIVE_ONLY = ("constants", "schedules", "tensor_memory", "warpgroups")
"""Texts of forms that Apache TVM does not have."""
_NOT_TEXT = re.compile(r"#.*|\"[^\"]*\"")


def test_generated_files_are_current() -> None:
    # in a fresh process, because other tests add passes and names
    result = run([sys.executable, "-m", "tvms.dsl.reference", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")


def test_check_names_stale_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in GENERATED:
        (tmp_path / path).parent.mkdir(exist_ok=True)
    assert main([], tmp_path) == 0
    (tmp_path / "docs/operators.md").write_text("older")
    (tmp_path / "docs/language.md").unlink()
    assert main(["--check"], tmp_path) == 1
    stale = "docs/language.md", "docs/operators.md"
    assert capsys.readouterr().err == "".join(f"{path} is stale: run python -m tvms.dsl.reference\n" for path in stale)


def test_every_form_says_what_it_means_and_has_its_place() -> None:
    assert [entry.name for entry in forms().values() if not entry.doc] == []
    assert {entry.section for entry in forms().values()} == set(SECTIONS)


def test_every_intrinsic_is_a_form_and_every_operator_of_a_family() -> None:
    assert {f"T.{row.script}" for row in INTRINSICS.values()} <= forms().keys()
    assert [name for names in families().values() for name in names] == list(relax_ops())
    assert {code[:3] for code in CODES} <= FAMILIES.keys()


def test_families_do_not_depend_on_what_is_imported_first() -> None:
    code = "import tvms.ir.ops.{0}, json\nfrom tvms.ir.ops.registry import families\nprint(json.dumps(list(families().items())))"
    for family in ("padding", "vision"):
        made = run([sys.executable, "-c", code.format(family)], capture_output=True, text=True, check=True)
        assert [(name, tuple(operators)) for name, operators in json.loads(made.stdout)] == [*families().items()]


def test_retired_codes_name_the_codes_that_replaced_them() -> None:
    assert RETIRED.keys() & CODES.keys() == set()
    assert set(re.findall(r"E\d{4}", " ".join(RETIRED.values()))) <= CODES.keys()


def test_every_form_is_exercised() -> None:
    text = "\n".join(_NOT_TEXT.sub("", path.read_text(encoding="utf-8")) for path in TEXTS)
    used = set(re.findall(r"\b[ITRS](?:\.\w+)+", text))
    used |= {f"{receiver}.{name}" for receiver in "Ax" for name in re.findall(r"\.(\w+)[(\[]", text)}
    declared = {*forms(), *(f"R.{op.script_name}" for op in relax_ops().values())}
    in_python_only = {"R.emit_te"}  # tests/dsl/test_script.py
    assert sorted(declared - used - in_python_only) == []


@pytest.mark.parametrize("dialect", ["tvms", "tvm-0.21", "tvm-0.27"])
@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_texts_of_forms_print_and_parse_back(path: Path, dialect: str) -> None:
    if path.stem in NATIVE_ONLY and dialect != "tvms":
        pytest.skip("Apache TVM does not have these forms")
    module = parse(path.read_text(encoding="utf-8"), path.name)
    text = module.script(dialect)
    again = parse(text, "printed")
    assert structural_equal(module, again, map_free_vars=True)
    assert again.script(dialect) == text
