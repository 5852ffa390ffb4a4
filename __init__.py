"""tvms: a tensor compiler whose programs are plain text files.

    import numpy as np, tvms

    mod = tvms.load("samples/04_perceptron.tvms")
    print(mod.script(dialect="tvm-0.21"))
    exe = tvms.compile(mod, target="llvm")
    y = exe["main"](x, fc1_weight, fc1_bias, fc2_weight)

Every name is imported when it is first used, so that `import tvms` itself is fast.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from . import dsl as dsl  # registers the printer
from .ir import hooks as _hooks
from .ir.aliases import AliasFinder, with_parts

if TYPE_CHECKING:
    from .codegen import Executable, compile, emit
    from .codegen.device import cpu, cuda, device, device_from_target
    from .codegen.runtime.data_type import DataType, DataTypeCode
    from .dsl.load import load_module as load
    from .dsl.load import parse
    from .dsl.sidecar import save_module as save
    from .ir.base import GlobalVar, IRModule
    from .ir.diagnostics import Diagnostic, TvmsError
    from .ir.diagnostics import TvmsError as TVMError
    from .ir.equal import structural_equal, structural_hash
    from .ir.functions import register_func
    from .ir.functions import register_func as register_global_func
    from .ir.interp import run as interpret
    from .ir.relax import Function
    from .ir.schedule import Schedule, ScheduleError
    from .ir.tir import PrimFunc
    from .ir.verify import verify
    from .ir.vm_builtins import get_global_func

__version__ = "0.1.0"

__all__ = [
    "DataType",
    "DataTypeCode",
    "Diagnostic",
    "Executable",
    "Function",
    "GlobalVar",
    "IRModule",
    "PrimFunc",
    "Schedule",
    "ScheduleError",
    "TVMError",
    "TvmsError",
    "compile",
    "cpu",
    "cuda",
    "device",
    "device_from_target",
    "emit",
    "get_global_func",
    "interpret",
    "load",
    "parse",
    "register_func",
    "register_global_func",
    "save",
    "structural_equal",
    "structural_hash",
    "verify",
]

_PLACES = {
    "Array": "ir.api.program.Array",
    "DataType": "codegen.runtime.data_type.DataType",
    "DataTypeCode": "codegen.runtime.data_type.DataTypeCode",
    "Map": "ir.api.program.Map",
    "Diagnostic": "ir.diagnostics.Diagnostic",
    "Executable": "codegen.Executable",
    "Function": "ir.relax.Function",
    "GlobalVar": "ir.base.GlobalVar",
    "IRModule": "ir.base.IRModule",
    "PrimFunc": "ir.tir.PrimFunc",
    "Schedule": "ir.schedule.Schedule",
    "ScheduleError": "ir.schedule.ScheduleError",
    "TVMError": "ir.diagnostics.TvmsError",
    "TvmsError": "ir.diagnostics.TvmsError",
    "compile": "codegen.compile",
    "cpu": "codegen.device.cpu",
    "cuda": "codegen.device.cuda",
    "Shape": "codegen.runtime.api.Shape",
    "device": "codegen.device.device",
    "device_from_target": "codegen.device.device_from_target",
    "emit": "codegen.emit",
    "get_first_structural_mismatch": "ir.api.access_path.get_first_structural_mismatch",
    "get_global_func": "ir.vm_builtins.get_global_func",
    "interpret": "ir.interp.run",
    "load": "dsl.load.load_module",
    "parse": "dsl.load.parse",
    "register_func": "ir.functions.register_func",
    "register_global_func": "ir.functions.register_func",
    "save": "dsl.sidecar.save_module",
    "structural_equal": "ir.equal.structural_equal",
    "structural_hash": "ir.equal.structural_hash",
    "verify": "ir.verify.verify",
}


_ALIASES = {
    "tvms.access_path": "tvms.ir.api.access_path",
    "tvms.arith": "tvms.ir.api.arith",
    "tvms.base": "tvms.ir.api.error",
    "tvms.contrib": "tvms.ir.api.contrib",
    "tvms.contrib.cblas": "tvms.ir.api.contrib.cblas",
    "tvms.contrib.cc": "tvms.ir.api.contrib.cc",
    "tvms.contrib.tvmjs": "tvms.ir.api.contrib.tvmjs",
    "tvms.contrib.utils": "tvms.ir.api.contrib.utils",
    "tvms.dlight": "tvms.codegen.dlight",
    "tvms.error": "tvms.ir.api.error",
    "tvms.instrument": "tvms.ir.passes.instrument",
    "tvms.ir.attrs": "tvms.ir",
    "tvms.ir.container": "tvms.ir",
    "tvms.ir.expr": "tvms.ir",
    "tvms.ir.function": "tvms.ir",
    "tvms.ir.global_info": "tvms.ir",
    "tvms.ir.instrument": "tvms.ir.passes.instrument",
    "tvms.ir.module": "tvms.ir",
    "tvms.ir.op": "tvms.ir",
    "tvms.ir.transform": "tvms.ir.passes.transform",
    "tvms.ir.type": "tvms.ir",
    "tvms.meta_schedule": "tvms.codegen.tuner.meta_schedule",
    "tvms.meta_schedule.arg_info": "tvms.codegen.tuner.tvm_records",
    "tvms.meta_schedule.builder": "tvms.codegen.tuner.tvm_builder",
    "tvms.meta_schedule.cost_model": "tvms.codegen.tuner.tvm_cost_model",
    "tvms.meta_schedule.database": "tvms.codegen.tuner.tvm_database",
    "tvms.meta_schedule.measure_callback": "tvms.codegen.tuner.tvm_measuring",
    "tvms.meta_schedule.mutator": "tvms.codegen.tuner.mutator",
    "tvms.meta_schedule.postproc": "tvms.codegen.tuner.postproc",
    "tvms.meta_schedule.runner": "tvms.codegen.tuner.tvm_runner",
    "tvms.meta_schedule.runner.config": "tvms.codegen.tuner.tvm_runner",
    "tvms.meta_schedule.schedule_rule": "tvms.codegen.tuner.schedule_rule",
    "tvms.meta_schedule.search_strategy": "tvms.codegen.tuner.tune_context",
    "tvms.meta_schedule.space_generator": "tvms.codegen.tuner.space_generator",
    "tvms.meta_schedule.task_scheduler": "tvms.codegen.tuner.meta_schedule",
    "tvms.meta_schedule.testing": "tvms.codegen.tuner.testing",
    "tvms.meta_schedule.testing.dummy_object": "tvms.codegen.tuner.testing.dummy_object",
    "tvms.meta_schedule.testing.space_generation": "tvms.codegen.tuner.testing.space_generation",
    "tvms.meta_schedule.testing.te_workload": "tvms.codegen.tuner.testing.te_workload",
    "tvms.meta_schedule.tune_context": "tvms.codegen.tuner.tune_context",
    "tvms.meta_schedule.utils": "tvms.codegen.tuner.meta_schedule",
    "tvms.meta_schedule.relax_integration": "tvms.codegen.tuner.relax_integration",
    "tvms.meta_schedule.tir_integration": "tvms.codegen.tuner.meta_schedule",
    "tvms.nd": "tvms.codegen.runtime.ndarray",
    "tvms.relax": "tvms.ir.api.relax",
    "tvms.relax.analysis": "tvms.ir.api.relax.analysis",
    "tvms.relax.backend": "tvms.ir.backend",
    "tvms.relax.backend.pattern_registry": "tvms.ir.backend.registry",
    "tvms.relax.backend.utils": "tvms.ir.passes.fuse_by_pattern",
    "tvms.relax.block_builder": "tvms.ir.building.block_builder",
    "tvms.relax.dpl": "tvms.ir.dpl",
    "tvms.relax.ty": "tvms.ir.api.relax.struct_info",
    "tvms.relax.type": "tvms.ir.api.relax.struct_info",
    "tvms.relax.expr_functor": "tvms.ir.api.relax.expr_functor",
    "tvms.relax.utils": "tvms.ir.api.relax.utils",
    "tvms.relax.dpl.pattern": "tvms.ir.dpl",
    "tvms.relax.pipeline": "tvms.ir.passes.pipelines",
    "tvms.relax.testing": "tvms.ir.api.relax.testing",
    "tvms.relax.training": "tvms.ir.api.relax.training",
    "tvms.relax.training.trainer": "tvms.codegen.trainer",
    "tvms.relax.transform": "tvms.ir.passes.catalogue",
    "tvms.relax.exec_builder": "tvms.codegen.bytecode",
    "tvms.relax.frontend.common": "tvms.ir.api.relax.frontend",
    "tvms.relax.frontend.nn": "tvms.ir.nn",
    "tvms.relax.frontend.onnx": "tvms.dsl.importers.onnx",
    "tvms.relax.frontend.onnx.backend": "tvms.dsl.importers.onnx.backend",
    "tvms.relax.frontend.torch": "tvms.dsl.importers.torch",
    "tvms.script": "tvms.dsl.script",
    "tvms.s_tir": "tvms.ir.api.tir",
    "tvms.s_tir.meta_schedule": "tvms.codegen.tuner.meta_schedule",
    "tvms.s_tir.meta_schedule.arg_info": "tvms.codegen.tuner.tvm_records",
    "tvms.s_tir.meta_schedule.builder": "tvms.codegen.tuner.tvm_builder",
    "tvms.s_tir.meta_schedule.cost_model": "tvms.codegen.tuner.tvm_cost_model",
    "tvms.s_tir.meta_schedule.database": "tvms.codegen.tuner.tvm_database",
    "tvms.s_tir.meta_schedule.measure_callback": "tvms.codegen.tuner.tvm_measuring",
    "tvms.s_tir.meta_schedule.mutator": "tvms.codegen.tuner.mutator",
    "tvms.s_tir.meta_schedule.postproc": "tvms.codegen.tuner.postproc",
    "tvms.s_tir.meta_schedule.runner": "tvms.codegen.tuner.tvm_runner",
    "tvms.s_tir.meta_schedule.runner.config": "tvms.codegen.tuner.tvm_runner",
    "tvms.s_tir.meta_schedule.schedule_rule": "tvms.codegen.tuner.schedule_rule",
    "tvms.s_tir.meta_schedule.search_strategy": "tvms.codegen.tuner.tune_context",
    "tvms.s_tir.meta_schedule.space_generator": "tvms.codegen.tuner.space_generator",
    "tvms.s_tir.meta_schedule.task_scheduler": "tvms.codegen.tuner.meta_schedule",
    "tvms.s_tir.meta_schedule.testing": "tvms.codegen.tuner.testing",
    "tvms.s_tir.meta_schedule.testing.dummy_object": "tvms.codegen.tuner.testing.dummy_object",
    "tvms.s_tir.meta_schedule.testing.space_generation": "tvms.codegen.tuner.testing.space_generation",
    "tvms.s_tir.meta_schedule.testing.te_workload": "tvms.codegen.tuner.testing.te_workload",
    "tvms.s_tir.meta_schedule.tune_context": "tvms.codegen.tuner.tune_context",
    "tvms.s_tir.meta_schedule.utils": "tvms.codegen.tuner.meta_schedule",
    "tvms.s_tir.schedule": "tvms.ir.schedule",
    "tvms.s_tir.schedule.testing": "tvms.dsl.testing.schedule_traces",
    "tvms.s_tir.tensor_intrin": "tvms.ir.api.tir.tensor_intrin",
    "tvms.s_tir.tensor_intrin.arm_cpu": "tvms.ir.api.tir.tensor_intrin",
    "tvms.s_tir.tensor_intrin.cuda": "tvms.ir.api.tir.tensor_intrin",
    "tvms.s_tir.tensor_intrin.hexagon": "tvms.ir.api.tir.tensor_intrin",
    "tvms.s_tir.tensor_intrin.rocm": "tvms.ir.api.tir.tensor_intrin",
    "tvms.s_tir.tensor_intrin.x86": "tvms.ir.api.tir.tensor_intrin",
    "tvms.s_tir.tensor_intrin.dot_product_common": "tvms.ir.api.tir.tensor_intrin",
    "tvms.s_tir.transform": "tvms.codegen.lower.passes",
    "tvms.script.parser": "tvms.dsl.script",
    "tvms.relax.vm_build": "tvms.codegen.virtual_machine",
    "tvms.runtime": "tvms.codegen.runtime.api",
    "tvms.runtime.container": "tvms.codegen.runtime.api",
    "tvms.runtime.executable": "tvms.codegen.runtime.executable",
    "tvms.runtime.ndarray": "tvms.codegen.runtime.ndarray",
    "tvms.runtime.params": "tvms.codegen.runtime.params",
    "tvms.runtime.vm": "tvms.codegen.virtual_machine",
    "tvms.relax.transform.legalize_ops": "tvms.ir.passes.legalize_ops",
    "tvms.relax.transform.legalize_ops.common": "tvms.ir.passes.legalize_ops",
    "tvms.relax.transform.transform": "tvms.ir.passes.catalogue",
    "tvms.relax.vm": "tvms.codegen.virtual_machine",
    "tvms.s_tir.dlight": "tvms.codegen.dlight",
    "tvms.support": "tvms.ir.api.contrib",
    "tvms.support.cc": "tvms.ir.api.contrib.cc",
    "tvms.support.utils": "tvms.ir.api.contrib.utils",
    "tvms.target": "tvms.codegen.current_target",
    "tvms.target.codegen": "tvms.codegen.llvm.questions",
    "tvms.te": "tvms.ir.api.te",
    "tvms.testing": "tvms.dsl.testing",
    "tvms.testing.env": "tvms.dsl.testing.env",
    "tvms.testing.utils": "tvms.dsl.testing",
    "tvms.tir": "tvms.ir.api.tir",
    "tvms.tir.buffer": "tvms.ir.api.tir",
    "tvms.tir.expr": "tvms.ir.api.tir",
    "tvms.tir.function": "tvms.ir.api.tir",
    "tvms.tir.op": "tvms.ir.api.tir",
    "tvms.tir.schedule": "tvms.ir.schedule",
    "tvms.tir.schedule.testing": "tvms.dsl.testing.schedule_traces",
    "tvms.tir.stmt": "tvms.ir.api.tir",
    "tvms.tir.tensor_intrin": "tvms.ir.api.tir.tensor_intrin",
    "tvms.tir.tensor_intrin.arm_cpu": "tvms.ir.api.tir.tensor_intrin",
    "tvms.tir.tensor_intrin.cuda": "tvms.ir.api.tir.tensor_intrin",
    "tvms.tir.tensor_intrin.hexagon": "tvms.ir.api.tir.tensor_intrin",
    "tvms.tir.tensor_intrin.rocm": "tvms.ir.api.tir.tensor_intrin",
    "tvms.tir.tensor_intrin.x86": "tvms.ir.api.tir.tensor_intrin",
    "tvms.tir.tensor_intrin.dot_product_common": "tvms.ir.api.tir.tensor_intrin",
    "tvms.tir.transform": "tvms.codegen.lower.passes",
    "tvms.tir.transform.transform": "tvms.codegen.lower.passes",
    "tvms.tirx": "tvms.ir.api.tir",
    "tvms.tirx.buffer": "tvms.ir.api.tir",
    "tvms.tirx.expr": "tvms.ir.api.tir",
    "tvms.tirx.function": "tvms.ir.api.tir",
    "tvms.tirx.op": "tvms.ir.api.tir",
    "tvms.tirx.stmt": "tvms.ir.api.tir",
    "tvms.tirx.transform": "tvms.codegen.lower.passes",
    "tvms.topi": "tvms.ir.api.topi",
    "tvms.topi.broadcast": "tvms.ir.api.topi",
    "tvms.topi.math": "tvms.ir.api.topi",
    "tvms.topi.nn": "tvms.ir.api.topi.nn",
    "tvms.topi.nn.elemwise": "tvms.ir.api.topi.nn",
    "tvms.topi.nn.mapping": "tvms.ir.api.topi.nn",
    "tvms.topi.nn.pooling": "tvms.ir.api.topi.nn",
    "tvms.topi.reduction": "tvms.ir.api.topi",
    "tvms.topi.tensor": "tvms.ir.api.topi",
    "tvms.topi.testing": "tvms.ir.api.topi.testing",
    "tvms.topi.transform": "tvms.ir.api.topi",
    "tvms.topi.utils": "tvms.ir.api.topi.utils",
    "tvms.transform": "tvms.ir.passes.transform",
}
"""Aliases of public modules under TVM's names, so that a program runs after changing its imports."""

_FINDER = AliasFinder(with_parts(_ALIASES))
# The finder comes first: a module below an alias could also be found by its own path.
sys.meta_path.insert(0, _FINDER)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _PLACES:
        raise AttributeError(f"module 'tvms' has no attribute '{name}'")
    module, _, attribute = _PLACES[name].rpartition(".")
    value = getattr(import_module(f".{module}", __name__), attribute)
    globals()[name] = value
    return value


def _array(value: Any, place: Any = None) -> Any:
    from .codegen.device import Device, device
    from .codegen.runtime.ndarray import array

    return array(value, place if place is None or isinstance(place, Device) else device(*place))


def _runtime() -> Any:
    from .codegen.runtime import api

    return api


def _target(target: Any) -> Any:
    from .codegen.current_target import Target

    return Target(target)


def _target_of(device: Any) -> Any:
    from .codegen.current_target import Target

    return Target.from_device(device)


def _machine(module: IRModule, device: Any, target: Any) -> Any:
    from .codegen import compile
    from .codegen.virtual_machine import VirtualMachine

    return VirtualMachine(compile(module, target=target), device)


def _composite_steps() -> None:
    from .codegen import rules as _cpu
    from .codegen.gpu import rules as _gpu

    del _cpu, _gpu  # importing them declares the steps


def _tune_functions(module: IRModule, *options: Any) -> IRModule:
    from .codegen.tuner.meta_schedule import tune_functions

    return tune_functions(module, *options)


def _apply_database(module: IRModule, work_dir: str) -> IRModule:
    from .codegen.tuner.meta_schedule import apply_database

    return apply_database(module, work_dir)


def load_ipython_extension(ipython: Any) -> None:
    """Define the cell magic `%%tvms`; IPython calls this for `%load_ext tvms`."""
    from .dsl.magic import register

    register(ipython)


_hooks.define(
    array=_array,
    composite_steps=_composite_steps,
    tune_functions=_tune_functions,
    apply_database=_apply_database,
    runtime=_runtime,
    target=_target,
    target_of=_target_of,
    machine=_machine,
)

_FINDER.add_children("tvms", sys.modules[__name__])
_FINDER.add_children("tvms.ir", sys.modules["tvms.ir"])
