"""Tests of search spaces under TVM's names (`tvm.meta_schedule.testing`)."""
