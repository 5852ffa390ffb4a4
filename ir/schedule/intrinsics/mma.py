"""Matrix products on NVIDIA's tensor cores with `mma`: each thread of a warp holds elements of the tiles in registers.

The names are TVM's (`tvm.tir.tensor_intrin.cuda`), and so is the layout of a 16 × 16 tile in the scope "warp": (32, 8),
by columns of its 8 × 8 parts, as in `ldmatrix`. Transposed and right operands really have another distribution over
threads; loads and products use the same one, so the result is correct.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

_DTYPES = {"f16": "float16", "bf16": "bfloat16", "i8": "int8", "f32": "float32", "i32": "int32"}
_PTX = {"f16": "fp16", "bf16": "bf16", "i8": "int8", "f32": "fp32", "i32": "int32"}
_SCOPES = {"": "shared", "_dyn": "shared.dyn"}
_ZEROS = {"f16": "T.float16(0)", "f32": "T.float32(0)", "i32": "0"}


def _place(kind: str, row: str, column: str, is_by_columns: bool = False) -> str:
    """Return the thread that holds an element, and the element's index within that thread."""
    if kind != "i8":
        return f"4 * ({row} % 8) + {column} % 8 // 2, 4 * ({column} // 8) + {row} // 8 * 2 + {column} % 2"
    if is_by_columns:
        return f"{row} % 16 // 4 + 4 * ({column} % 8), 8 * ({column} // 8) + {row} // 16 * 4 + {row} % 4"
    return f"4 * ({row} % 8) + {column} % 16 // 4, 8 * ({column} // 16) + {row} // 8 * 4 + {column} % 4"


def _function(name: str, buffers: list[str], reads: str, writes: str, body: str, variables: str = "") -> str:
    head = [f"T.prim_func {name}({', '.join(f'{buffer.split()[0].lower()}: T.handle' for buffer in buffers)}):"]
    head += [f"    {part} = T.int32()" for part in variables.split()]
    head += [f"    {buffer}" for buffer in buffers]
    head += ['    with T.block("root"):', f"        T.reads({reads})", f"        T.writes({writes})"]
    return "\n".join([*head, *(f"        {line}" for line in body.split("\n"))]) + "\n"


def _matched(name: str, shape: str, kind: str, scope: str, factor: int, strides: str = "") -> str:
    given = f", strides=({strides})" if strides else ""
    what = f'"{_DTYPES[kind]}", align=64, offset_factor={factor}, scope="{scope}"{given}'
    return f"{name} = T.match_buffer({name.lower()}, ({shape}), {what})"


_THREADS = 'for tx in T.thread_binding(32, thread="threadIdx.x"):\n    '


def _load(name: str, kind: str, matrix: str, is_turned: bool, scope: str) -> str:
    depth, held = (32, 16) if kind == "i8" else (16, 8)
    rows, columns = (16, depth) if (matrix == "A") != is_turned else (depth, 16)
    is_by_columns = kind == "i8" and matrix == "B" and not is_turned
    warp, shared = f"WARP[0:32, 0:{held}]", f"SHARED[0:{rows}, 0:{columns}]"

    def buffers(strides: str) -> list[str]:
        there = _matched("SHARED", f"{rows}, {columns}", kind, scope, columns, strides)
        return [_matched("WARP", f"32, {held}", kind, "warp", columns), there]

    desc = f"""for i, j in T.grid({rows}, {columns}):
    with T.block("shared_warp"):
        vi, vj = T.axis.remap("SS", [i, j])
        WARP[{_place(kind, "vi", "vj", is_by_columns)}] = SHARED[vi, vj]"""
    if is_by_columns:
        place = "16 * (i % 8 // 4) + 4 * (tx % 4) + i % 4, 8 * (i // 8) + tx // 4"
        body = f"{_THREADS}for i in range({held}):\n        WARP[tx, i] = SHARED[{place}]"
    else:
        half = depth // 2
        offset = f"s0 * (tx % 16) + {half} * (tx // 16)"
        if is_turned:
            offset = f"s0 * 8 * (tx // 16) + s0 * (tx % 8) + {half} * (tx % 16 // 8)"
        is_transposed = is_turned if matrix == "A" else not is_turned
        pointers = f'WARP.data, WARP.elem_offset + {held} * tx, SHARED.access_ptr("r"), {offset}'
        body = f'{_THREADS}T.ptx_ldmatrix("{_DTYPES[kind]}", {is_transposed}, 4, ".b16", {pointers})'
    impl = _function(f"{name}_impl", buffers("s0, s1"), shared, warp, body, "s0 s1")
    return _function(f"{name}_desc", buffers(""), shared, warp, desc) + "\n" + impl


def _multiply(name: str, kind: str, result: str, a_turned: bool, b_turned: bool) -> str:
    depth, held = (32, 16) if kind == "i8" else (16, 8)
    factors = [16 if a_turned else depth, depth if b_turned else 16, 16]
    sizes, kinds = (held, held, 8), (kind, kind, result)
    buffers = [
        _matched(key, f"32, {size}", of, "warp", factor)
        for key, size, of, factor in zip("ABC", sizes, kinds, factors, strict=True)
    ]

    def cast(value: str) -> str:
        return value if kind == result else f'T.Cast("{_DTYPES[result]}", {value})'

    a = _place(kind, *("vk", "vi") if a_turned else ("vi", "vk"))
    b = _place(kind, *("vj", "vk") if b_turned else ("vk", "vj"), is_by_columns=not b_turned)
    c = _place("f16", "vi", "vj")
    loops = f"""for i, j, k in T.grid(16, 16, {depth}):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        C[{c}] = C[{c}] + {cast(f"A[{a}]")} * {cast(f"B[{b}]")}"""
    head = f'"{_DTYPES[result]}", "m16n8k{depth}", "row", "col", "{_PTX[kind]}", "{_PTX[kind]}", "{_PTX[result]}"'
    a_part = f"A.data, A.elem_offset + tx * {held}"
    body = _THREADS + "\n    ".join(
        f"T.ptx_mma({head}, {a_part}, B.data, B.elem_offset + tx * {held} + {half * held // 2}, "
        f"C.data, C.elem_offset + tx * 8 + {half * 4}, False)"
        for half in (0, 1)
    )
    whole = [f"{key}[0:32, 0:{size}]" for key, size in zip("ABC", sizes, strict=True)]
    reads = ", ".join((whole[2], whole[0], whole[1]))
    desc = _function(f"{name}_desc", buffers, reads, whole[2], loops)
    return desc + "\n" + _function(f"{name}_impl", buffers, reads, whole[2], body)


def _fill(name: str, kind: str) -> str:
    loops = f"""for i, j in T.grid(16, 16):
    with T.block("C_warp"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[{_place("f16", "vi", "vj")}] = {_ZEROS[kind]}"""
    call = f'{_THREADS}T.mma_fill("{_DTYPES[kind]}", 8, C.data, C.elem_offset)'
    buffers = [_matched("C", "32, 8", kind, "warp", 1)]
    desc = _function(f"{name}_desc", buffers, "", "C[0:32, 0:8]", loops)
    return desc + "\n" + _function(f"{name}_impl", buffers, "", "C[0:32, 0:8]", call)


def _store(name: str, kind: str, scope: str, is_simple: bool) -> str:
    loops = f"""for i, j in T.grid(16, 16):
    with T.block("C_warp"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = WARP[{_place("f16", "vi", "vj")}]"""
    body = f'{_THREADS}T.mma_store("{_DTYPES[kind]}", 16, 16, C.access_ptr("w"), WARP.data, WARP.elem_offset, s0)'
    if is_simple:
        place = "8 * (i % 4 // 2) + tx // 4, 8 * (i // 4) + tx % 4 * 2 + i % 2"
        body = f"{_THREADS}for i in range(8):\n        C[{place}] = WARP[tx, i]"
    warp, regions = _matched("WARP", "32, 8", kind, "warp", 1), ("WARP[0:32, 0:8]", "C[0:16, 0:16]")
    plain, strided = (_matched("C", "16, 16", kind, scope, 1, strides) for strides in ("", "s0, s1"))
    desc = _function(f"{name}_desc", [warp, plain], *regions, loops)
    return desc + "\n" + _function(f"{name}_impl", [warp, strided], *regions, body, "s0 s1")


def _rows() -> Iterator[tuple[str, Callable[[str], str]]]:
    turned = {"": False, "_trans": True}
    for kind, matrix, way, scope in product(("f16", "bf16", "i8"), "AB", turned, _SCOPES):
        if (kind, matrix, way) != ("i8", "A", "_trans"):
            make = partial(_load, kind=kind, matrix=matrix, is_turned=turned[way], scope=_SCOPES[scope])
            yield f"mma_ldmatrix_{kind}_{matrix.lower()}{way}{scope}", make
    kinds = (("f16", "f32"), ("f16", "f16"), ("bf16", "f32"), ("i8", "i32"))
    for (kind, result), a_way, b_way in product(kinds, turned, turned):
        if kind != "i8" or not a_way:
            suffix = (a_way and f"{a_way}_a") + (b_way and f"{b_way}_b")
            make = partial(_multiply, kind=kind, result=result, a_turned=turned[a_way], b_turned=turned[b_way])
            yield f"mma_{kind}{kind}{result}{suffix}", make
    for kind in _ZEROS:
        yield f"mma_fill_16x16_{kind}", partial(_fill, kind=kind)
        for scope, simple in product(("global", "shared", "shared.dyn"), ("", "simple_")):
            make = partial(_store, kind=kind, scope=scope, is_simple=bool(simple))
            yield f"mma_store_16x16_{kind}_{scope.replace('.', '_')}_{simple}", make


TEXTS = dict(_rows())
"""Generators of the text of each intrinsic, by name: the functions `NAME_desc` and `NAME_impl`."""
