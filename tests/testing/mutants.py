"""The fuzzer is graded: bugs are planted in tvms, and the law that should find each is timed.

    python tests/testing/mutants.py            plant all of them, one after the other, and print the table of docs/fuzzing.md
    python tests/testing/mutants.py NAME…      only those whose name begins so

A bug is a line of our own code with something wrong in it. It is planted when the module is imported, in a process of
its own: no file changes.
"""

from __future__ import annotations

import subprocess
import sys
import time
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
SECONDS = 60.0
"""Of processor time, within which a bug is to be found."""


class Mutant(NamedTuple):
    """A bug: what it is, the law that should find it, the file, what stands there, and what stands there instead."""

    name: str
    law: str
    file: str
    old: str
    new: str

    def patched(self, source: str) -> str:
        """Return the source with the bug in it; the line must stand there once."""
        count = source.count(self.old)
        if count != 1:
            raise ValueError(f"'{self.name}': its line stands {count} times in {self.file}")
        return source.replace(self.old, self.new)

    @property
    def module(self) -> str:
        path = self.file.removesuffix(".py").removesuffix("/__init__")
        return f"tvms.{path.replace('/', '.')}"


MUTANTS = (
    # --- Text
    Mutant("parentheses are dropped", "roundtrip", "dsl/printer/expressions.py",
           'return f"({text})" if precedence < level else text', "return text"),
    Mutant("a right operand needs no parentheses", "roundtrip", "dsl/printer/expressions.py",
           "_operand(printer, item.b, item.a, precedence + 1)", "_operand(printer, item.b, item.a, precedence)"),
    Mutant("// and % bind like +", "roundtrip", "dsl/printer/expressions.py",
           'tir.FloorMod: ("%", PRODUCT, make.floormod)', 'tir.FloorMod: ("%", SUM, make.floormod)'),
    Mutant("integer division is printed as /", "roundtrip", "dsl/printer/expressions.py",
           'kind is tir.Div and not a.dtype.startswith(("float", "bfloat"))', "kind is None"),
    Mutant("< is printed as <=", "roundtrip", "dsl/printer/expressions.py",
           'tir.LT: ("<", COMPARISON, make.less)', 'tir.LT: ("<=", COMPARISON, make.less)'),
    Mutant("- associates to the right", "roundtrip", "dsl/parser/operators.py",
           "self.reduce_to(level + (level == POWER))", "self.reduce_to(level + (level in (POWER, 9)))"),
    Mutant("a space is lost before a comment's operand", "format", "dsl/formatter/line.py",
           'SIGNS = frozenset({"+", "-", "*", "~"})', 'SIGNS = frozenset({"+", "-", "*", "~", "not"})'),
    Mutant("comments inside brackets are lost", "format", "dsl/formatter/line.py",
           "            self.own_comments.append(own)", "            self.own_comments.append([])"),
    Mutant("comments at the end of broken lines are lost", "format", "dsl/formatter/line.py",
           "            self.end_comments.append(at_end)", "            self.end_comments.append([])"),
    # --- The law
    Mutant("undefined variables pass", "verify", "ir/verify/scoping.py",
           "if variable not in self.visible:\n            first", "if False:\n            first"),
    Mutant("operands of different dtypes pass", "verify", "ir/verify/dtypes.py",
           'if a.dtype != b.dtype:\n        message = f"the operands', 'if False:\n        message = f"the operands'),
    Mutant("too few indices pass", "verify", "ir/verify/dtypes.py",
           "if len(node.indices) != len(buffer.shape):", "if len(node.indices) < len(buffer.shape):"),
    # --- Access regions
    Mutant("an access region is one short", "bounds", "ir/access.py",
           "self.domains[node.loop_var] = from_range(node.min, node.extent)",
           "self.domains[node.loop_var] = from_range(node.min, make.sub(node.extent, 1))"),
    Mutant("a strict bound is taken for a weak one", "bounds", "ir/access.py",
           "return [make.add(make.sub(a, b), 1) if holds", "return [make.add(make.sub(a, b), 2) if holds"),
    Mutant("the branch not taken is restricted like the one taken", "bounds", "ir/access.py",
           "((then_case, True), (else_case, False))", "((then_case, True), (else_case, True))"),
    # --- Arithmetic
    Mutant("a // -b rounds the other way", "simplify", "ir/simplify/division.py",
           "by_constant(s, dividend.scaled(-1), -b.value, dtype).scaled(1 if by_constant is quotient else -1)",
           "by_constant(s, dividend, -b.value, dtype).scaled(-1 if by_constant is quotient else 1)"),
    Mutant("bounds of a quotient look at one end", "simplify", "ir/simplify/division.py",
           "    bounds = s.bounds_of_sum(rest)\n    if bounds.min // divisor == bounds.max // divisor:\n        return whole",
           "    bounds = s.bounds_of_sum(rest)\n    if bounds.min // divisor == 0:\n        return whole"),
    Mutant("a remainder keeps what it should drop", "simplify", "ir/simplify/division.py",
           "return rest.shifted(-(bounds.min // divisor) * divisor)\n        less", "return rest\n        less"),
    Mutant("(x // c) // d divides by c + d", "simplify", "ir/simplify/division.py",
           "product = inner.value * divisor", "product = inner.value + divisor"),
    Mutant("< is off by one", "simplify", "ir/simplify/comparisons.py", "distance.constant += 1", "distance.constant += 0"),
    Mutant("min keeps the greater", "simplify", "ir/simplify/extrema.py",
           "low, high = (a, b) if kind is tir.Min else (b, a)", "low, high = (b, a) if kind is tir.Min else (a, b)"),
    Mutant("> keeps its operands in place", "simplify", "ir/simplify/comparisons.py",
           "(expr.dtype, expr.b, expr.a))", "(expr.dtype, expr.a, expr.b))"),
    # --- Schedules
    Mutant("split has no guard", "schedule", "ir/schedule/primitives/split.py",
           "            body = _guarded_blocks(program, body, condition)", "            pass"),
    Mutant("split's guard is off by one", "schedule", "ir/schedule/primitives/split.py",
           "condition = make.less(value, loop.extent)", "condition = make.less(value, make.sub(loop.extent, 1))"),
    Mutant("split rounds down", "schedule", "ir/schedule/primitives/split.py",
           "simplify(make.ceildiv(loop.extent, product))", "simplify(make.floordiv(loop.extent, product))"),
    Mutant("fuse swaps its loops", "schedule", "ir/schedule/primitives/fuse.py",
           "for loop in reversed(loops):\n        value", "for loop in loops:\n        value"),
    # --- Machine code
    Mutant("init runs for every step", "codegen", "codegen/lower/blocks.py",
           "tir.IfThenElse(reduce(make.logical_and, is_first), init) if is_first else init", "init"),
    Mutant("init is lost", "codegen", "codegen/lower/blocks.py",
           "body = sequence([*self._init(block), self.rewrite(block.body)])", "body = self.rewrite(block.body)"),
    Mutant("a predicate is lost", "codegen", "codegen/lower/blocks.py",
           "return body if _is_true(predicate) else tir.IfThenElse(predicate, body, span=realize.span)", "return body"),
    Mutant("a matched buffer starts at zero", "codegen", "codegen/lower/blocks.py",
           "return mins[:dropped] + tuple(map(_sum, mins[dropped:], indices))",
           "return tuple(make.mul(m, 0) for m in mins[:dropped]) + tuple(map(_sum, mins[dropped:], indices))"),
    Mutant("strides count the wrong dimension", "codegen", "codegen/lower/blocks.py",
           "for extent in reversed(buffer.shape[1:]):", "for extent in reversed(buffer.shape[:-1]):"),
    Mutant("// rounds towards zero", "codegen", "codegen/llvm/operators.py",
           "return builder.select(is_rounded_up, builder.sub(quotient, number(b.type, 1)), quotient)", "return quotient"),
    Mutant("% has the sign of the dividend", "codegen", "codegen/llvm/operators.py",
           "tir.FloorMod: _row(_floor_remainder, ", "tir.FloorMod: _row(_signed_remainder, "),
    Mutant("unsigned numbers are divided as signed ones", "codegen", "codegen/llvm/operators.py",
           'tir.Div: _row(_signed_divide, "udiv", "fdiv")', 'tir.Div: _row(_signed_divide, "sdiv", "fdiv")'),
    Mutant("unsigned numbers are compared as signed ones", "codegen", "codegen/llvm/operators.py",
           '"unsigned": _compare("icmp_unsigned", sign)', '"unsigned": _compare("icmp_signed", sign)'),
    Mutant("the operands of - are swapped", "codegen", "codegen/llvm/operators.py",
           "return lambda builder, a, b: getattr(builder, name)(a, b)",
           'return lambda builder, a, b: getattr(builder, name)(*((b, a) if name == "sub" else (a, b)))'),
    Mutant("min is max", "codegen", "codegen/llvm/operators.py", 'tir.Min: _choice("<")', 'tir.Min: _choice(">")'),
    Mutant("small integers are extended without their sign", "codegen", "codegen/llvm/casts.py",
           '(builder.sext if kind_of(source) == "signed" else builder.zext)', "(builder.zext)"),
    Mutant("floats become integers without saturation", "codegen", "codegen/llvm/casts.py",
           'return intrinsic(builder, name, value, result=llvm_type)',
           "return (builder.fptosi if kind_of(target) == 'signed' else builder.fptoui)(value, llvm_type)"),
    Mutant("the condition of a choice is inverted for vectors", "codegen", "ir/interp/expressions.py",
           "return yes if condition else no", "return no if condition else yes"),
    # --- The interpreter and the graph level
    Mutant("the interpreter truncates //", "codegen", "ir/interp/scalars.py",
           "tir.FloorDiv: (lambda a, b: a // b,", "tir.FloorDiv: (truncdiv,"),
    Mutant("the interpreter does not check the last index", "bounds", "ir/interp/buffers.py",
           "            if not 0 <= value < extent:\n                raise _outside(access, [index(frame)",
           "            if not 0 <= value <= 2 * extent:\n                raise _outside(access, [index(frame)"),
    Mutant("<= of tensors is <", "codegen", "ir/ops/binary.py",
           '_compare("less_equal", lambda x, y: x <= y', '_compare("less_equal", lambda x, y: x < y'),
    Mutant("permuted axes are not permuted", "codegen", "ir/ops/manipulate.py",
           "[axis % a.x.ndim for axis in a.axes]", "list(range(a.x.ndim))"),
)  # fmt: skip


class _Planter(MetaPathFinder):
    """Imports one module with a bug in it."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname != self.mutant.module:
            return None
        file, is_package = str(ROOT / self.mutant.file), self.mutant.file.endswith("__init__.py")
        folders = [str(Path(file).parent)] if is_package else None
        loader = _Loader(fullname, file, self.mutant)
        return spec_from_file_location(fullname, file, loader=loader, submodule_search_locations=folders)


class _Loader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, mutant: Mutant) -> None:
        super().__init__(fullname, path)
        self.mutant = mutant

    def get_code(self, fullname: str) -> Any:
        source = Path(self.path).read_text(encoding="utf-8")
        return compile(self.mutant.patched(source), self.path, "exec")


def hunt(mutant: Mutant, seconds: float = SECONDS) -> str:
    """Return how a planted bug was found: the examples, the seconds and the reason; or that it was not."""
    sys.meta_path.insert(0, _Planter(mutant))
    from tvms.codegen import compile as compile_module
    from tvms.testing.campaign import run_batch

    start, checked, number = time.process_time(), 0, 0
    while time.process_time() - start < seconds:
        try:
            batch = run_batch(mutant.law, None, 1, number, 25, lambda m, e: compile_module(m)[e], is_shrunk=False)
        except Exception as problem:  # the bug stops even the generator
            return _told(checked, start, f"{type(problem).__name__}: {problem}")
        checked += batch.checked
        if batch.failure:
            return _told(checked + 1, start, batch.failure.reason)
        number += 1
    return _told(checked, start, "")


def _told(checked: int, start: float, reason: str) -> str:
    return f"{checked}\t{time.process_time() - start:.1f}\t{reason}"


def hunt_apart(mutant: Mutant, seconds: float = SECONDS) -> tuple[int, float, str]:
    """Return, from a process of its own, the examples and seconds until a bug was found, and what was said; "" if not."""
    command = [sys.executable, __file__, "--hunt", str(MUTANTS.index(mutant)), str(seconds)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        return 0, 0.0, result.stderr.strip().splitlines()[-1]
    checked, spent, reason = result.stdout.split("\t", 2)
    return int(checked), float(spent), reason.strip()


def main(names: list[str]) -> None:
    """Plant bugs and print the table."""
    chosen = [mutant for mutant in MUTANTS if not names or any(mutant.name.startswith(name) for name in names)]
    print("| planted bug | in | found by | examples | seconds |\n| --- | --- | --- | ---: | ---: |", flush=True)
    times: list[float] = []
    for mutant in chosen:
        checked, spent, reason = hunt_apart(mutant)
        times += [spent] if reason else []
        shown = f"{spent:.1f}" if reason else "not found"
        print(f"| {mutant.name} | `{mutant.file}` | {mutant.law} | {checked} | {shown} |", flush=True)
        print(f"    {reason[:160]!r}", file=sys.stderr, flush=True)
    middle = sorted(times)[len(times) // 2] if times else 0.0
    print(f"\n{len(times)} of {len(chosen)} found; half of them within {middle:.1f} s.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--hunt"]:
        print(hunt(MUTANTS[int(sys.argv[2])], float(sys.argv[3])))
    else:
        main(sys.argv[1:])
