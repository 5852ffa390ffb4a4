"""`tvms.meta_schedule.testing.dummy_object`. Generated from the declarations; do not edit."""

from tvms.codegen.tuner.testing.dummy_object import DummyBuilder as DummyBuilder
from tvms.codegen.tuner.testing.dummy_object import DummyMutator as DummyMutator
from tvms.codegen.tuner.testing.dummy_object import DummyRunner as DummyRunner
from tvms.codegen.tuner.testing.dummy_object import DummyRunnerFuture as DummyRunnerFuture
