"""Exported programs of torch as modules (TVM: `relax.frontend.torch.from_exported_program`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import reduce
from operator import getitem
from typing import Any, cast

from ....ir import make, relax, tir
from ....ir.base import Attrs, IRModule
from ....ir.building.block_builder import BlockBuilder
from ....ir.building.values import apply, const
from ....ir.diagnostics import error
from ....ir.ops import dims as d
from ....ir.ops.inference import tensor_info
from ....ir.variables import free_variables
from ..bindings import identifier
from .control_flow import has_control_flow
from .converter import Converter
from .library import check_kind, constant_of, dtype_name, library
from .support import prepared
from .symbols import Symbols, declared_names, is_symbolic, symbols_of
from .table import ROWS

CustomConverts = Mapping[Any, Callable[[Any, Converter], Any]]
"""The user's converters: from an overload or its name ("relu.default") to a function of the node and the converter that
returns the value.
"""


def from_exported_program(
    exported_program: Any,
    *,
    keep_params_as_input: bool = False,
    unwrap_unit_return_tuple: bool = False,
    no_bind_return_tuple: bool = False,
    custom_convert_map: CustomConverts | None = None,
    run_ep_decomposition: bool = True,
) -> IRModule:
    """Return the module whose function `main` computes what a `torch.export.ExportedProgram` computes.

    Parameters and buffers are constants with their names in the `state_dict`; with `keep_params_as_input`,
    parameters are inputs after those of the model, and the attribute "params" of the function holds their values
    (`detach_params`). Buffers that the model updates are also inputs, and their new values are further results; inputs
    that the model overwrites keep their values.
    The result is a tuple; with `unwrap_unit_return_tuple`, a single element is returned without the tuple, and with
    `no_bind_return_tuple`, the tuple is not bound to a variable. `custom_convert_map` maps names of
    overloads, such as "relu.default", to functions of the node and the converter that return its value.
    With `run_ep_decomposition`, in-place operators are replaced by functional ones first, and operators without a row
    by torch's decompositions.

    Raises TvmsError: E0702 if the argument is not an exported program, E0812 if torch is not installed, E1001 for operators
    without a converter, E1004 for what depends on unknown values.
    """
    check_kind(
        exported_program, library().export.ExportedProgram, "export it first: torch.export.export(model, inputs)"
    )
    program = prepared(exported_program, custom_convert_map or {}, run_ep_decomposition)
    importer = ProgramImporter(program, keep_params_as_input, custom_convert_map or {})
    return importer.module(unwrap_unit_return_tuple, no_bind_return_tuple)


class ProgramImporter:
    """Imports one exported program, all of whose operators have converters."""

    def __init__(self, program: Any, keep_params: bool, custom: CustomConverts) -> None:
        self._program = program
        self._keep_params = keep_params
        self._builder = BlockBuilder()
        self._symbols = Symbols()
        self._names: set[str] = set()
        self._converter = Converter(self._builder, self._symbols, program.graph.nodes, ROWS, custom, self._names)
        self._inputs: list[relax.Var] = []
        self._input_names: dict[str, str] = {}
        self._size_names: dict[tuple[str, int], str] = {}
        self._weights: dict[str, tuple[relax.Var, relax.Constant]] = {}
        self._shared: dict[Any, relax.Constant] = {}
        self.traced: list[Any] = []
        self._sizes: set[tir.Var] = set()
        self._exact: list[tuple[relax.Expr, str]] = []
        """The conditions that the sizes of inputs have the declared form, such as 2*rows, with their messages."""
        self._is_sorted = False
        self._has_one_result = False
        self._is_of_operator = False

    def name_inputs(self, names: Sequence[str], variables: Sequence[tir.Var | None]) -> None:
        """Rename the inputs to `names`, and their sizes, in order, to those of `variables` that are given."""
        kinds = library().export.graph_signature.InputKind
        specs = [spec for spec in self._program.graph_signature.input_specs if spec.kind == kinds.USER_INPUT]
        self._input_names = {spec.arg.name: name for spec, name in zip(specs, names, strict=True)}
        nodes = {node.name: node for node in self._program.graph.nodes}
        sizes = [size for spec in specs for size in nodes[spec.arg.name].meta["val"].shape]
        for size, variable in zip(sizes, variables, strict=True):
            if variable is not None:
                self._symbols.rename(size, variable)

    def name_sizes(self, names: Mapping[str, Sequence[str]]) -> None:
        """Name the dimensions that vary, by input, as a `.pt2` file does not; names that are numbers are ignored."""
        sizes = {(node, axis): name for node, given in names.items() for axis, name in enumerate(given)}
        self._size_names = {place: name for place, name in sizes.items() if name.isidentifier()}

    def use_conventions_of_fx(self, has_one_result: bool, is_of_operator: bool) -> None:
        """Sort the parameters by name, and return the one result of a graph as it is: the tuple of an operator as its
        variable, a `torch.Size` as a shape, and a number as a constant, which is bound to a variable if an operator of
        ATen computes it."""
        self._is_sorted = True
        self._has_one_result = has_one_result
        self._is_of_operator = is_of_operator

    def module(self, unwrap: bool, no_bind: bool, trace: bool = False) -> IRModule:
        """Return the module; with `trace`, its function returns the values of all nodes in `traced`."""
        self._add_inputs()
        if self._is_sorted:
            self._weights = dict(sorted(self._weights.items()))
        weights = [variable for variable, _ in self._weights.values()]
        attrs: Attrs = {}
        if self._keep_params:
            values = [value for name, (_, value) in self._weights.items() if self._is_parameter(name)]
            attrs = {"num_input": len(self._inputs), "params": tuple(values)}
        checks = list(self._range_checks())
        with self._builder.function("main", [*self._inputs, *weights], attrs, pure=not checks):
            for condition, message in checks:
                self._builder.emit(apply("assert_op", condition, (), format=message), self._converter.unique("check"))
            has_branches = has_control_flow(self._program.graph_module)
            with nullcontext() if has_branches else self._builder.dataflow():
                values = self._converter.run(self._program.graph_module, self._split_node())
                result = self._all_values() if trace else self._result(values, unwrap)
                bound = self._bound_result(result, no_bind)
            self._builder.emit_func_output(bound)
        return self._builder.get()

    # --- Inputs, parameters and buffers -------------------------------------------------------------------------

    def _add_inputs(self) -> None:
        """Give every placeholder a value: a parameter of the function, or a constant."""
        nodes = {node.name: node for node in self._program.graph.nodes if node.op == "placeholder"}
        kinds = library().export.graph_signature.InputKind
        updated = set(self._program.graph_signature.buffers_to_mutate.values())
        self._declare_sizes([nodes[name] for name in self._program.graph_signature.user_inputs if name in nodes])
        for spec in self._program.graph_signature.input_specs:
            node = nodes[spec.arg.name]
            if spec.kind == kinds.USER_INPUT:
                self._converter.env[node] = self._input(node)
            elif spec.kind in (kinds.PARAMETER, kinds.BUFFER, kinds.CONSTANT_TENSOR):
                is_input = spec.target in updated or (self._keep_params and spec.kind == kinds.PARAMETER)
                self._converter.env[node] = self._weight(spec.target, is_input)
            else:
                self._converter.env[node] = None
        self._check_sizes()

    def _declare_sizes(self, inputs: Sequence[Any]) -> None:
        """Name the sizes as the user did, or after an input ("x_dim0"); a size that only occurs in 2*rows or so becomes an expression of the dimension."""
        shapes = [
            (node, axis, size) for node in inputs for axis, size in enumerate(getattr(node.meta["val"], "shape", ()))
        ]
        varying = [(node, axis, size) for node, axis, size in shapes if is_symbolic(size)]
        plain = [(node, axis, size.node.expr.name) for node, axis, size in varying if size.node.expr.is_Symbol]
        self._symbols.declare({name: f"{node.name}_dim{axis}" for node, axis, name in reversed(plain)})
        self._symbols.declare(declared_names(size for _, _, size in varying))
        self._symbols.declare(
            {name: given for node, axis, name in plain if (given := self._size_names.get((node.name, axis)))}
        )
        known = {size.node.expr for _, _, size in varying if size.node.expr.is_Symbol}
        for node, axis, size in varying:
            if symbols_of(size) and known.isdisjoint(symbols_of(size)):
                condition = self._symbols.solve(size, f"{node.name}_dim{axis}")
                if condition is not None:
                    (symbol,) = symbols_of(size)
                    known.add(symbol)
                    form = str(size.node.expr).replace(symbol.name, self._symbols.name(symbol.name))
                    message = f"dimension {axis} of '{node.name}' is declared to be {form}"
                    self._exact.append((relax.PrimValue(condition), message))

    def _check_sizes(self) -> None:
        """Raise E1004 if a dimension of an input is an expression of a size that is not itself a dimension."""
        for variable in self._inputs:
            info = variable.struct_info
            dims = (
                info.shape.values
                if isinstance(info, relax.TensorStructInfo) and isinstance(info.shape, relax.ShapeExpr)
                else ()
            )
            for axis, dim in enumerate(dims):
                if any(size not in self._sizes for size in free_variables(dim)):
                    reason = f"dimension {axis} of '{variable.name_hint}' is {d.show_one(dim)}, of a size that no dimension is by itself"
                    raise error("E1004", reason, None, "export the model with a torch.export.Dim of its own for it")

    def _input(self, node: Any) -> Any:
        value = node.meta["val"]
        if hasattr(value, "dtype") and hasattr(value, "shape"):
            name: str = self._input_names.get(node.name) or node.name
            variable = self._variable(name, value.shape, dtype_name(value.dtype))
        elif isinstance(value, library().SymInt):
            self._symbols.bind(value)
            size = d.as_dim(self._symbols.size(value))
            self._sizes.add(cast("tir.Var", size))
            variable = relax.Var(self._name(node.name), struct_info=relax.PrimStructInfo("int64", size))
            self._inputs.append(variable)
            return self._symbols.size(value)
        else:
            return value
        self._inputs.append(variable)
        return variable

    def _variable(self, name: str, shape: Any, dtype: str) -> relax.Var:
        for size in shape:
            self._symbols.bind(size)
        dims = self._symbols.dims(shape)
        self._sizes.update(dim for dim in dims if isinstance(dim, tir.Var))
        return relax.Var(self._name(name), struct_info=tensor_info(dims, dtype))

    def _name(self, name: str) -> str:
        return self._converter.unique(identifier(name))

    def _is_parameter(self, name: str) -> bool:
        return name in self._program.graph_signature.parameters

    def _weight(self, name: str, is_input: bool) -> relax.Expr:
        """Return a parameter, buffer or constant of the model: a named constant, or an input of the function."""
        constant = self._constant(name)
        if not is_input:
            return constant
        variable = relax.Var(self._name(name), struct_info=constant.struct_info)
        self._weights[name] = (variable, constant)
        return variable

    def _constant(self, name: str) -> relax.Constant:
        """Return the constant `name`; tensors that torch shares are shared."""
        tensor = self._tensor(name)
        memory = (tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype)
        if tensor.numel() == 0 or memory not in self._shared:
            self._shared[memory] = constant_of(tensor, name)
        return self._shared[memory]

    def _tensor(self, name: str) -> Any:
        held = self._program.state_dict
        return held[name] if name in held else self._program.constants[name]

    # --- Ranges -------------------------------------------------------------------------------------------------

    def _range_checks(self) -> Sequence[tuple[relax.Expr, str]]:
        """Yield the conditions on sizes with a declared range, with their messages."""
        checks = list(self._exact)
        for symbol, limits in self._program.range_constraints.items():
            if not (symbol.is_Symbol and self._symbols.has(symbol.name)):
                continue
            size = self._symbols.variable(symbol.name)
            least, most = _number(limits.lower), _number(limits.upper)
            conditions: list[tir.PrimExpr] = []
            if least is not None and least > 2:  # torch treats the sizes 0 and 1 specially without a declaration
                conditions.append(make.less_equal(d.dim(least), size))
            if most is not None:
                conditions.append(make.less_equal(size, d.dim(most)))
            if conditions:
                condition = reduce(make.logical_and, conditions)
                message = f"{self._whose(size, symbol.name)} is declared to be {_described(least, most)}"
                checks.append((relax.PrimValue(condition), message))
        return [*checks, *self._assertions()]

    def _assertions(self) -> Iterator[tuple[relax.Expr, str]]:
        """Yield the model's assertions about sizes of its inputs; sizes that depend on data are not known yet."""
        for node in self._program.graph.nodes:
            if str(node.target) == "aten._assert_scalar.default":
                holds = node.args[0].meta["val"] if hasattr(node.args[0], "meta") else node.args[0]
                if is_symbolic(holds) and self._symbols.is_bound(holds):
                    yield relax.PrimValue(self._symbols.expression(holds.node.expr)), str(node.args[1])

    def _whose(self, size: tir.PrimExpr, symbol: str) -> str:
        """Return the description of the first input dimension that is `size`."""
        for variable in self._inputs:
            info = variable.struct_info
            if isinstance(info, relax.TensorStructInfo) and isinstance(info.shape, relax.ShapeExpr):
                for axis, dim in enumerate(info.shape.values):
                    if dim is size:
                        return f"dimension {axis} of '{variable.name_hint}'"
        return f"'{self._symbols.name(symbol)}'"

    # --- Results ------------------------------------------------------------------------------------------------

    def _split_node(self) -> Any:
        """Return the node whose parts, in order, are the one result of the graph, or None."""
        specs = self._program.graph_signature.output_specs
        results = [node for output in self._program.graph.find_nodes(op="output") for node in output.args[0]]
        if not self._has_one_result or any(getattr(node, "target", None) is not getitem for node in results):
            return None
        sources = list(dict.fromkeys(node.args[0] for node in results))
        if len(sources) != 1 or len(sources[0].users) != len(results) or len(results) != len(specs):
            return None
        places = [node.args[1] for node in results]
        return sources[0] if places == list(range(len(sources[0].meta["val"]))) else None

    def _result(self, values: Any, unwrap: bool) -> relax.Expr:
        """Return the results of the model, followed by the new values of the buffers that it updates."""
        if isinstance(values, relax.Expr):
            return values
        kinds = library().export.graph_signature.OutputKind
        specs = self._program.graph_signature.output_specs
        wanted = (kinds.USER_OUTPUT, kinds.BUFFER_MUTATION)
        order = [number for kind in wanted for number, spec in enumerate(specs) if spec.kind == kind]
        if self._has_one_result and self._program.call_spec.out_spec.type is library().Size:
            return relax.ShapeExpr(tuple(d.as_dim(values[number]) for number in order))
        if self._has_one_result and len(order) == 1 and isinstance(values[order[0]], int | float):
            (value,) = (values[number] for number in order)
            number = const(value, "int64" if isinstance(value, int) and abs(value) >= 2**31 else None)
            return self._builder.emit(number, self._converter.unique("number")) if self._is_of_operator else number
        fields = [_as_value(values[number]) for number in order if values[number] is not None]
        return fields[0] if unwrap and len(fields) == 1 else relax.Tuple(tuple(fields))

    def _all_values(self) -> relax.Expr:
        values = [(node, value) for node, value in self._converter.env.items() if isinstance(value, relax.Var)]
        self.traced = [node for node, _ in values if node.op == "call_function"]
        return relax.Tuple(tuple(value for node, value in values if node.op == "call_function"))

    def _bound_result(self, result: relax.Expr, no_bind: bool) -> relax.Expr:
        if isinstance(result, relax.Tuple) and no_bind:
            return relax.Tuple(tuple(self._output(field) for field in result.fields))
        return self._output(result)

    def _output(self, value: relax.Expr) -> relax.Var:
        """Bind a result to a variable that is visible outside of the dataflow block, if there is one."""
        is_dataflow = self._builder.current_block_is_dataflow()
        return self._builder.emit_output(value) if is_dataflow else self._builder.emit(value)


def _as_value(value: Any) -> relax.Expr:
    return value if isinstance(value, relax.Expr) else relax.PrimValue(make.to_expr(value))


def _number(limit: Any) -> int | None:
    """Return a bound of a range as a number; None if it is infinite."""
    return int(limit) if getattr(limit, "is_Integer", False) and abs(int(limit)) < 2**62 else None


def _described(least: int | None, most: int | None) -> str:
    if most is None:
        return f"at least {least}"
    return f"at most {most}" if least is None or least <= 2 else f"between {least} and {most}"
