"""Public Python API under TVM's names: `tvms.relax`, `tvms.tir`, `tvms.topi`."""
