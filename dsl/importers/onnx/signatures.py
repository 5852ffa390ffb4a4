"""Signatures of operators: the names of inputs, and attributes with their defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, cast

from msgspec import Struct

from ....ir.diagnostics import error
from .files import Model
from .library import library
from .tensors import Tensors, is_text

MICROSOFT = "com.microsoft"
"""The domain of the operators that onnxruntime adds to the standard."""


class Signature(Struct, frozen=True):
    """An operator of one version: names of inputs, of which the last may take all further ones, and defaults of attributes."""

    inputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    version: int = 1
    """The first version of the operator set with this signature."""
    is_variadic: bool = False
    kinds: Mapping[str, int] = {}
    """The kinds of attributes that the standard declares, as numbers of `AttributeProto.AttributeType`."""

    def check_attribute(self, attribute: Any, name: str) -> None:
        """Raise E1006 if an attribute, which the node calls `name`, is not of the kind that the operator takes."""
        kinds = library().AttributeProto.AttributeType
        kind = self.kinds.get(name) or _KINDS.get(cast("object", type(self.attributes.get(name))))
        if kind and attribute.type != kind:
            known = kinds.Name(attribute.type) if attribute.type in kinds.values() else attribute.type
            raise error("E1006", f"its attribute '{name}' is of kind {known}, not {kinds.Name(kind)}")

    def arguments(self, values: Sequence[Any], given: Mapping[str, Any]) -> SimpleNamespace:
        """Return inputs and attributes by name: an omitted input or attribute without a default is None, a variadic input a list.

        E1006 if the signature lacks an attribute, or has fewer inputs.
        """
        unknown = [name for name in given if name not in self.attributes]
        if unknown:
            raise error("E1006", f"it has the attribute '{unknown[0]}', which the operator does not declare")
        several: Sequence[Any] = values[len(self.inputs) - 1 :] if self.is_variadic else []
        single = list(values[: len(self.inputs) - 1] if self.is_variadic else values)
        if len(single) > len(self.inputs):
            raise error("E1006", f"it has {len(values)} inputs, but the operator takes at most {len(self.inputs)}")
        single += [None] * (len(self.inputs) - self.is_variadic - len(single))
        named = dict(zip(self.inputs, [*single, several] if self.is_variadic else single, strict=True))
        attributes = {**self.attributes, **given}
        found = {**named, **{name: value for name, value in attributes.items() if named.get(name) is None}}
        return SimpleNamespace(**found)


_KINDS: dict[object, int] = {float: 1, int: 2, str: 3}
"""The kinds of attributes by the types of their defaults, for operators that the standard does not declare."""


def domain_of(node: Any) -> str:
    """Return the domain of a node's operator; that of the standard is ""."""
    return "" if node.domain == "ai.onnx" else node.domain


_EARLY = {"LayerNormalization": 17}
"""Operators that onnxruntime declares in the standard's domain from version 1 on, with the version that declares them there."""


def version_of(node: Any, domain: str, opsets: Mapping[str, int]) -> int:
    """Return the version of a domain by which a node is read, 0 if the model does not import the domain."""
    version = opsets.get(domain, 1 if domain == MICROSOFT else 0)
    return max(version, _EARLY.get(node.op_type, 0)) if version and not domain else version


@lru_cache(maxsize=1024)
def signature_of(operator: str, domain: str, opset: int) -> Signature | None:
    """Return the signature of an operator that the ONNX standard declares, in version `opset` of its domain, or None."""
    found = schema_of(operator, domain, opset)
    if found is None:
        return None
    attributes = {name: _default(attribute) for name, attribute in found.attributes.items()}
    variadic = library().defs.OpSchema.FormalParameterOption.Variadic
    is_variadic = bool(found.inputs) and found.inputs[-1].option == variadic
    kinds = {name: int(attribute.type.value) for name, attribute in found.attributes.items()}
    inputs = tuple(parameter.name for parameter in found.inputs)
    return Signature(inputs, attributes, found.since_version, is_variadic, kinds)


def schema_of(operator: str, domain: str, opset: int) -> Any:
    """Return onnx's schema of an operator in version `opset` of its domain, or None."""
    defs = library().defs
    try:
        return defs.get_schema(operator, opset, domain)
    except defs.SchemaError:
        return None


def _default(attribute: Any) -> Any:
    """Return the default of an attribute, None if it has none."""
    value = attribute.default_value
    return None if value.type == library().AttributeProto.UNDEFINED else attribute_value(value, Tensors(Model(None)))


def attribute_value(attribute: Any, tensors: Tensors) -> Any:
    """Return an attribute as a number, text, constant, array of texts, or list of these; graphs and types stay messages."""
    kinds = library().AttributeProto
    match attribute.type:
        case kinds.STRING:
            return _text(attribute.s)
        case kinds.STRINGS:
            return [_text(item) for item in attribute.strings]
        case kinds.TENSOR:
            return tensors.texts(attribute.t) if is_text(attribute.t) else tensors.constant(attribute.t)
        case kinds.FLOAT:
            return attribute.f
        case kinds.INT:
            return attribute.i
        case kinds.FLOATS:
            return list(attribute.floats)
        case kinds.INTS:
            return list(attribute.ints)
        case kinds.GRAPH:
            return attribute.g
        case kinds.TENSORS:
            return [tensors.constant(item) for item in attribute.tensors]
        case kinds.SPARSE_TENSOR:
            return attribute.sparse_tensor
        case kinds.TYPE_PROTO:
            return attribute.tp
        case _:
            raise error("E1006", f"its attribute '{attribute.name}' is of an unsupported kind")


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise error("E1006", "a text in its attributes is not valid UTF-8") from None


def name_of(value: str | bytes) -> str:
    """Return a name in a model; E1006 if it is not text: protocol buffers return the bytes of damaged names."""
    if isinstance(value, bytes):
        raise error("E1006", f"the name {value[:60]!r} is not valid UTF-8", None, "rename it")
    return value
