"""Write docs/onnx.md from the outcomes of onnx's own test suite.

    python docs/onnx_table.py OUTCOMES.json

OUTCOMES.json is written by `python bench/onnx_suite.py --kind all --json OUTCOMES.json`. The page has a row for each operator with a
case that fails, with the causes.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path
from textwrap import fill
from typing import Any

PAGE = Path(__file__).with_name("onnx.md")
KINDS = {
    "node": "operators, one case each",
    "simple": "small models",
    "pytorch-converted": "models converted from PyTorch",
    "pytorch-operator": "operators exported by PyTorch",
    "real": "networks with generated weights",
}
_HEAD = """# ONNX

`tvms.relax.frontend.onnx.from_onnx` and `tvms import model.onnx` read models of opset 1 to the newest of the package onnx (extra
`onnx`). Operators without a converter of their own are expanded by the bodies that the standard gives them. Sizes keep their
names, arithmetic on shapes is folded symbolically, and shapes that depend on data are checked and named at run time. Sequences
and optional values are tuples and objects of the program; texts are computed on the host.

    import tvms
    module = tvms.relax.frontend.onnx.from_onnx("model.onnx")
    function = tvms.compile(module)["main"]

A model is read without executing anything in it. Weights may be in other files below the model's folder, without links; they are
mapped to memory. What is damaged, or asks for other files, is an error that names the tensor or the node (E1002, E1006).

## onnx's own test suite

`tvms.relax.frontend.onnx.backend` is the interface of the suite (`onnx.backend.test.BackendTest(backend, __name__)`), and
`python bench/onnx_suite.py` runs its cases one by one. This page is generated from its outcomes by `docs/onnx_table.py`; programs
were compiled as usual.

"""
_REASONS = """
Why these cases do not pass:

- `Bernoulli` and `Dropout` in training draw random numbers. The standard does not define the generator, so the numbers that the
  suite expects are those of NumPy. Programs have no random state, so such a node is an error (E1004) even if it has a seed. Export
  the model for inference, or make the random tensor an input.
- `DFT`: the suite expects the rounding errors of a transform of float32, 1.9e-7, where the exact result is 0, and allows 1e-7. The
  result here is 3e-15.
- `Attention` of float16: 2 of 192 elements differ by one unit in the last place of float16, 1.04e-3 of the value; the suite
  allows 1e-3. Sums are of float32 here.
- `AffineGrid` passes; the case is its body in the standard, whose values have ranks that depend on conditions.
"""


def main() -> None:
    """Write the page."""
    outcomes: dict[str, dict[str, Any]] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    PAGE.write_text(_HEAD + _totals(outcomes) + _failures(outcomes) + domains(), encoding="utf-8")


def domains() -> str:
    """Return the section that lists the converters of operators outside of the standard's main domain."""
    from tvms.dsl.importers.onnx.table import TABLE

    found: dict[str, set[str]] = defaultdict(set)
    for row in TABLE:
        if row.domain:
            found[row.domain].add(row.operator)
    lines = ["", "## Operators of other domains", ""]
    lines += ["Tests compare those that onnxruntime executes on processors with onnxruntime, on random inputs.", ""]
    for domain, operators in sorted(found.items()):
        names = fill(f"`{domain}`: {', '.join(sorted(operators))}.", 128, initial_indent="- ", subsequent_indent="  ")
        lines.append(names)
    return "\n".join(lines) + "\n"


def _totals(outcomes: dict[str, dict[str, Any]]) -> str:
    counts: Counter[str] = Counter()
    passed: Counter[str] = Counter()
    special: Counter[str] = Counter()
    for name, result in outcomes.items():
        kind = name.partition("/")[0]
        counts[kind] += 1
        passed[kind] += not result["cause"]
        special[kind] += not result["cause"] and bool(result.get("specialized"))
    lines = ["| part | cases | pass | of these, for given values of some inputs |", "| --- | ---: | ---: | ---: |"]
    lines += [
        f"| {KINDS[kind]} | {counts[kind]} | {passed[kind]} | {special[kind]} |" for kind in KINDS if counts[kind]
    ]
    return "\n".join(lines) + "\n\n"


def _failures(outcomes: dict[str, dict[str, Any]]) -> str:
    by_operator: dict[str, list[tuple[str, str]]] = defaultdict(list)
    cases: Counter[str] = Counter()
    for name, result in outcomes.items():
        operator = _operator(name, result["operators"])
        cases[operator] += 1
        if result["cause"]:
            by_operator[operator].append((name.partition("/")[2], result["cause"]))
    if not by_operator:
        return "All cases pass.\n"
    lines = ["## Cases that do not pass", "", "| operator | cases | fail | causes |", "| --- | ---: | ---: | --- |"]
    for operator, failed in sorted(by_operator.items()):
        causes = Counter(_cause(cause) for _, cause in failed)
        shown = "; ".join(f"{cause} ({count})" if count > 1 else cause for cause, count in causes.most_common(4))
        lines.append(f"| {operator} | {cases[operator]} | {len(failed)} | {shown} |")
    return "\n".join(lines) + "\n" + _REASONS


def _operator(name: str, operators: list[str]) -> str:
    """Return the operator that a case is about: the only one, or the one whose name the case has."""
    if len(operators) == 1:
        return operators[0]
    kind, _, case = name.partition("/")
    plain = re.sub(r"[^a-z0-9]", "", case.removeprefix("test_"))
    fitting = [operator for operator in operators if plain.startswith(operator.rpartition(".")[2].lower())]
    return max(fitting, key=len) if fitting else f"several ({kind})"


def _cause(text: str) -> str:
    """Return a cause in a few words, without names of nodes and values."""
    found = re.sub(r"^TvmsError: error\[(E\d+)\]: (node '[^']*' \([^)]*\): )?", r"\1: ", text)
    found = found.partition(" = help")[0].partition(" --> ")[0]
    found = re.sub(r"Mismatched elements.*|Not equal to tolerance.*", "values differ", found)
    return found.replace("|", "\\|")[:120].strip()


if __name__ == "__main__":
    main()
