"""How much real TVMScript is parsed, satisfies the laws of printing, and is accepted by apache-tvm after
printing.

    python bench/real_scripts.py [FOLDER [AREA ...]] [--peer PYTHON] [--json FILE]

FOLDER holds one definition per file, `<area>/<name>.py`, and `index.jsonl` with one object per line:
`file`, and `in_raises` if the text is a negative test. `--peer` names a Python interpreter that has
apache-tvm 0.27; it reads what tvms prints in its dialect. A module is *equal* if the original definition,
renamed to that dialect, is structurally equal in apache-tvm or, since some names have changed their
meaning, if the text that apache-tvm prints is the same module for tvms. Small constants are printed as
numbers, as `tvms convert` prints them. A definition with `check_well_formed=False` need not pass the
verifier. What apache-tvm does not accept as it was written is counted apart.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tvms
from msgspec.structs import replace
from tvms.dsl.compatibility import as_tvm_takes_them, dialect_of
from tvms.dsl.load import parse
from tvms.dsl.printer import script_with_constants
from tvms.dsl.round_trip import check_round_trip
from tvms.ir.base import IRModule, Node, Source, Target, VDevice
from tvms.ir.diagnostics import TvmsError
from tvms.ir.equal import first_difference
from tvms.ir.visit import rewrite

STAGES = ("parsed", "verified", "laws", "accepted", "equal")
"""The stages of a text, in order; each requires all before it."""

RENAMED = (
    (r"@T\.prim_func\(", "@T.prim_func(s_tir=True, "),
    (r"@T\.prim_func(?!\()", "@T.prim_func(s_tir=True)"),
    (r"\bT\.(block|block_attr|alloc_buffer)\b", r"T.s\1"),
    (r"\bT\.salloc_buffer\b", "T.sblock_alloc_buffer"),
    (r"T\.allocate\(([\[(][^\])]*[\])], *\"\w+\"), *(?:scope=)?(\"[\w.]+\")", r"T.alloc_buffer(\1, scope=\2"),
    (r"\bT\.ptx_mma\(", "T.ptx_legacy.mma("),
    (r",\s*(?:input_)?axis_separators=\[\]", ""),
    (r"\bout_sinfo=", "out_ty="),
    (r"\bout_dtype=\"void\"", "out_dtype=None"),
    (r"(\bR\.cum(?:sum|prod)\([^\n]*)\bdtype=\"void\"", r"\1dtype=None"),
    (r"\bsinfo_args=", "ty_args="),
    (r"([\"'])tir\.", r"\1tirx."),
    (r"(?m)^( +\w+): (T\.\w+(?:\([^()]*\))?) = ", r"\1: T.let[\2] = "),
    (r"(?m)(: T\.let\[(T\.handle\([^()]*\))\] = .*)dtype=\"handle\"\)$", r"\1dtype=\2.ty)"),
)
"""Patterns of older spellings, with their replacements in the peer's dialect."""


def renamed(text: str) -> str:
    """Return a text of TVM 0.21 with its names changed to those of the peer's dialect; newer texts stay."""
    if dialect_of(Source("", text)) == "tvm-0.27":
        return text
    for name in re.findall(r"(\w+) = T\.allocate\(", text):
        text = re.sub(rf"\b(data=|T\.attr\(){name}\b", rf"\1{name}.data", text)
    for pattern, replacement in RENAMED:
        text = re.sub(pattern, replacement, text)
    return text


PEER = """
import json, sys
from tvm_ffi import get_first_structural_mismatch, structural_equal
from tvm.script import from_source
import tvm
class Shown(dict):
    # Metadata that the text omits: tensors become variables without struct info, other objects their names.
    def __init__(self, make):
        self.make = make
    def __missing__(self, key):
        self[key] = self.make(key)
        return self[key]
def elements(kind):
    if kind == "relax.expr.Constant":
        return Shown(lambda index: tvm.relax.Var(f"constant_{index}", tvm.script.relax.Tensor()))
    return Shown(lambda index: f"{kind}[{index}]")
METADATA = Shown(elements)
def read(text):
    from tvm.script.tirx import tile as Tx
    names = {"Tx": Tx, **{name: getattr(tvm.script, module) for name, module in (("T", "tirx"), ("R", "relax"), ("I", "ir"))}}
    try:
        return from_source(text, extra_vars={**names, "tvm": tvm, "metadata": METADATA}, check_well_formed=False), None
    except BaseException as problem:
        lines = [line for line in str(problem).splitlines() if line.strip()]
        errors = [line for line in lines if line.lstrip().startswith("error:")]
        return None, (errors or lines or [type(problem).__name__])[0].strip()
for line in sys.stdin:
    task = json.loads(line)
    found, problem = read(task["text"])
    answer = {"problem": problem}
    if found is None:
        answer["original"] = read(task["original"])[1]
    else:
        original, answer["original"] = read(task["original"])
        answer["printed"] = found.script(show_meta=False)
        answer["same"] = None if original is None else structural_equal(found, original, map_free_vars=True)
        if answer["same"] is False:
            answer["mismatch"] = str(get_first_structural_mismatch(found, original, map_free_vars=True))
    print(json.dumps(answer), file=sys.stderr, flush=True)
"""


class Peer:
    """apache-tvm in a process of its own, which is restarted after a crash."""

    def __init__(self, python: str) -> None:
        self.command = [python, "-c", PEER]
        self.process: subprocess.Popen[str] | None = None

    def ask(self, text: str, original: str) -> dict[str, Any]:
        """Return the peer's answer about a text: `problem`, or `printed` and whether it is the `same` as the
        original.
        """
        if self.process is None:
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(
                self.command, stdin=pipe, stderr=pipe, stdout=subprocess.DEVNULL, text=True, bufsize=1
            )
        assert self.process.stdin is not None
        assert self.process.stderr is not None
        print(json.dumps({"text": text, "original": original}), file=self.process.stdin, flush=True)
        for line in self.process.stderr:
            if line.startswith('{"problem"'):
                return json.loads(line)
        self.process = None
        return {"problem": "the peer crashed"}


def first_line(problem: TvmsError) -> str:
    """Return the first error of a report."""
    return str(problem).splitlines()[0]


def _by_kind(node: Any) -> Node | None:
    """Return a target or device without its options, for which a peer fills in what its machine has."""
    if isinstance(node, Target):
        return replace(node, attrs={"kind": node.attrs.get("kind")})
    return replace(node, target={"kind": node.target.get("kind")}) if isinstance(node, VDevice) else None


def comparable(module: IRModule) -> Node:
    """Return the only function of a file without a module, whose name a peer may change; otherwise the module."""
    module = rewrite(module, _by_kind)
    functions = tuple(module.functions.values())
    return functions[0] if not module.name and len(functions) == 1 else module


def judge(path: Path, peer: Peer | None) -> tuple[int, str]:
    """Return the number of stages that the text at `path` reaches, and why it fails the next one."""
    text = path.read_text()
    try:
        module = parse(text, path.name)
    except TvmsError as problem:
        return 0, first_line(problem)
    wrong = [diagnostic for diagnostic in as_tvm_takes_them(tvms.verify(module)) if diagnostic.severity == "error"]
    if wrong and "check_well_formed=False" not in text:
        return 1, f"error[{wrong[0].code}]: {wrong[0].message}"
    broken = check_round_trip(module, path.stem)
    if broken:
        return 2, f"error[{broken[0].code}]: {broken[0].message.removeprefix(f'{path.stem}: ')}"
    return judge_with_peer(module, text, peer) if peer is not None else (3, "")


def judge_with_peer(module: IRModule, text: str, peer: Peer) -> tuple[int, str]:
    """Judge a module that satisfies the laws, as `judge` does."""
    printed, _ = script_with_constants(module, "tvm-0.27", shows_small=True)
    answer = peer.ask(printed, renamed(text))
    if answer["problem"] is not None:
        reason = str(answer["problem"])
        return 3, f"{reason} (nor as it was written)" if answer.get("original") is not None else reason
    if answer["same"]:
        return 5, ""
    try:
        again = parse(answer["printed"], "printed by the peer")
    except TvmsError as problem:
        return 4, f"the text that the peer prints is rejected: {first_line(problem)}"
    difference = first_difference(comparable(module), comparable(again), map_free_vars=True)
    if difference is None:
        return 5, ""
    found = f"the peer finds a difference at {answer.get('mismatch')}"
    return 4, f"{found}, and prints another program, which differs at {difference}"


def definitions(folder: Path, areas: list[str]) -> Iterator[tuple[str, Path]]:
    """Yield the area and path of each definition in `folder` that is not a negative test."""
    for line in (folder / "index.jsonl").read_text().splitlines():
        entry = json.loads(line)
        area = entry["file"].split("/")[0]
        if not entry.get("in_raises") and (not areas or area in areas):
            yield area, folder / entry["file"]


def main() -> None:
    """Print the table, followed by the failures with their causes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("real_scripts"))
    parser.add_argument("areas", nargs="*", help="default: all")
    parser.add_argument("--peer", help="a Python interpreter with apache-tvm 0.27")
    parser.add_argument("--json", type=Path, help="file for the result of each definition")
    arguments = parser.parse_args()
    if not (arguments.folder / "index.jsonl").exists():
        print(f"no {arguments.folder}/index.jsonl: give a folder of scripts and, with --peer, apache-tvm's interpreter")
        return
    if arguments.peer and shutil.which(arguments.peer) is None:
        print(f"no Python interpreter at {arguments.peer}: acceptance by tvm-0.27 is not measured")
        arguments.peer = None
    peer = Peer(arguments.peer) if arguments.peer else None
    stages = STAGES if peer is not None else STAGES[:3]
    files: Counter[str] = Counter()
    reached: Counter[tuple[str, str]] = Counter()
    causes: dict[tuple[str, str], list[str]] = defaultdict(list)
    results: list[dict[str, str]] = []
    for area, path in definitions(arguments.folder, arguments.areas):
        count, cause = judge(path, peer)
        files[area] += 1
        reached.update((area, stage) for stage in stages[:count])
        if count < len(stages):
            name = f"{area}/{path.name}"
            causes[stages[count], cause].append(name)
            results.append({"file": name, "fails": stages[count], "cause": cause})
    print(f"{'area':<18}{'files':>8}" + "".join(f"{stage:>10}" for stage in stages))
    for area, total in files.items():
        print(f"{area:<18}{total:>8}" + "".join(f"{reached[area, stage]:>10}" for stage in stages))
    for (stage, cause), names in sorted(causes.items(), key=lambda item: (stages.index(item[0][0]), -len(item[1]))):
        print(f"\nnot {stage}: {cause}")
        print("\n".join(f"    {name}" for name in names))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
