"""The rooms of the public API that go by TVM's names: `tvms.relax`, `tvms.tir`, `tvms.topi`."""
