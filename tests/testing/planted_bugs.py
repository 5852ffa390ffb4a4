"""The planted bugs: each is a line of our own code, and the wrong line that takes its place."""

from __future__ import annotations

from typing import NamedTuple


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
    Mutant("init runs for every step", "codegen", "codegen/lower/init_block.py",
           "tir.IfThenElse(reduce(make.logical_and, conditions), block.init) if conditions else block.init", "block.init"),
    Mutant("init is lost", "codegen", "codegen/lower/init_block.py", "body=sequence([init, block.body])", "body=block.body"),
    Mutant("a predicate is lost", "codegen", "codegen/lower/blocks.py",
           "return body if _is_true(predicate) else tir.IfThenElse(predicate, body, span=realize.span)", "return body"),
    Mutant("a matched buffer starts at zero", "codegen", "codegen/lower/match_buffer.py",
           "return mins[:dropped] + tuple(map(_sum, mins[dropped:], indices))",
           "return tuple(make.mul(m, 0) for m in mins[:dropped]) + tuple(map(_sum, mins[dropped:], indices))"),
    Mutant("strides count the wrong dimension", "codegen", "codegen/lower/layout.py",
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
    Mutant("<= of tensors is <", "graph", "ir/ops/binary.py",
           '_compare("less_equal", lambda x, y: x <= y', '_compare("less_equal", lambda x, y: x < y'),
    Mutant("permuted axes are not permuted", "graph", "ir/ops/manipulate.py",
           "[axis % a.x.ndim for axis in a.axes]", "list(range(a.x.ndim))"),
    # --- More of schedules
    Mutant("an inlined value has its indices in reverse", "schedule", "ir/schedule/primitives/compute_inline.py",
           "found = dict(zip(places, indices, strict=True))", "found = dict(zip(places, indices[::-1], strict=True))"),
    Mutant("a fused loop forgets the sizes further in", "schedule", "ir/schedule/primitives/fuse.py",
           "make.floormod(fused, make.mul(lower, loop.extent))", "make.floormod(fused, lower)"),
    Mutant("parts of a sum start with a value", "schedule", "ir/schedule/primitives/rfactor.py",
           "_stores(self.buffers, indices, self.reduction.identity) if is_reduction else None",
           "_stores(self.buffers, indices, values) if is_reduction else None"),
    Mutant("a sum is started again in each step of a loop", "schedule", "ir/schedule/primitives/decompose_reduction.py",
           "    _check_height(realize, loops[: loops.index(loop)], loop)\n", ""),
    Mutant("the start of a sum loses a loop", "schedule", "ir/schedule/primitives/decompose_reduction.py",
           "nest = _nest(replace(init, predicate=predicate), kept)", "nest = _nest(replace(init, predicate=predicate), kept[1:])"),
    Mutant("loops are reordered where their order matters", "schedule", "ir/schedule/primitives/reorder.py",
           "if axis.iter_type not in (tir.IterVarType.DATA_PAR, tir.IterVarType.COMM_REDUCE):", "if False:"),
    Mutant("the last part of a loop is one step short", "schedule", "ir/schedule/primitives/loop_partition.py",
           "else [extent - total])], initial", "else [extent - total - 1])], initial"),
    Mutant("a cache is read before it is filled", "schedule", "ir/schedule/analysis/written.py",
           "if not is_before or not is_region_covered(program, scope, reader):", "if False:"),
    Mutant("what was padded is not copied back", "schedule", "ir/schedule/primitives/pad_einsum.py",
           "            insert(program, spot, _copy(new, region.buffer, region.buffer.shape, new.name))\n", ""),
    # --- Passes
    Mutant("values of one kind count as equal", "passes", "ir/passes/common_subexpressions.py",
           "alike = self._known.setdefault(structural_hash(binding.value), [])",
           "alike = self._known.setdefault(structural_hash(binding.value.op if isinstance(binding.value, relax.Call) else binding.value), [])\n"
           "        if alike:\n            self.replaced[binding.var] = alike[0].var"),
    Mutant("what a condition needs counts as unused", "passes", "ir/passes/dead_code.py",
           "                _use(value.cond, used)\n", ""),
    Mutant("a fused function takes its buffers in another order", "passes", "ir/passes/fuse_tir.py",
           "for before, after in zip(places, new, strict=True):", "for before, after in zip(places, (*new[-2::-1], *new[-1:]), strict=True):"),
    Mutant("parts of a joined product are cut at another place", "passes", "ir/passes/combine_parallel_matmul.py",
           "sum(widths[: number + 1])", "sum(widths[number + 1 :])"),
    Mutant("joined products change places", "passes", "ir/passes/combine_parallel_matmul.py",
           "relax.TupleGetItem(parts, number)", "relax.TupleGetItem(parts, len(members) - 1 - number)"),
    Mutant("a transposed product keeps the order of its factors", "passes", "ir/passes/matmul_rewrites.py",
           'return apply("permute_dims", b), apply("permute_dims", a)', 'return apply("permute_dims", a), apply("permute_dims", b)'),
    Mutant("x (a + b) is x a + x a", "passes", "ir/passes/matmul_rewrites.py",
           'apply("matmul", x, a), apply("matmul", x, b))', 'apply("matmul", x, a), apply("matmul", x, a))'),
    Mutant("turned tensors are joined along the axis that was meant after", "passes", "ir/passes/matmul_rewrites.py",
           'axis=order[(call.attrs["axis"] or 0) % rank]', 'axis=(call.attrs["axis"] or 0) % rank'),
    Mutant("memory is free again before it is read", "passes", "ir/passes/static_plan_block_memory.py",
           "                    if tensor.last_use is not None:\n", "                    self._free.append(storage)\n                    if False:\n"),
    Mutant("moments move on by the wrong share", "passes", "ir/passes/decompose_ops.py",
           'apply("multiply", old, 1 - momentum), apply("multiply", new, momentum)',
           'apply("multiply", old, momentum), apply("multiply", new, 1 - momentum)'),
    # --- More of machine code
    Mutant("buffers that meet in one statement share memory", "codegen", "codegen/lower/storage.py", "if end < first and", "if end <= first and"),
    Mutant("shared memory does not grow", "codegen", "codegen/lower/storage.py",
           "memory[owner], sizes[owner] = each, each.extents", "memory[owner] = each"),
    Mutant("an unrolled loop is one step short", "codegen", "codegen/lower/unroll.py",
           "range(start.value, start.value + extent.value)", "range(start.value, start.value + max(extent.value - 1, 1))"),
    Mutant("a guard is believed one step too long", "codegen", "codegen/lower/partition.py",
           "return (-most - 1) // factor + 1", "return (-most - 1) // factor + 2"),
    Mutant("the last guarded step is left out", "codegen", "codegen/lower/partition.py",
           "if end >= start.value + extent.value:", "if end + 1 >= start.value + extent.value:"),
    Mutant("vectors store what an if leaves out", "codegen", "codegen/lower/vectorize.py",
           "then = self._masked(condition, lambda: self.rewrite(stmt.then_case))", "then = self.rewrite(stmt.then_case)"),
    Mutant("both branches have the mask of the first one", "codegen", "codegen/lower/vectorize.py",
           "self._masked(tir.Not(condition.dtype, condition), lambda", "self._masked(condition, lambda"),
    Mutant("an index at the end is inside", "traps", "codegen/lower/bounds.py",
           "low.min >= 0 and high.max < extent.value", "low.min >= 0 and high.max <= extent.value"),
    Mutant("indices are not checked from below", "traps", "codegen/lower/bounds.py",
           "(make.greater_equal(first, zero), make.less(last, extent))", "(make.less(last, extent),)"),
    Mutant("the first dimension is not checked", "traps", "codegen/lower/bounds.py",
           "        for axis, (index, is_checked) in enumerate(zip(said, is_open, strict=False)):\n            if not is_checked:",
           "        for axis, (index, is_checked) in enumerate(zip(said, is_open, strict=False)):\n            if not is_checked or not axis:"),
    # --- Threads
    Mutant("no barrier stands between iterations", "gpu", "codegen/gpu/barriers.py",
           "loop = replace(stmt, body=self.rewrite(once))", "loop = replace(stmt, body=once)"),
    Mutant("a thread may write what others read", "gpu", "codegen/gpu/barriers.py",
           "not (a.is_write or b.is_write)", "not (a.is_write and b.is_write)"),
    Mutant("a shuffle up goes down", "gpu", "codegen/gpu/exchange.py", "wanted = make.sub(lane, operand)", "wanted = make.add(lane, operand)"),
    Mutant("a shuffle crosses its width", "gpu", "codegen/gpu/exchange.py",
           "inside = make.logical_and(make.greater_equal(wanted, zero), make.less(wanted, width))",
           "inside = make.greater_equal(wanted, zero)"),
    Mutant("a sum of threads misses the last step", "gpu", "codegen/gpu/allreduce.py",
           "while distance < size:", "while 2 * distance < size:"),
    Mutant("threads that are left out of a sum count", "gpu", "codegen/gpu/allreduce.py",
           "value if _is_true(values[count]) else make.if_then_else(values[count], value, neutral)", "value"),
    # --- Graphs
    Mutant("tensors that live together share memory", "graph", "codegen/graph/plan.py",
           "self.first <= other.last and other.first <= self.last", "self.first < other.last and other.first < self.last"),
    Mutant("the mean counts one too many", "graph", "ir/ops/statistical.py",
           "te.cast(topi.count(x, axis), x.dtype)", "te.cast(topi.count(x, axis) + 1, x.dtype)"),
    Mutant("softmax forgets the greatest", "graph", "ir/ops/activation.py",
           "te.exp(x(*i) - maxelem(*others(i)))", "te.exp(x(*i)) - maxelem(*others(i))"),
    Mutant("an average divides by what lies outside, too", "graph", "ir/ops/pooling.py",
           "        if not a.count_include_pad:\n            start, end = te", "        if False:\n            start, end = te"),
    # --- The formatter, and what reads text
    Mutant("a comment at the end of a line moves below it", "format", "dsl/formatter/text.py",
           'self.lines[-1] += f"  {first.strip()}"', 'self.lines.append(first.strip())'),
    Mutant("blank lines grow", "format", "dsl/formatter/text.py",
           "min(count, 1 if level else MAX_BLANK_LINES)", "count + (count > 2)"),
    Mutant("comments after a block stay inside", "format", "dsl/formatter/text.py",
           "while comment and level > next_level and column < self.columns[level]:", "while False:"),
)  # fmt: skip
