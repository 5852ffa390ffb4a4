"""Names in machine code: what a user wrote never reaches LLVM or the linker as it is."""

from __future__ import annotations

from ..ir.sanitize import Safe, joined, symbol

PREFIX = "tvms_"
_LONGEST = 64


def mangle(name: str) -> Safe:
    """Return the symbol of function `name`: letters, digits and `_` stay, any other character becomes `$hex$`.

    Different names have different symbols, and none is a symbol of the C library.
    """
    return joined("", [PREFIX, symbol(name, lambda character: f"${ord(character):x}$")])


def local_name(name: str) -> Safe:
    """Return a name for a value inside a function, for people who read the output; it need not be unique. LLVM cuts long
    names off, with what tells them apart."""
    return symbol(name[:_LONGEST], lambda character: "_")


def kernel_symbol(name: str) -> str:
    """Return the symbol of the kernel `name`; `mangle(name)` is what programs in C call."""
    return f"{mangle(name)}.kernel"
