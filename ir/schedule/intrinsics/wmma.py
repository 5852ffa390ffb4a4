"""Matrix products on NVIDIA's tensor cores with `wmma`: a warp loads, multiplies and stores whole fragments.

The names are TVM's (`tvm.tir.tensor_intrin.cuda`): `wmma_load_16x16x16_f16_a_trans_shared_dyn` loads a left operand of
dtype float16 that is stored column by column in the scope "shared.dyn".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

_DTYPES = {"f16": "float16", "bf16": "bfloat16", "s8": "int8", "f32": "float32", "s32": "int32"}
_SCOPES = {"shared": "shared", "shared_dyn": "shared.dyn", "global": "global"}
_ZEROS = {"f16": "T.float16(0)", "f32": "T.float32(0)", "s32": "0"}


def _buffer(name: str, kind: str, scope: str, strides: str = "") -> str:
    given = f", strides=({strides})" if strides else ""
    return (
        f"    {name} = T.match_buffer({name.lower()}, (16, 16), "
        f'"{_DTYPES[kind]}", align=64, offset_factor=16, scope="{scope}"{given})'
    )


def _index(name: str, pitch: str) -> str:
    """Index of a fragment within its buffer; fragments are numbered row by row."""
    return f"{name}.elem_offset // {pitch} // 16 * ({pitch} // 16) + {name}.elem_offset % {pitch} // 16"


def _function(
    name: str, buffers: list[tuple[str, str, str]], reads: str, writes: str, body: str, pitches: str = ""
) -> str:
    """Return the text of a function of buffers, each given by name, type and scope.

    With `pitches`, each buffer has variables for its strides: `x1` and `x0` for the one with letter x.
    """
    letters = iter(pitches)
    strides = [f"{letter}1, {letter}0" if (letter := next(letters, "")) else "" for _ in buffers]
    lines = [f"T.prim_func {name}({', '.join(f'{buffer.lower()}: T.handle' for buffer, _, _ in buffers)}):"]
    lines += [f"    {variable} = T.int32()" for pair in strides if pair for variable in pair.split(", ")]
    lines += [_buffer(*buffer, pair) for buffer, pair in zip(buffers, strides, strict=True)]
    lines += ['    with T.block("root"):', f"        T.reads({reads})", f"        T.writes({writes})"]
    return "\n".join([*lines, *(f"        {line}" for line in body.split("\n"))]) + "\n"


def _both(
    name: str, buffers: list[tuple[str, str, str]], reads: str, writes: str, loops: str, call: str, pitches: str
) -> str:
    desc = _function(f"{name}_desc", buffers, reads, writes, loops)
    return desc + "\n" + _function(f"{name}_impl", buffers, reads, writes, f"T.evaluate({call})", pitches)


_WHOLE = "[0:16, 0:16]"
_COPY = """for i, j in T.grid(16, 16):
    with T.block("{0}"):
        vi, vj = T.axis.remap("SS", [i, j])
        {1}"""


def _load(name: str, kind: str, matrix: str, scope: str, is_turned: bool) -> str:
    call = (
        f"T.tvm_load_matrix_sync(C.data, 16, 16, 16, {_index('C', 'd1')}, "
        f'A.access_ptr("r"), s1, "{"col" if is_turned else "row"}_major", dtype="handle")'
    )
    buffers = [("A", kind, _SCOPES[scope]), ("C", kind, f"wmma.matrix_{matrix}")]
    return _both(name, buffers, f"A{_WHOLE}", f"C{_WHOLE}", _COPY.format("load", "C[vi, vj] = A[vi, vj]"), call, "sd")


def _fill(name: str, kind: str) -> str:
    call = f'T.tvm_fill_fragment(C.data, 16, 16, 16, {_index("C", "d1")}, T.float32(0), dtype="handle")'
    loops = _COPY.format("init", f"C[vi, vj] = {_ZEROS[kind]}")
    return _both(name, [("C", kind, "wmma.accumulator")], "", f"C{_WHOLE}", loops, call, "d")


def _store(name: str, kind: str, scope: str) -> str:
    call = f'T.tvm_store_matrix_sync(A.data, 16, 16, 16, {_index("A", "d1")}, C.access_ptr("w"), s1, "row_major", dtype="handle")'
    buffers = [("A", kind, "wmma.accumulator"), ("C", kind, _SCOPES[scope])]
    return _both(name, buffers, f"A{_WHOLE}", f"C{_WHOLE}", _COPY.format("store", "C[vi, vj] = A[vi, vj]"), call, "ds")


def _sync(name: str, kind: str, result: str, is_turned: bool) -> str:
    def cast(value: str) -> str:
        return value if kind == result else f'T.Cast("{_DTYPES[result]}", {value})'

    right = "B[vj, vk]" if is_turned else "B[vk, vj]"
    loops = f"""for i, j, k in T.grid(16, 16, 16):
    with T.block("update"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        C[vi, vj] = C[vi, vj] + {cast("A[vi, vk]")} * {cast(right)}"""
    parts = ", ".join(f"{key}.data, {_index(key, key.lower() + '1')}" for key in "CABC")
    buffers = [("A", kind, "wmma.matrix_a"), ("B", kind, "wmma.matrix_b"), ("C", result, "wmma.accumulator")]
    reads = f"C{_WHOLE}, A{_WHOLE}, B{_WHOLE}"
    return _both(name, buffers, reads, f"C{_WHOLE}", loops, f'T.tvm_mma_sync({parts}, dtype="handle")', "abc")


def _rows() -> Iterator[tuple[str, Callable[[str], str]]]:
    turned = {"": False, "_trans": True}
    for kind, matrix, way, scope in product(("f16", "bf16", "s8"), "ab", turned, ("shared", "shared_dyn")):
        make = partial(_load, kind=kind, matrix=matrix, scope=scope, is_turned=turned[way])
        yield f"wmma_load_16x16x16_{kind}_{matrix}{way}_{scope}", make
    for kind in ("f32", "f16", "s32"):
        yield f"wmma_fill_16x16x16_{kind}", partial(_fill, kind=kind)
        for scope in _SCOPES:
            yield f"wmma_store_16x16x16_{kind}_{scope}", partial(_store, kind=kind, scope=scope)
    for (kind, result), way in product((("f16", "f32"), ("f16", "f16"), ("bf16", "f32"), ("s8", "s32")), turned):
        make = partial(_sync, kind=kind, result=result, is_turned=turned[way])
        yield f"wmma_sync_16x16x16_{kind}{kind}{result}{way}", make


TEXTS = dict(_rows())
"""Generators of the text of each intrinsic, by name: the functions `NAME_desc` and `NAME_impl`."""
