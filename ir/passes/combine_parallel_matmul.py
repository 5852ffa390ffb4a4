"""Combine products with the same left operand, the vectors added to them, and activations (TVM: `CombineParallelMatmul`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from .. import relax, tir
from ..base import IRModule, Op, Trivia
from ..building.values import apply
from ..deep import deep
from ..infer import infer_struct_info
from ..ops import dims as d
from ..ops.inference import dims_of
from ..schedule.analysis.trivia import joined
from ..visit import walk
from .rewriter import ValueRewriter
from .transform import declare_pass, map_functions

_ACTIVATIONS = frozenset(("relax.nn.relu", "relax.nn.gelu", "relax.nn.gelu_tanh", "relax.nn.silu"))
Check = Callable[
    [relax.Var, Sequence[relax.Expr], Sequence[relax.Expr], Mapping[relax.Var, relax.Expr]],
    bool,
]
"""Predicate on a group: the left operand, the right operands, the biases if all products have one, all bindings of the block."""


@declare_pass("CombineParallelMatmul")
@deep
def combine_parallel_matmul(mod: IRModule, check: Check | None = None) -> IRModule:
    """Concatenate the right operands of products in a dataflow block that share the left one, and split the product.

    If a vector is added to every product, which has no other use, the vectors are also concatenated. If the only use of every
    result is the same activation, it is applied before the split. All widths but one must be known, and the other dimensions
    must be equal. `check` may refuse a group.
    """
    return map_functions(mod, relax.Function, lambda function: _Combiner(function, check).function(function))


class _Group(Struct, frozen=True):
    """Products that are combined, the additions of vectors to them, or none, and the activations of these, or none."""

    products: Sequence[relax.Binding]
    sums: Sequence[relax.Binding] = ()
    activations: Sequence[relax.Binding] = ()

    @property
    def results(self) -> Sequence[relax.Binding]:
        """The bindings that become parts of the combined result."""
        return self.activations or self.sums or self.products

    def follower(self, var: relax.Var) -> relax.Var | None:
        """Return the variable of the next binding of the same product, which gets its comments; None for a result."""
        stages = [[binding.var for binding in stage] for stage in (self.products, self.sums, self.activations) if stage]
        return next((after[stage.index(var)] for stage, after in pairwise(stages) if var in stage), None)


class _Combiner(ValueRewriter):
    def __init__(self, function: relax.Function, check: Check | None) -> None:
        super().__init__(function)
        self._check = check
        self._groups: dict[relax.Var, _Group] = {}
        self._parts: dict[relax.Var, relax.Expr] = {}
        self._trivia: dict[relax.Var, Trivia | None] = {}
        self._uses = Counter(node for node in walk(function) if isinstance(node, relax.Var))

    def block(self, block: relax.BindingBlock) -> relax.BindingBlock:
        """Find the groups of a block before it is rewritten; each is computed at its first result."""
        if isinstance(block, relax.DataflowBlock):
            self._find(block)
        return super().block(block)

    def _find(self, block: relax.DataflowBlock) -> None:
        groups: dict[object, list[relax.Binding]] = {}
        defined_since: dict[object, set[relax.Expr]] = {}
        for binding in block.bindings:
            key = _key(binding)
            if key is not None and _right(binding) not in defined_since.setdefault(key, set()):
                groups.setdefault(key, []).append(binding)
            for known, names in defined_since.items():
                if known in groups:
                    names.add(binding.var)
        values = {binding.var: binding.value for binding in block.bindings}
        for found in groups.values():
            members = _with_one_symbolic(found)
            sums = self._sums(block, members)
            biases = [_right(binding) for binding in sums]
            left, rights = _left(members[0]), [_right(binding) for binding in members]
            if len(members) > 1 and (self._check is None or self._check(left, rights, biases, values)):
                group = _Group(members, sums, self._activations(block, sums or members))
                own = (*group.products, *group.sums, *group.activations)
                self._groups |= dict.fromkeys([member.var for member in own], group)

    def _activations(self, block: relax.DataflowBlock, results: Sequence[relax.Binding]) -> list[relax.Binding]:
        """Return the activation of each result, or none if they differ or a result has another use."""
        calls = {
            binding.value.args[0]: (binding, binding.value.op)
            for binding in block.bindings
            if isinstance(binding, relax.VarBinding)
            and isinstance(binding.value, relax.Call)
            and isinstance(binding.value.op, Op)
            and binding.value.op.name in _ACTIVATIONS
        }
        found = [calls.get(result.var) for result in results]
        kinds = {None if item is None else item[1].name for item in found}
        is_whole = len(kinds) == 1 and all(self._uses[result.var] == 2 for result in results)
        return [item[0] for item in found if item is not None] if is_whole else []

    def _sums(self, block: relax.DataflowBlock, members: Sequence[relax.Binding]) -> list[relax.Binding]:
        """Return the addition of a vector to each product.

        Returns none if a product has another use or is not added to a vector, or if a vector is defined after the first sum.
        """
        sums = {
            binding.value.args[0]: binding
            for binding in block.bindings
            if isinstance(binding.value, relax.Call)
            and binding.value.op == Op("relax.add")
            and isinstance(binding, relax.VarBinding)
        }
        found = [sums.get(member.var) for member in members]
        is_whole = all(
            binding is not None and self._uses[member.var] == 2 and _is_bias(_right(binding), member)
            for member, binding in zip(members, found, strict=True)
        )
        own: list[relax.Binding] = [binding for binding in found if binding is not None]
        places = {binding.var: place for place, binding in enumerate(block.bindings)}
        first = min([places[binding.var] for binding in own], default=0)
        is_early = all(places.get(_right(binding), -1) < first for binding in own)  # type: ignore[reportArgumentType]
        return own if is_whole and is_early else []

    def binding(self, binding: relax.Binding) -> Iterable[relax.Binding]:
        """Remove a replaced binding, and compute its group at the first result; comments move to the parts of that result."""
        group = self._groups.get(binding.var)
        follower = None if group is None else group.follower(binding.var)
        if group is None or follower is None:
            trivia = joined(self._trivia.pop(binding.var, None), binding.trivia)
            return super().binding(binding if trivia is binding.trivia else replace(binding, trivia=trivia))
        self._trivia[follower] = joined(self._trivia.pop(binding.var, None), binding.trivia)
        return ()

    def value(self, binding: relax.Binding) -> relax.Expr:
        """Return a part of the product of a group, which is computed at its first result."""
        group = self._groups.get(binding.var)
        if group is not None and binding.var not in self._parts:
            self._compute(group)
        return self._parts.get(binding.var, binding.value)

    def _compute(self, group: _Group) -> None:
        first = group.products[0]
        assert isinstance(first.value, relax.Call)
        rights = [self.use(_right(member)) for member in group.products]
        widths = [_width(member) or 0 for member in group.products]
        factors = apply("concat", rights, axis=len(_dims(rights[0])) - 1)
        info = infer_struct_info(first.value)
        assert isinstance(info, relax.TensorStructInfo)
        product = apply("matmul", self.use(first.value.args[0]), factors, out_dtype=info.dtype)
        if group.sums:
            product = apply(
                "add", product, apply("concat", [self.use(_right(binding)) for binding in group.sums], axis=0)
            )
        if group.activations:
            assert isinstance(group.activations[0].value, relax.Call)
            assert isinstance(group.activations[0].value.op, Op)
            product = apply(group.activations[0].value.op.name.removeprefix("relax."), product)
        places = [sum(widths[: number + 1]) for number in range(len(widths))]
        parts = self.emit(apply("split", product, places[:-1], axis=len(_dims(first.value)) - 1))
        for number, member in enumerate(group.results):
            self._parts[member.var] = relax.TupleGetItem(parts, number)


def _is_bias(value: relax.Expr, product: relax.Binding) -> bool:
    """Return whether `value` is a vector as wide as a product of known width."""
    info, width = infer_struct_info(value), _width(product)
    dims = dims_of(info) if isinstance(info, relax.TensorStructInfo) else None
    return (
        isinstance(value, relax.Var | relax.Constant)
        and dims is not None
        and len(dims) == 1
        and width is not None
        and d.value_of(dims[0]) == width
    )


def _key(binding: relax.Binding) -> object:
    """Return a key that is equal for products that can be combined, or None if the binding is not such a product."""
    call = binding.value
    is_product = (
        isinstance(call, relax.Call) and call.op == Op("relax.matmul") and isinstance(binding, relax.VarBinding)
    )
    if not is_product or not isinstance(call, relax.Call) or not isinstance(call.args[0], relax.Var):
        return None
    if not isinstance(call.args[1], relax.Var | relax.Constant):
        return None
    infos = [infer_struct_info(value) for value in (*call.args, call)]
    if any(not isinstance(info, relax.TensorStructInfo) or dims_of(info) is None for info in infos):
        return None
    left, right = _dims(call.args[0]), _dims(call.args[1])
    if len(left) < 1 or len(right) < 2:
        return None
    others = tuple([d.value_of(dim) if isinstance(dim, tir.IntImm) else id(dim) for dim in right[:-1]])
    return call.args[0], others, tuple(call.attrs.values()), infos[1].dtype  # type: ignore[reportAttributeAccessIssue]


def _dims(value: relax.Expr) -> Sequence[tir.PrimExpr]:
    info = infer_struct_info(value)
    assert isinstance(info, relax.TensorStructInfo)
    dims = dims_of(info)
    assert dims is not None
    return dims


def _left(binding: relax.Binding) -> relax.Var:
    assert isinstance(binding.value, relax.Call)
    assert isinstance(binding.value.args[0], relax.Var)
    return binding.value.args[0]


def _right(binding: relax.Binding) -> relax.Expr:
    assert isinstance(binding.value, relax.Call)
    return binding.value.args[1]


def _width(binding: relax.Binding) -> int | None:
    return d.value_of(_dims(_right(binding))[-1])


def _with_one_symbolic(members: Sequence[relax.Binding]) -> list[relax.Binding]:
    """Return the members of known width, followed by at most one other, so that all split positions are known."""
    known = [member for member in members if _width(member) is not None]
    return [*known, *[member for member in members if _width(member) is None][:1]]
