"""Names in machine code: names from the program never reach LLVM or the linker unchanged."""

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
    """Return a readable name for a value inside a function. It need not be unique; LLVM truncates long names,
    including their unique suffix.
    """
    return symbol(name[:_LONGEST], lambda character: "_")


def kernel_symbol(name: str) -> str:
    """Return the symbol of the kernel `name`; C programs call `mangle(name)`."""
    return f"{mangle(name)}.kernel"
