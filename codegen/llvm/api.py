"""Type aliases for llvmlite, which has no annotations. They are `Any`, so that the rest of the package can be
checked strictly.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import llvmlite.binding as _binding  # pyright: ignore[reportMissingTypeStubs]
import llvmlite.ir as _ir  # pyright: ignore[reportMissingTypeStubs]

ir: Any = _ir
binding: Any = _binding

Value: TypeAlias = Any
"""An `llvmlite.ir.Value`."""
LLVMType: TypeAlias = Any
"""An `llvmlite.ir.Type`."""
Builder: TypeAlias = Any
"""An `llvmlite.ir.IRBuilder`."""
