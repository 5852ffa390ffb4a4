"""What programs ask about LLVM (TVM: `tvm.target.codegen`)."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as _binding  # pyright: ignore[reportMissingTypeStubs]

binding: Any = _binding


def llvm_version_major(allow_none: bool = False) -> int:
    """Return the major version of LLVM. LLVM is always present, so `allow_none` has no effect."""
    del allow_none
    return binding.llvm_version_info[0]
