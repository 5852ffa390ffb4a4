"""Variables and references in programs, and their bindings (TVM: `relax.analysis`)."""

from __future__ import annotations

from collections import Counter

from ... import relax, tir
from ...base import GlobalVar, Node
from ...variables import defined_variables, free_variables
from ...visit import walk


def all_vars(expr: Node) -> list[relax.Var]:
    """Return the graph-level variables in `expr`, in the order of their first occurrence."""
    return list(dict.fromkeys(node for node in walk(expr) if isinstance(node, relax.Var)))


def used_vars(expr: Node) -> list[relax.Var]:
    """Return the graph-level variables that values in `expr` use; a variable that is only defined is not used."""
    defined = [variable for node in walk(expr) for variable in defined_variables(node)]
    times = Counter(id(node) for node in walk(expr) if isinstance(node, relax.Var))
    times.subtract(map(id, defined))
    return [variable for variable in all_vars(expr) if times[id(variable)] > 0]


def bound_vars(expr: Node) -> list[relax.Var]:
    """Return the graph-level variables that `expr` defines: parameters and bound variables."""
    return [
        defined_variable
        for node in walk(expr)
        for defined_variable in defined_variables(node)
        if isinstance(defined_variable, relax.Var)
    ]


def free_vars(expr: Node) -> list[relax.Var]:
    """Return the free graph-level variables of `expr`."""
    return [variable for variable in free_variables(expr) if isinstance(variable, relax.Var)]


def all_global_vars(expr: Node) -> list[GlobalVar]:
    """Return the functions that `expr` refers to."""
    return list(dict.fromkeys(node for node in walk(expr) if isinstance(node, GlobalVar)))


def defined_symbolic_vars(func: relax.Function) -> list[tir.Var]:
    """Return the symbolic dimensions that a function defines, in its parameters and by `R.match_cast`: those that are a size of their
    own. A dimension that is only in a computed size, as `n` in `R.Tensor(("m", "m + n"))`, is used there.
    """
    found: list[tir.Var] = []
    for node in walk(func):
        infos = [node.struct_info] if isinstance(node, relax.MatchCast) else []
        infos += [param.struct_info for param in node.params] if isinstance(node, relax.Function) else []
        for part in (part for info in infos if info is not None for part in walk(info)):
            values = part.values if isinstance(part, relax.ShapeExpr | relax.ShapeStructInfo) else None
            values = (part.value,) if isinstance(part, relax.PrimStructInfo) else values
            found += [value for value in values or () if isinstance(value, tir.Var)]
    return list(dict.fromkeys(found))


def free_symbolic_vars(func: relax.Function) -> list[tir.Var]:
    """Return the symbolic dimensions that a function uses and does not define."""
    defined = {*defined_symbolic_vars(func)}
    for node in walk(func):
        if not isinstance(node, relax.Function | relax.MatchCast):
            defined.update(variable for variable in defined_variables(node) if isinstance(variable, tir.Var))
    used = (node for node in walk(func) if isinstance(node, tir.Var))
    return [variable for variable in dict.fromkeys(used) if variable not in defined]


def get_var2val(func: relax.Function) -> dict[relax.Var, relax.Expr]:
    """Return the value of each bound variable of a function."""
    return {node.var: node.value for node in walk(func) if isinstance(node, relax.Binding)}


def name_to_binding(func: relax.Function) -> dict[str, list[relax.Binding]]:
    """Return the bindings of a function by the names of their variables."""
    found: dict[str, list[relax.Binding]] = {}
    for node in walk(func):
        if isinstance(node, relax.Binding):
            found.setdefault(node.var.name_hint, []).append(node)
    return found


def udchain(dfb: relax.DataflowBlock) -> dict[relax.Var, list[relax.Var]]:
    """Return, for each variable of a dataflow block, the variables whose bindings use it."""
    users: dict[relax.Var, list[relax.Var]] = {}
    for binding in dfb.bindings:
        users.setdefault(binding.var, [])
        for used in all_vars(binding.value):
            users.setdefault(used, []).append(binding.var)
    return users
