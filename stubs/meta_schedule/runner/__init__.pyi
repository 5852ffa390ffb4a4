"""`tvms.meta_schedule.runner`. Generated from the declarations; do not edit."""

from tvms.codegen.tuner.tvm_runner import EvaluatorConfig as EvaluatorConfig
from tvms.codegen.tuner.tvm_runner import LocalRunner as LocalRunner
from tvms.codegen.tuner.tvm_runner import PyRunner as PyRunner
from tvms.codegen.tuner.tvm_runner import PyRunnerFuture as PyRunnerFuture
from tvms.codegen.tuner.tvm_runner import Runner as Runner
from tvms.codegen.tuner.tvm_runner import RunnerFuture as RunnerFuture
from tvms.codegen.tuner.tvm_runner import RunnerInput as RunnerInput
from tvms.codegen.tuner.tvm_runner import RunnerResult as RunnerResult
from tvms.codegen.tuner.tvm_runner import create as create
from tvms.codegen.tuner.tvm_runner import default_alloc_argument as default_alloc_argument
from tvms.codegen.tuner.tvm_runner import default_run_evaluator as default_run_evaluator
from tvms.meta_schedule.runner import config as config
