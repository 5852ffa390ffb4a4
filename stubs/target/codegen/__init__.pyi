"""`tvms.target.codegen`. Generated from the declarations; do not edit."""

from tvms.codegen.llvm.questions import binding as binding
from tvms.codegen.llvm.questions import llvm_version_major as llvm_version_major
