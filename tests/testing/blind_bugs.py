"""Bugs planted by a second outsider, before reading the generators. The comment above each bug is a program whose meaning it changes."""

from __future__ import annotations

from planted_bugs import Mutant

FIRST = (
    # --- Text
    # B[0:4] = A[T.Ramp(0, 2, 4)] prints as A[0:4:2], which has two lanes.
    Mutant("a slice ends after its lanes, whatever its step", "roundtrip", "dsl/printer/buffers.py",
           "make.add(index.base, make.mul(index.lanes, index.stride))", "make.add(index.base, index.lanes)"),
    # B = T.alloc_buffer((4,), offset_factor=8) loses its factor.
    Mutant("offset_factor is printed only beside a new offset", "roundtrip", "dsl/printer/buffers.py",
           "if offset_is_new or buffer.offset_factor != 1:", "if offset_is_new:"),
    # A = T.match_buffer(a, (4, 4), axis_separators=[1]) becomes A: T.Buffer((4, 4)).
    Mutant("a parameter with axis separators is printed as a plain one", "roundtrip", "dsl/printer/prim_functions.py",
           "        and not buffer.axis_separators\n", ""),
    # for i in range(10): vi = T.axis.spatial(8, i); T.where(i < 8) becomes a remap, whose axis has 10 values.
    Mutant("an axis shorter than its loop is printed as T.axis.remap", "roundtrip", "dsl/printer/blocks.py",
           "        and structural_equal(loop.extent, axis.dom.extent)\n", ""),
    # for i in T.serial(4, annotations={"k": 1}): for j in range(4): becomes T.grid(4, 4).
    Mutant("annotated loops are printed as T.grid", "roundtrip", "dsl/printer/statements.py",
           "inner.kind is tir.ForKind.SERIAL and is_constant(inner.min, 0) and not inner.annotations",
           "inner.kind is tir.ForKind.SERIAL and is_constant(inner.min, 0)"),
    # a = T.allocate([4], "float32", "global", annotations={"k": 1}); A = T.decl_buffer((4,), data=a) loses them.
    Mutant("an allocation as a buffer is printed without its annotations", "roundtrip", "dsl/printer/statements.py",
           'arguments.append(f"scope={string(_storage_scope(node.buffer_var))}")\n    if node.annotations:\n',
           'arguments.append(f"scope={string(_storage_scope(node.buffer_var))}")\n    if False:\n'),
    # A[0] = T.float32(-0.0) prints as T.float32(0).
    Mutant("-0.0 is printed as 0", "roundtrip", "dsl/printer/literals.py",
           'abs(value) < 1e16 and str(value) != "-0.0"', "abs(value) < 1e16"),
    # lv = (x,) prints as lv = x.
    Mutant("a tuple of one element is printed as the element", "roundtrip", "dsl/printer/relax_functions.py",
           "isinstance(value, relax.Tuple) and len(value.fields) > 1", "isinstance(value, relax.Tuple) and value.fields"),
    # A nested R.function(pure=False) prints as a pure one.
    Mutant("a nested function is printed as pure", "roundtrip", "dsl/printer/relax_functions.py",
           'keywords = {} if node.is_pure else {"pure": "False"}',
           'keywords = {} if node.is_pure or is_nested else {"pure": "False"}'),
    # for j in range(i - 1, i + 2) has 3 iterations, not 1.
    Mutant("the extent of a range whose start is a difference is wrong", "parse", "dsl/builder/tir_difference.py",
           "_collect(expr.b, factor * sign, terms)", "_collect(expr.b, factor, terms)"),
    # A[\n    i\n] = 0 becomes A[\n    i,\n] = 0.
    Mutant("a broken subscript gets a trailing comma", "format", "dsl/formatter/line.py",
           'is_display = self.texts[opening] != "(" and self.is_bare(opening)', 'is_display = self.texts[opening] != "("'),
    # Under a block that moves, a line after "# fmt: off" is indented by a tab.
    Mutant("a tab is one column wide where the layout is kept", "format", "dsl/formatter/text.py",
           "column, _ = columns(line[: len(line) - len(content)])", "column = len(line) - len(content)"),
    # A comment after two nested loops, as deep as the function.
    Mutant("a comment leaves one block at a time", "format", "dsl/formatter/text.py",
           "while comment and level > next_level and column < self.columns[level]:",
           "if comment and level > next_level and column < self.columns[level]:"),
    # --- Arithmetic
    # T.popcount(T.int32(-1)) is 32.
    Mutant("popcount counts the bits of the absolute value", "simplify", "ir/simplify/bits.py",
           "(a % (1 << bits)).bit_count()", "a.bit_count()"),
    # T.Broadcast(z, 4) - T.Ramp(x, 2, 4) descends.
    Mutant("the difference of a broadcast and a ramp ascends", "simplify", "ir/simplify/vectors.py",
           "ramp(z - x, zero - y, lanes)", "ramp(z - x, y, lanes)"),
    # T.Cast("int8", T.Cast("float32", x)) saturates for an int16 x of 300.
    Mutant("casts of integers over floats are merged", "simplify", "ir/simplify/floats.py",
           "        if last.code in (\"int\", \"uint\") and not (int_range(last.name)[0] <= low and high <= int_range(last.name)[1]):\n"
           "            return False  # casts saturate floats but wrap integers\n", ""),
    # T.min(x // -2, y // -2) is T.max(x, y) // -2.
    Mutant("a common negative divisor does not swap the extremum", "simplify", "ir/simplify/extrema.py",
           "inner = of(kind if by > 0 else other, dividends)", "inner = of(kind, dividends)"),
    # T.truncdiv(n, -3) for 0 <= n rounds up.
    Mutant("truncdiv of natural numbers is a floor division, whatever the divisor", "simplify", "ir/simplify/division.py",
           "if s.bounds(b).min >= 0 and s.bounds(a).min >= 0:", "if s.bounds(a).min >= 0:"),
    # T.float32(-3e38) * T.float32(2) is -inf.
    Mutant("constants overflow to +inf", "floats", "ir/fold.py",
           "tir.FloatImm(a.dtype, value, span=span)\n\n\ndef _is_same",
           "tir.FloatImm(a.dtype, math.inf if math.isinf(value) else value, span=span)\n\n\ndef _is_same"),
    # --- Graphs
    # R.argmax of [-inf, -inf] is 0, and the identity has index -1.
    Mutant("the identity of argmax comes before all elements", "floats", "ir/make/floats.py",
           "is_before = less(cast(at_x, unsigned), cast(at_y, unsigned))", "is_before = less(at_x, at_y)"),
    # R.nn.softplus(x, beta=2.0)
    Mutant("the derivative of softplus ignores beta", "gradient", "ir/passes/gradient_rules_of_networks.py",
           'g * apply("sigmoid", scaled)', 'g * apply("sigmoid", x)'),
    # R.permute_dims(x, axes=[1, 2, 0])
    Mutant("the gradient of permute_dims permutes again", "gradient", "ir/passes/gradient_rules.py",
           'apply("permute_dims", g, axes=[order.index(axis) for axis in range(rank)])', 'apply("permute_dims", g, axes=order)'),
    # R.matmul(x, R.permute_dims(w, axes=[1, 2, 0]))
    Mutant("FuseTransposeMatmul permutes axes in the wrong direction", "each_pass", "ir/passes/fuse_transpose_matmul.py",
           "places = [axes.index(axis) for axis in range(len(axes))]", "places = list(axes)"),
    # (y[1], y[0]) is not y.
    Mutant("a tuple of permuted fields is the tuple", "each_pass", "ir/passes/canonicalize_bindings.py",
           "isinstance(item, relax.TupleGetItem) and item.index == at", "isinstance(item, relax.TupleGetItem)"),
    # R.add(R.matmul(x, w), R.const(1e5, "float32"))
    Mutant("any constant fits in float16", "each_pass", "ir/passes/to_mixed_precision.py",
           "return bool((abs(data) <= _LARGEST).all())", "return True"),
    # R.strided_slice(x, axes=[0], begin=[3], end=[-9], strides=[-1])
    Mutant("a reversed slice loses the first element", "graph", "ir/ops/indexing.py",
           "else (d.dim(-1), d.subtract(length, 1))", "else (d.dim(0), d.subtract(length, 1))"),
    # R.index_tensor(x, (i, j)) for i of shape (3, 1) and j of shape (2,)
    Mutant("index tensors are aligned at their first dimension", "graph", "ir/ops/indexing.py",
           "*(topi.element(index, ax[:width], shape) for index in a.indices)",
           "*(index(*ax[: index.ndim]) for index in a.indices)"),
    # A result of 4 elements and an intermediate tensor of 400
    Mutant("a result holds any tensor that starts in it", "graph", "codegen/graph/plan.py",
           "if offset + own.size <= limit:", "if offset < limit:"),
    # --- Verifier
    # for i in T.parallel(8): A[i // 4, i % 2] = i
    Mutant("any quotient and remainder tell the dividend", "verify", "ir/verify/races.py",
           "(index.a, index.b.value) for index in indices", "(index.a, 0) for index in indices"),
    # T.writes(B[0:4]) and B[4] = 0
    Mutant("a region contains the element after its end", "verify", "ir/verify/regions.py",
           "here.max < least.min + extent.min", "here.max <= least.min + extent.min"),
    # X = T.match_buffer(A[i - 1:i + 1], (2,))
    Mutant("a matched region may start before its source", "verify", "ir/verify/regions.py",
           "if least.min >= 0 and least.max + size.max <= whole.min:", "if least.max + size.max <= whole.min:"),
    # for i in range(4): with T.block("outer"): vi = …; with T.block("inner"): vj = …; A[i] = 0
    Mutant("a nested block may use the loop around its parent", "verify", "ir/verify/scoping.py",
           "self.loops.get(variable, len(self.blocks)) < len(self.blocks):",
           "self.loops.get(variable, len(self.blocks)) < len(self.blocks) - (len(self.blocks) > 1):"),
    # --- Schedules
    # for i in range(2, 4): for j in range(4): A[i, j] = 0
    Mutant("fuse counts from 0", "schedule", "ir/schedule/primitives/fuse.py",
           "        check_starts_at_zero(loop)\n        used = ", "        used = "),
    # B[i] = A[i]; C[i] = B[i]; D[i] = C[i]: merge the first and the last
    Mutant("merge overlooks the statement before the last nest", "schedule", "ir/schedule/primitives/merge.py",
           "parent.seq[places[index] + 1 : places[-1]]", "parent.seq[places[index] + 1 : places[-1] - 1]"),
    # B[vi] with windows of 3 elements in steps of 1, rolled
    Mutant("the first window of a rolling buffer is not filled", "schedule", "ir/schedule/primitives/rolling_buffer.py",
           "make.less(variable, 1)", "make.less(variable, 0)"),
    # C[vi] = C[vi] + A[vk]: read_at of C
    Mutant("read_at accepts a block that also writes the buffer", "schedule", "ir/schedule/primitives/read_write_at.py",
           "any(number >= at for number in accesses.writing)", "any(number > at for number in accesses.writing)"),
    # T.where(1 <= k) in a sum over k
    Mutant("rfactor accepts a predicate that excludes the first iteration", "schedule", "ir/schedule/primitives/rfactor.py",
           "    _check_first(block, loops, loop, predicate)\n    parts =", "    parts ="),
    # argmax over k0, k1 with equal values: rfactor of k1
    Mutant("rfactor mixes up ties of an inner loop", "schedule", "ir/schedule/primitives/rfactor.py",
           "if reduction.reducer.is_ordered and reduced[0] is not loop:",
           "if reduction.reducer.is_ordered and reduced[-1] is not loop:"),
    # C[i, j] += A[i, k] * B[j] where B[j] is inf: 0 * inf is NaN
    Mutant("pad_einsum multiplies infinities by padding", "schedule", "ir/schedule/primitives/pad_einsum.py",
           "return either and (all(zeros) or is_int(value.dtype))", "return either"),
    # C[i] = T.truncdiv(A[i], B[i]) padded: B is 0 there
    Mutant("pad_einsum divides by padding", "schedule", "ir/schedule/primitives/pad_einsum.py",
           "tir.FloorDiv | tir.FloorMod | tir.Div | tir.Mod)", "tir.FloorDiv | tir.FloorMod)"),
    # transform_layout by lambda i: ((i + 1) // 4, (i + 1) % 4) with pad_value
    Mutant("padding before a shifted buffer covers its first element", "schedule", "ir/schedule/analysis/index_maps.py",
           "make.less(remainder, self.start))", "make.less_equal(remainder, self.start))"),
    # vi = T.axis.spatial((2, 6), i); B[vi] = A[vi * 2 + 1 - 5]
    Mutant("cache_index forgets where iterators start", "schedule", "ir/schedule/primitives/cache_index.py",
           "return axis.dom is not None and is_zero(axis.dom.min) and all(", "return axis.dom is not None and all("),
    # for i0, i1 in T.grid(2, 4): T.where(i0 * 4 + i1 < 7); A[vi] = A[vi] + 1
    Mutant("cache_inplace copies without the predicate", "schedule", "ir/schedule/primitives/cache_inplace.py",
           "(_where(nest, predicate) for nest in (copy_in, copy_out))", "(copy_in, copy_out)"),
    # --- Lowering and machine code
    # for i in range(3, 4): A[i] = 0
    Mutant("a loop of one iteration starts at 0", "codegen", "codegen/lower/blocks.py",
           "make.cast(self.rewrite(stmt.min), stmt.loop_var.dtype)", "make.const(0, stmt.loop_var.dtype)"),
    # X = T.match_buffer(A[i, 0:4], (4,)); Y = T.match_buffer(X[1:3], (2,))
    Mutant("a view of lower rank starts as its first dimensions do", "codegen", "codegen/lower/match_buffer.py",
           "mins[:dropped] + tuple(map(_sum, mins[dropped:], indices))", "mins[:dropped] + tuple(map(_sum, mins, indices))"),
    # for i in range(n): if T.floordiv(4, n) > 0: A[i] = 0, for n = 0
    Mutant("a condition that may fault is hoisted out of a loop that may be empty", "lowering", "codegen/lower/invariants.py",
           "needs.may_fault and not (isinstance(loop.extent, tir.IntImm) and loop.extent.value > 0)",
           "needs.may_fault and isinstance(loop.extent, tir.IntImm) and loop.extent.value <= 0"),
    # for i in range(8): for j in range(2, 6): if i * 4 + j < 20: A[i * 4 + j] = 0
    Mutant("a guard is removed as if inner loops began at 0", "lowering", "codegen/lower/partition.py",
           "max(scale * loop.min.value, scale * (loop.min.value + loop.extent.value - 1))",
           "max(0, scale * (loop.extent.value - 1))"),
    # for i in T.vectorized(4): if A[i] != 0: B[i] = C[i] // A[i]
    Mutant("a vector is divided by zero in lanes that are off", "codegen", "codegen/lower/vectorize.py",
           "        if self._mask is not None and isinstance(node, _DIVISIONS) and not isinstance(node.b, tir.IntImm):\n"
           "            raise _Declined(\"a masked lane could divide by zero\")\n", ""),
    # T.Cast("float16", x) for the float64 x = 1 + 2**-11 + 2**-40
    Mutant("float64 is rounded twice to float16", "floats", "codegen/llvm/casts.py",
           "builder.bitcast(builder.or_(cut, builder.zext(is_inexact, word)), near.type)", "near"),
    # T.shift_right(x, T.int32(32)) with a variable count
    Mutant("a shift by all bits is left to the machine", "codegen", "codegen/llvm/intrinsics.py",
           'is_all = builder.icmp_unsigned(">=", count, number(count.type, bits))',
           'is_all = builder.icmp_unsigned(">", count, number(count.type, bits))'),
    # for i in T.vectorized(4): B[i] = A[i * 2] at the end of A
    Mutant("every second element is loaded with the one after the last", "memory", "codegen/llvm/gathers.py",
           "second = builder.gep(first, [number(I32, lanes - 1)], source_etype=element)\n"
           "    spread = [lane // 2 if lane % 2 == 0 else None for lane in range(2 * lanes - 1)]\n"
           "    low = _part(builder, first, size, spread[:lanes], mask, align, has_moves)\n"
           "    high = _part(builder, second, size, spread[lanes - 1 :], mask, align, has_moves)\n"
           "    picked = [2 * lane if 2 * lane < lanes else lane * 2 + 1 for lane in range(lanes)]\n",
           "second = builder.gep(first, [number(I32, lanes)], source_etype=element)\n"
           "    spread = [lane // 2 if lane % 2 == 0 else None for lane in range(2 * lanes)]\n"
           "    low = _part(builder, first, size, spread[:lanes], mask, align, has_moves)\n"
           "    high = _part(builder, second, size, spread[lanes:], mask, align)\n"
           "    picked = [2 * lane for lane in range(lanes)]\n"),
    # T.log(T.float32(1e-40))
    Mutant("log of a denormal is off by 24 binades", "floats", "codegen/llvm/mathematics.py",
           "    whole = builder.select(is_tiny, builder.fsub(whole, m.constant(x, 24.0)), whole)\n", ""),
    # --- Default schedules, runtime
    # y[j] += a[j, k] * x[k] for k of one vector and a half
    Mutant("the tail of a matrix-vector product starts one vector early", "codegen", "codegen/rules/gemv.py",
           "add(start, plus(done, start), below(lane, splat(rest, width)))", "add(start, done, below(lane, splat(rest, width)))"),
    # A: T.Buffer((0, 3), strides=(8, 1)) and numpy.empty((0, 3))
    Mutant("only empty dimensions are free of their strides", "codegen", "codegen/runtime/specs.py",
           "is_free = [extent == 1 or 0 in array.shape for extent in array.shape]",
           "is_free = [extent <= 1 for extent in array.shape]"),
    # f(A of n = 4, B of n = 2), called for the fifth time
    Mutant("fast calls do not compare sizes that occur twice", "memory", "codegen/runtime/quick_call.py",
           "elif isinstance(declared, tir.Var) and declared in self._bound:\n"
           "            self._require(self.builder.icmp_signed(\"==\", actual, self._bound[declared]))",
           "elif isinstance(declared, tir.Var) and declared in self._bound:\n            pass"),
    # --- Interpreter
    # X = T.match_buffer(A[i, 0:4], (4,)) for a matrix A
    Mutant("the fast tier gives a row the stride of a column", "tiers", "ir/interp/lanes/views.py",
           "other.strides = self.strides[len(self.strides) - len(shape) :]", "other.strides = self.strides[: len(shape)]"),
    # B[i] = T.truncdiv(A[i], 2) for A[i] = -4
    Mutant("the fast tier rounds exact negative quotients up", "tiers", "ir/interp/lanes/arithmetic.py",
           "((a - quotient * b != 0) & ((a < 0) != (b < 0)))", "((a < 0) != (b < 0))"),
    # --- GPU
    # for tx in T.thread_binding(2, 6, thread="threadIdx.x"): A[tx] = 0
    Mutant("a loop over threads starts at 0", "gpu", "codegen/gpu/split.py",
           "make.add(index, start if first is None else first)", "index"),
    # T.where(k0 * 32 + tx < 40 and i < 3) in a sum over threads
    Mutant("a sum of threads is stored without its predicate", "gpu", "codegen/gpu/reductions.py",
           "kept = [part for part in conjuncts(stmt.predicate) if not uses([part], inner | set(threads))]",
           "kept = list[tir.PrimExpr]()"),
    # for i in range(2, 4): S[tx + i] = …; … = S[tx + 2]
    Mutant("the search for shared elements counts loops from 0", "gpu", "codegen/gpu/own_elements.py",
           "values = {var: row + known[var][0] for var, row in zip(names, grid, strict=True)}",
           "values = {var: row for var, row in zip(names, grid, strict=True)}"),
)  # fmt: skip
"""The first sixty."""

SECOND = (
    # A loop with software_pipeline_stage [0, 1] whose buffer is written for i + 1 before it is read for i
    Mutant("a software pipeline has one version of a buffer too few", "codegen", "codegen/lower/pipeline.py",
           "min(part.stage for part in writers) + 1", "min(part.stage for part in writers)"),
    # T.attr(X, "double_buffer_scope", 1): X[j] = A[j], then A[j] = X[j] + 1
    Mutant("a double buffer is filled ahead from memory that the use writes", "codegen", "codegen/lower/double_buffer.py",
           "written[0] == {memory} and not read & written[1] and", "written[0] == {memory} and"),
    # T.shift_right(x, y) == -4 for -8 <= x and 0 <= y <= 1
    Mutant("the lower bound of a shifted negative number is that of the longest shift", "simplify",
           "ir/analysis/const_bounds.py", "min(value.min >> least, value.min >> most)", "value.min >> most"),
    # T.Cast("int8", x * T.uint8(3)) % T.int8(3)
    Mutant("a cast from uint8 to int8 keeps remainders", "analysis", "ir/analysis/modular_set.py",
           'target.code == "int" and source.bits < target.bits', 'target.code == "int" and source.bits <= target.bits'),
    # X = T.match_buffer(A[i * 4:i * 4 + 4], (4,)); X[j] = 0 without T.writes
    Mutant("the region of a view starts where the view does", "lowering", "ir/access.py",
           "tir.Range(make.add(outer.min, inner.min), inner.extent)", "tir.Range(outer.min, inner.extent)"),
    # R.image.resize2d(x, (5, 5), method="cubic", cubic_exclude=1)
    Mutant("cubic weights count one place beyond the image", "graph", "ir/ops/image.py",
           'place < te.cast(length, "float32"))', 'place <= te.cast(length, "float32"))'),
    # R.layout_transform(x, lambda i: (i // 4, i % 4 // 2, …)) with divisors 4 and 6
    Mutant("a dimension is padded to its greatest divisor only", "graph", "ir/ops/layout_transform.py",
           "unit = lcm(1, *(", "unit = max(1, *("),
    # T.tvm_thread_allreduce over threadIdx.x in a block of (4, 8) threads
    Mutant("a sum over one axis of threads is one over all", "gpu", "ir/interp/exchanges.py",
           "group = [index for variable, index, _ in frame.thread.values() if variable not in reduced]", "group = list[int]()"),
    # if tx < 4: … barrier …; if tx < 2: barrier; in a loop
    Mutant("the mask of an inner `if` keeps its values from the last time", "gpu", "codegen/gpu/simulate.py",
           "return mask, [none, fill] if outer is not None else [fill]", "return mask, [fill]"),
    # S[tx] = 0; for k in range(n): S[tx + 1] = … where n may be 0; … = S[tx + 1]
    Mutant("accesses before a loop that may be empty are forgotten", "gpu", "codegen/gpu/barriers.py",
           "            self._since = [*before, *self._since]\n        return _behind(needed, loop)",
           "            pass\n        return _behind(needed, loop)"),
    # R.take(x, indices, axis=0) for indices of rank 2 and x of rank 2
    Mutant("take expects indices of rank 1", "graph", "ir/ops/taking.py",
           "return a.x(*ax[:axis], index, *ax[axis + width :])", "return a.x(*ax[:axis], index, *ax[axis + 1 :])"),
    # R.prim_value(T.int32(3))
    Mutant("an int32 in a graph is printed as an int64", "roundtrip", "dsl/printer/expressions.py",
           'if printer.in_relax and dtype in ("int64", "bool"):', 'if printer.in_relax and dtype in ("int64", "int32", "bool"):'),
    # A[0] < B[0] in bfloat16, both negative
    Mutant("bfloat16 is compared by its bits", "floats", "codegen/lower/small_floats.py",
           "            return replace(node, a=a, b=b)\n", "            return node\n"),
    # v: T.int32 = A[0]; A[0] = v + 1; if v == A[0]: B[0] = 1
    Mutant("a variable stays equal to the memory that it was read from", "simplify", "ir/simplify/statements.py",
           "if is_index(value.dtype) and _is_lasting(value):", "if is_index(value.dtype):"),
    # for k in range(4): A[0] = T.max(A[0], A[k] * T.float32(2))
    Mutant("a window may contain the element that it updates", "codegen", "codegen/lower/windows.py",
           "any(has_effects(expr) or _reads(expr, data) for expr in taken)", "any(has_effects(expr) for expr in taken)"),
    # B[I[0] + j] = …; I[0] = 2; … = B[I[0]], with B allocated around them
    Mutant("a buffer is compacted to a part whose start is overwritten", "codegen", "codegen/lower/compact.py",
           "return node.buffer in self._written", "return False"),
    # for i in range(k, 8) for an undefined k
    Mutant("starts of loops may use undefined variables", "verify", "ir/verify/scoping.py",
           "self._visit_all((node.min, node.extent))\n        if node.thread_binding", "self._visit_all((node.extent,))\n        if node.thread_binding"),
    # A: T.Buffer((n, 4), strides=(m * 4, 1)) and an array of another row length
    Mutant("strides that are expressions are not checked", "memory", "codegen/runtime/specs.py",
           "if self._strides is not None and self._strides.has_deferred:", "if self._strides is not None and self._strides.is_static:"),
    # B[i] = A[i] where i < 7; C[j] = B[j + 1] for j < 5: reverse_compute_inline of C
    Mutant("reverse_compute_inline drops the predicate of the producer", "schedule",
           "ir/schedule/primitives/reverse_compute_inline.py",
           "simplify(make.logical_and(substitute(inside, bindings_of(realize)), realize.predicate))",
           "simplify(substitute(inside, bindings_of(realize)))"),
    # R.bucketize of NaN
    Mutant("NaN is below all boundaries", "graph", "ir/ops/search.py",
           "below = te.select(x <= x, below, te.const(1, dtype))", "below = te.select(x <= x, below, te.const(0, dtype))"),
)  # fmt: skip
"""Twenty more, of other kinds, after the generators were extended for the first."""

BLIND = FIRST + SECOND
