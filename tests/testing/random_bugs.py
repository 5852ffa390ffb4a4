"""Bugs planted in functions that were drawn at random (seed 4171), before reading the generators of their areas."""

from __future__ import annotations

from planted_bugs import Mutant

FIRST_ROUND = (
    # --- Text
    Mutant("only loads and stores use a declared buffer", "roundtrip", "dsl/printer/statements.py",
           "if not isinstance(node, tir.DeclBuffer) for child", "if isinstance(node, tir.BufferLoad | tir.BufferStore) for child"),
    Mutant("//= is read as /=", "parse", "dsl/parser/tree.py", "op=op.text[:-1],", "op=op.text[0],"),
    Mutant("alignments below the default are not printed", "roundtrip", "dsl/printer/buffers.py",
           "if buffer.data_alignment != ALIGNMENT:", "if buffer.data_alignment > ALIGNMENT:"),
    Mutant("vectorized loops forget their step", "parse", "dsl/builder/tir_loops.py",
           "_loop(site, tir.ForKind.VECTORIZED, start, stop, annotations, step=step)",
           "_loop(site, tir.ForKind.VECTORIZED, start, stop, annotations)"),
    Mutant("a lambda with one result returns no tuple", "roundtrip", "dsl/printer/expressions.py",
           "if single and len(results) == 1 else printer.tuple(results)", "if len(results) == 1 else printer.tuple(results)"),
    Mutant("a vector and a scalar are joined by a logical operator", "roundtrip", "dsl/builder/operators.py",
           "if is_vector(a.dtype) or is_vector(b.dtype):", "if is_vector(a.dtype) and is_vector(b.dtype):"),
    Mutant("R.Shape(ndim=2) forgets its rank", "roundtrip", "dsl/builder/relax_annotations.py",
           "return relax.ShapeStructInfo(None, ndim, span=span)", "return relax.ShapeStructInfo(None, -1, span=span)"),
    Mutant("results of calls of functions are not annotated", "roundtrip", "dsl/printer/relax_functions.py",
           "if isinstance(value, relax.Call) and isinstance(value.op, GlobalVar):\n        # The",
           "if isinstance(value, relax.Call) and isinstance(value.op, GlobalVar) and not value.args:\n        # The"),
    # --- Lowering
    Mutant("calls write no memory", "lowering", "codegen/lower/invariants.py",
           "                own.add(_ANY)\n", "                pass\n"),
    Mutant("an index with stride 0 is not checked", "memory", "codegen/lower/layout.py",
           "is_dropped = isinstance(stride, tir.IntImm) and stride.value == 0 and has_effects(index)", "is_dropped = False"),
    Mutant("a store is void if one of its indices is that of the load", "lowering", "codegen/lower/no_op.py",
           "is_same = all(\n", "is_same = any(\n"),
    Mutant("regions of views lose their last dimensions", "lowering", "codegen/lower/match_buffer.py",
           "zip(ranges, mins[len(dropped) :], strict=True)", "zip(ranges, mins[: len(ranges)], strict=True)"),
    Mutant("allocations move although a pointer to them escapes", "lowering", "codegen/lower/locate.py",
           "if uses.of[buffer] and buffer.data not in uses.escaped:", "if uses.of[buffer]:"),
    Mutant("the first iteration of a loop is iteration 0", "lowering", "codegen/lower/hoist.py",
           "and condition.b.value == loop.min.value", "and condition.b.value == 0"),
    # --- Machine code
    Mutant("any lane means all lanes", "codegen", "codegen/llvm/expressions.py",
           'return self.builder.icmp_unsigned("!=", bits, number(bits.type, 0))',
           'return self.builder.icmp_unsigned("==", bits, number(bits.type, (1 << lanes) - 1))'),
    Mutant("polynomials for float32 serve all but float64", "codegen", "codegen/llvm/intrinsics.py",
           'if scalar_of(call.dtype) != "float32":\n            return otherwise',
           'if scalar_of(call.dtype) == "float64":\n            return otherwise'),
    Mutant("reads before writes need no barrier", "gpu", "codegen/gpu/barriers.py",
           "if a.data is not b.data or not (a.is_write or b.is_write) or not self._threads:",
           "if a.data is not b.data or not a.is_write or not self._threads:"),
    # --- Schedules
    Mutant("rfactor counts negative axes without the new one", "schedule", "ir/schedule/primitives/rfactor.py",
           "return factor_axis + ndim + 1 if factor_axis < 0 else factor_axis",
           "return factor_axis + ndim if -ndim <= factor_axis < 0 else max(factor_axis, 0)"),
    Mutant("decompose_reduction expects the spatial axes first", "schedule", "ir/schedule/primitives/decompose_reduction.py",
           "tuple([realize.iter_values[index] for index in spatial]), _TRUE", "realize.iter_values[: len(axes)], _TRUE"),
    Mutant("statements in branches touch no buffer", "schedule", "ir/schedule/analysis/scope.py",
           "        if not isinstance(statement, tir.BlockRealize):\n            stack.extend(statements_in(statement))",
           "        if not isinstance(statement, tir.BlockRealize | tir.IfThenElse):\n            stack.extend(statements_in(statement))"),
    # --- Graphs
    Mutant("a split of texts at 0 places is unlimited", "texts", "ir/ops/texts.py",
           "most = -1 if int(a.maxsplit) < 0 else", "most = -1 if int(a.maxsplit) <= 0 else"),
    Mutant("a group is represented by the next node", "each_pass", "ir/passes/fuse_ops.py",
           "        while node.root is not None:\n            node = node.root\n        return node",
           "        if node.root is not None:\n            node = node.root\n        return node"),
    Mutant("padding ends with the unpadded size", "graph", "ir/ops/windows.py",
           "inside.append(item < d.add(dim, low))", "inside.append(item < dim)"),
    Mutant("a maximum over windows counts padding as 0", "graph", "ir/ops/pooling.py",
           "fill = te.const(0, x.dtype) if average else te.least(x.dtype)", "fill = te.const(0, x.dtype)"),
    # --- Gradients
    Mutant("the loss of one example is divided by its classes", "gradient", "ir/passes/gradient_rules_of_networks.py",
           "if info_of(x).ndim > 1:\n        batch = d.value_of(shape_of(x).values[0])\n        if batch is None:\n            raise error(\"E0908\", \"the gradient of a loss over",
           "if info_of(x).ndim > 0:\n        batch = d.value_of(shape_of(x).values[0])\n        if batch is None:\n            raise error(\"E0908\", \"the gradient of a loss over"),
    Mutant("the gradient of a convolution expects equal padding on both sides", "gradient", "ir/passes/gradient_rules_of_networks.py",
           "around = [padding[n] + padding[n + 2] for n in (0, 1)]\n    spans = [(windows", "around = [2 * padding[n] for n in (0, 1)]\n    spans = [(windows"),
    Mutant("the gradient of a vector on the left expects a matrix", "gradient", "ir/passes/gradient_rules.py",
           'g = apply("expand_dims", g, axis=[-2])', 'g = apply("expand_dims", g, axis=[0])'),
    # --- Simplifier and analysis
    Mutant("the offset of a constrained sum loses its scale", "analysis", "ir/analysis/iter_map.py",
           "base = f.plus(base, f.times(offset, factor))", "base = f.plus(base, offset)"),
    Mutant("axes of blocks start at 0", "simplify", "ir/simplify/statements.py",
           "inner = inner.within(axis.var, domain)", "inner = inner.within(axis.var, replace(domain, min=tir.IntImm(domain.extent.dtype, 0)))"),
    Mutant("a comparison is divided by any divisor", "simplify", "ir/simplify/comparisons.py",
           "if (\n                divisor > 0\n            ):", "if (\n                divisor\n            ):"),
    Mutant("the base of a product is not scaled", "analysis", "ir/analysis/iter_map.py",
           "return IterSumExpr(tuple(splits), self.factors.times(inner.base, scale))", "return IterSumExpr(tuple(splits), inner.base)"),
    Mutant("one term decides whether a sum divides another", "simplify", "ir/simplify/division.py",
           "if times and all(value.terms", "if times and any(value.terms"),
)  # fmt: skip

RANDOM = FIRST_ROUND
