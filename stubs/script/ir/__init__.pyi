"""`I` of TVMScript. Generated from the declarations of the forms; do not edit."""

import builtins
import collections.abc
import tvms.ir.base
import tvms.ir.tir
import typing
def target(target_config: typing.Any, host: typing.Any = None) -> typing.Any:
    """`T.target({"kind": "cuda"}, host="llvm")`: a target of the compiler."""
def Range(begin: tvms.ir.tir.PrimExpr | builtins.float, end: tvms.ir.tir.PrimExpr | builtins.float) -> typing.Any:
    """`T.Range(begin, end)`: the integers from `begin` up to, but not including, `end`."""
def meta_var(value: typing.Any) -> typing.Any:
    """`x = T.meta_var(value)`: another name for a value, not a variable."""
@typing.overload
def ir_module(definition: builtins.type, /) -> tvms.ir.base.IRModule:
    """`I.ir_module Name:` opens a module."""
@typing.overload
def ir_module(*, check_well_formed: builtins.bool = True) -> collections.abc.Callable[[builtins.type], tvms.ir.base.IRModule]:
    """`I.ir_module Name:` opens a module."""
def module_attrs(attrs: typing.Any) -> typing.Any:
    """`I.module_attrs({"key": value})`: attributes of the module."""
def module_global_infos(global_infos: typing.Any) -> typing.Any:
    """`I.module_global_infos({"vdevice": [I.vdevice("llvm")]})`: objects that functions refer to by index."""
def vdevice(target: typing.Any = None, vdevice_id: builtins.int | tvms.ir.tir.PrimExpr = 0, memory_scope: builtins.str = 'global') -> typing.Any:
    """`I.vdevice("llvm", 0, "global")`: a virtual device."""
def dummy_global_info() -> typing.Any:
    """`I.dummy_global_info()`: a placeholder without information."""
def constant(name: typing.Any, struct_info: typing.Any = ...) -> typing.Any:
    """`I.constant("fc1.weight", R.Tensor((2,), "float32"))`: a tensor of the sidecar file. Without struct info, it is that of the annotation or of the file."""
