"""Combine products with the same left operand into one product (TVM: `CombineParallelMatmul`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .. import relax, tir
from ..base import IRModule, Op
from ..building.values import apply
from ..deep import deep
from ..infer import infer_struct_info
from ..ops import dims as d
from ..ops.inference import dims_of
from .rewriter import ValueRewriter
from .transform import declare_pass, map_functions

Check = Callable[[relax.Var, Sequence[relax.Var], Sequence[relax.Var], Mapping[relax.Var, relax.Expr]], bool]
"""Predicate on a group: the left operand, the right operands, the biases (none yet), and all bindings of the block."""


@declare_pass("CombineParallelMatmul")
@deep
def combine_parallel_matmul(mod: IRModule, check: Check | None = None) -> IRModule:
    """Concatenate the right operands of products in a dataflow block that share the left one, and split the product.

    All widths but one must be known, and the other dimensions must be equal. `check` may refuse a group.
    """
    return map_functions(mod, relax.Function, lambda function: _Combiner(function, check).function(function))


class _Combiner(ValueRewriter):
    def __init__(self, function: relax.Function, check: Check | None) -> None:
        super().__init__(function)
        self._check = check
        self._groups: dict[relax.Var, list[relax.Binding]] = {}
        self._parts: dict[relax.Var, relax.Expr] = {}

    def block(self, block: relax.BindingBlock) -> relax.BindingBlock:
        """Find the groups of a block before it is rewritten; each is computed at its first product."""
        if isinstance(block, relax.DataflowBlock):
            self._find(block)
        return super().block(block)

    def _find(self, block: relax.DataflowBlock) -> None:
        groups: dict[object, list[relax.Binding]] = {}
        defined_since: dict[object, set[relax.Var]] = {}
        for binding in block.bindings:
            key = _key(binding)
            if key is not None and _right(binding) not in defined_since.setdefault(key, set()):
                groups.setdefault(key, []).append(binding)
            for known, names in defined_since.items():
                if known in groups:
                    names.add(binding.var)
        values = {binding.var: binding.value for binding in block.bindings}
        for members in map(_with_one_symbolic, groups.values()):
            left, rights = _left(members[0]), [_right(binding) for binding in members]
            if len(members) > 1 and (self._check is None or self._check(left, rights, (), values)):
                self._groups |= dict.fromkeys([member.var for member in members], members)

    def value(self, binding: relax.Binding) -> relax.Expr:
        """Return a part of the product of a group, which is computed on first use."""
        if binding.var not in self._groups:
            return binding.value
        if binding.var not in self._parts:
            self._compute(binding, self._groups[binding.var])
        return self._parts[binding.var]

    def _compute(self, first: relax.Binding, members: Sequence[relax.Binding]) -> None:
        assert isinstance(first.value, relax.Call)
        rights = [self.use(_right(member)) for member in members]
        widths = [_width(member) or 0 for member in members]
        joined = apply("concat", rights, axis=len(_dims(rights[0])) - 1)
        info = infer_struct_info(first.value)
        assert isinstance(info, relax.TensorStructInfo)
        product = apply("matmul", first.value.args[0], joined, out_dtype=info.dtype)
        places = [sum(widths[: number + 1]) for number in range(len(widths))]
        parts = self.emit(apply("split", product, places[:-1], axis=len(_dims(first.value)) - 1))
        for number, member in enumerate(members):
            self._parts[member.var] = relax.TupleGetItem(parts, number)


def _key(binding: relax.Binding) -> object:
    """Return a key that is equal for products that can be combined, or None if the binding is not such a product."""
    call = binding.value
    is_product = (
        isinstance(call, relax.Call) and call.op == Op("relax.matmul") and isinstance(binding, relax.VarBinding)
    )
    if not is_product or not isinstance(call, relax.Call) or not all(isinstance(arg, relax.Var) for arg in call.args):
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


def _right(binding: relax.Binding) -> relax.Var:
    assert isinstance(binding.value, relax.Call)
    assert isinstance(binding.value.args[1], relax.Var)
    return binding.value.args[1]


def _width(binding: relax.Binding) -> int | None:
    return d.value_of(_dims(_right(binding))[-1])


def _with_one_symbolic(members: Sequence[relax.Binding]) -> list[relax.Binding]:
    """Return the members of known width, followed by at most one other, so that all split positions are known."""
    known = [member for member in members if _width(member) is not None]
    return [*known, *[member for member in members if _width(member) is None][:1]]
