"""tvms: a tensor compiler whose programs are plain text files.

    import numpy as np, tvms

    mod = tvms.load("samples/04_perceptron.tvms")
    print(mod.script(dialect="tvm-0.21"))
    exe = tvms.compile(mod, target="llvm")
    y = exe["main"](x, fc1_weight, fc1_bias, fc2_weight)

Every name is imported when it is first used, so that `import tvms` itself is fast.

Generated from the declarations; do not edit."""

import builtins
from tvms.codegen.runtime.data_type import DataType as DataType
from tvms.codegen.runtime.data_type import DataTypeCode as DataTypeCode
from tvms.ir.diagnostics import Diagnostic as Diagnostic
from tvms.codegen import Executable as Executable
from tvms.ir.relax import Function as Function
from tvms.ir.base import GlobalVar as GlobalVar
from tvms.ir.base import IRModule as IRModule
from tvms.ir.tir import PrimFunc as PrimFunc
from tvms.ir.schedule import Schedule as Schedule
from tvms.ir.schedule import ScheduleError as ScheduleError
from tvms.ir.diagnostics import TvmsError as TVMError
from tvms.ir.diagnostics import TvmsError as TvmsError
from tvms.codegen import compile as compile
from tvms.codegen.device import cpu as cpu
from tvms.codegen.device import cuda as cuda
from tvms.codegen.device import device as device
from tvms.codegen.device import device_from_target as device_from_target
from tvms.codegen import emit as emit
from tvms.ir.vm_builtins import get_global_func as get_global_func
from tvms.ir.interp import run as interpret
from tvms.dsl.load import load_module as load
from tvms.dsl.load import parse as parse
from tvms.ir.functions import register_func as register_func
from tvms.ir.functions import register_func as register_global_func
from tvms.dsl.sidecar import save_module as save
from tvms.ir.equal import structural_equal as structural_equal
from tvms.ir.equal import structural_hash as structural_hash
from tvms.ir.verify import verify as verify
from tvms import codegen as codegen
from tvms import dsl as dsl
from tvms import grammar as grammar
from tvms import ir as ir
from tvms import access_path as access_path
from tvms import arith as arith
from tvms import base as base
from tvms import contrib as contrib
from tvms import dlight as dlight
from tvms import error as error
from tvms import instrument as instrument
from tvms import meta_schedule as meta_schedule
from tvms import nd as nd
from tvms import relax as relax
from tvms import runtime as runtime
from tvms import s_tir as s_tir
from tvms import script as script
from tvms import support as support
from tvms import target as target
from tvms import te as te
from tvms import testing as testing
from tvms import tir as tir
from tvms import tirx as tirx
from tvms import topi as topi
from tvms import transform as transform
__version__: builtins.str
