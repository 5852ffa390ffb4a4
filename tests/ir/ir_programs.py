"""Random programs for laws: expressions over a few variables, loop nests over a buffer, and renamed copies."""

from hypothesis import strategies as st
from tvms.ir import make, tir
from tvms.ir.visit import rewrite, substitute, walk

X, Y, Z = (tir.Var("int32", name) for name in "xyz")

leaves = st.one_of(st.sampled_from([X, Y, Z]), st.integers(-9, 9).map(make.const))


def _grow(inner: st.SearchStrategy[tir.PrimExpr]) -> st.SearchStrategy[tir.PrimExpr]:
    kinds = st.sampled_from([tir.Add, tir.Sub, tir.Mul, tir.Min, tir.Max])
    binary = st.builds(lambda kind, a, b: kind("int32", a, b), kinds, inner, inner)
    call = st.builds(lambda a: make.call("tir.clz", (a,), "int32"), inner)
    lets = st.builds(_let, inner, inner)
    return st.one_of(binary, call, lets)


def _let(value: tir.PrimExpr, body: tir.PrimExpr) -> tir.PrimExpr:
    var = tir.Var("int32", "v")
    return tir.Let("int32", var, value, substitute(body, {Z: var}))


expressions = st.recursive(leaves, _grow, max_leaves=12)


def nest(values: list[tir.PrimExpr], name: str = "A") -> tir.PrimFunc:
    """A function that stores each value in a loop of its own: x is the loop variable, y a parameter."""
    data = tir.Var("handle", name, tir.PointerType(tir.PrimType("int32"), "global"))
    buffer = tir.Buffer(data, "int32", (make.const(16),), name)
    handle, scalar = tir.Var("handle", f"{name}_handle"), tir.Var("int32", "n")
    loops: list[tir.Stmt] = []
    for value in values:
        var = tir.Var("int32", "i")
        body = tir.BufferStore(buffer, substitute(value, {X: var, Y: scalar, Z: scalar}), (var,))
        loops.append(tir.For(var, make.const(0), make.const(16), tir.ForKind.SERIAL, body))
    whole = loops[0] if len(loops) == 1 else tir.SeqStmt(tuple(loops))
    return tir.PrimFunc((handle, scalar), whole, buffer_map={handle: buffer})


functions = st.lists(expressions, min_size=1, max_size=4).map(nest)


def renamed(function: tir.PrimFunc) -> tir.PrimFunc:
    """A copy that shares no variable and no buffer with `function`, and calls them otherwise."""
    variables = {node for node in walk(function) if isinstance(node, tir.Var)}
    fresh = {var: tir.Var(var.dtype, var.name + "_new", var.type_annotation) for var in variables}

    def rename(node: object) -> object:
        if isinstance(node, tir.Buffer):
            return tir.Buffer(node.data, node.dtype, node.shape, node.name + "_new")
        return None

    return rewrite(substitute(function, fresh), rename)  # type: ignore[arg-type]


def deep(depth: int, leaf: tir.PrimExpr) -> tir.PrimExpr:
    """`leaf + 1 + 1 + …`, nested `depth` deep."""
    for _ in range(depth):
        leaf = tir.Add("int32", leaf, make.const(1))
    return leaf
