"""`tvms.meta_schedule.builder`. Generated from the declarations; do not edit."""

from tvms.codegen.tuner.tvm_builder import Builder as Builder
from tvms.codegen.tuner.tvm_builder import BuilderInput as BuilderInput
from tvms.codegen.tuner.tvm_builder import BuilderResult as BuilderResult
from tvms.codegen.tuner.tvm_builder import LocalBuilder as LocalBuilder
from tvms.codegen.tuner.tvm_builder import PyBuilder as PyBuilder
from tvms.codegen.tuner.tvm_builder import SUFFIX as SUFFIX
from tvms.codegen.tuner.tvm_builder import checked_kind as checked_kind
from tvms.codegen.tuner.tvm_builder import checked_number as checked_number
from tvms.codegen.tuner.tvm_builder import create as create
from tvms.codegen.tuner.tvm_builder import registered as registered
from tvms.codegen.tuner.tvm_builder import remove_build_dir as remove_build_dir
