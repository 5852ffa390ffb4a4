"""Programs about floats: formulas of exact operations, formulas with library functions, reductions, and graph-level
operators.

A formula is exact if IEEE 754 defines the result of each of its operations. Functions such as `T.exp` differ between
libraries in the last places; they occur only as the outermost operation, so that no other operation amplifies the
difference. The sign of `T.max` and `T.min` of zeros with different signs is unspecified, so `+ 0.0` follows them inside
a formula.
"""

from __future__ import annotations

import re

from hypothesis import strategies as st
from msgspec import Struct

from .choices import Choices

DTYPES = ("float32", "float32", "float64", "float16", "bfloat16")
CONSTANTS = (
    "0.0", "-0.0", "1.0", "-1.0", "0.5", "2.5", "6.0", "-0.5", '"inf"', '"-inf"', '"nan"', "1e-40", "3e38", "-3e38", "2147483648.0"
)  # fmt: skip
LIMITS = {
    "float32": ("3e38", "-3e38", "1e-40"), "float64": ("1.7e308", "-1.7e308", "5e-324"),
    "float16": ("65504.0", "-65504.0", "6e-8"), "bfloat16": ("3e38", "-3e38", "1e-40"),
}  # fmt: skip
"""Constants near the limits of a dtype, whose sums and products overflow or underflow."""
INTEGERS = ("int32", "int8", "uint8", "int64", "uint32", "int16")
EXACT = ("sqrt", "floor", "ceil", "trunc", "round", "nearbyint", "abs")
FUNCTIONS = (
    "exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "tanh", "sigmoid", "erf", "sin", "cos", "tan", "sinh", "cosh", "asin",
    "acos", "atan", "asinh", "acosh", "atanh", "rsqrt",
)  # fmt: skip
FUNCTIONS_OF_TWO = ("pow", "atan2", "hypot", "copysign", "nextafter", "fmod")
UNARY = (
    "abs", "ceil", "floor", "round", "trunc", "negative", "sign", "sqrt", "rsqrt", "square", "exp", "log", "sigmoid", "tanh", "erf",
    "sin", "cos", "atan", "nn.relu", "nn.relu6", "nn.leakyrelu", "nn.silu", "nn.gelu", "nn.selu", "nn.softplus", "isnan", "isinf", "isfinite",
)  # fmt: skip
BINARY = (
    "add", "subtract", "multiply", "divide", "maximum", "minimum", "mod", "floor_mod", "floor_divide", "power", "log_add_exp", "equal",
    "not_equal", "less", "less_equal", "greater", "greater_equal",
)  # fmt: skip
REDUCED = (
    "max",
    "min",
    "argmax",
    "argmin",
    "sum",
    "mean",
    "prod",
    "cumsum",
    "nn.softmax",
    "nn.log_softmax",
    "variance",
    "std",
)
EXACT_OPERATORS = {
    "abs", "ceil", "floor", "round", "trunc", "negative", "sign", "sqrt", "square", "nn.relu", "nn.relu6", "isnan", "isinf", "isfinite",
    "add", "subtract", "multiply", "divide", "maximum", "minimum", "equal", "not_equal", "less", "less_equal", "greater",
    "greater_equal", "max", "min", "argmax", "argmin", "nn.max_pool2d", "clip", "mod", "floor_mod", "floor_divide",
}  # fmt: skip
EXTREMA = ("T.max(", "T.min(", "R.max", "R.min", "R.nn.relu", "R.clip", "nn.max_pool2d")
TOLERANCE = {"float64": 1e-12, "float32": 3e-6, "float16": 4e-3, "bfloat16": 3e-2}
"""Maximum relative difference of functions. For sums, it is relative to the sum of absolute values."""


class Program(Struct, frozen=True):
    """A module with a function `main`, as text, and known properties of its results."""

    text: str
    kind: str
    is_exact: bool = True
    is_sum: bool = False
    is_simulated: bool = False

    @property
    def has_products(self) -> bool:
        """Whether it multiplies many elements, so that partial products of tiny ones underflow."""
        return "R.prod" in self.text

    @property
    def has_signed_zeros(self) -> bool:
        """Whether the law defines the sign of each zero of a result."""
        return self.is_exact and not any(name in self.text for name in EXTREMA)

    def unfolded(self) -> tuple[str, str, tuple[str, ...]] | None:
        """Return the text with a vector `K` in place of its constants, their dtype, and the constants; None if there are none.

        Nothing can be folded in it.
        """
        found = [(match[1], match[2]) for match in _CONSTANT.finditer(self.text)]
        if not found or self.kind != "formula" or len({dtype for dtype, _ in found}) > 1:
            return None
        places = iter(range(len(found)))
        text = _CONSTANT.sub(lambda match: f"K[{next(places)}]", self.text)
        declared = f'K: T.Buffer(({len(found)},), "{found[0][0]}")'
        return (
            text.replace("main(", f"main({declared}, ", 1),
            found[0][0],
            tuple([value.strip('"') for _, value in found]),
        )


_CONSTANT = re.compile(r'T\.(float32|float64|float16|bfloat16)\(("[a-z-]+"|-?[\d.e+-]+)\)')


@st.composite
def float_programs(draw: st.DrawFn) -> Program:
    """Generate programs of each kind."""
    choose = Choices(draw)
    return choose.pick((_formulas, _functions, _small_formulas, _functions, _reduction, _operator, _row_operator))(
        choose
    )


# --- Loop level -----------------------------------------------------------------------------------------------


class _Formula:
    """Formulas of one dtype over the elements `A[vi]` and `B[vi]`."""

    def __init__(self, choose: Choices, dtype: str) -> None:
        self.choose, self.dtype = choose, dtype

    def leaf(self) -> str:
        match self.choose.number(0, 4):
            case 0 | 1:
                return "A[vi]"
            case 2 | 3:
                return "B[vi]"
            case _:
                return self.constant()

    def constant(self) -> str:
        known = CONSTANTS[:-4] if self.dtype == "float16" else CONSTANTS
        known = LIMITS[self.dtype] if self.choose.rarely(3) else known
        return f"T.{self.dtype}({self.choose.pick(known)})"

    def value(self, size: int) -> str:
        if size <= 0:
            return self.leaf()
        a, b = self.value(size - 1), self.value((size - 1) // 2)
        if self.choose.rarely(2):
            a, b = b, a
        match self.choose.number(0, 10):
            case 9 | 10:
                return self.folded()
            case 0 | 1 | 2:
                return f"({a} {self.choose.pick(('+', '-', '*', '/'))} {b})"
            case 3:
                return f"(T.{self.choose.pick(('max', 'min'))}({a}, {b}) + T.{self.dtype}(0.0))"
            case 4:
                return f"T.{self.choose.pick(EXACT)}({a})"
            case 5:
                return f"T.{self.choose.pick(('Select', 'if_then_else'))}({self.condition(size - 1)}, {a}, {b})"
            case 6:
                integer = self.choose.pick(INTEGERS)
                return f'T.Cast("{self.dtype}", T.Cast("{integer}", {a}))'
            case 7:
                other = self.choose.pick(("float32", "float64", "float16", "bfloat16"))
                return f'T.Cast("{self.dtype}", T.Cast("{other}", {a}))' if other != self.dtype else a
            case _:
                return f"({a} {self.choose.pick(('*', '+', '-', '/'))} {self.constant()})"

    def folded(self) -> str:
        """Return an operation on constants."""
        a, b = self.constant(), self.constant()
        match self.choose.number(0, 5):
            case 0 | 1 | 2:
                return f"({a} {self.choose.pick(('+', '-', '*', '/'))} {b})"
            case 3:
                return f"(T.{self.choose.pick(('max', 'min'))}({a}, {b}) + T.{self.dtype}(0.0))"
            case 4:
                return f"T.{self.choose.pick(EXACT)}({a})"
            case _:
                return f"T.Select({a} {self.choose.pick(('<', '<=', '>', '>=', '==', '!='))} {b}, {a}, {self.leaf()})"

    def neutral(self) -> str:
        """Return an operation whose constant leaves most floats unchanged, or makes most of them zero."""
        constant = f"T.{self.dtype}({self.choose.pick(('0.0', '-0.0', '1.0', '-1.0'))})"
        a, b = (self.leaf(), constant) if self.choose.number(0, 2) else (constant, self.leaf())
        return f"({a} {self.choose.pick(('*', '+', '-', '/'))} {b})"

    def overflowing(self) -> str:
        """Return a product, quotient or sum of constants near the limits of the dtype."""
        a, b = (self.choose.pick((*LIMITS[self.dtype], "2.5", "-0.5")) for _ in range(2))
        return f"(T.{self.dtype}({a}) {self.choose.pick(('*', '+', '-', '/'))} T.{self.dtype}({b}))"

    def rounded(self) -> str:
        """Return an element rounded to another dtype."""
        other = self.choose.pick([dtype for dtype in (*LIMITS, *LIMITS, *INTEGERS) if dtype != self.dtype])
        return f'T.Cast("{self.dtype}", T.Cast("{other}", {self.leaf()}))'

    def condition(self, size: int) -> str:
        a, b = self.value((size - 1) // 2), self.value((size - 1) // 2)
        compared = f"{a} {self.choose.pick(('<', '<=', '>', '>=', '==', '!='))} {b}"
        match self.choose.number(0, 5):
            case 0:
                return compared
            case 1 | 2:
                return f"not ({compared})"
            case 3:
                return f"({compared}) {self.choose.pick(('and', 'or'))} not ({a} < {self.leaf()})"
            case 4:
                return f"T.isnan({a})"
            case _:
                return f"not ({a} == {a})"


def _loops(dtype: str, values: list[str], size: int) -> str:
    results = ", ".join(f'C{place}: T.Buffer(({size},), "{dtype}")' for place in range(len(values)))
    stores = "".join(f"            C{place}[vi] = {value}\n" for place, value in enumerate(values))
    return (
        f'T.prim_func main(A: T.Buffer(({size},), "{dtype}"), B: T.Buffer(({size},), "{dtype}"), {results}):\n'
        f'    for i in range({size}):\n        with T.block("value"):\n            vi = T.axis.spatial({size}, i)\n{stores}'
    )


def _size(choose: Choices) -> int:
    return choose.pick((16, 1, 7, 17, 33))


def _formulas(choose: Choices) -> Program:
    dtype = choose.pick(DTYPES)
    values = [_Formula(choose, dtype).value(choose.number(1, 3)) for _ in range(choose.number(1, 3))]
    bare = f"T.{choose.pick(('max', 'min'))}"
    if choose.rarely(3):
        formula = _Formula(choose, dtype)
        values = [f"{bare}({formula.value(1)}, {formula.leaf()})"]
    return Program(_loops(dtype, values, _size(choose)), "formula", is_simulated=choose.rarely(3))


def _small_formulas(choose: Choices) -> Program:
    """Return a program of several operations, each on elements or constants and of a kind that is often simplified wrongly."""
    dtype = choose.pick(DTYPES)
    formula = _Formula(choose, dtype)
    kinds = (formula.neutral, formula.overflowing, formula.rounded)
    values = [choose.pick(kinds)() for _ in range(choose.number(3, 6))]
    return Program(_loops(dtype, values, choose.pick((70, 33, 17))), "formula", is_simulated=choose.rarely(4))


def _functions(choose: Choices) -> Program:
    dtype = choose.pick(DTYPES)
    formula = _Formula(choose, dtype)
    values = [f"T.{choose.pick(FUNCTIONS)}({formula.leaf()})" for _ in range(choose.number(2, 4))]
    if choose.rarely(5) and dtype in ("float32", "float64"):
        values.append(f"T.{choose.pick(FUNCTIONS_OF_TWO)}({formula.leaf()}, {formula.leaf()})")
    if choose.rarely(8):
        values.append(f"T.ldexp({formula.leaf()}, {choose.number(-30, 30)})")
    if choose.rarely(8) and dtype in ("float32", "float64"):
        leaves = ", ".join([formula.leaf() for _ in range(3)])
        values.append(f'T.call_intrin("{dtype}", "tir.fma", {leaves})')
    return Program(_loops(dtype, values, _size(choose)), "function", is_exact=False, is_simulated=choose.rarely(4))


def _reduction(choose: Choices) -> Program:
    dtype = choose.pick(DTYPES[:3])
    rows, columns = choose.number(1, 4), choose.pick((5, 1, 8, 17, 33, 70))
    kind, axes = choose.pick(("max", "min", "sum", "max")), choose.pick((("vi, vk", "vi"), ("vk, vi", "vi")))
    shape = f"({rows}, {columns})" if axes[0] == "vi, vk" else f"({columns}, {rows})"
    start = {"sum": "0", "max": '"-inf"', "min": '"inf"'}[kind]
    update = f"C[vi] + A[{axes[0]}]" if kind == "sum" else f"T.{kind}(C[vi], A[{axes[0]}])"
    text = f"""T.prim_func main(A: T.Buffer({shape}, "{dtype}"), C: T.Buffer(({rows},), "{dtype}")):
    for i, k in T.grid({rows}, {columns}):
        with T.block("reduced"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.{dtype}({start})
            C[vi] = {update}
"""
    return Program(text, kind, is_exact=kind != "sum", is_sum=kind == "sum", is_simulated=choose.rarely(3))


# --- Graph level ----------------------------------------------------------------------------------------------


def _graph(params: str, value: str) -> str:
    return f"R.function main({params}):\n    y = {value}\n    return y\n"


def _operator(choose: Choices) -> Program:
    dtype, size = choose.pick(DTYPES[:4]), _size(choose)
    tensor = f'R.Tensor(({size},), "{dtype}")'
    name = choose.pick((*UNARY, *BINARY, "clip", "where"))
    arguments, params = "x", f"x: {tensor}"
    if name in BINARY:
        arguments, params = choose.pick(("x, z", "x, z", f'x, R.const({choose.pick(("0.0", "1.0", "-2.5"))}, "{dtype}")')), f"x: {tensor}, z: {tensor}"  # fmt: skip
    if name == "clip":
        arguments = f"x, {choose.pick(('0, 6', '-1, 1', '2, 2'))}"
    if name == "where":
        arguments, params = "R.less(x, z), x, z", f"x: {tensor}, z: {tensor}"
    return Program(_graph(params, f"R.{name}({arguments})"), "operator", name in EXACT_OPERATORS or name == "where")


def _row_operator(choose: Choices) -> Program:
    dtype, name = choose.pick(DTYPES[:3]), choose.pick((*REDUCED, "nn.max_pool2d"))
    rows, columns = choose.number(1, 4), choose.pick((5, 1, 8, 17, 33, 70))
    shape, options = (rows, columns), f"axis={choose.pick((1, 0))}"
    if name == "nn.max_pool2d":
        shape, options = (1, rows, 4, 6), "pool_size=[3, 3], strides=[1, 2], padding=[1, 1, 1, 1]"
    text = _graph(f'x: R.Tensor({shape}, "{dtype}")', f"R.{name}(x, {options})")
    return Program(text, "rows", name in EXACT_OPERATORS, is_sum=name not in EXACT_OPERATORS)
