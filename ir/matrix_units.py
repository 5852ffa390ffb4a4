"""Matrix units of NVIDIA's GPUs: their products, and which thread of a warp holds which element.

`mma.sync` multiplies tiles whose elements are in registers of the threads, in the layout of the PTX ISA ("Matrix
Fragments"). In lane `4 * g + t`, a register of 32 bits holds `v` elements of `a` or `b` (two halves, four bytes):

    a, element e of register r:     row g + 8 * (r % 2),  column v * t + e + 4 * v * (r // 2)
    b, element e of register r:     row v * t + e + 4 * v * r,  column g
    accumulator, element i:         row g + 8 * (i // 2),  column 2 * t + i % 2

`wmma` multiplies tiles in fragments, whose layout among the threads of the warp is opaque.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from . import tir
from .base import Node, Op
from .diagnostics import TvmsError, error
from .dtype import parse_dtype
from .visit import walk

WARP = 32


class Product(Struct, frozen=True):
    """A product that `mma.sync` computes: tiles of `m` × `k` and `k` × `n` elements of PTX types `a` and `b`, accumulated
    in type `c`, on GPUs of `arch` (75 for sm_75) and newer.
    """

    m: int
    n: int
    k: int
    a: str
    b: str
    c: str
    arch: int

    @property
    def packed(self) -> int:
        """Number of elements of `a` or `b` in a register."""
        return 32 // _BITS[self.a]

    @property
    def a_count(self) -> int:
        """Number of elements of `a` that a thread holds."""
        return self.m * self.k // WARP

    @property
    def b_count(self) -> int:
        return self.k * self.n // WARP

    @property
    def c_count(self) -> int:
        return self.m * self.n // WARP

    def a_places(self) -> list[tuple[int, int]]:
        """Return, for each element of `a` in lane `4 * g + t`, its row minus `g` and its column minus `packed * t`."""
        v = self.packed
        return [(8 * (i // v % 2), i % v + 4 * v * (i // v // 2)) for i in range(self.a_count)]

    def b_places(self) -> list[int]:
        """Return, for each element of `b` in lane `4 * g + t`, its row minus `packed * t`; its column is `g`."""
        v = self.packed
        return [i % v + 4 * v * (i // v) for i in range(self.b_count)]

    def c_places(self) -> list[tuple[int, int]]:
        """Return, for each element of the accumulator in lane `4 * g + t`, its row minus `g` and its column minus `2 * t`."""
        return [(8 * (i // 2), i % 2) for i in range(self.c_count)]


_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "s8": 8, "u8": 8}
_PRODUCTS = (
    *(Product(16, 8, 8, "f16", "f16", c, 75) for c in ("f16", "f32")),
    *(Product(16, 8, 16, "f16", "f16", c, 80) for c in ("f16", "f32")),
    *(Product(16, 8, k, "bf16", "bf16", "f32", 80) for k in (8, 16)),
    *(Product(16, 8, k, "tf32", "tf32", "f32", 80) for k in (4, 8)),
    *(Product(16, 8, k, a, b, "s32", 80) for k in (16, 32) for a in ("s8", "u8") for b in ("s8", "u8")),
)
PRODUCTS = {
    (f"m{product.m}n{product.n}k{product.k}", product.a, product.b, product.c): product for product in _PRODUCTS
}

_SPELLINGS = {
    "f16": ("fp16", "float16", "half"), "bf16": ("bfloat16",), "tf32": (), "f32": ("fp32", "float32", "float"),
    "s8": ("int8",), "u8": ("uint8",), "s32": ("int32",), "e4m3": ("float8_e4m3fn", "e4m3_float8"), "e5m2": ("float8_e5m2", "e5m2_float8"),
}  # fmt: skip
_PTX_TYPES = {spelled: name for name, others in _SPELLINGS.items() for spelled in (name, f".{name}", *others)}
"""PTX types by the names that TVM accepts for them."""

DTYPES = {"f16": "float16", "bf16": "bfloat16", "tf32": "float32", "f32": "float32", "s8": "int8", "u8": "uint8", "s32": "int32"}  # fmt: skip
"""Dtypes in memory by PTX type."""


def ptx_type(name: str) -> str:
    """Return a PTX type by one of its names; `name` if there is none."""
    return _PTX_TYPES.get(name, name)


def product_of(call: tir.Call) -> Product:
    """Return the product that `T.ptx_mma(shape, A_layout, B_layout, A_dtype, B_dtype, C_dtype, …)` computes; E0606 if it does
    not exist.
    """
    shape, a_layout, b_layout, *types = texts(call)[:6]
    product = PRODUCTS.get((shape, *map(ptx_type, types)))  # type: ignore[arg-type]
    if product is None or (a_layout, b_layout) != ("row", "col"):
        reason = f"no matrix unit multiplies {shape} of {a_layout} {types[0]} and {b_layout} {types[1]} into {types[2]}"
        shapes = sorted({f"{name} of {a}" for name, a, b, c in PRODUCTS if a == b and c != "f16"})
        raise error("E0606", reason, call.span, f"supported for row and col: {', '.join(shapes)}")
    return product


def texts(call: tir.Call) -> list[str]:
    """Return the arguments of `call` that are strings, "" for the others."""
    return [arg.value if isinstance(arg, tir.StringImm) else "" for arg in call.args]


def number(call: tir.Call, position: int) -> int:
    """Return an argument that must be a constant; E0606 otherwise."""
    value = call.args[position] if position < len(call.args) else None
    if not isinstance(value, tir.IntImm):
        raise error(
            "E0606", f"argument {position + 1} of T.{name_of(call)} is not a constant", call.span, "give a number"
        )
    return value.value


def name_of(call: tir.Call) -> str:
    """Return the name under `T` of the operator of `call`; "" if it calls a function."""
    return call.op.name.removeprefix("tir.") if isinstance(call.op, Op) else ""


# --- ldmatrix and stmatrix ------------------------------------------------------------------------------------

STORE = "ptx_stmatrix"
ROW_BYTES = 16
"""Size of a row of a matrix in bytes, and its alignment in shared memory."""


class Matrices(Struct, frozen=True):
    """What `T.ptx_ldmatrix` loads and `T.ptx_stmatrix` stores: `count` matrices of 8 × 8 elements of 16 bits, transposed or not.

    Row `r` of matrix `m` begins at the address in lane `8 * m + r`. Lane `l` has two neighboring elements of row
    `l // 4` of each matrix (transposed: of column `l // 4`), the first one in column `l % 4 * 2`.
    """

    count: int
    is_transposed: bool
    packed: int
    """Number of elements of the dtype in 16 bits."""


def matrices_of(call: tir.Call) -> Matrices:
    """Return what a call of `T.ptx_ldmatrix(trans, num, type, …)` loads, or one of `T.ptx_stmatrix` stores; E0606 if no GPU supports it."""
    transposed, count, kind = bool(number(call, 0)), number(call, 1), texts(call)[2]
    bits = parse_dtype(call.dtype).bits
    if count not in (1, 2, 4) or kind not in (".b16", "b16") or bits not in (8, 16) or (transposed and bits != 16):
        what = f"{count} matrices of {call.dtype}{' transposed' * transposed}, type '{kind}'"
        verb = "store" if name_of(call) == STORE else "load"
        help = f"{verb} 1, 2 or 4 matrices of .b16; only elements of 16 bits can be transposed"
        raise error("E0606", f"no GPU {verb}s {what}", call.span, help)
    return Matrices(count, transposed, 16 // bits)


# --- wmma -----------------------------------------------------------------------------------------------------


class Fragment(Struct, frozen=True):
    """The contents of a fragment in a product of `m` × `n` × `k`: `kind` is "a", "b" or "accumulator"; `is_column` means
    column-major order in memory.
    """

    m: int
    n: int
    k: int
    kind: str
    dtype: str
    is_column: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns in memory order."""
        rows, columns = {"a": (self.m, self.k), "b": (self.k, self.n)}.get(self.kind, (self.m, self.n))
        return (columns, rows) if self.is_column else (rows, columns)

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    @property
    def shape_name(self) -> str:
        return f"m{self.m}n{self.n}k{self.k}"


_SCOPES = {"wmma.matrix_a": "a", "wmma.matrix_b": "b", "wmma.accumulator": "accumulator"}
WHOLE_WARP = ("tvm_fill_fragment", "tvm_load_matrix_sync", "tvm_store_matrix_sync", "tvm_mma_sync")
"""The operators on fragments, which all threads of a warp execute together."""
_LARGE = ((16, 16, 16), (32, 8, 16), (8, 32, 16))
WMMA_TYPES = {
    "float16": (_LARGE, ("float16", "float32"), "f16", 70), "bfloat16": (_LARGE, ("float32",), "bf16", 80),
    "float32": (((16, 16, 8),), ("float32",), "tf32", 80),
    "int8": (_LARGE, ("int32",), "s8", 72), "uint8": (_LARGE, ("int32",), "u8", 72),
}  # fmt: skip
"""By the dtype of the factors: shapes, dtypes of accumulators, the PTX type, and the first architecture that supports it."""


def is_fragment_scope(scope: str) -> bool:
    return scope in _SCOPES


def fragment_of(call: tir.Call) -> Fragment:
    """Return the fragment that a `T.tvm_load_matrix_sync`, `T.tvm_fill_fragment` or `T.tvm_store_matrix_sync` accesses, a
    variable of a `wmma` scope; E0606 if no GPU supports it.
    """
    variable = call.args[0]
    kind = variable.type_annotation if isinstance(variable, tir.Var) else None
    if not isinstance(kind, tir.PointerType) or kind.storage_scope not in _SCOPES:
        help = 'allocate it in scope "wmma.matrix_a", "wmma.matrix_b" or "wmma.accumulator"'
        raise error("E0606", f"T.{name_of(call)} takes a fragment, but its first argument is not one", call.span, help)
    dtype = kind.element_type.dtype if isinstance(kind.element_type, tir.PrimType) else ""
    m, n, k = (number(call, position) for position in (1, 2, 3))
    layout = texts(call)[-1] if "matrix_sync" in name_of(call) else "row_major"
    role = _SCOPES[kind.storage_scope]
    if not _exists(m, n, k, role, dtype) or layout not in ("row_major", "col_major"):
        reason = f"no GPU has a fragment of {m} × {n} × {k} for '{role}' of {dtype}, {layout}"
        raise error(
            "E0606", reason, call.span, "use 16 × 16 × 16 of float16, bfloat16 or int8, or 16 × 16 × 8 of float32"
        )
    return Fragment(m, n, k, role, dtype, layout == "col_major" and role != "accumulator")


def _exists(m: int, n: int, k: int, role: str, dtype: str) -> bool:
    if role == "accumulator":
        return any((m, n, k) in shapes and dtype in results for shapes, results, _, _ in WMMA_TYPES.values())
    return dtype in WMMA_TYPES and (m, n, k) in WMMA_TYPES[dtype][0]


def fragments_in(body: Node) -> dict[tir.Var, Fragment]:
    """Return the fragments of `body` by their variables, as loads and fills define them; E0606 if one has two definitions."""
    found: dict[tir.Var, Fragment] = {}
    for call in whole_warp_calls(body):
        if name_of(call) in ("tvm_load_matrix_sync", "tvm_fill_fragment"):
            fragment, variable = fragment_of(call), call.args[0]
            assert isinstance(variable, tir.Var)
            if found.setdefault(variable, fragment) != fragment:
                reason = f"the fragment '{variable.name}' is loaded in another shape or layout elsewhere"
                raise error("E0606", reason, call.span, "give each its own fragment")
    return found


def whole_warp_calls(body: Node) -> Iterator[tir.Call]:
    """Yield the calls in `body` that a warp executes collectively."""
    return (node for node in walk(body) if isinstance(node, tir.Call) and name_of(node) in WHOLE_WARP)


def never_loaded(call: tir.Call, variable: object) -> TvmsError:
    """Return the error for a fragment that is used before it is filled."""
    name = variable.name if isinstance(variable, tir.Var) else "this"
    return error(
        "E0606", f"nothing is loaded into the fragment '{name}'", call.span, "use T.tvm_load_matrix_sync before"
    )
