"""What to do about a mistake where nothing better is known than what kind of mistake it is."""

from __future__ import annotations

REMEDIES = {
    "E0101": "define it above, or correct its spelling",
    "E0102": "define the function in this module, or call one that it has",
    "E0103": "docs/language.md lists every form, docs/operators.md every operator",
    "E0105": "docs/language.md says what each form takes",
    "E0202": "write what is expected here",
    "E0203": "write one letter for each axis: S for spatial, R for reduction",
    "E0204": "give as many names as there are values",
    "E0205": "use an index or a key that exists; indices count from 0",
    "E0206": "apply it to numbers: load an element of a buffer first, as in A[i]",
    "E0207": "leave it out, or write it where it has a meaning",
    "E0208": 'write T.Buffer((128,), "float32"), T.handle, or a scalar such as T.int32',
    "E0209": "keep one of them",
    "E0230": 'cast one of them, as in T.Cast("float32", value)',
    "E0231": "use a wider dtype, or another value",
    "E0233": 'cast it first, as in T.Cast("int32", value)',
    "E0234": "docs/language.md says what each intrinsic takes",
    "E0235": "give one index for each dimension",
    "E0301": "docs/operators.md lists every operator",
    "E0303": "write a variable, R.const(…), R.prim_value(…), a tuple of them, or a call",
    "E0304": "count the elements from 0",
    "E0312": "give one name for each element",
    "E0314": "keep one of them",
    "E0321": "docs/operators.md says what each argument may be",
    "E0322": "docs/operators.md says what each operator takes",
    "E0323": "docs/operators.md says of what rank the operands are; R.reshape and R.expand_dims change it",
    "E0324": "convert an operand with R.astype",
    "E0325": "count axes from 0, or back from -1",
    "E0326": "change an operand's shape with R.reshape, R.broadcast_to or R.permute_dims",
    "E0328": "pass what the function's signature says",
}  # fmt: skip
"""By code; a mistake that says more of itself has a remedy of its own."""
