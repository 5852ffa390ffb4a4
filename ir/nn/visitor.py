"""Changes of the structure of modules (TVM: `relax.frontend.nn.Mutator`)."""

from __future__ import annotations

from typing import Any

from .containers import ModuleDict, ParameterDict, ParameterList
from .core import Module, ModuleList
from .effects import Effect
from .tensor import Parameter


class Mutator:
    """Replaces parts of a module. Each `visit_*` returns the part to use instead; by default the same, with its parts visited."""

    def visit_module(self, name: str, node: Module) -> Any:
        """Return the replacement of a module, whose path is `name`."""
        return self.visit(name, node)

    def visit_modulelist(self, name: str, node: ModuleList) -> Any:
        """Return the replacement of a list of modules."""
        return self.visit(name, node)

    def visit_moduledict(self, name: str, node: ModuleDict) -> Any:
        """Return the replacement of a mapping of modules."""
        return self.visit(name, node)

    def visit_effect(self, name: str, node: Effect) -> Any:
        """Return the replacement of an effect."""
        return self.visit(name, node)

    def visit_param(self, name: str, node: Parameter) -> Any:
        """Return the replacement of a parameter."""
        return node

    def visit(self, name: str, node: Any) -> Any:
        """Replace the parts of `node`, whose path is `name`, in place; return `node`."""
        if isinstance(node, ModuleList):
            for number, part in enumerate(node):
                node[number] = self._replacement(f"{name}.{number}", part)
            return node
        if isinstance(node, ModuleDict | ParameterDict | ParameterList):
            for key, part in list(node._parts()):  # type: ignore[reportPrivateUsage]
                node._replace(key, self._replacement(f"{name}.{key}" if name else key, part))  # type: ignore[reportPrivateUsage]
            return node
        for key, part in dict[str, Any](node.__dict__).items():
            setattr(node, key, self._replacement(f"{name}.{key}" if name else key, part))
        return node

    def _replacement(self, name: str, part: Any) -> Any:
        match part:
            case ModuleList():
                return self.visit_modulelist(name, part)
            case ModuleDict():
                return self.visit_moduledict(name, part)
            case Module():
                return self.visit_module(name, part)
            case Effect():
                return self.visit_effect(name, part)
            case Parameter():
                return self.visit_param(name, part)
            case _:
                return part
