"""Conversion of the nodes of an ONNX graph to bindings: inputs and attributes by name, functions and subgraphs, names of values."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from ....ir import relax
from ....ir.building.block_builder import BlockBuilder
from ....ir.building.values import apply
from ....ir.diagnostics import TvmsError, error
from ....ir.infer import infer_struct_info
from ..bindings import identifier
from .evaluation import evaluated
from .functions import body_of
from .kinds import TensorKind, described
from .known_values import KnownValues
from .library import library
from .rows import Convert, Table
from .scopes import Decisions, Finished, Scope, Value
from .shape_folding import folded_sizes
from .signatures import Signature, attribute_value, domain_of, name_of, signature_of, version_of
from .tensors import Tensors, is_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_NODES = 200_000
"""Maximum number of nodes and inputs of nodes, including those of functions that are expanded."""
_MALFORMED = (AttributeError, TypeError, ValueError, LookupError, ArithmeticError, AssertionError)
"""Errors of rows that get inputs or attributes which the operator cannot have."""


class Converter(KnownValues):
    """Converts the nodes of a model, in order, to bindings of the function that `block_builder` builds."""

    def __init__(
        self,
        builder: BlockBuilder,
        table: Table,
        opsets: Mapping[str, int],
        functions: Mapping[tuple[str, str, str], Any],
        tensors: Tensors,
    ) -> None:
        super().__init__(builder)
        self.node: Any = None
        """The current node."""
        self.inputs: list[Value] = []
        """The inputs of the current node in order."""
        self.opset = 0
        """The version of the operator set of the current node."""
        self.version = 0
        """The first version of the operator set with the signature of the current node's operator."""
        self._place: int = 0
        self.rest: Callable[[Sequence[Value]], list[relax.Expr]] | None = None
        """Converts the nodes after the current one for given outputs, and returns the results of their graph; None in the body
        of a function.
        """
        self.decisions = Decisions()
        self.scope: Scope = Scope(ChainMap[str, Value](), opsets)
        self._table = table
        self._functions = functions
        self.tensors = tensors
        self._count = 0
        self._expanding: list[tuple[str, str, str]] = []

    # --- Nodes ------------------------------------------------------------------------------------------------

    def run(self, nodes: Iterable[Any]) -> None:
        """Convert nodes in order, and record their outputs."""
        for node in nodes:
            self.convert(node)

    def outcome(self, nodes: Sequence[Any], results: Callable[[], list[relax.Expr]]) -> list[relax.Expr]:
        """Convert the nodes of a graph in order, and return its results. The row of a node may call `rest` and raise `Finished`
        with the results, as a condition does that converts the nodes after it in both of its branches.
        """
        outer = self.rest

        def rest_after(place: int, outputs: Sequence[Value]) -> list[relax.Expr]:
            names = [name for name in nodes[place].output if name]
            with self.inner_scope(dict(zip(names, outputs, strict=False))):
                return self.outcome(nodes[place + 1 :], results)

        try:
            for place, node in enumerate(nodes):
                self.rest = partial(rest_after, place)
                self.convert(node)
            return results()
        except Finished as finished:
            return finished.results
        finally:
            self.rest = outer

    def convert(self, node: Any) -> None:
        """Convert one node."""
        outer = self.node, self.inputs, self.opset, self.version, self._place, self._emitted
        self.node, self._place, self._emitted = node, 0, {}
        try:
            self.count(1 + len(node.input))
            outputs = self._converted(node)
            if len(outputs) < sum(1 for name in node.output if name):
                raise error("E1006", f"it has {len(node.output)} outputs, but the operator has {len(outputs)}")
            for name, value in zip(node.output, outputs, strict=False):
                if name:
                    self._define(name, value)
        except TvmsError as problem:
            raise self._placed(problem) from None
        except _MALFORMED as problem:
            raise self._placed(error("E1006", f"its inputs or attributes do not fit: {_reason(problem)}")) from problem
        finally:
            self.node, self.inputs, self.opset, self.version, self._place, self._emitted = outer

    def count(self, nodes: int) -> None:
        """Add to the number of nodes and inputs that are converted; E1004 if they are too many."""
        self._count += nodes
        if self._count > MOST_NODES:
            raise self.unsupported(f"the model has more than {MOST_NODES} nodes and inputs", "split it")

    def _define(self, name: str, value: Value) -> None:
        if name in self.scope.values.maps[0]:
            raise error("E1006", f"its output '{name}' already has a value", None, "give every value a name of its own")
        self.scope.values[name] = value
        self.scope.nodes[name] = self.node

    def _placed(self, problem: TvmsError) -> TvmsError:
        """Return `problem` with the name of the node, unless it already has the name of an inner one."""
        found = [
            diagnostic
            if diagnostic.message.startswith("node ")
            else replace(diagnostic, message=f"{self.described()}: {diagnostic.message}")
            for diagnostic in problem.diagnostics
        ]
        return TvmsError(tuple(found))

    def described(self) -> str:
        """Return the name, the operator, the domain and the version of the current node, for messages."""
        name = self.node.name or ", ".join(str(output) for output in self.node.output if output)
        domain = self.node.domain or "ai.onnx"
        return f"node '{name}' ({self.node.op_type} of {domain}, version {version_of(self.node, domain_of(self.node), self.scope.opsets)})"

    def _converted(self, node: Any) -> Sequence[Value]:
        """Return the outputs of a node."""
        for name in (node.name, node.op_type, node.domain, *node.input, *node.output):
            name_of(name)
        domain = domain_of(node)
        opset = self.opset = version_of(node, domain, self.scope.opsets)
        values = self.inputs = [self._value(name) for name in node.input]
        local = self._functions.get((domain, node.op_type, getattr(node, "overload", "")))
        if local is not None:
            return self._expanded(local, values, {attribute.name: attribute for attribute in node.attribute})
        row = self._table.find(node.op_type, domain, opset)
        signature = signature_of(node.op_type, domain, opset) or (row and row.signature)
        if signature is None:
            raise self._unknown(domain, opset)
        self.version = signature.version
        given = signature.arguments(values, self._attributes(node, signature))
        if (sizes := folded_sizes(node, values, self.elements, given)) is not None:
            return [self.from_elements(*part) for part in sizes]
        if row is not None:
            if not row.takes_objects:
                self.check_tensors()
            return self._finished(row.convert, given)
        function = body_of(self._resolved_node(node), domain, opset, values)
        if function is None:
            raise error("E1001", "the operator has no converter", None, "express it by operators of docs/onnx.md")
        return self._expanded(function, values, {attribute.name: attribute for attribute in node.attribute})

    def check_tensors(self) -> None:
        """Raise E1006 if an input is not a tensor of numbers, E1004 if its rank is unknown."""
        for name, value in zip(self.node.input, self.inputs, strict=True):
            info = None if value is None else infer_struct_info(value)
            if value is not None and not isinstance(info, relax.TensorStructInfo):
                reason = (
                    f"its input '{name}' is {described(self.kind(value))}, but the operator takes tensors of numbers"
                )
                raise error("E1006", reason)
            if isinstance(info, relax.TensorStructInfo) and info.ndim == -1:
                raise self.unsupported(f"the rank of its input '{name}' is unknown", "declare its shape in the model")

    def _unknown(self, domain: str, opset: int) -> TvmsError:
        if not opset:
            known = ", ".join(f"'{name or 'ai.onnx'}'" for name in self.scope.opsets)
            return error("E1006", "the model does not import the operator's domain", None, f"it imports {known}")
        return error("E1001", "the operator is unknown", None, "define it as a function of the model")

    def _value(self, name: str) -> Value:
        if not name:
            return None
        if name not in self.scope.values:
            reason = f"its input '{name}' has no value"
            raise error("E1006", reason, None, "nodes must follow those that compute their inputs, without cycles")
        return self.scope.values[name]

    def _attributes(self, node: Any, signature: Signature) -> dict[str, Any]:
        """Return the attributes of a node; references to attributes of the expanded function are resolved."""
        found: dict[str, Any] = {}
        for attribute in node.attribute:
            given = self.scope.attributes.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
            if given is not None:
                signature.check_attribute(given, attribute.name)
                found[attribute.name] = attribute_value(given, self.tensors)
        return found

    def _finished(self, convert: Convert, given: SimpleNamespace) -> list[Value]:
        """Return the outputs that a row computes, bound to variables, or as constants if they are small and known."""
        made = convert(self, given)
        outputs: Sequence[Any] = cast("Sequence[Any]", made) if isinstance(made, tuple | list) else (made,)
        is_constant = all(value is None or isinstance(value, relax.Constant) for value in self.inputs)
        return [self._output(place, output, is_constant) for place, output in enumerate(outputs)]

    def _output(self, place: int, output: Any, is_constant: bool) -> Value:
        if output is None or self.size_elements(output) is not None or isinstance(output, relax.Constant):
            return output
        if place >= len(self.node.output) or not self.node.output[place]:
            return None
        self._place = place
        if is_constant and (folded := evaluated(output)) is not None:
            return folded
        if isinstance(output, relax.Tuple):
            return relax.Tuple(tuple(map(self.bound, output.fields)))
        return self.bound(output)

    # --- Functions and subgraphs ------------------------------------------------------------------------------

    def _expanded(self, function: Any, values: Sequence[Value], given: Mapping[str, Any]) -> list[Value]:
        """Return the outputs of the body of a function, which is converted in place."""
        key = (function.domain, function.name, getattr(function, "overload", ""))
        if key in self._expanding:
            raise error("E1006", f"the function '{function.name}' calls itself", None, "use Loop")
        if len(values) > len(function.input):
            raise error("E1006", f"it has {len(values)} inputs, but the function takes {len(function.input)}")
        resolved = {name: self._resolved(attribute) for name, attribute in given.items()}
        attributes = {attribute.name: attribute for attribute in function.attribute_proto}
        attributes |= {name: attribute for name, attribute in resolved.items() if attribute is not None}
        padded = [*values, *[None] * (len(function.input) - len(values))]
        opsets = {"" if entry.domain == "ai.onnx" else entry.domain: entry.version for entry in function.opset_import}
        prefix = self.value_name() + "_"
        self._expanding.append(key)
        outer, self.rest = self.rest, None
        try:
            with self.inner_scope(dict(zip(function.input, padded, strict=True)), opsets, prefix, attributes):
                self.run(function.node)
                return self._results(function)
        finally:
            self.rest = outer
            self._expanding.pop()

    def _results(self, function: Any) -> list[Value]:
        """Return the outputs of the body of a function; it may lack those that the node does not have."""
        used = self.node.output
        places = enumerate(function.output)
        return [self._value(name) if place < len(used) and used[place] else None for place, name in places]

    def subgraph(
        self, graph: Any, inputs: Sequence[Value], captures: Callable[[relax.Expr], relax.Expr] | None = None
    ) -> list[relax.Expr]:
        """Return the outputs of a subgraph, which is converted in place with `inputs`; `captures` replaces values around it."""
        if len(graph.input) != len(inputs):
            raise error("E1006", f"the graph '{graph.name}' has {len(graph.input)} inputs, but must have {len(inputs)}")
        values: dict[str, Value] = {given.name: value for given, value in zip(graph.input, inputs, strict=True)}
        values |= {initializer.name: self.initial(initializer) for initializer in graph.initializer}
        with self.inner_scope(values, captures=captures):
            return self.outcome(graph.node, lambda: self.results(graph))

    def initial(self, initializer: Any) -> relax.Expr:
        """Return the value of an initializer: a constant or, of texts, a variable."""
        if not is_text(initializer):
            return self.tensors.constant(initializer)
        made = self.texts(self.tensors.texts(initializer))
        return self.with_kind(self.block_builder.emit(made, self.unique("texts")), self.kind(made))

    def texts(self, texts: NDArray[Any]) -> relax.Expr:
        """Return an array of texts as a value."""
        words = relax.Tuple(tuple(map(relax.StringImm, texts.reshape(-1).tolist())))
        made = apply("text_tensor", words, self.shape(texts.shape))
        return self.with_kind(made, TensorKind("string", texts.shape))

    def results(self, graph: Any) -> list[relax.Expr]:
        """Return the values of a graph's outputs; E1006 if one has none."""
        found: list[relax.Expr] = []
        for output in graph.output:
            value = self.scope.values.get(output.name)
            if value is None:
                raise error("E1006", f"the graph's output '{output.name}' has no value", None, "compute it by a node")
            found.append(value)
        return found

    def _resolved_node(self, node: Any) -> Any:
        """Return a node whose attributes do not refer to those of the function that is expanded, as its body depends on them."""
        if not any(attribute.ref_attr_name for attribute in node.attribute):
            return node
        found = library().NodeProto.FromString(node.SerializeToString())
        del found.attribute[:]
        for attribute in node.attribute:
            given = self._resolved(attribute)
            if given is not None:
                found.attribute.add().CopyFrom(given)
                found.attribute[-1].name = attribute.name
        return found

    def _resolved(self, attribute: Any) -> Any:
        return self.scope.attributes.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute

    @contextmanager
    def inner_scope(
        self,
        values: Mapping[str, Value],
        opsets: Mapping[str, int] | None = None,
        prefix: str = "",
        attributes: Mapping[str, Any] | None = None,
        captures: Callable[[relax.Expr], relax.Expr] | None = None,
    ) -> Generator[None]:
        """Convert a subgraph, which sees the values around it, in a `with`; with `opsets`, the body of a function, which does
        not. `captures` replaces the values around that the subgraph uses.
        """
        outer = self.scope
        if opsets is None:
            self.scope = outer.inside(values, captures)
        else:
            self.scope = Scope(ChainMap(dict(values)), opsets, prefix, attributes or {})
        try:
            yield
        finally:
            self.scope = outer

    # --- Names ------------------------------------------------------------------------------------------------

    def value_name(self) -> str:
        """Return the name of the current output as an identifier."""
        name = self.node.output[self._place] if self._place < len(self.node.output) else ""
        return self.scope.prefix + (variable_name(name) or self.node.op_type.lower())


def variable_name(name: str) -> str:
    """Return the name of a value as an identifier."""
    found = identifier(name)
    return f"value_{found}" if found[:1].isdigit() else found


def _reason(problem: Exception) -> str:
    return (str(problem).strip() or type(problem).__name__).splitlines()[0]
