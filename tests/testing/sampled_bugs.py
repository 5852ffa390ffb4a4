"""Bugs planted in functions that a script drew at random, after all other lists, before reading the generators again. The
comment above each bug is a program whose meaning it changes.
"""

from __future__ import annotations

from planted_bugs import Mutant

SAMPLED = (
    # --- Text
    # f(a + \n b): an error in the sum is underlined up to the end of `a`
    Mutant("a binary operator ends where its left operand does", "locate", "dsl/parser/operators.py",
           "syntax.Binary(start=left.start, end=right.end,", "syntax.Binary(start=left.start, end=left.end,"),
    # Two blank lines, a comment, and a statement: the blank lines are repeated after the comment
    Mutant("blank lines before a comment are repeated after it", "format", "dsl/formatter/text.py",
           "self.indent(level) - self.columns[level])\n                blank = 0\n", "self.indent(level) - self.columns[level])\n"),
    # A bracket that fills its line without the comma after it
    Mutant("a broken line has no room for its comma", "format", "dsl/formatter/breaks.py",
           "room - (piece.after if high == piece.stop else 0), room)", "room, room)"),
    # --- Arithmetic
    # T.Cast("int8", T.float32(300)) is 44, not 127
    Mutant("constants above the range are cast by wrapping", "simplify", "ir/simplify/floats.py",
           "is_inside = math.isfinite(number) and low <= int(number) <= high",
           "is_inside = math.isfinite(number) and low <= int(number)"),
    # (x * 4 + y) // 8 for 0 <= y <= 4
    Mutant("terms that are scaled down may reach the next multiple", "simplify", "ir/simplify/division.py",
           "if bounds.min // scale == bounds.max // scale:", "if bounds.min // scale == (bounds.max - 1) // scale:"),
    # for i in range(n, 8): n < i is not certain
    Mutant("a variable is greater than the start of its domain", "analysis", "ir/analysis/proof.py",
           'tir.LE("bool", least, variable)', 'tir.LT("bool", least, variable)'),
    # T.ceil(T.float32(-0.5)) is -0.0
    Mutant("constants lose the sign of zero when they are rounded", "floats", "ir/make/floats.py",
           "math.copysign(meaning(a.value), a.value)", "float(meaning(a.value))"),
    # --- Graphs
    # f(x): (add(x, 1), x) fused
    Mutant("a fused kernel writes a parameter that it returns", "each_pass", "ir/passes/fuse_tir.py",
           "len(set(outputs)) != len(outputs) or set(outputs) & set(inputs)", "len(set(outputs)) != len(outputs)"),
    # R.multiply(x, x) and R.multiply(x, y)
    Mutant("calls with equal arguments share the function of calls with different ones", "each_pass", "ir/passes/legalize_ops.py",
           "args.append((info.dtype, sizes, call.args.index(arg)))", "args.append((info.dtype, sizes))"),
    # R.image.grid_sample(x, grid) at the first pixel
    Mutant("the first pixel of a sampled image counts as padding", "graph", "ir/ops/sampling.py",
           "is_inside = te.all(*(p >= 0 for p in at))", "is_inside = te.all(*(p > 0 for p in at))"),
    # R.einsum((x, y), "ij,jk->ik") for x of shape (2, 1) and y of shape (3, 4)
    Mutant("the first operand of an einsum decides a size", "graph", "ir/ops/linear_algebra.py",
           "if label not in sizes or d.is_one(sizes[label]):", "if label not in sizes:"),
    # y = R.match_cast(x, R.Tensor((n, n), "float32")) for x of shape (2, 3)
    Mutant("match_cast is not checked", "graph", "codegen/graph/tracer.py",
           "                    self._match(value, binding.struct_info, binding.span)\n", "                    pass\n"),
    # R.nn.avg_pool2d(x, layout="NCHW4c")
    Mutant("an index of a packed dimension is not reduced", "graph", "ir/ops/layouts.py",
           "index.append(place % size if size else place)", "index.append(place)"),
    # --- Verifier
    # for i in T.parallel(4): for j in range(4): A[i + j] = i
    Mutant("any indices tell the parallel loop", "verify", "ir/verify/races.py",
           "if named <= _told(indices):", "if named or _told(indices):"),
    # for k in range(n): A[k] = 0, for n that may be 0; then A[0] += 1
    Mutant("loops that may be empty start nothing", "verify", "ir/verify/starts.py",
           "        if absent:\n            own =", "        if False:\n            own ="),
    # --- Schedules
    # T.where(k < 7) in a sum: rfactor
    Mutant("the partial results of rfactor have no predicate", "schedule", "ir/schedule/primitives/rfactor.py",
           "tir.BlockRealize(tuple([value for _, value in axes]), self.realize.predicate, block)",
           'tir.BlockRealize(tuple([value for _, value in axes]), tir.IntImm("bool", 1), block)'),
    # A buffer written in a pipelined loop and read after it
    Mutant("a software pipeline may rotate buffers that are used after it", "schedule", "ir/schedule/analysis/software_pipeline.py",
           "return [item for item in allocated if item not in outside]", "return allocated"),
    # for k in range(I[0]): compute_at of a block that writes I
    Mutant("bounds may be read from memory that is written", "schedule", "ir/schedule/analysis/speculation.py",
           "and _are_constant(program.prim_func_of(place), loads)\n", ""),
    # --- Lowering and machine code
    # if i * 8 + j * -4 == 0
    Mutant("a sum with a negative factor is zero only if all terms are", "lowering", "codegen/lower/hoist.py",
           "case tir.Mul(a=a, b=tir.IntImm(value=factor)) if factor > 0:", "case tir.Mul(a=a, b=tir.IntImm()):"),
    # A buffer allocated around a loop and used through two views inside it
    Mutant("a view declared inside keeps its own region outside", "lowering", "codegen/lower/locate.py",
           "full_region(outer[region.buffer.data]) if region.buffer in declared else region", "region"),
    # D[b, i, j] = sum over k, in bands of b
    Mutant("a band's part of a product ignores the other axes", "codegen", "codegen/rules/bands.py",
           "widen(first if is_split else value)", "widen(first)"),
    # --- GPU
    # for k in range(2, 4): S[tx] = …; barrier; … = S[tx + 1]
    Mutant("rotated loops end as if they began at 0", "gpu", "codegen/gpu/rotate.py",
           "make.add(start, make.sub(loop.extent, 1))", "make.sub(loop.extent, 1)"),
    # T.tvm_store_matrix_sync(C, 16, 8, …, "col_major") at the end of its memory
    Mutant("the tile of a column-major accumulator is checked as row-major", "gpu", "codegen/gpu/pointer_checks.py",
           'if fragment.kind == "accumulator" and texts(call)[-1] == "col_major":', "if False:"),
)  # fmt: skip
