"""`tvms.meta_schedule.database`. Generated from the declarations; do not edit."""

from tvms.codegen.tuner.tvm_database import ArgInfo as ArgInfo
from tvms.codegen.tuner.tvm_database import Database as Database
from tvms.codegen.tuner.tvm_database import JSONDatabase as JSONDatabase
from tvms.codegen.tuner.tvm_database import MemoryDatabase as MemoryDatabase
from tvms.codegen.tuner.tvm_database import OrderedUnionDatabase as OrderedUnionDatabase
from tvms.codegen.tuner.tvm_database import PyDatabase as PyDatabase
from tvms.codegen.tuner.tvm_database import ScheduleFnDatabase as ScheduleFnDatabase
from tvms.codegen.tuner.tvm_database import TensorInfo as TensorInfo
from tvms.codegen.tuner.tvm_database import TuningRecord as TuningRecord
from tvms.codegen.tuner.tvm_database import UnionDatabase as UnionDatabase
from tvms.codegen.tuner.tvm_database import Workload as Workload
from tvms.codegen.tuner.tvm_database import create as create
