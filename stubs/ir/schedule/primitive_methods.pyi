"""Methods of a schedule, from the declarations of primitives. Generated; do not edit."""

import builtins
import collections.abc
import tvms.ir.schedule.handles
import tvms.ir.tir
import typing

class PrimitiveMethods:
    """Methods of a schedule: one for each primitive."""

    def add_unit_loop(self, block_or_loop: tvms.ir.schedule.handles.BlockRV | tvms.ir.schedule.handles.LoopRV | builtins.str) -> tvms.ir.schedule.handles.LoopRV:
        """Add a loop of extent 1, `u`, around a loop or a block.

        Preserves: everything that executes. Comments stay with the loop or block.
        """
    def annotate_buffer_access(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, buffer_index: builtins.int | tvms.ir.tir.PrimExpr, buf_type: builtins.str, gen_new_ranges: tvms.ir.tir.IndexMap | collections.abc.Callable[..., typing.Any]) -> None:
        """Declare the region of a buffer that a block reads or writes, if it cannot be derived. Later passes rely on it.
        `buffer_index` is the index of the buffer among the regions that the block reads (`buf_type="read"`) or writes
        ("write"). `gen_new_ranges` maps the iterators to an index, or a pair of begin and end, for each dimension. In text,
        it is a map to the list of all begins and ends.

        Preserves: everything that executes. Comments stay.
        """
    def unsafe_hide_buffer_access(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, buf_type: builtins.str, buf_index_array: collections.abc.Sequence[builtins.int | tvms.ir.tir.PrimExpr]) -> None:
        """Remove buffers from the regions that a block declares to read (`buf_type="read"`) or write ("write");
        `buf_index_array` lists their indices. Later primitives and passes rely on the declaration and may miscompile a
        block that still accesses these buffers.

        Preserves: everything that executes; later primitives and passes may not. Comments stay.
        """
    def annotate(self, block_or_loop: tvms.ir.schedule.handles.BlockRV | tvms.ir.schedule.handles.LoopRV | builtins.str, ann_key: builtins.str, ann_val: typing.Any) -> None:
        """Annotate a loop or a block. A loop with both `software_pipeline_stage` and `software_pipeline_order` must be able
        to run as that pipeline, now and after every later step (E0588).

        An annotation that exists keeps its value, as in TVM; `unannotate` removes it.

        Preserves: everything; passes decide what an annotation means. Comments stay.
        """
    def unannotate(self, block_or_loop: tvms.ir.schedule.handles.BlockRV | tvms.ir.schedule.handles.LoopRV | builtins.str, ann_key: builtins.str) -> None:
        """Remove an annotation from a loop or a block.

        Preserves: everything. Comments stay.
        """
    def blockize(self, target: tvms.ir.schedule.handles.LoopRV | collections.abc.Sequence[tvms.ir.schedule.handles.BlockRV | builtins.str], preserve_unit_iters: builtins.bool = True) -> tvms.ir.schedule.handles.BlockRV:
        """Turn the nest under a loop, or the adjacent nests of several blocks, into one block. The outer loops execute the
        new block, which contains the old blocks; `T.init` of a reduction moves to the new block, in its own loops. With
        `preserve_unit_iters`, iterators with a single value are kept.

        Preserves: what is computed, and in which order. Comments stay with their statements.
        """
    def cache_index(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, storage_scope: builtins.str, cse_thresh: builtins.int | tvms.ir.tir.PrimExpr = 0) -> builtins.list[tvms.ir.schedule.handles.BlockRV]:
        """Compute expressions of a block that depend only on its iterators, such as indices, in preceding blocks, and let
        the block read the results. An expression that occurs fewer than `cse_thresh` times is not cached as a whole; its
        parts are considered in turn.

        Preserves: what every block computes. Comments stay where they are.
        """
    def cache_inplace(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, read_buffer_index: builtins.int | builtins.str | tvms.ir.tir.Buffer, storage_scope: builtins.str) -> builtins.list[tvms.ir.schedule.handles.BlockRV]:
        """Let a block work on a copy of a buffer that it reads and writes. The elements that it reads are copied right
        before the block, those that it writes are copied back right after it. If the block uses the address of the buffer,
        it gets the address of the copy.

        Preserves: what every block computes. Comments stay where they are.
        """
    def cache_read(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, read_buffer_index: builtins.int | builtins.str | tvms.ir.tir.Buffer, storage_scope: builtins.str, consumer_blocks: collections.abc.Sequence[tvms.ir.schedule.handles.BlockRV | builtins.str] | None = None) -> tvms.ir.schedule.handles.BlockRV:
        """Copy a buffer that a block reads, after it is written, and let all blocks that read it, or those in
        `consumer_blocks`, read the copy.

        Preserves: what every block computes. Comments stay where they are.
        """
    def cache_write(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, write_buffer_index: builtins.int | builtins.str | tvms.ir.tir.Buffer, storage_scope: builtins.str, consumer_blocks: collections.abc.Sequence[tvms.ir.schedule.handles.BlockRV | builtins.str] | None = None) -> tvms.ir.schedule.handles.BlockRV:
        """Let a block write a new buffer, and copy that to the original buffer before the latter is read. The blocks in
        `consumer_blocks` read the new buffer.

        Preserves: what every other block computes, and all that the block writes. Comments stay where they are.
        """
    def compute_inline(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str) -> None:
        """Replace every read of the output of a block by the expression that the block stores, and remove the block and its
        buffer.

        Preserves: what all other blocks compute. Comments of the block move above the first consumer, or above the first
        block or statement of the scope.
        """
    def compute_at(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, loop: tvms.ir.schedule.handles.LoopRV, preserve_unit_loops: builtins.bool = False, index: builtins.int | tvms.ir.tir.PrimExpr = -1) -> None:
        """Move a block under a loop around its consumers. Each iteration of the loop then computes the elements that are
        read there, in new loops; elements that several iterations read are computed in each of them. `index` is the index
        of the child statement of the loop before which the block is inserted: -1 is the last possible one, -2 the first.
        With a location from sample_compute_location, the block may also be inlined or stay where it is.

        Preserves: what every other block computes. Comments of the block and of its old loops move with it.
        """
    def decompose_reduction(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, loop: tvms.ir.schedule.handles.LoopRV) -> tvms.ir.schedule.handles.BlockRV:
        """Move `T.init` of a reduction to a new block before `loop`, with copies of the loops that it needs.

        Preserves: what is computed, also for empty reductions. Comments in `T.init` move with it, all others stay with the
        remaining block, `…_update`.
        """
    def decompose_padding(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, loop: tvms.ir.schedule.handles.LoopRV) -> tvms.ir.schedule.handles.BlockRV:
        """Split a block that pads its output with a constant: a new nest before `loop` fills the output with the constant,
        and the block then executes only for elements that are not padding.

        Preserves: what is computed. Comments stay with the block.
        """
    def enter_postproc(self) -> None:
        """Mark the point in the trace after which steps only postprocess; `remove_postproc` drops them.

        Preserves: everything.
        """
    def fuse(self, *loops: tvms.ir.schedule.handles.LoopRV, preserve_unit_iters: builtins.bool = True) -> tvms.ir.schedule.handles.LoopRV:
        """Fuse nested loops, given from the outermost to the innermost, into one loop.

        Without `preserve_unit_iters`, loops of extent 1 are removed from bindings.

        Preserves: how often, and in which order, every block below executes. The comments of all loops stay, in order.
        """
    def reverse_compute_inline(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str) -> None:
        """Let the producer of a block store the output of the block, and remove the block and the buffer between them. If
        the block does not read all elements, the producer gets a predicate.

        Preserves: what `block` and all other blocks except its producer write. Comments of the block move above its
        producer.
        """
    def fuse_reduction_epilogue(self, reduction_block: tvms.ir.schedule.handles.BlockRV | builtins.str, epilogue_block: tvms.ir.schedule.handles.BlockRV | builtins.str) -> None:
        """Let `T.init` of a reduction start from the value that an epilogue combines with the result, such as a bias, and
        let the reduction store the output of the epilogue, which is removed. The buffer between them stays allocated, as in
        TVM; the lowering removes it.

        Preserves: what `epilogue_block` writes, up to the rounding of another order of summation. Comments of the epilogue
        move above the reduction.
        """
    def parallel(self, loop: tvms.ir.schedule.handles.LoopRV) -> None:
        """Execute the iterations of a loop in parallel on the cores of the CPU.

        Blocks under it that are neither complete nor reductions, such as those with opaque iterators, are accepted if its
        iterations are proven to be independent.

        Preserves: what is computed, as no iteration depends on another. Comments stay.
        """
    def vectorize(self, loop: tvms.ir.schedule.handles.LoopRV) -> None:
        """Execute the iterations of a loop as the lanes of a vector.

        Blocks under it that are neither complete nor reductions, such as those with opaque iterators, are accepted if its
        iterations are proven to be independent.

        Preserves: what is computed, as no iteration depends on another. Comments stay.
        """
    def bind(self, loop: tvms.ir.schedule.handles.LoopRV, thread_axis: builtins.str) -> None:
        """Bind a loop to a thread axis of a GPU: `blockIdx.x`, `threadIdx.x`, `vthread.x`, or y and z of these.

        Blocks under it that are neither complete nor reductions, such as those with opaque iterators, are accepted if its
        iterations are proven to be independent.

        Preserves: what is computed, as no iteration depends on another; a reduction bound to threadIdx is computed across
        threads. Comments stay.
        """
    def unroll(self, loop: tvms.ir.schedule.handles.LoopRV) -> None:
        """Unroll a loop. If it was bound to threads, its iterations must be independent.

        Preserves: the order of everything. Comments stay.
        """
    def loop_partition(self, loop: tvms.ir.schedule.handles.LoopRV, factors: collections.abc.Sequence[builtins.int | tvms.ir.tir.PrimExpr | None], preserve_unit_iters: builtins.bool = True) -> builtins.list[tvms.ir.schedule.handles.LoopRV]:
        """Divide a loop into consecutive loops with the extents `factors`, one of which may be None. Remaining iterations
        form one more loop.

        Each part is in a block of its own. The blocks below are copied, and the copies are named after the part.

        Preserves: how often, and in which order, everything below executes. Comments of the loop stay above the first part,
        those below it are copied to every part.
        """
    def reorder(self, *ordered_loops: tvms.ir.schedule.handles.LoopRV) -> None:
        """Change the order of nested loops to the given one. Loops between them that are not given keep their positions.

        Preserves: how often every block below executes, and what it computes: its iterators are spatial or reductions, so
        the order of iterations does not matter, except for a reduction that keeps the first of equal values. Comments
        move with their loops.
        """
    def merge(self, *loops: tvms.ir.schedule.handles.LoopRV) -> tvms.ir.schedule.handles.LoopRV:
        """Merge consecutive nests, each given by its innermost loop, into one nest.

        Preserves: how often everything executes, and the order of any two dependent iterations. The merged nest takes the
        position of the last one; comments stay, in order.
        """
    def transform_block_layout(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, index_map: tvms.ir.tir.IndexMap | collections.abc.Callable[..., typing.Any]) -> None:
        """Replace the iterators of a block by their image under `index_map`. New loops `ax0`, `ax1` and so on replace those
        around the block.

        Preserves: what the block computes, in another order. The comments of the loops move above the new ones.
        """
    def pad_einsum(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, padding: collections.abc.Sequence[builtins.int | tvms.ir.tir.PrimExpr]) -> None:
        """Pad the extents of the iterators of a sum of products, such as a matrix product, to multiples of `padding`, which
        has one number for each iterator. Inputs are copied to buffers padded with zeros; the unpadded part of the output is
        copied back.

        Preserves: what every block computes. Comments stay where they are.
        """
    def get_block(self, name: builtins.str | None = None, func_name: builtins.str | None = None, *, reads: builtins.str | None = None, writes: builtins.str | None = None) -> tvms.ir.schedule.handles.BlockRV:
        """Return the block called `name` in function `func_name`, or in the current function; or else the only block that reads
        or writes the buffers with the names `reads` and `writes`.
        """
    def match(self, pattern: builtins.str, func_name: builtins.str | None = None) -> builtins.list[tvms.ir.schedule.handles.BlockRV | tvms.ir.schedule.handles.LoopRV]:
        """Return the loops of a pattern, outermost first, and the block with the statement that it matches: `k, block =
        S.match("for k in _: C[_] += _")`. `_` matches anything, other names those of loops, buffers and variables. The loops are
        those right around the block. Casts are ignored.
        """
    def get_loops(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str) -> builtins.list[tvms.ir.schedule.handles.LoopRV]:
        """Return the loops around a block within its scope, outermost first."""
    def get_child_blocks(self, block_or_loop: tvms.ir.schedule.handles.BlockRV | tvms.ir.schedule.handles.LoopRV | builtins.str) -> builtins.list[tvms.ir.schedule.handles.BlockRV]:
        """Return the outermost blocks in a block or under a loop, in order."""
    def get_producers(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str) -> builtins.list[tvms.ir.schedule.handles.BlockRV]:
        """Return the preceding blocks of the same scope that write what the block reads or writes, in order."""
    def get_consumers(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str) -> builtins.list[tvms.ir.schedule.handles.BlockRV]:
        """Return the following blocks of the same scope that read or write what the block writes, in order."""
    def get_output_blocks(self, scope_block: tvms.ir.schedule.handles.BlockRV | builtins.str) -> builtins.list[tvms.ir.schedule.handles.BlockRV]:
        """Return the blocks at any depth in a block that write a buffer not allocated in their scope, in order."""
    def read_at(self, loop: tvms.ir.schedule.handles.LoopRV, block: tvms.ir.schedule.handles.BlockRV | builtins.str, read_buffer_index: builtins.int | builtins.str | tvms.ir.tir.Buffer, storage_scope: builtins.str) -> tvms.ir.schedule.handles.BlockRV:
        """Copy the part of a buffer that the blocks under a loop read, right before the first of them, and let them read
        the copy. The copying block is annotated with "auto_copy".

        Preserves: what every block computes. Comments stay where they are.
        """
    def write_at(self, loop: tvms.ir.schedule.handles.LoopRV, block: tvms.ir.schedule.handles.BlockRV | builtins.str, write_buffer_index: builtins.int | builtins.str | tvms.ir.tir.Buffer, storage_scope: builtins.str) -> tvms.ir.schedule.handles.BlockRV:
        """Let the blocks under a loop that write a buffer write a new one, which is copied back right after the last of
        them. The copying block is annotated with "auto_copy".

        Preserves: what every other block computes, and all that is written. Comments stay where they are.
        """
    def reindex(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, buffer: builtins.tuple[builtins.str, builtins.int] | builtins.str | tvms.ir.tir.Buffer) -> tvms.ir.schedule.handles.BlockRV:
        """Let a block access a copy of a buffer that is indexed by the iterators of the block. Iterators that do not occur in
        the index of the buffer are omitted. Elements that the block reads are copied before its loops; elements that it
        writes are copied after them.

        Preserves: what every block computes. Comments stay where they are.
        """
    def reindex_cache_read(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, read_buffer_index: builtins.int | builtins.str | tvms.ir.tir.Buffer, storage_scope: builtins.str, index_map: tvms.ir.tir.IndexMap | collections.abc.Callable[..., typing.Any]) -> tvms.ir.schedule.handles.BlockRV:
        """Let a block read a copy of a buffer. `index_map` maps the iterators to the index in the copy. The copy is made
        after the buffer is written.

        Preserves: what every block computes. Comments stay where they are.
        """
    def reindex_cache_write(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, write_buffer_index: builtins.int | builtins.str | tvms.ir.tir.Buffer, storage_scope: builtins.str, index_map: tvms.ir.tir.IndexMap | collections.abc.Callable[..., typing.Any]) -> tvms.ir.schedule.handles.BlockRV:
        """Let a block write a new buffer, which is copied to the original one before that is read. `index_map` maps the
        iterators to the index in the new buffer.

        Preserves: what every other block computes, and all that the block writes. Comments stay where they are.
        """
    def reorder_block_iter_var(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, new_order: collections.abc.Sequence[builtins.int | tvms.ir.tir.PrimExpr]) -> None:
        """Permute the iterators of a block: the first one becomes the one with the current index `new_order[0]`, and so on.

        Preserves: everything that executes, as bindings are unchanged. Comments stay.
        """
    def reverse_compute_at(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, loop: tvms.ir.schedule.handles.LoopRV, preserve_unit_loops: builtins.bool = False, index: builtins.int | tvms.ir.tir.PrimExpr = -1) -> None:
        """Move a block under a loop around its producers. Each iteration of the loop then uses the elements that are
        computed there, in new loops. `index` is the index of the child statement of the loop before which the block is
        inserted: -1 is the last possible one, -2 the first.

        Preserves: what every block computes. Comments of the block and of its old loops move with it.
        """
    def rfactor(self, loop: tvms.ir.schedule.handles.LoopRV, factor_axis: builtins.int | tvms.ir.tir.PrimExpr) -> tvms.ir.schedule.handles.BlockRV:
        """Factor a reduction loop: each iteration of it computes a partial result, and a second block reduces these. The
        partial results are in a new buffer whose axis `factor_axis` has the extent of the loop; -1 is the last axis.

        Preserves: what is computed; sums of floats are added in another order. Comments stay with the remaining block,
        which reduces the partial results.
        """
    def rolling_buffer(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, write_buffer_index: builtins.int | tvms.ir.tir.PrimExpr) -> None:
        """Compute each element of a buffer only once, if a block under a loop of its consumers recomputes elements of the
        previous iteration. The elements are kept while they are needed. Along the axis of the outermost such loop, the
        buffer shrinks to the extent of one iteration and is used as a circular buffer.

        Preserves: what every other block computes. The iterations must stay in order from then on. Comments stay.
        """
    def sample_categorical(self, candidates: collections.abc.Sequence[builtins.int | tvms.ir.tir.PrimExpr], probs: collections.abc.Sequence[builtins.float], decision: builtins.int | tvms.ir.tir.PrimExpr | None = None) -> tvms.ir.schedule.handles.ExprRV:
        """Choose one of `candidates` at random, with the probabilities `probs`. `decision`, the index of a candidate,
        repeats an earlier choice.

        Preserves: everything; the choice is part of the trace.
        """
    def sample_compute_location(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, decision: builtins.int | tvms.ir.tir.PrimExpr | None = None) -> tvms.ir.schedule.handles.LoopRV:
        """Choose a location of a block for `compute_at` at random: a loop around its consumers, inlining if that is
        possible, or its current position. Loops of extent 1 and loops inside of reductions are not considered.

        `decision` repeats an earlier choice: -2 is inlining, -1 the current position, other numbers are indices of the
        loops around all consumers. If the choice is no longer possible, the next smaller one is taken.

        Preserves: everything; the choice is part of the trace.
        """
    def sample_partitioned_tile(self, loop: tvms.ir.schedule.handles.LoopRV, n: builtins.int | tvms.ir.tir.PrimExpr, partition_pos: builtins.int | tvms.ir.tir.PrimExpr = 0, innerpart_factor: builtins.int | tvms.ir.tir.PrimExpr = 1, decision: collections.abc.Sequence[builtins.int | tvms.ir.tir.PrimExpr] | None = None) -> builtins.list[tvms.ir.schedule.handles.ExprRV]:
        """Choose `n` factors at random whose product is the extent of a loop. The product of those from index
        `partition_pos` on is a multiple of `innerpart_factor`. `decision` repeats an earlier choice, as in
        `sample_perfect_tile`.

        If the extent is not constant or not a multiple of `innerpart_factor`, the first factor is None, which `split`
        infers, and all others are 1.

        Preserves: everything; the choice is part of the trace.
        """
    def sample_perfect_tile(self, loop: tvms.ir.schedule.handles.LoopRV, n: builtins.int | tvms.ir.tir.PrimExpr, max_innermost_factor: builtins.int | tvms.ir.tir.PrimExpr = 16, decision: collections.abc.Sequence[builtins.int | tvms.ir.tir.PrimExpr] | None = None) -> builtins.list[tvms.ir.schedule.handles.ExprRV]:
        """Choose `n` factors at random whose product is the extent of a loop. The last one is at most
        `max_innermost_factor` (-1: unlimited). All distributions of the prime factors are equally likely. `decision`
        repeats an earlier choice; if the extent has changed, factors that no longer divide it are adapted.

        If the extent is not constant, the first factor is None, which `split` infers, and all others are 1.

        Preserves: everything; the choice is part of the trace.
        """
    def set_axis_separator(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, buffer: builtins.tuple[builtins.str, builtins.int] | builtins.str | tvms.ir.tir.Buffer, axis_separators: collections.abc.Sequence[builtins.int | tvms.ir.tir.PrimExpr]) -> None:
        """Flatten the dimensions of a buffer in groups, in the whole function; a new group begins at each of
        `axis_separators`. `buffer` is one that the block reads or writes. Its views get the same separators, or equally
        many zeros if they have another number of dimensions.

        Preserves: what every block computes; callers must pass a parameter in this layout. Comments stay.
        """
    def set_scope(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, buffer_index: builtins.int | builtins.str | tvms.ir.tir.Buffer, storage_scope: builtins.str) -> None:
        """Move a buffer that a block writes, and its views, to another storage scope, and append the scope to their names.

        Preserves: what is computed, as threads still see the elements that they read. Comments stay.
        """
    def split(self, loop: tvms.ir.schedule.handles.LoopRV, factors: collections.abc.Sequence[builtins.int | tvms.ir.tir.PrimExpr | None], preserve_unit_iters: builtins.bool = True, disable_predication: builtins.bool = False) -> builtins.list[tvms.ir.schedule.handles.LoopRV]:
        """Divide a loop into nested loops with the extents `factors`, outermost first; one may be None and is inferred.

        If the factors do not divide the extent, the blocks below get a predicate. `disable_predication` omits
        the predicate, which must be provably redundant unless the extent depends on `T.vscale()`. Without `preserve_unit_iters`, loops
        of extent 1 are removed from bindings.

        Preserves: how often, and in which order, every block below executes. Comments stay with the outermost loop.
        """
    def storage_align(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, buffer_index: builtins.int | tvms.ir.tir.PrimExpr, axis: builtins.int | tvms.ir.tir.PrimExpr, factor: builtins.int | tvms.ir.tir.PrimExpr, offset: builtins.int | tvms.ir.tir.PrimExpr) -> None:
        """Require that the stride of an axis of a buffer that the block writes is a multiple of `factor`, plus `offset`,
        for example to avoid bank conflicts in shared memory.

        Preserves: what is computed, as it does not depend on strides. Comments stay.
        """
    def tensorize(self, block_or_loop: tvms.ir.schedule.handles.BlockRV | tvms.ir.schedule.handles.LoopRV | builtins.str, tensor_intrin: builtins.str, preserve_unit_iters: builtins.bool = True) -> None:
        """Replace a block, or the nest under a loop, by the implementation of an intrinsic. `tvms.tir.TensorIntrin`
        registers intrinsics by name.

        Preserves: what is computed, provided that the intrinsic does what its description says. Comments move above the
        block.
        """
    def transform_layout(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, buffer: builtins.tuple[builtins.str, builtins.int] | builtins.str | tvms.ir.tir.Buffer, index_map: tvms.ir.tir.IndexMap | collections.abc.Callable[..., typing.Any], pad_value: builtins.float | tvms.ir.tir.PrimExpr | tvms.ir.tir.IndexMap | collections.abc.Callable[..., typing.Any] | None = None, *, assume_injective_transform: builtins.bool = False, axis_separators: collections.abc.Sequence[builtins.int | tvms.ir.tir.PrimExpr] | None = None) -> None:
        """Change the layout of a buffer in the whole function: `index_map` maps the index of an element to its new index.
        `buffer` is one that the block reads or writes.

        Positions of the new layout that belong to no element are filled with `pad_value`: by the nest that writes all
        elements, if there is one, or by a block after the last write. If the function only reads the buffer, T.assume
        states that they hold `pad_value`. With `assume_injective_transform`, the map is assumed to be injective and without
        padding. As in TVM, a function may return "axis_separator" between indices; in text, this is `axis_separators`.

        Preserves: what every block computes, in the new layout, which also applies to parameters. Comments stay with their
        loops and blocks.
        """
    def unsafe_set_dtype(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, buffer_index: builtins.int | builtins.str | tvms.ir.tir.Buffer, dtype: builtins.str) -> None:
        """Change the dtype of a buffer that a block writes, and of its views. Stored values are cast to the new dtype, and
        loaded values are cast back. Unsafe: the new dtype may not represent every value.

        Preserves: what is computed, if the new dtype represents all values that are stored. Comments stay.
        """
    def get_extent(self, loop: tvms.ir.schedule.handles.LoopRV) -> typing.Any:
        """Return the extent of a loop: a number, or an expression of symbolic sizes.

        Preserves: everything; the value is not part of the trace.
        """
    def get_dtype(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, buffer_index: builtins.int | tvms.ir.tir.PrimExpr = 0, buf_type: builtins.str = 'write') -> typing.Any:
        """Return the dtype of a buffer that a block writes (`buf_type="write"`) or reads ("read").

        Preserves: everything; the value is not part of the trace.
        """
    def get_target(self) -> typing.Any:
        """Return the kind of the target that is scheduled for: "llvm" or "cuda".

        Preserves: everything; the value is not part of the trace.
        """
    def expect_vector(self, loop: tvms.ir.schedule.handles.LoopRV) -> None:
        """Check that the iterations of a loop are the lanes of a vector, and that every access in it is contiguous, or the same
        in all lanes: no gathers, and no scalar code.

        Preserves: everything; the check is not part of the trace.
        """
    def vector_rows(self, *blocks: tvms.ir.schedule.handles.BlockRV | builtins.str, shared: builtins.int | tvms.ir.tir.PrimExpr = 0, vector_bytes: builtins.int | tvms.ir.tir.PrimExpr, accumulators: builtins.int | tvms.ir.tir.PrimExpr = 4, chunk: builtins.int | tvms.ir.tir.PrimExpr = 8192, parallel: builtins.int | tvms.ir.tir.PrimExpr | None = None) -> None:
        """Compute consecutive blocks row by row, in vectors: they share their first `shared` loops.

        `for i, j: b[i, j] = f(a[i, j])` and `for i, j: c[i] += b[i, j]` become `for i: (for j: b[j] = f(a[i, j])), (for j: c += b[j])`.
        Buffers that only the blocks access become one row, which stays in the L1 cache. Reductions along a contiguous axis have
        `accumulators` vectors of partial results.

        Preserves: the result but for the order of summation, which depends on `vector_bytes` and `accumulators` alone.
        """
    def argument_rows(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, *, lanes: builtins.int | tvms.ir.tir.PrimExpr, accumulators: builtins.int | tvms.ir.tir.PrimExpr = 4, parallel: builtins.int | tvms.ir.tir.PrimExpr | None = None) -> None:
        """Compute an argmax or argmin along rows, in vectors: `lanes * accumulators` pairs of an index and a value at once.

        `i[r], v[r] = better(i[r], v[r], k, a[r, k])` becomes: update the partial pairs by the update of the loop, then combine them,
        always in the same order.

        Preserves: the result, since the update selects the same pair in any order.
        """
    def gemv_rows(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, *, lanes: builtins.int | tvms.ir.tir.PrimExpr, rows: builtins.int | tvms.ir.tir.PrimExpr = 4, vectors: builtins.int | tvms.ir.tir.PrimExpr = 2, fma: builtins.bool = True, parallel: builtins.str | None = None) -> None:
        """Compute a matrix-vector product, or a batch of them, several rows at once: each row is summed in vectors.

        `y[j] += a[j, k] * x[k]` becomes `for tile: sums[r, v] += a[tile * rows + r, k + v] * x[k + v]`, then sums of sums. The rows
        of the matrix are contiguous.

        Preserves: the result but for the order of summation, which depends on `lanes` and `vectors` alone.
        """
    def gemm_tiles(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, *, epilogue: collections.abc.Sequence[tvms.ir.schedule.handles.BlockRV | builtins.str] = ..., lanes: builtins.int | tvms.ir.tir.PrimExpr, rows: builtins.int | tvms.ir.tir.PrimExpr, columns: builtins.int | tvms.ir.tir.PrimExpr, depth: builtins.int | tvms.ir.tir.PrimExpr, panels: builtins.int | tvms.ir.tir.PrimExpr = 0, prefetch: builtins.int | tvms.ir.tir.PrimExpr = 8, fma: builtins.bool = True, parallel: builtins.str | None = None, few_rows: builtins.int | tvms.ir.tir.PrimExpr = 0, few_columns: builtins.int | tvms.ir.tir.PrimExpr = 64, few_depth: builtins.int | tvms.ir.tir.PrimExpr = 256) -> None:
        """Compute a matrix product, or a batch of them, in register tiles of `rows` × `columns` from packed panels.

        `c[i, j] += a[i, k] * b[k, j]` becomes, for parts of `depth` steps of the sum: pack `panels` panels of B for the L2 cache, for
        each tile of rows pack A for the L1 cache, and for each panel sum a tile in registers. With `panels=0`, for few rows, A is
        packed once and each panel of B just before its use. The blocks of `epilogue` are element-wise: a bias and an activation
        are computed while the tile is in the cache.

        Preserves: the result; every element is summed in the order of k, for all knobs. With `fma`, a step is rounded once.
        """
    def im2col(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, *, epilogue: collections.abc.Sequence[tvms.ir.schedule.handles.BlockRV | builtins.str] = ..., chunk: builtins.int | tvms.ir.tir.PrimExpr, lanes: builtins.int | tvms.ir.tir.PrimExpr, rows: builtins.int | tvms.ir.tir.PrimExpr, columns: builtins.int | tvms.ir.tir.PrimExpr, depth: builtins.int | tvms.ir.tir.PrimExpr, panels: builtins.int | tvms.ir.tir.PrimExpr = 0, prefetch: builtins.int | tvms.ir.tir.PrimExpr = 8, fma: builtins.bool = True, parallel: builtins.str | None = None) -> None:
        """Compute a convolution as matrix products of gathered chunks, each in register tiles of `rows` × `columns`.

        `o[f, y, x] += w[f, c, ky, kx] * i[c, y + ky, x + kx]` becomes, for each chunk of `chunk` pixels: copy the input of the chunk to
        the matrix `near[(c, ky, kx), (y, x)]` in the L2 cache, then multiply it by the weights as `gemm_tiles` does. The blocks of
        `epilogue` are element-wise, such as a bias and an activation.

        Preserves: the result; every element is summed in the same order for all knobs. With `fma`, a step is rounded once.
        """
    def transpose_squares(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, *, lanes: builtins.int | tvms.ir.tir.PrimExpr, parallel: builtins.bool = False) -> None:
        """Copy transposed square by square, each in registers by shuffles of vectors.

        `b[j, i] = a[i, j]` becomes, for every square: load `lanes` vectors, exchange halves, quarters and so on, store `lanes`
        vectors. Rows and columns that do not fill a square are copied element by element.

        Preserves: the result, bit for bit.
        """
    def row_bands(self, *blocks: tvms.ir.schedule.handles.BlockRV | builtins.str, rows: builtins.int | tvms.ir.tir.PrimExpr, parallel: builtins.int | tvms.ir.tir.PrimExpr | None = None, vector_bytes: builtins.int | tvms.ir.tir.PrimExpr, registers: builtins.int | tvms.ir.tir.PrimExpr, l1_bytes: builtins.int | tvms.ir.tir.PrimExpr, l2_bytes: builtins.int | tvms.ir.tir.PrimExpr, fma: builtins.bool = True, byte_dots: builtins.bool = False) -> None:
        """Compute products and the blocks between them in bands of `rows` common rows, so that results stay in the L2 cache.

        `s = q @ k`, `p = softmax(s)`, `o = p @ v` become `for head, band:` the same on the rows of a band, in buffers for these rows. The
        blocks of a band are scheduled by the rules for a processor with the given vectors, registers and caches. Blocks between
        them that they do not depend on come before.

        Preserves: the result; each element is computed as it is by these rules without bands.
        """
    def fission(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str) -> builtins.list[tvms.ir.schedule.handles.BlockRV]:
        """Split a block that reduces to several buffers into one block for each, if no value depends on another buffer's.

        The sums of elements and of their squares, `s[i], q[i] += a[i, k], a[i, k] * a[i, k]`, become two nests. Returns the blocks.

        Preserves: the result, bit for bit.
        """
    def inline_values(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str) -> None:
        """Replace every load of what an element-wise block stores by the value, and remove the block and its buffer.

        `b[i] = f(a[i])`, `c[j] = g(b[j])` become `c[j] = g(f(a[j]))`. As `compute_inline`, for all readers that are plain nests.

        Preserves: the result, bit for bit; a value is computed as often as it is read.
        """
    def tensor_core_tiles(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, *, epilogue: collections.abc.Sequence[tvms.ir.schedule.handles.BlockRV | builtins.str] = ..., rows: builtins.int | tvms.ir.tir.PrimExpr, columns: builtins.int | tvms.ir.tir.PrimExpr, arch: builtins.int | tvms.ir.tir.PrimExpr) -> None:
        """Compute a product of float16, bfloat16 or bytes on tensor cores: four warps compute a tile of `rows` × `columns`.

        `c[i, j] += a[i, k] * b[k, j]` becomes a kernel whose blocks copy parts of A and B to shared memory three steps of 32 ahead
        (asynchronously from sm_80 on), load fragments with `ldmatrix`, and multiply them with `mma.sync`. The blocks of `epilogue`
        are element-wise.

        Preserves: the result but for the order of summation: it is rounded to float32 in each step. Sums of bytes are exact.
        """
    def flash_attention(self, *blocks: tvms.ir.schedule.handles.BlockRV | builtins.str, arch: builtins.int | tvms.ir.tir.PrimExpr) -> None:
        """Compute attention in one kernel on tensor cores: scores, softmax and weighted sum of float16 or bfloat16, for heads of 64 or 128.

        The blocks are those of the whole function, as `R.nn.attention` is lowered for GPUs.

        Preserves: the result but for rounding: weights are rounded to the dtype of the values, and sums are computed in another order. With
        a causal mask, values of keys to which no row of a tile attends are not read, so that NaN and infinity there have no effect.
        """
    def block_rows(self, *blocks: tvms.ir.schedule.handles.BlockRV | builtins.str, shared: builtins.int | tvms.ir.tir.PrimExpr = 0, threads: builtins.int | tvms.ir.tir.PrimExpr) -> None:
        """Compute consecutive blocks row by row: a block of `threads` threads computes a row of all of them.

        `for i, j: b[i, j] = f(a[i, j])` and `for i, j: c[i] += b[i, j]` become a kernel with one block of threads for each i: a barrier
        separates the loops over j, threads take consecutive vectors, partial results are combined by shuffles. Buffers that only
        the blocks access become one row in shared memory.

        Preserves: the result but for the order of summation, which depends on `threads` alone.
        """
    def warp_columns(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, *, parts: builtins.int | tvms.ir.tir.PrimExpr = 16, chunk: builtins.int | tvms.ir.tir.PrimExpr = 1) -> None:
        """Reduce columns, whose elements are far apart: a block has 32 columns, and each of its warps reduces a part of them.

        `c[j] += a[k, j]` becomes a kernel with coalesced reads, whose partial results are combined in shared memory.

        Preserves: the result but for the order of summation, which depends on `parts` and `chunk` alone.
        """
    def single_thread(self, *, together: builtins.bool = False) -> None:
        """Run every statement of the function that runs in no thread yet in a kernel of one thread, or all `together` in one kernel.

        The buffers that its blocks allocate are local.

        Preserves: the result, bit for bit.
        """
    def own_memory(self) -> None:
        """Let steps choose the scopes of buffers: the root block allocates its buffers in global memory.

        A buffer that only one software pipeline uses is allocated around the pipeline instead.

        Preserves: the result, bit for bit.
        """
    def thread_elements(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, *, threads: builtins.int | tvms.ir.tir.PrimExpr, width: builtins.int | tvms.ir.tir.PrimExpr = 1) -> None:
        """Compute every element in a thread of its own, or `width` contiguous elements as a vector.

        `for i, j: b[i, j] = f(a[i, j])` becomes a kernel whose thread `n` computes the elements from `n * width` on, of all spatial loops
        fused; a thread sums its reduction in order.

        Preserves: the result, bit for bit.
        """
    def gemv_threads(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, *, epilogue: collections.abc.Sequence[tvms.ir.schedule.handles.BlockRV | builtins.str] = ..., threads: builtins.int | tvms.ir.tir.PrimExpr, results: builtins.int | tvms.ir.tir.PrimExpr = 1, chunk: builtins.int | tvms.ir.tir.PrimExpr = 8) -> None:
        """Multiply few rows by a large matrix, whose elements are read or computed once: threads share each sum.

        `for m, n, k: c[m, n] += a[m, k] * b[n, k]` becomes a kernel in which `threads` threads read rows of b together, each `chunk`
        contiguous elements of `results` rows at a time, and add their products with all rows of a. The blocks of `epilogue` are element-wise.

        Preserves: the result but for the order of summation, which depends on `threads` and `chunk` alone.
        """
    def several_results(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, *, threads: builtins.int | tvms.ir.tir.PrimExpr, columns: builtins.int | tvms.ir.tir.PrimExpr = 1) -> None:
        """Compute a reduction to several values, such as an argmax, with `threads` threads for each result.

        `for i, k: c[i], d[i] = f((c[i], d[i]), a[i, k])` becomes a kernel with a block of threads for each i, whose threads reduce every
        `threads`-th element, and combine their values at the end. With `columns`, a block computes that many neighboring results, and its
        reads are coalesced if they are columns: `a[k, i]`. With one thread for each result, it reduces in order.

        Preserves: the result, since several threads only share a reduction that is the same in any order; but for the order of sums.
        """
    def thread_tiles(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, *, epilogue: collections.abc.Sequence[tvms.ir.schedule.handles.BlockRV | builtins.str] = ..., rows: builtins.int | tvms.ir.tir.PrimExpr, columns: builtins.int | tvms.ir.tir.PrimExpr) -> None:
        """Compute a matrix product without tensor cores: 16 × 16 threads compute a tile of `rows` × `columns`.

        `c[i, j] += a[i, k] * b[k, j]` becomes a kernel whose threads keep a part of the tile in registers, and copy parts of A and B
        to shared memory one step of 8 ahead. The blocks of `epilogue` are element-wise.

        Preserves: the result; every element is summed in the order of k, for all knobs.
        """
    def transpose_shared(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, *, rows: builtins.int | tvms.ir.tir.PrimExpr = 8) -> None:
        """Copy transposed in squares of 32 × 32 elements through shared memory, so that reads and writes are coalesced.

        `b[j, i] = a[i, j]` becomes a kernel whose blocks of 32 × `rows` threads read a square row by row, and write it column by
        column from shared memory without bank conflicts.

        Preserves: the result, bit for bit.
        """
    def warpgroup_tiles(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, *, epilogue: collections.abc.Sequence[tvms.ir.schedule.handles.BlockRV | builtins.str] = ..., rows: builtins.int | tvms.ir.tir.PrimExpr, columns: builtins.int | tvms.ir.tir.PrimExpr, copies: builtins.str = 'threads') -> None:
        """Compute a product of float16 or bfloat16 by warpgroups (sm_90a): each computes 64 × `columns` of a tile of a block.

        `c[i, j] += a[i, k] * b[k, j]` becomes a kernel whose blocks copy parts of A and B to shared memory two steps of 64 ahead, in the
        layout of the 128-byte swizzle, and multiply them with `wgmma`. The blocks of `epilogue` are element-wise.

        Preserves: the result but for the order of summation: it is rounded to float32 in each step.
        """
    def sblockize(self, target: tvms.ir.schedule.handles.LoopRV | collections.abc.Sequence[tvms.ir.schedule.handles.BlockRV | builtins.str], preserve_unit_iters: builtins.bool = True) -> tvms.ir.schedule.handles.BlockRV:
        """Turn the nest under a loop, or the adjacent nests of several blocks, into one block. The outer loops execute the
        new block, which contains the old blocks; `T.init` of a reduction moves to the new block, in its own loops. With
        `preserve_unit_iters`, iterators with a single value are kept.

        Preserves: what is computed, and in which order. Comments stay with their statements.
        """
    def transform_sblock_layout(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, index_map: tvms.ir.tir.IndexMap | collections.abc.Callable[..., typing.Any]) -> None:
        """Replace the iterators of a block by their image under `index_map`. New loops `ax0`, `ax1` and so on replace those
        around the block.

        Preserves: what the block computes, in another order. The comments of the loops move above the new ones.
        """
    def get_sblock(self, name: builtins.str | None = None, func_name: builtins.str | None = None, *, reads: builtins.str | None = None, writes: builtins.str | None = None) -> tvms.ir.schedule.handles.BlockRV:
        """Return the block called `name` in function `func_name`, or in the current function; or else the only block that reads
        or writes the buffers with the names `reads` and `writes`.
        """
    def get_child_sblocks(self, block_or_loop: tvms.ir.schedule.handles.BlockRV | tvms.ir.schedule.handles.LoopRV | builtins.str) -> builtins.list[tvms.ir.schedule.handles.BlockRV]:
        """Return the outermost blocks in a block or under a loop, in order."""
    def get_output_sblocks(self, scope_block: tvms.ir.schedule.handles.BlockRV | builtins.str) -> builtins.list[tvms.ir.schedule.handles.BlockRV]:
        """Return the blocks at any depth in a block that write a buffer not allocated in their scope, in order."""
    def reorder_sblock_iter_var(self, block: tvms.ir.schedule.handles.BlockRV | builtins.str, new_order: collections.abc.Sequence[builtins.int | tvms.ir.tir.PrimExpr]) -> None:
        """Permute the iterators of a block: the first one becomes the one with the current index `new_order[0]`, and so on.

        Preserves: everything that executes, as bindings are unchanged. Comments stay.
        """
