"""Convert convolutions to other layouts (TVM: `ConvertLayout`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from .. import relax
from ..base import IRModule, Op
from ..deep import deep
from ..diagnostics import error
from ..ops.layouts import parse_layout
from ..ops.registry import find
from ..visit import substitute, walk
from .layout_moves import concat
from .layout_orders import Order, Plan, identity, is_plain, rank_of, rearranged
from .layout_rules import RESIZING, convolution, find_rule, resizing
from .rewriter import Refiner, ValueRewriter, forgotten
from .transform import declare_pass, map_functions

LayoutCallback = Callable[[relax.Call], Mapping[str, Sequence[str]]]
"""Returns the desired layouts of a call, by operators."""


@declare_pass("ConvertLayout")
@deep
def convert_layout(
    mod: IRModule, desired_layouts: Mapping[str, Sequence[str]], layout_cb: LayoutCallback | None = None
) -> IRModule:
    """Compute the operators in `desired_layouts` with data, weights and result in other layouts.

    In `{"relax.nn.conv2d": ["NHWC", "OHWI"]}`, a third layout would be that of the result; the default is that of the
    data. Following operators keep the layout if they can; otherwise `R.permute_dims` converts it back. Only dataflow
    blocks are changed. Layouts may split axes, as in `["NCHW4c", "OIHW4o"]`, by `R.layout_transform`, if the axes are
    known to be multiples of the block size. Resizing of images has one layout. `layout_cb` gives the desired layouts of each call, instead of
    `desired_layouts`.

    Raises TvmsError: E0902 if a layout is not valid for its operator.
    """
    for name, layouts in desired_layouts.items():
        _check(name, list(layouts))

    def desired(call: relax.Call) -> Mapping[str, Sequence[str]]:
        if layout_cb is None:
            return desired_layouts
        wanted = layout_cb(call)
        for name, layouts in wanted.items():
            _check(name, list(layouts))
        return wanted

    def converted(function: relax.Function) -> relax.Function:
        refined = Refiner(function).function(function)
        return _Converter(refined, desired).function(refined)

    return map_functions(mod, relax.Function, converted)


def _check(name: str, layouts: Sequence[str]) -> None:
    op = find(name)
    known = {} if op is None else {param.name: param.default for param in op.params}
    is_resizing = name in RESIZING
    if not is_resizing and ("kernel_layout" not in known or "transpose" in name):
        help = "layouts of relax.nn.conv1d, relax.nn.conv2d, relax.nn.conv3d and of the operators of R.image can be changed"
        raise error("E0902", f"pass 'ConvertLayout': the layout of '{name}' cannot be changed", help=help)
    originals = ["layout"] if is_resizing else ["data_layout", "kernel_layout", "data_layout"]
    originals = [known[original] for original in originals]
    lengths = (1,) if is_resizing else (2, 3)
    if len(layouts) not in lengths or not all(_is_layout(*pair) for pair in zip(layouts, originals, strict=False)):
        what, example = ("a layout", originals) if is_resizing else ("layouts of data and weights", originals[:2])
        wanted = f"give {what}, such as {example}, with the same letters"
        raise error("E0902", f"pass 'ConvertLayout': {list(layouts)} are not layouts of '{name}'", help=wanted)


def _is_layout(text: str, letters: str) -> bool:
    """Return whether `text` is a layout with these letters, each of them split at most once."""
    layout = parse_layout(text)
    parts = layout.parts if layout is not None else ()
    outer, inner = [name for name, size in parts if not size], [name for name, size in parts if size]
    return sorted(outer) == sorted(letters) and len({*inner} & {*letters}) == len(inner)


class _Converter(ValueRewriter):
    """Converts layouts. `replaced` maps a variable to the one with its value in the axis order given by `_orders`."""

    def __init__(self, function: relax.Function, desired: LayoutCallback) -> None:
        super().__init__(function)
        self._desired = desired
        self._orders: dict[relax.Expr, tuple[Order | None, ...]] = {}
        """Axis order of the value of each new variable, or those of its fields."""

    def visit(self, binding: relax.Binding) -> relax.Binding:
        """Keep calls and fields in dataflow blocks unchanged, since `value` handles them."""
        is_left = isinstance(binding, relax.VarBinding) and isinstance(binding.value, relax.Call | relax.TupleGetItem)
        return binding if self.in_dataflow and (is_left or self._cast(binding) is not None) else super().visit(binding)

    def binding(self, binding: relax.Binding) -> Iterable[relax.Binding]:
        """Return the replacements of a binding; a cast keeps the axis order of its value."""
        cast = self._cast(binding)
        if cast is None:
            return super().binding(binding)
        self.replaced[binding.var] = cast.var
        self._orders[cast.var] = self._orders[cast.value]
        return (cast,)

    def _cast(self, binding: relax.Binding) -> relax.MatchCast | None:
        """Return a cast in the axis order of its value; None for other bindings, and if an axis is split."""
        now, info = self.replaced.get(binding.value), binding.var.struct_info
        if (
            not isinstance(binding, relax.MatchCast)
            or not isinstance(binding.var, relax.DataflowVar)
            or not isinstance(now, relax.Var)
            or not isinstance(info, relax.TensorStructInfo)
            or not isinstance(info.shape, relax.ShapeExpr)
        ):
            return None
        (order,) = self._orders[now]
        if order is None or not is_plain(order):
            return None
        shape = relax.ShapeExpr(tuple([info.shape.values[axis] for axis in order]))
        new = replace(info, shape=shape)
        return replace(binding, var=replace(binding.var, struct_info=new), value=now, struct_info=new)

    def use(self, expr: Any) -> Any:
        """Return an expression of the values in their original layouts."""
        used = {node for node in walk(expr) if node in self.replaced}
        restored = substitute(expr, {var: self._restored(var) for var in used})
        return restored if restored is expr else forgotten(restored)

    def rebound(self, binding: relax.Binding, value: relax.Expr) -> relax.Binding:
        """Return a binding of a value in another axis order."""
        if binding.var not in self.replaced:
            return super().rebound(binding, value)
        var = replace(binding.var, struct_info=value.struct_info)
        self._orders[var] = self._orders.pop(self.replaced[binding.var])  # type: ignore[reportArgumentType]
        self.replaced[binding.var] = var
        return replace(binding, var=var, value=value)

    def value(self, binding: relax.Binding) -> relax.Expr:
        value = binding.value
        match value:
            case relax.Call(op=Op() as op) if self.in_dataflow and isinstance(binding, relax.VarBinding):
                planned = self._planned(value, op)
                return self.use(value) if planned is None else self._keep(binding, *planned)
            case relax.TupleGetItem(tuple_value=whole) if whole in self.replaced:
                now = self.replaced[whole]
                item = relax.TupleGetItem(now, value.index)  # type: ignore[reportArgumentType]
                return self._keep(binding, item, (self._orders[now][value.index],))  # type: ignore[reportArgumentType]
            case _:
                return self.use(value) if self.in_dataflow else value

    def _planned(self, call: relax.Call, op: Op) -> tuple[relax.Expr, tuple[Order | None, ...]] | None:
        """Return a call with other axis orders, and those of its results; None if it is unchanged."""
        if op.name == "relax.concat" and isinstance(call.args[0], relax.Tuple):
            parts = call.args[0].fields
            joined = concat(call, parts, [self._order(part) for part in parts])
            if joined is None:
                return None
            order, attrs = joined
            arranged = relax.Tuple(tuple([self._arranged(part, order) for part in parts]))
            return replace(call, args=(arranged,), attrs=attrs, struct_info=None), (order,)
        plan = self._plan(call, op)
        if plan is None or len(plan.args) != len(call.args):
            return None
        given = [plan.replaced.get(number, arg) for number, arg in enumerate(call.args)]
        args = tuple([self._arranged(arg, order) for arg, order in zip(given, plan.args, strict=True)])
        return replace(call, args=args, attrs=plan.attrs, struct_info=None), plan.results

    def _plan(self, call: relax.Call, op: Op) -> Plan | None:
        desired = self._desired(call)
        if op.name in desired:
            return (resizing if op.name in RESIZING else convolution)(call, desired[op.name])
        orders = [self._order(arg) for arg in call.args]
        rule = find_rule(op, orders)
        return None if rule is None else rule(call, orders)

    def _keep(self, binding: relax.Binding, value: relax.Expr, orders: tuple[Order | None, ...]) -> relax.Expr:
        """Return the new value of a binding: in the new order for dataflow variables, else in the original one."""
        if all(order is None or order == identity(len(order)) for order in orders):
            return value
        if isinstance(binding.var, relax.DataflowVar):
            self.replaced[binding.var] = value
            self._orders[value] = orders
            return value
        return _as_it_was(self.emit(value), orders)

    def _order(self, expr: relax.Expr) -> Order | None:
        """Return the current axis order of a tensor; None if it is not a tensor of known rank."""
        if expr in self.replaced:
            orders = self._orders[self.replaced[expr]]  # type: ignore[reportArgumentType]
            return orders[0] if len(orders) == 1 else None
        rank = rank_of(expr)
        return None if rank is None else identity(rank)

    def _arranged(self, expr: relax.Expr, order: Order | None) -> relax.Expr:
        """Return a tensor in the given axis order."""
        own = self._order(expr)
        now = self.replaced.get(expr, expr)
        assert isinstance(now, relax.Expr)
        if own is None or order is None:
            return now if own == order else self.use(expr)
        return rearranged(now, own, order)

    def _restored(self, var: Any) -> relax.Expr:
        now = self.replaced[var]
        orders = self._orders[now]  # type: ignore[reportArgumentType]
        assert isinstance(now, relax.Var)
        return _as_it_was(now, orders)


def _as_it_was(var: relax.Var, orders: Sequence[Order | None]) -> relax.Expr:
    """Return the value of a variable, or each of its fields, in the original axis order."""
    if not isinstance(var.struct_info, relax.TupleStructInfo):
        return _restored(var, orders[0])
    items = [relax.TupleGetItem(var, index) for index in range(len(orders))]
    return relax.Tuple(tuple([_restored(item, order) for item, order in zip(items, orders, strict=True)]))


def _restored(value: relax.Expr, order: Order | None) -> relax.Expr:
    rank = sum(isinstance(part, int) for part in order or ())
    return value if order is None else rearranged(value, order, identity(rank))
